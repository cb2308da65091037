"""What people get wrong in the hooks of settings.json, beyond what makes an entry unreadable."""

from __future__ import annotations

from boathook.core.hook import Diagnostic, Hook


def check_entry(hook: Hook) -> list[Diagnostic]:  # noqa: ARG001
    """Give what an entry's command suggests."""
    return []
