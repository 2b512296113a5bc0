"""Each cell of the tables of docs/interop.md, on the host; the page says the same as the rows."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneltk import (
    ArgumentTypeError,
    ArgumentValueError,
    ElementwiseKernel,
    KernelToolkitError,
    RawKernel,
    ReductionKernel,
    fuse,
    jit,
)
from kerneltk.jit import cuda

from ..unit.front_ends import (
    each_front_end,
    element_kernel,
    elementwise,
    reduction,
    size_of_output,
)
from .interop_cases import (
    C_TYPES,
    CASES,
    KINDS,
    NUMBERS,
    STREAMS,
    VALUES,
    Case,
    Kind,
    Number,
    imported,
    results,
)

DOCS = Path(__file__).parents[2] / "docs"
HOST = [kind for kind in KINDS if kind.make is not None]


# -- the pages -------------------------------------------------------------------------------------


def table(page: str, head: str) -> list[list[str]]:
    """The rows of the table whose head begins so."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"^\| {re.escape(head)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.M)
    assert found is not None, head
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in found[1].splitlines()]


def test_the_page_says_what_these_tests_run() -> None:
    assert table("interop.md", "arrays of") == [kind.cells for kind in KINDS]
    assert table("interop.md", "arrays that are") == [case.cells for case in CASES]
    assert [row[0] for row in table("interop.md", "numbers")] == [row.numbers for row in NUMBERS]
    assert [row[0] for row in table("streams.md", "stream")][: len(STREAMS)] == list(STREAMS)


# -- whose arrays ----------------------------------------------------------------------------------


each_kind = pytest.mark.parametrize("kind", HOST, ids=lambda kind: kind.arrays)


def numbers_of(array: Any) -> list[Any]:
    """The elements of any library's array."""
    if hasattr(array, "detach"):
        array = array.detach().resolve_conj().resolve_neg().cpu()
        array = array.float() if array.dtype.itemsize < 4 else array
    found: list[Any] = np.asarray(getattr(array, "array", array)).reshape(-1).tolist()
    return found


def wanted(launch: Any, x: Any, y: Any) -> list[Any]:
    """What a launch writes for NumPy's arrays."""
    y = y.copy()
    launch(x, y)
    assert y.any() or not x.size
    return numbers_of(y)


@pytest.mark.one_in(4)
@each_front_end
@each_kind
def test_inputs_and_outputs(kind: Kind, make: Any) -> None:
    assert kind.make is not None
    launch, zeros = make(), np.zeros(size_of_output(make), np.float32)
    x = kind.make(VALUES.copy())
    y, want = zeros.copy(), wanted(launch, VALUES, zeros)
    for _ in range(2):  # before and after the launcher is made
        launch(x, y)
        assert numbers_of(y) == want
        y[...] = 0
    y = kind.make(zeros.copy())
    if kind.output:
        with pytest.raises(ArgumentValueError, match=kind.output):
            launch(x, y)
        assert numbers_of(y) == numbers_of(zeros)
    else:
        launch(x, y)
        assert numbers_of(y) == want


RESULTS = results()


@pytest.mark.parametrize("name", ["elementwise", "reduction", "elements"])
@each_kind
def test_results_are_of_the_callers_kind(kind: Kind, name: str) -> None:
    assert kind.make is not None
    x = kind.make(VALUES.copy())
    y = RESULTS[name](x)
    owner = kind.result.partition("'")[0]
    assert type(y).__module__.partition(".")[0] in {
        "NumPy": ("numpy",), "torch": ("torch",), "JAX": ("jaxlib", "jax"),
    }[owner]  # fmt: skip
    assert numbers_of(y) == ([10] if name == "reduction" else [2, 4, 6, 8])
    # Memory of its own, which nothing else writes to.
    again = RESULTS[name](x)
    assert numbers_of(again) == numbers_of(y)
    assert not np.shares_memory(np.asarray(again), np.asarray(y))


# -- arrays that differ from plain ones ------------------------------------------------------------


@cache
def raw_for(dtype: str) -> Any:
    kind = C_TYPES.get(dtype, "float")
    head = "#include <cuda_bf16.h>\n" if "bfloat16" in kind else ""
    kernel = RawKernel(
        f'{head}extern "C" __global__ void copied(const {kind}* x, {kind}* y, int n)'
        " { if (n) y[0] = x[0]; }",
        "copied",
    )
    return lambda x, y, n: kernel(1, 1, (x, y, n))


