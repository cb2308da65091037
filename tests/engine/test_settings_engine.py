"""Hooks of settings.json in the whole engine: all at once, each for itself, in their project, in their session.

Nothing here is proved by a clock: hooks that must run at the same time wait for each other, with a bound.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import boathook
from boathook.catalog_cache import format as compiled
from boathook.catalog_cache import write as cache
from boathook.core.event import PRE_TOOL, Event
from boathook.inprocess.contexts import ToolContext
from boathook.loader import load_hooks
from boathook.process.runner import MAX_PARALLEL_HOOKS
from tests import forked

TOOL = {"event_type": "pre-tool-call", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s"}
TURN = {"event_type": "pre-agent-turn", "prompt": "hello", "session_id": "s"}
START = {"event_type": "pre-session", "session_id": "s"}
END = {"event_type": "post-session", "session_id": "s"}
BLOCKS = "echo no >&2; exit 2"
PATIENCE = 60.0


def entry(command: str, **more) -> dict:
    return {"type": "command", "command": command, **more}


def settings(**events) -> dict:
    """Settings with one group an event, of commands or whole entries."""
    return {
        "hooks": {
            name: [{"hooks": [entry(one) if isinstance(one, str) else one for one in entries]}]
            for name, entries in events.items()
        }
    }


def in_process(project, event, **options) -> dict:
    sent = placed(project, event)
    with boathook.load(sent["work_dir"], trust_all=True, **options) as engine:
        return engine.dispatch(sent).to_json()


def in_a_loop(project, event) -> dict:
    async def go():
        sent = placed(project, event)
        with boathook.load(sent["work_dir"], trust_all=True) as engine:
            return await engine.adispatch(sent)

    return asyncio.run(go()).to_json()


def by_command(project, event, *arguments: str) -> dict:
    done = run(project, event, "--json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def run(project, event, *arguments: str) -> subprocess.CompletedProcess[str]:
    return forked.run(
        [sys.executable, "-m", "boathook", "run", "--trust-all", *arguments],
        input=json.dumps(placed(project, event)),
        capture_output=True,
        text=True,
        cwd=project.base,
        env=project.environment,
        timeout=60,
    )


def placed(project, event) -> dict:
    return {"work_dir": str(project.path), **event}


WAYS = {"in process": in_process, "in a loop": in_a_loop, "by command": by_command}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def fire(request, project):
    """Send an event in one of three ways and get the verdict as JSON."""
    return lambda event: request.param(project, event)


def ends(verdict: dict) -> list[tuple[str, str, int | None]]:
    """Status, decision and exit code of every run, in an order of their own."""
    return sorted((run["status"], run["decision"], run["exit_code"]) for run in verdict["runs"])


def until(condition) -> bool:
    """Look again and again until something is true; return whether it became so in time."""
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(condition())


# together


def meets(folder: Path, name: str, many: int, then: str = "") -> str:
    """A command that comes to a place and goes on when as many as that have come; exit 3 if they never do."""
    there = shlex.quote(str(folder))
    wait = (
        f"i=0; until [ $(ls {there} | wc -l) -ge {many} ]; do i=$((i+1)); [ $i -lt 1500 ] || exit 3; sleep 0.02; done"
    )
    return f"mkdir -p {there}; touch {there}/{name}; {wait}; {then}"


def test_eight_hooks_run_at_the_same_time(project, fire):
    place = project.base / "place"
    project.write_settings(
        "user", settings(UserPromptSubmit=[meets(place, f"user{n}", 8, f"echo u{n}") for n in range(3)])
    )
    project.write_settings(
        "project", settings(UserPromptSubmit=[meets(place, f"p{n}", 8, f"echo p{n}") for n in range(3)])
    )
    project.write_settings(
        "local", settings(UserPromptSubmit=[meets(place, f"l{n}", 8, f"echo l{n}") for n in range(2)])
    )
    verdict = fire(TURN)
    assert ends(verdict) == [("ok", "none", 0)] * 8
    assert sorted(verdict["additional_context"]) == ["l0", "l1", "p0", "p1", "p2", "u0", "u1", "u2"]
    assert [text[0] for text in verdict["additional_context"]] == list("uuupppll")


def test_the_same_hooks_in_hook_md_would_wait_for_each_other_without_success(project):
    """The counter-test: of hooks that run one after the other the first never sees the second."""
    place = project.base / "place"
    for n in range(2):
        project.write_hook(f"h{n}", script=meets(place, f"h{n}", 2).replace("1500", "5"))
    assert ends(in_process(project, TOOL)) == [("failed", "none", 3), ("ok", "none", 0)]


def test_more_hooks_than_may_run_at_once_all_run_and_never_more_than_that_at_once(project, fire):
    now, met, counts = (shlex.quote(str(project.base / name)) for name in ("now", "met", "counts"))
    (project.base / "now").mkdir()

    def crowd(n: int) -> str:
        here = f"[ -e {met} ] || [ $(ls {now} | wc -l) -ge {MAX_PARALLEL_HOOKS} ]"
        wait = f"i=0; until {here}; do i=$((i+1)); [ $i -lt 1500 ] || exit 3; sleep 0.02; done"
        return f"touch {now}/{n}; {wait}; ls {now} | wc -l >> {counts}; touch {met}; rm {now}/{n}"

    many = 2 * MAX_PARALLEL_HOOKS + 1
    project.write_settings("project", settings(PreToolUse=[crowd(n) for n in range(many)]))
    assert ends(fire(TOOL)) == [("ok", "none", 0)] * many
    counted = [int(line) for line in (project.base / "counts").read_text().split()]
    assert (len(counted), max(counted)) == (many, MAX_PARALLEL_HOOKS)


def test_a_command_that_is_in_several_places_runs_once(project, fire):
    command = f"echo x >> {project.base}/count; cat > /dev/null"
    project.write_settings("user", settings(PreToolUse=[entry(command, timeout=7)]))
    several = [{"matcher": matcher, "hooks": [entry(command)]} for matcher in ("Bash", "*", "B.*h")]
    project.write_settings("project", {"hooks": {"PreToolUse": several}})
    project.write_settings("local", settings(PreToolUse=[entry(command, statusMessage="again")]))
    verdict = fire(TOOL)
    assert (ends(verdict), verdict["skipped"]) == ([("ok", "none", 0)], [])
    assert [run["scope"] for run in verdict["runs"]] == ["user"]  # though it is less patient
    assert (project.base / "count").read_text() == "x\n"


def test_an_entry_that_is_the_same_to_the_letter_runs_once_and_that_is_reported(project, fire):
    path = project.write_settings("user", settings(PreToolUse=[f"echo x >> {project.base}/count"]))
    project.write_settings("project", settings(PreToolUse=[f"echo x >> {project.base}/count"]))
    verdict = fire(TOOL)
    name = verdict["runs"][0]["hook"]
    why = f"the same entry is in {path} (hooks.PreToolUse[0].hooks[0]); it runs once"
    assert (len(verdict["runs"]), verdict["skipped"]) == (1, [{"hook": name, "why": why}])
    assert (project.base / "count").read_text() == "x\n"


@pytest.mark.parametrize("more", [{}, {"statusMessage": "one"}, {"statusMessage": "two"}, {"statusMessage": "three"}])
def test_a_guard_that_is_also_listed_as_async_still_guards(project, fire, more):
    project.write_settings("project", settings(PreToolUse=[entry(BLOCKS, **{"async": True}, **more), entry(BLOCKS)]))
    verdict = fire(TOOL)
    assert (verdict["decision"], verdict["reasons"], verdict["background"]) == ("block", ["no"], [])


MISHAPS = {
    "fails": (entry("echo oops >&2; exit 1"), ("failed", "none", 1)),
    "hangs": (entry("sleep 60", timeout=0.5), ("timeout", "none", None)),
    "prints nonsense": (entry("echo '{\"decision\": '"), ("unreadable", "none", 0)),
    "prints bytes": (entry(r"printf '\377\376\000'"), ("unreadable", "none", 0)),
    "is not there": (entry("/no/such/program"), ("failed", "none", 127)),
    "dies": (entry("kill -9 $$"), ("failed", "none", -9)),
}


@pytest.mark.one_at_a_time
@pytest.mark.parametrize(("bad", "end"), MISHAPS.values(), ids=MISHAPS)
def test_a_neighbour_that_goes_wrong_costs_the_others_nothing(project, fire, bad, end):
    good = ['echo \'{"systemMessage": "seen"}\'', BLOCKS]
    project.write_settings("project", settings(PreToolUse=[good[0], bad, good[1]]))
    verdict = fire(TOOL)
    assert (verdict["decision"], verdict["reasons"], verdict["system_message"]) == ("block", ["no"], ["seen"])
    assert ends(verdict) == sorted([("ok", "none", 0), ("ok", "block", 2), end])


def test_all_that_can_go_wrong_at_once_is_reported_and_the_call_may_go_on(project):
    project.write_settings("project", settings(PreToolUse=[bad for bad, _ in MISHAPS.values()]))
    done = run(project, TOOL)
    reported = sorted(
        line.partition("' ")[2] for line in done.stderr.splitlines() if line.startswith("boathook: hook '")
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert reported == [
        "failed: exit code 1 (only exit 2 blocks): oops",
        f"failed: exit code 127: {shutil.which('bash')}: line 1: /no/such/program: No such file or directory",
        "failed: killed by signal 9",
        "gave an unreadable answer: the answer is not valid: no JSON value at line 1 column 13",
        "gave an unreadable answer: the answer is not valid: not UTF-8 at byte 0",
        "timed out: it did not end within 0.5 s",
    ]


def test_deny_beats_ask_beats_allow_in_one_stage(project, fire):
    def make_command(decision: str) -> str:
        answers = {"permissionDecision": decision, "permissionDecisionReason": decision}
        return f"echo '{json.dumps({'hookSpecificOutput': {'hookEventName': 'PreToolUse', **answers}})}'"

    for several, decision in ((("allow", "ask"), "ask"), (("ask", "deny", "allow"), "block"), (("allow",), "allow")):
        project.write_settings("project", settings(PreToolUse=[make_command(word) for word in several]))
        verdict = fire(TOOL)
        assert (verdict["decision"], len(verdict["runs"])) == (decision, len(several))
        assert verdict["reasons"] == [{"block": "deny"}.get(decision, decision)]


def test_the_stage_runs_after_hook_md_hooks_of_priority_100_and_before_those_of_99(project, fire):
    seen = project.base / "seen"
    for name, priority in (("first", 200), ("usual", 100), ("last", 99)):
        project.write_hook(name, script=f"echo {name} >> {seen}", fields={"priority": priority})
    project.write_settings("project", settings(PreToolUse=[f"echo settings >> {seen}"]))
    fire(TOOL)
    assert seen.read_text().split() == ["first", "usual", "settings", "last"]


def test_a_block_in_the_stage_ends_what_comes_after_it(project, fire):
    project.write_hook("last", script="exit 0", fields={"priority": 99})
    project.write_settings("project", settings(PreToolUse=[BLOCKS]))
    verdict = fire(TOOL)
    [run] = verdict["runs"]
    assert verdict["skipped"] == [{"hook": "last", "why": f"not reached: block by '{run['hook']}'"}]


def test_a_block_before_the_stage_leaves_it_out(project, fire):
    project.write_hook("guard", script=BLOCKS)
    project.write_settings("project", settings(PreToolUse=["echo one", "echo two"]))
    verdict = fire(TOOL)
    assert [run["hook"] for run in verdict["runs"]] == ["guard"]
    assert [skip["why"] for skip in verdict["skipped"]] == ["not reached: block by 'guard'"] * 2


# in the background


@pytest.mark.parametrize("flag", ["async", "asyncRewake"])
def test_an_async_hook_is_not_waited_for_and_its_end_is_logged(project, flag):
    gate, log = project.base / "gate", project.state / "background.log"
    waits = f"i=0; until [ -e {gate} ]; do i=$((i+1)); [ $i -lt 1500 ] || exit 3; sleep 0.02; done; echo done; exit 2"
    project.write_settings(
        "project", settings(PreToolUse=[entry(waits, **{flag: True}), 'echo \'{"systemMessage": "sync"}\''])
    )
    for send in (in_process_left_open, by_command):
        gate.unlink(missing_ok=True)
        log.unlink(missing_ok=True)
        verdict = send(project, TOOL)
        assert (verdict["decision"], verdict["system_message"], len(verdict["background"])) == ("none", ["sync"], 1)
        assert log.read_text() == ""
        gate.touch()
        assert until(log.read_text)
        [reported, printed] = [line.partition("] ")[2] or line for line in log.read_text().splitlines()]
        name = verdict["background"][0]["hook"]
        assert (reported.partition(" in ")[0], printed) == (
            f"Completed hook '{name}' for event 'PreToolUse'",
            "  stdout: done",
        )


OPEN = []


def in_process_left_open(project, event) -> dict:
    engine = boathook.load(project.path, trust_all=True)
    OPEN.append(engine)
    return engine.dispatch(placed(project, event)).to_json()


@pytest.fixture(autouse=True)
def _close_what_was_left_open():
    yield
    while OPEN:
        OPEN.pop().close()


# sessions


EXPORTS = """echo 'export COLOUR="dark green"' >> "$CLAUDE_ENV_FILE" """
TELLS = 'echo "colour: ${COLOUR-none}, file: ${CLAUDE_ENV_FILE-none}"'


def test_what_a_session_start_exports_is_there_for_the_hooks_of_that_session_alone(project, fire):
    project.write_settings("project", settings(SessionStart=[EXPORTS], UserPromptSubmit=[TELLS]))
    other = {**TURN, "session_id": "other"}
    nobody = {**TURN, "session_id": ""}
    answers = [fire(event)["additional_context"] for event in (TURN, START, TURN, other, nobody, END, TURN)]
    none, green = ["colour: none, file: none"], ["colour: dark green, file: none"]
    assert answers == [none, [], green, none, none, [], none]


def test_what_one_way_in_has_learned_the_others_know(project):
    project.write_settings("project", settings(SessionStart=[EXPORTS], UserPromptSubmit=[TELLS]))
    in_process(project, START)
    assert [send(project, TURN)["additional_context"] for send in WAYS.values()] == [
        ["colour: dark green, file: none"]
    ] * 3


def test_exports_reach_hook_md_hooks_and_theirs_reach_settings(project, fire):
    project.write_hook("later", script='echo "late: $COLOUR, $SIZE"', fields={"trigger": "pre-agent-turn"})
    project.write_hook("first", script='echo SIZE=big >> "$CLAUDE_ENV_FILE"', fields={"trigger": "pre-session"})
    project.write_settings("project", settings(SessionStart=[EXPORTS], UserPromptSubmit=['echo "too: $COLOUR, $SIZE"']))
    fire(START)
    assert fire(TURN)["additional_context"] == ["late: dark green, big", "too: dark green, big"]


def test_a_hook_cannot_export_its_way_past_the_depth_limit(project, fire):
    project.write_settings(
        "project",
        settings(
            SessionStart=['echo "export BOATHOOK_DEPTH=-9 BOATHOOK_RUN=x" >> "$CLAUDE_ENV_FILE"'],
            UserPromptSubmit=['echo "$BOATHOOK_DEPTH"'],
        ),
    )
    fire(START)
    assert fire(TURN)["additional_context"] == ["1"]


# places


WHERE = """echo "$(pwd -P) $CLAUDE_PROJECT_DIR <${CLAUDE_CODE_REMOTE-unset}> $AGENT_WORK_DIR <$AGENT_HOOK_DIR>" """


def test_a_hook_runs_in_its_project_from_any_work_dir_of_the_agent(project, fire):
    project.write_settings("project", settings(UserPromptSubmit=[WHERE]))
    below = project.path / "src" / "deep"
    below.mkdir(parents=True)
    folder = project.path
    for work_dir in (folder, below):
        reported = fire({**TURN, "work_dir": str(work_dir)})["additional_context"]
        assert reported == [f"{folder.resolve()} {folder} <> {work_dir} <>"]


def test_a_hook_reads_the_work_dir_of_the_agent(project, fire):
    project.write_settings("project", settings(UserPromptSubmit=["cat >&2; exit 2"]))
    below = project.path / "src"
    below.mkdir()
    [reported] = fire({**TURN, "work_dir": str(below)})["reasons"]
    assert json.loads(reported) == {
        "session_id": "s",
        "cwd": str(below),
        "hook_event_name": "UserPromptSubmit",
        "prompt": "hello",
        "transcript_path": "",
        "permission_mode": "default",
    }


def test_each_form_has_a_project_of_its_own(project, fire):
    """`.claude` lies in the repository, `.agents` in a part of it."""
    part = project.path / "part"
    hook = part / ".agents" / "hooks" / "here"
    (hook / "scripts").mkdir(parents=True)
    (hook / "HOOK.md").write_text("---\nname: here\ndescription: d\ntrigger: pre-agent-turn\n---\n")
    (hook / "scripts" / "run.sh").write_text('echo "$PWD $CLAUDE_PROJECT_DIR"')
    project.write_settings("project", settings(UserPromptSubmit=['echo "$PWD $CLAUDE_PROJECT_DIR"']))
    verdict = fire({**TURN, "work_dir": str(part)})
    assert verdict["additional_context"] == [f"{part} {part}", f"{project.path} {project.path}"]


def test_the_users_hooks_run_where_there_is_no_project_at_all(project, fire):
    project.write_settings("user", settings(UserPromptSubmit=[WHERE]))
    place = project.base / "elsewhere"
    place.mkdir()
    verdict = fire({**TURN, "work_dir": str(place)})
    assert verdict["additional_context"] == [f"{place.resolve()} {place} <> {place} <>"]


def test_a_program_with_arguments_meets_no_shell(project, fire):
    script = project.path / "tell.sh"
    script.write_text('#!/bin/sh\nprintf "<%s>" "$PWD" "$@"\n')
    script.chmod(0o755)
    words = ["$HOME", "a b", "${CLAUDE_PROJECT_DIR}/x", "*", "; exit 2"]
    for command in ("./tell.sh", "${CLAUDE_PROJECT_DIR}/tell.sh"):
        project.write_settings("project", settings(UserPromptSubmit=[entry(command, args=words)]))
        expected = [str(project.path), "$HOME", "a b", f"{project.path}/x", "*", "; exit 2"]
        assert fire(TURN)["additional_context"] == ["".join(f"<{word}>" for word in expected)]


# leaving them out, and ending them


def test_an_engine_can_be_loaded_without_settings(project):
    project.write_hook("guard", script="exit 0")
    project.write_settings("user", settings(PreToolUse=[BLOCKS]))
    project.write_settings("project", "not even JSON")
    for verdict in (
        in_process(project, TOOL, without=("settings",)),
        by_command(project, TOOL, "--without", "settings"),
    ):
        assert ([run["hook"] for run in verdict["runs"]], verdict["skipped"]) == (["guard"], [])


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_cancelling_an_async_dispatch_ends_all_its_hooks(project):
    place = project.base / "pids"
    place.mkdir()
    slow = [f"echo $$ > {place}/.{n}; mv {place}/.{n} {place}/{n}; setsid sleep 60 & sleep 61" for n in range(8)]
    project.write_settings("project", settings(PreToolUse=slow))

    async def cancelled():
        with boathook.load(project.path, trust_all=True) as engine:
            work = asyncio.ensure_future(engine.adispatch(placed(project, TOOL)))
            for _ in range(3000):
                if len([name for name in os.listdir(place) if name[0] != "."]) == 8:
                    break
                await asyncio.sleep(0.01)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work

    asyncio.run(cancelled())
    pids = [int(path.read_text()) for path in place.iterdir()]
    assert (len(pids), [pid for pid in pids if not gone(pid)]) == (8, [])


# the compiled catalogue


def cache_catalogue(project, monkeypatch) -> None:
    """Keep the catalogue of the project as a start would that finds files that have not changed for a while."""
    monkeypatch.setattr(cache, "RACY_SECONDS", -60.0)
    locations = locations_of(project)
    loaded = load_hooks(locations)
    assert cache.write_compiled(loaded.catalog, loaded.watch, locations, time.time())
    assert load_cached(project) is not None


def load_cached(project):
    return compiled.load_compiled(locations_of(project))


def locations_of(project):
    return project.make_locations("", str(project.claude_folder), str(project.path))


def a_plugin(project, command: str) -> None:
    root = project.base / "plugin"
    (root / "hooks").mkdir(parents=True, exist_ok=True)
    (root / "hooks" / "hooks.json").write_text(json.dumps(settings(PreToolUse=[command])))
    register = project.claude_folder / "plugins" / "installed_plugins.json"
    register.parent.mkdir(parents=True, exist_ok=True)
    register.write_text(json.dumps({"version": 2, "plugins": {"guard@shop": [{"installPath": str(root)}]}}))


def block_with(text: str) -> str:
    return f"echo {text} >&2; exit 2"


def edit(project):
    project.write_settings("project", settings(PreToolUse=[block_with("edited")]))


def add_local(project):
    project.write_settings("local", settings(PreToolUse=[block_with("local")]))


def add_user(project):
    project.write_settings("user", settings(PreToolUse=[block_with("user")]))


def remove(project):
    (project.path / ".claude" / "settings.json").unlink()


def break_it(project):
    project.write_settings("project", "{")


def disable(project):
    project.write_settings("project", {"disableAllHooks": True, **settings(PreToolUse=[block_with("one")])})


def enable_plugin(project):
    a_plugin(project, block_with("plugin"))
    project.write_settings("user", {"enabledPlugins": {"guard@shop": True}})


CHANGES = {
    "an edit": (edit, ["edited"]),
    "a local file": (add_local, ["local", "one"]),
    "a file of the user": (add_user, ["one", "user"]),
    "a removal": (remove, []),
    "a breakage": (break_it, []),
    "a switch": (disable, []),
    "a plugin": (enable_plugin, ["one", "plugin"]),
}


def reasons(project) -> list[str]:
    return sorted(by_command(project, TOOL)["reasons"])


@pytest.mark.parametrize(("change", "after"), CHANGES.values(), ids=CHANGES)
def test_the_next_start_sees_a_change_of_settings(project, monkeypatch, change, after):
    project.write_settings("project", settings(PreToolUse=[block_with("one")]))
    cache_catalogue(project, monkeypatch)
    assert reasons(project) == ["one"]
    change(project)
    assert (load_cached(project), reasons(project)) == (None, after)


def test_the_next_start_sees_a_change_of_a_plugin(project, monkeypatch):
    project.write_settings("project", {"enabledPlugins": {"guard@shop": True}})
    a_plugin(project, block_with("before"))
    cache_catalogue(project, monkeypatch)
    assert reasons(project) == ["before"]
    a_plugin(project, block_with("afterwards"))
    assert (load_cached(project), reasons(project)) == (None, ["afterwards"])


def test_the_next_start_sees_that_an_enabled_plugin_was_installed(project, monkeypatch):
    project.write_settings("project", {"enabledPlugins": {"guard@shop": True}})
    cache_catalogue(project, monkeypatch)
    assert reasons(project) == []
    a_plugin(project, block_with("plugin"))
    assert (load_cached(project), reasons(project)) == (None, ["plugin"])


def test_a_project_that_had_no_settings_is_found_when_it_gets_some(project):
    project.write_settings("user", settings(PreToolUse=[block_with("user")]))
    assert reasons(project) == ["user"]
    project.write_settings("local", settings(PreToolUse=[block_with("local")]))
    assert reasons(project) == ["local", "user"]


def test_settings_nearer_to_the_work_dir_are_found_when_they_come(project, monkeypatch):
    project.write_settings("project", settings(PreToolUse=[block_with("above")]))
    cache_catalogue(project, monkeypatch)
    below = project.path / "part"
    below.mkdir()
    event = {**TOOL, "work_dir": str(below)}
    assert by_command(project, event)["reasons"] == ["above"]
    (below / ".claude").mkdir()
    (below / ".claude" / "settings.local.json").write_text(json.dumps(settings(PreToolUse=[block_with("near")])))
    assert by_command(project, event)["reasons"] == ["near"]


def test_what_was_cached_runs_like_what_was_read(project, monkeypatch):
    entries = [
        entry('echo "$CLAUDE_PROJECT_DIR"; exit 0', timeout=9),
        entry("printf", args=["%s", "${CLAUDE_PROJECT_DIR}"]),
        entry(block_with("no"), **{"if": "Bash(ls)"}),
        {"type": "prompt", "prompt": "ok?"},
        {"type": "nonsense"},
    ]
    project.write_settings("project", settings(PreToolUse=entries))

    def lasting(verdict):
        return {**verdict, "id": len(verdict["id"]), "runs": [{**run, "duration_ms": 0} for run in verdict["runs"]]}

    read = lasting(by_command(project, TOOL))
    cache_catalogue(project, monkeypatch)
    assert lasting(by_command(project, TOOL)) == read
    assert [run["status"] for run in read["runs"]].count("ok") == 3


FIXTURES = sorted((Path(__file__).parents[1] / "fixtures" / "claude-code").glob("*.json"))
MATCHERS = {
    "SessionStart": ["startup", "res.*", "clear"],
    "PreToolUse": ["Bash", "Edit|Write", "mcp__.*"],
    "PostToolUse": ["Bash|Read", "W.*", "Glob"],
    "PostToolUseFailure": ["Bash", "Read", ".*"],
    "PermissionRequest": ["Write", "Bash"],
    "SubagentStart": ["general-purpose", "Explore"],
    "SubagentStop": ["general-purpose", "Explore"],
    "PreCompact": ["manual", "auto"],
    "PostCompact": ["auto", "manual"],
    "SessionEnd": ["other", "clear"],
    "UserPromptSubmit": [],
    "Stop": [],
}


def test_hook_entry_answers_every_recorded_event_the_same_with_and_without_the_cached_catalogue(project, monkeypatch):
    def group(event: str, matcher: str | None) -> dict:
        reported = json.dumps({"systemMessage": f"{event} {matcher}"})
        return {"hooks": [entry(f"echo '{reported}'")], **({} if matcher is None else {"matcher": matcher})}

    hooks = {event: [group(event, matcher) for matcher in (*several, None)] for event, several in MATCHERS.items()}
    hooks["PostToolUse"].pop()  # so that some events match no hook
    project.write_settings("project", {"hooks": hooks})
    events = {path.stem: json.loads(path.read_text()) | {"cwd": str(project.path)} for path in FIXTURES}
    nowhere = project.cache.parent
    nowhere.write_text("")  # so that nothing is load_cached meanwhile
    read = {name: by_hook_entry(project, event) for name, event in events.items()}
    nowhere.unlink()
    cache_catalogue(project, monkeypatch)
    assert {name: by_hook_entry(project, event) for name, event in events.items()} == read
    assert load_cached(project) is not None
    reported = {name: sorted(json.loads(out)["systemMessage"].splitlines()) for name, out in read.items() if out}
    assert reported["SessionStart"] == ["SessionStart None", "SessionStart startup"]
    assert reported["PreToolUse.Edit"] == ["PreToolUse Edit|Write", "PreToolUse None"]
    assert reported["SessionEnd"] == ["SessionEnd None", "SessionEnd other"]
    assert ("PostToolUse.Agent" in reported, reported["PostToolUse.Read"]) == (False, ["PostToolUse Bash|Read"])


def by_hook_entry(project, payload) -> str:
    entry = Path(boathook.__file__).parent / "entry/hook_entry.py"
    done = forked.run(
        [sys.executable, "-I", "-S", str(entry), "--trust-all", "--host", "claude"],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        cwd=project.base,
        env=project.environment,
        timeout=60,
    )
    is_unmapped = "has no counterpart here: no hook was asked" in done.stderr
    assert (done.returncode, "" if is_unmapped else done.stderr) == (0, "")
    return done.stdout


# recursion


@pytest.mark.parametrize(
    "command",
    [
        "boathook run --host claude",
        f"{sys.executable} -m boathook run",
        f"{sys.executable} -I -S {Path(boathook.__file__).parent}/entry/hook_entry.py --host claude",
    ],
)
def test_an_entry_that_calls_the_engine_is_never_run_by_it(project, fire, command):
    project.write_settings("project", settings(PreToolUse=[f"touch {project.base}/ran; {command}"]))
    verdict = fire(TOOL)
    why = "this command also calls boathook itself, so boathook does not run it"
    assert (verdict["runs"], [skip["why"] for skip in verdict["skipped"]]) == ([], [why])
    assert not (project.base / "ran").exists()


def test_an_entry_that_is_only_a_call_of_the_engine_is_not_missed_by_anybody(project, fire):
    command = (
        f"{sys.executable} -I -S {Path(boathook.__file__).parent}/entry/hook_entry.py --host claude --event PreToolUse"
    )
    project.write_settings("project", settings(PreToolUse=[command]))
    verdict = fire(TOOL)
    assert (verdict["runs"], verdict["skipped"]) == ([], [])
    (hook,) = boathook.load(project.path, trust_all=True).catalog.hooks
    assert (hook.state, hook.state_reason) == (
        "disabled",
        "this entry calls boathook itself, so boathook does not run it",
    )


@pytest.mark.one_at_a_time
@pytest.mark.parametrize("host", ["claude", "native"])
def test_an_engine_behind_a_wrapper_is_ended_by_the_depth_limit_and_that_is_reported(project, fire, host):
    """Such a wrapper is in Claude Code's own settings; the entry does not show what it calls."""
    depths, wrapper = project.base / "depths", project.path / "wrapper.sh"
    event = "cat" if host == "claude" else f"cat > /dev/null; echo '{json.dumps(placed(project, TOOL))}'"
    call = f"{sys.executable} -m boathook run --trust-all --host {host}"
    inner = project.base / "inner.log"
    wrapper.write_text(
        f'#!/bin/sh\necho "$BOATHOOK_DEPTH" >> {depths}\n{{ {event}; }} | {call} 2>> {inner}\n'
        f'end=$?; echo "depth $BOATHOOK_DEPTH: exit $end" >> {inner}; exit $end\n'
    )
    wrapper.chmod(0o755)
    project.write_settings("project", settings(PreToolUse=["./wrapper.sh"]))
    verdict = fire(TOOL)
    assert depths.read_text().split() == ["1", "2", "3"], (verdict["runs"], inner.read_text())
    assert ends(verdict) == [("ok", "none", 0)]
    limit = "hooks are nested 3 deep: a hook has started an agent or engine that fires hooks again"
    if host == "claude":  # it hands on what its own hooks report
        name = verdict["runs"][0]["hook"]
        assert verdict["system_message"] == [f"hook '{name}' was refused: {limit}"]


