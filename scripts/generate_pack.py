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
_SECRET_SCORES = _TOP / "docs/reference/secret-scores.json"
_INTRO = """The hooks of `boathook/standard`. Add them with `boathook pack add boathook/standard`;
[how to use packs](../how-to/packs.md) says how to turn hooks on and off and how to set them.
Each has its own page and its tests in `src/boathook/packs/standard/hooks/NAME`."""
_SCORE_INTRO = """[Counts](standard-pack-scores.json) of `python scripts/measure_pack.py --write` with the hooks that are on
by default. The corpora are other people's lists of commands with the answer that their authors expect, and are not part of
this repository: `nah` and `dcg` (destructive_command_guard) are tools that guard agents, `everyday` are ordinary example
commands. The project of the measurement has changes that are in no commit. A corpus expects what its author wanted: many
commands that `nah` lets pass are destructive, and it leaves them to the agent's own permissions; `nah self` is about its own
files."""


_SECRET_INTRO = """[Counts](secret-scores.json) of `python scripts/measure_secrets.py --write` for `secret-scan`. The table
of rules is that of gitleaks, which is not part of this repository. A rule counts if it knows a secret by its own form,
without the name of a service nearby; five secrets are made up for each. What is not found has no form of its own: a `curl`
with a password or a header, the data of a Kubernetes secret, 40 hexadecimal digits that may be a Sourcegraph token or any
hash, and private keys whose text is not base64. The source is Python's standard library, packages of Python, the documents
and headers of the system, and this repository. Finds in it that are right are private keys and tokens in tests and examples."""


def write_pack_page(made: str) -> str:
    scores = json.loads(_SCORES.read_text())
    secrets = json.loads(_SECRET_SCORES.read_text())
    lines = ["# The standard pack", "", made, "", _INTRO, "", *_list_hooks(), "", "## Scores", "", _SCORE_INTRO, ""]
    lines += [*_list_groups(scores["groups"]), "", *_list_guards(scores["guards"]), ""]
    lines += [_describe_alarms(scores["contradictions"]), ""]
    return "\n".join((*lines, "### Secrets", "", _SECRET_INTRO, "", *_list_secrets(**secrets), ""))


def _describe_alarms(counts: dict[str, int]) -> str:
    alarms, excused = counts["alarms"], counts["contradicted alarms"]
    wanted, judged = counts["pass"], counts["pass"] - counts["contradicted pass"]
    rest = alarms - excused
    return (
        f"Of the {wanted:,} commands that these corpora want passed (without `everyday`), the guards object to {alarms}\n"
        f"({alarms / wanted:.1%}). The corpora contradict each other: one wants `git stash clear` stopped, another passed.\n"
        f"{excused} of the {alarms} objections are to commands of a kind that a corpus wants stopped; without these they are\n"
        f"{rest} of {judged:,} ({rest / judged:.1%}). `scripts/corpus_contradictions.py` says what the same kind is: the same\n"
        "programs, options and operands as they are written, and for a few commands any operand of the same sort. What a text\n"
        "runs by `eval` or a variable is not compared, though it may be as destructive."
    )


def _list_secrets(table: dict[str, int], source: dict[str, int]) -> Iterator[str]:
    yield "| rules | with a form of their own | all samples found | some | none |"
    yield "|---|---|---|---|---|"
    share = f"{table['all']} ({table['all'] / table['own form']:.0%})"
    yield f"| {table['rules']} | {table['own form']} | {share} | {table['some']} | {table['none']} |"
    yield ""
    yield "| files of source | megabytes | files with a find | of them right | wrong |"
    yield "|---|---|---|---|---|"
    finds = f"{source['finds']} | {source['right']} | {source['finds'] - source['right']}"
    yield f"| {source['files']:,} | {source['bytes'] // 1_000_000} | {finds} |"


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
