"""Review: a hook that waits for a person, with all that `boathook trust` shows, and the buttons to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boathook.cli.trust_review import make_review
from boathook.page.decision_rows import DENY_HOOK, TRUST_HOOK
from boathook.page.hook_reviews import describe_refused_trust, find_waiting_hook
from boathook.page.markup import Html, join_html, make_element
from boathook.page.parts import make_copy_button, make_facts, make_lines, make_project_command
from boathook.page.question_parts import make_decision_buttons

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query


def make_review_screen(context: PageContext, query: Query) -> Html:
    candidate, store = find_waiting_hook(context, query.get("project", ""), query.get("id", ""))
    review = make_review(candidate, store)
    name, project = candidate.hook.name, candidate.place.project
    digest = candidate.content.digest if candidate.content is not None else ""
    problem = describe_refused_trust(candidate, review)
    trust = {} if problem else {"Trust…": TRUST_HOOK}
    replaces = "If you trust it, it replaces your own hook of this name." if candidate.is_override else ""
    return join_html(
        (
            make_element("h1", f"Review {name}"),
            make_element("p", f"It cannot be trusted here: {problem}.", role="alert") if problem else None,
            make_element("p", replaces, role="alert") if replaces else None,
            make_lines(review.lines),
            make_facts({"Project": project, "Digest": digest}),
            make_decision_buttons(
                context,
                {**trust, "Never run it…": DENY_HOOK},
                about=candidate.identity,
                digest=digest,
                label=name,
                project=project,
            ),
            make_element("p", make_copy_button(make_project_command(project, "trust", name))),
        )
    )
