"""`boathook convert to-hookmd --from`: hooks of every form do the same as HOOK.md hooks, and what cannot be one stays."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from boathook.cli.convert_files import apply_conversion, remove_hook_entries
from boathook.cli.convert_plan import ConversionEnds, ConversionPlan
from boathook.core.event import SPELLINGS
from boathook.errors import ConfigError
from boathook.sources.agent_forms.hook_form import CODEX_FORM, HOOK_FORMS, SETTINGS_FORM, HookForm, find_form
from boathook.sources.conversion import ConvertedFolder
from tests.cli.test_convert import ConvertProject, command, manifest
from tests.scratch_project import ScratchProject
from tests.sources.agent_forms.test_hook_form import BY_NAME, find_path, write_form, write_guard

CALL = {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}, "session_id": "s"}
EVERY_FORM = pytest.mark.parametrize("form", HOOK_FORMS, ids=lambda form: form.source.name)
# What differs from run to run.
_CHANGING = ("timestamp", "generation_id")


@pytest.fixture
def project(project: ScratchProject) -> ConvertProject:
    return ConvertProject(project.base, trust_all=True)


def convert(project: ConvertProject, form: HookForm, *flags: str) -> tuple[int, dict[str, Any]]:
    return project.to_hooks("--from", form.source.without, *flags)


def write_events(project: ConvertProject, form: HookForm, text: str) -> Path:
    """Write a file with one entry for each event of a form, which runs a command with the name of the event."""
    path = find_path(project, form)
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [name for name, row in form.events.items() if row.kind_name in SPELLINGS]
    if form.has_tables:
        tables = [f"[[hooks]]\nevent = {json.dumps(one)}\ncommand = {json.dumps(text + ' ' + one)}\n" for one in names]
        path.write_text("model = 'm'\n\n" + "\n".join(tables))
    else:
        entries = {one: [command(f"{text} {one}")] for one in names}
        groups = {one: found if form.is_flat else [{"hooks": found}] for one, found in entries.items()}
        path.write_text(json.dumps({"theme": "dark", "hooks": groups}, indent=2))
    sources = json.dumps(list(dict.fromkeys(("hook-md", "settings", form.source.without))))
    project.write_hooks_toml("user", f"[hooks]\nsources = {sources}\n")
    return path


def read_events(project: ConvertProject, form: HookForm) -> dict[str, tuple[str, dict[str, Any]]]:
    """Dispatch an event of every kind; return the folder and the input that each hook got, by the event in its command."""
    folder = project.path / "seen"
    for path in folder.glob("*"):
        path.unlink()
    tools = {tool for row in form.events.values() for tool in row.tools} or {"Shell"}
    for kind in dict.fromkeys(row.kind_name for row in (*form.events.values(), *form.failure_events.values())):
        for tool in sorted(tools) if SPELLINGS[kind].has_tool else [""]:
            call = (
                {"tool_name": tool, "tool_input": {"command": "ls", "file_path": "/a", "content": ""}} if tool else {}
            )
            project.dispatch("in process", {"event_type": kind, "session_id": "s", **call}, "--trust-all")
    seen = {}
    for path in sorted(folder.glob("*")):
        cwd, _, text = path.read_text().partition("\n")
        fields = {key: value for key, value in json.loads(text).items() if key not in _CHANGING}
        seen[path.name] = (cwd, fields)
    return seen


@EVERY_FORM
def test_a_converted_hook_gets_what_it_got_before(project: ConvertProject, form: HookForm) -> None:
    folder = project.path / "seen"
    folder.mkdir()
    script = project.path / "record.sh"
    script.write_text(f'{{ pwd; cat; }} > "{folder}/$1-$(date +%N)"\n')
    path = write_events(project, form, f"sh {script}")
    before = read_events(project, form)
    assert {name.partition("-")[0] for name in before} >= {
        name for name, row in form.events.items() if row.kind_name in SPELLINGS
    }
    code, report = convert(project, form, "--move")
    # There it is also the event of a failure, of which HOOK.md hooks get another one.
    unlike = {"PostToolUse"} if form.source.name == "kimi-cli" else set()
    assert ({row["event"] for row in report["hooks"] if row["status"] == "left"}, code) == (unlike, len(unlike)), report
    after = read_events(project, form)
    assert sorted(map(repr, _list_by_event(after))) == sorted(map(repr, _list_by_event(before)))
    assert report["backups"] == [f"{path}.bak-1"]


def _list_by_event(seen: dict[str, tuple[str, dict[str, Any]]]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(name.partition("-")[0], *found) for name, found in seen.items()]


@EVERY_FORM
def test_a_guard_blocks_before_and_after(project: ConvertProject, form: HookForm) -> None:
    write_form(project, form, write_guard(project))
    assert project.dispatch("in process", CALL, "--trust-all")["decision"] == "block"
    before = project.dispatch("in process", CALL, "--trust-all")["reasons"]
    code, report = convert(project, form, "--move")
    assert code == 0, report
    verdict = project.dispatch("in process", CALL, "--trust-all")
    assert (verdict["decision"], verdict["reasons"]) == ("block", before)
    (hook,) = project.list_hooks()
    assert (hook["source"], hook["dialect"]) == ("HOOK.md", form.dialect.name)


@BY_NAME
def test_a_form_that_is_not_enabled_is_converted_as_well(project: ConvertProject, form: HookForm) -> None:
    write_form(project, form, write_guard(project))
    project.write_hooks_toml("user", "")
    assert project.dispatch("in process", CALL, "--trust-all")["decision"] == "none"
    code, report = convert(project, form)
    assert (code, project.dispatch("in process", CALL, "--trust-all")["decision"]) == (0, "block"), report
    assert report["backups"] == []


def test_an_agents_matcher_of_an_event_field_is_kept(project: ConvertProject) -> None:
    path = project.path / ".codex/hooks.json"
    path.parent.mkdir()
    groups = [{"matcher": "startup|resume", "hooks": [command("true")]}]
    path.write_text(json.dumps({"hooks": {"SessionStart": groups}}))
    assert convert(project, CODEX_FORM)[0] == 0
    lines = manifest(project.hooks_folder("project") / "true")
    assert [one for one in lines if one.startswith(("matcher", "  source", "dialect", "trigger"))] == [
        "trigger: SessionStart",
        "matcher:",
        "  source: '^(?:startup|resume)$'",
        "dialect: codex",
    ]


def test_an_event_of_one_tool_keeps_its_name_and_its_tool(project: ConvertProject) -> None:
    entry = {"command": "true", "matcher": "curl|wget", "failClosed": True, "timeout": 7}
    write_form(project, find_form("cursor"), entry, event="beforeShellExecution")
    assert convert(project, find_form("cursor"))[0] == 0
    assert manifest(project.hooks_folder("project") / "true")[2:] == [
        "trigger: beforeShellExecution",
        "matcher:",
        "  tool: '^Shell$'",
        "  pattern: 'curl|wget'",
        "timeout: 7000",
        "on_failure: block",
        "dialect: cursor",
    ]


def test_the_folder_and_the_variables_of_an_entry_are_set_by_the_script(project: ConvertProject) -> None:
    (project.path / "sub").mkdir()
    entry = {"bash": 'echo "$WORD in $(pwd)" >&2; exit 2', "cwd": "sub", "env": {"WORD": "it's"}}
    write_form(project, find_form("copilot"), entry)
    before = project.dispatch("in process", CALL, "--trust-all")["reasons"]
    assert convert(project, find_form("copilot"), "--move")[0] == 0
    assert project.dispatch("in process", CALL, "--trust-all")["reasons"] == before == [f"it's in {project.path}/sub"]


# What stays

CODEX_TOML = """# my settings
model = "gpt"

