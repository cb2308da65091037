"""google-adk for the contract. The model is a BaseLlm; approvals are its tool confirmations."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from typing import Any, ClassVar

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

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

CONFIRMATION = "adk_request_confirmation"
PERSON = "ann"


def read_contents(contents: Iterable[types.Content]) -> list[Message]:
    """Return what the model reads, in the words of the contract."""
    read: list[Message] = []
    for content in contents:
        for part in content.parts or []:
            if part.function_response is not None:
                response = part.function_response
                read.append(Message(TOOL, json.dumps(response.response), response.id or ""))
            elif part.text:
                read.append(Message(ASSISTANT if content.role == "model" else USER, part.text))
    return read


def make_response(*parts: types.Part, is_partial: bool = False) -> LlmResponse:
    content = types.Content(role="model", parts=[*parts])
    return LlmResponse(content=content, partial=is_partial or None)


class ScriptedLlm(BaseLlm):
    """A model that follows a script."""

    script: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        await self.script.wait()
        move = self.script.next_move(read_contents(llm_request.contents))
        if not isinstance(move, str):
            calls = [types.FunctionCall(id=call.id, name=call.tool, args=dict(call.args)) for call in move]
            yield make_response(*(types.Part(function_call=call) for call in calls))
            return
        if stream:
            for at, word in enumerate(move.split(" ")):
                yield make_response(types.Part(text=f" {word}" if at else word), is_partial=True)
        yield make_response(types.Part(text=move))


def make_model(script: Script) -> ScriptedLlm:
    return ScriptedLlm(model="scripted", script=script)


class GoogleAdk(Adapter):
    name = framework = "google-adk"
    distributions = ("google-adk",)
    notes: ClassVar[Mapping[str, str]] = {
        "delegation": "an agent that a function runs needs a plugin in its own Runner: without it, its calls are not seen"
    }
    delegations: ClassVar[Mapping[str, Call]] = {
        "an agent as a tool": Call("helper", {"request": "clean up"}),
        "a transfer": Call("transfer_to_agent", {"agent_name": "helper"}),
        "an agent for a single turn": Call("helper", {"request": "clean up"}),
    }
    bare_helpers: ClassVar[Mapping[str, Any]] = dict.fromkeys(delegations, "guarded")
    ignored_warnings = ("ignore::UserWarning", "ignore::DeprecationWarning")

    def build(self, plan: AgentPlan, options: Mapping[str, Any] | None) -> InMemoryRunner:
        plugins: list[BasePlugin] = []
        if options is not None:
            from boathook.bridges.google_adk import BoathookPlugin

            plugins.append(BoathookPlugin(**options))
        return self.make_runner(plan, plugins)

    def build_idle(self, plan: AgentPlan) -> InMemoryRunner:
        # Every callback of a plugin is called, and those of the base class do nothing.
        return self.make_runner(plan, [BasePlugin(name="idle")])

    def make_runner(self, plan: AgentPlan, plugins: list[BasePlugin]) -> InMemoryRunner:
        return InMemoryRunner(app=App(name="app", root_agent=self.make_agent(plan), plugins=plugins))

    def make_agent(self, plan: AgentPlan, **fields: Any) -> LlmAgent:
        tools: list[Any] = [*plan.tools]
        if plan.helper is not None and plan.delegation == "an agent as a tool":
            tools.append(AgentTool(self.make_agent(plan.helper)))
        elif plan.helper is not None:
            mode = {"mode": "single_turn"} if plan.delegation == "an agent for a single turn" else {}
            fields["sub_agents"] = [self.make_agent(plan.helper, description="Helps.", **mode)]
        return LlmAgent(name=plan.name, model=make_model(plan.script), tools=tools, **fields)

    def run(self, agent: InMemoryRunner, prompt: str | Answers) -> Ran:
        session_id, message = self.make_input(prompt)
        if isinstance(prompt, str):
            agent.session_service.create_session_sync(app_name="app", user_id=PERSON, session_id=session_id)  # type: ignore[attr-defined]
        events = agent.run(user_id=PERSON, session_id=session_id, new_message=message)
        return self.read_events([*events], session_id)

    async def run_async(self, agent: InMemoryRunner, prompt: str | Answers) -> Ran:
        session_id, message = self.make_input(prompt)
        return self.read_events([event async for event in self.start(agent, prompt, session_id, message)], session_id)

    async def run_stream(self, agent: InMemoryRunner, prompt: str | Answers) -> Ran:
        session_id, message = self.make_input(prompt)
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        events = [event async for event in self.start(agent, prompt, session_id, message, run_config=config)]
        return self.read_events(events, session_id)

    async def start(
        self, agent: InMemoryRunner, prompt: str | Answers, session_id: str, message: types.Content, **fields: Any
    ) -> AsyncIterator[Event]:
        if isinstance(prompt, str):
            await agent.session_service.create_session(app_name="app", user_id=PERSON, session_id=session_id)
        async for event in agent.run_async(user_id=PERSON, session_id=session_id, new_message=message, **fields):
            yield event

    @staticmethod
    def make_input(prompt: str | Answers) -> tuple[str, types.Content]:
        if isinstance(prompt, str):
            return str(uuid.uuid4()), types.Content(role="user", parts=[types.Part(text=prompt)])
        session_id, questions = prompt.ran.state
        parts = []
        for call_id, is_allowed in prompt.by_call.items():
            response = types.FunctionResponse(
                id=questions[call_id], name=CONFIRMATION, response={"confirmed": is_allowed}
            )
            parts.append(types.Part(function_response=response))
        return session_id, types.Content(role="user", parts=parts)

    @staticmethod
    def read_events(events: list[Event], session_id: str) -> Ran:
        approvals, questions, parts, output = [], {}, [], None
        for event in events:
            for call in event.get_function_calls():
                if call.name == CONFIRMATION:
                    args: Any = call.args
                    original = args["originalFunctionCall"]
                    questions[original["id"]] = call.id
                    hint = args["toolConfirmation"].get("hint", "")
                    approvals.append(Approval(original["id"], original["name"], original["args"], hint))
            texts = [part.text for part in (event.content.parts or [] if event.content else []) if part.text]
            if event.partial:
                parts += texts
            elif texts:
                output = "".join(texts)
        return Ran(None if approvals else output, parts, approvals, (session_id, questions))


ADAPTERS = [GoogleAdk()]
