"""`boathook trust`, `untrust` and `deny`: review the hooks of a project and decide whether they may run."""

from __future__ import annotations

from typing import Any

import click

from boathook.assembly import load_with_trust, locate
from boathook.cli.common_options import json_option, names_argument, project_option, state_option
from boathook.cli.hidden_hooks import review_hidden_hooks
from boathook.cli.known_bytes import confirm_known_bytes
from boathook.cli.person import confirm_change, require_person
from boathook.cli.show import STATE_STYLES, echo, find_given_project, print_json, repeat_project
from boathook.cli.trust_candidates import choose_candidates, describe_near_misses, list_candidates, list_projects
from boathook.cli.trust_decisions import describe_denial, describe_extent, format_now, save_denial, save_trust
from boathook.cli.trust_list import list_decisions
from boathook.cli.trust_questions import TrustQuestions
from boathook.cli.trust_review import Review, TrustCandidate, describe_review, make_review, show_reviews
from boathook.core.approval import DENY, HIDE, TRUST, TrustRecord
from boathook.core.hook import ARMED, GONE, Script
from boathook.core.notices import list_names
from boathook.core.value import Value
from boathook.errors import TrustError
from boathook.loader import Loaded
from boathook.trust.judge import HookContent
from boathook.trust.store import TrustStore
from boathook.trust.work_trees import find_trust_place, is_moved_work_tree

_everything_option = click.option("--all", "everything", is_flag=True, help="All hooks of this project.")
_yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@click.command("trust")
@names_argument
@click.option("--all", "everything", is_flag=True, help="All hooks of this project; the same as no NAME.")
@click.option("--yes", is_flag=True, help="Trust without asking. Read the output first.")
@click.option("--override", is_flag=True, help="With --yes: also hooks that replace one of your own.")
@click.option("--anywhere", is_flag=True, help="Trust these bytes in every folder, not only in this repository.")
@click.option("--list", "is_list", is_flag=True, help="List trust decisions.")
@json_option
@project_option
@state_option
def trust_hooks(
    names: tuple[str, ...], everything: bool, is_list: bool, as_json: bool, *, yes: bool, **options: Any
) -> int:
    """Review the hooks of this project and allow them to run.

    Hooks of a project are code that other people wrote: they are skipped, with a warning, until you trust them. You are shown
    all that you trust (definition, folder, scripts), and trust exactly these bytes, in this folder and in the other
    work trees of its repository. If they change, you are asked again and see a diff. A private copy of what you saw is what
    runs. Your own hooks need no trust. If this project hides hooks that you trusted in a folder above, you are asked
    whether they may stay away.

    \b
    States of --list, besides those of `boathook list`:
      trusted   these bytes may run where HOLDS IN says
      earlier   replaced by a later review in this project; it still counts in other work trees
      accepted  you accepted that this project hides the hook, which is trusted above it

    \b
    Exit codes: 0 all of them are trusted, 1 some are not.

    If several hooks wait, you see all of them in one text, and are asked about each: [y]es, [n]o, [a]ll that follow,
    too, [v]iew it again, [q]uit. Hooks with exactly the bytes that you trusted in another folder, such as another clone,
    are one question before that, unless they run other code of the project, too. --json prints the hooks that wait and
    what changed in them, and changes nothing.

    \b
    Examples:
      boathook trust
      boathook trust no-force-push --yes
      boathook trust no-force-push --anywhere
      boathook trust --list
    """
    choices = {name: options.pop(name) for name in ("override", "anywhere")}
    if as_json and yes:
        raise click.UsageError("--json and --yes exclude each other: --json only shows what waits for a decision")
    if is_list:
        return list_decisions(*load_with_trust(locate(**options)), as_json=as_json)
    if names and everything:
        raise click.UsageError("NAME and --all exclude each other")
    if as_json:
        return _print_waiting(names, *load_with_trust(locate(**options)), TrustChoices(**choices))
    require_person(options["state"])
    loaded, store = load_with_trust(locate(**options))
    return _review_hooks(names, loaded, store, TrustChoices(yes=yes, **choices))


