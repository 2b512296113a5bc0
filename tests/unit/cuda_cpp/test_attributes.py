"""A kernel's function and its attributes."""

from __future__ import annotations

import numpy as np
import pytest

import kerneltk
from kerneltk.backends import base

NAMES = (
    "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes",
    "num_regs", "ptx_version", "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes",
    "preferred_shared_memory_carveout",
)  # fmt: skip
CODE = """
extern "C" __global__ void __launch_bounds__(96) f(float* x) {
    __shared__ float s[32];
    s[threadIdx.x % 32] = x[0];
    __syncthreads();
    x[0] = s[0];
}
"""


def test_on_the_host_most_mean_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "default_backend", lambda: base.backend_named("host"))
    kernel = kerneltk.RawKernel(CODE, "f")
    found = kernel.attributes
    assert tuple(found) == NAMES
    assert found["max_threads_per_block"] == 96
    assert found["max_dynamic_shared_size_bytes"] == 227 << 10
    assert {name for name in NAMES if found[name] == -1} == set(NAMES) - {
        "max_threads_per_block",
        "max_dynamic_shared_size_bytes",
    }
    assert {name: getattr(kernel, name) for name in NAMES} == found
    kernel.max_dynamic_shared_size_bytes = 1024
    kernel.preferred_shared_memory_carveout = 50
    assert kernel.attributes == found
    assert isinstance(kernel.kernel, int)


@pytest.mark.gpu
def test_on_a_gpu_the_driver_tells_them() -> None:
    import cupy

    kernel = kerneltk.RawKernel(CODE, "f")
    kernel(1, 32, (cupy.zeros(1, np.float32),))
    found = kernel.attributes
    assert tuple(found) == NAMES
    assert found["max_threads_per_block"] == 96
    assert found["shared_size_bytes"] >= 128
    assert found["num_regs"] > 0
    assert {name: getattr(kernel, name) for name in NAMES} == found
    kernel.max_dynamic_shared_size_bytes = 4096
    assert kernel.max_dynamic_shared_size_bytes == 4096
