"""The four wire formats that agents speak to their models, as far as a scripted model needs them: one row each.

An answer is either a text or tool calls; each wire says it whole or as a stream of server-sent events.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Events = list[tuple[str, Json]]
Offer = dict[str, Json]  # the names of the tools that a request offers, and the keys that each takes with their schemas

MODEL = "scripted"
USAGE = (12, 7)  # tokens in, tokens out: invented


@dataclass(frozen=True)
class Call:
    """One tool call: its id, the tool, and its arguments; a text as it is for a tool that takes no object.

    `space/name` is a tool in a namespace, which one wire has.
    """

    id: str
    tool: str
    arguments: Json | str

    @property
    def raw(self) -> str:
        """Give the arguments as text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Answer:
    """What the model says: a text, or the tool calls if there are any."""

    number: int
    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Wire:
    """One wire format: how its requests are known, which tools with which keys they offer, and how it is answered."""

    name: str
    ends: tuple[str, ...]
    tools: Callable[[Json], Offer]
    whole: Callable[[Answer], Json]
    events: Callable[[Answer], Events]
    is_streamed: Callable[[str, Json], bool]
    named: bool = False
    last: str = ""

    def answer(self, path: str, body: Json, answer: Answer) -> tuple[str, bytes]:
        """Give the content type and the bytes of an answer to a request."""
        if not self.is_streamed(path, body):
            return "application/json", json.dumps(self.whole(answer)).encode()
        parts = [
            f"event: {name}\n" * self.named + f"data: {json.dumps(data)}\n\n" for name, data in self.events(answer)
        ]
        return "text/event-stream", ("".join(parts) + self.last).encode()


def wire_of(path: str) -> Wire | None:
    """Give the wire that a request's path belongs to; None for any other request."""
    plain = path.partition("?")[0]
    return next((wire for wire in WIRES if plain.endswith(wire.ends)), None)


def _listed(value: Any) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


SCHEMAS = ("input_schema", "parameters", "parametersJsonSchema")


def keys_of(tool: Json) -> Json:
    """Give the keys that a tool takes, with their schemas, as it is declared in any wire."""
    schemas = [_object(tool.get(name)) for name in SCHEMAS]
    return {key: value for schema in schemas for key, value in _object(schema.get("properties")).items()}


def _asks_for_stream(_: str, body: Json) -> bool:
    return bool(body.get("stream"))


# Anthropic Messages


def _named_tools(body: Json) -> Offer:
    return {str(tool.get("name", tool.get("type", ""))): keys_of(tool) for tool in _listed(body.get("tools"))}


def _message(answer: Answer) -> Json:
    calls = [{"type": "tool_use", "id": one.id, "name": one.tool, "input": one.arguments} for one in answer.calls]
    return {
        "id": f"msg_{answer.number:04d}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": calls or [{"type": "text", "text": answer.text}],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": USAGE[0], "output_tokens": USAGE[1]},
    }


def _message_events(answer: Answer) -> Events:
    message = _message(answer)
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    found: list[Json] = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
    for index, block in enumerate(message["content"]):
        if answer.calls:
            start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": answer.calls[index].raw}
        else:
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": answer.text}
        found += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    found += [
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": USAGE[1]}},
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in found]


# OpenAI Chat Completions


def _function_tools(body: Json) -> Offer:
    tools = _listed(body.get("tools"))
    return _named_tools({"tools": [_object(tool.get(str(tool.get("type")))) or tool for tool in tools]})


def _chat(answer: Answer, kind: str, key: str, said: Json, end: str | None) -> Json:
    return {
        "id": f"chatcmpl-{answer.number:04d}",
        "object": kind,
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, key: said, "finish_reason": end}],
    }


def _chat_said(answer: Answer) -> Json:
    if not answer.calls:
        return {"role": "assistant", "content": answer.text}
    return {"role": "assistant", "content": None, "tool_calls": [_chat_call(call) for call in answer.calls]}


def _chat_call(call: Call) -> Json:
    if isinstance(call.arguments, str):
        return {"id": call.id, "type": "custom", "custom": {"name": call.tool, "input": call.raw}}
    return {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.raw}}


def _chat_usage() -> Json:
    return {"prompt_tokens": USAGE[0], "completion_tokens": USAGE[1], "total_tokens": sum(USAGE)}


def _chat_whole(answer: Answer) -> Json:
    end = "tool_calls" if answer.calls else "stop"
    return {**_chat(answer, "chat.completion", "message", _chat_said(answer), end), "usage": _chat_usage()}


