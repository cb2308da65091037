"""The run object: what it carries from event to event, the whole outcome of calls, questions as data, and ends in any case."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from boathook import (
    AgentRun,
    Blocked,
    BoathookError,
    Decision,
    HookError,
    Hooks,
    NotificationContext,
    Outcome,
    StepContext,
    Stopped,
    ToolCall,
)
from boathook.core.event import KINDS

LS = ToolCall("list", {"where": "."}, "c1")


class SyncCaller:
    def __call__(self, run: AgentRun, method: str, *args: Any, **fields: Any) -> Any:
        return getattr(run, method)(*args, **fields)


class AsyncCaller:
    def __call__(self, run: AgentRun, method: str, *args: Any, **fields: Any) -> Any:
        return asyncio.run(getattr(run, f"a{method}")(*args, **fields))


@pytest.fixture(params=[SyncCaller(), AsyncCaller()], ids=["sync", "async"])
def do(request):
    """Call a method of a run, from a plain program or from an event loop."""
    return request.param


@pytest.fixture
def hooks():
    return Hooks()


@pytest.fixture
def events(hooks):
    """The names of all events, in the order in which hooks heard of them."""
    heard: list[str] = []
    for kind in KINDS:
        hooks.add(kind, lambda context: heard.append(context.event), priority=1000)
    return heard


def operate(call: ToolCall) -> str:
    return f"ran {dict(call.args)}"


def test_a_run_fires_the_events_of_a_session_in_order(do, hooks, events):
    run = hooks.run("s1")
    assert do(run, "prompt", "hi").proceeds
    assert do(run, "tool", LS, operate).text == "ran {'where': '.'}"
    assert do(run, "stop", "done").proceeds
    do(run, "end")
    do(run, "end")
    assert events == [
        *("pre-session", "pre-agent-turn", "pre-tool-call", "post-tool-call"),
        *("pre-agent-turn-stop", "post-agent-turn-stop", "post-agent-turn", "post-session"),
    ]


def test_every_event_has_session_folder_state_and_metadata(do, hooks, tmp_path):
    seen = []
    for kind in KINDS:
        hooks.add(kind, lambda context: seen.append((context.session_id, context.work_dir, context.state)))
    run = hooks.run("s1", work_dir=tmp_path, state="mine")
    do(run, "prompt", "hi")
    do(run, "fire", StepContext.before(0))
    do(run, "tool", LS, operate)
    do(run, "end")
    assert set(seen) == {("s1", str(tmp_path), "mine")}


def test_metadata_goes_from_event_to_event(do, hooks):
    hooks.session_start(lambda context: context.with_metadata("a", 1))
    hooks.before_tool(lambda context: context.with_metadata("b", context.get("a") + 1))
    seen = []
    hooks.turn_end(lambda context: seen.append(dict(context.metadata)))
    run = hooks.run(metadata={"z": 0})
    do(run, "prompt", "hi")
    do(run, "tool", LS, operate)
    do(run, "end")
    assert seen == [{"z": 0, "a": 1, "b": 2}] == [run.metadata]


def test_two_runs_at_once_do_not_mix(hooks):
    @hooks.before_tool
    async def note(context):
        await asyncio.sleep(0)
        return context.with_metadata("calls", (*context.get("calls", ()), context.call_id)).add_context(
            context.session_id
        )

    async def work(name: str) -> tuple[Any, tuple[str, ...]]:
        async with hooks.run(name) as run:
            await run.aprompt(name)
            for at in range(3):
                await run.atool(ToolCall("list", {}, f"{name}{at}"), operate)
            return run.metadata["calls"], run.take_context()

    async def both() -> list[Any]:
        return await asyncio.gather(work("a"), work("b"))

    assert asyncio.run(both()) == [
        (("a0", "a1", "a2"), ("a", "a", "a")),
        (("b0", "b1", "b2"), ("b", "b", "b")),
    ]


def test_a_block_before_a_call_is_its_text_and_an_error(do, hooks):
    hooks.before_tool(lambda _: Outcome.block("not today"))
    outcome = do(hooks.run(), "tool", LS, pytest.fail)
    assert (outcome.text, outcome.is_error, outcome.has_run) == ("not today", True, False)
    assert (outcome.proceeds, outcome.is_blocked, outcome.is_stopped) == (False, True, False)
    with pytest.raises(Blocked, match="not today"):
        outcome.unwrap()


def test_hooks_change_arguments_and_result(do, hooks):
    hooks.before_tool(lambda context: context.replace(args={"where": "/"}))
    hooks.after_tool(lambda context: context.replace(result=context.result.upper()))
    outcome = do(hooks.run(), "tool", LS, operate)
    assert outcome.result == outcome.text == outcome.unwrap() == "RAN {'WHERE': '/'}"
    assert outcome.call.args == {"where": "/"}


def test_an_error_of_the_tool_is_in_the_outcome_with_what_hooks_object(do, hooks):
    hooks.tool_failed(lambda _: Outcome.block("try the other server"))

    def fail(_call: ToolCall) -> None:
        raise ValueError("no route")

    outcome = do(hooks.run(), "tool", LS, fail)
    assert (outcome.text, outcome.is_error, outcome.has_run) == ("no route\ntry the other server", True, True)
    with pytest.raises(ValueError, match="no route") as raised:
        outcome.unwrap()
    assert raised.value.__notes__ == ["try the other server"]


def test_an_objection_to_a_result_is_read_by_the_model_with_the_result(do, hooks):
    hooks.after_tool(lambda _: Outcome.block("that looks odd"))
    outcome = do(hooks.run(), "tool", LS, lambda _: {"n": 1})
    assert (outcome.text, outcome.objection, outcome.is_error) == ('{"n": 1}\nthat looks odd', "that looks odd", False)
    with pytest.raises(Blocked) as raised:
        outcome.unwrap()
    assert raised.value.result == {"n": 1}


def test_after_a_stop_nothing_proceeds_and_no_hook_is_asked(do, hooks, events):
    hooks.after_tool(lambda _: Outcome.stop("budget"))
    run = hooks.run()
    do(run, "prompt", "hi")
    assert do(run, "tool", LS, operate).is_stopped
    events.clear()
    for outcome in (do(run, "tool", LS, pytest.fail), do(run, "before", LS), do(run, "prompt", "again")):
        assert (outcome.is_stopped, outcome.reason) == (True, "budget")
    assert (run.is_stopped, run.stop_reason) == (True, "budget")
    do(run, "end")
    assert events == ["post-agent-turn", "post-session"]


def test_a_tool_that_raises_stopped_ends_the_run(do, hooks):
    def stop(_call: ToolCall) -> None:
        raise Stopped("inside")

    run = hooks.run()
    assert do(run, "tool", LS, stop).is_stopped
    assert run.stop_reason == "inside"


def test_a_refused_session_refuses_the_prompt_and_has_no_end(do, hooks, events):
    hooks.session_start(lambda _: Outcome.block("closed"))
    run = hooks.run()
    outcome = do(run, "prompt", "hi")
    assert (outcome.proceeds, outcome.reason, outcome.context.prompt) == (False, "closed", "hi")
    do(run, "end")
    assert events == ["pre-session"]


def test_a_refused_prompt_begins_no_turn(do, hooks, events):
    hooks.turn_start(lambda _: Outcome.block("no"))
    run = hooks.run()
    assert do(run, "prompt", "hi").reason == "no"
    do(run, "end")
    assert events == ["pre-session", "pre-agent-turn", "post-session"]


def test_a_prompt_is_changed_by_hooks(do, hooks):
    hooks.turn_start(lambda context: context.replace(prompt="HI"))
    assert do(hooks.run(), "prompt", "hi").context.prompt == "HI"


def test_the_next_prompt_ends_the_turn_before(do, hooks, events):
    run = hooks.run()
    do(run, "prompt", "one")
    do(run, "prompt", "two")
    assert events == ["pre-session", "pre-agent-turn", "post-agent-turn", "pre-agent-turn"]


# Stops


def test_a_refused_stop_has_feedback_and_is_counted_per_turn(do, hooks):
    counts = []

    @hooks.before_stop
    def gate(context):
        counts.append(context.block_count)
        return Outcome.block("tests fail")

    run = hooks.run()
    do(run, "prompt", "hi")
    assert do(run, "stop", "x").feedback == "[Hook blocked stop: tests fail]"
    assert [do(run, "stop", "x").proceeds for _ in range(3)] == [False, False, True]
    assert "refused 3 times" in run.take_messages()[0]
    do(run, "prompt", "again")
    assert not do(run, "stop", "x").proceeds
    assert counts == [0, 1, 2, 3, 0]


def test_a_stop_that_cannot_be_refused_is_reported(do, hooks):
    hooks.before_stop(lambda _: Outcome.block("tests fail"))
    run = hooks.run()
    outcome = do(run, "stop", "x", can_continue=False)
    assert outcome.proceeds
    assert outcome.lifted == ("tests fail",)
    assert "cannot be refused" in run.take_messages()[0]


# Texts


def test_context_of_parallel_calls_waits_until_all_results_are_there(hooks):
    @hooks.after_tool
    def add(context):
        return context.add_context(f"about {context.call_id}")

    async def main() -> None:
        run = hooks.run()
        others_may_end = asyncio.Event()

        async def wait(_call: ToolCall) -> str:
            await others_may_end.wait()
            return "late"

        slow = asyncio.create_task(run.atool(ToolCall("slow", {}, "slow"), wait))
        await asyncio.sleep(0)
        outcome = await run.atool(ToolCall("quick", {}, "quick"), lambda _: "now")
        assert outcome.additional_context == ("about quick",)
        assert run.take_context() == ()
        others_may_end.set()
        await slow
        assert run.take_context() == ("about quick", "about slow")
        assert run.take_context() == ()

    asyncio.run(main())


def test_context_waits_for_calls_that_the_host_makes_itself(do, hooks):
    hooks.before_tool(lambda context: context.add_context("before"))
    hooks.after_tool(lambda context: context.add_context("after"))
    run = hooks.run()
    do(run, "before", LS)
    assert run.take_context() == ()
    do(run, "after", "c1", "done")
    assert run.take_context() == ("before", "after")


def test_context_of_parallel_calls_that_the_host_makes_waits_until_all_results_are_there(do, hooks):
    hooks.after_tool(lambda context: context.add_context(f"about {context.call_id}"))
    run = hooks.run()
    for call_id in ("a", "b"):
        assert do(run, "before", ToolCall("list", {}, call_id)).proceeds
    do(run, "after", "a", "done")
    assert run.take_context() == ()
    do(run, "after", "b", "done")
    assert run.take_context() == ("about a", "about b")


def test_the_reason_of_a_block_at_the_end_of_a_turn_is_for_the_next_turn(do, hooks):
    hooks.turn_end(lambda context: Outcome.block("write tests next time"))
    run = hooks.run()
    do(run, "prompt", "first")
    do(run, "end_turn", "done")
    assert do(run, "prompt", "second").proceeds
    assert run.take_context() == ("write tests next time",)


def test_messages_of_all_events_are_for_the_person(do, hooks):
    hooks.turn_start(lambda context: context.add_message("hello"))
    hooks.before_tool(lambda context: context.add_message("careful"))
    run = hooks.run()
    do(run, "prompt", "hi")
    do(run, "tool", LS, operate)
    assert run.take_messages() == ("hello", "careful")
    assert run.take_messages() == ()


def test_messages_are_shown_when_they_come_also_those_of_the_end_and_of_subagents(do, hooks):
    for register in (hooks.turn_start, hooks.subagent_start, hooks.turn_end, hooks.session_end):
        register(lambda context: context.add_message(context.event))
    shown: list[str] = []
    run = hooks.run()
    run.show_message = shown.append
    do(run, "prompt", "hi")
    assert shown == ["pre-agent-turn"]
    do(run.child("helper"), "prompt", "help")
    do(run, "end")
    do(hooks.run(), "prompt", "hi")
    assert shown == ["pre-agent-turn", "pre-subagent", "post-agent-turn", "post-session"]


def test_messages_that_are_never_taken_are_shown_but_not_all_are_kept(hooks):
    shown: list[str] = []
    run = hooks.run()
    run.show_message = shown.append
    for number in range(3000):
        run.add_messages([f"step {number}", "again"])
    assert [text for text in shown if text != "again"] == [f"step {number}" for number in range(3000)]
    assert run.take_messages()[-1] == "step 2999"
    run.add_messages(map(str, range(3000)))
    assert len(run.take_messages()) == 1024


def test_the_same_message_is_shown_once(do, hooks):
    hooks.before_tool(lambda context: context.add_message("careful"))
    shown: list[str] = []
    run = hooks.run()
    run.show_message = shown.append
    for number in range(3):
        do(run, "tool", ToolCall("list", {}, str(number)), operate)
    assert shown == ["careful"]


# Steps


def test_a_step_ends_when_the_next_one_begins_and_when_the_agent_stops(do, hooks, events):
    hooks.before_step(lambda context: context.add_context(f"step {context.index}"))
    run = hooks.run()
    do(run, "prompt", "hi")
    assert do(run, "begin_step").proceeds
    assert run.take_context() == ("step 0",)
    do(run, "tool", LS, operate)
    assert do(run, "begin_step").context.index == 1
    assert run.take_context() == ("step 1",)
    do(run, "stop", "done")
    do(run, "end")
    steps = ["pre-step", "pre-tool-call", "post-tool-call", "post-step", "pre-step", "post-step"]
    assert events[2:9] == [*steps, "pre-agent-turn-stop"]
    assert events.count("post-step") == 2


def test_a_step_that_an_error_ended_has_no_end(do, hooks, events):
    run = hooks.run()
    do(run, "prompt", "hi")
    do(run, "begin_step")
    do(run, "failed", ValueError("the model is down"))
    assert "post-step" not in events
    do(run, "prompt", "again")
    do(run, "begin_step")
    assert "post-step" not in events


def test_a_stop_prevents_a_step_and_all_that_follow(do, hooks, events):
    hooks.before_step(lambda context: Outcome.stop("that is enough"))
    run = hooks.run()
    do(run, "prompt", "hi")
    outcomes = [do(run, "begin_step") for _ in range(2)]
    assert [(outcome.is_stopped, outcome.reason) for outcome in outcomes] == [(True, "that is enough")] * 2
    assert events.count("pre-step") == 1
    assert run.step_count == 0
    with pytest.raises(Stopped, match="that is enough"):
        run.raise_stop()


def test_a_stop_at_the_end_of_a_step_prevents_the_next_one_and_no_hook_is_asked_about_the_stop(do, hooks, events):
    hooks.after_step(lambda context: Outcome.stop("that is enough"))
    run = hooks.run()
    do(run, "prompt", "hi")
    do(run, "begin_step")
    assert do(run, "begin_step").is_stopped
    other = hooks.run()
    do(other, "prompt", "hi")
    do(other, "begin_step")
    assert do(other, "stop", "done").reason == "that is enough"
    assert events.count("pre-step") == 2
    assert "pre-agent-turn-stop" not in events


@pytest.mark.parametrize("decide", [Outcome.block, Outcome.ask])
def test_a_step_cannot_be_blocked_and_the_person_reads_why_a_hook_wanted_it(do, hooks, decide):
    hooks.before_step(lambda context: decide("not now"))
    run = hooks.run()
    do(run, "prompt", "hi")
    outcome = do(run, "begin_step")
    assert outcome.proceeds
    assert run.step_count == 1
    assert "not now" in run.take_messages()[0]
    assert "not now" in outcome.messages[0]


# Refusals as errors


def test_a_refusal_can_be_raised(do, hooks):
    hooks.turn_start(lambda context: Outcome.block("no keys") if "key" in context.prompt else None)
    run = hooks.run()
    do(run, "prompt", "hi").raise_refusal()
    blocked = do(run, "prompt", "the key")
    blocked.raise_stop()
    with pytest.raises(Blocked, match="no keys"):
        blocked.raise_refusal()
    hooks.turn_start(lambda context: Outcome.stop("the budget is spent"))
    for name in ("raise_refusal", "raise_stop"):
        with pytest.raises(Stopped, match="the budget is spent"):
            getattr(do(hooks.run(), "prompt", "hi"), name)()
    run.raise_stop()


# Split callbacks


def test_a_host_with_split_callbacks_gets_the_changed_call_and_the_changed_result(do, hooks, events):
    hooks.before_tool(lambda context: context.replace(args={"where": "/"}))
    hooks.after_tool(lambda context: context.replace(result=context.result * 2))
    run = hooks.run()
    outcome = do(run, "before", ToolCall("list", {"where": "."}))
    assert (outcome.proceeds, outcome.has_run, dict(outcome.call.args)) == (True, False, {"where": "/"})
    assert do(run, "after", outcome.call, "ab").result == "abab"
    assert events == ["pre-tool-call", "post-tool-call"]


def test_a_host_with_split_callbacks_reports_failures(do, hooks, events):
    run = hooks.run()
    do(run, "before", LS)
    assert do(run, "after_failure", "c1", ValueError("no")).text == "no"
    assert events == ["pre-tool-call", "post-tool-call-failure"]


def test_the_end_of_a_refused_call_fires_no_event(do, hooks, events):
    hooks.before_tool(lambda _: Outcome.block("no"))
    run = hooks.run()
    assert do(run, "before", LS).text == "no"
    assert do(run, "after", "c1", "cancelled: no").text == "cancelled: no"
    assert events == ["pre-tool-call"]


def test_an_unknown_call_cannot_end_by_its_id_alone(do, hooks, events):
    run = hooks.run()
    with pytest.raises(HookError, match="there is no open call 'c1'"):
        do(run, "after", "c1", "x")
    assert do(run, "after", LS, "x").text == "x"
    assert events == ["post-tool-call"]


def test_the_end_of_a_call_without_an_id_is_known_by_its_name_and_arguments(do, hooks, events, caplog):
    hooks.before_tool(
        lambda context: Outcome.block("no") if context.args["where"] == "no" else context.add_context("t")
    )
    run = hooks.run()
    calls = [ToolCall("list", {"where": where}) for where in ("a", "b", "b", "no")]
    for call in calls:
        do(run, "before", call)
    for call in calls:
        do(run, "after", ToolCall(call.name, dict(call.args)), "x")
    assert run.take_context() == ("t", "t", "t")
    assert (events.count("post-tool-call"), caplog.messages) == (3, [])


def test_the_end_of_a_call_that_hooks_have_not_seen_is_reported(do, hooks, events, caplog):
    run = hooks.run()
    do(run, "before", ToolCall("list", {"where": "."}))
    do(run, "after", ToolCall("list", {"where": "/"}), "x")
    assert "`after` got a call of 'list' that `before` has not seen: pass `outcome.call`" in caplog.text


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_call_without_an_end_is_reported_if_texts_for_the_model_waited_for_it(do, hooks, caplog, is_interrupted):
    hooks.before_tool(lambda context: context.add_context("t"))
    run = hooks.run()
    do(run, "prompt", "hi")
    do(run, "before", LS)
    do(run, "cancel" if is_interrupted else "end")
    assert ("`after` was not called for 'list'" in caplog.text) == (not is_interrupted)
    assert ("wrote for it (1)" in caplog.text) == (not is_interrupted)


def test_a_call_with_the_id_of_an_open_call_of_another_tool_is_refused(do, hooks):
    hooks.after_tool(match="read_file")(lambda context: context.replace(result="***"))
    run = hooks.run()
    read, echo = ToolCall("read_file", {"path": "key"}, "x"), ToolCall("echo", {"text": "1"}, "x")
    assert do(run, "before", read).proceeds
    refused = do(run, "before", echo)
    assert not refused.proceeds
    assert "a call of read_file with the same id 'x' is open" in refused.reason
    # In any order of the ends.
    assert do(run, "after", echo, "refused").result == "refused"
    assert do(run, "after", read, "hunter2").result == "***"
    assert do(run, "before", echo).proceeds


def test_the_end_of_a_refused_call_is_not_that_of_an_open_call_with_the_same_id(do, hooks):
    hooks.before_tool(lambda context: Outcome.block("no") if context.args["path"] == "b" else None)
    hooks.after_tool(lambda context: context.replace(result="***"))
    run = hooks.run()
    first, second = (ToolCall("read_file", {"path": path}, "x") for path in "ab")
    assert [do(run, "before", call).proceeds for call in (first, second)] == [True, False]
    assert do(run, "after", second, "no").result == "no"
    assert do(run, "after", first, "hunter2").result == "***"


@pytest.mark.parametrize("changed", [None, {"where": "/"}], ids=["same", "changed"])
@pytest.mark.parametrize("way", ["before", "tool"])
def test_hooks_see_a_result_that_comes_after_the_end_of_a_call_that_a_person_allowed(do, hooks, way, changed):
    hooks.before_tool(lambda context: Outcome.ask("sure?") if context.args["where"] == "." else None)
    hooks.after_tool(lambda context: context.replace(result="***"))
    run = hooks.run(can_ask=True)
    do(run, "prompt", "hi")
    made = LS if changed is None else ToolCall("list", changed, LS.id)
    run.answer(do(run, "before", LS).ask.token, is_allowed=True, args=changed)
    if way == "tool":
        assert do(run, "tool", made, lambda _: "pending").result == "***"
    else:
        assert do(run, "before", made).proceeds
        assert do(run, "after", made, "pending").result == "***"
    assert do(run, "after", made, "hunter2").result == "***"
    with pytest.raises(HookError, match="there is no open call"):
        do(run, "after", LS.id, "hunter2")


def test_hooks_see_the_result_of_another_call_with_the_id_of_a_refused_one(do, hooks):
    hooks.before_tool(lambda context: Outcome.block("no") if context.args["where"] == "." else None)
    hooks.after_tool(lambda context: context.replace(result="***"))
    run = hooks.run()
    assert not do(run, "before", LS).proceeds
    assert do(run, "after", ToolCall("list", {"where": "/"}, LS.id), "hunter2").result == "***"
    assert do(run, "after", LS, "no").result == "no"


def test_the_end_of_a_call_that_waits_is_known_by_its_arguments_as_they_were_given_or_changed(do, hooks):
    hooks.before_tool(lambda context: Outcome.ask("sure?").replace(context=context.replace(args={"where": "/"})))
    hooks.after_tool(lambda context: context.replace(result="***"))
    for args in ({"where": "."}, {"where": "/"}):
        run = hooks.run(can_ask=True)
        assert do(run, "before", LS).ask.call.args == {"where": "/"}
        assert do(run, "after", ToolCall("list", args, LS.id), "waits").result == "waits"


def yield_two(call):
    yield 1
    yield 2


async def yield_two_async(call):
    yield 1
    yield 2


def use_stream(run: AgentRun, way: str, most: int) -> None:
    """Read a stream that a tool of a run returns, up to a number of parts."""
    if way == "sync":
        stream = run.tool(LS, yield_two).result
        for _ in range(most):
            next(stream, None)
        stream.close()
        return

    async def read() -> None:
        stream = (await run.atool(LS, yield_two_async)).result
        for _ in range(most):
            await anext(stream, None)
        await stream.aclose()

    asyncio.run(read())


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("most", [1, 3], ids=["a part of it", "all of it"])
def test_a_stop_after_a_stream_ends_the_run(hooks, way, most):
    hooks.after_tool(lambda context: Outcome.stop("enough"))
    run = hooks.run()
    # Only who reads it all can get the error.
    with suppress(Stopped):
        use_stream(run, way, most)
    assert run.is_stopped
    assert run.stop_reason == "enough"
    assert not run.tool(LS, lambda call: "ran").has_run


@pytest.mark.parametrize("way", ["sync", "async"])
def test_texts_and_values_of_hooks_after_a_stream_are_kept_once(hooks, way):
    hooks.before_tool(lambda context: context.add_context("before").add_message("begins"))
    hooks.after_tool(lambda context: context.add_context("after").add_message("ends").with_metadata("parts", 2))
    run = hooks.run()
    use_stream(run, way, 3)
    assert run.take_context() == ("before", "after")
    assert run.take_messages() == ("begins", "ends")
    assert run.metadata == {"parts": 2}


def test_a_stop_after_the_stream_of_a_guarded_function_ends_the_run(hooks):
    hooks.after_tool(lambda context: Outcome.stop("enough"))
    count = hooks.guard(lambda: yield_two(LS), name="count")
    with hooks.run() as run:
        with pytest.raises(Stopped):
            list(count())
        assert run.is_stopped


def test_middleware_around_tools_is_refused_where_the_host_makes_the_calls(do, hooks):
    @hooks.before_tool
    def around(context, next):  # noqa: A002
        return next(context)

    with pytest.raises(HookError, match=r"around: middleware cannot be around tools here"):
        do(hooks.run(), "before", LS)
    with pytest.raises(HookError, match="before_tool and after_tool"):
        hooks.run().refuse_middleware()


# Questions


@pytest.fixture
def asking(hooks):
    """Hooks of which one asks, and a list of what was called."""
    called: list[str] = []

    @hooks.before_tool(priority=5)
    def change(context):
        called.append("change")
        return context.replace(args={"where": "/"}).add_context("note")

    @hooks.before_tool
    def ask(_context):
        called.append("ask")
        return Outcome.ask("sure?")

    return called


@pytest.mark.parametrize("method", ["tool", "before", "decide"])
def test_a_question_blocks_where_no_person_can_be_asked(do, hooks, asking, method):
    arguments = (LS, pytest.fail) if method == "tool" else (LS,)
    outcome = do(hooks.run(), method, *arguments)
    assert (outcome.proceeds, outcome.is_blocked, outcome.ask) == (False, True, None)
    assert outcome.text == "sure? (no person can be asked)"


def test_a_stack_blocks_a_question_unless_its_caller_asks(hooks, asking):
    from boathook import ToolContext

    context = ToolContext.before("list", {})
    assert hooks.stack.process(context).decision == Decision.BLOCK
    assert asyncio.run(hooks.stack.aprocess(context)).decision == Decision.BLOCK
    assert hooks.stack.process(context, can_ask=True).decision == Decision.ASK
    assert not hooks.stack.process(context, can_ask=True).proceeds
    hooks.on_ask(lambda *_: True)
    assert hooks.stack.process(context).decision == Decision.ALLOW
    hooks.on_ask(lambda *_: False)
    assert hooks.stack.process(context).is_blocked


@pytest.mark.parametrize("is_allowed", [True, False])
@pytest.mark.parametrize("method", ["tool", "before"])
def test_a_question_is_data_and_the_answer_needs_no_hook_again(do, hooks, asking, events, method, is_allowed):
    run = hooks.run(can_ask=True)
    arguments = (LS, operate) if method == "tool" else (LS,)
    asked = do(run, method, *arguments)
    assert (asked.proceeds, asked.is_blocked, asked.ask.reason) == (False, False, "sure?")
    assert dict(asked.ask.call.args) == {"where": "/"}
    assert run.take_context() == ()
    run.answer(asked.ask.token, is_allowed)
    outcome = do(run, method, *arguments)
    assert outcome.proceeds is is_allowed
    assert asking == ["change", "ask"]
    assert events[:2] == ["pre-tool-call", "permission-request"]
    assert events.count("pre-tool-call") == events.count("permission-request") == 1
    if is_allowed:
        assert dict(outcome.call.args) == {"where": "/"}
    else:
        assert outcome.text == "sure? (refused by a person)"
    if method == "before" and is_allowed:
        do(run, "after", "c1", "x")
    assert run.take_context() == ("note",)


def test_a_decision_is_used_when_the_call_is_made(do, hooks, asking, events):
    run = hooks.run(can_ask=True)
    decided = do(run, "decide", LS)
    assert decided.ask is not None
    assert do(run, "decide", LS).ask == decided.ask
    run.answer(decided.ask.token, True)
    assert do(run, "tool", LS, operate).text == "ran {'where': '/'}"
    assert asking == ["change", "ask"]
    assert events == ["pre-tool-call", "permission-request", "post-tool-call"]


def test_an_answer_about_one_input_does_not_count_for_another(do, hooks, asking):
    run = hooks.run(can_ask=True)
    run.answer(do(run, "tool", LS, pytest.fail).ask.token, True)
    other = ToolCall("list", {"where": "/etc"}, "c1")
    assert do(run, "tool", other, pytest.fail).ask is not None
    assert asking == ["change", "ask"] * 2


def test_a_person_may_change_the_arguments_and_hooks_see_them(do, hooks):
    seen = []

    @hooks.before_tool
    def ask(context):
        seen.append(dict(context.args))
        return Outcome.ask("sure?")

    run = hooks.run(can_ask=True)
    run.answer(do(run, "tool", LS, pytest.fail).ask.token, True, args={"where": "/tmp"})
    assert do(run, "tool", ToolCall("list", {"where": "/tmp"}, "c1"), operate).text == "ran {'where': '/tmp'}"
    assert seen == [{"where": "."}, {"where": "/tmp"}]


def test_the_token_of_another_run_is_refused(do, hooks, asking):
    first = hooks.run("s", can_ask=True)
    token = do(first, "tool", LS, pytest.fail).ask.token
    for other in (hooks.run("other", can_ask=True), hooks.run("s", can_ask=True).resume()):
        with pytest.raises(HookError, match=r"no open question with this token .*hooks\.find_run\(token\)"):
            other.answer(token, True)
        assert do(other, "tool", LS, pytest.fail).ask.token != token
    first.answer(token, True)
    assert do(first, "tool", LS, operate).has_run


def test_a_token_counts_once(do, hooks, asking):
    run = hooks.run(can_ask=True)
    token = do(run, "tool", LS, pytest.fail).ask.token
    run.answer(token, True)
    with pytest.raises(HookError, match="answered already"):
        run.answer(token, True)
    assert do(run, "tool", LS, operate).has_run
    with pytest.raises(HookError, match="answered already"):
        run.answer(token, True)
    assert do(run, "tool", ToolCall("list", LS.args, "c2"), pytest.fail).ask.token != token
    assert do(run, "tool", LS, pytest.fail).ask.token != token


@pytest.mark.parametrize("token", ["", ".", "nonsense"])
def test_a_token_that_was_never_given_is_refused(do, hooks, asking, token):
    run = hooks.run(can_ask=True)
    given = do(run, "tool", LS, pytest.fail).ask.token
    for wrong in (token, f"{token}.{given.rpartition('.')[2]}"):
        with pytest.raises(HookError, match="no open question with this token"):
            run.answer(wrong, True)
    assert do(run, "tool", LS, pytest.fail).ask.token == given


def test_the_token_of_a_turn_that_has_ended_is_refused(do, hooks, asking):
    run = hooks.run(can_ask=True)
    do(run, "prompt", "hi")
    token = do(run, "tool", LS, pytest.fail).ask.token
    do(run, "prompt", "again")
    with pytest.raises(HookError, match="its turn has ended"):
        run.answer(token, True)


@pytest.mark.parametrize("is_allowed", [True, False])
def test_an_answer_before_the_question_counts_for_this_call_only(do, hooks, asking, is_allowed):
    run = hooks.run(can_ask=True).resume()
    run.answer_call(LS, is_allowed=is_allowed)
    assert do(run, "tool", ToolCall("list", LS.args, "c2"), pytest.fail).ask is not None
    assert do(run, "tool", LS, operate).has_run is is_allowed
    assert do(run, "tool", LS, pytest.fail).ask is not None


def test_an_answer_before_the_question_is_dropped_with_other_arguments_and_with_the_turn(do, hooks, asking):
    run = hooks.run(can_ask=True)
    do(run, "prompt", "hi")
    run.answer_call(LS, is_allowed=True)
    assert do(run, "tool", ToolCall("list", {"where": "x"}, "c1"), pytest.fail).ask is not None
    assert do(run, "tool", LS, pytest.fail).ask is not None
    run.answer_call(ToolCall("list", LS.args, "c2"), is_allowed=True)
    do(run, "prompt", "again")
    assert do(run, "tool", ToolCall("list", LS.args, "c2"), pytest.fail).ask is not None


def test_an_approval_of_a_call_without_a_question_is_over_with_the_call(do, hooks):
    class Interrupt(Exception):
        pass

    def interrupt(_call: ToolCall) -> None:
        raise Interrupt

    made = []
    hooks.before_tool(lambda _context: Outcome.ask("again?") if made else None)
    run = hooks.run(can_ask=True)
    with pytest.raises(Interrupt):
        do(run, "tool", LS, interrupt, passes=(Interrupt,))
    run.answer_call(LS, is_allowed=True)
    assert do(run, "tool", LS, made.append).has_run
    for call_id in ("c1", "c2"):
        assert do(run, "tool", ToolCall("list", LS.args, call_id), pytest.fail).ask.reason == "again?"


def test_one_answer_runs_one_of_several_calls_with_the_same_id(hooks, asking):
    run = hooks.run(can_ask=True)
    run.answer(run.tool(LS, pytest.fail).ask.token, True)
    others = []

    def operate_slowly(_call: ToolCall) -> str:
        # The other calls come while this one runs.
        with ThreadPoolExecutor(2) as threads:
            others.extend(threads.map(lambda _: run.tool(LS, pytest.fail), range(2)))
        return "ran"

    assert run.tool(LS, operate_slowly).result == "ran"
    assert [each.has_run for each in others] == [False, False]
    assert all(each.ask is not None or "another call with the same id" in each.text for each in others)


def test_one_answer_begins_one_of_several_calls_that_the_host_makes(do, hooks, asking):
    run = hooks.run(can_ask=True)
    run.answer(do(run, "before", LS).ask.token, True)
    assert do(run, "before", LS).proceeds
    second = do(run, "before", LS)
    assert (second.proceeds, second.is_blocked) == (False, True)
    assert "another call with the same id" in second.reason
    assert do(run, "after", "c1", "x").text == "x"
    assert do(run, "before", LS).ask is not None


def test_middleware_may_try_a_call_again_that_a_person_allowed(hooks):
    @hooks.before_tool
    def retry(context, next):  # noqa: A002
        next(context)
        return next(context)

    hooks.before_tool(lambda _context: Outcome.ask("sure?"), priority=1)
    run, made = hooks.run(can_ask=True), []
    run.answer(run.tool(LS, pytest.fail).ask.token, True)
    assert run.tool(LS, made.append).has_run
    assert len(made) == 2


def test_a_call_that_the_framework_makes_again_keeps_its_answer(do, hooks, asking):
    class Interrupt(Exception):
        pass

    def interrupt(_call: ToolCall) -> None:
        raise Interrupt

    run = hooks.run(can_ask=True)
    run.answer(do(run, "tool", LS, pytest.fail).ask.token, True)
    with pytest.raises(Interrupt):
        do(run, "tool", LS, interrupt, passes=(Interrupt,))
    assert do(run, "tool", LS, operate, passes=(Interrupt,)).has_run


def test_a_run_that_waits_is_found_by_its_token_and_goes_on(do, hooks, asking, events):
    run = hooks.run("s1", can_ask=True)
    do(run, "prompt", "hi")
    token = do(run, "tool", LS, pytest.fail).ask.token
    run.suspend()
    assert hooks.find_run(token) is hooks.find_run("s1") is run
    run.resume().answer(token, True)
    do(run, "tool", LS, operate)
    do(run, "end")
    assert hooks.find_run(token) is hooks.find_run("s1") is None
    assert events.count("pre-session") == events.count("pre-agent-turn") == events.count("post-session") == 1


async def _suspend_in_block(hooks, error=None):
    async with hooks.run("s1", can_ask=True) as run:
        await run.aprompt("hi")
        outcome = await run.atool(LS, operate)
        run.suspend()
        if error is not None:
            raise error
        return outcome.ask.token


def _suspend_in_plain_block(hooks, error=None):
    with hooks.run("s1", can_ask=True) as run:
        run.prompt("hi")
        outcome = run.tool(LS, operate)
        run.suspend()
        if error is not None:
            raise error
        return outcome.ask.token


BLOCKS = pytest.mark.parametrize(
    "suspend", [_suspend_in_plain_block, lambda *given: asyncio.run(_suspend_in_block(*given))], ids=["sync", "async"]
)


@BLOCKS
def test_a_run_that_was_suspended_in_its_block_goes_on_after_it(hooks, asking, events, suspend):
    token = suspend(hooks)
    assert events[-1] == "permission-request"
    run = hooks.find_run(token)
    with run:
        run.resume()
        run.answer(token, True)
        assert run.tool(LS, operate).has_run
    assert events[-2:] == ["post-agent-turn", "post-session"]
    assert hooks.find_run("s1") is None


@BLOCKS
def test_an_error_in_its_block_ends_a_run_that_was_suspended(hooks, asking, events, suspend):
    with suppress(RuntimeError):
        suspend(hooks, RuntimeError("broken"))
    assert events[-1] == "post-session"
    assert hooks.find_run("s1") is None


def test_a_subagent_that_waits_is_not_found_any_more_when_its_caller_has_ended(do, hooks, asking):
    run = hooks.run("s1", can_ask=True)
    do(run, "prompt", "hi")
    child = run.child("helper", "help")
    do(child, "prompt", "help")
    token = do(child, "before", LS).ask.token
    child.suspend("place")
    assert hooks.find_run(token) is hooks.find_run("place") is child
    assert child.is_session_open
    do(run, "end")
    assert hooks.find_run(token) is hooks.find_run("place") is None
    assert not child.is_session_open


def test_only_the_last_runs_wait_if_many_are_suspended(hooks):
    runs = [hooks.run(f"s{number}") for number in range(1025)]
    for run in runs:
        run.suspend()
    assert hooks.find_run("s0") is None
    assert [hooks.find_run("s1"), hooks.find_run("s1024")] == [runs[1], runs[1024]]


def test_a_resumed_run_fires_no_start_and_all_ends(do, hooks, events):
    run = hooks.run("s1").resume()
    do(run, "tool", LS, operate)
    do(run, "end")
    assert events == ["pre-tool-call", "post-tool-call", "post-agent-turn", "post-session"]


def test_middleware_is_around_the_operation_again_but_other_hooks_are_not_asked_again(do, hooks, asking):
    around = []

    @hooks.before_tool(priority=1)
    def timed(context, next):  # noqa: A002
        around.append("in")
        outcome = next(context)
        around.append(outcome.context.result)
        return outcome

    run = hooks.run(can_ask=True)
    run.answer(do(run, "tool", LS, pytest.fail).ask.token, True)
    assert do(run, "tool", LS, operate).text == "ran {'where': '/'}"
    assert asking == ["change", "ask"]
    assert around == ["in", "in", "ran {'where': '/'}"]


def test_errors_of_the_framework_pass_and_the_same_call_asks_no_hook_again(do, hooks, events):
    class Interrupt(Exception):
        pass

    def interrupt(_call: ToolCall) -> None:
        raise Interrupt

    run = hooks.run()
    with pytest.raises(Interrupt):
        do(run, "tool", LS, interrupt, passes=(Interrupt,))
    assert do(run, "tool", LS, operate, passes=(Interrupt,)).has_run
    assert events == ["pre-tool-call", "post-tool-call"]


def test_a_call_with_the_same_id_after_its_end_is_a_new_one(do, hooks, events):
    run = hooks.run()
    for _ in range(2):
        do(run, "tool", LS, operate)
    assert events == ["pre-tool-call", "post-tool-call"] * 2


@pytest.mark.parametrize("decorator", ["session_start", "turn_start"])
def test_a_question_at_another_event_blocks(do, hooks, decorator):
    getattr(hooks, decorator)(lambda _: Outcome.ask("sure?"))
    outcome = do(hooks.run(can_ask=True), "prompt", "hi")
    assert (outcome.is_blocked, outcome.ask) == (True, None)
    assert outcome.reason.startswith("sure? (a person can only be asked about tool calls")


def test_a_question_where_nothing_can_be_prevented_is_a_message(do, hooks):
    hooks.before_stop(lambda _: Outcome.ask("sure?"))
    run = hooks.run()
    assert do(run, "stop", "x").proceeds
    assert "sure?" in run.take_messages()[0]


# Ends


def test_a_failure_ends_the_turn_and_the_session(do, hooks, events):
    run = hooks.run()
    do(run, "prompt", "hi")
    do(run, "failed", ValueError("broken"))
    do(run, "end")
    assert events[2:] == ["turn-failure", "post-agent-turn", "post-session"]


@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt(), Stopped("enough")])
def test_a_with_block_ends_everything(hooks, events, error):
    reasons = []
    hooks.session_end(lambda context: reasons.append(context.exit_reason))

    def work() -> None:
        with hooks.run() as run:
            run.prompt("hi")
            raise error

    with pytest.raises(type(error)):
        work()
    failure = ["turn-failure"] if isinstance(error, ValueError) else []
    assert events[2:] == [*failure, "post-agent-turn", "post-session"]
    expected = {ValueError: "error", KeyboardInterrupt: "interrupted", Stopped: "done"}
    assert reasons == [expected[type(error)]]


def test_a_cancelled_task_ends_its_turn_and_its_session(hooks, events):
    reasons = []

    @hooks.session_end
    async def end(context):
        await asyncio.sleep(0)
        reasons.append(context.exit_reason)

    async def main() -> None:
        has_started = asyncio.Event()

        async def wait(_call: ToolCall) -> None:
            has_started.set()
            await asyncio.sleep(600)

        async def work() -> None:
            async with hooks.run() as run:
                await run.aprompt("hi")
                await run.atool(LS, wait)

        task = asyncio.create_task(work())
        await has_started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert events == ["pre-session", "pre-agent-turn", "pre-tool-call", "post-agent-turn", "post-session"]
    assert reasons == ["interrupted"]


def cancel_at_every_turn(task: asyncio.Task[None]) -> None:
    """Cancel a task until it is done, as a scope of anyio does, which names itself."""
    if not task.done():
        task.cancel("again")
        asyncio.get_running_loop().call_soon(cancel_at_every_turn, task)


@pytest.mark.parametrize("end", [None, ValueError("the hook failed")], ids=["ends", "fails"])
def test_a_task_that_is_cancelled_at_every_turn_of_the_loop_ends_its_turn_and_its_session(hooks, end):
    ended: list[str] = []

    @hooks.turn_end
    async def end_turn(context):
        await asyncio.sleep(0.01)
        ended.append("turn")

    @hooks.session_end
    async def end_session(context):
        await asyncio.sleep(0.01)
        ended.append("session")
        if end is not None:
            raise end

    async def main() -> None:
        async def work() -> None:
            async with hooks.run() as run:
                await run.aprompt("hi")
                has_started.set()
                await asyncio.sleep(600)

        has_started = asyncio.Event()
        task = asyncio.create_task(work())
        await has_started.wait()
        cancel_at_every_turn(task)
        with pytest.raises(asyncio.CancelledError if end is None else ValueError, match=r"again|the hook failed"):
            await task

    asyncio.run(main())
    assert ended == ["turn", "session"]


def test_a_scope_of_anyio_that_times_out_ends_the_turn_and_the_session(hooks):
    anyio = pytest.importorskip("anyio")
    ended: list[str] = []

    @hooks.session_end
    async def end_session(context):
        await asyncio.sleep(0.01)
        ended.append(context.exit_reason)

    async def main() -> None:
        with anyio.move_on_after(0.01) as scope:
            async with hooks.run() as run:
                await run.aprompt("hi")
                await asyncio.sleep(600)
        assert scope.cancelled_caught

    asyncio.run(main())
    assert ended == ["interrupted"]


def test_a_run_that_has_ended_cannot_begin_again(do, hooks):
    run = hooks.run()
    do(run, "end")
    with pytest.raises(BoathookError, match="the run has ended"):
        do(run, "prompt", "hi")


def test_after_its_end_a_run_does_nothing_more(do, hooks, events):
    guarded, ran = hooks.guard(lambda: ran.append("guarded"), name="list"), []
    steps = {
        "prompt": ("hi",),
        "begin_step": (),
        "tool": (LS, ran.append),
        "decide": (LS,),
        "before": (LS,),
        "stop": ("done",),
    }
    run = hooks.run()
    do(run, "prompt", "go")
    child = run.child("helper")
    do(child, "prompt", "help")
    do(run, "end")
    events.clear()
    for each in (run, child):
        for method, args in steps.items():
            with pytest.raises(BoathookError, match="the run has ended: make a new one"):
                do(each, method, *args)
        with pytest.raises(BoathookError, match="the run has ended"):
            each.resume()
    with run, pytest.raises(BoathookError, match="the run has ended"):
        guarded()
    assert (ran, events) == ([], [])


def test_a_refused_session_refuses_calls_with_its_reason(do, hooks, events):
    hooks.session_start(lambda context: Outcome.block("not on Sundays"))
    run, ran = hooks.run(), []
    do(run, "prompt", "go")
    for outcome in (do(run, "tool", LS, ran.append), do(run, "decide", LS), do(run, "before", LS)):
        assert (outcome.proceeds, outcome.reason) == (False, "not on Sundays")
    assert (ran, events) == ([], ["pre-session"])


def test_calls_and_subagents_are_refused_while_hooks_decide_about_the_session(do, hooks):
    ran, seen = [], []

    def decide(context: Any) -> Outcome:
        # As from another thread: these are in the same run.
        outcomes = [run.tool(LS, ran.append), run.decide(LS), run.before(LS), child.tool(LS, ran.append)]
        seen.extend([*outcomes, child.prompt("help")])
        return Outcome.block("closed")

    hooks.session_start(decide)
    run = hooks.run()
    child = run.child("helper")
    assert do(run, "prompt", "go").reason == "closed"
    assert ran == []
    assert len(seen) == 5
    assert all(not each.proceeds and "the session is just beginning" in each.reason for each in seen)


def test_calls_and_subagents_are_refused_if_hooks_failed_to_decide_about_the_session(do, hooks):
    failures = [ValueError("the database is down")]
    hooks.session_start(lambda context: (_ for _ in ()).throw(failures.pop()) if failures else None)
    run, ran = hooks.run(), []
    child = run.child("helper")
    with pytest.raises(ValueError, match="the database is down"):
        do(run, "prompt", "go")
    for each in (do(run, "tool", LS, ran.append), do(child, "prompt", "help")):
        assert (each.proceeds, "its hooks failed" in each.reason) == (False, True)
    assert do(run, "prompt", "go").proceeds
    assert do(child, "prompt", "help").proceeds
    do(run, "tool", LS, ran.append)
    assert len(ran) == 1


async def operate_later(call: ToolCall) -> str:
    return f"ran {call.name}"


async def stream_later(call: ToolCall) -> Any:
    yield f"ran {call.name}"


@pytest.mark.parametrize("operation", [operate_later, stream_later, partial(operate_later)])
@pytest.mark.parametrize("has_hook", [True, False])
@pytest.mark.filterwarnings("error")
def test_a_plain_call_of_an_async_tool_is_an_error_and_not_a_result(hooks, events, operation, has_hook):
    hooks = hooks if has_hook else Hooks()
    guarded = hooks.guard(lambda where: operation(LS), name="list")
    calls = (
        lambda: hooks.run().tool(LS, operation),
        lambda: hooks.stack.run_tool(LS, operation),
        lambda: guarded("."),
    )
    for call in calls:
        with pytest.raises(HookError, match=r"the tool 'list' is async, so it has not run.*await run\.atool"):
            call()
    assert "post-tool-call" not in events


@pytest.mark.filterwarnings("error")
def test_a_plain_terminal_that_is_async_is_an_error(hooks, events):
    for stack in (hooks.stack, Hooks().stack):
        with pytest.raises(HookError, match="a terminal must return an Outcome, a context or None, not coroutine"):
            stack.process(NotificationContext.of("hi"), operate_later)


def test_the_end_of_a_session_names_what_ended_it(do, hooks):
    seen = []
    hooks.session_end(lambda context: seen.append((context.exit_reason, context.total_steps)))
    run = hooks.run()
    do(run, "prompt", "hi")
    run.step_count = 4
    do(run, "end")
    run = hooks.run()
    do(run, "prompt", "hi")
    do(run, "cancel")
    assert seen == [("done", 4), ("interrupted", 0)]


# Subagents


def test_the_run_of_a_subagent_shares_session_values_and_stops(do, hooks, events):
    hooks.subagent_start(lambda context: context.with_metadata("child", context.name).add_context("for the child"))
    hooks.before_tool(lambda context: Outcome.stop("enough") if context.args.get("stop") else None)
    run = hooks.run("s1")
    do(run, "prompt", "hi")
    child = run.child("helper", "dig")
    assert do(child, "prompt", "dig").proceeds
    assert child.take_context() == ("for the child",)
    assert run.take_context() == ()
    do(child, "tool", LS, operate)
    assert do(child, "stop", "a hole").proceeds
    do(child, "end")
    assert run.metadata["child"] == "helper"
    assert events[2:] == ["pre-subagent", "pre-tool-call", "post-tool-call", "post-subagent"]
    other = run.child("helper")
    do(other, "tool", ToolCall("list", {"stop": 1}), pytest.fail)
    assert run.is_stopped
    assert do(run, "tool", LS, pytest.fail).reason == "enough"


def test_after_a_stop_of_the_run_its_subagents_do_nothing_more(do, hooks):
    hooks.before_tool(lambda context: Outcome.stop("enough") if context.name == "end" else None)
    run = hooks.run()
    do(run, "prompt", "hi")
    old = run.child("scout", "look")
    do(old, "prompt", "look")
    assert do(run, "tool", ToolCall("end", {}, "c0"), pytest.fail).is_stopped
    for child in (old, run.child("late", "look"), old.child("deeper", "look")):
        outcomes = [
            do(child, "before", LS),
            do(child, "decide", LS),
            do(child, "tool", LS, pytest.fail),
            do(child, "prompt", "look"),
        ]
        assert [(each.proceeds, each.is_stopped, each.reason) for each in outcomes] == [(False, True, "enough")] * 4
        assert child.stop_reason == "enough"


def test_a_subagent_is_sent_back_at_most_three_times_and_ends_in_any_case(do, hooks, events):
    hooks.subagent_stop(lambda _: Outcome.block("deeper"))
    run = hooks.run("s1")
    child = run.child("helper", "dig")
    do(child, "prompt", "dig")
    outcomes = [do(child, "stop", "a hole") for _ in range(4)]
    assert [outcome.proceeds for outcome in outcomes] == [False, False, False, True]
    assert outcomes[0].feedback == "[Hook blocked stop: deeper]"
    other = run.child("helper", "dig")
    do(other, "prompt", "dig")
    events.clear()
    do(other, "failed", ValueError("x"))
    do(other, "end")
    assert events == ["turn-failure", "post-subagent"]


def test_each_hook_may_send_a_subagent_back_a_few_times(do, hooks):
    hooks.subagent_stop(priority=1)(lambda _: Outcome.block("deeper"))
    hooks.subagent_stop(max_rounds=1)(lambda context: Outcome.block(f"wider ({context.block_count})"))
    child = hooks.run().child("helper", "dig")
    do(child, "prompt", "dig")
    outcomes = [do(child, "stop", "a hole") for _ in range(5)]
    assert [outcome.reason for outcome in outcomes] == ["deeper", "deeper", "deeper", "wider (3)", ""]
    assert outcomes[-1].lifted == ("deeper", "wider (4)")
    do(child, "prompt", "dig")
    assert do(child, "stop", "a hole").reason == "deeper"


def test_the_reason_of_a_file_hook_that_may_refuse_no_more_is_known_for_agents_and_subagents(do, hooks, project):
    project.write_hook("gate", fields={"trigger": "pre-agent-turn-stop"}, script="#!/bin/sh\necho no >&2\nexit 2\n")
    project.write_hook("deep", fields={"trigger": "post-subagent"}, script="#!/bin/sh\necho deeper >&2\nexit 2\n")
    hooks.load(project.path)
    run = hooks.run()
    do(run, "prompt", "go")
    child = run.child("helper", "dig")
    do(child, "prompt", "dig")
    for one, reason in ((child, "deeper"), (run, "no")):
        outcomes = [do(one, "stop", "done") for _ in range(4)]
        assert [(outcome.proceeds, outcome.lifted) for outcome in outcomes] == [(False, ())] * 3 + [(True, (reason,))]


def test_a_refused_subagent_has_the_reason(do, hooks):
    hooks.subagent_start(lambda _: Outcome.block("no helpers"))
    outcome = do(hooks.run().child("helper"), "prompt", "dig")
    assert (outcome.proceeds, outcome.reason) == (False, "no helpers")


# Small things


def test_any_event_can_be_fired(do, hooks, events):
    outcome = do(hooks.run("s1"), "fire", NotificationContext.of("look"))
    assert (outcome.proceeds, outcome.context.session_id) == (True, "s1")
    assert events == ["notification"]


@pytest.mark.parametrize("call", [("list", {}), ToolCall("list", ["x"]), ToolCall(3, {})])
def test_what_is_not_a_call_is_an_error(do, hooks, call):
    with pytest.raises(HookError, match="a call must be a ToolCall"):
        do(hooks.run(), "tool", call, operate)


def test_an_outcome_that_is_only_a_decision_has_no_result(do, hooks):
    with pytest.raises(HookError, match="only the decision"):
        do(hooks.run(), "decide", LS).unwrap()


def test_an_error_of_a_hook_leaves_the_call_and_closes_it(do, hooks):
    hooks.before_tool(lambda _: 1 / 0)
    hooks.turn_start(lambda context: context.add_context("text"))
    run = hooks.run()
    do(run, "prompt", "hi")
    with pytest.raises(ZeroDivisionError):
        do(run, "tool", LS, operate)
    assert run.take_context() == ("text",)


@pytest.mark.parametrize(
    ("error", "failures", "exit_reason"),
    [
        (None, [], "done"),
        (ValueError("no disk"), ["turn-failure"], "error"),
        (KeyboardInterrupt(), [], "interrupted"),
        (asyncio.CancelledError(), [], "interrupted"),
        (Stopped("enough"), [], "done"),
    ],
    ids=["none", "error", "interruption", "cancel", "stop"],
)
def test_a_run_ends_with_the_error_that_ended_it(do, hooks, events, error, failures, exit_reason):
    ends: list[str] = []
    hooks.session_end(lambda context: ends.append(context.exit_reason))
    run = hooks.run()
    do(run, "prompt", "hi")
    do(run, "end", error=error)
    do(run, "end", error=error)
    assert events == ["pre-session", "pre-agent-turn", *failures, "post-agent-turn", "post-session"]
    assert ends == [exit_reason]


def test_hooks_that_fail_when_the_session_begins_are_asked_again_at_the_next_prompt(do, hooks):
    starts: list[str] = []

    @hooks.session_start
    def check_policy(context):
        starts.append(context.event)
        if len(starts) < 3:
            raise ConnectionError("the policy server is down")

    run = hooks.run()
    for _ in range(2):
        with pytest.raises(ConnectionError):
            do(run, "prompt", "hi")
    assert do(run, "prompt", "hi").proceeds
    assert do(run, "prompt", "hi").proceeds
    assert len(starts) == 3


def test_no_prompt_proceeds_before_hooks_have_decided_about_the_session(hooks):
    async def refuse(context):
        await asyncio.sleep(0.01)
        return Outcome.block("no sessions today")

    hooks.session_start(refuse)

    async def prompt_twice():
        run = hooks.run()
        return await asyncio.gather(run.aprompt("one"), run.aprompt("two"))

    assert [outcome.proceeds for outcome in asyncio.run(prompt_twice())] == [False, False]


def test_the_session_ends_although_a_hook_fails_at_the_end_of_the_turn(do, hooks, events):
    hooks.turn_end(lambda _: 1 / 0)
    run = hooks.run()
    do(run, "prompt", "hi")
    with pytest.raises(ZeroDivisionError):
        do(run, "end")
    assert events == ["pre-session", "pre-agent-turn", "post-agent-turn", "post-session"]
    assert not run.is_session_open


def pay_once(hooks):
    asked: list[str] = []

    @hooks.before_tool
    def decide(context):
        asked.append(context.name)
        return Outcome.block("only one payment") if len(asked) > 1 else None

    return asked


def test_hooks_are_asked_about_each_of_several_calls_at_once_that_are_the_same_in_all(hooks):
    asked, paid = pay_once(hooks), []

    async def pay(call):
        paid.append(call.id)
        await asyncio.sleep(0.01)
        return "paid"

    async def pay_thrice():
        run = hooks.run()
        await run.aprompt("pay")
        calls = [run.atool(ToolCall("pay", {"euros": 5}, "c1"), pay) for _ in range(3)]
        return await asyncio.gather(*calls)

    texts = [outcome.text for outcome in asyncio.run(pay_thrice())]
    assert texts == ["paid", "only one payment", "only one payment"]
    assert (paid, len(asked)) == (["c1"], 3)


def test_hooks_are_asked_about_each_of_several_calls_of_the_host_that_are_the_same_in_all(do, hooks):
    asked, run = pay_once(hooks), hooks.run()
    do(run, "prompt", "pay")
    call = ToolCall("pay", {"euros": 5}, "c1")
    assert [do(run, "before", call).proceeds for _ in range(3)] == [True, False, False]
    assert len(asked) == 3


def test_an_outcome_of_a_run_is_neither_true_nor_false(do, hooks):
    run = hooks.run()
    for outcome in (do(run, "prompt", "go"), do(run, "before", ToolCall("bash"))):
        with pytest.raises(TypeError, match=r"neither true nor false: ask outcome\.proceeds"):
            bool(outcome)


def take_no_position(*, command): ...


def take_two(command, folder): ...


def split(command):
    return command.split()


@pytest.mark.parametrize("tool", [take_no_position, take_two, split])
def test_the_tool_itself_in_place_of_an_operation_is_an_error_with_what_to_write(do, hooks, tool):
    call = ToolCall("bash", {"command": "ls", "folder": "."})
    with pytest.raises(HookError, match=rf"gets the ToolCall: write lambda call: {tool.__name__}\(\*\*call\.args\)"):
        do(hooks.run(), "tool", call, tool)


def test_errors_of_an_operation_stay_errors_of_the_tool(do, hooks):
    def raise_error(call):
        raise TypeError(call.name)

    call = ToolCall("bash", {"call": "ls"})
    for operation in (raise_error, lambda each: each.missing, lambda *calls: take_two("ls")):
        outcome = do(hooks.run(), "tool", call, operation)
        assert outcome.has_run
        assert isinstance(outcome.error, TypeError | AttributeError)


def test_what_is_not_a_context_or_an_error_is_refused_with_what_to_write(do, hooks):
    run = hooks.run()
    with pytest.raises(HookError, match=r"fire takes the context of an event, such as NotificationContext\.of"):
        do(run, "fire", "notification")
    with pytest.raises(HookError, match=r"a turn fails with an exception, not str: write RuntimeError"):
        do(run, "failed", "it broke")


def test_the_error_of_a_plain_block_in_a_loop_with_an_async_hook_names_the_async_form(hooks):
    @hooks.session_end
    async def end(context): ...

    async def run_plain():
        with hooks.run() as run:
            run.prompt("go")

    with pytest.raises(HookError, match=r"an event loop runs here: .* or write `async with`"):
        asyncio.run(run_plain())


@pytest.mark.parametrize("method", ["decide", "before"])
def test_a_decision_about_a_tool_that_no_hook_is_for_runs_no_chain(hooks, method, monkeypatch):
    hooks.before_tool(match="/^other$/")(pytest.fail)
    monkeypatch.setattr("boathook.inprocess.stack.ChainRun", pytest.fail)
    outcome = getattr(hooks.run(), method)(LS)
    assert outcome.proceeds
    assert outcome.call.args == LS.args


MISTAKES_IN_RUNS = {
    "session_id": (
        {"session_id": {"state": 1}},
        "session_id must be a text, not dict: write hooks.run(session_id='…', state=…)",
    ),
    "metadata": ({"metadata": "abc"}, "metadata must be a dict, not str: write metadata={'key': value}"),
    "extra": ({"extra": "abc"}, "extra must be a dict, not str: write extra={'key': value}"),
    "source": ({"source": "startp"}, "there is no source 'startp', did you mean 'startup'?"),
    "no source": ({"source": None}, "source must be a text such as 'startup', not NoneType"),
}


@pytest.mark.parametrize("name", MISTAKES_IN_RUNS)
def test_a_mistake_in_the_options_of_a_run_is_an_error_with_what_to_write(hooks, name):
    options, message = MISTAKES_IN_RUNS[name]
    with pytest.raises(HookError) as raised:
        hooks.run(**options)
    assert str(raised.value).startswith(message)


def test_a_source_of_your_own_is_accepted(hooks):
    assert hooks.run(source="nightly").source == "nightly"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_stream_has_no_text_before_it_is_read(hooks, way):
    run = hooks.run()
    outcome = run.tool(LS, yield_two) if way == "sync" else asyncio.run(run.atool(LS, yield_two_async))
    with pytest.raises(HookError, match=r"'list' returned a stream, which has no text.*read outcome\.result"):
        outcome.text  # noqa: B018
    if way == "sync":
        assert list(outcome.result) == [1, 2]


def test_the_text_of_a_key_error_has_its_class(do, hooks):
    def operate(call):
        raise {"k": KeyError("wirte_note"), "v": ValueError("no"), "n": ValueError()}[call.args["error"]]

    texts = [do(hooks.run(), "tool", ToolCall("list", {"error": error}), operate).text for error in "kvn"]
    assert texts == ["KeyError: 'wirte_note'", "no", "ValueError"]
