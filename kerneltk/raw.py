"""Kernels from CUDA C++: from source, from ``.cu`` files and from compiled modules."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import LaunchMode
from kerneltk.core.artifacts import BackendName, ObjectCode, checked_text
from kerneltk.core.recorders import current_recorder, recorders
from kerneltk.core.records import Memo
from kerneltk.cuda_cpp.kernel import RawDispatcher
from kerneltk.cuda_cpp.module import BinaryProgram, ModulePrograms, read_programs
from kerneltk.cuda_cpp.options import (
    checked_compiler,
    checked_links,
    checked_names,
    lasting_options,
    template_argument,
)
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.signature import LoadedKernel
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.cuda_cpp.syntax.declarations import sample_arguments
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CompileError,
    NoSuchKernelError,
    SourceNotFoundError,
)
from kerneltk.interop.streams import stream_handle, stream_in_brackets
from kerneltk.launch.called import Called, common_calls
from kerneltk.launch.dispatch import given_arguments
from kerneltk.launch.launch_config import as_extents, covering_grid

if TYPE_CHECKING:
    from kerneltk.launch.explanation import KernelExplanation

__all__ = ["CudaFile", "KernelTemplate", "RawKernel", "RawModule", "load"]


_CUCOMPLEX = re.compile(r"(#[ \t]*include[ \t]*)<[ \t]*cuComplex\.h[ \t]*>")
# What CuPy includes in sources that it translates, and in no others.
_CUPYS_HEADERS = tuple(
    f"--pre-include=cupy/{name}"
    for name in ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h")
)


def _checked_source(
    code: Any, options: Any, backend: Any, translate_cucomplex: bool, link: Sequence[Any] = ()
) -> RawSource:
    code = checked_text("code", code, "surrogateescape")
    chosen = lasting_options(options)
    if translate_cucomplex:
        code = _CUCOMPLEX.sub(r"\1<cuComplex_bridge.h>", code)
        chosen = (*_CUPYS_HEADERS, *chosen)
    compiler = checked_compiler(backend)
    return RawSource(code, "code", chosen, compiler, links=checked_links(link, compiler))


def _write_log(stream: TextIO | None, load: Callable[[], str]) -> None:
    """Write the log that `load` returns, or its CompileError's, to a stream, if any."""
    log = ""
    try:
        log = load()
    except CompileError as error:
        log = error.log
        raise
    finally:
        if stream is not None and log:
            stream.write(log.rstrip("\n") + "\n")


class _MadeFromSource:
    """What a kernel or a module was made from."""

    _program: RawProgram | BinaryProgram

    @property
    def code(self) -> str | None:
        """The source; None for a compiled module."""
        return self._program.source.code if isinstance(self._program, RawProgram) else None

    @property
    def file_path(self) -> str | None:
        """The path of a compiled module; None for a source."""
        return str(self._program.path) if isinstance(self._program, BinaryProgram) else None

    @property
    def options(self) -> tuple[str, ...]:
        """The compile options."""
        given = self._program.source.options if isinstance(self._program, RawProgram) else ()
        return tuple(option for option in given if option not in _CUPYS_HEADERS)

    @property
    def backend(self) -> str:
        """The compiler for GPUs: ``"nvrtc"`` or ``"nvcc"``."""
        return self._program.source.compiler if isinstance(self._program, RawProgram) else "nvrtc"


def _attribute(name: str, doc: str, *, is_settable: bool = False) -> Any:
    """A property: one of `RawKernel.attributes`."""

    def get(self: RawKernel) -> int:
        return self.attributes[name]

    def put(self: RawKernel, value: int) -> None:
        loaded = self._loaded()
        loaded.backend.set_attribute(loaded.function, name, int(value))

    return property(get, put if is_settable else None, doc=doc)


