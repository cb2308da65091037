"""A scratch home with hooks and an installed agent, and a project with a trusted hook and a link to the user's hooks."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import boathook
from boathook.assembly import load_with_trust, locate
from boathook.cli.commands import cli
from boathook.core.disarm_prefilter import may_disarm
from boathook.core.event import Event
from boathook.core.hook import BuiltIn
from boathook.dialects.native import make_event
from boathook.entry.fast_path import _is_plain_command
from boathook.protection.file_view import DiskView
from boathook.protection.objections import find_objection
from boathook.protection.protection import Protection
from boathook.system.locations import RealPaths
from tests.scratch_project import make_manifest, write_script

FIXTURES = Path(__file__).parent.parent / "fixtures/self_protection"


class GuardedHome:
    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.project = self.home / "work/project"
        self.write_hook(self.home / ".config/agents/hooks/guard")
        self.write_hook(self.project / ".agents/hooks/no-push")
        (self.home / ".config/agents/hooks.toml").write_text("[hooks]\n")
        (self.project / "src").mkdir()
        (self.project / "overlay/.agents/hooks/no-push").mkdir(parents=True)
        (self.project / "linked").symlink_to(self.home / ".config/agents")
        (self.project / "home-link").symlink_to(self.home)

    def write_hook(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "HOOK.md").write_text(make_manifest(folder.name))
        write_script(folder, "exit 0", "run.sh", 0o755)

    def set_up(self) -> None:
        """Trust the hook of the project, install an agent, and write one more hook that nobody has trusted."""
        for arguments in (["trust", "--yes"], *(["install", host, "--user", "--yes"] for host in ("claude", "codex"))):
            cli.main(arguments, standalone_mode=False)
        self.write_hook(self.project / ".agents/hooks/fresh")
        loaded = load_with_trust(locate())[0]
        handler = next(hook.handler for hook in loaded.catalog.built_in if isinstance(hook.handler, BuiltIn))
        assert isinstance(handler, BuiltIn)
        self.filter_row = handler.filter_row
        self.protection = Protection.from_data(handler.data)
        assert any("by which Codex CLI calls boathook" in place.what for place in self.protection.places)

    def is_handed_over(self, event: Event) -> bool:
        """Whether the fast path leaves a call to the engine."""
        rows = (self.filter_row,)
        if event.tool_name == "Shell" and _is_plain_command(event.tool_input, event.work_dir, rows):
            return False
        return may_disarm(event.tool_name, event.tool_input, event.work_dir, self.filter_row, RealPaths().find)

    def fill(self, value: Any) -> Any:
        """Return a value of a case with the folders of this home in it."""
        if isinstance(value, dict):
            return {key: self.fill(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.fill(inner) for inner in value]
        if not isinstance(value, str):
            return value
        names = {
            "home": str(self.home),
            "project": str(self.project),
            "venv": sys.prefix,
            "package": os.path.dirname(boathook.__file__),
        }
        for name, path in names.items():
            value = value.replace(f"{{{name}}}", path)
        return value

    def make_event(self, case: dict[str, Any]) -> Event:
        tool = case.get("tool", "Shell")
        given = case["input"] if "input" in case else {"command": case["command"]}
        fields = {"event_type": "pre-tool-call", "session_id": "s", "tool_name": tool, "tool_input": self.fill(given)}
        return make_event({**fields, "work_dir": self.fill(case.get("dir", "{project}"))})

    def find_objection(self, case: dict[str, Any]) -> str:
        return find_objection(self.make_event(case), self.protection, DiskView())


def read_cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FIXTURES / name).read_text().splitlines()]


def describe_case(case: dict[str, Any]) -> str:
    return str(case.get("command") or f"{case['tool']} {json.dumps(case['input'])}")[:60]
