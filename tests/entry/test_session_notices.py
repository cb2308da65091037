"""What is said once in a session, and that the fast path does not answer "nothing to do" before it was said."""

from __future__ import annotations

import json
import os
import sys
import time

import pytest

from boathook.catalog_cache.write import write_compiled
from boathook.core.catalog import Catalog
from boathook.core.event import PRE_SESSION
from boathook.core.notices import COUNT_NAMES, NEAR_MISS_COUNT, PERSON_NOTICE, UNTRUSTED_COUNT, WAITING_NOTICE
from boathook.core.outcome import Outcome
from boathook.core.verdict import FAILED, Run, Skip, Verdict
from boathook.dialects.dialect import NATIVE, find_host_dialect
from boathook.entry import fast_path
from boathook.entry.fast_path import NEAR_MISSES, REPORTED_TO_PERSON, _prove_nothing_to_do
from boathook.entry.options import parse_options
from boathook.entry.session_notices import add_session_notices
from boathook.hosts.host import HostEvent, list_host_names, load_host
from boathook.install.probe import make_probe_event
from boathook.process.sessions import Sessions
from tests import forked
from tests.core.builders import a_hook
from tests.scratch_project import HOOK_ENTRY

HIDING = [name for name in list_host_names() if load_host(name).message_unseen]
UNTRUSTED = {"untrusted": 2}
SENTENCE = (
    "boathook: 2 hooks of this project did not run because they are not trusted. Tell the person: run `boathook trust`"
)


def find_row(host: str, *, has_context: bool, has_tool: bool = False) -> HostEvent | None:
    rows = (row for row in load_host(host).events if row.is_installed and row.kind.has_tool >= has_tool)
    return next((row for row in rows if row.reaches_model == has_context and not row.required_key), None)


def make_verdict(host: str, row: HostEvent, outcome: Outcome | None = None, runs: tuple[Run, ...] = ()) -> Verdict:
    event = find_host_dialect(host).read_event(make_probe_event(load_host(host), row, "/p"), row.name)
    event = event.replace(session_id="s1")
    return Verdict(event, event, outcome or Outcome(), runs)


def add(sessions: Sessions, host: str, verdict: Verdict, counts: dict[str, int]) -> tuple[tuple[str, ...], str]:
    """Return the contexts of the verdict with its notices, and the message for stderr."""
    verdict, message = add_session_notices(verdict, counts, find_host_dialect(host), sessions)
    return verdict.additional_context, message


def test_the_agents_that_hide_messages_are_known_and_can_inform_the_model():
    assert (NEAR_MISSES, REPORTED_TO_PERSON) == (NEAR_MISS_COUNT, PERSON_NOTICE)
    assert (fast_path.UNTRUSTED, fast_path.WAITING) == (UNTRUSTED_COUNT, WAITING_NOTICE)
    assert PRE_SESSION.name == fast_path.SESSION_START
    assert {*HIDING} == {"cline", "codex", "copilot", "kimi-code", "qwen"}
    assert all(any(row.reaches_model for row in load_host(host).events) for host in HIDING)


@pytest.mark.parametrize("host", HIDING)
def test_the_model_gets_a_notice_once_in_a_session_and_by_count(tmp_path, host):
    sessions = Sessions(str(tmp_path / "sessions"))
    silent, row = find_row(host, has_context=False), find_row(host, has_context=True)
    assert silent is not None
    assert row is not None
    assert add(sessions, host, make_verdict(host, silent), UNTRUSTED) == ((), "")
    # A refusal has no place for it in some agents, so it waits.
    assert add(sessions, host, make_verdict(host, row, Outcome.block("no")), UNTRUSTED) == ((), "")
    # The reason of that refusal is another text, in some agents.
    sessions.take_refusal("s1")
    assert add(sessions, host, make_verdict(host, row), UNTRUSTED) == ((SENTENCE,), "")
    assert add(sessions, host, make_verdict(host, row), UNTRUSTED) == ((), "")
    # What is new is said, too.
    contexts, _ = add(sessions, host, make_verdict(host, row), {**UNTRUSTED, "gone": 1})
    assert [text.partition(".")[0] for text in contexts] == [
        "boathook: 1 hook that the person trusted is not in this checkout"
    ]
    other = make_verdict(host, row)
    other = other.replace(original=other.original.replace(session_id="s2"))
    assert add(sessions, host, other, UNTRUSTED)[0] == (SENTENCE,)


