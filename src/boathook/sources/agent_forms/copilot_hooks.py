"""Hooks of Copilot CLI: all JSON files of a folder."""

from __future__ import annotations

from boathook.sources.agent_forms.group_files import read_group_files
from boathook.sources.agent_forms.hook_form import COPILOT_FORM
from boathook.sources.source_hooks import SourceHooks
from boathook.system.locations import SourceFolders


def read_copilot_files(folders: SourceFolders) -> SourceHooks:
    return read_group_files(COPILOT_FORM, folders)
