"""Exported variables are read as a shell would set them, and nothing is run."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boathook.core.shell_exports import MAX_EXPANDED_CHARS, read_exports
from tests.example_counts import count_examples
from tests.growth import grows_in_proportion

AROUND = {"HOME": "/home/me", "PATH": "/usr/bin:/bin", "SPACE": "a b"}

READ = {
    "a plain one": ("A=1", {"A": "1"}),
    "an exported one": ("export A=1", {"A": "1"}),
    "two in one statement": ("export A=1 B=2", {"A": "1", "B": "2"}),
    "two statements on one line": ("A=1; B=2", {"A": "1", "B": "2"}),
    "as bash prints it": ('declare -x A="a \\"b\\" \\$HOME"', {"A": 'a "b" $HOME'}),
    "several lines in quotes": ('A="one\ntwo"\nB=3', {"A": "one\ntwo", "B": "3"}),
    "quotes side by side": ("A='x'\"y\"z", {"A": "xyz"}),
    "a variable": ("A=$HOME/bin", {"A": "/home/me/bin"}),
    "a variable in braces": ("A=${HOME}x", {"A": "/home/mex"}),
    "a variable in double quotes": ('A="$SPACE!"', {"A": "a b!"}),
    "no variable in single quotes": ("A='$HOME'", {"A": "$HOME"}),
    "one that is not set": ("A=<$NOPE>".replace("<", "").replace(">", ""), {"A": ""}),
    "an earlier one": ("A=1\nB=$A$A", {"A": "1", "B": "11"}),
    "a dollar alone": ('A="$ 5"', {"A": "$ 5"}),
    "an escaped space": ("A=a\\ b", {"A": "a b"}),
    "a dollar before a quote": ('A="5$"', {"A": "5$"}),
    "the home folder": ("A=~/bin:~ B=a~", {"A": "/home/me/bin:/home/me", "B": "a~"}),
    "no files": ("A=*.py B={a,b}", {"A": "*.py", "B": "{a,b}"}),
    "a continued line": ("A=a\\\nb", {"A": "ab"}),
    "a comment": ("A=1 # B=2\n# C=3", {"A": "1"}),
    "nothing": ("\n ; \n", {}),
}


@pytest.mark.parametrize(("text", "expected"), READ.values(), ids=READ)
def test_what_is_understood(text, expected):
    assert read_exports(text, AROUND) == (expected, ())


ODD = {
    "a command": "nvm use 20",
    "a substitution": "A=$(date)",
    "backticks": "A=`date`",
    "a substitution in quotes": 'A="$(date)"',
    "a pipe": "A=1 | cat",
    "a redirection": "A=1 > file",
    "an expansion with a default": "A=${B:-x}",
    "an argument": "A=$1",
    "a closed bracket": "A=1)",
    "a here-document": "A=1 <<E",
    "an addition": "A+=x",
    "an open quote": "A='x",
    "an open double quote": 'A="x',
    "no name": "=x",
    "a name with a dash": "A-B=x",
    "a quoted name": "'A=x'",
    "a variable as name": "$HOME=x",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_what_needs_a_shell_is_named_and_its_neighbours_are_read(text):
    assert read_exports(f"X=1\n{text}\nY=2\n", AROUND) == ({"X": "1", "Y": "2"}, (text,))


values = st.lists(
    st.sampled_from(
        [
            *"aé=-:*#/",
            "~/",
            "$HOME",
            "${SPACE}",
            "$V0",
            "'q $HOME'",
            '"d $SPACE"',
            '"\\""',
            '"$"',
            *("\\\\", "/\\\na", "\\ ", "\\$"),
        ]
    ),
    max_size=6,
).map("".join)
forms = st.sampled_from(["export V{}={}\n", "V{}={}; ", "declare -x V{}={}\n", "typeset -x V{}={} # comment\n"])


@settings(max_examples=count_examples(30))
@given(st.lists(st.tuples(forms, values), min_size=1, max_size=20))
def test_a_shell_sets_the_same(assignments):
    text = "".join(form.format(index, value) for index, (form, value) in enumerate(assignments))
    found, ignored = read_exports(text, AROUND)
    assert ignored == ()
    names = [f"V{index}" for index in range(len(assignments))]
    quoted = " ".join(f'"${name}"' for name in names)
    script = f"{text}\nprintf '%s\\0' {quoted}"
    done = subprocess.run(["bash", "-c", script], env=AROUND, capture_output=True, timeout=20, check=True)
    assert done.stdout.decode().split("\0")[:-1] == [found[name] for name in names]


# Limits on what a file may cost (found by fuzzing)


@pytest.mark.parametrize("line", ["A=$A$A\n", 'A="$A$A"\n', "A=${A}${A}\n"])
def test_a_variable_that_is_doubled_again_and_again_stays_within_its_limit(line):
    found, odd = read_exports("A=x\n" + line * 200 + "B=1\n", {})
    assert len(found["A"]) <= MAX_EXPANDED_CHARS
    assert found["B"] == "1"
    assert odd  # and that is reported


def test_lines_that_are_continued_belong_to_what_was_not_understood():
    assert read_exports("nvm use \\\nA=1\nB=2\n", {}) == ({"B": "2"}, ("nvm use \\\nA=1",))


@pytest.mark.parametrize("unit", ["\\\n", "A{n}=1\n", "${\n", "'\n", '"\n', "$"])
def test_a_file_of_variables_takes_time_by_its_length(unit):
    def read(count):
        return read_exports("".join(unit.replace("{n}", str(n)) for n in range(count)) + "(", {"HOME": "/"})

    assert grows_in_proportion(read, 1000)
