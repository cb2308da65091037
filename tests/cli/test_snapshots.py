"""What the main commands print at terminals of 80 and 120 columns, with and without colours.

The expected texts are in `snapshots/`, one file per command. `make snapshots` writes them anew: look at the difference before
you commit it. A new command is one row of `COMMANDS`.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from boathook.ledger.writer import Ledger
from tests.packs.toy_packs import write_pack
from tests.scratch_project import ScratchProject, make_project
from tests.terminal import read_screen

FOLDER = Path(__file__).parent / "snapshots"
IS_UPDATE = bool(os.environ.get("UPDATE_SNAPSHOTS"))
PUSH = '{"command": "git push --force origin main"}'
# Each command line, and its exit code if that is not 0.
COMMANDS: dict[str, tuple[list[str], int]] = {
    "help": (["--help"], 0),
    "overview": ([], 0),
    "setup": (["setup", "--agent", "claude", "--agent", "codex", "--dry-run"], 0),
    "list": (["list"], 0),
    "list-all": (["list", "--all"], 0),
    "show": (["show", "no-force-push"], 0),
    "show-untrusted": (["show", "protect-plan"], 0),
    "log": (["log"], 0),
    "why": (["why"], 0),
    "stats": (["stats"], 0),
    "check": (["check"], 1),
    "explain": (["explain", "pre-tool-call", "--tool", "Shell", "--input", PUSH], 0),
    "trust": (["trust", "protect-plan"], 1),
    "pack-list": (["pack", "list"], 0),
    "status": (["status"], 0),
    "doctor": (["doctor"], 1),
}
# It runs every hook, so one of its screens is enough.
SLOW = {"doctor"}
# Where the project is: other folders are as long, so that lines break at the same places.
PLACE = "/a/folder-of-this-length"
# A zone, and programs among which no agent is.
MACHINE = {"TZ": "UTC0", "PATH": "/usr/bin:/bin"}
# What differs between machines and runs, and what is shown instead.
VARYING = {
    r"\b\d+(?:\.\d+)? ms\b": "N ms",
    r"\b\d+ records? so far\b": "N records so far",
    r"\b[0-9a-f]{64}\b": "HASH",
    # A machine may have no bubblewrap.
    r"^(?:<[a-z ]+>)?\w+ +(sandbox \w+)  [^<\n]*(?:</>)?": r"ok      \1  …",
    # On a busy machine a hook is slow.
    r"^(?:<[a-z ]+>)?(?:ok|warning) +(\S[^<\n]*?)  works(?:, but is slow)?: [^<\n]*(?:</>)?": r"ok      \1  works: …",
    r"^.*fix: make it faster, or its matcher narrower.*\n": "",
    r"Hooks are fired in [^<\n]*": "Hooks are fired in …",
    r"hook_entry\.py#[0-9a-f]{6}": "hook_entry.py#123abc",
    r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d": "2026-01-31T12:00:00",
    r"(patterns  ).*?(?=<|$)": r"\1…",
}
PROGRESS = r"(?:<[a-z ]+>)?[\u2800-\u28ff](?:</>)? \w+ \S+ \(\d+ of \d+\)"
STYLES = {
    **dict(zip("1234", ("bold", "dim", "italic", "underlined"), strict=True)),
    **dict(zip(map(str, range(31, 37)), ("red", "green", "yellow", "blue", "magenta", "cyan"), strict=True)),
}


@pytest.fixture(scope="module")
def project() -> Iterator[ScratchProject]:
    top = Path(tempfile.mkdtemp(prefix="s", dir="/tmp"))
    base = top / ("x" * (len(PLACE) - len(str(top)) - 1))
    try:
        yield fill_project(make_project(base))
    finally:
        shutil.rmtree(top)


def fill_project(project: ScratchProject) -> ScratchProject:
    """Write hooks of every kind, and a ledger of a day long ago."""
    fields = {
        "description": "Asks before a push that rewrites history",
        "matcher": "{tool: Shell, pattern: 'push.*--force'}",
    }
    folder = project.write_hook(
        "no-force-push", "echo 'Force pushes rewrite history. Ask first.' >&2; exit 2", fields=fields
    )
    (folder / "tests.txt").write_text("block git push --force\npass git push\n")
    manifest = folder / "HOOK.md"
    manifest.write_text(
        manifest.read_text().replace(
            "A test.", "# No force push\n\nUse `git push --force-with-lease`.\n\n- safe\n- short"
        )
    )
    gate = {"description": "Requires green tests", "trigger": "Stop", "timeout": "60000"}
    project.write_hook("green-tests", "exit 0", fields=gate)
    plan = {"description": "Keeps PLAN.md as it is", "matcher": "{kind: writes, pattern: 'PLAN\\.md$'}"}
    project.write_hook("protect-plan", "exit 2", scope="project", fields=plan)
    project.write_hook(
        "broken", scope="project", manifest="---\nname: broken\ndescription: x\ntrigger: before_tol\n---\n"
    )
    write_pack(project.path / "toys", {"first": "return None", "second": "return None", "third": "return None"})
    assert (
        project.run("pack", "add", "./toys", "--name", "acme/toys", "--only", "first,second", "--yes").returncode == 0
    )
    shutil.rmtree(project.path / "toys")
    assert project.run("install", "claude", "--yes").returncode == 0
    write_ledger(project, str(manifest))
    return project


def write_ledger(project: ScratchProject, path: str) -> None:
    ledger = Ledger(str(project.state), now=lambda: 1769860800.0)
    about = {"v": 1, "type": "dispatch", "session": "s1", "project": "", "folder": "/home/me/shop", "changed": {}}
    asked = {"scope": "user", "source": "HOOK.md", "path": path, "status": "ok", "look": 1, "notes": []}
    matched = {"event": "pre-tool-call", "tool": "Shell", "pattern": "push.*--force"}
    quiet = {**asked, "hook": "no-force-push", "exit": 0, "decision": "none", "reason": None, "matched": matched}
    block = {**quiet, "exit": 2, "decision": "block", "reason": "Force pushes rewrite history. Ask first."}
    calls = [
        ("claude", "Shell", "git push --force-with-lease origin a-branch-with-a-rather-long-name", quiet, 12.5),
        ("claude", "Shell", "git push --force origin main", block, 14.25),
        ("gemini", "Shell", "git push --force", block, 250.0),
        ("claude", "Shell", "git push --dry-run --force", {**quiet, "status": "timeout", "exit": None}, 5000.0),
    ]
    for number, (host, tool, command, run, ms) in enumerate(calls):
        record = {
            **about,
            "id": f"{number + 1:x}" * 12,
            "time": f"2026-01-31T12:0{number}:00.000Z",
            "host": host,
            "event": "pre-tool-call",
            "tool": tool,
            "input_sha256": "0" * 64,
            "input": {"command": command},
            "decision": run["decision"],
            "reasons": [run["reason"]] if run["reason"] else [],
            "ms": ms + 1,
            "hooks": [{**run, "ms": ms}],
            "skipped": [],
            "background": [],
        }
        if host == "gemini":
            record["degraded"] = ["Gemini CLI does not show the reason to you"]
        assert ledger.append(record) == ""


def take_snapshot(project: ScratchProject, arguments: list[str], code: int) -> str:
    parts: dict[str, str] = {}
    for width in (80, 120):
        for has_color in (False, True):
            if SLOW.intersection(arguments[:1]) and (width, has_color) != (80, True):
                continue
            title = f"{width} columns{', colours' if has_color else ''}"
            screen = read_screen(project, width, *arguments, has_color=has_color, code=code, **MACHINE)
            parts[title] = make_stable(project, screen)
    return "\n".join(f"=== boathook {' '.join(arguments)}: {title}\n{text}" for title, text in parts.items())


def make_stable(project: ScratchProject, text: str) -> str:
    """Return a screen in which styles are words, and what differs between machines and runs is always the same."""
    text = re.sub(r"\x1b\[([0-9;]*)m", name_style, text)
    # What shows that something goes on is gone in the end.
    text, count = re.subn(PROGRESS, "", re.sub(r"\x1b\[[0-9?;]*[A-Za-z]|\r", "", text))
    text = re.sub(r"\n\n+", "\n", text) if count else text
    base = str(project.base)
    for end in range(len(base), 4, -1):
        # A path may be cut.
        text = text.replace(base if end == len(base) else f"{base[:end]}…", PLACE[:end] + "…" * (end < len(base)))
    for pattern, shown in VARYING.items():
        text = re.sub(pattern, shown, text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def name_style(found: re.Match[str]) -> str:
    codes = found[1].split(";")
    return "</>" if codes in ([""], ["0"]) else f"<{' '.join(STYLES.get(code, code) for code in codes)}>"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_looks_as_in_its_snapshot(project: ScratchProject, name: str) -> None:
    arguments, code = COMMANDS[name]
    taken, path = take_snapshot(project, arguments, code), FOLDER / f"{name}.txt"
    if IS_UPDATE:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(taken, encoding="utf-8")
    assert taken == path.read_text(encoding="utf-8"), "if this is meant, run: make snapshots"


def test_no_line_of_a_table_is_longer_than_the_terminal() -> None:
    for name in ("list", "list-all", "log", "stats", "pack-list"):
        for part in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("=== ")[1:]:
            title, *lines = part.splitlines()
            width = int(title.rpartition(": ")[2].split()[0])
            assert [line for line in lines if len(re.sub(r"<[a-z ]+>|</>", "", line)) > width] == [], name


def test_every_snapshot_is_of_a_command() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(COMMANDS)
