"""Explanations of launches: bytes, strategy, registers, occupancy, operations."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import Any

from kerneltk.backends.base import Backend, capabilities_of_target
from kerneltk.backends.foreign_arrays import default_backend, own_array
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import SECTOR_BYTES, WARP, ObjectCode
from kerneltk.core.records import record
from kerneltk.launch.launch_config import launch_extents
from kerneltk.object_code.elf import ElfFile
from kerneltk.object_code.operations import operations_of

_MEASURED = "sm_90"  # of the H200 that the schedules' limits were measured on
_DESCRIBED = "sm_90"  # the target of descriptions of arrays
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
    """A launch: its bytes, strategy, occupancy and operations.

    Parameters
    ----------
    name : str
    moved : tuple of int
        One an array, in the order of the arguments: the bytes that must move, by the sectors of 32
        bytes that its elements touch. Of kernels on a grid, as if they read or write each element
        once.
    strategy : str
        The layout class or the schedule, and what it was chosen for; empty of kernels on a grid.
    grid, block : int
        Blocks, and threads of a block; on the host work items, and 1.
    registers, shared : int or None
        Registers of a thread, and shared memory of a block (bytes); None on the host and for PTX,
        whose registers a driver allocates.
    resident : int or None
        Threads of a multiprocessor that registers, shared memory and the block's size leave.
    occupancy : float or None
        Their part of the most that there can be.
    target : str
        The architecture, or ``"host"``.
    compiled : callable or None
        Its object code for another target.
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
    target: str = "host"
    compiled: Callable[[str], ObjectCode] | None = field(default=None, repr=False)

    @property
    def bytes(self) -> int:
        """The bytes that must move."""
        return sum(self.moved)

    def operations(self) -> dict[str, float] | None:
        """Count the operations of a thread in the kernel's PTX, by unit; None on the host. Raises
        CompileError and BackendUnavailableError as `compile` does.
        """
        if self.compiled is None:
            return None
        code = self.compiled(f"compute_{self.target.partition('_')[2]}")
        moved = self.bytes / max(1, self.grid * self.block)
        return operations_of(code.code.decode(errors="replace"), _entry(code, self.name), moved)

    def __str__(self) -> str:
        strategy = self.strategy and f"; {self.strategy}"
        lines = [f"{self.name}: {self.bytes:,} bytes must move{strategy}", *self.details()]
        return "\n".join(lines)

    def details(self) -> list[str]:
        """Lines of what a GPU's multiprocessors have of it."""
        if self.registers is None:
            return []
        blocks = "block" if self.grid == 1 else "blocks"
        lines = [
            f"  {self.grid:,} {blocks} of {self.block} threads; {self.registers} registers a "
            f"thread, {self.shared:,} bytes of shared memory a block: {self.resident} resident "
            f"threads of a multiprocessor, {self.occupancy:.0%}"
        ]
        if self.strategy and not self.target.startswith(_MEASURED):
            lines.append("  Limits of the strategy were measured on an H200.")
        return lines


def arrays_of(values: Iterable[Any]) -> tuple[list[ArraySpec], Backend | None]:
    """Return the arrays among some arguments, and the backend of the first that is no description;
    those of tuples and lists, as grids have their arguments, come along.
    """
    found: list[ArraySpec] = []
    owner: Backend | None = None
    for value in values:
        if isinstance(value, tuple | list):
            specs, backend = arrays_of(value)
            found += specs
        elif isinstance(value, ArraySpec):
            found.append(value)
            continue
        else:
            backend, own = own_array(value)
            if backend is not None:
                found.append(backend.describe(own)[0])
        owner = owner or backend
    return found, owner


def backend_for(values: Iterable[Any]) -> Backend:
    """Return the backend of the first array among some arguments; the default one for none."""
    return arrays_of(values)[1] or default_backend()


def target_for(values: Iterable[Any]) -> str:
    """What a call with some arguments is compiled for: see `target_of`; ``"sm_90"`` where its
    arrays are descriptions.
    """
    specs, backend = arrays_of(values)
    return _DESCRIBED if specs and backend is None else target_of(backend or default_backend())


def target_of(backend: Backend) -> str:
    """What a backend's current device is compiled for: its architecture, or the backend's name."""
    has_architectures = backend.capabilities.has_architectures
    return backend.target().architecture if has_architectures else backend.name


def explained(
    name: str, moved: Sequence[int], strategy: str, grid: int, block: int,
    compiled: Callable[[str], ObjectCode], target: str, dynamic: int = 0,
) -> KernelExplanation:  # fmt: skip
    """Explain a launch; `dynamic` is the shared memory that it gives a block (bytes)."""
    plain = KernelExplanation(name, tuple(moved), strategy, grid, block, target=target)
    if not capabilities_of_target(target).has_architectures:
        return plain
    code = compiled(target)
    if code.kind != "cubin":
        return replace(plain, compiled=compiled)
    found, entry = ElfFile(code.code, "cubin"), _entry(code, name)
    registers = _registers(found, entry)
    architecture = code.target.architecture.rstrip("af")
    most, most_blocks, memory = _RESIDENT.get(architecture, _RECENT)
    static = found.size(f".nv.shared.{entry}")
    # Registers are given to warps by the 256, shared memory with 1 KiB that CUDA keeps, which
    # cubins of compute capability 9.0 and newer count.
    shared = max(0, static - 1024 * (int(architecture[3:]) >= 90)) + dynamic
    of_warp = -(-registers * WARP // 256) * 256
    warps = -(-block // WARP)
    blocks = min(
        most // (warps * WARP),
        most_blocks,
        _REGISTERS // max(1, of_warp * warps),
        memory * 1024 // (shared + 1024),
    )
    resident = blocks * block
    return replace(
        plain, compiled=compiled, registers=registers, shared=shared, resident=resident,
        occupancy=resident / most,
    )  # fmt: skip


def explained_grid(
    name: str, args: Sequence[Any], grid: Any, block: Any,
    compiled: Callable[[str], ObjectCode], target: str, dynamic: int = 0,
) -> KernelExplanation:  # fmt: skip
    """Explain a launch on a grid."""
    moved = [moved_bytes(spec) for spec in arrays_of(args)[0]]
    blocks = math.prod(launch_extents(grid, "grid", name))
    threads = math.prod(launch_extents(block, "block", name))
    return explained(name, moved, "", blocks, threads, compiled, target, dynamic)


def _entry(code: ObjectCode, name: str) -> str:
    """The symbol of a kernel."""
    return code.entry or dict(code.symbols).get(name, name)


def moved_bytes(spec: ArraySpec) -> int:
    """Return the bytes of the sectors that an array's elements lie in, each once."""
    if 0 in spec.shape:
        return 0
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


def _registers(cubin: ElfFile, entry: str) -> int:
    """The registers of a kernel of a cubin, from its attributes."""
    names = [symbol.name for symbol in cubin.symbols()]
    info = cubin.section(".nv.info")
    found = [struct.unpack_from("<HHII", info, at) for at in range(0, len(info) - 11, 4)]
    return max(
        (
            registers
            for kind, size, symbol, registers in found
            if (kind, size) == (_REGISTER_COUNT, 8) and names[symbol : symbol + 1] == [entry]
        ),
        default=0,
    )
