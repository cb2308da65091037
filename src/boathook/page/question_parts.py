"""Questions that wait for an answer, as the page shows them: the whole call, who asks and why, how long it still waits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from boathook.cli.call_review import describe_call, describe_objections
from boathook.cli.record_text import name_agent
from boathook.core.waiting_question import WaitingQuestion
from boathook.page.decision_rows import ALLOW_CALL, DENY_CALL
from boathook.page.markup import Html, join_html, make_element
from boathook.page.parts import make_copied_command, make_copy_button, make_lines, make_table
from boathook.permits.repeat_permits import list_repeats
from boathook.permits.waiting_questions import describe_waiting_call

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext


def make_questions(context: PageContext) -> Html:
    """Return the questions that wait, the oldest first; "" if there is none."""
    items = [_make_question(context, waiting) for waiting in context.list_waiting_calls()]
    return make_element("ol", items, class_="needs questions") if items else Html("")


def _make_question(context: PageContext, waiting: WaitingQuestion) -> Html:
    question, agent = waiting.question, name_agent(waiting.question.host)
    command = make_copied_command("asks", waiting.id[:8])
    about = (
        f"Asked at {time.strftime('%H:%M:%S', time.localtime(question.time))}. It waits for another ",
        # The script counts the seconds. Here they would make the card another one at every look.
        make_element("span", "", data_until=round(waiting.deadline * 1000)),
        ".",
    )
    title = f"{agent or 'An agent'} wants to use {question.host_tool or question.tool}"
    return make_element(
        "li",
        make_element("h2", make_element("span", "question", class_="kind"), " ", title),
        make_element("p", *about, class_="note"),
        make_lines([*describe_call(question), *describe_objections(question, "")][2:]),
        make_decision_buttons(
            context,
            {"Allow…": ALLOW_CALL, "Deny…": DENY_CALL},
            about=waiting.id,
            digest=waiting.digest,
            label=describe_waiting_call(waiting),
        ),
        make_element("p", make_copy_button(command)),
        data_ask=waiting.id,
        data_copy=command,
    )


def make_repeats(context: PageContext) -> Html:
    """Return the calls that are allowed again for a while, each with its end; "" if there are none."""
    permits = list_repeats(context.state, time.time())
    rows = [
        (
            make_element("code", permit.text),
            make_element("span", "", data_until=round(permit.end * 1000)),
            make_element(
                "button", "Ask again", type="button", data_end=permit.id, aria_label=f"Ask again: {permit.text}"
            ),
        )
        for permit in permits
    ]
    if not rows:
        return Html("")
    commands = [make_copied_command("asks") for _ in permits]
    title = make_element("h2", "Calls that you allowed again")
    return join_html((title, make_table(("Call", "Allowed for another", "Stop allowing it"), rows, commands)))


def make_decision_buttons(
    context: PageContext, decisions: dict[str, str], *, about: str, digest: str, label: str, project: str = ""
) -> Html:
    """Return buttons that begin a decision, or why the page cannot; `label` is what they are about."""
    obstacle = context.check.terminal.obstacle
    if obstacle:
        return make_element("p", f"You cannot decide this here: {obstacle}. Use the command.", class_="note")
    buttons = [
        make_element(
            "button", text, type="button",
            data_decision=decision, data_about=about, data_digest=digest, data_project=project or None,
            aria_label=f"{text} {label}",
        )
        for text, decision in decisions.items()
    ]  # fmt: skip
    return make_element("p", [join_html((button, " ")) for button in buttons], class_="decide")
