"""Strict JSON without importing `json`: refuses what hides a decision (repeated keys, NaN, a second value) or is too large."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

accelerator: "Any"
try:
    import _json as accelerator
except ImportError:
    # An interpreter without the C accelerator.
    accelerator = None

JSON_WHITESPACE = " \t\n\r"
INFINITY = float("inf")
# A longer tool input is not searched: it counts as a match.
MAX_TEXT_CHARS = 1 << 20
# Far below the interpreter's own limit, which would apply to writing.
MAX_DEPTH = 200


class JsonError(ValueError):
    """What is wrong with a JSON text."""


class JsonLimitError(JsonError):
    """JSON that is valid but beyond the limits."""


def _make_object(pairs: "list[tuple[str, Any]]") -> "dict[str, Any]":
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonError(f"repeated key {key!r}")
            seen.add(key)
    return value


def _refuse_constant(name: str) -> "Any":
    raise JsonError(f"{name} is not JSON")


def _parse_float(text: str) -> float:
    number = float(text)
    if number in (INFINITY, -INFINITY):
        raise JsonLimitError(f"number {text[:20]} is beyond limits")
    return number


def _parse_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise JsonLimitError(f"number of {len(text)} digits is beyond limits") from None


class _ScannerSettings:
    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_make_object)
    parse_float = staticmethod(_parse_float)
    parse_int = staticmethod(_parse_int)
    parse_constant = staticmethod(_refuse_constant)
    memo: "dict[str, str]" = {}  # noqa: RUF012


def _make_scan() -> "Any":
    if accelerator is not None:
        return accelerator.make_scanner(_ScannerSettings())
    import json.scanner

    return json.scanner.py_make_scanner(_ScannerSettings())  # type: ignore[attr-defined]


_scan = _make_scan()


def decode(data: bytes) -> str:
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError(f"not UTF-8 at byte {error.start}") from None
    if "\0" in text:
        raise JsonError(f"NUL at character {text.index(chr(0))}")
    return text


def loads(text: str, depth: int = MAX_DEPTH) -> "Any":
    start = len(text) - len(text.lstrip(JSON_WHITESPACE))
    try:
        value, end = _scan_value(text, start)
    except JsonError:
        raise
    except StopIteration as error:
        raise JsonError(f"no JSON value at {describe_position(text, error.value)}") from None
    except RecursionError:
        raise JsonLimitError(f"nested too deep (more than {depth} levels)") from None
    # The scanner itself raises json.JSONDecodeError.
    except ValueError as error:
        message = getattr(error, "msg", str(error))
        raise JsonError(f"{message} at {describe_position(text, getattr(error, 'pos', 0))}") from None
    rest = text[end:].strip(JSON_WHITESPACE)
    if rest:
        what = "a second document" if rest[0] in '{["' else "text"
        raise JsonError(f"{what} after the JSON value at {describe_position(text, end)}")
    if text.count("[") + text.count("{") > depth and _is_deeper_than(value, depth):
        raise JsonLimitError(f"nested too deep (more than {depth} levels)")
    return value


def _is_deeper_than(value: "Any", limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _scan_value(text: str, start: int) -> "tuple[Any, int]":
    scanned: tuple[Any, int]
    try:
        scanned = _scan(text, start)
    # Older scanners can only raise their error if json.decoder is loaded already.
    except SystemError:
        import json.decoder  # noqa: F401  # pyright: ignore[reportUnusedImport]

        scanned = _scan(text, start)
    return scanned


def describe_position(text: str, position: int) -> str:
    before = text[:position]
    return f"line {before.count(chr(10)) + 1} column {position - before.rfind(chr(10))}"


def dumps(value: "Any", colon: str = ": ", comma: str = ", ", *, sort_keys: bool = False) -> str:
    if accelerator is None:
        import json

        return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys, separators=(comma, colon))
    write = accelerator.encode_basestring
    encode = accelerator.make_encoder({}, _refuse, write, None, colon, comma, sort_keys, False, False)  # noqa: FBT003
    return "".join(encode(value, 0))


def canonical_json(value: "Any") -> bytes:
    """Write JSON the one way that equal values share, to be digested: keys sorted, no spaces."""
    return dumps(value, ":", ",", sort_keys=True).encode("utf-8", "backslashreplace")


def dump_line(value: "Any") -> bytes:
    return (dumps(value) + "\n").encode("utf-8", "backslashreplace")


def _refuse(value: object) -> "Any":
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def is_same_json(one: "Any", other: "Any") -> bool:
    """Whether two JSON values are equal; true is not 1, and the order of keys does not matter."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same_json, one, other))
    return bool(one == other)


def iter_leaves(value: "Any") -> "Iterator[str]":
    pending: list[Any] = [value]
    while pending:
        item: Any = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)


def get_at_place(value: "Any", place: str) -> "Any":
    """Return the value at a place such as `a.b` or `a.0`, None if there is none."""
    item: Any = value
    for key in place.split("."):
        if isinstance(item, dict):
            item = item.get(key)  # pyright: ignore[reportUnknownMemberType]
        elif isinstance(item, list) and key.isdigit():
            item = item[int(key)] if int(key) < len(item) else None
        else:
            return None
    return item


def describe_json_type(value: object) -> str:
    return TYPE_WORDS.get(type(value).__name__, type(value).__name__)


TYPE_WORDS = {
    "NoneType": "null", "bool": "a flag", "int": "a number", "float": "a number", "str": "text", "list": "a list",
    "dict": "an object",
}  # fmt: skip
