"""How inputs are made: mutations of seeds, and families that grow without end in one direction."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

LIMIT = 64 * 1024
COUNTER = b"{n}"


class Family(NamedTuple):
    """Inputs of any size: a head, one unit again and again (`{n}` in it counts), a tail."""

    name: str
    head: bytes
    unit: bytes
    tail: bytes = b""

    def of(self, size: int) -> bytes:
        """Give the input of about a size, never more."""
        room = size - len(self.head) - len(self.tail)
        if COUNTER not in self.unit:
            return self.head + self.unit * max(room // len(self.unit), 1) + self.tail
        parts, count = [], 0
        while room > 0:
            parts.append(self.unit.replace(COUNTER, b"%d" % count))
            room -= len(parts[-1])
            count += 1
        return self.head + b"".join(parts[: -1 if room < 0 else None]) + self.tail


Mutation = Callable[[bytes, bytes, Sequence[bytes], random.Random], bytes]


def mutate(data: bytes, other: bytes, words: Sequence[bytes], chance: random.Random, limit: int = LIMIT) -> bytes:
    """Change an input in one to four ways; `other` is an input to borrow from."""
    for _ in range(chance.randint(1, 4)):
        data = chance.choice(MUTATIONS)(data, other, words, chance)[:limit]
    return data


def _span(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randint(0, len(data))
    length = chance.choice((1, 2, 4, 8, 32, 256))
    return start, min(start + chance.randint(0, length), len(data))


def _insert(data: bytes, _: bytes, words: Sequence[bytes], chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + chance.choice(words) + data[at:]


def _replace(data: bytes, _: bytes, words: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = _span(data, chance)
    return data[:start] + chance.choice(words) + data[end:]


def _splice(data: bytes, other: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    (start, end), at = _span(other, chance), chance.randint(0, len(data))
    return data[:at] + other[start:end] + data[at:]


def _cross(data: bytes, other: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))] + other[chance.randint(0, len(other)) :]


def _repeat(data: bytes, _: bytes, words: Sequence[bytes], chance: random.Random) -> bytes:
    """Say a piece, or a word, many times over: what is quadratic shows here."""
    start, end = _span(data, chance)
    unit = data[start:end] if chance.random() < 0.5 else chance.choice(words)
    return data[:start] + unit * chance.choice((2, 2, 3, 8, 8, 64, 64, 1024, 16384)) + data[end:]


def _nest(data: bytes, _: bytes, __: Sequence[bytes], chance: random.Random) -> bytes:
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"{a: ", b"}"), (b"(", b")"), (b"- ", b"")))
    start, end = _span(data, chance)
    depth = chance.choice((1, 2, 5, 8, 150, 250, 5000))
    return data[:start] + opening * depth + data[start:end] + closing * depth + data[end:]


def _drop(data: bytes, _: bytes, __: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = _span(data, chance)
    return data[:start] + data[end:]


def _flip(data: bytes, _: bytes, __: Sequence[bytes], chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + bytes([chance.randint(0, 255)]) + data[at + 1 :]


def _twice(data: bytes, _: bytes, __: Sequence[bytes], chance: random.Random) -> bytes:
    """Say a line twice: keys that repeat."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    return b"\n".join([*lines[: at + 1], *lines[at:]])


MUTATIONS: tuple[Mutation, ...] = (_insert, _replace, _splice, _cross, _repeat, _nest, _drop, _flip, _twice)
