"""ReductionKernel against NumPy, on every backend; and the same cases compiled for CUDA."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from kerneltk import ReductionKernel
from kerneltk.core.artifacts import TranslationUnit
from tests.sampling import one_row_in

from ..joint_units import JointCases
from ..sampling import parameters, sample
from .reduction_cases import (
    ARGMIN,
    BOOL,
    CASES,
    GRID,
    GRID_DTYPES,
    LEAST,
    SUM,
    ReductionCase,
    argmin,
    least,
    numbers,
    total,
)
from .support import (
    LAYOUTS,
    Array,
    Guarded,
    assert_close,
    c_order,
    place,
    values,
)


def guarded(value: Any) -> Any:
    """Return an array that has no memory but its own elements in one that is guarded."""
    return c_order(value) if isinstance(value, np.ndarray) and value.base is None else value


def unlike(array: Array) -> Array:
    """Return an array of the same dtype and shape whose elements are others."""
    if array.dtype == BOOL:
        return ~array
    return (~np.ascontiguousarray(array).view(np.uint8)).view(array.dtype).reshape(array.shape)


def outputs_for(wanted: tuple[Array, ...], layout: str) -> tuple[Array, ...]:
    return tuple(LAYOUTS[layout](unlike(array)) for array in wanted)


def wanted_of(case: ReductionCase, arguments: tuple[Any, ...], mask: Any) -> tuple[Array, ...]:
    copies = [np.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
    how = {} if mask is None else {"where": mask}
    wanted = case.expected(*copies, axis=case.axis, keepdims=case.keepdims, **how)
    return tuple(map(np.asarray, wanted if isinstance(wanted, tuple) else (wanted,)))


def keywords_of(case: ReductionCase, mask: Any) -> dict[str, Any]:
    how: dict[str, Any] = {**case.named}
    if case.axis is not None:
        how["axis"] = case.axis
    if case.keepdims:
        how["keepdims"] = True
    if mask is not None:
        how["where"] = mask
    return how


def check(backend: Any, case: ReductionCase, mode: str) -> None:
    """Run a case, compare the outputs, and see that nothing else was written."""
    kernel = case.kernel
    arguments = tuple(map(guarded, case.make()))
    mask = None if case.mask is None else guarded(case.mask())
    wanted = wanted_of(case, arguments, mask)
    inputs, outputs = arguments[: kernel.nin], arguments[kernel.nin :]
    if mode in LAYOUTS:
        assert not outputs
        outputs = outputs_for(wanted, mode)
    memory = Guarded(backend, [*inputs, *outputs, mask])
    call, given = memory.call[: len(inputs)], tuple(memory.call[len(inputs) : -1])
    how = {**keywords_of(case, memory.call[-1]), **memory.where}
    # Outputs are given in one of three ways.
    if mode == "f":
        how["out"] = given
    elif mode == "stepped" or (given and len(call) < kernel.nin):
        how["out"] = given if len(given) > 1 else given[0]
    else:
        call.extend(given)
    result = kernel(*call, **how)
    returned = result if kernel.nout > 1 else (result,)
    assert isinstance(returned, tuple)
    assert len(returned) == kernel.nout
    if given:
        assert all(found is output for found, output in zip(returned, given, strict=True))
    for found, want in zip(returned, wanted, strict=True):
        assert_close(backend.asnumpy(found), want, case.tolerance)
    memory.check(outputs)


def ways(case: ReductionCase) -> tuple[str, ...]:
    return ("given",) if len(case.make()) > case.kernel.nin else case.modes


def calls_of(case: ReductionCase) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Yield the ways of a case and what they call it with; none where nothing is reduced."""
    arguments = case.make()
    mask = None if case.mask is None else case.mask()
    if any(getattr(value, "size", 1) == 0 for value in (*arguments, mask)):
        return
    for way in ways(case):
        outputs: tuple[Array, ...] = ()
        if way in LAYOUTS and len(arguments) == case.kernel.nin:
            outputs = outputs_for(wanted_of(case, arguments, mask), way)
        yield way, (*arguments, *outputs), keywords_of(case, mask)


def units_of(case: ReductionCase, backend: Any) -> dict[str, TranslationUnit]:
    return {
        way: case.kernel.translation_unit(*arguments, backend=backend, **how)
        for way, arguments, how in calls_of(case)
    }


