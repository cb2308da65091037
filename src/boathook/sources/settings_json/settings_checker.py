"""Frequent mistakes in hooks of settings.json that are valid. A command line that is not clear is left alone."""

from __future__ import annotations

import os
import re
import stat
import sys
from importlib.util import find_spec

from boathook.core.hook import ARMED, ERROR, INVALID, USER, WARNING, Command, Diagnostic, Hook, Http, Prompt
from boathook.core.interpreters import SHELL_NAMES
from boathook.core.matcher import Pattern
from boathook.core.model_protocols import find_model_protocol
from boathook.core.near_words import DID_YOU_MEAN, suggest
from boathook.core.shell import ShellWord
from boathook.hosts.host import EXIT_NOT_0, list_host_names, load_host
from boathook.hosts.tool_names import SERVER_TOOL_MARKS, list_known_tools
from boathook.sources import shell_scripts
from boathook.sources.agent_forms.hook_form import HookForm, find_form
from boathook.sources.hook_mistakes import SHELL, HookCode, find_language, find_mistakes
from boathook.sources.python_starts import describe_python_starts
from boathook.sources.shell_scripts import RunFile, find_blocking_exit_1, is_shell_script, read_script_text
from boathook.system.extras import suggest_packages
from boathook.system.locations import read_environment, resolve_folder
from boathook.system.programs import find_interpreter_error, find_program, read_first_bytes

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
# Tools of other agents count as well, unless they look like a slip: `Shell` does, `bash` does not.
_LOWERED = {name.lower() for name in _CLAUDE_TOOLS}
_TOOLS = (*_CLAUDE_TOOLS, *(name for name in list_known_tools() if name.lower() not in _LOWERED))
_SERVER = re.compile(r"mcp__[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")

# Authors of commands with these programs know on which systems they are missing.
_PROGRAMS_OF_ONE_SYSTEM = {
    **dict.fromkeys(("osascript", "afplay", "say", "pbcopy", "open", "terminal-notifier"), "darwin"),
    **dict.fromkeys(("notify-send", "paplay", "aplay", "xdg-open", "spd-say"), "linux"),
}
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_PLAIN_PATH = re.compile(r"[\w.@][\w./@+-]*", re.ASCII)
_FOREIGN_FOLDER = re.compile(r"/(?:node_modules|s?bin|\.?venv|site-packages)/")
# What these programs exit with if they do not find the script.
_EXITS_WITH_2 = re.compile(r"(?:python|pypy)[\d.]*|uv|perl")
_MISSING_FIX = "create it, or fix the path"
EXIT_1_WARNING = ("exit 1 is a failure and does not block", "use exit 2 to block, with the reason on stderr")


def check_settings_hook(hook: Hook) -> list[Diagnostic]:
    if hook.state == INVALID:
        return []
    diagnostics = _check_matcher(hook)
    if isinstance(hook.handler, Command) and hook.handler.shell != "powershell":
        diagnostics += _CommandChecker(hook, hook.handler).check()
    return diagnostics


def _blocks_by_exit_1(hook: Hook) -> bool:
    host = hook.dialect.host
    is_call = hook.kind is not None and hook.kind.name == "pre-tool-call"
    return bool(host) and is_call and load_host(host).own.blocking_exits == EXIT_NOT_0


def _check_matcher(hook: Hook) -> list[Diagnostic]:
    has_tool = not hook.matcher.fields
    pattern = hook.matcher.tool if has_tool else hook.matcher.fields[0][1]
    form = find_form(hook.source)
    names = _TOOLS if has_tool else form.matcher_values.get(hook.trigger, ())
    if pattern is None or not names:
        return []
    if has_tool and (foreign := _find_foreign_tool(hook, form, pattern)):
        message = f"'{pattern.display_text}' matches no tool of {form.title}, but '{foreign[0]}' of another agent"
        fix = f"in {form.title} it is called '{foreign[1]}'" if foreign[1] else ""
        return [Diagnostic(hook.path, None, hook.place, WARNING, f"{message}; this hook may never run there", fix)]
    if any(map(pattern.search, names)):
        return _check_listed_names(hook, pattern, names, has_tool=has_tool)
    if not (has_tool and may_be_server_tool(pattern)):
        what = "no known tool" if has_tool else f"no value of {hook.trigger}"
        message = f"'{pattern.display_text}' matches {what}; this hook may never run"
        fix = _suggest_name(pattern.display_text, names, has_tool=has_tool)
    elif _SERVER.fullmatch(pattern.written):
        message = f"'{pattern.written}' is a server, not one of its tools; this hook may never run"
        fix = f"{pattern.written}__.*"
    else:
        return []
    return [Diagnostic(hook.path, None, hook.place, WARNING, message, fix)]


