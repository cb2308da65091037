"""Faults of settings.json: what is in its place, what its commands do, and whom its hooks ask.

Every row has neighbours. For every end of the row's own hook: nothing hangs, nothing is left, it is reported, and they count.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import WAYS, Ended, FaultProject, Result, assert_clean

T = 0.5
LONG = 20
NO = "echo no >&2; exit 2"
STAGE_NO = {"type": "command", "command": NO, "timeout": LONG}
MIB = 1 << 20
LIMIT = "is larger than 1024 KiB"
CHAT = "openai-chat:gpt-4o"


class SettingsProject(FaultProject):
    """A project with settings of its own and of its user."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.more_variables: dict[str, str] = {}
        self.project_claude = self.path / ".claude"
        for made in (self.project_claude, self.claude_folder):
            made.mkdir(parents=True)
        self.settings_path = self.project_claude / "settings.json"

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "NO_PROXY": "*", **self.more_variables}

    def write_entries(self, *entries: object, event: str = "PreToolUse", path: Path | None = None) -> Path:
        """Write a settings file with these entries at one event; a text is a command with a short timeout."""
        found = [entry if isinstance(entry, dict) else command(str(entry)) for entry in entries]
        place = path or self.settings_path
        place.write_text(json.dumps({"hooks": {event: [{"hooks": found}]}}))
        return place

    def write_user_guard(self) -> None:
        """Let the user's settings refuse everything."""
        self.write_entries(STAGE_NO, path=self.claude_folder / "settings.json")


def command(text: str, **more: object) -> dict[str, Any]:
    return {"type": "command", "command": text, "timeout": T, **more}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[SettingsProject]:
    made = SettingsProject(tmp_path)
    yield made
    made.end_all()


def assert_stage(
    project: FaultProject, result: Result, end: tuple[str, int | None], why: str | None, timeout: float = LONG
) -> None:
    """One hook of the stage ended like that and its neighbour blocked; nothing is left."""
    assert (result.decision, result.reasons) == ("block", ["no"])
    assert sorted((run[1], run[2], run[3]) for run in result.runs) == sorted([(*end, "none"), ("ok", 2, "block")])
    assert [reported for reported in result.why if reported != "no"] == [why]
    assert_clean(project, result, timeout)


# --- what is where settings.json should be


def fifo(project: SettingsProject, path: Path) -> str:
    os.mkfifo(path)
    return "settings.json is not a regular file; no hook of it runs"


def device(project: SettingsProject, path: Path) -> str:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("needs the right to make a device")
    return "settings.json is not a regular file; no hook of it runs"


def directory(project: SettingsProject, path: Path) -> str:
    path.mkdir()
    return "settings.json is not a regular file; no hook of it runs"


def large(project: SettingsProject, path: Path) -> str:
    path.write_text(json.dumps({"hooks": {}, "more": "x" * (2 * MIB)}))
    return f"settings.json {LIMIT}; no hook of it runs"


def sparse(project: SettingsProject, path: Path) -> str:
    with path.open("wb") as file:
        file.truncate(1 << 40)
    return f"settings.json {LIMIT}; no hook of it runs"


def deep(project: SettingsProject, path: Path) -> str:
    path.write_text('{"hooks": ' + "[" * 400_000 + "]" * 400_000 + "}")
    return "cannot be read: nested too deep; no hook of this file runs"


def deep_objects(project: SettingsProject, path: Path) -> str:
    path.write_text('{"a":' * 100_000 + "1" + "}" * 100_000)
    return "cannot be read: nested too deep; no hook of this file runs"


def not_utf8(project: SettingsProject, path: Path) -> str:
    path.write_bytes(b'{"hooks": "\xff"}')
    return "settings.json is not UTF-8 at byte 11; no hook of it runs"


def nul(project: SettingsProject, path: Path) -> str:
    path.write_bytes(b'{"hooks": {}}\0')
    return "settings.json contains a NUL character; no hook of it runs"


def utf16(project: SettingsProject, path: Path) -> str:
    path.write_text("{}", encoding="utf-16")
    return "settings.json is not UTF-8 at byte 0; no hook of it runs"


