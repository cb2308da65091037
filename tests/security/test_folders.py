"""Where hooks run and where they are looked for: no folder that a model can choose, close or remove disables a guard."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import boathook
from boathook.catalog_cache.format import read_compiled
from boathook.catalog_cache.host_section import make_host_sections
from boathook.catalog_cache.write import write_compiled
from boathook.core.catalog import Catalog
from boathook.entry import fast_path, run_once
from boathook.entry.options import parse_options
from boathook.hosts.host import list_host_names, load_host
from boathook.sources.source import SOURCES
from boathook.system.locations import OWN_FOLDER, Locations, resolve_locations
from tests import forked
from tests.scratch_project import CALL, HOOK_ENTRY, ScratchProject

# Agents whose answer to a blocked call is easy to read, each with its name for the event and for its shell.
HOSTS = {
    "native": ("pre-tool-call", "Shell"),
    "claude": ("PreToolUse", "Bash"),
    "codex": ("PreToolUse", "Bash"),
    "copilot": ("preToolUse", "bash"),
    "cursor": ("preToolUse", "Shell"),
    "gemini": ("BeforeTool", "run_shell_command"),
    "kimi-code": ("PreToolUse", "Bash"),
    "qwen": ("PreToolUse", "run_shell_command"),
    "vscode": ("PreToolUse", "run_in_terminal"),
}
# Work dirs that an ordinary user cannot enter.
CLOSED = ("project/closed", "/root", "/proc/1/cwd")
# Work dirs that are no folders, for every user.
ODD = ("project/gone", "project/file", "project/broken")


def send(
    project: ScratchProject,
    host: str,
    work_dir: str,
    *flags: str,
    start: str = "",
    command: str = "ls",
    env: dict[str, str] | None = None,
    **fields: object,
) -> subprocess.CompletedProcess[str]:
    """Be a host: start the entry before a shell call, in the project or in `start`."""
    event, tool = HOSTS[host]
    payload = {"tool_name": tool, "tool_input": {"command": command}, "session_id": "s"}
    names = ("event_type", "work_dir") if host == "native" else ("hook_event_name", "cwd")
    payload |= {names[0]: event, names[1]: work_dir, **fields}
    argv = [sys.executable, "-I", "-S", HOOK_ENTRY, "--host", host, "--event", event, *flags]
    return forked.run(
        argv,
        input=json.dumps(payload),
        cwd=start or project.path,
        env={**project.environment, **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def is_refused(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the host takes an answer as a refusal."""
    return done.returncode == 2 or '"deny"' in done.stdout


@pytest.fixture
def guarded(project: ScratchProject) -> ScratchProject:
    """A project without hooks, and a guard of the user that refuses everything and says where it ran."""
    project.write_hook("guard", 'echo "ran in $(pwd -P)" >&2; exit 2')
    (project.path / "closed").mkdir(mode=0)
    (project.path / "file").write_text("")
    (project.path / "broken").symlink_to("nowhere")
    return project


@pytest.mark.ordinary_user
@pytest.mark.parametrize("folder", CLOSED)
@pytest.mark.parametrize("host", ["native", "claude", "codex"])
def test_a_work_dir_that_cannot_be_entered_does_not_disable_a_guard(guarded, host, folder):
    done = send(guarded, host, os.path.join(guarded.base, folder))
    assert is_refused(done), done.stdout + done.stderr
    assert "ran in" in done.stdout + done.stderr


@pytest.mark.parametrize("folder", ODD)
@pytest.mark.parametrize("host", ["native", "kimi-code"])
def test_a_work_dir_that_is_not_a_folder_does_not_disable_a_guard(guarded, host, folder):
    done = send(guarded, host, os.path.join(guarded.base, folder))
    assert is_refused(done), done.stdout + done.stderr
    assert "ran in" in done.stdout + done.stderr


def test_a_hook_runs_in_the_project_if_its_work_dir_is_gone_else_in_the_home_else_at_the_top(guarded):
    gone = f"{guarded.path}/gone"
    done = send(guarded, "native", gone)
    assert f"ran in {guarded.home}\n" in done.stderr
    assert f"the work dir '{gone}' does not exist; it was run in {guarded.home}\n" in done.stderr
    done = send(guarded, "native", gone, "--project", str(guarded.path))
    assert f"ran in {guarded.path}\n" in done.stderr
    assert f"it was run in {guarded.path}\n" in done.stderr
    done = send(guarded, "native", gone, "--config", str(guarded.config), env={"HOME": f"{guarded.base}/no-home"})
    assert "ran in /\n" in done.stderr
    assert "it was run in /\n" in done.stderr


def test_the_message_describes_what_is_wrong_with_the_work_dir(guarded):
    done = send(guarded, "native", f"{guarded.path}/file")
    assert f"the work dir '{guarded.path}/file' is not a folder; it was run in {guarded.home}\n" in done.stderr


