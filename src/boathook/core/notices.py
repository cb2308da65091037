"""What events say about hooks that do not run. No text that an unreviewed project chose is in it, whoever reads it."""

# A repository that nobody trusted could otherwise speak to the person, and to the model, through the names of its hooks and the
# values in its files. `boathook check`, `list` and `trust` show these, with everything invisible made visible.

from __future__ import annotations

from boathook.core.hashing import hexdigest
from boathook.core.hook import (
    ABSENT_STATES,
    CALLS_BOATHOOK,
    DISABLED,
    GONE,
    HIDDEN,
    INVALID,
    IS_INSTALLED_CALL,
    MODIFIED,
    NO_ENTRY,
    REMOVED,
    UNTRUSTED,
    USER,
)
from boathook.core.text import is_plain_path, reveal_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from boathook.core.hook import Diagnostic, Hook
    from boathook.core.verdict import Skip

# How many hooks or files one notice names; the rest is counted.
MAX_NAMED = 5
MAX_PLAIN_CHARS = 64
_PLAIN_CHARS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_MADE_START, _MADE_DIGITS = "hook-", 4
_HEX_DIGITS = frozenset("0123456789abcdef")
# The files of sources are directly in a folder of a project, such as `.agents/hooks.toml`.
_MAX_PLACE_PARTS = 2
# Of some sources all such files of a folder are read, such as `.github/hooks/guards.json`.
_LISTED_ENDING = ".json"
# Everything below is named by those who wrote a pack.
_PACKS_PLACE = ".agents/packs"
# What is said about an unreviewed hook instead of its own reason, which may quote its files.
_STATE_REASONS = {
    UNTRUSTED: "it is not trusted yet. Review it with: boathook trust",
    MODIFIED: "it changed since it was trusted. Review the change with: boathook trust",
    INVALID: "its definition has an error. See it with: boathook check",
    NO_ENTRY: "it has no script to run. See: boathook check",
    DISABLED: "it is disabled. See: boathook list",
}
_HIDDEN_REASON = (
    "you trusted it in a folder above, and hooks of a nearer project count here instead. See: boathook list"
)
_UNNAMED_PLACE = "a folder"
_UNNAMED_ERROR = "a folder of this project has an error. See: boathook doctor"
_FIXED_REASONS = (CALLS_BOATHOOK, IS_INSTALLED_CALL)
# In the file of what was reported in a session, to the person: near misses, and hooks that wait for a review.
PERSON_NOTICE, WAITING_NOTICE = "person", "waiting"
UNTRUSTED_COUNT, BROKEN_COUNT, REMOVED_COUNT, GONE_COUNT, HIDDEN_COUNT, NEAR_MISS_COUNT, FAILED_COUNT = COUNT_NAMES = (
    *("untrusted", "broken", "removed", "gone", "hidden", "near-miss", "failed"),
)
# Which count a hook belongs to, by its state.
COUNT_OF_STATE = {
    UNTRUSTED: UNTRUSTED_COUNT,
    MODIFIED: UNTRUSTED_COUNT,
    INVALID: BROKEN_COUNT,
    NO_ENTRY: BROKEN_COUNT,
    REMOVED: REMOVED_COUNT,
    GONE: GONE_COUNT,
    HIDDEN: HIDDEN_COUNT,
}
# What each count says, for one and for several, and the command that helps.
_COUNT_TEXTS = {
    UNTRUSTED_COUNT: (
        "1 hook of this project did not run because it is not trusted",
        "{} hooks of this project did not run because they are not trusted",
        "boathook trust",
    ),
    BROKEN_COUNT: ("1 hook cannot run", "{} hooks cannot run", "boathook check"),
    REMOVED_COUNT: (
        "1 hook that the person trusted was removed in this session",
        "{} hooks that the person trusted were removed in this session",
        "boathook list",
    ),
    GONE_COUNT: (
        "1 hook that the person trusted is not in this checkout",
        "{} hooks that the person trusted are not in this checkout",
        "boathook list",
    ),
    HIDDEN_COUNT: (
        "1 hook that the person trusted does not run, because a nearer project hides it",
        "{} hooks that the person trusted do not run, because a nearer project hides them",
        "boathook list",
    ),
    NEAR_MISS_COUNT: (
        "1 folder or file looks like a hook but is not read",
        "{} folders or files look like hooks but are not read",
        "boathook check",
    ),
    FAILED_COUNT: ("a hook failed", "{} runs of hooks failed", "boathook log"),
}


