"""The new messages of a person at the end of a conversation, for bridges whose frameworks have it as a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Predicate = Callable[[Any], bool]


def find_prompts(messages: Sequence[Any], is_of_person: Predicate, is_of_model: Predicate) -> list[int]:
    """Return where the person's messages after the last one of the model are; the last one before if there are none."""
    places = [at for at, message in enumerate(messages) if is_of_person(message)]
    others = [at for at, message in enumerate(messages) if is_of_model(message)]
    return [at for at in places if not others or at > others[-1]] or places[-1:]


def join_texts(texts: Iterable[str]) -> str:
    """Return texts as hooks see them: one text, without empty ones."""
    return "\n".join(filter(None, texts))


def replace_prompts(
    messages: Sequence[Any], places: Sequence[int], text: str, replace: Callable[[Any, str | None], Any]
) -> list[Any]:
    """Return messages with another text in the first of these places, and none in the others.

    `replace` returns a message with a text, or with none if that is None; None if nothing is left of it.
    """
    changed = [*messages]
    for at in reversed(places):
        message = replace(changed[at], text if at == places[0] else None)
        changed[at : at + 1] = [] if message is None else [message]
    return changed
