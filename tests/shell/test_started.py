"""Which programs a shell text starts, with which words, in which folder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.shell.arguments import UNKNOWN
from boathook.shell.path_changes import list_path_changes, list_redirected_paths
from boathook.shell.scope import ShellScope, expand_braces
from boathook.shell.started import MAX_COMMAND_CHARS, StartedReader


def _read(text: str) -> StartedReader:
    reader = StartedReader()
    reader.read(text, ShellScope("/p", {"HOME": "/h"}))
    return reader


STARTED = {
    "ls -a": [("/p", "ls", "-a")],
    "cd x && ls": [("/p/x", "cd", "x"), ("/p/x", "ls")],
    "(cd x; ls); pwd": [("/p/x", "cd", "x"), ("/p/x", "ls"), ("/p", "pwd")],
    "A=b; echo $A": [("/p", "echo", "b")],
    "echo ${A:-b}": [("/p", "echo", "b")],
    "echo $(echo b)": [("/p", "echo", "b"), ("/p", "echo", "b")],
    "sudo -u x env A=1 timeout 5 rm y": [("/p", "rm", "y")],
    "sh -c 'rm $1' _ y": [("/p", "sh", "-c", "rm $1", "_", "y"), ("/p", "rm", "y")],
    "echo y | xargs rm": [("/p", "echo", "y"), ("/p", "xargs", "rm"), ("/p", "rm", "y")],
    "cat <<E | sh\nrm y\nE": [("/p", "cat"), ("/p", "sh"), ("/p", "rm", "y")],
    "uv run rm y": [("/p", "rm", "y")],
    "rm $UNKNOWN": [("/p", "rm", UNKNOWN)],
    "rm x{a,b}": [("/p", "rm", "xa", "xb")],
    "command -v rm": [("/p", ":")],
    "npm exec --yes -- rm y": [("/p", "rm", "y")],
    "pnpm --filter a dlx rimraf@5.0.1 y": [("/p", "rimraf", "y")],
    "npx -c 'rm y'": [("/p", "sh", "-c", "rm y"), ("/p", "rm", "y")],
    "npm install rimraf": [("/p", "npm", "install", "rimraf")],
    "ls a | entr -c cat /_": [("/p", "ls", "a"), ("/p", "entr", "-c", "cat", "/_"), ("/p", "cat", "a/*")],
    "hyperfine -w 3 'rm y'": [("/p", "hyperfine", "-w", "3", "rm y"), ("/p", "rm", "y")],
}


@pytest.mark.parametrize("text", STARTED)
def test_started_programs(text: str) -> None:
    assert [(one.folder, *one.words) for one in _read(text).started] == STARTED[text]


CHANGED = {
    "rm -r a b": ["tree a", "tree b"],
    "mv a b": ["tree a", "exact b", "tree b/a"],
    "sed -i s/a/b/ c": ["exact s/a/b/", "exact c"],
    "sed s/a/b/ c": [],
    "cat a > b": ["exact b"],
    "ls 2>/dev/null >&2": [],
    "tee -a x": ["exact x"],
    "dd if=a of=b": ["exact b"],
    "tar xf a -C b": ["overlay b"],
    "git clean -fd": ["tree ."],
    "git clean -n": [],
    "git -C x rm y": ["exact x/y"],
    "mkdir x": ["create x"],
    "chmod +x a": [],
    "chmod -R 0 a": ["tree a"],
    "uniq -c a b": ["exact b"],
    "uniq -f 1 a": [],
    "xxd -c 4 a b": ["exact b"],
    "sort -uo a b": ["exact a"],
    "gawk -i inplace 1 a": ["exact inplace", "exact 1", "exact a"],
    "yq -i . a": ["exact .", "exact a"],
    "yq . a": [],
}


@pytest.mark.parametrize("text", CHANGED)
def test_changed_paths(text: str) -> None:
    changes = [
        change
        for one in _read(text).started
        for change in (*(list_path_changes(one) or ()), *list_redirected_paths(one))
    ]

    assert [f"{change.way} {change.path}" for change in changes] == CHANGED[text]


def test_a_program_that_is_not_known_has_no_list_of_changes() -> None:
    assert list_path_changes(_read("some-tool x").started[0]) is None


def test_what_is_too_long_or_too_deep_is_not_complete() -> None:
    deep = "rm x"
    for _ in range(9):
        deep = "eval '" + deep.replace("'", "'\\''") + "'"

    assert not _read(" " * (MAX_COMMAND_CHARS + 1)).is_complete
    assert not _read(deep).is_complete


def test_a_variable_that_doubles_itself_does_not_grow_without_end() -> None:
    assert _read("A=aaaaaaaa; " + "A=$A$A; " * 200 + "echo $A").started[-1].words == ("echo", UNKNOWN)


def test_many_braces_do_not_grow_without_end() -> None:
    assert len(expand_braces("{a,b}" * 40)) < 200


@given(st.text(alphabet="ab$(){}'\"`\\|&;<>\n =~*?[],!-", max_size=200))
def test_no_text_raises(text: str) -> None:
    for one in _read(text).started:
        list_path_changes(one)
