"""Cases of raw kernels: a launch of a kernel of tests/kernels, and what NumPy makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import kerneltk

Array = npt.NDArray[Any]
Dim = int | tuple[int, ...]

KERNELS = Path(__file__).parents[1] / "kernels"
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
UNWRITTEN = 77  # what an output holds where the kernel writes nothing


@dataclass(frozen=True)
class RawCase:
    """One launch, or several in turn.

    `make` returns the arguments. `expected` gets copies of them and returns what arrays must hold
    afterwards, by position; every other array must be as it was. Elements of an array whose
    position is in `unordered` may come in any order. A tolerance has its reason in `why`; without
    one, results are equal to the last bit.
    """

    name: str
    file: str
    kernel: str
    grid: Dim
    block: Dim
    make: Callable[[], tuple[Any, ...]]
    expected: Callable[..., Mapping[int, Any]]
    shared_mem: int = 0
    rtol: float = 0.0
    atol: float = 0.0
    why: str = ""
    unordered: tuple[int, ...] = ()
    cooperative: bool = False
    variables: Mapping[str, Any] = field(default_factory=dict)
    variables_after: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Mapping[int, Any], ...] = ({},)

    def __post_init__(self) -> None:
        if bool(self.rtol or self.atol) != bool(self.why):
            raise ValueError(f"{self.name}: a tolerance needs a reason, and a reason a tolerance")


@cache
def library(file: str, names: tuple[str, ...] | None = None) -> Any:
    """Return the kernels of a file that includes CUDA's libraries, compiled once."""
    return kerneltk.load(KERNELS / "libraries" / f"{file}.cu", name_expressions=names)


def launch(backend: Any, module: Any, kernel: str, grid: Dim, block: Dim, *arguments: Any) -> None:
    """Launch a kernel with copies of the arrays, and bring their contents back."""
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    copies = iter(backend.asarrays(*arrays))
    call = [next(copies) if isinstance(a, np.ndarray) else a for a in arguments]
    module.get_function(kernel)(grid, block, tuple(call))
    for argument, copy in zip(arguments, call, strict=True):
        if isinstance(argument, np.ndarray):
            argument[...] = backend.asnumpy(copy)


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def ints(shape: Any, low: int, high: int, dtype: Any = np.int32, seed: int = 1) -> Array:
    """Return whole numbers in [low, high) of any numeric dtype."""
    wide = np.uint64 if high > 2**63 else np.int64
    return rng(seed).integers(low, high, shape, dtype=wide).astype(dtype)


def floats(shape: Any, low: float, high: float, dtype: Any = np.float32, seed: int = 1) -> Array:
    return rng(seed).uniform(low, high, shape).astype(dtype)


def blank(shape: Any, dtype: Any) -> Array:
    """Return an output before the launch."""
    return np.full(shape, UNWRITTEN, dtype)


def text(value: str) -> Array:
    """Return the characters of an ASCII text as C's char."""
    return np.frombuffer(value.encode("ascii"), np.int8).copy()


def filled(start: Array, values: Any) -> Array:
    """Return a copy of the output `start` whose first elements are `values`, flattened."""
    result = start.copy()
    flat = result.reshape(-1)
    new = np.asarray(values).reshape(-1)
    flat[: new.size] = new
    return result


def assert_matches(found: Array, wanted: Any, case: RawCase, position: int) -> None:
    wanted = np.asarray(wanted)
    if wanted.dtype != found.dtype:
        exact = wanted.astype(found.dtype)
        assert case.rtol or case.atol or np.array_equal(exact, wanted, equal_nan=True), (
            f"the reference of argument {position} does not fit {found.dtype}"
        )
        wanted = exact
    assert found.shape == wanted.shape
    if position in case.unordered:
        found, wanted = np.sort(found, axis=None), np.sort(wanted, axis=None)
    message = f"argument {position} of {case.kernel}"
    if found.dtype.names is not None:
        for name in found.dtype.names:
            np.testing.assert_array_equal(found[name], wanted[name], f"{message}, {name}")
        return
    if found.dtype == BFLOAT16 or found.dtype == np.float16:
        found, wanted = found.astype(np.float32), wanted.astype(np.float32)
    if case.why and found.dtype.kind in "fc":
        np.testing.assert_allclose(found, wanted, case.rtol, case.atol, err_msg=message)
    else:
        np.testing.assert_array_equal(found, wanted, message)
