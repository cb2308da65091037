"""What a person decided about a hook, as it is stored: for `boathook trust` and `deny`, and for the page."""

from __future__ import annotations

import time

from boathook.cli.trust_review import TrustCandidate
from boathook.core.approval import DENY, TRUST, TrustRecord
from boathook.errors import TrustError
from boathook.trust.judge import HookContent
from boathook.trust.store import TrustStore


def save_trust(
    candidate: TrustCandidate, content: HookContent, store: TrustStore, *, is_anywhere: bool = False
) -> TrustRecord:
    """Copy exactly the bytes that were shown, then write the record."""
    try:
        store.make_copy(content.digest, content.snapshots)
    except OSError as error:
        raise TrustError(f"cannot make a private copy in {store.state}: {error.strerror}") from None
    record = TrustRecord(
        project=content.project,
        identity=content.identity,
        name=candidate.hook.name,
        decision=TRUST,
        digest=content.digest,
        roots=content.relative_roots,
        files=content.relative_files,
        definition=content.definition.decode(),
        override=candidate.is_override,
        time=format_now(),
        repository=candidate.place.repository,
        folder=candidate.place.folder,
        anywhere=is_anywhere,
        source=candidate.source,
        event=content.hook.kind.name if content.hook.kind else "",
    )
    store.save_records(record)
    return record


def save_denial(candidate: TrustCandidate, store: TrustStore) -> TrustRecord:
    name, place = candidate.hook.name, candidate.place
    record = TrustRecord(place.project, candidate.identity, name, DENY, time=format_now(), source=candidate.source)
    record = record.replace(repository=place.repository, folder=place.folder)
    store.save_records(record)
    return record


def describe_extent(record: TrustRecord) -> str:
    """Return where the trust in a hook holds."""
    if record.anywhere:
        return "in any folder"
    return f"for {record.project}" + (" and other work trees of its repository" if record.repository else "")


def describe_denial(record: TrustRecord) -> str:
    extent = "here or in other work trees" if record.repository else "here"
    return f"{record.name} is denied: it never runs {extent}, even if it changes"


def format_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
