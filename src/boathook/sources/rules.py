"""The `if` of a settings.json hook: a permission rule such as `Bash(git *)` or `Edit(src/**)`, read as a matcher.

Claude Code takes shell commands apart before it compares them. Here a rule is searched instead, generously: a hook may run
where Claude Code would have spared it, never the other way round.
"""

from __future__ import annotations

import re

from boathook.core.matcher import Pattern, compile_names, compile_pattern
from boathook.core.value import Value
from boathook.errors import ConfigError

RULE = re.compile(r"\s*([A-Za-z0-9_*-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
COMMAND_TOOLS = ("Bash", "PowerShell")
ALIASES = {"Edit": ("Edit", "MultiEdit", "Write", "NotebookEdit"), "Bash": ("Bash",), "Agent": ("Agent", "Task")}
BOUNDARY = r"(?:^|[\s;&|(){}`'\"$=/])"


class Rule(Value):
    """A rule: the tools it is about, as names and as a pattern, and what their input must hold."""

    tools: tuple[str, ...]
    tool: Pattern | None
    pattern: Pattern | None


def read_rule(text: str) -> Rule | None:
    """Read a rule; None if it is none."""
    found = RULE.fullmatch(text)
    if found is None:
        return None
    name, inner = found.group(1), (found.group(2) or "").strip()
    tools = ALIASES.get(name, (name,))
    source = name.replace("*", ".*") if "*" in name else "|".join(tools)
    try:
        tool = compile_pattern(f"^{source}$") if "*" in name else compile_names(source)
        return Rule(tools, tool, compile_pattern(_inner(name, inner)) if inner not in ("", "*", "**") else None)
    except ConfigError:
        return None


def _inner(name: str, text: str) -> str:
    if name in COMMAND_TOOLS:
        return BOUNDARY + _glob(text.replace(":*", "*").rstrip("* "), star=r"(?s:.*)")
    if text.startswith("domain:"):
        return _glob(text.removeprefix("domain:"), star=".*")
    return _path(text)


def _glob(text: str, star: str) -> str:
    return star.join(re.escape(part) for part in text.split("*"))


def _path(text: str) -> str:
    """Give the pattern of a path rule: found at the end of a path, or as a folder on the way."""
    plain = re.sub(r"^(?:~|\.)?/+", "", text)
    parts = [_glob(part, star="[^/]*") for part in re.split(r"\*\*/?", plain)]
    return f"(?:^|/){'.*'.join(parts)}(?:/|$)"
