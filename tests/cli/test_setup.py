"""`boathook setup`, as a stranger calls it: nothing installed, some agents on the PATH, hooks of their own here and there."""

from __future__ import annotations

import json
import re

import pytest

from boathook.cli.setup_plan import plan_setup
from boathook.cli.setup_steps import apply_setup, probe_setup
from boathook.install.setup_record import SetupRecord, SetupStore
from boathook.sources.pack_lock import LockedPack, write_lock
from tests.install.helpers import everything, state
from tests.output_validation import validate_output
from tests.packs.toy_packs import write_pack
from tests.scratch_project import make_settings
from tests.terminal import add_agents, run_boathook

pytestmark = pytest.mark.installed

CURSOR_HOOKS = {"version": 1, "hooks": {"beforeShellExecution": [{"command": "true"}]}}


def set_up(project, *arguments, code=0):
    done = project.run("setup", *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def set_up_json(project, *arguments, code=0):
    done = project.run("setup", *arguments, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    validate_output(("setup", "--json"), done.stdout.encode())
    return json.loads(done.stdout)


def read_agents(answer) -> dict[str, bool]:
    return {agent["host"]: agent["guarded"] for agent in answer["agents"]}


def test_without_an_agent_it_shows_what_to_do_and_writes_nothing(machine):
    before = everything(machine)
    done = machine.run("setup", "--yes")
    assert (done.returncode, done.stdout, everything(machine)) == (1, "", before)
    assert "No agent was found on this machine" in done.stderr
    assert "Install one and run this again, or name it: boathook setup --agent AGENT" in done.stderr
    assert "To see hooks at work without an agent: boathook demo" in done.stderr


def test_agents_are_found_by_their_program_or_their_folder(machine):
    add_agents(machine, "claude", "code")
    for folder in (".codex", ".config", "Documents/Cline"):
        (machine.home / folder).mkdir(parents=True)
    before = everything(machine)
    answer = set_up_json(machine, "--dry-run")
    assert [agent["host"] for agent in answer["agents"]] == ["claude", "cline", "codex", "vscode"]
    assert answer["agents"][0]["program"] == str(machine.base / "programs/claude")
    assert answer["agents"][2]["folder"] == str(machine.home / ".codex")
    assert (answer["changed"], everything(machine)) == (False, before)


def test_a_program_of_two_agents_is_the_one_whose_folder_is_there(machine):
    add_agents(machine, "kimi")
    assert [*read_agents(set_up_json(machine, "--dry-run"))] == ["kimi-cli", "kimi-code"]
    (machine.home / ".kimi-code").mkdir()
    assert [*read_agents(set_up_json(machine, "--dry-run"))] == ["kimi-code"]


def test_two_agents_are_guarded_and_everything_is_fired_once(machine):
    add_agents(machine, "claude", "codex")
    before = everything(machine)
    out = set_up(machine, "--yes")
    lines = out.splitlines()
    steps = [line for line in lines if line.startswith(("ok ", "failed "))]
    assert [line.split()[1] for line in steps] == [
        *("claude:", "codex:", "boathook/standard:", "claude:", "codex:", "guards:"),
    ]
    assert "its command answers in" in steps[3]
    assert "guards answered: each objects to what its tests say" in steps[-1]
    # The numbers of both lines add up.
    on = int(re.search(r"boathook/standard: (\d+) hooks on", out)[1])
    counts = re.search(r"\nclaude  Claude Code is guarded by (\d+) hooks before tool calls, and runs (\d+) more", out)
    assert sum(map(int, counts.groups())) == on
    assert any(
        line.startswith("codex   Codex CLI is guarded by ") and "Codex CLI cannot ask you" in line for line in lines
    )
    assert lines[-1] == "undo    boathook setup --undo"
    # An agent that is blocked: the goal of all this.
    event = {"tool_name": "Bash", "tool_input": {"command": "git push --force origin main"}, "cwd": str(machine.path)}
    done = machine.run("run", "--host", "claude", "--event", "PreToolUse", stdin=json.dumps(event))
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    # A second run has nothing to do, and the way back is complete.
    again = everything(machine)
    out = set_up(machine)
    assert "Nothing to do: everything is set up." in out.splitlines()
    assert (everything(machine), "restart the agents" in out) == (again, False)
    assert set_up(machine, "--undo", "--yes").splitlines()[-1].startswith("Everything that setup did is taken back.")
    assert everything(machine) == {**before, **ignore_cache(machine)}
    assert set_up(machine, "--undo") == "Nothing to take back: setup has done nothing here.\n"


def apply_without_probes(project):
    """Set up Claude Code and the pack in this process, and fire nothing."""
    plan = plan_setup(None, hosts=["claude"], with_pack=True)
    assert all(step.is_ok for step in apply_setup(plan, str(project.state)))


def ignore_cache(project):
    return {path: data for path, data in everything(project).items() if path.startswith(str(project.cache.parent))}


def test_agents_and_guards_can_be_left_out(machine):
    add_agents(machine, "claude", "codex", "gemini")
    answer = set_up_json(machine, "--agent", "codex", "--agent", "gemini", "--no-pack", "--yes")
    assert (read_agents(answer), answer["pack"]) == ({"codex": True, "gemini": True}, None)
    assert not (machine.home / ".claude").exists()
    assert not machine.config.exists()
    # A later run adds the rest, and --undo takes back both.
    answer = set_up_json(machine, "--no-pack", "--yes")
    assert read_agents(answer) == {"claude": True, "codex": True, "gemini": True}
    assert [step["subject"] for step in answer["steps"]][:2] == ["claude", "claude"]
    undone = set_up_json(machine, "--undo", "--yes")
    assert [step["subject"] for step in undone["steps"]] == ["claude", "gemini", "codex"]
    assert not any((machine.home / name).exists() for name in (".claude", ".codex", ".gemini"))


def test_one_agent_with_a_broken_file_does_not_stop_the_others(machine):
    add_agents(machine, "claude", "gemini")
    (machine.home / ".gemini").mkdir()
    broken = machine.home / ".gemini/settings.json"
    broken.write_text('{"a"')
    done = machine.run("setup", "--no-pack", "--yes")
    assert done.returncode == 1
    assert f"failed  gemini: {broken}, line 1: " in done.stdout
    assert (
        "claude  Claude Code calls boathook, and has no guards yet: boathook pack add boathook/standard" in done.stdout
    )
    assert "gemini  Gemini CLI is not guarded\n" in done.stdout
    assert "Not everything is set up: gemini." in done.stderr
    assert broken.read_text() == '{"a"'
    # Mended, a second run does what is missing.
    broken.write_text("{}")
    assert "ok      gemini: installed" in set_up(machine, "--no-pack", "--yes")


def test_hooks_that_are_there_are_shown_and_those_of_other_agents_are_never_enabled_silently(machine):
    add_agents(machine, "claude", "cursor")
    settings = machine.write_settings("user", make_settings("true"))
    machine.write_hook("mine")
    machine.write_hook("theirs", scope="project")
    (machine.home / ".cursor").mkdir()
    (machine.home / ".cursor/hooks.json").write_text(json.dumps(CURSOR_HOOKS))
    out = set_up(machine, "--no-pack", "--yes")
    assert (
        f"~/{settings.relative_to(machine.home)}  1 hook, in Claude Code itself, in other agents through boathook"
        in out
    )
    assert f"{machine.config}/hooks  1 hook, in every agent\n" in out
    assert f"{machine.path}/.agents/hooks  1 hook, in every agent; 1 to review first: boathook trust" in out
    assert "~/.cursor/hooks.json  1 hook, only in Cursor\n" in out
    assert "offer   To run the hooks of Cursor in every agent: boathook setup --source cursor. To convert them: " in out
    assert not (machine.config / "hooks.toml").exists()
    config = machine.write_hooks_toml("user", "# mine\n[hooks]\nmax_timeout = 5000\n")
    before = config.read_bytes()
    out = set_up(machine, "--no-pack", "--source", "cursor", "--yes")
    assert "ok      cursor: their hooks run in every agent now" in out
    assert "offer" not in out
    assert 'sources = ["hook-md", "settings", "cursor"]\n' in config.read_text()
    assert ("cursor", "armed") in [(hook["source"], hook["state"]) for hook in machine.list_hooks()]
    assert "Nothing to do" in set_up(machine, "--no-pack", "--source", "cursor")
    set_up(machine, "--undo", "--yes")
    assert config.read_bytes() == before
    assert json.loads((machine.home / ".cursor/hooks.json").read_text()) == CURSOR_HOOKS
    assert json.loads(settings.read_text()) == make_settings("true")


def test_undo_takes_back_only_what_setup_did_in_files_that_were_edited_since(machine):
    add_agents(machine, "claude")
    machine.run("install", "codex", "--yes")
    codex = {path: path.read_bytes() for path in (machine.home / ".codex").iterdir()}
    set_up(machine, "--agent", "claude", "--agent", "codex", "--no-pack", "--source", "cursor", "--yes")
    assert state(machine, "codex") == ("installed", ())
    settings, config = machine.claude_folder / "settings.json", machine.config / "hooks.toml"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "model": "mine"}))
    config.write_text(config.read_text() + '\n[[hooks.disable]]\nname = "mine"\n')
    out = set_up(machine, "--undo", "--yes")
    assert "codex:" not in out
    assert json.loads(settings.read_text()) == {"model": "mine"}
    assert config.read_text() == '[hooks]\n\n[[hooks.disable]]\nname = "mine"\n'
    assert {path: path.read_bytes() for path in (machine.home / ".codex").iterdir()} == codex
    assert state(machine, "codex") == ("installed", ())


