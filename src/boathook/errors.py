"""All exceptions that boathook raises on purpose. A script that fails raises none: it becomes a `Run` with a status."""

from __future__ import annotations


class BoathookError(Exception):
    """Base class of all exceptions that boathook raises on purpose."""


class ConfigError(BoathookError):
    """A manifest, a hooks.toml, a settings.json or a command-line value cannot be used; `fix` says what to do."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


class UsageError(BoathookError):
    """A command line of `run` that cannot be understood."""


class TrustError(BoathookError):
    """The trust store cannot be read or written, or a trust command cannot be carried out."""


class LedgerError(BoathookError):
    """A record that something depends on cannot be written."""


class DialectError(BoathookError):
    """Bytes that are not an event in the dialect of their sender."""


class NotJson(DialectError):
    """Bytes that are not JSON, or hide something in it."""


class BeyondLimits(DialectError):
    """A valid event that is too deep or too large for hooks."""


class UnknownEvent(BoathookError):
    """A name that is not a spelling of any event."""

    def __init__(self, name: str, nearest: str | None, hint: str = "") -> None:
        shown = name if len(name) <= 80 else f"{name[:80]}…"
        super().__init__(f"unknown event '{shown}'" + (f" ({hint})" if hint else ""))
        self.name = name
        self.nearest = nearest


class Blocked(BoathookError):
    """Hooks blocked an operation, or object to its result, which is `result` then."""

    def __init__(self, reason: str, result: object = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.result = result


class Stopped(BoathookError):
    """A hook ended the run."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RequestTimeout(BoathookError):
    """A model did not answer in time."""


class HookError(BoathookError):
    """An in-process hook cannot be used as it is."""


class BridgeError(ConfigError):
    """A bridge cannot guard an agent of a framework, or something that a hook wants is not possible in that framework."""

    def __str__(self) -> str:
        """Return the message with the fix: a program that uses a framework shows nothing else."""
        message = super().__str__()
        return f"{message}. Fix: {self.fix}" if self.fix else message


class HookTimeout(HookError):
    """An in-process hook took too long."""
