"""What `boathook test` does not say about the guards of the standard pack: their cases are enough, and their reasons help."""

# That a guard answers as its cases expect is shown by `make test-hooks`, with real processes.

from __future__ import annotations

import json
import os
import re

import pytest

from boathook.core.hook import USER
from boathook.guards import GuardedCall
from boathook.hook_tests.case_event import make_case_event
from boathook.hook_tests.case_file import load_cases
from boathook.sources.hook_md.folder import read_hook
from tests.packs.standard_guards import PACK, load_guard

HOOKS = sorted(folder.name for folder in (PACK / "hooks").iterdir())
GUARDS = [name for name in HOOKS if "run_guard(" in (PACK / "hooks" / name / "scripts/run.py").read_text()]


def test_every_hook_has_its_name_a_script_that_can_be_run_and_tests():
    for name in HOOKS:
        folder = PACK / "hooks" / name
        assert f"\nname: {name}\n" in (folder / "HOOK.md").read_text().split("---")[1]
        assert os.access(folder / "scripts/run.py", os.X_OK), name
        assert len(load_cases(str(folder / "tests.txt"))) >= 4, name


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_has_cases_of_both_sorts_and_its_reasons_name_the_safe_way(name):
    folder = PACK / "hooks" / name
    hook, _ = read_hook(str(folder / "HOOK.md"), str(folder), USER)
    guard = load_guard(name)
    cases = load_cases(str(folder / "tests.txt"))
    assert {"pass"} < {case.word for case in cases}
    unhelpful = []
    for case in (case for case in cases if case.is_plain and case.word in ("ask", "block")):
        event = make_case_event(case, hook, "/home/kim/project")
        fields = json.loads(hook.dialect.write_event(event, hook.trigger))
        answer = guard.decide(GuardedCall(fields, project="/home/kim/project", home="/home/kim"))
        if answer and not is_helpful(answer.reason):
            unhelpful.append(answer.reason)
    assert unhelpful == []


def is_helpful(reason):
    """Whether a reason says what is wrong and names the safe way, in few words."""
    return (
        len(re.findall(r"\.(?= |$)", reason)) >= 2
        and reason.endswith(".")
        and len(reason) <= 320
        and "\0" not in reason
    )
