"""Guards in the forms of other agents: what they look at is there, under the name they know, whichever agent calls."""

from __future__ import annotations

import json

import pytest

from boathook.core.event import PATCH_TOOL, SPELLINGS, Event
from boathook.core.outcome import Decision
from boathook.core.verdict import AnswerError, Call, Exit
from boathook.dialects.agent_host import AgentHost
from boathook.dialects.dialect import HOOK_DIALECTS, find_hook_dialect
from boathook.hosts.host import load_host
from boathook.sources.agent_forms.hook_form import HOOK_FORMS, KIMI_CLI_FORM, HookForm
from tests.core.builders import a_hook
from tests.scratch_project import ScratchProject

PATCH = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-a\n+b\n*** Add File: .env\n+SECRET\n*** End Patch"
# A guard as people write it: it looks for a file in the field that its agent has for paths, and not at other tools.
FILE_GUARD = """import json, sys
call = json.load(sys.stdin)["tool_input"]
path = call.get("file_path") or call.get("path") or ""
if path.endswith(".env"):
    print("no secrets", file=sys.stderr)
    sys.exit(2)
"""
FORMS_WITHOUT_PATCHES = [form for form in HOOK_FORMS if not form.dialect.knows_patches]
EVENTS = {"gemini": "BeforeTool", "cursor": "preToolUse"}


def write_guard(project: ScratchProject, form: HookForm, matcher: str) -> None:
    name = form.source.name
    project.write_hooks_toml("user", f'[hooks]\nsources = ["hook-md", "settings", "{name}"]\n')
    script = project.base / "guard.py"
    script.write_text(FILE_GUARD)
    entry = {"command": f"python3 {script}", **({"matcher": matcher} if matcher else {})}
    event = EVENTS.get(name, "PreToolUse")
    path = form.list_user_files(f"{project.home}/{form.source.user_folder.default}{form.source.user_folder.below}")[0]
    file = project.home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if form.has_tables:
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in (entry | {"event": event}).items()]
        file.write_text("".join(("[[hooks]]\n", *lines)))
        return
    group = {**entry, "hooks": [{"type": "command", **entry}]}
    file.write_text(json.dumps({"hooks": {event: [entry if form.is_flat else group]}}))


def send(project: ScratchProject, host: str, event: str, payload: dict) -> bool:
    done = project.run("run", "--host", host, event, stdin=json.dumps({**payload, "cwd": str(project.path)}))
    return done.returncode == 2 or '"deny"' in done.stdout


@pytest.mark.one_at_a_time
@pytest.mark.parametrize("form", FORMS_WITHOUT_PATCHES, ids=lambda form: form.source.name)
@pytest.mark.parametrize("matcher", ["", ".*"])
def test_a_guard_for_all_tools_sees_each_file_of_a_patch_if_its_agent_has_no_patches(project, form, matcher):
    write_guard(project, form, matcher)
    call = {"session_id": "s", "tool_name": "apply_patch", "tool_input": {"command": PATCH}}
    assert send(project, "codex", "PreToolUse", call)
    assert not send(project, "codex", "PreToolUse", call | {"tool_input": {"command": PATCH.replace(".env", "a")}})
    by_shell = {"command": f"apply_patch <<'END'\n{PATCH}\nEND"}
    assert send(project, "codex", "PreToolUse", call | {"tool_name": "Bash", "tool_input": by_shell})


@pytest.mark.parametrize("dialect", [row for row in HOOK_DIALECTS.values() if row.host], ids=lambda row: row.name)
def test_the_row_of_a_dialect_knows_whether_its_agent_has_patches(dialect):
    kinds = {kind for kind, _ in load_host(dialect.host).tools.values()}
    assert dialect.knows_patches == (PATCH_TOOL in kinds)


def write_call(form: str, host: str, event: str, tool: str, tool_input: dict) -> dict:
    payload = {"session_id": "s", "cwd": "/p", "hook_event_name": event, "tool_name": tool, "tool_input": tool_input}
    found = AgentHost(host).read_event(json.dumps(payload).encode(), event)
    return json.loads(find_hook_dialect(form).write_event(found, ""))


@pytest.mark.parametrize(
    ("host", "event", "tool"),
    [
        ("gemini", "BeforeTool", "mcp_files_remove"),
        ("vscode", "PreToolUse", "mcp_files_remove"),
        ("droid", "PreToolUse", "files___remove"),
        ("kiro-cli", "PreToolUse", "@files/remove"),
        ("opencode", "pre-tool-call", "files_remove"),
    ],
)
@pytest.mark.parametrize("form", ["codex", "qwen", "kimi"])
def test_a_tool_of_a_server_has_the_name_that_the_guard_knows(form, host, event, tool):
    assert write_call(form, host, event, tool, {"path": "a"})["tool_name"] == "mcp__files__remove"


