"""Kernels as operators of torch: in compiled functions, with gradients, and in batches.

Run with ``python examples/torch_op.py``, or with tensors on a GPU
``python examples/torch_op.py cupy``. Where torch is missing it says so.
"""

import sys

import kerneltk
from kerneltk import ElementwiseKernel, ReductionKernel

on_gpu = len(sys.argv) > 1 and sys.argv[1] == "cupy"
try:
    import torch
except (ImportError, DeprecationWarning) as error:  # the warning, where Python makes it an error
    torch, why_no_torch = None, str(error)

# Swish with a slope, and its derivative: the gradient of y is an input, that of x an output.
swish = ElementwiseKernel("T x, T b = 1", "T y", "y = x / (1 + exp(-b * x))", "swish")
swish_backward = ElementwiseKernel(
    "T x, T b, T y, T grad_y",
    "T grad_x",
    "const T s = 1 / (1 + exp(-b * x)); grad_x = grad_y * (s + b * y * (1 - s))",
    "swish_backward",
)
norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
norm_backward = ElementwiseKernel(
    "T x, T y, T grad_y", "T grad_x", "grad_x = x / y * grad_y", "norm_backward"
)


def run(device):
    """Compute gradients through both kernels in one compiled function, without a graph break."""
    swish_op = kerneltk.torch_op(swish, "examples::swish", backward=swish_backward)
    norm_op = kerneltk.torch_op(norm, "examples::norm", backward=norm_backward)

    def loss(x, w):
        return norm_op(swish_op(x @ w, 1.5), axis=1).mean()

    def plain(x, w):
        y = x @ w
        return (y * torch.sigmoid(1.5 * y)).norm(dim=1).mean()

    # Without "backend" torch's own compiler makes code of the rest, for which it needs g++.
    compiled = torch.compile(loss, fullgraph=True, dynamic=True, backend="aot_eager")
    w = torch.randn(64, 32, device=device, requires_grad=True)
    for rows in (100, 1000):
        x = torch.randn(rows, 64, device=device)
        (found,) = torch.autograd.grad(compiled(x, w), w)
        (expected,) = torch.autograd.grad(plain(x, w), w)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)

    batch = torch.randn(8, 5, 3, device=device)
    mapped = torch.func.vmap(lambda x: norm_op(x, axis=0))(batch)
    torch.testing.assert_close(mapped, batch.norm(dim=1))
    return f"gradients through two kernels in a compiled function agree with torch's on {device}"


if torch is None:
    print(f"torch_op: torch cannot be imported: {why_no_torch}")
elif on_gpu and not torch.cuda.is_available():
    print("torch_op: this torch has no GPU")
else:
    print(f"torch_op: {run('cuda' if on_gpu else 'cpu')}")
