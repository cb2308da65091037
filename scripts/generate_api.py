"""Generates docs/reference/api.md: every public name, with its signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any, ForwardRef, get_args

from generate_bridges import describe_bridges

import boathook
from boathook.agent import state as agent_state
from boathook.core.value import Value
from boathook.inprocess import hook_types

# Which chapter a name is in, by the beginning of the module that defines it; the first that fits.
CHAPTERS = {
    "The engine": ("assembly", "engine", "core.catalog", "core.hook"),
    "Events, outcomes and verdicts": ("core",),
    "In-process hooks": ("inprocess",),
    "The reference agent": ("agent",),
    "Errors": ("errors",),
}
INTRODUCTION = """\
Every name that `import boathook` offers, and those of the bridges.
How to use them: [write a Python hook](../how-to/write-a-python-hook.md),
[embed boathook in an agent](../how-to/embed-in-an-agent.md), [guard your own agent](../tutorial/guard-your-own-agent.md).
Install boathook in your own environment: `pip install PATH/TO/CLONE`, with `PATH/TO/CLONE[agent]` for the providers of models.
All of it is typed. Records such as `Event`, `Hook` and `Verdict` are immutable: `replace(**changes)` returns a changed copy,
`to_dict()` the fields by name, `to_tuple()` the fields in order.
"""
NOTES = {
    "In-process hooks": "The decorators of `Hooks`, the fields of each context, and what a hook may change: "
    "[in-process hooks](in-process.md).",
}


def write_api_page(made: str) -> str:
    """Return the page; `made` is the mark of a generated file."""
    lines = ["# Python API", "", made, "", INTRODUCTION]
    chapters: dict[str, list[str]] = {chapter: [] for chapter in CHAPTERS}
    for module, names in vars(boathook)["_PUBLIC_NAMES"].items():
        chapters[_find_chapter(module)] += names
    for chapter, members in chapters.items():
        lines += [f"## {chapter}", "", *((NOTES[chapter], "") if chapter in NOTES else ())]
        for name in members:
            lines += _describe_name(name, getattr(boathook, name))
    lines += describe_bridges()
    return "\n".join(lines).rstrip("\n") + "\n"


def _find_chapter(module: str) -> str:
    for chapter, beginnings in CHAPTERS.items():
        if module.startswith(beginnings):
            return chapter
    raise SystemExit(f"boathook.{module} has no chapter in scripts/generate_api.py: add it to CHAPTERS")


def _describe_name(name: str, value: Any) -> Iterator[str]:
    yield from (f"### {name}", "")
    if name in VALUES:
        yield from (VALUES[name], "")
    elif inspect.isclass(value):
        yield from _describe_class(name, value)
    else:
        yield from _write_signature(name, value)
        yield from (_read_docstring(value), "")


def _list_literals(value: Any) -> str:
    return ", ".join(f"`{one}`" for one in get_args(value))


# What is neither a class nor a function has no docstring.
# Of bases that are not public themselves: what of them is for users.
SHOWN_OF_BASES = {
    "RunState": (
        *("metadata", "is_stopped", "stop_reason", "is_session_open", "add_context", "take_context", "take_messages"),
        *("answer", "find_question", "answer_call", "refuse_middleware"),
    )
}
# Classes that something else makes.
MADE_ELSEWHERE = ("AgentRun",)
VALUES = {
    "KINDS": "`tuple`. Every kind of event, as rows; the [events](events.md) list them.",
    "EventName": "Type. Every name of an event: the [spellings](events.md), and the names of the decorators.",
    "OnFailure": f"Type. What the failure of a hook means: {_list_literals(vars(hook_types)['OnFailure'])}.",
    "TurnStatus": f"Type. How a turn ended: {_list_literals(vars(agent_state)['TurnStatus'])}.",
    "AnyHook": "Type. Whatever can be a hook at an event: `AnyHook[ToolContext]` is a callable that takes the context, "
    "async or not; middleware, which also takes `next`; or an object with `handle(context, next)`.",
    "Next": "Type. What middleware calls to go on: with a changed context, or without one.",
    "AsyncNext": "Type. What async middleware awaits to go on.",
}


def _describe_class(name: str, value: type) -> Iterator[str]:
    has_own_signature = not issubclass(value, BaseException | int) and name not in MADE_ELSEWHERE
    yield from _write_signature(name, value, "class ") if has_own_signature else _write_class_line(name, value)
    yield from (_read_docstring(value), "")
    properties, methods = _list_members(value)
    if properties:
        yield from ("| property | |", "|---|---|")
        yield from (f"| `{member}` | {_as_cell(_read_docstring(one))} |" for member, one in properties)
        yield ""
    for member, one in methods:
        yield from (f"#### {name}.{member}", "")
        yield from _write_signature(member, one)
        yield from (_read_docstring(one), "")


def _write_class_line(name: str, value: type) -> Iterator[str]:
    bases = [base.__name__ for base in value.__bases__ if base.__name__ not in SHOWN_OF_BASES]
    yield from ("```py", f"class {name}({', '.join(bases)})" if bases else f"class {name}", "```", "")


def _list_members(value: type) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """Return the public properties and methods that a class defines itself, or has from a private base."""
    properties: dict[str, Any] = {}
    methods: dict[str, Any] = {}
    for base in reversed(value.__mro__):
        is_described_elsewhere = base is Value or (base is not value and base.__name__ in vars(boathook)["__all__"])
        if is_described_elsewhere or not base.__module__.startswith("boathook"):
            continue
        for name, one in vars(base).items():
            if name.startswith("_") or name not in SHOWN_OF_BASES.get(base.__name__, (name,)):
                continue
            if isinstance(one, property):
                properties[name] = one
            elif isinstance(one, FunctionType | classmethod | staticmethod):
                methods[name] = one.__func__ if isinstance(one, classmethod | staticmethod) else one
    return [*properties.items()], [*methods.items()]


def _write_signature(name: str, value: Any, keyword: str = "") -> Iterator[str]:
    keyword = keyword or ("async def " if inspect.iscoroutinefunction(value) else "def ")
    yield from ("```py", keyword + _format_signature(name, value), "```", "")


def _format_signature(name: str, value: Any) -> str:
    is_record = inspect.isclass(value) and issubclass(value, Value)
    signature = _make_record_signature(value) if is_record else inspect.signature(value)
    given = [one for one in signature.parameters.values() if one.name not in ("self", "cls")]
    parameters = [part for one in given for part in _expand_fields(one, value)]
    is_class = inspect.isclass(value)
    plain = signature.replace(
        parameters=parameters, return_annotation=inspect.Signature.empty if is_class else signature.return_annotation
    )
    text = _clean(f"{name}{plain}")
    if len(text) <= 100 or not parameters:
        return text
    written = [_clean(str(part)) for part in _split_parameters(plain)]
    end = "" if is_class else _clean(str(plain.replace(parameters=()))[2:])
    return f"{name}(\n" + "".join(f"    {one},\n" for one in written) + f"){end}"


def _expand_fields(parameter: inspect.Parameter, function: Any) -> Iterator[inspect.Parameter]:
    """Return the keywords that `**fields` stands for, if its annotation says it."""
    found = re.match(r"Unpack\[(\w+)", str(parameter.annotation))
    if found is None:
        yield parameter
        return
    fields = getattr(inspect.getmodule(function), found.group(1))
    for name, kind in fields.__annotations__.items():
        text = kind.__forward_arg__ if isinstance(kind, ForwardRef) else str(kind)
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_Shortened("…"), annotation=text)


def _make_record_signature(value: type[Value]) -> inspect.Signature:
    """Return the fields of a record as parameters: its own `__init__` takes any."""
    annotations = {
        name: kind for base in reversed(value.__mro__) for name, kind in inspect.get_annotations(base).items()
    }
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=_shorten_default(value._defaults.get(name, inspect.Parameter.empty)),
            annotation=annotations[name],
        )
        for name in value.FIELDS
    ]
    # A field without a default may follow one that has one, which the constructor of Signature refuses.
    return inspect.Signature(parameters, __validate_parameters__=False)


class _Shortened:
    """A default that is a record of its own: its name is enough."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _shorten_default(default: Any) -> Any:
    return _Shortened(f"{type(default).__name__}()") if isinstance(default, Value) else default


def _split_parameters(signature: inspect.Signature) -> Iterator[str]:
    """Return each parameter as it is written, with the bare `*` before the first that has to be named."""
    has_star = False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not has_star:
            yield "*"
        has_star = has_star or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        yield str(one)


def _clean(text: str) -> str:
    """Return a signature as people write it: no quotes around annotations, no address of an object."""
    without_quotes = re.sub(r"(: |-> )'([^'\n]*)'", r"\1\2", text)
    without_modules = re.sub(
        r"\b(?:boathook|collections|typing|pathlib|datetime)(?:\.[a-z_]+)*\.(?=[A-Z])", "", without_quotes
    )
    return re.sub(
        r"<(?:factory>|[\w. ]*?(?P<name>\w+)(?: at 0x[0-9a-f]+|: [^>]*)?>)",
        lambda match: match["name"] or "…",
        without_modules,
    )


def _read_docstring(value: Any) -> str:
    return inspect.getdoc(value) or ""


def _as_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
