"""Sessions: turns that share a conversation, four ways to run them, and an end that hooks always receive."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from boathook import (
    Blocked,
    BoathookError,
    Decision,
    HookError,
    Outcome,
    RequestTimeout,
    Step,
    Stopped,
    Tool,
    ToolCall,
    ToolContext,
    TurnResult,
)
from boathook.agent.model import Reply
from boathook.agent.state import ToolResult
from tests.scratch_project import ScratchProject

from .builders import Witness, agent_of, call, child, list_lines, shown, text_tool

NO = "not today"
ALLOW = Decision.ALLOW


def ends(witness: Witness) -> list[tuple[str, int]]:
    return [(end["exit_reason"], end["total_steps"]) for end in witness.of("post-session")]


def watched(*moves: Any, tools: tuple[Tool, ...] = (), **models: Any) -> tuple[Any, Witness, Any]:
    """A builder, a witness of its hooks, and its model."""
    witness = Witness()
    builder, model = agent_of(*moves, tools=tools, **models)
    return builder.with_hooks(witness.stack), witness, model


# turns


def test_turns_of_a_session_share_the_conversation_and_the_system_text_begins_it() -> None:
    builder, model = agent_of("one", call("work"), "two", tools=(text_tool("work"),))
    with builder.with_system("be kind").build().session() as session:
        texts = [session.run("first").text, session.run("second").text]
    assert texts == ["one", "two"]
    assert list_lines(session.state.messages) == [
        "system: be kind",
        "user: first",
        "assistant: one",
        "user: second",
        "assistant:  work",
        "tool: work is done",
        "assistant: two",
    ]
    assert list_lines(model.requests[-1]) == list_lines(session.state.messages)[:-1]


def test_a_turn_comes_to_its_text_and_its_steps() -> None:
    builder, _ = agent_of(Reply("I will work", (ToolCall("work", {"n": 1}, "w"),)), "done", tools=(text_tool("work"),))
    asked = ToolCall("work", {"n": 1}, "w")
    assert builder.build().run("go") == TurnResult(
        "done",
        "done",
        "",
        (
            Step(0, Reply("I will work", (asked,)), (ToolResult(asked, "work is done"),)),
            Step(1, Reply("done")),
        ),
        (),
        "no_tool_calls",
    )


def test_the_four_ways_to_run_a_turn_return_the_same() -> None:
    def agent() -> Any:
        return agent_of(call("work"), "done", tools=(text_tool("work"),))[0].build()

    async def streamed() -> list[Any]:
        return [found async for found in agent().astream("go")]

    whole = agent().run("go")
    assert whole.steps != ()
    assert asyncio.run(agent().arun("go")) == whole
    assert list(agent().stream("go")) == [*whole.steps, whole]
    assert asyncio.run(streamed()) == [*whole.steps, whole]


def test_a_stream_yields_each_step_before_the_next_begins() -> None:
    log: list[str] = []

    def move(answer: Any) -> Any:
        def reply(_: Any) -> Any:
            log.append("the model is asked")
            return answer

        return reply

    builder, _ = agent_of(move(call("work")), move("done"), tools=(text_tool("work"),))
    for found in builder.build().stream("go"):
        log.append(type(found).__name__)
    assert log == ["the model is asked", "Step", "the model is asked", "Step", "TurnResult"]


def test_an_async_stream_yields_each_step_before_the_next_begins() -> None:
    seen, log = asyncio.Event(), []

    async def only_then(_: Any) -> str:
        await seen.wait()
        return "done"

    async def go() -> None:
        builder, _ = agent_of(call("work"), only_then, tools=(text_tool("work"),))
        async for found in builder.build().astream("go"):
            log.append(type(found).__name__)
            seen.set()

    asyncio.run(go())
    assert log == ["Step", "Step", "TurnResult"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_stream_that_is_left_ends_its_session(is_async: bool) -> None:
    builder, witness, _ = watched(call("work"), "done", tools=(text_tool("work"),))
    agent = builder.build()

    async def leave() -> None:
        async with contextlib.aclosing(agent.astream("go")) as steps:
            async for _ in steps:
                break

    if is_async:
        asyncio.run(leave())
    else:
        steps = agent.stream("go")
        next(steps)
        steps.close()
    assert ends(witness) == [("interrupted", 1)]
    assert witness.kinds[-2:] == ["post-agent-turn", "post-session"]


def test_a_session_goes_on_after_a_stream_that_was_left() -> None:
    builder, witness, model = watched(call("work"), "done", tools=(text_tool("work"),))
    with builder.build().session() as session:
        for _ in session.stream("go"):
            break
        assert session.run("go on").text == "done"
    assert list_lines(model.requests[-1]) == ["user: go", "assistant:  work", "tool: work is done", "user: go on"]
    assert ends(witness) == [("done", 2)]


def test_a_stream_that_outlives_its_session_ends_without_an_error() -> None:
    builder, witness, _ = watched(call("work"), "done", tools=(text_tool("work"),))
    with builder.build().session() as session:
        steps = session.stream("go")
        next(steps)
    steps.close()
    assert ends(witness) == [("done", 1)]


def test_a_failed_turn_does_not_end_its_session() -> None:
    builder, witness, model = watched(RuntimeError("down"), "done")
    with builder.build().session() as session:
        with pytest.raises(RuntimeError, match="down"):
            session.run("one")
        assert session.run("two").text == "done"
    assert list_lines(model.requests[-1]) == ["user: one", "user: two"]
    assert ends(witness) == [("done", 1)]


# refused and ended


@pytest.mark.parametrize("is_async", [False, True])
def test_a_refused_session_is_blocked_and_nothing_else_happens(is_async: bool) -> None:
    builder, witness, model = watched("done")
    agent = builder.add_hook("SessionStart", lambda _: Outcome.block(NO)).build()
    with pytest.raises(Blocked) as refused:
        asyncio.run(agent.arun("go")) if is_async else agent.run("go")
    assert (refused.value.reason, witness.kinds, model.requests) == (NO, ["pre-session"], [])


def test_a_refused_turn_does_not_run_and_is_not_remembered() -> None:
    builder, witness, model = watched("done")
    hook = lambda context: Outcome.block(NO) if "secret" in context.prompt else None  # noqa: E731
    with builder.on_execution_start(hook).build().session() as session:
        refused, ran = session.run("tell the secret"), session.run("hello")
    assert refused == TurnResult("blocked", "", NO)
    assert (ran.text, list_lines(model.requests[0])) == ("done", ["user: hello"])
    assert witness.kinds.count("post-agent-turn") == 1


def test_after_a_stop_later_turns_are_refused_and_the_session_ends_as_stopped() -> None:
    builder, witness, _ = watched(call("work"), "done", tools=(text_tool("work"),))
    with builder.on_before_tool_use(lambda _: Outcome.stop(NO)).build().session() as session:
        assert shown(session.run("go")) == f"stopped: {NO}"
        for again in (session.run, lambda prompt: list(session.stream(prompt))):
            with pytest.raises(Stopped, match=NO):
                again("go on")
    assert ends(witness) == [("stopped", 0)]
    assert witness.kinds.count("pre-agent-turn") == witness.kinds.count("post-agent-turn") == 1


def test_a_stop_that_leaves_the_block_as_an_exception_is_still_a_stop() -> None:
    builder, witness, _ = watched("done")
    agent = builder.on_execution_start(lambda _: Outcome.stop(NO)).build()

    def two_turns() -> None:
        with agent.session() as session:
            session.run("go")
            session.run("go on")

    with pytest.raises(Stopped):
        two_turns()
    assert ends(witness) == [("stopped", 0)]


def test_a_stop_ends_calls_that_run_at_the_same_time() -> None:
    waits, cancelled = asyncio.Event(), []

    async def wait(*_: Any) -> None:
        waits.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("wait")
            raise

    async def work(*_: Any) -> str:
        await waits.wait()
        return "worked"

    tools = (Tool("wait", "", wait), Tool("work", "", work))
    builder, _, _ = watched((call("wait"), call("work")), "done", tools=tools)
    result = builder.on_after_tool_use(lambda _: Outcome.stop(NO), match="work").build().run("go")
    assert (shown(result), cancelled) == (f"stopped: {NO}", ["wait"])


def test_a_stop_inside_a_subagent_ends_the_whole_run() -> None:
    builder, witness, model = watched(child(), "done", tools=(text_tool("work"),), helper=(call("work"), "found"))
    with builder.on_before_tool_use(lambda _: Outcome.stop(NO), match="work").build().session() as session:
        assert shown(session.run("go")) == f"stopped: {NO}"
        with pytest.raises(Stopped):
            session.run("go on")
    assert len(model.requests) == 1
    assert "post-subagent" not in witness.kinds


@pytest.mark.parametrize("act", ["compact", "notify"])
def test_a_stop_between_turns_is_raised_there_and_refuses_later_turns(act: str) -> None:
    event = {"compact": "PreCompact", "notify": "Notification"}[act]
    builder, witness, _ = watched("done", "more")
    with builder.add_hook(event, lambda _: Outcome.stop(NO)).build().session() as session:
        session.run("go")
        with pytest.raises(Stopped, match=NO):
            session.compact() if act == "compact" else session.notify("hello")
        with pytest.raises(Stopped, match=NO):
            session.run("go on")
    assert ends(witness) == [("stopped", 1)]


# use


def test_a_session_is_used_in_a_with_block_and_only_there() -> None:
    builder, witness, model = watched("done")
    session = builder.build().session()

    async def too_early() -> None:
        with pytest.raises(BoathookError, match="not open"):
            await session.arun("go")

    asyncio.run(too_early())
    with pytest.raises(BoathookError, match="not open"):
        session.run("go")
    with session:
        session.run("go")
    for late in (lambda: session.run("go"), session.compact, lambda: session.notify("x")):
        with pytest.raises(BoathookError, match="not open"):
            late()
    assert (len(model.requests), witness.kinds.count("pre-session")) == (1, 1)


def test_the_sync_form_raises_an_error_with_a_fix_where_an_event_loop_runs() -> None:
    builder, witness, _ = watched("done")

    async def go() -> None:
        with pytest.raises(BoathookError, match="an event loop runs here: use `async with`"):
            builder.build().run("go")

    asyncio.run(go())
    assert witness.events == []


def test_a_session_has_the_id_and_the_source_it_was_given_or_an_id_of_its_own() -> None:
    builder, witness, _ = watched("done")
    agent = builder.build()
    with agent.session("s-7", "resume", {"ui": "shell"}) as named, agent.session() as other, agent.session() as another:
        ids = [named.id, other.id, another.id]
    assert ids[0] == "s-7"
    assert len(set(ids)) == 3
    assert witness.events[0][2] == {"model": "scripted", "args": {"ui": "shell"}, "source": "resume"}
    assert [context.session_id for context in witness.contexts[:3]] == ids


def test_a_notification_goes_through_the_hooks() -> None:
    builder, witness, _ = watched("done")
    with builder.build().session() as session:
        session.notify("the build is green", "CI")
    assert witness.of("notification") == [{"message": "the build is green", "title": "CI"}]


# asking


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("how", ["plain", "async", "future"])
def test_a_person_is_asked_in_any_way_and_their_answer_counts(answer: bool, how: str) -> None:
    asked: list[tuple[str, str]] = []

    async def later() -> bool:
        return answer

    def ask(context: Any, reason: str) -> Any:
        asked.append((context.name, reason))
        if how == "future":
            future = asyncio.get_running_loop().create_future()
            future.set_result(answer)
            return future
        return later() if how == "async" else answer

    ran: list[Any] = []
    builder, _ = agent_of(call("deploy"), "done", tools=(text_tool("deploy", ran=ran, needs_permission=True),))
    builder.with_permission(ask).build().run("go")
    assert asked == [("deploy", "deploy wants to run")]
    assert bool(ran) is answer


def test_a_person_is_asked_one_thing_after_the_other_also_for_subagents() -> None:
    log: list[str] = []

    async def ask(context: Any, _: str) -> bool:
        log.append(f"ask {context.args['n']}")
        for _ in range(10):  # room for another question to come up
            await asyncio.sleep(0)
        log.append(f"answer {context.args['n']}")
        return True

    builder, _ = agent_of(
        (call("deploy", n=1), call("deploy", n=2), child()),
        "done",
        tools=(text_tool("deploy", needs_permission=True),),
        helper=(call("deploy", n=3), "found"),
    )
    builder.with_permission(ask).build().run("go")
    assert [line.split()[0] for line in log] == ["ask", "answer"] * 3
    assert [line.split()[1] for line in log[::2]] == [line.split()[1] for line in log[1::2]]


def test_a_tool_that_needs_permission_runs_unasked_if_no_person_can_be_asked() -> None:
    builder, witness, _ = watched(call("deploy"), "done", tools=(text_tool("deploy", needs_permission=True),))
    result = builder.build().run("go")
    assert (result.steps[0].results[0].text, "permission-request" in witness.kinds) == ("deploy is done", False)


def test_a_hook_that_allows_a_call_saves_the_question() -> None:
    builder, _ = agent_of(call("deploy"), "done", tools=(text_tool("deploy", needs_permission=True),))
    builder = builder.with_permission(lambda *_: pytest.fail("no person is to be asked"))  # type: ignore[arg-type,return-value]
    result = builder.on_before_tool_use(lambda _: Outcome(ALLOW)).build().run("go")
    assert result.steps[0].results[0].text == "deploy is done"


def test_a_hook_for_permissions_answers_instead_of_the_person() -> None:
    builder, witness, _ = watched(call("deploy"), "done", tools=(text_tool("deploy", needs_permission=True),))
    builder = builder.with_permission(lambda *_: pytest.fail("no person is to be asked"))  # type: ignore[arg-type,return-value]
    result = builder.add_hook("PermissionRequest", lambda _: Outcome(ALLOW)).build().run("go")
    assert (result.steps[0].results[0].text, witness.of("notification")) == ("deploy is done", [])


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (None, "sure? (no person can be asked)"),
        (lambda *_: False, "sure? (refused by a person)"),
        (lambda *_: True, "work is done"),
    ],
)
def test_a_hook_may_want_a_person_to_decide_about_any_tool(ask: Any, text: str) -> None:
    builder, _ = agent_of(call("work"), "done", tools=(text_tool("work"),))
    builder = builder.on_before_tool_use(lambda _: Outcome.ask("sure?"))
    result = (builder if ask is None else builder.with_permission(ask)).build().run("go")
    assert result.steps[0].results[0].text == text


def test_an_answer_of_a_person_that_is_not_a_bool_is_an_error() -> None:
    builder, _ = agent_of(call("work"), "done", tools=(text_tool("work"),))
    builder = builder.on_before_tool_use(lambda _: Outcome.ask("sure?"))
    # A text is true, whatever it says.
    agent = builder.with_permission(lambda *_: "no").build()  # type: ignore[arg-type,return-value]
    with pytest.raises(HookError, match="answered a question with str; it must return True or False"):
        agent.run("go")


def test_a_person_is_asked_for_a_subagent_too_and_its_refusal_ends_only_that() -> None:
    asked: list[str] = []
    builder, _, model = watched(
        child(), "done", tools=(text_tool("deploy", needs_permission=True),), helper=(call("deploy"), "never said")
    )

    def refuse(context: ToolContext, _reason: str) -> bool:
        asked.append(context.extra["agent_type"])
        return False

    agent = builder.with_permission(refuse).build()
    assert agent.run("go").text == "done"
    assert (asked, len(agent.subagents["helper"].model.requests), len(model.requests)) == (["helper"], 1, 2)


# the end


def test_the_end_of_a_session_is_reported_with_its_reason() -> None:
    builder, witness, _ = watched("done", "done", "done")
    agent = builder.build()
    with agent.session() as session:
        session.run("go")
    with pytest.raises(ZeroDivisionError), agent.session():
        raise ZeroDivisionError
    with pytest.raises(KeyboardInterrupt), agent.session():
        raise KeyboardInterrupt
    assert ends(witness) == [("done", 1), ("error", 0), ("interrupted", 0)]


def test_an_error_of_a_hook_at_the_end_of_a_session_is_raised() -> None:
    def raises(_: Any) -> None:
        raise KeyError("oops")

    builder, _ = agent_of("done")
    with pytest.raises(KeyError, match="oops"):
        builder.add_hook("SessionEnd", raises).build().run("go")


class Cancelled:
    """A run that is cancelled while something of it waits."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()

    async def wait(self, *_: Any) -> None:
        self.waiting.set()
        await asyncio.Event().wait()

    async def run(self, agent: Any) -> None:
        task = asyncio.create_task(agent.arun("go"))
        await self.waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("where", ["a tool", "a hook", "the model", "a subagent"])
