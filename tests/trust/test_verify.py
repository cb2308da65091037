"""Trust on the road of the compiled catalogue, which most events take."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from boathook.catalog_cache.format import load_compiled
from boathook.sources.source import SOURCES
from boathook.system.locations import resolve_locations
from tests.trust.helpers import CALL, DOOR, command, ran, settings, skipped, trust, verdict

SETTLED = 2.2
QUIET = {**CALL, "event_type": "post-step"}


PEEK = """
import sys
sys.path.insert(0, {door!r}.rpartition("/boathook/")[0])
from boathook.entry import fast_path as threshold
real = threshold.system._exit

def end(code):
    sys.stderr.write("engine" if "boathook.engine" in sys.modules else "door")
    sys.stderr.flush()
    real(code)

class System:
    def __getattr__(self, name):
        return end if name == "_exit" else getattr(sys.modules["posix"], name)

threshold.system = System()
threshold.enter([])
"""


def _keep(world):
    """Let the files grow old, and have the catalogue kept."""
    time.sleep(SETTLED)
    verdict(world, "by command", QUIET)
    env = {name.encode(): value.encode() for name, value in world.variables.items()}
    assert load_compiled(resolve_locations(SOURCES, str(world.project), env)) is not None


def _imports(world, event):
    """Give what the door says and whether the engine was opened."""
    done = [sys.executable, "-I", "-S", "-c", PEEK.format(door=DOOR)]
    return subprocess.run(
        done,
        input=json.dumps(event),
        capture_output=True,
        text=True,
        cwd=world.project,
        env=world.environment,
        check=False,
    )


def test_a_kept_hook_that_is_not_trusted_costs_the_door_nothing_where_it_does_not_match(world):
    world.hook("guard", scope="project", script="exit 2", fields={"matcher": "{tool: Shell, pattern: 'rm -rf'}"})
    _keep(world)
    assert _imports(world, CALL).stderr == "door"
    found = _imports(world, {**CALL, "tool_input": {"command": "rm -rf /"}})
    assert found.stderr.endswith("engine")
    assert "not trusted yet" in found.stderr


def test_a_word_of_trust_is_heard_by_the_next_event(world):
    world.hook("guard", scope="project", script="exit 2")
    _keep(world)
    assert skipped(verdict(world, "by the door")) == ["guard"]
    trust(world)
    assert ran(verdict(world, "by the door")) == [("guard", "ok", "block")]
    _keep(world)
    assert ran(verdict(world, "by the door")) == [("guard", "ok", "block")]
    command(world, "deny", "guard")
    assert ran(verdict(world, "by the door")) == []


@pytest.mark.parametrize("form", ["HOOK.md", "settings.json"])
def test_a_kept_catalogue_does_not_hide_that_a_script_changed(world, form):
    if form == "HOOK.md":
        script = world.hook("guard", scope="project", script="exit 2") / "scripts" / "run.sh"
    else:
        script = world.project / ".claude" / "hooks" / "guard.sh"
        script.parent.mkdir(parents=True)
        script.write_text("#!/bin/sh\nexit 2\n")
        script.chmod(0o755)
        world.settings("project", settings("$CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh"))
    trust(world)
    _keep(world)
    assert verdict(world, "by the door")["decision"] == "block"
    text = script.read_text()
    script.write_text("#!/bin/sh\nexit 0\n")
    found = verdict(world, "by the door")
    assert (ran(found), len(found["skipped"])) == ([], 1)
    _keep(world)
    assert ran(verdict(world, "by the door")) == []
    script.write_text(text)
    assert verdict(world, "by the door")["decision"] == "block"


def test_trust_all_and_trust_do_not_share_a_kept_catalogue(world):
    world.hook("guard", scope="project", script="exit 2")
    time.sleep(SETTLED)
    for _ in range(2):
        assert ran(verdict(world, "by the door", CALL, "--trust-all")) == [("guard", "ok", "block")]
        assert skipped(verdict(world, "by the door")) == ["guard"]


def test_a_private_copy_that_is_gone_is_made_again(world):
    from boathook.trust.snapshot import remove_snapshot

    world.hook("guard", scope="project", script="exit 2")
    trust(world)
    _keep(world)
    remove_snapshot(str(world.state / "copies"))
    assert ran(verdict(world, "by the door")) == [("guard", "ok", "block")]
