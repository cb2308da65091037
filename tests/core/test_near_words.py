"""The word that somebody probably meant."""

from boathook.core.near_words import find_near_word, suggest


def test_the_nearest_word_is_found_whatever_its_capital_letters() -> None:
    rows = {"lst": "list", "LIST": "list", "pretooluse": "PreToolUse", "Bahs": "Bash", "zzz": ""}
    known = ("list", "PreToolUse", "Bash", "bash")
    assert {word: find_near_word(word, known) for word in rows} == rows


def test_a_suggestion_names_one_word_or_else_says_where_to_look_or_lists_all() -> None:
    assert suggest("gaurd", ["guard", "format"]) == "did you mean 'guard'?"
    assert suggest("zzz", ["guard", "format"]) == "known: guard, format"
    assert suggest("zzz", ["guard", "format"], "boathook list shows them") == "boathook list shows them"
    assert suggest("gurd", ["guard"], cutoff=0.95) == "known: guard"
