"""Batches and gradients of operators of torch, where it is installed."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import ArgumentValueError, ElementwiseKernel, ReductionKernel, UnsupportedError

from . import samples

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def x(torch: Any) -> Any:
    return torch.arange(1, 25, dtype=torch.float64).reshape(2, 3, 4).requires_grad_()


# -- gradients -------------------------------------------------------------------------------------


def test_gradients_of_an_elementwise_kernel(register: Any, torch: Any, x: Any) -> None:
    assert torch.autograd.gradcheck(register(samples.SQUARE, backward=samples.SLOPE), (x,))
    op = register(samples.AXPB, backward=samples.AXPB_SLOPES)
    row = torch.arange(4, dtype=torch.float64, requires_grad=True)
    column = torch.ones(3, 1, dtype=torch.float64, requires_grad=True)
    for a in (row, column, row.detach()):
        assert torch.autograd.gradcheck(op, (x, a))
        torch.library.opcheck(op, (x, a, 2))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 1, -1, (0, 2), ()])
def test_gradients_of_a_reduction(
    axis: Any, keepdims: bool, register: Any, torch: Any, x: Any
) -> None:
    axis = axis if axis is None or isinstance(axis, tuple) else (axis,)
    for kernel, backward in (
        (samples.NORM, samples.NORM_SLOPE),
        (samples.TOTAL, samples.TOTAL_SLOPE),
    ):
        op = register(kernel, backward=backward)
        assert torch.autograd.gradcheck(lambda x, op=op: op(x, axis, keepdims), (x,))


def test_whole_arrays_do_not_decide_the_shape(register: Any, torch: Any, x: Any) -> None:
    slope = ElementwiseKernel("raw T w, T grad_y", "T grad_x", "grad_x = w[0] * grad_y")
    kernel = ReductionKernel("T x, raw T w", "T y", "x * w[0]", "a + b", "y = a", "0")
    op = register(kernel, backward=slope)
    w = torch.full((2, 2, 2, 2), 3, dtype=torch.float64)
    for axis in (None, [1]):
        assert torch.autograd.gradcheck(lambda x, axis=axis: op(x, w, axis), (x,))
    kernel = ReductionKernel("raw T x", "T y", "x[_J] * x[_J]", "a + b", "y = a", "0")
    slope = ElementwiseKernel("raw T x, T grad_y", "T grad_x", "grad_x = 2 * x[i] * grad_y")
    op = register(kernel, backward=slope)
    row = x[0, 0].detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: op(x, None, False, 4), (row,))


def test_a_number_that_the_backward_kernel_takes(register: Any, torch: Any, x: Any) -> None:
    kernel = ElementwiseKernel("T x, T p = 3", "T y", "y = pow(x, p)")
    slope = ElementwiseKernel(
        "T x, T p, T grad_y", "T grad_x", "grad_x = p * pow(x, p - 1) * grad_y"
    )
    op = register(kernel, backward=slope)
    assert torch.autograd.gradcheck(op, (x,))
    assert torch.autograd.gradcheck(lambda x: op(x, 2.5), (x,))


def test_results_without_a_gradient(register: Any, torch: Any) -> None:
    kernel = ElementwiseKernel("T x", "T y, int32 k, T z", "y = x * x; k = 1; z = x")
    backward = ElementwiseKernel(
        "T x, T grad_y, int32 grad_k, T grad_z",
        "T grad_x",
        "grad_x = 2 * x * grad_y + grad_z + grad_k",
    )
    x = torch.ones(3, requires_grad=True)
    y, k, _ = register(kernel, backward=backward)(x)
    assert not k.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_function_computes_gradients(register: Any, torch: Any, x: Any) -> None:
    def save(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * grad

    op = register(samples.SQUARE, backward=backward, setup_context=save)
    assert torch.autograd.gradcheck(op, (x,))
    assert torch.autograd.gradgradcheck(op, (x,))


def test_without_a_backward_kernel(register: Any, torch: Any, x: Any) -> None:
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        register(samples.SQUARE)(x).sum().backward()
    second = register(samples.SQUARE, backward=samples.SLOPE)
    (grad,) = torch.autograd.grad(second(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        grad.sum().backward()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_gradients(backend: str, register: Any, torch: Any) -> None:
    norm = register(samples.NORM, backward=samples.NORM_SLOPE)
    axpb = register(samples.AXPB, backward=samples.AXPB_SLOPES)

    def loss(x: Any, a: Any) -> Any:
        return norm(axpb(x, a), 1).sum()

    torch._dynamo.reset()
    compiled = torch.compile(loss, fullgraph=True, dynamic=True, backend=backend)
    for n in (3, 5, 6):
        args = torch.rand(n, 4, requires_grad=True), torch.rand(4, requires_grad=True)
        with torch._dynamo.config.patch(error_on_recompile=n > 3):
            found = torch.autograd.grad(compiled(*args), args)
        torch.testing.assert_close(found, torch.autograd.grad(loss(*args), args))


def test_what_is_written_has_no_gradient(register: Any, torch: Any) -> None:
    op = register(samples.SQUARE, mutates_args="y")
    x, y = torch.ones(3, requires_grad=True), torch.zeros(3)
    for args in ((x, y), (y, x)):
        with pytest.raises(ArgumentValueError, match="one of them requires a gradient"):
            op(*args)
    assert y.tolist() == [0, 0, 0]
    with torch.no_grad():
        op(x, y)
    assert y.tolist() == [1, 1, 1]
    weight = torch.ones(3)
    loss = (weight * x).sum()
    op(torch.ones(3), weight)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


# -- batches ---------------------------------------------------------------------------------------


def test_batches(register: Any, torch: Any, x: Any) -> None:
    vmap, x = torch.func.vmap, x.detach()
    square, axpb = register(samples.SQUARE), register(samples.AXPB)
    torch.testing.assert_close(vmap(square, in_dims=-1, out_dims=-1)(x), x * x)
    torch.testing.assert_close(vmap(vmap(square, in_dims=1))(x), (x * x).movedim(2, 1))
    numbers = torch.arange(2, dtype=torch.float64)
    torch.testing.assert_close(vmap(axpb)(x, numbers), numbers[:, None, None] * x + 1)
    torch.testing.assert_close(
        vmap(axpb, in_dims=(None, 0))(x[0], numbers), numbers[:, None, None] * x[0] + 1
    )
    torch.testing.assert_close(vmap(lambda x: axpb(x, x[0], 2.5))(x), x[:, :1] * x + 2.5)
    pair = vmap(register(samples.sum_and_difference))(x, x)
    torch.testing.assert_close(pair, (2 * x, 0 * x))
    assert vmap(square)(x[:0]).shape == (0, 3, 4)


def test_batches_of_reductions(register: Any, torch: Any, x: Any) -> None:
    vmap, x = torch.func.vmap, x.detach()
    op = register(samples.NORM2)
    torch.testing.assert_close(vmap(op)(x), (x * x).sum((1, 2)))
    torch.testing.assert_close(vmap(lambda x: op(x, -1))(x), (x * x).sum(2))
    torch.testing.assert_close(
        vmap(lambda x: op(x, 0, True), in_dims=2)(x), (x * x).sum(0, True).movedim(2, 0)
    )


def test_kernels_that_take_no_batches(register: Any, torch: Any) -> None:
    x = torch.ones(2, 3)
    grid: dict[str, Any] = {"grid": 1, "block": 8, "outputs": {"y": lambda x: x.new_empty(3)}}
    calls: dict[str, tuple[Any, Any, Any]] = {
        "observes the indices": (register(samples.smooth), (x,), 0),
        "grid of its own": (register(samples.add_one, scalars="n", **grid), (x, 3), (0, None)),
        "writes to its arguments": (register(samples.SQUARE, mutates_args="y"), (x, x.clone()), 0),
    }
    for why, (op, args, dims) in calls.items():
        with pytest.raises(UnsupportedError, match=f"(?s){why}.*Hint: give the operator's"):
            torch.func.vmap(op, in_dims=dims)(*args)
