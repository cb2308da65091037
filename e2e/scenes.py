"""Runs that show one thing each, beside the five behaviours: `boathook setup`, other agents' settings, other hooks."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

import boathook
from boathook.hosts.host import load_host
from boathook.hosts.setup import load_setup
from e2e.form_scenes import list_form_scenes
from e2e.hosts import AGENTS, Agent, Place
from e2e.server import PROJECT_FOLDER, Step

if TYPE_CHECKING:
    from e2e.stage import Observation

Do = Callable[..., str]
GUARD = "boathook/standard:machine"
RAN = "rm-was-called"
REFUSED = "marker-guard-9d35"
MADE = "made-by-create"
FORBIDDEN, OTHER = "forbidden-word", "other-file-was-asked"
KEYS = {
    "Shell": ("command",),
    "WriteFile": ("file_path", "content"),
    "EditFile": ("file_path", "old_string", "new_string"),
}
END = Step("stop", text="All is done.")
DANGER = (Step("danger", "rm -rf /"), END)


@dataclass(frozen=True)
class Scene:
    """One run: its agent, what it shows, its script, what is done before, and what is wrong with what was seen."""

    host: str
    title: str
    steps: tuple[Step, ...]
    prepare: Callable[[Place, dict[str, str], Do], None]
    complaints: Callable[[Observation], Iterator[str]]


def _set_up(who: Agent) -> Callable[[Place, dict[str, str], Do], None]:
    """Do what the README says, with the agent on the PATH: `boathook setup`."""

    def prepare(place: Place, env: dict[str, str], boathook: Do) -> None:
        programs = place.home / "bin"
        programs.mkdir()
        # An `rm` that only leaves a mark is before the real one, to be sure.
        scripts = {"rm": f"touch '{place.project}/{RAN}'"}
        scripts[load_setup(who.name).programs[0]] = f'exec {shlex.join(who.program(place.cache))} "$@"'
        for name, text in scripts.items():
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
        env["PATH"] = f"{programs}:{env['PATH']}"
        boathook("setup", "--yes")

    return prepare


def _not_blocked(who: str, *, ends_task: bool) -> Callable[[Observation], Iterator[str]]:
    def complaints(seen: Observation) -> Iterator[str]:
        records = [one for one in seen.ledger if one.get("event") == "pre-tool-call"]
        blocks = [run["hook"] for one in records for run in one["hooks"] if run["decision"] == "block"]
        if [(one["host"], one["decision"]) for one in records] != [(who, "block")] or blocks != [GUARD]:
            yield f"the ledger has {len(records)} records of the call, not one block by {GUARD}"
        if RAN in seen.files or any("operate recursively" in request.body for request in seen.own):
            yield "rm was called"
        if ends_task:
            return
        if len(seen.own) != len(DANGER):
            yield f"the agent asked the model {len(seen.own)} times, not {len(DANGER)}"
        elif not any(reason.splitlines()[0] in seen.own[1].body for one in records for reason in one["reasons"]):
            yield "the reason is not in the next request"

    return complaints


def _list_setup_scenes() -> Iterator[tuple[str, Scene]]:
    for who in AGENTS:
        complaints = _not_blocked(who.name, ends_task=bool(load_host(who.name).block_side_effect))
        about = "after `boathook setup`, `rm -rf /` is blocked"
        yield f"setup-{who.name}", Scene(who.name, about, DANGER, _set_up(who), complaints)


def _hook(place: Place, name: str, script: str, matcher: str = "") -> None:
    scripts = place.home / ".config/agents/hooks" / name / "scripts"
    scripts.mkdir(parents=True)
    (scripts.parent / "HOOK.md").write_text(
        f"---\nname: {name}\ndescription: For a scene.\ntrigger: pre-tool-call\n{matcher}---\n"
    )
    (scripts / "run.sh").write_text(f"#!/bin/sh\ncat > /dev/null\n{script}\n")
    (scripts / "run.sh").chmod(0o755)


def _use_claudes_settings(place: Place, env: dict[str, str], boathook: Do) -> None:
    """Install for Claude Code in the project alone: Copilot CLI reads that as well, and has other names for its tools there."""
    _hook(place, "count", "exit 0")
    _hook(place, "guard", f"echo '{REFUSED}' >&2\nexit 2", "matcher:\n  tool: '^WriteFile$'\n")
    env["COPILOT_ALLOW_ALL"] = "true"  # else it does not read what a folder brings
    boathook("install", "claude", "--project", str(place.project), "--yes")


def _not_by_claudes(seen: Observation) -> Iterator[str]:
    records = [one for one in seen.ledger if one.get("event") == "pre-tool-call"]
    calls = [(one["host"], one["tool"], one["decision"]) for one in records]
    wanted = [("copilot", "Shell", "none"), ("copilot", "WriteFile", "block"), ("copilot", "EditFile", "none")]
    if calls != wanted:
        yield f"the records are {calls}, not {wanted}"
    for one in records:
        lacking = {*KEYS.get(one["tool"], ())} - {*one.get("input", {})}
        if lacking:
            yield f"the input of {one['tool']} is without {', '.join(sorted(lacking))}"
    if MADE in seen.files:
        yield "the file was written"
    following = [request.body for before, request in zip(seen.own, seen.own[1:], strict=False) if before.step == "file"]
    if not any(REFUSED in body for body in following):
        yield "the reason is not in the request after the refused call"


def _use_both_settings(place: Place, env: dict[str, str], boathook: Do) -> None:
    """Install for both. That Copilot CLI reads what is installed for Claude Code is shown by the scene before."""
    _hook(place, "count", "exit 0")
    env["COPILOT_ALLOW_ALL"] = "true"
    boathook("install", "copilot", "--yes")
    boathook("install", "claude", "--project", str(place.project), "--yes")


def _not_once(seen: Observation) -> Iterator[str]:
    hosts = [one["host"] for one in seen.ledger if one.get("event") == "pre-tool-call"]
    if hosts != ["copilot"]:
        yield f"the hook ran for {hosts or 'nobody'}, not once for copilot"


def _beside_another(place: Place, _: dict[str, str], boathook: Do) -> None:
    """Put a guard beside a hook file of the project that Cline runs after ours, and that gives every call an input."""
    _hook(place, "guard", f"echo '{REFUSED}' >&2\nexit 2")
    boathook("install", "cline", "--yes")
    other = place.project / ".clinerules/hooks/PreToolUse"
    other.parent.mkdir(parents=True)
    answer = json.dumps({"overrideInput": {"commands": [f"touch {FORBIDDEN}"]}})
    other.write_text(f"#!/bin/sh\ncat > /dev/null\ntouch '{place.project}/{OTHER}'\necho '{answer}'\n")
    other.chmod(0o755)


def _not_held(seen: Observation) -> Iterator[str]:
    if OTHER not in seen.files:
        yield "the other hook file was not asked"
    if FORBIDDEN in seen.files:
        yield "the command ran"
    decisions = [one["decision"] for one in seen.ledger if one.get("event") == "pre-tool-call"]
    if decisions != ["block"]:
        yield f"the ledger has {decisions or 'nothing'} for the call, not one block"


def _make_environment(place: Place) -> Path:
    """Make an environment with a copy of boathook and links to the libraries of this one, so that it can be broken."""
    folder = place.home / "boathook-env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (libraries,) = folder.glob("lib/python*/site-packages")
    for path in Path(click.__file__).parents[1].iterdir():
        # Not what makes this environment's own boathook importable.
        if "boathook" not in path.name.lower() and path.suffix != ".pth":
            (libraries / path.name).symlink_to(path)
    shutil.copytree(Path(boathook.__file__).parent, libraries / "boathook")
    return folder


def _break(host: str, damage: Callable[[Path], None]) -> Callable[[Place, dict[str, str], Do], None]:
    """Install boathook from an environment of its own, and break that."""

    def prepare(place: Place, env: dict[str, str], _: Do) -> None:
        _hook(place, "guard", f"echo '{REFUSED}' >&2\nexit 2")
        folder = _make_environment(place)
        install = [str(folder / "bin/python"), "-m", "boathook", "install", host, "--yes"]
        subprocess.run(install, cwd=place.project, env=env, check=True, capture_output=True)
        # Or the hooks would be read from the cache, which needs no library.
        shutil.rmtree(place.home / ".cache/boathook", ignore_errors=True)
        damage(folder)

    return prepare


def _remove_package(folder: Path) -> None:
    (package,) = folder.glob("lib/python*/site-packages/boathook")
    shutil.rmtree(package)


def _remove_library(folder: Path) -> None:
    (library,) = folder.glob("lib/python*/site-packages/yaml")
    library.unlink()


def _not_refused(ends_task: bool) -> Callable[[Observation], Iterator[str]]:  # noqa: FBT001
    def complaints(seen: Observation) -> Iterator[str]:
        if FORBIDDEN in seen.files:
            yield "the command ran although no guard was asked"
        if not seen.own:
            yield "the prompt did not reach the model"
        elif not ends_task:
            if len(seen.own) != len(_MISSING_STEPS):
                yield f"the agent asked the model {len(seen.own)} times, not {len(_MISSING_STEPS)}: it was held up"
            elif "boathook cannot start" not in seen.own[1].body:
                yield "the reason is not in the next request"

    return complaints


# Each: what is done to the environment, and how the page calls it.
_DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "no-environment": (shutil.rmtree, "its environment is deleted"),
    "no-package": (_remove_package, "its package is deleted"),
    "no-library": (_remove_library, "a library is missing"),
}
_MISSING_STEPS = (Step("forbidden", f"touch {FORBIDDEN}"), END)


def _list_broken_scenes() -> Iterator[tuple[str, Scene]]:
    for who in AGENTS:
        for name, (damage, title) in _DAMAGES.items():
            about = f"a tool call is refused and the prompt goes on if boathook is broken: {title}"
            complaints = _not_refused(ends_task=bool(load_host(who.name).block_side_effect))
            yield f"{name}-{who.name}", Scene(who.name, about, _MISSING_STEPS, _break(who.name, damage), complaints)


CLAUDES_SETTINGS = Scene(
    "copilot",
    "calls that are reached by the command of Claude Code alone are Copilot's, and a guard of files blocks",
    (
        Step("shell", "echo hello"),
        Step("file", tool="create", arguments={"path": f"{PROJECT_FOLDER}/{MADE}", "file_text": "made"}),
        Step(
            "edit",
            tool="edit",
            arguments={"path": f"{PROJECT_FOLDER}/README.md", "old_str": "A project", "new_str": "One"},
        ),
        END,
    ),
    _use_claudes_settings,
    _not_by_claudes,
)
TWO_SETTINGS = Scene(
    "copilot",
    "a call that is reached by two installed commands runs a hook once",
    (Step("one", "echo hello"), END),
    _use_both_settings,
    _not_once,
)
ANOTHER_FILE = Scene(
    "cline",
    "a refusal holds beside another hook file that gives the call an input",
    (Step("block", f"touch {FORBIDDEN}"), END),
    _beside_another,
    _not_held,
)
SCENES = {
    **dict(_list_setup_scenes()),
    "claudes-settings": CLAUDES_SETTINGS,
    "two-settings": TWO_SETTINGS,
    "another-file": ANOTHER_FILE,
    **{name: Scene(*row) for name, row in list_form_scenes()},
    **dict(_list_broken_scenes()),
}
