"""Prompt and http hooks: a process of its own asks a model or a server, and prints the answer, or in one line why there is none."""

from __future__ import annotations

import json
import os
import random
import re
import sys
import threading
import time
from base64 import b64encode
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import quote, quote_plus, unquote

from boathook.core.json_text import dump_line, dumps
from boathook.core.model_protocols import CORRECTION, JUDGE_INSTRUCTIONS, find_model_protocol
from boathook.core.text import clean_text
from boathook.system.extras import suggest_packages
from boathook.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from httpx import URL, Client, Request, Response
    from pydantic_ai import Agent

    from boathook.core.model_protocols import ModelProtocol

_EXIT_NO_ANSWER = 3
_MAX_BODY_BYTES = 1 << 20
_MAX_QUOTE_CHARS = 200
_MAX_ERROR_CHARS = 1000
# hiding shorter secrets, or plain words of a path, would only garble the line
_MIN_SECRET_CHARS = 6
_MAX_WORD_CHARS = 15
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_USERINFO = re.compile(r"//[^/?#\s]*@")
_SEPARATORS = re.compile(r"[\s&=;,]+")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
_KEY_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN)\b")
_PACKAGE = re.compile(r"pydantic-ai-slim\[[\w-]+\]")
# no traces of an event go anywhere but to the model that is asked
QUIET_ENVIRONMENT = {
    "ANTHROPIC_OPEN_TELEMETRY": "false",
    "OTEL_SDK_DISABLED": "true",
    "PYDANTIC_AI_NO_BANNER": "1",
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
}
_HINTS = {
    401: "check the API key",
    403: "check what the API key may do",
    404: "check the name of the model",
    429: "wait, or raise the provider's limit",
}
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_MODEL_HINT = "write it as provider:name, such as openai:gpt-5-mini"
_FORM_HINT = "make the prompt plainer or use another model"
# As the libraries of the providers do it.
_CONNECT_SECONDS = 5.0
_RETRY_SECONDS = (0.5, 1.0)
_MAX_RETRY_SECONDS = 120
_RETRIED_STATUSES = (408, 409, 429)
# A provider that refuses a request for its form may accept that of the library, which knows every model.
_FORM_STATUSES = (400, 422)


class NoAnswerError(Exception):
    """Why there is no answer and what to do about it, in one line."""


class FormRefusedError(NoAnswerError):
    """A provider does not accept the form of a request."""


class Reporter:
    def __init__(self) -> None:
        self.secrets: tuple[str, ...] = ()
        self._out, self._err = os.dup(1), os.dup(2)
        self._lock = threading.Lock()
        null = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(null, stream)
        os.close(null)

    def print_answer(self, data: bytes) -> int:
        self._print_once(self._out, data)
        return 0

    def print_error(self, message: str) -> int:
        self._print_once(self._err, f"{self.quote(message, _MAX_ERROR_CHARS)}\n".encode("utf-8", "replace"))
        return _EXIT_NO_ANSWER

    def quote(self, text: str, limit: int = _MAX_QUOTE_CHARS) -> str:
        """Return a text as one line without secrets; they are hidden before it is cut, because half of one is too much."""
        line = " ".join(clean_text(text).split())
        for secret in self.secrets:
            line = line.replace(secret, "[hidden]")
        line = _USERINFO.sub("//", line)
        return line if len(line) <= limit else f"{line[:limit]}…"

    def fail_after(self, seconds: float, message: str) -> None:
        """End the process after a time, from a thread: a name lookup obeys neither timeouts nor signals."""
        timer = threading.Timer(seconds, lambda: os._exit(self.print_error(message)))
        timer.daemon = True
        timer.start()

    def _print_once(self, stream: int, data: bytes) -> None:
        # never released: what comes second, answer or timer, waits until the process ends
        self._lock.acquire()
        # the reader may be gone
        with suppress(OSError), open(stream, "wb") as file:
            file.write(data)


def run_remote_hook() -> int:
    reporter = Reporter()
    try:
        with open(0, "rb", closefd=False) as stream:
            question = json.loads(stream.read())
        reporter.secrets = tuple(sorted(_find_secrets(question), key=len, reverse=True))
        if (kind := question["type"]) not in _FUNCTIONS:
            raise NoAnswerError(f"a hook of type {kind!r} cannot be asked; the types are {' and '.join(_FUNCTIONS)}")
        answer = _FUNCTIONS[kind](question, reporter)
    except NoAnswerError as error:
        return reporter.print_error(str(error))
    except Exception as error:  # noqa: BLE001
        return reporter.print_error(f"the question could not be asked: {type(error).__name__}: {error}")
    return reporter.print_answer(answer)


