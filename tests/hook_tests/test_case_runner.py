"""Cases run through the engine, with real processes. The hook of these tests does what the command of a case says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from boathook.core.hook import ARMED, PROJECT, USER, Hook
from boathook.hook_tests import case_runner
from boathook.hook_tests.case_file import parse_cases
from boathook.hook_tests.case_runner import (
    FAILED_CASE,
    FIXED,
    NOT_RUN,
    PASSED,
    REFUSED_CASE,
    TODO,
    CaseResult,
    CaseRules,
    RunSetup,
    run_cases,
)
from boathook.hosts.host import list_host_names
from boathook.process.sandbox import ISOLATED, probe_sandbox_levels
from boathook.sources.hook_md.folder import read_hook
from tests.scratch_project import make_manifest, write_script

# Runs the command of the event, which has no double quotes in it.
OBEDIENT = """command=$(sed -n 's/.*"command": *"\\([^"]*\\)".*/\\1/p')
eval "$(printf %b "$command")"
"""
TRUSTED = CaseRules(is_hook_trusted=True, is_file_trusted=True)
CAN_ISOLATE = next(one.is_available for one in probe_sandbox_levels() if one.level == ISOLATED)


def make_hook(folder: Path, script: str = OBEDIENT, scope: str = USER, **fields: str) -> Hook:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "HOOK.md").write_text(make_manifest("obedient", **{"matcher": "{kind: shell}", **fields}))
    write_script(folder, script)
    hook, _ = read_hook(str(folder / "HOOK.md"), str(folder), scope)
    assert hook.state == ARMED, hook.diagnostics
    return hook


def run(hook: Hook, text: str, rules: CaseRules = TRUSTED, **fields) -> tuple[CaseResult, ...]:
    read = parse_cases(text)
    assert read.diagnostics == ()
    return run_cases(hook, read.cases, RunSetup(rules=rules, **fields))


AS_EXPECTED = r"""
block  echo no >&2; exit 2
       says no
pass   true
pass   echo some context
       adds some context
ask    answer
       program answer echo '{"decision": "ask", "reason": "sure?"}'
       says sure?
allow  answer
       program answer echo '{"decision": "allow"}'
stop   answer
       program answer echo '{"continue": false, "stop_reason": "enough"}'
       says enough
pass   answer
       program answer echo '{"modified_input": {"command": "true"}}'
       becomes true
skip   ReadFile: x
skip   @post-tool-call ls

# where it runs, and with what
pass   case $HOME:$PWD:$TMPDIR in /*/home:$HOME/project:/*/temp) ;; *) exit 2;; esac
pass   test $PATH = ${HOME%/home}/bin && ! type curl >/dev/null && test -z $USER$SSH_AUTH_SOCK
       variable USER
pass   test $GREETING = hello
       variable GREETING hello
pass   cat a/b.txt ~/.rc && test -d folder && ! test -e c && touch c && mkdir left
       file a/b.txt one
       file ~/.rc two
       file folder/
       adds
         one
         two
       leaves c
       leaves left/
       leaves a/b.txt
         one
pass   ! test -e c

# repositories
pass   git symbolic-ref --short HEAD && git log --format=%s && git status --porcelain
       git fix/x
       file new.txt
       adds
         fix/x
         start
         ?? new.txt
pass   git log --format=%s -1 && git ls-files && git status --porcelain
       file old.txt
       git main
       adds
         files of the case
         old.txt
pass   git status --porcelain
       git main dirty
       adds M tracked.txt
pass   git log || git status --porcelain --branch
       git main empty
       adds ## No commits yet on main
pass   git branch --format='%(refname:short)'
       git feature
       adds
         feature
         main

# the event
pass
       input {"command": "true", "cwd": "/x"}
pass
       with command
         true
         true
       event {"session_id": "mine", "tool_use_id": null}
