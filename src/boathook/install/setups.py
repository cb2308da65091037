"""What each host's own configuration looks like: files, shapes, units, switches. Rows, with what they are known from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boathook.core.value import Value
from boathook.hosts.host import NAMES, load

GROUPS, FLAT, TABLES, FILES, PLUGIN = "groups", "flat", "tables", "files", "plugin"
BY_HOST, BY_US = "by the host itself", "by boathook"
BY_BOTH = "of a project by the host itself, yours by boathook"
SECONDS = 600  # our own deadlines are shorter; the host's must not cut them
NAME = "boathook"
ON, OFF = True, False
FIELDS: Mapping[str, Any] = {"type": "command"}


class Switch(Value):
    """A setting that turns a host's hooks off: its place, the value that does so (or is in a list), and files that may say it."""

    place: tuple[str, ...]
    off: object
    user: tuple[str, ...]
    project: tuple[str, ...] = ()


class FolderTrust(Value):
    """Where a host keeps which folders it trusts: a file in its home, the place of a folder in it (at its end), and its value.

    A value of True is for a list that the folder is in. `needed`: hooks of a project do not run without; seen in runs.
    """

    file: str
    place: tuple[str, ...]
    value: object
    needed: bool = False


class Setup(Value):
    """One host: where its configuration lies and what is written there.

    `home` is a variable that moves its folder, and the folder's usual place below the account's; `user` and `project` are files
    (or, for FILES, a folder) below the two. `unit` is a second in the host's unit of time; `shorter`: events it grants less;
    `extras` stand in a file beside the hooks; `unless` is a variable of another host that reads the same file. `settings` says
    who runs the hooks of settings.json, `evidence` how that is known; `reads` are hosts whose files it reads as well.
    """

    name: str
    programs: tuple[str, ...]
    home: tuple[str, str]
    user: str
    project: str
    shape: str
    command_key: str = "command"
    timeout_key: str = "timeout"
    unit: int = 1
    fields: Mapping[str, Any] = FIELDS
    extras: Mapping[tuple[str, ...], Any] = {}
    shorter: Mapping[str, int] = {}
    comments: bool = False
    switches: tuple[Switch, ...] = ()
    settings: str = BY_US
    evidence: str = ""
    reads: tuple[str, ...] = ()
    unless: str = ""
    trust: FolderTrust | None = None
    todo: tuple[str, ...] = ()
    todo_project: tuple[str, ...] = ()

    @property
    def events(self) -> tuple[str, ...]:
        """Return the names of the events to register: all of the host's table, each in one spelling."""
        rows = load(self.name).events
        return tuple(row.name for row in rows if not (self.name == "copilot" and row.name[0].isupper()))

    def timeout(self, event: str) -> int:
        """Return the timeout of an event in the host's unit."""
        return min(SECONDS, self.shorter.get(event, SECONDS)) * self.unit


