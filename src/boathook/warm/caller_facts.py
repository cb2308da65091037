"""What the kernel says about a process that asks the resident: who it is, where it is, and what a fork must take over."""

from __future__ import annotations

import functools
import locale
import os
import resource
import select
import socket
import struct
import sys

from boathook.core.value import Value
from boathook.entry.surroundings import SO_PEERPIDFD, open_process, read_process_file, read_surroundings
from boathook.process.supervisor import HOOK_ENTRY

_MAX_ENVIRON_BYTES = 16 << 20
_LIMITS = tuple(getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_"))
# A fresh interpreter would load other libraries or allocate in another way.
_LOADER_VARIABLES = (b"LD_", b"MALLOC_", b"GLIBC_TUNABLES")
_PLAIN_LOCALES = (b"", b"C", b"POSIX")
# The resident was started without any, so its own interpreter has set this.
_COERCED_LOCALE = bytes(os.environb.get(b"LC_CTYPE", b""))
# A fork of the resident has more in memory than a fresh interpreter would.
_MEMORY_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)


class CallerRefused(Exception):
    """A caller needs a process of its own; the text says why."""


class CallerFacts(Value):
    """What a fork takes over from a caller; `folder` is a handle on its working directory."""

    pid: int
    args: list[str]
    env: dict[bytes, bytes]
    folder: int
    umask: int
    blocked: tuple[int, ...]
    ignored: tuple[int, ...]
    limits: tuple[tuple[int, tuple[int, int]], ...]


def examine_caller(connection: socket.socket) -> CallerFacts:
    """Return the facts about the process at the other end; CallerRefused if a fork of this one cannot stand in for it."""
    pid, pidfd = _identify_peer(connection)
    try:
        process = open_process(pid)
        try:
            facts = _read_facts(pid, process)
            # The number was this process's when /proc was opened, because it is so even now.
            if has_process_ended(pidfd):
                os.close(facts.folder)
                raise CallerRefused("the caller has ended")
            return facts
        finally:
            os.close(process)
    except (OSError, ValueError, LookupError) as error:
        cause = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise CallerRefused(f"/proc cannot be read: {cause}") from None
    finally:
        os.close(pidfd)


def is_own_user(connection: socket.socket) -> bool:
    """Whether the other end is a process of this user."""
    try:
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return bool(struct.unpack("3i", data)[1] == os.geteuid())
    except OSError:
        return False


def _identify_peer(connection: socket.socket) -> tuple[int, int]:
    """Return the number of the process that connected, and a handle on it."""
    try:
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid, user, _ = struct.unpack("3i", data)
        if user != os.geteuid() or pid <= 0:
            raise CallerRefused("another user, or another namespace of processes")
        return pid, connection.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    except OSError as error:
        raise CallerRefused(f"the system cannot identify callers: {error.strerror}") from None


def has_process_ended(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def _read_facts(pid: int, process: int) -> CallerFacts:
    own = open_process(os.getpid())
    try:
        status = read_process_file(process, "status")
        if read_surroundings(process, status) != read_surroundings(own):
            raise CallerRefused("other surroundings (namespaces, cgroup, rights, scheduling)")
    finally:
        os.close(own)
    args = _find_arguments(read_process_file(process, "cmdline", _MAX_ENVIRON_BYTES))
    env = _parse_environment(read_process_file(process, "environ", _MAX_ENVIRON_BYTES))
    _check_environment(env)
    _coerce_locale(env)
    lines = dict(line.split(b":\t", 1) for line in status.split(b"\n") if b":\t" in line)
    return CallerFacts(
        pid,
        args,
        env,
        limits=_read_limits(pid),
        umask=int(lines[b"Umask"], 8),
        blocked=_list_signals(lines[b"SigBlk"]),
        ignored=_list_signals(lines[b"SigIgn"]),
        folder=os.open("cwd", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=process),
    )


def _find_arguments(data: bytes) -> list[str]:
    """Return the arguments of `run` in a command line: those after the interpreter, its flags and our entry."""
    words = [word.decode("utf-8", "surrogateescape") for word in data.split(b"\0")[:-1]]
    start = [sys.executable, "-I", "-S", HOOK_ENTRY]
    at = next((at for at in (0, 1) if words[at : at + 4] == start), None)
    args = [] if at is None else words[at + 4 :]
    if at is None or args[:1] in (["--supervise"], ["--ask"]):
        raise CallerRefused("another installation or another command")
    return args


def _parse_environment(data: bytes) -> dict[bytes, bytes]:
    env: dict[bytes, bytes] = {}
    for entry in data.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        # As the interpreter does: the first one counts.
        if equals:
            env.setdefault(name, value)
    return env


def _coerce_locale(env: dict[bytes, bytes]) -> None:
    """Set LC_CTYPE as an interpreter does at its start if there is no locale that works (PEP 538): hooks inherit it."""
    name = env.get(b"LC_CTYPE") or env.get(b"LANG") or b""
    if not env.get(b"LC_ALL") and _COERCED_LOCALE and (name in _PLAIN_LOCALES or not _is_known_locale(name)):
        env[b"LC_CTYPE"] = _COERCED_LOCALE


@functools.lru_cache(maxsize=32)
def _is_known_locale(name: bytes) -> bool:
    own = locale.setlocale(locale.LC_CTYPE)
    try:
        # A locale may be "C" by another name.
        return locale.setlocale(locale.LC_CTYPE, name.decode("ascii", "replace")) != "C"
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_CTYPE, own)


def _check_environment(env: dict[bytes, bytes]) -> None:
    if env.get(b"CI"):
        raise CallerRefused("continuous integration (the variable CI)")
    if any(name.startswith(_LOADER_VARIABLES) for name in env):
        raise CallerRefused("variables that change the interpreter")
    name = env.get(b"LC_ALL") or env.get(b"LC_CTYPE") or env.get(b"LANG") or b""
    is_utf8 = name.partition(b".")[2].lower().replace(b"-", b"").startswith(b"utf8")
    if name not in _PLAIN_LOCALES and not is_utf8:
        raise CallerRefused("a locale that is not UTF-8")


def _list_signals(mask: bytes) -> tuple[int, ...]:
    bits = int(mask, 16)
    return tuple(number for number in range(1, 65) if bits >> (number - 1) & 1)


def _read_limits(pid: int) -> tuple[tuple[int, tuple[int, int]], ...]:
    """Return the limits of a caller; what is above our own cannot be taken over."""
    limits = tuple((which, resource.prlimit(pid, which)) for which in _LIMITS)
    for which, (soft, hard) in limits:
        if which in _MEMORY_LIMITS and soft != resource.RLIM_INFINITY:
            raise CallerRefused("a limit of memory")
        own = resource.getrlimit(which)[1]
        if own != resource.RLIM_INFINITY and not 0 <= hard <= own:
            raise CallerRefused("higher limits than the resident has")
    return limits