def _chat_events(answer: Answer) -> Events:
    said = _chat_said(answer)
    for index, call in enumerate(said.get("tool_calls", [])):
        call["index"] = index
    kind, end = "chat.completion.chunk", "tool_calls" if answer.calls else "stop"
    usage = {**_chat(answer, kind, "delta", {}, None), "choices": [], "usage": _chat_usage()}
    return [
        ("", _chat(answer, kind, "delta", said, None)),
        ("", _chat(answer, kind, "delta", {}, end)),
        ("", usage),
    ]


# OpenAI Responses


def _grouped_tools(body: Json) -> Offer:
    """Give the tools, and those that are inside of namespaces."""
    tools = _listed(body.get("tools"))
    inner = [one for tool in tools if tool.get("type") == "namespace" for one in _listed(tool.get("tools"))]
    return _named_tools({"tools": [*(tool for tool in tools if tool.get("type") != "namespace"), *inner]})


def _items(answer: Answer) -> list[Json]:
    if answer.calls:
        return [_call_item(call) for call in answer.calls]
    text = {"type": "output_text", "text": answer.text, "annotations": []}
    common = {"id": f"item_{answer.number:04d}", "status": "completed"}
    return [{**common, "type": "message", "role": "assistant", "content": [text]}]


def _call_item(call: Call) -> Json:
    space, _, name = call.tool.rpartition("/")
    common = {"id": f"item_{call.id}", "status": "completed", "call_id": call.id, "name": name}
    common |= {"namespace": space} if space else {}
    if isinstance(call.arguments, str):
        return {**common, "type": "custom_tool_call", "input": call.raw}
    return {**common, "type": "function_call", "arguments": call.raw}


def _response(answer: Answer, status: str, output: list[Json]) -> Json:
    return {
        "id": f"resp_{answer.number:04d}",
        "object": "response",
        "created_at": 1,
        "model": MODEL,
        "status": status,
        "output": output,
        "usage": {
            "input_tokens": USAGE[0],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": USAGE[1],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sum(USAGE),
        },
    }


def _response_whole(answer: Answer) -> Json:
    return _response(answer, "completed", _items(answer))


EMPTY_OF_ITEMS: dict[str, Json] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
}


def _response_events(answer: Answer) -> Events:
    found: list[Json] = [{"type": "response.created", "response": _response(answer, "in_progress", [])}]
    for index, item in enumerate(_items(answer)):
        started = {**item, "status": "in_progress", **EMPTY_OF_ITEMS[item["type"]]}
        found.append({"type": "response.output_item.added", "output_index": index, "item": started})
        if not answer.calls:
            delta = {"item_id": item["id"], "output_index": index, "content_index": 0, "delta": answer.text}
            found.append({"type": "response.output_text.delta", **delta})
        found.append({"type": "response.output_item.done", "output_index": index, "item": item})
    found.append({"type": "response.completed", "response": _response_whole(answer)})
    return [(event["type"], {**event, "sequence_number": number}) for number, event in enumerate(found)]


# Gemini


def _declared_tools(body: Json) -> Offer:
    found: Offer = {}
    for tool in _listed(body.get("tools")):
        declared = tool.get("functionDeclarations")
        found |= {key: {} for key in tool if key != "functionDeclarations"} | _named_tools({"tools": declared})
    return found


def _content(answer: Answer) -> Json:
    calls: list[Json] = [
        {"functionCall": {"id": one.id, "name": one.tool, "args": one.arguments}} for one in answer.calls
    ]
    parts = calls or [{"text": answer.text}]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": USAGE[0],
            "candidatesTokenCount": USAGE[1],
            "totalTokenCount": sum(USAGE),
        },
        "modelVersion": MODEL,
        "responseId": f"resp_{answer.number:04d}",
    }


def _content_events(answer: Answer) -> Events:
    return [("", _content(answer))]


def _path_streams(path: str, _: Json) -> bool:
    return ":streamGenerateContent" in path


WIRES = (
    Wire("anthropic", ("/messages",), _named_tools, _message, _message_events, _asks_for_stream, named=True),
    Wire(
        "chat",
        ("/chat/completions",),
        _function_tools,
        _chat_whole,
        _chat_events,
        _asks_for_stream,
        last="data: [DONE]\n\n",
    ),
    Wire("responses", ("/responses",), _grouped_tools, _response_whole, _response_events, _asks_for_stream, named=True),
    Wire(
        "gemini",
        (":generateContent", ":streamGenerateContent"),
        _declared_tools,
        _content,
        _content_events,
        _path_streams,
    ),
)
