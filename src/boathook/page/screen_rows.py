"""The screens of the page as rows: the last part of the address, the title, and the function that makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from boathook.core.value import Value
from boathook.errors import BoathookError
from boathook.page.guards_screen import make_guards_screen
from boathook.page.hook_screen import make_hook_screen, make_hooks_screen
from boathook.page.live_screen import make_live_screen
from boathook.page.markup import Html, join_html, make_element
from boathook.page.needs import explain_error
from boathook.page.now_screen import make_now_screen
from boathook.page.record_screen import make_record_screen
from boathook.page.replay_screen import make_replay_screen
from boathook.page.review_screen import make_review_screen
from boathook.page.session_screen import make_session_screen, make_sessions_screen

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query


class Screen(Value):
    """`place`: the link of the navigation that is marked, if it is another screen."""

    path: str
    title: str
    make: Callable[[PageContext, Query], Html]
    place: str = ""

    def describe_error(self, error: BoathookError) -> Html:
        text = make_element("p", explain_error(error), role="alert")
        return join_html((make_element("h1", self.title), text))


SCREENS = (
    Screen("now", "Now", make_now_screen),
    Screen("live", "Live", make_live_screen),
    Screen("record", "Record", make_record_screen, "live"),
    Screen("review", "Review", make_review_screen, "now"),
    Screen("guards", "Guards", make_guards_screen),
    Screen("hooks", "Hooks", make_hooks_screen),
    Screen("hook", "Hook", make_hook_screen, "hooks"),
    Screen("sessions", "Sessions", make_sessions_screen),
    Screen("session", "Session", make_session_screen, "sessions"),
    Screen("replay", "Replay", make_replay_screen),
)
