"""The resident answers made-up events before the first real one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REHEARSE = """
import ctypes, os, sys
from boathook.warm.rehearsal import rehearse
count = rehearse(os.open(sys.argv[1], os.O_PATH))
is_reaper = ctypes.c_int(7)
ctypes.CDLL(None).prctl(37, ctypes.byref(is_reaper), 0, 0, 0)
os.write(2, f"{count} {is_reaper.value} {os.listdir(sys.argv[1])}".encode())
"""


def _rehearse(folder: Path) -> str:
    command = [sys.executable, "-c", REHEARSE, str(folder)]
    # Answers go to the streams, which a resident has closed; the last line is ours.
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={}, cwd="/")
    return done.stderr.splitlines()[-1]


def test_all_made_up_events_are_blocked_and_nothing_is_left(tmp_path: Path) -> None:
    assert _rehearse(tmp_path) == "24 0 []"


def test_hooks_of_a_project_around_the_state_folder_do_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    settings = tmp_path / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(
        '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "touch %s"}]}]}}' % mark  # noqa: UP031
    )
    for name in (".agents/hooks/other/scripts", ".agents/packs/a/b/hooks/other/scripts"):
        scripts = tmp_path / name
        scripts.mkdir(parents=True)
        (scripts.parent / "HOOK.md").write_text("---\nname: other\ndescription: x\ntrigger: pre-tool-call\n---\n")
        (scripts / "run.sh").write_text(f"#!/bin/sh\ntouch {mark}\n")
        (scripts / "run.sh").chmod(0o755)
    state = tmp_path / "state/warm"
    state.mkdir(parents=True)
    assert _rehearse(state) == "24 0 []"
    assert not mark.exists()


def test_a_rehearsal_that_is_not_possible_changes_nothing(tmp_path: Path) -> None:
    missing = tmp_path / "file"
    missing.write_text("")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, sys; from boathook.warm.rehearsal import rehearse; print(rehearse(os.open(sys.argv[1], os.O_PATH)))",
            missing,
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "0\n"
