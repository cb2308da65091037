"""hook_entry as a process: the same answer as `boathook run`, and the imports of each path."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import boathook
from boathook.catalog_cache.format import compiled_path
from tests.example_counts import count_examples

HOOK_ENTRY = Path(boathook.__file__).parent / "entry/hook_entry.py"
PROGRAMS = {
    "hook_entry": lambda event: [sys.executable, "-I", "-S", str(HOOK_ENTRY), "--trust-all", "--event", event],
    "command": lambda event: [sys.executable, "-m", "boathook", "run", "--trust-all", event],
}
BLOCKS, ASKS = "echo no >&2; exit 2", 'echo \'{"decision": "ask", "reason": "sure?"}\''
REWRITES = 'echo \'{"modified_input": {"command": "ls"}, "additional_context": "changed"}\''


def _words(project):
    project.write_hook("rm", script=BLOCKS, fields={"matcher": "{tool: Shell, pattern: 'rm -rf'}"})
    project.write_hook("write", script=ASKS, fields={"matcher": "{tool: ^Write$}"})


def _regex(project):
    project.write_hook("rm", script=REWRITES, fields={"matcher": "{tool: 'S.*l', pattern: 'rm\\s+-rf'}"})
    project.write_hook(
        "local", scope="project", script="exit 7", fields={"matcher": "{tool: Write}", "on_failure": "block"}
    )


def _broken(project):
    project.write_hook("bad", manifest="---\nname: bad\ntrigger: pre-tool-cal\n---\n")
    project.write_hook("good", fields={"matcher": "{tool: Write}"}, script="echo hello")


def _off(project):
    project.write_hook("off", script=BLOCKS)
    project.write_hook("both", script=BLOCKS, fields={"matcher": "{tool: Write}"})
    project.write_hook("both", scope="project", script="exit 0", fields={"matcher": "{tool: Write}"})
    project.write_hook("later", script="exit 0", fields={"async": "true", "matcher": "{pattern: 'rm -rf'}"})
    project.write_hooks_toml("user", "[[hooks.disable]]\nname = 'off'\n")


def _gates(project):
    project.write_hook("gate", script=BLOCKS, fields={"trigger": "Stop"})
    project.write_hook("idle", script=None, fields={"matcher": "{tool: Write}", "on_failure": "block"})
    project.write_hooks_toml("project", "[hooks]\nmax_stop_blocks = 9\n")


FILLS = {
    "empty": lambda project: None,
    "words": _words,
    "regex": _regex,
    "broken": _broken,
    "off": _off,
    "gates": _gates,
}


@pytest.fixture(scope="session")
def projects(new_project):
    """Projects whose catalogues are cached: made, waited for once, and used once."""
    made = {}
    for name, fill in FILLS.items():
        made[name] = new_project(f"entry-{name}")
        made[name].hooks_folder("project").mkdir(parents=True)
        fill(made[name])
    time.sleep(2.1)
    for project in made.values():
        enter("hook_entry", project, "Notification", {})
        assert len(list(project.cache.iterdir())) == 1
    return made


def enter(program: str, project, event: str, data: dict | bytes, *options: str) -> tuple[int, bytes, bytes]:
    given_ = data if isinstance(data, bytes) else json.dumps(data).encode()
    command = PROGRAMS[program](event)
    command[1:1] = options
    done = subprocess.run(command, input=given_, capture_output=True, cwd=project.path, env=project.environment)
    return done.returncode, done.stdout, done.stderr


def enter_afresh(program: str, project, event: str, data: dict | bytes) -> tuple[int, bytes, bytes]:
    """Enter where no refused stop has been counted yet, so that one program does not count for the other."""
    shutil.rmtree(project.state / "sessions", ignore_errors=True)
    return enter(program, project, event, data)


calls = st.fixed_dictionaries(
    {"tool_name": st.sampled_from(["Shell", "Write", "Read"])},
    optional={
        "tool_input": st.sampled_from([{"command": "rm -rf /"}, {"command": "ls"}, {"x": [1, "é"]}, None]),
        "work_dir": st.sampled_from(["", "sub", "/", "relative"]),
        "session_id": st.sampled_from(["s", 1]),
        "context": st.sampled_from([{}, []]),
        "event_type": st.sampled_from(["PreToolUse", "Stop", "x"]),
    },
)
names = st.sampled_from(
    ["pre-tool-call", "PreToolUse", "PreToolUse", "PostToolUse", "Stop", "UserPromptSubmit", "PreTool", ""]
)


@given(st.sampled_from(sorted(FILLS)), names, calls | calls | st.sampled_from([b"", b"{", b"[]", b"\xff"]))
@settings(max_examples=count_examples(40))
def test_hook_entry_and_the_command_return_the_same_answer(projects, name, event, data):
    project = projects[name]
    if isinstance(data, dict) and data.get("work_dir") in ("", "sub"):
        data = {**data, "work_dir": str(project.path / data["work_dir"])}
    assert enter_afresh("hook_entry", project, event, data) == enter_afresh("command", project, event, data)


ANSWERS = {
    "no match": ("words", "PreToolUse", {"tool_name": "Read"}, (0, b"", b"")),
    "a block": ("words", "PreToolUse", {"tool_name": "Shell", "tool_input": {"x": "rm -rf"}}, (2, b"", b"no\n")),
    "a question": (
        "words",
        "PreToolUse",
        {"tool_name": "Write"},
        (0, b'{"decision": "ask", "reason": "sure?"}\n', b""),
    ),
    "a rewrite": (
        "regex",
        "PreToolUse",
        {"tool_name": "Shell", "tool_input": {"command": "rm  -rf"}},
        (0, b'{"modified_input": {"command": "ls"}, "additional_context": "changed"}\n', b""),
    ),
    "a failure that blocks": (
        "regex",
        "PreToolUse",
        {"tool_name": "Write"},
        (2, b"", b"hook 'local' failed: exit code 7\n"),
    ),
    "an invalid hook": (
        "broken",
        "Stop",
        {},
        (0, b"", b"boathook: hook 'bad' did not run: unknown event 'pre-tool-cal' (did you mean 'pre-tool-call'?)\n"),
    ),
    "an unknown event": (
        "empty",
        "PreToolUs",
        {},
        (1, b"", b"boathook: unknown event 'PreToolUs' (did you mean 'PreToolUse'?)\n"),
    ),
    "an empty name": (
        "empty",
        "",
        {},
        (1, b"", b"boathook: unknown event ''. List the events with: boathook events\n"),
    ),
    "no JSON": (
        "empty",
        "Stop",
        b"",
        (1, b"", b"boathook: standard input is empty: send the event as one JSON object\n"),
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("name", "event", "data", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_what_a_host_gets(projects, program, name, event, data, expected):
    assert enter_afresh(program, projects[name], event, data) == expected


def test_a_broken_cache_changes_no_answer(projects):
    project = projects["words"]
    path = Path(str(compiled_path(project.make_locations(claude=str(project.claude_folder)))))
    whole = path.read_bytes()
    call = {"tool_name": "Shell", "tool_input": {"x": "rm -rf"}}
    for data in (b"", whole[: len(whole) // 2], whole[:-1] + b"\0"):
        path.write_bytes(data)
        assert enter("hook_entry", project, "PreToolUse", call) == (2, b"", b"no\n")
        assert path.read_bytes() == whole  # made anew


def test_a_new_turn_starts_the_count_of_refused_stops_anew_even_where_no_hook_wants_to_know(projects):
    project, data = projects["gates"], {"session_id": "turns"}
    events = ["Stop", "Stop", "UserPromptSubmit", "Stop", "Stop", "Stop", "Stop"]
    assert [enter("hook_entry", project, event, data)[0] for event in events] == [2, 2, 0, 2, 2, 2, 0]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_project_that_is_not_a_folder_is_reported(projects, program):
    for folder in ("/no/such/folder", ""):
        command = [*PROGRAMS[program]("Notification"), "--project", folder]
        project = projects["empty"]
        done = subprocess.run(command, input=b"{}", capture_output=True, cwd=project.path, env=project.environment)
        message = f"boathook: --project {folder} is not a folder\n".encode()
        assert (done.returncode, done.stdout, done.stderr) == (1, b"", message)


NAMELESS = [{}, {"tool_name": ""}]


@pytest.mark.parametrize("data", NAMELESS, ids=["absent", "empty"])
def test_an_event_without_the_name_of_its_tool_is_reported(projects, data):
    message = b"boathook: the event has no 'tool_name': hooks for particular tools did not run\n"
    assert enter("hook_entry", projects["words"], "PreToolUse", data) == (0, b"", message)


def test_a_start_from_a_folder_that_is_gone_is_answered(projects, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    command = f'rmdir "{folder}"; exec "{sys.executable}" -I -S "{HOOK_ENTRY}" --event Stop'
    environment = projects["words"].environment
    done = subprocess.run(["sh", "-c", command], input=b"{}", capture_output=True, cwd=folder, env=environment)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr


# Imports

HEAVY = {"json", "re", "enum", "dataclasses", "typing", "subprocess", "asyncio", "threading", "yaml", "re2"}
WEIGHTY = {"collections", "functools"}
LEAN = HEAVY | {"os", "collections", "functools", "__future__", "boathook"}
TRAVELS = {
    "no match": ("words", {"tool_name": "Read", "tool_input": {"command": "rm -rf"}}, 0, LEAN, set()),
    "no hooks": ("empty", {"tool_name": "Read"}, 0, LEAN, set()),
    "no match of a regex": ("regex", {"tool_name": "Read"}, 0, LEAN, set()),
    "a match by words": ("words", {"tool_name": "Shell", "tool_input": {"x": "rm -rf"}}, 2, HEAVY, {"os"}),
    # of RE2 only the part in C is loaded, which is not listed
    "a match by a regex": ("regex", {"tool_name": "Shell", "tool_input": {"x": "rm -rf"}}, 0, HEAVY | WEIGHTY, {"os"}),
}


# The modules of ours that `run` may import, in two sections. One that is not needed costs every event of every agent.
OWN_MODULES: dict[str, set[str]] = {}
for line in Path(__file__).with_name("modules_of_run.txt").read_text().splitlines():
    if line.endswith(":"):
        section = OWN_MODULES.setdefault(line.removesuffix(":"), set())
    elif line:
        section.add(f"boathook.{line.strip()}")
OWN_MODULES["a hook runs"] |= OWN_MODULES["no hook runs"]


def test_every_module_that_run_may_import_exists():
    package = HOOK_ENTRY.parents[1]
    paths = [package.parent.joinpath(*module.split(".")) for module in sorted(OWN_MODULES["a hook runs"])]
    assert [path for path in paths if not path.is_dir() and not path.with_suffix(".py").exists()] == []


def imported(report: bytes) -> set[str]:
    lines = [line for line in report.decode().splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.parametrize(("name", "data", "code", "unwanted", "wanted"), TRAVELS.values(), ids=TRAVELS)
def test_a_path_imports_no_more_than_it_needs(projects, name, data, code, unwanted, wanted):
    found, _, report = enter("hook_entry", projects[name], "PreToolUse", data, "-X", "importtime")
    modules = imported(report)
    assert found == code
    assert (modules & unwanted, wanted - modules) == (set(), set())
    assert "boathook.entry.fast_path" in modules
    own = {module for module in modules if module.startswith("boathook.")}
    assert own - OWN_MODULES["a hook runs" if wanted else "no hook runs"] == set()


def test_the_package_can_be_moved_as_a_whole(tmp_path, projects):
    os.symlink(HOOK_ENTRY.parents[2], tmp_path / "boathook")
    moved = tmp_path / "boathook" / "boathook" / "entry" / "hook_entry.py"
    command = [sys.executable, "-I", "-S", str(moved), "--event", "PreToolUse"]
    call = b'{"tool_name": "Shell", "tool_input": {"x": "rm -rf"}}'
    project = projects["words"]
    done = subprocess.run(command, input=call, capture_output=True, cwd=project.path, env=project.environment)
    assert (done.returncode, done.stderr) == (2, b"no\n")


@pytest.mark.parametrize(
    ("without", "ran"),
    [((), ["user", "project"]), (("--without", "project-settings"), ["user"]), (("--without", "settings"), [])],
)
def test_settings_files_are_left_out_as_far_as_a_host_runs_them_itself(new_project, without, ran):
    project = new_project("left-out")
    for scope in ("user", "project"):
        entry = {"type": "command", "command": f"echo {scope} >> {project.base}/ran"}
        project.write_settings(scope, {"hooks": {"PreToolUse": [{"hooks": [entry]}]}})
    event = {"cwd": str(project.path), "toolName": "bash", "toolArgs": {"command": "ls"}}
    argv = [
        sys.executable,
        "-I",
        "-S",
        str(HOOK_ENTRY),
        "--trust-all",
        "--host",
        "copilot",
        "--event",
        "preToolUse",
        *without,
    ]
    for _ in range(2):
        subprocess.run(
            argv, input=json.dumps(event).encode(), env=project.variables, cwd=project.path, check=True, timeout=60
        )
    found = (project.base / "ran").read_text().split() if ran else []
    assert sorted(found) == sorted(ran * 2)
    assert (project.base / "ran").exists() is bool(ran)


def test_the_packages_that_the_fast_path_does_not_import_are_empty():
    tree = ast.parse(HOOK_ENTRY.with_name("fast_path.py").read_text())
    (loop,) = [node for node in ast.walk(tree) if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple)]
    for name in ("entry", *ast.literal_eval(loop.iter)):
        body = ast.parse((HOOK_ENTRY.parents[1] / name / "__init__.py").read_text()).body
        assert [type(node) for node in body] == [ast.Expr]
