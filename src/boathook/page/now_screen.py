"""Now: what needs a person, the oldest first; and for each agent its last event, which is all that is known of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from boathook.cli.record_text import name_agent
from boathook.cli.show import format_count
from boathook.core.hashing import hexdigest
from boathook.hosts.host import list_host_names
from boathook.install.status import ABSENT_STATUS
from boathook.ledger.record import PYTHON_AGENT
from boathook.page.markup import Html, join_html, make_element
from boathook.page.needs import QUESTION, Need, explain_error, list_needs
from boathook.page.parts import (
    describe_age,
    make_copied_command,
    make_copy_button,
    make_diff,
    make_downloads,
    make_link,
    make_table,
    make_text,
    make_time,
)
from boathook.page.question_parts import make_questions, make_repeats

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query


def make_now_screen(context: PageContext, query: Query) -> Html:  # noqa: ARG001
    title = make_element("h1", describe_count(len(list_needs(context))))
    parts = [make_element("div", html, id=name, data_key=key) for name, (key, html) in make_parts(context).items()]
    return join_html((title, *parts, make_downloads("now", ("json", "csv"), {})))


def describe_count(count: int) -> str:
    """Return the heading: how many things need a person."""
    return f"{count} thing{'s' * (count != 1)} need{'s' * (count == 1)} you" if count else "Nothing needs you"


def make_parts(context: PageContext) -> dict[str, tuple[str, Html]]:
    """Return the parts of the screen by their ids, each with a key that is another one if the part has changed."""
    parts = {name: _make_safely(subject, make, context) for name, (subject, make) in PARTS.items()}
    return {name: (hexdigest(html.encode("utf-8", "surrogatepass")), html) for name, html in parts.items()}


def _make_safely(subject: str, make: Callable[[PageContext], Html], context: PageContext) -> Html:
    """Return a part; if it fails, its error: no other part may be hidden by it, above all no question."""
    try:
        return make(context)
    except Exception as error:  # noqa: BLE001
        return make_element("p", f"{subject} cannot be shown here: {explain_error(error)}.", role="alert")


def _make_needs(context: PageContext) -> Html:
    # A question is shown with its whole call.
    items = [_make_need(need) for need in list_needs(context) if need.kind != QUESTION]
    return make_element("ol", items, class_="needs") if items else Html("")


def _make_need(need: Need) -> Html:
    since = (" (", need.since_word, " " if need.since_word else "", make_time(need.since), ")") if need.since else ()
    title: Html | str = need.title
    # Enter opens the first link of a card: it must lead to what the card asks for.
    if need.review:
        title = make_link(need.title, "review", project=need.project, id=need.review)
    elif need.hook:
        title = make_link(need.title, "hook", name=need.hook, project=need.project)
    diff = None
    if need.diff:
        diff = make_element("details", make_element("summary", "What changed"), make_diff(need.diff))
    review = make_link("Review it", "review", project=need.project, id=need.review) if need.review else None
    return make_element(
        "li",
        make_element("h2", make_element("span", need.kind, class_="kind"), " ", title),
        make_element("p", make_text(need.text), make_element("span", since, class_="note")),
        diff,
        make_element("p", review) if review else None,
        make_element("p", make_copy_button(need.command)) if need.command else None,
        data_copy=need.command or None,
    )


def list_agents(context: PageContext) -> list[dict[str, Any]]:
    """Return the agents of this machine, and those that sent events, each with its last event."""
    agents = context.facts.load_agents()
    with context.index.lock:
        last = {name: (one.time, one.id, one.count) for name, one in context.index.sums.hosts.items()}
    states: dict[str, list[str]] = {}
    for status in agents.statuses:
        if status.state != ABSENT_STATUS:
            states.setdefault(status.host, []).append(f"{status.state} ({status.scope})")
    names = dict.fromkeys((*states, *agents.present, *(name for name in last if name)))
    rows = []
    for name in names:
        moment, record, count = last.get(name, ("", "", 0))
        state = ", ".join(states.get(name, ())) or ("not installed" if name in list_host_names() else "")
        state = "nothing to install" if name == PYTHON_AGENT else state
        rows.append(
            {
                "agent": name_agent(name),
                "state": state,
                "last": moment,
                "id": record,
                "events": count,
                "name": name,
            }
        )
    return rows


def _make_agents(context: PageContext) -> Html:
    return join_html((make_element("h2", "Agents"), _make_agent_table(context), _make_state(context)))


def _make_agent_table(context: PageContext) -> Html:
    rows, found = [], list_agents(context)
    for agent in found:
        last = "no event is recorded"
        if agent["last"]:
            age = make_link(describe_age(agent["last"]), "record", id=agent["id"])
            last = join_html((make_time(agent["last"]), " (", age, ")"))
        rows.append(
            (make_link(agent["agent"], "live", agent=agent["name"]), agent["state"], last, f"{agent['events']:,}")
        )
    if not rows:
        return make_element("p", "No agent was found here. ", make_copy_button("boathook setup"))
    commands = [make_copied_command("log", "--agent", agent["name"]) for agent in found]
    return make_table(("Agent", "Connection", "Last event", "Events"), rows, commands)


def _make_state(context: PageContext) -> Html:
    state = context.index.describe_state()
    text = f"{format_count(state.rows, 'record')} in {context.state}."
    text += "" if state.is_complete else " Older ones are still being read, so that counts are too small."
    return make_element("p", text, class_="note")


# The parts that the script replaces while the screen is open, by their ids: what each is about, and the function that makes it.
PARTS: dict[str, tuple[str, Callable[[PageContext], Html]]] = {
    "questions": ("The calls that wait for you", make_questions),
    "needs": ("What needs you", _make_needs),
    "repeats": ("The calls that you allowed again", make_repeats),
    "agents": ("The agents", _make_agents),
}
