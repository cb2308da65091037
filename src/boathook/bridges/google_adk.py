"""Hooks in agents of google-adk: `App(…, plugins=[BoathookPlugin()])`.

from boathook.bridges.google_adk import BoathookPlugin

app = App(name="app", root_agent=agent, plugins=[BoathookPlugin()])       # the file hooks of the user and of this folder
app = App(name="app", root_agent=agent, plugins=[BoathookPlugin(hooks)])  # hooks = boathook.Hooks()
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Any, Unpack
from weakref import WeakKeyDictionary

from boathook.bridges.attachment import (
    Attachment,
    BridgeOptions,
    add_objection,
    attach,
    find_caller,
    note_call,
    require_version,
)
from boathook.bridges.prompt_messages import join_texts
from boathook.bridges.used_answers import used_answers
from boathook.errors import Blocked, BridgeError, Stopped
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.call_memory import ANSWER_IS_USED
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_outcome import RunOutcome, ToolOutcome

require_version("google-adk", "2.13", before="3", extra="google-adk")

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.set_model_response_tool import SetModelResponseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

# A call that the model did not make: its response sends the model back to work.
_FEEDBACK = "boathook_feedback"
_CONFIRMATION = "adk_request_confirmation"
# What ADK asks the program itself: the answers are no results of tools.
_OWN_REQUESTS = (_CONFIRMATION, "adk_request_credential", "adk_request_input")
# Agents that run their tools elsewhere, by the names of their classes: importing them needs more packages.
_OPAQUE_AGENTS = {"RemoteA2aAgent", "LangGraphAgent", "ManagedAgent"}
# Fields of a tool of the model's provider whose calls come back as function calls.
_OWN_CALLS = {"function_declarations", "computer_use"}
_Place = tuple[str, str | None]


@dataclass
class _Invocation:
    """One run of an agent, as the plugin knows it."""

    run: AgentRun
    # The task that began the run; it may be another one later.
    task: asyncio.Task[Any] | None
    # A person must answer before it goes on.
    is_waiting: bool = False
    # Hooks let the agent stop, and it did nothing since.
    may_stop: bool = False
    last_text: str | None = None
    # The texts of hooks that each agent has read, and where.
    added: dict[_Place, list[tuple[int, types.Content]]] = field(default_factory=dict)
    # The calls that are being made, by tool context, with the arguments as hooks left them.
    calls: dict[int, ToolCall] = field(default_factory=dict)
    # What the model reads when it may not stop, by call.
    feedback: dict[str, str] = field(default_factory=dict)
    is_watched: bool = False
    # Agents may want to stop at once, and a run counts the refusals of one.
    stop_lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class BoathookPlugin(BasePlugin):
    """Hooks around all agents of an app: their prompts, tool calls and stops, and the start and end of every run.

    Without `hooks` they are the file hooks of the user and of `work_dir` (the current folder). `names` and `arguments` map tools
    and their arguments to the names that file hooks know; the rest is guessed. Each run is a session with the id of its ADK
    session, unless `session_id` is given. Tools that the model's provider runs cannot be guarded: they are refused unless
    `allow_unguarded` is set.
    """

    def __init__(self, hooks: Hooks | None = None, **options: Unpack[BridgeOptions]) -> None:
        super().__init__(name="boathook")
        self._attachment: Attachment = attach("google-adk", hooks, **options)
        self._attachment.hooks.run().refuse_middleware()
        # The runs that are going on, by session and invocation: ADK has no other place for what belongs to a run.
        self._invocations: dict[str, _Invocation] = {}
        self._endings: set[asyncio.Task[None]] = set()
        # How often hooks refused a stop of each agent, and which, by run: all agents of a run would use up one bound.
        self._refusals: WeakKeyDictionary[AgentRun, dict[_Place, tuple[int, tuple[int | str, ...]]]] = (
            WeakKeyDictionary()
        )

    # A run is a session with one turn; a run within a tool call is a subagent.

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Begin the session and the turn; return the prompt as hooks left it, if they changed it."""
        self._check_run(invocation_context)
        invocation = self._open_invocation(invocation_context)
        if any(part.function_response for part in user_message.parts or ()):
            invocation.run.resume()
            try:
                return await self._show_results(invocation, invocation_context, user_message)
            except BaseException as error:
                await self._end_invocation(invocation_context, error)
                raise
        text, run = _read_text(user_message), invocation.run
        try:
            prompt_outcome = await run.aprompt(text)
            prompt_outcome.raise_refusal()
        except BaseException as error:
            await self._end_invocation(invocation_context, error)
            raise
        if prompt_outcome.context.prompt == text:
            return None
        others = [part for part in user_message.parts or () if not part.text]
        return types.Content(role=user_message.role, parts=[types.Part(text=prompt_outcome.context.prompt), *others])

    async def _show_results(
        self, invocation: _Invocation, context: InvocationContext, message: types.Content
    ) -> types.Content | None:
        """Show hooks results of tools that come later, from the program: return the message if they changed it."""
        parts = [await self._show_result(invocation, context, part) for part in message.parts or ()]
        is_same = all(map(is_, parts, message.parts or ()))
        return None if is_same else types.Content(role=message.role, parts=parts)

    async def _show_result(self, invocation: _Invocation, context: InvocationContext, part: types.Part) -> types.Part:
        response = part.function_response
        if response is None:
            return part
        # By the call that the session has, not by the name that the answer claims to have.
        made = _find_call(context, response.id or "")
        name = str((response if made is None else made).name or "")
        if made is not None and name in _OWN_REQUESTS:
            return part
        given: Any = response.response
        is_wrapped = isinstance(given, dict) and given.keys() == {"result"}
        result = given["result"] if is_wrapped else given
        call = ToolCall(name, {} if made is None else made.args or {}, response.id or "")
        outcome = await invocation.run.aafter(call, result)
        outcome.raise_stop()
        changed = add_objection(invocation.run, outcome)
        if changed is result:
            return part
        new = changed if isinstance(changed, dict) and not is_wrapped else {"result": changed}
        return types.Part(function_response=response.model_copy(update={"response": new}))

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        """Begin a run that goes on without a message."""
        self._check_run(invocation_context)
        if self._find_invocation(invocation_context) is None:
            self._open_invocation(invocation_context).run.resume()
        return None

    def _check_run(self, context: InvocationContext) -> None:
        config, plugins = context.run_config, context.plugin_manager.plugins
        if context.live_request_queue is not None or (config is not None and config.support_cfc):
            raise BridgeError(
                "hooks cannot guard a live run of google-adk: it has no place for prompts, stops and context",
                fix="use `run_async` or `run`, without `support_cfc`",
            )
        if plugins and plugins[0] is not self and not self._attachment.allow_unguarded:
            message = f"the plugin '{plugins[0].name}' is before boathook, and can answer so that hooks are not asked"
            raise BridgeError(
                message, fix="make BoathookPlugin the first of the plugins, or accept it with allow_unguarded=True"
            )

    def _open_invocation(self, context: InvocationContext) -> _Invocation:
        """Return the run that waits for approvals in this conversation, that of a subagent, or a new one."""
        known = self._find_invocation(context)
        if known is not None:
            return known
        parent, key = find_caller(), _make_key(context)
        waiting = run = self._attachment.find_waiting_run(key)
        if run is None and parent is not None:
            name = context.agent.name if context.agent is not None else "agent"
            run = self._attachment.make_child(parent, name, _read_text(context.user_content), state=context)
            # ADK cannot go on with an agent in a tool that waits for a person.
            run.can_ask = False
        elif run is None:
            model = getattr(context.agent, "model", "")
            fields = {"model": model if isinstance(model, str) else "", "can_ask": True, "state": context}
            run = self._attachment.make_run(context.session.id, **fields)
        if waiting is None:
            self._attachment.refuse_other_answers(run, key)
        task = asyncio.current_task()
        opened = self._invocations[key] = _Invocation(run, task)
        if task is not None:
            task.add_done_callback(lambda done: self._end_if_cancelled(key, opened, done))
        return opened

    def _find_invocation(self, context: InvocationContext) -> _Invocation | None:
        return self._invocations.get(_make_key(context))

    def _get_invocation(self, context: CallbackContext) -> _Invocation:
        found = self._find_invocation(context.get_invocation_context())
        if found is None:
            raise BridgeError(
                "boathook does not know this run of google-adk, so its hooks cannot guard it: it did not begin with this "
                "plugin, or it has ended",
                fix="pass plugins=[BoathookPlugin()] to the App, and run it with its Runner",
            )
        return found

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """End the turn and the session, unless the run waits for a person."""
        invocation = self._find_invocation(invocation_context)
        if invocation is None:
            return
        run = invocation.run
        if invocation.is_waiting and run.subagent is None:
            self._invocations.pop(_make_key(invocation_context), None)
            self._attachment.suspend(run, _make_key(invocation_context))
            return
        try:
            if not invocation.may_stop and run.is_turn_open:
                # It ended without an answer of the model, so that there was nothing to send it back from.
                await run.astop(invocation.last_text, can_continue=False, reason="ended")
            await run.aend_turn(invocation.last_text)
        except BaseException as error:
            await self._end_invocation(invocation_context, error)
            raise
        await self._end_invocation(invocation_context, None)

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        """End the turn and the session because of an error."""
        cause = error.__cause__
        await self._end_invocation(invocation_context, cause if isinstance(cause, Blocked | Stopped) else error)

    async def _end_invocation(self, context: InvocationContext, error: BaseException | None) -> None:
        invocation = self._invocations.pop(_make_key(context), None)
        if invocation is not None:
            await invocation.run.aend(error=error)

    def _end_if_cancelled(self, key: str, invocation: _Invocation, done: asyncio.Task[Any]) -> None:
        """End a run whose task was cancelled: ADK calls no plugin then. The end of the event loop waits for it."""
        beginner = invocation.task
        is_over = done is beginner or beginner is None or beginner.done() or beginner.cancelling() > 0
        if done.cancelled() and is_over and self._invocations.get(key) is invocation:
            del self._invocations[key]
            ending = done.get_loop().create_task(invocation.run.acancel())
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)

    async def close(self) -> None:
        """End the runs that were given up."""
        while self._invocations:
            _, invocation = self._invocations.popitem()
            await invocation.run.acancel()

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> types.Content | None:
        """Refuse agents that cannot be guarded; see when the run is cancelled."""
        invocation = self._get_invocation(callback_context)
        if _OPAQUE_AGENTS & {each.__name__ for each in type(agent).__mro__}:
            self._attachment.refuse_unguarded([f"those of the agent {agent.name}"])
        task = asyncio.current_task()
        if not invocation.is_watched and task is not None:
            invocation.is_watched = True
            key = _make_key(callback_context.get_invocation_context())
            task.add_done_callback(lambda done: self._end_if_cancelled(key, invocation, done))
        return None

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        """See whether the run ends with a question to a person."""
        invocation = self._find_invocation(invocation_context)
        if invocation is not None and any(call.name == _CONFIRMATION for call in event.get_function_calls()):
            invocation.is_waiting = True
        return None

    # Requests to the model.

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Give the model the context of hooks, after all results of tools."""
        invocation = self._get_invocation(callback_context)
        run, context = invocation.run, callback_context.get_invocation_context()
        self._attachment.refuse_unguarded(_list_unguarded(llm_request, context.agent))
        self._attachment.check_names(llm_request.tools_dict)
        (await run.abegin_step()).raise_refusal()
        invocation.may_stop = False
        place = (callback_context.agent_name, context.branch)
        added = invocation.added.setdefault(place, [])
        # ADK makes the contents again from its session for each request.
        for at, content in added:
            _insert_content(llm_request.contents, at, content)
        for text in run.take_context():
            content = types.Content(role="user", parts=[types.Part(text=text)])
            added.append((len(llm_request.contents), content))
            llm_request.contents.append(content)
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Ask hooks whether the agent may stop, and send it back to work if not."""
        invocation = self._get_invocation(callback_context)
        content = llm_response.content
        if llm_response.partial:
            return None
        parts = content.parts or [] if content is not None else []
        text = _read_text(content)
        if any(part.function_call for part in parts):
            return None
        # An answer without text, such as an image or a thought, ends the agent, too.
        outcome = await self._ask_to_stop(invocation, callback_context, text)
        if outcome.proceeds:
            return None
        call = types.FunctionCall(id=f"adk-{uuid.uuid4()}", name=_FEEDBACK, args={})
        invocation.feedback[str(call.id)] = outcome.feedback
        changed = types.Content(role="model", parts=[*parts, types.Part(function_call=call)])
        return llm_response.model_copy(update={"content": changed, "error_code": None, "error_message": None})

    # Tool calls.

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Ask hooks about a call; what they refuse is answered here, so that the tool does not run."""
        invocation = self._get_invocation(tool_context)
        run, call_id = invocation.run, tool_context.function_call_id or ""
        if call_id in invocation.feedback:
            return {"feedback": invocation.feedback[call_id]}
        if isinstance(tool, SetModelResponseTool):
            stop = await self._ask_to_stop(invocation, tool_context, str({**tool_args}))
            if not stop.proceeds:
                return {"error": stop.feedback}
        call, confirmation = ToolCall(tool.name, {**tool_args}, call_id), tool_context.tool_confirmation
        # A tool that is a node of a workflow cannot wait for the answer to a plugin's question.
        can_ask = None if tool_context.node is None else False
        if confirmation is not None and run.must_ask_again:
            # ADK asks once about a call.
            can_ask = False
        if confirmation is not None and confirmation.confirmed:
            # Several resumptions at once may have the same answer.
            key = _make_key(tool_context.get_invocation_context())
            if not used_answers.use("google-adk", key, call_id):
                return {"error": ANSWER_IS_USED}
        if confirmation is not None:
            run.answer_call(call, is_allowed=confirmation.confirmed)
        if not (confirmation is not None and confirmation.confirmed) and await _asks_itself(
            tool, tool_args, tool_context
        ):
            # The tool's own question comes first, and the answer is for both.
            outcome, is_made = await run.adecide(call, can_ask=can_ask), False
        else:
            outcome, is_made = await run.abefore(call, can_ask=can_ask), True
        answer = _read_refusal(outcome, tool_context)
        if answer is None and is_made:
            _replace_args(tool_args, outcome.call.args)
            invocation.calls[id(tool_context)] = ToolCall(tool.name, {**tool_args}, outcome.call.id)
            note_call(run)
            self._look_again(tool_context)
        return answer

    async def _ask_to_stop(self, invocation: _Invocation, context: CallbackContext, text: str) -> RunOutcome[Any]:
        """Ask whether an agent may stop with an answer; refusals are counted for each agent."""
        run, counts = invocation.run, self._refusals.setdefault(invocation.run, {})
        place = (context.agent_name, context.get_invocation_context().branch)
        async with invocation.stop_lock:
            run.refused_stops, run.refused_by = counts.get(place, (0, ()))
            outcome: RunOutcome[Any] = await run.astop(text)
            counts[place] = (run.refused_stops, run.refused_by)
        outcome.raise_stop()
        if outcome.proceeds:
            # In a loop it may begin again.
            counts.pop(place, None)
        invocation.may_stop, invocation.last_text = outcome.proceeds, text
        return outcome

    def _look_again(self, tool_context: ToolContext) -> None:
        """Let the agent call `check_args` after its own callbacks: they may change the arguments after the hooks."""
        agent: Any = tool_context.get_invocation_context().agent
        callbacks = getattr(agent, "canonical_before_tool_callbacks", None)
        if callbacks is not None and self.check_args not in callbacks:
            agent.before_tool_callback = [*callbacks, self.check_args]

    async def check_args(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Let hooks look again if something changed the arguments after them."""
        invocation = self._find_invocation(tool_context.get_invocation_context())
        call = invocation.calls.get(id(tool_context)) if invocation is not None else None
        if invocation is None or call is None or args == call.args:
            return None
        outcome = await invocation.run.adecide(ToolCall(tool.name, {**args}, f"{call.id}, changed"), can_ask=False)
        answer = _read_refusal(outcome, tool_context)
        if answer is None:
            _replace_args(args, outcome.call.args)
        return answer

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Show hooks the result; return it if they changed it."""
        invocation = self._get_invocation(tool_context)
        call = invocation.calls.pop(id(tool_context), None)
        if call is None:
            return None
        outcome = await invocation.run.aafter(call, result)
        outcome.raise_stop()
        changed = add_objection(invocation.run, outcome)
        if changed is result:
            return None
        return changed if isinstance(changed, dict) else {"result": changed}

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: BaseException
    ) -> dict[str, Any] | None:
        """Show hooks the error of a tool, which ends the run as it does without them."""
        invocation = self._get_invocation(tool_context)
        call = invocation.calls.pop(id(tool_context), None)
        if call is None:
            return None
        run, cause = invocation.run, error.__cause__
        outcome = await run.aafter_failure(call, error)
        if run.is_stopped:
            raise Stopped(run.stop_reason) from error
        if isinstance(cause, Blocked):
            # A subagent was blocked; the model of its caller reads why.
            return {"error": cause.reason}
        if outcome.objection:
            run.add_context(outcome.objection)
        return None


def _make_key(context: InvocationContext) -> str:
    return f"{context.session.id}/{context.invocation_id}"


def _find_call(context: InvocationContext, call_id: str) -> types.FunctionCall | None:
    """Return a call that was made in this session."""
    calls = (call for event in reversed(context.session.events) for call in event.get_function_calls())
    return next((call for call in calls if call_id and call.id == call_id), None)


def _read_text(content: types.Content | None) -> str:
    """Return the texts of a message, without what the model only thought."""
    parts = content.parts or [] if content is not None else []
    return join_texts(part.text or "" for part in parts if not part.thought)


def _list_unguarded(request: LlmRequest, agent: Any) -> Iterator[str]:
    """Return what the model can call where no plugin sees it."""
    tools = request.config.tools or [] if request.config is not None else []
    for tool in tools:
        if isinstance(tool, types.Tool):
            yield from (name for name, value in tool if value is not None and name not in _OWN_CALLS)
        else:
            yield type(tool).__name__
    for own in request.tools_dict.values():
        if isinstance(own, AgentTool) and not own.include_plugins:
            yield f"those of the agent {own.name} (include_plugins=False)"
    if getattr(agent, "code_executor", None) is not None:
        yield f"the code executor of the agent {agent.name}"


def _insert_content(contents: list[types.Content], at: int, content: types.Content) -> None:
    """Put a text where it was; results of tools stay with their calls."""
    while at < len(contents) and any(part.function_response for part in contents[at].parts or ()):
        at += 1
    contents.insert(at, content)


async def _asks_itself(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> bool:
    return await tool.check_require_confirmation(args, tool_context) is True


def _replace_args(args: dict[str, Any], changed: Mapping[str, Any]) -> None:
    if args != changed:
        args.clear()
        args.update(changed)


def _read_refusal(outcome: ToolOutcome, tool_context: ToolContext) -> dict[str, Any] | None:
    """Return what the model reads instead of a result, or None if the tool may run."""
    if outcome.ask is not None:
        tool_context.request_confirmation(hint=outcome.ask.reason)
        # Otherwise the model would be asked before the person.
        tool_context.actions.skip_summarization = True
        return {"error": f"a person is asked first: {outcome.ask.reason}"}
    outcome.raise_stop()
    return None if outcome.proceeds else {"error": outcome.text}
