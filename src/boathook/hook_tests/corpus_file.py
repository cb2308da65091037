"""Read a corpus: many values with the answer that each should get, in a JSON list or one JSON object per line."""

from __future__ import annotations

import json
import os
from typing import Any

from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hook_tests.case import DECISION_WORDS, OBJECT
from boathook.system.files import FileError, read_text

MAX_CORPUS_BYTES = 64 << 20
_VALUE_KEYS = ("command", "value")
_EXPECTED = (*DECISION_WORDS, OBJECT)


class CorpusEntry(Value):
    value: str
    expect: str


def read_corpus(path: str) -> tuple[CorpusEntry, ...]:
    """Return the entries of a corpus; ConfigError names the first one that is wrong."""
    try:
        text = read_text(path, MAX_CORPUS_BYTES)
    except FileError as error:
        raise ConfigError(f"the corpus {path} {error}") from None
    return tuple(_read_entry(number, item, path) for number, item in _parse_items(text, path))


def resolve_corpus(tests_path: str, written: str) -> str:
    """Return the path of a corpus, which is written relative to its tests.txt."""
    if os.path.isabs(written):
        raise ConfigError(f"the path of a corpus must be relative to {os.path.basename(tests_path)}: {written}")
    return os.path.normpath(os.path.join(os.path.dirname(tests_path), written))


def _parse_items(text: str, path: str) -> list[tuple[int, Any]]:
    try:
        if text.lstrip().startswith("["):
            listed = json.loads(text)
            return list(enumerate(listed, 1)) if isinstance(listed, list) else []
        lines = enumerate(text.splitlines(), 1)
        return [(number, json.loads(line)) for number, line in lines if line.strip()]
    except (ValueError, RecursionError) as error:
        expected = "write a list of objects, or one object per line"
        raise ConfigError(f"the corpus {path} is not JSON: {error}. To fix it, {expected}") from None


def _read_entry(number: int, item: Any, path: str) -> CorpusEntry:
    fields = item if isinstance(item, dict) else {}
    value = next((fields[key] for key in _VALUE_KEYS if isinstance(fields.get(key), str)), None)
    expect = fields.get("expect")
    if value is None or expect not in _EXPECTED:
        words = ", ".join(_EXPECTED)
        raise ConfigError(
            f'entry {number} of the corpus {path} is not {{"command": TEXT, "expect": WORD}} (words: {words})'
        )
    return CorpusEntry(value, expect)
