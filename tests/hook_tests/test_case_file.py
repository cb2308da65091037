from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.errors import ConfigError
from boathook.hook_tests.case import Case, GitSetup, LeftFile
from boathook.hook_tests.case_file import BODY, CASE, DETAIL, LINE_KINDS, WRONG, load_cases, parse_cases

EXAMPLES = sorted((Path(__file__).parents[2] / "examples/hooks").glob("*/tests.txt"))


def read_one(text: str) -> Case:
    read = parse_cases(text)
    assert read.diagnostics == ()
    [case] = read.cases
    return case


LINES = {
    "block  sudo rm -rf '/' # x": {"word": "block", "value": "sudo rm -rf '/' # x", "text": "sudo rm -rf '/' # x"},
    "pass\techo  two  blanks ": {"word": "pass", "value": "echo  two  blanks ", "text": "echo  two  blanks "},
    "ask Bash: mkfs": {"word": "ask", "tool": "Bash", "value": "mkfs", "text": "Bash: mkfs"},
    "skip mcp__files__read: a b": {"word": "skip", "tool": "mcp__files__read", "value": "a b"},
    "block apply_patch: x": {"word": "block", "tool": "apply_patch", "value": "x"},
    "pass foo: bar": {"word": "pass", "tool": "", "value": "foo: bar"},
    "pass C:x": {"word": "pass", "tool": "", "value": "C:x"},
    "allow @PreToolUse Shell: ls": {"word": "allow", "event": "PreToolUse", "tool": "Shell", "value": "ls"},
    "stop @pre-agent-turn-stop": {"word": "stop", "event": "pre-agent-turn-stop", "value": None, "text": ""},
    "todo-block rm": {"word": "block", "is_todo": True, "value": "rm"},
    "todo-pass rm": {"word": "pass", "is_todo": True, "value": "rm"},
    "corpus ../a b.json": {"word": "corpus", "value": "../a b.json"},
    "pass": {"word": "pass", "value": None, "text": ""},
}


@pytest.mark.parametrize(("line", "expected"), LINES.items(), ids=LINES)
def test_a_case_is_a_word_and_a_value_as_it_is(line, expected):
    for text in (line, f"{line}\n", f"{line}\r\n", f"# comment\n\n{line}\n"):
        case = read_one(text)
        assert {name: getattr(case, name) for name in expected} == expected


def test_indented_lines_belong_to_the_case_above_them():
    case = read_one(
        "block  x\n"
        "       says a reason\n"
        "       says another\n"
        "       adds some context\n"
        "       becomes y # z\n"
        "       with content\n"
        "         first\n"
        "           deeper\n"
        "\n"
        "         last\n"
        "       with old_string a b\n"
        '       event {"session_id": "s"}\n'
        '       file "a b.txt" one line\n'
        "       git fix/x dirty\n"
        "       file ~/.netrc\n"
        "       file folder/\n"
        "       program make exit 1\n"
        "       program curl\n"
        "         #!/usr/bin/env python3\n"
        "         print(1)\n"
        "       variable A b c\n"
        "       leaves log\n"
        "         all of it\n"
        "       leaves part some text\n"
        "       leaves any\n"
        "       on codex\n"
        '       settings {"protected": ["main"]}\n'
    )
    assert case.says == ("a reason", "another")
    assert case.adds == ("some context",)
    assert case.becomes == "y # z"
    assert case.fields == (("content", "first\n  deeper\n\nlast"), ("old_string", "a b"))
    assert case.event_fields == {"session_id": "s"}
    assert case.files == (("a b.txt", "one line\n"), ("~/.netrc", ""), ("folder/", ""))
    assert case.git == GitSetup("fix/x", "dirty", 1)
    assert case.programs == (("make", "#!/bin/sh\nexit 1\n"), ("curl", "#!/usr/bin/env python3\nprint(1)\n"))
    assert case.variables == (("A", "b c"),)
    assert case.leaves == (LeftFile("log", "all of it\n"), LeftFile("part", None, "some text"), LeftFile("any"))
    assert case.hosts == ("codex",)
    assert case.settings == {"protected": ["main"]}
    assert case.brings_code
    assert not case.is_plain


def test_a_here_document_is_a_field_with_a_text_below_it():
    case = read_one("block\n  with command\n    cat <<'EOF'\n    # no comment\n    \tx\n    EOF\n# a comment\n")
    assert case.fields == (("command", "cat <<'EOF'\n# no comment\n\tx\nEOF"),)


def test_a_hook_line_names_the_hook_of_the_cases_below_it():
    read = parse_cases("pass a\nhook PreToolUse:x.sh\npass b\npass c\nhook other\npass d\n")
    assert [(case.hook, case.value) for case in read.cases] == [
        ("", "a"),
        ("PreToolUse:x.sh", "b"),
        ("PreToolUse:x.sh", "c"),
        ("other", "d"),
    ]


