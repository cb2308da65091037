"""`make bridges`: one environment per framework with its pinned release; runs the contract in it and prints the matrix.

Anything that fails makes the exit code 1, and so does any difference from tests/bridges/results.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from generate_bridges import RESULTS, ROOT, Result, format_tables, make_result, read_results

PINS = ROOT / "tests/bridges/pins"
ENVIRONMENTS = ROOT / ".bridges"
TEST_TOOLS = ("pytest", "pytest-timeout", "hypothesis", "jsonschema")
# As in tests/bridges/frameworks.py, which needs the frameworks to be imported.
CHOICE, REPORT = "BOATHOOK_BRIDGE", "BOATHOOK_BRIDGE_REPORT"
# Two processors, and installing waits for the network.
AT_A_TIME = 2


@dataclass
class Trial:
    """What was seen with one framework."""

    framework: str
    result: Result | None = None
    failures: list[str] = field(default_factory=list)
    seconds: float = 0


def main() -> int:
    """Run the chosen frameworks; return the exit code."""
    options = read_options()
    names = options.framework or list_frameworks()
    started = time.monotonic()
    # What runs meanwhile would change the figures of the bench.
    with ThreadPoolExecutor(1 if options.bench else AT_A_TIME) as pool:
        trials = [*pool.map(partial(try_framework, options=options), names)]
    results = [trial.result for trial in trials if trial.result is not None]
    print(f"\n{format_tables(results)}\n\n{time.monotonic() - started:.0f} s in all")
    failures = [f"{trial.framework}: {text}" for trial in trials for text in trial.failures]
    if not options.newest:
        failures += find_changes(results) if not options.write else []
    for text in failures:
        print(f"!!! {text}", file=sys.stderr)
    if options.write and not failures:
        write_results(results)
    return 1 if failures else 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", action="append", choices=sorted(read_extras()), help="only this one")
    parser.add_argument("--newest", action="store_true", help="with the newest releases instead of the pinned ones")
    parser.add_argument("--bench", action="store_true", help="measure what each bridge costs per tool call, too")
    parser.add_argument("--pin", action="store_true", help="write what is installed into tests/bridges/pins")
    parser.add_argument(
        "--write", action="store_true", help="write tests/bridges/results and docs/reference/bridges.md"
    )
    options = parser.parse_args()
    new = [] if options.newest else sorted({*(options.framework or ())} - {*list_frameworks()})
    if new:
        parser.error(f"there are no pins of {', '.join(new)} in tests/bridges/pins yet: write them with --newest --pin")
    return options


def list_frameworks() -> list[str]:
    return sorted(path.stem for path in PINS.glob("*.txt"))


def read_extras() -> dict[str, list[str]]:
    """Return the extras of the package: a framework has one before it has pins."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    return extras


def try_framework(name: str, options: argparse.Namespace) -> Trial:
    """Install one framework and run the contract with it; whatever goes wrong is a failure of the trial."""
    trial, started = Trial(name), time.monotonic()
    try:
        python = make_environment(name, is_newest=options.newest)
        if options.pin:
            write_pins(name, python)
        print(f"{name}: installed in {time.monotonic() - started:.0f} s", flush=True)
        if not (ROOT / f"tests/bridges/adapters/{name.replace('-', '_')}.py").exists():
            trial.failures.append("there is no adapter yet")
            return trial
        run_contract(trial, python)
        if options.bench and trial.result is not None:
            trial.result |= measure_overhead(name, python)
        trial.failures += check_types(name, python)
    except subprocess.CalledProcessError as error:
        trial.failures.append(f"{' '.join(map(str, error.cmd))}\n{error.stdout}")
    trial.seconds = time.monotonic() - started
    verdict = f"{len(trial.failures)} FAILED" if trial.failures else "passed"
    print(f"{name}: {verdict} in {trial.seconds:.0f} s", flush=True)
    return trial


