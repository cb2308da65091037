"""The routes of the page: the shell, which has no data, and the data, which needs the token."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from boathook.errors import BoathookError
from boathook.page.decision_routes import DECISION_ROUTES, BodyError, run_decision
from boathook.page.exports import make_export, make_markdown
from boathook.page.live_screen import COUNT_PART, describe_new_rows, describe_records
from boathook.page.markup import Html, escape_text
from boathook.page.needs import list_needs
from boathook.page.now_screen import describe_count, make_parts
from boathook.page.request_check import EXCHANGE_PATH, ICON_FILE, OPEN_FILES
from boathook.page.screen_rows import SCREENS, Screen

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from boathook.page.page_context import PageContext, Query
    from boathook.page.request_check import AsgiApp

_HERE = Path(__file__).parent
_EXPORT_TYPES = {"json": "application/json", "csv": "text/csv; charset=utf-8", "md": "text/markdown; charset=utf-8"}
# A stream looks for new records as often as the index does.
STREAM_SECONDS = 0.1
_BEATS, _QUESTION_BEATS = 100, 5
_ICON_DIGITS = 2
_Result = TypeVar("_Result")


def make_app(context: PageContext) -> AsgiApp:
    """Return the application; `RequestCheck` must be around it."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    routes = PageRoutes(context)
    files = [Route(path, routes.send_file) for path in OPEN_FILES]
    data = [
        Route(EXCHANGE_PATH, routes.exchange_ticket, methods=["POST"]),
        *(Route(path, routes.decide, methods=["POST"]) for path in DECISION_ROUTES),
        Route("/data/screen/{name}", routes.send_screen),
        Route("/data/stream", routes.send_stream),
        Route("/data/export/{name}.{kind}", routes.send_export),
    ]
    return Starlette(routes=[*files, *data])


class PageRoutes:
    def __init__(self, context: PageContext) -> None:
        self._context = context

    async def send_file(self, request: Request) -> Response:
        from starlette.responses import Response

        name, media_type = OPEN_FILES[request.url.path]
        data = (_HERE / name).read_bytes()
        return Response(make_icon(data, request.url.query) if name == ICON_FILE else data, media_type=media_type)

    async def exchange_ticket(self, request: Request) -> Response:
        """Answer a ticket with the token."""
        token = self._context.exchange_ticket((await _read_body(request)).decode("utf-8", "replace"))
        return _send_json({"token": token}, 200 if token else 401)

    async def decide(self, request: Request) -> Response:
        """Answer a write: a step of a person's decision."""
        body, path = await _read_body(request), request.url.path
        try:
            return _send_json(await run_in_thread(lambda: run_decision(self._context, path, body)))
        except BodyError as error:
            return _send_json({"error": str(error)}, 400)

    async def send_screen(self, request: Request) -> Response:
        screen = next((one for one in SCREENS if one.path == request.path_params["name"]), None)
        if screen is None:
            return _send_json({"error": "there is no such screen"}, 404)
        query = dict(request.query_params)
        answer = await run_in_thread(lambda: self._make_screen(screen, query))
        return _send_json(answer)

    def _make_screen(self, screen: Screen, query: Query) -> dict[str, Any]:
        context = self._context
        with context.index.serve_reader():
            position = context.index.position
            try:
                html = screen.make(context, query)
            except BoathookError as error:
                html = screen.describe_error(error)
            waiting = len(list_needs(context))
        place = screen.place or screen.path
        about = {"title": screen.title, "place": place, "position": position, "waiting": waiting}
        # The clock of the browser may be another one.
        return {**about, "html": html, "now": round(time.time() * 1000)}

    async def send_export(self, request: Request) -> Response:
        from starlette.responses import Response

        name, kind = request.path_params["name"], request.path_params["kind"]
        query = dict(request.query_params)
        if (name, kind) == ("record", "md"):
            text = await run_in_thread(lambda: make_markdown(self._context, query))
        else:
            text = await run_in_thread(lambda: make_export(self._context, name, kind, query))
        if text is None:
            return _send_json({"error": "there is no such list"}, 404)
        return Response(text.encode("utf-8", "backslashreplace"), media_type=_EXPORT_TYPES[kind])

    async def send_stream(self, request: Request) -> Response:
        """Answer with new records as they come, one JSON object per line, until the reader or the page ends."""
        from starlette.responses import StreamingResponse

        query = dict(request.query_params)
        return StreamingResponse(self._stream(query), media_type="application/x-ndjson")

    async def _stream(self, query: Query) -> AsyncIterator[bytes]:
        context = self._context
        digits = query.pop("after", "")
        position = int(digits) if digits.isdecimal() and len(digits) < 12 else context.index.position
        waiting, beat, note = -1, 0, ""
        keys: dict[str, str] = {}
        counting: asyncio.Future[tuple[int, dict[str, tuple[str, Html]]]] | None = None
        with context.count_stream():
            while not context.is_closing():
                rows, position = context.index.list_rows_after(position)
                if rows:
                    yield _encode_line({"rows": describe_new_rows(rows, query), "position": position})
                before, note = note, describe_records(context)
                if note != before:
                    yield _encode_line({"part": COUNT_PART, "key": note, "html": escape_text(note)})
                if (rows or not beat % _QUESTION_BEATS) and counting is None:
                    # Records do not wait for it.
                    counting = asyncio.ensure_future(run_in_thread(lambda: _describe_needs(context)))
                if not beat % _BEATS:
                    # Something must be sent now and then: there is no other way to notice that a reader is gone.
                    yield b"\n"
                if counting is not None and counting.done():
                    known, (waiting, parts) = waiting, counting.result()
                    counting = None
                    if waiting != known:
                        yield _encode_line({"waiting": waiting, "heading": describe_count(waiting)})
                    for name, (key, html) in parts.items():
                        if keys.get(name) != key:
                            yield _encode_line({"part": name, "key": key, "html": html})
                        keys[name] = key
                beat += 1
                await asyncio.sleep(STREAM_SECONDS)


