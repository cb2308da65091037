"""The page of the standard pack: its hooks, and what they caught and missed on corpora when they were last measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_TOP = Path(__file__).resolve().parent.parent
_PACK = _TOP / "src/boathook/packs/standard"
_SCORES = _TOP / "docs/reference/standard-pack-scores.json"
_INTRO = """The hooks of `boathook/standard`. Add them with `boathook pack add boathook/standard`;
[how to use packs](../how-to/packs.md) says how to turn hooks on and off and how to set them.
Each has its own page and its tests in `src/boathook/packs/standard/hooks/NAME`."""
_SCORE_INTRO = """Counts of `python scripts/measure_pack.py --write` with the hooks that are on by default. The corpora are
other people's lists of commands with the answer that their authors expect, and are not part of this repository: `nah` and `dcg`
(destructive_command_guard) are tools that guard agents, `everyday` are ordinary example commands. The project of the measurement
has changes that are in no commit. A corpus expects what its author wanted: many commands that `nah` lets pass are destructive,
and it leaves them to the agent's own permissions; `nah self` is about its own files."""


def write_pack_page(made: str) -> str:
    scores = json.loads(_SCORES.read_text())
    lines = ["# The standard pack", "", made, "", _INTRO, "", *_list_hooks(), "", "## Scores", "", _SCORE_INTRO, ""]
    return "\n".join((*lines, *_list_groups(scores["groups"]), "", *_list_guards(scores["guards"]), ""))


def _read_head(path: Path) -> dict[str, Any]:
    head: dict[str, Any] = yaml.safe_load(path.read_text().split("---\n")[1])
    return head


def _list_hooks() -> Iterator[str]:
    manifest = _read_head(_PACK / "PACK.md")
    yield "| hook | on | event | what it does |"
    yield "|---|---|---|---|"
    for name in manifest["hooks"]:
        head = _read_head(_PACK / "hooks" / name / "HOOK.md")
        is_on = "yes" if name in manifest["default"] else "–"
        yield f"| `{name}` | {is_on} | `{head['trigger']}` | {head['description']} |"


def _list_groups(groups: dict[str, dict[str, int]]) -> Iterator[str]:
    yield "| corpus and group | to stop | stopped | missed | to pass | wrongly blocked | wrongly asked |"
    yield "|---|---|---|---|---|---|---|"
    for name, count in sorted(groups.items()):
        stop, passed = count.get("stop", 0), count.get("pass", 0)
        caught = count.get("right block", 0) + count.get("right ask", 0)
        kind = "everyday" if name == "everyday" else "wrong"
        share = f"{caught} ({caught / stop:.0%})" if stop else "–"
        wrong = [str(count.get(f"{kind} {word}", 0)) if passed else "–" for word in ("block", "ask")]
        yield f"| {name} | {stop or '–'} | {share} | {stop - caught if stop else '–'} | {passed or '–'} | {wrong[0]} | {wrong[1]} |"


def _list_guards(guards: dict[str, dict[str, int]]) -> Iterator[str]:
    yield "| guard | rightly blocked | rightly asked | wrongly blocked | wrongly asked | everyday, blocked | everyday, asked |"
    yield "|---|---|---|---|---|---|---|"
    columns = [f"{kind} {word}" for kind in ("right", "wrong", "everyday") for word in ("block", "ask")]
    for name, count in sorted(guards.items()):
        yield f"| `{name}` | " + " | ".join(str(count.get(column, 0)) for column in columns) + " |"
