"""What is protected comes from rows: a new command, source or agent joins by its row."""

from __future__ import annotations

import pytest

from boathook.cli.commands import COMMANDS, CommandRow
from boathook.hosts.setup import list_setups
from boathook.protection.changing_programs import BY_WORD, CHANGING_PROGRAMS
from boathook.protection.own_programs import describe_agent_start, describe_own_command
from boathook.protection.protection import AgentProgram, Protection
from boathook.shell.path_changes import GIT_RULES, RULES
from boathook.shell.started import Started
from boathook.sources.source import SOURCES
from tests.protection.guarded_home import GuardedHome

SPELLINGS = (
    *("features={hooks=false}", "features = { hooks = false }", "features={a=1, hooks=false}", "features.hooks=false"),
    'features."hooks"=false',
)
CHANGING = {"install", "uninstall", "trust", "untrust", "deny", "convert", "ledger", "new", "doctor", "allow", "unlock"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_field_of_changes(name: str) -> None:
    assert COMMANDS[name].changes_guards is not None, f"set changes_guards in the row of '{name}'"


def test_the_commands_that_change_guards_are_known() -> None:
    assert {name for name, row in COMMANDS.items() if row.changes_guards} <= CHANGING


def test_a_command_without_the_field_counts_as_one_that_changes_guards() -> None:
    rows = {"toy": CommandRow("toy:play", "A toy")}

    assert describe_own_command(Started(("boathook", "toy"), "/"), Protection(), lambda: rows)


def test_a_command_that_has_no_row_counts_as_one_that_changes_guards() -> None:
    assert describe_own_command(Started(("boathook", "later"), "/"), Protection(), dict)


def test_every_source_has_names_that_are_protected(guarded: GuardedHome) -> None:
    paths = {place.path for place in guarded.protection.places}

    for source in SOURCES:
        assert source.protected_names
        folder = f"{guarded.home}/{source.user_folder.default}{source.user_folder.below}"
        assert {f"{folder}/{name}" for name in source.protected_names} <= paths


def test_every_switch_of_an_agent_turns_its_hooks_off() -> None:
    for setup in list_setups():
        assert len(setup.off_words) >= len(setup.off_options) + bool(setup.switches)


def test_a_program_of_the_table_of_changes_reaches_the_guard() -> None:
    assert {name.lower() for name in RULES} - BY_WORD <= CHANGING_PROGRAMS


def test_a_word_of_a_call_of_git_that_changes_paths_reaches_the_guard() -> None:
    assert set(GIT_RULES) <= CHANGING_PROGRAMS


@pytest.mark.parametrize("option", SPELLINGS)
def test_a_switch_of_an_agent_is_found_in_every_spelling(option: str) -> None:
    agent = AgentProgram("Toy", ("toy",), ("features.hooks",), ())

    assert describe_agent_start(Started(("toy", "-c", option), "/"), (agent,))
