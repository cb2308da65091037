"""A process that dispatches one event per line of standard input and says how many nanoseconds each took.

Arguments: the project, and how many megabytes the process is to weigh.
"""

from __future__ import annotations

import os
import sys
import time

import boathook

EVENT = {
    "event_type": "pre-tool-call",
    "session_id": "bench",
    "tool_name": "Shell",
    "tool_input": {"command": "make deploy " + "x" * 900},
}


def main() -> None:
    """Answer requests until standard input ends."""
    project, megabytes = sys.argv[1], int(sys.argv[2])
    ballast = bytearray(megabytes << 20)
    ballast[::4096] = b"x" * len(ballast[::4096])
    os.chdir(project)  # as an agent in its project
    engine = boathook.load(project, trust_all=True)
    event = {**EVENT, "work_dir": os.path.realpath(project)}
    for _ in sys.stdin:
        start = time.perf_counter_ns()
        verdict = engine.dispatch(event)
        took = time.perf_counter_ns() - start
        print(took, len(verdict.runs), flush=True)
    del ballast


main()
