"""Making operators of torch, where it is installed."""

from __future__ import annotations

from typing import Any

import pytest

import kerneltk
from kerneltk import ArgumentTypeError, ArgumentValueError, BackendUnavailableError

from . import samples


def test_the_operator_is_one_of_torch(torch: Any) -> None:
    op = kerneltk.torch_op(samples.AXPB, name="kerneltk_tests::axpb", scalars=("a",))
    assert isinstance(op, torch.library.CustomOpDef)
    x = torch.arange(3.0)
    assert torch.ops.kerneltk_tests.axpb(x, 2).tolist() == [1, 3, 5]
    assert op(x=x, a=2, b=0).tolist() == [0, 2, 4]


def test_a_name_can_be_given_anew(torch: Any) -> None:
    x, y = torch.arange(3.0), torch.zeros(3)
    kerneltk.torch_op(samples.SQUARE, "kerneltk_tests::again", mutates_args="y")(x, y)
    op = kerneltk.torch_op(samples.SQUARE, "kerneltk_tests::again", backward=samples.SLOPE)
    assert op(x).tolist() == y.tolist() == [0, 1, 4]
    x.requires_grad_()
    op(x).sum().backward()
    assert x.grad.tolist() == [0, 2, 4]
    op = kerneltk.torch_op(samples.SQUARE, "kerneltk_tests::again", mutates_args="y")
    with pytest.raises(ArgumentValueError, match="requires a gradient"):
        op(x, y)


def test_exported_programs_call_it(register: Any, torch: Any) -> None:
    class Module(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.op = register(samples.SQUARE)

        def forward(self, x: Any) -> Any:
            return self.op(x) + 1

    sizes = {"x": {0: torch.export.Dim("n")}}
    program = torch.export.export(Module(), (torch.ones(3, 4),), dynamic_shapes=sizes)
    assert program.module()(torch.full((5, 4), 2.0)).tolist() == [[5.0] * 4] * 5


def test_exported_programs_broadcast_along_dynamic_dimensions(register: Any, torch: Any) -> None:
    op = register(samples.axpb)

    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, a: Any) -> Any:
            return op(x, a)

    x, a = torch.ones(3, 4), torch.arange(4.0)
    sizes = {"x": {0: torch.export.Dim("n")}, "a": None}
    program = torch.export.export(Module(), (x, a), dynamic_shapes=sizes)
    for n in (1, 3, 4, 7):  # four rows are as many as a row has elements
        rows = torch.full((n, 4), 2.0)
        assert torch.equal(program.module()(rows, a), op(rows, a))


@pytest.mark.parametrize("name", ["square", "a.b::c", "::c", "a::", "a::b::c", "a::1", 3, None])
def test_names(name: Any, torch: Any) -> None:
    with pytest.raises(ArgumentValueError, match="An operator's name is 'namespace::name', not"):
        kerneltk.torch_op(samples.SQUARE, name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scalars": 3}, "'scalars' must hold names of parameters, not 3"),
        ({"mutates_args": [3]}, "'mutates_args' must hold names of parameters, not 3"),
        ({"backward": "slope"}, "'backward' must be a kernel or a function, not 'slope'"),
        ({"setup_context": print}, "'setup_context' goes with a function as 'backward'"),
        ({"backward": samples.SLOPE, "setup_context": print}, "'setup_context' goes with a func"),
        ({"backward": samples.SLOPE, "mutates_args": "y"}, "computes no gradients of operators"),
        ({"backward": samples.SQUARES}, "one of the two is launched on a grid"),
    ],
)
def test_options_that_do_not_fit(options: Any, message: str, register: Any) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=message):
        register(samples.SQUARE, **options)


def test_an_old_torch(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.library, "register_vmap")
    with pytest.raises(BackendUnavailableError, match=r"install torch 2\.5 or newer"):
        kerneltk.torch_op(samples.SQUARE, "kerneltk_tests::old")
