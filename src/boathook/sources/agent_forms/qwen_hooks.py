"""Hooks of Qwen Code: `hooks` in its settings.json."""

from __future__ import annotations

from boathook.sources.agent_forms.group_files import read_group_files
from boathook.sources.agent_forms.hook_form import QWEN_FORM
from boathook.sources.source_hooks import SourceHooks
from boathook.system.locations import SourceFolders


def read_qwen_files(folders: SourceFolders) -> SourceHooks:
    return read_group_files(QWEN_FORM, folders)
