"""Landlock and seccomp (Linux): a process gives up rights for itself and for everything it starts, without being root."""

# Also the program that confines a hook: `landlock.py [--network] [--plain-locale] FOLDER… -- PROGRAM ARGUMENT…` may from then
# on write below the folders only, has no network without `--network`, cannot signal other processes, has of the rights of root
# only that of opening files of other users, and becomes the program. It imports nothing of boathook, because it starts with
# every confined hook.

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as system
else:
    try:
        # loaded in every interpreter, unlike `os`
        import posix as system
    except ImportError:
        import os as system

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_SET_SECCOMP, _DROP_BOUND, _SET_NO_NEW_PRIVS = 22, 24, 38
_FILTER_MODE = 2
_ASK_VERSION, _BENEATH = 1, 1
EXIT_NOT_CONFINED, EXIT_NOT_STARTED = 125, 126
ERROR_PREFIX = "boathook: the sandbox: "

_WRITE_FILE, _REFER, _TRUNCATE, _IOCTL_DEV = 1 << 1, 1 << 13, 1 << 14, 1 << 15
# folders, files, sockets, pipes, links, devices
_REMOVE_AND_MAKE = 0b1_1111_1111 << 4
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
# No folder of a hook gives rights to devices.
_DEVICE_RIGHTS = _MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV
_FILE_RIGHTS = _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
# bind and connect
_TCP = 1 << 0 | 1 << 1
# abstract sockets and signals
_SCOPES = 1 << 0 | 1 << 1
_SINCE = {_REFER: 2, _TRUNCATE: 3, _IOCTL_DEV: 5}
_FILES_SINCE, _TCP_SINCE, SCOPES_SINCE = _SINCE[_TRUNCATE], 4, 6
# Not terminals: what is written there are commands to the terminal, and what is typed there runs.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

# Landlock knows TCP by `connect` and `bind` alone: TCP Fast Open, MPTCP and `listen` without `bind` pass, and so does UDP. So
# without a network no socket can be made, except those of this machine (AF_UNIX, AF_NETLINK). Landlock's rule is for sockets
# that another process hands over.
_LOCAL_FAMILIES = (1, 16)
# A ring of system calls (io_uring) makes sockets too, and no filter sees them; its number is the same everywhere.
_IO_URING_SETUP = 425
# Numbers from here on are another set (x32).
_FIRST_OTHER_NUMBER = 0x4000_0000
# the set of system calls as the kernel names it, the numbers of `socket` and, where there is one, of `socketcall`
_X86_64, _I386 = (0xC000_003E, 41, None), (0x4000_0003, 359, 102)
_AARCH64, _ARM = (0xC000_00B7, 198, None), (0x4000_0028, 281, None)
# A kernel of 64 bits says that it has 32 where a process asks for that (`linux32`).
_CALL_SETS = {
    **dict.fromkeys(("x86_64", "i686"), (_X86_64, _I386)),
    **dict.fromkeys(("aarch64", "armv7l", "armv8l"), (_AARCH64, _ARM)),
    "riscv64": ((0xC000_00F3, 198, None),),
    "loongarch64": ((0xC000_0102, 198, None),),
}
_LOAD, _RETURN, _IF_EQUAL, _IF_AT_LEAST = 0x20, 0x06, 0x15, 0x35
# where the number, the set and the first argument of a call are
_NUMBER_OFFSET, _SET_OFFSET, _ARGUMENT_OFFSET = 0, 4, 16
_ALLOW, _DENY, _NO_SUCH_CALL = 0x7FFF_0000, 0x0005_0000 | 13, 0x0005_0000 | 38

# CAP_DAC_OVERRIDE: a project in a container often belongs to another user
_KEPT_CAPABILITIES = 1 << 1
_CAPABILITY_VERSION, _CAPABILITY_COUNT = 0x2008_0522, 64


def find_version() -> int:
    """Return the version of Landlock in this kernel; 0 if it has none or it is turned off."""
    if sys.platform != "linux":
        return 0
    try:
        return max(_call("syscall", _CREATE_RULESET, None, 0, _ASK_VERSION), 0)
    except Exception:  # noqa: BLE001  (this interpreter cannot make the call: as if there were no Landlock)
        return 0


def find_limitation(version: int, *, network: bool) -> str:
    if not version:
        return "this system has no Landlock"
    if version < _FILES_SINCE:
        return f"Landlock version {version} cannot forbid truncating files ({_FILES_SINCE} is needed: Linux 6.2)"
    if not network and _find_machine() not in _CALL_SETS:
        return f"the system calls of {_find_machine()}, which make sockets, are not known"
    return ""


def _find_machine() -> str:
    return system.uname().machine