def _find_foreign_tool(hook: Hook, form: HookForm, pattern: Pattern) -> tuple[str, str] | None:
    """Return the tool that a matcher means if only other agents have it, and what the agent of the form calls it."""
    row = form.events.get(hook.trigger)
    # Such rows have our names of tools, or those of Claude Code.
    if not form.dialect.host or row is None or row.tools or row.has_names or may_be_server_tool(pattern):
        return None
    if any(pattern.search(name) for names in form.list_tool_names().values() for name in names):
        return None
    found = next((name for name in _TOOLS if pattern.search(name)), "")
    if not found:
        return None
    ours = next((host.tools[found][0] for host in map(load_host, list_host_names()) if found in host.tools), found)
    own = load_host(form.dialect.host).tools
    return found, next((name for name, (kind, _) in own.items() if kind == ours), "")


def _check_listed_names(hook: Hook, pattern: Pattern, names: tuple[str, ...], *, has_tool: bool) -> list[Diagnostic]:
    """Return a warning for each name in a list that is not known and looks like a slip of one that is."""
    listed = [name.strip() for name in re.split(r"[|,]", pattern.written)]
    slips = [name for name in listed if name and name not in names and not name.startswith("mcp__")]
    what = "tool" if has_tool else f"value of {hook.trigger}"
    fixes = [(name, _suggest_name(name, names, has_tool=has_tool)) for name in slips]
    return [
        Diagnostic(hook.path, None, hook.place, WARNING, f"'{name}' in the matcher is not a known {what}", fix)
        for name, fix in fixes
        # Who lists both spellings knows the right one.
        if fix.startswith(DID_YOU_MEAN) and fix.split("'")[1] not in listed
    ]


def may_be_server_tool(pattern: Pattern) -> bool:
    """Whether a pattern may be meant for the tools of an MCP server, which are not known."""
    return any(mark in pattern.source for mark in SERVER_TOOL_MARKS) or pattern.search("mcp__server__tool")


def _suggest_name(written: str, names: tuple[str, ...], *, has_tool: bool) -> str:
    word = re.split(r"[|,]", written)[0].strip("^$() ")
    otherwise = "names in use: Bash, Read, Write, Edit, Glob, Grep, Task" if has_tool else ""
    return suggest(word, names, otherwise, cutoff=0.7)


