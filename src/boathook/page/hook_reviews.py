"""Hooks that wait for a review: one of them with its bytes, as `boathook trust` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boathook.assembly import load_with_trust, locate
from boathook.cli.trust import TrustChoices, list_waiting_hooks
from boathook.cli.trust_review import Review, TrustCandidate
from boathook.errors import ConfigError
from boathook.page.parts import make_project_command
from boathook.trust.store import TrustStore

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext


def find_waiting_hook(context: PageContext, project: str, identity: str) -> tuple[TrustCandidate, TrustStore]:
    """Return a hook that waits for a review, read now; ConfigError if there is none."""
    loaded, store = load_with_trust(locate(project or context.project, state=context.given_state))
    for candidate in list_waiting_hooks((), loaded, TrustChoices()):
        if candidate.identity == identity and candidate.place.project == project:
            return candidate, store
    raise ConfigError("this hook does not wait for a review any more: it was decided, or it is gone")


def describe_refused_trust(candidate: TrustCandidate, review: Review) -> str:
    """Return why a hook cannot be trusted on the page, or ""."""
    name = candidate.hook.name
    if candidate.content is None:
        return candidate.error
    if not review.is_whole:
        command = make_project_command(candidate.place.project, "trust", name, "--yes")
        return f"not all of {name} can be shown. Read its files, then run: {command}"
    return ""
