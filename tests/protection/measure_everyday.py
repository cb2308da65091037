"""Count how many everyday commands self-protection is asked about, and how many it objects to.

Run it with a file of commands, one in each line (`.gz` is fine): `python -m tests.protection.measure_everyday FILE`.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.protection.guarded_home import GuardedHome
from tests.scratch_project import BOATHOOK_VARIABLES


def read_lines(path: str) -> list[str]:
    data = gzip.decompress(Path(path).read_bytes()) if path.endswith(".gz") else Path(path).read_bytes()
    return [line for line in data.decode().splitlines() if line.strip()]


def make_home(base: Path) -> GuardedHome:
    """Return a home with trusted hooks in its project, and go there."""
    home = GuardedHome(base)
    for name in list(os.environ):
        if name.startswith(BOATHOOK_VARIABLES):
            del os.environ[name]
    os.environ["HOME"] = str(home.home)
    os.chdir(home.project)
    with contextlib.redirect_stdout(io.StringIO()):
        home.set_up()
    return home


def main() -> None:
    commands = read_lines(sys.argv[1])
    with tempfile.TemporaryDirectory() as base:
        home = make_home(Path(os.path.realpath(base)))
        cases = [{"command": command} for command in commands]
        started = time.process_time()
        handed_over = [case for case in cases if home.is_handed_over(home.make_event(case))]
        seconds = time.process_time() - started
        objections = [(case["command"], found) for case in cases if (found := home.find_objection(case))]
        os.chdir("/")
    for command, found in objections:
        print(f"{command}\n    {found.partition('. If a person')[0]}")
    print(
        f"{len(cases)} commands: {len(handed_over)} are handed over by the fast path"
        f" ({seconds / len(cases) * 1e6:.0f} µs each), {len(objections)} are objected to"
    )
    if "--list" in sys.argv:
        print("\n".join(case["command"] for case in handed_over))


if __name__ == "__main__":
    main()
