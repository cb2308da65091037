"""A live window whose connection is lost says so in a real browser, asks again, and shows each record once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.page.browser_window import Window
from tests.page.recorded_calls import call
from tests.page.served import ServedPage
from tests.scratch_project import ScratchProject

pytestmark = pytest.mark.browser

STREAMS = "**/data/stream*"


def find_rows(window: Window) -> list[str]:
    return window.page.evaluate("[...document.querySelectorAll('#rows li')].map((row) => row.innerText)")


def lose_connection(window: Window) -> None:
    window.context.set_offline(True)
    window.served.cut_connections()
    window.page.wait_for_selector("#status.ended")


def show_live(browser: Any, served: ServedPage) -> Window:
    window = Window(browser, served).open()
    window.show("live")
    window.page.wait_for_selector("#rows li:nth-child(3)")
    return window


def test_records_that_came_while_the_connection_was_lost_are_shown_once(
    browser: Any, served: ServedPage, machine_with_records: ScratchProject
) -> None:
    window = show_live(browser, served)
    page = window.page
    call(machine_with_records, "echo before")
    page.wait_for_selector("#rows li:nth-child(4)")
    page.keyboard.press("p")
    call(machine_with_records, "echo held")
    window.wait_for("held.length > 0")
    lose_connection(window)
    call(machine_with_records, "echo meanwhile")
    window.context.set_offline(False)
    window.wait_for("!document.querySelector('#status.ended')")
    call(machine_with_records, "echo after")
    window.wait_for("held.join().includes('echo after')")
    page.keyboard.press("p")
    rows = find_rows(window)
    names = ("after", "meanwhile", "held", "before")
    assert [sum(f"echo {name}" in row for row in rows) for name in names] == [1, 1, 1, 1]
    assert [next(at for at, row in enumerate(rows) if f"echo {name}" in row) for name in names] == [0, 1, 2, 3]


def test_a_stream_that_is_refused_is_not_live_and_is_asked_for_again(browser: Any, served: ServedPage) -> None:
    window = Window(browser, served)
    window.context.route(STREAMS, lambda route: route.fulfill(status=500))
    window.open()
    window.page.wait_for_selector("#status.ended")
    window.context.unroute(STREAMS)
    window.wait_for("!document.querySelector('#status.ended')")


def test_a_page_that_was_started_anew_shows_that_this_window_may_not_read_it(browser: Any, served: ServedPage) -> None:
    window = show_live(browser, served)
    window.context.route(STREAMS, lambda route: route.fulfill(status=401))
    lose_connection(window)
    window.context.set_offline(False)
    window.wait_for("() => document.querySelector('main h1').textContent === 'This window may not read the page'")
    assert window.page.inner_text("#status") == ""
    requests = len(window.requests)
    window.page.wait_for_timeout(3000)
    assert len(window.requests) == requests
