"""Collectives of blocks and warps: reductions, scans, broadcasts, sorting.

A `Template` in brackets is a `Collective`: ``BlockReduce[np.float32, 256]``. In a kernel it is called
with its storage, and what it returns has the methods; it is a place in shared memory, for warps
nothing at all. The device code is in the headers ``jit_block.hpp``, ``jit_warp.hpp`` and
``jit_sort.hpp``.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kerneltk.dtypes import as_dtype, describe
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import CallSite, Intrinsic, Operation, Static, Value
from kerneltk.jit.intrinsics.foreign import as_numpys
from kerneltk.jit.intrinsics.opaque import Methods, method
from kerneltk.jit.intrinsics.threads import barrier
from kerneltk.jit.intrinsics.typing_rules import arguments_of, call, integer, static_value
from kerneltk.jit.types import BOOL, PY_INT, VOID, Array, Number, Opaque, Record, Tuple, Type

__all__ = ["FUNCTORS", "TEMPLATES", "Collective", "Functor", "TempStorage", "Template"]

_WAITS = frozenset(("waits", "memory", "thread"))
_HEADERS = ("jit_collectives.hpp",)
_INT = Number(np.dtype(np.int32))
_MOST_BYTES = 64  # of a value: it is kept in registers
_MOST_STORAGE = 48 * 1024  # bytes of shared memory that a kernel can declare
_OPS = "kerneltk::jit::ops::"


# -- operations -----------------------------------------------------------------------------------


class Functor(Intrinsic):
    """An operation that collectives combine two values by.

    Parameters
    ----------
    name : str
    ctype : str
        The class in ``kerneltk::jit::ops``.
    takes : {"sums", "orders", "bits", "pairs", "any"}
        What values it can be computed for.
    doc : str
    """

    def __init__(self, name: str, ctype: str, takes: str, doc: str) -> None:
        super().__init__(f"cub.{name}", self._called, doc)
        self.ctype = ctype
        self.takes = takes

    def _called(self, low: Any, site: CallSite) -> Value:
        arguments_of(low, site, ())
        return Static(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return it: ``cub.Max()`` and ``cub.Max`` are the same."""
        return super().__call__(*args, **kwargs) if args or kwargs else self

    def fits(self, kind: Type) -> bool:
        """Return whether it can be computed for values of a type."""
        if self.takes == "pairs":
            if not isinstance(kind, Tuple) or len(kind.items) != 2:
                return False
            index, value = kind.items
            is_index = isinstance(index, Number) and index.is_integer
            return is_index and isinstance(value, Number) and not value.is_complex
        if not isinstance(kind, Number):
            return False
        if self.takes == "orders":
            return not kind.is_complex
        return self.takes != "bits" or kind.is_integer or kind == BOOL

    @property
    def text(self) -> str:
        """A value of its class."""
        name = f"{_OPS}{self.ctype}"
        return f"{_OPS}of_pairs<{name}>()" if self.takes == "pairs" else f"{name}()"


FUNCTORS: dict[str, Functor] = {
    name: Functor(name, *row)
    for name, row in {
        "Sum": ("plus", "sums", "The sum; of integers it wraps around."),
        "Product": ("multiply", "sums", "The product; of integers it wraps around."),
        "Max": ("py_max", "orders", "The second value if it is greater, else the first."),
        "Min": ("py_min", "orders", "The second value if it is less, else the first."),
        "ArgMax": (
            "argmax",
            "pairs",
            "Of two tuples ``(index, value)`` that of the greater value; of equal ones that of the "
            "lower index. A NaN is greater than every number.",
        ),
        "ArgMin": (
            "argmin",
            "pairs",
            "Of two tuples ``(index, value)`` that of the lesser value; of equal ones that of the "
            "lower index. A NaN is less than every number.",
        ),
    }.items()
}


def _function(ctype: str, takes: str) -> Functor:
    return Functor(ctype, ctype, takes, "")


# What the functions that Python and NumPy have themselves mean for two values.
_KNOWN: dict[Any, Functor] = {
    max: FUNCTORS["Max"],
    min: FUNCTORS["Min"],
    operator.add: FUNCTORS["Sum"],
    np.add: FUNCTORS["Sum"],
    operator.mul: FUNCTORS["Product"],
    np.multiply: FUNCTORS["Product"],
    np.maximum: _function("maximum", "orders"),
    np.minimum: _function("minimum", "orders"),
    np.fmax: _function("fmax", "orders"),
    np.fmin: _function("fmin", "orders"),
    operator.and_: _function("bit_and", "bits"),
    np.bitwise_and: _function("bit_and", "bits"),
    operator.or_: _function("bit_or", "bits"),
    np.bitwise_or: _function("bit_or", "bits"),
    operator.xor: _function("bit_xor", "bits"),
    np.bitwise_xor: _function("bit_xor", "bits"),
    np.logical_and: _function("logical_and", "any"),
    np.logical_or: _function("logical_or", "any"),
    np.logical_xor: _function("logical_xor", "any"),
}


