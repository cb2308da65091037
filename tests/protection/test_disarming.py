"""Ways to disarm boathook, and what looks like one: see tests/fixtures/self_protection."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protection.guarded_home import GuardedHome, describe_case, read_cases

DISARMING, HARMLESS = read_cases("disarming.jsonl"), read_cases("harmless.jsonl")


@pytest.mark.parametrize("case", DISARMING, ids=describe_case)
def test_a_way_to_disarm_is_objected_to(guarded: GuardedHome, case: dict[str, Any]) -> None:
    assert guarded.find_objection(case)


@pytest.mark.parametrize("case", HARMLESS, ids=describe_case)
def test_everyday_work_is_free(guarded: GuardedHome, case: dict[str, Any]) -> None:
    assert guarded.find_objection(case) == ""


def test_there_are_many_cases_and_none_twice() -> None:
    assert len({str(case) for case in DISARMING}) == len(DISARMING) >= 250
    assert len({str(case) for case in HARMLESS}) == len(HARMLESS) >= 100


def test_the_fast_path_hands_over_every_way_to_disarm(guarded: GuardedHome) -> None:
    kept = [case for case in DISARMING if not guarded.is_handed_over(guarded.make_event(case))]
    assert kept == []
