"""No process of a hook outlives it (Linux). On other systems only the process group is killed."""

# While hooks run, this process is the reaper of its orphaned descendants: a hook's child that detaches itself, by two forks and a
# new session, becomes our child when the hook ends. In a process of the engine's own every such child belongs to a hook. In a
# program that embeds us a child is killed only if it is in the hook's session or carries its mark: a text in the environment,
# which a process can delete, and a limit that all descendants inherit and that a zombie still shows.

from __future__ import annotations

import _thread
import itertools
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from typing import Any

MARK_VARIABLE = "BOATHOOK_RUN"
MAX_TREE_SIZE = 1 << 14
_SIGKILL = 9
_MAX_ANCESTORS = 64
# the index, among the fields after the name, of the time when a process was started
_START_FIELD = 19
_KILL_SECONDS = 0.1
# on a busy machine a killed process may wait this long for the processor that it needs to end, and so may we
_STARVED_SECONDS = 0.9
_MIN_ROUNDS = 200
_SET_SUBREAPER, _GET_SUBREAPER = 36, 37
# microseconds of real-time scheduling: no process will ever reach it
_FIRST_LIMIT = 1 << 62

# one count for the whole process: two engines must not take each other's hooks for their own
_numbers = itertools.count(1)


class ProcessMark:
    """What identifies the processes of some hooks: a text in their environment and, where it can be set, a limit."""

    def __init__(self) -> None:
        number = next(_numbers)
        self.text = b"%s-%d-%d" % (_identify_self(), number, time.monotonic_ns())
        self.limit = 0
        self.seen: set[int] = set()
        self.has_escaped = False
        self._number = _FIRST_LIMIT + number

    def start_marked(self, spawn: Callable[[], int]) -> int:
        """Start a process that has the limit from the beginning, because our own soft limit is lowered meanwhile."""
        # `spawn` must keep the interpreter's lock, so that no other thread of the host starts a process that would have it, too.
        import resource

        which = getattr(resource, "RLIMIT_RTTIME", None)
        if which is None or resource.getrlimit(which)[1] != resource.RLIM_INFINITY:
            return spawn()
        from boathook.process.spawn import set_soft_limit

        with _role.spawn_lock:
            before = resource.getrlimit(which)[0]
            set_soft_limit(which, self._number)
            self.limit = self._number
            try:
                return spawn()
            finally:
                set_soft_limit(which, before)

    def set_limit(self, pid: int) -> None:
        """Set the limit of a process so that it cannot be raised, unless this process has such a limit itself."""
        import resource

        try:
            if resource.getrlimit(resource.RLIMIT_RTTIME)[1] == resource.RLIM_INFINITY:
                resource.prlimit(pid, resource.RLIMIT_RTTIME, (self._number, self._number))
                self.limit = self._number
        except (AttributeError, OSError, ValueError):
            return

    def is_on(self, pid: int, *, is_starting: bool = False) -> bool | None:
        """Whether a process carries the mark; None if that cannot be known yet, because it starts or ends just now."""
        # All is read once and in this order, so that a process that starts or ends meanwhile is not taken for another one's.
        if pid in self.seen:
            return True
        soft, hard = _read_limits(pid) if self.limit else (-1, -1)
        environment = _read_file(f"/proc/{pid}/environ")
        if hard == self.limit > 0 or b"=" + self.text in environment:
            return True
        if environment:
            return False
        # a process without the hard limit was started before its parent could be marked for good
        has_limit = soft == self.limit > 0
        fields = _read_stat(pid)
        if fields is None or fields[0] == b"Z":
            # Every process of a hook is of another session than ours.
            return has_limit and fields is not None and int(fields[3]) != os.getsid(0)
        return None if is_starting or has_limit else False


def _read_limits(pid: int) -> tuple[int, int]:
    import resource

    try:
        return resource.prlimit(pid, resource.RLIMIT_RTTIME)
    except ProcessLookupError:
        return 0, 0
    except OSError:
        # a process of another user; its limits can be read as text, which takes twenty times as long
        for line in _read_file(f"/proc/{pid}/limits").splitlines():
            if line.startswith(b"Max realtime timeout"):
                soft, hard = (int(word) if word.isdigit() else -1 for word in line.split()[3:5])
                return soft, hard
        return 0, 0


# The process that an agent has started for this event, if it is not this one: see `boathook.warm`.
_caller_pid = 0


def set_caller_process(pid: int) -> None:
    global _caller_pid
    _caller_pid = pid


def find_caller_process() -> int:
    """Return the process that this one answers for, 0 if it answers for itself."""
    return _caller_pid


def name_engine_path() -> str:
    """Return which way an event is answered: by a fork of the resident ("warm"), or by a process of its own ("cold")."""
    return "warm" if _caller_pid else "cold"


