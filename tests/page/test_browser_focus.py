"""The focus in a real browser: it never falls out of the page, and a part that is made again keeps what is open in it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.page.browser_window import Window
from tests.page.recorded_calls import call
from tests.page.served import ServedPage, serve_context
from tests.scratch_project import ScratchProject

pytestmark = pytest.mark.browser

CONTRAST = """() => {
  const read = (color) => color.match(/[\\d.]+/g).slice(0, 3).map((one) => {
    const value = one / 255;
    return value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
  });
  const measure = (color) => read(color).reduce((sum, one, at) => sum + one * [.2126, .7152, .0722][at], 0);
  const compare = (one, other) => {
    const [low, high] = [measure(one), measure(other)].sort((a, b) => a - b);
    return (high + .05) / (low + .05);
  };
  const field = document.getElementById("search"), style = getComputedStyle(field);
  const back = getComputedStyle(document.body).backgroundColor;
  return [
    compare(getComputedStyle(field, "::placeholder").color, style.backgroundColor),
    compare(style.borderTopColor, style.backgroundColor),
    compare(style.borderTopColor, back),
  ];
}"""


def find_focus(window: Window) -> str:
    return window.page.evaluate("document.activeElement.id || document.activeElement.tagName")


def test_the_focus_stays_in_the_page(browser: Any, served: ServedPage) -> None:
    window = Window(browser, served).open()
    page = window.page
    assert find_focus(window) == "screen"
    # The search is on Live alone, and its key leads there.
    page.keyboard.press("/")
    window.wait_for("() => document.activeElement.id === 'search'")
    assert page.evaluate("location.hash") == "#/live"
    page.keyboard.type("origin")
    page.keyboard.press("Enter")
    window.wait_for("() => document.getElementById('screen').dataset.address === '#/live?q=origin'")
    assert find_focus(window) == "search"
    page.keyboard.press("Escape")
    page.locator("main").focus()
    page.keyboard.press("?")
    page.keyboard.press("Escape")
    assert find_focus(window) == "screen"
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    window.wait_for("() => document.getElementById('screen').dataset.address?.startsWith('#/record')")
    assert find_focus(window) == "screen"
    assert window.problems == []


def test_a_row_is_read_with_all_of_its_cells(browser: Any, served: ServedPage) -> None:
    window = Window(browser, served).open()
    window.show("live")
    row = window.page.get_by_role("link").filter(has_text="git push --force origin main")
    name = row.aria_snapshot()
    for text in (
        "Claude Code",
        "s1",
        "Shell",
        "block",
        "git push --force origin main",
        "no-force",
        "never force",
        " ms",
    ):
        assert text in name


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_fields_and_their_placeholders_have_contrast(browser: Any, served: ServedPage, scheme: str) -> None:
    window = Window(browser, served, color_scheme=scheme).open()
    window.show("live")
    placeholder, edge, outer = window.page.evaluate(CONTRAST)
    assert placeholder >= 4.5
    assert min(edge, outer) >= 3


def test_a_card_that_stays_keeps_its_open_diff_and_the_focus(
    browser: Any, machine_with_records: ScratchProject
) -> None:
    project = machine_with_records
    project.trust("not-yet")
    (project.path / ".agents/hooks/not-yet/scripts/run.sh").write_text("#!/bin/sh\nexit 0 # changed\n")
    with serve_context() as served:
        window = Window(browser, served).open()
        page = window.page
        page.click("summary")
        page.wait_for_selector("details[open]")
        assert find_focus(window) == "SUMMARY"
        project.write_hook("failing", "exit 3", fields={"matcher": "{tool: Shell, pattern: pwd}"})
        call(project, "pwd")
        page.wait_for_selector("#needs li:has-text('failing fails')")
        assert page.locator("#needs details[open]").count() == 1
        assert find_focus(window) == "SUMMARY"
        assert window.problems == []