def loop(project: SettingsProject, path: Path) -> str:
    (path.parent / "other").symlink_to(path)
    path.symlink_to(path.parent / "other")
    return "settings.json cannot be opened: Too many levels of symbolic links; no hook of it runs"


def dangling(project: SettingsProject, path: Path) -> str:
    path.symlink_to(path.parent / "gone.json")
    return "settings.json cannot be opened: No such file or directory; no hook of it runs"


def unreadable(project: SettingsProject, path: Path) -> str:
    path.write_text("{}")
    path.chmod(0)
    return "settings.json cannot be opened: Permission denied; no hook of it runs"


def for_anybody(project: SettingsProject, path: Path) -> str:
    path.write_text("{}")
    path.chmod(0o666)
    return "no hook of this file runs: it can be written by anybody (chmod o-w)"


def not_json(project: SettingsProject, path: Path) -> str:
    path.write_text('{\n  // mine\n  "hooks": {}\n}')
    message = "not valid JSON: Expecting property name enclosed in double quotes (column 3); no hook of this file runs"
    return f"{message} (comments are not JSON)"


def a_huge_number(project: SettingsProject, path: Path) -> str:
    path.write_text('{"hooks": ' + "9" * 10_000 + "}")
    why = "Exceeds the limit (4300 digits) for integer string conversion: value has 10000 digits"
    hint = "use sys.set_int_max_str_digits() to increase the limit"
    return f"cannot be read: {why}; {hint}; no hook of this file runs"


PLACED = [
    pytest.param(place, id=place.__name__, marks=[pytest.mark.ordinary_user] if place is unreadable else [])
    for place in (
        *(fifo, device, directory, large, sparse, deep, deep_objects, not_utf8, nul, utf16, loop, dangling),
        *(unreadable, for_anybody, not_json, a_huge_number),
    )
]


@pytest.mark.one_at_a_time
@pytest.mark.parametrize("place", PLACED)
@pytest.mark.parametrize("whose", ["project", "user"])
def test_a_file_that_cannot_be_used_is_reported_and_all_other_files_count(
    project: SettingsProject, way: str, place: Callable[[SettingsProject, Path], str], whose: str
) -> None:
    mine, other = (
        (project.project_claude, project.claude_folder)
        if whose == "project"
        else (project.claude_folder, project.project_claude)
    )
    reported = place(project, mine / "settings.json")
    project.write_entries(STAGE_NO, path=other / "settings.json")
    result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["no"])
    [(path, why)] = result.skipped.items()
    assert path == str(mine / "settings.json")
    assert without_line(why) == f"ignored: {path}: {reported}"
    assert_clean(project, result, LONG)


def without_line(text: str) -> str:
    """A diagnostic without the number of the line, if there is one."""
    path, _, rest = text.partition(".json:")
    number, _, reported = rest.partition(":")
    return f"{path}.json:{reported}" if number.isdigit() else text


@pytest.mark.parametrize("place", PLACED)
def test_a_file_that_cannot_be_used_is_reported_on_stderr_at_every_event(
    project: SettingsProject, place: Callable[[SettingsProject, Path], str]
) -> None:
    reported = place(project, project.settings_path)
    for _ in range(2):
        ended = project.run_plain({"event_type": "notification"})
        assert (ended.code, ended.stdout) == (0, b"")
        assert without_line(ended.stderr.decode()) == f"boathook: ignored: {project.settings_path}: {reported}\n"


def test_a_local_file_that_cannot_be_used_does_not_disarm_the_shared_one(project: SettingsProject, way: str) -> None:
    project.write_entries(STAGE_NO)
    os.mkfifo(project.project_claude / "settings.local.json")
    result = project.fire(way)
    assert (result.decision, list(result.skipped)) == (
        "block",
        [str(project.project_claude / "settings.local.json")],
    )
    assert_clean(project, result, LONG)


OUT = {
    "a_file_of_the_user": lambda project: project.claude_folder / "settings.json",
    "the_password_file": lambda project: Path("/etc/passwd"),
    "an_endless_device": lambda project: Path("/dev/zero"),
}


