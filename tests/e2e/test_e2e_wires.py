"""The scripted model speaks four wire formats, whole and as a stream."""

from __future__ import annotations

import json

import pytest

from e2e.wires import WIRES, Answer, Call, wire_of

CALL = Answer(3, calls=(Call("call_1", "Bash", {"command": "ls"}),))
TEXT = Answer(4, text="done")
PATHS = {
    "anthropic": "/v1/messages?beta=true",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/m:generateContent",
}
WIRE = {wire.name: wire for wire in WIRES}


def read_whole(name: str, found: dict) -> tuple[str, str, dict]:
    """Return text, tool and arguments of an answer, read as a client would."""
    if name == "anthropic":
        block = found["content"][0]
        return block.get("text", ""), block.get("name", ""), block.get("input", {})
    if name == "chat":
        message = found["choices"][0]["message"]
        call = (message.get("tool_calls") or [{}])[0].get("function", {})
        return message["content"] or "", call.get("name", ""), json.loads(call.get("arguments", "{}"))
    if name == "responses":
        item = found["output"][0]
        text = item["content"][0]["text"] if item["type"] == "message" else ""
        return text, item.get("name", ""), json.loads(item.get("arguments", "{}"))
    part = found["candidates"][0]["content"]["parts"][0]
    call = part.get("functionCall", {})
    return part.get("text", ""), call.get("name", ""), call.get("args", {})


def events_in(data: bytes) -> list[dict]:
    lines = [line.removeprefix("data: ") for line in data.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def read_streamed(name: str, events: list[dict]) -> tuple[str, str, dict]:
    """Put a stream together as a client would."""
    if name == "anthropic":
        start = next(one for one in events if one["type"] == "content_block_start")["content_block"]
        deltas = [one["delta"] for one in events if one["type"] == "content_block_delta"]
        text = "".join(one.get("text", "") for one in deltas)
        raw = "".join(one.get("partial_json", "") for one in deltas)
        return text, start.get("name", ""), json.loads(raw or "{}")
    if name == "chat":
        deltas = [one["choices"][0]["delta"] for one in events if one["choices"]]
        calls = [call["function"] for one in deltas for call in one.get("tool_calls", [])]
        assert all(call["index"] == 0 for one in deltas for call in one.get("tool_calls", []))
        raw = "".join(call["arguments"] for call in calls)
        text = "".join(one.get("content") or "" for one in deltas)
        return text, calls[0]["name"] if calls else "", json.loads(raw or "{}")
    if name == "responses":
        done = next(one for one in events if one["type"] == "response.output_item.done")
        assert events[-1]["type"] == "response.completed"
        return read_whole(name, {"output": [done["item"]]})
    return read_whole(name, events[0])


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(("answer", "reported"), [(CALL, ("", "Bash", {"command": "ls"})), (TEXT, ("done", "", {}))])
def test_an_answer_is_sent_whole_and_as_a_stream(name, answer, reported):
    wire, path = WIRE[name], PATHS[name]
    kind, data = wire.answer(path, {}, answer)
    assert (kind, read_whole(name, json.loads(data))) == ("application/json", reported)
    kind, data = wire.answer(path.replace(":generate", ":streamGenerate"), {"stream": True}, answer)
    assert (kind, read_streamed(name, events_in(data))) == ("text/event-stream", reported)


TWO = Answer(5, calls=(Call("a", "Bash", {"command": "ls"}), Call("b", "Write", {"file": "x"})))


def read_calls(name: str, found: dict) -> list[tuple[str, str, dict]]:
    """Return id, tool and arguments of every call of an answer, read as a client would."""
    if name == "anthropic":
        return [(one["id"], one["name"], one["input"]) for one in found["content"]]
    if name == "chat":
        calls = found["choices"][0]["message"]["tool_calls"]
        return [(one["id"], one["function"]["name"], json.loads(one["function"]["arguments"])) for one in calls]
    if name == "responses":
        return [(one["call_id"], one["name"], json.loads(one["arguments"])) for one in found["output"]]
    parts = [one["functionCall"] for one in found["candidates"][0]["content"]["parts"]]
    return [(one["id"], one["name"], one["args"]) for one in parts]


def gather(name: str, events: list[dict]) -> dict:
    """Put the stream of an answer with several calls together as a client would."""
    if name == "anthropic":
        blocks = {one["index"]: one["content_block"] for one in events if one["type"] == "content_block_start"}
        for one in events:
            if one["type"] == "content_block_delta":
                blocks[one["index"]] = {**blocks[one["index"]], "input": json.loads(one["delta"]["partial_json"])}
        return {"content": [blocks[index] for index in sorted(blocks)]}
    if name == "chat":
        calls = [call for one in events if one["choices"] for call in one["choices"][0]["delta"].get("tool_calls", [])]
        return {"choices": [{"message": {"tool_calls": sorted(calls, key=lambda call: call["index"])}}]}
    if name == "responses":
        done = [one for one in events if one["type"] == "response.output_item.done"]
        assert [one["output_index"] for one in done] == list(range(len(done)))
        assert events[-1]["response"]["output"] == [one["item"] for one in done]
        return {"output": [one["item"] for one in done]}
    return events[0]


@pytest.mark.parametrize("name", PATHS)
def test_an_answer_may_have_several_calls(name):
    wire, path = WIRE[name], PATHS[name]
    expected = [("a", "Bash", {"command": "ls"}), ("b", "Write", {"file": "x"})]
    _, data = wire.answer(path, {}, TWO)
    assert read_calls(name, json.loads(data)) == expected
    _, data = wire.answer(path.replace(":generate", ":streamGenerate"), {"stream": True}, TWO)
    assert read_calls(name, gather(name, events_in(data))) == expected


def test_a_tool_may_take_a_text_as_it_is():
    patch = Answer(6, calls=(Call("a", "apply_patch", "*** Begin"),))
    _, data = WIRE["responses"].answer(PATHS["responses"], {}, patch)
    (item,) = json.loads(data)["output"]
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "apply_patch", "*** Begin")
    _, data = WIRE["chat"].answer(PATHS["chat"], {}, patch)
    (call,) = json.loads(data)["choices"][0]["message"]["tool_calls"]
    assert (call["type"], call["custom"]) == ("custom", {"name": "apply_patch", "input": "*** Begin"})


