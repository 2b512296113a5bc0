"""Explanations of launches of kernels from expressions: bytes, strategy and occupancy."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import SECTOR_BYTES, WARP, ObjectCode
from kerneltk.core.records import record
from kerneltk.object_code.elf import ElfFile

_REGISTERS = 1 << 16  # of a multiprocessor
_REGISTER_COUNT = 0x2F04  # EIATTR_REGCOUNT of a cubin's .nv.info: symbol, registers
# Resident threads and blocks, and shared memory (KiB), of a multiprocessor: CUDA C++ Programming
# Guide, technical specifications per compute capability.
_RESIDENT = {"sm_70": (2048, 32, 96), "sm_72": (2048, 32, 96), "sm_75": (1024, 16, 64),
             "sm_80": (2048, 32, 164), "sm_86": (1536, 16, 100), "sm_87": (1536, 16, 164),
             "sm_89": (1536, 24, 100), "sm_120": (1536, 24, 100),
             "sm_121": (1536, 24, 100)}  # fmt: skip
_RECENT = (2048, 32, 228)


@record
class KernelExplanation:
    """The bytes, strategy and occupancy of a launch.

    Parameters
    ----------
    name : str
    moved : tuple of int
        One an array, inputs first: the bytes that must move, by the sectors of 32 bytes that its
        elements touch.
    strategy : str
        The layout class or the schedule, and what it was chosen for.
    grid, block : int
        Blocks, and threads of a block; on the host work items, and 1.
    registers, shared : int or None
        Registers of a thread, and static shared memory of a block (bytes); None on the host and
        for PTX, whose registers a driver allocates.
    resident : int or None
        Threads of a multiprocessor that registers, shared memory and the block's size leave.
    occupancy : float or None
        Their part of the most that there can be.
    """

    name: str
    moved: tuple[int, ...]
    strategy: str
    grid: int
    block: int
    registers: int | None = None
    shared: int | None = None
    resident: int | None = None
    occupancy: float | None = None

    @property
    def bytes(self) -> int:
        """The bytes that must move."""
        return sum(self.moved)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.bytes:,} bytes must move; {self.strategy}"]
        if self.registers is not None:
            blocks = "block" if self.grid == 1 else "blocks"
            lines.append(
                f"  {self.grid:,} {blocks} of {self.block} threads; {self.registers} registers a "
                f"thread, {self.shared:,} bytes of shared memory a block: {self.resident} resident "
                f"threads of a multiprocessor, {self.occupancy:.0%}"
            )
        return "\n".join(lines)


def explained(
    geometry: LaunchGeometry, specs: Sequence[ArraySpec | None], code: ObjectCode
) -> KernelExplanation:
    """Explain a launch of object code over arrays."""
    own = geometry.specialization
    moved = tuple(moved_bytes(spec) for spec in specs if spec is not None)
    name, block = own.definition.name, own.block
    if own.backend.emulates_cuda:
        return KernelExplanation(name, moved, own.strategy, geometry.grid, block)
    grid = geometry.grid * geometry.chunk_size
    if code.kind != "cubin":
        return KernelExplanation(name, moved, own.strategy, grid, block)
    found = ElfFile(code.code, "cubin")
    registers = _registers(found.section(".nv.info"))
    shared = found.size(f".nv.shared.{code.entry}")
    most, most_blocks, memory = _RESIDENT.get(code.target.architecture.rstrip("af"), _RECENT)
    # Registers are given to warps by the 256, shared memory with 1 KiB that CUDA keeps.
    of_warp = -(-registers * WARP // 256) * 256
    warps = -(-block // WARP)
    blocks = min(
        most // (warps * WARP),
        most_blocks,
        _REGISTERS // (of_warp * warps),
        memory * 1024 // (shared + 1024),
    )
    resident = blocks * block
    return KernelExplanation(
        name, moved, own.strategy, grid, block, registers, shared, resident, resident / most
    )


def moved_bytes(spec: ArraySpec) -> int:
    """Return the bytes of the sectors that an array's elements lie in, each once."""
    pairs = zip(spec.strides, spec.shape, strict=True)
    steps = sorted((abs(step), n) for step, n in pairs if step and n > 1)
    # Elements that leave no sector out between them are a run of bytes.
    run, apart = spec.dtype.itemsize, 0
    while steps and steps[0][0] - run < SECTOR_BYTES:
        run = steps[0][0] * steps.pop(0)[1]
    count = math.prod(n for _, n in steps)
    if steps:
        apart = steps[0][0]
    # Runs begin in turn at all places in a sector that the step between them leads to.
    offset = getattr(spec, "offset", 0)
    begins = [(offset + k * apart) % SECTOR_BYTES for k in range(SECTOR_BYTES if apart else 1)]
    sectors = sum(-(-(begin + run) // SECTOR_BYTES) for begin in begins)
    return count * sectors * SECTOR_BYTES // len(begins) if apart else run


def _registers(info: bytes) -> int:
    """The most registers of a kernel of a cubin, from its attributes."""
    found = [
        struct.unpack_from("<HHII", info, at)[3]
        for at in range(0, len(info) - 11, 4)
        if struct.unpack_from("<HH", info, at) == (_REGISTER_COUNT, 8)
    ]
    return max(found, default=0)