def test_undo_warns_that_converted_hooks_lose_their_agent(machine):
    machine.write_settings("user", make_settings("sh ./guard.sh"))
    set_up(machine, "--agent", "claude", "--no-pack", "--yes")
    assert set_up_json(machine, "--undo", "--dry-run")["warnings"] == []
    assert machine.run("convert", "to-hookmd", "--user", "--move", "--yes").returncode == 0
    lost = "These hooks were converted from the files of Claude Code, and it will not run them any more: guard."
    assert f"warning: {lost}" in set_up(machine, "--undo", "--yes")


def test_undo_does_not_delete_a_pack_that_was_edited_nor_packs_of_others(machine):
    add_agents(machine, "claude")
    write_pack(machine.base / "guards", {"a": "return None"})
    machine.run("pack", "add", str(machine.base / "guards"), "--yes")
    lock = (machine.config / "packs.lock").read_bytes()
    apply_without_probes(machine)
    edited = machine.config / "packs/boathook/standard/hooks/machine/HOOK.md"
    text = edited.read_text()
    edited.write_text(text + "mine\n")
    done = machine.run("setup", "--undo", "--yes")
    assert done.returncode == 1
    assert "failed  boathook/standard: you edited hooks/machine/HOOK.md in " in done.stdout
    assert "boathook pack remove boathook/standard" in done.stdout
    assert edited.read_text() == text + "mine\n"
    (machine.config / "packs.lock").rename(machine.base / "kept.lock")
    done = machine.run("setup", "--undo", "--yes")
    assert done.returncode == 1
    assert "packs.lock does not say whether you edited " in done.stdout
    assert edited.read_text() == text + "mine\n"
    (machine.base / "kept.lock").rename(machine.config / "packs.lock")
    edited.write_text(text)
    assert set_up(machine, "--undo", "--yes").startswith("boathook/standard: delete ")
    assert (machine.config / "packs.lock").read_bytes() == lock
    assert (machine.config / "packs/local/guards/PACK.md").exists()


