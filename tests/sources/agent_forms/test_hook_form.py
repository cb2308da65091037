"""Every form of hook files, through every command: trusted, listed, explained, examined, replayed and checked like all others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from boathook.assembly import load_catalog
from boathook.core.matcher import TOOL_NAME
from boathook.hosts.claude_events import HookEvent
from boathook.hosts.host import load_host
from boathook.sources.agent_forms.form_guess import guess_form
from boathook.sources.agent_forms.hook_form import HOOK_FORMS, SETTINGS_FORM, HookForm, find_form, find_form_of_file
from boathook.sources.agent_forms.hook_text import blank_comments, parse_toml_text
from boathook.sources.checker import check_path, check_settings
from boathook.sources.settings_json.settings_file import read_settings
from boathook.sources.source import SOURCES
from tests.growth import grows_in_proportion

FORMS = [form for form in HOOK_FORMS if form is not SETTINGS_FORM]
BY_NAME = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.source.name)
IN_PROJECTS = pytest.mark.parametrize(
    "form", [form for form in FORMS if form.source.markers], ids=lambda form: form.source.name
)
TOOL_EVENT = HookEvent("event", "pre-tool-call", TOOL_NAME)
CALL = {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}, "session_id": "s"}


def find_call_event(form: HookForm) -> str:
    return next(name for name, row in form.events.items() if row.kind_name == "pre-tool-call")


def write_form(project, form: HookForm, *entries: dict, event: str = "") -> Path:
    """Write the file of a project (or the user's, if there is no other) with some entries, and enable its form."""
    path = find_path(project, form)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(write_entries(form, event or find_call_event(form), entries))
    names = '"hook-md", "settings", ' + json.dumps(form.source.without)
    project.write_hooks_toml("user", f"[hooks]\nsources = [{names}]\n")
    return path


def find_path(project, form: HookForm) -> Path:
    if not form.source.markers:
        return Path(f"{project.home}/{form.source.user_folder.default}/{form.user_names[0]}")
    return Path(f"{project.path}{form.source.markers[0]}{'/guards.json' if form.lists_folder else ''}")


def write_entries(form: HookForm, event: str, entries: Sequence[dict]) -> str:
    if form.has_tables:
        tables = [{"event": event, **{key: value for key, value in one.items() if key != "type"}} for one in entries]
        lines = [["[[hooks]]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())] for table in tables]
        return "\n".join(line for table in lines for line in table) + "\n"
    items = list(entries) if form.is_flat else [{"hooks": list(entries)}]
    return json.dumps({"hooks": {event: items}})


def write_guard(project, text: str = "echo no >&2; exit 2") -> dict:
    """Write a script of the project and return the entry that runs it."""
    script = project.path / "tools/guard.sh"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return {"type": "command", "command": "sh tools/guard.sh"}


def write_own_command(project, form: HookForm, text: str = "echo no >&2; exit 2") -> dict:
    """Return an entry of a form that has none in projects, or one that runs a script of the project."""
    return write_guard(project, text) if form.source.markers else {"type": "command", "command": text}


def run_json(project, *arguments: str) -> dict:
    done = project.run(*arguments, "--json")
    return json.loads(done.stdout)


@IN_PROJECTS
def test_a_script_that_a_command_runs_is_trusted_with_it(project, form):
    write_form(project, form, write_guard(project))
    assert [hook["state"] for hook in project.list_hooks()] == ["untrusted"]
    project.trust()
    assert [hook["state"] for hook in project.list_hooks()] == ["armed"]
    assert project.dispatch(event=CALL)["decision"] == "block"
    write_guard(project, "exit 0")
    assert [hook["state"] for hook in project.list_hooks()] == ["modified"]


@IN_PROJECTS
def test_a_trusted_hook_that_disappears_is_missed(project, form):
    path = write_form(project, form, write_guard(project))
    project.trust()
    path.write_text("{}")
    assert [hook["state"] for hook in project.list_hooks()] == ["not in this checkout"]


@BY_NAME
def test_its_hooks_are_listed_with_their_source(project, form):
    write_form(project, form, write_own_command(project, form))
    project.write_hook("other")
    (hook,) = [hook for hook in project.list_hooks() if hook["source"] != "HOOK.md"]
    assert (hook["source"], hook["dialect"]) == (form.source.name, form.dialect.name)
    lines = project.run("list").stdout.splitlines()
    assert "SOURCE" in lines[0]
    assert any(f"  {form.source.name} " in line for line in lines)


@BY_NAME
def test_its_hooks_are_explained_and_examined(project, form):
    write_form(project, form, write_own_command(project, form))
    project.trust()
    explained = run_json(project, "explain", "pre-tool-call", "--tool", "Shell", "--input", '{"command": "ls"}')
    assert [row["would_run"] for row in explained["hooks"]] == [True]
    (health,) = run_json(project, "doctor")["hooks"]
    assert health["hook"] == explained["hooks"][0]["hook"]


@BY_NAME
def test_its_runs_are_recorded_and_can_be_replayed(project, form):
    project.write_hooks_toml("user", "")
    write_form(project, form, write_own_command(project, form))
    config = project.config / "hooks.toml"
    config.write_text(config.read_text() + 'record = "whole"\n')
    project.trust()
    assert project.dispatch("by command", CALL)["decision"] == "block"
    (name,) = [hook["name"] for hook in project.list_hooks()]
    assert name in project.run("log").stdout
    assert run_json(project, "replay", "--unconfined")["replayed"] == 1


@BY_NAME
def test_its_hooks_are_left_out_of_the_command_of_their_agent(project, form):
    write_form(project, form, write_own_command(project, form))
    project.trust()
    assert project.dispatch("by command", CALL, "--without", form.source.without)["runs"] == []
    assert len(project.dispatch("by command", CALL)["runs"]) == 1


@BY_NAME
def test_a_file_of_the_form_can_be_checked(project, form):
    path = write_form(project, form, {"type": "command", "command": "exit 1"}, {"type": "command", "comand": "x"})
    messages = [found["message"] for found in run_json(project, "check", str(path))["diagnostics"]]
    assert f"'{form.command_keys[0]}' is missing" in messages
    if form.source.markers:
        found = run_json(project, "check", str(project.path))["diagnostics"]
        assert messages == [one["message"] for one in found]


@BY_NAME
def test_the_command_that_calls_boathook_is_not_a_hook(project, form):
    scope = ("--project",) if form.source.markers else ()
    assert project.run("install", form.source.host, *scope, "--yes").returncode == 0
    names = '"hook-md", "settings", ' + json.dumps(form.source.without)
    project.write_hooks_toml("user", f"[hooks]\nsources = [{names}]\n")
    assert {hook["state"] for hook in project.list_hooks()} == {"disabled"}
    assert "There are no other hooks" in project.run("list").stdout


@BY_NAME
def test_a_matcher_of_a_tool_means_the_same_tool_of_other_agents(form):
    host = load_host(form.source.host)
    for name, (ours, _) in host.tools.items():
        pattern = form.compile_matcher(name, TOOL_EVENT)
        assert pattern is not None
        assert pattern.search(name)
        assert pattern.display_text == name
        assert pattern.search(ours) or name in host.own.special_tools


@BY_NAME
def test_a_matcher_of_something_else_is_not_about_tools(form):
    pattern = form.compile_matcher("startup", TOOL_EVENT.replace(subject="source"))
    assert pattern is not None
    assert (pattern.search("startup"), pattern.search("Shell")) == (True, False)
    assert form.compile_matcher(" * ", TOOL_EVENT) is None


@BY_NAME
def test_a_form_is_found_by_its_source_and_by_its_files(form):
    assert find_form(form.source.name) is form
    paths = [f"/p{marker}{'/x.json' if form.lists_folder else ''}" for marker in form.source.markers]
    folder = form.source.user_folder
    names = form.user_names or [path.rpartition(form.source.project_folder)[2][1:] for path in paths]
    paths += [f"/home/user/{folder.default}{folder.below}/{name}".replace("//", "/") for name in names]
    assert [find_form_of_file(path) for path in paths] == [form] * len(paths)


def test_every_source_of_an_agent_has_a_form():
    assert {form.source for form in HOOK_FORMS} == {source for source in SOURCES if source.host}
    assert find_form_of_file("/p/package.json") is None
    assert find_form("HOOK.md") is SETTINGS_FORM


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1} // x', {"a": 1}),
        ('/* x\n*/{"a": "// no /* no */"}', {"a": "// no /* no */"}),
        ('{"a": "\\"// no"} /* open', {"a": '"// no'}),
    ],
)
def test_comments_do_not_belong_to_the_json(text, expected):
    blank = blank_comments(text)
    assert (json.loads(blank), len(blank)) == (expected, len(text))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a = [", "not valid TOML"),
        (".".join("a" * 100) + " = 1", "more than 32 dots"),
        ("a = " + "[" * 5000, "nested too deep"),
    ],
)
def test_toml_that_cannot_be_read_is_an_error(text, error):
    data, message = parse_toml_text(text)
    assert data == {}
    assert error in message