@pytest.mark.ordinary_user
def test_a_closed_folder_is_not_a_project_and_is_reported(guarded):
    closed = guarded.path / "closed"
    done = send(guarded, "native", str(closed), "--json")
    verdict = json.loads(done.stdout)
    assert [run["hook"] for run in verdict["runs"]] == ["guard"]
    (skip,) = verdict["skipped"]
    assert skip["hook"] == str(closed)
    assert "cannot be entered" in skip["why"]
    # and below a project with a trusted guard, that project is found
    guarded.write_hook("project-guard", "echo project >&2; exit 2", scope="project", fields={"priority": 900})
    guarded.trust()
    done = send(guarded, "native", str(closed))
    assert done.stderr.startswith("project\n")


@pytest.mark.ordinary_user
def test_a_closed_folder_above_the_project_is_reported_at_every_event(project):
    project.write_hook("guard", "exit 2", scope="project")
    project.trust()
    above = project.base
    argv = [sys.executable, "-I", "-S", HOOK_ENTRY, "--json", "--config", "/nowhere", "--state", "/nowhere"]
    event = json.dumps({**CALL, "work_dir": str(project.path)})
    above.chmod(0)
    try:
        done = subprocess.run(
            argv, input=event, env={"HOME": "/nowhere"}, cwd="/", capture_output=True, text=True, check=False
        )
    finally:
        above.chmod(0o755)
    assert str(above) in [skip["hook"] for skip in json.loads(done.stdout)["skipped"]]


@pytest.mark.ordinary_user
def test_a_project_whose_agents_folder_is_closed_is_reported(project):
    folder = project.write_hook("guard", "exit 2", scope="project").parent.parent
    project.trust()
    folder.chmod(0)
    try:
        verdict = json.loads(send(project, "native", str(project.path), "--json").stdout)
    finally:
        folder.chmod(0o755)
    assert [skip["hook"] for skip in verdict["skipped"]] == ["guard", f"{folder}/hooks", f"{folder}/packs"]


def test_a_folder_that_is_closed_in_the_last_moment_does_not_stop_a_guard(project, monkeypatch):
    project.write_hook("guard", "echo no >&2; exit 2")
    folder = project.path / "sub"
    folder.mkdir()
    real = os.access

    def remove_then_ask(path, *rest, **more):
        answer = real(path, *rest, **more)
        if path == str(folder):
            folder.rmdir()
        return answer

    with boathook.load(project.path) as engine:
        monkeypatch.setattr(os, "access", remove_then_ask)
        verdict = engine.dispatch({**CALL, "work_dir": str(folder)})
    assert verdict.reasons == ("no",)
    assert any("cannot be entered any more; it was run in /" in note for run in verdict.runs for note in run.notes)


@pytest.mark.parametrize("host", HOSTS)
def test_an_internal_error_before_a_tool_call_is_a_refusal(project, host, monkeypatch, capfd):
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/proc/1/cwd")

    monkeypatch.setattr("boathook.assembly.load_for_event", fail)
    event, tool = HOSTS[host]
    payload = {"tool_name": tool, "tool_input": {"command": "ls"}}
    payload["event_type" if host == "native" else "hook_event_name"] = event
    for flags in ([], ["--event", event]):
        code = run_once.main(["--host", host, *flags], json.dumps(payload).encode())
        printed = capfd.readouterr()
        assert code == 2 or '"deny"' in printed.out
        assert "internal error" in printed.err


@pytest.mark.parametrize(("host", "event"), [("native", "pre-agent-turn-stop"), ("claude", "Stop"), ("codex", "Stop")])
def test_an_internal_error_does_not_send_an_agent_back_to_work(project, host, event, monkeypatch, capfd):
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("boathook.assembly.load_for_event", fail)
    key = "event_type" if host == "native" else "hook_event_name"
    assert run_once.main(["--host", host], json.dumps({key: event}).encode()) == 1
    assert capfd.readouterr().out == ""


# The project of a session, where it is found


def write_project_guard(project: ScratchProject) -> str:
    """Write a guard of the project, which refuses one command, and a folder elsewhere; return that folder."""
    script = 'echo "$AGENT_WORK_DIR $AGENT_PROJECT_DIR" >&2; exit 2'
    fields = {"matcher": "{tool: Shell, pattern: FFF}"}
    project.write_hook("guard", script, scope="project", fields=fields)
    elsewhere = project.base / "elsewhere"
    elsewhere.mkdir()
    return str(elsewhere)


def name_project(host: str, path: Path) -> tuple[dict[str, str], dict[str, object], str]:
    """Name a project as a host does: by a variable, by a field of the payload, or by the folder in which it starts us."""
    place, start = load_host(host).project_at[0], str(path.parent)
    if place == OWN_FOLDER:
        return {}, {}, str(path)
    if place.startswith("$"):
        return {place[1:]: str(path)}, {}, start
    return {}, {place.removesuffix(".0"): [str(path)] if place.endswith(".0") else str(path)}, start


