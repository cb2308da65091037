"""A model on loopback that sends the answers of a script, in the protocols of OpenAI (chat and responses) and Anthropic."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self


@dataclass(frozen=True)
class Refusal:
    """An answer that is an HTTP error, with the body that a provider would send."""

    status: int
    message: str


Answer = dict[str, Any] | str | Refusal  # arguments of the tool it is offered, plain text, or an error


@dataclass(frozen=True)
class Request:
    """What the model was sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class ScriptedModel:
    """A server that plays its answers, one a request; what it was asked is in `requests`. Use it as a context manager."""

    def __init__(self, *answers: Answer) -> None:
        self.answers: list[Answer] = list(answers)
        self.requests: list[Request] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to ask this model and no other."""
        return {
            "ANTHROPIC_API_KEY": "dummy-anthropic-key",
            "ANTHROPIC_BASE_URL": self.url,
            "NO_PROXY": "*",
            "OPENAI_API_KEY": "dummy-openai-key",
            "OPENAI_BASE_URL": f"{self.url}/v1",
        }

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def play(self, request: Request) -> tuple[int, str, str]:
        """Remember a request and return the next answer: status, content type and body."""
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else Refusal(500, "the script is over")
        protocol = request.path.rpartition("/")[2]
        if protocol not in SPEAKERS:
            answer = Refusal(404, f"no protocol is spoken at {request.path}")
        if isinstance(answer, Refusal):
            error = {"type": "error", "error": {"type": "refused", "message": answer.message}}
            return answer.status, "application/json", json.dumps(error)
        reported = SPEAKERS[protocol](request.body, answer)
        if request.body.get("stream"):
            return 200, "text/event-stream", "".join(map(_event, STREAMERS[protocol](reported)))
        return 200, "application/json", json.dumps(reported)


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            request = Request(path, {k.lower(): v for k, v in self.headers.items()}, body)
            status, kind, text = model.play(request)
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("X-Should-Retry", "false")  # or the libraries ask again, and wait before they do
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    return Handler


def _chat(asked: dict[str, Any], answer: dict[str, Any] | str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer if isinstance(answer, str) else None}
    if isinstance(answer, dict):
        call = {"name": asked["tools"][0]["function"]["name"], "arguments": json.dumps(answer)}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": call}]
    reason = "stop" if isinstance(answer, str) else "tool_calls"
    return {
        "id": "chat_1",
        "object": "chat.completion",
        "created": 1,
        "model": asked["model"],
        "choices": [{"index": 0, "finish_reason": reason, "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _responses(asked: dict[str, Any], answer: dict[str, Any] | str) -> dict[str, Any]:
    item: dict[str, Any]
    if isinstance(answer, str):
        text = {"type": "output_text", "text": answer, "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    else:
        call = {"name": asked["tools"][0]["name"], "arguments": json.dumps(answer), "call_id": "call_1"}
        item = {"type": "function_call", "id": "item_1", "status": "completed", **call}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": asked["model"],
        "status": "completed",
        "output": [item],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
    }


def _messages(asked: dict[str, Any], answer: dict[str, Any] | str) -> dict[str, Any]:
    content: dict[str, Any] = {"type": "text", "text": answer}
    if isinstance(answer, dict):
        content = {"type": "tool_use", "id": "tool_1", "name": asked["tools"][0]["name"], "input": answer}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [content],
        "stop_reason": "end_turn" if isinstance(answer, str) else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _message_events(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Cut a message into the events of a stream: each block begins empty and comes in one piece."""
    usage = answer["usage"]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(answer["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            arguments = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
        events += [
            {"type": "content_block_start", "index": index, "content_block": empty},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    end = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}]


def _event(data: dict[str, Any]) -> str:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"


SPEAKERS = {"completions": _chat, "responses": _responses, "messages": _messages}
STREAMERS = {"messages": _message_events}
