"""A scratch world for every test that wants files, and how hard hypothesis looks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from boathook.sources.source import SETTINGS_JSON_SOURCE
from boathook.system.locations import Locations, SourceFolders

SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large)
# `make test` draws the same examples every time; `make explore` and `make fuzz` draw them at random.
settings.register_profile(
    "same", deadline=None, max_examples=100, derandomize=True, database=None, suppress_health_check=SLOW_IS_FINE
)
settings.register_profile("explore", settings.get_profile("same"), derandomize=False, print_blob=True)
settings.register_profile("thorough", settings.get_profile("explore"), max_examples=3000)
settings.load_profile("same")

# What may be skipped in continuous integration, and why.
SKIPS = Path(__file__).with_name("skips.toml")

OURS = ("XDG_", "AGENT_", "KIMI_", "CLAUDE_", "MONOCO_", "BOATHOOK_", "PYTHON")
# Variables that say where a host agent has its files.
HOST_VARIABLES = ("CODEX_HOME", "COPILOT_HOME", "COPILOT_HOOK_DIR", "GEMINI_CLI_HOME", "QWEN_HOME")
TRUSTING = ("run", "list", "explain", "agent")
FIELDS = {"description": "a test", "trigger": "pre-tool-call"}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers `-n auto` is: many tests wait for processes, so there are more than processors."""
    return (os.cpu_count() or 1) + 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what root cannot test to `make test-as-user`."""
    if os.geteuid() == 0:
        left_out = [item for item in items if item.get_closest_marker("ordinary_user")]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what was skipped; xdist passes on the reports of its workers."""
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note files that were skipped as a whole."""
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail in continuous integration if anything was skipped that is not on the list."""
    config = session.config
    if os.environ.get("CI") != "true" or hasattr(config, "workerinput"):
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    unlisted = find_unlisted_skips(_skipped, tomllib.loads(SKIPS.read_text(encoding="utf-8")))
    reporter.write_line(f"\n{len(_skipped)} skipped, {len(unlisted)} of them not in {SKIPS.name}")
    for name in unlisted:
        reporter.write_line(f"skipped, but not in {SKIPS.name}: {name}")
    if unlisted and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def find_unlisted_skips(skipped: Sequence[str], listed: Mapping[str, Any]) -> list[str]:
    """Return the skipped tests that no reason of the list covers; one that a program excuses counts only without that program."""
    allowed = {
        name
        for entry in listed["skips"]
        if not ("without" in entry and shutil.which(entry["without"]))
        for name in entry["tests"]
    }
    return [nodeid for nodeid in skipped if nodeid.partition("[")[0].rpartition("::")[2] not in allowed]


@dataclass(frozen=True)
class World:
    """A home, an agents folder, a cache, a state folder and a project, all below one root."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def agents(self) -> Path:
        return self.root / "config" / "agents"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def cache(self) -> Path:
        return self.root / "cache" / "boathook"

    @property
    def state(self) -> Path:
        return self.root / "state" / "boathook"

    @property
    def claude(self) -> Path:
        return self.home / ".claude"

    def settings(self, scope: str, content: object) -> Path:
        """Write a settings file of the user, the project or the project's local one; anything but text as JSON."""
        name = "settings.local.json" if scope == "local" else "settings.json"
        path = (self.claude if scope == "user" else self.project / ".claude") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    @property
    def variables(self) -> dict[str, str]:
        kinds = {f"XDG_{kind}_HOME": str(self.root / kind.lower()) for kind in ("CONFIG", "CACHE", "STATE", "DATA")}
        return {"HOME": str(self.home), **kinds}

    @property
    def environment(self) -> dict[str, str]:
        return {k: v for k, v in os.environ.items() if not k.startswith(OURS)} | self.variables

    def locations(
        self, project: str | None = None, claude: str = "", claude_project: str = "", *, trust_all: bool = True
    ) -> Locations:
        """Give the folders of this world as they are named here, not as they are searched for."""
        hook_md = SourceFolders("HOOK.md", str(self.agents), str(self.project) if project is None else project)
        settings_json = SourceFolders("settings.json", claude, claude_project, SETTINGS_JSON_SOURCE.markers)
        folders = {"config": self.agents, "state": self.state, "cache": self.cache}
        named = {name: str(path) for name, path in folders.items()}
        return Locations(sources=(hook_md, settings_json), trust_all=trust_all, **named)

    def hooks(self, scope: str) -> Path:
        return (self.agents if scope == "user" else self.project / ".agents") / "hooks"

    def toml(self, scope: str, text: str) -> Path:
        path = self.hooks(scope).parent / "hooks.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def hook(
        self,
        name: str,
        *,
        scope: str = "user",
        script: str | None = "exit 0",
        text: str | None = None,
        manifest: str = "HOOK.md",
        fields: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write a hook folder; `fields` are lines of its frontmatter, `text` is a whole manifest instead."""
        folder = self.hooks(scope) / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / manifest).write_text(text or frontmatter({"name": name, **(fields or {})}), encoding="utf-8")
        if script is not None:
            write_script(folder, script)
        return folder


def frontmatter(fields: Mapping[str, Any]) -> str:
    """Give a manifest with these fields, each value as YAML text."""
    lines = [f"{key}: {value}" for key, value in {**FIELDS, **fields}.items() if value is not None]
    return "\n".join(["---", *lines, "---", "", "A test.", ""])


def write_script(folder: Path, script: str, name: str = "run.sh") -> Path:
    """Write an executable shell script as the entry point of a hook folder."""
    path = folder / "scripts" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def trusting(args: Sequence[str]) -> list[str]:
    """Give the arguments of a command that takes every hook of the project as trusted, if it is one that runs or shows them."""
    return [*args[:1], "--trust-all", *args[1:]] if args and args[0] in TRUSTING else [*args]


def make_world(root: Path) -> World:
    world = World(root)
    for folder in (world.home, world.agents.parent, world.project):
        folder.mkdir(parents=True)
    return world


@pytest.fixture
def default_sigint() -> Iterator[None]:
    """Let SIGINT end what the test starts: the tests may have been started with it ignored, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def ignored_sigint() -> Iterator[None]:
    """Let what the test starts inherit an ignored SIGINT, as from `nohup` in a script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A scratch world that this process lives in: HOME and XDG_* point into it, the directory is its project."""
    made = make_world(tmp_path)
    for name in [name for name in os.environ if name.startswith((*OURS[:-1], *HOST_VARIABLES))]:
        monkeypatch.delenv(name)
    for name, value in made.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.project)
    return made


@pytest.fixture(scope="session")
def new_world(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], World]:
    """Make scratch worlds that outlive a test; this process does not live in them."""
    return lambda name: make_world(tmp_path_factory.mktemp(name))
