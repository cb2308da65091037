"""A command on a terminal of its own gets what a person would type."""

from __future__ import annotations

import os
import sys

from e2e.terminal import TYPED, run_at_terminal

ASK = """
import sys
terminal = open("/dev/tty", "r+b", buffering=0)
terminal.write(b"Type 12ab to go on: ")
answer = terminal.readline().strip()
print("got", answer.decode(), sys.stdin.isatty())
sys.exit(0 if answer == b"12ab" else 3)
"""


def test_the_answer_is_found_in_the_question_and_typed(tmp_path):
    code, output = run_at_terminal(
        [sys.executable, "-c", ASK], [TYPED], cwd=tmp_path, env=os.environ, prompt="Type ([0-9a-f]{4})"
    )
    assert (code, "got 12ab True" in output) == (0, True)


def test_a_command_that_asks_nothing_just_ends(tmp_path):
    code, output = run_at_terminal(
        [sys.executable, "-c", "print('done'); exit(5)"], ["x"], cwd=tmp_path, env=os.environ
    )
    assert (code, output.strip()) == (5, "done")


def test_each_prompt_gets_its_own_answer(tmp_path):
    code = "print(input('one? [y/N]: '), input('two? [y/N]: '))"
    assert run_at_terminal([sys.executable, "-c", code], ["a", "b"], cwd=tmp_path, env=os.environ)[1].endswith("a b\n")


INTERRUPTED = """
import time
try:
    print("go? [y/N]: ", end="", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    exit(7)
"""


def test_ctrl_c_counts_although_the_tests_ignore_it(tmp_path, ignored_sigint):
    assert run_at_terminal([sys.executable, "-c", INTERRUPTED], ["\x03"], cwd=tmp_path, env=os.environ)[0] == 7