def describe_counts(counts: Mapping[str, int], *, for_model: bool = False) -> str:
    """Return one sentence about hooks that do not work, by count only, and the commands that help; "" if there are none."""
    names = [name for name in COUNT_NAMES if counts.get(name)]
    if not names:
        return ""
    texts = [_COUNT_TEXTS[name][counts[name] > 1].format(counts[name]) for name in names]
    commands = dict.fromkeys(_COUNT_TEXTS[name][2] for name in names)
    advice = "Tell the person: run " if for_model else "See: "
    quoted = [f"`{command}`" for command in commands] if for_model else list(commands)
    return f"{'; '.join(texts)}. {advice}{' and '.join(quoted)}"


def describe_waiting(count: int) -> str:
    """Return the sentence for a person at the start of a session about hooks that are untrusted or modified."""
    hooks = "1 hook of this project waits" if count == 1 else f"{count} hooks of this project wait"
    return f"{hooks} for your review: boathook trust"


def count_hooks(count_names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in filter(None, count_names):
        counts[name] = counts.get(name, 0) + 1
    return counts


# What is said to a person about hooks that did not run, by their counts, with their names, and what to do.
_NAMED_TEXTS = (
    ((UNTRUSTED_COUNT,), "hooks of this project did not run: {}. Review them: boathook trust"),
    (
        (REMOVED_COUNT, GONE_COUNT),
        "hooks that you trusted did not run: {}. Restore them, or end their trust: boathook untrust NAME",
    ),
    ((HIDDEN_COUNT,), "hooks that you trusted did not run: {}. Accept that, or see what hides them: boathook trust"),
    ((BROKEN_COUNT,), "hooks of this project did not run: {}. See why: boathook check"),
)


def list_notices(skips: Iterable[Skip]) -> list[tuple[str, bool]]:
    """Return the sentences for a person about hooks that are counted, and whether each is about trust."""
    by_count: dict[str, list[str]] = {}
    for skip in skips:
        by_count.setdefault(skip.count_name, []).append(skip.named_state)
    notices: list[tuple[str, bool]] = []
    for counts, text in _NAMED_TEXTS:
        names = [name for count in counts for name in by_count.get(count, ())]
        if names:
            notices.append((text.format(list_names(names)), BROKEN_COUNT not in counts))
    return notices


def mark_removed_hooks(hooks: tuple[Hook, ...], seen_keys: Collection[str]) -> tuple[Hook, ...]:
    """Return hooks for an event of a session in which some of the trusted ones that are gone were there before."""
    return tuple(
        hook.replace(state=REMOVED, state_reason=describe_absence(REMOVED, hook.name))
        if hook.state == GONE and hook.trust_key in seen_keys
        else hook
        for hook in hooks
    )


def describe_absence(state: str, name: str, reviewed_in: str = "") -> str:
    """Return why a trusted hook does not run, and what to do. `reviewed_in` is the other work tree in which it was reviewed."""
    what = f"you trusted it in {reviewed_in}, and this work tree does not have it" if reviewed_in else ""
    if state == REMOVED:
        what = "you trusted it, it was here earlier in this session, and it is gone now"
    what, every = what or "you trusted it, and it is gone", " in all work trees" if reviewed_in else ""
    return f"{what}. Restore it, or end its trust{every} with: boathook untrust {name}"


def quiet_reported_hooks(skips: tuple[Skip, ...], reported_keys: Collection[str]) -> tuple[Skip, ...]:
    """Return skips without a warning about trusted hooks that were gone before the session, and are reported in it already."""
    return tuple(
        skip.replace(is_warning=False, count_name="")
        if skip.state == GONE and skip.trust_key in reported_keys
        else skip
        for skip in skips
    )


def list_names(names: Sequence[str]) -> str:
    """Return names for a notice: the first few, and how many others there are."""
    rest = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


def is_plain_name(name: str) -> bool:
    return 0 < len(name) <= MAX_PLAIN_CHARS and name[0] != "-" and _PLAIN_CHARS.issuperset(name)


def _is_unreviewed(hook: Hook) -> bool:
    """Whether a project chose the text of a hook that cannot run, and no person has trusted it as it is."""
    return hook.scope != USER and hook.state in _STATE_REASONS and hook.approval is None


def hide_project_text(hooks: tuple[Hook, ...]) -> tuple[Hook, ...]:
    """Return hooks for an event, in the order of running: nothing that an unreviewed project chose is in their texts."""
    if not any(_is_unreviewed(hook) or hook.state in ABSENT_STATES for hook in hooks):
        return hooks
    # The order depends on the names.
    return tuple(sorted(map(hide_hook_text, hooks), key=lambda hook: hook.order))


def hide_hook_text(hook: Hook) -> Hook:
    if hook.state in ABSENT_STATES:
        # A person reviewed its name, but not the path of what hides it. The model still gets a number and a command.
        reason = _HIDDEN_REASON if hook.state == HIDDEN else hook.state_reason
        return hook.replace(state_reason=reason, is_hidden=True)
    if not _is_unreviewed(hook):
        return hook
    # The name of an entry of settings.json is made of words of its command.
    is_plain = is_plain_name(hook.name) and not hook.runs_together and not _is_made_name(hook.name)
    name = hook.name if is_plain else f"{_MADE_START}{_make_digest(f'{hook.path} {hook.place} {hook.name}')}"
    reason = hook.state_reason if hook.state_reason in _FIXED_REASONS else _STATE_REASONS[hook.state]
    return hook.replace(name=name, state_reason=reason, description="", is_hidden=True)


def _is_made_name(name: str) -> bool:
    """Whether a project could have chosen a name so that its hook is taken for another one."""
    digest = name.removeprefix(_MADE_START)
    return digest != name and len(digest) == _MADE_DIGITS and _HEX_DIGITS.issuperset(digest)


def _make_digest(text: str) -> str:
    return hexdigest(text.encode("utf-8", "backslashreplace"))[:_MADE_DIGITS]


def describe_file_errors(
    diagnostics: Sequence[Diagnostic], projects: Sequence[str], user_folders: Sequence[str]
) -> list[tuple[str, str, bool]]:
    """Return path and message for files with errors, and whether a model may read the message.

    Of a file of a project it has only the place and the number of errors. A model reads about other files only if they are in
    folders of the user: the path of any other may be what a project chose. A person reads it if it is plain.
    """
    messages: list[tuple[str, str, bool]] = []
    counts: dict[tuple[str, str], int] = {}
    for diagnostic in diagnostics:
        place = _find_known_place(diagnostic.path, projects)
        if not place:
            is_own = any(diagnostic.path.startswith(f"{folder}/") for folder in user_folders)
            if is_own or is_plain_path(diagnostic.path):
                messages.append((reveal_text(diagnostic.path), reveal_text(str(diagnostic)), is_own))
            else:
                messages.append((_UNNAMED_PLACE, _UNNAMED_ERROR, True))
            continue
        key = (diagnostic.path, place)
        counts[key] = counts.get(key, 0) + 1
    for (path, place), count in counts.items():
        number = "an error" if count == 1 else f"{count:,} errors"
        messages.append((reveal_text(path), f"{place} of this project has {number}. See: boathook check", True))
    return list(dict.fromkeys(messages))


def _find_known_place(path: str, projects: Sequence[str]) -> str:
    """Return the place of a file below a project, "" unless it is a plain one that a source reads in every project."""
    roots = [f"{project.rstrip('/')}/" for project in projects]
    places = [path.removeprefix(root) for root in roots if path.startswith(root)]
    described = [_describe_place(place) for place in places]
    return next((place for place in described if place), "")


def _describe_place(place: str) -> str:
    if place.startswith(f"{_PACKS_PLACE}/"):
        return _PACKS_PLACE
    *folder, name = place.split("/")
    is_listed = len(folder) == _MAX_PLACE_PARTS and folder[0].startswith(".") and name.endswith(_LISTED_ENDING)
    if len(folder) >= _MAX_PLACE_PARTS and not is_listed:
        return ""
    is_plain, is_plain_folder = (
        all(is_plain_name(part.replace(".", "")) for part in parts) for parts in ((name,), folder)
    )
    if is_plain and is_plain_folder:
        return place
    # The project chose the name of a file in a folder whose files are all read.
    return f"a file in {'/'.join(folder)}" if is_plain_folder and len(folder) == _MAX_PLACE_PARTS else ""
