"""The engine: the same verdict sync and async, failures that are never exceptions, gates, and what it reports."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import boathook
from boathook.core.event import POST_STOP, PRE_STOP, PRE_TOOL, Event
from boathook.core.outcome import Decision
from boathook.core.verdict import FAILED, TIMEOUT, Call, Exit, Policy, StartedHook
from boathook.engine import DRAIN_SECONDS, TracingRunner
from boathook.errors import DialectError
from boathook.ledger.writer import make_timestamp
from tests.core.builders import a_call, a_hook, inputs, patterns, tool_patterns, tools
from tests.engine.fakes import Background, Runner, an_engine, make_answer

BLOCKS = Exit(2, stderr=b"no")


def without_times(verdict):
    found = verdict.to_json()
    return {**found, "runs": [{k: v for k, v in run.items() if k != "duration_ms"} for run in found["runs"]]}


# Sync and async

answers = st.sampled_from(
    [
        Exit(0),
        Exit(0, b"plain text"),
        Exit(0, b"{broken"),
        BLOCKS,
        Exit(1, stderr=b"oops"),
        Exit(-9),
        Exit(error=TIMEOUT, detail="it did not end within 1 s"),
        make_answer(decision="allow", reason="fine"),
        make_answer(decision="deny", reason="never"),
        make_answer(decision="ask", system_message="look"),
        make_answer(modified_input={"command": "mkfs"}),
        make_answer(modified_input={"command": "ls", "path": "rm -rf /"}, additional_context="changed"),
        make_answer(modified_output="x"),
        {"continue": False},
    ]
).map(lambda found: make_answer(**found) if isinstance(found, dict) else found)
some_hooks = st.lists(
    st.tuples(
        tool_patterns,
        patterns,
        st.sampled_from([1, 1, 5]),
        st.booleans(),
        st.sampled_from(["allow", "block"]),
        answers,
        answers,
    ),
    max_size=5,
)


@given(some_hooks, tools, inputs, st.booleans(), st.sampled_from(["pre-tool-call", "post-tool-call"]))
def test_the_async_engine_comes_to_the_same_verdict(found, tool, tool_input, can_ask, kind):
    event = Event.of(kind, tool_name=tool, tool_input=tool_input, timestamp="t", work_dir="/")
    hooks, first, again = [], {}, {}
    for n, (tools_wanted, pattern, priority, background, failing, one, other) in enumerate(found):
        fields = {"priority": priority, "background": background, "on_failure": failing, "kind": event.kind}
        hooks.append(a_hook(f"h{n}", tool=tools_wanted, pattern=pattern, **fields))
        first[f"h{n}"], again[f"h{n}"] = one, other
    replies = {name: lambda call, n=name: (first if call.look_number == 1 else again)[n] for name in first}

    def verdict(drive):
        engine = an_engine(hooks, replies, policy=Policy(can_ask=can_ask))
        return without_times(drive(engine)), engine._parts.runner.calls, engine._parts.background.did

    assert verdict(lambda engine: engine.dispatch(event)) == verdict(lambda e: asyncio.run(e.adispatch(event)))


async def until(condition) -> bool:
    """Wait for something that is not of the loop's making; give up after a long while."""
    for _ in range(10_000):
        if condition():
            return True
        await asyncio.sleep(0.002)
    return False


def test_the_async_engine_does_not_hold_up_the_loop():
    waiting, release = threading.Event(), threading.Event()

    def slow(_: Call) -> Exit:
        waiting.set()
        return make_answer(decision="allow") if release.wait(10) else BLOCKS

    async def both():
        work = asyncio.ensure_future(an_engine([a_hook()], {"guard": slow}).adispatch(a_call()))
        assert await until(waiting.is_set)
        release.set()  # only a loop that still turns gets here
        return await work

    assert asyncio.run(both()).decision == Decision.ALLOW


def test_several_events_at_once_do_not_disturb_each_other():
    engine = an_engine([a_hook(pattern="rm")], {"guard": BLOCKS})

    async def many():
        return await asyncio.gather(*(engine.adispatch(a_call("rm" if n % 2 else "ls")) for n in range(20)))

    assert [verdict.decision.word for verdict in asyncio.run(many())] == ["none", "block"] * 10


def gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_cancelling_an_async_dispatch_ends_its_hook(project):
    mark = project.base / "pid"
    project.write_hook("slow", script=f'echo $$ > "{mark}.new"; mv "{mark}.new" "{mark}"; sleep 60')

    async def cancelled():
        with boathook.load(project.path) as engine:
            work = asyncio.ensure_future(engine.adispatch(a_call().replace(work_dir=str(project.path))))
            assert await until(mark.exists)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            return int(mark.read_text())

    assert gone(asyncio.run(cancelled()))


def test_cancelling_leaves_no_open_pipe():
    release = threading.Event()

    class Waits(Runner):
        def run(self, calls, cancel=None):
            os.read(cancel, 1)
            release.set()
            return super().run(calls)

    async def cancelled():
        work = asyncio.ensure_future(an_engine([a_hook()], {}, runner=Waits({})).adispatch(a_call()))
        await asyncio.sleep(0.05)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    before = len(os.listdir("/proc/self/fd"))
    asyncio.run(cancelled())
    assert release.is_set()
    assert len(os.listdir("/proc/self/fd")) == before


# Failures


class Broken:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def run(self, calls, cancel=None):
        raise self.error


DRIVES = {"sync": lambda e, event: e.dispatch(event), "async": lambda e, event: asyncio.run(e.adispatch(event))}


@pytest.mark.parametrize("drive", DRIVES.values(), ids=DRIVES)
@pytest.mark.parametrize(
    "error", [OSError(24, "Too many open files"), RuntimeError("odd"), MemoryError(), KeyError("x")]
)
def test_a_runner_that_raises_is_a_failed_run_and_never_an_exception(drive, error):
    engine = an_engine([a_hook()], {}, runner=Broken(error))
    verdict = drive(engine, a_call())
    why = f"the engine failed to run it: {type(error).__name__}: {error}".strip()
    assert [(run.status, run.error, run.code) for run in verdict.runs] == [(FAILED, why, None)]
    assert verdict.decision == Decision.NONE
    assert verdict.warnings() == (f"hook 'guard' failed: {why}",)


@pytest.mark.parametrize("drive", DRIVES.values(), ids=DRIVES)
def test_a_runner_that_raises_blocks_where_the_hook_is_set_to(drive):
    engine = an_engine([a_hook(on_failure="block")], {}, runner=Broken(RuntimeError("odd")))
    verdict = drive(engine, a_call())
    assert verdict.reasons == ("hook 'guard' failed: the engine failed to run it: RuntimeError: odd",)


def test_a_background_that_cannot_start_does_not_lose_the_verdict():
    class Full(Background):
        def start(self, calls):
            raise OSError(11, "Resource temporarily unavailable")

    kind = a_call(kind="post-tool-call").kind
    hooks = [a_hook(kind=kind), a_hook("later", background=True, kind=kind)]
    engine = an_engine(hooks, {"guard": BLOCKS}, background=Full())
    verdict = engine.dispatch(a_call(kind="post-tool-call"))
    assert (verdict.decision, verdict.reasons, verdict.background) == (Decision.BLOCK, ("no",), ())
    assert any("later" in line for line in verdict.warnings())


# Events


def test_an_event_may_be_a_mapping():
    engine = an_engine([a_hook()], {"guard": BLOCKS})
    fields = {"event_type": "PreToolUse", "tool_name": "Shell", "tool_input": {"command": "ls"}, "timestamp": "t"}
    verdict = engine.dispatch({**fields, "work_dir": "/w", "session_id": "s"})
    assert (verdict.event, verdict.decision) == (a_call(), Decision.BLOCK)
    assert asyncio.run(engine.adispatch({**fields, "work_dir": "/w", "session_id": "s"})).event == a_call()


