"""How long a real agent waits for hooks at each tool call: without boathook, with an engine for each event, with the warm engine.

    python -m e2e.latency --host claude --rounds 3

Each run makes twenty shell calls, with twenty hooks of which none matches. The time between two requests to the model counts, from
the third call on. The three ways take turns, so that a busy machine is busy for all of them.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import functools
import itertools
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from e2e.hosts import AGENTS, Place, agent
from e2e.install import cache
from e2e.scenes import SCENES, Do, Scene
from e2e.server import Step

if TYPE_CHECKING:
    from e2e.stage import Observation

HOOKS, CALLS, SKIPPED = 20, 20, 2
HOOK = "---\nname: {name}\ndescription: latency\ntrigger: pre-tool-call\nmatcher: {{tool: Shell, pattern: 'never-{name}'}}\n---\n"
WITHOUT, COLD, WARM = "latency-without", "latency-cold", "latency-warm"
CALL, STATUS = "call", "status"
ANSWERED = re.compile(r"process [0-9]+: answered [^\"\\]*")


def make_scenes(host: str) -> dict[str, Scene]:
    """Give a scene for each way."""
    calls = [Step(CALL, f"echo {number} > plain-{number}") for number in range(CALLS)]
    steps = (*calls, Step(STATUS, "boathook warm status"), Step("stop", text="All is done."))
    return {
        name: Scene(host, name, steps, functools.partial(_prepare, host, name), _complain)
        for name in (WITHOUT, COLD, WARM)
    }


def _prepare(host: str, way: str, place: Place, _: dict[str, str], boathook: Do) -> None:
    if way == WITHOUT:
        return
    for number in range(HOOKS):
        scripts = place.home / f".config/agents/hooks/hook-{number}/scripts"
        scripts.mkdir(parents=True)
        (scripts.parent / "HOOK.md").write_text(HOOK.format(name=f"hook-{number}"))
        (scripts / "run.sh").write_text("#!/bin/sh\nexit 0\n")
        (scripts / "run.sh").chmod(0o755)
    if way == WARM:
        (place.home / ".config/agents/hooks.toml").write_text('[hooks]\nwarm = "on"\n')
    boathook("install", host, "--yes")
    if way == WARM:
        boathook("warm", "start")
    # What is younger than two seconds, the registry of installations too, is not kept in the compiled catalogue.
    time.sleep(2.5)


def _complain(_: Observation) -> Iterator[str]:
    return iter(())


def list_gaps(seen: Observation) -> list[float]:
    """Give the milliseconds between the requests that follow each other's calls."""
    times = [request.at for request in seen.own if request.step in (CALL, STATUS)][SKIPPED:]
    return [(later - earlier) * 1000 for earlier, later in itertools.pairwise(times)]


def find_answered(seen: Observation) -> str:
    """Give what the warm engine said about its events, "" if none ran."""
    found = ANSWERED.search(seen.own[-1].body) if seen.own else None
    return found[0] if found else ""


def measure(host: str, rounds: int) -> int:
    """Let the agent run in turns, and print how long it waited."""
    from e2e.stage import only_loopback, play

    only_loopback()
    SCENES.update(make_scenes(host))
    gaps: dict[str, list[float]] = {name: [] for name in (WITHOUT, COLD, WARM)}
    for turn in range(rounds):
        for way in gaps if turn % 2 else reversed(gaps):
            seen = play(agent(host), way)
            if seen.error or len(list_gaps(seen)) < CALLS - SKIPPED:
                print(f"{way}: {seen.error or seen.said}")
                return 1
            gaps[way] += list_gaps(seen)
            print(f"{way}: median {statistics.median(list_gaps(seen)):.0f} ms. {find_answered(seen)}")
    base = statistics.median(gaps[WITHOUT])
    for way, values in gaps.items():
        median, low = statistics.median(values), sorted(values)[len(values) // 10]
        print(f"{way}: median {median:.0f} ms ({median - base:+.0f}, {median / base:.2f}x), p10 {low:.0f} ms")
    return 0


def main() -> int:
    """Measure in an empty network namespace."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="claude", choices=[one.name for one in AGENTS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return measure(given.host, given.rounds)
    # There is no network inside.
    for package in agent(given.host).packages:
        cache().install(package)
    words = [sys.executable, "-m", "e2e.latency", "--host", given.host, "--rounds", str(given.rounds), "--inside"]
    return subprocess.run(["unshare", "-n", *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
