"""`boathook trust --anywhere`: the bytes of a hook are trusted in every folder."""

from __future__ import annotations

import json
import os
import shutil
import time

import pytest

import boathook
from tests.git_repository import commit_all
from tests.scratch_project import CALL, list_runs, list_skipped, make_settings

BLOCKS = "echo no >&2; exit 2"
ARMED = [("guard", "ok", "block")]


@pytest.fixture
def other(project):
    """Another folder with the same hook, which is trusted anywhere."""
    project.write_hook("guard", scope="project", script=BLOCKS)
    done = project.trust("guard", flags=("--yes", "--anywhere"))
    assert "guard is trusted: exactly these bytes, in any folder" in done.stdout
    folder = project.base / "other"
    shutil.copytree(project.path / ".agents", folder / ".agents")
    return folder


def dispatch(folder):
    with boathook.load(folder) as engine:
        return engine.dispatch({**CALL, "work_dir": str(folder)}).to_json()


def list_decisions(project, folder):
    return json.loads(project.run("trust", "--list", "--json", "--project", str(folder)).stdout)["hooks"]


def test_the_same_bytes_run_in_any_folder(project, other):
    assert list_runs(dispatch(project.path)) == list_runs(dispatch(other)) == ARMED
    row = json.loads(project.run("list", "--json", "--project", str(other)).stdout)["hooks"][0]
    assert (row["state"], row["trusted_in"]) == ("armed", "anywhere")
    assert "Nothing to review: 1 trusted" in project.run("trust", "--project", str(other)).stdout


def test_it_can_be_trusted_in_a_folder_as_well(project, other):
    done = project.run("trust", "guard", "--yes", "--project", str(other))
    assert f"guard is trusted: exactly these bytes, for {other}" in done.stdout
    (other / ".agents" / "hooks" / "guard" / "new").touch()
    assert "it changed since it was trusted" in dispatch(other)["skipped"][0]["why"]


def test_a_copy_in_a_nearer_folder_does_not_hide_guards_silently(project, other):
    project.write_hook("second", scope="project", script=BLOCKS)
    project.trust()
    nearer = project.path / "sub"
    shutil.copytree(other / ".agents", nearer / ".agents")
    # The copy runs, and the other guard does not.
    found = dispatch(nearer)
    assert (list_runs(found), list_skipped(found)) == (ARMED, ["second"])
    assert "you trusted it in a folder above" in found["skipped"][0]["why"]
    project.run("trust", "guard", "--yes", "--project", str(nearer))
    assert dispatch(nearer)["skipped"] == []


@pytest.mark.parametrize("path", ["HOOK.md", "scripts/run.sh", "new"])
def test_other_bytes_do_not(project, other, path):
    with (other / ".agents" / "hooks" / "guard" / path).open("a") as file:
        file.write("\n")
    found = dispatch(other)
    assert (list_runs(found), list_skipped(found)) == ([], ["guard"])
    assert "not trusted yet" in found["skipped"][0]["why"]
    assert list_runs(dispatch(project.path)) == ARMED


def test_where_it_was_reviewed_a_change_is_a_change(project, other):
    (project.path / ".agents" / "hooks" / "guard" / "new").touch()
    assert "it changed since it was trusted" in dispatch(project.path)["skipped"][0]["why"]
    # A review of the new bytes is for this project, and takes nothing from the other folders.
    project.trust()
    assert list_runs(dispatch(project.path)) == list_runs(dispatch(other)) == ARMED


def test_it_is_listed_and_can_be_ended_in_any_folder(project, other):
    assert [(row["state"], row["holds_in"]) for row in list_decisions(project, other)] == [
        ("trusted", "anywhere"),
        ("trusted", "anywhere"),
    ]
    empty = project.base / "empty"
    empty.mkdir()
    done = project.run("untrust", "guard", "--project", str(empty), "--yes")
    told = "guard is no longer trusted in any folder (it was trusted with --anywhere)\n"
    assert (done.returncode, done.stdout) == (0, told)
    assert [list_skipped(dispatch(folder)) for folder in (project.path, other)] == [["guard"], ["guard"]]


