"""The page is for the browser that opened it: every other way to it is attacked here with raw requests."""

from __future__ import annotations

import http.client
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import boathook.page.request_check as checked
from boathook.page.page_server import LOOPBACK, open_page_socket
from boathook.page.screen_rows import SCREENS
from tests.page.made_ledger import make_record, write_records
from tests.page.served import ServedPage, serve_context
from tests.scratch_project import ScratchProject
from tests.tables import try_each

DATA = "/data/screen/live"


@pytest.fixture
def page(project: ScratchProject) -> Iterator[ServedPage]:
    write_records(project.state, [make_record(9)])
    with serve_context() as served:
        yield served


def test_the_page_is_bound_to_the_loopback_address_alone(page: ServedPage) -> None:
    with open_page_socket(0, "") as listener:
        assert listener.getsockname()[0] == LOOPBACK == "127.0.0.1"
    with socket.socket() as other:
        # Another address of this machine, which a server on all interfaces would answer to.
        other.settimeout(5)
        assert other.connect_ex(("127.0.0.2", page.port)) != 0


def test_every_route_with_data_needs_the_token(page: ServedPage) -> None:
    routes = [f"/data/screen/{screen.path}" for screen in SCREENS]
    routes += ["/data/stream", "/data/export/live.json", "/data/export/record.md", "/data/none", "/none"]
    wrong = (None, "", "Bearer ", "Bearer x", f"Basic {page.token}", f"Bearer {page.token}x", page.token)
    found = {(path, value, page.send(path, {"Authorization": value}).status) for path in routes for value in wrong}
    assert {status for _, _, status in found} == {401}
    assert page.send(DATA).status == 200


def test_the_token_is_not_taken_from_an_address_or_a_cookie(page: ServedPage) -> None:
    headers = {"Authorization": None, "Cookie": f"boathook-token={page.token}; token={page.token}"}
    assert page.send(f"{DATA}?token={page.token}&t={page.token}", headers).status == 401


def test_a_token_is_long_and_another_one_at_each_start(page: ServedPage) -> None:
    with serve_context() as other:
        assert other.token != page.token
        assert len(page.token) >= 43
        assert other.send(DATA, {"Authorization": f"Bearer {page.token}"}).status == 401


@try_each(
    "host",
    ["localhost:{port}", "127.0.0.1", "127.0.0.1:1", "evil.example:{port}", "127.0.0.1:{port}.evil.example",
     "0.0.0.0:{port}", "[::1]:{port}", "127.0.0.1:{port} ", None, ""],
)  # fmt: skip
def test_a_name_that_is_bound_to_this_machine_is_refused(page: ServedPage, host: str | None) -> None:
    value = host.format(port=page.port) if host is not None else None
    for path in ("/", "/page.js", DATA):
        status = page.send(path, {"Host": value}).status
        # A space around the value is not part of it.
        assert status in ((200,) if value and value.strip() == page.host else (421, 400)), (host, path)


