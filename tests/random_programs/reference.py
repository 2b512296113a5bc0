"""A random program in plain Python, thread by thread, or element by element."""

from __future__ import annotations

import linecache
import math
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np

from kerneltk import jit

from ..differential import jit_reference
from .generator import INSIDE
from .numbers import WEAK, Semantics, kind_of, loaded
from .tree import Program

__all__ = ["defined", "expected"]

_numbers = count()


def defined(text: str, names: dict[str, Any], name: str) -> Any:
    """Return a function of a text that tools find again."""
    path = f"<random program {next(_numbers)}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    exec(compile(text, path, "exec"), names)
    return names[name]


def expected(program: Program) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays that a program writes to, or its results, by name.

    Raises
    ------
    UndefinedError
        The program does what is undefined.
    """
    semantics = Semantics(program.mode)
    names = {"np": np, "math": math, "jit": jit, **semantics.names}

    inside = defined("\n".join(INSIDE.lines(is_reference=False)), {}, "inside")
    names["_inside"] = lambda value, *limits: semantics.to(inside(value, *limits), kind_of(value))
    function = defined(program.source(is_reference=True), names, "program")
    arguments = {parameter.name: parameter.make() for parameter in program.parameters}
    if program.kind == "kernel":
        return by_element(program, function, names, arguments, semantics)
    grid, block = program.launch
    with np.errstate(all="ignore"):
        jit_reference.run(function, grid, block, tuple(arguments.values()))
    return {p.name: arguments[p.name] for p in program.parameters if p.is_output}


def by_element(
    program: Program,
    function: Any,
    names: dict[str, Any],
    arguments: dict[str, Any],
    semantics: Semantics,
) -> dict[str, np.ndarray[Any, Any]]:
    elements = [name for name in arguments if name not in program.raw]
    given = dict(arguments)
    broadcast = np.broadcast_arrays(
        *(given[n] for n in elements if isinstance(given[n], np.ndarray))
    )
    arrays = [n for n in elements if isinstance(given[n], np.ndarray)]
    for name in program.raw:
        given[name] = jit_reference.records(given[name])
    shape = broadcast[0].shape
    kinds = [np.dtype(WEAK.get(kind, kind)) for kind in program.out or program.results]
    results = [np.zeros(shape, kind) for kind in kinds]
    with np.errstate(all="ignore"):
        for index in np.ndindex(shape):
            for name, values in zip(arrays, broadcast, strict=True):
                given[name] = loaded(values[index])
            place = index[0] if len(index) == 1 else index
            names["jit"] = SimpleNamespace(index=lambda ndim, place=place: place)
            found = function(*given.values())
            for result, value in zip(results, found if len(results) > 1 else (found,), strict=True):
                result[index] = semantics.to(value, result.dtype.name)
    return {f"result {k}": result for k, result in enumerate(results)}
