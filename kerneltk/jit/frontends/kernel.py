"""``@kernel``: a function of one element, or of one index, as a kernel on whole arrays.

The function becomes a device function; what calls it for every element is the loop of
`ElementwiseKernel`, with its layout classes, its wide loads and its launch path.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.registry import capabilities_of_target
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.core.dtypes import describe
from kerneltk.core.identifiers import identifier_problem, is_library_name, stem_of, variable_problem
from kerneltk.core.lexer import has_loops, identifiers
from kerneltk.elementwise import ElementwiseKernel
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    Snippet,
    UnsupportedError,
    render_message,
)
from kerneltk.interop.streams import Handle, stream_handle
from kerneltk.jit import ir
from kerneltk.jit.codegen.assumptions import Shapes, is_small
from kerneltk.jit.codegen.emit import Emitter
from kerneltk.jit.codegen.translation_unit import for_gpus, ordered_headers
from kerneltk.jit.frontends.rawkernel import Decorated, Definition, Mode, checked_function
from kerneltk.jit.frontends.shortcuts import make_shortcut
from kerneltk.jit.ir.types import VOID, Array, Number, Record, Tuple, Type, Void
from kerneltk.jit.ir.verifier import verify
from kerneltk.jit.launch.marshalling import Place, type_of
from kerneltk.jit.passes.effects import written_parameters
from kerneltk.launch.launch_config import is_size
from kerneltk.signature.parameters import Signature
from kerneltk.signature.parser import parse_signature

__all__ = ["ElementKernel", "kernel"]

_OPTIONS = ("shape", "size", "stream", "block_size", "backend")
# What a function of one element has no threads for.
_OF_THREADS = frozenset((ir.Effect.BARRIER, ir.Effect.WAITS, ir.Effect.THREAD))


@dataclass(frozen=True)
class _TypedDefinition(ElementwiseDefinition):
    """An elementwise kernel whose operation is a call of a function that is known.

    What the base guesses from texts is told here.
    """

    reads_index: bool = False
    reads_coordinates: bool = False
    works_directly: bool = False
    sources: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    opaque = False
    includes_others = False
    overwrites = True
    stays_in_place = True
    names: frozenset[str] = frozenset()
    inner_names: frozenset[str] = frozenset()

    @property
    def uses_index(self) -> bool:
        """Whether the function asks for the element's place."""
        return self.reads_index or self.reads_coordinates

    @property
    def uses_index_space(self) -> bool:
        """Whether it asks for coordinates."""
        return self.reads_coordinates

    @cached_property
    def may_loop(self) -> bool:
        """Whether the function, which stands in the preamble, has loops."""
        return has_loops(identifiers(self.preamble))

    @cached_property
    def direct(self) -> bool:
        """Whether the body must work on the arrays themselves: it has atomic operations."""
        return self.works_directly

    @property
    def origins(self) -> tuple[tuple[str, str], ...]:
        """The user's texts by the names that ``#line`` gives them."""
        return (*self.sources, *super().origins)


@dataclass(frozen=True, slots=True)
class _UserSignature(Signature):
    """A signature whose messages show the user's function, and not the parameters made of it.

    Parameters
    ----------
    places : tuple of Snippet
        One an input, then one for all outputs.
    """

    places: tuple[Snippet, ...] = ()

    def snippet(self, index: int, label: str = "") -> Snippet:
        """Return the place of a parameter, or of the function's head for an output."""
        place = self.places[min(index, len(self.inputs))]
        return replace(place, label=label)


class _TypedKernel(ElementwiseKernel):
    """The kernel of one combination of argument types."""

    def __init__(self, definition: _TypedDefinition, result: Type) -> None:
        self._no_return = definition.signature.outputs == ()
        self._return_tuple = isinstance(result, Tuple)
        self._begin(definition)

    def evaluate(
        self, args: Sequence[Any], options: dict[str, Any], give_back: Callable[[Any], Any]
    ) -> Any:
        """Call the kernel, and return its arrays as what `give_back` makes of them."""
        return give_back(ElementwiseKernel.__call__(self, *args, **options))