def test_failures_wait_for_an_event_that_can_carry_them(tmp_path):
    sessions = Sessions(str(tmp_path / "sessions"))
    rows = {row.name: row for row in load_host("kimi-code").events}
    failed = (Run(a_hook(), FAILED, Outcome()),)
    for _ in range(2):
        assert add(sessions, "kimi-code", make_verdict("kimi-code", rows["PreToolUse"], runs=failed), {}) == ((), "")
    prompt = make_verdict("kimi-code", rows["UserPromptSubmit"])
    expected = "boathook: 2 runs of hooks failed. Tell the person: run `boathook log`"
    assert add(sessions, "kimi-code", prompt, {}) == ((expected,), "")
    assert add(sessions, "kimi-code", prompt, {}) == ((), "")
    sessions.forget("s1")
    assert list((tmp_path / "sessions").iterdir()) == []


def test_a_hidden_reason_reaches_the_model_when_the_session_goes_on(tmp_path):
    sessions = Sessions(str(tmp_path / "sessions"))
    rows = {row.name: row for row in load_host("cline").events}
    call = make_verdict("cline", rows["PreToolUse"])
    for outcome in (Outcome.block("no first"), Outcome.block("no, because\nof this")):
        assert add(sessions, "cline", call.replace(outcome=outcome), {}) == ((), "")
    # Cline reports that the session ended, and that nobody reads.
    assert add(sessions, "cline", make_verdict("cline", rows["SessionShutdown"]), {}) == ((), "")
    sessions.forget("s1")
    other = call.replace(original=call.original.replace(session_id="s2"))
    assert add(sessions, "cline", other, {}) == ((), "")
    expected = (
        f"boathook: the last task ended because hooks refused a call of {call.event.tool_name}: no, because\nof this\n"
        "Tell the person, who was not told why."
    )
    assert add(sessions, "cline", call, {}) == ((expected,), "")
    assert add(sessions, "cline", call, {}) == ((), "")
    assert list((tmp_path / "sessions").iterdir()) == []


def test_a_question_is_passed_on_as_a_refusal_and_an_objection_afterwards_is_not(tmp_path):
    sessions = Sessions(str(tmp_path / "sessions"))
    rows = {row.name: row for row in load_host("cline").events}
    asked = make_verdict("cline", rows["PreToolUse"], Outcome.ask("sure?"))
    assert add(sessions, "cline", asked, {}) == ((), "")
    objected = make_verdict("cline", rows["PostToolUse"], Outcome.block("bad result"))
    assert add(sessions, "cline", objected, {}) == ((), "")
    contexts, _ = add(sessions, "cline", make_verdict("cline", rows["PostToolUse"]), {})
    assert [text.splitlines()[0].rpartition(": ")[2] for text in contexts] == ["sure?"]


def test_an_agent_that_shows_reasons_to_the_model_repeats_none(tmp_path):
    sessions = Sessions(str(tmp_path / "sessions"))
    row = find_row("codex", has_context=True, has_tool=True)
    assert row is not None
    assert add(sessions, "codex", make_verdict("codex", row, Outcome.block("no")), {}) == ((), "")
    assert add(sessions, "codex", make_verdict("codex", row), {}) == ((), "")


def test_refusals_of_sessions_that_never_go_on_are_removed_in_the_end(tmp_path):
    folder = tmp_path / "sessions"
    sessions = Sessions(str(folder))
    for session in ("old", "new", "last"):
        sessions.note_refusal(session, "Shell: no")
        if session == "old":
            os.utime(folder / "old.refused", (1, 1))
    assert sorted(path.name for path in folder.iterdir()) == ["last.refused", "new.refused"]
    assert (sessions.take_refusal("old"), sessions.take_refusal("new")) == ("", "Shell: no")
    assert sessions.take_refusal("new") == ""