def test_untrust_all_ends_it_where_it_is_used(project, other):
    assert project.run("untrust", "--all", "--project", str(other), "--yes").returncode == 0
    assert list_skipped(dispatch(other)) == ["guard"]


def test_a_denied_hook_stays_denied(project, other):
    project.run("deny", "guard", "--project", str(other), "--yes")
    assert (dispatch(other)["runs"], dispatch(other)["system_message"]) == ([], [])
    assert list_runs(dispatch(project.path)) == ARMED
    project.run("deny", "guard", "--yes")
    assert dispatch(project.path)["runs"] == []
    third = project.base / "third"
    shutil.copytree(project.path / ".agents", third / ".agents")
    assert list_runs(dispatch(third)) == ARMED
    # What counts in other folders is listed as what it is, and to undo the denial does not end it.
    states = [(row["state"], row["holds_in"]) for row in list_decisions(project, project.path)]
    assert sorted(states) == [("denied", "project"), ("denied", "project"), ("trusted", "anywhere")]
    told = project.run("untrust", "guard", "--yes").stdout
    assert told.startswith("guard is no longer denied. It is still trusted in every folder (--anywhere)")
    assert [list_runs(dispatch(folder)) for folder in (project.path, third)] == [ARMED, ARMED]


def test_a_hook_that_is_trusted_here_can_be_trusted_anywhere(project):
    project.write_hook("guard", scope="project", script=BLOCKS)
    commit_all(project.path)
    project.trust()
    project.trust(flags=("--yes", "--anywhere"))
    (row,) = list_decisions(project, project.path)
    assert (row["state"], row["holds_in"]) == ("trusted", "anywhere")


def test_the_name_of_the_folder_is_one_of_the_bytes(project, other):
    os.rename(other / ".agents" / "hooks" / "guard", other / ".agents" / "hooks" / "gourd")
    assert list_skipped(dispatch(other)) == ["guard"]


def test_it_does_not_replace_a_hook_of_the_user(project, other):
    project.write_hook("guard", script="echo mine >&2; exit 2")
    assert dispatch(other)["reasons"] == ["mine"]
    third = project.write_hook("guard", scope="project", script="exit 0")
    done = project.run("trust", "guard", "--yes", "--anywhere", "--override")
    assert done.returncode == 1
    assert "cannot be trusted in every folder (--anywhere): it replaces your own hook" in done.stderr
    assert third.exists()


UNBOUND = {
    "a script of the project": ('"$AGENT_PROJECT_DIR"/tools/check.sh', "tools/check.sh"),
    "a relative script": ("sh tools/check.sh", "tools/check.sh"),
    "a sourced file": (". ./env.sh", "env.sh"),
    "standard input": ("bash < tools/check.sh", "tools/check.sh"),
    "a package": ("npx lint", "npx lint"),
    "a makefile": ("make check", "make check"),
    "a module": ("python3 -m checks", "python3 -m checks"),
    "a script in a condition": ("if true; then ./tool.sh; fi", "tool.sh"),
    "a script in a function": ("f() { ./tool.sh; }; f", "tool.sh"),
    "a script in a text": ("bash -c ./tool.sh", "tool.sh"),
    "a script of xargs": ("xargs ./tool.sh", "tool.sh"),
    "a script in a pipe": ("cat tool.sh | sh", "`sh`"),
    "a script in the work dir": ('"$PWD/tool.sh"; "$AGENT_WORK_DIR/tool.sh"', "tool.sh"),
    "a script in a variable": ("x=./tool.sh; $x", "tool.sh"),
    "a script of eval": ('eval "$(cat tool.sh)"', "eval"),
    "a script of find": ("find . -name 'x*' -exec {} \\;", "find"),
    "a script of a trap": ("trap ./tool.sh EXIT", "tool.sh"),
    "a script of an alias": ("alias ls=./tool.sh; ls", "tool.sh"),
    "a script beside": ("coproc ./tool.sh", "tool.sh"),
    "a script of awk": ("awk -f tool.awk", "awk"),
    "programs of the work dir": ("PATH=.:$PATH; tool", "PATH=.:$PATH"),
    "programs of the project": ('export PATH="$AGENT_PROJECT_DIR/bin:$PATH"; tool', "AGENT_PROJECT_DIR"),
    "tests of the project": ("pytest -q", "pytest -q"),
    "a build of the project": ("cargo run", "cargo run"),
    "a computed program": ('"$(pwd)/tool.sh"', "`"),
}