# rewriting


def rewrites(new: dict, **more) -> str:
    nested = {"hookEventName": "PreToolUse", "updatedInput": new, **more}
    return f"echo '{json.dumps({'hookSpecificOutput': nested})}'"


def test_a_rewrite_replaces_the_input_as_a_whole(project, fire):
    project.write_settings("project", settings(PreToolUse=[rewrites({"command": "ls --safe"})]))
    verdict = fire({**TOOL, "tool_input": {"command": "ls", "description": "look"}})
    assert (verdict["decision"], verdict["modified_input"]) == ("none", {"command": "ls --safe"})
    assert [run["look"] for run in verdict["runs"]] == [1]


def test_guards_of_both_forms_look_at_what_a_settings_hook_wrote(project, fire):
    project.write_hook(
        "guard", script='grep -q mkfs && { echo "not that" >&2; exit 2; }; exit 0', fields={"priority": 500}
    )
    beside = "grep -q mkfs && { echo 'nor here' >&2; exit 2; }; exit 0"
    project.write_settings("project", settings(PreToolUse=[rewrites({"command": "mkfs"}), beside]))
    verdict = fire(TOOL)
    assert (verdict["decision"], verdict["reasons"]) == ("block", ["not that"])
    assert [(run["look"], run["decision"]) for run in verdict["runs"]] == [(1, "none")] * 3 + [(2, "block")]


