"""What an installation changes, in a few lines: which file, how many entries, and what one runs. `--diff` shows every line."""

from __future__ import annotations

import difflib
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from boathook.cli.pager import StyledLine
from boathook.cli.show import format_count
from boathook.core.event import PRE_TOOL
from boathook.core.value import Value
from boathook.hosts.host import load_host
from boathook.hosts.setup import FILES, PLUGIN
from boathook.install.codex import ENTRY_TRUST_TABLE
from boathook.install.formats import ENTRY_FORMATS, FORMATS
from boathook.install.json_edit import JsonEditor
from boathook.install.plan import FileChange, InstallPlan
from boathook.sources.installed_line import list_call_words

_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
# What an installed command says if boathook is gone: two long texts.
_FALLBACK_OPTIONS = ("--repair", "--broken")
_ADDS, _REMOVES, _REPLACES = "adds", "removes", "replaces"
_ACTION_STYLES = {_ADDS: "green", _REMOVES: "red", _REPLACES: "yellow"}


class EntryChanges(Value):
    """The entries of ours that a file gets, loses, or has in another form: each with its key, which is an event or a path."""

    added: Mapping[Any, Any]
    removed: Mapping[Any, Any]
    replaced: Mapping[Any, Any]


def describe_diff(plan: InstallPlan) -> Iterator[StyledLine]:
    """Yield every line that a plan changes, as a unified diff."""
    for change in plan.changes:
        states = (change.now, change.after)
        old_name, new_name = (os.devnull if data is None else change.path for data in states)
        old, new = ((data or b"").decode("utf-8", "backslashreplace").splitlines() for data in states)
        for line in difflib.unified_diff(old, new, old_name, new_name, lineterm=""):
            yield line, _DIFF_STYLES.get(line[:1], "")


def describe_summary(plan: InstallPlan) -> Iterator[StyledLine]:
    """Yield what a plan changes: for each file its entries and other values, and the command of one entry."""
    changes = [(change, _compare_entries(change)) for change in plan.changes if change.has_effect]
    for change, entries in changes:
        head = f"{change.path} ({_name_action(change)})"
        if change.file.format == FILES:
            # One file for each event.
            yield f"{head} calls boathook at {', '.join(map(str, change.file.wanted))}", "bold"
            continue
        yield head, "bold"
        for action, keys in ((_ADDS, entries.added), (_REMOVES, entries.removed), (_REPLACES, entries.replaced)):
            if keys:
                yield f"  {action} {_describe_keys(change, keys)}", _ACTION_STYLES[action]
        for text, style in _describe_extra_values(change):
            yield f"  {text}", style
    yield from _describe_example(plan, changes)
    if changes:
        yield "Nothing else in these files changes. To see every line, add --diff", "dim"


def _compare_entries(change: FileChange) -> EntryChanges:
    before, after = (_find_entries(change, data) for data in (change.now, change.after))
    return EntryChanges(
        {key: entry for key, entry in after.items() if key not in before},
        {key: entry for key, entry in before.items() if key not in after},
        {key: entry for key, entry in after.items() if key in before and before[key] != entry},
    )


def _find_entries(change: FileChange, data: bytes | None) -> dict[Any, list[Any]]:
    # Tables that are ours by their place and no longer wanted are looked for, too.
    file = change.file.replace(wanted={**change.file.outdated, **change.file.wanted})
    return FORMATS[file.format].find_entries((data or b"").decode(), file) if data is not None else {}


def _name_action(change: FileChange) -> str:
    return "new" if change.now is None else "deleted" if change.after is None else "changed"


def _describe_keys(change: FileChange, entries: Mapping[Any, Any]) -> str:
    file_format = change.file.format
    if file_format == PLUGIN:
        return "the plugin that calls boathook at every event"
    if file_format in ENTRY_FORMATS:
        count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
        return f"{count} that call{'s' * (len(entries) == 1)} boathook, at {', '.join(map(str, entries))}"
    of_entries = [key for key in entries if key[:2] == ENTRY_TRUST_TABLE]
    texts = []
    if of_entries:
        title = load_host(change.file.setup.name).title
        texts.append(f"{format_count(len(of_entries), 'table')} by which {title} trusts exactly these entries")
    # The trust of a whole folder is shown as it is.
    others = {key: entry for key, entry in entries.items() if key not in of_entries}
    texts += [f"{'.'.join(map(str, key))} = {json.dumps(entry[-1])}" for key, entry in others.items()]
    return ", and ".join(texts)


def _describe_extra_values(change: FileChange) -> Iterator[StyledLine]:
    """Yield the values beside the entries, such as a switch that turns hooks on."""
    extras = change.file.setup.extra_values if change.file.format in ENTRY_FORMATS else {}
    if not extras:
        return
    before, after = (
        JsonEditor((data or b"").decode(), comments=change.file.setup.has_comments)
        for data in (change.now, change.after)
    )
    for path in extras:
        old, new = before.get(*path), after.get(*path)
        name = ".".join(map(str, path))
        if old != new and new is not None:
            yield f"sets {name} to {json.dumps(new)}", _ACTION_STYLES[_ADDS]
        elif old != new:
            yield f"removes {name}", _ACTION_STYLES[_REMOVES]


def _describe_example(plan: InstallPlan, changes: list[tuple[FileChange, EntryChanges]]) -> Iterator[StyledLine]:
    """Yield the command of one new entry: that of a tool call, which is where hooks guard, else the first."""
    new = [
        (change, key, entry)
        for change, entries in changes
        if change.file.format in ENTRY_FORMATS
        for key, entry in {**entries.added, **entries.replaced}.items()
    ]
    if not new:
        return
    calls = {row.name for row in load_host(plan.setup.name).events if row.kind is PRE_TOOL}
    change, key, entry = next((one for one in new if one[1] in calls), new[0])
    commands = ENTRY_FORMATS[change.file.format].list_commands(entry[-1], change.file)
    words = next(filter(None, (list_call_words(text) for text in commands if isinstance(text, str))), [])
    who = "The plugin runs" if change.file.format == PLUGIN else f"The entry of {key} runs"
    fallback = "refuses tool calls and says" if plan.target.refuses_broken else "says"
    yield f"{who} this command; if boathook is gone, it {fallback} how to repair that:", ""
    for line in _fold_words(words):
        yield f"  {line}", "dim"


def _fold_words(words: list[str]) -> list[str]:
    """Return a command in short lines: the program, and each option with its value; not what it says if it is broken."""
    options = [at for at, word in enumerate(words) if word.startswith("--")]
    ends = [*options[1:], len(words)]
    pairs = [words[start:end] for start, end in zip(options, ends, strict=True)]
    shown = [pair for pair in pairs if pair[0] not in _FALLBACK_OPTIONS]
    head = words[: options[0]] if options else words
    return [shlex.join(head[:-1]), shlex.join(head[-1:]), *map(shlex.join, shown)]
