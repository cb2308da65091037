"""Redaction: what looks secret is replaced by its length and the start of its digest. Plain marks decide whether to look closer."""

from __future__ import annotations

from boathook.core.json_text import dumps
from boathook.ledger.secrets import (
    SECRET_MARKS,
    find_long_words,
    hide_secret,
    hide_secrets,
    list_encoded_texts,
    may_have_shape,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UNSEARCHABLE = "[redacted whole: it could not be searched]"
_SEPARATORS = {ord(char): None for char in "_-. "}
_MAX_SIGN_DISTANCE = 12

# how the names of secrets end, without separators: API_KEY, apiKey and api-key are the same
_SECRET_ENDINGS = (
    *("token", "secret", "apikey", "accesskey", "secretkey", "privatekey", "signingkey", "encryptionkey"),
    *("accountkey", "authorization", "credential", "credentials", "cookie"),
    *("secretvalue", "secretstring", "tokenvalue"),
)
_SECRET_PARTS = ("password", "passwd", "passphrase", "secretaccesskey")
_SECRET_NAMES = ("auth", "jwt", "otp", "pass", "passcode", "pat", "pin", "pwd")
# names of several secrets; so is "tokens", unless it is a number
_SECRET_PLURALS = ("secrets", "apikeys", "accesstokens", "apitokens", "authtokens", "refreshtokens")
_PLAIN_KEYS = ("PUBLIC_KEY", "PRIMARY_KEY", "FOREIGN_KEY", "CACHE_KEY", "SORT_KEY", "PARTITION_KEY")
# {"name": "PASSWORD", "value": …}
_NAME_KEYS, _VALUE_KEYS = ("name", "Name", "key", "Key", "variable"), ("value", "Value")
_NUMBERS_TOO, _TEXTS = "numbers too", "texts"

_MARKS = (
    *SECRET_MARKS,
    *(f'"{name}"' for name in _SECRET_NAMES),
    *("pwd=", "_pass", "pass="),
    *(f'-{name}"' for name in _SECRET_NAMES),
)
_NAME_MARKS = _SECRET_ENDINGS + _SECRET_PARTS
# where a name has its value elsewhere than after a sign
_VALUE_MARKS = ("--", "</", '"value"', "-pass", "config")
# lines that a shell reads as one, in a text and in JSON text
_JOINED_LINES = ("\\\n", "\\\\\\n")


def redact(value: Any) -> Any:
    """Return a JSON value, or a text, without what looks secret. Never raises."""
    try:
        text = value if isinstance(value, str) else dumps(value)
        return _redact_value(value) if may_hold_secrets(text) else value
    except Exception:  # noqa: BLE001  (what cannot be searched is not written)
        return UNSEARCHABLE


def may_hold_secrets(text: str) -> bool:
    """Whether anything in a text could be secret; False is certain."""
    for joint in _JOINED_LINES:
        text = text.replace(joint, "")
    words = find_long_words(text)
    return _may_hold_plain(text, words) or any(
        _may_hold_plain(decoded, find_long_words(decoded)) for decoded in list_encoded_texts(words)
    )


def _may_hold_plain(text: str, long_words: list[str]) -> bool:
    folded = text.casefold()
    # plain loops: this runs for every record, and a generator costs three times as much
    for mark in _MARKS:
        if mark in folded:
            return True
    if "_KEY" in text or ("://" in folded and "@" in folded) or ("login" in folded and "password" in folded):
        return True
    joined = folded.translate(_SEPARATORS)
    for name in _NAME_MARKS:
        if name in joined and (_has_any(folded, _VALUE_MARKS) or _has_value(joined, name)):
            return True
    return may_have_shape(long_words, folded)


def _has_any(text: str, marks: tuple[str, ...]) -> bool:
    return any(mark in text for mark in marks)


def _has_value(text: str, name: str) -> bool:
    at = text.find(name)
    while at >= 0:
        at += len(name)
        near = text[at : at + _MAX_SIGN_DISTANCE]
        if "=" in near or ":" in near:
            return True
        at = text.find(name, at)
    return False


def is_secret_name(name: str) -> bool:
    joined = _join_words(name)
    if joined in _SECRET_NAMES or _has_any(joined, _SECRET_PARTS) or name.casefold().endswith("_pass"):
        return True
    if name.endswith("_KEY") and name.isupper():
        return not name.endswith(_PLAIN_KEYS)
    return joined.endswith(_SECRET_ENDINGS) or _strip_suffix(joined).endswith(_SECRET_ENDINGS)


def _join_words(name: str) -> str:
    folded = name.casefold()
    return folded if folded.isalnum() else "".join(char for char in folded if char.isalnum())


def _strip_suffix(joined: str) -> str:
    stripped = joined.rstrip("0123456789")
    return (stripped.removesuffix("v") if stripped != joined else stripped).removesuffix("base")


def _find_secrecy(key: object) -> str:
    if not isinstance(key, str):
        return ""
    if is_secret_name(key):
        return _NUMBERS_TOO
    joined = _join_words(key)
    return _TEXTS if joined == "tokens" or joined.endswith(_SECRET_PLURALS) else ""


def _redact_value(value: Any, secrecy: str = "") -> Any:
    if isinstance(value, str):
        return hide_secret(value, "secret") if secrecy else hide_secrets(value)
    if isinstance(value, dict):
        return _redact_object(value, secrecy)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return _redact_list(value, secrecy)  # pyright: ignore[reportUnknownArgumentType]
    if secrecy == _NUMBERS_TOO and isinstance(value, int | float) and not isinstance(value, bool):
        return hide_secret(str(value), "secret")
    return value


def _redact_object(fields: dict[Any, Any], secrecy: str) -> dict[Any, Any]:
    names_secret = any(isinstance(fields.get(key), str) and is_secret_name(fields[key]) for key in _NAME_KEYS)
    return {
        (hide_secrets(key) if isinstance(key, str) else key): _redact_value(
            value, secrecy or _find_secrecy(key) or (_NUMBERS_TOO if names_secret and key in _VALUE_KEYS else "")
        )
        for key, value in fields.items()
    }


def _redact_list(items: list[Any] | tuple[Any, ...], secrecy: str) -> list[Any]:
    redacted: list[Any] = []
    before: Any = None
    for item in items:
        is_option = isinstance(before, str) and before.startswith("-") and is_secret_name(before)
        redacted.append(_redact_value(item, secrecy or (_NUMBERS_TOO if is_option else "")))
        before = item
    return redacted
