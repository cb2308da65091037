"""The tests of a hook are no part of what is trusted, so nothing that runs may lead to them unseen."""

from __future__ import annotations

from boathook.core.hook import PROJECT
from boathook.sources.hook_md.folder import read_hook
from boathook.trust.bound_files import BoundFile, choose_roots, find_uncovered_files
from boathook.trust.snapshot import read_snapshot


def test_a_script_that_runs_its_tests_in_the_project_is_shown_as_running_something_that_is_not_covered(project):
    own = '"$AGENT_PROJECT_DIR"/.agents/hooks/guard'
    script = f". {own}/tests/lib.sh\nsh {own}/tests.txt\n. {own}/scripts/lib.sh\n"
    folder = project.write_hook("guard", script, scope="project")
    hook, _ = read_hook(str(folder / "HOOK.md"), str(folder), PROJECT)
    found = find_uncovered_files(hook, read_snapshot(str(folder)), str(project.path))
    assert found.unbound == (f"{folder}/tests/lib.sh", f"{folder}/tests.txt")


def test_of_an_entry_that_runs_a_file_beside_a_manifest_only_that_file_is_covered(project):
    folder = project.write_hook("guard", scope="project")
    (folder / "main.js").write_text("")
    assert choose_roots((BoundFile(f"{folder}/main.js"),), str(project.path)) == (f"{folder}/main.js",)
    assert choose_roots((BoundFile(f"{folder}/scripts/run.sh"),), str(project.path)) == (f"{folder}/scripts",)