WRONG = {
    "an unknown name": ({"event_type": "PreToolUsed"}, "unknown event 'PreToolUsed' (did you mean 'PreToolUse'?)"),
    "no name": ({}, "which event? Name it as an argument, or as 'event_type' in the JSON (boathook events lists them)"),
    "a wrong type": ({"event_type": "Stop", "context": 1}, "the event's 'context' must be an object, not a number"),
}


@pytest.mark.parametrize("drive", DRIVES.values(), ids=DRIVES)
@pytest.mark.parametrize(("fields", "message"), WRONG.values(), ids=WRONG)
def test_a_mapping_that_is_not_an_event_is_a_clear_error(drive, fields, message):
    with pytest.raises(DialectError) as error:
        drive(an_engine([], {}), fields)
    assert str(error.value) == message


def test_what_the_sender_left_out_is_filled_in(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    event = an_engine([], {}).dispatch(Event.of("Stop")).event
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event.timestamp)
    expected = {"stop_hook_active": False, "stop_block_count": 0}
    assert event == Event(PRE_STOP, event.timestamp, "", str(tmp_path), {}, expected)
    assert an_engine([], {}).dispatch(a_call()).event == a_call()


def test_the_time_is_iso_8601_in_utc_and_moves_on():
    first = make_timestamp()
    time.sleep(0.002)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first)
    assert first < make_timestamp()


