"""`boathook setup`: find the agents of this machine, install in all of them, add guards, and fire everything once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from boathook.assembly import resolve_state
from boathook.cli.common_options import json_option, make_agent_option, state_option
from boathook.cli.install import NO_AGENT_FOUND, describe_losses, load_all_hooks
from boathook.cli.person import confirm_change, require_person
from boathook.cli.setup_display import (
    AgentResult,
    describe_agent_step,
    describe_pack_step,
    judge_agents,
    list_next_steps,
    list_offers,
    print_plan,
    print_results,
    print_step,
)
from boathook.cli.setup_plan import AgentStep, SetupPlan, plan_agents, plan_setup, plan_sources, plan_warm
from boathook.cli.setup_steps import ProgressReport, StepResult, apply_setup, enable_sources, probe_setup, turn_warm_on
from boathook.cli.setup_undo import UndoStep, apply_undo, plan_undo
from boathook.cli.show import echo, echo_wrapped, format_count, print_json, print_warning, show_progress
from boathook.cli.terminal import confirm_action
from boathook.core.value import Value
from boathook.errors import ConfigError, UsageError
from boathook.hosts.setup import load_setup
from boathook.install.setup_record import SetupStore
from boathook.packs.pack_places import find_user_packs
from boathook.sources.source import SOURCES
from boathook.warm.resident_control import find_warm_obstacle

_OFFERED_SOURCES = [source.without for source in SOURCES if not source.is_default]


class SetupOptions(Value):
    """The options of `setup`."""

    state: str
    yes: bool
    dry_run: bool
    as_json: bool


@click.command("setup")
@make_agent_option("hosts", "Only this agent", multiple=True)
@click.option("--no-pack", is_flag=True, help="Do not add the standard pack of guards.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=click.Choice(_OFFERED_SOURCES),
    metavar="NAME",
    help=f"Run the hooks of this agent's own files in every agent ({', '.join(_OFFERED_SOURCES)}); may be repeated.",
)
@click.option("--warm", is_flag=True, help="Keep an engine in memory that answers events faster (Linux 6.5).")
@click.option("--undo", is_flag=True, help="Take back what setup did, and nothing else.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@state_option
@json_option
def set_up(
    hosts: tuple[str, ...],
    no_pack: bool,
    sources: tuple[str, ...],
    warm: bool,
    undo: bool,
    dry_run: bool,
    yes: bool,
    state: str | None,
    as_json: bool,
) -> int:
    """Guard the agents on this machine.

    Finds the agents (their program is on your PATH, or their folder is there), makes each of them call boathook, adds
    the standard pack of guards, and fires everything once. You see first what would be done, and are asked once;
    without a terminal, nothing is written unless you pass --yes. Hooks that you have in the files of agents stay as
    they are; you are asked whether they should run in your other agents as well, and whether an engine should stay in
    memory (boathook warm). A second run does only what is missing. --undo takes it all back: files that are unchanged
    since are restored byte for byte.

    \b
    Exit codes: 0 everything is set up, 1 something is not.

    \b
    Examples:
      boathook setup
      boathook setup --agent codex --agent gemini
      boathook setup --yes
      boathook setup --undo
    """
    options = SetupOptions(resolve_state(state), yes, dry_run, as_json)
    if undo:
        if hosts or sources or no_pack or warm:
            raise UsageError("--undo takes back everything: it takes no --agent, --source, --no-pack or --warm")
        return _undo(options)
    plan = plan_setup(state, hosts=hosts, with_pack=not no_pack)
    if not plan.agents:
        ways = "Install one and run this again, or name it: boathook setup --agent AGENT (boathook hosts lists them)"
        raise ConfigError(
            f"{NO_AGENT_FOUND}. {ways}. For agents written in Python: boathook pack add boathook/standard. "
            "To see hooks at work without an agent: boathook demo"
        )
    if sources:
        plan = plan.replace(sources=plan_sources(sources))
    if warm and (obstacle := find_warm_obstacle()):
        raise ConfigError(f"the warm engine cannot run here: {obstacle}", "set up the rest without it: boathook setup")
    return _set_up(plan.replace(turns_warm_on=warm and plan_warm() is not None), options)


def _set_up(plan: SetupPlan, options: SetupOptions) -> int:
    if not options.as_json:
        print_plan(plan)
    steps: list[StepResult] = []
    if plan.has_work and not options.dry_run:
        require_person(options.state, files=_list_files(plan))
        if not confirm_change("Set this up?", yes=options.yes):
            return 1
        plan = _offer_warm(_offer_sources(plan, options), options)
        steps = _run_steps(lambda _: enable_sources(plan, options.state), options, "writing")
        steps += _run_steps(lambda _: turn_warm_on(plan, options.state), options, "writing")
        if plan.sources is not None or plan.turns_warm_on:
            plan = plan.replace(agents=plan_agents([step.agent for step in plan.agents], options.state))
        steps += _run_steps(lambda _: apply_setup(plan, options.state), options, "writing")
        steps += _run_steps(
            lambda report: probe_setup(plan, options.state, report),
            options,
            "asking the agents' commands, and firing each guard",
        )
    problems = [StepResult(text.partition(": ")[0], is_ok=False, text=text) for text in plan.problems]
    failed = {step.subject for step in (*steps, *problems) if not step.is_ok}
    results = judge_agents(plan, failed, options.state)
    if options.as_json:
        _print_json(plan, steps, results, options, is_ok=not failed)
    elif options.dry_run:
        echo("Nothing was written. To see every line for one agent: boathook install HOST --dry-run", "dim")
    else:
        _print_end(plan, results, failed)
    return int(bool(failed))


def _run_steps(
    make_steps: Callable[[ProgressReport], Iterable[StepResult]], options: SetupOptions, text: str
) -> list[StepResult]:
    """Run steps, and show each as it ends; at a terminal a line says meanwhile what goes on."""
    done = []
    with show_progress(f"{text} …", is_shown=not options.as_json) as status:
        for step in make_steps(status.update if status is not None else lambda _: None):
            done.append(step)
            if not options.as_json:
                print_step(step)
    return done


def _offer_sources(plan: SetupPlan, options: SetupOptions) -> SetupPlan:
    """Ask whether hooks in the files of other agents should run in every agent; --yes alone does not enable them."""
    names = plan.list_offered_sources()
    if not names or plan.sources is not None or options.yes or options.as_json:
        return plan
    titles = dict.fromkeys(file.title for file in plan.files if file.source)
    if confirm_action(f"Run the hooks of {', '.join(titles)} in your other agents, too?", default=False):
        return plan.replace(sources=plan_sources(names))
    return plan


def _offer_warm(plan: SetupPlan, options: SetupOptions) -> SetupPlan:
    """Ask whether the warm engine should be on; --yes alone does not turn it on."""
    if plan.turns_warm_on or options.yes or options.as_json or find_warm_obstacle() or plan_warm() is None:
        return plan
    question = "Keep an engine in memory, which answers events faster and ends after 15 idle minutes?"
    return plan.replace(turns_warm_on=confirm_action(question, default=False))


def _list_files(plan: SetupPlan) -> list[str]:
    files = [change.path for step in plan.agents if step.plan for change in step.plan.changes]
    files += [plan.pack.place.packs_folder, plan.pack.place.lock_path] if plan.pack else []
    files += [find_user_packs().config_path] if plan.turns_warm_on else []
    return [*files, *([plan.sources.path] if plan.sources else [])]


def _print_end(plan: SetupPlan, results: list[AgentResult], failed: set[str]) -> None:
    if not plan.has_work and not failed:
        echo("Nothing to do: everything is set up.", "green")
    echo("")
    print_results(results)
    echo("")
    for step in list_next_steps(plan, results):
        echo_wrapped(f"next    {step}", "yellow", 8)
    if plan.sources is None:
        for offer in list_offers(plan.files):
            echo_wrapped(f"offer   {offer}", "dim", 8)
    echo("undo    boathook setup --undo", "dim")
    if failed:
        echo(
            f"Not everything is set up: {', '.join(sorted(failed))}. Fix what is named above, and run this again.",
            err=True,
        )


def _print_json(
    plan: SetupPlan, steps: list[StepResult], results: list[AgentResult], options: SetupOptions, *, is_ok: bool
) -> None:
    by_name = {result.name: result.to_json() for result in results}
    pack = {"name": plan.pack.name, "text": describe_pack_step(plan.pack)} if plan.pack else None
    print_json(
        {
            "ok": is_ok,
            "command": "setup",
            "dry_run": options.dry_run,
            "changed": any(step.is_ok for step in steps),
            "agents": [{**by_name[step.name], **_agent_to_json(step)} for step in plan.agents],
            "pack": pack,
            "hook_files": [file.to_dict() for file in plan.files],
            "sources": list(plan.sources.names) if plan.sources else [],
            "turns_warm_on": plan.turns_warm_on,
            "steps": [step.to_json() for step in steps],
            "todo": [*list_next_steps(plan, results), *list_offers(plan.files)],
        }
    )


def _agent_to_json(step: AgentStep) -> dict[str, object]:
    evidence = {"program": step.agent.program or None, "folder": step.agent.folder or None}
    files = [change.path for change in step.plan.changes if change.has_effect] if step.plan else []
    return {**evidence, "text": describe_agent_step(step), "files": files, "problem": step.problem or None}


def _undo(options: SetupOptions) -> int:
    store = SetupStore(options.state)
    record = store.read()
    planned = [*plan_undo(options.state, record)]
    steps = [step for step in planned if isinstance(step, UndoStep)]
    results = [step for step in planned if isinstance(step, StepResult)]
    hooks = load_all_hooks(None, options.state) if record.hosts else ()
    warnings = [text for host in record.hosts for text in describe_losses(load_setup(host), hooks)]
    if not options.as_json:
        for step in steps:
            echo(f"{step.subject}: {step.text}")
        for result in results:
            print_step(result)
        for warning in warnings:
            print_warning(warning)
    if steps and not options.dry_run:
        require_person(options.state, files=[file for step in steps for file in step.files])
        if not confirm_change(f"Take back {format_count(len(steps), 'step')}?", yes=options.yes):
            return 1
        results += _run_steps(lambda _: apply_undo(steps, record, store), options, "taking it back")
    is_ok = all(result.is_ok for result in results)
    if options.as_json:
        plans = [{"subject": step.subject, "text": step.text, "files": list(step.files)} for step in steps]
        about = {
            "ok": is_ok,
            "command": "undo",
            "dry_run": options.dry_run,
            "changed": any(one.is_ok for one in results),
        }
        print_json({**about, "planned": plans, "warnings": warnings, "steps": [result.to_json() for result in results]})
    elif not planned:
        echo("Nothing to take back: setup has done nothing here.")
    elif not options.dry_run and is_ok:
        echo("Everything that setup did is taken back. Restart the agents that are running.", "green")
    return int(not is_ok)