SAMPLES = sample(CASES, 13)
JOINT = JointCases(SAMPLES, units_of)
# NVRTC reads the same templates in each: fewer will do.
BY_NVRTC = sample(CASES, 27)
JOINT_BY_NVRTC = JointCases(BY_NVRTC, units_of)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("case", "mode"), parameters(SAMPLES, ways))
def test_case(backend: Any, case: ReductionCase, mode: str, once: Any) -> None:
    if backend.name == "host":
        JOINT.prepare(case, mode, "host", once)
    check(backend, case, mode)


def assert_compiled_for_cuda(kernel: ReductionKernel, *arguments: Any, **how: Any) -> None:
    code = kernel.compile(*arguments, target="sm_90", **how)
    assert code.kind == "cubin"
    assert code.entry.encode() in code.code


@pytest.mark.one_in(4)
@pytest.mark.parametrize("case", parameters(BY_NVRTC))
def test_case_compiles_for_cuda(case: ReductionCase, once: Any) -> None:
    for way, arguments, how in calls_of(case):
        JOINT_BY_NVRTC.prepare(case, way, "cuda", once)
        assert_compiled_for_cuda(case.kernel, *arguments, **how)


# -- lengths and counts -------------------------------------------------------------------------

Expected = Callable[..., Any]


def check_grid(backend: Any, kernel: ReductionKernel, dtype: Any, axis: int, expected: Expected,
               masked: bool = False) -> None:  # fmt: skip
    unit = np.dtype(dtype).itemsize
    for length, count in GRID:
        shape = (length, count) if axis == 0 else (count, length)
        # At an address that differs from case to case.
        x = place(numbers(dtype, shape), [shape[1] * unit, unit], (length + count) % 3 * unit)
        how: dict[str, Any] = {"axis": axis}
        wanted_how = dict(how, keepdims=False)
        if masked:
            mask = numbers(BOOL, x.shape, 1)
            wanted_how["where"] = mask
            how["where"] = backend.asarray(mask)
        found = kernel(backend.asarray(x), **how)
        wanted = expected(x, **wanted_how)
        for f, w in zip(
            found if isinstance(found, tuple) else (found,),
            wanted if isinstance(wanted, tuple) else (wanted,),
            strict=True,
        ):
            what = f"{length} elements an output, {count} outputs"
            np.testing.assert_array_equal(backend.asnumpy(f), w, what, strict=True)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize(("kernel", "expected", "dtype", "masked"), [
    *((SUM, total, dtype, False) for dtype in GRID_DTYPES),
    (LEAST, least, np.dtype("i4"), False), (ARGMIN, argmin, np.dtype("f4"), False),
    (SUM, total, np.dtype("f4"), True),
])  # fmt: skip
def test_every_length_and_count(
    backend: Any, kernel: Any, expected: Expected, dtype: Any, masked: bool, axis: int
) -> None:
    check_grid(backend, kernel, dtype, axis, expected, masked)


# -- what is not compared with NumPy ---------------------------------------------------------------


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((500_000,), None), ((700, 600), 0), ((700, 600), 1), ((7, 60_000), 1), ((60_000, 7), 0)],
    ids=str,
)
def test_same_bits_on_every_run(backend: Any, shape: tuple[int, ...], axis: int | None) -> None:
    x = backend.asarray(np.random.default_rng(1).standard_normal(shape).astype(np.float32))
    first = backend.asnumpy(SUM(x, axis=axis)).tobytes()
    for _ in range(10):
        assert backend.asnumpy(SUM(x, axis=axis)).tobytes() == first


def test_sum_of_many_is_accurate(backend: Any) -> None:
    # Partial totals: one running float32 total of these would be off by 1e-3.
    x = np.full(2_000_003, 0.1, np.float32)
    found = float(backend.asnumpy(SUM(backend.asarray(x))))
    assert found == pytest.approx(float(np.float32(0.1)) * x.size, rel=1e-5)


