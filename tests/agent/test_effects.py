"""What a block, a stop and a change do at each of the eighteen events, seen from outside, as in the table of S1.

Every scene is two turns of a small agent. The same table holds for a hook in process and for a script with a HOOK.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from boathook import KINDS, AgentBuilder, Blocked, HookError, Outcome, Stopped, ToolCall
from boathook.agent.model import Message, Reply
from boathook.inprocess.contexts import CHANGEABLE_FIELDS
from tests.scratch_project import ScratchProject

from .builders import agent_of, call, child, failing_tool, feedback, list_lines, note, shown, text_tool

NO = "no, thank you"
BROKEN = RuntimeError("the model is down")
SCENES: dict[str, tuple[Any, ...]] = {
    "talks": ("done",),
    "works": (call("work", n=1), "done"),
    "fails": (call("fail"), "done"),
    "asks": (call("deploy", to="here"), "done"),
    "delegates": (child(), "done"),
    "is long": (Reply("", (call("work", n=1),), 9_000), Reply("done", (), 10)),
    "breaks": (BROKEN,),
}
PLAYED_IN = {
    "pre-session": "talks",
    "post-session": "talks",
    "pre-agent-turn": "talks",
    "post-agent-turn": "talks",
    "pre-agent-turn-stop": "talks",
    "post-agent-turn-stop": "talks",
    "pre-tool-call": "works",
    "post-tool-call": "works",
    "post-tool-call-failure": "fails",
    "pre-subagent": "delegates",
    "post-subagent": "delegates",
    "pre-context-compact": "is long",
    "post-context-compact": "is long",
    "permission-request": "asks",
    "notification": "asks",
    "pre-step": "works",
    "post-step": "works",
    "turn-failure": "breaks",
}


@dataclass(frozen=True)
class Seen:
    """What a scene came to: the two turns, the tools that ran, and what the model received before its last answer."""

    turns: tuple[str, ...]
    ran: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()


class Scene:
    """Two turns of a small agent: the one that matters, and one more."""

    def __init__(self, event: str) -> None:
        self.ran: list[Any] = []
        tools = (
            text_tool("work", ran=self.ran),
            failing_tool(ran=self.ran),
            text_tool("deploy", ran=self.ran, needs_permission=True),
        )
        moves = (*SCENES[PLAYED_IN[event]], "more", "and more")
        builder, self.model = agent_of(*moves, tools=tools, helper=("found", "found more"))
        self.builder = (
            builder.with_limits(token_budget=4_000)
            .with_compactor(lambda *_: [Message("user", "in short")])
            .with_permission(lambda *_: True)
        )

    def play(self, builder: AgentBuilder) -> Seen:
        turns: list[str] = []
        try:
            with builder.build().session() as session:
                turns += [outcome_of(session, "go"), outcome_of(session, "go on")]
        except (Blocked, Stopped, HookError) as error:
            turns.append(f"{type(error).__name__}: {error}")
        heard = list_lines(self.model.requests[-1]) if self.model.requests else []
        return Seen(tuple(turns), tuple(f"{name}{args or ''}" for name, args in self.ran), tuple(heard))


def outcome_of(session: Any, prompt: str) -> str:
    try:
        return shown(session.run(prompt))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def once(answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A hook that returns its answer for the first event it is asked about, and then has no opinion."""
    left = [answer]
    return lambda context: left.pop()(context) if left else None


GO, ON = "user: go", "user: go on"
DONE, MORE = "done: done", "done: more"
ANSWERED = "assistant: done"
WORK, WORKED = "assistant:  work{'n': 1}", "tool: work is done"
FAIL = "assistant:  fail"
DEPLOY, DEPLOYED = "assistant:  deploy{'to': 'here'}", "tool: deploy is done"
DELEGATE = "assistant:  Subagent{'name': 'helper', 'task': 'look'}"

