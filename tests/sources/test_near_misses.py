"""What looks like a hook and is not read is reported, with the command that fixes it; folders of mere scripts are not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from boathook.catalog_cache.write import RACY_SECONDS
from boathook.core.notices import NEAR_MISS_COUNT
from boathook.loader import load_hooks
from boathook.sources.checker import check_path
from boathook.sources.near_misses import find_near_misses
from boathook.sources.source import SOURCES
from boathook.system.locations import resolve_locations
from tests.scratch_project import CALL, ScratchProject, make_manifest, write_script

NEAR = {
    "Hook.md": ".agents/hooks/guard/Hook.md",
    "HOOK.MD": ".agents/hooks/guard/HOOK.MD",
    "HOOKS.md": ".agents/hooks/guard/HOOKS.md",
    "hook.MD": ".agents/hooks/guard/hook.MD",
    "HOOK.txt": ".agents/hooks/guard/HOOK.txt",
    "too deep": ".agents/hooks/collection/guard/HOOK.md",
    "not in a folder": ".agents/hooks/HOOK.md",
    "singular": ".agents/hook/guard/HOOK.md",
    "capital": ".agents/Hooks/guard/HOOK.md",
    "of one agent": ".agent/hooks/guard/HOOK.md",
    "of another agent": ".claude/hooks/guard/HOOK.md",
}
OF_USER = {
    "Hook.md": "config/agents/hooks/guard/Hook.md",
    "too deep": "config/agents/hooks/collection/guard/hook.md",
    "singular": "config/agents/hook/guard/HOOK.md",
    "of another agent": "home/.claude/hooks/guard/HOOK.md",
}
SCRIPTS = (".agents/hooks/README.md", ".agents/hooks/lib/run.sh", ".claude/hooks/lint/run.py", ".agents/hook/x/run.sh")


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(make_manifest("guard"))
    write_script(path.parent, "exit 2")


def find_warnings(project: ScratchProject, start: Path | None = None) -> list[tuple[str, str]]:
    """Return path and fix of every near miss, as `check`, `list` and `doctor` show them."""
    env = {name.encode(): value.encode() for name, value in project.variables.items()}
    loaded = load_hooks(resolve_locations(SOURCES, str(start or project.path), env))
    counts = dict(loaded.catalog.counts)
    warnings = [(one.path, one.fix) for one in loaded.catalog.diagnostics]
    assert (loaded.catalog.hooks, counts.get(NEAR_MISS_COUNT, 0)) == ((), len(warnings))
    return warnings


@pytest.mark.parametrize("place", NEAR.values(), ids=NEAR)
def test_a_near_miss_is_reported_and_its_fix_makes_it_a_hook(project, place):
    write(project.path / place)
    ((_, fix),) = find_warnings(project)
    subprocess.run(["sh", "-c", fix], check=True, timeout=60)
    env = {name.encode(): value.encode() for name, value in project.variables.items()}
    loaded = load_hooks(resolve_locations(SOURCES, str(project.path), env))
    assert [(hook.state, hook.scope) for hook in loaded.catalog.hooks] == [("armed", "project")]


@pytest.mark.parametrize("place", OF_USER.values(), ids=OF_USER)
def test_near_misses_of_the_user_are_reported_too(project, place):
    write(project.base / place)
    ((_, fix),) = find_warnings(project)
    subprocess.run(["sh", "-c", fix], check=True, timeout=60)
    env = {name.encode(): value.encode() for name, value in project.variables.items()}
    loaded = load_hooks(resolve_locations(SOURCES, str(project.path), env))
    assert [(hook.state, hook.scope) for hook in loaded.catalog.hooks] == [("armed", "user")]


def test_a_near_miss_is_found_from_a_folder_below_it(project):
    write(project.path / NEAR["singular"])
    below = project.path / "src/deep"
    below.mkdir(parents=True)
    assert [path for path, _ in find_warnings(project, below)] == [str(project.path / ".agents/hook")]


def test_folders_that_merely_have_scripts_are_nothing_to_report(project):
    for place in SCRIPTS:
        path = project.path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    assert find_warnings(project) == []


def test_check_of_a_hook_folder_knows_that_it_is_one(project):
    folder = project.path / ".agents/hooks/guard"
    write(folder / "Hook.md")
    (found,) = check_path(str(folder))
    assert found.fix == f"mv {folder}/Hook.md {folder}/HOOK.md"
    (inside,) = check_path(str(folder.parent))
    assert inside == found


def test_trust_names_near_misses_where_there_is_nothing_to_trust(project):
    write(project.path / NEAR["Hook.md"])
    notice = "1 folder or file looks like a hook but is not read. See: boathook check"
    assert notice in project.run("trust").stdout
    assert f"(it has: none). {notice}" in project.run("trust", "guard").stderr


def test_a_second_name_of_the_hooks_folder_is_not_reported(project):
    # As `Hooks` is where small and capital letters are the same.
    project.write_hook("guard", scope="project")
    (project.path / ".agents/Hooks").symlink_to("hooks")
    env = {name.encode(): value.encode() for name, value in project.variables.items()}
    loaded = load_hooks(resolve_locations(SOURCES, str(project.path), env))
    assert (len(loaded.catalog.hooks), loaded.catalog.diagnostics) == (1, ())


def test_a_path_with_blanks_can_be_copied_into_a_shell(project):
    write(project.path / ".agents/hooks/my collection; rm x/in ner/HOOK.md")
    ((_, fix),) = find_warnings(project)
    subprocess.run(["sh", "-c", fix], check=True, timeout=60)
    assert (project.path / ".agents/hooks/in ner/HOOK.md").exists()


def test_a_repository_cannot_fill_the_screen(project):
    for number in range(150):
        write(project.path / f".agents/hooks/c/h{number:03}/HOOK.md")
    assert len(find_warnings(project)) == 100


def test_a_repository_cannot_make_every_event_look_at_many_folders(project):
    for place in (".agents/hooks/a", ".agents/hooks/b", ".agents/hooks/c", ".agents/hook", ".claude/hooks"):
        for number in range(120):
            (project.path / place / f"s{number:03}").mkdir(parents=True)
    env = {name.encode(): value.encode() for name, value in project.variables.items()}
    watch = find_near_misses(resolve_locations(SOURCES, str(project.path), env)).watch
    # places that are always watched are added, such as `.agents/hook` of each folder above
    assert 300 <= len([path for path in watch if path.startswith(str(project.path))]) <= 310


def test_commands_and_events_report_a_near_miss(project):
    write(project.path / NEAR["too deep"])
    for command in ("check", "list", "doctor"):
        done = project.run(command)
        assert (done.returncode, "one folder too deep" in done.stdout + done.stderr) == (0, True), command
    assert project.run("check", "--strict").returncode == 1
    ends = [project.run("run", stdin=json.dumps({**CALL, "session_id": name})) for name in ("a", "a", "b")]
    message = "boathook: 1 folder or file looks like a hook but is not read. See: boathook check\n"
    assert [end.stderr for end in ends] == [message, "", message]


def test_a_near_miss_that_appears_later_is_noticed(project):
    # The catalogue that was compiled before has to be stale then.
    folder = project.path / ".agents/hooks/collection/guard"
    folder.mkdir(parents=True)
    make_old(project.base)
    assert project.run("run", stdin=json.dumps(CALL)).stderr == ""
    assert list(project.cache.iterdir())
    write(folder / "HOOK.md")
    assert "looks like a hook" in project.run("run", stdin=json.dumps(CALL)).stderr


def test_an_openclaw_hook_is_recognized(project):
    manifest = "---\nname: memo\ndescription: x\nmetadata: {openclaw: {events: ['command:new']}}\n---\n"
    project.write_hook("memo", None, scope="project", manifest=manifest)
    done = project.run("check", "--json")
    (found,) = json.loads(done.stdout)["diagnostics"]
    assert (found["level"], found["message"]) == ("warning", "this is an OpenClaw hook, it does not run here")
    assert project.run("run", stdin=json.dumps(CALL)).stderr == ""


def make_old(folder: Path) -> None:
    """Wait until nothing below a folder is as new as what a catalogue does not trust."""
    import time

    newest = max(path.lstat().st_ctime for path in folder.rglob("*"))
    while time.time() - newest <= RACY_SECONDS:
        time.sleep(0.05)