def test_a_lock_without_packs_that_was_there_stays(machine):
    add_agents(machine, "claude")
    machine.config.mkdir()
    write_lock(str(machine.config / "packs.lock"), dict[str, LockedPack]())
    before = everything(machine)
    apply_without_probes(machine)
    set_up(machine, "--undo", "--yes")
    assert everything(machine) == {**before, **ignore_cache(machine)}


def test_a_guard_that_does_not_object_is_named_and_setup_fails(machine):
    add_agents(machine, "claude")
    folder = machine.write_hook("guard", "exit 0", fields={"matcher": "{tool: Shell}"})
    (folder / "tests.txt").write_text("block rm x\n")
    done = machine.run("setup", "--no-pack", "--yes")
    assert done.returncode == 1
    assert "failed  guard: it did not object to 'rm x': " in done.stdout
    assert "claude  Claude Code is guarded by 1 hook." in done.stdout


def test_an_agent_that_was_installed_by_hand_is_repaired_and_stays(machine):
    add_agents(machine, "claude")
    machine.run("install", "claude", "--yes")
    settings = machine.claude_folder / "settings.json"
    whole = settings.read_bytes()
    content = json.loads(whole)
    del content["hooks"]["PreToolUse"]
    settings.write_text(json.dumps(content))
    assert "ok      claude: repaired in " in set_up(machine, "--no-pack", "--yes")
    assert "Nothing to take back" in set_up(machine, "--undo")
    assert "PreToolUse" in settings.read_text()


