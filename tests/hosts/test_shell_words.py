"""Commands of a shell that arrive as a list of words."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.outcome import NOTHING
from boathook.core.verdict import Verdict
from boathook.dialects.claude import write_event
from boathook.dialects.dialect import find_host_dialect
from boathook.errors import BeyondLimits
from boathook.hosts.shell_words import join_command, replace_command

JOINED = {
    "a shell and its text": (["bash", "-lc", "ls -la | wc"], "ls -la | wc"),
    "a shell by its path": (["/usr/bin/zsh", "-c", "ls"], "ls"),
    "a shell with several flags": (["bash", "-l", "-e", "-c", "rm -rf /"], "rm -rf /"),
    "a program": (["rm", "-rf", "/"], "rm -rf /"),
    "a pattern that no shell expands": (["rm", "*"], "rm '*'"),
    "quotes": (["echo", "it's", ""], "echo 'it'\"'\"'s' ''"),
    "a script": (["bash", "run.sh"], "bash run.sh"),
    "a shell without a text": (["bash", "-lc"], "bash -lc"),
    "a shell with arguments after the text": (["bash", "-c", "echo $0", "x"], "bash -c 'echo $0' x"),
    "one word": (["ls"], "ls"),
}


@pytest.mark.parametrize(("words", "text"), JOINED.values(), ids=JOINED)
def test_words_are_read_as_the_command_that_they_run(words, text):
    assert join_command(words) == text


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1))
def test_a_shell_reads_the_same_words_from_the_text(words):
    assert shlex.split(join_command(["x", *words])) == ["x", *words]


def test_another_command_keeps_the_shell_that_was_meant():
    assert replace_command(["/bin/sh", "-c", "rm x"], "ls") == ["/bin/sh", "-c", "ls"]
    assert replace_command(["rm", "x"], "ls | wc") == ["bash", "-lc", "ls | wc"]


def read_codex(command: object, event: str = "PreToolUse"):
    call = {"tool_name": "shell", "tool_input": {"command": command, "workdir": "/w"}}
    return find_host_dialect("codex").read_event(json.dumps(call).encode(), event)


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_codex_may_send_a_list_of_words(event):
    found = read_codex(["bash", "-lc", "ls -la"], event)
    assert (found.tool_name, found.tool_input) == ("Shell", {"command": "ls -la", "cwd": "/w"})
    read = json.loads(write_event(found))
    assert (read["tool_name"], read["tool_input"]["command"]) == ("Bash", "ls -la")
    assert "host_tool_words" not in read


@pytest.mark.parametrize(("changed", "words"), [("pwd", ["bash", "-lc", "pwd"]), ("ls -la", ["bash", "-lc", "ls -la"])])
def test_codex_gets_a_list_of_words_back(changed, words):
    event = read_codex(["bash", "-lc", "ls -la"])
    new_input = {"command": changed, "cwd": "/v"}
    answer = find_host_dialect("codex").write_answer(Verdict(event.with_data(tool_input=new_input), event, NOTHING))
    nested = json.loads(answer.stdout)["hookSpecificOutput"]
    assert nested["updatedInput"] == {"command": words, "workdir": "/v"}


@pytest.mark.parametrize("command", [[], ["ls", 1], [["ls"]], {"a": 1}, None, 5])
def test_what_is_not_a_list_of_words_is_still_refused(command):
    with pytest.raises(BeyondLimits):
        read_codex(command)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        # A program of the project that is called like a shell is not one.
        (["./bash", "-c", "ls"], "./bash -c ls"),
        (["/tmp/x/sh", "-lc", "ls -l"], "/tmp/x/sh -lc 'ls -l'"),
        (["bin/sh", "-c", "ls"], "bin/sh -c ls"),
        (["/bin/../tmp/sh", "-c", "ls"], "/bin/../tmp/sh -c ls"),
        # Bash takes these for options with a name: it runs the file `ls`.
        (["bash", "-norc", "ls"], "bash -norc ls"),
        (["bash", "-c", "-norc", "ls"], "bash -c -norc ls"),
        (["/opt/homebrew/bin/bash", "-lc", "ls"], "ls"),
        (["/usr/bin/zsh", "-fc", "ls"], "ls"),
    ],
)
def test_only_a_plain_call_of_a_shell_of_the_system_is_its_text(words, text):
    assert join_command(words) == text
