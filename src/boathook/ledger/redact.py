"""Redaction: what looks secret in a JSON value or a text is replaced by its length and the start of its digest.

Lean: plain searches for a few marks decide whether anything can be secret at all; only then patterns are compiled.
"""

from __future__ import annotations

from boathook.core.json_text import dumps
from boathook.ledger.secrets import MARKS, hide, search

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
PLURALS = (
    "secrets",
    "apikeys",
    "accesstokens",
    "apitokens",
    "authtokens",
    "refreshtokens",
)  # and tokens; counts are none
NO_SECRET_KEYS = ("PUBLIC_KEY", "PRIMARY_KEY", "FOREIGN_KEY", "CACHE_KEY", "SORT_KEY", "PARTITION_KEY")
NAMING, VALUES = ("name", "Name", "key", "Key", "variable"), ("value", "Value")  # {"name": "PASSWORD", "value": …}
NUMBERS_TOO, TEXTS = "numbers too", "texts"

MARKED = (*MARKS, *(f'"{name}"' for name in EXACTLY), "pwd=", "_pass", "pass=", *(f'-{name}"' for name in EXACTLY))
NAMES = (*ENDINGS, *ANYWHERE)
GIVING = ("--", "</", '"value"', "-pass")  # where a name has its value elsewhere than behind a sign


def redact(value: Any) -> Any:
    """Return a JSON value, or a text, without what looks secret. Never raises."""
    try:
        text = value if isinstance(value, str) else dumps(value)
        return _walked(value) if may_hold_secrets(text) else value
    except Exception:  # noqa: BLE001  (what cannot be searched is not written)
        return WHOLE


def may_hold_secrets(text: str) -> bool:
    """Whether anything in a text could be secret: no means no."""
    folded = text.casefold()
    if any(mark in folded for mark in MARKED) or ("://" in folded and "@" in folded):
        return True
    if "_KEY" in text or ("login" in folded and "password" in folded):
        return True
    squeezed = folded.translate(SQUEEZED)
    flags = any(mark in folded for mark in GIVING)
    return any(name in squeezed and (flags or _is_given(squeezed, name)) for name in NAMES)


def _is_given(text: str, name: str) -> bool:
    """Whether a name is followed closely by a sign that gives it a value."""
    at = text.find(name)
    while at >= 0:
        at += len(name)
        near = text[at : at + NEAR]
        if "=" in near or ":" in near:
            return True
        at = text.find(name, at)
    return False


def is_secret_name(name: str) -> bool:
    """Whether what has this name is secret."""
    flat = _flat(name)
    if flat in EXACTLY or any(part in flat for part in ANYWHERE) or name.casefold().endswith("_pass"):
        return True
    if name.endswith("_KEY") and name.isupper():
        return not name.endswith(NO_SECRET_KEYS)
    return flat.endswith(ENDINGS) or _bare(flat).endswith(ENDINGS)


def _flat(name: str) -> str:
    """Return a name in small letters, written together."""
    folded = name.casefold()
    return folded if folded.isalnum() else "".join(char for char in folded if char.isalnum())


def _bare(flat: str) -> str:
    """Return a name without what is added to tell several apart: apitokenv2, secretkeybase."""
    bare = flat.rstrip("0123456789")
    return (bare.removesuffix("v") if bare != flat else bare).removesuffix("base")


def _secrecy(key: object) -> str:
    """Return what is secret of the value of a key: nothing, its texts, or its numbers, too."""
    if not isinstance(key, str):
        return ""
    if is_secret_name(key):
        return NUMBERS_TOO
    flat = _flat(key)
    return TEXTS if flat == "tokens" or flat.endswith(PLURALS) else ""


def _walked(value: Any, secret: str = "") -> Any:
    if isinstance(value, str):
        return hide(value, "secret") if secret else search(value)
    if isinstance(value, dict):
        return _walked_object(value, secret)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return _walked_list(value, secret)  # pyright: ignore[reportUnknownArgumentType]
    if secret == NUMBERS_TOO and isinstance(value, int | float) and not isinstance(value, bool):
        return hide(str(value), "secret")
    return value


def _walked_object(found: dict[Any, Any], secret: str) -> dict[Any, Any]:
    named = any(isinstance(found.get(key), str) and is_secret_name(found[key]) for key in NAMING)
    return {
        (search(key) if isinstance(key, str) else key): _walked(
            inner, secret or _secrecy(key) or (NUMBERS_TOO if named and key in VALUES else "")
        )
        for key, inner in found.items()
    }


def _walked_list(items: list[Any] | tuple[Any, ...], secret: str) -> list[Any]:
    """Walk through a list; what stands behind an option that is named like a secret is one."""
    before: tuple[Any, ...] = (None, *items)
    return [_walked(inner, secret or _asked_for(option)) for option, inner in zip(before, items, strict=False)]


def _asked_for(option: object) -> str:
    is_option = isinstance(option, str) and option.startswith("-")
    return NUMBERS_TOO if is_option and is_secret_name(str(option)) else ""
