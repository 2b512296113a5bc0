"""``@cuda.jit``: kernels that are launched as numba's are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from itertools import combinations
from typing import Any

import numpy as np

from kerneltk.errors import ArgumentTypeError, ArgumentValueError, KernelToolkitError
from kerneltk.interop.protocols import member
from kerneltk.interop.streams import stream_in_brackets
from kerneltk.jit.frontends.rawkernel import (
    Configured,
    Definition,
    DeviceFunction,
    JitKernel,
    checked_bounds,
    checked_function,
)
from kerneltk.jit.launch.launcher import JitDispatcher
from kerneltk.jit.numba import host_arrays
from kerneltk.jit.numba.options import (
    Parsed,
    checked_options,
    converted_types,
    parse_signature,
    signatures_of,
)
from kerneltk.launch.dispatch import given_arguments
from kerneltk.launch.launch_config import as_extents, covering_grid, is_size

# What to use instead of attributes that numba's kernels have.
_INSTEAD = {
    "inspect_asm": "'kernel.inspect(*args, target=\"compute_90\")' is PTX.",
    "inspect_sass": "'kernel.inspect(*args, target=\"sm_90\")'.",
    "inspect_llvm": "'kernel.cached_codes' has the C++ of each specialization.",
    "inspect_types": "'kernel.cached_codes' has the C++ of each specialization.",
    "signatures": "'kernel.cached_codes' has the C++ of each specialization.",
    **dict.fromkeys(
        ("get_regs_per_thread", "get_shared_mem_per_block", "get_max_threads_per_block"),
        "'kernel[griddim, blockdim].explain(*args)' has registers, shared memory and occupancy.",
    ),
}

# So many threads of any kernel fit, whatever registers it takes.
_THREADS = 256


class CudaDispatcher(JitDispatcher):
    """Launches a kernel; beside arrays on a GPU, NumPy's are copied there and back, as by numba."""

    __slots__ = ()

    def _dispatch(
        self, way: Any, grid: Any, block: Any, args: Any, shared: Any = 0, stream: Any = None
    ) -> None:
        args = given_arguments(self.name, args)
        host = {k: value for k, value in enumerate(args) if isinstance(value, np.ndarray)}
        if (
            not host
            or self._records
            or all(member(value, "__cuda_array_interface__") is None for value in args)
            # Copies would lose a write to a read-only array, and one to an array that overlaps.
            or not all(value.flags.writeable for value in host.values())
            or any(np.may_share_memory(*pair) for pair in combinations(host.values(), 2))
        ):
            super()._dispatch(way, grid, block, args, shared, stream)
            return
        gpu = host_arrays.library()
        with nullcontext() if stream is None else gpu.order(gpu.external_stream(stream)):
            copies = {k: gpu.copied(value, True, None, 0) for k, value in host.items()}
            own = tuple(copies.get(k, value) for k, value in enumerate(args))
            super()._dispatch(way, grid, block, own, shared, stream)
            for k, copy in copies.items():
                copy.copy_to_host(host[k])


