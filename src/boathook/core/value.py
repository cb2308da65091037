"""Frozen values with named fields, without the import cost of `dataclasses`: see docs/adr/0002-few-imports-in-run.md."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_):
        return lambda cls: cls


@dataclass_transform(frozen_default=True)
class Value:
    """Base of immutable records: positional or keyword fields, equality by value, `replace`."""

    __slots__ = ()
    FIELDS: tuple[str, ...] = ()
    _names: frozenset[str] = frozenset()
    _defaults: dict[str, Any] = {}  # noqa: RUF012  (never changed after the class exists)

    def __init_subclass__(cls) -> None:
        own = tuple(name for name in cls.__annotations__ if not name.startswith("_"))
        cls.FIELDS += own
        cls._names = frozenset(cls.FIELDS)
        cls._defaults = {**cls._defaults, **{n: cls.__dict__[n] for n in own if n in cls.__dict__}}

    if not TYPE_CHECKING:

        def __init__(self, *args, **kwargs):
            names, values = self.FIELDS, self.__dict__
            if len(args) != len(names):
                values.update(self._defaults)
            values.update(zip(names, args, strict=False))
            if kwargs:
                values.update(kwargs)
                self._check(args, kwargs)
            elif len(values) != len(names) or len(args) > len(names):
                self._check(args, kwargs)

        def _check(self, args, kwargs):
            names, what = self.FIELDS, type(self).__name__
            if len(args) > len(names):
                raise TypeError(f"{what} takes {len(names)} fields, {len(args)} given")
            if not kwargs.keys() <= self._names:
                raise TypeError(f"{what} has no field '{min(kwargs.keys() - self._names)}'")
            if args and (twice := kwargs.keys() & names[: len(args)]):
                raise TypeError(f"{what} was given the field '{min(twice)}' twice")
            if len(self.__dict__) != len(names):
                missing = [name for name in names if name not in self.__dict__]
                raise TypeError(f"{what} needs the field '{missing[0]}'")

        def __setattr__(self, name, value):
            raise AttributeError(f"{type(self).__name__} is frozen; use replace({name}=…)")

        def __delattr__(self, name):
            raise AttributeError(f"{type(self).__name__} is frozen")

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed."""
        values = self.to_dict() | changes
        return type(self)(*values.values()) if len(values) == len(self.FIELDS) else type(self)(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {name: self.__dict__[name] for name in self.FIELDS}

    def to_tuple(self) -> tuple[Any, ...]:
        """Return the fields in order."""
        return tuple([self.__dict__[name] for name in self.FIELDS])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(self.__dict__[n] == other.__dict__[n] for n in self.FIELDS)

    def __hash__(self) -> int:
        return hash(self.to_tuple())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={self.__dict__[n]!r}' for n in self.FIELDS)})"