def measure_wait() -> float | None:
    """Return for how many seconds the agent has waited: since its command was started, shell and interpreter included.

    The kernel keeps that moment in steps of ten milliseconds, so this may be five too many or too few. None without /proc.
    """
    fields = _read_stat(_caller_pid or os.getpid())
    if fields is None or not hasattr(time, "CLOCK_BOOTTIME"):
        return None
    started = (int(fields[_START_FIELD]) + 0.5) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def is_ancestor_mark(mark: bytes) -> bool:
    """Whether a mark is that of a process above this one, because a file of variables could hold any; True without /proc."""
    fields = _read_stat(_caller_pid or os.getpid())
    if fields is None:
        return True
    for _ in range(_MAX_ANCESTORS):
        above = int(fields[1])
        fields = _read_stat(above)
        if fields is None:
            break
        if mark.startswith(b"%d-%s-" % (above, fields[_START_FIELD])):
            return True
    # An isolated hook does not see the processes outside: there the limits of a hook decide.
    return _is_isolated()


_own_names: list[bytes] = []


def _identify_self() -> bytes:
    """Return a name of this process that cannot be guessed: its number, and when it was started."""
    if not _own_names:
        fields = _read_stat(os.getpid())
        _own_names.append(b"%d-%s" % (os.getpid(), fields[_START_FIELD] if fields else b"0"))
    return _own_names[0]


def _is_isolated() -> bool:
    import resource

    from boathook.process.spawn import MAX_WRITTEN_FILE_BYTES

    return (
        _read_file("/proc/1/comm") == b"bwrap\n"
        and 0 <= resource.getrlimit(resource.RLIMIT_FSIZE)[1] <= MAX_WRITTEN_FILE_BYTES
    )


class Reaper:
    def __init__(self, *, exclusive: bool) -> None:
        # in a process of the engine's own every unknown child belongs to a hook; those it has now do not
        self._exclusive = exclusive
        self._foreign = frozenset(_list_children()) if exclusive else frozenset()
        self._is_reaper = False

    def enter(self, mark: ProcessMark) -> None:
        if _unreaped:
            _reap_unreaped()
        if not self._exclusive:
            _role.take(mark)
        elif not self._is_reaper:
            self._is_reaper = True
            _become_reaper()

    def leave(self, mark: ProcessMark) -> None:
        if self._exclusive:
            return
        _role.give_back(mark)
        if mark.has_escaped:
            # what still forks belongs to the system from now on; what it left here does not
            for pid in filter(mark.is_on, _list_children()):
                send_kill(pid)
                if not _reap(pid):
                    reap_later(pid)

    def mark_descendants(self, mark: ProcessMark, leaders: Container[int]) -> None:
        """Mark what hooks had started before they were marked themselves."""
        if self._exclusive or not mark.limit:
            return
        for child in _list_children():
            if child in leaders or mark.is_on(child):
                for pid in iter_tree(child):
                    mark.set_limit(pid)

    def kill_leftovers(
        self, leaders: Container[int], mark: ProcessMark, known: Container[int], *, is_starting: bool = False
    ) -> None:
        """Kill every process that finished hooks left, within a bounded time; `is_starting` if a hook may just have been."""
        end = time.monotonic() + _KILL_SECONDS
        killed: set[int] = set()
        others: set[int] = set()
        for rounds in itertools.count():
            has_changed = is_undecided = False
            # the newest first: a process that forks and exits again and again must be killed before it does so once more
            for pid in reversed(_list_children()):
                if pid in known or pid in killed or pid in others:
                    continue
                is_of_hook = self._is_of_hook(pid, leaders, mark, is_starting=is_starting)
                if is_of_hook:
                    self._kill(pid, mark)
                    killed.add(pid)
                    has_changed = True
                elif is_of_hook is None:
                    is_undecided = True
                elif not is_starting:
                    others.add(pid)
            for pid in [pid for pid in killed if _reap(pid)]:
                killed.remove(pid)
                # its children became ours, perhaps after they were listed
                has_changed = True
            # what dies below them becomes a child of this process; a deep tree would take many rounds
            for pid in killed:
                _kill_tree(pid)
            if not (killed or has_changed or is_undecided):
                return
            late = time.monotonic() - end
            if late > 0:
                can_succeed = rounds < _MIN_ROUNDS if has_changed else killed and all(map(is_runnable, killed))
                if late > _STARVED_SECONDS or not can_succeed:
                    break
            if not has_changed:
                time.sleep(0.001)
        mark.has_escaped = True
        for pid in killed:
            reap_later(pid)

    def _kill(self, pid: int, mark: ProcessMark) -> None:
        if self._exclusive or mark.limit:
            send_kill(pid)
        else:
            # only the environment shows whose these are, and a zombie has none
            mark.seen.update(_kill_tree(pid))

    def _is_of_hook(self, pid: int, leaders: Container[int], mark: ProcessMark, *, is_starting: bool) -> bool | None:
        if self._exclusive:
            return pid not in self._foreign
        is_marked = mark.is_on(pid, is_starting=is_starting)
        fields = None if is_marked else _read_stat(pid)
        is_led = fields is not None and (int(fields[2]) in leaders or int(fields[3]) in leaders)
        return is_led or is_marked


