"""`boathook pack`: add, update, list, remove, and turn hooks on and off."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from boathook.cli.commands import cli
from boathook.errors import ConfigError
from boathook.packs.pack_source import find_pack_source, list_pack_sources
from boathook.packs.pack_switches import switch_hooks
from boathook.sources.pack_md import PackManifest
from tests.output_validation import validate_output
from tests.packs.toy_packs import PASS, find_pack, write_pack
from tests.scratch_project import CALL

NAME = "acme/guards"


@pytest.fixture
def place(project, monkeypatch):
    """A project in whose folder commands run, and a pack `guards` beside it that can be added."""
    for name, value in project.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("boathook.cli.person.list_ancestors", list)
    monkeypatch.setattr("boathook.cli.person.find_agent", lambda *_: None)
    monkeypatch.chdir(project.path)
    write_pack(
        project.base / "guards", {"a": 'return ask("a")', "b": PASS, "c": PASS}, default=["a", "b"], lib={"x.py": ""}
    )
    return project


def run(*words, code=0):
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == code, done.output
    if "--json" in words:
        validate_output(words[:2], done.stdout)
    return done.output


def add(*words, code=0):
    return run("pack", "add", "../guards", "--name", NAME, "--yes", *words, code=code)


def read_packs():
    return json.loads(run("pack", "list", "--json"))["packs"]


def test_a_pack_is_copied_and_shown_and_its_hooks_run(place):
    text = add()
    assert "acme/guards 1.0.0 (folder " in text
    assert "packs: 2 hooks on, 1 off" in text
    assert [line.split()[:2] for line in text.splitlines()[1:4]] == [["on", "a"], ["on", "b"], ["off", "c"]]
    assert place.dispatch("by hook_entry", CALL)["decision"] == "ask"
    (row,) = read_packs()
    states = {hook["hook"]: hook["state"] for hook in row["hooks"]}
    assert (row["pack"], row["scope"], row["ok"], row["release"]) == (NAME, "user", True, "1.0.0")
    assert states == {"a": "on", "b": "on", "c": "disabled"}
    shown = run("pack", "list")
    assert "acme/guards  1.0.0    user   2   1    ok" in shown
    assert "acme/guards: off: c" in shown


def test_scripts_are_executable_and_nothing_else_is_and_nothing_is_left_beside(place):
    script = place.base / "guards/hooks/a/scripts/run.py"
    script.chmod(0o600)
    (place.base / "guards/lib/__pycache__").mkdir()
    add()
    folder = find_pack(place)
    modes = {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}
    assert (modes["hooks/a/scripts/run.py"], modes["PACK.md"]) == (0o755, 0o644)
    assert not (folder / "lib/__pycache__").exists()
    assert os.listdir(folder.parent) == ["guards"]


def test_without_yes_and_without_a_terminal_nothing_is_written(place, monkeypatch):
    monkeypatch.setattr("boathook.cli.person.confirm_action", lambda *_, **__: None)
    run("pack", "add", "../guards", code=1)
    assert not (place.config / "packs").exists()


def test_only_turns_the_others_off_and_unknown_names_are_refused(place):
    add("--only", "c,a")
    assert tomllib.loads((place.config / "hooks.toml").read_text()) == {"packs": {NAME: {"on": ["c"], "off": ["b"]}}}
    assert "--only: the pack has no hook 'd': known: a, b, c" in add("--only", "d", code=1)


def test_adding_again_shows_what_changes(place):
    add()
    assert "3 hooks as before" in add()
    write_pack(place.base / "guards", {"a": 'return block("a")', "b": PASS, "d": PASS}, version="2.0.0")
    shutil.rmtree(place.base / "guards/hooks/c")
    text = add()
    lines = {line.split()[1]: line.split()[0] for line in text.splitlines() if line.startswith("  ") and line[2] != " "}
    assert {name: lines[name] for name in "acd"} == {"a": "changed", "c": "gone", "d": "new"}
    assert "changed  lib or PACK.md" in text
    assert place.dispatch("by hook_entry", CALL)["decision"] == "block"
    assert not (find_pack(place) / "hooks/c").exists()
    assert os.listdir(find_pack(place).parent) == ["guards"]


def test_edits_are_kept_unless_they_are_discarded(place):
    add()
    script = find_pack(place) / "hooks/a/scripts/run.py"
    script.write_text("#!/usr/bin/env python3\n# mine\n")
    (find_pack(place) / "lib/mine.py").write_text("")
    (row,) = read_packs()
    assert (row["states"], row["edited"]) == (["edited"], ["hooks/a/scripts/run.py", "lib/mine.py"])
    text = add(code=1)
    assert "were edited: hooks/a/scripts/run.py, lib/mine.py. To replace them, add --discard" in text
    assert "# mine" in script.read_text()
    assert "your edit of lib/mine.py will be lost" in add("--discard")
    assert read_packs()[0]["ok"]


def test_a_pack_that_boathook_did_not_add_is_not_replaced_silently(place):
    write_pack(find_pack(place), {"mine": PASS})
    assert read_packs()[0]["states"] == ["unknown origin"]
    assert "were edited" in add(code=1)


def test_a_pack_that_is_not_whole_is_not_added(place):
    shutil.rmtree(place.base / "guards/hooks/b")
    text = add(code=1)
    assert "the pack acme/guards cannot be added, because it is not whole" in text
    assert not (place.config / "packs").exists()


def test_missing_hooks_are_a_state(place):
    add()
    shutil.rmtree(find_pack(place) / "hooks/b")
    assert read_packs()[0]["states"] == ["incomplete", "edited"]


def test_a_pack_that_cannot_be_replaced_stays_as_it_is(place, monkeypatch):
    add()
    write_pack(place.base / "guards", {"a": 'return block("a")'}, version="2.0.0")
    for name in "bc":
        shutil.rmtree(place.base / f"guards/hooks/{name}")
    rename = os.rename

    def fail_second(old, new):
        if ".new" in old and "guards-" in old and not old.endswith(".old"):
            raise OSError(28, "No space left on device")
        rename(old, new)

    monkeypatch.setattr("boathook.packs.pack_folder._exchange", lambda *_: False)
    monkeypatch.setattr(os, "rename", fail_second)
    assert "No space left" in add(code=1)
    assert (find_pack(place) / "hooks/c").exists()
    assert read_packs()[0]["states"] == ["ok"]
    monkeypatch.setattr(os, "rename", rename)
    add()
    assert not (find_pack(place) / "hooks/c").exists()


def test_remove_shows_what_does_not_guard_any_more(place):
    add()
    text = run("pack", "remove", NAME, "--yes")
    assert "acme/guards:a does not guard any more: a test" in text
    assert "acme/guards:c" not in text
    assert read_packs() == []
    assert list((place.config / "packs").iterdir()) == []
    assert "there is no pack 'acme/guards' in" in run("pack", "remove", NAME, "--yes", code=1)


@pytest.mark.parametrize("name", ["acme", ".", "..", "acme/guards/hooks", "../packs/acme"])
def test_only_a_pack_is_removed(place, name):
    add()
    assert f"there is no pack '{name}' in" in run("pack", "remove", name, "--yes", code=1)
    assert read_packs()[0]["states"] == ["ok"]


def test_a_pack_that_was_added_and_is_gone_is_shown_until_it_is_forgotten(place):
    add()
    shutil.rmtree(find_pack(place))
    assert read_packs()[0]["states"] == ["missing"]
    assert "is gone, so its hooks do not guard. Add it again" in run("pack", "list")
    run("pack", "remove", NAME, "--yes")
    assert read_packs() == []


def test_hooks_are_turned_on_and_off(place):
    add()
    run("pack", "off", f"{NAME}:a", f"{NAME}:b", "--yes")
    run("pack", "on", f"{NAME}:c")
    states = {hook["hook"]: hook["state"] for hook in read_packs()[0]["hooks"]}
    assert states == {"a": "disabled", "b": "disabled", "c": "on"}
    assert "already on: acme/guards:c" in run("pack", "on", f"{NAME}:c")
    run("pack", "on", f"{NAME}:a", f"{NAME}:b")
    run("pack", "off", f"{NAME}:c", "--yes")
    assert tomllib.loads((place.config / "hooks.toml").read_text()) == {"packs": {NAME: {}}}
    assert "the pack 'acme/guards' has no hook 'x'" in run("pack", "on", f"{NAME}:x", code=1)
    assert "there is no hook 'acme/gards:a'" in run("pack", "on", "acme/gards:a", code=1)
    assert "there is no hook 'a': did you mean 'acme/guards:a'?" in run("pack", "on", "a", code=1)
    assert "name its hooks, as in acme/guards:HOOK" in run("pack", "on", NAME, code=1)


def test_off_asks_a_person(place, monkeypatch):
    add()
    monkeypatch.setattr("boathook.cli.person.confirm_action", lambda *_, **__: None)
    run("pack", "off", f"{NAME}:a", code=1)
    assert not (place.config / "hooks.toml").exists()


def test_a_pack_of_a_project_is_written_there_and_needs_trust(place):
    (place.path / ".git").mkdir()
    assert "trust  boathook trust" in add("--project")
    assert (place.path / ".agents/packs.lock").exists()
    assert read_packs()[0]["scope"] == "project"
    assert {hook["state"] for hook in read_packs()[0]["hooks"]} == {"untrusted", "disabled"}
    run("pack", "off", f"{NAME}:a", "--project", "--yes")
    assert (place.path / ".agents/hooks.toml").exists()
    run("pack", "remove", NAME, "--project", "--yes")
    assert not (place.path / ".agents/packs/acme").exists()


@pytest.mark.parametrize("text", ["not toml", "version = 2\n", "version = 1\n[packs.x]\n"])
def test_a_lock_that_cannot_be_read_stops_the_commands_and_no_hook(place, text):
    add()
    (place.config / "packs.lock").write_text(text)
    assert "packs.lock cannot be read" in add(code=1)
    assert "Hooks still run" in run("pack", "list", code=1)
    assert place.dispatch("by hook_entry", CALL)["decision"] == "ask"
    assert (place.config / "packs.lock").read_text() == text


# Switches


MANIFEST = PackManifest("guards", hooks=("a", "b", "c"), default=("a", "b"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[packs."acme/guards"]\non = ["c"]\noff = ["a"]\n'),
        (
            "# mine\n[hooks]\ndebug = true\n",
            '# mine\n[hooks]\ndebug = true\n\n[packs."acme/guards"]\non = ["c"]\noff = ["a"]\n',
        ),
        (
            '[packs."acme/guards"] # x\n# y\noff = [\n  "b",\n]\nn = {}\n\n[packs."acme/guards".a]\nk = [1]\n',
            '[packs."acme/guards"] # x\non = ["c"]\noff = ["b", "a"]\n# y\nn = {}\n\n[packs."acme/guards".a]\nk = [1]\n',
        ),
        ('[packs."acme/guards"]', '[packs."acme/guards"]\non = ["c"]\noff = ["a"]\n'),
    ],
)
def test_only_the_switches_of_a_file_change(tmp_path, before, after):
    path = tmp_path / "hooks.toml"
    path.write_text(before)
    path.chmod(0o600)
    assert switch_hooks(str(path), NAME, MANIFEST, {"a": False, "c": True})
    assert (path.read_text(), path.stat().st_mode & 0o777) == (after, 0o600)
    assert not switch_hooks(str(path), NAME, MANIFEST, {"a": False, "c": True})


@pytest.mark.parametrize(
    "text", ['packs."acme/guards".on = []\n', '[packs]\n"acme/guards" = {on = ["b"]}\n', "x = [\n"]
)
def test_a_file_that_cannot_be_edited_is_left_alone(tmp_path, text):
    path = tmp_path / "hooks.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"hooks.toml:\d+: "):
        switch_hooks(str(path), NAME, MANIFEST, {"a": False})
    assert path.read_text() == text


# Where packs come from


def offer_packs(site: Path, name: str, points: dict[str, str]) -> None:
    """Write what an installed package leaves: its metadata and its files."""
    folder = site / f"{name}-1.2.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = "".join(f"{key} = {value}\n" for key, value in points.items())
    (folder / "entry_points.txt").write_text(f"[boathook.packs]\n{lines}")


def test_a_package_offers_packs_by_entry_points_and_nothing_of_it_is_imported(place, monkeypatch):
    site = place.base / "site"
    points = {"acme/rules": "acme_hooks:packs.rules", "boathook/evil": "acme_hooks:packs.rules", "gone/x": "nowhere:x"}
    offer_packs(site, "acme-hooks", points)
    write_pack(site / "acme_hooks/packs/rules", {"a": 'return ask("a")'})
    (site / "acme_hooks/__init__.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(site))
    found = {source.name: source.origin for source in list_pack_sources()}
    assert found["acme/rules"] == "package acme-hooks 1.2"
    assert not found.keys() & {"boathook/evil", "gone/x"}
    assert "acme/rules (package acme-hooks 1.2) can be added" in run("pack", "list")
    # An offer is not live: only a copy runs, and only a person makes it.
    assert place.run("list", "--json", env={"PYTHONPATH": str(site)}).stdout.count("acme/rules") == 0
    result = json.loads(run("pack", "add", "acme/rules", "--yes", "--json"))
    assert (result["pack"], result["hooks"]) == ("acme/rules", [{"hook": "a", "change": "new"}])
    write_pack(site / "acme_hooks/packs/rules", {"a": PASS}, version="3")
    (row,) = read_packs()
    assert (row["states"], row["newer"]) == (["newer version here"], "3")
    assert "version 3 is here: boathook pack add acme/rules" in run("pack", "list")


def test_the_first_package_of_a_name_counts_and_an_editable_one_is_found(place, monkeypatch):
    site, source = place.base / "site", place.base / "checkout"
    offer_packs(site, "acme-hooks", {"acme/rules": "acme_hooks:rules"})
    write_pack(source / "acme_hooks/rules", {"a": PASS})
    (source / "acme_hooks/__init__.py").write_text("1 / 0\n")
    for path in (site, source):
        monkeypatch.syspath_prepend(str(path))
    assert find_pack_source("acme/rules").folder == str(source / "acme_hooks/rules")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nope/nope",), "there is no pack 'nope/nope' to add"),
        (("./nope",), "is not a pack: there is no PACK.md in it"),
        (("../guards", "--name", "x"), "'x' is not the name of a pack: write OWNER/NAME"),
        (("acme/x", "--name", "a/b"), "--name is for the pack in a folder"),
    ],
)
def test_a_source_that_is_not_there_gets_a_clear_error(place, words, message):
    assert message in run("pack", "add", *words, "--yes", code=1)


def test_a_folder_that_was_meant_as_a_path_is_explained(place, monkeypatch):
    monkeypatch.chdir(place.base)
    assert "If you mean the folder, write ./guards" in run("pack", "add", "guards", "--yes", code=1)
    assert find_pack_source("./guards").name == "local/guards"
