"""The contract of all bridges: 14 behaviours. Each scene returns facts; those with the bridge and those without it must differ.

A scene never names a framework. What a framework cannot do is declared in its adapter (`cannot`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

from boathook import ExecutionContext, Outcome, StopContext, ToolContext
from tests.bridges.adapter import ASYNC, STREAM, SYNC, TOOL, WAYS, Adapter, AgentPlan, Answers, Call, Script
from tests.bridges.behaviours import BEHAVIOURS
from tests.bridges.stage import PATIENCE, Stage, call_bash, transcribe

Facts = dict[str, Any]
SceneFunction = Callable[[Stage], Facts]


@dataclass(frozen=True)
class Scene:
    """A scene of one behaviour, with the facts that it must show with the bridge, and without it."""

    behaviour: str
    name: str
    play: SceneFunction
    attached: Facts
    detached: Facts
    ways: tuple[str, ...]


SCENES: list[Scene] = []


def scene(
    behaviour: str, attached: Facts, detached: Facts, ways: tuple[str, ...] = WAYS
) -> Callable[[SceneFunction], SceneFunction]:
    """Add a scene to the contract."""
    assert behaviour in BEHAVIOURS

    def add(play: SceneFunction) -> SceneFunction:
        SCENES.append(Scene(behaviour, play.__name__, play, attached, detached, ways))
        return play

    return add


def list_scenes(adapter: Adapter) -> Iterator[tuple[Scene, str]]:
    """Return the scenes of an adapter, in each way that the framework has."""
    for each in SCENES:
        yield from ((each, way) for way in each.ways if way in adapter.ways)


def block_rm(context: ToolContext) -> Outcome | None:
    return Outcome.block("rm is not allowed here") if "rm" in context.args.get("command", "") else None


# 1. Block


@scene(
    "block",
    attached={"ran": [], "reason is the result": True, "output": "done"},
    detached={"ran": ["rm -r build"], "reason is the result": False, "output": "done"},
)
def the_model_reads_why_a_call_was_blocked(stage: Stage) -> Facts:
    stage.hooks.before_tool(match="bash")(block_rm)
    ran = stage.play((call_bash("rm -r build"),), "done")
    result = stage.find_results()["call-1"]
    return {"ran": stage.ran, "reason is the result": "rm is not allowed here" in result, "output": ran.output}


@scene(
    "block",
    attached={"ran": [], "requests": 1, "refusal": True},
    detached={"ran": ["ls"], "requests": 2, "refusal": False},
)
def a_hook_that_stops_ends_the_run(stage: Stage) -> Facts:
    stage.hooks.before_tool(lambda context: Outcome.stop("the budget is spent"))
    ran = stage.play((call_bash("ls"),), "done")
    refusal = "the budget is spent" in stage.find_refusal(ran)
    return {"ran": stage.ran, "requests": len(stage.requests), "refusal": refusal}


@scene(
    "block",
    attached={"ran": ["ls"], "requests": 1, "refusal": True, "ends": ["post-agent-turn", "post-session"]},
    detached={"ran": ["ls"], "requests": 2, "refusal": False, "ends": []},
)
def a_hook_that_stops_before_a_step_ends_the_run(stage: Stage) -> Facts:
    stage.hooks.before_step(lambda context: Outcome.stop("one step is enough") if context.index else None)
    ran = stage.play((call_bash("ls"),), "done")
    return {
        "ran": stage.ran,
        "requests": len(stage.requests),
        "refusal": "one step is enough" in stage.find_refusal(ran),
        "ends": stage.list_events("post-agent-turn", "post-session"),
    }


@scene("block", attached={"ran": []}, detached={"ran": ["ls"]})
def a_hook_that_fails_does_not_let_a_call_through(stage: Stage) -> Facts:
    """Whether the run ends then, or the model reads an error, is up to the framework."""

    @stage.hooks.before_tool
    def guard(context: ToolContext) -> None:
        raise ValueError("the database is down")

    stage.play((call_bash("ls"),), "done")
    return {"ran": stage.ran}


# 2. and 3. Rewrite


@scene(
    "rewrite input",
    attached={"ran": ["ls -l"], "result": True},
    detached={"ran": ["ls"], "result": False},
)
def the_tool_gets_the_arguments_of_the_hook(stage: Stage) -> Facts:
    stage.hooks.before_tool(lambda context: context.replace(args={"command": "ls -l"}))
    stage.play((call_bash("ls"),), "done")
    return {"ran": stage.ran, "result": "ran ls -l" in stage.find_results()["call-1"]}


@scene(
    "rewrite output",
    attached={"ran": ["show key"], "hidden": True, "shown": False},
    detached={"ran": ["show key"], "hidden": False, "shown": True},
)
def the_model_reads_the_result_of_the_hook(stage: Stage) -> Facts:
    stage.hooks.after_tool(lambda context: context.replace(result="the key is hidden"))
    stage.play((call_bash("show key"),), "done")
    hidden, shown = stage.was_read("the key is hidden"), stage.was_read("ran show key")
    return {"ran": stage.ran, "hidden": hidden, "shown": shown}


@scene(
    "rewrite output",
    attached={"ran": ["ls"], "result is there": True, "objection is there": True},
    detached={"ran": ["ls"], "result is there": True, "objection is there": False},
)
def an_objection_to_a_result_is_read_with_the_result(stage: Stage) -> Facts:
    stage.hooks.after_tool(lambda context: Outcome.block("format the file first"))
    stage.play((call_bash("ls"),), "done")
    return {
        "ran": stage.ran,
        "result is there": stage.was_read("ran ls"),
        "objection is there": stage.was_read("format the file first"),
    }


# 4. Context


@scene(
    "context",
    attached={"requests": 1, "read once": True, "after the prompt": True},
    detached={"requests": 1, "read once": False, "after the prompt": False},
)
def context_for_a_prompt_reaches_the_model(stage: Stage) -> Facts:
    stage.hooks.turn_start(lambda context: context.add_context("the branch is main"))
    stage.play("done", prompt="tidy up")
    text = transcribe(stage.requests[0])
    return {
        "requests": len(stage.requests),
        "read once": text.count("the branch is main") == 1,
        "after the prompt": text.find("the branch is main") > text.index("tidy up"),
    }


@scene(
    "context",
    attached={"results": ["a", "b"], "read once": True, "after all results": True, "still there": True},
    detached={"results": ["a", "b"], "read once": False, "after all results": False, "still there": False},
)
def context_of_one_call_comes_after_the_results_of_all(stage: Stage) -> Facts:
    stage.hooks.after_tool(lambda context: context.add_context("a needs care") if context.call_id == "a" else None)
    stage.play((call_bash("one", "a"), call_bash("two", "b")), (call_bash("three", "c"),), "done")
    text = transcribe(stage.requests[1])
    return {
        "results": sorted(stage.find_results(1)),
        "read once": text.count("a needs care") == 1,
        "after all results": text.find("a needs care") > max(text.find("ran one"), text.find("ran two")),
        # The conversation keeps it.
        "still there": transcribe(stage.requests[2]).count("a needs care") == 1,
    }


@scene(
    "context",
    attached={
        "output": "done",
        "read": [["this is step 0"], ["this is step 0", "this is step 1"]],
        "why a hook wanted to block": True,
        "events": ["pre-step", "pre-tool-call", "post-step", "pre-step", "post-step", "pre-agent-turn-stop"],
    },
    detached={"output": "done", "read": [[], []], "why a hook wanted to block": False, "events": []},
)
def context_of_a_step_reaches_its_request_and_a_block_does_not_prevent_it(stage: Stage) -> Facts:
    stage.hooks.before_step(priority=1)(lambda context: context.add_context(f"this is step {context.index}"))
    stage.hooks.before_step(lambda context: Outcome.block("not now"))
    with stage.collect_messages() as messages:
        ran = stage.play((call_bash("ls"),), "done")
    texts = ("this is step 0", "this is step 1", "not now")
    return {
        "output": ran.output,
        "read": [[text for text in texts if stage.was_read(text, at)] for at in range(len(stage.requests))],
        "why a hook wanted to block": any("not now" in text for text in messages),
        "events": stage.list_events("pre-step", "pre-tool-call", "post-step", "pre-agent-turn-stop"),
    }


@scene(
    "context",
    attached={"messages": ["a call", "the turn is over", "the session is over"]},
    detached={"messages": []},
)
def messages_reach_the_person_also_those_of_the_end_of_a_run(stage: Stage) -> Facts:
    stage.hooks.before_tool(lambda context: context.add_message("a call"))
    stage.hooks.turn_end(lambda context: context.add_message("the turn is over"))
    stage.hooks.session_end(lambda context: context.add_message("the session is over"))
    with stage.collect_messages() as messages:
        stage.play((call_bash("ls"),), "done")
    return {"messages": messages}


# 5. Ask


def ask_about_pushes(context: ToolContext) -> Outcome | None:
    return Outcome.ask("pushes go to everybody") if "push" in context.args["command"] else None


def play_ask(stage: Stage, *, is_allowed: bool) -> tuple[Facts, Facts]:
    """Let the model push and look at once; answer the question; return what there was before and after the answer."""
    stage.hooks.before_tool(ask_about_pushes)
    agent = stage.build(Script((call_bash("git push", "push"), call_bash("ls", "look")), "done"))
    ran = stage.run(agent, "go")
    asked = {
        "asked about": [(each.tool, dict(each.args)) for each in ran.approvals],
        "reason is shown": any("pushes go to everybody" in each.reason for each in ran.approvals),
        "pushed": "git push" in stage.ran,
        "error": stage.error,
    }
    if ran.approvals:
        ran = stage.run(agent, Answers(ran, {each.call_id: is_allowed for each in ran.approvals}))
    counts = stage.count_events("pre-session", "pre-agent-turn", "pre-tool-call", "post-tool-call", "post-session")
    after = {"ran": sorted(stage.ran), "output": ran.output, "error": stage.error, "events": counts}
    return asked, after


QUESTION = {
    "asked about": [("bash", {"command": "git push"})],
    "reason is shown": True,
    "pushed": False,
    "error": None,
}
NO_QUESTION = {"asked about": [], "reason is shown": False, "pushed": True, "error": None}
ONCE = {"pre-session": 1, "pre-agent-turn": 1, "pre-tool-call": 2, "post-tool-call": 2, "post-session": 1}
NO_EVENTS = dict.fromkeys(ONCE, 0)


@scene(
    "ask",
    attached={**QUESTION, "after": {"ran": ["git push", "ls"], "output": "done", "error": None, "events": ONCE}},
    detached={
        **NO_QUESTION,
        "after": {"ran": ["git push", "ls"], "output": "done", "error": None, "events": NO_EVENTS},
    },
)
def a_person_allows_a_call_and_every_hook_has_run_once(stage: Stage) -> Facts:
    asked, after = play_ask(stage, is_allowed=True)
    return {**asked, "after": after}


@scene(
    "ask",
    attached={
        **QUESTION,
        "after": {"ran": ["ls"], "output": "done", "error": None, "events": {**ONCE, "post-tool-call": 1}},
        "refusal is the result": True,
    },
    detached={
        **NO_QUESTION,
        "after": {"ran": ["git push", "ls"], "output": "done", "error": None, "events": NO_EVENTS},
        "refusal is the result": False,
    },
)
def a_person_refuses_a_call_and_the_tool_does_not_run(stage: Stage) -> Facts:
    asked, after = play_ask(stage, is_allowed=False)
    # The model reads that the call was refused, whatever words the framework has for it.
    result = stage.find_results()["push"]
    return {**asked, "after": after, "refusal is the result": bool(result) and "ran git push" not in result}


# 6. Stop gate


@scene(
    "stop gate",
    attached={"requests": 2, "reason and context are read": [True, True], "output": "second"},
    detached={"requests": 1, "reason and context are read": [False, False], "output": "first"},
)
def an_agent_that_wants_to_stop_is_sent_back_to_work(stage: Stage) -> Facts:
    @stage.hooks.before_stop
    def run_the_tests(context: StopContext) -> Outcome | None:
        return None if context.was_refused else Outcome.block("run the tests first")

    stage.hooks.before_stop(lambda context: context.add_context("tests take a minute"), priority=1)
    ran = stage.play("first", "second")
    are_read = [stage.was_read(text) for text in ("run the tests first", "tests take a minute")]
    return {"requests": len(stage.requests), "reason and context are read": are_read, "output": ran.output}


@scene("stop gate", attached={"requests": 4, "output": "4"}, detached={"requests": 1, "output": "1"})
def a_gate_that_always_refuses_is_let_through_after_three_times(stage: Stage) -> Facts:
    stage.hooks.before_stop(lambda context: Outcome.block("not yet"))
    ran = stage.play(*"12345678")
    return {"requests": len(stage.requests), "output": ran.output}


@scene("stop gate", attached={"requests": 4}, detached={"requests": 1})
def a_gate_that_fails_is_let_through_after_three_times(stage: Stage) -> Facts:
    @stage.hooks.before_stop(on_failure="block")
    def gate(context: StopContext) -> None:
        raise ValueError("the database is down")

    stage.play(*"12345678")
    return {"requests": len(stage.requests)}


# 7. Prompt


@scene("prompt", attached={"requests": 0, "reason is told": True}, detached={"requests": 1, "reason is told": False})
def the_model_is_not_asked_if_the_prompt_is_blocked(stage: Stage) -> Facts:
    @stage.hooks.turn_start
    def no_keys(context: ExecutionContext) -> Outcome | None:
        return Outcome.block("there is a key in it") if "hunter2" in context.prompt else None

    ran = stage.play("done", prompt="log in with hunter2")
    return {"requests": len(stage.requests), "reason is told": "there is a key in it" in stage.find_refusal(ran)}


# 8. Session

TURN_EVENTS = (
    "pre-session",
    "pre-agent-turn",
    "pre-tool-call",
    "post-tool-call",
    "pre-agent-turn-stop",
    "post-agent-turn",
    "post-session",
)


@scene(
    "session",
    attached={"events": [*TURN_EVENTS], "session ids": 1, "prompt": ["go"], "final message": ["done"]},
    detached={"events": [], "session ids": 0, "prompt": [], "final message": []},
)
def a_run_is_a_session_with_one_turn(stage: Stage) -> Facts:
    stage.play((call_bash("ls"),), "done")
    return {
        "events": stage.list_events(*TURN_EVENTS),
        "session ids": len({noted.session_id for noted in stage.noted} - {""}),
        "prompt": [noted.context.prompt for noted in stage.noted if noted.event == "pre-agent-turn"],
        "final message": [noted.context.final_message for noted in stage.noted if noted.event == "post-agent-turn"],
    }


# 9. Failure


def play_and_compare(stage: Stage, *moves: Any) -> bool:
    """Play, and return whether the run ends as it does without the bridge."""
    ran, error = stage.play(*moves), stage.error
    control = Stage(stage.adapter, stage.way, is_attached=False)
    expected = control.play(*moves)
    return (type(error), ran.output) == (type(control.error), expected.output)


@scene(
    "failure",
    attached={"told": ["no route"], "ends as without": True, "ends": ["post-session"]},
    detached={"told": [], "ends as without": True, "ends": []},
)
def hooks_see_that_a_tool_failed(stage: Stage) -> Facts:
    is_same = play_and_compare(stage, (call_bash("fail"),), "done")
    failures = [noted.context.error for noted in stage.noted if noted.event == "post-tool-call-failure"]
    return {
        "told": [str(error) for error in failures],
        "ends as without": is_same,
        "ends": stage.list_events("post-session"),
    }


@scene(
    "failure",
    attached={"told": 1, "ends as without": True, "ends": ["turn-failure", "post-session"]},
    detached={"told": 0, "ends as without": True, "ends": []},
)
def hooks_see_that_a_run_failed(stage: Stage) -> Facts:
    is_same = play_and_compare(stage, RuntimeError("the model is down"))
    told = [noted for noted in stage.noted if noted.event == "turn-failure"]
    ends = stage.list_events("turn-failure", "post-session")
    return {"told": len(told), "ends as without": is_same, "ends": ends}


# 10. Parallel


@scene(
    "parallel",
    attached={"ran": ["ls"], "refused": True, "result": True},
    detached={"ran": ["ls", "rm -r build"], "refused": False, "result": True},
)
def of_two_calls_at_once_only_one_is_blocked(stage: Stage) -> Facts:
    stage.hooks.before_tool(block_rm)
    stage.play((call_bash("rm -r build", "a"), call_bash("ls", "b")), "done")
    results = stage.find_results()
    refused, result = "not allowed" in results["a"], "ran ls" in results["b"]
    return {"ran": sorted(stage.ran), "refused": refused, "result": result}


@scene("parallel", attached={"ran": []}, detached={"ran": ["ls", "pwd"]})
def no_call_is_made_while_hooks_still_decide_about_the_prompt(stage: Stage) -> Facts:
    @stage.hooks.turn_start
    async def think(context: ExecutionContext) -> Outcome:
        await asyncio.sleep(0.05)
        return Outcome.block("not today")

    stage.play((call_bash("ls", "a"), call_bash("pwd", "b")), "done")
    return {"ran": sorted(stage.ran)}


# 11. Streaming


@scene(
    "streaming",
    attached={"ran": ["ls"], "parts": True, "text": True, "refused": True, "context": True, "ends": True},
    detached={
        "ran": ["ls", "rm -r build"],
        "parts": True,
        "text": True,
        "refused": False,
        "context": False,
        "ends": False,
    },
    ways=(STREAM,),
)
def hooks_work_while_the_answer_is_streamed(stage: Stage) -> Facts:
    stage.hooks.before_tool(block_rm)
    stage.hooks.after_tool(lambda context: context.add_context("mind the gap"))
    ran = stage.play((call_bash("rm -r build", "a"), call_bash("ls", "b")), "that is all there is")
    return {
        "ran": sorted(stage.ran),
        "parts": len(ran.parts) > 1,
        "text": "".join(ran.parts) == "that is all there is" == ran.output,
        "refused": "not allowed" in stage.find_results()["a"],
        "context": stage.was_read("mind the gap"),
        "ends": stage.list_events("post-agent-turn", "post-session") == ["post-agent-turn", "post-session"],
    }


# 12. Delegation


def play_delegation(stage: Stage, delegation: str) -> Facts:
    stage.hooks.before_tool(block_rm)
    helper = AgentPlan(Script((call_bash("rm -r build", "h"),), "helped"), stage.tools, name="helper")
    stage.play((stage.adapter.delegations[delegation],), "done", helper=helper, delegation=delegation)
    results = [message.text for message in helper.script.requests[-1] if message.role == TOOL]
    return {
        "ran": stage.ran,
        "the helper reads why": any("not allowed" in text for text in results),
        "sessions": stage.count_events("pre-session", "post-session"),
    }


@scene(
    "delegation",
    attached={"ran": [], "the helper reads why": True, "sessions": {"pre-session": 1, "post-session": 1}},
    detached={"ran": ["rm -r build"], "the helper reads why": False, "sessions": {"pre-session": 0, "post-session": 0}},
)
def an_agent_that_helps_is_guarded(stage: Stage) -> Facts:
    """All ways of the framework to delegate must show the same facts."""
    assert stage.adapter.delegations, "the adapter says no way to delegate: add one, or say in `cannot` why"
    facts: list[Facts] = []
    for delegation in stage.adapter.delegations:
        each = Stage(stage.adapter, stage.way, is_attached=stage.is_attached)
        facts.append(play_delegation(each, delegation))
    assert all(each == facts[0] for each in facts), dict(zip(stage.adapter.delegations, facts, strict=True))
    return facts[0]


# 13. Isolation


def make_meeting(stage: Stage) -> Callable[..., Any]:
    """Return a tool that returns only when both runs are in it."""
    if stage.way == SYNC:
        both = threading.Barrier(2)

        def meet(name: str) -> str:
            """Wait for the other run."""
            both.wait(PATIENCE)
            stage.ran.append(name)
            return f"{name} was here"

        return meet
    arrived: list[asyncio.Event] = []

    async def meet_async(name: str) -> str:
        """Wait for the other run."""
        if not arrived:
            arrived.append(asyncio.Event())
            await asyncio.wait_for(arrived[0].wait(), PATIENCE)
        else:
            arrived[0].set()
        stage.ran.append(name)
        return f"{name} was here"

    meet_async.__name__ = "meet"
    return meet_async


def play_meeting(stage: Stage) -> list[str | None]:
    """Run one agent twice at once, for ann and for bob, and return their outputs."""
    moves = {name: ((Call("meet", {"name": name}),), f"{name} 1", f"{name} 2", f"{name} 3") for name in ("ann", "bob")}
    agent = stage.build(Script(by_prompt=moves), [make_meeting(stage)])
    return [ran.output for ran in stage.run_at_once(agent, ["I am ann", "I am bob"])]


@scene(
    "isolation",
    attached={"ran": ["ann", "bob"], "sessions": 2, "own session": True, "mixed": False, "own context": True},
    detached={"ran": ["ann", "bob"], "sessions": 0, "own session": True, "mixed": False, "own context": False},
)
def two_runs_of_one_agent_have_their_own_session_and_context(stage: Stage) -> Facts:
    stage.hooks.after_tool(lambda context: context.add_context(f"a note for {context.args['name']}"))
    play_meeting(stage)
    sessions = {noted.context.prompt[-3:]: noted.session_id for noted in stage.noted if noted.event == "pre-agent-turn"}
    calls = [(noted.context.args["name"], noted.session_id) for noted in stage.noted if noted.event == "pre-tool-call"]
    texts = [transcribe(messages) for messages in stage.requests]
    return {
        "ran": sorted(stage.ran),
        "sessions": len(set(sessions.values())),
        "own session": all(sessions[name] == session_id for name, session_id in calls),
        "mixed": any("ann" in text and "bob" in text for text in texts),
        "own context": "a note for ann" in [text for text in texts if "I am ann" in text][-1],
    }


@scene("stop gate", attached={"outputs": ["ann 2", "bob 1"]}, detached={"outputs": ["ann 1", "bob 1"]})
def of_two_runs_at_once_only_one_is_sent_back_to_work(stage: Stage) -> Facts:
    gate = stage.hooks.before_stop(max_rounds=1)
    gate(lambda context: Outcome.block("again") if "ann" in (context.final_message or "") else None)
    return {"outputs": play_meeting(stage)}


# 14. Cancel


@scene(
    "cancel",
    attached={"cancelled": True, "tool was told": True, "ends": ["post-agent-turn", "post-session"]},
    detached={"cancelled": True, "tool was told": True, "ends": []},
    ways=(ASYNC, STREAM),
)
def a_run_that_is_cancelled_ends_its_turn_and_its_session(stage: Stage) -> Facts:
    seen: list[str] = []

    async def cancel_in_a_tool() -> None:
        started = asyncio.Event()

        async def wait(seconds: int) -> str:
            """Wait for a while."""
            started.set()
            try:
                await asyncio.sleep(PATIENCE)
            except asyncio.CancelledError:
                seen.append("told")
                raise
            return "waited"

        agent = stage.build(Script((Call("wait", {"seconds": PATIENCE}),), "done"), [wait])
        task = asyncio.ensure_future(stage.start(agent, "go"))
        await asyncio.wait_for(started.wait(), PATIENCE)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            seen.append("cancelled")

    asyncio.run(asyncio.wait_for(cancel_in_a_tool(), PATIENCE))
    ends = stage.list_events("post-agent-turn", "post-session")
    return {"cancelled": "cancelled" in seen, "tool was told": "told" in seen, "ends": ends}


def cancel_when(stage: Stage, agent: Any, started: asyncio.Event) -> Coroutine[Any, Any, bool]:
    """Run an agent, and cancel it once something has started; return whether its run was cancelled."""

    async def run() -> bool:
        task = asyncio.ensure_future(stage.start(agent, "go"))
        waiting = asyncio.ensure_future(started.wait())
        await asyncio.wait([task, waiting], timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return True
        return False

    return run()


@scene(
    "cancel",
    attached={"cancelled": True, "ran": ["ls"], "requests": 1, "ends": ["post-agent-turn", "post-session"]},
    detached={"cancelled": True, "ran": ["ls"], "requests": 1, "ends": []},
    ways=(ASYNC, STREAM),
)
def a_run_that_is_cancelled_while_the_model_answers_ends_its_turn_and_its_session(stage: Stage) -> Facts:
    async def cancel_in_a_request() -> bool:
        loop, started, over = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

        async def wait() -> None:
            # The model may have a thread and a loop of its own, where no cancel comes.
            loop.call_soon_threadsafe(started.set)
            while not over.is_set():  # noqa: ASYNC110 (it is set in another thread)
                await asyncio.sleep(0.01)

        script = Script((call_bash("ls"),), "done")
        script.pause = wait
        try:
            return await cancel_when(stage, stage.build(script), started)
        finally:
            over.set()

    is_cancelled = asyncio.run(asyncio.wait_for(cancel_in_a_request(), PATIENCE))
    return {
        "cancelled": is_cancelled,
        "ran": [*stage.ran],
        "requests": len(stage.requests),
        "ends": stage.list_events("post-agent-turn", "post-session"),
    }


@scene(
    "cancel",
    attached={"cancelled": True, "tool began": False, "ends": ["post-agent-turn", "post-session"]},
    detached={"cancelled": True, "tool began": True, "ends": []},
    ways=(ASYNC, STREAM),
)
def a_run_that_is_cancelled_while_a_hook_decides_ends_its_turn_and_its_session(stage: Stage) -> Facts:
    """Without the bridge the tool waits in place of the hook."""
    began: list[str] = []

    async def cancel_in_a_hook() -> bool:
        started = asyncio.Event()

        @stage.hooks.before_tool
        async def think(context: ToolContext) -> None:
            started.set()
            await asyncio.sleep(PATIENCE)

        async def wait(seconds: int) -> str:
            """Wait for a while."""
            began.append("wait")
            started.set()
            await asyncio.sleep(PATIENCE)
            return "waited"

        agent = stage.build(Script((Call("wait", {"seconds": PATIENCE}),), "done"), [wait])
        return await cancel_when(stage, agent, started)

    is_cancelled = asyncio.run(asyncio.wait_for(cancel_in_a_hook(), PATIENCE))
    ends = stage.list_events("post-agent-turn", "post-session")
    return {"cancelled": is_cancelled, "tool began": began == ["wait"], "ends": ends}
