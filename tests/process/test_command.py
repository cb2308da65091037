"""How hooks of settings.json are started: a line for the shell, a program, an address, a question (S24, S25)."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import boathook
from boathook.core.hook import Command, Http, Prompt, Script
from boathook.core.verdict import REFUSED, Call
from boathook.dialects.claude import write_event
from boathook.process.child import Job
from boathook.process.command import NO_MODEL, compute_ask_seconds, fill_header, start_command
from boathook.process.hook_runner import HookRunner, JobContext, SourceProject
from boathook.process.runner import ProcessRunner
from boathook.process.supervisor import HOOK_ENTRY
from boathook.system.programs import find_program
from tests.core.builders import a_call, a_settings_hook

DATA = b'{"session_id": "s", "tool_input": {"command": "ls"}}\n'
ASKER = (sys.executable, "-I", "-S", HOOK_ENTRY, "--ask")
SHELL = find_program("bash") or "/bin/sh"


def a_job(argv=("",), stdin=DATA, cwd="/project", refused="", warnings=()) -> Job:
    return Job(argv, stdin, cwd, {}, 0.0, refused, warnings)


def begun(handler, env=None, model="", data=DATA, **fields) -> Job:
    hook = a_settings_hook(handler=handler, **fields)
    job = Job(("",), data, "/elsewhere", {}, hook.timeout)
    return start_command(hook, job, {} if env is None else env, "/project", model).replace(timeout=0.0)


def question(handler, env=None, model="", data=DATA, **fields):
    """Return what the remote hook reads from its input."""
    found = begun(handler, env, model, data, **fields)
    assert (found.argv, found.cwd, found.refused) == (ASKER, "/project", "")
    return json.loads(found.stdin)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A folder that is the whole PATH of this process; calling it adds a program."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def add(name: str) -> str:
        path = tmp_path / name
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return str(path)

    return add


# Commands


@pytest.mark.parametrize("shell", ["", "bash"])
def test_a_line_is_for_the_shell_which_reads_it_unchanged(shell):
    line = 'x="$CLAUDE_PROJECT_DIR"; ${CLAUDE_PROJECT_DIR}/a.sh | cat'
    assert begun(Command(line, shell=shell)) == a_job((SHELL, "-c", line))


def test_a_line_is_for_bash_or_else_for_sh(programs):
    assert begun(Command("x")) == a_job(("/bin/sh", "-c", "x"))
    bash = programs("bash")
    assert begun(Command("x")) == a_job((bash, "-c", "x"))


WORDS = {
    "no arguments": (("/bin/x",), ("/bin/x",)),
    "arguments as they are": (("/bin/x", "a b", "", "$HOME", "*"), ("/bin/x", "a b", "", "$HOME", "*")),
    "the project": (("${CLAUDE_PROJECT_DIR}/x", "-p${CLAUDE_PROJECT_DIR}"), ("/project/x", "-p/project")),
    "the plugin": (("${CLAUDE_PLUGIN_ROOT}/x", "${CLAUDE_PLUGIN_ROOT}"), ("/plugin/x", "/plugin")),
    "both, twice": (
        ("/bin/x", "${CLAUDE_PLUGIN_ROOT}:${CLAUDE_PROJECT_DIR}:${CLAUDE_PLUGIN_ROOT}"),
        ("/bin/x", "/plugin:/project:/plugin"),
    ),
    "no braces": (("/bin/x", "$CLAUDE_PROJECT_DIR"), ("/bin/x", "$CLAUDE_PROJECT_DIR")),
    "another variable": (("/bin/x", "${HOME}"), ("/bin/x", "${HOME}")),
}


@pytest.mark.parametrize(("words", "argv"), WORDS.values(), ids=WORDS)
def test_a_program_gets_its_arguments_with_the_folders_put_in(words, argv):
    program, *rest = words
    assert begun(Command(program, tuple(rest), root="/plugin")) == a_job(argv)


def test_a_program_is_looked_for_on_the_path_that_the_hook_will_have(programs, tmp_path):
    found = programs("prog")
    assert begun(Command("prog", ("a",)), {b"PATH": os.fsencode(tmp_path)}).argv == (found, "a")
    assert begun(Command("prog", ("a",)), {b"PATH": b"/nowhere"}).argv == ("prog", "a")


def test_a_placeholder_of_a_plugin_is_nothing_outside_of_one():
    assert begun(Command("/bin/x", ("${CLAUDE_PLUGIN_ROOT}/y",))).argv == ("/bin/x", "/y")


def test_powershell_is_run_under_either_of_its_names(programs):
    argv = ("-NoProfile", "-NonInteractive", "-Command", "Get-Date")
    handler = Command("Get-Date", shell="powershell")
    older = programs("powershell")
    assert begun(handler) == a_job((older, *argv))
    newer = programs("pwsh")
    assert begun(handler) == a_job((newer, *argv))


@pytest.mark.usefixtures("programs")
def test_a_hook_for_powershell_is_refused_where_there_is_none():
    refused = "its shell is powershell, which is not found on the PATH"
    assert begun(Command("Get-Date", shell="powershell")) == a_job(refused=refused)


SURROUNDED = {
    "nothing": (Command("x"), {}, {b"CLAUDE_CODE_REMOTE": b""}),
    "remote": (Command("x"), {b"CLAUDE_CODE_REMOTE": b"true"}, {b"CLAUDE_CODE_REMOTE": b"true"}),
    "a plugin": (Command("x", root="/plug in"), {}, {b"CLAUDE_CODE_REMOTE": b"", b"CLAUDE_PLUGIN_ROOT": b"/plug in"}),
    "a plugin within another": (
        Command("x", (), root="/mine"),
        {b"CLAUDE_PLUGIN_ROOT": b"/theirs"},
        {b"CLAUDE_CODE_REMOTE": b"", b"CLAUDE_PLUGIN_ROOT": b"/mine"},
    ),
    "a server": (Http("https://h/"), {b"A": b"1"}, {b"CLAUDE_CODE_REMOTE": b"", b"A": b"1"}),
}


@pytest.mark.parametrize(("handler", "env", "expected"), SURROUNDED.values(), ids=SURROUNDED)
def test_a_hook_finds_the_variables_it_may_count_on(handler, env, expected):
    found = dict(env)
    begun(handler, found)
    assert found == expected


# Addresses


def test_a_post_is_put_by_the_asker_with_the_event_and_no_environment():
    handler = Http("https://h/x?y", (("X-One", "1"), ("Authorization", "Bearer $TOKEN")), ("TOKEN",))
    env = {b"TOKEN": b"t", b"OTHER": b"o"}
    assert question(handler, env, timeout=60.0) == {
        "type": "http",
        "url": "https://h/x?y",
        "headers": {"X-One": "1", "Authorization": "Bearer t"},
        "timeout": 59.0,
        "event": json.loads(DATA),
    }


ENV = {b"TOKEN": b"secret", b"OTHER": b"o", b"DOLLAR": b"$OTHER${OTHER}", b"BYTES": b"a\xff", b"EMPTY": b""}
ALLOWED = ("TOKEN", "DOLLAR", "UNSET", "BYTES", "EMPTY")
HEADERS = {
    "plain": ("application/json", "application/json"),
    "empty": ("", ""),
    "allowed": ("Bearer $TOKEN", "Bearer secret"),
    "allowed, in braces": ("Bearer ${TOKEN}!", "Bearer secret!"),
    "in braces, with letters behind": ("${TOKEN}s", "secrets"),
    "no braces, with letters behind": ("$TOKENs", ""),
    "no braces, with a dash behind": ("$TOKEN-x", "secret-x"),
    "twice": ("$TOKEN$TOKEN${TOKEN}", "secretsecretsecret"),
    "not allowed": ("a $OTHER b", "a  b"),
    "not allowed, in braces": ("a ${OTHER} b", "a  b"),
    "allowed but unset": ("x${UNSET}y$UNSET", "xy"),
    "allowed and empty": ("x${EMPTY}y", "xy"),
    "a value with a dollar is not read again": ("$DOLLAR", "$OTHER${OTHER}"),
    "a value that is not text": ("$BYTES", "a\ufffd"),
    "a bare dollar": ("5 $ and $", "5 $ and $"),
    "two dollars": ("$$TOKEN", "$secret"),
    "a dollar before another letter": ("$-$é", "$-$é"),
    "an open brace": ("${TOKEN", "${TOKEN"),
    "empty braces": ("a${}b", "a${}b"),
    "a default is not a name": ("${TOKEN:-x}", ""),
    "a price": ("$5 and $5x ${5}", "$5 and $5x "),
    "lower case": ("$token", ""),
}


@pytest.mark.parametrize(("value", "expected"), HEADERS.values(), ids=HEADERS)
def test_allowed_variables_are_put_into_headers_and_no_others(value, expected):
    assert fill_header(value, ALLOWED, ENV) == expected


pieces = st.lists(st.sampled_from(["$", "${", "{", "}", "TOKEN", "OTHER", "_", "x", " ", "é"]), max_size=8).map("".join)


@given(pieces, st.lists(st.sampled_from(["TOKEN", "x", "", "TOKENx"])).map(tuple))
@example("${OTHER", ("TOKEN",))
def test_a_variable_that_is_not_allowed_is_never_put_into_a_header(value, allowed):
    filled = fill_header(value, allowed, {b"TOKEN": b"1st-secret", b"OTHER": b"2nd-secret"})
    assert "2nd-secret" not in filled
    assert "TOKEN" in allowed or "1st-secret" not in filled


@given(st.text(alphabet=st.characters(exclude_characters="$")))
def test_a_header_without_a_dollar_stays_as_it_is(value):
    assert fill_header(value, ALLOWED, ENV) == value


# Questions

TEXT = DATA.decode().rstrip("\n")
PROMPTS = {
    "in its place": ("Is $ARGUMENTS fine?", f"Is {TEXT} fine?"),
    "in every place": ("$ARGUMENTS or $ARGUMENTS", f"{TEXT} or {TEXT}"),
    "at the end, if there is no place": ("Is this fine?", f"Is this fine?\n\n{TEXT}"),
    "another variable is not a place": ("$HOME ${ARGUMENTS}", f"$HOME ${{ARGUMENTS}}\n\n{TEXT}"),
}


@pytest.mark.parametrize(("prompt", "expected"), PROMPTS.values(), ids=PROMPTS)
def test_a_model_is_asked_the_prompt_with_the_event_in_it(prompt, expected):
    asked = {"type": "prompt", "model": "openai:gpt-5-mini", "prompt": expected, "timeout": 29.0}
    assert question(Prompt(prompt), model="openai:gpt-5-mini", timeout=30.0) == asked


def test_an_event_that_holds_the_place_itself_is_put_in_once():
    data = b'{"prompt": "$ARGUMENTS \xc3\xa9"}\n'
    assert question(Prompt("<$ARGUMENTS>"), model="a:b", data=data)["prompt"] == '<{"prompt": "$ARGUMENTS é"}>'


MODELS = {
    "none": ("", "", ("", "")),
    "the configured one": ("", "openai:gpt-5-mini", ("openai:gpt-5-mini", "")),
    "with its provider": ("openai:o3", "anthropic:x", ("openai:o3", "")),
    "with its provider, none configured": ("openai:o3", "", ("openai:o3", "")),
    "one of Anthropic": ("claude-haiku-4-5", "openai:o3", ("anthropic:claude-haiku-4-5", "")),
    "one of Anthropic, none configured": ("claude-haiku-4-5", "", ("anthropic:claude-haiku-4-5", "")),
    "a name without provider": ("haiku", "a:b", ("a:b", "the model 'haiku' names no provider; a:b was asked")),
    "a name without provider, none configured": ("haiku", "", ("", "")),
}


@pytest.mark.parametrize(("wanted", "configured", "expected"), MODELS.values(), ids=MODELS)
def test_the_model_is_the_hooks_own_if_its_provider_is_known_else_the_configured_one(wanted, configured, expected):
    assert Prompt("x", wanted).choose_model(configured) == expected


def test_a_model_that_was_asked_in_place_of_another_is_reported():
    note = "the model 'haiku' names no provider; a:b was asked"
    assert begun(Prompt("x", "haiku"), model="a:b").warnings == (note,)


@pytest.mark.parametrize("wanted", ["", "haiku"])
def test_a_question_without_a_model_is_refused_and_shows_how_to_name_one(wanted):
    assert begun(Prompt("x", wanted)) == a_job(refused=NO_MODEL)
    assert "hooks.toml" in NO_MODEL


@pytest.mark.parametrize(("timeout", "seconds"), [(600.0, 599.0), (60.0, 59.0), (4.0, 3.0), (2.0, 1.5), (0.5, 0.375)])
def test_the_asking_ends_before_its_process_is_ended(timeout, seconds):
    assert compute_ask_seconds(timeout) == seconds


# What cannot be started

LONE = "\ud800"
DEEP = b'{"x": ' + b"[" * 300 + b"]" * 300 + b"}\n"
BROKEN = {
    "a program that no system can name": (Command(LONE, ()), DATA, "surrogates not allowed"),
    "a path that no system can name": (Command(f"/bin/{LONE}", ("a",)), DATA, "surrogates not allowed"),
    "a variable that no system can name": (
        Http("https://h/", (("A", f"${{{LONE}}}"),), (LONE,)),
        DATA,
        "surrogates not allowed",
    ),
    "an event too deep to be posted": (Http("https://h/"), DEEP, "nested too deep (more than 200 levels)"),
    "an event with a key that is there twice": (Http("https://h/"), b'{"a": 1, "a": 2}\n', "repeated key 'a'"),
}


@pytest.mark.parametrize(("handler", "data", "why"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_started_is_refused_with_the_reason(handler, data, why):
    found = begun(handler, data=data)
    assert found == a_job(stdin=data, refused=found.refused)
    assert found.refused.startswith("it cannot be started: ")
    assert found.refused.endswith(why)


def test_a_script_is_not_for_this_way_of_starting():
    with pytest.raises(TypeError, match="no way to start Script"):
        begun(Script("/h"))


def test_a_hook_that_cannot_be_started_does_not_keep_its_neighbours_from_running(tmp_path):
    runner = HookRunner(ProcessRunner(), JobContext((SourceProject("HOOK.md", "native", str(tmp_path)),)))
    handlers = (Command(LONE, ()), Command("cat >&2; exit 2"), Command(f"echo {LONE}"), Command("/bin/sh", ("\0",)))
    event = a_call().replace(work_dir=str(tmp_path))
    calls = tuple(Call(a_settings_hook(f"h{at}", handler), event) for at, handler in enumerate(handlers))
    broken, guard, *others = runner.run(calls)
    assert (broken.error, guard.code, guard.stderr) == (REFUSED, 2, write_event(event))
    assert all(end.code != 0 for end in others)


def test_a_job_runs_in_the_project_of_its_settings_and_knows_it(tmp_path):
    (tmp_path / "claude").mkdir()
    around = JobContext(
        (
            SourceProject("HOOK.md", "native", str(tmp_path)),
            SourceProject("settings.json", "claude", str(tmp_path / "claude")),
        )
    )
    hook = a_settings_hook("PreToolUse:x#1", Command("x"), timeout=7.0)
    event = a_call().replace(work_dir=str(tmp_path / "gone"))
    job = HookRunner(ProcessRunner(), around, environ={b"PATH": b"/bin", b"BOATHOOK_DEPTH": b"0"}).make_job(
        Call(hook, event)
    )
    project = os.fsencode(tmp_path / "claude")
    own = {
        b"HOOK_NAME": b"PreToolUse:x#1",
        b"HOOK_EVENT": b"PreToolUse",
        b"HOOK_DIR": b"",
        b"SESSION_ID": b"s",
        b"WORK_DIR": os.fsencode(tmp_path / "gone"),
        b"PROJECT_DIR": project,
    }
    named = {b"%s_%s" % (prefix, key): value for prefix in (b"AGENT", b"KIMI") for key, value in own.items()}
    assert job.env == {
        **named,
        b"CLAUDE_PROJECT_DIR": project,
        b"MONOCO_PROJECT_ROOT": project,
        b"CLAUDE_CODE_REMOTE": b"",
        b"PATH": b"/bin",
        b"PYTHONPATH": os.fsencode(Path(boathook.__file__).parent / "process/python_start"),
        b"PYTHONSAFEPATH": b"1",
        b"BOATHOOK_DEPTH": b"1",
        b"BOATHOOK_CALLER": b"%d" % os.getpid(),
    }
    assert (job.argv, job.stdin) == ((SHELL, "-c", "x"), write_event(event))
    assert (job.cwd, job.timeout, job.refused, job.warnings) == (str(tmp_path / "claude"), 7.0, "", ())
