"""Names of tools of servers: hooks may mean the whole name or that of the tool, and guesses see the tool alone."""

from __future__ import annotations

import pytest

from boathook.bridges.server_tools import ServerToolNames

COMMAND = {"command": "ls"}


def test_a_tool_of_a_server_is_guessed_by_its_name_without_the_server():
    naming = ServerToolNames().find("mcp__box__bash", COMMAND)
    assert naming is not None
    assert (naming.name, naming.tool, naming.is_guess) == ("mcp__box__bash", "Shell", True)
    assert {"mcp__box__bash", "bash", "Shell", "Bash"} <= {*naming.names}


def test_a_tool_that_cannot_be_guessed_keeps_its_whole_name_and_can_be_matched_by_both():
    naming = ServerToolNames().find("mcp__bank__transfer", {"sum": 1})
    assert naming is not None
    assert naming.tool == "mcp__bank__transfer"
    assert {"mcp__bank__transfer", "transfer"} <= {*naming.names}


@pytest.mark.parametrize("name", ["run_it", "mcp__box__run_it"])
def test_the_program_maps_a_tool_by_its_name_or_by_the_whole_name(name):
    names = ServerToolNames({name: "Shell"}, {name: {"line": "command"}})
    naming = names.find("mcp__box__run_it", {"line": "ls"})
    assert naming is not None
    assert (naming.tool, naming.keys) == ("Shell", (("line", "command"),))
    assert naming.translate({"line": "ls"})[0] == COMMAND


def test_a_tool_that_is_mapped_to_itself_is_not_guessed():
    naming = ServerToolNames({"bash": "bash"}).find("mcp__box__bash", COMMAND)
    assert naming is not None
    assert naming.tool == "mcp__box__bash"


@pytest.mark.parametrize("name", ["Bash", "my__bash", "mcp__box__"])
def test_other_tools_are_named_as_everywhere(name):
    assert getattr(ServerToolNames().find(name, {"x": 1}), "short_name", "") == ""
