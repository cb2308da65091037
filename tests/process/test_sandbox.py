"""Confined hooks: limits, secrets, and the restrictions of each level, tried with real processes."""

from __future__ import annotations

import itertools
import json
import os
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import boathook
from boathook.assembly import _list_project_marks
from boathook.core.event import PRE_SESSION, Event
from boathook.core.hook import Command, Http, Needs, Prompt, Script
from boathook.core.value import Value
from boathook.core.verdict import FAILED, REFUSED, Call, Exit
from boathook.process import landlock, sandbox
from boathook.process.child import Job
from boathook.process.environment import find_secret_variables, is_secret_variable
from boathook.process.hook_runner import HookRunner, JobContext, SourceProject
from boathook.process.runner import ProcessRunner
from boathook.process.sandbox import (
    Sandbox,
    SandboxSpec,
    SandboxSupport,
    find_bwrap,
    plan_sandbox,
    probe_sandbox_levels,
)
from boathook.process.sessions import Sessions
from boathook.process.spawn import spawn_shared
from tests.core.builders import a_hook, a_settings_hook

LEVELS = {offer.level: offer for offer in probe_sandbox_levels()}
LANDLOCK = not landlock.find_limitation(landlock.find_version(), network=False)
needs_restricted = pytest.mark.skipif(not LEVELS["restricted"].is_available, reason=LEVELS["restricted"].detail)
needs_isolated = pytest.mark.skipif(not LEVELS["isolated"].is_available, reason=LEVELS["isolated"].detail)
needs_scopes = pytest.mark.skipif(
    landlock.find_version() < landlock.SCOPES_SINCE and LANDLOCK, reason="Landlock before 6 lets signals pass"
)
WALLED = [pytest.param("restricted", marks=needs_restricted), pytest.param("isolated", marks=needs_isolated)]
CPUS = os.cpu_count() or 1


class Ran(Value):
    """How a hook ended, as far as a test looks."""

    code: int | None
    said: str
    error: str = ""
    detail: str = ""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    """A folder of its own for what is temporary, so that what is left can be seen."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def run(project):
    """Run a script as a hook of the project, in process; return how it ended."""

    def _run(script: str, *, environ: dict[str, str] | None = None, **fields) -> Ran:
        end = end_of(project, script, environ, **fields)
        return Ran(end.code, (end.stdout + end.stderr).decode().strip(), end.error, end.detail)

    return _run


def runner(project, environ: dict[str, str] | None = None) -> HookRunner:
    env = {**project.environment, **(environ or {})}
    around = JobContext((SourceProject("HOOK.md", "native", str(project.path)),))
    sessions = Sessions(str(project.state / "sessions"))
    bytewise = {name.encode(): value.encode() for name, value in env.items()}
    return HookRunner(ProcessRunner(), around, sessions, bytewise)


def a_call(project, script: str, *, kind: str = "pre-tool-call", **fields) -> Call:
    folder = project.write_hook("guard", script=script)
    event = Event.of(kind, session_id="s", work_dir=str(project.path), timestamp="t")
    return Call(a_hook(**fields).replace(handler=Script(str(folder))), event)


def end_of(project, script: str, environ: dict[str, str] | None = None, **fields) -> Exit:
    [end] = runner(project, environ).run((a_call(project, script, **fields),))
    return end


# Limits


def limits_seen(text: str) -> list[int]:
    return [int(line) for line in text.split()]


# In a program that embeds the engine a hook is limited when it has just started; the limit of its time comes last.
LIMITED = "until [ $(ulimit -Ht) != unlimited ]; do sleep 0.02; done; "
ASK_LIMITS = f"{LIMITED}for which in c n f t; do ulimit -S$which; ulimit -H$which; done"
SHOWN = [0, 0, 1024, 1024, 1 << 21, 1 << 21]  # sh counts files in blocks of 512


@pytest.mark.parametrize("level", ["basic", *WALLED])
@pytest.mark.parametrize(("timeout", "seconds"), [(20.0, 25), (20.1, 26)])
def test_a_hook_is_limited_at_every_level(run, level, timeout, seconds):
    found = run(ASK_LIMITS, sandbox=level, timeout=timeout)
    assert (found.code, limits_seen(found.said)) == (0, [*SHOWN, seconds * CPUS, seconds * CPUS])


def test_a_limit_that_is_lower_already_stays(project):
    code = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
import boathook
verdict = boathook.load({str(project.path)!r}).dispatch({{"event_type": "pre-tool-call", "tool_name": "x"}})
print(verdict.reasons[0], resource.getrlimit(resource.RLIMIT_NOFILE))
"""
    project.write_hook("guard", script="sleep 0.05; echo $(ulimit -Sn) $(ulimit -Hn) >&2; exit 2")
    done = subprocess.run([sys.executable, "-c", code], env=project.environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("200 300 (200, 300)\n", "")


def one_shot(project, *args: str) -> subprocess.CompletedProcess[str]:
    event = json.dumps({"tool_name": "Shell", "tool_input": {"command": "ls"}, "work_dir": str(project.path)})
    argv = [sys.executable, "-m", "boathook", "run", "pre-tool-call", *args]
    return subprocess.run(argv, env=project.environment, input=event, capture_output=True, text=True, cwd=project.path)


def test_a_hook_of_a_one_shot_run_begins_under_its_soft_limits(project):
    project.write_hook("guard", script="ulimit -Sn >&2; ulimit -Sf >&2; exit 2")
    assert [one_shot(project).stderr for _ in range(5)] == ["1024\n2097152\n"] * 5


def test_the_engine_s_own_limits_are_as_before():
    before = [resource.getrlimit(which) for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU)]
    ProcessRunner(spawn_shared).run_all([Job(("/bin/true",), b"", "/", {}, 1.0)])
    assert [resource.getrlimit(which) for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU)] == before


