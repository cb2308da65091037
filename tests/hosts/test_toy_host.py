"""One file is all that a new agent needs: a copy of the package with one more file runs, installs and lists it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import boathook
from tests.output_validation import validate_output

TOY = '''"""Toy, an agent for tests: its events and tools have names that no other agent has."""

from __future__ import annotations

from boathook.hosts.host import EXIT_CODE_2, Host, HostEvent

HOST = Host(
    "toy",
    "Toy Agent",
    "",
    "a test",
    (
        HostEvent("aboutToPlay", "pre-tool-call", renames=(("toy", "tool_name"), ("how", "tool_input")), block=EXIT_CODE_2),
        HostEvent("playedOut", "pre-agent-turn-stop"),
    ),
    {"toy_shell": ("Shell", (("line", "command"),))},
    event_keys=("what",),
    session_keys=("game",),
    folder_keys=("place.playground",),
    empty_answer="ok",
    project_at=("$TOY_ROOM",),
)


def make_setup():
    from boathook.hosts.setup import FLAT, Setup

    return Setup("toy", ("toy-agent",), ("TOY_HOME", ".toy"), "hooks.json", ".toy/hooks.json", FLAT, evidence="a test")
'''


class Copy:
    """A copy of the package with the toy's file, a home folder and a project with one guard."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "project"
        self.package = root / "package" / "boathook"
        shutil.copytree(Path(boathook.__file__).parent, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        (self.package / "hosts" / "toy.py").write_text(TOY)
        folder = self.project / ".agents/hooks/guard"
        (folder / "scripts").mkdir(parents=True)
        manifest = (
            "---\nname: guard\ndescription: x\ntrigger: pre-tool-call\nmatcher: {tool: Shell, pattern: rm}\n---\n"
        )
        (folder / "HOOK.md").write_text(manifest)
        (folder / "scripts/run.sh").write_text("#!/bin/sh\necho no rm here >&2; exit 2\n")
        (folder / "scripts/run.sh").chmod(0o755)
        self.home.mkdir()
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "PYTHONPATH": str(self.package.parent)}

    def boathook(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "boathook", *arguments]
        done = subprocess.run(command, cwd=self.project, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        validate_output(arguments, done.stdout)
        return done.stdout

    def play(self, line: str, *flags: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Be the toy: send the event before a tool call to the entry of the copy."""
        event = {"what": "aboutToPlay", "game": "g", "toy": "toy_shell", "how": {"line": line}}
        event["place"] = {"playground": str(self.project)}
        command = [sys.executable, "-I", "-S", *flags, str(self.package / "entry/hook_entry.py"), "--host", "toy"]
        options = ["--event", "aboutToPlay", "--trust-all"]
        data, env = json.dumps(event), {**self.env, **env}
        return subprocess.run(
            [*command, *options], input=data, cwd=self.project, env=env, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    return Copy(tmp_path_factory.mktemp("toy"))


def test_it_is_listed_with_what_it_can_do(copy):
    assert "Toy Agent" in copy.boathook("hosts")
    assert "toy" in copy.boathook("hosts", "--capabilities").splitlines()[0]
    by_name = {host["name"]: host for host in json.loads(copy.boathook("hosts", "--json"))["hosts"]}
    assert by_name["toy"]["events"][0]["capabilities"] == {"block": {"exit": 2, "stderr": "$"}}


def test_its_events_are_read_and_answered(copy):
    blocked = copy.play("rm x")
    assert (blocked.returncode, blocked.stdout) == (2, "ok\n")
    assert "no rm here" in blocked.stderr
    passed = copy.play("ls", TOY_ROOM=str(copy.home))
    assert (passed.returncode, passed.stdout, passed.stderr) == (0, "ok\n", "")


def test_the_fast_path_answers_it(copy):
    time.sleep(2.1)  # a catalogue of files that were just made is not kept
    copy.play("ls")
    done = copy.play("ls", "-X", "importtime")
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert "boathook.entry.fast_path" in done.stderr
    assert "boathook.engine" not in done.stderr


def test_it_is_installed_and_uninstalled(copy):
    assert "toy is installed" in copy.boathook("install", "toy", "--yes")
    entries = json.loads((copy.home / ".toy/hooks.json").read_text())["hooks"]
    assert [*entries] == ["aboutToPlay", "playedOut"]
    done = subprocess.run(
        entries["playedOut"][0]["command"],
        shell=True,
        input="{}",
        env=copy.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert "installed" in next(line for line in copy.boathook("status").splitlines() if line.split()[:1] == ["toy"])
    copy.boathook("uninstall", "toy", "--yes")
    assert not (copy.home / ".toy/hooks.json").exists()


def test_hooks_are_checked_for_it(copy):
    found = json.loads(copy.boathook("check", "--host", "toy", "--json"))["diagnostics"]
    assert [one["message"] for one in found if "has no tests" not in one["message"]] == []
