from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from boathook.cli.commands import cli
from boathook.command_rows import COMMANDS
from boathook.hosts.host import list_host_names
from tests.packs.toy_packs import write_pack
from tests.scratch_project import ScratchProject
from tests.terminal import read_screen

GUARD = "---\nname: guard\ndescription: Guards\ntrigger: before_tool\nmatcher:\n  tool: Shell\n---\n"
BLOCK = "#!/bin/sh\necho no >&2\nexit 2\n"
NO_AGENT = "No agent calls boathook here: only your own programs run these hooks. Connect an agent: boathook setup"


@pytest.fixture
def project(project: ScratchProject) -> ScratchProject:
    """Return a project whose hooks are all trusted."""
    return ScratchProject(project.base, trust_all=True)


def add_hook(
    project: ScratchProject, name: str, manifest: str, script: str | None = BLOCK, *, scope: str = "project"
) -> Path:
    folder = project.write_hook(name, script, scope=scope, manifest=manifest)
    (folder / "tests.txt").write_text("block rm\nskip ls\n")
    return folder


def test_list_json_has_every_field_of_the_contract(project: ScratchProject) -> None:
    folder = add_hook(project, "guard", GUARD)
    (found,) = json.loads(project.run("list", "--json").stdout)["hooks"]
    assert found == {
        "name": "guard",
        "description": "Guards",
        "scope": "project",
        "event": "pre-tool-call",
        "trigger": "before_tool",
        "priority": 100,
        "mode": "sync",
        "timeout_ms": 30000,
        "on_failure": "allow",
        "protected": False,
        "sandbox": "basic",
        "network": False,
        "imports": "own",
        "ask": "normal",
        "state": "armed",
        "why": "",
        "path": str(folder / "HOOK.md"),
        "matcher": {"tool": "Shell", "pattern": None},
        "source": "HOOK.md",
        "place": "",
        "dialect": "native",
        "handler": {"kind": "script", "folder": str(folder)},
        "metadata": None,
        "diagnostics": [],
        "trusted_in": None,
    }


def test_list_shows_all_five_states(project: ScratchProject) -> None:
    add_hook(project, "armed", GUARD.replace("guard", "armed"))
    add_hook(project, "broken", "---\nname: [\n---\n")
    add_hook(project, "empty", GUARD.replace("guard", "empty"), script=None)
    add_hook(project, "same", GUARD.replace("guard", "same"))
    add_hook(project, "same", GUARD.replace("guard", "same"), scope="user")
    add_hook(project, "off", GUARD.replace("guard", "off"))
    (project.path / ".agents/hooks.toml").write_text('[[hooks.disable]]\nname = "off"\n')
    found = {(h["name"], h["scope"]): h["state"] for h in json.loads(project.run("list", "--json").stdout)["hooks"]}
    assert found == {
        ("armed", "project"): "armed",
        ("broken", "project"): "invalid",
        ("empty", "project"): "no-entry-point",
        ("same", "project"): "armed",
        ("same", "user"): "shadowed",
        ("off", "project"): "disabled",
    }


def test_without_an_approval_the_hooks_of_a_project_are_listed_as_untrusted_and_the_user_s_as_armed(
    project: ScratchProject,
) -> None:
    add_hook(project, "armed", GUARD.replace("guard", "armed"), scope="user")
    add_hook(project, "broken", "---\nname: [\n---\n")
    add_hook(project, "same", GUARD.replace("guard", "same"))
    add_hook(project, "same", GUARD.replace("guard", "same"), scope="user")
    add_hook(project, "off", GUARD.replace("guard", "off"))
    (project.path / ".agents/hooks.toml").write_text('[[hooks.disable]]\nname = "off"\n')
    found = json.loads(project.run("list", "--json", trust_all=False).stdout)["hooks"]
    assert {(h["name"], h["scope"]): h["state"] for h in found} == {
        ("armed", "user"): "armed",
        ("broken", "project"): "invalid",
        ("same", "project"): "untrusted",
        ("same", "user"): "armed",
        ("off", "project"): "disabled",
    }


