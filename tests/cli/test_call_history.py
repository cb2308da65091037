"""What the ledger says about hooks: how often each ran in its project, and on how many recorded events it could have."""

from __future__ import annotations

import json
import time
from datetime import datetime

import pytest

from boathook.assembly import load_catalog
from boathook.cli import call_history
from boathook.cli.call_history import CallHistory, HookRuns, describe_failures, describe_runs
from boathook.cli.show import pick_fields
from boathook.core.event import find_kind
from boathook.ledger.writer import make_timestamp
from tests.scratch_project import CALL, make_project, make_settings

DAY = 86_400
KINDS = [find_kind("pre-tool-call"), find_kind("pre-session")]


def _record(here, *runs, command="ls", days=0.0, **fields):
    about = {"type": "dispatch", "host": "claude", "project": str(here.path), "event": "pre-tool-call"}
    hooks = [{"hook": hook.name, "path": hook.path, "status": status} for hook, status in runs]
    when = make_timestamp(time.time() - days * DAY)
    return {**about, "time": when, "tool": "Shell", "input": {"command": command}, "hooks": hooks, **fields}


@pytest.fixture
def load(project, monkeypatch):
    """Return the hooks of the project by their names; their files were changed 40 days ago."""
    monkeypatch.setattr(call_history, "find_file_change", lambda _: time.time() - 40 * DAY)
    for name, value in project.variables.items():
        monkeypatch.setenv(name, value)

    def load_hooks(records):
        hooks = {hook.name: hook for hook in load_catalog(project.path, trust_all=True).hooks}
        return hooks, CallHistory(records(hooks), (str(project.path),), KINDS)

    return load_hooks


def test_runs_are_counted_by_hook_and_file_and_events_by_project(project, tmp_path, load):
    """A hook of the same name in another project is another hook (first-use audit, F28)."""
    other = make_project(tmp_path / "other")
    project.write_hook("guard", scope="project")
    project.write_hook("mine")

    def make_records(hooks):
        theirs = hooks["guard"].replace(path=str(other.path / ".agents/hooks/guard/HOOK.md"))
        yield _record(other, (theirs, "ok"), (hooks["mine"], "failed"), days=35)
        yield _record(project, (hooks["mine"], "ok"), days=30.5)
        yield _record(project, (hooks["mine"], "ok"), days=1)
        # What was recorded before the hook was written says nothing about it, and neither does what doctor did.
        yield _record(project, days=50)
        yield _record(project, session="boathookdoctor", tool="boathookdoctor", input={})

    hooks, history = load(make_records)
    counts = {
        name: pick_fields(history.count_runs_of(hook), "runs", "failures", "events", "days")
        for name, hook in hooks.items()
    }
    assert counts == {
        "guard": {"runs": 0, "failures": 0, "events": 2, "days": 30},
        "mine": {"runs": 3, "failures": 1, "events": 3, "days": 35},
    }


def test_a_hook_that_once_ran_well_fails_if_its_last_runs_did(project, load):
    project.write_hook("mine")

    def make_records(hooks):
        mine = hooks["mine"]
        for days, status in ((50, "failed"), (20, "ok"), (30, "ok"), (19, "failed"), (12, "failed"), (14, "timeout")):
            yield _record(project, (mine, status), days=days)

    hooks, history = load(make_records)
    runs = history.count_runs_of(hooks["mine"])
    # The run before the file was written says nothing about it; records come in any order.
    assert (runs.runs, runs.failures, runs.all_runs, runs.failures_in_a_row, runs.is_failing) == (5, 3, 6, 3, False)
    assert runs.failing_since == history.count_runs_of(hooks["mine"], "claude").failing_since
    assert datetime.fromisoformat(runs.failing_since).timestamp() == pytest.approx(time.time() - 19 * DAY, abs=600)
    for days in (1, 2):
        history.add(_record(project, (hooks["mine"], "failed"), days=days, host="codex"))
    text = "it failed in each of its last 5 runs (5 of 7 failed)"
    assert describe_failures(history.count_runs_of(hooks["mine"])) == text
    assert history.count_runs_of(hooks["mine"], "codex").runs == 2
    history.add(_record(project, (hooks["mine"], "ok")))
    assert not history.count_runs_of(hooks["mine"]).is_failing


