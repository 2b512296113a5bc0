"""ElementwiseKernel: a kernel from an expression that is evaluated for every element."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneltk import calls, interop, pipeline
from kerneltk.arrays import ArraySpec, byte_extent
from kerneltk.backends.base import Backend
from kerneltk.binding import Binding, convert_scalar, scalar_default
from kerneltk.dtypes import alignment_on, describe, identifier_problem
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    NotCompiledError,
    SignatureError,
    Snippet,
    render_message,
)
from kerneltk.params import parse_signature
from kerneltk.plans import MAX_PLANS, Pattern, Plan, make_launcher, overlap_pairs
from kerneltk.rendered import translation_unit_of
from kerneltk.resolve import Resolved, is_aligned, overlap_limits, resolve_elementwise
from kerneltk.specialize import (
    ElementwiseDefinition,
    ElementwiseSpecialization,
    Lowered,
    specialize_elementwise,
)
from kerneltk.types import Parameter
from kerneltk.units import BackendName, ObjectCode, TranslationUnit

__all__ = ["ElementwiseKernel"]

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
        for text, given in (
            ("in_params", in_params),
            ("out_params", out_params),
            ("operation", operation),
            ("name", name),
            ("preamble", preamble),
            ("loop_prep", loop_prep),
            ("after_loop", after_loop),
        ):
            _check_text(text, given)
        problem = identifier_problem(name)
        if problem:
            raise SignatureError(f'Invalid kernel name: "{name}" {problem}.')
        if isinstance(options, str):
            raise ArgumentTypeError("'options' must be a sequence of strings, not one string.")
        if not isinstance(options, Sequence) or not all(isinstance(o, str) for o in options):
            raise ArgumentTypeError("'options' must be a sequence of strings.")
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
        self._no_return = bool(no_return)
        self._return_tuple = bool(return_tuple)
        self.nin = len(signature.inputs)
        self.nout = len(signature.outputs)
        self.nargs = self.nin + self.nout
        self.__name__ = name
        self._prepare()

    def _prepare(self) -> None:
        self._launchers: dict[tuple[type, ...], _Run] = {}
        # The last launcher by the number of arguments: most calls are alike.
        self._recent: list[_Run] = [self._first_call] * (self.nargs + 1)
        self._codes: dict[tuple[np.dtype[Any], ...], str] = {}

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("_launchers", "_recent", "_codes"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def __repr__(self) -> str:
        signature = self._definition.signature
        return f"<ElementwiseKernel {self.name}({signature.in_text}) -> ({signature.out_text})>"

    # -- what was given ------------------------------------------------------------------------

    @property
    def in_params(self) -> tuple[Parameter, ...]:
        """The inputs."""
        return self._definition.signature.inputs

    @property
    def out_params(self) -> tuple[Parameter, ...]:
        """The outputs."""
        return self._definition.signature.outputs

    @property
    def params(self) -> tuple[Parameter, ...]:
        """Inputs, outputs and ``_ind``."""
        index = Parameter("_ind", None, None, is_const=False)
        return (*self._definition.signature.parameters, index)

    @property
    def operation(self) -> str:
        """The operation's text."""
        return self._definition.operation

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._definition.name

    @property
    def reduce_dims(self) -> bool:
        """Whether neighbouring dimensions may be merged before ``_ind`` shows them."""
        return self._definition.reduce_dims

    @property
    def preamble(self) -> str:
        """The preamble's text."""
        return self._definition.preamble

    @property
    def no_return(self) -> bool:
        """Whether a call returns None."""
        return self._no_return

    @property
    def return_tuple(self) -> bool:
        """Whether a call returns a tuple even for one output."""
        return self._return_tuple

    @property
    def kwargs(self) -> dict[str, Any]:
        """The options and texts beyond the first eight parameters, where they were given."""
        definition = self._definition
        given = {
            "options": definition.options,
            "loop_prep": definition.loop_prep,
            "after_loop": definition.after_loop,
        }
        return {key: value for key, value in given.items() if value}

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
        backend : {"host", "cuda"}, optional
            Where a call without any array runs; if not given, on the GPU in a program that has
            imported CuPy and has one, and on the host otherwise.

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
        DivisionError
            On the host, the operation divided an integer by zero.
        """
        if kwargs:
            return self._call(args, kwargs)
        try:
            run = self._recent[len(args)]
        except IndexError:  # too many
            return self._call(args, kwargs)
        return run(*args)

    def _first_call(self, *args: Any) -> Any:
        return self._call(args, {})

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        override = _override_of(args)
        if override is not None:
            return override(self, *args, **kwargs)
        options = calls.read_options(kwargs)
        args = calls.arrange(self.name, self._definition.signature, args, kwargs)
        return self._dispatch(args, options.stream, options.plan_key, options.backend)

    def _dispatch(
        self,
        args: tuple[Any, ...],
        stream: int | None,
        extra: _Extra,
        backend: BackendName | None = None,
    ) -> Any:
        """Launch by the launcher for these types, which is made if there is none."""
        run = self._launchers.get(tuple(map(type, args)))
        if run is not None:
            self._recent[len(args)] = run
            return run(*args, stream, extra)
        override = _override_of(args)  # a launcher that does not fit comes here by itself
        if override is not None:
            return override(self, *args)
        adopted = calls.adopt(self._definition.signature, args, backend)
        run = self._launcher(adopted.values, adopted.backend)
        return adopted.give_back(run(*adopted.values, stream, extra))

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
        pattern = self._pattern(args, backend)
        # Types tell the backend only if there is an array among them.
        key = types if any(pattern.arrays) else (*types, type(backend))
        run = self._launchers.get(key)
        if run is not None:
            return run
        if len(args) not in (self.nin, self.nargs):
            raise calls.wrong_number(self.name, self._definition.signature, len(args))
        plans: dict[Any, tuple[Any, ...]] = {}
        missed = functools.partial(self._missed, pattern, backend, plans, types)
        overlapped = functools.partial(self._overlapped, pattern, backend)
        run = make_launcher(pattern, backend, plans, types, missed, overlapped, self._dispatch)
        self._launchers[key] = run
        return run

    def _missed(
        self,
        pattern: Pattern,
        backend: Backend,
        plans: dict[Any, tuple[Any, ...]],
        types: tuple[type, ...],
        run: _Run,
        args: tuple[Any, ...],
        stream: int | None,
        extra: _Extra,
        key: Any,
    ) -> Any:
        """Make the plan for these arguments, then launch by it."""
        for index, is_array in enumerate(pattern.arrays):
            if is_array:
                parameter = self._definition.signature.parameters[index]
                backend.check_usable(args[index], parameter.name, not parameter.is_const)
        specs = [
            backend.describe(argument)[0] if is_array else None
            for argument, is_array in zip(args, pattern.arrays, strict=True)
        ]
        size, block_size = extra or (None, None)
        resolved = resolve_elementwise(
            self.name, self._definition.signature, specs, args[: self.nin], size
        )
        aligned = self._aligned(args, backend, resolved, stream)
        if aligned is not args:
            return run(*aligned, stream, extra)
        row = self._plan(pattern, backend, resolved, types, block_size).row()
        if len(plans) >= MAX_PLANS:
            plans.clear()
        plans[key] = row
        return run(*args, stream, extra)

    def _overlapped(
        self,
        pattern: Pattern,
        backend: Backend,
        run: _Run,
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
        return run(*values, stream, extra)

    def _aligned(
        self, args: tuple[Any, ...], backend: Backend, resolved: Resolved, stream: int | None
    ) -> tuple[Any, ...]:
        """Copy inputs that the body reads by references, if they are not aligned for that.

        Those are raw inputs, and all where the body works on the arrays themselves. Returns `args`
        itself where nothing was to be copied.
        """
        definition = self._definition
        direct = definition.works_on_arrays(resolved.specs, resolved.shape)
        result = list(args)
        copied = False
        for index, spec in enumerate(resolved.specs[: len(args)]):
            parameter = definition.signature.parameters[index]
            if spec is None or not (parameter.raw or direct) or is_aligned(spec, backend.name):
                continue
            if not parameter.is_const:
                raise ArgumentValueError(
                    render_message(
                        f"The array for {'raw ' if parameter.raw else ''}parameter "
                        f"'{parameter.name}' is written by references, but its elements are not at "
                        f"multiples of {alignment_on(backend.name, spec.dtype)} bytes.",
                        definition.signature.snippet(index),
                        hint="pass a copy.",
                    )
                )
            with backend.stream_context(stream):
                result[index] = _identity()(args[index])
            copied = True
        return tuple(result) if copied else args

    def _lower(
        self, resolved: Resolved, backend: BackendName, block_size: int | None
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
        resolved: Resolved,
        types: tuple[type, ...],
        block_size: int | None,
    ) -> Plan:
        lowered = self._lower(resolved, backend.name, block_size)
        outputs = resolved.binding.dtypes[self.nin :]
        limits = tuple(
            overlap_limits(resolved.specs[k], resolved.specs[j], resolved.shape)
            for k, j in overlap_pairs(pattern)
        )
        if lowered is None:
            raws = sum(
                parameter.raw and spec is not None
                for parameter, spec in zip(
                    self._definition.signature.parameters, resolved.specs, strict=True
                )
            )
            check = functools.partial(
                _convert_scalars, self._scalars(resolved.binding, pattern.arrays)
            )
            return Plan(
                None, 0, 0, 0, check, check, _no_buffer, resolved.shape, outputs,
                resolved.order, ((),) * raws, limits,
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

    def _scalars(
        self, binding: Binding, is_array: Sequence[bool]
    ) -> list[tuple[np.dtype[Any], Snippet]]:
        """Return the dtype and the place of every input that is a number."""
        signature = self._definition.signature
        return [
            (binding.dtypes[index], signature.snippet(index))
            for index in range(self.nin)
            if not is_array[index]
        ]

    def _checked_pack(self, specialization: ElementwiseSpecialization) -> Callable[..., None]:
        """Return a function that converts the scalars, the last values, before it packs."""
        scalars = self._scalars(specialization.binding, specialization.is_array)
        pack = specialization.arguments.dynamic.pack_into

        def pack_checked(buffer: Any, offset: int, *values: Any) -> None:
            first = len(values) - len(scalars)
            pack(buffer, offset, *values[:first], *_convert_scalars(scalars, *values[first:]))

        return pack_checked

    # -- what was made ------------------------------------------------------------------------

    def _remember_code(self, specs: Sequence[ArraySpec | None], unit: TranslationUnit) -> None:
        key = tuple(spec.dtype for spec in specs if spec is not None)
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
            raise NotCompiledError(
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
        **named: Any,
    ) -> TranslationUnit:
        """Return the text that a call with such arguments compiles, without a GPU or any memory.

        Parameters
        ----------
        *args : ArraySpec, array, number, number type or dtype
            One an input, or one an input and an output; also by keyword, and left out where there
            is a default. A dtype or a type stands for a scalar.
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
        if backend not in ("cuda", "host"):
            raise ArgumentValueError(f"'backend' must be 'host' or 'cuda', not {backend!r}.")
        options = calls.read_options({"size": size, "block_size": block_size})
        args = calls.arrange(self.name, self._definition.signature, args, named)
        specs = [_spec_of(argument) for argument in args]
        resolved = resolve_elementwise(
            self.name, self._definition.signature, specs, args[: self.nin], options.size
        )
        lowered = self._lower(resolved, backend, options.block_size)
        if lowered is None:
            raise ArgumentValueError(f"A loop of shape {resolved.shape} compiles nothing.")
        return translation_unit_of(lowered.specialization)

    def compile(
        self,
        *args: Any,
        target: str,
        size: int | None = None,
        block_size: int | None = None,
        **named: Any,
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
        unit = self.translation_unit(
            *args, backend=backend, size=size, block_size=block_size, **named
        )
        return pipeline.compile_ahead(unit, target)


def _check_text(name: str, text: object) -> None:
    """Raise unless `text` can be a part of a translation unit."""
    if not isinstance(text, str):
        raise ArgumentTypeError(f"'{name}' must be a string, not '{type(text).__name__}'.")
    if "\0" in text:
        raise SignatureError(f"'{name}' holds a null character, which would end the text there.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SignatureError(f"'{name}' holds a lone surrogate, which is no character.") from None


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


def _convert_scalars(
    scalars: Sequence[tuple[np.dtype[Any], Snippet]], *values: Any
) -> list[object]:
    """Return numbers as what ``struct`` packs; raises for one that its parameter cannot hold."""
    return [
        part
        for value, (dtype, place) in zip(values, scalars, strict=True)
        for part in convert_scalar(value, dtype, place)
    ]


def _no_buffer() -> None:
    """Make no buffer: a loop without elements has no arguments."""
