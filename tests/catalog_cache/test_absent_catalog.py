"""The compiled catalogue of folders whose trusted hooks come and go: it is the one that the files would give, or none."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from boathook.assembly import load_with_trust
from boathook.catalog_cache.format import load_compiled
from boathook.catalog_cache.write import write_compiled
from boathook.core.event import KINDS
from boathook.entry.fast_path import _prove_nothing_to_do
from boathook.entry.options import parse_options
from boathook.sources.source import SOURCES
from boathook.system.locations import read_environment, resolve_locations
from tests.git_repository import add_work_tree, commit_all
from tests.scratch_project import CALL, make_settings

# What comes and goes, below the project.
PARTS = (
    ".agents",
    ".agents",
    ".claude/settings.json",
    ".agents/hooks/guard",
    ".agents/hooks/guard/HOOK.md",
    ".claude/settings.json",
    "sub/.agents",
    "sub/.agents/hooks/inner",
    "sub/.claude/settings.json",
)
STARTS = ("", "sub", "sub/deep", "other")
STEPS, MORE_STEPS = 15, 40


def write_parts(project) -> None:
    project.write_hook("guard", scope="project", script="exit 2")
    project.write_settings("project", make_settings("exit 2"))
    sub = type(project)(project.base)
    for name in ("deep", ".claude", ".agents/hooks"):
        (project.path / "sub" / name).mkdir(parents=True)
    (project.path / "other").mkdir()
    inner = sub.write_hook("inner", script="exit 2")
    os.rename(inner, project.path / "sub/.agents/hooks/inner")
    (project.path / "sub/.claude/settings.json").write_text(json.dumps(make_settings("exit 3")))


def find_locations(start: Path):
    return resolve_locations(SOURCES, str(start), read_environment())


def compare_with_files(start: Path) -> bool:
    """Compare the compiled catalogue of a start with its files, and return whether there was one; keep the new one."""
    locations = find_locations(start)
    compiled = load_compiled(locations)
    # The times of files have steps.
    time.sleep(0.01)
    loaded, _ = load_with_trust(locations)
    for kind in KINDS if compiled is not None else ():
        built_in = tuple(hook for hook in loaded.catalog.built_in if hook.kind is kind)
        wanted = loaded.catalog.replace(hooks=loaded.catalog.find_hooks(kind), built_in=built_in)
        assert compiled.restore(kind) == wanted
    write_compiled(loaded.catalog, loaded.watch, locations, time.time(), loaded.trusted_folders)
    return compiled is not None


@pytest.mark.parametrize(
    ("seed", "steps"), [(0, STEPS), *(pytest.param(seed, MORE_STEPS, marks=pytest.mark.long) for seed in (0, 1, 2))]
)
@pytest.mark.parametrize("form", ["a folder", "a repository", "a linked work tree"])
def test_it_is_right_for_every_start_while_hooks_come_and_go(project, monkeypatch, form, seed, steps):
    monkeypatch.setattr("boathook.catalog_cache.write.RACY_SECONDS", 0.0)
    chance, top = random.Random(seed), project.path
    write_parts(project)
    if form != "a folder":
        commit_all(top)
    project.trust()
    project.run("trust", "--yes", "--project", str(top / "sub"))
    if form == "a linked work tree":
        top = add_work_tree(top, project.base / "linked")
    away, hits = project.base / "away", 0
    away.mkdir()
    # One of them is in no project and no repository.
    starts = [*(top / start for start in STARTS), project.base]
    for start in starts:
        start.mkdir(parents=True, exist_ok=True)
    for _ in range(steps):
        part = chance.choice(PARTS)
        here, there = top / part, away / part.replace("/", "%")
        if here.exists() and not there.exists():
            os.rename(here, there)
        elif there.exists() and here.parent.is_dir() and not here.exists():
            os.rename(there, here)
        time.sleep(0.01)
        hits += sum(compare_with_files(start) for start in chance.choices(starts, k=3))
    # Most of them change nothing for a start.
    assert hits > steps // 4


def test_the_fast_path_waits_until_the_session_knows_its_guards_and_after_that_answers_alone(project, monkeypatch):
    monkeypatch.setattr("boathook.catalog_cache.write.RACY_SECONDS", 0.0)
    fields = {"matcher": "{tool: Shell, pattern: mkfs}"}
    project.write_hook("guard", scope="project", script="exit 2", fields=fields)
    project.trust()
    time.sleep(0.01)
    compare_with_files(project.path)

    def is_quiet(session: str | None) -> bool:
        event = {**CALL, "work_dir": str(project.path), "session_id": session}
        return _prove_nothing_to_do(parse_options(["--event", "pre-tool-call"]), json.dumps(event).encode()) is not None

    assert [is_quiet(session) for session in ("s", "a b", None)] == [False, False, True]
    project.dispatch(event=CALL)
    assert [is_quiet(session) for session in ("s", "t", "a b", None)] == [True, False, False, True]
    # The end of a session may be false, so its notes stay.
    project.dispatch(event={"event_type": "post-session", "session_id": "s"})
    assert is_quiet("s") is True
