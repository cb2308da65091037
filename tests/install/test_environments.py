"""Real environments that change under an installation: whatever happens, a tool call is refused or judged, and a prompt goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import boathook
from boathook.core.hook import USER
from boathook.hosts.host import load_host
from boathook.hosts.setup import FILES, PLUGIN, list_setups
from boathook.install.formats import ENTRY_FORMATS
from boathook.install.host_files import list_host_files
from boathook.install.probe import make_probe_event
from boathook.install.status import find_installed_entries
from tests.install.helpers import target_of

# Each makes an environment of its own.
pytestmark = pytest.mark.installed

HOSTS = [setup for setup in list_setups() if setup.format != PLUGIN]
# Where environments are, below a home folder.
LAYOUTS = ("venv", ".local/share/pipx/venvs/boathook", ".local/share/uv/tools/boathook")
OWN_REASON, ABSENT_REASON = "no by the guard", "boathook cannot start"
MINOR = f"python{sys.version_info.major}.{sys.version_info.minor}"
INSTALL_EACH = """
import sys
from boathook.cli.commands import cli
for host in sys.argv[1:]:
    cli(["install", host, "--yes"], standalone_mode=False)
"""
LIBRARIES = Path(click.__file__).parents[1]


@pytest.fixture(scope="session")
def whole_environment(tmp_path_factory) -> Path:
    """Make a virtual environment with a copy of this package and of the libraries it needs; tests take copies of it."""
    folder = tmp_path_factory.mktemp("environment") / "whole"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, capture_output=True)
    _copy_package(_find_packages(folder))
    _link_libraries(folder, ("yaml", "_yaml", "re2", "_re2", "regex", "click", "rich"))
    return folder


def _link_libraries(env: Path, names: tuple[str, ...]) -> None:
    for path in LIBRARIES.iterdir():
        if path.name.split(".")[0] in names:
            (_find_packages(env) / path.name).symlink_to(path)


def _remove_libraries(env: Path, names: tuple[str, ...]) -> None:
    for path in _find_packages(env).iterdir():
        if path.name.split(".")[0] in names:
            path.unlink()


def _copy_package(packages: Path) -> None:
    package = Path(boathook.__file__).parent
    shutil.copytree(package, packages / "boathook")


def _find_packages(env: Path) -> Path:
    (packages,) = env.glob("lib/python*/site-packages")
    return packages


@pytest.fixture
def env(project, request, whole_environment):
    """Return an environment with boathook, and write a guard that blocks every tool call."""
    folder = project.home / getattr(request, "param", LAYOUTS[0])
    # Nothing that the tests use in an environment has its path.
    shutil.copytree(whole_environment, folder, symlinks=True)
    project.write_hook("guard", script=f"echo {OWN_REASON} >&2; exit 2")
    return folder


def _install(project, env: Path, setups=None) -> None:
    """Install boathook from an environment in some agents, or in all."""
    names = [setup.name for setup in (list_setups() if setups is None else setups)]
    command = [str(env / "bin/python"), "-c", INSTALL_EACH, *names]
    subprocess.run(command, capture_output=True, cwd=project.path, env=project.environment, check=True)
    # What was compiled while installing needs no library.
    shutil.rmtree(project.cache, ignore_errors=True)


def _boathook(project, env: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(env / "bin/python"), "-m", "boathook", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=project.path, env=project.environment)
    assert done.returncode == 0, done.stderr
    return done


def _find_lines(project, setup) -> dict[str, list[str]]:
    """Return what each event runs, as it is in the files of an agent."""
    found: dict[str, list[str]] = {}
    for file in list_host_files(setup, target_of(project)):
        for event, entries in find_installed_entries(file).items():
            line = ENTRY_FORMATS[setup.format].list_commands(entries[0], file)[0]
            found[event] = [file.path] if setup.format == FILES else ["/bin/sh", "-c", line]
    return found


def _ask(project, setup, argv: list[str], kind: str) -> tuple[int, Any, str]:
    host = load_host(setup.name)
    row = next(row for row in host.events if row.kind_name == kind and row.is_installed)
    payload = {**json.loads(make_probe_event(host, row, str(project.path))), "prompt": "hello"}
    done = subprocess.run(
        argv,
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        cwd=project.path,
        env=project.environment,
        timeout=60,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stdout + done.stderr


def _is_refused(code: int, answer: Any) -> bool:
    specific = answer.get("hookSpecificOutput", {})
    words = [answer.get(key) for key in ("decision", "permission", "permissionDecision", "behavior")]
    is_denied = {*words, specific.get("permissionDecision")} & {"deny", "block"}
    return code == 2 or bool(is_denied) or answer.get("cancel") is True or answer.get("continue") is False


def _check_all(project, reason: str, hosts=HOSTS) -> None:
    for setup in hosts:
        host = load_host(setup.name)
        lines = _find_lines(project, setup)
        for row in host.events:
            if row.name not in lines or row.kind_name not in ("pre-tool-call", "pre-agent-turn", "pre-agent-turn-stop"):
                continue
            code, answer, text = _ask(project, setup, lines[row.name], row.kind_name)
            if row.kind_name != "pre-tool-call":
                assert (_is_refused(code, answer), code) == (False, 0), (setup.name, row.name, text)
                continue
            assert _is_refused(code, answer), (setup.name, row.name, code, text)
            assert reason in text, (setup.name, text)


def _keep_hosts(*names: str):
    return [setup for setup in HOSTS if setup.name in names]


# The other layouts differ by their paths only.
@pytest.mark.parametrize(
    "env",
    [LAYOUTS[0], *(pytest.param(layout, marks=pytest.mark.long) for layout in LAYOUTS[1:])],
    indirect=True,
    ids=["venv", "pipx", "uv tool"],
)
def test_an_environment_is_whole_then_gone(project, env):
    # In the first layout all of them: what an agent runs does not depend on it.
    hosts = HOSTS if env.name == LAYOUTS[0] else _keep_hosts("claude", "codex", "gemini")
    _install(project, env, hosts)
    _check_all(project, OWN_REASON, hosts)
    shutil.rmtree(env)
    _check_all(project, ABSENT_REASON, hosts)


def test_an_environment_is_moved_and_repaired(project, env):
    _install(project, env)
    moved = env.rename(env.with_name("moved"))
    _check_all(project, ABSENT_REASON, _keep_hosts("claude", "cursor", "copilot"))
    done = subprocess.run(
        [str(moved / "bin/python"), "-m", "boathook", "doctor", "--fix", "--yes"],
        capture_output=True,
        text=True,
        cwd=project.path,
        env=project.environment,
    )
    assert all(f"{setup.name} is repaired" in done.stdout for setup in list_setups()), done.stdout + done.stderr
    assert str(moved) in (project.home / ".claude/settings.json").read_text()
    hosts = json.loads(_boathook(project, moved, "status", "--json").stdout)["hosts"]
    assert {row["state"] for host in hosts for row in host["statuses"] if row["scope"] == USER} == {"installed"}


# What each agent is told of an engine that is gone is the same whatever is missing: above all agents are asked, here some.
in_some_agents = pytest.mark.parametrize(
    "hosts",
    [_keep_hosts("claude", "cline", "windsurf"), pytest.param(HOSTS, marks=pytest.mark.long)],
    ids=["some agents", "all agents"],
)


@in_some_agents
def test_a_package_is_removed_and_installed_again_in_place(project, env, hosts):
    _install(project, env)
    shutil.rmtree(_find_packages(env) / "boathook")
    _check_all(project, ABSENT_REASON, hosts)
    _copy_package(_find_packages(env))
    _check_all(project, OWN_REASON, _keep_hosts("claude", "copilot", "qwen", "vscode"))


# Another Python comes into an environment when its link leads to it, as after an upgrade of the system.
def _link_anew(env: Path, python: str) -> None:
    for path in (env / "bin").glob("python*"):
        path.unlink()
    (env / "bin/python").symlink_to(python)


def _rename_libraries(env: Path) -> None:
    (env / "lib" / MINOR).rename(env / "lib/python3.99")


def _list_other_pythons() -> list[str]:
    """Return interpreters of other minor versions on this machine, one of each."""
    names = [f"python3.{minor}" for minor in range(6, 20) if minor != sys.version_info.minor]
    pyenv = Path(os.path.realpath(sys.executable)).parents[2]
    found = [shutil.which(name) or next(map(str, pyenv.glob(f"3.*/bin/{name}")), "") for name in names]
    works = [path for path in found if path and subprocess.run([path, "-I", "-c", ""], check=False).returncode == 0]
    return [os.path.realpath(path) for path in works]


def test_another_python_under_an_environment(project, env):
    few = _keep_hosts("claude", "cline", "windsurf")
    _install(project, env, few)
    for python in _list_other_pythons():
        _link_anew(env, python)
        _check_all(project, ABSENT_REASON, few)
    _rename_libraries(env)
    _check_all(project, ABSENT_REASON, few)


def test_an_environment_that_another_python_made_again(project, env):
    few = _keep_hosts("claude", "gemini")
    _install(project, env, few)
    for python in _list_other_pythons()[-1:]:
        subprocess.run([python, "-m", "venv", "--without-pip", "--clear", str(env)], check=True, capture_output=True)
        _check_all(project, ABSENT_REASON, few)
    shutil.rmtree(env / "lib")
    _check_all(project, ABSENT_REASON, few)


def test_a_base_python_that_is_gone(project, env):
    few = _keep_hosts("claude", "kiro-cli")
    _install(project, env, few)
    (env / "bin" / "python").unlink()
    (env / "bin" / "python").symlink_to("/gone/bin/python3")
    _check_all(project, ABSENT_REASON, few)


@in_some_agents
def test_a_library_without_a_substitute_is_missing(project, env, hosts):
    _install(project, env, hosts)
    _remove_libraries(env, ("yaml", "_yaml"))
    _check_all(project, ABSENT_REASON, hosts)


def test_a_library_with_a_substitute_is_missing(project, env):
    hosts = _keep_hosts("claude", "kimi-code")
    _install(project, env, hosts)
    for names in (("re2", "_re2"), ("regex",), ("re2", "_re2", "regex")):
        _remove_libraries(env, names)
        _check_all(project, OWN_REASON, hosts)
        _link_libraries(env, names)
        # What was compiled without a library is no matter of the next.
        shutil.rmtree(project.cache, ignore_errors=True)


@pytest.mark.parametrize("names", [("re2", "_re2"), ("regex",), ("re2", "_re2", "regex")], ids="+".join)
def test_a_guard_whose_pattern_needs_a_missing_library_refuses(project, env, names):
    _install(project, env, _keep_hosts("claude"))
    project.write_hook(
        "guard",
        script=f"echo {OWN_REASON} >&2; exit 2",
        fields={"matcher": "{tool: '^(?!x)boat.*', pattern: '(?!x)'}"},
    )
    _remove_libraries(env, names)
    setup = _keep_hosts("claude")[0]
    code, answer, text = _ask(project, setup, _find_lines(project, setup)["PreToolUse"], "pre-tool-call")
    assert _is_refused(code, answer), text
    code, answer, text = _ask(project, setup, _find_lines(project, setup)["UserPromptSubmit"], "pre-agent-turn")
    assert not _is_refused(code, answer), text


def test_an_interpreter_that_exists_and_cannot_start_lets_calls_pass_and_doctor_finds_it(project, env):
    """What no line can catch: after `exec` there is no shell. OpenCode's plugin refuses even then."""
    _install(project, env, _keep_hosts("claude"))
    python = env / "bin/python"
    python.unlink()
    python.write_text("#!/bin/sh\necho 'libpython3.so: cannot open shared object file' >&2\nexit 127\n")
    python.chmod(0o755)
    setup = _keep_hosts("claude")[0]
    code, answer, _ = _ask(project, setup, _find_lines(project, setup)["PreToolUse"], "pre-tool-call")
    assert (code, answer) == (127, {})
    rows = json.loads(project.run("doctor", "--json").stdout)["setup"]
    texts = [row["text"] for row in rows if row["subject"] == "installed in claude" and row["level"] != "ok"]
    assert any(f"it calls another boathook: {env}" in text for text in texts), texts
