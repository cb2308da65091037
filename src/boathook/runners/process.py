"""Running hooks as processes. Whatever a hook does, this returns within its timeout and half a second.

One loop watches all hooks of a stage: their pipes, their ends (pidfd) and their deadlines. A hook ends when its leader ends; who
still holds its pipes then has a moment to write what the leader said through it. Standard input is a memory file, so writing
it can neither block nor fail.
"""

from __future__ import annotations

import errno
import os
import select
import time

from boathook.core.run import FAILED, REFUSED, TIMEOUT, Exit
from boathook.core.value import Value
from boathook.entry import first_bytes, interpreter_fault
from boathook.runners.reaper import MARK, Mark, Reaper
from boathook.runners.spawn import shared_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from boathook.runners.room import Room
    from boathook.runners.spawn import Spawn

STDOUT_LIMIT = 1 << 20
STDERR_LIMIT = 1 << 16
READ_SIZE = 1 << 16  # as much as a pipe holds
TERM_GRACE = 0.15
KILL_GRACE = 0.15
LINGER = 0.2
WATCH_AFTER = 0.25
MOST_AT_ONCE = 16
QUICK_MS = 3
SIGTERM, SIGKILL, SIGCONT = 15, 9, 18 if os.uname().sysname == "Linux" else 19
BLOCK = 2  # the exit code that counts whatever else went wrong
INFO_EXIT, GET_INFO = 8, 3 << 30 | 64 << 16 | 0xFF << 8 | 11  # PIDFD_INFO_EXIT, PIDFD_GET_INFO
SCARCE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
PASSING = (*SCARCE, errno.ETXTBSY)  # the last: somebody is writing the script


class Job(Value):
    """One process to run: command, input, directory, environment, and for how many seconds."""

    argv: tuple[str, ...]
    stdin: bytes
    cwd: str
    env: Mapping[bytes, bytes]
    timeout: float
    refused: str = ""
    warnings: tuple[str, ...] = ()


class ProcessRunner:
    """Runs jobs, several at once. `exclusive` is for a process that is the engine's own."""

    def __init__(self, spawn: Spawn = shared_process, *, exclusive: bool = False) -> None:
        """Take the way to start processes."""
        self.spawn = spawn
        self.reaper = Reaper(exclusive=exclusive)
        self._exclusive = exclusive

    def run_all(
        self, jobs: Sequence[Job], cancel: int | None = None, done: Callable[[int, Exit], None] | None = None
    ) -> list[Exit]:
        """Run jobs together and give their ends in the same order; readable data on `cancel` ends them early.

        `done` hears of each end when it comes.
        """
        batch = _Batch(self, jobs, cancel, done, Mark())
        room = None if self._exclusive else _room()
        try:
            if room is not None and not room.enter(max((job.timeout for job in jobs), default=0.0), cancel):
                return batch.ends
            self.reaper.enter(batch.mark)
            return batch.run()
        except BaseException:
            batch.abandon()
            raise
        finally:
            self.reaper.leave(batch.mark)
            if room is not None:
                room.leave()

    def start(self, job: Job, mark: Mark) -> _Child | Exit:
        """Start a job; an exit if that is impossible."""
        if job.refused:
            return Exit(fault=REFUSED, detail=job.refused, warnings=job.warnings)
        for attempt in (1, 2):
            try:
                return _Child(self.spawn, job, mark)
            except (OSError, ValueError) as fault:
                if attempt == 1 and getattr(fault, "errno", None) in PASSING:
                    time.sleep(0.05)
                    continue
                return Exit(fault=FAILED, detail=_why_not_started(job, fault), warnings=job.warnings)
        raise AssertionError


def _room() -> Room:
    from boathook.runners.room import Room

    return Room()


def _why_not_started(job: Job, fault: OSError | ValueError) -> str:
    """Say what is really wrong: the system blames the script for a missing interpreter or directory."""
    path = job.argv[0]
    number = getattr(fault, "errno", None)
    if number in SCARCE:
        return f"the system is out of resources: {os.strerror(number)}"
    if not os.path.isdir(job.cwd):
        return f"its directory {job.cwd} does not exist"
    if not os.path.exists(path):
        return f"{path} does not exist (any more)"
    wrong = interpreter_fault(first_bytes(path))
    return f"{path} cannot be started: {wrong or getattr(fault, 'strerror', None) or fault}"


