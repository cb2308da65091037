"""What only pydantic-ai has: tools of the provider, other capabilities, typed outputs, approvals without a pause."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    RunContext,
    TextOutput,
    ToolFailed,
    ToolOutput,
    ToolReturn,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls, NativeTool
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset

from boathook import Hooks, Outcome, ToolContext
from boathook.bridges.pydantic_ai import Guarded
from boathook.errors import Blocked, BridgeError, Stopped
from tests.bridges.adapter import ASSISTANT, ASYNC, Call, Script
from tests.bridges.adapters.pydantic_ai import PydanticAI, make_model, read_messages
from tests.bridges.stage import Stage, call_bash

pytestmark = pytest.mark.bridge


@pytest.fixture
def hooks() -> Hooks:
    return Hooks()


def run_agent(script: Script, *capabilities: Any, prompt: Any = "go", **options: Any) -> Any:
    """Run an agent and return its result; `options` are those of the agent."""
    agent = Agent(make_model(script), capabilities=list(capabilities), **options)
    return asyncio.run(agent.run(prompt))


def find_result(script: Script, call_id: str = "call-1") -> str:
    return next(message.text for message in script.requests[-1] if message.call_id == call_id)


# What cannot be guarded


def test_nothing_of_a_capability_is_used_while_a_tool_runs_an_agent_that_does_not_have_it() -> None:
    """Why an agent without the bridge, in a tool function, is neither guarded nor refused."""
    used: dict[str, set[str]] = {"main": set(), "helper": set()}
    running, ran = ["main"], []

    class Spy(AbstractCapability[Any]):
        def __getattribute__(self, name: str) -> Any:
            used[running[0]].add(name)
            return super().__getattribute__(name)

    def bash(command: str) -> None:
        ran.append(command)

    helper = Agent(make_model(Script((call_bash("ls"),), "helped")), tools=[bash])

    async def ask_helper() -> str:
        running[0] = "helper"
        try:
            return (await helper.run("go")).output
        finally:
            running[0] = "main"

    run_agent(Script((Call("ask_helper"),), "done"), Spy(), tools=[ask_helper])
    assert ran == ["ls"]
    assert {"wrap_run", "wrap_tool_execute", "before_model_request"} <= used["main"]
    assert used["helper"] == set()


def test_a_tool_that_the_provider_runs_is_refused_when_the_bridge_is_attached(hooks: Hooks) -> None:
    with pytest.raises(BridgeError, match="pydantic-ai runs these tools where no hook can see them: web_search"):
        Agent(make_model(Script()), capabilities=[NativeTool(WebSearchTool()), Guarded(hooks)])
    Agent(make_model(Script()), capabilities=[NativeTool(WebSearchTool()), Guarded(hooks, allow_unguarded=True)])


def test_a_tool_of_the_provider_that_comes_with_the_run_is_refused_there(hooks: Hooks) -> None:
    agent = Agent(make_model(script := Script("done", "done")), capabilities=[Guarded(hooks)])
    with pytest.raises(BridgeError, match="web_search"):
        asyncio.run(agent.run("go", capabilities=[NativeTool(WebSearchTool())]))
    with pytest.raises(BridgeError, match="web_search"):
        asyncio.run(agent.run("go", capabilities=[NativeTool(lambda ctx: WebSearchTool())]))
    assert script.requests == []


def test_a_tool_that_is_carried_out_elsewhere_is_refused_in_the_run(hooks: Hooks) -> None:
    toolset = ExternalToolset([ToolDefinition(name="deploy", parameters_json_schema={"type": "object"})])
    options: dict[str, Any] = {"toolsets": [toolset], "output_type": [str, DeferredToolRequests]}
    with pytest.raises(BridgeError, match="no hook can see them: deploy"):
        run_agent(Script("done"), Guarded(hooks), **options)
    assert run_agent(Script("done"), Guarded(hooks, allow_unguarded=True), **options).output == "done"


# Other capabilities


class Rewriter(AbstractCapability[Any]):
    """A capability that changes the arguments just before a tool is called."""

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: dict[str, Any]
    ) -> dict[str, Any]:
        return {**args, "command": "rm -r build"}


def no_rm(context: ToolContext) -> Outcome | None:
    return Outcome.block("rm is not allowed here") if "rm" in context.args["command"] else None


@pytest.mark.parametrize("is_first", [True, False])
def test_hooks_look_at_what_another_capability_made_of_a_call(hooks: Hooks, is_first: bool) -> None:
    hooks.before_tool(no_rm)
    ran: list[str] = []

    def bash(command: str) -> str:
        ran.append(command)
        return "ran"

    capabilities = [Rewriter(), Guarded(hooks)] if is_first else [Guarded(hooks), Rewriter()]
    run_agent(script := Script((call_bash("ls"),), "done"), *capabilities, tools=[bash])
    assert ran == []
    assert "rm is not allowed here" in find_result(script)


class InPlaceRewriter(AbstractCapability[Any]):
    """A capability that changes the arguments of a call in the same dictionary."""

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: dict[str, Any]
    ) -> dict[str, Any]:
        args["command"] = "rm -r build"
        return args


def test_hooks_look_again_if_another_capability_changed_the_arguments_in_place(hooks: Hooks) -> None:
    hooks.before_tool(no_rm)
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    script = Script((call_bash("ls"),), "done")
    run_agent(script, Guarded(hooks), InPlaceRewriter(), tools=stage.tools)
    assert stage.ran == []
    assert "rm is not allowed here" in find_result(script)


class LookAlike(AbstractCapability[Any]):
    """A capability that puts another object with the same text in the place of an argument."""

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: dict[str, Any]
    ) -> dict[str, Any]:
        return {"path": str(args["path"])}


def test_hooks_look_again_if_another_capability_put_in_an_argument_that_looks_the_same(hooks: Hooks) -> None:
    seen: list[Any] = []
    hooks.before_tool(lambda context: seen.append(context.args["path"]))

    def read(path: Path) -> str:
        return f"read {path}"

    script = Script((Call("read", {"path": "notes.txt"}),), "done")
    run_agent(script, Guarded(hooks), LookAlike(), tools=[read])
    assert seen == [Path("notes.txt"), "notes.txt"]


# Output functions

OUTPUT_FORMS = {
    "function": lambda bash, other: bash,
    "list": lambda bash, other: [bash, other],
    "tool": lambda bash, other: ToolOutput(bash, name="bash"),
    "text": lambda bash, other: TextOutput(bash),
}


def run_output_function(
    form: str, *capabilities: Any, command: str = "rm -r build"
) -> tuple[list[str], list[str], Any]:
    """Run an agent whose output is made by a function; return the commands that ran, what the model read, and the output."""
    ran: list[str] = []
    read: list[str] = []

    def bash(command: str) -> str:
        ran.append(command)
        return f"ran {command}"

    def other(number: int) -> int:
        return number

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        read[:] = [message.text for message in read_messages(messages)[1:] if message.role != ASSISTANT]
        text = "ls" if read else command
        if form == "text":
            return ModelResponse(parts=[TextPart(text)])
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"command": text}, f"o{len(read)}")])

    output_type: Any = OUTPUT_FORMS[form](bash, other)
    agent: Any = Agent(FunctionModel(reply), output_type=output_type, capabilities=list(capabilities))
    return ran, read, asyncio.run(agent.run("go")).output


@pytest.mark.parametrize("form", OUTPUT_FORMS)
def test_a_function_that_makes_the_output_has_hooks_and_the_model_reads_why_it_was_blocked(
    hooks: Hooks, form: str
) -> None:
    hooks.before_tool(match="bash")(no_rm)
    ran, read, output = run_output_function(form, Guarded(hooks))
    assert (ran, output) == (["ls"], "ran ls")
    assert "rm is not allowed here" in read[0]


@pytest.mark.parametrize("form", OUTPUT_FORMS)
def test_hooks_change_the_arguments_and_the_result_of_an_output_function(hooks: Hooks, form: str) -> None:
    hooks.before_tool(lambda context: context.replace(args={"command": "git status"}))
    hooks.after_tool(lambda context: context.replace(result=context.result.upper()))
    assert run_output_function(form, Guarded(hooks)) == (["git status"], [], "RAN GIT STATUS")


def test_an_output_function_with_several_arguments_has_hooks(hooks: Hooks) -> None:
    seen: list[Any] = []
    hooks.before_tool(lambda context: seen.append((context.name, dict(context.args))))

    def move(ctx: RunContext[None], source: str, target: str) -> str:
        return f"{source} is {target} now"

    reply = ModelResponse(parts=[ToolCallPart("final_result", {"source": "a", "target": "b"}, "o1")])
    agent = Agent(FunctionModel(lambda messages, info: reply), output_type=move, capabilities=[Guarded(hooks)])
    assert asyncio.run(agent.run("go")).output == "a is b now"
    assert seen == [("move", {"source": "a", "target": "b"})]


class OutputRewriter(AbstractCapability[Any]):
    """A capability that changes the argument of an output function."""

    async def before_output_process(self, ctx: RunContext[Any], *, output_context: Any, output: Any) -> Any:
        return "rm -r dist"


def test_hooks_look_again_if_another_capability_changed_what_an_output_function_gets(hooks: Hooks) -> None:
    hooks.before_tool(no_rm)
    with pytest.raises(UnexpectedModelBehavior):
        run_output_function("function", Guarded(hooks), OutputRewriter(), command="ls")


def test_a_question_about_an_output_function_is_a_block(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("sure?") if "rm" in context.args["command"] else None)
    ran, read, _ = run_output_function("function", Guarded(hooks))
    assert ran == ["ls"]
    assert "sure?" in read[0]


def test_a_question_is_answered_at_once_by_a_capability_that_answers_them(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("sure?"))
    counted: list[str] = []
    hooks.before_tool(lambda context: counted.append(context.name))

    def answer(ctx: RunContext[Any], requests: DeferredToolRequests) -> DeferredToolResults:
        assert requests.metadata["call-1"]["reason"] == "sure?"
        return requests.build_results(approve_all=True)

    stage = Stage(PydanticAI(), "sync", is_attached=True)
    script = Script((call_bash("ls"),), "done")
    run_agent(script, HandleDeferredToolCalls(answer), Guarded(hooks), tools=stage.tools)
    assert (stage.ran, counted) == (["ls"], ["bash"])


# Approvals


def test_a_question_is_a_block_if_the_agent_cannot_end_with_approvals(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("pushes go to everybody"))
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    run_agent(script := Script((call_bash("git push"),), "done"), Guarded(hooks), tools=stage.tools)
    assert stage.ran == []
    assert "pushes go to everybody" in find_result(script)


def test_a_callable_that_answers_questions_is_asked_before_the_framework(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("sure?"))
    hooks.on_ask(lambda context, reason: True)
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    run_agent(Script((call_bash("git push"),), "done"), Guarded(hooks), tools=stage.tools)
    assert stage.ran == ["git push"]


def pause(hooks: Hooks, stage: Stage) -> tuple[Agent[None, Any], Any]:
    """Run an agent until it waits for an approval."""
    script = Script((call_bash("git push"),), "done")
    agent: Agent[None, Any] = Agent(
        make_model(script), tools=stage.tools, output_type=[str, DeferredToolRequests], capabilities=[Guarded(hooks)]
    )
    return agent, asyncio.run(agent.run("go"))


def test_a_run_that_another_process_began_goes_on_and_the_person_is_not_asked_again(hooks: Hooks) -> None:
    for each in (hooks, other := Hooks()):
        each.before_tool(lambda context: Outcome.ask("sure?"))
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    _, first = pause(hooks, stage)
    # The other process has hooks of its own, which know nothing of the run.
    agent, _ = pause(other, stage)
    results = DeferredToolResults(approvals={"call-1": True})
    last = asyncio.run(agent.run(message_history=first.all_messages(), deferred_tool_results=results))
    assert (last.output, stage.ran) == ("done", ["git push"])


@pytest.mark.parametrize("is_parallel", [True, False])
def test_an_approval_counts_once(hooks: Hooks, is_parallel: bool) -> None:
    hooks.before_tool(lambda context: Outcome.ask("sure?"))
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    script = Script((call_bash("git push"),), "done", "done again")
    agent: Agent[None, Any] = Agent(
        make_model(script), tools=stage.tools, output_type=[str, DeferredToolRequests], capabilities=[Guarded(hooks)]
    )

    async def resume(messages: list[ModelMessage]) -> None:
        results = DeferredToolResults(approvals={"call-1": True})
        await agent.run(message_history=messages, deferred_tool_results=results)

    async def run_all() -> None:
        paused = (await agent.run("go")).all_messages()
        if is_parallel:
            await asyncio.gather(resume(paused), resume(paused))
        else:
            await resume(paused)
            await resume(paused)

    asyncio.run(run_all())
    assert stage.ran == ["git push"]
    read = [message.text for request in script.requests for message in request]
    assert any("it counts once" in text for text in read)


def test_an_approval_counts_once_if_two_agents_go_on_with_it(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: Outcome.ask("sure?"))
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    agent, paused = pause(hooks, stage)
    other, _ = pause(hooks, stage)
    results = DeferredToolResults(approvals={"call-1": True})
    for each in (agent, other):
        asyncio.run(each.run(message_history=paused.all_messages(), deferred_tool_results=results))
    assert stage.ran == ["git push"]


def test_an_agent_with_other_names_does_not_go_on_with_the_run_of_another_one(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []

    @hooks.before_tool
    def ask(context: ToolContext) -> Outcome:
        asked.append(name := context.naming.tool if context.naming is not None else "")
        return Outcome.ask(f"may {name} run?")

    stage = Stage(PydanticAI(), "sync", is_attached=True)
    moves = (call_bash("git push"),), "done"
    options: dict[str, Any] = {"tools": stage.tools, "output_type": [str, DeferredToolRequests]}
    lax, strict = (
        Agent(make_model(Script(*each)), capabilities=[Guarded(hooks, names={"bash": name})], **options)
        for each, name in ((moves, "Shell"), (("done",), "ReadFile"))
    )
    first = asyncio.run(lax.run("go"))
    answer = DeferredToolResults(approvals={"call-1": True})
    second = asyncio.run(strict.run(message_history=first.all_messages(), deferred_tool_results=answer))
    assert second.output.metadata["call-1"]["reason"] == "may ReadFile run?"
    assert (asked, stage.ran) == (["Shell", "ReadFile"], [])
    assert "does not count" in caplog.text
    last = asyncio.run(strict.run(message_history=second.all_messages(), deferred_tool_results=answer))
    assert (last.output, stage.ran) == ("done", ["git push"])


def test_hooks_see_the_dependencies_of_the_request_that_goes_on(hooks: Hooks) -> None:
    seen: list[str] = []
    hooks.before_tool(lambda context: Outcome.ask("sure?"))
    hooks.after_tool(lambda context: seen.append(context.state.deps))
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    agent: Agent[str, Any] = Agent(
        make_model(Script((call_bash("git push"),), "done")),
        deps_type=str,
        tools=stage.tools,
        output_type=[str, DeferredToolRequests],
        capabilities=[Guarded(hooks)],
    )
    paused = asyncio.run(agent.run("go", deps="first request")).all_messages()
    results = DeferredToolResults(approvals={"call-1": True})
    asyncio.run(agent.run(message_history=paused, deferred_tool_results=results, deps="second request"))
    assert seen == ["second request"]


def fetch(where: str) -> str:
    raise CallDeferred


def fetch_elsewhere(hooks: Hooks, result: Any, **options: Any) -> tuple[Script, Any]:
    """Run an agent with a tool whose result comes later; return the script and the last result."""
    script = Script((Call("fetch", {"where": "home"}),), "done")
    options = {"tools": [fetch], "output_type": [str, DeferredToolRequests], **options}
    agent: Agent[None, Any] = Agent(make_model(script), capabilities=[Guarded(hooks)], **options)
    first = asyncio.run(agent.run("go"))
    results = DeferredToolResults(calls={"call-1": result})
    return script, asyncio.run(agent.run(message_history=first.all_messages(), deferred_tool_results=results))


@pytest.mark.parametrize("result", ["hunter2", {"key": "hunter2"}, ToolReturn("hunter2", content="hunter2")])
@pytest.mark.parametrize("is_asked", [True, False])
def test_hooks_see_the_result_of_a_call_that_a_tool_deferred(hooks: Hooks, result: Any, is_asked: bool) -> None:
    seen: list[Any] = []

    @hooks.after_tool
    def redact(context: ToolContext) -> Any:
        seen.append((context.name, dict(context.args)))
        return context.replace(result="***")

    if is_asked:
        hooks.before_tool(lambda context: Outcome.ask("sure?"))
        script = Script((Call("fetch", {"where": "home"}),), "done")
        output = [str, DeferredToolRequests]
        agent: Agent[None, Any] = Agent(
            make_model(script), tools=[fetch], output_type=output, capabilities=[Guarded(hooks)]
        )
        last = asyncio.run(agent.run("go"))
        for results in (
            DeferredToolResults(approvals={"call-1": True}),
            DeferredToolResults(calls={"call-1": result}),
        ):
            last = asyncio.run(agent.run(message_history=last.all_messages(), deferred_tool_results=results))
    else:
        script, last = fetch_elsewhere(hooks, result)
    assert (last.output, find_result(script)) == ("done", "***")
    assert "hunter2" not in str(last.all_messages())
    assert seen == [("fetch", {"where": "home"})]


@pytest.mark.parametrize("result", [ToolFailed("no network"), ModelRetry("no network")], ids=["failed", "retry"])
def test_hooks_see_the_failure_of_a_call_that_a_tool_deferred(hooks: Hooks, result: Any) -> None:
    errors: list[str] = []
    hooks.add("post-tool-call-failure", lambda context: errors.append(str(context.error)))
    script, _ = fetch_elsewhere(hooks, result)
    assert "no network" in find_result(script)
    assert errors == ["no network"]


def test_the_model_reads_the_objection_to_the_result_of_a_call_that_a_tool_deferred(hooks: Hooks) -> None:
    hooks.after_tool(lambda context: Outcome.block("too old"))
    script, _ = fetch_elsewhere(hooks, "news")
    assert "too old" in find_result(script)


@pytest.mark.parametrize("is_first", [True, False])
def test_hooks_see_the_result_that_another_capability_brings_for_a_deferred_call(hooks: Hooks, is_first: bool) -> None:
    async def bring(ctx: Any, requests: DeferredToolRequests) -> DeferredToolResults:
        return requests.build_results(calls={call.tool_call_id: "hunter2" for call in requests.calls})

    hooks.after_tool(lambda context: context.replace(result="***"))
    capabilities = [Guarded(hooks), HandleDeferredToolCalls(handler=bring)]
    script = Script((Call("fetch", {"where": "home"}),), "done")
    result = run_agent(script, *(capabilities if is_first else reversed(capabilities)), tools=[fetch])
    assert find_result(script) == "***"
    assert "hunter2" not in str(result.all_messages())


def test_a_result_for_a_call_that_the_model_did_not_make_is_refused(hooks: Hooks) -> None:
    agent: Agent[None, Any] = Agent(make_model(Script("done")), tools=[fetch], capabilities=[Guarded(hooks)])
    history = [ModelRequest([UserPromptPart("go")]), ModelResponse([ToolCallPart("fetch", {"where": "home"}, "1")])]
    with pytest.raises(UserError):
        asyncio.run(
            agent.run(message_history=history, deferred_tool_results=DeferredToolResults(calls={"2": "hunter2"}))
        )


def test_an_answer_with_other_arguments_is_seen_by_the_hooks(hooks: Hooks) -> None:
    from pydantic_ai.tools import ToolApproved

    hooks.before_tool(no_rm)
    hooks.before_tool(lambda context: Outcome.ask("sure?") if "push" in context.args["command"] else None)
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    agent, paused = pause(hooks, stage)
    results = DeferredToolResults(approvals={"call-1": ToolApproved(override_args={"command": "rm -r build"})})
    asyncio.run(agent.run(message_history=paused.all_messages(), deferred_tool_results=results))
    assert stage.ran == []


def test_a_tool_that_needs_approval_itself_and_a_hook_that_asks_are_two_questions(hooks: Hooks) -> None:
    from pydantic_ai import Tool

    hooks.before_tool(lambda context: Outcome.ask("the hook asks, too"))
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    script = Script((call_bash("git push"),), "done")
    tools = [Tool(tool, requires_approval=True) for tool in stage.tools]
    agent: Agent[None, Any] = Agent(
        make_model(script), tools=tools, output_type=[str, DeferredToolRequests], capabilities=[Guarded(hooks)]
    )
    result = asyncio.run(agent.run("go"))
    reasons = []
    while isinstance(result.output, DeferredToolRequests):
        reasons.append(result.output.metadata.get("call-1", {}).get("reason", ""))
        results = result.output.build_results(approve_all=True)
        result = asyncio.run(agent.run(message_history=result.all_messages(), deferred_tool_results=results))
    assert reasons == ["", "the hook asks, too"]
    assert stage.ran == ["git push"]


def test_an_approval_that_the_tool_wanted_does_not_count_for_the_next_call(hooks: Hooks) -> None:
    ran: list[str] = []
    hooks.before_tool(lambda context: Outcome.ask("once more?") if ran else None)

    def deploy(context: RunContext[None], target: str) -> str:
        if not context.tool_call_approved:
            raise ApprovalRequired
        ran.append(target)
        return "deployed"

    calls = [(Call("deploy", {"target": "prod"}, call_id),) for call_id in ("call-1", "call-2")]
    agent: Agent[None, Any] = Agent(
        make_model(Script(*calls, "done")),
        tools=[deploy],
        output_type=[str, DeferredToolRequests],
        capabilities=[Guarded(hooks)],
    )
    first = asyncio.run(agent.run("go"))
    results = first.output.build_results(approve_all=True)
    second = asyncio.run(agent.run(message_history=first.all_messages(), deferred_tool_results=results))
    assert [each["reason"] for each in second.output.metadata.values()] == ["once more?"]
    assert ran == ["prod"]


# Arguments and results


class Point(BaseModel):
    x: int
    y: int


def test_arguments_that_are_objects_stay_objects_and_new_ones_are_made(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: context.replace(args={**context.args, "end": {"x": 5, "y": 6}}))
    seen: list[Any] = []

    def draw(start: Point, end: Point) -> str:
        seen.extend((start, end))
        return "drawn"

    call = Call("draw", {"start": {"x": 1, "y": 2}, "end": {"x": 3, "y": 4}})
    run_agent(Script((call,), "done"), Guarded(hooks), tools=[draw])
    assert seen == [Point(x=1, y=2), Point(x=5, y=6)]


class NewFile(BaseModel):
    path: str
    content: str


def no_etc(context: ToolContext) -> Outcome | None:
    paths = [write.path for write in context.writes]
    return Outcome.block(f"not there: {paths[0]}") if paths and paths[0].startswith("/etc/") else None


def test_hooks_see_the_fields_of_a_tool_that_takes_one_object(hooks: Hooks) -> None:
    hooks.before_tool(match="WriteFile")(no_etc)
    ran: list[NewFile] = []

    def write_file(file: NewFile) -> str:
        ran.append(file)
        return "written"

    calls = [Call("write_file", {"path": path, "content": "x"}, path) for path in ("/etc/x", "notes.txt")]
    run_agent(script := Script(tuple(calls), "done"), Guarded(hooks), tools=[write_file])
    assert ran == [NewFile(path="notes.txt", content="x")]
    assert "not there: /etc/x" in find_result(script, "/etc/x")


def test_a_hook_changes_a_field_of_the_one_object_that_a_tool_takes(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: context.replace(args={**context.args, "path": "safe.txt"}))
    ran: list[NewFile] = []

    def write_file(file: NewFile) -> str:
        ran.append(file)
        return "written"

    run_agent(
        Script((Call("write_file", {"path": "/etc/x", "content": "x"}),), "done"), Guarded(hooks), tools=[write_file]
    )
    assert ran == [NewFile(path="safe.txt", content="x")]


def test_hooks_see_the_fields_of_the_one_object_that_an_output_function_takes(hooks: Hooks) -> None:
    hooks.before_tool(match="WriteFile")(no_etc)
    ran: list[NewFile] = []

    def write_file(file: NewFile) -> str:
        ran.append(file)
        return "written"

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        path = "/etc/x" if len(messages) == 1 else "notes.txt"
        return ModelResponse(parts=[ToolCallPart("final_result", {"path": path, "content": "x"}, path)])

    agent = Agent(FunctionModel(reply), output_type=write_file, capabilities=[Guarded(hooks)])
    assert asyncio.run(agent.run("go")).output == "written"
    assert ran == [NewFile(path="notes.txt", content="x")]


def test_arguments_of_a_hook_that_the_tool_does_not_take_are_a_failed_call(hooks: Hooks) -> None:
    hooks.before_tool(lambda context: context.replace(args={"command": 5}))
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    run_agent(script := Script((call_bash("ls"),), "done"), Guarded(hooks), tools=stage.tools)
    assert stage.ran == []
    assert "a hook changed the arguments of bash" in find_result(script)


def test_a_result_that_is_not_text_stays_what_it_is_and_the_objection_is_context(hooks: Hooks) -> None:
    hooks.after_tool(lambda context: Outcome.block("too many"))

    def count() -> dict[str, int]:
        return {"files": 3}

    run_agent(script := Script((Call("count"),), "done"), Guarded(hooks), tools=[count])
    assert find_result(script) == '{"files":3}'
    assert script.requests[-1][-1].text == "too many"


def test_a_tool_that_wants_another_try_is_a_failure_for_hooks_and_a_retry_for_the_model(hooks: Hooks) -> None:
    failures: list[str] = []
    hooks.tool_failed(lambda context: failures.append(type(context.error).__name__))

    def bash(command: str) -> str:
        raise ModelRetry("say it in another way")

    run_agent(script := Script((call_bash("ls"),), "done"), Guarded(hooks), tools=[bash])
    assert failures == ["ToolRetryError"]
    assert "say it in another way" in find_result(script)


# Prompts and outputs


def test_a_hook_can_change_the_prompt(hooks: Hooks) -> None:
    hooks.turn_start(lambda context: context.replace(prompt=context.prompt.replace("hunter2", "***")))
    run_agent(script := Script("done"), Guarded(hooks), prompt="log in with hunter2")
    assert [message.text for message in script.requests[0]] == ["log in with ***"]


@pytest.mark.parametrize("way", ["run", "run_stream_events", "iter"])
def test_a_prompt_at_the_end_of_the_history_is_a_prompt(hooks: Hooks, way: str) -> None:
    """The adapters for frontends give the agent all messages as its history, and no prompt."""
    events: list[str] = []
    for name in ("pre-session", "post-session"):
        hooks.on(name)(lambda context: events.append(context.event))
    hooks.turn_start(lambda context: Outcome.block("there is a key") if "sk-" in context.prompt else None)
    agent = Agent(make_model(script := Script("done")), capabilities=[Guarded(hooks)])
    old = [ModelRequest(parts=[UserPromptPart("hi")]), ModelResponse(parts=[TextPart("hello")])]
    history = [*old, ModelRequest(parts=[UserPromptPart("use sk-1")]), ModelRequest(parts=[UserPromptPart("please")])]

    async def run() -> None:
        if way == "run":
            await agent.run(message_history=history)
        elif way == "iter":
            async with agent.iter(message_history=history) as nodes:
                async for _ in nodes:
                    pass
        else:
            async with agent.run_stream_events(message_history=history) as stream:
                async for _ in stream:
                    pass

    with pytest.raises(Blocked, match="there is a key"):
        asyncio.run(run())
    assert script.requests == []
    assert events == ["pre-session", "post-session"]


def test_a_hook_can_change_a_prompt_at_the_end_of_the_history(hooks: Hooks) -> None:
    hooks.turn_start(lambda context: context.replace(prompt=context.prompt.replace("hunter2", "***")))
    agent = Agent(make_model(script := Script("done")), capabilities=[Guarded(hooks)])
    history = [ModelRequest(parts=[UserPromptPart("log in with hunter2")])]
    asyncio.run(agent.run(message_history=history))
    assert [message.text for message in script.requests[0]] == ["log in with ***"]
    assert history[0].parts[0].content == "log in with hunter2"


def test_a_history_that_ends_with_results_goes_on_without_a_new_turn(hooks: Hooks) -> None:
    prompts: list[str] = []
    hooks.turn_start(lambda context: prompts.append(context.prompt))
    agent = Agent(make_model(Script("done")), capabilities=[Guarded(hooks)])
    call = ModelResponse(parts=[ToolCallPart("bash", {"command": "ls"}, "c1")])
    result = ModelRequest(parts=[ToolReturnPart("bash", "ran", "c1")])
    asyncio.run(agent.run(message_history=[ModelRequest(parts=[UserPromptPart("go")]), call, result]))
    assert prompts == []


def test_the_session_ends_although_a_hook_fails_at_the_end_of_the_turn(hooks: Hooks) -> None:
    ended: list[str] = []
    hooks.turn_end(lambda context: 1 / 0)
    hooks.session_end(lambda context: ended.append(context.event))
    with pytest.raises(ZeroDivisionError):
        run_agent(Script("done"), Guarded(hooks))
    assert ended == ["post-session"]


def test_the_texts_of_a_prompt_with_images_are_what_hooks_see(hooks: Hooks) -> None:
    from pydantic_ai import BinaryContent

    prompts: list[str] = []
    hooks.turn_start(lambda context: prompts.append(context.prompt))
    run_agent(
        Script("done"), Guarded(hooks), prompt=["what is", BinaryContent(b"\x89PNG", media_type="image/png"), "this?"]
    )
    assert prompts == ["what is\nthis?"]


def test_images_stay_in_a_prompt_that_a_hook_changes(hooks: Hooks) -> None:
    from pydantic_ai import BinaryContent

    seen: list[Any] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(messages[0].parts[0].content)
        return ModelResponse(parts=[TextPart("done")])

    hooks.turn_start(lambda context: context.replace(prompt="who is this?"))
    image = BinaryContent(b"\x89PNG", media_type="image/png")
    agent = Agent(FunctionModel(reply), capabilities=[Guarded(hooks)])
    asyncio.run(agent.run(["what is", image, "this?"]))
    assert seen == ["who is this?", image]


def test_a_blocked_prompt_leaves_the_run_as_an_error(hooks: Hooks) -> None:
    hooks.turn_start(lambda context: Outcome.block("there is a key in it"))
    with pytest.raises(Blocked, match="there is a key in it"):
        run_agent(Script("done"), Guarded(hooks))


def test_an_agent_with_a_typed_output_is_sent_back_to_work_as_well(hooks: Hooks) -> None:
    hooks.before_stop(max_rounds=1)(lambda context: Outcome.block("look again"))

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        number = sum(message.role == "user" for message in read_messages(messages))
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"x": number, "y": 0}, f"o{number}")])

    agent = Agent(FunctionModel(reply), output_type=Point, capabilities=[Guarded(hooks)])
    assert asyncio.run(agent.run("go")).output == Point(x=2, y=0)


def test_a_run_that_is_driven_by_hand_has_its_hooks(hooks: Hooks) -> None:
    hooks.before_tool(no_rm)
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    script = Script((call_bash("rm -r build"),), "done")

    async def drive() -> None:
        agent = Agent(make_model(script), tools=stage.tools, capabilities=[Guarded(hooks)])
        async with agent.iter("go") as run:
            async for _ in run:
                pass

    asyncio.run(drive())
    assert stage.ran == []
    assert "rm is not allowed here" in find_result(script)


def test_a_streamed_run_of_a_plain_program_has_its_hooks(hooks: Hooks) -> None:
    hooks.before_tool(no_rm)
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    script = Script((call_bash("rm -r build"),), "all done")
    agent = Agent(make_model(script), tools=stage.tools, capabilities=[Guarded(hooks)])
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    with agent.run_stream_sync("go") as result:
        assert "".join(result.stream_text(delta=True, debounce_by=None)) == "all done"
    loop.close()
    assert stage.ran == []


# Sessions and subagents


def test_two_runs_of_a_conversation_have_the_same_session_id(hooks: Hooks) -> None:
    sessions: list[str] = []
    hooks.session_start(lambda context: sessions.append(context.session_id))
    agent = Agent(make_model(Script("one", "two")), capabilities=[Guarded(hooks)])
    first = asyncio.run(agent.run("go"))
    asyncio.run(agent.run("go on", message_history=first.all_messages()))
    assert len(sessions) == 2
    assert len(set(sessions)) == 1


def test_an_agent_within_a_tool_is_a_subagent_with_its_own_stop(hooks: Hooks) -> None:
    events: list[str] = []
    for name in ("pre-subagent", "post-subagent", "pre-agent-turn", "pre-agent-turn-stop"):
        hooks.on(name)(lambda context: events.append(context.event))
    helper = Agent(make_model(Script("helped")), name="helper", capabilities=[Guarded(hooks)])

    async def ask_helper(task: str) -> str:
        return (await helper.run(task)).output

    run_agent(Script((Call("ask_helper", {"task": "clean up"}),), "done"), Guarded(hooks), tools=[ask_helper])
    assert events == ["pre-agent-turn", "pre-subagent", "post-subagent", "pre-agent-turn-stop"]


def test_a_subagent_with_hooks_of_its_own_has_them_in_the_same_session(hooks: Hooks) -> None:
    other, sessions = Hooks(), set[str]()
    other.before_tool(no_rm)
    for each in (hooks, other):
        each.before_tool(lambda context: sessions.add(context.session_id))
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    script = Script((call_bash("rm -r build"),), "helped")
    helper = Agent(make_model(script), name="helper", tools=stage.tools, capabilities=[Guarded(other)])

    async def ask_helper(task: str) -> str:
        return (await helper.run(task)).output

    run_agent(Script((Call("ask_helper", {"task": "clean up"}),), "done"), Guarded(hooks), tools=[ask_helper])
    assert stage.ran == []
    assert len(sessions) == 1


def test_a_subagent_that_waits_for_an_approval_goes_on_in_the_next_run_of_its_caller(hooks: Hooks) -> None:
    hooks.before_tool(match="bash")(lambda context: Outcome.ask("sure?"))
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    options: dict[str, Any] = {"output_type": [str, DeferredToolRequests], "capabilities": [Guarded(hooks)]}
    helper: Agent[None, Any] = Agent(
        make_model(Script((call_bash("ls", "h"),), "helped")), name="helper", tools=stage.tools, **options
    )
    waiting: list[Any] = []

    async def ask_helper(task: str) -> str:
        if not waiting:
            waiting.append(await helper.run(task))
            return "it waits"
        results = DeferredToolResults(approvals={"h": True})
        history = waiting[0].all_messages()
        return str((await helper.run(message_history=history, deferred_tool_results=results)).output)

    for result, commands in (("it waits", []), ("helped", ["ls"])):
        script = Script((Call("ask_helper", {"task": "help"}),), "done")
        run_agent(script, Guarded(hooks), tools=[ask_helper])
        assert (find_result(script), stage.ran) == (result, commands)


def test_the_model_of_the_caller_reads_why_a_subagent_was_blocked(hooks: Hooks) -> None:
    hooks.subagent_start(lambda context: Outcome.block("no help today"))
    helper = Agent(make_model(Script()), name="helper", capabilities=[Guarded(hooks)])

    async def ask_helper(task: str) -> str:
        return (await helper.run(task)).output

    script = Script((Call("ask_helper", {"task": "clean up"}),), "done")
    assert run_agent(script, Guarded(hooks), tools=[ask_helper]).output == "done"
    assert "no help today" in find_result(script)


def test_steps_are_events_and_a_hook_can_end_the_run_there(hooks: Hooks) -> None:
    steps: list[tuple[str, int]] = []
    for event in ("pre-step", "post-step"):
        hooks.on(event)(lambda context: steps.append((context.event, context.index)))
    hooks.before_step(lambda context: Outcome.stop("that is enough") if context.index == 1 else None)
    stage = Stage(PydanticAI(), "sync", is_attached=True)
    with pytest.raises(Stopped, match="that is enough"):
        run_agent(Script((call_bash("ls"),), "done"), Guarded(hooks), tools=stage.tools)
    assert steps == [("pre-step", 0), ("post-step", 0), ("pre-step", 1)]


def test_the_same_hooks_twice_are_refused(hooks: Hooks) -> None:
    agent = Agent(make_model(Script("done")), capabilities=[Guarded(hooks)])
    with pytest.raises(BridgeError, match="attached twice"):
        asyncio.run(agent.run("go", capabilities=[Guarded(hooks)]))


def test_the_class_in_place_of_an_instance_is_refused() -> None:
    agent: Agent[None, str] = Agent(TestModel(), capabilities=[Guarded])
    with pytest.raises(
        BridgeError, match=r"the class Guarded, not an instance of it\. Fix: capabilities=\[Guarded\(\)\]"
    ):
        asyncio.run(agent.run("go"))


def test_output_functions_are_listed_once_in_a_run(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[Any] = []

    def list_functions(output: Any) -> list[Any]:
        listed.append(output)
        return []

    monkeypatch.setattr("boathook.bridges.pydantic_ai._list_functions", list_functions)
    stage = Stage(PydanticAI(), ASYNC, is_attached=True)
    agent = stage.build(Script((call_bash("ls", "a"),), (call_bash("ls", "b"),), "done", "done"))
    stage.run(agent, "go")
    assert (len(stage.requests), len(listed)) == (3, 1)
    stage.run(agent, "go")
    assert (len(stage.requests), len(listed)) == (4, 2)
