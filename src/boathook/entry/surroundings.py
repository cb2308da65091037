"""What surrounds a process and what a fork of another process cannot take over (Linux); see docs/adr/0038-warm-engine.md."""

# `warm/client.c` does the same in C: a change here needs one there. Both reach the same resident only if they agree.

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as system
    from typing import Any
else:
    import posix as system

# What client and resident say to each other: the protocol with the key, an offer to answer, go (with the three streams), a
# handle on the process that answers, its exit code, the signal that ended it.
PROTOCOL = b"boathook warm 2"
ASK_STATUS, ASK_STOP = PROTOCOL + b" status", PROTOCOL + b" stop"
OFFER, GO, STARTED, EXITED, KILLED = b"O", b"G", b"S", b"E", b"K"
# The resident's memory file whose name has the key: only a process that may look at the resident can read it.
KEY_HANDLE, KEY_PREFIX, KEY_CHARS = 9, "boathook-", 32
# Linux 6.5; older kernels cannot say whether the number of a process still means the one that has connected.
SO_PEERPIDFD = 77
NAMESPACES = (*("cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "time_for_children", "user", "uts"),)
STATUS_LINES = (
    *(b"Uid:", b"Gid:", b"Groups:", b"CapInh:", b"CapPrm:", b"CapEff:", b"CapBnd:", b"CapAmb:", b"NoNewPrivs:"),
    *(b"Seccomp:", b"Seccomp_filters:", b"Cpus_allowed:", b"Mems_allowed:"),
)
# Among the fields after the name in /proc/PID/stat: the nice value, the real-time priority, and the scheduling policy.
SCHEDULING_FIELDS = (16, 37, 38)
MAX_PROCESS_FILE_BYTES = 1 << 14
BOOT_CHARS = 8
EINVAL, EPERM = 22, 1
# The number of the call `keyctl` by machine, and its arguments for the number of the session keyring.
KEYCTL_NUMBERS = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
SESSION_KEYRING = (0, -3, 0)


def open_process(pid: int) -> int:
    """Return a handle on /proc/PID. What is read through it is of this process, or fails: never of one with the same number."""
    return system.open(f"/proc/{pid}", system.O_PATH | system.O_DIRECTORY | system.O_CLOEXEC)


def open_own_process() -> int:
    """Return a handle on /proc of this process; OSError if /proc is another namespace's, or this process has a personality."""
    process = open_process(system.getpid())
    try:
        # Where /proc was mounted for other processes, our number is another one's.
        # A personality (setarch) is only shown to oneself.
        if system.readlink("/proc/self") != str(system.getpid()):
            raise OSError(EINVAL, "/proc is of another container")
        if int(read_process_file(process, "personality"), 16):
            raise OSError(EINVAL, "this process has a personality, as setarch sets it")
    except (OSError, ValueError):
        system.close(process)
        raise
    return process


def read_surroundings(process: int, status: bytes = b"") -> bytes:
    """Return namespaces, root, cgroup, label, rights and scheduling as one text; OSError if a part of it cannot be read."""
    parts = [
        b"%s=%s\n" % (name.encode(), system.readlink(f"ns/{name}", dir_fd=process).encode()) for name in NAMESPACES
    ]
    parts.append(_read_root(process))
    parts += [read_process_file(process, name) for name in ("cgroup", "oom_score_adj")]
    parts.append(_read_label(process))
    lines = (status or read_process_file(process, "status")).split(b"\n")
    # Two filters cannot be compared.
    if b"Seccomp:\t2" in lines:
        raise OSError(EPERM, "this process has a seccomp filter, as in most containers")
    parts += [line + b"\n" for line in lines if line.startswith(STATUS_LINES)]
    fields = read_process_file(process, "stat").rpartition(b")")[2].split()
    parts += [fields[at] + b"\n" for at in SCHEDULING_FIELDS]
    return b"".join(parts)


def _read_root(process: int) -> bytes:
    """Return the root folder and its mount: the same folder may be mounted twice, with other rights and other folders in it."""
    handle = system.open("root", system.O_PATH | system.O_DIRECTORY | system.O_CLOEXEC, dir_fd=process)
    try:
        found = system.fstat(handle)
        lines = read_process_file(process, f"/proc/self/fdinfo/{handle}").split(b"\n")
    finally:
        system.close(handle)
    mount, *_ = [line for line in lines if line.startswith(b"mnt_id:")]
    return b"root=%d:%d %s\n" % (found.st_dev, found.st_ino, mount)


def _read_label(process: int) -> bytes:
    try:
        return read_process_file(process, "attr/current") + b"\n"
    except OSError as error:
        # No module of this kernel labels processes.
        if error.errno != EINVAL:
            raise
        return b"\n"


def read_process_file(process: int, name: str, limit: int = MAX_PROCESS_FILE_BYTES) -> bytes:
    """Return a file of a process; OSError if it is longer than the limit."""
    handle = system.open(name, system.O_RDONLY | system.O_CLOEXEC, dir_fd=process)
    try:
        parts, size = [], 0
        while part := system.read(handle, limit):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise OSError(EINVAL, f"{name} of a process is too long")
        return b"".join(parts)
    finally:
        system.close(handle)


def name_socket(python: str, entry: str, surroundings: bytes) -> str:
    """Return the name of the socket of the resident for an installation, as it is now, in some surroundings, since this boot."""
    # An upgrade changes the file of the version, so that an older resident is not found any more.
    paths = (python, entry, entry.removesuffix("entry/hook_entry.py") + "version.py")
    boot = _read_boot()
    text = PROTOCOL + b"\n" + boot + b"".join([_stamp_file(path) for path in paths]) + surroundings
    # The kernel shows it only to the process itself, so processes with another one must not find each other.
    text += b"keyring=%d\n" % find_session_keyring()
    number = 0xCBF29CE484222325
    for byte in text:
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{boot[:BOOT_CHARS].decode()}-{number:016x}.socket"


def name_boot() -> str:
    """Return how the names of all sockets of this boot begin."""
    return _read_boot()[:BOOT_CHARS].decode()


def find_session_keyring() -> int:
    """Return the number of this process's session keyring, -1 if there are none; OSError if it cannot be asked."""
    number = KEYCTL_NUMBERS.get(system.uname().machine)
    if number is None:
        raise OSError(EINVAL, f"boathook cannot find the session keyring on {system.uname().machine}")
    # The module behind `ctypes`, which takes as long to import as an interpreter to start.
    import _ctypes  # pyright: ignore[reportMissingImports]

    library: Any = None
    call = _ctypes.dlsym(_ctypes.dlopen(library, 0), "syscall")
    found: int = _ctypes.call_function(call, (number, *SESSION_KEYRING))
    return found


def _stamp_file(path: str) -> bytes:
    found = system.stat(path)
    path_bytes = path.encode("utf-8", "surrogateescape")
    return b"%s %d %d %d\n" % (path_bytes, found.st_ino, found.st_size, found.st_ctime_ns)


def _read_boot() -> bytes:
    handle = system.open("/proc/sys/kernel/random/boot_id", system.O_RDONLY | system.O_CLOEXEC)
    try:
        return system.read(handle, 64)
    finally:
        system.close(handle)


def open_private_folder(path: str) -> int:
    """Return a handle on a folder that is the user's own and closed to all others; OSError otherwise."""
    flags = system.O_PATH | system.O_DIRECTORY | system.O_NOFOLLOW | system.O_CLOEXEC
    handle = system.open(path, flags)
    found = system.fstat(handle)
    if found.st_uid != system.geteuid() or found.st_mode & 0o077:
        system.close(handle)
        raise OSError(EINVAL, "the folder is not private", path)
    return handle