@common_calls("on grid")
class RawKernel(Called, _MadeFromSource):
    """A kernel from CUDA C++ source.

    Called with CuPy arrays it is compiled by NVRTC and runs on the current GPU; called with NumPy
    arrays it is compiled for this machine and runs on its cores, barriers, shared memory, warp
    functions and atomics included. Every launch is checked against the kernel's own signature
    before anything is touched.

    Parameters
    ----------
    code : str
        CUDA C++ source.
    name : str
        The kernel's name, or a name expression: ``"saxpy"``, ``"ns::f"``, ``"scale<float, 4>"``.
    options : tuple of str
        Compile options as NVRTC (or nvcc) takes them, for example ``("-DN=4",)``. The standard is
        C++17 where none is given.
    backend : {"nvrtc", "nvcc"}
        The compiler for GPUs.
    translate_cucomplex : bool
        Whether ``#include <cuComplex.h>`` of the source gives its names to ``complex<T>``, which
        has operators. Such a source sees CuPy's headers without an include, too.
    enable_cooperative_groups : bool
        Whether every launch is cooperative, so that ``grid.sync()`` works.
    jitify : bool, optional
        Kept for programs written for CuPy: has no effect.
    checks : bool, optional
        Whether launches check their arguments (keyword only); by default `raw_checks` and
        ``KERNELTK_RAW_CHECKS`` decide.
    exited_threads : {"error", "arrive"}
        What a thread that has left the kernel means at a barrier that others wait at, on the host:
        CUDA leaves it undefined; GPUs count it as arrived.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        A parameter has a type or a value that it cannot have. Errors in the source come when the
        kernel is compiled, at its first launch or by :meth:`compile`.

    Examples
    --------
    >>> import numpy as np
    >>> saxpy = RawKernel(r'''
    ... extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) y[i] = a * x[i] + y[i];
    ... }
    ... ''', "saxpy")
    >>> x = np.arange(5, dtype=np.float32)
    >>> y = np.ones(5, np.float32)
    >>> saxpy((1,), (8,), (5, 2, x, y))
    >>> y
    array([1., 3., 5., 7., 9.], dtype=float32)
    """

    __slots__ = ("_dispatcher",)  # calls read it

    def __init__(
        self,
        code: str,
        name: str,
        options: Sequence[str] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        *,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
        checks: bool | None = None,
        exited_threads: Literal["error", "arrive"] = "error",
    ) -> None:
        source = _checked_source(code, options, backend, translate_cucomplex)
        name = source.whole_name(checked_text("name", name))
        is_unknown = name.startswith("_Z") and not source.declares(name)
        self._set_up(
            # The object code of the whole source may have a mangled name that it does not declare.
            RawProgram(source, None if is_unknown else [name]),
            name,
            bool(enable_cooperative_groups),
            checks,
            exited_threads,
            translate_cucomplex,
        )

    def _set_up(
        self,
        program: RawProgram | BinaryProgram,
        name: str,
        cooperative: bool,
        checks: bool | None,
        exited_threads: str,
        translate_cucomplex: bool = False,
    ) -> None:
        if exited_threads not in ("error", "arrive"):
            raise ArgumentValueError(
                f"'exited_threads' must be 'error' or 'arrive', not {exited_threads!r}."
            )
        self._program = program
        self.name = name
        self.enable_cooperative_groups = cooperative
        self.translate_cucomplex = bool(translate_cucomplex)
        self._exited_threads = exited_threads
        mode = LaunchMode(cooperative, exited_arrive=exited_threads == "arrive")
        self._dispatcher = RawDispatcher(program, name, mode, checks)

    @classmethod
    def _of(cls, *settings: Any) -> RawKernel:
        kernel = cls.__new__(cls)
        kernel._set_up(*settings)
        return kernel

    @property
    def checks(self) -> bool | None:
        """Whether launches check their arguments; None leaves it to `raw_checks`. Can be set."""
        return self._dispatcher.checks

    @checks.setter
    def checks(self, value: bool | None) -> None:
        # Launchers have the checks in them: all are made anew.
        self._dispatcher = RawDispatcher(self._program, self.name, self._dispatcher.mode, value)

    # -- launching ---------------------------------------------------------------------------------

    def __call__(
        self,
        grid: Any,
        block: Any,
        args: Any,
        *more: Any,
        shared_mem: int = 0,
        stream: Any = None,
        **mode: Any,
    ) -> None:
        """Launch the kernel.

        Parameters
        ----------
        grid : int or tuple of int
            Blocks along x, y and z. As with CuPy, 0 counts as 1, here and in `block`.
        block : int or tuple of int
            Threads of a block along x, y and z.
        args : tuple
            One argument a parameter: arrays (for pointers; C- or Fortran-contiguous), None (a null
            pointer), Python and NumPy numbers, structured scalars, complex numbers, textures.
            An array in its place is the only argument.
        shared_mem : int
            Dynamic shared memory of a block (bytes).
        stream : optional
            A stream of any library, or a handle; if not given, the current one of the library
            whose arrays they are. The host runs at once.
        cooperative, programmatic : bool
            Whether all blocks are resident at once; whether the grid may begin while the one
            before it ends.
        cluster : int or tuple of int
            Blocks of a thread block cluster.
        exited_arrive : bool
            As ``exited_threads="arrive"`` for this launch.
        checks : bool
            Whether the arguments of this launch are checked.
        backend : {"host", "cuda"}
            Where a launch without arrays runs.

        Raises
        ------
        ArgumentTypeError
            Wrong number of arguments, a wrong dtype or type, arrays in the wrong place.
        ArgumentValueError
            An array with gaps, read-only, freed or on another device; a grid, a block or shared
            memory that the device does not have.
        ScalarOverflowError
            A number is beyond the range of its parameter.
        CompileError
            The source does not compile.
        LaunchError
            The launch failed, or on the host: a barrier that not all threads reach, an access
            outside of memory, a failed assertion.
        """
        if more:
            raise ArgumentTypeError(
                f"The arguments of kernel '{self.name}' must be one tuple.\n"
                f"  Hint: write kernel(grid, block, (x, y, ...)), with 'shared_mem' by name."
            )
        handle = None if stream is None else stream_handle(stream)
        if recorders and (recorder := current_recorder()) is not None:
            recorder.call(self._dispatcher.recordable(grid, block, args, shared_mem, mode))
            return
        run = self._dispatcher.variant(mode) if mode else self._dispatcher.recent
        run(grid, block, args, shared_mem, handle)

    # -- other ways to say the grid ------------------------------------------------------------

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        """Return a function of the kernel's arguments: ``kernel[grid, block](x, y, n)``.

        As in numba, the configuration is ``grid, block[, stream[, shared_mem]]``. The function also
        takes what :meth:`__call__` does by keyword, which decides.
        """
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise ArgumentValueError(
                f"Kernel '{self.name}' is configured by [grid, block], "
                "[grid, block, stream] or [grid, block, stream, shared_mem]."
            )
        grid, block, *rest = configuration
        stream = stream_in_brackets(rest[0] if rest else None)
        shared = rest[1] if len(rest) > 1 else 0

        def launch(*args: Any, **words: Any) -> None:
            self(grid, block, args, **{"shared_mem": shared, "stream": stream, **words})

        return launch

    def over(self, threads: Any, block: Any = None) -> Callable[..., None]:
        """Return a function of the kernel's arguments that launches at least so many threads.

        Parameters
        ----------
        threads : int or tuple of int
            Threads along x, y and z; where one is 0, nothing is launched.
        block : int or tuple of int, optional
            Threads of a block; by default chosen by the occupancy calculator, along x.

        Returns
        -------
        callable
            Takes the arguments, and by keyword what :meth:`__call__` does, such as ``stream``.

        Examples
        --------
        >>> import numpy as np
        >>> code = r'''
        ... extern "C" __global__ void twice(float* x, int n) {
        ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
        ...     if (i < n) x[i] *= 2;
        ... }
        ... '''
        >>> x = np.ones(1000, np.float32)
        >>> RawKernel(code, "twice").over(1000)(x, 1000)
        >>> x.sum()
        np.float32(2000.0)
        """
        wanted = as_extents(threads, "number of threads", self.name, 0)

        def launch(*args: Any, **words: Any) -> None:
            extents = block
            if 0 in wanted:
                return
            if extents is None:
                shared = words.get("shared_mem", 0)
                extents = self._dispatcher.suggest_block(args, shared, words.get("backend"))
            shape = as_extents(extents, "block", self.name)
            self(covering_grid(wanted, shape), shape, args, **words)

        return launch

    # -- what it is ----------------------------------------------------------------------------

    def compile(
        self, log_stream: TextIO | None = None, *, backend: BackendName | None = None
    ) -> None:
        """Compile the kernel and load it, which a launch does by itself.

        Parameters
        ----------
        log_stream : file object, optional
            Where the compiler's messages are written, warnings included, also where the kernel
            comes from a cache.
        backend : {"host", "cuda"}, optional
            By default the GPU where CuPy is imported and has one, else the host.
        """
        _write_log(log_stream, lambda: self._loaded(backend).log)

    def compile_for(self, target: str) -> ObjectCode:
        """Return object code for ``"sm_90"`` (cubin), ``"compute_90"`` (PTX), ``"lto_90"``
        (LTO-IR) or ``"host"``, without a device.
        """
        return self._program.build(target)

    def explain(
        self, grid: Any, block: Any, args: Sequence[Any], shared_mem: int = 0,
        *, target: str | None = None,
    ) -> KernelExplanation:  # fmt: skip
        """Explain a launch, without one: the bytes of its arrays, and of a GPU the registers and
        how many threads of a multiprocessor are resident.

        Parameters
        ----------
        grid, block, args, shared_mem
            As in a launch; an `ArraySpec` stands for an array.
        target : str, optional
            ``"sm_90"`` or ``"host"``; by default as of `ElementwiseKernel.explain`.

        Raises
        ------
        CompileError, BackendUnavailableError, ArgumentTypeError, ArgumentValueError
            As :meth:`compile_for`, and as a launch for its grid and block.
        """
        from kerneltk.launch.explanation import explained_grid, target_for

        args = given_arguments(self.name, args)
        target = target or target_for(args)
        build = self._program.build
        return explained_grid(self.name, args, grid, block, build, target, shared_mem)

    @property
    def signature(self) -> str:
        """The kernel's name and parameters, as the source declares them."""
        declared = self._program.declared_parameters(self.name)
        return f"{self.name}({', '.join(parameter.declared for parameter in declared)})"

    @property
    def comment(self) -> str:
        """The comment above the kernel in its source."""
        if not isinstance(self._program, RawProgram):
            return ""
        found = self._program.source.declared(self.name, None)
        return found[1].doc if found else ""

    # -- its function on the current device, by CuPy's names ------------------------------------

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

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.signature}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Kernels are pickled as what they were made from."""
        return RawKernel._of, (
            self._program, self.name, self.enable_cooperative_groups, self.checks,
            self._exited_threads, self.translate_cucomplex,
        )  # fmt: skip


class RawModule(_MadeFromSource):
    """Kernels and variables from one CUDA C++ source, or from a compiled module.

    Parameters
    ----------
    code : str, optional
        CUDA C++ source.
    path : str or os.PathLike, optional
        PTX or a cubin instead; these run on GPUs only.
    options, backend, translate_cucomplex, enable_cooperative_groups, jitify, checks,
    exited_threads
        As for `RawKernel`.
    name_expressions : sequence of str, optional
        The kernels that the module offers, templates with their arguments. By default all kernels
        that are not templates.
    link : sequence of ObjectCode, bytes, str or os.PathLike
        Object code for GPUs that defines what the source only declares (``extern "C" __device__
        float f(float);``): what ``compile_for`` returned, what ``numba.cuda.compile(...,
        abi="c", output="ltoir")[0]`` returned, or paths of ``.ltoir``, ``.ptx``, ``.cubin``,
        ``.fatbin``, ``.o`` and ``.a``. It is linked, and optimized where it is LTO-IR, as one
        program with the source. PTX and cubins must be relocatable (``-rdc=true``).

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
        checks: bool | None = None,
        exited_threads: Literal["error", "arrive"] = "error",
    ) -> None:
        if (code is None) == (path is None):
            raise ArgumentTypeError("Exactly one of 'code' and 'path' must be given.")
        program: RawProgram | BinaryProgram
        if path is not None:
            if name_expressions:
                raise ArgumentValueError("'name_expressions' need a source, not a compiled module.")
            if link:
                raise ArgumentValueError("'link' needs a source, not a compiled module.")
            if not isinstance(path, str | os.PathLike):
                raise ArgumentTypeError(f"'path' must be the path of a file, not {path!r}.")
            try:
                program = BinaryProgram(Path(path))
            except SourceNotFoundError as error:
                raise foreign_arrays.default_backend().own_error(error) from error.__cause__
        else:
            source = _checked_source(code, options, backend, translate_cucomplex, link)
            program = RawProgram(source, checked_names(name_expressions), c_names=True)
        self._set_up(
            [program], enable_cooperative_groups, checks, exited_threads, translate_cucomplex
        )

    def _set_up(
        self,
        programs: Sequence[RawProgram | BinaryProgram],
        cooperative: bool,
        checks: bool | None,
        exited_threads: str,
        translate_cucomplex: bool = False,
    ) -> None:
        self._programs = ModulePrograms(programs)
        self._program = programs[0]
        self._functions = Memo()
        self.enable_cooperative_groups = bool(cooperative)
        self.translate_cucomplex = bool(translate_cucomplex)
        self.checks = checks
        self._exited_threads = exited_threads

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name or name expression.

        Raises
        ------
        NoSuchKernelError
            The source has no kernel of that name. In a program that has imported CuPy, and has a
            GPU, it is also CuPy's ``CUDADriverError``.
        ArgumentValueError
            The module is in use, has variables, and was made without it.
        """

        def make() -> RawKernel:
            whole = self._programs.whole_name(name)
            try:
                program = self._programs.owner(whole)
            except NoSuchKernelError as error:
                raise foreign_arrays.default_backend().own_error(error) from None
            return RawKernel._of(
                program, whole, self.enable_cooperative_groups, self.checks, self._exited_threads,
                self.translate_cucomplex,
            )  # fmt: skip

        kernel: RawKernel = self._functions.of(checked_text("name", name), make)
        return kernel

    def get_global(self, name: str, *, backend: BackendName | None = None) -> Any:
        """Return a pointer to a ``__constant__`` or ``__device__`` variable on the current device:
        on a GPU a `cupy.cuda.MemoryPointer`, on the host its array (see :meth:`get_array`).
        """
        chosen = foreign_arrays.backend_named(backend)
        if chosen.capabilities.in_host_memory:
            return self.get_array(name, backend=chosen.name)
        variable = self._programs.variable(chosen, name)
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
        variable = self._programs.variable(chosen, name)
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
        for program in self._programs.all:
            _write_log(log_stream, partial(program.load, chosen))

    def compile_for(self, target: str) -> ObjectCode:
        """Return object code for ``"sm_90"`` (cubin), ``"compute_90"`` (PTX), ``"lto_90"``
        (LTO-IR) or ``"host"``, without a device.
        """
        return self._programs.build(target)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that the module offers; of a source only."""
        return self._programs.offered

    @property
    def name_expressions(self) -> tuple[str, ...] | None:
        """The kernels that were asked for; None for all."""
        return self._program.expressions if isinstance(self._program, RawProgram) else None

    @property
    def module(self) -> Any:
        """The loaded module on the current device."""
        return self._program.module(foreign_arrays.default_backend())[0]