# Servers


def _ask_server(question: dict[str, Any], reporter: Reporter) -> bytes:
    httpx = import_httpx("http hooks")
    url = _parse_url(question["url"])
    # The rest of the URL may be secret, such as the path of a webhook.
    server = f"{url.scheme}://{url.netloc.decode('ascii')}"
    headers = httpx.Headers({"Content-Type": "application/json", "User-Agent": f"boathook/{__version__}"})
    headers.update(_encode_headers(question["headers"]))
    auth = (url.username, url.password) if url.userinfo and "Authorization" not in headers else None
    # otherwise it would override the hook's own Authorization
    url = url.copy_with(userinfo=b"")
    # a lone surrogate becomes its JSON escape
    event = dumps(question["event"]).encode("utf-8", "backslashreplace")
    hint = "make the server faster or raise the hook's timeout"
    reporter.fail_after(question["timeout"], f"{server} did not answer within {question['timeout']:g} s; {hint}")
    try:
        with (
            _open_client(url.scheme) as client,
            client.stream("POST", url, content=event, headers=headers, auth=auth) as reply,
        ):
            return _read_answer(reply, server, reporter)
    except httpx.HTTPError as error:
        raise NoAnswerError(
            _describe_connection_error(server, error, "is the server running, and is the hook's url right?")
        ) from None


def import_httpx(what: str) -> Any:
    """Return the library that asks over HTTP, without its command line; NoAnswerError if it is not installed."""
    # That takes as long to import as the rest.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    try:
        import httpx
    except ImportError:
        raise NoAnswerError(f"{what} need httpx: {suggest_packages('http')}") from None
    return httpx


def _open_client(scheme: str, connect_seconds: float | None = None) -> Client:
    import ssl
    from urllib.request import getproxies

    import httpx

    # To load the trusted certificates takes as long as all else. A context without any trusts no server.
    is_plain = scheme == "http" and getproxies().keys() <= {"no"}
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True
    try:
        # the only timer of a whole answer is the reporter's
        return httpx.Client(verify=verify, timeout=httpx.Timeout(None, connect=connect_seconds))
    # errors of the network come later, as HTTPError
    except OSError as error:
        fix = "check SSL_CERT_FILE and SSL_CERT_DIR"
        raise NoAnswerError(f"the trusted certificates cannot be loaded: {error.strerror or error}; {fix}") from None


def _parse_url(text: str) -> URL:
    import httpx

    try:
        url = httpx.URL(text)
    # the error text may quote a password
    except httpx.InvalidURL:
        raise NoAnswerError("the hook's url cannot be read; write it as https://host/path") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise NoAnswerError("the hook's url is neither http:// nor https://; write it as https://host/path")
    return url