def test_list_ends_with_the_next_step(project: ScratchProject) -> None:
    add_hook(project, "mine", GUARD.replace("guard", "mine"), scope="user")
    assert project.run("list").stdout.splitlines()[-1] == "Next: boathook show mine shows all about a hook"
    add_hook(project, "guard", GUARD)
    printed = project.run("list", trust_all=False).stdout.splitlines()
    # Those who only have to trust are not sent to the checker.
    assert printed[3:] == [
        "  guard  untrusted: it is not trusted yet. Review it with: boathook trust guard",
        "Built in: self-protection (armed)",
        "Next: boathook trust shows what would run, and asks",
    ]
    add_hook(project, "broken", "---\nname: [\n---\n")
    printed = project.run("list", trust_all=False).stdout.splitlines()
    assert printed[-1] == "Next: boathook check shows how to fix it"


def test_list_has_your_own_hooks_first_and_one_line_per_hook_in_a_narrow_terminal(project: ScratchProject) -> None:
    add_hook(project, "theirs", GUARD.replace("guard", "theirs"))
    long = GUARD.replace("guard", "mine").replace("tool: Shell", f"pattern: {'x' * 100}")
    add_hook(project, "mine", long, scope="user")
    rows = read_screen(project, 80, "list").splitlines()
    assert [row.split()[0] for row in rows[:3]] == ["NAME", "mine", "theirs"]
    assert rows[1].endswith("xxx…")
    assert max(map(len, rows)) <= 80
    assert "x" * 100 in project.run("list").stdout
    header = project.run("list", "--all").stdout.splitlines()[0]
    assert header.split() == ["NAME", "STATE", "SCOPE", "SOURCE", "EVENT", "MODE", "PRIORITY", "MATCHER"]


def test_list_counts_the_hooks_of_a_pack_and_shows_those_with_problems(project: ScratchProject) -> None:
    write_pack(project.path / "toys", {"a": "return None", "b": "return None", "c": "return None"})
    assert project.run("pack", "add", "./toys", "--name", "acme/toys", "--only", "a,b", "--yes").returncode == 0
    printed = project.run("list").stdout
    assert "Pack acme/toys (user): 2 hooks on, 1 off (boathook pack list)\n" in printed
    assert "acme/toys:a" not in printed.partition("Next:")[0]
    assert "acme/toys:c" in project.run("list", "--all").stdout
    (project.config / "packs/acme/toys/hooks/b/HOOK.md").write_text("---\nname: [\n---\n")
    printed = project.run("list").stdout
    assert "Pack acme/toys (user): 1 hook on, 1 off" in printed
    assert "acme/toys:b  invalid" in printed


def test_list_takes_an_event_in_any_spelling(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD)
    add_hook(project, "gate", "---\nname: gate\ndescription: Gate\ntrigger: Stop\n---\n")
    assert [h["name"] for h in json.loads(project.run("list", "--json", "--event", "PreToolUse").stdout)["hooks"]] == [
        "guard"
    ]


def test_list_prompt_prints_name_event_and_description_only(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD)
    printed = project.run("list", "--prompt").stdout
    assert printed.splitlines()[-1] == "- guard (pre-tool-call): Guards"
    assert str(project.path) not in printed


def test_a_start_in_a_subdirectory_finds_the_project(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD)
    (project.path / "a/b").mkdir(parents=True)
    found = project.run("list", "--json", "--project", str(project.path / "a/b"))
    assert [h["name"] for h in json.loads(found.stdout)["hooks"]] == ["guard"]


def test_output_to_a_pipe_has_no_colour_and_no_boxes(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD)
    for command in (["list"], ["check"], ["events"], ["explain", "Stop"], ["--help"]):
        printed = project.run(*command)
        assert "\x1b" not in printed.stdout + printed.stderr
        assert "─" not in printed.stdout


def test_check_without_findings_prints_that_and_exits_with_0(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD)
    project.trust("guard")
    done = project.run("check", "--strict")
    assert (done.returncode, done.stdout.splitlines()) == (0, ["all good", NO_AGENT])