ORDINARY: dict[str, Seen] = {
    "talks": Seen((DONE, MORE), (), (GO, ANSWERED, ON)),
    "works": Seen((DONE, MORE), ("work{'n': 1}",), (GO, WORK, WORKED, ANSWERED, ON)),
    "fails": Seen((DONE, MORE), ("fail",), (GO, FAIL, "tool!: it broke", ANSWERED, ON)),
    "asks": Seen((DONE, MORE), ("deploy{'to': 'here'}",), (GO, DEPLOY, DEPLOYED, ANSWERED, ON)),
    "delegates": Seen((DONE, MORE), (), (GO, DELEGATE, "tool: found", ANSWERED, ON)),
    "is long": Seen((DONE, MORE), ("work{'n': 1}",), ("user: in short", ANSWERED, ON)),
    "breaks": Seen((f"RuntimeError: {BROKEN}", MORE), (), (GO, ON)),
}

BLOCKED: dict[str, Seen] = {
    "pre-session": Seen((f"Blocked: {NO}",)),
    "post-session": ORDINARY["talks"],
    "pre-agent-turn": Seen((f"blocked: {NO}", DONE), (), (ON,)),
    "post-agent-turn": Seen((DONE, MORE), (), (GO, ANSWERED, note(NO), ON)),
    "pre-agent-turn-stop": Seen((MORE, "done: and more"), (), (GO, ANSWERED, feedback(NO), "assistant: more", ON)),
    "post-agent-turn-stop": ORDINARY["talks"],
    "pre-tool-call": Seen((DONE, MORE), (), (GO, WORK, f"tool!: {NO}", ANSWERED, ON)),
    "post-tool-call": Seen((DONE, MORE), ("work{'n': 1}",), (GO, WORK, f"{WORKED}\n{NO}", ANSWERED, ON)),
    "post-tool-call-failure": Seen((DONE, MORE), ("fail",), (GO, FAIL, f"tool!: it broke\n{NO}", ANSWERED, ON)),
    "pre-subagent": Seen((DONE, MORE), (), (GO, DELEGATE, f"tool!: {NO}", ANSWERED, ON)),
    "post-subagent": Seen((DONE, MORE), (), (GO, DELEGATE, "tool: found more", ANSWERED, ON)),
    "pre-context-compact": Seen((DONE, MORE), ("work{'n': 1}",), (GO, WORK, WORKED, ANSWERED, ON)),
    "post-context-compact": ORDINARY["is long"],
    "permission-request": Seen((DONE, MORE), (), (GO, DEPLOY, f"tool!: {NO}", ANSWERED, ON)),
    "notification": ORDINARY["asks"],
    "pre-step": ORDINARY["works"],
    "post-step": ORDINARY["works"],
    "turn-failure": ORDINARY["breaks"],
}

ENDED = (f"stopped: {NO}", f"Stopped: {NO}")
STOPPED: dict[str, Seen] = {
    "pre-session": Seen((f"Stopped: {NO}",)),
    "post-session": ORDINARY["talks"],
    "pre-agent-turn": Seen(ENDED),
    "post-agent-turn": Seen(ENDED, (), (GO,)),
    "pre-agent-turn-stop": Seen(ENDED, (), (GO,)),
    "post-agent-turn-stop": Seen(ENDED, (), (GO,)),
    "pre-tool-call": Seen(ENDED, (), (GO,)),
    "post-tool-call": Seen(ENDED, ("work{'n': 1}",), (GO,)),
    "post-tool-call-failure": Seen(ENDED, ("fail",), (GO,)),
    "pre-subagent": Seen(ENDED, (), (GO,)),
    "post-subagent": Seen(ENDED, (), (GO,)),
    "pre-context-compact": Seen(ENDED, ("work{'n': 1}",), (GO,)),
    "post-context-compact": Seen(ENDED, ("work{'n': 1}",), (GO,)),
    "permission-request": Seen(ENDED, (), (GO,)),
    "notification": Seen(ENDED, (), (GO,)),
    "pre-step": Seen(ENDED),
    "post-step": Seen(ENDED, ("work{'n': 1}",), (GO,)),
    "turn-failure": Seen((f"RuntimeError: {BROKEN}", f"Stopped: {NO}"), (), (GO,)),
}


def test_the_tables_have_a_row_for_every_kind_of_event() -> None:
    assert list(BLOCKED) == list(STOPPED) == list(PLAYED_IN) == [kind.name for kind in KINDS]


