"""What kernels from expressions say of a launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArraySpec, ElementwiseKernel, RawModule, ReductionKernel, jit
from kerneltk.launch.explanation import moved_bytes

make = ArraySpec.make
SUM = ElementwiseKernel("T x, T w", "T y", "y = x + w", "add")
TURN = ElementwiseKernel("T x", "T y", "y = x", "turn")


@pytest.mark.parametrize(
    ("spec", "moved"),
    [
        (make("f4", (8, 16)), 512),
        (make("f4", (8, 16), strides=(64, -4)), 512),
        (make("f4", (8, 16), strides=(0, 4)), 64),
        (make("f4", (8, 16), strides=(128, 8)), 1024),  # the gaps' sectors come along
        (make("i1", 100, strides=(64,)), 3200),
        (make("c16", 100, strides=(64,)), 3200),
        (make("f4", ()), 4),
        (make("f4", (3, 0)), 0),
        (make("f8", (100, 5), strides=(80, 8)), 6400),  # two sectors each, of two and a half
        (make("f8", (100, 5), strides=(48, 8)), 4800),
    ],
)
def test_moved_bytes(spec: ArraySpec, moved: int) -> None:
    assert moved_bytes(spec) == moved


def test_of_a_loop_on_a_gpu() -> None:
    x = make("f4", (1024, 1024))
    shown = SUM.explain(x, make("f4", 1024))
    assert shown.moved == (x.size * 4, 4096, x.size * 4)
    assert (shown.name, shown.grid, shown.block) == ("add", 1024, 256)
    assert shown.strategy == "vector, 4 a thread, x flat, w row, y flat"
    assert shown.registers is not None
    assert 8 <= shown.registers <= 64
    blocks = min(8, 2**16 // (8 * 256 * -(-shown.registers * 32 // 256)))
    assert (shown.shared, shown.resident) == (0, blocks * 256)
    assert shown.occupancy == blocks / 8
    lines = str(shown).split("\n")
    assert lines[0] == ("add: 8,392,704 bytes must move; vector, 4 a thread, x flat, w row, y flat")
    assert lines[1] == (
        f"  1,024 blocks of 256 threads; {shown.registers} registers a thread, 0 bytes of shared "
        f"memory a block: {blocks * 256} resident threads of a multiprocessor, {blocks / 8:.0%}"
    )


def test_shared_memory_leaves_fewer_threads_resident() -> None:
    turned = make("c16", (512, 512), order="F")
    shown = TURN.explain(turned, make("c16", (512, 512)), target="sm_75")
    assert shown.shared == 32 * 33 * 16
    assert shown.resident == 64 * 1024 // (shown.shared + 1024) * 256
    assert shown.occupancy == shown.resident / 1024


def test_a_multiprocessor_has_so_many_blocks() -> None:
    shown = TURN.explain(make("f4", 1 << 20), target="sm_89", block_size=32)
    assert (shown.resident, shown.occupancy) == (24 * 32, 0.5)


def test_blocks_that_share_an_output_count_each() -> None:
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    shown = total.explain(make("f4", 1 << 24))
    assert shown.grid > 100
    assert "\n  1 block of " in str(total.explain(make("f4", 100)))


def test_of_ptx() -> None:
    shown = SUM.explain(make("f4", 1024), make("f4", 1024), target="compute_90")
    assert (shown.grid, shown.registers, shown.occupancy) == (1, None, None)


def test_strategies() -> None:
    short = make("f4", (7, 5000), strides=(4, 28))
    assert TURN.explain(short, make("f4", (7, 5000))).strategy.startswith("box of 7 x 256, 7 a")
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    shown = total.explain(make("f4", (64, 1024)), axis=1)
    assert (shown.strategy, shown.moved) == ("rows", (64 * 4096, 256))
    assert shown.registers


def test_of_kernels_on_grids_that_are_compiled_for_gpus() -> None:
    code = """__global__ void more(float* x) {
        float s[64]; for (int k = 0; k < 64; ++k) s[k] = x[k];
        for (int k = 0; k < 64; ++k) x[s[k] > 0 ? k : 63 - k] = s[63 - k] * s[k / 2]; }
    __global__ void less(float* x) { __shared__ float s[256]; s[threadIdx.x] = x[threadIdx.x];
        __syncthreads(); x[threadIdx.x] = s[255 - threadIdx.x]; }"""
    module = RawModule(code=code)
    x = make("f4", 1024)
    given = {"less": x, "more": (x,)}  # an array is the only argument, as of launches
    less, more = (module.get_function(k).explain((2, 2), 256, args) for k, args in given.items())
    assert (less.moved, less.grid, less.block, less.shared, less.strategy) == (
        (4096,), 4, 256, 1024, "",
    )  # fmt: skip
    assert less.registers is not None
    assert more.registers is not None
    assert less.registers < more.registers

    @jit.rawkernel
    def twice(x: Any, n: Any) -> None:
        if jit.grid(1) < n:
            x[jit.grid(1)] *= 2

    shown = twice[4, 256, 60000].explain(x, int)
    assert (shown.shared, shown.resident, shown.moved) == (60000, 3 * 256, (4096,))
    assert str(shown) == str(twice.explain(4, 256, (x, int), 60000))
    assert str(twice.explain(1, 32, (x, int), target="sm_80")).count("\n") == 1


def test_options_of_a_call_of_a_kernel_of_elements() -> None:
    @jit.kernel
    def shifted(x: Any, by: Any = 1) -> Any:
        return x[0] + by + jit.index(1)

    x = np.zeros(3)
    for options in ({"size": 20}, {"shape": (20,)}, {"out": np.zeros(20)}):
        assert shifted.explain(x, by=2, **options).moved == (24, 160)
    assert shifted.explain(x, block_size=64, target="sm_90").block == 64
    with pytest.raises(ValueError, match="takes no 'shape' here"):
        jit.kernel(abs_of).explain(x, size=20)
    with pytest.raises(TypeError, match="unexpected keyword argument 'dtype'"):
        shifted.explain(x, dtype="f4")


def abs_of(x: Any) -> Any:
    """Return the absolute value."""
    return abs(x)


@pytest.mark.parametrize("target", ["cuda", "sm90"])
def test_a_target_that_is_none(target: str) -> None:
    kernel = RawModule(code="__global__ void one(int* x) { *x = 1; }").get_function("one")
    for explain in (lambda: kernel.explain(1, 1, (), target=target),
                    lambda: TURN.explain(make("f4", 4), target=target)):  # fmt: skip
        with pytest.raises(ValueError, match=target):
            explain()


def test_of_functions_of_elements() -> None:
    x = np.zeros((64, 64), np.float32)
    add = jit.kernel(lambda a, b: a + b)
    pairs = kerneltk.vectorize(lambda a, b: a + b)
    rows = kerneltk.vectorize(lambda a, b: a[0] + b[0], signature="(n),(n)->()")
    assert add.explain(x, x).moved == pairs.explain(x, x).moved == (x.nbytes,) * 3
    assert add.explain(x, x, out=x).bytes == 3 * x.nbytes
    assert rows.explain(x, x).moved[-1] == 64 * 4


def test_of_a_loop_on_the_host() -> None:
    x = np.zeros((64, 64), np.float32)
    shown = SUM.explain(x, x)
    assert shown.bytes == 3 * x.nbytes
    assert (shown.registers, shown.resident) == (None, None)
    assert "\n" not in str(shown)
