"""The form of one agent's hook files, as a row: what entries may have, what their events are, and how a matcher is meant."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from boathook.core.hook import HookDialect
from boathook.core.matcher import (
    NAME_LETTERS,
    TOOL_NAME,
    Pattern,
    PatternAllowance,
    compile_names,
    compile_pattern,
    compile_written,
)
from boathook.core.value import Value
from boathook.dialects.dialect import find_hook_dialect
from boathook.hosts.claude import UNMAPPED_CLAUDE_EVENTS
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_NAME, HookEvent
from boathook.hosts.hook_events import list_failure_events, list_hook_events
from boathook.hosts.host import SERVER_IS_UNKNOWN, load_host
from boathook.sources import fields
from boathook.sources.fields import Field
from boathook.sources.source import (
    CODEX_SOURCE,
    COPILOT_SOURCE,
    CURSOR_SOURCE,
    GEMINI_SOURCE,
    KIMI_CLI_SOURCE,
    KIMI_SOURCE,
    QWEN_SOURCE,
    SETTINGS_JSON_SOURCE,
    Source,
)

# How a matcher is read: a list of names if it has only these letters, else a pattern. Without any letters, always as a pattern.
_CODEX_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_|")
# What an agent that has no other tool for files changes by a patch.
_PATCH_TOOL, _FILE_TOOLS, _EDIT_TOOL, _DELETE_TOOL = (
    "PatchFile",
    ("WriteFile", "EditFile", "DeleteFile"),
    "EditFile",
    "DeleteFile",
)


# Values of matchers that do not ask for a tool; for events that are missing here people choose the names.
_CLAUDE_VALUES = {
    "SessionStart": ("startup", "resume", "clear", "compact", "fork"),
    "PreCompact": ("manual", "auto"),
    "PostCompact": ("manual", "auto"),
    "SessionEnd": ("clear", "resume", "logout", "prompt_input_exit", "other", "bypass_permissions_disabled"),
    "Notification": (
        *("permission_prompt", "idle_prompt", "auth_success", "elicitation_dialog", "elicitation_url_dialog"),
        *("elicitation_complete", "elicitation_response", "agent_needs_input", "agent_completed"),
        *("quota_auto_resume_fired", "quota_auto_resume_stale", "quota_auto_resume_disabled"),
    ),
}
_COMPACT_VALUES = ("manual", "auto")
_CODEX_VALUES = {
    "SessionStart": ("startup", "resume", "clear", "compact"),
    "PreCompact": _COMPACT_VALUES,
    "PostCompact": _COMPACT_VALUES,
}
_GEMINI_VALUES = {
    "SessionStart": ("startup", "resume", "clear"),
    "SessionEnd": ("exit", "clear", "logout", "prompt_input_exit", "other"),
    "PreCompress": _COMPACT_VALUES,
    "Notification": ("ToolPermission",),
}
_QWEN_VALUES = {"SessionStart": ("startup", "resume", "clear", "compact", "branch"), "PreCompact": _COMPACT_VALUES}


class HookForm(Value):
    """One form: `title` is the agent that it is from, `entry_fields` are the fields of an entry by its type.

    `group_keys` are the keys of a group of entries, and `idle_group_keys` those of them that ask for an order of running.
    `foreign_types` are types of entries that only the agent itself can run. `units_per_second` is the unit of timeouts.
    `name_letters`: see above. `has_comments`: its JSON may have comments. `disabled_at` is the place of a list of names of entries
    that do not run, and `switches` are places that turn all hooks off, with the value that does. `other_keys` are those beside the
    events. `failure_events` are second rows of events, by name: an entry there is a hook for another kind of event as well.
    `is_flat`: events have entries and not groups; `takes_groups`: they may have groups as well. `has_tables`: `hooks` is a list of
    entries that each name their event. `default_type` is the type of an entry that names none, `command_keys` are the keys of its
    command line, the first one counts. `is_anchored`: a matcher must match the whole name. `lists_folder`: its files are all JSON
    files of a folder. `user_names` are the user's files, if projects have none. `runs_in_project`: commands of a project start in
    its folder, wherever the agent is; `runs_in_user_folder`: those of the user start in the folder of their file. `notes`: what is
    said about keys that have no effect here. `matcher_values` are the values that
    matchers of other things than tools can find, by event.
    """

    title: str
    source: Source
    dialect: HookDialect
    events: Mapping[str, HookEvent]
    unmapped_events: tuple[str, ...]
    file_fields: tuple[Field, ...]
    entry_fields: Mapping[str, tuple[Field, ...]]
    group_keys: tuple[str, ...] = ("matcher", "hooks", "description")
    idle_group_keys: tuple[str, ...] = ()
    foreign_types: tuple[str, ...] = ()
    units_per_second: int = 1
    default_seconds: Mapping[str, float] = fields.DEFAULT_SECONDS
    name_letters: frozenset[str] = NAME_LETTERS
    has_comments: bool = False
    disabled_at: str = ""
    switches: tuple[tuple[str, Any], ...] = ()
    other_keys: tuple[str, ...] = ()
    failure_events: Mapping[str, HookEvent] = {}
    is_flat: bool = False
    takes_groups: bool = True
    has_tables: bool = False
    default_type: str = ""
    command_keys: tuple[str, ...] = ("command",)
    timeout_keys: tuple[str, ...] = ("timeout",)
    is_anchored: bool = False
    lists_folder: bool = False
    user_names: tuple[str, ...] = ()
    runs_in_project: bool = False
    runs_in_user_folder: bool = False
    notes: Mapping[str, str] = {}
    matcher_values: Mapping[str, tuple[str, ...]] = {}

    @property
    def shown_name(self) -> str:
        """Return what people call hooks of this form: by the file that all know, or by the agent."""
        return self.source.name if self.source.is_default else self.title

    @property
    def max_units(self) -> int:
        return fields.MAX_SECONDS * self.units_per_second

    def list_user_files(self, folder: str) -> list[str]:
        names = self.user_names or [marker.rpartition("/")[2] for marker in self.source.markers]
        return [file for name in names for file in self._expand(f"{folder}/{name}")]

    def list_project_files(self, project: str) -> list[str]:
        return [file for marker in self.source.markers for file in self._expand(project + marker)]

    def _expand(self, path: str) -> list[str]:
        return [f"{path}/{name}" for name in list_json_names(path)[:MAX_FILES]] if self.lists_folder else [path]

    def find_project(self, path: str) -> str:
        """Return the project of a file by its place, "" if it is not in the place of such a file."""
        folder = os.path.dirname(path)
        own = self.source.markers[0] if self.lists_folder else self.source.project_folder
        return folder.removesuffix(own) if own and folder.endswith(own) else ""

    def is_file(self, path: str) -> bool:
        """Whether a path is the place of such a file, in a project or in the user's folder."""
        folder = self.source.user_folder
        top = "/" + f"{folder.default}{folder.below}".strip("/")
        names = self.user_names or tuple(marker.rpartition("/")[2] for marker in self.source.markers)
        places = (*self.source.markers, *(f"{top}/{name}" for name in names))
        if self.lists_folder:
            return path.endswith(".json") and os.path.dirname(path).endswith(places)
        return path.endswith(places)

    def compile_matcher(
        self, source: str, row: HookEvent, allowance: PatternAllowance | None = None, *, is_trusted: bool = True
    ) -> Pattern | None:
        """Compile a matcher; one for tools also means what our and other agents' tools are in this one."""
        if source.strip() in ("", "*"):
            return None
        if row.matches_input:
            return compile_pattern(source, allowance)
        letters = NAME_LETTERS if row.has_names else self.name_letters
        is_named = bool(letters) and set(source) <= letters
        is_whole = self.is_anchored and not row.has_names
        if is_whole:
            pattern: Pattern | None = compile_written(f"^(?:{source})$", source, allowance)
        else:
            pattern = (compile_names if is_named else compile_pattern)(source, allowance)
        if pattern is None or row.subject != TOOL_NAME or not self.dialect.host:
            return pattern
        searched = pattern if is_trusted else pattern.limit_engines()
        if searched.search(""):
            # It means every tool.
            return pattern
        tools = self._list_meant_tools(searched)
        parts = [f"(?:{pattern.source})", *([f"^(?:{'|'.join(tools)})$"] if tools else ())]
        parts += _list_server_patterns(load_host(self.dialect.host).server_tool, source, pattern.source)
        return compile_written("|".join(parts), source, allowance) if len(parts) > 1 else pattern

    def list_tool_names(self) -> dict[str, tuple[str, ...]]:
        """Return the names that a matcher may have for each tool of the agent."""
        host = load_host(self.dialect.host)
        return {name: (name, *host.own.matcher_names.get(name, ())) for name in host.tools}

    def _list_meant_tools(self, pattern: Pattern) -> list[str]:
        host = load_host(self.dialect.host)
        tools = {name: ours for name, (ours, _) in host.tools.items() if name not in host.own.special_tools}
        names = self.list_tool_names()
        meant = {ours for name, ours in tools.items() if any(map(pattern.search, names[name]))}
        own = {*tools.values()}
        if _PATCH_TOOL in meant:
            meant |= {tool for tool in _FILE_TOOLS if tool not in own}
        if _EDIT_TOOL in meant and _DELETE_TOOL not in own:
            meant.add(_DELETE_TOOL)
        return sorted(meant)