def confine(folders: list[str], *, network: bool) -> str:
    """Give up all rights to write except below some folders; return an error message, or an empty text."""
    version = find_version()
    if limitation := find_limitation(version, network=network):
        return limitation
    handled = _WRITE_FILE | _REMOVE_AND_MAKE | sum(right for right, since in _SINCE.items() if version >= since)
    parts = [handled]
    if version >= _TCP_SINCE:
        parts.append(0 if network else _TCP)
    if version >= SCOPES_SINCE:
        parts.append(_SCOPES)
    rules = _call("syscall", _CREATE_RULESET, b"".join(map(_u64, parts)), 8 * len(parts), 0)
    if rules < 0:
        return "Landlock refuses the rules"
    for path in (*folders, *_DEVICES):
        if not _allow(rules, path, handled) and path in folders:
            return f"Landlock refuses a rule for {path}"
    if _call("prctl", _SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _call("syscall", _RESTRICT_SELF, rules, 0):
        return "Landlock cannot be put in force"
    if system.geteuid() == 0 and not _drop_capabilities():
        return "the rights of root cannot be given up"
    if not network and not _forbid_sockets():
        return "seccomp cannot be put in force"
    return ""


def _allow(rules: int, path: str, handled: int) -> bool:
    try:
        handle = system.open(path, system.O_PATH | system.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    is_folder = system.fstat(handle).st_mode & 0o170000 == 0o040000
    rights = handled & ~_DEVICE_RIGHTS if is_folder else handled & _FILE_RIGHTS
    rule = _u64(rights) + handle.to_bytes(4, sys.byteorder)
    is_added = _call("syscall", _ADD_RULE, rules, _BENEATH, rule, 0) == 0
    system.close(handle)
    return is_added


def _drop_capabilities() -> bool:
    """Keep only what root needs to open files of other users; root of a container may lack the right to lower the bound."""
    for number in range(_CAPABILITY_COUNT):
        if not _KEPT_CAPABILITIES >> number & 1:
            _call("prctl", _DROP_BOUND, number, 0, 0, 0)
    kept = _u32(_KEPT_CAPABILITIES)
    # effective, permitted and inheritable, for the lower and then for the upper half of the numbers
    sets = kept + kept + _u32(0) * 4
    return _call("capset", _u32(_CAPABILITY_VERSION) + _u32(0), sets) == 0


def _forbid_sockets() -> bool:
    import _ctypes

    class Byte(_ctypes._SimpleCData):  # type: ignore[type-arg]
        _type_ = "B"

    code = make_socket_filter(_CALL_SETS[_find_machine()])
    # The kernel wants the address of the code in a structure; the object must live until the call.
    buffer = (Byte * len(code)).from_buffer_copy(code)
    word = 8 if sys.maxsize >> 32 else 4
    program = b"".join(part.to_bytes(word, "little") for part in (len(code) // 8, _ctypes.addressof(buffer)))
    return _call("prctl", _SET_SECCOMP, _FILTER_MODE, program, 0, 0) == 0


def make_socket_filter(call_sets: tuple[tuple[int, int, int | None], ...]) -> bytes:
    """Return the code that the kernel runs at every system call: no sockets but local ones, no other set of calls."""
    code: list[tuple[int, int, int, int]] = []
    for name, make_socket, make_any_call in call_sets:
        denied = [] if make_any_call is None else _return_if(_IF_EQUAL, make_any_call, _DENY)
        block = [
            (_LOAD, 0, 0, _NUMBER_OFFSET),
            *_return_if(_IF_AT_LEAST, _FIRST_OTHER_NUMBER, _NO_SUCH_CALL),
            *_return_if(_IF_EQUAL, _IO_URING_SETUP, _NO_SUCH_CALL),
            *denied,
            (_IF_EQUAL, 1, 0, make_socket),
            (_RETURN, 0, 0, _ALLOW),
            (_LOAD, 0, 0, _ARGUMENT_OFFSET),
            *(step for family in _LOCAL_FAMILIES for step in _return_if(_IF_EQUAL, family, _ALLOW)),
            (_RETURN, 0, 0, _DENY),
        ]
        code += [(_LOAD, 0, 0, _SET_OFFSET), (_IF_EQUAL, 0, len(block), name), *block]
    code.append((_RETURN, 0, 0, _NO_SUCH_CALL))
    return b"".join(
        step.to_bytes(2, sys.byteorder) + bytes((if_true, if_false)) + _u32(value)
        for step, if_true, if_false, value in code
    )


def _return_if(test: int, value: int, result: int) -> list[tuple[int, int, int, int]]:
    return [(test, 0, 1, value), (_RETURN, 0, 0, result)]


def _u32(number: int) -> bytes:
    return number.to_bytes(4, sys.byteorder)


def _u64(number: int) -> bytes:
    return number.to_bytes(8, sys.byteorder)


def _call(name: str, *args: int | bytes | None) -> int:
    """Call a function of the C library through the bare interface: `import ctypes` costs half an interpreter start."""
    import _ctypes

    function = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # type: ignore[arg-type]
    result: int = _ctypes.call_function(function, args)
    return result


def run_confined(args: list[str]) -> None:
    at = args.index("--")
    options = [word for word in args[:at] if word.startswith("--")]
    error_text = confine([word for word in args[:at] if word not in options], network="--network" in options)
    if error_text:
        _fail(EXIT_NOT_CONFINED, error_text)
    # the interpreter has set this for itself at its start
    if "--plain-locale" in options:
        system.environ.pop(b"LC_CTYPE", None)  # type: ignore[call-overload]
    import _signal  # pyright: ignore[reportMissingImports]

    # Python ignores these, and the program would inherit that.
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    argv = args[at + 1 :]
    try:
        system.execve(argv[0], argv, system.environ)
    except (OSError, ValueError) as error:
        _fail(EXIT_NOT_STARTED, f"{argv[0]} cannot be started: {getattr(error, 'strerror', None) or error}")


def _fail(code: int, message: str) -> None:
    system.write(2, f"{ERROR_PREFIX}{message}\n".encode("utf-8", "backslashreplace"))
    system._exit(code)


if __name__ == "__main__":
    run_confined(sys.argv[1:])
