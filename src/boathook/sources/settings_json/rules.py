"""The `if` of a settings.json hook, such as `Bash(git *)`, as a matcher: it may match more than in Claude Code, never less."""

from __future__ import annotations

import re
from functools import lru_cache

from boathook.core.matcher import Pattern, compile_names, compile_pattern
from boathook.core.value import Value
from boathook.errors import ConfigError

_RULE = re.compile(r"([A-Za-z0-9_*-]+)\s*(?:\((.*)\))?", re.DOTALL)
_SPACES = " \t\r\n"
# RE2 writes to stderr about patterns that are much larger.
MAX_RULE_CHARS = 2000
_COMMAND_TOOLS = ("Bash", "PowerShell")
_READ_TOOLS, _EDIT_TOOLS = (
    ("Read", "NotebookRead", "Grep", "Glob", "LS"),
    ("Edit", "MultiEdit", "Write", "NotebookEdit"),
)
_PATH_TOOLS = (*_READ_TOOLS, *_EDIT_TOOLS)
_ALIASES = {"Read": _READ_TOOLS, "Edit": _EDIT_TOOLS, **dict.fromkeys(("Agent", "Task"), ("Agent", "Task"))}
_SERVER = re.compile(r"mcp__(?:(?!__).)+")
_BOUNDARY = r"(?:^|[\s;&|(){}`'\"$=/])"
# A rule about a parameter, such as model:opus; it is not searched for.
_PARAMETER = re.compile(r"(?!domain:)[A-Za-z_]+:(?!\*)")
# A command whose name only the shell knows.
_UNKNOWN_NAME = r"(?:^|[;&|(){}`\n])\s*[\"']?\$"
_UNKNOWN_WORD = r"[$`]"
_ANYTHING, _GAP = r"(?s:.*)", r"[\s\\]+"
_PIECES = re.compile(r"(\*\*/?)|(\*|\{[^}/]*\})|(\?|\[[^\]/]*\])|([^*?\[{]+|.)", re.DOTALL)


class PermissionRule(Value):
    """The tools of a rule, as names (none if they cannot be listed) and as a pattern, and a pattern for their input."""

    tools: tuple[str, ...]
    tool: Pattern | None
    pattern: Pattern | None


def read_rule(text: str) -> PermissionRule | None:
    match = _RULE.fullmatch(text.strip(_SPACES))
    if match is None or len(text) > MAX_RULE_CHARS:
        return None
    name, inner = match.group(1), (match.group(2) or "").strip(_SPACES)
    try:
        is_narrow = inner not in ("", "*", "**") and not _PARAMETER.match(inner)
        pattern = compile_pattern(_build_pattern(name, inner)) if is_narrow else None
        if "*" in name or _SERVER.fullmatch(name):
            tool = f"^{_build_glob(name, star='.*')}{'' if '*' in name else '(?:__.*)?'}$"
            return PermissionRule((), compile_pattern(tool), pattern)
        tools = _ALIASES.get(name, (name,))
        return PermissionRule(tools, _compile_tools(tools), pattern)
    except ConfigError:
        return None


# Most rules of a file are about the same few tools.
@lru_cache(maxsize=64)
def _compile_tools(names: tuple[str, ...]) -> Pattern | None:
    return compile_names("|".join(names))


def _build_pattern(name: str, text: str) -> str:
    if name in _COMMAND_TOOLS:
        return _build_command_pattern(_remove_final_star(text))
    if text.startswith("domain:"):
        return _build_glob(text.removeprefix("domain:"), star=".*")
    if name in _PATH_TOOLS:
        return _build_path_pattern(text)
    return f"^/?{_build_glob(_remove_final_star(text), star=_ANYTHING)}{'' if text.endswith('*') else '$'}"


def _remove_final_star(text: str) -> str:
    """Remove the star at the end: a searched text need not end there."""
    return text.replace(":*", "*").rstrip("* ")


def _build_command_pattern(text: str) -> str:
    """Return a pattern that is found wherever the command may begin, or where only the shell knows the command."""
    words = (_build_glob(word, star=_ANYTHING) for word in re.split(" +", text))
    unknown = _UNKNOWN_WORD if " " in text else _UNKNOWN_NAME
    return f"{_BOUNDARY}{_GAP.join(words)}|{unknown}"


def _build_glob(text: str, star: str) -> str:
    return star.join(re.escape(part) for part in text.split("*"))


def _build_path_pattern(text: str) -> str:
    """Return a pattern that is found at the end of a path, or as a folder in it."""
    plain = re.sub(r"^(?:(?:~|\.\.?)?/+)+", "", text).rstrip("/")
    # Any character is accepted for an escaped one.
    plain = re.sub(r"(?s)\\([^/])", "?", plain).replace("\\/", "/")
    return f"(?i:(?:^|/){_PIECES.sub(_convert_piece, plain)}(?:/|$))"


def _convert_piece(piece: re.Match[str]) -> str:
    deep, some, one, plain = piece.groups()
    return _ANYTHING if deep else "[^/]*" if some else "[^/]" if one else re.escape(plain)
