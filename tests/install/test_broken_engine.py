"""An engine that is gone or broken: tool calls are refused as the agent understands it, and everything else goes on."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path
from types import SimpleNamespace

import pytest

from boathook.core.hook import PROJECT
from boathook.hosts.host import load_host
from boathook.hosts.setup import FILES, PLUGIN, list_setups, load_setup
from boathook.install import command_line
from boathook.install.probe import make_probe_event
from boathook.process.supervisor import HOOK_ENTRY
from boathook.sources.installed_line import parse_command
from tests.install.helpers import context_of, file_of, install, state, target_of, uninstall

pytestmark = pytest.mark.installed

R = "REASON"
SPECIFIC = "hookSpecificOutput"


def _deny(event):
    return {SPECIFIC: {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": R}}


def _refuse_request(event):
    return {SPECIFIC: {"hookEventName": event, "decision": {"behavior": "deny", "message": R}}}


# What agents get, as (exit code, JSON on stdout, whether stderr has the reason). As each of them was seen or documented to read it.
SHOWN, ON_STDERR, REFUSED_BY_CODE = (0, {"systemMessage": R}, False), (0, None, True), (2, None, True)
NOTHING_TO_SAY = (0, {}, True)
ANSWERS = {
    "claude": {
        "PreToolUse": (0, _deny("PreToolUse"), False),
        "PermissionRequest": (0, _refuse_request("PermissionRequest"), False),
        **dict.fromkeys(("UserPromptSubmit", "Stop", "SessionStart", "SubagentStart", "PreCompact"), SHOWN),
    },
    "cline": {
        "PreToolUse": (0, {"cancel": True, "errorMessage": R}, False),
        **dict.fromkeys(("UserPromptSubmit", "TaskComplete", "TaskStart", "PreCompact"), ON_STDERR),
    },
    "codex": {
        "PreToolUse": (0, _deny("PreToolUse"), False),
        "PermissionRequest": (0, _refuse_request("PermissionRequest"), False),
        **dict.fromkeys(("UserPromptSubmit", "Stop", "SessionStart", "PreCompact"), SHOWN),
    },
    "copilot": {
        "preToolUse": (0, {"permissionDecision": "deny", "permissionDecisionReason": R}, False),
        "permissionRequest": (0, {"behavior": "deny", "message": R}, False),
        **dict.fromkeys(("userPromptSubmitted", "agentStop", "sessionStart"), ON_STDERR),
    },
    "cursor": {
        "preToolUse": (0, {"permission": "deny", "user_message": R, "agent_message": R}, False),
        **dict.fromkeys(("beforeSubmitPrompt", "stop", "sessionStart", "subagentStart"), NOTHING_TO_SAY),
    },
    "droid": {
        "PreToolUse": (0, _deny("PreToolUse"), False),
        **dict.fromkeys(("UserPromptSubmit", "Stop", "SessionStart"), SHOWN),
    },
    "gemini": {
        "BeforeTool": (0, {"decision": "deny", "reason": R, "systemMessage": R}, False),
        **dict.fromkeys(("BeforeAgent", "AfterAgent", "SessionStart"), SHOWN),
    },
    "kimi-cli": {
        "PreToolUse": (0, _deny("PreToolUse"), False),
        **dict.fromkeys(("UserPromptSubmit", "Stop", "SessionStart"), ON_STDERR),
    },
    "kimi-code": {
        "PreToolUse": (0, _deny("PreToolUse"), False),
        **dict.fromkeys(("UserPromptSubmit", "Stop", "SessionStart"), ON_STDERR),
    },
    "kiro-cli": {
        "PreToolUse": REFUSED_BY_CODE,
        **dict.fromkeys(("UserPromptSubmit", "Stop", "SessionStart"), ON_STDERR),
    },
    "qwen": {
        "PreToolUse": (0, _deny("PreToolUse"), False),
        "PermissionRequest": (0, _refuse_request("PermissionRequest"), False),
        **dict.fromkeys(("UserPromptSubmit", "Stop", "SessionStart"), SHOWN),
    },
    "vscode": {
        "PreToolUse": (0, _deny("PreToolUse"), False),
        **dict.fromkeys(("UserPromptSubmit", "Stop", "SessionStart"), SHOWN),
    },
    "windsurf": {
        **dict.fromkeys(("pre_run_command", "pre_read_code", "pre_write_code", "pre_mcp_tool_use"), REFUSED_BY_CODE),
        **dict.fromkeys(("pre_user_prompt", "post_run_command", "post_cascade_response"), ON_STDERR),
    },
}
PLUGIN_HOSTS = [setup.name for setup in list_setups() if setup.format == PLUGIN]


def _remove_library(env: Path) -> None:
    """Let the engine need a library that is not there."""
    path = env / "boathook/assembly.py"
    future = "from __future__ import annotations\n"
    path.write_text(path.read_text().replace(future, f"{future}import a_library_that_is_missing\n", 1))


def _write_half(name: str):
    return lambda env: (env / "boathook" / name).write_text("def (")


def _rename_option(env: Path) -> None:
    path = env / "boathook/system/locations.py"
    text = path.read_text()
    assert '"state"' in text
    path.write_text(text.replace('"state"', '"stately"', 1))


def _dangle(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("gone"))


def _empty_interpreter(env: Path) -> None:
    path = env / "bin/python3"
    path.unlink()
    path.touch(0o755)


def _keep_only_entry(env: Path) -> None:
    entry = (env / "boathook/entry/hook_entry.py").read_bytes()
    shutil.rmtree(env / "boathook")
    (env / "boathook/entry").mkdir(parents=True)
    (env / "boathook/entry/hook_entry.py").write_bytes(entry)


DAMAGES = {
    "no interpreter": lambda env: (env / "bin/python3").unlink(),
    "a link to an interpreter that is gone": lambda env: _dangle(env / "bin/python3"),
    "no entry": lambda env: (env / "boathook/entry/hook_entry.py").unlink(),
    "no environment": shutil.rmtree,
    "an empty interpreter": _empty_interpreter,
    "an empty entry": lambda env: (env / "boathook/entry/hook_entry.py").write_text(""),
    "nothing but the entry": _keep_only_entry,
    "a module that this Python cannot read": _write_half("entry/run_once.py"),
    "a first module that this Python cannot read": _write_half("entry/fast_path.py"),
    "no rows of agents": lambda env: shutil.rmtree(env / "boathook/hosts"),
    "a library is missing": _remove_library,
    "another version, with other options": _rename_option,
}
MISSING = (
    *("no interpreter", "a link to an interpreter that is gone", "no entry", "no environment"),
    *("an empty interpreter", "an empty entry"),
)
CAUSES = {
    **dict.fromkeys(MISSING, "or its package is missing"),
    "nothing but the entry": "ModuleNotFoundError: No module named 'boathook.entry.fast_path'",
    "a module that this Python cannot read": "SyntaxError: ",
    "a first module that this Python cannot read": "SyntaxError: ",
    "no rows of agents": "ModuleNotFoundError: No module named 'boathook.hosts",
    "a library is missing": "ModuleNotFoundError: No module named 'a_library_that_is_missing'",
    "another version, with other options": "UsageError: unexpected argument '--state'",
}


@pytest.fixture
def env(project, monkeypatch):
    """Return an environment with a copy of the package; what is installed calls that one."""
    folder = project.base / 'it\'s an "env" of $HOME\nand `more`'
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python3").symlink_to(sys.executable)
    # With what is compiled already: the time and the size of a file tell Python whether that is still right.
    shutil.copytree(Path(HOOK_ENTRY).parents[1], folder / "boathook")
    monkeypatch.setattr(command_line, "HOOK_ENTRY", str(folder / "boathook/entry/hook_entry.py"))
    monkeypatch.setattr(command_line, "sys", SimpleNamespace(executable=str(folder / "bin/python3")))
    return folder


def _make_payload(project, host: str, event: str) -> bytes:
    row = next(row for row in load_host(host).events if row.name == event)
    payload = json.loads(make_probe_event(load_host(host), row, str(project.path)))
    return json.dumps({**payload, "prompt": "hello"}).encode()


def _run(project, host: str, event: str) -> tuple[int, str, str]:
    """Run what is installed for an event as the agent does."""
    line = command_line.make_command_line(load_setup(host), event, context_of(project, host))
    argv = ["/bin/sh", "-c", line]
    if load_setup(host).format == FILES:
        argv = [str(file_of(project, host).with_name(event))]
    payload = _make_payload(project, host, event)
    done = subprocess.run(
        argv, input=payload, capture_output=True, cwd=project.path, env=project.environment, timeout=60
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def _replace_reason(value, reason: str):
    if isinstance(value, dict):
        return {key: _replace_reason(one, reason) for key, one in value.items()}
    return reason if value == R else value


def _check_answer(answer, expected, project, host, cause) -> None:
    code, out, err = answer
    wanted_code, wanted_out, is_on_stderr = expected
    texts = [text for text in (err.strip(), *_list_texts(json.loads(out) if out else None)) if "cannot start" in text]
    assert texts, (host, answer)
    reason = texts[0]
    assert cause in reason
    assert reason.endswith(f"so no hook was asked. Fix: {context_of(project, host).repair}")
    assert f"boathook install {host}. Or remove its entries from " in reason
    assert (code, json.loads(out) if out else None) == (wanted_code, _replace_reason(wanted_out, reason))
    assert (reason in err) == is_on_stderr


def _list_texts(value) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in _list_texts(one)]
    return [value] if isinstance(value, str) else []


def test_every_agent_has_rows():
    assert {*ANSWERS, *PLUGIN_HOSTS} == {setup.name for setup in list_setups()}
    for host, rows in ANSWERS.items():
        calls = {row.name for row in load_host(host).events if row.kind_name == "pre-tool-call" and row.is_installed}
        assert calls <= {*rows}


def _install_files(project) -> None:
    """Install the agents whose commands are files; of all others the line is taken."""
    for host in ANSWERS:
        if load_setup(host).format == FILES:
            install(project, host)


# What is missing is found by the line of an agent itself, everything else by the entry: one of each for all agents, and then
# the damages with three agents each. The other combinations are long.
EVERY_AGENT = ("no entry", "nothing but the entry")
DAMAGED = [
    *((damage, tuple(ANSWERS)) for damage in EVERY_AGENT),
    *((damage, tuple(islice(cycle(ANSWERS), 3 * at, 3 * at + 3))) for at, damage in enumerate(DAMAGES)),
    *(pytest.param(damage, tuple(ANSWERS), marks=pytest.mark.long) for damage in DAMAGES if damage not in EVERY_AGENT),
]


@pytest.mark.parametrize(
    ("damage", "hosts"), DAMAGED, ids=lambda value: value if isinstance(value, str) else len(value)
)
def test_a_tool_call_is_refused_and_everything_else_goes_on_in_every_agent(project, env, damage, hosts):
    _install_files(project)
    DAMAGES[damage](env)
    for host in hosts:
        for event, expected in ANSWERS[host].items():
            _check_answer(_run(project, host, event), expected, project, host, CAUSES[damage])


@pytest.mark.parametrize("damage", ["no interpreter", "nothing but the entry"])
def test_with_hooks_broken_allow_a_tool_call_goes_on_with_a_message_in_every_agent(project, env, damage):
    project.write_hooks_toml("user", '[hooks]\nbroken = "allow"\n')
    _install_files(project)
    DAMAGES[damage](env)
    for host, rows in ANSWERS.items():
        shown = ON_STDERR if not load_host(host).message else SHOWN
        expected = NOTHING_TO_SAY if load_host(host).empty_answer else shown
        for event in rows:
            _check_answer(_run(project, host, event), expected, project, host, CAUSES[damage])


@pytest.mark.parametrize(("event", "code"), [("PreToolUse", 2), ("Stop", 0)])
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", ">/dev/full"])
def test_an_answer_that_cannot_be_written_is_an_exit_code(project, env, event, code, closed):
    _remove_library(env)
    line = command_line.make_command_line(load_setup("claude"), event, context_of(project, "claude"))
    payload = _make_payload(project, "claude", event)
    argv = ["/bin/sh", "-c", f"exec {closed}\n{line}"]
    done = subprocess.run(argv, input=payload, cwd=project.path, env=project.environment, timeout=60)
    assert done.returncode == code


def test_what_is_whole_answers_nothing_in_every_agent(project, env):
    _install_files(project)
    for host, rows in ANSWERS.items():
        for event in rows:
            code, out, _ = _run(project, host, event)
            assert (host, event, code, out.strip()) == (host, event, 0, load_host(host).empty_answer)


def test_the_line_of_odd_paths_is_ours(project, env):
    for setup in list_setups():
        if setup.format != PLUGIN:
            line = command_line.make_command_line(setup, setup.events[0], context_of(project, setup.name))
            command = parse_command(line)
            assert command is not None
            assert (command.python, command.host) == (str(env / "bin/python3"), setup.name)


@pytest.mark.parametrize("host", ["codex", "gemini"])
def test_the_fix_in_a_project_names_the_project(project, env, host):
    repair = context_of(project, host, PROJECT).repair
    assert f"boathook install {host} --project {project.path}. Or remove its entries from {project.path}/" in repair


def test_the_line_of_another_agent_that_reads_the_same_file_does_nothing(project, env):
    line = command_line.make_command_line(load_setup("vscode"), "PreToolUse", context_of(project, "vscode"))
    shutil.rmtree(env)
    variables = {**project.environment, "COPILOT_HOOK_DIR": "/x"}
    done = subprocess.run(["/bin/sh", "-c", line], input=b"{}", capture_output=True, env=variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_changed_setting_is_reported_until_it_is_installed_again(project):
    install(project, "claude")
    assert state(project, "claude")[0] == "installed"
    project.write_hooks_toml("user", '[hooks]\nbroken = "allow"\n')
    found, why = state(project, "claude")
    assert found == "stale"
    assert why == (f'hooks.broken in {project.config}/hooks.toml is "allow" by now, and the command has "refuse"',)
    install(project, "claude")
    assert state(project, "claude") == ("installed", ())
    uninstall(project, "claude")
    assert target_of(project).refuses_broken is False


def test_a_signal_reaches_the_engine_and_ends_its_hooks(project, env):
    """The shell is gone then: it has become the engine."""
    marks = project.base / "started"
    project.write_hook("slow", script=f"echo $$ > {marks}; exec sleep 600", fields={"timeout": "600000"})
    line = command_line.make_command_line(load_setup("claude"), "PreToolUse", context_of(project, "claude"))
    process = subprocess.Popen(
        ["/bin/sh", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=project.environment
    )
    assert process.stdin is not None
    process.stdin.write(_make_payload(project, "claude", "PreToolUse"))
    process.stdin.close()
    while not (marks.exists() and marks.read_text().endswith("\n")):
        assert process.poll() is None
        time.sleep(0.02)
    assert (Path("/proc") / str(process.pid) / "cmdline").read_bytes().startswith(str(env / "bin/python3").encode())
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert not (Path("/proc") / marks.read_text().strip()).exists()


# A call by hand


def test_an_entry_without_an_answer_of_its_own_refuses(project, env):
    _keep_only_entry(env)
    command = [sys.executable, "-I", "-S", str(env / "boathook/entry/hook_entry.py"), "--event", "PreToolUse"]
    done = subprocess.run(command, input="{}", capture_output=True, env=project.environment, text=True)
    message = "boathook cannot start (ModuleNotFoundError: No module named 'boathook.entry.fast_path')"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{message}, so no hook was asked. Fix: install boathook again\n"


@pytest.mark.parametrize("flag", ["--ask", "--supervise"])
def test_a_process_of_the_engine_itself_that_cannot_start_fails_and_does_not_block(project, env, flag):
    _keep_only_entry(env)
    command = [sys.executable, "-I", "-S", str(env / "boathook/entry/hook_entry.py"), flag]
    done = subprocess.run(command, input="{}", capture_output=True, env=project.environment, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "ModuleNotFoundError" in done.stderr


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--trust-all", "--broken", ""], (0, "")),
        (["--no-ask", "--broken", '{"m": "REASON"}', "--debug"], (0, '{"m": "boathook cannot start')),
        (["--broken"], (2, "")),
        ([], (2, "")),
    ],
)
def test_the_answer_of_a_call_by_hand_is_found_among_other_options(project, env, words, answer):
    _keep_only_entry(env)
    command = [sys.executable, "-I", "-S", str(env / "boathook/entry/hook_entry.py"), "--event", "Stop", *words]
    done = subprocess.run(command, input="{}", capture_output=True, env=project.environment, text=True)
    assert (done.returncode, done.stdout[: len(answer[1])]) == answer
    assert bool(done.stdout) == bool(answer[1])
