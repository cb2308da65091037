"""Now: what needs a person, the oldest first; and for each agent its last event, which is all that is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boathook.hosts.host import list_host_names
from boathook.install.status import ABSENT_STATUS
from boathook.page.markup import Html, join_html, make_element
from boathook.page.needs import QUESTION, Need, list_needs
from boathook.page.page_facts import name_agent
from boathook.page.parts import describe_age, make_copy_button, make_diff, make_link, make_table, make_time
from boathook.page.question_parts import QUESTIONS_ID, make_questions, make_repeats

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query


def make_now_screen(context: PageContext, query: Query) -> Html:  # noqa: ARG001
    needs = list_needs(context)
    title = make_element("h1", describe_count(len(needs)))
    # A question is shown with its whole call.
    items = [_make_need(need) for need in needs if need.kind != QUESTION]
    questions = make_element("div", make_questions(context), id=QUESTIONS_ID)
    others = make_element("ol", items, class_="needs") if items else None
    return join_html(
        (
            title,
            questions,
            others,
            make_repeats(context),
            make_element("h2", "Agents"),
            _make_agents(context),
            _make_state(context),
        )
    )


def describe_count(count: int) -> str:
    """Return the heading: how many things need a person."""
    return f"{count} thing{'s' * (count != 1)} need{'s' * (count == 1)} you" if count else "Nothing needs you"


def _make_need(need: Need) -> Html:
    age = describe_age(need.since) if need.since else ""
    title = make_link(need.title, "hook", name=need.hook, project=need.project) if need.hook else need.title
    diff = None
    if need.diff:
        diff = make_element("details", make_element("summary", "What changed"), make_diff(need.diff))
    review = make_link("Review it", "review", project=need.project, id=need.review) if need.review else None
    return make_element(
        "li",
        make_element("h2", make_element("span", need.kind, class_="kind"), " ", title),
        make_element("p", need.text, make_element("span", f" Since {age}." if age else "", class_="note")),
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
    rows = []
    for agent in list_agents(context):
        last = "no event is recorded"
        if agent["last"]:
            age = make_link(describe_age(agent["last"]), "record", id=agent["id"])
            last = join_html((make_time(agent["last"]), " (", age, ")"))
        rows.append(
            (make_link(agent["agent"], "live", agent=agent["name"]), agent["state"], last, f"{agent['events']:,}")
        )
    if not rows:
        return make_element("p", "No agent was found here. ", make_copy_button("boathook setup"))
    return make_table(("Agent", "Connection", "Last event", "Events"), rows)


def _make_state(context: PageContext) -> Html:
    state = context.index.describe_state()
    text = f"{state.rows:,} records in {context.state}."
    text += "" if state.is_complete else " Older ones are still being read, so that counts are too small."
    return make_element("p", text, class_="note")
