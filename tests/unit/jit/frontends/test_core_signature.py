"""Signatures of functions of small arrays."""

from __future__ import annotations

import pytest

from kerneltk.errors import ArgumentValueError
from kerneltk.jit.frontends.core_signature import parse_core_signature


@pytest.mark.parametrize(
    ("shapes", "what"),
    [
        ([(4,), (4,), ()], "has 1 dimension, and"),
        ([(3, 4), (5,), ()], "has 4 elements in the argument for 'a' of 'f', and 5"),
        ([(3, 1), (4,), ()], "has 1 elements"),  # cores are not broadcast
        ([(2, 3, 4), (3, 4), ()], r"cannot be broadcast.*\(2,\), \(3,\), \(\)"),
    ],
)
def test_shapes_that_do_not_go_together(shapes: list[tuple[int, ...]], what: str) -> None:
    with pytest.raises(ArgumentValueError, match=what):
        parse_core_signature("(m,n),(n),()->(m)").resolve("f", "abc", shapes)
