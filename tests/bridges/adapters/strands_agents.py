"""strands for the contract. The model is a Model with a script; approvals are interrupts."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from strands import Agent, tool
from strands.hooks import (
    AfterInvocationEvent,
    AfterToolsEvent,
    AgentInitializedEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
    BeforeToolCallEvent,
    HookProvider,
    HookRegistry,
)
from strands.middleware import ExecuteToolStage
from strands.models import Model

from tests.bridges.adapter import (
    AS_TOOL_REFUSED,
    ASSISTANT,
    TOOL,
    USER,
    Adapter,
    AgentPlan,
    Answers,
    Approval,
    Call,
    Message,
    Ran,
    Script,
)


def read_messages(messages: list[Any]) -> list[Message]:
    """Return what the model reads, in the words of the contract."""
    read: list[Message] = []
    for message in messages:
        role: Any = USER if message["role"] == "user" else ASSISTANT
        for block in message["content"]:
            if "toolResult" in block:
                result = block["toolResult"]
                texts = [each.get("text") or json.dumps(each.get("json")) for each in result["content"]]
                read.append(Message(TOOL, "\n".join(texts), result["toolUseId"]))
            elif "text" in block:
                read.append(Message(role, block["text"]))
    return read


class ScriptedModel(Model):
    """A model that plays a script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.config: dict[str, Any] = {}

    def update_config(self, **model_config: Any) -> None:
        self.config |= model_config

    def get_config(self) -> Any:
        return self.config

    def structured_output(self, output_model: Any, prompt: Any, system_prompt: Any = None, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        await self.script.wait()
        move = self.script.next_move(read_messages(messages))
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(move, str):
            yield {"contentBlockStart": {"start": {}}}
            for word in move.split(" "):
                yield {"contentBlockDelta": {"delta": {"text": word if move.startswith(word) else f" {word}"}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}
            return
        for call in move:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": call.tool, "toolUseId": call.id}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(dict(call.args))}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use"}}


@dataclass
class Factory:
    """An agent object of strands is one conversation, so every run gets a new one, with the same bridge."""

    plan: AgentPlan
    hooks: list[Any]
    helper: Factory | None = None

    def make(self) -> Agent:
        tools: list[Any] = [tool(function) for function in self.plan.tools]
        if self.helper is not None:
            tools.append(self.make_helper_tool(self.helper))
        return Agent(
            ScriptedModel(self.plan.script),
            tools=tools,
            hooks=self.hooks,
            callback_handler=None,
            name=self.plan.name,
        )

    def make_helper_tool(self, factory: Factory) -> Any:
        helper = factory.make()
        if self.plan.delegation == "an agent as a tool":
            return helper.as_tool(name="ask_helper")

        @tool
        def call_helper(task: str) -> str:
            """Let the helper do a task."""
            return str(helper(task))

        return call_helper


class IdleHooks(HookProvider):
    """Does nothing at any event that the bridge has, and around tools."""

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(
            AgentInitializedEvent, lambda event: event.agent.add_middleware(ExecuteToolStage, self.call)
        )
        for event_type in (BeforeInvocationEvent, BeforeModelCallEvent, BeforeToolCallEvent, AfterToolsEvent):
            registry.add_callback(event_type, self.see)
        registry.add_callback(AfterInvocationEvent, self.see)

    async def see(self, event: Any) -> None:
        pass

    async def call(self, context: Any, next_fn: Any) -> AsyncGenerator[Any, None]:
        async for event in next_fn(context):
            yield event


class Strands(Adapter):
    name = framework = "strands-agents"
    distributions = ("strands-agents",)
    notes: ClassVar[Mapping[str, str]] = {"delegation": AS_TOOL_REFUSED}
    delegations: ClassVar[Mapping[str, Call]] = {
        "an agent as a tool": Call("ask_helper", {"input": "clean up"}),
        "an agent in a tool": Call("call_helper", {"task": "clean up"}),
    }
    bare_helpers: ClassVar[Mapping[str, Any]] = {"an agent as a tool": "refused", "an agent in a tool": "not seen"}

    def build(self, plan: AgentPlan, options: Mapping[str, Any] | None) -> Factory:
        hooks = [] if options is None else [self.make_bridge(options)]
        helper = None if plan.helper is None else self.build(plan.helper, plan.helper.choose_options(options))
        factory = Factory(plan, hooks, helper)
        # What is refused when it is attached is refused now.
        factory.make()
        return factory

    def build_idle(self, plan: AgentPlan) -> Factory:
        return Factory(plan, [IdleHooks()], None)

    def make_bridge(self, options: Mapping[str, Any]) -> Any:
        from boathook.bridges.strands_agents import BoathookHooks

        return BoathookHooks(**options)

    def run(self, agent: Factory, prompt: str | Answers) -> Ran:
        made, given = make_input(agent, prompt)
        return read_result(made, made(given))

    async def run_async(self, agent: Factory, prompt: str | Answers) -> Ran:
        made, given = make_input(agent, prompt)
        return read_result(made, await made.invoke_async(given))

    async def run_stream(self, agent: Factory, prompt: str | Answers) -> Ran:
        made, given = make_input(agent, prompt)
        parts: list[str] = []
        result: Any = None
        async for event in made.stream_async(given):
            if "data" in event:
                parts.append(event["data"])
            result = event.get("result", result)
        return read_result(made, result, parts)


def make_input(factory: Factory, prompt: str | Answers) -> tuple[Agent, Any]:
    if isinstance(prompt, str):
        return factory.make(), prompt
    made, interrupts = prompt.ran.state
    answers = [
        {"interruptResponse": {"interruptId": each.id, "response": prompt.by_call[each.reason["call_id"]]}}
        for each in interrupts
    ]
    return made, answers


def read_result(agent: Agent, result: Any, parts: list[str] | None = None) -> Ran:
    said = parts or []
    if result.stop_reason != "interrupt":
        return Ran("".join(block.get("text", "") for block in result.message["content"]), said)
    reasons = [each.reason for each in result.interrupts]
    approvals = [Approval(each["call_id"], each["tool"], each["args"], each["reason"]) for each in reasons]
    return Ran(None, said, approvals, (agent, result.interrupts))


ADAPTERS = [Strands()]
