"""The one hierarchy of exceptions.

BoathookError
├── ConfigError       something in a file of the user's or the project's is wrong
├── DialectError      bytes of a host that cannot be read as an event
│   ├── NotJson       … because they are not JSON: a host's call is refused, since a model may have made them so
│   └── BeyondLimits  … because they are beyond limits: such an event is blocked
├── UnknownEvent      a name that is no spelling of any event
├── Blocked           an operation in process that hooks did not let happen
├── Stopped           a run in process that a hook ended
└── HookError         a hook in process that is wrong: its signature, what it gave back, what it tried to change
    └── HookTimeout   … or too slow

A script that fails is not an exception: it is a `Run` with a status.
"""

from __future__ import annotations


class BoathookError(Exception):
    """Base of every exception that boathook raises on purpose."""


class ConfigError(BoathookError):
    """A manifest, a hooks.toml, a settings.json or a command-line value that cannot be used; `fix` says how to mend it."""

    def __init__(self, message: str, fix: str = "") -> None:
        """Return what is wrong."""
        super().__init__(message)
        self.fix = fix


class DialectError(BoathookError):
    """Bytes that are no event in the dialect they came in."""


class TrustError(BoathookError):
    """What was said about trust cannot be kept or used: why."""


class NotJson(DialectError):
    """Bytes that are no JSON, or hide something in it."""


class BeyondLimits(DialectError):
    """An event that is well made but too deep or too large to be shown to any hook."""


class UnknownEvent(BoathookError):
    """A name that is no spelling of any event."""

    def __init__(self, name: str, nearest: str | None) -> None:
        """Remember the name and the nearest known one."""
        hint = f" (did you mean '{nearest}'?)" if nearest else ""
        shown = name if len(name) <= 80 else f"{name[:80]}…"
        super().__init__(f"unknown event '{shown}'{hint}")
        self.name = name
        self.nearest = nearest


class Blocked(BoathookError):
    """An operation that hooks did not let happen, or whose result they object to (then it is `result`)."""

    def __init__(self, reason: str, result: object = None) -> None:
        """Remember the reason, and the result if there is one."""
        super().__init__(reason)
        self.reason = reason
        self.result = result


class Stopped(BoathookError):
    """A run that a hook ended."""

    def __init__(self, reason: str) -> None:
        """Remember the reason."""
        super().__init__(reason)
        self.reason = reason


class HookError(BoathookError):
    """A hook in process that cannot be used as it is."""


class HookTimeout(HookError):
    """A hook in process that took too long."""
