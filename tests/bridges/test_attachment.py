"""What all bridges share: nothing is imported before, versions have a clear error, and what cannot be guarded is refused."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from boathook import ConfigError, Hooks, Outcome, ToolCall, bridges, tool_name
from boathook.bridges import attachment
from boathook.bridges.attachment import BridgeOptions, attach
from boathook.errors import BridgeError
from boathook.system.extras import suggest_packages
from tests.bridges.frameworks import list_frameworks

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(monkeypatch):
    def set_version(version: str) -> None:
        monkeypatch.setattr(attachment.metadata, "version", lambda _: version)

    return set_version


@pytest.fixture(autouse=True)
def toy_bridge(monkeypatch):
    monkeypatch.setitem(attachment.MISSING_EVENTS, "toy", ())


@pytest.mark.parametrize("version", ["1.4", "1.4.0", "1.10.2", "1.4.7rc1"])
def test_a_version_within_the_limits_is_returned(installed, version):
    installed(version)
    assert attachment.require_version("langchain", "1.4", before="2") == version


@pytest.mark.parametrize("version", ["1.3.9", "2.0", "2.1.0b1", "0.9"])
def test_another_version_is_an_error_that_names_what_to_install(installed, version):
    installed(version)
    with pytest.raises(ConfigError, match=rf"langchain 1.4 or newer, and older than 2, but {version}") as raised:
        attachment.require_version("langchain", "1.4", before="2")
    assert raised.value.fix == "pip install 'langchain>=1.4,<2'"


@pytest.mark.parametrize("framework", list_frameworks())
def test_a_bridge_requires_the_versions_of_its_extra(framework):
    module = ROOT / f"src/boathook/bridges/{framework.replace('-', '_')}.py"
    calls = re.findall(r'^require_version\("(.+)", "(.+)", before="(.+)", extra="(.+)"\)$', module.read_text(), re.M)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [f"{package}>={oldest},<{before}" for package, oldest, before, _ in calls] == extras[framework]
    assert {extra for *_, extra in calls} == {framework}


@pytest.mark.bridge
def test_boathook_imports_no_framework_until_its_bridge_is_imported(adapter):
    packages = {name for name, owners in packages_distributions().items() if {*owners} & {*adapter.distributions}}
    bridge = f"boathook.bridges.{adapter.framework.replace('-', '_')}"
    assert packages
    assert list_imported(packages, "import boathook, boathook.bridges.attachment; boathook.Hooks()") == []
    assert list_imported(packages, f"import {bridge}") != []


def list_imported(packages, code):
    """Return which of these packages a program with this code has imported."""
    code = f"import sys; {code}; print([name for name in {sorted(packages)} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    return ast.literal_eval(done.stdout)


def test_the_error_of_bridges_is_where_bridges_are():
    assert bridges.BridgeError is BridgeError


def test_a_missing_framework_is_an_error_that_names_the_extra():
    with pytest.raises(ConfigError, match="no-such-framework is not installed") as raised:
        attachment.require_version("no-such-framework", "1", extra="none")
    assert raised.value.fix == suggest_packages("none")
    with pytest.raises(ConfigError) as raised:
        attachment.require_version("no-such-framework", "1", extra="langchain")
    # boathook itself is on no package index.
    assert "pip install 'langchain" in raised.value.fix
    assert "boathook[" not in raised.value.fix


def test_tools_that_cannot_be_guarded_are_refused_unless_the_program_accepts_it():
    with pytest.raises(ConfigError, match="no hook can see them: search, shell") as raised:
        attach("openai-agents", Hooks()).refuse_unguarded(["shell", "search", "shell"])
    assert "allow_unguarded=True" in raised.value.fix
    attach("openai-agents", Hooks(), allow_unguarded=True).refuse_unguarded(["shell"])
    attach("openai-agents", Hooks()).refuse_unguarded([])


def test_a_bridge_uses_the_hooks_it_is_given_or_loads_those_of_a_project(project):
    hooks = Hooks()
    assert attach("toy", hooks, work_dir=project.path).hooks is hooks
    assert hooks.stack.engine is None
    loaded = attach("toy", work_dir=project.path)
    assert loaded.hooks.stack.engine is not None
    assert loaded.make_run().work_dir == str(project.path)
    with pytest.raises(ConfigError, match=r"must be boathook\.Hooks, not list"):
        attach("toy", [])


def test_a_bridge_without_a_row_of_missing_events_is_an_error_that_names_the_table():
    with pytest.raises(ConfigError, match="MISSING_EVENTS has no row for new-framework") as raised:
        attach("new-framework", Hooks())
    assert raised.value.fix == "add it in boathook/bridges/attachment.py"


def test_the_options_of_all_bridges_are_those_of_an_attachment():
    parameters = inspect.signature(attach).parameters.values()
    assert {each.name for each in parameters if each.kind is each.KEYWORD_ONLY} == {*BridgeOptions.__annotations__}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "name",
            "the bridge to toy has no option 'name', did you mean 'names'? (the options of every bridge: hooks, names, ",
        ),
        (
            "cwd",
            "the bridge to toy has no option 'cwd' (the options of every bridge: hooks, names, arguments, session_id",
        ),
    ],
)
def test_an_option_that_no_bridge_has_is_an_error_that_names_those_there_are(option, message):
    with pytest.raises(TypeError) as raised:
        attach("toy", Hooks(), **{option: "x"})
    assert str(raised.value).startswith(message)


def test_messages_of_a_run_and_of_its_subagents_are_logged_when_they_come(caplog):
    caplog.set_level("INFO", logger="boathook")
    hooks = Hooks()
    for register in (hooks.turn_start, hooks.subagent_start, hooks.session_end):
        register(lambda context: context.add_message(context.event))
    toy = attach("toy", hooks)
    run = toy.make_run()
    run.prompt("go")
    assert caplog.messages[1:] == ["pre-agent-turn"]
    toy.make_child(run, "helper").prompt("help")
    run.end()
    assert caplog.messages[1:] == ["pre-agent-turn", "pre-subagent", "post-session"]


def test_a_mistake_in_arguments_is_reported_once_and_not_in_every_run(caplog):
    toy = attach("toy", Hooks(), names={"run_it": "Shell"}, arguments={"run_it": {"lin": "command"}})
    for run in (toy.make_run(), toy.make_run(), toy.make_child(toy.make_run(), "helper")):
        outcome = run.tool(ToolCall("run_it", {"line": "ls"}), lambda call: call.name)
        assert outcome.context.tool_names[:2] == ("run_it", "Shell")
    [_no_hooks, message] = caplog.messages
    assert message.startswith("hooks for Shell cannot see what the tool 'run_it' gets")


@pytest.mark.parametrize(
    ("result", "read", "context"),
    [
        ("ran ls", "ran ls\nit is slow", ()),
        ({"code": 0}, {"code": 0}, ("it is slow",)),
        (OSError("no disk"), None, ("it is slow",)),
    ],
)
def test_an_objection_is_read_with_a_text_and_otherwise_as_context(result, read, context):
    hooks = Hooks()
    for register in (hooks.after_tool, hooks.tool_failed):
        register(lambda context: Outcome.block("it is slow"))

    def operate(call):
        if isinstance(result, Exception):
            raise result
        return result

    run = attach("toy", hooks).make_run()
    outcome = run.tool(ToolCall("bash", {"command": "ls"}), operate)
    assert attachment.add_objection(run, outcome) == read
    assert tuple(run.take_context()) == context


def test_hooks_that_never_run_in_a_framework_are_reported_once(project, caplog):
    project.write_hook("tell", fields={"trigger": "notification"})
    hooks = Hooks()
    gate = hooks.before_stop(lambda context: None)
    hooks.before_tool(lambda context: None)
    hooks.load(project.path)

    @hooks.before_compact
    def keep_plan(context):
        return None

    toy = attach("langgraph", hooks)
    expected = {
        f"hook '{name}' never runs here: langgraph does not report the event {event}"
        for name, event in (
            (gate.__qualname__, "pre-agent-turn-stop"),
            (keep_plan.__qualname__, "pre-context-compact"),
            ("tell", "notification"),
        )
    }
    assert {*caplog.messages} == expected
    assert len(caplog.messages) == 3
    toy.make_run()
    hooks.after_step(print)
    toy.make_run()
    toy.make_run()
    assert caplog.messages[3:] == ["hook 'print' never runs here: langgraph does not report the event post-step"]
    assert all(record.levelname == "WARNING" for record in caplog.records)
    caplog.clear()
    attach("claude-agent-sdk", hooks).make_run()
    assert caplog.messages == []


def add_hook(hooks, match):
    @hooks.before_tool(match=match)
    def guard_it(context):
        return None

    return guard_it


@pytest.mark.parametrize("match", ["wirte_note", "Write_Note", "write_not", "write_nots", "send|wirte_note"])
def test_a_typing_error_in_a_match_is_an_error_when_the_tools_are_known(match):
    hooks = Hooks()
    add_hook(hooks, match)
    toy = attach("toy", hooks)
    for _ in range(2):
        with pytest.raises(BridgeError, match=r"did you mean 'write_note'\?") as raised:
            toy.check_names(["bash", "write_note"])
        assert re.search(rf"guard_it' \(.*test_attachment.py:\d+\) .*: '{re.escape(match)}'", str(raised.value))
    # The name that has the mistake.
    name = match.split("|")[-1]
    assert f"another agent has a tool '{name}', write match='/^{name}$/'" in raised.value.fix


@pytest.mark.parametrize("match", ["write_note", "write_*", "Shell", "Bash", "/note$/", "bash|other", "*", "Todo"])
def test_a_match_that_means_a_tool_of_the_agent_is_not_reported(match, caplog):
    hooks = Hooks()
    add_hook(hooks, match)
    attach("toy", hooks, names={"plan": "Todo"}).check_names(["bash", "write_note", "plan"])
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("match", "hint"),
    [
        ("shell", " Did you mean 'Shell'?"),
        ("write_notes", " Did you mean 'write_note'?"),
        ("/^wirte_note$/", ""),
        ("deploy", ""),
        ("deploy_*", ""),
    ],
)
def test_a_match_without_a_tool_is_reported_once_because_another_agent_may_have_it(match, hint, caplog):
    hooks = Hooks()
    add_hook(hooks, match)
    toy = attach("toy", hooks)
    for tools in ([], ["bash", "write_note"], ["bash", "write_note"], ["bash"]):
        toy.check_names(tools)
    attach("toy", hooks).check_names(["bash"])
    [message] = caplog.messages
    assert message.endswith(f" matches no tool of this agent: '{match}'.{hint} The agent's tools are: bash, write_note")
    assert "guard_it' (" in message


def test_a_match_of_one_agent_is_not_a_typing_error_in_another(caplog):
    hooks = Hooks()
    add_hook(hooks, "read_note")
    attach("toy", hooks).check_names(["read_note"])
    attach("toy", hooks).check_names(["read_nota"])
    assert caplog.messages == []
    add_hook(hooks, "write_nota")
    add_hook(hooks, "write_note")
    attach("toy", hooks).check_names(["write_note"])
    [message] = caplog.messages
    assert "'write_nota'. Did you mean 'write_note'?" in message


def test_hooks_of_other_events_and_other_matchers_are_not_checked_against_the_tools(caplog):
    hooks = Hooks()
    hooks.before_stop(match=lambda context: True)(lambda context: None)
    hooks.before_tool(match=~tool_name("x") & tool_name("wirte_note"))(lambda context: None)
    attach("toy", hooks).check_names(["write_note"])
    assert caplog.messages == []


def test_the_number_of_attached_hooks_is_logged_once_when_the_first_run_begins(caplog, project):
    caplog.set_level("INFO", logger="boathook")
    hooks = Hooks()
    toy = attach("toy", hooks)
    # Hooks may be added after the bridge was attached.
    hooks.before_tool(lambda context: None)
    for _ in range(2):
        toy.make_run()
    assert caplog.messages == ["hooks attached to toy: 1 from Python, 0 from files (hooks.load() was not called)"]
    caplog.clear()
    project.write_hook("guard", fields={"event": "pre-tool-call"})
    attach("toy", work_dir=project.path).make_run()
    assert f"hooks attached to toy: 0 from Python, 1 from files (of the user and of {project.path})" in caplog.messages


def test_no_hooks_at_all_are_a_warning(caplog, project):
    attach("toy", work_dir=project.path).make_run()
    attach("toy", Hooks()).make_run()
    fixes = [
        "trust the project's hooks with `boathook trust`",
        "add hooks with @hooks.before_tool, or call hooks.load()",
    ]
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    for message, fix in zip(caplog.messages, fixes, strict=True):
        assert "no hooks are attached to toy, so nothing is guarded" in message
        assert fix in message


def test_hooks_are_covered_only_if_every_file_hook_of_the_other_attachment_runs(project, tmp_path):
    project.write_hook("own")
    project.write_hook("guard", scope="project")
    other = tmp_path / "other"
    other.mkdir()
    here, elsewhere, again = (attach("toy", work_dir=folder) for folder in (project.path, other, project.path))
    assert {hook.name for hook in here.hooks.stack.engine.catalog.hooks} == {"own", "guard"}
    assert {hook.name for hook in elsewhere.hooks.stack.engine.catalog.hooks} == {"own"}
    assert again.covers_hooks_of(here)
    assert not elsewhere.covers_hooks_of(here)
    assert not here.covers_hooks_of(elsewhere)
    assert here.covers_hooks_of(attach("toy", Hooks()))