@pytest.mark.parametrize("target", OUT.values(), ids=OUT)
def test_a_projects_link_that_leaves_it_is_refused_and_what_it_leads_to_is_not_quoted(
    project: SettingsProject, way: str, target: Callable[[SettingsProject], Path]
) -> None:
    project.write_user_guard()
    project.settings_path.symlink_to(target(project))
    result = project.fire(way)
    assert result.runs == [(result.runs[0][0], "ok", 2, "block")]
    message = "settings.json is a link that leaves the project; no hook of it runs"
    assert result.skipped == {str(project.settings_path): f"ignored: {project.settings_path}: {message}"}
    assert_clean(project, result, LONG)


def test_a_projects_link_that_stays_within_it_is_followed(project: SettingsProject, way: str) -> None:
    project.write_entries(STAGE_NO, path=project.path / "shared.json")
    project.settings_path.symlink_to("../shared.json")
    assert (project.fire(way).decision, project.fire(way).skipped) == ("block", {})


def test_a_link_of_the_user_is_followed_to_any_place(project: SettingsProject, way: str) -> None:
    project.write_entries(STAGE_NO, path=project.scratch / "dotfiles.json")
    (project.claude_folder / "settings.json").symlink_to(project.scratch / "dotfiles.json")
    assert project.fire(way).decision == "block"


def folder_loop(project: SettingsProject) -> None:
    project.project_claude.rmdir()
    project.project_claude.symlink_to(project.project_claude)


def folder_closed(project: SettingsProject) -> None:
    project.write_entries(STAGE_NO)
    project.project_claude.chmod(0)


@pytest.mark.parametrize("place", [folder_loop, pytest.param(folder_closed, marks=pytest.mark.ordinary_user)])
def test_a_folder_of_settings_that_cannot_be_entered_is_reported(
    project: SettingsProject, way: str, place: Callable[[SettingsProject], None]
) -> None:
    project.write_user_guard()
    place(project)
    result = project.fire(way)
    if not project.project_claude.is_symlink():
        project.project_claude.chmod(0o755)
    assert (result.decision, sorted(result.skipped)[:1]) == ("block", [str(project.settings_path)])


@pytest.mark.parametrize("what", ["a file", "a fifo", "a link to nowhere"])
def test_something_else_in_place_of_the_folder_is_as_if_there_were_none(
    project: SettingsProject, way: str, what: str
) -> None:
    project.write_user_guard()
    project.project_claude.rmdir()
    if what == "a file":
        project.project_claude.write_text("")
    elif what == "a fifo":
        os.mkfifo(project.project_claude)
    else:
        project.project_claude.symlink_to(project.path / "gone")
    result = project.fire(way)
    assert (result.decision, result.skipped) == ("block", {})
    assert_clean(project, result, LONG)


# --- plugins


def a_plugin(project: SettingsProject) -> tuple[Path, Path]:
    """Enable a plugin that refuses everything; return its register and its hooks."""
    root = project.scratch / "plugin"
    (root / "hooks").mkdir(parents=True)
    hooks = project.write_entries(STAGE_NO, path=root / "hooks" / "hooks.json")
    register = project.claude_folder / "plugins" / "installed_plugins.json"
    register.parent.mkdir()
    register.write_text(json.dumps({"plugins": {"p@m": [{"installPath": str(root)}]}}))
    (project.claude_folder / "settings.json").write_text(json.dumps({"enabledPlugins": {"p@m": True}}))
    return register, hooks


def test_an_enabled_plugin_counts(project: SettingsProject, way: str) -> None:
    """The counter-test of those below."""
    a_plugin(project)
    assert project.fire(way).decision == "block"


def test_hooks_of_a_plugin_that_cannot_be_read_are_reported(project: SettingsProject, way: str) -> None:
    _, hooks = a_plugin(project)
    hooks.unlink()
    os.mkfifo(hooks)
    project.write_entries(STAGE_NO)
    result = project.fire(way)
    message = f"ignored: {hooks}: hooks.json is not a regular file; no hook of it runs"
    assert (result.decision, result.skipped) == ("block", {str(hooks): message})
    assert_clean(project, result, LONG)


