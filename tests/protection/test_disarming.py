"""Ways to disarm boathook, and what looks like one: see tests/fixtures/self_protection."""

from __future__ import annotations

from typing import Any

import pytest

from boathook.protection.file_view import DiskView
from boathook.protection.objections import find_objection
from tests.protection.guarded_home import GuardedHome, describe_case, read_cases

DISARMING, HARMLESS = read_cases("disarming.jsonl"), read_cases("harmless.jsonl")


def _list_subjects(cases: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(case.get("does", "work") for case in cases))


@pytest.mark.parametrize("subject", _list_subjects(DISARMING))
def test_ways_to_disarm_are_objected_to(guarded: GuardedHome, subject: str) -> None:
    assert [
        case for case in DISARMING if case.get("does", "work") == subject and not guarded.find_objection(case)
    ] == []


@pytest.mark.parametrize("subject", _list_subjects(HARMLESS))
def test_everyday_work_is_free(guarded: GuardedHome, subject: str) -> None:
    cases = [case for case in HARMLESS if case.get("does", "work") == subject]
    assert {describe_case(case): what for case in cases if (what := guarded.find_objection(case))} == {}


def test_there_are_many_cases_and_none_twice() -> None:
    assert len({str(case) for case in DISARMING}) == len(DISARMING) >= 250
    assert len({str(case) for case in HARMLESS}) == len(HARMLESS) >= 100


def test_the_fast_path_hands_over_every_way_to_disarm(guarded: GuardedHome) -> None:
    kept = [case for case in DISARMING if not guarded.is_handed_over(guarded.make_event(case))]
    assert kept == []


ALL_FILES = (
    *("find . -type f | xargs sed -i 's/a b/c/'", "git ls-files | xargs sed -i s/a/b/", "chmod -R 644 ."),
    *("grep -rl foo . | xargs sed -i 's/foo/bar/g'", 'find . | while read f; do rm "$f"; done'),
    "for f in $(find . -type f); do sed -i 's/a b/c/' $f; done",
)


@pytest.mark.parametrize("command", ALL_FILES)
def test_a_change_of_all_files_of_a_project_counts_only_if_it_has_trusted_hooks(
    guarded: GuardedHome, command: str
) -> None:
    event = guarded.make_event({"command": command})
    places = guarded.protection.places
    other = tuple(place for place in places if not place.path.startswith(f"{guarded.project}/"))

    assert find_objection(event, guarded.protection, DiskView())
    assert not find_objection(event, guarded.protection.replace(places=other), DiskView())
