"""Functions that kernels call, lowered for each combination of types, with what they capture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit

from .showing import body_of, refused


def add(a: Any, b: Any = 2, *, c: Any = 3) -> Any:
    return a + b + c


def total(*values: Any) -> Any:
    found = 0
    for value in values:
        found += value
    return found


def first(a: Any, /, b: Any) -> Any:
    return a


def put(x: Any, i: Any) -> None:
    x[i] = 1


def pick(name: Any, pair: Any) -> Any:
    return pair[0] if name == "left" else pair[1]


def each_types_own(x: Any, y: Any, i: Any) -> None:
    y[0] = add(i)
    y[1] = add(y[2])
    x[0] = add(x[1])


def known_arguments(y: Any, tt: Any) -> None:
    y[0] = pick("left", tt)
    y[1] = pick("right", tt)


def an_impure_call_is_made_once(y: Any) -> None:
    def next_of(a: Any) -> Any:
        return jit.atomic_add(a, 0, 1)

    y[1] = next_of(y) + next_of(y)


def scratch(count: Any, shape: Any, item: Any) -> Any:
    small = jit.local_memory(np.int32, count)
    tile = jit.shared_memory(np.int32, shape)
    small[0] = tile[0, 0]
    return small.size + (1, small)[item]


def handed_on(count: Any) -> Any:
    return scratch(2 * count, (count, 4), 0)


def constants_that_a_function_asks_for(y: Any) -> None:
    def nested() -> Any:
        return handed_on(width)

    width = 3
    y[0] = handed_on(3)
    y[1] = handed_on(count=5)
    y[2] = nested()


BODIES = [
    (
        constants_that_a_function_asks_for,
        """\
function scratch() -> int
    declare small: local int32[6]
    declare tile: shared int32[3, 4]
    small[0] = tile[0, 0]
    return 6 + 1

function handed_on() -> int
    t: int = scratch()
    return t

function scratch_2() -> int
    declare small: local int32[10]
    declare tile: shared int32[5, 4]
    small[0] = tile[0, 0]
    return 10 + 1

function handed_on_2() -> int
    t: int = scratch_2()
    return t

function nested() -> int
    t: int = handed_on()
    return t

t: int = handed_on()
y[0] = int64(t)
t_2: int = handed_on_2()
y[1] = int64(t_2)
t_3: int = nested()
y[2] = int64(t_3)
""",
    ),
    (
        each_types_own,
        """\
function add(a: int, b: int, c: int) -> int
    return (a + b) + c

function add_2(a: int64, b: int, c: int) -> int64
    return (a + int64(b)) + int64(c)

function add_3(a: float32, b: int, c: int) -> float32
    return (a + float32(b)) + float32(c)

y[0] = int64(add(i, 2, 3))
y[1] = add_2(y[2], 2, 3)
x[0] = add_3(x[1], 2, 3)
""",
    ),
    (
        known_arguments,
        """\
function pick(pair: (int, int, int32)) -> int
    return pair[0]

function pick_2(pair: (int, int, int32)) -> int
    return pair[1]

y[0] = int64(pick(tt))
y[1] = int64(pick_2(tt))
""",
    ),
    (
        an_impure_call_is_made_once,
        """\
function next_of(a: int64[:]) -> int64
    t: int64 = atomic_add(&a[0], 1:int64)
    return t

