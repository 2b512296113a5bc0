"""Results that bypass the caches on the host, with the limit for it taken away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel
from kerneltk.codegen import elementwise

from ..sampling import half
from .support import Case, c_order, check, misaligned, pitched, place, values

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


@pytest.fixture(autouse=True)
def stream_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elementwise, "STREAM_BYTES", 0)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("dtype", half(["f4", "f8", "i1"]))
def test_operations(backend: Any, operation: str, dtype: str) -> None:
    text, expected = OPERATIONS[operation]
    kernel = ElementwiseKernel("T x", "T y", text, "streamed")
    for size in SIZES:
        for start in (0, 1, 3, 8):
            check(
                backend,
                Case(
                    operation,
                    kernel,
                    lambda n=size, k=start: (
                        values(dtype, n),
                        misaligned(values(dtype, n, 1), k * np.dtype(dtype).itemsize % 16),
                    ),
                    lambda x, y: np.asarray(expected(x, y)).astype(y.dtype),
                ),
            )


def test_rows_in_place_and_overlaps(backend: Any) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x + x", "streamed")

    def shared(shift: int) -> Any:
        def make() -> tuple[Any, ...]:
            memory = place(values("f4", 50_000), [4])
            return memory[: len(memory) - shift], memory[shift:]

        return make

    for name, make in {
        "rows": lambda: (pitched(values("f4", (6, 3001))), pitched(values("f4", (6, 3001), 1))),
        "broadcast": lambda: (values("f4", 3001), c_order(values("f4", (6, 3001)))),
        "itself": shared(0),
        "shifted": shared(1),
        "shifted far": shared(2000),
    }.items():
        check(backend, Case(name, kernel, make, lambda x, y: np.broadcast_to(x + x, y.shape)))
