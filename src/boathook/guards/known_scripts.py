"""Which scripts of a pack are those of boathook itself: of these the tests show that they leave nothing behind in memory."""

# Hence one fork may run several of them: see docs/adr/0032-shared-process.md and tests/packs/test_known_scripts.py.

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from boathook.guards.code_cache import CodeCache

OWN_PACKS = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/packs"
OWN_PREFIX = "boathook/"
NAME_VARIABLE = "AGENT_HOOK_NAME"
_COMPILED = "__pycache__"


def find_known_scripts(names: Mapping[str, str], shared_code: str, compiled: CodeCache) -> frozenset[str]:
    """Return the scripts that are, with the code they share, byte for byte the same as in this installation.

    `names` are the names of their hooks. All are of one pack.
    """
    own_pack = find_own_pack(next(iter(names.values())))
    if not own_pack or not _is_same_folder(shared_code, f"{own_pack}/lib", compiled):
        return frozenset()
    own_folders = {script: f"{own_pack}/hooks/{name.partition(':')[2]}/scripts" for script, name in names.items()}
    return frozenset(
        script for script, own in own_folders.items() if _is_same_folder(os.path.dirname(script), own, compiled)
    )


def find_own_pack(name: str) -> str:
    """Return the folder in which boathook has the pack of a hook, "" if the pack is not one of boathook's."""
    pack = name.partition(":")[0]
    return f"{OWN_PACKS}/{pack.removeprefix(OWN_PREFIX)}" if pack.startswith(OWN_PREFIX) else ""


def _is_same_folder(folder: str, own: str, compiled: CodeCache) -> bool:
    """Whether two folders have the same files. A compiled file counts in neither: nothing imports it."""
    try:
        names, own_names = ({*os.listdir(one)} - {_COMPILED} for one in (folder, own))
        return names == own_names and all(
            compiled.read_source(f"{folder}/{name}") == _read_file(f"{own}/{name}") for name in names
        )
    except OSError:
        return False


def _read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