@jit.rawkernel()
def copied(x, y, n):  # type: ignore[no-untyped-def]
    if n > 0:
        y[0] = x[0]


@jit.rawkernel()
def copied_number(x, y, n):  # type: ignore[no-untyped-def]
    y[0] = x[()]


@jit.rawkernel()
def stored_number(x, y, n):  # type: ignore[no-untyped-def]
    y[()] = x[0]


@cuda.jit
def copied_by_numba(x, y, n):  # type: ignore[no-untyped-def]
    if n > 0:
        y[0] = x[0]


@cache
def made(make: Any) -> Any:
    return make()


def in_expression(make: Any) -> Any:
    return lambda x, y, n: made(make)(x, y)


def columns(case: Case) -> list[tuple[str, Any, bool]]:
    """For each kernel that a row runs: the error, the launch, and whether it takes all elements."""
    plain = VALUES if case.plain is None else case.plain
    whole: tuple[Any, ...] = (elementwise, element_kernel)
    found = [(case.expressions, in_expression(make), True) for make in whole]
    if plain.ndim:
        found.append((case.expressions, in_expression(reduction), False))
        found.append((case.python, lambda x, y, n: copied_by_numba[1, 1](x, y, n), False))
    python = copied if plain.ndim else copied_number
    found.append((case.python, lambda x, y, n: python(1, 1, (x, y, n)), False))
    found.append((case.raw, raw_for(plain.dtype.name), False))
    return found


each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.arrays)


@pytest.mark.one_in(4)
@each_case
def test_inputs_that_differ(case: Case) -> None:
    plain = VALUES if case.plain is None else case.plain
    for make, (error, launch, is_whole) in product((case.make, *case.also), columns(case)):
        x = make()
        y = np.zeros(plain.shape if is_whole else 1, np.float32 if error else plain.dtype)
        if error:
            with pytest.raises(KernelToolkitError, match=error) as caught:
                launch(x, y, plain.size)
            # The argument is named, and no other library's exception comes out.
            assert isinstance(caught.value, ArgumentTypeError | ArgumentValueError)
            assert re.search(r"'x'|: T x\n", str(caught.value)), str(caught.value)
            assert not y.any()
        else:
            want = np.zeros_like(y)
            launch(plain, want, plain.size)
            launch(x, y, plain.size)
            assert numbers_of(y) == numbers_of(want)
            assert want.astype(bool).any() or not plain.size


def as_tensor(array: Any) -> Any:
    torch = imported("torch")
    if array.dtype.isbuiltin == 1:
        return torch.from_numpy(array.copy())
    return torch.from_numpy(array.astype(np.float32)).to(getattr(torch, array.dtype.name))


# Those that torch makes on a GPU as it does in host memory.
ON_GPU = (
    "requires a gradient", "conjugated lazily", "negated lazily", "`bfloat16`", "`float8`",
    "expanded", "without elements", "without dimensions", "sparse", "on `meta`",
    "storage was freed",
)  # fmt: skip


OF_TORCH = [case for case in CASES if case.arrays.startswith("torch: ")]


@pytest.mark.parametrize(("case", "device"), [
    *(pytest.param(case, "cpu", id=case.arrays) for case in OF_TORCH),
    *(pytest.param(case, "cuda", id=f"{case.arrays} on a GPU", marks=pytest.mark.gpu)
      for case in OF_TORCH if case.arrays.removeprefix("torch: ") in ON_GPU),
])  # fmt: skip
def test_tensors_among_tensors(case: Case, device: str) -> None:
    """Compiled launchers read tensors themselves, where all arrays are tensors."""
    torch = imported("torch")
    plain = VALUES if case.plain is None else case.plain
    for error, launch, is_whole in columns(case):
        dtype = np.float32 if error else plain.dtype
        want = np.zeros(plain.shape if is_whole else 1, dtype)
        y, usual = (as_tensor(array).to(device) for array in (want, plain.astype(dtype)))
        for _ in range(2):  # a launcher is made, and takes the next call
            launch(usual, y, plain.size)
        launch(plain.astype(dtype), want, plain.size)
        assert numbers_of(y) == numbers_of(want)
        for _ in range(2):
            y.zero_()
            with torch.device(device):
                x = case.make()
            if error:
                with pytest.raises((ArgumentTypeError, ArgumentValueError), match=error):
                    launch(x, y, plain.size)
                assert not any(numbers_of(y))
            else:
                launch(x, y, plain.size)
                assert numbers_of(y) == numbers_of(want)
        if case.output and is_whole:
            with pytest.raises((ArgumentTypeError, ArgumentValueError), match=case.output):
                launch(usual, x, plain.size)


