"""Run hooks as processes. Whatever a hook does, this returns within its timeout and half a second."""

# One loop watches all hooks of a stage. A hook ends when its leader ends; processes that still hold its pipes then have a moment.

from __future__ import annotations

import errno
import os
import select
import time

from boathook.core.text import quote_plain_path
from boathook.core.verdict import FAILED, REFUSED, Exit
from boathook.process.child import SIGKILL, Child, Job, has_ended
from boathook.process.reaper import ProcessMark, Reaper
from boathook.process.spawn import spawn_shared
from boathook.system.programs import find_interpreter_error, read_first_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from boathook.process.slots import Slots
    from boathook.process.spawn import Spawn

MAX_PARALLEL_HOOKS = 16
_QUICK_MS = 3
_SCARCITY_ERRORS = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
# the last one: somebody is writing the script
_PASSING_ERRORS = (*_SCARCITY_ERRORS, errno.ETXTBSY)


class ProcessRunner:
    """Runs jobs, several at once. `exclusive` is for a process that is the engine's own."""

    def __init__(self, spawn: Spawn = spawn_shared, *, exclusive: bool = False) -> None:
        self.spawn = spawn
        self.reaper = Reaper(exclusive=exclusive)
        self._exclusive = exclusive

    def run_all(
        self, jobs: Sequence[Job], cancel: int | None = None, report: Callable[[int, Exit], None] | None = None
    ) -> list[Exit]:
        """Run jobs together and return their exits in order; `report` gets each when it comes, data on `cancel` ends them early."""
        batch = _Batch(self, jobs, cancel, report, ProcessMark())
        slots: Slots | None = None
        if not self._exclusive:
            from boathook.process.slots import Slots

            slots = Slots(min(len(jobs), MAX_PARALLEL_HOOKS))
        try:
            if slots is not None and not slots.acquire(max((job.timeout for job in jobs), default=0.0), cancel):
                return batch.exits
            self.reaper.enter(batch.mark)
            return batch.run()
        except BaseException:
            batch.abandon()
            raise
        finally:
            self.reaper.leave(batch.mark)
            if slots is not None:
                slots.release()

    def start(self, job: Job, mark: ProcessMark) -> Child | Exit:
        if job.refused:
            return Exit(error=REFUSED, detail=job.refused, warnings=job.warnings)
        for attempt in (1, 2):
            try:
                return Child(self.spawn, job, mark, is_exclusive=self._exclusive)
            except (OSError, ValueError) as error:
                if attempt == 1 and getattr(error, "errno", None) in _PASSING_ERRORS:
                    time.sleep(0.05)
                    continue
                if attempt == 1 and job.cwd != "/" and getattr(error, "filename", None) == job.cwd:
                    # It could be entered a moment ago: whoever closes it must not stop a guard by that.
                    note = f"the folder {quote_plain_path(job.cwd, 'of the event')} cannot be entered any more; it was run in /"
                    job = job.replace(cwd="/", warnings=(*job.warnings, note))
                    continue
                return Exit(error=FAILED, detail=_explain_start_error(job, error), warnings=job.warnings)
        raise AssertionError


def _explain_start_error(job: Job, error: OSError | ValueError) -> str:
    """Return what is really wrong: the system blames the script for a missing interpreter or directory."""
    path = job.argv[0]
    number = getattr(error, "errno", None)
    if number in _SCARCITY_ERRORS:
        return f"the system is out of resources: {os.strerror(number)}"
    if not os.path.isdir(job.cwd):
        return f"its directory {job.cwd} does not exist"
    if not os.path.exists(path):
        return f"{path} does not exist (any more)"
    interpreter_error = find_interpreter_error(read_first_bytes(path))
    return f"{path} cannot be started: {interpreter_error or getattr(error, 'strerror', None) or error}"


