"""Hooks in agents of the OpenAI Agents SDK: `agent = guard(agent)`, then `Runner.run(agent, …)` as before.

from boathook.bridges.openai_agents import find_reason, guard

agent = guard(Agent(name="main", tools=[bash]))         # the file hooks of the user and of this folder
agent = guard(Agent(name="main", tools=[bash]), hooks)  # hooks = boathook.Hooks()
reasons = [find_reason(item) for item in result.interruptions]  # why hooks ask about calls
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import weakref
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, TypeVar, Unpack, get_type_hints

from boathook.bridges.attachment import Attachment, BridgeOptions, attach, enter_call, find_caller, require_version
from boathook.bridges.prompt_messages import find_prompts, join_texts, replace_prompts
from boathook.bridges.used_answers import UsedAnswers
from boathook.core.hashing import hexdigest
from boathook.core.json_text import dumps
from boathook.errors import BridgeError, Stopped
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.layers import LOGGER
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_outcome import RunOutcome, ToolOutcome

require_version("openai-agents", "0.24", before="1", extra="openai-agents")

from agents import Agent, FunctionTool, Handoff, RunConfig, RunContextWrapper, RunState, Tool, ToolSearchTool
from agents.items import ItemHelpers, ToolApprovalItem
from agents.result import RunResult, RunResultBase, RunResultStreaming
from agents.run import AgentRunner, get_default_agent_runner, set_default_agent_runner
from agents.run_config import CallModelData, ModelInputData
from agents.sandbox import SandboxAgent
from agents.tool import invoke_function_tool, resolve_function_tool_failure_error_function
from agents.tool_context import ToolContext

_AgentT = TypeVar("_AgentT", bound=Agent[Any])
# Where the state of a run that waits for a person has the run of its hooks.
_WAITING = "boathook_waiting_run"
_MAX_QUESTIONS = 1024
# The answers that were used, by the hooks that asked.
_used_answers: weakref.WeakKeyDictionary[Hooks, UsedAnswers] = weakref.WeakKeyDictionary()
# Agents that `guard` was given: they are not guarded themselves.
_given_agents: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def guard(agent: _AgentT, hooks: Hooks | None = None, **options: Unpack[BridgeOptions]) -> _AgentT:
    """Return the agent with hooks around its prompts, its tool calls, its stops, and the start and end of every run.

    Agents that it hands over to, and agents that are its tools, are guarded with it. The given agent is not changed. Without
    `hooks` they are the file hooks of the user and of `work_dir` (the current folder). `names` and `arguments` map tools and
    their arguments to the names that file hooks know; the rest is guessed. Tools that are not called by a function of this
    program cannot be guarded: they are refused unless `allow_unguarded` is set.
    """
    if not isinstance(agent, Agent):
        raise BridgeError(f"guard takes an Agent of openai-agents, not {type(agent).__name__}", fix="guard(agent)")
    attachment, earlier = attach("openai-agents", hooks, **options), _find_guard(agent)
    if earlier is not None and not attachment.covers_hooks_of(earlier.attachment):
        message = f"hooks are attached twice: the agent {agent.name} is guarded already, and those hooks would not run"
        raise BridgeError(message, fix="call guard(agent) once, and hooks.include(…) to add other hooks")
    runner = get_default_agent_runner()
    if not isinstance(runner, _GuardedRunner):
        set_default_agent_runner(_GuardedRunner(runner))
    guarded: _AgentT = _Guard(attachment).guard_agent(agent)
    if guarded is not agent:
        _given_agents[id(agent)] = agent
    return guarded


def _report_unguarded(agent: Any) -> None:
    """Warn once that an agent runs itself, without hooks, although it was given to `guard`."""
    if id(agent) in _given_agents:
        del _given_agents[id(agent)]
        LOGGER.warning(
            "the agent %s runs without hooks: `guard` does not change it, but returns a guarded copy. Run that: "
            "agent = guard(agent)",
            agent.name,
        )


def find_reason(item: ToolApprovalItem) -> str:
    """Return why a hook asks about a call of `result.interruptions`; "" if it is a question of the tool, or of another process."""
    guard_of_agent = _find_guard(item.agent)
    args = _read_args(str(_read_raw(item).get("arguments") or ""))
    call = ToolCall(item.tool_name or "", args, _read_call_id(item))
    return "" if guard_of_agent is None else guard_of_agent.find_question(call)


def _read_raw(item: ToolApprovalItem) -> Mapping[str, Any]:
    return item.raw_item if isinstance(item.raw_item, Mapping) else vars(item.raw_item)


def _read_call_id(item: ToolApprovalItem) -> str:
    return str(_read_raw(item).get("call_id") or "")


class _Guard:
    """Makes agents, tools and handoffs guarded; each is made once, so that runs share them."""

    def __init__(self, attachment: Attachment) -> None:
        self.attachment = attachment
        self._classes: dict[type, type] = {}
        # The original is kept, too: an id may be used again for another object.
        self._made: dict[int, tuple[Any, Any]] = {}
        # Why hooks ask about calls: the SDK's items have no place for it, and are copied.
        self._questions: OrderedDict[str, str] = OrderedDict()

    def note_question(self, call: ToolCall, reason: str) -> None:
        """Keep the reason of a question for `find_reason`."""
        self._questions[_make_call_key(call)] = reason
        while len(self._questions) > _MAX_QUESTIONS:
            self._questions.popitem(last=False)

    def find_question(self, call: ToolCall) -> str:
        """Return why hooks ask about a call, or ""."""
        return self._questions.get(_make_call_key(call), "")

    def guard_agent(self, agent: Any) -> Any:
        """Return a guarded copy of an agent and of all that it can hand over to."""
        if _find_guard(agent) is self:
            return agent
        if id(agent) in self._made:
            return self._made[id(agent)][1]
        if isinstance(agent, SandboxAgent):
            self.attachment.refuse_unguarded([f"the sandbox of {agent.name}"])
        self.refuse_hosted(agent)
        guarded = agent.clone(tools=[], handoffs=[])
        guarded.__class__ = self._make_class(_find_own_class(agent))
        # Agents may hand over to each other.
        self._made[id(agent)] = (agent, guarded)
        guarded.tools = self.guard_tools(agent.tools)
        guarded.handoffs = [self._guard_handoff(guarded, each) for each in agent.handoffs]
        return guarded

    def _make_class(self, own: type) -> type:
        """Return a class of agents that guards what is added to them later, such as the tools of MCP servers."""
        if own not in self._classes:
            guard_self = self

            async def get_all_tools(agent: Any, run_context: RunContextWrapper[Any]) -> list[Tool]:
                tools: list[Tool] = await own.get_all_tools(agent, run_context)  # type: ignore[attr-defined]
                handoffs = [each.tool_name for each in agent.handoffs if isinstance(each, Handoff)]
                guard_self.refuse_hosted(agent)
                guard_self.attachment.check_names([*(tool.name for tool in tools), *handoffs])
                return guard_self.guard_tools(tools)

            async def get_system_prompt(agent: Any, run_context: RunContextWrapper[Any]) -> Any:
                # The SDK asks for it before every request to the model.
                _find_running()
                return await own.get_system_prompt(agent, run_context)  # type: ignore[attr-defined]

            fields = {"_boathook_guard": self, "_boathook_class": own, "__module__": own.__module__}
            methods = {"get_all_tools": get_all_tools, "get_system_prompt": get_system_prompt}
            self._classes[own] = type(own.__name__, (own,), {**fields, **methods})
        return self._classes[own]

    def refuse_hosted(self, agent: Any) -> None:
        """Raise BridgeError for tools of the provider that do not come through `agent.tools`."""
        stored = [f"those of the stored prompt of {agent.name}"] if agent.prompt is not None else []
        self.attachment.refuse_unguarded([*stored, *_list_hosted(agent.model_settings, f"the agent {agent.name}")])

    def guard_tools(self, tools: list[Tool]) -> list[Tool]:
        """Return tools with hooks around their calls; raises BridgeError for those that cannot have any."""
        others = [tool for tool in tools if not isinstance(tool, FunctionTool | ToolSearchTool)]
        self.attachment.refuse_unguarded(str(getattr(tool, "name", type(tool).__name__)) for tool in others)
        return [self._guard_tool(tool) if isinstance(tool, FunctionTool) else tool for tool in tools]

    def _guard_tool(self, tool: FunctionTool) -> FunctionTool:
        guarded_tool = getattr(tool.on_invoke_tool, "__self__", None)
        if isinstance(guarded_tool, _GuardedTool):
            if guarded_tool.guard is self:
                return tool
            # Another guard's: only one may ask hooks.
            tool = guarded_tool.tool
        if id(tool) in self._made:
            made: FunctionTool = self._made[id(tool)][1]
            return made
        if tool._agent_instance is not None:
            # What it cannot guard, it refuses now.
            self.guard_agent(tool._agent_instance)
        guarded = _GuardedTool(self, tool).make_tool()
        if (tool._mcp_tool_binding is None and tool._tool_origin is None) or tool._is_agent_tool:
            self._made[id(tool)] = (tool, guarded)
        return guarded

    def _guard_handoff(self, owner: Any, target: Any) -> Any:
        """Return a handoff to a guarded agent. Hooks see it as a call of its tool; if they block it, `owner` goes on."""
        if isinstance(target, Agent):
            from agents import handoff

            target = handoff(target)
        if not isinstance(target, Handoff):
            raise BridgeError(f"{owner.name} hands over to {target!r:.100}, which is neither an Agent nor a Handoff")
        guarded, original = copy.copy(target), target.on_invoke_handoff
        reached = target._agent_ref() if target._agent_ref is not None else None
        if reached is not None:
            guarded._agent_ref = weakref.ref(self.guard_agent(reached))

        async def invoke(context: RunContextWrapper[Any], text: str) -> Any:
            reached_agents: list[Any] = []

            async def hand_over(call: ToolCall) -> str:
                changed = text if not call.args and not text else _write_args(call.args)
                reached_agents.append(self.guard_agent(await original(context, changed)))
                return target.get_transfer_message(reached_agents[0])

            state = _find_running()
            call = ToolCall(target.tool_name, _read_args(text))
            outcome = await state.call_hooks(state.run.atool(call, hand_over, can_ask=False))
            state.check_stop(outcome)
            if not outcome.has_run:
                state.run.add_context(f"{target.tool_name} was not carried out: {outcome.reason}")
                return owner
            if outcome.error is not None:
                raise outcome.error
            if outcome.objection:
                state.run.add_context(outcome.objection)
            return reached_agents[0]

        guarded.on_invoke_handoff = invoke
        return guarded


def _list_hosted(settings: Any, owner: str) -> list[str]:
    """Return what model settings add to the tools of a request."""
    extras = [(name, getattr(settings, name, None)) for name in ("extra_body", "extra_args")]
    is_hosted = [(name, isinstance(extra, Mapping) and bool(extra.get("tools"))) for name, extra in extras]
    return [f"the tools in {name} of the model settings of {owner}" for name, has_tools in is_hosted if has_tools]


def _find_guard(agent: Any) -> _Guard | None:
    return getattr(type(agent), "_boathook_guard", None)


def _find_own_class(agent: Any) -> type:
    return getattr(type(agent), "_boathook_class", None) or type(agent)


class _NestedRunWaits(Exception):
    """The agent in a tool waits for a person; the SDK calls the tool again with the answer."""

    def __init__(self, output: Any) -> None:
        super().__init__("the agent in the tool waits for a person")
        self.output = output


@dataclasses.dataclass
class _CallingTool:
    """A call of a tool that is being made: its errors, and whether an agent in it waits for a person."""

    state: _GuardedRun
    failures: list[Exception] = dataclasses.field(default_factory=list)
    has_waiting_agent: bool = False


class _GuardedTool:
    """A function tool with hooks around its calls. It keeps nothing about a run."""

    def __init__(self, guard_of_tool: _Guard, tool: FunctionTool) -> None:
        self.guard, self.tool = guard_of_tool, tool
        # A copy that reports its errors before it turns them into text for the model.
        self._inner = copy.copy(tool)
        self._inner._use_default_failure_error_function = False
        self._inner._failure_error_function = self._note_failure

    def make_tool(self) -> FunctionTool:
        guarded = copy.copy(self.tool)
        guarded.on_invoke_tool, guarded.needs_approval = self.invoke, self.needs_approval
        # The time limit is for the tool, not for its hooks.
        guarded.timeout_seconds = None
        return guarded

    async def _note_failure(self, context: RunContextWrapper[Any], error: Exception) -> Any:
        """Keep the error of a tool for the hooks, and return what the tool itself makes of it."""
        calling = _calling.get()
        if calling is not None:
            calling.failures.append(error)
        describe = resolve_function_tool_failure_error_function(self.tool, context)
        text: Any = None if describe is None else describe(context, error)
        return await text if hasattr(text, "__await__") else text

    async def needs_approval(self, context: RunContextWrapper[Any], args: dict[str, Any], call_id: str) -> bool:
        """Whether a person must be asked: by a hook, or by the tool itself."""
        state = _find_running()
        call = ToolCall(self.tool.name, args, call_id)
        outcome = await state.call_hooks(state.run.adecide(call, can_ask=True))
        if outcome.ask is not None:
            self.guard.note_question(call, outcome.ask.reason)
        own = self.tool.needs_approval
        if outcome.is_blocked:
            return False
        if not isinstance(own, bool):
            own = await own(context, args, call_id)
        return outcome.ask is not None or own

    async def invoke(self, context: ToolContext[Any], text: str) -> Any:
        """Call the tool with its hooks around it."""
        state = _find_running()
        call = ToolCall(self.tool.name, _read_args(text), context.tool_call_id)
        # Not an approval of all calls of a tool: a person saw only the questions about the calls before.
        if call.id in state.asked_calls and self._is_approved(context) and state.use_answer(call.id):
            state.run.answer_call(call, is_allowed=True)
        described: list[Any] = []

        async def operate(decided: ToolCall) -> Any:
            given = text if decided.args == call.args else _write_args(decided.args)
            return await self._operate(state, context, given, described)

        try:
            outcome = await state.call_hooks(state.run.atool(call, operate, can_ask=False, passes=(_NestedRunWaits,)))
        except _NestedRunWaits as waits:
            # The SDK makes the same call again.
            state.give_answer_back(call.id)
            return waits.output
        state.check_stop(outcome)
        return self._read_outcome(state, outcome, described)

    def _is_approved(self, context: ToolContext[Any]) -> bool:
        """Whether a person approved the call in the SDK's own way."""
        return context.is_tool_approved(self.tool.name, context.tool_call_id) is True

    async def _operate(self, state: _GuardedRun, context: ToolContext[Any], text: str, described: list[Any]) -> Any:
        calling = _CallingTool(state)
        token = _calling.set(calling)
        try:
            with enter_call(state.run):
                result = await invoke_function_tool(function_tool=self._inner, context=context, arguments=text)
        finally:
            _calling.reset(token)
        if calling.has_waiting_agent:
            raise _NestedRunWaits(result)
        if calling.failures:
            described.append(result)
            raise calling.failures[-1]
        return result

    def _read_outcome(self, state: _GuardedRun, outcome: ToolOutcome, described: list[Any]) -> Any:
        """Return what the model reads."""
        if not outcome.has_run:
            return outcome.reason
        result = outcome.result
        if outcome.error is not None:
            if not described:
                raise outcome.error
            result = described[0]
        if outcome.objection and isinstance(result, str):
            return f"{result}\n{outcome.objection}"
        if outcome.objection:
            state.run.add_context(outcome.objection)
        return result


