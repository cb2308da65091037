"""Run the properties of the tests with examples drawn at random, round after round, until the time is up.

`make test` draws the same examples every time, so that it fails only for what was changed. This looks for examples that fail;
it prints the command that draws one again, and hypothesis prints the example itself. It is a plugin of pytest, too.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parent.parent
PROFILE = "--hypothesis-profile=explore"
SEED, SECONDS = "EXPLORE_SEED", "EXPLORE_SECONDS"


def main() -> int:
    """Run rounds, each with a seed of its own; end with the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, help="run one round, to its end, with this seed")
    options = parser.parse_args()
    if options.seed is not None:
        return run_round(options.seed, float("inf"))
    end = time.monotonic() + options.seconds
    code = run_round(random.SystemRandom().randrange(1 << 32), options.seconds)
    while not code and (left := end - time.monotonic()) > 0:
        code = run_round(random.SystemRandom().randrange(1 << 32), left)
    return code


def run_round(seed: int, seconds: float) -> int:
    """Run every property once, in an order that depends on the seed; start none when so many seconds have passed."""
    files = [str(path) for path in sorted((ROOT / "tests").rglob("test_*.py")) if "@given" in path.read_text()]
    argv = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-m", "hypothesis", "-p", "scripts.explore"]
    argv += [PROFILE, f"--hypothesis-seed={seed}", "-r", "fE", *files]
    print(f"properties with seed {seed}", flush=True)
    # What is left when the time is up is skipped, and in continuous integration a skip would be a failure.
    env = {**os.environ, SEED: str(seed), SECONDS: str(seconds), "CI": ""}
    return subprocess.run(argv, cwd=ROOT, env=env, check=False).returncode


# As a plugin


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take another order each round, so that a short time does not always go to the same properties."""
    random.Random(int(os.environ[SEED])).shuffle(items)


@functools.cache
def first_start() -> float:
    """Return when the first property was started: collecting them takes a while that does not count."""
    return time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:  # noqa: ARG001
    """Start nothing when the time is up."""
    import pytest

    if time.monotonic() - first_start() > float(os.environ[SECONDS]):
        pytest.skip("the time is up")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how to see each failure again."""
    for report in terminalreporter.stats.get("failed", ()):
        terminalreporter.write_line(
            f"again: {sys.executable} -m pytest '{report.nodeid}' {PROFILE} --hypothesis-seed={os.environ[SEED]}"
        )


if __name__ == "__main__":
    sys.exit(main())
