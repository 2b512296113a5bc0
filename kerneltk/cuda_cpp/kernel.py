"""A kernel from CUDA C++ text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from marshal import dumps
from typing import Any, Literal, TextIO

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend, LaunchMode
from kerneltk.backends.registry import capabilities_of
from kerneltk.core.artifacts import BackendName, ObjectCode
from kerneltk.core.compile_log import written_to
from kerneltk.cuda_cpp.arguments import passing_of, wrong_count
from kerneltk.cuda_cpp.binary import BinaryProgram
from kerneltk.cuda_cpp.launcher import LoadedKernel, make_launcher
from kerneltk.cuda_cpp.options import with_absolute_directories
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.signature import RawParameter
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CompileError,
    render_message,
)
from kerneltk.interop.streams import stream_handle, stream_in_brackets
from kerneltk.launch.launch_config import as_extents, covering_grid

__all__ = ["RawKernel", "checked_compiler", "checked_options", "logged"]


def checked_options(options: Any) -> tuple[str, ...]:
    """Return compile options as a tuple, directories in them as they are found from here; raises
    ArgumentTypeError where they are none.
    """
    if not isinstance(options, Sequence) or isinstance(options, str):
        raise ArgumentTypeError(f"'options' must be a sequence of str, not {options!r}.")
    if not all(isinstance(option, str) for option in options):
        raise ArgumentTypeError(f"'options' must be a sequence of str, not {options!r}.")
    return with_absolute_directories(options)


def checked_compiler(backend: Any) -> Literal["nvrtc", "nvcc"]:
    """Return the compiler for GPUs; raises ArgumentValueError for another."""
    if backend not in ("nvrtc", "nvcc"):
        raise ArgumentValueError(f"'backend' must be 'nvrtc' or 'nvcc', not {backend!r}.")
    return "nvcc" if backend == "nvcc" else "nvrtc"


def _is_array(value: Any) -> bool:
    return hasattr(value, "strides") and value.ndim > 0


def _is_plain(value: Any) -> bool:
    """Return whether no other value is written as the same bytes."""
    return value is None or type(value) in (bool, str, int)


_NO_WORDS = b""
_MOST_VARIANTS = 64


def _checked_mode(kernel: str, mode: dict[str, Any]) -> LaunchMode:
    cluster = mode.get("cluster")
    cluster = () if cluster is None or cluster == () else as_extents(cluster, "cluster", kernel)
    return LaunchMode(
        mode["cooperative"],
        () if cluster == (1, 1, 1) else cluster,
        mode.get("programmatic", False),
        mode.get("exited_arrive", False),
    )


def _checked_flag(kernel: str, word: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(
            f"'{word}' of kernel '{kernel}' must be True or False, not {value!r}."
        )
    return bool(value)


_FLAGS = ("cooperative", "programmatic", "exited_arrive", "checks")
_MODE_WORDS = ("cooperative", "cluster", "programmatic", "exited_arrive", "checks", "backend")


class RawKernel:
    """A kernel from CUDA C++ text.

    Called with CuPy arrays it is compiled by NVRTC and runs on the current GPU; called with NumPy
    arrays it is compiled for this machine and runs on its cores, barriers, shared memory, warp
    functions and atomics included. Every launch is checked against the kernel's own signature
    before anything is touched.

    Parameters
    ----------
    code : str
        CUDA C++ text.
    name : str
        The kernel's name, or a name expression: ``"saxpy"``, ``"ns::f"``, ``"scale<float, 4>"``.
    options : tuple of str
        Compile options as NVRTC (or nvcc) takes them, for example ``("-DN=4",)``. The standard is
        C++17 where none is given.
    backend : {"nvrtc", "nvcc"}
        The compiler for GPUs.
    translate_cucomplex : bool
        Kept for programs written for CuPy: ``cuComplex.h`` is taken as it is on both backends.
    enable_cooperative_groups : bool
        Whether every launch is cooperative, so that ``grid.sync()`` works.
    jitify : bool, optional
        Kept for programs written for CuPy: has no effect.
    checks : bool
        Whether launches check their arguments (keyword only).
    exited_threads : {"error", "arrive"}
        What a thread that has left the kernel means at a barrier that others wait at, on the host:
        CUDA leaves it undefined; GPUs count it as arrived.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        A parameter has a type or a value that it cannot have. Errors in the text come when the
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
        checks: bool = True,
        exited_threads: Literal["error", "arrive"] = "error",
    ) -> None:
        if not isinstance(code, str) or not isinstance(name, str):
            raise ArgumentTypeError("'code' and 'name' must be str.")
        source = RawSource(code, "code", checked_options(options), checked_compiler(backend))
        self._set_up(
            RawProgram(source, [name]),
            name,
            bool(enable_cooperative_groups),
            checks,
            exited_threads,
        )
        self.translate_cucomplex = bool(translate_cucomplex)

    def _set_up(
        self,
        program: RawProgram | BinaryProgram,
        name: str,
        cooperative: bool,
        checks: bool,
        exited_threads: str,
    ) -> None:
        if exited_threads not in ("error", "arrive"):
            raise ArgumentValueError(
                f"'exited_threads' must be 'error' or 'arrive', not {exited_threads!r}."
            )
        self._program = program
        self.name = name
        self.enable_cooperative_groups = cooperative
        self.translate_cucomplex = False
        self._checks = _checked_flag(name, "checks", checks)
        self._exited_threads = exited_threads
        self._mode = LaunchMode(cooperative, exited_arrive=exited_threads == "arrive")
        self._forget()

    def _forget(self) -> None:
        self._launchers: dict[Any, Callable[..., None]] = {}
        self._variants: dict[Any, Callable[..., None]] = {}
        self._recent: Callable[..., None] = functools.partial(
            self._dispatch, _NO_WORDS, self._mode, self._checks, None
        )

    @property
    def checks(self) -> bool:
        """Whether launches check their arguments; can be set."""
        return self._checks

    @checks.setter
    def checks(self, value: bool) -> None:
        self._checks = _checked_flag(self.name, "checks", value)
        self._forget()

    @classmethod
    def _of(
        cls,
        program: RawProgram | BinaryProgram,
        name: str,
        cooperative: bool,
        checks: bool,
        exited_threads: str,
        translate_cucomplex: bool,
    ) -> RawKernel:
        kernel = cls.__new__(cls)
        kernel._set_up(program, name, cooperative, checks, exited_threads)
        kernel.translate_cucomplex = translate_cucomplex
        return kernel

    # -- launching ---------------------------------------------------------------------------------

    def __call__(
        self,
        grid: Any,
        block: Any,
        args: Any,
        *,
        shared_mem: int = 0,
        stream: Any = None,
        **mode: Any,
    ) -> None:
        """Launch the kernel.

        Parameters
        ----------
        grid : int or tuple of int
            Blocks along x, y and z; at least one along each.
        block : int or tuple of int
            Threads of a block along x, y and z.
        args : tuple
            One argument a parameter: arrays (for pointers; C- or Fortran-contiguous), None (a null
            pointer), Python and NumPy numbers, structured scalars, complex numbers, textures.
        shared_mem : int
            Dynamic shared memory of a block (bytes).
        stream : optional
            A stream of CuPy, torch or numba, or a handle; if not given, the current one of the
            library whose arrays they are. The host runs at once.
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
            The text does not compile.
        LaunchError
            The launch failed, or on the host: a barrier that not all threads reach, an access
            outside of memory, a failed assertion.
        """
        handle = stream if stream is None else stream_handle(stream)
        run = self._variant(mode) if mode else self._recent
        run(grid, block, args, shared_mem, handle)

    def _variant(self, words: dict[str, Any]) -> Callable[..., None]:
        """Return what launches with these keywords: the last launcher, or what finds one."""
        try:
            slot = dumps(words, 2)  # 1 and True, which are equal, differ there
            known = self._variants.get(slot)
        except ValueError:  # objects of other kinds
            slot, known = None, None
        if known is not None:
            return known
        for word in words:
            if word not in _MODE_WORDS:
                raise ArgumentTypeError(
                    f"A launch of kernel '{self.name}' takes no keyword '{word}'.\n"
                    f"  Hint: it takes shared_mem, stream, {', '.join(_MODE_WORDS)}."
                )
        backend = words.get("backend")
        if backend is not None:
            capabilities_of(backend)
        flags = {
            word: _checked_flag(self.name, word, words[word]) for word in _FLAGS if word in words
        }
        mode = _checked_mode(self.name, {**_mode_words(self._mode), **words, **flags})
        checks = flags.get("checks", self._checks)
        kept = slot if all(map(_is_plain, words.values())) else None
        return functools.partial(self._dispatch, kept, mode, checks, backend)

    def _dispatch(
        self,
        slot: bytes | None,
        mode: LaunchMode,
        checks: bool,
        backend: BackendName | None,
        grid: Any,
        block: Any,
        args: Any,
        shared: int = 0,
        stream: int | None = None,
    ) -> None:
        """Launch by the launcher for these types, which is made if there is none."""
        if not isinstance(args, tuple | list):
            raise ArgumentTypeError(
                f"The arguments of kernel '{self.name}' must be a tuple, not an object of type "
                f"'{type(args).__name__}'.\n  Hint: a tuple of one is written '(x,)'."
            )
        chosen, values, adoption = self._adopt(args, backend)
        types = tuple(map(type, values))
        key = (types, mode, checks, backend, chosen.name, chosen.device_key())
        run = self._launchers.get(key)
        if run is None:
            loaded = self._program.kernel(chosen, self.name)
            mistyped = functools.partial(self._dispatch, slot, mode, checks, backend)
            run = self._launchers[key] = self._launcher(loaded, types, mode, checks, mistyped)
        # Where nothing but the default says that it is the host, a later launch may go elsewhere.
        if backend or not chosen.capabilities.is_fallback or any(map(_is_array, values)):
            if slot == _NO_WORDS:
                self._recent = run
            elif slot is not None and len(self._variants) < _MOST_VARIANTS:
                self._variants[slot] = run
        if checks:
            self._check_writes(adoption, chosen)
        with adoption.launching(stream) as handle:
            run(grid, block, values, shared, handle)

    def _check_writes(self, adoption: foreign_arrays.Adoption, backend: Backend) -> None:
        """Raise for another library's array that the kernel may write to and must not."""

        def parameter(index: int) -> RawParameter:
            return self._program.kernel(backend, self.name).signature.parameters[index]

        def is_written(index: int) -> bool:
            kind = parameter(index).type
            return kind is not None and kind.kind == "pointer" and not kind.pointee_const

        adoption.check_writes(
            is_written,
            lambda index: (parameter(index).name or f"#{index + 1}", parameter(index).snippet),
        )

    def _adopt(
        self, args: Sequence[Any], wanted: BackendName | None
    ) -> tuple[Backend, tuple[Any, ...], foreign_arrays.Adoption]:
        """Return the backend whose arrays the arguments are, the arguments as its own, and what
        orders a launch with them.
        """
        values: list[Any] = []
        owners: dict[int, Backend] = {}
        adoption = foreign_arrays.Adoption()
        for index, argument in enumerate(args):
            own, value = adoption.take(argument, index)
            is_scalar = isinstance(argument, np.ndarray) and argument.ndim == 0
            if own is not None and not is_scalar:
                owners[index] = own
            values.append(value)
        chosen = self._place_of(owners)
        if chosen is None:
            chosen = foreign_arrays.backend_named(wanted)
        elif wanted not in (None, chosen.name):
            raise ArgumentTypeError(
                f"Kernel '{self.name}' was to run on '{wanted}', and its arrays are in "
                f"{chosen.capabilities.location}."
            )
        return chosen, tuple(values), adoption

    def _place_of(self, owners: dict[int, Backend]) -> Backend | None:
        """Return the backend of the arrays among the arguments, by their places in the call.

        A NumPy array that is a struct's or a vector's value may go to another backend as well.
        """
        places = {own.name: own for own in owners.values()}
        if len(places) < 2:
            return next(iter(places.values()), None)
        declared = self._program.declared_parameters(self.name)
        device = next(k for k, own in owners.items() if not own.capabilities.is_fallback)
        for index, own in owners.items():
            is_value = index < len(declared) and not set("*&[") & set(declared[index].declared)
            if own is not owners[device] and not (own.capabilities.is_fallback and is_value):
                first, second = sorted((index, device))
                raise self._mixed_places(first, owners[first], second, owners[second])
        return owners[device]

    def _mixed_places(
        self, first: int, chosen: Backend, index: int, own: Backend
    ) -> ArgumentTypeError:
        """Return the error for arrays in different places."""
        declared = self._program.declared_parameters(self.name)
        names = [declared[k].shown if k < len(declared) else f"#{k + 1}" for k in (first, index)]
        snippet = declared[index].snippet if index < len(declared) else None
        return ArgumentTypeError(
            render_message(
                f"The array for parameter {names[0]} of kernel '{self.name}' is in "
                f"{chosen.capabilities.location}, and the one for {names[1]} is in "
                f"{own.capabilities.location}.",
                *([snippet] if snippet else []),
                hint="move one of them: 'cupy.asarray(x)' or 'cupy.asnumpy(x)'.",
            )
        )

    def _launcher(
        self,
        loaded: LoadedKernel,
        types: tuple[type, ...],
        mode: LaunchMode,
        checks: bool,
        mistyped: Callable[..., None],
    ) -> Callable[..., None]:
        signature = loaded.signature
        if len(types) != len(signature.parameters):
            raise wrong_count(signature, len(types))
        passings = [
            passing_of(signature, parameter, kind, loaded.backend, checks)
            for parameter, kind in zip(signature.parameters, types, strict=True)
        ]
        return make_launcher(loaded, passings, types, mode, checks, mistyped)

    # -- other ways to say the grid ------------------------------------------------------------

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        """Return a function of the kernel's arguments: ``kernel[grid, block](x, y, n)``.

        As in numba, the configuration is ``grid, block[, stream[, shared_mem]]``.
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
            self(grid, block, args, shared_mem=shared, stream=stream, **words)

        return launch

    def over(self, threads: Any, block: Any = None) -> Callable[..., None]:
        """Return a function of the kernel's arguments that launches at least so many threads.

        Parameters
        ----------
        threads : int or tuple of int
            Threads along x, y and z.
        block : int or tuple of int, optional
            Threads of a block; by default chosen by the occupancy calculator, along x.

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
            if extents is None:
                shared = words.get("shared_mem", 0)
                chosen = self._adopt(args, words.get("backend"))[0]
                loaded = self._program.kernel(chosen, self.name)
                extents = chosen.suggest_block(loaded.function, shared)
            shape = as_extents(extents, "block", self.name)
            self(covering_grid(wanted, shape), shape, args, **words)

        return launch

    # -- what it is ----------------------------------------------------------------------------

    def _loaded(self, backend: BackendName | None = None) -> LoadedKernel:
        chosen = foreign_arrays.backend_named(backend)
        return self._program.kernel(chosen, self.name)

    def compile(
        self, log_stream: TextIO | None = None, *, backend: BackendName | None = None
    ) -> None:
        """Compile the kernel and load it, which a launch does by itself.

        Parameters
        ----------
        log_stream : file object, optional
            Where the compiler's messages are written, warnings included; a kernel that comes from
            a cache has none.
        backend : {"host", "cuda"}, optional
            By default the GPU where CuPy is imported and has one, else the host.
        """
        logged(log_stream, lambda: self._loaded(backend))

    def compile_for(self, target: str) -> ObjectCode:
        """Return object code for ``"sm_90"`` (cubin), ``"compute_90"`` (PTX), ``"lto_90"``
        (LTO-IR) or ``"host"``, without a device.
        """
        return _text_of(self._program, "compile_for").build(target)

    @property
    def signature(self) -> str:
        """The kernel's name and parameters, as the source declares them."""
        declared = self._program.declared_parameters(self.name)
        return f"{self.name}({', '.join(parameter.declared for parameter in declared)})"

    @property
    def comment(self) -> str:
        """The comment above the kernel in its text."""
        if not isinstance(self._program, RawProgram):
            return ""
        found = self._program.source.declared(self.name, None)
        return found[1].doc if found else ""

    @property
    def code(self) -> str | None:
        """The text; None for a compiled module."""
        return self._program.source.code if isinstance(self._program, RawProgram) else None

    @property
    def file_path(self) -> str | None:
        """The path of a compiled module; None for a text."""
        return str(self._program.path) if isinstance(self._program, BinaryProgram) else None

    @property
    def options(self) -> tuple[str, ...]:
        """The compile options."""
        return self._program.source.options if isinstance(self._program, RawProgram) else ()

    @property
    def backend(self) -> str:
        """The compiler for GPUs: ``"nvrtc"`` or ``"nvcc"``."""
        return self._program.source.compiler if isinstance(self._program, RawProgram) else "nvrtc"

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

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.signature}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Kernels are pickled as what they were made from."""
        return RawKernel._of, (
            self._program, self.name, self.enable_cooperative_groups, self.checks,
            self._exited_threads, self.translate_cucomplex,
        )  # fmt: skip


def _mode_words(mode: LaunchMode) -> dict[str, Any]:
    return {
        "cooperative": mode.cooperative,
        "cluster": mode.cluster,
        "programmatic": mode.programmatic,
        "exited_arrive": mode.exited_arrive,
    }


def logged(stream: TextIO | None, work: Callable[[], object]) -> None:
    """Do what compiles something, and write the compiler's messages to a stream if there is one."""
    try:
        with written_to(stream):
            work()
    except CompileError as error:
        if stream is not None:
            stream.write(error.log)
        raise


def _text_of(program: RawProgram | BinaryProgram, what: str) -> RawProgram:
    if isinstance(program, BinaryProgram):
        raise ArgumentValueError(f"'{what}' needs a text, and '{program.path.name}' is compiled.")
    return program
