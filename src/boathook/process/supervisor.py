"""Async hooks of a one-shot `run`: each is handed to a process of its own, which outlives it and writes its end to the log."""

from __future__ import annotations

import marshal
import os
import sys

from boathook.core.verdict import Call, Exit, Skip, StartedHook
from boathook.process.child import Job, make_memory_file
from boathook.process.runner import ProcessRunner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.process.hook_runner import HookRunner
    from boathook.process.spawn import Spawn

SUPERVISE_FLAG = "--supervise"
HOOK_ENTRY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "entry", "hook_entry.py")


class Supervisor:
    def __init__(self, hooks: HookRunner, spawn: Spawn, state: str, about: dict[str, str] | None = None) -> None:
        self._hooks, self._spawn, self._state = hooks, spawn, state
        self._about = about or {}

    def start(self, calls: tuple[Call, ...]) -> tuple[StartedHook | Skip, ...]:
        return tuple(self._start(call) for call in calls)

    def _start(self, call: Call) -> StartedHook | Skip:
        job = self._hooks.make_job(call)
        if job.refused:
            return Skip(call.hook.name, job.refused, is_warning=True)
        about = {**self._about, **call.describe()}
        fields = tuple(dict(job.env) if name == "env" else getattr(job, name) for name in Job.FIELDS)
        data = make_memory_file(marshal.dumps((self._state, about, call.hook.trigger, fields)))
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            argv = (sys.executable, "-I", "-S", HOOK_ENTRY, SUPERVISE_FLAG)
            return StartedHook(call.hook.name, self._spawn(argv, dict(os.environb), "/", data, null, null))
        finally:
            os.close(data)
            os.close(null)

    def drain(self, seconds: float) -> int:  # noqa: ARG002
        return 0

    def close(self) -> None:
        """Do nothing: a supervisor ends by itself."""


def run_supervisor(report: Callable[[str, dict[str, str], str, Exit], object]) -> None:
    data = b""
    while part := os.read(0, 1 << 20):
        data += part
    state, about, trigger, job = marshal.loads(data)

    from boathook.process.spawn import prepare_own_process

    (end,) = ProcessRunner(prepare_own_process(), exclusive=True).run_all([Job(*job)])
    report(state, about, trigger, end)
