"""`make e2e`: installs the pinned agents, runs each with and without hooks, and says what was seen.

Any behaviour that was not seen though it is possible makes the exit code 1, and so does an agent that cannot be installed,
and anything that is otherwise than in results.json.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from boathook.hosts.host import load_host
from e2e.ask_judge import judge_questions
from e2e.asked_calls import ASKS, BACKGROUND_CALLS, list_sessions
from e2e.guard_judge import judge_guards
from e2e.guards import WITHOUT, sessions, variant_of
from e2e.hosts import AGENTS, Agent
from e2e.install import Cache, InstallError, NotPossible, cache
from e2e.judge import BEHAVIOURS, FAILED, IMPOSSIBLE, SEEN, Result, judge, to_json
from e2e.matrix import Row, matrix_page, tables
from e2e.scenes import SCENES
from e2e.stage import CONTROL, HOOKED, PROJECT, Observation

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS, PAGE = HERE / "results.json", ROOT / "docs/reference/matrix.md"
NO_NAMESPACE = "BOATHOOK_E2E_NO_NETNS"
KEEP = "BOATHOOK_E2E_KEEP"
AT_A_TIME = 2
VARIANTS = {"claude": (HOOKED, PROJECT)}
NOT_HERE = f"{IMPOSSIBLE} here"


def main() -> int:
    """Do it all; give the exit code."""
    given = _arguments()
    agents = _chosen(given.host, given.all)
    try:
        fence = _fence()
    except InstallError as error:
        return _loudly(str(error))
    started, store = time.monotonic(), cache()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        found = [row for rows in pool.map(partial(_try, store=store, fence=fence), agents) for row in rows]
    rows = sorted(found, key=lambda row: [one.name for one in AGENTS].index(row["host"]))
    for shown in tables(rows):
        _say(f"\n{shown}")
    _say(f"\n{time.monotonic() - started:.0f} s in all")
    return _conclude(rows, write=given.write)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="the second set of agents, too")
    parser.add_argument(
        "--host", action="append", default=[], choices=[one.name for one in AGENTS], help="only this one"
    )
    parser.add_argument("--write", action="store_true", help="write results.json and the page")
    return parser.parse_args()


def _chosen(names: list[str], every: bool) -> list[Agent]:  # noqa: FBT001
    """Give the agents to run, those that take longest first."""
    if names:
        return [one for one in AGENTS if one.name in names]
    return sorted((one for one in AGENTS if every or one.in_first_set), key=lambda one: one.in_first_set)


def _fence() -> list[str]:
    """Give the command that starts another in an empty network namespace; nothing if that is not wanted."""
    if os.environ.get(NO_NAMESPACE) == "1":
        _loudly(f"{NO_NAMESPACE} is set: the agents are NOT cut off from the network, only told to use loopback")
        return []
    for option in ("-n", "-rn"):
        command = ["unshare", option]
        try:
            if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
                return command
        except OSError:
            break
    raise InstallError(f"no network namespace can be made here (unshare -n, -rn); {NO_NAMESPACE}=1 goes without")


def _try(who: Agent, store: Cache, fence: list[str]) -> list[Row]:
    """Install and run one agent; whatever goes wrong becomes a failed row."""
    variants = VARIANTS.get(who.name, (HOOKED,))
    try:
        began = time.monotonic()
        new = [name for name in who.packages if store.install(name)]
        if new:
            _say(f"{who.name}: installed {', '.join(map(store.spelled, new))} in {time.monotonic() - began:.0f} s")
        control = _run(who, CONTROL, fence)
        rows = [_row(who, variant, _run(who, variant, fence), control) for variant in variants]
        rows += [_scene(who, name, _run(who, name, fence)) for name, scene in SCENES.items() if scene.host == who.name]
        rows += [_ask_row(who, fence)] if who.name in BACKGROUND_CALLS else []
        return rows + [_guard_row(who, model, fence) for model in who.models]
    except NotPossible as error:
        _loudly(f"{who.name}: {NOT_HERE}: {error}")
        return [_empty(who, NOT_HERE, str(error))]
    except InstallError as error:
        _say(f"{who.name}: could not be installed")
        return [_empty(who, FAILED, str(error))]


def _run(who: Agent, variant: str, fence: list[str]) -> Observation:
    with tempfile.TemporaryDirectory(prefix="boathook-e2e-") as folder:
        out = Path(os.environ.get(KEEP) or folder) / f"{who.name}-{variant}.json"
        command = [
            *fence,
            sys.executable,
            "-m",
            "e2e.stage",
            who.name,
            variant,
            str(out),
            *([] if fence else ["--open"]),
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            return Observation(who.name, variant, error=done.stderr.strip()[-2000:] or f"exit code {done.returncode}")
        return Observation.of(json.loads(out.read_text()))


def _row(who: Agent, variant: str, hooked: Observation, control: Observation) -> Row:
    return _told(who, variant, [hooked], judge(hooked, control, load_host(who.name)))


def _guard_row(who: Agent, model: str, fence: list[str]) -> Row:
    """Run an agent with guards and without, and say what they held against."""
    runs = {name: _run(who, name, fence) for name, one in sessions(who).items() if one.model == model}
    guarded = [seen for name, seen in runs.items() if not name.endswith(WITHOUT)]
    return _told(who, variant_of(model), guarded, judge_guards(who, model, runs))


def _ask_row(who: Agent, fence: list[str]) -> Row:
    """Run an agent with a hook that asks, and say whether a person's answers counted. These runs wait most of the time."""
    names = list_sessions(who)
    with ThreadPoolExecutor() as pool:
        runs = dict(zip(names, pool.map(lambda name: _run(who, name, fence), names), strict=True))
    return _told(who, ASKS, [*runs.values()], judge_questions(runs, load_host(who.name)))