def test_check_names_hooks_that_wait_for_a_review_and_reports_that_no_agent_calls_boathook(
    project: ScratchProject,
) -> None:
    for name in ("first", "second"):
        folder = project.write_hook(name, BLOCK, scope="project")
        (folder / "tests.txt").write_text("block rm\npass ls\n")
    done = project.run("check", trust_all=False)
    assert done.stdout.splitlines() == [
        "all good",
        "2 hooks wait for your review and do not run: first, second. Review: boathook trust",
        NO_AGENT,
    ]
    assert json.loads(project.run("check", "--json", trust_all=False).stdout)["waiting"] == ["first", "second"]
    project.trust("second")
    assert "1 hook waits for your review and does not run: first. Review: boathook trust" in project.run("check").stdout
    assert "review" not in project.run("check", str(project.path)).stdout
    (project.home / ".claude").mkdir()
    assert project.run("install", "claude", "--yes").returncode == 0
    assert NO_AGENT not in project.run("check").stdout


def test_check_names_file_line_key_error_and_fix(project: ScratchProject) -> None:
    folder = add_hook(project, "guard", GUARD.replace("before_tool", "before_tol"))
    done = project.run("check", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["diagnostics"] == [
        {
            "path": str(folder / "HOOK.md"),
            "line": 4,
            "key": "trigger",
            "level": "error",
            "message": "unknown event 'before_tol' (did you mean 'before_tool'?)",
            "fix": "write 'before_tool'",
        }
    ]


WARNINGS = {
    "a script that blocks with exit 1": (
        "#!/bin/sh\necho no >&2\nexit 1\n",
        0o755,
        "exit 1 is a failure and does not block",
    ),
    "a script that is not executable": ("#!/bin/sh\nexit 2\n", 0o644, "scripts/run.sh is not executable"),
    "a script without an interpreter line": ("exit 2\n", 0o755, "scripts/run.sh has no interpreter line"),
}


@pytest.mark.parametrize("title", WARNINGS)
def test_check_warns_of(project: ScratchProject, title: str) -> None:
    script, mode, message = WARNINGS[title]
    path = add_hook(project, "guard", GUARD) / "scripts/run.sh"
    path.write_text(script)
    path.chmod(mode)
    found = json.loads(project.run("check", "--json").stdout)["diagnostics"]
    assert [(d["level"], d["message"]) for d in found] == [("warning", message)]
    assert project.run("check").returncode == 0
    assert project.run("check", "--strict").returncode == 1


def test_check_finds_windows_line_ends_and_a_missing_interpreter(project: ScratchProject) -> None:
    add_hook(project, "crlf", GUARD.replace("guard", "crlf"), "#!/bin/sh\r\nexit 2\r\n")
    add_hook(project, "lost", GUARD.replace("guard", "lost"), "#!/no/such/program\nexit 2\n")
    found = {d["message"] for d in json.loads(project.run("check", "--json").stdout)["diagnostics"]}
    assert any("Windows line ends" in message for message in found)
    assert any("its interpreter /no/such/program does not exist here" in message for message in found)


def test_check_warns_of_a_tool_pattern_that_no_known_tool_matches(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD.replace("tool: Shell", "tool: Shel1"))
    (found,) = json.loads(project.run("check", "--json").stdout)["diagnostics"]
    assert (found["level"], found["key"], found["line"], found["fix"]) == (
        "warning",
        "matcher.tool",
        6,
        "did you mean 'Shell'?",
    )


def test_check_leaves_patterns_for_added_servers_alone(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD.replace("tool: Shell", "tool: mcp__github__.*"))
    assert project.run("check", "--strict").returncode == 0


@pytest.mark.parametrize("given", ["folder", "manifest", "root", "project"])
def test_check_takes_a_folder_a_manifest_a_root_or_a_project(project: ScratchProject, given: str) -> None:
    folder = add_hook(project, "guard", GUARD, script=None)
    path = {"folder": folder, "manifest": folder / "HOOK.md", "root": folder.parent, "project": project.path}[given]
    done = project.run("check", str(path), "--json")
    assert done.returncode == 1
    assert ["no entry point" in d["message"] for d in json.loads(done.stdout)["diagnostics"]] == [True]


def test_check_of_a_path_that_does_not_exist_fails(project: ScratchProject) -> None:
    done = project.run("check", str(project.path / "nowhere"))
    assert (done.returncode, f"{project.path}/nowhere does not exist\n" in done.stderr) == (1, True)


def test_check_of_another_file_lists_what_it_takes(project: ScratchProject) -> None:
    (project.path / "notes.txt").touch()
    done = project.run("check", str(project.path / "notes.txt"))
    assert done.returncode == 1
    assert (
        "is not one of these: a HOOK.md, a hook folder, a folder of hooks, a pack, a hooks.toml, a settings.json or a project"
        in done.stderr
    )


def test_explain_shows_for_each_hook_whether_and_why_it_runs_in_order(project: ScratchProject) -> None:
    add_hook(project, "late", GUARD.replace("guard", "late").replace("matcher", "priority: 1\nmatcher"))
    add_hook(project, "early", GUARD.replace("guard", "early").replace("matcher", "priority: 900\nmatcher"))
    add_hook(project, "other", GUARD.replace("guard", "other").replace("Shell", "WriteFile"))
    add_hook(project, "empty", GUARD.replace("guard", "empty"), script=None)
    done = project.run("explain", "PreToolUse", "--tool", "Shell", "--input", '{"command": "ls"}', "--json")
    rows = [(row["hook"], row["would_run"], row["why"]) for row in json.loads(done.stdout)["hooks"]]
    assert rows == [
        ("early", True, "matches tool Shell"),
        (
            "empty",
            False,
            "no-entry-point: none of scripts/run, scripts/run.sh, scripts/run.py is a file",
        ),
        ("other", False, "tool 'Shell' does not match 'WriteFile'"),
        ("late", True, "matches tool Shell"),
    ]


def test_explain_reports_that_a_hook_is_untrusted(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD)
    add_hook(project, "mine", GUARD.replace("guard", "mine"), scope="user")
    done = project.run("explain", "PreToolUse", "--tool", "Shell", "--json", trust_all=False)
    assert [(row["hook"], row["would_run"], row["why"]) for row in json.loads(done.stdout)["hooks"]] == [
        ("mine", True, "matches tool Shell"),
        ("guard", False, "untrusted: it is not trusted yet. Review it with: boathook trust guard"),
    ]


def test_explain_executes_nothing(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD, "#!/bin/sh\ntouch ran\n")
    project.run("explain", "PreToolUse", "--tool", "Shell")
    assert not (project.path / "ran").exists()


def test_explain_refuses_input_that_is_not_json(project: ScratchProject) -> None:
    done = project.run("explain", "PreToolUse", "--tool", "Shell", "--input", "{oops")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--input is not JSON" in done.stderr


@pytest.mark.one_at_a_time
@pytest.mark.parametrize("lang", ["sh", "py"])
@pytest.mark.parametrize(
    "event", ["pre-tool-call", "PostToolUse", "Stop", "session_start", "notification", "pre-agent-turn"]
)
def test_a_new_hook_passes_the_strict_check_and_works_as_it_is(project: ScratchProject, lang: str, event: str) -> None:
    assert project.run("new", "fresh", "--event", event, "--lang", lang).returncode == 0
    assert project.run("check", "--strict").stdout.startswith("all good\n")
    verdict = json.loads(project.run("run", event, "--json", stdin='{"tool_name": "Shell"}').stdout)
    assert [(run["hook"], run["status"], run["decision"]) for run in verdict["runs"]] == [("fresh", "ok", "none")]


@pytest.mark.parametrize("lang", ["sh", "py"])
def test_a_new_hook_with_a_pattern_blocks_what_it_picks(project: ScratchProject, lang: str) -> None:
    pattern = r"it's \d+ \"quoted\" \\ things"
    made = project.run("new", "fresh", "--event", "PreToolUse", "--tool", "Shell", "--pattern", pattern, "--lang", lang)
    assert made.returncode == 0
    assert project.run("check", "--strict").stdout.startswith("all good\n")
    event = json.dumps({"tool_name": "Shell", "tool_input": {"command": 'it\'s 12 "quoted" \\ things'}})
    assert project.run("run", "PreToolUse", stdin=event).returncode == 2


def test_a_new_hook_of_a_kind_is_asked_about_every_such_tool(project: ScratchProject) -> None:
    made = project.run("new", "fresh", "--event", "PreToolUse", "--kind", "writes", "--pattern", r"\.env$")
    try_line = """  try    boathook explain PreToolUse --tool WriteFile --input '{"file_path": ".env"}'"""
    assert made.stdout.splitlines()[-1] == try_line
    assert project.run("check", "--strict").stdout.startswith("all good\n")
    row = json.loads(project.run("list", "--json").stdout)["hooks"][0]
    assert row["matcher"] == {"tool": None, "pattern": r"\.env$", "kind": "writes"}
    event = json.dumps({"tool_name": "mcp__fs__write_file", "tool_input": {"path": "a/.env"}})
    assert project.run("run", "PreToolUse", stdin=event).returncode == 2
    assert project.run("explain", "PreToolUse", "--tool", "Shell").stdout.count("is not of the kind writes") == 1


@pytest.mark.parametrize(
    ("options", "description", "kinds"),
    [
        (
            ["--kind", "writes", "--kind", "shell"],
            "Watches tool calls that write files or run commands",
            "writes, shell",
        ),
        (["--kind", "network", "--pattern", "evil"], "Blocks tool calls that use the network", "network"),
        (["--kind", "mcp"], "Watches tool calls that belong to MCP servers", "mcp"),
        (["--tool", "EditFile", "--pattern", "key=.+"], "Blocks pre-tool-call of EditFile", None),
        (["--tool", "^mcp__db__"], "Watches pre-tool-call of ^mcp__db__", None),
    ],
)
def test_what_new_proposes_to_try_is_a_call_that_the_new_hook_is_asked_about(
    project: ScratchProject, options: list[str], description: str, kinds: str | None
) -> None:
    made = project.run("new", "fresh", "--event", "pre-tool-call", *options)
    words = shlex.split(made.stdout.splitlines()[-1])
    assert words[:3] == ["try", "boathook", "explain"]
    (row,) = json.loads(project.run(*words[2:], "--json").stdout)["hooks"]
    assert row["would_run"] is True, words
    (listed,) = json.loads(project.run("list", "--json").stdout)["hooks"]
    assert (listed["description"], listed["matcher"].get("kind")) == (description, kinds)


def test_a_host_that_is_nearly_right_is_suggested(project: ScratchProject) -> None:
    for words in (
        ["install", "claud"],
        ["check", "--host", "claude-code"],
        ["check", "--agent", "claude-code"],
        ["run", "Stop", "--host", "claude-code"],
    ):
        done = project.run(*words)
        assert (done.returncode, "id you mean 'claude'?" in done.stderr) == (1, True), done.stderr


def test_a_new_hook_runs_once_it_is_trusted_as_new_instructs(project: ScratchProject) -> None:
    made = project.run("new", "fresh", "--event", "PreToolUse", "--pattern", "ls")
    assert [line.split()[0] for line in made.stdout.splitlines()] == [
        "created",
        "edit",
        "check",
        "test",
        "trust",
        "try",
    ]
    event = '{"tool_name": "Shell", "tool_input": {"command": "ls"}}'
    skipped = project.run("run", "PreToolUse", stdin=event, trust_all=False)
    message = "hooks of this project did not run: fresh (untrusted). Review them: boathook trust"
    assert (skipped.returncode, json.loads(skipped.stdout)) == (0, {"system_message": message})
    assert skipped.stderr == f"boathook: {message}\n"
    trust = next(line for line in made.stdout.splitlines() if line.startswith("  trust"))
    assert trust == "  trust  boathook trust fresh"
    assert project.run(*trust.split()[2:], "--yes").returncode == 0
    assert project.run("run", "PreToolUse", stdin=event, trust_all=False).returncode == 2


def test_a_new_hook_of_the_user_is_found_from_any_project_and_needs_no_trust(project: ScratchProject) -> None:
    made = project.run("new", "mine", "--event", "Stop", "--user")
    assert "trust" not in made.stdout
    found = json.loads(project.run("list", "--json", trust_all=False).stdout)["hooks"]
    assert [(h["name"], h["state"]) for h in found] == [("mine", "armed")]
    assert [(h["name"], h["scope"]) for h in json.loads(project.run("list", "--json").stdout)["hooks"]] == [
        ("mine", "user")
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["new", "../evil", "--event", "Stop"], "the name must be 1 to 64 letters"),
        (["new", "x", "--event", "Stop", "--tool", "Shell"], "is not about a tool"),
        (["new", "x", "--event", "Stop", "--kind", "writes"], "is not about a tool"),
        (["new", "x", "--event", "PreToolUse", "--pattern", "(?=a"], "a parenthesis is not closed"),
        (["new", "x", "--event", "nope"], "unknown event 'nope'"),
        (["nonsense"], "No such command"),
    ],
)
def test_bad_input_gets_a_clear_message_and_exit_code_1(project: ScratchProject, args: list[str], message: str) -> None:
    done = project.run(*args)
    assert done.returncode == 1
    assert message in done.stderr
    assert not (project.path / ".agents").exists()


