"""Kernels as functions of JAX: under jax.jit, jax.grad and jax.vmap.

Run with ``python examples/jax_op.py``. The kernels run on the CPU; where JAX is missing it says so.
"""

import numpy as np

import kerneltk
from kerneltk import ElementwiseKernel, jit

try:
    import jax
except (ImportError, DeprecationWarning) as error:  # the warning, where Python makes it an error
    jax, why_no_jax = None, str(error)

# The loss of Huber, and its derivative: the gradient of y is an input, that of x an output.
huber = ElementwiseKernel(
    "T x, T d", "T y", "y = fabs(x) < d ? x * x / 2 : d * (fabs(x) - d / 2)", "huber"
)
huber_backward = ElementwiseKernel(
    "T x, T d, T grad_y", "T grad_x", "grad_x = grad_y * (x < -d ? -d : x > d ? d : x)", "slope"
)


@jit.kernel
def smooth(x):
    """Average each element with its neighbours."""
    i = jit.index(1)
    return (x[max(i - 1, 0)] + x[i] + x[min(i + 1, x.size - 1)]) / 3


def run():
    """Differentiate and map kernels inside of a compiled function."""
    huber_op = kerneltk.jax_op(huber, backward=huber_backward)
    smooth_op = kerneltk.jax_op(smooth)

    @jax.jit
    def slope(w, x, y):
        return jax.grad(lambda w: huber_op(x @ w - y, 0.5).mean())(w)

    numbers = np.random.default_rng(0)
    x = numbers.standard_normal((1000, 8), np.float32)
    w, y = numbers.standard_normal(8, np.float32), numbers.standard_normal(1000, np.float32)
    expected = np.clip(x @ w - y, -0.5, 0.5) @ x / 1000
    with jax.default_matmul_precision("float32"):  # a GPU's own default has fewer bits
        found = slope(w, x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)

    rows = jax.jit(jax.vmap(smooth_op))(x)
    np.testing.assert_allclose(rows, [smooth(row) for row in x], rtol=1e-6)
    return "a kernel's gradient in a compiled function agrees with NumPy"


print(f"jax_op: {run() if jax is not None else f'JAX cannot be imported: {why_no_jax}'}")
