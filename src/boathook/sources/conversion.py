"""Convert hooks of agents' files to HOOK.md, and hooks of HOOK.md to settings.json.

What has no equivalent is a `ConversionError`; what changes is a note.
"""

from __future__ import annotations

import itertools
import re
import shlex
from typing import Any

from boathook.core.hook import ARMED, BASIC, PLUGIN, PROJECT, Command, Diagnostic, Hook, Needs, Prompt
from boathook.core.matcher import NAME_LETTERS, TOOL_NAME, Pattern, compile_names
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_KIND, HookEvent
from boathook.sources.agent_forms.hook_form import find_form
from boathook.sources.fields import MAX_DESCRIPTION_CHARS, PRIORITY_FIELD, TIMEOUT_FIELD
from boathook.sources.hook_md.manifest import parse_manifest
from boathook.sources.own_commands import has_own_command
from boathook.sources.samples import build_sample_event
from boathook.sources.settings_json.settings_entry import DIALECT, SCRIPT

CONVERTED_MARK = "(boathook convert)"
ENTER_PROJECT_LINE = 'cd "${CLAUDE_PROJECT_DIR:-.}" || exit 1'
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN_SCRIPT = re.compile(r"([^/\s\"']+)/scripts/run(?:\.sh|\.py)?[\"']?$")
_COMPARED_FIELDS = ("name", "kind", "trigger", "background", "on_failure", "dialect", "state")
# Programs that are in commands of any purpose.
_PLUMBING = frozenset(
    (
        *(
            "awk",
            "bash",
            "cat",
            "cd",
            "curl",
            "cut",
            "echo",
            "egrep",
            "env",
            "exec",
            "find",
            "git",
            "grep",
            "head",
            "jq",
        ),
        *("node", "npm", "npx", "osascript", "printf", "python", "python3", "read", "sed", "set", "sh", "sort", "tail"),
        *("tee", "test", "tr", "uv", "uvx", "wc", "xargs", "zsh"),
    )
)
_SHELL_WORDS = frozenset(("case", "for", "if", "until", "while"))
_COMMAND_WORD = "command"
# Shorter than allowed, so that a number can be added.
_MAX_NAME_CHARS = 56

_NAMES = re.compile(r"\^(?:\((?:\?:)?([A-Za-z0-9_|-]+)\)|([A-Za-z0-9_-]+))\$")
_NOT_IN_JAVASCRIPT = re.compile(r"\(\?(?!:)[^)]?|\\[AzQEC]|\\p|\[\[:")

_NATIVE_WORDS = re.compile(
    r"\b(?:event_type|work_dir|modified_input|modified_output|additional_context|system_message|stop_reason|stop_block_count"
    r"|final_message|tool_output|subagent_type|exit_reason)\b|(?<=[\"'.])timestamp\b|(?<=[\"'])log(?=\\?[\"']\s*:)"
)
_DECISION = re.compile(r"(?<![A-Za-z_])decision\b[\"'\\\]]*\s*[:=](?!=)\s*[\"'\\]*([^\s\"'\\,}]*)")
_DECIDED = re.compile(r"(?i)(?<=[\"'])(?:deny|allow|ask)(?=\\?[\"'])")
_SHARED_DECISIONS = ("block", "approve")
_CLAUDE_WORDS = re.compile(
    r"\b(?:hookSpecificOutput|permissionDecision|updatedInput|additionalContext|systemMessage|stopReason|hook_event_name"
    r"|tool_response|transcript_path|last_assistant_message)\b"
)
_VARIABLES = re.compile(r"\b(?:AGENT|KIMI|MONOCO)_[A-Z][A-Z_]*")


class ConversionError(Exception):
    """The reason why the other form cannot express a hook."""


class ConvertedFolder(Value):
    name: str
    manifest: bytes
    script: bytes
    notes: tuple[str, ...] = ()