def test_a_block_has_an_effect_exactly_where_the_specification_defines_one() -> None:
    without = {kind.name for kind in KINDS if kind.block.startswith(("recorded only", "none"))}
    assert {event for event, seen in BLOCKED.items() if seen == ORDINARY[PLAYED_IN[event]]} == without


@pytest.mark.parametrize("event", PLAYED_IN)
def test_a_hook_without_opinion_leaves_everything_as_it_is(event: str) -> None:
    asked: list[str] = []
    scene = Scene(event)
    seen = scene.play(scene.builder.add_hook(event, lambda context: asked.append(context.event)))
    assert seen == ORDINARY[PLAYED_IN[event]]
    assert set(asked) == {event}


@pytest.mark.parametrize("event", BLOCKED)
def test_a_block_means_what_the_specification_defines(event: str) -> None:
    scene = Scene(event)
    assert scene.play(scene.builder.add_hook(event, once(lambda _: Outcome.block(NO)))) == BLOCKED[event]


@pytest.mark.parametrize("event", STOPPED)
def test_a_stop_ends_the_run_and_later_turns_are_refused(event: str) -> None:
    scene = Scene(event)
    assert scene.play(scene.builder.add_hook(event, once(lambda _: Outcome.stop(NO)))) == STOPPED[event]


@pytest.mark.parametrize("event", ["pre-session", "pre-agent-turn", "pre-subagent", "pre-context-compact"])
def test_a_question_where_no_person_is_asked_is_a_block(event: str) -> None:
    def ask_back(seen: Seen) -> Seen:
        text = f"{NO} (a person can only be asked about tool calls, not at {event})"
        return Seen(
            tuple(line.replace(NO, text) for line in seen.turns),
            seen.ran,
            tuple(line.replace(NO, text) for line in seen.heard),
        )

    scene = Scene(event)
    assert scene.play(scene.builder.add_hook(event, once(lambda _: Outcome.ask(NO)))) == ask_back(BLOCKED[event])


@pytest.mark.parametrize("event", ["pre-agent-turn-stop", "post-agent-turn", "post-subagent"])
def test_a_question_that_comes_too_late_is_a_message(event: str) -> None:
    scene = Scene(event)
    result = scene.builder.add_hook(event, once(lambda _: Outcome.ask(NO))).build().run("go")
    assert result.messages == (f"{NO} (a person can only be asked about tool calls, not at {event})",)


@pytest.mark.parametrize("event", ["pre-step", "post-step"])
def test_a_block_of_a_step_is_a_message(event: str) -> None:
    scene = Scene(event)
    result = scene.builder.add_hook(event, once(lambda _: Outcome.block(NO))).build().run("go")
    assert result.messages == (f"a hook cannot block at {event}, only stop the run; the hook's reason: {NO}",)


@pytest.mark.parametrize(
    "event", ["pre-session", "pre-agent-turn", "pre-agent-turn-stop", "pre-tool-call", "pre-subagent"]
)
def test_a_block_without_a_reason_gets_one(event: str) -> None:
    def without(seen: Seen) -> Seen:
        reported = tuple(line.replace(NO, "blocked by a hook") for line in seen.turns)
        return Seen(reported, seen.ran, tuple(line.replace(NO, "blocked by a hook") for line in seen.heard))

    scene = Scene(event)
    assert scene.play(scene.builder.add_hook(event, once(lambda _: Outcome.block("")))) == without(BLOCKED[event])


# by scripts


BLOCKS = f"[ -e said ] || {{ : > said; echo '{NO}' >&2; exit 2; }}"
STOPS = f"[ -e said ] || {{ : > said; echo '{json.dumps({'continue': False, 'stop_reason': NO})}'; }}"


def play_with_script(project: ScratchProject, event: str, script: str) -> Seen:
    project.write_hook("objector", script=script, fields={"trigger": event})
    scene = Scene(event)
    return scene.play(scene.builder.in_dir(project.path).with_hooks_from(project.path))


@pytest.mark.parametrize("event", BLOCKED)
def test_a_script_that_exits_with_2_does_what_a_block_in_process_does(project: ScratchProject, event: str) -> None:
    assert play_with_script(project, event, BLOCKS) == BLOCKED[event]
    assert (project.path / "said").exists()


