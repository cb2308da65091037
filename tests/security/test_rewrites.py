"""A changed input that an agent cannot take never makes the input as it was run: not approved, and not unseen by other guards."""

from __future__ import annotations

import json

import pytest

from boathook.hosts.host import HostEvent, list_host_names, load_host
from tests.scratch_project import ScratchProject

CHANGED = {"command": "echo safe"}


def answer_with(**fields: object) -> str:
    return f"echo '{json.dumps({'modified_input': CHANGED, **fields})}'"


def list_rows(kind: str) -> list[tuple[str, HostEvent]]:
    return [(host, row) for host in list_host_names() for row in load_host(host).events if row.kind_name == kind]


def list_shell_names(host: str) -> list[str]:
    return [name for name, (ours, _) in load_host(host).tools.items() if ours == "Shell"]


def make_call(project: ScratchProject, host: str, row: HostEvent) -> str:
    """Return a call of the host's shell as the host writes it, with `rm -rf /`."""
    shell = row.tool_name or list_shell_names(host)[0]
    if row.input_keys:
        return json.dumps({"cwd": str(project.path), "command": "rm -rf /"})
    renames = load_host(host).tools[shell][1]
    key = next((theirs for theirs, ours in renames if ours == "command"), "command")
    value: object = ["rm -rf /"] if key.endswith("[]") else "rm -rf /"
    call = {"tool_name": shell, "tool_input": {key.removesuffix("[]"): value}}
    places = {ours: theirs for theirs, ours in reversed(row.renames) if ours in call}
    fields: dict[str, object] = {"cwd": str(project.path), "session_id": "s"}
    for ours, content in call.items():
        *outer, last = places.get(ours, ours).split(".")
        inner: dict[str, object] = fields
        for name in outer:
            inner = inner.setdefault(name, {})  # type: ignore[assignment]
        inner[last] = content
    if row.tool_name:
        fields.pop("tool_name")
    return json.dumps(fields)


def run_call(project: ScratchProject, host: str, row: HostEvent) -> tuple[int, str]:
    done = project.run("run", "--host", host, "--event", row.name, stdin=make_call(project, host, row))
    return done.returncode, done.stdout + done.stderr


def is_approval(row: HostEvent, output: str) -> bool:
    words = [f'"{place.rpartition(".")[2]}": "{value}"' for place, value in row.allow if value != "$"]
    return bool(words) and all(word in output for word in words)


def is_shell_event(host: str, row: HostEvent) -> bool:
    return not row.tool_name or row.tool_name in list_shell_names(host)


ROWS = [
    pytest.param(host, row, id=f"{host} {row.name}")
    for kind in ("pre-tool-call", "permission-request")
    for host, row in list_rows(kind)
    if is_shell_event(host, row) and list_shell_names(host)
]


@pytest.mark.parametrize(("host", "row"), ROWS)
def test_an_approval_of_another_input_never_approves_the_one_that_came(project, host, row):
    project.write_hook("change", answer_with(decision="allow"), fields={"trigger": row.kind_name})
    code, output = run_call(project, host, row)
    if row.input:
        assert "echo safe" in output
        assert "rm -rf /" not in output
        return
    assert not is_approval(row, output)
    assert "a hook changed the input, which" in output
    if row.block:
        assert "echo safe" in output
        assert code == dict(row.block).get("exit", 0)
        assert "refused instead" in output


@pytest.mark.parametrize(
    ("host", "row"), [case for case in ROWS if case.values[1].kind_name == "pre-tool-call" and not case.values[1].input]
)
def test_a_change_without_an_opinion_does_not_let_the_old_input_past_a_later_guard(project, host, row):
    project.write_hook("change", answer_with(), fields={"trigger": "pre-tool-call", "priority": 900})
    guard = "grep -q 'rm -rf' && { echo no >&2; exit 2; }; exit 0"
    project.write_hook("guard", guard, fields={"trigger": "pre-tool-call"})
    _, output = run_call(project, host, row)
    assert "refused instead, with the new input as the reason" in output
    assert "echo safe" in output


def test_a_change_without_an_opinion_leaves_a_permission_to_the_person(project):
    project.write_hook("change", answer_with(), fields={"trigger": "permission-request"})
    row = load_host("codex").find_event("PermissionRequest")
    assert row is not None
    code, output = run_call(project, "codex", row)
    message = "a hook changed the input, which Codex CLI cannot take at PermissionRequest"
    assert (code, json.loads(output)) == (0, {"systemMessage": message})


def test_a_question_about_another_input_is_refused_where_the_person_would_be_asked_about_the_old_one(project):
    project.write_hook("change", answer_with(decision="ask", reason="sure?"), fields={"trigger": "pre-tool-call"})
    row = load_host("qwen").find_event("PreToolUse")
    assert row is not None
    _, output = run_call(project, "qwen", row)
    answer = json.loads(output)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "deny"
    assert answer["permissionDecisionReason"].startswith("sure?\na hook wants another input")


def test_the_reason_names_the_new_input_under_the_hosts_own_keys(project):
    changed = 'echo \'{"modified_input": {"file_path": "/p/safe", "content": "A"}}\''
    project.write_hook("change", changed, fields={"trigger": "pre-tool-call"})
    call = {"tool_name": "Write", "tool_input": {"path": "/p/.env", "content": "A"}, "cwd": str(project.path)}
    done = project.run("run", "--host", "kimi-code", "--event", "PreToolUse", stdin=json.dumps(call))
    reason = json.loads(done.stdout)["hookSpecificOutput"]["permissionDecisionReason"]
    assert reason.endswith('call the tool with {"path": "/p/safe", "content": "A"}')
