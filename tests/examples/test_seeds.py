"""The hooks after the sources' own examples: they load and behave as they did there, slips included."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.examples.example_project import ROOT, ExampleProject

SEEDS = ROOT / "tests" / "fixtures" / "seeds"


@pytest.fixture
def project(tmp_path: Path) -> ExampleProject:
    return ExampleProject(tmp_path)


def shell(command: str) -> dict[str, Any]:
    return {
        "event_type": "pre-tool-call",
        "work_dir": "{project}",
        "tool_name": "Shell",
        "tool_input": {"command": command},
    }


def written(path: str) -> dict[str, Any]:
    tool = {"tool_name": "WriteFile", "tool_input": {"path": path, "content": "x=1\n"}}
    return {"event_type": "post-tool-call", "work_dir": "{project}", **tool}


STOP = {"event_type": "pre-agent-turn-stop", "work_dir": "{project}", "stop_reason": "no_tool_calls"}
END = {"event_type": "post-session", "work_dir": "{project}", "exit_reason": "user_exit"}


def play(project: ExampleProject, hook: str, event: dict[str, Any], *, compact: bool = False) -> tuple[str, list[str]]:
    """Decision and reasons of an event with one hook of the seeds."""
    if not (project.path / ".agents" / "hooks" / hook).exists():
        project.copy_hook(SEEDS / hook)
    verdict = project.fire(event, compact=compact)
    return verdict["decision"], verdict["reasons"]


# loading


def test_every_seed_loads_with_the_problems_it_was_given(project: ExampleProject) -> None:
    for folder in SEEDS.iterdir():
        if folder.is_dir():
            project.copy_hook(folder)
    backslash = [("warning", "YAML treats a backslash in double quotes as an escape; boathook kept it")]
    no_script = [("error", "no entry point: none of scripts/run, scripts/run.sh, scripts/run.py is a file")]
    assert {row["name"]: summary(row) for row in project.list_hooks()} == {
        "audit-log": ("no-entry-point", "post-session", "async", no_script),
        "auto-format-python": ("armed", "after_tool", "async", backslash),
        "block-dangerous-commands": ("armed", "pre-tool-call", "sync", []),
        "block-dangerous-legacy": ("armed", "before_tool", "sync", []),
        "block-prod-deploy": ("armed", "pre-tool-call", "sync", []),
        "enforce-test-coverage": ("armed", "pre-agent-turn-stop", "sync", []),
        "enforce-tests": ("armed", "before_stop", "sync", []),
        "fail-open": ("armed", "before_tool", "sync", []),
        "first-steps": ("armed", "before_tool", "sync", []),
        "memo-capture": ("armed", "pre-agent-turn-stop", "sync", []),
        "notify-slack": ("no-entry-point", "post-session", "sync", no_script),
        "python-check": ("armed", "before_tool", "sync", []),
        "security-check": ("armed", "before_tool", "sync", [("error", "'description' is missing")]),
        "source-files": ("armed", "post-tool-call", "sync", backslash),
    }


def summary(row: dict[str, Any]) -> tuple[str, str, str, list[tuple[str, str]]]:
    problems = [(problem["level"], problem["message"]) for problem in row["diagnostics"]]
    return row["state"], row["trigger"], row["mode"], problems


def test_a_backslash_in_double_quotes_means_what_was_meant(project: ExampleProject) -> None:
    project.copy_hook(SEEDS / "auto-format-python")
    project.copy_hook(SEEDS / "source-files")
    assert [row["matcher"] for row in project.list_hooks()] == [
        {"tool": "WriteFile", "pattern": r"\.py$"},
        {"tool": "WriteFile", "pattern": r"\.(py|js|ts)$"},
    ]


@pytest.mark.parametrize("hook", ["audit-log", "notify-slack"])
def test_a_hook_without_a_script_is_named_as_skipped(hook: str, project: ExampleProject) -> None:
    project.copy_hook(SEEDS / hook)
    verdict = project.fire(END)
    assert (verdict["decision"], verdict["runs"], verdict["background"]) == ("none", [], [])
    assert [skipped["hook"] for skipped in verdict["skipped"]] == [hook]
    assert "no entry point" in verdict["skipped"][0]["why"]


def test_a_hook_without_a_description_still_runs(project: ExampleProject) -> None:
    assert play(project, "security-check", shell("ls")) == ("allow", [])


# dangerous commands


BOUNDED = ["block-dangerous-commands", "block-dangerous-legacy"]


@pytest.mark.parametrize("hook", BOUNDED)
def test_the_word_boundary_lets_the_root_itself_be_deleted(hook: str, project: ExampleProject) -> None:
    project.copy_hook(SEEDS / hook)
    verdict = project.fire(shell("rm -rf /"))
    assert verdict["decision"] == "none"
    assert [(run["status"], run["exit_code"]) for run in verdict["runs"]] == [("ok", 0)]


@pytest.mark.parametrize("hook", BOUNDED)
def test_the_word_boundary_blocks_a_harmless_folder_instead(hook: str, project: ExampleProject) -> None:
    assert play(project, hook, shell("rm -rf /tmp/x")) == ("block", ["refused: rm -rf / wrecks the machine"])


@pytest.mark.parametrize("hook", BOUNDED)
@pytest.mark.parametrize("command", ["mkfs /dev/sda1", "sudo mkfs.ext4 /dev/sda1"])
def test_a_new_file_system_is_blocked(hook: str, command: str, project: ExampleProject) -> None:
    assert play(project, hook, shell(command)) == ("block", ["refused: mkfs wrecks the machine"])


def test_zeros_are_blocked_and_text_over_a_disk_only_wakes_the_script(project: ExampleProject) -> None:
    hook = "block-dangerous-commands"
    assert play(project, hook, shell("dd if=/dev/zero of=x")) == (
        "block",
        ["refused: dd if=/dev/zero wrecks the machine"],
    )
    verdict = project.fire(shell("echo x >:/dev/sda"))
    assert (verdict["decision"], len(verdict["runs"])) == ("none", 1)


def test_a_compact_event_reaches_the_script_with_spaces_and_so_is_blocked(project: ExampleProject) -> None:
    hook = "block-dangerous-commands"
    assert play(project, hook, shell("mkfs /dev/sda1"), compact=True) == ("block", ["refused: mkfs wrecks the machine"])


@pytest.mark.parametrize(("separators", "code"), [((",", ":"), 0), ((", ", ": "), 2)])
def test_the_script_by_itself_needs_the_space_after_the_colon(
    separators: tuple[str, str], code: int, project: ExampleProject
) -> None:
    script = SEEDS / "block-dangerous-commands" / "scripts" / "run.sh"
    event = json.dumps(shell("mkfs /dev/sda1"), separators=separators)
    done = subprocess.run([script], input=event, env=project.environment, capture_output=True, text=True)
    assert done.returncode == code


@pytest.mark.parametrize("hook", [*BOUNDED, "first-steps"])
def test_an_escaped_quote_hides_what_comes_after_it(hook: str, project: ExampleProject) -> None:
    assert play(project, hook, shell('echo "hi" && mkfs /dev/sda1')) == ("none", [])


def test_the_first_example_has_no_boundary_and_blocks_the_root(project: ExampleProject) -> None:
    reason = "refused, this wrecks the machine: rm -rf /"
    assert play(project, "first-steps", shell("rm -rf /")) == ("block", [reason])


def test_the_older_name_of_an_event_is_answered_by_the_newer_one_and_the_other_way_round(
    project: ExampleProject,
) -> None:
    older = {**shell("mkfs x"), "event_type": "before_tool"}
    blocked = ("block", ["refused: mkfs wrecks the machine"])
    assert [
        play(project, "block-dangerous-commands", older),
        play(project, "block-dangerous-commands", shell("mkfs x")),
    ] == [
        blocked,
        blocked,
    ]


def test_the_python_script_blocks_by_the_bare_text(project: ExampleProject) -> None:
    assert play(project, "python-check", shell("echo mkfs")) == ("block", ["found in the command: mkfs"])


@pytest.mark.parametrize("event", [shell("ls"), {**written("x.txt"), "event_type": "pre-tool-call"}])
def test_the_python_script_allows_the_rest(event: dict[str, Any], project: ExampleProject) -> None:
    assert play(project, "python-check", event) == ("allow", [])


def test_a_script_that_catches_its_own_error_lets_the_operation_pass(project: ExampleProject) -> None:
    assert play(project, "fail-open", {**shell(""), "tool_input": {}}) == ("allow", [])
    assert play(project, "fail-open", shell("halt")) == ("block", ["not now"])
    assert play(project, "fail-open", shell("ls")) == ("none", [])


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("./deploy.sh prod", "block"),
        ("kubectl get pods -n production", "block"),
        ("./deploy.sh product-page", "block"),
        ("./deploy.sh staging", "none"),
        ("kubectl get pods -n prod", "none"),
    ],
)
def test_production_is_recognized_by_the_matcher_alone(command: str, decision: str, project: ExampleProject) -> None:
    reasons = ["production is out of bounds"] if decision == "block" else []
    assert play(project, "block-prod-deploy", shell(command)) == (decision, reasons)


# files


FAKE_BLACK = '#!/bin/sh\necho "$*" >>asked\n'


@pytest.mark.parametrize(("path", "asked"), [("app.py", "--quiet .\n"), ("app.pyc", None)])
def test_a_python_file_is_formatted_in_the_background(path: str, asked: str | None, project: ExampleProject) -> None:
    project.copy_hook(SEEDS / "auto-format-python")
    project.write_tool("black", FAKE_BLACK)
    verdict = project.fire(written(path))
    assert [started["hook"] for started in verdict["background"]] == (["auto-format-python"] if asked else [])
    assert project.wait_for_file("asked", asked) == asked


@pytest.mark.parametrize(("path", "decision"), [("a.ts", "allow"), ("a.py", "allow"), ("a.tsx", "none")])
def test_source_files_are_recognized_by_their_ending(path: str, decision: str, project: ExampleProject) -> None:
    assert play(project, "source-files", written(path)) == (decision, [])


# quality gates


def npm(output: str, code: int) -> str:
    return f"#!/bin/sh\necho '{output}'\necho 'on stderr' >&2\nexit {code}\n"


def test_red_tests_send_the_agent_back(project: ExampleProject) -> None:
    project.write_tool("npm", npm("1 failed", 1))
    assert play(project, "enforce-tests", STOP) == ("block", ["make the tests green first"])


def test_what_green_tests_print_becomes_context(project: ExampleProject) -> None:
    project.copy_hook(SEEDS / "enforce-tests")
    project.write_tool("npm", npm("3 passed", 0))
    verdict = project.fire(STOP)
    assert verdict["decision"] == "none"
    assert [text.strip() for text in verdict["additional_context"]] == ["3 passed\non stderr"]


def test_what_green_tests_print_may_look_like_a_broken_answer_and_the_stop_passes(project: ExampleProject) -> None:
    project.copy_hook(SEEDS / "enforce-tests")
    project.write_tool("npm", npm("[1/3] ok", 0))
    verdict = project.fire(STOP)
    assert verdict["decision"] == "none"
    assert verdict["additional_context"] == []
    assert [run["status"] for run in verdict["runs"]] == ["unreadable"]


@pytest.mark.parametrize(
    ("npm_code", "black_code", "expected"),
    [
        (1, 0, ("block", ["the tests are red, so there is more to do"])),
        (0, 1, ("block", ["the code is not formatted; black . mends that"])),
        (0, 0, ("none", [])),
    ],
)
def test_tests_come_before_the_format(
    npm_code: int, black_code: int, expected: tuple[str, list[str]], project: ExampleProject
) -> None:
    project.write_tool("npm", npm("tests", npm_code))
    project.write_tool("black", npm("format", black_code))
    assert play(project, "enforce-test-coverage", STOP) == expected


def test_the_banner_in_plain_text_becomes_context_once_per_project(project: ExampleProject) -> None:
    project.copy_hook(SEEDS / "memo-capture")
    project.write_files({".monoco/MEMO.md": "## One\n\n## Two\n"})
    first, second = project.fire(STOP), project.fire({**STOP, "session_id": "another"})
    assert [first["decision"], second["decision"]] == ["none", "none"]
    assert len(first["additional_context"]) == 1
    assert "Loose thoughts" in first["additional_context"][0]
    assert first["additional_context"][0].endswith("Kept so far: 2")
    assert second["additional_context"] == []
    assert project.read_file(".monoco/.memo_reminded") == ""


def test_a_memo_without_headings_counts_zero_twice(project: ExampleProject) -> None:
    project.copy_hook(SEEDS / "memo-capture")
    project.write_files({".monoco/MEMO.md": "nothing yet\n"})
    assert project.fire(STOP)["additional_context"][0].endswith("Kept so far: 0\n0")
