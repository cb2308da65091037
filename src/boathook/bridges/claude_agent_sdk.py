"""Hooks in agents of claude-agent-sdk: `ClaudeAgentOptions(**boathook_hooks())`.

from boathook.bridges.claude_agent_sdk import boathook_hooks, guard_session

options = ClaudeAgentOptions(**boathook_hooks())       # the file hooks of the user and of this folder
options = ClaudeAgentOptions(**boathook_hooks(hooks))  # hooks = boathook.Hooks()

async with guard_session(options) as options:          # a session that ends, and errors of hooks that are raised
    async for message in query(prompt="…", options=options): ...
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Unpack

from boathook.assembly import load_catalog
from boathook.bridges.attachment import Attachment, BridgeOptions, attach, require_version
from boathook.bridges.server_tools import ServerToolNames
from boathook.core.event import POST_SESSION
from boathook.core.outcome import Decision
from boathook.errors import BridgeError, HookError, Stopped
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.contexts import CompactionContext, NotificationContext
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.layers import DEFAULT_MAX_ROUNDS, LOGGER
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_outcome import RunOutcome, ToolOutcome

require_version("claude-agent-sdk", "0.2.182", before="0.3", extra="claude-agent-sdk")

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, PermissionResultAllow, PermissionResultDeny

_Json = dict[str, Any]
_CanUseTool = Callable[[str, _Json, Any], Any]
# Hooks have their own timeouts, and all of them together may take longer than the minute that the program would wait.
_PATIENCE = 24 * 60 * 60
_MAX_SESSIONS = 1024
# What makes the program ignore the hooks of the SDK: seen with `--bare` and version 2.1.326.
_OFF_ARGUMENTS = ("bare", "safe-mode", "settings")
_OFF_VARIABLES = ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE")
_SETTINGS_SOURCE = "settings.json"
# Events at which a callback can set the input of a call.
_INPUT_EVENTS = ("PreToolUse", "PermissionRequest")
_DELEGATING_TOOLS, _DEFAULT_AGENT = ("Agent", "Task"), "general-purpose"


def boathook_hooks(
    hooks: Hooks | None = None,
    *,
    can_use_tool: _CanUseTool | None = None,
    callbacks: Mapping[Any, Sequence[HookMatcher]] | None = None,
    settings: str | None = None,
    env: Mapping[str, str] | None = None,
    extra_args: Mapping[str, str | None] | None = None,
    plugins: Sequence[Any] = (),
    **options: Unpack[BridgeOptions],
) -> dict[str, Any]:
    """Return fields for ClaudeAgentOptions that put hooks around prompts, tool calls, stops and subagents.

    Without `hooks` they are the file hooks of the user and of `work_dir` (the current folder), and the program that the SDK starts
    does not run hooks of its settings a second time. `options` are those of every bridge; a tool `mcp__server__bash` is guessed
    from `bash`. Give the SDK's own `can_use_tool`, `settings`, `env`, `extra_args` and `plugins` here, and its own hooks as
    `callbacks`: those that would switch hooks off are refused, unless `allow_unguarded` is set.
    """
    attachment = attach("claude-agent-sdk", hooks, ServerToolNames, **options)
    attachment.hooks.run().refuse_middleware()
    values, variables = _read_settings(settings, attachment.work_dir), {**os.environ, **(env or {})}
    if not attachment.allow_unguarded:
        _refuse_switches(extra_args or {}, {**variables, **_read_variables(values)})
        if attachment.hooks.stack.engine is not None:
            _refuse_plugins(plugins)
    guard = _Guard(attachment, can_use_tool)
    matchers: dict[Any, list[HookMatcher]] = {event: [] for event in _EVENTS}
    for event, own in (callbacks or {}).items():
        if any(isinstance(callback, _Callback) for matcher in own for callback in matcher.hooks):
            raise BridgeError(
                "hooks are attached twice, so that they would run twice",
                fix="call boathook_hooks() once for the options",
            )
        matchers[event] = [guard.watch_inputs(each) for each in own] if event in _INPUT_EVENTS else [*own]
    for event, given in guard.make_matchers().items():
        matchers[event] += given
    return {
        "hooks": matchers,
        "can_use_tool": guard.ask_person if can_use_tool is not None else None,
        "settings": json.dumps(_write_settings(values, variables, attachment)),
        "env": dict(env or {}),
        "extra_args": dict(extra_args or {}),
        "plugins": [*plugins],
    }


@asynccontextmanager
async def guard_session(options: ClaudeAgentOptions) -> AsyncIterator[ClaudeAgentOptions]:
    """Return options for one session, which ends with the block: the SDK itself reports no end of a session, and no cancelling.

    What the hooks raised is raised again when the block ends, and `boathook.Stopped` if a hook ended the run.
    """
    guard = _find_guard(options).make_copy()
    hooks: Any = {event: [_rebind(each, guard) for each in given] for event, given in (options.hooks or {}).items()}
    ask: Any = guard.ask_person if options.can_use_tool is not None else None
    try:
        yield dataclasses.replace(options, hooks=hooks, can_use_tool=ask)
    except BaseException as error:
        raised = await guard.end(error)
        if raised is error or raised is None:
            raise
        raise raised from error
    else:
        raised = await guard.end(None)
        if raised is not None:
            raise raised


def _find_guard(options: ClaudeAgentOptions) -> _Guard:
    for matchers in (options.hooks or {}).values():
        for matcher in matchers:
            for callback in matcher.hooks:
                if isinstance(callback, _Callback):
                    return callback.guard
    raise BridgeError("these options have no hooks of boathook", fix="ClaudeAgentOptions(**boathook_hooks())")


def _rebind(matcher: HookMatcher, guard: _Guard) -> HookMatcher:
    own = [each.make_copy(guard) if isinstance(each, _Callback | _GivenCallback) else each for each in matcher.hooks]
    return dataclasses.replace(matcher, hooks=own)


def _refuse_switches(extra_args: Mapping[str, str | None], env: Mapping[str, str]) -> None:
    # A name may have its value with it, and the program may read a value as a name.
    words = [*extra_args, *(value for value in extra_args.values() if value and value.startswith("-"))]
    names = [word.lstrip("-").partition("=")[0] for word in words]
    off = [f"--{name}" for name in names if name in _OFF_ARGUMENTS]
    off += [name for name in _OFF_VARIABLES if env.get(name)]
    if off:
        message = f"{', '.join(off)}: with this, the program that the SDK starts may not run any hooks"
        raise BridgeError(message, fix="remove it, or accept it with allow_unguarded=True")


def _refuse_plugins(plugins: Sequence[Any]) -> None:
    """Raise BridgeError for plugins with hooks that no file of the user enables: the bridge does not read them."""
    folders = [str(plugin["path"]) for plugin in plugins]
    if with_hooks := [folder for folder in folders if os.path.exists(os.path.join(folder, "hooks"))]:
        message = f"these plugins have hooks, which would not run: {', '.join(with_hooks)}"
        raise BridgeError(message, fix="install them in Claude Code, or accept it with allow_unguarded=True")


def _read_settings(settings: str | None, folder: str) -> _Json:
    """Return the settings that are given to the SDK: a text, or the path of a file, which is relative to the agent's folder."""
    values: Any = {}
    if settings:
        try:
            text = settings
            if not settings.lstrip().startswith("{"):
                with open(os.path.join(folder, settings), encoding="utf-8-sig") as file:
                    text = file.read()
            values = json.loads(text)
        except (OSError, ValueError) as error:
            raise BridgeError(f"the settings for the SDK cannot be read: {error}") from error
    if not isinstance(values, dict) or not isinstance(values.get("env", {}), dict):
        raise BridgeError("`settings` must be an object, and so must `env` in it")
    return values


