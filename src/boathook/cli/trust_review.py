"""What `boathook trust` shows before it asks: the hook, what it runs, and what changed since it was trusted."""

from __future__ import annotations

import difflib
import os
import unicodedata

from boathook.cli.list import describe_matcher
from boathook.cli.show import STATE_STYLES, echo
from boathook.core.approval import DENY, TrustRecord, resolve_copy_path
from boathook.core.hook import ARMED, BASIC, Command, Hook, Http, Prompt, Script
from boathook.core.value import Value
from boathook.system.programs import find_entry_point
from boathook.trust.bound_files import BoundFiles
from boathook.trust.judge import HookContent
from boathook.trust.snapshot import FILE, LINK, Snapshot, SnapshotError, SnapshotItem, read_snapshot
from boathook.trust.store import TrustStore

_MAX_SCRIPT_LINES = 20
_MAX_DIFF_LINES = 60
_MAX_LINE_CHARS = 1000
_DECEPTIVE_CATEGORIES = ("Cf", "Co", "Cn", "Cs", "Zl", "Zp")


class TrustCandidate(Value):
    """A hook that can be trusted: its state, the decision about it, and either what would be trusted or an error."""

    hook: Hook
    # What identifies it in the trust store: its project and its place there.
    key: tuple[str, str]
    state: str
    record: TrustRecord | None
    content: HookContent | None
    error: str = ""
    is_override: bool = False

    @property
    def shown_state(self) -> str:
        return "trusted" if self.state == ARMED else self.state

    @property
    def is_denied(self) -> bool:
        return self.record is not None and self.record.decision == DENY


def print_review(candidate: TrustCandidate, store: TrustStore) -> None:
    content = candidate.content
    hook = content.hook if content is not None else candidate.hook
    echo("")
    echo(f"{reveal(candidate.hook.name)}  {candidate.shown_state}", STATE_STYLES[candidate.shown_state])
    echo(f"  file      {reveal(hook.path)}" + (f" ({reveal(hook.place)})" if hook.place else ""))
    if hook.description:
        echo(f"  about     {reveal(' '.join(hook.description.split()))}")
    echo(f"  runs at   {hook.trigger}, {reveal(describe_matcher(hook))}; {hook.mode}, at most {hook.timeout:g} s")
    if hook.on_failure == "block":
        echo("  if it fails, the action is blocked")
    if variables := dict.fromkeys((*hook.env, *hook.needs.env)):
        echo(f"  gets      the variables {reveal(', '.join(variables))}, even if they look secret", "yellow")
    if hook.sandbox != BASIC or hook.network:
        echo(f"  sandbox   {hook.sandbox}, {'with' if hook.network else 'without'} the network")
    if candidate.is_override:
        echo(f"  replaces  your own hook '{hook.name}'", "bold yellow")
    _print_handler(hook)
    if content is not None:
        _print_files(candidate, content, store)


def _print_handler(hook: Hook) -> None:
    handler = hook.handler
    if isinstance(handler, Command):
        echo(f"  command   {reveal(handler.line, None)}")
    elif isinstance(handler, Prompt):
        echo(f"  asks      {reveal(handler.text, None)}")
    elif isinstance(handler, Http):
        headers = ", ".join(name for name, _ in handler.headers)
        echo(f"  posts to  {reveal(handler.url, None)}" + (f" with {reveal(headers)}" if headers else ""))
        if handler.allowed:
            echo(f"  gets      the variables {reveal(', '.join(handler.allowed))}", "yellow")


def _print_files(candidate: TrustCandidate, content: HookContent, store: TrustStore) -> None:
    if not content.snapshots:
        echo("  files     no file of this project was found: your trust covers only the definition above", "dim")
    for root, snapshot in content.snapshots.items():
        echo(f"  files     {reveal(root)}")
        for item in snapshot.items:
            about = f"{len(item.data):,} bytes{', executable' if item.mode & 0o111 else ''}"
            if item.kind == LINK:
                about = f"-> {reveal(item.data.decode('utf-8', 'backslashreplace'))}"
            if item.kind in (FILE, LINK):
                echo(f"    {reveal(item.path or os.path.basename(root))}  {about}")
    _print_uncovered_files(content.bound_files)
    record = candidate.record
    old_copy = store.find_copy(record.digest) if record is not None and record.digest else ""
    if old_copy and record is not None and record.digest != content.digest:
        _print_changes(content, old_copy, record)
    else:
        for path, text in _list_entry_texts(content):
            echo(f"  {reveal(path)}:")
            _print_lines([(f"| {line}", "") for line in text.splitlines()], _MAX_SCRIPT_LINES)


