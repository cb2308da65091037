"""A model that plays a script, on loopback: the agent's own requests take a step each, all others get a harmless answer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from e2e.wires import Answer, Call, Json, Wire, wire_of

HARMLESS = "fine"
# in the arguments of a step: the folder that the agent works in, and one that is not part of it
PROJECT_FOLDER, OUTSIDE_FOLDER = "{project}", "{outside}"


@dataclass(frozen=True)
class Step:
    """One step of a script: a shell command, a call of another tool, or the text that ends a turn.

    `arguments` are a text for a tool that takes no object; `also` are the calls that are made at once with this one; `before`
    names what happens on the machine before the agent gets this answer, `meanwhile` what begins then and goes on
    while the agent works.
    """

    name: str
    command: str = ""
    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    also: tuple[Step, ...] = ()
    before: str = ""
    meanwhile: str = ""


@dataclass(frozen=True)
class Request:
    """One request that arrived: when, where, which step answered it (nothing if it was not the agent's own), and all of it."""

    at: float
    path: str
    step: str
    is_own: bool
    body: str

    def to_json(self) -> Json:
        """Give it for a file."""
        return asdict(self)


@dataclass
class Script:
    """A script on its way. A request is the agent's own if it holds the prompt and offers the shell tool."""

    steps: Sequence[Step]
    prompt: str
    tool: str
    arguments: Callable[[str], Json]
    project: str = ""
    outside: str = ""
    requests: list[Request] = field(default_factory=list)
    actions: Mapping[str, Callable[[], None]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    served: int = 0
    _answers: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: list[threading.Thread] = field(default_factory=list)

    def reply(self, path: str, raw: bytes) -> tuple[int, str, bytes]:
        """Give status, content type and bytes of the answer to a request, and remember it."""
        arrived, text = time.time(), raw.decode("utf-8", "replace")
        wire, body = wire_of(path), _object(text)
        own = wire is not None and self.prompt in text and self.tool in wire.tools(body)
        with self._lock:
            step = self._next() if own else None
            self._answers += 1
            number = self._answers
            self.requests.append(Request(arrived, path, step.name if step else "", own, text))
        if wire is None:
            return _aside(path)
        if step and step.meanwhile:
            self._threads.append(threading.Thread(target=self._act, args=(step.meanwhile,), daemon=True))
            self._threads[-1].start()
        if step and step.before:
            self._act(step.before)
        return 200, *wire.answer(path, body, self._answer(step, number))

    def finish(self) -> None:
        """Wait for the end of what happens on the machine beside the agent."""
        for thread in self._threads:
            thread.join()

    def _act(self, name: str) -> None:
        """Do what happens on the machine now; an error makes the run one from which nothing can be concluded."""
        try:
            self.actions[name]()
        except Exception as error:  # noqa: BLE001
            self.errors.append(f"{name}: {type(error).__name__}: {error}")

    def _next(self) -> Step | None:
        step = self.steps[self.served] if self.served < len(self.steps) else None
        self.served += 1
        return step

    def _answer(self, step: Step | None, number: int) -> Answer:
        if step is None:
            return Answer(number, text=HARMLESS)
        if step.text:
            return Answer(number, text=step.text)
        calls = [Call(f"call_{number:04d}_{index}", *self._call(one)) for index, one in enumerate((step, *step.also))]
        return Answer(number, calls=tuple(calls))

    def _call(self, step: Step) -> tuple[str, Json | str]:
        """Give the tool and the arguments of one call."""
        if not step.tool:
            return self.tool, self.arguments(self._put_folders(step.command))
        return step.tool, self._put_folders(step.arguments)

    def _put_folders(self, value: Any) -> Any:
        """Put the folders of the run into every text of a value."""
        if isinstance(value, str):
            return value.replace(PROJECT_FOLDER, self.project).replace(OUTSIDE_FOLDER, self.outside)
        if isinstance(value, Mapping):
            return {key: self._put_folders(one) for key, one in value.items()}
        return [self._put_folders(one) for one in value] if isinstance(value, list) else value


def _object(text: str) -> Json:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _aside(path: str) -> tuple[int, str, bytes]:
    """Answer what is no question to the model."""
    plain = path.partition("?")[0]
    found: Json | None = None
    if plain.endswith("/count_tokens"):
        found = {"input_tokens": 1}
    elif plain.endswith(":countTokens"):
        found = {"totalTokens": 1}
    elif plain.endswith("/models"):
        found = {"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []}
    return (200 if found else 404), "application/json", json.dumps(found or {"error": {"message": "no"}}).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: ClassVar[Script]

    def do_POST(self) -> None:
        """Answer a request with a body."""
        self._send(*self.script.reply(self.path, self._body()))

    def do_GET(self) -> None:
        """Answer a request without one."""
        self._send(*_aside(self.path))

    do_HEAD = do_GET  # noqa: N815

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return b"".join(iter(self._chunk, b""))
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep quiet."""


def serve(script: Script) -> ThreadingHTTPServer:
    """Start the model on a free port of loopback; `server_port` says which."""
    handler = type("Handler", (_Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


__all__ = ["Request", "Script", "Step", "Wire", "serve"]
