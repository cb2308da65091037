"""The schemas accept what the checker accepts: no error and no unknown key. Differences are listed with their reason."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from boathook.core.catalog import Settings
from boathook.core.hook import ERROR, Diagnostic, Hook, Script
from boathook.dialects.dialect import find_hook_dialect
from boathook.sources import fields
from boathook.sources.hook_md.frontmatter import FrontmatterError, Mapping, Node, Sequence, read_frontmatter
from boathook.sources.hook_md.manifest import OPENCLAW_HOOK, parse_manifest
from boathook.sources.hooks_toml import read_hooks_toml
from boathook.sources.source import list_default_sources
from boathook.testing.vectors import load_vectors

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs/reference/schemas"


def load_validator(name: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


HOOK_MD = load_validator("hook-md.json")
HOOKS_TOML = load_validator("hooks-toml.json")


def is_clean(diagnostics: tuple[Diagnostic, ...]) -> bool:
    return not any(
        d.level == ERROR or d.message.startswith("unknown key") or "is beside 'matcher'" in d.message
        for d in diagnostics
    )


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.name)
def test_every_schema_is_a_valid_schema(path):
    load_validator(path.name)


def list_files(ending: str) -> list[str]:
    """Return the texts of all files of a name in the vectors and the examples."""
    found = [path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob(ending)]
    for vector in load_vectors():
        for name, content in vector.data.get("files", {}).items():
            text = content.get("text") if isinstance(content, dict) else content
            if name.endswith(ending) and isinstance(text, str):
                found.append(text)
    return list(dict.fromkeys(found))


# hooks.toml


def compare_toml(text: str, folder: Path) -> None:
    path = folder / "hooks.toml"
    path.write_bytes(text.encode())
    config = read_hooks_toml(str(path), "user")
    try:
        data = tomllib.loads(text)
    except ValueError:
        return
    assert HOOKS_TOML.is_valid(data) == is_clean(config.diagnostics), (data, config.diagnostics)


def test_the_schema_of_hooks_toml_agrees_with_the_checker(tmp_path):
    texts = list_files("hooks.toml")
    assert len(texts) > 40
    for text in texts:
        compare_toml(text, tmp_path)


TOML_VALUES = (
    *("true", "false", "0", "-1", "3", "99", "100", "101", "1000", "1001", "600000", "600001", "2.5"),
    *("''", "'x'", "'a:b'", "'/x'", "'allow'", "'block'", "'skip'", "'whole'", "'refuse'", "'isolated'", "'Basic'"),
    *("[]", "['A']", "['']", "['A', 1]", "{}", "{timeout = 5000}", "{timeout = 5}", "{zzz = 1}"),
    *(
        "[{}]",
        "[{name = 'a'}]",
        "[{name = ''}]",
        "[{name = 1}]",
        "[{name = 'a', zzz = 1}]",
        "[{name = 'a', env = 'A'}]",
    ),
)


TOP_KEYS = [field.key for field in fields.HOOKS_TOML_FIELDS]


@pytest.mark.parametrize("key", ["hooks", *(f"hooks.{key}" for key in (*TOP_KEYS, "zzz")), "zzz"])
def test_every_key_of_hooks_toml_takes_the_same_values_in_the_schema(key, tmp_path):
    for value in TOML_VALUES:
        compare_toml(f"{key} = {value}\n", tmp_path)


@pytest.mark.parametrize("key", [*(field.key for field in fields.HOOKS_TOML_FIELDS[-1].fields), "zzz"])
def test_every_key_of_defaults_and_overrides_takes_the_same_values_in_the_schema(key, tmp_path):
    name = "" if key == "name" else "name = 'a'\n"
    for value in TOML_VALUES:
        compare_toml(f"[hooks.defaults]\n{key} = {value}\n", tmp_path)
        compare_toml(f"[[hooks.override]]\n{name}{key} = {value}\n", tmp_path)


lines = st.tuples(st.sampled_from(TOP_KEYS), st.sampled_from(TOML_VALUES)).map(lambda pair: f"{pair[0]} = {pair[1]}\n")


@given(st.lists(lines, max_size=5))
def test_any_mix_of_keys_is_the_same_to_the_schema(tmp_path_factory, mix):
    compare_toml("[hooks]\n" + "".join(mix), tmp_path_factory.mktemp("toml"))


def test_a_float_without_fraction_is_whole_to_a_schema_and_not_to_the_checker(tmp_path):
    assert HOOKS_TOML.is_valid({"hooks": {"max_stop_blocks": 3.0}})
    path = tmp_path / "hooks.toml"
    path.write_text("[hooks]\nmax_stop_blocks = 3.0\n")
    assert not is_clean(read_hooks_toml(str(path), "user").diagnostics)


# HOOK.md

# What no schema can express: patterns that RE2 cannot compile, and fields that depend on the event.
UNKNOWN_TO_SCHEMAS = ("the pattern ", "the dialect ")
INT = re.compile(r"[-+]?[0-9]+")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


OTHER_NUMBERS = re.compile(r"(?m)^(?:timeout|priority): (?:0[0-9]|[0-9]+e)")  # see SPELLINGS


def read_yaml(node: Node) -> Any:
    """Return a node as a reader of YAML 1.2 does, an editor for example."""
    if isinstance(node, Mapping):
        return {key: read_yaml(value) for key, (_, value) in node.entries.items()}
    if isinstance(node, Sequence):
        return [read_yaml(item) for item in node.items]
    if node.quoted:
        return node.text
    if node.text.lower() in ("", "~", "null"):
        return None
    if node.text.lower() in ("true", "false"):
        return node.text.lower() == "true"
    if INT.fullmatch(node.text):
        return int(node.text)
    return float(node.text) if FLOAT.fullmatch(node.text) else node.text


def check_manifest(text: str) -> tuple[bool, bool] | None:
    """Return whether the schema and the checker accept a manifest; None if it is not YAML."""
    try:
        frontmatter = read_frontmatter(text)
    except FrontmatterError:
        return None
    hook, _ = parse_manifest(text, path="/h/guard/HOOK.md", folder="/h/guard", scope="user")
    diagnostics = tuple(d for d in hook.diagnostics if not d.message.startswith(UNKNOWN_TO_SCHEMAS))
    is_foreign = hook.state_reason == OPENCLAW_HOOK
    return (
        None
        if frontmatter.forgiven or is_foreign
        else (HOOK_MD.is_valid(read_yaml(frontmatter.top)), is_clean(diagnostics))
    )


def compare_manifest(text: str) -> None:
    found = check_manifest(text)
    assert found is None or found[0] == found[1], (text, found)


def make_manifest(**lines: str) -> str:
    written = {"name": "guard", "description": "a test", "trigger": "pre-tool-call", **lines}
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in written.items()) + "---\n"


def test_the_schema_of_hook_md_agrees_with_the_checker():
    texts = list_files("HOOK.md")
    assert len(texts) > 300
    for text in texts:
        if not OTHER_NUMBERS.search(text):
            compare_manifest(text)


YAML_VALUES = (
    *(
        "",
        "x",
        "'x'",
        "a b",
        "a/b",
        ".a",
        "true",
        "false",
        "0",
        "-1",
        "99",
        "100",
        "1000",
        "1001",
        "600001",
        "1.5",
    ),
    *("allow", "block", "BLOCK", "basic", "isolated", "native", "claude", "Stop", "PreToolUse", "pre-tool-cal", "1:30"),
    *("[]", "[a]", "[a, 1]", "[a, '']", "[a, [b]]", "[{a: b}]", "{}", "{a: b}", "'500'", "'true'", "5s", "x" * 65),
    *("{source: startup}", "{source: [a]}", "{trigger: 5}", "{prompt: x, tool: y}"),
    *("{tool: Shell}", "{tool: ~}", "{tool: 5, pattern: rm}", "{tool: [a]}", "{tols: a}"),
    *("{bins: git}", "{bins: [git], os: [linux]}", "{bins: {a: b}}", "{env: ['']}", "{bin: git}"),
)
# What is written, and what the schema and the checker report: a YAML reader does not keep how a value is written.
SPELLINGS = {
    "async: yes": (False, True),
    "async: 'no'": (False, False),
    "timeout: 0500": (True, False),
    "timeout: +500": (True, False),
    "timeout: 500.0": (True, False),
    "timeout: 5e3": (True, False),
    "matcher: ''": (False, True),
    "env: ~": (False, True),
    "env: [~]": (False, True),
    "name: 1e+3": (True, False),
}


@pytest.mark.parametrize("key", [*(field.key for field in fields.HOOK_MD_FIELDS), "zzz"])
def test_every_key_of_hook_md_takes_the_same_values_in_the_schema(key):
    for value in YAML_VALUES:
        compare_manifest(make_manifest(**{key: value}))


@pytest.mark.parametrize("line", SPELLINGS)
def test_a_spelling_that_a_yaml_reader_loses_is_a_known_difference(line):
    key, _, value = line.partition(": ")
    assert check_manifest(make_manifest(**{key: value})) == SPELLINGS[line]


manifests = st.dictionaries(
    st.sampled_from([field.key for field in fields.HOOK_MD_FIELDS]), st.sampled_from(YAML_VALUES), max_size=6
)


@given(manifests)
def test_any_manifest_is_the_same_to_the_schema(lines):
    compare_manifest("---\n" + "".join(f"{key}: {value}\n" for key, value in lines.items()) + "---\n")


# Defaults


def test_the_defaults_of_the_table_are_those_of_the_engine():
    found = {
        field.key: field.default for field in fields.HOOKS_TOML_FIELDS if field.user_only and field.default is not None
    }
    # What `sources` says is turned into rules.
    assert tuple(found.pop("sources")) == list_default_sources()
    approvals = next(field for field in fields.HOOKS_TOML_FIELDS if field.key == "approvals")
    found |= {field.key: field.default or "" for field in approvals.fields}
    # Without `ask` there is a rule. Mistakes are no settings: what reads the file adds them.
    unlike = ("model", "source_rules", "ask", "ask_mistake", "factor_mistake")
    assert found == {name: value for name, value in Settings._defaults.items() if name not in unlike}
    hook = Hook("a", None, "", "user", Script("/a"), "/a/HOOK.md", find_hook_dialect("native"))
    table: dict[str, Any] = {
        field.key: field.default
        for field in (
            fields.TIMEOUT_FIELD,
            fields.ASYNC_FIELD,
            fields.PRIORITY_FIELD,
            fields.ON_FAILURE_FIELD,
            fields.SANDBOX_FIELD,
            fields.NETWORK_FIELD,
            fields.IMPORTS_FIELD,
            fields.ASK_FIELD,
        )
    }
    assert table == {
        "timeout": hook.timeout * 1000,
        "async": hook.background,
        "priority": hook.priority,
        "on_failure": hook.on_failure,
        "sandbox": hook.sandbox,
        "network": hook.network,
        "imports": hook.imports,
        "ask": hook.ask,
    }