@pytest.mark.parametrize(
    "form",
    [form for form in FORMS if any(field.key == "env" for field in form.entry_fields["command"])],
    ids=lambda form: form.source.name,
)
def test_a_variable_of_an_entry_does_not_lead_into_the_project(project, form):
    command = 'echo "${WHERE:-nowhere} ${WHO:-nobody}" >&2; exit 2'
    variables = {"WHERE": str(project.path / "lib"), "WHO": "me"}
    write_form(project, form, {"type": "command", "command": command, "env": variables})
    project.trust()
    assert project.dispatch(event=CALL)["reasons"] == ["nowhere me"]


@pytest.mark.parametrize(
    "form",
    [form for form in FORMS if form.source.markers and form.source.user_folder.variable],
    ids=lambda form: form.source.name,
)
def test_a_variable_that_leads_into_the_project_does_not_move_the_users_folder(project, form, monkeypatch):
    write_form(project, form, write_guard(project))
    folder = form.source.user_folder
    monkeypatch.setenv(
        folder.variable.decode(), f"{project.path}{form.source.project_folder}".removesuffix(folder.below)
    )
    catalog = load_catalog()
    assert [(hook.scope, hook.state) for hook in catalog.hooks] == [("project", "untrusted")]
    assert ["inside a project" in one.message for one in catalog.diagnostics] == [True]


