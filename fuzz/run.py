"""Fuzz every target for a while, guided by coverage: `make fuzz [SECONDS=60] [TARGET=name]`.

Each target has a process of its own. What it finds is made smaller and kept in `fuzz/found/`; so are the slowest inputs, which
are measured again without instruments. Exit 1 if anything was found.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOUND = ROOT / "fuzz" / "found"
INSTRUMENTED = ["boathook", "yaml", "tomllib", "json", "shlex"]
SLOWEST_KEPT = 3
HANGS_AFTER = 20  # seconds of one input, instruments and all
OWN_MUTATIONS = 0.25  # how many mutations are ours, the rest is libFuzzer's


class Result(NamedTuple):
    """What became of one target."""

    name: str
    runs: int
    coverage: int
    slowest: float  # ms per 64 KiB, measured without instruments
    loops: float
    finding: str = ""


def main() -> int:
    """Read the command line."""
    sys.path.insert(0, str(ROOT))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="names of targets; all if none")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    for step in ("worker", "measure", "shrink"):
        parser.add_argument(f"--{step}", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return fuzz(options.worker, options.seconds, options.targets[0])
    if options.measure:
        return measure(options.measure, [Path(path) for path in options.targets])
    if options.shrink:
        return shrink(options.shrink, Path(options.targets[0]))
    if importlib.util.find_spec("atheris") is None:
        return without_atheris()
    return all_targets(options.targets, options.seconds)


def without_atheris() -> int:
    """Look hard with hypothesis instead."""
    print(f"atheris cannot be had for Python {sys.version.split()[0]}; hypothesis looks instead, without coverage")
    argv = [sys.executable, "-m", "pytest", "-q", "tests/fuzz", "--hypothesis-profile=thorough", "--timeout=3600"]
    return subprocess.run(argv, cwd=ROOT, check=False).returncode


def all_targets(names: list[str], seconds: int) -> int:
    """Fuzz one target after the other and print a table."""
    from fuzz.clock import LOOPS
    from fuzz.targets import TARGETS

    print(f"{'target':16} {'runs':>9} {'coverage':>9} {'slowest, ms per 64 KiB':>24}")
    bad = 0
    for target in TARGETS:
        if names and target.name not in names:
            continue
        result = one_target(target.name, seconds)
        late = result.loops > LOOPS * target.allowance
        word = result.finding or ("TOO SLOW" if late else "")
        print(f"{result.name:16} {result.runs:9,} {result.coverage:9,} {result.slowest:24.1f}  {word}", flush=True)
        bad += bool(word)
    return 1 if bad else 0


def one_target(name: str, seconds: int) -> Result:
    """Fuzz a target in a process of its own, then look at what it left."""
    for kind in ("corpus", "slow", "crash"):
        (FOUND / kind / name).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as seeds:
        argv = [sys.executable, __file__, "--worker", name, "--seconds", str(seconds), seeds]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, check=False)
    output = done.stderr.decode("utf-8", "replace")
    runs, coverage = (
        _last(r"number_of_executed_units:\s+(\d+)", output) or _last(r"#(\d+)\s", output),
        _last(r"cov: (\d+)", output),
    )
    finding = ""
    if done.returncode:
        finding = _finding(name, output)
    slowest, loops = _measured(name)
    return Result(name, runs, coverage, slowest, loops, finding)


def _last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def _finding(name: str, output: str) -> str:
    """Give a finding in a few words, its input made smaller."""
    (FOUND / "crash" / name / "log.txt").write_text(output)
    kept = re.findall(r"Test unit written to (\S+)", output)
    if not kept:
        return f"the process ended: see {FOUND / 'crash' / name / 'log.txt'}"
    done = _self("--shrink", name, kept[-1])
    return done.stdout.strip() or f"see {kept[-1]}"


def _measured(name: str) -> tuple[float, float]:
    paths = sorted((FOUND / "slow" / name).glob("*.bin"))
    if not paths:
        return 0.0, 0.0
    try:
        found: dict[str, list[float]] = json.loads(_self("--measure", name, *map(str, paths)).stdout)
    except ValueError:
        return float("inf"), float("inf")
    for path, _ in sorted(found.items(), key=lambda item: -item[1][1])[SLOWEST_KEPT:]:
        os.unlink(path)
    worst = max(found.values(), key=lambda cost: cost[1])
    return worst[0], worst[1]


def _self(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, __file__, *args], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )


# In a process of its own


def fuzz(name: str, seconds: int, seeds: str) -> int:
    """Be the process that fuzzes one target; does not return."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from fuzz.shapes import LIMIT, mutate
        from fuzz.targets import BY_NAME
    target = BY_NAME[name]
    inputs = [*target.seeds, *(family.of(2000) for family in target.families)]
    for data in inputs:
        _keep(Path(seeds), data)
    words = Path(seeds) / ".." / f"{Path(seeds).name}.dict"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words if len(word) < 60))

    def mutation(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() > OWN_MUTATIONS:
            changed: bytes = atheris.Mutate(data, most)
            return changed
        return mutate(data, chance.choice(inputs), target.words, chance, most)

    options = {
        "max_total_time": seconds,
        "max_len": LIMIT,
        "len_control": 0,
        "timeout": HANGS_AFTER,
        "rss_limit_mb": 2048,
        "dict": words,
        "artifact_prefix": f"{FOUND / 'crash' / name}/",
        "print_final_stats": 1,
    }
    argv = [sys.argv[0], *(f"-{key}={value}" for key, value in options.items()), str(FOUND / "corpus" / name), seeds]
    atheris.Setup(argv, _timed(target.run, FOUND / "slow" / name), custom_mutator=mutation)
    atheris.Fuzz()
    return 0


def _timed(run: Callable[[bytes], None], folder: Path) -> Callable[[bytes], None]:
    """Run a target and keep every input that is slower than all before, for its size."""
    worst = 0.01

    def timed(data: bytes) -> None:
        nonlocal worst
        start = time.process_time()
        run(data)
        took = time.process_time() - start
        if took > worst:
            worst = took * 1.05
            _keep(folder, data)

    return timed


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def _keep(folder: Path, data: bytes) -> None:
    (folder / f"{hashlib.sha256(data).hexdigest()[:16]}.bin").write_bytes(data)


def measure(name: str, paths: list[Path]) -> int:
    """Say what inputs cost without instruments: ms and loops, per 64 KiB if they are longer, for one pass."""
    from fuzz.clock import cost_of
    from fuzz.shapes import LIMIT
    from fuzz.targets import BY_NAME

    target = BY_NAME[name]
    costs: dict[str, Any] = {}
    for path in paths:
        data = path.read_bytes()
        cost = cost_of(partial(target.run, data), target.passes)
        size = max(len(data) / LIMIT, 1.0)
        costs[str(path)] = [cost.seconds * 1000 / size, cost.loops / size]
    print(json.dumps(costs))
    return 0


def shrink(name: str, path: Path) -> int:
    """Make an input smaller as long as it raises the same; keep it beside and print it."""
    from fuzz.targets import BY_NAME

    run = BY_NAME[name].run
    data = path.read_bytes()
    wanted = _raised(run, data)
    if not wanted:
        print(f"{path} raises nothing without instruments: too slow, or beyond the memory")
        return 0
    size = max(len(data) // 2, 1)
    while size:
        at = 0
        while at < len(data):
            less = data[:at] + data[at + size :]
            if _raised(run, less) == wanted:
                data = less
            else:
                at += size
        size //= 2
    small = path.with_suffix(".small")
    small.write_bytes(data)
    print(f"{wanted}: {data[:80]!r} ({small})")
    return 0


def _raised(run: Callable[[bytes], None], data: bytes) -> str:
    try:
        run(data)
    except Exception as error:  # noqa: BLE001
        return type(error).__name__
    return ""


if __name__ == "__main__":
    sys.exit(main())
