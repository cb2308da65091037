"""The MCP server of `make e2e` speaks as much of the protocol as agents need."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from e2e import tiny_server
from e2e.tiny_server import TOOLS, answer


def ask(folder, method: str, **params: object) -> dict:
    found = answer({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}, folder)
    assert found is not None
    assert found["id"] == 7
    return found


def test_it_takes_the_version_of_its_client_and_lists_its_tools(tmp_path):
    assert ask(tmp_path, "initialize", protocolVersion="2024-11-05")["result"]["protocolVersion"] == "2024-11-05"
    assert [one["name"] for one in ask(tmp_path, "tools/list")["result"]["tools"]] == list(TOOLS)
    assert ask(tmp_path, "ping")["result"] == {}


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_leaves_its_file(tmp_path, tool):
    assert ask(tmp_path, "tools/call", name=tool, arguments={"note": "one"})["result"]["isError"] is False
    assert [path.name for path in tmp_path.iterdir()] == [TOOLS[tool]]


def test_what_it_does_not_know_is_an_error_and_a_notification_gets_no_answer(tmp_path):
    assert ask(tmp_path, "tools/call", name="other")["error"]["code"] == -32601
    assert ask(tmp_path, "resources/list")["error"]["code"] == -32601
    assert answer({"jsonrpc": "2.0", "method": "notifications/initialized"}, tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_it_answers_lines(tmp_path):
    lines = [{"id": 1, "method": "ping"}, {"method": "note"}, {"id": 2, "method": "tools/call"}]
    done = subprocess.run(
        [sys.executable, tiny_server.__file__, str(tmp_path)],
        input="\n".join(map(json.dumps, lines)) + "\n\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
