"""Variables and programs through which a project could run its code within hooks, as when a host loads its `.env`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from boathook.process.environment import remove_project_code
from boathook.system.programs import CODE_VARIABLES, choose_command, find_program
from tests.scratch_project import WAYS

BASH = Path("/bin/bash")
needs_bash = pytest.mark.skipif(not BASH.exists(), reason="needs /bin/bash")
LED = "the variable {} points into the project and was removed"
PARTLY = "the variable {} points into the project, and that part of it was removed"
SWITCHED = "the variable {} changes what a script does and was removed"


def in_project(project, text: str) -> str:
    return text.replace("P/", f"{project.path}/")


def found(project, environ: dict[str, str], *, own: bool) -> tuple[dict[str, str], tuple[str, ...]]:
    env = {name.encode(): in_project(project, value).encode() for name, value in environ.items()}
    notes = remove_project_code(env, (str(project.path), "", "", str(project.path)), is_user_hook=own)
    return {name.decode(): value.decode() for name, value in env.items()}, notes


LEFT_OUT = {
    "BASH_ENV": ["P/be.sh", "be.sh", "./be.sh", "$PWD/be.sh", "$(evil)", "/proc/self/cwd/be.sh", "/dev/stdin", "~/x"],
    "ENV": ["P/be.sh", "`evil`", "$AGENT_PROJECT_DIR/be.sh"],
    "PYTHONPATH": ["P/src", "src", ".", "P/../project/src"],
    "PYTHONSTARTUP": ["P/x.py"],
    "PYTHONHOME": ["/usr:P/x"],
    "LD_PRELOAD": ["P/x.so", "./x.so", "lib/x.so"],
    "LD_LIBRARY_PATH": ["P/lib", ";P/lib"],
    "NODE_OPTIONS": [
        "--require P/x.js",
        "-r ./x",
        "--require=dd-trace",
        "--import file://P/x.mjs",
        "--import data:x,y",
    ],
    "PERL5OPT": ["-MX -IP/lib", "-Ilib", "-Mlib=.", "-Mlib=P/lib"],
    "RUBYOPT": ["-r./x", "-I.", "-rP/x"],
    "JAVA_TOOL_OPTIONS": ["-javaagent:P/a.jar", "-javaagent:a.jar"],
    "GIT_EXEC_PATH": ["P/bin"],
    "GIT_CONFIG_GLOBAL": ["P/config", "config"],
    "GIT_CONFIG_PARAMETERS": ["'core.fsmonitor'='P/x'"],
    "PROMPT_COMMAND": ["P/x"],
    "BASH_FUNC_ls%%": ["() { P/x; }"],
    "DYLD_INSERT_LIBRARIES": ["P/x.dylib"],
}
CASES = [(name, value) for name, values in LEFT_OUT.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{name}={value}" for name, value in CASES])
@pytest.mark.parametrize("own", [True, False], ids=["the user's", "a project's"])
def test_a_variable_that_leads_into_the_project_is_left_out_and_reported(project, name, value, own):
    is_list = CODE_VARIABLES.get(name.encode(), "folders" * name.startswith("DYLD_")) in ("folders", "libraries")
    message = (PARTLY if is_list else LED).format(name)
    assert found(project, {name: value, "EDITOR": "vi"}, own=own) == ({"EDITOR": "vi"}, (message,))


KEPT = {
    "BASH_ENV": "/etc/bash_env",
    "ENV": "$HOME/.shrc",
    "PYTHONPATH": "/opt/lib:/venv/lib",
    "LD_PRELOAD": "libjemalloc.so /usr/$LIB/x.so",
    "LD_LIBRARY_PATH": "/opt/cuda/lib64",
    "NODE_OPTIONS": "--max-old-space-size=4096 --require /opt/trace.js",
    "PERL5OPT": "-MDevel::Cover",
    "RUBYOPT": "-rbundler/setup -W0",
    "JAVA_TOOL_OPTIONS": "-Xmx1g -javaagent:/opt/a.jar",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "user.name",
    "GIT_CONFIG_VALUE_0": "x",
    "HOME": "/home/somebody",
}


@pytest.mark.parametrize("own", [True, False], ids=["the user's", "a project's"])
def test_a_variable_that_leads_elsewhere_is_kept(project, own):
    assert found(project, KEPT, own=own) == (KEPT, ())


def test_only_the_part_of_a_list_that_leads_into_the_project_goes(project):
    environ = {"PYTHONPATH": "/opt/a:P/src:/opt/b", "LD_LIBRARY_PATH": "/opt/lib:"}
    expected = {"PYTHONPATH": "/opt/a:/opt/b", "LD_LIBRARY_PATH": "/opt/lib"}
    assert found(project, environ, own=True) == (expected, (PARTLY.format("PYTHONPATH"),))


def test_a_project_whose_name_is_part_of_another_is_not_meant(project):
    environ = {"BASH_ENV": f"{project.path}-other/x", "NODE_OPTIONS": f"--require /mnt{project.path}/x"}
    assert found(project, environ, own=True) == (environ, ())


def test_code_in_a_variable_is_not_for_hooks_of_projects(project):
    environ = {"BASH_FUNC_ls%%": "() { evil; }", "PS4": "$(evil)", "PROMPT_COMMAND": "evil"}
    assert found(project, environ, own=False) == ({}, ())
    assert found(project, environ, own=True) == (environ, ())


def test_switches_that_keep_a_script_from_running_are_for_no_hook(project):
    environ = {"SHELLOPTS": "noexec", "BASHOPTS": "extdebug", "PYTHONINSPECT": "1"}
    reported = tuple(SWITCHED.format(name) for name in sorted(environ))
    assert found(project, environ, own=True) == ({}, reported)


def test_a_variable_with_more_paths_than_can_be_looked_up_is_left_out(project):
    message = "the variable PYTHONPATH is too long to be checked and was removed"
    assert found(project, {"PYTHONPATH": "/a:" * 10_000}, own=True) == ({}, (message,))


def test_half_of_a_pair_for_git_takes_all_pairs_with_it(project):
    environ = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "P/x"}
    env, notes = found(project, environ, own=True)
    assert (env["GIT_CONFIG_COUNT"], notes) == ("0", (LED.format("GIT_CONFIG_VALUE_0"),))


@needs_bash
@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("way", WAYS)
def test_a_file_of_variables_runs_no_code_within_a_hook(project, monkeypatch, scope, way):
    folder = project.write_hook("guard", scope=scope)
    (folder / "scripts/run.sh").write_text("#!/bin/bash\necho no >&2; exit 2\n")
    (project.path / "be.sh").write_text(f"touch {project.base}/ran; exit 0\n")
    if scope == "project":
        project.trust()
    monkeypatch.setenv("BASH_ENV", f"{project.path}/be.sh")
    monkeypatch.setenv("SHELLOPTS", "noexec")
    verdict = project.dispatch(way)
    expected = [LED.format("BASH_ENV"), SWITCHED.format("SHELLOPTS")]
    assert [(run["decision"], run["reason"], run["notes"]) for run in verdict["runs"]] == [("block", "no", expected)]
    assert not (project.base / "ran").exists()


def test_a_link_into_the_project_leads_there_too(project):
    (project.base / "way").symlink_to(project.path)
    environ = {"BASH_ENV": f"{project.base}/way/be.sh", "NODE_OPTIONS": f"--require {project.base}/way/x.js"}
    assert found(project, environ, own=True) == ({}, (LED.format("BASH_ENV"), LED.format("NODE_OPTIONS")))


def test_the_repository_of_the_work_dir_is_a_project(project):
    (project.base / "repo/.git").mkdir(parents=True)
    (project.base / "repo/sub").mkdir()
    env = {b"BASH_ENV": os.fsencode(project.base / "repo/be.sh")}
    assert (remove_project_code(env, (str(project.base / "repo/sub"),), is_user_hook=True), env) == (
        (LED.format("BASH_ENV"),),
        {},
    )


# Interpreters


@pytest.fixture
def false_bash(project, monkeypatch):
    """A bash in the project, first on the PATH by its path and by a relative one."""
    path = project.path / "bin/bash"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"bin:{path.parent}:{os.environ['PATH']}")
    return path


def test_our_own_choice_of_a_shell_does_not_follow_the_path_into_a_project(project, false_bash):
    script = project.write_hook("guard") / "scripts/run.sh"
    script.write_text("exit 2\n")
    chosen = choose_command(str(script), (str(project.path),)).argv[0]
    assert (find_program("bash"), chosen.startswith(("bin", str(project.path)))) == ("bin/bash", False)


@pytest.mark.parametrize("form", ["folder", "settings"])
def test_a_shell_of_the_project_does_not_run_a_guard(project, false_bash, form):
    if form == "folder":
        (project.write_hook("guard") / "scripts/run.sh").write_text("echo no >&2; exit 2\n")
    else:
        entry = {"type": "command", "command": "echo no >&2; exit 2"}
        project.write_settings("user", {"hooks": {"PreToolUse": [{"hooks": [entry]}]}})
    assert [run["reason"] for run in project.dispatch("by command")["runs"]] == ["no"]
