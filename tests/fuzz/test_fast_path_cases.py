"""The comparison of the fast path with the engine (`make fuzz-fast-path`) works, and finds nothing in a few cases."""

from __future__ import annotations

import os

from boathook.entry import fast_path
from fuzz.fast_path_cases import compare_cases


def test_no_call_is_lost_on_the_fast_path(tmp_path):
    before = (os.getcwd(), {**os.environ})
    counts = compare_cases(tmp_path, seed=1, cases=500)
    assert counts.lost == 0
    assert 0 < counts.quiet < counts.cases
    assert (os.getcwd(), {**os.environ}) == before


def test_a_call_that_is_lost_is_found(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        fast_path, "_select_rows_of_kinds", lambda rows, *_, **__: [row for row in rows if not row[0][2]]
    )
    assert compare_cases(tmp_path, seed=1, cases=500).lost > 0
    assert capsys.readouterr().out.startswith("lost: ")
