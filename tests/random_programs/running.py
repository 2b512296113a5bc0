"""Random programs on a backend, compared bit for bit with plain Python."""

from __future__ import annotations

import math
import traceback
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kerneltk import jit
from kerneltk.errors import TypingError, UnsupportedError

from ..conftest import Backend
from .generator import generate
from .numbers import UndefinedError
from .reference import defined, expected
from .tree import Program

__all__ = ["Outcome", "backend_of", "compared", "defined_program", "outcome_of"]

Results = dict[str, np.ndarray[Any, Any]]
ATTEMPTS = 50


@dataclass(frozen=True)
class Outcome:
    """What became of a program.

    Parameters
    ----------
    status : {"same", "differs", "refused", "failed"}
    detail : str
        What is different, or the error.
    """

    status: Literal["same", "differs", "refused", "failed"]
    detail: str = ""


def backend_of(name: str) -> Backend | None:
    """Return a backend by its name; None, where programs are only compiled for a GPU."""
    if name == "ptx":
        return None
    if name == "host":
        return Backend("host", np)
    import cupy

    return Backend("cuda", cupy)


def defined_program(seed: int) -> tuple[Program, Results]:
    """Return the first program of a seed that does nothing undefined, and what it computes."""
    for attempt in range(ATTEMPTS):
        program = generate(seed, attempt)
        try:
            return program, expected(program)
        except UndefinedError:
            continue
    raise AssertionError(f"no program of seed {seed} is defined")


def kernel_of(program: Program) -> Any:
    """Return the kernel, decorated."""
    names = {"np": np, "math": math, "jit": jit}
    function = defined(program.source(), names, "program")
    if program.kind == "kernel":
        return jit.kernel(mode=program.mode, options=program.options, raw=program.raw)(function)
    return jit.rawkernel(mode=program.mode, options=program.options)(function)


def run(program: Program, backend: Backend) -> Results:
    """Return the arrays that a program writes to, or its results, by name."""
    kernel = kernel_of(program)
    given = {p.name: p.make() for p in program.parameters}
    arrays = [name for name, value in given.items() if isinstance(value, np.ndarray)]
    copies = backend.asarrays(*(given[name] for name in arrays))
    given.update(zip(arrays, copies, strict=True))
    if program.kind == "kernel":
        out = [backend.asarray(np.zeros(shape_of(program), kind)) for kind in program.out]
        options = {"out": tuple(out) if len(out) > 1 else out[0]} if out else {}
        found = kernel(*given.values(), **options)
        results = found if len(program.results) > 1 else (found,)
        return {f"result {k}": backend.asnumpy(result) for k, result in enumerate(results)}
    grid, block = program.launch
    kernel[grid, block](*given.values())
    return {p.name: backend.asnumpy(given[p.name]) for p in program.parameters if p.is_output}


def shape_of(program: Program) -> tuple[int, ...]:
    """Return the shape of a kernel's results."""
    arrays = [p.make() for p in program.parameters if p.name not in program.raw]
    return np.broadcast_shapes(*(a.shape for a in arrays if isinstance(a, np.ndarray)))


def compiled(program: Program) -> str:
    """Return a program as PTX, which no GPU is needed for."""
    function, arguments = kernel_of(program), [p.make() for p in program.parameters]
    return str(function.inspect(*arguments, target="compute_90"))


def outcome_of(program: Program, wanted: Results, backend: Backend | None) -> Outcome:
    """Run a program, and compare; without a backend, compile it for a GPU."""
    try:
        if backend is None:
            compiled(program)
            return Outcome("same")
        found = run(program, backend)
    except (TypingError, UnsupportedError) as error:
        return Outcome("refused", str(error))
    except Exception:
        return Outcome("failed", traceback.format_exc(limit=-1))
    detail = compared(found, wanted)
    return Outcome("differs", detail) if detail else Outcome("same")


def compared(found: Results, wanted: Results) -> str:
    """Return the first difference, if any. A zero's sign counts, a NaN's bits do not."""
    for name, its in wanted.items():
        ours = found[name]
        if ours.dtype != its.dtype or ours.shape != its.shape:
            return f"{name}: {ours.dtype} {ours.shape}, not {its.dtype} {its.shape}"
        if detail := different(ours, its):
            return f"{name}{detail}"
    return ""


def different(ours: np.ndarray[Any, Any], its: np.ndarray[Any, Any]) -> str:
    if ours.dtype.names is not None:
        for name in ours.dtype.names:
            if detail := different(ours[name], its[name]):
                return f".{name}{detail}"
        return ""
    if ours.dtype.kind == "c":
        return different(ours.real, its.real) or different(ours.imag, its.imag)
    same = ours == its
    if ours.dtype.kind == "f":
        same &= np.signbit(ours) == np.signbit(its)
        same |= np.isnan(ours) & np.isnan(its)
    if same.all():
        return ""
    at = tuple(int(k) for k in np.argwhere(~same)[0])
    return f"{list(at)}: {ours[at]!r}, not {its[at]!r} ({(~same).sum()} of {same.size})"
