"""`make soak`: 10,000 events from eight processes at once, 1,000 of which start async hooks; nothing may leak or be lost.

Six processes embed the engine, two start the hook entry for every event, as hosts do. Each dispatch runs one sync hook, each tenth
also an async one. At the end: a record for every dispatch and for the end of every async hook, a chain that verifies, no process
left, no zombie, descriptors and memory of the six as they were after their first hundred events.

With --warm all eight are hosts whose events the warm engine answers; then its own descriptors, memory and forks must not grow.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from boathook.ledger.reader import LedgerReader, verify_chain
from boathook.warm.resident_control import list_residents
from hatch_build import build_client

ROOT = Path(__file__).resolve().parent.parent
HOOK_ENTRY = ROOT / "src/boathook/entry/hook_entry.py"
PROCESSES, BY_ENTRY = 8, 2
EVERY = 10
GROWTH_LIMIT = 16 << 20
MARK, CLIENT, STATE = "BOATHOOK_SOAK", "BOATHOOK_SOAK_CLIENT", "BOATHOOK_SOAK_STATE"
HOOK = """---
name: {name}
description: soak
trigger: pre-tool-call
matcher: {{pattern: '{pattern}'}}
async: {asynchronous}
---
"""


def main() -> int:
    """Run the soak; give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000, help="how many events in all")
    parser.add_argument("--warm", action="store_true", help="let the warm engine answer")
    parser.add_argument("--worker", nargs=3, metavar=("WAY", "FIRST", "COUNT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        way, first, count = options.worker
        print(json.dumps(work(way, int(first), int(count))))
        return 0
    with tempfile.TemporaryDirectory(prefix="boathook-soak-") as folder:
        return soak(Path(folder), options.events, is_warm=options.warm)


def soak(folder: Path, events: int, *, is_warm: bool) -> int:
    """Lay out a project, let the workers loose, and hold what is left against what was promised."""
    mark = uuid.uuid4().hex
    project, state = folder / "project", folder / "state" / "boathook"
    lay_out(project)
    env = surroundings(folder, mark)
    subprocess.run(
        [sys.executable, "-m", "boathook", "trust", "--yes"], cwd=project, env=env, check=True, capture_output=True
    )
    time.sleep(2.2)  # what is younger is not kept in the compiled catalogue
    begun = time.monotonic()
    resident = WarmSoak(folder, state) if is_warm else None
    reports = let_loose(project, env | (resident.variables if resident else {}), events, "warm" if is_warm else "")
    left = settle(mark)
    seconds = time.monotonic() - begun
    faults = [error for report in reports for error in report["faults"]]
    faults += [f"still running: {process}" for process in left]
    faults += held_against(state, events)
    faults += resident.close(events) if resident else []
    growth = max((report["growth"] for report in reports), default=0)
    print(f"{events:,} events, {events // EVERY:,} async hooks, {PROCESSES} processes: {seconds:.0f} s")
    print(f"largest growth of a process {growth / 2**20:.1f} MiB, descriptors {'flat' if not faults else 'see below'}")
    for error in faults:
        print(f"FAULT: {error}")
    print("soak: nothing leaked, nothing lost" if not faults else f"soak: {len(faults)} faults")
    return int(bool(faults))


class WarmSoak:
    """A resident, and what it holds."""

    def __init__(self, folder: Path, state: Path) -> None:
        package, client = ROOT / "src/boathook/warm", folder / "client"
        # A busy machine needs longer than 50 ms.
        if not build_client(package / "client.c", client, "-DACCEPT_MS=10000"):
            sys.exit("soak: the client of the warm engine cannot be built")
        self.variables, self.state = {CLIENT: str(client), STATE: str(state)}, str(state)
        argv = [sys.executable, "-I", "-S", str(package / "resident_entry.py"), "--state", str(state)]
        self.process = subprocess.Popen(argv, env={}, start_new_session=True)
        while not list_residents(self.state):
            time.sleep(0.05)
        # As after an event: two forks wait.
        time.sleep(1)
        self.before = self.measure()

    def measure(self) -> tuple[int, int, int]:
        """Give the descriptors, the bytes and the children of the resident."""
        top = Path(f"/proc/{self.process.pid}")
        size = int((top / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        children = (top / f"task/{self.process.pid}/children").read_text().split()
        return len(list((top / "fd").iterdir())), size, len(children)

    def close(self, events: int) -> list[str]:
        """End it, and give the faults."""
        (status,) = list_residents(self.state)
        until = time.monotonic() + 60
        # Each fork that waits has two descriptors, and there are at most eight of them.
        while (after := self.measure())[0] > self.before[0] + 2 * 8 and time.monotonic() < until:
            time.sleep(0.1)
        growth = (after[1] - self.before[1]) / 2**20
        print(f"resident: {status.forked:,} events in forks, refused {status.refused}, grew by {growth:.1f} MiB")
        print(f"descriptors {self.before[0]} to {after[0]}, children {self.before[2]} to {after[2]}")
        self.process.terminate()
        faults = [f"the resident ended with {code}"] if (code := self.process.wait(60)) else []
        faults += [f"the resident answered {status.forked} events"] if status.forked < events * 0.99 else []
        faults += [f"the resident: {self.before} before, {after} after"] if after[0] > self.before[0] + 16 else []
        return [*faults, *([f"the resident grew by {growth:.1f} MiB"] if growth > 16 else [])]


def lay_out(project: Path) -> None:
    """Write one sync hook and one async one."""
    for name, pattern, asynchronous in (("sync", "event", "false"), ("later", "event [0-9]*0 ", "true")):
        scripts = project / ".agents/hooks" / name / "scripts"
        scripts.mkdir(parents=True)
        (scripts.parent / "HOOK.md").write_text(HOOK.format(name=name, pattern=pattern, asynchronous=asynchronous))
        (scripts / "run.sh").write_text("#!/bin/sh\nexit 0\n")
        (scripts / "run.sh").chmod(0o755)


def surroundings(folder: Path, mark: str) -> dict[str, str]:
    """Give an environment of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    kinds = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "CACHE", "STATE")}
    return {**kept, **kinds, "HOME": str(folder / "home"), MARK: mark}


def let_loose(project: Path, env: dict[str, str], events: int, only_way: str) -> list[dict[str, Any]]:
    """Start the workers and give what each reports."""
    share = events // PROCESSES
    workers = []
    for at in range(PROCESSES):
        first, count = at * share, share if at < PROCESSES - 1 else events - share * (PROCESSES - 1)
        way = only_way or ("entry" if at < BY_ENTRY else "engine")
        argv = [sys.executable, __file__, "--worker", way, str(first), str(count)]
        workers.append(subprocess.Popen(argv, cwd=project, env=env, stdout=subprocess.PIPE, text=True))
    reports = []
    for worker in workers:
        out, _ = worker.communicate(timeout=1800)
        found = (
            json.loads(out)
            if worker.returncode == 0
            else {"faults": [f"a worker ended with {worker.returncode}"], "growth": 0}
        )
        reports.append(found)
    return reports


def work(way: str, first: int, count: int) -> dict[str, Any]:
    """Be a worker: send events, and look at oneself."""
    send = send_by_engine if way == "engine" else send_by_entry
    return send(range(first, first + count))


def event(number: int) -> dict[str, Any]:
    """Give the event of a number."""
    command = {"command": f"event {number} of the soak"}
    return {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": command, "session_id": "soak"}


def send_by_entry(numbers: range) -> dict[str, Any]:
    """Send events as a host does."""
    faults = []
    argv = [sys.executable, "-I", "-S", str(HOOK_ENTRY), "--host", "native", "--event", "pre-tool-call"]
    if client := os.environ.get(CLIENT):
        argv = [client, *argv, "--state", os.environ[STATE]]
    for number in numbers:
        done = subprocess.run(
            argv, input=json.dumps(event(number)).encode(), capture_output=True, timeout=60, check=False
        )
        if (done.returncode, done.stderr) != (0, b""):
            faults.append(f"event {number}: exit {done.returncode}: {done.stderr.decode()}")
    return {"faults": faults, "growth": 0}


def send_by_engine(numbers: range) -> dict[str, Any]:
    """Send events in process; what is held after the first hundred is what may be held at the end."""
    import boathook

    faults: list[str] = []
    with boathook.load() as engine:
        before: tuple[int, int] = (0, 0)
        for at, number in enumerate(numbers):
            verdict = engine.dispatch(event(number))
            if [run.status for run in verdict.runs] != ["ok"] or any(skip.is_warning for skip in verdict.skipped):
                faults.append(f"event {number}: {verdict.to_json()}")
            if at == min(100, len(numbers) // 2):
                engine.drain(60)
                before = (descriptors(), memory())
        if engine.drain(120):
            faults.append("async hooks are still running")
        after = (descriptors(), memory())
    if after[0] > before[0]:
        faults.append(f"descriptors: {before[0]} after the first hundred events, {after[0]} at the end")
    growth = after[1] - before[1]
    if growth > GROWTH_LIMIT:
        faults.append(f"memory grew by {growth / 2**20:.1f} MiB")
    faults += [f"a child is left: {process}" for process in children()]
    return {"faults": faults, "growth": growth}


def descriptors() -> int:
    """Count what is open here."""
    return len(os.listdir("/proc/self/fd"))


def memory() -> int:
    """Give the bytes that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def children() -> list[str]:
    """Name the children of this process, zombies too."""
    found = []
    for task in os.listdir("/proc/self/task"):
        for pid in Path(f"/proc/self/task/{task}/children").read_text().split():
            found.append(f"{pid} {Path(f'/proc/{pid}/stat').read_text().split()[1:3]}")
    return found


def settle(mark: str, seconds: float = 60.0) -> list[str]:
    """Wait until nobody carries the mark any more; give those who do."""
    until = time.monotonic() + seconds
    while (left := marked(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def marked(mark: str) -> list[str]:
    """Find processes by the mark in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path(f"/proc/{pid}/environ").read_bytes():
                found.append(f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes()[:100]!r}")
        except OSError:
            continue
    return found


def held_against(state: Path, events: int) -> list[str]:
    """Hold the ledger against what was sent."""
    reader = LedgerReader(str(state))
    counts: Counter[str] = Counter()
    inputs: set[str] = set()
    for record in reader.read():
        counts[record["type"]] += 1
        if record["type"] == "dispatch":
            inputs.add(record["input"]["command"])
    report = verify_chain(str(state))
    faults = [f"the ledger: {finding.place}: {finding.message}" for finding in report.findings]
    wanted = {"dispatch": events, "end": events // EVERY}
    faults += [
        f"{counts[kind]:,} records of the type {kind}, not {count:,}"
        for kind, count in wanted.items()
        if counts[kind] != count
    ]
    if len(inputs) != events:
        faults.append(f"{len(inputs):,} events are on record, not {events:,}")
    if reader.invalid_lines:
        faults.append(f"{reader.invalid_lines} lines of the ledger cannot be read")
    chain = "good" if report.is_good else "broken"
    print(
        f"ledger: {counts['dispatch']:,} dispatches, {counts['end']:,} ends, {report.spilled} put aside, chain {chain}"
    )
    return faults


if __name__ == "__main__":
    sys.exit(main())
