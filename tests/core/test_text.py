"""Text of hooks, made fit for a terminal: nothing in it can steer one."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.text import MAX_REASON_CHARS, clean_text

wild = st.text(alphabet=st.sampled_from("ab \n\t\r\x00\x07\x08\x1b\x7f\x85\x9b\x9d[]0;1mHP_^X\\é—")) | st.text()


@given(wild, st.none() | st.integers(0, 20))
def test_no_control_character_is_left(text, limit):
    left = {char for char in clean_text(text, limit) if unicodedata.category(char) == "Cc"}
    assert left <= {"\n", "\t"}


@given(wild)
def test_cleaning_twice_changes_nothing_more(text):
    once = clean_text(text)
    assert clean_text(once) == once


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"])))
def test_text_without_control_characters_only_loses_outer_white_space(text):
    assert clean_text(text) == text.strip()


@given(wild, st.integers(0, 30))
def test_a_cut_text_is_never_longer_than_the_limit_and_the_note(text, limit):
    assert len(clean_text(text, limit)) <= limit + len(f"… [cut, {len(text):,} characters]")


CASES = {
    "colours": ("\x1b[31mred\x1b[0m", "red"),
    "a title up to BEL": ("\x1b]0;title\x07text", "text"),
    "a title up to ST": ("\x1b]0;title\x1b\\text", "text"),
    "a device string": ("a\x1bPq#0\x1b\\b", "ab"),
    "a two-letter sequence": ("a\x1bcb", "ab"),
    "a lone escape at the end": ("a\x1b", "a"),
    "an unfinished sequence": ("a\x1b[12", "a"),
    "a link": ("\x1b]8;;http://x\x07here\x1b]8;;\x07", "here"),
    "line ends": ("a\r\nb\rc\n", "a\nbc"),
    "tabs stay": ("\ta\tb\t", "a\tb"),
    "bells and backspaces": ("a\x07\x08b\x7f", "ab"),
    "C1 controls": ("a\x9b31m", "a31m"),
    "nothing": ("", ""),
    "only controls": ("\x00\x01\x02", ""),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_escape_sequences_go_and_text_stays(text, expected):
    assert clean_text(text) == expected


def test_a_text_beyond_the_limit_is_cut_and_the_cut_is_shown():
    assert clean_text("x" * MAX_REASON_CHARS, MAX_REASON_CHARS) == "x" * MAX_REASON_CHARS
    assert clean_text("x" * 10_000, MAX_REASON_CHARS) == "x" * 8192 + "… [cut, 10,000 characters]"


def test_a_cut_inside_an_escape_sequence_is_still_shown():
    assert clean_text("abc\x1b]0;a very long title\x07def", 6) == "abc… [cut, 28 characters]"
