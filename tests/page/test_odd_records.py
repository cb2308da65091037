"""Odd texts in every field of a record: each screen answers, and no text of a record is markup there."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest

from boathook.cli.call_history import CallHistory
from boathook.core.json_text import dump_line
from boathook.ledger.reader import LedgerReader
from boathook.ledger.schema import RECORD_SCHEMAS, RecordError, check_record
from boathook.ledger.writer import SPILL_NAME, Ledger, make_record_id, make_timestamp
from boathook.page import needs
from boathook.page.needs import list_needs
from boathook.page.parts import make_address
from boathook.page.record_index import RecordIndex
from boathook.page.screen_rows import SCREENS
from tests.page.made_ledger import make_record, write_records
from tests.page.served import ServedPage, serve_context
from tests.page.test_markup import read_html
from tests.permits.waiting_calls import WaitingCall, set_up
from tests.scratch_project import ScratchProject

ODD_TEXTS = (
    "x\ud800",
    "/tmp/\udc80",
    "/tmp/a\0b",
    "</pre></a><script>alert(1)</script><img src=x onerror=alert(2)>",
    "\" onclick='alert(3)' \x1b[2J\u202e\r\n# `x`",
    # In all fields of a record at once, it is as long as a line may be.
    "x" * 1200,
    "../../etc/passwd",
    "0001-01-01T00:00:00Z",
    "",
)
ODD_TIMES = ("~", "", "0", "x\ud800", "9999-12-31", "2026-13-45T00:00:00.000Z", "2026-03-01T00:00:00.000", "<b>")
_QUERY_KEYS = ("id", "name", "hook", "project", "session", "q", "agent", "decision", "only", "last", "all")


def make_odd_fields(schema: Any, text: str) -> Any:
    """Return a value of a schema in which every text is this one."""
    if isinstance(schema, dict):
        return {key.rstrip("?"): make_odd_fields(inner, text) for key, inner in schema.items()}
    if isinstance(schema, list):
        return [make_odd_fields(schema[0], text)]
    if schema[0] == 0:
        return 1
    return {"command": text, text: [text]} if object in schema else text if str in schema else None


def make_odd_records(text: str) -> Iterator[dict[str, Any]]:
    """Yield records of every type: with a text in all fields at once, and in each field alone."""
    for kind, schema in {**RECORD_SCHEMAS, text: {}, "doctor": {}}.items():
        about = {"v": 1, "id": make_record_id(), "time": make_timestamp(), "type": kind}
        odd = make_odd_fields(schema, text)
        yield {**odd, **about}
        # An empty id is the beginning of every other.
        yield {**odd, **about, "id": text or make_record_id()}
        usual = (
            make_record()
            if kind == "dispatch"
            else {key.rstrip("?"): "s" for key in schema if schema[key] == ("", str)}
        )
        for key, value in odd.items():
            yield {**usual, **about, "id": make_record_id(), key: value}


def write_spilled(folder: Path, *records: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / SPILL_NAME).open("ab") as file:
        file.writelines(map(dump_line, records))


def send_screens(page: ServedPage, **query: str) -> None:
    """Ask for every screen and every list with a query."""
    words = urlencode(query, errors="surrogatepass")
    for screen in SCREENS:
        answer = page.send(f"/data/screen/{screen.path}?{words}")
        assert answer.status == 200, (screen.path, query, page.context.state)
        tags = {*read_html(answer.html).tags}
        attributes = [name for name, _ in read_html(answer.html).attributes]
        assert not tags & {"script", "img", "b"}, (screen.path, query)
        assert not [name for name in attributes if name.startswith("on")], (screen.path, query)
        for kind in ("json", "csv", "md"):
            assert page.send(f"/data/export/{screen.path}.{kind}?{words}").status in (200, 404), (
                screen.path,
                kind,
                query,
            )


@pytest.mark.parametrize("is_chained", [True, False])
def test_every_screen_answers_if_the_texts_of_records_are_odd(project: ScratchProject, is_chained: bool) -> None:
    project.write_hook("s", "exit 0")
    records = [record for text in ODD_TEXTS for record in make_odd_records(text)]
    write = write_records if is_chained else lambda folder, found: write_spilled(folder, *found)
    write(project.state, records)
    with serve_context() as page:
        _wait_for(lambda: page.context.index.describe_state().is_complete)
        state = page.context.index.describe_state()
        assert (state.rows, state.invalid_lines) == (sum(record["type"] != "doctor" for record in records), 0)
        send_screens(page)
        for text in ODD_TEXTS[:-1]:
            send_screens(page, **dict.fromkeys(_QUERY_KEYS, text))
            send_screens(page, id=text)
        for record in records[:3] + records[-3:]:
            send_screens(page, id=record["id"])


def test_an_event_in_an_odd_folder_does_not_hide_the_screens_and_the_next_start_works(project: ScratchProject) -> None:
    project.write_hook("after", "exit 0", fields={"trigger": "post-tool-call"})
    event = {
        "event_type": "post-tool-call",
        "tool_name": "Shell",
        "tool_input": {"command": "ls"},
        "session_id": "x\ud800",
    }
    with serve_context() as page:
        for folder in ("/tmp/\ud800", "/tmp/a\0b"):
            project.run("run", "--json", stdin=json.dumps({**event, "work_dir": folder}))
        _wait_for(lambda: page.context.index.describe_state().rows)
        send_screens(page)
    with serve_context() as page:
        send_screens(page)


def _wait_for(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("moment", ODD_TIMES)
def test_a_line_without_a_time_is_not_a_record(tmp_path: Path, project: ScratchProject, moment: str) -> None:
    record = make_record(1, time=moment)
    with pytest.raises(RecordError):
        check_record(record)
    write_spilled(project.state, record, make_record(2))
    reader = LedgerReader(str(project.state))
    assert ([one["id"] for one in reader.read()], reader.invalid_lines) == ([make_record(2)["id"]], 1)
    project.write_hook("guard", "exit 0")
    with serve_context() as page:
        _wait_for(lambda: page.context.index.describe_state().is_complete)
        assert page.context.index.describe_state().invalid_lines == 1
        send_screens(page)


def test_a_record_that_cannot_be_counted_does_not_keep_later_ones_from_the_page(tmp_path: Path) -> None:
    class FailingHistory(CallHistory):
        def add(self, record: dict[str, Any]) -> None:
            if record["id"] == make_record(1)["id"]:
                raise TypeError("another form")

    write_records(tmp_path, [make_record(0)])
    index = RecordIndex(str(tmp_path), FailingHistory((), (), ()))
    index.start()
    try:
        ledger = Ledger(str(tmp_path))
        for number in (1, 2):
            ledger.append(make_record(number))
        # It is still listed, because a person may look for it.
        _wait_for(lambda: [row.id for row in index.list_rows()] == [make_record(number)["id"] for number in (2, 1, 0)])
        assert index.describe_state().invalid_lines == 1
    finally:
        index.close()


def test_a_source_of_needs_that_fails_is_named_and_hides_nothing_else(
    project: ScratchProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_later(context: Any) -> Iterator[needs.Need]:
        yield needs.Need(needs.AGENT, "found before", "")
        raise ValueError("an odd <b>text</b>")

    project.write_hook("not-yet", "exit 0", scope="project")
    monkeypatch.setattr(needs, "NEED_SOURCES", {"The moon": fail_later, **needs.NEED_SOURCES})
    with serve_context() as page:
        shown = page.show("now")
        assert "The moon could not be checked" in shown.text
        assert "ValueError: an odd <b>text</b>" in shown.text
        assert "<b>" not in shown.html
        assert "found before" in shown.text
        assert "boathook trust not-yet" in shown.text
        assert shown.fields["waiting"] == len(list_needs(page.context)) == 3
        send_screens(page)


def test_a_file_of_installs_that_cannot_be_read_hides_no_question_and_ends_no_stream(project: ScratchProject) -> None:
    set_up(project, 'ask = "wait"')
    project.state.mkdir(parents=True, exist_ok=True)
    (project.state / "installed.json").write_text("{nonsense")
    with serve_context() as page, page.follow() as stream:
        call = WaitingCall(project)
        question = call.find_question()
        parts = {}
        while "questions" not in parts or question not in parts["questions"]:
            update = json.loads(stream.readline().strip() or "{}")
            parts[update.get("part")] = update.get("html", "")
        assert "installed.json" in parts["agents"]
        shown = page.show("now")
        assert question in shown.html
        assert "The agents cannot be shown here" in shown.text
        assert "What to do: " in shown.text
        call.end()
        send_screens(page)


@pytest.mark.parametrize("text", ["s-1", "a b&c=d#e/é", "100 %", "back\\slash", "\u202e", "x\ud800", "<b>"])
def test_a_link_has_the_name_that_it_leads_to(text: str) -> None:
    address = make_address("session", id=text)
    assert re.fullmatch(r"[\w#/?=%+.~-]+", address)
    # A browser cannot send what is not a character.
    expected = text.replace("\ud800", "\\ud800")
    assert parse_qs(address.partition("?")[2])["id"] == [expected]
