"""What `fd -x` starts, for what it finds."""

from __future__ import annotations

import pytest

from boathook.shell.fd_search import list_fd_commands
from boathook.shell.found_paths import FindFilters, FoundPath

HIDDEN_SKIPPED = FindFilters(skips_hidden=True)
FOUND = {
    "fd . a -X rm": [("a", HIDDEN_SKIPPED)],
    "fd -X rm": [(".", HIDDEN_SKIPPED)],
    "fd -HI . a b -x rm": [("a", FindFilters()), ("b", FindFilters())],
    "fd -u -e py -e .pyi x a -x rm": [("a", FindFilters(("*.py", "*.pyi")))],
    "fd -H -g *.md a -x rm": [("a", FindFilters(("*.md",)))],
    "fd -H ^x\\.md$ a -x rm": [("a", FindFilters(("x.md",)))],
    "fd -H x.y -x rm": [(".", FindFilters(("*x?y*",)))],
    "fd -H x+ -x rm": [(".", FindFilters())],
    "fd --search-path=a x -x rm": [("a", FindFilters(("*x*",), skips_hidden=True))],
    "fd --base-directory a x -x rm": [("a/.", FindFilters(("*x*",), skips_hidden=True))],
    "fd . a -x rm ; -H": [("a", FindFilters())],
}


@pytest.mark.parametrize("line", FOUND)
def test_what_is_found(line: str) -> None:
    (command,) = list_fd_commands(line.split()[1:])
    found = [(str(path), path.filters) for path in command if isinstance(path, FoundPath)]

    assert found == FOUND[line]
    assert command[0] == "rm"


def test_what_is_found_is_placed_where_the_command_names_it() -> None:
    assert list_fd_commands(["-x", "mv", "{}", "b"]) == [("mv", ".", "b")]
    assert list_fd_commands(["-x", "mv", "{/.}", "b", ";", "-X", "rm"]) == [("mv", ".", "b"), ("rm", ".")]


def test_words_of_commands_are_not_searched_for() -> None:
    commands = list_fd_commands(["-H", "-x", "mv", "{}", "b", ";", "-X", "rm"])

    assert [path.filters for words in commands for path in words if isinstance(path, FoundPath)] == [FindFilters()] * 2


def test_a_search_alone_starts_nothing() -> None:
    assert list_fd_commands(["x", "a"]) == []