def list_json_names(folder: str) -> list[str]:
    """Return the JSON files of a folder, none if it cannot be read."""
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except OSError:
        return []


def _list_server_patterns(server_tool: str, source: str, pattern: str) -> list[str]:
    """Return patterns that find the tools of servers by the names that they have in other agents."""
    prefix = server_tool.partition("{")[0]
    if server_tool == SERVER_IS_UNKNOWN and _LINE_START.search(pattern):
        return [f"(?:{_LINE_START.sub('^mcp__.+__', pattern)})"]
    if server_tool and "mcp_" in source:
        return [f"(?:{_repeat_underscores(pattern)})"]
    if prefix and prefix in pattern:
        return [f"(?:{pattern.replace(prefix, 'mcp__.+__')})"]
    if server_tool == "{server}-{tool}" and "-" in source and "[" not in source:
        return [f"^mcp__(?:{source.replace('-', '(?:-|__)')})$"]
    return []


def _repeat_underscores(source: str) -> str:
    """Return a pattern that also finds the names of servers' tools with two underscores where this agent has one."""
    parts, in_set = [], False
    for char in source:
        in_set = char == "[" or (in_set and char != "]")
        parts.append("_+" if char == "_" and not in_set else char)
    return "".join(parts).replace("_+_+", "_+")


