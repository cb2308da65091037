"""The check of every request, before anything of the page sees it, and the headers of every answer."""

# What each rule is for (docs/adr/0039-page.md has the lessons): the exact Host stops names that are bound to this machine (DNS
# rebinding), Origin and Sec-Fetch-Site stop other pages in the same browser, the token stops other programs and users. There
# is no cookie, because a browser sends those to every port of a host.

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from boathook.core.value import Value
from boathook.page.decision_routes import DECISION_ROUTES

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

# Where a request has the function that is called if it has the token.
ADMIT_KEY = "boathook.admit"
# Without data and without a secret, so that they need no token.
SHELL_PATH, EXCHANGE_PATH = "/", "/session"
# What anybody may read: the same for everybody, files of the package, by their paths.
ICON_FILE = "icon.svg"
OPEN_FILES = {
    SHELL_PATH: ("shell.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/decide.js": ("decide.js", "text/javascript; charset=utf-8"),
    "/icon.svg": (ICON_FILE, "image/svg+xml"),
    "/favicon.ico": (ICON_FILE, "image/svg+xml"),
}
# All that decides something, and the most that a body may have. Everything else is a GET.
_MAX_BODIES = {EXCHANGE_PATH: 1 << 10, **dict.fromkeys(DECISION_ROUTES, 1 << 14)}
_CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types boathook",
    )
)
SECURITY_HEADERS = {
    "content-security-policy": _CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_HEADER_PAIRS = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]


class Refusal(Value):
    status: int
    message: str


class RequestCheck:
    """Refuses what does not come from the page itself; `is_token` knows the token, `note_reader` is called for what has it."""

    def __init__(
        self, app: AsgiApp, origin: str, is_token: Callable[[str], bool], note_reader: Callable[[], None]
    ) -> None:
        self._app, self._origin = app, origin
        self._is_token, self._note_reader = is_token, note_reader
        self._host = origin.partition("://")[2]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        refusal = self.find_refusal(scope)
        if refusal is not None:
            await _send_refusal(refusal, _add_headers(send))
            return
        if scope["path"] not in (*OPEN_FILES, EXCHANGE_PATH):
            self._note_reader()
            if admit := scope.get(ADMIT_KEY):
                admit()
        await self._app(scope, receive, _add_headers(send))

    def find_refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused, or None. The first rule that is broken counts."""
        headers = _Headers(scope)
        path, method = scope["path"], scope["method"]
        is_write = path in _MAX_BODIES
        if headers.get_all("host") != [self._host]:
            return Refusal(421, f"this page answers only to {self._host}")
        # A route that ends with a name would also be found by that name and a line end.
        if not path.isascii() or not path.isprintable():
            return Refusal(400, "no address of this page has such characters")
        if method != ("POST" if is_write else "GET"):
            return Refusal(405, "a GET decides nothing, and nothing can be read by another method")
        origins = headers.get_all("origin")
        if (origins and origins != [self._origin]) or (is_write and not origins):
            return Refusal(403, "this request comes from another page")
        # A person who opens the page comes from elsewhere: a terminal, a bookmark, the file that leads to it.
        is_opening = path == SHELL_PATH and headers.get("sec-fetch-mode") in ("", "navigate")
        sites = ("", "same-origin") if is_write else ("", "same-origin", "none")
        if headers.get("sec-fetch-site") not in sites and not is_opening:
            return Refusal(403, "this request comes from another site")
        if headers.get("sec-fetch-mode") == "navigate" and path != SHELL_PATH:
            return Refusal(403, f"open {self._origin}/ instead")
        if path not in (*OPEN_FILES, EXCHANGE_PATH) and not self._has_token(headers):
            return Refusal(401, "this address was used, or is too old")
        return _find_body_refusal(headers, path) if is_write else None

    def _has_token(self, headers: _Headers) -> bool:
        values = headers.get_all("authorization")
        return (
            len(values) == 1 and values[0].startswith("Bearer ") and self._is_token(values[0].removeprefix("Bearer "))
        )


def _find_body_refusal(headers: _Headers, path: str) -> Refusal | None:
    length = headers.get("content-length")
    is_short = length.isascii() and length.isdigit() and len(length) < 6 and int(length) <= _MAX_BODIES[path]
    # A body in chunks would not have to keep to its length.
    if not is_short or headers.get_all("transfer-encoding"):
        return Refusal(413, "the body is too long, or has no length")
    # No form of another page can send this type.
    if path != EXCHANGE_PATH and headers.get("content-type") != "application/json":
        return Refusal(415, "the body must be application/json")
    return None


class _Headers:
    def __init__(self, scope: Scope) -> None:
        self._pairs: list[tuple[bytes, bytes]] = scope["headers"]

    def get_all(self, name: str) -> list[str]:
        wanted = name.encode()
        return [value.decode("latin-1") for key, value in self._pairs if key.lower() == wanted]

    def get(self, name: str) -> str:
        return ", ".join(self.get_all(name))


def _add_headers(send: Send) -> Send:
    async def send_with_headers(message: AsgiMessage) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_HEADER_PAIRS]}
        await send(message)

    return send_with_headers


async def _send_refusal(refusal: Refusal, send: Send) -> None:
    body = f"{refusal.message}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
