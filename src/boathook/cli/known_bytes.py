"""Hooks whose exact bytes a person has trusted in another folder, such as another clone: one question for all of them."""

# Never without a question: bytes are not all that a hook does, and a folder may be anybody's (ADR 23).

from __future__ import annotations

import re
from collections.abc import Sequence

from boathook.cli.show import echo
from boathook.cli.terminal import confirm_action
from boathook.cli.trust_review import Review, TrustCandidate, describe_other_trust, find_other_trust
from boathook.core.interpreters import is_interpreter
from boathook.sources.shell_scripts import is_shell_script
from boathook.trust.snapshot import FILE, SnapshotItem
from boathook.trust.store import TrustStore

# What nothing runs unless it is a program.
_TEXT_ENDINGS = (".md", ".txt")


def confirm_known_bytes(
    reviews: Sequence[tuple[TrustCandidate, Review]], store: TrustStore
) -> list[tuple[TrustCandidate, Review]]:
    """Return the hooks that a person trusts here as well, because their bytes are trusted elsewhere; [] without an answer."""
    known = [
        (candidate, review, record)
        for candidate, review in reviews
        if _may_be_taken_over(candidate, review) and (record := find_other_trust(candidate, store)) is not None
    ]
    if not known:
        return []
    echo("")
    for candidate, _, record in known:
        echo(f"{candidate.hook.name} has exactly the bytes that you trusted in {describe_other_trust(record)}")
    question = f"Trust {'it' if len(known) == 1 else 'all of these'} here, too? No shows what would run"
    return [(candidate, review) for candidate, review, _ in known] if confirm_action(question, default=False) else []


def _may_be_taken_over(candidate: TrustCandidate, review: Review) -> bool:
    """Whether its bytes are all that matters: it replaces no hook, all of it can be shown, and it runs no other code here."""
    content = candidate.content
    if content is None or content.bound_files.list_uncovered_files():
        return False
    items = [item for snapshot in content.snapshots.values() for item in snapshot.items]
    return all(map(_is_understood, items)) and review.is_whole and not candidate.is_override


def _is_understood(item: SnapshotItem) -> bool:
    """Whether it is known what a file runs. Code in another language than that of a shell may start anything of a project."""
    if item.kind != FILE or (item.path.endswith(_TEXT_ENDINGS) and not item.mode & 0o111):
        return True
    words = re.findall(r"[\w.+-]+", item.data.decode("utf-8", "replace"))
    return is_shell_script(item.path, item.data) and not any(map(is_interpreter, words))