# Each text, the line of its mistake, and parts of the message and of the fix.
MISTAKES = {
    "blok rm": (1, "'blok' is not a word that a case begins with", "did you mean 'block'?"),
    "  says x": (1, "belongs to no case", "first column"),
    "pass x\n  sayz y": (2, "'sayz' is not a word", "did you mean 'says'?"),
    "pass @pre-tool-cal x": (1, "unknown event 'pre-tool-cal'", "did you mean 'pre-tool-call'?"),
    "pass x\n  says": (2, "needs a text", "same line"),
    "pass x\n  says a\n    b": (2, "text on its line and another one below", "one of them"),
    "pass x\n  input [1]": (2, "must be a JSON object", "{"),
    "pass\n  input {": (2, "is not JSON", "one JSON object"),
    "pass x\n  input {}": (1, "both a value and 'input'", "one of them"),
    "pass x\n  becomes a\n  becomes b": (3, "twice", "once"),
    "pass x\n  git": (2, "needs the name of a branch", "git main"),
    "pass x\n  git -x": (2, "needs the name of a branch", "git main"),
    "pass x\n  git main dirt": (2, "not a state", "did you mean 'dirty'?"),
    "pass x\n  git main\n    x": (2, "has no lines of its own", "indent"),
    "pass x\n  file ../x": (2, "leaves the scratch project", "~/"),
    "pass x\n  file /etc/x": (2, "leaves the scratch project", "~/"),
    "pass x\n  file ~/../x": (2, "leaves the scratch project", "~/"),
    "pass x\n  file .git/config\n  git main": (2, "no repository before", "after the 'git' line"),
    "pass x\n  file ./.git/commondir y\n  git main": (2, "no repository before", "after the 'git' line"),
    "pass x\n  file a/.GIT/config y\n  git main": (2, "no repository before", "after the 'git' line"),
    'pass x\n  file "a': (2, "has no end", "close the double quotes"),
    'pass x\n  file "a"b': (2, "ends within a word", "blank"),
    "pass x\n  file": (2, "needs a path", "after 'file'"),
    "pass x\n  program a/b": (2, "not the name of a program", "without a folder"),
    "pass x\n  program ..": (2, "not the name of a program", "without a folder"),
    "pass x\n  variable A-B c": (2, "not the name of a variable", "letters"),
    "pass x\n  on codecs": (2, "'codecs' is not an agent", "did you mean 'codex'?"),
    "pass x\n  with content\n      a\n     b": (4, "less indented", "alike"),
    "corpus": (1, "needs the path", "relative"),
    "hook": (1, "needs the name", "boathook list"),
    "hook x\n  says y": (2, "no lines of its own", "first column"),
}


@pytest.mark.parametrize(("text", "expected"), MISTAKES.items(), ids=MISTAKES)
def test_a_mistake_is_reported_with_its_line_and_a_fix_and_the_next_case_is_read(text, expected):
    read = parse_cases(f"{text}\npass next\n", "hooks/x/tests.txt")
    line, message, fix = expected
    [found] = read.diagnostics
    assert (found.path, found.line, found.level) == ("hooks/x/tests.txt", line, "error")
    assert message in found.message
    assert fix in found.fix
    assert read.cases[-1].value == "next"


def test_many_mistakes_are_not_all_reported():
    read = parse_cases("wrong\n" * 1000 + "pass x\n")
    assert len(read.diagnostics) == 51
    assert "more mistakes" in read.diagnostics[-1].message
    assert [case.value for case in read.cases] == ["x"]


def test_load_cases_raises_what_is_wrong_with_a_file(tmp_path):
    path = tmp_path / "tests.txt"
    path.write_text("blok x\n")
    with pytest.raises(ConfigError, match=r"tests\.txt:1: 'blok' is not a word"):
        load_cases(str(path))
    path.write_bytes(b"pass \xff\n")
    with pytest.raises(ConfigError, match="is not UTF-8 at byte 5"):
        load_cases(str(path))
    with pytest.raises(ConfigError, match="cannot be opened"):
        load_cases(str(tmp_path / "absent.txt"))


WORDS = st.sampled_from(
    [
        *("block ", "pass", "todo-pass x", "skip @Stop", "hook a.py:b", "corpus c", "# x", "", " ", "\t", "   "),
        *(
            "  says a",
            "  file a b",
            "    deeper",
            "   git main",
            '  input {"a": 1}',
            " with x",
            "  program p",
            "\r",
            '"',
        ),
        *(
            "  on codex",
            "  leaves a",
            "  becomes",
            "blok",
            "Tool: x",
            "  variable A b",
            "  settings {}",
            "\N{NO-BREAK SPACE}x",
        ),
    ]
)


@given(st.lists(st.one_of(WORDS, st.text(max_size=12))).map("\n".join))
def test_reading_never_raises_and_accounts_for_every_line(text):
    read = parse_cases(text)
    lines = text.split("\n")
    count = len(lines) - (lines[-1] == "")
    assert len(read.line_kinds) == count
    assert {*read.line_kinds} <= {*LINE_KINDS}
    first_column = [at for at, kind in enumerate(read.line_kinds, 1) if kind == CASE]
    assert {case.line for case in read.cases} <= {*first_column}
    # A line that is no case, no part of one, empty nor a comment is reported.
    assert (WRONG not in read.line_kinds) or read.diagnostics
    for at, kind in enumerate(read.line_kinds):
        if kind in (DETAIL, BODY):
            assert lines[at][:1] in (" ", "\t")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_the_tests_of_the_examples_have_no_mistakes(path):
    assert len(load_cases(str(path))) >= 3
