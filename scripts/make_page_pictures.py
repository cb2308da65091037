"""Make the pictures of the page in docs/images: real hooks run in a scratch home, and a real browser shows the page.

Usage: python -m scripts.make_page_pictures. It needs the extra `browser`, and chromium.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
PICTURES = TOP / "docs/images"
BOATHOOK = (sys.executable, "-m", "boathook")
# The pictures: the name of the file, the address of the screen, the scheme, and the width.
SHOTS = (
    ("page-now.png", "now", "light", 1000),
    ("page-live.png", "live", "dark", 1400),
    ("page-record.png", "record?id={id}", "light", 1000),
    ("page-guards.png", "guards", "light", 1000),
    ("page-narrow.png", "live", "dark", 360),
)
HEIGHT = 640
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
        environment = {**os.environ, "HOME": home, "TZ": "UTC"}
        project = Path(home, "shop")
        _prepare(project, environment)
        record = _find_record(project, environment)
        process, address = _start_page(project, environment)
        try:
            with sync_playwright() as playwright:
                arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
                _take_pictures(playwright.chromium.launch(executable_path=chromium, args=arguments), address, record)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()
    return 0


def _prepare(project: Path, environment: dict[str, str]) -> None:
    """Make hooks and agents, and let hooks run."""
    for folder in (project, project.parent / ".claude", project.parent / ".codex"):
        folder.mkdir()
    pattern = ("--event", "pre-tool-call", "--tool", "Shell", "--pattern")
    for words in (
        ("new", "no-force-push", *pattern, "push.*--force", "--user"),
        ("new", "--from", "safer-rm"),
        ("trust", "safer-rm", "--yes"),
        ("new", "no-env", "--event", "pre-tool-call", "--kind", "writes", "--pattern", r"\.env"),
        ("install", "claude", "--yes"),
        ("install", "codex", "--yes"),
    ):
        _run(project, environment, *words)
    for number, (host, event, tool, command) in enumerate(CALLS):
        payload = {
            "session_id": f"{host}-{number // 4}",
            "cwd": str(project),
            "hook_event_name": event,
            "tool_name": tool,
            "tool_use_id": f"call-{number}",
            "tool_input": {"command": command},
        }
        _run(project, environment, "run", "--host", host, event, stdin=json.dumps(payload))


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


def _start_page(project: Path, environment: dict[str, str]) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [*BOATHOOK, "page", "--no-open"],
        cwd=project,
        env={**environment, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    address = re.search(r"http://\S+", process.stdout.readline() if process.stdout else "")
    if address is None:
        raise SystemExit("the page printed no address")
    return process, address[0]


def _take_pictures(browser: Any, address: str, record: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("main h1")
    for name, screen, scheme, width in SHOTS:
        target = f"#/{screen.format(id=record)}"
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.emulate_media(color_scheme=scheme)
        page.evaluate("address => { location.hash = address }", target)
        # The policy of the page lets no text be evaluated within it, so that this asks from outside.
        while page.evaluate("document.getElementById('screen').dataset.address") != target:
            page.wait_for_timeout(20)
        page.screenshot(path=PICTURES / name)
        print(f"made {(PICTURES / name).relative_to(TOP)}")
    browser.close()


if __name__ == "__main__":
    sys.exit(main())
