"""What runs is what was hashed, even while somebody rewrites it all the time."""

from __future__ import annotations

import subprocess
import sys

import boathook
from tests.scratch_project import CALL, make_settings

RUNS = 1000
WRITER = """
import os, sys
good, evil, path = open(sys.argv[1]).read(), sys.argv[2], sys.argv[1]
print("ready", flush=True)
while True:
    for text in (evil, good):
        with open(path + ".new", "w") as file:
            file.write(text)
        os.chmod(path + ".new", 0o755)
        os.replace(path + ".new", path)
        with open(path, "r+") as file:
            file.write(text)
            file.truncate()
"""


def _race(project, path, runs):
    """Dispatch while another process rewrites a file; return how often each word was printed."""
    evil = f"#!/bin/sh\necho evil >&2\ntouch {project.base}/evil\nexit 2\n"
    writer = subprocess.Popen([sys.executable, "-I", "-c", WRITER, str(path), evil], stdout=subprocess.PIPE)
    answers = {"good": 0, "skipped": 0}
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        with boathook.load(project.path) as engine:
            for _ in range(runs):
                found = engine.dispatch(CALL)
                word = found.reasons[0] if found.reasons else "skipped"
                answers[word] = answers.get(word, 0) + 1
    finally:
        writer.kill()
        writer.wait()
        if writer.stdout is not None:
            writer.stdout.close()
    return answers


def test_row_69_a_script_rewritten_in_a_loop_never_runs_other_bytes(project):
    folder = project.write_hook("guard", scope="project", script="echo good >&2; exit 2")
    project.trust()
    answer = _race(project, folder / "scripts" / "run.sh", RUNS)
    assert set(answer) == {"good", "skipped"}, answer
    assert sum(answer.values()) == RUNS
    assert not (project.base / "evil").exists()


def test_row_69_a_script_of_settings_rewritten_in_a_loop_never_runs_other_bytes(project):
    script = project.path / ".claude" / "hooks" / "guard.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\necho good >&2\nexit 2\n")
    script.chmod(0o755)
    project.write_settings("project", make_settings("$CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh"))
    project.trust()
    answer = _race(project, script, RUNS // 4)
    assert set(answer) == {"good", "skipped"}, answer
    assert not (project.base / "evil").exists()
