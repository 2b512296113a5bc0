"""From a unit for GPUs to its object code: NVRTC or nvcc, and the linker if the unit links."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Literal

from kerneltk.backends.cuda import nvrtc
from kerneltk.core.artifacts import LinkInput, ObjectCode, Target, TranslationUnit, kind_of_code
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
    ltoir = LinkInput(unit.name or unit.entry, "ltoir", main.code)
    try:
        linked, log = nvjitlink.link(ltoir, unit.links, target, unit.options)
    except CompileError as error:
        raise CompileError(str(error), unit.source, error.log) from error
    kind: Literal["ptx", "cubin"] = "ptx" if prefix == "compute" else "cubin"
    reflection = read_reflection(kind, linked, unit.reflected)
    log = "\n".join(filter(None, (main.log, log)))
    return ObjectCode(target, kind, linked, main.entry, main.symbols, reflection, log)


_RELOCATABLE = (1).to_bytes(2, "little")  # `e_type` of an ELF file: ET_REL


def executable(code: ObjectCode, architecture: str) -> bytes:
    """Return object code as the driver loads it: a relocatable cubin (``-rdc=true``) is linked,
    with CUDA's library for kernels that launch kernels. Raises as :func:`nvjitlink.link`.
    """
    if kind_of_code(code.code) != "cubin" or code.code[16:18] != _RELOCATABLE:
        return code.code
    from kerneltk.backends.cuda import nvjitlink, toolkit

    # The name of a function of the runtime among the symbols. It has 200 kB.
    runtime = toolkit.device_runtime() if b"cuda" in code.code else None
    inputs = [] if runtime is None else [LinkInput(runtime.name, "library", runtime.read_bytes())]
    main = LinkInput(code.entry or "the module", "cubin", code.code)
    return nvjitlink.link(main, inputs, replace(code.target, architecture=architecture), ())[0]
