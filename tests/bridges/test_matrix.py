"""The matrix of bridges: what is possible of a behaviour, scene by scene, and what a bridge costs against its goal."""

from __future__ import annotations

import pytest

from bench.bridge_overhead import CASES
from scripts.generate_bridges import describe_bridges, make_result, read_results, write_cell, write_overhead
from tests.bridges.behaviours import COST, COST_GOALS
from tests.bridges.frameworks import list_frameworks

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


def test_every_goal_is_of_a_case_that_is_measured() -> None:
    assert set(COST_GOALS) <= set(CASES)
    assert all(set(cases) == set(CASES) for result in read_results() for cases in result["overhead"].values())


def test_the_python_api_has_the_names_of_every_bridge() -> None:
    lines = [*describe_bridges()]
    titles = [f"### boathook.bridges.{name.replace('-', '_')}" for name in list_frameworks()]
    assert [line for line in lines if line.startswith("###")] == titles
    assert "class Guarded(hooks: Hooks | None = None, **options: Unpack[BridgeOptions])" in lines