@pytest.mark.parametrize("case", UNBOUND)
def test_a_hook_that_runs_what_is_not_bound_is_refused(project, case):
    command, name = UNBOUND[case]
    project.write_hook("guard", scope="project", script=f"{command} || exit 2")
    done = project.run("trust", "guard", "--yes", "--anywhere")
    assert done.returncode == 1
    assert "guard cannot be trusted in every folder (--anywhere): it runs `" in done.stderr
    assert name in done.stderr
    assert "`, which trust does not cover. Trust it here only: boathook trust guard" in done.stderr
    assert "not bound" in done.stdout
    assert project.read_hook_state("guard") == "untrusted"
    project.trust("guard")


@pytest.mark.parametrize(("path", "mode"), [("run", 0o755), ("run", 0o644), ("../assets/x", 0o755)])
def test_an_entry_point_that_a_shell_reads_is_a_shell_script(project, path, mode):
    text = "#!/usr/bin/python3\n" if mode == 0o644 else ""
    folder = project.write_hook("guard", None, scope="project")
    for name in ("assets", "scripts"):
        (folder / name).mkdir()
    file = folder / "scripts" / path
    file.write_text(f"{text}make -s check\n")
    file.chmod(mode)
    if path != "run":
        (folder / "scripts" / "run").symlink_to(path)
    done = project.run("trust", "guard", "--yes", "--anywhere")
    assert "it runs `make -s check`, which trust does not cover" in done.stderr


def test_a_hook_that_imports_from_the_project_is_refused(project):
    project.write_hook("guard", "exit 0", scope="project", fields={"imports": "project"})
    done = project.run("trust", "guard", "--yes", "--anywhere")
    assert "it runs `modules of the project (imports: project)`, which trust does not cover" in done.stderr


def test_files_of_its_own_folder_are_bound(project):
    script = """here=$(cd "$(dirname "$0")" && pwd); input=$(cat); python=python3
. "$AGENT_HOOK_DIR/lib.sh"; "$(dirname "$0")/tool.sh"; "$here/tool.sh"; grep -q x README.md
if ! echo "$input" | "$python" -c 'import sys'; then sh "$here/tool.sh" "$input"; fi
trap 'rm -f "$input"' EXIT; trap - INT; find . -name x -exec grep -q y {} +; awk '{print $1}'
PATH=/usr/bin:/bin; export PATH="$HOME/.local/bin:$PATH"; PATH="$here/bin:${PATH}"
[ -n "$input" ] && [[ $input =~ ^a(b)*$ ]] || { true; }
case "$input" in *x*|*/.env) echo no >&2; exit 2 ;; esac
python3 - <<'END'
print(1)
END
exit 0"""
    folder = project.write_hook("guard", script, scope="project")
    (folder / "lib.sh").write_text("cd /tmp\n")
    project.trust("guard", flags=("--yes", "--anywhere"))


def test_entries_of_settings_are_refused(project):
    project.write_settings("project", make_settings("exit 2"))
    done = project.run("trust", "--yes", "--anywhere")
    assert done.returncode == 1
    assert "what an entry of settings.json runs depends on its project" in done.stderr


def test_a_compiled_catalogue_notices_that_the_trusted_bytes_come_back(project, other):
    script = other / ".agents" / "hooks" / "guard" / "scripts" / "run.sh"
    text = script.read_text()
    script.write_text("exit 0\n")

    def run_entry():
        event = json.dumps({**CALL, "work_dir": str(other)})
        return json.loads(project.run("run", "--json", stdin=event).stdout)

    time.sleep(2.2)
    assert list_skipped(run_entry()) == ["guard"]
    assert list(project.cache.glob("*other*.catalogue"))
    script.write_text(text)
    assert list_runs(run_entry()) == ARMED
