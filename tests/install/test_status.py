"""What `status` reports of installations that are not as they were left."""

from __future__ import annotations

import json
import sys

import pytest

from boathook.core.hook import PROJECT, USER
from boathook.hosts.setup import FILES, GROUPS, load_setup
from boathook.install.command_line import HOOK_ENTRY
from boathook.install.probe import find_probe_command
from boathook.install.status import describe_ways, find_double_readers, list_statuses
from boathook.sources.source import COPILOT_SOURCE
from tests.install.helpers import EVERYWHERE, file_of, install, registry_of, state, target_of

USERS = [host for host, scope in EVERYWHERE if scope == USER]
NOT_FILES = [host for host in USERS if load_setup(host).format != FILES]


def _replace(project, host, old, new, scope=USER):
    path = file_of(project, host, scope)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("host", NOT_FILES)
def test_a_command_whose_hook_entry_is_gone_is_stale(project, host):
    install(project, host)
    _replace(project, host, HOOK_ENTRY, "/gone/boathook/entry/hook_entry.py")
    found, why = state(project, host)
    assert (found, why[0]) == ("stale", "its entry point is gone: /gone/boathook/entry/hook_entry.py")


def test_a_command_whose_interpreter_is_gone_is_stale(project):
    install(project, "claude")
    _replace(project, "claude", sys.executable, "/gone/bin/python")
    assert state(project, "claude") == ("stale", ("its interpreter is gone: /gone/bin/python",))


def test_a_command_of_another_installation_is_stale(project):
    install(project, "gemini")
    other = project.base / "other" / "boathook" / "entry" / "hook_entry.py"
    other.parent.mkdir(parents=True)
    other.touch()
    _replace(project, "gemini", HOOK_ENTRY, str(other))
    assert state(project, "gemini") == ("stale", (f"it calls another boathook: {other}",))
    install(project, "gemini")
    assert state(project, "gemini") == ("installed", ())


def test_entries_of_an_older_version_are_stale_and_those_changed_by_hand_altered(project, monkeypatch):
    setup = load_setup("claude")
    monkeypatch.setattr(type(setup), "events", ("PreToolUse", "Stop"))
    install(project, "claude")
    assert state(project, "claude") == ("installed", ())
    monkeypatch.setattr(type(setup), "events", ("PreToolUse", "Stop", "SessionEnd"))
    assert state(project, "claude") == ("stale", ("no entry for SessionEnd",))
    monkeypatch.setattr(type(setup), "events", ("PreToolUse",))
    assert state(project, "claude") == ("stale", ("an entry for Stop, which is not one of its events",))
    install(project, "claude")
    assert list(json.loads(file_of(project, "claude").read_text())["hooks"]) == ["PreToolUse"]
    _replace(project, "claude", "600", "30")
    assert state(project, "claude") == ("altered", ("the entries are not what would be installed now",))


@pytest.mark.parametrize("host", [host for host in USERS if load_setup(host).format == GROUPS])
def test_an_entry_that_was_taken_out_or_narrowed_by_hand_is_reported(project, host):
    install(project, host)
    path, first, second = file_of(project, host), *load_setup(host).events[:2]
    value = json.loads(path.read_text())
    path.write_text(json.dumps({**value, "hooks": {k: v for k, v in value["hooks"].items() if k != first}}))
    assert state(project, host) == ("altered", (f"no entry for {first}",))
    value["hooks"][second][0]["matcher"] = "Bash"
    path.write_text(json.dumps(value))
    assert state(project, host)[0] == "altered"


@pytest.mark.parametrize("host", USERS)
def test_a_file_that_was_removed_is_reported(project, host):
    install(project, host)
    for file in registry_of(project).read()[0].files:
        if not file.path.endswith("config.toml") or host != "codex":
            project.base.joinpath(file.path).unlink()
    assert state(project, host) == ("altered", ("its file has none of the entries that boathook installed",))
    install(project, host)
    assert state(project, host) == ("installed", ())


def test_a_plugin_whose_command_cannot_be_read_is_altered(project):
    install(project, "opencode")
    _replace(project, "opencode", "COMMAND = [", "COMMAND = [oops, ")
    assert state(project, "opencode") == ("altered", ("the entries are not what would be installed now",))
    setup = load_setup("opencode")
    assert find_probe_command(setup, target_of(project), setup.events[0]) is None


def test_a_change_elsewhere_in_the_file_is_not_an_alteration(project):
    install(project, "claude")
    _replace(project, "claude", '{\n  "hooks"', '{\n  "theme": "dark",\n  "hooks"')
    assert state(project, "claude") == ("installed", ())


def test_an_entry_that_is_there_twice_is_reported(project):
    install(project, "cursor")
    path = file_of(project, "cursor")
    value = json.loads(path.read_text())
    value["hooks"]["stop"] *= 2
    path.write_text(json.dumps(value))
    assert state(project, "cursor") == ("altered", ("several entries for stop: hooks run more than once",))
    install(project, "cursor")
    assert state(project, "cursor") == ("installed", ())


