"""Schemas, and what an operator of torch refuses to be made of, with a stand-in for torch."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import ElementwiseKernel, KernelToolkitError, jit
from kerneltk.operators.operator_of import operator_of
from kerneltk.operators.torch_calls import TorchCalls

from .. import fake_torch
from . import samples

GRID: dict[str, Any] = {"grid": 1, "block": 1}
TORCH = fake_torch.module()


def calls_of(kernel: Any, mutates: Any = (), scalars: Any = (), **options: Any) -> TorchCalls:
    return TorchCalls(TORCH, operator_of(kernel, **options), mutates, scalars)


DECLARED = ElementwiseKernel(
    "float32 x, bool a, int32 b, uint64 c, float64 d, complex64 e, T f", "T y, T z", "y = z = f"
)
DEFAULTS = ElementwiseKernel("T x, float32 a = 0.5, int32 b = 2, T c = 3", "T y", "y = x")


@pytest.mark.parametrize(
    ("calls", "schema"),
    [
        (calls_of(samples.SQUARE), "(Tensor x) -> Tensor"),
        (calls_of(samples.SQUARE, ["y"]), "(Tensor x, Tensor(a1!) y) -> ()"),
        (calls_of(samples.AXPB, (), ["a"]), "(Tensor x, Scalar a, Scalar? b=None) -> Tensor"),
        (
            # A default before one that has none is no default.
            calls_of(samples.AXPB, ["y"], ["a"]),
            "(Tensor x, Scalar a, Scalar b, Tensor(a3!) y) -> ()",
        ),
        (
            calls_of(DECLARED, (), "abcde"),
            "(Tensor x, bool a, SymInt b, SymInt c, float d, Scalar e, Tensor f)"
            " -> (Tensor, Tensor)",
        ),
        (
            calls_of(DEFAULTS),
            "(Tensor x, float? a=None, SymInt b=2, Scalar? c=None) -> Tensor",
        ),
        (calls_of(samples.NORM2), "(Tensor x, int[1]? axis=None, bool keepdims=False) -> Tensor"),
        (calls_of(samples.SCALE, (), ["a"]), "(Tensor(a0!) x, Scalar a, SymInt? size=None) -> ()"),
        (calls_of(samples.axpb), "(Tensor x, Tensor a, Scalar? b=None) -> Tensor"),
        (calls_of(samples.sum_and_difference), "(Tensor x, Tensor y) -> (Tensor, Tensor)"),
        (
            calls_of(samples.sum_and_difference, ["out0", "out1"]),
            "(Tensor x, Tensor y, Tensor(a2!) out0, Tensor(a3!) out1) -> ()",
        ),
        (calls_of(samples.store, ["y"]), "(Tensor x, Tensor(a1!) y) -> ()"),
        (calls_of(samples.SQUARES, **GRID), "(Scalar n, Tensor x, Tensor(a2!) y) -> ()"),
        (
            calls_of(samples.SQUARES, outputs={"y": lambda x: x}, **GRID),
            "(Scalar n, Tensor x) -> Tensor",
        ),
        (
            calls_of(samples.add_one, ["y"], ["n"], **GRID),
            "(Tensor x, Tensor(a1!) y, Scalar n) -> ()",
        ),
    ],
    ids=lambda value: value.operator.name if isinstance(value, TorchCalls) else None,
)
def test_schemas(calls: TorchCalls, schema: str) -> None:
    assert calls.schema == schema


def test_what_torch_leaves_out_is_filled_in() -> None:
    calls = calls_of(DEFAULTS)
    assert calls.complete(["x"]) == (["x", 0.5, 2, 3], {})
    assert calls.complete(["x", None, 5]) == (["x", 0.5, 5, 3], {})
    assert calls.complete(["x", 0.0, 2, True])[0][1:] == [0.0, 2, True]
    calls = calls_of(samples.NORM2)
    assert calls.complete(["x"]) == (["x"], {"keepdims": False})
    assert calls.complete(["x", [1], True]) == (["x"], {"axis": (1,), "keepdims": True})
    assert calls.complete(["x", []]) == (["x"], {"axis": (), "keepdims": False})
    assert calls.listed({"keepdims": True}) == [None, True]


@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        (samples.SQUARE, {"mutates": ["z"]}, "'mutates_args' names 'z', which kernel 'square' has"),
        (
            samples.SQUARE,
            {"mutates": "x"},
            "'mutates_args' names 'x', which kernel 'square' does no",
        ),
        (samples.SQUARE, {"scalars": ["y"]}, "'scalars' names 'y', which kernel 'square' has not"),
        (samples.SQUARE, {"scalars": ["x"]}, "of kernel 'square' takes no tensor"),
        (samples.SCALE, {"scalars": ["x"]}, "'scalars' names 'x', which is an array"),
        (samples.smooth, {"scalars": ["x"]}, "'scalars' names 'x', which is an array"),
        (
            samples.axpb,
            {"scalars": ["a"], "mutates": ["a"]},
            "'scalars' names 'a', which is an arr",
        ),
        (samples.store, {}, "Kernel 'store' has no outputs, so its operator would do nothing"),
        (
            ElementwiseKernel("T x", "T y, T z", "y = z = x", "two"),
            {"mutates": ["y"]},
            "'mutates_args' names output 'y' and not 'z': the outputs of a kernel are given tog",
        ),
        (
            ElementwiseKernel("T x", "T y", "y = x", "silent", no_return=True),
            {},
            "Kernel 'silent' has 'no_return', so its operator would do nothing",
        ),
        (jit.kernel(lambda: 1), {}, "takes no tensor, which would tell on which device it runs"),
    ],
)
def test_kernels_that_make_no_operator(kernel: Any, options: Any, message: str) -> None:
    with pytest.raises(KernelToolkitError, match=message):
        calls_of(kernel, **options)


def test_dtypes_that_torch_has_not() -> None:
    kernel = ElementwiseKernel("float32 x", "uint16 y", "y = x")
    with pytest.raises(KernelToolkitError) as error:
        calls_of(kernel)
    assert str(error.value) == (
        "Parameter 'y' is declared 'uint16', and torch has no such dtype.\n"
        "  out_params: uint16 y\n"
        "              ^^^^^^^^"
    )