todo-block  true
todo-block  exit 2
"""


def test_cases_end_as_expected(tmp_path):
    results = run(make_hook(tmp_path / "obedient"), AS_EXPECTED)
    statuses = [(result.case.line, result.status, result.messages) for result in results if result.status != PASSED]
    todo, fixed = statuses[-2:]
    assert statuses[:-2] == []
    assert todo[1:] == (TODO, ("expected block, got pass",))
    assert fixed[1:] == (FIXED, ("it answers block now: remove 'todo-' from the line",))
    assert not any(result.is_bad for result in results)


# The text of a case, and a part of what is said about it.
DIFFERENT = {
    "pass echo no >&2; exit 2": "expected pass, got block: no",
    "block true": "expected block, got pass",
    "skip true": "expected skip, got pass",
    "pass ReadFile: x": "expected pass, got skip (its matcher does not pick this call)",
    "block echo no >&2; exit 2\n  says yes": "the reason does not have 'yes'; it is: no",
    "pass true\n  adds x": "the added context does not have 'x'; there is none",
    "pass echo hello": "it added context, which the case does not say: hello",
    "pass true\n  becomes x": "it did not become 'x': nothing was rewritten",
    'pass answer\n  program answer echo \'{"modified_input": {"command": "true"}}\'': "it was rewritten, which the case",
    'pass answer\n  program answer echo \'{"modified_input": {"command": "true", "x": 1}}\'\n  becomes true': "'x' of",
    "pass true\n  leaves x": "it left no file x",
    "pass true\n  leaves x/": "it left no folder x/",
    "pass echo a >x\n  leaves x\n    b": "the file x is not as expected; it has: 'a\\n'",
    "pass echo a >x\n  leaves x b": "the file x does not have 'b'",
    "pass ln -s /etc/passwd x\n  leaves x root": "x is a link that leaves the scratch project",
    "pass ln -s /etc x\n  leaves x/passwd root": "x/passwd is a link that leaves the scratch project",
    "pass mkdir -p x/y; chmod 0 x/y x\n  leaves gone": "it left no file gone",
    # A failure is no answer, even where `on_failure` makes a block of it.
    "block exit 3": "the hook failed: exit code 3",
    "pass answer\n  program answer echo '{'": "the hook unreadable",
    "pass @pre-agent-turn\n  input {}": "so the case cannot have 'input'",
    "pass @pre-step hello": "an event pre-step has no value",
    'pass true\n  event {"tool_name": 1}': "'tool_name' of an event must be a text",
    "pass true\n  settings {}": "only hooks of a pack have settings",
    "corpus absent.json": "cannot be opened",
    "corpus /absent.json": "must be relative",
}


def test_a_case_that_differs_is_described(tmp_path):
    hook = make_hook(tmp_path / "obedient", on_failure="block")
    results = run(hook, "".join(f"{text}\n" for text in DIFFERENT))
    for text, result in zip(DIFFERENT, results, strict=True):
        assert result.status == FAILED_CASE, text
        assert DIFFERENT[text] in " ".join(result.messages), text


def test_settings_of_a_case_reach_a_hook_of_a_pack(tmp_path):
    script = 'case "$AGENT_HOOK_SETTINGS" in *strict*) exit 2 ;; esac'
    hook = make_hook(tmp_path / "obedient", script)
    text = 'block x\n  settings {"mode": "strict"}\npass x\n'
    assert [result.status for result in run(hook.replace(pack="acme/guards"), text)] == [PASSED, PASSED]
    refused, _ = run(hook, text)
    assert refused.is_bad
    assert "only hooks of a pack have settings" in " ".join(refused.messages)


def test_an_async_hook_runs_in_the_background_and_its_end_is_awaited(tmp_path):
    hook = make_hook(tmp_path / "obedient", **{"async": "true"})
    text = "pass sleep 0.1; echo done >x\n  leaves x done\npass exit 2\npass exit 3\nblock true\nskip ReadFile: x\n"
    results = run(hook, text)
    assert [result.status for result in results] == [PASSED, PASSED, FAILED_CASE, FAILED_CASE, PASSED]
    assert results[2].messages == ("the hook ended with exit code 3",)
    assert results[3].messages == ("expected block, got pass",)


def test_a_corpus_is_counted_and_the_first_misses_are_kept(tmp_path):
    hook = make_hook(tmp_path / "obedient")
    (tmp_path / "c.json").write_text(
        '[{"command": "exit 2", "expect": "block"}, {"value": "exit 2", "expect": "object"},'
        ' {"command": "true", "expect": "object", "why": "x"}, {"command": "true", "expect": "pass"}]'
    )
    (tmp_path / "c.jsonl").write_text(
        '{"command": "true", "expect": "pass"}\n\n{"command": "exit 2", "expect": "ask"}\n'
    )
    (tmp_path / "wrong.json").write_text('[{"command": "true", "expect": "maybe"}]')
    (tmp_path / "empty.json").write_text("[]")
    text = "corpus c.json\ncorpus c.jsonl\ncorpus wrong.json\ncorpus empty.json\n"
    first, second, wrong, empty = run(hook, text, path=str(tmp_path / "tests.txt"))
    assert (first.status, first.total) == (FAILED_CASE, 4)
    assert [(miss.entry.value, miss.got) for miss in first.misses] == [("true", "pass")]
    assert (second.total, [(miss.entry.value, miss.got) for miss in second.misses]) == (2, [("exit 2", "block")])
    assert "entry 1 of the corpus" in wrong.messages[0]
    assert (empty.status, empty.messages) == (FAILED_CASE, ("the corpus has no entries",))
    [sampled] = run(hook, "corpus c.json\n", path=str(tmp_path / "tests.txt"), corpus_step=3)
    assert (sampled.status, sampled.total) == (PASSED, 2)


def test_a_case_is_sent_in_the_words_of_an_agent(tmp_path):
    # Only an agent says what it calls its tool.
    native_only = make_hook(tmp_path / "a", "grep -q host_tool_name || exit 2", matcher="{kind: writes}")
    everywhere = make_hook(tmp_path / "b", "exit 2", matcher="{kind: writes}")
    text = "block a.txt\n  with content x\n  on codex\n"
    [missed], [seen] = run(native_only, text), run(everywhere, text)
    expected = (FAILED_CASE, "codex", ("in codex: expected block, got pass",))
    assert (missed.status, missed.host, missed.messages) == expected
    assert seen.status == PASSED
    shell = make_hook(tmp_path / "c", "exit 2", matcher="{tool: '^Shell$'}")
    [all_agents] = run(shell, "block ls\n", hosts=list_host_names())
    assert (all_agents.status, all_agents.messages) == (PASSED, ())
    gate = make_hook(tmp_path / "e", "exit 2", trigger="pre-agent-turn-stop", matcher="{}")
    [lost] = run(gate, "block\n", hosts=("kiro-cli",))
    assert (lost.status, lost.host) == (FAILED_CASE, "kiro-cli")
    assert lost.messages == ("in kiro-cli: the agent cannot refuse at pre-agent-turn-stop",)
    [absent] = run(make_hook(tmp_path / "d", "true", trigger="pre-step", matcher="{}"), "pass\n", hosts=("codex",))
    assert (absent.status, absent.messages) == (PASSED, ("codex has no event for this: pre-step",))


# Sandboxes


@pytest.mark.skipif(not CAN_ISOLATE, reason="needs bubblewrap")
def test_untrusted_hooks_and_untrusted_code_are_isolated(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    hook = make_hook(tmp_path / "obedient", scope=PROJECT)
    plain, bringing = f"pass touch {outside}/plain; true\n", f"pass prog; true\n  program prog touch {outside}/code\n"
    with_file = f"pass . ./x; true\n  file x touch {outside}/file\n"
    with_variable = f"pass eval $CODE; true\n  variable CODE touch {outside}/variable\n"
    text = plain + bringing + with_file + with_variable
    expected = {
        CaseRules(): [],
        CaseRules(is_hook_trusted=True): ["plain"],
        CaseRules(is_hook_trusted=True, is_file_trusted=True): ["code", "file", "plain", "variable"],
        CaseRules(without_sandbox=True): ["code", "file", "plain", "variable"],
    }
    for rules, left in expected.items():
        results = run(hook, text, rules)
        assert [result.messages for result in results if result.status != PASSED] == []
        assert sorted(os.listdir(outside)) == left
        for name in left:
            (outside / name).unlink()


@pytest.mark.skipif(not CAN_ISOLATE, reason="needs bubblewrap")
def test_an_isolated_case_has_its_scratch_project_and_its_programs(tmp_path):
    hook = make_hook(tmp_path / "obedient", scope=PROJECT)
    text = "pass prog && git log --format=%s\n  git main\n  program prog echo x >made\n  adds start\n  leaves made x\n"
    [result] = run(hook, text, CaseRules())
    assert (result.status, result.messages) == (PASSED, ())


def test_without_a_sandbox_untrusted_cases_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(case_runner, "_missing_sandbox", ["bubblewrap is not installed"])
    hook = make_hook(tmp_path / "obedient", scope=PROJECT)
    text = "pass true\npass prog\n  program prog true\n"
    untrusted = run(hook, text, CaseRules())
    assert [result.status for result in untrusted] == [REFUSED_CASE] * 2
    assert "bubblewrap is not installed. Review the hook with boathook trust" in untrusted[0].messages[0]
    half = run(hook, text, CaseRules(is_hook_trusted=True))
    assert [result.status for result in half] == [PASSED, REFUSED_CASE]
    allowed = run(hook, text, CaseRules(without_sandbox=True))
    assert [result.status for result in allowed] == [PASSED, PASSED]


def test_git_runs_nothing_that_a_case_brings_while_its_repository_is_made(tmp_path):
    mark = tmp_path / "ran"
    hook = make_hook(tmp_path / "obedient", scope=PROJECT)
    config = f'[filter "x"]\n         clean = touch {mark}\n       [core]\n         fsmonitor = touch {mark}'
    files = "file .gitattributes * filter=x\n     file a.txt"
    text = f"pass true\n     file ~/.gitconfig\n       {config}\n     {files}\n     git main\n"
    [result] = run(hook, text, CaseRules() if CAN_ISOLATE else TRUSTED)
    assert (result.status, result.messages) == (PASSED, ())
    assert not mark.exists()


@pytest.mark.parametrize("path", ["./.git/commondir", "~/project/.git/commondir", "sub/.git/config"])
def test_no_git_runs_in_a_scratch_project_with_a_repository_that_a_case_brings(tmp_path, path):
    mark = tmp_path / "ran"
    [case] = parse_cases("pass true\n  file a.txt\n  git main\n").cases
    files = ((path, "../evil\n"), ("evil/config", f"[core]\n  fsmonitor = touch {mark}\n"), ("evil/objects/x", ""))
    case = case.replace(files=files, git=case.git.replace(committed=len(files)))
    [result] = run_cases(make_hook(tmp_path / "obedient"), [case], RunSetup(rules=TRUSTED))
    assert (result.status, result.messages[0].partition(" ")[2]) == (
        FAILED_CASE,
        "is there before the 'git' line: write it after that line",
    )
    assert not mark.exists()


def test_hooks_that_would_call_a_model_are_not_run():
    from boathook.core.event import PRE_TOOL
    from boathook.core.hook import Prompt
    from boathook.dialects.dialect import find_hook_dialect

    hook = Hook("ask", PRE_TOOL, "PreToolUse", USER, Prompt("ok?"), "/x/settings.json", find_hook_dialect("claude"))
    [result] = run(hook, "pass ls\n")
    assert (result.status, result.messages) == (NOT_RUN, ("the hook 'ask' would call a model",))
