"""The page in a real browser: every screen, live, by keyboard, dark and light, narrow and wide; and attacks from other pages."""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from boathook.page.access import RedirectFile
from tests.page.served import ServedPage, serve_context
from tests.page.test_screens import HOSTILE, call, machine_with_records  # noqa: F401  (a fixture)
from tests.scratch_project import ScratchProject

pytestmark = pytest.mark.browser

CHROMIUM = shutil.which("chromium")
# The tests may run as root, which chromium refuses with its own sandbox.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
]
ADDRESSES = (
    *("now", "live", "live?only=objections", "record?id={id}", "guards", "hooks", "hook?name=no-force", "sessions"),
    *("session?id=s2", "replay", "replay?last=20", "record?id=none", "review?id=none", "nothing"),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield made
        made.close()


@pytest.fixture
def served(machine_with_records: ScratchProject) -> Iterator[ServedPage]:  # noqa: F811
    with serve_context() as page:
        yield page


class Window:
    """A window of the browser, and everything that went wrong in it."""

    def __init__(self, browser: Any, served: ServedPage, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.served = served
        self.problems: list[str] = []
        self.requests: list[Any] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: self.problems.append(dialog.message))
        self.page.on("request", self._note_request)

    def _note_request(self, request: Any) -> None:
        self.requests.append(request)

    def open(self) -> Window:
        return self.open_at(self.served.context.make_address())

    def open_at(self, address: str) -> Window:
        self.page.goto(address)
        self.page.wait_for_selector("main h1")
        return self

    def show(self, address: str) -> None:
        self.page.evaluate("address => { location.hash = address }", f"#/{address}")
        self.wait_for("address => document.getElementById('screen').dataset.address === address", f"#/{address}")

    def wait_for(self, expression: str, argument: Any = None) -> None:
        """Wait until an expression is true; the policy of the page lets no text be evaluated within it, only from outside."""
        for _ in range(3000):
            if self.page.evaluate(expression, argument):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(expression)


def find_hostile_id(served: ServedPage) -> str:
    return next(row.id for row in served.context.index.list_rows() if "<img" in row.input)


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("width", [360, 1600])
def test_every_screen_is_whole_in_both_schemes_and_widths_and_no_text_of_a_record_runs(
    browser: Any, served: ServedPage, scheme: str, width: int
) -> None:
    window = Window(browser, served, color_scheme=scheme, viewport={"width": width, "height": 800}).open()
    page = window.page
    page.evaluate("() => { window.alert = () => { throw new Error('a text of a record ran') } }")
    for address in ADDRESSES:
        window.show(address.format(id=find_hostile_id(served)))
        assert page.locator("main img, main script, main style, main [onerror]").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), address
    window.show("live")
    assert HOSTILE[:40] in page.inner_text("main")
    assert "\\x1b[31m \\u202e" in page.inner_text("main")
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, back[4:-1].split(", "))) < 300) == (scheme == "dark")
    # The screen that does not exist is the only answer that a console reports.
    assert [text for text in window.problems if "404" not in text] == []


def test_new_records_appear_by_themselves_and_wait_while_the_page_is_paused(
    browser: Any,
    served: ServedPage,
    machine_with_records: ScratchProject,  # noqa: F811
) -> None:
    window = Window(browser, served).open()
    page = window.page
    window.show("live")
    page.wait_for_selector("#rows li:nth-child(3)")
    call(machine_with_records, "git push --force another")
    page.wait_for_selector("#rows li:nth-child(4)")
    assert "another" in page.locator("#rows li").first.inner_text()
    page.keyboard.press("p")
    assert page.locator("#pause").get_attribute("aria-pressed") == "true"
    with served.follow() as stream:
        call(machine_with_records, "git push --force held")
        while b"held" not in stream.readline():
            pass
    assert page.locator("#rows li").count() == 4
    # The other stream may be a moment behind.
    window.wait_for("held.length > 0")
    page.click("#pause")
    page.wait_for_selector("#rows li:nth-child(5)")
    assert window.problems == []