@dataclass(frozen=True, slots=True)
class _Combination:
    """How two values are combined: by a functor, or by a function of the program.

    `result` is the function's type where it has to be converted.
    """

    text: str
    function: str = ""
    converted: bool = False


def _combination(
    low: Any, site: CallSite, value: Value, kind: Type, span: ir.Span
) -> tuple[_Combination, tuple[ir.Expression, ...]]:
    """Return an operation, and the variables of the kernel that it uses beside its arguments."""
    found = value.value if isinstance(value, Static) else None
    functor = found if isinstance(found, Functor) else None
    if functor is None and callable(found):
        functor = _known(found)
    if functor is not None:
        if not functor.fits(kind):
            hint = "give a Python function of two values."
            if functor.takes == "pairs":
                hint = "it takes tuples of an index and a number, which is not complex."
            raise low.fail(f"'{functor.__name__}' cannot be computed for '{kind}'.", span, hint)
        return _Combination(functor.text), ()
    places = [ir.Local(name, kind, span) for name in ("a", "b")]
    lowered = low.program.lowered(low, found, tuple(places), site) if callable(found) else None
    if lowered is None:
        raise low.fail(
            f"{low.describe(value)} is no operation of two values.",
            span,
            "for example 'cub.Max()', 'np.maximum', or a Python function of two values.",
        )
    signature, arguments = lowered
    if not signature.is_pure:
        raise low.fail("An operation may neither write to memory nor wait for other threads.", span)
    result = signature.result
    is_number = isinstance(kind, Number) and isinstance(result, Number)
    if result != kind and not (is_number and _fits(result, kind)):
        raise low.fail(
            f"The operation's result is of the type '{result}', and its arguments of '{kind}'.",
            span,
            "convert the result.",
        )
    return _Combination("", signature.name, result != kind), arguments[2:]


def _known(function: Any) -> Functor | None:
    try:
        return _KNOWN.get(as_numpys(function))
    except TypeError:  # what cannot be hashed
        return None


def _combination_text(
    emitter: Any, kind: Type, combination: _Combination, captured: list[str]
) -> str:
    if not combination.function:
        return combination.text
    ctype = emitter.ctype(kind)
    result = f"{combination.function}({', '.join(['a', 'b', *captured])})"
    if combination.converted:
        result = f"kerneltk::jit::convert<{ctype}>({result})"
    # Its parameters hide variables of the kernel, none of which its body mentions.
    capture = "&" if captured else ""
    return f"[{capture}](const {ctype}& a, const {ctype}& b) -> {ctype} {{ return {result}; }}"


# -- types of values ------------------------------------------------------------------------------

_PLAIN: dict[Any, type[np.generic]] = {
    int: np.int64,
    float: np.float64,
    complex: np.complex128,
    bool: np.bool_,
}


def _item_type(dtype: Any) -> Type:
    """Return the type that a dtype, a tuple of them, a named tuple or a dataclass stands for."""
    if isinstance(dtype, tuple):
        return Tuple(tuple(map(_item_type, dtype)))
    if isinstance(dtype, type):
        names = _fields(dtype)
        if names is not None:
            hints = typing.get_type_hints(dtype)
            return Tuple(tuple(_item_type(hints[name]) for name in names), names, dtype)
    if isinstance(dtype, str | np.dtype | type) or hasattr(dtype, "dtype"):
        try:
            if getattr(dtype, "__name__", "") == "bfloat16":
                dtype = "bfloat16"
            found = as_dtype(_PLAIN.get(dtype, dtype) if isinstance(dtype, type) else dtype)
            describe(found)
        except TypeError:
            raise ArgumentTypeError(f"{dtype!r} is no dtype of values in kernels.") from None
        return Number(found) if found.names is None else Record(found)
    raise ArgumentTypeError(f"{dtype!r} is no dtype.")


def _fields(kind: type) -> tuple[str, ...] | None:
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields)
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return None


def _size(kind: Type) -> int:
    """Return the bytes of a value, without those between its items."""
    if isinstance(kind, Tuple):
        return sum(map(_size, kind.items))
    assert isinstance(kind, Number | Record)
    return kind.dtype.itemsize


