"""A command on a terminal of its own gets what a person would type."""

from __future__ import annotations

import os
import sys

from e2e.terminal import run_on_terminal

ASK = """
import sys
terminal = open("/dev/tty", "r+b", buffering=0)
terminal.write(b"Type 12ab to go on: ")
answer = terminal.readline().strip()
print("got", answer.decode(), sys.stdin.isatty())
sys.exit(0 if answer == b"12ab" else 3)
"""


def test_the_answer_is_found_in_the_question_and_typed(tmp_path):
    code, output = run_on_terminal([sys.executable, "-c", ASK], tmp_path, os.environ, "Type ([0-9a-f]{4})")
    assert (code, "got 12ab True" in output) == (0, True)


def test_a_command_that_asks_nothing_just_ends(tmp_path):
    code, output = run_on_terminal([sys.executable, "-c", "print('done'); exit(5)"], tmp_path, os.environ, "never")
    assert (code, output.strip()) == (5, "done")
