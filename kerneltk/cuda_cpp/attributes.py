"""The attributes of a raw kernel's function, by CuPy's names."""

from __future__ import annotations

from typing import Any

from kerneltk.backends import foreign_arrays
from kerneltk.core.artifacts import BackendName
from kerneltk.cuda_cpp.binary import BinaryProgram
from kerneltk.cuda_cpp.launcher import LoadedKernel
from kerneltk.cuda_cpp.program import RawProgram


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

    def _set_attribute(self, name: str, value: int) -> None:
        loaded = self._loaded()
        loaded.backend.set_attribute(loaded.function, name, int(value))

    @property
    def max_threads_per_block(self) -> int:
        """Threads that a block of this kernel can have."""
        return self.attributes["max_threads_per_block"]

    @property
    def shared_size_bytes(self) -> int:
        """Static shared memory of a block (bytes)."""
        return self.attributes["shared_size_bytes"]

    @property
    def const_size_bytes(self) -> int:
        """Constant memory (bytes)."""
        return self.attributes["const_size_bytes"]

    @property
    def local_size_bytes(self) -> int:
        """Local memory of a thread (bytes): arrays and what registers do not hold."""
        return self.attributes["local_size_bytes"]

    @property
    def num_regs(self) -> int:
        """Registers of a thread."""
        return self.attributes["num_regs"]

    @property
    def ptx_version(self) -> int:
        """The PTX version that it was compiled from: 10 * major + minor."""
        return self.attributes["ptx_version"]

    @property
    def binary_version(self) -> int:
        """The architecture that it was compiled for: 10 * major + minor."""
        return self.attributes["binary_version"]

    @property
    def cache_mode_ca(self) -> int:
        """Whether it was compiled to cache all loads in the first level."""
        return self.attributes["cache_mode_ca"]

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Dynamic shared memory that a block can have (bytes). Launches raise it as they need."""
        return self.attributes["max_dynamic_shared_size_bytes"]

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, value: int) -> None:
        self._set_attribute("max_dynamic_shared_size_bytes", value)

    @property
    def preferred_shared_memory_carveout(self) -> int:
        """Shared memory's share of the first-level cache (percent; -1: the driver's choice)."""
        return self.attributes["preferred_shared_memory_carveout"]

    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, value: int) -> None:
        self._set_attribute("preferred_shared_memory_carveout", value)
