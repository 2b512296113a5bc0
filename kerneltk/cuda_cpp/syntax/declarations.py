"""What CUDA C++ source declares: kernels, variables, includes, and what CPU cores do not have.

Named tuples, since every process with a raw kernel loads them: as many frozen dataclasses take
twice as long to define.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

Memory = Literal["constant", "device", "managed"]
UnsupportedKind = Literal[
    "inline PTX",
    "tensor cores",
    "asynchronous copy",
    "texture",
    "surface",
    "cluster",
    "launch from a kernel",
    "header",
    "CUB",
]


DECLARED = "="  # before a name of the libraries' that a source declares by itself
MACRO = "#"  # before the name of a macro that a source defines
HostOnlyKind = Literal[
    "function",
    "host function",
    "variable",
    "member",
    "memory of a member",
    "lambda",
    "annotated lambda",
    "generic lambda",
    "kernel member",
    "kernel annotations",
    "kernel constexpr",
    "kernel result",
    "kernel parameter",
    "kernel variable",
    "shared value",
    "shared memory",
    "computed value",
    "computed constant",
    "device in function",
    "constant written",
    "library",
    "extension",
    "128 bits",
    "without include",
    "header",
]


class DeclaredParameter(NamedTuple):
    """A parameter of a kernel."""

    name: str  # empty where it has none
    # Its type as written, without name, comments and line breaks; an array is a pointer.
    type: str
    # start, end: the declaration's characters in the source.
    start: int
    end: int


class DeclaredKernel(NamedTuple):
    """A ``__global__`` function."""

    # With its namespaces: ``"ns::foo"``. Anonymous ones have no name and are left out.
    name: str
    parameters: tuple[DeclaredParameter, ...]
    # As written: ``("class T", "int N = 3")``; empty for a kernel that is no template.
    template_parameters: tuple[str, ...]
    is_extern_c: bool  # whether it is declared ``extern "C"``
    is_definition: bool  # whether it has a body
    launch_bounds: tuple[str, ...]  # the arguments of ``__launch_bounds__`` as written
    doc: str  # the comment right above, without the marks of a comment
    line: int  # one-based line of its name
    # start, end: the whole declaration's characters in the source.
    start: int
    end: int
    # The condition, for ``#if``, under which the compiler sees it; empty where always.
    guard: str = ""
    is_lasting: bool = True  # whether `guard` says the same at the source's end

    @property
    def lasting_guard(self) -> str:
        """A condition that holds at the source's end if the compiler sees it."""
        return self.guard if self.is_lasting else ""


class DeclaredSymbol(NamedTuple):
    """A variable in device memory."""

    name: str  # with its namespaces, as `DeclaredKernel` has it
    memory: Memory
    type: str  # as written, with the extents of an array: ``"float[4][N]"``
    line: int  # one-based
    # As `DeclaredKernel` has them.
    guard: str = ""
    is_lasting: bool = True

    @property
    def lasting_guard(self) -> str:
        """A condition that holds at the source's end if the compiler sees it."""
        return self.guard if self.is_lasting else ""


class DynamicShared(NamedTuple):
    """An ``extern __shared__`` array."""

    name: str  # without namespaces
    # The elements' type, as written; a template's parameter where it stands in a template.
    type: str
    # The namespaces around it; an empty name for an anonymous one.
    scope: tuple[str, ...]
    symbol: str  # the variable's name for the linker, as g++ and clang have it
    line: int  # one-based
    guard: str = ""  # as `DeclaredKernel` has it


class Include(NamedTuple):
    """An ``#include``."""

    name: str
    is_quoted: bool  # whether it is in quotes, and so is looked for beside the file first
    line: int  # one-based, of the directive's end
    guard: str = ""  # as `DeclaredKernel` has it
    first: int = 0  # one-based line of its begin
    is_next: bool = False  # whether it is looked for behind where its own file was found


class Unsupported(NamedTuple):
    """Something that cannot run on CPU cores."""

    kind: UnsupportedKind  # what it is
    word: str  # the user's own word for it: ``"asm"``, ``"tex2D"``, ``"cub/cub.cuh"``
    line: int  # one-based
    guard: str = ""  # as `DeclaredKernel` has it


class DeclaredField(NamedTuple):
    """A field of a struct."""

    type: str  # as written, without extents
    name: str
    extents: tuple[str, ...]  # as written


class DeclaredStruct(NamedTuple):
    """A struct or a class."""

    name: str  # as `DeclaredKernel` has it
    fields: tuple[DeclaredField, ...]  # empty where it is not known how they lie


class HostOnly(NamedTuple):
    """Something that a compiler of device code alone refuses."""

    kind: HostOnlyKind
    name: str
    # start, end: its characters in the source.
    start: int
    end: int
    guard: str = ""  # as `DeclaredKernel` has it
    is_lasting: bool = True
    # Of a function its name and its parameters' types: a declaration with an annotation may have
    # the same.
    key: str = ""
    words: tuple[str, ...] = ()  # that stand before it, of which macros of options may be some


