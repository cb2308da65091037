"""Ask whether a project may hide hooks that were trusted in a folder above it: a part of `boathook trust`."""

from __future__ import annotations

from boathook.cli.list import describe_matcher
from boathook.cli.person import NO_TERMINAL
from boathook.cli.show import STATE_STYLES, echo
from boathook.cli.terminal import confirm_action
from boathook.core.approval import HIDE, TrustRecord
from boathook.core.hook import HIDDEN
from boathook.core.text import reveal_text
from boathook.loader import Loaded
from boathook.trust.absent_hooks import AbsentHook
from boathook.trust.store import TrustStore
from boathook.trust.work_trees import find_trust_place


def review_hidden_hooks(loaded: Loaded, store: TrustStore, now: str, *, yes: bool) -> bool:
    """Name the trusted hooks that a nearer project hides, and ask; return whether none is left that is reported at events."""
    hidden = [one for one in loaded.absent_hooks if one.hook.state == HIDDEN and not one.is_accepted]
    by_project: dict[str, list[AbsentHook]] = {}
    for one in hidden:
        by_project.setdefault(one.nearer, []).append(one)
    answers = [_review_project(project, hooks, store, now, yes=yes) for project, hooks in by_project.items()]
    return all(answers)


def _review_project(project: str, hidden: list[AbsentHook], store: TrustStore, now: str, *, yes: bool) -> bool:
    shown_project = reveal_text(project)
    echo("")
    echo(
        f"Hooks that you trusted do not run in {shown_project}, because it has hooks of its own:", STATE_STYLES[HIDDEN]
    )
    for one in hidden:
        hook = one.hook
        about = reveal_text(f"{hook.trigger}, {describe_matcher(hook)}")
        echo(f"  {reveal_text(hook.name)}  trusted in {reveal_text(one.folder)}; runs at {about}")
    names = reveal_text(", ".join(one.hook.name for one in hidden))
    is_accepted = yes or confirm_action(f"May {names} stay away in {shown_project}?", default=False)
    if is_accepted is None:
        echo(f"  This was not accepted: {NO_TERMINAL}. If they may stay away, add --yes", "yellow", err=True)
        return False
    if not is_accepted:
        echo(f"  {names}: every event that they would have seen in {shown_project} reports that they do not run")
        return False
    store.save_records(*(_make_record(one, now) for one in hidden))
    echo(f"  accepted: {names} of {reveal_text(hidden[0].folder)} will not run in {shown_project}", "yellow")
    return True


def _make_record(one: AbsentHook, now: str) -> TrustRecord:
    """Return the decision of the nearer project: exactly this hook, as it is trusted now, may be hidden."""
    place, record = find_trust_place(one.nearer).place, one.record
    return TrustRecord(
        place.project,
        one.way,
        record.name,
        HIDE,
        record.digest,
        time=now,
        repository=place.repository,
        folder=place.folder,
        source=record.source,
        event=record.event,
    )