REGISTERS = {"fifo": fifo, "directory": directory, "deep": deep, "not_json": not_json, "large": large, "loop": loop}


@pytest.mark.parametrize("place", REGISTERS.values(), ids=REGISTERS)
def test_a_register_of_plugins_that_cannot_be_read_is_reported(
    project: SettingsProject, way: str, place: Callable[[SettingsProject, Path], str]
) -> None:
    register, _ = a_plugin(project)
    register.unlink()
    place(project, register)
    project.write_entries(STAGE_NO)
    result = project.fire(way)
    assert (result.decision, list(result.skipped)) == ("block", [str(register)])
    assert_clean(project, result, LONG)


# --- commands


@pytest.mark.parametrize(
    "entry", [command("exit 0\0; rm -rf x"), command("echo", args=["a\0b"])], ids=["in_the_line", "in_an_argument"]
)
def test_a_nul_in_a_command_is_an_invalid_entry_that_is_reported(
    project: SettingsProject, way: str, entry: dict[str, Any]
) -> None:
    project.write_entries(entry, STAGE_NO)
    result = project.fire(way)
    message = "'args' must be a list of texts without NUL characters"
    if "args" not in entry:
        message = "'command' must be text that is not empty and has no NUL character, not text with a NUL character"
    assert (result.decision, result.reasons, len(result.runs)) == ("block", ["no"], 1)
    assert list(result.skipped.values()) == [f"hooks.PreToolUse[0].hooks[0]: {message}"]


@pytest.mark.parametrize(
    "entry", [command("echo \ud800"), command("echo", args=["\udfff"])], ids=["in_the_line", "in_an_argument"]
)
def test_half_a_character_in_a_command_fails_alone(project: SettingsProject, way: str, entry: dict[str, Any]) -> None:
    project.write_entries(entry, STAGE_NO)
    result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["no"])
    [(_, status, code, _)] = [run for run in result.runs if run[1] != "ok"]
    assert (status in ("failed", "refused"), code) == (True, None)
    assert_clean(project, result, LONG)


TOO_LONG = {"a_line": command("true " + "x" * 200_000), "an_argument": command("echo", args=["x" * 200_000])}


@pytest.mark.parametrize("entry", TOO_LONG.values(), ids=TOO_LONG)
def test_a_command_too_long_for_the_system_fails_and_names_the_cause(
    project: SettingsProject, way: str, entry: dict[str, Any]
) -> None:
    project.write_entries(entry, STAGE_NO)
    result = project.fire(way)
    program = shutil.which("echo" if "args" in entry else "bash")
    assert_stage(project, result, ("failed", None), f"{program} cannot be started: Argument list too long")


def test_a_command_as_long_as_the_system_takes_runs(project: SettingsProject, way: str) -> None:
    project.write_entries(command(f": {'x' * 100_000}; {NO}", timeout=LONG))
    assert project.fire(way).reasons == ["no"]


STARTED = 'touch "$SCRATCH/started"; '
TOO_SLOW = f"it did not end within {T:g} s"
SLOW = {
    "sleeps": "sleep 60; true",
    "sleeps_as_its_shell": "exec sleep 60",
    "ignores_signals": "trap '' TERM INT HUP; while :; do sleep 1; done",
    "stops_itself": "kill -STOP $$",
    "sleeps_and_has_detached_another": "setsid sleep 60 & sleep 61",
    "closes_its_output_and_sleeps": "exec 1>&- 2>&-; sleep 60; true",
    "floods": "exec cat /dev/zero",
    "floods_stderr": "exec cat /dev/zero >&2",
    "waits_for_more_input": "cat > /dev/null; exec 0< <(sleep 60); read line; sleep 60",
    "becomes_a_crowd": "for i in 1 2 3 4 5 6 7 8; do (setsid sleep 60 &) ; done; sleep 61",
}


