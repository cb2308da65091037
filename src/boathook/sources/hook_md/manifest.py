"""HOOK.md: from the text of a manifest to a hook. A mistake is reported and, where possible, does not disable the hook."""

from __future__ import annotations

import unicodedata
from typing import Any

from boathook.core.event import SPELLINGS, EventKind
from boathook.core.hook import DISABLED, ERROR, INVALID, PROJECT, WARNING, Hook, Needs, Script
from boathook.core.matcher import TOOL_KEYS, Matcher, Pattern, PatternAllowance, compile_pattern, list_matcher_keys
from boathook.core.pattern_search import NO_ENGINE
from boathook.core.text import reveal_text
from boathook.dialects.dialect import HOOK_DIALECTS, NATIVE, find_hook_dialect
from boathook.errors import ConfigError
from boathook.sources.fields import (
    FLAG,
    HOOK_MD_FIELDS,
    MAPPING,
    TOO_LARGE_TOGETHER,
    YAML_PAIR,
    Field,
    FieldChecker,
    convert_timing,
    describe_construct,
)
from boathook.sources.hook_md.frontmatter import FrontmatterError, Mapping, Node, Scalar, Sequence, read_frontmatter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.hosts.claude_events import HookEvent

_FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NULLS = ("", "~", "null")
_MAX_DIGITS = 18
OPENCLAW_HOOK = "this is an OpenClaw hook, it does not run here"
_ESCAPES = {"\b": "\\b", "\f": "\\f", "\v": "\\v", "\a": "\\a", "\x1b": "\\e"}
_SAME_KEYS = (
    *("name", "description", "priority", "on_failure", "protected"),
    *("sandbox", "network", "imports", "process", "ask", "metadata"),
)


def parse_manifest(
    text: str, *, path: str, folder: str, scope: str, allowance: PatternAllowance | None = None
) -> tuple[Hook, frozenset[str]]:
    """Return the hook of a manifest and the keys that its author wrote. Never raises an exception.

    With an allowance it is not known yet whether a person trusts the hook: patterns that it does not cover are not compiled.
    """
    folder_name = folder.rpartition("/")[2]
    # Every command and event shows the name.
    shown_name = reveal_text(folder_name)
    checker = FieldChecker(path, scope, YAML_PAIR, {"name": shown_name})
    data: dict[str, Any] = {}
    fields: dict[str, Any] = {"name": shown_name, "kind": None, "trigger": "", "dialect": find_hook_dialect(NATIVE)}
    try:
        frontmatter = read_frontmatter(text)
    except FrontmatterError as error:
        checker.refuse("", error.message, error.fix, error.line)
    else:
        for line, message, fix in frontmatter.forgiven:
            checker.report(WARNING, "", message, fix, line)
        data = read_values(frontmatter.top, HOOK_MD_FIELDS, checker.lines)
        _indent_matcher(data, checker)
        if isinstance(data.get("name"), str):
            data["name"] = unicodedata.normalize("NFC", data["name"])
        if _is_openclaw_hook(data):
            checker.report(WARNING, "", OPENCLAW_HOOK)
            fields |= {"state": DISABLED, "state_reason": OPENCLAW_HOOK}
        else:
            fields |= _check_fields(data, folder_name, checker, allowance)
    if checker.refusal:
        fields |= {"state": INVALID, "state_reason": checker.refusal.message}
    diagnostics = tuple(sorted(checker.diagnostics, key=lambda diagnostic: diagnostic.line or 0))
    hook = Hook(scope=scope, handler=Script(folder), path=path, diagnostics=diagnostics, **fields)
    return hook, frozenset(data)


def _indent_matcher(data: dict[str, Any], checker: FieldChecker) -> None:
    """Move keys of a matcher that were written beside it, not below it, so that the hook is not asked about every call."""
    kind = _find_kind(data)
    known = (*TOOL_KEYS, *(kind.matched_fields if kind else ()))
    # The `trigger` of a compaction has the name of a field of HOOK.md.
    keys = [key for key in known if key != "trigger" and isinstance(data.get(key), str | list)]
    if not keys or data.get("matcher") is not None:
        return
    data["matcher"] = {key: data.pop(key) for key in keys}
    for key in keys:
        checker.lines[f"matcher.{key}"] = checker.lines[key]
        message = f"'{key}' is beside 'matcher', not below it; it is read as part of the matcher"
        checker.report(WARNING, key, message, f"indent it below matcher:, as in '  {key}: …'", checker.lines[key])


