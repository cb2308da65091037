"""Hooks of Cursor: hooks.json."""

from __future__ import annotations

from boathook.sources.agent_forms.group_files import read_group_files
from boathook.sources.agent_forms.hook_form import CURSOR_FORM
from boathook.sources.source_hooks import SourceHooks
from boathook.system.locations import SourceFolders


def read_cursor_files(folders: SourceFolders) -> SourceHooks:
    return read_group_files(CURSOR_FORM, folders)
