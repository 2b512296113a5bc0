"""Programs -> translation units."""

from __future__ import annotations

from collections.abc import Iterable

from kerneltk.core.artifacts import Capabilities, TranslationUnit
from kerneltk.jit import ir
from kerneltk.jit.codegen.emit import Emitter

_HOST_HEADERS = ("host_grid.hpp", "host_device.hpp")


def unit_of(
    program: ir.Program,
    backend: Capabilities,
    options: tuple[str, ...] = (),
    launch_bounds: str = "",
    is_32bit_indexable: bool = False,
) -> TranslationUnit:
    """Return the unit of a program that has passed all passes."""
    entry = program.kernel.name
    sources = {function.source.path: function.source.text for function in program.functions}
    origins = tuple(sources.items())
    if not backend.emulates_cuda:
        emitter = Emitter(program, launch_bounds, is_32bit_indexable)
        text = emitter.program()
        return TranslationUnit(
            backend.name, _assembled(emitter.headers, text), entry, options, origins, entry
        )
    is_split, emitter = program.kernel.is_split, Emitter(program)
    headers, text = emitter.headers, emitter.program()
    host = (*_HOST_HEADERS, *(("host_block.hpp",) if is_split else ()))
    symbol = f"_kt_entry_{entry}"
    macro = "KERNELTK_BLOCK_ENTRY" if is_split else "KERNELTK_ENTRY"
    source = _assembled((*host, *headers), f"{text}\n\n{macro}({symbol}, ({entry}))")
    if "jit_dynamic.hpp" in headers:
        source = f"#define KERNELTK_DYNAMIC\n{source}"
    return TranslationUnit(
        backend.name, source, "", options, origins, entry, exports=((entry, symbol),), raw=True
    )


# Classes of numbers come before the templates that know them.
_FIRST = (
    "host_grid.hpp", "host_device.hpp", "host_block.hpp", "core.hpp", "float16.hpp",
    "bfloat16.hpp", "complex.hpp", "complex_powers.hpp", "complex_circular.hpp",
)  # fmt: skip


def ordered_headers(headers: Iterable[str]) -> list[str]:
    """Return headers in an order in which they can be included."""
    ranks = {header: rank for rank, header in enumerate(_FIRST)}
    return sorted(dict.fromkeys(headers), key=lambda header: ranks.get(header, len(ranks)))


def _assembled(headers: Iterable[str], text: str) -> str:
    lines = [f"#include <kerneltk/{header}>" for header in ordered_headers(headers)]
    return "\n".join([*lines, "", text, ""])