def _print_waiting(names: tuple[str, ...], loaded: Loaded, store: TrustStore, choices: TrustChoices) -> int:
    """Print the hooks that wait for a decision, for a program; nothing is changed."""
    waiting = list_waiting_hooks(names, loaded, choices.replace(is_named=bool(names)))
    print_json({"waiting": [describe_review(candidate, store) for candidate in waiting]})
    return int(bool(waiting))


def list_waiting_hooks(names: tuple[str, ...], loaded: Loaded, choices: TrustChoices) -> list[TrustCandidate]:
    """Return the hooks that wait for a decision: those that are named, or all."""
    candidates = list_candidates(loaded)
    chosen = choose_candidates(candidates, names, describe_near_misses(loaded.catalog)) if names else candidates
    return [one for one in chosen if not one.is_denied and not _is_settled(one, choices)]


class TrustChoices(Value):
    """What the options of `trust` say."""

    yes: bool = False
    override: bool = False
    anywhere: bool = False
    # Whether the person named the hooks.
    is_named: bool = False


def _review_hooks(names: tuple[str, ...], loaded: Loaded, store: TrustStore, choices: TrustChoices) -> int:
    candidates = list_candidates(loaded)
    gone = _find_gone_hooks(loaded)
    there = [name for name in names if name not in gone]
    chosen = choose_candidates(candidates, there, describe_near_misses(loaded.catalog)) if names else candidates
    if names and not there:
        raise TrustError("; ".join(f"{name} cannot be trusted: {gone[name]}" for name in names))
    if not names:
        chosen = [one for one in chosen if not _is_settled(one, choices) and not one.is_denied]
    _report_nothing_to_review(loaded, candidates, chosen)
    for name, text in gone.items():
        if not names or name in names:
            echo(f"{name}  {text}", STATE_STYLES[GONE])
    for project in dict.fromkeys(candidate.place.project for candidate in chosen):
        if is_moved_work_tree(project):
            fix = "To use what is trusted in its repository, first run: git worktree repair"
            echo(f"git does not know the work tree {project} at this place. {fix}", "yellow", err=True)
    choices = choices.replace(is_named=bool(names))
    reviews = [(one, make_review(one, store)) for one in chosen if not _describe_decision(one, choices)]
    answers = [_report_decision(one, choices) for one in chosen if _describe_decision(one, choices)]
    if not choices.yes and not choices.anywhere:
        known = confirm_known_bytes(reviews, store)
        answers += [_trust(candidate, store, choices) for candidate, _ in known]
        reviews = [one for one in reviews if one not in known]
    if reviews:
        show_reviews(reviews)
    questions = TrustQuestions([candidate for candidate, _ in reviews])
    answers += [_decide(candidate, review, store, choices, questions) for candidate, review in reviews]
    answers.append(review_hidden_hooks(loaded, store, format_now(), yes=choices.yes))
    return int(not all(answers))


def _find_gone_hooks(loaded: Loaded) -> dict[str, str]:
    """Return the trusted hooks that are gone, each with what to do; not those whose name another hook has now."""
    present = {one.hook.name for one in loaded.project_hooks}
    hooks = [one.hook for one in loaded.absent_hooks if one.hook.state == GONE and not one.is_accepted]
    return {hook.name: hook.state_text for hook in hooks if hook.name not in present}


def _report_nothing_to_review(loaded: Loaded, candidates: list[TrustCandidate], chosen: list[TrustCandidate]) -> None:
    if not candidates:
        folder = min(list_projects(loaded.catalog), default="this folder")
        others = "" if find_given_project() else " To review those of another folder: boathook trust --project DIR"
        echo(f"There are no project hooks in {folder}. Your own hooks need no trust.{others}")
        if near_misses := describe_near_misses(loaded.catalog):
            echo(near_misses, "yellow")
    elif not chosen:
        trusted = sum(candidate.state == ARMED for candidate in candidates)
        echo(f"Nothing to review: {trusted} trusted, {len(candidates) - trusted} denied.", "green")


