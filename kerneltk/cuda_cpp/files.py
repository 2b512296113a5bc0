"""Programs of ``.cu`` files, and the template arguments of their kernels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kerneltk.core.artifacts import LinkInput
from kerneltk.core.dtypes import describe
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.source import plain_name, read_file
from kerneltk.errors import ArgumentTypeError, ArgumentValueError


def template_argument(argument: Any) -> str:
    """Return a template argument as C++ has it; raises ArgumentTypeError for what is none."""
    if isinstance(argument, bool | np.bool_):
        return "true" if argument else "false"
    if isinstance(argument, str | int | np.integer):
        return str(argument)
    if not isinstance(argument, type | np.dtype):
        raise ArgumentTypeError(
            f"A template argument must be a dtype, an integer or a string, not {argument!r}."
        )
    dtype = np.dtype(argument)
    names = {"float16": "__half", "bfloat16": "__nv_bfloat16"}
    return names.get(dtype.name) or describe(dtype).ctype


def read_programs(
    paths: Sequence[str | os.PathLike[str]],
    options: tuple[str, ...],
    compiler: str,
    links: tuple[LinkInput, ...],
    names: tuple[str, ...],
) -> list[RawProgram]:
    """Return a program for each file; each template in `names` is asked of the file that has it.
    Raises ArgumentTypeError or ArgumentValueError where a path is none, a file cannot be read, or
    no file declares one of `names`.
    """
    programs = []
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            raise ArgumentTypeError(f"'load' needs the path of a file, not {path!r}.")
        source = read_file(Path(path), options, compiler=compiler, links=links)
        whole = RawProgram(source, None)
        declared = {k.name for k in source.kernels}
        wanted = [name for name in names if plain_name(name) in declared]
        for name in wanted:
            whole.offering(name)
        programs.append(whole)
        names = tuple(name for name in names if name not in wanted)
    if names:
        raise ArgumentValueError(
            f"No kernel is called '{names[0]}' in {', '.join(map(str, paths))}."
        )
    return programs