# The SDK reads signature and types of this method at every call, and types that are text would be compiled each time.
_GuardedTool.invoke.__annotations__.update(get_type_hints(_GuardedTool.invoke))
_GuardedTool.invoke.__signature__ = inspect.signature(_GuardedTool.invoke)  # type: ignore[attr-defined]


def _read_args(text: str) -> dict[str, Any]:
    """Return the arguments of a call; the tool itself complains about those that are not a JSON object."""
    try:
        args = json.loads(text or "{}")
    except ValueError:
        return {"input": text}
    return args if isinstance(args, dict) else {"input": args}


def _make_call_key(call: ToolCall) -> str:
    return json.dumps([call.id, call.name, to_json_value(call.args)], sort_keys=True)


def _write_args(args: Mapping[str, Any]) -> str:
    return json.dumps(to_json_value(args))


class _GuardedRun:
    """One run of a guarded agent: the run of its hooks, and the texts that they added to the conversation."""

    def __init__(self, guard_of_run: _Guard, run: AgentRun, options: Mapping[str, Any]) -> None:
        self.guard, self.run = guard_of_run, run
        # Calls whose approval was used: the SDK goes on from the same result any number of times.
        self.used_answers: set[str] = set()
        # Calls that a person was asked about, and what the conversation was then: a state may be stored, and go on many times.
        self.asked_calls: set[str] = set()
        self._place, self._is_stored = "", False
        self.user_filter: Any = None
        # What hooks raised, which the SDK wraps in an error of its own.
        self.error: Exception | None = None
        # A conversation that the server keeps has what was sent once.
        server = ("conversation_id", "previous_response_id", "auto_previous_response_id")
        self._is_kept_by_server = any(options.get(name) for name in server)
        self._added: list[tuple[int, Any]] = []

    def is_for(self, guard_of_run: _Guard) -> bool:
        """Whether this run waits for answers, and has the hooks of a guard as they are now."""
        return self.guard is guard_of_run and self.run.is_session_open and not self._has_other_hooks(guard_of_run)

    def _has_other_hooks(self, guard_of_run: _Guard) -> bool:
        mine, theirs = self.guard.attachment, guard_of_run.attachment
        return not mine.is_same(theirs) or not self.run.stack.is_same(theirs.hooks.stack)

    def take_over(self, earlier: _GuardedRun) -> None:
        """Go on where another run waited: what it used of the person's answers is used, and those for other hooks do not count."""
        # The same set, because the earlier run may go on as well.
        self.used_answers = earlier.used_answers
        is_open, is_of_same = earlier.run.is_session_open, earlier.guard.attachment.hooks is self.guard.attachment.hooks
        if is_open and is_of_same and earlier._has_other_hooks(self.guard):
            self.run.must_ask_again = True

    def use_answer(self, call_id: str) -> bool:
        """Use up a person's approval of a call; False if it was used already."""
        by_place = _find_used_answers(self.guard)
        # Two conversations may be the same in all; states in memory are kept apart by their runs.
        kinds = ("stored", "known") if self._is_stored else ("stored",)
        if call_id in self.used_answers or any(by_place.has(self._place, call_id, kind) for kind in kinds):
            return False
        self.used_answers.add(call_id)
        by_place.use(self._place, call_id, "stored" if self._is_stored else "known")
        return True

    def give_answer_back(self, call_id: str) -> None:
        """Let an approval count once more: the SDK makes the same call again."""
        self.used_answers.discard(call_id)
        for kind in ("stored", "known"):
            _find_used_answers(self.guard).give_back(self._place, call_id, kind)

    async def call_hooks(self, outcome: Any) -> Any:
        """Await an event; an error of a hook ends the run as it is."""
        try:
            return await outcome
        except _NestedRunWaits:
            raise
        except Exception as error:
            self.error = error
            raise

    def check_stop(self, outcome: RunOutcome[Any]) -> None:
        if outcome.is_stopped or self.run.is_stopped:
            self.error = Stopped(self.run.stop_reason or outcome.reason)
            raise self.error

    def make_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a run with a filter that adds the texts of hooks to what the model reads."""
        config = options.get("run_config") or RunConfig()
        config = RunConfig(**config) if isinstance(config, dict) else config
        self.guard.attachment.refuse_unguarded(_list_hosted(config.model_settings, "the run"))
        own = config.call_model_input_filter
        while isinstance(getattr(own, "__self__", None), _GuardedRun):
            # An agent in a tool takes over the configuration of its caller.
            own = own.__self__.user_filter  # type: ignore[union-attr]
        self.user_filter = own
        return {**options, "run_config": dataclasses.replace(config, call_model_input_filter=self.filter_input)}

    async def filter_input(self, data: CallModelData[Any]) -> ModelInputData:
        """Give the model the context of hooks, after all results of tools."""
        if _find_guard(data.agent) is not self.guard:
            raise BridgeError(
                f"the agent {data.agent.name} is not guarded, but a guarded agent handed over to it",
                fix="add it to the handoffs before you call guard(agent)",
            )
        run = self.run
        self.check_stop(await self.call_hooks(run.abegin_step()))
        items = [*data.model_data.input]
        if self._is_kept_by_server:
            self._added.clear()
        self._added += [(len(items), {"role": "user", "content": text}) for text in run.take_context()]
        for at, item in reversed(self._added):
            items.insert(at, item)
        data.model_data.input = items
        if self.user_filter is None:
            return data.model_data
        changed = self.user_filter(data)
        changed_data: ModelInputData = await changed if hasattr(changed, "__await__") else changed
        return changed_data

    async def begin(self, prompt: Any) -> Any:
        """Begin the turn, and return the prompt as hooks left it; raises Blocked or Stopped."""
        if isinstance(prompt, RunState):
            self.run.resume()
            self._place, self._is_stored = _make_place(prompt), _WAITING not in prompt.__dict__
            self.asked_calls.update(_read_call_id(item) for item in prompt.get_interruptions())
            return prompt
        text = _read_prompt(prompt)
        prompt_outcome = await self.run.aprompt(text)
        prompt_outcome.raise_refusal()
        return (
            prompt if prompt_outcome.context.prompt == text else _replace_prompt(prompt, prompt_outcome.context.prompt)
        )

    async def find_next(self, result: RunResultBase, options: dict[str, Any]) -> Any:
        """Return the input that sends the agent back to work, or None if its run is over."""
        self.run.raise_stop()
        if isinstance(result, RunResult | RunResultStreaming) and result.interruptions:
            self._wait()
            return None
        outcome = await self.run.astop(str(result.final_output))
        outcome.raise_stop()
        if outcome.proceeds:
            await self.run.aend_turn(str(result.final_output))
            await self.run.aend()
            return None
        feedback = [{"role": "user", "content": outcome.feedback}]
        options["context"] = result.context_wrapper
        if options.get("previous_response_id") or options.get("auto_previous_response_id"):
            options["previous_response_id"] = result.last_response_id
            return feedback
        has_history = options.get("conversation_id") or options.get("session")
        return feedback if has_history else [*result.to_input_list(), *feedback]

    def _wait(self) -> None:
        self.run.suspend()
        calling = _calling.get()
        if calling is not None:
            calling.has_waiting_agent = True

    async def end(self, error: BaseException) -> BaseException:
        """End the turn and the session after an error; return the error that the caller gets."""
        if isinstance(error, Exception):
            error = Stopped(self.run.stop_reason) if self.run.is_stopped else self.error or error
        await self.run.aend(error=error)
        return error


# The run in whose task this is; its tools look here for their hooks.
_running: ContextVar[_GuardedRun | None] = ContextVar("boathook_openai_running", default=None)
# The call in which this is, and what the SDK does not say about it.
_calling: ContextVar[_CallingTool | None] = ContextVar("boathook_openai_calling", default=None)


def _find_running() -> _GuardedRun:
    state = _running.get()
    if state is None:
        raise BridgeError(
            "this agent is guarded by hooks, but they are not in this run: the runner of the SDK was replaced, or the agent is "
            "run without it",
            fix="run it with Runner.run, Runner.run_sync or Runner.run_streamed, and call guard(agent) after "
            "set_default_agent_runner",
        )
    return state


def _find_used_answers(guard_of_run: _Guard) -> UsedAnswers:
    """Return the answers that agents with the same hooks have used: ids of calls are not unique everywhere."""
    return _used_answers.setdefault(guard_of_run.attachment.hooks, UsedAnswers())


def _make_place(state: RunState[Any]) -> str:
    """Return what a conversation keeps when its state is stored: the first input, and the ids of all that came after."""
    responses = [(each.response_id, [_read_id(item) for item in each.output]) for each in state._model_responses]
    trace_id = getattr(state._trace_state, "trace_id", None)
    return hexdigest(dumps(to_json_value([state._original_input, responses, trace_id])).encode("utf-8", "replace"))


def _read_id(item: Any) -> Any:
    fields = item if isinstance(item, Mapping) else vars(item)
    return fields.get("call_id") or fields.get("id")


def _find_prompts(items: Any) -> list[int]:
    """Return where the new messages of the person are at the end of an input; the last one before if there are none."""
    roles = ("user", "system", "developer")
    return find_prompts(items, lambda item: item.get("role") == "user", lambda item: item.get("role") not in roles)


def _read_prompt(prompt: Any) -> str:
    """Return the texts of the last messages of the person."""
    if isinstance(prompt, str):
        return prompt
    return join_texts(_read_content(prompt[at].get("content")) for at in _find_prompts(prompt))


def _read_content(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part.get("text"), str))


def _replace_prompt(prompt: Any, text: str) -> Any:
    """Return the input with another text in the last messages of the person; images and files stay."""
    if isinstance(prompt, str):
        return text
    return replace_prompts(prompt, _find_prompts(prompt), text, _replace_text)


def _replace_text(item: Any, text: str | None) -> Any:
    content: Any = text
    if not isinstance(item["content"], str):
        others = [part for part in item["content"] if "text" not in part]
        content = [{"type": "input_text", "text": text}, *others] if text else others
    return {**item, "content": content} if content else None


class _GuardedResult(RunResult):
    """The result of a run, whose state knows the run: it goes on with a person's answers."""

    @classmethod
    def of(cls, result: RunResult, state: _GuardedRun) -> RunResult:
        """Return the same result, of this class."""
        if result.interruptions:
            result.__class__ = cls
            result.__dict__[_WAITING] = state
        return result

    def to_state(self) -> RunState[Any]:
        """Return the state from which the run goes on."""
        state = super().to_state()
        state.__dict__[_WAITING] = self.__dict__[_WAITING]
        return state


