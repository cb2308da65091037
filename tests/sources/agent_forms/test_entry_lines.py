"""The lines that `boathook check` names for entries of hook files."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.hook import ERROR, Diagnostic
from boathook.sources.agent_forms.entry_lines import add_lines, list_json_lines, list_lines, list_table_lines

JSON_TEXT = """{
  "version": 1,
  "hooks": {
    "stop": [
      {"command": "a, [b] {c}"},
      {
        "command": 5,
        "matcher": "x\\"y"
      }
    ],
    "preToolUse": [[], {}]
  }
}
"""
TABLES = """model = "m"
[[hooks]]
event = "Stop"

 [[ hooks ]]
command = "x"
[other]
"""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("hooks", 3),
        ("hooks.stop", 4),
        ("hooks.stop[0]", 5),
        ("hooks.stop[1]", 6),
        ("hooks.stop[1].command", 7),
        ("hooks.stop[1].matcher", 8),
        ("hooks.preToolUse[1]", 11),
    ],
)
def test_every_place_of_a_json_file_has_its_line(place, line):
    assert list_json_lines(JSON_TEXT)[place] == line


def test_tables_and_their_keys_have_lines():
    lines = list_table_lines(TABLES)
    tables = {"hooks": 2, "hooks[0]": 2, "hooks[0].event": 3, "hooks[1]": 5, "hooks[1].command": 6}
    assert lines == {"model": 1, **tables, "other": 7}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", {}),
        ("[hooks]\nsources = ['cursr']\n", {"hooks": 1, "hooks.sources": 2}),
        ("[ hooks . 'defaults' ] # x\n\"on_failure\" = 1", {"hooks.defaults": 1, "hooks.defaults.on_failure": 2}),
        (
            "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\n[[hooks.Stop.hooks]]\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = 1",
            {
                "hooks.Stop": 1,
                "hooks.Stop[0]": 1,
                "hooks.Stop[0].hooks": 2,
                "hooks.Stop[0].hooks[0]": 2,
                "hooks.Stop[0].hooks[1]": 3,
                "hooks.Stop[1]": 4,
                "hooks.Stop[1].hooks": 5,
                "hooks.Stop[1].hooks[0]": 5,
                "hooks.Stop[1].hooks[0].type": 6,
            },
        ),
    ],
)
def test_a_toml_file_of_any_tables_has_lines(text, lines):
    assert list_table_lines(text) == lines


def test_a_place_that_the_file_does_not_have_is_where_it_would_be(tmp_path):
    path = tmp_path / "hooks.json"
    path.write_text(JSON_TEXT)
    places = {"hooks.stop[1].loop_limit": 6, "hooks.lunch": 3, "": None, "version": None}
    diagnostics = [Diagnostic(str(path), None, place, ERROR, "wrong") for place in places]
    assert [one.line for one in add_lines(diagnostics)] == list(places.values())


def test_a_line_that_is_known_stays(tmp_path):
    known = Diagnostic(str(tmp_path / "no.json"), 7, "hooks", ERROR, "wrong")
    unknown = known.replace(line=None)
    assert add_lines([known, unknown]) == [known, unknown]
    assert list_lines(known.path) == {}


@given(value=st.dictionaries(st.text("abc", min_size=1), VALUES, max_size=4))
def test_every_value_has_the_line_that_it_is_written_in(value):
    lines = list_json_lines(json.dumps({"hooks": value}, indent=1))
    rows = json.dumps({"hooks": value}, indent=1).split("\n")
    for key in value:
        assert rows[lines[f"hooks.{key}"] - 1].startswith(f"  {json.dumps(key)}: ")


@given(text=st.text('{}[]",:\n ab\\'))
def test_any_text_has_lines_or_none(text):
    assert all(line <= text.count("\n") + 1 for line in list_json_lines(text).values())


@given(text=st.text('[].="\n ab#'))
def test_any_text_of_tables_has_lines_or_none(text):
    assert all(line <= text.count("\n") + 1 for line in list_table_lines(text).values())
