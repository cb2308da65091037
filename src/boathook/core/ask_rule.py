"""Who asks a person if a hook wants that, how long boathook waits for the answer, and what an agent reads then."""

from __future__ import annotations

from boathook.core.verdict import ALLOWED, DENIED, KILLED, UNANSWERED, WITHDRAWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# The agent asks, boathook waits for an answer, or the call is denied.
HOST_ASKS, WAITS, DENIES = ASK_WAYS = ("host", "wait", "deny")
# An agent that gives a hook less than this gets its answer at once.
MIN_HOST_SECONDS = 45
MAX_WAIT_SECONDS = 300.0
# What is left for the answer to reach the agent: one that comes too late counts as no opinion in most of them.
_MARGIN_SECONDS = 5.0
# What lets a question wait for a person. A page that no browser shows does not.
_LISTENING_WAYS = "run `boathook asks --watch`, or `boathook page` and keep it open in a browser"
_NO_DETOUR = "Do not try to reach the same end in another way: go on with other work, or end your turn."


def choose_ask_way(setting: str, *, host_asks: bool, has_listener: Callable[[], bool]) -> str:
    """Return one of ASK_WAYS: the setting, or without one the first that reaches a person."""
    if setting:
        return setting
    if host_asks:
        return HOST_ASKS
    return WAITS if has_listener() else DENIES


def compute_wait_seconds(host_seconds: float, elapsed: float, limit: float) -> float:
    """Return how long to wait for an answer, 0.0 if not at all; `elapsed` is what the hooks have used of the host's time."""
    left = min(host_seconds - _MARGIN_SECONDS - elapsed, limit, MAX_WAIT_SECONDS)
    return left if host_seconds >= MIN_HOST_SECONDS and left >= 1 else 0.0


def describe_person_answer(result: str, seconds: float) -> str:
    """Return what the model reads about the answer to a question."""
    return {
        ALLOWED: "A person allowed this call.",
        DENIED: f"A person denied this call. {_NO_DETOUR}",
        UNANSWERED: f"No person answered within {seconds:.0f} s. This is not consent. {_NO_DETOUR}",
        WITHDRAWN: "The agent stopped waiting for a person's answer.",
        KILLED: f"boathook was ended while it waited for a person's answer. This is not consent. {_NO_DETOUR}",
    }[result]


def describe_repeat() -> str:
    """Return what the model reads if an earlier answer still holds."""
    return "A person allowed this call to repeat, for a limited time."


def describe_no_listener() -> str:
    """Return why a call is denied at once that needs a second factor, if no person waits for questions."""
    ways = f'{_LISTENING_WAYS}, or set `ask = "wait"` in your hooks.toml'
    return (
        f"A hook wants a person's answer with a second factor, and nothing listens for questions. A person can {ways}."
    )


def describe_listeners() -> str:
    """Return what the person reads if a question was denied because nothing listened."""
    return (
        "Nothing listens for questions, so you were not asked. To let the next one wait for your answer, "
        f"{_LISTENING_WAYS}, in a terminal of your own."
    )


def describe_ask_doubt(who: str, since: str) -> str:
    """Return why a question is not left to an agent of this version."""
    seen = f"{who} may run a call without asking about it; {since} was seen to ask"
    ways = f'{_LISTENING_WAYS}, or set `ask = "wait"` or `ask = "host"` in hooks.toml'
    return f"{seen}. A person can update it, {ways}."


def describe_silence() -> str:
    """Return why a call is denied at once after a question that no person answered."""
    before = "No person answered an earlier question of this session, so no person is asked about this call"
    return f"{before} until one of them is answered. {_NO_DETOUR}"
