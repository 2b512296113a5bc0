"""Programs as trees, which are written twice: as users write them, and for the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

__all__ = ["Clause", "Expr", "Function", "Parameter", "Program", "Statement"]


@dataclass(frozen=True, eq=False)
class Expr:
    """An expression.

    Parameters
    ----------
    text, reference : str
        As users write it, and as the reference computes it, with {0}, {1}, ... for its parts.
    kind : str
        Of its value.
    parts : tuple of Expr
    is_known : bool
        Whether Python computes it when the kernel is compiled.
    bound : float
        Of a Python int: the largest magnitude.
    """

    text: str
    reference: str
    kind: str
    parts: tuple[Expr, ...] = ()
    is_known: bool = False
    bound: float = 0.0

    def written(self) -> str:
        return self.text.format(*(part.written() for part in self.parts))

    def computed(self) -> str:
        return self.reference.format(*(part.computed() for part in self.parts))


@dataclass(frozen=True, eq=False)
class Clause:
    """A line with the block that belongs to it, if it has one.

    Parameters
    ----------
    text, reference : str
        With {0}, {1}, ... for the parts. They may have several lines.
    parts : tuple of Expr
    body : tuple of Statement or None
    """

    text: str
    reference: str
    parts: tuple[Expr, ...] = ()
    body: tuple[Statement, ...] | None = None


@dataclass(frozen=True, eq=False)
class Statement:
    """One clause, or several: ``if`` with ``elif`` and ``else``."""

    clauses: tuple[Clause, ...]

    def lines(self, is_reference: bool) -> Iterator[str]:
        for clause in self.clauses:
            template = clause.reference if is_reference else clause.text
            parts = [p.computed() if is_reference else p.written() for p in clause.parts]
            yield from template.format(*parts).split("\n")
            if clause.body is not None:
                yield from indented(clause.body, is_reference)


def indented(body: tuple[Statement, ...], is_reference: bool) -> Iterator[str]:
    for statement in body:
        for line in statement.lines(is_reference):
            yield f"    {line}"
    if not body:
        yield "    pass"


@dataclass(frozen=True, eq=False)
class Function:
    """A function at the top of the program; `head` is its first line."""

    head: str
    body: tuple[Statement, ...]

    def lines(self, is_reference: bool) -> list[str]:
        return [self.head, *indented(self.body, is_reference), "", ""]


@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter of the kernel, and its argument.

    Parameters
    ----------
    name : str
    script : str
        Python text that makes the argument.
    is_output : bool
        Whether the kernel writes to it.
    """

    name: str
    script: str
    is_output: bool = False

    def make(self) -> Any:
        """Return the argument, a new one at every call."""
        return eval(self.script, {"np": np})


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel with one call of it.

    Parameters
    ----------
    seed : int
    kind : {"rawkernel", "kernel"}
    mode : {"numpy", "cuda"}
    parameters : tuple of Parameter
    functions : tuple of Function
        Those that the kernel calls.
    body : tuple of Statement
    launch : tuple
        Grid and block of a ``rawkernel``.
    raw : tuple of str
        Parameters of a ``kernel`` that are whole arrays.
    results : tuple of str
        Kinds of what a ``kernel`` returns.
    out : tuple of str
        Dtypes of arrays that the results are stored to; empty where they are new.
    constants : dict of str to object
        Globals.
    """

    seed: int
    kind: Literal["rawkernel", "kernel"]
    mode: Literal["numpy", "cuda"]
    parameters: tuple[Parameter, ...]
    functions: tuple[Function, ...]
    body: tuple[Statement, ...]
    launch: tuple[Any, Any] = (1, 1)
    raw: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    out: tuple[str, ...] = ()
    constants: dict[str, Any] = field(default_factory=dict)

    def source(self, is_reference: bool = False) -> str:
        """Return the text of the functions; the kernel's name is ``program``."""
        lines = [f"{name} = {value!r}" for name, value in self.constants.items()]
        lines += ["", ""] if lines else []
        for function in self.functions:
            lines += function.lines(is_reference)
        names = ", ".join(parameter.name for parameter in self.parameters)
        lines += Function(f"def program({names}):", self.body).lines(is_reference)
        return "\n".join(lines).rstrip() + "\n"

    @property
    def options(self) -> tuple[str, ...]:
        """Compile options: products are not fused with sums, where there are any."""
        text = self.source()
        has_products = any(sign in text for sign in (" * ", " *= ", "square", " ** "))
        return ("--fmad=false",) if has_products else ()

    def script(self) -> str:
        """Return a program that can be run by itself and prints what the kernel computes."""
        lines = ["import math", "", "import numpy as np", "", "from kerneltk import jit", "", ""]
        lines += [self.source(), ""]
        lines += [f"{p.name} = {p.script}" for p in self.parameters]
        names = ", ".join(p.name for p in self.parameters)
        options = f"mode={self.mode!r}, options={self.options!r}"
        if self.kind == "kernel":
            options += f", raw={self.raw!r}" if self.raw else ""
            if self.out:
                lines += ["# results are given as out=, of the dtypes " + ", ".join(self.out)]
            lines += [f"print(jit.kernel({options})(program)({names}))"]
        else:
            grid, block = self.launch
            lines += [f"jit.rawkernel({options})(program)[{grid}, {block}]({names})"]
            lines += [f"print({p.name})" for p in self.parameters if p.is_output]
        return "\n".join(lines) + "\n"