def test_a_new_hook_overwrites_nothing(project: ScratchProject) -> None:
    folder = add_hook(project, "guard", GUARD)
    done = project.run("new", "guard", "--event", "Stop")
    assert (done.returncode, "exists already" in done.stderr) == (1, True)
    assert (folder / "HOOK.md").read_text() == GUARD


def test_the_demo_plays_what_it_promises(project: ScratchProject) -> None:
    done = project.run("demo")
    assert done.returncode == 0
    for part in (
        "guard: block",
        "did not run: that would wipe the disk",
        "input becomes sh run-tests.sh --quiet",
        "add-context: no opinion",
        "tidy: started in the background",
        "greeting.txt is now 'hello\\n'",
        "[Hook blocked stop: the tests do not pass yet]",
        "tests-pass: no opinion",
    ):
        assert part in done.stdout


def test_the_demo_leaves_nothing_behind(project: ScratchProject) -> None:
    temporary = project.home / "tmp"
    temporary.mkdir()
    project.run("demo", env={"TMPDIR": str(temporary)})
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(project: ScratchProject, shell: str) -> None:
    done = project.run("completion", shell)
    assert done.returncode == 0
    assert "_BOATHOOK_COMPLETE" in done.stdout


def test_events_json_lists_all_kinds(project: ScratchProject) -> None:
    found = json.loads(project.run("events", "--json").stdout)["events"]
    assert len([row for row in found if not row["extension"]]) == 13
    assert len([row for row in found if row["extension"]]) == 5


