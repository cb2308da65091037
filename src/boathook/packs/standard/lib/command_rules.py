"""Rules about subcommands and options, as rows: `docker volume rm` deletes data, `terraform apply` changes servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from argument_list import ArgumentList

from boathook.guards import GuardAnswer, ask, block
from boathook.shell.started_program import Started


class CommandRule(NamedTuple):
    """A call that a guard objects to. Names are separated by blanks, choices of a word by `|`."""

    programs: str
    # The subcommand: the words that its operands begin with.
    words: str
    # What the call does, behind the name of the program, and what to do instead.
    does: str
    instead: str
    # One of these options must be there, and none of those.
    needs: str = ""
    unless: str = ""
    # How many operands it has at least, the subcommand included.
    operands: int = 0
    decision: str = "ask"
    # With one of these as the value of an option, it does something else.
    unless_value: str = ""
    # Without one of these options the program asks by itself, and does nothing if nobody answers.
    confirmed: str = ""


class ProgramOptions(NamedTuple):
    """How a program reads its options."""

    with_value: str = ""
    has_long_dash: bool = False


# Programs whose `-h` is not a call for help.
_NO_HELP_LETTER = frozenset(("shutdown", "halt", "poweroff"))
OptionTable = Mapping[str, ProgramOptions]


def find_rule(
    program: Started, rules: Sequence[CommandRule], options: OptionTable, *, has_answer: bool = False
) -> CommandRule | None:
    """Return the first rule that a program falls under; with `has_answer` something may answer what it asks."""
    own_rules = [rule for rule in rules if program.name in rule.programs.split()]
    if not own_rules:
        return None
    arguments = read_arguments(program, options)
    is_asking_for_help = arguments.has("-h", "-help") and program.name not in _NO_HELP_LETTER
    if arguments.is_harmless or is_asking_for_help or arguments.operands[:1] == ["help"]:
        return None
    has_answer = has_answer or bool(program.feeders or program.input_text or program.input_paths)
    return next((rule for rule in own_rules if _is_under(arguments, rule, has_answer=has_answer)), None)


def read_arguments(program: Started, options: OptionTable) -> ArgumentList:
    """Return the arguments of a program, read as it reads them."""
    own = options.get(program.name, ProgramOptions())
    return ArgumentList(program.words[1:], own.with_value, has_long_dash=own.has_long_dash)


def _is_under(arguments: ArgumentList, rule: CommandRule, *, has_answer: bool) -> bool:
    if not arguments.match_words(rule.words) or len(arguments.operands) < rule.operands:
        return False
    if rule.needs and not arguments.has(*rule.needs.split()):
        return False
    values = [option.value for option in arguments.options if option.value]
    if rule.unless_value and values and all(value in rule.unless_value.split() for value in values):
        return False
    if rule.confirmed and not has_answer and not arguments.has(*rule.confirmed.split()):
        return False
    return not (rule.unless and arguments.has(*rule.unless.split()))


def judge_programs(
    programs: Iterable[Started], rules: Sequence[CommandRule], options: OptionTable, *, has_answer: bool = False
) -> GuardAnswer | None:
    """Return the objection to programs by rows; a block counts more than an ask."""
    answer = None
    for program in programs:
        if rule := find_rule(program, rules, options, has_answer=has_answer):
            answer = (
                block(write_reason(program, rule))
                if rule.decision == "block"
                else answer or ask(write_reason(program, rule))
            )
            if rule.decision == "block":
                return answer
    return answer


def write_reason(program: Started, rule: CommandRule) -> str:
    words = rule.words.replace("*", "…").split()
    shown = " ".join((program.name, *(_find_written(program, word) for word in words)))
    return f"`{shown}` {rule.does}. {rule.instead}."


def _find_written(program: Started, choices: str) -> str:
    return next((word for word in program.words[1:] if word in choices.split("|")), choices.partition("|")[0])
