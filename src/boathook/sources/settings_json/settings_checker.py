"""What people get wrong in the hooks of settings.json, beyond what makes an entry unreadable.

A false alarm is worse than silence: where a line cannot be read for certain, nothing is said.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
import sys
from importlib.util import find_spec

from boathook.core.hook import ARMED, ERROR, INVALID, USER, WARNING, Command, Diagnostic, Hook, Http, Prompt
from boathook.core.matcher import TOOL_NAME, Pattern
from boathook.core.shell import SHELL_NAMES, ShellWord
from boathook.core.tool_names import KNOWN_TOOLS, SERVER_TOOL_MARKS
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_NAME
from boathook.sources.shell_scripts import (
    SHELL_BUILTINS,
    RunFile,
    find_blocking_exit_1,
    find_run_files,
    has_blocking_exit_1,
    read_first_pipeline,
    read_script,
    remove_prefix,
)
from boathook.sources.source import SETTINGS_JSON_SOURCE
from boathook.system.locations import read_environment, resolve_folder
from boathook.system.programs import find_interpreter_error, first_bytes, which

_PROJECT_DIR, _PLUGIN_ROOT = "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT"

_CLAUDE_TOOLS = (
    *("Bash", "BashOutput", "KillBash", "KillShell", "PowerShell", "Monitor"),
    *("Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "NotebookRead", "Glob", "Grep", "LS", "LSP"),
    *("WebFetch", "WebSearch", "ToolSearch", "ListMcpResourcesTool", "ReadMcpResourceTool", "Artifact"),
    *("Agent", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate"),
    *("TeamCreate", "TeamDelete", "SendMessage", "Skill", "SlashCommand", "Workflow", "StructuredOutput"),
    *("TodoRead", "TodoWrite", "ReportFindings", "AskUserQuestion", "SendUserFile"),
    *("PushNotification", "RemoteTrigger", "ScheduleWakeup", "CronCreate", "CronDelete", "CronList"),
    *("EnterPlanMode", "ExitPlanMode", "EnterWorktree", "ExitWorktree"),
)
# tools of other agents count as well, but for those that look like a slip: `Shell` does, `bash` does not
_TOOLS = (
    *_CLAUDE_TOOLS,
    *(name for name in KNOWN_TOOLS if name.lower() not in {tool.lower() for tool in _CLAUDE_TOOLS}),
)
MATCHER_VALUES = {
    "SessionStart": ("startup", "resume", "clear", "compact", "fork"),
    "PreCompact": ("manual", "auto"),
    "PostCompact": ("manual", "auto"),
    "SessionEnd": ("clear", "resume", "logout", "prompt_input_exit", "other", "bypass_permissions_disabled"),
    "Notification": (
        *("permission_prompt", "idle_prompt", "auth_success", "elicitation_dialog", "elicitation_url_dialog"),
        *("elicitation_complete", "elicitation_response", "agent_needs_input", "agent_completed"),
        *("quota_auto_resume_fired", "quota_auto_resume_stale", "quota_auto_resume_disabled"),
    ),
}  # of matchers that do not ask for a tool; events that are missing here have names that people make up
_SERVER = re.compile(r"mcp__[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")

_PROGRAMS_OF_ONE_SYSTEM = {
    **dict.fromkeys(("osascript", "afplay", "say", "pbcopy", "open", "terminal-notifier"), "darwin"),
    **dict.fromkeys(("notify-send", "paplay", "aplay", "xdg-open", "spd-say"), "linux"),
}  # who writes such a command knows where it is missing
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_PLAIN_PATH = re.compile(r"[\w.@][\w./@+-]*", re.ASCII)
_FOREIGN_FOLDER = re.compile(r"/(?:node_modules|s?bin|\.?venv|site-packages)/")
_SHELL_SCRIPT = re.compile(r".+\.(?:sh|bash|zsh)")
EXIT_1_WARNING = ("exit 1 is a failure and does not block", "use exit 2 to block, with the reason on stderr")


def check_settings_hook(hook: Hook) -> list[Diagnostic]:
    """Return what an entry's matcher and its command suggest."""
    if hook.state == INVALID:
        return []
    found = _check_matcher(hook)
    if isinstance(hook.handler, Command) and hook.handler.shell != "powershell":
        found += _CommandChecker(hook, hook.handler).found()
    return found


