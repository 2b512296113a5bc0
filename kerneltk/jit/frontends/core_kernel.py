"""A vectorized function with a signature: one of small arrays, the cores, in a loop over the other
dimensions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import Backend
from kerneltk.core.arrays import ArraySpec, is_c_contiguous
from kerneltk.core.artifacts import Capabilities
from kerneltk.core.dtypes import alignment_on
from kerneltk.core.recorders import current_recorder, recorders
from kerneltk.core.records import record
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, render_message
from kerneltk.interop.streams import Handle
from kerneltk.jit import ir
from kerneltk.jit.compile import PassContext
from kerneltk.jit.frontends.core_signature import Core, CoreSignature
from kerneltk.jit.frontends.core_source import returned, stored_kinds, written_inputs
from kerneltk.jit.frontends.element_source import (
    Operand,
    Result,
    Role,
    check_operations,
    element_definition,
    named_dimensions,
)
from kerneltk.jit.frontends.inspection import described
from kerneltk.jit.frontends.kernel import TypedCall, are_small, check_results, kind_of
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.frontends.typed_kernel import TypedKernel, typed_kernel
from kerneltk.jit.frontends.vectorized_kernel import (
    DTypes,
    apart,
    check_casts,
    check_result_dtypes,
    own_lists,
    strong,
)
from kerneltk.jit.ir.joining import join
from kerneltk.jit.ir.types import BOOL, FLOAT64, VOID, Array, Number, Tuple, Type
from kerneltk.jit.launch.marshalling import array_of, is_array, type_of
from kerneltk.jit.lowering.definite_assignment import unwritten
from kerneltk.jit.passes.effects import written_parameters
from kerneltk.launch.dispatch import ArrayFunction, Call, written_arguments
from kerneltk.launch.interpreter import address_of
from kerneltk.launch.loops import copy_for_launch
from kerneltk.launch.shortcuts import Kind, shortcut_of
from kerneltk.signature.resolve import (
    OVERLAP_HINT,
    SHARED_HINT,
    is_aligned,
    overlap_message,
    share_memory,
)

_WORK = (4096, 16384), (64, 256)  # of a core with more elements than the first number
_MOST_GUESSES = 4  # of outputs' dtypes; each is wider than the one before


@record
class _Typed:
    """The kernel for arguments of certain kinds."""

    kernel: TypedKernel
    dtypes: DTypes  # of the outputs
    results: tuple[Result, ...]  # what the function returns; none where it writes
    extents: tuple[str, ...]  # the dimensions that the kernel is given
    strided: tuple[int, ...]  # of the arguments and then the outputs those with strides of cores
    index_ndim: int


class _Facts(NamedTuple):
    """What shapes say of a call: its backend, the extents of dimensions, the shape of the loop,
    whether 32 bits index all, and about how many elements a core has.
    """

    backend: Backend
    sizes: dict[str, int]
    loop: tuple[int, ...]
    small: bool
    work: int


class CoreKernel(ArrayFunction):
    """A function of small arrays whose arguments are of certain roles.

    Parameters
    ----------
    definition : Definition
    signature : CoreSignature
    roles : sequence of {"input", "output", "whole", "number", "constant"}
        Of the parameters. The outputs are those that the function writes to; without any it
        returns its results.
    otypes : tuple of np.dtype or None
        Of the results, if not those of the values.
    """

    def __init__(
        self,
        definition: Definition,
        signature: CoreSignature,
        roles: Sequence[Role],
        otypes: DTypes | None,
    ) -> None:
        super().__init__()
        self._definition = definition
        self.name = definition.function.__name__
        self._signature = signature
        self._roles = tuple(roles)
        self._otypes = otypes
        self._inputs = [k for k, role in enumerate(self._roles) if role == "input"]
        self._written = [k for k, role in enumerate(self._roles) if role == "output"]
        self._writes = bool(self._written)
        self._is_element = [role == "input" for role in self._roles]
        cores = iter(signature.inputs)
        self._cores: list[Core] = [next(cores) if is_in else () for is_in in self._is_element]

    # -- calls ---------------------------------------------------------------------------------

    def __call__(self, args: tuple[Any, ...], outputs: tuple[Any, ...], options: Any) -> Any:
        """Call the function for each core.

        Parameters
        ----------
        args : tuple
            One a parameter; None for outputs and for what is known.
        outputs : tuple of array
            One a result, or none.
        options : dict
            ``stream``, ``block_size`` and ``backend``.
        """
        return self._dispatch(args, outputs, dict(options))

    def plain(self, *args: Any) -> Any:
        """Call with the inputs alone, which are all parameters but outputs behind them."""
        return self._shortcut(*args)

    def is_plain(self, count: int) -> bool:
        """Whether its parameters are so many inputs, and the outputs behind them."""
        roles = self._roles
        return roles == ("input",) * count + ("output",) * (len(roles) - count)

    def _described(
        self, args: tuple[Any, ...], outputs: tuple[Any, ...], options: dict[str, Any]
    ) -> Call:
        args = (*args, *(None,) * (len(self._roles) - len(args)))
        args = own_lists(args, outputs, self._is_element)
        call = Call(args, outputs, options, self._definition.named, f"'{self.name}'")
        own, given = call.own, call.own_outputs
        self._check_count(given)
        shapes = [self._shape(own[k], k) for k in self._inputs]
        names = [self._definition.parameters[k] for k in self._inputs]
        sizes, loop = self._signature.resolve(self.name, names, shapes)
        backend = call.backend or foreign_arrays.backend_named(options.get("backend"))
        small = self._are_small((*own, *given), shapes, sizes, loop)
        work = self._work(shapes)
        kinds = tuple(self._kind(value, k) for k, value in enumerate(own))
        dense = tuple((out.dtype, _is_dense(out, core)) for out, core in self._with_cores(given))
        call.key = kinds, dense, small, backend.capabilities.name, work
        call.facts = _Facts(backend, sizes, loop, small, work)
        return call

    def _made(self, call: Call) -> _Typed:
        backend, _, _, small, work = call.facts
        return self._specialized(call.own, call.own_outputs, small, backend.capabilities, work)

    def _planned(self, call: Call, known: _Typed) -> Callable[[int | None], Any]:
        own, given, options = call.own, call.own_outputs, call.options
        backend, sizes, loop, _, _ = call.facts
        if known.index_ndim > 1 and known.index_ndim != len(loop):
            raise ArgumentValueError(
                f"'{self.name}' asks for 'jit.index({known.index_ndim})', and the loop around its "
                f"cores has {len(loop)} dimension{'s' * (len(loop) != 1)}."
            )
        wanted = self._output_shapes(known, sizes, loop, given)
        passed = {key: value for key, value in options.items() if key == "block_size"}

        def run(handle: int | None) -> Any:
            if handle is not None:
                passed["stream"] = Handle(handle)
            with backend.stream_context(handle):
                results = given or tuple(
                    backend.empty(shape, dtype, "C")
                    for shape, dtype in zip(wanted, known.dtypes, strict=True)
                )
                self._check_shapes(results, wanted)
                self._check_apart(given, backend)
                read = self._apart(own, given, backend, handle)
                inputs, outputs = self._bases(read, results, partial(_first_elements, backend))
                numbers = self._numbers(known, read, results, sizes)
            known.kernel.arrays(*inputs, *numbers, *outputs, **passed)
            written = written_arguments(known.kernel, own)
            self._have_asked(
                [*((array, None) for array in given), *((own[k], k) for k in written)], backend
            )
            return results if len(results) > 1 else results[0]

        return run

    def _shortcut_for(
        self, call: Call, known: _Typed, otherwise: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """It takes the inputs alone, of the call's shapes and strides."""
        backend, sizes, loop, _, _ = call.facts
        count = len(self._inputs)
        inputs, behind = call.args[:count], self._signature.outputs
        if call.outputs or not self.is_plain(count):
            return None
        if any(type(array) is not backend.array_type for array in inputs):
            return None
        shapes = self._output_shapes(known, sizes, loop)
        for array, core in zip(inputs, self._cores, strict=False):
            if core and not is_aligned(backend.describe(array)[0], backend.capabilities):
                return None  # is copied
        shaped = [
            *zip(
                (*(array.shape for array in inputs), *shapes),
                (*self._cores[:count], *behind),
                strict=True,
            )
        ]
        if any(core and 0 in shape[len(shape) - len(core) :] for shape, core in shaped):
            return None
        numbers = self._numbers(known, call.own, (None,) * len(behind), sizes)
        views = [
            ((..., *(0,) * len(core)), alignment_on(backend.capabilities, array.dtype))
            if core
            else None
            for array, core in zip(inputs, self._cores, strict=False)
        ]
        made = [
            (shape, dtype, (..., *(0,) * len(core)) if core else None)
            for shape, dtype, core in zip(shapes, known.dtypes, behind, strict=True)
        ]
        address, empty, kernel = address_of(backend.arrays), backend.empty, known.kernel

        def run(*args: Any) -> Any:
            passed: list[Any] = []
            for arg, view in zip(args, views, strict=True):
                if view is not None:
                    first, multiple = view
                    if multiple > 1 and address(arg) % multiple:
                        return self._dispatch(args, (), {})
                    arg = arg[first]
                passed.append(arg)
            results = [empty(shape, dtype, "C") for shape, dtype, _ in made]
            passed += numbers
            passed += [r if m[2] is None else r[m[2]] for r, m in zip(results, made, strict=True)]
            kernel(*passed)
            return tuple(results) if len(results) > 1 else results[0]

        kinds = [
            Kind(type(a), a.dtype, (("shape", a.shape), ("strides", a.strides))) for a in inputs
        ]
        return shortcut_of(kinds, range(count), run, otherwise, backend.arrays)

    _key_of = staticmethod(attrgetter("dtype", "shape", "strides"))

    def _keep(self, last: str, given: tuple[Any, ...], shortcut: Callable[..., Any]) -> None:
        super()._keep(last, given[: len(self._inputs)], shortcut)

    def _have_asked(self, arrays: Sequence[tuple[Any, int | None]], backend: Backend) -> None:
        """Have a graph ask at each launch whether arrays may be written to: its kernel has views,
        which keep the answer of when they were made.
        """
        recorder = current_recorder() if recorders else None
        if recorder is not None:
            checks = [
                partial(backend.check_usable, array, self._definition.named(k)[0], True)
                for array, k in arrays
            ]
            recorder.adopted((), (), checks)

    def _with_cores(self, outputs: Sequence[Any]) -> list[tuple[Any, Core]]:
        return list(zip(outputs, self._signature.outputs, strict=True)) if outputs else []

    def _check_count(self, given: Sequence[Any]) -> None:
        count = len(self._signature.outputs)
        if given and len(given) != count:
            raise ArgumentValueError(
                f"'{self.name}' has {count} output{'s' * (count != 1)}, and {len(given)} "
                f"array{'s were' if len(given) != 1 else ' was'} given."
            )

    def _shape(self, value: Any, index: int) -> tuple[int, ...]:
        if is_array(value):
            return tuple(value.shape)
        if value is None:
            raise self._definition.paths[index].refused("None")
        if self._cores[index] and isinstance(value, bool | int | float | complex | np.generic):
            hint = f"it is an array by the signature '{self._signature.text}'."
            raise self._definition.paths[index].refused("a number", hint)
        return ()

    def _are_small(
        self,
        arrays: Sequence[Any],
        shapes: Sequence[tuple[int, ...]],
        sizes: dict[str, int],
        loop: tuple[int, ...],
    ) -> bool:
        """Return whether arrays, the loop, and outputs that are not made yet have less than 2**31
        elements. Extents that only results tell are small.
        """
        outputs = [
            math.prod(sizes.get(d, 1) if isinstance(d, str) else d for d in core)
            for core in self._signature.outputs
        ]
        return are_small(arrays, *shapes, math.prod(loop), *outputs)

    def _work(self, shapes: Sequence[tuple[int, ...]]) -> int:
        """Return about how many elements a core has: one of few numbers, which a kernel is made
        for. The source is the same for all.
        """
        cores = zip(shapes, (self._cores[k] for k in self._inputs), strict=True)
        size = max((math.prod(shape[len(shape) - len(core) :]) for shape, core in cores), default=1)
        return next((work for least, work in _WORK if size > least), 1)

    def _kind(self, value: Any, index: int) -> Any:
        """The part of the key that an argument decides."""
        kind = kind_of(value, self._roles[index] == "whole")
        is_dense = is_array(value) and _is_dense(value, self._cores[index])
        return kind, is_dense

    def _output_shapes(
        self, typed: _Typed, sizes: dict[str, int], loop: tuple[int, ...], given: Sequence[Any] = ()
    ) -> list[tuple[int, ...]]:
        """Return the outputs' shapes; `sizes` gets the extents that only results tell."""
        for core, result in zip(self._signature.outputs, typed.results, strict=False):
            for dimension, length in zip(core, result.lengths, strict=True):
                extent = dimension
                if isinstance(dimension, str):
                    extent = sizes.setdefault(dimension, length)
                if extent != length:
                    raise ArgumentValueError(
                        f"'{self.name}' returns {length} numbers for dimension '{dimension}' of "
                        f"'{self._signature.text}', which has {extent} elements in this call."
                    )
        for out, core in self._with_cores(given):
            if len(out.shape) >= len(core):
                for dimension, extent in zip(
                    core, out.shape[len(out.shape) - len(core) :], strict=False
                ):
                    if isinstance(dimension, str):
                        sizes.setdefault(dimension, extent)
        found = []
        for core in self._signature.outputs:
            for dimension in core:
                if isinstance(dimension, str) and dimension not in sizes:
                    raise ArgumentValueError(
                        f"Dimension '{dimension}' of '{self._signature.text}' is in no input, so "
                        f"how many elements '{self.name}' writes is not known.\n"
                        "  Hint: write a number instead of its name, or pass an array as 'out'."
                    )
            found.append((*loop, *(sizes[d] if isinstance(d, str) else d for d in core)))
        return found

    def _check_shapes(self, results: Sequence[Any], wanted: Sequence[tuple[int, ...]]) -> None:
        for index, (result, shape) in enumerate(zip(results, wanted, strict=True)):
            if tuple(result.shape) != shape:
                raise ArgumentValueError(
                    f"The array that is given for result {index + 1} of '{self.name}' has shape "
                    f"{tuple(result.shape)}, and the result has {shape}."
                )

    def _check_apart(self, given: Sequence[Any], backend: Backend) -> None:
        for index, out in enumerate(given):
            what = f"The array that is given for result {index + 1} of '{self.name}'"
            sentence = overlap_message(what, backend.describe(out)[0])
            if sentence:
                raise ArgumentValueError(f"{sentence}\n  Hint: {OVERLAP_HINT}")
        described = enumerate(map(backend.describe, given), 1)
        for (first, (a, at)), (second, (b, address)) in itertools.combinations(described, 2):
            if share_memory(a, b, address - at):
                raise ArgumentValueError(
                    f"The arrays that are given for results {first} and {second} of '{self.name}' "
                    f"share memory.\n  Hint: {SHARED_HINT}"
                )

    def _apart(
        self, own: Sequence[Any], given: Sequence[Any], backend: Backend, stream: int | None
    ) -> list[Any]:
        """Copy arrays that an output overlaps, and inputs that are not aligned: kernels see only
        their first elements, and would copy these alone.
        """
        found = apart(own, [role != "output" for role in self._roles], given, stream)
        records = bool(recorders) and current_recorder() is not None
        for index, (before, value) in enumerate(zip(own, found, strict=True)):
            if not self._cores[index] or before is not value:
                continue
            if not is_aligned(backend.describe(value)[0], backend.capabilities):
                found[index] = copy_for_launch(backend, value, stream, records=records)
        return found

    def _numbers(
        self, typed: _Typed, own: Sequence[Any], results: Sequence[Any], sizes: dict[str, int]
    ) -> list[int]:
        """Return the kernel's arguments behind the inputs."""
        arrays = [*zip(own, self._cores, strict=True), *self._with_cores(results)]
        strided = (arrays[k] for k in typed.strided)
        steps = (step for array, core in strided for step in array.strides[-len(core) :])
        return [*(sizes[dimension] for dimension in typed.extents), *steps]

    def _bases(
        self, own: Sequence[Any], results: Sequence[Any], first: Callable[[Any, Core], Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return what the kernel's loop is over, by `first`: the first elements of all cores."""
        inputs = [
            first(value, core) if core else value
            for value, role, core in zip(own, self._roles, self._cores, strict=True)
            if role != "output" and value is not None
        ]
        outputs = [first(out, core) if core else out for out, core in self._with_cores(results)]
        return inputs, outputs

    # -- what was made -------------------------------------------------------------------------

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The generated sources, by the kinds and the dtypes of the arguments."""
        return {
            (key, dtypes): source()
            for key, typed in self.kernels.items()
            for dtypes, source in typed.kernel._dispatcher.codes.items()
        }

    def typed_call(self, args: Sequence[Any], backend: Capabilities) -> TypedCall:
        """What a call with such arguments comes to, which may be descriptions of arrays."""
        own = [_array_spec(arg) for arg in args]
        names = [self._definition.parameters[k] for k in self._inputs]
        shapes = [self._shape(own[k], k) for k in self._inputs]
        sizes, loop = self._signature.resolve(self.name, names, shapes)
        small = self._are_small(own, shapes, sizes, loop)
        typed = self._specialized(own, (), small, backend)
        wanted = self._output_shapes(typed, sizes, loop)
        pairs = zip(typed.dtypes, wanted, strict=True)
        results = [ArraySpec.make(dtype, shape) for dtype, shape in pairs]
        numbers = self._numbers(typed, own, results, sizes)
        inputs, outputs = self._bases(own, results, _first_spec)
        return typed.kernel, [*inputs, *numbers, *outputs], {}

    # -- one combination of types ----------------------------------------------------------------

    def _specialized(
        self,
        own: Sequence[Any],
        given: Sequence[Any],
        small: bool,
        backend: Capabilities,
        work: int = 1,
    ) -> _Typed:
        if self._otypes is not None:
            check_result_dtypes(self.name, given, self._otypes)
        definition, signature = self._definition, self._signature
        operands = [
            self._operand(value, k) if role != "output" else None
            for k, (value, role) in enumerate(zip(own, self._roles, strict=True))
        ]
        dense = [_is_dense(out, core) for out, core in self._with_cores(given)]
        dense = dense or [True] * len(signature.outputs)
        dtypes: DTypes
        if self._writes:
            fixed = tuple(out.dtype for out in given) or self._otypes
            lowered, dtypes = self._with_outputs(operands, fixed, dense)
        else:
            lowered = definition.lowered([o.kind for o in operands if o], of_elements=True)
        context = PassContext(backend, small, of_elements=True)
        program = definition.optimized(lowered, context)
        check_operations(program)
        written = written_parameters(lowered)
        at_inputs = [
            name
            for name, role in zip(definition.parameters, self._roles, strict=True)
            if role == "input" and name in written
        ]
        if at_inputs:
            raise written_inputs(definition, at_inputs)
        kind = program.kernel.result
        results: tuple[Result, ...] = ()
        if self._writes:
            self._check_written(lowered, written, is_given=bool(given))
            if kind != VOID:
                raise self._returns_and_writes()
        else:
            results = returned(definition, signature.text, kind, signature.outputs)
            values = [self._value(index, result) for index, result in enumerate(results)]
            dtypes = tuple(value.dtype for value in values)
            if self._otypes is not None:
                check_casts(self.name, values, self._otypes)
                dtypes = self._otypes
            check_results(f"'{self.name}'", dtypes, given, "function")
            dtypes = tuple(out.dtype for out in given) or dtypes
        outputs = [
            Operand("output", core, self._output_kind(dtype, core, is_dense), True, is_dense)
            for dtype, core, is_dense in zip(dtypes, signature.outputs, dense, strict=True)
        ]
        behind = iter(outputs)
        all_operands = [o if o is not None else next(behind) for o in operands]
        short = small and backend.short_indices
        made = element_definition(
            definition, program, written, all_operands, outputs, results, short=short, work=work
        )
        places = iter(range(len(operands), len(operands) + len(outputs)))
        order = [next(places) if o is None else k for k, o in enumerate(operands)]
        order += places  # outputs stand where the function has them, else behind the others
        arrays = [*operands, *outputs]
        return _Typed(
            typed_kernel(made, Tuple(())),
            dtypes,
            results,
            named_dimensions((*all_operands, *outputs)),
            tuple(k for k in order if (o := arrays[k]) and o.core and not o.is_dense),
            program.kernel.index_ndim,
        )

    def _value(self, index: int, result: Result) -> Number:
        """Return the number of all that an output is given."""
        kinds = [kind for _, kind in result.leaves]
        dtype = _joined(kinds)
        if dtype is None:
            shown = " and ".join(sorted({f"'{kind}'" for kind in kinds}))
            raise ArgumentTypeError(
                f"Result {index + 1} of '{self.name}' has values of {shown}, which no dtype "
                "holds.\n  Hint: convert them in the function."
            )
        return Number(dtype)

    def _check_written(
        self, program: ir.Program, written: frozenset[str], *, is_given: bool
    ) -> None:
        """Raise for an output that the function does not write to; one that is given may stay as it
        is where the function so decides.
        """
        outputs = zip(self._written, self._signature.outputs, strict=True)
        for index, (position, core) in enumerate(outputs):
            name = self._given_name(program, index)
            path = self._definition.paths[position]
            if name not in written:
                raise ArgumentTypeError(
                    path.message(f"'{self.name}' never writes to its output '{path.name}'.", "")
                )
            end = None if core or is_given else unwritten(program.kernel, name)
            if end is not None:
                source, way = self._definition.source, end.way
                raise ArgumentTypeError(
                    render_message(
                        f"'{self.name}' may end without a value for its output '{path.name}'.",
                        source.snippet(way.span, way.what)
                        if way is not None
                        else source.snippet(end.local.span),
                        hint="write to it on every way, or pass an array as 'out'.",
                    )
                )

    def _given_name(self, program: ir.Program, index: int) -> str:
        """Return how a lowered function calls an output: parameters that are known are left out."""
        before = sum(role != "constant" for role in self._roles[: self._written[index]])
        return str(program.kernel.parameters[before].name)

    def _returns_and_writes(self) -> ArgumentTypeError:
        source = self._definition.source
        snippet = source.snippet(source.span(source.node)).render()
        return ArgumentTypeError(
            f"'{self.name}' returns a value, and takes parameters for the outputs of its signature "
            f"'{self._signature.text}'.\n{snippet}\n"
            "  Hint: return the results, or write to the parameters behind the inputs."
        )

    def _operand(self, value: Any, index: int) -> Operand:
        path, role, core = self._definition.paths[index], self._roles[index], self._cores[index]
        own = value
        kind = described(value)
        if kind is None:
            owner, own = foreign_arrays.own_array(value)
            kind = type_of(own, np.ndarray if owner is None else owner.array_type, path)
        if role == "input" and isinstance(kind, Tuple):
            raise path.refused("a tuple")
        if role != "input":
            return Operand(role, (), kind, is_array(own))
        if not core:
            element = kind.element if isinstance(kind, Array) else kind
            return Operand(role, core, strong(element), is_array(own))
        assert isinstance(kind, Array)
        is_dense = _is_dense(own, core)
        return Operand(role, core, array_of(own.dtype, len(core), is_dense), True, is_dense)

    def _output_kind(self, dtype: np.dtype[Any], core: Core, is_dense: bool) -> Type:
        return array_of(dtype, max(len(core), 1), is_dense) if self._writes else Number(dtype)

    def _with_outputs(
        self, operands: Sequence[Operand | None], dtypes: DTypes | None, dense: Sequence[bool]
    ) -> tuple[ir.Program, DTypes]:
        """Lower a function that writes its results, with outputs of these dtypes; without any, of
        the widest that it stores, and at least of the inputs' common one.
        """
        signature = self._signature
        fixed, is_of_bools = dtypes is not None, False

        def lowered(dtypes: Sequence[np.dtype[Any]]) -> ir.Program:
            kinds = iter(
                self._output_kind(dtype, core, is_dense)
                for dtype, core, is_dense in zip(dtypes, signature.outputs, dense, strict=True)
            )
            return self._definition.lowered(
                [o.kind if o is not None else next(kinds) for o in operands], of_elements=True
            )

        if dtypes is None:
            inputs = [o.kind for o in operands if o is not None and o.role == "input"]
            elements = [kind.element if isinstance(kind, Array) else kind for kind in inputs]
            numbers = [kind for kind in elements if isinstance(kind, Number)]
            if len(numbers) != len(elements) or not numbers:
                raise self._unknown_dtype(0)
            common = _joined(numbers)
            if common is None:
                raise self._unknown_dtype(0)
            is_of_bools = common.kind == "b"
            dtypes = (np.dtype(np.int64) if is_of_bools else common,) * len(signature.outputs)
        program = lowered(dtypes)
        if fixed:
            if self._otypes is None:
                self._check_stored(program, lowered, dtypes)
            return program, tuple(dtypes)
        if is_of_bools:
            # What becomes a bool does not show what it was: only what is a bool stays one.
            dtypes = tuple(
                np.dtype(np.bool_) if self._stores_bools(program, k) else dtype
                for k, dtype in enumerate(dtypes)
            )
            program = lowered(dtypes)
        for _ in range(_MOST_GUESSES):
            wider = tuple(
                self._wider(program, lowered, dtypes, k) for k in range(len(signature.outputs))
            )
            if wider == dtypes:
                return program, dtypes
            dtypes = wider
            program = lowered(dtypes)
        raise self._unknown_dtype(0)

    def _stored(
        self, program: ir.Program, lowered: Any, dtypes: DTypes, index: int
    ) -> list[Type] | None:
        """Return the types of what is stored in an output; of literals with fractions float64, as
        their integer types do not show these. None where the function does more with the array.
        """
        found = stored_kinds(program, self._given_name(program, index))
        if found is None:
            return None
        kinds, literals = found
        if literals and dtypes[index].kind in "biu":
            as_floats = lowered(_with_dtype(dtypes, index, np.float64))
            _, shown = stored_kinds(as_floats, self._given_name(as_floats, index)) or ([], [])
            kinds += [FLOAT64] * any(float(value) % 1 != 0 for value in shown)
        return kinds

    def _stores_bools(self, program: ir.Program, index: int) -> bool:
        found = stored_kinds(program, self._given_name(program, index))
        if found is None:
            raise self._unknown_dtype(index)
        kinds, literals = found
        return not literals and all(kind == BOOL for kind in kinds)

    def _check_stored(self, program: ir.Program, lowered: Any, dtypes: DTypes) -> None:
        """Raise where the arrays that are given do not hold what the function stores."""
        for index, dtype in enumerate(dtypes):
            shown = program
            if dtype.kind == "b":  # what becomes a bool does not show what it was
                shown = lowered(_with_dtype(dtypes, index, np.int64))
            for kind in self._stored(shown, lowered, dtypes, index) or ():
                if not isinstance(kind, Number):
                    continue
                is_weak_int = kind.weak and kind.is_integer and dtype.kind != "b"
                if not is_weak_int and not np.can_cast(kind.dtype, dtype, "same_kind"):
                    output = self._definition.parameters[self._written[index]]
                    raise ArgumentTypeError(
                        f"'{self.name}' stores '{kind.dtype}' to '{output}', and the array that "
                        f"was given for it has dtype '{dtype}'.\n"
                        "  Hint: convert the value in the function, or name the dtype in 'otypes'."
                    )

    def _wider(
        self, program: ir.Program, lowered: Any, dtypes: DTypes, index: int
    ) -> np.dtype[Any]:
        """Return the dtype that holds all that is stored in an output, at least what it has."""
        dtype, kinds = dtypes[index], self._stored(program, lowered, dtypes, index)
        for kind in [None] if kinds is None else kinds:
            # Python's numbers that are computed have 64 bits, as those that are returned.
            numbers = [Number(dtype), Number(kind.dtype)] if isinstance(kind, Number) else []
            wider = _joined(numbers) if numbers else None
            if wider is None:
                raise self._unknown_dtype(index)
            dtype = wider
        return dtype

    def _unknown_dtype(self, index: int) -> ArgumentTypeError:
        path = self._definition.paths[self._written[index]]
        return ArgumentTypeError(
            path.message(
                f"The dtype of output '{path.name}' of '{self.name}' does not follow from what is "
                "stored to it.",
                "name it in 'otypes', or pass an array as 'out'.",
            )
        )


def _with_dtype(dtypes: DTypes, index: int, dtype: type[np.generic]) -> list[np.dtype[Any]]:
    return [np.dtype(dtype) if k == index else own for k, own in enumerate(dtypes)]


def _joined(kinds: Sequence[Number]) -> np.dtype[Any] | None:
    """Return the dtype of all numbers, by NumPy's rules, where weak ones give way; None if no dtype
    holds them.
    """
    found: Any = kinds[0]
    for kind in kinds[1:]:
        found = found and join("numpy", found, kind)
    return None if found is None else found.dtype


def _array_spec(value: Any) -> Any:
    """An array without its memory; anything else as it is."""
    if isinstance(value, ArraySpec):
        return value
    owner, own = foreign_arrays.own_array(value)
    return own if owner is None else owner.describe(own)[0]


def _first_spec(spec: ArraySpec, core: Core) -> ArraySpec:
    """The description of the first elements of all cores."""
    count = len(spec.shape) - len(core)
    return ArraySpec(spec.dtype, spec.shape[:count], spec.strides[:count], spec.offset)


def _is_dense(array: Any, core: Core) -> bool:
    """Whether the core of an array, its last dimensions, is dense in C order."""
    first = len(array.shape) - len(core)
    return is_c_contiguous(array.shape[first:], array.strides[first:], array.dtype.itemsize)


def _first_elements(backend: Backend, array: Any, core: Core) -> Any:
    """The first element of each core; where cores have none, elements that are never read."""
    if 0 in array.shape[-len(core) :]:
        return backend.empty(array.shape[: -len(core)], array.dtype, "C")
    return array[(..., *((0,) * len(core)))]
