"""Functions that kernels call, lowered for each combination of types, with what they capture."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from kerneltk import jit

from .showing import body_of, check_table, refused


def add(a: Any, b: Any = 2, *, c: Any = 3) -> Any:
    return a + b + c


def scratch(count: Any, shape: Any, item: Any) -> Any:
    small = jit.local_memory(np.int32, count)
    tile = jit.shared_memory(np.int32, shape)
    small[0] = tile[0, 0]
    return small.size + (1, small)[item]


def handed_on(count: Any) -> Any:
    return scratch(2 * count, (count, 4), 0)


def first(a: Any, /, b: Any) -> Any:
    return a


def pick(name: Any, pair: Any) -> Any:
    return pair[0] if name == "left" else pair[1]


def endless(a: Any) -> Any:
    return endless(a) + 1


def endless_by_another(a: Any) -> Any:
    return another(a) + 1


def another(a: Any) -> Any:
    found = endless_by_another(a)
    return found * 2


def pairs(a: Any, n: Any) -> Any:
    return 0 if n == 0 else pairs((a, 1), n - 1)


def nested(n: Any) -> Any:
    if n == 0:
        return 0
    return nested(n - 1), 1


def with_keywords(**given: Any) -> Any:
    return 1


def sometimes(a: Any) -> Any:
    if a > 0:
        return 1


def of_two_kinds(a: Any) -> Any:
    if a > 0:
        return 1
    return (1, 2)


def own_memory(a: Any) -> Any:
    return jit.local_memory("int32", 4)


def countdown(a: Any) -> Any:
    if a > 0:
        return countdown(a - 1)
    return a


def calls_itself(x: Any) -> None:
    x[0] = countdown(x[1])


def test_recursive_functions() -> None:
    """The result's type is that of the other returns; a call is evaluated where it stands."""
    assert (
        body_of(calls_itself)
        == """\
function countdown(a: float32) -> float32
    if a > 0.0:float32:
        t: float32 = countdown(a - 1.0:float32)
        return t
    return a

x[0] = countdown(x[1])
"""
    )


MADE = eval(compile(ast.parse("lambda a: a", mode="eval"), "<string>", "eval"))


def by_two(a: Any) -> Any:
    return 2 * a


def scaled_by(a: Any) -> Any:
    def inner(b: Any, factor: Any = a) -> Any:
        return factor * b

    return inner


def a_default_of_another_function(y: Any) -> None:
    a = y[0]
    if a > 1:
        a = 7
    y[1] = scaled_by(y[2])(a)


def a_function_or_a_value(y: Any) -> None:
    def either(a: Any) -> Any:
        if a > 1:
            return by_two
        return 3

    y[1] = either(y[0])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (
            a_default_of_another_function,
            (
                "The default of 'factor' of 'inner' is computed in the function that it is "
                "defined in, and it is called outside of that. Hint: pass 'factor' as an argument."
            ),
        ),
        (
            a_function_or_a_value,
            (
                "'either' returns a value in one place and a function in another. Hint: call the "
                "function, and return what it gives."
            ),
        ),
    ],
)
def test_functions_that_cannot_be_returned(function: Any, expected: str) -> None:
    """Where the caller has a variable of the same name, its value was taken."""
    assert refused(function, of_elements=False) == expected


def test_table() -> None:
    check_table(__file__, globals())
