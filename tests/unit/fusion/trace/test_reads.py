"""Guards hold where a call would read the same by its names."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from kerneltk.fusion.trace.reads import Reads, of_attribute, of_global


class Thing:
    def __init__(self, **parts: Any) -> None:
        vars(self).update(parts)


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
