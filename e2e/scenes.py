"""Runs that show one thing each, beside the five behaviours: a newcomer's first guard, and a call that comes on two roads."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from e2e.hosts import Place
from e2e.server import Step

if TYPE_CHECKING:
    from e2e.stage import Observation

Do = Callable[..., str]
EXAMPLES = Path(__file__).resolve().parent.parent / "examples/hooks"
GUARD = "block-dangerous-commands"
RAN = "rm-was-called"
END = Step("stop", text="All is done.")


@dataclass(frozen=True)
class Scene:
    """One run: its agent, what it shows, its script, what is done before, and what is wrong with what was seen."""

    host: str
    title: str
    steps: tuple[Step, ...]
    prepare: Callable[[Place, dict[str, str], Do], None]
    complaints: Callable[[Observation], Iterator[str]]


def _newcomer(place: Place, env: dict[str, str], boathook: Do) -> None:
    """Do what the README says: copy a guard, install. An `rm` that only leaves a mark stands before the real one, to be sure."""
    programs = place.home / "bin"
    programs.mkdir()
    (programs / "rm").write_text(f"#!/bin/sh\ntouch '{place.project}/{RAN}'\n")
    (programs / "rm").chmod(0o755)
    env["PATH"] = f"{programs}:{env['PATH']}"
    shutil.copytree(EXAMPLES / GUARD, place.home / ".config/agents/hooks" / GUARD)
    boathook("install", "claude", "--yes")


def _not_blocked(seen: Observation) -> Iterator[str]:
    records = [one for one in seen.ledger if one.get("event") == "pre-tool-call"]
    if [(one["host"], one["decision"], one["hooks"][0]["hook"]) for one in records] != [("claude", "block", GUARD)]:
        yield f"the ledger has {len(records)} records of the call, not one block by {GUARD}"
    if RAN in seen.files or any("operate recursively" in request.body for request in seen.own):
        yield "rm was called"
    if len(seen.own) != len(NEWCOMER.steps):
        yield f"the agent asked the model {len(seen.own)} times, not {len(NEWCOMER.steps)}"
    elif not any(reason.splitlines()[0] in seen.own[1].body for one in records for reason in one["reasons"]):
        yield "the reason is not in the next request"


def _two_roads(place: Place, env: dict[str, str], boathook: Do) -> None:
    """Install for both: Copilot CLI reads the settings that a project has for Claude Code as well."""
    scripts = place.home / ".config/agents/hooks/count/scripts"
    scripts.mkdir(parents=True)
    (scripts.parent / "HOOK.md").write_text("---\nname: count\ndescription: Counts.\ntrigger: pre-tool-call\n---\n")
    (scripts / "run.sh").write_text("#!/bin/sh\nexit 0\n")
    (scripts / "run.sh").chmod(0o755)
    env["COPILOT_ALLOW_ALL"] = "true"  # else it does not read what a folder brings
    boathook("install", "copilot", "--yes")
    boathook("install", "claude", "--project", str(place.project), "--yes")


def _not_once(seen: Observation) -> Iterator[str]:
    hosts = [one["host"] for one in seen.ledger if one.get("event") == "pre-tool-call"]
    if hosts != ["copilot"]:
        yield f"the hook ran for {hosts or 'nobody'}, not once for copilot"


NEWCOMER = Scene(
    "claude", "a newcomer's guard blocks `rm -rf /`", (Step("danger", "rm -rf /"), END), _newcomer, _not_blocked
)
TWO_ROADS = Scene(
    "copilot",
    "a call that is reached by two installed commands runs a hook once",
    (Step("one", "echo hello"), END),
    _two_roads,
    _not_once,
)
SCENES = {"newcomer": NEWCOMER, "two-roads": TWO_ROADS}