def test_a_guard_of_the_same_stage_looks_again_at_a_rewrite(project, fire):
    guard = "grep -q mkfs && { echo 'not that' >&2; exit 2; }; exit 0"
    project.write_settings("project", settings(PreToolUse=[rewrites({"command": "mkfs"}), guard]))
    verdict = fire(TOOL)
    assert (verdict["decision"], verdict["reasons"]) == ("block", ["not that"])
    assert sorted((run["look"], run["decision"]) for run in verdict["runs"]) == [(1, "none"), (1, "none"), (2, "block")]


def test_of_several_rewrites_in_one_stage_the_last_counts_and_the_others_look_at_it(project, fire):
    """Each rewrites what it does not know, so they settle."""

    def once(n: int) -> str:
        return f'grep -q \'"command": "by \' || {rewrites({"command": f"by {n}"})}'

    project.write_settings("user", settings(PreToolUse=[once(1)]))
    project.write_settings("project", settings(PreToolUse=[once(2)]))
    project.write_settings("local", settings(PreToolUse=[once(3)]))
    verdict = fire(TOOL)
    assert (verdict["decision"], verdict["modified_input"]) == ("none", {"command": "by 3"})
    assert [(run["scope"], run["look"]) for run in verdict["runs"]] == [
        ("user", 1),
        ("project", 1),
        ("local", 1),
        ("user", 2),
        ("project", 2),
    ]


