"""Arguments as hooks see them: read-only all the way down. The tool gets its own objects, not these."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

_MAX_DEPTH = 200
_FIX = "arguments are read-only: return context.replace(args={**context.args, …}) instead"


def _refuse(*_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError(_FIX)


class ReadOnlyDict(dict[str, Any]):
    """A dict that cannot be changed; `source` is the object that it is a copy of, if it is inside of another."""

    __slots__ = ("source",)
    source: Any

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        copy: dict[str, Any] = _copy_plain(self, memo)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse  # pyright: ignore[reportAssignmentType]


class ReadOnlyList(list[Any]):
    """A list that cannot be changed; `source` is the object that it is a copy of."""

    __slots__ = ("source",)
    source: Any

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        copy: list[Any] = _copy_plain(self, memo)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # pyright: ignore[reportAssignmentType]
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse  # pyright: ignore[reportAssignmentType]


class ReadOnlySet(frozenset[Any]):
    """A set that cannot be changed; `source` is the object that it is a copy of."""

    __slots__ = ("source",)
    source: Any

    def __deepcopy__(self, memo: dict[int, Any]) -> set[Any]:
        return set(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return set, (list(self),)


class ReadOnlyDeque(deque[Any]):
    """A deque that cannot be changed; `source` is the object that it is a copy of."""

    source: Any

    def __deepcopy__(self, memo: dict[int, Any]) -> deque[Any]:
        copy: deque[Any] = _copy_plain(self, memo)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return deque, (list(self), self.maxlen)

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # pyright: ignore[reportAssignmentType]
    append = appendleft = clear = extend = extendleft = insert = _refuse  # pyright: ignore[reportAssignmentType]
    pop = popleft = remove = reverse = rotate = _refuse  # pyright: ignore[reportAssignmentType]


class ReadOnlyBytes(bytes):
    """The bytes of a bytearray; `source` is the object that they are a copy of."""

    source: Any

    def __deepcopy__(self, memo: dict[int, Any]) -> bytearray:
        return bytearray(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return bytearray, (bytes(self),)


_SCALARS = frozenset((str, int, float, bool, type(None)))
_READ_ONLY = (ReadOnlyDict, ReadOnlyList, ReadOnlySet, ReadOnlyDeque, ReadOnlyBytes)


def freeze_arguments(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return arguments that hooks cannot change: the containers of Python in them are read-only copies.

    Objects of other types are the tool's own: a copy of one need not work, and threads may share one that changes rightly.
    """
    if type(args) is dict and _SCALARS.issuperset(map(type, args.values())):
        return ReadOnlyDict(args)
    frozen: Mapping[str, Any] = _freeze(args, {}, 0)
    return frozen


def thaw_arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments for the tool: its own objects where hooks changed nothing, plain copies elsewhere."""
    if _SCALARS.issuperset(map(type, args.values())):
        return dict(args)
    return {key: _thaw(value) for key, value in args.items()}


def _freeze(value: Any, known: dict[int, Any], depth: int) -> Any:
    if value is None or isinstance(value, (str, int, float, *_READ_ONLY)) or depth > _MAX_DEPTH:
        return value
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, Mapping):
        mapping = known[id(value)] = ReadOnlyDict()
        mapping.source = value
        for key, item in value.items():
            dict.__setitem__(mapping, key, _freeze(item, known, depth + 1))
        return mapping
    if isinstance(value, list):
        items = known[id(value)] = ReadOnlyList()
        items.source = value
        for item in value:
            list.append(items, _freeze(item, known, depth + 1))
        return items
    if isinstance(value, set):
        members = known[id(value)] = ReadOnlySet(value)
        members.source = value
        return members
    return _freeze_sequence(value, known, depth)


def _freeze_sequence(value: Any, known: dict[int, Any], depth: int) -> Any:
    if isinstance(value, deque):
        queue = known[id(value)] = ReadOnlyDeque((), value.maxlen)
        queue.source = value
        deque.extend(queue, (_freeze(item, known, depth + 1) for item in value))
        return queue
    if isinstance(value, bytearray):
        data = known[id(value)] = ReadOnlyBytes(value)
        data.source = value
        return data
    return _map_tuple(lambda item: _freeze(item, known, depth + 1), value)


def _map_tuple(function: Callable[[Any], Any], value: Any) -> Any:
    """Return a tuple or named tuple with a function applied to its items, if that changes any; other values as they are."""
    is_named = isinstance(value, tuple) and hasattr(type(value), "_make")
    if not is_named and type(value) is not tuple:
        return value
    items = tuple(map(function, value))
    if all(item is before for item, before in zip(items, value, strict=True)):
        return value
    # Not `_make`, which a class may have replaced.
    return tuple.__new__(type(value), items)


def _thaw(value: Any) -> Any:
    if isinstance(value, _READ_ONLY):
        # Somebody may have changed the tool's own object after the hooks saw it; then they decided about the copy.
        source = getattr(value, "source", None)
        return source if source is not None and _is_same(source, value) else _copy_plain(value, {})
    return _map_tuple(_thaw, value)


def _is_same(source: Any, copy: Any) -> bool:
    try:
        return bool(source == copy)
    except Exception:  # noqa: BLE001  (objects may refuse to be compared)
        return False


def _copy_plain(value: Any, known: dict[int, Any]) -> Any:
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, ReadOnlyDict):
        mapping: dict[Any, Any] = {}
        known[id(value)] = mapping
        mapping.update((key, _copy_plain(item, known)) for key, item in value.items())
        return mapping
    if isinstance(value, ReadOnlyList):
        items: list[Any] = []
        known[id(value)] = items
        items.extend(_copy_plain(item, known) for item in value)
        return items
    if isinstance(value, ReadOnlyDeque):
        queue: deque[Any] = deque(maxlen=value.maxlen)
        known[id(value)] = queue
        queue.extend(_copy_plain(item, known) for item in value)
        return queue
    if isinstance(value, ReadOnlySet | ReadOnlyBytes):
        return set(value) if isinstance(value, ReadOnlySet) else bytearray(value)
    return _map_tuple(lambda item: _copy_plain(item, known), value)
