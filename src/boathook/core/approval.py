"""Trust as data: which bytes of a hook a person trusts or denies."""

from __future__ import annotations

from boathook.core.hashing import hexdigest
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# What a person decided about a hook: it may run, it never runs, or a nearer project may hide it.
TRUST, DENY, HIDE = DECISIONS = ("trust", "deny", "hide")
# Where a decision counts: in one project, in all work trees of its repository, or in every folder that has these bytes.
IN_PROJECT, IN_REPOSITORY, ANYWHERE = "project", "repository", "anywhere"


class TrustPlace(Value):
    """What identifies a project for trust: its real path; in a repository also that one and the folder in its work trees."""

    project: str
    repository: str = ""
    folder: str = ""


class TrustRecord(Value):
    """A person's decision about one hook of one project; `digest` is of everything that was shown."""

    # `project` is the real path of where it was reviewed, `repository` and `folder` are those of its `TrustPlace`. `identity` names
    # the hook in it, and never by its place in a list. `roots` are the folders and files that the digest covers and that run from
    # a private copy; `files` summarizes what was in them. Paths in the project are relative to it. `anywhere`: these bytes may run
    # in any folder. `earlier`: a later review in the same project replaced this one, which still counts in others. `source` and
    # `event` are those of the hook. A decision to hide is one of the nearer project: its `identity` leads from there to the hook.
    project: str
    identity: str
    name: str
    decision: str
    digest: str = ""
    roots: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    definition: str = ""
    override: bool = False
    time: str = ""
    repository: str = ""
    folder: str = ""
    anywhere: bool = False
    earlier: bool = False
    source: str = ""
    event: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.project, self.identity, self.digest if self.earlier else ""

    @property
    def extent(self) -> str:
        return ANYWHERE if self.anywhere else IN_REPOSITORY if self.repository else IN_PROJECT

    def covers(self, place: TrustPlace) -> bool:
        """Whether this decision is about a project, as the one that was reviewed or as another work tree of its repository."""
        if self.project == place.project:
            return True
        return bool(self.repository) and (self.repository, self.folder) == (place.repository, place.folder)

    def counts_in(self, place: TrustPlace) -> bool:
        return self.covers(place) and not (self.earlier and self.project == place.project)


class Approval(Value):
    """What a trusted hook must still be when it runs: the digest of its definition and of what is at its roots."""

    # `definition` is what is not in a file of the roots, `copy_folder` is where the private copy is, and `missing_files` are
    # those that its command names and that did not exist. `extent` is that of the decision.
    digest: str
    definition: bytes = b""
    roots: tuple[str, ...] = ()
    copy_folder: str = ""
    override: bool = False
    missing_files: tuple[str, ...] = ()
    extent: str = IN_PROJECT

    def name_real_files(self, text: str) -> str:
        """Return a text in which the files of the private copy have the names of the files that people edit."""
        for index, root in enumerate(self.roots if self.copy_folder and self.copy_folder in text else ()):
            text = text.replace(resolve_copy_path(self.copy_folder, index, root), root)
        return text


def compute_hook_digest(definition: bytes, roots: Iterable[str]) -> str:
    lines = [root.encode("utf-8", "surrogatepass") for root in roots]
    return hexdigest(b"\n".join((b"boathook hook 1", hexdigest(definition).encode(), *lines)))


def resolve_copy_path(copy_folder: str, index: int, root: str) -> str:
    """Return where the copy of a root is: each in a folder of its own, under its own name."""
    return f"{copy_folder}/{index}/{root.rpartition('/')[2]}"
