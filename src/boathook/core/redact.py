"""Redaction: what looks secret in a JSON value or a text is replaced by its length and the start of its digest.

Lean: plain searches for a few marks decide whether anything can be secret at all; only then patterns are compiled.
"""

from __future__ import annotations

from boathook.core.jsontext import dumps
from boathook.core.secrets import MARKS, hide, search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WHOLE = "[redacted whole: it could not be searched]"
SQUEEZED = {ord(char): None for char in "_-. "}
NEAR = 12

# how the names of secrets end, written together: API_KEY, apiKey and api-key are one
ENDINGS = (
    "token",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "authorization",
    "credential",
    "credentials",
    "cookie",
    "secretvalue",
    "secretstring",
    "tokenvalue",
)
ANYWHERE = ("password", "passwd", "passphrase", "secretaccesskey")
EXACTLY = ("auth", "jwt", "otp", "pass", "passcode", "pat", "pin", "pwd")

MARKED = (*MARKS, *(f'"{name}"' for name in EXACTLY), "pwd=")
NAMES = (*ENDINGS, *ANYWHERE)


def redact(value: Any) -> Any:
    """Give a JSON value, or a text, without what looks secret. Never raises."""
    try:
        text = value if isinstance(value, str) else dumps(value)
        return _walked(value) if may_hold_secrets(text) else value
    except Exception:  # noqa: BLE001  (what cannot be searched is not written)
        return WHOLE


def may_hold_secrets(text: str) -> bool:
    """Say whether anything in a text could be secret: no means no."""
    folded = text.casefold()
    if any(mark in folded for mark in MARKED) or ("://" in folded and "@" in folded):
        return True
    squeezed = folded.translate(SQUEEZED)
    flags = "--" in folded
    return any(name in squeezed and (flags or _is_given(squeezed, name)) for name in NAMES)


def _is_given(text: str, name: str) -> bool:
    """Say whether a name is followed closely by a sign that gives it a value."""
    at = text.find(name)
    while at >= 0:
        at += len(name)
        near = text[at : at + NEAR]
        if "=" in near or ":" in near:
            return True
        at = text.find(name, at)
    return False


def is_secret_name(name: str) -> bool:
    """Say whether what has this name is secret."""
    folded = name.casefold()
    flat = folded if folded.isalnum() else "".join(char for char in folded if char.isalnum())
    return flat in EXACTLY or flat.endswith(ENDINGS) or any(part in flat for part in ANYWHERE)


def _walked(value: Any, *, secret: bool = False) -> Any:
    if isinstance(value, str):
        return hide(value, "secret") if secret else search(value)
    if isinstance(value, dict):
        found: dict[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return {
            (search(key) if isinstance(key, str) else key): _walked(
                inner, secret=secret or (isinstance(key, str) and is_secret_name(key))
            )
            for key, inner in found.items()
        }
    if isinstance(value, list | tuple):
        items: list[Any] | tuple[Any, ...] = value  # pyright: ignore[reportUnknownVariableType]
        return [_walked(inner, secret=secret) for inner in items]
    if secret and isinstance(value, int | float) and not isinstance(value, bool):
        return hide(str(value), "secret")
    return value
