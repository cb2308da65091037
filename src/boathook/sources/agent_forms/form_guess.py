"""Which form a file of hooks is in that is not where an agent reads one: `boathook check` looks at what is in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from boathook.sources.agent_forms.hook_form import HOOK_FORMS, SETTINGS_FORM, HookForm
from boathook.sources.agent_forms.hook_text import blank_comments
from boathook.system.files import FileError, read_text


def guess_form(path: str) -> HookForm:
    """Return the form that knows most events and keys of a JSON file; that of settings.json if no other knows more."""
    try:
        data = json.loads(blank_comments(read_text(path)))
    except (FileError, ValueError, RecursionError):
        return SETTINGS_FORM
    hooks = data.get("hooks") if isinstance(data, dict) else None
    if not isinstance(hooks, dict):
        return SETTINGS_FORM
    forms = [form for form in HOOK_FORMS if not form.has_tables]
    return max(forms, key=lambda form: _count_known(form, hooks))


def _count_known(form: HookForm, hooks: dict[str, Any]) -> tuple[int, int]:
    known_keys = {field.key for rows in form.entry_fields.values() for field in rows}
    keys = [key for entry in _list_entries(hooks) for key in entry]
    return sum(name in form.events or name in form.unmapped_events for name in hooks), sum(
        map(known_keys.__contains__, keys)
    )


def _list_entries(hooks: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for items in hooks.values():
        for item in items if isinstance(items, list) else ():
            inner = item.get("hooks") if isinstance(item, dict) else None
            entries = inner if isinstance(inner, list) else [item]
            yield from (entry for entry in entries if isinstance(entry, dict))
