"""Hooks in agents of strands: `Agent(…, hooks=[BoathookHooks()])`.

from boathook.bridges.strands_agents import BoathookHooks

agent = Agent(model, tools=[bash], hooks=[BoathookHooks()])       # the file hooks of the user and of this folder
agent = Agent(model, tools=[bash], hooks=[BoathookHooks(hooks)])  # hooks = boathook.Hooks()
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Unpack
from weakref import WeakKeyDictionary

from boathook.bridges.attachment import BridgeOptions, attach, enter_call, find_caller, require_version
from boathook.bridges.prompt_messages import find_prompts, join_texts, replace_prompts
from boathook.bridges.used_answers import used_answers
from boathook.core.hashing import hexdigest
from boathook.errors import BridgeError
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.layers import LOGGER
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_outcome import AskRequest, ToolOutcome

require_version("strands-agents", "1.62", before="2", extra="strands-agents")

from strands import Agent
from strands.agent._agent_as_tool import _AgentAsTool
from strands.hooks import (
    AfterInvocationEvent,
    AfterToolsEvent,
    AgentInitializedEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
    BeforeToolCallEvent,
    HookProvider,
    HookRegistry,
    MultiAgentInitializedEvent,
)
from strands.interrupt import InterruptException
from strands.middleware import ExecuteToolContext, ExecuteToolStage, ToolResultEvent

# The bridges of an agent.
_attached: WeakKeyDictionary[Agent, list[BoathookHooks]] = WeakKeyDictionary()
# Ours is the last to see the end of an invocation: then it is known whether something else makes the agent go on.
_LAST = 1000
_QUESTION = "boathook"
_YES, _NO = (True, "approve", "approved", "yes", "y"), (False, "reject", "rejected", "deny", "no", "n")
# Settings of models for tools that their provider runs.
_HOSTED_TOOLS = ("anthropic_tools", "gemini_tools")


class BoathookHooks(HookProvider):
    """Hooks around an agent: its prompts, its tool calls, its stops, and the start and end of every invocation.

    Without `hooks` they are the file hooks of the user and of `work_dir` (the current folder). `names` and `arguments` map tools
    and their arguments to the names that file hooks know; the rest is guessed. An invocation is a session with the agent's
    session id, unless `session_id` is given. Tools that the model's provider runs, and agents as tools that have no hooks, cannot
    be guarded: they are refused unless `allow_unguarded` is set.
    """

    def __init__(self, hooks: Hooks | None = None, **options: Unpack[BridgeOptions]) -> None:
        self._attachment = attach("strands-agents", hooks, **options)

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Register callbacks with an agent."""
        registry.add_callback(AgentInitializedEvent, self._on_initialized)
        registry.add_callback(MultiAgentInitializedEvent, self._on_several_agents)
        registry.add_callback(BeforeInvocationEvent, self._on_start)
        registry.add_callback(BeforeModelCallEvent, self._on_request)
        registry.add_callback(BeforeToolCallEvent, self._on_call)
        registry.add_callback(AfterToolsEvent, self._on_results)
        registry.add_callback(AfterInvocationEvent, self._on_end, order=_LAST)

    # Attaching.

    def _on_initialized(self, event: AgentInitializedEvent) -> None:
        self._attach_to(event.agent)

    def _on_call(self, event: BeforeToolCallEvent) -> None:
        # Middleware comes after this event, so that hooks see the call as everything else left it.
        self._attach_to(event.agent)

    def _on_several_agents(self, event: MultiAgentInitializedEvent) -> None:
        name = type(event.source).__name__
        raise BridgeError(
            f"hooks of a {name} do not see the tool calls of its agents",
            fix="give BoathookHooks() to each of its agents",
        )

    def _attach_to(self, agent: Any) -> None:
        """Put the hooks around the tools of an agent, once."""
        if not isinstance(agent, Agent):
            name = type(agent).__name__
            raise BridgeError(f"boathook cannot guard a {name}: it has no invocations", fix="use strands.Agent")
        bridges = _attached.setdefault(agent, [])
        if self in bridges:
            return
        self._attachment.refuse_shared_hooks((bridge._attachment for bridge in bridges), "pass BoathookHooks once")
        self._refuse_unguarded(agent)
        self._attachment.check_names(agent.tool_names)
        bridges.append(self)
        agent.add_middleware(ExecuteToolStage, self._guard_tool)

    def _refuse_unguarded(self, agent: Agent) -> None:
        """Refuse tools that the model's provider runs, and agents as tools that have no hooks of their own."""
        own_tools = agent.tool_registry.registry.items()
        agents = [name for name, tool in own_tools if isinstance(tool, _AgentAsTool) and not _attached.get(tool.agent)]
        self._attachment.refuse_unguarded(f"{name} (an agent that has no hooks)" for name in agents)
        config = agent.model.get_config()
        settings = config if isinstance(config, Mapping) else {}
        params = settings.get("params")
        tools = [tool for key in _HOSTED_TOOLS for tool in settings.get(key) or ()]
        tools += (params.get("tools") or ()) if isinstance(params, Mapping) else ()
        self._attachment.refuse_unguarded(map(_describe_hosted_tool, tools))

    # An invocation is a session with one turn; an invocation within a tool call is a subagent.

    def _find_run(self, agent: Any, state: Mapping[str, Any]) -> AgentRun | None:
        run = state.get(self._make_key(agent))
        return run if isinstance(run, AgentRun) else None

    def _make_key(self, agent: Any) -> str:
        return f"boathook {id(self)} {id(agent)}"

    async def _on_start(self, event: BeforeInvocationEvent) -> None:
        agent, state = event.agent, event.invocation_state
        self._attach_to(agent)
        self._refuse_unguarded(agent)
        if event.messages is None:
            raise BridgeError(
                "`structured_output` does not show hooks the prompt", fix="use agent(prompt, structured_output_model=…)"
            )
        run = self._find_run(agent, state)
        if run is not None and run.is_turn_open:
            # Hooks refused the stop; this is their feedback.
            return
        is_waiting = bool(agent._interrupt_state.activated)
        run = state[self._make_key(agent)] = self._open_run(agent, run)
        # An agent may be called where an error is being handled, which is not its own.
        state[f"{self._make_key(agent)} error"] = sys.exc_info()[1]
        if is_waiting:
            run.resume()
            return
        try:
            await self._begin_turn(run, event)
        except BaseException as error:
            # strands reports no end of an invocation that did not begin.
            self._forget_run(event)
            await run.aend(error=error)
            raise

    async def _begin_turn(self, run: AgentRun, event: BeforeInvocationEvent) -> None:
        prompt = _read_prompt(event.messages or event.agent.messages)
        prompt_outcome = await run.aprompt(prompt)
        if not prompt_outcome.proceeds:
            event.cancel = prompt_outcome.reason
        elif prompt_outcome.context.prompt != prompt:
            event.messages = _replace_prompt(event.messages or [], prompt_outcome.context.prompt)
        if prompt_outcome.proceeds and event.messages:
            event.messages[-1]["content"] += [{"text": text} for text in run.take_context()]

    def _open_run(self, agent: Agent, run: AgentRun | None) -> AgentRun:
        """Return the run that waits for answers or has another turn, that of a subagent, or a new one."""
        caller = find_caller()
        waiting = self._attachment.find_waiting_run(_make_place(agent))
        if waiting is not None:
            return waiting.resume()
        if run is not None and run.is_session_open:
            return run
        if caller is not None:
            run = self._attachment.make_child(caller, agent.name or "agent")
        else:
            run = self._attachment.make_run(agent.session_id)
        self._attachment.refuse_other_answers(run, _make_place(agent))
        return run

    async def _on_end(self, event: AfterInvocationEvent) -> None:
        run = self._find_run(event.agent, event.invocation_state)
        if run is None:
            return
        # It is called in a `finally`: an error on its way is the one that ended the invocation.
        error, result, key = sys.exc_info()[1], event.result, self._make_key(event.agent)
        if error is event.invocation_state.get(f"{key} error"):
            error = None
        reason = result.stop_reason if result is not None else ""
        try:
            await self._end_run(run, event, error, reason)
        except BaseException as hook_error:
            await run.aend(error=hook_error)
            raise
        finally:
            if not run.is_session_open or event.resume is None:
                self._forget_run(event)

    def _forget_run(self, event: BeforeInvocationEvent | AfterInvocationEvent) -> None:
        """Leave the state of an invocation as it was: the program may use it for others."""
        key = self._make_key(event.agent)
        event.invocation_state.pop(key, None)
        event.invocation_state.pop(f"{key} error", None)

    async def _end_run(
        self, run: AgentRun, event: AfterInvocationEvent, error: BaseException | None, reason: str
    ) -> None:
        if error is not None:
            await run.aend(error=error)
        elif reason in ("interrupt", "checkpoint"):
            self._attachment.suspend(run, _make_place(event.agent))
        elif reason == "cancelled":
            await run.acancel()
        else:
            await self._end_turn(run, event, reason)

    async def _end_turn(self, run: AgentRun, event: AfterInvocationEvent, reason: str) -> None:
        text = _read_text(event.result.message) if event.result is not None else None
        if event.resume is not None:
            # Something else makes the agent go on: that is its next turn.
            await run.aend_turn(text)
            return
        if run.is_turn_open and not run.is_stopped:
            can_continue = reason in ("end_turn", "stop_sequence")
            outcome = await run.astop(text, can_continue=can_continue, reason=reason)
            if outcome.feedback:
                event.resume = outcome.feedback
                return
        await run.aend_turn(text)
        await run.aend()

    # Requests to the model.

    async def _on_request(self, event: BeforeModelCallEvent) -> None:
        run = self._find_run(event.agent, event.invocation_state)
        if run is None:
            raise BridgeError("boathook was attached to an agent that was already running", fix="pass it to the agent")
        step = await run.abegin_step()
        if not step.proceeds:
            event.cancel = step.reason
        elif event.agent.messages and event.agent.messages[-1]["role"] == "user":
            event.agent.messages[-1]["content"] += [{"text": text} for text in run.take_context()]

    def _on_results(self, event: AfterToolsEvent) -> None:
        """Give the model the context of hooks, after the results of all calls."""
        run = self._find_run(event.agent, event.invocation_state)
        made = _list_ids(event.agent.messages[-1:], "toolUse")
        if run is None or made - _list_ids([event.message], "toolResult"):
            # Calls that wait for a person have no result yet, and this message is not kept.
            return
        if run.is_stopped:
            event.end_turn = run.stop_reason
        else:
            event.message["content"] += [{"text": text} for text in run.take_context()]

    # Tool calls.

    async def _guard_tool(self, context: ExecuteToolContext, next_fn: Any) -> AsyncGenerator[Any, None]:
        """Call a tool with its hooks around it; what it says meanwhile is passed on as it comes."""
        run, caller = self._find_run(context.agent, context.invocation_state), find_caller()
        # A caller with other hooks, perhaps of another framework, does not ask those of this agent.
        if run is None and caller is not None and caller.stack.has_hooks_of(self._attachment.hooks.stack):
            run = caller
        is_direct = run is None
        # `agent.tool.name(…)` outside an invocation is a session of its own.
        used = run or self._attachment.make_run(context.agent.session_id)
        call = _GuardedCall(used, context, next_fn, can_ask=run is not None and run is not caller)
        if is_direct:
            await self._begin_direct(used)
        task = asyncio.ensure_future(call.make())
        try:
            while (event := await call.events.get()) is not None:
                yield event
            result = await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            if is_direct:
                await used.aend()
        if result is not None:
            yield result

    async def _begin_direct(self, run: AgentRun) -> None:
        """Begin the session of a call by the program; what hooks refuse is an error, of which strands makes a result."""
        try:
            (await run.abegin()).raise_refusal()
        except BaseException as error:
            await run.aend(error=error)
            raise


