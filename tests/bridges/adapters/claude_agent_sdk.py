"""claude-agent-sdk for the contract: the program that the SDK bundles, and a model on loopback that follows a script."""

from __future__ import annotations

import asyncio
import inspect
import json
import secrets
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    StreamEvent,
    create_sdk_mcp_server,
    query,
    tool,
)

from tests.bridges.adapter import (
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
    Move,
    Ran,
    Script,
)
from tests.bridges.behaviours import COST

Json = dict[str, Any]
SERVER, PREFIX = "contract", "mcp__contract__"
# What the program itself adds to a conversation.
REMINDER, HOOK_TEXT = "<system-reminder>", " hook "


# The model


class ScriptedModel(BaseHTTPRequestHandler):
    """The Messages API, as far as the program needs it: each script has a path of its own."""

    protocol_version = "HTTP/1.1"
    scripts: ClassVar[dict[str, Script]] = {}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        name = self.path.strip("/").partition("/")[0]
        # A subagent has the prompt that names its script.
        system = json.dumps(body.get("system", ""))
        name = next((each for each in self.scripts if f"agent {each}" in system), name)
        if not self.path.partition("?")[0].endswith("/messages"):
            self.reply(404, "application/json", b"{}")
            return
        try:
            # In a thread of its own, which a cancelled run leaves behind.
            asyncio.run(self.scripts[name].wait())
            move = self.scripts[name].next_move(read_messages(body["messages"]))
        except Exception as error:  # (a model that fails)
            text = {"type": "error", "error": {"type": "invalid_request_error", "message": str(error)}}
            self.reply(400, "application/json", json.dumps(text).encode())
            return
        self.reply(200, "text/event-stream", "".join(map(write_event, list_events(move))).encode())

    def reply(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@cache
def start_model() -> str:
    """Start the server of all scripts, once, and return its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def write_event(event: Json) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def list_events(move: Move) -> list[Json]:
    """Return the events of a streamed answer: the text in words, or the calls."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": f"msg_{secrets.token_hex(4)}", "type": "message", "role": "assistant", "model": "scripted"}
    message = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    blocks: list[tuple[Json, list[Json]]] = []
    if isinstance(move, str):
        words = [f" {word}" if at else word for at, word in enumerate(move.split(" "))]
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": word} for word in words]))
    else:
        assert isinstance(move, tuple)
        for call in move:
            block = {"type": "tool_use", "id": call.id, "name": add_server(call.tool), "input": {}}
            blocks.append((block, [{"type": "input_json_delta", "partial_json": json.dumps(dict(call.args))}]))
    events: list[Json] = [{"type": "message_start", "message": message}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    reason = "end_turn" if isinstance(move, str) else "tool_use"
    end = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    return [*events, end, {"type": "message_stop"}]


def add_server(name: str) -> str:
    return name if name[0].isupper() or name.startswith("mcp__") else PREFIX + name


def read_messages(messages: Sequence[Json]) -> list[Message]:
    """Return what the model reads, in the words of the contract, without what the program itself says."""
    read: list[Message] = []
    for message in messages:
        role, content = message["role"], message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "tool_result":
                read.append(Message(TOOL, read_text(block["content"]), block["tool_use_id"]))
            elif block["type"] == "text" and role == SYSTEM:
                read += [Message(SYSTEM, part) for part in block["text"].split("\n\n") if HOOK_TEXT in part[:80]]
            elif block["type"] == "text" and not block["text"].startswith(REMINDER):
                read.append(Message(USER if role == USER else ASSISTANT, block["text"]))
    return read


def read_text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)


# The agent


def make_tool(function: Callable[..., Any], loops: list[asyncio.AbstractEventLoop]) -> Any:
    """Return a tool of the SDK. An async function runs in the loop of the one who called the agent."""
    types = {name: each.annotation for name, each in inspect.signature(function).parameters.items()}
    keys = {name: {"str": str, "int": int}[str(kind)] for name, kind in types.items()}

    @tool(function.__name__, function.__doc__ or "A tool.", keys)
    async def call(args: Json) -> Json:
        result = function(**args)
        if inspect.iscoroutine(result):
            result = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(result, loops[-1]))
        return {"content": [{"type": "text", "text": str(result)}]}

    return call


@dataclass
class SdkAgent:
    """What `ClaudeAgentOptions` needs, and the line of the bridge."""

    fields: Json
    guarded: bool
    loops: list[asyncio.AbstractEventLoop]
    # The person who answers; each run has its own.
    people: list[Person] = field(default_factory=list)


class Person:
    """Answers the SDK's `can_use_tool` when the answers come, which may be in another run of the stage."""

    def __init__(self) -> None:
        self.approvals: list[Approval] = []
        self.answers: Mapping[str, bool] | None = None

    async def decide(self, name: str, tool_input: Json, context: Any) -> Any:
        approval = Approval(
            context.tool_use_id, name.removeprefix(PREFIX), tool_input, str(context.decision_reason or "")
        )
        self.approvals.append(approval)
        while self.answers is None:  # noqa: ASYNC110 (the answer comes from another thread)
            await asyncio.sleep(0.01)
        if self.answers[approval.call_id]:
            return PermissionResultAllow()
        return PermissionResultDeny(message="the person said no")