class _MakingKernel(_TypedKernel):
    """One whose function returns a named tuple or a dataclass, which becomes one of arrays."""

    def __init__(self, definition: _TypedDefinition, result: Tuple) -> None:
        super().__init__(definition, result)
        assert result.maker is not None
        self._make: Callable[..., Any] = result.maker

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate the function for every element."""
        return self._make(*super().__call__(*args, **kwargs))

    def evaluate(
        self, args: Sequence[Any], options: dict[str, Any], give_back: Callable[[Any], Any]
    ) -> Any:
        """Call the kernel, and make the result of what `give_back` makes of its arrays."""
        return self._make(*super().evaluate(args, options, give_back))


def _raw_parameters(node: ast.FunctionDef | ast.Lambda, names: Sequence[str]) -> frozenset[str]:
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
    return frozenset(found)


_OF_ARRAYS = ("shape", "size", "ndim", "strides", "nbytes")


class ElementKernel(Decorated):
    """A function of one element, or of one index, that runs on whole arrays.

    Made by :func:`kernel`. Arguments are broadcast against each other, outputs are allocated.
    NumPy arrays run on the cores of this machine, CuPy arrays on their GPU.

    Attributes
    ----------
    raw : frozenset of str
        The parameters that are whole arrays to the function.
    """

    _distinguished, _verb = "argument types", "call"

    def __init__(self, definition: Definition, raw: Sequence[str] | None) -> None:
        self._definition = definition
        functools.update_wrapper(self, definition.function)
        self._given_raw = raw
        self._typed: dict[Any, tuple[_TypedKernel, tuple[np.dtype[Any], ...], int]] = {}
        self._shortcut: Callable[..., Any] = self._other
        self._shortcut_out: Callable[..., Any] = self._other_out

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
        node = self._definition.source.node
        assert isinstance(node, ast.FunctionDef | ast.Lambda)
        return _raw_parameters(node, names)

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._definition.function)

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
        if not named and len(args) == len(self._is_raw):
            if out is None:
                return self._shortcut(*args)
            if type(out) is not tuple:
                return self._shortcut_out(*args, out)
        return self._call(args, out, named)

    def _other(self, *args: Any) -> Any:
        return self._call(args, None, {})

    def _other_out(self, *args: Any) -> Any:
        return self._call(args[:-1], args[-1], {})

    def _call(self, args: tuple[Any, ...], out: Any, named: dict[str, Any]) -> Any:
        """Call with arguments of any kinds, and make the shortcut for the next call alike."""
        options = {key: named.pop(key) for key in _OPTIONS if key in named} if named else {}
        if named or len(args) != len(self._definition.parameters):
            try:
                bound = self._signature.bind(*args, **named)
            except TypeError as error:
                raise ArgumentTypeError(f"Kernel '{self.name}': {error}.") from None
            bound.apply_defaults()
            args = tuple(bound.arguments[name] for name in self._definition.parameters)
        outputs: tuple[Any, ...] = ()
        if out is not None:
            outputs = out if isinstance(out, tuple) else (out,)
        # Other libraries' arrays have dtypes and shapes of their own kinds, or none.
        adoption = foreign_arrays.Adoption()
        own = tuple(adoption.take(arg, k)[1] for k, arg in enumerate(args))
        own_outputs = tuple(adoption.take(out, None)[1] for out in outputs)
        for value in own_outputs:
            if foreign_arrays.backend_of(value) is None:
                raise ArgumentTypeError(
                    f"'out' of kernel '{self.name}' must be an array or a tuple of arrays, and "
                    f"has an object of type '{type(value).__name__}'."
                )
        small = _are_small((*own, *own_outputs), options.get("shape"), options.get("size"))
        owners = (foreign_arrays.backend_of(value) for value in (*own, *own_outputs))
        on_gpu = any(owner is not None and owner.capabilities.short_indices for owner in owners)
        key = (
            tuple(map(_kind, own, self._is_raw)),
            tuple(array.dtype for array in own_outputs) if outputs else (),
            small,
            on_gpu,
        )
        known = self._typed.get(key)
        if known is None:
            known = self._typed[key] = self._specialized(own, own_outputs, small, on_gpu)
        adoption.check_writes(*self._writes(known[0], own))
        stream = options.pop("stream", None)
        with adoption.launching(None if stream is None else stream_handle(stream)) as handle:
            if handle is not None:
                options["stream"] = Handle(handle)
            result = self._run(*known, own, own_outputs, options, adoption.give_back)
        if not options and len(outputs) < 2 and small:
            self._keep_shortcut(known, args, outputs)
        return result

    def _writes(
        self, typed: _TypedKernel, args: Sequence[Any]
    ) -> tuple[Callable[[Any], bool], Callable[[Any], tuple[str, Snippet | None]]]:
        """Return what tells whether an argument is written to, and its name; None is an output."""
        left = iter(typed.in_params)
        written = [arg is not None and not next(left).is_const for arg in args]
        source, spans = self._definition.source, self._definition.spans()

        def named(index: int | None) -> tuple[str, Snippet | None]:
            if index is None:
                return "out", None
            return self._definition.parameters[index], source.snippet(spans[index])

        return lambda index: index is None or written[index], named

    def _keep_shortcut(
        self,
        known: tuple[_TypedKernel, tuple[np.dtype[Any], ...], int],
        args: tuple[Any, ...],
        outputs: tuple[Any, ...],
    ) -> None:
        owners = [foreign_arrays.backend_of(value) for value in (*args, *outputs)]
        backend = next((owner for owner in owners if owner is not None), None)
        if backend is None:
            return
        typed, dtypes, ndim = known
        made = make_shortcut(
            (*args, *outputs),
            self._is_raw,
            len(outputs),
            ndim,
            dtypes,
            backend,
            typed,
            self._other_out if outputs else self._other,
        )
        if made is not None and outputs:
            self._shortcut_out = made
        elif made is not None:
            self._shortcut = made

    def _run(
        self,
        typed: _TypedKernel,
        dtypes: tuple[np.dtype[Any], ...],
        ndim: int,
        args: tuple[Any, ...],
        outputs: tuple[Any, ...],
        options: dict[str, Any],
        give_back: Callable[[Any], Any],
    ) -> Any:
        """Call the typed kernel; arrays among `args` and `outputs` are the backends' own."""
        given = tuple(arg for arg in args if arg is not None)
        by_element = [
            arg for arg, raw in zip(args, self._is_raw, strict=True) if not raw and _is_array(arg)
        ]
        whole = (raw and _is_array(arg) for arg, raw in zip(args, self._is_raw, strict=True))
        if by_element and not outputs and any(whole):
            # What has no dimensions is a number beside whole arrays.
            by_element = [arg for arg in by_element if _ndim(arg)]
        if by_element or outputs:
            if "shape" in options or "size" in options:
                raise ArgumentValueError(
                    f"Kernel '{self.name}' takes no 'shape' here: the shape of its results is that "
                    "of its arguments."
                )
            if ndim > 1:
                shape = np.broadcast_shapes(*(a.shape for a in (*by_element, *outputs)))
                self._check_index(ndim, shape)
        else:
            shape = self._free_shape(args, options)
            self._check_index(ndim, shape)
            if not dtypes:
                return typed.evaluate(given, {**options, "size": math.prod(shape)}, give_back)
            outputs = self._allocated(args, shape, dtypes, options.get("backend"))
        return typed.evaluate((*given, *outputs), options, give_back)

    def _check_index(self, ndim: int, shape: Sequence[int]) -> None:
        if ndim > 1 and len(shape) != ndim:
            raise ArgumentValueError(
                f"Kernel '{self.name}' asks for 'jit.index({ndim})', and its results have the "
                f"shape {tuple(shape)}, of {len(shape)} dimensions."
            )

    def _free_shape(self, args: Sequence[Any], options: dict[str, Any]) -> tuple[int, ...]:
        """Return the shape of a loop that no argument is taken by element in."""
        shape, size = options.pop("shape", None), options.pop("size", None)
        if shape is None:
            shape = size
        if shape is None:
            raws = [arg for arg, raw in zip(args, self._is_raw, strict=True) if raw]
            arrays = [arg for arg in raws if _is_array(arg)]
            if not arrays:
                raise ArgumentValueError(
                    f"Kernel '{self.name}' has no array among its arguments: give 'shape' or "
                    "'size'."
                )
            shape = arrays[0].shape
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
        on_gpu: bool = False,
        kinds: Sequence[Type] | None = None,
    ) -> tuple[_TypedKernel, tuple[np.dtype[Any], ...], int]:
        """Return the kernel for arguments of these types, the dtypes of its outputs, and of how
        many dimensions the index is that the function asks for.
        """
        if kinds is None:
            kinds = [self._type_of(value, index) for index, value in enumerate(args)]
        program = self._definition.program(kinds, of_elements=True, small=small)
        function = program.kernel
        self._check_operations(program)
        found = _results(function.result)
        if outputs and len(outputs) != len(found):
            raise ArgumentValueError(
                f"Kernel '{self.name}' returns {len(found)} values, and {len(outputs)} arrays were "
                "given for them."
            )
        dtypes = tuple(kind.dtype for kind in found)
        for index, (array, dtype) in enumerate(zip(outputs, dtypes, strict=False)):
            if not np.can_cast(dtype, array.dtype, "same_kind"):
                raise ArgumentTypeError(
                    f"Result {index + 1} of kernel '{self.name}' has dtype '{dtype}', and the "
                    f"array that was given for it has '{array.dtype}'.\n"
                    "  Hint: convert the value in the kernel."
                )
        stored = tuple(array.dtype for array in outputs) or dtypes
        if on_gpu:
            program = for_gpus(program, small=small)
        verify(program, of_elements=True)
        short = small and on_gpu
        typed = self._build(program, kinds, args, found, stored, short)
        return typed, stored, function.index_ndim

    def _type_of(self, value: Any, index: int) -> Type:
        name = self._definition.parameters[index]
        place = Place(
            self.name,
            name,
            self._definition.source.snippet(self._definition.spans()[index]),
        )
        owner, own = foreign_arrays.own_array(value)
        array_type = owner.array_type if owner is not None else np.ndarray
        kind = type_of(own, array_type, place)
        if isinstance(kind, Array) and not self._is_raw[index]:
            return kind.element
        if isinstance(kind, Record) and isinstance(own, np.void):
            raise ArgumentTypeError(
                place.message(
                    f"Parameter '{name}' of kernel '{self.name}' was given a single record.",
                    "pass an array of one, 'x[:1]', or its fields; '@jit.rawkernel' takes records.",
                )
            )
        if isinstance(kind, Tuple):
            raise ArgumentTypeError(
                place.message(
                    f"Parameter '{name}' of kernel '{self.name}' was given a tuple.",
                    "give its items one by one; '@jit.rawkernel' takes tuples.",
                )
            )
        return kind

    def _check_operations(self, program: ir.Program) -> None:
        for function in program.functions:
            for node in ir.walk(*function.body):
                if isinstance(node, ir.Declare) and _is_shared(node):
                    raise UnsupportedError(
                        render_message(
                            "A '@jit.kernel' has no shared memory: its elements have no block.",
                            function.source.snippet(node.span),
                            hint="use 'jit.local_memory', or '@jit.rawkernel'.",
                        )
                    )
                if not isinstance(node, ir.Call):
                    continue
                effects = node.operation.effects
                if effects & _OF_THREADS and not node.operation.by_reference:
                    raise UnsupportedError(
                        render_message(
                            f"'{node.operation.name}' cannot be used in a '@jit.kernel': its "
                            "threads are not the function's affair.",
                            function.source.snippet(node.span),
                            hint="use 'jit.index(ndim)' for the element's place, or "
                            "'@jit.rawkernel'.",
                        )
                    )

    def _build(
        self,
        program: ir.Program,
        kinds: Sequence[Type],
        args: Sequence[Any],
        results: Sequence[Number],
        stored: Sequence[np.dtype[Any]],
        short: bool,
    ) -> _TypedKernel:
        function = program.kernel
        emitter = Emitter(program, shapes=Shapes(small=short))
        written = written_parameters(program)
        names = _Names()
        source = self._definition.source
        places: list[Snippet] = []
        inputs: list[str] = []
        values: list[str] = []
        parameters = iter(function.parameters)
        for name, kind, arg, span in zip(
            self._definition.parameters, kinds, args, self._definition.spans(), strict=True
        ):
            if isinstance(kind, Void):
                continue
            places.append(source.snippet(span))
            parameter = next(parameters)
            own = names.of(name)
            if isinstance(kind, Array):
                const = "_non_const " if parameter.name in written else ""
                inputs.append(f"raw {const}{_variable(len(inputs))} {own}")
                values.append(_view(emitter, kind, own))
            else:
                passed = parameter.type
                assert isinstance(passed, Number | Record)
                declared = _variable(len(inputs)) if _is_array(arg) else passed.dtype.name
                inputs.append(f"{declared} {own}")
                values.append(own)
        rest = [parameter.name for parameter in parameters]
        values += _index_values(function.index_ndim)
        assert len(rest) == function.index_ndim
        outputs = [names.of("out" if len(stored) == 1 else f"out{k}") for k in range(len(stored))]
        operation = _operation(emitter, function, values, outputs, results, stored)
        text = emitter.program()
        head = [f"#include <kerneltk/{header}>" for header in ordered_headers(emitter.headers)]
        in_text = ", ".join(inputs)
        out_text = ", ".join(
            f"{dtype.name} {name}" for dtype, name in zip(stored, outputs, strict=True)
        )
        entry = self.name if self.name.isidentifier() else "kernel"
        parsed = parse_signature(in_text, out_text)
        definition = _TypedDefinition(
            _UserSignature(
                parsed.inputs,
                parsed.outputs,
                parsed.constraints,
                parsed.in_text,
                parsed.out_text,
                (*places, source.snippet(source.span(source.node))),
            ),
            entry if not identifier_problem(entry) else f"{entry}_kernel",
            "\n".join([*head, text]),
            self._definition.all_options(),
            operation,
            reduce_dims=False,
            reads_index=function.index_ndim > 0,
            reads_coordinates=function.index_ndim > 1,
            works_directly=any(
                isinstance(node, ir.Call) and node.operation.by_reference
                for f in program.functions
                for node in ir.walk(*f.body)
            ),
            sources=tuple({f.source.path: f.source.text for f in program.functions}.items()),
        )
        result = function.result
        if isinstance(result, Tuple) and result.maker is not None:
            return _MakingKernel(definition, result)
        return _TypedKernel(definition, result)

    # -- what was made -------------------------------------------------------------------------

    def _unit_for(self, args: Sequence[Any], target: str | None) -> tuple[TranslationUnit, str]:
        # It is imported when it is wanted: a call needs none of it.
        from kerneltk.jit.frontends.inspection import described

        try:
            bound = self._signature.bind(*args)
        except TypeError as error:
            raise ArgumentTypeError(f"Kernel '{self.name}': {error}.") from None
        bound.apply_defaults()
        args = tuple(bound.arguments[name] for name in self._definition.parameters)
        kinds: list[Type] = []
        for index, value in enumerate(args):
            kind = described(value)
            if isinstance(kind, Array) and not self._is_raw[index]:
                kind = kind.element
            kinds.append(kind or self._type_of(value, index))
        typed, dtypes, _ = self._specialized(args, (), kinds=kinds)
        owners = (foreign_arrays.own_array(arg)[0] for arg in args)
        names = [owner.name for owner in owners if owner is not None]
        target = target or (names[0] if names else foreign_arrays.default_backend().name)
        given = [arg for arg in args if arg is not None]
        by_element = any(
            not raw and _is_array(arg) and (_ndim(arg) or not self.raw)
            for arg, raw in zip(args, self._is_raw, strict=True)
        )
        options: dict[str, Any] = {}
        if not by_element:
            shape = self._free_shape(args, {"shape": (1,)} if not self.raw else {})
            given += [ArraySpec.make(dtype, shape) for dtype in dtypes]
            options = {} if dtypes else {"size": math.prod(shape)}
        unit = typed.translation_unit(
            *given, backend=capabilities_of_target(target).name, **options
        )
        return unit, target

    def _made_of(self) -> tuple[Any, ...]:
        return self._definition, self._given_raw

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The generated texts, by the dtypes of the array arguments."""
        return {
            (key, dtypes): text
            for key, (typed, _, _) in self._typed.items()
            for dtypes, text in typed._dispatcher._codes.items()
        }


class _Names:
    """Names for parameters in generated text: the user's own where C++ allows them."""

    def __init__(self) -> None:
        self._taken: set[str] = {"i", "n"}

    def of(self, name: str) -> str:
        """Return a name."""
        plain = name if not variable_problem(name) and name.isascii() else "value"
        found, number = plain, 1
        while found in self._taken or is_library_name(found):
            number += 1
            found = f"{stem_of(plain)}_{number}"
        self._taken.add(found)
        return found


