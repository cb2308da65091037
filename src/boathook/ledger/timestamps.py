"""The times of records: moments in UTC, as `make_timestamp` writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def parse_timestamp(text: str) -> datetime | None:
    """Return a moment in UTC, None if the text is not one; a moment without a zone is taken as one in UTC."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
