"""Classes of collectives and their storage: ``BlockReduce[np.float32, 256]``."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

import numpy as np

from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import CallSite, Intrinsic, Methods, Operation, Static, Value
from kerneltk.jit.intrinsics.typing_rules import arguments_of, integer, static_value
from kerneltk.jit.intrinsics.values import item_type, size_of
from kerneltk.jit.ir.types import PY_INT, Number, Opaque, Type

HEADERS = ("jit_collectives.hpp",)
_MOST_BYTES = 64  # of a value: it lives in registers
_MOST_STORAGE = 48 * 1024  # bytes of shared memory that a kernel can declare

Scope = Literal["block", "warp"]


class Template(Intrinsic):
    """A collective for any dtype: in brackets it becomes one for a dtype and a number of threads.

    `storage` is a C++ type; ``{0}`` is that of a value, ``{threads}`` the number of threads.
    """

    def __init__(self, name: str, scope: Scope, storage: str, methods: Methods, doc: str) -> None:
        super().__init__(name, self._without_brackets, doc)
        self.scope = scope
        self.storage = storage
        self.methods = methods

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
            return Collective(self, item_type(dtype), (self._width(items[1:], has_width), 1, 1))
        if len(items) < 2:
            raise ArgumentTypeError(
                f"'{self.__name__}' needs the number of threads of a block: "
                f"{self.__name__}[dtype, 256]."
            )
        dtype, *rest = items
        if self.__name__ != "BlockSort":
            shape = rest[0] if isinstance(rest[0], tuple) and len(rest) == 1 else tuple(rest)
            return Collective(self, item_type(dtype), self._shape(shape))
        if len(rest) > 3:
            raise ArgumentTypeError(
                "'BlockSort' takes a dtype, the threads, the keys of a thread and the dtype of "
                "values."
            )
        shape = rest[0] if isinstance(rest[0], tuple) else (rest[0],)
        count = rest[1] if len(rest) > 1 else 1
        if not isinstance(count, int | np.integer) or not 1 <= count <= 256:
            raise ArgumentValueError(f"A thread can sort 1 to 256 keys, not {count!r}.")
        value = item_type(rest[2]) if len(rest) > 2 else None
        return Collective(self, item_type(dtype), self._shape(shape), int(count), value)

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

    def _without_brackets(self, low: Any, site: CallSite) -> Value:
        raise low.fail(
            f"'{self.__name__}' needs a dtype in brackets.",
            site.span,
            f"for example {self.__name__}[np.float32{', 256' if self.scope == 'block' else ''}].",
        )

    def __repr__(self) -> str:
        return f"<class template {self.__name__}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        import pkgutil  # only who pickles needs it

        return pkgutil.resolve_name, (f"kerneltk.jit.cub:{self.__name__}",)


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
            if kind is not None and size_of(kind) > _MOST_BYTES:
                raise ArgumentTypeError(
                    f"'{template.__name__}' takes values of up to {_MOST_BYTES} bytes, and "
                    f"'{kind}' has {size_of(kind)}."
                )
        self.template, self.item, self.threads = template, item, threads
        self.count, self.value = count, value
        facts = [str(item), *self.extents]
        self._sorts = template.__name__ == "BlockSort"
        if self._sorts:
            facts += [str(count)] if count > 1 or value is not None else []
            facts += [str(value)] if value is not None else []
            if not isinstance(item, Number):
                raise ArgumentTypeError("'BlockSort' sorts numbers; values may be tuples.")
            size = math.prod(threads) * count * (size_of(item) + (size_of(value) if value else 0))
            if size > _MOST_STORAGE:
                raise ArgumentValueError(
                    f"'BlockSort' would need {size} bytes of shared memory, and a kernel can "
                    f"declare {_MOST_STORAGE}."
                )
        super().__init__(
            f"{template.__name__}[{', '.join(facts)}]", self._made, template.__doc__ or ""
        )
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
    def extents(self) -> list[str]:
        """The numbers of threads as text; an axis of one thread at the end is left out."""
        axes = 3 if self.threads[2] > 1 else 2 if self.threads[1] > 1 else 1
        return [str(extent) for extent in self.threads[:axes]]

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
        """Return the type of its ``"storage"``, or of what has its methods: of the collective in a
        storage that the user declared (``"shared"``), or in its ``"own"``.
        """
        is_block = self.template.scope == "block"
        place = f"kerneltk::jit::storage_place<{self.storage}>" if is_block else self.storage
        suffix = {"storage": ".TempStorage", "own": " with storage of its own"}.get(role, "")
        name = self.__name__ + suffix
        facts: tuple[tuple[str, Any], ...] = (
            ("types", tuple(kind for kind in (self.item, self.value) if kind is not None)),
            ("headers", ("jit_sort.hpp",) * self._sorts + HEADERS),
            ("collective", self),
            ("role", role),
        )
        if role != "storage":
            facts += (("methods", self.template.methods),)
        return Opaque(name, place, facts)

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
                f"'{self.__name__}' needs its own TempStorage, not {low.phrase(given)}.",
                site.span_of(0),
                hint,
            )
        return _as(found, self.kind("shared"))


# -- storage --------------------------------------------------------------------------------------


class TempStorage:
    """The shared memory that a collective needs: a dtype of `shared_memory`."""

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
        local = low.declare_opaque(memory, span, "storage")
        return ir.Call(_STORAGE, (local,), kind, span, (count,))

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


def _storage_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    return f"{emitter.ctype(node.type)}{{&{memory_text(emitter, node)}}}"


_NO_STORAGE = Operation("storage", "kerneltk::jit::no_storage()")
_STORAGE = Operation("storage", _storage_text)
_ITEM = Operation("item of storage", _storage_text)
_SAME = Operation("collective", lambda emitter, node, texts: texts[0])


def _as(value: ir.Expression, kind: Opaque) -> ir.Expression:
    """Return a place as one of another role."""
    if isinstance(value, ir.Call):
        return dataclasses.replace(value, type=kind)
    return ir.Call(_SAME, (value,), kind, value.span)


def memory_text(emitter: Any, node: Any) -> str:
    """Return the storage itself."""
    if isinstance(node, ir.Call):
        if node.operation is _SAME:
            return memory_text(emitter, node.arguments[0])
        if node.operation is _STORAGE:
            name = emitter.text(node.arguments[0])
            return name if node.static[0] == 1 else f"{name}.items[0]"
        if node.operation is _ITEM:
            place, index = node.arguments
            text = str(index.value) if isinstance(index, ir.Literal_) else emitter.text(index)
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
        most = count if count is not None else number + 1
        if not -(count or 0) <= number < most:
            raise low.fail(f"There is no storage {number} of {count or 'these'}.", span)
        if number == 0:
            return _as(value, kind)
        place = ir.Literal_(number % count if count else number, PY_INT, span)
        if place.value == 0:
            return _as(value, kind)
    elif count == 1:
        return _as(value, kind)
    return ir.Call(_ITEM, (value, place), kind, span)
