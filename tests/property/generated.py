"""What kernels generate for GPUs, executed on CPU cores: loads outside of arrays, and accesses that
are not aligned, end the launch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import kerneltk
from kerneltk.codegen.render import translation_unit_of
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.core.arrays import ArraySpec, byte_extent
from kerneltk.core.artifacts import COUNTERS

Bytes = npt.NDArray[np.uint8]

_HEADERS = Path(kerneltk.__file__).parent / "templates" / "include" / "kerneltk"
_AROUND = 48  # bytes on each side of an array
_MOST = 12  # arrays of a launch
_NAMES = ("traits", "memory", "reduce", "divide")
_DEFINITION = re.compile(r"^#define (\w+)", re.MULTILINE)
_INCLUDE = re.compile(r"#include <kerneltk/\w+.hpp>\n")

_CHECKS = """
#include <kerneltk/memory.hpp>
__device__ unsigned long long owned[MOST][2];
template <class T>
__device__ T within(const T* from) {
    const auto at = reinterpret_cast<unsigned long long>(from);
    if (at % sizeof(T)) __trap();
    for (const auto& own : owned)
        if (at >= own[0] && at + sizeof(T) <= own[1]) return *from;
    __trap();
    return T();
}
"""


@cache
def _prelude() -> str:
    """The headers of GPUs, in a namespace of their own, whose loads are checked."""
    lines = [
        line.replace("#ifdef __CUDACC_RTC__", "#if 1")
        for name in _NAMES
        for line in (_HEADERS / f"{name}.hpp").read_text().splitlines()
        if not line.startswith(("#pragma once", "#include"))
    ]
    text = "\n".join(lines).replace("kerneltk", "gpu").replace("__ldg(", "within(")
    # Behind GPUs' own functions 'memory.hpp' has the host's.
    begin = text.index("// The same where a value need not be aligned.")
    text = text[:begin] + text[text.index("}  // namespace gpu", begin) :]
    count = 'static_assert(BYTES % CHUNK == 0, "whole chunks");'
    both = "reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from)"
    for plain, checked in (
        (count, f"{count} if (({both}) % CHUNK) __trap();"),
        ("unsigned int low = words[0];", "unsigned int low = within(words);"),
        ("int high = words[k + 1];", "int high = within(words + k + 1);"),
    ):
        assert plain in text
        text = text.replace(plain, checked, 1)
    return f"{_CHECKS.replace('MOST', str(_MOST))}{text}\n"


class Placed:
    """An array in memory of random bytes, with more around it."""

    def __init__(self, spec: ArraySpec, seed: int) -> None:
        low, high = byte_extent(spec.shape, spec.strides, spec.dtype.itemsize)
        size = high - low + 2 * _AROUND
        memory: Bytes = np.random.default_rng(seed).integers(0, 256, size + 16, np.uint8)
        skipped = (spec.offset - memory.ctypes.data - _AROUND + low) % 16
        self.bytes = memory[skipped : skipped + size]
        self.spec = spec
        self.first = _AROUND - low
        self.address = self.bytes.ctypes.data + self.first

    @property
    def owned(self) -> tuple[int, int]:
        begin = self.bytes.ctypes.data + _AROUND
        return begin, begin + self.bytes.size - 2 * _AROUND

    def elements(self, of: Bytes | None = None, dtype: Any = None) -> npt.NDArray[Any]:
        """A view of the elements in a copy of the bytes, by default in these."""
        memory = self.bytes if of is None else of
        spec = self.spec
        return np.ndarray(spec.shape, dtype or spec.dtype, memory.data, self.first, spec.strides)


class Seen(Placed):
    """A view of elements of another array."""

    def __init__(self, view: npt.NDArray[Any], whole: Placed) -> None:
        self.bytes, self.address = whole.bytes, view.ctypes.data
        self.spec = ArraySpec(view.dtype, view.shape, view.strides, self.address % 16)


def execute(launches: Sequence[tuple[LaunchGeometry, Sequence[Placed]]]) -> None:
    """Execute launches, by blocks and threads; one call of a compiler makes all their kernels."""
    names: dict[str, str] = {}
    for lowered, _ in launches:
        source = translation_unit_of(lowered.specialization).source
        names.setdefault(source, f"kernel_{len(names)}")
    includes, parts = set[str](), [_prelude()]
    for source, name in names.items():
        includes.update(_INCLUDE.findall(source))
        own = re.sub(r"\bkernel\b", name, _INCLUDE.sub("", source).replace("kerneltk::", "gpu::"))
        parts.append(f"namespace of_{name} {{\n{own}\n}}\n")
        parts += [f"#undef {macro}\n" for macro in _DEFINITION.findall(own)]
    code = "".join([*sorted(includes), *parts])
    module = kerneltk.RawModule(code=code, options=("-std=c++17", "-default-device"))
    owned = module.get_global("owned", backend="host")
    for lowered, placed in launches:
        unit, block = translation_unit_of(lowered.specialization), lowered.specialization.arguments
        size = max(lowered.scratch, 4 * COUNTERS)
        scratch = np.full(size + _AROUND, 255, np.uint8)
        scratch[: 4 * COUNTERS] = 0
        addresses = [array.address for array in placed]
        if lowered.specialization.definition.has_scratch:
            addresses.insert(0, scratch.ctypes.data)
        data = bytearray(block.size)
        block.dynamic.pack_into(data, 0, *addresses)
        begin = block.constant_offset
        data[begin : begin + len(lowered.constants)] = lowered.constants
        owned[...] = 0
        owned[: len(placed)] = [array.owned for array in placed]
        argument = np.frombuffer(bytes(data), np.dtype((np.void, block.size)))[0]
        kernel = module.get_function(names[unit.source])
        grid = lowered.grid, lowered.chunk_size
        kernel(grid, (lowered.specialization.block,), (argument,), backend="host")
        assert not scratch[: 4 * COUNTERS].any()
        assert (scratch[size:] == 255).all()