class _CommandChecker:
    def __init__(self, hook: Hook, command: Command) -> None:
        self.hook, self.command, self.diagnostics = hook, command, list[Diagnostic]()
        self.form = find_form(hook.source)
        self.project = _find_project(hook)
        # Where the commands of an agent have no variable for the project, ours are set as well.
        dialect = self.form.dialect
        self.variables = tuple(dict.fromkeys((dialect.folder_variables[0], *dialect.project_variables)))
        folders = {**dict.fromkeys(self.variables, self.project), dialect.folder_variables[1]: command.root}
        self.known = {name: value for name, value in folders.items() if name and value}
        self.has_space = any(space in self.project for space in " \t\n")
        # Another source may name its events in another way.
        event = self.form.events.get(hook.trigger)
        self.exit_2_blocks = (event is None or event.refuses) and not hook.background
        self.exit_1_passes = self.exit_2_blocks and hook.on_failure != "block" and not _blocks_by_exit_1(hook)
        # A line with `||` has an answer for a command that fails.
        self.handles_failure = command.words is None and "||" in command.text

    def check(self) -> list[Diagnostic]:
        commands = self._read_commands()
        # These do not fail if the shell splits their words.
        words_to_split = [word for words in commands if words[0].raw not in ("echo", "printf", "[[") for word in words]
        names = [word.leading_variable for word in words_to_split]
        split = next((name for name in names if name and name in self.variables), "")
        if split and self.has_space:
            message = f"${split} is not quoted, and the path of the project contains a space: the command fails"
            self._report(ERROR, message, f'"${split}"/…')
        elif split:
            message = f"${split} is not quoted: the command fails in a project whose path contains a space"
            self._report(WARNING, message, f'"${split}"/…')
        for index, words in enumerate(map(shell_scripts.remove_prefix, commands)):
            if words and words[0].raw not in shell_scripts.SHELL_BUILTINS:
                if index == 0:
                    self._check_program(words[0].raw)
                for file in shell_scripts.find_run_files(words):
                    self._check_file(file)
        is_line = self.command.words is None
        code = HookCode(self.hook, self.command.line, SHELL if is_line else "", self.exit_2_blocks, is_line=True)
        for mistake in find_mistakes(code):
            self._report(mistake.level, mistake.message, mistake.fix)
        if self.exit_1_passes and is_line and shell_scripts.has_blocking_exit_1(self.command.text):
            self._report(WARNING, *EXIT_1_WARNING)
        for _, message, fix in describe_python_starts(self.hook, self.command.line, self.project):
            self._report(WARNING, message, fix)
        return self.diagnostics

    def _read_commands(self) -> list[list[ShellWord]]:
        if self.command.words is None:
            return shell_scripts.read_first_pipeline(self.command.text, {**self.known, "HOME": os.path.expanduser("~")})
        return [[self._make_word(raw) for raw in (self.command.text, *self.command.words)]]

    def _make_word(self, raw: str) -> ShellWord:
        """Return a word that no shell reads, with the folders filled in."""
        text = raw
        for name, value in self.known.items():
            text = text.replace(f"${{{name}}}", value)
        word = ShellWord(raw, text)
        word.is_known = "${" not in text
        return word

    def _report(self, level: str, message: str, fix: str) -> None:
        self.diagnostics.append(Diagnostic(self.hook.path, None, self.hook.place, level, message, fix))

    def _check_program(self, name: str) -> None:
        if not _PLAIN_NAME.fullmatch(name) or find_program(name) or self.handles_failure:
            return
        if _PROGRAMS_OF_ONE_SYSTEM.get(name, sys.platform) == sys.platform:
            self._report(WARNING, f"'{name}' is not on the PATH", "install it, or write its path")

    def _check_file(self, file: RunFile) -> None:
        path = file.word.value
        if path is None or (self.has_space and file.word.leading_variable in self.variables):
            return
        if path.startswith("/"):
            self._check_start(path, file)
        elif _PLAIN_PATH.fullmatch(path):
            project_variable, root_variable = self.form.dialect.folder_variables
            name = root_variable if self.command.root else project_variable
            folder = f'"${name}"' if self.command.words is None else f"${{{name}}}"
            message = (
                f"'{path}' is a relative path: {self.form.title} finds it only while it is in the folder of the project"
            )
            # Without a variable for the folder, this cannot be avoided.
            if name and not self.form.runs_in_project:
                self._report(WARNING, message, f"{folder}/{path.removeprefix('./')}")
            path = os.path.join(self.project, self.command.cwd, path) if self.project or self.command.cwd else ""
            if path and _get_mode(path) == 0 and not self.handles_failure:
                self._report(ERROR, f"{path} does not exist: {self._describe_missing(file)}", _MISSING_FIX)
        else:
            return
        self._check_text(path, file)

    def _check_start(self, path: str, file: RunFile) -> None:
        mode = _get_mode(path)
        if mode is None or stat.S_ISDIR(mode) or self.handles_failure:
            return
        if mode == 0:
            self._report(ERROR, f"{path} does not exist: {self._describe_missing(file)}", _MISSING_FIX)
        elif not file.interpreter and not os.access(path, os.X_OK):
            self._report(ERROR, f"{path} is not executable: the hook fails at every event", f"chmod +x {path}")
        elif not file.interpreter:
            start_error, fix = find_start_error(path)
            if start_error:
                self._report(ERROR, f"{path} cannot be started: {start_error}", fix)

    def _describe_missing(self, file: RunFile) -> str:
        if self.exit_2_blocks and _EXITS_WITH_2.fullmatch(file.interpreter):
            return f"{file.interpreter} exits with 2 then, which blocks every call"
        return "the hook fails at every event"

    def _check_text(self, path: str, file: RunFile) -> None:
        text = read_script_text(path) if path and not _FOREIGN_FOLDER.search(path) else ""
        is_for_shell = file.interpreter in SHELL_NAMES if file.interpreter else is_shell_script(path, text.encode())
        line = text.partition("\r\n")[0].count("\n") + 1
        # Windows line ends in an interpreter line that is used are an error of `_check_start`.
        is_new = line > 1 or file.interpreter or not text.startswith("#!")
        if is_for_shell and "\r\n" in text and is_new:
            self.diagnostics.append(Diagnostic(path, line, "", WARNING, "it has Windows line ends", "convert it to LF"))
        language = find_language(path, file.interpreter, is_for_shell=is_for_shell)
        for one in find_mistakes(HookCode(self.hook, text, language, self.exit_2_blocks)):
            self.diagnostics.append(Diagnostic(path, one.line, "", one.level, one.message, one.fix))
        exit_line = find_blocking_exit_1(text) if self.exit_1_passes else None
        if exit_line is not None:
            self.diagnostics.append(Diagnostic(path, exit_line, "", WARNING, *EXIT_1_WARNING))
        for line, message, fix in describe_python_starts(self.hook, text if is_for_shell else "", self.project):
            self.diagnostics.append(Diagnostic(path, line, "", WARNING, message, fix))


