"""What launches of raw kernels do with arguments that do not fit, chosen for a whole program."""

from __future__ import annotations

import numpy as np
import pytest

import kerneltk
from kerneltk.core.settings import get_settings
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

SOURCE = """
__global__ void f(const float* x, int stride, float* y) {
    y[threadIdx.x] = x[stride * (int)threadIdx.x];
}
"""
X = np.arange(8, dtype=np.float32)
EVEN = [0, 2, 4, 6]


def test_error_warn_and_off() -> None:
    kernel = kerneltk.RawKernel(SOURCE, "f")
    strict = kerneltk.RawKernel(SOURCE, "f", checks=True)
    gaps, y = X[::2], np.zeros(4, np.float32)
    for _ in range(2):
        with pytest.raises(ArgumentValueError, match="has gaps"):
            kernel(1, 4, (gaps, 1, y))
        with kerneltk.raw_checks("warn"):
            for _ in range(2):
                with pytest.warns(RuntimeWarning, match="has gaps") as told:
                    kernel(1, 4, (gaps, 1, y))
                assert told[0].filename == __file__
        with kerneltk.raw_checks("off"):
            kernel(1, 4, (gaps, 1, y))
            with pytest.raises(ArgumentValueError):
                strict(1, 4, (gaps, 1, y))
            with kerneltk.raw_checks("error"), pytest.raises(ArgumentValueError):
                kernel(1, 4, (gaps, 1, y))
    with pytest.raises(ArgumentValueError, match="'raw_checks' takes"), kerneltk.raw_checks("no"):  # type: ignore[arg-type]
        pass


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELTK_RAW_CHECKS", "off")
    get_settings.cache_clear()
    try:
        kerneltk.RawKernel(SOURCE, "f")(1, 4, (X.view(np.int32), 1, np.zeros(4, np.float32)))
        monkeypatch.setenv("KERNELTK_RAW_CHECKS", "never")
        get_settings.cache_clear()
        with pytest.raises(ValueError, match="must be 'error', 'warn' or 'off'"):
            get_settings()
    finally:
        monkeypatch.undo()
        get_settings.cache_clear()


def test_strides_among_the_arguments() -> None:
    kernel = kerneltk.RawKernel(SOURCE, "f")
    y = np.zeros(4, np.float32)
    for stride in (2, np.int32(2)):
        kernel(1, 4, (X[::2], stride, y))
        assert y.tolist() == EVEN
    table = np.arange(32, dtype=np.float32).reshape(4, 8)
    kernel(1, 4, (table[:, 0], 8, y))
    assert y.tolist() == [0, 8, 16, 24]
    kernel(1, 4, (table[:, :3], 8, y))
    with pytest.raises(ArgumentValueError, match="has gaps"):
        kernel(1, 4, (table[:, ::3], 8, y))


@pytest.mark.parametrize(
    ("name", "is_stride"),
    [("stride", True), ("x_stride", True), ("strideX", True), ("rowPitch", True), ("step", True),
     ("ld", True), ("ldx", True), ("LDX", True), ("ld_x", True), ("incx", True), ("lead", True),
     ("leading_dim", True), ("n", False), ("steps", False), ("timestep", False), ("fold", False),
     ("include", False), ("leader", False), ("ldw", False), ("w_stride", False)],
)  # fmt: skip
def test_a_number_is_a_stride_by_its_name(name: str, is_stride: bool) -> None:
    source = (
        "__global__ void f(const float* x, const float* w, int NAME, float* y) { *y = *x + *w; }"
    )
    kernel = kerneltk.RawKernel(source.replace("NAME", name), "f")
    table, y = np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros(1, np.float32)
    kernel(1, 1, (X, X, 4, y))
    for number in (4, 16):
        args = table[:, 1], X, number, y
        if is_stride:
            kernel(1, 1, args)
            assert y == [1]
        else:
            with pytest.raises(ArgumentValueError, match="has gaps"):
                kernel(1, 1, args)


def test_strides_in_a_struct() -> None:
    source = """struct View { const float* p; int n, stride; };
    __global__ void f(const float* x, View v, float* y) { *y = x[v.stride]; }"""
    kernel = kerneltk.RawKernel(source, "f")
    dtype = np.dtype([("p", "u8"), ("n", "i4"), ("stride", "i4")])
    y = np.zeros(1, np.float32)
    kernel(1, 1, (X[::2], np.array((0, 4, 2), dtype)[()], y))
    assert y == [2]
    with pytest.raises(ArgumentValueError, match="has gaps"):
        kernel(1, 1, (X[::2], np.array((0, 2, 4), dtype)[()], y))


def test_pointers_that_are_not_read() -> None:
    source = "__global__ void f(const float* unused, float* y) { y[0] = 2; }"
    kernel = kerneltk.RawKernel(source, "f")
    y = np.zeros(1, np.float32)
    for given in (X.astype(np.float64)[::2], np.array([None]), 12345, None):
        kernel(1, 1, (given, y))
    with pytest.raises(ArgumentTypeError):
        kernel(1, 1, (X, y.astype(np.float64)))