def test_a_file_that_grows_too_long_ends_the_hook(run):
    found = run(f"{LIMITED}exec dd if=/dev/zero of=big bs=1 count=1 seek=1073741824 2>/dev/null")
    assert found.code in (1, -25)  # dd may end by an error or by the signal


# Secrets

SECRET = """GITHUB_TOKEN NPM_TOKEN TOKEN CLAUDE_CODE_OAUTH_TOKEN OPENAI_API_KEY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY API_KEYS KEY
    DB_PASSWORD PGPASSWORD MYSQL_PWD SSHPASS REDIS_PASS PASSWORD LDAP_PASSWD GPG_PASSPHRASE CLIENT_SECRET SECRETS SECRET_NAME
    GOOGLE_APPLICATION_CREDENTIALS VAULT_CREDENTIAL CREDS_FILE PRIVATE_KEY DEPLOY_PRIVATE github_token GITHUB_PAT
    AZURE_DEVOPS_EXT_PAT OPENAI_APIKEY GITHUBTOKEN npm_config__authToken npm_config__auth SENTRY_DSN DATABASE_URL X-API-KEY
    SESSION_COOKIE MY_JWT DOCKER_AUTH_CONFIG"""
PLAIN = """PATH HOME PWD OLDPWD SSH_AUTH_SOCK SSH_AGENT_PID XDG_RUNTIME_DIR XDG_SESSION_COOKIE KEYBOARD XKB_KEYBOARD MONKEY_PATCH
    MAX_THINKING_TOKENS TOKENIZERS_PARALLELISM GOPRIVATE SECRETARY LANG LC_ALL TERM COLORTERM GNOME_KEYRING_CONTROL PAT_DIR
    HOTKEY COMPASS PASSENGER_HOME AUTHOR GIT_AUTHOR_NAME BOATHOOK_RUN KEYMAP TURNKEY PAT PASS_THROUGH XAUTHORITY"""


@pytest.mark.parametrize(("names", "expected"), [(SECRET, True), (PLAIN, False)], ids=["secrets", "others"])
def test_secrets_are_known_by_their_names(names, expected):
    found = {name: is_secret_variable(name.encode()) for name in names.split()}
    assert found == dict.fromkeys(names.split(), expected)


