"""Generates the JSON Schemas of docs/reference/schemas; `scripts/generate_docs.py` writes or compares them.

A schema is a row of `SCHEMAS`: the file's name and the function that returns it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from output_schemas import OUTPUT_SCHEMAS

from boathook.core.event import KINDS, SPELLINGS, EventKind
from boathook.core.matcher import list_matcher_keys
from boathook.dialects.dialect import HOOK_DIALECTS
from boathook.hosts.hook_events import list_hook_events
from boathook.sources import fields
from boathook.sources.fields import Field

Schema = dict[str, Any]
Types = dict[fields.FieldType, Callable[[Field], Schema]]
FOLDER = Path(__file__).resolve().parent.parent / "docs/reference/schemas"
DRAFT = "https://json-schema.org/draft/2020-12/schema"

NAME_PATTERN = rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{fields.MAX_NAME_CHARS - 1}}}"
TOML_TYPES: Types = {
    fields.TEXT: lambda _: {"type": "string"},
    fields.MODEL: lambda _: {"type": "string", "pattern": ":"},
    fields.ABSOLUTE_PATH: lambda _: {"type": "string", "pattern": r"^/[^\u0000]*$"},
    fields.FLAG: lambda _: {"type": "boolean"},
    fields.INTEGER: lambda field: {"type": "integer", "minimum": field.low, "maximum": field.high},
    fields.MILLISECONDS: lambda field: {"type": "integer", "minimum": field.low, "maximum": field.high},
    fields.WORD: lambda field: {"enum": [*field.words]},
    fields.NAME_LIST: lambda _: {"type": "array", "items": {"type": "string", "minLength": 1}},
    fields.TABLE: lambda field: build_object(field.fields, TOML_TYPES),
    fields.NAMED_TABLES: lambda field: {"type": "array", "items": _build_named_table(field)},
    fields.SOURCE_LIST: lambda field: {"type": "array", "items": {"enum": [*field.words]}, "minItems": field.low},
    fields.PROJECT_TABLES: lambda field: {"type": "array", "items": _build_project_table(field)},
    fields.PACK_TABLES: lambda _: {
        "type": "object",
        "propertyNames": {"pattern": rf"^{NAME_PATTERN}/{NAME_PATTERN}(?![\s\S])"},
        "additionalProperties": {
            **build_object(fields.PACK_TOML_FIELDS, TOML_TYPES),
            "additionalProperties": {"type": "object"},
        },
    },
}
# A YAML reader makes numbers and flags of words such as 1.5 and true; where text is wanted they are text.
YAML_TEXT = ["string", "number", "boolean"]
YAML_TYPES: Types = {
    **TOML_TYPES,
    fields.TEXT: lambda _: {"type": YAML_TEXT},
    fields.SHORT_TEXT: lambda field: {"type": YAML_TEXT, "minLength": 1, "maxLength": field.high},
    fields.HOOK_NAME: lambda _: {
        "type": YAML_TEXT,
        "pattern": rf"^{NAME_PATTERN}(?![\s\S])",
        "minimum": 0,
    },
    fields.EVENT_NAME: lambda _: {"enum": [*SPELLINGS]},
    fields.NAME_LIST: lambda _: {
        "type": [*YAML_TEXT, "array"],
        "minLength": 1,
        "items": {"type": YAML_TEXT, "minLength": 1},
    },
    fields.TOOL_KIND_LIST: lambda field: {
        "oneOf": [{"enum": [*field.words]}, {"type": "array", "items": {"enum": [*field.words]}}]
    },
    fields.MAPPING: lambda field: build_object(field.fields, YAML_TYPES),
    fields.LINE: lambda _: {"type": YAML_TEXT, "minLength": 1},
    fields.HOOK_LIST: lambda _: {
        "type": [*YAML_TEXT, "array"],
        "items": {"type": YAML_TEXT, "pattern": rf"^{NAME_PATTERN}(?![\s\S])"},
    },
}


def build_object(rows: tuple[Field, ...], types: Types) -> Schema:
    """Return the schema of a mapping with these fields and no others; without fields anything is allowed."""
    schema: Schema = {"type": "object"}
    if rows:
        schema["properties"] = {field.key: build_field(field, types) for field in rows}
        schema["additionalProperties"] = False
    if required := [field.key for field in rows if field.required]:
        schema["required"] = required
    return schema


def build_field(field: Field, types: Types) -> Schema:
    """Return the schema of one field."""
    about = field.about + ("; only in your own file, not in a project's" if field.user_only else "")
    schema = {"description": about, **types[field.type](field)}
    if field.nullable:
        allowed = schema["type"]
        schema["type"] = [*(allowed if isinstance(allowed, list) else [allowed]), "null"]
    return schema if field.default is None else {**schema, "default": field.default}


def _build_named_table(field: Field) -> Schema:
    schema = build_object(field.fields, TOML_TYPES)
    name = {"name": {"type": "string"}}
    return {**schema, "properties": {**name, **schema.get("properties", {})}, "required": ["name"]}


def _build_project_table(field: Field) -> Schema:
    return {**build_object(field.fields, TOML_TYPES), "required": ["project", "sources"]}


def _build_hook_md() -> Schema:
    schema = build_object(fields.HOOK_MD_FIELDS, YAML_TYPES)
    events = _list_agent_events()
    schema["properties"]["trigger"]["enum"] += [*events]
    return {
        "title": "Frontmatter of HOOK.md",
        **schema,
        "allOf": [*_list_matcher_rules(events), *_list_dialect_rules(events)],
    }


def _list_agent_events() -> dict[str, tuple[EventKind, list[str]]]:
    """Return the events that only agents call so, by name: what each is here, and the dialects that have it."""
    events: dict[str, tuple[EventKind, list[str]]] = {}
    for dialect in HOOK_DIALECTS.values():
        rows = list_hook_events(dialect.host) if dialect.host else {}
        for name, row in rows.items():
            if name not in SPELLINGS:
                events.setdefault(name, (row.kind, []))[1].append(dialect.name)
    return events


def _list_dialect_rules(events: dict[str, tuple[EventKind, list[str]]]) -> Iterator[Schema]:
    """Return for each list of dialects which events only hooks of these may have."""
    by_dialects: dict[tuple[str, ...], list[str]] = {}
    for name, (_, dialects) in events.items():
        by_dialects.setdefault(tuple(dialects), []).append(name)
    for names, listed in by_dialects.items():
        yield {
            "if": {"properties": {"trigger": {"enum": listed}}, "required": ["trigger"]},
            "then": {"properties": {"dialect": {"enum": [*names]}}, "required": ["dialect"]},
        }


def _list_matcher_rules(events: dict[str, tuple[EventKind, list[str]]]) -> Iterator[Schema]:
    """Return for each event, by its spellings, which keys its matcher may have."""
    spellings: dict[tuple[str, ...], list[str]] = {}
    for kind in KINDS:
        spellings.setdefault(list_matcher_keys(kind), []).extend((kind.name, *kind.spellings))
    for name, (kind, _) in events.items():
        spellings[list_matcher_keys(kind)].append(name)
    for keys, names in spellings.items():
        yield {
            "if": {"properties": {"trigger": {"enum": names}}, "required": ["trigger"]},
            "then": {"properties": {"matcher": {"propertyNames": {"enum": [*keys]}}}},
        }


def _build_hooks_toml() -> Schema:
    return {"title": "hooks.toml", **build_object((fields.HOOKS_FIELD, fields.PACKS_FIELD), TOML_TYPES)}


def _build_pack_md() -> Schema:
    return {"title": "Frontmatter of PACK.md", **build_object(fields.PACK_MD_FIELDS, YAML_TYPES)}


def _build_output(command: str) -> Schema:
    return {"title": f"boathook {command} --json", **OUTPUT_SCHEMAS[command]}


SCHEMAS: dict[str, Callable[[], Schema]] = {
    "hook-md.json": _build_hook_md,
    "hooks-toml.json": _build_hooks_toml,
    "pack-md.json": _build_pack_md,
    **{f"output-{name.replace(' ', '-')}.json": partial(_build_output, name) for name in OUTPUT_SCHEMAS},
}


def write_schemas() -> Iterator[tuple[Path, str]]:
    """Return every schema file and its text."""
    for name, build in SCHEMAS.items():
        yield FOLDER / name, json.dumps({"$schema": DRAFT, **build()}, indent=2, ensure_ascii=False) + "\n"
