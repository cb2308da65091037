"""A full disk, or folders of the state and the cache that cannot be used: hooks still decide, and what is lost is reported."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from boathook.hosts.host import list_host_names, load_host
from boathook.process.supervisor import HOOK_ENTRY

LOST = "the record is lost"
ALLOWS = 'echo \'{"decision": "allow", "reason": "fine by me"}\''


def _write_hooks(project) -> None:
    shell = "{tool: ^Shell$, pattern: %s}"
    project.write_hook("guard", script="echo no >&2; exit 2", fields={"matcher": shell % "'rm -rf'"})
    project.write_hook("friend", script=ALLOWS, fields={"matcher": shell % "^ls$"})
    project.write_hook("gate", script="echo go on >&2; exit 2", fields={"trigger": "Stop"})
    project.write_hook(
        "local", scope="project", script="echo not here >&2; exit 2", fields={"matcher": shell % "'^make'"}
    )
    assert project.run("trust", "--all", "--yes").returncode == 0


def _fill_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _replace_by_file(folder) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # Private copies are read-only, so only root could delete them in this way.
    folder.rename(f"{folder}-away")
    folder.write_text("not a folder")


def _close(folder) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0)


# What is done to the folders, what is done to the process, and whether trust can still be read.
DAMAGES = {
    "a full disk": (lambda project: None, _fill_disk, True),
    "a full disk, and a cache": (lambda project: _ask(project, "PreToolUse", _call("pwd")), _fill_disk, True),
    "no folder for the cache": (lambda project: _replace_by_file(project.cache), None, True),
    "no folder for the state": (lambda project: _replace_by_file(project.state), None, False),
    "neither": (lambda project: (_replace_by_file(project.cache), _replace_by_file(project.state)), None, False),
}


def _call(command: str) -> dict:
    return {"tool_name": "Bash", "tool_input": {"command": command}}


def _ask(project, event: str, fields: dict, limit=None) -> dict:
    argv = [sys.executable, "-I", "-S", HOOK_ENTRY, "--host", "claude", "--event", event, "--broken", "2"]
    payload = json.dumps({"session_id": "s", "cwd": str(project.path), **fields})
    done = subprocess.run(
        argv,
        input=payload,
        capture_output=True,
        text=True,
        cwd=project.path,
        env=project.environment,
        preexec_fn=limit,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout or "{}")


def _get_decision(answer: dict) -> tuple[str, str]:
    specific = answer.get("hookSpecificOutput", {})
    return specific.get("permissionDecision", ""), specific.get("permissionDecisionReason", "")


def _check(project, limit, *, is_trust_known: bool, is_recorded: bool) -> None:
    blocked = _ask(project, "PreToolUse", _call("rm -rf /"), limit)
    assert _get_decision(blocked) == ("deny", "no")
    assert (LOST in blocked.get("systemMessage", "")) is not is_recorded
    allowed = _ask(project, "PreToolUse", _call("ls"), limit)
    assert _get_decision(allowed) == ("allow", "fine by me")
    assert (LOST in allowed.get("systemMessage", "")) is not is_recorded
    local = _ask(project, "PreToolUse", _call("make x"), limit)
    assert _get_decision(local) == (("deny", "not here") if is_trust_known else ("", ""))
    assert is_trust_known or "hooks of this project did not run: local" in local["systemMessage"]
    assert "decision" not in _ask(project, "UserPromptSubmit", {"prompt": "hello"}, limit)


@pytest.mark.parametrize("damage", DAMAGES)
def test_hooks_decide_and_what_is_lost_is_reported(project, damage):
    _write_hooks(project)
    break_it, limit, is_trust_known = DAMAGES[damage]
    break_it(project)
    _check(project, limit, is_trust_known=is_trust_known, is_recorded=damage == "no folder for the cache")


@pytest.mark.ordinary_user
@pytest.mark.parametrize("names", [("state",), ("cache",), ("state", "cache")], ids="+".join)
def test_hooks_decide_if_folders_are_closed(project, names):
    _write_hooks(project)
    folders = [getattr(project, name) for name in names]
    for folder in folders:
        _close(folder)
    try:
        _check(project, None, is_trust_known="state" not in names, is_recorded="state" not in names)
    finally:
        for folder in folders:
            folder.chmod(0o700)


@pytest.mark.parametrize("damage", ["a full disk", "no folder for the state"])
def test_a_stop_whose_refusals_cannot_be_counted_is_let_through(project, damage):
    _write_hooks(project)
    break_it, limit, _ = DAMAGES[damage]
    break_it(project)
    answer = _ask(project, "Stop", {}, limit)
    assert "decision" not in answer
    message = "the stop is let through, because its refusals cannot be counted; the hook's reason: go on"
    assert message in answer["systemMessage"]


@pytest.mark.parametrize("damage", ["a full disk", "no folder for the state"])
def test_a_stop_that_no_hook_has_refused_yet_according_to_the_agent_is_refused_once(project, damage):
    _write_hooks(project)
    break_it, limit, _ = DAMAGES[damage]
    break_it(project)
    first = _ask(project, "Stop", {"stop_hook_active": False}, limit)
    assert (first["decision"], first["reason"]) == ("block", "go on")
    second = _ask(project, "Stop", {"stop_hook_active": True}, limit)
    assert "decision" not in second
    assert "the stop is let through, because its refusals cannot be counted" in second["systemMessage"]


def test_the_agents_that_mark_refused_stops_are_those_that_were_seen_to():
    fixtures = Path(__file__).parents[1] / "fixtures"
    folders = {
        path.parent.name for path in fixtures.rglob("*.active.json") if '"stop_hook_active": true' in path.read_text()
    }
    seen = {"claude" if name == "claude-code" else name.removesuffix("-pascalcase") for name in folders}
    assert {name for name in list_host_names() if load_host(name).marks_refused_stops} == seen