def _find_kind(data: dict[str, Any]) -> EventKind | None:
    trigger = data.get("trigger")
    if not isinstance(trigger, str):
        return None
    row = _find_agent_event(data)
    return row.kind if row is not None else SPELLINGS.get(trigger)


def _find_agent_event(data: dict[str, Any]) -> HookEvent | None:
    """Return the row of an event that only the agent of the dialect calls so, such as `beforeShellExecution` of Cursor."""
    trigger, dialect = data.get("trigger"), HOOK_DIALECTS.get(str(data.get("dialect")))
    if dialect is None or not dialect.host or not isinstance(trigger, str) or trigger in SPELLINGS:
        return None
    # Few manifests have such a dialect, so no agent is imported for the others.
    from boathook.hosts.hook_events import list_hook_events

    return list_hook_events(dialect.host).get(trigger)


def _remove_foreign_keys(data: dict[str, Any], checker: FieldChecker) -> None:
    """Report and remove the keys of a matcher that its event does not have; the hook then runs more often."""
    kind, matcher = _find_kind(data), data.get("matcher")
    if kind is None or not isinstance(matcher, dict):
        return
    known = list_matcher_keys(kind)
    for key in [key for key in matcher if key not in known]:
        del matcher[key]
        message = f"a matcher of {kind.name} cannot ask about '{key}'; it is ignored, so the hook runs more often"
        checker.report(ERROR, f"matcher.{key}", message, checker.suggest(key, known) if known else "remove it")


def _is_openclaw_hook(data: dict[str, Any]) -> bool:
    """Whether a manifest is one of OpenClaw's, which has the same file name; its events are in its metadata."""
    metadata = data.get("metadata")
    return "trigger" not in data and isinstance(metadata, dict) and "openclaw" in metadata


def _check_fields(
    data: dict[str, Any], folder_name: str, checker: FieldChecker, allowance: PatternAllowance | None
) -> dict[str, Any]:
    _remove_foreign_keys(data, checker)
    row = _find_agent_event(data)
    values = checker.check(HOOK_MD_FIELDS, {**data, "trigger": row.kind_name} if row is not None else data)
    if values.get("name", folder_name) != folder_name:
        message = f"name '{values['name']}' differs from its folder '{reveal_text(folder_name)}'"
        checker.report(WARNING, "name", message, "rename the folder, or change 'name'")
    trigger = {"trigger": data["trigger"]} if isinstance(data.get("trigger"), str) else {}
    if row is not None and row.tools and "tool" not in (values.get("matcher") or {}):
        # The event of some tools.
        values["matcher"] = {**values.get("matcher", {}), "tool": f"^(?:{'|'.join(row.tools)})$"}
    return trigger | _build_fields(values, checker, allowance)


def _build_fields(values: dict[str, Any], checker: FieldChecker, allowance: PatternAllowance | None) -> dict[str, Any]:
    kind = SPELLINGS.get(values.get("trigger", ""))
    fields = {key: values[key] for key in _SAME_KEYS if key in values}
    fields |= {"kind": kind, **convert_timing(values)}
    if "settings" in values:
        fields["known_settings"] = tuple(values["settings"])
    if "env" in values:
        fields["env"] = tuple(values["env"])
    if "requires" in values:
        fields["needs"] = Needs(**{key: tuple(names) for key, names in values["requires"].items()})
    if "matcher" in values:
        fields["matcher"] = _build_matcher(values["matcher"], kind, checker, allowance)
    if values.get("protected") and checker.scope == PROJECT:
        checker.report(ERROR, "protected", "only a user hook can be protected; it is ignored here", "remove it")
        del fields["protected"]
    dialect = find_hook_dialect(values.get("dialect", NATIVE))
    if kind is not None and kind.name in dialect.missing_events:
        message = f"the dialect '{dialect.name}' has no event like {kind.name}; {NATIVE} is used"
        checker.report(ERROR, "dialect", message, "remove it")
        return fields
    return {**fields, "dialect": dialect}