ENVIRON = {"API_TOKEN": "t", "DB_PASSWORD": "p", "MY_SECRET": "s", "EDITOR": "vi"}
ASKED = {name.encode(): value.encode() for name, value in ENVIRON.items()}
WHOSE = {
    "the user's": (a_hook(), ()),
    "a project's": (a_hook(scope="project"), ("API_TOKEN", "DB_PASSWORD", "MY_SECRET")),
    "one of the local settings": (
        a_settings_hook(scope="local", handler=Command("x")),
        ("API_TOKEN", "DB_PASSWORD", "MY_SECRET"),
    ),
    "a project's that names one": (a_hook(scope="project", env=("API_TOKEN",)), ("DB_PASSWORD", "MY_SECRET")),
    "a project's that requires one": (
        a_hook(scope="project", env=("API_TOKEN",), needs=Needs(env=("MY_SECRET",))),
        ("DB_PASSWORD",),
    ),
    "an address, posted to by us": (a_settings_hook(scope="project", handler=Http("http://x")), ()),
    "a question, put by us": (a_settings_hook(scope="project", handler=Prompt("?")), ()),
}


@pytest.mark.parametrize(("hook", "names"), WHOSE.values(), ids=WHOSE)
def test_a_hook_of_a_project_gets_the_secrets_that_it_names_alone(hook, names):
    assert find_secret_variables(hook, ASKED) == names


def test_what_a_project_s_hook_must_not_get_is_not_in_its_environment(run):
    say = 'echo "$API_TOKEN/$DB_PASSWORD/$MY_SECRET/$EDITOR/$AGENT_HOOK_NAME"'
    assert run(say, environ=ENVIRON) == Ran(0, "t/p/s/vi/guard")
    assert run(say, environ=ENVIRON, scope="project") == Ran(0, "///vi/guard")
    assert run(say, environ=ENVIRON, scope="project", env=("API_TOKEN",)) == Ran(0, "t///vi/guard")


# Restricted


@needs_restricted
def test_a_restricted_hook_writes_in_the_project_and_in_its_own_temporary_folder(run, project):
    script = """
cat > /dev/null
touch made && mkdir -p a/b && mv made a/b/moved && echo x >> a/b/moved && : > /dev/null && echo y > /dev/stderr
touch "$TMPDIR/t" && mkdir "$TMPDIR/d" && ln -s / "$TMPDIR/d/root" && mkfifo "$TMPDIR/d/pipe" && echo "$TMPDIR"
"""
    found = run(script, sandbox="restricted")
    folder, _, rest = found.said.partition("\n")
    assert (found.code, rest, (project.path / "a/b/moved").read_text()) == (0, "y", "x\n")
    assert (folder.startswith("/"), Path(folder).exists(), Path("/etc").exists()) == (True, False, True)


WAYS_TO_WRITE = {
    "a new file": "touch {out}/new",
    "a file that is there": "echo x >> {out}/there",
    "a file cut off": "truncate -s 0 {out}/there",
    "a file removed": "rm -f {out}/there",
    "a folder": "mkdir {out}/folder",
    "a link": "ln -s / {out}/link",
    "a file moved out of the project": "touch a && mv a {out}/a",
    "a file linked into the project and written": "ln {out}/there mine && echo x >> mine",
    "through a link in the project": "ln -s {out} way && echo x > way/there",
    "a child's child": "sh -c \"sh -c 'echo x > {out}/there'\"",
    "the other temporary folder": "touch /tmp/boathook-test-must-not-be",
}


@needs_restricted
@pytest.mark.parametrize("how", WAYS_TO_WRITE.values(), ids=WAYS_TO_WRITE)
def test_a_restricted_hook_writes_nowhere_else(run, tmp_path, how):
    out = tmp_path / "outside"
    out.mkdir()
    (out / "there").write_text("kept")
    found = run(f"({how.format(out=out)}) 2>/dev/null; exit 3", sandbox="restricted")
    assert (found, sorted(os.listdir(out)), (out / "there").read_text()) == (Ran(3, ""), ["there"], "kept")


