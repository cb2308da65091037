"""Kinds of tools, by names and inputs as agents and well-known servers have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import FILE_CHANGES, PATCH_PROGRAMS, PATCH_TOOL, SHELL_TOOLS, Event
from boathook.core.matcher import Matcher, compile_pattern
from boathook.core.tool_kinds import MCP, NETWORK, READS, SHELL, TOOL_KINDS, TOOLS_OF_KINDS, WRITES, find_call_kinds
from boathook.hosts.host import list_host_names, load_host
from boathook.hosts.tool_names import FAMILIAR_TOOLS, TOOL_INPUT_KEYS, find_claude_name
from tests.core.builders import inputs, json_objects, tools

# Tools of servers that many people add, with an input as they take it.
SERVER_TOOLS = [
    ("filesystem__write_file", {"path": "a", "content": "x"}, {WRITES}),
    ("filesystem__edit_file", {"path": "a", "edits": [{"oldText": "o", "newText": "n"}]}, {WRITES}),
    ("filesystem__create_directory", {"path": "a"}, {WRITES}),
    ("filesystem__move_file", {"source": "a", "destination": "b"}, {WRITES}),
    *(
        ("fs__move_file", {old: "a", new: "b"}, {WRITES})
        for old, new in (("src", "dst"), ("src", "dest"), ("from", "to"))
    ),
    ("fs__apply_diff", {"diff": "--- a"}, {WRITES}),
    ("copilot__applyPatch", {"input": "*** Begin Patch\n*** Delete File: a\n*** End Patch"}, {WRITES}),
    ("notes__patch", {"patchText": "*** Begin Patch"}, {WRITES}),
    ("notes__show_diff", {"diff": "--- a"}, {READS}),
    ("nb__edit_notebook", {"target_notebook": "a"}, {WRITES}),
    ("fs__rm", {"path": "a"}, {WRITES}),
    ("fs__rm-file", {"path": "a"}, {WRITES}),
    ("fs__rmdir", {"path": "a"}, {WRITES}),
    ("fs__mv", {"from": "a", "to": "b"}, {WRITES}),
    ("fs__cp", {"src": "a", "dest": "b"}, {WRITES}),
    ("fs__rmFile", {"path": "a"}, {WRITES}),
    ("fs__fileRm", {"path": "a"}, {WRITES}),
    ("fs__putFile", {"path": "a"}, {WRITES}),
    ("fs__mkDir", {"path": "a"}, {WRITES}),
    ("FS__MVFile", {"path": "a"}, {WRITES}),
    ("docs__export", {"output": "a"}, {WRITES}),
    ("docs__save", {"target": "a", "content": "x"}, {WRITES}),
    ("fs__platform", {"path": "a"}, set()),
    ("fs__move_cursor", {"from": "a"}, set()),
    ("filesystem__read_file", {"path": "a"}, {READS}),
    ("filesystem__read_text_file", {"path": "a", "head": 3}, {READS}),
    ("filesystem__read_multiple_files", {"paths": ["a", "b"]}, {READS}),
    ("filesystem__directory_tree", {"path": "a"}, {READS}),
    ("filesystem__list_allowed_directories", {}, set()),
    ("desktop-commander__edit_block", {"file_path": "a", "old_string": "o", "new_string": "n"}, {WRITES}),
    ("desktop-commander__start_process", {"command": "ls", "timeout_ms": 3}, {SHELL}),
    ("desktop-commander__interact_with_process", {"pid": 3, "input": "ls"}, {SHELL}),
    ("github__create_or_update_file", {"owner": "o", "repo": "r", "path": "a", "content": "x"}, {WRITES}),
    ("github__push_files", {"repo": "r", "files": [{"path": "a", "content": "x"}]}, {WRITES}),
    ("github__delete_file", {"repo": "r", "path": "a"}, {WRITES}),
    ("github__create_issue", {"title": "t", "body": "b"}, set()),
    ("serena__create_text_file", {"relative_path": "a", "content": "x"}, {WRITES}),
    ("serena__replace_symbol_body", {"name_path": "f", "relative_path": "a", "body": "x"}, {WRITES}),
    ("serena__execute_shell_command", {"command": "ls"}, {SHELL}),
    ("jetbrains__create_new_file", {"pathInProject": "a", "text": "x"}, {WRITES}),
    ("jetbrains__replace_text_in_file", {"pathInProject": "a", "oldText": "o", "newText": "n"}, {WRITES}),
    ("jetbrains__execute_terminal_command", {"command": "ls"}, {SHELL}),
    ("ide__executeCode", {"code": "1"}, {SHELL}),
    ("jupyter__execute_cell", {"source": "1"}, {SHELL, WRITES}),
    ("jupyter__insert_execute_code_cell", {"cell_index": 1, "cell_source": "1"}, {SHELL}),
    ("python__run_python_code", {"python_code": "1"}, {SHELL}),
    ("node__run_js", {"stdin": "1"}, {SHELL}),
    ("tmux__send-keys", {"keys": "ls"}, {SHELL}),
    ("redis__delete_keys", {"keys": ["a"]}, set()),
    ("claude-code__Bash", {"command": "ls"}, {SHELL}),
    ("playwright__browser_navigate", {"url": "http://localhost"}, {NETWORK}),
    ("playwright__browser_click", {"ref": "e1"}, {NETWORK}),
    ("puppeteer__puppeteer_navigate", {"url": "http://localhost"}, {NETWORK}),
    ("fetch__fetch", {"url": "http://localhost"}, {NETWORK}),
    ("brave-search__brave_web_search", {"query": "q"}, {NETWORK}),
    ("firecrawl__firecrawl_scrape", {"url": "http://localhost"}, {NETWORK}),
    ("memory__create_entities", {"entities": []}, set()),
    ("x__apply_patch", {"input": "*** Begin Patch"}, {WRITES}),
]


@pytest.mark.parametrize(
    ("name", "tool_input", "kinds"), SERVER_TOOLS, ids=[f"{row[0]} {' '.join(row[1])}" for row in SERVER_TOOLS]
)
def test_a_known_tool_of_a_server_has_its_kinds(name, tool_input, kinds):
    assert kinds | {MCP} <= find_call_kinds((f"mcp__{name}",), tool_input) <= kinds | {MCP, READS}


@pytest.mark.parametrize("host", list_host_names())
def test_every_tool_of_every_agent_has_the_kind_of_its_canonical_tool(host):
    for theirs, (ours, _) in load_host(host).tools.items():
        kinds = {kind for kind, names in TOOLS_OF_KINDS.items() if ours in names}
        assert find_call_kinds((ours, theirs, find_claude_name(ours, theirs)), {"url": "x", "path": "y"}) == kinds


def test_every_canonical_tool_has_one_kind_but_those_that_touch_nothing():
    kinds = {tool: find_call_kinds((tool,), {"path": "a", "url": "b", "command": "c"}) for tool in TOOL_INPUT_KEYS}
    assert {tool for tool, found in kinds.items() if len(found) != 1} == {"Agent", "Todo", "AskUser"}


def test_the_names_of_settings_json_have_kinds():
    known = {name for names in TOOLS_OF_KINDS.values() for name in names}
    assert {*FAMILIAR_TOOLS} - known == {"TodoWrite", "AskUserQuestion", "Task"}


def test_the_tools_of_patches_and_their_files_write():
    names = (PATCH_TOOL, *PATCH_PROGRAMS, *(name for names in FILE_CHANGES.values() for name in names))
    assert all(find_call_kinds((name,), {}) == {WRITES} for name in names)
    assert all(find_call_kinds((name,), {}) == {SHELL} for name in SHELL_TOOLS)


@pytest.mark.parametrize(
    ("name", "tool_input", "kinds"),
    [
        ("write_file", {"path": "a"}, {WRITES}),
        ("bash", {"command": "ls"}, {SHELL}),
        ("view", {"path": "a"}, {READS}),
        ("fetch", {"url": "u"}, {NETWORK}),
        ("write_file", {"text": "a"}, set()),
        ("calculate", {"path": "a"}, set()),
        ("", {"path": "a"}, set()),
    ],
)
def test_a_tool_that_is_not_known_has_the_kinds_that_it_looks_like(name, tool_input, kinds):
    assert find_call_kinds((name,), tool_input) == kinds


def test_of_a_tool_whose_server_is_uncertain_every_split_counts():
    names = ("mcp__my__fs_write_file", "mcp__my_fs__write_file", "my_fs_write_file")
    assert find_call_kinds(names, {"path": "a"}) == {WRITES, MCP}
    assert find_call_kinds(("mcp__bash__exec_Read", "mcp__bash_exec__Read"), {"command": "x"}) == {READS, SHELL, MCP}
    assert find_call_kinds(("mcp__a__b__write__c",), {"path": "a"}) == {WRITES, MCP}


@given(tools | st.text(max_size=20), json_objects | inputs, st.sampled_from(TOOL_KINDS))
def test_a_matcher_of_a_kind_matches_what_is_of_that_kind(name, tool_input, kind):
    event = Event.of("pre-tool-call", tool_name=name, tool_input=tool_input)
    is_match = not Matcher(tool_kinds=(kind,)).explain_mismatch(event)
    assert is_match == (kind in find_call_kinds((name,), tool_input))


def make_call(name: str, **tool_input: object) -> Event:
    return Event.of("pre-tool-call", tool_name=name, tool_input=tool_input)


IN_SHELL = make_call("Shell", command="apply_patch <<E\n*** Begin Patch\n*** Add File: .env\n+A=1\n*** End Patch\nE")


@pytest.mark.parametrize(
    ("matcher", "call", "why"),
    [
        (Matcher(tool_kinds=(WRITES,)), IN_SHELL, ""),
        (Matcher(tool_kinds=(SHELL,)), IN_SHELL, ""),
        (Matcher(tool_kinds=(READS, NETWORK)), IN_SHELL, "tool 'Shell' is not of the kind reads or network"),
        (Matcher(tool_kinds=(WRITES,)), make_call("Shell", command="apply_patch --help"), "tool 'Shell' is not of the kind writes"),
        (Matcher(compile_pattern("^WriteFile$"), tool_kinds=(WRITES,)), IN_SHELL, ""),
        (Matcher(compile_pattern("^EditFile$"), tool_kinds=(WRITES,)), IN_SHELL, "tool 'Shell' does not match '^EditFile$'"),
        (Matcher(pattern=compile_pattern("^\\.env$"), tool_kinds=(WRITES,)), IN_SHELL, ""),
        (Matcher(pattern=compile_pattern("^\\.env$"), tool_kinds=(SHELL,)), IN_SHELL, "input does not match '^\\.env$'"),
        (Matcher(tool_kinds=(WRITES,)), Event.of("Stop"), ""),
    ],
)  # fmt: skip
def test_a_kind_is_one_more_condition_of_a_matcher(matcher, call, why):
    assert matcher.explain_mismatch(call) == why
    assert matcher.select_calls(call) == (call,)
    assert not matcher.is_all
