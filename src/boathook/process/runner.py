"""Running hooks as processes. Whatever a hook does, this returns within its timeout and half a second.

One loop watches all hooks of a stage: their pipes, their ends (pidfd) and their deadlines. A hook ends when its leader ends; who
still holds its pipes then has a moment to write what the leader said through it.
"""

from __future__ import annotations

import errno
import os
import select
import time

from boathook.core.verdict import FAILED, REFUSED, Exit
from boathook.process.child import SIGKILL, Child, Job, has_ended
from boathook.process.reaper import Mark, Reaper
from boathook.process.spawn import spawn_shared
from boathook.system.programs import find_interpreter_error, first_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from boathook.process.slots import Slots
    from boathook.process.spawn import Spawn

MOST_AT_ONCE = 16
QUICK_MS = 3
SCARCE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
PASSING = (*SCARCE, errno.ETXTBSY)  # the last: somebody is writing the script


class ProcessRunner:
    """Runs jobs, several at once. `exclusive` is for a process that is the engine's own."""

    def __init__(self, spawn: Spawn = spawn_shared, *, exclusive: bool = False) -> None:
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
        slots = None if self._exclusive else _make_slots(min(len(jobs), MOST_AT_ONCE))
        try:
            if slots is not None and not slots.acquire(max((job.timeout for job in jobs), default=0.0), cancel):
                return batch.ends
            self.reaper.enter(batch.mark)
            return batch.run()
        except BaseException:
            batch.abandon()
            raise
        finally:
            self.reaper.leave(batch.mark)
            if slots is not None:
                slots.release()

    def start(self, job: Job, mark: Mark) -> Child | Exit:
        """Start a job; an exit if that is impossible."""
        if job.refused:
            return Exit(error=REFUSED, detail=job.refused, warnings=job.warnings)
        for attempt in (1, 2):
            try:
                return Child(self.spawn, job, mark, alone=self._exclusive)
            except (OSError, ValueError) as error:
                if attempt == 1 and getattr(error, "errno", None) in PASSING:
                    time.sleep(0.05)
                    continue
                return Exit(error=FAILED, detail=_why_not_started(job, error), warnings=job.warnings)
        raise AssertionError


def _make_slots(hooks: int) -> Slots:
    from boathook.process.slots import Slots

    return Slots(hooks)


def _why_not_started(job: Job, error: OSError | ValueError) -> str:
    """Return what is really wrong: the system blames the script for a missing interpreter or directory."""
    path = job.argv[0]
    number = getattr(error, "errno", None)
    if number in SCARCE:
        return f"the system is out of resources: {os.strerror(number)}"
    if not os.path.isdir(job.cwd):
        return f"its directory {job.cwd} does not exist"
    if not os.path.exists(path):
        return f"{path} does not exist (any more)"
    wrong = find_interpreter_error(first_bytes(path))
    return f"{path} cannot be started: {wrong or getattr(error, 'strerror', None) or error}"


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
        self.ends: list[Exit] = [Exit(error=FAILED, detail="cancelled")] * len(jobs)
        self.active: dict[int, Child] = {}
        self.leaders: set[int] = set()
        self.owner: dict[int, tuple[int, Child]] = {}
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
            if self.listening:
                self._listen(place, child)

    def _listen(self, place: int, child: Child) -> None:
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
        """Return the milliseconds until something must be done."""
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
            if child.pidfd < 0 and not child.ended and has_ended(child.pid):
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

    def _finish(self, place: int, child: Child) -> None:
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
