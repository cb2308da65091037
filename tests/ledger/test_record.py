"""Records: what is kept of a verdict, and never more than fits."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import Event
from boathook.core.json_text import canonical_json, dump_line
from boathook.core.outcome import Decision, Outcome
from boathook.core.verdict import FAILED, OK, TIMEOUT, Exit, Run, Skip, StartedHook, Verdict
from boathook.ledger.record import (
    MAX_RECORD_BYTES,
    hash_value,
    make_dispatch_record,
    make_end_record,
    make_pruned_record,
    must_sync,
)
from tests.core.builders import a_call, a_hook, a_settings_hook, json_objects

AROUND = {"host": "native", "project": "/w"}
NO = Outcome.block("no: token=hunter2")


def record(verdict: Verdict, **more):
    return make_dispatch_record(
        verdict.replace(id="abc"), AROUND, time="2026-01-31T12:00:00.000Z", seconds=0.0123, **more
    )


def test_a_record_shows_what_happened_without_the_secrets():
    event = a_call("rm --password hunter2")
    runs = (
        Run(a_hook("guard", tool="Shell", pattern="rm"), OK, NO, 2, 0.0015, notes=("a note",)),
        Run(a_settings_hook("slow"), TIMEOUT, Outcome(), None, 1.0, "took longer than 1 s"),
    )
    skipped = (
        Skip("late", "not reached: block by 'guard'"),
        Skip("bad", "unknown event", is_warning=True, state="invalid"),
    )
    made = record(Verdict(event, event, NO, runs, (StartedHook("later", 7),), skipped))
    hidden = "[redacted secret, 7 characters, sha256 f52fbd32]"
    assert made == {
        "v": 1,
        "id": "abc",
        "time": "2026-01-31T12:00:00.000Z",
        "type": "dispatch",
        "host": "native",
        "session": "s",
        "project": "/w",
        "event": "pre-tool-call",
        "tool": "Shell",
        "input_sha256": hash_value({"command": "rm --password hunter2"}),
        "input": {"command": f"rm --password {hidden}"},
        "decision": "block",
        "reasons": [f"no: token={hidden}"],
        "changed": {},
        "ms": 12.3,
        "hooks": [
            {
                "hook": "guard",
                "scope": "user",
                "source": "HOOK.md",
                "path": "/h/guard/HOOK.md",
                "status": "ok",
                "exit": 2,
                "ms": 1.5,
                "decision": "block",
                "reason": f"no: token={hidden}",
                "look": 1,
                "matched": {"event": "pre-tool-call", "tool": "Shell", "pattern": "rm"},
                "notes": ["a note"],
            },
            {
                "hook": "slow",
                "scope": "user",
                "source": "settings.json",
                "path": "/c/settings.json",
                "status": "timeout",
                "exit": None,
                "ms": 1000.0,
                "decision": "none",
                "reason": "took longer than 1 s",
                "look": 1,
                "matched": {"event": "PreToolUse"},
                "notes": [],
            },
        ],
        "skipped": [
            {"hook": "late", "why": "not reached: block by 'guard'"},
            {"hook": "bad", "why": "unknown event", "state": "invalid"},
        ],
        "background": [{"hook": "later", "pid": 7}],
    }
    assert must_sync(made)


def test_what_a_hook_printed_to_stderr_is_kept_without_secrets_unless_the_record_has_it_anyway():
    runs = (
        Run(a_hook("talks"), OK, Outcome(), 0, stderr="uses token=hunter2"),
        Run(a_hook("floods"), OK, Outcome(), 0, stderr="x" * 5000),
        Run(a_hook("quiet"), OK, Outcome(), 0),
        Run(a_hook("guard"), OK, NO, 2, stderr="no: token=hunter2"),
        Run(a_hook("fails"), FAILED, Outcome(), 1, error="exit code 1: no such file", stderr="no such file"),
        Run(a_hook("slow"), TIMEOUT, Outcome(), None, error="took longer than 1 s", stderr="still waiting"),
    )
    made = record(Verdict(a_call(), a_call(), NO, runs))
    texts = {run["hook"]: run["stderr"] for run in made["hooks"] if "stderr" in run}
    assert set(texts) == {"talks", "floods", "slow"}
    assert texts["talks"] == "uses token=[redacted secret, 7 characters, sha256 f52fbd32]"
    assert len(texts["floods"]) < 1100
    assert texts["slow"] == "still waiting"
    assert made["cut"] is True


def test_stderr_is_dropped_from_a_record_that_is_too_long():
    runs = tuple(Run(a_hook(f"hook-{number}"), OK, Outcome(), 0, stderr="é" * 1000) for number in range(60))
    made = record(Verdict(a_call(), a_call(), Outcome(), runs))
    assert len(dump_line(made)) <= MAX_RECORD_BYTES
    assert (len(made["hooks"]), any("stderr" in run for run in made["hooks"])) == (60, False)


def test_a_record_has_the_folder_of_the_event_if_that_is_not_the_project():
    event = a_call("ls")
    verdict = Verdict(event, event, NO, ()).replace(id="abc")
    folders = {"/w/sub": "/w/sub", "/w": None, "": None}
    for folder, expected in folders.items():
        around = {**AROUND, "folder": folder}
        made = make_dispatch_record(verdict, around, time="2026-01-31T12:00:00.000Z", seconds=0.0)
        assert made.get("folder") == expected


def test_a_change_is_kept_with_both_digests_and_the_new_input():
    before, after = a_call("ls"), a_call("ls --token abcdef")
    outcome = Outcome(Decision.NONE, output="other", contexts=("one", "two"))
    made = record(Verdict(after, before, outcome, (Run(a_hook(), OK, outcome, 0),)))
    hidden = "[redacted secret, 6 characters, sha256 bef57ec7]"
    assert made["changed"] == {
        "tool_input": {
            "before": hash_value({"command": "ls"}),
            "after": hash_value({"command": "ls --token abcdef"}),
            "input": {"command": f"ls --token {hidden}"},
        },
        "output": {"after": hash_value("other")},
        "context": 2,
        "context_texts": ["one", "two"],
    }
    assert must_sync(made)


def test_context_alone_need_not_be_on_the_disk_at_once():
    outcome = Outcome(contexts=("one",))
    made = record(Verdict(a_call(), a_call(), outcome, (Run(a_hook(), OK, outcome, 0),)))
    assert (made["changed"], must_sync(made)) == ({"context": 1, "context_texts": ["one"]}, False)


def test_the_digest_is_that_of_the_value_and_not_of_its_writing():
    assert canonical_json({"b": [1, True, None], "a": "é"}) == '{"a":"é","b":[1,true,null]}'.encode()
    assert hash_value({"a": 1, "b": 2}) == hash_value({"b": 2, "a": 1}) != hash_value({"a": 1, "b": 3})


def test_an_event_without_a_tool_has_no_input():
    event = Event.of("Stop", session_id="s", stop_reason="x")
    made = record(Verdict(event, event, Outcome()))
    assert (made["tool"], made["input"], made["input_sha256"]) == ("", None, None)


def test_a_long_input_is_cut_and_its_digest_is_of_the_whole():
    event = a_call("x" * 100_000)
    made = record(Verdict(event, event, Outcome()))
    assert made["input_sha256"] == hash_value({"command": "x" * 100_000})
    assert made["input"].startswith('{"command": "xxx')
    assert (len(made["input"]) < 4200, made["cut"]) == (True, True)


def test_with_the_whole_event_turned_on_all_its_fields_are_kept_but_no_secrets():
    event = a_call("ls").with_data(prompt="the token=abcdef", other=[1, 2])
    made = record(Verdict(event, event, Outcome()), whole=True)
    hidden = "[redacted secret, 6 characters, sha256 bef57ec7]"
    assert made["whole"] == {**event.to_fields(), "prompt": f"the token={hidden}"}
    assert "cut" not in made
    long = record(Verdict(*[event.with_data(prompt="x " * 60_000)] * 2, Outcome()), whole=True)
    assert (len(dump_line(long)) < MAX_RECORD_BYTES, long["cut"], long["whole"][-12:]) == (True, True, " characters]")


def test_the_approval_of_a_hook_is_recorded():
    class Approval:
        digest = "d" * 64

    hook = a_hook()
    hook.__dict__["approval"] = Approval()
    made = record(Verdict(a_call(), a_call(), Outcome(), (Run(hook, OK, Outcome(), 0),)))
    assert made["hooks"][0]["approval"] == "d" * 64


@pytest.mark.parametrize("hooks", [1, 20, 300, 5000])
def test_no_record_is_ever_too_long(hooks):
    answer = Outcome.block("é" * 3000)
    hook = a_hook(pattern="x" * 700)
    runs = tuple(Run(hook.replace(name=f"h{at}"), OK, answer, 2, notes=("n" * 3000,) * 5) for at in range(hooks))
    skipped = tuple(Skip(f"s{at}", "y" * 3000, is_warning=True) for at in range(hooks))
    event = a_call("\x01" * 50_000).replace(session_id="s" * 5000)
    made = record(
        Verdict(event, event, Outcome(Decision.BLOCK, answer.all_reasons * hooks), runs, (), skipped), whole=True
    )
    assert len(dump_line(made)) <= MAX_RECORD_BYTES
    assert (made["decision"], made["cut"], bool(made["hooks"])) == ("block", True, True)


@given(json_objects, st.text(), st.lists(st.text(), max_size=3))
def test_any_event_is_written_as_one_line_of_json(data, session, said):
    event = Event.of("pre-tool-call", tool_name="T", tool_input=data, session_id=session)
    outcome = Outcome(Decision.BLOCK, tuple((Decision.BLOCK, text) for text in said))
    line = dump_line(record(Verdict(event, event, outcome, (Run(a_hook(), OK, outcome, 2),)), whole=True))
    assert (line.count(b"\n"), json.loads(line)["id"]) == (1, "abc")


def test_the_end_of_an_async_hook_is_kept_with_its_dispatch():
    about = {"host": "python", "project": "/w", "session": "s", "event": "Stop", "hook": "later", "dispatch": "abc"}
    common = {"v": 1, "id": "def", "time": "t", "type": "end", **about}
    found = [
        make_end_record(about, end, id="def", time="t")
        for end in (Exit(0, seconds=0.5), Exit(1), Exit(None, error=TIMEOUT, detail="password=hunter2"))
    ]
    assert found == [
        {**common, "status": OK, "exit": 0, "ms": 500.0},
        {**common, "status": FAILED, "exit": 1, "ms": 0.0},
        {
            **common,
            "status": TIMEOUT,
            "exit": None,
            "ms": 0.0,
            "detail": "password=[redacted secret, 7 characters, sha256 f52fbd32]",
        },
    ]


def test_what_was_removed_is_named():
    assert make_pruned_record(["a", "b"], 7, id="i", time="t") == {
        "v": 1,
        "id": "i",
        "time": "t",
        "type": "pruned",
        "segments": ["a", "b"],
        "before": 7,
    }
