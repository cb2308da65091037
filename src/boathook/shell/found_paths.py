"""Paths that a program finds or lists: where it begins, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from boathook.core.value import Value


class FindFilters(Value):
    """What a program looks for: patterns of names and of whole paths, each "any of them"; and how deep."""

    # `narrowing` are patterns of whole paths, all of which must match: those of filters behind it in a pipe.
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    max_depth: int = 1 << 30
    is_empty: bool = False
    skips_hidden: bool = False
    finds_folders: bool = True
    narrowing: tuple[str, ...] = ()
    # Whether it also chooses by age, size, owner, content or the like.
    is_selective: bool = False


class FoundPath(str):
    """A path that a program finds below the path that this is."""

    __slots__ = ("filters",)
    filters: FindFilters

    @classmethod
    def make(cls, start: str, filters: FindFilters) -> FoundPath:
        path = cls(start)
        path.filters = filters
        return path


class QuotedName(str):
    """A word whose `*`, `?` and `[` are all in quotes: they are a part of a name, and no pattern."""

    __slots__ = ()


class ListedName(str):
    """A path in a folder of which a program prints the name alone; it is kept whole, because the text may go there."""

    __slots__ = ()


def narrow_path(path: str, pattern: str) -> str:
    """Return a path of which only what matches a pattern is passed on."""
    if not isinstance(path, FoundPath):
        return path
    return FoundPath.make(path, path.filters.replace(narrowing=(*path.filters.narrowing, pattern)))


def surround_path(path: str, prefix: str, suffix: str) -> str:
    """Return a path with text before and behind it, as in `"$f.bak"`."""
    if isinstance(path, ListedName) and prefix.endswith("/"):
        return f"{prefix}{path.rpartition('/')[2]}{suffix}"
    if not isinstance(path, FoundPath):
        return f"{prefix}{path}{suffix}"
    # What is found from the root on may be printed from the folder on.
    start = prefix if prefix.endswith("/") and path.startswith("/") else prefix + path
    filters = path.filters
    if suffix:
        ends = (*(f"*/{name}" for name in filters.names), *filters.paths) or ("*",)
        filters = filters.replace(
            names=(), paths=tuple(end + suffix for end in ends), narrowing=(), finds_folders=True, max_depth=1 << 30
        )
    return FoundPath.make(start, filters)


def remove_prefix_of_path(path: str, prefix: str) -> str:
    rest = path.removeprefix(prefix)
    return FoundPath.make(rest, path.filters) if isinstance(path, FoundPath) else rest


_MAX_PLACED = 64
# In a text for a shell, what is found is in a variable of this name.
FOUND_VARIABLE = "_found_path"


def place_paths(command: list[str], paths: Sequence[str], *, appends: bool = True) -> tuple[str, ...]:
    """Return a command with paths in place of `{}`, or behind it if it has no such place."""
    if not any("{}" in word or word == "%" for word in command):
        return (*command, *paths) if appends else (*command,)
    placed: list[str] = []
    for word in command:
        if "{}" not in word and word != "%":
            placed.append(word)
        elif " " in word:
            placed.append(_place_in_text(word, paths))
        else:
            prefix, _, suffix = word.partition("{}" if "{}" in word else "%")
            placed += [surround_path(path, prefix, suffix) for path in paths]
    return tuple(placed)


def _place_in_text(text: str, paths: Sequence[str]) -> str:
    """Return a shell text with paths in place of `{}`, once for each of them."""
    if any(isinstance(path, FoundPath) or "\0" in path for path in paths):
        return text.replace("{}", f"${FOUND_VARIABLE}")
    return "\n".join(text.replace("{}", path) for path in paths[:_MAX_PLACED])
