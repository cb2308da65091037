"""Trust with the cached catalogue, which most events use."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from boathook.catalog_cache.format import load_compiled
from boathook.loader import load_hooks
from boathook.sources.source import SOURCES
from boathook.system.locations import resolve_locations
from boathook.trust.store import TrustStore
from tests.scratch_project import CALL, HOOK_ENTRY, list_runs, list_skipped, make_settings

SETTLED = 2.2
QUIET = {**CALL, "event_type": "post-step"}


PEEK = """
import sys
sys.path.insert(0, {entry!r}.rpartition("/boathook/")[0])
from boathook.entry import fast_path
real = fast_path.system._exit

def end(code):
    sys.stderr.write("engine" if "boathook.engine" in sys.modules else "fast path")
    sys.stderr.flush()
    real(code)

class System:
    def __getattr__(self, name):
        return end if name == "_exit" else getattr(sys.modules["posix"], name)

fast_path.system = System()
fast_path.enter([])
"""


def _write_cache(project):
    """Let the files grow old, and have the catalogue cached."""
    time.sleep(SETTLED)
    project.dispatch("by command", QUIET)
    env = {name.encode(): value.encode() for name, value in project.variables.items()}
    assert load_compiled(resolve_locations(SOURCES, str(project.path), env)) is not None


def _imports(project, event):
    """Return what hook_entry answers and whether the engine was loaded."""
    done = [sys.executable, "-I", "-S", "-c", PEEK.format(entry=HOOK_ENTRY)]
    return subprocess.run(
        done,
        input=json.dumps(event),
        capture_output=True,
        text=True,
        cwd=project.path,
        env=project.environment,
        check=False,
    )


def test_a_cached_hook_that_is_not_trusted_costs_the_fast_path_nothing_where_it_does_not_match(project):
    project.write_hook(
        "guard", scope="project", script="exit 2", fields={"matcher": "{tool: Shell, pattern: 'rm -rf'}"}
    )
    _write_cache(project)
    assert _imports(project, CALL).stderr == "fast path"
    found = _imports(project, {**CALL, "tool_input": {"command": "rm -rf /"}})
    assert found.stderr.endswith("engine")
    assert "(untrusted)" in found.stderr


def test_an_approval_counts_at_the_next_event(project):
    project.write_hook("guard", scope="project", script="exit 2")
    _write_cache(project)
    assert list_skipped(project.dispatch("by hook_entry")) == ["guard"]
    project.trust()
    assert list_runs(project.dispatch("by hook_entry")) == [("guard", "ok", "block")]
    _write_cache(project)
    assert list_runs(project.dispatch("by hook_entry")) == [("guard", "ok", "block")]
    project.run("deny", "guard", "--yes")
    assert list_runs(project.dispatch("by hook_entry")) == []


@pytest.mark.parametrize("form", ["HOOK.md", "settings.json"])
def test_a_cached_catalogue_does_not_hide_that_a_script_changed(project, form):
    if form == "HOOK.md":
        script = project.write_hook("guard", scope="project", script="exit 2") / "scripts" / "run.sh"
    else:
        script = project.path / ".claude" / "hooks" / "guard.sh"
        script.parent.mkdir(parents=True)
        script.write_text("#!/bin/sh\nexit 2\n")
        script.chmod(0o755)
        project.write_settings("project", make_settings("$CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh"))
    project.trust()
    _write_cache(project)
    assert project.dispatch("by hook_entry")["decision"] == "block"
    text = script.read_text()
    script.write_text("#!/bin/sh\nexit 0\n")
    found = project.dispatch("by hook_entry")
    assert (list_runs(found), len(found["skipped"])) == ([], 1)
    _write_cache(project)
    assert list_runs(project.dispatch("by hook_entry")) == []
    script.write_text(text)
    assert project.dispatch("by hook_entry")["decision"] == "block"


def test_trust_all_and_trust_do_not_share_a_cached_catalogue(project):
    project.write_hook("guard", scope="project", script="exit 2")
    time.sleep(SETTLED)
    for _ in range(2):
        assert list_runs(project.dispatch("by hook_entry", CALL, "--trust-all")) == [("guard", "ok", "block")]
        assert list_skipped(project.dispatch("by hook_entry")) == ["guard"]


@pytest.mark.parametrize("name", ["copies", "copies/*"])
def test_a_private_copy_that_is_gone_is_made_again(project, name):
    from boathook.trust.snapshot import remove_snapshot

    project.write_hook("guard", scope="project", script="exit 2")
    project.trust()
    _write_cache(project)
    (folder,) = project.state.glob(name)
    remove_snapshot(str(folder))
    assert list_runs(project.dispatch("by hook_entry")) == [("guard", "ok", "block")]


def test_an_event_looks_at_one_file_of_each_trusted_hook(project):
    counts = []
    for count in (4, 8):
        for number in range(count - 4, count):
            project.write_hook(f"guard-{number}", scope="project")
        project.trust()
        locations = project.make_locations(trust_all=False)
        watch = load_hooks(locations, TrustStore(locations.state)).watch
        assert f"{locations.state}/copies" in watch
        counts.append(len(watch))
    assert counts[1] - counts[0] == 4