class _GuardedRunner(AgentRunner):
    """The runner of the SDK, which runs guarded agents with their hooks, and all others as before."""

    def __init__(self, bare: AgentRunner) -> None:
        self._bare = bare

    def _open(self, agent: Any, prompt: Any, options: Mapping[str, Any]) -> tuple[Any, _GuardedRun] | None:
        """Return the guarded agent and its run; None for an agent without hooks."""
        calling, caller, found = _calling.get(), find_caller(), _find_guard(agent)
        if found is None and calling is not None:
            # An agent in a tool of a guarded agent.
            found = calling.state.guard
        if found is None:
            _report_unguarded(agent)
            return None
        agent = found.guard_agent(agent)
        waiting = prompt.__dict__.get(_WAITING) if isinstance(prompt, RunState) else None
        waiting = waiting if isinstance(waiting, _GuardedRun) else None
        if waiting is not None and waiting.is_for(found):
            return agent, waiting
        context = options.get("context")
        # An agent as a tool gets the context of its caller in a wrapper.
        state = context.context if isinstance(context, RunContextWrapper) else context
        if caller is not None:
            run = found.attachment.make_child(caller, agent.name, state=state)
        else:
            model = _describe_model(agent, options)
            run = found.attachment.make_run(_find_session_id(options), state=state, model=model)
        opened = _GuardedRun(found, run, options)
        if waiting is not None:
            opened.take_over(waiting)
        return agent, opened

    async def run(self, starting_agent: Any, input: Any, **kwargs: Any) -> RunResult:  # noqa: A002
        """Run an agent with the events of its run around it."""
        opened = self._open(starting_agent, input, kwargs)
        if opened is None:
            return await self._bare.run(starting_agent, input, **kwargs)
        agent, state = opened
        token = _running.set(state)
        try:
            options = state.make_options(kwargs)
            prompt = await state.begin(input)
            while True:
                result = await self._bare.run(agent, prompt, **options)  # type: ignore[misc]
                following = await state.find_next(result, options)
                if following is None:
                    return _GuardedResult.of(result, state)
                agent, prompt = result.last_agent, following
        except BaseException as error:
            raised = await state.end(error)
            if raised is error:
                raise
            raise raised from error
        finally:
            _running.reset(token)

    def run_streamed(self, starting_agent: Any, input: Any, **kwargs: Any) -> RunResultStreaming:  # noqa: A002
        """Return a result that runs the agent while its events are read."""
        opened = self._open(starting_agent, input, kwargs)
        if opened is None:
            return self._bare.run_streamed(starting_agent, input, **kwargs)
        return _GuardedStream(self._bare, *opened, input, kwargs)


