"""``@cuda.jit``: its forms, its launches, and arguments that are turned into the signature's."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.errors import ArgumentTypeError, ArgumentValueError, SignatureError
from kerneltk.jit.frontends.rawkernel import DeviceFunction
from kerneltk.jit.numba.kernel import CudaKernel, jit


def store(x, a):
    x[0] = a


def test_the_decorators_forms() -> None:
    for made in (jit(store), jit()(store), jit("void(float32[:], int32)")(store)):
        assert type(made) is CudaKernel
        assert made.__name__ == "store"
    assert type(jit(["void(f4[:], i4)", "void(f8[:], i4)"])(store)) is CudaKernel
    assert type(jit(device=True)(store)) is DeviceFunction
    assert type(jit("void(f4[:], i4)", device=True)(store)) is DeviceFunction


def test_decorators_that_are_refused() -> None:
    with pytest.raises(SignatureError, match="'word' is no type"):
        jit("void(word)")(store)
    with pytest.raises(ArgumentTypeError, match="has 1 parameters, and the function has 2"):
        jit("void(int32)")(store)
    with pytest.raises(ArgumentTypeError, match="has no option 'any'"):
        jit(any=1)(store)
    with pytest.raises(ArgumentTypeError):
        jit(3)


def test_a_kernel_is_not_called_without_a_grid() -> None:
    with pytest.raises(ArgumentValueError, match="Kernel 'store' is called without a grid"):
        jit(store)(1, 2)


@pytest.mark.parametrize("configuration", [1, (1,), (1, 2, 0, 0, 0), None, "1"])
def test_configurations_that_are_refused(configuration: Any) -> None:
    with pytest.raises(ArgumentValueError, match=r"is launched as 'store\[griddim, blockdim\]"):
        jit(store)[configuration]


def test_shared_memory_is_the_fourth() -> None:
    with pytest.raises(ArgumentTypeError, match="which must be an int"):
        jit(store)[1, 2, 0, 1.5]


@pytest.mark.parametrize(("tasks", "threads"), [(-1, 0), (1.5, 0), (None, 0)])
def test_tasks_that_are_refused(tasks: Any, threads: Any) -> None:
    with pytest.raises(ArgumentValueError, match="cannot be launched for"):
        jit(store).forall(tasks, threads)


@pytest.mark.parametrize("threads", [-1, 1.5, "2"])
def test_threads_of_tasks_that_are_refused(threads: Any) -> None:
    with pytest.raises(ArgumentValueError, match="'tpb' of kernel 'store' must be"):
        jit(store).forall(10, threads)


def test_arguments_become_the_signatures() -> None:
    kernel = jit("void(float32[:], int8)")(store)
    x = np.zeros(1, np.float32)
    array, number = kernel.adapted((x, 300))
    assert array is x
    assert (type(number), number) == (np.int8, 44)
    assert jit(store).adapted((1, 2)) == (1, 2)
    several = jit(["void(float32[:], int8)", "void(float64[:], int8)"])(store)
    assert several.adapted((1, 2)) == (1, 2)


def test_arguments_that_do_not_fit_the_signature() -> None:
    kernel = jit("void(float32[:], int8)")(store)
    with pytest.raises(ArgumentTypeError) as caught:
        kernel.adapted((np.zeros((2, 2)), 1))
    text = str(caught.value)
    assert (
        "is 'float32[:]' in the signature, and an array of dtype 'float64' with 2 dimensions"
        in text
    )
    with pytest.raises(ArgumentTypeError, match="is 'int8' in the signature, and an object"):
        kernel.adapted((np.zeros(2, np.float32), "1"))
