"""One run in which all eighteen kinds of events happen, compared whole: their order, their nesting and what they carry."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from boathook import KINDS, Outcome, Tool
from boathook.agent.model import Message, Reply

from .builders import Witness, agent_of, call, child, text_tool

PROMPT = "tidy up the project and then deploy it :)"  # 41 characters, 10 tokens
COUNTED = 2_000  # what the model reports that it counted, beyond the budget
BUDGET = 1_000


def a_run() -> tuple[Witness, list[Any]]:
    """Play the run; return what was seen, and the results of the two turns."""
    started = asyncio.Event()

    async def slow(args, _):
        await started.wait()  # so the other call runs at the same time, or nothing goes on
        return f"slow {args['n']}"

    async def broken(args, _):
        started.set()
        raise OSError("no disk")

    tools = (
        Tool("slow", "", slow),
        Tool("broken", "", broken),
        text_tool("wipe"),
        text_tool("deploy", needs_permission=True),
        text_tool("look"),
    )
    builder, _ = agent_of(
        (call("slow", n=1), call("broken", n=2)),
        call("wipe", path="/"),
        call("deploy"),
        child("look around"),
        Reply("", (call("look", at="main"),), COUNTED),
        "all done",
        "all done, and documented",
        RuntimeError("the model is down"),
        tools=tools,
        helper=(call("look", at="helper"), "nothing to see"),
    )
    witness = Witness()
    agent = (
        builder.with_hooks(witness.stack)
        .on_before_tool_use(lambda _: Outcome.block("never"), match="wipe")
        .on_stop(lambda context: None if context.was_refused else Outcome.block("document it"))
        .with_permission(lambda context, reason: True)
        .with_limits(token_budget=BUDGET)
        .with_compactor(first_only)
        .build()
    )
    with agent.session("s-1") as session:
        first = session.run(PROMPT)
        with pytest.raises(RuntimeError, match="the model is down") as failed:
            session.run("again")
    return witness, [(first.status, first.text, len(first.steps)), str(failed.value)]


def first_only(messages: tuple[Message, ...], _: int) -> tuple[Message, ...]:
    return messages[:1]


SUB = {"agent_id": "helper-1", "agent_type": "helper"}
HELPER = {"subagent_name": "helper", "subagent_type": "helper", "task_description": "look around"}
SUBAGENT_CALL = {
    "tool_name": "Subagent",
    "tool_input": {"name": "helper", "task": "look around"},
    "tool_use_id": "call-5",
}


def tool(name: str, at: int, /, **args: Any) -> dict[str, Any]:
    return {"tool_name": name, "tool_input": args, "tool_use_id": f"call-{at}"}


def ended(**fields: Any) -> dict[str, Any]:
    return {**fields, "duration_ms": "some"}


def stop(steps: int, text: str, refused: int) -> dict[str, Any]:
    return {
        "stop_reason": "no_tool_calls",
        "step_count": steps,
        "final_message": {"role": "assistant", "content": text},
        "stop_hook_active": refused > 0,
        # The hook that refuses is one of the program: file hooks count their own refusals.
        "stop_block_count": 0,
    }


TRACE: list[tuple[str, str, dict[str, Any]]] = [
    ("main", "pre-session", {"model": "scripted", "args": {}, "source": "startup"}),
    ("main", "pre-agent-turn", {"prompt": PROMPT}),
    # two calls at the same time
    ("main", "pre-step", {"step_count": 1}),
    ("main", "pre-tool-call", tool("slow", 1, n=1)),
    ("main", "pre-tool-call", tool("broken", 2, n=2)),
    ("main", "post-tool-call-failure", ended(**tool("broken", 2, n=2), error="no disk")),
    ("main", "post-tool-call", ended(**tool("slow", 1, n=1), tool_output="slow 1")),
    ("main", "post-step", {"step_count": 1}),
    # a call that is blocked
    ("main", "pre-step", {"step_count": 2}),
    ("main", "pre-tool-call", tool("wipe", 3, path="/")),
    ("main", "post-step", {"step_count": 2}),
    # a call that a person is asked about
    ("main", "pre-step", {"step_count": 3}),
    ("main", "pre-tool-call", tool("deploy", 4)),
    ("main", "permission-request", tool("deploy", 4)),
    (
        "main",
        "notification",
        {"message": "deploy needs your permission: deploy wants to run", "title": "permission"},
    ),
    ("main", "post-tool-call", ended(**tool("deploy", 4), tool_output="deploy is done")),
    ("main", "post-step", {"step_count": 3}),
    # a subagent with steps and tools of its own
    ("main", "pre-step", {"step_count": 4}),
    ("main", "pre-tool-call", SUBAGENT_CALL),
    ("helper-1", "pre-subagent", HELPER | SUB),
    ("helper-1", "pre-step", {"step_count": 1} | SUB),
    ("helper-1", "pre-tool-call", tool("look", 1, at="helper") | SUB),
    ("helper-1", "post-tool-call", ended(**tool("look", 1, at="helper"), tool_output="look is done") | SUB),
    ("helper-1", "post-step", {"step_count": 1} | SUB),
    ("helper-1", "pre-step", {"step_count": 2} | SUB),
    ("helper-1", "post-step", {"step_count": 2} | SUB),
    ("helper-1", "post-subagent", HELPER | {"result": "nothing to see"} | SUB),
    ("main", "post-tool-call", ended(**SUBAGENT_CALL, tool_output="nothing to see")),
    ("main", "post-step", {"step_count": 4}),
    # after this step the conversation is beyond the budget
    ("main", "pre-step", {"step_count": 5}),
    ("main", "pre-tool-call", tool("look", 6, at="main")),
    ("main", "post-tool-call", ended(**tool("look", 6, at="main"), tool_output="look is done")),
    ("main", "post-step", {"step_count": 5}),
    ("main", "pre-context-compact", {"trigger": "auto", "token_count": COUNTED + len("look is done") // 4}),
    (
        "main",
        "post-context-compact",
        {
            "trigger": "auto",
            "token_count": COUNTED + len("look is done") // 4,
            "token_count_after": len(PROMPT) // 4,
        },
    ),
    # a stop that is refused, and one that is not
    ("main", "pre-step", {"step_count": 6}),
    ("main", "post-step", {"step_count": 6}),
    ("main", "pre-agent-turn-stop", stop(6, "all done", 0)),
    ("main", "pre-step", {"step_count": 7}),
    ("main", "post-step", {"step_count": 7}),
    ("main", "pre-agent-turn-stop", stop(7, "all done, and documented", 1)),
    ("main", "post-agent-turn-stop", stop(7, "all done, and documented", 1)),
    (
        "main",
        "post-agent-turn",
        {
            "final_message": {"role": "assistant", "content": "all done, and documented"},
            "step_count": 7,
            "duration_seconds": "some",
        },
    ),
    # a turn that fails
    ("main", "pre-agent-turn", {"prompt": "again"}),
    ("main", "pre-step", {"step_count": 1}),
    ("main", "turn-failure", {"error": "RuntimeError: the model is down"}),
    ("main", "post-agent-turn", {"final_message": None, "step_count": 0, "duration_seconds": "some"}),
    ("main", "post-session", {"exit_reason": "done", "total_steps": 7, "duration_seconds": "some"}),
]


def test_a_run_in_which_everything_happens_fires_exactly_these_events() -> None:
    witness, came_to = a_run()
    assert witness.events == TRACE
    assert came_to == [("done", "all done, and documented", 7), "the model is down"]


def test_the_run_has_events_of_all_kinds() -> None:
    assert {kind for _, kind, _ in TRACE} == {kind.name for kind in KINDS}


def test_every_event_names_its_session_and_its_work_dir(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    witness, _ = a_run()
    assert {(context.session_id, context.work_dir) for context in witness.contexts} == {("s-1", str(tmp_path))}


def test_a_subagent_knows_its_parent() -> None:
    witness, _ = a_run()
    main, helper = (context.state for context in (witness.contexts[0], *_of(witness, "pre-subagent")))
    assert (main.parent_agent_id, main.agent_type) == (None, "")
    assert (helper.parent_agent_id, helper.agent_type) == (main.agent_id, "helper")
    assert helper.agent_id != main.agent_id


def _of(witness: Witness, kind: str) -> list[Any]:
    return [context for context in witness.contexts if context.event == kind]


# nesting


CLOSED_BY = {
    "pre-session": ("post-session",),
    "pre-agent-turn": ("post-agent-turn",),
    "pre-step": ("post-step",),
    "pre-tool-call": ("post-tool-call", "post-tool-call-failure"),
    "pre-subagent": ("post-subagent",),
    "pre-context-compact": ("post-context-compact",),
}
INSIDE = {
    "pre-agent-turn": ("pre-session",),
    "pre-step": ("pre-agent-turn", "pre-subagent"),
    "pre-tool-call": ("pre-step",),
    "pre-subagent": ("pre-tool-call",),
    "pre-context-compact": ("pre-agent-turn", "pre-subagent"),
    "permission-request": ("pre-tool-call",),
    "notification": ("pre-tool-call",),
    "pre-agent-turn-stop": ("pre-agent-turn",),
    "post-agent-turn-stop": ("pre-agent-turn",),
}
OPENS = {closer: opener for opener, closers in CLOSED_BY.items() for closer in closers}


class Nesting:
    """What is open, by agent: a session, a turn or a subagent, a step, and the calls of a step, side by side."""

    def __init__(self, never_run: set[str]) -> None:
        self.open: dict[str, list[str]] = {}
        self.calls: dict[str, set[str]] = {}
        self.never_run = never_run

    def take(self, who: str, kind: str, data: dict[str, Any]) -> None:
        about = self.open.setdefault(who, [])
        if kind == "pre-subagent":
            assert any(self.calls.values()), "a subagent is somebody's call"
        elif kind in INSIDE:
            around = "pre-tool-call" if self.calls.get(who) and kind != "pre-tool-call" else about[-1]
            assert around in INSIDE[kind], (who, kind, about)
        if kind == "pre-tool-call":
            if data["tool_use_id"] not in self.never_run:
                self.calls.setdefault(who, set()).add(data["tool_use_id"])
        elif OPENS.get(kind) == "pre-tool-call":
            self.calls[who].remove(data["tool_use_id"])
        elif kind in CLOSED_BY:
            about.append(kind)
        elif kind in OPENS:
            assert not self.calls.get(who), (who, kind, "with calls that have not ended")
            if kind == "post-agent-turn" and about[-1] == "pre-step":
                about.pop()  # the step that failed
            assert about.pop() == OPENS[kind], (who, kind)


def check_nesting(events: list[tuple[str, str, dict[str, Any]]], never_run: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    nesting = Nesting(set(never_run))
    for event in events:
        nesting.take(*event)
    assert not any(nesting.open.values())
    assert not any(nesting.calls.values())


def test_every_beginning_has_its_end_inside_what_it_belongs_to() -> None:
    witness, _ = a_run()
    check_nesting(witness.events, never_run={"call-3"})


def test_concurrent_subagents_are_distinguished_and_each_is_nested_in_itself() -> None:
    here, there = asyncio.Event(), asyncio.Event()

    async def meet(args, _):
        mine, other = (here, there) if args["at"] == "here" else (there, here)
        mine.set()
        await other.wait()
        return "met"

    builder, _ = agent_of(
        (child("go", "left"), child("go", "right")),
        "done",
        tools=(Tool("meet", "", meet),),
        left=(call("meet", at="here"), "left is done"),
        right=(call("meet", at="there"), "right is done"),
    )
    witness = Witness()
    result = builder.with_hooks(witness.stack).build().run("go")
    check_nesting(witness.events)
    assert [one.text for one in result.steps[0].results] == ["left is done", "right is done"]
    steps = ["pre-step", "pre-tool-call", "post-tool-call", "post-step", "pre-step", "post-step"]
    for name in ("left-1", "right-1"):
        kinds = [kind for who, kind, _ in witness.events if who == name]
        assert kinds == ["pre-subagent", *steps, "post-subagent"]