class ConvertedEntry(Value):
    """An entry of settings.json to be written, with its event and its matcher ("" for all)."""

    event: str
    matcher: str
    body: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def group(self) -> dict[str, Any]:
        return {**({"matcher": self.matcher} if self.matcher else {}), "hooks": [self.body]}


def suggest_name(hook: Hook) -> str:
    """Return a name for a hook of settings.json: that of its script or program, with its event if the program says little."""
    label = hook.name.partition(":")[2].rpartition("#")[0]
    folder = _OWN_SCRIPT.search(hook.handler.text) if isinstance(hook.handler, Command) else None
    stem = folder.group(1) if folder else label.rpartition(".")[0] if SCRIPT.fullmatch(label) else label
    name = re.sub(r"[^A-Za-z0-9._-]", "", stem).lstrip("-_.")
    if name in _SHELL_WORDS or not name:
        name = _COMMAND_WORD
    if name == _COMMAND_WORD or (name in _PLUMBING and not folder and stem == label):
        name = f"{hook.kind.name if hook.kind else 'hook'}-{name}"
    return name[:_MAX_NAME_CHARS]


def find_free_name(wanted: str, taken: set[str]) -> str:
    """Return a name that is not taken, with a number if necessary; case is ignored, as some file systems do."""
    numbered = (f"{wanted}-{number}" for number in itertools.count(2))
    return next(name for name in (wanted, *itertools.islice(numbered, len(taken) + 1)) if name.lower() not in taken)


def convert_to_folder(
    hook: Hook, name: str, origin: str, written: dict[str, Any], *, bash: bool, explicit: frozenset[str] = frozenset()
) -> ConvertedFolder:
    """Return the folder for a hook; `written` are its fields and its group's, `explicit` those to write in any case."""
    command, patterns = _get_command(hook), _get_patterns(hook)
    where = clean_line(origin)
    lines = [
        "---",
        f"name: {name if name[0].isalpha() and name != 'null' else quote_yaml(name)}",
        f"description: {quote_yaml(_describe_hook(hook, written))}",
        f"trigger: {_choose_trigger(hook)}",
        *(["matcher:"] if patterns else []),
        *(f"  {key}: {quote_yaml(source)}" for key, source in patterns.items()),
        f"timeout: {to_milliseconds(hook.timeout)}",
        *([f"async: {str(hook.background).lower()}"] if hook.background or "async" in explicit else []),
        *(["priority: 100"] if "priority" in explicit else []),
        *([f"on_failure: {hook.on_failure}"] if hook.on_failure != "allow" or "on_failure" in explicit else []),
        f"dialect: {hook.dialect.name}",
        "---",
        "",
        f"# {name}",
        "",
        f"This hook was converted from {where}. Describe here what it is for.",
    ]
    manifest = "\n".join(lines) + "\n"
    _check_reading_back(hook, name, manifest)
    shell = "#!/usr/bin/env bash" if bash and command.words is None else "#!/bin/sh"
    script = f"{shell}\n# from {where} {CONVERTED_MARK}\n{make_script_body(hook, command)}"
    try:
        return ConvertedFolder(name, manifest.encode(), script.encode(), _list_settings_notes(hook, command, written))
    except UnicodeEncodeError:
        raise ConversionError("it contains characters that UTF-8 cannot encode") from None


def make_script_body(hook: Hook, command: Command) -> str:
    """Return what the script of a converted hook does: the lines below the interpreter and the origin."""
    line = command.text
    if command.words is not None:
        words = [_quote_word(word, hook.dialect.folder_variables) for word in (command.text, *command.words)]
        line = "exec " + " ".join(words)
    return "".join(f"{one}\n" for one in (ENTER_PROJECT_LINE, *_list_setup_lines(command), line))


def _choose_trigger(hook: Hook) -> str:
    """Return the event as HOOK.md calls it: by the agent's name, unless that is another kind of event as well."""
    events = find_form(hook.source).events
    row = events.get(hook.trigger)
    is_same = row is not None and hook.kind is not None and row.kind_name == hook.kind.name
    return hook.trigger if is_same or hook.kind is None else hook.kind.name


