"""Parameters whose values a shell completes from what is there: names of hooks and packs, and ids of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from boathook.core.hook import Hook

_PROJECT_ONLY, _ALL, _OF_PACKS = "project", "all", "packs"
# A shell inserts a completed word as it is, and a project chooses the names of its hooks.
_SAFE_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/#@+")
_MAX_IDS = 30
_ID_DAYS = 7
_MAX_HELP_CHARS = 60


class CompletedName(click.ParamType[str]):
    """A text that can be completed; a value that is not among the offered ones is for the command to judge."""

    def __init__(self, name: str, list_values: Callable[[click.Context], Iterable[tuple[str, str]]]) -> None:
        self.name = name
        self._list_values = list_values

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        return str(value)

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem[Any]]:
        from click.shell_completion import CompletionItem

        from boathook.core.text import reveal_text

        try:
            values = dict(self._list_values(ctx))
        except Exception:  # noqa: BLE001  (a shell that completes has no place for an error)
            return []
        return [
            CompletionItem(value, help=reveal_text(" ".join(text.split()))[:_MAX_HELP_CHARS] or None)
            for value, text in values.items()
            if value.startswith(incomplete) and _SAFE_CHARS.issuperset(value)
        ]


def _list_hook_names(ctx: click.Context, which: str) -> Iterable[tuple[str, str]]:
    from boathook.sources.hook_names import list_short_names

    hooks = [hook for hook in _load_hooks(ctx) if _is_offered(hook, which)]
    # A name that was typed already is not offered again.
    used = set(ctx.params.get("names") or ())
    for hook in hooks:
        if hook.name not in used:
            yield hook.name, _describe(hook)
    if which == _ALL:
        for name, hook in list_short_names(hooks).items():
            yield name, _describe(hook)


def _is_offered(hook: Hook, which: str) -> bool:
    from boathook.core.hook import USER

    if hook.is_installed_call:
        return False
    return {_PROJECT_ONLY: hook.scope != USER, _OF_PACKS: bool(hook.pack)}.get(which, True)


def _describe(hook: Hook) -> str:
    from boathook.core.catalog import UNTRUSTED_STATES

    # Nobody has read what an untrusted hook says about itself.
    about = "" if hook.state in UNTRUSTED_STATES else hook.description
    return f"{hook.state}: {about}" if about else hook.state


def _load_hooks(ctx: click.Context) -> Iterable[Hook]:
    from boathook.assembly import load_catalog

    return load_catalog(ctx.params.get("project") or None, state=ctx.params.get("state")).hooks


def _list_record_ids(ctx: click.Context) -> Iterable[tuple[str, str]]:
    """Return the newest records, the newest first."""
    from boathook.assembly import resolve_state
    from boathook.cli.record_text import DOCTOR_TYPE, describe_input, name_decision
    from boathook.ledger.reader import LedgerReader

    since = f"{datetime.now(UTC) - timedelta(days=_ID_DAYS):%Y-%m-%d}"
    records = LedgerReader(resolve_state(ctx.params.get("state"))).read(since)
    for record in reversed([one for one in records if one["type"] != DOCTOR_TYPE][-_MAX_IDS:]):
        words = (name_decision(record), record.get("tool") or record.get("event", ""), describe_input(record))
        yield record["id"], " ".join(filter(None, words))


ANY_HOOK_NAME = CompletedName("hook", lambda ctx: _list_hook_names(ctx, _ALL))
PROJECT_HOOK_NAME = CompletedName("hook", lambda ctx: _list_hook_names(ctx, _PROJECT_ONLY))
PACK_HOOK_NAME = CompletedName("hook", lambda ctx: _list_hook_names(ctx, _OF_PACKS))
RECORD_ID = CompletedName("id", _list_record_ids)
