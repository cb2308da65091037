"""What a guard sees of a tool call: the file or the command that the agent will really use."""

from __future__ import annotations

import pytest

from boathook.hosts.host import load_host
from boathook.hosts.tool_calls import translate_call


@pytest.mark.parametrize(
    ("host", "tool", "given", "key", "text"),
    [
        ("kiro-cli", "fs_read", {"operations": [{"path": "/etc/shadow", "command": "README.md"}]}, "file_path", "/etc/shadow"),
        ("kiro-cli", "fs_read", {"operations": [{"path": "a"}, {"image_paths": ["x"]}, {"path": "b"}]}, "file_path", "a\nb"),
        ("kiro-cli", "fs_read", {"operations": [{"mode": "Image"}]}, "file_path", None),
        ("kiro-cli", "fs_write", {"command": "append", "path": "a.py", "new_str": "breakpoint()"}, "content", "breakpoint()"),
        ("cline", "read_files", {"files": [{"path": "/etc/shadow", "cmd": "README.md"}]}, "file_path", "/etc/shadow"),
        ("cline", "run_commands", {"commands": ["ls", {"command": "rm", "args": ["-rf", "a b"]}]}, "command", "ls\nrm -rf 'a b'"),
        # a command of which a part cannot be read is not a command, and is refused
        ("cline", "run_commands", {"commands": ["ls", {"path": "x"}]}, "command", None),
    ],
)  # fmt: skip
def test_a_guard_sees_what_the_agent_reads(host, tool, given, key, text):
    _, seen, _ = translate_call(load_host(host).tools, tool, given)
    assert seen.get(key) == text


def test_kiro_refuses_tool_calls_alone():
    assert [event.kind.name for event in load_host("kiro-cli").events if event.block] == ["pre-tool-call"]
