"""In windows of middle width, nothing is wider than the window, and no plain word is broken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.page.browser_window import Window
from tests.page.recorded_calls import GUARD, call
from tests.page.served import serve_context
from tests.scratch_project import ScratchProject

pytestmark = pytest.mark.browser

LONG = "a-guard-with-a-rather-long-name-for-a-column"
ADDRESSES = ("now", "live", "guards", "hooks", f"hook?name={LONG}", "sessions", "session?id=s1", "replay?last=20")
# The plain words of tables that are in two lines, each with what is in the cell.
FIND_BROKEN_WORDS = """() => {
  const broken = [], walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.closest("th, td") || node.parentElement.closest("code")) continue;
    for (const word of node.data.matchAll(/(?<![^\\s(])[A-Za-z]{2,9}(?![^\\s),.])/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((one) => one.top)).size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""


def test_screens_fit_windows_between_narrow_and_wide(browser: Any, project: ScratchProject) -> None:
    for name in ("no-force", LONG, "protect-files"):
        project.write_hook(name, GUARD, fields={"matcher": "{tool: Shell, pattern: push}"})
    project.write_hook("dying", "exit 3", fields={"matcher": "{tool: Shell, pattern: ls}"})
    for agent in ("claude", "codex", "gemini", "cursor", "copilot", "opencode"):
        assert project.run("install", agent, "--yes").returncode == 0
    call(project, "git push --force origin main")
    call(project, f"ls /{'a/long/path/' * 20}")
    call(project, f"ls {'x' * 400}", session="3f0c2f5e-6d4a-4a63-a8ff-1e2b3c4d5e6f")
    with serve_context() as page:
        window = Window(browser, page).open()
        for width in (905, 1000, 1060):
            window.page.set_viewport_size({"width": width, "height": 800})
            for address in ADDRESSES:
                window.show(address)
                too_wide = window.page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert (too_wide, window.page.evaluate(FIND_BROKEN_WORDS)) == (0, []), (width, address)
        assert window.problems == []