def _list_setup_lines(command: Command) -> list[str]:
    """Return the lines of a script that enter the folder of a command and set the variables of its entry."""
    lines = [f"cd {shlex.quote(command.cwd)} || exit 1"] if command.cwd else []
    for name, value in command.variables:
        if not _VARIABLE_NAME.fullmatch(name) or "\0" in value:
            raise ConversionError(f"a script cannot set its variable '{clean_line(name)}'")
        lines.append(f"export {name}={shlex.quote(value)}")
    return lines


def _get_command(hook: Hook) -> Command:
    if hook.source == PLUGIN:
        raise ConversionError("it belongs to a plugin")
    if hook.state != ARMED:
        raise ConversionError(hook.state_text)
    handler = hook.handler
    if not isinstance(handler, Command):
        what = "asks a model" if isinstance(handler, Prompt) else "sends the event to a server"
        raise ConversionError(f"it {what}; a HOOK.md hook runs a script")
    if handler.words is None and handler.text.rstrip().endswith("\\"):
        raise ConversionError("its command ends with a backslash, which means something else at the end of a script")
    if handler.shell == "powershell":
        raise ConversionError("its shell is powershell; scripts are written for sh and bash only")
    return handler


def _describe_hook(hook: Hook, written: dict[str, Any]) -> str:
    own = written.get("description")
    text = " ".join((hook.description or (own if isinstance(own, str) else "")).split())
    subjects = [pattern for pattern in (hook.matcher.tool, *(one for _, one in hook.matcher.fields)) if pattern]
    about = f" of {subjects[0].display_text}" if subjects else ""
    label = hook.name.partition(":")[2].rpartition("#")[0]
    return clean_line(text or f"Runs {label} at {hook.trigger}{about}")[:MAX_DESCRIPTION_CHARS]


def _check_reading_back(hook: Hook, name: str, manifest: str) -> None:
    """Raise ConversionError if the manifest means something else than the hook."""
    parsed, _ = parse_manifest(manifest, path=f"{name}/HOOK.md", folder=name, scope=PROJECT)
    trigger = _choose_trigger(hook)
    expected = hook.replace(name=name, state=ARMED, trigger=trigger)
    sample = build_sample_event(hook, "/") if trigger != hook.trigger else None
    if sample and hook.dialect.write_event(sample, trigger) != hook.dialect.write_event(sample, hook.trigger):
        raise ConversionError(f"a HOOK.md hook for {trigger} would get another event than {hook.trigger}")
    is_same = all(getattr(parsed, field) == getattr(expected, field) for field in _COMPARED_FIELDS)
    if not is_same or _get_patterns(parsed) != _get_patterns(hook):
        reason = parsed.state_reason or "its matcher contains characters that would be lost"
        raise ConversionError(f"HOOK.md cannot express it: {reason}")


def _get_patterns(hook: Hook) -> dict[str, str]:
    """Return the patterns of a matcher by their keys in HOOK.md."""
    matcher = hook.matcher
    found = (("tool", matcher.tool), ("pattern", matcher.pattern), *matcher.fields)
    # A single name in its shorter form.
    return {
        key: re.sub(r"\A\^\(\?:([A-Za-z0-9_-]+)\)\$\Z", r"^\1$", pattern.source) for key, pattern in found if pattern
    }


def _quote_word(word: str, variables: tuple[str, ...]) -> str:
    names = "|".join(filter(None, variables))
    parts = re.split(rf"\$\{{({names})\}}", word) if names else [word]
    quoted_parts = [f'"${part}"' if at % 2 else shlex.quote(part) if part else "" for at, part in enumerate(parts)]
    return "".join(quoted_parts) or "''"