def test_an_agent_that_shows_messages_reports_near_misses_once(tmp_path):
    sessions = Sessions(str(tmp_path / "sessions"))
    message = "3 folders or files look like hooks but are not read. See: boathook check"
    row = find_row("claude", has_context=True)
    assert row is not None
    told, stderr = add_session_notices(
        make_verdict("claude", row), {NEAR_MISS_COUNT: 3}, find_host_dialect("claude"), sessions
    )
    assert (told.system_message, told.additional_context, stderr) == ((message,), (), message)
    assert add(sessions, "claude", make_verdict("claude", row), {NEAR_MISS_COUNT: 3}) == ((), "")


WAITING = "2 hooks of this project wait for your review: boathook trust"
STARTS = {
    host: row
    for host in list_host_names()
    for row in load_host(host).events
    if row.kind is PRE_SESSION and row.is_installed
}


@pytest.mark.parametrize("host", STARTS)
def test_the_start_of_a_session_reports_once_how_many_hooks_wait_for_a_review(tmp_path, host):
    sessions, dialect = Sessions(str(tmp_path / "sessions")), find_host_dialect(host)
    start = make_verdict(host, STARTS[host])
    counts = {"untrusted": 2, "broken": 1, "gone": 1}
    told, stderr = add_session_notices(start, counts, dialect, sessions)
    if host in HIDING:
        # The model gets the number, as soon as it can.
        assert (told.system_message, stderr, "waiting" in sessions.load_reported("s1")) == ((), "", False)
        return
    expected = () if dialect.shows_stderr else (WAITING,)
    assert (told.system_message, told.additional_context, stderr) == (expected, (), WAITING)
    # A session that was compacted or cleared starts again, and is still the same.
    assert add_session_notices(start, counts, dialect, sessions) == (start, "")
    other = start.replace(original=start.original.replace(session_id="s2"))
    assert add_session_notices(other, {"untrusted": 1}, dialect, sessions)[1] == (
        "1 hook of this project waits for your review: boathook trust"
    )


def test_waiting_hooks_are_not_reported_later_in_a_session_or_without_any_or_twice_at_one_event(tmp_path):
    sessions, dialect = Sessions(str(tmp_path / "sessions")), find_host_dialect("claude")
    call, start = find_row("claude", has_context=True, has_tool=True), make_verdict("claude", STARTS["claude"])
    assert call is not None
    for verdict, counts in ((make_verdict("claude", call), UNTRUSTED), (start, {"broken": 1, "hidden": 1})):
        assert add_session_notices(verdict, counts, dialect, sessions) == (verdict, "")
    # Hooks for this event are named, with what to do.
    named = start.replace(skipped=(Skip("x", "y", is_warning=True, state="untrusted", count_name="untrusted"),))
    assert add_session_notices(named, UNTRUSTED, dialect, sessions) == (named, "")
    assert add_session_notices(start, UNTRUSTED, dialect, sessions) == (start, "")


def test_what_waits_and_near_misses_are_two_lines(tmp_path):
    sessions, dialect = Sessions(str(tmp_path / "sessions")), find_host_dialect("claude")
    start = make_verdict("claude", STARTS["claude"])
    told, stderr = add_session_notices(start, {**UNTRUSTED, NEAR_MISS_COUNT: 1}, dialect, sessions)
    near = "1 folder or file looks like a hook but is not read. See: boathook check"
    assert (told.system_message, stderr) == ((WAITING, near), f"{WAITING}\n{near}")