def test_without_a_terminal_nothing_is_written_without_yes(machine):
    add_agents(machine, "claude")
    before = everything(machine)
    for arguments in (("setup",), ("setup", "--undo")):
        done = machine.run(*arguments)
        assert everything(machine) == {**before, **ignore_cache(machine)}
        assert (done.returncode, "there is no terminal to ask at" in done.stderr) == (1, True)
        set_up(machine, "--no-pack", "--yes")
        before = everything(machine)
    assert (machine.claude_folder / "settings.json").exists()


def test_a_wrong_agent_a_wrong_source_and_undo_with_a_choice_are_refused(machine):
    for arguments, message in (
        (("--agent", "claud"), "did you mean 'claude'?"),
        (("--agent", "claude-code"), "did you mean 'claude'?"),
        (("--source", "settings"), "'settings' is not one of"),
        (("--undo", "--agent", "claude"), "--undo takes back everything"),
    ):
        done = machine.run("setup", *arguments)
        assert (done.returncode, message in done.stderr) == (1, True), done.stderr


def test_a_record_that_cannot_be_read_is_reported_with_what_to_do(machine):
    machine.state.mkdir(parents=True)
    (machine.state / "setup.json").write_text("{")
    done = machine.run("setup", "--undo")
    assert (done.returncode, "`boathook uninstall --all`" in done.stderr) == (1, True)


def test_at_a_terminal_a_person_is_asked_once_and_once_about_other_hooks(machine):
    add_agents(machine, "claude", "cursor")
    (machine.home / ".cursor").mkdir()
    (machine.home / ".cursor/hooks.json").write_text(json.dumps(CURSOR_HOOKS))
    before = everything(machine)
    # An empty answer is no.
    code, out = run_boathook(machine, ["setup", "--no-pack"], [""])
    assert (code, out.endswith("Set this up? [y/N]: \nNothing was changed: you answered no.\n")) == (1, True)
    assert everything(machine) == {**before, **ignore_cache(machine)}
    # The last question is whether to keep an engine in memory, where that is possible.
    code, out = run_boathook(machine, ["setup", "--no-pack"], ["y", "y", "n"])
    assert (code, out.count("[y/N]: y")) == (0, 2)
    assert "Run the hooks of Cursor in your other agents, too? [y/N]: y" in out
    assert "sources" in (machine.config / "hooks.toml").read_text()
    code, out = run_boathook(machine, ["setup", "--undo"], ["n"])
    assert (code, "Take back 3 steps? [y/N]: n" in out) == (1, True)
    assert run_boathook(machine, ["setup", "--undo"], ["y"])[0] == 0
    assert everything(machine) == {**before, **ignore_cache(machine)}


