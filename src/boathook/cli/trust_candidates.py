"""The hooks of a project that need trust, each with its content and what was decided about it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from boathook.cli.trust_review import TrustCandidate
from boathook.core.catalog import Catalog
from boathook.core.hook import USER, Script
from boathook.core.notices import NEAR_MISS_COUNT, describe_counts
from boathook.errors import TrustError
from boathook.loader import Loaded
from boathook.trust.bound_files import find_uncovered_files
from boathook.trust.judge import HookContent, ProjectHook, get_identity, read_hook_content
from boathook.trust.snapshot import SnapshotError
from boathook.trust.work_trees import find_trust_place


def list_candidates(loaded: Loaded) -> list[TrustCandidate]:
    hooks = loaded.catalog.hooks
    states = {(hook.source, hook.path, hook.place or hook.path): hook.state for hook in hooks if hook.scope != USER}
    own_names = {(hook.source, hook.name) for hook in hooks if hook.scope == USER and not hook.runs_together}
    places = {project: find_trust_place(project).place for project in {one.project for one in loaded.project_hooks}}
    candidates = []
    for one in loaded.project_hooks:
        hook, project = one.hook, one.project
        content, message = None, ""
        try:
            content = _read_content(one)
        except SnapshotError as error:
            message = str(error)
        candidates.append(
            TrustCandidate(
                hook=hook,
                place=places[project],
                identity=get_identity(hook, project),
                state=states.get((hook.source, hook.path, hook.place or hook.path), hook.state),
                record=one.record,
                content=content,
                error=message,
                is_override=(hook.source, hook.name) in own_names,
                source=one.source,
            )
        )
    return candidates


def _read_content(one: ProjectHook) -> HookContent:
    content = read_hook_content(one.hook, one.project, one.config)
    if not isinstance(one.hook.handler, Script):
        return content
    # The first one is its own folder.
    snapshot = next(iter(content.snapshots.values()))
    return content.replace(bound_files=find_uncovered_files(content.hook, snapshot, one.project))


def describe_near_misses(catalog: Catalog) -> str:
    return describe_counts({NEAR_MISS_COUNT: dict(catalog.counts).get(NEAR_MISS_COUNT, 0)})


def choose_candidates(candidates: list[TrustCandidate], names: Sequence[str], near_misses: str) -> list[TrustCandidate]:
    chosen = []
    for name in names:
        matching = [one for one in candidates if name == one.hook.name or one.hook.name.startswith(f"{name}#")]
        if not matching:
            known = ", ".join(one.hook.name for one in candidates) or "none"
            problem = f"this project has no hook '{name}' that needs trust (it has: {known})"
            raise TrustError(f"{problem}. {near_misses}" if near_misses else problem)
        chosen += matching
    return chosen


def list_projects(catalog: Catalog) -> set[str]:
    return {os.path.realpath(path) for _, path in catalog.projects if path}
