"""The screens, with a ledger that real runs of hooks have written."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from boathook.page.needs import NEED_SOURCES
from boathook.page.request_check import RequestCheck
from boathook.page.screen_rows import SCREENS
from tests.page.made_ledger import make_record, write_records
from tests.page.served import ServedPage, serve_context
from tests.scratch_project import ScratchProject

HOSTILE = "git push --force <img src=x onerror=alert(1)> \x1b[31m \u202e </pre><script>alert(2)</script>"
GUARD = "grep -q -- --force && { echo 'never force' >&2; exit 2; }; exit 0"
REWRITE = """printf '{"modified_input": {"command": "ls -l"}}'"""


def call(project: ScratchProject, command: str, session: str = "s1", event: str = "PreToolUse", **fields: Any) -> None:
    """Let Claude Code call boathook about a shell command."""
    payload = {
        "session_id": session,
        "cwd": str(project.path),
        "hook_event_name": event,
        "tool_name": "Bash",
        "tool_input": {"command": command},
        **fields,
    }
    project.run("run", "--host", "claude", event, stdin=json.dumps(payload))


@pytest.fixture
def machine_with_records(project: ScratchProject) -> ScratchProject:
    project.write_hooks_toml("user", '[hooks]\nrecord = "whole"\n')
    project.write_hook("no-force", GUARD, fields={"matcher": "{tool: Shell, pattern: push}"})
    project.write_hook("lister", REWRITE, fields={"matcher": "{tool: Shell, pattern: '^\\W+command\\W+ls'}"})
    project.write_hook("not-yet", "exit 0", scope="project")
    call(project, "git push --force origin main")
    call(project, "ls")
    call(project, HOSTILE, session="s2")
    return project


@pytest.fixture
def page(machine_with_records: ScratchProject) -> Iterator[ServedPage]:
    with serve_context() as served:
        yield served


def find_id(page: ServedPage, text: str) -> str:
    return next(row.id for row in page.context.index.list_rows() if text in row.input)


def wait_for(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_now_shows_what_needs_a_person_with_the_command_that_helps(page: ServedPage) -> None:
    answer = page.show("now")
    assert answer.fields["waiting"] == 1
    assert "not-yet: new, and not reviewed yet" in answer.text
    assert "boathook trust not-yet" in answer.text
    # The agent, and the evidence.
    assert re.search(r"Claude Code +.* second", answer.text)


def test_now_shows_the_diff_of_a_hook_that_changed_and_that_guards_are_broken_or_fail(
    machine_with_records: ScratchProject,
) -> None:
    project = machine_with_records
    project.trust("not-yet")
    (project.path / ".agents/hooks/not-yet/scripts/run.sh").write_text("#!/bin/sh\nexit 0 # <b>changed</b>\n")
    project.write_hook("no-script", None, scope="user")
    project.write_hook("failing", "exit 3", fields={"matcher": "{tool: Shell, pattern: pwd}"})
    call(project, "pwd")
    with serve_context() as page:
        answer = page.show("now")
    assert "not-yet: changed since you trusted it" in answer.text
    assert "+exit 0 # &lt;b&gt;changed&lt;/b&gt;" in re.sub(r"\s*\|? ?\+ ?", "+", answer.html).replace("+ ", "+")
    assert "no-script does not run" in answer.text
    assert "failing fails" in answer.text
    assert "It failed in every recorded run (1 run)." in answer.text


def test_now_is_empty_if_nothing_needs_a_person(project: ScratchProject) -> None:
    with serve_context() as page:
        answer = page.show("now")
    assert (answer.fields["waiting"], "Nothing needs you" in answer.text) == (0, True)


def test_now_names_agents_that_no_longer_call_boathook(machine_with_records: ScratchProject) -> None:
    project = machine_with_records
    assert project.run("install", "claude", "--yes").returncode == 0
    settings = project.claude_folder / "settings.json"
    settings.write_text(settings.read_text().replace("PreToolUse", "SomethingElse"))
    with serve_context() as page:
        answer = page.show("now")
    assert "Claude Code (user): altered" in answer.text
    assert "boathook install claude" in answer.text
    assert "Its last event: 20" in answer.text


def test_every_source_of_needs_is_a_function_of_the_context(page: ServedPage) -> None:
    # The list is the place for more of them, such as questions that wait.
    assert len([list(find(page.context)) for find in NEED_SOURCES]) >= 7


def test_live_lists_records_the_newest_first_and_takes_filters_from_the_address(page: ServedPage) -> None:
    def list_inputs(**query: str) -> list[str]:
        return re.findall(r'class="cell input">([^<]*)<', page.show("live", **query).html)

    everything = list_inputs()
    assert len(everything) == 3
    assert everything[1:] == ["ls", "git push --force origin main"]
    assert list_inputs(decision="none") == ["ls"]
    assert list_inputs(hook="lister") == ["ls"]
    assert list_inputs(session="s1") == everything[1:]
    assert list_inputs(only="objections") == [everything[0], everything[2]]
    assert list_inputs(q="ORIGIN main") == [everything[2]]
    assert list_inputs(agent="codex") == list_inputs(project="/nowhere") == []
    assert list_inputs(tool="Bash") == everything


def test_hostile_text_of_a_record_is_inert_and_seen_on_every_screen(page: ServedPage) -> None:
    record = find_id(page, "<img")
    for screen, query in (
        ("live", {}),
        ("record", {"id": record}),
        ("session", {"id": "s2"}),
        ("hook", {"name": "no-force"}),
    ):
        answer = page.show(screen, **query)
        assert "<img" not in answer.html
        assert "<script" not in answer.html
        assert "&lt;img src=x onerror=alert(1)&gt; \\x1b[31m \\u202e" in answer.html, screen
    for screen in SCREENS:
        hostile = "<img src=x onerror=alert(3)>"
        keys = ("id", "name", "hook", "project", "session", "q", "agent", "decision", "only", "last", "all")
        html = page.show(screen.path, **dict.fromkeys(keys, hostile)).html
        assert "<img" not in html, screen.path


def test_record_shows_each_hook_what_it_changed_and_the_command_for_a_terminal(page: ServedPage) -> None:
    answer = page.show("record", id=find_id(page, "ls"))
    record = find_id(page, "ls")
    assert f'data-copy="boathook why {record}"' in answer.html
    assert '<span class="removed">-ls\n</span><span class="added">+ls -l\n</span>' in answer.html
    assert "exit code" in answer.text
    assert "1. lister" in re.sub(r"\s+", " ", answer.text)
    blocked = page.show("record", id=find_id(page, "origin")[:8])
    assert "never force" in blocked.text
    assert "no record that is listed here has the id" in page.show("record", id="ffff").text


def test_record_shows_fields_that_newer_records_have(project: ScratchProject) -> None:
    more = {"tool_use_id": "toolu_1", "machine": "m-1", "boathook": "9.9", "hook_set": "abc123"}
    write_records(project.state, [make_record(1, **more)])
    with serve_context() as page:
        text = page.show("record", id=make_record(1)["id"]).text
        rows = page.send("/data/export/live.json").fields
        table = page.send("/data/export/live.csv").body.decode()
        [record] = page.send(f"/data/export/record.json?id={make_record(1)['id']}").fields
        found = (
            page.send("/data/export/live.json?q=toolu_1").fields,
            page.send("/data/export/live.json?q=toolu_2").fields,
        )
    assert all(value in text for value in more.values())
    assert ({key: record[key] for key in more}, [len(one) for one in found]) == (more, [1, 0])
    assert {rows[0][key] for key in ("call", "machine", "boathook", "hook_set")} == {*more.values()}
    assert all(value in table for value in more.values())


def test_two_equal_calls_of_a_session_are_distinguished_by_the_ids_of_the_agent(project: ScratchProject) -> None:
    after = {"event": "post-tool-call", "session": "s"}
    records = [
        make_record(1, id="b1", session="s", tool_use_id="t1"),
        make_record(2, id="b2", session="s", tool_use_id="t2"),
        make_record(3, id="b3", tool_use_id="t1", **after),
        make_record(4, id="b4", tool_use_id="t2", **after),
        # Without an id it is the last equal call.
        make_record(5, id="b5", session="s"),
        make_record(6, id="b6", session="s"),
        make_record(7, id="b7", **after),
    ]
    write_records(project.state, records)
    with serve_context() as page:
        html = page.show("session", id="s").html
    lines = [re.findall(r"record\?id=(\w+)", item) for item in html.split("<li")[1:]]
    assert lines == [["b1", "b3"], ["b2", "b4"], ["b5"], ["b6", "b7"]]


def test_guards_shows_every_hook_by_every_agent_and_why_not(machine_with_records: ScratchProject) -> None:
    project = machine_with_records
    project.write_hook("asker", "exit 0", fields={"matcher": "{tool: Shell}", "metadata": "{effects: [ask]}"})
    project.write_hook("noter", "exit 0", fields={"trigger": "pre-step"})
    project.run("install", "claude", "--yes")
    project.run("install", "codex", "--yes")
    with serve_context() as page:
        rows = {(row["hook"], row["agent"]): row for row in page.send("/data/export/guards.json").fields}
        html = page.show("guards").html
    assert (rows["no-force", "claude"]["state"], rows["no-force", "claude"]["fired"]) == ("active", 2)
    assert (rows["no-force", "codex"]["state"], rows["no-force", "codex"]["fired"]) == ("active", 0)
    assert (rows["asker", "claude"]["state"], rows["asker", "codex"]["state"]) == ("active", "limited")
    assert "Codex" in rows["asker", "codex"]["why"]
    assert rows["noter", "claude"]["state"] == "cannot act there"
    assert rows["not-yet", "claude"]["state"] == "does not run"
    assert "trust" in rows["not-yet", "claude"]["why"]
    assert html.index("Yours, for all projects") < html.index("Of the project")


def test_hooks_are_listed_with_what_stats_counts(page: ServedPage, machine_with_records: ScratchProject) -> None:
    rows = page.send("/data/export/hooks.json").fields
    stats = json.loads(machine_with_records.run("stats", "--json").stdout)["hooks"]
    assert {row["hook"]: {k: v for k, v in row.items() if k != "share"} for row in rows} == {
        row["hook"]: row for row in stats
    }
    assert round(sum(row["share"] for row in rows)) == 100
    assert [row["p95_ms"] for row in rows] == sorted((row["p95_ms"] for row in rows), reverse=True)
    text = page.show("hook", name="no-force").text
    assert "2 runs, 2 blocks, 0 failures" in text
    assert "not needed: it is yours" in text
    assert "it has none" in text
    assert "this is what the ledger has of it" in page.show("hook", name="unknown").text


def test_a_session_is_a_story_in_which_what_came_after_a_call_is_on_its_line(project: ScratchProject) -> None:
    after = {"event": "post-tool-call", "reasons": ["seen"], "input_sha256": "1" * 64}
    records = [
        make_record(1, id="a1", session="s", tool_use_id="t1"),
        make_record(2, id="a2", session="s", tool_use_id="t2"),
        make_record(3, id="a3", session="s", tool_use_id="t1", **after),
        make_record(4, id="a4", session="s", input_sha256="1" * 64),
        make_record(5, id="a5", session="s", **after),
        make_record(6, id="a6", session="s", event="pre-session-end", tool="", input=None),
    ]
    write_records(project.state, records)
    with serve_context() as page:
        answer = page.show("session", id="s")
        listed = page.send("/data/export/sessions.json").fields
    lines = [re.findall(r"record\?id=(\w+)", item) for item in answer.html.split("<li")[1:]]
    assert lines == [["a1", "a3"], ["a2"], ["a4", "a5"], ["a6"]]
    assert (listed[0]["session"], listed[0]["events"]) == ("s", 6)
    assert "% of the time between its first and last event" in answer.text


def test_a_changed_hook_is_replayed_on_recorded_events_and_the_calls_are_not_executed(
    page: ServedPage, machine_with_records: ScratchProject
) -> None:
    project = machine_with_records
    before = sorted(project.path.rglob("*"))
    assert "No event would end differently." in page.show("replay", last="20").text
    project.write_hook("lister", "echo 'no listing' >&2; exit 2", fields={"matcher": "{tool: Shell, pattern: ls}"})
    text = page.show("replay", hook="lister", last="20").text
    assert re.search(r"replayed\s+3 of 3 events", text), text
    assert "no listing" in text
    assert re.search(r"replayed\s+1 of 1 events", page.show("replay", id=find_id(page, "ls")).text)
    assert sorted(project.path.rglob("*")) == before
    # Nothing was recorded.
    assert page.context.index.describe_state().rows == 3


def test_new_records_reach_a_stream_filtered_and_escaped(
    page: ServedPage, machine_with_records: ScratchProject
) -> None:
    with page.follow(decision="block") as stream:
        line = b""
        while not line.strip():
            line = stream.readline()
        assert json.loads(line) == {"waiting": 1, "heading": "1 thing needs you"}
        call(machine_with_records, "ls")
        call(machine_with_records, "git push --force <b>")
        html = ""
        while "push" not in html:
            line = stream.readline()
            html += json.loads(line).get("html", "") if line.strip() else ""
    assert html.count("<li") == 1
    assert "&lt;b&gt;" in html
    wait_for(lambda: page.context.find_idle_seconds() > 0)


def test_lists_are_saved_as_json_and_csv_without_formulas(project: ScratchProject) -> None:
    write_records(
        project.state, [make_record(1, input={"command": "=cmd|' /C calc'!A0"}), make_record(2, reasons=['a,b\n"c"'])]
    )
    with serve_context() as page:
        rows = list(csv.DictReader(io.StringIO(page.send("/data/export/live.csv").body.decode())))
        objects = page.send("/data/export/live.json?q=calc").fields
        missing = [
            page.send(f"/data/export/{name}").status
            for name in ("none.json", "live.xml", "record.csv", "record.md?id=f")
        ]
    assert [row["input"] for row in rows][1] == "'=cmd|' /C calc'!A0"
    assert rows[0]["reason"] == 'a,b "c"'
    assert [row["input"] for row in objects] == ["=cmd|' /C calc'!A0"]
    assert missing == [404] * 4


def test_a_record_is_saved_as_markdown_that_its_text_cannot_leave(project: ScratchProject) -> None:
    write_records(project.state, [make_record(1, reasons=["````\n# forged <b>"])])
    with serve_context() as page:
        answer = page.send(f"/data/export/record.md?id={make_record(1)['id']}")
    lines = answer.body.decode().splitlines()
    assert lines[0] == f"## boathook why {make_record(1)['id']}"
    fence = lines[2].removesuffix("text")
    assert (lines[-1], fence.strip("`")) == (fence, "")
    assert not any(line.strip().startswith(fence) for line in lines[3:-1])


def test_screens_are_rows_and_the_check_is_around_all_of_them() -> None:
    assert [screen.path for screen in SCREENS] == [
        *("now", "live", "record", "review", "guards", "hooks", "hook", "sessions", "session", "replay"),
    ]
    assert callable(RequestCheck.__call__)


def test_nothing_of_the_page_is_imported_by_run() -> None:
    import subprocess

    code = "import sys, boathook.entry.run_once, boathook.cli.commands as c; print([m for m in sys.modules if '.page' in m])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
