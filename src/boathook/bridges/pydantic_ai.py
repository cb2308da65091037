"""Hooks in agents of pydantic-ai: `Agent(…, capabilities=[Guarded()])`.

from boathook.bridges.pydantic_ai import Guarded

agent = Agent("openai:gpt-5", tools=[bash], capabilities=[Guarded()])       # the file hooks of the user and of this folder
agent = Agent("openai:gpt-5", tools=[bash], capabilities=[Guarded(hooks)])  # hooks = boathook.Hooks()
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Unpack, get_args

from boathook.bridges.attachment import (
    Attachment,
    BridgeOptions,
    add_objection,
    attach,
    enter_call,
    find_caller,
    require_version,
)
from boathook.bridges.prompt_messages import join_texts
from boathook.bridges.used_answers import used_answers
from boathook.core.json_text import is_same_json
from boathook.errors import BridgeError
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.call_memory import ANSWER_IS_USED
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_outcome import ToolOutcome
from boathook.inprocess.same_values import to_comparable

require_version("pydantic-ai-slim", "2.66", before="3", extra="pydantic-ai")

from pydantic import ValidationError
from pydantic_ai import AgentRunResult, DeferredToolRequests, RunContext, ToolDefinition
from pydantic_ai.agent import AbstractAgent, ModelRequestNode, UserPromptNode
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.output import OutputContext
from pydantic_graph import End

# A tool of the provider that every agent has: it searches the names of the agent's own tools, and does nothing else.
_TOOL_SEARCH = "tool_search"
# The last node of `run_stream`, which is not public.
_END_OF_STREAM = "SetFinalResult"
_NO_SECOND_REQUEST = "a hook refused the stop ({}), but `run_stream` has given out the answer already and cannot go on"
_OTHER_WAYS = "use `run`, `run_stream_events` or `iter`, which can"


class Guarded(AbstractCapability[Any]):
    """Hooks around an agent: its prompts, its tool calls, its stops, and the start and end of every run.

    Without `hooks` they are the file hooks of the user and of `work_dir` (the current folder). `names` and `arguments` map tools
    and their arguments to the names that file hooks know; the rest is guessed. Each run is a session with the id of its
    conversation, unless `session_id` is given. Tools that the model's provider runs cannot be guarded: they are refused unless
    `allow_unguarded` is set.
    """

    def __init__(self, hooks: Hooks | None = None, **options: Unpack[BridgeOptions]) -> None:
        # pydantic-ai calls a capability that is not an instance with the context of each run.
        if isinstance(hooks, RunContext):
            raise BridgeError("the agent has the class Guarded, not an instance of it", fix="capabilities=[Guarded()]")
        self._attachment: Attachment = attach("pydantic-ai", hooks, **options)
        self._run: AgentRun | None = None
        # The functions of this run that make its output; to list them takes a while, and they stay the same.
        self._output_names: list[str] | None = None
        # The prompt as hooks left it, if they changed it.
        self._new_prompt: Any = None
        # For each call that is being made, the arguments as hooks left them: another capability may change them in place.
        self._decided_args: dict[str, Any] = {}
        # Calls that tools deferred in this run, and whose results hooks have not seen: another capability may bring these at once.
        self._deferred_calls: dict[str, ToolCall] = {}

    def get_ordering(self) -> CapabilityOrdering:
        """Come last before a tool is called, so that hooks see what really runs."""
        return CapabilityOrdering(position="innermost")

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return nothing: hooks are Python objects."""
        return None

    def for_agent(self, agent: AbstractAgent[Any, Any]) -> Guarded:
        """Refuse an agent with tools that cannot be guarded."""
        tools = agent.root_capability.get_native_tools()
        self._refuse_native_tools([tool for tool in tools if not callable(tool)])
        return self

    def _refuse_native_tools(self, tools: list[Any]) -> None:
        self._attachment.refuse_unguarded(tool.kind for tool in tools if tool.kind != _TOOL_SEARCH)

    async def for_run(self, ctx: RunContext[Any]) -> Guarded:
        """Return a copy for one run: runs at once do not share anything but the hooks."""
        mine = copy.copy(self)
        mine._run, mine._new_prompt, mine._decided_args, mine._deferred_calls = None, None, {}, {}
        mine._output_names = None
        return mine

    @property
    def run(self) -> AgentRun:
        """Return the run of this copy."""
        if self._run is None:
            raise BridgeError("boathook was attached to an agent that was already running: pass Guarded() to the agent")
        return self._run

    # A run is a session with one turn; a run within a tool call is a subagent.

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Any) -> AgentRunResult[Any]:
        """Begin and end the session and the turn around a run."""
        _check_run(ctx)
        run = self._run = self._open_run(ctx)
        try:
            if ctx.prompt is not None:
                changed = await self._begin_turn(ctx.prompt)
                self._new_prompt = None if changed is None else _replace_text(ctx.prompt, changed)
            result: AgentRunResult[Any] = await handler()
            if isinstance(result.output, DeferredToolRequests):
                self._attachment.suspend(run, str(ctx.conversation_id))
                return result
            await run.aend_turn(str(result.output))
        except BaseException as error:
            await run.aend(error=error)
            raise
        await run.aend()
        return result

    def _open_run(self, ctx: RunContext[Any]) -> AgentRun:
        """Return the run that waits for approvals in this conversation, that of a subagent, or a new one."""
        conversation, parent = str(ctx.conversation_id), find_caller()
        waiting = self._attachment.find_waiting_run(conversation)
        if waiting is not None:
            # The program may go on in another request, with other dependencies.
            waiting.state = ctx
            return waiting.resume()
        if parent is not None:
            name = ctx.agent.name if ctx.agent is not None else None
            run = self._attachment.make_child(parent, name or "agent", _read_prompt(ctx.prompt), state=ctx)
            run.can_ask = _can_ask(ctx)
        else:
            fields = {"model": ctx.model.model_name, "can_ask": _can_ask(ctx), "state": ctx}
            run = self._attachment.make_run(conversation, **fields)
        self._attachment.refuse_other_answers(run, conversation)
        return run

    async def _begin_turn(self, prompt: Any) -> str | None:
        """Begin the turn; return the prompt as hooks left it, None if they did not change it."""
        run, text = self.run, _read_prompt(prompt)
        prompt_outcome = await run.aprompt(text)
        prompt_outcome.raise_stop()
        if not prompt_outcome.proceeds and run.subagent is not None:
            # A tool in which a subagent was blocked has failed; the model of its caller reads why.
            raise ToolFailed(prompt_outcome.reason)
        prompt_outcome.raise_refusal()
        return None if prompt_outcome.context.prompt == text else prompt_outcome.context.prompt

    # Requests to the model.

    async def before_node_run(self, ctx: RunContext[Any], *, node: Any) -> Any:
        """Put the prompt that hooks left in the place of the first one; begin a turn whose prompt is in the history.

        Show hooks the results of calls that are carried out elsewhere: they come with the prompt, or with the next request.
        """
        if isinstance(node, ModelRequestNode) and self._deferred_calls:
            parts = [await self._show_part(part) for part in node.request.parts]
            return dataclasses.replace(node, request=dataclasses.replace(node.request, parts=parts))
        if not isinstance(node, UserPromptNode):
            return node
        if node.user_prompt is None:
            await self._begin_turn_in_history(ctx.messages, has_results=node.deferred_tool_results is not None)
        elif self._new_prompt is not None:
            node, self._new_prompt = dataclasses.replace(node, user_prompt=self._new_prompt), None
        given = node.deferred_tool_results
        if given is None or not given.calls:
            return node
        made = _list_calls(ctx.messages)
        # The framework refuses results of calls that the history does not have.
        shown = {key: await self._show_result(made[key], value) for key, value in given.calls.items() if key in made}
        results = dataclasses.replace(given, calls={**given.calls, **shown})
        return dataclasses.replace(node, deferred_tool_results=results)

    async def _show_part(self, part: Any) -> Any:
        call = self._deferred_calls.pop(part.tool_call_id, None) if isinstance(part, ToolReturnPart) else None
        if call is None or part.outcome == "denied":
            return part
        if part.outcome != "success":
            await self._show_result(call, ToolFailed(str(part.content)))
            return part
        return dataclasses.replace(part, content=await self._show_result(call, part.content))

    async def _show_result(self, call: ToolCall, result: Any) -> Any:
        """Return the result of a call that was carried out elsewhere, as hooks leave it; errors are results, too."""
        failure = ModelRetry(result.model_response()) if isinstance(result, RetryPromptPart) else result
        try:
            if isinstance(failure, ToolFailed | ModelRetry):
                return self._read_outcome(await self.run.aafter_failure(call, failure))
            return self._read_outcome(await self.run.aafter(call, result))
        except (ToolFailed, ModelRetry) as error:
            return result if error is failure else error

    async def _begin_turn_in_history(self, messages: list[ModelMessage], *, has_results: bool) -> None:
        """Begin a turn with the prompt at the end of the history, as frontends give it; or go on with what was begun before."""
        found = _find_prompts(messages, has_results=has_results)
        if not found and messages:
            self.run.resume()
            return
        parts = [part for at in found for part in messages[at].parts if isinstance(part, UserPromptPart)]
        changed = await self._begin_turn([text for part in parts for text in _list_contents(part.content)])
        if changed is None:
            return
        if not found:
            raise BridgeError("a hook changed the prompt, but this run has none that could be changed")
        for at in found:
            messages[at] = _replace_prompts(messages[at], {id(parts[0]): changed})

    async def prepare_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        """Refuse tools whose calls are carried out elsewhere."""
        self._attachment.refuse_unguarded(tool.name for tool in tool_defs if tool.kind == "external")
        if self._output_names is None:
            outputs = _list_functions(ctx.agent.output_type) if ctx.agent is not None else ()
            self._output_names = [getattr(each, "__name__", "") for each in outputs]
        self._attachment.check_names([*(tool.name for tool in tool_defs), *self._output_names])
        return tool_defs

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Give the model the context of hooks, after all results of tools."""
        run = self.run
        self._refuse_native_tools([*request_context.model_request_parameters.native_tools])
        (await run.abegin_step()).raise_refusal()
        texts = run.take_context()
        if texts:
            parts = [UserPromptPart(text) for text in texts]
            message = ModelRequest(parts=parts, run_id=ctx.run_id, conversation_id=ctx.conversation_id)
            ctx.messages.append(message)
            request_context.messages = [*request_context.messages, message]
        return request_context

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        """Ask hooks whether the agent may stop, and send it back to work if not."""
        if not isinstance(result, End) or isinstance(result.data.output, DeferredToolRequests):
            return result
        outcome = await self.run.astop(str(result.data.output))
        outcome.raise_stop()
        if not outcome.proceeds:
            if type(node).__name__ == _END_OF_STREAM:
                raise BridgeError(_NO_SECOND_REQUEST.format(outcome.reason), fix=_OTHER_WAYS)
            ctx.enqueue(outcome.feedback)
        return result

    # Tool calls.

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], handler: Any
    ) -> Any:
        """Call a tool with its hooks around it."""
        run = self.run

        async def execute(decided: ToolCall) -> Any:
            final = _validate_args(ctx, decided, made, args)
            return await self._call_handler(call.tool_call_id, final, handler)

        made = ToolCall(call.tool_name, _read_args(tool_def, args), call.tool_call_id)
        # A tool that needs approval itself was asked about without the question of a hook.
        key = ("pydantic-ai", str(ctx.conversation_id), call.tool_call_id)
        if ctx.tool_call_approved and (run.find_question(made) or tool_def.kind != "unapproved"):
            # The framework takes the same results of deferred calls any number of times.
            if not used_answers.use(*key):
                raise ToolFailed(ANSWER_IS_USED)
            run.answer_call(made, is_allowed=True)
        try:
            return self._read_outcome(await run.atool(made, execute, passes=(ApprovalRequired, CallDeferred)))
        except ApprovalRequired:
            # A new question, so a new answer.
            used_answers.give_back(*key)
            raise
        except CallDeferred:
            self._deferred_calls[call.tool_call_id] = made
            raise

    async def _call_handler(self, call_id: str, final: Any, handler: Any) -> Any:
        self._decided_args[call_id] = to_comparable(final)
        try:
            with enter_call(self.run):
                return await handler(final)
        finally:
            self._decided_args.pop(call_id, None)

    def _is_decided(self, call_id: str, value: Any) -> bool:
        return call_id in self._decided_args and is_same_json(self._decided_args[call_id], to_comparable(value))

    def _read_outcome(self, outcome: ToolOutcome) -> Any:
        if outcome.ask is not None:
            raise ApprovalRequired({"reason": outcome.ask.reason, "token": outcome.ask.token})
        outcome.raise_stop()
        if not outcome.has_run:
            raise ToolFailed(outcome.reason)
        result = add_objection(self.run, outcome)
        if outcome.error is not None:
            raise outcome.error
        return result

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Let hooks look again if another capability changed the arguments after them."""
        if self._is_decided(call.tool_call_id, args):
            return args
        changed = ToolCall(call.tool_name, _read_args(tool_def, args), f"{call.tool_call_id}, changed")
        outcome = await self.run.adecide(changed)
        outcome.raise_stop()
        if not outcome.proceeds:
            raise ToolFailed(outcome.reason)
        return _validate_args(ctx, outcome.call, changed, args)

    # Functions that make the output: the model calls them, too, and the run ends with their result.

    async def wrap_output_process(
        self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any, handler: Any
    ) -> Any:
        """Call a function that makes the output with its hooks around it; the model reads why it was blocked."""
        if not output_context.has_function:
            return await handler(output)
        made, key = _make_output_call(ctx, output_context, output)

        async def execute(decided: ToolCall) -> Any:
            return await self._call_handler(made.id, _read_output_args(decided, made, key, output), handler)

        # The framework has no approvals for these functions.
        outcome = await self.run.atool(made, execute, can_ask=False)
        outcome.raise_stop()
        if outcome.error is not None:
            raise outcome.error
        if not outcome.proceeds:
            raise ModelRetry(outcome.reason)
        return outcome.result

    async def before_output_process(self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any) -> Any:
        """Let hooks look again if another capability changed the arguments of an output function after them."""
        if not output_context.has_function:
            return output
        made, key = _make_output_call(ctx, output_context, output)
        if self._is_decided(made.id, output):
            return output
        outcome = await self.run.adecide(dataclasses.replace(made, id=f"{made.id}, changed"), can_ask=False)
        outcome.raise_stop()
        if not outcome.proceeds:
            raise ModelRetry(outcome.reason)
        return _read_output_args(outcome.call, made, key, output)


