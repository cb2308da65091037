"""pydantic-ai for the contract. The model is a FunctionModel; approvals are its deferred tools."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.messages import (
    AgentStreamEvent,
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.run import AgentRunResultEvent

from tests.bridges.adapter import (
    ASSISTANT,
    OWN_BRIDGE,
    STREAM,
    SYSTEM,
    TOOL,
    USER,
    Adapter,
    AgentPlan,
    Answers,
    Approval,
    Call,
    Cannot,
    Message,
    Ran,
    Script,
)


def read_messages(messages: list[ModelMessage]) -> list[Message]:
    """Return what the model reads, in the words of the contract."""
    read: list[Message] = []
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, UserPromptPart):
            content = part.content if isinstance(part.content, str) else " ".join(map(str, part.content))
            read.append(Message(USER, content))
        elif isinstance(part, SystemPromptPart):
            read.append(Message(SYSTEM, part.content))
        elif isinstance(part, ToolReturnPart | RetryPromptPart):
            text = part.model_response_str() if isinstance(part, ToolReturnPart) else part.model_response()
            read.append(Message(TOOL, text, part.tool_call_id))
        elif isinstance(part, TextPart):
            read.append(Message(ASSISTANT, part.content))
    return read


def make_model(script: Script) -> FunctionModel:
    async def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await script.wait()
        move = script.next_move(read_messages(messages))
        if isinstance(move, str):
            return ModelResponse(parts=[TextPart(move)])
        return ModelResponse(parts=[ToolCallPart(call.tool, dict(call.args), call.id) for call in move])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        await script.wait()
        move = script.next_move(read_messages(messages))
        if isinstance(move, str):
            for word in move.split(" "):
                yield word if move.startswith(word) else f" {word}"
            return
        for at, call in enumerate(move):
            yield {at: DeltaToolCall(call.tool, json.dumps(dict(call.args)), tool_call_id=call.id)}

    return FunctionModel(reply, stream_function=stream)


def read_event(event: AgentStreamEvent) -> str:
    """Return the text that an event adds to the answer."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


class IdleCapability(AbstractCapability[Any]):
    """Does nothing in any method that the bridge has."""

    def get_ordering(self) -> CapabilityOrdering:
        return CapabilityOrdering(position="innermost")

    async def for_run(self, ctx: Any) -> Any:
        return copy.copy(self)

    async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
        return await handler()

    async def before_node_run(self, ctx: Any, *, node: Any) -> Any:
        return node

    async def after_node_run(self, ctx: Any, *, node: Any, result: Any) -> Any:
        return result

    async def prepare_tools(self, ctx: Any, tool_defs: Any) -> Any:
        return tool_defs

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        return request_context

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        return await handler(args)

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        return args

    async def wrap_output_process(self, ctx: Any, *, output_context: Any, output: Any, handler: Any) -> Any:
        return await handler(output)

    async def before_output_process(self, ctx: Any, *, output_context: Any, output: Any) -> Any:
        return output


class PydanticAI(Adapter):
    name = framework = "pydantic-ai"
    distributions = ("pydantic-ai-slim",)
    notes: ClassVar[Mapping[str, str]] = {"delegation": OWN_BRIDGE}
    delegations: ClassVar[Mapping[str, Call]] = {"an agent in a tool": Call("ask_helper", {"task": "clean up"})}
    bare_helpers: ClassVar[Mapping[str, Any]] = {"an agent in a tool": "not seen"}

    def build(self, plan: AgentPlan, options: Mapping[str, Any] | None) -> Agent[None, Any]:
        tools = [*plan.tools]
        if plan.helper is not None:
            helper = self.build(plan.helper, plan.helper.choose_options(options))

            async def ask_helper(task: str) -> str:
                """Let the helper do a task."""
                return str((await helper.run(task)).output)

            tools.append(ask_helper)
        return self.make_agent(plan, tools, [] if options is None else [self.make_bridge(options)])

    def build_idle(self, plan: AgentPlan) -> Agent[None, Any]:
        return self.make_agent(plan, plan.tools, [IdleCapability()])

    @staticmethod
    def make_agent(plan: AgentPlan, tools: Sequence[Any], capabilities: Sequence[Any]) -> Agent[None, Any]:
        return Agent(
            make_model(plan.script),
            name=plan.name,
            tools=tools,
            output_type=[str, DeferredToolRequests],
            capabilities=capabilities,
        )

    def make_bridge(self, options: Mapping[str, Any]) -> Any:
        from boathook.bridges.pydantic_ai import Guarded

        return Guarded(**options)

    def run(self, agent: Agent[None, Any], prompt: str | Answers) -> Ran:
        return self.read_result(agent.run_sync(**self.make_input(prompt)))

    async def run_async(self, agent: Agent[None, Any], prompt: str | Answers) -> Ran:
        return self.read_result(await agent.run(**self.make_input(prompt)))

    async def run_stream(self, agent: Agent[None, Any], prompt: str | Answers) -> Ran:
        parts: list[str] = []
        async with agent.run_stream_events(**self.make_input(prompt)) as events:
            async for event in events:
                if isinstance(event, AgentRunResultEvent):
                    return self.read_result(event.result, parts)
                parts.append(read_event(event))
        raise AssertionError("the stream has no result")

    @staticmethod
    def make_input(prompt: str | Answers) -> dict[str, Any]:
        if isinstance(prompt, str):
            return {"user_prompt": prompt}
        results = DeferredToolResults(approvals=dict(prompt.by_call))
        return {"message_history": prompt.ran.state, "deferred_tool_results": results}

    def read_result(self, result: Any, parts: list[str] | None = None) -> Ran:
        return self.read_output(result.output, result.all_messages(), parts)

    @staticmethod
    def read_output(output: Any, messages: list[ModelMessage], parts: list[str] | None = None) -> Ran:
        said = [part for part in parts or () if part]
        if not isinstance(output, DeferredToolRequests):
            return Ran(output, said)
        approvals = [
            Approval(
                call.tool_call_id,
                call.tool_name,
                call.args_as_dict(),
                str(output.metadata.get(call.tool_call_id, {}).get("reason", "")),
            )
            for call in output.approvals
        ]
        return Ran(None, said, approvals, messages)


class RunStream(PydanticAI):
    """`Agent.run_stream`, which hands out the answer before the run has ended."""

    name = "pydantic-ai run_stream"
    ways = (STREAM,)
    cannot: ClassVar[Mapping[str | tuple[str, str], Cannot]] = {
        "stop gate": Cannot(
            "`run_stream` has handed out the answer when hooks are asked",
            "the run raises",
            "run_stream",
        )
    }

    async def run_stream(self, agent: Agent[None, Any], prompt: str | Answers) -> Ran:
        async with agent.run_stream(**self.make_input(prompt)) as result:
            if result.response.tool_calls:
                # It ended with approvals: there is no answer to stream.
                return self.read_output(await result.get_output(), result.all_messages())
            parts = [text async for text in result.stream_text(delta=True, debounce_by=None)]
            return Ran(await result.get_output(), parts)


ADAPTERS = [PydanticAI(), RunStream()]
