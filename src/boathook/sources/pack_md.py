"""PACK.md: what a pack says about itself, which hooks it has and which of them are on by default."""

from __future__ import annotations

import os
from typing import Any

from boathook.core.hook import ERROR, PROJECT, WARNING, Diagnostic
from boathook.core.value import Value
from boathook.sources.fields import PACK_MD_FIELDS, YAML_PAIR, FieldChecker
from boathook.sources.hook_md.folder import find_link_outside
from boathook.sources.hook_md.frontmatter import FrontmatterError, read_frontmatter
from boathook.sources.hook_md.manifest import read_values
from boathook.system.files import FileError, read_text

PACK_MANIFEST = "PACK.md"
MAX_PACK_BYTES = 64 * 1024


class PackManifest(Value):
    """What PACK.md says. Without a readable one, `is_readable` is false, and nothing is known about the hooks."""

    name: str
    description: str = ""
    version: str = ""
    hooks: tuple[str, ...] = ()
    default: tuple[str, ...] = ()
    is_readable: bool = True
    diagnostics: tuple[Diagnostic, ...] = ()

    def has_on(self, hook: str) -> bool:
        """Whether a hook is on by default; if nobody can know, it is, because a guard too many does less harm than none."""
        return hook in self.default if self.is_readable else True


def read_pack_manifest(folder: str, scope: str, project: str = "") -> PackManifest:
    """Read the PACK.md of a pack; it must be in the project, if that is its scope. One that cannot be read has an error."""
    path = f"{folder}/{PACK_MANIFEST}"
    try:
        if scope == PROJECT and os.path.lexists(path) and (reason := find_link_outside(path, project)):
            raise FileError(reason)
        return parse_pack_manifest(read_text(path, MAX_PACK_BYTES), path, scope)
    except FileError as error:
        fix = "write one, or add the pack again"
        problem = Diagnostic(path, None, "", ERROR, f"{PACK_MANIFEST} {error}; all its hooks count as on", fix)
        return PackManifest(folder.rpartition("/")[2], is_readable=False, diagnostics=(problem,))


def parse_pack_manifest(text: str, path: str, scope: str) -> PackManifest:
    """Return what the text of a PACK.md says. Never raises an exception."""
    name = path.split("/")[-2]
    checker = FieldChecker(path, scope, YAML_PAIR, {"name": name})
    values: dict[str, Any] = {}
    try:
        frontmatter = read_frontmatter(text)
    except FrontmatterError as error:
        checker.refuse("", error.message, error.fix, error.line)
    else:
        for line, message, fix in frontmatter.forgiven:
            checker.report(WARNING, "", message, fix, line)
        values = checker.check(PACK_MD_FIELDS, read_values(frontmatter.top, PACK_MD_FIELDS, checker.lines))
    if checker.refusal is not None:
        return PackManifest(name, is_readable=False, diagnostics=tuple(checker.diagnostics))
    hooks = tuple(dict.fromkeys(values["hooks"]))
    default = tuple(values.get("default", hooks))
    for hook in default:
        if hook not in hooks:
            fix = checker.suggest(hook, hooks)
            checker.report(ERROR, "default", f"'default' names '{hook}', which is not in 'hooks'", fix)
    if values.get("name", name) != name:
        message = f"name '{values['name']}' differs from its folder '{name}'"
        checker.report(WARNING, "name", message, "rename the folder, or change 'name'")
    texts = (str(values.get("description", "")), str(values.get("version", "")))
    return PackManifest(name, *texts, hooks, default, diagnostics=tuple(checker.diagnostics))