def _check_matcher(hook: Hook) -> list[Diagnostic]:
    pattern = hook.matcher.tool
    if pattern is None:
        return []
    of_tool = hook.matcher.subject == TOOL_NAME
    names = _TOOLS if of_tool else MATCHER_VALUES.get(hook.trigger, ())
    if not names or any(map(pattern.search, names)):
        return []
    if of_tool and _may_be_server_tool(pattern):
        return _check_server(hook, pattern)
    what = "no tool that is known" if of_tool else f"nothing that {hook.trigger} has"
    told = f"'{pattern.display_text}' matches {what}; this hook may never run"
    return [
        Diagnostic(
            hook.path, None, hook.place, WARNING, told, _suggest_name(pattern.display_text, names, of_tool=of_tool)
        )
    ]


def _may_be_server_tool(pattern: Pattern) -> bool:
    return any(mark in pattern.source for mark in SERVER_TOOL_MARKS) or pattern.search("mcp__server__tool")


def _check_server(hook: Hook, pattern: Pattern) -> list[Diagnostic]:
    """Remark on a matcher that is a server's name where a tool's is compared."""
    if not _SERVER.fullmatch(pattern.written):
        return []
    told = f"'{pattern.written}' is a server, not a tool of it; this hook may never run"
    return [Diagnostic(hook.path, None, hook.place, WARNING, told, f"{pattern.written}__.*")]


def _suggest_name(written: str, names: tuple[str, ...], *, of_tool: bool) -> str:
    word = re.split(r"[|,]", written)[0].strip("^$() ").lower()
    lowered = {name.lower(): name for name in reversed(names)}
    near = difflib.get_close_matches(word, lowered, n=1, cutoff=0.7)
    if near:
        return f"did you mean '{lowered[near[0]]}'?"
    return "names in use: Bash, Read, Write, Edit, Glob, Grep, Task" if of_tool else f"known: {', '.join(names)}"


