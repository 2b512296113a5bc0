"""What holds arrays and numbers: one answer for kernels' arguments, results and graphs."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import pytest

from kerneltk.core import structures


class Pair(NamedTuple):
    low: Any
    high: Any


@dataclass(frozen=True)
class Frozen:
    scale: Any
    pair: Any


@dataclass(slots=True)
class Slotted:
    x: Any
    kept: Any = field(default=0, init=False)


class Member(Enum):
    PAIR = (1, 2.5)


class Plain(tuple):  # type: ignore[type-arg]
    """Another tuple, with attributes of its own."""


@pytest.mark.parametrize(
    ("value", "names", "items"),
    [
        ((1, 2), (), (1, 2)),
        ((), (), ()),
        (Pair(1, (2, 3)), ("low", "high"), (1, (2, 3))),
        (Frozen(4, None), ("scale", "pair"), (4, None)),
        (Slotted(5), ("x", "kept"), (5, 0)),
        (Plain((6,)), (), (6,)),
        (Member.PAIR, ("_value_",), ((1, 2.5),)),
    ],
)
def test_a_structure_has_items(value: Any, names: tuple[str, ...], items: Any) -> None:
    assert structures.is_structure(value)
    assert structures.field_names(type(value)) == names
    assert structures.items_of(value) == items
    keys = tuple(names) or tuple(range(len(items)))
    assert tuple(structures.named_items(value, names)) == tuple(zip(keys, items, strict=True))
    others = tuple([item] for item in items)
    made = structures.rebuilt(value, others)
    assert type(made) is type(value)
    assert structures.items_of(made) == others
    assert structures.items_of(value) == items


@pytest.mark.parametrize("value", [None, 1, "ab", b"ab", [1], {1: 2}, {1}, Frozen, Pair, range(2)])
def test_what_is_no_structure(value: Any) -> None:
    """Classes are none, and neither are lists and dictionaries: kernels have no type for them."""
    assert not structures.is_structure(value)
    assert structures.items_of(value) == ()


def test_a_rebuilt_structure_keeps_what_is_no_field() -> None:
    plain = Plain((1, 2))
    plain.unit = "m"
    assert structures.rebuilt(plain, (3, 4)).unit == "m"
    frozen = Frozen(1, 2)
    object.__setattr__(frozen, "unit", "m")
    made = structures.rebuilt(frozen, (3, 4))
    assert (made.unit, made) == ("m", Frozen(3, 4))


def test_a_class_is_not_called() -> None:
    class Checked(namedtuple("Checked", "a b")):
        def __new__(cls, a: int, b: int, *more: int) -> Any:
            raise AssertionError

    value = tuple.__new__(Checked, (1, 2))
    assert structures.rebuilt(value, (3, 4)).b == 4
