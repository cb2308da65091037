"""Microsoft's agent-framework for the contract: a chat client that follows a script, and the framework's approvals."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar

from agent_framework import (
    Agent,
    AgentMiddleware,
    AgentSession,
    BaseChatClient,
    ChatMiddleware,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    FunctionMiddleware,
    ResponseStream,
    tool,
)
from agent_framework import Message as FrameworkMessage

from tests.bridges.adapter import (
    AS_TOOL_REFUSED,
    ASSISTANT,
    ASYNC,
    STREAM,
    SYSTEM,
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


def read_messages(messages: Sequence[FrameworkMessage]) -> list[Message]:
    """Return what the model reads, in the words of the contract."""
    read: list[Message] = []
    for message in messages:
        for content in message.contents:
            if content.type == "function_result":
                text = content.result if isinstance(content.result, str) else str(content.result)
                read.append(Message(TOOL, text, content.call_id or ""))
            elif content.type == "text" and message.role in (USER, ASSISTANT, SYSTEM):
                role: Any = message.role
                read.append(Message(role, content.text or ""))
    return read


class ScriptClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """A chat client of the framework that follows a script."""

    def __init__(self, script: Script, **options: Any) -> None:
        super().__init__(**options)
        self.script = script

    def reply(self, messages: Sequence[FrameworkMessage]) -> tuple[str, list[Content]]:
        move = self.script.next_move(read_messages(messages))
        if isinstance(move, str):
            return move, [Content.from_text(move)]
        assert isinstance(move, tuple)
        calls = [Content.from_function_call(each.id, each.tool, arguments=json.dumps(dict(each.args))) for each in move]
        return "", calls

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        if stream:
            return ResponseStream(self.stream_words(messages), finalizer=ChatResponse.from_updates)
        return self.respond(messages)

    async def respond(self, messages: Sequence[FrameworkMessage]) -> ChatResponse[Any]:
        await self.script.wait()
        return ChatResponse(messages=[FrameworkMessage(ASSISTANT, self.reply(messages)[1])])

    async def stream_words(self, messages: Sequence[FrameworkMessage]) -> AsyncIterator[ChatResponseUpdate]:
        await self.script.wait()
        text, contents = self.reply(messages)
        if not text:
            yield ChatResponseUpdate(contents=contents, role=ASSISTANT)
            return
        for at, word in enumerate(text.split(" ")):
            yield ChatResponseUpdate(contents=[Content.from_text(f" {word}" if at else word)], role=ASSISTANT)


class IdleAgent(AgentMiddleware):
    """Does nothing around a run."""

    async def process(self, context: Any, call_next: Any) -> None:
        await call_next()


class IdleFunction(FunctionMiddleware):
    """Does nothing around a tool call."""

    async def process(self, context: Any, call_next: Any) -> None:
        await call_next()


class IdleChat(ChatMiddleware):
    """Does nothing around a request to the model."""

    async def process(self, context: Any, call_next: Any) -> None:
        await call_next()


class AgentFramework(Adapter):
    name = framework = "agent-framework"
    distributions = ("agent-framework-core",)
    ways = (ASYNC, STREAM)
    notes: ClassVar[Mapping[str, str]] = {
        "delegation": AS_TOOL_REFUSED,
    }
    delegations: ClassVar[Mapping[str, Call]] = {
        "an agent as a tool": Call("ask_helper", {"task": "clean up"}),
        "an agent in a tool": Call("run_helper", {"task": "clean up"}),
    }
    bare_helpers: ClassVar[Mapping[str, Any]] = {"an agent as a tool": "refused", "an agent in a tool": "not seen"}

    def build(self, plan: AgentPlan, options: Mapping[str, Any] | None) -> Agent[Any]:
        tools: list[Any] = [tool(each) for each in plan.tools]
        if plan.helper is not None:
            helper = self.build(plan.helper, plan.helper.choose_options(options))

            async def run_helper(task: str) -> str:
                """Let the helper do a task."""
                return str((await helper.run(task)).text)

            is_tool = plan.delegation == "an agent as a tool"
            tools.append(helper.as_tool(name="ask_helper") if is_tool else tool(run_helper))
        return Agent(ScriptClient(plan.script), name=plan.name, tools=tools, middleware=self.make_middleware(options))

    def build_idle(self, plan: AgentPlan) -> Agent[Any]:
        tools: list[Any] = [tool(each) for each in plan.tools]
        return Agent(ScriptClient(plan.script), tools=tools, middleware=[IdleAgent(), IdleFunction(), IdleChat()])

    @staticmethod
    def make_middleware(options: Mapping[str, Any] | None) -> list[Any]:
        if options is None:
            return []
        from boathook.bridges.agent_framework import boathook_middleware

        return [boathook_middleware(**options)]

    async def run_async(self, agent: Agent[Any], prompt: str | Answers) -> Ran:
        given, session = self.make_input(prompt)
        return self.read_response(await agent.run(given, session=session), session)

    async def run_stream(self, agent: Agent[Any], prompt: str | Answers) -> Ran:
        given, session = self.make_input(prompt)
        stream = agent.run(given, stream=True, session=session)
        parts = [update.text async for update in stream if update.text]
        return self.read_response(await stream.get_final_response(), session, parts)

    @staticmethod
    def make_input(prompt: str | Answers) -> tuple[Any, AgentSession]:
        if isinstance(prompt, str):
            return prompt, AgentSession()
        requests, session = prompt.ran.state
        answers = [each.to_function_approval_response(prompt.by_call[each.function_call.call_id]) for each in requests]
        return FrameworkMessage(USER, answers), session

    @staticmethod
    def read_response(response: Any, session: AgentSession, parts: list[str] | None = None) -> Ran:
        requests = response.user_input_requests
        if not requests:
            return Ran(response.text, parts or [])
        approvals = [
            Approval(
                each.function_call.call_id,
                each.function_call.name,
                each.function_call.parse_arguments(),
                str(each.additional_properties.get("reason", "")),
            )
            for each in requests
        ]
        return Ran(None, parts or [], approvals, (requests, session))


ADAPTERS = [AgentFramework()]
