"""Entries directly below an event (Cursor, Copilot) and entries that name their event (Kimi)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.assembly import load_catalog, locate
from boathook.core.hook import ARMED, INVALID, PROJECT, USER, Command, Hook
from boathook.protection.protected_places import find_protection
from boathook.sources.agent_forms.hook_form import (
    COPILOT_FORM,
    CURSOR_FORM,
    KIMI_CLI_FORM,
    KIMI_FORM,
    MAX_FILES,
    HookForm,
)
from boathook.sources.settings_json.settings_file import SettingsFile, read_settings

SHELL_CALL = {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}, "session_id": "s"}


def read(tmp_path: Path, form: HookForm, events: dict, scope: str = PROJECT) -> SettingsFile:
    path = tmp_path / "hooks.json"
    path.write_text(json.dumps({"hooks": events}))
    return read_settings(str(path), scope, source=form.source.name, form=form)


def read_one(tmp_path: Path, form: HookForm, event: str, entry: dict, scope: str = PROJECT) -> Hook:
    (hook,) = read(tmp_path, form, {event: [entry]}, scope).hooks
    return hook


def enable(project, *names: str) -> None:
    listed = ", ".join(json.dumps(name) for name in ("hook-md", "settings", *names))
    project.write_hooks_toml("user", f"[hooks]\nsources = [{listed}]\n")


def list_messages(hook: Hook) -> list[str]:
    return [one.message for one in hook.diagnostics]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "'command' is missing"),
        ({"command": 5}, "'command' must be text that is not empty and has no NUL character, not 5"),
        ({"command": "x", "type": "magic"}, "'type' must be command, not 'magic'"),
        ({"command": "x", "matcher": 5}, "'matcher' must be text, not 5"),
        ({"command": "x", "matcher": "("}, "does not compile"),
    ],
)
def test_an_entry_of_cursor_that_cannot_be_used_is_one_invalid_hook(tmp_path, entry, message):
    file = read(tmp_path, CURSOR_FORM, {"preToolUse": [entry, {"command": "y"}]})
    assert [hook.state for hook in file.hooks] == [INVALID, ARMED]
    assert message in list_messages(file.hooks[0])[0]
    assert file.hooks[0].diagnostics[0].key == "hooks.preToolUse[0]"


@pytest.mark.parametrize(
    ("event", "entry", "message"),
    [
        ("stop", {"loop_limit": 3}, "'loop_limit' has no effect here"),
        ("beforeReadFile", {}, "'content' is empty here"),
        ("beforeReadFile", {"matcher": "TabRead"}, "is for another tool than beforeReadFile: the hook never runs"),
        ("stop", {"matcher": "x"}, "stop has no matcher"),
        ("preToolUse", {"timeout": 5000}, "'timeout' is in seconds: 5000 is more than 600"),
        ("preToolUse", {"comand": "x"}, "unknown key 'comand'"),
        ("preToolUse", {"failClosed": "yes"}, "'failClosed' must be true or false"),
    ],
)
def test_a_wish_of_an_entry_of_cursor_that_we_cannot_fulfil_is_reported(tmp_path, event, entry, message):
    hook = read_one(tmp_path, CURSOR_FORM, event, {"command": "x", **entry})
    assert any(message in text for text in list_messages(hook))


def test_a_loop_limit_of_null_is_not_worth_a_message(tmp_path):
    assert list_messages(read_one(tmp_path, CURSOR_FORM, "stop", {"command": "x", "loop_limit": None})) == []


@pytest.mark.parametrize(("value", "expected"), [(True, "block"), (False, "allow"), ("yes", "block")])
def test_fail_closed_is_what_a_failure_does(tmp_path, value, expected):
    hook = read_one(tmp_path, CURSOR_FORM, "preToolUse", {"command": "x", "failClosed": value})
    assert hook.on_failure == expected


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ({"bash": "a", "command": "b"}, "a"),
        ({"command": "b"}, "b"),
        ({"bash": "a", "powershell": "c"}, "a"),
    ],
)
def test_copilot_has_several_keys_for_a_command(tmp_path, entry, line):
    handler = read_one(tmp_path, COPILOT_FORM, "preToolUse", entry).handler
    assert isinstance(handler, Command)
    assert handler.text == line


def test_an_entry_for_powershell_alone_is_invalid(tmp_path):
    hook = read_one(tmp_path, COPILOT_FORM, "preToolUse", {"powershell": "c"})
    assert (hook.state, list_messages(hook)) == (INVALID, ["it has only a command for powershell"])


def test_only_so_many_files_of_a_folder_are_read(tmp_path):
    folder = tmp_path / ".github/hooks"
    folder.mkdir(parents=True)
    for number in range(MAX_FILES + 5):
        (folder / f"{number:04}.json").write_text("{}")
    (folder / ".hidden.json").write_text("{}")
    (folder / "notes.md").write_text("")
    files = COPILOT_FORM.list_project_files(str(tmp_path))
    assert (len(files), os.path.basename(files[0])) == (MAX_FILES, "0000.json")


def test_a_new_file_of_the_folder_counts_at_once(project):
    enable(project, "copilot")
    folder = project.path / ".github/hooks"
    folder.mkdir(parents=True)
    text = json.dumps({"hooks": {"preToolUse": [{"bash": "echo no >&2; exit 2"}]}})
    assert project.dispatch("by command", SHELL_CALL, "--trust-all")["decision"] == "none"
    (folder / "later.json").write_text(text)
    assert project.dispatch("by command", SHELL_CALL, "--trust-all")["decision"] == "block"
    (folder / "later.json").unlink()
    assert project.dispatch("by command", SHELL_CALL, "--trust-all")["decision"] == "none"


def test_trust_covers_a_script_in_the_folder_that_the_entry_names(project):
    enable(project, "copilot")
    folder = project.path / ".github/hooks"
    folder.mkdir(parents=True)
    entry = {"bash": "sh guard.sh", "cwd": "tools"}
    (folder / "guards.json").write_text(json.dumps({"hooks": {"preToolUse": [entry]}}))
    script = project.path / "tools/guard.sh"
    script.parent.mkdir()
    script.write_text("echo no >&2; exit 2\n")
    review = project.run("trust", "--all", "--yes")
    assert "runs in   tools, from the folder of the project" in review.stdout
    assert project.dispatch(event=SHELL_CALL)["decision"] == "block"
    script.write_text("exit 0\n")
    assert [hook["state"] for hook in project.list_hooks()] == ["modified"]


def test_a_script_beside_the_files_of_copilot_is_trusted_alone(project):
    enable(project, "copilot")
    folder = project.path / ".github/hooks"
    folder.mkdir(parents=True)
    entry = {"bash": "sh .github/hooks/guard.sh"}
    (folder / "guards.json").write_text(json.dumps({"hooks": {"preToolUse": [entry]}}))
    (folder / "guard.sh").write_text("echo no >&2; exit 2\n")
    project.trust()
    (folder / "other.json").write_text("{}")
    assert [hook["state"] for hook in project.list_hooks()] == ["armed"]


def test_values_of_variables_are_shown_for_review_and_nowhere_else(project):
    enable(project, "copilot")
    folder = project.path / ".github/hooks"
    folder.mkdir(parents=True)
    entry = {"bash": "true", "env": {"TOKEN": "hidden-value"}}
    (folder / "guards.json").write_text(json.dumps({"hooks": {"preToolUse": [entry]}}))
    assert "hidden-value" not in project.run("list", "--json").stdout
    assert "TOKEN=hidden-value" in project.run("trust", "--all", "--yes").stdout


def test_the_users_files_of_these_forms_are_protected_once_they_are_enabled(project):
    enable(project, "cursor", "copilot", "kimi", "kimi-cli")
    places = {place.path for place in find_protection(locate(), ())[0].places}
    expected = (".cursor/hooks.json", ".copilot/hooks", ".kimi-code/config.toml", ".kimi/config.toml")
    assert {f"{project.home}/{name}" for name in expected} <= places


def test_hooks_of_kimi_code_and_kimi_cli_have_different_sources(project):
    enable(project, "kimi", "kimi-cli")
    for form, matcher in ((KIMI_FORM, "Bash"), (KIMI_CLI_FORM, "Shell")):
        folder = project.home / form.source.user_folder.default
        folder.mkdir()
        table = f'[[hooks]]\nevent = "PreToolUse"\nmatcher = "{matcher}"\ncommand = "true {matcher}"\n'
        (folder / "config.toml").write_text(table)
    hooks = load_catalog().hooks
    assert {(hook.source, hook.dialect.host, hook.scope) for hook in hooks} == {
        ("kimi", "kimi-code", USER),
        ("kimi-cli", "kimi-cli", USER),
    }


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ('[[hooks]]\ncommand = "x"\n', "'event' is missing: the hook never runs", 1),
        ("[[hooks]]\nevent = 5\n", "'event' must be text, not a number: the hook never runs", 2),
        ('\n[[hooks]]\nevent = "PreTooluse"\n', "there is no event 'PreTooluse': its hooks never run", 3),
        ('[[hooks]]\nevent = "Stop"\n', "'command' is missing", 1),
        ('[[hooks]]\nevent = "Interrupt"\ncommand = "x"\n', "boathook has no event like Interrupt", 2),
    ],
)
def test_a_table_of_kimi_that_cannot_be_used_is_reported_with_its_line(project, text, message, line):
    path = project.home / ".kimi-code/config.toml"
    path.parent.mkdir()
    path.write_text(text)
    project.write_hooks_toml("user", '[hooks]\nsources = ["hook-md", "settings", "kimi"]\n')
    found = json.loads(project.run("check", str(path), "--json").stdout)["diagnostics"]
    assert [(one["message"].startswith(message), one["line"]) for one in found] == [(True, line)]


@given(
    entries=st.lists(
        st.fixed_dictionaries(
            {"command": st.text("abc", min_size=1)},
            optional={
                "matcher": st.sampled_from(["Shell", "Write|Read", "*", ""]),
                "timeout": st.integers(1, 600),
                "failClosed": st.booleans(),
            },
        ),
        max_size=4,
    )
)
def test_what_both_sides_can_express_is_read_as_it_was_written(tmp_path_factory, entries):
    hooks = read(tmp_path_factory.mktemp("form"), CURSOR_FORM, {"preToolUse": entries}, USER).hooks
    for hook, entry in zip(hooks, entries, strict=True):
        assert isinstance(hook.handler, Command)
        pattern = hook.matcher.tool
        written = {
            "command": hook.handler.text,
            "matcher": pattern.display_text if pattern else "",
            "timeout": hook.timeout,
            "failClosed": hook.on_failure == "block",
        }
        matcher = entry.get("matcher", "")
        expected = {"timeout": 60, "failClosed": False, **entry, "matcher": "" if matcher == "*" else matcher}
        assert written == expected


def test_a_folder_of_too_many_files_is_reported(project):
    folder = project.path / ".github/hooks"
    folder.mkdir(parents=True)
    for number in range(MAX_FILES + 1):
        (folder / f"{number:03}.json").write_text('{"hooks": {"preToolUse": [{"bash": "true"}]}}')
    project.write_hooks_toml("user", '[hooks]\nsources = ["hook-md", "settings", "copilot"]\n')
    catalog = load_catalog(trust_all=True)
    assert len({hook.path for hook in catalog.hooks}) == MAX_FILES
    assert [(one.path, one.message) for one in catalog.diagnostics] == [
        (str(folder), "only 100 of its 101 files are read")
    ]