SETUPS = (
    Setup(
        "claude",
        ("claude",),
        ("CLAUDE_CONFIG_DIR", ".claude"),
        "settings.json",
        ".claude/settings.local.json",
        GROUPS,
        shorter={"SessionEnd": 60},
        switches=(
            Switch(
                ("disableAllHooks",), ON, ("settings.json",), (".claude/settings.json", ".claude/settings.local.json")
            ),
        ),
        settings=BY_HOST,
        evidence="they are its own",
        todo_project=("trust the folder when Claude Code asks (claude -p does not ask)",),
    ),
    Setup(
        "codex",
        ("codex",),
        ("CODEX_HOME", ".codex"),
        "hooks.json",
        ".codex/hooks.json",
        GROUPS,
        shorter={"SessionEnd": 3, "Interrupt": 3},
        switches=(Switch(("features", "hooks"), OFF, ("config.toml",), (".codex/config.toml",)),),
        evidence="it reads hooks.json and config.toml only",
        trust=FolderTrust("config.toml", ("projects",), "trusted", needed=True),
    ),
    Setup(
        "copilot",
        ("copilot",),
        ("COPILOT_HOME", ".copilot"),
        "hooks/boathook.json",
        ".github/hooks/boathook.json",
        FLAT,
        command_key="bash",
        timeout_key="timeoutSec",
        extras={("version",): 1},
        switches=(
            Switch(
                ("disableAllHooks",),
                ON,
                ("settings.json", "hooks/boathook.json"),
                (".github/hooks/boathook.json", ".github/copilot/settings.json", ".github/copilot/settings.local.json"),
            ),
        ),
        settings=BY_BOTH,
        evidence="a trusted project's .claude/settings.json and settings.local.json, seen in 1.0.102; yours it does not read",
        trust=FolderTrust("config.json", ("trustedFolders",), ON, needed=True),
        reads=("claude",),
    ),
    Setup(
        "gemini",
        ("gemini",),
        ("GEMINI_CLI_HOME", ""),
        ".gemini/settings.json",
        ".gemini/settings.json",
        GROUPS,
        unit=1000,
        fields={"name": NAME, **FIELDS},
        extras={("hooksConfig", "enabled"): ON},
        comments=True,
        switches=(
            Switch(("hooksConfig", "enabled"), OFF, (".gemini/settings.json",), (".gemini/settings.json",)),
            Switch(("hooksConfig", "disabled"), NAME, (".gemini/settings.json",), (".gemini/settings.json",)),
        ),
        evidence="it reads its own settings only (`gemini hooks migrate` copies)",
        trust=FolderTrust(".gemini/trustedFolders.json", (), "TRUST_FOLDER"),
    ),
    Setup(
        "kimi-code",
        ("kimi",),
        ("KIMI_CODE_HOME", ".kimi-code"),
        "config.toml",
        "",
        TABLES,
        evidence="it reads its config.toml only",
    ),
    Setup(
        "kimi-cli",
        ("kimi-cli", "kimi"),
        ("KIMI_SHARE_DIR", ".kimi"),
        "config.toml",
        "",
        TABLES,
        evidence="it reads its config.toml only",
    ),
    Setup(
        "qwen",
        ("qwen",),
        ("QWEN_HOME", ".qwen"),
        "settings.json",
        ".qwen/settings.json",
        GROUPS,
        unit=1000,
        fields={"name": NAME, **FIELDS},
        comments=True,
        switches=(
            Switch(("disableAllHooks",), ON, ("settings.json",), (".qwen/settings.json",)),
            Switch(("hooksConfig", "disabled"), NAME, ("settings.json",), (".qwen/settings.json",)),
        ),
        evidence="it reads its own settings only",
        trust=FolderTrust("trustedFolders.json", (), "TRUST_FOLDER"),
    ),
    Setup(
        "cline",
        ("cline",),
        ("", ""),
        "Documents/Cline/Hooks",
        ".clinerules/hooks",
        FILES,
        evidence="it runs executable files only",
        todo=("turn hooks on in the settings of Cline's extension, if you use that one",),
    ),
    Setup(
        "opencode",
        ("opencode",),
        ("XDG_CONFIG_HOME", ".config"),
        "opencode/plugin/boathook.js",
        ".opencode/plugin/boathook.js",
        PLUGIN,
        evidence="it runs plugins only",
    ),
    Setup(
        "cursor",
        ("cursor", "cursor-agent"),
        ("", ".cursor"),
        "hooks.json",
        ".cursor/hooks.json",
        FLAT,
        fields={},
        extras={("version",): 1},
        settings=BY_HOST,
        evidence="its documentation: .claude settings, if third-party hooks are turned on in its settings",
        reads=("claude",),
        todo=("turn on third-party hooks in Cursor's settings, if it is to run hooks of settings.json as well",),
        todo_project=("trust the workspace when Cursor asks",),
    ),
    Setup(
        "vscode",
        ("code",),
        ("", ".copilot"),
        "hooks/boathook-vscode.json",
        ".github/hooks/boathook-vscode.json",
        FLAT,
        settings=BY_HOST,
        evidence="its documentation: chat.hookFilesLocations names .claude settings by default",
        reads=("claude", "copilot"),
        unless="COPILOT_HOOK_DIR",
        todo_project=("trust the workspace when VS Code asks",),
    ),
)
BY_NAME = {setup.name: setup for setup in SETUPS}
assert tuple(BY_NAME) == NAMES, "one row for each host"  # noqa: S101
