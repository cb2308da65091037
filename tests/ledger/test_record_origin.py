"""Where a record is from: the call, the machine, the version, and the set of hooks that could decide."""

from __future__ import annotations

import json
from typing import Any

import boathook
from boathook.assembly import load_catalog
from boathook.core.event import KINDS
from boathook.ledger.reader import LedgerReader, verify_chain
from boathook.ledger.schema import check_record
from boathook.ledger.writer import Recorder
from boathook.permits.unlock import write_unlock
from boathook.system.machine_id import find_machine_id
from boathook.version import __version__
from tests.page.made_ledger import make_record, write_records
from tests.scratch_project import CALL, ScratchProject, make_project


def read_records(project: ScratchProject) -> list[dict[str, Any]]:
    return list(LedgerReader(str(project.state)).read())


def find_set(project: ScratchProject) -> str:
    """Return the set of hooks as the engine computes it."""
    return load_catalog(project.path, config=project.config, state=project.state).hook_set


def test_a_record_has_the_call_the_machine_the_version_and_the_set_of_hooks(project: ScratchProject) -> None:
    project.write_hook("guard", "exit 2")
    event = {**CALL, "tool_use_id": "toolu_1"}
    for way in ("in process", "by command", "by command"):
        project.dispatch(way, event)
    machine = find_machine_id(str(project.state))
    expected = ("toolu_1", machine, __version__, find_set(project))
    found = [
        tuple(one[key] for key in ("tool_use_id", "machine", "boathook", "hook_set")) for one in read_records(project)
    ]
    assert (len(machine), found) == (32, [expected] * 3)
    assert verify_chain(str(project.state)).is_good
    [shown, *_] = [json.loads(line) for line in project.run("log", "--json").stdout.splitlines()]
    assert (shown["tool_use_id"], shown["machine"], shown["boathook"]) == expected[:3]
    story = project.run("why").stdout
    assert "call toolu_1" in story
    assert f"recorded by boathook {__version__}, on machine {machine}, with the set of hooks {expected[3]}" in story


def test_every_host_that_names_its_calls_is_recorded_with_the_name(project: ScratchProject) -> None:
    project.write_hook("guard", "exit 2")
    call = {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "cwd": str(project.path),
    }
    for host, fields in (
        ("claude", {**call, "tool_use_id": "toolu_1"}),
        ("kimi-code", {**call, "tool_call_id": "call_2"}),
        ("cline", {"hookName": "tool_call", "workspaceRoots": [str(project.path)],
            "tool_call": {"id": "call_3", "name": "run_commands", "input": {"commands": ["ls"]}}}),
        ("gemini", {**call, "hook_event_name": "BeforeTool", "tool_name": "run_shell_command"}),
    ):  # fmt: skip
        project.run("run", "--host", host, stdin=json.dumps(fields))
    found = [(one["host"], one.get("tool_use_id")) for one in read_records(project)]
    assert found == [("claude", "toolu_1"), ("kimi-code", "call_2"), ("cline", "call_3"), ("gemini", None)]


def test_a_call_that_is_not_named_by_a_text_is_recorded_without_a_name(project: ScratchProject) -> None:
    project.write_hook("guard", "exit 2")
    for value in (None, 7, {"a": 1}, "", "x" * 5000):
        project.dispatch("in process", {**CALL, "tool_use_id": value})
    *others, long = [one.get("tool_use_id") for one in read_records(project)]
    assert others == [None] * 4
    assert long.startswith("x" * 512 + "…")


def test_the_set_of_hooks_is_the_same_on_another_machine_and_changes_with_a_hook(tmp_path) -> None:
    sets = {}
    for name in ("one", "two"):
        project = make_project(tmp_path / name)
        project.write_hook("guard", "exit 2", fields={"matcher": "{tool: Shell}"})
        sets[name] = find_set(project)
    assert (len(sets["one"]), sets["one"]) == (32, sets["two"])
    project.write_hook("guard", "exit 2", fields={"matcher": "{tool: Write}"})
    sets["other matcher"] = find_set(project)
    project.write_hook("guard", "exit 2", fields={"matcher": "{tool: Write}", "ask": "strong"})
    sets["other check"] = find_set(project)
    project.write_hook("more")
    sets["two hooks"] = find_set(project)
    project.write_hooks_toml("user", '[[hooks.disable]]\nname = "more"\n')
    assert find_set(project) == sets["other check"]
    assert len(set(sets.values())) == 4


def test_an_event_that_is_refused_before_hooks_are_known_names_the_machine_and_the_version(
    project: ScratchProject,
) -> None:
    assert Recorder(str(project.state), {"host": "claude", "project": ""}).write_refusal(KINDS[6], "not JSON") == ""
    [record] = read_records(project)
    assert (record["machine"], record["boathook"]) == (find_machine_id(str(project.state)), __version__)
    assert "hook_set" not in record


def test_the_end_of_an_async_hook_and_a_pause_name_where_they_are_from(project: ScratchProject) -> None:
    project.write_hook("later", fields={"async": True})
    with boathook.load(project.path) as engine:
        engine.dispatch(CALL)
    write_unlock(str(project.state), 60)
    start, end, pause = sorted(read_records(project), key=lambda one: ("dispatch", "end", "unlock").index(one["type"]))
    assert (start["machine"], start["hook_set"]) == (end["machine"], end["hook_set"])
    assert (pause["machine"], pause["boathook"]) == (start["machine"], __version__)


def test_records_without_these_fields_are_read_and_shown_as_before(project: ScratchProject) -> None:
    write_records(project.state, [make_record(9)])
    assert check_record(make_record(9)) == make_record(9)
    done = project.run("why", make_record(9)["id"])
    assert (done.returncode, "recorded by" in done.stdout) == (0, False)
    assert json.loads(project.run("log", "--json").stdout)["id"] == make_record(9)["id"]
