"""What the page says about a hook has its evidence: runs that failed, or that there was none."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from boathook.ledger.writer import make_timestamp
from boathook.page.needs import FAILING, SILENT, list_needs
from boathook.page.now_screen import list_agents
from tests.page.made_ledger import make_record, write_records
from tests.page.recorded_calls import call
from tests.page.served import ServedPage, serve_context
from tests.scratch_project import ScratchProject


def test_a_guard_that_fails_in_every_run_is_not_shown_as_active(project: ScratchProject) -> None:
    project.write_hook("failing", "exit 3", fields={"matcher": "{tool: Shell, pattern: pwd}"})
    project.write_hook("sometimes", "grep -q bad && exit 3; exit 0", fields={"matcher": "{tool: Shell}"})
    project.run("install", "claude", "--yes")
    for command in ("pwd", "pwd bad", "pwd"):
        call(project, command)
    with serve_context() as page:
        rows = {row["hook"]: row for row in page.send("/data/export/guards.json").fields if row["agent"] == "claude"}
        html = page.show("guards").html
        states = [page.show("hook", name=name).html for name in ("failing", "sometimes")]
    assert [rows["failing"][key] for key in ("state", "fired", "failed")] == ["fails", 3, 3]
    assert [rows["sometimes"][key] for key in ("state", "fired", "failed")] == ["active", 3, 1]
    assert '<span class="state fails">fails (3 of 3)</span>' in html
    assert '<dt>state</dt><dd><span class="state fails">fails (3 of 3)</span></dd>' in states[0]
    assert "<dt>state</dt><dd>armed, 1 of 3 runs failed</dd>" in states[1]
    assert '<span class="note">1 of 3 runs failed, last ' in html


def show_guard(page: ServedPage, name: str) -> dict[str, Any]:
    rows = page.send("/data/export/guards.json").fields
    return next(row for row in rows if (row["hook"], row["agent"]) == (name, "claude"))


def test_a_guard_that_fails_since_it_once_ran_well_is_shown_as_failing(project: ScratchProject) -> None:
    project.write_hook("dying", "test -e ok || exit 3; exit 0", fields={"matcher": "{tool: Shell}"})
    project.run("install", "claude", "--yes")
    (project.path / "ok").write_text("")
    call(project, "pwd")
    (project.path / "ok").unlink()
    for _ in range(5):
        call(project, "pwd")
    with serve_context() as page:
        found, html = show_guard(page, "dying"), page.show("guards").html
        [need] = list_needs(page.context)
        rows = [row.time for row in page.context.index.list_rows()]
    assert [found[key] for key in ("state", "fired", "failed")] == ["fails", 6, 5]
    assert ">fails (5 of 6)<" in html
    assert need.text.startswith("It failed in each of its last 5 runs (5 of 6 failed). The last reason: exit code 3")
    # The first of the failed runs: five are newer than the good one.
    assert (need.since, need.since_word) == (rows[4], "since")


def test_a_run_before_a_guard_was_changed_does_not_count_for_it(project: ScratchProject) -> None:
    project.run("install", "claude", "--yes")
    project.write_hook("guard", "exit 0", fields={"matcher": "{tool: Shell, pattern: force}"})
    call(project, "git push --force")
    path = project.config / "hooks/guard/HOOK.md"
    later = time.time() + 2
    path.write_text(path.read_text().replace("force", "forcee"))
    os.utime(path, (later, later))
    with serve_context() as page:
        found, html = show_guard(page, "guard"), page.show("guards").html
    assert [found[key] for key in ("state", "fired", "fired_before")] == ["active", 0, 1]
    assert "active, no run since it was changed" in html
    assert "1 run before it was changed, last " in html


def test_a_run_before_its_script_was_replaced_does_not_count_for_a_guard(project: ScratchProject) -> None:
    project.run("install", "claude", "--yes")
    project.write_hook("guard", "exit 0", fields={"matcher": "{tool: Shell}"})
    call(project, "pwd")
    folder = project.config / "hooks/guard"
    later = time.time() + 2
    script = next((folder / "scripts").iterdir())
    script.write_text("#!/bin/sh\n# It does nothing.\n")
    os.utime(script, (later, later))
    with serve_context() as page:
        found = show_guard(page, "guard")
    assert [found[key] for key in ("fired", "fired_before")] == [0, 1]


def test_a_run_before_a_file_below_its_script_was_edited_does_not_count_for_a_guard(project: ScratchProject) -> None:
    project.run("install", "claude", "--yes")
    folder = project.write_hook("guard", "exit 0", fields={"matcher": "{tool: Shell}"}) / "scripts"
    for name in ("lib/words.txt", "lib/__pycache__/words.pyc"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("before")
    call(project, "pwd")
    later = time.time() + 2
    with serve_context() as page:
        # What an interpreter writes while the hook runs is no edit.
        (folder / "lib/__pycache__/more.pyc").write_text("made")
        (folder / "lib/__pycache__/words.pyc").write_text("made")
        os.utime(folder / "lib/__pycache__/words.pyc", (later, later))
        assert [show_guard(page, "guard")[key] for key in ("fired", "fired_before")] == [1, 0]
        (folder / "lib/words.txt").write_text("after")
        os.utime(folder / "lib/words.txt", (later, later))
        assert [show_guard(page, "guard")[key] for key in ("fired", "fired_before")] == [0, 1]


def test_a_guard_that_was_replaced_by_an_older_file_has_no_run(project: ScratchProject) -> None:
    project.run("install", "claude", "--yes")
    project.write_hook("guard", "exit 0", fields={"matcher": "{tool: Shell}"})
    call(project, "pwd")
    path = project.config / "hooks/guard/HOOK.md"
    with serve_context() as page:
        # As `cp -p` and `tar` do it; a moment later, because the kernel counts in steps.
        time.sleep(0.05)
        path.write_text(path.read_text().replace("Shell", "Shell, pattern: force"))
        os.utime(path, (1, 1))
        found = show_guard(page, "guard")
    assert [found[key] for key in ("fired", "fired_before")] == [0, 1]


def test_a_run_of_another_hook_of_the_same_name_does_not_count(project: ScratchProject, tmp_path: Path) -> None:
    project.run("install", "claude", "--yes")
    own = {"hook": "careful", "path": str(project.config / "hooks/careful/HOOK.md")}
    project.write_hook("careful", "exit 0", fields={"matcher": "{tool: Shell, pattern: nothing-like-this}"})
    run = make_record()["hooks"][0]
    records = [
        make_record(at, host="claude", hooks=[{**run, "hook": "careful", "status": "failed"}]) for at in range(3)
    ]
    write_records(project.state, records)
    with serve_context() as page:
        found = show_guard(page, "careful")
        rows = {row["path"]: row["runs"] for row in page.send("/data/export/hooks.json").fields}
        text, other = page.show("hook", name="careful").text, page.show("hook", name="careful", path=run["path"]).text
    assert [found[key] for key in ("state", "fired", "failed", "fired_before")] == ["active", 0, 0, 0]
    assert rows == {own["path"]: 0, run["path"]: 3}
    assert "It has not run in any record here" in text
    assert "It is not among the hooks" in other
    assert re.search(r"runs\s+3", other)


def test_a_guard_is_not_active_in_an_agent_that_no_longer_calls_boathook(project: ScratchProject) -> None:
    project.write_hook("guard", "exit 0", fields={"matcher": "{tool: Shell}"})
    project.run("install", "claude", "--yes")
    call(project, "pwd")
    settings = project.claude_folder / "settings.json"
    installed = json.loads(settings.read_text())
    others = {event: entries for event, entries in installed["hooks"].items() if event != "PreToolUse"}
    changes = {
        "no entries": ({**installed, "hooks": {}}, "not called", "no agent calls it"),
        "turned off": ({**installed, "disableAllHooks": True}, "not called", "no agent calls it"),
        "no entry for its event": ({**installed, "hooks": others}, "altered", "armed"),
        "as installed": (installed, "active", "armed"),
    }
    for title, (content, state, own_state) in changes.items():
        settings.write_text(json.dumps(content))
        with serve_context() as page:
            rows = [row for row in page.send("/data/export/guards.json").fields if row["agent"] == "claude"]
            text = page.show("hook", name="guard").text
        # Our own entries are not listed as hooks, even if they are turned off.
        assert [(row["hook"], row["state"]) for row in rows] == [("guard", state)], title
        assert own_state in text, title
        assert ("boathook install claude" in rows[0]["why"]) == (title.startswith("no ")), title
    settings.unlink()
    with serve_context() as page:
        assert show_guard(page, "guard")["state"] == "not called"


def test_what_doctor_tried_is_not_an_event_of_an_agent(project: ScratchProject) -> None:
    # Otherwise an event without a hook is not recorded.
    project.config.mkdir(parents=True, exist_ok=True)
    (project.config / "hooks.toml").write_text('[hooks]\nrecord = "whole"\n')
    project.run("install", "codex", "--yes")
    project.run("doctor")
    listed = [json.loads(line) for line in project.run("log", "--json").stdout.splitlines()]
    assert "boathookdoctor" in {record.get("session") for record in listed}
    assert "boathookdoctor" not in project.run("log").stdout
    assert "boathookdoctor" in project.run("log", "--all").stdout
    with serve_context() as page:
        assert {agent["last"] for agent in list_agents(page.context)} == {""}
        assert [*page.context.index.list_rows()] == []


def test_a_guard_without_a_run_is_not_shown_as_if_it_were_proven(project: ScratchProject) -> None:
    project.write_hook("quiet", "exit 0", fields={"matcher": "{tool: Shell, pattern: nothing-like-this}"})
    project.run("install", "claude", "--yes")
    with serve_context() as page:
        html = page.show("guards").html
    cells = re.findall(r'<span class="state (\w+)"[^>]*>([^<]*)<', html)
    assert ("unproven", "active, no run recorded") in cells
    assert "active" not in dict(cells)


def test_a_guard_that_fails_in_one_agent_only_needs_a_person(project: ScratchProject) -> None:
    project.run("install", "claude", "--yes")
    project.write_hook("guard", "exit 0", fields={"matcher": "{tool: Shell}"})
    run = {**make_record()["hooks"][0], "hook": "guard", "path": str(project.config / "hooks/guard/HOOK.md")}
    after = time.time() + 5
    agents = [("claude", "ok"), ("codex", "failed"), ("claude", "ok")] * 20
    records = [
        make_record(at, host=host, time=make_timestamp(after + at), hooks=[{**run, "status": status}])
        for at, (host, status) in enumerate(agents)
    ]
    write_records(project.state, records)
    with serve_context() as page:
        [need] = [need for need in list_needs(page.context) if need.kind == FAILING]
        screen = page.show("hook", name="guard").text
    assert need.text.startswith("It failed in every recorded run in Codex CLI (20 runs)")
    assert "fails in Codex CLI (20 of 20)" in screen


PROGRAM = """
import json, sys
import boathook
from boathook import Hooks