class _CommandChecker:
    """One command on its way: what is known of its surroundings, and what was found."""

    def __init__(self, hook: Hook, command: Command) -> None:
        self.hook, self.command, self.diagnostics = hook, command, list[Diagnostic]()
        self.project = _find_project(hook)
        folders = {_PROJECT_DIR: self.project, _PLUGIN_ROOT: command.root}
        self.known = {name: value for name, value in folders.items() if value}
        self.splits = any(space in self.project for space in " \t\n")

    def found(self) -> list[Diagnostic]:
        """Look at everything."""
        commands = self._commands()
        if self.splits and any(
            word.leading_variable == _PROJECT_DIR for words in commands for word in _list_splitting_words(words)
        ):
            told = (
                f"${_PROJECT_DIR} stands outside of quotes, and the project's path has a space in it: the command fails"
            )
            self._say(ERROR, told, f'"${_PROJECT_DIR}"/…')
        for at, words in enumerate(map(remove_prefix, commands)):
            if words and words[0].raw not in SHELL_BUILTINS:
                if at == 0:
                    self._check_program(words[0].raw)
                for named in find_run_files(words):
                    self._check_file(named)
        if self._may_block() and self.command.words is None and has_blocking_exit_1(self.command.text):
            self._say(WARNING, *EXIT_1_WARNING)
        return self.diagnostics

    def _commands(self) -> list[list[ShellWord]]:
        if self.command.words is None:
            return read_first_pipeline(self.command.text, {**self.known, "HOME": os.path.expanduser("~")})
        return [[self._make_word(raw) for raw in (self.command.text, *self.command.words)]]

    def _make_word(self, raw: str) -> ShellWord:
        """Return a word that no shell reads, with the folders filled in."""
        text = raw
        for name, value in self.known.items():
            text = text.replace(f"${{{name}}}", value)
        word = ShellWord(raw, text)
        word.is_known = "${" not in text
        return word

    def _say(self, level: str, message: str, fix: str) -> None:
        self.diagnostics.append(Diagnostic(self.hook.path, None, self.hook.place, level, message, fix))

    def _may_block(self) -> bool:
        return (
            CLAUDE_EVENTS_BY_NAME[self.hook.trigger].refuses
            and not self.hook.background
            and self.hook.on_failure != "block"
        )

    def _is_safe_without(self) -> bool:
        """Whether the line itself has an answer for a command that fails."""
        return self.command.words is None and "||" in self.command.text

    def _check_program(self, name: str) -> None:
        if not _PLAIN_NAME.fullmatch(name) or which(name) or self._is_safe_without():
            return
        if _PROGRAMS_OF_ONE_SYSTEM.get(name, sys.platform) == sys.platform:
            self._say(WARNING, f"'{name}' is not on the PATH", "install it, or write where it is")

    def _check_file(self, named: RunFile) -> None:
        path = named.word.value
        if path is None or (self.splits and named.word.leading_variable == _PROJECT_DIR):
            return
        if not path.startswith("/"):
            if not _PLAIN_PATH.fullmatch(path):
                return
            self._say_relative(path)
            path = f"{self.project}/{path}" if self.project else ""
        else:
            self._check_start(path, named)
        self._check_text(path, named)

    def _say_relative(self, path: str) -> None:
        told = f"'{path}' is a relative path: in Claude Code it is found only while that stands in the project's folder"
        name = _PLUGIN_ROOT if self.command.root else _PROJECT_DIR
        folder = f'"${name}"' if self.command.words is None else f"${{{name}}}"
        self._say(WARNING, told, f"{folder}/{path.removeprefix('./')}")

    def _check_start(self, path: str, named: RunFile) -> None:
        """Remark on a file that cannot be started; silent about what cannot be looked at."""
        mode = _get_mode(path)
        if mode is None or stat.S_ISDIR(mode) or self._is_safe_without():
            return
        if mode == 0:
            self._say(ERROR, f"{path} does not exist: the hook fails at every event", "make it, or mend the path")
        elif not named.interpreter and not os.access(path, os.X_OK):
            self._say(ERROR, f"{path} is not executable: the hook fails at every event", f"chmod +x {path}")
        elif not named.interpreter and (wrong := find_interpreter_error(first_bytes(path))):
            fix = "convert the file to LF line ends" if "Windows" in wrong else "name an interpreter that is here"
            self._say(ERROR, f"{path} cannot be started: {wrong}", fix)

    def _check_text(self, path: str, named: RunFile) -> None:
        text = read_script(path) if path and not _FOREIGN_FOLDER.search(path) else ""
        by_shell = named.interpreter in SHELL_NAMES if named.interpreter else _SHELL_SCRIPT.fullmatch(path)
        line = text.partition("\r\n")[0].count("\n") + 1
        if (
            by_shell and "\r\n" in text and (line > 1 or named.interpreter or not text.startswith("#!"))
        ):  # else it was said
            self.diagnostics.append(Diagnostic(path, line, "", WARNING, "it has Windows line ends", "convert it to LF"))
        at = find_blocking_exit_1(text) if self._may_block() else None
        if at is not None:
            self.diagnostics.append(Diagnostic(path, at, "", WARNING, *EXIT_1_WARNING))


def _find_project(hook: Hook) -> str:
    """Return the project that a settings file belongs to; nothing for the user's and a plugin's, which serve many."""
    folder = os.path.dirname(hook.path)
    user_folder = resolve_folder(SETTINGS_JSON_SOURCE.user_folder, read_environment())
    if hook.scope == USER or os.path.basename(folder) != ".claude" or folder == user_folder:
        return ""
    return os.path.dirname(folder)


def _list_splitting_words(words: list[ShellWord]) -> list[ShellWord]:
    """Return the words that go wrong if they fall apart."""
    return [] if words[0].raw in ("echo", "printf", "[[") else words


def _get_mode(path: str) -> int | None:
    """Return the mode of a file, 0 if there is none, None if nothing can be said."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except (OSError, ValueError):
        return None


def check_remote_hook(hook: Hook, model: str) -> list[Diagnostic]:
    """Return what a hook lacks that asks a model or a server: a model, or the library for it."""
    told = fix = ""
    if hook.state == ARMED and isinstance(hook.handler, Prompt):
        if not hook.handler.choose_model(model)[0]:
            told, fix = "no model is named for prompt hooks", 'model = "provider:name" under [hooks] in your hooks.toml'
        elif find_spec("pydantic_ai") is None:
            told, fix = "prompt hooks need a library for models", "pip install 'boathook[prompt]'"
    elif hook.state == ARMED and isinstance(hook.handler, Http) and find_spec("httpx") is None:
        told, fix = "http hooks need httpx", "pip install 'boathook[http]'"
    return (
        [Diagnostic(hook.path, None, hook.place, ERROR, f"{told}: the hook fails at every event", fix)] if told else []
    )
