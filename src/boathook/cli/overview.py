"""`boathook` alone: the state of this folder and of this machine in a few lines, and the next useful step."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from boathook.assembly import load_with_trust, locate
from boathook.cli.call_review import describe_waiting_calls
from boathook.cli.record_text import describe_deciders, describe_reasons, format_time, is_in_project, is_objection
from boathook.cli.show import STATE_STYLES, cut_text, echo, echo_wrapped, shorten_path
from boathook.core.catalog import UNTRUSTED_STATES, Catalog
from boathook.core.hook import ARMED, INVALID, NO_ENTRY, USER, Hook
from boathook.core.notices import list_names
from boathook.core.value import Value
from boathook.install import status as host_status
from boathook.install.host_files import resolve_install_target
from boathook.install.present_agents import find_present_agents
from boathook.install.registry import InstallRegistry
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import PYTHON_AGENT
from boathook.ledger.schema import LedgerRecord
from boathook.ledger.writer import make_timestamp
from boathook.packs.pack_source import STANDARD_PACK
from boathook.version import __version__

_DAYS = 7
_MAX_REASON_CHARS = 100
_LABEL_CHARS = 12


class Overview(Value):
    """What counts here: hooks, agents that call boathook, those that do not or not well, and the last objection."""

    project: str
    armed: tuple[Hook, ...]
    waiting: tuple[Hook, ...]
    broken: tuple[Hook, ...]
    callers: tuple[str, ...]
    unwell: tuple[str, ...]
    others: tuple[str, ...]
    last: LedgerRecord | None
    # Whether a program in Python asked the hooks lately.
    has_program: bool = False


class NextStep(Value):
    command: str
    why: str


def show_overview() -> int:
    """Print the overview of the current folder."""
    locations = locate()
    catalog = load_with_trust(locations)[0].catalog
    overview = _make_overview(catalog, locations.state)
    echo(f"boathook {__version__}", "bold")
    if waiting := describe_waiting_calls(locations.state):
        echo(waiting, "bold yellow")
    for label, text, style in _describe_overview(overview):
        echo_wrapped(f"  {label:<{_LABEL_CHARS}}{text}", style, indent=_LABEL_CHARS + 2)
    step = choose_next_step(overview)
    echo("")
    echo(f"next: {step.command}", "bold")
    echo_wrapped(f"  {step.why}", indent=2)
    echo("All commands: boathook --help", "dim")
    return 0


def _make_overview(catalog: Catalog, state: str) -> Overview:
    registry, target = InstallRegistry(state), resolve_install_target(USER, None, state)
    last, has_program = _read_last_records(state, catalog.project)
    hooks = [hook for hook in catalog.hooks if not hook.is_installed_call]
    statuses = host_status.list_statuses(target, registry)
    callers = _list_hosts(status for status in statuses if status.state == host_status.INSTALLED_STATUS)
    unwell = _list_hosts(status for status in statuses if status.state not in host_status.HEALTHY_STATUSES)
    present = [agent.setup.name for agent in find_present_agents(target, registry)]
    return Overview(
        project=catalog.project,
        armed=tuple(hook for hook in hooks if hook.state == ARMED),
        waiting=tuple(hook for hook in hooks if hook.state in UNTRUSTED_STATES),
        broken=tuple(hook for hook in hooks if hook.state in (INVALID, NO_ENTRY)),
        callers=callers,
        unwell=unwell,
        others=tuple(name for name in present if name not in (*callers, *unwell)),
        last=last,
        has_program=has_program,
    )


def _list_hosts(statuses: Iterable[host_status.HostStatus]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(status.host for status in statuses))


def _read_last_records(state: str, project: str) -> tuple[LedgerRecord | None, bool]:
    """Return the last objection in the project, else the last one of all, and whether a program in Python asked hooks there."""
    since = make_timestamp(time.time() - _DAYS * 86400)
    last: dict[bool, LedgerRecord] = {}
    has_program = False
    for record in LedgerReader(state).read(since):
        if is_objection(record):
            last[is_in_project(record, project)] = record
        has_program = has_program or (record.get("host") == PYTHON_AGENT and is_in_project(record, project))
    return last.get(True) or last.get(False), has_program


def _describe_overview(overview: Overview) -> Iterator[tuple[str, str, str]]:
    """Yield label, text and style of each line."""
    yield "folder", shorten_path(overview.project) if overview.project else "no hooks of its own", ""
    yield "hooks", _count_hooks(overview.armed), ""
    if overview.waiting:
        yield "to review", list_names([hook.name for hook in overview.waiting]), STATE_STYLES["untrusted"]
    if overview.broken:
        yield "broken", list_names([hook.name for hook in overview.broken]), STATE_STYLES["invalid"]
    program = "a program in Python" if overview.has_program else ""
    callers = ", ".join(filter(None, (*overview.callers, program)))
    yield "agents", callers or "none calls boathook", ""
    if overview.unwell:
        yield "not well", ", ".join(overview.unwell), STATE_STYLES["untrusted"]
    if overview.others:
        yield "not guarded", f"{', '.join(overview.others)} (boathook setup)", "yellow"
    if overview.last is not None:
        yield f"last {overview.last['decision']}", _describe_objection(overview.last), ""


def _count_hooks(hooks: Sequence[Hook]) -> str:
    if not hooks:
        return "none here"
    packs = [hook.pack for hook in hooks if hook.pack]
    groups = [f"{packs.count(pack)} of {pack}" for pack in dict.fromkeys(packs)]
    own = [hook for hook in hooks if not hook.pack]
    users = sum(hook.scope == USER for hook in own)
    groups += [f"{users} of yours"] if users else []
    groups += [f"{len(own) - users} of this project"] if len(own) > users else []
    return f"{len(hooks)} armed: {', '.join(groups)}"


def _describe_objection(record: LedgerRecord) -> str:
    reason = cut_text(describe_reasons(record), _MAX_REASON_CHARS)
    who = " ".join(part for part in (record["host"], record["tool"] or record["event"]) if part)
    return f"{format_time(record)}, {who}, by {describe_deciders(record)}: {reason} (boathook why {record['id']})"


def choose_next_step(overview: Overview) -> NextStep:
    """Return the first step that applies: repair, review, fix, set up, then use."""
    has_guards = bool(overview.armed)
    rows = (
        (overview.unwell, "boathook status", "It shows what is wrong with these agents, and how to repair it."),
        (overview.waiting, "boathook trust", "Hooks of this project do not run before you have reviewed them."),
        (overview.broken, "boathook check", "It shows what is wrong with these hooks, and how to fix it."),
        (
            not overview.callers and (overview.others or not overview.has_program),
            "boathook setup",
            _describe_setup(overview),
        ),
        (not has_guards, f"boathook pack add {STANDARD_PACK}", "There are no hooks yet: add the guards of boathook."),
    )
    done = NextStep("boathook log", "It shows what your hooks did. To write one of your own: boathook new --help")
    return next((NextStep(command, why) for applies, command, why in rows if applies), done)


def _describe_setup(overview: Overview) -> str:
    if not overview.others:
        return "No agent was found here: install one, then run this. To see hooks at work without one: boathook demo"
    return (
        f"It makes {', '.join(overview.others)} call boathook, and adds guards. It shows what it does first, and asks."
    )