def test_a_command_by_hand_that_calls_us_too_is_reported(project):
    path = file_of(project, "claude")
    path.parent.mkdir(parents=True)
    by_hand = "boathook run --host claude --event PreToolUse"
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": by_hand}]}]}}))
    install(project, "claude")
    assert state(project, "claude") == ("altered", (f"another entry also calls boathook: {by_hand}",))


SWITCHES = {
    "claude": ("settings.json", {"disableAllHooks": True}),
    "copilot": ("settings.json", {"disableAllHooks": True}),
    "gemini": (".gemini/settings.json", {"hooksConfig": {"enabled": False}}),
    "qwen": ("settings.json", {"disableAllHooks": True}),
}
HOMES = {"claude": ".claude", "copilot": ".copilot", "gemini": "", "qwen": ".qwen"}


@pytest.mark.parametrize("scope", [USER, PROJECT])
@pytest.mark.parametrize("host", SWITCHES)
def test_a_host_whose_hooks_are_turned_off_is_shadowed(project, host, scope):
    name, value = SWITCHES[host]
    path = project.home / HOMES[host] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    install(project, host, scope, trusting=True)
    found, why = state(project, host, scope)
    assert found == "shadowed"
    assert why[0].endswith(f"in {path}: its hooks are turned off")


def test_gemini_that_is_configured_to_leave_us_out_is_shadowed(project):
    install(project, "gemini")
    path = file_of(project, "gemini")
    value = json.loads(path.read_text())
    path.write_text(json.dumps({**value, "hooksConfig": {"enabled": True, "disabled": ["boathook"]}}))
    assert state(project, "gemini")[0] == "shadowed"


CODEX = {
    "a hash that does not fit": ("sha256:", "sha256:0", "does not trust"),
    "an entry that is off": ("trusted_hash", "enabled = false\ntrusted_hash", "turns off"),
    "hooks that are off": ("[hooks.state", "[features]\nhooks = false\n[hooks.state", "features.hooks is false"),
}


@pytest.mark.parametrize("name", CODEX)
def test_what_codex_would_not_run_is_shadowed(project, name):
    old, new, word = CODEX[name]
    install(project, "codex")
    path = file_of(project, "codex").parent / "config.toml"
    path.write_text(path.read_text().replace(old, new, 1))
    found, (why,) = state(project, "codex")
    assert (found, word in why) == ("shadowed", True)


def test_a_hook_that_moved_in_its_list_is_trusted_again_by_installing_again(project):
    install(project, "codex")
    path = file_of(project, "codex")
    value = json.loads(path.read_text())
    value["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "mine"}]})
    path.write_text(json.dumps(value))
    assert state(project, "codex")[0] == "shadowed"
    install(project, "codex")
    assert state(project, "codex") == ("installed", ())


def test_a_file_that_cannot_be_read_is_reported_with_its_line(project):
    install(project, "claude")
    file_of(project, "claude").write_text("{\n,")
    found, (why,) = state(project, "claude")
    assert (found, "line 2" in why) == ("altered", True)


def test_a_host_that_reads_the_files_of_another_is_reported(project):
    install(project, "claude")
    install(project, "copilot")
    install(project, "vscode", PROJECT)
    statuses = list_statuses(target_of(project), registry_of(project))
    notes = find_double_readers(statuses, {"cursor"})
    once = "; boathook detects this and runs each hook once"
    twice = ", so hooks may run twice"
    claude, copilot = file_of(project, "claude"), file_of(project, "copilot")
    assert notes == [
        "Copilot CLI may also run the hooks in a project's .claude/settings.json itself, so they may run twice",
        f"cursor also reads {claude} and calls the entries of claude{once}",
        f"vscode also reads {claude} and calls the entries of claude{once}",
        f"vscode also reads {copilot} and calls the entries of copilot{twice}",
    ]
    # A person who does not have Cursor need not know.
    assert find_double_readers(statuses, set()) == [note for note in notes if not note.startswith("cursor")]


def test_an_agent_that_may_run_the_hooks_of_an_enabled_source_itself_is_named(project):
    install(project, "vscode")
    (note,) = describe_ways(list_statuses(target_of(project), registry_of(project)), [COPILOT_SOURCE])
    ways = "are run by copilot itself; vscode through boathook"
    assert (
        note == f"hooks of the source 'copilot' {ways}; vscode may run them itself as well, so they may run twice there"
    )


def test_in_the_home_folder_an_installation_of_the_user_is_not_also_one_of_a_project(project):
    install(project, "codex")
    done = project.run("status", "--json", "--project", str(project.home))
    found = next(one for one in json.loads(done.stdout)["hosts"] if one["host"] == "codex")
    assert [(status["scope"], status["state"]) for status in found["statuses"]] == [("user", "installed")]
    assert done.returncode == 0, done.stdout
