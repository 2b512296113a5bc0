"""The host backend: NumPy arrays, this machine's compiler, all cores."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Never

import numpy as np

from kerneltk.arrays import ArraySpec
from kerneltk.backends.base import Function, LaunchDialect, make_block
from kerneltk.backends.host import runtime, toolchain
from kerneltk.errors import ArgumentValueError, DivisionError, LaunchError
from kerneltk.units import BackendName, ObjectCode, Target, TranslationUnit

__all__ = ["HostBackend"]

# The address is the first member after the object's head in NumPy's public array struct. Reading
# it there takes 0.15 us, `__array_interface__` 1 us.
_DATA_OFFSET = object.__basicsize__
_pointer_at = ctypes.c_void_p.from_address


def _address_by_struct(array: Any) -> int:
    return _pointer_at(id(array) + _DATA_OFFSET).value or 0


def _address_by_interface(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _choose_address() -> Any:
    """Return the fast way, if this interpreter and this NumPy agree with it."""
    base = np.arange(8, dtype=np.int64)
    probes = (base, base[3:], base[::-2])
    if sys.implementation.name == "cpython" and all(
        _address_by_struct(probe) == _address_by_interface(probe) for probe in probes
    ):
        return _address_by_struct
    return _address_by_interface


address_of = _choose_address()


_TRAP = 2  # what `runtime.launch` returns then


class HostBackend:
    """NumPy arrays on CPU cores; implements `kerneltk.backends.base.Backend`."""

    name: BackendName = "host"
    array_type: type = np.ndarray

    def __init__(self) -> None:
        self._dialect: LaunchDialect | None = None

    @property
    def dialect(self) -> LaunchDialect:
        """How launchers are written."""
        if self._dialect is None:
            fast = address_of is _address_by_struct
            read = "pointer_at(id({a}) + data_offset).value or 0" if fast else "address_of({a})"
            self._dialect = LaunchDialect(
                names={
                    "threads": runtime.num_threads(),
                    "pointer_at": _pointer_at,
                    "data_offset": _DATA_OFFSET,
                    "address_of": address_of,
                    "empty": np.empty,
                },
                read="{p} = " + read,
                array_key="{a}.dtype, {a}.shape, {a}.strides",
                output_key="{a}.flags.writeable",
                call_key="",
                stream="0",
                allocate="{a} = empty(shape, {dtype}, order); {p} = " + read,
                launch="function, buffer[1], grid, grain, threads",
                late={"launch": lambda: runtime.launch},
            )
        return self._dialect

    def target(self) -> Target:
        """Return this machine's target."""
        return toolchain.target()

    def backend_options(self, unit: TranslationUnit) -> tuple[str, ...]:
        """Return the compile options that every unit gets."""
        return toolchain.backend_options()

    def include_directories(self, unit: TranslationUnit) -> tuple[Path, ...]:
        """Return nothing: the compiler's own headers change with its version."""
        return ()

    def compile(self, unit: TranslationUnit, target: Target) -> ObjectCode:
        """Compile for this machine; raises CompileError or BackendUnavailableError."""
        runtime.prepare()
        return toolchain.compile_unit(unit)

    def load(self, code: ObjectCode) -> Function:
        """Load object code into this process."""
        return Function(runtime.load(code).address)

    def device_key(self) -> int:
        """Return 0: there is one host."""
        return 0

    def multiprocessors(self) -> int:
        """Return 1: how a loop is shared on the host does not depend on its cores."""
        return 1

    def describe(self, array: Any) -> tuple[ArraySpec, int]:
        """Return an array's description and its address."""
        address = address_of(array)
        return ArraySpec(array.dtype, array.shape, array.strides, address % 16), address

    def check_usable(self, array: Any, name: str, written: bool) -> None:
        """Raise ArgumentValueError if a written array is read-only."""
        if written and not array.flags.writeable:
            raise ArgumentValueError(
                f"The array for parameter '{name}' is written, but it is read-only.\n"
                "  Hint: pass a copy, or set 'array.flags.writeable = True' if you own it."
            )

    def adopt(self, value: Any) -> Any:
        """Return a NumPy view of another library's array."""
        if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
            return np.asarray(value)
        return np.from_dlpack(value)

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any], order: str) -> Any:
        """Allocate an array."""
        return np.empty(tuple(shape), dtype, order="F" if order == "F" else "C")

    def stream_context(self, stream: int | None) -> AbstractContextManager[Any]:
        """Return a context that does nothing: the host runs in order."""
        return nullcontext()

    def make_buffer(self, size: int, offset: int, constants: bytes) -> tuple[Any, int, Any]:
        """Return an argument buffer whose constant part is filled in."""
        return make_block(size, offset, constants)

    def launch_failed(self, failure: Any, launch: Any, arguments: tuple[Any, ...]) -> Never:
        """Raise: a host launch that fails once fails again."""
        if failure == _TRAP:
            raise LaunchError(
                "The kernel trapped: an assertion failed, or it called '__trap'; not all of its "
                "results were written."
            )
        raise DivisionError(
            "The kernel divided an integer by zero, or the most negative one by -1; not all of its "
            "results were written.\n  Hint: guard the division: on a GPU its result is undefined."
        )
