"""What CUDA C++ source declares: kernels, variables, includes, and what CPU cores do not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
]


@dataclass(frozen=True, slots=True)
class DeclaredParameter:
    """A parameter of a kernel."""

    name: str  # empty where it has none
    # Its type as written, without name, comments and line breaks; an array is a pointer.
    type: str
    # start, end: the declaration's characters in the source.
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DeclaredKernel:
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


@dataclass(frozen=True, slots=True)
class DeclaredSymbol:
    """A variable in device memory."""

    name: str  # with its namespaces, as `DeclaredKernel` has it
    memory: Memory
    type: str  # as written, with the extents of an array: ``"float[4][N]"``
    line: int  # one-based
    guard: str = ""  # as `DeclaredKernel` has it


@dataclass(frozen=True, slots=True)
class DynamicShared:
    """An ``extern __shared__`` array."""

    name: str  # without namespaces
    # The elements' type, as written; a template's parameter where it stands in a template.
    type: str
    # The namespaces around it; an empty name for an anonymous one.
    scope: tuple[str, ...]
    symbol: str  # the variable's name for the linker, as g++ and clang have it
    line: int  # one-based
    guard: str = ""  # as `DeclaredKernel` has it


@dataclass(frozen=True, slots=True)
class Include:
    """An ``#include``."""

    name: str
    is_quoted: bool  # whether it is in quotes, and so is looked for beside the file first
    line: int  # one-based
    guard: str = ""  # as `DeclaredKernel` has it


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something that cannot run on CPU cores."""

    kind: UnsupportedKind  # what it is
    word: str  # the user's own word for it: ``"asm"``, ``"tex2D"``, ``"cub/cub.cuh"``
    line: int  # one-based
    guard: str = ""  # as `DeclaredKernel` has it

    @property
    def is_conditional(self) -> bool:
        """Whether only some compilations see it."""
        return bool(self.guard)


@dataclass(frozen=True, slots=True)
class SourceSummary:
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

    @property
    def quoted_includes(self) -> tuple[str, ...]:
        """The names in ``#include "..."`` lines, in order."""
        return tuple(include.name for include in self.includes if include.is_quoted)
