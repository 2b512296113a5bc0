"""The attributes of a raw kernel's function, by CuPy's names."""

from __future__ import annotations

from typing import Any

from kerneltk.backends import foreign_arrays
from kerneltk.core.artifacts import BackendName
from kerneltk.cuda_cpp.binary import BinaryProgram
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.signature import LoadedKernel


def _attribute(name: str, doc: str, *, is_settable: bool = False) -> Any:
    """A property: one of `FunctionAttributes.attributes`."""

    def get(self: FunctionAttributes) -> int:
        return self.attributes[name]

    def put(self: FunctionAttributes, value: int) -> None:
        loaded = self._loaded()
        loaded.backend.set_attribute(loaded.function, name, int(value))

    return property(get, put if is_settable else None, doc=doc)


class FunctionAttributes:
    """A kernel's function on the current device, and what the driver says of it."""

    name: str
    _program: RawProgram | BinaryProgram

    def _loaded(self, backend: BackendName | None = None) -> LoadedKernel:
        chosen = foreign_arrays.backend_named(backend)
        return self._program.kernel(chosen, self.name)

    @property
    def kernel(self) -> Any:
        """The loaded function's handle on the current device."""
        return self._loaded().function.handle

    @property
    def attributes(self) -> dict[str, int]:
        """The attributes of the kernel on the current device, by CuPy's names; -1 where there is
        no such attribute. Sizes are in bytes.
        """
        loaded = self._loaded()
        return loaded.backend.attributes(loaded.function)

    max_threads_per_block: int = _attribute(
        "max_threads_per_block", "Threads that a block of this kernel can have."
    )
    shared_size_bytes: int = _attribute(
        "shared_size_bytes", "Static shared memory of a block (bytes)."
    )
    const_size_bytes: int = _attribute("const_size_bytes", "Constant memory (bytes).")
    local_size_bytes: int = _attribute(
        "local_size_bytes",
        "Local memory of a thread (bytes): arrays and what registers do not hold.",
    )
    num_regs: int = _attribute("num_regs", "Registers of a thread.")
    ptx_version: int = _attribute(
        "ptx_version", "The PTX version that it was compiled from: 10 * major + minor."
    )
    binary_version: int = _attribute(
        "binary_version", "The architecture that it was compiled for: 10 * major + minor."
    )
    cache_mode_ca: int = _attribute(
        "cache_mode_ca", "Whether it was compiled to cache all loads in the first level."
    )
    max_dynamic_shared_size_bytes: int = _attribute(
        "max_dynamic_shared_size_bytes",
        "Dynamic shared memory that a block can have (bytes). Launches raise it as they need.",
        is_settable=True,
    )
    preferred_shared_memory_carveout: int = _attribute(
        "preferred_shared_memory_carveout",
        "Shared memory's share of the first-level cache (percent; -1: the driver's choice).",
        is_settable=True,
    )
