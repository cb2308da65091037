"""Completion in shells: what is offered, and that bash inserts it rightly."""

from __future__ import annotations

import subprocess
import sys

import pytest

import boathook
from tests.packs.toy_packs import write_pack
from tests.scratch_project import CALL


def complete(project, line, shell="bash"):
    """Return what is offered at the end of a command line."""
    variables = {"_BOATHOOK_COMPLETE": f"{shell}_complete", "COMP_LINE": line}
    printed = project.run(env=variables).stdout
    return [row.partition(",")[2] for row in printed.splitlines() if row]


@pytest.fixture
def busy(project):
    project.write_hook("mine")
    project.write_hook("theirs", scope="project")
    write_pack(project.path / "toys", {"first": "return None", "second": "return None"})
    assert project.run("pack", "add", "./toys", "--name", "acme/toys", "--yes").returncode == 0
    return project


def test_names_of_hooks_are_completed_where_they_are_meant(busy):
    packed = ["acme/toys:first", "acme/toys:second"]
    expected = {
        "boathook show ": [*packed, "mine", "theirs", "first", "second"],
        "boathook show mi": ["mine"],
        "boathook test th": ["theirs"],
        "boathook log --hook ac": packed,
        "boathook trust ": ["theirs"],
        "boathook deny ": ["theirs"],
        "boathook untrust t": ["theirs"],
        "boathook trust theirs ": [],
        "boathook pack on ": packed,
        "boathook pack off acme/toys:s": ["acme/toys:second"],
        "boathook show nosuch": [],
    }
    assert {line: sorted(complete(busy, line)) for line in expected} == {
        line: sorted(names) for line, names in expected.items()
    }


def test_ids_events_agents_and_commands_are_completed(busy):
    with boathook.load() as engine:
        ids = [engine.dispatch({**CALL, "event_type": "pre-tool-call"}).id for _ in range(2)]
    assert complete(busy, "boathook why ") == ids[::-1]
    assert complete(busy, f"boathook why {ids[0][:6]}") == ids[:1]
    assert complete(busy, "boathook explain pre-t") == ["pre-tool-call"]
    assert complete(busy, "boathook log --agent cod") == ["codex"]
    assert complete(busy, "boathook install cod") == ["codex"]
    assert complete(busy, "boathook sho") == ["show"]
    assert "--decision" in complete(busy, "boathook log --dec")


def test_a_name_that_a_shell_would_act_on_is_not_offered(project):
    folder = project.write_hook("x", scope="project")
    folder.rename(folder.with_name("$(touch seen)"))
    manifest = folder.with_name("$(touch seen)") / "HOOK.md"
    manifest.write_text(manifest.read_text().replace("name: x", "name: $(touch seen)"))
    assert complete(project, "boathook show ") == []


def test_a_description_brings_no_signs_that_a_terminal_obeys(busy):
    with boathook.load() as engine:
        engine.dispatch({**CALL, "event_type": "pre-tool-call", "tool_input": {"command": "echo \x1b]0;title\x07"}})
    fish = {"_BOATHOOK_COMPLETE": "fish_complete", "COMP_WORDS": "boathook why ", "COMP_CWORD": ""}
    printed = busy.run(env=fish).stdout
    assert "echo \\x1b]0;title\\x07" in printed
    assert "\x1b" not in printed


def test_a_folder_that_cannot_be_read_completes_nothing(project):
    project.write_hooks_toml("user", "[hooks\n")
    done = project.run(env={"_BOATHOOK_COMPLETE": "bash_complete", "COMP_LINE": "boathook show --project /nosuch "})
    assert (done.stdout.strip(), done.stderr) == ("", "")


ASK_BASH = """
boathook() {{ {python} -m boathook "$@"; }}
eval "$(boathook completion bash)"
COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}
_boathook_completion boathook
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def test_bash_inserts_only_what_comes_after_a_colon(busy):
    for line, expected in (("boathook show acme/toys:se", "second\n"), ("boathook show mi", "mine\n")):
        script = ASK_BASH.format(python=sys.executable, line=line)
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, env=busy.environment, cwd=busy.path
        )
        assert (done.stdout, done.stderr) == (expected, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_for_every_shell_and_is_always_the_same(project, shell):
    first, second = (project.run("completion", shell).stdout for _ in range(2))
    assert first == second
    assert "_BOATHOOK_COMPLETE" in first


def test_zsh_and_fish_get_a_description_of_each_hook(busy):
    zsh = {"_BOATHOOK_COMPLETE": "zsh_complete", "COMP_WORDS": "boathook show acme/toys:f", "COMP_CWORD": "2"}
    assert busy.run(env=zsh).stdout.splitlines()[1].replace("\\", "") == "acme/toys:first"
    fish = {"_BOATHOOK_COMPLETE": "fish_complete", "COMP_WORDS": "boathook show mi", "COMP_CWORD": "mi"}
    assert busy.run(env=fish).stdout.startswith("plain,mine\tarmed: a test")
