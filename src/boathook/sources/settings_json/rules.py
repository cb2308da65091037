"""The `if` of a settings.json hook: a permission rule such as `Bash(git *)` or `Edit(src/**)`, read as a matcher.

Claude Code takes shell commands apart before it compares them. Here a rule is searched instead, generously: a hook may run
where Claude Code would have spared it, never the other way round.
"""

from __future__ import annotations

import re

from boathook.core.matcher import Pattern, compile_names, compile_pattern
from boathook.core.value import Value
from boathook.errors import ConfigError

RULE = re.compile(r"([A-Za-z0-9_*-]+)\s*(?:\((.*)\))?", re.DOTALL)
SPACES = " \t\r\n"
LONGEST = 2000  # characters of a rule; RE2 complains aloud about patterns beyond all measure
COMMAND_TOOLS = ("Bash", "PowerShell")
PATH_TOOLS = ("Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "NotebookRead", "Glob", "Grep", "LS")
ALIASES = {
    "Read": ("Read", "NotebookRead", "Grep", "Glob", "LS"),
    "Edit": ("Edit", "MultiEdit", "Write", "NotebookEdit"),
    "Agent": ("Agent", "Task"),
    "Task": ("Agent", "Task"),
}
SERVER = re.compile(r"mcp__(?:(?!__).)+")
BOUNDARY = r"(?:^|[\s;&|(){}`'\"$=/])"
PARAMETER = re.compile(
    r"(?!domain:)[A-Za-z_]+:(?!\*)"
)  # model:opus: a rule about a parameter, which is not searched for
UNKNOWN_NAME = r"(?:^|[;&|(){}`\n])\s*[\"']?\$"  # a command whose name only the shell will know
UNKNOWN_WORD = r"[$`]"
ANYTHING, GAP = r"(?s:.*)", r"[\s\\]+"
PIECES = re.compile(r"(\*\*/?)|(\*|\{[^}/]*\})|(\?|\[[^\]/]*\])|([^*?\[{]+|.)", re.DOTALL)


class Rule(Value):
    """A rule: the tools it is about, as names (none if they cannot be listed) and as a pattern, and what their input holds."""

    tools: tuple[str, ...]
    tool: Pattern | None
    pattern: Pattern | None


def read_rule(text: str) -> Rule | None:
    """Read a rule; None if it is none."""
    found = RULE.fullmatch(text.strip(SPACES))
    if found is None or len(text) > LONGEST:
        return None
    name, inner = found.group(1), (found.group(2) or "").strip(SPACES)
    try:
        narrow = inner not in ("", "*", "**") and not PARAMETER.match(inner)
        pattern = compile_pattern(_inner(name, inner)) if narrow else None
        if "*" in name or SERVER.fullmatch(name):
            return Rule((), compile_pattern(f"^{_glob(name, star='.*')}{'' if '*' in name else '(?:__.*)?'}$"), pattern)
        tools = ALIASES.get(name, (name,))
        return Rule(tools, compile_names("|".join(tools)), pattern)
    except ConfigError:
        return None


def _inner(name: str, text: str) -> str:
    if name in COMMAND_TOOLS:
        return _command(_opened(text))
    if text.startswith("domain:"):
        return _glob(text.removeprefix("domain:"), star=".*")
    if name in PATH_TOOLS:
        return _path(text)
    return f"^/?{_glob(_opened(text), star=ANYTHING)}{'' if text.endswith('*') else '$'}"


def _opened(text: str) -> str:
    """Take the star off the end: what is searched need not end there."""
    return text.replace(":*", "*").rstrip("* ")


def _command(text: str) -> str:
    """Return the pattern of a command: found wherever one may begin, or where only the shell will know what it is."""
    words = (_glob(word, star=ANYTHING) for word in re.split(" +", text))
    unknown = UNKNOWN_WORD if " " in text else UNKNOWN_NAME
    return f"{BOUNDARY}{GAP.join(words)}|{unknown}"


def _glob(text: str, star: str) -> str:
    return star.join(re.escape(part) for part in text.split("*"))


def _path(text: str) -> str:
    """Return the pattern of a path rule: found at the end of a path, or as a folder on the way."""
    plain = re.sub(r"^(?:(?:~|\.\.?)?/+)+", "", text).rstrip("/")
    plain = re.sub(r"(?s)\\([^/])", "?", plain).replace("\\/", "/")  # an escaped character: any one will do
    return f"(?i:(?:^|/){PIECES.sub(_piece, plain)}(?:/|$))"


def _piece(found: re.Match[str]) -> str:
    deep, some, one, plain = found.groups()
    return ANYTHING if deep else "[^/]*" if some else "[^/]" if one else re.escape(plain)
