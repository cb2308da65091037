"""The cases of tests.txt of the guards, asked in process."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.git_repository import commit_all
from tests.packs.standard_guards import GUARDS, PACK, ask_guard, load_guard, make_project


class Case(NamedTuple):
    line: int
    decision: str
    tool: str
    value: str
    git: str
    # Files of the first commit, and files that are new.
    committed: tuple[str, ...]
    files: tuple[str, ...]
    says: tuple[str, ...]


def read_cases(name):
    cases = []
    for number, line in enumerate((PACK / "hooks" / name / "tests.txt").read_text().splitlines(), start=1):
        word, _, value = line.strip().partition(" ")
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            tool = re.match(r"(WriteFile): ", value.strip())
            plain = value.strip() if not tool else value.strip()[tool.end() :]
            cases.append(Case(number, word, tool[1] if tool else "Shell", plain, "", (), (), ()))
        elif word == "git":
            cases[-1] = cases[-1]._replace(git=value, committed=cases[-1].files, files=())
        elif word == "file":
            cases[-1] = cases[-1]._replace(files=(*cases[-1].files, value))
        elif word == "says":
            cases[-1] = cases[-1]._replace(says=(*cases[-1].says, value))
        else:
            pytest.fail(f"{name}/tests.txt:{number}: {word!r} is not read here")
    return cases


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """Scratch projects by what their cases say of them."""
    made = {}

    def get(case):
        key = (case.git, case.committed, case.files)
        if key not in made:
            branch, _, state = case.git.partition(" ")
            folder = tmp_path_factory.mktemp("scratch")
            project = make_project(folder, branch, is_dirty=state == "dirty", is_empty=state == "empty")
            for path in (*case.committed, *case.files):
                (project / path).parent.mkdir(exist_ok=True)
                (project / path).write_text("")
                if path in case.committed:
                    commit_all(project)
            made[key] = project
        return made[key]

    return get


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_answers_as_its_cases_expect(name, projects):
    guard = load_guard(name)
    cases = read_cases(name)
    wrong, reasons = [], []
    for case in cases:
        answer = ask_guard(guard, projects(case), case.value, case.tool)
        decision = answer.decision if answer else "pass"
        reasons += [answer.reason] if answer else []
        is_said = all(text in (answer.reason if answer else "") for text in case.says)
        if decision != case.decision or not is_said:
            wrong.append(f"{name}/tests.txt:{case.line}: {case.value!r}: {decision} {answer and answer.reason}")
    assert wrong == []
    decisions = [case.decision for case in cases]
    assert len(decisions) >= 8
    assert decisions.count("pass") >= 3
    assert set(decisions) > {"pass"}
    assert [reason for reason in reasons if not is_helpful(reason)] == []


def is_helpful(reason):
    """Whether a reason says what is wrong and names the safe way, in few words."""
    return (
        len(re.findall(r"\.(?= |$)", reason)) >= 2
        and reason.endswith(".")
        and len(reason) <= 320
        and "\0" not in reason
    )