@pytest.mark.parametrize("tool", ["shell", "execute_bash"])
def test_a_guard_of_codex_knows_every_shell_as_bash(tool):
    written = write_call("codex", "kiro-cli", "PreToolUse", tool, {"command": "rm -rf /"})
    assert (written["tool_name"], written["tool_input"]) == ("Bash", {"command": "rm -rf /"})


def test_a_guard_of_reads_sees_the_files_that_are_read_together():
    written = write_call("cursor", "gemini", "BeforeTool", "read_many_files", {"include": ["a", "/p/.env"]})
    assert written["tool_input"]["file_path"] == "a\n/p/.env"


def read_answer(form: str, trigger: str, end: Exit, **fields: str) -> Decision:
    event = Event(
        SPELLINGS["pre-tool-call"], "", "s", "/p", {}, {"tool_name": "Shell", "tool_input": {"command": "ls"}}
    )
    hook = a_hook("guard", trigger=trigger, **fields)
    return find_hook_dialect(form).read_answer(Call(hook, event), end)[0].decision


@pytest.mark.parametrize("trigger", ["preToolUse", "beforeShellExecution"])
def test_an_answer_that_is_not_json_is_a_failure_of_a_guard_of_cursor_that_fails_closed(trigger):
    end = Exit(0, b"permission: deny")
    with pytest.raises(AnswerError, match="not a JSON object"):
        read_answer("cursor", trigger, end, on_failure="block")
    assert read_answer("cursor", trigger, end) == Decision.NONE
    assert read_answer("cursor", trigger, Exit(0, b""), on_failure="block") == Decision.NONE


@pytest.mark.parametrize(
    ("form", "end"),
    [
        ("cursor", Exit(0, b'{"decision": "deny", "reason": "no"}')),
        ("gemini", Exit(0, json.dumps('{"decision": "deny"}').encode())),
        ("qwen", Exit(0, b"", json.dumps('{"decision": "deny"}').encode())),
    ],
)
def test_every_spelling_of_a_refusal_refuses(form, end):
    assert read_answer(form, EVENTS.get(form, "PreToolUse"), end) == Decision.BLOCK


@pytest.mark.parametrize("source", ["^remove$", "^(Shell|remove)$", "remove"])
def test_a_matcher_of_kimi_cli_finds_the_tool_of_a_server_by_the_name_it_has_there(source):
    pattern = KIMI_CLI_FORM.compile_matcher(source, KIMI_CLI_FORM.events["PreToolUse"])
    assert pattern is not None
    assert pattern.search("mcp__files__remove")
    assert not pattern.search("mcp__files__read")


@pytest.mark.parametrize(
    ("host", "tool", "tool_input"),
    [
        ("claude", "MultiEdit", {"file_path": "a", "edits": [{"old_string": "x", "new_string": "SECRET"}]}),
        ("droid", "MultiEdit", {"file_path": "a", "edits": [{"old_str": "x", "new_str": "SECRET"}]}),
        ("kimi-cli", "StrReplaceFile", {"path": "a", "edit": {"old": "x", "new": "SECRET"}}),
        (
            "kimi-cli",
            "StrReplaceFile",
            {"path": "a", "edit": [{"old": "x", "new": "y"}, {"old": "z", "new": "SECRET"}]},
        ),
    ],
)
@pytest.mark.parametrize(
    ("form", "key"),
    [
        ("codex", "command"),
        ("copilot", "new_str"),
        *((form, "new_string") for form in ("gemini", "qwen", "cursor", "kimi")),
    ],
)
def test_a_guard_of_texts_sees_the_new_text_of_all_edits_of_a_call(form, key, host, tool, tool_input):
    written = write_call(form, host, "PreToolUse", tool, tool_input)
    assert "SECRET" in written.get("tool_input", written.get("toolArgs"))[key]


def test_a_guard_of_texts_sees_what_windsurf_writes():
    info = {"file_path": "a", "edits": [{"old_string": "x", "new_string": "SECRET"}]}
    payload = {"agent_action_name": "pre_write_code", "trajectory_id": "t", "tool_info": info}
    event = AgentHost("windsurf").read_event(json.dumps(payload).encode(), "pre_write_code")
    written = json.loads(find_hook_dialect("cursor").write_event(event, ""))
    assert written["tool_input"]["new_string"] == "SECRET"
    # What the guard would change there has no place in the list.
    answer = {"permission": "allow", "updated_input": {**written["tool_input"], "new_string": "safe"}}
    call = Call(a_hook("guard", trigger="preToolUse"), event)
    outcome, _ = find_hook_dialect("cursor").read_answer(call, Exit(0, json.dumps(answer).encode()))
    assert outcome.decision == Decision.BLOCK
