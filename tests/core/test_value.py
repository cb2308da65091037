"""Values: frozen, compared by their fields, copied with changes."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.value import Value


class Point(Value):
    x: int
    y: int = 0
    _cache: int = 7


class Named(Point):
    name: str = "origin"


class Twin(Value):
    x: int
    y: int = 0


def test_fields_come_by_position_by_name_and_by_default():
    assert [Point(1, 2), Point(1, y=2), Point(x=1, y=2), Point(y=2, x=1)] == [Point(1, 2)] * 4
    assert (Point(1).x, Point(1).y) == (1, 0)


def test_a_subclass_adds_its_fields_behind_those_of_its_base():
    assert Named.FIELDS == ("x", "y", "name")
    assert Named(1, 2, "a") == Named(x=1, y=2, name="a")
    assert Named(1).name == "origin"


def test_names_with_an_underscore_are_not_fields():
    assert Point.FIELDS == ("x", "y")


WRONG = {
    "too many": (lambda: Point(1, 2, 3), "Point takes 2 fields, 3 given"),
    "one missing": (Point, "Point needs the field 'x'"),
    "unknown": (lambda: Point(1, z=3), "Point has no field 'z'"),
    "given twice": (lambda: Point(1, x=3), "Point was given the field 'x' twice"),
    "unknown in replace": (lambda: Point(1).replace(z=1), "Point has no field 'z'"),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_wrong_fields_are_refused(make, message):
    with pytest.raises(TypeError) as error:
        make()
    assert str(error.value) == message


def test_a_value_does_not_change():
    point = Point(1, 2)
    with pytest.raises(AttributeError, match=r"Point is frozen; use replace\(x=…\)"):
        point.x = 3
    with pytest.raises(AttributeError, match="Point is frozen"):
        del point.x
    with pytest.raises(AttributeError, match="Point is frozen"):
        point.other = 1
    assert point == Point(1, 2)


@given(st.integers(), st.integers(), st.integers())
def test_replace_returns_a_changed_copy_and_leaves_the_original(x, y, other):
    point = Point(x, y)
    assert point.replace(x=other) == Point(other, y)
    assert point.replace() == point
    assert point == Point(x, y)


@given(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_values_are_equal_exactly_if_their_fields_are(one, other):
    assert (Point(*one) == Point(*other)) == (one == other)
    assert (hash(Point(*one)) == hash(Point(*other))) or one != other


def test_values_of_another_type_are_not_equal():
    assert Point(1, 2) != Twin(1, 2)
    assert Point(1, 2) != Named(1, 2)
    assert Point(1, 2) != (1, 2)


def test_a_value_that_holds_a_mapping_cannot_be_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point({}))


def test_a_value_shows_its_fields():
    assert repr(Named(1, y=2)) == "Named(x=1, y=2, name='origin')"


def test_what_a_value_remembers_beside_its_fields_does_not_count():
    one = Point(1)
    one.__dict__["_seen"] = True
    assert one == Point(1)
    assert one.replace().__dict__ == {"x": 1, "y": 0}


def test_a_value_can_be_copied_and_pickled():
    assert copy.deepcopy(Point(1, 2)) == Point(1, 2)
    assert pickle.loads(pickle.dumps(Point(1, 2))) == Point(1, 2)
