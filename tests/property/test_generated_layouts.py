"""What the GPU's layout classes generate, executed on CPU cores: every byte is as NumPy has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import assume, event
from hypothesis import strategies as st

import kerneltk
from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.elementwise import ElementwiseDefinition, LaunchGeometry
from kerneltk.codegen.render import translation_unit_of
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.dtypes import alignment_on
from kerneltk.signature.parameters import parse_signature

from .examples import drawn
from .test_layout import DTYPES, long_rows, tame_shapes, wild_arrays

Bytes = npt.NDArray[np.uint8]

# What a GPU's header has besides the host's.
_MOVES = """
namespace kerneltk {
template <int BYTES>
struct chunk {
    struct alignas(BYTES) type { unsigned char bytes[BYTES]; };
};
template <int CHUNK, int BYTES>
__device__ void copy(void* to, const void* from) {
    if (reinterpret_cast<unsigned long long>(to) % CHUNK) __trap();
    if (reinterpret_cast<unsigned long long>(from) % CHUNK) __trap();
    memcpy(to, from, BYTES);
}
}  // namespace kerneltk
"""


class Placed:
    """An array in memory with bytes around it."""

    def __init__(self, spec: ArraySpec, seed: int) -> None:
        steps = [(n - 1) * step for n, step in zip(spec.shape, spec.strides, strict=True)]
        low = sum(min(0, step) for step in steps)
        high = sum(max(0, step) for step in steps) + spec.dtype.itemsize
        self.bytes: Bytes = np.random.default_rng(seed).integers(0, 256, high - low + 96, np.uint8)
        self.spec = spec
        self.first = 32 - low
        self.first += (spec.offset - self.bytes.ctypes.data - self.first) % 16
        self.address = self.bytes.ctypes.data + self.first

    def elements(self, of: Bytes) -> Bytes:
        """The elements as bytes, the last dimension."""
        shape = (*self.spec.shape, self.spec.dtype.itemsize)
        return np.ndarray(shape, np.uint8, of.data, self.first, (*self.spec.strides, 1))


def run(lowered: LaunchGeometry, addresses: list[int]) -> None:
    """Execute what a launch would, by blocks and threads."""
    specialization = lowered.specialization
    unit, block = translation_unit_of(specialization), specialization.arguments
    data = bytearray(block.size)
    block.dynamic.pack_into(data, 0, *addresses)
    data[block.constant_offset : block.constant_offset + len(lowered.constants)] = lowered.constants
    argument = np.frombuffer(bytes(data), np.dtype((np.void, block.size)))[0]
    kernel = kerneltk.RawModule(code=_MOVES + unit.source).get_function(unit.entry)
    kernel((lowered.grid,), (specialization.block,), (argument,), backend="host")


@st.composite
def copies(draw: Any) -> tuple[list[ArraySpec], tuple[int, ...], int | None]:
    """Return inputs, as many outputs of their dtypes, a shape and a block."""
    shape, block = draw(
        st.one_of(long_rows(), long_rows(), st.tuples(tame_shapes, st.sampled_from([None, 64])))
    )
    assume(math.prod(shape) <= 20_000)
    dtypes = draw(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=2))
    specs = [
        draw(wild_arrays(tuple(shape), written, dtype))
        for written in (False, True)
        for dtype in dtypes
    ]
    return specs, tuple(shape), block


@drawn(copies(), st.sampled_from(["", "plain", "leaving"]), few=8, many=120)
def test_generated_layouts_copy_every_element(
    case: tuple[list[ArraySpec], tuple[int, ...], int | None], numbers: str
) -> None:
    specs, shape, block = case
    count = len(specs) // 2
    inputs, outputs = ["A x", "B w"][:count], ["A y", "B z"][:count]
    body = "y = x; " + "z = w; " * (count > 1)
    if numbers:  # an array that is read and written, by elements' numbers
        outputs.append("int32 k")
        specs = [*specs, ArraySpec.make("i4", shape, order="C")]
        body += "if (i % 3 == 1) return; " * (numbers == "leaving") + "k += i;"
    signature = parse_signature(", ".join(inputs), ", ".join(outputs))
    definition = ElementwiseDefinition(signature, "copies", "", (), body)
    for spec in specs:
        unit = alignment_on(capabilities_of("cuda"), spec.dtype)
        assume(spec.offset % unit == 0 or spec.dtype.fields is None)
    options = (None, block)
    resolved = definition.resolve(specs, specs[:count], options)
    lowered = definition.schedule(resolved, capabilities_of("cuda"), 132, options)
    assert lowered is not None
    event(lowered.specialization.layout.variant)
    placed = [Placed(spec, k) for k, spec in enumerate(specs)]
    wanted = [array.bytes.copy() for array in placed]
    for k in range(count):
        found = placed[count + k].elements(wanted[count + k])
        found[...] = placed[k].elements(placed[k].bytes)
    if numbers:
        index = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
        if numbers == "leaving":
            index[index % 3 == 1] = 0
        found = placed[-1].elements(wanted[-1])
        found[...] = (found.copy().view(np.int32)[..., 0] + index)[..., None].view(np.uint8)
    run(lowered, [array.address for array in placed])
    for array, expected in zip(placed, wanted, strict=True):
        np.testing.assert_array_equal(array.bytes, expected)
