"""The second factor of a person's answer: a code of an authenticator app, or a program that asks. Each is a row.

It is for hooks with `ask: strong`, and for answers that do not come from a terminal. `check_factor` checks one answer.
"""

from __future__ import annotations

from collections.abc import Callable

from boathook.core.catalog import Catalog, Settings
from boathook.core.hook import ARMED, STRONG_ASK
from boathook.core.json_text import dumps
from boathook.core.permit import FACTOR_FIRST, TYPED_CHARS, Question
from boathook.core.text import reveal_text
from boathook.core.value import Value
from boathook.core.waiting_question import BY_PAGE
from boathook.ledger.redact import redact
from boathook.permits.askpass import ASKPASS_SECONDS, AskpassError, AskpassRun, ask_by_program, find_askpass_problem
from boathook.permits.totp import FactorError, read_secret, use_code

_SET_FACTOR = 'Set one: boathook approvals totp, then add to your hooks.toml [hooks.approvals] with factor = "totp"'
_NO_FACTOR = f"this answer needs a second factor, and none is set. {_SET_FACTOR}"


_MAX_SEARCHED_CHARS, _MAX_NAME_CHARS = 1 << 14, 200
_MAX_FIRST_CHARS, _MAX_LAST_CHARS = 700, 300


class FactorAnswer(Value):
    """What is checked: the text of the question, the code that the person gave, and how long the check may take."""

    text: str
    code: str = ""
    seconds: float = ASKPASS_SECONDS


class Factor(Value):
    """A way to check an answer. `needs_code`: the person must give a code with the answer.

    `start` begins a check that takes the time of a person, so that its caller can do something else meanwhile.
    """

    # `check` takes the settings, the state folder, and what is to be checked. `find_problem` returns why it cannot work. Both
    # return a reason, or "".
    check: Callable[[Settings, str, FactorAnswer], str]
    find_problem: Callable[[Settings, str], str]
    needs_code: bool = False
    start: Callable[[Settings, FactorAnswer], AskpassRun] | None = None


def _find_totp_problem(_: Settings, state: str) -> str:
    try:
        read_secret(state)
    except FactorError as error:
        return str(error)
    return ""


FACTORS: dict[str, Factor] = {
    "totp": Factor(
        lambda _settings, state, answer: use_code(state, answer.code, seconds=answer.seconds),
        _find_totp_problem,
        needs_code=True,
    ),
    "askpass": Factor(
        lambda settings, _state, answer: ask_by_program(settings.askpass, answer.text, answer.seconds),
        lambda settings, _state: find_askpass_problem(settings.askpass),
        start=lambda settings, answer: AskpassRun(settings.askpass, answer.text),
    ),
}


def _find_factor(settings: Settings) -> Factor | None:
    """Return the second factor that is set; one that cannot be read from hooks.toml is there, and does not work."""
    if settings.factor_mistake:
        reason = f"the second factor cannot be read from your hooks.toml. Correct it: {settings.factor_mistake}"
        return Factor(lambda *_: reason, lambda *_: reason)
    return FACTORS.get(settings.factor)


def check_factor(settings: Settings, state: str, answer: FactorAnswer) -> str:
    """Return "" if the second factor of an answer holds, else the reason. Never raises: what fails does not hold."""
    factor = _find_factor(settings)
    if factor is None:
        return _NO_FACTOR
    try:
        return factor.check(settings, state, answer)
    except Exception as error:  # noqa: BLE001  (an error of ours must not look like a yes)
        return f"the second factor could not be checked ({type(error).__name__}: {error})"


def begin_factor_check(settings: Settings, state: str, answer: FactorAnswer) -> str | AskpassRun:
    """Check an answer as `check_factor` does, or return the program that asks the person about it."""
    factor = _find_factor(settings)
    if factor is None or factor.start is None:
        return check_factor(settings, state, answer)
    try:
        return factor.start(settings, answer)
    except AskpassError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  (as above)
        return f"the second factor could not be checked ({type(error).__name__}: {error})"


