"""Variables and programs through which a project could run its code within hooks, as when a host loads its `.env`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boathook.process.environment import remove_project_code
from boathook.system.locations import account_home
from boathook.system.programs import (
    CODE_VARIABLE_PREFIXES,
    CODE_VARIABLES,
    choose_command,
    find_doubtful_variables,
    find_private_tops,
    find_program,
    find_variable_kind,
)
from tests.scratch_project import WAYS

BASH = Path("/bin/bash")
needs_bash = pytest.mark.skipif(not BASH.exists(), reason="needs /bin/bash")
LED = "the variable {} points into the project and was removed"
PARTLY = "the variable {} points into the project, and that part of it was removed"
OTHER = "1 variable that points into the project was removed; name it in `env` to keep it"
SWITCHED = "the variable {} changes what a script does and was removed"


# ways to the project without its name; Q stands for its path with more slashes than it needs
HIDDEN = ("//proc/self/cwd/g", "/dev/../proc/self/cwd/g", "/Q/g", "Q/g", "/dev//fd/3", "///proc/1/root/g")


def in_project(project, text: str) -> str:
    parent, name = project.path.parent, project.path.name
    text = text.replace("%P", f"{parent}/%{ord(name[0]):02x}{name[1:]}")
    return text.replace("P/", f"{project.path}/").replace("Q", f"{parent}//{name}")


def found(
    project, environ: dict[str, str], *, own: bool, named: tuple[str, ...] = ()
) -> tuple[dict[str, str], tuple[str, ...]]:
    env = {name.encode(): in_project(project, value).encode() for name, value in environ.items()}
    tops = find_private_tops((str(project.path), "", "", str(project.path)))
    notes = remove_project_code(env, find_doubtful_variables(env, tops), tops, is_user_hook=own, named=named)
    return {name.decode(): value.decode() for name, value in env.items()}, notes


def describe(name: str, note: str = LED) -> str:
    """Return the note about a variable: the part of its name that our tables have, or none."""
    upper = name.upper().encode()
    if not find_variable_kind(name.encode()):
        return OTHER
    prefix = next(filter(upper.startswith, CODE_VARIABLE_PREFIXES), b"").decode()
    return note.format(upper.decode() if upper in CODE_VARIABLES else f"{prefix}*")


LEFT_OUT = {
    "BASH_ENV": [
        "P/be.sh",
        "be.sh",
        "./be.sh",
        "$PWD/be.sh",
        "$(evil)",
        "/proc/self/cwd/be.sh",
        "/dev/stdin",
        "~/x",
        *HIDDEN,
    ],
    "ENV": ["P/be.sh", "`evil`", "$AGENT_PROJECT_DIR/be.sh"],
    "PYTHONPATH": ["P/src", "src", ".", "P/../project/src", *HIDDEN],
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
        "--import=file://%P/x.mjs",
        "--import=FILE:///%2fproc/self/cwd/x.mjs",
        "--import=file://LocalhostP/x.mjs",
        '--import="file:Q/x.mjs"',
        '--require=Q"/"x.js',
    ],
    "PERL5OPT": ["-MX -IP/lib", "-Ilib", "-Mlib=.", "-Mlib=P/lib", "-I/Q"],
    "RUBYOPT": ["-r./x", "-I.", "-rP/x"],
    "JAVA_TOOL_OPTIONS": ["-javaagent:P/a.jar", "-javaagent:a.jar"],
    "GIT_EXEC_PATH": ["P/bin"],
    "GIT_CONFIG_GLOBAL": ["P/config", "./config"],
    "GIT_CONFIG_PARAMETERS": ["'core.fsmonitor'='P/x'"],
    "GIT_DIR": ["P/.repo", "./.repo", "/proc/self/cwd/.repo"],
    "GIT_SSH_COMMAND": ["sh P/x", "../x"],
    "GIT_SSL_CAINFO": ["P/ca.pem"],
    "MAKEFILES": ["P/x.mk", "x.mk", "/opt/a.mk x.mk"],
    "PYTEST_PLUGINS": ["evil", "P/x"],
    "LUA_PATH": ["P/?.lua;;", "./?.lua", "?.lua"],
    "LUA_INIT": ["@P/x.lua"],
    "LESSOPEN": ["|P/x %s", "| ./x %s"],
    "OPENSSL_CONF": ["P/openssl.cnf", "openssl.cnf"],
    "PYTHONPYCACHEPREFIX": ["P/cache", "cache", ".", "/proc/self/cwd/cache"],
    "RIPGREP_CONFIG_PATH": ["P/rg", "rg"],
    "NPM_CONFIG_USERCONFIG": ["P/.npmrc", ".npmrc"],
    "npm_config_userconfig": ["P/.npmrc", ".npmrc"],
    "npm_config_node_options": ["--require ./x.js", "--require=x.js"],
    "XDG_CONFIG_HOME": ["P/config", "config", "/proc/self/cwd"],
    "KUBECONFIG": ["P/kube", "kube"],
    # Variables that nothing is known about.
    "SOME_TOOL_RC": ["P/rc", "P/", "./rc", "../project/rc", ".", "/proc/self/cwd/rc", "/dev/fd/3", "P/../project/rc"],
    "SOME_TOOL_OPTIONS": ["--config P/x", "--config=P/x", "a=1,file=./x", "@P/x", "file://P/x", '{"rc": "P/x"}'],
    "EDITOR": ["P/bin/vi", "./vi", "sh /Q/x", "vi //proc/self/cwd/x", "sh Q''/x"],
    "VIMINIT": ["source /Q/e.vim"],
    "PYTEST_ADDOPTS": ["-c /Q/x.ini", "-c '/Q/x.ini'"],
    "GCONV_PATH": [*HIDDEN, "a:/Q/g", "a://proc/self/cwd/g", "https:/Q/g"],
    "CLAUDE_CONFIG_DIR": ["P/.claude"],
    "TMPDIR": ["P/tmp"],
    "PROMPT_COMMAND": ["P/x"],
    "BASH_FUNC_ls%%": ["() { P/x; }"],
    "DYLD_INSERT_LIBRARIES": ["P/x.dylib"],
}
CASES = [(name, value) for name, values in LEFT_OUT.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{name}={value}" for name, value in CASES])
@pytest.mark.parametrize("own", [True, False], ids=["the user's", "a project's"])
def test_a_variable_that_leads_into_the_project_is_left_out_and_reported(project, name, value, own):
    kind = find_variable_kind(name.encode())
    message = describe(name, PARTLY if kind in ("folders", "libraries") else LED)
    assert found(project, {name: value, "OTHER": "vi"}, own=own) == ({"OTHER": "vi"}, (message,))


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
    "GIT_AUTHOR_NAME": "A. U. Thor",
    "GIT_SSL_CAINFO": "/etc/ssl/ca.pem",
    "GIT_TERMINAL_PROMPT": "0",
    "HOME": "/home/somebody",
    "XDG_DATA_DIRS": "/usr/local/share:/usr/share",
    "OPENSSL_CONF": "/opt/openssl.cnf",
    "MAKEFILES": "/opt/a.mk /opt/b.mk",
    "LUA_PATH": "/opt/?.lua;;",
    "npm_config_registry": "https://registry.example/npm/",
    "npm_config_userconfig": "/home/somebody/.npmrc",
    "LANG": "C.UTF-8",
    "TZ": "Europe/Berlin",
    "SSH_CONNECTION": "10.0.0.1 22",
    "LS_COLORS": "rs=0:di=01;34:*.tar=01;31",
    "PROXY": "http://user@proxy.example:8080/x",
    "LOG_FILE": "/dev/stderr",
    "SINK": "//dev/null",
    "GPG_TTY": "/dev/pts/0",
    "INDEX_URL": "https://index.example//simple/%7Eme",
    "A_FILE_URL": "file:///opt/my%20file",
    "A_LIST": "/opt/a:/opt/b",
}
# They lead into the project, and no program runs code because of them.
HARMLESS = {
    "PATH": "P/bin:/usr/bin",
    "PWD": "P/sub",
    "OLDPWD": "P/",
    "VIRTUAL_ENV": "P/.venv",
    "INIT_CWD": "P/",
    "npm_config_local_prefix": "P/",
    "CI_PROJECT_DIR": "P/",
    "GITHUB_WORKSPACE": "P/",
    "_": "P/.venv/bin/python",
}


@pytest.mark.parametrize("own", [True, False], ids=["the user's", "a project's"])
def test_a_variable_that_leads_elsewhere_is_kept(project, own):
    assert found(project, KEPT, own=own) == (KEPT, ())


def test_a_harmless_variable_may_lead_into_the_project(project):
    expected = {name: in_project(project, value) for name, value in HARMLESS.items()}
    assert found(project, HARMLESS, own=True) == (expected, ())


def test_a_hook_gets_the_variables_that_it_names_unless_they_run_code_of_the_project(project):
    environ = {"BUILD_DIR": "P/build", "OPENSSL_CONF": "P/x", "GIT_SSH_COMMAND": "ssh -i /k", "GIT_PAGER": "P/x"}
    env, notes = found(project, environ, own=True, named=tuple(environ))
    assert env == {"BUILD_DIR": f"{project.path}/build", "GIT_SSH_COMMAND": "ssh -i /k"}
    assert notes == (LED.format("GIT_*"), LED.format("OPENSSL_CONF"))


COMMANDS = {
    "GIT_SSH_COMMAND": "sh -c evil",
    "GIT_EXTERNAL_DIFF": "evil",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "evil",
    "GIT_TRACE": "/home/somebody/.bashrc",
    "GIT_DIR": "repo",
    "LUA_INIT_5_4": "os.execute('evil')",
    "LESSOPEN": "| /usr/bin/lesspipe %s",
    "MAKEFLAGS": "--eval=$(shell evil)",
    "PERL5OPT": "-Mstrict;system(q(evil))",
}


@pytest.mark.parametrize("own", [True, False], ids=["the user's", "a project's"])
def test_a_variable_that_holds_a_command_is_for_no_hook_that_does_not_name_it(project, own):
    assert found(project, COMMANDS, own=own) == ({}, ())
    assert found(project, COMMANDS, own=own, named=tuple(COMMANDS)) == (COMMANDS, ())


def test_a_home_in_the_project_becomes_that_of_the_account(project):
    note = "the variable HOME points into the project and was replaced by the home folder of the account"
    for home in ("P/home", "home/../.", "/proc/self/cwd", "."):
        assert found(project, {"HOME": home}, own=True) == ({"HOME": account_home()}, (note,)), home


def test_only_the_part_of_a_list_that_leads_into_the_project_goes(project):
    environ = {"PYTHONPATH": "/opt/a:P/src:/opt/b", "LD_LIBRARY_PATH": "/opt/lib:", "A_LIST": "/opt/a:P/x:.:/opt/b"}
    expected = {"PYTHONPATH": "/opt/a:/opt/b", "LD_LIBRARY_PATH": "/opt/lib", "A_LIST": "/opt/a:/opt/b"}
    assert found(project, environ, own=True) == (expected, (PARTLY.format("PYTHONPATH"), OTHER))


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
    environ = {"BASH_ENV": "{}/way/be.sh", "NODE_OPTIONS": "--require {}/way/x.js", "SOME_TOOL_RC": "{}/way/rc"}
    environ = {name: value.format(project.base) for name, value in environ.items()}
    assert found(project, environ, own=True) == ({}, tuple(map(describe, environ)))


# One variable of each kind, and one that nothing is known about.
NAMES = (b"PLAIN", *{kind: name for name, kind in CODE_VARIABLES.items()}.values())
# P is the project, L a link to it.
PIECES = (
    *("P", "P/x", "L", "L/x", "/usr/lib/x", "/opt/x", "x", ".", "..", "./x", "../x", "~/x", "$HOME/x", "$(x)"),
    *("/proc/self/cwd", "/dev/fd/3", "/dev/stdin", "file://", "//", ":", ";", " ", "=", ",", "@", "|", '"'),
    *("-I", "-r", "--require "),
)


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4))
@example(["x", "=", "L/x"])
@example(["L", ",", "//"])
@example(["/usr/lib/x", ";"])
@example(["//", "/dev/stdin"])
@example([".", "file://"])
def test_the_quick_look_misses_nothing_that_would_be_removed(project, pieces):
    link = project.base / "link"
    if not link.is_symlink():
        link.symlink_to(project.path)
    tops = find_private_tops((str(project.path), "", "", str(project.path)))
    value = "".join(pieces).replace("P", str(project.path)).replace("L", str(link)).encode()
    for name in NAMES:
        env = {name: value}
        remove_project_code(env, [name], tops, is_user_hook=False)
        assert env == {name: value} or find_doubtful_variables({name: value}, tops) == [name]


def test_the_repository_of_the_work_dir_is_a_project(project):
    (project.base / "repo/.git").mkdir(parents=True)
    (project.base / "repo/sub").mkdir()
    env = {b"BASH_ENV": os.fsencode(project.base / "repo/be.sh")}
    tops = find_private_tops((str(project.base / "repo/sub"),))
    notes = remove_project_code(env, find_doubtful_variables(env, tops), tops, is_user_hook=True)
    assert (notes, env) == ((LED.format("BASH_ENV"),), {})


def test_a_folder_for_everybody_is_not_a_project_unless_it_is_a_repository(project):
    shared = project.base / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    env = {b"SSH_AUTH_SOCK": os.fsencode(shared / "ssh/agent"), b"SOME_TOOL_RC": b"./rc"}
    assert find_doubtful_variables(env, find_private_tops((str(shared),))) == [b"SOME_TOOL_RC"]
    (shared / ".git").mkdir()
    assert len(find_doubtful_variables(env, find_private_tops((str(shared),)))) == 2


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
