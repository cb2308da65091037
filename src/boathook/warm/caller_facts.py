"""What the kernel says about a process that asks the resident: who it is, where it is, and what a fork must take over."""

from __future__ import annotations

import functools
import locale
import os
import resource
import select
import socket
import sys

from boathook.core.value import Value
from boathook.entry.run_once import read_all
from boathook.entry.surroundings import SO_PEERPIDFD, open_process, read_process_file, read_surroundings
from boathook.process.supervisor import HOOK_ENTRY
from boathook.system.peer_credentials import read_peer_credentials

_MAX_ENVIRON_BYTES = 16 << 20
_FIRST_ENVIRON_BYTES = 1 << 14
# The names in /proc/PID/limits. The number of file locks is left out, because Linux does not heed it.
_LIMITS = {
    b"Max cpu time": resource.RLIMIT_CPU,
    b"Max file size": resource.RLIMIT_FSIZE,
    b"Max data size": resource.RLIMIT_DATA,
    b"Max stack size": resource.RLIMIT_STACK,
    b"Max core file size": resource.RLIMIT_CORE,
    b"Max resident set": resource.RLIMIT_RSS,
    b"Max processes": resource.RLIMIT_NPROC,
    b"Max open files": resource.RLIMIT_NOFILE,
    b"Max locked memory": resource.RLIMIT_MEMLOCK,
    b"Max address space": resource.RLIMIT_AS,
    b"Max pending signals": resource.RLIMIT_SIGPENDING,
    b"Max msgqueue size": resource.RLIMIT_MSGQUEUE,
    b"Max nice priority": resource.RLIMIT_NICE,
    b"Max realtime priority": resource.RLIMIT_RTPRIO,
    b"Max realtime timeout": resource.RLIMIT_RTTIME,
}
_LIMIT_NAME_CHARS = 26
CALLER_LIMITS = tuple(_LIMITS.values())
# A fresh interpreter would load other libraries or allocate in another way.
_LOADER_VARIABLES = (b"LD_", b"MALLOC_", b"GLIBC_TUNABLES")
# Locales of the caller's own, which the resident does not know.
_LOCALE_VARIABLES = (b"LOCPATH=", b"LOCALE_ARCHIVE=")
_PLAIN_LOCALES = (b"", b"C", b"POSIX")
# The resident was started without any, so its own interpreter has set this.
_COERCED_LOCALE = bytes(os.environb.get(b"LC_CTYPE", b""))
# A fork of the resident has more in memory than a fresh interpreter would.
_MEMORY_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
# The C library keeps these for itself, so a fork cannot block them. They are ignored in what its posix_spawn starts, which means
# nothing: no other program sends them.
LIBRARY_SIGNALS = (32, 33)


class CallerRefused(Exception):
    """A caller needs a process of its own; the text says why."""


class CallerEnvironment:
    """The variables of a caller, in memory that can be wiped: nothing of them may stay in the resident."""

    def __init__(self, handle: int) -> None:
        size = _FIRST_ENVIRON_BYTES
        # A zero before the first variable, and one after the last.
        self._data = bytearray(size)
        while (used := self._read(handle)) > size - 2:
            self.wipe()
            size *= 4
            if size > _MAX_ENVIRON_BYTES:
                raise ValueError("too many variables")
            self._data = bytearray(size)
        self._end = used + 2

    def _read(self, handle: int) -> int:
        # Straight into the buffer, so that there is no other copy.
        with memoryview(self._data) as view, view[1:] as part:
            return os.preadv(handle, [part], 0)

    def get(self, name: bytes, default: bytes = b"") -> bytes:
        # As the interpreter does: the first one counts.
        at = self._data.find(b"\0%b=" % name, 0, self._end)
        if at < 0:
            return default
        start = at + len(name) + 2
        return bytes(self._data[start : self._data.index(0, start)])

    def has_prefix(self, prefix: bytes) -> bool:
        return self._data.find(b"\0" + prefix, 0, self._end) >= 0

    def wipe(self) -> None:
        self._data[:] = bytes(len(self._data))


class CallerFacts(Value):
    """What a fork takes over from a caller. `process` is a handle on its /proc, `variables` one on its environment."""

    pid: int
    args: list[str]
    env: CallerEnvironment
    # What LC_CTYPE is set to, b"" if it stays.
    locale_name: bytes
    umask: int
    blocked: tuple[int, ...]
    ignored: tuple[int, ...]
    limits: tuple[tuple[int, tuple[int, int]], ...]
    process: int
    variables: int

    def close(self) -> None:
        self.env.wipe()
        os.close(self.process)
        os.close(self.variables)


def examine_caller(connection: socket.socket, own_surroundings: bytes) -> tuple[CallerFacts, int]:
    """Return the facts about the process at the other end, and a handle that tells when it has ended.

    CallerRefused if a fork of this one cannot stand in for it.
    """
    pid, pidfd = _identify_peer(connection)
    handles: list[int] = []
    try:
        handles.append(open_process(pid))
        facts = _read_facts(pid, handles, own_surroundings)
        # The number was this process's when /proc was opened, because it is so even now.
        if has_process_ended(pidfd):
            facts.env.wipe()
            raise CallerRefused("the caller has ended")
    except (OSError, ValueError, LookupError, CallerRefused) as error:
        for handle in (pidfd, *handles):
            os.close(handle)
        if isinstance(error, CallerRefused):
            raise
        cause = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise CallerRefused(f"/proc cannot be read: {cause}") from None
    return facts, pidfd


