"""A page that has ended looks like it in a real browser, and says where questions are answered then."""

from __future__ import annotations

from typing import Any

import pytest

from tests.page.browser_window import Window
from tests.page.page_at_terminal import start_terminal_page
from tests.page.test_browser_answers import press, read_result
from tests.permits.waiting_calls import WaitingCall, set_up
from tests.scratch_project import ScratchProject

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [400, 1400])
def test_a_page_that_has_ended_has_a_banner_as_wide_as_the_window(
    browser: Any,
    project: ScratchProject,
    width: int,
) -> None:
    set_up(project, 'ask = "wait"')
    with start_terminal_page(project, is_opened=False) as started:
        window = Window(browser, started, viewport={"width": width, "height": 900}).open_at(started.address)
        page = window.page
        WaitingCall(project)
        page.wait_for_selector("#questions li")
        assert page.locator("#status.ended").count() == 0
    page.wait_for_selector("#status.ended")
    text = page.inner_text("#status")
    assert text == "The page has ended. Start it again: boathook page. Answer: boathook asks"
    box = page.locator("#status").bounding_box()
    assert (round(box["x"]), round(box["width"])) == (0, width)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    press(window, "Allow…")
    message = "The page has ended, so nothing was decided. Answer in a terminal: boathook asks"
    assert read_result(window) == message
    page.click("#decide-close")
    window.wait_for("() => document.querySelector('main h1').textContent === 'The page has ended'")
    assert "boathook asks" in page.inner_text("main")
    while WaitingCall.started:
        WaitingCall.started.pop().end()
