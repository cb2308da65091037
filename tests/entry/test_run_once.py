"""`boathook run` as a process: what comes in, what goes out, and what surrounds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from tests.scratch_project import ScratchProject

BLOCK = "echo no >&2\nexit 2\n"
CALL = {"tool_name": "Shell", "tool_input": {"command": "rm -rf /"}}


def run_event(project: ScratchProject, event: object = CALL, name: str = "pre-tool-call", **options: object):
    """Send an event to `boathook run`, with every hook trusted."""
    text = event if isinstance(event, str) else json.dumps(event)
    return project.run("run", name, stdin=text, **{"trust_all": True, **options})


@pytest.mark.parametrize(
    "extra",
    ['"deep": ' + "[" * 250 + "]" * 250, '"number": ' + "9" * 5000, '"number": 1e400'],
    ids=["too deep", "too many digits", "too large"],
)
def test_an_input_beyond_limits_cannot_slip_past_the_guards(project, extra):
    project.write_hook("guard", BLOCK, scope="project")
    done = run_event(project, '{"tool_name": "Shell", "tool_input": {"command": "rm -rf /", ' + extra + "}}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "beyond limits" in done.stderr


def test_null_for_a_field_that_every_event_has_counts_as_absent(project):
    project.write_hook("guard", BLOCK, scope="project")
    absent = dict.fromkeys(("session_id", "work_dir", "context", "timestamp"))
    assert run_event(project, {**CALL, **absent}).returncode == 2


def test_hooks_run_though_the_current_folder_was_removed(project):
    project.write_hook("guard", BLOCK)
    gone = project.base / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m boathook run pre-tool-call"
    env = {**project.environment, "PYTHONSAFEPATH": "1"}
    argv = ["sh", "-c", script]
    done = subprocess.run(argv, input=json.dumps(CALL), capture_output=True, text=True, env=env, timeout=60)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "no")


def test_an_answer_that_cannot_be_written_is_not_consent(project):
    project.write_hook("guard", 'echo \'{"continue": false, "stop_reason": "enough"}\'', scope="project")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            project.make_argv("run", "pre-tool-call", trust_all=True),
            input=json.dumps(CALL),
            text=True,
            env=project.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert done.returncode == 2
    assert "could not be written" in done.stderr


def test_a_refusal_with_a_closed_standard_output_is_not_consent(project):
    project.write_hook("guard", "echo no >&2; exit 2")
    event = {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "cwd": str(project.path),
    }
    command = 'exec "$@" >&-'
    argv = [
        "sh",
        "-c",
        command,
        "sh",
        sys.executable,
        "-m",
        "boathook",
        "run",
        "PreToolUse",
        "--host",
        "claude",
        "--trust-all",
    ]
    done = subprocess.run(
        argv,
        input=json.dumps(event),
        text=True,
        capture_output=True,
        env={**os.environ, **project.variables},
        cwd=project.path,
    )
    assert (done.returncode, done.stderr) == (2, "boathook: the answer could not be written; it was: block no\n")


def test_a_slow_reader_gets_the_whole_answer_even_from_a_pipe_that_does_not_block(project):
    script = 'printf \'{"modified_input": {"x": "\'; head -c 200000 /dev/zero | tr "\\0" y; printf \'"}}\''
    project.write_hook("guard", script, scope="project")
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    parts: list[bytes] = []

    def read() -> None:
        time.sleep(0.3)
        while part := os.read(reading, 4096):
            parts.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    argv = project.make_argv("run", "pre-tool-call", trust_all=True)
    done = subprocess.run(argv, input=json.dumps(CALL), text=True, env=project.environment, stdout=writing, timeout=60)
    os.close(writing)
    reader.join()
    os.close(reading)
    assert done.returncode == 0
    assert len(json.loads(b"".join(parts))["modified_input"]["x"]) == 200_000


@pytest.mark.parametrize("what", ["a file", "a link to nothing", "a link to itself"])
def test_hooks_that_are_there_but_cannot_be_used_are_reported(project, what):
    path = project.hooks_folder("project")
    path.parent.mkdir()
    if what == "a file":
        path.write_text("")
    else:
        path.symlink_to("nowhere" if what == "a link to nothing" else "hooks")
    done = run_event(project)
    assert (done.returncode, "the hooks folder cannot be read" in done.stderr) == (0, True)


def test_the_text_of_a_manifest_reaches_no_terminal_unfiltered(project):
    project.write_hook("guard", BLOCK, scope="project", fields={"trigger": '"x\\e]52;c;AAAA\\a"'})
    done = run_event(project)
    assert "unknown event" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_user_s_hook_that_a_project_s_replaces_is_reported(project):
    project.write_hook("guard", BLOCK)
    project.write_hook("guard", scope="project", fields={"trigger": "notification"})
    done = run_event(project)
    assert (done.returncode, "hook 'guard' did not run: replaced by the project's hook" in done.stderr) == (0, True)


def test_a_user_s_hook_is_not_replaced_while_the_project_s_is_not_trusted(project):
    project.write_hook("guard", BLOCK)
    project.write_hook("guard", scope="project")
    done = run_event(project, trust_all=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "no")
    assert "1 hook of this project did not run because it is not trusted" in done.stderr


def test_a_long_dotted_key_in_a_project_s_hooks_toml_does_not_stall_the_user_s_guards(project):
    project.write_hook("guard", BLOCK)
    project.hooks_folder("project").mkdir(parents=True)
    project.write_hooks_toml("project", "[hooks]\n" + ".".join("a" * 16_000) + " = 1\n")
    done = run_event(project)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "no")
    assert "dots" in done.stderr


def test_a_module_in_a_project_is_not_taken_for_a_library(project):
    project.write_hook("guard", BLOCK, scope="project", fields={"matcher": "{pattern: 'r[m]'}"})
    for name in ("yaml", "re2", "click"):
        (project.path / f"{name}.py").write_text("import os\nos._exit(0)\n")
    argv = project.make_argv("run", "pre-tool-call", trust_all=True)
    options = {"cwd": project.path, "env": project.environment, "capture_output": True, "timeout": 60}
    assert subprocess.run(argv, input=json.dumps(CALL).encode(), **options).returncode == 2


def test_without_home_the_hooks_of_a_project_still_count(project):
    project.write_hook("guard", BLOCK, scope="project")
    assert run_event(project, env={"HOME": "", "XDG_CONFIG_HOME": ""}).returncode == 2


def test_a_script_that_a_link_leads_to_later_is_noticed(project):
    folder = project.write_hook("guard", BLOCK, scope="project")
    (folder / "scripts/run.sh").rename(project.base / "kept.sh")
    (folder / "scripts/run.sh").symlink_to("later.sh")
    time.sleep(2.1)
    assert "did not run" in run_event(project).stderr
    (project.base / "kept.sh").rename(folder / "scripts/later.sh")
    assert run_event(project).returncode == 2


def test_a_count_of_refused_stops_ends_with_the_turn_even_on_the_fast_path(project):
    project.write_hook("gate", BLOCK, scope="project", fields={"trigger": "Stop"})
    time.sleep(2.1)
    events = ["Stop", "Stop", "UserPromptSubmit", "Stop", "Stop", "Stop", "Stop"]
    codes = [run_event(project, {"session_id": "s"}, name).returncode for name in events]
    assert codes == [2, 2, 0, 2, 2, 2, 0]
