"""A person answers in a real browser, with codes from the terminal of the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.page.page_at_terminal import TerminalPage, start_terminal_page
from tests.page.test_browser import Window, browser  # noqa: F401  (a fixture)
from tests.permits.waiting_calls import WaitingCall, make_call, read_records, set_up
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
def window(browser: Any, started: TerminalPage) -> Window:  # noqa: F811
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
    assert page.get_attribute("#icon", "href").startswith("data:")
    assert page.inner_text("main h1") == "1 thing needs you"
    # It counts down.
    left = page.inner_text("[data-until]")
    window.wait_for("before => document.querySelector('[data-until]').textContent !== before", left)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    # No button has the focus: Enter alone answers nothing.
    assert page.evaluate("document.activeElement.tagName") != "BUTTON"
    press(window, "Allow…")
    assert page.inner_text("#decide-title") == "Allow this call?"
    assert "rm -rf build" in page.inner_text("#decide-about")
    code = started.read_code()
    assert code not in page.content()
    assert type_code(window, code) == "You allowed this call."
    assert call.finish()["decision"] == "allow"
    page.click("#decide-close")
    window.wait_for("() => !document.querySelector('#questions li')")
    window.wait_for("() => !document.title.startsWith('(')")
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
    assert window.problems == []
