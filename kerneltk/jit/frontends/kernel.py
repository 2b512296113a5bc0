"""``@kernel``: a function of one element, or of one index, as a kernel on whole arrays.

The function becomes a device function; what calls it for every element is the loop of
`ElementwiseKernel`, with its layout classes, its wide loads and its launch path.
"""

from __future__ import annotations

import abc
import ast
import functools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import capabilities_of, capabilities_of_target
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import Capabilities, TranslationUnit, checked_options
from kerneltk.core.dtypes import describe
from kerneltk.core.recorders import Recordable, current_recorder, recorders
from kerneltk.core.records import cached_property
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.interop.streams import Handle, stream_handle
from kerneltk.jit.frontends.rawkernel import Decorated, Definition, Mode, checked_function
from kerneltk.jit.frontends.shortcuts import Specialized, make_shortcut
from kerneltk.jit.ir.types import Array, Number, Record, Tuple, Type, fits_32bit
from kerneltk.jit.launch.marshalling import is_array, type_of
from kerneltk.launch.called import Called, common_calls
from kerneltk.launch.dispatch import ArrayFunction, Call, CallDescription, written_arguments
from kerneltk.launch.launch_config import is_size

# A call loads what compiles the function: decorating it takes none of that.
if TYPE_CHECKING:
    from kerneltk.jit.frontends.analyses import Analyses
    from kerneltk.jit.frontends.typed_kernel import TypedKernel
    from kerneltk.launch.explanation import KernelExplanation

_SHAPES = ("shape", "size")
_OPTIONS = (*_SHAPES, "stream", "block_size", "backend")


TypedCall = tuple["TypedKernel", list[Any], dict[str, Any]]
"""A kernel for some types, and the arguments and options of its call."""


class OfElements(Decorated):
    """A decorated function whose calls are those of a typed kernel."""

    @abc.abstractmethod
    def _typed_call(
        self, args: Sequence[Any], out: Any, backend: Capabilities, named: dict[str, Any]
    ) -> TypedCall:
        """The typed kernel of a call with such arguments; `named` has its options, too."""

    def _unit_for(self, args: Sequence[Any], target: str | None) -> tuple[TranslationUnit, str]:
        from kerneltk.launch.explanation import backend_for

        target = target or backend_for(args).name
        backend = capabilities_of_target(target)
        typed, given, options = self._typed_call(args, None, backend, {})
        return typed.translation_unit(*given, backend=backend.name, **options), target

    def explain(
        self, *args: Any, out: Any = None, target: str | None = None, **named: Any
    ) -> KernelExplanation:
        """Explain a call with such arguments and options: see `ElementwiseKernel.explain`."""
        from kerneltk.launch.explanation import target_for

        target = target or target_for((*args, out, *named.values()))
        backend = capabilities_of_target(target)
        typed, given, options = self._typed_call(args, out, backend, named)
        return typed.explain(*given, target=target, **options)


