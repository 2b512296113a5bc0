"""Raw kernels of tests/kernels against NumPy, on every backend; and compiled for CUDA."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import kerneltk
from tests.sampling import one_in

from ..sampling import parameters, sample
from .raw_cases import CASES, FILES, WARP_CASES, templates
from .raw_support import KERNELS, RawCase, assert_matches, blank, floats, ints
from .support import Array, Guarded, c_order

# Kernels whose results are no function of their arguments: each has a test of its own, below.
OTHERS = {"exchange", "hash_sums", "report_formats", "timed", "checked_sqrt"}


@cache
def module_of(file: str) -> Any:
    return kerneltk.load(KERNELS / file, name_expressions=templates().get(file))


def in_guarded_memory(argument: Any) -> Any:
    return c_order(argument) if isinstance(argument, np.ndarray) else argument


def check(backend: Any, case: RawCase) -> None:
    """Run a case, compare every array, and see that nothing beyond the arrays was written."""
    module = module_of(case.file)
    arguments = [in_guarded_memory(argument) for argument in case.make()]
    wanted = case.expected(*(np.array(a) if isinstance(a, np.ndarray) else a for a in arguments))
    guarded = Guarded(backend, arguments)
    call = guarded.call
    for name, value in case.variables.items():
        variable = module.get_array(name, backend=backend.name)
        variable[...] = backend.xp.asarray(value)
    kernel = module.get_function(case.kernel)
    for step in case.steps:
        for k, value in step.items():
            call[k] = value
        words = {"cooperative": True} if case.cooperative else {}
        kernel(case.grid, case.block, tuple(call), shared_mem=case.shared_mem, **words)

    arrays = {k: a for k, a in enumerate(arguments) if isinstance(a, np.ndarray)}
    for k, array in arrays.items():
        assert_matches(backend.asnumpy(call[k]), wanted.get(k, array), case, k)
    for name, value in case.variables_after.items():
        variable = module.get_array(name, backend=backend.name)
        np.testing.assert_array_equal(backend.asnumpy(variable), value, name)
    guarded.check(array for k, array in arrays.items() if k in wanted)


def test_every_kernel_is_launched() -> None:
    declared = re.compile(r"__global__\s+void\s+(?:__launch_bounds__\(\w+\)\s+)?(\w+)\s*\(")
    kernels = {
        (file, name) for file in FILES for name in declared.findall((KERNELS / file).read_text())
    }
    launched = {(case.file, case.kernel.partition("<")[0].rpartition("::")[2]) for case in CASES}
    assert {name for _, name in kernels - launched} == OTHERS
    assert launched <= kernels


@pytest.mark.one_in(4)
@pytest.mark.parametrize("case", WARP_CASES, ids=lambda case: case.name)
def test_lanes_of_warps(backend: Any, case: RawCase) -> None:
    check(backend, case)


@pytest.mark.parametrize("case", parameters(sample(CASES[len(WARP_CASES) :], 5)))
def test_case(backend: Any, case: RawCase) -> None:
    check(backend, case)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("target", [pytest.param("sm_75", marks=pytest.mark.exhaustive), "sm_90"])
@pytest.mark.parametrize("file", one_in(2, FILES))
def test_file_compiles_for_cuda(file: str, target: str) -> None:
    module = module_of(file)
    code = module.compile_for(target)
    assert code.kind == "cubin"
    assert code.code
    assert set(templates().get(file, ())) <= set(module.kernels)


@pytest.mark.parametrize("file", FILES)
def test_file_is_as_its_users_write_it(file: str) -> None:
    content = (KERNELS / file).read_text()
    assert "kerneltk" not in content.lower()
    assert max(map(len, content.splitlines())) <= 100


def test_no_exchanged_number_is_lost(backend: Any) -> None:
    numbers = ints(300, 1, 10_000)
    x, slot, taken, last = backend.asarrays(
        numbers, np.array([5], "i4"), np.zeros(1, "i4"), np.zeros(1, "f4")
    )
    module_of("atomics.cu").exchange(3, 128, (x, slot, taken, last, 300))
    left = backend.asnumpy(slot)[0]
    assert left in numbers
    assert backend.asnumpy(taken)[0] + left == numbers.sum() + 5
    assert backend.asnumpy(last)[0] == 2.5


def test_hash_table_holds_every_key_once(backend: Any) -> None:
    keys, values = ints(500, 0, 60), ints(500, -99, 99, seed=2)
    table = np.full(128, -1, "i4"), np.zeros(128, "i4")
    found_keys, found_sums = backend.asarrays(*table)
    module_of("atomics.cu").hash_sums(
        4, 128, (*backend.asarrays(keys, values), found_keys, found_sums, 128, 500)
    )
    held = backend.asnumpy(found_keys)
    sums = backend.asnumpy(found_sums)
    assert sorted(held[held >= 0]) == sorted(set(keys.tolist()))
    assert dict(zip(held[held >= 0].tolist(), sums[held >= 0].tolist(), strict=True)) == {
        key: values[keys == key].sum() for key in set(keys.tolist())
    }
    assert not sums[held < 0].any()


def finish(backend: Any) -> None:
    """Wait for the kernels, and for what they print."""
    if backend.name == "cuda":
        backend.xp.cuda.runtime.deviceSynchronize()


def printed(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return capfd.readouterr().out.splitlines()


def test_printf_formats(backend: Any, capfd: pytest.CaptureFixture[str]) -> None:
    module_of("observed.cu").report_formats(2, 32, (-2.5, -(2**62), None), backend=backend.name)
    finish(backend)
    *lines, last = printed(capfd)
    assert lines == [
        "text|-2.500|-2.50e+00|-2.5",
        "-4611686018427387904|18446744073709551615|beef|0000BEEF|k|%",
    ]
    assert last.endswith("|done")


def test_clock_does_not_go_back(backend: Any) -> None:
    numbers: Array = floats(1000, 0, 1)
    x, y, ticks = backend.asarrays(numbers, blank(64, "f4"), blank(64, "i8"))
    module_of("observed.cu").timed(2, 32, (x, y, ticks, 1000))
    assert (backend.asnumpy(ticks) > 0).all()
    wanted = np.full(64, numbers.astype("f8").sum() / 2)
    np.testing.assert_allclose(backend.asnumpy(y), wanted, rtol=1e-4)


def test_assertions_that_hold(backend: Any) -> None:
    x, y = backend.asarrays(np.arange(50, dtype="f4") ** 2, blank(50, "f4"))
    module_of("observed.cu").checked_sqrt(2, 32, (x, y, 50))
    np.testing.assert_array_equal(backend.asnumpy(y), np.arange(50))


REFERENCES = r"""
template <class T> __global__ void add(T& total, char step, const T& each, double scale) {
    if (threadIdx.x == 0) total += step * each * T(scale);
}
"""


def test_parameters_of_reference_types(backend: Any) -> None:
    kernel = kerneltk.RawKernel(REFERENCES, "add<float>")
    total, each = backend.asarrays(np.ones(1, np.float32), np.full(1, 3, np.float32))
    kernel((1,), (2,), (total, 5, each, 2.0))
    assert total.item() == 31
    with pytest.raises(kerneltk.ArgumentTypeError, match="'each' of kernel 'add<float>' is a p"):
        kernel((1,), (2,), (total, 5, 3.0, 2.0))


def test_references_compile_for_gpus() -> None:
    kerneltk.RawKernel(REFERENCES, "add<float>").compile_for("sm_90")
