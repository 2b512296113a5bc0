"""Programs -> translation units."""

from __future__ import annotations

from collections.abc import Iterable

from kerneltk.core.artifacts import TranslationUnit
from kerneltk.core.capabilities import Capabilities
from kerneltk.jit import ir
from kerneltk.jit.codegen.assumptions import UNKNOWN, Shapes
from kerneltk.jit.codegen.emit import emit_program
from kerneltk.jit.ir.verifier import verify
from kerneltk.jit.passes.barrier_fission import NotSplit, split_program
from kerneltk.jit.passes.value_range import shorten

__all__ = ["for_gpus", "ordered_headers", "unit_of"]

_HOST_HEADERS = ("host_grid.hpp", "host_device.hpp")


def unit_of(
    program: ir.Program,
    backend: Capabilities,
    options: tuple[str, ...] = (),
    launch_bounds: str = "",
    shapes: Shapes = UNKNOWN,
) -> TranslationUnit:
    """Return the unit of a program.

    Parameters
    ----------
    program : Program
    backend : Capabilities
    options : tuple of str
        Compile options.
    launch_bounds : str
        What stands before the kernel's name.
    shapes : Shapes

    Raises
    ------
    IrError
        What the passes made of it breaks a rule of the IR.
    """
    entry = program.kernel.name
    sources = {function.source.path: function.source.text for function in program.functions}
    origins = tuple(sources.items())
    if not backend.emulates_cuda:
        program = for_gpus(program, small=shapes.small) if backend.short_indices else program
        verify(program)
        headers, text = emit_program(program, launch_bounds, shapes)
        source = _assembled(headers, text)
        return TranslationUnit(backend.name, source, entry, options, origins, entry)
    split = split_program(program)
    is_split = not isinstance(split, NotSplit)
    program = program if isinstance(split, NotSplit) else split
    verify(program)
    headers, text = emit_program(program)
    host = (*_HOST_HEADERS, *(("host_block.hpp",) if is_split else ()))
    symbol = f"_kt_entry_{entry}"
    macro = "KERNELTK_BLOCK_ENTRY" if is_split else "KERNELTK_ENTRY"
    return TranslationUnit(
        backend.name,
        _assembled((*host, *headers), f"{text}\n\n{macro}({symbol}, ({entry}))"),
        "",
        options,
        origins,
        entry,
        exports=((entry, symbol),),
        raw=True,
    )


def for_gpus(program: ir.Program, *, small: bool) -> ir.Program:
    """Return a program as GPUs want it: with integers of 32 bits wherever those will do."""
    return ir.Program(tuple(shorten(function, small=small) for function in program.functions))


# Classes of numbers come before the templates that know them.
_FIRST = (
    "host_grid.hpp", "host_device.hpp", "host_block.hpp", "core.hpp", "float16.hpp",
    "bfloat16.hpp", "complex.hpp", "complex_powers.hpp", "complex_circular.hpp",
)  # fmt: skip


def ordered_headers(headers: Iterable[str]) -> list[str]:
    """Return headers in an order in which they can be included."""
    ranks = {header: rank for rank, header in enumerate(_FIRST)}
    return sorted(dict.fromkeys(headers), key=lambda header: ranks.get(header, len(ranks)))


def _assembled(headers: tuple[str, ...], text: str) -> str:
    lines = [f"#include <kerneltk/{header}>" for header in ordered_headers(headers)]
    return "\n".join([*lines, "", text, ""])