def test_a_project_with_hooks_in_all_states_counts_those_that_wait(project):
    names = ("changed", "denied", "fine", "new", "newer")
    for name in names:
        project.write_hook(name, scope="project", fields={"matcher": "{tool: Never}"})
    project.trust("changed", "fine")
    project.run("deny", "denied", "--yes")
    (project.hooks_folder("project") / "changed/scripts/run.sh").write_text("#!/bin/sh\n")
    sentence = "3 hooks of this project wait for your review: boathook trust"
    for program in (["-m", "boathook", "run"], ["-I", "-S", HOOK_ENTRY]):
        session = f"session{program[0]}"
        told = [start_session(project, program, session) for _ in range(3)]
        assert told == [{"systemMessage": sentence}, {}, {}]
        assert start_session(project, program, f"{session}-later") == {"systemMessage": sentence}
    project.trust()
    assert start_session(project, ["-I", "-S", HOOK_ENTRY], "trusted") == {}


def start_session(project, program, session):
    """Return what Claude Code is answered at the start of a session."""
    event = {"hook_event_name": "SessionStart", "session_id": session, "cwd": str(project.path), "source": "startup"}
    argv = [sys.executable, *program, "--host", "claude"]
    done = forked.run(
        argv, input=json.dumps(event), text=True, cwd=project.path, env=project.environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout or "{}")


def test_an_event_without_a_session_is_a_session_of_its_own(tmp_path):
    sessions = Sessions(str(tmp_path / "sessions"))
    row = find_row("copilot", has_context=True)
    assert row is not None
    verdict = make_verdict("copilot", row)
    verdict = verdict.replace(original=verdict.original.replace(session_id=""))
    for _ in range(2):
        assert add(sessions, "copilot", verdict, UNTRUSTED)[0] == (SENTENCE,)


def is_proved(host: str, data: bytes) -> bool:
    options = parse_options([] if host == NATIVE else ["--host", host])
    return _prove_nothing_to_do(options, data) is not None


@pytest.mark.parametrize(
    "counts", [{}, *({name: 1} for name in COUNT_NAMES)], ids=lambda counts: next(iter(counts), "-")
)
def test_the_fast_path_leaves_an_event_to_the_engine_until_everything_is_reported(project, monkeypatch, counts):
    project.hooks_folder("project").mkdir(parents=True)
    for name, value in project.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(project.path)
    catalog = Catalog(projects=(("HOOK.md", str(project.path)), ("settings.json", "")), counts=tuple(counts.items()))
    locations = project.make_locations(claude=str(project.claude_folder), trust_all=False)
    assert write_compiled(catalog, (), locations, time.time())
    sessions = Sessions(f"{project.state}/sessions")
    for host in (NATIVE, *list_host_names()):
        for has_context in (True, False):
            row = find_row(host, has_context=has_context, has_tool=True) if host != NATIVE else None
            if host == NATIVE:
                fields = {"event_type": "post-tool-call", "tool_name": "x", "tool_input": {}, "session_id": "s-1"}
                data = json.dumps({**fields, "work_dir": str(project.path)}).encode()
            elif row is None:
                continue
            else:
                data = make_probe_event(load_host(host), row, str(project.path))
            session = "s-1" if host == NATIVE else "boathookdoctor"
            tells_model = host in HIDING and has_context
            is_silent = not tells_model and NEAR_MISS_COUNT not in counts
            sessions.forget(session)
            assert is_proved(host, data) == (is_silent or not counts), (host, row)
            sessions.note_reported(session, frozenset({PERSON_NOTICE, *counts}))
            assert is_proved(host, data), (host, row)
            for note, what in ((sessions.count_failures, 1), (sessions.note_refusal, "Shell: no")):
                note(session, what)
                assert is_proved(host, data) == (not tells_model), (host, row)
                sessions.forget_failures(session)
                sessions.take_refusal(session)
                assert is_proved(host, data), (host, row)
    for host, row in STARTS.items():
        data = make_probe_event(load_host(host), row, str(project.path))
        sessions.forget("boathookdoctor")
        # To the model, where messages are hidden.
        is_told = bool(counts) and row.reaches_model if host in HIDING else UNTRUSTED_COUNT in counts
        assert is_proved(host, data) == (not is_told and NEAR_MISS_COUNT not in counts), host
        sessions.note_reported("boathookdoctor", frozenset({PERSON_NOTICE, WAITING_NOTICE, *counts}))
        assert is_proved(host, data), host
