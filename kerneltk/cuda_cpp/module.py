"""Kernels and variables from one text, or from a compiled module."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TextIO

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend
from kerneltk.core.artifacts import BackendName, ObjectCode
from kerneltk.cuda_cpp.binary import BinaryProgram
from kerneltk.cuda_cpp.kernel import RawKernel, checked_compiler, checked_options, logged
from kerneltk.cuda_cpp.link_inputs import checked_links
from kerneltk.cuda_cpp.program import RawProgram, Variable
from kerneltk.cuda_cpp.source import RawSource, plain_name
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["RawModule", "checked_names"]


class RawModule:
    """Kernels and variables from one CUDA C++ text, or from a compiled module.

    Parameters
    ----------
    code : str, optional
        CUDA C++ text.
    path : str or os.PathLike, optional
        PTX or a cubin instead; these run on GPUs only.
    options, backend, translate_cucomplex, enable_cooperative_groups, jitify, checks,
    exited_threads
        As for `RawKernel`.
    name_expressions : sequence of str, optional
        The kernels that the module offers, templates with their arguments. By default all kernels
        that are not templates.
    link : sequence of ObjectCode, bytes, str or os.PathLike
        Object code for GPUs that defines what the text only declares (``extern "C" __device__
        float f(float);``): what ``compile_for`` returned, what ``numba.cuda.compile(...,
        abi="c", output="ltoir")[0]`` returned, or paths of ``.ltoir``, ``.ptx``, ``.cubin``,
        ``.fatbin``, ``.o`` and ``.a``. It is linked, and optimized where it is LTO-IR, as one
        program with the text. PTX and cubins must be relocatable (``-rdc=true``).

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        A parameter has a type or a value that it cannot have.

    Examples
    --------
    >>> import numpy as np
    >>> module = RawModule(code=r'''
    ... template <class T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; }
    ... ''', name_expressions=["scale<int, 3>"])
    >>> x = np.arange(4, dtype=np.int32)
    >>> module.get_function("scale<int, 3>")((1,), (4,), (x,))
    >>> x
    array([0, 3, 6, 9], dtype=int32)
    """

    def __init__(
        self,
        code: str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool | None = None,
        link: Sequence[Any] = (),
        checks: bool = True,
        exited_threads: Literal["error", "arrive"] = "error",
    ) -> None:
        if (code is None) == (path is None):
            raise ArgumentTypeError("Exactly one of 'code' and 'path' must be given.")
        program: RawProgram | BinaryProgram
        if path is not None:
            if name_expressions:
                raise ArgumentValueError("'name_expressions' need a text, not a compiled module.")
            if link:
                raise ArgumentValueError("'link' needs a text, not a compiled module.")
            program = BinaryProgram(Path(path))
        else:
            if not isinstance(code, str):
                raise ArgumentTypeError("'code' must be a str.")
            compiler = checked_compiler(backend)
            links = checked_links(link, compiler)
            source = RawSource(code, "code", checked_options(options), compiler, links=links)
            program = RawProgram(source, checked_names(name_expressions), c_names=True)
        self._set_up([program], enable_cooperative_groups, checks, exited_threads)
        self.translate_cucomplex = bool(translate_cucomplex)

    def _set_up(
        self,
        programs: Sequence[RawProgram | BinaryProgram],
        cooperative: bool,
        checks: bool,
        exited_threads: str,
    ) -> None:
        self._programs = list(programs)
        self._functions: dict[str, RawKernel] = {}
        self.enable_cooperative_groups = bool(cooperative)
        self.translate_cucomplex = False
        self.checks = bool(checks)
        self._exited_threads = exited_threads

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name or name expression.

        Raises
        ------
        ArgumentValueError
            The module was made without it.
        """
        kernel = self._functions.get(name)
        if kernel is None:
            kernel = self._functions[name] = RawKernel._of(
                self._owner(name),
                name,
                self.enable_cooperative_groups,
                self.checks,
                self._exited_threads,
                self.translate_cucomplex,
            )
        return kernel

    def _owner(self, name: str) -> RawProgram | BinaryProgram:
        """Return the program that offers a kernel, or a new one where none does."""
        texts = self._texts
        if not texts:
            return self._programs[0]
        offering = [program for program in texts if name in program.offered]
        if not offering:
            plain = plain_name(name)
            declaring = [
                program
                for program in texts
                if any(kernel.name == plain for kernel in program.source.kernels)
            ]
            program = (declaring or texts)[0].offering(name)
            if program not in self._programs:
                self._programs.append(program)
            return program
        sources = {program.source.directory + program.source.name for program in offering}
        if len(sources) > 1:
            files = ", ".join(repr(program.source.name) for program in offering)
            raise ArgumentValueError(
                f"Several files have a kernel '{name}': {files}.\n  Hint: load them one by one."
            )
        return offering[0]

    @property
    def _texts(self) -> list[RawProgram]:
        return [program for program in self._programs if isinstance(program, RawProgram)]

    def _variable(self, backend: Backend, name: str) -> Variable:
        owners = [program for program in self._texts if name in program.variables]
        return (owners or self._programs)[0].variable(backend, name)

    def get_global(self, name: str, *, backend: BackendName | None = None) -> Any:
        """Return a pointer to a ``__constant__`` or ``__device__`` variable on the current device:
        on a GPU a `cupy.cuda.MemoryPointer`, on the host its array (see :meth:`get_array`).
        """
        chosen = foreign_arrays.backend_named(backend)
        if chosen.capabilities.in_host_memory:
            return self.get_array(name, backend=chosen.name)
        variable = self._variable(chosen, name)
        return chosen.variable_pointer(variable.address, variable.size, self)

    def get_array(self, name: str, *, backend: BackendName | None = None) -> Any:
        """Return a ``__constant__`` or ``__device__`` variable as an array that shares its memory.

        Each backend and each device has variables of its own.

        Parameters
        ----------
        name : str
        backend : {"host", "cuda"}, optional
            By default the GPU where CuPy is imported and has one, else the host.

        Returns
        -------
        array
            Of the variable's type and extents; of bytes where these are not known. On the host
            that of a const variable is read-only.

        Raises
        ------
        ArgumentValueError
            There is no such variable.
        """
        chosen = foreign_arrays.backend_named(backend)
        variable = self._variable(chosen, name)
        dtype, shape = variable.as_array()
        array = chosen.variable_array(variable.address, dtype, shape, self)
        if variable.is_const and chosen.capabilities.in_host_memory:
            array.flags.writeable = False  # it may lie in memory that cannot be written
        return array

    def compile(
        self, log_stream: TextIO | None = None, *, backend: BackendName | None = None
    ) -> None:
        """Compile the module and load it. Parameters as for `RawKernel.compile`."""
        chosen = foreign_arrays.backend_named(backend)
        logged(log_stream, lambda: [program.module(chosen) for program in self._programs])

    def compile_for(self, target: str) -> ObjectCode:
        """Return object code for ``"sm_90"`` (cubin), ``"compute_90"`` (PTX), ``"lto_90"``
        (LTO-IR) or ``"host"``, without a device.
        """
        if not self._texts:
            raise ArgumentValueError("'compile_for' needs a text, and the module is compiled.")
        files = {program.source.directory + program.source.name for program in self._texts}
        if len(files) > 1:
            raise ArgumentValueError(
                "'compile_for' makes one object code, and there are several files.\n"
                "  Hint: load them one by one."
            )
        return self._texts[0].build(target)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that the module offers; of a text only."""
        return tuple(dict.fromkeys(name for program in self._texts for name in program.offered))

    @property
    def code(self) -> str | None:
        """The text; None for a compiled module."""
        return self._texts[0].source.code if self._texts else None

    @property
    def file_path(self) -> str | None:
        """The path of a compiled module; None for a text."""
        first = self._programs[0]
        return str(first.path) if isinstance(first, BinaryProgram) else None

    @property
    def options(self) -> tuple[str, ...]:
        """The compile options."""
        return self._texts[0].source.options if self._texts else ()

    @property
    def backend(self) -> str:
        """The compiler for GPUs: ``"nvrtc"`` or ``"nvcc"``."""
        return self._texts[0].source.compiler if self._texts else "nvrtc"

    @property
    def name_expressions(self) -> tuple[str, ...] | None:
        """The kernels that were asked for; None for all."""
        return self._texts[0].expressions if self._texts else None

    @property
    def module(self) -> Any:
        """The loaded module on the current device."""
        return self._programs[0].module(foreign_arrays.default_backend())[0]


def checked_names(names: Any) -> tuple[str, ...] | None:
    """Return name expressions as a tuple; raises ArgumentTypeError where they are none."""
    if names is None:
        return None
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(f"'name_expressions' must be a sequence of str, not {names!r}.")
    return tuple(names)
