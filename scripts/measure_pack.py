"""Measure the guards of a pack on corpora of commands: what they catch, what they miss, false alarms, and how long they take.

A corpus is a file that is not part of this repository: JSON lines of `command` (or `tool` and `input`), `expect` (`block` or
`pass`), and, if known, `src`, `cat` and `cwd`; or plain lines, which are everyday commands that should pass. Both may be packed
with gzip. `@WS@` in them is a scratch folder; `@WS@/project` in it is a git repository.

    python scripts/measure_pack.py CORPUS.jsonl.gz EVERYDAY.txt.gz --only machine,git-discard --show misses
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from corpus_contradictions import CommandKind, find_kind, is_contradicted

from boathook.guards import GuardAnswer, GuardedCall

STANDARD_PACK = Path(__file__).parents[1] / "src" / "boathook" / "packs" / "standard"
SCORES = Path(__file__).parents[1] / "docs" / "reference" / "standard-pack-scores.json"
_EVERYDAY = "everyday"
_MARK = "@WS@"
_GIT = (
    "git",
    "-c",
    "user.name=x",
    "-c",
    "user.email=x@example.org",
    "-c",
    "init.defaultBranch=main",
    "-c",
    "gc.auto=0",
)

Guard = Callable[[GuardedCall], GuardAnswer | None]


class Case(NamedTuple):
    """A command, or a call of another tool, with the answer that its author wants."""

    group: str
    tool: str
    tool_input: dict[str, Any]
    work_dir: str
    should_object: bool = False


class Result(NamedTuple):
    case: Case
    answers: dict[str, GuardAnswer]
    seconds: float

    @property
    def decision(self) -> str:
        decisions = {answer.decision for answer in self.answers.values()}
        return "block" if "block" in decisions else "ask" if decisions else ""


def list_default_hooks(pack: Path) -> list[str]:
    """Return the hooks of a pack that are on unless the user says otherwise."""
    head = (pack / "PACK.md").read_text().split("---\n")[1]
    return [str(name) for name in yaml.safe_load(head)["default"]]


def load_guards(pack: Path, names: list[str]) -> dict[str, Guard]:
    """Return the `decide` functions of the guards of a pack; hooks in other forms are left out."""
    sys.path.insert(0, str(pack / "lib"))
    sys.dont_write_bytecode = True
    guards: dict[str, Guard] = {}
    for path in sorted(pack.glob("hooks/*/scripts/run.py")):
        name = path.parents[1].name
        if name not in names:
            continue
        spec = importlib.util.spec_from_file_location(f"_guard_{name.replace('-', '_')}", path)
        if spec is None or spec.loader is None:
            continue
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if hasattr(module, "decide"):
            guards[name] = module.decide
    return guards


def make_scratch(folder: Path, *, is_dirty: bool) -> None:
    """Make a project on a branch, with `main` beside it, and a folder outside; a dirty one has changes, new files and a stash."""
    project = folder / "project"
    (project / "src").mkdir(parents=True)
    (folder / "outside").mkdir()
    for name in ("Desktop", "Documents", "Downloads"):
        (folder / "home" / name).mkdir(parents=True)
    for name in ("src/lib.rs", "file.txt", "README.md", "old.txt"):
        (project / name).write_text("one\n")
    (project / ".gitignore").write_text("node_modules/\nbuild/\n")

    def run(*words: str) -> None:
        subprocess.run([*_GIT, *words], cwd=project, check=True, capture_output=True)

    run("init", "-q", ".")
    run("add", "-A")
    run("commit", "-qm", "one")
    run("switch", "-qc", "feature")
    if is_dirty:
        (project / "file.txt").write_text("stashed\n")
        run("stash", "push", "-q")
        for name in ("file.txt", "src/lib.rs"):
            (project / name).write_text("two\n")
        (project / "new.txt").write_text("new\n")


def read_cases(path: Path) -> Iterator[Case]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            if ".jsonl" in path.name:
                row = json.loads(line)
                tool_input = row.get("input") or {"command": row.get("command", "")}
                group = f"{row.get('src', path.stem)} {row.get('cat', '')}".strip()
                work_dir = row.get("cwd") or f"{_MARK}/project"
                yield Case(group, row.get("tool") or "Shell", tool_input, work_dir, row["expect"] != "pass")
            elif line.strip():
                yield Case(_EVERYDAY, "Shell", {"command": line.rstrip("\n")}, work_dir=f"{_MARK}/project")


def ask_guards(case: Case, guards: dict[str, Guard], folder: Path) -> Result:
    text = json.dumps({"tool_input": case.tool_input, "work_dir": case.work_dir}).replace(_MARK, str(folder))
    fields = {"event_type": "pre-tool-call", "tool_name": case.tool, **json.loads(text)}
    call = GuardedCall(fields, project=str(folder / "project"), home=str(folder / "home"))
    started = time.process_time()
    answers = {name: answer for name, decide in guards.items() if (answer := decide(call)) is not None}
    return Result(case, answers, time.process_time() - started)


def print_table(results: list[Result]) -> None:
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.case.group].append(result)
        groups[result.case.group.partition(" ")[0] + " (all)"].append(result)
    print(f"{'group':44} {'stop':>5} {'caught':>7} {'missed':>7} {'pass':>6} {'blocks':>7} {'asks':>6}")
    for name, group in sorted(groups.items()):
        stop = [one for one in group if one.case.should_object]
        passed = [one for one in group if not one.case.should_object]
        caught = sum(bool(one.decision) for one in stop)
        blocks, asks = (sum(one.decision == word for one in passed) for word in ("block", "ask"))
        share = f" {caught / len(stop):6.1%} caught" if stop else ""
        share += f" {(blocks + asks) / len(passed):6.2%} false alarms" if passed else ""
        print(f"{name:44} {len(stop):5} {caught:7} {len(stop) - caught:7} {len(passed):6} {blocks:7} {asks:6}{share}")


def count_contradictions(results: list[Result]) -> dict[str, int]:
    """Count what the corpora want passed although one of them wants commands of the same kind stopped."""
    judged = [one for one in results if one.case.group != _EVERYDAY]
    stopped = {_find_case_kind(one.case) for one in judged if one.case.should_object}
    passed = [one for one in judged if not one.case.should_object]
    contradicted = [one for one in passed if is_contradicted(_find_case_kind(one.case), stopped)]
    counts = {"pass": len(passed), "contradicted pass": len(contradicted)}
    alarms = {"alarms": passed, "contradicted alarms": contradicted}
    return counts | {name: sum(bool(one.decision) for one in some) for name, some in alarms.items()}


def _find_case_kind(case: Case) -> CommandKind:
    return find_kind(case.tool_input.get("command", ""), case.work_dir)


def print_contradictions(counts: dict[str, int]) -> None:
    alarms, excused = counts["alarms"], counts["contradicted alarms"]
    if counts["pass"]:
        print(f"false alarms: {alarms} of {counts['pass']} ({alarms / counts['pass']:.2%})")
        rest, left = alarms - excused, counts["pass"] - counts["contradicted pass"]
        print(f"without {excused} whose kind a corpus wants stopped: {rest} of {left} ({rest / left:.2%})")


def print_guards(results: list[Result]) -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        kind = "right" if result.case.should_object else "everyday" if result.case.group == _EVERYDAY else "wrong"
        for name, answer in result.answers.items():
            counts[name][f"{kind} {answer.decision}"] += 1
    columns = [f"{kind} {word}" for kind in ("right", "wrong", "everyday") for word in ("block", "ask")]
    print(f"{'guard':20}" + "".join(f"{column:>16}" for column in columns))
    for name, count in sorted(counts.items()):
        print(f"{name:20}" + "".join(f"{count[column]:16}" for column in columns))


def write_scores(results: list[Result], path: Path) -> None:
    """Write the counts for the page of the pack; nothing of a corpus itself is written."""
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    guards: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        kind = "right" if result.case.should_object else "everyday" if result.case.group == _EVERYDAY else "wrong"
        count = groups[_shorten_group(result.case.group)]
        count["stop" if kind == "right" else "pass"] += 1
        count[f"{kind} {result.decision}"] += bool(result.decision)
        for name, answer in result.answers.items():
            guards[name][f"{kind} {answer.decision}"] += 1
    counts = {"groups": groups, "guards": guards, "contradictions": count_contradictions(results)}
    path.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")


def _shorten_group(group: str) -> str:
    """Return a group without its last part, as `nah fs` for `nah fs-home`, so that a table stays short."""
    source, _, name = group.partition(" ")
    return f"{source} {name.partition(':')[0].partition('.')[0].partition('-')[0]}".strip()


def print_times(results: list[Result]) -> None:
    times = sorted(result.seconds * 1000 for result in results if result.case.group == _EVERYDAY)
    if times:
        middle, late = times[len(times) // 2], times[int(len(times) * 0.99)]
        print(
            f"processor time of all guards on everyday commands: p50 {middle:.2f} ms, p99 {late:.2f} ms, most {times[-1]:.1f} ms"
        )


def print_shown(results: list[Result], shown: str) -> None:
    for result in results:
        is_miss = result.case.should_object and not result.decision
        is_alarm = not result.case.should_object and result.decision
        if (shown in ("misses", "all") and is_miss) or (shown in ("alarms", "all") and is_alarm):
            names = ",".join(f"{name}:{answer.decision}" for name, answer in result.answers.items())
            command = result.case.tool_input.get("command") or json.dumps(result.case.tool_input)
            print(f"{'MISS ' if is_miss else 'ALARM'} {result.case.group} [{names}] {command}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--pack", type=Path, default=STANDARD_PACK)
    parser.add_argument(
        "--only", default="", help="names of guards, separated by commas; else those that are on by default"
    )
    parser.add_argument("--groups", default="", help="only groups that contain one of these texts")
    parser.add_argument("--clean", action="store_true", help="a project without changes instead of a dirty one")
    parser.add_argument("--show", choices=("misses", "alarms", "all"), default="")
    parser.add_argument("--write", action="store_true", help="write the counts for docs/reference/standard-pack.md")
    arguments = parser.parse_args()
    names = [name for name in arguments.only.split(",") if name] or list_default_hooks(arguments.pack)
    guards = load_guards(arguments.pack, names)
    wanted = [text for text in arguments.groups.split(",") if text]
    with tempfile.TemporaryDirectory(dir=os.path.expanduser("~")) as name:
        make_scratch(Path(name), is_dirty=not arguments.clean)
        cases = [case for path in arguments.corpora for case in read_cases(path)]
        cases = [case for case in cases if not wanted or any(text in case.group for text in wanted)]
        results = [ask_guards(case, guards, Path(name)) for case in cases]
    print_shown(results, arguments.show)
    print_table(results)
    print_guards(results)
    print_contradictions(count_contradictions(results))
    print_times(results)
    if arguments.write:
        write_scores(results, SCORES)


if __name__ == "__main__":
    main()