[[hooks.PreToolUse]]
matcher = "Bash"

[[hooks.PreToolUse.hooks]]
type = "command"
command = "true"

[[hooks.PreToolUse.hooks]]
type = "prompt"
prompt = "Is it safe?"

# the second group
[[hooks.PreToolUse]]
[[hooks.PreToolUse.hooks]]
type = "command"
command = "false"

[hooks.state."x"]
trusted_hash = "sha256:0"

[features]
hooks = true
"""

CODEX_LEFT = """# my settings
model = "gpt"

[[hooks.PreToolUse]]
matcher = "Bash"

[[hooks.PreToolUse.hooks]]
type = "prompt"
prompt = "Is it safe?"

# the second group

[hooks.state."x"]
trusted_hash = "sha256:0"

[features]
hooks = true
"""


def write_toml(project: ConvertProject, text: str) -> Path:
    path = project.path / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_entries_of_toml_are_moved_and_the_rest_of_the_file_stays(project: ConvertProject) -> None:
    path = write_toml(project, CODEX_TOML)
    code, report = convert(project, CODEX_FORM, "--move")
    left = [(row["place"], row["reason"]) for row in report["hooks"] if row["status"] == "left"]
    assert (code, report["from"], report["backups"]) == (1, str(path), [f"{path}.bak-1"])
    assert left == [("hooks.PreToolUse[0].hooks[1]", "disabled: hooks of the type 'prompt' run only in Codex CLI")]
    assert path.read_text() == CODEX_LEFT
    assert (path.parent / "config.toml.bak-1").read_text() == CODEX_TOML


def test_nothing_changes_if_entries_cannot_be_removed_from_toml(project: ConvertProject) -> None:
    write_toml(project, 'hooks = { PreToolUse = [{ hooks = [{ type = "command", command = "true" }] }] }\n')
    before = project.read_files()
    done = project.run("convert", "to-hookmd", "--from", "codex", "--move", "--yes")
    assert (done.returncode, "are not written as tables" in done.stderr, project.read_files()) == (1, True, before)
    assert convert(project, CODEX_FORM)[0] == 0


def test_both_files_of_an_agent_are_converted_or_only_the_one_that_is_named(project: ConvertProject) -> None:
    toml = write_toml(project, '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "true"\n')
    other = toml.with_name("hooks.json")
    other.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [command("false")]}]}}))
    _, report = convert(project, CODEX_FORM, "--dry-run")
    assert (len(report["hooks"]), report["from"]) == (2, str(toml.parent))
    code, report = project.to_hooks("--from", ".codex/config.toml", "--move")
    assert (code, len(report["hooks"]), toml.read_text()) == (0, 1, "")
    assert tomllib.loads((toml.parent / "config.toml.bak-1").read_text())["hooks"]["Stop"]
    code, report = convert(project, CODEX_FORM, "--move")
    assert (code, len(report["hooks"]), json.loads(other.read_text())) == (0, 1, {})


def test_comments_and_other_settings_of_a_file_stay(project: ConvertProject) -> None:
    text = """{
  // my theme
  "theme": "dark",
  "hooks": {
    "BeforeTool": [
      {"hooks": [{"type": "command", "command": "true"}, {"type": "runtime", "name": "x"}]}
    ]
  }
}
"""
    path = project.path / ".gemini/settings.json"
    path.parent.mkdir()
    path.write_text(text)
    code, report = convert(project, find_form("gemini"), "--move")
    assert (code, [row["status"] for row in report["hooks"]]) == (1, ["converted", "left"])
    assert path.read_text() == text.replace('{"type": "command", "command": "true"}, ', "")


@BY_NAME
def test_a_hook_is_left_if_its_folder_exists(project: ConvertProject, form: HookForm) -> None:
    write_form(project, form, write_guard(project))
    folder = project.hooks_folder("project" if form.source.markers else "user")
    folder.mkdir(parents=True)
    folder.joinpath("guard").mkdir()
    before = project.read_files()
    code, report = convert(project, form, "--move")
    assert (code, report["files"], project.read_files()) == (1, [], before)
    assert all("exists already" in row["reason"] for row in report["hooks"])


def test_all_files_are_as_before_if_a_hook_would_not_run(project: ConvertProject) -> None:
    toml = write_toml(project, CODEX_TOML)
    other = toml.with_name("hooks.json")
    other.write_text("{}")
    before = project.read_files()
    ends = ConversionEnds("project", str(project.path), (str(toml), str(other)), str(project.hooks_folder("project")))
    folders = (ConvertedFolder("a", b"", b""),)
    plan = ConversionPlan((), folders, {str(toml): b"", str(other): b"{ }"}, (), (f"{ends.hooks}/a/HOOK.md",))
    with pytest.raises(ConfigError, match="Nothing was changed"):
        apply_conversion(plan, ends, str(project.path))
    assert project.read_files() == before


@BY_NAME
def test_a_dry_run_changes_nothing(project: ConvertProject, form: HookForm) -> None:
    path = write_form(project, form, write_guard(project))
    before = project.read_files()
    code, report = convert(project, form, "--move", "--dry-run")
    assert (code, project.read_files()) == (0, before)
    assert report["files"][-1]["path"] == str(path)


@BY_NAME
def test_what_install_wrote_is_not_converted_and_not_mentioned(project: ConvertProject, form: HookForm) -> None:
    entry = {"type": "command", "command": f"boathook run --host {form.source.host}"}
    path = write_form(project, form, entry)
    before = path.read_bytes()
    code, report = convert(project, form, "--move")
    assert (code, report["hooks"], report["files"], path.read_bytes()) == (0, [], [], before)


MISTAKES = {
    ("--from", "nowhere.json"): "is not a file with hooks that an agent reads",
    ("--from", "codex", "--local"): "--local is for settings.local.json, which Codex CLI does not have",
    ("--from", "copilot"): "there is no file with hooks of Copilot CLI here",
}


@pytest.mark.parametrize("flags", MISTAKES)
def test_a_mistake_in_the_options_is_reported(project: ConvertProject, flags: tuple[str, ...]) -> None:
    done = project.run("convert", "to-hookmd", *flags)
    assert (done.returncode, MISTAKES[flags] in done.stderr) == (1, True), done.stderr


def test_only_settings_json_can_be_written(project: ConvertProject) -> None:
    done = project.run("convert", "to-settings", "--from", "codex")
    assert (done.returncode, "--from is for to-hookmd" in done.stderr) == (1, True), done.stderr


def test_entries_far_from_each_other_are_removed_in_the_right_order(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    groups = [{"hooks": [command(f"a{group}-{index}") for index in range(12)]} for group in range(12)]
    path.write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
    places = [f"hooks.PreToolUse[{group}].hooks[{index}]" for group in range(12) for index in range(12) if group != 10]
    places += [f"hooks.PreToolUse[10].hooks[{index}]" for index in (2, 10, 9)]
    data = json.loads(remove_hook_entries(str(path), SETTINGS_FORM, places))
    (group,) = data["hooks"]["PreToolUse"]
    assert [one["command"] for one in group["hooks"]] == [f"a10-{index}" for index in (0, 1, 3, 4, 5, 6, 7, 8, 11)]
    path.write_text("[")
    with pytest.raises(ConfigError, match="is not valid JSON"):
        remove_hook_entries(str(path), SETTINGS_FORM, places)


@pytest.mark.parametrize("place", [".agents", ".agents/hooks"])
def test_a_file_where_hooks_need_a_folder_is_named_and_nothing_changes(project, place):
    write_form(project, CODEX_FORM, write_guard(project))
    in_the_way = project.path / place
    in_the_way.parent.mkdir(exist_ok=True)
    in_the_way.write_text("mine")
    before = project.read_files()
    done = project.run("convert", "to-hookmd", "--from", "codex", "--move", "--yes")
    why = "it is a file, and hooks need a folder there. Move it away. Nothing was changed"
    assert (done.returncode, done.stderr) == (1, f"boathook: {in_the_way} cannot be written: {why}\n")
    assert project.read_files() == before