@common_calls("shortcut")
class ElementKernel(Called, ArrayFunction, OfElements):
    """A function of one element, or of one index, that runs on whole arrays.

    Made by :func:`kernel`. Arguments are broadcast against each other, outputs are allocated.
    NumPy arrays run on the cores of this machine, CuPy arrays on their GPU.

    Attributes
    ----------
    raw : frozenset of str
        The parameters that are whole arrays to the function.
    """

    _distinguished, _verb = "argument types", "call"
    _otypes: tuple[np.dtype[Any], ...] | None = None  # of the results, if not those of the values

    def __init__(self, definition: Definition, raw: Sequence[str] | None) -> None:
        super().__init__()
        self._definition = definition
        functools.update_wrapper(self, definition.function)
        self._given_raw = raw

    @cached_property
    def raw(self) -> frozenset[str]:
        """The parameters that are whole arrays to the function."""
        names = self._definition.parameters
        if self._given_raw is not None:
            for name in self._given_raw:
                if name not in names:
                    raise ArgumentValueError(
                        f"Kernel '{self.name}' has no parameter '{name}' that could be raw."
                    )
            return frozenset(self._given_raw)
        known = self._analyses.fact("raw")
        if known is not None:
            return frozenset(known)
        found = array_parameters(self._definition.source.node, names)
        self._analyses.note_fact("raw", sorted(found))
        return found

    @cached_property
    def _analyses(self) -> Analyses:
        from kerneltk.jit.frontends.analyses import Analyses

        return Analyses(self._definition, "elements")

    @cached_property
    def _is_raw(self) -> tuple[bool, ...]:
        return tuple(name in self.raw for name in self._definition.parameters)

    # -- calls ---------------------------------------------------------------------------------

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        """Evaluate the function for every element.

        Parameters
        ----------
        *args, **named : array or number
            One a parameter of the function; defaults are its own.
        out : array or tuple of arrays, optional
            Where results go, instead of new arrays.
        shape : tuple of int, optional
            Of the results (elements), where no argument is taken by element; if it is not given,
            that of the first raw array.
        size : int, optional
            The same for one dimension.
        stream, block_size, backend : optional
            As for `ElementwiseKernel`.

        Returns
        -------
        array, tuple of arrays or None
            One array a value that the function returns.

        Raises
        ------
        TypingError, UnsupportedError
            The function does not fit these arguments, at its line.
        ArgumentTypeError, ArgumentValueError
            Arguments of other kinds, or shapes that do not go together.
        """
        if recorders and (recorder := current_recorder()) is not None:
            return recorder.call(self._recordable(args, out, named))
        if not named and len(args) == len(self._is_raw):
            if out is None:
                return self._shortcut(*args)
            if type(out) is not tuple:
                return self._shortcut_out(*args, out)
        return self._call(args, out, named)

    def _recordable(self, args: tuple[Any, ...], out: Any, named: dict[str, Any]) -> Recordable:
        options = {key: named.pop(key) for key in _OPTIONS if key in named}
        values, count = self._definition.bound(args, named), len(self._definition.parameters)
        stream = options.pop("stream", None)
        if stream is not None:
            stream_handle(stream)
        if out is not None:
            values = (*values, *(out if isinstance(out, tuple) else (out,)))
        is_given = len(values) > count

        def run(values: tuple[Any, ...]) -> Any:
            outputs = values[count:] or None
            words = dict(options)
            if outputs and not is_given:  # results of an earlier call, whose shape is known
                words = {key: value for key, value in options.items() if key not in _SHAPES}
            return self._call(values[:count], outputs, words)

        as_numbers = foreign_arrays.host_scalars_as_numbers
        return Recordable(self.name, self._definition.parameters, values, count, run, as_numbers)

    def _call(self, args: tuple[Any, ...], out: Any, named: dict[str, Any]) -> Any:
        """Call with arguments of any kinds, in the parameters' order or named."""
        options = {key: named.pop(key) for key in _OPTIONS if key in named} if named else {}
        if named or len(args) != len(self._definition.parameters):
            args = self._definition.bound(args, named)
        outputs = () if out is None else out if isinstance(out, tuple) else (out,)
        return self._dispatch(args, outputs, options)

    def _described(
        self, args: tuple[Any, ...], outputs: tuple[Any, ...], options: dict[str, Any]
    ) -> Call:
        definition = self._definition
        call = Call(args, outputs, options, definition.named, f"kernel '{self.name}'")
        small = are_small((*call.own, *call.own_outputs), options.get("shape"), options.get("size"))
        name = "host" if call.backend is None else call.backend.capabilities.name
        kinds = tuple(map(kind_of, call.own, self._is_raw))
        call.key = kinds, tuple([array.dtype for array in call.own_outputs]), small, name
        call.facts = small
        return call

    def _made(self, call: Call) -> Specialized:
        backend = None if call.backend is None else call.backend.capabilities
        return self._specialized(call.own, call.own_outputs, call.facts, backend)

    def _planned(self, call: Call, known: Specialized) -> Callable[[int | None], Any]:
        options = call.options

        def run(handle: int | None) -> Any:
            if handle is not None:
                options["stream"] = Handle(handle)
            return self._run(known, call.own, call.own_outputs, options)

        return run

    def _shortcut_for(
        self, call: Call, known: Specialized, otherwise: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        return make_shortcut(call, self._is_raw, known, otherwise) if call.facts else None

    @staticmethod
    def _key_of(value: Any) -> Any:
        return getattr(value, "dtype", None), getattr(value, "ndim", None)

    def _run(
        self,
        known: Specialized,
        args: tuple[Any, ...],
        outputs: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """Return the arrays of a call; those among `args` and `outputs` are the backends' own."""
        typed, dtypes, ndim = known
        given = tuple(arg for arg in args if arg is not None)
        by_element = self._by_element(args, outputs)
        if by_element or outputs:
            self._check_no_shape(options)
            if ndim > 1:
                self._check_index(ndim, max(map(_ndim, (*by_element, *outputs))))
        else:
            shape = self._free_shape(args, options)
            self._check_index(ndim, len(shape), has_results=bool(dtypes))
            if not dtypes:
                return typed.arrays(*given, **options, size=math.prod(shape))
            outputs = self._allocated(args, shape, dtypes, options.get("backend"))
        return typed.arrays(*given, *outputs, **options)

    def _by_element(self, args: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """The arrays that decide the shape of the loop, where no output does."""
        pairs = list(zip(args, self._is_raw, strict=True))
        found = [arg for arg, raw in pairs if not raw and is_array(arg)]
        if found and not outputs and any(raw and is_array(arg) for arg, raw in pairs):
            # What has no dimensions is a number beside whole arrays.
            found = [arg for arg in found if _ndim(arg)]
        return found

    def describe_call(
        self, args: Sequence[Any], outputs: Sequence[ArraySpec] = ()
    ) -> CallDescription:
        """Describe the results of a call, without any memory.

        Parameters
        ----------
        args : sequence of ArraySpec, array, number, number type or dtype
            One a parameter of the function. Extents and strides of an `ArraySpec` may be numbers
            that stand for integers; those of the results then are.
        outputs : sequence of ArraySpec
            Those that are given.

        Raises
        ------
        TypingError, UnsupportedError, ArgumentTypeError, ArgumentValueError
            As a call does, where types and shapes tell.
        """
        kinds = self._described_kinds(args)
        typed, dtypes, ndim = self._specialized(tuple(args), tuple(outputs), kinds=kinds)
        by_element = self._by_element(args, outputs)
        if by_element or outputs:
            if ndim > 1:
                self._check_index(ndim, max(map(_ndim, (*by_element, *outputs))))
        else:
            shape = self._free_shape(args, {})
            self._check_index(ndim, len(shape), has_results=bool(dtypes))
            outputs = [ArraySpec.dense(dtype, shape) for dtype in dtypes]
        names = self._definition.parameters
        written = frozenset(names[k] for k in written_arguments(typed, args))
        if not by_element and not outputs:  # a loop of `size`, which writes to whole arrays
            return CallDescription((), written, is_batchable=False)
        found = typed.describe_call([*(arg for arg in args if arg is not None), *outputs])
        return replace(found, written=written)

    def _check_index(self, ndim: int, found: int, *, has_results: bool = True) -> None:
        if ndim > 1 and not has_results:  # the loop has a size alone
            raise ArgumentValueError(
                f"Kernel '{self.name}' asks for 'jit.index({ndim})', returns nothing, and takes no "
                "array by element.\n  Hint: return a value, or divide 'jit.index(1)'."
            )
        if ndim > 1 and found != ndim:
            raise ArgumentValueError(
                f"Kernel '{self.name}' asks for 'jit.index({ndim})', and its results have {found} "
                f"dimension{'s' * (found != 1)}."
            )

    def _check_no_shape(self, options: Collection[str]) -> None:
        if "shape" in options or "size" in options:
            raise ArgumentValueError(
                f"Kernel '{self.name}' takes no 'shape' here: the shape of its results is that "
                "of its arguments."
            )

    def _free_shape(self, args: Sequence[Any], options: dict[str, Any]) -> tuple[int, ...]:
        """Return the shape of a loop that no argument is taken by element in."""
        shape, size = options.pop("shape", None), options.pop("size", None)
        if shape is None:
            shape = size
        if shape is None:
            raws = [arg for arg, raw in zip(args, self._is_raw, strict=True) if raw]
            arrays = [arg for arg in raws if is_array(arg)]
            if not arrays:
                raise ArgumentValueError(
                    f"Kernel '{self.name}' has no array among its arguments: give 'shape' or "
                    "'size'."
                )
            return tuple(arrays[0].shape)
        extents = (shape,) if is_size(shape) else shape
        if not isinstance(extents, tuple | list) or not all(
            is_size(extent) and extent >= 0 for extent in extents
        ):
            raise ArgumentValueError(f"'shape' must be a tuple of integers, not {shape!r}.")
        if math.prod(extents) >= 2**63:
            raise ArgumentValueError(f"'shape' has more than 2**63 - 1 elements: {shape!r}.")
        return tuple(int(extent) for extent in extents)

    def _allocated(
        self,
        args: Sequence[Any],
        shape: tuple[int, ...],
        dtypes: Sequence[np.dtype[Any]],
        wanted: Any,
    ) -> tuple[Any, ...]:
        owners = [foreign_arrays.backend_of(arg) for arg in args]
        found = next((owner for owner in owners if owner is not None), None)
        backend = found if found is not None else foreign_arrays.backend_named(wanted)
        return tuple(backend.empty(shape, dtype, "C") for dtype in dtypes)

    # -- one combination of types ----------------------------------------------------------------

    def _specialized(
        self,
        args: tuple[Any, ...],
        outputs: tuple[Any, ...],
        small: bool = True,
        backend: Capabilities | None = None,
        kinds: Sequence[Type] | None = None,
    ) -> Specialized:
        """Return the kernel for arguments of these types."""
        from kerneltk.jit.frontends.analyses import case_of
        from kerneltk.jit.frontends.typed_kernel import kernel_of_outcome

        if kinds is None:
            kinds = [self._type_of(value, index) for index, value in enumerate(args)]
        backend = backend or capabilities_of("host")
        given = [array.dtype for array in outputs]
        ways = repr((self._is_raw, [is_array(arg) for arg in args]))
        case = case_of(kinds, backend, small, (given, self._otypes), ways)
        known = self._analyses.find(case)
        if known is not None:
            return Specialized(*kernel_of_outcome(known, self._definition))

        from kerneltk.jit.compile import PassContext
        from kerneltk.jit.frontends.element_source import (
            Operand,
            check_operations,
            element_definition,
            element_operands,
            element_results,
        )
        from kerneltk.jit.frontends.typed_kernel import outcome_of, typed_kernel
        from kerneltk.jit.passes.effects import written_parameters
        from kerneltk.jit.source.lookups import Lookups

        lookups = Lookups()
        context = PassContext(backend, small, of_elements=True)
        lowered = self._definition.lowered(kinds, of_elements=True, lookups=lookups)
        program = self._definition.optimized(lowered, context)
        function = program.kernel
        check_operations(program)
        results = element_results(function.result)
        if outputs and len(outputs) != len(results):
            raise ArgumentValueError(
                f"Kernel '{self.name}' returns {len(results)} values, and {len(outputs)} arrays "
                "were given for them."
            )
        dtypes = self._stored([result.leaves[0][1] for result in results])
        check_results(f"kernel '{self.name}'", dtypes, outputs, "kernel")
        stored = tuple(array.dtype for array in outputs) or dtypes
        definition = element_definition(
            self._definition,
            program,
            written_parameters(lowered),
            element_operands(kinds, args),
            [Operand("output", (), Number(dtype)) for dtype in stored],
            results,
            short=small and backend.short_indices,
        )
        outcome = outcome_of(definition, function.result, stored, function.index_ndim)
        paths = [path for path, _ in definition.user_sources]
        self._analyses.keep(case, lookups, outcome, paths)
        kernel = typed_kernel(definition, function.result)
        return Specialized(kernel, stored, function.index_ndim)

    def _stored(self, results: Sequence[Number]) -> tuple[np.dtype[Any], ...]:
        """The dtypes of outputs that are not given, by what the function returns."""
        return tuple(kind.dtype for kind in results)

    def _type_of(self, value: Any, index: int) -> Type:
        path = self._definition.paths[index]
        if isinstance(value, tuple | list):
            hint = f"pass an array, 'np.array({path.name})'; '@jit.rawkernel' takes tuples."
            raise path.refused("a list" if isinstance(value, list) else "a tuple", hint)
        owner, own = foreign_arrays.own_array(value)
        array_type = owner.array_type if owner is not None else np.ndarray
        kind = type_of(own, array_type, path)
        if isinstance(kind, Array) and not self._is_raw[index]:
            return kind.element
        if isinstance(kind, Record) and isinstance(own, np.void):
            hint = "pass an array of one, 'x[:1]', or its fields; '@jit.rawkernel' takes records."
            raise path.refused("a single record", hint)
        if isinstance(kind, Tuple):  # an instance of a dataclass
            hint = "pass its fields, such as '.value', by themselves, or use '@jit.rawkernel'."
            raise path.refused("an object with fields", hint)
        return kind

    # -- what was made -------------------------------------------------------------------------

    def _described_kinds(self, args: Sequence[Any]) -> list[Type]:
        """The parameters' types for arguments, or what stands for them."""
        # It is imported when it is wanted: a call needs none of it.
        from kerneltk.jit.frontends.inspection import described

        kinds: list[Type] = []
        for index, value in enumerate(args):
            kind = described(value)
            if isinstance(kind, Array) and not self._is_raw[index]:
                kind = kind.element
            kinds.append(kind or self._type_of(value, index))
        return kinds

    def _typed_call(
        self, args: Sequence[Any], out: Any, backend: Capabilities, named: dict[str, Any]
    ) -> TypedCall:
        given_options = {key: named.pop(key) for key in _OPTIONS if key in named}
        args = self._definition.bound(tuple(args), named)
        outputs = () if out is None else out if isinstance(out, tuple) else (out,)
        kinds = self._described_kinds(args)
        typed, dtypes, _ = self._specialized(tuple(args), outputs, kinds=kinds)
        given = [arg for arg in args if arg is not None]
        by_element = any(
            not raw and is_array(arg) and (_ndim(arg) or not self.raw)
            for arg, raw in zip(args, self._is_raw, strict=True)
        )
        shapes = {key: given_options[key] for key in _SHAPES if key in given_options}
        options = {key: given_options[key] for key in ("block_size",) if key in given_options}
        if outputs or by_element:
            self._check_no_shape(shapes)
            given += outputs
        else:
            shape = self._free_shape(args, shapes or ({} if self.raw else {"shape": (1,)}))
            given += [ArraySpec.make(dtype, shape) for dtype in dtypes]
            options |= {} if dtypes else {"size": math.prod(shape)}
        return typed, given, options

    def _made_of(self) -> tuple[Any, ...]:
        return self._definition, self._given_raw

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The generated sources, by the dtypes of the array arguments."""
        return {
            (key, dtypes): source()
            for key, (typed, _, _) in self.kernels.items()
            for dtypes, source in typed._dispatcher.codes.items()
        }


_OF_ARRAYS = ("shape", "size", "ndim", "strides", "nbytes")


def array_parameters(node: ast.AST, names: Sequence[str]) -> frozenset[str]:
    """Return the parameters that a function uses as arrays: indexes, loops over, or asks for what
    only an array has.
    """
    found: set[str] = set()

    def note(item: ast.AST) -> None:
        if isinstance(item, ast.Name) and item.id in names:
            found.add(item.id)

    for item in ast.walk(node):
        if isinstance(item, ast.Subscript):
            key = item.slice
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                note(item.value)  # a name is a record's field
        elif isinstance(item, ast.Attribute) and item.attr in _OF_ARRAYS:
            note(item.value)
        elif isinstance(item, ast.For):
            note(item.iter)
        elif isinstance(item, ast.Call):
            name = getattr(item.func, "attr", getattr(item.func, "id", ""))
            if (name == "len" or name.startswith("atomic_")) and item.args:
                note(item.args[0])
            elif name in ("enumerate", "zip", "reversed"):
                for argument in item.args:
                    note(argument)
    return frozenset(found)


def _ndim(value: Any) -> int:
    return len(value.shape)


def kind_of(value: Any, raw: bool) -> Any:
    """Return the part of the key that decides an argument's type."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or not hasattr(value, "strides"):
        return type(value)
    if not raw:
        return dtype if not isinstance(value, np.generic) else type(value)
    flags = getattr(value, "flags", None)
    return type(value), dtype, value.ndim, getattr(flags, "c_contiguous", None)


def check_results(
    called: str, dtypes: Sequence[np.dtype[Any]], outputs: Sequence[Any], place: str
) -> None:
    """Raise ArgumentTypeError for an array that does not take the results that it is given for."""
    for index, (array, dtype) in enumerate(zip(outputs, dtypes, strict=False)):
        try:
            describe(array.dtype)
        except ArgumentTypeError as error:
            raise foreign_arrays.named_error(error, "out", None) from None
        if not np.can_cast(dtype, array.dtype, "same_kind"):
            raise ArgumentTypeError(
                f"Result {index + 1} of {called} has dtype '{dtype}', and the array that was given "
                f"for it has '{array.dtype}'.\n"
                f"  Hint: convert the value in the {place}."
            )


def are_small(values: Sequence[Any], *shapes: Any) -> bool:
    """Return whether arrays, and shapes, have less than 2**31 elements, along each axis, too."""
    sizes = [getattr(value, "size", 0) for value in values]
    for shape in (*(getattr(value, "shape", ()) for value in values), *shapes):
        sizes += shape if isinstance(shape, tuple | list) else (shape,)
    return fits_32bit(int(size) for size in sizes if isinstance(size, int | np.integer))


@overload
def kernel(function: Callable[..., Any], /) -> ElementKernel: ...
@overload
def kernel(
    *,
    mode: Mode = ...,
    raw: Sequence[str] | None = ...,
    options: Sequence[str] = ...,
    fastmath: bool = ...,
) -> Callable[[Callable[..., Any]], ElementKernel]: ...


def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    mode: Mode = "numpy",
    raw: Sequence[str] | None = None,
    options: Sequence[str] = (),
    fastmath: bool = False,
) -> Any:
    """Make a kernel of a function of one element, or of one index.

    A parameter is an element of its argument; what the function returns is an element of the
    result, or several. A parameter that the function indexes, or asks for its ``shape`` or
    ``size``, is the whole array; ``jit.index(ndim)`` is the index of the element.

    Parameters
    ----------
    mode : {"numpy", "cuda"}
        How numbers of two dtypes meet: as in NumPy, or as in CUDA C++.
    raw : sequence of str, optional
        The parameters that are whole arrays, where the source does not show it.
    options : tuple of str
        Compile options, as NVRTC takes them.
    fastmath : bool
        Whether GPUs may use their fast, less exact functions.

    Returns
    -------
    ElementKernel
        Called with arrays and numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from kerneltk import jit
    >>> @jit.kernel
    ... def axpb(x, a, b):
    ...     return a * x + b
    >>> axpb(np.arange(4, dtype=np.float32), 2, 0.5)
    array([0.5, 2.5, 4.5, 6.5], dtype=float32)

    >>> @jit.kernel
    ... def smooth(x):
    ...     i = jit.index(1)
    ...     return (x[max(i - 1, 0)] + x[i] + x[min(i + 1, x.size - 1)]) / 3
    >>> smooth(np.array([3.0, 0.0, 6.0, 9.0]))
    array([2., 3., 5., 8.])
    """
    if mode not in ("cuda", "numpy"):
        raise ArgumentValueError(f"'mode' must be 'cuda' or 'numpy', not {mode!r}.")
    checked = checked_options(options)
    if isinstance(raw, str):
        raw = (raw,)
    if raw is not None and not isinstance(raw, Collection):
        raise ArgumentTypeError(f"'raw' must be a sequence of str, not {raw!r}.")

    def decorate(decorated: Callable[..., Any]) -> ElementKernel:
        plain = checked_function(decorated, "kernel")
        definition = Definition(plain, mode, checked, (), bool(fastmath))
        return ElementKernel(definition, raw)

    return decorate if function is None else decorate(function)
