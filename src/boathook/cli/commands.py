"""The commands as click sees them: arguments, help, completion. What they do stands in their own files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from boathook import __version__
from boathook.core.event import KINDS, SPELLINGS
from boathook.core.outcome import Decision
from boathook.errors import BoathookError
from boathook.hosts.host import NAMES

click.UsageError.exit_code = 1  # 2 would mean "blocked" to a host whose configuration has a slip in it

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class EventName(click.ParamType[str]):
    """An event in any of its spellings."""

    name = "event"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Take a known spelling; suggest one for any other."""
        from boathook.core.event import find_kind

        try:
            find_kind(value)
        except BoathookError as error:
            self.fail(f"{error}; boathook events lists them", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002
        """Offer the spellings."""
        from click.shell_completion import CompletionItem

        canonical = [kind.name for kind in KINDS if kind.name.startswith(incomplete)]
        return [CompletionItem(name) for name in canonical or SPELLINGS if name.startswith(incomplete)]


EVENT = EventName()
project_option = click.option(
    "--project", metavar="DIR", type=click.Path(), help="Look from this folder instead of the current one."
)
state_option = click.option(
    "--state", metavar="DIR", type=click.Path(), help="Where trust and ledger are kept, instead of the usual folder."
)
trust_all_option = click.option(
    "--trust-all", is_flag=True, help="Take every hook of the project as trusted. For operators who know what is in it."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
since_option = click.option(
    "--since", metavar="TIME", help="From then on: 10m, 2h, 3d ago, or a date or time like 2026-01-31T12:00 (UTC)."
)


host_argument = click.argument("host", type=click.Choice(NAMES), metavar="HOST")


def scope_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `install` and `uninstall` that say where, and how much is asked."""
    for option in (
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Show what would be written, write nothing."),
        click.option(
            "--project",
            metavar="[DIR]",
            is_flag=False,
            flag_value="",
            type=click.Path(),
            help="Only in one project: DIR, or the one around the current folder.",
        ),
        click.option("--user", is_flag=True, help="In all your projects (the default)."),
    ):
        command = option(command)
    return command


def _in_project(project: str | None, *, user: bool) -> bool:
    if user and project is not None:
        raise click.UsageError("either --user or --project")
    return project is not None


class Group(click.Group):
    """Turns our own errors into one line and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except (BoathookError, OSError) as error:
            click.echo(f"boathook: {error}", err=True)
            sys.exit(1)


@click.group(cls=Group, context_settings=CONTEXT)
@click.version_option(__version__, "-V", "--version", prog_name="boathook")
def cli() -> None:
    """boathook, an engine for Agent Hooks.

    Hooks are folders with a HOOK.md and a script: yours in ~/.config/agents/hooks, a project's in .agents/hooks.
    Hooks of settings.json files (~/.claude, .claude) run as well.

    \b
    First steps:
      boathook demo                                        see it work
      boathook new no-force-push --event pre-tool-call \\
          --tool Shell --pattern 'push.*--force'           make a hook
      boathook check                                       what is wrong?
      boathook explain pre-tool-call --tool Shell \\
          --input '{"command": "git push --force"}'        would it run?
      echo '{"event_type": "pre-tool-call", "tool_name": "Shell",
             "tool_input": {"command": "git push --force"}}' | boathook run
    """


@cli.command(context_settings=CONTEXT)
@click.argument("event", required=False, type=EVENT)
@click.option("--host", default="native", show_default=True, help="The agent whose dialect is spoken (see hosts).")
@click.option("--event", "event_option", type=EVENT, metavar="EVENT", help="The same as the argument EVENT.")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print the whole verdict as JSON, exit 0.")
@click.option("--debug", is_flag=True, help="Tell on stderr what every hook does.")
@click.option("--no-ask", is_flag=True, help="Nobody can be asked: a question blocks a tool call.")
@click.option(
    "--without",
    metavar="SOURCE",
    help="Leave out hooks of settings.json (settings), or those of projects (project-settings): hosts run some themselves.",
)
@state_option
@click.option(
    "--config",
    metavar="DIR",
    type=click.Path(),
    help="Your folder of hooks/ and hooks.toml, whatever the variables say.",
)
@click.option(
    "--claude", metavar="DIR", type=click.Path(), help="Your folder of settings.json, whatever the variables say."
)
@trust_all_option
def run(**_: Any) -> None:
    """Run one event, read as JSON from standard input, through its hooks.

    \b
    EVENT may be left out if the JSON says event_type.
    Exit codes: 0 answered, 1 the input cannot be read, 2 blocked (the reasons on stderr).

    \b
    Examples:
      echo '{"tool_name": "Shell", "tool_input": {"command": "ls"}}' | boathook run pre-tool-call
      boathook run --json --debug < event.json
    """
    from boathook.entry.fast_path import enter

    enter(sys.argv[2:])


@cli.command("list", context_settings=CONTEXT)
@click.option("--event", type=EVENT, help="Only hooks of this event.")
@click.option("--prompt", is_flag=True, help="Name and description only, to put into an agent's prompt.")
@json_option
@project_option
@state_option
@trust_all_option
def list_command(
    event: str | None, prompt: bool, as_json: bool, project: str | None, state: str | None, trust_all: bool
) -> None:
    """Show every hook that was found, and its state.

    \b
    States: armed; invalid (cannot be read); shadowed (another of the same name counts);
    disabled (by hooks.toml or disableAllHooks); no-entry-point (no script);
    untrusted, modified, denied (see boathook trust).

    \b
    Examples:
      boathook list
      boathook list --event pre-tool-call --json
    """
    from boathook.assembly import load_catalog
    from boathook.cli.list import list_hooks

    catalog = load_catalog(project, state=state, trust_all=trust_all)
    sys.exit(list_hooks(catalog, event, as_json=as_json, prompt=prompt))


@cli.command(context_settings=CONTEXT)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option(
    "--host", "hosts", multiple=True, type=click.Choice(NAMES), help="Tell what hooks cannot do in this agent."
)
@json_option
@project_option
def check(paths: tuple[str, ...], strict: bool, hosts: tuple[str, ...], as_json: bool, project: str | None) -> None:
    """Find what is wrong with hooks: file, line, key, and how to mend it.

    \b
    PATH is a HOOK.md, a hook folder, a folder of hooks, a hooks.toml, a settings.json or a project; without one
    everything that concerns the current folder is checked. Exit codes: 0 clean, 1 errors (with --strict: or warnings).

    \b
    Examples:
      boathook check
      boathook check --strict .agents/hooks/my-hook
      boathook check --host codex --host kimi-code
    """
    from boathook.cli.check import check as run_check

    sys.exit(run_check(paths, project, strict=strict, as_json=as_json, hosts=hosts))


@cli.command(context_settings=CONTEXT)
@click.argument("event", type=EVENT)
@click.option("--tool", metavar="NAME", help="The tool that is called.")
@click.option("--input", "tool_input", metavar="JSON", help="The tool's input.")
@click.option("--data", metavar="JSON", help='Other fields of the event, such as \'{"source": "startup"}\'.')
@json_option
@project_option
@state_option
@trust_all_option
def explain(
    event: str,
    tool: str | None,
    tool_input: str | None,
    data: str | None,
    as_json: bool,
    project: str | None,
    state: str | None,
    trust_all: bool,
) -> None:
    """Report for each hook whether it would run on an event, and why or why not. Nothing is executed.

    \b
    Example:
      boathook explain pre-tool-call --tool Shell --input '{"command": "rm -rf /"}'
    """
    from boathook.assembly import load_catalog
    from boathook.cli.explain import explain as run_explain

    catalog = load_catalog(project, state=state, trust_all=trust_all)
    sys.exit(run_explain(event, catalog, tool, tool_input, data, as_json=as_json))


@cli.command(context_settings=CONTEXT)
@click.argument("name")
@click.option("--event", required=True, type=EVENT, help="When it runs.")
@click.option("--tool", metavar="REGEX", help="Only for these tools.")
@click.option("--pattern", metavar="REGEX", help="Only if the tool's input matches. Such a hook blocks, to begin with.")
@click.option(
    "--lang", type=click.Choice(["sh", "py"]), default="sh", show_default=True, help="Language of the script."
)
@click.option("--user", is_flag=True, help="For all your projects, instead of for this one.")
@project_option
def new(
    name: str, event: str, tool: str | None, pattern: str | None, lang: str, user: bool, project: str | None
) -> None:
    """Make a hook that works as it is.

    \b
    Examples:
      boathook new no-force-push --event pre-tool-call --tool Shell --pattern 'push.*--force'
      boathook new greet --event pre-session --lang py --user
    """
    from boathook.cli.new import new as run_new

    sys.exit(run_new(name, event, tool, pattern, lang, project, user=user))


@cli.command(context_settings=CONTEXT)
@click.argument("direction", type=click.Choice(["settings-to-hookmd", "hookmd-to-settings"]))
@click.option("--user", is_flag=True, help="Your own hooks, for all projects, instead of the project's.")
@click.option("--local", is_flag=True, help="settings.local.json instead of settings.json.")
@click.option("--move", is_flag=True, help="Take what was converted out of where it was; a backup stays.")
@click.option("--dry-run", is_flag=True, help="Print what would be written, write nothing.")
@json_option
@project_option
def convert(
    direction: str, user: bool, local: bool, move: bool, dry_run: bool, as_json: bool, project: str | None
) -> None:
    """Make HOOK.md folders of the hooks in a settings.json, or the other way round.

    \b
    Nothing is overwritten, and what the other form cannot say is left where it is and named.
    Without --move both run, each event twice, until you remove one of the two.
    Exit codes: 0 all were converted, 1 some were left.

    \b
    Examples:
      boathook convert settings-to-hookmd --dry-run
      boathook convert settings-to-hookmd --move
      boathook convert hookmd-to-settings --user --move
    """
    from boathook.cli.convert import convert as run_convert

    sys.exit(run_convert(direction, project, user=user, local=local, dry_run=dry_run, move=move, as_json=as_json))


@cli.command(context_settings=CONTEXT)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Every hook of this project (the same as no NAME).")
@click.option("--yes", is_flag=True, help="Do not ask: you have read what is shown.")
@click.option("--override", is_flag=True, help="With --yes: also those that replace a hook of your own.")
@click.option("--list", "listed", is_flag=True, help="Show what was said so far.")
@json_option
@project_option
@state_option
def trust(
    names: tuple[str, ...],
    everything: bool,
    yes: bool,
    override: bool,
    listed: bool,
    as_json: bool,
    project: str | None,
    state: str | None,
) -> None:
    """Look at the hooks of this project, and let them run.

    \b
    Hooks that come with a project are somebody else's code: until you say yes they are skipped, loudly.
    Your yes is for these very bytes (folder, definition, scripts) in this very place: what changes is
    asked again, with a diff, and a copy of what you saw is what runs. Your own hooks need no trust.
    Exit codes: 0 all of them are trusted, 1 some are not.

    \b
    Examples:
      boathook trust
      boathook trust no-force-push --yes
      boathook trust --list
    """
    from boathook.cli.trust import list_trust
    from boathook.cli.trust import trust as run_trust

    if listed:
        sys.exit(list_trust(project, state, as_json=as_json))
    if names and everything:
        raise click.UsageError("either name hooks, or say --all")
    sys.exit(run_trust(names, project, state, yes=yes, override=override))


@cli.command(context_settings=CONTEXT)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Every hook of this project.")
@project_option
@state_option
def untrust(names: tuple[str, ...], everything: bool, project: str | None, state: str | None) -> None:
    """Forget what was said of hooks of this project: they are untrusted again."""
    from boathook.cli.trust import untrust as run_untrust

    sys.exit(run_untrust(names, project, state, everything=everything))


@cli.command(context_settings=CONTEXT)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Every hook of this project.")
@project_option
@state_option
def deny(names: tuple[str, ...], everything: bool, project: str | None, state: str | None) -> None:
    """Report no to hooks of this project, for good: they never run and are not asked about again."""
    from boathook.cli.trust import deny as run_deny

    sys.exit(run_deny(names, project, state, everything=everything))


@cli.command(context_settings=CONTEXT)
@click.option("--hook", "path", metavar="PATH", type=click.Path(), help="The folder of one hook, new or changed.")
@click.option("--since", metavar="T", help="Only events since then: 2h, 3d, 2026-11-01 …")
@click.option("--unconfined", is_flag=True, help="Run hooks without a sandbox, where this machine has none.")
@json_option
@project_option
@state_option
def replay(
    path: str | None, since: str | None, unconfined: bool, as_json: bool, project: str | None, state: str | None
) -> None:
    """Send recorded events through the hooks of today, and say what would have gone another way.

    \b
    Events are kept for this only if your hooks.toml says `record = "whole"`; secrets in them are not kept.
    Hooks run in a sandbox and a scratch folder: they cannot write to the project, nor reach the network by TCP.
    Exit codes: 0 nothing differs, 1 something does.

    \b
    Examples:
      boathook replay --since 7d
      boathook replay --hook .agents/hooks/new-guard
    """
    from boathook.cli.replay import replay as run_replay

    sys.exit(run_replay(path, since, project, state, unconfined=unconfined, as_json=as_json))


@cli.command(context_settings=CONTEXT)
@host_argument
@scope_options
@click.option("--strict", is_flag=True, help="Do nothing if one of your hooks cannot do all it wants there.")
@click.option(
    "--trust-folder",
    is_flag=True,
    help="With --project: tell the host that it can trust the folder. Whatever else lies there can run then, too.",
)
@state_option
@json_option
def install(host: str, user: bool, project: str | None, **options: Any) -> None:
    """Make a host agent call boathook: its own configuration is changed, what else stands there stays.

    \b
    HOST is one of `boathook hosts`. A diff is shown and, at a terminal, you are asked. A copy of each file
    is kept: `uninstall` gives back what was there, byte for byte. Doing it again changes nothing.
    Exit codes: 0 it is installed, 1 it is not.

    \b
    Examples:
      boathook install claude
      boathook install codex --project
      boathook install gemini --dry-run
    """
    from boathook.cli.install import install as run_install

    sys.exit(run_install(host, project or None, in_project=_in_project(project, user=user), **options))


@cli.command(context_settings=CONTEXT)
@host_argument
@scope_options
@state_option
@json_option
def uninstall(host: str, user: bool, project: str | None, **options: Any) -> None:
    """Take out of a host agent's configuration what `install` put there, and nothing else."""
    from boathook.cli.install import uninstall as run_uninstall

    sys.exit(run_uninstall(host, project or None, in_project=_in_project(project, user=user), **options))


@cli.command(context_settings=CONTEXT)
@json_option
@project_option
@state_option
def status(as_json: bool, project: str | None, state: str | None) -> None:
    """Show which host agents call boathook, and whether what they call is there and not turned off.

    \b
    States: installed; altered (our entries were changed or removed); stale (they call what is gone, or another
    installation, or are those of another version); shadowed (the host does not run them); not installed.
    Exit codes: 0 all that is installed is well, 1 something is not.
    """
    from boathook.cli.install import status as run_status

    sys.exit(run_status(project, state, as_json=as_json))


@cli.command(context_settings=CONTEXT)
@json_option
@project_option
@state_option
def doctor(as_json: bool, project: str | None, state: str | None) -> None:
    """Fire every hook once, for real, and say which guards are not alive.

    \b
    Each armed hook gets an event that its matcher accepts, in a scratch folder. Hooks that ask a model or
    post somewhere, and those whose HOOK.md says `metadata: {doctor: skip}`, are looked at but not fired.
    Exit codes: 0 all guards are alive, 1 one is not, or the ledger or the book of trust cannot be used.

    \b
    Examples:
      boathook doctor
      boathook doctor --json
    """
    from boathook.cli.doctor import doctor as run_doctor

    sys.exit(run_doctor(project, state, as_json=as_json))


@cli.command(context_settings=CONTEXT)
@json_option
def events(as_json: bool) -> None:
    """Show the events, their spellings, and what a block means."""
    from boathook.cli.events import print_events

    print_events(as_json=as_json)


@cli.command(context_settings=CONTEXT)
@click.option("--capabilities", is_flag=True, help="What each event can do in each of them.")
@json_option
def hosts(capabilities: bool, as_json: bool) -> None:
    """Show the agents that `run --host` speaks to, and how their tables are known."""
    from boathook.cli.hosts import print_hosts

    print_hosts(with_capabilities=capabilities, as_json=as_json)


@cli.command(context_settings=CONTEXT)
@click.option("--follow", "-f", is_flag=True, help="Go on with what is recorded from now on.")
@click.option("--hook", metavar="NAME", help="Only where this hook ran, or did not although it was meant.")
@click.option("--event", type=EVENT, metavar="EVENT", help="Only this event.")
@click.option("--decision", type=click.Choice(Decision.NAMES), help="Only what was decided so.")
@since_option
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON, one per line.")
@state_option
def log(**options: Any) -> None:
    """Show what hooks did: one line for each event that concerned one.

    \b
    Examples:
      boathook log --since 2h
      boathook log --decision block --json
      boathook log --follow --hook no-force-push
    """
    from boathook.cli.log import Wanted, show_log

    state, follow, as_json = options.pop("state"), options.pop("follow"), options.pop("as_json")
    sys.exit(show_log(state, Wanted(**options), follow=follow, as_json=as_json))


@cli.command(context_settings=CONTEXT)
@click.argument("id", metavar="ID")
@json_option
@state_option
def why(id: str, as_json: bool, state: str | None) -> None:
    """Report the whole story of one record: which hooks ran on what, what they said, what was skipped, what changed.

    \b
    ID is that of `boathook log` or `boathook run --json`, or as much of it as is like no other.
    """
    from boathook.cli.why import show_why

    sys.exit(show_why(id, state, as_json=as_json))


@cli.command(context_settings=CONTEXT)
@since_option
@json_option
@state_option
def stats(since: str | None, as_json: bool, state: str | None) -> None:
    """Show for every hook how often it ran, blocked and failed, and how long it took.

    \b
    Examples:
      boathook stats
      boathook stats --since 7d --json
    """
    from boathook.cli.stats import show_stats

    sys.exit(show_stats(since, state, as_json=as_json))


@cli.group(context_settings=CONTEXT)
def ledger() -> None:
    """Look after the ledger, the file that `log`, `why` and `stats` read."""


@ledger.command(context_settings=CONTEXT)
@json_option
@state_option
def verify(as_json: bool, state: str | None) -> None:
    """Whether the ledger is as it was written: nothing edited, nothing missing.

    \b
    Every record holds the hash of the one before it. Exit codes: 0 the chain holds, 1 it does not.
    """
    from boathook.cli.ledger import show_verify

    sys.exit(show_verify(state, as_json=as_json))


@cli.command(context_settings=CONTEXT)
@click.argument("task", required=False)
@click.option("--model", metavar="PROVIDER:NAME", default="", help="The model, such as anthropic:claude-haiku-4-5.")
@click.option("--script", metavar="FILE", default="", help="Play a scripted model: a JSON list of moves.")
@click.option(
    "--max-steps", metavar="N", type=click.IntRange(min=1), default=50, show_default=True, help="Most steps of a turn."
)
@click.option("--yes", is_flag=True, help="Allow every tool call that hooks do not block, without asking.")
@click.option("--debug", is_flag=True, help="Tell on stderr what every hook does.")
@click.option("--json", "as_json", is_flag=True, help="Print what happens as JSON, one object per line.")
@project_option
@state_option
@trust_all_option
def agent(task: str | None, **options: Any) -> None:
    """Let a small coding agent do TASK here, under the hooks of this project and your own.

    \b
    TASK may be - to read it from standard input. Without one it is read from there too, or, at a
    terminal, asked for again and again, in one session. Shell, WriteFile and EditFile ask you first.
    The model is that of --model, else `model` of your hooks.toml (pip install 'boathook[agent]').

    \b
    A script is a list of texts and calls: ["text", {"text": "…", "calls": [{"name": "Shell",
    "args": {"command": "ls"}}]}, …]
    Exit codes: 0 done, 1 an error or not done (a call was refused, --max-steps), 2 blocked or stopped
    by a hook, 130 interrupted.

    \b
    Examples:
      boathook agent "make the tests pass" --model anthropic:claude-haiku-4-5
      boathook agent --script moves.json --yes --json < task.txt
    """
    from boathook.cli.agent import Options
    from boathook.cli.agent import agent as run_agent

    sys.exit(run_agent(task, Options(**options)))


@cli.command(context_settings=CONTEXT)
def demo() -> None:
    """Play a short agent turn with real hooks, offline, in a temporary project."""
    from boathook.cli.demo import demo as run_demo

    sys.exit(run_demo())


@cli.command(context_settings=CONTEXT)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      boathook completion bash >> ~/.bashrc
      boathook completion fish > ~/.config/fish/completions/boathook.fish
    """
    from click.shell_completion import get_completion_class

    found: Callable[..., Any] | None = get_completion_class(shell)
    if found is not None:
        click.echo(found(cli, {}, "boathook", "_BOATHOOK_COMPLETE").source())
