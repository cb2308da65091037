"""Whether a path that a call changes is a protected place, in one, or holds one; patterns count as what they may be."""

from __future__ import annotations

import re

from boathook.core.disarm_prefilter import resolve_parents
from boathook.protection.file_view import FileView
from boathook.protection.protection import ProtectedPlace, Protection
from boathook.shell.arguments import UNKNOWN
from boathook.shell.found_paths import FindFilters, FoundPath
from boathook.shell.path_change import CREATE, OVERLAY, TREE, PathChange

_PATTERN_SIGNS = frozenset("*?[")
_MAX_LINKS = 8
# A name with unknown parts says something only if so much of it is known.
_MIN_KNOWN_CHARS = 3


class PlaceFinder:
    """Finds the protected place that a change concerns."""

    def __init__(self, protection: Protection, view: FileView, *, matches_hidden: bool = False) -> None:
        self._protection, self._view, self._matches_hidden = protection, view, matches_hidden
        self._places = [(place, split_path(place.path)) for place in protection.places]
        self._roots = [split_path(root) for root in protection.roots]
        # Paths that are nowhere protected, so that a word that is repeated is judged once.
        self._free: set[tuple[str, str, bool]] = set()

    def find(self, change: PathChange, absolute: str, links: dict[str, str]) -> ProtectedPlace | None:
        if isinstance(change.path, FoundPath):
            return self._find_found(change.path, absolute, change.way, links)
        if links or change.way == OVERLAY:
            return self._find_changed_place(change, absolute, links)
        key = (absolute, change.way, change.takes_link)
        place = None if key in self._free else self._find_changed_place(change, absolute, links)
        if place is None:
            self._free.add(key)
        return place

    def _find_changed_place(self, change: PathChange, absolute: str, links: dict[str, str]) -> ProtectedPlace | None:
        for path in self._list_forms(absolute, links, follows_last=not change.takes_link):
            place = self._find_by_parts(split_path(path), change.way)
            if place is not None:
                return place
        if change.way == OVERLAY and change.source and UNKNOWN not in change.source:
            return self._find_overlaid(change, absolute)
        return None

    def find_named_place(self, absolute: str, links: dict[str, str]) -> ProtectedPlace | None:
        """Return the place that a path is, is in, or that is in it, unless it is a whole project or home folder."""
        for path in self._list_forms(absolute, links, follows_last=True):
            place = self._find_by_parts(split_path(path), OVERLAY)
            if place is not None:
                return place
        return None

    def _list_forms(self, path: str, links: dict[str, str], *, follows_last: bool) -> list[str]:
        """Return a path as it is written, through links that the same text makes, and through those on the disk."""
        forms = _follow_text_links(normalize_path(path), links, follows_last=follows_last)
        # A program may cut `..` out of the text, or leave it to the system.
        if "/.." in path and path.startswith("/"):
            resolved = resolve_parents(path, lambda above: self._find_real_folder(above, links))
            forms += _follow_text_links(resolved, links, follows_last=follows_last)
        for form in [*forms]:
            at = next(
                (index for index, sign in enumerate(form) if sign in _PATTERN_SIGNS or sign == UNKNOWN), len(form)
            )
            known, rest = form[:at], form[at:]
            if rest or not follows_last:
                folder, _, name = known.rpartition("/")
                real = self._view.find_real(folder or "/").rstrip("/") + f"/{name}"
            else:
                real = self._view.find_real(known)
            forms.append(real + rest)
        return list(dict.fromkeys(forms))

    def _find_real_folder(self, path: str, links: dict[str, str]) -> str:
        return self._view.find_real(_follow_text_links(path, links, follows_last=True)[-1])

    def _find_by_parts(self, parts: list[str], way: str) -> ProtectedPlace | None:
        if not parts:
            return self._find_any(way)
        if parts[0] == UNKNOWN:
            tail = [part for part in parts if part != UNKNOWN]
            return self._find_by_tail(tail, way) if tail else None
        for place, place_parts in self._places:
            relation = self._compare(parts, place_parts)
            if relation == "inside" or (relation == "same" and way != CREATE):
                return place
            if relation == "above" and (
                way == TREE or (way == OVERLAY and self._is_below_root(len(parts), place_parts))
            ):
                return place
        return None

    def _find_any(self, way: str) -> ProtectedPlace | None:
        """The root of the file system holds every place."""
        return self._protection.places[0] if way == TREE and self._protection.places else None

    def _compare(self, parts: list[str], place: list[str]) -> str:
        if "**" in parts:
            return self._compare_deep(parts, place)
        for part, name in zip(parts, place, strict=False):
            if not match_name(part, name, matches_hidden=self._matches_hidden):
                return ""
        if len(parts) == len(place):
            return "same"
        return "inside" if len(parts) > len(place) else "above"

    def _compare_deep(self, parts: list[str], place: list[str]) -> str:
        """Compare with a pattern in which `**` is any number of folders that are not hidden."""
        at = parts.index("**")
        if len(place) < at:
            return self._compare(parts[:at], place) and "inside"
        if self._compare(parts[:at], place[:at]) != "same":
            return ""
        rest = parts[at + 1 :]
        for end in range(at, len(place) + 1):
            if relation := self._compare([*place[:end], *rest], place):
                return "same" if relation == "above" else relation
            if end < len(place) and place[end].startswith(".") and not self._matches_hidden:
                return ""
        return ""

    def _is_below_root(self, count: int, place: list[str]) -> bool:
        """Whether the first parts of a place are more than the home folder or a project that it is in."""
        roots = [len(root) for root in self._roots if place[: len(root)] == root]
        return count > max(roots, default=0)

    def _find_by_tail(self, tail: list[str], way: str) -> ProtectedPlace | None:
        """Return the place that may be meant by the end of a path whose beginning is not known."""
        known = [part for part in tail if UNKNOWN not in part and _PATTERN_SIGNS.isdisjoint(part)]
        for place, parts in self._places:
            for start in range(len(parts)):
                rest = parts[start:]
                pairs = list(zip(tail, rest, strict=False))
                if not all(match_name(part, name, matches_hidden=True) for part, name in pairs):
                    continue
                is_deep = len(tail) >= len(rest) or way == TREE
                matched = [name for part, name in pairs if part in known]
                if is_deep and (len(matched) > 1 or any(_is_telling(name) for name in matched)):
                    return place
        return None

    def _find_overlaid(self, change: PathChange, absolute: str) -> ProtectedPlace | None:
        """Return the place that a copied folder would be put over, because it has something of the same name."""
        folder = absolute[: len(absolute) - len(change.path)] if absolute.endswith(change.path) else "/"
        source = change.source if change.source.startswith("/") else folder + change.source
        for form in self._list_forms(absolute, {}, follows_last=True):
            for place in self._protection.places:
                below = place.path.removeprefix(form.rstrip("/") + "/")
                if below != place.path and self._view.exists(f"{normalize_path(source)}/{below}"):
                    return place
        return None

    def _find_found(self, found: FoundPath, absolute: str, way: str, links: dict[str, str]) -> ProtectedPlace | None:
        """Return a place of which a program finds something."""
        if found.filters.is_empty or absolute.startswith(UNKNOWN):
            return None
        for start in self._list_forms(absolute, links, follows_last=True):
            start_parts = split_path(start)
            for place, place_parts in self._places:
                relation = self._compare(start_parts, place_parts)
                if relation and self._finds_part(found, start_parts, place_parts, relation, way):
                    return place
        return None

    def _finds_part(self, found: FoundPath, start: list[str], place: list[str], relation: str, way: str) -> bool:
        filters = found.filters
        below = [[*place, *split_path(path)] for path in self._view.list_below("/" + "/".join(place))]
        # A folder that holds the place counts only if all in it is changed with it.
        takes_folders = way == TREE and filters.finds_folders
        first = len(start) if takes_folders else len(place)
        candidates = [place[:count] for count in range(max(first, len(start)), len(place) + 1)]
        if below and not filters.finds_folders:
            candidates = []
        candidates += [parts for parts in below if len(parts) >= len(start)]
        is_start = relation != "above" or takes_folders
        if is_start and not filters.names and not filters.paths:
            candidates.append(start)
        for parts in candidates:
            if relation == "inside" and self._compare(start, parts) not in ("same", "above"):
                continue
            inner = parts[len(start) :]
            is_shown = not (filters.skips_hidden and any(part.startswith(".") for part in inner))
            if is_shown and len(inner) <= filters.max_depth and _is_found(parts, start, str(found), filters):
                return True
        return False