def _read_variables(values: _Json) -> dict[str, str]:
    return {name: str(value) for name, value in values.get("env", {}).items()}


def _write_settings(values: _Json, variables: Mapping[str, str], attachment: Attachment) -> _Json:
    """Return settings with which no settings.json switches our hooks off, and with file hooks the program leaves its own to us."""
    # These settings come before those of files, which the agent may be able to write; what is set here was accepted.
    off = {name: "" for name in _OFF_VARIABLES if not variables.get(name)}
    written = {**values, "env": {**off, **values.get("env", {})}}
    engine = attachment.hooks.stack.engine
    if engine is None:
        return written
    if _SETTINGS_SOURCE not in dict(engine.catalog.projects):
        message = "file hooks were loaded without those of settings.json, which the program would run itself"
        raise BridgeError(message, fix="call hooks.load() without `without`")
    if "hooks" in values:
        raise BridgeError("`settings` must be an object without hooks", fix="put its hooks into a settings.json")
    # In this process and in no other.
    return {**written, "disableAllHooks": True}


class _Callback:
    """A hook of the SDK: an event for a guard. It never raises, because the SDK would go on then."""

    def __init__(self, guard: _Guard, event: str) -> None:
        self.guard, self.event = guard, event

    async def __call__(self, given: Any, tool_use_id: str | None, context: Any) -> Any:
        return await self.guard.answer(self.event, given)

    def make_copy(self, guard: _Guard) -> _Callback:
        return _Callback(guard, self.event)