def _print_uncovered_files(bound_files: BoundFiles) -> None:
    for path in bound_files.missing:
        echo(f"  named     {reveal(path)} does not exist; if it appears, you are asked again", "dim")
    for path in bound_files.unbound:
        text = "named, but not clearly run; it can change without asking you again"
        echo(f"  uncovered {reveal(path)}: {text}", "bold yellow")
    if bound_files.unclear:
        echo(f"  uncovered boathook cannot tell what this runs: {reveal(bound_files.unclear, None)}", "bold yellow")


def _list_entry_texts(content: HookContent) -> list[tuple[str, str]]:
    handler = content.hook.handler
    if isinstance(handler, Script):
        entry = find_entry_point(handler.folder)
        paths = [os.path.relpath(entry, handler.folder)] if entry else []
        snapshot = next(iter(content.snapshots.values()))
        return [(item.path, _decode_item(item)) for item in snapshot.items if item.path in paths]
    bound = {file.path for file in content.bound_files.files}
    items = [(root, item) for root, snapshot in content.snapshots.items() for item in snapshot.items]
    by_path = {f"{root}/{item.path}" if item.path else root: item for root, item in items}
    return [(path, _decode_item(item)) for path, item in by_path.items() if path in bound]


def _print_lines(lines: list[tuple[str, str]], limit: int) -> None:
    for line, style in lines[:limit]:
        echo(f"    {reveal(line)}", style)
    if len(lines) > limit:
        echo(f"    … {len(lines) - limit} more lines", "dim")


def _print_changes(content: HookContent, old_copy: str, record: TrustRecord) -> None:
    echo("  changed since it was trusted:", "yellow")
    definition = content.definition.decode()
    if record.definition != definition:
        fields = (text.replace(", ", ",\n") for text in (record.definition, definition))
        _print_text_diff("the definition", *fields)
    printed: set[str] = set()
    for root in dict.fromkeys((*record.roots, *content.snapshots)):
        copy = resolve_copy_path(old_copy, record.roots.index(root), root) if root in record.roots else ""
        trusted, current = _read_copy(copy), content.snapshots.get(root)
        old_items, new_items = ({item.path: item for item in each.items} if each else {} for each in (trusted, current))
        for path in sorted({*old_items, *new_items}):
            old, new = old_items.get(path), new_items.get(path)
            if (old and (old.kind, old.data)) != (new and (new.kind, new.data)):
                printed.add(f"{root}/{path}" if path else root)
                change = "added" if old is None else "removed" if new is None else "changed"
                name = path or os.path.basename(root)
                echo(f"    {change}: {reveal(name)}", "yellow")
                _print_text_diff(name, _decode_item(old) if old else "", _decode_item(new) if new else "")
    now = dict(content.files)
    for path, word in record.files:
        if now.get(path, word) != word and path not in printed:
            echo(f"    mode changed: {reveal(path)}", "yellow")


def _read_copy(root: str) -> Snapshot | None:
    try:
        return read_snapshot(root) if root else None
    except SnapshotError:
        return None


def _print_text_diff(name: str, old: str, new: str) -> None:
    names, styles = (f"{name} (trusted)", f"{name} (now)"), {"+": "green", "-": "red"}
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
    _print_lines([(line, styles.get(line[:1], "")) for line in lines], _MAX_DIFF_LINES)


def _decode_item(item: SnapshotItem) -> str:
    return "(binary)" if b"\0" in item.data else item.data.decode("utf-8", "backslashreplace")


def reveal(text: str, limit: int | None = _MAX_LINE_CHARS) -> str:
    """Return a text in which nothing can deceive the eye: no invisible or direction-changing characters, no endless lines."""
    shown = "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in _DECEPTIVE_CATEGORIES else c for c in text)
    shown = "".join(c if c == "\t" or c.isprintable() else f"\\x{ord(c):02x}" for c in shown)
    return shown if limit is None or len(shown) <= limit else f"{shown[:limit]}… ({len(shown):,} characters)"