def _find_session_id(options: Mapping[str, Any]) -> str:
    return str(getattr(options.get("session"), "session_id", "") or options.get("conversation_id") or "")


def _describe_model(agent: Any, options: Mapping[str, Any]) -> str:
    model = getattr(options.get("run_config"), "model", None) or agent.model
    return model if isinstance(model, str) else str(getattr(model, "model", "") or "")


class _GuardedStream(RunResultStreaming):
    """The result of a streamed run. It begins when its events are read, and goes on if hooks send the agent back to work."""

    __slots__ = ("_guarded",)

    def __init__(self, bare: AgentRunner, agent: Any, state: _GuardedRun, prompt: Any, options: Any) -> None:
        context = options.get("context")
        if isinstance(prompt, RunState):
            context = prompt._context
        super().__init__(
            input=[] if isinstance(prompt, RunState) else ItemHelpers.input_to_new_input_list(prompt),
            new_items=[],
            raw_responses=[],
            final_output=None,
            input_guardrail_results=[],
            output_guardrail_results=[],
            tool_input_guardrail_results=[],
            tool_output_guardrail_results=[],
            context_wrapper=context if isinstance(context, RunContextWrapper) else RunContextWrapper(context=context),
            current_agent=agent,
            current_turn=0,
            max_turns=options.get("max_turns"),
            _current_agent_output_schema=None,
            trace=None,
        )
        self._guarded = _StreamedRun(bare, agent, state, prompt, options)

    async def stream_events(self) -> AsyncIterator[Any]:
        """Run the agent, and return its events as they come."""
        async with aclosing(self._guarded.stream(self)) as events:
            async for event in events:
                yield event

    def to_state(self) -> RunState[Any]:
        """Return the state from which the run goes on."""
        state = super().to_state()
        state.__dict__[_WAITING] = self._guarded.state
        return state

    def cancel(self, mode: Any = "immediate") -> None:
        """Cancel the run; hooks see it when the events have been read to their end."""
        self._guarded.cancel(mode)