def test_filters_are_in_the_address_and_keys_are_enough(browser: Any, served: ServedPage) -> None:
    window = Window(browser, served, permissions=["clipboard-read", "clipboard-write"]).open()
    page = window.page
    window.show("live")
    page.keyboard.press("/")
    page.keyboard.type("origin")
    page.keyboard.press("Enter")
    window.wait_for("location.hash.includes('q=origin')")
    window.wait_for("document.querySelectorAll('#rows li').length === 1")
    page.reload()
    window.wait_for("document.querySelectorAll('#rows li').length === 1")
    page.select_option("select[name=decision]", "none")
    window.wait_for("location.hash.includes('decision=none')")
    window.show("live")
    page.wait_for_selector("#rows li:nth-child(3)")
    page.locator("main").focus()
    for key in ("j", "j", "k", "c"):
        page.keyboard.press(key)
    record = page.locator("#rows li").first.get_attribute("data-copy")
    window.wait_for("document.getElementById('status').textContent.startsWith('copied')")
    assert page.evaluate("navigator.clipboard.readText()") == record
    page.keyboard.press("Enter")
    window.wait_for("location.hash.startsWith('#/record')")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    window.wait_for("location.hash === '#/now'")
    assert window.problems == []


def test_the_title_and_the_icon_have_the_number_of_things_that_need_a_person(browser: Any, served: ServedPage) -> None:
    window = Window(browser, served).open()
    assert window.page.title() == "(1) Now · boathook"
    assert "1%3C%2Ftext" in window.page.locator("#icon").get_attribute("href")


def test_every_control_has_a_name_for_a_screen_reader(browser: Any, served: ServedPage) -> None:
    window = Window(browser, served).open()
    for address in ADDRESSES:
        window.show(address.format(id=find_hostile_id(served)))
        unnamed = window.page.evaluate(
            "[...document.querySelectorAll('a, button, select, input:not([type=hidden]), svg, nav')].filter(one =>"
            " !(one.getAttribute('aria-label') || one.textContent.trim() || one.closest('label'))).map(one => one.outerHTML)"
        )
        assert unnamed == [], address


def test_the_token_is_in_this_tab_alone_and_in_no_address_or_cookie(browser: Any, served: ServedPage) -> None:
    window = Window(browser, served)
    address = served.context.make_address()
    window.page.goto(address)
    window.page.wait_for_selector("main h1")
    assert window.page.url.endswith("/#/now")
    assert (window.context.cookies(), window.page.evaluate("localStorage.length")) == ([], 0)
    assert window.page.evaluate("sessionStorage.length") == 1
    for request in window.requests:
        assert served.token not in request.url
        has_token = "authorization" in request.headers
        assert has_token == ("/data/" in request.url)
        assert "cookie" not in request.headers
    window.page.reload()
    window.page.wait_for_selector("main h1")
    assert "needs you" in window.page.inner_text("h1")
    # Another tab, and the address a second time.
    for target in (f"{served.context.origin}/", address):
        other = window.context.new_page()
        other.goto(target)
        other.wait_for_selector("main h1")
        assert other.inner_text("h1") == "This window may not read the page"


def test_the_file_that_leads_to_the_page_opens_it(browser: Any, served: ServedPage) -> None:
    redirect = RedirectFile()
    window = Window(browser, served)
    window.page.goto(f"file://{redirect.write(served.context.make_address())}")
    window.page.wait_for_url("**/#/now")
    window.page.wait_for_selector("main h1")
    assert "needs you" in window.page.inner_text("h1")
    redirect.close()


def test_a_list_is_saved_as_a_file(browser: Any, served: ServedPage) -> None:
    window = Window(browser, served).open()
    window.show("live")
    with window.page.expect_download() as download:
        window.page.click("button[data-download*='live.json']")
    assert download.value.suggested_filename == "boathook-live.json"
    assert len(json.loads(download.value.path().read_text())) == 3
    assert window.problems == []


