"""Hooks in agents of Microsoft's agent-framework: `Agent(…, middleware=[boathook_middleware()])`.

from boathook.bridges.agent_framework import boathook_middleware

agent = Agent(client, tools=[bash], middleware=[boathook_middleware()])       # the file hooks of the user and of this folder
agent = Agent(client, tools=[bash], middleware=[boathook_middleware(hooks)])  # hooks = boathook.Hooks()
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import Any, Unpack

from boathook.bridges.attachment import (
    Attachment,
    BridgeOptions,
    add_objection,
    attach,
    enter_call,
    find_caller,
    require_version,
)
from boathook.core.outcome import DEFAULT_ASK_REASON
from boathook.errors import BridgeError, Stopped
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_outcome import ToolOutcome

require_version("agent-framework-core", "1.23", before="2", extra="agent-framework")

from agent_framework import (
    AgentContext,
    AgentMiddleware,
    AgentResponse,
    ChatContext,
    ChatMiddleware,
    ChatMiddlewareLayer,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    FunctionMiddleware,
    FunctionTool,
    Message,
    MiddlewareBundle,
    MiddlewareFailure,
    MiddlewareTermination,
    ResponseStream,
)
from agent_framework.exceptions import UserInputRequiredException

# Where a run of the framework notes that it has hooks.
_ATTACHED = "boathook_attached"
# Where a question has the reason of the hook that asks.
_REASON = "reason"
# As many as runs: a person may never answer.
_MAX_WAITING_TURNS = 1024
_Next = Callable[[], Awaitable[None]]


def boathook_middleware(hooks: Hooks | None = None, **options: Unpack[BridgeOptions]) -> MiddlewareBundle:
    """Return middleware with hooks around an agent's prompts, its tool calls, its stops, and the start and end of every run.

    Without `hooks` they are the file hooks of the user and of `work_dir` (the current folder). `names` and `arguments` map tools
    and their arguments to the names that file hooks know; the rest is guessed. Tools that the model's provider runs, and agents
    without hooks that are tools, cannot be guarded: a run with them is refused unless `allow_unguarded` is set.
    """
    attachment = attach("agent-framework", hooks, **options)
    members: list[Any] = [_GuardedAgent(attachment), _GuardedCalls(None), _GuardedRequests(None)]
    with warnings.catch_warnings():
        # Bundles are experimental. Without one, a chat client would ignore the first member, with no more than a warning.
        warnings.simplefilter("ignore")
        return MiddlewareBundle(members)


class _GuardedTurn:
    """One run of an agent: the run of its hooks, and the texts that they added to the conversation."""

    def __init__(self, attachment: Attachment, run: AgentRun) -> None:
        self.attachment, self.run = attachment, run
        # What hooks raised, which the framework wraps in an error of its own.
        self.error: Exception | None = None
        # Where the texts are in what the model reads.
        self.added: list[tuple[int, Message]] = []
        self._checked_tools: list[Any] = []

    def check_tools(self, given: Any) -> None:
        """Refuse tools that cannot be guarded, and names in the map that no tool has; once for the same tools."""
        known = self._checked_tools
        if isinstance(given, list) and len(given) == len(known) and all(map(is_, given, known)):
            return
        tools = _flatten(given)
        self.attachment.refuse_unguarded(_find_unguarded(tools))
        self.attachment.check_names(str(getattr(tool, "name", "")) for tool in tools)
        self._checked_tools = [*given] if isinstance(given, list) else []

    def fail(self, error: Exception) -> MiddlewareFailure:
        """Return what ends the framework's run; the caller of the run gets the error itself."""
        self.error = error
        return MiddlewareFailure(str(error))

    async def end(self, error: BaseException) -> BaseException:
        """End the turn and the session after an error; return the error that the caller gets."""
        if isinstance(error, Exception):
            error = Stopped(self.run.stop_reason) if self.run.is_stopped else self.error or error
        await self.run.aend(error=error)
        return error


