"""Commands that call boathook are found, in a time by their length."""

from __future__ import annotations

import pytest

from boathook.core.hook import Command
from boathook.sources.own_commands import has_own_command, is_own_command
from tests.growth import grows_in_proportion


@pytest.mark.parametrize("unit", ["! ", "env ", "-a ", "A=1 ", "'\n", "a\n", "$(boathook ", "eval boathook "])
@pytest.mark.parametrize("head", ["boathook ; env ", "boathook '"])
def test_commands_are_searched_in_a_time_by_their_length(head, unit):
    assert grows_in_proportion(lambda count: has_own_command(head + unit * count), 500)


@pytest.mark.parametrize(
    "text",
    [
        "boathook run",
        'sh -c "boathook run"',
        "sh -c 'boathook run'",
        "cat <<E\ndon't\nE\nboathook run",
        'echo "a;b" && boathook run',
        "if true; then boathook run; fi",
        'eval "boathook \\"run\\""',
        "echo 'x' | (boathook run)",
    ],
)
def test_a_call_of_ours_is_still_found(text):
    assert has_own_command(text)


def test_words_in_quotes_are_not_calls_of_boathook():
    assert not has_own_command("echo 'boathook run'")
    assert not has_own_command('echo "boathook run" \\; boathook')
    assert not is_own_command(Command("echo boathook run"))
