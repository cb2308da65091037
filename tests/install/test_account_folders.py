"""Which folders are the account's own, whatever HOME says."""

from __future__ import annotations

import json

import pytest

from boathook.hosts.setup import list_setups
from boathook.install.account_folders import concerns_account, find_account_folders, list_named_folders

CALL = "[ -x /p/python ] && exec /p/python -I -S /x/boathook/entry/hook_entry.py --host claude --config {} --state {}"
# HOME ("" if options name the folders), the folders, the files, and whether that is about the account.
CASES = {
    "its own folders": ("{home}", ["{home}/.local/state/boathook"], [], True),
    "its own folders, named by options": ("", ["{home}/.local/state/boathook"], [], True),
    "a folder inside one of them": ("", ["{home}/.local/state/boathook/below"], [], True),
    "a folder that holds one": ("", ["{home}/.local"], [], True),
    "its own folders through a link": ("", ["{tmp}/link/.local/state/boathook"], [], True),
    "a scratch HOME": ("{tmp}/scratch", ["{tmp}/scratch/.local/state/boathook"], [], False),
    "a scratch HOME that is a link to the real one": ("{tmp}/link", ["{tmp}/link/.local/state/boathook"], [], True),
    "a scratch HOME below the real one": ("{home}/work/x", ["{home}/work/x/.local/state/boathook"], [], False),
    "a scratch HOME, but the real state": ("{tmp}/scratch", ["{home}/.local/state/boathook"], [], True),
    "options that name other folders": ("", ["{tmp}/state"], [], False),
    "folders that XDG variables moved": ("{home}", ["{tmp}/state"], [], True),
    "folders that an installed command names": ("{tmp}/scratch", ["{tmp}/moved state"], [], True),
    "settings of the account's agent": ("{tmp}/scratch", ["{tmp}/state"], ["{home}/.claude/settings.json"], True),
    "settings of another agent": ("{tmp}/scratch", ["{tmp}/state"], ["{home}/.codex/config.toml"], True),
    "settings of a scratch HOME": ("{tmp}/scratch", [], ["{tmp}/scratch/.claude/settings.json"], False),
    "a project whose entries name the real folders": ("{tmp}/scratch", [], ["{tmp}/project/settings.json"], True),
    "a project whose entries name others": ("{tmp}/scratch", [], ["{tmp}/other/settings.json"], False),
    "another file in the home": ("{tmp}/scratch", ["{home}/.config/other"], [], False),
}


@pytest.fixture
def places(tmp_path):
    home = tmp_path / "home"
    for folder in (".local/state/boathook", ".claude", ".config/agents"):
        (home / folder).mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    entries = {
        home / ".claude": (f"{home}/.config/agents", f"'{tmp_path}/moved state'"),
        tmp_path / "project": (f"{tmp_path}/link/.config/agents", f"{home}/.local/state/boathook"),
        tmp_path / "other": ("/somewhere/agents", "/somewhere/state"),
    }
    for folder, names in entries.items():
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps({"command": CALL.format(*names)}))
    return {"home": str(home), "tmp": str(tmp_path)}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_concerns_the_account(places, case):
    home, folders, files, expected = case
    account = find_account_folders(places["home"])
    folders, files = ([path.format(**places) for path in paths] for paths in (folders, files))
    assert concerns_account(account, home.format(**places), folders, files) is expected


def test_an_account_without_a_home_has_no_scratch_folders(tmp_path):
    account = find_account_folders("/nonexistent")
    assert concerns_account(account, str(tmp_path), [str(tmp_path / "state")])


def test_the_home_of_every_agent_is_covered(places):
    account = find_account_folders(places["home"])
    for setup in list_setups():
        assert account.covers(f"{places['home']}/{setup.home[1]}/{setup.user_file}"), setup.name
    assert not account.covers(f"{places['home']}/Documents/letter.txt")


TEXTS = {
    "a shell's words": "python hook_entry.py --state /a/b --config '/c d/e' --host x",
    "JSON in JSON": json.dumps({"c": "python hook_entry.py --state /a/b --config '/c d/e' --host x"}),
    "a list of words": json.dumps(["hook_entry.py", "--state", "/a/b", "--config", "/c d/e"]),
    "with =": "hook_entry.py --state=/a/b --config='/c d/e'",
    "TOML": "command = \"hook_entry.py --state /a/b --config '/c d/e'\"",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_folders_that_a_command_names_are_found_in_every_form(tmp_path, text):
    (tmp_path / "file").write_text(text)
    assert set(list_named_folders(str(tmp_path / "file"))) == {"/a/b", "/c d/e"}


def test_a_file_without_our_command_names_nothing(tmp_path):
    (tmp_path / "file").write_text("other --state /a/b")
    assert list_named_folders(str(tmp_path / "file")) == []
    assert list_named_folders(str(tmp_path / "missing")) == []
