"""What `boathook trust` shows before it asks: the hook, all of its files, and what changed since it was trusted."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from typing import Any

from boathook.cli.list import describe_matcher
from boathook.cli.pager import StyledLine, show_lines
from boathook.cli.show import STATE_STYLES, echo, format_count, shorten_path
from boathook.core.approval import DENY, TRUST, TrustPlace, TrustRecord, resolve_copy_path
from boathook.core.hashing import hexdigest
from boathook.core.hook import ARMED, BASIC, Command, Hook, Http, Prompt, Script
from boathook.core.notices import list_names
from boathook.core.text import reveal_text
from boathook.core.value import Value
from boathook.sources.shell_scripts import SCRIPT_ENDINGS
from boathook.system.programs import BINARIES, ENTRY_NAMES
from boathook.trust.bound_files import BoundFiles
from boathook.trust.judge import HookContent, make_relative, resolve_roots
from boathook.trust.snapshot import FILE, FOLDER, LINK, Snapshot, SnapshotError, SnapshotItem, read_snapshot
from boathook.trust.store import TrustStore

# What a person is shown of the files of one hook. More than this is not reviewed by reading it in a terminal.
_MAX_SHOWN_BYTES = 2 << 20
# A longer file is shown whole instead of as a diff, which would take too long to compute.
_MAX_DIFF_LINES = 5_000
# A script is shown as text whatever its bytes are. Other files are binary if they have a NUL, are not UTF-8, and if this share
# of their bytes is not text.
_TEXT_ENDINGS = (*SCRIPT_ENDINGS, "md", "json", "toml", "yaml", "yml")
_TEXT_NAME = re.compile(rf".*\.(?:{'|'.join(_TEXT_ENDINGS)})", re.IGNORECASE)
_BINARY_SHARE = 0.1
_TEXT_BYTES = bytes({7, 8, 9, 10, 12, 13, 27, *range(0x20, 0x7F)})


class TrustCandidate(Value):
    """A hook that can be trusted: its state, the decision about it, and either what would be trusted or an error."""

    hook: Hook
    # What identifies it in the trust store: its project and its place there.
    place: TrustPlace
    identity: str
    state: str
    record: TrustRecord | None
    content: HookContent | None
    error: str = ""
    is_override: bool = False
    source: str = ""

    @property
    def shown_state(self) -> str:
        return "trusted" if self.state == ARMED else self.state

    @property
    def is_denied(self) -> bool:
        return self.record is not None and self.record.decision == DENY


class Review:
    """The lines that describe a hook; `hidden_lines` and `hidden_files` are what is left out because there is too much."""

    def __init__(self, bytes_left: int | None = None) -> None:
        self.lines: list[StyledLine] = []
        self.hidden_lines, self.hidden_files = 0, list[str]()
        self._bytes_left = _MAX_SHOWN_BYTES if bytes_left is None else bytes_left

    @property
    def is_whole(self) -> bool:
        return not (self.hidden_lines or self.hidden_files)

    def add(self, text: str, style: str = "") -> None:
        self.lines.append((text, style))

    def add_text(self, name: str, lines: list[StyledLine]) -> None:
        """Add the lines of one file, or of the difference between two, up to the limit of all."""
        shown = [("    " + reveal_text(line, keep="\t"), style) for line, style in lines]
        for index, (line, style) in enumerate(shown):
            self._bytes_left -= len(line.encode("utf-8", "backslashreplace")) + 1
            if self._bytes_left < 0:
                self.hidden_lines += len(shown) - index
                self.hidden_files.append(reveal_text(name))
                return
            self.add(line, style)

    def add_part(self, part: Review) -> None:
        """Add the lines of another review, and what is left out there."""
        self.lines += part.lines
        self.hidden_lines += part.hidden_lines
        self.hidden_files += part.hidden_files
        self._bytes_left = min(self._bytes_left, part._bytes_left)

    def start_part(self) -> Review:
        """Return a review with no lines yet, which may have as many as this one still can."""
        return Review(max(self._bytes_left, 0))


def show_reviews(reviews: Sequence[tuple[TrustCandidate, Review]], *, always_paged: bool = False) -> None:
    """Show hooks to a person, all in one text, and then what of them is too long to be shown."""
    lines = [line for _, review in reviews for line in review.lines]
    if len(reviews) > 1:
        names = list_names([candidate.hook.name for candidate, _ in reviews])
        lines = [(f"{len(reviews)} hooks to review: {reveal_text(names)}", "bold"), *lines]
    projects = dict.fromkeys(candidate.place.project for candidate, _ in reviews)
    show_lines(lines, projects, always_paged=always_paged)
    for candidate, review in reviews:
        if not review.is_whole:
            hidden, files = format_count(review.hidden_lines, "line"), format_count(len(review.hidden_files), "file")
            about = f"{candidate.hook.name}: " if len(reviews) > 1 else ""
            echo(f"  {about}NOT SHOWN: {hidden}, {files}: {list_names(review.hidden_files)}", "bold red")


def make_review(candidate: TrustCandidate, store: TrustStore) -> Review:
    """Return all that a person would trust: what changed since the last time comes first, then the whole hook."""
    review, content = Review(), candidate.content
    hook = content.hook if content is not None else candidate.hook
    review.add("")
    review.add(f"{reveal_text(candidate.hook.name)}  {candidate.shown_state}", STATE_STYLES[candidate.shown_state])
    changes = make_changes(candidate, store)
    if changes is not None:
        review.add_part(changes)
    if (other := find_other_trust(candidate, store)) is not None:
        review.add(f"  known     you trusted exactly these bytes in {describe_other_trust(other)}")
    review.add(f"  file      {reveal_text(hook.path)}" + (f" ({reveal_text(hook.place)})" if hook.place else ""))
    if hook.description:
        review.add(f"  about     {reveal_text(' '.join(hook.description.split()))}")
    when = reveal_text(f"{hook.trigger}, {describe_matcher(hook)}")
    review.add(f"  runs at   {when}; {hook.mode}, at most {hook.timeout:g} s")
    if hook.on_failure == "block":
        review.add("  if it fails, the action is blocked")
    if variables := dict.fromkeys((*hook.env, *hook.needs.env)):
        names = reveal_text(", ".join(variables))
        review.add(f"  gets      the variables {names}, even if they look secret", "yellow")
    if hook.sandbox != BASIC or hook.network:
        review.add(f"  sandbox   {hook.sandbox}, {'with' if hook.network else 'without'} the network")
    if candidate.is_override:
        review.add(f"  replaces  your own hook '{reveal_text(hook.name)}'", "bold yellow")
    _add_handler(review, hook)
    if content is not None and _has_no_script(hook, content):
        review.add("  it has no script to run, so it will not run: see boathook check", "bold yellow")
    if content is not None:
        _add_files(review, content)
        _add_contents(review, content, is_again=changes is not None)
    return review


def find_other_trust(candidate: TrustCandidate, store: TrustStore) -> TrustRecord | None:
    """Return the last decision by which exactly these bytes are trusted in another folder, such as another clone."""
    digest = candidate.content.digest if candidate.content is not None else ""
    # One that a later review replaced is about bytes that nobody wants any more.
    same = [one for one in store.records if (one.decision, one.digest, one.earlier) == (TRUST, digest, False)]
    return max((one for one in same if not one.covers(candidate.place)), key=lambda one: one.time, default=None)


def describe_other_trust(record: TrustRecord) -> str:
    return f"{reveal_text(shorten_path(record.project))} on {record.time.partition('T')[0]}"


def make_changes(candidate: TrustCandidate, store: TrustStore) -> Review | None:
    """Return what changed in a hook since a person trusted it, None if nothing did or nobody has."""
    content, record = candidate.content, candidate.record
    old_copy = store.find_copy(record.digest) if record is not None and record.digest else ""
    if content is None or record is None or not old_copy or record.digest == content.digest:
        return None
    changes = Review()
    _add_changes(changes, content, old_copy, record)
    return changes


def describe_review(candidate: TrustCandidate, store: TrustStore) -> dict[str, Any]:
    """Return what a hook is that waits for a decision, for a program."""
    content, record = candidate.content, candidate.record
    review, changes = make_review(candidate, store), make_changes(candidate, store)
    other = find_other_trust(candidate, store)
    hook = content.hook if content is not None else candidate.hook
    snapshots = content.snapshots.items() if content is not None else ()
    files = [_describe_file(item, root) for root, one in snapshots for item in one.items if item.kind in (FILE, LINK)]
    return {
        "name": candidate.hook.name,
        "state": candidate.state,
        "project": candidate.place.project,
        "identity": candidate.identity,
        "event": hook.trigger,
        "matcher": describe_matcher(hook),
        "override": candidate.is_override,
        "digest": content.digest if content is not None else None,
        "trusted_digest": record.digest or None if record is not None else None,
        "same_bytes_in": other.project if other is not None else None,
        "files": files,
        "uncovered": content.bound_files.list_uncovered_files() if content is not None else [],
        "diff": [line for line, _ in changes.lines] if changes is not None else None,
        "not_shown": review.hidden_files,
        "error": candidate.error,
    }


def _describe_file(item: SnapshotItem, root: str) -> dict[str, Any]:
    is_link = item.kind == LINK
    return {
        "path": _join(root, item.path),
        "bytes": len(item.data),
        "sha256": hexdigest(item.data),
        "executable": not is_link and bool(item.mode & 0o111),
        "link_to": item.data.decode("utf-8", "backslashreplace") if is_link else None,
    }


def _add_handler(review: Review, hook: Hook) -> None:
    handler = hook.handler
    if isinstance(handler, Command):
        _add_value(review, "command ", handler.line)
        if handler.cwd:
            review.add(f"  runs in   {reveal_text(handler.cwd)}, from the folder of the project")
        for name, value in handler.variables:
            _add_value(review, "sets    ", f"{name}={value}")
    elif isinstance(handler, Prompt):
        _add_value(review, "asks    ", handler.text)
    elif isinstance(handler, Http):
        _add_value(review, "posts to", handler.url)
        for name, value in handler.headers:
            _add_value(review, "header  ", f"{name}: {value}")
        if handler.allowed:
            review.add(f"  gets      the variables {reveal_text(', '.join(handler.allowed))}", "yellow")


def _has_no_script(hook: Hook, content: HookContent) -> bool:
    paths = {item.path for snapshot in content.snapshots.values() for item in snapshot.items if item.kind != FOLDER}
    return isinstance(hook.handler, Script) and not paths.intersection(f"scripts/{name}" for name in ENTRY_NAMES)


def _add_value(review: Review, label: str, text: str) -> None:
    first, *rest = _split_lines(text) or [""]
    review.add(f"  {label}  {reveal_text(first)}")
    for line in rest:
        review.add(f"          | {reveal_text(line)}")


def _add_files(review: Review, content: HookContent) -> None:
    if not content.snapshots:
        review.add("  files     no file of this project was found: your trust covers only the definition above", "dim")
    for root, snapshot in content.snapshots.items():
        review.add(f"  files     {reveal_text(root)}")
        for item in snapshot.items:
            if item.kind in (FILE, LINK):
                review.add(f"    {reveal_text(_name_item(item, root))}  {_describe_item(item)}")
    _add_uncovered_files(review, content.bound_files)


def _add_contents(review: Review, content: HookContent, *, is_again: bool) -> None:
    """Add the content of all files. Of a hook that changed, the changes are shown already, and they are what is new."""
    part, entries = review.start_part(), _list_entries(content)
    for root, snapshot in content.snapshots.items():
        files = [item for item in snapshot.items if item.kind == FILE]
        for item in sorted(files, key=lambda one: _rank_item(one, root, entries, content.hook)):
            _add_content(part, item, root, is_entry=_join(root, item.path) in entries)
    if is_again and not part.is_whole:
        review.add("  Its files are too long to be shown whole here: all that changed is above.", "yellow")
        return
    if is_again and part.lines:
        review.add("  all files as they are now:")
    review.add_part(part)


def _list_entries(content: HookContent) -> set[str]:
    """Return the files that are run, links followed: those of S17, or those that a command names."""
    entries = {file.path for file in content.bound_files.files}
    if isinstance(content.hook.handler, Script):
        for root, snapshot in content.snapshots.items():
            targets = (snapshot.find_target(f"scripts/{name}") for name in ENTRY_NAMES)
            entries |= {_join(root, item.path) for item in targets if item is not None}
    return entries


def _join(root: str, path: str) -> str:
    return f"{root}/{path}" if path else root


def _rank_item(item: SnapshotItem, root: str, entries: set[str], hook: Hook) -> int:
    """Return the place of a file in the order: the manifest, what is run, then the rest."""
    is_manifest = isinstance(hook.handler, Script) and item.path == os.path.basename(hook.path)
    return 0 if is_manifest else 1 if _join(root, item.path) in entries else 2


def _describe_item(item: SnapshotItem) -> str:
    if item.kind == LINK:
        return f"-> {reveal_text(item.data.decode('utf-8', 'backslashreplace'))}"
    return f"{len(item.data):,} bytes{', executable' if item.mode & 0o111 else ''}"


def _name_item(item: SnapshotItem, root: str) -> str:
    return item.path or os.path.basename(root)


def _add_content(review: Review, item: SnapshotItem, root: str, *, is_entry: bool) -> None:
    name = reveal_text(_name_item(item, root))
    if _is_binary(item, is_entry=is_entry):
        text = f"binary, {_identify_bytes(item)}; not shown, and the hook's scripts could still run it"
        review.add(f"  {name}: {text}", "bold yellow")
    elif item.data:
        review.add(f"  {name}:")
        review.add_text(name, [(f"| {line}", "") for line in _split_lines(_decode_item(item))])


def _identify_bytes(item: SnapshotItem | None) -> str:
    return f"{len(item.data):,} bytes, sha256 {hexdigest(item.data)}" if item is not None else "nothing"


def _add_uncovered_files(review: Review, bound_files: BoundFiles) -> None:
    for path in bound_files.missing:
        review.add(f"  named     {reveal_text(path)} does not exist; if it appears, you are asked again", "dim")
    for path in bound_files.unbound:
        text = "not bound: named, but not clearly run; it can change without asking you again"
        review.add(f"  uncovered {reveal_text(path)}: {text}", "bold yellow")
    for text in bound_files.programs:
        review.add(f"  uncovered not bound: boathook cannot tell what this runs: {reveal_text(text)}", "bold yellow")
    if bound_files.unclear:
        text = reveal_text(bound_files.unclear)
        review.add(f"  uncovered not bound: boathook cannot tell what this runs: {text}", "bold yellow")


def _add_changes(review: Review, content: HookContent, old_copy: str, record: TrustRecord) -> None:
    where = "" if record.project == content.project else f" in {reveal_text(record.project)}"
    review.add(f"  changed since it was trusted{where}:", "yellow")
    definition = content.definition.decode()
    if record.definition != definition:
        fields = (text.replace(", ", ",\n") for text in (record.definition, definition))
        _add_diff(review, "the definition", *fields)
    printed: set[str] = set()
    entries = _list_entries(content)
    old_roots = resolve_roots(record, content.project)
    for root in dict.fromkeys((*old_roots, *content.snapshots)):
        copy = resolve_copy_path(old_copy, old_roots.index(root), root) if root in old_roots else ""
        trusted, current = _read_copy(copy), content.snapshots.get(root)
        old_items, new_items = ({item.path: item for item in each.items} if each else {} for each in (trusted, current))
        for path in sorted({*old_items, *new_items}):
            old, new = old_items.get(path), new_items.get(path)
            if (old and (old.kind, old.data)) != (new and (new.kind, new.data)):
                printed.add(make_relative(_join(root, path), content.project))
                is_entry = _join(root, path) in entries
                _add_change(review, path or os.path.basename(root), old, new, is_entry=is_entry)
            elif new is not None and _join(root, path) in entries and _is_binary(new, is_entry=False):
                # It may not have been run before, and so not have been shown.
                _add_content(review, new, root, is_entry=True)
    now = dict(content.relative_files)
    for path, word in record.files:
        if now.get(path, word) != word and path not in printed:
            modes = " -> ".join(summary.split()[1] for summary in (word, now[path]))
            review.add(f"    mode changed: {reveal_text(path)} ({modes})", "yellow")


def _add_change(
    review: Review, name: str, old: SnapshotItem | None, new: SnapshotItem | None, *, is_entry: bool
) -> None:
    change = "added" if old is None else "removed" if new is None else "changed"
    review.add(f"    {change}: {reveal_text(name)}", "yellow")
    if any(item is not None and _is_binary(item, is_entry=is_entry) for item in (old, new)):
        review.add(f"      binary before: {_identify_bytes(old)}", "bold yellow")
        review.add(f"      binary now:    {_identify_bytes(new)}", "bold yellow")
        if new is not None and not _is_binary(new, is_entry=is_entry):
            review.add_text(name, [(f"+{line}", "green") for line in _split_lines(_decode_item(new))])
        return
    _add_diff(review, name, *(_decode_item(item) if item is not None else "" for item in (old, new)))


def _read_copy(root: str) -> Snapshot | None:
    try:
        return read_snapshot(root) if root else None
    except SnapshotError:
        return None


def _add_diff(review: Review, name: str, old: str, new: str) -> None:
    old_lines, new_lines = _split_lines(old), _split_lines(new)
    if max(len(old_lines), len(new_lines)) > _MAX_DIFF_LINES:
        review.add("      too long to compare; these are its lines now:", "yellow")
        review.add_text(name, [(f"| {line}", "") for line in new_lines])
        return
    names, styles = (f"{name} (trusted)", f"{name} (now)"), {"+": "green", "-": "red"}
    lines = difflib.unified_diff(old_lines, new_lines, *names, lineterm="")
    review.add_text(name, [(line, styles.get(line[:1], "")) for line in lines])


def _split_lines(text: str) -> list[str]:
    """Split at line feeds alone, as a shell does; Python would see line ends that are none."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _is_binary(item: SnapshotItem, *, is_entry: bool) -> bool:
    data = item.data
    if is_entry:
        # A shell reads everything else as text.
        return bool(item.mode & 0o111) and data.startswith(BINARIES)
    if item.kind != FILE or b"\0" not in data or data.startswith(b"#!") or _TEXT_NAME.fullmatch(item.path):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return len(data.translate(None, _TEXT_BYTES)) > _BINARY_SHARE * len(data)
    return False


def _decode_item(item: SnapshotItem) -> str:
    return item.data.decode("utf-8", "backslashreplace")
