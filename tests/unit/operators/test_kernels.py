"""Kernels whose results follow from their arguments, without torch and JAX."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk import (
    ArgumentTypeError,
    ArgumentValueError,
    ArraySpec,
    AxisError,
    ElementwiseKernel,
    ReductionKernel,
    jit,
)
from kerneltk.operators.kernels import ElementOperator, ExpressionOperator, loop_shape, reduced_axes

from . import samples

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def spec_of(value: Any) -> Any:
    """An argument without its memory."""
    if isinstance(value, np.ndarray):
        return ArraySpec(value.dtype, value.shape, value.strides)
    return type(value)


CALLS = {
    "elementwise": (samples.AXPB, (X, 2, 1), {}),
    "broadcast": (samples.AXPB, (X, X[0], 1.5), {}),
    "Fortran": (samples.SQUARE, (np.asfortranarray(X),), {}),
    "no dimensions": (samples.AXPB, (np.full((), 2, "f"), 2, 1), {}),
    "no elements": (samples.SQUARE, (X[:0],), {}),
    "one axis": (samples.NORM2, (X,), {"axis": 1}),
    "kept": (samples.NORM2, (X,), {"axis": (0, 1), "keepdims": True}),
    "all axes": (samples.NORM2, (X,), {}),
    "function": (samples.axpb, (X, 2, 1), {}),
    "promoted": (samples.axpb, (X.astype(np.int32), 2, 1.5), {}),
    "index": (samples.smooth, (X[0],), {}),
    "several": (samples.sum_and_difference, (X, X[0]), {}),
}


def operator_of(kernel: Any) -> Any:
    return (
        ElementOperator(kernel)
        if isinstance(kernel, jit.ElementKernel)
        else ExpressionOperator(kernel)
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("case", CALLS)
def test_a_description_is_true_of_the_call(case: str) -> None:
    kernel, args, options = CALLS[case]
    operator = operator_of(kernel)
    described = operator.describe([spec_of(arg) for arg in args], options)
    results = operator.call(args, options)
    assert len(described.outputs) == len(results) == len(operator.outputs)
    for spec, result in zip(described.outputs, results, strict=True):
        assert (spec.dtype, spec.shape) == (result.dtype, result.shape)
        if result.size:
            assert spec.strides == result.strides


@pytest.mark.parametrize("case", CALLS)
def test_only_kernels_that_see_elements_alone_take_stacked_arguments(case: str) -> None:
    kernel, args, options = CALLS[case]
    described = operator_of(kernel).describe([spec_of(arg) for arg in args], options)
    assert described.is_batchable == (case != "index")
    assert described.written == set()


@pytest.mark.parametrize("kernel", [
    *(
        ElementwiseKernel("T x", "T y", operation)
        for operation in ("y = x + i", "y = x + n", "y = x + _ind.get()[0]", "y = *&x",
                          "y = atomicAdd(&y, x)")
    ),
    ElementwiseKernel("T x, raw T w", "T y", "y = x + w[0]"),
    ElementwiseKernel("T x", "T y", "y = x + J", preamble="#define J i"),
    ElementwiseKernel("T x", "T y", "y = x + c", loop_prep="T c = 1"),
    ReductionKernel("T x", "T y", "x + _i", "a + b", "y = a", "0"),
    ReductionKernel("T x", "T y", "x + _in_ind.get()[0]", "a + b", "y = a", "0"),
    ReductionKernel("T x", "T y", "_raw_x[0]", "a + b", "y = a", "0"),
    ReductionKernel("T x, raw T w", "T y", "x + w[0]", "a + b", "y = a", "0"),
])  # fmt: skip
def test_what_observes_more_than_elements(kernel: Any) -> None:
    spec = ArraySpec.make("float32", 4)
    assert not kernel.describe_call([spec] * kernel.nin).is_batchable


def test_what_a_function_writes_to() -> None:
    spec = ArraySpec.make("float32", 4)
    operator = ElementOperator(samples.store)
    assert operator.outputs == ()
    assert operator.describe([spec, spec], {}).written == {"y"}
    assert ExpressionOperator(samples.SCALE).describe([spec, float], {"size": 4}).written == {"x"}


def test_given_outputs() -> None:
    spec = ArraySpec.make("float32", 4)
    wide = ArraySpec.make("float64", 4)
    assert operator_of(samples.axpb).describe([spec, int, int, wide], {}).outputs == (wide,)
    out = np.zeros(3)
    (result,) = operator_of(samples.axpb).call([X[0], 2, 1, out], {})
    assert result is out
    assert out.tolist() == [1, 3, 5]


class Pair(NamedTuple):
    left: Any
    right: Any


@jit.kernel
def branches(x):
    if x > 0:
        return x, -x
    return -x, x


@jit.kernel
def hidden(x):
    pair = (x, -x)
    return pair


def test_results_are_counted_in_the_source() -> None:
    assert len(ElementOperator(branches).outputs) == 2
    assert len(ElementOperator(jit.kernel(lambda x: x)).outputs) == 1
    operator = ElementOperator(hidden)
    for run, value in ((operator.describe, spec_of(X)), (operator.call, X)):
        with pytest.raises(
            ArgumentValueError, match="returns 2 values, and its 'return' statements"
        ):
            run([value], {})


def test_a_default_that_is_no_number() -> None:
    @jit.kernel
    def shifted(x, y=None):
        return x

    with pytest.raises(ArgumentTypeError, match="The default of parameter 'y' is no number"):
        ElementOperator(shifted)


def test_errors_are_those_of_a_call() -> None:
    spec = ArraySpec.make("float32", 4)
    with pytest.raises(ArgumentValueError, match="cannot be broadcast together"):
        ExpressionOperator(samples.AXPB).describe([spec, ArraySpec.make("float32", 3), int], {})
    with pytest.raises(AxisError, match="Axis 1 is out of bounds"):
        ExpressionOperator(samples.NORM2).describe([spec], {"axis": 1})
    with pytest.raises(ArgumentTypeError, match="bound to both"):
        ExpressionOperator(samples.AXPB).describe([spec, ArraySpec.make("float64", 4), int], {})


def test_the_loop_of_a_call() -> None:
    inputs = ExpressionOperator(samples.AXPB).inputs
    assert loop_shape(inputs, [X, X[0], 2]) == loop_shape(inputs, [X[0], X, 2]) == (2, 3)
    raw = ReductionKernel("T x, raw T w", "T y", "x * w[0]", "a + b", "y = a", "0")
    assert loop_shape(ExpressionOperator(raw).inputs, [X[0], X]) == (3,)
    raw = ReductionKernel("raw T x", "T y", "x[_J]", "a + b", "y = a", "0")
    assert loop_shape(ExpressionOperator(raw).inputs, [X], 4) == (4,)
    assert reduced_axes(None, 2) == reduced_axes((-1, 0), 2) == (0, 1)
    assert reduced_axes((), 2) == ()


class Symbol:
    """An extent that is known by its name, as torch's symbolic integers are."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbol) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __mul__(self, factor: Any) -> Symbol:
        return Symbol(f"{self.name}*{factor}")

    __rmul__ = __mul__

    def __index__(self) -> int:
        raise AssertionError("it has no value")


def test_extents_need_no_value() -> None:
    n = Symbol("n")
    spec = ArraySpec(np.dtype("float32"), (n, 3), (12, 4))  # type: ignore[arg-type]
    (result,) = ExpressionOperator(samples.AXPB).describe([spec, spec, int], {}).outputs
    assert (result.shape, result.strides) == ((n, 3), (12, 4))
    (total,) = ExpressionOperator(samples.NORM2).describe([spec], {"axis": 1}).outputs
    assert total.shape == (n,)
    assert ElementOperator(samples.axpb).describe([spec, int, int], {}).outputs[0].shape == (n, 3)
