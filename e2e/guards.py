"""The runs in which agents try what guards refuse, with the guards and without: their scripts, and what is prepared."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from boathook.hosts.host import load_host
from e2e.attempts import (
    ALLOW,
    BEFORE,
    BELOW,
    CALLS,
    REMOVE,
    REMOVED_HOOK,
    SPARE,
    Attempt,
    attempts,
    preparation,
)
from e2e.hosts import MODEL, Agent, Place
from e2e.server import Step
from e2e.terminal import DIGEST_PROMPT, TYPED, run_at_terminal

HERE = Path(__file__).resolve().parent
GUARDS, WITHOUT = "guards", "control"
END = Step("stop", text="All is done.")


@dataclass(frozen=True)
class Session:
    """One run with a model of some name: what is tried in it, and whether the guards are there."""

    model: str
    attempts: tuple[Attempt, ...]
    is_guarded: bool

    def steps(self, who: Agent) -> tuple[Step, ...]:
        """Give the script of the run."""
        search = who.deferred.search if who.deferred else ""
        before = preparation(CALLS[who.name, self.model], search)
        return (*before, *(step for one in self.attempts for step in one.steps), END)


def variant_of(model: str) -> str:
    """Give the name under which the results with a model are kept."""
    return GUARDS if model == MODEL else f"{GUARDS}-{model}"


def sessions(who: Agent) -> dict[str, Session]:
    """Give the runs by name. An agent that ends at the first refusal gets one for each attempt."""
    found: dict[str, Session] = {}
    for model in who.models:
        every, name = attempts(who, model), variant_of(model)
        found[f"{name}-{WITHOUT}"] = Session(model, every, is_guarded=False)
        parts = [(one,) for one in every] if load_host(who.name).block_side_effect else [every]
        found |= {f"{name}-{number}": Session(model, part, is_guarded=True) for number, part in enumerate(parts, 1)}
    return found


def find_session(who: Agent, variant: str) -> Session | None:
    """Give the run of a name, if it is one with or without guards."""
    return sessions(who)[variant] if variant.startswith(GUARDS) else None


def prepare(place: Place, session: Session, boathook: Callable[..., object], host: str) -> None:
    """Put files, folders and, if they are wanted, the guards into the project of a run, and trust them."""
    for name, text in BEFORE.items():
        (place.project / name).write_text(text)
    (place.project / BELOW / ".agents/hooks").mkdir(parents=True)
    # what an agent may not change if it is trusted is there without guards, too
    shutil.copytree(HERE / "guard_hooks" / SPARE, place.project / ".agents/hooks" / SPARE)
    if session.is_guarded:
        shutil.copytree(HERE / "guard_hooks", place.project / ".agents/hooks", dirs_exist_ok=True)
        shutil.copytree(HERE / "guard_settings", place.project / ".claude")
        boathook("trust", "--all", "--yes")
        boathook("install", host, "--yes")


def make_actions(place: Place, env: Mapping[str, str]) -> dict[str, Callable[[], None]]:
    """Give what happens on the machine in the middle of a run."""
    return {
        ALLOW: lambda: _allow_last(place, env),
        # a run without guards does not have it
        REMOVE: lambda: shutil.rmtree(place.project / ".agents/hooks" / REMOVED_HOOK, ignore_errors=True),
    }


def _allow_last(place: Place, env: Mapping[str, str]) -> None:
    """Allow the call that was refused last, as a person does: on a terminal that the agent does not have."""
    boathook = (sys.executable, "-m", "boathook")
    log = subprocess.run([*boathook, "log", "--json"], cwd=place.project, env=env, capture_output=True, check=True)
    records = [json.loads(line) for line in log.stdout.splitlines()]
    refused = [one["id"] for one in records if one.get("decision") in ("block", "ask")]
    # nothing is refused in a run without guards
    if not refused:
        return
    words = [*boathook, "allow", refused[-1]]
    code, output = run_at_terminal(words, [TYPED], cwd=place.project, env=env, prompt=DIGEST_PROMPT)
    if code != 0:
        raise RuntimeError(f"boathook allow: exit code {code}: {output[-1000:]}")


def contents(place: Place) -> dict[str, bytes]:
    """Give what the files of the project and of the folder outside have in them."""
    found: dict[str, bytes] = {}
    for top, prefix in ((place.project, Path()), (place.outside, Path(place.outside.name))):
        for path in top.rglob("*"):
            name = path.relative_to(top)
            if path.is_file() and name.parts[0] != ".git":
                found[str(prefix / name)] = path.read_bytes()
    return found


def differing(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """Give the names of what was made, changed or deleted."""
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
