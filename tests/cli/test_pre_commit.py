"""The hooks for pre-commit, tried with pre-commit itself, and the file of the GitHub Action."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.packs.toy_packs import PASS, find_pack, write_pack

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
GIT = (
    "git",
    "-c",
    "user.name=a",
    "-c",
    "user.email=a@b.c",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "init.defaultBranch=main",
)


def run(project, *words, cwd):
    env = {
        **project.environment,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(project.base / "pc"),
    }
    # pre-commit clones from a folder of this machine.
    env |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"}
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


def commit_all(project, folder):
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "x", "--no-verify")):
        done = run(project, *GIT, *words, cwd=folder)
        assert done.returncode == 0, done.stderr
    return run(project, "git", "rev-parse", "HEAD", cwd=folder).stdout.strip()


@pytest.mark.skipif(shutil.which("pre-commit", path=str(BIN)) is None, reason="pre-commit is not installed")
def test_pre_commit_checks_the_hooks_of_a_repository(project):
    ours = project.base / "boathook"
    ours.mkdir()
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", ours)
    revision = commit_all(project, ours)
    # `language: system` takes the installed boathook; people let pre-commit install it.
    entry = {"id": "boathook-check", "language": "system"}
    config = {"repos": [{"repo": str(ours), "rev": revision, "hooks": [entry]}]}
    (project.path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    write_pack(find_pack(project, "project"), {"a": PASS})
    project.write_hook("good", scope="project")
    commit_all(project, project.path)
    done = run(project, BIN / "pre-commit", "run", "--all-files", cwd=project.path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout
    shutil.rmtree(find_pack(project, "project") / "hooks/a")
    commit_all(project, project.path)
    done = run(project, BIN / "pre-commit", "run", "--all-files", cwd=project.path)
    assert done.returncode == 1
    assert "the pack 'acme/guards' cannot be read, so none of its hooks runs" in done.stdout
    assert "boathook pack remove acme/guards" in done.stdout


def test_the_hooks_for_pre_commit_run_commands_of_boathook():
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["entry"] for hook in hooks] == ["boathook check --strict .", "boathook test"]
    assert {hook["language"] for hook in hooks} == {"python"}


def test_the_action_runs_the_same_commands_and_no_input_is_part_of_a_command():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    commands = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert [command.split()[:2] for command in commands[1:]] == [["boathook", "check"], ["boathook", "test"]]
    assert not any("${{" in command for command in commands)


def test_check_knows_packs(project):
    folder = write_pack(project.base / "guards", {"a": PASS, "b": PASS})
    assert project.run("check", "--strict", str(folder)).stdout == "all good\n"
    (folder / "hooks/a/scripts/run.py").rename(folder / "hooks/a/scripts/run")
    (folder / "hooks/extra").mkdir()
    shutil.copy(folder / "hooks/b/HOOK.md", folder / "hooks/extra")
    done = project.run("check", str(folder / "PACK.md"))
    assert "'process: shared' has no effect: the entry point is run, not run.py" in done.stdout
    assert "'hooks' of PACK.md does not name it" in done.stdout