class _ToolFailure(Exception):
    """A tool failed, and the framework made a result for the model of it."""


class _NoResult(Exception):
    """A tool ended without a result: it waits for a person."""


class _GuardedCall:
    """One call of a tool: what hooks see of its result, and the result as hooks left it."""

    def __init__(self, run: AgentRun, context: ExecuteToolContext, next_fn: Any, *, can_ask: bool) -> None:
        self._run, self._context, self._next, self._can_ask = run, context, next_fn, can_ask
        self._result: ToolResultEvent | None = None
        # What the tool says; None is the end.
        self.events: asyncio.Queue[Any] = asyncio.Queue()

    async def make(self) -> ToolResultEvent | None:
        """Call the tool with its hooks, and return the result; None if it waits for a person."""
        use = self._context.tool_use
        call = ToolCall(use["name"], use["input"] if isinstance(use["input"], Mapping) else {}, use["toolUseId"])
        passes = (InterruptException, _NoResult)
        try:
            outcome = await self._run.atool(call, self._execute, can_ask=self._can_ask, passes=passes)
            while outcome.ask is not None:
                self._run.answer(outcome.ask.token, _read_answer(self._ask_person(outcome.ask)))
                outcome = await self._run.atool(call, self._execute, can_ask=self._can_ask, passes=passes)
        except _NoResult:
            return None
        finally:
            self.events.put_nowait(None)
        return self._read_outcome(outcome)

    def _ask_person(self, ask: AskRequest) -> Any:
        """Return a person's answer, which counts once; raises InterruptException if there is none yet."""
        call, agent = ask.call, self._context.agent
        details = {"tool": call.name, "args": to_json_value(call.args), "reason": ask.reason, "call_id": call.id}
        if self._run.must_ask_again:
            # The answer to a question of other hooks has the name without a token.
            self._run.report_other_answer(call)
        else:
            name = _name_question(call)
            answer = self._context.interrupt(name, reason=details).response
            if used_answers.use("strands-agents", _make_place(agent, of_session=True), name, call.id):
                return answer
        return self._context.interrupt(_name_question(call, ask.token), reason=details).response

    async def _execute(self, call: ToolCall) -> Any:
        context = self._context
        if call.args != context.tool_use["input"]:
            context = context.replace(tool_use={**context.tool_use, "input": dict(call.args)})
        with enter_call(self._run):
            async for event in self._next(context):
                if isinstance(event, ToolResultEvent):
                    self._result = event
                else:
                    self.events.put_nowait(event)
        if self._result is None:
            raise _NoResult
        result = self._result.tool_result
        if self._result.exception is not None:
            raise self._result.exception
        if result["status"] == "error":
            raise _ToolFailure(_join_texts(result["content"]))
        return _read_content(result["content"])

    def _read_outcome(self, outcome: ToolOutcome) -> ToolResultEvent:
        """Return the tool's own result, changed only where hooks changed it."""
        made = self._result
        if not outcome.has_run or made is None:
            return self._make_result("error", [{"text": outcome.text}])
        result, content = made.tool_result, [*made.tool_result["content"]]
        if outcome.error is None and to_json_value(outcome.result) != to_json_value(_read_content(content)):
            content = _write_content(outcome.result, content)
        elif not outcome.objection:
            return made
        if outcome.objection:
            content.append({"text": outcome.objection})
        return self._make_result(result["status"], content, made.exception)

    def _make_result(self, status: Any, content: list[Any], error: Exception | None = None) -> ToolResultEvent:
        use_id = self._context.tool_use["toolUseId"]
        return ToolResultEvent({"toolUseId": use_id, "status": status, "content": content}, exception=error)


