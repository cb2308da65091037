"""What a child interpreter of a fault test knows: load the engine, measure a dispatch, report. See `harness.py`."""

from __future__ import annotations

import json
import os
import sys
import time  # noqa: F401  (for the code of the tests)
from pathlib import Path
from typing import Any

from stopwatch import Stopwatch

import boathook

STATUS = Path("/proc/self/status")
EVENT: dict[str, Any] = json.load(sys.stdin)


def load(**more: Any) -> boathook.Engine:
    """Load the engine of the project under test."""
    config, state = (Path(os.environ[f"XDG_{kind}_HOME"]) for kind in ("CONFIG", "STATE"))
    folders = {"config": config / "agents", "state": state / "boathook"}
    return boathook.load(os.environ["PROBE_PROJECT_DIR"], **folders, **{"trust_all": True, **more})


def descriptors() -> list[str]:
    """Name every open descriptor."""
    found = []
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            found.append(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:  # the one that listed the folder
            continue
    return found


def children() -> list[str]:
    """Name every child of any thread, zombies too."""
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            mine = Path(f"/proc/self/task/{task}/children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread that ended meanwhile; its children have another one now
        for pid in mine:
            found.append(f"{pid} {Path(f'/proc/{pid}/stat').read_text().split()[1:3]}")
    return found


def memory(field: str) -> int:
    """Return a line of the kernel's account of this process, in bytes."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def measure(engine: boathook.Engine, event: dict[str, Any]) -> dict[str, Any]:
    """Dispatch an event; return the verdict with what it cost and left behind."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before, fds = memory("VmRSS"), descriptors()
    watch = Stopwatch()
    verdict = engine.dispatch(event)
    seconds = watch.seconds
    peak, left = memory("VmHWM"), children()
    return {
        "verdict": verdict.to_json(),
        "seconds": seconds,
        "growth": peak - before,
        "fds": (fds, descriptors()),
        "children": left,
    }


def measure_all(event: dict[str, Any]) -> dict[str, Any]:
    """Load the engine and dispatch an event; return also how long loading took."""
    watch = Stopwatch()
    engine = load()
    loading = watch.seconds
    return {**measure(engine, event), "loading": loading}


def report(found: dict[str, Any]) -> None:
    """Hand something to the test."""
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