class CudaKernel(JitKernel):
    """A kernel that is launched as ``kernel[griddim, blockdim, stream, sharedmem](*args)``.

    Made by :func:`jit`; its arguments are turned into what the signature says.
    """

    _dispatcher_type = CudaDispatcher

    def __init__(self, definition: Definition, signature: tuple[Parsed, ...] | None = None) -> None:
        super().__init__(definition, None if signature is None else self.adapted)
        self._signature = signature
        self._extensions: list[Any] | None = None
        wanted = len(definition.parameters)
        if signature is not None and len(signature) != wanted:
            raise ArgumentTypeError(
                f"The signature of kernel '{self.name}' has {len(signature)} parameters, and the "
                f"function has {wanted}."
            )

    @property
    def py_func(self) -> Callable[..., Any]:
        """The decorated function."""
        return self._definition.function

    @property
    def extensions(self) -> list[Any]:
        """Objects whose ``prepare_args(ty, value, stream, retr)`` returns ``(ty, value)`` for each
        argument before a launch, the last one first; `ty` is None. What they append to `retr` is
        called afterwards.
        """
        if self._extensions is None:
            self._extensions = []
            self._configured.clear()
        return self._extensions

    @property
    def overloads(self) -> _Overloads:
        """The kernel by any signature, to be asked for `max_cooperative_grid_blocks`."""
        return _Overloads(self)

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Return how many blocks a cooperative launch can have at least: one a multiprocessor, as
        many as fit if one does.
        """
        as_extents(blockdim, "block", self.name)
        return int(host_arrays.get_current_device().MULTIPROCESSOR_COUNT)

    def specialize(self, *args: Any) -> CudaKernel:
        """Return the kernel itself, if the function fits such arguments: launches choose what is
        compiled for them anyhow. Raises as a launch does.
        """
        self.inspect(*args)
        return self

    def __getattr__(self, name: str) -> Any:
        hint = _INSTEAD.get(name)
        hint = f".\n  Hint: {hint}" if hint else ""
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{hint}")

    def _made_of(self) -> tuple[Any, ...]:
        return (self._definition, self._signature)

    def __call__(self, *args: Any, **named: Any) -> None:
        """Raise: there is no grid yet."""
        raise ArgumentValueError(
            f"Kernel '{self.name}' is called without a grid: the launch configuration was not "
            "specified.\n"
            f"  Hint: {self.name}[blocks, threads](...), or {self.name}.forall(n)(...)."
        )

    def _configure(self, configuration: Any) -> Configured:
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise ArgumentValueError(
                f"Kernel '{self.name}' is launched as '{self.name}[griddim, blockdim](...)'; "
                "a stream and dynamic shared memory (bytes) may follow."
            )
        grid, block, stream, shared = (*configuration, 0, 0)[:4]
        for what, given in (("grid", grid), ("block", block)):
            try:
                as_extents(given, what, self.name)  # the driver's error to numba's users
            except KernelToolkitError:
                self._check_integers(f"{what}dim", given)
                raise
        return self._with(grid, block, stream, shared, configuration)

    def _check_integers(self, what: str, given: Any) -> None:
        """Raise in numba's words for a grid or a block that is none."""
        extents = list(given) if isinstance(given, tuple | list) else [given]
        sentence = f"Kernel '{self.name}': {what} must be a sequence of"
        if not all(map(is_size, extents)):
            raise ArgumentTypeError(f"{sentence} integers, got {extents}.")
        if not 1 <= len(extents) <= 3:
            raise ArgumentValueError(f"{sentence} 1, 2 or 3 integers, got {extents}.")

    def _with(self, grid: Any, block: Any, stream: Any, shared: Any, key: Any = None) -> Configured:
        if not is_size(shared):
            raise ArgumentTypeError(
                f"Kernel '{self.name}' is given dynamic shared memory of type "
                f"'{type(shared).__name__}', which must be an int (bytes).\n  Hint: the order is "
                f"{self.name}[griddim, blockdim, stream, sharedmem]."
            )
        stream = stream_in_brackets(stream)
        made = Configured if self._extensions is None else _Extended
        found = made(self, grid, block, int(shared), stream)
        if key is not None and stream is None:
            self._keep(key, found)
        return found

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Configured:
        """Return a launcher of one thread a task, and some more that fill the last block.

        Parameters
        ----------
        ntasks : int
            With none, nothing is launched.
        tpb : int
            Threads of a block; 0 leaves it to the library.
        stream : optional
        sharedmem : int
            Dynamic shared memory of a block (bytes).

        Raises
        ------
        ArgumentValueError
            `ntasks` or `tpb` is no integer, or negative.
        """
        if not is_size(ntasks) or ntasks < 0:
            raise ArgumentValueError(
                f"Kernel '{self.name}' cannot be launched for {ntasks!r} tasks."
            )
        if not is_size(tpb) or tpb < 0:
            raise ArgumentValueError(
                f"'tpb' of kernel '{self.name}' must be a number of threads, not {tpb!r}."
            )
        bounds = self._definition.launch_bounds
        threads = tpb or min((_THREADS, *bounds[:1]))
        if ntasks == 0:
            return _NoTasks(self, 1, threads, 0, None)
        grid = covering_grid((int(ntasks),), (int(threads),))
        return self._with(grid, threads, stream, sharedmem)

    def adapted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments as the signature has them; raises ArgumentTypeError for what it does not."""
        if self._signature is None:
            return args

        def one(k: int, wanted: Parsed) -> Any:
            def refuse(text: str) -> ArgumentTypeError:
                return ArgumentTypeError(
                    f"{self._definition.paths[k].subject} is '{text}' in the signature, and "
                    f"{_kind_of(args[k])} was given.\n"
                    "  Hint: convert it, or leave the signature out: types follow from the "
                    "arguments."
                )

            return wanted.adapted(args[k], refuse)

        return tuple(one(k, wanted) for k, wanted in enumerate(self._signature))


class _Overloads:
    """A kernel by numba's signatures, whichever they are: it has no list of them."""

    __iter__ = None

    def __init__(self, kernel: CudaKernel) -> None:
        self._kernel = kernel

    def __getitem__(self, signature: Any) -> CudaKernel:
        return self._kernel


