"""From a unit for GPUs to its object code: NVRTC or nvcc, and the linker if the unit links."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Literal

from kerneltk.backends.cuda import nvrtc
from kerneltk.core.artifacts import ObjectCode, Target, TranslationUnit
from kerneltk.errors import CompileError


def _compiler_of(unit: TranslationUnit) -> ModuleType:
    if unit.compiler == "nvrtc":
        return nvrtc
    from kerneltk.backends.cuda import nvcc

    return nvcc


def target_for(architecture: str, unit: TranslationUnit) -> Target:
    """Return the target of a CUDA architecture for a unit. Raises as the compiler's function."""
    target: Target = _compiler_of(unit).target_for(architecture)
    if unit.links:
        from kerneltk.backends.cuda import nvjitlink

        target = replace(target, compiler=f"{target.compiler}, {nvjitlink.version()}")
    return target


def backend_options(unit: TranslationUnit) -> tuple[str, ...]:
    """Return the compile options that a unit gets beside its own."""
    options: tuple[str, ...] = _compiler_of(unit).backend_options(unit)
    return options


def include_directories(unit: TranslationUnit) -> tuple[Path, ...]:
    """Return where the compiler looks for a unit's headers, beside the package's own."""
    directories: tuple[Path, ...] = _compiler_of(unit).include_directories(unit)
    return directories


def compile(unit: TranslationUnit, target: Target) -> ObjectCode:
    """Compile a unit for a target of :func:`target_for`, and link it. Raises CompileError for what
    the compiler or the linker refuses, and BackendUnavailableError where one is missing.
    """
    compiler = _compiler_of(unit)
    prefix, _, number = target.architecture.partition("_")
    if not unit.links or prefix == "lto":  # which is linked later
        code: ObjectCode = compiler.compile(unit, target)
        return code
    from kerneltk.backends.cuda import nvjitlink
    from kerneltk.object_code.reflection import read_reflection

    main: ObjectCode = compiler.compile(unit, replace(target, architecture=f"lto_{number}"))
    name = unit.name or unit.entry
    try:
        linked = nvjitlink.link(main.code, unit.links, target, unit.options, name)
    except CompileError as error:
        raise CompileError(str(error), unit.source, error.log) from error
    kind: Literal["ptx", "cubin"] = "ptx" if prefix == "compute" else "cubin"
    reflection = read_reflection(kind, linked, unit.reflected)
    return ObjectCode(target, kind, linked, main.entry, main.symbols, reflection)