def _identify_peer(connection: socket.socket) -> tuple[int, int]:
    """Return the number of the process that connected, and a handle on it."""
    try:
        pid, user = read_peer_credentials(connection)
        if user != os.geteuid() or pid <= 0:
            raise CallerRefused("another user, or another namespace of processes")
        return pid, connection.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    except OSError as error:
        raise CallerRefused(f"the system cannot identify callers: {error.strerror}") from None


def has_process_ended(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def _read_facts(pid: int, handles: list[int], own_surroundings: bytes) -> CallerFacts:
    process = handles[0]
    status = read_process_file(process, "status")
    if read_surroundings(process, status) != own_surroundings:
        raise CallerRefused("other surroundings (namespaces, cgroup, rights, scheduling)")
    args = _find_arguments(read_process_file(process, "cmdline", _MAX_ENVIRON_BYTES))
    blocked, ignored = _list_signals(_find_line(status, b"SigBlk")), _list_signals(_find_line(status, b"SigIgn"))
    if any(number in blocked for number in LIBRARY_SIGNALS):
        raise CallerRefused("signals that the C library keeps for itself are blocked")
    limits = _check_limits(read_process_file(process, "limits"))
    handles.append(os.open("environ", os.O_RDONLY | os.O_CLOEXEC, dir_fd=process))
    env = CallerEnvironment(handles[1])
    try:
        _check_environment(env)
    except CallerRefused:
        env.wipe()
        raise
    umask = int(_find_line(status, b"Umask"), 8)
    return CallerFacts(pid, args, env, _find_locale(env), umask, blocked, ignored, limits, *handles)


def _find_line(status: bytes, name: bytes) -> bytes:
    before, found, after = status.partition(b"\n%b:\t" % name)
    if not found:
        raise LookupError(before[:0])
    return after.partition(b"\n")[0]


def _find_arguments(data: bytes) -> list[str]:
    """Return the arguments of `run` in a command line: those after the interpreter, its flags and our entry."""
    words = [word.decode("utf-8", "surrogateescape") for word in data.split(b"\0")[:-1]]
    start = [sys.executable, "-I", "-S", HOOK_ENTRY]
    at = next((at for at in (0, 1) if words[at : at + 4] == start), None)
    args = [] if at is None else words[at + 4 :]
    if at is None or args[:1] in (["--supervise"], ["--ask"]):
        raise CallerRefused("another installation or another command")
    return args


def parse_environment(handle: int, locale_name: bytes) -> dict[bytes, bytes]:
    """Return the environment of a caller as an interpreter that it starts would have it."""
    env: dict[bytes, bytes] = {}
    for entry in read_all(handle).split(b"\0"):
        name, equals, value = entry.partition(b"=")
        # As the interpreter does: the first one counts.
        if equals:
            env.setdefault(name, value)
    if locale_name:
        env[b"LC_CTYPE"] = locale_name
    return env


def _find_locale(env: CallerEnvironment) -> bytes:
    """Return the LC_CTYPE that an interpreter sets at its start if there is no locale that works (PEP 538): hooks inherit it."""
    name = env.get(b"LC_CTYPE") or env.get(b"LANG")
    is_coerced = not env.get(b"LC_ALL") and (name in _PLAIN_LOCALES or not _is_known_locale(name))
    return _COERCED_LOCALE if is_coerced else b""


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


def _check_environment(env: CallerEnvironment) -> None:
    if env.get(b"CI"):
        raise CallerRefused("continuous integration (the variable CI)")
    if any(map(env.has_prefix, _LOADER_VARIABLES)):
        raise CallerRefused("variables that change the interpreter")
    if any(map(env.has_prefix, _LOCALE_VARIABLES)):
        raise CallerRefused("locales of its own (LOCPATH)")
    name = env.get(b"LC_ALL") or env.get(b"LC_CTYPE") or env.get(b"LANG")
    is_utf8 = name.partition(b".")[2].lower().replace(b"-", b"").startswith(b"utf8")
    if name not in _PLAIN_LOCALES and not is_utf8:
        raise CallerRefused("a locale that is not UTF-8")


@functools.lru_cache(maxsize=32)
def _list_signals(mask: bytes) -> tuple[int, ...]:
    bits = int(mask, 16)
    return tuple(number for number in range(1, 65) if bits >> (number - 1) & 1)


@functools.lru_cache(maxsize=32)
def _check_limits(table: bytes) -> tuple[tuple[int, tuple[int, int]], ...]:
    """Return the limits of a caller; what is above our own cannot be taken over."""
    limits = _parse_limits(table)
    own_limits = dict(_parse_limits(_read_own_limits()))
    for which, (soft, hard) in limits:
        if which in _MEMORY_LIMITS and soft != resource.RLIM_INFINITY:
            raise CallerRefused("a limit of memory")
        own = own_limits[which][1]
        if own != resource.RLIM_INFINITY and not 0 <= hard <= own:
            raise CallerRefused("higher limits than the resident has")
    return limits


def _read_own_limits() -> bytes:
    with open("/proc/self/limits", "rb") as file:
        return file.read()


def _parse_limits(table: bytes) -> tuple[tuple[int, tuple[int, int]], ...]:
    """Return the limits of /proc/PID/limits: to read them there takes one look, where each limit would take a call."""
    limits = []
    for line in table.splitlines():
        which = _LIMITS.get(line[:_LIMIT_NAME_CHARS].strip())
        if which is not None:
            soft, hard, *_ = line[_LIMIT_NAME_CHARS:].split()
            limits.append((which, (_parse_limit(soft), _parse_limit(hard))))
    if len(limits) != len(_LIMITS):
        raise LookupError("a limit is missing")
    return tuple(limits)


def _parse_limit(word: bytes) -> int:
    return resource.RLIM_INFINITY if word == b"unlimited" else int(word)