class Conversation:
    """One run of the SDK in a thread with a loop of its own, so that it can wait for a person between two runs of the stage."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Ran]], person: Person) -> None:
        self.person, self.result, self.error = person, None, None
        self.loop = asyncio.new_event_loop()
        self.task: asyncio.Task[Ran] | None = None
        self.is_over = threading.Event()
        self._work = work
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        self.task = self.loop.create_task(self._work())
        try:
            self.result = self.loop.run_until_complete(self.task)
        except BaseException as error:  # (raised where the run is awaited)
            self.error = error
        finally:
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()
            self.is_over.set()

    async def wait(self) -> Ran:
        """Return how it ended, or the approvals that it waits for."""
        try:
            while not self.is_over.is_set():
                if self.person.approvals and self.person.answers is None:
                    return Ran(approvals=[*self.person.approvals], state=self)
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            if self.task is not None:
                self.loop.call_soon_threadsafe(self.task.cancel)
            while not self.is_over.is_set():  # noqa: ASYNC110 (the other thread ends it)
                await asyncio.sleep(0.01)
            raise
        if self.error is not None:
            raise self.error
        assert self.result is not None
        return self.result


class ClaudeAgentSdk(Adapter):
    name = framework = "claude-agent-sdk"
    # Its program lists its tools only in messages that the caller reads.
    knows_tools = False
    distributions = ("claude-agent-sdk",)
    # Tools that need no permission are no mistake here: hooks ask about them.
    ignored_warnings = ("ignore:can_use_tool will not be invoked",)
    ways = (ASYNC, STREAM)
    notes: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("session", "cancel"), "only within `async with guard_session(options) as options`"),
        COST: "claude-agent-sdk has no row: without hooks the SDK makes no callbacks at all, so there is nothing to compare with.",
    }
    delegations: ClassVar[Mapping[str, Call]] = {
        "a subagent": Call(
            "Agent",
            {"description": "help", "prompt": "clean up", "subagent_type": "helper", "run_in_background": False},
        ),
    }
    bare_helpers: ClassVar[Mapping[str, Any]] = dict.fromkeys(delegations, "guarded")

    def build(self, plan: AgentPlan, options: Mapping[str, Any] | None) -> SdkAgent:
        loops: list[asyncio.AbstractEventLoop] = []
        key = secrets.token_hex(8)
        ScriptedModel.scripts[key] = plan.script
        tools = [make_tool(function, loops) for function in plan.tools]
        agents = {}
        if plan.helper is not None:
            helper_key = secrets.token_hex(8)
            ScriptedModel.scripts[helper_key] = plan.helper.script
            agents["helper"] = AgentDefinition("helps", f"You are agent {helper_key}.")
        fields = {
            "mcp_servers": {SERVER: create_sdk_mcp_server(SERVER, tools=tools)},
            "tools": ["Agent"] if agents else [],
            "allowed_tools": [f"{PREFIX}*", "Agent"],
            "agents": agents,
        }
        env = make_environment(f"{start_model()}/{key}")
        if options is None:
            return SdkAgent({**fields, "env": env}, guarded=False, loops=loops)
        from boathook.bridges.claude_agent_sdk import boathook_hooks

        agent = SdkAgent(fields, guarded=True, loops=loops)

        async def ask_person(name: str, tool_input: Json, context: Any) -> Any:
            return await agent.people[-1].decide(name, tool_input, context)

        agent.fields |= boathook_hooks(**options, env=env, can_use_tool=ask_person)
        return agent

    async def run_async(self, agent: SdkAgent, prompt: str | Answers) -> Ran:
        return await self.play(agent, prompt, self.read_query)

    async def run_stream(self, agent: SdkAgent, prompt: str | Answers) -> Ran:
        return await self.play(agent, prompt, self.read_client)

    async def play(self, agent: SdkAgent, prompt: str | Answers, read: Callable[..., AsyncIterator[Any]]) -> Ran:
        agent.loops.append(asyncio.get_running_loop())
        if isinstance(prompt, Answers):
            conversation: Conversation = prompt.ran.state
            conversation.person.answers = prompt.by_call
            return await conversation.wait()
        person = Person()
        agent.people.append(person)
        return await Conversation(lambda: self.converse(agent, prompt, read), person).wait()

    async def converse(self, agent: SdkAgent, prompt: str, read: Callable[..., AsyncIterator[Any]]) -> Ran:
        options = ClaudeAgentOptions(**agent.fields)
        ran = Ran()
        async with AsyncExitStack() as stack:
            if agent.guarded:
                from boathook.bridges.claude_agent_sdk import guard_session

                options = await stack.enter_async_context(guard_session(options))
            messages = await stack.enter_async_context(aclosing(read(prompt, options)))
            async for message in messages:
                if isinstance(message, ResultMessage):
                    ran.output = message.result
                elif isinstance(message, StreamEvent) and not message.parent_tool_use_id:
                    text = message.event.get("delta", {}).get("text")
                    ran.parts += [text] if text else []
        return ran

    @staticmethod
    async def read_query(prompt: str, options: ClaudeAgentOptions) -> AsyncIterator[Any]:
        async with aclosing(query(prompt=prompt, options=options)) as messages:  # type: ignore[type-var]
            async for message in messages:
                yield message

    @staticmethod
    async def read_client(prompt: str, options: ClaudeAgentOptions) -> AsyncIterator[Any]:
        options.include_partial_messages = True
        async with ClaudeSDKClient(options) as client:
            await client.query(prompt)
            async for message in client.receive_response():
                yield message


@cache
def make_homes() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for homes of the program; it is removed in the end."""
    return tempfile.TemporaryDirectory(prefix="claude-homes-", ignore_cleanup_errors=True)


def make_environment(url: str) -> dict[str, str]:
    """Return variables with which the program talks to loopback only, and finds nothing of the person who runs the tests."""
    return {
        "HOME": tempfile.mkdtemp(dir=make_homes().name),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "NO_PROXY": "127.0.0.1",
    }


ADAPTERS = [ClaudeAgentSdk()]
