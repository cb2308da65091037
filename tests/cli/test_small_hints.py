"""What commands report about small things that people stumble over."""

from __future__ import annotations

import json
import subprocess
import sys

from boathook.command_rows import COMMANDS
from tests.scratch_project import CALL, make_settings
from tests.terminal import read_screen


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
    assert (
        [line for line in lines if "claude" in line]
        == lines[:1]
        == ["Agents that call boathook: claude (boathook status)"]
    )
    assert "There are no other hooks." in lines[1]
    assert "Next:" not in lines[-1]
    project.write_hook("guard")
    assert project.run("install", "codex", "--yes").returncode == 0
    assert "Agents that call boathook: claude, codex (boathook status)\n" in project.run("list").stdout
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
    assert "fix: rename the folder script to scripts" in project.run("doctor").stdout
    (folder / "script").rmdir()
    project.trust()
    for command in ("check", "doctor"):
        assert f"fix: add {folder}/scripts/run.sh" in project.run(command).stdout


def test_a_shadowed_hook_names_the_folder_of_the_project_that_replaces_it(project):
    project.write_hook("guard")
    folder = project.write_hook("guard", scope="project")
    review = project.trust(flags=("--yes", "--override")).stdout
    assert "no script to run" not in review
    assert f"shadowed: replaced by the project's hook in {folder}\n" in project.run("list").stdout


def test_a_name_that_is_nearly_an_event_of_an_agent_is_suggested(project):
    done = project.run("run", "--host", "claude", "pretooluse", stdin="{}")
    assert done.stderr.endswith("no hook was asked (did you mean 'PreToolUse'?)\n")
    assert "did you mean" not in project.run("run", "--host", "claude", "nonsense", stdin="{}").stderr
    assert "List the events with: boathook events" in project.run("run", "nonsense", stdin="{}").stderr


def test_explain_takes_a_bare_text_as_the_command_of_a_shell(project):
    project.write_hook("guard", fields={"matcher": "{tool: Shell, pattern: 'rm -rf'}"})
    for words in ((), ("--tool", "Shell"), ("--tool", "Bash")):
        printed = project.run("explain", "pre-tool-call", *words, "--input", "rm -rf /").stdout
        assert printed.splitlines()[1].startswith("runs"), printed
    refused = project.run("explain", "pre-tool-call", "--tool", "WriteFile", "--input", "x")
    assert "--input is not JSON" in refused.stderr
    assert """Example: --input '{"file_path": "…"}'""" in refused.stderr


def test_replay_names_the_path_that_does_not_exist_and_the_folder_that_was_meant(project):
    folder = project.write_hook("guard")
    assert project.run("replay", "--hook", "nosuch").stderr == (
        "boathook: nosuch does not exist: pass the folder of a hook to --hook\n"
    )
    assert project.run("replay", "--hook", "guard").stderr.endswith(f"Did you mean {folder}?\n")


def test_help_shows_the_help_of_a_command(project):
    assert project.run("help").stdout == project.run("--help").stdout
    assert project.run("help", "log").stdout == project.run("log", "--help").stdout
    assert project.run("help", "pack", "add").stdout == project.run("pack", "add", "--help").stdout
    for words in (("nosuch",), ("log", "x")):
        done = project.run("help", *words)
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)


def test_a_reader_that_ends_early_ends_a_command_without_a_message(project):
    for name in map(str, range(40)):
        project.write_hook(f"guard-{name}")
    for command in ("list", "list --json", "events", "--help"):
        line = f"{sys.executable} -m boathook {command} | true; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=project.environment)
        assert (done.returncode in (0, 141), done.stderr) == (True, ""), command


def test_without_colours_nothing_is_bold(project):
    project.write_hook("guard")
    assert "\x1b" in read_screen(project, 80, "list", has_color=True)
    assert "\x1b" not in read_screen(project, 80, "list")


def test_one_line_summaries_of_commands_fit_into_80_columns(project):
    printed = read_screen(project, 80, "--help")
    rows = printed.partition("Start:")[2].splitlines()
    assert len([row for row in rows if row.startswith("  ")]) == len(COMMANDS)
    assert max(map(len, rows)) <= 80


def test_a_run_that_fails_names_the_script_of_the_project_and_not_the_private_copy(project):
    folder = project.write_hook("guard", b"#!/bin/sh\r\nexit 2\r\n", scope="project")
    project.trust()
    done = project.run("run", stdin=json.dumps(CALL))
    assert f"{folder}/scripts/run.sh cannot be started" in done.stderr
    assert "/copies/" not in done.stderr


def test_a_name_where_there_are_no_hooks_is_answered_with_how_to_create_one(project):
    done = project.run("doctor", "absent")
    assert done.returncode == 1
    assert done.stderr == (
        "boathook: there is no hook 'absent' here, and no other hook. Create one: boathook new --help\n"
    )


def test_the_shell_is_guarded_under_the_name_that_everybody_knows(project):
    project.write_hook("guard", "echo no >&2; exit 2", fields={"matcher": "{tool: Shell}"})
    project.write_hook("converted", "echo never >&2; exit 2", fields={"matcher": "{tool: '^Bash$'}"})
    for name in ("Bash", "Shell"):
        assert project.dispatch(event={**CALL, "tool_name": name})["decision"] == "block"
        printed = project.run("explain", "pre-tool-call", "--tool", name).stdout
        assert [line.split()[0] for line in printed.splitlines()[1:]] == ["runs", "runs"]


def test_explain_warns_of_the_name_of_a_tool_that_reaches_no_hook_without_its_agent(project):
    project.write_hook("guard", "exit 2", fields={"matcher": "{tool: Shell}"})
    printed = project.run("explain", "pre-tool-call", "--tool", "run_shell_command").stdout
    assert "does not match 'Shell'" in printed
    assert "The agents that have a tool run_shell_command send it as Shell" in printed
    assert "Try --tool Shell" in printed


def test_a_short_option_shows_the_version(project):
    shown = {project.run(word).stdout for word in ("-v", "-V", "--version", "version")}
    assert len(shown) == 1
    assert shown.pop().startswith("boathook, version ")


def test_log_explains_why_a_hook_may_have_no_records(project):
    project.write_hook("guard", fields={"matcher": "{tool: Never}"})
    assert project.run("log", "--hook", "guard").stdout.count("\n") == 1
    assert "There is no hook 'gaurd' here: did you mean 'guard'?" in project.run("log", "--hook", "gaurd").stdout
    project.write_hooks_toml("user", '[[hooks.disable]]\nname = "guard"\n')
    assert "guard does not run here: disabled: disabled by" in project.run("log", "--hook", "guard").stdout


def test_the_name_of_a_pack_in_place_of_its_hooks_is_explained(project):
    project.run("pack", "add", "boathook/standard", "--yes")
    refused = project.run("pack", "off", "standard").stderr
    assert "it is a pack: name its hooks, as in boathook/standard:HOOK" in refused


def test_an_agent_that_is_nearly_known_is_suggested_to_convert(project):
    assert "did you mean 'claude'?" in project.run("convert", "to-hookmd", "--from", "claud").stderr


def test_an_option_in_place_of_an_argument_is_explained(project):
    assert "No such option '--hook'. Write the HOOK without it." in project.run("doctor", "--hook", "guard").stderr
    assert "Write the" not in project.run("doctor", "--nonsense").stderr
