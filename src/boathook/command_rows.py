"""The subcommands of `boathook` as rows. They are below the command line, because self-protection reads them, too."""

from __future__ import annotations

from boathook.core.value import Value


class CommandRow(Value):
    """A subcommand: where it is declared (`module:function` below `boathook.cli`), and its line in the help.

    `changes_guards` says whether it changes what guards the user, so that self-protection asks before an agent runs it: always,
    never, or with one of some words. With a word of `reads_with` it only reads, and so does one that `needs_operand` without it.
    Every row needs the field: a command without it counts as one that changes guards, and a test fails.
    """

    target: str
    summary: str
    changes_guards: bool | tuple[str, ...] | None = None
    reads_with: tuple[str, ...] = ()
    needs_operand: bool = False


SECTIONS: dict[str, dict[str, CommandRow]] = {
    "Start": {
        "setup": CommandRow(
            "setup_command:set_up",
            "Guard the agents on this machine",
            changes_guards=True,
            reads_with=("--dry-run",),
        ),
        "demo": CommandRow("demo:play_demo", "Watch hooks at work in a short scripted session", changes_guards=False),
        "pack": CommandRow(
            "pack:pack_group",
            "Add packs of hooks, and turn their hooks on and off",
            changes_guards=("add", "remove", "on", "off"),
        ),
        "install": CommandRow(
            "install:install_host", "Make an agent call boathook", changes_guards=True, reads_with=("--dry-run",)
        ),
        "status": CommandRow("status_command:show_status", "Show which agents call boathook", changes_guards=False),
        "hosts": CommandRow("hosts:show_hosts", "List the agents and what hooks can do in each", changes_guards=False),
        "uninstall": CommandRow(
            "install:uninstall_host",
            "Remove boathook from an agent's configuration",
            changes_guards=True,
            reads_with=("--dry-run",),
        ),
    },
    "Write": {
        "new": CommandRow("new:create_hook", "Create a hook that works as it is", changes_guards=("--user",)),
        "check": CommandRow("check:check_hooks", "Find mistakes in hooks and how to fix them", changes_guards=False),
        "test": CommandRow("test:run_hook_cases", "Run the tests of hooks", changes_guards=False),
        "events": CommandRow(
            "events:show_events", "List the events, their spellings and what a block means", changes_guards=False
        ),
        "convert": CommandRow(
            "convert:convert_hooks",
            "Convert hooks in the files of agents to HOOK.md folders",
            changes_guards=("--move", "--user"),
            reads_with=("--dry-run",),
        ),
    },
    "Understand": {
        "page": CommandRow("page:open_page", "Show what hooks do, in a browser", changes_guards=("--open",)),
        "list": CommandRow("list:list_hooks", "List all hooks and their state", changes_guards=False),
        "show": CommandRow("show_hook:show_hook", "Show everything about one hook", changes_guards=False),
        "explain": CommandRow(
            "explain:explain_event", "Show which hooks would run on an event, and why", changes_guards=False
        ),
        "log": CommandRow("log:show_log", "Show what hooks did, where, and why", changes_guards=False),
        "why": CommandRow(
            "why:show_why", "Explain a decision, or what would happen to a command", changes_guards=False
        ),
        "stats": CommandRow(
            "stats:show_stats", "Show how often each hook ran, blocked and failed, and how fast", changes_guards=False
        ),
        "doctor": CommandRow(
            "doctor:examine_hooks", "Run every hook once to see whether it works", changes_guards=("--fix",)
        ),
        "replay": CommandRow("replay:replay_events", "Run your current hooks on recorded events", changes_guards=False),
        "ledger": CommandRow(
            "ledger:ledger_group", "Verify the ledger, the file of all records", changes_guards=("prune",)
        ),
        "shell": CommandRow("shell_explain:shell_group", "Show what a shell command would start", changes_guards=False),
    },
    "Trust": {
        "trust": CommandRow(
            "trust:trust_hooks",
            "Review the hooks of this project and allow them to run",
            changes_guards=True,
            reads_with=("--list",),
        ),
        "deny": CommandRow(
            "trust:deny_hooks", "Never run hooks of this project, and do not ask again", changes_guards=True
        ),
        "untrust": CommandRow(
            "trust:untrust_hooks", "Forget whether hooks of this project are trusted or denied", changes_guards=True
        ),
        "allow": CommandRow(
            "allow:allow_call", "Allow one call that hooks objected to, once", changes_guards=True, needs_operand=True
        ),
        "asks": CommandRow(
            "asks:answer_questions",
            "Answer what hooks ask you about calls that wait",
            changes_guards=True,
            reads_with=("--json", "--end"),
        ),
        "approvals": CommandRow(
            "approvals:approvals_group", "Set up the second factor of your answers", changes_guards=("totp",)
        ),
        "unlock": CommandRow(
            "allow:unlock_guards",
            "Pause self-protection for a while",
            changes_guards=True,
            reads_with=("--end",),
            needs_operand=True,
        ),
    },
    "Run": {
        "run": CommandRow(
            "run:run_event", "Run the hooks of one event; this is what agents call", changes_guards=False
        ),
        "warm": CommandRow(
            "warm:warm_group", "Keep an engine in memory that answers events faster", changes_guards=False
        ),
        "agent": CommandRow("agent:run_agent", "Run a small coding agent under your hooks", changes_guards=False),
        "help": CommandRow("help:show_help", "Show the help of a command", changes_guards=False),
        "version": CommandRow("help:show_version", "Show the version of boathook", changes_guards=False),
        "completion": CommandRow(
            "completion:print_completion", "Print a completion script for your shell", changes_guards=False
        ),
    },
}
COMMANDS = {name: row for rows in SECTIONS.values() for name, row in rows.items()}
