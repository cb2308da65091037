"""What agents are made to try against the guards of `guard_hooks` and `guard_settings`: rows.

Every attempt is a turn of the scripted model. Its files differ from before if nothing refuses it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from boathook.hosts.host import load_host
from e2e.hosts import GPT, MODEL, Agent
from e2e.server import OUTSIDE_FOLDER, PROJECT_FOLDER, Step
from e2e.tiny_server import TOOLS

Call = tuple[str, Mapping[str, Any] | str]

COLUMNS = (
    *("files", "settings", "servers", "together", "folder", "subagents", "variables"),
    *("own-shell", "own-file", "allowed", "removed"),
)
FILES, SETTINGS, SERVERS, TOGETHER, FOLDER, SUBAGENTS, VARIABLES, OWN_SHELL, OWN_FILE, ALLOWED, REMOVED = COLUMNS
# what the model reads when a guard refuses
BY_FILES, BY_SETTINGS, BY_SERVERS = "marker-files-7d12", "marker-settings-c58d", "marker-servers-35fa"
BY_COMMANDS, BY_SUBAGENTS = "marker-commands-e04b", "marker-subagents-91c6"
TASK = "task-of-the-subagent-40ab"  # a request with this text that is not the agent's own is the subagent's
EXPORTED = "variable-was-exported"
BY_SELF_PROTECTION = "would change"  # in every reason of the guard that protects the others
# a trusted hook that the agent may not change, and one that disappears while it works
SPARE, REMOVED_HOOK = "spare", "guard-removed"
# what happens on the machine before a step: a person allows the call that was refused last, a trusted guard is removed
ALLOW, REMOVE = "allow", "remove"

# what lies in the project before a run
OLD, NEW = "old text", "new text"
EDITED, BOOK, DELETED, MOVED = "forbidden-edit.txt", "forbidden-book.ipynb", "forbidden-delete.txt", "moved.txt"
CELL: dict[str, Any] = {
    "cell_type": "code",
    "id": "one",
    "metadata": {},
    "outputs": [],
    "execution_count": None,
    "source": [OLD],
}
NOTEBOOK = {"cells": [CELL], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
BEFORE = {EDITED: f"{OLD}\n", BOOK: json.dumps(NOTEBOOK), DELETED: f"{OLD}\n", MOVED: f"{OLD}\n"}
BELOW = "below"  # a folder of the project that has a folder for hooks, with none in it

PATCHES = {
    "forbidden-add.txt": ("adds", ("*** Add File: forbidden-add.txt", f"+{NEW}")),
    EDITED: ("updates", (f"*** Update File: {EDITED}", "@@", f"-{OLD}", f"+{NEW}")),
    DELETED: ("deletes", (f"*** Delete File: {DELETED}",)),
    "forbidden-moved.txt": (
        "moves",
        (f"*** Update File: {MOVED}", "*** Move to: forbidden-moved.txt", "@@", f"-{OLD}", f"+{NEW}"),
    ),
}


@dataclass(frozen=True)
class Attempt:
    """One thing that an agent is made to try.

    `column`: what it shows; `label`: how the page calls it; `step`: the turn, and `first` the one before it; `refused`: what
    differs from before unless it is refused; `reason`: what the model reads then; `kept`: what differs in any case; `made`: what
    differs only with hooks; `first_reason`: what the model reads after the first turn; `missed_hook`: the guard of which the ledger
    says that it should have been asked and was not.
    """

    column: str
    label: str
    step: Step
    refused: tuple[str, ...] = ()
    reason: str = ""
    kept: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    first: Step | None = None
    first_reason: str = ""
    missed_hook: str = ""

    @property
    def steps(self) -> tuple[Step, ...]:
        """Give the turns that it takes."""
        return (self.first, self.step) if self.first else (self.step,)


@dataclass(frozen=True)
class Calls:
    """How the tools of an agent are called.

    `{file}` and `{text}` stand for what a call is about. `server`: how it names a tool of an MCP server; `read`: how a file is
    read, if it edits no other; `look_up`: what it has to declare first; `folder`: the key of its shell that names a folder;
    without one, `is_shell_kept` says whether the next command runs where the last one went; `cannot`: what no guard can
    do there, by column, and why.
    """

    server: str
    subagent: Call | None = None
    write: Call | None = None
    edit: Call | None = None
    edit_book: Call | None = None
    patch: Call | None = None
    read: Call | None = None
    look_up: tuple[str, ...] = ()
    folder: str = ""
    is_shell_kept: bool = False
    has_shell_patch: bool = False
    cannot: Mapping[str, str] = field(default_factory=dict)


def _file(name: str, **more: Any) -> dict[str, Any]:
    return {name: "{file}", **more}


CLAUDE = Calls(
    "mcp__{server}__{tool}",
    (
        "Agent",
        {"description": "a step", "prompt": TASK, "subagent_type": "general-purpose", "run_in_background": False},
    ),
    ("Write", _file("file_path", content="{text}")),
    ("Edit", _file("file_path", old_string=OLD, new_string="{text}")),
    ("NotebookEdit", _file("notebook_path", cell_id="one", new_source="{text}")),
    read=("Read", _file("file_path")),
    look_up=("NotebookEdit",),
    is_shell_kept=True,
)
COPILOT = Calls(
    "{server}-{tool}",
    ("task", {"description": "a step", "prompt": TASK, "agent_type": "general-purpose", "name": "step"}),
    ("create", _file("path", file_text="{text}")),
    ("edit", _file("path", old_str=OLD, new_str="{text}")),
)
OPENCODE = Calls(
    "{server}_{tool}",
    ("task", {"description": "a step", "prompt": TASK, "subagent_type": "general"}),
    ("write", _file("filePath", content="{text}")),
    ("edit", _file("filePath", oldString=OLD, newString="{text}")),
    read=("read", _file("filePath")),
    folder="workdir",
)
CLINE = Calls(
    "{server}__{tool}",
    ("spawn_agent", {"systemPrompt": "Do it.", "task": TASK}),
    ("editor", _file("path", new_text="{text}")),
    ("editor", _file("path", old_text=OLD, new_text="{text}")),
)
CALLS: dict[tuple[str, str], Calls] = {
    ("claude", MODEL): CLAUDE,
    ("codex", GPT): Calls(
        "mcp__{server}/{tool}",
        ("multi_agent_v1/spawn_agent", {"message": TASK}),
        patch=("apply_patch", "{text}"),
        folder="workdir",
        has_shell_patch=True,
    ),
    ("copilot", MODEL): COPILOT,
    ("copilot", GPT): replace(COPILOT, write=None, edit=None, patch=("apply_patch", "{text}")),
    ("gemini", MODEL): Calls(
        "mcp_{server}_{tool}",
        ("invoke_agent", {"agent_name": "generalist", "prompt": TASK}),
        ("write_file", _file("file_path", content="{text}")),
        ("replace", _file("file_path", instruction="a step", old_string=OLD, new_string="{text}")),
        folder="dir_path",
    ),
    ("kimi-code", MODEL): Calls(
        "mcp__{server}__{tool}",
        ("Agent", {"description": "a step", "prompt": TASK, "subagent_type": "coder"}),
        ("Write", _file("path", content="{text}")),
        ("Edit", _file("path", old_string=OLD, new_string="{text}")),
        read=("Read", _file("path")),
        folder="cwd",
    ),
    ("kimi-cli", MODEL): Calls(
        "{tool}",
        ("Agent", {"description": "a step", "prompt": TASK}),
        ("WriteFile", _file("path", content="{text}")),
        ("StrReplaceFile", _file("path", edit={"old": OLD, "new": "{text}"})),
        cannot={SERVERS: "kimi-cli does not tell hooks which server a tool is of: match its own name, `^delete_note$`"},
    ),
    ("qwen", MODEL): Calls(
        "mcp__{server}__{tool}",
        ("agent", {"description": "a step", "prompt": TASK, "subagent_type": "general-purpose"}),
        ("write_file", _file("file_path", content="{text}")),
        ("edit", _file("file_path", old_string=OLD, new_string="{text}")),
        ("notebook_edit", _file("notebook_path", cell_id="one", new_source="{text}")),
        read=("read_file", _file("file_path")),
        folder="directory",
    ),
    ("cline", MODEL): CLINE,
    ("cline", GPT): replace(CLINE, write=None, edit=None, patch=("apply_patch", {"input": "{text}"})),
    ("opencode", MODEL): OPENCODE,
    ("opencode", GPT): replace(OPENCODE, write=None, edit=None, patch=("apply_patch", {"patchText": "{text}"})),
}


def attempts(who: Agent, model: str) -> tuple[Attempt, ...]:
    """Give all that an agent is made to try; with another model than its first one, only what its tools for files differ in.

    The order matters: a subagent may take a while to begin, and a shell may stay in another folder.
    """
    calls = CALLS[who.name, model]
    files = (*_file_attempts(calls), *_settings_attempts(calls))
    if model != who.models[0]:
        return files
    others = (
        *(_server_attempt(calls), _together(), *_variables_attempts(who)),
        *(*_own_attempts(calls), *_allowed_attempts(who), _removed_attempt()),
        *_folder_attempts(who, calls),
    )
    return (*_subagent_attempts(calls), *files, *others)


def preparation(calls: Calls, search: str) -> Iterator[Step]:
    """Give the turns before the first attempt: what an agent must look up, and what it must have read."""
    if calls.look_up:
        names = [*calls.look_up, *(_server_tool(calls, tool) for tool in TOOLS)]
        yield Step("look-up", tool=search, arguments={"query": f"select:{','.join(names)}"})
    if calls.read:
        files = [EDITED, *([BOOK] if calls.edit_book else [])]
        first, *more = (_call("read", calls.read, file) for file in files)
        yield replace(first, also=tuple(more))


def _call(name: str, call: Call, file: str = "", text: str = NEW) -> Step:
    tool, arguments = call
    return Step(name, tool=tool, arguments=_fill(arguments, f"{PROJECT_FOLDER}/{file}", text))


def _fill(value: Any, file: str, text: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _fill(one, file, text) for key, one in value.items()}
    return value.replace("{file}", file).replace("{text}", text) if isinstance(value, str) else value


def _patch(lines: tuple[str, ...]) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def _file_attempts(calls: Calls) -> Iterator[Attempt]:
    kinds = (
        ("write", calls.write, "forbidden-write.txt"),
        ("edit", calls.edit, EDITED),
        ("book", calls.edit_book, BOOK),
    )
    for kind, call, file in kinds:
        if call:
            yield _about_file(call[0], _call(kind, call, file), file)
    if calls.patch:
        for file, (what, lines) in PATCHES.items():
            yield _about_file(f"{calls.patch[0]} {what}", _call(what, calls.patch, text=_patch(lines)), file)
    if calls.has_shell_patch:
        lines = ("*** Add File: forbidden-shell.txt", f"+{NEW}")
        command = f"apply_patch <<'EOF'\n{_patch(lines)}\nEOF"
        yield _about_file("apply_patch in the shell", Step("shell-patch", command), "forbidden-shell.txt")


def _about_file(label: str, step: Step, file: str) -> Attempt:
    return Attempt(FILES, label, step, (file,), f"{BY_FILES} {file}")


def _settings_attempts(calls: Calls) -> Iterator[Attempt]:
    file = "settings-write.txt"
    if calls.write:
        step = _call("settings", calls.write, file)
    elif calls.patch:
        step = _call("settings", calls.patch, text=_patch((f"*** Add File: {file}", f"+{NEW}")))
    else:
        return
    yield Attempt(SETTINGS, step.tool, step, (file,), f"{BY_SETTINGS} {file}")


def _server_tool(calls: Calls, tool: str) -> str:
    return calls.server.format(server="tiny", tool=tool)


def _server_attempt(calls: Calls) -> Attempt:
    """Give a call that is refused, and one beside it that is not."""
    delete, keep = (Step(tool, tool=_server_tool(calls, tool), arguments={"note": "one"}) for tool in TOOLS)
    deleted, kept = TOOLS.values()
    return Attempt(SERVERS, delete.tool, replace(delete, also=(keep,)), (deleted,), BY_SERVERS, kept=(kept,))


def _together() -> Attempt:
    first, middle, last = (Step("together", f"touch {name}") for name in ("first-one", "refused-middle", "last-one"))
    step = replace(first, also=(middle, last))
    return Attempt(TOGETHER, "", step, ("refused-middle",), f"{BY_COMMANDS} middle", kept=("first-one", "last-one"))


def _subagent_attempts(calls: Calls) -> Iterator[Attempt]:
    if calls.subagent:
        step = _call("subagent", calls.subagent)
        yield Attempt(SUBAGENTS, step.tool, step, (TASK,), BY_SUBAGENTS)


def _variables_attempts(who: Agent) -> Iterator[Attempt]:
    if load_host(who.name).env_file_variable:
        step = Step("variables", f'test -n "$BOATHOOK_E2E_EXPORTED" && touch {EXPORTED}')
        yield Attempt(VARIABLES, "", step, made=(EXPORTED,))


def _folder_attempts(who: Agent, calls: Calls) -> Iterator[Attempt]:
    for name, folder in (("outside", OUTSIDE_FOLDER), (BELOW, f"{PROJECT_FOLDER}/{BELOW}")):
        touch, made, reason = f"touch refused-{name}", (f"{name}/refused-{name}",), f"{BY_COMMANDS} {name}"
        if calls.folder:
            step = Step(name, tool=who.tool, arguments={**who.arguments(touch), calls.folder: folder})
            yield Attempt(FOLDER, f"`{calls.folder}`", step, made, reason)
        elif calls.is_shell_kept and name == BELOW:
            yield Attempt(FOLDER, "`cd`", Step(name, touch), made, reason, first=Step("cd", f"cd {folder}"))
        else:
            yield Attempt(FOLDER, "`cd`", Step(name, f"cd {folder} && {touch}"), made, reason)


def _own_attempts(calls: Calls) -> Iterator[Attempt]:
    """Give calls that would change a trusted hook: by the shell, and by a tool for files."""
    folder = f".agents/hooks/{SPARE}"
    command, script = f"rm -r {folder}/scripts", f"{folder}/scripts/run.sh"
    yield Attempt(OWN_SHELL, "", Step("own-shell", command), (script,), BY_SELF_PROTECTION)
    file = f"{folder}/more.txt"
    if calls.write:
        step = _call("own-file", calls.write, file)
    elif calls.patch:
        step = _call("own-file", calls.patch, text=_patch((f"*** Add File: {file}", f"+{NEW}")))
    else:
        return
    yield Attempt(OWN_FILE, step.tool, step, (file,), BY_SELF_PROTECTION)


def _allowed_attempts(who: Agent) -> Iterator[Attempt]:
    """Give a call that is refused, and the same once more after a person allowed it."""
    # an agent that ends at a refusal cannot try again
    if load_host(who.name).block_side_effect:
        return
    first, again = (
        Step(name, "touch refused-once", before=before) for name, before in (("once", ""), ("again", ALLOW))
    )
    yield Attempt(ALLOWED, "", again, kept=("refused-once",), first=first, first_reason=f"{BY_COMMANDS} once")


def _removed_attempt() -> Attempt:
    step = Step("removed", "touch without-guard", before=REMOVE)
    return Attempt(REMOVED, "", step, kept=("without-guard",), missed_hook=REMOVED_HOOK)
