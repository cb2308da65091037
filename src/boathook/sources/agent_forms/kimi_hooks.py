"""Hooks of Kimi Code and of kimi-cli: `[[hooks]]` in their config.toml; projects have none."""

from __future__ import annotations

from boathook.sources.agent_forms.group_files import read_group_files
from boathook.sources.agent_forms.hook_form import KIMI_CLI_FORM, KIMI_FORM
from boathook.sources.source_hooks import SourceHooks
from boathook.system.locations import SourceFolders


def read_kimi_file(folders: SourceFolders) -> SourceHooks:
    return read_group_files(KIMI_FORM, folders)


def read_kimi_cli_file(folders: SourceFolders) -> SourceHooks:
    return read_group_files(KIMI_CLI_FORM, folders)
