"""Compare a result with what a vector expects. Every `compare` function returns a list of differences, in words."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from boathook.testing.vectors import Fields, Vector, Workspace

_BACKGROUND_SECONDS = 15.0
_CONDITIONS = frozenset({"contains", "lacks"})
_ANY_DIGEST = "#*"


def _format(value: Any, limit: int = 300) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _is_equal(want: Any, got: Any) -> bool:
    return json.dumps(want, sort_keys=True) == json.dumps(got, sort_keys=True)


def _is_condition(want: Any) -> bool:
    return isinstance(want, dict) and bool(want) and set(want) <= _CONDITIONS


def _compare_condition(where: str, want: Fields, got: Any) -> list[str]:
    if got is None:
        return [f"{where}: expected {_format(want)}, got nothing"]
    texts = [_to_text(item) for item in got] if isinstance(got, list) else [_to_text(got)]
    errors = []
    for key, verb in (("contains", "contain"), ("lacks", "lack")):
        parts = want.get(key, [])
        for part in [parts] if isinstance(parts, str) else parts:
            if any(part in text for text in texts) == (key == "lacks"):
                errors.append(f"{where}: expected to {verb} {_format(part)}, got {_format(got)}")
    return errors


def _to_text(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)


def compare(where: str, want: Any, got: Any) -> list[str]:
    """Compare a value: a condition, a list item by item, a name up to its digest, anything else whole."""
    if _is_condition(want):
        return _compare_condition(where, want, got)
    if isinstance(want, str) and want.endswith(_ANY_DIGEST) and isinstance(got, str):
        is_same_name = got.startswith(want.removesuffix("*"))
        return [] if is_same_name else [f"{where}: expected {_format(want)}, got {_format(got)}"]
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return [f"{where}: expected {len(want)} items {_format(want)}, got {len(got)}: {_format(got)}"]
        pairs = enumerate(zip(want, got, strict=True))
        return [error for index, (one, other) in pairs for error in _compare_item(f"{where}[{index}]", one, other)]
    return [] if _is_equal(want, got) else [f"{where}: expected {_format(want)}, got {_format(got)}"]


def _compare_item(where: str, want: Any, got: Any) -> list[str]:
    if isinstance(want, dict) and isinstance(got, dict) and not _is_condition(want):
        return compare_keys(where, want, got)
    return compare(where, want, got)


def compare_keys(where: str, want: Fields, got: Any) -> list[str]:
    if not isinstance(got, dict):
        return [f"{where}: expected an object, got {_format(got)}"]
    errors = []
    for key, value in want.items():
        missing = [f"{where}.{key}: expected {_format(value)}, got no such key"]
        errors += compare(f"{where}.{key}", value, got[key]) if key in got else missing
    return errors


def compare_any_order(where: str, want: Sequence[Fields], got: Any) -> list[str]:
    if not isinstance(got, list) or len(want) != len(got):
        return [f"{where}: expected {len(want)} items {_format(want)}, got {_format(got, 900)}"]
    remaining = list(got)
    for expected in want:
        match = next((actual for actual in remaining if not compare_keys(where, expected, actual)), None)
        if match is None:
            return [f"{where}: expected {_format(expected)} among {_format(remaining, 900)}"]
        remaining.remove(match)
    return []


def _compare_files(workspace: Workspace, want: Fields) -> list[str]:
    errors = []
    for name, content in want.items():
        path = workspace.resolve(name)
        text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else None
        if content is None or text is None:
            if (content is None) != (text is None):
                errors.append(f"{name}: expected {'no file' if content is None else 'a file'}")
        elif isinstance(content, dict) and set(content) == {"json"}:
            errors += _compare_json(name, content["json"], text)
        elif isinstance(content, dict) and set(content) == {"whole"}:
            errors += _compare_whole_json(name, content["whole"], text)
        else:
            errors += compare(name, content, text)
    return errors


def _compare_json(name: str, want: Any, text: str) -> list[str]:
    try:
        got = json.loads(text)
    except ValueError as error:
        return [f"{name}: not JSON ({error}): {_format(text)}"]
    return compare_keys(name, want, got) if isinstance(want, dict) else compare(name, want, got)


def await_files(workspace: Workspace, vector: Vector) -> list[str]:
    """Compare the files; if hooks run in the background, wait for them."""
    want = workspace.fill_placeholders(vector.expect.get("files", {}))
    time.sleep(vector.run.get("wait_ms", 0) / 1000)
    has_background = bool(vector.expect.get("verdict", {}).get("background"))
    deadline = time.monotonic() + (_BACKGROUND_SECONDS if has_background else 0)
    while (errors := _compare_files(workspace, want)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return errors


def compare_answer(want: Fields, code: int, stdout: str, stderr: str | None) -> list[str]:
    """Compare a native answer; stdout is empty or JSON, white space at the end of stderr does not count."""
    errors = compare("exit", want["exit"], code)
    if want.get("stdout") == "":
        errors += compare("stdout", "", stdout.strip())
    elif _is_condition(want.get("stdout")):
        errors += _compare_condition("stdout", want["stdout"], stdout)
    elif "stdout" in want:
        errors += _compare_whole_json("stdout", want["stdout"], stdout)
    if "stderr" in want and stderr is not None:
        errors += compare("stderr", want["stderr"], stderr.rstrip())
    return errors


def _compare_whole_json(name: str, want: Any, text: str) -> list[str]:
    try:
        got = json.loads(text)
    except ValueError:
        got = text
    return [] if _matches(want, got) else [f"{name}: expected {_format(want)}, got {_format(got)}"]


def _matches(want: Any, got: Any) -> bool:
    if _is_condition(want):
        return not _compare_condition("", want, got)
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(_matches(value, got[key]) for key, value in want.items())
    return _is_equal(want, got)