def _fits(given: Type, wanted: Type) -> bool:
    """Return whether a value can become one of another type without losing anything."""
    if given == wanted:
        return True
    if isinstance(given, Number) and isinstance(wanted, Number):
        if not given.weak:
            return bool(np.can_cast(given.dtype, wanted.dtype, "safe"))
        if given.is_integer:
            return wanted != BOOL
        return wanted.is_complex or (wanted.is_floating and given.is_floating)
    if isinstance(given, Tuple) and isinstance(wanted, Tuple):
        return (
            wanted.maker in (None, given.maker)
            and len(given.items) == len(wanted.items)
            and all(map(_fits, given.items, wanted.items))
        )
    return False


# -- classes --------------------------------------------------------------------------------------

Scope = Literal["block", "warp"]


class Template:
    """A collective for any dtype: in brackets it becomes one for a dtype and a number of threads.

    Parameters
    ----------
    name : str
    scope : {"block", "warp"}
    storage : str
        The C++ type of the storage; ``{0}`` is that of a value, ``{threads}`` their number.
    methods : Methods
    doc : str
    """

    def __init__(self, name: str, scope: Scope, storage: str, methods: Methods, doc: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.scope = scope
        self.storage = storage
        self.methods = methods
        self.__doc__ = doc

    def __getitem__(self, key: Any) -> Collective:
        """Return the collective for a dtype and numbers of threads.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            The dtype or the number of threads cannot be taken.
        """
        items = key if isinstance(key, tuple) else (key,)
        if self.scope == "warp":
            # A second dtype makes a tuple, a number is a width.
            has_width = len(items) == 2 and isinstance(items[1], int | np.integer)
            dtype = items[0] if has_width or len(items) == 1 else items
            return Collective(self, _item_type(dtype), (self._width(items[1:], has_width), 1, 1))
        if len(items) < 2:
            raise ArgumentTypeError(
                f"'{self.__name__}' needs the number of threads of a block: "
                f"{self.__name__}[dtype, 256]."
            )
        dtype, *rest = items
        if self.__name__ != "BlockSort":
            shape = rest[0] if isinstance(rest[0], tuple) and len(rest) == 1 else tuple(rest)
            return Collective(self, _item_type(dtype), self._shape(shape))
        if len(rest) > 3:
            raise ArgumentTypeError(
                "'BlockSort' takes a dtype, the threads, the keys of a thread and the dtype of "
                "values."
            )
        shape = rest[0] if isinstance(rest[0], tuple) else (rest[0],)
        count = rest[1] if len(rest) > 1 else 1
        if not isinstance(count, int | np.integer) or not 1 <= count <= 256:
            raise ArgumentValueError(f"A thread can sort 1 to 256 keys, not {count!r}.")
        value = _item_type(rest[2]) if len(rest) > 2 else None
        return Collective(self, _item_type(dtype), self._shape(shape), int(count), value)

    def _width(self, given: tuple[Any, ...], has_width: bool) -> int:
        width = int(given[0]) if has_width else 32
        if width not in (1, 2, 4, 8, 16, 32):
            raise ArgumentValueError(
                f"The width of '{self.__name__}' is a power of two up to 32, not {width}."
            )
        return width

    def _shape(self, shape: tuple[Any, ...]) -> tuple[int, int, int]:
        for extent in shape:
            if not isinstance(extent, int | np.integer) or isinstance(extent, bool):
                raise ArgumentTypeError(
                    f"The threads of '{self.__name__}' are given as ints, not {extent!r}."
                )
        threads = math.prod(shape)
        if not 1 <= len(shape) <= 3 or min(shape) < 1 or threads > 1024:
            shown = ", ".join(map(str, shape))
            raise ArgumentValueError(
                f"'{self.__name__}' is for blocks of 1 to 1024 threads along up to three axes, not "
                f"({shown})."
            )
        x, y, z = (*map(int, shape), 1, 1)[:3]
        return x, y, z

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: the dtype is missing."""
        raise TypeError(f"'{self.__name__}' needs a dtype in brackets: {self.__name__}[...](temp).")

    def __repr__(self) -> str:
        return f"<class template {self.__name__}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _template, (self.__name__,)


def _template(name: str) -> Template:
    return TEMPLATES[name]


class Collective(Intrinsic):
    """A collective for a dtype and a number of threads; kernels call it with its storage.

    Parameters
    ----------
    template : Template
    item : Type
        Of a value; of a key, where it sorts.
    threads : tuple of int
        Of a block along x, y and z; of a warp the width.
    count : int
        Keys of a thread.
    value : Type or None
        Of what is moved with the keys.

    Attributes
    ----------
    TempStorage : TempStorage
        For `shared_memory`: the memory that a call needs.
    """

    def __init__(
        self,
        template: Template,
        item: Type,
        threads: tuple[int, int, int],
        count: int = 1,
        value: Type | None = None,
    ) -> None:
        for kind in (item, value):
            if kind is not None and _size(kind) > _MOST_BYTES:
                raise ArgumentTypeError(
                    f"'{template.__name__}' takes values of up to {_MOST_BYTES} bytes, and "
                    f"'{kind}' has {_size(kind)}."
                )
        self.template, self.item, self.threads = template, item, threads
        self.count, self.value = count, value
        extents = threads[: 3 if threads[2] > 1 else 2 if threads[1] > 1 else 1]
        facts = [str(item), *map(str, extents)]
        if template.__name__ == "BlockSort":
            facts += [str(count)] if count > 1 or value is not None else []
            facts += [str(value)] if value is not None else []
            if not isinstance(item, Number):
                raise ArgumentTypeError("'BlockSort' sorts numbers; values may be tuples.")
            size = math.prod(threads) * count * (_size(item) + (_size(value) if value else 0))
            if size > _MOST_STORAGE:
                raise ArgumentValueError(
                    f"'BlockSort' would need {size} bytes of shared memory, and a kernel can "
                    f"declare {_MOST_STORAGE}."
                )
        super().__init__(f"{template.__name__}[{', '.join(facts)}]", self._made, template.__doc__)
        self.TempStorage = TempStorage(self)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.template, self.item, self.threads, self.count, self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collective) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> str | tuple[Any, ...]:
        return Collective, self._key

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    @property
    def required_block(self) -> tuple[int, int, int] | None:
        """The shape of the blocks that may call it; None for all."""
        return self.threads if self.template.scope == "block" else None

    # -- in kernels ----------------------------------------------------------------------------

    @property
    def storage(self) -> str:
        """The C++ type of its storage, in which ``{0}`` and ``{1}`` stand for types of values."""
        facts = {"threads": str(math.prod(self.threads)), "count": str(self.count)}
        text = self.template.storage
        if self.value is not None:
            text = "kerneltk::jit::block_sort_pairs_storage<{0}, {1}, {threads}, {count}>"
        for name, fact in facts.items():
            text = text.replace(f"{{{name}}}", fact)
        return text

    def kind(self, role: str) -> Opaque:
        """Return the type of its storage (``"storage"``), or of what has its methods."""
        is_block = self.template.scope == "block"
        place = f"kerneltk::jit::storage_place<{self.storage}>" if is_block else self.storage
        name = f"{self.__name__}.TempStorage" if role == "storage" else self.__name__
        facts: tuple[tuple[str, Any], ...] = (
            ("types", tuple(kind for kind in (self.item, self.value) if kind is not None)),
            ("headers", ("jit_sort.hpp", *_HEADERS) if self._sorts else _HEADERS),
            ("collective", self),
            ("role", role),
        )
        if role != "storage":
            facts += (("methods", self.template.methods),)
        return Opaque(name, place, facts)

    @property
    def _sorts(self) -> bool:
        return self.template.__name__ == "BlockSort"

    def _made(self, low: Any, site: CallSite) -> Value:
        """``BlockReduce[T, N](temp[0])``; without storage it declares its own."""
        given = arguments_of(low, site, ("temp_storage",), {"temp_storage": None})["temp_storage"]
        if isinstance(given, Static) and given.value is None:
            place = self.TempStorage.declared(low, site.span, 1)
            return _as(place, self.kind("own"))
        found = given if not isinstance(given, Static) else None
        if found is None or found.type != self.kind("storage"):
            hint = (
                f"declare it with 'temp = shared_memory({self.template.__name__}[...].TempStorage, "
                "1)' and give 'temp[0]', or give nothing."
            )
            if found is not None and found.type == self.TempStorage.several:
                hint = "give one of them: 'temp[0]'."
            raise low.fail(
                f"'{self.__name__}' needs its own TempStorage, not {_phrase(low, given)}.",
                site.span_of(0),
                hint,
            )
        return _as(found, self.kind("shared"))


def _phrase(low: Any, value: Value) -> str:
    text: str = low.describe(value)
    return text[:1].lower() + text[1:]


# -- storage --------------------------------------------------------------------------------------


class TempStorage:
    """The shared memory that a collective needs: a dtype of `shared_memory`.

    Parameters
    ----------
    collective : Collective
    """

    def __init__(self, collective: Collective) -> None:
        self.collective = collective
        self.__name__ = f"{collective.__name__}.TempStorage"

    @property
    def several(self) -> Opaque:
        """The type of what `shared_memory` returns, whose items are storages."""
        kind = self.collective.kind("storage")
        return Opaque(f"{kind.name} in memory", kind.ctype, (*kind.details, ("items", _item)))

    def storage_rule(self, low: Any, site: CallSite, shape: Value, space: str) -> ir.Expression:
        """Return the storage that ``shared_memory(TempStorage, size)`` declares."""
        if space != "shared":
            raise low.fail(f"'{self.__name__}' lies in shared memory.", site.span)
        count = static_value(low, shape, site.span, "A size")
        count = count[0] if isinstance(count, tuple) and len(count) == 1 else count
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
            raise low.fail(
                f"The size of '{self.__name__}' is a number of storages, not {count!r}.",
                site.span,
                "most often it is 1.",
            )
        return _as(self.declared(low, site.span, int(count)), self.several)

    def declared(self, low: Any, span: ir.Span, count: int) -> ir.Call:
        """Declare storages, and return the place of the first."""
        collective = self.collective
        kind = collective.kind("storage")
        if collective.template.scope == "warp":
            return ir.Call(_NO_STORAGE, (), kind, span)
        ctype = collective.storage
        if count > 1:
            ctype = f"kerneltk::jit::several<{ctype}, {count}>"
        memory = Opaque(f"memory of {kind.name}", ctype, kind.details)
        local = low.declare_opaque(memory, span, "storage", True)
        return ir.Call(_STORAGE, (local,), kind, span, (count,))

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


def _storage_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    return f"{emitter.ctype(node.type)}{{&{_memory_text(emitter, node)}}}"


_NO_STORAGE = Operation("storage", "kerneltk::jit::no_storage()")
_STORAGE = Operation("storage", _storage_text)
_ITEM = Operation("item of storage", _storage_text)
_SAME = Operation("collective", lambda emitter, node, texts: texts[0])


def _as(value: ir.Expression, kind: Opaque) -> ir.Expression:
    """Return a place as one of another role."""
    if isinstance(value, ir.Call):
        return dataclasses.replace(value, type=kind)
    return ir.Call(_SAME, (value,), kind, value.span)


def _memory_text(emitter: Any, node: Any) -> str:
    """Return the storage itself."""
    if isinstance(node, ir.Call):
        if node.operation is _SAME:
            return _memory_text(emitter, node.arguments[0])
        if node.operation is _STORAGE:
            name = emitter.text(node.arguments[0])
            return name if node.static[0] == 1 else f"{name}.items[0]"
        if node.operation is _ITEM:
            place, index = node.arguments
            text = emitter.text(index)
            if isinstance(place, ir.Call) and place.operation is _STORAGE:
                return f"{emitter.text(place.arguments[0])}.items[{text}]"
            return f"{emitter.text(place)}.place[{text}]"
    return f"*{emitter.text(node)}.place"


def _item(low: Any, value: ir.Expression, index: Value, span: ir.Span) -> ir.Expression:
    """Return one of the storages that were declared together."""
    assert isinstance(value.type, Opaque)
    collective = dict(value.type.details)["collective"]
    kind = collective.kind("storage")
    if collective.template.scope == "warp":
        return _as(value, kind)
    count = None
    if isinstance(value, ir.Call) and value.operation is _STORAGE:
        count = value.static[0]
    place = low.cast(integer(low, index, span, "An index"), PY_INT)
    if isinstance(place, ir.Literal_):
        number = int(place.value)
        if count is not None and not -count <= number < count or (count is None and number < 0):
            raise low.fail(f"There is no storage {number} of {count or 'these'}.", span)
        if number == 0:
            return _as(value, kind)
        place = ir.Literal_(number % count if count else number, PY_INT, span)
        if place.value == 0:
            return _as(value, kind)
    elif count == 1:
        return _as(value, kind)
    return ir.Call(_ITEM, (value, place), kind, span)


# -- methods --------------------------------------------------------------------------------------


def _owner(low: Any, owner: ir.Expression, site: CallSite) -> Collective:
    """Return the collective of a method's owner; one with storage of its own waits first, so that
    its calls may follow each other.
    """
    assert isinstance(owner.type, Opaque)
    details = dict(owner.type.details)
    collective: Collective = details["collective"]
    if details["role"] == "own" and collective.template.scope == "block":
        barrier(low, site.span)
    return collective


def _checked(
    low: Any, value: Value, span: ir.Span, kind: Type, collective: Collective
) -> ir.Expression:
    """Return an argument as a value of a type."""
    found: ir.Expression = low.as_expression(value, span)
    if not _fits(found.type, kind):
        hint = f"use {collective.template.__name__} of another dtype."
        if isinstance(kind, Number) and isinstance(found.type, Number):
            hint = f"convert it with 'np.{kind}(x)', or " + hint
        raise low.fail(
            f"'{collective.__name__}' takes '{kind}', not {_phrase(low, found)}.", span, hint
        )
    return low.convert(found, kind, span, "the argument")  # type: ignore[no-any-return]


def _valid(low: Any, value: Value, span: ir.Span) -> tuple[ir.Expression, ...]:
    if isinstance(value, Static) and value.value is None:
        return ()
    return (low.cast(integer(low, value, span, "'valid'"), _INT),)


def _head(emitter: Any, name: str, node: ir.Call, collective: Collective) -> tuple[str, list[str]]:
    """Return a function with its template arguments, and its first arguments: the storage."""
    ctype = emitter.ctype(collective.item)
    if collective.template.scope == "warp":
        return f"kerneltk::jit::warp_{name}<{ctype}, {collective.threads[0]}>", []
    facts = ", ".join(map(str, collective.threads))
    memory = _memory_text(emitter, node.arguments[0])
    return f"kerneltk::jit::block_{name}<{ctype}, {facts}>", [memory]


def _reduce_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    collective, combination, has_valid, everywhere = node.static
    _, value, *others = texts
    valid, captured = (others[:1], others[1:]) if has_valid else ([], others)
    name = "reduce_all" if everywhere else "reduce"
    if valid and not everywhere and collective.template.scope == "warp":
        name = "reduce_valid"
    head, arguments = _head(emitter, name, node, collective)
    op = _combination_text(emitter, collective.item, combination, captured)
    return f"{head}({', '.join([*arguments, value, op, *valid])})"


_REDUCE = Operation("reduction", _reduce_text, _WAITS, _HEADERS)


def _reduction(*, of_sums: bool, everywhere: bool) -> Any:
    names = ("input", "valid") if of_sums else ("input", "reduction_op", "valid")

    def rule(low: Any, owner: ir.Expression, site: CallSite) -> Value:
        collective = _owner(low, owner, site)
        values = arguments_of(low, site, names, {"valid": None})
        item = collective.item
        at = site.places(names)
        value = _checked(low, values["input"], at["input"], item, collective)
        op = values["reduction_op"] if not of_sums else Static(FUNCTORS["Sum"])
        where = site.span if of_sums else at["reduction_op"]
        combination, captured = _combination(low, site, op, item, where)
        valid = _valid(low, values["valid"], at["valid"])
        arguments = [owner, value, *valid, *captured]
        facts = (collective, combination, bool(valid), everywhere)
        found: Value = low.temporary(call(_REDUCE, arguments, item, site, *facts))
        return found

    return method(rule)


def _scan_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    collective, combination, exclusive, with_total = node.static
    _, value, *others = texts
    initial, captured = (others[:1], others[1:]) if exclusive else ([], others)
    name = ("exclusive" if exclusive else "inclusive") + "_scan" + "_total" * with_total
    head, arguments = _head(emitter, name, node, collective)
    op = _combination_text(emitter, collective.item, combination, captured)
    arguments += [value, op, *initial]
    if not with_total:
        return f"{head}({', '.join(arguments)})"
    ctype = emitter.ctype(collective.item)
    text = f"const {ctype} _kt_value = {head}({', '.join([*arguments, '_kt_total'])});"
    both = f"{emitter.ctype(node.type)}{{_kt_value, _kt_total}}"
    return f"[&] {{ {ctype} _kt_total; {text} return {both}; }}()"


_SCAN = Operation("scan", _scan_text, _WAITS, _HEADERS)


def _scan(*, exclusive: bool, of_sums: bool) -> Any:
    names = ["input"]
    if not of_sums:
        names += ["initial", "scan_op"] if exclusive else ["scan_op"]
    names += ["total"]

    def rule(low: Any, owner: ir.Expression, site: CallSite) -> Value:
        collective = _owner(low, owner, site)
        values = arguments_of(low, site, names, {"total": False})
        item = collective.item
        at = site.places(names)
        value = _checked(low, values["input"], at["input"], item, collective)
        op = values["scan_op"] if not of_sums else Static(FUNCTORS["Sum"])
        where = site.span if of_sums else at["scan_op"]
        combination, captured = _combination(low, site, op, item, where)
        initial: list[ir.Expression] = []
        if exclusive:
            begin = Static(0 if item != BOOL else False) if of_sums else values["initial"]
            place = at.get("initial", site.span)
            initial = [_checked(low, begin, place, item, collective)]
        with_total = bool(static_value(low, values["total"], at["total"], "'total'"))
        kind = Tuple((item, item)) if with_total else item
        arguments = [owner, value, *initial, *captured]
        facts = (collective, combination, exclusive, with_total)
        found: Value = low.temporary(call(_SCAN, arguments, kind, site, *facts))
        return found

    return method(rule)


def _broadcast_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    head, arguments = _head(emitter, "broadcast", node, node.static[0])
    return f"{head}({', '.join([*arguments, *texts[1:]])})"


_BROADCAST = Operation("broadcast", _broadcast_text, _WAITS, _HEADERS)


def _broadcast(low: Any, owner: ir.Expression, site: CallSite) -> Value:
    collective = _owner(low, owner, site)
    values = arguments_of(low, site, ("input", "source"), {"source": 0})
    at = site.places(("input", "source"))
    value = _checked(low, values["input"], at["input"], collective.item, collective)
    source = low.cast(integer(low, values["source"], at["source"], "A rank"), _INT)
    found: Value = low.temporary(
        call(_BROADCAST, [owner, value, source], collective.item, site, collective)
    )
    return found


def _sort_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    collective, descending, has_valid, in_place = node.static
    _, *others = texts
    valid = [others.pop()] if has_valid else []
    types = [emitter.ctype(k) for k in (collective.item, collective.value) if k is not None]
    facts = ", ".join([*types, str(collective.count), *map(str, collective.threads)])
    name = "block_sort_pairs" if collective.value is not None else "block_sort"
    order = f"{_OPS}{'descending' if descending else 'ascending'}()"
    memory = _memory_text(emitter, node.arguments[0])

    def sorting(places: list[str]) -> str:
        arguments = ", ".join([memory, *places, order, *valid])
        return f"kerneltk::jit::{name}<{facts}>({arguments})"

    if in_place:
        return sorting(others)
    places = ["_kt_key", "_kt_value"][: len(others)]
    declared = "".join(
        f"{ctype} {place}[1] = {{{text}}}; "
        for ctype, place, text in zip(types, places, others, strict=True)
    )
    result = ", ".join(f"{place}[0]" for place in places)
    if len(places) > 1:
        result = f"{emitter.ctype(node.type)}{{{result}}}"
    return f"[&] {{ {declared}{sorting(places)}; return {result}; }}()"


_SORT = Operation("sort", _sort_text, _WAITS, ("jit_sort.hpp", *_HEADERS))


def _sort(low: Any, owner: ir.Expression, site: CallSite) -> Value:
    collective = _owner(low, owner, site)
    names = ("keys", "values") if collective.value is not None else ("keys",)
    parameters = (*names, "descending", "valid")
    given = arguments_of(low, site, parameters, {"descending": False, "valid": None})
    at = site.places(parameters)
    descending = bool(static_value(low, given["descending"], at["descending"], "'descending'"))
    valid = _valid(low, given["valid"], at["valid"])
    kinds = [kind for kind in (collective.item, collective.value) if kind is not None]
    in_place = collective.count > 1 or any(map(_is_array, given.values()))
    places = []
    for name, kind in zip(names, kinds, strict=True):
        make = _own_array if in_place else _checked
        places.append(make(low, given[name], at[name], kind, collective))
    facts = (collective, descending, bool(valid), in_place)
    arguments = [owner, *places, *valid]
    if in_place:
        low.emit(ir.Evaluate(call(_SORT, arguments, VOID, site, *facts), site.span))
        return Static(None)
    result = kinds[0] if len(kinds) == 1 else Tuple(tuple(kinds))
    sorted_: Value = low.temporary(call(_SORT, arguments, result, site, *facts))
    return sorted_


def _is_array(value: Value) -> bool:
    return not isinstance(value, Static) and isinstance(value.type, Array)


def _own_array(
    low: Any, value: Value, span: ir.Span, kind: Type, collective: Collective
) -> ir.Expression:
    """Return a thread's keys or values: an array in local memory."""
    if not isinstance(value, Static) and isinstance(value.type, Array):
        wanted = (kind, "fixed", (collective.count,), "local")
        found = value.type
        if (found.element, found.layout, found.shape, found.space) == wanted:
            return value
    items = "item" if collective.count == 1 else "items"
    raise low.fail(
        f"'{collective.__name__}' needs an array of {collective.count} {items} of '{kind}' in local "
        f"memory, not {_phrase(low, value)}.",
        span,
        f"declare it in the same function: local_memory(np.{kind}, {collective.count}).",
    )


# -- the table ------------------------------------------------------------------------------------

_REDUCTIONS = Methods(
    {
        "Sum": _reduction(of_sums=True, everywhere=False),
        "Reduce": _reduction(of_sums=False, everywhere=False),
        "SumAll": _reduction(of_sums=True, everywhere=True),
        "ReduceAll": _reduction(of_sums=False, everywhere=True),
    }
)
_SCANS = Methods(
    {
        "InclusiveSum": _scan(exclusive=False, of_sums=True),
        "ExclusiveSum": _scan(exclusive=True, of_sums=True),
        "InclusiveScan": _scan(exclusive=False, of_sums=False),
        "ExclusiveScan": _scan(exclusive=True, of_sums=False),
    }
)
_BROADCASTS = Methods({"Broadcast": method(_broadcast)})
_SORTS = Methods({"Sort": method(_sort)})

_REDUCE_DOC = """
    ``Sum(input, valid=None)`` and ``Reduce(input, reduction_op, valid=None)`` return the total of the
    values of the first ``valid`` {threads}, of all by default, in the first one; what the others get
    means nothing. ``SumAll`` and ``ReduceAll`` return it in all of them. An operation is a functor
    of this module, a function of NumPy or a Python function of two values. It is associative; values
    are combined in the order of {threads}.
"""
_SCAN_DOC = """
    ``InclusiveSum(input)`` and ``InclusiveScan(input, scan_op)`` return the total of the values up to
    and with the thread's own; ``ExclusiveSum(input)`` and ``ExclusiveScan(input, initial, scan_op)``
    that of ``initial`` and the values before it. With ``total=True`` they return a tuple of that and
    the total of all values, without ``initial``.
"""
_STORAGE_DOC = """
    All threads of the block call together, and before storage is used again comes
    ``syncthreads()``. Without an argument a collective has storage of its own, for which it waits by
    itself. Blocks must have the shape that is named in the brackets.
"""


def _template_of(name: str, scope: Scope, storage: str, methods: Methods, doc: str) -> Template:
    return Template(name, scope, storage, methods, doc)


_ROWS: tuple[tuple[str, Scope, str, Methods, str], ...] = (
    (
        "BlockReduce",
        "block",
        "kerneltk::jit::block_reduce_storage<{0}, {threads}>",
        _REDUCTIONS,
        "Totals of a block: ``BlockReduce[dtype, x, y, z](temp)``.\n"
        + _REDUCE_DOC.format(threads="threads")
        + _STORAGE_DOC,
    ),
    (
        "WarpReduce",
        "warp",
        "kerneltk::jit::no_storage",
        _REDUCTIONS,
        "Totals of a warp, or of its parts of ``width`` lanes: ``WarpReduce[dtype, width](temp)``.\n"
        + _REDUCE_DOC.format(threads="lanes"),
    ),
    (
        "BlockScan",
        "block",
        "kerneltk::jit::block_scan_storage<{0}, {threads}>",
        _SCANS,
        "Running totals of a block: ``BlockScan[dtype, x, y, z](temp)``.\n"
        + _SCAN_DOC
        + _STORAGE_DOC,
    ),
    (
        "WarpScan",
        "warp",
        "kerneltk::jit::no_storage",
        _SCANS,
        "Running totals of a warp, or of its parts of ``width`` lanes: "
        "``WarpScan[dtype, width](temp)``.\n" + _SCAN_DOC,
    ),
    (
        "BlockBroadcast",
        "block",
        "kerneltk::jit::block_broadcast_storage<{0}>",
        _BROADCASTS,
        "A thread's value for its block: ``BlockBroadcast[dtype, x, y, z](temp)``.\n\n"
        "    ``Broadcast(input, source=0)`` returns the value of the thread whose rank is ``source``.\n"
        + _STORAGE_DOC,
    ),
    (
        "BlockSort",
        "block",
        "kerneltk::jit::block_sort_storage<{0}, {threads}, {count}>",
        _SORTS,
        "Sorting within a block: ``BlockSort[key dtype, threads, count, value dtype](temp)``.\n\n"
        "    ``threads`` is an int or a tuple; ``count``, 1 by default, the keys of a thread, and the\n"
        "    last dtype, which may be missing, that of values that are moved with them.\n\n"
        "    ``Sort(keys, descending=False, valid=None)`` and ``Sort(keys, values, ...)`` sort the keys\n"
        "    of the block, of which the thread of rank ``r`` has those from ``r * count`` on, in place\n"
        "    in arrays in local memory; a single key, or a key and a value, are returned. Equal keys\n"
        "    keep their order. Keys from ``valid`` on stay where they are.\n" + _STORAGE_DOC,
    ),
)

TEMPLATES: dict[str, Template] = {row[0]: _template_of(*row) for row in _ROWS}
