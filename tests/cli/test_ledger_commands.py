"""The commands that read the ledger, as processes and as what they print."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

import boathook
from boathook.cli.log import parse_time
from boathook.cli.show import shorten_hook_name
from boathook.cli.stats import HookStats, compute_percentile
from boathook.core.hook import ISOLATED
from boathook.errors import ConfigError
from boathook.ledger.writer import Ledger
from boathook.process.sandbox import probe_sandbox_levels
from boathook.version import __version__
from tests.terminal import read_screen

AT = "2026-01-31T12:00:00.000Z"
BLOCKED = {"tool_name": "Shell", "tool_input": {"command": "rm -rf / --password hunter2"}, "session_id": "s1"}
PASSED = {"tool_name": "Shell", "tool_input": {"command": "ls"}, "session_id": "s1"}


def lines(project, *args: str) -> list[str]:
    done = project.run(*args)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.fixture
def busy(project):
    """A project in which two tool calls happened: one was blocked, one passed."""
    guard = {"matcher": "{tool: Shell, pattern: 'rm -rf'}", "priority": 900}
    project.write_hook("guard", script="echo no >&2; exit 2", fields=guard)
    project.write_hook("watch", script="exit 0", fields={"matcher": "{tool: Shell}"})
    with boathook.load() as engine:
        engine.dispatch({"event_type": "pre-tool-call", **BLOCKED})
        engine.dispatch({"event_type": "pre-tool-call", **PASSED})
    return project


def ids(project) -> list[str]:
    return [json.loads(line)["id"] for line in lines(project, "log", "--json")]


def test_log_is_a_table_of_what_happened_and_where_and_why(busy):
    header, *rows = lines(busy, "log")
    titles = ["TIME", "ID", "AGENT", "PROJECT", "EVENT", "TOOL", "DECISION", "WAITED", "HOOKS", "INPUT", "REASON"]
    assert header.split() == titles
    assert [row[21:33] for row in rows] == ids(busy)
    hidden = "[redacted secret, 7 characters, sha256 f52fbd32]"
    assert [re.split(r"  +", row[35:]) for row in rows] == [
        [
            "python",
            "project",
            "pre-tool-call",
            "Shell",
            "block",
            "guard, watch (skipped)",
            f"rm -rf / --password {hidden}",
            "no",
        ],
        ["python", "project", "pre-tool-call", "Shell", "none", "watch", "ls"],
    ]


def test_log_shows_local_time_and_utc_if_asked(busy):
    zone = {"TZ": "XXX-05:30"}
    local, utc = (busy.run("log", *flags, env=zone).stdout.splitlines() for flags in ((), ("--utc",)))
    assert utc[0].split()[:2] == ["TIME", "(UTC)"]
    recorded = json.loads(lines(busy, "log", "--json")[0])["time"]
    moments = [datetime.fromisoformat(row[:19]) for row in (local[1], utc[1])]
    assert moments[1] == datetime.fromisoformat(recorded[:19])
    assert moments[0] - moments[1] == timedelta(hours=5, minutes=30)
    assert busy.run("why", env=zone).stdout.splitlines()[1].endswith(f"{moments[0]} XXX")
    # A date without a zone is meant as it is shown.
    since = f"{moments[0] + timedelta(minutes=5):%Y-%m-%dT%H:%M:%S}"
    assert busy.run("log", "--since", since, env=zone).stdout == "No record matches.\n"
    assert len(busy.run("log", "--since", f"{moments[0]:%Y-%m-%dT%H:%M:%S}", env=zone).stdout.splitlines()) == 3


def test_log_can_show_the_last_records_only_and_counts_the_others(busy):
    assert [json.loads(line)["decision"] for line in lines(busy, "log", "--json", "-n", "1")] == ["none"]
    *rows, note = lines(busy, "log", "-n", "1")
    assert [row.split()[2] for row in rows[1:]] == ids(busy)[1:]
    assert note == "1 earlier record: boathook log -n 0 shows all"
    assert len(lines(busy, "log", "-n", "0")) == 3


def test_log_leaves_out_what_doctor_left(busy):
    assert busy.run("doctor").returncode == 0
    assert len(lines(busy, "log")) == 3
    assert "boathook doctor tried whether the ledger can be written" in lines(busy, "log", "--all")[3]


def test_a_narrow_log_has_two_lines_per_record_and_none_is_longer_than_the_terminal(busy):
    for width in (80, 120):
        header, *rows = read_screen(busy, width, "log").splitlines()
        assert header.split() == ["TIME", "ID", "DECISION", "TOOL", "INPUT"]
        assert len(rows) == 4
        assert max(map(len, rows)) <= width
        assert rows[1].strip() == "python in project · guard: no"
        assert rows[3].strip() == "python in project · watch"
    [row] = read_screen(busy, 200, "log", "--decision", "block").splitlines()[1:]
    assert row.endswith("  no")


WANTED = {
    "a hook that ran": (["--hook", "guard"], ["block"]),
    "a hook that ran or was skipped": (["--hook", "watch"], ["block", "none"]),
    "a decision": (["--decision", "block"], ["block"]),
    "an event": (["--event", "PreToolUse"], ["block", "none"]),
    "another event": (["--event", "Stop"], []),
    "an agent": (["--agent", "python"], ["block", "none"]),
    "another agent": (["--host", "claude"], []),
    "a tool in the words of an agent": (["--tool", "Bash"], ["block", "none"]),
    "another tool": (["--tool", "WriteFile"], []),
    "a session": (["--session", "s"], ["block", "none"]),
    "another session": (["--session", "t"], []),
    "this project": (["--project"], ["block", "none"]),
    "another project": (["--project", "/"], ["block", "none"]),
    "a folder that has none": (["--project", "/dev"], []),
    "the last hour": (["--since", "1h"], ["block", "none"]),
    "a far day": (["--since", "2999-01-01"], []),
}


@pytest.mark.parametrize(("options", "expected"), WANTED.values(), ids=WANTED)
def test_log_shows_only_what_is_asked_for(busy, options, expected):
    found = [json.loads(line)["decision"] for line in lines(busy, "log", "--json", *options)]
    assert found == expected
    if not expected:
        assert lines(busy, "log", *options) == ["No record matches."]


def test_every_command_reports_an_empty_ledger(project):
    message = f"The ledger in {project.state} is empty."
    why = " A record is written when a hook runs, or should have run; Python hooks need hooks.load() for it."
    assert [lines(project, *words.split()) for words in ("log", "log --since 1h", "stats", "ledger verify")] == [
        [message + why],
        [message + why],
        [message + why],
        [message],
    ]
    assert lines(project, "log", "--json") == []
    assert json.loads("".join(lines(project, "stats", "--json"))) == {"version": 1, "hooks": []}


def test_why_prints_the_whole_story(busy):
    blocked, passed = ids(busy)
    story = lines(busy, "why", blocked[:8])
    hidden = "[redacted secret, 7 characters, sha256 f52fbd32]"
    path = busy.hooks_folder("user") / "guard" / "HOOK.md"
    assert [story[0][:12], *story[1:3]] == [
        blocked,
        f"pre-tool-call of Shell, session s1, host python, folder {busy.path}",
        f'  input   {{"command": "rm -rf / --password {hidden}"}}',
    ]
    assert story[4].startswith("decision: block by guard, after ")
    assert story[5:7] == ["  because no", "hooks, in the order they ran:"]
    assert story[7].startswith("  1. guard (user, HOOK.md): block, exit code 2, ")
    machine, hook_set = (
        (busy.state / "machine-id").read_text().strip(),
        json.loads(lines(busy, "log", "--json")[0])["hook_set"],
    )
    assert story[8:] == [
        f"       from     {path}",
        "       matched  event 'pre-tool-call', tool 'Shell', pattern 'rm -rf'",
        "       reason   no",
        "did not run, or could not be used:",
        "  watch: not reached: block by 'guard'",
        f"recorded by boathook {__version__}, on machine {machine}, with the set of hooks {hook_set}",
        f"A person can allow this call once: boathook allow {blocked} (in their own terminal).",
    ]
    assert json.loads("".join(lines(busy, "why", passed, "--json")))["record"]["decision"] == "none"


def test_why_without_an_id_explains_the_last_objection_else_the_last_record(busy):
    blocked, passed = ids(busy)
    title, first, *_ = lines(busy, "why")
    assert (title, first[:12]) == ("The last call that was blocked or asked about (boathook log lists all):", blocked)
    assert json.loads("".join(lines(busy, "why", "--json")))["record"]["id"] == blocked
    [path] = busy.state.glob("ledger-*.jsonl")
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[1])
    title, first, *_ = lines(busy, "why")
    assert (title, first[:12]) == ("Nothing was blocked. The last record (boathook log lists all):", passed)


def test_why_without_an_id_prefers_the_current_project(busy, tmp_path):
    blocked = ids(busy)[0]
    other, third = (tmp_path / name for name in ("other", "third"))
    for folder in (other, third):
        (folder / ".git").mkdir(parents=True)
    with boathook.load(other) as engine:
        engine.dispatch({"event_type": "pre-tool-call", **BLOCKED, "work_dir": str(other)})
    last = ids(busy)[-1]
    assert [lines(busy, "why", *where)[1][:12] for where in ((), ("--project", str(other)))] == [blocked, last]
    title, first, *_ = lines(busy, "why", "--project", str(third))
    assert (title, first[:12]) == (
        "Nothing was blocked here. The last call that was blocked or asked about, in another project (boathook log lists all):",
        last,
    )


def test_why_without_an_id_reports_an_empty_ledger(project):
    done = project.run("why")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"boathook: The ledger in {project.state} is empty.")


def test_why_of_a_command_asks_the_trusted_hooks_and_records_nothing(busy):
    busy.write_hook("theirs", "exit 2", scope="project", fields={"matcher": "{tool: Shell}"})
    before = ids(busy)
    story = busy.run("why", "--command", "rm -rf x", "--unconfined").stdout.splitlines()
    assert story[:3] == [
        "What would happen now. The command is not run, and nothing is recorded.",
        f"pre-tool-call of Shell, host native, project {busy.path}",
        '  input   {"command": "rm -rf x"}',
    ]
    # The time would be mostly that of sandboxes.
    assert story[4:7] == ["decision: block by guard", "  because no", "hooks, in the order they ran:"]
    assert not any(" ms" in line for line in story)
    assert story[-3:] == [
        "did not run, or could not be used:",
        "  watch: not reached: block by 'guard'",
        "  theirs: untrusted: it is not trusted yet. Review it with: boathook trust theirs",
    ]
    assert ids(busy) == before
    words = ("why", "--agent", "gemini", "--tool", "Bash", "--input", "ls", "--unconfined", "--json")
    found = json.loads(busy.run(*words).stdout)
    record = found["record"]
    assert (found["trial"], record["host"], record["decision"], record["input"]) == (
        True,
        "gemini",
        "none",
        {"command": "ls"},
    )


def test_why_of_a_command_reports_what_the_agent_could_not_do(project):
    project.write_hook("asks", script='echo \'{"decision": "ask", "reason": "sure?"}\'')
    told = project.run("why", "--command", "ls", "--agent", "gemini", "--unconfined").stdout
    assert "the host could not do all of it:\n  hook 'asks' wanted to ask, which Gemini CLI cannot" in told
    assert "could not do" not in project.run("why", "--command", "ls", "--agent", "claude", "--unconfined").stdout


def test_hooks_that_are_asked_about_a_command_cannot_write_to_the_project(project):
    if not any(one.is_available for one in probe_sandbox_levels() if one.level == ISOLATED):
        pytest.skip("no bubblewrap here")
    project.write_hook("writer", script="touch seen && exit 2; echo 'nothing was written' >&2; exit 2")
    told = project.run("why", "--command", "ls").stdout
    assert "  because nothing was written" in told or "Read-only" in told
    assert not (project.path / "seen").exists()


def test_why_takes_either_a_record_or_a_call(project):
    for words in (("abc", "--command", "ls"), ("--command", "ls", "--input", "{}")):
        assert project.run("why", *words).returncode == 1


def test_why_prints_the_reason_of_a_lifted_refusal_line_by_line(project):
    project.write_hook("gate", script="printf 'tests fail:\\n1 failed' >&2; exit 2", fields={"trigger": "Stop"})
    with boathook.load() as engine:
        verdict = engine.dispatch({"event_type": "Stop", "stop_reason": "max_steps"})
    story = lines(project, "why", verdict.id)
    at = next(number for number, line in enumerate(story) if line.startswith("lifted: hooks refused this stop"))
    assert story[at + 1 : at + 3] == ["  tests fail:", "  1 failed"]


def test_a_pattern_that_took_too_long_is_a_note_of_its_hook_and_not_a_hook_that_did_not_run(project):
    project.write_hook("slow", script="exit 0", fields={"matcher": "{pattern: '^(a|aa)+$(?<!b)x?'}"})
    with boathook.load() as engine:
        verdict = engine.dispatch(
            {**PASSED, "event_type": "pre-tool-call", "tool_input": {"command": "a" * 5000 + "!"}}
        )
    story = lines(project, "why", verdict.id)
    told = "this counts as a match only because its pattern was not searched to the end within the 250 ms"
    assert any(line.startswith(f"       note     {told}") for line in story)
    assert not any(line.startswith("did not run") for line in story)
    assert lines(project, "log")[1].split("  slow  ")[1].strip().startswith('{"command": "aaaa')


def test_why_prints_changes_and_async_hooks_and_their_ends(project):
    answer = '{"modified_input": {"command": "ls -l"}, "additional_context": "changed"}'
    project.write_hook("rewrite", script=f"echo '{answer}'")
    project.write_hook("later", script="exit 3", fields={"async": "true"})
    with boathook.load() as engine:
        verdict = engine.dispatch({"event_type": "pre-tool-call", **PASSED})
    story = lines(project, "why", verdict.id)
    at = story.index("started in the background:")
    assert story[at + 1].startswith("  later: failed, exit code 3, ")
    assert [story[at + 2], story[at + 3], story[at + 6]] == [
        "changed:",
        '  tool input, now {"command": "ls -l"}',
        "  context added: 1",
    ]
    records = [json.loads(line) for line in lines(project, "log", "--json", "--hook", "later")]
    end = next(one for one in records if one["type"] == "end")  # it may have come before the record of its start
    assert lines(project, "why", end["id"])[2] == f"it was started by {verdict.id}"


def test_why_wants_a_unique_prefix_of_an_id(project):
    for name in ("aa1", "aa2"):
        Ledger(str(project.state)).append({"id": name, "time": AT, "type": "pruned", "segments": ["x"]})
    many, none = project.run("why", "aa"), project.run("why", "bb")
    assert (many.returncode, none.returncode) == (1, 1)
    assert many.stderr == "boathook: several records have an id that starts with 'aa': aa1, aa2. Write more of the id\n"
    assert (
        none.stderr
        == f"boathook: no record in {project.state} has an id that starts with 'bb'. List them: boathook log\n"
    )
    assert lines(project, "why", "aa2")[1] == "pruned: x"


def test_stats_count_by_hook(busy):
    header, *rows = lines(busy, "stats")
    assert header.split() == ["HOOK", "RUNS", "BLOCKS", "FAILURES", "TIMEOUTS", "P50", "MS", "P95", "MS", "P99", "MS"]
    assert sorted(row.split()[:5] for row in rows) == [["guard", "1", "1", "0", "0"], ["watch", "1", "0", "0", "0"]]
    found = json.loads("".join(lines(busy, "stats", "--json")))["hooks"]
    assert [sorted(one) for one in found] == [
        ["blocks", "failures", "hook", "p50_ms", "p95_ms", "p99_ms", "runs", "timeouts"]
    ] * 2


@pytest.mark.parametrize(("variables", "drawn"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_bars_are_drawn_for_a_person_who_wants_them(busy, variables, drawn):
    main, side = pty.openpty()
    environment = {**busy.environment, "LC_ALL": "C.UTF-8", "COLUMNS": "200", "TERM": "xterm", **variables}
    environment = {name: value for name, value in environment.items() if name != "NO_COLOR" or variables}
    subprocess.run([sys.executable, "-m", "boathook", "stats"], stdout=side, env=environment, check=True, timeout=60)
    os.close(side)
    text = os.read(main, 1 << 16).decode()
    os.close(main)
    assert ("█" in text) == drawn


def test_names_of_a_pack_stay_distinct_where_there_is_no_room():
    names = {
        "boathook/standard:git-force": "…:git-force",
        "boathook/standard:x": "boathook/standard:x",
        "a" * 30: "a" * 30,
    }
    assert [shorten_hook_name(name, 20) for name in names] == [*names.values()]


def test_bars_and_percentiles_are_correct():
    tally = HookStats()
    for took, status in [(1, "ok"), (1.5, "ok"), (3, "failed"), (700, "timeout"), (5000, "refused")]:
        tally.add({"ms": took, "status": status, "decision": "none"})
    assert tally.to_json() == {
        "runs": 5,
        "blocks": 0,
        "failures": 2,
        "timeouts": 1,
        "p50_ms": 3,
        "p95_ms": 5000,
        "p99_ms": 5000,
    }
    assert tally.draw_histogram() == "█▄      ▄▄"
    assert [compute_percentile(range(1, 101), share) for share in (50, 95, 99)] == [50, 95, 99]


def test_verify_reports_that_the_chain_is_intact_or_where_it_is_not(busy):
    assert lines(busy, "ledger", "verify")[0] == f"2 records in 1 segment of {busy.state}: the chain is intact"
    [path] = busy.state.glob("ledger-*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"decision": "block"', b'"decision": "allow"', 1))
    done = busy.run("ledger", "verify")
    assert (done.returncode, done.stdout.splitlines()[:2]) == (
        1,
        [
            f"{path.name}:1: edited: record 1 is not as it was written",
            f"2 records in 1 segment of {busy.state}: 1 finding, the chain is broken",
        ],
    )
    reported = json.loads(busy.run("ledger", "verify", "--json").stdout)
    assert (reported["ok"], reported["findings"]) == (
        False,
        [{"place": f"{path.name}:1", "kind": "edited", "message": "record 1 is not as it was written"}],
    )


def test_lines_that_are_not_records_are_reported(busy):
    [path] = busy.state.glob("ledger-*.jsonl")
    with path.open("ab") as file:
        file.write(b"half of a rec")
    done = busy.run("log")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3)
    assert done.stderr == "1 line of the ledger cannot be read. Find out which: boathook ledger verify\n"


def test_another_state_folder_can_be_read(busy, tmp_path):
    assert len(lines(busy, "log", "--json", "--state", str(busy.state))) == 2
    assert lines(busy, "ledger", "verify", "--state", str(tmp_path / "x")) == [
        f"The ledger in {tmp_path / 'x'} is empty."
    ]


def test_log_follows_what_happens_next(busy):
    argv = [sys.executable, "-m", "boathook", "log", "--follow", "--json", "--hook", "guard"]
    follower = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=busy.environment, cwd=busy.path)
    assert follower.stdout is not None
    try:
        assert json.loads(follower.stdout.readline())["decision"] == "block"
        time.sleep(0.3)
        with boathook.load() as engine:
            engine.dispatch({"event_type": "pre-tool-call", **PASSED})
            verdict = engine.dispatch({"event_type": "pre-tool-call", **BLOCKED})
        assert json.loads(follower.stdout.readline())["id"] == verdict.id
    finally:
        follower.kill()
        follower.communicate()


NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
TIMES = {
    None: "",
    "90s": "2026-01-31T11:58:30.000Z",
    "10m": "2026-01-31T11:50:00.000Z",
    "2h": "2026-01-31T10:00:00.000Z",
    "3d": "2026-01-28T12:00:00.000Z",
    "1w": "2026-01-24T12:00:00.000Z",
    "2026-01-30": "2026-01-30T00:00:00.000Z",
    "2026-01-30T10:30": "2026-01-30T10:30:00.000Z",
    "2026-01-30T10:30:00+02:00": "2026-01-30T08:30:00.000Z",
}


@pytest.mark.parametrize("text", TIMES)
def test_times_are_read_as_people_write_them(text):
    assert parse_time(text, NOW) == TIMES[text]


@pytest.mark.parametrize("text", ["5", "h", "yesterday", "-3d", "99999999999d", "2026-13-01", "٣d"])
def test_what_is_not_a_time_is_refused(text):
    with pytest.raises(ConfigError, match="is not a time: write 10m, 2h or 3d"):
        parse_time(text, NOW)