def _is_settled(candidate: TrustCandidate, choices: TrustChoices) -> bool:
    """Whether nothing is left to decide; a hook that is trusted anywhere can still be trusted here, by its name."""
    record = candidate.record
    is_here = record is None or record.covers(candidate.place) or not choices.is_named
    is_anywhere = record is not None and record.anywhere
    return candidate.state == ARMED and is_here and (is_anywhere or not choices.anywhere)


def _describe_decision(candidate: TrustCandidate, choices: TrustChoices) -> str:
    """Return why there is nothing to ask about a hook, "" if there is."""
    name = candidate.hook.name
    if _is_settled(candidate, choices):
        return f"{name} is trusted already"
    if candidate.is_denied:
        return repeat_project(f"{name} is denied. To undo this: boathook untrust {name}")
    return f"{name} cannot be trusted: {candidate.error}" if candidate.content is None else ""


def _report_decision(candidate: TrustCandidate, choices: TrustChoices) -> bool:
    is_settled = _is_settled(candidate, choices)
    style = "green" if is_settled else "yellow" if candidate.is_denied else "bold red"
    echo(_describe_decision(candidate, choices), style, err=not is_settled)
    return is_settled


def _decide(
    candidate: TrustCandidate, review: Review, store: TrustStore, choices: TrustChoices, questions: TrustQuestions
) -> bool:
    name, content = candidate.hook.name, candidate.content
    if content is None:
        return False
    if refusal := _find_refusal(candidate, content, choices):
        echo(f"  {refusal}", "yellow", err=True)
        return False
    if not review.is_whole and not choices.yes:
        advice = repeat_project(f"Read its files, then run: boathook trust {name} --yes")
        echo(f"  {name} was not trusted, because not all of it was shown. {advice}", "bold", err=True)
        return False
    if not choices.yes and not questions.ask(candidate, review, _make_question(candidate, choices)):
        return False
    return _trust(candidate, store, choices)


def _trust(candidate: TrustCandidate, store: TrustStore, choices: TrustChoices) -> bool:
    content = candidate.content
    if content is None:
        return False
    record = save_trust(candidate, content, store, is_anywhere=choices.anywhere)
    echo(f"  {candidate.hook.name} is trusted: exactly these bytes, {describe_extent(record)}", "green")
    return True


def _find_refusal(candidate: TrustCandidate, content: HookContent, choices: TrustChoices) -> str:
    name = candidate.hook.name
    if candidate.is_override and choices.yes and not choices.override:
        return f"{name} would replace your own hook. If you want that, add --override"
    if not choices.anywhere:
        return ""
    problem = f"{name} cannot be trusted in every folder (--anywhere)"
    advice = repeat_project(f"Trust it here only: boathook trust {name}")
    if not isinstance(candidate.hook.handler, Script):
        return f"{problem}: what an entry of settings.json runs depends on its project. {advice}"
    if candidate.is_override:
        return f"{problem}: it replaces your own hook. {advice} --override"
    if uncovered := content.bound_files.list_uncovered_files():
        return f"{problem}: it runs `{uncovered[0]}`, which trust does not cover. {advice}"
    return ""


def _make_question(candidate: TrustCandidate, choices: TrustChoices) -> str:
    name = candidate.hook.name
    if candidate.is_override:
        return f"Trust {name}, and let it replace your own hook?"
    return f"Trust {name} in every folder?" if choices.anywhere else f"Trust {name}?"


@click.command("deny")
@names_argument
@_everything_option
@_yes_option
@project_option
@state_option
def deny_hooks(names: tuple[str, ...], everything: bool, *, yes: bool, **where: Any) -> int:
    """Never run hooks of this project, and do not ask again.

    This holds even if they change. `untrust` undoes it.
    """
    require_person(where["state"])
    loaded, store = load_with_trust(locate(**where))
    if not names and not everything:
        raise click.UsageError("name the hooks to deny, or pass --all")
    candidates = list_candidates(loaded)
    chosen = choose_candidates(candidates, names, describe_near_misses(loaded.catalog)) if names else candidates
    if not chosen:
        return 0
    hooks = list_names([candidate.hook.name for candidate in chosen])
    if not confirm_change(f"Never run {hooks} here?", yes=yes):
        return 1
    for candidate in chosen:
        echo(describe_denial(save_denial(candidate, store)), "yellow")
    return 0


