"""The hooks of this repository, which guard it while agents work on it; `make test-hooks` runs their own tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scratch_project import ScratchProject

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / ".agents/hooks"


def test_the_hooks_of_this_repository_pass_the_strict_check_and_have_tests(project: ScratchProject) -> None:
    checked = project.run("check", "--strict", str(HOOKS))
    assert (checked.returncode, checked.stdout) == (0, "all good\n")
    folders = [path.parent for path in HOOKS.glob("*/HOOK.md")]
    assert len(folders) >= 3
    assert [folder.name for folder in folders if not (folder / "tests.txt").is_file()] == []


@pytest.fixture
def generated_files(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    # The scripts import one another by their bare names, as they do when they are started.
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import generate_docs
    import make_picture

    return [*generate_docs.make_files(), make_picture.PICTURE]


def test_every_file_that_a_script_makes_is_guarded_as_a_whole_or_in_part(generated_files: list[Path]) -> None:
    environment = {"AGENT_PROJECT_DIR": str(ROOT), "PATH": "/usr/bin:/bin"}
    script = HOOKS / "generated-files/scripts/run.py"
    writes = [[{"path": str(path)}] for path in generated_files if "<!-- generated: " not in path.read_text()]
    assert len(writes) > 40
    # One process for all: what it answers about each is the exit code of its main function.
    code = (
        "import io, json, runpy, sys\n"
        f"main = runpy.run_path({str(script)!r})['main']\n"
        "def ask(writes):\n"
        "    sys.stdin = io.StringIO(json.dumps({'writes': writes}))\n"
        "    return main()\n"
        "print(json.dumps([ask(writes) for writes in json.load(sys.stdin)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(writes), env=environment, capture_output=True, text=True
    )
    answers = json.loads(done.stdout)
    assert [one[0]["path"] for one, answer in zip(writes, answers, strict=True) if answer != 2] == []
