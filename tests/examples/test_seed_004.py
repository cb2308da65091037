"""What the source of the hook stack shows, done here: one test for each of its examples, about the effect it has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import boathook
from boathook import (
    AgentBuilder,
    AgentState,
    Decision,
    ExecutionContext,
    FailureContext,
    HookError,
    Outcome,
    ScriptedModel,
    Stack,
    StepContext,
    StopContext,
    SubagentContext,
    ToolCall,
    ToolContext,
    TurnResult,
    all_of,
    any_of,
    event_is,
    tool_name,
    where,
)
from boathook.agent import adapters, model, state
from boathook.agent.adapters import ContinuationCriteriaAdapter, StateProcessorAdapter
from boathook.agent.model import Message
from boathook.agent.scripted import Move
from boathook.inprocess import hooks as declared
from tests.examples.example_project import ROOT

Next = Callable[[Any], Outcome]
RAN: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran_yet() -> None:
    RAN.clear()


def bash(command: str) -> str:
    """Note that a command ran."""
    RAN.append(command)
    return f"output of {command}"


def builder(*moves: Move) -> AgentBuilder:
    """An agent to be, with a scripted model and one tool."""
    return AgentBuilder().with_model(ScriptedModel(moves)).with_tools(bash)


def calls(*commands: str) -> list[Move]:
    """Moves that run commands one after the other, and end."""
    return [*(ToolCall("bash", {"command": command}) for command in commands), "done"]


def results(turn: TurnResult) -> list[tuple[str, bool]]:
    """What the model read of its calls, and whether as errors."""
    return [(result.text, result.is_error) for step in turn.steps for result in step.results]


def before(command: str, **fields: Any) -> ToolContext:
    return ToolContext.before("bash", {"command": command}, **fields)


# The first example


def test_an_agent_is_built_with_a_guard_a_note_at_the_start_and_an_alarm_for_failures() -> None:
    notes: list[str] = []

    def guard(context: ToolContext) -> Outcome:
        if "shred" in context.args.get("command", ""):
            return Outcome.block("shredding is for people")
        return Outcome.proceed()

    def note(context: ExecutionContext) -> Outcome:
        notes.append(f"started {context.state.agent_id}")
        return Outcome.proceed()

    def alarm(context: FailureContext) -> None:
        notes.append(f"failed: {context.error_message}")

    agent = (
        builder(*calls("shred notes", "cat notes")[:2], ConnectionError("the model is away"))
        .on_before_tool_use(guard, priority=100, match="bash")
        .on_execution_start(note)
        .on_agent_failed(alarm)
        .build()
    )
    with agent.session() as session, pytest.raises(ConnectionError):
        session.run("tidy up")
    assert RAN == ["cat notes"]
    assert notes == [f"started {session.state.agent_id}", "failed: the model is away"]


# Outcomes


def test_there_are_four_ways_to_answer() -> None:
    changed = before("ls -l")
    made = [Outcome.proceed(), Outcome.proceed(changed), Outcome.block("no"), Outcome.stop("enough")]
    assert [(one.decision, one.reason, one.context) for one in made] == [
        (Decision.NONE, "", None),
        (Decision.NONE, "", changed),
        (Decision.BLOCK, "no", None),
        (Decision.STOP, "enough", None),
    ]


def test_a_block_prevents_one_action_and_a_stop_ends_the_run() -> None:
    blocked = builder(*calls("a", "b")).on_before_tool_use(lambda _: Outcome.block("not this")).build().run("go")
    assert (blocked.status, results(blocked)) == ("done", [("not this", True), ("not this", True)])
    stopped = builder(*calls("a", "b")).on_before_tool_use(lambda _: Outcome.stop("not at all")).build().run("go")
    assert (stopped.status, stopped.reason, stopped.steps) == ("stopped", "not at all", ())
    assert RAN == []


# Contexts


def test_a_tool_context_shows_the_call_and_lets_a_hook_change_it_before_and_read_it_after() -> None:
    seen: list[Any] = []

    def first(context: ToolContext) -> Outcome:
        seen.append((context.name, context.args["command"], context.is_before, context.state.step_count))
        return Outcome.proceed(context.replace(args={"command": f"nice {context.args['command']}"}))

    def last(context: ToolContext) -> Outcome:
        seen.append((context.result, context.error, context.is_before))
        return Outcome.proceed()

    builder(*calls("make")).on_before_tool_use(first).on_after_tool_use(last).build().run("go")
    assert RAN == ["nice make"]
    assert seen == [("bash", "make", True, 0), ("output of nice make", None, False)]
    with pytest.raises(HookError, match="'args' cannot be changed at post-tool-call: only result can"):
        before("make").after("done").replace(args={})


def test_a_step_context_counts_steps_and_has_the_step_after_it() -> None:
    seen: list[Any] = []

    def look(context: StepContext) -> None:
        seen.append((context.index, context.number, context.step.has_errors if context.step else None))

    agent = builder(*calls("make")).add_hook("BeforeStep", look).add_hook("AfterStep", look)
    agent.on_before_tool_use(lambda _: Outcome.block("no")).build().run("go")
    assert seen == [(0, 1, None), (0, 1, True), (1, 2, None), (1, 2, False)]


def test_a_stop_context_has_the_reason_and_a_block_makes_the_agent_go_on() -> None:
    seen: list[tuple[str, int]] = []

    def gate(context: StopContext) -> Outcome:
        seen.append((context.reason, context.block_count))
        return Outcome.proceed() if RAN else Outcome.block("nothing was run yet")

    made = builder("finished", *calls("make")).on_stop(gate).build()
    turn = made.run("go")
    assert (turn.text, RAN) == ("done", ["make"])
    assert seen == [("no_tool_calls", 0), ("no_tool_calls", 1)]


def test_an_execution_context_shows_whether_the_run_starts_or_ends() -> None:
    seen: list[tuple[bool, int]] = []

    def look(context: ExecutionContext) -> Outcome:
        seen.append((context.is_start, context.state.step_count))
        return Outcome.proceed()

    builder(*calls("make")).on_execution_start(look).on_execution_end(look).build().run("go")
    assert seen == [(True, 0), (False, 2)]


def test_a_failure_context_has_the_error_its_text_and_its_class() -> None:
    seen: list[Any] = []

    def look(context: FailureContext) -> Outcome:
        seen.append((context.error, context.error_message, context.error_class))
        return Outcome.proceed()

    error = TimeoutError("no answer")
    with pytest.raises(TimeoutError):
        builder(error).on_agent_failed(look).build().run("go")
    assert seen == [(error, "no answer", "TimeoutError")]


# Matchers


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("bash", {"bash"}),
        ("read_*", {"read_file", "read_line"}),
        ("*_file", {"read_file", "write_file"}),
        ("*", {"bash", "bashful", "read_file", "read_line", "write_file"}),
        ("/^(read|write)_f/", {"read_file", "write_file"}),
    ],
)
def test_tools_are_matched_by_name_by_wildcard_and_by_regex(pattern: str, wanted: set[str]) -> None:
    names = ("bash", "bashful", "read_file", "read_line", "write_file")
    assert {name for name in names if tool_name(pattern)(ToolContext.before(name, {}))} == wanted


def test_events_are_matched_one_or_several() -> None:
    contexts = [before("ls"), before("ls").after("x"), StepContext.before(0), StepContext.after(0)]
    assert [event_is("PreToolUse")(context) for context in contexts] == [True, False, False, False]
    assert [event_is("BeforeStep", "AfterStep")(context) for context in contexts] == [False, False, True, True]


def test_matchers_are_joined_with_and_and_or_also_nested() -> None:
    def at(name: str, *, steps: int = 0, **metadata: Any) -> ToolContext:
        made = AgentState("a", steps=(state.Step(0, model.Reply()),) * steps, metadata=metadata)
        return ToolContext.before(name, {}, state=made, metadata=metadata)

    early = all_of(tool_name("bash"), where(lambda context: context.state.step_count < 5))
    assert [early(at("bash")), early(at("bash", steps=5)), early(at("sh"))] == [True, False, False]
    files = any_of("read_*", "write_*")
    assert [files(at("read_file")), files(at("write_file")), files(at("bash"))] == [True, True, False]
    for nested in (
        all_of(any_of("bash", "shell"), where(lambda context: context.state.metadata.get("careful"))),
        (tool_name("bash") | tool_name("shell")) & where(lambda context: context.get("careful")),
    ):
        asked = [at("shell", careful=True), at("bash", careful=True), at("bash"), at("ls", careful=True)]
        assert [nested(context) for context in asked] == [True, True, False, False]


def test_any_callable_is_a_matcher() -> None:
    def urgent(context: boathook.Context) -> bool:
        return bool(context.get("urgent"))

    made = builder(*calls("a"), *calls("b")).on_before_tool_use(lambda _: Outcome.block("first ask"), match=urgent)
    agent = made.on_execution_start(lambda context: context.with_metadata("urgent", context.prompt == "now!")).build()
    with agent.session() as session:
        session.run("now!")
        session.run("some time")
    assert RAN == ["b"]


# Order


def test_higher_priorities_are_asked_first_and_equal_ones_in_the_order_they_were_added() -> None:
    order: list[str] = []

    def note_order(name: str) -> Callable[[ToolContext], None]:
        return lambda _: order.append(name)

    agent = (
        builder(*calls("ls"))
        .on_after_tool_use(note_order("log"), priority=-100)
        .on_before_tool_use(note_order("normal"))
        .on_before_tool_use(note_order("normal, later"))
        .on_before_tool_use(note_order("guard"), priority=100)
        .on_after_tool_use(note_order("look at the result"))
    )
    agent.build().run("go")
    assert order == ["guard", "normal", "normal, later", "look at the result", "log"]


# Methods of the builder


def test_callbacks_for_tools_may_answer_nothing_an_outcome_or_a_changed_context() -> None:
    made = builder(*calls("ls"))
    made = made.on_before_tool_use(lambda context: context.replace(args={"command": "ls -a"}), 0, "ba*")
    made = made.on_after_tool_use(lambda context: Outcome.proceed(context.replace(result="…")), 0, tool_name("bash"))
    made = made.on_after_tool_use(lambda _: None, -1)
    assert results(made.build().run("go")) == [("…", False)]
    assert RAN == ["ls -a"]


def test_a_callback_after_a_tool_receives_its_failure_too() -> None:
    def broken() -> str:
        raise OSError("no disk")

    seen: list[str] = []
    made = AgentBuilder().with_model(ScriptedModel([ToolCall("broken"), "done"])).with_tools(broken)
    made.on_after_tool_use(lambda context: seen.append(str(context.error))).build().run("go")
    assert seen == ["no disk"]


def test_callbacks_for_steps_take_a_state_and_return_one() -> None:
    heard = ScriptedModel(calls("ls"))
    counted: list[int] = []

    def remind(now: AgentState) -> AgentState:
        return now.with_messages(Message("user", f"step {now.step_count + 1}"))

    def count(now: AgentState) -> AgentState:
        counted.append(now.step_count)
        return now.with_metadata(f"step {now.step_count}", "done")

    made = AgentBuilder().with_model(heard).with_tools(bash).on_before_step(remind).on_after_step(count)
    with made.build().session() as session:
        session.run("go")
    assert [[message.text for message in messages][-1] for messages in heard.requests] == ["step 1", "step 2"]
    assert (counted, session.state.metadata) == ([1, 2], {"step 1": "done", "step 2": "done"})


def test_callbacks_for_the_start_may_block_a_run_and_those_for_the_end_see_its_end() -> None:
    ends: list[str | None] = []
    made = builder("hello").on_execution_end(lambda context: ends.append(context.final_message))
    assert made.build().run("hi").text == "hello"
    shut = made.on_execution_start(lambda _: Outcome.block("closed on Sundays"), priority=5).build().run("hi")
    assert (shut.status, shut.reason, shut.steps) == ("blocked", "closed on Sundays", ())
    assert ends == ["hello"]


def test_callbacks_for_the_stop_of_a_subagent_send_it_back_to_work() -> None:
    tasks: list[str] = []

    def gate(context: SubagentContext) -> Outcome | None:
        tasks.append(context.task)
        return Outcome.block("look again") if context.result == "nothing found" else None

    child = AgentBuilder().with_model(ScriptedModel(["nothing found", "found it"])).build()
    made = builder(ToolCall("Subagent", {"name": "scout", "task": "find it"}), "thanks").with_subagent("scout", child)
    turn = made.on_subagent_stop(gate).build().run("go")
    assert (results(turn), tasks) == ([("found it", False)], ["find it", "find it"])


def test_a_callback_for_failures_cannot_hide_them() -> None:
    seen: list[str] = []
    made = builder(RuntimeError("broken")).on_agent_failed(lambda context: seen.append(context.error_class), priority=1)
    with pytest.raises(RuntimeError, match="broken"):
        made.build().run("go")
    assert seen == ["RuntimeError"]


def test_any_hook_can_be_added_for_any_event_with_a_matcher_and_a_priority() -> None:
    order: list[str] = []
    quiet = where(lambda context: "quietly" in context.prompt)
    made = builder("ok").add_hook("ExecutionStart", lambda _: order.append("later"))
    made = made.add_hook("ExecutionStart", lambda _: order.append("quiet"), match=quiet, priority=100)
    made.build().run("do it quietly")
    assert order == ["quiet", "later"]
    builder("ok").add_hook("ExecutionStart", lambda _: order.append("never"), match=quiet).build().run("do it")
    assert "never" not in order


# Hooks as objects, and the stack by itself


class Limiter:
    """Counts."""

    def __init__(self) -> None:
        self.count = 0


class RateLimit:
    """A hook of its own class, with what it needs."""

    def __init__(self, limiter: Limiter, most: int) -> None:
        self.limiter, self.most = limiter, most

    def handle(self, context: ToolContext, next: Next) -> Outcome:  # noqa: A002
        if self.limiter.count >= self.most:
            return Outcome.block("that was often enough")
        self.limiter.count += 1
        return next(context)


def test_a_class_with_handle_is_a_hook_that_goes_on_or_does_not() -> None:
    limiter = Limiter()
    made = builder(*calls("a", "b", "c")).add_hook("PreToolUse", RateLimit(limiter, 2))
    assert results(made.build().run("go"))[2] == ("that was often enough", True)
    assert (RAN, limiter.count) == (["a", "b"], 2)


def test_a_stack_is_used_by_itself_and_every_hook_in_it_receives_every_event() -> None:
    order: list[str] = []

    class Named:
        def __init__(self, name: str, answer: Outcome | None = None) -> None:
            self.name, self.answer = name, answer

        def handle(self, context: ExecutionContext, next: Next) -> Outcome:  # noqa: A002
            order.append(self.name)
            return self.answer or next(context)

    stack = Stack().with_(Named("guard"), priority=100).with_(Named("log"), priority=-100).with_(Named("count"))
    context = ExecutionContext.on_start("go", state=AgentState("a"))
    outcome = stack.process(context, lambda final: Outcome.proceed(final.with_metadata("arrived", True)))
    assert order == ["guard", "count", "log"]
    assert (outcome.is_blocked, outcome.is_stopped, outcome.context.get("arrived")) == (False, False, True)

    blocked = stack.with_(Named("no", Outcome.block("closed")), priority=50).process(context, pytest.fail)
    stopped = stack.with_(Named("end", Outcome.stop("over")), priority=50).process(context, pytest.fail)
    assert [(one.is_blocked, one.is_stopped, one.reason) for one in (blocked, stopped)] == [
        (True, False, "closed"),
        # There it is false for a stop; here neither a block nor a stop lets the agent go on.
        (True, True, "over"),
    ]


def test_the_chain_goes_by_priority_to_its_end_and_back() -> None:
    way: list[str] = []

    def around(name: str) -> Callable[[Any, Next], Outcome]:
        def hook(context: Any, next: Next) -> Outcome:  # noqa: A002
            way.append(f"{name} in")
            outcome = next(context)
            way.append(f"{name} out")
            return outcome

        return hook

    stack = Stack().with_(around("log"), priority=-100).with_(around("guard"), priority=100).with_(around("work"))
    stack.process(before("ls"), lambda _: way.append("end"))
    assert way == ["guard in", "work in", "log in", "end", "log out", "work out", "guard out"]


# Adapters


def test_a_processor_of_the_state_becomes_a_hook_before_or_after_steps() -> None:
    class Noting:
        def process(self, now: AgentState) -> AgentState:
            return now.with_messages(Message("user", f"processed with {now.step_count} steps"))

    for position, event, counts in (("after", "AfterStep", [1, 2]), ("before", "BeforeStep", [0, 1])):
        made = builder(*calls("ls")).add_hook(event, StateProcessorAdapter(Noting(), position=position))
        with made.build().session() as session:
            session.run("go")
        notes = [message.text for message in session.state.messages if message.text.startswith("processed")]
        assert notes == [f"processed with {count} steps" for count in counts]
    everywhere = Stack().with_(StateProcessorAdapter(Noting(), position="after"))
    step = StepContext.before(0, state=AgentState("a"))
    assert everywhere.process(step).context is step


def test_a_criterion_for_going_on_becomes_a_gate() -> None:
    class UntilSomethingRan:
        def should_continue(self, now: AgentState) -> bool:
            return not any(step.results for step in now.steps)

    made = builder("done already", *calls("make")).add_hook("Stop", ContinuationCriteriaAdapter(UntilSomethingRan()))
    turn = made.build().run("go")
    assert (turn.text, len(turn.steps), RAN) == ("done", 3, ["make"])


# Common patterns


def test_a_list_of_dangerous_words_guards_the_shell() -> None:
    dangerous = ("shred ", "doas ", "of=/dev/", "wipefs")

    def guard(context: ToolContext) -> Outcome:
        command = context.args.get("command", "")
        for word in dangerous:
            if word in command:
                return Outcome.block(f"not with '{word.strip()}'")
        return Outcome.proceed()

    made = builder(*calls("ls", "doas ls", "dd if=x of=/dev/sda")).on_before_tool_use(guard, 100, "bash")
    turn = made.build().run("go")
    assert results(turn) == [("output of ls", False), ("not with 'doas'", True), ("not with 'of=/dev/'", True)]
    assert RAN == ["ls"]


def test_what_a_hook_leaves_at_the_start_is_there_at_the_end() -> None:
    now = iter([100.0, 107.5])
    took: list[float] = []

    def begin(context: ExecutionContext) -> Outcome:
        return Outcome.proceed(context.with_metadata("begun", next(now)))

    def end(context: ExecutionContext) -> None:
        took.append(next(now) - context.get("begun"))

    builder(*calls("make")).on_execution_start(begin).on_execution_end(end).build().run("go")
    assert took == [7.5]


def test_a_run_goes_on_while_tasks_are_left_or_the_quality_is_low() -> None:
    reported = ScriptedModel([*calls("first")[:1], "done?", *calls("second")[:1], "done now?", "better", "never said"])

    def look(context: StepContext) -> StepContext:
        quality = 0.9 if context.step.reply.text == "better" else 0.5
        return context.with_metadata("tasks", [] if "second" in RAN else ["one"]).with_metadata("quality", quality)

    def gate(context: StopContext) -> Outcome:
        found = context.state.metadata
        if found.get("tasks", []):
            return Outcome.block(f"tasks left: {len(found['tasks'])}")
        if found.get("quality", 1.0) < 0.8:
            return Outcome.block("not good enough")
        return Outcome.proceed()

    made = AgentBuilder().with_model(reported).with_tools(bash).add_hook("AfterStep", look).on_stop(gate)
    assert made.build().run("go").text == "better"
    feedback = [message.text for message in reported.requests[-1] if message.text.startswith("[Hook")]
    assert feedback == ["[Hook blocked stop: tasks left: 1]", "[Hook blocked stop: not good enough]"]


def test_a_failure_is_written_down_with_all_that_is_known_and_a_grave_one_raises_an_alarm() -> None:
    class Grave(Exception):
        pass

    log: list[dict[str, Any]] = []
    alarms: list[str] = []

    def write(context: FailureContext) -> None:
        now: AgentState = context.state
        last = now.current_step.reply.calls[0].name if now.current_step and now.current_step.reply.calls else None
        log.append(
            {
                "agent": now.agent_id,
                "parent": now.parent_agent_id,
                "steps": now.step_count,
                "error": (context.error_class, context.error_message),
                "trace": context.error is not None and context.error.__traceback__ is not None,
                "last tool": last,
            }
        )
        if isinstance(context.error, Grave):
            alarms.append(context.error_message)

    agent = builder(*calls("ls")[:1], Grave("the ship sinks")).on_agent_failed(write).build()
    with agent.session() as session, pytest.raises(Grave):
        session.run("go")
    known = {"agent": session.state.agent_id, "parent": None, "steps": 1, "last tool": "bash", "trace": True}
    assert log == [{**known, "error": ("Grave", "the ship sinks")}]
    assert alarms == ["the ship sinks"]


# The table


def test_every_name_in_the_table_of_names_exists() -> None:
    table = (ROOT / "docs" / "reference" / "from-hookstack.md").read_text(encoding="utf-8")
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("|") and "---" not in line]
    named = {name for row in rows for name in re.findall(r"`([A-Z]\w+(?:\.\w+)*)", row)}
    homes = (boathook, adapters, model, state, declared)
    missing = []
    for name in sorted(named - set(boathook.core.event.SPELLINGS)):
        first, *rest = name.split(".")
        found = next(
            (vars(home).get(first, getattr(home, first, None)) for home in homes if hasattr(home, first)), None
        )
        for part in rest:
            found = getattr(found, part, None) if hasattr(found, part) else _annotated(found, part)
        if found is None:
            missing.append(name)
    assert (missing, len(named) > 40) == ([], True)


def _annotated(found: Any, name: str) -> Any:
    return getattr(found, "__annotations__", {}).get(name)
