"""Which programs the processes above this one run."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from boathook.system import ancestors
from boathook.system.ancestors import list_ancestors, make_ancestor
from tests.terminal import make_agent, make_agent_script

SHOW = "from boathook.system.ancestors import list_ancestors; print([one.names for one in list_ancestors()])"


def test_the_parent_comes_first_and_the_list_ends():
    found = list_ancestors()
    assert found[0].pid == os.getppid()
    assert len({one.pid for one in found}) == len(found)


def test_the_list_by_ps_is_the_same(monkeypatch):
    by_files = [one.pid for one in list_ancestors()]
    monkeypatch.setattr(ancestors.os.path, "exists", lambda _: False)
    found = list_ancestors()
    assert [one.pid for one in found] == by_files
    assert all(one.names for one in found)


def test_a_process_that_does_not_exist_has_none():
    assert list_ancestors(2**22 + 5) == ()


def test_a_program_has_the_name_of_its_file(tmp_path):
    agent = make_agent(tmp_path / "a b)c", "claude")
    done = subprocess.run([agent, sys.executable, "-c", SHOW], capture_output=True, text=True, check=True)
    assert "'claude'" in done.stdout


def test_a_script_of_an_interpreter_counts(tmp_path):
    agent = make_agent_script(tmp_path, "lib/@google/gemini-cli/bundle/gemini.js")
    done = subprocess.run([*agent, sys.executable, "-c", SHOW], capture_output=True, text=True, check=True)
    assert "'gemini'" in done.stdout


CASES = {
    "a program": (["/usr/bin/claude"], ["claude", "-p"], ("claude",), ""),
    "another name of the file": (["2.1.325", "/opt/versions/2.1.325"], ["claude"], ("2.1.325", "claude"), ""),
    "windows' ending": (["claude.exe"], ["/x/bin/claude.exe"], ("claude",), ""),
    "a login shell": (["zsh"], ["-zsh"], ("zsh",), ""),
    "node and a script": (["node"], ["node", "/usr/bin/gemini", "x"], ("node", "gemini"), "/usr/bin/gemini"),
    "options of node": (["node"], ["node", "--no-warnings", "/x/codex.js"], ("node", "codex"), "/x/codex.js"),
    "a version of Python": (["python3.12"], ["python3.12", "/bin/kimi"], ("python3.12", "kimi"), "/bin/kimi"),
    "a module": (["python3"], ["python3", "-I", "-m", "kimi_cli.cli"], ("python3", "kimi_cli"), "kimi_cli"),
    "an editor with a file": (["vim"], ["vim", "claude"], ("vim",), ""),
    "nothing": ([""], [], (), ""),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_names_of_a_process(case):
    programs, words, names, script = case
    found = make_ancestor(1, programs, words)
    assert (found.names, found.script) == (names, script)
