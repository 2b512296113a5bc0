"""The objects that ``@rawkernel`` and ``@kernel`` make, apart from what they compute."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import ArgumentTypeError, NotCompiledError
from kerneltk.jit import cuda


@jit.rawkernel()
def scale(x, y, a=3):
    """Multiply.

    And store.
    """
    i = jit.grid(1)
    if i < y.size:
        y[i] = a * x[i]


@jit.rawkernel(device=True)
def half(x):
    return x / 2


@jit.kernel
def axpb(x, a=2, b=1):
    """Return a line."""
    return a * x + b


@jit.kernel
def halves(x):
    return half(x)


@cuda.jit
def increased(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit("void(float32[:])")
def increased_floats(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def plain(x):
    return x + 1


from_plain = jit.kernel(plain, mode="cuda", fastmath=True)
raw_from_plain = jit.rawkernel(launch_bounds=64, options=("--fmad=false",))(plain)


class Holder:
    @jit.kernel
    def twice(x):  # noqa: N805
        return x * 2

    @jit.rawkernel()
    def store(x):  # noqa: N805
        x[jit.grid(1)] = 7


def floats(count: int = 8) -> np.ndarray[Any, Any]:
    return np.arange(count, dtype=np.float32)


def test_they_look_like_their_functions() -> None:
    assert (repr(scale), repr(axpb)) == ("<JitKernel scale>", "<ElementKernel axpb>")
    assert repr(half) == "<DeviceFunction half>"
    assert repr(increased) == "<CudaKernel increased>"
    for kernel, name in ((scale, "scale"), (axpb, "axpb"), (half, "half")):
        assert kernel.__name__ == name
        assert kernel.__qualname__ == name
        assert kernel.__module__ == __name__
    assert scale.__doc__ is not None
    assert scale.__doc__.startswith("Multiply.")
    assert axpb.__doc__ == "Return a line."
    assert scale.__wrapped__.__name__ == "scale"
    assert axpb.jit_function is axpb.__wrapped__


@pytest.mark.parametrize("raw", [3, iter(["x"])])
def test_raw_parameters_are_a_sequence(raw: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="'raw' must be a sequence of str, not"):
        jit.kernel(raw=raw)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "launch",
    [
        lambda x, y: scale[1, 8](x, y),
        lambda x, y: scale[(1,), (8,)](x, y),
        lambda x, y: scale[(1, 1, 1), (8, 1, 1)](x, y),
        lambda x, y: scale[1, 8, 0](x, y),
        lambda x, y: scale[1, 8, 256, None](x, y),
        lambda x, y: scale[1, 8, None, 256](x, y),
        lambda x, y: scale[np.int64(1), np.int32(8)](x, y),
        lambda x, y: scale[[1], [8]](x, y),
        lambda x, y: scale(1, 8, (x, y)),
        lambda x, y: scale((1,), (8,), [x, y]),
        lambda x, y: scale(1, 8, (x, y, 3), shared_mem=16),
        lambda x, y: scale(1, 8, args=(x, y), stream=None),
        lambda x, y: scale[1, 8](x, y=y, a=3),
        lambda x, y: scale[1, 8](y=y, x=x),
    ],
)
def test_forms_of_a_launch(launch: Any) -> None:
    x, y = floats(), np.zeros(8, np.float32)
    launch(x, y)
    np.testing.assert_array_equal(y, 3 * x)


@pytest.mark.parametrize(
    ("made", "call"),
    [
        (lambda: jit.rawkernel(scale.__wrapped__), lambda kernel, x: kernel[1, 8](floats(), x)),
        (lambda: jit.kernel(axpb.__wrapped__), lambda kernel, x: kernel(x)),
    ],
    ids=["rawkernel", "kernel"],
)
def test_cached_codes(made: Any, call: Any) -> None:
    kernel = made()
    assert kernel.cached_codes == {}
    with pytest.raises(NotCompiledError, match="is compiled for 0 combinations"):
        _ = kernel.cached_code
    call(kernel, floats())
    assert f"{kernel.__name__}(" in kernel.cached_code
    assert list(kernel.cached_codes.values()) == [kernel.cached_code]
    call(kernel, floats().astype(np.float64))
    with pytest.raises(NotCompiledError, match="is compiled for 2 combinations"):
        _ = kernel.cached_code
    assert len(kernel.cached_codes) == 2


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ([np.zeros(4), np.zeros(9), np.zeros(0), np.zeros((3, 4))[1]], 1),
        ([np.zeros(4), np.zeros(4, np.float32), np.zeros(4, np.int8)], 3),
        ([np.zeros(4), np.zeros((4, 4)), np.zeros((4, 4, 4))], 3),
        ([np.zeros((4, 4)), np.zeros((4, 4)).T, np.zeros((8, 8))[::2, ::2]], 2),
        ([np.zeros((8, 8))[::2], np.zeros((8, 8))[:, 1:], np.zeros((8, 8))[::-1]], 1),
    ],
)
def test_what_compiles_anew(arguments: list[np.ndarray[Any, Any]], count: int) -> None:
    @jit.rawkernel()
    def kernel(x):
        if jit.grid(1) < x.shape[0]:
            pass

    for argument in arguments:
        kernel[1, 8](argument)
    assert len(kernel.cached_codes) == count


@pytest.mark.parametrize(
    "kernel",
    [scale, axpb, half, halves, increased, increased_floats, Holder.twice, Holder.store],
    ids=repr,
)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_kernels_with_a_name_are_pickled_by_it(kernel: Any, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(kernel, protocol)) is kernel
    assert copy.copy(kernel) is kernel
    assert copy.deepcopy({"a": kernel})["a"] is kernel


def test_kernels_of_other_names_are_pickled_with_their_function() -> None:
    for kernel in (from_plain, raw_from_plain):
        found = pickle.loads(pickle.dumps(kernel))
        assert found is not kernel
        assert type(found) is type(kernel)
        assert found._definition == kernel._definition
        assert found.__wrapped__ is plain
    x = floats()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(from_plain))(x), x + 1)


def test_a_grid_beyond_32_bits_has_a_launcher_of_its_own() -> None:
    """Its plans are its own, and the next call is not for it."""

    @jit.rawkernel
    def fill(x):
        x[jit.grid(1)] = 1

    x = np.zeros(4)
    fill[1, 4](x)
    made = fill._dispatcher
    last = made.recent
    call = made._described(None, (x,), 2**22, 1024)
    run = made._planned(call, made._specialized(call))
    made._keep(call, run)
    assert run is not last
    assert made.recent is last
    one, other = (bound.plans for bound in made._launchers.values())
    assert (len(one), len(other), one is other) == (1, 1, False)
    assert [is_32bit for *_, is_32bit in fill.cached_codes] == [True, False]
