"""A source is a row: with one reader and one row, its hooks are loaded, cached, trusted, listed and left out like all others."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import boathook
from boathook.assembly import load_catalog, locate
from boathook.catalog_cache.format import load_compiled
from boathook.catalog_cache.write import write_compiled
from boathook.cli.commands import cli
from boathook.core.event import find_kind
from boathook.core.hook import ARMED, GONE, MODIFIED, PROJECT, UNTRUSTED, USER, Command, Hook
from boathook.core.matcher import Matcher, compile_pattern
from boathook.dialects.dialect import find_hook_dialect
from boathook.entry.fast_path import find_answer
from boathook.entry.options import list_flags, parse_options
from boathook.errors import UsageError
from boathook.hosts.setup import load_setup
from boathook.install.command_line import make_command_line
from boathook.install.host_files import make_call_context, resolve_install_target
from boathook.loader import load_hooks
from boathook.sources.hooks_toml import KEYS_WITHOUT_DEFAULTS
from boathook.sources.source import SOURCES, Source
from boathook.sources.source_hooks import SourceHooks
from boathook.system.locations import SourceFolders, UserFolder
from tests.core.builders import a_call
from tests.output_validation import validate_output

# The toy: toy.json holds {"NAME": {"on": EVENT, "tool": REGEX, "run": COMMAND, "priority": NUMBER}}


def read_toy(folders: SourceFolders) -> SourceHooks:
    paths = {USER: f"{folders.user}/toy.json", PROJECT: f"{folders.project}/.toy/toy.json"}
    used = {scope: path for scope, path in paths.items() if (folders.user if scope == USER else folders.project)}
    hooks = [hook for scope, path in used.items() if Path(path).exists() for hook in read_file(path, scope)]
    return SourceHooks(
        tuple((hook, KEYS_WITHOUT_DEFAULTS) for hook in hooks), (), tuple(used.values()), folders.project
    )


def read_file(path: str, scope: str) -> list[Hook]:
    rows = json.loads(Path(path).read_text())
    return [
        Hook(
            name,
            find_kind(row["on"]),
            row["on"],
            scope,
            Command(row["run"]),
            path,
            find_hook_dialect("native"),
            matcher=Matcher(compile_pattern(row["tool"])),
            priority=row.get("priority", 100),
            source=TOY.name,
            runs_together=TOY.runs_together,
        )
        for name, row in rows.items()
    ]


TOY = Source(
    "toy.json",
    without="toy",
    user_folder=UserFolder("toy", b"TOY_HOME", ".toy", help="Your folder with toy.json."),
    markers=("/.toy/toy.json",),
    reader=f"{__name__}:read_toy",
    dialect="native",
    runs_together=False,
    protected_names=("toys",),
)
CALL = {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}}
GUARD = {"on": "pre-tool-call", "tool": "Shell", "run": "echo no >&2; exit 2"}


@pytest.fixture
def toys(project):
    """A project in which the toy is a source; returns a function that writes toy.json of the user or the project."""

    def write(scope: str, **hooks: dict[str, str]) -> Path:
        path = (project.home if scope == USER else project.path) / ".toy" / "toy.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(hooks))
        return path

    SOURCES.append(TOY)
    yield write
    SOURCES.remove(TOY)


def states(**options) -> dict[str, str]:
    return {hook.name: hook.state for hook in load_catalog(**options).hooks}


def run(*args: str) -> str:
    done = CliRunner().invoke(cli, args, standalone_mode=False)
    assert done.exception is None
    validate_output(args, done.stdout)
    return done.stdout


def test_its_hooks_are_loaded_beside_those_of_other_sources(project, toys):
    toys(USER, mine=GUARD)
    toys(PROJECT, theirs=GUARD)
    project.write_hook("guard")
    catalog = load_catalog(trust_all=True)
    assert {(hook.name, hook.source, hook.scope) for hook in catalog.hooks} == {
        ("mine", "toy.json", USER),
        ("theirs", "toy.json", PROJECT),
        ("guard", "HOOK.md", USER),
    }
    assert catalog.projects == (("HOOK.md", ""), ("packs", ""), ("settings.json", ""), ("toy.json", str(project.path)))
    assert catalog.project == str(project.path)


def test_its_hooks_run_in_their_project(project, toys):
    toys(PROJECT, theirs={**GUARD, "run": 'echo "$AGENT_PROJECT_DIR" >&2; exit 2'})
    (project.path / "src").mkdir()
    with boathook.load(project.path / "src", trust_all=True) as engine:
        verdict = engine.dispatch({**CALL, "work_dir": str(project.path / "src")})
    assert (verdict.decision.word, verdict.reasons) == ("block", (str(project.path),))


def test_its_hooks_run_one_after_another_by_priority_beside_those_of_other_sources(project, toys):
    toys(USER, late={**GUARD, "priority": 50}, first={**GUARD, "priority": 300}, second={**GUARD, "priority": 200})
    project.write_hook("guard", fields={"priority": 250})
    stages = load_catalog().plan(a_call()).stages
    assert [[hook.name for hook in stage.hooks] for stage in stages] == [["first"], ["guard"], ["second"], ["late"]]


def test_its_hooks_form_one_stage_if_its_row_sets_that(project, toys, monkeypatch):
    monkeypatch.setattr(TOY, "runs_together", True)
    toys(USER, one=GUARD, other={**GUARD, "run": "exit 0"}, same=GUARD)
    project.write_hook("guard", fields={"priority": 50})
    stages = load_catalog().plan(a_call()).stages
    assert [[hook.name for hook in stage.hooks] for stage in stages] == [["one", "other"], ["guard"]]


def test_its_hooks_are_checked(toys):
    toys(USER, mine={**GUARD, "tool": "Nothing"})
    assert "matches no known tool" in run("check")


def test_its_folders_are_found_by_option_variable_and_default(project, toys, monkeypatch):
    toys(USER, mine=GUARD)
    (project.base / "toy.json").write_text(json.dumps({"other": GUARD}))
    assert states() == {"mine": ARMED}
    assert states(toy=project.base) == {"other": ARMED}
    monkeypatch.setenv("TOY_HOME", str(project.base))
    assert states() == {"other": ARMED}
    with pytest.raises(TypeError, match="unknown folder 'toys'"):
        locate(toys=project.base)


def test_a_variable_that_leads_into_the_project_is_not_believed(project, toys, monkeypatch):
    toys(PROJECT, theirs=GUARD)
    monkeypatch.setenv("TOY_HOME", str(project.path / ".toy"))
    catalog = load_catalog()
    assert [(hook.scope, hook.state) for hook in catalog.hooks] == [(PROJECT, UNTRUSTED)]
    assert [found.path for found in catalog.diagnostics] == [f"{project.path}/.toy"]


def test_its_project_hooks_need_trust_and_lose_it_when_they_change(toys):
    path = toys(PROJECT, theirs=GUARD)
    assert states() == {"theirs": UNTRUSTED}
    run("trust", "theirs", "--yes")
    assert states() == {"theirs": ARMED}
    path.write_text(json.dumps({"theirs": {**GUARD, "run": "exit 0"}}))
    assert states() == {"theirs": MODIFIED}
    path.write_text("{}")
    assert states() == {"theirs": GONE}


def test_its_hooks_are_listed(toys):
    toys(USER, mine=GUARD)
    assert "mine" in run("list")
    (row,) = json.loads(run("list", "--json"))["hooks"]
    assert (row["name"], row["source"], row["handler"]) == (
        "mine",
        "toy.json",
        {"kind": "command", "text": GUARD["run"]},
    )


def test_it_can_be_left_out(toys):
    toys(USER, mine=GUARD)
    toys(PROJECT, theirs=GUARD)
    without = {name: set(states(without=(name,))) for name in ("toy", "project-toy", "settings")}
    assert without == {"toy": set(), "project-toy": {"mine"}, "settings": {"mine", "theirs"}}
    assert parse_options(["--without", "toy"]).without == ("toy",)
    assert parse_options(["--toy", "/t"]).folders == {"toy": "/t"}
    assert "--toy" in [flag[0] for flag in list_flags()]


def test_without_the_row_its_flags_are_unknown():
    for args in (["--without", "toy"], ["--toy", "/t"]):
        with pytest.raises(UsageError):
            parse_options(args)


def test_the_fast_path_knows_its_hooks(project, toys):
    path = toys(PROJECT, theirs=GUARD)
    data = {tool: json.dumps({**CALL, "tool_name": tool}).encode() for tool in ("Shell", "Read")}
    keep(project)
    assert [find_answer(parse_options(["--trust-all"]), data[tool]) for tool in data] == [None, b""]
    assert find_answer(parse_options(["--trust-all", "--without", "toy"]), data["Read"]) is None
    path.write_text("{}")
    assert load_compiled(locate(trust_all=True)) is None
    assert find_answer(parse_options(["--trust-all"]), data["Read"]) is None


def keep(project) -> None:
    """Keep the catalogue as a later start would, that finds files that have not changed for a while."""
    locations = locate(trust_all=True)
    loaded = load_hooks(locations)
    assert write_compiled(loaded.catalog, (), locations, time.time())
    # with the files to watch, as they are now
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("boathook.catalog_cache.write.RACY_SECONDS", -60.0)
        assert write_compiled(loaded.catalog, loaded.watch, locations, time.time())


def test_the_fast_path_and_the_engine_agree_on_its_catalogue(project, toys):
    toys(USER, mine=GUARD)
    keep(project)
    kind = find_kind("pre-tool-call")
    compiled = load_compiled(locate(trust_all=True))
    assert compiled is not None
    assert compiled.restore(kind) == load_catalog(trust_all=True)


def test_an_installed_command_names_its_folder(project, toys):
    context = make_call_context(load_setup("codex"), resolve_install_target(USER, None, None))
    line = make_command_line(load_setup("codex"), "PreToolUse", context)
    assert f"--claude {project.claude_folder} --toy {project.home}/.toy --state {project.state}" in line
