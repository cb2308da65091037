"""When two commands of the corpora that guards are measured with are of the same kind."""

from __future__ import annotations

from scripts.corpus_contradictions import find_kind, is_contradicted

# What is wanted passed, what is wanted stopped.
SAME = (
    ("git stash clear", "git stash clear"),
    ("git stash drop 'stash@{1}'", "git stash drop"),
    ("git branch -D old", "git branch -D new"),
    ("git restore :/", "git restore ."),
    ("git checkout -f -- a.txt", "git checkout -- b.txt"),
    ("git checkout -f main", "git checkout -f other"),
    ("mv a b -t/c", "mv -t /c a b"),
    ("x --to=/c a", "x a --to=/c"),
    ('lvremove "$VOLUME"', "lvremove group/data"),
)
OTHER = (
    ("cat a.txt", "cat .env"),
    ("rm -rf ./build", "rm -rf /"),
    ("rm -rf '/*'", "rm -rf /*"),
    ("rm -r a", "rm -rf a"),
    ("git stash list", "git stash drop"),
    ("git branch -d old", "git branch -D old"),
    ("git restore a.txt", "git restore ."),
    ("git checkout main", "git checkout -f main"),
    ("git checkout a.txt", "git checkout ."),
    ("git clean -f --no-force", "git clean --no-force -f"),
    ("git clean -f .git", "git clean -f .."),
    ("git clean -n -f", "git clean -f"),
    ("git push origin main", "git push origin +main"),
    ("eval 'rm -rf /'", "rm -rf /"),
    ("echo rm -rf / | cat", "echo rm -rf / | sh"),
    ("bash 3< a", "bash < a"),
    ("lvremove", "lvremove group/data"),
    ("rm a; ls", "rm a && ls"),
    ("", ""),
)


def test_commands_of_the_same_kind_contradict_each_other() -> None:
    assert [pair for pair in SAME if not _contradicts(*pair)] == []
    assert [pair for pair in OTHER if _contradicts(*pair)] == []


def test_the_folder_of_a_command_is_a_part_of_its_kind() -> None:
    stopped = {find_kind("git clean -f")}
    assert is_contradicted(find_kind("git clean -f ."), stopped)
    assert not is_contradicted(find_kind("git clean -f", "@WS@/project/src"), stopped)
    assert not is_contradicted(find_kind("git clean -f", "@WS@/outside"), stopped)
    assert is_contradicted(find_kind("git restore .", "@WS@/project/src"), {find_kind("git restore a.txt")})


def _contradicts(passed: str, stopped: str) -> bool:
    return is_contradicted(find_kind(passed), {find_kind(stopped)})