BEYOND = 2**31 + 5
SPREAD = ReductionKernel(
    "int8 x", "int64 y, int64 k, int64 j", "{x, _J, _j}",
    "{a.sum + b.sum, a.last > b.last ? a.last : b.last, a.place > b.place ? a.place : b.place}",
    "y = a.sum; k = a.last; j = a.place", "{0, 0, 0}", "spread",
    reduce_type="int64 sum, int64 last, int64 place",
)  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", [(BEYOND,), (BEYOND // 3 + 1, 3)], ids=str)
def test_more_than_2_31_elements(backend: Any, shape: tuple[int, ...]) -> None:
    x = np.broadcast_to(c_order(np.ones((1,) * len(shape), np.int8)), shape)
    (view,) = backend.asarrays(x)
    count, last, number = map(backend.asnumpy, SPREAD(view, axis=0))
    length, outputs = shape[0], x.size // shape[0]
    assert (count == length).all()
    assert (last == length - 1).all()
    assert (number == (length - 1) * outputs + np.arange(outputs)).all()


@pytest.mark.gpu
@pytest.mark.parametrize("part", [np.s_[::-1], np.s_[1:], np.s_[:0:-1], np.s_[::-2]], ids=str)
def test_vectors_of_more_than_2_31_elements(large_arrays: None, part: slice) -> None:
    import cupy

    x = cupy.ones(2**31 + 2**20 + 13, np.int8)
    x[-5] = 3
    count = ReductionKernel("int8 x", "int64 y", "x", "a + b", "y = a", "0")
    assert int(count(x[part])) == x[part].size + 2


@pytest.mark.parametrize("axis", [None, 0])
def test_more_than_2_31_elements_compiles_for_cuda(axis: int | None) -> None:
    x = np.broadcast_to(np.int8(1), (BEYOND, 3))
    assert SPREAD.compile(x, axis=axis, target="sm_90").code


def test_calls_from_several_threads(backend: Any) -> None:
    x = numbers("i8", (4, 300, 400))
    parts = [backend.asarray(part) for part in x]
    axes = (None, 0, 1)
    wanted = [[np.add.reduce(part, axis=axis) for axis in axes] for part in x]

    def work(number: int) -> bool:
        return all(
            np.array_equal(
                backend.asnumpy(SUM(parts[number], axis=axes[k % 3])), wanted[number][k % 3]
            )
            for k in range(60)
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_axis_in_other_words(backend: Any) -> None:
    x = values("i8", (3, 4))
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "fresh")
    (copy,) = backend.asarrays(x)
    for axis in (np.int64(1), (0, 1), 1, (1,), np.int8(0), None, (), (-1, 0)):
        found = backend.asnumpy(kernel(copy, axis=axis))
        np.testing.assert_array_equal(found, np.add.reduce(x, axis=axis), repr(axis))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("axis", [None, -1, 0])
def test_nothing_to_reduce_without_identity(
    backend: Any, shape: tuple[int, ...], axis: int | None
) -> None:
    x = np.zeros(shape, np.float32)
    try:
        wanted = np.minimum.reduce(x, axis=axis)
    except ValueError:
        with pytest.raises(ValueError, match="zero-size array to reduction operation least which"):
            LEAST(backend.asarray(x), axis=axis)
        return
    found = backend.asnumpy(LEAST(backend.asarray(x), axis=axis))
    np.testing.assert_array_equal(found, wanted, strict=True)


def _dense_fortran(array: Any) -> bool:
    return bool(array.flags.f_contiguous and not array.flags.c_contiguous)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("layouts", "fortran"), one_row_in(2,[
    (("c",), False), (("f",), True), (("stepped",), False), (("f", "f"), True),
    (("f", "c"), False), (("c", "f"), False), (("rotated",), False),
]), ids=str)  # fmt: skip
@pytest.mark.parametrize(("axis", "keepdims"), [(0, False), (1, False), (2, True), ((), False)])
def test_order_of_a_new_output(
    backend: Any, layouts: tuple[str, ...], fortran: bool, axis: Any, keepdims: bool
) -> None:
    kernel = SUM if len(layouts) == 1 else ReductionKernel(
        "T x, T w", "T y", "x * w", "a + b", "y = a", "0", "dot"
    )  # fmt: skip
    inputs = backend.asarrays(*(LAYOUTS[layout](values("f4", (4, 6, 5))) for layout in layouts))
    found = kernel(*inputs, axis=axis, keepdims=keepdims)
    assert _dense_fortran(found) == fortran
    assert found.flags.c_contiguous != fortran