async def _read_body(request: Request) -> bytes:
    """Return the body; nothing if the connection ends before it, which must not fill the terminal with errors."""
    from starlette.requests import ClientDisconnect

    try:
        return await request.body()
    except ClientDisconnect:
        return b""


def _describe_needs(context: PageContext) -> tuple[int, dict[str, tuple[str, Html]]]:
    """Return how many things need a person, and the parts of Now with their keys."""
    return len(list_needs(context)), make_parts(context)


def _encode_line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def _send_json(fields: dict[str, Any], status: int = 200) -> Response:
    from starlette.responses import Response

    return Response(json.dumps(fields), status, media_type="application/json")


def make_icon(icon: bytes, number: str) -> bytes:
    """Return the icon with a number in it: how many things need the person. Anything but one or two digits changes nothing."""
    if not (number.isascii() and number.isdigit() and len(number) <= _ICON_DIGITS):
        return icon
    text = (
        f'<text x="22" y="27" font-size="13" font-family="sans-serif" text-anchor="middle" fill="#fff">{number}</text>'
    )
    return icon.replace(b"</svg>", f'<circle cx="22" cy="22" r="10" fill="#a81e1e"/>{text}</svg>'.encode())


async def run_in_thread(function: Callable[[], _Result]) -> _Result:
    """Run a function in a thread that does not keep the program from ending: Ctrl-C must not wait for a replay."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Result] = loop.create_future()

    def finish(result: _Result | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        try:
            result, error = function(), None
        except BaseException as raised:  # noqa: BLE001  (it is raised again, by whoever waits)
            result, error = None, raised
        try:
            loop.call_soon_threadsafe(finish, result, error)
        except RuntimeError:
            # The loop is closed: the page has ended.
            return

    threading.Thread(target=run, name="boathook-page-screen", daemon=True).start()
    return await future
