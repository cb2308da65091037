"""A question that an agent cannot ask, while nothing listens: the person reads what lets the next one wait."""

from __future__ import annotations

import json

import pytest

from tests.permits.waiting_calls import ASK

HINT = (
    "To let the next one wait for your answer, "
    "run `boathook asks --watch`, or `boathook page` and keep it open in a browser, in a terminal of your own."
)


def ask(project, host="codex"):
    event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}
    text = json.dumps({"cwd": str(project.path), "session_id": "s", **event})
    return project.run("run", "--host", host, "PreToolUse", stdin=text)


def test_a_denial_because_nothing_listens_names_what_to_run(project):
    project.write_hook("careful", ASK)
    project.run("install", "codex", "--yes")
    answer = json.loads(ask(project).stdout)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert HINT in answer["systemMessage"]
    # The model reads the reason, and has no terminal for it.
    assert HINT not in answer["hookSpecificOutput"]["permissionDecisionReason"]


@pytest.mark.parametrize("setting", ["host", "deny"])
def test_a_denial_that_a_setting_wants_does_not(project, setting):
    project.write_hook("careful", ASK)
    project.run("install", "codex", "--yes")
    project.write_hooks_toml("user", f'[hooks]\nask = "{setting}"\n')
    done = ask(project)
    assert ('"deny"' in done.stdout, "boathook asks --watch" in done.stdout + done.stderr) == (True, False)


def test_a_denial_of_an_agent_that_does_not_wait_long_enough_does_not(project):
    project.write_hook("careful", ASK)
    # Without an entry of ours, it gives a hook 30 seconds.
    done = ask(project, "kimi-code")
    text = done.stdout + done.stderr
    assert ("denied instead" in text, "boathook asks --watch" in text) == (True, False), text