@needs_restricted
def test_a_restricted_hook_reads_and_runs_everything(run, tmp_path):
    (tmp_path / "note").write_text("read")
    assert run(f"cat {tmp_path}/note; exec env sh -c 'exit 4'", sandbox="restricted") == Ran(4, "read")


@needs_restricted
def test_a_project_that_holds_the_home_folder_opens_nothing(project):
    around = JobContext((SourceProject("HOOK.md", "native", str(project.base)),))
    call = a_call(project, f"touch {project.home}/x 2>/dev/null || echo no", sandbox="restricted")
    [end] = HookRunner(ProcessRunner(), around).run((call,))
    assert (end.code, end.stdout, list(project.home.iterdir())) == (0, b"no\n", [])


CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2); print('through')"
BIND = "import socket, sys; socket.socket().bind(('127.0.0.1', 0)); print('through')"


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("level", WALLED)
@pytest.mark.parametrize("code", [CONNECT, BIND], ids=["connect", "bind"])
def test_tcp_is_for_hooks_with_a_network(run, port, level, code):
    """A network of one's own has a loopback as well: there `bind` is free and leads nowhere."""
    script = f'{sys.executable} -I -S -c "{code}" {port} 2>/dev/null || echo no'
    own_net = level == "isolated" or not LANDLOCK
    assert run(script, sandbox=level) == Ran(0, "through" if own_net and code == BIND else "no")
    assert run(script, sandbox=level, network=True) == Ran(0, "through")
    assert run(script, network=False) == Ran(0, "through")


@needs_scopes
@pytest.mark.parametrize("level", WALLED)
def test_a_confined_hook_cannot_signal_its_host(run, level):
    """Within a process namespace of its own, no process has the number of the host."""
    assert run(f"kill -0 {os.getpid()} 2>/dev/null || echo no; kill -0 $$ && echo me", sandbox=level) == Ran(
        0, "no\nme"
    )


@pytest.mark.parametrize("level", WALLED)
def test_what_a_confined_hook_answers_counts_as_ever(run, level):
    assert run("cat >/dev/null; echo no >&2; exit 2", sandbox=level) == Ran(2, "no")
    assert run("grep -c pre-tool-call", sandbox=level) == Ran(0, "1")


@pytest.mark.parametrize("level", ["basic", *WALLED])
def test_the_environment_is_the_same_at_every_level(run, level):
    text = run("env", sandbox=level, environ={"ODD": "a\nb", "LC_ALL": "C"}).said
    names = {line.partition("=")[0] for line in text.splitlines() if "=" in line}
    expected = {line.partition("=")[0] for line in run("env", environ={"ODD": "a", "LC_ALL": "C"}).said.splitlines()}
    assert names - {"TMPDIR"} == expected - {"TMPDIR"}


@pytest.mark.parametrize("level", WALLED)
def test_pipes_break_for_confined_hooks_as_for_others(run, level):
    assert run("(yes; echo $? >&2) | head -1 >/dev/null", sandbox=level).said in ("141", "")
    assert run("trap | grep -c PIPE", sandbox=level).said == "0"


@pytest.mark.parametrize("level", WALLED)
def test_a_confined_hook_leaves_no_variables_for_others(project, level):
    found = {
        one: end_of(project, 'echo "${CLAUDE_ENV_FILE:+given}"', kind=PRE_SESSION.name, sandbox=one).stdout
        for one in ("basic", level)
    }
    assert found == {"basic": b"given\n", level: b"\n"}


@pytest.mark.parametrize("level", WALLED)
def test_a_script_that_cannot_start_within_a_sandbox_is_reported(run, project, level):
    assert run("", sandbox=level) == Ran(0, "")
    (project.hooks_folder("user") / "guard/scripts/run.sh").write_text("#!/no/such/interpreter\n")
    [end] = runner(project).run((bare_call(project, level),))
    assert (end.error, "No such file or directory" in end.detail, "sandbox" in end.detail) == (FAILED, True, True)