@click.command("untrust")
@names_argument
@_everything_option
@_yes_option
@project_option
@state_option
def untrust_hooks(names: tuple[str, ...], everything: bool, *, yes: bool, **where: Any) -> int:
    """Forget whether hooks of this project are trusted or denied.

    They are untrusted again, in all work trees of the repository. This works for hooks that are gone, too. A hook
    that is trusted in any folder can be named in any folder; if it is denied here, only that is withdrawn.
    """
    require_person(where["state"])
    loaded, store = load_with_trust(locate(**where))
    if not names and not everything:
        raise click.UsageError("name the hooks to forget, or pass --all")
    chosen = [record for record in _list_records_here(loaded, store) if everything or _is_named(record, names)]
    # A hook of a removed project, or of one above, is found by its name, unless the project has one of this name.
    missing = tuple(set(names) - {r.name for r in chosen} - {r.identity for r in chosen})
    chosen += [record for record in _list_records_around(loaded, store) if _is_named(record, missing)]
    chosen += [record for record in store.records if record.anywhere and _is_named(record, names)]
    unknown = set(names) - {r.name for r in chosen} - {r.identity for r in chosen}
    if unknown:
        hooks = ", ".join(sorted(unknown))
        advice = repeat_project("List them: boathook trust --list")
        raise TrustError(f"no decision about {hooks} is stored for this project. {advice}")
    # To undo a denial takes nothing from other folders.
    denied = {record.name for record in chosen if record.decision == DENY}
    kept = {record.name for record in chosen if record.anywhere and record.name in denied}
    chosen = [record for record in chosen if not (record.anywhere and record.name in kept)]
    hooks = list_names(list(dict.fromkeys(record.name for record in chosen)))
    if chosen and not confirm_change(f"Forget the decisions about {hooks}?", yes=yes):
        return 1
    # Who trusts the same bytes again later has not agreed to hide them.
    digests = {(record.name, record.digest) for record in chosen if record.decision == TRUST}
    accepted = [one for one in store.records if one.decision == HIDE and (one.name, one.digest) in digests]
    store.remove_records(*chosen, *accepted)
    for text in dict.fromkeys(_describe_removal(record, is_kept=record.name in kept) for record in chosen):
        echo(text)
    return 0


def _describe_removal(record: TrustRecord, *, is_kept: bool) -> str:
    if record.decision == DENY:
        rest = ". It is still trusted in every folder (--anywhere). To end that, run this again" if is_kept else ""
        return f"{record.name} is no longer denied{rest}"
    if record.decision == HIDE:
        return f"{record.name} is reported again where {record.project} hides it"
    extent = " in any folder (it was trusted with --anywhere)" if record.anywhere else ""
    return f"{record.name} is no longer trusted{extent}"


def _is_named(record: TrustRecord, names: tuple[str, ...]) -> bool:
    return record.name in names or record.identity in names


def _list_records_here(loaded: Loaded, store: TrustStore) -> list[TrustRecord]:
    """Return the decisions that count here, earlier ones included."""
    places = [find_trust_place(project).place for project in list_projects(loaded.catalog)]
    used = {candidate.record.key for candidate in list_candidates(loaded) if candidate.record}
    return [one for one in store.records if one.key in used or any(map(one.covers, places))]


def _list_records_around(loaded: Loaded, store: TrustStore) -> list[TrustRecord]:
    """Return the decisions about hooks that are not there, earlier ones included, whatever project is found here."""
    keys = {(one.folder, one.record.identity) for one in loaded.absent_hooks}
    places = {folder: find_trust_place(folder).place for folder, _ in keys}
    covered = [
        one
        for one in store.records
        if any(one.identity == identity and one.covers(places[folder]) for folder, identity in keys)
    ]
    return [one for one in covered if not one.anywhere]