def test_hosts_are_listed_with_how_they_are_known(project: ScratchProject) -> None:
    lines = [line.split() for line in project.run("hosts").stdout.splitlines()]
    assert [line[0] for line in lines] == ["HOST", *list_host_names()]
    assert ["gemini", "Gemini", "CLI", "run,", "version", "0.61.0"] in lines
    assert ["cursor", "Cursor", "read:", "vendor's", "documentation", "of", "August", "2026"] in lines


def test_hosts_capabilities_distinguish_seen_from_read(project: ScratchProject) -> None:
    lines = project.run("hosts", "--capabilities").stdout.splitlines()
    header, row = (line.split() for line in lines if line.startswith(("EVENT", "pre-tool-call")))
    cells = dict(zip(header[1:], row[1:], strict=True))
    assert (cells["codex"], cells["gemini"], cells["kimi-cli"], cells["cursor"]) == ("BIC", "BxI", "B", "bli")


def test_hosts_json_shows_how_each_capability_is_expressed(project: ScratchProject) -> None:
    found = {row["name"]: row for row in json.loads(project.run("hosts", "--json").stdout)["hosts"]}
    stop = next(row for row in found["kimi-code"]["events"] if row["name"] == "Stop")
    assert stop == {
        "name": "Stop",
        "event": "pre-agent-turn-stop",
        "capabilities": {"block": {"exit": 2, "stderr": "$"}},
        "untested": [],
    }
    assert found["codex"]["tools"]["apply_patch"] == {"tool": "PatchFile", "keys": {"patch": "command"}}


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        ([], "{}", "which event?"),
        (["Stop"], "{oops", "the event on standard input is not JSON"),
        (["Stop"], "", "standard input is empty"),
        (["Stop"], "[1]", "a list, not a JSON object"),
        (["Stop"], '{"event_type": "PreToolUse"}', "the argument says 'Stop'"),
        (["Stop"], '{"session_id": 5}', "'session_id' must be text"),
        (["Stopp"], "{}", "unknown event 'Stopp' (did you mean 'Stop'?)"),
        (["Stop", "--host", "nobody"], "{}", "unknown host 'nobody' (known: native, claude, cline, codex,"),
        (["Stop", "--bogus"], "{}", "unexpected argument '--bogus'"),
        (["--event"], "{}", "--event needs a value"),
    ],
)
def test_run_reports_why_it_cannot_read_its_input_and_exits_with_1(
    project: ScratchProject, args: list[str], stdin: str, message: str
) -> None:
    done = project.run("run", *args, stdin=stdin)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