def bare_call(project, level: str) -> Call:
    event = Event.of("pre-tool-call", session_id="s", work_dir=str(project.path), timestamp="t")
    return Call(a_hook(sandbox=level).replace(handler=Script(str(project.hooks_folder("user") / "guard"))), event)


# Isolated


@needs_isolated
def test_an_isolated_hook_sees_its_own_files_and_the_project_and_no_home(run, project):
    (project.home / "secret").write_text("x")
    (project.path / "note").write_text("read\n")
    script = f"""
cat note; test -r "$0" && echo mine
test -e {project.home}/secret || echo hidden
touch made 2>/dev/null || echo kept
touch "$TMPDIR/t" && echo "$TMPDIR"; test -e {project.base}/config/agents/hooks.toml || echo private
"""
    project.write_hooks_toml("user", "[hooks]\n")
    assert run(script, sandbox="isolated").said.split() == ["read", "mine", "hidden", "kept", "/tmp", "private"]
    assert not (project.path / "made").exists()


@needs_isolated
def test_an_isolated_hook_in_python_finds_our_interpreter(project):
    folder = project.hooks_folder("user") / "guard"
    (folder / "scripts").mkdir(parents=True)
    (folder / "scripts/run.py").write_text("import json; print('fine')")
    [end] = runner(project).run((bare_call(project, "isolated"),))
    assert (end.code, end.stdout) == (0, b"fine\n")


@needs_isolated
def test_an_isolated_hook_may_be_reached_through_a_link(project, monkeypatch):
    real = project.base / "elsewhere"
    project.path.rename(real)
    project.path.symlink_to(real)
    monkeypatch.chdir(project.path)
    assert end_of(project, "pwd -P", sandbox="isolated").stdout == f"{real}\n".encode()


def placed(call: Call, work_dir: Path) -> Call:
    return Call(call.hook, call.event.replace(work_dir=str(work_dir)))


@needs_isolated
@pytest.mark.parametrize("where", [".ssh", "", ".config/x"])
def test_an_event_from_a_home_folder_shows_an_isolated_hook_nothing_of_it(project, where):
    place = project.home / where
    place.mkdir(parents=True, exist_ok=True)
    (place / "id").write_text("a key")
    (project.path / "note").write_text("")
    call = placed(a_call(project, f"pwd; ls; test -e {place}/id || echo hidden", sandbox="isolated"), place)
    [end] = runner(project).run((call,))
    message = f"its sandbox hides the work dir {str(place)!r}; it was run in {project.path}"
    assert (end.stdout.decode().split(), end.warnings[-1]) == ([str(project.path), "note", "hidden"], message)
    # A HOME that is not the account's, and that is the work dir, counts as part of the project.
    assert [text for text in end.warnings[:-1] if "the variable HOME" not in text] == []


@needs_isolated
def test_a_work_dir_below_the_project_stays_the_folder_of_an_isolated_hook(project):
    place = project.path / "a/b"
    place.mkdir(parents=True)
    [end] = runner(project).run((placed(a_call(project, "pwd", sandbox="isolated"), place),))
    assert (end.stdout, end.warnings) == (f"{place}\n".encode(), ())


PROJECTS = {
    "a plain folder": ("notes", None, True),
    "a dot folder": (".ssh", None, False),
    "below a dot folder": (".config/x", None, False),
    "a repository in a dot folder": (".dotfiles", ".dotfiles/.git", True),
    "below such a one": (".dotfiles/sub", ".dotfiles/.git", True),
    "a folder with hooks in a dot folder": (".work", ".work/.agents/hooks", True),
    "a folder with settings in a dot folder": (".work", ".work/.claude/settings.json", True),
    "the home folder": (".", None, False),
}


