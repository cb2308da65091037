from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.protection.guarded_home import GuardedHome
from tests.scratch_project import BOATHOOK_VARIABLES


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedHome]:
    """A home whose hooks are protected; this process is in its project."""
    home = GuardedHome(tmp_path_factory.mktemp("guarded"))
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith((*BOATHOOK_VARIABLES, "CODEX_", "GEMINI_", "COPILOT_", "QWEN_")):
                patch.delenv(name)
        patch.setenv("HOME", str(home.home))
        patch.chdir(home.project)
        home.set_up()
        yield home