@pytest.mark.parametrize("slow", SLOW.values(), ids=SLOW)
def test_a_command_that_does_not_end_is_ended(project: SettingsProject, way: str, slow: str) -> None:
    project.write_entries(slow, STAGE_NO)
    assert_stage(project, project.fire(way), ("timeout", None), TOO_SLOW, T)


def test_many_that_do_not_end_are_ended_at_the_same_time(project: SettingsProject, way: str) -> None:
    project.write_entries(*(f"{slow} # {n}" for n, slow in enumerate(SLOW.values())), STAGE_NO)
    result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["no"])
    assert sorted(run[1] for run in result.runs) == ["ok"] + ["timeout"] * len(SLOW)
    assert_clean(project, result, T)


DAEMONS = {
    "in_its_group": "sleep 60 &",
    "in_its_own_session": "setsid sleep 60 &",
    "forked_twice": "(setsid bash -c 'sleep 60 & disown; sleep 61' & disown) & sleep 0.05",
    "without_environment": "setsid env -i sh -c 'sleep 60; true' {mark} & sleep 0.1",
    "without_pipes": "setsid sleep 60 < /dev/null > /dev/null 2>&1 & sleep 0.05",
}


@pytest.mark.parametrize("daemon", DAEMONS.values(), ids=DAEMONS)
def test_what_a_command_leaves_behind_does_not_survive_and_its_answer_counts(
    project: SettingsProject, way: str, daemon: str
) -> None:
    project.write_entries(
        command(f"{daemon.format(mark=project.mark)}\n{NO}", timeout=LONG), command("true", timeout=LONG)
    )
    result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["no"])
    assert sorted(run[1:] for run in result.runs) == [("ok", 0, "none"), ("ok", 2, "block")]
    assert_clean(project, result, LONG)


UTF8 = "the answer is not valid: not UTF-8 at byte 0"
ENDS = {
    "closes_stdout": ("exec 1>&-; exit 0", ("ok", 0), None),
    "closes_everything": ("exec 0<&- 1>&- 2>&-; exit 0", ("ok", 0), None),
    "prints_ten_megabytes": (
        "head -c 10000000 /dev/zero | tr '\\0' x",
        ("unreadable", 0),
        "the answer is not valid: it is longer than 1 MiB",
    ),
    "says_ten_megabytes_on_stderr": (
        "head -c 10000000 /dev/zero | tr '\\0' x >&2; exit 3",
        ("failed", 3),
        f"exit code 3: {'x' * 8000}",
    ),
    "prints_binary": ("head -c 100 /dev/zero | tr '\\0' '\\377'", ("unreadable", 0), UTF8),
    "prints_a_program": ('head -c 5000 "$(command -v bash)"', ("unreadable", 0), None),
    "kills_its_shell": ("sh -c 'kill -9 $PPID'; true", ("failed", -9), "killed by signal 9"),
    "kills_its_group": ("kill -9 0", ("failed", -9), "killed by signal 9"),
    "is_not_there": ("no-such-program", ("failed", 127), None),
    "is_no_shell": ("if then (", ("ok", 2), None),
    "is_a_folder": ("/tmp", ("failed", 126), None),
    "fails_in_a_pipe": ("set -o pipefail; false | true", ("failed", 1), "exit code 1 (only exit 2 blocks)"),
    "answers_nonsense": ("echo '{\"decision\": [1]}'", ("unreadable", 0), None),
}


@pytest.mark.parametrize(("text", "end", "why"), ENDS.values(), ids=ENDS)
def test_a_command_that_ends_badly_ends_alone(
    project: SettingsProject, way: str, text: str, end: tuple[str, int], why: str | None
) -> None:
    project.write_entries(command(text, timeout=LONG), STAGE_NO)
    result = project.fire(way)
    assert result.decision == "block"
    assert "no" in result.reasons
    [mine] = [at for at, run in enumerate(result.runs) if run[0] != name_of(result, "no")]
    assert result.runs[mine][1:3] == end
    assert (result.why[mine] or "").startswith(why or "")
    assert_clean(project, result, LONG)


def name_of(result: Result, why: str) -> str:
    """The name of the hook whose reason is that."""
    return next(run["hook"] for run in result.verdict["runs"] if run["reason"] == why)


