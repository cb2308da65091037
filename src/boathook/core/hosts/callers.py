"""Who really calls: several agents read the settings.json of Claude Code, and so run the command that was installed there.

They are told apart by what they send, for variables are inherited by whatever runs inside an agent: Claude Code sends no time.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

READ_BY_OTHERS = "claude"
SIGNS = (b'"timestamp"', b'"cursor_version"')  # one of them stands in what the others send


def may_be_another(host: str, data: bytes) -> bool:
    """Say whether bytes that came for a host may be another's; cheap, for it is asked at every event."""
    return host == READ_BY_OTHERS and any(sign in data for sign in SIGNS)


def another(fields: Mapping[str, Any], env: Mapping[bytes, bytes]) -> str:
    """Give the host that sent these fields to Claude Code's command; nothing if it was Claude Code."""
    if "cursor_version" in fields:
        return "cursor"
    if "timestamp" in fields:
        return "copilot" if b"COPILOT_CLI" in env else "vscode"
    return ""


def has_own(installations: Any, host: str, folder: str) -> bool:
    """Say whether a host has a command of its own, everywhere or for the project that a folder belongs to."""
    for one in _objects(installations):
        place = str(one.get("project") or "").rstrip("/")
        if one.get("host") == host and f"{folder}/".startswith(f"{place}/"):
            return True
    return False


def _objects(value: Any) -> list[dict[str, Any]]:
    listed: list[Any] = value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
    return [one for one in listed if isinstance(one, dict)]
