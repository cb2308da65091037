"""The word that somebody probably meant."""

from boathook.core.near_words import find_near_word, is_typing_error, suggest


def test_the_nearest_word_is_found_with_any_capital_letters() -> None:
    rows = {"lst": "list", "LIST": "list", "pretooluse": "PreToolUse", "Bahs": "Bash", "zzz": ""}
    known = ("list", "PreToolUse", "Bash", "bash")
    assert {word: find_near_word(word, known) for word in rows} == rows


def test_a_word_with_two_swapped_letters_is_near_with_any_limit() -> None:
    rows = {"bahs": "bash", "BAHS": "bash", "ahbs": "", "hbas": "", "bas": "", "bashh": ""}
    assert {word: find_near_word(word, ["other", "bash"], cutoff=0.95) for word in rows} == rows


def test_a_suggestion_names_one_word_or_a_place_to_look_or_lists_all() -> None:
    assert suggest("gaurd", ["guard", "format"]) == "did you mean 'guard'?"
    assert suggest("zzz", ["guard", "format"]) == "known: guard, format"
    assert suggest("zzz", ["guard", "format"], "boathook list shows them") == "boathook list shows them"
    assert suggest("gurd", ["guard"], cutoff=0.95) == "known: guard"


def test_one_slip_is_a_typing_error_and_another_word_is_not() -> None:
    slips = ("Write", "wirte", "writ", "wrrite", "wride", "vrite")
    assert [word for word in slips if not is_typing_error(word, "write")] == []
    others = ("write", "writes", "rewrite", "wrote_it", "wr", "iterw")
    assert [word for word in others if is_typing_error(word, "write")] == []
    pairs = (("step_1", "step_2"), ("step_1", "step_12"), ("get_note", "get_notes"), ("add", "and"), ("", "a"))
    assert [pair for pair in pairs if is_typing_error(*pair) or is_typing_error(*reversed(pair))] == []