def find_start_error(path: str) -> tuple[str, str]:
    """Return why a script cannot be started, and a fix; two empty texts if it can."""
    reason = find_interpreter_error(read_first_bytes(path)) or ""
    fix = "convert the file to LF line ends" if "Windows" in reason else "name an interpreter that is installed"
    return reason, fix if reason else ""


def _find_project(hook: Hook) -> str:
    form = find_form(hook.source)
    user_folder = resolve_folder(form.source.user_folder, read_environment())
    is_own = hook.scope == USER or os.path.dirname(hook.path) == user_folder
    return "" if is_own else form.find_project(hook.path)


def _get_mode(path: str) -> int | None:
    """Return the mode of a file, 0 if there is no file, None if that cannot be found out."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except (OSError, ValueError):
        return None


def check_remote_hook(hook: Hook, model: str) -> list[Diagnostic]:
    """Return an error if a prompt hook has no model, or a prompt or http hook lacks its library."""
    handler = hook.handler if hook.state == ARMED else None
    if isinstance(handler, Prompt) and not handler.choose_model(model)[0]:
        message, fix = "no model is named for prompt hooks", 'model = "provider:name" under [hooks] in your hooks.toml'
    elif isinstance(handler, Prompt) and (missing := _find_missing_library(handler.choose_model(model)[0])):
        message, fix = missing
    elif isinstance(handler, Http) and find_spec("httpx") is None:
        message, fix = "http hooks need httpx", suggest_packages("http")
    else:
        return []
    return [Diagnostic(hook.path, None, hook.place, ERROR, f"{message}: the hook fails at every event", fix)]


def _find_missing_library(model: str) -> tuple[str, str] | None:
    """Return what a model needs that is not installed, and how to install it."""
    if find_model_protocol(model, os.environ) is None:
        needed = ("pydantic_ai", f"{model} needs a library for models", "prompt")
    else:
        needed = ("httpx", "prompt hooks need httpx", "http")
    library, message, extra = needed
    return (message, suggest_packages(extra)) if find_spec(library) is None else None
