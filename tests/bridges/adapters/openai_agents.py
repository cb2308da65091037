"""openai-agents for the contract: a model that follows a script, and the SDK's own approvals."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from agents import Agent, Runner, Usage, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.testing import assistant_message, function_call
from openai.types.responses import Response, ResponseCompletedEvent, ResponseTextDeltaEvent

from tests.bridges.adapter import (
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

set_tracing_disabled(True)

# The bench calls more tools in a run than the SDK permits by default.
MAX_TURNS = 100


def read_content(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content)


def read_input(given: Any) -> list[Message]:
    """Return what the model reads, in the words of the contract."""
    if isinstance(given, str):
        return [Message(USER, given)]
    read: list[Message] = []
    for item in given:
        if item.get("type") == "function_call_output":
            read.append(Message(TOOL, read_content(item["output"]), item["call_id"]))
        elif item.get("role") in (USER, ASSISTANT):
            read.append(Message(item["role"], read_content(item["content"])))
    return read


class ScriptModel(Model):
    """A model of the SDK that follows a script."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def reply(self, given: Any) -> tuple[str, list[Any]]:
        move = self.script.next_move(read_input(given))
        if isinstance(move, str):
            return move, [assistant_message(move)]
        assert isinstance(move, tuple)
        return "", [function_call(call.tool, json.dumps(dict(call.args)), call_id=call.id) for call in move]

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        await self.script.wait()
        return ModelResponse(output=self.reply(input)[1], usage=Usage(), response_id=None)

    async def stream_response(  # type: ignore[override]
        self,
        system_instructions: Any,
        input: Any,  # noqa: A002
        *args: Any,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        await self.script.wait()
        text, output = self.reply(input)
        words = text.split(" ") if text else []
        for at, word in enumerate(words):
            yield ResponseTextDeltaEvent(
                content_index=0,
                delta=f" {word}" if at else word,
                item_id="1",
                logprobs=[],
                output_index=0,
                sequence_number=at,
                type="response.output_text.delta",
            )
        response = Response(
            id="1",
            created_at=0,
            model="script",
            object="response",
            output=output,
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(response=response, sequence_number=len(words), type="response.completed")


class OpenAIAgents(Adapter):
    name = framework = "openai-agents"
    distributions = ("openai-agents",)
    delegations: ClassVar[Mapping[str, Call]] = {
        "handoff": Call("transfer_to_helper"),
        "an agent as a tool": Call("ask_helper", {"input": "clean up"}),
        "an agent in a tool": Call("run_helper", {"task": "clean up"}),
    }
    bare_helpers: ClassVar[Mapping[str, Any]] = dict.fromkeys(delegations, "guarded")

    def build(self, plan: AgentPlan, options: Mapping[str, Any] | None) -> Agent[Any]:
        agent = self.build_agent(plan)
        if options is None:
            return agent
        from boathook.bridges.openai_agents import guard

        return guard(agent, **options)

    def build_agent(self, plan: AgentPlan) -> Agent[Any]:
        agent: Agent[Any] = Agent(
            name=plan.name, model=ScriptModel(plan.script), tools=[function_tool(each) for each in plan.tools]
        )
        if plan.helper is None:
            return agent
        helper = self.build_agent(plan.helper)
        if plan.delegation == "handoff":
            agent.handoffs.append(helper)
        elif plan.delegation == "an agent as a tool":
            agent.tools.append(helper.as_tool("ask_helper", "Let the helper do a task."))
        else:

            async def run_helper(task: str) -> str:
                """Let the helper do a task."""
                return str((await Runner.run(helper, task)).final_output)

            agent.tools.append(function_tool(run_helper))
        return agent

    def run(self, agent: Agent[Any], prompt: str | Answers) -> Ran:
        return self.read_result(Runner.run_sync(agent, self.make_input(prompt), max_turns=MAX_TURNS))

    async def run_async(self, agent: Agent[Any], prompt: str | Answers) -> Ran:
        return self.read_result(await Runner.run(agent, self.make_input(prompt), max_turns=MAX_TURNS))

    async def run_stream(self, agent: Agent[Any], prompt: str | Answers) -> Ran:
        result = Runner.run_streamed(agent, self.make_input(prompt), max_turns=MAX_TURNS)
        parts = [
            event.data.delta
            async for event in result.stream_events()
            if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent)
        ]
        return self.read_result(result, parts)

    @staticmethod
    def make_input(prompt: str | Answers) -> Any:
        if isinstance(prompt, str):
            return prompt
        state = prompt.ran.state
        for item in state.get_interruptions():
            decide = state.approve if prompt.by_call[item.raw_item.call_id] else state.reject
            decide(item)
        return state

    @staticmethod
    def read_result(result: Any, parts: list[str] | None = None) -> Ran:
        if not result.interruptions:
            return Ran(result.final_output, parts or [])
        from boathook.bridges.openai_agents import find_reason

        approvals = [
            Approval(item.raw_item.call_id, item.tool_name, json.loads(item.raw_item.arguments), find_reason(item))
            for item in result.interruptions
        ]
        return Ran(None, parts or [], approvals, result.to_state())


ADAPTERS = [OpenAIAgents()]
