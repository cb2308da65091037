"""Shell texts that start processes without end: functions that start themselves in the background, and endless loops with `&`."""

from __future__ import annotations

from typing import NamedTuple

from boathook.core.shell import ShellCommand, ShellReader

_MAX_CHARS = 20_000
# More functions that call each other than this are nothing that a person writes in one command.
_MAX_CALLS = 50
_MAX_STEPS = 200
_ALWAYS = (
    ("true",),
    (":",),
    ("[", "1", "]"),
    ("[[", "1", "]]"),
    ("[", "true", "]"),
    ("[[", "true", "]]"),
    ("test", "1"),
)
_NEVER = (("false",), ("[", "]"), ("[[", "]]"))
_ENDS = frozenset(("break", "exit", "return", "exec"))
_KEYWORDS = frozenset(("do", "then", "else", "elif", "if", "{", "!", "time", "(", "done", "fi", "}", "while", "until"))


class _Step(NamedTuple):
    """A command in the text: its words without keywords, those keywords, and what is behind it."""

    words: tuple[str, ...]
    keywords: tuple[str, ...]
    operator: str


def is_fork_bomb(text: str) -> bool:
    """Whether a text starts processes until the machine has no room for more."""
    if ("&" not in text and "|" not in text) or len(text) > _MAX_CHARS:
        return False
    steps = [_read_step(command) for command in ShellReader(text).read_all()]
    return _has_endless_function(steps) or _has_endless_loop(text, steps)


def _read_step(command: ShellCommand) -> _Step:
    words = [word.text for word in command.words]
    keywords: list[str] = []
    while words and words[0] in _KEYWORDS:
        keywords.append(words.pop(0))
    if words and words[0].startswith("/"):
        words[0] = words[0].rpartition("/")[2]
    return _Step(tuple(words), tuple(keywords), command.operator)


def _has_endless_function(steps: list[_Step]) -> bool:
    """Whether a function is called that starts itself again and does not wait for it."""
    bodies = _find_functions(steps)
    if not bodies:
        return False
    starts = {body.start: body for body in bodies}
    defined: dict[str, tuple[_Step, ...]] = {}
    judged: set[tuple[str, int]] = set()
    is_inside = False
    for at, step in enumerate(steps):
        name = step.words[0] if step.words else ""
        if at in starts:
            is_inside = True
            defined[name] = starts[at].steps
        elif is_inside and "}" in step.keywords:
            is_inside = False
        elif not is_inside and name in defined and (name, len(defined)) not in judged:
            judged.add((name, len(defined)))
            if len(judged) > _MAX_CALLS or _starts_itself(name, defined):
                return True
    return False


class _Function(NamedTuple):
    name: str
    start: int
    steps: tuple[_Step, ...]


def _find_functions(steps: list[_Step]) -> list[_Function]:
    """Return the functions of a text: `NAME () {` is a command with one word that ends at a bracket."""
    functions: list[_Function] = []
    for at, step in enumerate(steps):
        is_head = step.operator == "(" and len(step.words) == 1 and at + 1 < len(steps)
        if is_head and "{" in steps[at + 1].keywords:
            rest = steps[at + 1 : at + 1 + _MAX_STEPS]
            end = next((index for index, one in enumerate(rest) if "}" in one.keywords), len(rest))
            functions.append(_Function(step.words[0], at, tuple(rest[:end])))
    return functions


def _starts_itself(name: str, bodies: dict[str, tuple[_Step, ...]]) -> bool:
    """Whether a function comes back to itself, and on the way something goes on beside it."""
    pending = [(name, False)]
    seen: set[tuple[str, bool]] = set()
    while pending:
        current, is_beside = pending.pop()
        for at, step in enumerate(bodies.get(current, ())):
            called = step.words[0] if step.words else ""
            if called not in bodies:
                continue
            is_piped = step.operator in ("|", "|&") or (at > 0 and bodies[current][at - 1].operator in ("|", "|&"))
            beside = is_beside or step.operator == "&" or is_piped
            if called == name and beside:
                return True
            if (called, beside) not in seen:
                seen.add((called, beside))
                pending.append((called, beside))
    return False


def _has_endless_loop(text: str, steps: list[_Step]) -> bool:
    has_always = any(sign in "".join(text.split()) for sign in ("while((1))", "whilelet1"))
    has_no_end = _has_empty_condition(text)
    for at, step in enumerate(steps):
        is_while = "while" in step.keywords and (step.words in _ALWAYS or (not step.words and has_always))
        is_until = "until" in step.keywords and step.words in _NEVER
        is_for = step.words[:1] == ("for",) and step.operator == "(" and has_no_end
        if is_while or is_until or is_for:
            body = steps[at + 1 : at + 1 + _MAX_STEPS]
            end = next((index for index, one in enumerate(body) if "done" in one.keywords), len(body))
            if _leaves_processes(body[:end]):
                return True
    return False


def _has_empty_condition(text: str) -> bool:
    head = text.partition("((")[2].partition("))")[0]
    parts = head.split(";")
    return len(parts) == 3 and not parts[1].strip()


def _leaves_processes(body: list[_Step]) -> bool:
    """Whether something is started in the background that no `wait` behind it, or in the next round, waits for."""
    waiting = 0
    is_inner = is_conditional = has_wait_before = False
    for step in body:
        is_conditional = (is_conditional or "then" in step.keywords) and "fi" not in step.keywords
        name = step.words[0] if step.words else ""
        if name in _ENDS and not is_conditional:
            return False
        if name == "disown":
            return True
        if name == "wait" and not is_conditional and not is_inner:
            has_wait_before = has_wait_before or not waiting
            waiting = 0
        elif name == "wait" and is_inner and waiting and step.operator == ")":
            waiting = 0
        if step.operator == "&":
            waiting += 1
        if step.operator == "(":
            is_inner = True
        elif step.operator == ")":
            # What is started in brackets is not a child of the loop.
            if waiting and is_inner:
                return True
            is_inner = False
    return waiting > 0 and not has_wait_before