class SourceSummary(NamedTuple):
    """What CUDA C++ source declares."""

    # In the source's order. One in several branches of a conditional comes several times.
    kernels: tuple[DeclaredKernel, ...]
    symbols: tuple[DeclaredSymbol, ...]
    dynamic_shared: tuple[DynamicShared, ...]  # one for each variable
    # The characters of each function at namespace scope that only the host runs.
    host_functions: tuple[tuple[int, int], ...]
    unsupported: tuple[Unsupported, ...]
    includes: tuple[Include, ...]
    # The characters of all that only the host has a use for: `host_functions`, their prototypes,
    # variables of the host, what names the host's libraries.
    host_code: tuple[tuple[int, int], ...] = ()
    # Where the ``const`` of floating constants is that are computed when they are compiled.
    constants: tuple[int, ...] = ()
    # The characters of declarations, and their names, that device code does not refer to. They may
    # be the arguments of templates.
    spare: tuple[tuple[int, int, tuple[str, ...]], ...] = ()
    # Of `host_code`, characters that something else stands for.
    replaced: tuple[tuple[int, int, str], ...] = ()
    may_have_state: bool = False  # as `reader.may_have_state` finds it


class Preprocessed(NamedTuple):
    """What the preprocessor sees of a source."""

    includes: tuple[Include, ...] = ()
    # The characters of each ``#pragma once``, and whether the compiler always sees it.
    once: tuple[tuple[int, int, bool], ...] = ()
    has_volatile: bool = False  # whether it mentions volatile memory, in code


class Unmarked(NamedTuple):
    """An access to volatile memory before which no point can be put."""

    # As a ``#line`` names it; empty for the source itself.
    file: str
    line: int  # one-based
    reason: str  # where it stands


class Unordered(NamedTuple):
    """A load of what another lane of the warp may have stored, with nothing that orders the two."""

    file: str  # as `Unmarked` has it
    line: int  # one-based, of the load
    loaded: str  # what is loaded: ``"s[t + 8]"``
    stored: str  # what was stored: ``"s[t]"``


class Meetings(NamedTuple):
    """A source with meeting points."""

    # Line by line as it was; the source itself where there is no access.
    source: str
    unmarked: tuple[Unmarked, ...] = ()


class RewriteTarget(NamedTuple):
    """What a source is rewritten for."""

    is_host: bool  # whether for CPU cores' compiler, instead of NVRTC
    name: str = ""  # the source's, as ``#line`` has it
    has_host_code: bool = False  # whether what only the host has a use for is left out
    keeps_spare: bool = False  # as `RawSource` has it
    directives: tuple[str, ...] = ()  # that options stand for
    # The name expressions of what is asked for with volatile types as templates' arguments.
    instantiated: tuple[str, ...] = ()
    # Whether functions stay as they are, for who leaves out those that a compiler refuses.
    is_bare: bool = False


class DeviceSource(NamedTuple):
    """A source as a target's compiler is given it."""

    code: str
    plain: str = ""  # the code without meeting points; empty where it has none
    headers: tuple[str, ...] = ()  # of the package, which inline PTX needs as C++
    needs_20: bool = False  # whether it needs C++20
    unmarked: tuple[Unmarked, ...] = ()
    unordered: tuple[Unordered, ...] = ()


class Place(NamedTuple):
    """Where a compiler has found an error in the user's source, and what it says."""

    file: str  # as `#line` names it
    line: int  # one-based
    column: int  # one-based; 0 where it is not known
    message: str


class CompilerErrors(NamedTuple):
    """What a compiler for CPU cores has said of a source, in one or several tries."""

    # File, line and column (one-based, 0 if unknown) of each error, and its message.
    places: tuple[tuple[str, int, int, str], ...] = ()
    has_unlocated: bool = False  # whether there are some that name no location: an assembler's


class Refused(NamedTuple):
    """A function that is left out."""

    name: str  # with its namespaces
    is_kernel: bool
    kind: UnsupportedKind | None  # what CPU cores lack; None where the compiler alone says why
    reason: str  # what the compiler says
    header: str  # what a header says that cannot be had; empty where that is not the cause
    file: str  # where what they lack stands, or the compiler's error
    line: int
    word: str = ""  # of several things of a kind, which one it is: a name of CUB's


_SAMPLES = (
    (re.compile(r"(?:class|typename)\b"), "float"),
    (re.compile(r"bool\s+\w+\Z"), "true"),
    (
        re.compile(
            r"(?:std::|unsigned\s+|long\s+)*(?:unsigned|int|long|short|size_t|u?int\d+_t)\s+\w+\Z"
        ),
        "4",
    ),
)


class Refusals(NamedTuple):
    """A source without what CPU cores do not have."""

    source: str
    functions: tuple[Refused, ...]


def sample_arguments(parameters: Sequence[str]) -> tuple[str, ...]:
    """Return arguments for the parameters of a template that have no default, as messages show;
    '...' for those that are neither a type nor a number.

    Examples
    --------
    >>> sample_arguments(("class T", "int N", "bool B = true", "float (*F)(float)"))
    ('float', '4', '...')
    """
    needed = (p for p in parameters if "=" not in p and "..." not in p)
    return tuple(next((a for kind, a in _SAMPLES if kind.match(p)), "...") for p in needed)
