"""No process of a hook outlives it (Linux).

While hooks run, this process is the reaper of its orphaned descendants: a hook's child that detaches itself, by two forks and a new
session, becomes ours when the hook ends, so one look at our children shows whether anything is left. In a process of the engine's
own every such child is a hook's. In a program that embeds us a child is touched only if it is in the hook's session or carries
its mark, for it may belong to somebody else. The mark stands in the environment, which a process can throw away, and in
a limit that all descendants inherit and that a zombie still shows. Elsewhere than on Linux only the process group is killed.
"""

from __future__ import annotations

import _thread
import itertools
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from typing import Any

MARK = "BOATHOOK_RUN"
SIGKILL = 9
MOST_ABOVE = 64
MAX_TREE_SIZE = 1 << 14
STARTED = 19  # among the fields behind the name: when a process was started
SWEEP_SECONDS = 0.1
# On a busy machine a killed process may wait so long for the processor that it needs to end, and so may we.
STARVED_SECONDS = 0.9
MIN_ROUNDS = 200
SET_SUBREAPER, GET_SUBREAPER = 36, 37
FIRST_LIMIT = 1 << 62  # microseconds of real-time scheduling: no process will ever get there


_numbers = itertools.count(1)  # of the whole process: two engines must not take each other's hooks for their own


class Mark:
    """What the processes of some hooks are known by: a text in their environment and, where it can be set, a limit."""

    def __init__(self) -> None:
        """Make a mark, unlike any other of this process."""
        number = next(_numbers)
        self.text = b"%s-%d-%d" % (_self(), number, time.monotonic_ns())
        self.limit = 0
        self.seen: set[int] = set()
        self.has_escaped = False
        self._number = FIRST_LIMIT + number

    def start(self, spawn: Callable[[], int]) -> int:
        """Start a process that carries the limit from its first moment on.

        Our own soft limit is lowered meanwhile. `spawn` must keep the interpreter's lock, so that no other thread of the host
        starts a process that would carry it, too.
        """
        import resource

        which = getattr(resource, "RLIMIT_RTTIME", None)
        if which is None or resource.getrlimit(which)[1] != resource.RLIM_INFINITY:
            return spawn()
        with _role.spawn_lock:
            before = resource.getrlimit(which)
            resource.setrlimit(which, (self._number, before[1]))
            self.limit = self._number
            try:
                return spawn()
            finally:
                resource.setrlimit(which, before)

    def put_on(self, pid: int) -> None:
        """Set the limit of a process so that it cannot be raised, unless this process has such a limit itself."""
        import resource

        try:
            if resource.getrlimit(resource.RLIMIT_RTTIME)[1] == resource.RLIM_INFINITY:
                resource.prlimit(pid, resource.RLIMIT_RTTIME, (self._number, self._number))
                self.limit = self._number
        except (AttributeError, OSError, ValueError):
            return

    def is_on(self, pid: int) -> bool:
        """Whether a process carries the mark, or was seen with it: a zombie has no environment."""
        if pid in self.seen:
            return True
        if self.limit:
            soft, hard = _limits_of(pid)
            # The second: a zombie that was started before its parent could be marked for good.
            if hard == self.limit or (soft == self.limit and _is_foreign_zombie(pid)):
                return True
        return MARK.encode() + b"=" + self.text in _read(f"/proc/{pid}/environ")

    def may_be_on(self, pid: int, *, wary: bool) -> bool:
        """Whether a process without the mark could show it soon: it starts, or ends and was started before it could be marked."""
        has_limit = self.limit > 0 and _limits_of(pid)[0] == self.limit
        return (wary or has_limit) and not _read(f"/proc/{pid}/environ") and (has_limit or not _is_zombie(pid))


def _limits_of(pid: int) -> tuple[int, int]:
    import resource

    try:
        return resource.prlimit(pid, resource.RLIMIT_RTTIME)
    except ProcessLookupError:
        return 0, 0
    except OSError:
        # A process of another user; its limits can be read as text, which takes twenty times as long.
        for line in _read(f"/proc/{pid}/limits").splitlines():
            if line.startswith(b"Max realtime timeout"):
                soft, hard = (int(word) if word.isdigit() else -1 for word in line.split()[3:5])
                return soft, hard
        return 0, 0


def _is_foreign_zombie(pid: int) -> bool:
    """Whether a process has ended that is not of our session, as no process of a hook is."""
    fields = _stat(pid)
    return fields is not None and fields[0] == b"Z" and int(fields[3]) != os.getsid(0)


def is_above(mark: bytes) -> bool:
    """Whether a mark is that of a process above this one, for a file of variables could hold any; believed without /proc.

    Within an isolated hook nothing outside of it is seen: there the limits of a hook tell.
    """
    fields = _stat(os.getpid())
    if fields is None:
        return True
    for _ in range(MOST_ABOVE):
        above = int(fields[1])
        fields = _stat(above)
        if fields is None:
            break
        if mark.startswith(b"%d-%s-" % (above, fields[STARTED])):
            return True
    return _is_isolated()


