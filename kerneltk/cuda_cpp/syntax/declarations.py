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
    """A parameter of a kernel.

    Parameters
    ----------
    name : str
        Empty where it has none.
    type : str
        Its type as written, without name, comments and line breaks; an array is a pointer.
    start, end : int
        The declaration's characters in the source.
    """

    name: str
    type: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DeclaredKernel:
    """A ``__global__`` function.

    Parameters
    ----------
    name : str
        With its namespaces: ``"ns::foo"``. Anonymous ones have no name and are left out.
    template_parameters : tuple of str
        As written: ``("class T", "int N = 3")``; empty for a kernel that is no template.
    is_extern_c, is_static, is_anonymous : bool
        Declared ``extern "C"``; ``static``; in an anonymous namespace.
    is_definition : bool
        Whether it has a body.
    launch_bounds : tuple of str
        The arguments of ``__launch_bounds__`` as written.
    doc : str
        The comment right above, without the marks of a comment.
    line : int
        One-based line of its name.
    start, end : int
        The whole declaration's characters in the source.
    guard : str
        The condition, for ``#if``, under which the compiler sees it; empty where always.
    """

    name: str
    parameters: tuple[DeclaredParameter, ...]
    template_parameters: tuple[str, ...]
    is_extern_c: bool
    is_static: bool
    is_anonymous: bool
    is_definition: bool
    launch_bounds: tuple[str, ...]
    doc: str
    line: int
    start: int
    end: int
    guard: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredSymbol:
    """A variable in device memory.

    Parameters
    ----------
    name : str
        With its namespaces, as :class:`DeclaredKernel` has it.
    type : str
        As written, with the extents of an array: ``"float[4][N]"``.
    line : int
        One-based.
    is_anonymous : bool
        Whether it is in an anonymous namespace.
    guard : str
        As :class:`DeclaredKernel` has it.
    """

    name: str
    memory: Memory
    type: str
    line: int
    is_anonymous: bool = False
    guard: str = ""


@dataclass(frozen=True, slots=True)
class DynamicShared:
    """An ``extern __shared__`` array.

    Parameters
    ----------
    name : str
        Without namespaces.
    type : str
        The elements' type, as written; a template's parameter where it stands in a template.
    scope : tuple of str
        The namespaces around it; an empty name for an anonymous one.
    symbol : str
        The variable's name for the linker, as g++ and clang have it.
    line : int
        One-based.
    guard : str
        As :class:`DeclaredKernel` has it.
    """

    name: str
    type: str
    scope: tuple[str, ...]
    symbol: str
    line: int
    guard: str = ""


@dataclass(frozen=True, slots=True)
class Include:
    """An ``#include``.

    Parameters
    ----------
    is_quoted : bool
        Whether it is in quotes, and so is looked for beside the file first.
    line : int
        One-based.
    guard : str
        As :class:`DeclaredKernel` has it.
    """

    name: str
    is_quoted: bool
    line: int
    guard: str = ""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something that cannot run on CPU cores.

    Parameters
    ----------
    kind : str
        What it is.
    word : str
        The user's own word for it: ``"asm"``, ``"tex2D"``, ``"cub/cub.cuh"``.
    line : int
        One-based.
    guard : str
        As :class:`DeclaredKernel` has it.
    """

    kind: UnsupportedKind
    word: str
    line: int
    guard: str = ""

    @property
    def is_conditional(self) -> bool:
        """Whether only some compilations see it."""
        return bool(self.guard)


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """What CUDA C++ source declares.

    Parameters
    ----------
    kernels : tuple of DeclaredKernel
        In the source's order. One in several branches of a conditional comes several times.
    dynamic_shared : tuple of DynamicShared
        One for each variable.
    host_functions : tuple of (int, int)
        The characters of each function at namespace scope that only the host runs.
    host_code : tuple of (int, int)
        The characters of all that only the host has a use for: `host_functions`, their prototypes,
        variables of the host, what names the host's libraries.
    """

    kernels: tuple[DeclaredKernel, ...]
    symbols: tuple[DeclaredSymbol, ...]
    dynamic_shared: tuple[DynamicShared, ...]
    host_functions: tuple[tuple[int, int], ...]
    unsupported: tuple[Unsupported, ...]
    includes: tuple[Include, ...]
    host_code: tuple[tuple[int, int], ...] = ()

    @property
    def quoted_includes(self) -> tuple[str, ...]:
        """The names in ``#include "..."`` lines, in order."""
        return tuple(include.name for include in self.includes if include.is_quoted)
