"""Specialization -> TranslationUnit. The only user of Jinja; templates compute no types."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from typing import Any

import jinja2

from kerneltk.context import ended, names_of
from kerneltk.context_elementwise import elementwise_context, elementwise_headers
from kerneltk.context_reduction import reduction_context, reduction_headers
from kerneltk.dtypes import describe
from kerneltk.lowered import Specialization
from kerneltk.units import TranslationUnit

__all__ = ["render"]

_HEADER_ORDER = (
    "core.hpp", "float16.hpp", "bfloat16.hpp", "complex.hpp", "complex_powers.hpp",
    "complex_circular.hpp", "array_view.hpp", "divide.hpp",
    "memory.hpp", "stream.hpp", "atomics.hpp", "reduce.hpp", "host_reduce.hpp",
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


def _headers(specialization: Specialization, own: set[str]) -> list[str]:
    definition = specialization.definition
    wanted = set(own)
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
    return [header for header in _HEADER_ORDER if header in wanted]


def _declarations(specialization: Specialization) -> str:
    texts = [describe(dtype).declaration for dtype in specialization.binding.dtypes]
    return "\n".join(dict.fromkeys(text for text in texts if text))


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


# What each kind of kernel adds, by its template's name.
_KINDS: dict[str, tuple[Any, Any]] = {
    "elementwise": (elementwise_context, elementwise_headers),
    "reduction": (reduction_context, reduction_headers),
}


def render(specialization: Specialization) -> TranslationUnit:
    """Return the translation unit of a specialization."""
    definition = specialization.definition
    own_context, own_headers = _KINDS[specialization.template]
    # No text of the user's can hold a line that is made from them all.
    digest = hashlib.sha256(repr(definition.origins).encode("utf-8", "surrogatepass"))
    back = f"#line @{digest.hexdigest()}"
    context = {
        "back": back,
        "headers": _headers(specialization, own_headers(specialization)),
        "declarations": _declarations(specialization),
        "typedefs": [
            (name, describe(dtype).ctype) for name, dtype in specialization.binding.variables
        ],
        "members": specialization.arguments.declarations,
        "preamble": ended(definition.preamble),
        "entry": definition.entry,
        "scalars": names_of(specialization, scalars=True),
        "raws": names_of(specialization, scalars=False),
        **own_context(specialization),
    }
    suffix = "cu" if specialization.backend == "cuda" else "host"
    template = _environment().get_template(f"{specialization.template}.{suffix}.j2")
    prefix = ""
    if specialization.backend == "cuda" and any(map(_HALF_NAMES.match, definition.names)):
        prefix = "#include <cuda_fp16.h>\n"
    source = _compact(prefix + template.render(u=context), back)
    return TranslationUnit(
        specialization.backend,
        source,
        definition.entry,
        definition.options,
        definition.origins,
        definition.name,
        specialization.quick,
    )