def _follow_text_links(path: str, links: dict[str, str], *, follows_last: bool) -> list[str]:
    """Return a normalized path, and where the links that the same text makes lead it."""
    forms = [path]
    for _ in range(_MAX_LINKS):
        link = next((one for one in links if f"{forms[-1]}/".startswith(f"{normalize_path(one)}/")), "")
        if not link or (forms[-1] == normalize_path(link) and not follows_last):
            break
        target = normalize_path(links[link] + forms[-1][len(normalize_path(link)) :])
        if target in forms:
            break
        forms.append(target)
    return forms


def _is_found(parts: list[str], start: list[str], written: str, filters: FindFilters) -> bool:
    shown = "/".join((written.rstrip("/"), *parts[len(start) :]))
    if not all(match_name(pattern, shown, matches_hidden=True) for pattern in filters.narrowing):
        return False
    if not filters.names and not filters.paths:
        return True
    if parts and any(match_name(pattern, parts[-1], matches_hidden=True) for pattern in filters.names):
        return True
    return any(match_name(pattern, shown, matches_hidden=True) for pattern in filters.paths)


def _is_telling(name: str) -> bool:
    return name.startswith(".") or "boathook" in name or name in ("hooks.toml", "trust.json", "installed.json")


def normalize_path(path: str) -> str:
    return "/" + "/".join(split_path(path)) if not path.startswith(UNKNOWN) else "/".join(split_path(path))


