"""Generates docs/reference/fields.md from the table of fields; `scripts/generate_docs.py` writes or compares it."""

from __future__ import annotations

from collections.abc import Iterator

from boathook.core.json_text import dumps
from boathook.sources import fields
from boathook.sources.agent_forms.hook_form import HOOK_FORMS, SETTINGS_FORM
from boathook.sources.fields import Field

HEAD = ("| key | value | default | meaning | a wrong value |", "|---|---|---|---|---|")


def write_fields_page(notice: str) -> str:
    """Return the reference page of everything that can be written in HOOK.md, hooks.toml and settings.json."""
    lines = [
        "# Fields",
        "",
        notice,
        "",
        "Everything you can write in HOOK.md, hooks.toml and settings.json. `boathook check` reports a wrong value as an error and",
        "an unknown key as a warning; the last column says what happens when the file is loaded all the same.",
        "",
        "For editors and other tools there are JSON Schemas: [the frontmatter of HOOK.md](schemas/hook-md.json) and",
        "[hooks.toml](schemas/hooks-toml.json). They accept what `boathook check` accepts without an error or an unknown key.",
        "",
        "## HOOK.md",
        "",
        "The rules are S5 to S8 of the [specification](specification.md).",
        "",
        *HEAD,
        *_write_rows(fields.HOOK_MD_FIELDS),
        "",
        "## hooks.toml",
        "",
        "Keys that are marked with * count only in your own file; in the file of a project they are ignored, with a warning.",
        "The rules are S9 of the [specification](specification.md).",
        "",
        *HEAD,
        *_write_rows((fields.HOOKS_FIELD, fields.PACKS_FIELD)),
        *_write_rows(fields.PACK_TOML_FIELDS, 'packs."OWNER/NAME".'),
        "",
        "## PACK.md",
        "",
        "The rules are S36 of the [specification](specification.md); there is a [JSON Schema](schemas/pack-md.json). If a value is",
        "wrong that makes a hook invalid elsewhere, the pack counts as one without a PACK.md: all its hooks are on.",
        "",
        *HEAD,
        *_write_rows(fields.PACK_MD_FIELDS),
        "",
        "## settings.json",
        "",
        "The rules are S24 of the [specification](specification.md). The events are listed in",
        "[settings.json, event by event](settings.md).",
        "",
        *HEAD,
        *_write_rows(fields.SETTINGS_FILE_FIELDS),
        *_write_rows((fields.MATCHER_FIELD,), "hooks.EVENT[]."),
    ]
    for kind, rows in fields.SETTINGS_ENTRY_FIELDS.items():
        lines += ["", f'An entry in `hooks.EVENT[].hooks[]` with `"type": "{kind}"`:', "", *HEAD, *_write_rows(rows)]
    lines += [
        "",
        "## Files of other agents",
        "",
        "The rules are S35 of the [specification](specification.md); [forms](forms.md) has the events. Only entries of the type",
        "`command` run here.",
    ]
    for form in HOOK_FORMS:
        if form is not SETTINGS_FORM:
            rows = form.entry_fields["command"]
            lines += ["", f"An entry of {form.title}:", "", *HEAD, *_write_rows(rows)]
    return "\n".join(lines) + "\n"


def _write_rows(rows: tuple[Field, ...], place: str = "") -> Iterator[str]:
    for field in rows:
        key = f"`{place}{field.key}`" + ("*" if field.user_only else "")
        default = "–" if field.default is None else f"`{dumps(field.default)}`"
        default = "required" if field.required else default
        yield f"| {key} | {field.expectation} | {default} | {field.about} | {_describe_wrong(field)} |"
        many = "[]" if field.type in (fields.NAMED_TABLES, fields.PROJECT_TABLES) else ""
        yield from _write_rows(field.fields, f"{place}{field.key}{many}.")


def _describe_wrong(field: Field) -> str:
    if field.type is fields.ANYTHING:
        return "–"
    if field.refused:
        return "the hook is invalid"
    if field.consequence:
        return field.consequence
    if field.fallback is not None:
        return f"`{field.fallback}` is used"
    if field.tolerant and field.type.base is int:
        return "the nearest limit is used, for a number; else " + _describe_ignored(field)
    if field.tolerant and field.type is fields.SHORT_TEXT:
        return "it is used as it is, if it is text"
    return "only the valid items are used" if field.tolerant else _describe_ignored(field)


def _describe_ignored(field: Field) -> str:
    if field.type is fields.HOOK_NAME:
        return "the name of the folder is used"
    return "it is ignored" if field.default is None else "the default is used"
