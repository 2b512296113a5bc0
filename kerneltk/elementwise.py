"""ElementwiseKernel: a kernel from an expression that is evaluated for every element."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kerneltk import interop, pipeline
from kerneltk.arrays import (
    ArraySpec,
    broadcast_strides,
    byte_extent,
    is_c_contiguous,
    is_f_contiguous,
)
from kerneltk.backends.base import Backend
from kerneltk.binding import Binding, bind_types, convert_scalar, scalar_default
from kerneltk.dtypes import describe, identifier_problem, is_supported
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    KernelToolkitError,
    SignatureError,
    render_message,
)
from kerneltk.params import parse_signature
from kerneltk.plans import MAX_PLANS, Pattern, Plan, make_launcher, overlap_pairs
from kerneltk.rendered import translation_unit_of
from kerneltk.specialize import (
    ElementwiseDefinition,
    ElementwiseSpecialization,
    Lowered,
    specialize_elementwise,
)
from kerneltk.types import NO_DEFAULT, Parameter
from kerneltk.units import BackendName, ObjectCode, TranslationUnit

__all__ = ["ElementwiseKernel"]

_MAX_BLOCK = 1024
_Run = Callable[..., Any]
_Extra = tuple[int | None, int | None] | None


class ElementwiseKernel:
    """A kernel that evaluates C++ statements for every element of its arguments.

    Arguments are broadcast against each other as NumPy does. NumPy arrays run on all cores of
    this machine, CuPy arrays on their GPU, from the same text.

    Parameters
    ----------
    in_params, out_params : str
        Parameters: ``[raw] [_non_const] TYPE name [= default]``, separated by commas. TYPE is a
        dtype's name, one letter (a type variable), or ``NAME:constraint`` for a type variable
        with a longer name or a constraint: ``Real:floating x, Real y``. A ``raw`` argument is
        indexed by the body itself: ``x[i]`` with a flat C-order index, ``x[idx]`` with an array
        of as many indices as it has dimensions, ``x.size()``, ``x.shape()``, ``x.strides()``.
    operation : str
        C++ statements. A parameter's name is its element; outputs hold what the array held.
        ``i`` is the element's C-order index (signed 64-bit), ``n`` their number, ``_ind.get()``
        the coordinates; type variables are type names.
    name : str
        The entry point's name, as profilers show it.
    reduce_dims : bool
        Whether neighbouring dimensions may be merged before ``_ind`` shows them.
    preamble : str
        C++ text before the kernel; type variables are declared already.
    no_return : bool
        Whether a call returns None.
    return_tuple : bool
        Whether a call returns a tuple even for one output.
    options : tuple of str
        Compile options, as NVRTC takes them.
    loop_prep, after_loop : str
        C++ text in the kernel's scope before and after the elements of one thread.

    Attributes
    ----------
    in_params, out_params, params : tuple of Parameter
    nin, nout, nargs : int

    Raises
    ------
    SignatureError
        A parameter string or the name is not valid.

    Examples
    --------
    >>> import numpy as np
    >>> axpb = ElementwiseKernel("T x, T a, T b", "T y", "y = a * x + b", "axpb")
    >>> axpb(np.arange(4, dtype=np.float32), 2, 1)
    array([1., 3., 5., 7.], dtype=float32)
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        *,
        options: Sequence[str] = (),
        loop_prep: str = "",
        after_loop: str = "",
    ) -> None:
        problem = identifier_problem(name)
        if problem:
            raise SignatureError(f'Invalid kernel name: "{name}" {problem}.')
        if isinstance(options, str):
            raise ArgumentTypeError("'options' must be a sequence of strings, not one string.")
        signature = parse_signature(in_params, out_params)
        self._definition = ElementwiseDefinition(
            signature,
            operation,
            name,
            bool(reduce_dims),
            preamble,
            loop_prep,
            after_loop,
            tuple(options),
        )
        self.in_params = signature.inputs
        self.out_params = signature.outputs
        self.params = (
            *signature.parameters,
            Parameter("_ind", None, None, is_const=False),
        )
        self.nin = len(signature.inputs)
        self.nout = len(signature.outputs)
        self.nargs = self.nin + self.nout
        self.operation = operation
        self.name = name
        self.__name__ = name
        self.reduce_dims = bool(reduce_dims)
        self.preamble = preamble
        self.no_return = bool(no_return)
        self.return_tuple = bool(return_tuple)
        self.kwargs = {
            key: value
            for key, value in (
                ("options", tuple(options)),
                ("loop_prep", loop_prep),
                ("after_loop", after_loop),
            )
            if value
        }
        self._prepare()

    def _prepare(self) -> None:
        self._launchers: dict[tuple[type, ...], _Run] = {}
        # The last launcher by the number of arguments: most calls are alike.
        self._recent: list[_Run] = [self._first_call] * (self.nargs + 1)
        self._codes: dict[tuple[np.dtype[Any], ...], str] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("_launchers", "_recent", "_codes", "_lock"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def __repr__(self) -> str:
        signature = self._definition.signature
        return f"<ElementwiseKernel {self.name}({signature.in_text}) -> ({signature.out_text})>"

    # -- calls ------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate the operation for every element.

        Parameters
        ----------
        *args : array or number
            The inputs, or the inputs and the outputs, in the parameters' order. Inputs may be
            given by keyword; those with a default may be left out.
        size : int, optional
            Number of elements, if and only if every array is raw.
        stream : optional
            A CuPy stream; the current one if not given. The host has none.
        block_size : int, optional
            Threads of a block on a GPU; chosen if not given.

        Returns
        -------
        array, tuple of arrays or None
            The outputs, of the arguments' kind.

        Raises
        ------
        ArgumentTypeError
            Wrong number, kind or dtype of arguments.
        ArgumentValueError
            Shapes that do not go together, a size that is missing or too much, a read-only output.
        ScalarOverflowError
            An integer that its parameter's dtype cannot hold.
        CompileError
            The compiler refused the kernel's text.
        BackendUnavailableError
            There is no compiler or driver for the arrays' backend.
        """
        if kwargs or len(args) > self.nargs:
            return self._call(args, kwargs)
        return self._recent[len(args)](*args)

    def _first_call(self, *args: Any) -> Any:
        return self._call(args, {})

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        override = _override_of(args)
        if override is not None:
            return override(self, *args, **kwargs)
        args, size, stream, block_size = self._collect(args, kwargs)
        extra = None if size is None and block_size is None else (size, block_size)
        return self._dispatch(args, stream, extra)

    def _dispatch(self, args: tuple[Any, ...], stream: int | None, extra: _Extra) -> Any:
        """Launch by the launcher for these types, which is made if there is none."""
        run = self._launchers.get(tuple(map(type, args)))
        if run is not None:
            self._recent[len(args)] = run
            return run(*args, stream, extra)
        override = _override_of(args)  # a launcher that does not fit comes here by itself
        if override is not None:
            return override(self, *args)
        arrays, way_back, backend = self._adopt(args)
        run = self._launcher(arrays, backend)
        result = run(*arrays, stream, extra)
        if way_back is None:
            return result
        return self._given_back(result, args, arrays, way_back)

    def _collect(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], int | None, int | None, int | None]:
        """Sort a call's arguments: positional ones in order, size, stream and block size."""
        options = dict(kwargs)
        size = options.pop("size", None)
        size = None if size == -1 else size  # as CuPy: -1 says that none is given
        stream = options.pop("stream", None)
        block_size = options.pop("block_size", None)
        if size is not None and (not isinstance(size, int | np.integer) or size < 0):
            raise ArgumentValueError(f"'size' must be a non-negative integer, not {size!r}.")
        if block_size is not None:
            if not isinstance(block_size, int | np.integer) or block_size <= 0:
                raise ArgumentValueError("'block_size' must be greater than zero.")
            if block_size > _MAX_BLOCK:
                raise ArgumentValueError(
                    f"'block_size' must be at most {_MAX_BLOCK}, not {block_size}."
                )
        handle = None if stream is None else int(getattr(stream, "ptr", stream))
        parameters = self._definition.signature.parameters
        count = len(args)
        if options or count not in (self.nin, self.nargs):
            args = self._fill_in(args, options, parameters)
        return (
            args,
            None if size is None else int(size),
            handle,
            None if block_size is None else int(block_size),
        )

    def _fill_in(
        self, args: tuple[Any, ...], named: dict[str, Any], parameters: tuple[Parameter, ...]
    ) -> tuple[Any, ...]:
        if len(args) > self.nargs:
            raise self._wrong_number(len(args))
        values: list[Any] = list(args)
        known = {parameter.name for parameter in parameters}
        for name in named:
            if name not in known:
                raise ArgumentTypeError(
                    f"Kernel '{self.name}' has no parameter '{name}'.\n"
                    f"  Hint: its parameters are {', '.join(sorted(known)) or 'none'}; a call also "
                    "takes 'size', 'stream' and 'block_size'."
                )
        for index, parameter in enumerate(parameters):
            if index < len(args):
                if parameter.name in named:
                    raise ArgumentTypeError(
                        f"Kernel '{self.name}' got two values for parameter '{parameter.name}'."
                    )
                continue
            if parameter.name in named:
                values.append(named[parameter.name])
            elif index < self.nin and parameter.default is not NO_DEFAULT:
                values.append(parameter.default)
            elif index >= self.nin and not any(p.name in named for p in parameters[self.nin :]):
                if len(args) > self.nin:
                    raise self._wrong_number(len(args))
                break
            else:
                raise self._wrong_number(len(args), parameter.name)
        return tuple(values)

    def _wrong_number(self, given: int, missing: str = "") -> ArgumentTypeError:
        what = f" Parameter '{missing}' is missing." if missing else ""
        return ArgumentTypeError(
            f"Wrong number of arguments for '{self.name}'. It must be either {self.nin} or "
            f"{self.nargs} (with outputs), but given {given}.{what}"
        )

    def _adopt(
        self, args: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], interop.Caller | None, Backend]:
        """Return the arguments with every array as a backend's own, the way back, the backend."""
        signature = self._definition.signature
        arrays: list[Any] = []
        callers: list[interop.Caller] = []
        backend: Backend | None = None
        first = 0
        for index, argument in enumerate(args):
            own = interop.backend_of(argument)
            value = argument
            if own is None or (own.name == "host" and type(argument) is not np.ndarray):
                adopted = interop.import_array(argument)
                if adopted is not None:
                    value, caller = adopted
                    callers.append(caller)
                    own = interop.backend_of(value)
            if own is None:
                if index >= self.nin:
                    raise ArgumentTypeError(
                        render_message(
                            f"Output '{signature.parameters[index].name}' must be an array, not "
                            f"an object of type '{type(argument).__name__}'.",
                            signature.snippet(index),
                        )
                    )
                if scalar_default(value) is None or isinstance(value, type | np.dtype):
                    raise ArgumentTypeError(
                        render_message(
                            f"The argument for '{signature.parameters[index].name}' is of type "
                            f"'{type(argument).__name__}', which is neither an array nor a number.",
                            signature.snippet(index),
                        )
                    )
                if signature.parameters[index].raw:
                    raise ArgumentTypeError(
                        render_message(
                            f"Raw parameter '{signature.parameters[index].name}' takes an array, "
                            "not a number.",
                            signature.snippet(index),
                        )
                    )
            elif backend is None:
                backend, first = own, index
            elif backend is not own:
                names = [signature.parameters[k].name for k in (first, index)]
                places = {"host": "host memory", "cuda": "a GPU"}
                raise ArgumentTypeError(
                    render_message(
                        f"'{names[0]}' is in {places[backend.name]}, but '{names[1]}' is in "
                        f"{places[own.name]}.",
                        signature.snippet(index),
                        hint="move one of them: 'cupy.asarray(x)' or 'cupy.asnumpy(x)'.",
                    )
                )
            arrays.append(value)
        if backend is None:
            # Without any array the result is a NumPy array, unless CuPy is all there is.
            backend = interop.host_backend()
        way_back = interop.first_way_back(callers) if callers else None
        return tuple(arrays), way_back, backend

    def _given_back(
        self, result: Any, args: tuple[Any, ...], arrays: tuple[Any, ...], way_back: interop.Caller
    ) -> Any:
        """Return the caller's own outputs where they were given, converted ones otherwise."""
        if result is None:
            return None

        def one(output: Any) -> Any:
            for index in range(self.nin, len(args)):
                if output is arrays[index]:
                    return args[index]
            return way_back(output)

        if isinstance(result, tuple):
            return tuple(one(output) for output in result)
        return one(result)

    # -- plans ------------------------------------------------------------------------------

    def _pattern(self, args: Sequence[Any], backend: Backend) -> Pattern:
        signature = self._definition.signature
        if self.no_return:
            returns = "none"
        else:
            returns = "one" if self.nout == 1 and not self.return_tuple else "tuple"
        return Pattern(
            tuple(isinstance(argument, backend.array_type) for argument in args),
            tuple(parameter.raw for parameter in signature.parameters),
            tuple(not parameter.is_const for parameter in signature.parameters),
            self.nin,
            self.nout,
            len(args) == self.nargs and self.nout > 0,
            returns,
        )

    def _launcher(self, args: tuple[Any, ...], backend: Backend) -> _Run:
        types = tuple(map(type, args))
        run = self._launchers.get(types)
        if run is not None:
            return run
        if len(args) not in (self.nin, self.nargs):
            raise self._wrong_number(len(args))
        pattern = self._pattern(args, backend)
        plans: dict[Any, tuple[Any, ...]] = {}
        missed = functools.partial(self._missed, pattern, backend, plans, types)
        overlapped = functools.partial(self._overlapped, pattern, backend, types)
        run = make_launcher(pattern, backend, plans, types, missed, overlapped, self._dispatch)
        # Only the backends' own arrays and numbers come this way next time; others are adopted
        # anew at every call.
        self._launchers[types] = run
        return run

    def _missed(
        self,
        pattern: Pattern,
        backend: Backend,
        plans: dict[Any, tuple[Any, ...]],
        run_types: tuple[type, ...],
        args: tuple[Any, ...],
        stream: int | None,
        extra: _Extra,
        key: Any,
    ) -> Any:
        """Make the plan for these arguments, then launch by it."""
        run = self._launchers[run_types]
        aligned = self._aligned(args, pattern, backend, stream)
        if aligned is not args:
            return run(*aligned, stream, extra)
        for index, is_array in enumerate(pattern.arrays):
            if is_array:
                parameter = self._definition.signature.parameters[index]
                backend.check_usable(args[index], parameter.name, not parameter.is_const)
        specs = [
            backend.describe(argument)[0] if is_array else None
            for argument, is_array in zip(args, pattern.arrays, strict=True)
        ]
        size, block_size = extra or (None, None)
        resolved = self._resolve(specs, args[: self.nin], size)
        row = self._plan(pattern, backend, resolved, run_types, block_size).row()
        if len(plans) >= MAX_PLANS:
            plans.clear()
        plans[key] = row
        return run(*args, stream, extra)

    def _overlapped(
        self,
        pattern: Pattern,
        backend: Backend,
        run_types: tuple[type, ...],
        args: tuple[Any, ...],
        stream: int | None,
        extra: _Extra,
    ) -> Any:
        """Copy the inputs that an output overlaps, then launch: the result is as if all inputs
        were read before anything is written.
        """
        extents = []
        for argument, is_array in zip(args, pattern.arrays, strict=True):
            if not is_array:
                extents.append((0, 0))
                continue
            spec, address = backend.describe(argument)
            low, high = byte_extent(spec.shape, spec.strides, spec.dtype.itemsize)
            extents.append((address + low, address + high))
        values = list(args)
        for k, j in overlap_pairs(pattern):
            if extents[k][0] < extents[j][1] and extents[j][0] < extents[k][1]:
                with backend.stream_context(stream):
                    values[k] = _identity()(args[k])
        return self._launchers[run_types](*values, stream, extra)

    def _aligned(
        self, args: tuple[Any, ...], pattern: Pattern, backend: Backend, stream: int | None
    ) -> tuple[Any, ...]:
        """Copy inputs that the body reads by references, if they are not aligned for that.

        Those are raw inputs, and all where the body works on the arrays themselves. A GPU reads
        elements at multiples of their alignment only. Returns `args` itself where nothing was to
        be copied.
        """
        result = list(args)
        direct = self._definition.direct
        for index, (is_array, raw) in enumerate(zip(pattern.arrays, pattern.raw, strict=False)):
            if not (is_array and (raw or direct)):
                continue
            spec, _ = backend.describe(args[index])
            if not is_supported(spec.dtype):
                continue  # binding the types refuses it, and shows the parameter
            needed = describe(spec.dtype).alignment
            steps = [s for s, extent in zip(spec.strides, spec.shape, strict=True) if extent > 1]
            if not any(value % needed for value in (spec.offset, *steps)):
                continue
            parameter = self._definition.signature.parameters[index]
            if not parameter.is_const:
                raise ArgumentValueError(
                    render_message(
                        f"The array for {'raw ' if raw else ''}parameter '{parameter.name}' is "
                        f"written by references, but its elements are not at multiples of {needed} "
                        "bytes.",
                        self._definition.signature.snippet(index),
                        hint="pass a copy.",
                    )
                )
            with backend.stream_context(stream):
                result[index] = _identity()(args[index])
        return tuple(result) if any(a is not b for a, b in zip(result, args, strict=True)) else args

    def _resolve(
        self, specs: Sequence[ArraySpec | None], values: Sequence[Any], size: int | None
    ) -> _Resolved:
        """Bind types, broadcast, and describe the outputs that are to be allocated."""
        signature = self._definition.signature
        given = [*specs, *([None] * (self.nargs - len(specs)))]
        binding = bind_types(
            signature, [None if spec is None else spec.dtype for spec in given], values
        )
        shape = self._shape(given, size)
        outputs_given = len(specs) == self.nargs
        order = _result_order(
            shape,
            [
                spec
                for spec, parameter in zip(given, signature.inputs, strict=False)
                if spec is not None and not parameter.raw
            ],
        )
        for index in range(self.nin, self.nargs):
            parameter, spec = signature.parameters[index], given[index]
            if spec is None:
                if parameter.raw and size is None:
                    raise ArgumentValueError(
                        render_message(
                            f"The size of raw output '{parameter.name}' is not known.",
                            signature.snippet(index),
                            hint="pass the output as an argument, or 'size='.",
                        )
                    )
                given[index] = ArraySpec.make(binding.dtypes[index], shape, order=order)
            elif outputs_given and not parameter.raw and spec.shape != shape:
                raise ArgumentValueError(
                    render_message(
                        f"Output '{parameter.name}' has shape {spec.shape}, but the arguments "
                        f"broadcast to {shape}.",
                        signature.snippet(index),
                    )
                )
        return _Resolved(binding, shape, tuple(given), order)

    def _shape(self, specs: Sequence[ArraySpec | None], size: int | None) -> tuple[int, ...]:
        signature = self._definition.signature
        shapes = [
            (index, spec.shape)
            for index, (spec, parameter) in enumerate(zip(specs, signature.parameters, strict=True))
            if spec is not None and not parameter.raw
        ]
        if size is not None:
            if shapes:
                name = signature.parameters[shapes[0][0]].name
                raise ArgumentValueError(
                    render_message(
                        f"'size' can be given only if every array is raw, but '{name}' is not.",
                        signature.snippet(shapes[0][0]),
                    )
                )
            return (size,)
        if not shapes:
            raise ArgumentValueError(
                f"The loop size of kernel '{self.name}' is undecided: every array is raw.\n"
                "  Hint: pass 'size='."
            )
        shape: tuple[int, ...] = ()
        for index, own in shapes:
            try:
                shape = np.broadcast_shapes(shape, own)
            except ValueError:
                raise ArgumentValueError(
                    render_message(
                        f"Shapes {shape} and {own} cannot be broadcast together.",
                        signature.snippet(index, f"this argument has shape {own}"),
                    )
                ) from None
        return shape

    def _lower(
        self, resolved: _Resolved, backend: BackendName, block_size: int | None
    ) -> Lowered | None:
        if 0 in resolved.shape:
            return None
        return specialize_elementwise(
            self._definition,
            backend,
            resolved.binding,
            resolved.specs,
            resolved.shape,
            block_size,
        )

    def _plan(
        self,
        pattern: Pattern,
        backend: Backend,
        resolved: _Resolved,
        types: tuple[type, ...],
        block_size: int | None,
    ) -> Plan:
        lowered = self._lower(resolved, backend.name, block_size)
        outputs = resolved.binding.dtypes[self.nin :]
        raw_count = sum(pattern.raw)
        limits = tuple(
            _overlap_limits(resolved.specs[k], resolved.specs[j], resolved.shape)
            for k, j in overlap_pairs(pattern)
        )
        if lowered is None:
            return Plan(
                None, 0, 0, 0, _pack_nothing, _pack_nothing, _no_buffer, resolved.shape, outputs,
                resolved.order, ((),) * raw_count, limits,
            )  # fmt: skip
        specialization = lowered.specialization
        unit = translation_unit_of(specialization)
        self._remember_code(resolved.specs, unit)
        function = pipeline.get_function(unit, backend)
        block = specialization.arguments
        pack_checked = self._checked_pack(specialization)
        simple = all(
            is_array or _packs_alike(kind, dtype)
            for is_array, kind, dtype in zip(
                pattern.arrays, types, resolved.binding.dtypes, strict=False
            )
        )
        return Plan(
            function.handle,
            lowered.grid,
            lowered.grain,
            specialization.block,
            block.dynamic.pack_into if simple else pack_checked,
            pack_checked,
            functools.partial(
                backend.make_buffer, block.size, block.constant_offset, lowered.constants
            ),
            resolved.shape,
            outputs,
            resolved.order,
            lowered.raw_geometry,
            limits,
        )

    def _checked_pack(self, specialization: ElementwiseSpecialization) -> Callable[..., None]:
        """Return a function that converts the scalars, the last values, before it packs."""
        signature = self._definition.signature
        scalars = [
            (dtype, signature.snippet(index))
            for index, (dtype, is_array) in enumerate(
                zip(specialization.binding.dtypes, specialization.is_array, strict=True)
            )
            if not is_array
        ]
        first = len(specialization.is_array) - len(scalars)
        pack = specialization.arguments.dynamic.pack_into
        raw_extra = sum(1 + 2 * view.ndim for view in specialization.raw if view is not None)

        def pack_checked(buffer: Any, offset: int, *values: Any) -> None:
            front = values[: first + raw_extra]
            converted = [
                part
                for value, (dtype, place) in zip(values[first + raw_extra :], scalars, strict=True)
                for part in convert_scalar(value, dtype, place)
            ]
            pack(buffer, offset, *front, *converted)

        return pack_checked

    # -- what was made ------------------------------------------------------------------------

    def _remember_code(self, specs: Sequence[ArraySpec | None], unit: TranslationUnit) -> None:
        key = tuple(spec.dtype for spec in specs if spec is not None)
        with self._lock:
            self._codes.setdefault(key, unit.source)

    @property
    def cached_codes(self) -> dict[tuple[np.dtype[Any], ...], str]:
        """The generated texts by the dtypes of the array arguments."""
        if not self._codes:
            warnings.warn(
                "No codes are cached because nothing is compiled before the first call.",
                stacklevel=2,
            )
        return dict(self._codes)

    @property
    def cached_code(self) -> str:
        """The first generated text."""
        codes = self._codes
        if not codes:
            raise KernelToolkitError(
                f"Kernel '{self.name}' has not been called.\n"
                "  Hint: 'translation_unit(...)' renders the text without a call."
            )
        if len(codes) > 1:
            warnings.warn("Several texts are cached; 'cached_codes' has them all.", stacklevel=2)
        return next(iter(codes.values()))

    def translation_unit(
        self,
        *args: Any,
        backend: BackendName = "cuda",
        size: int | None = None,
        block_size: int | None = None,
    ) -> TranslationUnit:
        """Return the text that a call with such arguments compiles, without a GPU or any memory.

        Parameters
        ----------
        *args : ArraySpec, array, number, number type or dtype
            One an input, or one an input and an output. A dtype or a type stands for a scalar.
        backend : {"cuda", "host"}
        size, block_size : int, optional
            As in a call.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            As a call does; also where the loop has no elements, which compiles nothing.

        Examples
        --------
        >>> kernel = ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")
        >>> unit = kernel.translation_unit(ArraySpec.make("float32", (1024,)), float)
        >>> unit.entry, "blockIdx" in unit.source
        ('scale', True)
        """
        if len(args) not in (self.nin, self.nargs):
            raise self._wrong_number(len(args))
        specs = [_spec_of(argument) for argument in args]
        resolved = self._resolve(specs, args[: self.nin], size)
        lowered = self._lower(resolved, backend, block_size)
        if lowered is None:
            raise ArgumentValueError(f"A loop of shape {resolved.shape} compiles nothing.")
        return translation_unit_of(lowered.specialization)

    def compile(
        self,
        *args: Any,
        target: str,
        size: int | None = None,
        block_size: int | None = None,
    ) -> ObjectCode:
        """Compile for an architecture from descriptions of the arguments, without a GPU.

        Parameters
        ----------
        *args : ArraySpec, array, number, number type or dtype
            As for :meth:`translation_unit`.
        target : str
            A CUDA architecture such as ``"sm_90"``, or ``"host"`` for this machine's CPU.
        size, block_size : int, optional
            As in a call.

        Raises
        ------
        CompileError
            The compiler refused the text.
        ValueError
            `target` is not an architecture that the compiler knows.
        BackendUnavailableError
            The compiler is not installed.
        """
        backend: BackendName = "host" if target == "host" else "cuda"
        unit = self.translation_unit(*args, backend=backend, size=size, block_size=block_size)
        return pipeline.compile_ahead(unit, target)


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A call's types and shapes, outputs included."""

    binding: Binding
    shape: tuple[int, ...]
    specs: tuple[ArraySpec | None, ...]
    order: Literal["C", "F"]