@pytest.mark.parametrize(("where", "mark", "shown"), PROJECTS.values(), ids=PROJECTS)
def test_a_work_dir_used_as_the_project_is_shown_if_it_may_be_one(project, monkeypatch, where, mark, shown):
    monkeypatch.setattr(sandbox, "find_bwrap", lambda *_: "/usr/bin/bwrap")
    place = project.home / where
    for made in (place, project.home / mark if mark else place):
        made.mkdir(parents=True, exist_ok=True)
    marks = _list_project_marks()
    found, _ = plan_sandbox(a_hook(sandbox="isolated"), str(place), str(place), ("/bin/x",), marks=marks)
    assert found is not None
    assert (str(place) in found.open_folders) == shown


@pytest.mark.parametrize("place", ["/tmp", "/run", "/", "/run/user"])
def test_no_place_that_is_or_holds_a_hidden_one_is_shown(project, monkeypatch, place):
    monkeypatch.setattr(sandbox, "find_bwrap", lambda *_: "/usr/bin/bwrap")
    found, _ = plan_sandbox(a_hook(sandbox="isolated"), place, place, ("/bin/x",))
    assert found is not None
    assert place not in found.open_folders


@needs_isolated
def test_an_isolated_hook_writes_to_a_scratch_folder_if_it_has_one(project):
    around = JobContext((SourceProject("HOOK.md", "native", str(project.path)),), scratch=str(project.path))
    call = a_call(project, f"touch made; touch {project.base}/made 2>/dev/null || echo no", sandbox="isolated")
    [end] = HookRunner(ProcessRunner(), around).run((call,))
    assert (end.stdout, [path.name for path in project.path.iterdir()]) == (b"", ["made"])
    assert not (project.base / "made").exists()


@needs_isolated
def test_an_isolated_hook_cannot_undo_its_sandbox(run):
    script = "mount -o remount,rw,bind / 2>/dev/null || echo no; umount /tmp 2>/dev/null || echo no"
    assert run(script, sandbox="isolated") == Ran(0, "no\nno")


@needs_isolated
def test_restricted_by_bubblewrap_restricts_as_much(project, run, monkeypatch, tmp_path):
    """Where the kernel's Landlock is too old."""
    monkeypatch.setattr(landlock, "find_version", lambda: 2)
    out = tmp_path / "outside"
    out.mkdir()
    script = (
        f"touch in && echo in; touch {out}/x 2>/dev/null || echo no; touch $TMPDIR/t && echo tmp; cat /proc/1/cmdline"
    )
    found = run(script, sandbox="restricted")
    assert (found.code, found.said.split("\n")[:3], "bwrap" in found.said) == (0, ["in", "no", "tmp"], True)
    connect = f'{sys.executable} -I -S -c "{CONNECT}" 9 2>/dev/null || echo no'
    assert run(connect, sandbox="restricted") == Ran(0, "no")


# What this machine has, or has not


def test_every_level_is_offered_or_has_a_reason_why_not():
    found = probe_sandbox_levels()
    assert [offer.level for offer in found] == ["basic", "restricted", "isolated"]
    assert found[0].is_available
    assert all(offer.detail for offer in found)


NO_LANDLOCK = "this system has no Landlock"
NO_BWRAP = "bubblewrap (bwrap) is not installed"
OLD = "Landlock version 2 cannot forbid truncating files (3 is needed: Linux 6.2)"
MACHINES = {
    "nothing, restricted": ("restricted", False, 0, "", f"{NO_LANDLOCK}, and {NO_BWRAP}"),
    "nothing, isolated": ("isolated", False, 0, "", NO_BWRAP),
    "landlock too old": ("restricted", False, 2, "", f"{OLD}, and {NO_BWRAP}"),
    "landlock": ("restricted", False, 3, "", ""),
    "landlock with a network": ("restricted", True, 3, "", ""),
    "landlock and isolated": ("isolated", False, 7, "", NO_BWRAP),
    "bwrap instead of landlock": ("restricted", False, 0, "/usr/bin/bwrap", ""),
    "bwrap": ("isolated", False, 0, "/usr/bin/bwrap", ""),
    "an unknown level": ("airtight", False, 7, "/usr/bin/bwrap", "there is no such level"),
}