def test_a_cancelled_run_ends_its_turn_and_its_session(where: str) -> None:
    async def go() -> tuple[list[tuple[str, int]], list[str]]:
        run = Cancelled()
        tools = (Tool("wait", "", run.wait), text_tool("work"))
        moves = {"a tool": call("wait"), "a hook": call("work"), "the model": run.wait, "a subagent": child()}
        builder, witness, _ = watched(moves[where], "done", tools=tools, helper=(call("wait"), "found"))
        if where == "a hook":
            builder = builder.on_before_tool_use(run.wait)
        await run.run(builder.build())
        return ends(witness), witness.kinds

    found, kinds = asyncio.run(go())
    assert found == [("interrupted", 0)]
    assert kinds[-2:] == ["post-agent-turn", "post-session"]
    assert kinds.count("post-subagent") == kinds.count("pre-subagent")
    assert not {"post-tool-call", "post-tool-call-failure", "turn-failure"} & set(kinds)


def test_a_failed_turn_ends_and_the_error_of_a_hook_at_its_end_does_not_hide_it() -> None:
    builder, witness, _ = watched(ValueError("down"))
    with pytest.raises(ValueError, match="down"):
        builder.build().run("go")
    assert witness.kinds[-3:] == ["turn-failure", "post-agent-turn", "post-session"]
    builder, _ = agent_of(ValueError("down"))
    with pytest.raises(ValueError, match="down") as raised:
        builder.on_execution_end(lambda _: 1 / 0).build().run("go")
    assert raised.value.__notes__ == ["a hook failed at post-agent-turn: ZeroDivisionError: division by zero"]


