"""A page that is served in this process, and raw requests to it, in which every header is as a test wants it."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from boathook.page.page_context import PageContext
from boathook.page.page_server import LOOPBACK, make_server, open_page_socket


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def fields(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def html(self) -> str:
        return self.fields["html"]

    @property
    def text(self) -> str:
        """What a person reads: without tags, and with entities resolved."""
        import html

        return html.unescape(re.sub(r"<[^>]*>", " ", self.html))


class ServedPage:
    def __init__(self, context: PageContext, port: int, server: Any = None) -> None:
        self.context, self.port, self._server = context, port, server
        self.host = f"{LOOPBACK}:{port}"
        self.token = ""

    def send(
        self, path: str, headers: Mapping[str, str | None] | None = None, *, method: str = "GET", body: str = ""
    ) -> Answer:
        """Send a request as a browser of the page would; `headers` replace those, and None leaves one out."""
        wanted: dict[str, str | None] = {"Host": self.host, "Authorization": f"Bearer {self.token}", **(headers or {})}
        if method == "POST":
            wanted = {"Origin": f"http://{self.host}", "Content-Length": str(len(body)), **wanted}
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in wanted.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(body.encode() or None)
            response = connection.getresponse()
            pairs = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, pairs, response.read())
        finally:
            connection.close()

    def open(self) -> str:
        """Exchange a new ticket for the token, as the page does, and return it."""
        ticket = self.context.make_address().partition("#t=")[2]
        answer = self.send("/session", method="POST", body=ticket)
        self.token = answer.fields["token"]
        return self.token

    def show(self, screen: str, **query: str) -> Answer:
        answer = self.send(f"/data/screen/{screen}?{urlencode(query)}")
        assert answer.status == 200, answer.body
        return answer

    def cut_connections(self) -> None:
        """End all connections as they are now, as a network that fails does."""
        for one in [*self._server.server_state.connections]:
            one.loop.call_soon_threadsafe(one.abort)

    @contextmanager
    def follow(self, **query: str) -> Iterator[http.client.HTTPResponse]:
        """Open a stream of new records."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=60)
        try:
            headers = {"Authorization": f"Bearer {self.token}"}
            connection.request("GET", f"/data/stream?{urlencode(query)}", headers=headers)
            response = connection.getresponse()
            assert response.status == 200
            yield response
            response.close()
        finally:
            connection.close()


@contextmanager
def serve_context(project: str | None = None, state: str | None = None) -> Iterator[ServedPage]:
    """Serve a page in a thread until the block ends; its token is exchanged already."""
    listener = open_page_socket(0, "")
    port = listener.getsockname()[1]
    context = PageContext(f"http://{LOOPBACK}:{port}", project, state)
    server = make_server(context)
    context.when_closing(lambda: server.should_exit)
    context.index.start()
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    thread.start()
    page = ServedPage(context, port, server)
    try:
        page.open()
        yield page
    finally:
        server.should_exit = True
        thread.join()
        context.close()
        listener.close()