def _is_shared(node: ir.Declare) -> bool:
    kind = node.type
    return kind.space == "shared" if isinstance(kind, Array) else node.data == b"shared"


def _is_array(value: Any) -> bool:
    if isinstance(value, np.generic):  # a number, for all its attributes
        return False
    return hasattr(value, "strides") or hasattr(value, "__dlpack__")


def _ndim(value: Any) -> int:
    return len(value.shape)


def _kind(value: Any, raw: bool) -> Any:
    """Return what an argument's type depends on."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or not hasattr(value, "strides"):
        return type(value)
    if not raw:
        return dtype if not isinstance(value, np.generic) else type(value)
    flags = getattr(value, "flags", None)
    return type(value), dtype, value.ndim, getattr(flags, "c_contiguous", None)


def _are_small(values: Sequence[Any], *shapes: Any) -> bool:
    """Return whether arrays, and shapes, have less than 2**31 elements, along each axis, too."""
    sizes = [getattr(value, "size", 0) for value in values]
    for shape in (*(getattr(value, "shape", ()) for value in values), *shapes):
        sizes += shape if isinstance(shape, tuple | list) else (shape,)
    return is_small(int(size) for size in sizes if isinstance(size, int | np.integer))


def _variable(number: int) -> str:
    """Return the type variable of a parameter: an array's dtype is its own."""
    return f"Type{number}:any"


