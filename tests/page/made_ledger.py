"""A ledger of any size, written at once: what a writer would need minutes for."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from boathook.core.json_text import dump_line
from boathook.ledger.writer import ChainLink, chain_line, make_segment_name
from boathook.page.record_index import RecordIndex

START = datetime(2026, 3, 1, tzinfo=UTC)
_SEGMENT_BYTES = 16 << 20
_HOSTS = ("claude", "codex", "gemini")


def make_time(seconds: float) -> str:
    return f"{START + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.000Z"


def make_record(number: int = 0, **fields: Any) -> dict[str, Any]:
    """Return the record of a tool call; every tenth is blocked."""
    is_blocked = number % 10 == 9
    reason = "It would rewrite the history of others." if is_blocked else None
    decision = "block" if is_blocked else "none"
    run = {
        "hook": "no-force-push",
        "scope": "user",
        "source": "HOOK.md",
        "path": "/home/me/hooks/no-force-push/HOOK.md",
        "status": "ok",
        "exit": 2 * is_blocked,
        "ms": 4.0 + number % 7,
        "decision": decision,
        "reason": reason,
        "look": 1,
        "matched": {"event": "pre-tool-call", "tool": "Shell"},
        "notes": [],
    }
    record = {
        "v": 1,
        "id": f"{number:012x}",
        "time": make_time(number),
        "type": "dispatch",
        "host": _HOSTS[number % 3],
        "session": f"session-{number // 40}",
        "project": f"/home/me/project-{number % 4}",
        "event": "pre-tool-call",
        "tool": "Shell",
        "input_sha256": "0" * 64,
        "input": {"command": f"git push origin feature-{number} {'--force' * is_blocked}"},
        "decision": decision,
        "reasons": [reason] if reason else [],
        "changed": {},
        "ms": 12.5 + number % 7,
        "hooks": [run],
        "skipped": [],
        "background": [],
    }
    return {**record, **fields}


def make_pack_record(number: int = 0) -> dict[str, Any]:
    """Return a record as a pack leaves it: nine hooks, an input of thirty words, and the id of a call."""
    record = make_record(number)
    runs = [
        {**record["hooks"][0], "hook": f"pack-{at}", "path": f"/home/me/pack/hooks/pack-{at}/HOOK.md"}
        for at in range(9)
    ]
    words = " ".join(f"word-{(number + at * 7919) % 99_991}" for at in range(30))
    about = {"machine": "m" * 12, "boathook": "0.1.0", "hook_set": "5" * 16}
    return {**record, "tool_use_id": f"toolu_{number:024d}", "input": {"command": words}, "hooks": runs, **about}


def write_records(folder: Path, records: Iterable[dict[str, Any]]) -> None:
    """Write a ledger of these records, in as many segments as it needs."""
    folder.mkdir(parents=True, exist_ok=True)
    link, number, lines, size = ChainLink(), 0, list[bytes](), 0
    for record in records:
        line, link = chain_line(dump_line(record)[:-2], link)
        if size + len(line) > _SEGMENT_BYTES:
            (folder / make_segment_name("2026-03-01", number)).write_bytes(b"".join(lines))
            number, lines, size = number + 1, [], 0
        lines.append(line)
        size += len(line)
    (folder / make_segment_name("2026-03-01", number)).write_bytes(b"".join(lines))


def load_all(index: RecordIndex) -> None:
    """Read all older records now, which a thread of the page would do."""
    while not index.describe_state().is_complete:
        index.load_chunk(sys.maxsize)
