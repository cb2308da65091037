"""The matrix of bridges: what is possible of a behaviour, scene by scene, and what a bridge costs against its goal."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import nullcontext

import pytest

from bench import bridge_overhead
from bench.bridge_overhead import CASES
from scripts.generate_bridges import (
    describe_bridges,
    describe_conditions,
    make_result,
    read_results,
    write_cell,
    write_framework_pages,
    write_overhead,
)
from tests.bridges.behaviours import AGAINST_IDLE, COST, COST_GOALS, IDLE
from tests.bridges.frameworks import list_frameworks

AF = "agent-framework"
ONE, TWO = "it sees no prompt (accepted)", "it sees no end (accepted)"


@pytest.mark.parametrize(
    ("ways", "note", "text"),
    [
        ({}, "", "–"),
        ({"sync": {"a": "", "b": ""}}, "", "yes"),
        ({"sync": {"a": ONE, "b": ONE}}, "", "cannot (1)"),
        ({"sync": {"a": ONE, "b": TWO}}, "", "cannot (1), (2)"),
        ({"sync": {"a": ONE, "b": ""}, "async": {"a": ONE, "b": ""}}, "", "yes, except (1)"),
        ({"sync": {"a": ONE, "b": "", "c": TWO}}, "", "yes, except (1), (2)"),
        ({"sync": {"a": ""}, "stream": {"a": TWO}}, "", "sync: yes; stream: cannot (2)"),
        ({"sync": {"a": ""}}, "only in a block", "yes (3)"),
    ],
)
def test_a_cell_shows_every_reason_and_whether_the_other_scenes_are_possible(
    ways: dict[str, dict[str, str]], note: str, text: str
) -> None:
    assert write_cell(ways, [ONE, TWO, "only in a block"], note) == text


def test_a_result_keeps_the_reason_of_each_scene() -> None:
    place = {"column": "toy", "behaviour": "block", "way": "sync", "passed": True}
    seen = [("a", ONE), ("b", TWO), ("c", ""), ("a", ""), ("b", ""), ("c", "")]
    cells = [{**place, "scene": scene, "cannot": why} for scene, why in seen]
    result, failures = make_result("toy", {"versions": {"toy": "1"}, "notes": {}, "cells": cells})
    assert result["columns"] == {"toy": {"block": {"sync": {"a": ONE, "b": TWO, "c": ""}}}}
    assert failures == []


def test_the_costs_show_the_goal_and_what_misses_it() -> None:
    overhead = {
        "toy": {"one Python hook": 1.16, "20 file hooks that do not match": 2.0},
        "fast": {"one Python hook": 1.15},
    }
    lines = [*write_overhead([{"overhead": overhead, "notes": {"toy": {COST: "toy is small."}}}])]
    assert lines[-5:] == [
        "| *goal* | at most 1.15x | – |",
        "| toy | 1.16x, missed | 2.00x |",
        "| fast | 1.15x | – |",
        "",
        "toy is small.",
    ]


def test_the_conditions_of_a_measurement_come_from_its_results() -> None:
    idle, used = {"rounds": 60, "is_idle": True}, {"rounds": 40, "is_idle": False}
    results = [
        {"overhead": {"toy": {}, "toy stream": {}}, "conditions": idle},
        {"overhead": {"fast": {}}, "conditions": used},
        {"overhead": {"other": {}}, "conditions": idle},
        {"overhead": {"old": {}}},
        {"overhead": {}, "conditions": {}},
    ]
    assert [*describe_conditions(results)] == [
        "- Medians of 60 rounds on an idle machine: toy, toy stream, other.",
        "- Medians of 40 rounds on a machine that others used: fast.",
        "- Conditions that were not recorded: old.",
    ]
    assert "- Medians of 40 rounds on a machine that others used: fast." in [*write_overhead(results[1:2])]
    assert all(result["conditions"] for result in read_results() if result["overhead"])


def test_a_measurement_has_its_conditions_and_a_load_of_half_the_processors_is_not_idle(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bridge_overhead.py", "--rounds", "7"])
    monkeypatch.setattr(bridge_overhead, "choose_adapters", list)
    monkeypatch.setattr(bridge_overhead, "enter_scratch_home", nullcontext)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for load, is_idle in ((0.9, True), (1.0, False)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0, 0))
        bridge_overhead.main()
        measured = json.loads(capsys.readouterr().out)
        assert measured == {"conditions": {"rounds": 7, "is_idle": is_idle}, "overhead": {}}


def test_the_cost_of_a_seam_without_hooks_is_shown_where_it_was_measured() -> None:
    overhead = {"toy": {IDLE: 1.24, "one Python hook": 1.3}, "fast": {"one Python hook": 1.0}}
    lines = [*write_overhead([{"overhead": overhead}])]
    assert lines[-8:-2] == [
        f"| | {IDLE} | one Python hook |",
        "|---|---|---|",
        "| *goal* | – | at most 1.15x |",
        "| toy | 1.24x | 1.30x, missed |",
        "| fast | – | 1.00x |",
        "",
    ]
    assert lines[-2].startswith(f"*{IDLE}* is measured without boathook")
    measured = {name: cases for result in read_results() for name, cases in result["overhead"].items()}
    assert all(IDLE in measured[name] for name in (AF, "langchain"))


def test_every_goal_is_of_a_case_that_is_measured() -> None:
    assert set(COST_GOALS) <= set(CASES)
    overheads = [cases for result in read_results() for cases in result["overhead"].values()]
    assert all(set(cases) - {IDLE, AGAINST_IDLE} == set(CASES) for cases in overheads)
    # What the seam itself takes, and what the bridge adds to it, are measured together.
    assert all((IDLE in cases) == (AGAINST_IDLE in cases) for cases in overheads)


def test_the_python_api_has_the_names_of_every_bridge() -> None:
    lines = [*describe_bridges()]
    titles = [f"### boathook.bridges.{name.replace('-', '_')}" for name in list_frameworks()]
    assert [line for line in lines if line.startswith("###")] == titles
    assert "class Guarded(hooks: Hooks | None = None, **options: Unpack[BridgeOptions])" in lines


def test_the_list_of_frameworks_does_not_run_into_the_remarks() -> None:
    page = next(text for path, text in write_framework_pages("") if path.name == "README.md")
    assert "](langchain.md)" in page
    assert "\n\n- Messages" in page
    # Items with nothing but an empty line between them are one list.
    assert re.findall(r"^- .*\n\n- .*", page, re.MULTILINE) == []