@pytest.mark.exhaustive
@each_case
def test_outputs_that_differ(case: Case) -> None:
    plain = VALUES if case.plain is None else case.plain
    one = plain.reshape(-1)[:1] if plain.size else np.ones(1, plain.dtype)
    python = copied if plain.ndim else stored_number
    launches = [
        (case.expressions, in_expression(elementwise), plain),
        (case.expressions, in_expression(element_kernel), plain),
        (case.python, lambda x, y, n: python(1, 1, (x, y, n)), one),
        (case.raw, raw_for(plain.dtype.name), one),
    ]
    for make, (refused, launch, x) in product((case.make, *case.also), launches):
        error, y = case.output or refused, make()
        if error:
            with pytest.raises((ArgumentTypeError, ArgumentValueError), match=error) as caught:
                launch(VALUES if refused else x, y, plain.size)
            assert re.search(r"'(y|out)'|: T y\n", str(caught.value)), str(caught.value)
        else:
            want = np.array(plain)
            launch(x, want, plain.size)
            launch(x, y, plain.size)
            assert numbers_of(y) == numbers_of(want)


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", NUMBERS, ids=lambda row: row.numbers)
def test_numbers(row: Number) -> None:
    shifted = ElementwiseKernel("T x, T a", "T y", "y = x + a", "shifted")
    summed = ReductionKernel("T x, T a", "T y", "x + a", "a + b", "y = a", "0", "summed")
    for call, want in ((shifted, [4, 5, 6, 7]), (summed, [22])):
        result = call(VALUES, row.value)
        assert result.dtype == np.float32
        assert numbers_of(result) == want
    with pytest.raises(ArgumentTypeError, match="'y'"):
        shifted(VALUES, row.value, row.value)
    y = np.zeros(1, np.float32)
    RawKernel('extern "C" __global__ void f(float* y, float a) { y[0] = a; }', "f")(
        1, 1, (y, row.value)
    )
    assert y[0] == 3


# -- JAX's FFI -------------------------------------------------------------------------------------


@each_front_end
def test_buffers_of_jaxs_ffi(make: Any) -> None:
    jax = pytest.importorskip("jax")
    ffi = pytest.importorskip("jax.experimental.buffer_callback")
    launch = make()
    want = wanted(launch, VALUES, np.zeros(size_of_output(make), np.float32))
    said: list[str] = []

    def callback(context: Any, y: Any, x: Any) -> None:
        try:
            launch(y, x)
        except ArgumentValueError as error:
            said.append(str(error))
        launch(x, y)

    shape = jax.ShapeDtypeStruct((size_of_output(make),), np.float32)
    with jax.default_device(jax.devices("cpu")[0]):
        y = jax.jit(ffi.buffer_callback(callback, shape))(VALUES)
        assert numbers_of(y) == want
    assert len(said) == 1
    assert "is written, but it is an input of JAX's" in said[0]


@pytest.mark.parametrize("location", ["cpu", "gpu"])
def test_views_that_jax_does_not_take_are_copied(location: str) -> None:
    jax = pytest.importorskip("jax")
    if location == "gpu" and jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    device = jax.devices(location)[0]

    def views(x: Any) -> Any:
        return x[1:], x[::-1], x[::2], x + 1

    fused = fuse(views)
    for _ in range(3):
        for found, wanted in zip(fused(jax.device_put(VALUES, device)), views(VALUES), strict=True):
            assert found.devices() == {device}
            np.testing.assert_array_equal(np.asarray(found), wanted)


def test_results_that_jax_would_round_are_refused() -> None:
    jax = pytest.importorskip("jax")
    if jax.config.jax_enable_x64:
        pytest.skip("JAX has numbers of 64 bits here")
    wide = ElementwiseKernel("T x", "int64 y", "y = (long long)x << 40", "wide")
    x = jax.device_put(VALUES, jax.devices("cpu")[0])
    with pytest.raises(ArgumentTypeError, match=r"dtype 'int64'(.|\n)*'jax_enable_x64'"):
        wide(x)
    y = np.zeros(4, np.int64)
    wide(x, y)
    assert y[3] == 4 << 40
