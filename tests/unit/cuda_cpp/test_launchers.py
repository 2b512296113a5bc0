"""Launchers of raw kernels: what is packed, what is checked at each launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import LaunchMode
from kerneltk.cuda_cpp.by_value import Checks
from kerneltk.cuda_cpp.kernel import make_launcher
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, ScalarOverflowError

CODE = """
struct Point { float x; double y; };
extern "C" __global__ void f(
    char a, double* out, unsigned char b, Point p, short c, float2 v, const long long* in, bool d
) {
    double all[] = {(double)a, (double)b, p.x, p.y, (double)c, v.x, v.y, (double)in[0], (double)d};
    for (int k = 0; k < 9; ++k) out[k] = all[k];
}
"""
POINT = np.dtype([("x", "f4"), ("y", "f8")], align=True)


@pytest.fixture(scope="module")
def program() -> RawProgram:
    return RawProgram(RawSource(CODE, "code"), None)


class OtherTypesError(Exception):
    """Arguments of other types."""


def launcher(program: RawProgram, values: tuple[Any, ...], checks: Checks = "error") -> Any:
    def mistyped(*args: Any) -> None:
        raise OtherTypesError

    loaded = program.kernel(foreign_arrays.backend_named("host"), "f")
    return make_launcher(loaded, values, LaunchMode(), checks, mistyped).run


def arguments(**others: Any) -> tuple[Any, ...]:
    given = {
        "a": -1,
        "out": np.zeros(9),
        "b": 200,
        "p": np.array((0.5, 2.5), POINT)[()],
        "c": -300,
        "v": (3.0, 4.0),
        "in": np.array([2**40]),
        "d": True,
    }
    return tuple({**given, **others}.values())


def test_arguments_of_every_size_arrive(program: RawProgram) -> None:
    args = arguments()
    run = launcher(program, args)
    for number in (-1, 5):
        args = arguments(a=number)
        run(1, 1, args)
        wanted = [number, 200, 0.5, 2.5, -300, 3, 4, 2**40, 1]
        np.testing.assert_array_equal(args[1], wanted)


@pytest.mark.parametrize(
    ("others", "error"),
    [
        ({"a": 128}, ScalarOverflowError),
        ({"b": -1}, ScalarOverflowError),
        ({"c": 2**15}, ScalarOverflowError),
        ({"v": (1.0, 1e39)}, ScalarOverflowError),
        ({"v": (1.0,)}, ArgumentTypeError),
        ({"p": np.zeros((), "i4")[()]}, OtherTypesError),
        ({"a": 1.0}, OtherTypesError),
        ({"d": 1}, OtherTypesError),
        ({"out": None}, OtherTypesError),
        ({"out": np.zeros(9, np.float32)}, ArgumentTypeError),
        ({"out": np.zeros(18)[::2]}, ArgumentValueError),
        ({"out": np.zeros(73, np.uint8)[1:].view(np.float64)}, ArgumentValueError),
        ({"in": np.zeros(1, ">i8")}, ArgumentTypeError),
    ],
)
def test_each_launch_is_checked(
    program: RawProgram, others: dict[str, Any], error: type[Exception]
) -> None:
    run = launcher(program, arguments())
    for _ in range(2):
        with pytest.raises(error):
            run(1, 1, arguments(**others))
        run(1, 1, arguments())


def test_read_only_arrays(program: RawProgram) -> None:
    args = arguments()
    run = launcher(program, args)
    args[6].flags.writeable = False  # the pointer is const
    run(1, 1, args)
    args[1].flags.writeable = False
    with pytest.raises(ArgumentValueError, match="'out' of kernel 'f' is read-only"):
        run(1, 1, args)
    with pytest.raises(ArgumentValueError, match="'out' of kernel 'f' is read-only"):
        launcher(program, args)


def test_without_checks(program: RawProgram) -> None:
    args = arguments(out=np.zeros(18)[::2])
    with pytest.raises(ArgumentValueError, match="gaps"):
        launcher(program, args)
    launcher(program, args, checks="off")(1, 1, args)
    assert args[1].base is not None
    np.testing.assert_array_equal(args[1].base[:9], [-1, 200, 0.5, 2.5, -300, 3, 4, 2**40, 1])
