"""What reductions generate for GPUs, executed on CPU cores: nothing beside an array is read."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import kerneltk
from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.accumulator import parse_accumulator
from kerneltk.codegen.reduction import ReductionDefinition
from kerneltk.codegen.render import translation_unit_of
from kerneltk.core.arrays import ArraySpec
from kerneltk.signature.parameters import parse_signature
from kerneltk.signature.resolve import Resolved, bind_types

from .test_generated_layouts import Placed

_HEADERS = Path(kerneltk.__file__).parent / "templates" / "include" / "kerneltk"

_CHECKS = """
__device__ unsigned long long owned[4][2];
template <class T>
__device__ T within(const T* from) {
    const auto at = reinterpret_cast<unsigned long long>(from);
    if (at % sizeof(T)) __trap();
    for (int k = 0; k < 4; ++k)
        if (at >= owned[k][0] && at + sizeof(T) <= owned[k][1]) return *from;
    __trap();
    return T();
}
"""


@cache
def _prelude() -> str:
    """The headers of GPUs, in a namespace of their own, whose loads are checked."""
    names = ("traits", "memory", "reduce", "divide")
    lines = [
        line.replace("#ifdef __CUDACC_RTC__", "#if 1")
        for name in names
        for line in (_HEADERS / f"{name}.hpp").read_text().splitlines()
        if not line.startswith(("#pragma once", "#include"))
    ]
    text = "\n".join(lines).replace("kerneltk", "gpu").replace("__ldg(", "within(")
    # Behind GPUs' own functions 'memory.hpp' has the host's.
    begin = text.index("// The same where a value need not be aligned.")
    text = text[:begin] + text[text.index("}  // namespace gpu", begin) :]
    count = 'static_assert(BYTES % CHUNK == 0, "whole chunks");'
    both = "reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from)"
    return _CHECKS + text.replace(count, f"{count} if (({both}) % CHUNK) __trap();", 1)


def run(
    definition: ReductionDefinition, shape: tuple[int, ...], axes: tuple[int, ...],
    placed: list[Placed],
) -> None:  # fmt: skip
    """Execute what a launch would."""
    specs = tuple(array.spec for array in placed)
    binding = bind_types(definition.signature, [spec.dtype for spec in specs])
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    resolved = Resolved(binding, shape, kept, specs, "C")
    lowered = definition.schedule(resolved, capabilities_of("cuda"), 132, (axes, False, None))
    assert lowered is not None
    specialization = lowered.specialization
    unit, block = translation_unit_of(specialization), specialization.arguments
    lines = [line for line in unit.source.splitlines() if not line.startswith("#include <kerneltk")]
    source = "\n".join(lines).replace("kerneltk::", "gpu::")
    code = f"{_prelude()}\n{source}"
    module = kerneltk.RawModule(code=code, options=("-std=c++17", "-default-device"))
    kernel = module.get_function(unit.entry)
    scratch = np.zeros(1 << 17, np.uint8)
    data = bytearray(block.size)
    addresses = [array.address for array in placed]
    block.dynamic.pack_into(data, 0, scratch.ctypes.data, *addresses)
    data[block.constant_offset : block.constant_offset + len(lowered.constants)] = lowered.constants
    owned = np.zeros((4, 2), np.uint64)
    for k, array in enumerate(placed):
        steps = [
            (n - 1) * step for n, step in zip(array.spec.shape, array.spec.strides, strict=True)
        ]
        begin = array.address + sum(min(0, step) for step in steps)
        owned[k] = begin, begin + array.bytes.size - 96
    module.get_global("owned", backend="host")[...] = owned
    argument = np.frombuffer(bytes(data), np.dtype((np.void, block.size)))[0]
    grid = lowered.grid, lowered.chunk_size
    kernel(grid, (specialization.block,), (argument,), backend="host")


def placed_at(values: npt.NDArray[Any], strides: tuple[int, ...], offset: int) -> Placed:
    """Values in memory that begins `offset` bytes behind a multiple of 16."""
    spec = ArraySpec(values.dtype, values.shape, strides, offset)
    placed = Placed(spec, 0)
    placed.elements(placed.bytes)[...] = (
        np.atleast_1d(values)[..., None].view(np.uint8).reshape(*values.shape, -1)
    )
    return placed


def definition_of(inputs: str, mapped: str, last: str) -> ReductionDefinition:
    signature = parse_signature(inputs, "int32 y")
    accumulator = parse_accumulator("int32", signature)
    return ReductionDefinition(signature, "total", "", (), mapped, "a + b", last, "0", accumulator)


@pytest.mark.exhaustive
@pytest.mark.parametrize("length", [33, 515])
@pytest.mark.parametrize("rows", [1, 5])
def test_the_last_vector_of_reversed_rows(length: int, rows: int) -> None:
    values = np.random.default_rng(0).integers(-9, 9, (rows, length)).astype(np.int8)
    x = placed_at(values, (length, -1), 3)
    y = placed_at(np.zeros(rows, np.int32), (4,), 0)
    run(definition_of("int8 x", "x", "y = a"), (rows, length), (1,), [x, y])
    np.testing.assert_array_equal(y.elements(y.bytes).view(np.int32)[:, 0], values.sum(1))


@pytest.mark.parametrize("step", [32, -4096])
def test_the_last_vector_of_rows_beside_elements_far_apart(step: int) -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.integers(-9, 9, (16, 45)).astype(np.int8) for _ in range(2))
    x, w = placed_at(first, (46, 1), 3), placed_at(second, (1, step), 0)
    y = placed_at(np.zeros(1, np.int32)[0], (), 0)
    definition = definition_of("int8 x, int8 w", "x * w", "y = a")
    run(definition, (16, 45), (0, 1), [x, w, y])
    assert y.elements(y.bytes).view(np.int32) == (first.astype(np.int32) * second).sum()


@pytest.mark.exhaustive
@pytest.mark.parametrize("columns", [37, 40])
def test_columns_that_are_added_to_what_is_there(columns: int) -> None:
    values = np.random.default_rng(0).integers(-9, 9, (200, columns)).astype(np.int8)
    before = np.arange(columns, dtype=np.int32)
    x, y = placed_at(values, (columns + 1, 1), 3), placed_at(before, (4,), 0)
    run(definition_of("int8 x", "x", "y += a"), (200, columns), (0,), [x, y])
    wanted = before + values.sum(0)
    np.testing.assert_array_equal(y.elements(y.bytes).view(np.int32)[:, 0], wanted)
