"""The commands `install`, `uninstall` and `status`, and `doctor` on what they did, as a person calls them."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from boathook.core.hook import USER
from boathook.dialects.dialect import find_host_dialect
from boathook.hosts.host import load_host
from boathook.hosts.setup import load_setup
from boathook.install.probe import find_probe_command, list_installed_events, make_probe_event, run_probe
from boathook.process.supervisor import HOOK_ENTRY
from tests.install.helpers import EVERYWHERE, everything, file_of, install, registry_of, state, target_of
from tests.output_validation import validate_output
from tests.scratch_project import make_settings
from tests.terminal import add_agents, run_boathook

pytestmark = pytest.mark.installed

FIXTURES = Path(__file__).parents[1] / "fixtures"
USERS = [host for host, scope in EVERYWHERE if scope == USER]


@pytest.fixture
def run(project, monkeypatch, capsysbinary):
    """Return a function that runs `boathook` in this process: exit code, standard output, standard error."""
    from boathook.cli.commands import cli

    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def call(*arguments: str, yes: bool = True) -> tuple[int, str, str]:
        code = 0
        flags = ("--yes",) if yes and arguments[0] in ("install", "uninstall") else ()
        try:
            cli((*arguments[:2], *flags, *arguments[2:]), prog_name="boathook", standalone_mode=True)
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsysbinary.readouterr()
        validate_output(arguments, out)
        return code, out.decode(), err.decode()

    return call


def test_without_a_terminal_nothing_is_written_without_yes(project, run):
    for arguments in (("install", "gemini"), ("uninstall", "gemini")):
        before = everything(project)
        code, out, err = run(*arguments, yes=False)
        assert (code, everything(project)) == (1, before)
        assert out.startswith(f"{file_of(project, 'gemini')} (")
        assert err == "Nothing was changed: there is no terminal to ask at. To do it without a question, add --yes\n"
        run("install", "gemini")
    assert state(project, "gemini") == ("installed", ())


def test_install_shows_what_matters_in_a_few_lines(project, run):
    code, out, _ = run("install", "gemini")
    path = file_of(project, "gemini")
    assert (code, state(project, "gemini")) == (0, ("installed", ()))
    lines = out.splitlines()
    events = ", ".join(json.loads(path.read_text())["hooks"])
    assert lines[:4] == [
        f"{path} (new)",
        f"  adds 8 entries that call boathook, at {events}",
        "  sets hooksConfig.enabled to true",
        "The entry of BeforeTool runs this command; if boathook is gone, it refuses tool calls and says how to repair that:",
    ]
    end = lines.index("Nothing else in these files changes. To see every line, add --diff")
    command = json.loads(path.read_text())["hooks"]["BeforeTool"][0]["hooks"][0]["command"]
    # Without the two long texts for a boathook that is gone.
    assert shlex.split(" ".join(lines[4:end])) == shlex.split(command.partition("exec ")[2].partition(" --repair")[0])
    assert all(line.count(" --") == 1 for line in lines[6:end])
    assert f"gemini is installed: {path}\n" in out
    assert run("install", "gemini")[:2][1].startswith("gemini is installed already: nothing to do\n")


def test_install_with_diff_shows_every_line(project, run):
    _, out, _ = run("install", "gemini", "--diff")
    path = file_of(project, "gemini")
    assert out.startswith(f"--- /dev/null\n+++ {path}\n")
    added = [line[1:] for line in out.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert "\n".join(added) == path.read_text().rstrip("\n")
    removed = run("uninstall", "gemini", "--diff")[1]
    assert removed.startswith(f"--- {path}\n+++ /dev/null\n")


@pytest.mark.parametrize("host", USERS)
def test_the_summary_of_every_agent_names_its_files_and_one_command_and_is_short(project, run, host):
    _, out, _ = run("install", host)
    summary = out.partition("To see every line, add --diff\n")[0]
    files = [file.path for one in registry_of(project).read() for file in one.files]
    assert files
    assert all(file in summary for file in files)
    assert summary.count(HOOK_ENTRY) >= 1
    assert len(summary.splitlines()) < 35
    assert "  removes " not in summary
    _, out, _ = run("uninstall", host)
    summary = out.partition("To see every line, add --diff\n")[0]
    assert all(f"{file} (deleted)" in summary for file in files)
    assert "  adds " not in summary


def test_the_summary_of_a_repair_names_which_entries_are_replaced_and_removed(project, run):
    run("install", "claude")
    path = file_of(project, "claude")
    content = json.loads(path.read_text())
    content["hooks"]["Nonsense"] = content["hooks"]["PreToolUse"]
    path.write_text(json.dumps({**content, "model": "mine"}).replace("--event PreToolUse", "--event PostToolUse", 1))
    _, out, _ = run("install", "claude")
    assert f"{path} (changed)" in out
    assert "  removes 1 entry that calls boathook, at Nonsense\n" in out
    assert "  replaces 1 entry that calls boathook, at PreToolUse\nThe entry of PreToolUse runs " in out
    assert "adds" not in out
    assert json.loads(path.read_text())["model"] == "mine"


def test_the_trust_of_a_folder_is_in_the_summary_whole(project, run):
    (project.path / ".git").mkdir()
    _, out, _ = run("install", "codex", "--project", "--trust-folder")
    assert f'projects.{project.path} = {{"trust_level": "trusted"}}' in out


def test_a_dry_run_writes_nothing(project, run):
    before = everything(project)
    code, out, _ = run("install", "codex", "--dry-run")
    assert (code, everything(project)) == (0, before)
    assert "+trusted_hash" in out
    assert not registry_of(project).read()


def test_uninstall_takes_it_back(project, run):
    before = everything(project)
    run("install", "codex")
    assert run("uninstall", "codex", "--dry-run")[0] == 0
    assert state(project, "codex") == ("installed", ())
    code, out, _ = run("uninstall", "codex")
    assert (code, everything(project)) == (0, before)
    files = ", ".join(str(project.home / ".codex" / name) for name in ("hooks.json", "config.toml"))
    assert out.endswith(f"codex is uninstalled: {files}\n")
    assert "To install it again: boathook install codex\n" in out
    assert out.splitlines()[-3].startswith(f"No agent calls boathook now. {project.cache} may be deleted, and so may ")
    assert run("uninstall", "codex")[1] == "codex is not installed: nothing to do\n"


def test_no_host_is_made_to_call_twice_in_a_project(project, run):
    run("install", "codex")
    before = everything(project)
    code, _, err = run("install", "codex", "--project", str(project.path))
    assert (code, "codex is installed for all your projects, this one included. Nothing was written" in err) == (
        1,
        True,
    )
    assert everything(project) == before
    run("uninstall", "codex")
    assert run("install", "codex", "--project", str(project.path))[0] == 0
    code, _, err = run("install", "codex")
    assert (code, f"First run: boathook uninstall codex --project {project.path}" in err) == (1, True)


def test_status_shows_how_to_fix_what_a_person_can_fix(project, run):
    run("install", "claude")
    path = file_of(project, "claude")
    path.write_text(path.read_text().replace('"hooks"', '"disableAllHooks": true, "hooks"', 1))
    out = run("status")[1]
    assert "fix: change the settings of claude that are named above" in out
    assert "fix: boathook install claude" not in out


def test_a_person_who_answers_no_reads_that_nothing_was_written(project):
    code, out = run_boathook(project, ["install", "gemini"], ["perhaps", "n"])
    assert (code, out.endswith("n\nNothing was changed: you answered no.\n")) == (1, True)
    assert "Answer y or n.\n" in out
    assert not file_of(project, "gemini").exists()


def test_status_names_the_command_that_trusts_a_folder(project, run):
    where = ("--project", str(project.path))
    run("install", "codex", *where)
    fixes = [line for line in run("status", *where)[1].splitlines() if line.startswith("fix: ")]
    assert fixes == [f"fix: boathook install codex --project {project.path} --trust-folder"]
    run("install", "codex", *where, "--trust-folder")
    assert "fix: " not in run("status", *where)[1]


def test_what_was_taken_out_by_hand_is_forgotten(project, run):
    run("install", "claude")
    file_of(project, "claude").unlink()
    assert (
        run("uninstall", "claude")[1]
        == "The entries in claude were already removed. boathook deleted its record of them.\n"
    )
    assert (run("status")[0], registry_of(project).read()) == (0, [])


def test_a_project_that_is_gone_can_be_forgotten(project, run):
    gone = project.base / "gone"
    gone.mkdir()
    run("install", "gemini", "--project", str(gone))
    shutil.rmtree(gone)
    assert run("uninstall", "gemini", "--project", str(gone))[0] == 0
    assert registry_of(project).read() == []


def test_folders_that_a_projects_variables_lead_to_are_not_written_down(project, run, monkeypatch):
    (project.path / ".git").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project.path / "config"))
    code, _, err = run("install", "claude")
    assert (code, f"{project.path}/config/agents is inside a project" in err) == (1, True)
    assert not file_of(project, "claude").exists()


def test_json_output_reports_what_was_done(project, run):
    path = str(file_of(project, "claude", "project"))
    code, out, _ = run("install", "claude", "--project", str(project.path), "--json")
    found = json.loads(out)
    todo = found.pop("todo")
    assert (code, found) == (
        0,
        {
            "version": 1,
            "command": "install",
            "host": "claude",
            "scope": "project",
            "project": str(project.path),
            "changed": True,
            "files": [{"path": path, "action": "created"}],
            "unsupported": {},
        },
    )
    assert todo[0].startswith("trust the folder when Claude Code asks")
    found = json.loads(run("uninstall", "claude", "--project", str(project.path), "--json")[1])
    assert (found["changed"], found["files"]) == (True, [{"path": path, "action": "removed"}])


def test_a_project_is_found_from_within(project, run, monkeypatch):
    (project.path / ".git").mkdir()
    below = project.path / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    code, out, _ = run("install", "qwen", "--project")
    assert (code, (project.path / ".qwen" / "settings.json").exists()) == (0, True)
    assert "now keep .qwen/settings.json out of version control" in out


WRONG = {
    "a host that is none": (("install", "emacs"), "unknown host 'emacs' (known: claude, "),
    "both scopes": (("install", "claude", "--user", "--project"), "--user and --project exclude each other"),
    "no project hooks": (("install", "kimi-cli", "--project"), "run `boathook install kimi-cli --user`"),
    "no such folder": (("install", "claude", "--project", "/no/such"), "/no/such is not a folder"),
    "a folder without a project": (("install", "codex", "--trust-folder"), "--trust-folder needs --project"),
    "trust that cannot be written": (("install", "cursor", "--project", "--trust-folder"), "trust the folder there"),
    "the home folder": (("install", "claude", "--project", "HOME"), "the project is your home folder"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_reported_and_nothing_is_written(project, run, name):
    arguments, word = WRONG[name]
    before = everything(project)
    code, _, err = run(*(str(project.home) if one == "HOME" else one for one in arguments))
    assert (code, word in err) == (1, True), err
    assert everything(project) == before


def test_a_file_that_cannot_be_parsed_stops_it(project, run):
    path = file_of(project, "claude")
    path.parent.mkdir()
    path.write_text("{\n  oops\n}")
    code, out, err = run("install", "claude")
    message = f"boathook: {path}, line 2: a key in double quotes is expected. Nothing was written: fix the file, then try again\n"
    assert (code, out, err) == (1, "", message)


def test_what_hooks_cannot_do_there_is_reported_and_strict_refuses(project, run):
    project.write_hook("asker", fields={"metadata": "{effects: [ask]}"})
    project.write_hook("plain", fields={"metadata": "{effects: [block]}"})
    before = everything(project)
    code, out, err = run("install", "codex", "--strict")
    assert (code, everything(project)) == (1, before)
    assert "in codex, asker: " in out
    assert "plain" not in out
    assert "Nothing was written: codex does not support all effects of 1 hook, and you asked for --strict." in err
    assert run("install", "codex")[0] == 0
    assert run("install", "claude", "--strict")[0] == 0


def test_strict_ignores_hooks_that_the_agent_runs_itself(project, run, monkeypatch):
    monkeypatch.chdir(project.path)
    entry = {"SessionEnd": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}
    project.write_settings("project", {"hooks": entry | {"PreCompact": entry["SessionEnd"]}})
    assert run("install", "vscode", "--strict", "--yes")[0] == 0
    code, _, err = run("install", "copilot", "--strict", "--yes")
    assert (code, "copilot does not support all effects of 1 hook" in err) == (1, True)


def test_status_lists_all_hosts_and_fails_if_one_is_not_well(project, run):
    assert run("status")[0] == 0
    run("install", "claude")
    code, out, _ = run("status", "--json")
    found = json.loads(out)
    assert (code, found["ok"], [host["host"] for host in found["hosts"]]) == (0, True, USERS)
    first = found["hosts"][0]
    assert (first["runs_itself"], first["statuses"]) == (
        ["settings"],
        [
            {
                "host": "claude",
                "scope": "user",
                "state": "installed",
                "path": str(file_of(project, "claude")),
                "why": [],
            },
            {
                "host": "claude",
                "scope": "project",
                "state": "not installed",
                "path": str(file_of(project, "claude", "project")),
                "why": [],
            },
        ],
    )
    file_of(project, "claude").write_text("{}")
    code, out, _ = run("status")
    assert (code, "claude (user): its file has none of the entries that boathook installed\n" in out) == (1, True)
    assert "fix: boathook install claude\n" in out


def test_status_has_a_row_for_agents_that_one_has_and_one_line_for_all_others(machine):
    add_agents(machine, "claude")
    (machine.home / ".codex").mkdir()
    machine.run("install", "gemini", "--yes")
    out = machine.run("status").stdout
    rows = [line.split()[0] for line in out.splitlines()]
    assert rows[:4] == ["HOST", "claude", "codex", "gemini"]
    (line,) = [line for line in out.splitlines() if line.startswith("not found on this machine: ")]
    assert line == f"not found on this machine: {', '.join(name for name in USERS if name not in rows)}"
    # Cursor and VS Code read the files of Claude Code, which is nobody's concern who has neither.
    machine.run("install", "claude", "--yes")
    assert "note: " not in machine.run("status").stdout
    add_agents(machine, "cursor")
    assert "note: cursor also reads " in machine.run("status").stdout


def test_status_names_hooks_that_run_twice(project, run):
    path = project.write_settings("user", make_settings("sh ./guard.sh"))
    run("convert", "to-hookmd", "--user", "--yes")
    (note,) = json.loads(run("status", "--json")[1])["notes"]
    assert note.startswith(f"'guard' runs twice: {path} has the same command, at hooks.PreToolUse[0].hooks[0]. Fix: ")


def test_without_a_host_each_agent_of_the_machine_is_offered(machine):
    done = machine.run("install")
    assert (done.returncode, "No agent was found on this machine" in done.stderr) == (1, True)
    add_agents(machine, "claude", "gemini")
    done = machine.run("install", "--yes")
    assert (done.returncode, "name an agent: claude, gemini are here." in done.stderr) == (1, True)
    (machine.home / ".gemini").mkdir()
    (machine.home / ".gemini/settings.json").write_text("{")
    code, out = run_boathook(machine, ["install"], ["y"])
    assert (code, out.count("Write this?")) == (1, 1)
    assert "Agents on this machine: claude, gemini." in out
    assert "gemini was not installed: " in out
    (machine.home / ".gemini/settings.json").unlink()
    code, out = run_boathook(machine, ["install"], ["y"])
    assert (code, "claude is installed already" in out, "gemini is installed: " in out) == (0, True, True)


@pytest.mark.parametrize("name", ["claude-code", "claud", "Claude"])
def test_a_name_that_is_nearly_that_of_an_agent_gets_the_right_one(project, run, name):
    for command in ("install", "uninstall"):
        code, _, err = run(command, name)
        assert (code, "did you mean 'claude'?" in err) == (1, True), err


def test_uninstall_warns_that_converted_hooks_lose_their_agent(project, run):
    settings = project.write_settings("user", make_settings("sh ./guard.sh"))
    run("install", "claude")
    run("convert", "to-hookmd", "--user", "--yes")
    # The agent still runs its own copy.
    assert json.loads(run("uninstall", "claude", "--dry-run", "--json")[1])["warnings"] == []
    shutil.rmtree(project.hooks_folder("user"))
    code, out, _ = run("convert", "to-hookmd", "--user", "--move", "--yes")
    assert (code, "1 converted, 0 left" in out, "left  " in out) == (0, True, False)
    lost = "These hooks were converted from the files of Claude Code, and it will not run them any more: guard."
    (warning,) = json.loads(run("uninstall", "claude", "--dry-run", "--json")[1])["warnings"]
    assert warning == f"{lost} To move them back first: boathook convert to-settings --user --move"
    for arguments in (("claude", "--dry-run"), ("--all", "--dry-run")):
        assert f"warning: {lost}" in run("uninstall", *arguments)[1]
    assert run("convert", "to-settings", "--user", "--move", "--yes")[0] == 0
    assert "warning" not in run("uninstall", "claude")[1]
    assert "guard" in settings.read_text()


def test_at_a_terminal_it_is_asked(project):
    code, out = run_boathook(project, ["install", "claude"], ["n"])
    assert (code, "Write this? [Y/n]: " in out) == (1, True)
    assert state(project, "claude") == ("not installed", ())
    assert run_boathook(project, ["install", "claude"], ["y"])[0] == 0
    assert state(project, "claude") == ("installed", ())
    assert run_boathook(project, ["uninstall", "claude"], [""])[0] == 0
    assert state(project, "claude") == ("not installed", ())


# What is installed works


CAPTURED = {
    "claude": ("claude-code/PreToolUse.json", "PreToolUse", "permissionDecisionReason"),
    "codex": ("hosts/codex/PreToolUse.json", "PreToolUse", "permissionDecisionReason"),
    "copilot": ("hosts/copilot/preToolUse.json", "preToolUse", "permissionDecisionReason"),
    "gemini": ("hosts/gemini/BeforeTool.json", "BeforeTool", "reason"),
    "kimi-code": ("hosts/kimi-code/PreToolUse.json", "PreToolUse", "permissionDecisionReason"),
    "kimi-cli": ("hosts/kimi-cli/PreToolUse.json", "PreToolUse", "permissionDecisionReason"),
    "qwen": ("hosts/qwen/PreToolUse.json", "PreToolUse", "permissionDecisionReason"),
    "cline": ("hosts/cline/PreToolUse.json", "PreToolUse", "errorMessage"),
}


@pytest.mark.parametrize("host", CAPTURED)
def test_the_installed_command_answers_what_the_host_really_sends(project, host):
    path, event, key = CAPTURED[host]
    project.write_hook("guard", script="echo no such thing >&2; exit 2", fields={"matcher": "{tool: ^Shell$}"})
    install(project, host)
    line = find_probe_command(load_setup(host), target_of(project), event)
    shot = run_probe(line, (FIXTURES / path).read_bytes(), str(project.path))
    answer = json.loads(shot.out)
    assert (shot.code, answer.get("hookSpecificOutput", answer)[key]) == (0, "no such thing")


@pytest.mark.parametrize("host", USERS)
def test_an_event_of_the_doctor_can_be_read_by_its_host(host, tmp_path):
    table = load_host(host)
    rows = list_installed_events(table, load_setup(host))
    assert rows[0].kind_name == "pre-tool-call"
    event = find_host_dialect(host).read_event(make_probe_event(table, rows[0], str(tmp_path)), rows[0].name)
    assert (event.kind.name, event.tool_name, event.tool_input, event.work_dir) == (
        *("pre-tool-call", "boathookdoctor", {}),
        str(tmp_path) if table.folder_keys else "",
    )


def _doctor(project):
    done = project.run("doctor", "--json")
    assert "Traceback" not in done.stderr, done.stderr
    found = [row for row in json.loads(done.stdout)["setup"] if row["subject"].startswith("installed in ")]
    return done.returncode, found


def test_doctor_fires_what_is_installed_and_leaves_no_trace(project):
    project.write_hook("seen", script=f"touch {project.base}/fired", fields={"matcher": "{tool: ^Shell$}"})
    for host in USERS:
        install(project, host)
    code, found = _doctor(project)
    assert (code, [(row["subject"], row["level"]) for row in found]) == (
        *(0,),
        [(f"installed in {host}", "ok") for host in USERS],
    )
    assert all(row["text"].startswith("works: its command answers in ") for row in found)
    records = project.run("log", "--json").stdout.splitlines()
    assert [json.loads(one)["type"] for one in records] == ["doctor"]


def test_doctor_names_what_cannot_run(project):
    install(project, "codex")
    path = file_of(project, "codex")
    path.write_text(path.read_text().replace(sys.executable, "/gone/python"))
    code, found = _doctor(project)
    texts = [row["text"] for row in found]
    assert code == 1
    assert "stale: its interpreter is gone: /gone/python" in texts
    assert not any("not run" in text for text in texts)


def test_doctor_has_one_finding_for_one_stale_installation(project):
    install(project, "claude")
    path = file_of(project, "claude")
    path.write_text(path.read_text().replace(sys.executable, "/gone/python"))
    done = project.run("doctor", "--json")
    findings = [one for one in json.loads(done.stdout)["setup"] if "claude" in one["subject"]]
    assert done.returncode == 1
    assert [(one["level"], one["subject"], one["text"], one["fix"]) for one in findings] == [
        ("error", "installed in claude", "stale: its interpreter is gone: /gone/python", "boathook install claude")
    ]


def test_doctor_reports_that_a_host_turned_hooks_off(project):
    install(project, "qwen")
    path = file_of(project, "qwen")
    path.write_text(path.read_text().replace("{\n", '{\n  "disableAllHooks": true,\n', 1))
    code, found = _doctor(project)
    assert (code, found[0]["level"], found[0]["text"].startswith("shadowed: disableAllHooks is true")) == (
        1,
        "error",
        True,
    )
    assert found[0]["fix"] == "boathook install qwen"


# The plugin of OpenCode

DRIVER = """
import { Boathook } from "./boathook.mjs"
const hooks = await Boathook({ directory: process.argv[2] })
const call = (tool, args) => [{ tool, sessionID: "s", callID: "c", args }, { args, output: "out", title: "", metadata: {} }]
const said = {}
let [input, output] = call("bash", { command: "rm -rf /" })
try { await hooks["tool.execute.before"](input, output) } catch (error) { said.refused = error.message }
;[input, output] = call("bash", { command: "ls", workdir: "/" })
try { await hooks["tool.execute.before"](input, output) } catch (error) { said.again = error.message }
said.args = output.args
;[input, output] = call("read", { filePath: "x" })
await hooks["tool.execute.after"](input, output)
said.output = output.output
const message = { message: { id: "m" }, parts: [{ type: "text", text: "hello" }] }
await hooks["chat.message"]({ sessionID: "s" }, message)
said.parts = message.parts.map(({ type, text }) => [type, text])
await hooks.event({ event: { type: "session.created", properties: { info: { id: "s" } } } })
await hooks.event({ event: { type: "session.created", properties: { info: { id: "child", parentID: "s" } } } })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "child" } } })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
await hooks.event({ event: { type: "something.else" } })
console.log(JSON.stringify(said))
"""


def _drive(project, driver: str = DRIVER) -> subprocess.CompletedProcess[str]:
    folder = project.base / "drive"
    folder.mkdir(exist_ok=True)
    shutil.copy(file_of(project, "opencode"), folder / "boathook.mjs")
    (folder / "drive.mjs").write_text(driver)
    argv = ["node", str(folder / "drive.mjs"), str(project.path)]
    return subprocess.run(argv, capture_output=True, text=True, env=project.environment, timeout=60)


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")


@needs_node
def test_the_plugin_of_opencode_does_what_hooks_answer(project):
    seen = f"echo $AGENT_HOOK_EVENT >> {project.base}/seen; cat >> {project.base}/payloads"
    project.write_hook(
        "guard", script="grep -q 'rm -rf' || exit 0; echo no >&2; exit 2", fields={"matcher": "{tool: ^Shell$}"}
    )
    project.write_hook(
        "rewrite",
        script="""echo '{"modified_input": {"command": "pwd"}}'""",
        fields={"matcher": "{tool: ^Shell$, pattern: '^ls$'}"},
    )
    project.write_hook(
        "after",
        script="""echo '{"modified_output": "changed", "additional_context": "and more"}'""",
        fields={"trigger": "post-tool-call", "matcher": "{tool: ^ReadFile$}"},
    )
    project.write_hook(
        "prompt", script="""echo '{"additional_context": "mind this"}'""", fields={"trigger": "pre-agent-turn"}
    )
    project.write_hook("begin", script=seen, fields={"trigger": "pre-session"})
    project.write_hook("end", script=seen, fields={"trigger": "pre-agent-turn-stop"})
    install(project, "opencode")
    done = _drive(project)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "refused": "no",
        "args": {"command": "pwd"},
        "output": "changed\n\nand more",
        "parts": [["text", "hello"], ["text", "mind this"]],
    }
    assert len((project.base / "seen").read_text().split("\n")) == 3


def _copy_package(project) -> Path:
    """Let the plugin call a copy of the package, with an interpreter of its own."""
    folder, path = project.base / "env", file_of(project, "opencode")
    shutil.copytree(Path(HOOK_ENTRY).parents[1], folder / "boathook")
    (folder / "python3").symlink_to(sys.executable)
    text = path.read_text().replace(HOOK_ENTRY, str(folder / "boathook/entry/hook_entry.py"))
    path.write_text(text.replace(sys.executable, str(folder / "python3")))
    return folder


def _write_program(path: Path, script: str) -> None:
    path.unlink()
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def _write_empty(path: Path) -> None:
    path.unlink()
    path.touch(0o755)


# What is done to the package, and what the reason names.
PLUGIN_DAMAGES = {
    "no interpreter": (lambda env: (env / "python3").unlink(), "ENOENT"),
    "no entry": (lambda env: (env / "boathook/entry/hook_entry.py").unlink(), "ENOENT"),
    "an empty interpreter": (lambda env: _write_empty(env / "python3"), "python3 is empty"),
    "an empty entry": (lambda env: _write_empty(env / "boathook/entry/hook_entry.py"), "hook_entry.py is empty"),
    "no package": (lambda env: (env / "boathook/entry/fast_path.py").unlink(), "ModuleNotFoundError"),
    "an interpreter without its library": (
        lambda env: _write_program(env / "python3", "echo 'libpython3.so: cannot open' >&2; exit 127"),
        "libpython3.so: cannot open",
    ),
    "an interpreter that crashes": (lambda env: _write_program(env / "python3", "kill -SEGV $$"), "SIGSEGV"),
    "an answer that is not JSON": (lambda env: _write_program(env / "python3", "echo hello"), "cannot be read"),
}


@needs_node
@pytest.mark.parametrize("damage", PLUGIN_DAMAGES)
def test_a_plugin_without_its_engine_refuses_tool_calls_and_nothing_else(project, damage):
    install(project, "opencode")
    break_it, cause = PLUGIN_DAMAGES[damage]
    break_it(_copy_package(project))
    done = _drive(project)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert all(cause in answers[name] and "boathook cannot start" in answers[name] for name in ("refused", "again"))
    assert "boathook install opencode. Or remove its entries from" in answers["refused"]
    assert answers["args"] == {"command": "ls", "workdir": "/"}
    assert (answers["output"], answers["parts"]) == ("out", [["text", "hello"]])
    # After the tool, at the prompt, at the start and at the stop.
    assert done.stderr.count("boathook cannot start") == 4


@needs_node
def test_a_plugin_without_its_engine_refuses_nothing_if_the_person_wants_that(project):
    project.write_hooks_toml("user", '[hooks]\nbroken = "allow"\n')
    install(project, "opencode")
    (_copy_package(project) / "python3").unlink()
    done = _drive(project)
    assert (done.returncode, "refused" in json.loads(done.stdout)) == (0, False)
    assert "boathook: pre-tool-call: boathook cannot start" in done.stderr


BATCH_DRIVER = """
const { Boathook } = await import("./boathook.mjs")
const hooks = await Boathook({ directory: process.argv[2] })
const said = []
for (const command of ["ls", "rm -rf x", "pwd"]) {
  const calls = [{ tool: "read", parameters: { filePath: "x" } }, { tool: "bash", parameters: { command } }]
  const output = { args: { tool_calls: calls } }
  try {
    await hooks["tool.execute.before"]({ tool: "batch", sessionID: "s", callID: "c" }, output)
    said.push(output.args.tool_calls[1].parameters)
  } catch (error) { said.push(error.message) }
}
console.log(JSON.stringify(said))
"""


@needs_node
def test_the_plugin_of_opencode_asks_about_every_call_in_a_batch(project):
    project.write_hook(
        "guard", script="grep -q 'rm -rf' || exit 0; echo no >&2; exit 2", fields={"matcher": "{tool: ^Shell$}"}
    )
    project.write_hook(
        "rewrite",
        script="""echo '{"modified_input": {"command": "pwd"}}'""",
        fields={"matcher": "{tool: ^Shell$, pattern: '^ls$'}"},
    )
    install(project, "opencode")
    assert json.loads(_drive(project, BATCH_DRIVER).stdout) == [{"command": "pwd"}, "no", {"command": "pwd"}]


@needs_node
@pytest.mark.parametrize("start", ["no: ", ""])
def test_a_reason_with_the_words_of_python_does_not_lift_a_block(project, start):
    project.write_hooks_toml("user", '[hooks]\nbroken = "allow"\n')
    reason = f"{start}{sys.executable}: can't open file 'x'"
    project.write_hook("guard", script=f'echo "{reason}" >&2; exit 2')
    install(project, "opencode")
    assert json.loads(_drive(project).stdout)["refused"] == reason


@needs_node
def test_an_entry_that_is_gone_when_python_opens_it_is_a_broken_engine(project):
    project.write_hooks_toml("user", '[hooks]\nbroken = "allow"\n')
    install(project, "opencode")
    python = _copy_package(project) / "python3"
    _write_program(python, """rm -f "$3"; echo "$0: can't open file 'x'" >&2; exit 2""")
    done = _drive(project)
    assert "refused" not in json.loads(done.stdout)
    assert "boathook: pre-tool-call: boathook cannot start" in done.stderr