def find_factor_problem(settings: Settings, state: str) -> str:
    """Return why no answer with a second factor would hold, "" if one can."""
    factor = _find_factor(settings)
    return _NO_FACTOR if factor is None else factor.find_problem(settings, state)


def describe_factor_first(settings: Settings, state: str) -> str:
    """Return why no person can allow a call yet that needs the second factor, and what comes first; "" if one can."""
    factor = _find_factor(settings)
    if factor is None:
        way = 'boathook approvals totp, and factor = "totp" under [hooks.approvals] in your hooks.toml'
        return f"This call needs a second factor, and none is set. {FACTOR_FIRST} ({way})."
    problem = factor.find_problem(settings, state)
    return f"This call needs a second factor, and yours does not work: {problem}. {FACTOR_FIRST}." if problem else ""


def describe_no_factor() -> str:
    """Return that no second factor is set, what does not work without one, and how to set one."""
    effect = "calls that hooks with `ask: strong` ask about cannot be allowed"
    return f"no second factor is set (known: {', '.join(FACTORS)}), so {effect}. {_SET_FACTOR}"


def describe_other_settings(question_id: str, *, is_needed: bool) -> str:
    """Return why an answer of the page does not count if the page and the process that waits read different settings."""
    difference = "it has a second factor, which the page did not check" if is_needed else "it has no second factor"
    way = f"Start the page with the same HOME and XDG_CONFIG_HOME, or run: boathook asks {question_id[:8]}"
    return f"the agent has other settings than the page: {difference}. {way}"


def has_factor(settings: Settings) -> bool:
    """Whether the person chose a second factor, or a mistake in hooks.toml hides whether."""
    return _find_factor(settings) is not None


def is_factor_used(catalog: Catalog) -> bool:
    """Whether a person chose a second factor, or a hook that runs wants one."""
    return has_factor(catalog.settings) or any(hook.ask == STRONG_ASK and hook.state == ARMED for hook in catalog.hooks)


def needs_factor(settings: Settings, question: Question, via: str) -> bool:
    """Whether a yes counts only with the second factor. On the page it takes the place of the code in the page's terminal."""
    return question.needs_factor or (via == BY_PAGE and has_factor(settings))


def describe_wish(question: Question) -> str:
    """Return what a program asks about a call, without secrets: other users see it.

    Every text of the call is on one line after a word of ours, so that none looks like a line of ours.
    """
    about = {
        "agent": question.host,
        "tool": question.host_tool or question.tool,
        "folder": question.work_dir,
        "digest": f"… {question.digest[-TYPED_CHARS:]}",
    }
    lines = [f"{label}: {_cut_line(text, _MAX_NAME_CHARS)}" for label, text in about.items()]
    return "\n".join(("Allow this call once?", *lines, *_describe_input(dumps(question.tool_input))))


def _describe_input(text: str) -> list[str]:
    """Return lines with an input; of a long one also the end, because that may be what matters."""
    first = reveal_text(str(redact(text[:_MAX_SEARCHED_CHARS])))
    if len(text) <= _MAX_SEARCHED_CHARS and len(first) <= _MAX_FIRST_CHARS + _MAX_LAST_CHARS:
        return [f"input: {first}"]
    last = first if len(text) <= _MAX_SEARCHED_CHARS else reveal_text(str(redact(text[-_MAX_SEARCHED_CHARS:])))
    size = f"input of {len(text):,} characters, too long to be shown here"
    return [size, f"its beginning: {first[:_MAX_FIRST_CHARS]}", f"its end: {last[-_MAX_LAST_CHARS:]}"]


def _cut_line(text: str, limit: int) -> str:
    shown = reveal_text(text)
    return shown if len(shown) <= limit else f"{shown[:limit]}… ({len(text):,} characters)"


def is_code_needed(settings: Settings) -> bool:
    """Whether a person gives a code with an answer that needs the second factor."""
    factor = _find_factor(settings)
    return factor is not None and factor.needs_code
