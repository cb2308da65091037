"""What a bridge costs per tool call, against the same agent without it: processor time, interleaved, as a median of ratios.

Run in the environment of a framework (`make bridges BENCH=1`); prints one JSON object, with the conditions of the measurement.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from boathook import Hooks, ToolContext  # noqa: E402
from tests.bridges.adapter import SYNC, Adapter, AgentPlan, Call, Script  # noqa: E402
from tests.bridges.behaviours import AGAINST_IDLE, IDLE, MEASURED_CALLS  # noqa: E402
from tests.bridges.frameworks import choose_adapters  # noqa: E402

COUNT = 20
HOOK = """---
name: {name}
description: It is for another tool.
trigger: pre-tool-call
matcher:
  tool: WebSearch
---
"""


def bash(command: str) -> str:
    """Run a command."""
    return command


def make_plan() -> AgentPlan:
    """Return an agent that makes many tool calls."""
    moves = [(Call("bash", {"command": "ls"}, f"call-{number}"),) for number in range(MEASURED_CALLS)]
    return AgentPlan(Script(*moves, "done"), [bash])


def run_once(adapter: Adapter, options: dict[str, Any] | None, *, is_idle: bool = False) -> float:
    """Return the processor time of a run with many tool calls, divided by the calls."""
    plan = make_plan()
    agent = adapter.build_idle(plan) if is_idle else adapter.build(plan, options)
    gc.collect()
    with adapter.leave_bridge() if options is None else nullcontext():
        start = time.process_time()
        if adapter.ways == (SYNC,):
            adapter.run(agent, "go")
        else:
            run = adapter.run_async if "async" in adapter.ways else adapter.run_stream
            asyncio.run(run(agent, "go"))
        return (time.process_time() - start) / MEASURED_CALLS


def make_other_hooks() -> Hooks:
    """Return hooks for another tool."""
    hooks = Hooks()
    for _ in range(COUNT):
        hooks.before_tool(match="/^web_search$/")(_ignore)
    return hooks


def _ignore(context: ToolContext) -> None:
    context.args.get("query")


def make_one_hook() -> Hooks:
    hooks = Hooks()

    @hooks.before_tool
    def look(context: ToolContext) -> None:
        context.args.get("command")

    return hooks


def make_file_hooks() -> Hooks:
    """Return the file hooks of the scratch home, which are for another tool."""
    hooks = Hooks()
    hooks.load()
    return hooks


@contextmanager
def enter_scratch_home() -> Iterator[None]:
    """Be in a home with file hooks for another tool."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(COUNT):
            hook = Path(folder) / f"config/agents/hooks/other-{number}"
            (hook / "scripts").mkdir(parents=True)
            (hook / "HOOK.md").write_text(HOOK.format(name=hook.name))
            script = hook / "scripts/run.sh"
            script.write_text("#!/bin/sh\nexit 0\n")
            script.chmod(0o755)
        (Path(folder) / "work").mkdir()
        os.environ |= {f"XDG_{kind}_HOME": f"{folder}/{kind.lower()}" for kind in ("CONFIG", "CACHE", "STATE", "DATA")}
        os.environ["HOME"] = folder
        os.chdir(Path(folder) / "work")
        yield
        os.chdir(ROOT)


# How to make the hooks of each case; COST_GOALS has the goals.
CASES: dict[str, Callable[[], Hooks]] = {
    f"{COUNT} Python hooks that do not match": make_other_hooks,
    "one Python hook": make_one_hook,
    # This includes the work of the engine for any file hook, such as self-protection.
    f"{COUNT} file hooks that do not match": make_file_hooks,
}


def measure(adapter: Adapter, rounds: int) -> dict[str, float]:
    """Return, for each case, the ratio to the agent without a bridge; all cases take turns.

    A ratio is of runs of the same round, because a machine that others use is slower in one round than in another.
    """
    options: dict[str, dict[str, Any] | None] = {"": None}
    options |= {IDLE: None} if adapter.build_idle(make_plan()) is not None else {}
    options |= {name: {"hooks": make()} for name, make in CASES.items()}
    times: dict[str, list[float]] = {name: [] for name in options}
    for turn in range(rounds + 2):
        for name in options if turn % 2 else reversed(options):
            seconds = run_once(adapter, options[name], is_idle=name == IDLE)
            # The first turns only warm up.
            if turn > 1:
                times[name].append(seconds)
    ratios = {name: divide(values, times[""]) for name, values in times.items() if name}
    if IDLE in times:
        ratios[AGAINST_IDLE] = divide(times[next(iter(CASES))], times[IDLE])
    for name, values in ratios.items():
        low, middle = values[len(values) // 10], statistics.median(values)
        print(f"{adapter.name}: {name}: {middle:.3f}x, p10 {low:.3f}x", file=sys.stderr)
    return {name: round(statistics.median(values), 2) for name, values in ratios.items()}


def divide(mine: list[float], others: list[float]) -> list[float]:
    """Return the ratios of the same rounds, sorted."""
    return sorted(one / other for one, other in zip(mine, others, strict=True))


def is_machine_idle() -> bool:
    """Whether others use less than half of the processors, by the load of the last minute; our own tests are in it, too."""
    return os.getloadavg()[0] < (os.cpu_count() or 1) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    adapters = choose_adapters()
    conditions = {"rounds": rounds, "is_idle": is_machine_idle()}
    with enter_scratch_home():
        ratios = {adapter.name: measure(adapter, rounds) for adapter in adapters}
    print(json.dumps({"conditions": conditions, "overhead": ratios}))


if __name__ == "__main__":
    main()
