"""Where the fields of a struct lie, and whether a structured dtype has the same.

Offsets follow from C's rule: a field lies at the next multiple of its alignment. That is compared
with the size that the compiler says, and where they differ nothing is known of the fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import zip_longest
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
    # A partial one, and no function in this: sources are pickled with it.
    known = {struct.name: struct for struct in structs}
    return partial(_sized_layout, known, {**_ALIASES, **dict(aliases)})


def _sized_layout(
    known: dict[str, DeclaredStruct], aliases: dict[str, str], name: str, size: int, alignment: int
) -> Layout | None:
    plain = name.replace("(anonymous)::", "").removeprefix("::")
    found = _layout(plain, known, aliases, 0)
    if found is None:
        return None
    whole = found.size + -found.size % max(alignment, 1)
    return found if whole == size and found.alignment <= alignment else None


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

    Names that NumPy gives by itself (``f0``, ``f1``) stand for any. Fields of the dtype that lie in
    the struct's padding do not count. Numbers are compared by their offsets and types, so that
    ``("m", "f4", 16)`` is a ``float m[4][4]``; so are fields without names in the dtype.
    """
    names = dtype.names or ()
    is_unnamed = names == tuple(f"f{k}" for k in range(len(names)))
    own_names = {field.name for field in layout.fields}
    found = [
        one
        for one in _sorted(dtype)
        if one[0] in own_names or not _is_in_padding(layout, one[2], one[1].itemsize)
    ]
    if len(found) != len(layout.fields):
        return f"has {len(layout.fields)} fields, and the dtype has {len(names)}"
    for field, (name, own, offset) in zip(layout.fields, found, strict=True):
        shown = f"has '{field.spelled}' field '{path}{field.name}' at byte {base + field.offset}"
        given = f"the dtype has '{own}' field '{path}{name}' at byte {base + offset}"
        if offset != field.offset or not (is_unnamed or name == field.name):
            return f"{shown}, and {given}"
        element, extents = own.subdtype or (own, ())
        if field.inner is not None and element.names is not None and extents == field.extents:
            inner = difference(field.inner, element, f"{path}{field.name}.", base + offset)
            if inner or element.itemsize != field.inner.size:
                return inner or f"{shown}, and {given}"
        elif not _fits(field, own):
            return f"{shown}, and {given}"
    return ""


def _is_in_padding(layout: Layout, offset: int, size: int) -> bool:
    """Return whether bytes of a struct hold none of its fields."""
    end = offset + size
    return size > 0 and all(
        end <= field.offset or field.offset + field.size <= offset for field in layout.fields
    )


def _sorted(dtype: np.dtype[Any]) -> Iterator[tuple[str, np.dtype[Any], int]]:
    """Yield name, dtype and offset of each field, by their offsets."""
    fields: Mapping[str, Any] = dtype.fields or {}
    names = dtype.names or ()
    found = [(name, fields[name][0], int(fields[name][1])) for name in names]
    yield from sorted(found, key=lambda one: one[2])


def _fits(field: Field, dtype: np.dtype[Any]) -> bool:
    """Return whether memory of a dtype is what a field holds: the same numbers at the same offsets,
    or as many bytes.
    """
    element = dtype.subdtype[0] if dtype.subdtype else dtype
    if dtype.hasobject or dtype.itemsize != field.size:
        return False
    if field.inner is None and element.kind in "SV" and element.names is None:
        return True  # bytes
    pairs = zip_longest(_numbers_of_field(field, 0, ()), _numbers_of(dtype, 0, ()))
    return all(one is not None and two is not None and _is_same(one, two) for one, two in pairs)


def _is_same(
    one: tuple[int, ParameterType, tuple[str, ...]], two: tuple[int, np.dtype[Any], tuple[str, ...]]
) -> bool:
    """Return whether a number of a struct and one of a dtype are the same, by offset, type and, as
    far as both have them, names.
    """
    is_named_so = all(map(_may_be_named, one[2], two[2]))
    return one[0] == two[0] and is_named_so and _is_number(one[1], two[1])


# A dtype may call a vector's components otherwise (r, g, b), but not give them in another order.
_COORDINATES = ("x", "y", "z", "w")
_COMPONENTS = tuple(f"component {name}" for name in _COORDINATES)


def _may_be_named(own: str, given: str) -> bool:
    """Return whether a dtype may give a field or a vector's component this name."""
    if own in _COMPONENTS and given in _COORDINATES:
        return own.endswith(given)
    return own in _COMPONENTS or given in ("", own)


def _numbers_of_field(
    field: Field, base: int, path: tuple[str, ...]
) -> Iterator[tuple[int, ParameterType, tuple[str, ...]]]:
    """Yield offset, type (of a vector, the vector's) and names of each number in a field."""
    count = math.prod(field.extents)
    for k in range(count):
        start = base + k * (field.size // count)
        if field.inner is not None:
            for inner in field.inner.fields:
                yield from _numbers_of_field(inner, start + inner.offset, (*path, inner.name))
        elif field.type is not None:
            parts = max(field.type.count, 1)
            for part in range(parts):
                names = path
                if field.type.kind == "vector":
                    names = (*path, _COMPONENTS[part])
                yield start + part * (field.type.size // parts), field.type, names


def _numbers_of(
    dtype: np.dtype[Any], base: int, path: tuple[str, ...]
) -> Iterator[tuple[int, np.dtype[Any], tuple[str, ...]]]:
    """Yield offset, dtype and names of each number in a dtype; complex ones are two."""
    if dtype.subdtype is not None:
        element = dtype.subdtype[0]
        for start in range(base, base + dtype.itemsize, max(element.itemsize, 1)):
            yield from _numbers_of(element, start, path)
    elif dtype.names is not None:
        is_unnamed = dtype.names == tuple(f"f{k}" for k in range(len(dtype.names)))
        for name, own, offset in _sorted(dtype):
            yield from _numbers_of(own, base + offset, (*path, "" if is_unnamed else name))
    elif dtype.kind == "c":
        half = dtype.itemsize // 2
        for start in (base, base + half):
            yield start, np.dtype(f"{dtype.str[0]}f{half}"), path
    elif dtype.kind != "V" or dtype.name == "bfloat16":  # bytes are padding
        yield base, dtype, path


def _is_number(kind: ParameterType, dtype: np.dtype[Any]) -> bool:
    if not dtype.isnative:
        return False
    base = "uint64" if kind.kind == "pointer" else kind.base
    if base == "bfloat16":
        return dtype.name in ("bfloat16", "uint16")
    wanted = np.dtype(base)
    if wanted.kind in "iub":
        return dtype.itemsize == wanted.itemsize and dtype.kind in "iubmM"
    return bool(dtype == wanted)
