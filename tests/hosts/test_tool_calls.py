"""What a guard sees of a tool call: the file or the command that the agent will really use."""

from __future__ import annotations

import json

import pytest

from boathook.dialects.dialect import find_host_dialect
from boathook.errors import BeyondLimits
from boathook.hosts.host import load_host
from boathook.hosts.tool_calls import restore_input, translate_call
from boathook.hosts.tool_names import find_aliases


@pytest.mark.parametrize(
    ("host", "tool", "given", "key", "text"),
    [
        ("kiro-cli", "fs_read", {"operations": [{"path": "/etc/shadow", "command": "README.md"}]}, "file_path", "/etc/shadow"),
        ("kiro-cli", "fs_read", {"operations": [{"path": "a"}, {"image_paths": ["x"]}, {"path": "b"}]}, "file_path", "a\nb"),
        ("kiro-cli", "fs_read", {"operations": [{"mode": "Image"}]}, "file_path", None),
        ("kiro-cli", "fs_write", {"command": "append", "path": "a.py", "new_str": "breakpoint()"}, "content", "breakpoint()"),
        ("cline", "read_files", {"files": [{"path": "/etc/shadow", "cmd": "README.md"}]}, "file_path", "/etc/shadow"),
        ("cline", "run_commands", {"commands": ["ls", {"command": "rm", "args": ["-rf", "a b"]}]}, "command", "ls\nrm -rf 'a b'"),
        ("vscode", "multi_replace_string_in_file",
            {"replacements": [{"filePath": "a", "newString": "x"}, {"filePath": ".env", "newString": "K=1"}]},
            "file_path", "a\n.env"),
        ("vscode", "multi_replace_string_in_file", {"replacements": [{"filePath": ".env", "newString": "K=1"}]},
            "new_string", "K=1"),
        ("vscode", "edit_notebook_file", {"filePath": "a.ipynb", "newCode": "x"}, "file_path", "a.ipynb"),
        ("copilot", "write_bash", {"shellId": "1", "input": "rm -rf ~{enter}"}, "command", "rm -rf ~{enter}"),
        ("cursor", "Write", {"file_path": None, "path": ".env"}, "file_path", ".env"),
        ("droid", "Create", {"path": ".env", "file_path": None}, "file_path", ".env"),
        # a command of which a part cannot be read is not a command, and is refused
        ("cline", "run_commands", {"commands": ["ls", {"path": "x"}]}, "command", None),
    ],
)  # fmt: skip
def test_a_guard_sees_what_the_agent_reads(host, tool, given, key, text):
    _, seen, _ = translate_call(load_host(host).tools, tool, given)
    assert seen.get(key) == text


def test_kiro_refuses_tool_calls_alone():
    assert [event.kind.name for event in load_host("kiro-cli").events if event.block] == ["pre-tool-call"]


@pytest.mark.parametrize(
    ("host", "tool", "given"),
    [
        ("cursor", "Write", {"file_path": "harmless", "path": ".env"}),
        ("cursor", "Delete", {"file_path": "", "path": ".env"}),
        ("droid", "Create", {"file_path": "harmless", "path": ".env"}),
        ("droid", "MultiEdit", {"path": "harmless", "file_path": ".env"}),
        ("kiro-cli", "fs_write", {"command": "str_replace", "path": "a", "new_str": "SECRET", "file_text": "harmless"}),
        ("kiro-cli", "fs_read", {"operations": [{"path": ".env"}], "path": "harmless"}),
    ],
)
def test_a_call_is_refused_if_two_keys_of_the_agent_differ(host, tool, given):
    data = json.dumps({"tool_name": tool, "tool_input": given}).encode()
    with pytest.raises(BeyondLimits, match="differ, which both mean"):
        find_host_dialect(host).read_event(data, "pre-tool-call")
    # What has happened cannot be refused.
    assert find_host_dialect(host).read_event(data, "post-tool-call").tool_input


def test_two_keys_with_the_same_value_are_accepted():
    data = json.dumps({"tool_name": "Write", "tool_input": {"file_path": ".env", "path": ".env"}}).encode()
    assert find_host_dialect("cursor").read_event(data, "pre-tool-call").tool_input["file_path"] == ".env"


def test_a_change_goes_back_into_the_one_object_of_a_list():
    tools, tool = load_host("vscode").tools, "multi_replace_string_in_file"
    given = {"replacements": [{"filePath": "a", "oldString": "o", "newString": "n"}]}
    _, before, renamed = translate_call(tools, tool, given)
    now = {**before, "file_path": "b", "new_string": "m"}
    wanted = {"replacements": [{"filePath": "b", "oldString": "o", "newString": "m"}]}
    assert restore_input(tools, tool, renamed, before, now) == wanted
    assert restore_input(tools, tool, renamed, before, before) == given


def test_settings_that_name_edit_match_several_edits_too():
    assert find_aliases("EditFile", "MultiEdit") == ("MultiEdit", "Edit")
    assert find_aliases("EditFile", "NotebookEdit") == ("NotebookEdit",)