class KernelTemplate:
    """A template of kernels in a ``.cu`` file: ``template["float", 4]`` is a kernel."""

    def __init__(
        self, module: CudaFile, name: str, parameters: tuple[str, ...], comment: str = ""
    ) -> None:
        self._module = module
        self.name = name
        self.parameters = parameters
        self.__doc__ = "\n\n".join(filter(None, (self._advice(), comment)))

    def _advice(self) -> str:
        given = [repr(a) if a[0].isalpha() else a for a in sample_arguments(self.parameters)]
        example = f"{self.name.rpartition('::')[2]}[{', '.join(given) or repr('float')}](...)"
        return (
            f"'{self.name}' is a template of <{', '.join(self.parameters)}>.\n"
            f"  Hint: name its arguments: {example}."
        )

    def __getitem__(self, arguments: Any) -> RawKernel:
        """Return the kernel with these template arguments: types (C spellings, or dtypes) and
        constants.
        """
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        spelled = ", ".join(map(template_argument, given))
        return self._module.get_function(f"{self.name}<{spelled}>")

    def __call__(self, *args: Any, **words: Any) -> None:
        """Raise ArgumentTypeError: a template is no kernel yet."""
        raise ArgumentTypeError(self._advice())

    def __repr__(self) -> str:
        return f"<template <{', '.join(self.parameters)}> {self.name}>"


