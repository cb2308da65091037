"""Hooks of Codex CLI: hooks.json, and `[hooks]` in config.toml."""

from __future__ import annotations

from boathook.sources.agent_forms.group_files import read_group_files
from boathook.sources.agent_forms.hook_form import CODEX_FORM
from boathook.sources.source_hooks import SourceHooks
from boathook.system.locations import SourceFolders


def read_codex_files(folders: SourceFolders) -> SourceHooks:
    return read_group_files(CODEX_FORM, folders)
