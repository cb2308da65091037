"""A scratch project: a folder with hooks, and a home, a configuration, a cache and a state of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boathook
from boathook.sources.source import HOOK_MD_SOURCE, PACK_SOURCE, SETTINGS_JSON_SOURCE
from boathook.system.locations import Locations, SourceFolders
from tests import forked

CALL = {"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}, "session_id": "s"}
HOOK_ENTRY = str(Path(boathook.__file__).parent / "entry/hook_entry.py")
# The ways to dispatch an event, and what starts those that are processes.
WAYS = ("in process", "by command", "by hook_entry")
_PROGRAMS = {"by command": ("-m", "boathook", "run"), "by hook_entry": ("-I", "-S", HOOK_ENTRY)}
# Variables that change what boathook does.
BOATHOOK_VARIABLES = ("XDG_", "AGENT_", "KIMI_", "CLAUDE_", "MONOCO_", "BOATHOOK_")
# Commands that know --trust-all.
TRUSTING_COMMANDS = ("run", "list", "explain", "agent")
FIELDS = {"description": "a test", "trigger": "pre-tool-call"}


@dataclass
class ScratchProject:
    """A project and what surrounds it, all below one folder.

    With `trust_all`, the commands that run or show hooks take every hook of the project as trusted.
    """

    base: Path
    trust_all: bool = False

    @property
    def path(self) -> Path:
        return self.base / "project"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def config(self) -> Path:
        return self.base / "config" / "agents"

    @property
    def cache(self) -> Path:
        return self.base / "cache" / "boathook"

    @property
    def state(self) -> Path:
        return self.base / "state" / "boathook"

    @property
    def programs(self) -> Path:
        """A folder for the PATH; only some tests make it."""
        return self.base / "programs"

    @property
    def claude_folder(self) -> Path:
        return self.home / ".claude"

    @property
    def variables(self) -> dict[str, str]:
        """The variables that lead boathook to these folders."""
        kinds = {f"XDG_{kind}_HOME": str(self.base / kind.lower()) for kind in ("CONFIG", "CACHE", "STATE", "DATA")}
        return {"HOME": str(self.home), **kinds}

    @property
    def environment(self) -> dict[str, str]:
        """The environment of commands."""
        left_out = (*BOATHOOK_VARIABLES, "PYTHON")
        passed_on = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        return {**passed_on, "LC_ALL": "C.UTF-8", **self.variables}

    def make_folders(self) -> None:
        for folder in (self.home, self.config.parent, self.path):
            folder.mkdir(parents=True)

    def make_locations(
        self, project: str | None = None, claude: str = "", claude_project: str = "", *, trust_all: bool = True
    ) -> Locations:
        """Return these folders as locations, without a search."""
        top = str(self.path) if project is None else project
        hook_md = SourceFolders("HOOK.md", str(self.config), top, HOOK_MD_SOURCE.markers)
        packs = SourceFolders("packs", str(self.config), "", PACK_SOURCE.markers)
        settings_json = SourceFolders("settings.json", claude, claude_project, SETTINGS_JSON_SOURCE.markers)
        folders = {"config": self.config, "state": self.state, "cache": self.cache}
        named = {name: str(path) for name, path in folders.items()}
        return Locations(sources=(hook_md, packs, settings_json), trust_all=trust_all, **named)

    # Writing files

    def hooks_folder(self, scope: str) -> Path:
        return (self.config if scope == "user" else self.path / ".agents") / "hooks"

    def write_hook(
        self,
        name: str,
        script: str | bytes | None = "exit 0",
        *,
        scope: str = "user",
        fields: Mapping[str, Any] | None = None,
        manifest: str | bytes | None = None,
        manifest_name: str = "HOOK.md",
        script_name: str = "run.sh",
        mode: int = 0o755,
    ) -> Path:
        """Write a hook folder; `fields` are lines of its frontmatter, `manifest` is a whole one instead."""
        folder = self.hooks_folder(scope) / name
        folder.mkdir(parents=True, exist_ok=True)
        text = make_manifest(name, **(fields or {})) if manifest is None else manifest
        (folder / manifest_name).write_bytes(_to_bytes(text))
        if script is not None:
            write_script(folder, script, script_name, mode)
        return folder

    def write_settings(self, scope: str, content: object) -> Path:
        """Write a settings file of the user, the project or the project's local one; anything but text as JSON."""
        name = "settings.local.json" if scope == "local" else "settings.json"
        path = (self.claude_folder if scope == "user" else self.path / ".claude") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def write_hooks_toml(self, scope: str, text: str) -> Path:
        path = self.hooks_folder(scope).parent / "hooks.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    # Running commands

    def make_argv(self, *arguments: str, trust_all: bool | None = None) -> list[str]:
        """Return the command line of `boathook`."""
        words: Sequence[str] = arguments
        if (self.trust_all if trust_all is None else trust_all) and arguments[:1] and arguments[0] in TRUSTING_COMMANDS:
            words = [arguments[0], "--trust-all", *arguments[1:]]
        return [sys.executable, "-m", "boathook", *words]

    def run(
        self,
        *arguments: str,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        trust_all: bool | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run `boathook` in the project."""
        return self._run(self.make_argv(*arguments, trust_all=trust_all), stdin, env)

    def trust(self, *names: str, flags: tuple[str, ...] = ("--yes",)) -> subprocess.CompletedProcess[str]:
        """Trust hooks of the project, all of them if none is named."""
        done = self.run("trust", *names, *flags)
        assert done.returncode == 0, done.stderr + done.stdout
        return done

    def dispatch(self, way: str = WAYS[0], event: Mapping[str, Any] = CALL, *flags: str) -> dict[str, Any]:
        """Send an event one way; return the verdict as `run --json` prints it."""
        event = {**event, "work_dir": str(self.path)}
        if way == WAYS[0]:
            with boathook.load(self.path, trust_all="--trust-all" in flags) as engine:
                return engine.dispatch(event).to_json()
        done = self._run([sys.executable, *_PROGRAMS[way], "--json", *flags], json.dumps(event))
        return json.loads(done.stdout)

    def list_hooks(self) -> list[dict[str, Any]]:
        """Return the hooks as `list --json` prints them."""
        return json.loads(self.run("list", "--json").stdout)["hooks"]

    def read_hook_state(self, name: str) -> str:
        """Return the state of one hook as `list` prints it."""
        return next(row["state"] for row in self.list_hooks() if row["name"].partition("#")[0] == name)

    def _run(
        self, argv: list[str], stdin: str, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **(env or {})}
        return forked.run(argv, input=stdin, text=True, cwd=self.path, env=environment, timeout=120, check=False)


def make_project(base: Path, *, trust_all: bool = False) -> ScratchProject:
    project = ScratchProject(base, trust_all)
    project.make_folders()
    return project


def make_manifest(name: str, /, **fields: Any) -> str:
    """Return a manifest with these fields; texts are YAML, and fields that are None are left out."""
    known = {"name": name, **FIELDS, **fields}
    words = {True: "true", False: "false"}
    lines = [f"{k}: {words[v] if isinstance(v, bool) else v}" for k, v in known.items() if v is not None]
    return "\n".join(["---", *lines, "---", "", "A test.", ""])


def write_script(folder: Path, script: str | bytes, name: str = "run.sh", mode: int = 0o755) -> Path:
    """Write a script of a hook folder; one without an interpreter line gets /bin/sh."""
    path = folder / "scripts" / name
    path.parent.mkdir(exist_ok=True)
    data = _to_bytes(script)
    path.write_bytes(data if data.startswith(b"#!") else b"#!/bin/sh\n" + data + b"\n")
    path.chmod(mode)
    return path


def make_settings(command: str, **fields: Any) -> dict[str, Any]:
    """Return a settings file with one command before every tool call."""
    return {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command, **fields}]}]}}


def list_runs(verdict: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return hook, status and decision of every run."""
    return [(run["hook"], run["status"], run["decision"]) for run in verdict["runs"]]


def list_skipped(verdict: Mapping[str, Any]) -> list[str]:
    """Return the hooks that were skipped."""
    return [skip["hook"] for skip in verdict["skipped"]]


def _to_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