def _read_content(content: list[Any]) -> Any:
    """Return a result as hooks see it: a text, a value, or the blocks as they are."""
    if all(set(block) == {"text"} for block in content):
        return _join_texts(content)
    return content[0]["json"] if len(content) == 1 and set(content[0]) == {"json"} else content


def _write_content(value: Any, old: list[Any]) -> list[Any]:
    if isinstance(value, str):
        return [{"text": value}]
    if (
        isinstance(_read_content(old), list)
        and isinstance(value, list)
        and all(isinstance(each, dict) for each in value)
    ):
        return [dict(block) for block in value]
    return [{"json": to_json_value(value)}]


def _join_texts(content: list[Any]) -> str:
    return "\n".join(str(block["text"]) for block in content if "text" in block)


def _read_text(message: Any) -> str:
    return _join_texts(message["content"])


def _find_prompts(messages: list[Any]) -> list[int]:
    """Return where the new messages of the person are: those after the last one of the model, or the last one before."""
    return find_prompts(messages, lambda each: each["role"] == "user", lambda each: each["role"] == "assistant")


def _read_prompt(messages: list[Any]) -> str:
    """Return the texts of the person's last messages."""
    return join_texts(_read_text(messages[at]) for at in _find_prompts(messages))


def _replace_prompt(messages: list[Any], text: str) -> list[Any]:
    """Return messages with another text in the last ones of the person; images and files stay."""
    places = _find_prompts(messages)
    if not places:
        raise BridgeError("a hook changed the prompt, but this invocation has no new message that could be changed")
    return replace_prompts(messages, places, text, _replace_text)