def test_two_hosts_are_refused(page: ServedPage) -> None:
    with socket.create_connection((LOOPBACK, page.port), timeout=30) as raw:
        raw.sendall(f"GET / HTTP/1.1\r\nHost: {page.host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode())
        assert raw.recv(100).split(b" ")[1] in (b"421", b"400")


@try_each(
    "origin",
    ["null", "http://evil.example", "http://127.0.0.1:1", "https://{host}", "http://{host}.evil"],
)
def test_another_origin_is_refused(page: ServedPage, origin: str) -> None:
    value = origin.format(host=page.host)
    for path in ("/", "/page.js", DATA):
        assert page.send(path, {"Origin": value}).status == 403
    ticket = page.context.make_address().partition("#t=")[2]
    assert page.send("/session", {"Origin": value}, method="POST", body=ticket).status == 403
    # It was not used up.
    assert page.send("/session", method="POST", body=ticket).status == 200


def test_a_ticket_without_an_origin_is_refused(page: ServedPage) -> None:
    ticket = page.context.make_address().partition("#t=")[2]
    assert page.send("/session", {"Origin": None}, method="POST", body=ticket).status == 403


@try_each("site", ["cross-site", "same-site", "anything", "same-origin, cross-site"])
def test_what_another_site_fetches_is_refused(page: ServedPage, site: str) -> None:
    for path in ("/page.js", "/page.css", DATA, "/data/stream"):
        assert page.send(path, {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}).status == 403
    assert page.send("/", {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors"}).status == 403


def test_a_person_may_come_from_elsewhere_but_only_to_the_shell(page: ServedPage) -> None:
    opening = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert page.send("/", {**opening, "Authorization": None}).status == 200
    assert page.send(DATA, opening).status == 403
    assert page.send(DATA, {**opening, "Sec-Fetch-Site": "none"}).status == 403


def test_no_answer_lets_another_origin_read_it_or_sets_a_cookie(page: ServedPage) -> None:
    for path, headers in (("/", {}), (DATA, {}), (DATA, {"Origin": "http://evil.example"}), ("/none", {})):
        names = page.send(path, headers).headers
        assert not [name for name in names if name.startswith("access-control-") or name in ("set-cookie", "server")]


def test_every_answer_has_the_security_headers(page: ServedPage) -> None:
    for path in ("/", "/page.js", "/page.css", "/icon.svg", "/favicon.ico", DATA, "/none", "/data/none"):
        headers = page.send(path).headers
        assert {name: headers.get(name) for name in checked.SECURITY_HEADERS} == checked.SECURITY_HEADERS, path
    refused = page.send(DATA, {"Authorization": None}).headers
    assert {name: refused.get(name) for name in checked.SECURITY_HEADERS} == checked.SECURITY_HEADERS
    policy = checked.SECURITY_HEADERS["content-security-policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'none'"} < set(policy)
    assert {"require-trusted-types-for 'script'", "trusted-types boathook"} < set(policy)
    assert "unsafe" not in " ".join(policy)


def test_the_shell_holds_no_secret_and_no_data(page: ServedPage) -> None:
    before = [page.send(path, {"Authorization": None}).body for path in sorted(checked.OPEN_FILES)]
    text = b"".join(before).decode()
    assert page.token not in text
    assert make_record(9)["id"] not in text
    with serve_context() as other:
        # The same bytes for everybody, at every start.
        assert [other.send(path, {"Authorization": None}).body for path in sorted(checked.OPEN_FILES)] == before


def test_an_opening_address_works_once(page: ServedPage) -> None:
    ticket = page.context.make_address().partition("#t=")[2]
    answers = [page.send("/session", {"Authorization": None}, method="POST", body=ticket) for _ in range(2)]
    assert [(answer.status, answer.fields["token"]) for answer in answers] == [(200, page.token), (401, "")]


def test_only_the_exchange_of_a_ticket_is_not_a_get(page: ServedPage) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT"):
        for path in ("/", DATA, "/data/stream", "/data/export/live.json"):
            assert page.send(path, {"Origin": f"http://{page.host}"}, method=method).status == 405, (method, path)
    assert page.send("/session").status == 405


def test_reading_changes_no_file(page: ServedPage, project: ScratchProject) -> None:
    def read_files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in project.base.rglob("*") if path.is_file()}

    before = read_files()
    for screen in SCREENS:
        page.show(screen.path, id=make_record(9)["id"], name="no-force-push")
    for name in ("live.json", "live.csv", "guards.json", "hooks.csv", "sessions.json"):
        assert page.send(f"/data/export/{name}").status == 200
    assert read_files() == before


def test_a_long_ticket_is_refused_before_it_is_read(page: ServedPage) -> None:
    for length in ("1025", "99999999999", "-1", "x"):
        connection = http.client.HTTPConnection(LOOPBACK, page.port, timeout=30)
        connection.putrequest("POST", "/session", skip_host=True)
        for name, value in (("Host", page.host), ("Origin", f"http://{page.host}"), ("Content-Length", length)):
            connection.putheader(name, value)
        connection.endheaders()
        assert connection.getresponse().status in (413, 400)
        connection.close()


def test_a_web_socket_is_not_opened(page: ServedPage) -> None:
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "x" * 24,
    }
    # The wish for another protocol is ignored: the answer is that of any other request.
    answer = page.send(DATA, headers)
    assert (answer.status, "upgrade" in answer.headers, "html" in answer.fields) == (200, False, True)
    for path in (DATA, "/data/stream"):
        assert page.send(path, {**headers, "Authorization": None}).status == 401
    lines = {"Host": page.host, "Authorization": f"Bearer {page.token}", **headers}
    with socket.create_connection((LOOPBACK, page.port), timeout=30) as raw:
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        raw.sendall(f"GET /data/stream HTTP/1.1\r\n{head}\r\n".encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("ending", ["%0a", "%0d", "%0d%0a", "%00", "%09", "%7f", "%1b", "%c2%85", "%e2%80%a8", "%ff"])
def test_a_path_with_control_characters_is_refused(page: ServedPage, ending: str) -> None:
    paths = ["/", "/page.css", "/session", DATA, "/data/stream", "/data/export/live.json", "/decide/begin"]
    for path in paths:
        assert page.send(f"{path}{ending}").status == 400, path
        assert page.send(f"{path}{ending}", {"Authorization": None}).status == 400, path
    assert page.send("/page.css").status == page.send(DATA).status == 200


def test_files_of_the_package_are_not_reached_by_their_paths(page: ServedPage) -> None:
    for path in ("/page_app.py", "/../page_app.py", "/%2e%2e/access.py", "//page.js/../access.py"):
        assert page.send(path).status == 404
        assert page.send(path, {"Authorization": None}).status == 401


def test_the_script_of_the_page_inserts_html_in_one_place_and_uses_no_cookie() -> None:
    scripts = [Path(checked.__file__).with_name(name).read_text() for name in ("page.js", "decide.js")]
    script = "\n".join(scripts)
    assert len(script.splitlines()) <= 320
    code = re.sub(r"^\s*//.*$", "", script, flags=re.MULTILINE)
    assert len(re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser", code)) == 2
    start = code.index("function insertFragment")
    assert "innerHTML" in code[start : code.index("\n}\n", start)]
    assert not re.search(
        r"cookie|localStorage|eval\(|new Function|EventSource|WebSocket|https?://(?!www\.w3\.org/2000/svg)", code
    )