def _spec_of(argument: Any) -> ArraySpec | None:
    if isinstance(argument, ArraySpec):
        return argument
    backend = interop.backend_of(argument)
    if backend is not None:
        return backend.describe(argument)[0]
    if scalar_default(argument) is None:
        raise ArgumentTypeError(
            f"'{argument!r}' describes no argument.\n"
            "  Hint: use 'ArraySpec.make(dtype, shape)' for an array, a dtype for a scalar."
        )
    return None


def _result_order(shape: tuple[int, ...], specs: Sequence[ArraySpec]) -> Literal["C", "F"]:
    """Return "F" where every input of the full shape is dense in Fortran order only."""
    full = [spec for spec in specs if spec.shape == shape]
    fortran = [
        is_f_contiguous(spec.shape, spec.strides, spec.dtype.itemsize)
        and not is_c_contiguous(spec.shape, spec.strides, spec.dtype.itemsize)
        for spec in full
    ]
    return "F" if full and all(fortran) else "C"


def _overlap_limits(
    source: ArraySpec | None, result: ArraySpec | None, shape: tuple[int, ...]
) -> tuple[int, int, bool]:
    """Return between which differences of addresses two arrays overlap, and whether the same
    address is an overlap: it is not where both are walked alike.
    """
    assert source is not None
    assert result is not None
    low_in, high_in = byte_extent(source.shape, source.strides, source.dtype.itemsize)
    low_out, high_out = byte_extent(result.shape, result.strides, result.dtype.itemsize)
    if low_in == high_in or low_out == high_out:
        return 0, 0, False
    alike = source.dtype.itemsize == result.dtype.itemsize and broadcast_strides(
        source.shape, source.strides, shape
    ) == broadcast_strides(result.shape, result.strides, shape)
    return low_in - high_out, high_in - low_out, not alike


def _packs_alike(kind: type, dtype: np.dtype[Any]) -> bool:
    """Return whether ``struct`` packs numbers of type `kind` as `convert_scalar` does, or refuses.

    It would drop the imaginary part of NumPy's complex numbers.
    """
    return (
        len(describe(dtype).format) == 1
        and dtype.name != "bfloat16"
        and not issubclass(kind, complex | np.complexfloating)
    )


def _override_of(args: Sequence[Any]) -> Callable[..., Any] | None:
    """Return the method of the first argument that takes the whole call over, if there is one."""
    for argument in args:
        method: Callable[..., Any] | None = getattr(
            argument, "__cupy_override_elementwise_kernel__", None
        )
        if method is not None:
            return method
    return None


@functools.cache
def _identity() -> ElementwiseKernel:
    """Return the kernel that copies: unlike CuPy's copy, it takes elements at odd addresses."""
    return ElementwiseKernel("T x", "T y", "y = x", "copy")


def _pack_nothing(*_: Any) -> None:
    """Pack nothing: a loop without elements launches nothing."""


def _no_buffer() -> None:
    """Make no buffer: a loop without elements has no arguments."""
