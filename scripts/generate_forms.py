"""The page of forms: where the hooks of each agent are, who runs them, and what they can do event by event."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from boathook.hosts.host import HostEvent, load_host
from boathook.hosts.setup import list_setups
from boathook.sources.agent_forms.hook_form import HOOK_FORMS, SETTINGS_FORM, HookForm, find_form
from boathook.sources.source import SOURCES, Source, list_named_sources

_RESULTS = Path(__file__).resolve().parent.parent / "e2e/results.json"
# What names of runs begin with that tried guards in other forms (e2e/form_scenes.py); the forms follow.
_RUN_PREFIX = "forms-"
# The columns of other runs in which these forms were seen.
_COLUMNS = {"hook-md": ("block", "files"), "settings": ("settings",)}
_INTRO = """Hooks that people wrote for one agent, and how boathook runs them in all. The rules are S24 and S35 of the
[specification](specification.md).
`HOOK.md` and `settings.json` are read by default; the other forms only if your `hooks.toml` names them:

```toml
[hooks]
sources = ["hook-md", "settings", "codex"]
```"""


def write_forms_page(made: str) -> str:
    lines = ["# Forms of hooks", "", made, "", _INTRO, "", *_list_forms(), "", *_list_ways(), "", *_list_evidence()]
    for form in HOOK_FORMS:
        if form is not SETTINGS_FORM:
            lines += ["", *_list_events(form)]
    return "\n".join((*lines, ""))


def _list_forms() -> Iterator[str]:
    yield "| source | hooks of | your files | files of a project | dialect |"
    yield "|---|---|---|---|---|"
    for source in SOURCES:
        folder = source.user_folder
        start = f"`~/{folder.default}{folder.below}".replace("//", "/")
        form = find_form(source.name)
        names = [marker.rpartition("/")[2] for marker in source.markers[: 1 if source.is_default else None]]
        title = load_host(source.host).title if source.host else "every agent"
        end = "/*.json" if form.lists_folder else ""
        own = ", ".join(f"{start}/{name}{end}`" for name in names or form.user_names)
        theirs = ", ".join(f"`{marker[1:]}{end}`" for marker in source.markers) or "–"
        yield f"| `{source.without}` | {title} | {own} | {theirs} | `{source.dialect}` |"


def _list_ways() -> Iterator[str]:
    yield "## Who runs which form"
    yield ""
    yield "*itself*: the agent runs these hooks, and `install` leaves them out of its command. *boathook*: they run there through"
    yield "boathook, once it is installed. *boathook, perhaps itself*: the agent may run some of them as well."
    yield ""
    yield "| agent | " + " | ".join(f"`{source.without}`" for source in list_named_sources()) + " |"
    yield "|---" * (len(list_named_sources()) + 1) + "|"
    for setup in list_setups():
        cells = [_describe_way(setup.runs_itself, setup.may_run_too, source) for source in list_named_sources()]
        yield f"| {load_host(setup.name).title} | {' | '.join(cells)} |"


def _list_evidence() -> Iterator[str]:
    rows = json.loads(_RESULTS.read_text())["rows"]
    yield "## Where a guard was seen to block"
    yield ""
    yield "*seen*: a guard in this form refused a call in the [real agent](matrix.md). *seen, itself*: the agent ran the hook in"
    yield "its own file once for each call, although the form was enabled. *documents*: known from the documents of the agent"
    yield "and from captured payloads, which tests replay. *not possible*: hooks cannot refuse a call there."
    yield ""
    yield "| agent | " + " | ".join(f"`{source.without}`" for source in list_named_sources()) + " |"
    yield "|---" * (len(list_named_sources()) + 1) + "|"
    for setup in list_setups():
        results = [row for row in rows if row["host"] == setup.name]
        cells = [_describe_evidence(setup.name, results, source, setup.runs_itself) for source in list_named_sources()]
        yield f"| {load_host(setup.name).title} | {' | '.join(cells)} |"


def _describe_evidence(host: str, results: list[dict[str, Any]], source: Source, own: tuple[str, ...]) -> str:
    if not any(event.block for event in load_host(host).events if event.kind_name == "pre-tool-call"):
        return "not possible"
    runs = [row for row in results if row["variant"].startswith(_RUN_PREFIX) and _is_seen(row["results"])]
    if source.without in own:
        return "seen, itself" if runs and source.host == host else "documents, itself"
    forms = {form for row in runs for form in row["variant"].removeprefix(_RUN_PREFIX).split("-")}
    columns = [row["results"].get(column, {}) for row in results for column in _COLUMNS.get(source.without, ())]
    is_seen = source.without in forms or any(one.get("state") == "seen" for one in columns)
    return "seen" if is_seen else "documents"


def _is_seen(results: dict[str, Any]) -> bool:
    return all(one["state"] == "seen" for one in results.values())


def _describe_way(own: tuple[str, ...], perhaps: tuple[str, ...], source: Source) -> str:
    if source.without in own:
        return "itself"
    if f"project-{source.without}" in own:
        return "itself (projects), boathook (yours)"
    is_perhaps = source.without in perhaps or f"project-{source.without}" in perhaps
    return "boathook, perhaps itself" if is_perhaps else "boathook"


def _list_events(form: HookForm) -> Iterator[str]:
    host = load_host(form.source.host)
    yield f"## {host.title}, event by event"
    yield ""
    yield "| event | here | matcher asks | a refusal | context for the model | approval | new input |"
    yield "|---|---|---|---|---|---|---|"
    for event in host.events:
        row = form.events[event.name]
        kinds = ", ".join(f"`{name}`" for name in event.kind_names)
        theirs = {ours: name for name, ours in event.renames}
        subject = f"`{theirs.get(row.subject, row.subject)}`" if row.subject else "–"
        if row.tools:
            subject = f"{'the command' if row.matches_input else '–'}; only calls of `{'`, `'.join(row.tools)}`"
        refusal = row.kind.block if row.refuses else "reported"
        context = ("yes, also plain text" if row.plain else "yes") if row.context else "–"
        cells = [f"`{event.name}`", kinds, subject, refusal, context, *_list_effects(event)]
        yield f"| {' | '.join(cells)} |"
    yield ""
    missing = host.unmapped_events
    if missing:
        yield f"Without counterpart, so that these hooks run only there: {', '.join(f'`{name}`' for name in missing)}."
    lost = [f"`{kind}`" for kind in form.dialect.missing_events]
    yield f"Events of boathook that such a hook cannot have: {', '.join(lost)}."


def _list_effects(event: HostEvent) -> list[str]:
    is_rewritten = event.kind.rewrites_input and not event.own.tools
    return ["yes" if event.allow else "–", "yes" if is_rewritten else "–"]
