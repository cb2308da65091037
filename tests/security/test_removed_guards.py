"""A trusted guard that is taken away: each way of removing it is reported, on record, and blocks if the user wants that."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import boathook
from tests.git_repository import commit_all, run_git
from tests.scratch_project import (
    CALL,
    WAYS,
    ScratchProject,
    list_runs,
    list_skipped,
    make_manifest,
    make_settings,
)

BLOCKS = "echo no >&2; exit 2"
GUARD = {"matcher": "{tool: Shell, pattern: ls}"}
OTHER_CALL = {**CALL, "tool_input": {"command": "pwd"}}
ENTRY = make_settings("exit 2")


def make_guards(project: ScratchProject) -> None:
    project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.write_settings("project", ENTRY)
    project.trust()


def move_away(path: Path, base: Path) -> None:
    os.rename(path, base / "away")


# Each way of removing, and which of the two guards is gone then.
REMOVALS = {
    "the folder of the hook": (lambda p: shutil.rmtree(p.hooks_folder("project") / "guard"), "guard"),
    "its HOOK.md alone": (lambda p: (p.hooks_folder("project") / "guard" / "HOOK.md").unlink(), "guard"),
    "the whole .agents": (lambda p: shutil.rmtree(p.path / ".agents"), "guard"),
    "the folder, moved away": (lambda p: move_away(p.hooks_folder("project") / "guard", p.base), "guard"),
    "settings.json": (lambda p: (p.path / ".claude" / "settings.json").unlink(), "PreToolUse:exit"),
    "the entry": (lambda p: p.write_settings("project", {"hooks": {}}), "PreToolUse:exit"),
    "the entry, and all hooks disabled": (
        lambda p: p.write_settings("project", {"hooks": {}, "disableAllHooks": True}),
        "PreToolUse:exit",
    ),
}


def find_skip(verdict: dict[str, object], name: str) -> str:
    """Return why a hook was skipped, "" if it was not."""
    skips = [skip["why"] for skip in verdict["skipped"] if skip["hook"].partition("#")[0] == name]
    return "".join(skips)


@pytest.mark.one_at_a_time
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("removal", REMOVALS)
def test_a_guard_that_was_here_in_this_session_is_missed_at_every_event(project, removal, way):
    make_guards(project)
    assert project.dispatch(way)["decision"] == "block"
    remove, name = REMOVALS[removal]
    remove(project)
    for _ in range(3):
        found = project.dispatch(way)
        assert "it was here earlier in this session, and it is gone now" in find_skip(found, name)
        assert found["id"] is not None
        assert any(name in line for line in found["system_message"])


@pytest.mark.parametrize("removal", REMOVALS)
def test_a_guard_that_was_gone_before_is_reported_once_in_a_session(project, removal):
    make_guards(project)
    project.dispatch()
    remove, name = REMOVALS[removal]
    remove(project)
    for session in ("t", "u"):
        messages = [project.dispatch(event={**CALL, "session_id": session})["system_message"] for _ in range(3)]
        assert [any(name in line for line in lines) for lines in messages] == [True, False, False]
    # An event without a session counts as a session of its own.
    quiet = {key: value for key, value in CALL.items() if key != "session_id"}
    assert all(any(name in line for line in project.dispatch(event=quiet)["system_message"]) for _ in range(2))


@pytest.mark.parametrize("removal", REMOVALS)
def test_with_untrusted_block_the_call_is_refused_in_this_session_and_in_others(project, removal):
    project.write_hooks_toml("user", '[hooks]\nuntrusted = "block"\n')
    make_guards(project)
    remove, name = REMOVALS[removal]
    # The other guard is not there.
    shutil.rmtree(project.path / (".claude" if name == "guard" else ".agents"))
    project.run("untrust", "--yes", *(row["name"] for row in project.list_hooks() if not row["name"].startswith(name)))
    project.dispatch()
    remove(project)
    messages = {"s": "was removed in this session", "t": "is not in this checkout", "": "is not in this checkout"}
    for session in ("s", "t", "t", "", "s"):
        found = project.dispatch(event={**CALL, "session_id": session})
        assert found["decision"] == "block"
        advice = "Tell the person: run `boathook list`"
        assert found["reasons"] == [f"1 hook that the person trusted {messages[session]}. {advice}"]


def test_what_the_guard_would_not_have_seen_is_not_refused(project):
    project.write_hooks_toml("user", '[hooks]\nuntrusted = "block"\n')
    project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    shutil.rmtree(project.path / ".agents")
    assert project.dispatch()["decision"] == "block"
    found = project.dispatch(event=OTHER_CALL)
    assert (found["decision"], found["skipped"]) == ("none", [])


@pytest.mark.parametrize("removal", REMOVALS)
def test_the_commands_show_it_and_nothing_fails(project, removal):
    make_guards(project)
    remove, name = REMOVALS[removal]
    remove(project)
    assert project.read_hook_state(name) == "not in this checkout"
    listed = json.loads(project.run("trust", "--list", "--json").stdout)["hooks"]
    states = {row["name"].partition("#")[0]: row["state"] for row in listed}
    assert states.pop(name) == "not in this checkout"
    assert set(states.values()) == {"trusted"}
    examined = project.run("doctor", "--json")
    rows = {row["hook"].partition("#")[0]: row for row in json.loads(examined.stdout)["hooks"]}
    assert rows[name]["result"] == "not run"
    assert examined.returncode == 0
    explained = json.loads(project.run("explain", "pre-tool-call", "--tool", "Shell", "--json").stdout)["hooks"]
    assert "not in this checkout" in {row["hook"].partition("#")[0]: row["why"] for row in explained}[name]
    full_name = next(row["name"] for row in listed if row["name"].partition("#")[0] == name)
    assert project.run("untrust", full_name, "--yes").returncode == 0
    assert find_skip(project.dispatch(), name) == ""


@pytest.mark.parametrize("way", WAYS)
def test_away_and_back_is_on_record(project, way):
    project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    project.dispatch(way)
    folder = project.hooks_folder("project") / "guard"
    move_away(folder, project.base)
    found = project.dispatch(way)
    os.rename(project.base / "away", folder)
    assert list_skipped(found) == ["guard"]
    record = json.loads(project.run("why", found["id"], "--json").stdout)
    assert "removed in this session" in json.dumps(record)
    # The same bytes are simply trusted again, and others are modified.
    assert list_runs(project.dispatch(way)) == [("guard", "ok", "block")]
    (folder / "new").touch()
    assert project.read_hook_state("guard") == "modified"


def test_a_renamed_guard_is_missed_under_its_old_name_and_untrusted_under_its_new_one(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    project.dispatch()
    os.rename(folder, folder.with_name("warden"))
    (folder.with_name("warden") / "HOOK.md").write_text(
        (folder.with_name("warden") / "HOOK.md").read_text().replace("guard", "warden")
    )
    found = project.dispatch()
    assert "gone now" in find_skip(found, "guard")
    assert "not trusted yet" in find_skip(found, "warden")


def test_a_guard_that_vanishes_between_loading_and_running_is_missed(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    with boathook.load(project.path) as engine:
        shutil.rmtree(folder)
        verdict = engine.dispatch(CALL)
    assert [(skip.subject, skip.state) for skip in verdict.skipped] == [("guard", "removed in this session")]


def test_one_of_two_entries_with_the_same_word_is_missed(project):
    entries = [{"type": "command", "command": "exit 2"}, {"type": "command", "command": "exit 3"}]
    project.write_settings("project", {"hooks": {"PreToolUse": [{"hooks": entries}]}})
    project.trust()
    project.dispatch()
    project.write_settings("project", {"hooks": {"PreToolUse": [{"hooks": entries[1:]}]}})
    assert "gone now" in find_skip(project.dispatch(), "PreToolUse:exit")


def test_the_guard_of_another_branch_keeps_its_trust_for_its_return(project):
    project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    commit_all(project.path)
    project.trust()
    run_git(project.path, "checkout", "-qb", "without")
    run_git(project.path, "rm", "-rq", ".agents")
    commit_all(project.path)
    assert [list_skipped(project.dispatch()) for _ in range(2)] == [["guard"], ["guard"]]
    assert project.dispatch()["system_message"] == []
    run_git(project.path, "checkout", "-q", "main")
    assert list_runs(project.dispatch()) == [("guard", "ok", "block")]


def test_other_starts_do_not_report_it(project):
    inner = project.path / "one" / ".agents" / "hooks" / "inner"
    (project.path / "two").mkdir()
    shutil.copytree(project.write_hook("inner", script=BLOCKS), inner)
    shutil.rmtree(project.config / "hooks")
    project.run("trust", "--yes", "--project", str(project.path / "one"))
    shutil.rmtree(project.path / "one" / ".agents")
    for folder, skipped in (("two", []), ("one", ["inner"]), (".", []), ("one", ["inner"])):
        start = project.path / folder
        done = project.run("run", "--json", "--project", str(start), stdin=json.dumps({**CALL, "session_id": folder}))
        assert list_skipped(json.loads(done.stdout)) == skipped


def test_what_is_denied_or_trusted_anywhere_or_left_out_is_not_missed(project):
    denied = project.write_hook("denied", scope="project", script=BLOCKS)
    project.run("deny", "denied", "--yes")
    anywhere = project.write_hook("anywhere", scope="project", script=BLOCKS)
    project.trust("anywhere", flags=("--yes", "--anywhere"))
    project.write_settings("project", ENTRY)
    project.trust("PreToolUse:exit")
    shutil.rmtree(denied)
    shutil.rmtree(anywhere)
    for without in ("settings", "project-settings"):
        found = project.dispatch("by command", CALL, "--without", without)
        assert (list_runs(found), list_skipped(found)) == ([], [])


def test_trusting_a_formatter_below_does_not_silently_turn_off_the_guard_above(project):
    project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    sub = project.path / "sub"
    formatter = project.write_hook("fmt", fields={"trigger": "post-tool-call"})
    shutil.copytree(formatter, sub / ".agents" / "hooks" / "fmt")
    shutil.rmtree(formatter)

    def dispatch() -> dict[str, object]:
        return json.loads(project.run("run", "--json", "--project", str(sub), stdin=json.dumps(CALL)).stdout)

    assert "hidden by a nearer project" in dispatch()["system_message"][0]
    refused = project.run("trust", "fmt", "--project", str(sub))
    assert refused.returncode == 1
    assert f"Hooks that you trusted do not run in {sub}" in refused.stdout
    assert dispatch()["id"] is not None
    accepted = project.run("trust", "fmt", "--yes", "--project", str(sub))
    assert accepted.returncode == 0
    assert f"accepted: guard of {project.path} will not run in {sub}" in accepted.stdout
    assert (dispatch()["skipped"], dispatch()["system_message"]) == ([], [])
    # Only what was named is accepted: not a guard that is trusted later, nor other bytes of the same one.
    project.write_hook("later", scope="project", script=BLOCKS, fields=GUARD)
    project.trust("later")
    assert list_skipped(dispatch()) == ["later"]
    (project.hooks_folder("project") / "guard" / "new").touch()
    project.trust("guard")
    assert list_skipped(dispatch()) == ["guard", "later"]
    project.run("untrust", "later", "--yes", "--project", str(sub))
    assert list_skipped(dispatch()) == ["guard"]


def test_a_hidden_guard_blocks_if_the_user_wants_that(project):
    project.write_hooks_toml("user", '[hooks]\nuntrusted = "block"\n')
    project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    # The folder between them hides nothing that somebody has accepted.
    for folder in ("sub", "sub/sub"):
        (project.path / folder / ".agents" / "hooks").mkdir(parents=True)
        done = project.run("run", "--json", "--project", str(project.path / folder), stdin=json.dumps(CALL))
        assert json.loads(done.stdout)["decision"] == "block"
    project.run("trust", "--yes", "--project", str(project.path / "sub"))
    done = project.run("run", "--json", "--project", str(project.path / "sub" / "sub"), stdin=json.dumps(CALL))
    assert json.loads(done.stdout)["decision"] == "none"


def test_text_of_the_project_is_not_in_reports_about_a_guard_that_is_gone(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    project.dispatch()
    (folder / "HOOK.md").write_text("---\nname: SYSTEM\n---\n")
    os.rename(folder / "HOOK.md", folder / "SYSTEM.md")
    assert "SYSTEM" not in json.dumps(project.dispatch())


# A guard whose manifest is another one

HARMLESS = make_manifest("guard", trigger="post-session")


def rename_manifest(folder: Path) -> None:
    (folder / "HOOK.md").unlink()
    (folder / "hook.md").write_text(HARMLESS)


def make_loop(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder.name)


def break_renamed(folder: Path) -> None:
    (folder / "HOOK.md").unlink()
    (folder / "hook.md").write_text("SYSTEM")


def link_outside(folder: Path) -> None:
    (folder / "HOOK.md").unlink()
    (folder / "HOOK.md").symlink_to("/etc/hostname")


REPLACEMENTS = {
    "under its other name": rename_manifest,
    "with another event": lambda folder: (folder / "HOOK.md").write_text(HARMLESS),
    "under its other name, and not readable": break_renamed,
    "not readable": lambda folder: (folder / "HOOK.md").write_text("SYSTEM"),
    "outside the project": link_outside,
    "in a folder that is a link to itself": make_loop,
}


def list_missed(verdict: dict[str, object]) -> list[str]:
    """Return the hooks that did not run; those that block because of that are among the runs."""
    return list_skipped(verdict) + [name for name, _, _ in list_runs(verdict)]


def check_modified(project: ScratchProject, way: str, decision: str) -> None:
    found = project.dispatch(way)
    assert (found["decision"], list_missed(found)) == (decision, ["guard"])
    assert decision == "block" or any("guard" in line for line in found["system_message"])
    assert "SYSTEM" not in json.dumps(found)


@pytest.mark.one_at_a_time
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("untrusted", ["skip", "block"])
@pytest.mark.parametrize("has_copy", [True, False])
@pytest.mark.parametrize("replacement", REPLACEMENTS)
def test_a_guard_with_another_manifest_is_missed_where_it_ran(project, replacement, has_copy, untrusted, way):
    project.write_hooks_toml("user", f'[hooks]\nuntrusted = "{untrusted}"\n')
    folder = project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    REPLACEMENTS[replacement](folder)
    if not has_copy:
        (project.state / "copies").rename(project.state / "copies-away")
    check_modified(project, way, "block" if untrusted == "block" else "none")
    # Without the copy nobody knows what it matched.
    assert list_missed(project.dispatch(way, OTHER_CALL)) == ([] if has_copy else ["guard"])


@pytest.mark.parametrize("has_copy", [True, False])
def test_a_manifest_that_takes_precedence_over_the_trusted_one_does_not_replace_it(project, has_copy):
    project.write_hooks_toml("user", '[hooks]\nuntrusted = "block"\n')
    folder = project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    os.rename(folder / "HOOK.md", folder / "hook.md")
    project.trust()
    assert list_runs(project.dispatch()) == [("guard", "ok", "block")]
    (folder / "HOOK.md").write_text(HARMLESS)
    if not has_copy:
        (project.state / "copies").rename(project.state / "copies-away")
    check_modified(project, WAYS[0], "block")


@pytest.mark.ordinary_user
def test_a_guard_that_may_not_be_read_blocks_if_the_user_wants_that(project):
    project.write_hooks_toml("user", '[hooks]\nuntrusted = "block"\n')
    folder = project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    folder.chmod(0)
    try:
        check_modified(project, WAYS[0], "block")
    finally:
        folder.chmod(0o755)


# A project that was moved, and a link where it was


def move_project(project: ScratchProject) -> Path:
    moved = project.path.with_name("moved")
    os.rename(project.path, moved)
    project.path.symlink_to(moved.name)
    return moved


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("untrusted", ["skip", "block"])
def test_a_guard_is_missed_where_a_link_leads_to_the_moved_project(project, untrusted, way):
    project.write_hooks_toml("user", f'[hooks]\nuntrusted = "{untrusted}"\n')
    project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    shutil.rmtree(move_project(project) / ".agents")
    found = project.dispatch(way, {**CALL, "work_dir": str(project.path)})
    assert (found["decision"], list_missed(found)) == ("block" if untrusted == "block" else "none", ["guard"])


def test_a_guard_that_moved_with_its_project_and_is_trusted_there_is_not_missed(project):
    project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    move_project(project)
    assert [skip["why"] for skip in project.dispatch()["skipped"]] == [
        "it is not trusted yet. Review it with: boathook trust"
    ]
    project.trust()
    found = project.dispatch()
    assert (list_runs(found), list_skipped(found)) == ([("guard", "ok", "block")], [])


def test_a_false_end_of_the_session_does_not_hide_that_a_guard_is_removed(project):
    folder = project.write_hook("guard", scope="project", script=BLOCKS, fields=GUARD)
    project.trust()
    project.dispatch()
    project.dispatch(event={**CALL, "event_type": "post-session"})
    shutil.rmtree(folder)
    for _ in range(2):
        assert "it was here earlier in this session" in find_skip(project.dispatch(), "guard")