def _told(who: Agent, variant: str, seen: list[Observation], results: dict[str, Result]) -> Row:
    """Give the row of a variant, and print it."""
    _say(f"{who.name} ({variant}): " + ", ".join(f"{name} {one.state}" for name, one in results.items()))
    row: Row = {"host": who.name, "title": load_host(who.name).title, "variant": variant}
    row |= {"version": seen[0].version or "?", "seconds": round(sum(one.seconds for one in seen), 2)}
    return {**row, "results": to_json(results)}


def _scene(who: Agent, name: str, seen: Observation) -> Row:
    scene = SCENES[name]
    wrong = [seen.error] if seen.error else list(scene.complaints(seen))
    result = {"state": FAILED if wrong else SEEN, "note": "; ".join(wrong)}
    _say(f"{who.name}: {scene.title}: {result['state']}")
    row: Row = {"host": who.name, "title": load_host(who.name).title, "variant": name, "version": seen.version or "?"}
    return {**row, "seconds": seen.seconds, "results": {scene.title: result}}


def _empty(who: Agent, state: str, why: str) -> Row:
    results = {name: {"state": state, "note": why} for name in BEHAVIOURS}
    row = {"host": who.name, "title": load_host(who.name).title, "variant": HOOKED, "version": "–"}
    return {**row, "seconds": 0.0, "results": results}


def _conclude(rows: list[Row], *, write: bool) -> int:
    """Tell what failed and what is otherwise than written; write it if that is wanted."""
    failed = list(_failures(rows))
    for text in failed:
        _loudly(text)
    if failed and not os.environ.get(KEEP):
        _say(f"{KEEP}=FOLDER keeps all that was observed")
    changed = _changed(rows)
    if write and not failed:
        _write(rows)
    elif changed:
        _loudly("otherwise than in e2e/results.json: " + ", ".join(dict.fromkeys(changed)) + " (WRITE=1 writes it)")
    return 1 if failed or (changed and not write) else 0


def _failures(rows: list[Row]) -> Iterator[str]:
    """Give a text for everything that failed, one for all behaviours that failed for the same reason."""
    for row in rows:
        notes: dict[str, list[str]] = {}
        for name, one in row["results"].items():
            if one["state"] == FAILED:
                notes.setdefault(one["note"], []).append(name)
        yield from (
            f"{row['host']} ({row['variant']}): {', '.join(names)} FAILED: {note}" for note, names in notes.items()
        )


def _written() -> dict[tuple[str, str], Row]:
    rows = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    return {(row["host"], row["variant"]): row for row in rows}


def _states(row: Row) -> dict[str, Any]:
    return {name: one["state"] for name, one in row["results"].items()} | {"version": row["version"]}


def _is_here(row: Row) -> bool:
    return all(one["state"] != NOT_HERE for one in row["results"].values())


def _changed(rows: list[Row]) -> list[str]:
    """Give the rows that are not as they were written."""
    written = _written()
    found = [row for row in rows if _is_here(row) and (row["host"], row["variant"]) in written]
    return [row["host"] for row in found if _states(row) != _states(written[row["host"], row["variant"]])]


def _write(rows: list[Row]) -> None:
    kept = _written() | {(row["host"], row["variant"]): row for row in rows if _is_here(row)}
    order = [one.name for one in AGENTS]
    results = {"rows": sorted(kept.values(), key=lambda row: (order.index(row["host"]), row["variant"]))}
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    PAGE.write_text(matrix_page(results))
    _say(f"wrote {RESULTS.relative_to(ROOT)} and {PAGE.relative_to(ROOT)}")


def _say(text: str) -> None:
    print(text, flush=True)


def _loudly(text: str) -> int:
    print(f"\n!!! {text}\n", file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
