"""ReductionKernel: a kernel from expressions that map elements and reduce them along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.accumulator import parse_accumulator
from kerneltk.codegen.definition import check_name
from kerneltk.codegen.reduction import ReductionDefinition
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import (
    BackendName,
    TranslationUnit,
    checked_options,
    checked_text,
    checked_texts,
)
from kerneltk.core.recorders import current_recorder, recorders
from kerneltk.core.records import cached_property
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ScalarOverflowError,
    SignatureError,
)
from kerneltk.launch import dispatch
from kerneltk.launch.called import common_calls
from kerneltk.launch.expression_kernel import ExpressionKernel, given
from kerneltk.launch.loops import LoopDispatcher
from kerneltk.signature.parameters import Parameter, Signature, parse_signature
from kerneltk.signature.resolve import Resolved, plain_axis

__all__ = ["ReductionKernel"]

_OPTIONS = ("axis", "keepdims", "out", "where", "size", "stream", "backend")
_MASK = Parameter("_kt_where", np.dtype(bool), "bool")


@common_calls("reduces")
class ReductionKernel(ExpressionKernel[ReductionDefinition]):
    """A kernel that maps every element and reduces the results along axes.

    An output is ``post_map(reduce(map(x0), reduce(map(x1), ...)))``. NumPy arrays run on all
    cores of this machine, CuPy arrays on their GPU, from the same source. Elements are reduced in
    an order that depends on shapes, strides and the device alone, so results are the same on
    every run.

    Parameters
    ----------
    in_params, out_params : str
        Parameters, as for :class:`ElementwiseKernel`; inputs may be ``raw``, outputs may not.
    map_expr : str
        C++ expression of one element's value. Beside the inputs by their names it may use
        ``_J``, the element's number within its reduction (C order of the reduced axes), ``_i``,
        the output's number, ``_j``, which is ``_J * _out_ind.size() + _i``, ``_in_ind.get()``,
        the coordinates (reduced axes first), and ``_raw_x``, the array behind ``x`` with its axes
        in that order.
    reduce_expr : str
        C++ expression of two values ``a`` and ``b`` in one; associative and commutative.
    post_map_expr : str
        C++ statements that write the outputs from the total ``a``.
    identity : str, number or None
        Value that `reduce_expr` leaves other values unchanged with; may name a scalar parameter.
        None: the total begins with the first element, and nothing to reduce is an error.
    name : str
        The entry point's name, as profilers show it.
    reduce_type : str, optional
        Type of `a` and `b`, ``_type_reduce`` in expressions: a C type, a type variable, a dtype's
        name, or fields such as ``'T value, int64 index'``. By default the first output's type,
        and float for 16-bit floats. An expression in braces makes a struct of its fields:
        ``'{x, _J}'``.
    reduce_dims : bool
        Whether neighbouring dimensions may be merged before ``_in_ind`` and ``_out_ind`` show
        them.
    preamble : str
        C++ source before the kernel; type variables are declared already.
    options : tuple of str
        Compile options, as NVRTC takes them.

    Attributes
    ----------
    in_params, out_params, params : tuple of Parameter
    nin, nout, nargs : int

    Raises
    ------
    SignatureError
        A parameter string, `reduce_type` or the name is not valid.

    Examples
    --------
    >>> import numpy as np
    >>> norm = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    >>> norm(np.array([[3, 4], [6, 8]], np.float32), axis=1)
    array([ 5., 10.], dtype=float32)
    """

    _transient = (*ExpressionKernel._transient, "_masked")

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: object,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
        options: Sequence[str] = (),
    ) -> None:
        identity_text = _identity_text(identity)
        in_params, out_params, map_expr, reduce_expr, post_map_expr, identity_text, name = (
            checked_texts(
                in_params=in_params, out_params=out_params, map_expr=map_expr,
                reduce_expr=reduce_expr, post_map_expr=post_map_expr, identity=identity_text,
                name=name,
            )
        )  # fmt: skip
        if reduce_type is not None:
            reduce_type = checked_text("reduce_type", reduce_type)
        preamble = checked_text("preamble", preamble)
        check_name(name)
        for text, source in (("map_expr", map_expr), ("reduce_expr", reduce_expr)):
            if not source.strip():
                raise SignatureError(f"'{text}' is empty.")
        if reduce_type is not None and not reduce_type.strip():
            raise SignatureError("'reduce_type' is empty.")
        compile_options = checked_options(options)
        signature = parse_signature(in_params, out_params, "reduction")
        _check_signature(signature)
        self._begin(
            ReductionDefinition(
                signature,
                name,
                preamble,
                compile_options,
                map_expr,
                reduce_expr,
                post_map_expr,
                identity_text,
                parse_accumulator(reduce_type, signature, preamble),
                bool(reduce_dims),
                identity_number=_identity_number(identity),
            )
        )

    @cached_property
    def _masked(self) -> LoopDispatcher:
        """Launches with a mask: those of a definition with one more input. Its sources are this
        kernel's.
        """
        return LoopDispatcher(_with_mask(self._definition), self, self._dispatcher.codes)

    # -- what was given ------------------------------------------------------------------------

    @property
    def params(self) -> tuple[Parameter, ...]:
        """Inputs, outputs, ``_in_ind`` and ``_out_ind``."""
        indices = (Parameter(name, None, None, is_const=False) for name in ("_in_ind", "_out_ind"))
        return (*self._definition.signature.parameters, *indices)

    map_expr: str = given("map_expr", "The mapping expression.")
    reduce_expr: str = given("reduce_expr", "The reducing expression.")
    post_map_expr: str = given("post_map_expr", "The statements that write the outputs.")
    identity: str = given("identity", "The identity's source; empty if there is none.")

    @property
    def reduce_type(self) -> str:
        """The type of the totals, as it was given; by default the first output's."""
        accumulator = self._definition.accumulator
        return accumulator.text or accumulator.ctype

    reduce_dims: bool = given(
        "reduce_dims",
        "Whether neighbouring dimensions may be merged before index spaces show them.",
    )
    options: tuple[str, ...] = given("options", "The compile options.")

    # -- calls ------------------------------------------------------------------------------

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        axis: Any = None,
        keepdims: bool = False,
        stream: Any = None,
        where: Any = None,
        **named: Any,
    ) -> Any:
        """Reduce the inputs.

        Parameters
        ----------
        *args : array or number
            The inputs, or the inputs and the outputs, in the parameters' order. Inputs may be
            given by keyword; those with a default may be left out. Inputs are broadcast against
            each other as NumPy does.
        out : array or tuple of arrays, optional
            The outputs.
        axis : int, tuple of int or None
            Axes of the broadcast inputs; None reduces all of them, ``()`` none.
        keepdims : bool
            Whether the outputs keep the reduced axes, with one element along each.
        stream : optional
            A stream of any library, or a handle; if not given, the current one of the library
            whose arrays they are. The host has none.
        where : array of bool, optional
            Which elements count; broadcast to the inputs' shape. Needs an identity.
        size : int, optional
            Number of elements, if and only if every array is raw.
        backend : {"host", "cuda"}, optional
            Where a call without any array runs.

        Returns
        -------
        array or tuple of arrays
            The output, or all of them if there are several, of the arguments' kind.

        Raises
        ------
        ArgumentTypeError
            Wrong number, kind or dtype of arguments.
        ArgumentValueError
            Shapes that do not go together, nothing to reduce and no identity, a read-only output.
        AxisError
            An axis that the inputs do not have. Also an ``IndexError``.
        ScalarOverflowError
            An integer that its parameter's dtype cannot hold.
        CompileError
            The compiler refused the kernel's source.
        BackendUnavailableError
            There is no compiler or driver for the arrays' backend.
        DivisionError
            On the host, an expression divided an integer by zero.
        """
        if recorders and (recorder := current_recorder()) is not None:
            dispatcher, values, _, plan_key, backend = self._prepared(
                args, out, axis, keepdims, stream, where, named
            )
            return recorder.call(dispatcher.recordable(values, plan_key, backend, plan_key))
        # What most calls are has a short way.
        count = len(args)
        if (
            named
            or where is not None
            or stream is not None
            or (axis is not None and type(axis) is not int)
        ):
            return self._call(args, out, axis, keepdims, stream, where, named)
        if out is not None:
            if count != self.nin or self.nout != 1 or type(out) in (tuple, list):
                return self._call(args, out, axis, keepdims, None, None, {})
            args = (*args, out)
        elif count != self.nin and count != self.nargs:
            return self._call(args, None, axis, keepdims, None, None, {})
        run = self._inline_cache[len(args)]
        if axis is None and not keepdims:
            return run(*args)
        return run(*args, None, (axis, bool(keepdims), None))

    def _call(self, *call: Any) -> Any:
        dispatcher, *prepared = self._prepared(*call)
        return dispatcher.dispatch(*prepared)

    def _prepared(
        self,
        args: tuple[Any, ...],
        out: Any,
        axis: Any,
        keepdims: bool,
        stream: Any,
        where: Any,
        named: dict[str, Any],
    ) -> tuple[LoopDispatcher, tuple[Any, ...], int | None, Any, BackendName | None]:
        """What a call is dispatched by, and with: its arguments in the parameters' order, a mask
        between inputs and outputs, the stream's handle, what plans depend on, and the backend.
        """
        taken: dict[str, Any] = {"stream": stream}
        taken |= {name: named.pop(name) for name in ("size", "backend") if name in named}
        options = dispatch.read_options(taken)
        args = self._arranged(args, out, named)
        plan_key = _plan_key(axis, keepdims, options.size)
        if _counts_all(where):
            return self._dispatcher, args, options.stream, plan_key, options.backend
        args = (*args[: self.nin], self._checked_mask(where), *args[self.nin :])
        return self._masked, args, options.stream, plan_key, options.backend

    def _arranged(self, args: tuple[Any, ...], out: Any, named: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments in the parameters' order, `out` among them."""
        signature = self._definition.signature
        if out is None:
            return dispatch.arrange(self.name, signature, args, named, _OPTIONS)
        outputs = tuple(out) if isinstance(out, tuple | list) else (out,)
        if len(outputs) != self.nout:
            raise ArgumentTypeError(
                f"'out' must hold {self.nout} array{'s' * (self.nout != 1)}, not {len(outputs)}."
            )
        if len(args) > self.nin or any(p.name in named for p in signature.outputs):
            raise ArgumentTypeError(
                f"Kernel '{self.name}' got its outputs twice: as arguments and as 'out'."
            )
        by_name = {p.name: value for p, value in zip(signature.outputs, outputs, strict=True)}
        return dispatch.arrange(self.name, signature, args, {**named, **by_name}, _OPTIONS)

    def _checked_mask(self, where: Any) -> Any:
        if not self._definition.identity:
            raise ArgumentValueError(
                f"Kernel '{self.name}' has no identity, so 'where' may leave nothing to reduce.\n"
                "  Hint: give an identity."
            )
        if isinstance(where, bool | np.bool_):
            return bool(where)
        if isinstance(where, type | np.dtype) and np.dtype(where) == np.bool_:
            return where  # stands for one in a description
        try:
            own = where if isinstance(where, ArraySpec) else foreign_arrays.own_array(where)[1]
        except (ArgumentTypeError, ArgumentValueError) as error:
            raise foreign_arrays.named_error(error, "where", None) from error.__cause__
        dtype = getattr(own, "dtype", None)
        if dtype != np.bool_:
            raise ArgumentTypeError(
                "'where' must be an array of dtype 'bool', not "
                + (f"'{dtype}'." if dtype is not None else f"'{type(where).__name__}'.")
            )
        return where

    # -- what was made ------------------------------------------------------------------------

    def translation_unit(
        self,
        *args: Any,
        axis: Any = None,
        keepdims: bool = False,
        where: Any = None,
        out: Any = None,
        size: int | None = None,
        backend: BackendName = "cuda",
        **named: Any,
    ) -> TranslationUnit:
        """Return the source that a call with such arguments compiles, without a GPU or any memory.

        Parameters
        ----------
        *args : ArraySpec, array, number, number type or dtype
            One an input, or one an input and an output; also by keyword, and left out where there
            is a default. A dtype or a type stands for a scalar.
        axis, keepdims, where, out, size : as in a call
        backend : {"cuda", "host"}

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            As a call does; also where there are no outputs, which compiles nothing, and for a
            backend that there is not.

        Examples
        --------
        >>> kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
        >>> unit = kernel.translation_unit(ArraySpec.make("float32", (64, 1024)), axis=0)
        >>> unit.entry, "blockIdx" in unit.source
        ('total', True)
        """
        own = {"axis": axis, "keepdims": keepdims, "where": where, "out": out, "size": size}
        return self._unit(*args, backend=backend, **own, **named)

    def _geometry(
        self, *args: Any, axis: Any = None, keepdims: bool = False, where: Any = None,
        out: Any = None, size: int | None = None, backend: BackendName = "cuda", **named: Any,
    ) -> tuple[Resolved, LaunchGeometry]:  # fmt: skip
        capabilities = capabilities_of(backend)
        options = dispatch.read_options({"size": size})
        args = self._arranged(args, out, named)
        definition = self._definition
        if not _counts_all(where):
            definition = _with_mask(definition)
            args = (*args[: self.nin], self._checked_mask(where), *args[self.nin :])
        plan_key = _plan_key(axis, keepdims, options.size)
        resolved, found = self._described(definition, args, capabilities, plan_key)
        if found is None:
            raise ArgumentValueError(
                f"A reduction to outputs of shape {resolved.out_shape} compiles nothing."
            )
        return resolved, found


def _identity_number(identity: object) -> complex | None:
    plain = identity.item() if isinstance(identity, np.generic) else identity
    return plain if isinstance(plain, int | float | complex) else None


def _identity_text(identity: object) -> str:
    """An identity as C++ source; raises ArgumentTypeError for neither a string nor a number."""
    if identity is None:
        return ""
    if isinstance(identity, np.generic):
        identity = identity.item()
    if isinstance(identity, bool):
        return "true" if identity else "false"
    if isinstance(identity, float) and not math.isfinite(identity):
        return "NAN" if math.isnan(identity) else "INFINITY" if identity > 0 else "-INFINITY"
    if isinstance(identity, int):
        if -(2**63) < identity < 2**64:
            return f"{identity}ull" if identity >= 2**63 else str(identity)
        try:
            identity = float(identity)  # no integer type holds it
        except OverflowError:
            raise ScalarOverflowError("'identity' is an integer that no type holds.") from None
    if isinstance(identity, float):
        return repr(identity)
    if isinstance(identity, complex):
        return f"_type_reduce({_identity_text(identity.real)}, {_identity_text(identity.imag)})"
    if not isinstance(identity, str):
        raise ArgumentTypeError(
            f"'identity' must be a string, a number or None, not '{type(identity).__name__}'."
        )
    return identity if identity.strip() else ""


def _check_signature(signature: Signature) -> None:
    if not signature.outputs:
        raise SignatureError("A reduction needs at least one output.")
    for index, parameter in enumerate(signature.parameters):
        is_output = index >= len(signature.inputs)
        problem = ""
        if is_output and parameter.raw:
            problem = f"Output '{parameter.name}' cannot be raw."
        elif is_output and parameter.name == "a":
            problem = "An output cannot be named 'a': that is the total in 'post_map_expr'."
        elif not is_output and not parameter.raw and not parameter.is_const:
            problem = (
                f"Input '{parameter.name}' is read only: a reduction writes its outputs alone."
            )
        if problem:
            raise SignatureError(signature.message(problem, index))


def _with_mask(definition: ReductionDefinition) -> ReductionDefinition:
    signature = replace(definition.signature, inputs=(*definition.signature.inputs, _MASK))
    return replace(definition, signature=signature, mask=True)


def _counts_all(where: Any) -> bool:
    """Whether every element counts: there is no mask, or one value for all."""
    return where is None or (isinstance(where, bool | np.bool_) and bool(where))


def _plan_key(axis: Any, keepdims: bool, size: int | None) -> tuple[Any, bool, int | None] | None:
    """What a plan depends on beside its arguments, of types that compare."""
    if axis is None and not keepdims and size is None:
        return None
    return plain_axis(axis), bool(keepdims), size
