"""A replay takes a while: the page says so in a real browser, and its button cannot be clicked twice."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from boathook.page import replay_screen
from tests.page.browser_window import Window
from tests.page.served import ServedPage

pytestmark = pytest.mark.browser


def test_a_replay_shows_that_it_works_and_its_button_waits(
    browser: Any,
    served: ServedPage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_go_on, replay = threading.Event(), replay_screen.replay_records

    def wait(*arguments: Any, **options: Any) -> Any:
        may_go_on.wait(60)
        return replay(*arguments, **options)

    monkeypatch.setattr(replay_screen, "replay_records", wait)
    window = Window(browser, served).open()
    window.show("replay")
    page = window.page
    assert page.locator(".busy:visible").count() == 0
    page.select_option("select[name=last]", "100")
    page.click("button:text-is('Replay')")
    page.wait_for_selector(".busy[data-count='100']", state="visible")
    assert page.locator(".busy:visible").all_inner_texts() == ["Replaying up to 100 events; this takes a while."]
    assert page.evaluate("getComputedStyle(document.querySelector('form button')).pointerEvents") == "none"
    may_go_on.set()
    page.wait_for_selector(".report")
    assert page.locator(".busy:visible").count() == 0
    assert window.problems == []


def test_there_is_a_rule_for_each_count(served: ServedPage) -> None:
    style = served.send("/page.css").body.decode()
    assert all(f'.busy[data-count="{count}"]' in style for count in replay_screen._COUNTS)
