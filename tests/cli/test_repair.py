"""`boathook uninstall --all` and `boathook doctor --fix`: installations of all agents, and of environments that are gone."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from boathook.core.hook import PROJECT, USER
from boathook.hosts.setup import list_setups
from boathook.process.supervisor import HOOK_ENTRY
from tests.install.helpers import EVERYWHERE, everything, file_of, install, registry_of, state
from tests.terminal import run_boathook

pytestmark = pytest.mark.installed

USERS = [setup.name for setup in list_setups()]
# Paths of another installation: a Python that is gone, an entry that is gone, another boathook that is there.
GONE = {
    "another environment that is gone": (sys.executable, "/gone/bin/python3"),
    "a package that is gone": (HOOK_ENTRY, "/gone/boathook/entry/hook_entry.py"),
}


def _move(project, host: str, old: str, new: str, scope=USER) -> None:
    """Let what is installed call another installation."""
    first = file_of(project, host, scope)
    for path in first.parent.iterdir() if host == "cline" else (first,):
        path.write_text(path.read_text().replace(old, new))


def test_all_agents_are_uninstalled_byte_for_byte(project):
    before = everything(project)
    for host in USERS:
        install(project, host)
    done = project.run("uninstall", "--all", "--yes")
    assert done.returncode == 0, done.stderr
    assert all(f"{host} is uninstalled: " in done.stdout for host in USERS)
    assert done.stdout.splitlines()[-3].endswith("then remove boathook.")
    leftovers = "\n".join(done.stdout.splitlines()[-2:])
    assert f"No agent calls boathook now. {project.cache} may be deleted, and so may {project.state} if" in leftovers
    assert f"Your hooks and packs are in {project.config}." in leftovers
    assert (everything(project), registry_of(project).read()) == (before, [])
    assert project.run("uninstall", "--all").stdout == "boathook is not installed in any agent: nothing to do\n"


def test_all_projects_on_record_are_uninstalled(project, new_project):
    other = new_project("another")
    for host, scope in EVERYWHERE:
        if scope == PROJECT:
            install(project, host, scope)
    paths = [file_of(project, host, PROJECT) for host, scope in EVERYWHERE if scope == PROJECT]
    command = [sys.executable, "-m", "boathook", "uninstall", "--all", "--yes"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=other.path, env=project.environment)
    assert done.returncode == 0, done.stderr
    assert [path for path in paths if path.exists()] == []
    assert registry_of(project).read() == []


def test_entries_without_a_record_are_uninstalled_as_well(project):
    install(project, "codex")
    install(project, "gemini")
    (project.state / "installed.json").unlink()
    _move(project, "gemini", *GONE["another environment that is gone"])
    done = project.run("uninstall", "--all", "--yes")
    assert done.returncode == 0, done.stderr
    assert [
        file_of(project, host).exists() and "hook_entry" in file_of(project, host).read_text() for host in USERS
    ] == ([False] * len(USERS))


def test_a_dry_run_of_all_changes_nothing(project):
    install(project, "claude")
    before = everything(project)
    done = project.run("uninstall", "--all", "--dry-run")
    assert (done.returncode, everything(project)) == (0, before)
    assert "-" in done.stdout


def test_an_agent_that_cannot_be_uninstalled_does_not_keep_the_others(project):
    install(project, "claude")
    install(project, "codex")
    file_of(project, "claude").write_text("{ broken")
    done = project.run("uninstall", "--all", "--yes")
    assert (done.returncode, file_of(project, "codex").exists()) == (1, False)
    assert "claude is still installed: " in done.stderr


@pytest.mark.parametrize("words", [[], ["claude", "--all"], ["--all", "--project"], ["--all", "--json"]])
def test_either_one_agent_or_all_of_them(project, words):
    done = project.run("uninstall", *words)
    assert done.returncode == 1
    assert "--all" in done.stderr


# Repairs


@pytest.mark.one_at_a_time
@pytest.mark.parametrize("name", GONE)
@pytest.mark.parametrize("host", USERS)
def test_doctor_repairs_what_calls_a_boathook_that_is_gone(project, host, name):
    made = install(project, host)
    _move(project, host, *GONE[name])
    found, why = state(project, host)
    assert found == "stale"
    assert any("is gone: /gone/" in text for text in why)
    done = project.run("doctor", "--fix", "--yes")
    assert f"{host} is repaired: " in done.stdout
    assert state(project, host) == ("installed", ())
    assert f"installed in {host}  works: " in done.stdout
    assert made.setup.name == host


def test_doctor_finds_and_repairs_entries_that_are_not_on_record(project):
    install(project, "codex", PROJECT, trusting=True)
    install(project, "claude")
    (project.state / "installed.json").unlink()
    for host, scope in (("codex", PROJECT), ("claude", USER)):
        _move(project, host, *GONE["another environment that is gone"], scope)
    rows = json.loads(project.run("doctor", "--json").stdout)["setup"]
    texts = [(row["subject"], row["text"]) for row in rows if "/gone/" in row["text"]]
    assert ("installed in claude", "stale: its interpreter is gone: /gone/bin/python3") in texts
    assert (f"installed in codex for {project.path}", "stale: its interpreter is gone: /gone/bin/python3") in texts
    project.run("doctor", "--fix", "--yes")
    assert state(project, "claude")[0] == "installed"
    assert "stale" not in state(project, "codex", PROJECT)


def test_without_a_terminal_and_without_a_yes_nothing_is_repaired(project):
    install(project, "claude")
    _move(project, "claude", *GONE["another environment that is gone"])
    before = everything(project)
    done = project.run("doctor", "--fix")
    assert (done.returncode, everything(project)) == (1, before)
    assert "Nothing was changed: there is no terminal to ask at" in done.stderr


@pytest.mark.parametrize(("answer", "expected"), [("y", "installed"), ("n", "stale")])
def test_at_a_terminal_a_person_is_asked(project, answer, expected):
    install(project, "claude")
    _move(project, "claude", *GONE["another environment that is gone"])
    run_boathook(project, ["doctor", "--fix"], [answer])
    assert state(project, "claude")[0] == expected


def test_what_works_and_what_a_person_removed_is_left_alone(project):
    install(project, "codex")
    install(project, "claude")
    file_of(project, "claude").write_text("{}")
    before = everything(project)
    done = project.run("doctor", "--fix", "--yes")
    assert everything(project) == before
    assert "is repaired" not in done.stdout


def test_a_changed_setting_is_repaired(project):
    install(project, "claude")
    project.write_hooks_toml("user", '[hooks]\nbroken = "allow"\n')
    assert "hooks.broken in" in project.run("status").stdout
    assert "hooks.broken in" in project.run("doctor").stdout
    project.run("doctor", "--fix", "--yes")
    assert state(project, "claude") == ("installed", ())
