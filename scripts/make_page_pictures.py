"""Make the pictures of the page in docs/images: real hooks run in a scratch home, and a real browser shows the page.

Usage: python -m scripts.make_page_pictures. It needs the extra `browser`, and chromium.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from boathook.hosts.setup import list_setups
from tests.page.page_at_terminal import TerminalPage

TOP = Path(__file__).resolve().parent.parent
PICTURES = TOP / "docs/images"
BOATHOOK = (sys.executable, "-m", "boathook")
# The pictures: the name of the file, the address of the screen, the scheme, and the width.
SHOTS = (
    ("page-now.png", "now", "light", 1000),
    ("page-live.png", "live", "dark", 1400),
    ("page-record.png", "record?id={id}", "light", 1000),
    ("page-guards.png", "guards", "light", 1000),
    ("page-hook.png", "hook?name=no-force-push", "dark", 1000),
    ("page-session.png", "session?id=claude-0", "light", 1000),
    ("page-review.png", "{review}", "light", 1000),
    ("page-narrow.png", "live", "dark", 360),
)
# The picture of a replay: a hook blocks less than it did.
REPLAY_SHOT = ("page-replay.png", "replay?last=20", "dark", 1000)
PATTERN, NEW_PATTERN = "push.*--force", "push.*--force(?!-with-lease)"
# The picture of a question: the dialog is over the screen Now.
QUESTION_SHOT = ("page-question.png", "light", 1000)
HEIGHT = 640
# A hook that asks, and the call that it asks about.
ASKING_HOOK = """---
name: ask-before-deploy
description: Asks a person before something is deployed.
trigger: pre-tool-call
matcher: {tool: Shell, pattern: deploy}
---
"""
ASKING_SCRIPT = """#!/bin/sh
echo '{"decision": "ask", "reason": "This deploys to production."}'
"""
ASKED_CALL = ("claude", "PreToolUse", "Bash", "make deploy")
CALLS = (
    ("claude", "PreToolUse", "Bash", "git status"),
    ("claude", "PreToolUse", "Bash", "git push --force origin main"),
    ("codex", "PreToolUse", "Bash", "git push origin feature"),
    ("claude", "PreToolUse", "Bash", "rm -r build"),
    ("codex", "PreToolUse", "Bash", "git push --force-with-lease origin main"),
    ("claude", "PreToolUse", "Bash", "git push --force <img src=x onerror=alert(1)>"),
)


def main() -> int:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        print("chromium is not installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="demo-") as home:
        # An agent may run this, and a page below an agent decides nothing.
        markers = {name for setup in list_setups() for name in setup.agent_variables}
        own = {name: value for name, value in os.environ.items() if name not in markers}
        environment = {**own, "HOME": home, "TZ": "UTC"}
        project = Path(home, "shop")
        _prepare(project, environment)
        record = _find_record(project, environment)
        started = TerminalPage(project, environment)
        try:
            with sync_playwright() as playwright:
                arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
                browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
                page = browser.new_context().new_page()
                page.goto(started.address)
                _take_pictures(page, record)
                manifest = project.parent / ".config/agents/hooks/no-force-push/HOOK.md"
                manifest.write_text(manifest.read_text().replace(PATTERN, NEW_PATTERN))
                _take_picture(page, *REPLAY_SHOT)
                _take_question_picture(page, project, environment, started)
                browser.close()
        finally:
            started.end()
    return 0


def _prepare(project: Path, environment: dict[str, str]) -> None:
    """Make hooks and agents, and let hooks run."""
    for folder in (project, project.parent / ".claude", project.parent / ".codex"):
        folder.mkdir()
    pattern = ("--event", "pre-tool-call", "--tool", "Shell", "--pattern")
    for words in (
        ("new", "no-force-push", *pattern, PATTERN, "--user"),
        ("new", "--from", "safer-rm"),
        ("trust", "safer-rm", "--yes"),
        ("new", "no-env", "--event", "pre-tool-call", "--kind", "writes", "--pattern", r"\.env"),
        ("install", "claude", "--yes"),
        ("install", "codex", "--yes"),
    ):
        _run(project, environment, *words)
    agents = project.parent / ".config/agents"
    folder = agents / "hooks/ask-before-deploy"
    (folder / "scripts").mkdir(parents=True)
    (folder / "HOOK.md").write_text(ASKING_HOOK)
    (folder / "scripts/run.sh").write_text(ASKING_SCRIPT)
    (folder / "scripts/run.sh").chmod(0o755)
    (agents / "hooks.toml").write_text('[hooks]\nask = "wait"\nrecord = "whole"\n')
    for number, call in enumerate(CALLS):
        _run(project, environment, "run", "--host", *call[:2], stdin=_make_payload(project, number, call))


def _make_payload(project: Path, number: int, call: tuple[str, str, str, str]) -> str:
    host, event, tool, command = call
    payload = {
        "session_id": f"{host}-{number // 4}",
        "cwd": str(project),
        "hook_event_name": event,
        "tool_name": tool,
        "tool_use_id": f"call-{number}",
        "tool_input": {"command": command},
    }
    return json.dumps(payload)


def _run(project: Path, environment: dict[str, str], *words: str, stdin: str = "") -> str:
    done = subprocess.run(
        [*BOATHOOK, *words], input=stdin, capture_output=True, text=True, env=environment, cwd=project, check=False
    )
    if done.returncode not in (0, 2):
        raise SystemExit(f"boathook {' '.join(words)}: {done.stderr}")
    return done.stdout


def _find_record(project: Path, environment: dict[str, str]) -> str:
    """Return the record of the call that a hook rewrote."""
    records = map(json.loads, _run(project, environment, "log", "--json").splitlines())
    return next(str(record["id"]) for record in records if record["changed"])


def _take_pictures(page: Any, record: str) -> None:
    page.wait_for_selector("main h1")
    review = page.get_attribute("a:text-is('Review it')", "href").removeprefix("#/")
    for name, screen, scheme, width in SHOTS:
        _take_picture(page, name, screen.format(id=record, review=review), scheme, width)


def _take_picture(page: Any, name: str, screen: str, scheme: str, width: int) -> None:
    target = f"#/{screen}"
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=scheme)
    page.evaluate("address => { location.hash = address }", target)
    # The policy of the page lets no text be evaluated within it, so that this asks from outside.
    while page.evaluate("document.getElementById('screen').dataset.address") != target:
        page.wait_for_timeout(20)
    _save_picture(page, name)


def _take_question_picture(page: Any, project: Path, environment: dict[str, str], started: TerminalPage) -> None:
    """Let a call wait, and begin an answer: the picture has the dialog with the code of the terminal."""
    name, scheme, width = QUESTION_SHOT
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=scheme)
    page.evaluate("() => { location.hash = '#/now' }")
    payload = _make_payload(project, len(CALLS), ASKED_CALL)
    words = [*BOATHOOK, "run", "--host", *ASKED_CALL[:2]]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=project, env=environment, text=True
    ) as call:
        try:
            assert call.stdin is not None
            call.stdin.write(payload)
            call.stdin.close()
            page.click("#questions button:text-is('Allow…')")
            page.fill("#decide-code", started.read_code())
            _save_picture(page, name)
        finally:
            call.terminate()


def _save_picture(page: Any, name: str) -> None:
    page.screenshot(path=PICTURES / name)
    print(f"made {(PICTURES / name).relative_to(TOP)}")


if __name__ == "__main__":
    sys.exit(main())
