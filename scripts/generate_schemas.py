"""Generates the JSON Schemas of docs/reference/schemas; `scripts/generate_docs.py` writes or compares them.

A schema is a row of `SCHEMAS`: the file's name and the function that returns it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from boathook.sources import fields
from boathook.sources.fields import Field

Schema = dict[str, Any]
FOLDER = Path(__file__).resolve().parent.parent / "docs/reference/schemas"
DRAFT = "https://json-schema.org/draft/2020-12/schema"

TYPES: dict[fields.FieldType, Callable[[Field], Schema]] = {
    fields.TEXT: lambda _: {"type": "string"},
    fields.MODEL: lambda _: {"type": "string", "pattern": ":"},
    fields.ABSOLUTE_PATH: lambda _: {"type": "string", "pattern": r"^/[^\u0000]*$"},
    fields.FLAG: lambda _: {"type": "boolean"},
    fields.INTEGER: lambda field: {"type": "integer", "minimum": field.low, "maximum": field.high},
    fields.WORD: lambda field: {"enum": [*field.words]},
    fields.NAMES: lambda _: {"type": "array", "items": {"type": "string", "minLength": 1}},
    fields.TABLE: lambda field: build_object(field.fields),
    fields.NAMED_TABLES: lambda field: {"type": "array", "items": _build_named_table(field)},
}


def build_object(rows: tuple[Field, ...]) -> Schema:
    """Return the schema of a mapping with these fields and no others; without fields anything is allowed."""
    schema: Schema = {"type": "object"}
    if rows:
        schema["properties"] = {field.key: build_field(field) for field in rows}
        schema["additionalProperties"] = False
    if required := [field.key for field in rows if field.required]:
        schema["required"] = required
    return schema


def build_field(field: Field) -> Schema:
    """Return the schema of one field."""
    about = field.about + ("; only in your own file, not in a project's" if field.user_only else "")
    schema = {"description": about, **TYPES[field.type](field)}
    return schema if field.default is None else {**schema, "default": field.default}


def _build_named_table(field: Field) -> Schema:
    schema = build_object(field.fields)
    name = {"name": {"type": "string"}}
    return {**schema, "properties": {**name, **schema.get("properties", {})}, "required": ["name"]}


def _build_hooks_toml() -> Schema:
    return {"title": "hooks.toml", **build_object((fields.HOOKS_TABLE,))}


SCHEMAS: dict[str, Callable[[], Schema]] = {"hooks-toml.json": _build_hooks_toml}


def write_schemas() -> Iterator[tuple[Path, str]]:
    """Return every schema file and its text."""
    for name, build in SCHEMAS.items():
        yield FOLDER / name, json.dumps({"$schema": DRAFT, **build()}, indent=2, ensure_ascii=False) + "\n"
