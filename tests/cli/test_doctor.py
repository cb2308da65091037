"""`boathook doctor`: every hook runs once, and one that does not work is an error."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.scratch_project import CALL, make_settings, write_script
from tests.terminal import add_agents


def _examine(project, *words, **env):
    done = project.run("doctor", *words, "--json", env=env)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def _of(found, name):
    (row,) = [row for row in found["hooks"] if row["hook"].partition("#")[0] == name]
    return row["result"], [(finding["level"], finding["text"]) for finding in row["findings"]]


def test_a_guard_that_blocks_works(project):
    project.write_hook(
        "guard", script="grep -q 'rm -rf' && exit 2", fields={"matcher": "{tool: Shell, pattern: 'rm -rf'}"}
    )
    code, found = _examine(project)
    result, findings = _of(found, "guard")
    assert (code, found["ok"], result) == (0, True, "works")
    assert findings[0][1].startswith("works: decision block, ")


def test_a_guard_that_objects_to_a_case_of_its_tests_is_named_with_the_case(project):
    folder = project.write_hook("guard", "grep -q 'rm -rf' && exit 2; exit 0", fields={"matcher": "{tool: Shell}"})
    (folder / "tests.txt").write_text("pass ls\n\nblock rm -rf x\n")
    result, findings = _of(_examine(project, "guard")[1], "guard")
    assert (result, len(findings)) == ("works", 1)
    assert findings[0][1].startswith("works: it answers block to a case of its tests (tests.txt:3), ")


def test_that_no_agent_asks_is_a_warning_where_there_are_agents(machine):
    def find_level():
        rows = _examine(machine)[1]["setup"]
        return next((row["level"] for row in rows if row["subject"] == "agents"), "")

    machine.write_hook("guard")
    assert find_level() == "note"
    add_agents(machine, "claude")
    assert find_level() == "warning"
    machine.run("install", "claude", "--yes")
    assert find_level() == ""


def test_one_hook_that_is_in_a_folder_of_the_wrong_name_is_found_there(project):
    folder = project.write_hook("guard", scope="project").parent
    project.trust("guard")
    wrong = folder.rename(folder.parent / "hook")
    found = _examine(project, "guard")[1]
    assert [(row["subject"], row["fix"]) for row in found["setup"]] == [(str(wrong), f"mv {wrong} {folder}")]
    project.run("untrust", "guard", "--yes")
    for command in ("doctor", "show"):
        refused = project.run(command, "guard").stderr
        assert "there is no hook 'guard' here" in refused
        assert f"its name must be 'hooks' (mv {wrong} {folder})" in refused


def test_hooks_run_in_a_scratch_folder_that_is_removed(project):
    project.write_hook(
        "writer", script=f'pwd > {project.base}/where; echo "$AGENT_PROJECT_DIR" >> {project.base}/where; touch made'
    )
    project.write_settings("user", make_settings(f"pwd > {project.base}/settings; touch made"))
    code, found = _examine(project, "--for-real")
    assert (code, found["firing"]["way"]) == (0, "for real")
    for line in [*(project.base / "where").read_text().split(), *(project.base / "settings").read_text().split()]:
        assert "boathook-doctor-" in line
        assert not Path(line).exists()
    assert not (project.path / "made").exists()


BROKEN = {
    "an interpreter that is missing": ("#!/no/such/thing\n", "its interpreter /no/such/thing does not exist here"),
    "Windows line ends": ("#!/bin/sh\r\nexit 0\r\n", "it has Windows line ends"),
    "a program that is missing": ("#!/bin/sh\nexec no-such-program\n", "cannot run"),
    "exit 127": ("#!/bin/sh\nexit 127\n", "cannot run"),
    "a failure": ("#!/bin/sh\necho broken >&2\nexit 1\n", "fails: "),
    "an answer that cannot be read": ("#!/bin/sh\necho '{\"decision\": 7}'\n", "fails: "),
    "a script that never ends": ("#!/bin/sh\nsleep 60\n", "did not end within 1 s"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_guard_does_not_work_with(project, case):
    text, reported = BROKEN[case]
    folder = project.write_hook("guard", fields={"timeout": "1000"})
    (folder / "scripts" / "run.sh").write_bytes(text.encode())
    code, found = _examine(project)
    result, findings = _of(found, "guard")
    assert (code, found["ok"], result) == (1, False, "fails")
    assert any(level == "error" and reported in text for level, text in findings), findings


def test_a_script_that_is_not_executable_is_reported_though_it_runs(project):
    folder = project.write_hook("guard")
    (folder / "scripts" / "run.sh").chmod(0o644)
    code, found = _examine(project)
    result, findings = _of(found, "guard")
    assert (code, result) == (0, "works")
    assert ("warning", "scripts/run.sh is not executable") in findings
    places = [(one["place"], one["fix"]) for one in found["hooks"][0]["findings"]]
    assert (f"{folder}/scripts/run.sh", f"chmod +x {folder}/scripts/run.sh") in places


@pytest.mark.parametrize("state", ["untrusted", "modified", "invalid", "no-entry-point"])
def test_a_guard_that_is_not_armed_fails(project, state):
    scope = "project" if state in ("untrusted", "modified") else "user"
    folder = project.write_hook("guard", scope=scope)
    if state == "modified":
        project.trust()
        (folder / "new").touch()
    if state == "invalid":
        (folder / "HOOK.md").write_text("---\nname: guard\n---\n")
    if state == "no-entry-point":
        (folder / "scripts" / "run.sh").unlink()
    code, found = _examine(project)
    result, findings = _of(found, "guard")
    assert (code, result) == (1, "fails")
    assert findings[0][0] == "error"
    reasons = {"invalid": "'description' is missing", "no-entry-point": "no entry point: "}
    assert findings[0][1].startswith(reasons.get(state, f"{state}: "))


def test_disabled_and_denied_hooks_are_not_an_error(project):
    project.write_hook("off")
    project.write_hooks_toml("user", "[[hooks.disable]]\nname = 'off'\n")
    project.write_hook("denied", scope="project")
    project.run("deny", "denied", "--yes")
    code, found = _examine(project)
    assert code == 0
    assert [row["result"] for row in found["hooks"]] == ["not run", "not run"]


def test_a_trusted_hook_of_the_project_runs_and_a_replaced_guard_is_reported(project):
    project.write_hook("guard", script="exit 2")
    project.write_hook("guard", scope="project", script="exit 0")
    project.trust(flags=("--yes", "--override"))
    code, found = _examine(project)
    rows = {row["scope"]: (row["result"], row["findings"][-1]["level"]) for row in found["hooks"]}
    assert (code, rows) == (0, {"user": ("not run", "warning"), "project": ("works", "ok")})


def test_hooks_with_effects_do_not_run(project):
    project.write_hook("deploy", script=f"touch {project.base}/fired", fields={"metadata": "{doctor: skip}"})
    project.write_settings("user", {"hooks": {"Stop": [{"hooks": [
        {"type": "http", "url": "http://127.0.0.1:9/x"}, {"type": "prompt", "prompt": "good?"}]}]}})  # fmt: skip
    code, found = _examine(project)
    assert code == 0
    texts = {row["hook"].partition("#")[0]: row["findings"][-1]["text"] for row in found["hooks"]}
    assert texts == {
        "deploy": "not run: its HOOK.md sets metadata.doctor: skip",
        "Stop:127.0.0.1-9": "not run: it would send a request to http://127.0.0.1:9",
        "Stop:prompt": "not run: it would call a model",
    }
    assert not (project.base / "fired").exists()


def test_a_matcher_that_fits_no_tool_is_reported(project):
    project.write_hook("guard", fields={"matcher": "{tool: ^Bsah$}"})
    code, found = _examine(project)
    result, findings = _of(found, "guard")
    assert (code, result) == (0, "works")
    message = "the tool pattern '^Bsah$' matches no known tool; this hook may never run on pre-tool-call"
    assert ("warning", message) in findings


def test_what_the_ledger_knows_is_reported(project):
    project.write_hook("guard", script="exit 1")
    for _ in range(3):
        project.dispatch()
    _, findings = _of(_examine(project)[1], "guard")
    assert ("warning", "it failed in every recorded run (3 runs)") in findings
    write_script(project.hooks_folder("user") / "guard", "exit 0")
    project.dispatch()
    _, found = _examine(project)
    assert not [text for level, text in _of(found, "guard")[1] if level == "warning"]
    # What ran before its script was changed says nothing about it.
    assert found["hooks"][0]["ledger"] == {"runs": 1, "failures": 0, "events": 1, "days": 0}


def test_a_slow_guard_is_reported(project):
    project.write_hook("guard", script="sleep 0.7", fields={"timeout": "5000"})
    code, found = _examine(project)
    result, findings = _of(found, "guard")
    assert (code, result) == (0, "works")
    assert findings[-1][0] == "warning"
    assert findings[-1][1].startswith("works, but is slow: ")


def test_a_hook_that_only_adds_context_is_reported_as_answering(project):
    project.write_hook("context", script="echo hello", fields={"trigger": "pre-session", "matcher": "{}"})
    _, found = _examine(project)
    assert _of(found, "context")[1][-1][1].startswith("works: it answered without a decision, ")


def test_a_run_leaves_no_record_of_a_dispatch(project):
    project.write_hook("guard", script="exit 2")
    _examine(project)
    lines = [json.loads(line) for path in project.state.glob("*.jsonl") for line in path.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["doctor"]


def test_a_ledger_that_cannot_be_written_is_an_error(project):
    project.state.parent.mkdir(parents=True)
    project.state.write_text("a file")
    code, found = _examine(project)
    assert code == 1
    assert [row["subject"] for row in found["setup"] if row["level"] == "error"] == ["ledger", "trust"]


def test_the_sandbox_levels_of_the_machine_are_reported(project):
    _, found = _examine(project)
    subjects = [row["subject"] for row in found["setup"] if row["subject"].startswith("sandbox")]
    assert subjects == ["sandbox basic", "sandbox restricted", "sandbox isolated"]


def test_a_host_that_calls_what_is_not_there_is_an_error(project):
    project.write_settings(
        "user", make_settings("python3 -I -S /gone/boathook/entry/hook_entry.py --host claude --event PreToolUse")
    )
    code, found = _examine(project)
    assert code == 1
    (row,) = [row for row in found["setup"] if row["subject"] == "host claude"]
    assert row["level"] == "error"
    assert row["text"].endswith("calls /gone/boathook/entry/hook_entry.py, which does not exist")


def test_a_host_that_calls_another_boathook_is_reported(project):
    other = project.base / "boathook" / "entry" / "hook_entry.py"
    other.parent.mkdir(parents=True)
    other.touch()
    project.write_settings("user", make_settings(f"python3 -I -S {other} --host claude --event PreToolUse"))
    code, found = _examine(project)
    (row,) = [row for row in found["setup"] if row["subject"] == "host claude"]
    assert (code, row["level"]) == (0, "warning")


def test_a_trusted_hook_that_is_gone_is_reported(project):
    folder = project.write_hook("guard", scope="project")
    project.trust()
    os.rename(folder, project.base / "away")
    code, found = _examine(project)
    result, findings = _of(found, "guard")
    assert (code, result) == (0, "not run")
    advice = "Restore it, or end its trust with: boathook untrust guard"
    assert findings == [("note", f"not in this checkout: you trusted it, and it is gone. {advice}")]


def test_a_trusted_hook_that_a_nearer_project_hides_fails(project):
    project.write_hook("guard", scope="project")
    project.trust()
    (project.path / "sub/.agents/hooks").mkdir(parents=True)
    done = project.run("doctor", "--json", "--project", str(project.path / "sub"))
    (row,) = json.loads(done.stdout)["hooks"]
    assert (done.returncode, row["state"], row["result"]) == (1, "hidden by a nearer project", "fails")


def test_a_person_reads_a_line_for_every_hook_and_a_sum(project):
    project.write_hook("good", script="exit 2")
    project.write_hook("bad", script="exit 1")
    done = project.run("doctor")
    assert done.returncode == 1
    assert done.stdout.rstrip().endswith("2 hooks: 1 working, 1 failing, 0 not run")
    assert CALL["event_type"] not in done.stderr


def test_a_missing_script_that_blocks_every_call_does_not_work(project):
    folder = project.path / ".github/hooks"
    folder.mkdir(parents=True)
    entry = {"type": "command", "bash": "./no-such-guard.sh"}
    (folder / "guards.json").write_text(json.dumps({"version": 1, "hooks": {"preToolUse": [entry]}}))
    project.write_hooks_toml("user", '[hooks]\nsources = ["hook-md", "settings", "copilot"]\n')
    project.trust()
    code, found = _examine(project)
    missing, blocking = [one["text"] for one in found["hooks"][0]["findings"] if one["level"] == "error"]
    assert "no-such-guard.sh does not exist" in missing
    assert (code, blocking.partition(":")[0]) == (1, "cannot run, so it blocks every call")