def _build_matcher(
    sources: dict[str, Any], kind: EventKind | None, checker: FieldChecker, allowance: PatternAllowance | None
) -> Matcher:
    def compile_key(key: str) -> Pattern | None:
        return _compile(f"matcher.{key}", sources.get(key, ""), checker, allowance)

    tool, pattern = compile_key("tool"), compile_key("pattern")
    matched = ((name, compile_key(name)) for name in (kind.matched_fields if kind else ()))
    fields = tuple((name, found) for name, found in matched if found is not None)
    return Matcher(tool, pattern, tuple(sources.get("kind", ())), fields, takes_other_name=tool is not None)


def _compile(key: str, source: str, checker: FieldChecker, allowance: PatternAllowance | None = None) -> Pattern | None:
    if any(char in source for char in _ESCAPES):
        source = "".join(_ESCAPES.get(char, char) for char in source)
        message = f"a control character was read as the escape it came from: {source}"
        checker.report(WARNING, key, message, "use single quotes")
    try:
        pattern = compile_pattern(source, allowance)
    except ConfigError as error:
        checker.refuse(key, str(error))
        return None
    if pattern is not None and pattern.engines == NO_ENGINE:
        checker.report(WARNING, key, TOO_LARGE_TOGETHER)
    elif pattern is not None and pattern.construct:
        checker.report(WARNING, key, *describe_construct(pattern.construct))
    return pattern


def read_values(mapping: Mapping, fields: tuple[Field, ...], lines: dict[str, int], place: str = "") -> dict[str, Any]:
    """Return the values of a mapping, each read by the type of its field, and note the lines of the keys."""
    known = {field.key: field for field in fields}
    values: dict[str, Any] = {}
    for key, (line, node) in mapping.entries.items():
        lines[place + key] = line
        field = known.get(key)
        if field is not None and field.fields and isinstance(node, Mapping):
            values[key] = read_values(node, field.fields, lines, f"{place}{key}.")
        else:
            values[key] = read_plain(node) if field is None else _read_value(node, field)
    return values


def _read_value(node: Node, field: Field) -> Any:
    """Return a value as its field wants it, so that `name: no` is text; what does not fit is left to the checker."""
    if field.type.base is list:
        items = node.items if isinstance(node, Sequence) else (node,)
        return read_plain(node) if isinstance(node, Mapping) else [_read_name(item) for item in items]
    if not isinstance(node, Scalar):
        return read_plain(node)
    if field.type is FLAG and not node.quoted:
        return _FLAGS.get(node.text.lower(), node.text)
    if field.type.base is int:
        number = read_whole_number(node)
        return node.text if number is None else number
    if field.type is MAPPING:
        return None if node.text in _NULLS else node.text
    return "" if not node.quoted and node.text in _NULLS else node.text


def _read_name(node: Node) -> Any:
    return node.text if isinstance(node, Scalar) else read_plain(node)


def read_whole_number(node: Node) -> int | None:
    """Return a plain decimal number; None for anything else, such as 1:30, 0100, 1e4 or true."""
    if not isinstance(node, Scalar) or node.quoted:
        return None
    digits = node.text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > _MAX_DIGITS:
        return None
    return None if digits[0] == "0" and digits != "0" else int(node.text)


def read_plain(node: Node) -> Any:
    """Return a node as plain values, as metadata has them."""
    if isinstance(node, Mapping):
        return {key: read_plain(value) for key, (_, value) in node.entries.items()}
    if isinstance(node, Sequence):
        return [read_plain(item) for item in node.items]
    known = {"true": True, "false": False, **dict.fromkeys(_NULLS)}
    if node.text in known and not node.quoted:
        return known[node.text]
    number = read_whole_number(node)
    return node.text if number is None else number
