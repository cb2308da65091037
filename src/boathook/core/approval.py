"""Trust as data: which bytes of a hook a person trusts or denies."""

from __future__ import annotations

from boathook.core.hashing import hexdigest
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

TRUST, DENY = "trust", "deny"


class TrustRecord(Value):
    """A person's decision about one hook of one project; `digest` is of everything that was shown."""

    # `project` is a real path. `identity` names the hook in it, and never by its place in a list. `roots` are the real paths of
    # the folders and files that the digest covers and that run from a private copy; `files` summarizes what was in them.
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


class Approval(Value):
    """What a trusted hook must still be when it runs: the digest of its definition and of what is at its roots."""

    # `definition` is what is not in a file of the roots, `copy_folder` is where the private copy is, and `missing_files` are
    # those that its command names and that did not exist.
    digest: str
    definition: bytes = b""
    roots: tuple[str, ...] = ()
    copy_folder: str = ""
    override: bool = False
    missing_files: tuple[str, ...] = ()


def compute_hook_digest(definition: bytes, roots: Iterable[str]) -> str:
    lines = [root.encode("utf-8", "surrogatepass") for root in roots]
    return hexdigest(b"\n".join((b"boathook hook 1", hexdigest(definition).encode(), *lines)))


def resolve_copy_path(copy_folder: str, index: int, root: str) -> str:
    """Return where the copy of a root is: each in a folder of its own, under its own name."""
    return f"{copy_folder}/{index}/{root.rpartition('/')[2]}"
