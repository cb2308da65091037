"""Comparing what came out with what a vector expects; every function gives a list of differences, in words."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from boathook.testing.vectors import Box, Fields, Vector

BACKGROUND_SECONDS = 15.0
CONDITIONS = frozenset({"contains", "lacks"})
ANY_DIGEST = "#*"


def shorten(value: Any, limit: int = 300) -> str:
    """Show a value in a mismatch, not too long."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def same(want: Any, got: Any) -> bool:
    """Compare two JSON values whole; true is not 1."""
    return json.dumps(want, sort_keys=True) == json.dumps(got, sort_keys=True)


def is_condition(want: Any) -> bool:
    """Whether an expected value is a condition and not a value."""
    return isinstance(want, dict) and bool(want) and set(want) <= CONDITIONS


def compare_condition(where: str, want: Fields, got: Any) -> list[str]:
    """Check `contains` and `lacks` of a text, or of the items of a list."""
    if got is None:
        return [f"{where}: expected {shorten(want)}, got nothing"]
    texts = [_as_text(item) for item in got] if isinstance(got, list) else [_as_text(got)]
    faults = []
    for part in _parts(want, "contains"):
        if not any(part in text for text in texts):
            faults.append(f"{where}: expected to contain {shorten(part)}, got {shorten(got)}")
    for part in _parts(want, "lacks"):
        if any(part in text for text in texts):
            faults.append(f"{where}: expected to lack {shorten(part)}, got {shorten(got)}")
    return faults


def _as_text(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)


def _parts(want: Fields, key: str) -> list[str]:
    found = want.get(key, [])
    return [found] if isinstance(found, str) else list(found)


def compare(where: str, want: Any, got: Any) -> list[str]:
    """Compare a value: a condition, a list item by item, a name up to its digest, anything else whole."""
    if is_condition(want):
        return compare_condition(where, want, got)
    if isinstance(want, str) and want.endswith(ANY_DIGEST) and isinstance(got, str):
        fits = got.startswith(want.removesuffix("*"))
        return [] if fits else [f"{where}: expected {shorten(want)}, got {shorten(got)}"]
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return [f"{where}: expected {len(want)} items {shorten(want)}, got {len(got)}: {shorten(got)}"]
        pairs = enumerate(zip(want, got, strict=True))
        return [error for at, (one, other) in pairs for error in _compare_item(f"{where}[{at}]", one, other)]
    return [] if same(want, got) else [f"{where}: expected {shorten(want)}, got {shorten(got)}"]


def _compare_item(where: str, want: Any, got: Any) -> list[str]:
    if isinstance(want, dict) and isinstance(got, dict) and not is_condition(want):
        return compare_keys(where, want, got)
    return compare(where, want, got)


def compare_keys(where: str, want: Fields, got: Any) -> list[str]:
    """Compare an object on the keys that are expected."""
    if not isinstance(got, dict):
        return [f"{where}: expected an object, got {shorten(got)}"]
    missing = object()
    faults = []
    for key, value in want.items():
        found = got.get(key, missing)
        if found is missing:
            faults.append(f"{where}.{key}: expected {shorten(value)}, got no such key")
        else:
            faults += compare(f"{where}.{key}", value, found)
    return faults


def compare_any_order(where: str, want: Sequence[Fields], got: Any) -> list[str]:
    """Compare objects on the keys that are expected, wherever in the list they stand."""
    if not isinstance(got, list) or len(want) != len(got):
        return [f"{where}: expected {len(want)} items {shorten(want)}, got {shorten(got, 900)}"]
    left = list(got)
    for one in want:
        found = next((other for other in left if not compare_keys(where, one, other)), None)
        if found is None:
            return [f"{where}: expected {shorten(one)} among {shorten(left, 900)}"]
        left.remove(found)
    return []


def compare_files(inside: Box, want: Fields) -> list[str]:
    """Compare what hooks left on the disk."""
    faults = []
    for name, content in want.items():
        path = inside.place(name)
        text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else None
        if content is None or text is None:
            if (content is None) != (text is None):
                faults.append(f"{name}: expected {'no file' if content is None else 'a file'}")
        elif isinstance(content, dict) and set(content) == {"json"}:
            faults += _compare_json(name, content["json"], text)
        elif isinstance(content, dict) and set(content) == {"whole"}:
            faults += _compare_whole_json(name, content["whole"], text)
        else:
            faults += compare(name, content, text)
    return faults


def _compare_json(name: str, want: Any, text: str) -> list[str]:
    try:
        got = json.loads(text)
    except ValueError as error:
        return [f"{name}: not JSON ({error}): {shorten(text)}"]
    return compare_keys(name, want, got) if isinstance(want, dict) else compare(name, want, got)


def await_files(inside: Box, vector: Vector) -> list[str]:
    """Compare the files; where hooks run in the background, give them time."""
    want = inside.fill(vector.expect.get("files", {}))
    time.sleep(vector.run.get("wait_ms", 0) / 1000)
    late = bool(vector.expect.get("verdict", {}).get("background"))
    deadline = time.monotonic() + (BACKGROUND_SECONDS if late else 0)
    while (faults := compare_files(inside, want)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return faults


# Through the command line


def compare_answer(want: Fields, code: int, stdout: str, stderr: str | None) -> list[str]:
    """Compare a native answer; stdout is nothing or JSON, white space at the end of stderr does not count."""
    faults = compare("exit", want["exit"], code)
    if want.get("stdout") == "":
        faults += compare("stdout", "", stdout.strip())
    elif is_condition(want.get("stdout")):
        faults += compare_condition("stdout", want["stdout"], stdout)
    elif "stdout" in want:
        faults += _compare_whole_json("stdout", want["stdout"], stdout)
    if "stderr" in want and stderr is not None:
        faults += compare("stderr", want["stderr"], stderr.rstrip())
    return faults


def _compare_whole_json(name: str, want: Any, text: str) -> list[str]:
    try:
        got = json.loads(text)
    except ValueError:
        got = text
    return [] if fits(want, got) else [f"{name}: expected {shorten(want)}, got {shorten(got)}"]


def fits(want: Any, got: Any) -> bool:
    """Compare two JSON values whole, but for texts on which there is a condition."""
    if is_condition(want):
        return not compare_condition("", want, got)
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(fits(value, got[key]) for key, value in want.items())
    return same(want, got)