def _self() -> bytes:
    """Name this process so that nobody can guess it: its number, and when it was started."""
    fields = _stat(os.getpid())
    return b"%d-%s" % (os.getpid(), fields[STARTED] if fields else b"0")


def _is_isolated() -> bool:
    import resource

    from boathook.process.limits import MAX_FILE_BYTES

    return _read("/proc/1/comm") == b"bwrap\n" and 0 <= resource.getrlimit(resource.RLIMIT_FSIZE)[1] <= MAX_FILE_BYTES


class Reaper:
    """Finds and ends what hooks leave behind."""

    def __init__(self, *, exclusive: bool) -> None:
        """Whether every unknown child of this process is a hook's; those it has now are not."""
        self._exclusive = exclusive
        self._foreign = frozenset(_child_pids()) if exclusive else frozenset()
        self._ready = False

    def enter(self, mark: Mark) -> None:
        """Become the reaper of orphans, if these hooks are the first now running."""
        if _unreaped:
            _reap_late()
        if not self._exclusive:
            _role.take(mark)
        elif not self._ready:
            self._ready = True
            _be_reaper_lean()

    def leave(self, mark: Mark) -> None:
        """Give the role back after the last hooks."""
        if self._exclusive:
            return
        _role.give_back(mark)
        if mark.has_escaped:
            # What still forks is the system's from now on; what it left here is not.
            for pid in filter(mark.is_on, _child_pids()):
                _send_kill(pid)
                if not _reap(pid):
                    reap_later(pid)

    def spread(self, mark: Mark, leaders: Container[int]) -> None:
        """Mark what hooks had started before they were marked themselves."""
        if self._exclusive or not mark.limit:
            return
        for child in _child_pids():
            if child in leaders or mark.is_on(child):
                for pid in tree(child):
                    mark.put_on(pid)

    def sweep(self, leaders: Container[int], mark: Mark, known: Container[int], *, wary: bool = False) -> None:
        """End every process that finished hooks left, within a bounded time.

        Wary: a hook may just have been starting; a process that shows no environment yet is looked at again.
        """
        end = time.monotonic() + SWEEP_SECONDS
        killed: set[int] = set()
        others: set[int] = set()
        for rounds in itertools.count():
            found_more = undecided = False
            # The newest first: a process that forks and exits, again and again, must be killed before it does so once more.
            for pid in reversed(_child_pids()):
                if pid in known or pid in killed or pid in others:
                    continue
                if self._is_of(pid, leaders, mark):
                    self._kill(pid, mark)
                    killed.add(pid)
                    found_more = True
                elif mark.may_be_on(pid, wary=wary):
                    undecided = True
                elif not wary:
                    others.add(pid)
            killed = {pid for pid in killed if not _reap(pid)}
            # What dies below them becomes a child of this process; a deep tree would take many rounds.
            for pid in killed:
                _kill_tree(pid)
            if not (killed or found_more or undecided):
                return
            late = time.monotonic() - end
            if late > 0:
                can_succeed = rounds < MIN_ROUNDS if found_more else killed and all(map(is_runnable, killed))
                if late > STARVED_SECONDS or not can_succeed:
                    break
            if not found_more:
                time.sleep(0.001)
        mark.has_escaped = True
        for pid in killed:
            reap_later(pid)

    def _kill(self, pid: int, mark: Mark) -> None:
        if self._exclusive or mark.limit:
            _send_kill(pid)
        else:
            # Nothing but the environment shows whose these are, and a zombie has none.
            mark.seen.update(_kill_tree(pid))

    def _is_of(self, pid: int, leaders: Container[int], mark: Mark) -> bool:
        if self._exclusive:
            return pid not in self._foreign
        if mark.is_on(pid):
            return True
        fields = _stat(pid)
        return fields is not None and (int(fields[2]) in leaders or int(fields[3]) in leaders)


class _Role:
    """What a host is while hooks run: the reaper of their orphans, and one that is told how its children end.

    It belongs to the process, however many engines and threads run hooks in it: the first takes it, the last gives it back.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew: in a process that was forked off nobody runs hooks yet."""
        self._lock = _thread.allocate_lock()
        self.spawn_lock = _thread.allocate_lock()
        self._users: set[Mark] = set()
        self._was_reaper = self._ignored = False

    def take(self, user: Mark) -> None:
        """Take the role for one more user."""
        with self._lock:
            before = _be_reaper(on=True)
            if not self._users:
                self._was_reaper = before
                self._ignored = _heed_children()
            self._users.add(user)

    def give_back(self, user: Mark) -> None:
        """Return the role back for one user."""
        with self._lock:
            if user not in self._users:
                return
            self._users.discard(user)
            if not self._users and not self._was_reaper:
                _be_reaper(on=False)
            if not self._users and self._ignored:
                _ignore_children()