def test_the_ends_of_async_hooks_count_as_runs(project, load):
    for scope, name in (("project", "theirs"), ("user", "mine")):
        project.write_hook(name, scope=scope, fields={"async": True})

    now = make_timestamp(time.time())

    def make_records(_hooks):
        for name in ("theirs", "mine"):
            for place in (project.path, "/elsewhere"):
                yield {
                    "type": "end",
                    "hook": name,
                    "project": str(place),
                    "event": "pre-tool-call",
                    "status": "ok",
                    "time": now,
                }

    hooks, history = load(make_records)
    assert {name: history.count_runs_of(hook).runs for name, hook in hooks.items()} == {"theirs": 1, "mine": 2}


TEXTS = {
    HookRuns(1, 0, 5, 3): "",
    HookRuns(0, 0, 4102, 30): "0 of 4,102 recorded pre-tool-call events in 30 days",
    HookRuns(0, 0, 7, 1): "0 of 7 recorded pre-tool-call events in 1 day",
    HookRuns(0, 0, 7, 0): "0 of 7 recorded pre-tool-call events in less than a day",
    HookRuns(0, 0, 0, 0): "no pre-tool-call event was recorded since it was last changed",
}


def test_a_hook_that_never_ran_is_described(project, load):
    project.write_hook("guard")
    hooks, _ = load(lambda _hooks: ())
    assert {runs: describe_runs(hooks["guard"], runs) for runs in TEXTS} == TEXTS


def test_a_pattern_that_matches_no_call_is_described_with_the_nearest_one(project, load):
    patterns = {"far": "zzzzzzzz", "near": "git push -f", "right": "git push", "none": None}
    for name, pattern in patterns.items():
        matcher = f"{{tool: Shell, pattern: '{pattern}'}}" if pattern else "{tool: Shell}"
        project.write_hook(name, scope="project", fields={"matcher": matcher})

    def make_records(hooks):
        yield _record(project, command="git push --force origin main")
        yield _record(project, command="make test")
        yield _record(project, tool="ReadFile", input={"file_path": "git push -f"})
        yield _record(project, command="git push -f", project="/elsewhere")

    hooks, history = load(make_records)
    start = "0 of the last 2 Shell calls in your ledger match"
    assert {name: history.describe_unmatched_calls(hook) for name, hook in hooks.items()} == {
        "far": f"{start} 'zzzzzzzz'",
        "near": f"{start} 'git push -f'; the nearest one: git push --force origin main",
        "right": "",
        "none": "",
    }


def test_doctor_lists_what_never_ran_and_explains_what_is_recorded(project):
    project.write_hook("guard", "exit 2", fields={"matcher": "{tool: Shell, pattern: 'never'}"})
    project.write_hook("busy")
    # The agent runs this one itself, so the ledger cannot know (F10).
    project.write_settings("user", make_settings("exit 0"))
    for _ in range(2):
        assert project.run("run", "--without", "settings", stdin=json.dumps(CALL)).returncode == 0
    printed = project.run("doctor").stdout
    assert "never ran: guard (0 of 2 recorded pre-tool-call events in less than a day)\n" in printed
    assert "the ledger has an event only if some hook ran on it" in printed
    rows = {row["hook"]: row["ledger"] for row in json.loads(project.run("doctor", "--json").stdout)["hooks"]}
    entry = next(name for name in rows if name.startswith("PreToolUse:"))
    assert (rows["busy"]["runs"], rows["guard"]["runs"], rows[entry]) == (2, 0, None)


def test_doctor_knows_that_an_agent_runs_the_hooks_of_its_own_file(project):
    project.write_settings("user", make_settings("exit 0"))
    (note,) = [row for row in json.loads(project.run("doctor", "--json").stdout)["setup"] if row["subject"] == "agents"]
    own = "except those in the files of Claude Code, which it runs itself"
    assert (note["level"], note["text"]) == ("note", f"no agent calls boathook here, so none asks your hooks, {own}")
    assert "boathook setup" in note["fix"]


def test_a_command_whose_every_event_would_run_hooks_is_not_run(project):
    assert project.run("install", "windsurf", "--yes").returncode == 0
    events = (
        "pre-tool-call",
        "post-tool-call",
        "pre-agent-turn",
        "pre-agent-turn-stop",
        "post-agent-turn",
        "pre-session",
    )
    for number, event in enumerate(events):
        project.write_hook(f"all-{number}", f"touch {project.base}/fired-{event}", fields={"trigger": event})
    found = json.loads(project.run("doctor", "--json").stdout)["setup"]
    (row,) = [row for row in found if row["subject"] == "installed in windsurf"]
    assert (row["level"], row["fix"]) == ("note", "boathook doctor --for-real")
    assert not [*project.base.glob("fired-*")]
