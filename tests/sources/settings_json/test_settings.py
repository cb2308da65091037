"""Hooks of settings.json: every field, every wrong shape, three files and plugins merged (S13, S24)."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.hook import (
    ARMED,
    CALLS_BOATHOOK,
    DISABLED,
    ERROR,
    INVALID,
    IS_INSTALLED_CALL,
    PLUGIN,
    SETTINGS,
    SHADOWED,
    WARNING,
    Command,
    Diagnostic,
    Hook,
    Http,
    Prompt,
)
from boathook.core.matcher import ALL, Matcher, compile_names, compile_pattern, make_field_matcher
from boathook.dialects.dialect import find_hook_dialect
from boathook.hosts.claude import UNMAPPED_CLAUDE_EVENTS
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_NAME
from boathook.loader import load_hooks
from boathook.sources.agent_forms.hook_form import SETTINGS_FORM
from boathook.sources.own_commands import has_own_command, is_own_command
from boathook.sources.settings_json.settings import load_settings
from boathook.sources.settings_json.settings_file import SettingsFile, find_form_project, read_settings
from boathook.sources.source import SOURCES
from boathook.system.locations import read_environment, resolve_locations
from tests.core.builders import json_values

COMMAND = {"type": "command", "command": "check"}
NESTED = '{"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}'
TYPE = "'type' must be command, prompt or http, not {}"
TYPES = 'for example "type": "command"'
COMMAND_KEYS = "known: command, args, shell, async, asyncRewake, type, timeout, if, statusMessage, once"
PLACE = "hooks.PreToolUse[0].hooks[0]"


@pytest.fixture
def read(tmp_path):
    def _read(content: object, scope: str = "user") -> SettingsFile:
        """Write a file of settings, anything but text and bytes as JSON, and read it; its path is shown as `file`."""
        path = tmp_path / "settings.json"
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(0o600)
        return shown(read_settings(str(path), scope))

    return _read


def shown(file: SettingsFile) -> SettingsFile:
    def placed(problem: Diagnostic) -> Diagnostic:
        return problem.replace(path="file")

    hooks = (hook.replace(path="file", diagnostics=tuple(map(placed, hook.diagnostics))) for hook in file.hooks)
    return file.replace(path="file", hooks=tuple(hooks), diagnostics=tuple(map(placed, file.diagnostics)))


@pytest.fixture
def one(read):
    def _one(entry: object = COMMAND, *, event: str = "PreToolUse", scope: str = "user", **group: object) -> Hook:
        """Read a file that holds one entry."""
        (hook,) = read({"hooks": {event: [{**group, "hooks": [entry]}]}}, scope).hooks
        return hook

    return _one


def list_diagnostics(hook: Hook) -> list[tuple[str, str, str, str]]:
    return [(p.level, p.key.removeprefix(PLACE).lstrip("."), p.message, p.fix) for p in hook.diagnostics]


# What an entry can set


def test_every_field_of_a_command_is_read(one):
    entry = {
        "type": "command",
        "command": '"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh --strict',
        "timeout": 5,
        "if": "Bash(git *)",
        "statusMessage": "Looking",
        "once": True,
        "shell": "bash",
        "async": True,
    }
    assert one(entry, scope="project", matcher="Bash") == Hook(
        "PreToolUse:guard.sh#add131",
        CLAUDE_EVENTS_BY_NAME["PreToolUse"].kind,
        "PreToolUse",
        "project",
        Command(entry["command"], shell="bash"),
        "file",
        description="Looking",
        matcher=Matcher(compile_names("Bash"), one(entry).matcher.pattern),
        timeout=5.0,
        background=True,
        source=SETTINGS,
        runs_together=True,
        place=PLACE,
        dialect=find_hook_dialect("claude"),
    )


def test_every_field_of_a_prompt_is_read(one):
    entry = {"type": "prompt", "prompt": "Is it done? $ARGUMENTS", "model": "haiku", "timeout": 7.5}
    hook = one(entry, event="Stop")
    assert (hook.handler, hook.timeout, hook.state, hook.diagnostics) == (
        Prompt("Is it done? $ARGUMENTS", "haiku"),
        7.5,
        ARMED,
        (),
    )


def test_every_field_of_a_post_is_read(one):
    entry = {
        "type": "http",
        "url": "https://example.org/hook",
        "headers": {"Authorization": "Bearer $TOKEN", "X-From": "${HOST}"},
        "allowedEnvVars": ["TOKEN", "HOST"],
    }
    hook = one(entry, event="PostToolUse")
    headers = (("Authorization", "Bearer $TOKEN"), ("X-From", "${HOST}"))
    assert (hook.handler, hook.timeout, hook.state, hook.diagnostics) == (
        Http("https://example.org/hook", headers, ("TOKEN", "HOST")),
        60.0,
        ARMED,
        (),
    )


def test_a_program_with_arguments_has_no_shell(one):
    entry = {**COMMAND, "command": "node", "args": ["${CLAUDE_PROJECT_DIR}/a.js", ""]}
    assert one(entry).handler == Command("node", ("${CLAUDE_PROJECT_DIR}/a.js", ""))
    assert one({**COMMAND, "args": []}).handler == Command("check", ())
    assert one({**COMMAND, "args": None, "shell": "powershell"}).handler == Command("check", None, "powershell")


@pytest.mark.parametrize("event", CLAUDE_EVENTS_BY_NAME)
def test_every_event_takes_hooks(one, event):
    hook = one(event=event)
    assert (hook.kind, hook.trigger, hook.state, hook.diagnostics) == (
        CLAUDE_EVENTS_BY_NAME[event].kind,
        event,
        ARMED,
        (),
    )


DEFAULTS = {
    "command": ({"command": "x"}, 60.0),
    "http": ({"url": "https://x.org"}, 60.0),
    "prompt": ({"prompt": "x"}, 30.0),
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_without_a_timeout_there_is_one(one, kind):
    fields, seconds = DEFAULTS[kind]
    assert one({"type": kind, **fields}).timeout == seconds


# Matchers

MATCHERS = {
    None: (["Bash", "Write", ""], []),
    "": (["Bash"], []),
    "*": (["Bash"], []),
    " * ": (["Bash"], []),
    "Bash": (["Bash"], ["BashOutput", "bash"]),
    "Edit|Write": (["Edit", "Write"], ["MultiEdit", "Bash"]),
    "Edit, Write": (["Edit", "Write"], ["MultiEdit", "Bash"]),
    "mcp__memory": (["mcp__memory"], ["mcp__memory__get"]),
    "mcp__memory__.*": (["mcp__memory__get"], ["mcp__other__get"]),
    "Edit.*": (["Edit", "NotebookEdit"], ["Write"]),
    "^Edit$": (["Edit"], ["NotebookEdit"]),
}


@pytest.mark.parametrize("source", MATCHERS)
def test_a_matcher_matches(one, source):
    yes, no = MATCHERS[source]
    pattern = one(matcher=source).matcher.tool
    found = {name: pattern is None or pattern.search(name) for name in (*yes, *no)}
    assert found == {**dict.fromkeys(yes, True), **dict.fromkeys(no, False)}


SUBJECTS = {
    "SessionStart": "source",
    "SubagentStart": "subagent_type",
    "SubagentStop": "subagent_type",
    "PreCompact": "trigger",
    "SessionEnd": "exit_reason",
    "Notification": "notification_type",
    "StopFailure": "error",
}


@pytest.mark.parametrize("event", SUBJECTS)
def test_without_a_tool_a_matcher_asks_another_field(one, event):
    assert one(event=event, matcher="a|b").matcher == make_field_matcher(SUBJECTS[event], compile_names("a|b"))


@pytest.mark.parametrize("source", ["Bash", "(", "(?=x)"])
@pytest.mark.parametrize("event", ["Stop", "UserPromptSubmit"])
def test_an_event_without_matcher_ignores_any_matcher(one, event, source):
    hook = one(event=event, matcher=source)
    message = f"{event} has no matcher: '{source}' is ignored, the hook runs at every such event"
    problem = Diagnostic("file", None, f"hooks.{event}[0].hooks[0].matcher", WARNING, message, "remove it")
    assert (hook.state, hook.matcher, hook.diagnostics) == (ARMED, ALL, (problem,))


@pytest.mark.parametrize("source", ["", "*", " ", None])
def test_a_matcher_for_everything_is_fine_everywhere(one, source):
    hook = one(event="Stop", matcher=source)
    assert (hook.state, hook.matcher, hook.diagnostics) == (ARMED, ALL, ())


# Rules


def test_a_rule_matches_its_tools_and_their_input(one):
    matcher = one({**COMMAND, "if": "Write(*.ts)"}).matcher
    assert (matcher.tool, matcher.pattern) == (compile_names("Write"), compile_pattern(r"(?i:(?:^|/)[^/]*\.ts(?:/|$))"))
    assert one({**COMMAND, "if": "Bash"}).matcher == Matcher(compile_names("Bash"))


BOTH = {
    ("Edit|Write", "Edit(*.ts)"): ["Edit", "Write"],
    ("Write", "Edit(*.ts)"): ["Write"],
    (".*Edit", "Edit(*.ts)"): ["Edit", "MultiEdit", "NotebookEdit"],
    (None, "Edit(*.ts)"): ["Edit", "MultiEdit", "Write", "NotebookEdit"],
    ("mcp__github__.*", "mcp__*"): ["mcp__github__get"],
    ("mcp__github__.*", "mcp__github"): ["mcp__github__get"],
    (None, "mcp__github"): ["mcp__github__get"],
    ("Agent", "Task(Explore)"): ["Agent"],
}


@pytest.mark.parametrize(("matcher", "rule"), BOTH)
def test_matcher_and_rule_must_both_match(one, matcher, rule):
    hook = one({**COMMAND, "if": rule}, matcher=matcher)
    names = ["Edit", "MultiEdit", "Write", "NotebookEdit", "Read", "Agent", "mcp__github__get", "mcp__x__get"]
    assert (hook.state, hook.diagnostics) == (ARMED, ())
    assert [name for name in names if hook.matcher.tool.search(name)] == BOTH[matcher, rule]


def test_a_rule_that_the_matcher_leaves_out_never_runs_and_that_is_reported(one):
    hook = one({**COMMAND, "if": "Edit(*.ts)"}, matcher="Bash|Read")
    why = (
        "'if' is about Edit and MultiEdit and Write and NotebookEdit, "
        "which the matcher 'Bash|Read' does not match: the hook never runs"
    )
    assert (hook.state, hook.state_reason, list_diagnostics(hook)) == (DISABLED, why, [(WARNING, "if", why, "")])


NO_RULE = "'if' is not a rule like 'Bash(git *)' or 'Edit(*.ts)'; it is ignored, so the hook runs more often"


@pytest.mark.parametrize("rule", ["", "git *", "Bash(git *", 1, True, [], {}])
def test_a_value_that_is_not_a_rule_is_ignored_and_reported(one, rule):
    hook = one({**COMMAND, "if": rule}, matcher="Bash")
    assert (hook.state, hook.matcher) == (ARMED, Matcher(compile_names("Bash")))
    assert list_diagnostics(hook) == [(ERROR, "if", NO_RULE, "")]


def test_a_rule_where_no_tool_is_called_is_ignored_and_reported(one):
    hook = one({**COMMAND, "if": "Bash(git *)"}, event="SessionStart", matcher="startup")
    message = "'if' is for events with a tool; SessionStart has none, so it is ignored"
    key = "hooks.SessionStart[0].hooks[0].if"
    assert (hook.state, hook.diagnostics) == (ARMED, (Diagnostic("file", None, key, WARNING, message),))
    assert hook.matcher == make_field_matcher("source", compile_names("startup"))


# Seconds, flags, keys

SECONDS = "'timeout' must be a number of seconds above 0, not {}; 60 is used"
TOO_LONG = "'timeout' is in seconds: {} is more than 600, so 600 is used"
REMARKS = {
    "a timeout of 0": (
        {"timeout": 0},
        [(ERROR, "timeout", SECONDS.format("0"), 'for example "timeout": 60')],
        {"timeout": 60.0},
    ),
    "a timeout below 0": (
        {"timeout": -1.5},
        [(ERROR, "timeout", SECONDS.format("-1.5"), 'for example "timeout": 60')],
        {"timeout": 60.0},
    ),
    "a timeout as text": (
        {"timeout": "5"},
        [(ERROR, "timeout", SECONDS.format("'5'"), 'for example "timeout": 60')],
        {"timeout": 60.0},
    ),
    "a timeout as a flag": (
        {"timeout": True},
        [(ERROR, "timeout", SECONDS.format("true"), 'for example "timeout": 60')],
        {"timeout": 60.0},
    ),
    "no timeout at all": (
        {"timeout": None},
        [(ERROR, "timeout", SECONDS.format("null"), 'for example "timeout": 60')],
        {"timeout": 60.0},
    ),
    "a timeout that is not a number": (
        {"timeout": float("nan")},
        [(ERROR, "timeout", SECONDS.format("nan"), 'for example "timeout": 60')],
        {"timeout": 60.0},
    ),
    "the longest timeout": ({"timeout": 600}, [], {"timeout": 600.0}),
    "the shortest timeout": ({"timeout": 0.001}, [], {"timeout": 0.001}),
    "a timeout that is too long": (
        {"timeout": 900},
        [(WARNING, "timeout", TOO_LONG.format("900"), "")],
        {"timeout": 600.0},
    ),
    "a timeout in milliseconds": (
        {"timeout": 5000},
        [(WARNING, "timeout", f"{TOO_LONG.format('5000')}; if you mean milliseconds, write 5", "")],
        {"timeout": 600.0},
    ),
    "a timeout beyond all numbers": (
        {"timeout": 10**400},
        [(WARNING, "timeout", f"{TOO_LONG.format('1e+15')}; if you mean milliseconds, write 1e+12", "")],
        {"timeout": 600.0},
    ),
    "async": ({"async": True}, [], {"background": True}),
    "not async": ({"async": False, "asyncRewake": False}, [], {"background": False}),
    "asyncRewake": (
        {"asyncRewake": True},
        [
            (
                WARNING,
                "asyncRewake",
                "this engine cannot wake the agent: the hook runs in the background and its result is logged",
                "",
            )
        ],
        {"background": True},
    ),
    "async as text": (
        {"async": "yes", "asyncRewake": None},
        [
            (ERROR, "async", "'async' must be true or false, not 'yes'; false is used", 'for example "async": false'),
            (
                ERROR,
                "asyncRewake",
                "'asyncRewake' must be true or false, not null; false is used",
                'for example "asyncRewake": false',
            ),
        ],
        {"background": False},
    ),
    "a message that is not text": ({"statusMessage": 5}, [], {"description": ""}),
    "a key that is not known": (
        {"tiemout": 5},
        [(WARNING, "tiemout", "unknown key 'tiemout'", "did you mean 'timeout'?")],
        {"timeout": 60.0},
    ),
    "a matcher in the entry": (
        {"matcher": "Bash"},
        [(WARNING, "matcher", "unknown key 'matcher'", COMMAND_KEYS)],
        {"matcher": ALL},
    ),
    "a key of another type": (
        {"url": "https://x.org"},
        [(WARNING, "url", "unknown key 'url'", COMMAND_KEYS)],
        {"handler": Command("check")},
    ),
}


@pytest.mark.parametrize("title", REMARKS)
def test_an_entry_runs_and_a_remark_is_made_on(one, title):
    fields, remarks, found = REMARKS[title]
    hook = one({**COMMAND, **fields})
    assert (hook.state, list_diagnostics(hook)) == (ARMED, remarks)
    assert {name: getattr(hook, name) for name in found} == found


def test_only_commands_run_in_the_background(one):
    hook = one({"type": "http", "url": "https://x.org", "async": True})
    known = "known: url, headers, allowedEnvVars, type, timeout, if, statusMessage, once"
    assert (hook.background, list_diagnostics(hook)) == (False, [(WARNING, "async", "unknown key 'async'", known)])


def test_the_model_of_a_prompt_must_be_text(one):
    hook = one({"type": "prompt", "prompt": "x", "model": 5})
    expected = [(ERROR, "model", "'model' must be text, not 5; it is ignored", "")]
    assert (hook.handler, hook.state, list_diagnostics(hook)) == (Prompt("x"), ARMED, expected)


def test_a_header_that_names_what_is_not_allowed_is_reported(one):
    entry = {"type": "http", "url": "https://x.org", "headers": {"A": "$B ${C} $5"}, "allowedEnvVars": ["C"]}
    message = "the header uses $B, which is not in 'allowedEnvVars', so it is sent empty"
    assert list_diagnostics(one(entry)) == [(WARNING, "headers.A", message, '"allowedEnvVars": ["B"]')]


def test_a_post_without_encryption_is_reported_unless_it_stays_here(one):
    expected = [(WARNING, "url", "events are sent over the network unencrypted", "use https://")]
    assert list_diagnostics(one({"type": "http", "url": "http://x.org"})) == expected
    for host in ("localhost", "127.0.0.1", "[::1]"):
        assert list_diagnostics(one({"type": "http", "url": f"http://{host}:8080/a"})) == []


def test_a_remark_on_a_group_is_made_for_each_of_its_entries(read):
    file = read(
        {"hooks": {"Stop": [{"hook": 1, "description": "mine", "hooks": [COMMAND, {**COMMAND, "command": "b"}]}]}}
    )
    reported = Diagnostic("file", None, "hooks.Stop[0].hook", WARNING, "unknown key 'hook'")
    assert [hook.diagnostics for hook in file.hooks] == [(reported,), (reported,)]


# Wrong shapes: one invalid hook each


def broken(trigger: str, place: str, message: str, fix: str = "") -> Hook:
    """Return an invalid hook as it is made of a wrong shape, its name left out."""
    return Hook(
        "",
        CLAUDE_EVENTS_BY_NAME[trigger].kind,
        trigger,
        "user",
        Command(""),
        "file",
        source=SETTINGS,
        runs_together=True,
        dialect=find_hook_dialect("claude"),
        place=place,
        state=INVALID,
        state_reason=f"{place}: {message}" + (f" ({fix})" if fix else ""),
        diagnostics=(Diagnostic("file", None, place, ERROR, message, fix),),
    )


GROUPS = {
    "no list": ({}, "hooks.Stop", "must be a list, not an object", f"[{NESTED}]"),
    "null": (None, "hooks.Stop", "must be a list, not null", f"[{NESTED}]"),
    "a text": ("check", "hooks.Stop", "must be a list, not text", f"[{NESTED}]"),
    "a text for a group": (["check"], "hooks.Stop[0]", "must be an object, not text", NESTED),
    "a list for a group": ([[]], "hooks.Stop[0]", "must be an object, not a list", NESTED),
    "a bare hook": (
        [COMMAND],
        "hooks.Stop[0]",
        "is a hook without a group: an event has groups, and a group has hooks",
        NESTED,
    ),
    "a bare hook without type": (
        [{"command": "x"}],
        "hooks.Stop[0]",
        "is a hook without a group: an event has groups, and a group has hooks",
        NESTED,
    ),
    "a group without hooks": ([{"matcher": "x"}], "hooks.Stop[0]", "'hooks' is missing", NESTED),
    "a group with an object": ([{"hooks": COMMAND}], "hooks.Stop[0]", "'hooks' must be a list, not an object", NESTED),
    "a group with null": ([{"hooks": None}], "hooks.Stop[0]", "'hooks' must be a list, not null", NESTED),
}


@pytest.mark.parametrize("title", GROUPS)
def test_a_group_of_a_wrong_shape_is_an_invalid_hook(read, title):
    groups, place, message, fix = GROUPS[title]
    file = read({"hooks": {"Stop": groups}})
    assert [hook.replace(name="") for hook in file.hooks] == [broken("Stop", place, message, fix)]
    assert file.diagnostics == ()


URL = "'url' must begin with https:// or http:// and name a host"
LINE = "'{}' must be text that is not empty and has no NUL character, not {}"
OBJECT = '{"type": "command", "command": "…"}'
SHELL = "'shell' must be bash or powershell, not {}"
WORDS = "'args' must be a list of texts without NUL characters"
POST = {"type": "http", "url": "https://x.org"}
ENTRIES = {
    "a text": ("check", "must be an object, not 'check'", OBJECT),
    "null": (None, "must be an object, not null", OBJECT),
    "no type": ({"command": "x"}, "'type' is missing", TYPES),
    "a type that is null": ({"type": None, "command": "x"}, "'type' is missing", TYPES),
    "an unknown type": ({"type": "comand", "command": "x"}, TYPE.format("'comand'"), 'did you mean "type": "command"?'),
    "a type that is a list": ({"type": ["command"], "command": "x"}, TYPE.format("a list"), TYPES),
    "a type that is an object": ({"type": {}, "command": "x"}, TYPE.format("an object"), TYPES),
    "no command": ({"type": "command"}, "'command' is missing", ""),
    "a command that is null": ({"type": "command", "command": None}, "'command' is missing", ""),
    "a command that is a list": ({"type": "command", "command": ["x"]}, LINE.format("command", "a list"), ""),
    "a command that is empty": ({"type": "command", "command": " \n"}, LINE.format("command", "empty text"), ""),
    "a command with a NUL": (
        {"type": "command", "command": "a\0b"},
        LINE.format("command", "text with a NUL character"),
        "",
    ),
    "arguments as text": ({**COMMAND, "args": "a b"}, f"{WORDS}, not 'a b'", ""),
    "arguments as numbers": ({**COMMAND, "args": ["a", 1]}, WORDS, ""),
    "arguments with a NUL": ({**COMMAND, "args": ["a", "\0"]}, WORDS, ""),
    "an unknown shell": ({**COMMAND, "shell": "fish"}, SHELL.format("'fish'"), ""),
    "a shell that is not text": ({**COMMAND, "shell": []}, SHELL.format("a list"), ""),
    "no prompt": ({"type": "prompt"}, "'prompt' is missing", ""),
    "an empty prompt": ({"type": "prompt", "prompt": ""}, "'prompt' is missing", ""),
    "no address": ({"type": "http"}, "'url' is missing", ""),
    "an address of another kind": ({"type": "http", "url": "ftp://x.org"}, URL, ""),
    "an address without host": ({"type": "http", "url": "https:///x"}, URL, ""),
    "an address that cannot be read": ({"type": "http", "url": "https://[x"}, URL, ""),
    "a file": ({"type": "http", "url": "file:///etc/passwd"}, URL, ""),
    "an address that is a number": ({"type": "http", "url": 5}, "'url' must be an http or https address, not 5", ""),
    "headers as a list": ({**POST, "headers": []}, "'headers' must be an object of texts, not a list", ""),
    "headers as numbers": ({**POST, "headers": {"a": 1}}, "'headers' must be an object of texts, not an object", ""),
    "variables as text": ({**POST, "allowedEnvVars": "A"}, "'allowedEnvVars' must be a list of texts, not 'A'", ""),
    "variables as numbers": ({**POST, "allowedEnvVars": [1]}, "'allowedEnvVars' must be a list of texts", ""),
}


@pytest.mark.parametrize("title", ENTRIES)
def test_an_entry_of_a_wrong_shape_is_an_invalid_hook(one, title):
    entry, message, fix = ENTRIES[title]
    assert one(entry).replace(name="") == broken("PreToolUse", PLACE, message, fix)


@pytest.mark.parametrize(("kind", "digest"), [("agent", "be6e25"), ("mcp_tool", "df6747")])
def test_a_type_that_claude_code_alone_has_is_listed_and_not_run(one, kind, digest):
    message = f"hooks of the type '{kind}' run only in Claude Code"
    assert one({"type": kind, "prompt": "x", "tool": "y"}, matcher="Bash(", scope="local") == Hook(
        f"PreToolUse:{kind}#{digest}",
        CLAUDE_EVENTS_BY_NAME["PreToolUse"].kind,
        "PreToolUse",
        "local",
        Command(""),
        "file",
        source=SETTINGS,
        runs_together=True,
        dialect=find_hook_dialect("claude"),
        place=PLACE,
        state=DISABLED,
        state_reason=message,
        diagnostics=(Diagnostic("file", None, f"{PLACE}.type", WARNING, message),),
    )


MATCHER_FAULTS = {
    "a list": (["Bash"], "'matcher' must be text, not a list"),
    "an object": ({"tool": "Bash"}, "'matcher' must be text, not an object"),
    "a flag": (False, "'matcher' must be text, not false"),
    "a pattern with a fault": ("Bash(", "the pattern 'Bash(' does not compile: a parenthesis is not closed"),
}


@pytest.mark.parametrize("title", MATCHER_FAULTS)
def test_a_matcher_of_a_wrong_shape_makes_its_entries_invalid(read, title):
    matcher, message = MATCHER_FAULTS[title]
    file = read({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [COMMAND, COMMAND]}]}})
    assert [hook.replace(name="") for hook in file.hooks] == [
        broken("PreToolUse", f"hooks.PreToolUse[0].hooks[{at}]", message) for at in (0, 1)
    ]


@pytest.mark.parametrize("event", [name for name, row in CLAUDE_EVENTS_BY_NAME.items() if not row.prompts])
def test_a_prompt_can_be_asked_at_some_events_only(one, event):
    found = one({"type": "prompt", "prompt": "x"}, event=event).replace(name="")
    message = f"prompt hooks cannot run at {event}"
    fix = "possible at: UserPromptSubmit, PreToolUse, PermissionRequest, Stop, SubagentStop"
    assert found == broken(event, f"hooks.{event}[0].hooks[0]", message, fix)


def test_an_invalid_entry_has_a_name_of_its_definition_or_else_of_its_place(read):
    bare, wrong = {"type": "command", "command": "sh a/b.sh"}, {"type": "command", "command": "b.sh", "args": 1}
    names = [hook.name for hook in read({"hooks": {"Stop": [bare, {"hooks": [5, {}, wrong]}, 7]}}).hooks]
    assert [name.partition("#")[0] for name in names] == [
        "Stop:b.sh",
        "Stop[1].hooks[0]",
        "Stop[1].hooks[1]",
        "Stop:b.sh",
        "Stop[2]",
    ]
    assert [len(name.partition("#")[2]) for name in names] == [6, 0, 0, 6, 0]


# Files as a whole


@pytest.mark.parametrize(
    "text", ["", " \n\t", "{}", '{"hooks": {}}', '{"hooks": null}', '{"model": "opus"}', "\ufeff{}", "\ufeff"]
)
def test_a_file_without_hooks_is_fine(read, text):
    assert read(text) == SettingsFile("file", "user")


def test_a_missing_file_is_empty_without_a_diagnostic(tmp_path):
    assert read_settings(str(tmp_path / "gone"), "user") == SettingsFile(str(tmp_path / "gone"), "user")
    assert read_settings(str(tmp_path / "a" / "b"), "user") == SettingsFile(str(tmp_path / "a" / "b"), "user")


def test_a_byte_order_mark_is_forgiven(read):
    text = json.dumps({"hooks": {"Stop": [{"hooks": [COMMAND]}]}})
    assert read(f"\ufeff{text}") == read(text)


FILES = {
    "a comma too much": (
        '{"hooks": {},}',
        1,
        "",
        "not valid JSON: Expecting property name enclosed in double quotes (column 14); no hook of this file runs",
        "",
    ),
    "comments": (
        '{\n  // mine\n  "hooks": {}\n}',
        2,
        "",
        "not valid JSON: Expecting property name enclosed in double quotes (column 3); no hook of this file runs",
        "comments are not JSON",
    ),
    "a long comment": (
        '/* mine */\n{"hooks": {}}',
        1,
        "",
        "not valid JSON: Expecting value (column 1); no hook of this file runs",
        "comments are not JSON",
    ),
    "two values": ("{} {}", 1, "", "not valid JSON: Extra data (column 4); no hook of this file runs", ""),
    "a list": ("[]", None, "", "the top level is a list, not an object; no hook of this file runs", ""),
    "null": ("null", None, "", "the top level is null, not an object; no hook of this file runs", ""),
    "a text": ('"x"', None, "", "the top level is text, not an object; no hook of this file runs", ""),
    "hooks as a list": (
        '{"hooks": []}',
        None,
        "hooks",
        "'hooks' must be an object of events, not a list; it is ignored",
        "",
    ),
    "hooks as a flag": (
        '{"hooks": false}',
        None,
        "hooks",
        "'hooks' must be an object of events, not false; it is ignored",
        "",
    ),
    "nesting without end": (
        "[" * 100_000,
        None,
        "",
        "cannot be read: nested too deep; no hook of this file runs",
        "",
    ),
    "bytes that are not text": (
        b'{"a": "\xff"}',
        None,
        "",
        "settings.json is not UTF-8 at byte 7; no hook of it runs",
        "",
    ),
    "a NUL": ('{"a": "\0"}', None, "", "settings.json contains a NUL character; no hook of it runs", ""),
    "too large": (b" " * ((1 << 20) + 1), None, "", "settings.json is larger than 1024 KiB; no hook of it runs", ""),
    "a flag as text": (
        '{"disableAllHooks": "yes"}',
        None,
        "disableAllHooks",
        "'disableAllHooks' must be true or false, not 'yes'; false is used",
        'for example "disableAllHooks": false',
    ),
}


@pytest.mark.parametrize("title", FILES)
def test_a_file_that_cannot_be_used_has_an_error(read, title):
    text, line, key, message, fix = FILES[title]
    assert read(text) == SettingsFile("file", "user", diagnostics=(Diagnostic("file", line, key, ERROR, message, fix),))


def test_a_number_beyond_limits_leaves_the_file_unread(read):
    file = read('{"hooks": {"Stop": [{"hooks": []}]}, "a": ' + "1" * 5000 + "}")
    assert [(p.level, p.message.partition(":")[0]) for p in file.diagnostics] == [(ERROR, "cannot be read")]
    assert file.hooks == ()


def test_nesting_up_to_what_can_just_be_read_never_raises(read):
    reported = Diagnostic("file", None, "", ERROR, "cannot be read: nested too deep; no hook of this file runs")
    for depth in range(900, 1000):
        for form in ('[{"hooks": [{"type": "command", "command": "x", "y": DEEP}]}]', '[{"type": DEEP}]'):
            file = read('{"hooks": {"Stop": ' + form.replace("DEEP", "[" * depth + "]" * depth) + "}}")
            assert len(file.hooks) == 1 or (file.hooks, file.diagnostics) == ((), (reported,))


def test_an_event_that_does_not_exist_is_reported_with_the_nearest(read):
    file = read({"hooks": {"PreToolUs": [], "preToolUse": [], "Frobnicate": {}}})
    known = f"known: {', '.join(CLAUDE_EVENTS_BY_NAME)}"
    assert [(p.level, p.key, p.message, p.fix) for p in file.diagnostics] == [
        (ERROR, "hooks.PreToolUs", "there is no event 'PreToolUs': its hooks never run", "did you mean 'PreToolUse'?"),
        (
            ERROR,
            "hooks.preToolUse",
            "there is no event 'preToolUse': its hooks never run",
            "in Claude Code it is called 'PreToolUse'",
        ),
        (ERROR, "hooks.Frobnicate", "there is no event 'Frobnicate': its hooks never run", known),
    ]


@pytest.mark.parametrize("event", UNMAPPED_CLAUDE_EVENTS)
def test_an_event_that_claude_code_alone_has_is_reported(read, event):
    message = f"boathook has no event like {event}: its hooks run only in Claude Code"
    problem = Diagnostic("file", None, f"hooks.{event}", WARNING, message)
    assert read({"hooks": {event: "anything"}}) == SettingsFile("file", "user", diagnostics=(problem,))


TWICE = {
    '{"hooks": {"Stop": [{"hooks": []}]}, "hooks": {}}': (ERROR, "hooks"),
    '{"hooks": {"Stop": [], "Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}': (ERROR, "Stop"),
    '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "command": "y"}]}]}}': (WARNING, "command"),
    '{"model": 1, "model": 2}': (WARNING, "model"),
}


@pytest.mark.parametrize("text", TWICE)
def test_a_key_that_is_there_twice_is_reported(read, text):
    level, key = TWICE[text]
    message = f"the key '{key}' is in one object twice; only the last one counts"
    assert read(text).diagnostics == (Diagnostic("file", None, key, level, message, "join the two"),)


def test_the_last_of_two_equal_keys_counts(read):
    (hook,) = read('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "command": "y"}]}]}}').hooks
    assert hook.handler == Command("y")


def test_a_broken_entry_leaves_its_neighbours_alone(read):
    file = read({"hooks": {"Stop": [{"hooks": [COMMAND, 5]}, 7, {"hooks": [COMMAND]}], "Oops": [], "PreToolUse": 1}})
    assert [(hook.place, hook.state) for hook in file.hooks] == [
        ("hooks.Stop[0].hooks[0]", ARMED),
        ("hooks.Stop[0].hooks[1]", INVALID),
        ("hooks.Stop[1]", INVALID),
        ("hooks.Stop[2].hooks[0]", ARMED),
        ("hooks.PreToolUse", INVALID),
    ]


@pytest.mark.parametrize(
    "text", ["x" * 500_000, "x" + " " * 500_000 + "!", "boathook " * 50_000, ".sh" * 100_000 + "x"]
)
def test_no_long_text_keeps_a_file_from_being_read(read, one, text):
    assert one({**COMMAND, "command": text}).handler == Command(text)
    assert list_diagnostics(one({**COMMAND, "if": text})) == [(ERROR, "if", NO_RULE, "")]
    assert read("\n" * 500_000 + "x").diagnostics[0].line == 500_001


# Names


def test_names_stay_when_a_file_is_put_in_another_order(read):
    first, second = {**COMMAND, "timeout": 5}, {"command": "other.sh", "type": "command"}
    one_way = read(
        {"hooks": {"Stop": [{"hooks": [first, second]}], "PreToolUse": [{"matcher": "Bash", "hooks": [first]}]}}
    )
    other = read(
        {
            "hooks": {
                "PreToolUse": [{"hooks": []}, {"hooks": [{"timeout": 5, **COMMAND}], "matcher": "Bash"}],
                "Stop": [{"hooks": [dict(reversed(second.items()))]}, {"hooks": [first]}],
            }
        }
    )
    assert {hook.name for hook in one_way.hooks} == {hook.name for hook in other.hooks}
    assert len({hook.name for hook in one_way.hooks}) == 3


def test_names_change_with_the_definition(one):
    names = [
        one().name,
        one(event="PostToolUse").name,
        one(matcher="Bash").name,
        one({**COMMAND, "command": "check "}).name,
        one({**COMMAND, "timeout": 5}).name,
        one({**COMMAND, "args": []}).name,
        one({**COMMAND, "if": "Bash"}).name,
        one({**COMMAND, "async": True}).name,
    ]
    assert len(set(names)) == len(names)


LABELS = {
    "check": "check",
    "/usr/bin/check --all": "check",
    '"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.py --x': "guard.py",
    "python3 -u /a/b/c-d.e.py": "c-d.e.py",
    "cd /x && ./run.sh | tee log.txt": "run.sh",
    "jq -r .tool_input.file_path": "jq",
    "é": "command",
    "TOKEN=s3cret check": "check",
    "A=1 TOKEN='s3cret word' /bin/check": "check",
    'TOKEN="s3cret \\" word" check': "check",
    "TOKEN=s3cret\\ word check": "check",
    "TOKEN=s3cret; check": "check",
    "TOKEN=s3cret": "command",
    "env TOKEN=s3cret check": "env",
    "input=$(cat)\ncheck": "check",
    "x" * 50: "x" * 32,
}


@pytest.mark.parametrize("command", LABELS)
def test_a_name_has_a_word_of_the_command(one, command):
    assert one({**COMMAND, "command": command}).name.partition("#")[0] == f"PreToolUse:{LABELS[command]}"


def test_a_name_has_a_word_of_other_entries_too(one):
    assert one({**COMMAND, "command": "node", "args": ["/a/b.js"]}).name.partition("#")[0] == "PreToolUse:b.js"
    assert one({"type": "prompt", "prompt": "x"}).name.partition("#")[0] == "PreToolUse:prompt"
    for url in ("https://me:pw@x.org:1/a", "https://x.org:1?key=s3cret", "https://me@x.org:1#s3cret"):
        assert one({"type": "http", "url": url}).name.partition("#")[0] == "PreToolUse:x.org-1"


# Entries that call us

OURS = [
    "boathook run --host claude",
    "boathook run PreToolUse",
    "/usr/local/bin/boathook run --host claude --event PreToolUse",
    '"/home/me/my tools/boathook" run --host claude',
    "'/opt/boathook' run --host claude",
    "$HOME/.local/bin/boathook run",
    "exec boathook run --host claude",
    "cd /x && boathook run --host claude || true",
    "uvx boathook run --host claude",
    "python -m boathook run --host claude",
    "/usr/bin/python3 -I -m boathook run",
    "/usr/bin/python3 -I -S /lib/site-packages/boathook/entry/hook_entry.py --host claude --event Stop",
    "'/my env/bin/python' -I -S '/my env/lib/boathook/entry/hook_entry.py' --host claude --without settings",
    "python boathook/entry/hook_entry.py --event Stop",
    "C:/x/boathook.exe run",
    "uvx -q --from git+https://x.org/y boathook run",
    "uvx 'boathook[http]@1.2' run",
    "uv run boathook run --host claude",
    "uv --project /x run --with y boathook run",
    "uv run -m boathook run",
    "uv tool run boathook run",
    "pipx run boathook run",
    "pipx run --spec boathook==1.0 boathook run",
    "poetry run boathook run",
    "timeout 5 boathook run",
    "timeout -k 1 --preserve-status 5s boathook run",
    "env -u A B=1 boathook run",
    "A='b c' nohup nice -n 5 boathook run &",
    "sudo -u me boathook run",
    "sh -c 'boathook run --host claude'",
    'bash -lc "cd /x && exec boathook run"',
    "sh -c 'sh -c \"boathook run\"'",
    "eval 'boathook run'",
    "python -Im boathook run",
    "python -mboathook run",
    "python -X dev -W error -m boathook run",
    "/x/lib/boathook/entry/hook_entry.py --host claude",
    "cat | boathook run",
    "if boathook run; then true; fi",
    "{ boathook run; }",
    "(boathook run)",
    'echo "$(boathook run)"',
    'x="`boathook run`"; y=`true`',
    "x=`boathook run`",
    "boathook \\\n  run",
    "2>/dev/null boathook run > log",
    "# don't ask\nboathook run",
    "echo it's\nboathook run",
    "echo it's; boathook run",
    "boathook run\r\n",
    "uvx boathook[http] run",
    "$'boathook' run",
    '"$(brew --prefix)/bin/boathook" run',
    "sh <<E\nboathook run\nE",
    "cat <<E\nx\nE\nboathook run",
    "echo $((1<<2))\nboathook run\n2",
    "diff <(boathook run) x",
    'echo "${A:-$(boathook run)}"',
    "A+=b boathook run",
]
NOT_OURS = [
    "boathook check",
    "boathook list --json",
    "myboathook run",
    "boathook-extra run",
    "echo boathook-run",
    "boathook run-tests",
    "boathook runner",
    "python -m boathooks run",
    "cat boathook/entry/hook_entry.py",
    "ruff check src/boathook/entry/hook_entry.py src",
    "myboathook/entry/hook_entry.py --host claude",
    "run boathook",
    "grep -q 'boathook run'",
    'echo "boathook run"',
    "echo boathook run",
    "npm test # boathook run",
    "# first; boathook run\nnpm test",
    "npm test > boathook run",
    "sh boathook run",
    "command -v boathook run",
    "timeout 5 grep boathook run",
    "timeout boathook run",
    "uvx boathook check",
    "uv pip install boathook run",
    "uv run pytest -k boathook run",
    "pipx install boathook run",
    "python myboathook/entry/hook_entry.py",
    "python lint.py src/boathook/entry/hook_entry.py",
    "python -m ruff check src/boathook/entry/hook_entry.py",
    "python x.py -m boathook run",
    "python -c 'import x' -m boathook run",
    "python",
    "echo it's; grep boathook run",
    "npm test # first; boathook run",
    "cat <<E\nboathook run\nE",
    "cat <<'E'\n$(boathook run)\nE",
    "diff <(cat x) boathook run",
    "npm test |> boathook run",
]


@pytest.mark.parametrize("command", OURS)
def test_an_entry_that_calls_us_is_never_run_by_us(one, command):
    hook = one({**COMMAND, "command": command})
    alone = not set(command) & set(";&|<>()`$\n") and not command.startswith(("sh ", "bash ", "eval "))
    assert (hook.state, hook.state_reason, hook.diagnostics) == (
        DISABLED,
        IS_INSTALLED_CALL if alone else CALLS_BOATHOOK,
        (),
    )


def test_some_of_them_do_nothing_else_and_some_do(one):
    whys = {one({**COMMAND, "command": command}).state_reason for command in OURS}
    assert whys == {IS_INSTALLED_CALL, CALLS_BOATHOOK}
    assert one({**COMMAND, "command": "touch x; boathook run"}).state_reason == CALLS_BOATHOOK


@pytest.mark.parametrize("command", NOT_OURS)
def test_an_entry_that_only_looks_like_one_of_ours_is_run(one, command):
    assert one({**COMMAND, "command": command}).state == ARMED


def test_an_entry_that_calls_us_by_arguments_is_known_too(one):
    assert one({**COMMAND, "command": "boathook", "args": ["run", "--host", "claude"]}).state == DISABLED
    assert one({**COMMAND, "command": "python", "args": ["-m", "boathook", "run"]}).state == DISABLED
    assert one({**COMMAND, "command": "sh", "args": ["-c", "exec boathook run"]}).state == DISABLED
    assert one({**COMMAND, "command": "boathook", "args": ["check"]}).state == ARMED
    assert one({**COMMAND, "command": "echo", "args": ["boathook run", ";", "boathook", "run"]}).state == ARMED


WINDOWS = {
    Command('& "C:\\x\\boathook.exe" run', shell="powershell"): True,
    Command("C:\\x\\python.exe", ("-I", "C:\\x\\boathook\\entry\\hook_entry.py")): True,
    Command("C:\\x\\boathooks.exe", ("run",)): False,
}


@pytest.mark.parametrize(("handler", "found"), WINDOWS.items(), ids=lambda value: getattr(value, "text", None))
def test_a_call_of_us_is_known_by_paths_of_windows_too(handler, found):
    assert is_own_command(handler) is found


pieces = st.sampled_from(
    [*"ab $'\"\\`|&;()<>#{}\n=", "boathook", " run", "boathook run", "$(", "sh -c '", "uvx ", "timeout ", "python -m "]
)


@given(st.lists(pieces, max_size=12).map("".join) | st.text(max_size=30))
def test_no_text_makes_looking_for_a_call_of_us_fail(text):
    assert isinstance(has_own_command(text), bool)
    assert has_own_command(f"{text.replace(chr(39), '').replace(chr(34), '')}\n\nboathook run") or "\\" in text


def test_a_call_of_us_that_a_rule_leaves_out_is_a_call_of_us(one):
    hook = one({**COMMAND, "command": "boathook run", "if": "Edit"}, matcher="Bash")
    assert (hook.state, hook.state_reason.partition(",")[0]) == (DISABLED, IS_INSTALLED_CALL.partition(",")[0])


# Three files


def load(project, *, user: bool = True, with_project: bool = True):
    return load_settings(str(project.claude_folder) if user else "", str(project.path) if with_project else "")


def a_file(*commands: str, **fields: object) -> dict[str, object]:
    return {"hooks": {"Stop": [{"hooks": [{**COMMAND, "command": command} for command in commands]}]}, **fields}


def states(project) -> list[tuple[str, str, str]]:
    return [(hook.scope, hook.handler.text, hook.state) for hook in load(project).hooks]


def test_the_hooks_of_all_three_files_count(project):
    for scope in ("local", "user", "project"):
        project.write_settings(scope, a_file(f"of {scope}"))
    assert states(project) == [
        ("user", "of user", ARMED),
        ("project", "of project", ARMED),
        ("local", "of local", ARMED),
    ]
    names = [
        project.claude_folder / "settings.json",
        *(project.path / ".claude" / f"settings{x}.json" for x in ("", ".local")),
    ]
    assert load(project).watch == (*map(str, names), f"{project.claude_folder}/", f"{project.path}/.claude/")


def test_missing_files_are_watched_without_a_diagnostic(project):
    found = load(project)
    assert (found.hooks, found.diagnostics, len(found.watch)) == ((), (), 5)


def test_either_side_may_be_left_out(project):
    project.write_settings("user", a_file("mine"))
    project.write_settings("project", a_file("theirs"))
    assert [hook.handler.text for hook in load(project, user=False).hooks] == ["theirs"]
    assert [hook.handler.text for hook in load(project, with_project=False).hooks] == ["mine"]
    assert load(project, user=False, with_project=False).watch == ()


def test_what_is_wrong_in_any_file_is_reported(project):
    files = [str(project.write_settings(scope, "[]")) for scope in ("user", "project", "local")]
    message = "the top level is a list, not an object; no hook of this file runs"
    assert load(project).diagnostics == tuple(Diagnostic(path, None, "", ERROR, message) for path in files)


def test_the_user_s_folder_is_not_a_project_s_as_well(project):
    project.write_settings("user", a_file("mine"))
    found = load_settings(str(project.claude_folder), str(project.home))
    assert [(hook.scope, hook.handler.text) for hook in found.hooks] == [("user", "mine")]
    (project.path / ".claude").symlink_to(project.claude_folder)
    assert states(project) == [("user", "mine", ARMED)]


def test_the_same_entry_in_two_files_runs_once(project):
    first = project.write_settings("user", a_file("same", "mine"))
    project.write_settings("project", a_file("same"))
    project.write_settings("local", a_file("other", "same"))
    why = f"the same entry is in {first} (hooks.Stop[0].hooks[0]); it runs once"
    assert [(hook.scope, hook.handler.text, hook.state, hook.state_reason) for hook in load(project).hooks] == [
        ("user", "same", ARMED, ""),
        ("user", "mine", ARMED, ""),
        ("project", "same", SHADOWED, why),
        ("local", "other", ARMED, ""),
        ("local", "same", SHADOWED, why),
    ]


def test_the_same_entry_twice_in_a_file_runs_once(project):
    project.write_settings("user", a_file("same", "same"))
    assert states(project) == [("user", "same", ARMED), ("user", "same", SHADOWED)]


DIFFERENT = {
    "its matcher": [{"matcher": "Bash", "hooks": [COMMAND]}, {"matcher": "Edit", "hooks": [COMMAND]}],
    "its timeout": [{"hooks": [COMMAND, {**COMMAND, "timeout": 5}]}],
    "its group's matcher, though it has one itself": [
        {"matcher": "Bash", "hooks": [{**COMMAND, "matcher": "x"}]},
        {"matcher": "Edit", "hooks": [{**COMMAND, "matcher": "x"}]},
    ],
}


@pytest.mark.parametrize("title", DIFFERENT)
def test_an_entry_is_another_one_by(project, title):
    project.write_settings("user", {"hooks": {"PreToolUse": DIFFERENT[title]}})
    assert [state for _, _, state in states(project)] == [ARMED, ARMED]


def test_invalid_entries_do_not_replace_each_other(project):
    project.write_settings("user", {"hooks": {"Stop": [{"hooks": [{"type": "command"}, {"type": "command"}]}]}})
    assert [state for _, _, state in states(project)] == [INVALID, INVALID]


# disableAllHooks


def test_the_user_can_disable_all(project):
    path = project.write_settings("user", a_file("mine", disableAllHooks=True))
    project.write_settings("project", a_file("theirs", disableAllHooks=False))
    project.write_settings("local", a_file("here"))
    why = f"disabled by {path} (disableAllHooks)"
    assert [(hook.state, hook.state_reason) for hook in load(project).hooks] == [(DISABLED, why)] * 3
    assert load(project).diagnostics == ()


@pytest.mark.parametrize(
    ("scope", "name", "reached"),
    [("project", "settings.json", ["project"]), ("local", "settings.local.json", ["project", "local"])],
)
def test_a_file_of_a_project_can_disable_its_own_and_what_is_shared_alone(project, scope, name, reached):
    for one in ("user", "project", "local"):
        project.write_settings(one, a_file(one, disableAllHooks=one == scope))
    path = str(project.path / ".claude" / name)
    off = (DISABLED, f"disabled by {path} (disableAllHooks)")
    assert [(hook.scope, (hook.state, hook.state_reason)) for hook in load(project).hooks] == [
        (one, off if one in reached else (ARMED, "")) for one in ("user", "project", "local")
    ]
    message = "disableAllHooks disables only hooks of the project here; your own hooks still run"
    assert load(project).diagnostics == (Diagnostic(path, None, "disableAllHooks", WARNING, message),)


# hooks.toml


def loaded(project, start=None):
    start = str(start or project.path)
    return load_hooks(resolve_locations(SOURCES, start, read_environment(), trust_all=True))


def tuned(project) -> dict[str, tuple[str, float, str]]:
    return {hook.scope: (hook.state, hook.timeout, hook.on_failure) for hook in loaded(project).catalog.hooks}


def test_a_projects_hooks_toml_is_for_the_projects_hooks_and_not_for_local_ones(project):
    project.hooks_folder("project").mkdir(parents=True)
    for scope in ("user", "project", "local"):
        project.write_settings(scope, a_file(scope))
    names = {hook.scope: hook.name for hook in loaded(project).catalog.hooks}
    assert set(tuned(project).values()) == {(ARMED, 60.0, "allow")}
    project.write_hooks_toml("project", "[hooks]\nenabled = false\n")
    assert tuned(project) == {
        "user": (ARMED, 60.0, "allow"),
        "project": (DISABLED, 60.0, "allow"),
        "local": (ARMED, 60.0, "allow"),
    }
    project.write_hooks_toml("project", "".join(f'[[hooks.disable]]\nname = "{name}"\n' for name in names.values()))
    assert [state for state, _, _ in tuned(project).values()] == [ARMED, DISABLED, ARMED]
    project.write_hooks_toml(
        "project", "".join(f'[[hooks.override]]\nname = "{name}"\ntimeout = 100\n' for name in names.values())
    )
    assert [seconds for _, seconds, _ in tuned(project).values()] == [60.0, 0.1, 60.0]


def test_a_projects_hooks_toml_may_make_any_hook_stricter(project):
    project.hooks_folder("project").mkdir(parents=True)
    for scope in ("user", "project", "local"):
        project.write_settings(scope, a_file(scope))
    names = [hook.name for hook in loaded(project).catalog.hooks]
    project.write_hooks_toml(
        "project", "".join(f'[[hooks.override]]\nname = "{name}"\non_failure = "block"\n' for name in names)
    )
    assert {how for _, _, how in tuned(project).values()} == {"block"}


def test_a_users_hooks_toml_is_for_local_hooks_too(project):
    project.write_settings("local", a_file("mine"))
    (hook,) = loaded(project).catalog.hooks
    project.write_hooks_toml("user", f'[[hooks.disable]]\nname = "{hook.name}"\n')
    assert [state for state, _, _ in tuned(project).values()] == [DISABLED]


@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_priority_for_a_settings_hook_has_no_effect_and_that_is_reported(project, scope):
    project.hooks_folder("project").mkdir(parents=True)
    project.write_settings("project", a_file("x"))
    (hook,) = loaded(project).catalog.hooks
    path = project.write_hooks_toml(scope, f'[[hooks.override]]\nname = "{hook.name}"\npriority = 5\n')
    message = f"priority has no effect on '{hook.name}': settings hooks run together"
    assert loaded(project).catalog.diagnostics == (Diagnostic(str(path), None, "hooks.override", WARNING, message),)


# Which folder's settings count

SILENT = ["", " \n", "{}", '{"permissions": {"allow": ["Bash(ls)"]}}', "\ufeff{}"]
MENTIONING = [
    '{"hooks": {}}',
    '{"disableAllHooks": false}',
    '{"enabledPlugins": null}',
    "{",
    "[]",
    "null",
    "\0",
    "[" * 100_000,
]


def a_package(project, text: str, name: str = "settings.local.json"):
    """Put settings into a folder below the project; return that folder."""
    folder = project.path / "pkg"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".claude" / name).write_text(text)
    return folder


def above(folder: str) -> str:
    return resolve_locations(SOURCES, folder, read_environment()).find("settings.json").project


@pytest.mark.parametrize("text", SILENT, ids=ascii)
@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_settings_that_do_not_mention_hooks_do_not_hide_those_above(project, text, name):
    path = project.write_settings("project", a_file("guard"))
    package = a_package(project, text, name)
    looked_at = [f"{package}/.claude/settings.json", f"{package}/.claude/settings.local.json", str(path)]
    looked_at.append(f"{project.path}/.claude/settings.local.json")
    assert find_form_project(SETTINGS_FORM, str(package), above) == (str(project.path), looked_at)
    found = loaded(project, package / "src")
    assert [(hook.path, hook.handler.text, hook.state) for hook in found.catalog.hooks] == [(str(path), "guard", ARMED)]
    assert found.catalog.find_project("settings.json") == str(project.path)
    assert set(looked_at) <= set(found.watch)


@pytest.mark.parametrize("text", MENTIONING, ids=lambda text: ascii(text[:30]))
@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_settings_that_mention_hooks_or_cannot_be_read_are_the_ones_that_count(project, text, name):
    project.write_settings("project", a_file("guard"))
    package = a_package(project, text, name)
    seen = [f"{package}/.claude/{one}" for one in ("settings.json", "settings.local.json")]
    assert find_form_project(SETTINGS_FORM, str(package), above) == (str(package), seen)
    found = loaded(project, package)
    assert (found.catalog.hooks, found.catalog.find_project("settings.json")) == ((), str(package))


def test_settings_that_are_a_link_to_nowhere_count_and_that_is_reported(project):
    project.write_settings("project", a_file("guard"))
    package = a_package(project, "{}")
    path = package / ".claude" / "settings.json"
    path.symlink_to("gone")
    assert find_form_project(SETTINGS_FORM, str(package), above)[0] == str(package)
    message = "settings.json cannot be opened: No such file or directory; no hook of it runs"
    assert loaded(project, package).catalog.diagnostics == (Diagnostic(str(path), None, "", ERROR, message),)


def test_where_no_settings_mention_hooks_the_nearest_count(project):
    project.write_settings("project", {"model": "opus"})
    package = a_package(project, "{}")
    assert find_form_project(SETTINGS_FORM, str(package), above)[0] == str(package)
    assert find_form_project(SETTINGS_FORM, "", above) == ("", [])


def test_the_hooks_toml_beside_the_settings_that_count_is_theirs(project):
    project.hooks_folder("project").mkdir(parents=True)
    project.write_settings("project", a_file("guard"))
    package = a_package(project, "{}")
    (hook,) = loaded(project, package).catalog.hooks
    project.write_hooks_toml("project", f'[[hooks.override]]\nname = "{hook.name}"\ntimeout = 100\n')
    assert [hook.timeout for hook in loaded(project, package).catalog.hooks] == [0.1]


# Who may write what


@pytest.mark.parametrize("scope", ["project", "local"])
def test_a_link_that_leaves_the_project_is_not_read(project, scope):
    path = project.write_settings(scope, a_file("theirs"))
    path.rename(project.base / "outside.json")
    path.symlink_to(project.base / "outside.json")
    message = f"{path.name} is a link that leaves the project; no hook of it runs"
    found = load(project)
    assert (found.hooks, found.diagnostics) == ((), (Diagnostic(str(path), None, "", ERROR, message),))


def test_a_folder_that_is_a_link_out_of_the_project_is_not_read(project):
    project.write_settings("project", a_file("theirs"))
    (project.path / ".claude").rename(project.base / "outside")
    (project.path / ".claude").symlink_to(project.base / "outside")
    assert [problem.message for problem in load(project).diagnostics] == [
        "settings.json is a link that leaves the project; no hook of it runs"
    ]


def test_a_link_within_the_project_is_read(project):
    path = project.write_settings("project", a_file("theirs"))
    path.rename(project.path / "hooks.json")
    path.symlink_to("../hooks.json")
    assert states(project) == [("project", "theirs", ARMED)]


def test_a_link_of_the_user_may_lead_anywhere(project):
    path = project.write_settings("user", a_file("mine"))
    path.rename(project.base / "dotfiles.json")
    path.symlink_to(project.base / "dotfiles.json")
    assert states(project) == [("user", "mine", ARMED)]


def test_a_link_to_nowhere_and_a_path_that_is_not_a_file_are_reported(project):
    path = project.write_settings("user", "{}")
    path.unlink()
    path.symlink_to(project.base / "gone")
    local = project.path / ".claude" / "settings.local.json"
    local.mkdir(parents=True)
    os.mkfifo(project.path / ".claude" / "settings.json")
    assert [(problem.path, problem.message) for problem in load(project).diagnostics] == [
        (str(path), "settings.json cannot be opened: No such file or directory; no hook of it runs"),
        (str(project.path / ".claude" / "settings.json"), "settings.json is not a regular file; no hook of it runs"),
        (str(local), "settings.local.json is not a regular file; no hook of it runs"),
    ]


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_no_hook_runs_from_a_file_that_anybody_may_write_to(project, scope):
    path = project.write_settings(scope, a_file("x", disableAllHooks=True))
    path.chmod(0o666)
    message = "no hook of this file runs: it can be written by anybody (chmod o-w)"
    assert (load(project).hooks, load(project).diagnostics) == ((), (Diagnostic(str(path), None, "", ERROR, message),))


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_no_hook_runs_from_a_folder_that_anybody_may_write_to(project, scope):
    path = project.write_settings(scope, a_file("x", disableAllHooks=True))
    path.parent.chmod(0o777)
    message = "no hook of this file runs: it is in a folder that can be written by anybody (chmod o-w)"
    assert (load(project).hooks, load(project).diagnostics) == ((), (Diagnostic(str(path), None, "", ERROR, message),))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("place", ["file", "folder"])
def test_no_hook_runs_from_what_belongs_to_another_user(project, place):
    path = project.write_settings("project", a_file("x"))
    os.chown(path if place == "file" else path.parent, 12345, -1)
    reported = "belongs to another user (uid 12345)"
    reported = reported if place == "file" else f"is in a folder that {reported}"
    problem = Diagnostic(str(path), None, "", ERROR, f"no hook of this file runs: it {reported}")
    assert (load(project).hooks, load(project).diagnostics) == ((), (problem,))


# Plugins


def install(project, name: str, content: object, *, rows: object = ..., version: int = 2) -> str:
    """Put a plugin where it is installed, and into the register in the given form; return its folder."""
    root = project.claude_folder / "plugins" / "cache" / name
    (root / "hooks").mkdir(parents=True)
    (root / "hooks" / "hooks.json").write_text(content if isinstance(content, str) else json.dumps(content))
    row = {"installPath": f"{root}/", "version": "1.0"}
    known = [{"scope": "user", **row}] if version == 2 else row
    register(project, {"version": version, "plugins": {name: known if rows is ... else rows}})
    return str(root)


def register(project, content: object) -> str:
    path = project.claude_folder / "plugins" / "installed_plugins.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


@pytest.mark.parametrize("version", [1, 2])
def test_the_hooks_of_a_plugin_that_is_enabled_and_installed_count(project, version):
    root = install(
        project, "fmt@market", {"description": "Formats", **a_file("${CLAUDE_PLUGIN_ROOT}/a.sh")}, version=version
    )
    project.write_settings("user", a_file("mine", enabledPlugins={"fmt@market": True}))
    mine, theirs = load(project).hooks
    assert (mine.source, theirs.source, theirs.scope, theirs.path) == (
        SETTINGS,
        PLUGIN,
        "user",
        f"{root}/hooks/hooks.json",
    )
    assert (theirs.handler, theirs.state) == (Command("${CLAUDE_PLUGIN_ROOT}/a.sh", root=root), ARMED)
    assert load(project).watch[3:] == (
        register_path(project),
        f"{root}/hooks/hooks.json",
        f"{project.claude_folder}/",
        f"{project.path}/.claude/",
        f"{project.claude_folder}/plugins/",
        f"{root}/hooks/",
    )


def register_path(project) -> str:
    return str(project.claude_folder / "plugins" / "installed_plugins.json")


@pytest.mark.parametrize("enabled", [{}, {"fmt": False}, {"fmt": "true"}, {"fmt": 1}, ["fmt"], None])
def test_a_plugin_that_is_not_enabled_does_not_count(project, enabled):
    install(project, "fmt", a_file("x"))
    project.write_settings("user", {"enabledPlugins": enabled})
    assert (load(project).hooks, load(project).diagnostics) == ((), ())


def test_a_plugin_that_is_enabled_and_not_installed_is_reported(project):
    install(project, "fmt", a_file("x"))
    project.write_settings("user", {"enabledPlugins": {"fmt": True, "other": True}})
    message = "the plugin 'other' is enabled but not installed here: its hooks do not run"
    assert states(project) == [("user", "x", ARMED)]
    assert load(project).diagnostics == (Diagnostic(register_path(project), None, "other", WARNING, message),)


def test_a_file_names_the_plugins_it_enables_and_disables(read):
    found = read({"enabledPlugins": {"a": True, "b": False, "c": 1, "d": None}})
    assert found == SettingsFile("file", "user", plugins=(("a", True), ("b", False)))


PLUGIN_FLAGS = {
    "only the user takes away the user's": ((True, False, None), ["user"]),
    "the local file does not take away the user's either": ((True, None, False), ["user"]),
    "nor what all but it enable": ((True, True, False), ["user"]),
    "the local file takes away the project's": ((None, True, False), []),
    "the local file brings back what the project left out": ((None, False, True), ["project"]),
    "the project adds": ((False, True, None), ["project"]),
    "the user's stays the user's": ((True, True, True), ["user"]),
    "all are false": ((False, False, False), []),
}


@pytest.mark.parametrize(("flags", "found"), PLUGIN_FLAGS.values(), ids=PLUGIN_FLAGS)
def test_which_scope_decides_about_a_plugin(project, flags, found):
    install(project, "fmt", a_file("x"))
    for scope, flag in zip(("user", "project", "local"), flags, strict=True):
        project.write_settings(scope, {"enabledPlugins": {} if flag is None else {"fmt": flag}})
    assert [(scope, state) for scope, _, state in states(project)] == [(scope, ARMED) for scope in found]


@pytest.mark.parametrize(("scope", "found"), [("user", "user"), ("project", "project"), ("local", "project")])
def test_a_plugin_is_of_the_level_that_enables_it(project, scope, found):
    install(project, "fmt", a_file("x"))
    project.write_settings(scope, {"enabledPlugins": {"fmt": True}})
    assert states(project) == [(found, "x", ARMED)]


def test_a_plugin_that_several_levels_enable_is_the_user_s_and_counts_once(project):
    install(project, "fmt", a_file("x"))
    for scope in ("user", "project", "local"):
        project.write_settings(scope, {"enabledPlugins": {"fmt": True}})
    assert states(project) == [("user", "x", ARMED)]


def test_the_same_entry_of_a_plugin_is_another_one(project):
    install(project, "fmt", a_file("x"))
    project.write_settings("user", a_file("x", enabledPlugins={"fmt": True}))
    assert states(project) == [("user", "x", ARMED), ("user", "x", ARMED)]


def test_disable_all_hooks_is_for_plugins_too(project):
    install(project, "fmt", a_file("x"))
    path = project.write_settings("user", {"enabledPlugins": {"fmt": True}, "disableAllHooks": True})
    (hook,) = load(project).hooks
    assert (hook.state, hook.state_reason) == (DISABLED, f"disabled by {path} (disableAllHooks)")


def test_a_project_that_disables_its_hooks_disables_the_plugins_that_it_enables(project):
    install(project, "fmt", a_file("x"))
    project.write_settings("project", {"enabledPlugins": {"fmt": True}, "disableAllHooks": True})
    assert states(project) == [("project", "x", DISABLED)]
    project.write_settings("user", {"enabledPlugins": {"fmt": True}})
    assert states(project) == [("user", "x", ARMED)]


def test_what_is_wrong_in_a_plugin_is_reported(project):
    root = install(project, "fmt", '{"hooks": 5}')
    project.write_settings("user", {"enabledPlugins": {"fmt": True}})
    message = "'hooks' must be an object of events, not 5; it is ignored"
    assert load(project).diagnostics == (Diagnostic(f"{root}/hooks/hooks.json", None, "hooks", ERROR, message),)


def test_a_plugin_without_hooks_is_fine(project):
    root = install(project, "fmt", "{}")
    os.unlink(f"{root}/hooks/hooks.json")
    project.write_settings("user", {"enabledPlugins": {"fmt": True}})
    assert (load(project).hooks, load(project).diagnostics) == ((), ())


REGISTERS = ["", "[]", "5", "broken", '{"plugins": []}', '{"plugins": {}}', '{"plugins": {"fmt": []}}', "[" * 100_000]
ROWS = ["null", "5", "[5]", "{}", '{"installPath": 5}', '{"installPath": "rel/path"}', '{"installPath": "/"}']
ROWS += ['{"installPath": "/gone"}', '{"installPath": "/a\\u0000"}', '{"installPath": "/a\\ud800"}']
REGISTERS += ['{"plugins": {"fmt": ' + row + "}}" for row in ROWS]


@pytest.mark.parametrize("content", REGISTERS, ids=lambda text: text[:40])
def test_an_unusable_register_enables_no_plugin(project, content):
    register(project, content)
    project.write_settings("user", a_file("mine", enabledPlugins={"fmt": True}))
    assert states(project) == [("user", "mine", ARMED)]


def test_without_a_register_there_is_no_plugin_but_it_is_watched_and_reported(project):
    project.write_settings("project", {"enabledPlugins": {"fmt": True}})
    message = "the plugin 'fmt' is enabled but not installed here: its hooks do not run"
    found = load(project)
    assert (found.hooks, found.watch[3]) == ((), register_path(project))
    assert found.diagnostics == (Diagnostic(register_path(project), None, "fmt", WARNING, message),)


def test_of_several_rows_of_a_plugin_the_first_with_a_folder_counts(project):
    root = install(project, "fmt", a_file("x"))
    register(
        project, {"plugins": {"fmt": [{}, {"installPath": "rel"}, {"installPath": root}, {"installPath": "/gone"}]}}
    )
    project.write_settings("user", {"enabledPlugins": {"fmt": True}})
    assert [hook.handler.root for hook in load(project).hooks] == [root]


OF_PROJECTS = {
    "of this project": (["{project}"], True),
    "of this project, by another way": (["{root}/link"], True),
    "of another project": (["{root}"], False),
    "of none that is there": (["/gone"], False),
    "of no path": (["/a\0", "/a\ud800", 5, "", []], False),
    "of another and of this one": (["{root}", "{project}"], True),
}


@pytest.mark.parametrize(("paths", "found"), OF_PROJECTS.values(), ids=OF_PROJECTS)
def test_a_plugin_that_is_installed_for_a_project_counts_there_alone(project, paths, found):
    (project.base / "link").symlink_to(project.path)
    root = install(project, "fmt", a_file("x"))
    placed = [p.format(project=project.path, root=project.base) if isinstance(p, str) else p for p in paths]
    rows = [{"installPath": root, "projectPath": path, "scope": "project"} for path in placed]
    register(project, {"plugins": {"fmt": rows}})
    project.write_settings("user", {"enabledPlugins": {"fmt": True}})
    assert states(project) == ([("user", "x", ARMED)] if found else [])
    assert load(project, with_project=False).hooks == ()


def test_of_the_rows_of_a_plugin_that_of_the_project_counts_first(project):
    root = install(project, "fmt", a_file("x"))
    own = {"installPath": root, "projectPath": str(project.path)}
    register(project, {"plugins": {"fmt": [{"installPath": "/anybodys"}, own]}})
    project.write_settings("user", {"enabledPlugins": {"fmt": True}})
    assert [hook.handler.root for hook in load(project).hooks] == [root]


# Any contents of a file

keys = st.sampled_from(
    ["type", "command", "args", "shell", "async", "prompt", "url", "headers", "timeout", "if", "matcher"]
)
scalars = st.sampled_from(
    ["command", "http", "prompt", "Bash", "Bash(", "Edit(*)", "https://[", "", "x", 0, 5, 1e400, None]
)
values = st.recursive(
    scalars | json_values,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=8,
)
entries = st.dictionaries(keys, values, max_size=6) | values
groups = st.fixed_dictionaries({"hooks": st.lists(entries, max_size=3) | values}, optional={"matcher": values}) | values
events = st.sampled_from([*CLAUDE_EVENTS_BY_NAME, *UNMAPPED_CLAUDE_EVENTS[:2], "Oops"])
files = st.fixed_dictionaries(
    {"hooks": st.dictionaries(events, st.lists(groups, max_size=3) | values, max_size=3) | values},
    optional={"disableAllHooks": values, "enabledPlugins": values},
)


@given(files | values)
def test_no_json_value_makes_reading_fail(read, content):
    file = read(content)
    assert all(hook.place and hook.kind is not None for hook in file.hooks)
    assert all(str(problem) for problem in (*file.diagnostics, *(p for hook in file.hooks for p in hook.diagnostics)))


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_make_reading_fail(read, data):
    assert read(data).hooks == ()


@given(entries, groups)
def test_an_entry_never_changes_what_its_neighbours_load_as(read, entry, group):
    good = {"matcher": "Bash", "hooks": [COMMAND]}

    def hooks(groups: list[object]) -> list[Hook]:
        file = read({"hooks": {"PreToolUse": groups, "Stop": [{"hooks": [COMMAND]}]}})
        return [hook.replace(place="") for hook in file.hooks]

    first, last = hooks([good])
    found = hooks([{"matcher": "Bash", "hooks": [entry, COMMAND, entry]}, group, good])
    assert found.count(first) >= 2
    assert found[-2:] == [first, last]