def split_path(path: str) -> list[str]:
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != UNKNOWN:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return parts


def match_name(pattern: str, name: str, *, matches_hidden: bool = False) -> bool:
    """Whether a name is one that a pattern may stand for; large and small letters are the same, as on some file systems."""
    if pattern == name:
        return True
    pattern, name = pattern.lower(), name.lower()
    if UNKNOWN in pattern:
        if pattern == UNKNOWN:
            return True
        if len(pattern.replace(UNKNOWN, "").strip("*?")) < _MIN_KNOWN_CHARS:
            return False
        pattern = pattern.replace(UNKNOWN, "*")
    if _PATTERN_SIGNS.isdisjoint(pattern):
        return pattern == name
    if name.startswith(".") and pattern[0] in "*?" and not matches_hidden:
        return False
    return _match_pattern(_read_pattern(pattern), name)


_ANY_TEXT = None


def _read_pattern(pattern: str) -> list[str | None]:
    """Return the steps of a pattern: None for any text, else the signs of which one must be there ("" for any sign)."""
    steps: list[str | None] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        end = pattern.find("]", at + 2) if sign == "[" else -1
        if sign == "*":
            if steps[-1:] != [_ANY_TEXT]:
                steps.append(_ANY_TEXT)
        elif sign == "?":
            steps.append("")
        elif end > 0:
            steps.append(_read_class(pattern[at + 1 : end]))
            at = end
        else:
            steps.append(sign)
        at += 1
    return steps


def _read_class(inner: str) -> str:
    # A range, a named class or a negated one may be any sign.
    return "" if re.search(r"[!^:\-]", inner) else inner


def _match_pattern(steps: list[str | None], name: str) -> bool:
    at = step = 0
    last_any, last_at = -1, 0
    while at < len(name):
        if step < len(steps) and steps[step] is _ANY_TEXT:
            last_any, last_at = step, at
            step += 1
        elif step < len(steps) and (steps[step] == "" or name[at] in (steps[step] or "")):
            step += 1
            at += 1
        elif last_any >= 0:
            last_at += 1
            step, at = last_any + 1, last_at
        else:
            return False
    return all(one is _ANY_TEXT for one in steps[step:])
