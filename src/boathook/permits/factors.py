"""The second factor of a person's answer: a code of an authenticator app, or a program that asks. Each is a row.

It is for hooks with `ask: strong`, and for answers that do not come from a terminal. `check_factor` checks one answer.
"""

from __future__ import annotations

from collections.abc import Callable

from boathook.core.catalog import Settings
from boathook.core.value import Value
from boathook.permits.askpass import ask_by_program, find_askpass_problem
from boathook.permits.totp import FactorError, read_secret, use_code

_NO_FACTOR = (
    "this answer needs a second factor, and none is set. Set one: boathook approvals totp, then add to your hooks.toml "
    '[hooks.approvals] with factor = "totp"'
)


class Factor(Value):
    """A way to check an answer. `needs_code`: the person must give a code with the answer."""

    # `check` takes the settings, the state folder, the text of the question, and what the person gave. `find_problem` returns why
    # it cannot work. Both return a reason, or "".
    check: Callable[[Settings, str, str, str], str]
    find_problem: Callable[[Settings, str], str]
    needs_code: bool = False


def _find_totp_problem(_: Settings, state: str) -> str:
    try:
        read_secret(state)
    except FactorError as error:
        return str(error)
    return ""


FACTORS: dict[str, Factor] = {
    "totp": Factor(lambda _settings, state, _text, proof: use_code(state, proof), _find_totp_problem, needs_code=True),
    "askpass": Factor(
        lambda settings, _state, text, _proof: ask_by_program(settings.askpass, text),
        lambda settings, _state: find_askpass_problem(settings.askpass),
    ),
}


def check_factor(settings: Settings, state: str, question_text: str, proof: str) -> str:
    """Return "" if the second factor of an answer holds, else the reason. Never raises: what fails does not hold."""
    factor = FACTORS.get(settings.factor)
    if factor is None:
        return _NO_FACTOR
    try:
        return factor.check(settings, state, question_text, proof)
    except Exception as error:  # noqa: BLE001  (an error of ours must not look like a yes)
        return f"the second factor could not be checked ({type(error).__name__}: {error})"


def find_factor_problem(settings: Settings, state: str) -> str:
    """Return why no answer with a second factor would hold, "" if one can."""
    factor = FACTORS.get(settings.factor)
    return _NO_FACTOR if factor is None else factor.find_problem(settings, state)


def is_code_needed(settings: Settings) -> bool:
    """Whether a person gives a code with an answer that needs the second factor."""
    factor = FACTORS.get(settings.factor)
    return factor is not None and factor.needs_code
