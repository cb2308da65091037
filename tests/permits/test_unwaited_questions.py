"""Questions of hooks where no tool call waits: what may not be left to the agent, or to a program, is blocked."""

from __future__ import annotations

import json

from boathook import Hooks, ToolCall
from tests.permits.waiting_calls import ASK

TASK = {"hook_event_name": "PreToolUse", "tool_name": "Task", "tool_input": {"subagent_type": "x", "prompt": "y"}}
DENY = '"permissionDecision": "deny"'


def write_asking_hook(project, event, **fields):
    project.write_hook("careful", ASK, fields={"trigger": event, **fields})


def run_event(project, event, *flags):
    return project.run("run", "--host", "claude", *flags, stdin=json.dumps({"cwd": str(project.path), **event}))


def test_a_question_about_a_subagent_that_wants_a_second_factor_is_a_block(project):
    write_asking_hook(project, "pre-subagent", ask="strong")
    for setting in ("", "host", "wait", "deny"):
        project.write_hooks_toml("user", f'[hooks]\nask = "{setting}"\n' if setting else "")
        end = run_event(project, TASK)
        assert DENY in end.stdout, (setting, end)
        assert "'careful' has `ask: strong`, and no second factor can be asked for at pre-subagent." in end.stdout


def test_a_setting_denies_questions_about_subagents(project):
    write_asking_hook(project, "pre-subagent")
    assert '"permissionDecision": "ask"' in run_event(project, TASK).stdout
    project.write_hooks_toml("user", '[hooks]\nask = "deny"\n')
    end = run_event(project, TASK)
    assert DENY in end.stdout, end
    assert "Your hooks.toml denies what hooks want to ask a person about." in end.stdout


def test_a_permission_request_is_blocked_if_a_hook_wants_a_second_factor(project):
    event = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}
    write_asking_hook(project, "permission-request", ask="strong")
    verdict = json.loads(run_event(project, event, "--json").stdout)
    assert verdict["decision"] == "block"
    assert "no second factor can be asked for at permission-request" in verdict["reasons"][1]


def test_a_program_cannot_answer_a_hook_that_wants_a_second_factor(project):
    write_asking_hook(project, "pre-tool-call", ask="strong")
    asked = []
    hooks = Hooks(ask=lambda *about: asked.append(about) or True)
    with hooks.load(project.path):
        outcome = hooks.run().before(ToolCall("bash", {"cmd": "ls"}))
    assert (outcome.is_blocked, asked) == (True, [])
    assert "no second factor can be asked for in this program" in outcome.text


def test_a_program_cannot_answer_if_the_setting_denies_questions(project):
    write_asking_hook(project, "pre-tool-call")
    project.write_hooks_toml("user", '[hooks]\nask = "deny"\n')
    hooks = Hooks(ask=lambda *_: True)
    with hooks.load(project.path):
        assert hooks.run().before(ToolCall("bash", {"cmd": "ls"})).is_blocked


def test_check_warns_about_a_second_factor_where_a_question_can_only_block(project):
    for event, warning in (
        ("pre-tool-call", ""),
        ("pre-subagent", "a question of this hook only blocks"),
        ("post-tool-call", "it has no effect at post-tool-call"),
    ):
        write_asking_hook(project, event, ask="strong")
        text = project.run("check").stdout
        assert ("'ask: strong':" in text) == bool(warning), text
        assert warning in text.replace("\n", " ")