def _replace_text(message: Any, text: str | None) -> Any:
    others = [block for block in message["content"] if "text" not in block]
    content = others if text is None else [{"text": text}, *others]
    return {**message, "content": content} if content else None


def _name_question(call: ToolCall, token: str = "") -> str:
    """Return a name that no other call has: a model may give one id to two calls, and strands would give both one answer."""
    text = json.dumps([call.name, to_json_value(call.args), *filter(None, [token])], sort_keys=True)
    return f"{_QUESTION} {hexdigest(text.encode())}"


def _read_answer(answer: Any) -> bool:
    word = answer.strip().lower() if isinstance(answer, str) else answer
    if not isinstance(word, bool | str) or word not in (*_YES, *_NO):
        message = f"a person was asked about a call, but the answer is {answer!r:.200}, neither yes nor no"
        error = BridgeError(message, fix='answer with True or False, or with "approve" or "deny"')
        # The framework gives the error to the model, and to nothing else.
        LOGGER.error("%s", error)
        raise error
    return word in _YES


def _list_ids(messages: list[Any], kind: str) -> set[str]:
    return {block[kind]["toolUseId"] for message in messages for block in message["content"] if kind in block}


def _make_place(agent: Any, *, of_session: bool = False) -> str:
    """Return what finds an agent again, or any agent that goes on in the same session."""
    place = f"strands {agent.session_id} {agent.agent_id}"
    return place if of_session else f"{place} {id(agent)}"


def _describe_hosted_tool(tool: Any) -> str:
    if isinstance(tool, Mapping):
        return str(tool.get("name") or tool.get("type") or "tool")
    return type(tool).__name__
