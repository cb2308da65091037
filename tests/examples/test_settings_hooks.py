"""Hooks as people write them for settings.json, run as they are: in a process, by `boathook run`, and behind Claude Code.

Every scenario is written once and plays in all three ways. Events begin as Claude Code was seen to send them (tests/fixtures);
another host sends the same happening in its own words. The project's path has a space in it, as many have.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import boathook
from tests import forked
from tests.examples.example_project import ROOT, ExampleProject

SETTINGS = ROOT / "examples" / "settings"
FIXTURES = ROOT / "tests" / "fixtures" / "claude-code"
NAMES = sorted(folder.name for folder in SETTINGS.iterdir() if folder.is_dir())
IN_PROCESS, NATIVE, CLAUDE = "in process", "boathook run", "boathook run --host claude"
MORE_TOOLS = ("jq",)
RECORDED_PROJECT, RECORDED_HOME = "/home/user/project", "/home/user"

pytestmark = [
    pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq on the PATH, as these hooks do"),
    pytest.mark.one_at_a_time,
    pytest.mark.document,
]

# what a host that is not Claude Code calls the same things; what it does not know at all is None
KINDS = {
    "SessionStart": "pre-session",
    "UserPromptSubmit": "pre-agent-turn",
    "PreToolUse": "pre-tool-call",
    "PermissionRequest": "permission-request",
    "PostToolUse": "post-tool-call",
    "Stop": "pre-agent-turn-stop",
    "SubagentStop": "post-subagent",
    "PreCompact": "pre-context-compact",
    "Notification": "notification",
}
WORDS = {
    "cwd": "work_dir",
    "tool_response": "tool_output",
    "agent_type": "subagent_type",
    **dict.fromkeys(("prompt_id", "permission_mode", "effort", "background_tasks", "session_crons", "agent_id")),
    **dict.fromkeys(("stop_hook_active", "permission_suggestions", "custom_instructions", "hook_event_name")),
}
NOTIFICATION = {
    "session_id": "551f2798-2589-4cc4-853a-b94ba70e5483",
    "transcript_path": "/home/user/.claude/projects/-home-user-project/551f2798-2589-4cc4-853a-b94ba70e5483.jsonl",
    "cwd": "/home/user/project",
    "hook_event_name": "Notification",
    "message": "Claude needs your permission to use Bash",
    "notification_type": "permission_prompt",
}  # after the others: none was recorded


@dataclass(frozen=True)
class HostAnswer:
    """What a host gets for an event, in either way."""

    decision: str = "none"
    reason: str = ""
    context: str = ""
    rewritten: dict[str, Any] | None = None
    message: str = ""
    warnings: str = ""


NOTHING = HostAnswer()


class Play:
    """A project with examples in it, and one way to send it events."""

    def __init__(self, project: ExampleProject, way: str) -> None:
        self.project = project
        self.way = way

    def bring(self, *names: str) -> None:
        """Copy examples into `.claude`; the groups of their settings are put together."""
        settings: dict[str, list[Any]] = {}
        folder = self.project.path / ".claude"
        for name in names:
            shutil.copytree(SETTINGS / name, folder, dirs_exist_ok=True)
            for event, groups in json.loads((SETTINGS / name / "settings.json").read_text())["hooks"].items():
                settings.setdefault(event, []).extend(groups)
        (folder / "settings.json").write_text(json.dumps({"hooks": settings}))

    def send(self, fixture: str, **changes: Any) -> HostAnswer:
        """Send an event that begins like a recorded one, with some of its fields changed."""
        payload = self.payload(fixture) | changes
        if self.way == IN_PROCESS:
            return self._in_process(as_native(payload))
        if self.way == NATIVE:
            return self._native(as_native(payload))
        return self._claude(payload)

    def payload(self, fixture: str) -> dict[str, Any]:
        path = FIXTURES / f"{fixture}.json"
        text = path.read_text() if path.exists() else json.dumps(NOTIFICATION)
        text = text.replace(RECORDED_PROJECT, str(self.project.path))
        found: dict[str, Any] = json.loads(text.replace(RECORDED_HOME, str(self.project.base / "home")))
        return found

    def _in_process(self, event: dict[str, Any]) -> HostAnswer:
        with (
            patch.dict(os.environ, self.project.environment, clear=True),
            boathook.load(self.project.path, trust_all=True) as engine,
        ):
            verdict = engine.dispatch(event)
        expected = (verdict.reasons, verdict.additional_context, verdict.system_message, verdict.warnings())
        reason, context, message, warnings = map("\n".join, expected)
        return HostAnswer(verdict.decision.word, reason, context, verdict.modified_input, message, warnings)

    def _native(self, event: dict[str, Any]) -> HostAnswer:
        code, out, err = self._run(event)
        if code == 2:
            return HostAnswer("block", err)
        known = {"decision", "reason", "additional_context", "modified_input", "system_message"}
        answer = json.loads(out) if out else {}
        assert (code, answer.keys() - known) == (0, set())
        return HostAnswer(
            answer.get("decision", "none"),
            answer.get("reason", ""),
            answer.get("additional_context", ""),
            answer.get("modified_input"),
            answer.get("system_message", ""),
            err,
        )

    def _claude(self, payload: dict[str, Any]) -> HostAnswer:
        code, out, err = self._run(payload, "--host", "claude")
        assert code == 0
        return replace(from_claude(payload["hook_event_name"], json.loads(out) if out else {}), warnings=err)

    def _run(self, event: dict[str, Any], *arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "boathook", "run", "--trust-all", *arguments]
        done = forked.run(
            command,
            input=json.dumps(event),
            cwd=self.project.base,
            env=self.project.environment,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stdout.rstrip("\n"), done.stderr.rstrip("\n")

    def seen(self, message: HostAnswer) -> HostAnswer:
        """What of an answer reaches the host this way: in the native protocol a block is its reason and nothing else."""
        return HostAnswer("block", message.reason) if self.way == NATIVE and message.decision == "block" else message


def as_native(payload: dict[str, Any]) -> dict[str, Any]:
    event = payload["hook_event_name"]
    words = {**WORDS, "last_assistant_message": "result" if event == "SubagentStop" else "final_message"}
    fields = {words.get(key, key): value for key, value in payload.items() if words.get(key, key) is not None}
    return {"event_type": KINDS[event], **fields}


def from_claude(event: str, answer: dict[str, Any]) -> HostAnswer:
    """Read an answer as Claude Code would, and refuse one that has anything else in it."""
    nested = dict(answer.pop("hookSpecificOutput", {"hookEventName": event}))
    assert nested.pop("hookEventName") == event
    asked = nested.pop("decision", {})
    word = nested.pop("permissionDecision", None) or asked.pop("behavior", None) or answer.pop("decision", "none")
    reported = HostAnswer(
        {"deny": "block"}.get(word, word),
        nested.pop("permissionDecisionReason", "") or answer.pop("reason", ""),
        nested.pop("additionalContext", ""),
        nested.pop("updatedInput", None),
        answer.pop("systemMessage", ""),
    )
    assert (answer, nested, asked) == ({}, {}, {})
    return reported


@pytest.fixture
def project(tmp_path: Path) -> ExampleProject:
    made = ExampleProject(tmp_path / "a project")
    for name in MORE_TOOLS:
        if not (made.tools / name).exists():
            (made.tools / name).symlink_to(str(shutil.which(name)))
    return made


@pytest.fixture(params=[IN_PROCESS, NATIVE, CLAUDE])
def play(request: pytest.FixtureRequest, project: ExampleProject) -> Play:
    return Play(project, request.param)


MARKS = '#!/bin/sh\necho "${0##*/} $*" >>marks\n'


# format-on-write


@pytest.mark.parametrize(
    ("file", "marks"),
    [
        ("app.py", "black --quiet {project}/app.py\n"),
        ("src/a b.ts", "npx --no-install prettier --write {project}/src/a b.ts\n"),
        ("notes.txt", None),
    ],
)
@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_a_written_file_is_formatted_by_what_its_name_asks_for(
    tool: str, file: str, marks: str | None, play: Play
) -> None:
    play.bring("format-on-write")
    play.project.write_tool("black", MARKS)
    play.project.write_tool("npx", MARKS)
    path = str(play.project.path / file)
    reported = play.send(f"PostToolUse.{tool}", tool_input={"file_path": path, "content": "x"})
    assert (reported, play.project.read_file("marks")) == (NOTHING, play.project.fill_in_path(marks))


def test_a_formatter_that_is_missing_or_fails_has_no_effect(play: Play) -> None:
    play.bring("format-on-write")
    play.project.write_tool("npx", "#!/bin/sh\necho out; echo err >&2; exit 2\n")
    for name in ("app.py", "app.ts"):
        assert play.send("PostToolUse.Write", tool_input={"file_path": name, "content": ""}) == NOTHING


def test_a_file_that_was_only_read_is_not_formatted(play: Play) -> None:
    play.bring("format-on-write")
    play.project.write_tool("black", MARKS)
    assert play.send("PostToolUse.Read", tool_input={"file_path": "app.py"}) == NOTHING
    assert play.project.read_file("marks") is None


# protect-files


SECRETS = "it holds secrets; ask the user to change it"
LOCKED = "the package manager writes it; change what is required instead"
GIT = "it belongs to git; use git commands"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("{project}/.env", SECRETS),
        (".env.production", SECRETS),
        ("{project}/web/package-lock.json", LOCKED),
        ("uv.lock", LOCKED),
        ("{project}/docs/../.git/config", GIT),
        ("{project}/.env.example", None),
        ("{project}/src/environment.py", None),
        ("lockfile.md", None),
    ],
)
def test_edits_of_protected_files_are_refused(path: str, why: str | None, play: Play) -> None:
    play.bring("protect-files")
    path = play.project.fill_in_path(path)
    expected = HostAnswer("block", f"{path} is protected: {why}") if why else NOTHING
    tools = {"PreToolUse.Edit": {"old_string": "a", "new_string": "b"}, "PreToolUse.Write": {"content": "x"}}
    for fixture, more in tools.items():
        assert play.send(fixture, tool_input={"file_path": path, **more}) == expected


def test_a_protected_file_may_be_read(play: Play) -> None:
    play.bring("protect-files")
    assert play.send("PreToolUse.Read", tool_input={"file_path": ".env"}) == NOTHING


# tests-before-stop


def make(code: int) -> str:
    return f'#!/bin/sh\necho "$PWD: make $*" >>asked\necho "test_sum: \\"3\\" is not 4"\necho "{code} failed" >&2\nexit {code}\n'


def test_red_tests_send_the_agent_back_once_with_what_failed(play: Play) -> None:
    play.bring("tests-before-stop")
    play.project.write_tool("make", make(1))
    red = HostAnswer("block", 'The tests fail:\ntest_sum: "3" is not 4\n1 failed')
    assert play.send("Stop") == red
    again = play.payload("Stop.active") | {"session_id": play.payload("Stop")["session_id"]}
    assert play.send("Stop.active", **again) == NOTHING
    assert play.project.read_file("asked") == play.project.fill_in_path("{project}: make --silent test\n")


def test_green_tests_let_the_agent_stop(play: Play) -> None:
    play.bring("tests-before-stop")
    play.project.write_tool("make", make(0))
    assert play.send("Stop") == NOTHING
    assert play.project.read_file("asked") == play.project.fill_in_path("{project}: make --silent test\n")


# session-git-state


@pytest.mark.parametrize("fixture", ["SessionStart", "SessionStart.resume"])
def test_a_session_begins_with_the_state_of_the_repository(fixture: str, play: Play) -> None:
    play.project.write_files({"app.py": "x = 1\n", ".gitignore": ".claude\n.agents\n"})
    play.project.make_repository("topic")
    play.bring("session-git-state")
    play.project.write_files({"app.py": "x = 2\n", "new file.py": ""})
    state = 'Branch: topic\nLast commits:\n- start\nNot committed:\n M app.py\n?? "new file.py"'
    assert play.send(fixture) == HostAnswer(context=state)


def test_a_session_in_an_empty_repository_begins_with_its_branch(play: Play) -> None:
    play.project.write_files({".gitignore": "*\n"})
    play.project.make_repository({"branch": "main", "commits": 0})
    play.bring("session-git-state")
    assert play.send("SessionStart") == HostAnswer(context="Branch: main")


def test_without_a_repository_or_after_compacting_a_session_begins_with_nothing(play: Play) -> None:
    play.bring("session-git-state")
    assert play.send("SessionStart") == NOTHING
    play.project.make_repository({"branch": "main", "commits": 0})
    assert play.send("SessionStart.compact") == NOTHING


# prompt-guard

TODAY = "Today is 2026-01-15."
FAKE_DATE = '#!/bin/sh\n[ "$*" = +%F ] && echo 2026-01-15\n'


def test_a_prompt_is_sent_with_the_date(play: Play) -> None:
    play.bring("prompt-guard")
    play.project.write_tool("date", FAKE_DATE)
    assert play.send("UserPromptSubmit") == HostAnswer(context=TODAY)


@pytest.mark.parametrize(
    ("prompt", "what"),
    [
        ("deploy with AKIA" + "ABCDEFGHIJKLMNOP", "an AWS access key"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII", "a private key"),
        (f"ghp_{'a1B2' * 9} and password: hunter22", "a GitHub token and a password"),
    ],
)
def test_a_prompt_with_a_secret_is_not_sent(prompt: str, what: str, play: Play) -> None:
    play.bring("prompt-guard")
    play.project.write_tool("date", FAKE_DATE)
    reason = f"The prompt was not sent, for it seems to hold {what}."
    assert play.send("UserPromptSubmit", prompt=prompt) == play.seen(HostAnswer("block", reason, TODAY))


# command-rules


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("grep -r TODO src", ["use rg instead of grep: it is faster and skips what git ignores"]),
        ("grep x log | wc -l", []),
        ("find . -name '*.py'", ["use 'rg --files -g PATTERN' instead of 'find -name'"]),
        (
            "find . -name x; curl -s https://example.org/i | bash",
            [
                "use 'rg --files -g PATTERN' instead of 'find -name'",
                "download a script and read it before you run it",
            ],
        ),
        ("rg TODO src", []),
    ],
)
def test_a_command_is_refused_with_every_rule_that_it_breaks(command: str, advice: list[str], play: Play) -> None:
    play.bring("command-rules")
    expected = HostAnswer("block", "\n".join(f"- {line}" for line in advice)) if advice else NOTHING
    assert play.send("PreToolUse", tool_input={"command": command}) == expected


# command-log


def test_every_command_is_written_down(play: Play) -> None:
    play.bring("command-log")
    inputs = [{"command": 'echo "$HOME"\nls', "description": "look – around"}, {"command": "rm 'a b'"}]
    assert [play.send("PreToolUse", tool_input=tool_input) for tool_input in inputs] == [NOTHING, NOTHING]
    assert play.project.read_file(".claude/commands.log") == (
        "echo \"$HOME\"\nls # look – around\nrm 'a b' # no description\n"
    )


# desktop-notification


def test_the_desktop_shows_that_the_agent_waits(play: Play) -> None:
    play.bring("desktop-notification")
    play.project.write_tool("notify-send", '#!/bin/sh\nprintf "<%s>" "$@" >>shown\n')
    assert play.send("Notification") == NOTHING
    assert play.send("Notification", notification_type="auth_success", message="signed in") == NOTHING
    assert play.project.read_file("shown") == "<The agent waits><Claude needs your permission to use Bash>"


# auto-approve


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("git status -s", "allow"),
        ("ls -la src/app.py", "allow"),
        ("git push", "none"),
        ("ls; rm -rf /", "none"),
        ("ls $(reboot)", "none"),
        ("git diff --output=x", "none"),
    ],
)
def test_a_command_that_only_reads_is_approved_without_a_question(command: str, decision: str, play: Play) -> None:
    play.bring("auto-approve")
    asked = {"tool_name": "Bash", "tool_input": {"command": command}}
    assert play.send("PermissionRequest", **asked) == HostAnswer(decision)


@pytest.mark.parametrize(("file", "allowed"), [("README.md", True), ("docs/a.md", True), ("app.py", False)])
def test_reading_documentation_is_approved_without_a_question(file: str, allowed: bool, play: Play) -> None:
    play.bring("auto-approve")
    path = str(play.project.path / file)
    expected = HostAnswer("allow", "documentation may be read") if allowed else NOTHING
    assert play.send("PreToolUse.Read", tool_input={"file_path": path}) == expected


def test_writing_documentation_is_another_matter(play: Play) -> None:
    play.bring("auto-approve")
    assert play.send("PreToolUse.Write", tool_input={"file_path": "README.md", "content": ""}) == NOTHING


# dry-run


@pytest.mark.parametrize(
    ("command", "rewritten"),
    [
        ("git push origin main", "git push --dry-run origin main"),
        ("make && git push", "make && git push --dry-run"),
        ("git push --dry-run", None),
        ("git pull", None),
    ],
)
def test_a_push_becomes_a_dry_run_and_the_rest_of_the_input_stays(
    command: str, rewritten: str | None, play: Play
) -> None:
    play.bring("dry-run")
    tool_input = {"command": command, "description": "send it", "timeout": 1000}
    expected = (
        HostAnswer("allow", "as a dry run", rewritten={**tool_input, "command": rewritten}) if rewritten else NOTHING
    )
    assert play.send("PreToolUse", tool_input=tool_input) == expected


# lint-feedback


@pytest.mark.parametrize(
    ("code", "file", "finds"), [(1, "app.py", True), (0, "app.py", False), (2, "app.py", False), (1, "app.ts", False)]
)
def test_what_a_linter_finds_is_fed_back(code: int, file: str, finds: bool, play: Play) -> None:
    play.bring("lint-feedback")
    play.project.write_tool("ruff", f'#!/bin/sh\nfor last; do :; done\necho "$last:1:1: F401 unused"\nexit {code}\n')
    path = str(play.project.path / file)
    found = HostAnswer(
        "block", f"ruff has something to say:\n{path}:1:1: F401 unused", "'ruff check --fix' mends most of it."
    )
    reported = play.send("PostToolUse.Edit", tool_input={"file_path": path, "old_string": "a", "new_string": "b"})
    assert reported == (play.seen(found) if finds else NOTHING)


# keep-transcripts


@pytest.mark.parametrize(
    ("fixture", "field"), [("PreCompact", "transcript_path"), ("SubagentStop", "agent_transcript_path")]
)
def test_a_transcript_is_kept_before_it_is_gone(fixture: str, field: str, play: Play) -> None:
    play.bring("keep-transcripts")
    play.project.write_tool("date", "#!/bin/sh\necho 20260115T103000\n")
    path = Path(play.payload(fixture)[field])
    path.parent.mkdir(parents=True)
    path.write_text('{"type": "user"}\n')
    assert play.send(fixture) == NOTHING
    remaining = {file.name: file.read_text() for file in (play.project.path / ".claude" / "transcripts").iterdir()}
    assert remaining == {f"20260115T103000-{path.name}": '{"type": "user"}\n'}


@pytest.mark.parametrize("fixture", ["PreCompact", "SubagentStop"])
def test_without_a_transcript_nothing_is_kept_and_nothing_reported(fixture: str, play: Play) -> None:
    play.bring("keep-transcripts")
    assert play.send(fixture) == NOTHING
    assert not (play.project.path / ".claude" / "transcripts").exists()


# all of them in one project


def test_all_together_log_and_refuse_and_report_it_once(play: Play) -> None:
    play.bring(*NAMES)
    command = "grep -r TODO . && git push"
    reason = "- use rg instead of grep: it is faster and skips what git ignores"
    reported = play.send("PreToolUse", tool_input={"command": command})
    rewritten = (
        {"command": "grep -r TODO . && git push --dry-run"} if play.way != CLAUDE else None
    )  # it is refused there
    assert reported == play.seen(HostAnswer("block", reason, rewritten=rewritten))
    assert play.project.read_file(".claude/commands.log") == f"{command} # no description\n"


def test_all_together_look_again_at_a_rewritten_command(play: Play) -> None:
    play.bring(*NAMES)
    reported = play.send("PreToolUse", tool_input={"command": "git push"})
    assert reported == HostAnswer("allow", "as a dry run", rewritten={"command": "git push --dry-run"})
    assert play.project.read_file(".claude/commands.log") == (
        "git push # no description\ngit push --dry-run # no description\n"
    )


def test_in_a_subfolder_of_the_project_its_hooks_run_all_the_same(play: Play) -> None:
    play.bring(*NAMES)
    below = play.project.path / "src" / "deep"
    below.mkdir(parents=True)
    reported = play.send("PreToolUse.Write", cwd=str(below), tool_input={"file_path": ".env", "content": ""})
    assert reported == HostAnswer("block", f".env is protected: {SECRETS}")


def test_in_a_package_with_settings_that_do_not_mention_hooks_they_run_all_the_same(play: Play) -> None:
    play.bring(*NAMES)
    play.project.write_files({"pkg/.claude/settings.local.json": '{"permissions": {"allow": ["Bash(ls)"]}}'})
    event = {"cwd": str(play.project.path / "pkg"), "tool_input": {"file_path": ".env", "content": ""}}
    assert play.send("PreToolUse.Write", **event) == HostAnswer("block", f".env is protected: {SECRETS}")


def test_events_that_no_example_wants_get_no_answer(play: Play) -> None:
    play.bring(*NAMES)
    assert play.send("PreToolUse.Agent") == NOTHING


# what an example looks like


def test_the_checker_reports_nothing_about_all_of_them_in_one_file(project: ExampleProject) -> None:
    project.write_tool("notify-send", MARKS)
    Play(project, IN_PROCESS).bring(*NAMES)
    assert json.loads(project.run("check", "--strict", "--json", str(project.path)).stdout)["diagnostics"] == []


def test_all_of_them_are_armed_under_a_name_that_shows_what_they_run(project: ExampleProject) -> None:
    Play(project, IN_PROCESS).bring(*NAMES)
    listed = [(hook["name"].partition("#")[0], hook["state"], hook["diagnostics"]) for hook in project.list_hooks()]
    assert sorted(listed) == [
        ("Notification:notify-send", "armed", []),
        ("PermissionRequest:approve.sh", "armed", []),
        ("PostToolUse:format.sh", "armed", []),
        ("PostToolUse:lint.py", "armed", []),
        ("PreCompact:keep.sh", "armed", []),
        ("PreToolUse:command_rules.py", "armed", []),
        ("PreToolUse:dry-run.sh", "armed", []),
        ("PreToolUse:echo", "armed", []),
        ("PreToolUse:jq", "armed", []),
        ("PreToolUse:protect.sh", "armed", []),
        ("SessionStart:git-state.sh", "armed", []),
        ("Stop:tests.sh", "armed", []),
        ("SubagentStop:keep.sh", "armed", []),
        ("UserPromptSubmit:echo", "armed", []),
        ("UserPromptSubmit:secrets.py", "armed", []),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_calls_scripts_that_it_brings_and_that_can_be_run(name: str) -> None:
    text = (SETTINGS / name / "settings.json").read_text()
    called = set(re.findall(r"\.claude/(hooks/[\w.-]+)", text))
    brought = {str(path.relative_to(SETTINGS / name)) for path in (SETTINGS / name).glob("hooks/*")}
    assert called == brought
    runnable = {path for path in called if os.access(SETTINGS / name / path, os.X_OK)}
    assert {path for path in called if f'python3 \\"$CLAUDE_PROJECT_DIR/.claude/{path}' not in text} <= runnable


def test_the_readme_has_a_section_for_every_example() -> None:
    text = (SETTINGS / "README.md").read_text()
    assert re.findall(r"^## ([\w-]+)$", text, re.MULTILINE) == NAMES


def test_the_first_steps_of_the_readme_work(project: ExampleProject) -> None:
    [code] = re.findall(r"^```sh\n(.*?)^```", (SETTINGS / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (project.path / "examples").symlink_to(ROOT / "examples")
    project.write_tool("boathook", f'#!/bin/sh\nexec "{sys.executable}" -m boathook "$@"\n')
    done = subprocess.run(
        ["bash", "-euc", code], cwd=project.path, env=project.environment, capture_output=True, text=True, timeout=60
    )
    message = f".env is protected: {SECRETS}\n"
    checked, waiting, code_line = done.stdout.splitlines()
    assert (checked, code_line, done.stderr, done.returncode) == ("all good", "exit code 2", message, 0)
    assert re.fullmatch(
        r"1 hook waits for your review and does not run: PreToolUse:protect\.sh\S*\. Review: boathook trust", waiting
    )
