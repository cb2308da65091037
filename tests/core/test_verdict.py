"""Runs and verdicts as values, and as what `run --json` prints."""

from __future__ import annotations

import pytest

from boathook.core.event import Event
from boathook.core.notices import list_names
from boathook.core.outcome import Decision, Outcome
from boathook.core.verdict import FAILED, OK, UNREADABLE, Run, Skip, StartedHook, Verdict
from tests.core.builders import a_call, a_hook

BLOCK = Outcome(Decision.BLOCK, ((Decision.ALLOW, "fine"), (Decision.BLOCK, "no"), (Decision.BLOCK, "never")))


def test_the_json_of_a_run_has_all_its_fields():
    run = Run(a_hook(scope="project"), OK, BLOCK, 2, 0.04567, "", ("a note",), 2)
    assert run.to_json() == {
        "hook": "guard",
        "scope": "project",
        "status": "ok",
        "exit_code": 2,
        "duration_ms": 45.7,
        "decision": "block",
        "reason": "no\nnever",
        "look": 2,
        "file": None,
        "notes": ["a note"],
    }


def test_the_reason_of_a_failed_run_is_its_error_and_a_silent_run_has_none():
    assert Run(a_hook(), FAILED, Outcome(), 1, error="exit code 1").to_json()["reason"] == "exit code 1"
    assert Run(a_hook(), OK, Outcome(), 0).to_json()["reason"] is None


def test_the_json_of_a_verdict_has_all_its_fields():
    before, after = a_call("ls"), a_call("ls -l")
    outcome = Outcome(
        Decision.ASK, ((Decision.ASK, "sure?"),), {"command": "ls -l"}, None, ("context",), ("message",), ("log",)
    )
    run = Run(a_hook(), OK, outcome, 0)
    verdict = Verdict(after, before, outcome, (run,), (StartedHook("later", 7),), (Skip("off", "disabled"),))
    assert verdict.to_json() == {
        "version": 1,
        "event": "pre-tool-call",
        "decision": "ask",
        "reasons": ["sure?"],
        "modified_input": {"command": "ls -l"},
        "modified_output": None,
        "additional_context": ["context"],
        "system_message": ["message"],
        "feedback": None,
        "lifted": [],
        "runs": [run.to_json()],
        "background": [{"hook": "later", "pid": 7}],
        "skipped": [{"hook": "off", "why": "disabled"}],
        "id": None,
    }
    assert (verdict.is_blocked, verdict.decision, verdict.reasons) == (False, Decision.ASK, ("sure?",))


@pytest.mark.parametrize("decision", [*map(Decision, range(5))])
def test_a_verdict_proceeds_and_is_blocked_exactly_as_its_outcome(decision):
    outcome = Outcome(decision)
    verdict = Verdict(a_call(), a_call(), outcome)
    assert (verdict.proceeds, verdict.is_blocked) == (outcome.proceeds, outcome.is_blocked)
    assert verdict.proceeds is (decision in (Decision.NONE, Decision.ALLOW))


def test_an_input_that_is_the_same_again_is_not_modified():
    assert Verdict(a_call(), a_call(), Outcome(input={"command": "ls"})).modified_input is None


def test_a_blocked_stop_has_feedback():
    event = Event.of("Stop")
    assert Verdict(event, event, BLOCK).feedback == "[Hook blocked stop: no; never]"
    assert Verdict(event, event, Outcome(Decision.STOP)).feedback is None
    assert Verdict(event, event, Outcome()).feedback is None
    assert Verdict(a_call(), a_call(), BLOCK).feedback is None


def test_a_note_that_several_hooks_have_is_one_line():
    note = "the variable PYTHONPATH points into the project and was removed"
    names = ("one", "two", "three", "four", "five")
    runs = tuple(Run(a_hook(name), OK, Outcome(), 0, notes=(note, f"of {name}")) for name in names)
    warnings = Verdict(a_call(), a_call(), Outcome(), runs).warnings()
    assert [line for line in warnings if note in line] == [f"hooks {list_names(names)}: {note}"]
    assert len(warnings) == 1 + len(names)


def test_every_failure_note_and_loud_skip_is_reported_once():
    runs = (
        Run(a_hook("one"), FAILED, Outcome(), 1, error="exit code 1"),
        Run(a_hook("one"), FAILED, Outcome(), 1, error="exit code 1", look_number=2),
        Run(a_hook("two"), OK, Outcome(), 0, notes=("no effect",)),
        Run(a_hook("three"), UNREADABLE, Outcome(), 0, error="NaN is not JSON", notes=("is slow",)),
        Run(a_hook("four"), FAILED, BLOCK, 2, error="is among the reasons"),
        Run(a_hook("five"), OK, BLOCK, 2),
    )
    file = Skip("/hooks.toml", "ignored: it is broken", is_warning=True, is_hook=False)
    skipped = (Skip("off", "disabled"), Skip("a/b", "no trigger", is_warning=True), file)
    assert Verdict(a_call(), a_call(), BLOCK, runs, (), skipped).warnings() == (
        "hook 'a/b' did not run: no trigger",
        "ignored: it is broken",
        "hook 'one' failed: exit code 1",
        "hook 'two': no effect",
        "hook 'three' gave an unreadable answer: NaN is not JSON",
        "hook 'three': is slow",
    )
