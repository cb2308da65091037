"""The questions of `boathook trust`, one for each hook, after all of them were shown."""

from __future__ import annotations

from boathook.cli.list import describe_matcher
from boathook.cli.person import NO_TERMINAL
from boathook.cli.show import echo
from boathook.cli.terminal import ask_choice
from boathook.cli.trust_review import Review, TrustCandidate, show_reviews
from boathook.core.hook import ARMED

YES, NO, ALL, VIEW, QUIT = "yes", "no", "all", "view", "quit"


class TrustQuestions:
    """Asks about hooks in their order. `all` answers for those that follow as well, `quit` leaves them undecided."""

    def __init__(self, candidates: list[TrustCandidate]) -> None:
        self._left, self._is_one = candidates, len(candidates) == 1
        # The answer for all hooks that follow, if there is one.
        self._answer = ""

    def ask(self, candidate: TrustCandidate, review: Review, question: str) -> bool:
        """Return whether a person trusts a hook; otherwise say what that means."""
        places = [index for index, one in enumerate(self._left) if one is candidate]
        self._left = self._left[places[0] + 1 :] if places else []
        answer: str | None = self._answer
        # That a hook replaces one of the user's is a question of its own.
        if not answer or (answer == ALL and candidate.is_override):
            answer = self._ask_person(candidate, review, question)
        name = candidate.hook.name
        if answer is None:
            flags = "--yes --override" if candidate.is_override else "--yes"
            advice = f"If you have read the above, add {flags}"
            echo(f"  {name} was not trusted: {NO_TERMINAL}. {advice}", "yellow", err=True)
        elif answer in (NO, QUIT):
            effect = "" if candidate.state == ARMED else ": it does not run"
            echo(f"  {name} stays {candidate.shown_state}{effect}")
        return answer in (YES, ALL)

    def _ask_person(self, candidate: TrustCandidate, review: Review, question: str) -> str | None:
        if not self._is_one:
            # A pager that ends takes what it showed from the screen.
            hook = candidate.hook
            echo("")
            echo(f"{hook.name}  {candidate.shown_state}: {hook.trigger}, {describe_matcher(hook)}", "bold")
        words = [YES, NO, *([ALL] if self._left else ()), VIEW, QUIT]
        # The capital letter is what an empty answer means.
        shown = " / ".join(f"[{word[0].upper() if word == NO else word[0]}]{word[1:]}" for word in words)
        while (answer := ask_choice(f"{question} {shown}", words, default=NO)) == VIEW:
            show_reviews([(candidate, review)], always_paged=True)
        self._answer = answer if answer in (ALL, QUIT) else self._answer
        return answer
