"""Random programs, fused and as NumPy executes them."""

from __future__ import annotations

import linecache
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import kerneltk

from .generator import Generator, Program, Undefined, Value, executed, namespace


@dataclass
class Outcome:
    """What became of a program: "same", "refused", "undefined", or one of the faults "different",
    "foreign exception" and "accepted" (what NumPy refuses).
    """

    status: str
    detail: str = ""


FAULTS = ("different", "foreign exception", "accepted")


def generate(seed: int) -> Program:
    """The program of a seed."""
    return Generator(seed).program()


def cupy_or_numpy() -> Any:
    """CuPy, whose functions programs call by several ways; NumPy where it is not installed."""
    try:
        import cupy
    except ImportError:
        return np
    return cupy


def executed_module(program: Any, names: dict[str, Any]) -> dict[str, Any]:
    """The names of a program's module, executed with some; errors show its lines."""
    source, path = program.source(), f"<random program {program.seed}>"
    linecache.cache[path] = len(source), None, source.splitlines(keepends=True), path
    exec(compile(source, path, "exec"), names)
    return names


def attempted(function: Callable[..., Any], args: list[Any]) -> tuple[Any, Exception | None]:
    """What a call returns, or raises."""
    try:
        return executed(function, args), None
    except Exception as error:
        return None, error


def by_exceptions(
    raised: Exception | None, problem: Exception | None, where: str
) -> Outcome | None:
    """What became of a call that NumPy or the fused function has ended by an exception: "same" if
    both have; None where neither has.
    """
    if problem is None:
        return None if raised is None else Outcome("accepted", f"NumPy: {raised!r}, {where}")
    if raised is None and isinstance(problem, kerneltk.KernelToolkitError):
        return Outcome("refused", f"{problem} ({where})")
    if raised is not None and isinstance(problem, kerneltk.KernelToolkitError | type(raised)):
        return Outcome("same")
    shown = f"{type(problem).__name__}: {problem} (NumPy: {raised!r}, {where})"
    return Outcome("foreign exception", shown)


def on_host(value: Any) -> Any:
    """A result or arguments with NumPy's arrays in place of CuPy's."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(on_host, value))
    if isinstance(value, tuple | list):
        return type(value)(map(on_host, value))
    if isinstance(value, dict):
        return type(value)((name, on_host(item)) for name, item in value.items())
    return value.get(order="A") if type(value).__module__.startswith("cupy") else value


def outcome_of(program: Program, calls: int = 4, xp: Any = np) -> Outcome:
    """Compare the calls of a program, on arrays of `xp` (CuPy or NumPy), with NumPy's."""
    plain, own, by_cupy = (
        executed_module(program, namespace(library))["program"]
        for library in (np, cupy_or_numpy(), xp)
    )
    fused = kerneltk.fuse(own)
    refused: Outcome | None = None
    order = [program.extents[k] for k in (0, 0, 1, 2, 3)][:calls]
    for extents in order:
        wanted_args, args = program.made(extents), program.made(extents, xp)
        wanted, raised = attempted(plain, wanted_args)
        if isinstance(wanted, Undefined):
            continue
        found, error = attempted(fused, args)
        outcome = by_exceptions(raised, error, f"extents {extents}")
        if outcome is not None:
            if outcome.status in FAULTS and not (
                # CuPy refuses what NumPy takes, such as functions of numbers.
                error is not None
                and xp is not np
                and isinstance(attempted(by_cupy, program.made(extents, xp))[1], type(error))
            ):
                return outcome
            refused = refused or (outcome if outcome.status == "refused" else None)
            continue
        problem = next(
            _differences(program, wanted, on_host(found), wanted_args, on_host(args)), None
        )
        if problem is not None:
            return Outcome("different", f"{problem} (extents {extents})")
    return refused or Outcome("same")


def _differences(
    program: Program, wanted: Any, found: Any, wanted_args: list[Any], args: list[Any]
) -> Iterator[str]:
    if not _same_structure(wanted, found):
        yield f"the result is {found!r}, and not {wanted!r}"
        return
    values = iter(program.results)
    for one, other in zip(_leaves(wanted), _leaves(found), strict=True):
        if isinstance(one, np.ndarray | np.generic | bool | int | float | complex):
            yield from _difference(next(values, None), one, other)
        elif one != other:
            yield f"{other!r} is not {one!r}"
    for argument, one, other in zip(program.arguments, wanted_args, args, strict=True):
        value = program.values[argument.name]
        yield from _difference(value, one, other)


def _same_structure(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, tuple | list | dict):
        if type(wanted) is not type(found) or len(wanted) != len(found):
            return False
        if isinstance(wanted, dict):
            return [*wanted] == [*found] and all(
                _same_structure(a, b) for a, b in zip(wanted.values(), found.values(), strict=True)
            )
        return all(_same_structure(a, b) for a, b in zip(wanted, found, strict=True))
    return True


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | OrderedDict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _difference(value: Value | None, wanted: Any, found: Any) -> Iterator[str]:
    wanted, found = np.asarray(wanted), np.asarray(found)
    name = "a number" if value is None else f"'{value.name}'"
    if wanted.dtype != found.dtype or wanted.shape != found.shape:
        yield (
            f"{name} is an array of {found.dtype} and shape {found.shape}, and not of "
            f"{wanted.dtype} and {wanted.shape}"
        )
        return
    if value is None or value.is_exact or wanted.dtype.kind in "biu":
        same = np.array_equal(wanted, found, equal_nan=wanted.dtype.kind in "fc")
    else:
        error = 50 * value.error
        same = np.allclose(
            wanted, found, rtol=error, atol=error * max(1.0, value.scale), equal_nan=True
        )
    if not same:
        yield f"{name} is {found!r}, and not {wanted!r}"


def main(
    seeds: range, kind: Any = sys.modules[__name__], out: Any = sys.stdout, xp: Any = np
) -> dict[str, int]:
    """Run programs of a module's generator, print those that differ, and count the outcomes."""
    counts: dict[str, int] = {}
    for seed in seeds:
        program = kind.generate(seed)
        outcome = kind.outcome_of(program, xp=xp)
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
        if outcome.status in FAULTS:
            print(f"# {seed}: {outcome.status}: {outcome.detail}\n{program.source()}", file=out,
                  flush=True)  # fmt: skip
    return counts
