"""What is protected comes from rows: a new command, source or agent joins by its row."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from boathook.command_rows import COMMANDS, CommandRow
from boathook.core.disarm_prefilter import list_holder_ends
from boathook.hosts.setup import list_setups
from boathook.protection.changing_programs import BY_WORD, CHANGING_PROGRAMS
from boathook.protection.file_view import DiskView
from boathook.protection.own_programs import describe_agent_start, describe_own_command
from boathook.protection.package_changes import NEEDED_PACKAGES, describe_package_change
from boathook.protection.protection import AgentProgram, ProtectedPlace, Protection
from boathook.shell.git_changes import GIT_RULES, REPORT_OPTION, REPORTS
from boathook.shell.path_changes import RULES
from boathook.shell.started_program import Started
from boathook.sources.source import SOURCES
from boathook.system.locations import resolve_folder
from tests.protection.guarded_home import GuardedHome

SPELLINGS = (
    *("features={hooks=false}", "features = { hooks = false }", "features={a=1, hooks=false}", "features.hooks=false"),
    'features."hooks"=false',
)
CHANGING = {
    "install",
    "uninstall",
    "trust",
    "untrust",
    "deny",
    "convert",
    "ledger",
    "new",
    "doctor",
    "allow",
    "approvals",
    "page",
    "asks",
    "unlock",
    "pack",
    "setup",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_field_of_changes(name: str) -> None:
    assert COMMANDS[name].changes_guards is not None, f"set changes_guards in the row of '{name}'"


def test_the_commands_that_change_guards_are_known() -> None:
    assert {name for name, row in COMMANDS.items() if row.changes_guards} <= CHANGING


def test_a_command_without_the_field_counts_as_one_that_changes_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "toy", CommandRow("toy:play", "A toy"))

    objection = describe_own_command(Started(("boathook", "toy"), "/"), Protection(), DiskView())

    assert objection == "run `boathook toy`, which changes what guards you"


@pytest.mark.parametrize("name", ["allow", "unlock"])
def test_a_command_that_only_shows_something_without_a_word_is_free_without_it(name: str) -> None:
    assert describe_own_command(Started(("boathook", name), "/"), Protection(), DiskView()) == ""
    assert describe_own_command(Started(("boathook", name, "30m"), "/"), Protection(), DiskView())


def test_a_command_that_has_no_row_counts_as_one_that_changes_guards() -> None:
    assert describe_own_command(Started(("boathook", "later"), "/"), Protection(), DiskView())


def test_every_source_has_names_that_are_protected(guarded: GuardedHome) -> None:
    paths = {place.path for place in guarded.protection.places}

    for source in SOURCES:
        assert source.protected_names
        # The others are protected once they are enabled: see `tests/sources/test_enabled_sources.py`.
        if not source.is_default:
            continue
        folder = resolve_folder(source.user_folder, {b"HOME": os.fsencode(guarded.home)})
        assert {f"{folder}/{name}" for name in source.protected_names} <= paths


def test_every_switch_of_an_agent_turns_its_hooks_off() -> None:
    for setup in list_setups():
        assert len(setup.off_words) >= len(setup.off_options) + bool(setup.switches)


def test_a_program_of_the_table_of_changes_reaches_the_guard() -> None:
    assert {name.lower() for name in RULES} - BY_WORD <= CHANGING_PROGRAMS


def test_a_word_of_a_call_of_git_that_changes_paths_reaches_the_guard() -> None:
    assert set(GIT_RULES) - set(REPORTS) <= CHANGING_PROGRAMS
    assert REPORT_OPTION in CHANGING_PROGRAMS


@pytest.mark.parametrize("option", SPELLINGS)
def test_a_switch_of_an_agent_is_found_in_every_spelling(option: str) -> None:
    agent = AgentProgram("Toy", ("toy",), ("features.hooks",), ())

    assert describe_agent_start(Started(("toy", "-c", option), "/"), (agent,))


def test_the_needed_packages_are_the_dependencies() -> None:
    text = (Path(__file__).parents[2] / "hatch_build.py").read_text()
    (line,) = re.findall(r"^DEPENDENCIES = \[(.*)\]$", text, re.MULTILINE)

    assert {re.split("[>=<]", name, maxsplit=1)[0].lower() for name in re.findall('"(.*?)"', line)} == NEEDED_PACKAGES


class _Machine(DiskView):
    """A machine on which programs are in `bin` of an environment."""

    def __init__(self, environment: str, active: str = "") -> None:
        super().__init__()
        self._environment, self._active = environment, active

    def find_program(self, name: str) -> str:
        return f"{self._environment}/bin/{name}"

    def get_variable(self, name: str) -> str:
        return self._active if name == "VIRTUAL_ENV" else ""


@pytest.mark.parametrize(("environment", "is_own"), [("/own", True), ("/other", False), ("/owner", False)])
def test_a_needed_library_counts_only_in_the_environment_of_boathook(environment: str, is_own: bool) -> None:
    protection = Protection((ProtectedPlace("/own/lib/python3.12/site-packages/boathook", "boathook"),))
    words = ("pip", "uninstall", "-y", "google_re2")

    assert bool(describe_package_change(Started(words, "/"), protection, _Machine(environment))) is is_own
    uv = Started(("uv", "pip", "uninstall", "rich"), "/")
    assert bool(describe_package_change(uv, protection, _Machine("/x", environment))) is is_own
    assert not describe_package_change(Started(("pip", "uninstall", "requests"), "/"), protection, _Machine("/own"))


def test_a_folder_that_holds_a_place_is_known_by_its_end() -> None:
    paths = ("/h/.config/agents/hooks", "/h/.local/state/boathook", "/h/work/p/.agents/hooks/g")

    assert list_holder_ends(paths, ("/h", "/h/work/p")) == (
        *(".config", ".config/agents", ".local", ".local/state", ".agents", ".agents/hooks"),
    )