class CudaFile(RawModule):
    """The kernels of ``.cu`` files as attributes; made by :func:`load`."""

    def __init__(self, programs: Sequence[RawProgram], **settings: Any) -> None:
        self._set_up(programs, **settings)

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name or name expression.

        Raises
        ------
        ArgumentValueError
            There is no such kernel, or several files have one; or it is a template, the file has
            variables and is in use, and its arguments were not named when it was loaded.
        """
        kernel = super().get_function(name)
        kernel.__doc__ = "\n\n".join(filter(None, (kernel.signature, kernel.comment)))
        return kernel

    def __getitem__(self, name: str) -> Any:
        """Return the member of that name. Kernels whose names this class has itself, such as
        ``options``, and those of `kernels` by their whole names are found here only.
        """
        return self._member(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_programs" not in self.__dict__:
            raise AttributeError(name)
        member = self.__dict__[name] = self._member(name)
        return member

    def _member(self, name: str) -> Any:
        known = self._programs.last_names
        # FN(sq) is the name of a kernel that only the compiler can tell.
        if name not in known and (name in self.kernels or any("(" in other for other in known)):
            return self.get_function(name)
        kernel = self._programs.declared(name)
        if kernel.template_parameters:
            return KernelTemplate(self, kernel.name, kernel.template_parameters, kernel.doc)
        return self.get_function(kernel.name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._programs.last_names})

    def __repr__(self) -> str:
        return f"<kernels of {self._programs.title}: {', '.join(self.kernels)}>"


def load(
    *paths: str | os.PathLike[str],
    options: Sequence[str] = (),
    backend: str = "nvrtc",
    enable_cooperative_groups: bool = False,
    name_expressions: Sequence[str] | None = None,
    checks: bool | None = None,
    exited_threads: Literal["error", "arrive"] = "error",
    link: Sequence[Any] = (),
) -> CudaFile:
    """Return the kernels of ``.cu`` files as attributes of one object.

    Functions that run on the host (``main``, what launches with ``<<<...>>>``) may stand in the
    files; they are left out. A call after a file or one of its headers has changed compiles anew,
    and what was returned before stays as it was.

    Parameters
    ----------
    *paths : str or os.PathLike
        One or more files; each is a translation unit of its own.
    options : sequence of str
        Compile options; the file's directory is searched for headers first.
    backend, enable_cooperative_groups, checks, exited_threads
        As for `RawKernel`.
    name_expressions : sequence of str, optional
        Templates with their arguments that are wanted beside the kernels that are none.
    link : sequence of ObjectCode, bytes, str or os.PathLike
        As for `RawModule`; each file is linked with all of them.

    Returns
    -------
    CudaFile
        Its attributes are the kernels by their names, its templates are subscripted:
        ``module.scale["float", 4]``.

    Raises
    ------
    ArgumentValueError
        A file cannot be read.
    """
    if not paths:
        raise ArgumentTypeError("'load' needs the path of a file.")
    compiler = checked_compiler(backend)
    programs = read_programs(
        paths,
        lasting_options(options),
        compiler,
        checked_links(link, compiler),
        checked_names(name_expressions) or (),
    )
    return CudaFile(
        programs,
        cooperative=enable_cooperative_groups,
        checks=checks,
        exited_threads=exited_threads,
    )