def _make_output_call(ctx: RunContext[Any], context: OutputContext, output: Any) -> tuple[ToolCall, str]:
    """Return the call of an output function, and the name of its argument if it has only one: the framework unpacks that."""
    call = context.tool_call
    name = context.function_name or (call.tool_name if call is not None else "output")
    call_id = call.tool_call_id if call is not None else f"output of {ctx.run_id}"
    names = _list_parameters(ctx, context.function_name)
    if not names and context.object_def is not None:
        names = [*context.object_def.json_schema.get("properties", {})]
    fields = to_json_value(output)
    if isinstance(fields, dict):
        return ToolCall(name, output if isinstance(output, dict) else fields, call_id), ""
    key = names[0] if len(names) == 1 else "output"
    return ToolCall(name, {key: output}, call_id), key


def _list_parameters(ctx: RunContext[Any], function_name: str | None) -> list[str]:
    """Return the arguments of an output function of the agent that the model gives; none if the function is not known."""
    outputs = _list_functions(ctx.agent.output_type) if ctx.agent is not None else ()
    function = next((each for each in outputs if getattr(each, "__name__", None) == function_name), None)
    if function is None:
        return []
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if "RunContext" not in str(each.annotation)]


def _list_functions(output: Any) -> Iterator[Callable[..., Any]]:
    for each in _list_types(output):
        marked = [getattr(each, name, None) for name in ("output", "outputs", "output_function")]
        if not isinstance(each, type) and any(marked):
            yield from _list_functions(list(filter(None, marked)))
        elif callable(each) and not isinstance(each, type):
            yield each


