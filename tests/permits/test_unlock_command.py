"""`boathook unlock`: a pause that a person begins, and that everybody sees."""

from __future__ import annotations

import json
import time

import pytest

from boathook.permits.unlock import read_unlock_end, write_unlock
from tests.terminal import type_digest


def run_host(project, host, session="s", event="PreToolUse"):
    payload = {"hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "x"}, "session_id": session,
               "cwd": str(project.path)}  # fmt: skip
    return project.run("run", "--host", host, stdin=json.dumps(payload))


def test_a_pause_is_begun_shown_and_ended(project):
    assert project.run("unlock").stdout == "Self-protection is on. To pause it: boathook unlock 30m\n"
    code, text = type_digest(project, "unlock", "30m")
    assert code == 0, text
    assert "For 30 minutes, agents on this machine can change what guards them:" in text
    left = read_unlock_end(str(project.state)) - time.time()
    assert 0 < left <= 1800
    shown = project.run("unlock").stdout
    assert shown.startswith("Self-protection is paused until ")
    assert shown in project.run("status").stdout
    assert json.loads(project.run("status", "--json").stdout)["unlocked_until"]
    assert "a person paused self-protection until " in project.run("log").stdout
    assert project.run("unlock", "--end").stdout == "Self-protection is on again.\n"
    assert read_unlock_end(str(project.state)) == 0
    assert json.loads(project.run("status", "--json").stdout)["unlocked_until"] is None
    assert "the pause of self-protection was ended" in project.run("log").stdout
    assert project.run("unlock", "--end").stdout == "Self-protection is on: there is no pause to end.\n"
    assert project.run("ledger", "verify").returncode == 0
    for line in project.run("log", "--json").stdout.splitlines():
        assert json.loads(project.run("why", json.loads(line)["id"], "--json").stdout)["record"]["type"] == "unlock"


@pytest.mark.parametrize("answer", ["", "y", "none"])
def test_anything_else_than_the_digest_begins_no_pause(project, answer):
    code, text = type_digest(project, "unlock", "30m", answer=answer)
    assert (code, "Nothing was changed: you typed something else." in text) == (1, True)
    assert read_unlock_end(str(project.state)) == 0


def test_the_digest_is_a_new_one_each_time(project):
    digests = {type_digest(project, "unlock", "30m", answer="")[1].partition("digest  ")[2][:64] for _ in range(2)}
    assert len(digests) == 2


def test_without_a_terminal_there_is_no_pause(project):
    done = project.run("unlock", "30m", stdin="abcd\n")
    message = "Nothing was changed: there is no terminal to ask at. Run this in a terminal of your own"
    assert (done.returncode, done.stderr) == (1, f"boathook: {message}\n")
    assert read_unlock_end(str(project.state)) == 0


@pytest.mark.parametrize("text", ["", "x", "30", "m", "0m", "-5m", "9h", "1d", "1.5h", "٣m", "99999999999h"])
def test_a_duration_that_is_not_one_is_an_error(project, text):
    done = project.run("unlock", text)
    assert done.returncode == 1
    assert "is not a time to pause for: write 90s, 30m or 2h, and at most 8h" in done.stderr or text == "-5m"


def test_a_session_reports_it_once_to_the_person_and_to_the_model(project):
    write_unlock(str(project.state), 600)
    project.write_hook("context", "exit 0")
    first = json.loads(run_host(project, "claude").stdout)
    assert first["systemMessage"].startswith("self-protection is paused by the person until ")
    assert "boathook unlock --end" in first["systemMessage"]
    context = first["hookSpecificOutput"]["additionalContext"]
    assert context.startswith("boathook: self-protection is paused by the person until ")
    assert run_host(project, "claude").stdout == ""
    assert run_host(project, "claude", session="other").stdout != ""
    # Another pause is said again.
    write_unlock(str(project.state), 1000)
    assert run_host(project, "claude").stdout != ""


def test_an_event_that_no_hook_wants_reports_it_too(project):
    assert run_host(project, "claude").stdout == ""
    write_unlock(str(project.state), 600)
    assert "self-protection is paused" in run_host(project, "claude").stdout


def test_a_pause_that_is_over_is_removed(project):
    write_unlock(str(project.state), 0.001)
    time.sleep(0.01)
    assert run_host(project, "claude").stdout == ""
    assert not (project.state / "unlocked.json").exists()


def test_the_native_host_reads_it_on_standard_error(project):
    write_unlock(str(project.state), 600)
    event = {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "x"}, "session_id": "s"}
    done = project.run("run", stdin=json.dumps(event))
    assert done.stderr.startswith("boathook: self-protection is paused by the person until ")
    assert project.run("run", stdin=json.dumps(event)).stderr == ""