class _GuardedAgent(AgentMiddleware):
    """Begins and ends the session and the turn around a run of an agent, and sends it back to work."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment
        # Turns that wait for a person's answer, by the session of the framework.
        self._waiting: OrderedDict[str, _GuardedTurn] = OrderedDict()

    async def process(self, context: AgentContext, call_next: _Next) -> None:
        """Run the agent with its hooks."""
        self._refuse_unguarded(context)
        if context.metadata.setdefault(_ATTACHED, self) is not self:
            raise BridgeError(
                "hooks are attached twice, so that they would run twice",
                fix="pass one boathook_middleware() to the agent, and none to the run",
            )
        turn = await self._open(context)
        try:
            _bind_middleware(context, turn)
            await self._begin(context, turn)
            await call_next()
            if context.stream:
                context.result = self._follow_stream(context, call_next, turn)
                return
            while await self._find_next(context, turn, context.result):
                await call_next()
        except BaseException as error:
            raised = await turn.end(error)
            if raised is error:
                raise
            raise raised from error

    def _follow_stream(self, context: AgentContext, call_next: _Next, turn: _GuardedTurn) -> Any:
        """Return a stream that ends the turn when it is read to its end, or goes on if hooks send the agent back to work."""
        responses: list[AgentResponse] = []

        async def follow(stream: Any) -> AsyncIterator[Any]:
            try:
                while True:
                    async for update in stream:
                        yield update
                    responses.append(await stream.get_final_response())
                    if not await self._find_next(context, turn, responses[-1]):
                        return
                    await call_next()
                    stream = context.result
            except BaseException as error:
                raised = await turn.end(error)
                if raised is error:
                    raise
                raise raised from error

        return ResponseStream(follow(context.result), finalizer=lambda _updates: responses[-1])

    def _refuse_unguarded(self, context: AgentContext) -> None:
        agent: Any = context.agent
        client = getattr(agent, "client", None)
        if not isinstance(client, FunctionInvocationLayer) or not isinstance(client, ChatMiddlewareLayer):
            self._attachment.refuse_unguarded([f"those of {agent.name or type(agent).__name__}"])
        options = getattr(agent, "default_options", None) or {}
        tools = [
            *_flatten(options.get("tools")),
            *_flatten(context.tools),
            *_flatten((context.options or {}).get("tools")),
        ]
        self._attachment.refuse_unguarded(_find_unguarded(tools))

    async def _open(self, context: AgentContext) -> _GuardedTurn:
        """Return the turn that waits for this answer, or a new one."""
        session_id = context.session.session_id if context.session is not None else ""
        waiting, has_answers = self._waiting.pop(session_id, None), _has_answers(context.messages)
        run = self._attachment.find_waiting_run(session_id) if has_answers and session_id else None
        if run is not None:
            return waiting if waiting is not None and waiting.run is run else _GuardedTurn(self._attachment, run)
        if waiting is not None and not has_answers:
            # A new prompt came instead of an answer.
            await waiting.run.acancel()
        run = self._make_run(context, session_id)
        if has_answers and session_id:
            self._attachment.refuse_other_answers(run, session_id)
        return _GuardedTurn(self._attachment, run)

    def _make_run(self, context: AgentContext, session_id: str) -> AgentRun:
        caller = find_caller()
        if caller is not None:
            name = str(context.agent.name or "agent")
            child = self._attachment.make_child(caller, name, state=context)
            # The framework does not pass on the questions of an agent in a tool.
            child.can_ask = False
            return child
        # Only a session keeps the question for the answer.
        return self._attachment.make_run(session_id, state=context, can_ask=context.session is not None)

    async def _begin(self, context: AgentContext, turn: _GuardedTurn) -> None:
        prompts = _find_prompts(context.messages)
        if not prompts and _has_answers(context.messages):
            turn.run.resume()
            return
        prompts = prompts or [message for message in context.messages[-1:] if message.text]
        text = "\n".join(message.text for message in prompts)
        prompt_outcome = await turn.run.aprompt(text)
        prompt_outcome.raise_refusal()
        if prompt_outcome.context.prompt != text:
            _replace_prompts(context, prompts, prompt_outcome.context.prompt)

    async def _find_next(self, context: AgentContext, turn: _GuardedTurn, response: Any) -> bool:
        """Ask hooks whether the agent may stop; if not, set the messages that send it back to work."""
        run = turn.run
        run.raise_stop()
        if response.user_input_requests:
            if context.session is not None:
                self._attachment.suspend(run, context.session.session_id)
                self._waiting[context.session.session_id] = turn
                while len(self._waiting) > _MAX_WAITING_TURNS:
                    self._waiting.popitem(last=False)
            return False
        outcome = await run.astop(response.text)
        outcome.raise_stop()
        if outcome.proceeds:
            await run.aend_turn(response.text)
            await run.aend()
            return False
        feedback = Message("user", [outcome.feedback])
        # A session has the history itself.
        history = [] if context.session is not None else [*context.messages, *response.messages]
        context.messages = [*history, feedback]
        return True


def _find_new(messages: Sequence[Message]) -> Sequence[Message]:
    """Return what comes after the last message of the model: a caller may give the whole conversation."""
    said = [at for at, message in enumerate(messages) if message.role == "assistant"]
    return messages[said[-1] + 1 :] if said else messages


def _has_answers(messages: Sequence[Message]) -> bool:
    new = _find_new(messages)
    return any(content.type == "function_approval_response" for message in new for content in message.contents)


def _find_prompts(messages: Sequence[Message]) -> list[Message]:
    """Return the new messages of the person that have text; answers have none."""
    return [message for message in _find_new(messages) if message.role == "user" and message.text]


def _replace_prompts(context: AgentContext, prompts: list[Message], text: str) -> None:
    """Put a text in the place of those of the prompts; images and files stay."""
    if not prompts:
        context.messages = [*context.messages, Message("user", [text])]
        return
    texts = {id(prompt): "" for prompt in prompts} | {id(prompts[0]): text}
    changed = [_replace_text(each, texts[id(each)]) if id(each) in texts else each for each in context.messages]
    context.messages = [message for message in changed if message.contents]


def _replace_text(message: Message, text: str) -> Message:
    others = [content for content in message.contents if content.type != "text"]
    return Message(message.role, [text, *others] if text else others)


def _bind_middleware(context: AgentContext, turn: _GuardedTurn) -> None:
    """Give a run its own middleware around calls and requests, innermost: hooks see what really runs."""
    given = context.client_kwargs.get("middleware", [])
    others = [each for each in given if not isinstance(each, _GuardedCalls | _GuardedRequests)]
    context.client_kwargs["middleware"] = [*others, _GuardedCalls(turn), _GuardedRequests(turn)]


def _flatten(tools: Any) -> list[Any]:
    if tools is None:
        return []
    if isinstance(tools, list | tuple):
        return [each for tool in tools for each in _flatten(tool)]
    return [tools]


def _find_unguarded(tools: Iterable[Any]) -> list[str]:
    """Return the names of tools whose calls function middleware does not see."""
    names: list[str] = []
    for tool in tools:
        if isinstance(tool, FunctionTool):
            if tool.declaration_only or _is_unguarded_agent(tool):
                names.append(tool.name)
        elif isinstance(tool, Mapping):
            names.append(str(tool.get("name") or tool.get("type") or "a hosted tool"))
        elif not callable(tool) and not hasattr(tool, "functions"):
            # MCP servers that the framework itself calls have functions.
            names.append(str(getattr(tool, "name", type(tool).__name__)))
    return names


def _is_unguarded_agent(tool: FunctionTool) -> bool:
    """Whether a tool was made by `as_tool` of an agent that has no hooks of its own."""
    function: Any = tool.func
    if getattr(function, "__name__", "") != "_agent_wrapper":
        return False
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    agent = cells["self"].cell_contents if "self" in cells else None
    return not any(_is_ours(each) for each in getattr(agent, "middleware", None) or ())


def _is_ours(middleware: Any) -> bool:
    members = getattr(middleware, "_middleware", ())
    return any(isinstance(each, _GuardedAgent) for each in members)


def _make_no_run_error() -> BridgeError:
    return BridgeError(
        "hooks are attached to a chat client, which does not know when a run begins and ends",
        fix="attach them to the agent: Agent(client, middleware=[boathook_middleware()])",
    )


class _GuardedRequests(ChatMiddleware):
    """Gives the model the context of hooks before each request, after all results of tools."""

    def __init__(self, turn: _GuardedTurn | None) -> None:
        self._turn = turn

    async def process(self, context: ChatContext, call_next: _Next) -> None:
        """Add the texts of hooks to a request."""
        turn, options = self._turn, context.options or {}
        if turn is None:
            raise _make_no_run_error()
        turn.check_tools(options.get("tools"))
        run = turn.run
        (await run.abegin_step()).raise_refusal()
        if options.get("conversation_id"):
            # The service has what was sent once.
            turn.added.clear()
        turn.added += [(len(context.messages), Message("user", [text])) for text in run.take_context()]
        if turn.added:
            messages = [*context.messages]
            for at, message in reversed(turn.added):
                messages.insert(at, message)
            context.messages = messages
        await call_next()


class _GuardedCalls(FunctionMiddleware):
    """Puts hooks around the calls of tools."""

    def __init__(self, turn: _GuardedTurn | None) -> None:
        self._turn = turn

    async def process(self, context: FunctionInvocationContext, call_next: _Next) -> None:
        """Call a tool with its hooks around it. Nothing but an error of the tool itself becomes a result."""
        turn = self._turn
        if turn is None:
            error = _make_no_run_error()
            raise MiddlewareFailure(str(error)) from error
        # What the tool returned, as hooks see it: it is read once.
        results: list[Any] = []
        try:
            outcome = await self._call(turn, context, call_next, results)
        except (MiddlewareTermination, MiddlewareFailure, UserInputRequiredException):
            raise
        except Exception as error:
            raise turn.fail(error) from error
        if outcome.is_stopped or turn.run.is_stopped:
            raise turn.fail(Stopped(turn.run.stop_reason or outcome.reason))
        if outcome.ask is not None:
            context.result = _make_request(context, outcome.ask.reason)
            raise MiddlewareTermination(DEFAULT_ASK_REASON)
        self._give_result(turn, context, outcome, results)

    async def _call(
        self, turn: _GuardedTurn, context: FunctionInvocationContext, call_next: _Next, results: list[Any]
    ) -> ToolOutcome:
        given = _read_args(context)
        call = ToolCall(context.function.name, given, str(context.metadata.get("call_id") or ""))
        answer = context.metadata.get("approval_response")
        # What the tool itself wanted to be approved, the person approved without the question of a hook.
        if answer is not None and answer.approved is True and (turn.run.find_question(call) or _is_of_hook(answer)):
            turn.run.answer_call(call, is_allowed=True)

        async def operate(decided: ToolCall) -> Any:
            if decided.args != given:
                context.arguments = to_json_value(decided.args)
            with enter_call(turn.run):
                await call_next()
            results[:] = [_read_result(context.result)]
            return results[0]

        passes = (MiddlewareTermination, MiddlewareFailure, UserInputRequiredException)
        return await turn.run.atool(call, operate, passes=passes)

    def _give_result(
        self, turn: _GuardedTurn, context: FunctionInvocationContext, outcome: ToolOutcome, results: list[Any]
    ) -> None:
        """Set what the model reads."""
        if not outcome.has_run:
            context.result = outcome.reason
            return
        result = add_objection(turn.run, outcome)
        if outcome.error is not None:
            raise outcome.error
        if not results or (result is not results[0] and result != results[0]):
            context.result = outcome.text


def _read_args(context: FunctionInvocationContext) -> dict[str, Any]:
    args: Any = context.arguments
    return dict(args) if isinstance(args, Mapping) else args.model_dump()


def _read_result(result: Any) -> Any:
    """Return the text of a result for hooks; a result that is more than text stays as it is."""
    if isinstance(result, list) and len(result) == 1 and isinstance(result[0], Content) and result[0].type == "text":
        return result[0].text or ""
    if isinstance(result, list) and all(isinstance(each, Content) and each.type == "text" for each in result):
        return "".join(each.text or "" for each in result)
    return result


def _make_request(context: FunctionInvocationContext, reason: str) -> Content:
    """Return the framework's own question to a person."""
    call_id = str(context.metadata.get("call_id"))
    request_id = str(context.metadata.get("function_call_occurrence_id") or call_id)
    call = Content.from_function_call(call_id, context.function.name, arguments=_read_args(context), id=request_id)
    return Content.from_function_approval_request(request_id, call, additional_properties={_REASON: reason})


def _is_of_hook(answer: Content) -> bool:
    """Whether an answer is to a question of a hook; perhaps another process asked it."""
    return _REASON in (answer.additional_properties or {})
