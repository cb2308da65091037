"""`boathook replay`: hooks of today on the events of yesterday, in a sandbox."""

from __future__ import annotations

import json

import pytest

from boathook.process.sandbox import probe_sandbox_levels
from tests.trust.helpers import CALL, command, trust, verdict

WALLS = next(offer.is_available for offer in probe_sandbox_levels() if offer.level == "restricted")
ISOLATED = next(offer.is_available for offer in probe_sandbox_levels() if offer.level == "isolated")
CONFINED = () if WALLS else ("--unconfined",)
COMMANDS = ("ls", "git push --force", "make", "git push --force origin", "rm -rf /")


def _record(world, commands=COMMANDS, **fields):
    world.toml("user", '[hooks]\nrecord = "whole"\n')
    for text in commands:
        verdict(world, "by the door", {**CALL, **fields, "tool_input": {"command": text}})


def _replay(world, *flags):
    done = command(world, "replay", "--json", *CONFINED, *flags)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def _guard(world, name="new", scope="user", script="echo no force >&2; exit 2", pattern="push.*--force"):
    return world.hook(name, scope=scope, script=script, fields={"matcher": f"{{tool: Shell, pattern: '{pattern}'}}"})


def test_a_new_hook_is_tried_on_events_that_no_hook_had_seen(world):
    _record(world)
    folder = _guard(world)
    code, found = _replay(world, "--hook", str(folder))
    rows = [
        (row["input"]["command"], row["was"], row["now"], row["reasons"], row["hooks"]) for row in found["differences"]
    ]
    assert code == 1
    assert rows == [(text, "none", "block", ["no force"], ["new"]) for text in COMMANDS if "push" in text]
    counts = {name: found[name] for name in ("events", "replayed", "partial", "redacted", "failed", "would_block")}
    assert counts == {"events": 5, "replayed": 5, "partial": 0, "redacted": 0, "failed": 0, "would_block": 2}


def test_a_person_reads_how_many_and_which(world):
    _record(world)
    folder = _guard(world)
    done = command(world, "replay", "--hook", str(folder), *CONFINED)
    assert done.stdout.splitlines()[0] == "this hook would have blocked 2 of 5 recorded events"
    assert done.stdout.count("git push --force") == 2


def test_hooks_that_have_not_changed_say_the_same(world):
    _guard(world)
    _record(world)
    code, found = _replay(world)
    assert (code, found["differences"], found["would_block"]) == (0, [], 2)


def test_a_changed_catalogue_is_compared_with_what_was_decided(world):
    _guard(world)
    _record(world)
    _guard(world, "new", script="exit 0")
    _guard(world, "other", pattern="rm -rf")
    _, found = _replay(world)
    rows = [(row["input"]["command"], row["was"], row["now"]) for row in found["differences"]]
    assert rows == [
        ("git push --force", "block", "none"),
        ("git push --force origin", "block", "none"),
        ("rm -rf /", "none", "block"),
    ]


def test_untrusted_hooks_of_the_project_take_no_part(world):
    _record(world)
    _guard(world, scope="project")
    assert _replay(world)[1]["would_block"] == 0
    trust(world)
    assert _replay(world)[1]["would_block"] == 2


def test_events_that_were_not_kept_whole_are_counted(world):
    _guard(world)
    for text in COMMANDS:
        verdict(world, "by command", {**CALL, "tool_input": {"command": text}})
    _, found = _replay(world)
    assert (found["events"], found["replayed"], found["partial"]) == (2, 0, 2)
    done = command(world, "replay", *CONFINED)
    assert 'set record = "whole"' in done.stdout


def test_secrets_are_not_replayed(world):
    secret = "ghp_" + "a1B2" * 9
    _record(world, [f"curl -H 'Authorization: Bearer {secret}' x"])
    folder = _guard(world, script="cat >&2; exit 2", pattern="curl")
    _, found = _replay(world, "--hook", str(folder))
    assert found["redacted"] == 1
    assert secret not in json.dumps(found)
    assert secret not in "".join(path.read_text() for path in world.state.glob("*.jsonl"))


@pytest.mark.skipif(not WALLS, reason="this machine has neither Landlock nor bubblewrap")
def test_a_replay_does_nothing_again(world):
    _record(world, ["git push --force"])
    folder = _guard(world, script=f"touch {world.project}/made {world.root}/made; touch made && exit 2")
    _, found = _replay(world, "--hook", str(folder))
    assert found["would_block"] == 1
    assert not (world.project / "made").exists()
    assert not (world.root / "made").exists()


LEVELS = {
    "isolated": pytest.param("isolated", marks=pytest.mark.skipif(not ISOLATED, reason="no bubblewrap here")),
    "restricted, without bwrap on the PATH": "restricted",
}


@pytest.mark.skipif(not WALLS, reason="this machine has neither Landlock nor bubblewrap")
@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_a_hook_given_by_its_path_gets_no_secrets_and_the_highest_walls_there_are(world, tmp_path, level):
    """Nobody has trusted it; a clone's hook is looked at this way before it is."""
    (world.home / "key").write_text("a key\n")
    _record(world, ["git push --force"])
    script = f'(echo "secret: $API_TOKEN"; cat {world.home}/key; touch made && echo made) >&2 2>/dev/null; exit 2'
    folder = _guard(world, scope="project", script=script)
    bins = tmp_path / "bin"
    bins.mkdir()
    for name in ("cat", "touch", "sh"):
        (bins / name).symlink_to(f"/bin/{name}")
    path = {} if level == "isolated" else {"PATH": str(bins)}
    done = command(world, "replay", "--json", "--hook", str(folder), API_TOKEN="t0ken", **path)
    [row] = json.loads(done.stdout)["differences"]
    seen = [] if level == "isolated" else ["a key"]
    assert " ".join(row["reasons"]).replace("\n", " ").split() == " ".join(["secret:", *seen, "made"]).split()


def test_only_what_is_younger_is_replayed(world):
    _record(world)
    folder = _guard(world)
    assert _replay(world, "--hook", str(folder), "--since", "2099-01-01")[1]["events"] == 0
    assert _replay(world, "--hook", str(folder), "--since", "1h")[1]["events"] == 5


def test_a_replay_leaves_no_record(world):
    _record(world)
    before = {path.name: path.read_bytes() for path in world.state.glob("*.jsonl")}
    _replay(world, "--hook", str(_guard(world)))
    assert {path.name: path.read_bytes() for path in world.state.glob("*.jsonl")} == before


@pytest.mark.parametrize("what", ["nothing there", "no entry point", "broken"])
def test_a_hook_that_cannot_run_is_an_error_that_helps(world, what):
    folder = world.hook("new", script=None if what == "no entry point" else "exit 0")
    if what == "nothing there":
        (folder / "HOOK.md").unlink()
    if what == "broken":
        (folder / "HOOK.md").write_text("---\nname: x\n---\n")
    done = command(world, "replay", "--hook", str(folder))
    assert done.returncode == 1
    assert done.stderr.startswith("boathook: ")
    assert "Traceback" not in done.stderr


def test_an_empty_ledger_is_said(world):
    done = command(world, "replay", *CONFINED)
    assert done.returncode == 0
    assert "is empty. A record is written when" in done.stdout
