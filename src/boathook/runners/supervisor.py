"""Async hooks of a one-shot `run`: handed to a process of their own that outlives it.

The supervisor has its own session and no pipe of the caller's. It runs the hooks together, keeps their timeouts, takes their
ends, and writes what they printed to the log.
"""

from __future__ import annotations

import marshal
import os
import sys

from boathook.core.run import Call, Exit, Started
from boathook.runners.process import Job, ProcessRunner, memory_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.runners.script import ScriptRunner
    from boathook.runners.spawn import Spawn

FLAG = "--supervise"
DOOR = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "door.py")


class Supervisor:
    """Starts one supervisor per dispatch that has async hooks."""

    def __init__(self, scripts: ScriptRunner, spawn: Spawn, log: str) -> None:
        """Take what makes jobs of calls, how to start a process, and the path of the log."""
        self._scripts = scripts
        self._spawn = spawn
        self._log = log

    def start(self, calls: tuple[Call, ...]) -> tuple[Started, ...]:
        """Hand calls to a supervisor and return at once; its pid stands for each of them."""
        if not calls:
            return ()
        jobs = [(call.hook.name, call.hook.trigger, *_plain(self._scripts.job(call))) for call in calls]
        data = memory_file(marshal.dumps((self._log, jobs)))
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            argv = (sys.executable, "-I", "-S", DOOR, FLAG)
            pid = self._spawn(argv, dict(os.environb), "/", data, null, null)
        finally:
            os.close(data)
            os.close(null)
        return tuple(Started(call.hook.name, pid) for call in calls)

    def drain(self, seconds: float) -> int:  # noqa: ARG002
        """Wait for nothing: a supervisor needs nobody."""
        return 0

    def close(self) -> None:
        """Do nothing: a supervisor ends by itself."""


def _plain(job: Job) -> tuple[object, ...]:
    return tuple(dict(v) if n == "env" else v for n, v in ((n, getattr(job, n)) for n in Job.FIELDS))


def supervise(write_log: Callable[[str], Callable[[str], object]], report: Callable[[str, str, Exit], str]) -> None:
    """Be the supervisor: read the jobs from standard input, run them together, log each end as it comes."""
    data = b""
    while part := os.read(0, 1 << 20):
        data += part
    path, jobs = marshal.loads(data)
    write = write_log(path)

    def done(place: int, end: Exit) -> None:
        write(report(jobs[place][0], jobs[place][1], end))

    from boathook.runners.spawn import own_process

    runner = ProcessRunner(own_process(), exclusive=True)
    runner.run_all([Job(*job[2:]) for job in jobs], done=done)
