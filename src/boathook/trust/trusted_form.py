"""Restore a hook as it was trusted, from its private copy or its record: nothing of this comes from the project as it is now."""

from __future__ import annotations

import os

from boathook.core.approval import TrustRecord, resolve_copy_path
from boathook.core.event import KINDS, PRE_TOOL
from boathook.core.hook import ARMED, PROJECT, USER, Hook, HookHandler, Script
from boathook.dialects.dialect import find_hook_dialect
from boathook.sources.hook_md.folder import MANIFEST_NAMES
from boathook.sources.hook_md.manifest import parse_manifest
from boathook.sources.pack_folders import find_pack_name, name_pack_hook
from boathook.sources.pack_md import PACK_MANIFEST, PackManifest, read_pack_manifest
from boathook.sources.source import find_source
from boathook.sources.source_hooks import ReadHook
from boathook.system.files import FileError, read_text
from boathook.trust.store import TrustStore


def restore_folder_hook(store: TrustStore, record: TrustRecord, path: str, folder: str) -> ReadHook:
    """Return a HOOK.md hook as it was trusted. Without its copy, its event is that of the record, and everything matches."""
    copy = store.find_copy(record.digest)
    copied = resolve_copy_path(copy, 0, record.roots[0]) if copy and record.roots else ""
    # The manifest may have another one of its names by now, so the name that it has in the project does not count.
    for name in MANIFEST_NAMES if copied else ():
        try:
            text = read_text(f"{copied}/{name}")
        except FileError:
            continue
        trusted, written = parse_manifest(text, path=path, folder=folder, scope=PROJECT)
        if trusted.state == ARMED:
            return _restore_pack(trusted, copy, record), written
    return build_trusted_hook(record, path, Script(folder)).replace(pack=find_pack_name(folder)), frozenset()


def _restore_pack(hook: Hook, copy: str, record: TrustRecord) -> Hook:
    """Return a hook of a pack with what the pack said about it when it was trusted; any other hook as it is."""
    pack = find_pack_name(hook.folder)
    if not pack:
        return hook
    manifest = PackManifest(pack.rpartition("/")[2], is_readable=False)
    for index, root in enumerate(record.roots):
        if index and root.endswith(PACK_MANIFEST):
            manifest = read_pack_manifest(os.path.dirname(resolve_copy_path(copy, index, root)), USER)
    return name_pack_hook(hook, pack, manifest)


def build_trusted_hook(record: TrustRecord, path: str, handler: HookHandler) -> Hook:
    """Return a hook with what its record says: if its event is not known, it is that of all tool calls."""
    source = find_source(record.source)
    kind = next((kind for kind in KINDS if kind.name == record.event), PRE_TOOL)
    dialect = find_hook_dialect(source.dialect)
    together = source.runs_together
    return Hook(
        record.name, kind, kind.name, PROJECT, handler, path, dialect, source=source.name, runs_together=together
    )