def test_a_request_that_takes_too_long_fails_the_turn() -> None:
    async def hang(_messages: Any) -> str:
        await asyncio.Event().wait()
        return ""

    builder, witness, _ = watched(hang)
    with pytest.raises(RequestTimeout, match=r"the model scripted did not answer within 0\.01 s"):
        builder.with_limits(request_timeout=0.01).build().run("go")
    assert witness.kinds[-3:] == ["turn-failure", "post-agent-turn", "post-session"]


def test_a_time_out_of_the_model_itself_is_its_own() -> None:
    builder, _ = agent_of(TimeoutError("by the provider"))
    with pytest.raises(TimeoutError, match="by the provider"):
        builder.build().run("go")


def test_a_run_that_is_cancelled_while_a_script_runs_ends_the_script_and_then_its_session(
    project: ScratchProject,
) -> None:
    os.mkfifo(project.path / "pipe")
    project.write_hook(
        "slow", script="exec 3>pipe; echo here >&3; exec sleep 1000", fields={"trigger": "pre-tool-call"}
    )
    project.write_hook("end", script="cat > end", fields={"trigger": "post-session"})
    builder, _ = agent_of(call("work"), "done", tools=(text_tool("work"),))
    agent = builder.in_dir(project.path).with_hooks_from(project.path).build()

    async def go() -> str:
        task = asyncio.create_task(agent.arun("go"))
        with await asyncio.to_thread((project.path / "pipe").open) as pipe:
            assert await asyncio.to_thread(pipe.readline) == "here\n"
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await asyncio.to_thread(pipe.read)

    assert asyncio.run(go()) == ""
    assert json.loads((project.path / "end").read_text())["exit_reason"] == "interrupted"