def _results(kind: Type) -> tuple[Number, ...]:
    """Return the types of what a function returns."""
    if kind == VOID:
        return ()
    items = kind.items if isinstance(kind, Tuple) else (kind,)
    for item in items:
        if not isinstance(item, Number):
            raise ArgumentTypeError(
                f"A kernel's results must be numbers, and one is '{item}'.\n"
                "  Hint: return its parts; store records with '@jit.rawkernel'."
            )
    return tuple(items)  # type: ignore[arg-type]


def _view(emitter: Emitter, kind: Array, name: str) -> str:
    """Return a raw argument as the array that functions take."""
    ctype = emitter.ctype(kind)
    if kind.ndim == 0:
        return f"{ctype}{{{name}.begin_ptr()}}"
    shape = ", ".join(f"{name}.shape()[{axis}]" for axis in range(kind.ndim))
    if kind.layout == "C":
        return f"{ctype}{{{name}.begin_ptr(), {{{shape}}}}}"
    steps = ", ".join(f"{name}.strides()[{axis}]" for axis in range(kind.ndim))
    return f"{ctype}{{{name}.begin_ptr(), {{{shape}}}, {{{steps}}}}}"


def _index_values(ndim: int) -> list[str]:
    if ndim == 0:
        return []
    return ["i"] if ndim == 1 else [f"_ind.get()[{axis}]" for axis in range(ndim)]


