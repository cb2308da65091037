"""The names of tools from MCP servers: every agent has its own form, a matcher only one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.file_writes import list_writes
from boathook.core.tool_kinds import MCP, WRITES, find_call_kinds
from boathook.dialects.dialect import find_host_dialect
from boathook.errors import BeyondLimits
from boathook.hosts.host import list_host_names, load_host
from boathook.hosts.tool_calls import MAX_SPLITS, list_server_names

FORMS = sorted({load_host(name).server_tool for name in list_host_names()} - {""})
words = st.text("ab_-", min_size=1, max_size=6)


@pytest.mark.parametrize("form", [form for form in FORMS if "{server}" in form])
def test_the_right_split_is_among_those_that_are_tried(form):
    @given(words, words)
    def try_names(server, tool):
        name = form.replace("{server}", server).replace("{tool}", tool)
        assert name.startswith("mcp__") or f"mcp__{server}__{tool}" in list_server_names(form, (), name, {})

    try_names()


@given(st.sampled_from(FORMS), st.text("ab_-/@:mcp", max_size=40))
def test_no_name_has_too_many_splits(form, name):
    names = list_server_names(form, (), name, {})
    # Each may have a second form, without unusual signs.
    assert len(names) <= 2 * MAX_SPLITS
    assert all(one.startswith("mcp__") for one in names)


def test_a_name_of_another_form_is_none_of_a_server():
    assert list_server_names("mcp_{server}_{tool}", (), "read_file", {}) == ()
    assert list_server_names("", (), "a_b", {}) == ()
    assert list_server_names("{server}_{tool}", (), "mcp__a__b", {}) == ()


def test_without_the_name_of_the_server_there_is_no_name():
    assert list_server_names("MCP:{tool}", ("mcp_server_name", ""), "MCP:x", {}) == ()
    assert list_server_names("MCP:{tool}", ("mcp_server_name", ""), "MCP:x", {"mcp_server_name": 5}) == ()
    assert list_server_names("MCP:{tool}", ("mcp_server_name", ""), "MCP:x", {"mcp_server_name": "s"}) == ("mcp__s__x",)


@pytest.mark.parametrize(
    ("host", "payload", "wanted"),
    [
        ("opencode", {"tool_name": "web_search", "tool_input": {"q": 1}}, "mcp__web__search"),
        ("opencode", {"tool_name": "fs_write", "tool_input": {"path": "a"}}, "mcp__fs__write"),
        ("copilot", {"tool_name": "save-file", "tool_input": {"path": "a"}}, "mcp__save__file"),
        ("cline", {"preToolUse": {"toolName": "use_mcp_tool", "parameters": {
            "server_name": "web", "tool_name": "search", "arguments": "{}"}}}, "mcp__web__search"),
        ("gemini", {"tool_name": "mcp_my.server_del", "mcp_context": {
            "server_name": "my.server", "tool_name": "del"}}, "mcp__my_server__del"),
        ("cursor", {"tool_name": "MCP:del", "mcp_server_name": "my server"}, "mcp__my_server__del"),
        ("windsurf", {"tool_info": {"mcp_server_name": "my server", "mcp_tool_name": "del"}}, "mcp__my_server__del"),
    ],
)  # fmt: skip
def test_a_matcher_finds_the_tool_of_a_server_although_another_agent_has_that_name(host, payload, wanted):
    event_name = "pre_mcp_tool_use" if host == "windsurf" else "pre-tool-call"
    event = find_host_dialect(host).read_event(json.dumps(payload).encode(), event_name)
    assert wanted in event.tool_names
    assert MCP in find_call_kinds(event.tool_names, event.tool_input)


@pytest.mark.parametrize("arguments", [{"path": "a"}, '{"path": "a"}', '{"p\\u0061th": "\\u0061"}'])
def test_the_input_of_the_tool_of_a_server_is_read_if_it_is_a_text(arguments):
    parameters = {"server_name": "fs", "tool_name": "write_file", "arguments": arguments}
    payload = {"preToolUse": {"toolName": "use_mcp_tool", "parameters": parameters}}
    event = find_host_dialect("cline").read_event(json.dumps(payload).encode(), "pre-tool-call")
    assert event.tool_input["arguments"] == {"path": "a"}
    assert [write.path for write in list_writes(event)] == ["a"]


def test_the_input_of_the_tool_of_a_server_that_cannot_be_read_is_refused():
    parameters = {"server_name": "fs", "tool_name": "write_file", "arguments": '{"path": ' + "[" * 1000}
    payload = {"preToolUse": {"toolName": "use_mcp_tool", "parameters": parameters}}
    with pytest.raises(BeyondLimits):
        find_host_dialect("cline").read_event(json.dumps(payload).encode(), "pre-tool-call")


@pytest.mark.parametrize("name", ["write_file", "write_to_file", "create_file"])
def test_a_tool_that_another_agent_has_keeps_its_kind_if_it_may_be_of_a_server(name):
    payload = json.dumps({"tool_name": name, "tool_input": {"path": "a"}}).encode()
    event = find_host_dialect("opencode").read_event(payload, "pre-tool-call")
    assert {WRITES, MCP} <= find_call_kinds(event.tool_names, event.tool_input)


def test_the_tools_of_the_host_itself_are_of_no_server():
    event = find_host_dialect("copilot").read_event(b'{"tool_name": "web_search", "tool_input": {}}', "pre-tool-call")
    assert not any(name.startswith("mcp__") for name in event.tool_names)