def test_a_session_that_is_cancelled_while_it_ends_ends_all_the_same() -> None:
    async def go() -> list[str]:
        begun, release, log = asyncio.Event(), asyncio.Event(), []

        async def slow_end(_: Any) -> None:
            begun.set()
            await release.wait()
            log.append("the hook ended")

        builder, _ = agent_of("done")
        task = asyncio.create_task(builder.add_hook("SessionEnd", slow_end).build().arun("go"))
        await begun.wait()
        task.cancel()
        asyncio.get_running_loop().call_soon(release.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        return log

    assert asyncio.run(go()) == ["the hook ended"]


def test_a_second_cancellation_ends_the_hooks_of_the_end_too() -> None:
    async def go() -> list[str]:
        begun, log = asyncio.Event(), []

        async def endless(_: Any) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                log.append("cancelled")
                raise

        builder, _ = agent_of("done")
        task = asyncio.create_task(builder.add_hook("SessionEnd", endless).build().arun("go"))
        await begun.wait()
        task.cancel()
        asyncio.get_running_loop().call_later(0, lambda: asyncio.get_running_loop().call_soon(task.cancel))
        with pytest.raises(asyncio.CancelledError):
            await task
        return log

    assert asyncio.run(go()) == ["cancelled"]


@pytest.mark.parametrize("event", ["PreToolUse", "BeforeStep", "ExecutionStart"])
def test_an_interrupt_that_breaks_the_loop_itself_does_not_keep_the_session_from_its_end(event: str) -> None:
    """As a second Ctrl-C does, when a hook holds up the loop."""

    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    async def end(context: Any) -> None:
        await asyncio.sleep(0)
        log.append(context.exit_reason)

    log: list[str] = []
    builder, _ = agent_of((call("work"), call("work")), "done", tools=(text_tool("work"),))
    with pytest.raises(KeyboardInterrupt):
        builder.add_hook(event, interrupted).add_hook("SessionEnd", end).build().run("go")
    assert log == ["interrupted"]


PROGRAM = """
    import asyncio, sys, time
    import boathook
    from boathook.agent.builtin_tools import SHELL, Tool

    def here():
        with open("pipe", "w") as pipe:
            pipe.write("here")

    def blocks(args, place):
        here()
        time.sleep(1000)

    async def waits(args, place):
        here()
        await asyncio.Event().wait()

    tools = [SHELL, Tool("blocks", "", blocks), Tool("waits", "", waits)]
    call = boathook.ToolCall(sys.argv[1], {"command": "printf here > pipe; sleep 1000"})
    model = boathook.ScriptedModel([call, "never said"])
    boathook.AgentBuilder().with_model(model).with_tools(*tools).with_hooks_from(".").build().run("go")
"""


@pytest.mark.usefixtures("default_sigint")
@pytest.mark.parametrize("tool", ["waits", "Shell", "blocks", "script"])
def test_ctrl_c_ends_the_session_and_its_file_hooks_have_run(project: ScratchProject, tool: str) -> None:
    os.mkfifo(project.path / "pipe")
    project.write_hook("end", script="cat > end", fields={"trigger": "post-session"})
    if tool == "script":
        project.write_hook("slow", script="printf here > pipe; exec sleep 1000", fields={"trigger": "pre-tool-call"})
    (project.path / "program.py").write_text(textwrap.dedent(PROGRAM))
    with subprocess.Popen(
        [sys.executable, "program.py", tool],
        cwd=project.path,
        env=project.environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert (project.path / "pipe").read_text() == "here"
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=60)
    assert (program.returncode, errors.strip().splitlines()[-1]) == (-signal.SIGINT, "KeyboardInterrupt")
    end = json.loads((project.path / "end").read_text())
    assert (end["exit_reason"], end["total_steps"]) == ("interrupted", 0)


def test_scripts_in_the_background_have_ended_when_the_session_has(project: ScratchProject) -> None:
    os.mkfifo(project.path / "pipe")
    fields = {"trigger": "post-tool-call", "async": "true"}
    project.write_hook("later", script="read line < pipe; echo $line > late", fields=fields)
    builder, _ = agent_of(call("work"), "done", tools=(text_tool("work"),))
    agent = builder.in_dir(project.path).with_hooks_from(project.path).build()
    with agent.session() as session:
        session.run("go")
        writer = threading.Thread(target=(project.path / "pipe").write_text, args=("now\n",))
        writer.start()
    assert (project.path / "late").read_text() == "now\n"
    writer.join()


# side by side


def test_two_sessions_of_one_agent_at_the_same_time_do_not_mix() -> None:
    async def go() -> tuple[list[Any], Witness]:
        both = asyncio.Barrier(2)

        async def meet(args: Any, _: Any) -> str:
            await both.wait()
            return "met"

        def answer(messages: Any) -> Any:
            met = any(message.role == "tool" for message in messages)
            return f"{messages[0].text} is done" if met else call("meet")

        builder, witness, _ = watched(*[answer] * 4, tools=(Tool("meet", "", meet),))
        builder = builder.on_execution_start(lambda context: context.with_metadata("who", context.prompt))
        agent = builder.build()

        async def one(name: str) -> Any:
            async with agent.session(name) as session:
                result = await session.arun(name)
                return result.text, list_lines(session.state.messages), dict(session.state.metadata)

        return list(await asyncio.gather(one("left"), one("right"))), witness

    found, witness = asyncio.run(go())
    assert found == [
        (
            f"{name} is done",
            [f"user: {name}", "assistant:  meet", "tool: met", f"assistant: {name} is done"],
            {"who": name},
        )
        for name in ("left", "right")
    ]
    for name in ("left", "right"):
        mine = [context for context in witness.contexts if context.session_id == name]
        assert {context.state.agent_id for context in mine} == {mine[0].state.agent_id}
        assert len(mine) == len(witness.contexts) // 2


def test_an_agent_works_in_its_folder(tmp_path: Path) -> None:
    builder, _ = agent_of(call("WriteFile", path="a.txt", content="x"), "done")
    builder.with_standard_tools().in_dir(tmp_path).build().run("go")
    assert (tmp_path / "a.txt").read_text() == "x"