class _Child:
    """A running hook."""

    def __init__(self, spawn: Spawn, job: Job, mark: Mark) -> None:
        self.job = job
        self.started = time.monotonic()
        self.deadline = self.started + job.timeout
        self.watch_at = self.started + WATCH_AFTER
        self.timed_out = self.cancelled = self.ended = self.reaped = False
        self.kills = 0
        self.watcher = 0
        self._watch_pipe = -1
        self.overflow = False
        self.pid, self.pidfd = 0, -1
        self.pidfd = -1
        opened: list[int] = []
        try:
            stdin = memory_file(job.stdin)
            opened.append(stdin)
            self.out, out = os.pipe()
            opened += (self.out, out)
            self.err, err = os.pipe()
            opened += (self.err, err)
            env = {**job.env, MARK.encode(): mark.text}
            self.pid = spawn(job.argv, env, job.cwd, stdin, out, err)
            self.pidfd = _pidfd(self.pid)
            for handle in (self.out, self.err):
                os.set_blocking(handle, False)
                opened.remove(handle)
        except BaseException:
            opened += (self.pidfd,) if self.pidfd >= 0 else ()
            raise
        finally:
            for handle in opened:
                os.close(handle)
        self.read: dict[int, bytearray] = {self.out: bytearray(), self.err: bytearray()}
        self.open = {self.out, self.err}

    def take(self, handle: int) -> int:
        """Read what a pipe holds, keep it up to the limit; give the number of bytes: 0 at its end, -1 if there is nothing yet."""
        kept = self.read[handle]
        limit = STDOUT_LIMIT if handle == self.out else STDERR_LIMIT
        try:
            data = os.read(handle, READ_SIZE)
        except BlockingIOError:
            return -1
        room = limit - len(kept)
        kept += data[:room]
        if handle == self.out and len(data) > room:
            self.overflow = True
        return len(data)

    def drain(self) -> None:
        """Read what is left in the pipes without waiting; a pipe that never dries is left alone."""
        for handle in tuple(self.open):
            for _ in range(STDOUT_LIMIT // READ_SIZE + 1):
                got = self.take(handle)
                if got == 0:
                    self.open.discard(handle)
                if got <= 0:
                    break

    def leave(self, now: float) -> None:
        """Note that the leader has ended; who still holds its pipes has a moment left, unless the hook was killed."""
        self.ended = True
        self.deadline = now if self.kills else min(self.deadline, now + LINGER)
        self.watch_at = float("inf")

    def kill(self, signal: int) -> None:
        """Signal the whole group; a stopped one is woken so that it can hear it."""
        if self.reaped:
            return  # its number may be somebody else's by now
        try:
            os.killpg(self.pid, signal)
            if signal != SIGKILL:
                os.killpg(self.pid, SIGCONT)
        except OSError:
            return

    def escalate(self, now: float) -> bool:
        """Go one step further against a hook past its deadline; say whether there is a next step."""
        self.kills += 1
        if self.kills == 1:
            self.kill(SIGTERM)
            self.deadline = now + TERM_GRACE
        elif self.kills == 2:
            self.kill(SIGKILL)
            self.deadline = now + KILL_GRACE
        return self.kills < 3

    def watch(self, spawn: Spawn) -> None:
        """Start a watcher that kills the group if this process is killed: it waits on a pipe that only we hold."""
        self.watch_at = float("inf")
        opened: list[int] = []
        try:
            null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            opened.append(null)
            waiting, self._watch_pipe = os.pipe()
            opened.append(waiting)
            command = f"read -r _; kill -9 -{self.pid}"
            self.watcher = spawn(("/bin/sh", "-c", command), self.job.env, "/", waiting, null, null)
        except (OSError, ValueError):
            pass  # the hook's own deadline still holds
        finally:
            for handle in opened:
                os.close(handle)

    def end(self, seconds: float) -> Exit:
        """Take the end of the leader, which has ended or is given up, and give the exit."""
        code = _wait(self.pid, self.pidfd)
        self.reaped = True
        self.drain()
        exit_ = Exit(
            code,
            bytes(self.read[self.out]),
            bytes(self.read[self.err]),
            seconds,
            overflow=self.overflow,
            warnings=self.job.warnings,
        )
        if self.cancelled:
            return exit_.replace(fault=FAILED, detail="cancelled")
        if self.timed_out and code != BLOCK:
            return exit_.replace(fault=TIMEOUT, detail=f"no end within {self.job.timeout:g} s")
        if code is None:
            return exit_.replace(
                fault=FAILED, detail="its exit code was lost: the host takes the ends of all processes"
            )
        return exit_

    def close(self) -> None:
        """Give back what this child holds; the watcher goes first, for the end of its pipe would set it off."""
        if self.watcher:
            _kill(self.watcher)
            _wait(self.watcher)
            self.watcher = 0
        for handle in (self.out, self.err, self.pidfd, self._watch_pipe):
            if handle >= 0:
                os.close(handle)
        self.out = self.err = self.pidfd = self._watch_pipe = -1


class _Batch:
    """The jobs of one stage on their way."""

    def __init__(
        self,
        runner: ProcessRunner,
        jobs: Sequence[Job],
        cancel: int | None,
        done: Callable[[int, Exit], None] | None,
        mark: Mark,
    ) -> None:
        self.runner = runner
        self.mark = mark
        self.done = done or (lambda *_: None)
        self.waiting = list(enumerate(jobs))[::-1]
        self.ends: list[Exit] = [Exit(fault=FAILED, detail="cancelled")] * len(jobs)
        self.active: dict[int, _Child] = {}
        self.leaders: set[int] = set()
        self.owner: dict[int, tuple[int, _Child]] = {}
        self.poll = select.poll()
        self.listening = self.starting = False
        self.cancel = cancel
        if cancel is not None:
            self.poll.register(cancel, select.POLLIN)

    def run(self) -> list[Exit]:
        self._fill()
        if len(self.active) == 1:
            self._hope()
        if self.active:
            self.runner.reaper.spread(self.mark, self.leaders)
        for place, child in self.active.items():
            self._listen(place, child)
        while self.active:
            for handle, _ in self.poll.poll(self._patience()):
                self._heard(handle)
            self._clock()
            self._fill()
        return self.ends

    def _fill(self) -> None:
        while self.waiting and len(self.active) < MOST_AT_ONCE:
            place, job = self.waiting.pop()
            self.starting = True
            child = self.runner.start(job, self.mark)
            if isinstance(child, Exit):
                self.ends[place] = child
                self.done(place, child)
                continue
            self.active[place] = child
            self.starting = False
            self.leaders.add(child.pid)
            self.runner.reaper.put_on(self.mark, child.pid)
            if self.listening:
                self._listen(place, child)

    def _listen(self, place: int, child: _Child) -> None:
        self.listening = True
        for handle in (child.out, child.err, child.pidfd):
            if handle >= 0:
                self.owner[handle] = (place, child)
                self.poll.register(handle, select.POLLIN)

    def _hope(self) -> None:
        """Wait a moment for the end alone: most hooks are that quick, and their pipes hold all they print till then."""
        ((place, child),) = self.active.items()
        if child.pidfd < 0 or self.cancel is not None:
            return
        self.poll.register(child.pidfd, select.POLLIN)
        ended = self.poll.poll(QUICK_MS)
        self.poll.unregister(child.pidfd)
        if not ended:
            return
        child.leave(time.monotonic())
        child.drain()
        if not child.open:
            self._finish(place, child)

    def _patience(self) -> float:
        """Give the milliseconds until something must be done."""
        now = time.monotonic()
        until = min(min(child.deadline, child.watch_at) for child in self.active.values()) - now
        if any(child.pidfd < 0 for child in self.active.values()):
            until = min(until, 0.005)  # no pidfd here: look for the end now and then
        return max(until * 1000, 0) + 0.5

    def _heard(self, handle: int) -> None:
        if handle == self.cancel:
            self.waiting.clear()
            self.poll.unregister(handle)
            for child in self.active.values():
                child.cancelled, child.kills = True, 1
                child.deadline = 0.0
            return
        found = self.owner.get(handle)
        if found is None:
            return
        _, child = found
        if handle == child.pidfd:
            self._forget(handle)
            child.leave(time.monotonic())
        elif not child.take(handle):
            self._forget(handle)
            child.open.discard(handle)

    def _forget(self, handle: int) -> None:
        if self.owner.pop(handle, None):
            self.poll.unregister(handle)

    def _clock(self) -> None:
        now = time.monotonic()
        for place, child in list(self.active.items()):
            if child.pidfd < 0 and not child.ended and _ended(child.pid):
                child.leave(now)
            if child.ended:
                if not child.open or now >= child.deadline:
                    self._finish(place, child)
            elif now >= child.deadline:
                child.timed_out = True
                if not child.escalate(now):
                    self._finish(place, child)
            elif now >= child.watch_at:
                child.watch(self.runner.spawn)

    def _finish(self, place: int, child: _Child) -> None:
        """Take the end of a child and clean up after it; may be called again if it was interrupted."""
        seconds = time.monotonic() - child.started
        for handle in (child.out, child.err, child.pidfd):
            self._forget(handle)
        child.kill(SIGKILL)  # before the leader is waited for: until then nobody else can have its number
        if len(self.active) == 1:  # while others run, what is left over may be theirs
            self._sweep()
        if not child.reaped:
            self.ends[place] = child.end(seconds)
        child.close()
        del self.active[place]
        self.done(place, self.ends[place])

    def _sweep(self, *, wary: bool = False) -> None:
        known = {pid for child in self.active.values() for pid in (child.pid, child.watcher)}
        self.runner.reaper.sweep(self.leaders, self.mark, known, wary=wary)

    def abandon(self) -> None:
        """Kill what still runs after an exception, such as a person's Ctrl-C; another one waits until that is done."""
        import _signal  # pyright: ignore[reportMissingImports]

        before: set[int] | None = None
        for _ in range(16):  # one that came already cannot wait
            try:
                if before is None:
                    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
                _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
                for place, child in list(self.active.items()):
                    child.kills, child.cancelled = 3, True
                    self._finish(place, child)
                self._sweep(wary=self.starting)
            except BaseException:  # noqa: BLE001, S112  (the first one is on its way to whom it concerns)
                continue
            break
        if before is not None:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)


