"""A person answers in a real browser, with codes from the terminal of the page."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.page.browser_window import Window
from tests.page.page_at_terminal import TerminalPage, start_terminal_page
from tests.permits.waiting_calls import (
    WaitingCall,
    make_call,
    make_person_environment,
    read_records,
    set_up,
    wait_until,
)
from tests.scratch_project import ScratchProject

pytestmark = pytest.mark.browser

HOSTILE = "rm -rf <img src=x onerror=alert(1)> </pre><script>alert(2)</script>"


@pytest.fixture
def started(project: ScratchProject) -> Iterator[TerminalPage]:
    set_up(project, 'ask = "wait"')
    with start_terminal_page(project, is_opened=False) as page:
        yield page
    while WaitingCall.started:
        WaitingCall.started.pop().end()


@pytest.fixture
def window(browser: Any, started: TerminalPage) -> Window:
    return Window(browser, started, viewport={"width": 400, "height": 900}).open_at(started.address)


def read_result(window: Window) -> str:
    window.wait_for("() => document.getElementById('decide-result').textContent !== ''")
    return window.page.inner_text("#decide-result")


def press(window: Window, text: str) -> None:
    window.page.click(f"#questions button:text-is('{text}')")
    window.page.wait_for_selector("#decide[open]")


def type_code(window: Window, code: str) -> str:
    window.page.fill("#decide-code", code)
    window.page.keyboard.press("Enter")
    return read_result(window)


def test_a_question_appears_by_itself_and_is_allowed_with_the_code(
    project: ScratchProject, started: TerminalPage, window: Window
) -> None:
    page = window.page
    assert page.locator("#questions li").count() == 0
    call = WaitingCall(project, event=make_call(project, HOSTILE))
    page.wait_for_selector("#questions li")
    assert HOSTILE in page.inner_text("#questions")
    assert page.locator("main img, main script").count() == 0
    window.wait_for("() => document.title.startsWith('(1)')")
    assert page.get_attribute("#icon", "href") == "/icon.svg?1"
    assert page.inner_text("main h1") == "1 thing needs you"
    # It counts down.
    left = page.inner_text("[data-until]")
    window.wait_for("before => document.querySelector('[data-until]').textContent !== before", left)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    # No button has the focus: Enter alone answers nothing.
    assert page.evaluate("document.activeElement.tagName") != "BUTTON"
    press(window, "Allow…")
    assert page.inner_text("#decide-title") == "Allow this call?"
    assert HOSTILE in page.inner_text("#decide-about")
    code = started.read_code()
    assert code not in page.content()
    assert type_code(window, code) == "You allowed this call."
    assert call.finish()["decision"] == "allow"
    assert page.evaluate("document.activeElement.id") == "decide-close"
    page.click("#decide-close")
    window.wait_for("() => !document.querySelector('#questions li')")
    window.wait_for("() => !document.title.startsWith('(')")
    assert window.problems == []


# Runs the command line with a clock that is 15 minutes ahead as soon as a file is there.
LATER = """
import os, sys, time
mark, real = sys.argv.pop(1), time.time
time.time = lambda: real() + 900 * os.path.exists(mark)
from boathook.cli.main import main
main()
"""


def make_later_argv(project: ScratchProject, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-c", LATER, str(project.base / "later"), *arguments)


def test_a_call_that_is_allowed_again_is_on_the_page_with_its_end_and_each_use_on_record(
    browser: Any,
    project: ScratchProject,
) -> None:
    set_up(project, 'ask = "wait"')
    started = TerminalPage(
        project.path, make_person_environment(project), argv=make_later_argv(project, "page", "--no-open")
    )
    try:
        window = Window(browser, started).open_at(started.address)
        page = window.page
        call = WaitingCall(project)
        page.wait_for_selector("#questions li")
        press(window, "Allow…")
        assert not page.is_visible("#decide-repeat")
        assert type_code(window, started.read_code()) == "You allowed this call."
        assert call.finish()["decision"] == "allow"
        assert page.inner_text("#decide-repeat") == "Allow this very call again for 15 minutes"
        page.click("#decide-repeat")
        window.wait_for("() => document.getElementById('decide-result').textContent.includes('allowed again until')")
        assert not page.is_visible("#decide-repeat")
        page.click("#decide-close")
        page.wait_for_selector("text=Calls that you allowed again")
        row = page.locator("#repeats tbody tr")
        assert "rm -rf build" in row.inner_text()
        assert re.search(r"1[45] min \d+ s", row.inner_text()), row.inner_text()
        # No question, for this very call alone.
        for _ in range(2):
            assert WaitingCall(project).finish()["decision"] == "allow"
        other = WaitingCall(project, event=make_call(project, "rm -rf build2"))
        page.wait_for_selector("#questions li")
        other.kill("run")
        window.wait_for("() => !document.querySelector('#questions li')")
        assert [record["via"] for record in read_records(project, "answered")][:3] == ["page", "repeat", "repeat"]
        (grant,) = read_records(project, "repeat")
        window.show("live")
        rows = page.locator("#rows li").filter(has_text="A person allowed this call to repeat, for a limited time.")
        assert rows.count() == 2, page.inner_text("#rows")
        # It ends by itself, and the page shows that without a reload.
        window.show("now")
        assert row.count() == 1
        (project.base / "later").touch()
        window.wait_for("() => !document.querySelector('#questions tbody tr')")
        again = WaitingCall(project, argv=make_later_argv(project, *project.make_argv("run", "--json")[3:]))
        again.find_question()
        assert grant["until"] > grant["time"]
        assert window.problems == []
    finally:
        started.end()
        while WaitingCall.started:
            WaitingCall.started.pop().end()


def test_a_person_ends_a_permit_on_the_page(project: ScratchProject, started: TerminalPage, window: Window) -> None:
    page = window.page
    call = WaitingCall(project)
    page.wait_for_selector("#questions li")
    press(window, "Allow…")
    type_code(window, started.read_code())
    call.finish()
    page.click("#decide-repeat")
    window.wait_for("() => document.getElementById('decide-result').textContent.includes('allowed again until')")
    page.click("#decide-close")
    window.wait_for(
        "() => !document.querySelector('#decide[open]') && document.getElementById('screen').dataset.address"
    )
    # The list may be made again between the two halves of a real click.
    page.locator("button:text-is('Ask again')").dispatch_event("click")
    window.wait_for("() => document.getElementById('status').textContent === 'This call is asked about again.'")
    assert page.locator("#repeats tbody tr").count() == 0
    WaitingCall(project).find_question()
    assert window.problems == []


def test_a_question_is_denied(project: ScratchProject, started: TerminalPage, window: Window) -> None:
    call = WaitingCall(project)
    window.page.wait_for_selector("#questions li")
    press(window, "Deny…")
    assert type_code(window, started.read_code()) == "You denied this call."
    assert call.finish()["decision"] == "block"


def test_with_a_wrong_code_the_call_still_waits(project: ScratchProject, started: TerminalPage, window: Window) -> None:
    call = WaitingCall(project)
    window.page.wait_for_selector("#questions li")
    press(window, "Allow…")
    assert "the code is wrong" in type_code(window, "XXXXXX")
    assert read_records(project, "answered") == []
    call.find_question()
    assert type_code(window, started.read_code()) == "You allowed this call."


def test_a_question_that_ends_while_its_code_is_typed_is_gone(project: ScratchProject, window: Window) -> None:
    call = WaitingCall(project)
    window.page.wait_for_selector("#questions li")
    press(window, "Allow…")
    call.kill("run")
    assert read_result(window) == "The call does not wait for an answer any more."
    assert not window.page.is_visible("#decide-code")
    assert window.page.locator("#questions li").count() == 0


def test_a_late_result_is_not_shown_for_another_decision(
    project: ScratchProject, started: TerminalPage, window: Window
) -> None:
    held: list[Any] = []
    page = window.page
    page.route("**/decide/finish", lambda route: held.append((route, route.fetch())))
    calls = [WaitingCall(project)]
    page.wait_for_selector("#questions li")
    calls.append(WaitingCall(project, event=make_call(project, "rm -rf other")))
    window.wait_for("() => document.querySelectorAll('#questions li').length === 2")
    page.locator("#questions li").filter(has_text="rm -rf build").get_by_text("Allow…").click()
    page.wait_for_selector("#decide[open]")
    page.fill("#decide-code", started.read_code())
    page.keyboard.press("Enter")
    # The browser's requests reach the route only while the browser is waited for.
    wait_until(lambda: page.wait_for_timeout(20) or held)
    assert calls[0].finish()["decision"] == "allow"
    # The person goes on while the answer is on its way.
    page.click("#decide-close")
    window.wait_for("() => document.querySelectorAll('#questions li').length === 1")
    press(window, "Allow…")
    assert "rm -rf other" in page.inner_text("#decide-about")
    ((route, response),) = held
    route.fulfill(response=response)
    page.wait_for_timeout(500)
    assert page.inner_text("#decide-result") == ""
    assert not page.is_visible("#decide-repeat")
    assert page.is_visible("#decide-code")
    calls[1].kill("run")


def test_a_page_that_is_closed_answers_nothing(project: ScratchProject, started: TerminalPage, window: Window) -> None:
    call = WaitingCall(project)
    window.page.wait_for_selector("#questions li")
    press(window, "Allow…")
    window.context.close()
    started.read_code()
    call.find_question()
    assert read_records(project, "answered") == []


def test_a_hook_is_reviewed_and_trusted(project: ScratchProject, started: TerminalPage, window: Window) -> None:
    project.write_hook("guard", f"# {HOSTILE}", scope="project")
    page = window.page
    window.wait_for(
        "() => { showScreen(); return [...document.querySelectorAll('a')].some(a => a.textContent === 'Review it') }"
    )
    page.click("a:text-is('Review it')")
    page.wait_for_selector("button:text-is('Trust…')")
    assert HOSTILE in page.inner_text("main")
    assert page.locator("main img, main script").count() == 0
    page.click("button:text-is('Trust…')")
    page.wait_for_selector("#decide[open]")
    assert type_code(window, started.read_code()).startswith("guard is trusted")
    page.click("#decide-close")
    window.wait_for("() => document.getElementById('screen').dataset.address === '#/now'")
    wait_until(lambda: "guard is trusted: exactly these bytes" in started.text)
    assert window.problems == []
