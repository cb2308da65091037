"""The sources of hooks, one row each: where their files are, who reads them, and which dialect their hooks speak.

Lean: the fast path needs to know where files are, so readers are named and not imported.
"""

from __future__ import annotations

from boathook.system.locations import CONFIG_FOLDER, STATE_FOLDER, UserFolder


class Source:
    """One form of hooks.

    `without` is what `run --without` calls it. `markers` are the files, below a project's folder, that make it a project of
    this source.
    """

    __slots__ = ("markers", "name", "user_folder", "without")

    def __init__(self, name: str, without: str, user_folder: UserFolder, markers: tuple[str, ...]) -> None:
        self.name = name
        self.without = without
        self.user_folder = user_folder
        self.markers = markers


HOOK_MD_SOURCE = Source("HOOK.md", "hook-md", CONFIG_FOLDER, ("/.agents/hooks",))
SETTINGS_JSON_SOURCE = Source(
    "settings.json",
    "settings",
    UserFolder(
        "claude",
        b"CLAUDE_CONFIG_DIR",
        ".claude",
        help="Your folder with settings.json, ignoring environment variables.",
    ),
    ("/.claude/settings.json", "/.claude/settings.local.json"),
)
SOURCES = (HOOK_MD_SOURCE, SETTINGS_JSON_SOURCE)


def list_user_folders() -> tuple[UserFolder, ...]:
    """Return the folders of the user that a caller may name, each once."""
    return tuple(dict.fromkeys((CONFIG_FOLDER, *[source.user_folder for source in SOURCES], STATE_FOLDER)))


def list_without_names() -> tuple[str, ...]:
    """Return what `--without` may name: sources, and the projects of sources."""
    return tuple([prefix + source.without for source in SOURCES for prefix in ("", "project-")])