def make_environment(name: str, *, is_newest: bool) -> Path:
    """Return the interpreter of an environment with boathook and the framework; makes it if it is not there as it should be."""
    folder = ENVIRONMENTS / (f"{name}-newest" if is_newest else name)
    python, stamp = folder / "bin/python", folder / "boathook-installed"
    wanted = make_stamp(name)
    if not is_newest and stamp.exists() and stamp.read_text() == wanted:
        return python
    run(sys.executable, "-m", "venv", "--clear", folder)
    versions = [] if is_newest else ["-c", PINS / f"{name}.txt"]
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(*install, *versions, "-e", f"{ROOT}[{name}]", *TEST_TOOLS)
    stamp.write_text(wanted)
    return python


def make_stamp(name: str) -> str:
    """Return a text that changes when an environment has to be made again."""
    pins = PINS / f"{name}.txt"
    # A new framework has no pins until its newest releases were installed.
    parts = [pins.read_text() if pins.exists() else "", *read_extras()[name], *TEST_TOOLS]
    parts.append((ROOT / "hatch_build.py").read_text())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def write_pins(name: str, python: Path) -> None:
    """Write the versions of everything in an environment, those of the framework first."""
    frozen = run(python, "-m", "pip", "freeze", "--exclude-editable").splitlines()
    own = [line.split(">=")[0] for line in read_extras()[name]]
    lines = sorted(
        (line for line in frozen if "==" in line), key=lambda line: (line.split("==")[0] not in own, line.lower())
    )
    (PINS / f"{name}.txt").write_text("\n".join(lines) + "\n")


def run_contract(trial: Trial, python: Path) -> None:
    """Run the tests of bridges in an environment, and read what they report."""
    report = python.parent.parent / "report.json"
    report.unlink(missing_ok=True)
    environment = {**os.environ, CHOICE: trial.framework, REPORT: str(report)}
    command = [str(python), "-m", "pytest", "-q", "-m", "bridge", "-p", "no:cacheprovider", "tests/bridges"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if report.exists():
        trial.result, trial.failures = make_result(trial.framework, json.loads(report.read_text()))
    if done.returncode:
        trial.failures.append(done.stdout[-8000:])


def measure_overhead(name: str, python: Path) -> dict[str, Any]:
    """Return what the bridge costs per tool call, by column and case, as ratios, and the conditions of the measurement."""
    environment = {**os.environ, CHOICE: name}
    command = [str(python), "bench/bridge_overhead.py"]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def check_types(name: str, python: Path) -> list[str]:
    """Check the types of a bridge against the framework itself, which the environment of `make check` does not have."""
    path = ROOT / f"src/boathook/bridges/{name.replace('-', '_')}.py"
    cache = python.parent.parent / "mypy"
    command = [sys.executable, "-m", "mypy", "--python-executable", str(python), "--cache-dir", str(cache), str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return [done.stdout] if done.returncode else []


def find_changes(results: list[Result]) -> Iterator[str]:
    """Return a line for each framework whose result differs from the written one."""
    written = {result["framework"]: result for result in read_results()}
    for result in results:
        before = written.get(result["framework"], {})
        # What a bridge costs is never the same twice.
        if any(before.get(part) != result[part] for part in ("versions", "notes", "columns")):
            yield f"{result['framework']}: differs from tests/bridges/results (WRITE=1 writes it)"


def write_results(results: list[Result]) -> None:
    RESULTS.mkdir(exist_ok=True)
    written = {result["framework"]: result for result in read_results()}
    for result in results:
        if "overhead" not in result:
            # Figures stay until they are measured again.
            before = written.get(result["framework"], {})
            result |= {"conditions": before.get("conditions", {}), "overhead": before.get("overhead", {})}
        (RESULTS / f"{result['framework']}.json").write_text(json.dumps(result, indent=1) + "\n")
    run(sys.executable, "scripts/generate_docs.py")


def run(*command: Any) -> str:
    """Run a command in the repository and return what it prints."""
    done = subprocess.run(
        [*map(str, command)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