def test_run_answers_nothing_when_no_hook_has_an_opinion(project: ScratchProject) -> None:
    done = project.run("run", "PreToolUse", stdin='{"tool_name": "Shell", "tool_input": {}}')
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_ask_turns_a_question_into_a_block(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD, '#!/bin/sh\necho \'{"decision": "ask", "reason": "sure?"}\'\n')
    asked = project.run("run", "PreToolUse", stdin='{"tool_name": "Shell"}')
    assert (asked.returncode, json.loads(asked.stdout)) == (0, {"decision": "ask", "reason": "sure?"})
    blocked = project.run("run", "PreToolUse", "--no-ask", stdin='{"tool_name": "Shell"}')
    assert (blocked.returncode, blocked.stdout) == (2, "")
    reason, sentence = blocked.stderr.splitlines()
    assert reason == "sure? (no person can be asked)"
    assert sentence.startswith("A person can allow this call once: boathook allow ")


@pytest.mark.parametrize(
    "args", [["run", "Stop"], ["list"], ["check"], ["explain", "Stop"], ["new", "x", "--event", "Stop"]]
)
def test_a_project_that_is_not_a_folder_is_refused_and_not_taken_for_an_empty_one(
    project: ScratchProject, args: list[str]
) -> None:
    done = project.run(*args, "--project", str(project.path / "nowhere"), stdin="{}")
    assert (done.returncode, "is not a folder" in done.stderr) == (1, True)
    assert not (project.path / "nowhere").exists()