class _Batch:
    def __init__(
        self,
        runner: ProcessRunner,
        jobs: Sequence[Job],
        cancel: int | None,
        report: Callable[[int, Exit], None] | None,
        mark: ProcessMark,
    ) -> None:
        self.runner = runner
        self.mark = mark
        self.report = report or (lambda *_: None)
        self.waiting = list(enumerate(jobs))[::-1]
        self.exits: list[Exit] = [Exit(error=FAILED, detail="cancelled")] * len(jobs)
        self.active: dict[int, Child] = {}
        self.leaders: set[int] = set()
        self.owners: dict[int, tuple[int, Child]] = {}
        self.poll = select.poll()
        self.is_polling = self.is_starting = False
        self.cancel = cancel
        if cancel is not None:
            self.poll.register(cancel, select.POLLIN)

    def run(self) -> list[Exit]:
        self._start_waiting()
        if len(self.active) == 1:
            self._wait_briefly()
        if self.active:
            self.runner.reaper.mark_descendants(self.mark, self.leaders)
        for index, child in self.active.items():
            self._register(index, child)
        while self.active:
            for handle, _ in self.poll.poll(self._compute_wait_ms()):
                self._handle_event(handle)
            self._check_deadlines()
            self._start_waiting()
        return self.exits

    def _start_waiting(self) -> None:
        while self.waiting and len(self.active) < MAX_PARALLEL_HOOKS:
            index, job = self.waiting.pop()
            self.is_starting = True
            child = self.runner.start(job, self.mark)
            if isinstance(child, Exit):
                self.exits[index] = child
                self.report(index, child)
                continue
            self.active[index] = child
            self.is_starting = False
            self.leaders.add(child.pid)
            if self.is_polling:
                self._register(index, child)

    def _register(self, index: int, child: Child) -> None:
        self.is_polling = True
        for handle in (child.out, child.err, child.pidfd):
            if handle >= 0:
                self.owners[handle] = (index, child)
                self.poll.register(handle, select.POLLIN)

    def _wait_briefly(self) -> None:
        """Wait a moment for the end alone: most hooks are that quick, and their pipes hold all they print until then."""
        ((index, child),) = self.active.items()
        if child.pidfd < 0 or self.cancel is not None:
            return
        self.poll.register(child.pidfd, select.POLLIN)
        is_ended = self.poll.poll(_QUICK_MS)
        self.poll.unregister(child.pidfd)
        if not is_ended:
            return
        child.note_end(time.monotonic())
        child.drain()
        if not child.open_pipes:
            self._finish(index, child)

    def _compute_wait_ms(self) -> float:
        now = time.monotonic()
        seconds = min(min(child.deadline, child.watch_time) for child in self.active.values()) - now
        # without a pidfd the end must be looked for now and then
        if any(child.pidfd < 0 for child in self.active.values()):
            seconds = min(seconds, 0.005)
        return max(seconds * 1000, 0) + 0.5

    def _handle_event(self, handle: int) -> None:
        if handle == self.cancel:
            self.waiting.clear()
            self.poll.unregister(handle)
            for child in self.active.values():
                child.is_cancelled, child.kill_count = True, 1
                child.deadline = 0.0
            return
        owner = self.owners.get(handle)
        if owner is None:
            return
        child = owner[1]
        if handle == child.pidfd:
            self._unregister(handle)
            child.note_end(time.monotonic())
        elif not child.read_pipe(handle):
            self._unregister(handle)
            child.open_pipes.discard(handle)

    def _unregister(self, handle: int) -> None:
        if self.owners.pop(handle, None):
            self.poll.unregister(handle)

    def _check_deadlines(self) -> None:
        now = time.monotonic()
        for index, child in list(self.active.items()):
            if child.pidfd < 0 and not child.is_ended and has_ended(child.pid):
                child.note_end(now)
            if child.is_ended:
                if not child.open_pipes or now >= child.deadline:
                    self._finish(index, child)
            elif now >= child.deadline:
                child.is_timed_out = True
                if not child.escalate(now):
                    self._finish(index, child)
            elif now >= child.watch_time:
                child.start_watcher(self.runner.spawn)

    def _finish(self, index: int, child: Child) -> None:
        """Collect the exit of a child and clean up after it; may be called again if it was interrupted."""
        seconds = time.monotonic() - child.started
        for handle in (child.out, child.err, child.pidfd):
            self._unregister(handle)
        # before the leader is waited for: until then no other process can have its number
        child.kill(SIGKILL)
        # while others run, leftovers may be theirs
        if len(self.active) == 1:
            self._kill_leftovers()
        if not child.is_reaped:
            self.exits[index] = child.collect_exit(seconds)
        child.close()
        del self.active[index]
        self.report(index, self.exits[index])

    def _kill_leftovers(self, *, is_starting: bool = False) -> None:
        known = {pid for child in self.active.values() for pid in (child.pid, child.watcher)}
        self.runner.reaper.kill_leftovers(self.leaders, self.mark, known, is_starting=is_starting)

    def abandon(self) -> None:
        """Kill what still runs after an exception, such as Ctrl-C; another one waits until that is done."""
        import _signal  # pyright: ignore[reportMissingImports]

        before: set[int] | None = None
        # an interrupt that came already cannot wait
        for _ in range(16):
            try:
                if before is None:
                    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
                _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
                for index, child in list(self.active.items()):
                    child.kill_count, child.is_cancelled = 3, True
                    self._finish(index, child)
                self._kill_leftovers(is_starting=self.is_starting)
            except BaseException:  # noqa: BLE001, S112  (the first one is on its way to the caller)
                continue
            break
        if before is not None:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