def test_a_shell_that_cannot_read_a_line_ends_with_2_and_so_blocks(project: SettingsProject, way: str) -> None:
    """Bash exits with 2 on a syntax error, which looks like a block; to block is the safer reading."""
    project.write_entries(command("if then (", timeout=LONG))
    result = project.fire(way)
    assert (result.decision, [run[1:] for run in result.runs]) == ("block", [("ok", 2, "block")])
    assert "syntax error" in result.reasons[0]


def test_a_failure_blocks_where_the_user_wants_that(project: SettingsProject, way: str) -> None:
    project.write_entries("sleep 60; true")
    name = project.fire(way).runs[0][0]
    (project.config / "hooks.toml").write_text(f'[[hooks.override]]\nname = "{name}"\non_failure = "block"\n')
    result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", [f"hook '{name}' timed out: {TOO_SLOW}"])
    assert_clean(project, result, T)


WITHOUT_SHELL = {
    "missing": ("no-such-program", "no-such-program does not exist (any more)"),
    "missing_path": ("/no/such/program", "/no/such/program does not exist (any more)"),
    "folder": ("/tmp", "/tmp cannot be started: Permission denied"),
    "not_executable": ("{root}/plain", "{root}/plain cannot be started: Permission denied"),
    "without_interpreter": (
        "{root}/odd",
        "{root}/odd cannot be started: its interpreter /no/such/interpreter does not exist here",
    ),
}


@pytest.mark.parametrize(("program", "why"), WITHOUT_SHELL.values(), ids=WITHOUT_SHELL)
def test_a_program_that_cannot_be_started_is_named(project: SettingsProject, way: str, program: str, why: str) -> None:
    (project.path / "plain").write_text("#!/bin/sh\n")
    (project.path / "odd").write_text("#!/no/such/interpreter\n")
    (project.path / "odd").chmod(0o755)
    project.write_entries(command(program.format(root=project.path), args=[]), STAGE_NO)
    assert_stage(project, project.fire(way), ("failed", None), why.format(root=project.path))


def test_a_shell_that_is_not_here_is_reported(project: SettingsProject, way: str) -> None:
    if shutil.which("pwsh") or shutil.which("powershell"):
        pytest.skip("powershell is here")
    project.write_entries(command("exit 2", shell="powershell"), STAGE_NO)
    why = "its shell is powershell, which is not found on the PATH"
    assert_stage(project, project.fire(way), ("refused", None), why)


def test_a_background_command_keeps_its_timeout_and_leaves_nothing(project: SettingsProject, way: str) -> None:
    project.write_entries(command("setsid sleep 60 & sleep 61", **{"async": True}), command("true", timeout=LONG))
    code = "engine = load(); engine.dispatch(EVENT); report({'left': engine.drain(60)})"
    if way == WAYS[0]:
        assert project.probe(code) == {"left": 0}
    else:
        assert project.run_plain() == Ended(0, b"", b"")
    assert project.wait_until_gone() == []
    [line] = project.log.read_text().splitlines()
    assert line.endswith(f"timeout: {TOO_SLOW}")


# --- servers

Talk = Callable[[socket.socket], None]


