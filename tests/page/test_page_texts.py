"""The texts of the page: one record, plain names, and the reason of a failure."""

from __future__ import annotations

import json
import re
import time

import pytest

from boathook.page.now_screen import make_parts
from tests.page.made_ledger import make_record, write_records
from tests.page.recorded_calls import call
from tests.page.served import serve_context
from tests.scratch_project import ScratchProject


def read_text(page, screen: str, **query: str) -> str:
    return re.sub(r"\s+", " ", page.show(screen, **query).text)


def test_one_thing_is_counted_in_the_singular(project: ScratchProject) -> None:
    project.write_hooks_toml("user", '[hooks]\nrecord = "whole"\n')
    project.write_hook("looker", "exit 0", fields={"matcher": "{tool: Shell}"})
    call(project, "ls")
    with serve_context() as page:
        texts = {name: read_text(page, name) for name in ("now", "live")}
        assert "1 record in " in texts["now"]
        assert "1 record " in texts["live"]
        assert "1 record in all" in read_text(page, "live", q="nothing")
        assert "1 of 1 event " in read_text(page, "replay", last="20")
        chart = read_text(page, "hook", name="looker")
    assert "1 run, 0 blocks, 0 failures, " in chart


def test_what_no_agent_ran_is_by_hand(project: ScratchProject) -> None:
    project.write_hook("looker", "exit 0", fields={"matcher": "{tool: Shell}"})
    event = {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}, "session_id": "s"}
    project.run("run", stdin=json.dumps(event))
    with serve_context() as page:
        row = next(page.context.index.list_rows())
        screens = [read_text(page, "now"), read_text(page, "record", id=row.id), read_text(page, "sessions")]
        live = page.show("live").html
        exported = page.send("/data/export/live.json").fields
    assert all("by hand" in text for text in screens)
    assert '<span class="cell agent">by hand</span>' in live
    # A program gets the name that filters take.
    assert exported[0]["agent"] == "native"


def test_what_came_after_a_call_is_named_and_a_record_is_saved_as_markdown(project: ScratchProject) -> None:
    about = {"session": "s", "tool_use_id": "t1"}
    write_records(
        project.state, [make_record(1, id="a1", **about), make_record(2, id="a2", event="post-tool-call", **about)]
    )
    with serve_context() as page:
        assert " after the call: none" in read_text(page, "session", id="s")
        html = page.show("record", id="a1").html
    assert re.findall(r"data-download=[^>]*>([^<]*)<", html) == ["Markdown", "JSON"]


def test_a_failing_guard_names_its_last_reason(project: ScratchProject) -> None:
    project.write_hook("failing", "echo 'no `jq` here' >&2; exit 3", fields={"matcher": "{tool: Shell}"})
    call(project, "pwd")
    with serve_context() as page:
        html = page.show("now").html
    assert re.search(r"It failed in every recorded run \(1 run\)\. The last reason: [^<]*no <code>jq</code> here", html)


def test_an_age_is_made_again_while_the_screen_is_open_and_others_are_times(
    project: ScratchProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write_hook("looker", "exit 0", fields={"matcher": "{tool: Shell}"})
    project.write_hook("not-yet", "exit 0", scope="project")
    project.run("install", "claude", "--yes")
    call(project, "ls")
    now = time.time()
    with serve_context() as page:
        keys = [make_parts(page.context)]
        texts = [read_text(page, "now")]
        monkeypatch.setattr("boathook.page.parts.time.time", lambda: now + 200)
        keys.append(make_parts(page.context))
        texts.append(read_text(page, "now"))
        others = [read_text(page, screen) for screen in ("guards", "sessions", "live")]
    assert [name for name in keys[0] if keys[0][name] != keys[1][name]] == ["agents"]
    assert ["less than a minute ago" in texts[0], "3 minutes ago" in texts[1]] == [True, True]
    assert [text.count(" ago") for text in (*texts, *others)] == [1, 1, 0, 0, 0]


def test_the_screen_of_a_hook_shows_which_agent_cannot_do_what(project: ScratchProject) -> None:
    project.write_hook("asker", "exit 0", fields={"matcher": "{tool: Shell}", "trigger": "pre-tool-call"})
    for agent in ("claude", "gemini"):
        project.run("install", agent, "--yes")
    with serve_context() as page:
        html = page.show("hook", name="asker").html
    for label in ("There the hook can", "What this agent cannot do for it"):
        assert html.count(f'data-label="{label}"') == 2
    assert "It cannot" not in html
