"""Every framework keeps the contract of `contract.py`: with the bridge, and the opposite without it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from boathook import KINDS, Hooks, Outcome, ToolContext
from boathook.bridges.attachment import MISSING_EVENTS, attach, enter_call
from boathook.core.event import SPELLINGS
from boathook.errors import BridgeError
from tests.bridges.adapter import ASYNC, Adapter, AgentPlan, Script
from tests.bridges.behaviours import ACCEPTED, BEHAVIOURS, COST
from tests.bridges.conftest import make_parameter
from tests.bridges.contract import SCENES, Scene, block_rm, list_scenes, play_delegation
from tests.bridges.frameworks import choose_adapters
from tests.bridges.stage import Stage, call_bash

pytestmark = pytest.mark.bridge

PLAYED = [
    make_parameter(adapter, scene, way, name=f"{adapter.name}-{scene.name}-{way}")
    for adapter in choose_adapters()
    for scene, way in list_scenes(adapter)
]
Record = Callable[[str, object], None]


def note_cell(record: Record, adapter: Adapter, scene: Scene, way: str, cannot: str = "") -> None:
    place = {"column": adapter.name, "behaviour": scene.behaviour, "way": way, "scene": scene.name}
    record("cell", {**place, "cannot": cannot})


@pytest.mark.parametrize(("adapter", "scene", "way"), PLAYED)
def test_with_the_bridge(adapter: Adapter, scene: Scene, way: str, record_property: Record) -> None:
    stage = Stage(adapter, way, is_attached=True)
    cannot = adapter.find_cannot(scene.behaviour, way, scene.name)
    if cannot is None:
        note_cell(record_property, adapter, scene, way)
        assert scene.play(stage) == scene.attached
        return
    note_cell(record_property, adapter, scene, way, f"{cannot.reason} ({cannot.how})")
    if cannot.how == "accepted":
        assert {(adapter.name, scene.behaviour), (adapter.name, scene.name)} & ACCEPTED
        assert scene.play(stage) != scene.attached, "it is possible now: take it out of `cannot`"
        return
    with pytest.raises(BridgeError) as raised:
        scene.play(stage)
    assert cannot.message in str(raised.value)
    assert stage.is_built is (cannot.how == "the run raises")


@pytest.mark.parametrize(("adapter", "scene", "way"), PLAYED)
def test_without_the_bridge_the_opposite_happens(
    adapter: Adapter, scene: Scene, way: str, record_property: Record
) -> None:
    note_cell(record_property, adapter, scene, way)
    assert scene.play(Stage(adapter, way, is_attached=False)) == scene.detached


def test_every_behaviour_has_a_scene_that_is_different_without_the_bridge() -> None:
    assert {scene.behaviour for scene in SCENES} == set(BEHAVIOURS)
    assert [scene.name for scene in SCENES if scene.attached == scene.detached] == []


def test_what_an_adapter_cannot_do_is_a_behaviour_and_has_a_reason(adapter: Adapter) -> None:
    for key, cannot in adapter.cannot.items():
        behaviour = key if isinstance(key, str) else key[0]
        assert behaviour in {*BEHAVIOURS, *(scene.name for scene in SCENES)}
        assert cannot.reason
        assert cannot.message or cannot.how == "accepted"


def test_notes_of_an_adapter_are_about_behaviours_or_the_cost(adapter: Adapter) -> None:
    assert set(adapter.notes) <= {*BEHAVIOURS, COST}


def test_the_adapter_names_a_way_to_run(adapter: Adapter) -> None:
    known: Any = {"sync", "async", "stream"}
    assert adapter.ways
    assert set(adapter.ways) <= known


def test_an_agent_with_middleware_that_does_nothing_ends_as_one_without(adapter: Adapter) -> None:
    stage = Stage(adapter, adapter.ways[-1], is_attached=False)
    agent = adapter.build_idle(AgentPlan(Script((call_bash("ls"),), "done"), stage.tools))
    if agent is None:
        pytest.skip("the framework's own middleware is not measured")
    assert stage.run(agent, "go").output == "done"
    assert stage.error is None
    assert (stage.ran, stage.noted) == (["ls"], [])


def test_the_bridge_has_a_row_of_missing_events(adapter: Adapter) -> None:
    row = adapter.bridge or adapter.framework
    assert row in MISSING_EVENTS, f"add a row '{row}' to MISSING_EVENTS in src/boathook/bridges/attachment.py"


def test_every_event_reaches_hooks_unless_the_bridge_lists_it_as_missing(adapter: Adapter) -> None:
    stages = [Stage(adapter, ASYNC if ASYNC in adapter.ways else adapter.ways[0], is_attached=True) for _ in range(5)]
    stages[0].play((call_bash("ls"),), "done")
    stages[1].play((call_bash("fail"),), "done")
    stages[2].hooks.before_tool(lambda context: Outcome.ask("sure?"))
    stages[2].play((call_bash("ls"),), "done")
    stages[3].play((call_bash("ls"),), RuntimeError("the model is down"))
    for delegation in adapter.delegations:
        play_delegation(stages[4], delegation)
    seen = {event for stage in stages for event in stage.list_events()}
    missing = {*MISSING_EVENTS[adapter.bridge or adapter.framework]}
    assert seen & missing == set()
    # Only a program of the SDK has these, when a conversation is long, or when nobody answers.
    rare = {"pre-context-compact", "post-context-compact", "notification"}
    assert {kind.name for kind in KINDS} - seen - missing <= rare


def test_an_agent_in_a_tool_of_another_framework_is_a_subagent_in_its_session(adapter: Adapter) -> None:
    if adapter.framework == "claude-agent-sdk":
        pytest.skip("the tools of the SDK run in another program")
    run = attach("langgraph", Hooks()).make_run("outer")
    run.prompt("delegate")
    stage = Stage(adapter, adapter.ways[-1], is_attached=True)
    with enter_call(run):
        stage.play((call_bash("ls"),), "done")
    assert stage.error is None
    assert stage.ran == ["ls"]
    assert {noted.session_id for noted in stage.noted} == {"outer"}
    events = stage.list_events("pre-session", "pre-agent-turn", "pre-subagent", "post-subagent", "post-session")
    assert events == ["pre-subagent", "post-subagent"]
    run.end()
    later = Stage(adapter, adapter.ways[-1], is_attached=True)
    with enter_call(run):
        later.play((call_bash("ls"),), "done")
    assert "pre-session" in later.list_events()
    assert "outer" not in {noted.session_id for noted in later.noted}


def play_bare_helper(adapter: Adapter, delegation: str, **options: Any) -> Stage:
    """Let an agent delegate to one without the bridge; `error` is what ended the run, or was refused."""
    stage = Stage(adapter, ASYNC if ASYNC in adapter.ways else adapter.ways[0], is_attached=True)
    stage.options |= options
    stage.hooks.before_tool(block_rm)
    script = Script((call_bash("rm -r build", "h"),), "helped")
    helper = AgentPlan(script, stage.tools, name="helper", has_bridge=False)
    try:
        stage.play((adapter.delegations[delegation],), "done", helper=helper, delegation=delegation)
    except BridgeError as error:
        stage.error = error
    return stage


def test_a_helper_without_the_bridge_is_guarded_or_refused_where_the_framework_shows_it(adapter: Adapter) -> None:
    missing = set(adapter.delegations) ^ set(adapter.bare_helpers)
    assert missing == set(), "`bare_helpers` of the adapter needs a row for each of its `delegations`"
    for delegation, expected in adapter.bare_helpers.items():
        stage = play_bare_helper(adapter, delegation)
        assert stage.ran == (["rm -r build"] if expected == "not seen" else []), delegation
        is_refused = "where no hook can see them" in str(stage.error)
        assert is_refused is (expected == "refused"), (delegation, stage.error)
        if is_refused:
            assert play_bare_helper(adapter, delegation, allow_unguarded=True).ran == ["rm -r build"]


def play_failing_hook(adapter: Adapter, moment: str, error: type[BaseException]) -> dict[str, Any]:
    stage = Stage(adapter, ASYNC if ASYNC in adapter.ways else adapter.ways[0], is_attached=True)

    async def give_up(context: ToolContext) -> None:
        raise error("I give up")

    stage.hooks.add(SPELLINGS[moment], give_up)
    try:
        stage.play((call_bash("ls"),), "done")
    except asyncio.CancelledError as cancelled:
        stage.error = cancelled
    return {
        "ran": stage.ran,
        "requests": len(stage.requests),
        "has error": stage.error is not None,
        "ends": stage.list_events("post-agent-turn", "post-session"),
    }


@pytest.mark.parametrize("moment", ["pre-tool-call", "post-tool-call"])
def test_a_hook_that_raises_cancelled_error_has_failed_like_any_other(adapter: Adapter, moment: str) -> None:
    """Frameworks take such an error for the end of a single call, and go on."""
    facts = play_failing_hook(adapter, moment, asyncio.CancelledError)
    assert facts == play_failing_hook(adapter, moment, ValueError)
    assert facts["ran"] == (["ls"] if moment == "post-tool-call" else [])
    assert facts["ends"] == ["post-agent-turn", "post-session"]


def play_match(adapter: Adapter, match: str) -> Stage:
    """Let an agent with the tool `bash` and one hook call its tool; `error` is what the typing error in the match raised."""
    stage = Stage(adapter, ASYNC if ASYNC in adapter.ways else adapter.ways[0], is_attached=True)
    stage.hooks.before_tool(match=match)(block_rm)
    try:
        stage.play((call_bash("rm -r build"),), "done")
    except BridgeError as error:
        stage.error = error
    return stage


def test_a_typing_error_in_a_match_is_an_error_when_the_tools_are_known(
    adapter: Adapter, caplog: pytest.LogCaptureFixture
) -> None:
    if not adapter.knows_tools:
        return
    stage = play_match(adapter, "bsah")
    assert "matches no tool of this agent: 'bsah'. Fix: did you mean 'bash'?" in str(stage.error)
    assert stage.ran == []
    # Another agent with the same hooks may have it.
    assert play_match(adapter, "weather").ran == ["rm -r build"]
    for match in ("bash", "Shell", "*sh"):
        assert play_match(adapter, match).ran == []
    [warning] = [each.message for each in caplog.records if each.name == "boathook" and "no tool" in each.message]
    assert "hook 'block_rm' (" in warning
    assert "'weather'. The agent's tools are: bash" in warning


def test_hooks_run_once_for_a_tool_that_is_guarded_by_the_same_hooks(adapter: Adapter) -> None:
    # These make calls themselves, between two callbacks: nothing shows that the guarded function belongs to a call.
    if adapter.framework in ("claude-agent-sdk", "google-adk"):
        return
    for way in adapter.ways:
        stage = Stage(adapter, way, is_attached=True)
        stage.play((call_bash("ls"),), "done", tools=[stage.hooks.guard(tool) for tool in stage.tools])
        assert stage.ran == ["ls"]
        assert stage.list_events().count("pre-tool-call") == 1
        assert stage.list_events().count("post-tool-call") == 1