def test_a_new_hook_stays_in_the_git_repository_it_is_made_in(project: ScratchProject) -> None:
    (project.path / ".agents/hooks").mkdir(parents=True)
    inner = project.path / "inner"
    (inner / ".git").mkdir(parents=True)
    project.run("new", "mine", "--event", "Stop", "--project", str(inner))
    assert [path.name for path in (inner / ".agents/hooks").iterdir()] == ["mine"]


def test_a_gate_ends_after_three_refusals_even_if_the_sender_does_not_count(project: ScratchProject) -> None:
    add_hook(project, "gate", "---\nname: gate\ndescription: Gate\ntrigger: Stop\n---\n")
    answers = [project.run("run", "Stop", stdin='{"session_id": "s1"}') for _ in range(5)]
    assert [answer.returncode for answer in answers] == [2, 2, 2, 0, 2]
    assert "refused 3 times" in json.loads(answers[3].stdout)["system_message"]


def test_explain_reports_that_it_depends_on_an_input_that_was_not_given(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD.replace("tool: Shell", "tool: Shell\n  pattern: push"))
    (row,) = json.loads(project.run("explain", "PreToolUse", "--tool", "Shell", "--json").stdout)["hooks"]
    assert (row["would_run"], row["why"]) == (None, "depends on the input: pass --input (tool Shell, input push)")


def test_explain_reports_a_match_that_is_only_one_because_time_ran_out(project: ScratchProject) -> None:
    project.write_hook("slow", fields={"matcher": "{pattern: '^(a|aa)+$(?<!b)x?'}"})
    event = ("explain", "pre-tool-call", "--tool", "Shell", "--input")
    assert "only because its pattern" in project.run(*event, json.dumps({"command": "a" * 5000 + "!"})).stdout
    assert "only because" not in project.run(*event, json.dumps({"command": "aaa"})).stdout