def memory_file(data: bytes) -> int:
    """Give a readable handle on data, at its start."""
    handle = _memory_handle()
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.lseek(handle, 0, os.SEEK_SET)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _memory_handle() -> int:
    """Give a handle on nothing that has no name; a hardened system may refuse one in memory, then it is on disk."""
    try:
        return os.memfd_create("event")
    except (AttributeError, OSError):
        import tempfile

        handle, path = tempfile.mkstemp()
        os.unlink(path)
        return handle


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def _ended(pid: int) -> bool:
    """Say whether a child has ended, leaving it to be waited for."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13: the end can only be taken, so it is kept for `_wait`
        return _take_end(pid)
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _kill(pid: int) -> None:
    try:
        os.kill(pid, SIGKILL)
    except OSError:
        return


_taken: dict[int, int] = {}


def _take_end(pid: int) -> bool:
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return True
    if found:
        _taken[pid] = status
    return bool(found)


def _wait(pid: int, pidfd: int = -1) -> int | None:
    """Take a child's end: its exit code, minus a signal, or None if it cannot be had or does not come."""
    if pid in _taken:
        return os.waitstatus_to_exitcode(_taken.pop(pid))
    try:
        for _ in range(200):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.0005)
    except ChildProcessError:
        return _recorded(pidfd)
    return None


def _recorded(pidfd: int) -> int | None:
    """Give the exit code of a child that somebody else has waited for, where the kernel still knows it (Linux 6.15)."""
    import fcntl
    import struct

    known = bytearray(struct.pack("Q56x", INFO_EXIT))
    try:
        fcntl.ioctl(pidfd, GET_INFO, known)
    except (OSError, ValueError):
        return None
    mask, status = struct.unpack("Q52xi", known)
    return os.waitstatus_to_exitcode(status) if mask & INFO_EXIT else None
