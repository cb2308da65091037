"""Which scripts of a pack are those of boathook itself: of these the tests show that they leave nothing behind in memory."""

# Hence one fork may run several of them: see docs/adr/0032-shared-process.md and tests/packs/test_known_scripts.py.

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from boathook.guards.code_cache import CodeCache
    from boathook.guards.script_forks import SharedHook

OWN_PACKS = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/packs"
_OWN_PREFIX = "boathook/"
NAME_VARIABLE = "AGENT_HOOK_NAME"
_COMPILED = "__pycache__"


def find_known_scripts(hooks: Sequence[SharedHook], shared_code: str, compiled: CodeCache) -> frozenset[str]:
    """Return the scripts that are, with the code they share, byte for byte the same as in this installation."""
    names = {script: variables.get(NAME_VARIABLE, "") for script, _, _, variables, _ in hooks}
    pack = names[hooks[0][0]].partition(":")[0]
    own_pack = f"{OWN_PACKS}/{pack.removeprefix(_OWN_PREFIX)}"
    if not pack.startswith(_OWN_PREFIX) or not _is_same_folder(shared_code, f"{own_pack}/lib", compiled):
        return frozenset()
    own_folders = {script: f"{own_pack}/hooks/{name.partition(':')[2]}/scripts" for script, name in names.items()}
    return frozenset(
        script for script, own in own_folders.items() if _is_same_folder(os.path.dirname(script), own, compiled)
    )


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
