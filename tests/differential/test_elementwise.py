"""ElementwiseKernel against NumPy, on every backend; and the same cases compiled for CUDA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel
from kerneltk.codegen import elementwise
from kerneltk.core.artifacts import TranslationUnit

from ..joint_units import JointCases
from ..sampling import half, parameters, sample
from .cases import CASES
from .support import Case, c_order, check, grid, misaligned, pitched, place, values


def call_of(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the arguments of a case's call; None if it launches nothing."""
    arguments = case.make()
    kernel = case.kernel
    if len(arguments) not in (kernel.nin, kernel.nargs):
        arguments += tuple(
            case.options.get(parameter.name, parameter.default)
            for parameter in kernel.in_params[len(arguments) :]
        )
    if case.size == 0 or any(getattr(argument, "size", 1) == 0 for argument in arguments):
        return None  # a loop without elements
    return arguments, {"size": case.size, "block_size": case.options.get("block_size")}


def units_of(case: Case, backend: Any) -> dict[str, TranslationUnit]:
    call = call_of(case)
    if call is None:
        return {}
    arguments, how = call
    return {"call": case.kernel.translation_unit(*arguments, backend=backend, **how)}


SAMPLES = sample(CASES, 7)
JOINT = JointCases(SAMPLES, units_of)
# NVRTC reads the same templates in each: fewer will do.
BY_NVRTC = sample(CASES, 13)
JOINT_BY_NVRTC = JointCases(BY_NVRTC, units_of)


@pytest.mark.parametrize("case", parameters(SAMPLES))
def test_case(backend: Any, case: Case, once: Any) -> None:
    if backend.name == "host":
        JOINT.prepare(case, "call", "host", once)
    check(backend, case)


@pytest.mark.parametrize("case", parameters(BY_NVRTC))
def test_case_compiles_for_cuda(case: Case, once: Any) -> None:
    call = call_of(case)
    if call is None:
        return
    JOINT_BY_NVRTC.prepare(case, "call", "cuda", once)
    arguments, how = call
    code = case.kernel.compile(*arguments, target="sm_90", **how)
    assert code.kind == "cubin"
    assert code.entry.encode() in code.code


# -- results that bypass the caches on the host, with the limit for it taken away ------------------

OPERATIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "plain": ("y = x + x", lambda x, y: x + x),
    "twice assigned": ("y = x; y = y + x;", lambda x, y: x + x),
    "conditional": ("if (x > 0) y = x;", lambda x, y: np.where(x > 0, x, y)),
    "conditional later": ("y = x; if (x > 0) y = 1;", lambda x, y: np.where(x > 0, 1, x)),
    "by an operator": ("x > 0 ? (void)(y = x) : (void)0", lambda x, y: np.where(x > 0, x, y)),
    "after a break": ("if (x > 0) break; y = x", lambda x, y: np.where(x > 0, y, x)),
    "add to": ("y += x", lambda x, y: x + y),
    "reads itself": ("y = x + y", lambda x, y: x + y),
    "index": ("y = i % 7", lambda x, y: (np.arange(x.size) % 7).reshape(x.shape)),
}
SIZES = (1, 1000, 1023, 1024, 1025, 1040, 2048 + 37, 40_000)


@pytest.fixture
def stream_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementwise, "STREAM_BYTES", 0)


@pytest.mark.one_in(12)
@pytest.mark.usefixtures("stream_everything")
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("dtype", half(["f4", "f8", "i1"]))
def test_streamed_operations(backend: Any, operation: str, dtype: str) -> None:
    text, expected = OPERATIONS[operation]
    kernel = ElementwiseKernel("T x", "T y", text, "streamed")
    size = np.dtype(dtype).itemsize
    for n, start in grid(SIZES, (0, 1, 3, 8)):
        case = Case(operation, kernel,
            lambda n=n, k=start: (values(dtype, n), misaligned(values(dtype, n, 1), k * size % 16)),
            lambda x, y: np.asarray(expected(x, y)).astype(y.dtype))  # fmt: skip
        check(backend, case)


@pytest.mark.usefixtures("stream_everything")
def test_streamed_rows_and_overlaps(backend: Any) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x + x", "streamed")

    def shared(shift: int) -> tuple[Any, ...]:
        memory = place(values("f4", 50_000), [4])
        return memory[: len(memory) - shift], memory[shift:]

    for make in (
        lambda: (pitched(values("f4", (6, 3001))), pitched(values("f4", (6, 3001), 1))),
        lambda: (values("f4", 3001), c_order(values("f4", (6, 3001)))),
        lambda: shared(0), lambda: shared(1), lambda: shared(2000),
    ):  # fmt: skip
        check(backend, Case("", kernel, make, lambda x, y: np.broadcast_to(x + x, y.shape)))
