"""Read the variables that a shell file exports (`export`, `declare -x`, `typeset -x`, plain assignments), without a shell."""

from __future__ import annotations

from boathook.core.shell import ShellReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from boathook.core.shell import ShellCommand

MAX_IGNORED_STATEMENTS = 1000
# Variables may add so many characters: a file that doubles one again and again would fill the memory.
MAX_EXPANDED_CHARS = 64 * 1024
_STATEMENT_ENDS = ("\n", ";", "")
_DECLARATIONS = (["export"], ["declare", "-x"], ["typeset", "-x"])


def read_exports(text: str, environment: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    exported: dict[str, str] = {}
    ignored: list[str] = []
    known = dict(environment)
    expanded_chars = 0

    def look_up(name: str) -> str | None:
        nonlocal expanded_chars
        value = known.get(name, "")
        expanded_chars += len(value)
        return value if expanded_chars <= MAX_EXPANDED_CHARS else None

    reader = ShellReader(text, look_up, strict=True)
    while len(ignored) < MAX_IGNORED_STATEMENTS and (command := reader.read_command()):
        assigned = _read_assignments(command)
        if assigned is None:
            end = _find_line_end(text, command.start)
            ignored.append(text[command.start : min(end, command.start + 1000)].strip()[:200])
            reader.position = end
        else:
            exported |= assigned
            known |= assigned
    return exported, tuple(ignored)


def _read_assignments(command: ShellCommand) -> dict[str, str] | None:
    if not command.is_clear or command.redirections or command.operator not in _STATEMENT_ENDS:
        return None
    words = command.words
    if words and "=" not in words[0].raw:
        first_words = [word.raw for word in words[:2]]
        words = words[next((len(each) for each in _DECLARATIONS if first_words[: len(each)] == each), 0) :]
    assigned: dict[str, str] = {}
    for word in words:
        name, equals, value = word.raw.partition("=")
        if not equals or not word.is_known or not name.isidentifier() or not name.isascii():
            return None
        assigned[name] = value if word.raw is word.text else word.text[len(name) + 1 :]
    return assigned


def _find_line_end(text: str, start: int) -> int:
    while (end := text.find("\n", start)) > 0 and text[end - 1] == "\\":
        start = end + 1
    return len(text) if end < 0 else end