def test_a_directory_that_is_gone_does_not_matter(monkeypatch, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert an_engine([], {}).dispatch(Event.of("Notification")).event.work_dir == "/"


# The quality gate


def stop(session: str = "s", **fields) -> Event:
    return Event.of("pre-agent-turn-stop", session_id=session, timestamp="t", work_dir="/", **fields)


def gate(**parts):
    return an_engine([a_hook(kind=PRE_STOP), a_hook("after", kind=POST_STOP)], {"guard": BLOCKS}, **parts)


def counts(verdict) -> tuple[str, bool, int]:
    data = verdict.event.data
    return verdict.decision.word, data["stop_hook_active"], data["stop_block_count"]


FOUR = [("block", False, 0), ("block", True, 1), ("block", True, 2), ("none", True, 3)]


def test_a_turn_is_blocked_three_times_and_then_let_through_and_counted_anew():
    engine = gate()
    assert [counts(engine.dispatch(stop())) for _ in range(5)] == [*FOUR, ("block", False, 0)]


def test_sessions_are_counted_apart():
    engine = gate()
    found = [counts(engine.dispatch(stop(session))) for session in "aababba"]
    assert found == [FOUR[0], FOUR[1], FOUR[0], FOUR[2], FOUR[1], FOUR[2], FOUR[3]]


@pytest.mark.parametrize("kind", ["pre-agent-turn", "post-agent-turn", "post-agent-turn-stop", "post-session"])
def test_a_turn_that_ends_starts_the_count_anew(kind):
    engine = gate()
    engine.dispatch(stop())
    engine.dispatch(Event.of(kind, session_id="other"))
    assert counts(engine.dispatch(stop())) == FOUR[1]
    engine.dispatch(Event.of(kind, session_id="s"))
    assert counts(engine.dispatch(stop())) == FOUR[0]


def test_the_event_after_a_stop_holds_how_often_it_was_blocked():
    engine = gate()
    engine.dispatch(stop())
    after = engine.dispatch(Event.of("post-agent-turn-stop", session_id="s"))
    assert counts(after) == ("none", True, 1)


def test_other_events_do_not_touch_the_count():
    engine = gate()
    engine.dispatch(stop())
    engine.dispatch(a_call())
    assert counts(engine.dispatch(stop())) == FOUR[1]


def test_a_host_that_counts_itself_is_believed():
    engine = gate()
    assert counts(engine.dispatch(stop(stop_block_count=3))) == ("none", True, 3)
    assert counts(engine.dispatch(stop(stop_block_count=1, stop_hook_active=False))) == ("block", False, 1)


@pytest.mark.parametrize("count", [None, "many"])
def test_a_host_whose_count_is_not_a_number_is_not_believed(count):
    engine = gate()
    assert [engine.dispatch(stop(stop_block_count=count)).decision.word for _ in range(4)] == ["block"] * 3 + ["none"]


def test_the_limit_of_the_gate_is_the_catalogue_s_where_no_policy_is_given():
    engine = gate(policy=None)
    settings = engine.catalog.settings.replace(max_stop_blocks=1)
    engine = type(engine)(engine.catalog.replace(settings=settings), engine._parts)
    assert [counts(engine.dispatch(stop())) for _ in range(2)] == [("block", False, 0), ("none", True, 1)]


def test_a_stop_that_cannot_be_refused_does_not_count():
    engine = gate()
    assert counts(engine.dispatch(stop(stop_reason="max_steps"))) == ("none", False, 0)
    assert counts(engine.dispatch(stop())) == FOUR[0]


# The background


def test_async_hooks_are_handed_over_once_the_verdict_is_final():
    later = a_hook("later", background=True)
    background = Background()
    engine = an_engine(
        [a_hook(), later], {"guard": make_answer(modified_input={"command": "ls -l"})}, background=background
    )
    verdict = engine.dispatch(a_call())
    assert verdict.background == (StartedHook("later", 4711),)
    assert background.did == [(Call(later, a_call("ls -l")),)]


def test_nothing_is_handed_over_after_a_blocked_pre_event():
    background = Background()
    engine = an_engine([a_hook(), a_hook("later", background=True)], {"guard": BLOCKS}, background=background)
    assert (engine.dispatch(a_call()).background, background.did) == ((), [])


def test_the_end_of_a_session_waits_for_the_background():
    background = Background()
    engine = an_engine([], {}, background=background)
    engine.dispatch(Event.of("post-session"))
    assert background.did == [("drain", DRAIN_SECONDS)]


def test_draining_returns_what_is_left_and_closing_drains_first():
    background = Background(left=2)
    engine = an_engine([], {}, background=background)
    assert engine.drain(1.5) == 2
    engine.close()
    assert background.did == [("drain", 1.5), ("drain", DRAIN_SECONDS), "close"]


def test_a_with_block_closes_the_engine_even_after_an_error():
    background = Background()
    with pytest.raises(ZeroDivisionError), an_engine([], {}, background=background):
        _ = 1 / 0
    assert background.did == [("drain", DRAIN_SECONDS), "close"]


def test_an_engine_from_files_waits_for_its_async_hooks_and_logs_them(project):
    project.write_hook(
        "later", fields={"async": "true"}, script=f'sleep 0.2; cat > "{project.base}/seen"; echo said; exit 3'
    )
    engine = boathook.load(project.path)
    verdict = engine.dispatch(a_call().replace(work_dir=str(project.path)))
    assert verdict.background == (StartedHook("later", None),)
    assert engine.drain(60) == 0
    engine.close()
    assert '"tool_input": {"command": "ls"}' in (project.base / "seen").read_text()
    log = (project.state / "background.log").read_text().splitlines()
    assert re.fullmatch(r"\S+Z \[ASYNC\] Completed hook 'later' for event 'pre-tool-call' in \d+ms: exit=3", log[0])
    assert log[1:] == ["  stdout: said"]


# What it reports


def test_debug_lines_report_every_hook(tmp_path):
    lines: list[str] = []
    hooks = [
        a_hook("guard", priority=300, trigger="before_tool"),
        a_hook("other", priority=200, tool="^Write$"),
        a_hook("late", priority=100),
        a_hook("audit", background=True),
        a_hook("off", state="disabled", state_reason="disabled by x"),
    ]
    replies = {"guard": Exit(2, stderr=b"no", seconds=0.045)}
    engine = an_engine(hooks, replies, runner=TracingRunner(Runner(replies), lines.append), trace=lines.append)
    engine.dispatch(a_call())
    fields = '"timestamp": "t", "session_id": "s", "work_dir": "/w", "context": {}'
    tool = '"tool_name": "Shell", "tool_input": {"command": "ls"}'
    assert lines == [
        "[HOOK DEBUG] [SYNC] Not matched hook 'other' for event 'pre-tool-call': tool 'Shell' does not match '^Write$'",
        "[HOOK DEBUG] [SYNC] Starting hook 'guard' for event 'before_tool'",
        f'[HOOK DEBUG] Input: {{"event_type": "before_tool", {fields}, {tool}}}',
        "[HOOK DEBUG] [SYNC] Completed hook 'guard' in 45ms: blocked=True",
        "[HOOK DEBUG] Reason: no",
        "[HOOK DEBUG] Skipped hook 'off': disabled by x",
        "[HOOK DEBUG] Skipped hook 'late': not reached: block by 'guard'",
        "[HOOK DEBUG] Skipped hook 'audit': not reached: block by 'guard'",
    ]


def test_debug_lines_report_failures_logs_notes_second_looks_and_the_background():
    lines: list[str] = []
    hooks = [a_hook("a", priority=3), a_hook("b", priority=2), a_hook("c", background=True)]
    replies = {
        "a": lambda call: (
            Exit(1, stderr=b"oops") if call.look_number == 1 else make_answer(log="seen", modified_output=1)
        ),
        "b": make_answer(modified_input={"command": "x"}),
    }
    engine = an_engine(hooks, replies, runner=TracingRunner(Runner(replies), lines.append), trace=lines.append)
    engine.dispatch(a_call())
    assert [line for line in lines if not line.startswith("[HOOK DEBUG] Input: ")] == [
        "[HOOK DEBUG] [SYNC] Starting hook 'a' for event 'pre-tool-call'",
        "[HOOK DEBUG] [SYNC] Completed hook 'a' in 0ms: blocked=False",
        "[HOOK DEBUG] Error: failed: exit code 1 (only exit 2 blocks): oops",
        "[HOOK DEBUG] [SYNC] Starting hook 'b' for event 'pre-tool-call'",
        "[HOOK DEBUG] [SYNC] Completed hook 'b' in 0ms: blocked=False",
        "[HOOK DEBUG] [SYNC] Starting hook 'a' for event 'pre-tool-call' (look 2)",
        "[HOOK DEBUG] [SYNC] Completed hook 'a' in 0ms: blocked=False",
        "[HOOK DEBUG] Log: seen",
        "[HOOK DEBUG] Note: modified_output has no effect on pre-tool-call",
        "[HOOK DEBUG] [ASYNC] Starting hook 'c' for event 'pre-tool-call'",
    ]


def test_a_loaded_engine_reads_strict_exit_codes_and_debug_receives_its_lines(project):
    project.write_hooks_toml("user", "[hooks]\nstrict_exit_codes = true\n")
    project.write_hook("guard", script='echo \'{"decision": "deny", "reason": "no"}\'')
    lines: list[str] = []
    with boathook.load(project.path, debug=lines.append) as engine:
        verdict = engine.dispatch(a_call().replace(work_dir=str(project.path)))
    assert verdict.decision == Decision.NONE
    assert verdict.runs[0].notes == ("'deny' has no effect: with strict_exit_codes only exit 2 blocks",)
    assert lines[0] == "[HOOK DEBUG] [SYNC] Starting hook 'guard' for event 'pre-tool-call'"


def test_a_question_blocks_in_an_engine_that_cannot_ask(project):
    project.write_hook("guard", script='echo \'{"decision": "ask", "reason": "sure?"}\'')
    event = a_call().replace(work_dir=str(project.path))
    with boathook.load(project.path) as engine:
        assert engine.dispatch(event).decision == Decision.ASK
    with boathook.load(project.path, can_ask=False) as engine:
        verdict = engine.dispatch(event)
    sentence = f"A person can allow this call once: boathook allow {verdict.id} (in their own terminal)."
    assert verdict.reasons == ("sure? (no person can be asked)", sentence)


def test_folders_may_be_given_by_hand(project, tmp_path):
    project.write_hook("guard", script="echo hello; exit 2 1>&2")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with boathook.load(elsewhere, config=elsewhere, state=elsewhere) as engine:
        assert engine.catalog.hooks == ()
    with boathook.load(elsewhere, config=project.config, state=elsewhere) as engine:
        assert [(hook.name, hook.kind) for hook in engine.catalog.hooks] == [("guard", PRE_TOOL)]
