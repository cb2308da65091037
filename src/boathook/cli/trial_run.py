"""Run hooks on an event that does not happen: in a sandbox, and without a record."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from boathook.assembly import make_probe_engine
from boathook.core.catalog import Catalog
from boathook.core.hook import ARMED, ISOLATED, RESTRICTED, Hook, Http, Prompt
from boathook.engine import Engine
from boathook.errors import BoathookError
from boathook.process.sandbox import probe_sandbox_levels
from boathook.sources.sandbox_levels import find_strictest


def confine_hooks(catalog: Catalog, *, is_allowed_without: bool, is_strictest: bool) -> Catalog:
    """Put armed hooks into a sandbox, so that a trial has no effects; leave out those that would ask a model or a server.

    With `is_strictest`, they get the strictest level that this machine has.
    """
    hooks = tuple(h for h in catalog.hooks if h.state == ARMED and not isinstance(h.handler, Prompt | Http))
    if is_allowed_without:
        return catalog.replace(hooks=hooks, diagnostics=())
    levels = {support.level: support for support in probe_sandbox_levels()}
    if not levels[RESTRICTED].is_available:
        error = levels[RESTRICTED].detail
        raise BoathookError(f"there is no sandbox on this machine ({error}). To run without one, add --unconfined")
    level = ISOLATED if is_strictest and levels[ISOLATED].is_available else RESTRICTED
    return catalog.replace(hooks=tuple(raise_sandbox(hook, level) for hook in hooks), diagnostics=())


def raise_sandbox(hook: Hook, level: str) -> Hook:
    """Put a hook into a sandbox of a level, or of its own one if that is stricter, without the network."""
    return hook.replace(sandbox=find_strictest((hook.sandbox, level)), network=False)


@contextmanager
def open_trial_engine(catalog: Catalog, prefix: str, project: str = "") -> Iterator[tuple[Engine, str]]:
    """Yield an engine without a ledger, and its scratch folder; `project` is the folder that hooks take for theirs."""
    foreground = catalog.replace(hooks=tuple(hook.replace(background=False) for hook in catalog.hooks))
    with (
        tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as scratch,
        make_probe_engine(foreground, scratch, writable=True, project=project) as engine,
    ):
        yield engine, scratch
