"""Nothing of a project runs before a person trusted its exact bytes; and what does not run is reported."""

from __future__ import annotations

import json
import os
import sys
import threading

import pytest

import boathook
from boathook.trust.snapshot import remove_snapshot
from tests import forked
from tests.scratch_project import CALL, WAYS, list_runs, list_skipped, make_settings

BLOCKS = "echo no >&2; exit 2"


@pytest.mark.parametrize("way", WAYS)
def test_an_untrusted_hook_is_skipped_and_reported_everywhere(project, way):
    project.write_hook("guard", scope="project", script=f"touch {project.base}/ran; {BLOCKS}")
    found = project.dispatch(way)
    assert found["decision"] == "none"
    assert found["runs"] == []
    assert found["skipped"] == [{"hook": "guard", "why": "it is not trusted yet. Review it with: boathook trust"}]
    assert found["system_message"] == [
        "hooks of this project did not run: guard (untrusted). Review them: boathook trust"
    ]
    assert not (project.base / "ran").exists()


def test_an_untrusted_hook_is_reported_on_stderr_and_to_the_host(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    done = project.run("run", stdin=json.dumps(CALL))
    assert done.returncode == 0
    assert done.stderr.count("guard (untrusted)") == 1
    claude = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s"}
    done = project.run("run", "--host", "claude", stdin=json.dumps({**claude, "cwd": str(project.path)}))
    assert "guard (untrusted)" in json.loads(done.stdout)["systemMessage"]


@pytest.mark.parametrize("way", WAYS)
def test_a_trusted_hook_runs_from_its_private_copy_with_its_helpers(project, way):
    script = (
        'where=$(cd "$(dirname "$0")" && pwd); . "$where/../lib/words.sh"; echo "$word $AGENT_HOOK_DIR" >&2; exit 2'
    )
    folder = project.write_hook("guard", scope="project", script=script)
    (folder / "lib").mkdir()
    (folder / "lib" / "words.sh").write_text("word=helped\n")
    project.trust("guard")
    found = project.dispatch(way)
    (copy,) = (project.state / "copies").iterdir()
    assert found["decision"] == "block"
    assert found["reasons"] == [f"helped {copy}/0/guard"]


@pytest.mark.one_at_a_time
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", ["HOOK.md", "scripts/run.sh", "lib.sh"])
def test_any_changed_byte_asks_again(project, way, path):
    folder = project.write_hook("guard", scope="project", script=BLOCKS)
    (folder / "lib.sh").write_text("# helper\n")
    project.trust()
    assert list_runs(project.dispatch(way)) == [("guard", "ok", "block")]
    with (folder / path).open("a") as file:
        file.write("\n")
    found = project.dispatch(way)
    assert (list_runs(found), list_skipped(found), found["decision"]) == ([], ["guard"], "none")
    assert "it changed since it was trusted" in found["skipped"][0]["why"]
    assert found["system_message"] == [
        "hooks of this project did not run: guard (modified). Review them: boathook trust"
    ]
    assert project.read_hook_state("guard") == "modified"


@pytest.mark.parametrize("way", WAYS)
def test_a_change_that_is_taken_back_needs_no_new_approval(project, way):
    folder = project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    text = (folder / "scripts" / "run.sh").read_text()
    (folder / "scripts" / "run.sh").write_text("exit 0\n")
    assert list_skipped(project.dispatch(way)) == ["guard"]
    (folder / "scripts" / "run.sh").write_text(text)
    assert list_runs(project.dispatch(way)) == [("guard", "ok", "block")]


def test_a_matcher_that_is_changed_to_match_nothing_is_missed_where_it_used_to_match(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS, fields={"matcher": "{tool: Shell}"})
    project.trust()
    manifest = folder / "HOOK.md"
    manifest.write_text(manifest.read_text().replace("tool: Shell", "tool: Nothing"))
    assert list_skipped(project.dispatch()) == ["guard"]


@pytest.mark.parametrize("way", WAYS)
def test_a_changed_mode_and_a_new_file_ask_again(project, way):
    folder = project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    (folder / "scripts" / "run.sh").chmod(0o700)
    assert list_skipped(project.dispatch(way)) == ["guard"]
    (folder / "scripts" / "run.sh").chmod(0o755)
    assert list_runs(project.dispatch(way)) == [("guard", "ok", "block")]
    (folder / "new").touch()
    assert list_skipped(project.dispatch(way)) == ["guard"]


def test_trust_holds_for_one_place_alone(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    elsewhere = project.base / "elsewhere"
    os.rename(project.path, elsewhere)
    done = command_in(project, elsewhere)
    assert list_skipped(done) == ["guard"]


def command_in(project, folder):
    with boathook.load(folder) as engine:
        return engine.dispatch({**CALL, "work_dir": str(folder)}).to_json()


def test_a_link_to_the_project_is_the_same_project(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    (project.base / "link").symlink_to(project.path)
    assert list_runs(command_in(project, project.base / "link")) == [("guard", "ok", "block")]


@pytest.mark.parametrize("way", WAYS)
def test_a_denied_hook_never_runs_and_is_not_talked_about(project, way):
    folder = project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    assert project.run("deny", "guard", "--yes").returncode == 0
    found = project.dispatch(way)
    assert (list_runs(found), found["system_message"]) == ([], [])
    assert project.read_hook_state("guard") == "denied"
    (folder / "new").touch()
    assert project.read_hook_state("guard") == "denied"
    refused = project.run("trust", "guard", "--yes")
    assert refused.returncode == 1
    assert "guard is denied. To undo this: boathook untrust guard" in refused.stderr
    assert project.run("untrust", "guard", "--yes").returncode == 0
    assert project.read_hook_state("guard") == "untrusted"


@pytest.mark.parametrize("way", WAYS)
def test_the_user_can_have_tool_calls_blocked_instead(project, way):
    project.write_hook("guard", scope="project", script="exit 0")
    project.write_hook("after", scope="project", script="exit 0", fields={"trigger": "post-tool-call"})
    project.write_hooks_toml("user", '[hooks]\nuntrusted = "block"\n')
    found = project.dispatch(way)
    assert found["decision"] == "block"
    reason = "1 hook of this project did not run because it is not trusted. Tell the person: run `boathook trust`"
    assert found["reasons"] == [reason]
    after = project.dispatch(way, {**CALL, "event_type": "post-tool-call", "tool_output": "x"})
    assert (after["decision"], list_skipped(after)) == ("none", ["after"])


def test_a_modified_hook_blocks_too_if_the_user_wants_that(project):
    folder = project.write_hook("guard", scope="project", script="exit 0")
    project.write_hooks_toml("user", '[hooks]\nuntrusted = "block"\n')
    project.trust()
    assert project.dispatch()["decision"] == "none"
    (folder / "new").touch()
    found = project.dispatch()
    assert found["decision"] == "block"
    assert "it is not trusted" in found["reasons"][0]


@pytest.mark.parametrize("way", WAYS)
def test_a_hook_that_would_replace_the_user_s_needs_to_be_trusted_for_that(project, way):
    project.write_hook("guard", script=BLOCKS)
    project.write_hook("guard", scope="project", script="exit 0")
    assert list_runs(project.dispatch(way)) == [("guard", "ok", "block")]
    refused = project.run("trust", "guard", "--yes")
    assert refused.returncode == 1
    assert "would replace your own hook. If you want that, add --override" in refused.stderr
    assert list_runs(project.dispatch(way)) == [("guard", "ok", "block")]
    project.trust("guard", flags=("--yes", "--override"))
    found = project.dispatch(way)
    assert list_runs(found) == [("guard", "ok", "none")]
    assert "replaced by the project's hook" in found["skipped"][0]["why"]


def test_a_hook_trusted_before_the_user_had_one_of_its_name_does_not_replace_it(project):
    project.write_hook("guard", scope="project", script="exit 0")
    project.trust()
    project.write_hook("guard", script=BLOCKS)
    found = project.dispatch()
    assert list_runs(found) == [("guard", "ok", "block")]
    assert found["skipped"][0]["hook"] == "guard"
    listed = project.run("list").stdout
    assert "would replace your hook 'guard', and is not trusted to" in listed


def test_trust_in_a_project_cannot_replace_a_protected_hook_of_the_user(project):
    project.write_hook("guard", script=BLOCKS, fields={"protected": "true"})
    project.write_hook("guard", scope="project", script="exit 0")
    project.run("trust", "guard", "--yes", "--override")
    assert list_runs(project.dispatch()) == [("guard", "ok", "block")]
    assert list_runs(project.dispatch("by command", CALL, "--trust-all")) == [("guard", "ok", "block")]


def test_hooks_toml_of_the_project_is_trusted_with_the_hook_that_it_tunes(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    project.write_hook("other", scope="project", script="exit 0")
    project.trust()
    project.write_hooks_toml("project", "[[hooks.override]]\nname = 'guard'\nasync = true\n")
    found = project.dispatch()
    assert (list_runs(found), list_skipped(found)) == ([("other", "ok", "none")], ["guard"])


def test_a_project_cannot_set_what_only_the_user_may(project):
    project.write_hooks_toml(
        "project", '[hooks]\nuntrusted = "skip"\nrecord = "whole"\nmax_timeout = 600000\nmodel = "a:b"\n'
    )
    project.write_hook("guard", scope="project", script="exit 0")
    project.write_hooks_toml("user", '[hooks]\nuntrusted = "block"\nmax_timeout = 2000\n')
    with boathook.load(project.path) as engine:
        found = engine.catalog.settings
        messages = [d.message for d in engine.catalog.diagnostics]
        timeouts = [hook.timeout for hook in engine.catalog.hooks]
    assert (found.untrusted, found.record, found.max_timeout, found.model) == ("block", "summary", 2000, "")
    assert timeouts == [2.0]
    for key in ("untrusted", "record", "max_timeout", "model"):
        assert f"'{key}' can only be set by the user; it is ignored here" in messages


@pytest.mark.parametrize("way", ["by command", "by hook_entry"])
def test_no_variable_trusts_anything(project, way):
    project.write_hook("guard", scope="project", script=BLOCKS)
    for name in ("BOATHOOK_TRUST_ALL", "BOATHOOK_TRUST", "CI", "BOATHOOK_STATE"):
        done = project.run("run", "--json", stdin=json.dumps(CALL), env={name: "1"})
        assert list_skipped(json.loads(done.stdout)) == ["guard"]
    assert list_runs(project.dispatch(way, CALL, "--trust-all")) == [("guard", "ok", "block")]


def _store(project):
    return project.state / "trust.json"


BROKEN = {
    "not JSON": "{",
    "another format": '{"format": 99, "records": []}',
    "a list": "[]",
    "a record without fields": '{"format": 3, "records": [{}]}',
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_damaged_trust_store_trusts_nothing_and_is_reported(project, text):
    project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    _store(project).write_text(text)
    found = project.dispatch()
    assert list_runs(found) == []
    assert any("No hook of a project runs until you fix or remove it" in skip["why"] for skip in found["skipped"])
    assert project.run("trust", "--yes").returncode == 1
    assert _store(project).read_text() == text


def test_a_trust_store_that_others_could_have_written_trusts_nothing(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    assert _store(project).stat().st_mode & 0o777 == 0o600
    _store(project).chmod(0o666)
    found = project.dispatch()
    assert list_runs(found) == []
    assert any("can be written by others" in skip["why"] for skip in found["skipped"])


def test_the_copy_is_made_again_if_it_is_gone_or_was_touched(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    (copy,) = (project.state / "copies").iterdir()
    script = copy / "0" / "guard" / "scripts" / "run.sh"
    script.chmod(0o700)
    script.write_text("#!/bin/sh\nexit 0\n")
    assert list_runs(project.dispatch()) == [("guard", "ok", "block")]
    remove_snapshot(str(copy))
    assert list_runs(project.dispatch("by command")) == [("guard", "ok", "block")]


def test_two_who_trust_at_once_lose_nothing(project):
    names = [f"hook-{at}" for at in range(6)]
    for name in names:
        project.write_hook(name, scope="project", script="exit 0")
    threads = [threading.Thread(target=project.trust, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [name for name, _, _ in list_runs(project.dispatch())] == names


@pytest.mark.parametrize("way", WAYS)
def test_a_fifo_in_a_trusted_folder_holds_nothing_up(project, way):
    folder = project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    os.mkfifo(folder / "pipe")
    found = project.dispatch(way)
    assert (list_runs(found), list_skipped(found)) == ([], ["guard"])
    assert "changed since it was trusted" in found["skipped"][0]["why"]


def test_a_folder_with_a_link_that_leaves_it_cannot_be_trusted(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS)
    (folder / "out").symlink_to("../../../secret")
    done = project.run("trust", "guard", "--yes")
    assert done.returncode == 1
    assert "out is a link that leaves the folder" in done.stderr
    assert project.read_hook_state("guard") == "untrusted"


def test_a_hook_folder_that_is_a_link_within_the_project_can_be_trusted(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS)
    moved = project.path / "shared"
    os.rename(folder, moved)
    folder.symlink_to("../../shared")
    project.trust()
    assert list_runs(project.dispatch()) == [("guard", "ok", "block")]
    (moved / "new").touch()
    assert list_skipped(project.dispatch()) == ["guard"]


def test_state_names_the_folder_where_trust_is_kept(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    place = project.base / "fixed"
    assert project.run("trust", "--yes", "--state", str(place)).returncode == 0
    assert list_skipped(project.dispatch()) == ["guard"]
    assert list_runs(project.dispatch("by command", CALL, "--state", str(place))) == [("guard", "ok", "block")]
    assert list_runs(project.dispatch("by hook_entry", CALL, "--state", str(place))) == [("guard", "ok", "block")]
    with boathook.load(project.path, state=place) as engine:
        assert engine.dispatch(CALL).is_blocked


# What variables of the project's choosing cannot do


def _repository(project):
    (project.path / ".git").mkdir()
    return project.path


@pytest.mark.parametrize("way", ["by command", "by hook_entry"])
@pytest.mark.parametrize("variable", ["XDG_STATE_HOME", "HOME"])
def test_a_trust_store_within_the_repository_is_not_believed(project, way, variable):
    """Some hosts load the project's .env: a repository could bring its own trust store."""
    top = _repository(project)
    project.write_hook("guard", scope="project", script=f"touch {project.base}/ran")
    inside = top / "sub"
    state = inside / "boathook" if variable == "XDG_STATE_HOME" else inside / ".local" / "state" / "boathook"
    assert project.run("trust", "--yes", "--state", str(state)).returncode == 0
    env = {
        "XDG_STATE_HOME": "",
        "XDG_CONFIG_HOME": str(project.base / "config"),
        "XDG_CACHE_HOME": str(project.base / "cache"),
    }
    env[variable] = str(inside)
    entry = (
        ["-I", "-S", boathook.__file__.replace("__init__.py", "entry/hook_entry.py")]
        if way == "by hook_entry"
        else ["-m", "boathook", "run"]
    )
    done = forked.run(
        [sys.executable, *entry, "--json"],
        input=json.dumps(CALL),
        capture_output=True,
        text=True,
        cwd=project.path,
        env={**project.environment, **env},
        timeout=60,
        check=False,
    )
    found = json.loads(done.stdout)
    assert list_runs(found) == []
    assert any("is inside the repository" in skip["why"] for skip in found["skipped"])
    assert not (project.base / "ran").exists()


@pytest.mark.parametrize("variable", ["XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "HOME"])
def test_hooks_within_the_repository_are_never_the_user_s_own(project, variable):
    top = _repository(project)
    evil = f"touch {project.base}/ran"
    inside = top / "cfg"
    for place in (inside / "agents", inside / ".config" / "agents"):
        script = place / "hooks" / "evil" / "scripts" / "run.sh"
        script.parent.mkdir(parents=True)
        script.write_text(f"#!/bin/sh\n{evil}\n")
        script.chmod(0o755)
        script.parent.parent.joinpath("HOOK.md").write_text(
            "---\nname: evil\ndescription: x\ntrigger: pre-tool-call\n---\n"
        )
    for place in (inside, inside / ".claude"):
        place.mkdir(exist_ok=True)
        (place / "settings.json").write_text(json.dumps(make_settings(evil)))
    env = {variable: str(inside)}
    if variable == "HOME":
        env |= {"XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": str(project.base / "cache")}
    done = project.run("run", "--json", stdin=json.dumps(CALL), env=env)
    found = json.loads(done.stdout)
    assert list_runs(found) == []
    assert any("because it is inside a project" in skip["why"] for skip in found["skipped"])
    assert not (project.base / "ran").exists()


@pytest.mark.parametrize("value", ["/proc/self/cwd/sub", "/dev/fd/../x", "/tmp/../{project}/sub", "//{project}/sub"])
def test_a_state_folder_by_a_crooked_way_is_not_used(project, value):
    _repository(project)
    project.write_hook("guard", scope="project", script=f"touch {project.base}/ran")
    inside = project.path / "sub" / "boathook"
    assert project.run("trust", "--yes", "--state", str(inside)).returncode == 0
    env = {"XDG_STATE_HOME": value.format(project=str(project.path).lstrip("/"))}
    found = json.loads(project.run("run", "--json", stdin=json.dumps(CALL), env=env).stdout)
    assert list_runs(found) == []
    assert not (project.base / "ran").exists()


# Settings


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scope", ["project", "local"])
def test_an_entry_of_settings_is_trusted_with_the_script_it_runs(project, way, scope):
    hooks = project.path / ".claude" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "guard.sh").write_text('#!/bin/sh\n. "$(dirname "$0")/lib.sh"\nsay no\n')
    (hooks / "guard.sh").chmod(0o755)
    (hooks / "lib.sh").write_text("say() { echo $1 >&2; exit 2; }\n")
    project.write_settings(scope, make_settings('"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh'))
    assert list_runs(project.dispatch(way)) == []
    project.trust()
    found = project.dispatch(way)
    assert (found["decision"], found["reasons"]) == ("block", ["no"])
    (hooks / "lib.sh").write_text("say() { exit 0; }\n")
    found = project.dispatch(way)
    assert (list_runs(found), found["decision"]) == ([], "none")
    assert found["system_message"][0].startswith("hooks of this project did not run: hook-")


def test_an_entry_whose_definition_changed_is_modified_and_not_new(project):
    project.write_settings("project", make_settings("exit 2"))
    project.trust()
    assert project.dispatch()["decision"] == "block"
    project.write_settings("project", make_settings("exit 2; true"))
    assert project.read_hook_state("PreToolUse:exit") == "modified"
    assert project.dispatch()["decision"] == "none"


def test_entries_may_change_their_places(project):
    one, other = make_settings("exit 2"), make_settings("exit 0", timeout=7)
    project.write_settings("project", one)
    project.trust()
    one["hooks"]["PreToolUse"].insert(0, other["hooks"]["PreToolUse"][0])
    project.write_settings("project", one)
    found = project.dispatch()
    assert [(status, decision) for _, status, decision in list_runs(found)] == [("ok", "block")]
    assert len(found["skipped"]) == 1


def test_a_timeout_that_the_user_tunes_is_not_a_change(project):
    project.write_settings("project", make_settings("exit 2"))
    project.trust()
    name = json.loads(project.run("list", "--json").stdout)["hooks"][0]["name"]
    project.write_hooks_toml("user", f"[[hooks.override]]\nname = '{name}'\ntimeout = 5000\n")
    assert project.dispatch()["decision"] == "block"


def test_convert_and_check_look_at_what_lies_there_and_not_at_the_copy(project):
    script = project.path / ".claude" / "hooks" / "guard.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\nexit 2\n")
    script.chmod(0o755)
    project.write_settings("project", make_settings("$CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh"))
    project.trust()
    done = project.run("convert", "to-hookmd", "--dry-run", "--json")
    assert str(project.state) not in done.stdout


# What a project can do to a hook without touching its script


def test_a_hook_that_cannot_be_read_does_not_decide_before_it_is_trusted(project):
    text = "---\nname: guard\ntrigger: pre-tool-call\non_failure: block\nmatcher: {pattern: '('}\n---\n"
    project.write_hook("guard", scope="project", manifest=text)
    found = project.dispatch()
    assert (found["decision"], list_runs(found)) == ("none", [])
    assert list_skipped(found) == ["guard"]
    project.write_hooks_toml("user", '[hooks]\nuntrusted = "block"\n')
    assert project.dispatch()["decision"] == "block"


def test_a_trusted_guard_that_cannot_be_read_any_more_is_missed(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    (folder / "HOOK.md").write_text("---\nname: guard\n---\n")
    found = project.dispatch()
    assert (list_skipped(found), found["decision"]) == (["guard"], "none")
    assert project.read_hook_state("guard") == "modified"
    project.write_hooks_toml("user", '[hooks]\nuntrusted = "block"\n')
    assert project.dispatch()["decision"] == "block"


@pytest.mark.parametrize("text", ["[hooks]\nenabled = false\n", "[[hooks.disable]]\nname = 'guard'\n"])
def test_a_trusted_guard_that_the_project_disables_is_missed_until_that_is_trusted(project, text):
    project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    project.write_hooks_toml("project", text)
    found = project.dispatch()
    assert (list_skipped(found), found["system_message"] != []) == (["guard"], True)
    project.trust()
    assert project.read_hook_state("guard") == "disabled"
    assert project.dispatch()["system_message"] == []


def test_trusted_entries_that_the_project_disables_are_missed(project):
    made = make_settings("exit 2")
    project.write_settings("project", made)
    project.trust()
    project.write_settings("project", {**made, "disableAllHooks": True})
    found = project.dispatch()
    assert (len(found["skipped"]), found["system_message"] != []) == (1, True)
    assert project.read_hook_state("PreToolUse:exit") == "modified"


def test_trusted_entries_that_the_user_disables_are_not_talked_about(project):
    project.write_settings("project", make_settings("exit 2"))
    project.trust()
    project.write_settings("user", {"disableAllHooks": True})
    assert project.dispatch()["system_message"] == []
    assert project.read_hook_state("PreToolUse:exit") == "disabled"


def test_an_entry_whose_matcher_changed_is_missed_where_it_used_to_match(project):
    made = make_settings("exit 2")
    made["hooks"]["PreToolUse"][0]["matcher"] = "Shell"
    project.write_settings("project", made)
    project.trust()
    made["hooks"]["PreToolUse"][0]["matcher"] = "Nothing"
    project.write_settings("project", made)
    assert len(project.dispatch()["skipped"]) == 1
    assert project.dispatch(event={**CALL, "tool_name": "Other"})["skipped"] == []


def test_a_trusted_hook_that_is_gone_is_named_by_list(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS)
    project.trust()
    os.rename(folder, project.base / "away")
    assert (
        "not in this checkout: you trusted it, and it is gone. Restore it, or end its trust with: boathook untrust guard"
        in project.run("list").stdout
    )


def test_a_trust_store_within_a_project_without_a_repository_is_not_believed(project):
    project.write_hook("guard", scope="project", script=f"touch {project.base}/ran")
    inside = project.path / "sub"
    assert project.run("trust", "--yes", "--state", str(inside / "boathook")).returncode == 0
    found = json.loads(project.run("run", "--json", stdin=json.dumps(CALL), env={"XDG_STATE_HOME": str(inside)}).stdout)
    assert list_runs(found) == []
    assert not (project.base / "ran").exists()
