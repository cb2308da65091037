"""Which sources are read: the user's hooks.toml decides, and a compiled catalogue never outlives that decision."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from boathook.assembly import load_catalog, load_with_trust, locate
from boathook.catalog_cache.format import load_compiled
from boathook.catalog_cache.write import write_compiled
from boathook.cli.commands import cli
from boathook.core.hook import ERROR, USER
from boathook.entry.fast_path import find_answer
from boathook.entry.options import parse_options
from boathook.hosts.setup import load_setup
from boathook.install.command_line import make_command_line
from boathook.install.host_files import make_call_context, resolve_install_target
from boathook.protection.protected_places import find_protection
from boathook.sources.hooks_toml import HooksConfig, read_hooks_toml
from boathook.sources.source import SOURCES, choose_sources, list_default_sources
from boathook.system.locations import read_environment, resolve_folder, resolve_locations
from tests.output_validation import validate_output

GUARD = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2"}]}]}}
ALL = 'sources = ["hook-md", "settings", "codex"]'


@pytest.fixture
def codex(project):
    folder = project.path / ".codex"
    folder.mkdir()
    (folder / "hooks.json").write_text(json.dumps(GUARD))
    project.config.mkdir(parents=True, exist_ok=True)
    return project


def write_config(project, text: str) -> None:
    path = project.config / "hooks.toml"
    path.write_text(text)
    age(path)


def read_config(project, text: str) -> HooksConfig:
    write_config(project, text)
    return read_hooks_toml(f"{project.config}/hooks.toml", USER)


def age(*paths: Path) -> None:
    """Let files look as if they had not changed for a while; what was written just now is not kept."""
    for path in paths:
        os.utime(path, (time.time() - 60,) * 2)


def list_sources() -> list[str]:
    return [hook.source for hook in load_catalog(trust_all=True).hooks]


def keep() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("boathook.catalog_cache.write.RACY_SECONDS", -60.0)
        locations = locate(trust_all=True)
        loaded, _ = load_with_trust(locations)
        assert write_compiled(loaded.catalog, loaded.watch, locations, time.time())


def answer(tool: str) -> bytes | None:
    call = {"event_type": "pre-tool-call", "tool_name": tool, "tool_input": {"command": "ls"}}
    return find_answer(parse_options(["--trust-all"]), json.dumps(call).encode())


def run(*args: str) -> str:
    done = CliRunner().invoke(cli, args, standalone_mode=False)
    assert done.exception is None
    validate_output(args, done.stdout)
    return done.stdout


def test_by_default_only_hook_md_and_settings_are_read(codex):
    assert list_default_sources() == ("hook-md", "settings")
    assert list_sources() == []
    assert [folders.name for folders in locate().sources] == ["HOOK.md", "packs", "settings.json"]


def test_packs_are_read_if_hook_md_is_and_are_not_named(codex):
    write_config(codex, '[hooks]\nsources = ["settings", "packs"]\n')
    assert [folders.name for folders in locate().sources] == ["settings.json"]
    messages = [one.message for one in load_catalog().diagnostics]
    assert any(message.startswith("'sources' must be a list of hook-md, settings,") for message in messages)


def test_the_user_enables_a_source_for_all_projects(codex):
    write_config(codex, f"[hooks]\n{ALL}\n")
    assert list_sources() == ["codex"]


@pytest.mark.parametrize(("where", "expected"), [("", ["codex"]), ("/..", ["codex"]), ("-other", []), ("/src", [])])
def test_the_user_enables_a_source_for_one_project(codex, where, expected):
    folder = os.path.normpath(f"{codex.path}{where}")
    write_config(codex, f'[[hooks.projects]]\nproject = "{folder}"\n{ALL}\n')
    assert list_sources() == expected


def test_the_rule_of_the_nearest_project_counts():
    rules = (("", ("hook-md",)), ("/a", ("codex",)), ("/a/b", ("settings",)))
    folders = {"/": ("hook-md",), "/a": ("codex",), "/ab": ("hook-md",), "/a/b/c": ("settings",)}
    assert {folder: choose_sources(rules, folder) for folder in folders} == folders
    assert choose_sources((("/a", ("codex",)),), "/b") == list_default_sources()


def test_a_project_cannot_enable_a_source(codex):
    agents = codex.path / ".agents/hooks"
    agents.mkdir(parents=True)
    (codex.path / ".agents/hooks.toml").write_text(f"[hooks]\n{ALL}\n")
    catalog = load_catalog(trust_all=True)
    assert list(catalog.hooks) == []
    assert [one.message for one in catalog.diagnostics] == ["'sources' can only be set by the user; it is ignored here"]


def test_unknown_names_are_reported_and_the_others_count(codex):
    write_config(codex, '[hooks]\nsources = ["hook-md", "settings", "codexx", "codex"]\n')
    catalog = load_catalog(trust_all=True)
    assert [hook.source for hook in catalog.hooks] == ["codex"]
    assert ["only its valid items are used" in one.message for one in catalog.diagnostics] == [True]


def test_check_names_the_line_of_a_wrong_name(codex):
    write_config(codex, '# mine\n[hooks]\nsources = ["hook-md", "settings", "codexx"]\n')
    done = codex.run("check")
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[0], lines[2].strip()) == (
        *(1, f"error: {codex.config}/hooks.toml:3 [hooks.sources]"),
        "fix: did you mean 'codex'?",
    )


def test_a_list_without_the_defaults_turns_them_off_with_a_warning(codex):
    codex.write_hook("guard")
    write_config(codex, '[hooks]\nsources = ["codex"]\n')
    catalog = load_catalog(trust_all=True)
    assert [hook.source for hook in catalog.hooks] == ["codex"]
    messages = [f"the list does not name '{name}', so its hooks do not run" for name in ("hook-md", "settings")]
    assert [one.message for one in catalog.diagnostics] == messages


def test_the_fast_path_knows_the_hooks_of_an_enabled_source(codex):
    write_config(codex, f"[hooks]\n{ALL}\n")
    keep()
    assert [answer(tool) for tool in ("Shell", "ReadFile")] == [None, b""]


def test_a_catalogue_is_stale_once_a_source_is_enabled_or_disabled(codex):
    keep()
    assert answer("Shell") == b""
    write_config(codex, f"[hooks]\n{ALL}\n")
    assert answer("Shell") is None
    keep()
    assert [answer(tool) for tool in ("Shell", "ReadFile")] == [None, b""]
    write_config(codex, "[hooks]\n")
    assert answer("Shell") is None
    keep()
    assert answer("Shell") == b""


def test_starts_with_different_rules_share_no_catalogue(codex):
    write_config(codex, f'[[hooks.projects]]\nproject = "{codex.path}"\n{ALL}\n')
    keep()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(codex.base)
        assert answer("Shell") is None
        keep()
        assert answer("Shell") == b""
    assert [answer(tool) for tool in ("Shell", "ReadFile")] == [None, b""]


def test_a_disabled_source_is_not_looked_for(codex):
    default = resolve_locations(SOURCES, str(codex.path), read_environment())
    assert [folders.name for folders in default.sources] == ["HOOK.md", "packs", "settings.json"]
    assert "codex" not in default.folders
    keep()
    compiled = load_compiled(locate(trust_all=True))
    assert compiled is not None
    assert [path for path, _ in compiled.head["watch"] if "/.codex" in path] == []


def test_list_shows_the_hooks_of_a_disabled_source_in_one_line(codex):
    names = '"hook-md", "settings", "codex"'
    assert run("list").splitlines()[-2:] == [
        f"Not enabled: 1 hook of Codex CLI in {codex.path}/.codex/hooks.json",
        f"To run them in every agent, write sources = [{names}] under [hooks] in {codex.config}/hooks.toml",
    ]
    assert json.loads(run("list", "--json"))["unused_files"] == [
        {"path": f"{codex.path}/.codex/hooks.json", "source": "codex", "title": "Codex CLI", "count": 1}
    ]
    write_config(codex, f"[hooks]\n{ALL}\n")
    assert json.loads(run("list", "--json"))["unused_files"] == []


@pytest.mark.parametrize(
    ("text", "key", "example"),
    [
        ("sources = []", "hooks.sources", '["hook-md", "settings"]'),
        (
            '[[hooks.projects]]\nproject = "/p"\nsources = []',
            "hooks.projects.sources",
            '["hook-md", "settings", "codex"]',
        ),
    ],
)
def test_an_empty_list_of_sources_is_an_error_and_turns_nothing_off(codex, text, key, example):
    config = read_config(codex, f"[hooks]\n{text}\n")
    (one,) = config.diagnostics
    assert (one.level, one.key, one.message) == (ERROR, key, "'sources' is empty; it is ignored")
    assert one.fix == f"for example sources = {example}"
    assert config.source_rules == ()


@pytest.mark.parametrize(
    "text", ["hooks = 3", "[hooks]\nprojects = 3", "[hooks]\nprojects = [3]", "[hooks]\nsources = 3"]
)
def test_sources_of_another_shape_are_errors_and_turn_nothing_off(codex, text):
    config = read_config(codex, f"{text}\n")
    assert {one.level for one in config.diagnostics} == {ERROR}
    assert config.source_rules == ()


def test_list_enables_all_disabled_sources_in_one_list(codex):
    (codex.path / ".cursor").mkdir()
    (codex.path / ".cursor/hooks.json").write_text('{"version": 1, "hooks": {"stop": [{"command": "true"}]}}')
    lines = run("list").splitlines()
    assert sum(line.startswith("Not enabled: ") for line in lines) == 2
    sources = lines[-1].partition("write ")[2].partition(" under")[0]
    assert sources == 'sources = ["hook-md", "settings", "codex", "cursor"]'
    write_config(codex, f"[hooks]\n{sources}\n")
    assert not any("enable" in line for line in run("list").splitlines())


def test_events_never_mention_a_disabled_source(codex):
    done = codex.run("run", stdin=json.dumps({"event_type": "pre-tool-call", "tool_name": "Shell"}))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("source", [one for one in SOURCES if not one.is_default], ids=lambda source: source.name)
def test_self_protection_guards_the_users_files_of_an_enabled_source(codex, source):
    folder = resolve_folder(source.user_folder, read_environment())

    def list_guarded() -> list[str]:
        places = find_protection(locate(), ())[0].places
        return [place.path for place in places if place.path.startswith(f"{folder}/")]

    assert list_guarded() == []
    write_config(codex, f'[hooks]\nsources = ["hook-md", "settings", "{source.without}"]\n')
    assert list_guarded() == [f"{folder}/{name}" for name in source.protected_names]


@pytest.mark.parametrize("name", [source.host for source in SOURCES if source.host])
def test_an_agent_is_installed_without_the_hooks_that_it_runs_itself(project, name):
    setup = load_setup(name)
    source = next(one for one in SOURCES if one.host == name)
    assert source.without in setup.runs_itself
    context = make_call_context(setup, resolve_install_target("user", None, None))
    assert f"--without {source.without} " in make_command_line(setup, setup.events[0], context)


def test_an_installed_command_names_the_folders_of_enabled_sources(codex):
    def write_line() -> str:
        context = make_call_context(load_setup("gemini"), resolve_install_target("user", None, None))
        return make_command_line(load_setup("gemini"), "BeforeTool", context)

    assert "--codex" not in write_line()
    write_config(codex, f"[hooks]\n{ALL}\n")
    assert f"--codex {codex.home}/.codex" in write_line()


def test_status_reports_which_agents_run_the_hooks_of_a_source_themselves(codex):
    assert codex.run("install", "gemini", "--yes").returncode == 0
    assert "hooks of the source" not in codex.run("status").stdout
    write_config(codex, f"[hooks]\n{ALL}\n")
    note = "hooks of the source 'codex' are run by codex itself; gemini through boathook"
    assert note in codex.run("status").stdout
