"""`boathook replay`: your current hooks on the events of yesterday, in a sandbox."""

from __future__ import annotations

import json

import pytest

from boathook.process.sandbox import probe_sandbox_levels
from tests.scratch_project import CALL

RESTRICTED = next(offer.is_available for offer in probe_sandbox_levels() if offer.level == "restricted")
ISOLATED = next(offer.is_available for offer in probe_sandbox_levels() if offer.level == "isolated")
CONFINED = () if RESTRICTED else ("--unconfined",)
COMMANDS = ("ls", "git push --force", "make", "git push --force origin", "rm -rf /")


def _record(project, commands=COMMANDS, **fields):
    project.write_hooks_toml("user", '[hooks]\nrecord = "whole"\n')
    for text in commands:
        project.dispatch("by hook_entry", {**CALL, **fields, "tool_input": {"command": text}})


def _replay(project, *flags):
    done = project.run("replay", "--json", *CONFINED, *flags)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def _guard(project, name="new", scope="user", script="echo no force >&2; exit 2", pattern="push.*--force"):
    return project.write_hook(
        name, scope=scope, script=script, fields={"matcher": f"{{tool: Shell, pattern: '{pattern}'}}"}
    )


def test_a_new_hook_is_tried_on_events_that_no_hook_had_seen(project):
    _record(project)
    folder = _guard(project)
    code, found = _replay(project, "--hook", str(folder))
    rows = [
        (row["input"]["command"], row["was"], row["now"], row["reasons"], row["hooks"]) for row in found["differences"]
    ]
    assert code == 1
    assert rows == [(text, "none", "block", ["no force"], ["new"]) for text in COMMANDS if "push" in text]
    counts = {name: found[name] for name in ("events", "replayed", "partial", "redacted", "failed", "would_block")}
    assert counts == {"events": 5, "replayed": 5, "partial": 0, "redacted": 0, "failed": 0, "would_block": 2}


def test_a_person_reads_how_many_and_which(project):
    _record(project)
    folder = _guard(project)
    done = project.run("replay", "--hook", str(folder), *CONFINED)
    assert done.stdout.splitlines()[0] == "this hook would have blocked 2 of 5 recorded events"
    assert done.stdout.count("git push --force") == 2


def test_hooks_that_have_not_changed_answer_the_same(project):
    _guard(project)
    _record(project)
    code, found = _replay(project)
    assert (code, found["differences"], found["would_block"]) == (0, [], 2)


def test_a_changed_catalogue_is_compared_with_what_was_decided(project):
    _guard(project)
    _record(project)
    _guard(project, "new", script="exit 0")
    _guard(project, "other", pattern="rm -rf")
    _, found = _replay(project)
    rows = [(row["input"]["command"], row["was"], row["now"]) for row in found["differences"]]
    assert rows == [
        ("git push --force", "block", "none"),
        ("git push --force origin", "block", "none"),
        ("rm -rf /", "none", "block"),
    ]


def test_untrusted_hooks_of_the_project_take_no_part(project):
    _record(project)
    _guard(project, scope="project")
    assert _replay(project)[1]["would_block"] == 0
    project.trust()
    assert _replay(project)[1]["would_block"] == 2


def test_events_that_were_not_kept_whole_are_counted(project):
    _guard(project)
    for text in COMMANDS:
        project.dispatch("by command", {**CALL, "tool_input": {"command": text}})
    _, found = _replay(project)
    assert (found["events"], found["replayed"], found["partial"]) == (2, 0, 2)
    done = project.run("replay", *CONFINED)
    assert 'set record = "whole"' in done.stdout


def test_secrets_are_not_replayed(project):
    secret = "ghp_" + "a1B2" * 9
    _record(project, [f"curl -H 'Authorization: Bearer {secret}' x"])
    folder = _guard(project, script="cat >&2; exit 2", pattern="curl")
    _, found = _replay(project, "--hook", str(folder))
    assert found["redacted"] == 1
    assert secret not in json.dumps(found)
    assert secret not in "".join(path.read_text() for path in project.state.glob("*.jsonl"))


@pytest.mark.skipif(not RESTRICTED, reason="this machine has neither Landlock nor bubblewrap")
def test_a_replay_does_nothing_again(project):
    _record(project, ["git push --force"])
    folder = _guard(project, script=f"touch {project.path}/made {project.base}/made; touch made && exit 2")
    _, found = _replay(project, "--hook", str(folder))
    assert found["would_block"] == 1
    assert not (project.path / "made").exists()
    assert not (project.base / "made").exists()


LEVELS = {
    "isolated": pytest.param("isolated", marks=pytest.mark.skipif(not ISOLATED, reason="no bubblewrap here")),
    "restricted, without bwrap on the PATH": "restricted",
}


@pytest.mark.skipif(not RESTRICTED, reason="this machine has neither Landlock nor bubblewrap")
@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_a_hook_given_by_its_path_gets_no_secrets_and_the_highest_sandbox_level_there_is(project, tmp_path, level):
    """It is not trusted; you can try a clone's hook this way before you trust it."""
    (project.home / "key").write_text("a key\n")
    _record(project, ["git push --force"])
    script = f'(echo "secret: $API_TOKEN"; cat {project.home}/key; touch made && echo made) >&2 2>/dev/null; exit 2'
    folder = _guard(project, scope="project", script=script)
    bins = tmp_path / "bin"
    bins.mkdir()
    for name in ("cat", "touch", "sh"):
        (bins / name).symlink_to(f"/bin/{name}")
    path = {} if level == "isolated" else {"PATH": str(bins)}
    done = project.run("replay", "--json", "--hook", str(folder), env={"API_TOKEN": "t0ken", **path})
    [row] = json.loads(done.stdout)["differences"]
    seen = [] if level == "isolated" else ["a key"]
    assert " ".join(row["reasons"]).replace("\n", " ").split() == " ".join(["secret:", *seen, "made"]).split()


def test_only_what_is_younger_is_replayed(project):
    _record(project)
    folder = _guard(project)
    assert _replay(project, "--hook", str(folder), "--since", "2099-01-01")[1]["events"] == 0
    assert _replay(project, "--hook", str(folder), "--since", "1h")[1]["events"] == 5


def test_a_replay_leaves_no_record(project):
    _record(project)
    before = {path.name: path.read_bytes() for path in project.state.glob("*.jsonl")}
    _replay(project, "--hook", str(_guard(project)))
    assert {path.name: path.read_bytes() for path in project.state.glob("*.jsonl")} == before


@pytest.mark.parametrize("what", ["nothing there", "no entry point", "broken"])
def test_a_hook_that_cannot_run_is_an_error_that_helps(project, what):
    folder = project.write_hook("new", script=None if what == "no entry point" else "exit 0")
    if what == "nothing there":
        (folder / "HOOK.md").unlink()
    if what == "broken":
        (folder / "HOOK.md").write_text("---\nname: x\n---\n")
    done = project.run("replay", "--hook", str(folder))
    assert done.returncode == 1
    assert done.stderr.startswith("boathook: ")
    assert "Traceback" not in done.stderr


def test_an_empty_ledger_is_reported(project):
    done = project.run("replay", *CONFINED)
    assert done.returncode == 0
    assert "is empty. A record is written when" in done.stdout