class _Extended(Configured):
    """A launcher of a kernel with extensions."""

    def __call__(self, *args: Any, **named: Any) -> None:
        """Launch the kernel with what the extensions make of these arguments."""
        kernel, afterwards = self._kernel, list[Callable[[], Any]]()
        assert isinstance(kernel, CudaKernel)
        given = list(kernel._complete(args, named))
        for extension in reversed(kernel.extensions):
            for k, value in enumerate(given):
                given[k] = extension.prepare_args(
                    None, value, stream=self._kept or 0, retr=afterwards
                )[1]
        super().__call__(*given)
        for call in afterwards:
            call()


class _NoTasks(Configured):
    """A launcher of no tasks: arguments are counted, and nothing is launched."""

    def __call__(self, *args: Any, **named: Any) -> None:
        """Check the number of arguments."""
        self._kernel._complete(args, named)


def _kind_of(value: Any) -> str:
    dtype, ndim = getattr(value, "dtype", None), getattr(value, "ndim", 0)
    if dtype is None or not ndim:
        return f"an object of type '{type(value).__name__}'"
    return f"an array of dtype '{dtype}' with {ndim} dimension{'s' * (ndim != 1)}"


def jit(func_or_sig: Any = None, /, **options: Any) -> Any:
    """Make a kernel, or a function for kernels, of a function in restricted Python.

    Parameters
    ----------
    func_or_sig : function, str, object of numba's types, or sequence of these, optional
        The function, for ``@cuda.jit`` alone; or a signature, ``"void(float32[:], int32)"`` or
        ``numba.void(numba.float32[:], numba.int32)``: then numbers are converted to its types, and
        other arrays are refused. Calls of device functions convert numbers, and the result. Of
        several signatures only the grammar is checked: types follow from the arguments.
    device : bool
        Whether it is a function that kernels call. Kernels can be called by kernels, too.
    fastmath : bool
        Whether GPUs may use their fast, less exact functions.
    launch_bounds : int or tuple of int
        The most threads of a block; then the fewest blocks to be resident.
    max_registers : int
        The most registers of a thread.
    extensions : list, optional
        What arguments are passed through, see `CudaKernel.extensions`.
    lineinfo, debug : bool
        Whether code for GPUs names its lines; whether it is compiled for a debugger.
    inline, forceinline, opt, cache
        Accepted: the compiler decides what is inlined, and compiled code is always cached.

    Returns
    -------
    CudaKernel
        ``kernel[griddim, blockdim, stream, sharedmem](*args)`` launches it: with NumPy arrays on
        the cores of this machine, with CuPy arrays on their GPU.

    Raises
    ------
    SignatureError
        A signature cannot be read.
    ArgumentTypeError, ArgumentValueError
        There is no such option, or its value cannot be taken.

    Examples
    --------
    >>> import numpy as np
    >>> from kerneltk.jit import cuda
    >>> @cuda.jit
    ... def double(x):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] *= 2
    >>> x = np.arange(4.0)
    >>> double.forall(x.size)(x)
    >>> x
    array([0., 2., 4., 6.])
    """
    signatures = signatures_of(func_or_sig)
    checked = checked_options(options)
    bounds = checked_bounds(checked.launch_bounds)
    parsed = [parse_signature(text) for text in signatures or ()]

    def decorate(function: Callable[..., Any]) -> CudaKernel | DeviceFunction:
        plain = checked_function(function, "cuda.jit")
        if checked.device:
            types = converted_types(func_or_sig, parsed[0]) if len(parsed) == 1 else None
            return DeviceFunction(plain, types)
        definition = Definition(plain, "numba", checked.compile, bounds, checked.fastmath)
        made = CudaKernel(definition, parsed[0] if len(parsed) == 1 else None)
        if options.get("extensions"):
            made.extensions.extend(options["extensions"])
        return made

    return decorate if func_or_sig is None or signatures is not None else decorate(func_or_sig)


jit.makes_device_function = True  # type: ignore[attr-defined]
