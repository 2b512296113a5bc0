"""Compiling CUDA C++ by NVRTC, with neither a GPU nor a driver."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, Literal

from kerneltk.backends.cuda import toolkit
from kerneltk.backends.cuda.architectures import check_options, choose_target
from kerneltk.cache import stand_ins
from kerneltk.core.artifacts import (
    INCLUDE_DIRECTORY,
    TEMPLATE,
    ObjectCode,
    Target,
    TranslationUnit,
    cupy_include_directory,
    named_options,
    names_standard,
)
from kerneltk.core.lexer import foreign_headers, includes_by_option
from kerneltk.core.settings import get_settings
from kerneltk.errors import CompileError


def _nvrtc() -> Any:
    return toolkit.load_library("nvrtc", "nvrtcVersion", "NVRTC, the compiler for GPUs,")


@cache
def _version_numbers() -> tuple[int, int]:
    _, major, minor = _nvrtc().nvrtcVersion()
    return int(major), int(minor)


def _version() -> str:
    return "nvrtc {}.{}".format(*_version_numbers())


@cache
def _architectures() -> tuple[int, ...]:
    nvrtc = _nvrtc()
    result, count = nvrtc.nvrtcGetNumSupportedArchs()
    _check(nvrtc, result, None)
    result, found = nvrtc.nvrtcGetSupportedArchs()
    _check(nvrtc, result, None)
    return tuple(int(number) for number in found[:count])


def target_for(architecture: str) -> Target:
    """Return the target of a CUDA architecture such as ``"sm_90"`` or ``"compute_80"``.

    An architecture that is newer than this NVRTC gets PTX of the newest one that it knows, which
    the driver compiles when it is loaded. ``"lto_90"`` stands for the intermediate form that is
    compiled when it is linked. Raises ValueError for what is no architecture, or one that NVRTC no
    longer compiles for, and BackendUnavailableError where NVRTC is not installed.
    """
    return choose_target(architecture, _architectures(), _version())


@cache
def cuda_include_directories() -> tuple[str, ...]:
    """Return the directories that hold ``cuda_fp16.h`` and its like; empty where there are none."""
    return get_settings().cuda_include or toolkit.include_directories()


# What `--minimal` leaves out is named so: textures, surfaces, the runtime's functions and types,
# launches from kernels. It saves 4 of the 8 ms that NVRTC's own declarations take.
_NOT_MINIMAL = ("tex", "surf", "cuda", "<<<")
_MINIMAL_SINCE = (12, 4)
_FAST_COMPILE_SINCE = (12, 9)


def backend_options(unit: TranslationUnit) -> tuple[str, ...]:
    """Return the options that a unit gets beside its own."""
    if unit.raw:
        # Else the header needs the whole of libcu++, and half a second.
        light = ("-D_CG_LIMIT_INCLUDED_DEPENDENCIES",) * ("cooperative_groups" in unit.source)
        return ("--std=c++17", *light)
    options: tuple[str, ...] = ("--std=c++17", "--device-as-default-execution-space")
    plain = not foreign_headers(unit.source) and not includes_by_option(unit.options)
    if (
        plain
        and _version_numbers() >= _MINIMAL_SINCE
        and not any(word in unit.source.replace("constexpr", "") for word in _NOT_MINIMAL)
    ):
        options += ("--minimal",)
    if unit.fast_compile and _version_numbers() >= _FAST_COMPILE_SINCE:
        options += ("--Ofast-compile=min",)
    return options


def include_directories(unit: TranslationUnit) -> tuple[Path, ...]:
    """Return where CuPy's and CUDA's headers are, for a unit that includes others than this
    package's.
    """
    if not foreign_headers(unit.source) and not includes_by_option(unit.options):
        return ()
    directories = tuple(map(Path, cuda_include_directories()))
    # NVRTC has no C library; a user's own source may include its headers.
    names, own = stand_ins.directory("cupy"), stand_ins.directory("nvrtc")
    # CuPy's own headers include thousands, and stand-ins none of them.
    trees: tuple[stand_ins.Tree, ...] = ("cupy", "nvrtc", "nvrtc_fallback")
    if not includes_by_option(unit.options) and all(
        stand_ins.has_header(name, *trees) for name in foreign_headers(unit.source)
    ):
        bundled = tuple(path for path in _bundled() if path not in cupy_include_directory())
    else:
        bundled = _bundled()
    return (names, own, *directories, *bundled, stand_ins.directory("nvrtc_fallback"))


@cache
def _bundled() -> tuple[Path, ...]:
    """Return where CuPy's headers and its copies of CUB, libcu++ and Thrust are."""
    found = (
        directory / part
        for directory in cupy_include_directory()
        for part in ("cupy/_cccl/cub", "cupy/_cccl/libcudacxx", "cupy/_cccl/thrust", "")
    )
    return tuple(path for path in found if path.is_dir())


