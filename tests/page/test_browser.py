"""The page in a real browser: every screen, live, by keyboard, dark and light, narrow and wide; and attacks from other pages."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from boathook.page.access import RedirectFile
from tests.page.browser_window import Window
from tests.page.recorded_calls import HOSTILE, call
from tests.page.served import ServedPage, serve_context
from tests.scratch_project import ScratchProject

pytestmark = pytest.mark.browser

# Every screen, and something that it shows of what the hooks did.
SCREEN_TEXTS = {
    "now": ("1 thing needs you", "not-yet: new, and not reviewed yet", "boathook trust not-yet", "Claude Code"),
    "live": ("3 records in all", "never force", "git push --force origin main", "no-force"),
    "live?only=objections": ("3 records in all", "never force", "git push --force origin main"),
    "record?id={id}": ("Shell: block", "boathook why {id}", "exit code", "The whole story", "never force", "Replay it"),
    "guards": ("Guards and agents", "no-force", "not-yet", "does not run", "active", "2 runs, last"),
    "hooks": ("no-force", "lister", "p95 ms", "boathook stats"),
    "hook?name=no-force": ("armed", "Runs per day", "never force", "boathook show no-force"),
    "sessions": ("s1", "s2", "Blocked or asked"),
    "session?id=s2": ("Session s2", "boathook log --session s2", "never force"),
    "replay": ("Recorded calls are not executed",),
    "replay?last=20": ("3 of 3 events",),
    "{review}": ("Review not-yet", "scripts/run.sh", "boathook trust not-yet"),
    "record?id=none": ("no record that is listed here has the id 'none'",),
    "review?id=none": ("Review",),
}
ADDRESSES = (*SCREEN_TEXTS, "nothing")
# Lists that are saved from their screens, and the files.
EXPORTS = {
    "live": ("live.json", "live.csv"),
    "record?id={id}": ("record.md", "record.json"),
    "guards": ("guards.json", "guards.csv"),
    "hooks": ("hooks.json", "hooks.csv"),
    "sessions": ("sessions.json", "sessions.csv"),
    "session?id=s2": ("session.json", "session.csv"),
    "now": ("now.json", "now.csv"),
}
# What is cut off, or lies over something else: texts wider than the window, and words with a letter in each line.
FIND_BROKEN = """() => [...document.querySelectorAll("main *, header *")].filter((one) => {
  const box = one.getBoundingClientRect(), style = getComputedStyle(one);
  if (!one.textContent.trim() || !box.width || style.clipPath !== "none" || one.closest("thead, .matrix, pre, .skip, option"))
    return false;
  const isColumn = box.height > 100 && box.width < 25;
  return box.right > innerWidth + 1 || box.left < -1 || isColumn;
}).map((one) => one.outerHTML.slice(0, 120))"""


def find_hostile_id(served: ServedPage) -> str:
    return next(row.id for row in served.context.index.list_rows() if "<img" in row.input)


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("width", [360, 1600])
def test_every_screen_is_whole_in_both_schemes_and_widths_and_no_text_of_a_record_runs(
    browser: Any,
    served: ServedPage,
    machine_with_records: ScratchProject,
    scheme: str,
    width: int,
) -> None:
    window = Window(browser, served, color_scheme=scheme, viewport={"width": width, "height": 800}).open()
    page = window.page
    page.evaluate("() => { window.alert = () => { throw new Error('a text of a record ran') } }")
    names = {"id": find_hostile_id(served), "review": find_review(window)}
    for address, texts in SCREEN_TEXTS.items():
        window.show(address.format(**names))
        shown = page.inner_text("main")
        assert [text for text in texts if text.format(**names) not in shown] == [], (address, shown)
        assert page.locator("main img, main script, main style, main [onerror]").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), address
        assert page.evaluate(FIND_BROKEN) == [], address
    for address, files in EXPORTS.items():
        window.show(address.format(**names))
        assert [save_file(page, name) for name in files] == [f"boathook-{name}" for name in files]
    window.show("live")
    assert HOSTILE[:40] in page.inner_text("main")
    assert "\\x1b[31m \\u202e" in page.inner_text("main")
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, back[4:-1].split(", "))) < 300) == (scheme == "dark")
    # New records come by themselves, in the list and in the counts of other screens.
    call(machine_with_records, "git push --force at-last")
    page.wait_for_selector("#rows li:nth-child(4)")
    assert "at-last" in page.locator("#rows li").first.inner_text()
    assert page.evaluate(FIND_BROKEN) == []
    window.show("sessions")
    assert page.locator("tr", has_text="s1").locator("td").nth(4).inner_text().endswith("3")
    assert window.problems == []


def find_review(window: Window) -> str:
    return window.page.get_attribute("a:text-is('Review it')", "href").removeprefix("#/")


def save_file(page: Any, name: str) -> str:
    with page.expect_download() as download:
        page.click(f"button[data-download*='/{name}']")
    assert download.value.path().stat().st_size > 10
    return download.value.suggested_filename


def test_a_screen_that_does_not_exist_is_an_error(browser: Any, served: ServedPage) -> None:
    window = Window(browser, served).open()
    window.show("nothing")
    assert window.page.inner_text("main h1") == "There is no such screen"
    window.show("live")
    assert window.page.inner_text("main h1") == "Live"


def test_every_row_can_be_copied_as_a_command_that_holds_names_of_others_together(
    browser: Any,
    served: ServedPage,
    machine_with_records: ScratchProject,
) -> None:
    call(machine_with_records, "ls", session="x; touch made")
    window = Window(browser, served).open()
    page = window.page
    for address in ("now", "live", "guards", "hooks", "hook?name=no-force", "sessions", "session?id=s1"):
        window.show(address)
        rows = page.locator("main .rows li, main .needs li, main tbody tr")
        commands = [rows.nth(at).get_attribute("data-copy") for at in range(rows.count())]
        assert commands, address
        assert [text for text in commands if not text.startswith("boathook ")] == [], address
    window.show("sessions")
    commands = page.evaluate("[...document.querySelectorAll('tbody tr')].map((row) => row.dataset.copy)")
    assert "boathook log --session 'x; touch made'" in commands
    window.show("session?id=x%3B+touch+made")
    assert page.locator("[data-copy=\"boathook log --session 'x; touch made'\"]").count() == 1
    assert window.problems == []


def test_new_records_appear_by_themselves_and_wait_while_the_page_is_paused(
    browser: Any,
    served: ServedPage,
    machine_with_records: ScratchProject,
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


def test_the_note_of_an_empty_list_is_hidden_when_the_first_record_comes(browser: Any, project: ScratchProject) -> None:
    project.write_hook("lister", "exit 0", fields={"matcher": "{tool: Shell}"})
    with serve_context() as served:
        window = Window(browser, served).open()
        window.show("live")
        empty = window.page.locator("main .empty")
        assert (empty.is_visible(), "0 records in all" in window.page.inner_text("main")) == (True, True)
        call(project, "ls")
        window.page.wait_for_selector("#rows li")
        window.wait_for("document.getElementById('record-count').textContent === '1 record in all'")
        assert not empty.is_visible()
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
    assert window.page.locator("#icon").get_attribute("href") == "/icon.svg?1"
    icon = served.send("/icon.svg?1", {"Authorization": None})
    assert (icon.status, b">1</text>" in icon.body) == (200, True)
    plain = served.send("/icon.svg").body
    for query in ("", "100", "x", "1x", "%3Csvg", "%D9%A1", "-1"):
        assert served.send(f"/icon.svg?{query}").body == plain


def test_every_control_has_a_name_for_a_screen_reader(browser: Any, served: ServedPage) -> None:
    window = Window(browser, served).open()
    names = {"id": find_hostile_id(served), "review": find_review(window)}
    for address in ADDRESSES:
        window.show(address.format(**names))
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
    assert len(results) == 7
    assert set(results.values()) == {"refused"}, results
    # A window that another page opens is out of its reach as soon as the server has answered.
    with window.context.expect_page() as opened:
        attacker.evaluate("target => { window.other = window.open(target) }", served.context.origin)
    opened.value.wait_for_selector("main h1")
    assert opened.value.url.startswith(served.context.origin)
    assert attacker.evaluate(
        "() => { try { return other.closed || other.location.href } catch { return 'refused' } }"
    ) in (
        True,
        "refused",
    )
    assert all("cookie" not in headers and "authorization" not in headers for headers in sent)
    # The window of the person goes on.
    window.show("hooks")


def test_a_name_that_is_bound_to_this_machine_reaches_nothing(browser: Any, served: ServedPage) -> None:
    page = browser.new_context().new_page()
    answer = page.goto(f"http://evil.example:{served.port}/")
    assert answer.status == 421
    assert page.evaluate("fetch('/data/screen/now').then((answer) => answer.status)") == 421


def test_another_page_that_leads_a_tab_back_to_the_page_starts_no_hooks(
    browser: Any, served: ServedPage, other_page: tuple[str, list[dict[str, str]]]
) -> None:
    window = Window(browser, served).open()
    window.page.goto(other_page[0])
    window.requests.clear()
    # The token is still in the memory of the tab.
    window.page.evaluate("address => { location.href = address }", f"{served.context.origin}/#/replay?last=20")
    window.page.wait_for_selector("main form[data-screen='replay']")
    assert not [request.url for request in window.requests if "last=" in request.url]
    assert window.page.query_selector(".report") is None
    window.page.click("main button[type=submit]")
    window.page.wait_for_selector(".report")
    assert "3 of 3 events" in window.page.inner_text(".report")
