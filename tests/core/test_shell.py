"""The shell reader returns the words that a shell would run, and finds every command that may run."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boathook.core.shell import MAX_NESTING, ShellReader, get_assigned_name
from tests.example_counts import count_examples

VARIABLES = {"HOME": "/home/me", "A": "a b", "EMPTY": ""}


def read_words(text: str, *, strict: bool = False) -> list[list[str]]:
    """Return the words of each command as a shell would pass them on, unknown parts as written."""
    reader = ShellReader(text, VARIABLES.get, strict=strict)
    commands = []
    while (command := reader.read_command()) is not None:
        commands.append(command)
        if not command.is_clear:
            break
    return [[word.text for word in command.words] for command in commands]


# Both modes

PLAIN = {
    "": [],
    "a b": [["a", "b"]],
    "a; b && c || d & e": [["a"], ["b"], ["c"], ["d"], ["e"]],
    "a | b |& c": [["a"], ["b"], ["c"]],
    "(a; b)": [[], ["a"], ["b"]],
    "a\n\n# b\nc # d": [["a"], ["c"]],
    "a#b": [["a#b"]],
    "a \\\n b\\\nc": [["a", "bc"]],
    "a 'b c'\"d $A\"\\ e": [["a", "b cd a b e"]],
    '"\\$ \\` \\" \\\\ \\a"': [['$ ` " \\ \\a']],
    "$A ${A} $ $EMPTY": [["a b", "a b", "$", ""]],
    '"5$" "$\'"': [["5$", "$'"]],
    "~ ~/x a~ A=~/x:~ '~'": [["/home/me", "/home/me/x", "a~", "A=/home/me/x:/home/me", "~"]],
    "A=* A={b,c} A=[d]": [["A=*", "A={b,c}", "A=[d]"]],
    "a >b 2>&1 <c &>d e": [["a", "e"]],
    # A number is a descriptor only if it ends where the operator begins.
    "exit 1 >log2>&1": [["exit", "1"]],
    "a 5 >b2>c": [["a", "5"]],
    "a 5 2>c 6>d": [["a", "5"]],
    "a 2 >b": [["a", "2"]],
}


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
@pytest.mark.parametrize("text", PLAIN, ids=ascii)
def test_plain_commands_are_read_in_both_modes(text, strict):
    assert read_words(text, strict=strict) == PLAIN[text]


UNKNOWN = [
    "$B",
    "$1",
    "$@",
    "$?",
    "*.py",
    "a?",
    "[b]",
    "{a,b}",
    "~you",
    '"$B"',
    "$(a)",
    "`a`",
    "${A:-b}",
    "<(a)",
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_word_that_only_a_shell_can_know_has_no_value(text):
    command = ShellReader(f"x {text}", VARIABLES.get).read_all()[0]
    assert [(word.raw, word.value) for word in command.words] == [("x", "x"), (text, None)]


def test_words_and_commands_know_where_they_begin():
    text = "a 'b' ; c >d $A"
    commands = ShellReader(text, VARIABLES.get).read_all()
    assert [command.start for command in commands] == [0, 8]
    assert all(text.startswith(word.raw, word.start) for command in commands for word in command.words)


def test_a_redirection_has_its_parts():
    (command,) = ShellReader("a 2>&1 >>b &> 'c d' <<< e").read_all()
    parts = [(each.descriptor, each.operator, each.target and each.target.text) for each in command.redirections]
    assert parts == [("2", ">&", "1"), ("", ">>", "b"), ("", "&>", "c d"), ("", "<<<", "e")]


@pytest.mark.parametrize(
    ("text", "name"), [("A=1", "A"), ("A+=1", "A"), ("_a1=", "_a1"), ("A", ""), ("=1", ""), ("1A=", ""), ("é=1", "")]
)
def test_an_assignment_is_known_by_its_form(text, name):
    assert get_assigned_name(text) == name


# Strict

UNCLEAR = {
    "a $(b) c": ["a"],
    'a "x$(b)" c': ["a"],
    "a `b` c": ["a"],
    "a ${B:-c} d": ["a"],
    "a $'b' c": ["a"],
    "a <(b) c": ["a"],
    "a <<E b": ["a"],
    "a <<< b": ["a"],
    "a 'b": ["a"],
    'a "b': ["a"],
    "a > ; b": ["a"],
}


@pytest.mark.parametrize("text", UNCLEAR)
def test_a_strict_reader_stops_before_what_only_a_shell_can_know_and_stays_there(text):
    reader = ShellReader(text, strict=True)
    for _ in range(2):
        command = reader.read_command()
        assert (command.is_clear, reader.position) == (False, 2)
        if command.start == 0:
            assert [word.raw for word in command.words] == UNCLEAR[text]


def test_a_strict_reader_stops_after_so_many_characters():
    reader = ShellReader("a bb ccc dddd", strict=True, max_chars=5)
    command = reader.read_command()
    assert ([word.raw for word in command.words], command.is_clear) == (["a", "bb", "ccc"], False)


# Tolerant

NESTED = {
    "a $(b c) d": [["a", "$(b c)", "d"], ["b", "c"]],
    'a "$(b "c d" $(e))"': [["a", '$(b "c d" $(e))'], ["e"], ["b", "c d", "$(e)"]],
    "a `b \\`c\\``": [["a", "`b \\`c\\``"], ["b", "`c`"], ["c"]],
    "a=${b:-$(c)} d": [["a=${b:-$(c)}", "d"], ["c"]],
    '"${a:-"}"}"; b': [['${a:-"}"}'], ["b"]],
    "diff <(a b) >(c)": [["diff", "<(a b)", ">(c)"], ["a", "b"], ["c"]],
    "a --b=<(c)": [["a", "--b=<(c)"], ["c"]],
    "x=$((1<<2))\na\n2\nb": [["x=$((1<<2))"], ["a"], ["2"], ["b"], []],
    "((1<<2))\na": [[], ["a"]],
    "a $(case b in (c) d;; e) f;; esac) g": [
        *(["a", "$(case b in (c) d;; e) f;; esac)", "g"], ["case", "b", "in"], ["c"], ["d"], ["e"], ["f"], ["esac"]),
    ],
    "$'a b' c": [["a b", "c"]],
    r"$'\x2eag\145nts\u002f' $'a\\n\'\n' $'\q\x'": [[".agents/", "a\\n'\n", r"\q\x"]],
    '$"a b" c': [["a b", "c"]],
}


@pytest.mark.parametrize("text", NESTED)
def test_commands_in_substitutions_are_read_too(text):
    commands = ShellReader(text).read_all()
    assert [[word.text for word in command.words] for command in commands] == NESTED[text]


HEREDOCS = {
    "plain": ("cat <<E\n$(a) `b` it's\nE\nc", [["cat"], ["c"], ["a"], ["b"]], "$(a) `b` it's\n"),
    "quoted": ("cat <<'E'\n$(a)\nE\nc", [["cat"], ["c"]], "$(a)\n"),
    "indented": ("cat <<-E\n\tx\n\tE\nc", [["cat"], ["c"]], "\tx\n"),
    "in a pipeline": ("cat <<E |\nx\nE\nc", [["cat"], ["c"]], "x\n"),
    "in a substitution": ("a $(cat <<E\nx\nE\n) b", [["a", "$(cat <<E\nx\nE\n)", "b"], ["cat"]], "x\n"),
    "without an end": ("cat <<E\na\nb", [["cat"], ["a"], ["b"]], ""),
    "empty": ("cat <<E\nE\nc", [["cat"], ["c"]], ""),
}


@pytest.mark.parametrize("case", HEREDOCS)
def test_a_here_document_is_not_a_command(case):
    text, words, body = HEREDOCS[case]
    commands = ShellReader(text).read_all()
    assert [[word.text for word in command.words] for command in commands] == words
    assert [redirection.body for command in commands for redirection in command.redirections] == [body]


def test_two_here_documents_of_a_line_follow_each_other():
    first, second = ShellReader("cat <<A <<B\na\nA\nb\nB\nc").read_all()
    assert [redirection.body for redirection in first.redirections] == ["a\n", "b\n"]
    assert second.words[0].raw == "c"


OPEN = {"a": None, "a 'b": 2, 'a "b': 2, "a $(b": 2, 'a "$(b': 2, "a `b": 2, "a ${b": 2, "a $'b": 3, "a `b 'c`": 2}


@pytest.mark.parametrize("text", OPEN)
def test_a_tolerant_reader_continues_and_reports_what_never_ends(text):
    reader = ShellReader(text)
    assert reader.read_all()[0].words[0].raw == "a"
    assert reader.open_at == OPEN[text]


@pytest.mark.parametrize("unit", ["$(", '"$(', "${a:-", "`", "<(", "a=$((", "\\`"])
def test_no_depth_is_too_much(unit):
    commands = ShellReader(unit * MAX_NESTING * 100 + " x; b").read_all()
    assert all(command.is_clear for command in commands)


# The same as others

blank_free = st.text("ab'\"\\ \t./-_=:%@+", max_size=20)


@given(blank_free)
def test_words_are_split_as_the_standard_library_splits_them(text):
    try:
        expected = shlex.split(text, posix=True)
    except ValueError:
        reader = ShellReader(text)
        reader.read_all()
        assert reader.open_at is not None or text.endswith("\\")
        return
    assert [word for command in read_words(text, strict=True) for word in command] == expected


# No variables outside of quotes, because a shell splits their values; assignments have them (test_exports).
parts = st.sampled_from(
    [
        *"ab=:-./é%~",
        "\\ ",
        "\\\\",
        "\\$",
        "\\\n",
        "'q $A'",
        "'\"'",
        '"d $A"',
        '"${A}"',
        '"$EMPTY"',
        '"\\""',
        '"\\a"',
        '"$"',
    ]
)
lines = st.lists(st.lists(parts, min_size=1, max_size=5).map("".join), min_size=1, max_size=4)


@settings(max_examples=count_examples(30))
@given(st.lists(lines, min_size=1, max_size=20))
def test_a_shell_passes_on_the_same_words(generated):
    scripts, expected = [], []
    for words in generated:
        text = f"printf '%s\\0' {' '.join(words)}"
        reader = ShellReader(text, VARIABLES.get, strict=True)
        command = reader.read_command()
        read = command.words[2:]
        if command.is_clear and read and all(word.is_known for word in read):
            scripts.append(text)
            expected += [word.text for word in read]
    done = subprocess.run(
        ["bash", "-c", "\n".join(scripts)], env=VARIABLES, capture_output=True, timeout=120, check=True
    )
    assert done.stdout.decode().split("\0")[:-1] == expected


commands = st.sampled_from(
    [*"ab $'\"\\`|&;()<>#{}\n=~*", "$(", "${", "<<E\n", "\nE\n", "((", "))", "<(", "case a in a) ", "$'", "A=", "2>"]
)


@given(st.lists(commands, max_size=15).map("".join) | st.text(max_size=30))
def test_no_text_makes_reading_fail_and_every_word_is_in_it(text):
    for strict in (True, False):
        reader = ShellReader(text, VARIABLES.get, strict=strict)
        while (command := reader.read_command()) is not None and command.is_clear:
            assert all(text.startswith(word.raw, word.start) for word in command.words)
        assert reader.position >= len(text) or strict


def test_a_substitution_has_the_value_that_the_caller_knows() -> None:
    values = {"$(echo a)": "a", "${B:-c}": "c"}

    words = ShellReader("x$(echo a)y `echo a` ${B:-c} $(pwd)", evaluate=values.get).read_all()[0].words

    assert [word.value for word in words] == ["xay", "a", "c", None]


def test_a_known_substitution_does_not_make_an_unknown_word_known() -> None:
    words = ShellReader("$UNKNOWN$(echo a)", evaluate=lambda _: "a").read_all()[0].words

    assert words[0].value is None
