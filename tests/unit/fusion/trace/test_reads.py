"""Guards hold where a call would read the same by its names."""

from __future__ import annotations

import gc
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kerneltk.fusion.trace.reads import MISSING, Reads, of_attribute, of_global


def test_globals_are_compared_by_identity_and_numbers_by_value() -> None:
    items: Any = [1]
    names: dict[str, Any] = {"rate": 2.0, "items": items, "pair": (1, -0.0)}
    reads = Reads()
    assert reads.hold()
    for name in (*names, "absent"):
        reads.add(of_global(names, name))
    count = len(reads.tests)
    reads.add(of_global(names, "rate"))
    assert len(reads.tests) == count
    changes: list[tuple[str, Any, bool]] = [
        ("rate", float("2"), True), ("rate", 2, False), ("rate", 2.5, False),
        ("items", [1], False), ("items", items, True),
        ("pair", (1, -0.0), True), ("pair", (1, 0.0), False), ("absent", 1, False),
    ]  # fmt: skip
    for name, value, holds in changes:
        before = names.get(name, MISSING)
        names[name] = value
        assert reads.hold() is holds
        assert reads.hold((1, 2)) is holds
        names[name] = before
        if before is MISSING:
            del names[name]
    items.append(2)  # which lies deeper
    assert reads.hold()


@pytest.mark.parametrize("is_kept", [False, True])
def test_variables_and_code_of_functions(is_kept: bool) -> None:
    value: Any = 1

    def function() -> Any:
        return value

    reads = Reads()
    if is_kept:
        reads.keep(function)
    reads.add(reads.of_cell(function, 0))
    reads.add_code(function)
    assert reads.hold()
    value = 2
    assert not reads.hold()
    del value
    assert not reads.hold()
    value = 1
    assert reads.hold()
    other: Callable[[], Any] = lambda: value  # noqa: E731
    function.__code__ = other.__code__
    assert not reads.hold()


class Thing:
    def __init__(self, **parts: Any) -> None:
        vars(self).update(parts)


def test_attributes_of_arguments() -> None:
    first: Any = Thing(rate=2.0, array=np.zeros(2), items=[1])
    reads = Reads()
    for name, value in vars(first).items():
        reads.add(of_attribute(first, "a1", name, value))
    reads.add_absent(first, "a1", "gain")
    assert reads.is_named(first.array)
    assert reads.hold((0, first))
    assert reads.hold()  # which asks no argument
    for name, value in (("rate", 3.0), ("array", np.zeros(2)), ("items", [1]), ("gain", 1)):
        before = vars(first).get(name, MISSING)
        setattr(first, name, value)
        assert not reads.hold((0, first))
        if before is MISSING:
            delattr(first, name)
        else:
            setattr(first, name, before)
    assert reads.hold((0, first))
    del first.rate
    assert not reads.hold((0, first))


def test_attributes_keep_no_argument_alive() -> None:
    owner: Any = Thing(rate=1.0, part=Thing())
    owner.part.owner = owner
    owner.parts = [owner.part]
    owner.bound = types.MethodType(lambda self: self, owner)
    owner.many = [[k] for k in range(2000)]
    reads = Reads()
    for name, value in list(vars(owner).items()):
        reads.add(of_attribute(owner, "a0", name, value))
    assert reads.hold((owner,))
    end = weakref.ref(owner)
    del owner, value
    gc.collect()
    assert end() is None


def test_an_object_that_is_no_more_is_not_none() -> None:
    first: Any = Thing(part=Thing())
    reads = Reads()
    reads.add(of_attribute(first, "a0", "part", first.part))
    assert reads.hold((first,))
    first.part = None
    gc.collect()
    assert not reads.hold((first,))


def test_arrays_by_names_are_asked_for_their_shapes() -> None:
    names: dict[str, Any] = {"table": np.zeros(4), "dtype": np.dtype("f4"), "kind": np.ndarray}
    reads = Reads()
    for name in names:
        reads.add(of_global(names, name))
    assert reads.is_named(names["table"])
    assert reads.is_named(names["table"][::-1][1:])
    assert not reads.is_named(np.zeros(4))
    names["table"][:] = 1
    assert reads.hold()
    names["table"].resize(8, refcheck=False)
    assert not reads.hold()
