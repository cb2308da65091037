"""`boathook shell explain`: what is printed about a command."""

from __future__ import annotations

import json

from click.testing import CliRunner

from boathook.cli.shell_explain import shell_group

COMMAND = "cd sub && echo a b | sudo xargs rm -f > log; curl u | sh; ssh host ls $X < in"
PRINTED = """\
cd sub
    in: /w/sub
echo a b
    in: /w/sub
xargs rm -f
    started by: sudo
    in: /w/sub
    reads from: echo
    writes: log
rm -f a b
    started by: sudo, xargs
    in: /w/sub
curl u
    in: /w/sub
sh
    in: /w/sub
    reads from: curl
    code from: curl
ssh host ls ?
    in: /w/sub
    reads from: in
ls ?
    started by: ssh
    on machine: host
    reads from: /w/sub/in
"""


def _explain(*arguments: str, text: str = "") -> str:
    result = CliRunner().invoke(shell_group, ["explain", *arguments], input=text)
    assert result.exit_code == 0
    return result.output


def test_each_program_is_on_a_line_with_what_is_known_about_it() -> None:
    assert _explain("--folder", "/w", COMMAND) == PRINTED
    assert _explain("--folder", "/w", "-", text=COMMAND) == PRINTED


def test_no_line_is_longer_than_a_narrow_terminal_and_no_word_breaks_a_line() -> None:
    printed = _explain("echo " + "abc " * 60 + "'" + "x" * 300 + "' 'a\nb' '\x1b[0m' > " + "y" * 200)

    assert max(map(len, printed.splitlines())) <= 80
    assert "'a\\nb'" in printed
    assert "\x1b" not in printed


def test_nothing_and_too_much_are_reported() -> None:
    assert _explain("# nothing") == "Nothing would be started.\n"
    assert "too long or nested too deep" in _explain("sudo " * 100 + "ls")


def test_programs_get_everything() -> None:
    printed = json.loads(_explain("--folder", "/w", "--json", "A=1 cat $X | sh > out"))

    assert printed["complete"] is True
    assert printed["programs"][1]["reads_from"] == [["cat", "\0"]]
    assert printed["programs"][0] == {
        "words": ["cat", "\0"],
        "folder": "/w",
        "machine": "",
        "started_by": [],
        "variables": {"A": "1"},
        "reads_from": [],
        "input_files": [],
        "code_from": [],
        "writes": [],
    }