def test_rewrites_that_do_not_settle_are_blocked(project, fire):
    flip = {a: f'grep -q \'"command": "{a}"\' || {rewrites({"command": a})}' for a in ("a", "b")}
    project.write_settings("project", settings(PreToolUse=list(flip.values())))
    verdict = fire(TOOL)
    why = "the hooks keep rewriting each other's input; none of them has seen the last version"
    assert (verdict["decision"], verdict["reasons"]) == ("block", [why])


def test_a_rewrite_that_makes_another_hook_match_is_seen_by_it(project, fire):
    guard = {"matcher": "Bash", "hooks": [entry(block_with("no pushing"), **{"if": "Bash(git push*)"})]}
    author = {"matcher": "Bash", "hooks": [entry(rewrites({"command": "git push"}))]}
    project.write_settings("project", {"hooks": {"PreToolUse": [guard, author]}})
    verdict = fire(TOOL)
    assert (verdict["decision"], verdict["reasons"]) == ("block", ["no pushing"])
    assert [run["look"] for run in verdict["runs"]] == [1, 2]


def _make_context_event(name: str, theirs: str) -> Event:
    return ToolContext(kind=PRE_TOOL, name=name, args={}, extra={"host_tool_name": theirs}).to_event()


@pytest.mark.parametrize(
    "make",
    [_make_context_event, lambda name, theirs: Event.of("pre-tool-call", tool_name=name, host_tool_name=theirs)],
    ids=["context", "event"],
)
@pytest.mark.parametrize(("ours", "theirs"), [("Shell", "Bash"), ("Shell", "run_shell_command"), ("EditFile", "Edit")])
def test_an_event_made_in_python_is_matched_by_the_names_of_its_host_too(project, make, ours, theirs):
    project.write_settings("user", {"hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [entry(BLOCKS)]}]}})
    with boathook.load(project.path) as engine:
        assert engine.dispatch(make(ours, theirs)).decision.word == "block"
