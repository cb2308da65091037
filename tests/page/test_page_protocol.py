"""Connections that lock nobody out: without the token they have few seconds and few places, with it they stay."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

import boathook.page.page_protocol as protocol
from boathook.page.page_context import PageContext
from boathook.page.page_server import LOOPBACK
from tests.page.made_ledger import make_record, write_records
from tests.page.served import ServedPage, serve_context
from tests.scratch_project import ScratchProject

DATA = "/data/screen/live"
# What programs send that want to hold a place: nothing, a part of a request, a body that never comes, a whole request.
BEGINNINGS = {
    "nothing": "",
    "a part": "GET / HTTP/1.1\r\nHost: ",
    "no body": "POST /session HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: 9\r\n\r\n",
    "a refused request": "GET /data/stream HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "the shell": "GET / HTTP/1.1\r\nHost: {host}\r\n\r\n",
}


@pytest.fixture
def page(project: ScratchProject) -> Iterator[ServedPage]:
    write_records(project.state, [make_record(9)])
    with serve_context() as served:
        yield served


def connect(page: ServedPage, text: str) -> socket.socket:
    connection = socket.create_connection((LOOPBACK, page.port), timeout=60)
    with suppress(OSError):
        connection.sendall(text.format(host=page.host).encode())
    return connection


def read_to_end(connection: socket.socket) -> bytes:
    """Return what the page sends until it closes the connection; TimeoutError if it does not."""
    parts: list[bytes] = []
    with suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("max_files", [0, 64, 256, 1024, 1 << 30, resource.RLIM_INFINITY])
def test_places_of_strangers_leave_files_for_others(max_files: int) -> None:
    count = protocol.find_max_untrusted(max_files)
    assert 10 <= count <= 500
    if max_files >= 64:
        # Those of one round are open as well.
        assert count + count // 5 < max_files


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_crowd_without_the_token_locks_no_reader_out(
    page: ServedPage, beginning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each of the crowd is a file of this process, too, and would have to wait for a place to connect.
    monkeypatch.setattr(protocol, "MAX_UNTRUSTED", 20)
    with ExitStack() as stack, page.follow() as stream:
        for _ in range(60):
            stack.enter_context(connect(page, BEGINNINGS[beginning]))
        assert page.send(DATA).status == 200
        # Nor does it end what a person follows.
        assert stream.readline()


def test_a_connection_without_the_token_is_closed_after_a_while(
    page: ServedPage, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(protocol, "UNTRUSTED_SECONDS", 0.2)
    for text in BEGINNINGS.values():
        with connect(page, text) as connection:
            read_to_end(connection)
    # The terminal of the page is where codes are shown: nobody else may write there.
    assert "".join(capfd.readouterr()) == ""


def test_a_connection_that_has_shown_the_token_stays(page: ServedPage, monkeypatch: pytest.MonkeyPatch) -> None:
    # Long enough to send a request also on a busy machine.
    monkeypatch.setattr(protocol, "UNTRUSTED_SECONDS", 3.0)
    request = f"GET {DATA} HTTP/1.1\r\nHost: {page.host}\r\nAuthorization: Bearer {page.token}\r\n\r\n"
    with connect(page, request) as known, connect(page, "") as stranger:
        assert known.recv(1 << 10).startswith(b"HTTP/1.1 200")
        assert read_to_end(stranger) == b""
        known.sendall(request.encode())
        known.settimeout(60)
        received = b""
        while received.count(b"HTTP/1.1 200") < 1:
            part = known.recv(1 << 16)
            assert part, "the page closed the connection"
            received += part


def test_only_who_has_the_token_or_gets_it_counts_as_a_reader(
    project: ScratchProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers: list[str] = []
    monkeypatch.setattr(PageContext, "note_reader", lambda _: readers.append("reader"))
    with serve_context() as page:
        assert readers.pop() == "reader"
        for path, method, body in (("/", "GET", ""), ("/session", "POST", "x"), (DATA, "GET", "")):
            page.send(path, {"Authorization": "Bearer x"}, method=method, body=body)
        assert readers == []
        page.send(DATA)
        assert readers == ["reader"]