def _encode_headers(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise NoAnswerError(f"the header {name!r} cannot be sent: it is not a valid name of a header")
        if not _HEADER_VALUE.fullmatch(value):
            invalid = "a line break, a control character or a letter outside Latin-1"
            raise NoAnswerError(f"the header {name!r} cannot be sent: its value has {invalid}")
    return [(name.encode("ascii"), value.strip(" \t").encode("latin-1")) for name, value in headers.items()]


def _read_answer(reply: Response, server: str, reporter: Reporter) -> bytes:
    if not reply.is_success:
        raise NoAnswerError(_describe_refusal(reply, server, reporter))
    data = _read_body(reply)
    if len(data) > _MAX_BODY_BYTES:
        raise NoAnswerError(f"{server} answered with more than {_MAX_BODY_BYTES:,} bytes; make the answer shorter")
    return _decode_body(reply, data).encode("utf-8", "replace")


def _describe_refusal(reply: Response, server: str, reporter: Reporter) -> str:
    message = f"{server} answered {reply.status_code} {reply.reason_phrase}".rstrip()
    if reply.next_request is not None:
        target = reply.next_request.url.netloc.decode("ascii")
        return f"{message}, a redirect to {target}; redirects are refused: put the final address into the hook's url"
    quote = reporter.quote(_decode_body(reply, _read_body(reply)))
    return f"{message}: {quote}" if quote else message


def _read_body(reply: Response) -> bytes:
    data = bytearray()
    for part in reply.iter_bytes():
        data += part
        if len(data) > _MAX_BODY_BYTES:
            break
    return bytes(data)


def _decode_body(reply: Response, data: bytes) -> str:
    try:
        return data.decode(reply.charset_encoding or "utf-8", "replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")


# Models


def _ask_model(question: dict[str, Any], reporter: Reporter) -> bytes:
    name, seconds = question["model"], question["timeout"]
    hint = "use a faster model or raise the hook's timeout"
    reporter.fail_after(seconds, f"{name} did not answer within {seconds:g} s; {hint}")
    protocol = find_model_protocol(name, os.environ)
    if protocol is None:
        return _ask_library(name, question["prompt"], reporter)
    try:
        return _ask_provider(protocol, name, question["prompt"], time.monotonic() + seconds, reporter)
    except FormRefusedError:
        from importlib.util import find_spec

        if find_spec("pydantic_ai") is None:
            raise
    return _ask_library(name, question["prompt"], reporter)


def _ask_provider(protocol: ModelProtocol, name: str, prompt: str, deadline: float, reporter: Reporter) -> bytes:
    """Ask a model over HTTP; a second time, if its answer has another form."""
    httpx = import_httpx("prompt hooks")
    if protocol.lacks_key(os.environ):
        raise NoAnswerError(f"no API key for {name}: set {protocol.key_variable}")
    headers = {"Content-Type": "application/json", "User-Agent": f"boathook/{__version__}"}
    try:
        url = httpx.URL(protocol.make_url(os.environ))
        with _open_client(url.scheme, _CONNECT_SECONDS) as client:
            for text in (prompt, f"{prompt}\n\n{CORRECTION}"):
                request = client.build_request(
                    "POST",
                    url,
                    content=dumps(protocol.write_request(name.partition(":")[2], text)).encode(
                        "utf-8", "backslashreplace"
                    ),
                    headers=_encode_headers({**headers, **protocol.make_headers(os.environ)}),
                )
                judgement = protocol.read_judgement(_send_request(client, request, name, deadline, reporter))
                if judgement is not None:
                    return dump_line(judgement)
    except httpx.InvalidURL:
        raise NoAnswerError(
            f"{name} cannot be asked: {protocol.address_variable} is not an address; write it as {protocol.address}"
        ) from None
    except httpx.HTTPError as error:
        raise NoAnswerError(_describe_connection_error(name, error, "is the network up?")) from None
    raise NoAnswerError(f"{name} gave no answer of the right form (no call with ok true or false); {_FORM_HINT}")


def _send_request(client: Client, request: Request, name: str, deadline: float, reporter: Reporter) -> str:
    """Return the text of an answer; what may pass, such as a busy provider, is tried again while there is time."""
    import httpx

    for wait in (*_RETRY_SECONDS, None):
        # together with others that were refused at the same time, it would be refused again
        seconds = None if wait is None else wait * random.uniform(0.75, 1)  # noqa: S311
        try:
            reply = client.send(request, stream=True)
            try:
                text = _decode_body(reply, _read_body(reply))
            finally:
                reply.close()
        except httpx.TransportError:
            if seconds is None or time.monotonic() + seconds >= deadline:
                raise
        else:
            if reply.is_success:
                return text
            seconds = _find_retry_seconds(reply, seconds)
            if seconds is None or time.monotonic() + seconds >= deadline:
                error = FormRefusedError if reply.status_code in _FORM_STATUSES else NoAnswerError
                raise error(_describe_model_refusal(name, reply.status_code, text, reporter))
        time.sleep(seconds)
    raise AssertionError("the last try returns or raises")


def _find_retry_seconds(reply: Response, seconds: float | None) -> float | None:
    """Return after how many seconds to try again, `seconds` unless the provider says when; None for never."""
    word = reply.headers.get("x-should-retry")
    status = reply.status_code
    can_pass = status in _RETRIED_STATUSES or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    if seconds is None or word == "false" or (word != "true" and not can_pass):
        return None
    for header, divisor in (("retry-after-ms", 1000), ("retry-after", 1)):
        with suppress(ValueError):
            wanted = float(reply.headers.get(header, "")) / divisor
            if wanted > _MAX_RETRY_SECONDS:
                return None
            return wanted if wanted > 0 else seconds
    return seconds


def _ask_library(name: str, prompt: str, reporter: Reporter) -> bytes:
    os.environ.update(QUIET_ENVIRONMENT)
    try:
        import pydantic_ai.exceptions as model_errors
    except ImportError:
        raise NoAnswerError(f"{name} needs a library for models: {suggest_packages('prompt')}") from None
    try:
        judgement = _make_judge(name).run_sync(prompt).output
    except model_errors.ModelHTTPError as error:
        raise NoAnswerError(_describe_model_refusal(name, error.status_code, error.body, reporter)) from None
    except model_errors.ModelAPIError as error:
        raise NoAnswerError(_describe_connection_error(name, error, "is the network up?")) from None
    except model_errors.UnexpectedModelBehavior as error:
        raise NoAnswerError(f"{name} gave no answer of the right form ({error.message}); {_FORM_HINT}") from None
    return dump_line({"ok": judgement.ok, "reason": judgement.reason})


def _make_judge(name: str) -> Agent[None, Any]:
    from dataclasses import make_dataclass

    from pydantic_ai import Agent

    # the library would accept some names without a provider, such as its own test model
    if ":" not in name:
        raise NoAnswerError(f"unknown model {name!r}: {_MODEL_HINT}")
    judgement = make_dataclass("Judgement", [("ok", bool), ("reason", str, "")])
    try:
        return Agent(name, output_type=judgement, instructions=JUDGE_INSTRUCTIONS, retries=1)
    except ImportError as error:
        extra = _PACKAGE.search(str(error))
        fix = f"pip install '{extra[0]}'" if extra else str(error)
        raise NoAnswerError(f"the library for {name} is missing: {fix}") from None
    except Exception as error:  # noqa: BLE001  (every provider has its own)
        message = f"{name} cannot be asked: {error}"
        if str(error).startswith("Unknown"):
            message = f"unknown model {name!r}: {_MODEL_HINT}"
        elif variable := _KEY_VARIABLE.search(str(error)):
            message = f"no API key for {name}: set {variable[0]}"
        raise NoAnswerError(message) from None


def _describe_model_refusal(name: str, status: int, body: object, reporter: Reporter) -> str:
    message = f"{name} answered {status} {_PHRASES.get(status, '')}".rstrip()
    if isinstance(body, str):
        with suppress(ValueError):
            body = json.loads(body)
    # Every provider nests its message in its own way.
    while isinstance(body, dict):
        body = body.get("error") or body.get("message")
    quote = reporter.quote(str(body or ""))
    hint = _HINTS.get(status, "try again later" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "")
    return f"{message}{f': {quote}' if quote else ''}{f' ({hint})' if hint else ''}"


_FUNCTIONS = {"http": _ask_server, "prompt": _ask_model}


# Errors and secrets


def _describe_connection_error(name: str, error: Exception, hint: str) -> str:
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    for cause in causes:
        if untrusted := getattr(cause, "verify_message", ""):
            fix = "SSL_CERT_FILE can name the file of an authority to trust"
            return f"{name} has a certificate that cannot be trusted: {untrusted}; {fix}"
    messages = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
    return f"{name} gave no answer: {messages[-1] if messages else str(error) or type(error).__name__}; {hint}"


def _find_secrets(question: dict[str, Any]) -> Iterator[str]:
    """Yield what no line may contain: values of headers, parts of the URL other than its host, keys in the environment."""
    url = str(question.get("url", ""))
    values = [*question.get("headers", {}).values(), url.partition("?")[2]]
    values += [value for name, value in os.environ.items() if _SECRET_NAME.search(name.upper())]
    for userinfo in map(unquote, _USERINFO.findall(url)):
        values += [*userinfo[2:-1].split(":"), b64encode(userinfo[2:-1].encode()).decode()]
    path = url.partition("://")[2].partition("/")[2].partition("?")[0]
    values += [path, *(part for part in path.split("/") if not part.isalpha() or len(part) > _MAX_WORD_CHARS)]
    for value in values:
        for text in {value, *_SEPARATORS.split(value)}:
            if len(text) >= _MIN_SECRET_CHARS:
                yield from _list_forms(text)


def _list_forms(text: str) -> set[str]:
    data = text.encode("utf-8", "replace")
    forms = {text, quote(data), quote_plus(data), unquote(text), dumps(text)[1:-1], b64encode(data).decode()}
    return {form for form in forms if len(form) >= _MIN_SECRET_CHARS}