@contextlib.contextmanager
def server(talk: Talk) -> Iterator[str]:
    """Talk to everybody who comes, each for itself, after the first bytes of their request; return the address."""
    with socket.create_server(("127.0.0.1", 0)) as listener, contextlib.ExitStack() as guests:

        def greet(guest: socket.socket) -> None:
            with contextlib.suppress(OSError), guest:
                guest.recv(65536)
                talk(guest)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    guest, _ = listener.accept()
                    guests.callback(guest.close)
                    threading.Thread(target=greet, args=(guest,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/hook"
        listener.shutdown(socket.SHUT_RDWR)


def silent(guest: socket.socket) -> None:
    while guest.recv(65536):
        pass


def drip(guest: socket.socket) -> None:
    guest.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not threading.Event().wait(0.02):
        guest.sendall(b" ")


def drip_header(guest: socket.socket) -> None:
    guest.sendall(b"HTTP/1.1 200 OK\r\n")
    while not threading.Event().wait(0.02):
        guest.sendall(b"x")


def flood(guest: socket.socket) -> None:
    guest.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        guest.sendall(b" " * 65536)


def redirect(guest: socket.socket) -> None:
    guest.sendall(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/x\r\nContent-Length: 0\r\n\r\n")


def close(guest: socket.socket) -> None:
    guest.shutdown(socket.SHUT_RDWR)


def nonsense(guest: socket.socket) -> None:
    guest.sendall(b"\0\1\2 what?\r\n\r\n")
    guest.shutdown(socket.SHUT_RDWR)


def half(guest: socket.socket) -> None:
    guest.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"decision": "approve"}')
    guest.shutdown(socket.SHUT_RDWR)


ASK_T, MODEL_T = 1.5, 3.0  # who asks should have started by then


def asks(url: str) -> dict[str, Any]:
    return {"type": "http", "url": url, "timeout": ASK_T}


@pytest.mark.parametrize("talk", [silent, drip, drip_header])
def test_a_server_that_does_not_come_to_an_end_is_given_up(project: SettingsProject, way: str, talk: Talk) -> None:
    with server(talk) as url:
        project.write_entries(asks(url), STAGE_NO)
        result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["no"])
    assert [run[1:] for run in result.runs if run[1] != "ok"] in (
        [("timeout", None, "none")],
        [("failed", 3, "none")],
    )
    [why] = [reported for reported in result.why if reported != "no"]
    assert "it did not end within" in (why or "") or "did not answer within" in (why or "")
    assert_clean(project, result, ASK_T)


REFUSED = {
    "redirect": (redirect, "{where} answered 307 Temporary Redirect, a redirect to 127.0.0.1:9; redirects are refused"),
    "close": (close, "{where} gave no answer: "),
    "nonsense": (nonsense, "{where} gave no answer: "),
    "half": (half, "{where} gave no answer: "),
    "flood": (flood, "{where} answered with more than 1,048,576 bytes; make the answer shorter"),
}


@pytest.mark.parametrize(("talk", "why"), REFUSED.values(), ids=REFUSED)
def test_a_server_that_sends_no_answer_is_a_failure_that_names_the_cause(
    project: SettingsProject, way: str, talk: Talk, why: str
) -> None:
    with server(talk) as url:
        project.write_entries({**asks(url), "timeout": LONG}, STAGE_NO)
        result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["no"])
    assert [run[1:] for run in result.runs if run[1] != "ok"] == [("failed", 3, "none")]
    [reported] = [text for text in result.why if text != "no"]
    assert (reported or "").startswith(why.format(where=url.removesuffix("/hook")))
    assert_clean(project, result, LONG)


