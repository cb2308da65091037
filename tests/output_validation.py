"""Validates what the command line prints with --json against its schema. Fields that the schema does not name are refused."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator

from scripts.output_schemas import OUTPUT_SCHEMAS

LINES = ("log", "agent")


def forbid_unknown_fields(schema: Mapping[str, Any], *, is_variant: bool = False) -> dict[str, Any]:
    """Return a schema that refuses fields it does not name; a published one allows them, for later versions."""
    strict = dict(schema)
    if "properties" in strict:
        strict["properties"] = {name: forbid_unknown_fields(inner) for name, inner in strict["properties"].items()}
        if not is_variant:
            strict["unevaluatedProperties"] = False
    for key in ("items", "additionalProperties"):
        if isinstance(strict.get(key), dict):
            strict[key] = forbid_unknown_fields(strict[key])
    if "allOf" in strict:
        strict["allOf"] = [
            {**rule, "then": forbid_unknown_fields(rule["then"], is_variant=True)} for rule in strict["allOf"]
        ]
    return strict


@functools.cache
def make_validator(command: str) -> Draft202012Validator:
    return Draft202012Validator(forbid_unknown_fields(OUTPUT_SCHEMAS[command]))


def find_command(words: Sequence[str]) -> str:
    """Return the command of a command line: one or two words at its beginning."""
    return next((name for name in (" ".join(words[:2]), *words[:1]) if name in OUTPUT_SCHEMAS), "")


def validate_output(words: Sequence[str], stdout: str | bytes) -> None:
    """Fail if a command line asks for JSON and what it printed does not match its schema."""
    command = find_command(words)
    if "--json" not in words or not stdout.strip():
        return
    assert command, f"no schema for: boathook {' '.join(words)}"
    text = stdout.decode("utf-8", "replace") if isinstance(stdout, bytes) else stdout
    for part in text.splitlines() if command in LINES else [text]:
        error = next(make_validator(command).iter_errors(json.loads(part)), None)
        assert error is None, f"boathook {' '.join(words)}: {error}"
