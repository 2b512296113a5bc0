"""What a target's compiler is given of CUDA C++ source: all rewrites, in order.

Lines keep their numbers. A long rewrite is a function of a module that says what it is for, and
most sources need none: so a module is loaded when a source has a word of its rewrite.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from kerneltk.cache.derived import derive, reader_of
from kerneltk.core.lexer import NO_INLINE, with_edits
from kerneltk.core.records import pattern
from kerneltk.cuda_cpp.rewrites.launch_bounds import with_bounds
from kerneltk.cuda_cpp.syntax.cached import read_source
from kerneltk.cuda_cpp.syntax.declarations import DeviceSource, RewriteTarget

VOLATILE_WORDS = ("volatile", "add_cv")  # who mentions volatile memory writes one of them
_APART = pattern(  # s[t + 8], or a loop that counts
    r"\[\s*[\w.]+\s*[-+^]\s*\w+\s*\]|\bfor\s*\([^;()]*=\s*\d+\w*\s*;"
)
# nvcc obeys `#define UNROLL #pragma unroll` where the macro is used; to other compilers the `#` is
# no directive, and in a macro with parameters it makes a string of one.
MACRO_PRAGMA = pattern(
    r"^([ \t]*(?:#|%:)[ \t]*define[ \t]+[^\W\d]\w*[ \t]+)#[ \t]*pragma[ \t]+"
    r"((?:[^\n/\\]|/(?![/*]))*[^\s/\\])",
    re.MULTILINE,
)
_SHARED = pattern(r"\b((?:(?:extern|static)\s+)?__shared__)([\s\\]+)(alignas\s*)\(")


class Rewrite(NamedTuple):
    """A rewrite of sources."""

    name: str
    may_be_in: Callable[[str], object]  # whether a source may have something for it
    run: Callable[[DeviceSource, RewriteTarget], DeviceSource]
    applies: Callable[[RewriteTarget], bool]  # whether it is for a target

    def concerns(self, source: str, to: RewriteTarget) -> bool:
        """Return whether it may change a source."""
        sources = (source, *to.directives, *to.instantiated)
        return self.applies(to) and any(map(self.may_be_in, sources))


def _with(*words: str) -> Callable[[str], bool]:
    """Return whether sources have one of some words."""
    return lambda source: any(word in source for word in words)


def _without_host_code(found: DeviceSource, to: RewriteTarget) -> DeviceSource:
    from kerneltk.cuda_cpp.nvrtc.dialect import with_constexpr
    from kerneltk.cuda_cpp.syntax.blanking import blank_host_code

    summary = read_source(found.code)
    code = blank_host_code(found.code, summary, keeps_spare=to.keeps_spare)
    return found._replace(code=code if to.is_host else with_constexpr(code, summary.constants))


def _with_inline_ptx(found: DeviceSource, _: RewriteTarget) -> DeviceSource:
    from kerneltk.cuda_cpp.syntax.ptx.statements import with_inline_ptx

    code, headers = with_inline_ptx(found.code)
    return found._replace(code=code, headers=tuple(sorted(headers)))


def _with_early_alignment(found: DeviceSource, _: RewriteTarget) -> DeviceSource:
    """Put alignments before ``__shared__``: a storage class on CPU cores, to CUDA an attribute."""
    from kerneltk.cuda_cpp.syntax.tree import closing_parenthesis

    source = found.code
    edits: list[tuple[int, int, str]] = []
    for use in _SHARED.finditer(source):
        end = closing_parenthesis(source, use.end(3))
        if end > 0:
            gap = " " * source[end : end + 1].isidentifier()
            edits.append((use.start(), end, f"{source[use.start(3) : end]}{use[2]}{use[1]}{gap}"))
    return found._replace(code=with_edits(source, edits))


def _with_bounds(found: DeviceSource, _: RewriteTarget) -> DeviceSource:
    return found._replace(code=with_bounds(found.code, read_source(found.code).kernels))


def _with_child_launches(found: DeviceSource, _: RewriteTarget) -> DeviceSource:
    from kerneltk.cuda_cpp.syntax.kernels import with_child_launches

    return found._replace(code=with_child_launches(found.code))


def _with_spaced_literals(found: DeviceSource, _: RewriteTarget) -> DeviceSource:
    from kerneltk.cuda_cpp.nvrtc.dialect import spaced_literals

    return found._replace(code=spaced_literals(found.code))


def _with_attributes(found: DeviceSource, _: RewriteTarget) -> DeviceSource:
    return found._replace(code=NO_INLINE.sub("_kt_noinline", found.code))


def _with_exchanges(found: DeviceSource, _: RewriteTarget) -> DeviceSource:
    from kerneltk.cuda_cpp.rewrites.exchanges import unordered_exchanges

    return found._replace(unordered=unordered_exchanges(found.code))


def _with_meetings(found: DeviceSource, to: RewriteTarget) -> DeviceSource:
    from kerneltk.cuda_cpp.syntax.volatile import with_meetings

    templates = [name.partition("<")[0].rpartition("::")[2].strip() for name in to.instantiated]
    made = with_meetings(found.code, to.directives, templates)
    return found._replace(
        code=made.source,
        plain="" if made.source == found.code else found.code,
        unmarked=made.unmarked,
    )


def _for_nvrtc(found: DeviceSource, _: RewriteTarget) -> DeviceSource:
    from kerneltk.cuda_cpp.nvrtc import dialect

    code = dialect.for_nvrtc(found.code)
    return found._replace(code=code, needs_20=dialect.has_designated_initializers(code))


def _with_pushed_macros(found: DeviceSource, to: RewriteTarget) -> DeviceSource:
    from kerneltk.cuda_cpp.syntax.preprocessor.pushed_macros import with_pushed_macros

    return found._replace(code=with_pushed_macros(found.code, to.name, to.directives))


def _with_pragma_operators(found: DeviceSource, _: RewriteTarget) -> DeviceSource:
    def operator(use: re.Match[str]) -> str:
        pragma = use[2].replace('"', '\\"')
        return f'{use[1]}_Pragma("{pragma}")'

    return found._replace(code=MACRO_PRAGMA.sub(operator, found.code))


def _is_host(to: RewriteTarget) -> bool:
    return to.is_host


def _is_last(to: RewriteTarget) -> bool:
    return to.is_host and not to.is_bare


REWRITES: tuple[Rewrite, ...] = (
    Rewrite("host code", lambda _: True, _without_host_code, lambda to: to.has_host_code),
    Rewrite(
        "pragmas of macros",
        lambda code: MACRO_PRAGMA.search(code),
        _with_pragma_operators,
        lambda to: True,
    ),
    Rewrite("inline PTX", _with("asm"), _with_inline_ptx, _is_host),
    Rewrite("alignments", _with("alignas"), _with_early_alignment, _is_host),
    Rewrite("launch bounds", _with("__launch_bounds__"), _with_bounds, _is_last),
    Rewrite("child launches", _with("<<<"), _with_child_launches, _is_last),
    Rewrite("literals", _with('"__', '"PRI'), _with_spaced_literals, _is_last),
    Rewrite("attributes", _with("__noinline__"), _with_attributes, _is_last),
    Rewrite(
        "unordered exchanges",
        lambda code: "threadIdx" in code and _APART.search(code),
        _with_exchanges,
        _is_last,
    ),
    Rewrite("meeting points", _with(*VOLATILE_WORDS), _with_meetings, _is_last),
    Rewrite(
        "nvcc's dialect", lambda _: True, _for_nvrtc, lambda to: to.has_host_code and not to.is_host
    ),
    Rewrite(
        "pushed macros",
        _with("push_macro", "<cub/", "<thrust/", "<cuda/"),
        _with_pushed_macros,
        lambda to: not to.is_host,
    ),
)


def rewritten(source: str, to: RewriteTarget) -> DeviceSource:
    """Return the rewritten source.

    Examples
    --------
    >>> source = "__global__ void f(volatile int* x) { x[0] = 1; }"
    >>> print(rewritten(source, RewriteTarget(is_host=True)).code)
    __global__ void f(volatile int* x) { _KT_KERNEL(1) _KT_TARGET(0, x[0]) = 1; }
    """
    found = DeviceSource(source)
    for each in REWRITES:
        if each.concerns(found.code, to):
            found = each.run(found, to)
    return found


def device_source(source: str, to: RewriteTarget) -> DeviceSource:
    """Return the rewritten source, from the compile cache if it is there."""
    if not any(each.concerns(source, to) for each in REWRITES):
        return DeviceSource(source)
    found: DeviceSource = derive(
        "CUDA C++ source",
        ("device source", repr(to), source),
        lambda: rewritten(source, to),
        reader_of(DeviceSource),
    )
    return found
