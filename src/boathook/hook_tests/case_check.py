"""Compare what a hook did with what its case expects."""

from __future__ import annotations

import os
from typing import Any

from boathook.core.json_text import dumps, is_same_json
from boathook.core.outcome import ABSENT
from boathook.core.value import Value
from boathook.core.verdict import OK, Exit, Verdict
from boathook.hook_tests.case import OBJECT, OBJECTIONS, PASS, SKIP, Case, LeftFile
from boathook.hook_tests.scratch_folder import ScratchFolder
from boathook.system.files import FileError, read_regular

_MAX_SHOWN_CHARS = 300
_NO_DECISION = "none"
# The other words speak for themselves.
_MEANINGS = {SKIP: " (its matcher does not pick this call)"}


class Observed(Value):
    """What happened in one run of a case: the verdict, how hooks in the background ended, and the main field before."""

    verdict: Verdict
    ends: tuple[Exit, ...] = ()
    main_key: str = ""

    @property
    def word(self) -> str:
        """Return the word that a case for this would begin with."""
        if not self.verdict.runs and not self.verdict.background:
            return SKIP
        decision = self.verdict.decision.word
        return PASS if decision == _NO_DECISION else decision


def find_differences(case: Case, observed: Observed, scratch: ScratchFolder) -> tuple[str, ...]:
    """Return how a run differs from its case, in sentences for people; nothing if it is as expected."""
    failures = _list_failures(observed)
    if failures:
        return failures
    if not is_expected(case.word, observed.word):
        meaning = _MEANINGS.get(observed.word, "")
        return (f"expected {case.word}, got {observed.word}{meaning}{_quote_reasons(observed.verdict)}",)
    texts = [*_compare_texts("reason", case.says, observed.verdict.reasons)]
    contexts = observed.verdict.additional_context
    texts += _compare_texts("added context", case.adds, contexts)
    if case.word == PASS and contexts and not case.adds:
        texts.append(f"it added context, which the case does not say: {_shorten(' '.join(contexts))}")
    texts += _compare_rewrite(case, observed)
    texts += [text for left in case.leaves if (text := _compare_file(left, scratch))]
    return tuple(texts)


def is_expected(expected: str, got: str) -> bool:
    return got in OBJECTIONS if expected == OBJECT else got == expected


def _list_failures(observed: Observed) -> tuple[str, ...]:
    verdict = observed.verdict
    failed = [f"the hook {run.status}: {run.error}" for run in verdict.runs if run.status != OK]
    failed += [f"the hook {end.error}: {end.detail}" for end in observed.ends if end.error]
    failed += [f"the hook ended with exit code {end.code}" for end in observed.ends if end.code not in (0, 2, None)]
    failed += [f"it did not run: {skip.reason}" for skip in verdict.skipped if skip.is_warning]
    return tuple(dict.fromkeys(failed))


def _quote_reasons(verdict: Verdict) -> str:
    return f": {_shorten('; '.join(verdict.reasons))}" if verdict.reasons else ""


def _compare_texts(what: str, expected: tuple[str, ...], given: tuple[str, ...]) -> list[str]:
    whole = "\n".join(given)
    got = f"it is: {_shorten(whole)}" if whole else "there is none"
    return [f"the {what} does not have {_shorten(text)!r}; {got}" for text in expected if text not in whole]


def _compare_rewrite(case: Case, observed: Observed) -> list[str]:
    verdict = observed.verdict
    changed, before = verdict.modified_input, verdict.original.tool_input
    if verdict.outcome.output is not ABSENT:
        text = verdict.outcome.output if isinstance(verdict.outcome.output, str) else dumps(verdict.outcome.output)
        return [] if text == case.becomes else [_describe_rewrite(case, text)]
    if changed is None:
        return [] if case.becomes is None else [f"it did not become {_shorten(case.becomes)!r}: nothing was rewritten"]
    if case.becomes is None:
        return [_describe_rewrite(case, dumps(changed))]
    now = changed.get(observed.main_key) if isinstance(changed, dict) else None
    texts = [] if now == case.becomes else [_describe_rewrite(case, now if isinstance(now, str) else dumps(changed))]
    return texts + _list_other_changes(changed, before, observed.main_key)


def _describe_rewrite(case: Case, now: str) -> str:
    if case.becomes is None:
        return f"it was rewritten, which the case does not say: {_shorten(now)}"
    return f"it did not become {_shorten(case.becomes)!r}; it is: {_shorten(now)}"


def _list_other_changes(now: Any, before: Any, main_key: str) -> list[str]:
    if not isinstance(now, dict) or not isinstance(before, dict):
        return []
    names = [name for name in {**before, **now} if name != main_key]
    changed = [name for name in names if not is_same_json(now.get(name, ABSENT), before.get(name, ABSENT))]
    return [f"the field '{name}' of the input changed, too" for name in changed]


def _compare_file(left: LeftFile, scratch: ScratchFolder) -> str:
    path = scratch.resolve(left.path)
    # An isolated hook cannot read what is elsewhere, and must not have it shown either.
    if not os.path.realpath(path).startswith(f"{scratch.base}/"):
        return f"{left.path} is a link that leaves the scratch project"
    if left.path.endswith("/"):
        return "" if os.path.isdir(path) else f"it left no folder {left.path}"
    try:
        text = read_regular(path).decode("utf-8", "replace")
    except FileError as error:
        return f"it left no file {left.path}" if not os.path.lexists(path) else f"the file {left.path} {error}"
    if left.text is not None and text != left.text:
        return f"the file {left.path} is not as expected; it has: {_shorten(text)!r}"
    return "" if left.part in text else f"the file {left.path} does not have {left.part!r}; it has: {_shorten(text)!r}"


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"
