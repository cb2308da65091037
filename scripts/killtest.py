"""`make killtest`: kill -9 writers of the ledger in a loop; nothing that was acknowledged may be lost, and the chain must hold.

Writers are processes that append records and then acknowledge each by one line on their own pipe; whatever was acknowledged must be
in the ledger afterwards, exactly once. Segments are small, so that rotation is hit as well.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from boathook.ledger.reader import LedgerReader, verify_chain
from boathook.ledger.writer import Ledger

SEGMENT = 256 * 1024


def write(folder: str, worker: str, acknowledge: int) -> None:
    """Append records for ever, and acknowledge each."""
    ledger = Ledger(folder, segment_limit=SEGMENT, total_limit=1 << 40, lock_seconds=30.0)
    number = 0
    while True:
        number += 1
        name = f"{worker}-{number}"
        size = random.choice((50, 500, 5000, 40_000))
        record = {"v": 1, "id": name, "time": "2027-01-15T00:00:00.000Z", "type": "dispatch", "x": "x" * size}
        error = ledger.append(record, sync=number % 16 == 0)
        if error:
            os.write(2, f"{error}\n".encode())
            os._exit(1)
        os.write(acknowledge, f"{name}\n".encode())


def start(folder: str, worker: str, places: Path) -> int:
    """Start a writer; give its process."""
    pid = os.fork()
    if pid == 0:
        acknowledge = os.open(places / worker, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        write(folder, worker, acknowledge)
    return pid


def kill_in_a_loop(folder: str, places: Path, seconds: float, workers: int) -> int:
    """Keep some writers alive, end one after the other without warning; give how many were ended."""
    running: dict[int, str] = {}
    kills, deadline = 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        while len(running) < workers:
            name = f"w{kills}-{len(running)}-{random.randrange(1 << 30)}"
            running[start(folder, name, places)] = name
        time.sleep(random.uniform(0.001, 0.03))
        pid = random.choice(list(running))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        del running[pid]
        kills += 1
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return kills + len(running)


def main() -> int:
    """Run the test; give the exit code."""
    parser = argparse.ArgumentParser(description="kill -9 the writers of a ledger in a loop")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--workers", type=int, default=8)
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="killtest-"))
    try:
        places = root / "acknowledged"
        places.mkdir()
        folder = str(root / "ledger")
        kills = kill_in_a_loop(folder, places, options.seconds, options.workers)
        return judge(folder, places, kills)
    finally:
        shutil.rmtree(root)


def judge(folder: str, places: Path, kills: int) -> int:
    """Compare what was acknowledged with what is there, and print the figures."""
    acknowledged = {line for path in places.iterdir() for line in path.read_text().split("\n")[:-1]}
    reader = LedgerReader(folder)
    found = Counter(record["id"] for record in reader.read())
    report = verify_chain(folder)
    lost, twice = acknowledged - found.keys(), [name for name, count in found.items() if count > 1]
    print(f"{kills} writers killed, {len(acknowledged):,} records acknowledged, {report.records:,} recorded")
    print(f"{report.segments} segments, {len(report.torn)} unfinished lines, {report.spilled} put aside")
    print(f"lost: {len(lost)}, twice: {len(twice)}, findings of verify: {len(report.findings)}")
    for finding in report.findings[:10]:
        print(f"  {finding.place}: {finding.kind}: {finding.message}")
    good = acknowledged and not lost and not twice and report.is_good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
