"""Specialization -> TranslationUnit. The only user of Jinja; templates compute no types."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache

import jinja2

from kerneltk.dtypes import describe
from kerneltk.layout import TILE, Access
from kerneltk.specialize import HOST_TILE, ElementwiseSpecialization
from kerneltk.types import Parameter
from kerneltk.units import TranslationUnit

__all__ = ["render_elementwise"]

_HEADER_ORDER = (
    "core.hpp", "float16.hpp", "bfloat16.hpp", "complex.hpp", "complex_powers.hpp",
    "complex_circular.hpp", "array_view.hpp", "divide.hpp",
    "memory.hpp", "stream.hpp", "atomics.hpp",
)  # fmt: skip
_HALF_NAMES = re.compile(
    r"(__)?(half2?|nv_half2?|h(sqrt|exp|log|sin|cos|floor|ceil)|__h[a-z]\w+)\Z"
)
_COMPLEX_NAMES = (
    (
        "complex_powers.hpp",
        frozenset(("exp", "expm1", "log", "log10", "log2", "log1p", "sqrt", "pow")),
    ),
    (
        "complex_circular.hpp",
        frozenset(a + f + h for a in ("", "a") for f in ("sin", "cos", "tan") for h in ("", "h")),
    ),
)
# What core.hpp declares beyond NVRTC's own names; parsing it takes a tenth of a small compile.
_CORE_NAMES = re.compile(
    r"(u?int(8|16|32|64|ptr)_t|INFINITY|NAN|M_[A-Z0-9_]+|min|max|_floor_divide)\Z"
)
_GENERATED = "generated code"


@dataclass(frozen=True, slots=True)
class _Scalar:
    name: str
    ctype: str
    is_const: bool


@dataclass(frozen=True, slots=True)
class _Array:
    name: str
    ctype: str
    is_const: bool
    kind: str
    chunk: int
    typed: bool
    unit: int
    storage: str


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("kerneltk", "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=False,
        lstrip_blocks=False,
        keep_trailing_newline=True,
    )


def _headers(specialization: ElementwiseSpecialization) -> list[str]:
    definition = specialization.definition
    wanted = {"memory.hpp"}
    opaque = definition.opaque
    if specialization.backend == "host" or opaque or any(map(_CORE_NAMES.match, definition.names)):
        wanted.add("core.hpp")
    for dtype in specialization.binding.dtypes:
        wanted.update(describe(dtype).headers)
    names = definition.names
    for name, header in (
        ("float16", "float16.hpp"),
        ("bfloat16", "bfloat16.hpp"),
        ("complex", "complex.hpp"),
        ("thrust", "complex.hpp"),
    ):
        if name in names:
            wanted.add(header)
    if any(name.startswith("atomic") for name in names) and specialization.backend == "cuda":
        wanted.add("atomics.hpp")
    if "complex.hpp" in wanted:
        wanted.update(header for header, own in _COMPLEX_NAMES if opaque or own & names)
    if any(specialization.raw) or specialization.index_ndim is not None:
        wanted.add("array_view.hpp")
    if specialization.streams:
        wanted.add("stream.hpp")
    if specialization.divisor_count:
        wanted.add("divide.hpp")
    return [header for header in _HEADER_ORDER if header in wanted]


def _declarations(specialization: ElementwiseSpecialization) -> str:
    texts = [describe(dtype).declaration for dtype in specialization.binding.dtypes]
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _array(parameter: Parameter, access: Access, itemsize: int) -> _Array:
    return _Array(
        parameter.name,
        parameter.c_type(),
        parameter.is_const,
        access.kind,
        access.chunk,
        access.chunk >= itemsize or itemsize % access.chunk != 0,
        itemsize,
        f"kerneltk::chunk<{itemsize}>::type",
    )


def _ended(text: str) -> str:
    """Return a text that the line behind it does not continue."""
    return text + "\n" if text.endswith("\\") else text


def _compact(text: str, back: str) -> str:
    """Drop empty lines that control statements leave, and number the generated lines.

    The line `back` stands behind each of the user's texts.
    """
    lines: list[str] = []
    user_text = False
    for line in text.split("\n"):
        if line == back:
            user_text = False
            lines.append(f'#line {len(lines) + 2} "{_GENERATED}"')
        elif line.startswith('#line 1 "'):
            user_text = True
            lines.append(line)
        elif user_text or line.strip():
            lines.append(line.rstrip() if not user_text else line)
    return "\n".join(lines) + "\n"


def render_elementwise(specialization: ElementwiseSpecialization) -> TranslationUnit:
    """Return the translation unit of an elementwise specialization."""
    definition = specialization.definition
    parameters = definition.signature.parameters
    dtypes = specialization.binding.dtypes
    by_name = {p.name: dtype for p, dtype in zip(parameters, dtypes, strict=True)}
    arrays = [
        _array(parameter, access, by_name[parameter.name].itemsize)
        for parameter, access in zip(
            specialization.loop_arrays, specialization.accesses, strict=False
        )
    ]
    index: _Array | None = None
    if definition.uses_index and len(specialization.accesses) > len(arrays):
        access = specialization.accesses[-1]
        index = _Array("i", "ptrdiff_t", True, access.kind, 1, True, 1, "")
    walked = [*arrays, *([index] if index is not None else [])]
    scalars = [
        _Scalar(p.name, p.c_type(), p.is_const)
        for p, is_array in zip(parameters, specialization.is_array, strict=True)
        if not is_array
    ]
    raws = [
        _Scalar(p.name, p.c_type(), p.is_const)
        for p, view in zip(parameters, specialization.raw, strict=True)
        if view is not None
    ]
    # No text of the user's can hold a line that is made from them all.
    digest = hashlib.sha256(repr(definition.origins).encode("utf-8", "surrogatepass"))
    back = f"#line @{digest.hexdigest()}"
    context = {
        "back": back,
        "headers": _headers(specialization),
        "declarations": _declarations(specialization),
        "typedefs": [
            (name, describe(dtype).ctype) for name, dtype in specialization.binding.variables
        ],
        "members": specialization.arguments.declarations,
        "preamble": _ended(definition.preamble),
        "loop_prep": _ended(definition.loop_prep),
        "after_loop": _ended(definition.after_loop),
        "operation": _ended(definition.operation),
        "entry": definition.entry,
        "scalars": scalars,
        "raws": raws,
        "arrays": arrays,
        "written": [a for a in arrays if not a.is_const],
        "index": index,
        "walked": walked,
        "uses_index": definition.uses_index,
        "declares_n": all(parameter.name != "n" for parameter in parameters),
        "index_space": specialization.index_ndim is not None,
        "variant": specialization.variant,
        "width": specialization.width,
        "shifted": specialization.shifted,
        "exact": specialization.exact,
        "streams": specialization.streams,
        # Written once and never left by a return, the operation needs no function of its own.
        "inline": specialization.backend == "cuda"
        and (specialization.exact or specialization.variant != "pack")
        and definition.stays_in_place,
        "direct_inputs": [a for a in arrays if a.is_const and a.kind == "element"],
        "ndim": specialization.ndim,
        "block": specialization.block,
        "tile": TILE if specialization.backend == "cuda" else HOST_TILE,
        "per_element": specialization.per_element,
        "needs_coordinates": any(a.kind not in ("flat", "uniform") for a in walked),
        "index_type": "long long" if specialization.wide_index else "int",
    }
    suffix = "cu" if specialization.backend == "cuda" else "host"
    template = _environment().get_template(f"elementwise.{suffix}.j2")
    prefix = ""
    if specialization.backend == "cuda" and any(map(_HALF_NAMES.match, definition.names)):
        prefix = "#include <cuda_fp16.h>\n"
    source = _compact(prefix + template.render(u=context), back)
    return TranslationUnit(
        specialization.backend, source, definition.entry, definition.options, definition.origins
    )