t: int64 = next_of(y)
t_2: int64 = next_of(y)
y[1] = t + t_2
""",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=[f.__name__ for f, _ in BODIES])
def test_calls(function: Any, expected: str) -> None:
    assert body_of(function) == expected


def endless(a: Any) -> Any:
    return endless(a) + 1


def recursion(y: Any) -> None:
    y[0] = endless(1)


def endless_by_another(a: Any) -> Any:
    return another(a) + 1


def another(a: Any) -> Any:
    found = endless_by_another(a)
    return found * 2


def recursion_by_another(y: Any) -> None:
    y[0] = endless_by_another(1)


def pairs(a: Any, n: Any) -> Any:
    return 0 if n == 0 else pairs((a, 1), n - 1)


def other_types_at_each_level(y: Any, i: Any) -> None:
    y[0] = pairs(i, i)


def nested(n: Any) -> Any:
    if n == 0:
        return 0
    return nested(n - 1), 1


def recursion_to_another_type(y: Any, i: Any) -> None:
    y[0] = nested(i)


def with_keywords(**given: Any) -> Any:
    return 1


def keywords(y: Any) -> None:
    y[0] = with_keywords(a=1)


def position_only(y: Any) -> None:
    y[0] = first(b=1, a=2)


def keyword_only(y: Any) -> None:
    y[0] = add(1, 2, 3)


def an_error_inside(y: Any, t: Any) -> None:
    y[0] = add(t)


def sometimes(a: Any) -> Any:
    if a > 0:
        return 1


def without_a_result(y: Any) -> None:
    y[0] = sometimes(y[0])


def of_two_kinds(a: Any) -> Any:
    if a > 0:
        return 1
    return (1, 2)


def results_of_two_kinds(y: Any) -> None:
    y[0] = of_two_kinds(y[0])


def own_memory(a: Any) -> Any:
    return jit.local_memory("int32", 4)


def returned_memory(y: Any) -> None:
    y[0] = own_memory(1)[0]


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


MADE = eval("lambda a: a")


def without_a_source(y: Any) -> None:
    y[0] = MADE(1)


def a_size_of_an_argument(y: Any, i: Any) -> None:
    y[0] = handed_on(3)
    y[1] = handed_on(i)


def a_size_that_is_assigned(y: Any) -> None:
    def function(count: Any) -> Any:
        count += 1
        return jit.local_memory(np.int32, count).size

    y[0] = function(3)


REFUSED_STATEMENTS = [
    *(
        (
            function,
            "A shape must be known when the kernel is compiled. Hint: use a literal, a global, or "
            "a variable that is assigned once, to a constant.",
        )
        for function in (a_size_of_an_argument, a_size_that_is_assigned)
    ),
    (
        recursion,
        (
            "The type of what 'endless' returns is not known: it depends on this call of itself "
            "on every way. Hint: return a value on a way without it, or annotate it: 'def "
            "endless(...) -> np.float32:'."
        ),
    ),
    (
        recursion_by_another,
        (
            "The type of what 'endless_by_another' returns is not known: it depends on this call "
            "of itself on every way. Hint: return a value on a way without it, or annotate it: "
            "'def endless_by_another(...) -> np.float32:'."
        ),
    ),
    (
        other_types_at_each_level,
        (
            "'pairs' calls itself with arguments of other types each time, 16 deep. Hint: convert "
            "the arguments, so that their types are those of the call before."
        ),
    ),
    (
        recursion_to_another_type,
        "'nested' returns values whose types do not go together.",
    ),
    (
        keywords,
        "'with_keywords' takes '**given', which kernels cannot pass. Hint: name the keywords.",
    ),
    (position_only, "'first' takes 'a' by its position only."),
    (keyword_only, "'add' takes 2 arguments, and 3 were given."),
    (
        an_error_inside,
        (
            "'+' cannot be computed for a value of type 'tuple of (int, float)' and a number "
            "of type 'int'."
        ),
    ),
    (
        without_a_result,
        (
            "'sometimes' may end without a value, and returns one here. Hint: return a value "
            "on every way."
        ),
    ),
    (results_of_two_kinds, "'of_two_kinds' returns values whose types do not go together."),
    (
        returned_memory,
        (
            "Memory of a function cannot be returned from it. Hint: declare it where it is "
            "used, and pass it as an argument."
        ),
    ),
    (
        without_a_source,
        (
            "'MADE' cannot be called: the text of the lambda of line 1 cannot be had: exec() "
            "does not keep it. Hint: write the text to a file, or register it in "
            "linecache.cache under the name that compile() is given"
        ),
    ),
]


@pytest.mark.parametrize(
    ("function", "expected"), REFUSED_STATEMENTS, ids=[f.__name__ for f, _ in REFUSED_STATEMENTS]
)
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function, of_elements=False) == expected


def by_two(a: Any) -> Any:
    return 2 * a


def pick_by(name: Any, counts: Any) -> Any:
    counts[0] += 1
    if name == "two":
        return by_two
    return np.float64


def maker(a: Any) -> Any:
    def inner(b: Any) -> Any:
        return 3 * b

    return inner


def returned_functions(y: Any, counts: Any) -> None:
    chosen = pick_by("two", counts)
    y[0] = chosen(4)
    y[1] = pick_by("other", counts)(5)
    y[2] = maker(y)(y[0])


def test_functions_return_functions() -> None:
    """The call is made for its effects; which function it gives is known."""
    y, counts = np.zeros(3), np.zeros(1, np.int32)
    kernel = jit.rawkernel(returned_functions)
    kernel[1, 1](y, counts)
    assert (*y, *counts) == (8, 5, 24, 2)


def scaled_by(a: Any) -> Any:
    def inner(b: Any, factor: Any = a) -> Any:
        return factor * b

    return inner


def a_default_of_another_function(y: Any) -> None:
    a = y[0]
    if a > 1:
        a = 7
    y[1] = scaled_by(y[2])(a)


def a_default_that_is_known(y: Any) -> None:
    def inner(b: Any, factor: Any = 3) -> Any:
        return factor * b

    def outer(b: Any, function: Any = inner) -> Any:
        return function(b) + function(b, y[0])

    y[1] = outer(5)


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


def test_defaults_that_are_known_elsewhere() -> None:
    y = np.array([2.0, 0.0, 0.0])
    jit.rawkernel(a_default_that_is_known)[1, 1](y)
    assert y[1] == 25