def _list_settings_notes(hook: Hook, command: Command, written: dict[str, Any]) -> tuple[str, ...]:
    notes = [describe_diagnostic(problem) for problem in hook.diagnostics]
    if written.get("once"):
        notes.append("'once' is dropped: the hook runs at every event")
    if (ms := to_milliseconds(hook.timeout)) != round(hook.timeout * 1000):
        notes.append(f"its timeout of {hook.timeout:g} s becomes {ms} ms, the nearest allowed value")
    form = find_form(hook.source)
    for name in form.dialect.empty_variables:
        if name in " ".join((command.text, *(command.words or ()))):
            notes.append(f"{name} is only set for hooks of {form.shown_name}")
    return tuple(notes)


def to_milliseconds(seconds: float) -> int:
    """Return a time limit as HOOK.md has it, within its range."""
    return min(max(round(seconds * 1000), TIMEOUT_FIELD.low), TIMEOUT_FIELD.high)


def quote_yaml(text: str) -> str:
    # In single quotes a backslash is an ordinary character.
    return "'" + text.replace("'", "''") + "'"


def clean_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def describe_diagnostic(problem: Diagnostic) -> str:
    return problem.message + (f" ({problem.fix})" if problem.fix else "")


def convert_to_entry(hook: Hook, command: str, texts: tuple[str, ...]) -> ConvertedEntry:
    """Return the entry for an armed HOOK.md hook that `command` starts; `texts` are its scripts."""
    row = CLAUDE_EVENTS_BY_KIND.get(hook.kind.name) if hook.kind else None
    if row is None:
        raise ConversionError(f"settings.json has no event for {hook.kind.name if hook.kind else hook.trigger}")
    reasons = [*_list_unsupported_fields(hook, row), *_list_unsupported_words(hook, row, "\n".join(texts))]
    if reasons:
        raise ConversionError("; ".join(reasons))
    asked = hook.matcher.tool if row.subject == TOOL_NAME else dict(hook.matcher.fields).get(row.subject)
    matcher = convert_pattern(asked) if asked else ""
    seconds = int(hook.timeout) if hook.timeout.is_integer() else hook.timeout
    body: dict[str, Any] = {"type": "command", "command": command, "timeout": seconds}
    body |= {"async": True} if hook.background else {}
    body |= {"statusMessage": hook.description} if hook.description else {}
    return ConvertedEntry(row.name, matcher, body, _list_manifest_notes(hook, row, matcher, texts))


def _list_unsupported_fields(hook: Hook, row: HookEvent) -> list[str]:
    is_used = {
        **{f"matcher.{name}": name != row.subject for name, _ in hook.matcher.fields},
        "matcher.kind": bool(hook.matcher.tool_kinds),
        "matcher.pattern": hook.matcher.pattern is not None,
        "on_failure: block": hook.on_failure == "block",
        "protected": hook.protected,
        "requires": hook.needs != Needs(),
        "sandbox": hook.sandbox != BASIC,
    }
    fields = [field for field, used in is_used.items() if used]
    return [f"settings.json has no field for {', '.join(fields)}"] if fields else []


def _list_unsupported_words(hook: Hook, row: HookEvent, text: str) -> list[str]:
    ours = [*_VARIABLES.findall(text)]
    reasons = []
    if hook.dialect != DIALECT:
        ours += [*_find_native_words(row, text)]
        if theirs := sorted(set(_CLAUDE_WORDS.findall(text))):
            reasons.append(f"it is a native hook but uses {', '.join(theirs)} (write dialect: claude into its HOOK.md)")
        if hook.kind is not None and hook.kind.is_pre and not row.refuses:
            reasons.append(f"it may block, which hooks of settings.json cannot do at {row.name}")
    if ours:
        reasons.insert(0, f"its script uses {', '.join(sorted(set(ours)))}, which hooks of settings.json do not have")
    return reasons