def _operation(
    emitter: Emitter,
    function: ir.Function,
    values: Sequence[str],
    outputs: Sequence[str],
    results: Sequence[Number],
    stored: Sequence[np.dtype[Any]],
) -> str:
    """Return the statements for one element: a call, and where its results go."""
    call = f"{function.name}({', '.join(values)})"
    if not outputs:
        return f"{call};"
    texts = [call]
    head = ""
    if isinstance(function.result, Tuple):
        head = f"const {emitter.ctype(function.result)} _kt_result = {call};\n"
        names = emitter.item_names(function.result)
        texts = [f"_kt_result.{name}" for name in names]
    lines = []
    for output, text, kind, dtype in zip(outputs, texts, results, stored, strict=True):
        if kind.dtype != dtype:
            emitter.headers["jit_numbers.hpp"] = None
            emitter.ctype(Number(dtype))
            text = f"kerneltk::jit::convert<{describe(dtype).ctype}>({text})"
        lines.append(f"{output} = {text};")
    return head + "\n".join(lines)


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
    ``size``, is the whole array; ``jit.index(ndim)`` is the place of the element.

    Parameters
    ----------
    mode : {"numpy", "cuda"}
        How numbers of two dtypes meet: as in NumPy, or as in CUDA C++.
    raw : sequence of str, optional
        The parameters that are whole arrays, where the text does not show it.
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
    if not isinstance(options, tuple | list) or not all(isinstance(o, str) for o in options):
        raise ArgumentTypeError(f"'options' must be a sequence of str, not {options!r}.")
    if isinstance(raw, str):
        raw = (raw,)

    def decorate(decorated: Callable[..., Any]) -> ElementKernel:
        plain = checked_function(decorated, "kernel")
        definition = Definition(plain, mode, tuple(options), (), bool(fastmath))
        return ElementKernel(definition, raw)

    return decorate if function is None else decorate(function)
