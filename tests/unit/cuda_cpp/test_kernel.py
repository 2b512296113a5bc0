"""What one launch of a raw kernel is given beside its arguments."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import LaunchMode
from kerneltk.cuda_cpp.by_value import Checks
from kerneltk.cuda_cpp.kernel import make_launcher
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, ScalarOverflowError


def kernel(parameters: str, body: str = "", before: str = "", **words: Any) -> kerneltk.RawKernel:
    # A pointer that the kernel does not name takes anything.
    body = body or ("(void)x;" if re.search(r"\bx\b", parameters) else "")
    return kerneltk.RawKernel(f"{before}\n__global__ void f({parameters}) {{{body}}}", "f", **words)


def test_checks_can_be_set_later() -> None:
    take = kernel("float* x")
    gaps = np.zeros(8, np.float32)[::2]
    with pytest.raises(ArgumentValueError, match="gaps"):
        take(1, 1, (gaps,))
    take.checks = False
    take(1, 1, (gaps,))
    take.checks = True
    with pytest.raises(ArgumentValueError, match="gaps"):
        take(1, 1, (gaps,))


def test_keywords_of_one_launch_are_its_own() -> None:
    take = kernel("float* x")
    gaps = np.zeros(8, np.float32)[::2]
    for _ in range(3):
        take(1, 1, (gaps,), checks=False)
        with pytest.raises(ArgumentValueError, match="gaps"):
            take(1, 1, (gaps,))
    with pytest.raises(ArgumentValueError, match="'backend' must be"):
        take(1, 1, (gaps,), backend="gpu")


def test_shared_memory_is_a_whole_number_of_bytes() -> None:
    take = kernel("float* x")
    take(1, 1, (np.zeros(1, np.float32),), shared_mem=0)
    take(1, 1, (np.zeros(1, np.float32),), shared_mem=np.int64(8))


@pytest.mark.parametrize("word", ["cooperative", "programmatic", "exited_arrive", "checks"])
def test_flags_are_true_or_false(word: str) -> None:
    take = kernel("")
    for wrong in (None, 1, "yes", np.array([True])):
        with pytest.raises(ArgumentTypeError, match=f"'{word}' of kernel 'f' must be True or"):
            take(1, 1, (), **{word: wrong}, backend="host")


def test_unknown_words() -> None:
    with pytest.raises(ArgumentTypeError, match=r"takes no keyword 'checked'\.\n  Hint: .*checks"):
        kernel("")(1, 1, (), checked=True)


@pytest.mark.parametrize("cluster", [(), None, 1, (1,), (1, 1, 1)])
def test_clusters_of_one_block_are_none(cluster: Any) -> None:
    kernel("")(1, 1, (), cluster=cluster, backend="host")


@pytest.mark.parametrize("cluster", [0, (0,), (2, -1), "2", (1, 1, 1, 1)])
def test_what_is_no_cluster(cluster: Any) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="cluster"):
        kernel("")(1, 1, (), cluster=cluster, backend="host")


def test_words_that_are_equal_and_of_other_types() -> None:
    take = kernel("int* x", "x[0] += 1;")
    x = np.zeros(1, np.int32)
    for _ in range(2):
        take(1, 1, (x,), exited_arrive=True)
        with pytest.raises(ArgumentTypeError, match="must be True or False, not 1"):
            take(1, 1, (x,), exited_arrive=1)
    assert x[0] == 2


def test_the_number_of_arguments() -> None:
    take = kernel("int* x, int n")
    x = np.zeros(1, np.int32)
    for _ in range(2):
        with pytest.raises(ArgumentTypeError, match="takes 2 arguments, and 1 was given: 'n' is m"):
            take(1, 1, (x,))
        with pytest.raises(ArgumentTypeError, match="takes 2 arguments, and 3 were given"):
            take(1, 1, (x, 1, 2))
        take(1, 1, (x, 1))
    with pytest.raises(ArgumentTypeError, match="takes 0 arguments, and 1 was given"):
        kernel("")(1, 1, (1,), backend="host")


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