class _StreamedRun:
    """What a streamed result needs while it runs."""

    def __init__(self, bare: AgentRunner, agent: Any, state: _GuardedRun, prompt: Any, options: Any) -> None:
        self._bare, self._agent, self.state, self._prompt = bare, agent, state, prompt
        self._options = state.make_options(options)
        self._inner: RunResultStreaming | None = None
        self._has_begun = self._is_cancelled = False

    def cancel(self, mode: Any) -> None:
        self._is_cancelled = True
        if self._inner is not None:
            self._inner.cancel(mode)

    async def stream(self, result: _GuardedStream) -> AsyncGenerator[Any, None]:
        if self._has_begun:
            if self._inner is not None and self._inner.is_complete:
                return
            raise BridgeError("the events of a guarded run can be read only once", fix="call stream_events() once")
        self._has_begun, state = True, self.state
        try:
            following = await state.begin(self._prompt)
            while following is not None and not self._is_cancelled:
                inner = self._inner = self._start(following)
                # From here on the result is the one of the SDK.
                object.__setattr__(result, "__dict__", inner.__dict__)
                async for event in inner.stream_events():
                    yield event
                if not self._is_cancelled:
                    following = await state.find_next(inner, self._options)
                    self._agent = inner.last_agent
            if self._is_cancelled:
                await state.run.acancel()
        except BaseException as error:
            if self._inner is not None and not isinstance(error, Exception):
                # The events are read no further, but the SDK's task would go on and call tools after the end of the session.
                self._inner.cancel()
            raised = await state.end(error)
            if raised is error:
                raise
            raise raised from error

    def _start(self, prompt: Any) -> RunResultStreaming:
        # The task of the SDK takes over what is set now.
        token = _running.set(self.state)
        try:
            return self._bare.run_streamed(self._agent, prompt, **self._options)
        finally:
            _running.reset(token)
