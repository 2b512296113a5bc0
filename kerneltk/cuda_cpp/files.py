"""Kernels of ``.cu`` files, as attributes of what :func:`load` returns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kerneltk.core.dtypes import describe
from kerneltk.cuda_cpp.kernel import RawKernel, checked_compiler, checked_options
from kerneltk.cuda_cpp.link_inputs import checked_links
from kerneltk.cuda_cpp.module import RawModule, checked_names
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.source import plain_name, read_file
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, NoSuchKernelError

__all__ = ["CudaFile", "KernelTemplate", "load"]


class KernelTemplate:
    """A template of kernels in a ``.cu`` file: ``template["float", 4]`` is a kernel."""

    def __init__(self, module: CudaFile, name: str, parameters: tuple[str, ...]) -> None:
        self._module = module
        self.name = name
        self.parameters = parameters

    def __getitem__(self, arguments: Any) -> RawKernel:
        """Return the kernel with these template arguments: types (C spellings, or dtypes) and
        constants.
        """
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        spelled = ", ".join(map(_template_argument, given))
        return self._module.get_function(f"{self.name}<{spelled}>")

    def __call__(self, *args: Any, **words: Any) -> None:
        """Raise ArgumentTypeError: a template is no kernel yet."""
        raise ArgumentTypeError(
            f"'{self.name}' is a template of <{', '.join(self.parameters)}>.\n"
            f"  Hint: name its arguments: {self.name.rpartition('::')[2]}['float'](...)."
        )

    def __repr__(self) -> str:
        return f"<template <{', '.join(self.parameters)}> {self.name}>"


def _template_argument(argument: Any) -> str:
    if isinstance(argument, bool):
        return "true" if argument else "false"
    if isinstance(argument, str | int):
        return str(argument)
    dtype = np.dtype(argument)
    names = {"float16": "__half", "bfloat16": "__nv_bfloat16"}
    return names.get(dtype.name) or describe(dtype).ctype


class CudaFile(RawModule):
    """The kernels of ``.cu`` files as attributes; made by :func:`load`."""

    def __init__(self, programs: Sequence[RawProgram], **settings: Any) -> None:
        self._set_up(programs, **settings)

    def get_function(self, name: str) -> RawKernel:
        """Return a kernel by its name or name expression.

        Raises
        ------
        ArgumentValueError
            There is no such kernel, or several files have one; or it is a template, the file has
            variables and is in use, and its arguments were not named when it was loaded.
        """
        kernel = super().get_function(name)
        kernel.__doc__ = "\n\n".join(filter(None, (kernel.signature, kernel.comment)))
        return kernel

    def __getitem__(self, name: str) -> Any:
        """Return what the attribute of that name is; kernels whose names this class has itself,
        such as ``options``, are found here only.
        """
        return self._member(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_programs" not in self.__dict__:
            raise AttributeError(name)
        member = self.__dict__[name] = self._member(name)
        return member

    def _member(self, name: str) -> Any:
        declared = [kernel for program in self._texts for kernel in program.source.kernels]
        found = {k.name: k for k in declared if k.name.rpartition("::")[2] == name}
        if len(found) > 1:
            raise NoSuchKernelError(
                f"Several kernels are called '{name}': {', '.join(map(repr, found))}.\n"
                "  Hint: use 'get_function' with the whole name."
            )
        if not found:
            close = get_close_matches(name, [k.name.rpartition("::")[2] for k in declared], n=1)
            hint = f"\n  Hint: did you mean '{close[0]}'?" if close else ""
            raise NoSuchKernelError(f"'{self._texts[0].source.name}' has no kernel '{name}'.{hint}")
        (kernel,) = found.values()
        if kernel.template_parameters:
            return KernelTemplate(self, kernel.name, kernel.template_parameters)
        return self.get_function(kernel.name)

    def __dir__(self) -> list[str]:
        names = [k.name.rpartition("::")[2] for p in self._texts for k in p.source.kernels]
        return sorted({*super().__dir__(), *names})

    def __repr__(self) -> str:
        return f"<kernels of {self._texts[0].source.name}: {', '.join(self.kernels)}>"


def load(
    *paths: str | os.PathLike[str],
    options: Sequence[str] = (),
    backend: str = "nvrtc",
    enable_cooperative_groups: bool = False,
    name_expressions: Sequence[str] | None = None,
    checks: bool = True,
    exited_threads: Literal["error", "arrive"] = "error",
    link: Sequence[Any] = (),
) -> CudaFile:
    """Return the kernels of ``.cu`` files as attributes of one object.

    Functions that run on the host (``main``, what launches with ``<<<...>>>``) may stand in the
    files; they are left out. A call after a file or one of its headers has changed compiles anew,
    and what was returned before stays as it was.

    Parameters
    ----------
    *paths : str or os.PathLike
        One or more files; each is a translation unit of its own.
    options : sequence of str
        Compile options; the file's directory is searched for headers first.
    backend, enable_cooperative_groups, checks, exited_threads
        As for `RawKernel`.
    name_expressions : sequence of str, optional
        Templates with their arguments that are wanted beside the kernels that are none.
    link : sequence of ObjectCode, bytes, str or os.PathLike
        As for `RawModule`; each file is linked with all of them.

    Returns
    -------
    CudaFile
        Its attributes are the kernels by their names, its templates are subscripted:
        ``module.scale["float", 4]``.

    Raises
    ------
    ArgumentValueError
        A file cannot be read.
    """
    if not paths:
        raise ArgumentTypeError("'load' needs the path of a file.")
    compiler = checked_compiler(backend)
    checked = checked_options(options)
    links = checked_links(link, compiler)
    names = checked_names(name_expressions) or ()
    programs = []
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            raise ArgumentTypeError(f"'load' needs the path of a file, not {path!r}.")
        source = read_file(Path(path), checked, compiler=compiler, links=links)
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
    return CudaFile(
        programs,
        cooperative=enable_cooperative_groups,
        checks=checks,
        exited_threads=exited_threads,
    )
