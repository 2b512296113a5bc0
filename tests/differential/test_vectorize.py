"""Vectorized functions give what `numpy.vectorize` gives: values, dtypes and shapes."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from tests.differential.vectorize_programs import CORES, NUMBERS, Program, I, M, ROW, X

_TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14, "complex64": 2e-6,
              "complex128": 1e-14}  # fmt: skip


def given(backend: Any, value: Any) -> Any:
    """An argument as it is for a backend: arrays with their strides; lists stay lists."""
    return backend.asarray(value) if isinstance(value, np.ndarray) else value


def same(backend: Any, found: Any, wanted: Any, where: str) -> None:
    """Compare a result with NumPy's."""
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple), where
        assert len(found) == len(wanted), where
        for one, other in zip(found, wanted, strict=True):
            same(backend, one, other, where)
        return
    is_array = isinstance(found, np.ndarray)
    plain = found if is_array else backend.asnumpy(found)
    assert plain.dtype == wanted.dtype, f"{where}: {plain.dtype}, not {wanted.dtype}"
    assert plain.shape == wanted.shape, f"{where}: {plain.shape}, not {wanted.shape}"
    tolerance = _TOLERANCE.get(wanted.dtype.name, 0)
    np.testing.assert_allclose(plain, wanted, tolerance, 4 * tolerance, err_msg=where)


def wanted_of(program: Program, args: Any, named: Any) -> Any:
    """NumPy's result. Of no elements it asks for `otypes`: those of one element."""
    options = dict(program.options)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
        if "otypes" not in options and any(array.size == 0 for array in arrays):
            ones = [
                np.ones(tuple(max(1, n) for n in arg.shape), arg.dtype)
                if isinstance(arg, np.ndarray)
                else arg
                for arg in args
            ]
            first = np.vectorize(program.function, **options)(*ones, **named)
            first = first if isinstance(first, tuple) else (first,)
            options["otypes"] = "".join(result.dtype.char for result in first)
        return np.vectorize(program.function, **options)(*args, **named)


@pytest.mark.parametrize("program", [*NUMBERS, *CORES], ids=lambda program: program.name)
def test_program(backend: Any, program: Program) -> None:
    vectorized = kerneltk.vectorize(program.function, **program.options)
    for args, named in program.calls:
        wanted = wanted_of(program, args, named)
        where = f"{program.name}{args}{named}"
        own = [given(backend, arg) for arg in args]
        words = {key: given(backend, value) for key, value in named.items()}
        for _ in range(2):  # by the slow path, and by a shortcut
            same(backend, vectorized(*own, **words), wanted, where)
