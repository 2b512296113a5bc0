"""The operator of a kernel of any kind, and what does not go with which."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import kerneltk
from kerneltk import ArgumentTypeError, BackendUnavailableError
from kerneltk.operators.operator_of import backward_operator_of, operator_of

from . import samples


@pytest.mark.parametrize(
    "option", [{"grid": 1}, {"block": 1}, {"shared_mem": 8}, {"outputs": {}}], ids=str
)
@pytest.mark.parametrize("kernel", [samples.SQUARE, samples.NORM2, samples.axpb], ids=repr)
def test_options_of_a_grid(kernel: Any, option: dict[str, Any]) -> None:
    with pytest.raises(ArgumentTypeError, match=f"takes no '{next(iter(option))}'"):
        operator_of(kernel, **option)


@pytest.mark.parametrize("value", [lambda x: x, samples.SQUARE.__class__, None, "y = x"])
def test_what_is_no_kernel(value: Any) -> None:
    with pytest.raises(
        ArgumentTypeError, match="An operator is made of a kernel, not of an object"
    ):
        operator_of(value)


def test_gradients_of_launches() -> None:
    launched = operator_of(samples.SQUARES, 1, 1)
    pairs = ((launched, samples.SLOPE), (operator_of(samples.SQUARE), samples.SQUARES))
    for operator, kernel in pairs:
        with pytest.raises(ArgumentTypeError, match=r"launched on a grid.\n  Hint: do this"):
            backward_operator_of(operator, kernel, "do this")


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_library_that_cannot_be_imported(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    make = getattr(kerneltk, f"{library}_op")
    args = ("tests::square",) if library == "torch" else ()
    with pytest.raises(BackendUnavailableError, match=f"(?s){library}.*Hint: install '{library}'"):
        make(samples.SQUARE, *args)


def test_neither_library_is_imported_by_ours() -> None:
    code = (
        "import sys, kerneltk; kerneltk.torch_op, kerneltk.jax_op; "
        "print(sorted({'torch', 'jax'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