@pytest.mark.usefixtures("default_sigint")
def test_an_interrupt_at_the_question_changes_nothing(machine):
    add_agents(machine, "claude")
    before = everything(machine)
    code, out = run_boathook(machine, ["setup", "--no-pack"], ["\x03"])
    assert (code, "Aborted!" in out) == (1, True)
    assert everything(machine) == {**before, **ignore_cache(machine)}


def test_a_step_that_is_interrupted_leaves_nothing_and_no_record(machine, monkeypatch):
    add_agents(machine, "claude")
    before = everything(machine)
    plan = plan_setup(None, hosts=["claude"], with_pack=False)

    def interrupt(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("boathook.cli.setup_steps.apply_plan", interrupt)
    with pytest.raises(KeyboardInterrupt):
        list(apply_setup(plan, str(machine.state)))
    assert everything(machine) == {**before, **ignore_cache(machine)}
    assert SetupStore(str(machine.state)).read() == SetupRecord()


def test_sources_that_are_added_twice_are_taken_back_together_and_edits_between_stay(machine):
    add_agents(machine, "claude")
    config = machine.config / "hooks.toml"
    set_up(machine, "--no-pack", "--source", "cursor", "--yes")
    config.write_text(config.read_text() + "# mine\n")
    set_up(machine, "--no-pack", "--source", "codex", "--yes")
    assert 'sources = ["hook-md", "settings", "cursor", "codex"]\n# mine\n' in config.read_text()
    set_up(machine, "--undo", "--yes")
    assert config.read_text() == "[hooks]\n# mine\n"


def test_undo_changes_no_other_file_than_your_hooks_toml(machine):
    add_agents(machine, "claude")
    set_up(machine, "--no-pack", "--source", "cursor", "--yes")
    other, record = machine.base / "notes.toml", machine.state / "setup.json"
    config = machine.config / "hooks.toml"
    other.write_bytes(config.read_bytes())
    record.write_text(record.read_text().replace(str(config), str(other)))
    assert "is not your hooks.toml" in machine.run("setup", "--undo", "--yes").stdout
    assert other.read_bytes() == config.read_bytes()


def test_a_hooks_toml_that_cannot_be_edited_is_left_and_the_line_to_write_is_named(machine):
    add_agents(machine, "claude")
    config = machine.write_hooks_toml("user", "hooks.max_timeout = 5000\n")
    done = machine.run("setup", "--no-pack", "--source", "cursor", "--yes")
    assert (done.returncode, config.read_text()) == (1, "hooks.max_timeout = 5000\n")
    assert 'Write sources = ["hook-md", "settings", "cursor"] under [hooks] yourself' in done.stderr
    assert not machine.claude_folder.exists()


def test_it_shows_what_it_fires_while_it_does_and_only_at_a_terminal(machine):
    for name in ("one", "two"):
        machine.write_hook(name, "exit 2", fields={"matcher": "{tool: Shell}"})
        (machine.config / "hooks" / name / "tests.txt").write_text("block  ls\n")
    plan = plan_setup(None, hosts=("claude",), with_pack=False)
    assert all(step.is_ok for step in apply_setup(plan, str(machine.state)))
    texts = []
    steps = [*probe_setup(plan, str(machine.state), texts.append)]
    assert [step.subject for step in steps] == ["claude", "guards"]
    fired = ["firing 2 guards …", "fired one (1 of 2)", "fired two (2 of 2)"]
    assert texts == ["asking the command of claude …", *fired]
    assert "fired" not in set_up(machine, "--agent", "codex", "--no-pack", "--yes")
