"""The ``__launch_bounds__`` of kernels, for CPU cores.

A GPU refuses a block that is larger than a kernel's bounds. What stands in them is an expression of
C++, of template parameters too: so a constant that has its value is declared before the kernel, and
object code offers it beside the kernel's entry.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter
from typing import TYPE_CHECKING

from kerneltk.core.artifacts import BOUNDS_SUFFIX
from kerneltk.core.lexer import with_edits
from kerneltk.core.records import pattern

if TYPE_CHECKING:
    from kerneltk.cuda_cpp.syntax.declarations import DeclaredKernel

# That the next line has this number.
_LINE = pattern(r"^[ \t]*#[ \t]*line[ \t]+(\d+)[^\n]*\n", re.MULTILINE)


def _constant(kernel: DeclaredKernel) -> str:
    """Return the name of the constant of a kernel's bounds."""
    form = (kernel.template_parameters, tuple(p.type for p in kernel.parameters))
    plain = kernel.name.rpartition("::")[2]
    return f"_kt_threads_{plain}_{zlib.crc32(repr(form).encode()):08x}"


def _bounded(kernels: Iterable[DeclaredKernel]) -> list[DeclaredKernel]:
    """Return the definitions that have bounds."""
    return [k for k in kernels if k.is_definition and k.launch_bounds and k.launch_bounds[0]]


def with_bounds(source: str, kernels: Iterable[DeclaredKernel]) -> str:
    """Return a source with a constant before each kernel that has bounds; lines keep their numbers
    and columns.

    Parameters
    ----------
    kernels : iterable of DeclaredKernel
        Those of this very source.
    """
    edits: list[tuple[int, int, str]] = []
    numbered = [(0, 1), *((found.end(), int(found[1])) for found in _LINE.finditer(source))]
    for kernel in sorted(_bounded(kernels), key=lambda kernel: kernel.start):
        name = _constant(kernel)
        template = (
            f"template <{', '.join(kernel.template_parameters)}> "
            if kernel.template_parameters
            else ""
        )
        start, first = numbered[bisect_right(numbered, kernel.start, key=itemgetter(0)) - 1]
        line = first + source.count("\n", start, kernel.start)
        column = kernel.start - source.rfind("\n", 0, kernel.start) - 1
        declared = (
            f"\n#define {name}_known\n{template}constexpr unsigned int {name} = "
            f"static_cast<unsigned int>({kernel.launch_bounds[0]});\n"
            f"#line {line}\n{' ' * column}"
        )
        edits.append((kernel.start, kernel.start, declared))
    return with_edits(source, edits)


def bound_of(expression: str, symbol: str, kernels: Iterable[DeclaredKernel]) -> str:
    """Return the lines that offer a kernel's bounds beside its entry; empty where it has none.

    Parameters
    ----------
    expression : str
        The kernel's name expression.
    symbol : str
        Its entry's symbol.
    """
    plain, opening, arguments = expression.strip().removeprefix("::").partition("<")
    found = [kernel for kernel in _bounded(kernels) if kernel.name == plain.strip()]
    if len({_constant(kernel) for kernel in found}) != 1:  # none, or several overloads
        return ""
    if bool(opening) != bool(found[0].template_parameters):
        return ""
    scope = plain.strip().rpartition("::")[0]
    name = _constant(found[0])
    value = f"{scope}{'::' if scope else ''}{name}{opening}{arguments}"
    return (
        f"\n#ifdef {name}_known\n"
        f'extern "C" __attribute__((__visibility__("default"))) const unsigned int '
        f"{symbol}{BOUNDS_SUFFIX} = {value};\n#endif"
    )
