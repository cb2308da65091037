"""Strict JSON: agrees with the standard library on what is valid, and refuses what hides or cannot be written again."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boathook.core.json_text import (
    MAX_DEPTH,
    JsonError,
    decode,
    describe_position,
    dump_line,
    dumps,
    is_same_json,
    iter_leaves,
    loads,
)
from tests.core.builders import json_values


@given(json_values)
@example({"": [[], {}, "\u2028", "\x7f", "\\", '"']})
@example(-0.0)
def test_what_is_written_reads_back_the_same(value):
    assert loads(dumps(value)) == value


@given(json_values)
def test_writing_is_the_standard_library_s_with_non_ascii_kept(value):
    assert dumps(value) == json.dumps(value, ensure_ascii=False)


@given(json_values, st.booleans(), st.integers(0, 3))
def test_reading_agrees_with_the_standard_library(value, escaped, indent):
    text = json.dumps(value, ensure_ascii=escaped, indent=indent or None)
    assert loads(f" \t\r\n{text}\n ") == json.loads(text)


@given(st.text(alphabet='{}[]":, \\u0123456789abtruefalsn.eE+-\n', max_size=14))
@example('"\\ud83d\\ude00"')
@example("\ufeff1")
@example("01")
@example("-")
@example('"\t"')
@example('{"a":1,}')
@example("1E310")
@example("[-1e309]")
def test_a_text_is_accepted_exactly_if_the_standard_library_accepts_it(text):
    refusals = {"object_pairs_hook": _no_repeats, "parse_constant": _no_constants, "parse_float": _no_infinity}
    try:
        expected = json.loads(text, **refusals)
    except (ValueError, RecursionError):
        with pytest.raises(JsonError):
            loads(text)
    else:
        assert loads(text) == expected


def _no_repeats(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


def _no_infinity(digits):
    if math.isinf(number := float(digits)):
        raise ValueError(digits)
    return number


def _no_constants(name):
    raise ValueError(name)


DEEP = 100_000
REFUSED = {
    "a repeated key": ('{"a": 1, "a": 2}', "repeated key 'a'"),
    "a repeated key inside": ('[{"b": {"x": 1, "x": 1}}]', "repeated key 'x'"),
    "not a number": ("[NaN]", "NaN is not JSON"),
    "infinity": ("Infinity", "Infinity is not JSON"),
    "minus infinity": ("-Infinity", "-Infinity is not JSON"),
    "a float beyond limits": ('{"n": 1e400}', "number 1e400 is beyond limits"),
    "a negative float beyond limits": ("-1e400", "number -1e400 is beyond limits"),
    "five thousand digits": ("9" * 5000, "number of 5000 digits is beyond limits"),
    "lists in lists": ("[" * DEEP + "]" * DEEP, f"nested too deep (more than {MAX_DEPTH} levels)"),
    "objects in objects": ('{"a":' * DEEP + "1" + "}" * DEEP, f"nested too deep (more than {MAX_DEPTH} levels)"),
    "open lists": ("[" * DEEP, f"nested too deep (more than {MAX_DEPTH} levels)"),
    "one level too many": (
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        f"nested too deep (more than {MAX_DEPTH} levels)",
    ),
    "text behind": ("{} trailing", "text after the JSON value at line 1 column 3"),
    "text before": ("x {}", "no JSON value at line 1 column 1"),
    "two documents": ('{"a": 1}\n{"a": 2}', "a second document after the JSON value at line 1 column 9"),
    "two lists": ("[] []", "a second document after the JSON value at line 1 column 3"),
    "nothing": ("", "no JSON value at line 1 column 1"),
    "blanks only": (" \n ", "no JSON value at line 2 column 2"),
    "a value missing": ('{"a": }', "no JSON value at line 1 column 7"),
    "an open text": ('{"a": "b', "Unterminated string starting at at line 1 column 7"),
    "an open object": ('{"a": 1', "Expecting ',' delimiter at line 1 column 8"),
    "a control character": ('"a\nb"', "Invalid control character at at line 1 column 3"),
    "single quotes": ("{'a': 1}", "Expecting property name enclosed in double quotes at line 1 column 2"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_it_refuses_and_names_the_error(text, message):
    with pytest.raises(JsonError) as error:
        loads(text)
    assert str(error.value) == message


def test_the_deepest_nesting_that_is_allowed_can_be_written_again():
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert dumps(loads(text)) == text


def test_many_brackets_side_by_side_are_not_deep():
    assert loads("[" + "[]," * 1000 + "[]]") == [[]] * 1001


def test_a_lone_surrogate_is_written_as_its_escape_and_reads_back():
    value = loads('{"a": "x\\ud800y"}')
    assert value == {"a": "x\ud800y"}
    assert dump_line(value) == b'{"a": "x\\ud800y"}\n'
    assert loads(decode(dump_line(value))) == value


def test_a_line_is_utf_8_with_spaces_after_colons_and_commas():
    assert dump_line({"a": [1, "é—😀"], "b": None}) == '{"a": [1, "é—😀"], "b": null}\n'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_numbers_that_are_not_json_are_not_written(value):
    with pytest.raises(ValueError, match="Out of range float values"):
        dumps(value)


def test_a_value_that_is_not_json_is_not_written():
    with pytest.raises(TypeError, match="set is not a JSON value"):
        dumps({"a": {1}})


UNDECODABLE = {
    "a wrong byte": (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
    "a wrong byte behind a mark": (b"\xef\xbb\xbfa\xff", "not UTF-8 at byte 1"),
    "an encoded surrogate": (b'"\xed\xa0\x80"', "not UTF-8 at byte 1"),
    "a NUL": (b'{"a"\0: 1}', "NUL at character 4"),
    "UTF-16": ("{}".encode("utf-16"), "not UTF-8 at byte 0"),
}


@pytest.mark.parametrize(("data", "message"), UNDECODABLE.values(), ids=UNDECODABLE)
def test_bytes_that_are_not_text_are_refused_with_their_place(data, message):
    with pytest.raises(JsonError) as error:
        decode(data)
    assert str(error.value) == message


def test_a_byte_order_mark_is_forgiven_once():
    assert decode(b"\xef\xbb\xbf{}") == "{}"
    assert decode(b"\xef\xbb\xbf\xef\xbb\xbf") == "\ufeff"


@given(st.binary(max_size=40))
def test_any_bytes_are_decoded_or_refused(data):
    try:
        text = decode(data)
    except JsonError:
        return
    assert text.encode() == data.removeprefix(b"\xef\xbb\xbf")


def test_a_place_is_line_and_column():
    assert [describe_position("ab\ncd", at) for at in range(6)] == [
        "line 1 column 1",
        "line 1 column 2",
        "line 1 column 3",
        "line 2 column 1",
        "line 2 column 2",
        "line 2 column 3",
    ]


@given(json_values, json_values)
def test_values_are_alike_exactly_if_they_are_written_alike_with_sorted_keys(one, other):
    assert is_same_json(one, one)
    assert is_same_json(one, loads(dumps(one)))
    if is_same_json(one, other):
        assert one == other
    elif one == other:
        assert json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True)


DIFFERENT = [(True, 1), (False, 0), (False, None), ([True], [1]), ({"a": 0}, {"a": False}), ([1], [1, 1]), ({}, [])]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_flag_is_not_alike_a_number(one, other):
    assert (is_same_json(one, other), is_same_json(other, one)) == (False, False)


def test_the_order_of_keys_and_the_way_a_number_is_written_do_not_matter():
    assert is_same_json({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0})


@given(json_values)
def test_leaves_are_the_strings_among_the_values(value):
    assert sorted(iter_leaves(value)) == sorted(_strings(value))


def _strings(value):
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in _strings(item)]


def test_leaves_are_found_at_any_depth():
    value = "deep"
    for _ in range(50_000):
        value = [value]
    assert list(iter_leaves(value)) == ["deep"]


ALONE = """
import sys
from boathook.core.json_text import JsonError, loads
assert "json" not in sys.modules
try:
    loads('{"a": tru}')
    loads('{"a" 1}')
except JsonError as fault:
    print(fault)
try:
    loads('{"a" 1}')
except JsonError as fault:
    print(fault)
"""


def test_errors_are_reported_in_a_process_that_never_imported_json():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (
        "no JSON value at line 1 column 7\nExpecting ':' delimiter at line 1 column 6\n",
        "",
    )
