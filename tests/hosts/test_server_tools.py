"""The names of tools from MCP servers: every agent has its own form, a matcher only one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    assert len(names) <= MAX_SPLITS
    assert all(one.startswith("mcp__") for one in names)


def test_a_name_of_another_form_is_none_of_a_server():
    assert list_server_names("mcp_{server}_{tool}", (), "read_file", {}) == ()
    assert list_server_names("", (), "a_b", {}) == ()
    assert list_server_names("{server}_{tool}", (), "mcp__a__b", {}) == ()


def test_without_the_name_of_the_server_there_is_no_name():
    assert list_server_names("MCP:{tool}", ("mcp_server_name", ""), "MCP:x", {}) == ()
    assert list_server_names("MCP:{tool}", ("mcp_server_name", ""), "MCP:x", {"mcp_server_name": 5}) == ()
    assert list_server_names("MCP:{tool}", ("mcp_server_name", ""), "MCP:x", {"mcp_server_name": "s"}) == ("mcp__s__x",)