@pytest.mark.parametrize(("level", "network", "version", "bwrap", "why"), MACHINES.values(), ids=MACHINES)
def test_a_level_that_is_not_available_is_refused_with_the_reason(monkeypatch, level, network, version, bwrap, why):
    monkeypatch.setattr(landlock, "find_version", lambda: version)
    monkeypatch.setattr(sandbox, "find_bwrap", lambda *_: bwrap)
    found, refused = plan_sandbox(a_hook(sandbox=level, network=network), "/p", "/p", ("/bin/x",))
    message = f"it must run in the sandbox '{level}', which this machine does not have: {why}" if why else ""
    assert (found is None, refused) == (bool(why), message)


@pytest.mark.parametrize("level", ["restricted", "isolated"])
@pytest.mark.parametrize(("on_failure", "decision"), [("allow", "none"), ("block", "block")])
@pytest.mark.parametrize("background", [False, True])
def test_on_failure_decides_what_a_refusal_means(project, monkeypatch, level, on_failure, decision, background):
    monkeypatch.setattr(landlock, "find_version", lambda: 0)
    monkeypatch.setattr(sandbox, "find_bwrap", lambda *_: "")
    fields = {"sandbox": level, "on_failure": on_failure, "async": str(background).lower()}
    project.write_hook("guard", script="touch ran", fields=fields)
    verdict = boathook.load(project.path).dispatch({"event_type": "pre-tool-call", "tool_name": "x"}).to_json()
    why = f"it must run in the sandbox '{level}', which this machine does not have: "
    if background:
        assert [(skip["hook"], skip["why"].startswith(why)) for skip in verdict["skipped"]] == [("guard", True)]
    else:
        [ran] = verdict["runs"]
        assert (ran["status"], verdict["decision"], why in ran["reason"]) == (REFUSED, decision, True)
    assert list(project.path.glob("ran")) == []


@pytest.fixture
def fake_bwrap(tmp_path, monkeypatch):
    """A program of that name on the PATH."""

    def make(script: str) -> str:
        folder = tmp_path / "bin"
        folder.mkdir()
        path = folder / "bwrap"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return str(path)

    return make


def test_a_bwrap_that_does_not_work_fails_the_hook_with_its_own_message(fake_bwrap, run):
    path = fake_bwrap("echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    assert run("touch ran", sandbox="isolated") == Ran(
        1,
        "bwrap: No permissions to create new namespace",
        FAILED,
        "the sandbox could not be made: bwrap: No permissions to create new namespace",
    )
    message = f"{path} does not work here: bwrap: No permissions to create new namespace"
    assert probe_sandbox_levels()[2] == SandboxSupport("isolated", is_available=False, detail=message)