class _GivenCallback:
    """The user's own hook of the SDK. The program asks it and us at once, so that we do not see an input that it changes."""

    def __init__(self, guard: _Guard, callback: Callable[..., Any]) -> None:
        self._guard, self._callback = guard, callback

    async def __call__(self, given: Any, tool_use_id: str | None, context: Any) -> Any:
        return await self._guard.check_output(given, await self._callback(given, tool_use_id, context))

    def make_copy(self, guard: _Guard) -> _GivenCallback:
        return _GivenCallback(guard, self._callback)


@dataclasses.dataclass
class _OpenCall:
    """A call that hooks have seen: as the model made it, as they left it, and the question about it, if there is one."""

    session: _CliSession
    run: AgentRun
    made: ToolCall
    left: ToolCall
    token: str = ""


class _CliSession:
    """One session of the program: its run, and the runs of its subagents."""

    def __init__(self, run: AgentRun) -> None:
        self.run = run
        self.children: dict[str, AgentRun] = {}
        # By the id of the call that starts it, a subagent that hooks let begin and that the program has not started yet.
        self.begun_children: dict[str, AgentRun] = {}
        # By the id of a subagent, why it may do nothing.
        self.refused: dict[str, str] = {}
        self.failed_stops = 0

    def find_run(self, given: _Json) -> AgentRun:
        """Return the run that an event belongs to: that of a subagent, or the main one."""
        agent = given.get("agent_id")
        if not agent:
            return self.run
        if agent not in self.children:
            self.children[agent] = self.run.child(_read_agent_type(given))
        return self.children[agent]

    def take_begun_child(self, given: _Json) -> AgentRun | None:
        """Return the run of a subagent that starts now, if hooks were asked about it at the call; None otherwise.

        The program does not report which call it belongs to, but it starts subagents in the order in which it asks about the calls.
        """
        name = _read_agent_type(given)
        call_id = next((key for key, child in self.begun_children.items() if child.subagent == name), None)
        return None if call_id is None else self.begun_children.pop(call_id)