# The sign for the start of a name, and not that of a set.
_LINE_START = re.compile(r"(?<![\\\[])\^")
# A repository must not make every event slow.
MAX_FILES = 100

SETTINGS_FORM = HookForm(
    "Claude Code",
    SETTINGS_JSON_SOURCE,
    find_hook_dialect("claude"),
    CLAUDE_EVENTS_BY_NAME,
    UNMAPPED_CLAUDE_EVENTS,
    fields.SETTINGS_FILE_FIELDS,
    fields.SETTINGS_ENTRY_FIELDS,
    foreign_types=("agent", "mcp_tool"),
    matcher_values=_CLAUDE_VALUES,
)


def make_agent_form(source: Source, entry_fields: Mapping[str, tuple[Field, ...]], **changes: Any) -> HookForm:
    """Return the form of an agent's own files, with what its row in `hosts` says about events and tools."""
    host = load_host(source.host)
    return HookForm(
        host.title,
        source,
        find_hook_dialect(source.dialect),
        list_hook_events(host.name),
        host.unmapped_events,
        changes.pop("file_fields", fields.AGENT_FILE_FIELDS),
        entry_fields,
        failure_events=list_failure_events(host.name),
        **changes,
    )


CODEX_FORM = make_agent_form(
    CODEX_SOURCE,
    fields.CODEX_ENTRY_FIELDS,
    foreign_types=("prompt", "agent", "mcp_tool"),
    default_seconds={"command": fields.MAX_SECONDS},
    name_letters=_CODEX_LETTERS,
    matcher_values=_CODEX_VALUES,
    switches=(("features.hooks", False),),
    other_keys=("state",),
)