def test_explain_sees_that_a_script_could_not_start(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD, "#!/no/such/program\n")
    (row,) = json.loads(project.run("explain", "PreToolUse", "--tool", "Shell", "--json").stdout)["hooks"]
    assert (row["would_run"], "does not exist here" in row["why"]) == (False, True)


def test_check_without_any_hook_does_not_report_that_all_is_good(project: ScratchProject) -> None:
    done = project.run("check")
    assert (done.returncode, done.stdout) == (0, "There are no hooks here: nothing to check.\n")
    assert project.run("check", "--strict").returncode == 1


def test_debug_shows_what_a_hook_wrote_to_stderr(project: ScratchProject) -> None:
    add_hook(project, "guard", GUARD, "#!/bin/sh\necho hello >&2\n")
    done = project.run("run", "PreToolUse", "--debug", stdin='{"tool_name": "Shell"}')
    assert "[HOOK DEBUG] Stderr: hello" in done.stderr.splitlines()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_summarized_by_the_first_sentence_of_its_help(name: str) -> None:
    help_text = cli.commands[name].help or ""
    assert help_text.partition("\n")[0] == f"{COMMANDS[name].summary}."


def test_the_help_imports_no_command() -> None:
    code = (
        "import sys; from boathook.cli.commands import cli; cli(['--help'], standalone_mode=False); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[-1].split()
    assert [name for name in modules if name.startswith(("boathook.cli.", "rich"))] == ["boathook.cli.commands"]


SESSION = "---\nname: greet\ndescription: Greets\ntrigger: SessionStart\nmatcher: {source: 'startup|resume'}\n---\n"


def test_list_and_explain_show_the_fields_that_a_matcher_asks_about(project: ScratchProject) -> None:
    add_hook(project, "greet", SESSION)
    (listed,) = json.loads(project.run("list", "--json").stdout)["hooks"]
    assert listed["matcher"] == {"source": "startup|resume"}
    assert "source startup|resume" in project.run("list").stdout
    answers = []
    for data in ([], ["--data", '{"source": "clear"}'], ["--data", '{"source": "resume"}']):
        (row,) = json.loads(project.run("explain", "pre-session", "--json", *data).stdout)["hooks"]
        answers.append((row["would_run"], row["why"]))
    assert answers == [
        (None, "depends on 'source': pass --data (source startup|resume)"),
        (False, "source 'clear' does not match 'startup|resume'"),
        (True, "matches source startup|resume"),
    ]


def test_a_new_hook_for_a_field_runs_where_it_matches_as_new_proposes_to_try(project: ScratchProject) -> None:
    made = project.run("new", "greet", "--event", "SessionStart", "--field", "source=startup|resume").stdout
    assert project.run("check", "--strict", ".agents/hooks/greet").returncode == 0
    proposed = next(line for line in made.splitlines() if "boathook explain" in line)
    words = shlex.split(proposed.partition("boathook ")[2])
    (row,) = json.loads(project.run(*words, "--json").stdout)["hooks"]
    assert row["would_run"] is True


def test_new_proposes_to_try_an_unknown_tool_with_the_key_of_its_tests(project: ScratchProject) -> None:
    args = ("--event", "pre-tool-call", "--pattern", "secret")
    made = project.run("new", "notes", "--tool", "write_note", *args).stdout
    assert made.endswith(""" --tool write_note --input '{"path": "secret"}'\n""")
    assert "the 'path' of the tool write_note" in (project.hooks_folder("project") / "notes/tests.txt").read_text()
    assert project.run("new", "all", *args).stdout.endswith(""" --input '{"command": "secret"}'\n""")


def test_new_refuses_a_field_that_the_event_does_not_have(project: ScratchProject) -> None:
    done = project.run("new", "greet", "--event", "SessionStart", "--field", "sorce=startup")
    assert done.returncode == 1
    message = "a matcher of pre-session cannot ask about the field 'sorce': did you mean 'source'?"
    assert message in done.stderr