hooks = Hooks()
hooks.load()

@hooks.guard(name="my_tool")
def my_tool(command: str) -> str:
    return command

for number in range(3):
    my_tool("ls")
"""


def run_program(project: ScratchProject) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=project.path, env=project.environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_runs_for_a_program_in_python_show_that_a_guard_is_asked(project: ScratchProject) -> None:
    # No agent has this tool.
    project.write_hook("guard", "exit 0", fields={"matcher": "{tool: my_tool}"})
    project.write_hook("other", "exit 0", fields={"matcher": "{tool: your_tool}"})
    project.run("install", "codex", "--yes")
    run_program(project)
    with serve_context() as page:
        needs = {need.hook for need in list_needs(page.context) if need.kind == SILENT}
        cells = {(row["hook"], row["agent"]): row for row in page.send("/data/export/guards.json").fields}
        heading = page.show("guards").text
        [agent] = [row for row in list_agents(page.context) if row["name"] == "python"]
    assert needs == {"other"}
    assert [cells["guard", "python"][key] for key in ("state", "fired")] == ["active", 3]
    assert [cells["other", "python"][key] for key in ("state", "fired")] == ["active", 0]
    assert "a program in Python" in heading
    assert (agent["agent"], agent["state"], agent["events"]) == ("a program in Python", "nothing to install", 3)
    shown = {row["hook"]: row["result"] for row in json.loads(project.run("doctor", "--json").stdout)["hooks"]}
    assert shown == {"guard": "works", "other": "not asked"}
    explained = project.run("explain", "pre-tool-call", "--tool", "my_tool", "--input", "{}").stdout
    assert "never asks hook 'guard'" not in explained


def test_a_program_in_python_is_named_where_no_agent_calls_boathook(project: ScratchProject) -> None:
    project.write_hook("guard", "exit 0", fields={"matcher": "{tool: my_tool}"})

    def read_note() -> str:
        [note] = [
            row for row in json.loads(project.run("doctor", "--json").stdout)["setup"] if row["subject"] == "agents"
        ]
        return note["text"]

    assert read_note() == "no agent calls boathook here, so none asks your hooks"
    run_program(project)
    assert read_note().startswith(
        "no installed agent calls boathook here; hooks run for a program in Python (last event: "
    )
    (project.config / "hooks/guard/HOOK.md").unlink()
    (project.config / "hooks").rename(project.base / "moved")
    with serve_context() as page:
        assert "Nothing is guarded yet" not in {need.title for need in list_needs(page.context)}
        assert "No agent was found here" not in page.show("now").text


def test_the_overview_counts_a_program_in_python_as_a_caller(project: ScratchProject) -> None:
    project.write_hook("guard", "exit 0", fields={"matcher": "{tool: my_tool}"})
    assert "agents      none calls boathook\n" in project.run().stdout
    run_program(project)
    printed = project.run().stdout
    assert "agents      a program in Python\n" in printed
    assert "next: boathook log\n" in printed