class _Guard:
    """Hooks for the sessions of some options. Sessions at once share nothing but the hooks."""

    def __init__(self, attachment: Attachment, can_use_tool: _CanUseTool | None, *, is_block: bool = False) -> None:
        self._attachment, self._can_use_tool, self._is_block = attachment, can_use_tool, is_block
        self._sessions: OrderedDict[str, _CliSession] = OrderedDict()
        self._calls: dict[str, _OpenCall] = {}
        self._error: BaseException | None = None
        self._has_been_asked = False

    def make_copy(self) -> _Guard:
        """Return a guard for one block."""
        return _Guard(self._attachment, self._can_use_tool, is_block=True)

    def make_matchers(self) -> dict[str, list[HookMatcher]]:
        """Return the hooks of the SDK."""
        return {
            event: [HookMatcher(hooks=[_Callback(self, event)], timeout=_PATIENCE, on_failure="block")]
            for event in _EVENTS
        }

    def watch_inputs(self, matcher: HookMatcher) -> HookMatcher:
        """Return the user's own matcher, with hooks that see which inputs it changes."""
        return dataclasses.replace(matcher, hooks=[_GivenCallback(self, each) for each in matcher.hooks])

    async def answer(self, event: str, given: _Json) -> _Json:
        """Return what the program shall do about an event. An error of a hook is a refusal, and `guard_session` raises it."""
        self._has_been_asked = True
        session = None
        try:
            session = self._find_session(given)
            output: _Json = await _EVENTS[event](self, session, given)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            # The SDK would go on, or wait for an answer.
            output = self._refuse(event, session, self._note_failure(event, error))
        if "stopReason" in output and not self._is_block:
            LOGGER.warning("a hook ended the run at %s of claude-agent-sdk: %s", event, output["stopReason"])
        return output

    def _note_failure(self, event: str, error: BaseException) -> str:
        """Note the error of a hook, and return the reason of the refusal; raise it if the run itself is being cancelled."""
        failure = error
        if isinstance(error, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise error
            failure = HookError("a hook raised CancelledError, although the run is not being cancelled")
        LOGGER.error("hooks failed at %s of claude-agent-sdk: %s: %s", event, type(failure).__name__, failure)
        self._error = self._error or failure
        return f"a hook failed: {type(failure).__name__}: {failure}"

    def _find_session(self, given: _Json) -> _CliSession:
        key = str(given.get("session_id") or "")
        session = self._sessions.get(key)
        if session is None:
            self._check_project(str(given.get("cwd") or ""))
            run = self._attachment.make_run(key, can_ask=self._can_use_tool is not None)
            session = self._sessions[key] = _CliSession(run)
            if not self._is_block and len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return session

    def _check_project(self, folder: str) -> None:
        """Raise BridgeError if the program works in another project: its hooks would run nowhere."""
        engine = self._attachment.hooks.stack.engine
        if engine is not None and folder and load_catalog(folder).projects != engine.catalog.projects:
            raise BridgeError(
                f"the hooks belong to another folder, but the agent works in {folder}",
                fix=f"boathook_hooks(work_dir={folder!r})",
            )

    def _refuse(self, event: str, session: _CliSession | None, reason: str) -> _Json:
        """Return an answer after which nothing goes on."""
        if event == "PreToolUse":
            return {**_make_stop(reason), **_make_denial(reason)}
        if event in ("UserPromptSubmit", "PreCompact"):
            return {"decision": "block", "reason": reason}
        if event in ("Stop", "SubagentStop") and not self._is_block and session is not None:
            # To end the run would look like success here. A stop gate that raises is bounded like one that refuses.
            session.failed_stops += 1
            if session.failed_stops <= DEFAULT_MAX_ROUNDS:
                return {"decision": "block", "reason": reason}
        return _make_stop(reason)

    async def end(self, error: BaseException | None) -> BaseException | None:
        """End all sessions of a block; return the error that its caller gets, or None."""
        stops = [session.run.stop_reason for session in self._sessions.values() if session.run.is_stopped]
        raised = error
        if error is None or isinstance(error, Exception):
            raised = self._error or (Stopped(stops[0]) if stops else error)
        if raised is None and not self._has_been_asked:
            raised = BridgeError(
                "the program that the SDK started never asked the hooks",
                fix="give guard_session's options to query or to the client, and see that no settings switch hooks off",
            )
        for session in self._sessions.values():
            await session.run.aend(error=raised)
        return raised

    # Prompts and stops.

    async def _on_prompt(self, session: _CliSession, given: _Json) -> _Json:
        run, text = session.run, str(given.get("prompt") or "")
        self._forget_calls(run)
        prompt_outcome = await run.aprompt(text)
        if not prompt_outcome.proceeds:
            return {
                "decision": "block",
                "reason": prompt_outcome.reason,
                **(_make_stop(prompt_outcome.reason) if prompt_outcome.is_stopped else {}),
            }
        if prompt_outcome.context.prompt != text:
            raise BridgeError(
                "a hook changed the prompt, but claude-agent-sdk cannot send another one", fix="add context instead"
            )
        self._warn_without_block(run)
        return await self._begin_step(run) or _make_context("UserPromptSubmit", run)

    def _warn_without_block(self, run: AgentRun) -> None:
        if not self._is_block and run.stack.has_hooks(POST_SESSION):
            LOGGER.warning("hooks for the end of a session run only in `async with guard_session(options)`")

    async def _on_stop(self, session: _CliSession, given: _Json) -> _Json:
        run, text = session.run, given.get("last_assistant_message")
        self._forget_calls(run)
        outcome = await run.astop(text)
        if outcome.proceeds:
            await run.aend_turn(text)
        return await self._answer_stop(run, outcome)

    async def _answer_stop(self, run: AgentRun, outcome: RunOutcome[Any]) -> _Json:
        if outcome.is_stopped:
            return _make_stop(outcome.reason)
        if outcome.proceeds:
            return {}
        stop = await self._begin_step(run)
        return stop or {"decision": "block", "reason": "\n".join((outcome.feedback, *run.take_context()))}

    async def _on_failure(self, session: _CliSession, given: _Json) -> _Json:
        text = given.get("last_assistant_message") or given.get("error_details") or given.get("error") or "failed"
        await session.run.afailed(_TurnFailure(str(text)))
        return {}

    async def _on_compaction(self, session: _CliSession, given: _Json) -> _Json:
        outcome = await session.run.afire(CompactionContext.before(0, trigger=str(given.get("trigger") or "auto")))
        return {} if outcome.proceeds else {"decision": "block", "reason": outcome.reason}

    async def _on_compacted(self, session: _CliSession, given: _Json) -> _Json:
        await session.run.afire(CompactionContext.after(0, 0, trigger=str(given.get("trigger") or "auto")))
        return {}

    async def _on_notification(self, session: _CliSession, given: _Json) -> _Json:
        await session.run.afire(NotificationContext.of(str(given.get("message") or ""), str(given.get("title") or "")))
        return {}

    # A step is a request to the model; the program has no event for it, but one before each of them.

    async def _begin_step(self, run: AgentRun) -> _Json | None:
        """Begin a step, and end the one before; return the answer that ends the run if a hook stops it."""
        if run.subagent is not None:
            return None
        step = await run.abegin_step()
        # Nothing but the end of the run keeps the program from its next request.
        return None if step.proceeds else _make_stop(step.reason)

    # Subagents.

    async def _begin_subagent(self, session: _CliSession, call: ToolCall) -> RunOutcome[Any] | None:
        """Ask hooks about the subagent that a call starts: later the program cannot be kept from it. None for other calls."""
        if call.name not in _DELEGATING_TOOLS:
            return None
        name, task = str(call.args.get("subagent_type") or _DEFAULT_AGENT), str(call.args.get("prompt") or "")
        child = session.run.child(name, task)
        session.begun_children.pop(call.id, None)
        prompt_outcome = await child.aprompt(task)
        if prompt_outcome.proceeds:
            session.begun_children[call.id] = child
        return prompt_outcome

    async def _on_subagent(self, session: _CliSession, given: _Json) -> _Json:
        child = session.take_begun_child(given)
        if child is not None:
            session.children[str(given.get("agent_id"))] = child
            return _make_context("SubagentStart", child)
        # No call that we know started it.
        run = session.find_run(given)
        prompt_outcome = await run.aprompt(run.task)
        if prompt_outcome.is_stopped:
            return _make_stop(prompt_outcome.reason)
        if not prompt_outcome.proceeds:
            # The program cannot be kept from starting it, but from everything that it wants to do.
            session.refused[given["agent_id"]] = prompt_outcome.reason
            run.add_context(f"Do nothing and end at once: {prompt_outcome.reason}")
        return _make_context("SubagentStart", run)

    async def _on_subagent_stop(self, session: _CliSession, given: _Json) -> _Json:
        run = session.find_run(given)
        self._forget_calls(run)
        if session.refused.get(str(given.get("agent_id"))):
            return {}
        outcome = await run.astop(given.get("last_assistant_message"))
        if outcome.proceeds:
            session.children.pop(str(given.get("agent_id")), None)
        return await self._answer_stop(run, outcome)

    # Tool calls.

    async def _on_call(self, session: _CliSession, given: _Json) -> _Json:
        run, call = session.find_run(given), _read_call(given)
        refusal = session.refused.get(str(given.get("agent_id")), "")
        if refusal:
            return _make_denial(refusal)
        # Two questions with one id could not be distinguished.
        can_ask = self._can_use_tool is not None and call.id not in self._calls
        outcome = await run.abefore(call, can_ask=can_ask)
        if outcome.is_stopped:
            return {**_make_stop(outcome.reason), **_make_denial(outcome.reason)}
        if not outcome.proceeds and outcome.ask is None:
            return _make_denial(outcome.reason)
        prompt_outcome = await self._begin_subagent(session, outcome.call)
        if prompt_outcome is not None and not prompt_outcome.proceeds:
            run.finish_call(call.id)
            return {
                **(_make_stop(prompt_outcome.reason) if prompt_outcome.is_stopped else {}),
                **_make_denial(prompt_outcome.reason),
            }
        token = outcome.ask.token if outcome.ask is not None else ""
        self._calls[call.id] = _OpenCall(session, run, call, outcome.call, token)
        return _make_permission(outcome, call)

    async def ask_person(self, name: str, tool_input: _Json, context: Any) -> Any:
        """Let the program's own `can_use_tool` answer, and hooks see what it changed."""
        assert self._can_use_tool is not None  # noqa: S101
        answer = await self._can_use_tool(name, tool_input, context)
        opened = self._calls.get(str(context.tool_use_id or ""))
        try:
            return answer if opened is None else await self._accept_answer(opened, tool_input, answer)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            # The error is that of a hook, not of the program that was asked.
            return PermissionResultDeny(message=self._note_failure("can_use_tool", error), interrupt=True)

    async def _accept_answer(self, opened: _OpenCall, tool_input: _Json, answer: Any) -> Any:
        run, token, is_allowed = opened.run, opened.token, isinstance(answer, PermissionResultAllow)
        given = tool_input if not is_allowed or answer.updated_input is None else answer.updated_input
        is_changed = to_json_value(given) != to_json_value(opened.left.args)
        opened.token = ""
        if not is_allowed:
            opened.session.begun_children.pop(opened.made.id, None)
            if token:
                run.answer(token, is_allowed, reason=str(getattr(answer, "message", "")))
            return answer
        call = ToolCall(opened.made.name, given, opened.made.id)
        if token:
            run.answer(token, is_allowed, args=given if is_changed else None)
            outcome = await run.abefore(call if is_changed else opened.made, can_ask=False)
        elif is_changed:
            outcome = await run.adecide(ToolCall(call.name, given, f"{call.id}, changed"), can_ask=False)
        else:
            return answer
        if not outcome.proceeds:
            opened.session.begun_children.pop(opened.made.id, None)
            return PermissionResultDeny(message=outcome.reason, interrupt=outcome.is_stopped)
        prompt_outcome = (
            await self._begin_subagent(opened.session, _move_call(outcome.call, call.id)) if is_changed else None
        )
        if prompt_outcome is not None and not prompt_outcome.proceeds:
            return PermissionResultDeny(message=prompt_outcome.reason, interrupt=prompt_outcome.is_stopped)
        opened.left = outcome.call
        return dataclasses.replace(answer, updated_input=to_json_value(outcome.call.args))

    async def check_output(self, given: _Json, output: Any) -> Any:
        """Return what a callback of the user answers; if it sets the input of a call, then as hooks leave that, or a refusal."""
        event = str(given.get("hook_event_name") or "")
        found = output.get("hookSpecificOutput") if isinstance(output, Mapping) else None
        specific: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
        answer = specific.get("decision") if event == "PermissionRequest" else specific
        if not isinstance(answer, Mapping) or answer.get("updatedInput") is None:
            return output
        call = _read_call({**given, "tool_input": answer["updatedInput"]})
        try:
            session = self._find_session(given)
            # Also if it is the input that the callback got: ours may have another one by now.
            outcome: RunOutcome[Any]
            decided = outcome = await session.find_run(given).adecide(
                _move_call(call, f"{call.id}, changed"), can_ask=False
            )
            if outcome.proceeds:
                prompt_outcome = await self._begin_subagent(session, _move_call(decided.call, call.id))
                outcome = outcome if prompt_outcome is None else prompt_outcome
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            return _refuse_input(event, self._note_failure(event, error), is_stopped=True)
        if not outcome.proceeds:
            return _refuse_input(event, outcome.reason, is_stopped=outcome.is_stopped)
        changed = {**answer, "updatedInput": to_json_value(decided.call.args)}
        changed = {**specific, "decision": changed} if answer is not specific else changed
        return {**output, "hookSpecificOutput": changed}

    async def _on_result(self, session: _CliSession, given: _Json) -> _Json:
        run, call, response = session.find_run(given), _read_call(given), given.get("tool_response")
        self._close_call(call)
        result = _read_result(response)
        outcome = await run.aafter(call, result)
        if outcome.is_stopped:
            return _make_stop(outcome.reason)
        output: _Json = {"decision": "block", "reason": outcome.objection} if outcome.objection else {}
        changed = to_json_value(outcome.result)
        if changed != to_json_value(result):
            output |= _make_specific("PostToolUse", updatedToolOutput=_write_result(call.name, changed, response))
        return output

    async def _on_call_failure(self, session: _CliSession, given: _Json) -> _Json:
        run, call = session.find_run(given), _read_call(given)
        self._close_call(call)
        session.begun_children.pop(call.id, None)
        outcome = await run.aafter_failure(call, _ToolFailure(str(given.get("error") or "failed")))
        if outcome.objection:
            run.add_context(outcome.objection)
        return _make_stop(outcome.reason) if outcome.is_stopped else {}

    async def _on_results(self, session: _CliSession, given: _Json) -> _Json:
        """Give the model the context of hooks, after the results of all calls."""
        run = session.find_run(given)
        for each in given.get("tool_calls") or ():
            # A call that the program itself refused has no event after it.
            if self._calls.pop(str(each.get("tool_use_id")), None) is not None:
                session.begun_children.pop(str(each["tool_use_id"]), None)
                refused = run.finish_call(str(each["tool_use_id"]))
                run.add_context(*refused.context.additional_context)
        if session.run.is_stopped:
            return _make_stop(session.run.stop_reason)
        stop = await self._begin_step(run)
        return stop or _make_context("PostToolBatch", run)

    def _close_call(self, call: ToolCall) -> None:
        opened = self._calls.pop(call.id, None)
        if opened is not None and opened.token:
            raise BridgeError(
                f"{call.name} was called, although no person has answered the question of a hook about it"
            )

    def _forget_calls(self, run: AgentRun) -> None:
        for call_id in [call_id for call_id, opened in self._calls.items() if opened.run is run]:
            del self._calls[call_id]


class _TurnFailure(Exception):
    """The program reported that a turn failed."""


class _ToolFailure(Exception):
    """The program reported that a tool failed."""


_EVENTS: dict[str, Callable[[_Guard, _CliSession, _Json], Any]] = {
    "UserPromptSubmit": _Guard._on_prompt,
    "PreToolUse": _Guard._on_call,
    "PostToolUse": _Guard._on_result,
    "PostToolUseFailure": _Guard._on_call_failure,
    # Not in the types of the SDK, but events of the program.
    "PostToolBatch": _Guard._on_results,
    "StopFailure": _Guard._on_failure,
    "Stop": _Guard._on_stop,
    "SubagentStart": _Guard._on_subagent,
    "SubagentStop": _Guard._on_subagent_stop,
    "PreCompact": _Guard._on_compaction,
    "PostCompact": _Guard._on_compacted,
    "Notification": _Guard._on_notification,
}


def _make_specific(event: str, **fields: Any) -> _Json:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def _make_stop(reason: str) -> _Json:
    return {"continue_": False, "stopReason": reason}


def _make_context(event: str, run: AgentRun) -> _Json:
    texts = run.take_context()
    return _make_specific(event, additionalContext="\n".join(texts)) if texts else {}


def _make_denial(reason: str) -> _Json:
    return _make_specific("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason)


def _refuse_input(event: str, reason: str, *, is_stopped: bool) -> _Json:
    stop = _make_stop(reason) if is_stopped else {}
    if event == "PermissionRequest":
        return {**stop, **_make_specific(event, decision={"behavior": "deny", "message": reason})}
    return {**stop, **_make_denial(reason)}


def _make_permission(outcome: ToolOutcome, call: ToolCall) -> _Json:
    """Return the answer to a call that may be made, or about which a person is asked."""
    fields: _Json = {}
    if outcome.ask is not None:
        fields = {"permissionDecision": "ask", "permissionDecisionReason": outcome.ask.reason}
    elif outcome.decision == Decision.ALLOW:
        fields = {"permissionDecision": "allow"}
    args = to_json_value(outcome.call.args)
    if args != to_json_value(call.args):
        fields["updatedInput"] = args
    return _make_specific("PreToolUse", **fields) if fields else {}


def _read_agent_type(given: _Json) -> str:
    return str(given.get("agent_type") or "agent")


def _move_call(call: ToolCall, call_id: str) -> ToolCall:
    """Return a call with another id."""
    return ToolCall(call.name, call.args, call_id)


def _read_call(given: _Json) -> ToolCall:
    tool_input = given.get("tool_input")
    args = tool_input if isinstance(tool_input, Mapping) else {}
    return ToolCall(str(given.get("tool_name") or ""), args, str(given.get("tool_use_id") or ""))


def _is_text(response: Any) -> bool:
    return isinstance(response, list) and all(
        isinstance(block, Mapping) and block.get("type") == "text" for block in response
    )


def _read_result(response: Any) -> Any:
    """Return the text of a result for hooks; a result that is more than text stays as it is."""
    return "\n".join(str(block.get("text", "")) for block in response) if _is_text(response) else response


def _write_result(name: str, changed: Any, response: Any) -> Any:
    """Return a changed result as the tool has it: the program would silently keep the old one if the shape is another."""
    if isinstance(response, str) or _is_text(response):
        return changed if isinstance(changed, str) else json.dumps(changed)
    if isinstance(changed, str) and isinstance(response, Mapping) and isinstance(response.get("stdout"), str):
        return {**response, "stdout": changed, "stderr": ""}
    if not _has_same_shape(changed, response):
        raise BridgeError(
            f"a hook changed the result of {name} to something of another shape, and the program would keep the old one",
            fix="keep the keys and the types of its values",
        )
    return changed


def _has_same_shape(changed: Any, response: Any) -> bool:
    if isinstance(response, Mapping):
        return (
            isinstance(changed, Mapping)
            and changed.keys() == response.keys()
            and all(_has_same_shape(changed[key], value) for key, value in response.items())
        )
    return type(changed) is type(response) or response is None
