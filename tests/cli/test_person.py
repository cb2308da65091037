"""Commands that change guards are for a person: what an agent may not run, and what it may with a scratch HOME."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from boathook.cli.person import describe_refusal
from boathook.hosts.setup import list_setups
from boathook.permits.agent_evidence import AgentEvidence, find_agent
from boathook.system.ancestors import make_ancestor
from e2e.terminal import run_at_terminal
from tests.packs.toy_packs import write_pack
from tests.scratch_project import make_settings
from tests.terminal import make_agent, make_agent_script

# The command line of an account whose home, according to the database of users, is the first argument. The processes above the
# second one do not count, because an agent may run these tests.
BE_ACCOUNT = """
import sys
from boathook.system import ancestors, locations
home, tests = sys.argv.pop(1), int(sys.argv.pop(1))
locations.account_home = lambda: home
found = ancestors.list_ancestors()
pids = [one.pid for one in found]
below = found[:pids.index(tests)] if tests in pids else found
ancestors.list_ancestors = lambda: below
"""
AS_ACCOUNT = f"{BE_ACCOUNT}\nfrom boathook.cli.main import main\nmain()"
# Runs several command lines after some code, each in a child, and prints how they end: everything is imported once.
FOR_EACH = """
import json, os, sys, tempfile
code, commands = sys.argv.pop(1), json.loads(sys.argv.pop(1))
exec(code)
import boathook.cli.commands, boathook.cli.convert, boathook.cli.install, boathook.cli.trust, boathook.assembly
from boathook.cli.main import main
ends = []
for words in commands:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if (pid := os.fork()) == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.argv += words
            try:
                main()
            except SystemExit as end:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(end.code or 0)
            os._exit(99)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = [os.pread(file.fileno(), 1 << 20, 0).decode() for file in (out, err)]
        ends.append([status, *texts])
