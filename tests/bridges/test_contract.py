"""Every framework keeps the contract of `contract.py`: with the bridge, and the opposite without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from boathook.errors import BridgeError
from tests.bridges.adapter import Adapter
from tests.bridges.behaviours import ACCEPTED, BEHAVIOURS, COST
from tests.bridges.conftest import make_parameter
from tests.bridges.contract import SCENES, Scene, list_scenes
from tests.bridges.frameworks import choose_adapters
from tests.bridges.stage import Stage

pytestmark = pytest.mark.bridge

PLAYED = [
    make_parameter(adapter, scene, way, name=f"{adapter.name}-{scene.name}-{way}")
    for adapter in choose_adapters()
    for scene, way in list_scenes(adapter)
]
Record = Callable[[str, object], None]


def note_cell(record: Record, adapter: Adapter, scene: Scene, way: str, cannot: str = "") -> None:
    place = {"column": adapter.name, "behaviour": scene.behaviour, "way": way, "scene": scene.name}
    record("cell", {**place, "cannot": cannot})


@pytest.mark.parametrize(("adapter", "scene", "way"), PLAYED)
def test_with_the_bridge(adapter: Adapter, scene: Scene, way: str, record_property: Record) -> None:
    stage = Stage(adapter, way, is_attached=True)
    cannot = adapter.find_cannot(scene.behaviour, way, scene.name)
    if cannot is None:
        note_cell(record_property, adapter, scene, way)
        assert scene.play(stage) == scene.attached
        return
    note_cell(record_property, adapter, scene, way, f"{cannot.reason} ({cannot.how})")
    if cannot.how == "accepted":
        assert {(adapter.name, scene.behaviour), (adapter.name, scene.name)} & ACCEPTED
        return
    with pytest.raises(BridgeError) as raised:
        scene.play(stage)
    assert cannot.message in str(raised.value)
    assert stage.is_built is (cannot.how == "the run raises")


@pytest.mark.parametrize(("adapter", "scene", "way"), PLAYED)
def test_without_the_bridge_the_opposite_happens(
    adapter: Adapter, scene: Scene, way: str, record_property: Record
) -> None:
    note_cell(record_property, adapter, scene, way)
    assert scene.play(Stage(adapter, way, is_attached=False)) == scene.detached


def test_every_behaviour_has_a_scene_that_is_different_without_the_bridge() -> None:
    assert {scene.behaviour for scene in SCENES} == set(BEHAVIOURS)
    assert [scene.name for scene in SCENES if scene.attached == scene.detached] == []


def test_what_an_adapter_cannot_do_is_a_behaviour_and_has_a_reason(adapter: Adapter) -> None:
    for key, cannot in adapter.cannot.items():
        behaviour = key if isinstance(key, str) else key[0]
        assert behaviour in {*BEHAVIOURS, *(scene.name for scene in SCENES)}
        assert cannot.reason
        assert cannot.message or cannot.how == "accepted"


def test_notes_of_an_adapter_are_about_behaviours_or_the_cost(adapter: Adapter) -> None:
    assert set(adapter.notes) <= {*BEHAVIOURS, COST}


def test_the_adapter_names_a_way_to_run(adapter: Adapter) -> None:
    known: Any = {"sync", "async", "stream"}
    assert adapter.ways
    assert set(adapter.ways) <= known