class _ReaperRole:
    """The role of a host while hooks run, however many engines and threads run them: the first takes it, the last gives it back."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock = _thread.allocate_lock()
        self.spawn_lock = _thread.allocate_lock()
        self._users: set[ProcessMark] = set()
        self._was_reaper = self._ignored_children = False

    def take(self, user: ProcessMark) -> None:
        with self._lock:
            before = _set_reaper(on=True)
            if not self._users:
                self._was_reaper = before
                self._ignored_children = _stop_ignoring_children()
            self._users.add(user)

    def give_back(self, user: ProcessMark) -> None:
        with self._lock:
            if user not in self._users:
                return
            self._users.discard(user)
            if not self._users and not self._was_reaper:
                _set_reaper(on=False)
            if not self._users and self._ignored_children:
                _ignore_children()


_role = _ReaperRole()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_role.reset)
    os.register_at_fork(after_in_child=_own_names.clear)


def _become_reaper() -> None:
    """Become the reaper through the bare C interface: `import ctypes` would cost half an interpreter start."""
    try:
        import _ctypes

        prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        _ctypes.call_function(prctl, (_SET_SUBREAPER, 1, 0, 0, 0))
    except Exception:  # noqa: BLE001  (no such call here: the group is killed all the same)
        return


def _set_reaper(*, on: bool) -> bool:
    """Become the reaper or stop being it; return whether this process was the reaper before."""
    libc = _load_libc()
    if libc is None:
        return True
    prctl, before, reference = libc[:3]
    prctl(_GET_SUBREAPER, reference, 0, 0, 0)
    prctl(_SET_SUBREAPER, int(on), 0, 0, 0)
    return bool(before.value)


_libc_functions: list[Any] = []


def _load_libc() -> tuple[Any, ...] | None:
    """Return what we need of the C library, loaded once: prctl, an integer for its answer, a reference to it, signal."""
    if not _libc_functions:
        try:
            import ctypes

            libc, answer = ctypes.CDLL(None), ctypes.c_int()
            libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
            _libc_functions.append((libc.prctl, answer, ctypes.byref(answer), libc.signal))
        except (ImportError, OSError, AttributeError):
            _libc_functions.append(None)
    return _libc_functions[0]  # type: ignore[no-any-return]


def _stop_ignoring_children() -> bool:
    """Learn how children end, even if the host ignores it and exit codes would be lost; return whether it does."""
    import _signal  # pyright: ignore[reportMissingImports]

    return _signal.getsignal(_signal.SIGCHLD) == _signal.SIG_IGN and _set_sigchld(_signal.SIG_DFL)


def _ignore_children() -> None:
    """Ignore the ends of children again, unless the host has changed that, and reap those that ended meanwhile."""
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

    libc = _load_libc()
    if libc is not None:
        libc[3](int(_signal.SIGCHLD), int(handler))
    return libc is not None


def _list_children() -> list[int]:
    return _find_children(os.getpid())


def _find_children(pid: int) -> list[int]:
    return [int(child) for child in _read_file(f"/proc/{pid}/task/{pid}/children").split()]


def _kill_tree(pid: int) -> list[int]:
    """Kill a process and its descendants, parents first so that they cannot start more; return them."""
    return [one for one in iter_tree(pid) if send_kill(one)]


def send_kill(pid: int) -> bool:
    try:
        os.kill(pid, _SIGKILL)
    except OSError:
        return False
    return True


def iter_tree(pid: int) -> Iterator[int]:
    """Yield a process and its descendants; the children of each are read before it is yielded."""
    pending = [pid]
    # a process that forks and exits again and again is a tree without an end
    for _ in range(MAX_TREE_SIZE):
        if not pending:
            return
        one = pending.pop()
        pending += _find_children(one)
        yield one


def is_runnable(pid: int) -> bool:
    """Whether a process needs nothing but the processor, so that one that was killed will end."""
    fields = _read_stat(pid)
    return fields is None or fields[0] in b"RZX"


def _reap(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except OSError:
        # not our child any more: the host waits for all processes
        return True


# killed processes that had not ended in time, with the time of their start, because numbers are used again
_unreaped: dict[int, bytes] = {}


def reap_later(pid: int) -> None:
    if fields := _read_stat(pid):
        _unreaped[pid] = fields[_START_FIELD]


def _reap_unreaped() -> None:
    for pid, started in list(_unreaped.items()):
        fields = _read_stat(pid)
        if fields is None or fields[_START_FIELD] != started or _reap(pid):
            _unreaped.pop(pid, None)


def _read_stat(pid: int) -> list[bytes] | None:
    """Return the fields of a process after its name: state, parent, group, session."""
    text = _read_file(f"/proc/{pid}/stat")
    return text.rpartition(b")")[2].split() if text else None


def _read_file(path: str) -> bytes:
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
