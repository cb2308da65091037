"""`boathook trust --list`: every decision, and the hooks of this project without one."""

from __future__ import annotations

from typing import Any

from boathook.cli.show import STATE_STYLES, echo, print_json, print_table
from boathook.cli.trust_candidates import list_candidates
from boathook.core.approval import DENY, HIDE, TRUST, TrustRecord
from boathook.errors import TrustError
from boathook.loader import Loaded
from boathook.trust.store import TrustStore

# Enough to tell the versions of a hook apart.
_SHOWN_DIGEST_CHARS = 8


def list_decisions(loaded: Loaded, store: TrustStore, *, as_json: bool) -> int:
    """Print every hook of this project with its trust state, and all decisions about other projects."""
    if store.error:
        raise TrustError(store.error)
    rows = _make_rows(loaded, store)
    if as_json:
        print_json({"hooks": rows})
    elif not rows:
        echo("No hook is trusted or denied, and this project has no hooks.")
    else:
        keys = ("name", "state", "holds_in", "when", "digest", "project", "identity")
        shown = [{**row, "digest": (row["digest"] or "")[:_SHOWN_DIGEST_CHARS]} for row in rows]
        cells = [[row[key] or "-" for key in keys] for row in shown]
        headers = ("NAME", "STATE", "HOLDS IN", "SINCE", "DIGEST", "PROJECT", "HOOK")
        print_table(headers, cells, [STATE_STYLES[row["state"]] for row in rows])
    return 0


def _make_rows(loaded: Loaded, store: TrustStore) -> list[dict[str, Any]]:
    rows, shown = [], set()
    for candidate in list_candidates(loaded):
        record = candidate.record
        shown.add((candidate.place.project, candidate.identity, ""))
        # A decision of another folder has a row of its own, unless it is one of another work tree.
        shown |= {record.key} if record is not None and not record.anywhere else set()
        key = (candidate.place.project, candidate.identity)
        rows.append(_make_row(*key, candidate.hook.name, candidate.shown_state, record))
    for one in loaded.absent_hooks:
        # What a person accepted to be hidden is trusted where it is.
        if not one.is_accepted and one.record.key not in shown:
            shown.add(one.record.key)
            rows.append(_make_row(one.folder, one.record.identity, one.record.name, one.hook.state, one.record))
    for record in store.records:
        if record.key not in shown:
            rows.append(_make_row(record.project, record.identity, record.name, _find_decision_state(record), record))
    return rows


def _find_decision_state(record: TrustRecord) -> str:
    # One for any folder counts in all others, whatever was decided or deleted since then in its own.
    is_earlier = record.earlier and not record.anywhere
    return "earlier" if is_earlier else {TRUST: "trusted", DENY: "denied", HIDE: "accepted"}[record.decision]


def _make_row(project: str, identity: str, name: str, state: str, record: TrustRecord | None) -> dict[str, Any]:
    decision: dict[str, Any] = {"digest": None, "override": False, "when": None, "holds_in": None, "repository": None}
    if record:
        decision = {"digest": record.digest or None, "override": record.override, "when": record.time or None}
        decision |= {"holds_in": record.extent, "repository": record.repository or None}
    return {"name": name, "state": state, "project": project, "identity": identity, **decision}
