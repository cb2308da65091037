"""A process that runs a project's hook once per line of standard input and says how many nanoseconds each took.

Arguments: the project, how many megabytes the process is to weigh, and how much of the engine's work is done: see PARTS.
"""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import boathook
from boathook.core.json_text import dump_line
from boathook.engine import Engine
from boathook.process.child import Job
from boathook.process.runner import ProcessRunner

if TYPE_CHECKING:
    from collections.abc import Callable

    # It returns how many hooks have run.
    Run = Callable[[], int]

EVENT = {
    "event_type": "pre-tool-call",
    "session_id": "bench",
    "tool_name": "Shell",
    "tool_input": {"command": "make deploy " + "x" * 900},
}


def make_dispatch(project: str) -> Run:
    """All that the engine does."""
    engine = boathook.load(project, trust_all=True)
    event = {**EVENT, "work_dir": project}
    return lambda: len(engine.dispatch(event).runs)


def make_unrecorded_dispatch(project: str) -> Run:
    """All but the record."""
    Engine._record = lambda self, verdict, *_: verdict  # type: ignore[method-assign]  # noqa: ARG005
    return make_dispatch(project)


def make_process_run(project: str) -> Run:
    """What keeps the promises about a process: limits, marks, pipes, a look for survivors."""
    runner, data = ProcessRunner(), dump_line({**EVENT, "work_dir": project})
    job = Job((find_script(project),), data, project, dict(os.environb), 30.0)
    return lambda: [end.code for end in runner.run_all([job])].count(0)


def make_bare_spawn(project: str) -> Run:
    """What `launch.c` does."""
    script = find_script(project)

    def run() -> int:
        null, (out, out_end), (err, err_end) = os.open(os.devnull, os.O_RDONLY), os.pipe(), os.pipe()
        moves = [(os.POSIX_SPAWN_DUP2, handle, number) for number, handle in enumerate((null, out_end, err_end))]
        pid = os.posix_spawn(script, [script], os.environ, file_actions=moves)
        for handle in (null, out_end, err_end):
            os.close(handle)
        pidfd, poll = os.pidfd_open(pid), select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.poll()
        printed = os.read(out, 65536) + os.read(err, 65536)
        for handle in (out, err, pidfd):
            os.close(handle)
        return int(os.waitpid(pid, 0)[1] == 0 and not printed)

    return run


def find_script(project: str) -> str:
    (script,) = Path(project).glob(".agents/hooks/*/scripts/run.sh")
    return str(script)


PARTS = {
    "all": make_dispatch,
    "unrecorded": make_unrecorded_dispatch,
    "process": make_process_run,
    "spawn": make_bare_spawn,
}


def main() -> None:
    """Answer requests until standard input ends."""
    project, megabytes, part = os.path.realpath(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    ballast = bytearray(megabytes << 20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    os.chdir(project)  # as an agent in its project
    run = PARTS[part](project)
    for _ in sys.stdin:
        start = time.perf_counter_ns()
        runs = run()
        took = time.perf_counter_ns() - start
        print(took, runs, flush=True)
    del ballast


main()