print(json.dumps(ends))
"""
# Every command of a person's, and what it would do at once if it were one.
COMMANDS = {
    "trust": ["trust", "--yes"],
    "deny": ["deny", "guard", "--yes"],
    "untrust": ["untrust", "guard", "--yes"],
    "install": ["install", "claude", "--yes"],
    "install in a project": ["install", "claude", "--project", "--yes"],
    "uninstall": ["uninstall", "codex", "--yes"],
    "setup": ["setup", "--agent", "gemini", "--no-pack", "--yes"],
    "convert --move": ["convert", "to-hookmd", "--move", "--yes"],
    "convert --user": ["convert", "to-hookmd", "--user", "--yes"],
    "convert of files that only people have": ["convert", "to-hookmd", "--from", "kimi", "--yes"],
    "unlock": ["unlock", "30m"],
    "allow": ["allow", "0123456789ab"],
    "asks": ["asks", "0123456789ab"],
    "asks --watch": ["asks", "--watch"],
    "approvals totp": ["approvals", "totp"],
    "page --open": ["page", "--open"],
    "pack add": ["pack", "add", "./guards", "--yes"],
    "pack remove": ["pack", "remove", "local/guards", "--yes"],
    "pack on": ["pack", "on", "local/guards:b"],
    "pack off": ["pack", "off", "local/guards:a", "--yes"],
}
FREE = {
    "trust --list": ["trust", "--list"],
    "a dry run": ["install", "claude", "--dry-run"],
    "a dry run of a removal": ["uninstall", "codex", "--dry-run"],
    "a conversion that adds hooks of the project": ["convert", "to-hookmd", "--yes"],
    "what is paused": ["unlock"],
    "the end of a pause": ["unlock", "--end"],
    "a dry run of setup": ["setup", "--agent", "gemini", "--dry-run"],
    "status": ["status"],
    "the second factor": ["approvals", "status"],
    "the packs": ["pack", "list"],
    "the questions": ["asks", "--json"],
}
VARIABLES = [name for setup in list_setups() for name in setup.agent_variables]


@pytest.fixture
def account(project):
    """A project of an account with a guard, a settings hook and an agent; return it and how its boathook is run."""
    project.write_hook("guard", scope="project", script="exit 0")
    project.write_settings("project", make_settings("true"))
    project.write_settings("user", make_settings("false"))
    (project.home / ".kimi-code").mkdir()
    (project.home / ".kimi-code/config.toml").write_text('[[hooks]]\nevent = "Stop"\ncommand = "true"\n')
    write_pack(project.path / "guards", {"a": "return None", "b": "return None"}, default=["a"])
    shutil.copytree(project.path / "guards", project.home / ".config/agents/packs/local/guards")
    project.trust("guard")
    project.run("install", "codex", "--yes")
    return project, [sys.executable, "-c", AS_ACCOUNT, str(project.home), str(os.getpid())]


def environment(project, **variables):
    """The variables of an account that did not move its folders, without those of an agent that runs these tests."""
    left_out = (*VARIABLES, *(name for name in project.environment if name.startswith("XDG_")))
    kept = {name: value for name, value in project.environment.items() if name not in left_out}
    return {**kept, **variables}


def move_state(project):
    """Put the folders of a scratch project where an account has them by default."""
    (project.home / ".local").mkdir(exist_ok=True)
    (project.home / ".local/state").symlink_to(project.base / "state")


def snapshot(project):
    files = {path: path for folder in (project.base,) for path in folder.rglob("*") if path.is_file()}
    return {path: path.read_bytes() for path in files if "ledger" not in path.name and path.suffix != ".lock"}


def run(argv, project, **variables):
    return subprocess.run(
        argv, cwd=project.path, env=environment(project, **variables), capture_output=True, text=True,
        start_new_session=True, timeout=120, check=False,
    )  # fmt: skip


def for_each(commands, code="", *arguments):
    """Return the command line that runs some commands after some code."""
    return [sys.executable, "-c", FOR_EACH, code, json.dumps(list(commands.values())), *arguments]


def test_below_an_agent_a_command_of_a_persons_refuses_with_and_without_a_terminal(account):
    project, boathook = account
    move_state(project)
    agent = str(make_agent(project.base / "bin", "claude"))
    before = snapshot(project)
    argv = [agent, *for_each(COMMANDS, BE_ACCOUNT, *boathook[3:])]
    ends = json.loads(run(argv, project).stdout)
    assert snapshot(project) == before
    for name, (code, _, error) in zip(COMMANDS, ends, strict=True):
        assert (name, code) == (name, 1)
        assert "so only a person may run it: it was started below 'claude' (process " in error
        assert "env -u" not in error
    _, text = run_at_terminal(argv, cwd=project.path, env=environment(project))
    assert snapshot(project) == before
    for name, (code, _, error) in zip(COMMANDS, json.loads(text), strict=True):
        assert (name, code) == (name, 1)
        assert "it was started below 'claude'" in error.replace("\n", " ")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(words, id=name, marks=pytest.mark.long if name != "untrust" else ())
        for name, words in COMMANDS.items()
    ],
)
def test_below_an_agent_a_command_of_its_own_refuses_at_a_terminal(account, words):
    project, boathook = account
    move_state(project)
    agent = make_agent(project.base / "bin", "claude")
    before = snapshot(project)
    code, text = run_at_terminal([str(agent), *boathook, *words], cwd=project.path, env=environment(project))
    assert (code, snapshot(project)) == (1, before)
    assert "it was started below 'claude'" in text.replace("\n", " ")


def test_what_changes_no_guard_is_free_below_an_agent(account):
    project, boathook = account
    move_state(project)
    agent = make_agent(project.base / "bin", "codex")
    ends = json.loads(run([agent, *for_each(FREE, BE_ACCOUNT, *boathook[3:])], project).stdout)
    assert [error for _, _, error in ends if "only a person" in error] == []
    assert len(ends) == len(FREE)


def test_with_a_scratch_home_everything_is_free(project):
    project.write_hook("guard", scope="project", script="exit 0")
    agent = make_agent(project.base / "bin", "claude")
    argv, env = [agent, *for_each(COMMANDS)], {**project.environment, "CLAUDECODE": "1"}
    done = subprocess.run(argv, cwd=project.path, env=env, capture_output=True, text=True)
    ends = json.loads(done.stdout)
    assert [error for _, _, error in ends if "only a person" in error] == []
    assert len(ends) == len(COMMANDS)


@pytest.mark.parametrize("name", VARIABLES)
def test_each_variable_of_an_agent_counts(name):
    assert look(**{name: "1"}) == AgentEvidence(variables=(name,))
    assert f"run: env -u {name} boathook untrust guard" in describe_refusal(look(**{name: "1"}), ["untrust", "guard"])


@pytest.mark.parametrize(
    "name", [VARIABLES[0], *(pytest.param(name, marks=pytest.mark.long) for name in VARIABLES[1:])]
)
def test_a_variable_of_an_agent_counts_and_the_way_out_is_named(account, name):
    project, boathook = account
    move_state(project)
    done = run([*boathook, "untrust", "guard", "--yes"], project, **{name: "1"})
    assert done.returncode == 1
    assert f"the variable {name} says that an agent runs it" in done.stderr
    assert f"open a new one, or run: env -u {name} boathook untrust guard --yes\n" in done.stderr
    done = run(["env", "-u", name, *boathook, "untrust", "guard", "--yes"], project, **{name: "1"})
    assert (done.returncode, done.stdout) == (0, "guard is no longer trusted\n")


def test_an_empty_variable_does_not_count(account):
    project, boathook = account
    move_state(project)
    assert run([*boathook, "untrust", "guard", "--yes"], project, CLAUDECODE="").returncode == 0


def test_a_terminal_that_outlives_its_agent_gets_the_way_out(account):
    project, boathook = account
    move_state(project)
    # As tmux: a process that leaves the agent behind and keeps its variables.
    script = f"{' '.join(map(repr, boathook))} untrust guard --yes >out 2>&1; echo $? >code"
    script = script.replace(repr(AS_ACCOUNT), '"$CODE"')
    leave = "import os, sys\nif os.fork(): os._exit(0)\nos.setsid()\nos.execvp('sh', ['sh', '-c', sys.argv[1]])"
    agent = make_agent(project.base / "bin", "claude")
    env = environment(project, CLAUDECODE="1", CODE=AS_ACCOUNT)
    (project.base / "leave.py").write_text(leave)
    (project.base / "inner.sh").write_text(script)
    wait = f'"{sys.executable}" "{project.base}/leave.py" "$(cat "{project.base}/inner.sh")"'
    subprocess.run([agent, "sh", "-c", wait], cwd=project.path, env=env, check=True, timeout=60)
    code = project.path / "code"
    for _ in range(600):
        if code.exists() and code.read_text():
            break
        subprocess.run(["sleep", "0.1"], check=True)
    assert code.read_text() == "1\n"
    assert "env -u CLAUDECODE boathook untrust guard --yes" in (project.path / "out").read_text()


def test_a_person_at_a_terminal_is_asked_there_and_not_on_standard_input(account):
    project, boathook = account
    move_state(project)
    words = ["sh", "-c", 'exec "$@" </dev/null', "sh", *boathook]
    for command, question in (
        (["untrust", "guard"], "Forget the decisions about guard? [y/N]: "),
        (["trust", "guard"], "Trust guard? [y]es / [N]o / [v]iew / [q]uit: "),
        (["deny", "guard"], "Never run guard here? [y/N]: "),
        (["uninstall", "codex"], "Write this? [Y/n]: "),
        (["convert", "to-hookmd", "--move"], "Convert PreToolUse:true#2ca4bc? [Y/n]: "),
    ):
        code, text = run_at_terminal([*words, *command], ["n"], cwd=project.path, env=environment(project))
        assert (code, question in text) == (1, True), text
        code, text = run_at_terminal([*words, *command], ["y"], cwd=project.path, env=environment(project))
        assert code == 0, text


@pytest.mark.parametrize("words", [["untrust", "guard"], ["deny", "guard"], ["uninstall", "codex"],
                                   ["convert", "to-hookmd"]])  # fmt: skip
def test_without_a_terminal_nothing_is_changed_without_yes(account, words):
    project, boathook = account
    move_state(project)
    before = snapshot(project)
    done = run([*boathook, *words], project)
    assert (done.returncode, snapshot(project)) == (1, before)
    assert (
        "Nothing was changed: there is no terminal to ask at. To do it without a question, add --yes\n" in done.stderr
    )
    assert run([*boathook, *words, "--yes"], project).returncode == 0


def test_the_end_of_input_at_the_terminal_is_not_a_yes(account):
    project, boathook = account
    move_state(project)
    code, text = run_at_terminal(
        [*boathook, "uninstall", "codex"], ["\x04"], cwd=project.path, env=environment(project)
    )
    assert (code, "Aborted!" in text) == (1, True)


# What counts as an agent


def look(*words, program="", **variables):
    ancestors = [make_ancestor(7, [program or words[0]], list(words))] if words else []
    return find_agent(variables, ancestors, list_setups())


AGENTS = {
    "claude": ["claude"],
    "the file of a version": ["claude", "--resume"],
    "codex by node": ["node", "/usr/lib/node_modules/@openai/codex/bin/codex.js"],
    "gemini by node": ["node", "/usr/local/bin/gemini"],
    "gemini that started itself again": [
        "/usr/bin/node",
        "--max-old-space-size=9",
        "/x/@google/gemini-cli/dist/index.js",
    ],
    "qwen": ["node", "/x/node_modules/@qwen-code/qwen-code/cli-entry.js"],
    "Kimi Code": ["node", "/x/@moonshot-ai/kimi-code/dist/main.mjs", "-p"],
    "kimi-cli": ["/x/bin/python3", "/x/bin/kimi"],
    "kimi-cli as a module": ["python3.12", "-m", "kimi_cli"],
    "Copilot": ["node", "/x/@github/copilot/npm-loader.js"],
    "opencode": ["/x/opencode-linux-x64/bin/opencode"],
    "Cline": ["/x/@cline/cli-linux-x64/bin/cline"],
    "Cursor's command line": ["cursor-agent"],
    "Droid": ["droid"],
    "Kiro": ["kiro-cli"],
}
PEOPLE = {
    "a shell": ["-bash"],
    "tmux": ["tmux", "new"],
    "VS Code": ["/usr/share/code/code", "--type=utility"],
    "Cursor": ["/opt/cursor/cursor", "."],
    "Windsurf": ["windsurf"],
    "vim with a file": ["vim", "claude"],
    "emacs": ["emacs"],
    "JetBrains": ["/opt/idea/bin/idea"],
    "less": ["less", "/x/claude/notes"],
    "a folder of that name": ["node", "/home/claude/codex/server.js"],
    "ssh": ["sshd: user@pts/0"],
}  # fmt: skip


@pytest.mark.parametrize("words", AGENTS.values(), ids=AGENTS)
def test_an_agent_is_recognized_by_its_process(words):
    found = look(*words)
    assert found is not None
    assert found.pid == 7


@pytest.mark.parametrize("words", PEOPLE.values(), ids=PEOPLE)
def test_terminals_and_editors_are_a_persons(words):
    assert look(*words) is None


def test_a_real_script_of_an_agent_is_seen(account):
    project, boathook = account
    move_state(project)
    agent = make_agent_script(project.base / "bin", "lib/node_modules/@openai/codex/bin/codex.js")
    done = run([*agent, *boathook, "untrust", "guard", "--yes"], project)
    assert (done.returncode, "it was started below 'codex'" in done.stderr) == (1, True)


def test_every_variable_is_named_in_the_way_out():
    found = look(CLAUDECODE="1", AI_AGENT="x", HOME="/h")
    assert found == AgentEvidence(variables=("CLAUDECODE", "AI_AGENT"))
    refusal = describe_refusal(found, ["trust", "a b"])
    assert "run: env -u CLAUDECODE -u AI_AGENT boathook trust 'a b'" in refusal
    assert "the variables CLAUDECODE and AI_AGENT say that an agent runs it" in refusal


def test_an_editor_is_one_of_the_programs_of_its_agent():
    for setup in list_setups():
        assert set(setup.editors) <= set(setup.programs)


def test_variables_and_packages_belong_to_one_agent():
    for field in ("agent_variables", "packages"):
        names = [name for setup in list_setups() for name in getattr(setup, field)]
        assert len(names) == len(set(names))


def test_the_json_of_install_shows_that_nothing_was_changed_without_a_terminal(account):
    project, boathook = account
    done = run([*boathook, "install", "claude", "--json"], project)
    assert (done.returncode, json.loads(done.stdout)["changed"]) == (1, False)
    assert not os.path.exists(project.home / ".claude/boathook")


@pytest.mark.parametrize("words", [["asks", "--watch"], ["asks", "0123"], ["page", "--open"]])
def test_a_command_that_answers_for_a_person_names_no_way_around_that(account, words):
    project, boathook = account
    move_state(project)
    done = run([*boathook, *words], project, CLAUDECODE="1")
    assert done.returncode == 1
    assert "This command answers for a person, so only a person may run it: " in done.stderr
    assert "the variable CLAUDECODE says that an agent runs it" in done.stderr
    assert f"open a new one, and run: boathook {' '.join(words)}\n" in done.stderr
    assert "env -u" not in done.stderr
