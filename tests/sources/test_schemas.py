"""The schemas accept what the checker accepts: no error and no unknown key. Differences are listed with their reason."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from boathook.core.catalog import Settings
from boathook.core.hook import ERROR, Diagnostic, Hook, Script
from boathook.sources import fields
from boathook.sources.hooks_toml import read_config
from boathook.testing.vectors import load_vectors

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs/reference/schemas"


def load_validator(name: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


HOOKS_TOML = load_validator("hooks-toml.json")


def is_clean(diagnostics: tuple[Diagnostic, ...]) -> bool:
    return not any(d.level == ERROR or d.message.startswith("unknown key") for d in diagnostics)


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
    config = read_config(str(path), "user")
    try:
        data = tomllib.loads(text)
    except ValueError:
        return
    assert HOOKS_TOML.is_valid(data) == is_clean(config.problems), (data, config.problems)


@pytest.mark.parametrize("text", list_files("hooks.toml"))
def test_the_schema_of_hooks_toml_agrees_with_the_checker(text, tmp_path):
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


TOP_KEYS = [field.key for field in fields.HOOKS_TOML]


@pytest.mark.parametrize("key", ["hooks", *(f"hooks.{key}" for key in (*TOP_KEYS, "zzz")), "zzz"])
def test_every_key_of_hooks_toml_takes_the_same_values_in_the_schema(key, tmp_path):
    for value in TOML_VALUES:
        compare_toml(f"{key} = {value}\n", tmp_path)


@pytest.mark.parametrize("key", [*(field.key for field in fields.HOOKS_TOML[-1].fields), "zzz"])
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
    assert not is_clean(read_config(str(path), "user").problems)


# Defaults


def test_the_defaults_of_the_table_are_those_of_the_engine():
    found = {field.key: field.default for field in fields.HOOKS_TOML if field.user_only and field.default is not None}
    assert found == {name: value for name, value in Settings._defaults.items() if name != "model"}
    hook = Hook("a", None, "", "user", Script("/a"), "/a/HOOK.md")
    table: dict[str, Any] = {
        field.key: field.default
        for field in (fields.TIMEOUT, fields.ASYNC, fields.PRIORITY, fields.ON_FAILURE, fields.SANDBOX, fields.NETWORK)
    }
    assert table == {
        "timeout": hook.timeout * 1000,
        "async": hook.background,
        "priority": hook.priority,
        "on_failure": hook.on_failure,
        "sandbox": hook.sandbox,
        "network": hook.network,
    }