@pytest.mark.parametrize("event", STOPPED)
def test_a_script_that_wants_no_continuation_does_what_a_stop_in_process_does(
    project: ScratchProject, event: str
) -> None:
    assert play_with_script(project, event, STOPS) == STOPPED[event]
    assert (project.path / "said").exists()


# changes


def add_message(context: Any) -> Any:
    return context.replace(state=context.state.with_messages(Message("user", "and be quick")))


CHANGED: dict[str, tuple[Callable[[Any], Any], Seen]] = {
    "pre-agent-turn": (
        lambda context: context.replace(prompt="go slowly"),
        Seen((DONE, MORE), (), ("user: go slowly", ANSWERED, ON)),
    ),
    "pre-tool-call": (
        lambda context: context.replace(args={"n": 2}),
        Seen((DONE, MORE), ("work{'n': 2}",), (GO, WORK, WORKED, ANSWERED, ON)),
    ),
    "post-tool-call": (
        lambda context: context.replace(result="kept secret"),
        Seen((DONE, MORE), ("work{'n': 1}",), (GO, WORK, "tool: kept secret", ANSWERED, ON)),
    ),
    "permission-request": (
        lambda context: context.replace(args={"to": "there"}),
        Seen((DONE, MORE), ("deploy{'to': 'there'}",), (GO, DEPLOY, DEPLOYED, ANSWERED, ON)),
    ),
    "pre-step": (
        add_message,
        Seen((DONE, MORE), ("work{'n': 1}",), (GO, "user: and be quick", WORK, WORKED, ANSWERED, ON)),
    ),
    "post-step": (
        add_message,
        Seen((DONE, MORE), ("work{'n': 1}",), (GO, WORK, WORKED, "user: and be quick", ANSWERED, ON)),
    ),
}


def test_there_is_a_change_for_every_event_that_allows_one() -> None:
    assert set(CHANGED) == set(CHANGEABLE_FIELDS)


@pytest.mark.parametrize("event", CHANGED)
def test_a_change_is_what_happens_then(event: str) -> None:
    change, seen = CHANGED[event]
    scene = Scene(event)
    assert scene.play(scene.builder.add_hook(event, once(change))) == seen


BY_SCRIPT = {
    "pre-tool-call": {"modified_input": {"n": 2}},
    "post-tool-call": {"modified_output": "kept secret"},
    "permission-request": {"modified_input": {"to": "there"}},
}


@pytest.mark.parametrize("event", BY_SCRIPT)
def test_a_script_changes_what_a_hook_in_process_changes(project: ScratchProject, event: str) -> None:
    assert play_with_script(project, event, f"echo '{json.dumps(BY_SCRIPT[event])}'") == CHANGED[event][1]


UNCHANGEABLE = [kind.name for kind in KINDS if kind.name not in CHANGEABLE_FIELDS]


@pytest.mark.parametrize("event", UNCHANGEABLE)
def test_a_change_that_the_event_does_not_allow_is_an_error_of_the_hook(event: str) -> None:
    faults: list[str] = []

    def changes_it(context: Any) -> Any:
        try:
            return context.replace(session_id="another")
        except HookError as error:
            faults.append(str(error))
            raise

    scene = Scene(event)
    seen = scene.play(scene.builder.add_hook(event, once(changes_it)))
    error = f"'session_id' cannot be changed at {event}: nothing can"
    assert faults == [error]
    failing = {"turn-failure": f"RuntimeError: {BROKEN}"}.get(event, f"HookError: {error}")
    assert [turn for turn in seen.turns if turn.startswith(("HookError", "RuntimeError"))] == [failing]


def test_what_a_tool_call_became_is_in_the_step() -> None:
    scene = Scene("pre-tool-call")
    hook = lambda context: context.replace(args={"n": 7})  # noqa: E731
    result = scene.builder.on_before_tool_use(hook).build().run("go")
    assert [(one.call, one.text, one.is_error) for one in result.steps[0].results] == [
        (ToolCall("work", {"n": 7}, "call-1"), "work is done", False)
    ]