@pytest.mark.parametrize("host", [name for name in HOSTS if name != "native"])
def test_the_folder_of_a_call_does_not_choose_the_hooks_of_the_project(project, host):
    elsewhere = write_project_guard(project)
    env, fields, start = name_project(host, project.path)
    done = send(project, host, elsewhere, "--trust-all", command="touch FFF", env=env, start=start, **fields)
    assert is_refused(done), done.stdout + done.stderr
    # where the payload's own folder is the project, a call cannot name another one
    work_dir = project.path if load_host(host).project_at == ("cwd",) else elsewhere
    assert f"{work_dir} {project.path}" in done.stdout + done.stderr


def test_a_model_cannot_put_an_empty_project_before_the_guard_in_codex(project):
    write_project_guard(project)
    (project.path / "sub/.agents/hooks").mkdir(parents=True)
    done = send(project, "codex", f"{project.path}/sub", "--trust-all", command="touch FFF")
    assert is_refused(done), done.stdout + done.stderr


def test_the_event_of_the_native_host_still_names_the_folder(project):
    elsewhere = write_project_guard(project)
    done = send(project, "native", elsewhere, "--trust-all", command="touch FFF")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", list_host_names())
def test_every_agent_has_a_place_that_names_its_project(name):
    host = load_host(name)
    assert host.project_at, f"{name} needs project_at, with the evidence for it in a comment"
    fields = [place for place in host.project_at if place != OWN_FOLDER and not place.startswith("$")]
    # the key of the event's folder is taken out of the payload: see `AgentHost.get_field`
    assert all("." in place or host.folder_keys == (place,) for place in fields)


@pytest.mark.parametrize("host", ["codex", "claude", "cursor"])
def test_the_fast_path_finds_the_project_of_the_row(project, host):
    elsewhere = write_project_guard(project)
    env, fields, start = name_project(host, project.path)
    locations = find_locations(project, host, elsewhere, env, fields, start)
    assert locations.projects == (str(project.path),)
    assert find_locations(project, host, elsewhere, {}, {}, elsewhere).projects == ()


def find_locations(
    project: ScratchProject, host: str, folder: str, env: dict[str, str], fields: dict[str, object], start: str
) -> Locations:
    """Return what the fast path uses, with the rows of a catalogue that is there for every folder."""
    event = {"cwd": folder, **fields}
    options = parse_options(["--host", host])
    row = make_host_sections()[f"host {host}"][0]
    with contextlib.chdir(start):
        environment = {name.encode(): value.encode() for name, value in {**project.environment, **env}.items()}
        return fast_path._locate(options, fast_path._find_start(options, event, environment, row), environment)


# The compiled catalogue


def forge_catalogue(project: ScratchProject, cache: Path, flags: list[str]) -> Path:
    """Write a catalogue without hooks and without anything to watch for these flags, as an attacker could."""
    folders = parse_options(flags).folders
    environment = {name.encode(): value.encode() for name, value in project.environment.items()}
    locations = resolve_locations(SOURCES, str(project.path), environment, given=folders)
    locations.cache = str(cache)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("boathook.catalog_cache.write.list_fixed_paths", lambda _: [])
        assert write_compiled(Catalog(()), (), locations, time.time())
    return next(cache.iterdir())


def fix_folders(project: ScratchProject) -> list[str]:
    """Return the flags that `install` writes."""
    return ["--config", str(project.config), "--claude", str(project.claude_folder), "--state", str(project.state)]


def test_a_variable_cannot_put_a_forged_catalogue_before_the_guard(guarded):
    # an archive without .git, and a host that takes over the variables of the project
    flags = fix_folders(guarded)
    cache = guarded.base / "unpacked/cache/boathook"
    forge_catalogue(guarded, cache, flags)
    env = {"XDG_CACHE_HOME": str(cache.parent)}
    done = send(guarded, "native", str(guarded.path), *flags, env=env)
    assert (done.returncode, done.stderr) == (2, f"ran in {guarded.path}\n")


def test_a_catalogue_that_does_not_watch_the_folders_of_hooks_is_not_believed(guarded):
    flags = fix_folders(guarded)
    forged = forge_catalogue(guarded, guarded.state / "cache", flags)
    done = send(guarded, "native", str(guarded.path), *flags)
    assert (done.returncode, done.stderr) == (2, f"ran in {guarded.path}\n")
    # it was found, and its checksum, version and key are right
    key = resolve_locations(SOURCES, str(guarded.path), dict(os.environb), given=parse_options(flags).folders).key
    assert forged.exists()
    assert read_compiled(str(forged), key) is not None


def test_the_catalogue_of_fixed_folders_is_below_the_state_folder(project):
    given = {"state": "/somewhere/state"}
    environment = {b"HOME": b"/home/me", b"XDG_CACHE_HOME": b"/elsewhere"}
    assert resolve_locations(SOURCES, "/p", environment, given=given).cache == "/somewhere/state/cache"
    assert resolve_locations(SOURCES, "/p", environment).cache == "/elsewhere/boathook"