def test_a_call_may_be_in_a_namespace():
    _, data = WIRE["responses"].answer(PATHS["responses"], {}, Answer(7, calls=(Call("a", "agents/spawn", {}),)))
    (item,) = json.loads(data)["output"]
    assert (item["namespace"], item["name"]) == ("agents", "spawn")


@pytest.mark.parametrize("name", PATHS)
def test_a_path_belongs_to_one_wire(name):
    assert wire_of(PATHS[name]) is WIRE[name]


def test_other_paths_belong_to_none():
    for path in ("/v1/messages/count_tokens?beta=true", "/v1beta/models/m:countTokens", "/v1/models", "/"):
        assert wire_of(path) is None


SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS = {
    "anthropic": [{"name": "Bash", "input_schema": SCHEMA}],
    "chat": [{"type": "function", "function": {"name": "Bash", "parameters": SCHEMA}}],
    "responses": [{"type": "function", "name": "Bash", "parameters": SCHEMA}],
    "gemini": [{"functionDeclarations": [{"name": "Bash", "parametersJsonSchema": SCHEMA}]}],
}


@pytest.mark.parametrize("name", TOOLS)
def test_the_tools_of_a_request_are_found_with_their_keys(name):
    assert WIRE[name].tools({"tools": TOOLS[name]}) == {"Bash": SCHEMA["properties"]}
    assert WIRE[name].tools({"tools": None}) == WIRE[name].tools({}) == {}


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_without_keys_is_found_too(name):
    bare = [{"functionDeclarations": [{"name": "Bash"}]}] if name == "gemini" else [{"name": "Bash"}]
    assert WIRE[name].tools({"tools": bare}) == {"Bash": {}}


def test_tools_that_have_no_declaration_are_found_by_their_kind():
    assert WIRE["responses"].tools({"tools": [{"type": "web_search"}]}) == {"web_search": {}}
    assert WIRE["anthropic"].tools({"tools": [{"type": "bash_20250124", "name": "bash"}]}) == {"bash": {}}
    assert WIRE["chat"].tools({"tools": [{"type": "custom"}]}) == {"custom": {}}
    assert WIRE["chat"].tools({"tools": [{"type": "custom", "custom": {"name": "patch"}}]}) == {"patch": {}}
    assert WIRE["gemini"].tools({"tools": [{"codeExecution": {}}]}) == {"codeExecution": {}}


def test_tools_in_a_namespace_are_found():
    group = {"type": "namespace", "name": "agents", "tools": [{"name": "spawn", "parameters": SCHEMA}]}
    assert WIRE["responses"].tools({"tools": [group]}) == {"spawn": SCHEMA["properties"]}


def test_streams_end_as_their_clients_want():
    _, data = WIRE["chat"].answer(PATHS["chat"], {"stream": True}, TEXT)
    assert data.endswith(b"data: [DONE]\n\n")
    _, data = WIRE["anthropic"].answer(PATHS["anthropic"], {"stream": True}, TEXT)
    assert data.startswith(b"event: message_start\n")
    assert b"event: message_stop\n" in data
