"""Where the fields of a struct lie, and whether a structured dtype has the same.

Offsets follow from C's rule: a field lies at the next multiple of its alignment. That is compared
with the size that the compiler says, and where they differ nothing is known of the fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from kerneltk.core.records import record
from kerneltk.cuda_cpp.syntax.declarations import DeclaredStruct
from kerneltk.object_code.reflection import ParameterType, number_type

_MAX_DEPTH = 8
_ALIASES = {
    **{f"{u}int{n}_t": f"{'unsigned ' if u else ''}{c}" for u in ("", "u")
       for n, c in ((8, "char"), (16, "short"), (32, "int"), (64, "long"))},
    "size_t": "unsigned long", "std::size_t": "unsigned long", "ptrdiff_t": "long",
    "intptr_t": "long", "uintptr_t": "unsigned long",
    "cuFloatComplex": "float2", "cuComplex": "float2", "cuDoubleComplex": "double2",
    "cudaTextureObject_t": "unsigned long long", "cudaSurfaceObject_t": "unsigned long long",
}  # fmt: skip


@record
class Field:
    """A field of a struct."""

    name: str
    offset: int  # bytes
    spelled: str  # its type as declared, with extents
    # Its type; None for a struct, whose fields `inner` has.
    type: ParameterType | None
    inner: Layout | None
    extents: tuple[int, ...]

    @property
    def size(self) -> int:
        """Its size (bytes)."""
        own = self.type.size if self.type is not None else self.inner.size if self.inner else 0
        return own * math.prod(self.extents)


@record
class Layout:
    """The fields of a struct."""

    fields: tuple[Field, ...]
    size: int  # bytes, padding included
    alignment: int


def layouts_of(
    structs: Iterable[DeclaredStruct], aliases: Iterable[tuple[str, str]]
) -> Callable[[str, int, int], Layout | None]:
    """Return a function of a struct's name, size and alignment as its compiler has them, which
    returns its layout; None where that is not known.
    """
    known = {struct.name: struct for struct in structs}
    stand_for = {**_ALIASES, **dict(aliases)}

    def find(name: str, size: int, alignment: int) -> Layout | None:
        plain = name.replace("(anonymous)::", "").removeprefix("::")
        found = _layout(plain, known, stand_for, 0)
        if found is None:
            return None
        whole = found.size + -found.size % max(alignment, 1)
        return found if whole == size and found.alignment <= alignment else None

    return find


def _layout(
    name: str, known: dict[str, DeclaredStruct], aliases: dict[str, str], depth: int
) -> Layout | None:
    struct = known.get(name)
    if struct is None or not struct.fields or depth > _MAX_DEPTH:
        return None
    scope = name.rpartition("::")[0]
    fields: list[Field] = []
    end, alignment = 0, 1
    for declared in struct.fields:
        if not all(extent.isdigit() for extent in declared.extents):
            return None
        extents = tuple(map(int, declared.extents))
        spelled = declared.type
        for _ in range(_MAX_DEPTH):
            spelled = aliases.get(spelled, spelled)
        inner, kind = None, number_type(spelled)
        if kind is None:
            inner = _layout(f"{scope}::{spelled}" if scope else spelled, known, aliases, depth + 1)
            inner = inner or _layout(spelled, known, aliases, depth + 1)
        owner = kind or inner
        if owner is None:
            return None
        end += -end % owner.alignment
        shown = declared.type + "".join(f"[{extent}]" for extent in declared.extents)
        field = Field(declared.name, end, shown, kind, inner, extents)
        fields.append(field)
        end += field.size
        alignment = max(alignment, owner.alignment)
    return Layout(tuple(fields), end + -end % alignment, alignment)


def difference(layout: Layout, dtype: np.dtype[Any], path: str = "", base: int = 0) -> str:
    """Return how the fields of a structured dtype differ from a struct's; empty where they do not.

    Names that NumPy gives by itself (``f0``, ``f1``) stand for any.
    """
    names = dtype.names or ()
    if len(names) != len(layout.fields):
        return f"has {len(layout.fields)} fields, and the dtype has {len(names)}"
    is_unnamed = names == tuple(f"f{k}" for k in range(len(names)))
    pairs = zip(layout.fields, _sorted(dtype), strict=True)
    for field, (name, own, offset) in pairs:
        shown = f"has '{field.spelled}' field '{path}{field.name}' at byte {base + field.offset}"
        given = f"the dtype has '{own}' field '{path}{name}' at byte {base + offset}"
        if offset != field.offset or not (is_unnamed or name == field.name):
            return f"{shown}, and {given}"
        element, extents = own.subdtype or (own, ())
        if field.inner is not None:
            if extents != field.extents or element.names is None:
                return f"{shown}, and {given}"
            inner = difference(field.inner, element, f"{path}{field.name}.", base + offset)
            if inner or element.itemsize != field.inner.size:
                return inner or f"{shown}, and {given}"
        elif field.type is not None and not _fits(field, element, extents):
            return f"{shown}, and {given}"
    return ""


def _sorted(dtype: np.dtype[Any]) -> Iterator[tuple[str, np.dtype[Any], int]]:
    """Yield name, dtype and offset of each field, by their offsets."""
    fields: Mapping[str, Any] = dtype.fields or {}
    names = dtype.names or ()
    found = [(name, fields[name][0], int(fields[name][1])) for name in names]
    yield from sorted(found, key=lambda one: one[2])


def _fits(field: Field, dtype: np.dtype[Any], extents: tuple[int, ...]) -> bool:
    """Whether numbers of a dtype are what a field holds."""
    kind = field.type
    assert kind is not None
    if dtype.hasobject or not dtype.isnative:
        return False
    if dtype.itemsize * math.prod(extents) != field.size:
        return False
    if dtype.kind in "SV" and dtype.names is None:
        return True  # bytes
    if dtype.names is not None:  # of a vector: x, y, z
        inner = [own for _, own, _ in _sorted(dtype)]
        return kind.count == len(inner) and all(_is_number(kind, one) for one in inner)
    if dtype.kind == "c":
        is_pair = kind.count == 2 or (field.extents[-1:] == (2,) and extents == field.extents[:-1])
        return is_pair and kind.base == f"float{dtype.itemsize * 4}"
    wanted = (*field.extents, kind.count) if kind.count > 1 else field.extents
    return extents == wanted and _is_number(kind, dtype)


def _is_number(kind: ParameterType, dtype: np.dtype[Any]) -> bool:
    base = "uint64" if kind.kind == "pointer" else kind.base
    if base == "bfloat16":
        return dtype.name in ("bfloat16", "uint16")
    wanted = np.dtype(base)
    if wanted.kind in "iub":
        return dtype.itemsize == wanted.itemsize and dtype.kind in "iubmM"
    return bool(dtype == wanted)
