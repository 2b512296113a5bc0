"""Compiling CUDA C++ by nvcc, the compiler of the CUDA toolkit, with neither a GPU nor a driver."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from kerneltk.backends import temporary
from kerneltk.backends.cuda.architectures import check_options, choose_target
from kerneltk.backends.cuda.nvrtc import without_defaults
from kerneltk.backends.cuda.toolkit import find_program, run_program
from kerneltk.cache import stand_ins
from kerneltk.core.artifacts import INCLUDE_DIRECTORY, ObjectCode, Target, TranslationUnit
from kerneltk.core.settings import get_settings
from kerneltk.errors import BackendUnavailableError, CompileError
from kerneltk.object_code.elf import read_cubin_addresses, read_ptx_addresses
from kerneltk.object_code.reflection import read_reflection

_PROBE_TIME_LIMIT, _COMPILE_TIME_LIMIT = 20.0, 600.0

# What nvcc calls otherwise than NVRTC.
_SPELLINGS = dict.fromkeys(
    ("--warn-as-error", "-warn-as-error", "--promote_warnings", "-promote_warnings"),
    ("-Werror", "all-warnings"),
)
# About NVRTC itself, its headers and its caches; or what nvcc always does.
_NVRTC_ONLY = re.compile(
    r"--?(?:no-cache|minimal|no-source-include|device-int128|device-float128"
    r"|(?:builtin-|modify-stack-limit|pch|create-pch|use-pch)[\w-]*(?:=.*)?)\Z"
)


def _unavailable(why: str) -> BackendUnavailableError:
    return BackendUnavailableError(
        f"nvcc, the compiler of the CUDA toolkit, {why}.\n"
        "  Hint: install the CUDA toolkit and put its 'bin' on PATH or its place into CUDA_HOME; "
        "or use backend='nvrtc'."
    )


@cache
def _program() -> str:
    found = find_program("nvcc")
    if found is None:
        raise _unavailable("is neither on PATH nor in CUDA_HOME")
    return str(found)


def _asked(option: str) -> str:
    """Return the output of nvcc for an option that only asks for information."""
    try:
        status, output, messages = run_program(
            [_program(), option], tempfile.gettempdir(), _PROBE_TIME_LIMIT
        )
    except (OSError, TimeoutError) as error:
        raise _unavailable(f"cannot be run ({_program()}): {error}") from error
    if status:
        raise _unavailable(f"fails at '{option}': {(output + messages).strip()}")
    return output


@cache
def _version() -> str:
    """Return the version, and what the environment adds to every call, which counts as well."""
    output = _asked("--version")
    found = re.search(r"\bV(\d+\.\d+\.\d+)", output) or re.search(r"release (\d+\.\d+)", output)
    if found is None:
        raise _unavailable(f"tells no version ({_program()})")
    return " ".join(filter(None, (f"nvcc {found[1]}", get_settings().nvcc_environment)))


@cache
def _architectures() -> tuple[int, ...]:
    found = re.findall(r"compute_(\d+)\b", _asked("--list-gpu-arch"))
    if not found:
        raise _unavailable("knows no architectures")
    return tuple(sorted(map(int, found)))


def target_for(architecture: str) -> Target:
    """The target of a CUDA architecture, as `kerneltk.backends.cuda.nvrtc.target_for`; raises
    BackendUnavailableError where there is no nvcc.
    """
    return choose_target(architecture, _architectures(), _version())


def backend_options(unit: TranslationUnit) -> tuple[str, ...]:
    """Return the options that a unit gets beside its own."""
    return ("--std=c++17",)


def include_directories(unit: TranslationUnit) -> tuple[Path, ...]:
    """Return where CuPy's names are: nvcc knows its headers and those of the host's compiler."""
    return (stand_ins.directory("cupy"),)


def compile(unit: TranslationUnit, target: Target) -> ObjectCode:
    """Compile a unit for a target of :func:`target_for`. Raises CompileError, which shows the
    location in the user's source, and BackendUnavailableError.
    """
    check_options(unit, target)
    prefix, _, number = target.architecture.partition("_")
    kind: Literal["cubin", "ptx", "ltoir"]
    if prefix == "lto":
        kind, flags = "ltoir", ["-ltoir", "-dlto", f"-arch=sm_{number}"]
    elif prefix == "compute":
        kind, flags = "ptx", ["-ptx", f"-arch={target.architecture}"]
    else:
        kind, flags = "cubin", ["-cubin", f"-arch={target.architecture}"]
    with temporary.directory() as directory:
        source, result = directory / "unit.cu", directory / "unit.out"
        source.write_bytes(unit.source.encode("utf-8", "surrogateescape"))
        # Names in quotes are found from the working directory, as NVRTC finds them.
        own = (INCLUDE_DIRECTORY, *include_directories(unit))
        search = [*(f"-I{directory}" for directory in own), "-I."]
        defaults = [*backend_options(unit)]
        given = _options(without_defaults(unit.options, defaults))
        command = [_program(), *flags, *search, *defaults, *given]
        try:
            status, output, messages = run_program(
                [*command, "-o", str(result), str(source)], str(Path.cwd()), _COMPILE_TIME_LIMIT
            )
        except TimeoutError as error:  # an OSError, too
            raise CompileError(str(error), unit.source) from error
        except OSError as error:
            raise _unavailable(f"cannot be run ({_program()}): {error}") from error
        log = output + messages
        temporary.check_finished("nvcc", status, log)
        if status or not result.is_file():
            raise _refusal(unit, log)
        code = result.read_bytes()
    if kind == "ptx":
        code = code.rstrip(b"\0") + b"\0"
    return ObjectCode(
        target,
        kind,
        code,
        unit.entry,
        _symbols(unit, kind, code),
        read_reflection(kind, code, unit.reflected),
        log.strip("\n"),
    )


def _options(options: Sequence[str]) -> list[str]:
    """Return the user's options as nvcc spells them."""
    translated: list[str] = []
    for option in options:
        if not _NVRTC_ONLY.match(option):
            translated += _SPELLINGS.get(option, (option,))
    return translated


def _refusal(unit: TranslationUnit, log: str) -> CompileError:
    from kerneltk.core.diagnostics import (  # only who has an error needs it
        compile_error_message,
        read_log,
    )

    if read_log(log):
        message = compile_error_message(log, unit.origins, unit.name or unit.entry)
    else:  # its own options, the host's compiler, ptxas
        message = f"nvcc failed with the options {list(unit.options)}: {log.strip()}"
    return CompileError(message, unit.source, log)


def _symbols(unit: TranslationUnit, kind: str, code: bytes) -> tuple[tuple[str, str], ...]:
    """Return the symbols of what a unit exports; of LTO-IR they cannot be read."""
    if kind == "ltoir":
        return ()
    constants = [constant for _, constant in unit.exports]
    if kind == "ptx":
        found = read_ptx_addresses(code.decode(errors="replace"), constants)
    else:
        found = read_cubin_addresses(code, constants)
    symbols = []
    for expression, constant in unit.exports:
        symbol = found.get(constant, "" if constant.startswith("_kt_") else constant)
        if not symbol:
            raise CompileError(f"nvcc names no symbol of '{expression}'.", unit.source)
        symbols.append((expression, symbol))
    return tuple(symbols)