# Matchers of both are patterns that are searched; those of other things than tools and subagents are whole values there, and
# match more here.
_GEMINI_LIKE: dict[str, Any] = {
    "group_keys": ("matcher", "hooks", "description", "sequential"),
    "idle_group_keys": ("sequential",),
    "units_per_second": 1000,
    "default_seconds": {"command": fields.DEFAULT_AGENT_SECONDS},
    "name_letters": frozenset[str](),
    "has_comments": True,
    "disabled_at": "hooksConfig.disabled",
    "switches": (("hooksConfig.enabled", False),),
    # Older versions have these beside the events.
    "other_keys": ("enabled", "disabled", "notifications"),
}
GEMINI_FORM = make_agent_form(
    GEMINI_SOURCE,
    fields.GEMINI_ENTRY_FIELDS,
    file_fields=fields.GEMINI_FILE_FIELDS,
    foreign_types=("runtime",),
    matcher_values=_GEMINI_VALUES,
    **_GEMINI_LIKE,
)
QWEN_FORM = make_agent_form(
    QWEN_SOURCE,
    fields.QWEN_ENTRY_FIELDS,
    file_fields=fields.QWEN_FILE_FIELDS,
    foreign_types=("http", "prompt", "function"),
    matcher_values=_QWEN_VALUES,
    **_GEMINI_LIKE,
)
CURSOR_FORM = make_agent_form(
    CURSOR_SOURCE,
    fields.CURSOR_ENTRY_FIELDS,
    foreign_types=("prompt",),
    default_seconds={"command": fields.DEFAULT_AGENT_SECONDS},
    name_letters=frozenset[str](),
    is_flat=True,
    takes_groups=False,
    default_type="command",
    runs_in_project=True,
    runs_in_user_folder=True,
    notes={"loop_limit": "'loop_limit' has no effect here: 'max_stop_blocks' in your hooks.toml counts for all hooks"},
)
COPILOT_FORM = make_agent_form(
    COPILOT_SOURCE,
    fields.COPILOT_ENTRY_FIELDS,
    file_fields=fields.COPILOT_FILE_FIELDS,
    foreign_types=("http", "prompt"),
    default_seconds={"command": fields.DEFAULT_SHORT_SECONDS},
    name_letters=frozenset[str](),
    is_flat=True,
    default_type="command",
    command_keys=("bash", "command"),
    timeout_keys=("timeoutSec", "timeout"),
    is_anchored=True,
    lists_folder=True,
    runs_in_project=True,
)
_KIMI_LIKE: dict[str, Any] = {
    "file_fields": fields.TABLES_FILE_FIELDS,
    "default_seconds": {"command": fields.DEFAULT_SHORT_SECONDS},
    "name_letters": frozenset[str](),
    "has_tables": True,
    "default_type": "command",
    "user_names": ("config.toml",),
}
KIMI_FORM = make_agent_form(KIMI_SOURCE, fields.KIMI_ENTRY_FIELDS, **_KIMI_LIKE)
KIMI_CLI_FORM = make_agent_form(KIMI_CLI_SOURCE, fields.KIMI_ENTRY_FIELDS, **_KIMI_LIKE)
HOOK_FORMS = (
    SETTINGS_FORM,
    CODEX_FORM,
    GEMINI_FORM,
    QWEN_FORM,
    CURSOR_FORM,
    COPILOT_FORM,
    KIMI_FORM,
    KIMI_CLI_FORM,
)


def find_form(source: str) -> HookForm:
    """Return the form of a source by its name, that of settings.json for any other."""
    return next((form for form in HOOK_FORMS if form.source.name == source), SETTINGS_FORM)


def find_form_of_file(path: str) -> HookForm | None:
    """Return the form of a file by its place, None if no agent has such a file."""
    return next((form for form in HOOK_FORMS if form.is_file(path)), None)
