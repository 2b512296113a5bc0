"""The text of every message about a call's arguments."""

# ruff: noqa: F401
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kerneltk import (
    ArgumentTypeError,
    ArgumentValueError,
    ElementwiseKernel,
    KernelToolkitError,
    ReductionKernel,
    ScalarOverflowError,
    vectorize,
)
from kerneltk.backends.base import capabilities_of

from .tables import check_message, messages

X = np.arange(4, dtype=np.float32)
Y = np.zeros(4, np.float32)
READ_ONLY = np.arange(4, dtype=np.float32)
READ_ONLY.flags.writeable = False
RAW = ElementwiseKernel("raw T x", "T y", "y = x[i]", "r")
COORDINATES = ElementwiseKernel("T x", "T z", "z = _ind.shape()[0] + /* 1 */ _ind.get()[1]", "c")
SMALL = ElementwiseKernel("int8 a, T x", "T y", "y = a", "s")
ON_ITSELF = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (4,), (0,))
K = ElementwiseKernel("T x, T w, float32 a", "T y", "y = x", "k")


def _first(x: Any) -> Any:
    return x[0]


def _both(x: Any) -> Any:
    return x[0], x[1]


class OnOtherDevice:
    def __dlpack__(self) -> None: ...

    def __dlpack_device__(self) -> tuple[int, int]:
        return 7, 0


def overlapping() -> Any:
    return np.zeros(3, np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 2]}))


def kernel(in_params: str, out_params: str) -> ElementwiseKernel:
    written = ", ".join(part.split()[-1] for part in out_params.split(","))
    return ElementwiseKernel(in_params, out_params, f"static_cast<void>(({written}))", "k")


MESSAGES = messages("arguments")


@pytest.mark.parametrize(
    ("call", "error", "message"), MESSAGES, ids=[call for call, *_ in MESSAGES]
)
def test_message(call: str, error: str, message: str) -> None:
    check_message(lambda: eval(call), error, message)


@pytest.mark.parametrize("first", ["host memory", "a GPU"])
def test_arrays_of_two_backends(monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    """Simulated: a kind of array stands for one on a GPU."""
    from kerneltk.backends import foreign_arrays

    class OnGpu(np.ndarray):
        pass

    class Gpu:
        name = "cuda"
        capabilities = capabilities_of("cuda")

    gpu, own = Gpu(), foreign_arrays.backend_of
    monkeypatch.setattr(
        foreign_arrays, "backend_of", lambda value: gpu if type(value) is OnGpu else own(value)
    )
    places = ["host memory", "a GPU"] if first == "host memory" else ["a GPU", "host memory"]
    kinds = [OnGpu if place == "a GPU" else np.ndarray for place in places]
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    calls: list[tuple[Callable[[], object], str, str]] = [
        (
            lambda: K(X.view(kinds[0]), X.view(kinds[1]), 1), "w",
            "  in_params: T x, T w, float32 a\n                  ^^^\n",
        ),
        (lambda: total(X.view(kinds[0]), where=(X > 1).view(kinds[1])), "where", ""),
    ]  # fmt: skip
    for call, other, shown in calls:
        with pytest.raises(ArgumentTypeError) as caught:
            call()
        assert str(caught.value) == (
            f"'x' is in {places[0]}, but '{other}' is in {places[1]}.\n"
            f"{shown}  Hint: move one of them: 'cupy.asarray(x)' or 'cupy.asnumpy(x)'."
        )


def test_a_gpu_array_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from kerneltk import BackendUnavailableError
    from kerneltk.backends import base

    class Exporter:
        __cuda_array_interface__ = None

    monkeypatch.delitem(base._loaded, "cuda", raising=False)
    monkeypatch.setitem(sys.modules, "kerneltk.backends.cuda.backend", None)
    with pytest.raises(BackendUnavailableError) as caught:
        K(X, Exporter(), 1)
    lines = str(caught.value).split("\n")
    assert lines[0].startswith("Arrays on a GPU need CuPy and the CUDA bindings: ")
    assert lines[1] == "  Hint: install 'kerneltk[cuda12]' or 'kerneltk[cuda13]'."


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", ["sm90", "90", "sm_", "sm_20", ""])
def test_unknown_architectures(target: str) -> None:
    with pytest.raises(ValueError, match=r"architecture such as 'sm_90'|the oldest is"):
        K.compile(X, X, 1, target=target)
