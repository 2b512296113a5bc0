"""The text of every message about kernels as operators that needs neither torch nor JAX."""

# ruff: noqa: F401
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kerneltk import ElementwiseKernel, KernelToolkitError, RawKernel, ReductionKernel
from kerneltk.operators.gradients import gradients_of
from kerneltk.operators.kernels import Operand, check_known, check_written, names_in
from kerneltk.operators.operator_of import backward_operator_of, operator_of
from kerneltk.operators.torch_calls import TorchCalls

from ..unit import fake_torch
from .tables import check_message, messages

SQUARE = ElementwiseKernel("T x", "T y", "y = x * x", "square")
TOTAL = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
RAW = RawKernel('extern "C" __global__ void f(const float* x, float* y, int n) {}', "f")


def launched(**options: Any) -> Any:
    return operator_of(RAW, **{"grid": 1, "block": 1, **options})


def calls(kernel: Any, mutates: Any = (), scalars: Any = ()) -> TorchCalls:
    return TorchCalls(fake_torch.module(), operator_of(kernel), mutates, scalars)


def matched(in_params: str, out_params: str) -> Any:
    backward: Any = operator_of(ElementwiseKernel(in_params, out_params, "", "slope"))
    forward: Any = operator_of(SQUARE)
    return gradients_of(forward.inputs, forward.outputs, [False], backward)


@pytest.mark.parametrize(("call", "kind", "message"), messages("operators"))
def test_messages(call: str, kind: str, message: str) -> None:
    check_message(lambda: eval(call), kind, message)
