"""What `hooks.run(…)` accepts: mistakes are errors at once, not at the first event that needs the value."""

from __future__ import annotations

from collections.abc import Mapping

from boathook.core.near_words import ask_if_meant, is_typing_error
from boathook.errors import HookError

# What agents say about the begin of a session; another word may be yours.
_SOURCES = ("startup", "resume", "clear", "compact", "fork")


def check_run_options(session_id: object, source: object, **mappings: object) -> None:
    """Raise HookError if an argument of `hooks.run(…)` is of the wrong type, or a known source with a typing error."""
    if not isinstance(session_id, str):
        hint = f"session_id=str({session_id})" if isinstance(session_id, int) else "session_id='…', state=…"
        raise HookError(f"session_id must be a text, not {type(session_id).__name__}: write hooks.run({hint})")
    for name, value in mappings.items():
        if value is not None and not isinstance(value, Mapping):
            raise HookError(f"{name} must be a dict, not {type(value).__name__}: write {name}={{'key': value}}")
    if not isinstance(source, str):
        raise HookError(f"source must be a text such as 'startup', not {type(source).__name__}")
    meant = next((each for each in _SOURCES if is_typing_error(source, each)), "")
    if meant:
        raise HookError(f"there is no source '{source}', {ask_if_meant(meant)} (known sources: {', '.join(_SOURCES)})")
