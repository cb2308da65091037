"""The screens, with a ledger that real runs of hooks have written."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import sys
import time
from collections.abc import Iterator
from html import unescape
from http.client import HTTPResponse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from boathook.cli.record_text import SHOWN_DECISIONS
from boathook.core.verdict import UNANSWERED
from boathook.ledger.record import ANSWERED_TYPE, ASKED_TYPE, REPEAT_TYPE
from boathook.ledger.writer import SPILL_NAME, Ledger, make_timestamp
from boathook.page import needs, page_app, record_index
from boathook.page.decision_routes import DECISION_ROUTES
from boathook.page.hook_reviews import describe_refused_trust
from boathook.page.live_screen import COUNT_PART, FILTERS
from boathook.page.needs import NEED_SOURCES, list_needs
from boathook.page.page_app import make_app
from boathook.page.record_index import RecordIndex
from boathook.page.request_check import EXCHANGE_PATH, OPEN_FILES
from boathook.page.screen_rows import SCREENS
from boathook.permits.unlock import remove_unlock, write_unlock
from tests.page.made_ledger import load_all, make_record, write_records
from tests.page.recorded_calls import GUARD, call
from tests.page.served import ServedPage, serve_context
from tests.scratch_project import ScratchProject
from tests.tables import try_each


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
    [need] = page.send("/data/export/now.json").fields
    assert need["command"].startswith("boathook trust not-yet")
    assert (need["kind"], need["hook"]) == ("review", "not-yet")
    assert page.send("/data/export/now.csv").body.startswith(
        b"kind,title,text,command,since,project,hook,diff\r\nreview,"
    )
    # The agent, and the evidence.
    assert re.search(r"Claude Code +.* minute ago", answer.text)


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
    project.write_hook("mine")
    with serve_context() as page:
        answer = page.show("now")
    assert (answer.fields["waiting"], "Nothing needs you" in answer.text) == (0, True)


@try_each("events", [19, 20])
def test_now_names_a_guard_that_never_ran_after_a_while(project: ScratchProject, events: int) -> None:
    project.write_hook("no-force", GUARD, fields={"matcher": "{tool: Shell, pattern: push}"})
    # Only events since the guard was last changed count.
    moment = make_timestamp(time.time())
    write_records(project.state, [make_record(number, time=moment, hooks=[]) for number in range(events)])
    with serve_context() as page:
        load_all(page.context.index)
        found = [(need.title, need.text, need.command) for need in list_needs(page.context)]
        text = page.show("now").text
    text_of_need = f"0 of {events} recorded pre-tool-call events in less than a day."
    expected = [("no-force never ran", text_of_need, "boathook show no-force")]
    assert found == (expected if events >= 20 else [])
    assert ("no-force never ran" in text) == (events >= 20)


def test_now_shows_that_nothing_is_guarded_if_no_agent_and_no_hook_is_here(project: ScratchProject) -> None:
    with serve_context() as page:
        [need] = list_needs(page.context)
        text = page.show("now").text
    assert (need.title, need.command) == ("Nothing is guarded yet", "boathook setup")
    assert "Nothing needs you" not in text
    project.run("install", "codex", "--yes")
    with serve_context() as page:
        assert not list_needs(page.context)


def test_now_names_a_pause_of_self_protection(project: ScratchProject) -> None:
    project.write_hook("mine")
    write_unlock(str(project.state), 600)
    with serve_context() as page:
        text = page.show("now").text
        [need] = list_needs(page.context)
    assert "Self-protection is paused" in text
    assert (need.kind, need.command, need.text in text) == ("self-protection", "boathook unlock --end", True)
    remove_unlock(str(project.state))
    with serve_context() as page:
        assert "Nothing needs you" in page.show("now").text


def test_now_counts_the_lines_of_the_ledger_that_cannot_be_read(project: ScratchProject) -> None:
    write_records(project.state, [make_record(1)])
    [segment] = project.state.glob("ledger-*.jsonl")
    with segment.open("ab") as file:
        file.write(b'not a record\n{"v": 1}\n')
    with serve_context() as page:
        load_all(page.context.index)
        text = page.show("now").text
    assert "The ledger has lines that are not records" in text
    assert "2 lines cannot be read." in text
    assert "boathook ledger verify" in text


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


def test_now_has_no_command_that_a_record_or_a_file_could_add_to(project: ScratchProject) -> None:
    def make_missed(record_id: str) -> list[dict[str, Any]]:
        moment = make_timestamp(time.time())
        asked = {"question": "q", "result": UNANSWERED}
        about = {"session": record_id, "time": moment}
        answered = {"type": ANSWERED_TYPE, "result": UNANSWERED, "tool": "Shell", "host": "claude"}
        return [
            make_record(9, id=record_id, asked=asked, **about),
            {"v": 1, "id": "a" + record_id, **about, **answered},
        ]

    project.write_hook("mine")
    write_records(project.state, make_missed("chained; touch x"))
    spilled = [*make_missed("spilled; touch x"), make_record(1, id="old")]
    (project.state / SPILL_NAME).write_text("".join(f"{json.dumps(one)}\n" for one in spilled))
    with serve_context() as page:
        load_all(page.context.index)
        commands = [need.command for need in list_needs(page.context)]
    # What is outside of the chain is not listed, and does not hide the rest.
    assert commands == ["boathook allow 'chained; touch x'"]


def test_commands_are_quoted_in_one_place_and_so_are_those_within_sentences(page: ServedPage) -> None:
    folder = Path(needs.__file__).parent
    sources = {path.name: path.read_text() for path in folder.glob("*.py")}
    assert [name for name, source in sources.items() if "shlex" in source] == ["parts.py"]
    # A value in a command that is not made there.
    pattern = r"""f["'][^"'\n]*\bboathook (asks|trust|why|log|install|show|allow|explain)\b[^"'\n]*\{"""
    assert [name for name, source in sources.items() if re.search(pattern, source)] == []
    assert "boathook why 'x; touch y'" in page.show("record", id="x; touch y").text
    hook: Any = SimpleNamespace(name="a; touch b")
    candidate: Any = SimpleNamespace(hook=hook, content=b"", place=SimpleNamespace(project="/p q"))
    review: Any = SimpleNamespace(is_whole=False)
    command = "boathook trust 'a; touch b' --yes --project '/p q'"
    assert describe_refused_trust(candidate, review).endswith(command)


def test_advice_is_not_a_command_to_copy(machine_with_records: ScratchProject) -> None:
    project = machine_with_records
    assert project.run("install", "claude", "--yes").returncode == 0
    project.write_hook("unasked", "exit 0", fields={"matcher": "{tool: run_in_terminal}"})
    project.write_hook("no-script", None, scope="user")
    with serve_context() as page:
        hooks = {need.hook: need for need in list_needs(page.context) if need.command}
    assert hooks["unasked"].text.endswith("What to do: add Shell to its matcher")
    assert {"unasked", "no-script", "not-yet"} <= set(hooks)
    for need in hooks.values():
        words = shlex.split(need.command)
        assert words[0] == "boathook"
        assert shlex.join(words) == need.command


def test_every_source_of_needs_is_listed_and_yields_needs(page: ServedPage) -> None:
    own = [one for one in vars(needs).values() if getattr(one, "__module__", "") == needs.__name__]
    sources = {one for one in own if getattr(one, "__name__", "").startswith("find_")}
    # Questions are not listed, because they change more quickly.
    assert {*NEED_SOURCES.values(), needs.find_questions} == sources
    found = {find.__name__: list(find(page.context)) for find in sources}
    assert {type(need) for some in found.values() for need in some} == {needs.Need}
    assert [name for name, some in found.items() if some] == ["find_reviews"]


def test_live_lists_records_the_newest_first_and_takes_filters_from_the_address(page: ServedPage) -> None:
    def list_inputs(**query: str) -> list[str]:
        rows = page.show("live", **query).html.partition("<ol")[2]
        return re.findall(r'class="cell input">([^<]*)<', rows)

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


def test_the_form_of_live_keeps_every_filter_of_the_address(page: ServedPage) -> None:
    query = {name: f"x-{name}" for name in FILTERS if name != "event"} | {"event": "pre-tool-call"}
    html = page.show("live", **query).html
    form = html[html.index("<form") : html.index("</form>")]
    assert set(re.findall(r' name="(\w+)"', form)) == set(FILTERS)
    for name, value in query.items():
        assert re.search(rf'value="{value}"( selected)?>|name="{name}"[^>]* value="{value}"', form), name
    # One of them can be taken away.
    links = [unescape(link) for link in re.findall(r'href="([^"]*)"', form)]
    removed = [set(query) - set(re.findall(r"[?&](\w+)=", link)) for link in links]
    assert removed == [{"session"}, {"tool"}, {"event"}]


def test_live_can_be_filtered_by_every_decision_that_the_log_can(project: ScratchProject) -> None:
    answered = {"type": ANSWERED_TYPE, "result": UNANSWERED, "tool": "Shell", "host": "claude"}
    others = [answered, {"type": ASKED_TYPE}, {"type": REPEAT_TYPE}]
    write_records(
        project.state,
        [
            make_record(1),
            *({"v": 1, "id": f"b{at}", "time": make_record(2)["time"], **one} for at, one in enumerate(others)),
        ],
    )
    with serve_context() as page:
        offered = re.findall(
            r'value="(\w+)"', page.show("live").html.partition('name="decision"')[2].partition("</select>")[0]
        )
        words = (UNANSWERED, ASKED_TYPE, REPEAT_TYPE)
        shown = [page.send(f"/data/export/live.json?decision={word}").fields for word in words]
    assert offered == [*SHOWN_DECISIONS]
    assert [[(row["id"], row["decision"]) for row in rows] for rows in shown] == [
        [(f"b{at}", word)] for at, word in enumerate(words)
    ]
    listed = [json.loads(project.run("log", "--json", "--decision", word).stdout)["id"] for word in words]
    assert listed == ["b0", "b1", "b2"]


@pytest.mark.parametrize(("screen", "query"), [("live", {}), ("hook", {"name": "no-force"}), ("session", {"id": "s2"})])
def test_every_cell_of_a_list_of_records_has_a_heading(page: ServedPage, screen: str, query: dict[str, str]) -> None:
    headings, _, rows = page.show(screen, **query).html.partition("<ol")
    names = set(re.findall(r'class="cell (\w+)"', rows))
    assert {"time", "tool", "decision", "input", "hooks", "reason"} <= names
    assert names <= set(re.findall(r'class="cell (\w+)"', headings))


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
        keys = ("id", "name", "hook", "project", "session", "q", "agent", "decision", "only", "last", "all", "path")
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


def test_a_record_has_what_a_hook_printed_to_stderr_though_it_had_no_objection(project: ScratchProject) -> None:
    project.write_hook("talks", "echo 'SAID <b>' >&2; exit 0", fields={"matcher": "{tool: Shell}"})
    call(project, "ls")
    with serve_context() as page:
        answer = page.show("record", id=find_id(page, "ls"))
    assert re.search(r"<dt>stderr</dt>\s*<dd>SAID &lt;b&gt;</dd>", answer.html)
    assert "stderr   SAID <b>" in answer.text
    assert re.search(r"\n +stderr   SAID <b>\n", project.run("why", find_last_id(project)).stdout)


def test_a_record_has_the_text_that_a_hook_added_to_the_context(project: ScratchProject) -> None:
    answer = json.dumps({"additional_context": "The tests of this folder\nneed token=abcdef."})
    project.write_hook("adds", f"printf %s {shlex.quote(answer)}")
    call(project, "pwd")
    with serve_context() as page:
        text = page.show("record", id=find_last_id(project)).text
    printed = project.run("why", find_last_id(project)).stdout
    for shown in (text, printed):
        assert "The tests of this folder" in shown
        assert "need token=[redacted" in shown
        assert "abcdef" not in shown


def find_last_id(project: ScratchProject) -> str:
    return json.loads(project.run("log", "--json").stdout.splitlines()[-1])["id"]


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
    hidden = ("share", "session_share", "path")
    counts = {row["hook"]: {k: v for k, v in row.items() if k not in hidden} for row in rows if row["runs"]}
    assert counts == {row["hook"]: row for row in stats}
    assert round(sum(row["share"] for row in rows)) == 100
    # Those that have not run come last.
    assert [(row["runs"] > 0, row["p95_ms"]) for row in rows] == sorted(
        ((row["runs"] > 0, row["p95_ms"]) for row in rows), reverse=True
    )
    known = [hook.name for hook in page.context.facts.load_project().hooks]
    assert {*known} - {row["hook"] for row in stats} == {row["hook"] for row in rows if not row["runs"]} != set()
    assert "no run is recorded" in page.show("hooks").text
    text = page.show("hook", name="no-force").text
    assert "2 runs, 2 blocks, 0 failures" in text
    assert "not needed: it is yours" in text
    assert "it has none" in text
    assert "this is what the ledger has of it" in page.show("hook", name="unknown").text


def test_hooks_have_their_share_of_the_time_of_their_sessions(project: ScratchProject) -> None:
    def make_run(number: int, session: str, hook: str) -> dict[str, Any]:
        record = make_record(number, session=session)
        return {**record, "hooks": [{**record["hooks"][0], "hook": hook, "ms": 150.0}]}

    # Two sessions of 10 and 20 seconds; one of a single event has no length.
    runs = [
        (0, "a", "slow"),
        (10, "a", "rare"),
        (20, "b", "slow"),
        (40, "b", "slow"),
        (50, "c", "slow"),
        (60, "d", "once"),
    ]
    write_records(project.state, [make_run(*run) for run in runs])
    with serve_context() as page:
        rows = {row["hook"]: row["session_share"] for row in page.send("/data/export/hooks.json").fields}
        text, one = page.show("hooks").text, page.show("hook", name="slow").text
        unknown = page.show("hook", name="once").text
    assert rows == {"slow": 1.5, "rare": 1.5, "once": None}
    assert "Share of session time" in text
    assert "1.5 %" in text
    assert re.search(r"share of session time\s+1.5 % of the time from the first", one)
    assert "share of session time" not in unknown


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
        saved = page.send("/data/export/session.json?id=s").fields
        table = list(csv.DictReader(io.StringIO(page.send("/data/export/session.csv?id=s").body.decode())))
    lines = [re.findall(r"record\?id=(\w+)", item) for item in answer.html.split("<li")[1:]]
    assert lines == [["a1", "a3"], ["a2"], ["a4", "a5"], ["a6"]]
    assert (listed[0]["session"], listed[0]["events"]) == ("s", 6)
    steps = [("a1", "a3", "seen"), ("a2", "", ""), ("a4", "a5", "seen"), ("a6", "", "")]
    assert [tuple(row[key] for key in ("id", "after_id", "after_reason")) for row in saved] == steps
    assert [tuple(row[key] for key in ("id", "after_id", "after_reason")) for row in table] == steps
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
    folder = project.base / "config/agents/hooks/lister"
    assert f"boathook replay --json --project {project.path}" in page.show("replay", last="20").text
    assert f"boathook replay --hook {folder} --json --project {project.path}" in text
    assert re.search(r"replayed\s+1 of 1 event\b", page.show("replay", id=find_id(page, "ls")).text)
    assert sorted(project.path.rglob("*")) == before
    # Nothing was recorded.
    assert page.context.index.describe_state().rows == 3


def read_update(stream: HTTPResponse, key: str) -> dict[str, Any]:
    """Return the next message of a stream that has a key."""
    deadline = time.monotonic() + 120
    while True:
        # Empty lines come in any case, so that the stream itself has no end.
        assert time.monotonic() < deadline, f"no message with {key} has come"
        line = stream.readline()
        assert line, "the stream has ended"
        update = json.loads(line) if line.strip() else {}
        if key in update:
            return update


def test_the_number_of_records_reaches_a_stream_when_it_changes(
    page: ServedPage, machine_with_records: ScratchProject
) -> None:
    def read_count() -> str:
        while True:
            update = read_update(stream, "part")
            if update["part"] == COUNT_PART:
                return update["html"]

    assert "3 records in all" in page.show("live").text
    with page.follow() as stream:
        assert read_count() == "3 records in all"
        call(machine_with_records, "ls")
        assert read_count() == "4 records in all"


def test_new_records_reach_a_stream_filtered_and_escaped(
    page: ServedPage, machine_with_records: ScratchProject
) -> None:
    with page.follow(decision="block") as stream:
        assert read_update(stream, "waiting") == {"waiting": 1, "heading": "1 thing needs you"}
        call(machine_with_records, "ls")
        call(machine_with_records, "git push --force <b>")
        html = ""
        while "push" not in html:
            html += read_update(stream, "rows")["rows"]
    assert html.count("<li") == 1
    assert "&lt;b&gt;" in html
    wait_for(lambda: page.context.find_idle_seconds() > 0)


def test_the_waits_between_a_record_and_a_reader_add_up_to_less_than_half_a_second(tmp_path: Path) -> None:
    """By order, because a loaded machine may take any time: one look at the ledger has a record, and the next beat sends it."""
    index = RecordIndex(str(tmp_path))
    position = index.position
    Ledger(str(tmp_path)).append(make_record(1))
    assert index.poll()
    assert [row.id for row in index.list_rows_after(position)[0]] == [make_record(1)["id"]]
    assert record_index.POLL_SECONDS + page_app.STREAM_SECONDS <= 0.5


def test_what_needs_a_person_and_the_agents_reach_a_stream_when_they_change(
    page: ServedPage, machine_with_records: ScratchProject
) -> None:
    def read_part(name: str) -> str:
        while True:
            update = read_update(stream, "part")
            if update["part"] == name:
                assert update["key"]
                return update["html"]

    with page.follow() as stream:
        assert "not-yet" in read_part("needs")
        machine_with_records.write_hook("broken", "exit 0", fields={"timeout": "soon", "trigger": "never"})
        html = read_part("needs")
        assert "not-yet" in html
        assert "broken does not run" in html
        call(machine_with_records, "ls")
        assert "4" in read_part("agents")


def test_lists_are_saved_as_json_and_csv_without_formulas(project: ScratchProject) -> None:
    write_records(
        project.state, [make_record(1, input={"command": "=cmd|' /C calc'!A0"}), make_record(2, reasons=['a,b\n"c"'])]
    )
    with serve_context() as page:
        rows = list(csv.DictReader(io.StringIO(page.send("/data/export/live.csv").body.decode())))
        objects = page.send("/data/export/live.json?q=calc").fields
        missing = [
            page.send(f"/data/export/{name}").status
            for name in ("none.json", "live.xml", "record.csv", "record.md?id=f", "replay.json")
        ]
    assert [row["input"] for row in rows][1] == "'=cmd|' /C calc'!A0"
    assert rows[0]["reason"] == 'a,b "c"'
    assert [row["input"] for row in objects] == ["=cmd|' /C calc'!A0"]
    assert missing == [404] * 5


def test_a_record_is_saved_as_markdown_that_its_text_cannot_leave(project: ScratchProject) -> None:
    write_records(project.state, [make_record(1, reasons=["````\n# forged <b>"])])
    with serve_context() as page:
        answer = page.send(f"/data/export/record.md?id={make_record(1)['id']}")
    lines = answer.body.decode().splitlines()
    assert lines[0] == f"## boathook why {make_record(1)['id']}"
    fence = lines[2].removesuffix("text")
    assert (lines[-1], fence.strip("`")) == (fence, "")
    assert not any(line.strip().startswith(fence) for line in lines[3:-1])


def test_screens_are_rows_and_the_check_is_around_all_of_them(page: ServedPage) -> None:
    assert [screen.path for screen in SCREENS] == [
        *("now", "live", "record", "review", "guards", "hooks", "hook", "sessions", "session", "replay"),
    ]
    for screen in SCREENS:
        assert page.send(f"/data/screen/{screen.path}").status == 200
    app: Any = make_app(page.context)
    paths = [route.path.format(name="live", kind="json") for route in app.routes]
    assert {"/data/screen/live", "/data/stream", "/data/export/live.json", *DECISION_ROUTES, *OPEN_FILES} < set(paths)
    for path in paths:
        method = "POST" if path in (EXCHANGE_PATH, *DECISION_ROUTES) else "GET"
        status = page.send(path, {"Authorization": None}, method=method).status
        assert (path, status) == (path, 200 if path in OPEN_FILES else 401)


def test_nothing_of_the_page_is_imported_by_run() -> None:
    import subprocess

    code = "import sys, boathook.entry.run_once, boathook.cli.commands as c; print([m for m in sys.modules if '.page' in m])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