def test_text_without_an_end_is_read_once():
    assert grows_in_proportion(lambda size: blank_comments('\\"' * size), 500)


# Messages about a command or a script that hold in one agent and not in another: how it ends, and the forms that get one.
EXITS = (
    ("echo no >&2; exit 1", "exit 1 is a failure and does not block", {"copilot"}),
    ("if true; then echo no; exit 2; fi", "the reason of exit 2 is written to stdout", {"gemini", "qwen"}),
)


@pytest.mark.parametrize(("command", "message", "without"), EXITS)
def test_check_knows_which_ends_refuse_in_an_agent(tmp_path, command, message, without):
    reported = set()
    for form in FORMS:
        path = tmp_path / form.source.name / (form.user_names[0] if form.has_tables else "hooks.json")
        path.parent.mkdir()
        path.write_text(write_entries(form, find_call_event(form), [{"type": "command", "command": command}]))
        file = read_settings(str(path), "user", source=form.source.name, form=form)
        if any(message in one.message for one in check_settings([file])):
            reported.add(form.source.name)
    assert reported == {form.source.name for form in FORMS} - without


@BY_NAME
def test_a_misspelled_key_is_named_where_the_right_one_is_missing(tmp_path, form):
    if form.command_keys != ("command",):
        return
    path = tmp_path / (form.user_names[0] if form.has_tables else "hooks.json")
    path.write_text(write_entries(form, find_call_event(form), [{"type": "command", "comand": "x"}]))
    (hook,) = read_settings(str(path), "user", source=form.source.name, form=form).hooks
    assert [one.fix for one in hook.diagnostics] == ["unknown key 'comand': did you mean 'command'?"]


def test_a_file_that_no_agent_reads_is_checked_in_the_form_that_it_looks_like(tmp_path):
    entries = {"copilot": {"bash": "true", "timeoutSec": 5}, "cursor": {"command": "true", "failClosed": True}}
    for form in (form for form in HOOK_FORMS if not form.has_tables):
        entry = entries.get(form.source.name, {"type": "command", "command": "true"})
        path = tmp_path / f"{form.source.name}-mine.json"
        path.write_text(write_entries(form, find_call_event(form), [entry]))
        # Some have the same events and keys as settings.json.
        expected = form if form.source.name in ("gemini", "cursor", "copilot") else SETTINGS_FORM
        assert guess_form(str(path)) is expected
        (problem,) = check_path(str(path))
        belongs = expected.source.markers[0].removeprefix("/")
        assert problem.message.startswith("nothing loads this file, so none of its hooks runs")
        assert belongs in problem.fix


@pytest.mark.parametrize("text", ["", "{", "[]", '{"hooks": []}', '{"hooks": {"a": 1, "b": [1, {"hooks": 2}]}}'])
def test_a_file_of_another_shape_is_taken_for_settings(tmp_path, text):
    (tmp_path / "mine.json").write_text(text)
    assert guess_form(f"{tmp_path}/mine.json") is SETTINGS_FORM
    assert guess_form(f"{tmp_path}/none.json") is SETTINGS_FORM
