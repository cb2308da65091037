"""HOOK.md folders: where they are found, which of two counts, and what is wrong with them (S4, S8)."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.assembly import load_catalog, locate
from boathook.core.hook import ARMED, DISABLED, ERROR, INVALID, NO_ENTRY, SHADOWED, WARNING, Diagnostic
from boathook.loader import load_hooks


def load(project, *, with_project: bool = True):
    return load_hooks(project.make_locations(None if with_project else ""))


def states(project) -> list[tuple[str, str, str]]:
    """Return scope, folder and state of all hooks, in the order of running."""
    hooks = load(project).catalog.hooks
    return [(hook.scope, os.path.basename(hook.handler.folder), hook.state) for hook in hooks]


def problems(project) -> list[tuple[str, str]]:
    return [(p.level, p.message) for hook in load(project).catalog.hooks for p in hook.diagnostics]


# Places


def test_hooks_of_both_levels_are_loaded_in_the_order_of_running(project):
    project.write_hook("b")
    project.write_hook("a", scope="project")
    project.write_hook("c", scope="project", fields={"priority": 500})
    assert states(project) == [("project", "c", ARMED), ("user", "b", ARMED), ("project", "a", ARMED)]
    assert load(project).catalog.project == str(project.path)


def test_without_folders_there_are_no_hooks_and_nothing_is_wrong(project):
    catalog = load(project).catalog
    assert (catalog.hooks, catalog.diagnostics) == ((), ())
    assert load(project, with_project=False).catalog.project == ""


def test_user_hooks_live_below_xdg_config_home_and_else_below_home(project, monkeypatch):
    project.write_hook("there")
    fallback = project.home / ".config" / "agents" / "hooks" / "here"
    fallback.mkdir(parents=True)
    (fallback / "HOOK.md").write_text("---\nname: here\ntrigger: Stop\n---\n")
    assert [hook.name for hook in load_catalog(project.path).hooks] == ["there"]
    for value in ("", "relative/config"):
        monkeypatch.setenv("XDG_CONFIG_HOME", value)
        assert [hook.name for hook in load_catalog(project.path).hooks] == ["here"]
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert [hook.name for hook in load_catalog(project.path).hooks] == ["here"]


def test_a_start_below_the_project_finds_its_hooks_and_the_nearest_wins(project, monkeypatch):
    project.write_hook("outer", scope="project")
    inner = project.path / "packages" / "inner"
    (inner / "src").mkdir(parents=True)
    assert locate(inner / "src").find("HOOK.md").project == str(project.path)
    assert [hook.name for hook in load_catalog(inner / "src").hooks] == ["outer"]
    (inner / ".agents" / "hooks").mkdir(parents=True)
    assert load_catalog(inner / "src").hooks == ()
    monkeypatch.chdir(project.path / "packages")
    assert [hook.name for hook in load_catalog().hooks] == ["outer"]
    assert locate("inner/../inner").find("HOOK.md").project == str(inner)


def test_a_folder_that_is_both_the_user_s_and_the_project_s_counts_as_the_user_s(project):
    project.write_hook("guard", fields={"protected": "true"})
    (project.path / ".agents").symlink_to(project.config)
    project.write_hooks_toml("user", "[hooks]\ndebug = true\n")
    catalog = load(project).catalog
    assert [(hook.scope, hook.state, hook.protected) for hook in catalog.hooks] == [("user", ARMED, True)]
    assert (catalog.settings.debug, catalog.diagnostics) == (True, ())


def test_hook_md_in_small_letters_counts_where_there_is_none_in_capitals(project):
    project.write_hook("small", manifest_name="hook.md")
    project.write_hook("both", manifest_name="hook.md", fields={"priority": 1})
    project.write_hook("both", manifest_name="HOOK.md", fields={"priority": 2})
    assert [(hook.name, hook.priority, os.path.basename(hook.path)) for hook in load(project).catalog.hooks] == [
        ("small", 100, "hook.md"),
        ("both", 2, "HOOK.md"),
    ]


def test_dot_folders_plain_files_and_folders_without_manifest_are_passed_over(project):
    root = project.hooks_folder("user")
    project.write_hook(".hidden")
    project.write_hook("guard")
    (root / "README.md").write_text("hello")
    (root / "empty").mkdir()
    (root / "deep" / "inner").mkdir(parents=True)
    (root / "deep" / "inner" / "HOOK.md").write_text("---\n---\n")
    assert states(project) == [("user", "guard", ARMED)]


# Links


def test_a_linked_hook_folder_is_followed_at_user_level(project):
    elsewhere = project.write_hook("guard")
    elsewhere.rename(project.base / "elsewhere")
    (project.hooks_folder("user") / "guard").symlink_to(project.base / "elsewhere")
    assert states(project) == [("user", "guard", ARMED)]


LEAVES = "HOOK.md is a link that leaves the project"


def test_a_link_that_leaves_the_project_is_refused_and_its_content_not_shown(project):
    outside = project.write_hook("guard", scope="project")
    outside.rename(project.base / "outside")
    (project.base / "outside" / "HOOK.md").write_text("---\nsecret: value\n")
    (project.hooks_folder("project") / "guard").symlink_to(project.base / "outside")
    (hook,) = load(project).catalog.hooks
    reported = Diagnostic(str(project.hooks_folder("project") / "guard" / "HOOK.md"), None, "", ERROR, LEAVES)
    assert (hook.state, hook.state_reason, hook.diagnostics) == (INVALID, LEAVES, (reported,))


def test_a_manifest_that_is_a_link_out_of_the_project_is_refused_too(project):
    folder = project.write_hook("guard", scope="project")
    (folder / "HOOK.md").rename(project.base / "HOOK.md")
    (folder / "HOOK.md").symlink_to(project.base / "HOOK.md")
    assert [(hook.state, hook.state_reason) for hook in load(project).catalog.hooks] == [(INVALID, LEAVES)]


def test_a_link_that_stays_in_the_project_is_followed(project):
    folder = project.write_hook("guard", scope="project")
    folder.rename(project.path / "inside")
    (project.hooks_folder("project") / "guard").symlink_to(project.path / "inside")
    assert states(project) == [("project", "guard", ARMED)]


def test_a_project_that_is_reached_through_a_link_is_itself(project):
    project.write_hook("guard", scope="project")
    (project.base / "link").symlink_to(project.path)
    hooks = load_hooks(project.make_locations(str(project.base / "link"))).catalog.hooks
    assert [hook.state for hook in hooks] == [ARMED]


def test_a_broken_link_is_not_a_hook_and_a_loop_is_an_invalid_one(project):
    root = project.hooks_folder("user")
    root.mkdir(parents=True)
    (root / "broken").symlink_to(root / "gone")
    (root / "loop").symlink_to(root / "loop")
    assert [(hook.name, hook.state, hook.state_reason) for hook in load(project).catalog.hooks] == [
        ("loop", INVALID, "loop cannot be read: Too many levels of symbolic links")
    ]


# What cannot be read


def test_a_manifest_that_is_not_a_regular_file_is_an_invalid_hook_without_a_wait(project):
    root = project.hooks_folder("user")
    (root / "a-fifo").mkdir(parents=True)
    os.mkfifo(root / "a-fifo" / "HOOK.md")
    (root / "b-folder" / "HOOK.md").mkdir(parents=True)
    (root / "c-broken").mkdir()
    (root / "c-broken" / "HOOK.md").symlink_to(root / "gone")
    (root / "d-huge").mkdir()
    (root / "d-huge" / "HOOK.md").write_bytes(b"x" * ((1 << 20) + 1))
    (root / "e-bytes").mkdir()
    (root / "e-bytes" / "HOOK.md").write_bytes(b"---\n\xff")
    (root / "f-device").mkdir()
    (root / "f-device" / "HOOK.md").symlink_to("/dev/zero")
    assert [(hook.name, hook.state, hook.state_reason) for hook in load(project).catalog.hooks] == [
        ("a-fifo", INVALID, "HOOK.md is not a regular file"),
        ("b-folder", INVALID, "HOOK.md is not a regular file"),
        ("c-broken", INVALID, "HOOK.md cannot be opened: No such file or directory"),
        ("d-huge", INVALID, "HOOK.md is larger than 1024 KiB"),
        ("e-bytes", INVALID, "HOOK.md is not UTF-8 at byte 4"),
        ("f-device", INVALID, "HOOK.md is not a regular file"),
    ]


def test_an_invalid_hook_does_not_disturb_its_neighbours(project):
    project.write_hook("bad", manifest="no frontmatter")
    project.write_hook("good")
    assert states(project) == [("user", "bad", INVALID), ("user", "good", ARMED)]


@pytest.mark.ordinary_user
def test_a_folder_that_may_not_be_read_is_an_invalid_hook(project):
    folder = project.write_hook("guard")
    folder.chmod(0)
    try:
        assert [(hook.name, hook.state, hook.state_reason) for hook in load(project).catalog.hooks] == [
            ("guard", INVALID, "guard cannot be read: permission denied")
        ]
    finally:
        folder.chmod(0o755)


def test_a_hooks_folder_that_cannot_be_read_is_reported_at_every_event(project):
    root = project.hooks_folder("user")
    root.parent.mkdir(parents=True)
    root.symlink_to(root)
    message = "the hooks folder cannot be read: Too many levels of symbolic links"
    assert load(project).catalog.diagnostics == (Diagnostic(str(root), None, "", ERROR, message),)
    root.unlink()
    root.write_text("a file")
    message = "the hooks folder cannot be read: Not a directory"
    assert load(project).catalog.diagnostics == (Diagnostic(str(root), None, "", ERROR, message),)


@pytest.mark.parametrize("scope", ["user", "project"])
def test_no_hook_runs_from_a_folder_that_anybody_may_write_to(project, scope):
    project.write_hook("guard", scope=scope)
    project.hooks_folder(scope).chmod(0o777)
    catalog = load(project).catalog
    message = "no hook of this folder runs: it can be written by anybody (chmod o-w)"
    assert catalog.hooks == ()
    assert catalog.diagnostics == (Diagnostic(str(project.hooks_folder(scope)), None, "", ERROR, message),)


def test_a_folder_name_that_is_not_text_is_a_hook_all_the_same(project):
    root = os.fsencode(project.hooks_folder("user"))
    project.write_hook("guard").rename(os.fsdecode(root + b"/\xff\xfe"))
    os.makedirs(root + b"/\xfd")
    with open(root + b"/\xfd/HOOK.md", "w") as file:
        file.write("broken")
    hooks = load(project).catalog.hooks
    assert [(hook.name, hook.state) for hook in hooks] == [("\\udcfd", INVALID), ("guard", ARMED)]
    assert all(p.message.encode() for hook in hooks for p in hook.diagnostics)


# Entry points


def test_a_hook_without_entry_point_is_reported(project):
    folder = project.write_hook("guard", script=None)
    why = "no entry point: none of scripts/run, scripts/run.sh, scripts/run.py is a file"
    (hook,) = load(project).catalog.hooks
    reported = Diagnostic(str(folder / "HOOK.md"), None, "", ERROR, why, f"add {folder}/scripts/run.sh")
    assert (hook.state, hook.state_reason, hook.diagnostics) == (NO_ENTRY, why, (reported,))


def test_an_invalid_or_disabled_hook_without_entry_point_stays_what_it_is(project):
    project.write_hook("bad", script=None, manifest="broken")
    project.write_hook("off", script=None)
    project.write_hooks_toml("user", "[[hooks.disable]]\nname = 'off'\n")
    assert states(project) == [("user", "bad", INVALID), ("user", "off", DISABLED)]


# Equal names


def test_an_armed_project_hook_replaces_the_user_s(project):
    project.write_hook("guard")
    theirs = project.write_hook("guard", scope="project")
    assert states(project) == [("user", "guard", SHADOWED), ("project", "guard", ARMED)]
    assert load(project).catalog.hooks[0].state_reason == f"replaced by the project's hook in {theirs}"
    assert problems(project) == []


def test_a_protected_user_hook_is_not_replaced_and_the_attempt_is_reported(project):
    project.write_hook("guard", fields={"protected": "true"})
    project.write_hook("guard", scope="project")
    why = "your hook 'guard' is protected"
    assert states(project) == [("user", "guard", ARMED), ("project", "guard", SHADOWED)]
    assert problems(project) == [(WARNING, why)]


LAME = {
    "invalid": ({"manifest": "---\nname: guard\ntrigger: none\n---\n"}, INVALID),
    "without entry point": ({"script": None}, NO_ENTRY),
}


@pytest.mark.parametrize(("how", "state"), LAME.values(), ids=LAME)
@pytest.mark.parametrize("protected", ["true", "false"])
def test_a_project_hook_that_cannot_run_replaces_nothing(project, how, state, protected):
    project.write_hook("guard", fields={"protected": protected})
    project.write_hook("guard", scope="project", **how)
    assert states(project) == [("user", "guard", ARMED), ("project", "guard", state)]


@pytest.mark.parametrize("by", ["user", "project"])
def test_a_disabled_project_hook_replaces_nothing(project, by):
    project.write_hook("guard", fields={"protected": "true"})
    project.write_hook("guard", scope="project")
    project.write_hooks_toml(by, "[[hooks.disable]]\nname = 'guard'\n")
    assert states(project) == [("user", "guard", ARMED), ("project", "guard", DISABLED)]


def test_a_user_hook_that_cannot_run_is_not_shadowed(project):
    project.write_hook("guard", script=None, fields={"protected": "true"})
    project.write_hook("guard", scope="project")
    assert states(project) == [("user", "guard", NO_ENTRY), ("project", "guard", ARMED)]


def test_on_one_level_the_first_by_folder_name_wins_with_a_warning(project):
    first = project.write_hook("a", fields={"name": "guard"})
    project.write_hook("b", fields={"name": "guard"})
    why = f"the user hook in {first} has the same name"
    assert states(project) == [("user", "a", ARMED), ("user", "b", SHADOWED)]
    assert [p.message for p in load(project).catalog.hooks[1].diagnostics if p.key == "name"][-1] == why


def test_on_one_level_a_hook_that_cannot_run_does_not_win(project):
    project.write_hook("a", fields={"name": "guard"}, script=None)
    project.write_hook("b", fields={"name": "guard"})
    assert states(project) == [("user", "a", NO_ENTRY), ("user", "b", ARMED)]


def test_a_project_replaces_the_hook_that_won_at_user_level(project):
    project.write_hook("a", fields={"name": "guard"})
    project.write_hook("b", fields={"name": "guard"})
    project.write_hook("c", fields={"name": "guard"}, scope="project")
    assert states(project) == [("user", "a", SHADOWED), ("user", "b", SHADOWED), ("project", "c", ARMED)]


# hooks.toml beside the folders


def test_both_files_are_applied_the_project_s_first(project):
    project.write_hook("mine")
    project.write_hook("theirs", scope="project")
    project.write_hooks_toml(
        "project", "[hooks.defaults]\npriority = 1\n[[hooks.override]]\nname = 'mine'\non_failure = 'block'\n"
    )
    project.write_hooks_toml("user", "[[hooks.override]]\nname = 'theirs'\ntimeout = 200\n")
    found = {hook.name: (hook.priority, hook.timeout, hook.on_failure) for hook in load(project).catalog.hooks}
    assert found == {"mine": (100, 30.0, "block"), "theirs": (1, 0.2, "allow")}


def test_what_is_wrong_in_either_file_is_among_the_diagnostics(project):
    project.write_hooks_toml("user", "broken")
    project.hooks_folder("project").mkdir(parents=True)
    project.write_hooks_toml("project", "[[hooks.disable]]\nname = 'gone'\n")
    found = [(os.path.basename(os.path.dirname(d.path)), d.level, d.message) for d in load(project).catalog.diagnostics]
    assert found == [
        ("agents", ERROR, "not valid TOML: Expected '=' after a key in a key/value pair (at end of document)"),
        (".agents", WARNING, "there is no hook named 'gone'"),
    ]


def test_a_project_s_file_cannot_keep_the_user_s_hooks_from_loading(project):
    project.write_hook("guard")
    project.hooks_folder("project").mkdir(parents=True)
    project.write_hooks_toml("project", "x = 1" + "0" * 5000)
    assert states(project) == [("user", "guard", ARMED)]


# Any contents of a project

FIELDS = [
    "name: guard",
    "name: x",
    "trigger: Stop",
    "trigger: pre-tool-call",
    "protected: true",
    "priority: 9",
    "async: yes",
]
FIELDS += [
    "matcher: {tool: '('}",
    "matcher: {tool: *}",
    "a: [",
    "a: &b",
    'p: "\\."',
    "on_failure: block",
    "- x",
    "{}",
    "\t",
]
TOML = [
    "[hooks]",
    "enabled = false",
    "debug = true",
    "[hooks.defaults]",
    "async = true",
    "[[hooks.disable]]",
    "name = 'guard'",
]
TOML += [
    "[[hooks.override]]",
    "on_failure = 'allow'",
    "timeout = 100",
    "x = ",
    "x = 1" + "0" * 5000,
    "x = " + "[" * 5000,
]


def lines(known):
    return st.lists(st.sampled_from(known) | st.text(max_size=8), max_size=7).map("\n".join)


def put(project, manifest: str, toml: str) -> None:
    for name, text in (("guard", manifest), ("other", f"---\n{manifest}\n---\n")):
        folder = project.write_hook(name, scope="project", manifest=" ")
        (folder / "HOOK.md").write_bytes(text.encode())
    project.write_hooks_toml("project", "").write_bytes(toml.encode())


@given(lines(FIELDS), lines(TOML))
def test_no_project_can_change_a_protected_hook_of_the_user(new_project, manifest, toml):
    project = new_project("any")
    project.write_hook("guard", fields={"protected": "true"})
    (before,) = load(project, with_project=False).catalog.hooks
    put(project, manifest, toml)
    found = next(hook for hook in load(project).catalog.hooks if hook.scope == "user")
    assert found in (before, before.replace(on_failure="block"))
