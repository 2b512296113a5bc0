"""What a program of the table is, and how its arguments are made."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from kerneltk.backends.base import capabilities_of
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.jit.compile import PassContext
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.launch.marshalling import type_of

Array = npt.NDArray[Any]
Dim = int | tuple[int, ...]
Rng = np.random.Generator

N = 32  # threads, unless a program says otherwise: two blocks of half a warp
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
EXACT = ("--fmad=false",)  # products and sums are rounded one by one, as in Python
UNWRITTEN = 77  # what an output holds where a program writes nothing


@dataclass(frozen=True)
class Program:
    """A kernel of restricted Python, and one launch of it.

    `arguments` makes arrays, numbers, and tuples of them. `tolerance` is relative to what the
    function gives in plain Python; 0 stands for equal bits. `outputs` are the positions of the
    arguments whose arrays are compared, or None for all.
    """

    name: str
    function: Callable[..., None]
    arguments: Callable[[Rng], tuple[Any, ...]]
    grid: Dim = 2
    block: Dim = N // 2
    shared: int = 0
    mode: Literal["numpy", "cuda"] = "numpy"
    tolerance: float = 0.0
    outputs: tuple[int, ...] | None = None
    options: tuple[str, ...] = EXACT

    def make(self) -> tuple[Any, ...]:
        """Return new arguments, the same at every call."""
        return self.arguments(np.random.default_rng(zlib.crc32(self.name.encode())))


def unit_of(program: Program, backend: str) -> TranslationUnit:
    """Return the text for a backend, with the types that the program's own arguments have."""
    definition = Definition(program.function, program.mode, program.options)
    call = inspect.signature(program.function).bind(*program.make())
    call.apply_defaults()
    kinds = [type_of(argument, np.ndarray) for argument in call.arguments.values()]
    capabilities = capabilities_of(backend)
    return definition.unit(definition.program(kinds, PassContext(capabilities)), capabilities)


class Table(list[Program]):
    """Programs in the order of their definition."""

    def program(self, *arguments: Any, name: str = "", **options: Any) -> Callable[[Any], Any]:
        """Add a function, unchanged, as a program that is named after it.

        An argument that is a function is called with a random generator. Arrays are copied.
        """

        def add(function: Callable[..., None]) -> Callable[..., None]:
            def make(rng: Rng) -> tuple[Any, ...]:
                return tuple(made(argument, rng) for argument in arguments)

            self.append(Program(name or function.__name__, function, make, **options))
            return function

        return add


def made(argument: Any, rng: Rng) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.copy()
    if callable(argument):
        return argument(rng)
    return argument


def rebuilt(value: Any, change: Callable[[Array], Any]) -> Any:
    """Return an argument with its arrays changed, those inside tuples and dataclasses too."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, tuple):
        items = [rebuilt(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: rebuilt(getattr(value, f.name), change) for f in fields(value)}
        return replace(value, **parts)
    return value


def arrays_of(value: Any) -> Iterator[Array]:
    """Yield the arrays of an argument."""
    found: list[Array] = []
    rebuilt(value, found.append)
    yield from found


# -- arguments ------------------------------------------------------------------------------------


def ints(
    shape: Any = N, low: int = -9, high: int = 10, dtype: Any = np.int32
) -> Callable[[Rng], Array]:
    """Random whole numbers in [low, high)."""
    wide = np.uint64 if high > 2**63 else np.int64
    return lambda rng: rng.integers(low, high, shape, dtype=wide).astype(dtype)


def floats(
    shape: Any = N, low: float = -4, high: float = 4, dtype: Any = np.float32
) -> Callable[[Rng], Array]:
    return lambda rng: rng.uniform(low, high, shape).astype(dtype)


def complexes(shape: Any = N, dtype: Any = np.complex64) -> Callable[[Rng], Array]:
    """Random complex numbers whose parts are small whole numbers, so that products are exact."""

    def make(rng: Rng) -> Array:
        parts = rng.integers(-9, 10, (2, *np.broadcast_shapes(shape)))
        return (parts[0] + 1j * parts[1]).astype(dtype)

    return make


def bools(shape: Any = N) -> Callable[[Rng], Array]:
    return lambda rng: rng.integers(0, 2, shape).astype(np.bool_)


def out(shape: Any = N, dtype: Any = np.float32) -> Callable[[Rng], Array]:
    """An output before the launch."""
    return lambda _: np.full(shape, UNWRITTEN, dtype)


def zeros(shape: Any = N, dtype: Any = np.float32) -> Callable[[Rng], Array]:
    return lambda _: np.zeros(shape, dtype)


def view(make: Callable[[Rng], Array], index: Any) -> Callable[[Rng], Array]:
    """A part of an array."""
    return lambda rng: make(rng)[index]


def assert_same(found: Array, wanted: Array, tolerance: float, message: str) -> None:
    """Compare arrays of one dtype; a zero's sign counts, a NaN's does not."""
    assert found.shape == wanted.shape, message
    assert found.dtype == wanted.dtype, message
    if found.dtype.names is not None:
        for name in found.dtype.names:
            assert_same(found[name], wanted[name], tolerance, f"{message}, {name}")
        return
    if found.dtype in (BFLOAT16, np.float16):
        found, wanted = found.astype(np.float32), wanted.astype(np.float32)
    if found.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, wanted, message)
    elif tolerance:
        np.testing.assert_allclose(found, wanted, tolerance, tolerance / 100, err_msg=message)
    else:
        np.testing.assert_array_equal(found, wanted, message)
        parts = [(found.real, wanted.real), (found.imag, wanted.imag)]
        for its, other in parts if found.dtype.kind == "c" else parts[:1]:
            number = ~np.isnan(its)
            np.testing.assert_array_equal(
                np.signbit(its)[number], np.signbit(other)[number], f"{message}, signs"
            )
