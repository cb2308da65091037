"""The Record screen begins with the result: who decided what, and what became of it in the agent."""

from __future__ import annotations

import json
import re

from boathook.cli.record_text import join_sentences
from boathook.ledger.record import make_answered_record, make_asked_record
from tests.page.made_ledger import load_all, make_record, make_time, write_records
from tests.page.recorded_calls import GUARD, call
from tests.page.served import ServedPage, serve_context
from tests.permits.waiting_calls import ASK, make_question
from tests.scratch_project import ScratchProject


def split_screen(page: ServedPage) -> tuple[str, str, str]:
    """Return the HTML of the newest record: its heading, what comes before its input, and the rest."""
    row = next(page.context.index.list_rows())
    html = page.show("record", id=row.id).html
    heading, _, rest = html.partition("</h1>")
    above, _, below = rest.partition("<h2>Input</h2>")
    return heading, above, below


def test_the_result_is_above_the_hooks_and_those_without_an_opinion_are_folded(project: ScratchProject) -> None:
    for number in range(5):
        project.write_hook(f"a-quiet-{number}", "exit 0", fields={"matcher": "{tool: Shell}"})
    project.write_hook("no-force", GUARD, fields={"matcher": "{tool: Shell}"})
    call(project, "git push --force")
    with serve_context() as page:
        _, above, below = split_screen(page)
    assert "Blocked by no-force: never force" in above
    assert "The agent got the decision (block) and its reason." in above
    hooks, _, folded = below.partition("<details><summary>5 hooks without an opinion</summary>")
    assert (hooks.count('class="run"'), "no-force" in hooks, "a-quiet" in hooks) == (1, True, False)
    assert folded.partition("</details>")[0].count('class="run"') == 5


def test_a_question_that_the_agent_cannot_ask_is_shown_as_denied(project: ScratchProject) -> None:
    project.write_hook("careful", ASK, fields={"matcher": "{tool: Shell}"})
    event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}
    done = project.run("run", "--host", "codex", "PreToolUse", stdin=json.dumps({"cwd": str(project.path), **event}))
    assert '"deny"' in done.stdout
    with serve_context() as page:
        heading, above, _ = split_screen(page)
    assert heading.endswith(", denied because the agent cannot ask")
    assert "Denied, because the agent cannot ask. Asked by careful: sure?" in above
    assert "The agent could not do all of it:" in above


def test_a_question_that_the_agent_asks_is_not_shown_as_denied(project: ScratchProject) -> None:
    project.write_hook("careful", ASK, fields={"matcher": "{tool: Shell}"})
    project.write_hooks_toml("user", '[hooks]\nask = "host"\n')
    call(project, "rm -rf build")
    with serve_context() as page:
        heading, above, _ = split_screen(page)
    assert heading.endswith("ask</span>")
    assert "<p>Asked by careful: sure?" in above


def test_a_hook_that_failed_and_a_change_are_in_the_result(project: ScratchProject) -> None:
    project.write_hook("failing", "echo oops >&2; exit 3", fields={"matcher": "{tool: Shell}"})
    project.write_hook("lister", """printf '{"modified_input": {"command": "ls -l"}}'""")
    call(project, "ls")
    with serve_context() as page:
        _, above, _ = split_screen(page)
    assert "failing did not answer (failed): " in above
    assert "Hooks changed the input." in above


def test_a_question_its_outcome_and_its_call_are_linked_and_one_step_of_their_session(project: ScratchProject) -> None:
    question = make_question("q1")
    asked = make_asked_record(question, id="a" * 12, time=make_time(10), until=make_time(20))
    answered = make_answered_record(question, 10.0, (), id="b" * 12, time=make_time(20), result="unanswered", via="")
    blocked = make_record(
        0, id="c" * 12, time=make_time(20), session="s1", decision="block", asked={"question": "q1", "result": "unanswered"},
        ms=120824,
    )  # fmt: skip
    write_records(project.state, [asked, answered, blocked])
    ids = ["a" * 12, "b" * 12, "c" * 12]
    with serve_context() as page:
        load_all(page.context.index)
        for own in ids:
            html = page.show("record", id=own).html
            assert [one for one in ids if f'href="#/record?id={one}"' in html] == [one for one in ids if one != own]
        session = page.show("session", id="s1")
        assert session.html.count("<li") == 1
        assert page.send("/data/export/session.json?id=s1").fields[0]["id"] == "c" * 12
        assert "2 min 1 s" in page.show("live").text


def test_a_call_that_can_be_allowed_has_the_command_for_it(project: ScratchProject) -> None:
    project.write_hook("no-force", GUARD, fields={"matcher": "{tool: Shell}"})
    call(project, "git push --force")
    with serve_context() as page:
        row = next(page.context.index.list_rows())
        shown = page.show("record", id=row.id)
    assert "A person can allow this call once" in shown.text
    assert f'data-copy="boathook allow {row.id}"' in shown.html


def test_a_run_has_its_facts_once_and_a_failure_is_named(project: ScratchProject) -> None:
    project.write_hook("bad", "exit 1", fields={"matcher": "{tool: Shell}"})
    call(project, "ls")
    with serve_context() as page:
        row = next(page.context.index.list_rows())
        html = page.show("record", id=row.id).html
    assert "failed, exit code 1" in html
    assert "failed, none" not in html
    assert re.search(r'<h3>1\. <a [^>]*>bad</a> <span class="decision failed">failed</span></h3>', html)
    assert "<details><summary>The whole story</summary>" in html


def test_reasons_are_joined_as_sentences() -> None:
    assert join_sentences(["This deploys.", "No  person\nanswered", "x"]) == "This deploys. No person answered; x"
    assert join_sentences([]) == ""
