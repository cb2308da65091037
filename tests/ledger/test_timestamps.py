"""The times of records are read in one place, and what is not a time is none for every reader."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import boathook
from boathook.cli.record_text import format_time
from boathook.ledger.timestamps import parse_timestamp
from boathook.ledger.writer import make_timestamp

# A text of a person at the command line, and the time of an agent's event.
_OTHER_READERS = {"cli/log.py", "dialects/agent_hook.py"}


def test_a_time_is_read_as_it_was_written() -> None:
    moment = parse_timestamp(make_timestamp(1_800_000_000.123))
    assert moment is not None
    assert moment.timestamp() == 1_800_000_000.123


def test_every_moment_is_in_utc() -> None:
    expected = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    for text in ("2026-01-02T03:04:00Z", "2026-01-02T03:04", "2026-01-02T05:04+02:00"):
        assert (parse_timestamp(text), parse_timestamp(text).tzinfo) == (expected, UTC)


@pytest.mark.parametrize("text", ["", "~", "now", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-99"])
def test_another_text_is_not_a_time(text: str) -> None:
    assert parse_timestamp(text) is None


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_the_first_and_the_last_day_are_shown_in_some_way(text: str) -> None:
    assert format_time({"time": text})


def test_no_other_module_reads_the_times_of_records() -> None:
    top = Path(boathook.__file__).parent
    readers = {str(path.relative_to(top)) for path in top.rglob("*.py") if "fromisoformat(" in path.read_text()}
    assert readers == {"ledger/timestamps.py", *_OTHER_READERS}
