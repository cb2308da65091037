"""Trust as data: what a person said about which bytes, and what that makes of a hook."""

from __future__ import annotations

from boathook.core.hashing import hexdigest
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

TRUST, DENY = "trust", "deny"


class TrustRecord(Value):
    """What a person said about one hook of one project; `digest` is of everything that was shown.

    `project` is a real path, `identity` names the hook in it and never by its place in a list. `roots` are the folders and
    files that the digest covers and that are run from a private copy, as real paths; `files` says what each of them held.
    """

    project: str
    identity: str
    name: str
    word: str
    digest: str = ""
    roots: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    definition: str = ""
    override: bool = False
    when: str = ""


class Approval(Value):
    """What a trusted hook must still be when it runs: the digest of its definition and of the trees at its roots.

    `definition` are the bytes that stand in no file of the roots; `copy` is the folder of the private copy; `absent` are files
    that its command names and that were not there.
    """

    digest: str
    definition: bytes = b""
    roots: tuple[str, ...] = ()
    copy: str = ""
    override: bool = False
    absent: tuple[str, ...] = ()


def compute_digest(definition: bytes, trees: Iterable[str]) -> str:
    """Return the digest of a hook: of its definition and of the digests of its trees."""
    words = [tree.encode("utf-8", "surrogatepass") for tree in trees]
    return hexdigest(b"\n".join((b"boathook hook 1", hexdigest(definition).encode(), *words)))


def resolve_copy_path(copy: str, at: int, root: str) -> str:
    """Return where the copy of a root is: each in a folder of its own, under its own name."""
    return f"{copy}/{at}/{root.rpartition('/')[2]}"