def test_bwrap_gets_every_restriction(fake_bwrap, project, monkeypatch):
    path = fake_bwrap('printf "%s\\n" "$@"')
    monkeypatch.setattr(sandbox, "_find_homes", lambda: (str(project.home),))
    reported = end_of(project, "", sandbox="isolated").stdout.decode().split("\n")
    folder = project.hooks_folder("user") / "guard"
    restrictions = (
        "--die-with-parent --new-session --unshare-pid --unshare-ipc --unshare-uts --cap-drop ALL --unshare-net"
    )
    start = [*restrictions.split(), "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    end = ["--chdir", str(project.path), "--", f"{folder}/scripts/run.sh", ""]
    assert (reported[: len(start)], reported[-len(end) :]) == (start, end)
    pairs = list(itertools.pairwise(reported))
    assert [("--tmpfs", place) in pairs for place in ("/tmp", "/run", str(project.home))] == [True] * 3
    assert [("--ro-bind", str(place)) in pairs for place in (project.path, folder)] == [True] * 2
    open_net = end_of(project, "", sandbox="isolated", network=True).stdout.decode().split("\n")
    assert [word for word in reported if word not in open_net] == ["--unshare-net"]
    assert find_bwrap() == path


def test_a_bwrap_in_a_relative_folder_of_the_path_is_none(tmp_path, monkeypatch):
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{os.pathsep}.{os.pathsep}")
    assert find_bwrap() == ""


def test_a_bwrap_in_a_project_is_none(fake_bwrap, tmp_path):
    installed, path = find_bwrap(), fake_bwrap("")
    assert (find_bwrap((str(tmp_path),)), find_bwrap((str(tmp_path / "other"),))) == (installed, path)


@pytest.mark.parametrize("handler", [Http("http://x"), Prompt("?")], ids=["http", "prompt"])
def test_questions_and_posts_need_no_sandbox(handler):
    hook = a_settings_hook(handler=handler, sandbox="isolated")
    assert plan_sandbox(hook, "/p", "/p", ("/bin/x",)) == (None, "")


# The end


@pytest.mark.parametrize("level", WALLED)
@pytest.mark.parametrize("way", ["in process", "by command"])
def test_a_confined_hook_is_ended_at_its_timeout_and_nothing_is_left(project, temporary, level, way):
    mark = f"sandbox-{os.getpid()}-{level}-{way.replace(' ', '-')}"
    script = f"setsid sh -c 'sleep 61; : {mark}' &\n(setsid sh -c 'sleep 62; : {mark}' &)\nsh -c 'sleep 60; : {mark}'"
    project.write_hook("slow", script=script, fields={"sandbox": level, "timeout": 400})
    if way == "in process":
        verdict = boathook.load(project.path).dispatch({"event_type": "pre-tool-call", "tool_name": "x"}).to_json()
    else:
        verdict = json.loads(one_shot(project, "--json").stdout)
    assert [(r["status"], r["reason"]) for r in verdict["runs"]] == [("timeout", "it did not end within 0.4 s")]
    assert processes_with(mark) == []
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("level", WALLED)
@pytest.mark.parametrize("way", ["in process", "by command"])
def test_an_async_hook_is_confined_like_any_other(project, temporary, tmp_path, level, way):
    out = tmp_path / "outside"
    project.write_hook(
        "note",
        script=f"{LIMITED}ulimit -n; mkdir {out} 2>/dev/null; touch in 2>/dev/null",
        fields={"sandbox": level, "async": "true"},
    )
    if way == "in process":
        engine = boathook.load(project.path)
        engine.dispatch({"event_type": "pre-tool-call", "tool_name": "x"})
        assert engine.drain(60) == 0
    else:
        one_shot(project)
    log = project.state / "background.log"
    wait_until(lambda: log.exists() and log.stat().st_size)
    lines = log.read_text().splitlines()
    written = level == "restricted"
    assert (lines[1:], out.exists(), (project.path / "in").exists()) == (["  stdout: 1024"], False, written)
    assert list(temporary.iterdir()) == []


def wait_until(true, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)


def processes_with(mark: str) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        found += [words] if mark in words else []
    return found


def test_a_temporary_folder_is_removed_with_its_hook_with_any_contents(temporary):
    remaining = temporary / "kept"
    (remaining / "inner").mkdir(parents=True)
    restrictions = ("restricted", False, "", ())
    confined = Sandbox(Job(("/bin/true",), b"", "/", {}, 1.0, sandbox=restrictions), [])
    [made] = [path for path in temporary.iterdir() if path != remaining]
    (made / "deep/er").mkdir(parents=True)
    (made / "deep/link").symlink_to(remaining)
    (made / "deep/er/file").write_text("x")
    (made / "deep").chmod(0o500)
    confined.close()
    confined.close()
    assert sorted(path.name for path in temporary.rglob("*")) == ["inner", "kept"]


def test_a_sandbox_travels_as_plain_values(project, monkeypatch):
    monkeypatch.setattr(landlock, "find_version", lambda: 7)
    job = runner(project).make_job(a_call(project, "", sandbox="restricted", network=True))
    assert SandboxSpec(*job.sandbox) == SandboxSpec(
        "restricted", network=True, bwrap="", open_folders=(str(project.path),)
    )
    assert runner(project).make_job(a_call(project, "")).sandbox == ()
