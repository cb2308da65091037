"""What commands report about small things that people stumble over."""

from __future__ import annotations

import json

from tests.scratch_project import CALL, make_settings


def test_run_names_the_option_for_the_payload_of_an_agent(project):
    done = project.run(
        "run", stdin=json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}})
    )
    assert done.returncode == 1
    assert "'hook_event_name' is 'PreToolUse'" in done.stderr
    assert "--host claude" in done.stderr


def test_list_shows_the_entries_that_install_wrote_as_one_line(project):
    assert project.run("install", "claude", "--yes").returncode == 0
    lines = project.run("list").stdout.splitlines()
    assert [line for line in lines if "boathook is installed in" in line] == lines[:1]
    assert "There are no other hooks." in lines[1]
    project.write_hook("guard")
    printed = project.run("list").stdout
    assert "guard" in printed
    assert "calls boathook itself" not in printed
    assert "boathook check" not in printed
    assert len(project.list_hooks()) > 2


def test_uninstall_reports_that_running_agents_must_be_restarted(project):
    project.run("install", "claude", "--yes")
    assert "calls boathook until you restart it" in project.run("uninstall", "claude", "--yes").stdout


def test_doctor_notes_a_guard_that_lets_its_own_sample_pass(project):
    fields = {"matcher": "{tool: Shell, pattern: 'rm -rf'}"}
    project.write_hook("open", "exit 0", fields=fields)
    project.write_hook("closed", "exit 2", fields=fields)
    project.write_hook("wide", "exit 0")
    done = project.run("doctor")
    notes = [line for line in done.stdout.splitlines() if "let a sample pass" in line]
    assert [line.split()[1] for line in notes] == ["open"]
    assert "rm -rf" in notes[0]
    assert done.returncode == 0


def test_keys_of_a_matcher_that_are_not_indented_are_read_and_reported(project):
    manifest = "---\nname: guard\ndescription: x\ntrigger: pre-tool-call\nmatcher:\ntool: Shell\npattern: rm\n---\n"
    project.write_hook("guard", "exit 2", manifest=manifest)
    assert project.dispatch()["decision"] == "none"
    assert project.dispatch(event={**CALL, "tool_input": {"command": "rm x"}})["decision"] == "block"
    printed = project.run("check").stdout
    assert "'tool' is beside 'matcher', not below it" in printed
    assert "indent it below matcher:" in printed


def test_a_comment_among_the_events_of_settings_is_not_an_error_but_hooks_under_such_a_name_are(project):
    settings = make_settings("exit 0")
    settings["hooks"] |= {"_comment": "mine", "//": ["a", "b"]}
    project.write_settings("project", settings)
    assert "all good" in project.run("check").stdout
    settings["hooks"]["_PreToolUse"] = settings["hooks"]["PreToolUse"]
    project.write_settings("project", settings)
    assert "there is no event '_PreToolUse'" in project.run("check").stdout


def test_commands_name_the_folder_of_the_project_and_not_the_private_copy(project):
    folder = project.write_hook("guard", script=None, scope="project")
    (folder / "script").mkdir()
    review = project.trust().stdout
    assert "it has no script to run" in review
    listed = project.run("list").stdout
    assert "guard  no-entry-point: none of scripts/run" in listed
    assert "no-entry-point: no entry point" not in listed
    assert "fix: rename the folder script to scripts" in project.run("check").stdout
    assert f"fix: add {folder}/scripts/run.sh" in project.run("doctor").stdout


def test_a_shadowed_hook_names_the_folder_of_the_project_that_replaces_it(project):
    project.write_hook("guard")
    folder = project.write_hook("guard", scope="project")
    review = project.trust(flags=("--yes", "--override")).stdout
    assert "no script to run" not in review
    assert f"shadowed: replaced by the project's hook in {folder}\n" in project.run("list").stdout