def _read_output_args(decided: ToolCall, made: ToolCall, key: str, output: Any) -> Any:
    """Return the arguments of an output function as hooks left them, in the shape that the framework takes."""
    before, after = dict(made.args), dict(decided.args)
    if is_same_json(to_json_value(before), to_json_value(after)):
        return output
    is_same_shape = before.keys() == after.keys() and all(type(before[name]) is type(after[name]) for name in before)
    if not is_same_shape or not (key or isinstance(output, dict)):
        raise ModelRetry(f"a hook changed the arguments of {made.name}, and the function does not take them")
    return after[key] if key else after


def _read_args(tool_def: ToolDefinition, args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the model gives them: if a tool takes one object, these are its fields."""
    fields = to_json_value(next(iter(args.values()))) if len(args) == 1 else None
    if not isinstance(fields, dict):
        return args
    known = tool_def.parameters_json_schema.get("properties", {}).keys()
    return args if args.keys() <= known and fields.keys() != known else fields


def _validate_args(ctx: RunContext[Any], call: ToolCall, made: ToolCall, args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that hooks left as the tool takes them: they may have put JSON in place of an object."""
    before = made.args
    if call.args.keys() == before.keys() and all(call.args[name] is value for name, value in before.items()):
        return args
    if before is not args and is_same_json(to_json_value(call.args), before):
        return args
    tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
    tool = (tools or {}).get(call.name)
    if tool is None:
        return dict(call.args)
    try:
        validated: dict[str, Any] = tool.args_validator.validate_python(dict(call.args), context=ctx.validation_context)
    except ValidationError as error:
        message = f"a hook changed the arguments of {call.name}, and the tool does not take them: {error}"
        raise ToolFailed(message) from error
    return validated


def _read_prompt(prompt: Any) -> str:
    """Return the texts of a prompt, which may have images and files between them."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return join_texts(map(_read_text, prompt))


def _read_text(part: Any) -> str:
    text = part if isinstance(part, str) else getattr(part, "content", "")
    return text if isinstance(text, str) else ""


def _list_calls(messages: list[ModelMessage]) -> dict[str, ToolCall]:
    """Return the calls that the model made last, by id."""
    response = next((each for each in reversed(messages) if isinstance(each, ModelResponse)), None)
    calls = response.tool_calls if response is not None else ()
    return {call.tool_call_id: ToolCall(call.tool_name, call.args_as_dict(), call.tool_call_id) for call in calls}


def _list_contents(content: Any) -> list[Any]:
    return [content] if isinstance(content, str) else [*content]


def _find_prompts(messages: list[ModelMessage], *, has_results: bool) -> list[int]:
    """Return where new prompts are at the end of a history; beside results of tools may be texts that tools made."""
    found: list[int] = []
    for at in reversed(range(len(messages))):
        message = messages[at]
        if not isinstance(message, ModelRequest):
            break
        is_of_tools = has_results and any(isinstance(part, ToolReturnPart | RetryPromptPart) for part in message.parts)
        if not is_of_tools and any(isinstance(part, UserPromptPart) for part in message.parts):
            found.insert(0, at)
    return found


def _replace_prompts(message: Any, texts: Mapping[int, str]) -> ModelRequest:
    """Return a request with other texts in its prompts, by the identity of these; the rest have none. Images and files stay."""
    parts = [
        dataclasses.replace(part, content=_replace_text(part.content, texts.get(id(part), "")))
        if isinstance(part, UserPromptPart)
        else part
        for part in message.parts
    ]
    return dataclasses.replace(message, parts=parts)


def _replace_text(prompt: Any, text: str) -> Any:
    return text if isinstance(prompt, str) else [text, *(part for part in prompt if not _read_text(part))]


def _check_run(ctx: RunContext[Any]) -> None:
    if not isinstance(ctx.model, Model):
        message = "hooks cannot guard a realtime session of pydantic-ai: it has no place for prompts, stops and context"
        raise BridgeError(message, fix="use `run`, `run_stream_events` or `iter`")
    if sum(isinstance(capability, Guarded) for capability in _list_capabilities(ctx)) > 1:
        raise BridgeError(
            "Guarded is attached twice, so that hooks would run twice",
            fix="pass one Guarded() to the agent, and none to the run",
        )


def _list_capabilities(ctx: RunContext[Any]) -> list[AbstractCapability[Any]]:
    found: list[AbstractCapability[Any]] = []
    if ctx.root_capability is not None:
        ctx.root_capability.apply(found.append)
    return found


def _can_ask(ctx: RunContext[Any]) -> bool:
    """Whether the framework can put a question to a person: the agent may end with approvals, or something answers them."""
    if ctx.agent is not None and DeferredToolRequests in _list_types(ctx.agent.output_type):
        return True
    default = AbstractCapability.handle_deferred_tool_calls
    return any(type(each).handle_deferred_tool_calls is not default for each in _list_capabilities(ctx))


def _list_types(output: Any) -> Iterator[Any]:
    if isinstance(output, list | tuple):
        for each in output:
            yield from _list_types(each)
    elif get_args(output):
        yield from _list_types(get_args(output))
    else:
        yield output