def test_no_script_may_insert_html_but_through_the_one_policy(browser: Any, served: ServedPage) -> None:
    page = Window(browser, served).open().page
    tried = page.evaluate(
        """() => [
            () => { document.body.innerHTML = "<b>x</b>" },
            () => { document.body.insertAdjacentHTML("beforeend", "<b>x</b>") },
            () => { trustedTypes.createPolicy("other", { createHTML: (text) => text }) },
            () => { trustedTypes.createPolicy("boathook", { createHTML: (text) => text }) },
        ].map((attempt) => { try { attempt(); return "done" } catch (error) { return error.name } })"""
    )
    assert tried == ["TypeError"] * 4


ATTACK = """async (target) => {
  const results = {};
  const attempt = async (name, action) => {
    try { results[name] = await action() } catch (error) { results[name] = "refused" }
  };
  const loads = (element, attribute) => new Promise((resolve) => {
    element.onload = () => resolve("loaded");
    element.onerror = () => resolve("refused");
    element[attribute] = target + (element.tagName === "IMG" ? "/icon.svg" : "/page.js");
    document.body.append(element);
  });
  await attempt("fetch", async () => (await fetch(`${target}/data/screen/now`)).status);
  await attempt("fetch of the shell", async () => (await (await fetch(`${target}/`)).text()).length);
  await attempt("with a header", async () =>
    (await fetch(`${target}/data/screen/now`, { headers: { Authorization: "Bearer x" } })).status);
  await attempt("script", () => loads(document.createElement("script"), "src"));
  await attempt("image", () => loads(document.createElement("img"), "src"));
  await attempt("stream", () => new Promise((resolve) => {
    const source = new EventSource(`${target}/data/stream`);
    source.onopen = () => resolve("open");
    source.onerror = () => { source.close(); resolve("refused") };
  }));
  await attempt("frame", async () => {
    const frame = document.createElement("iframe");
    frame.src = target;
    const loaded = new Promise((resolve) => { frame.onload = resolve });
    document.body.append(frame);
    await loaded;
    try { return frame.contentDocument ? "same" : "refused" } catch { return "refused" }
  });
  await attempt("window", async () => {
    const other = window.open(target);
    await new Promise((resolve) => setTimeout(resolve, 500));
    try { return other && other.length >= 0 && !other.closed && other.location.href.startsWith(target) ? "seen" : "refused" }
    catch { return "refused" }
  });
  // It may be sent, but must not be believed.
  await fetch(`${target}/session`, { method: "POST", mode: "no-cors", body: "x" }).catch(() => 0);
  return results;
}"""


@pytest.fixture
def other_page() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A page on another port of this machine, as the server of a project that an agent works on, and what it was sent."""
    sent: list[dict[str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>other</title><link rel=icon href=data:,><body>")

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", sent
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("kind", ["another port", "another site"])
def test_other_pages_in_the_same_browser_get_nothing(
    browser: Any, served: ServedPage, other_page: tuple[str, list[dict[str, str]]], kind: str
) -> None:
    address, sent = other_page
    window = Window(browser, served).open()
    attacker = window.context.new_page()
    attacker.goto(address if kind == "another port" else address.replace("127.0.0.1", "evil.example"))
    results = attacker.evaluate(ATTACK, served.context.origin)
    assert len(results) == 8
    assert set(results.values()) == {"refused"}, results
    assert all("cookie" not in headers and "authorization" not in headers for headers in sent)
    # The window of the person goes on.
    window.show("hooks")


def test_a_name_that_is_bound_to_this_machine_reaches_nothing(browser: Any, served: ServedPage) -> None:
    page = browser.new_context().new_page()
    answer = page.goto(f"http://evil.example:{served.port}/")
    assert answer.status == 421
    assert page.evaluate("fetch('/data/screen/now').then((answer) => answer.status)") == 421
