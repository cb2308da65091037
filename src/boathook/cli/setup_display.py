"""What `boathook setup` shows: the plan before the question, each step as it ends, and what is guarded then."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from boathook.assembly import load_catalog
from boathook.cli.install_steps import list_agent_steps, list_machine_steps
from boathook.cli.setup_plan import AgentStep, HookFile, PackStep, SetupPlan
from boathook.cli.setup_steps import StepResult
from boathook.cli.show import STATE_STYLES, echo, echo_wrapped, format_count, shorten_path
from boathook.core.hook import ARMED, Hook
from boathook.core.value import Value
from boathook.hook_tests.missing_cases import is_guard
from boathook.hosts.capabilities import describe_limits, find_unsupported
from boathook.hosts.host import load_host
from boathook.install.registry import InstallRegistry
from boathook.packs.pack_source import STANDARD_PACK

_WORDS = {True: ("ok", "green"), False: ("failed", STATE_STYLES["error"])}
TRY_IT = "git push --force origin main"


class AgentResult(Value):
    """What is guarded in one agent at the end, and what the agent cannot do."""

    name: str
    title: str
    is_guarded: bool
    guards: int = 0
    # The other hooks that run there: after tool calls, at stops, in the background.
    others: int = 0
    weaker: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        counts = {"guards": self.guards, "other_hooks": self.others}
        fields = {"host": self.name, "guarded": self.is_guarded, **counts}
        return {**fields, "weaker": list(self.weaker), "cannot": list(self.limits)}


def print_plan(plan: SetupPlan) -> None:
    echo("Agents on this machine:", "bold")
    width = max((len(step.name) for step in plan.agents), default=0)
    for step in plan.agents:
        style = STATE_STYLES["error"] if step.problem else ""
        echo_wrapped(f"  {step.name:<{width}}  {describe_agent_step(step)}", style, width + 4)
    if plan.pack is not None:
        echo("Guards:", "bold")
        echo_wrapped(f"  {plan.pack.name}  {describe_pack_step(plan.pack)}")
    if plan.sources is not None:
        echo("Sources:", "bold")
        names, path = ", ".join(plan.sources.names), shorten_path(plan.sources.path)
        echo_wrapped(
            f"  {names}  add to {path}, and write the entries of the agents again, because they name its folder"
        )
    if plan.turns_warm_on:
        echo("Warm engine:", "bold")
        echo_wrapped("  turn it on in your hooks.toml: a process that stays in memory answers events faster")
    if plan.files:
        echo("Hooks that you have already:", "bold")
        for file in plan.files:
            echo_wrapped(f"  {shorten_path(file.path)}  {format_count(file.count, 'hook')}, {file.about}")


def describe_agent_step(step: AgentStep) -> str:
    where = shorten_path(step.agent.evidence) or "not found here"
    if step.plan is None:
        return f"{step.title} ({where}): cannot be installed: {step.problem}"
    if not step.has_work:
        return f"{step.title} ({where}): calls boathook already"
    files = ", ".join(shorten_path(change.path) for change in step.plan.changes if change.has_effect)
    return f"{step.title} ({where}): {'repair' if step.was_installed else 'call'} boathook in {files}"


def describe_pack_step(step: PackStep) -> str:
    if step.problem:
        return f"cannot be added: {step.problem}"
    if step.content is None:
        return "is there already"
    manifest = step.content.manifest
    on = sum(map(manifest.has_on, manifest.hooks))
    return f"{manifest.version}: copy it to {shorten_path(step.place.packs_folder)}, {on} of {len(manifest.hooks)} on"


def list_offers(files: Iterable[HookFile]) -> list[str]:
    """Return for each source of hooks that boathook does not read how to run or convert them."""
    sources = {file.source: file.title for file in files if file.source}
    return [
        f"To run the hooks of {title} in every agent: boathook setup --source {source}. "
        f"To convert them: boathook convert to-hookmd --from {source} --user --move"
        for source, title in sources.items()
    ]


def print_step(result: StepResult) -> None:
    word, style = _WORDS[result.is_ok]
    echo_wrapped(f"{word:<7} {result.subject}: {result.text}", style, 8)


def judge_agents(plan: SetupPlan, failed: set[str], state: str) -> list[AgentResult]:
    """Return what is guarded in each agent of a plan; those that failed are not."""
    registry, results = InstallRegistry(state), []
    for step in plan.agents:
        is_there = step.plan is not None and (not step.has_work or registry.find(*step.plan.key) is not None)
        is_guarded = is_there and step.name not in failed
        result = AgentResult(step.name, step.title, is_guarded)
        results.append(_count_guards(result, step, state) if is_guarded else result)
    return results


def _count_guards(result: AgentResult, step: AgentStep, state: str) -> AgentResult:
    host = load_host(step.name)
    hooks = load_catalog(state=state, without=step.agent.setup.runs_itself).hooks
    armed = [hook for hook in hooks if hook.state == ARMED]
    guards = [hook for hook in armed if _objects(hook)]
    weaker = tuple(hook.name for hook in guards if find_unsupported(hook, host))
    others = len(armed) - len(guards)
    return result.replace(guards=len(guards), others=others, weaker=weaker, limits=tuple(describe_limits(host)))


def _objects(hook: Hook) -> bool:
    return is_guard(hook) or (hook.runs_together and not hook.is_installed_call)


def print_results(results: list[AgentResult]) -> None:
    width = max((len(result.name) for result in results), default=0)
    for result in results:
        text = _describe_result(result)
        style = "green" if result.is_guarded else STATE_STYLES["error"]
        echo_wrapped(f"{result.name:<{width}}  {text}", style, width + 2)


def _describe_result(result: AgentResult) -> str:
    if not result.is_guarded:
        return f"{result.title} is not guarded"
    if not result.guards:
        return f"{result.title} calls boathook, and has no guards yet: boathook pack add {STANDARD_PACK}"
    can = f"cannot {', '.join(result.limits)}" if result.limits else "can do all that hooks ask for"
    limits = f"{result.title} {can}"
    count = format_count(len(result.weaker), "guard")
    weaker = f"; {count} can do less there: boathook check --agent {result.name}" if result.weaker else ""
    others = f" before tool calls, and runs {result.others} more at other events" if result.others else ""
    return f"{result.title} is guarded by {format_count(result.guards, 'hook')}{others}. {limits}{weaker}"


def list_next_steps(plan: SetupPlan, results: list[AgentResult]) -> list[str]:
    """Return what a person does next, the most important first."""
    names = {result.name for result in results if result.is_guarded}
    done = [step for step in plan.agents if step.name in names]
    steps = [f"{step.title}: {text}" for step in done if step.plan for text in list_agent_steps(step.plan)]
    steps += list_machine_steps()
    if any(step.has_work for step in done):
        steps.append("restart the agents that are running, because they read their settings when they start")
    if done and plan.pack is not None and not plan.pack.problem:
        steps.append(f"see it block: in an empty folder, ask an agent to run {TRY_IT}")
    return steps
