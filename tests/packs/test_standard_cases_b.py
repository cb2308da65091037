"""The cases in tests.txt of the guards of the standard pack, asked in process."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from boathook.guards import GuardedCall

PACK = Path(__file__).parents[2] / "src/boathook/packs/standard"
GUARDS = (
    *("protect-files", "secret-read", "secret-send", "secret-scan", "database", "cloud", "publish", "pipelines"),
    *("preferred-tools", "lock-files", "large-file", "commit-message", "new-dependency"),
)
MAIN_KEYS = {"Shell": "command", "Glob": "pattern", "Grep": "pattern"}


def read_cases(path: Path) -> list[dict[str, Any]]:
    """Return the cases of a tests.txt: a small reader of the words that guards need."""
    cases: list[dict[str, Any]] = []
    body: list[str] | None = None
    for line in path.read_text().splitlines():
        if line[:1].strip() and not line.startswith("#"):
            decision, _, value = line.partition(" ")
            match = re.match(r"([A-Z]\w*|mcp__\w+):(?: (.*)|$)", value.strip())
            tool, value = (match[1], match[2] or "") if match else ("Shell", value.strip())
            case: dict[str, Any] = {"line": line, "decision": decision, "tool": tool, "files": {}, "says": []}
            case["input"] = {MAIN_KEYS.get(tool, "file_path"): value} if value else {}
            cases.append(case)
            body = None
        elif line.startswith(" " * 9) and body is not None:
            body.append(line[9:])
        elif line.strip() and not line.startswith("#"):
            word, _, text = line.strip().partition(" ")
            body = add_detail(cases[-1], word, text)
    return cases


def add_detail(case: dict[str, Any], word: str, text: str) -> list[str] | None:
    if word == "says":
        case["says"].append(text)
    elif word == "settings":
        case["settings"] = json.loads(text)
    elif word == "input":
        case["input"] = json.loads(text)
    elif word == "with":
        name, _, value = text.partition(" ")
        case["input"][name] = value or (body := [])
        return None if value else body
    elif word == "file":
        return case["files"].setdefault(text, [])
    else:
        raise AssertionError(f"unknown word {word}")
    return None


def load_guard(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(
        f"standard_{name.replace('-', '_')}", PACK / f"hooks/{name}/scripts/run.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_answers_its_cases_as_expected(name, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(PACK / "lib"), *sys.path])
    decide = load_guard(name).decide
    cases = read_cases(PACK / f"hooks/{name}/tests.txt")
    assert len(cases) >= 4
    wrong = []
    for number, case in enumerate(cases):
        project = tmp_path / str(number)
        for path, lines in case["files"].items():
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            (project / path).write_text("\n".join(lines) + "\n")
        tool_input = {
            key: "\n".join(value) if isinstance(value, list) and key in ("patch", "command") else value
            for key, value in case["input"].items()
        }
        fields = {
            "event_type": "pre-tool-call",
            "tool_name": case["tool"],
            "tool_input": tool_input,
            "work_dir": str(project),
        }
        call = GuardedCall(fields, project=str(project), home="/home/kim")
        call.settings = case.get("settings", {})
        answer = decide(call)
        given = answer.decision if answer else "pass"
        if given != case["decision"] or any(text not in (answer.reason if answer else "") for text in case["says"]):
            wrong.append((case["line"], given, answer.reason if answer else ""))
    assert not wrong, "\n".join(map(str, wrong))


def test_every_guard_can_be_run_and_has_a_description():
    for folder in sorted((PACK / "hooks").iterdir()):
        head = (folder / "HOOK.md").read_text().split("---")[1]
        assert f"\nname: {folder.name}\n" in head
        assert os.access(folder / "scripts/run.py", os.X_OK), folder.name
        assert (folder / "tests.txt").is_file(), folder.name
