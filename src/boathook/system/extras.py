"""How to add an optional part of boathook, by the program that installed it."""

from __future__ import annotations

import os
import re
import shlex
import sys


def suggest_packages(extra: str) -> str:
    """Return the command that installs the packages of an extra, also if boathook itself is not from an index.

    pipx and uv keep boathook in an environment of its own.
    """
    requirements = " ".join(map(shlex.quote, _list_requirements(extra)))
    if os.path.exists(f"{sys.prefix}/pipx_metadata.json"):
        # The extra itself does not work there, because pipx injects nothing that is installed already.
        return f"pipx inject {os.path.basename(sys.prefix)} {requirements}"
    if os.path.exists(f"{sys.prefix}/uv-receipt.toml"):
        return f"uv pip install --python {shlex.quote(sys.executable)} {requirements}"
    return f"{shlex.quote(sys.executable)} -m pip install {requirements}"


def _list_requirements(extra: str) -> list[str]:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("boathook") or []
    except PackageNotFoundError:
        lines = []
    marker = re.compile(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]")
    found = [line.partition(";")[0].strip() for line in lines if marker.search(line)]
    return found or [f"boathook[{extra}]"]