_role = _Role()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_role.reset)


def _be_reaper_lean() -> None:
    """Ask the kernel through the bare C interface: `import ctypes` would cost half an interpreter start."""
    try:
        import _ctypes

        prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        _ctypes.call_function(prctl, (SET_SUBREAPER, 1, 0, 0, 0))
    except Exception:  # noqa: BLE001  (no such call here: the group is killed all the same)
        return


def _be_reaper(*, on: bool) -> bool:
    """Take or give back the role; say whether this process had it before."""
    libc = _libc()
    if libc is None:
        return True
    prctl, before, reference = libc[:3]
    prctl(GET_SUBREAPER, reference, 0, 0, 0)
    prctl(SET_SUBREAPER, int(on), 0, 0, 0)
    return bool(before.value)


_found: list[Any] = []


def _libc() -> tuple[Any, ...] | None:
    """Return what we need of the C library, looked up once: prctl, a place for its answer (twice), signal. None: not Linux."""
    if not _found:
        try:
            import ctypes

            libc, place = ctypes.CDLL(None), ctypes.c_int()
            libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
            _found.append((libc.prctl, place, ctypes.byref(place), libc.signal))
        except (ImportError, OSError, AttributeError):
            _found.append(None)
    return _found[0]  # type: ignore[no-any-return]


def _heed_children() -> bool:
    """Be told how children end, even if the host ignores that (then nobody learns a hook's exit code); say whether it does."""
    import _signal  # pyright: ignore[reportMissingImports]

    return _signal.getsignal(_signal.SIGCHLD) == _signal.SIG_IGN and _set_sigchld(_signal.SIG_DFL)


def _ignore_children() -> None:
    """Ignore the ends of children again, unless the host has changed its mind, and let go those that ended meanwhile."""
    import _signal  # pyright: ignore[reportMissingImports]

    if _signal.getsignal(_signal.SIGCHLD) != _signal.SIG_IGN or not _set_sigchld(_signal.SIG_IGN):
        return
    try:
        while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG):
            continue
    except ChildProcessError:
        return


def _set_sigchld(handler: int) -> bool:
    """Set what the kernel does when a child ends; unlike `signal.signal` this may be called from any thread."""
    import _signal  # pyright: ignore[reportMissingImports]

    libc = _libc()
    if libc is not None:
        libc[3](int(_signal.SIGCHLD), int(handler))
    return libc is not None


def _child_pids() -> list[int]:
    """Return the children of this process, adopted ones included."""
    return _children_of(os.getpid())


def _children_of(pid: int) -> list[int]:
    return [int(child) for child in _read(f"/proc/{pid}/task/{pid}/children").split()]


def _kill_tree(pid: int) -> list[int]:
    """Kill a process and its descendants, parents first so that they cannot start more; return them."""
    return [one for one in tree(pid) if _send_kill(one)]


def _send_kill(pid: int) -> bool:
    try:
        os.kill(pid, SIGKILL)
    except OSError:
        return False
    return True


def tree(pid: int) -> Iterator[int]:
    """Yield a process and its descendants, looking below each before yielding it."""
    pending = [pid]
    # A process that forks and exits again and again is a tree without an end.
    for _ in range(MAX_TREE_SIZE):
        if not pending:
            return
        one = pending.pop()
        pending += _children_of(one)
        yield one


def is_runnable(pid: int) -> bool:
    """Whether a process needs nothing but the processor, so that one that was killed will end."""
    fields = _stat(pid)
    return fields is None or fields[0] in b"RZX"


def _is_zombie(pid: int) -> bool:
    fields = _stat(pid)
    return fields is None or fields[0] == b"Z"


def _reap(pid: int) -> bool:
    """Whether a child has ended; its end is taken."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except OSError:
        # Not our child any more: the host waits for all processes.
        return True


# Killed processes that had not ended when time was up, with the time of their start, because numbers are used again.
_unreaped: dict[int, bytes] = {}


def reap_later(pid: int) -> None:
    """Take the end of a child when the next hooks run, so that no zombie stays."""
    if fields := _stat(pid):
        _unreaped[pid] = fields[STARTED]


def _reap_late() -> None:
    for pid, started in list(_unreaped.items()):
        fields = _stat(pid)
        if fields is None or fields[STARTED] != started or _reap(pid):
            _unreaped.pop(pid, None)


def _stat(pid: int) -> list[bytes] | None:
    """Return the fields of a process behind its name: state, parent, group, session."""
    text = _read(f"/proc/{pid}/stat")
    return text.rpartition(b")")[2].split() if text else None


def _read(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(handle, 65536):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(handle)
