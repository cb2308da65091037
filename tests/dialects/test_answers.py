"""What the answers of hooks have in common: where JSON begins or is buried, types, and how an end is put into words."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boathook.core.json_text import JsonError
from boathook.core.verdict import Exit
from boathook.dialects.answers import (
    begins_like_json,
    check_types,
    default_reason,
    describe_exit,
    read_stderr_reason,
    refuse_hidden_json,
    to_texts,
)
from tests.core.builders import a_hook, json_values

BEGINS = {"{": True, "[1]": True, '"x"': True, "": False, "42": False, "true": False, " {": False, "see {": False}


@pytest.mark.parametrize(("text", "expected"), BEGINS.items(), ids=repr)
def test_a_text_begins_like_json_by_its_first_character(text, expected):
    assert begins_like_json(text) is expected


BURIED = {
    "behind a line": ('log\n{"a": 1}', "line 2 column 1"),
    "behind a word": ('log {"a": 1}', "line 1 column 5"),
    "over lines": ('log\n{\n  "a" : 1\n}', "line 2 column 1"),
    "with room before the colon": ('x {"a"      : 1}', "line 1 column 3"),
    "as a second key": ('x {"c": 2, "b": 1}', "line 1 column 3"),
    "in an inner object": ('x {"c": {"b": 1}}', "line 1 column 9"),
    "behind the word without a colon": ('x {"a", "a": 1}', "line 1 column 3"),
    "no brace": ('"a": 1', None),
    "the brace behind": ('"a": 1 {', None),
    "another key": ('x {"c": 1}', None),
    "a value": ('x {"c": "a"}', None),
    "no colon": ('x {"a"}', None),
    "unquoted": ("x {a: 1}", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("text", "where"), BURIED.values(), ids=BURIED)
def test_an_answer_buried_in_text_is_refused_with_its_place(text, where):
    if where is None:
        refuse_hidden_json(text, ("a", "b"))
        return
    with pytest.raises(JsonError) as error:
        refuse_hidden_json(text, ("a", "b"))
    assert str(error.value) == f"text before the JSON object at {where}"


@given(st.text(max_size=20), st.dictionaries(st.just("a"), json_values, min_size=1), st.text(max_size=20))
@example("", {"a": {}}, "")
def test_no_object_with_a_known_key_stays_hidden_in_text(before, found, behind):
    with pytest.raises(JsonError):
        refuse_hidden_json(f"{before}{json.dumps(found)}{behind}", ("a",))


TYPES = {"flag": (bool, "true or false"), "text": (str, "text"), "object": (dict, "an object"), "any": (object, "any")}
TYPED = {
    "nothing": ({}, None),
    "nulls": (dict.fromkeys(TYPES), None),
    "right ones": ({"flag": False, "text": "", "object": {}, "any": [1]}, None),
    "other keys": ({"other": 1}, None),
    "a number for a flag": ({"flag": 1}, "'in.flag' must be true or false, not a number"),
    "a flag for a text": ({"text": True}, "'in.text' must be text, not a flag"),
    "a list for an object": ({"object": []}, "'in.object' must be an object, not a list"),
    "the first of two": ({"object": "", "flag": ""}, "'in.flag' must be true or false, not text"),
    "a list": ([], "the top level is a list, not an object"),
    "null": (None, "the top level is null, not an object"),
}


@pytest.mark.parametrize(("found", "message"), TYPED.values(), ids=TYPED)
def test_a_wrong_type_is_named_with_its_place(found, message):
    if message is None:
        check_types(found, TYPES, "in.")
        return
    with pytest.raises(JsonError) as error:
        check_types(found, TYPES, "in.")
    assert str(error.value) == message


def test_a_block_without_a_reason_names_its_hook():
    assert default_reason(a_hook("guard")) == "blocked by hook 'guard'"


WORDS = {
    "no end": (Exit(None), "it did not run"),
    "exit 1": (Exit(1), "exit code 1 (only exit 2 blocks)"),
    "exit 1 with words": (Exit(1, stderr=b"oops\n"), "exit code 1 (only exit 2 blocks): oops"),
    "exit 127": (Exit(127, stderr=b"\x1b[31mnot found\x1b[0m"), "exit code 127: not found"),
    "a signal": (Exit(-9), "killed by signal 9"),
    "a signal with words": (Exit(-15, stderr=b"a\xffb"), "killed by signal 15: a\ufffdb"),
}


@pytest.mark.parametrize(("end", "message"), WORDS.values(), ids=WORDS)
def test_the_failure_of_a_hook_is_described(end, message):
    assert describe_exit(end) == message


def test_the_text_on_stderr_is_cleaned_and_cut():
    assert read_stderr_reason(Exit(2, stderr=b" \x1b[1mno\x1b[0m\x07\r\nnever \n")) == "no\nnever"
    assert read_stderr_reason(Exit(2, stderr=b"x" * 9000)) == "x" * 8192 + "… [cut, 9,000 characters]"


def test_a_text_is_an_effect_unless_nothing_is_left_of_it():
    assert [to_texts(text) for text in (" a\n", "", None, " \x07 ")] == [("a",), (), (), ()]
