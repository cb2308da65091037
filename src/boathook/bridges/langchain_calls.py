"""Tool calls that langchain carries out, and the messages that it has for prompts, calls and results."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ChatMessage, HumanMessage, ToolMessage
from langgraph.types import Command
from pydantic import BaseModel

from boathook.bridges.attachment import enter_call
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_outcome import ToolOutcome


class _ToolFailure(Exception):
    """A tool failed, and the framework made a message for the model of it."""


class ToolExecution:
    """One tool call that the framework carries out: what hooks see of its result, and the result as hooks left it."""

    def __init__(self, run: AgentRun, request: Any, handler: Any) -> None:
        self._run, self._request, self._handler = run, request, handler
        self._response: Any = None
        self._content: Any = None

    def execute(self, call: ToolCall) -> Any:
        """Call the tool with the arguments that hooks left; an awaitable in an event loop."""
        request = self._request
        if call.args != request.tool_call["args"]:
            request = request.override(tool_call={**request.tool_call, "args": dict(call.args)})
        with enter_call(self._run):
            response = self._handler(request)
            return self._read_later(response) if inspect.isawaitable(response) else self._read_response(response)

    async def _read_later(self, response: Any) -> Any:
        with enter_call(self._run):
            return self._read_response(await response)

    def _read_response(self, response: Any) -> Any:
        """Return the content that the model would read; raise it if it is an error."""
        self._response = response
        message = self._find_message(response)
        if message is None:
            return None
        self._content = message.content
        if message.status == "error":
            raise _ToolFailure(message.text)
        return self._content

    def _find_message(self, response: Any) -> ToolMessage | None:
        return find_tool_message(response, self._request.tool_call["id"])

    def read_outcome(self, outcome: ToolOutcome) -> Any:
        """Return what the framework gets: the tool's own response, changed only where hooks changed it."""
        tool_call = self._request.tool_call
        if not outcome.has_run or self._response is None:
            if outcome.has_run and outcome.error is not None:
                if outcome.objection:
                    outcome.error.add_note(outcome.objection)
                raise outcome.error
            return ToolMessage(outcome.text, tool_call_id=tool_call["id"], name=tool_call["name"], status="error")
        message = self._find_message(self._response)
        content = self._make_content(outcome)
        if message is None or content is self._content:
            if message is None and outcome.objection:
                self._run.add_context(outcome.objection)
            return self._response
        return replace_tool_message(self._response, message, message.model_copy(update={"content": content}))

    def _make_content(self, outcome: ToolOutcome) -> Any:
        content = self._content if outcome.error is not None else outcome.result
        is_changed = content is not self._content and to_json_value(content) != to_json_value(self._content)
        if not is_changed and not outcome.objection:
            return self._content
        blocks = to_json_value(content) if isinstance(content, list | tuple) else None
        if blocks is None or not all(isinstance(block, str | dict) for block in blocks):
            return outcome.text
        return [*blocks, {"type": "text", "text": outcome.objection}] if outcome.objection else blocks


# A state that is larger than a command with messages is not searched to its end.
_MAX_UPDATE_DEPTH = 5


def _list_parts(value: Any) -> list[tuple[Any, Any]]:
    """Return the parts of a command, an update, or a list, each with its key: messages can be below any key of a state."""
    if isinstance(value, Command):
        return [("update", value.update)]
    if isinstance(value, dict):
        return [*value.items()]
    if isinstance(value, list | tuple):
        return [*enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(each.name, getattr(value, each.name)) for each in dataclasses.fields(value)]
    if isinstance(value, BaseModel) and not isinstance(value, BaseMessage):
        return [(name, getattr(value, name)) for name in type(value).model_fields]
    return []


def find_tool_message(value: Any, call_id: str, depth: int = 0) -> ToolMessage | None:
    """Return the result of a call in what a tool returned: a message, a command with messages, or a list of these."""
    if isinstance(value, ToolMessage):
        return value if value.tool_call_id == call_id else None
    if depth > _MAX_UPDATE_DEPTH:
        return None
    found = (find_tool_message(part, call_id, depth + 1) for _, part in _list_parts(value))
    return next(filter(None, found), None)


def replace_tool_message(value: Any, old: ToolMessage, new: ToolMessage, depth: int = 0) -> Any:
    if isinstance(value, ToolMessage):
        return new if value == old else value
    if depth > _MAX_UPDATE_DEPTH:
        return value
    parts = _list_parts(value)
    changed = {key: replace_tool_message(part, old, new, depth + 1) for key, part in parts}
    if all(changed[key] is part for key, part in parts):
        return value
    if isinstance(value, dict):
        return changed
    if isinstance(value, list | tuple):
        return type(value)(changed.values())
    return value.model_copy(update=changed) if isinstance(value, BaseModel) else dataclasses.replace(value, **changed)


def add_texts(message: ToolMessage, texts: Sequence[str]) -> ToolMessage:
    """Return a result with texts after it."""
    content: Any = message.content
    if isinstance(content, str):
        content = "\n\n".join((content, *texts))
    else:
        content = [*content, *({"type": "text", "text": text} for text in texts)]
    return message.model_copy(update={"content": content})


def make_tool_call(tool_call: Any) -> ToolCall:
    return ToolCall(tool_call["name"], tool_call["args"], tool_call["id"] or "")


def find_prompt_messages(messages: Sequence[AnyMessage]) -> tuple[list[AnyMessage], str]:
    """Return the new messages of the person, after those of the model, and the prompt: their text, or the one before."""
    new: list[AnyMessage] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage | ToolMessage):
            break
        if _is_of_person(message):
            new.insert(0, message)
    if new:
        return new, "\n".join(str(message.text) for message in new)
    older = (str(message.text) for message in reversed(messages) if _is_of_person(message))
    return [], next(older, "")


def _is_of_person(message: AnyMessage) -> bool:
    is_chat = isinstance(message, ChatMessage) and message.role in ("user", "human")
    return is_chat or isinstance(message, HumanMessage)


def replace_message_text(message: AnyMessage, text: str) -> AnyMessage:
    """Return a message with another text; images and files stay."""
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": text})
    blocks = [block for block in content if not isinstance(block, str) and block.get("type") != "text"]
    return message.model_copy(update={"content": [{"type": "text", "text": text}, *blocks]})
