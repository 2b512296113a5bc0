"""The arguments of a call: whose arrays they are, their types, what is known of their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec
from kerneltk.jit.ir.types import PY_INT, Array, Tuple, number
from kerneltk.jit.launch.launcher import Arguments, arguments_of, is_32bit_indexable
from kerneltk.jit.launch.marshalling import ArgumentPath

F4 = number("float32")


def taken(*args: Any, **options: Any) -> Arguments:
    return arguments_of(args, [ArgumentPath("k", f"a{k}") for k in range(len(args))], **options)


def test_what_a_compiled_kernel_depends_on() -> None:
    x = np.zeros(3, np.float32)
    assert taken(x, 3).key == taken(np.ones(7, np.float32), -5).key
    others = (taken(x, 3.0), taken(x[::2], 3), taken(x.astype("f8"), 3), taken(x.reshape(1, 3), 3))
    assert all(taken(x, 3).key != other.key for other in others)
    assert taken(x, 3, is_64bit_grid=True).key != taken(x, 3).key


def known(*shapes: Any) -> bool:
    values = [ArraySpec.make("float32", shape) for shape in shapes]
    return is_32bit_indexable(values, [Array(F4, len(value.shape)) for value in values])


@pytest.mark.parametrize(
    ("shape", "is_indexable"),
    [
        ((2**31 - 1,), True),
        ((2**31,), False),
        ((2**16, 2**15 - 1), True),
        ((2**16, 2**15), False),
        ((0, 2**31), False),  # an index along the other axis
        ((0, 2**31 - 1), True),
        ((), True),
    ],
)
def test_what_32_bits_index(shape: Any, is_indexable: bool) -> None:
    assert known(shape) is known((3,), shape) is is_indexable


def test_arrays_in_tuples_count_too() -> None:
    large = ArraySpec.make("int8", 2**31)
    kind = Tuple((PY_INT, Tuple((Array(number("int8"), 1),))))
    assert not is_32bit_indexable([(1, (large,))], [kind])