def test_a_server_that_is_not_running_is_a_failure_that_names_the_cause(project: SettingsProject, way: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        url = f"http://127.0.0.1:{held.getsockname()[1]}/hook"
    project.write_entries({**asks(url), "timeout": LONG}, STAGE_NO)
    why = f"{url.removesuffix('/hook')} gave no answer: Connection refused; is the server running, and is the hook's url right?"
    assert_stage(project, project.fire(way), ("failed", 3), why)


def test_a_server_that_never_lets_anybody_in_is_given_up(project: SettingsProject, way: str) -> None:
    """Its queue is full, so that a connection is never made."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as held, contextlib.ExitStack() as waiting:
        for _ in range(4):
            guest = waiting.enter_context(socket.socket())
            guest.setblocking(False)
            guest.connect_ex(held.getsockname())
        project.write_entries(asks(f"http://127.0.0.1:{held.getsockname()[1]}/"), STAGE_NO)
        result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["no"])
    assert [run[1] for run in result.runs if run[1] != "ok"] in (["timeout"], ["failed"])
    assert_clean(project, result, ASK_T)


# --- models


@pytest.mark.parametrize(("way", "talk"), [(WAYS[0], silent), (WAYS[0], drip), (WAYS[0], flood), (WAYS[1], silent)])
def test_a_model_that_never_answers_is_given_up(project: SettingsProject, way: str, talk: Talk) -> None:
    (project.config / "hooks.toml").write_text(f'[hooks]\nmodel = "{CHAT}"\n')
    with server(talk) as url:
        project.more_variables = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "dummy"}
        project.write_entries({"type": "prompt", "prompt": "May it?", "timeout": MODEL_T}, STAGE_NO)
        result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["no"])
    [bad] = [run for run in result.runs if run[1] != "ok"]
    assert bad[1:] in (("timeout", None, "none"), ("failed", 3, "none"))
    assert_clean(project, result, MODEL_T)


def test_a_prompt_hook_without_a_model_ends_at_once_and_shows_how_to_fix_it(project: SettingsProject, way: str) -> None:
    project.write_entries({"type": "prompt", "prompt": "May it?"}, STAGE_NO)
    result = project.fire(way)
    why = (
        'no model is named for prompt hooks: set model = "provider:name" under [hooks] in your hooks.toml, '
        "or 'model' in the hook"
    )
    assert_stage(project, result, ("refused", None), why)


# --- both forms, everything at once


def test_everything_that_can_go_wrong_goes_wrong_at_once(project: SettingsProject, way: str) -> None:
    project.write_hook("slow", "sleep 60", timeout=500)
    project.write_hook("last", "exit 0", priority=1)
    bad = [command(f"{text} # {name}") for name, (text, _, _) in ENDS.items() if name != "is_no_shell"]
    bad += [command(f"{text} # {name}") for name, text in SLOW.items()]
    with server(silent) as url:
        project.write_entries(*bad, asks(url), {"type": "nonsense"})
        (project.project_claude / "settings.local.json").write_text("{")
        result = project.fire(way)
    assert (result.decision, result.reasons) == ("none", [])
    assert result.runs[-1] == ("last", "ok", 0, "none")
    assert len(result.runs) == len(bad) + 3
    assert len(result.skipped) == 2
    assert project.list_survivors() == []


def test_sixteen_floods_at_once_stay_within_memory(project: SettingsProject, way: str) -> None:
    flood = "head -c 10000000 /dev/zero | tr '\\0' x # "
    project.write_entries(STAGE_NO, *(command(f"{flood}{n}", timeout=LONG) for n in range(15)))
    result = project.fire(way)
    assert sorted(run[1:] for run in result.runs) == [("ok", 2, "block")] + [("unreadable", 0, "none")] * 15
    assert_clean(project, result, LONG)


def test_a_burst_of_events_with_many_hooks_each_loses_no_block(project: SettingsProject) -> None:
    """As row 23 has it for one hook an event; a host has so many descriptors and no more."""
    project.write_entries(STAGE_NO, *(command(f"true # {n}", timeout=LONG) for n in range(15)))
    code = """
import resource
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
engine, event = load(), EVENT
engine.dispatch(event)
fds = descriptors()
with ThreadPoolExecutor(60) as pool:
    verdicts = list(pool.map(engine.dispatch, [event] * 60))
decisions = Counter(verdict.decision.word for verdict in verdicts)
ends = Counter(run.error for verdict in verdicts for run in verdict.runs)
report({"decisions": decisions, "ends": ends, "fds": [fds, descriptors()]})
"""
    found = project.probe(code, limit=60)
    assert (found["decisions"], found["ends"]) == ({"block": 60}, {"": 960})
    assert found["fds"][0] == found["fds"][1]
    assert project.list_survivors() == []


def test_a_stage_does_not_survive_an_engine_that_is_killed(project: SettingsProject) -> None:
    """By one of its own hooks; what the others had started goes with it."""
    watched = "until [ $(pgrep -c -P $PPID -f 'read -r [_]') = 2 ]; do sleep 0.02; done"
    project.write_entries(
        command(f"{watched}; kill -9 $PPID; sleep 60", timeout=LONG), command("sleep 60; true", timeout=LONG)
    )
    ended = project.run_plain()
    assert (ended.code, ended.stdout) == (-9, b"")
    assert project.wait_until_gone() == []
