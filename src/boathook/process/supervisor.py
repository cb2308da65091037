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
    from boathook.process.hook_runner import HookRunner
    from boathook.process.spawn import Spawn

SUPERVISE_FLAG = "--supervise"
HOOK_ENTRY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "entry", "hook_entry.py")


def start_supervisor(
    call: Call, hooks: HookRunner, spawn: Spawn, state: str, origin: dict[str, str]
) -> StartedHook | Skip:
    """Hand a call to a supervisor and return at once; one that cannot run becomes a skip."""
    job = hooks.make_job(call)
    if job.refused:
        return Skip(call.hook.name, job.refused, is_warning=True)
    fields = tuple(dict(job.env) if name == "env" else getattr(job, name) for name in Job.FIELDS)
    data = make_memory_file(marshal.dumps((state, origin, call.describe(), call.hook.trigger, fields)))
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        argv = (sys.executable, "-I", "-S", HOOK_ENTRY, SUPERVISE_FLAG)
        return StartedHook(call.hook.name, spawn(argv, dict(os.environb), "/", data, null, null))
    finally:
        os.close(data)
        os.close(null)


def run_supervisor() -> tuple[str, dict[str, str], dict[str, str], str, Exit]:
    """Run the job on stdin; return the state folder, the origin, the description and the trigger of its call, and its end."""
    data = b""
    while part := os.read(0, 1 << 20):
        data += part
    state, origin, call, trigger, job = marshal.loads(data)

    from boathook.process.spawn import prepare_own_process

    (end,) = ProcessRunner(prepare_own_process(), exclusive=True).run_all([Job(*job)])
    return state, origin, call, trigger, end