def compile(unit: TranslationUnit, target: Target) -> ObjectCode:
    """Compile a unit for a target of :func:`target_for`. Raises CompileError where the compiler
    refuses the source, with the location in the user's own, and BackendUnavailableError where NVRTC
    is not installed.
    """
    nvrtc = _nvrtc()
    check_options(unit, target)
    links = target.architecture.startswith("lto_")
    architecture = target.architecture.replace("lto_", "sm_")
    search = [f"-I{directory}" for directory in include_directories(unit)]
    # Generated code has what CuPy's names stand for: a user's own directory does not replace them.
    options = [f"--gpu-architecture={architecture}", f"-I{INCLUDE_DIRECTORY}", *search[:1]]
    options += [*backend_options(unit), *(["-dlto"] if links else [])]
    options += without_defaults(unit.options, options)
    options += search[1:]
    encoded = [os.fsencode(option) for option in options]
    source = unit.source.encode("utf-8", "surrogateescape")
    result, program = nvrtc.nvrtcCreateProgram(source, b"generated code", 0, [], [])
    _check(nvrtc, result, None)
    try:
        for expression, known in unit.exports:
            asked = _asked(expression, known)
            if not asked:
                continue
            (result,) = nvrtc.nvrtcAddNameExpression(program, asked)
            _check(nvrtc, result, f"the name '{expression}'")
        (result,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            if result == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
                raise CompileError(
                    f"NVRTC does not take one of the options {list(unit.options)}: {log.strip()}",
                    unit.source,
                    log,
                )
            # Only who has an error needs it.
            from kerneltk.core.diagnostics import compile_error_message

            message = compile_error_message(log, unit.origins, unit.name or unit.entry)
            raise CompileError(message, unit.source, log)
        return _object_code(nvrtc, unit, target, program, log)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _asked(expression: str, known: str) -> bytes:
    """Return the name expression by which NVRTC tells a symbol; empty where it is known."""
    asked = f"{known}()" if known.startswith(TEMPLATE) else "" if known else expression
    return asked.encode(errors="surrogateescape")


def _object_code(
    nvrtc: Any, unit: TranslationUnit, target: Target, program: Any, log: str
) -> ObjectCode:
    """Return the object code of a compiled program."""
    symbols = []
    for expression, known in unit.exports:
        asked = _asked(expression, known)
        if not asked:
            symbols.append((expression, known))
            continue
        result, symbol = nvrtc.nvrtcGetLoweredName(program, asked)
        _check(nvrtc, result, f"the symbol of '{expression}'")
        symbols.append((expression, symbol.decode()))
    kind: Literal["cubin", "ptx", "ltoir"] = "cubin"
    if target.architecture.startswith("lto_"):
        kind, code = "ltoir", _bytes(nvrtc.nvrtcGetLTOIRSize, nvrtc.nvrtcGetLTOIR, program)
    elif target.architecture.startswith("compute_"):
        kind, code = "ptx", _bytes(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    else:
        code = _bytes(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
    if not code:
        raise CompileError(f"The options {list(unit.options)} make no machine code.", unit.source)
    for expression, symbol in symbols if kind != "ltoir" else ():
        if "<" in expression and symbol.encode() not in code:
            raise CompileError(f"Kernel '{expression}' has no definition.", unit.source)
    reflection: tuple[tuple[str, bytes], ...] = ()
    if unit.reflected:
        from kerneltk.object_code.reflection import read_reflection  # raw kernels only

        reflection = read_reflection(kind, code, unit.reflected)
    return ObjectCode(target, kind, code, unit.entry, tuple(symbols), reflection, log.strip("\n"))


# Older ones become C++17, which this package's headers need, as on the host.
_OLDER = tuple(f"-std={standard}" for standard in ("c++98", "c++03", "c++11", "c++14"))


def without_defaults(chosen: tuple[str, ...], defaults: list[str]) -> list[str]:
    """Drop a default that the user's own options replace, in place; return the user's options,
    without older standards than the default.
    """
    found = named_options(chosen, ("-std", "--std"))
    given = [f"{name}={value}" if value else words[0] for name, value, words in found]
    own = [option for option in given if option.replace("--", "-") not in _OLDER]
    if len(own) < len(given):
        own.append("-Dregister=")  # a keyword of the older standards alone
    if names_standard(own):
        defaults[:] = [option for option in defaults if not option.startswith("--std")]
    return own


def _check(nvrtc: Any, result: object, what: str | None) -> None:
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(f"NVRTC failed{': ' + what if what else ''} ({result}).")


def _bytes(size_of: Any, get: Any, program: Any) -> bytes:
    result, size = size_of(program)
    _check(_nvrtc(), result, "the size of the result")
    # It is written to, and CPython keeps one object for all equal bytes of length one: a log that
    # is empty but for its end would change what every other blank is.
    buffer: bytes = b" " * max(size, 2)
    (result,) = get(program, buffer)
    _check(_nvrtc(), result, "the result")
    return buffer[:size]


def _text(size_of: Any, get: Any, program: Any) -> str:
    return _bytes(size_of, get, program).rstrip(b"\0").decode(errors="replace")