def _find_native_words(row: HookEvent, text: str) -> list[str]:
    words = _NATIVE_WORDS.findall(text)
    words += [name for _, name in row.renames if re.search(rf"\b{name}\b", text)]
    decisions = _DECISION.findall(text)
    words += [f"decision: {word or '…'}" for word in decisions if word not in _SHARED_DECISIONS]
    words += [f"decision: {word}" for word in _DECIDED.findall(text) if decisions]
    if re.search(r"\bdecision\b", _DECISION.sub("", text)):
        words.append("decision")
    return words + (["boathook run"] if has_own_command(text) else [])


def convert_pattern(pattern: Pattern) -> str:
    """Return a pattern for a tool's name or another field as a matcher of settings.json with the same meaning."""
    source = pattern.source
    names = _NAMES.fullmatch(source)
    if names:
        result = names.group(1) or names.group(2)
        expected = f"^(?:{result})$"
    else:
        # Letters alone would be read as exact names; in parentheses they are searched, as in HOOK.md.
        result = expected = f"({source})" if set(source) <= NAME_LETTERS else source
    try:
        compiled = compile_names(result)
    except ConfigError as error:
        raise ConversionError(str(error)) from None
    if compiled is None or compiled.source != expected:
        raise ConversionError(f"its pattern '{source}' means something else as a matcher of settings.json")
    return result


def _list_manifest_notes(hook: Hook, row: HookEvent, matcher: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    notes = [describe_diagnostic(diagnostic) for diagnostic in hook.diagnostics]
    if hook.priority != PRIORITY_FIELD.default:
        notes.append(f"its priority of {hook.priority} is lost: hooks of settings.json have none")
    if hook.timeout < 1:
        notes.append(f"its timeout is a fraction of a second ({hook.timeout:g})")
    if hook.metadata:
        notes.append("its metadata is dropped")
    if hook.env:
        notes.append("its list of variables (env) is dropped")
    if foreign := _NOT_IN_JAVASCRIPT.search(matcher):
        notes.append(f"Claude Code reads matchers as JavaScript patterns, which may not have {foreign.group()}")
    if hook.dialect != DIALECT and not row.plain:
        notes.append(f"plain text on standard output was context for the agent; at {row.name} it is only logged")
    if not any(ENTER_PROJECT_LINE in text for text in texts):
        notes.append("it runs in the project's folder, no longer in the work dir")
    return tuple(notes)


def get_written_fields(data: dict[str, Any], place: str) -> dict[str, Any]:
    """Return the fields of an entry, with those of its group."""
    *group, key, index = parse_place(place)
    entries: Any = data
    for step in (*group, key):
        entries = entries[step]
    outer: Any = data
    for step in group:
        outer = outer[step]
    return {**(outer if group and isinstance(group[-1], int) else {}), **entries[index]}


def parse_place(place: str) -> tuple[str | int, ...]:
    """Return the keys and indexes that lead to an entry."""
    steps = [int(index) if index else key for key, index in _STEP.findall(place)]
    if len(steps) < 2 or steps[0] != "hooks" or not isinstance(steps[-1], int):
        raise ValueError(f"not the place of an entry: {place}")
    return tuple(steps)


def find_place(data: dict[str, Any], entry: ConvertedEntry) -> tuple[str, bool]:
    """Return the place of an entry in the data of a settings file, and whether it is there already."""
    groups = data.get("hooks", {}).get(entry.event, [])
    if not isinstance(groups, list):
        raise ConversionError(f"hooks.{entry.event} of the settings file is not a list")
    for group_index, group in enumerate(groups):
        entries = group.get("hooks") if isinstance(group, dict) else None
        for index, other in enumerate(entries if isinstance(entries, list) else ()):
            place = f"hooks.{entry.event}[{group_index}].hooks[{index}]"
            if not isinstance(other, dict) or other.get("command") != entry.body["command"]:
                continue
            if other == entry.body and group.get("matcher", "") == entry.matcher:
                return place, True
            raise ConversionError(f"the settings file already has another entry for it ({place})")
    return f"hooks.{entry.event}[{len(groups)}].hooks[0]", False
