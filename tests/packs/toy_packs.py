"""Toy packs: folders of guards in Python, each with its own body."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.scratch_project import ScratchProject, make_manifest, write_script

PACK = "acme/guards"
SCRIPT = """\
#!/usr/bin/env python3
from boathook.guards import ask, block, run_guard
{imports}

def decide(call):
    {body}

if __name__ == "__main__":
    run_guard(decide)
"""
PASS = "return None"


def make_script(body: str, imports: str = "") -> str:
    return SCRIPT.format(imports=imports, body=body.replace("\n", "\n    "))


def write_pack(
    folder: Path,
    hooks: Mapping[str, str],
    *,
    default: list[str] | None = None,
    listed: list[str] | None = None,
    version: str = "1.0.0",
    lib: Mapping[str, str] | None = None,
    fields: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """Write a pack: `hooks` are whole scripts or bodies of `decide` by name, `fields` more fields of their manifests."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ", ".join([*hooks] if listed is None else listed)
    lines = [f"name: {folder.name}", "description: Toy guards", f"version: {version}", f"hooks: [{names}]"]
    lines += [f"default: [{', '.join(default)}]"] if default is not None else []
    (folder / "PACK.md").write_text("\n".join(["---", *lines, "---", "", "A toy.", ""]))
    for name, text in hooks.items():
        hook = folder / "hooks" / name
        hook.mkdir(parents=True, exist_ok=True)
        manifest = {"process": "shared", "timeout": 60_000, **(fields or {}).get(name, {})}
        (hook / "HOOK.md").write_text(make_manifest(name, **manifest))
        write_script(hook, text if text.startswith("#!") else make_script(text), "run.py")
    for name, text in (lib or {}).items():
        (folder / "lib").mkdir(exist_ok=True)
        (folder / "lib" / name).write_text(text)
    return folder


def find_pack(project: ScratchProject, scope: str = "user", name: str = PACK) -> Path:
    return project.hooks_folder(scope).parent / "packs" / name
