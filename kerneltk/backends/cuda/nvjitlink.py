"""Linking object code for GPUs by nvJitLink, with neither a GPU nor a driver."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from kerneltk.backends.cuda.toolkit import load_library
from kerneltk.core.artifacts import LinkInput, Target
from kerneltk.errors import CompileError


def _library() -> Any:
    return load_library("nvjitlink", "version", "nvJitLink, the linker for GPUs,")


@cache
def version() -> str:
    """Return the linker's name and version. Raises BackendUnavailableError where nvJitLink is not
    installed.
    """
    return "nvjitlink {}.{}".format(*_library().version())


# Machine code is made when it is linked: these options of compilers count there, too.
_FLAGS = {"ftz", "prec-div", "prec-sqrt", "fmad", "fma"}
_PASSED = re.compile(r"--?(?:maxrregcount=\d+|lineinfo|generate-line-info|G|device-debug)\Z")
_PTXAS = re.compile(r"(?:-Xptxas|--ptxas-options)=(.+)\Z")
_OWN_NAMES = {"generate-line-info": "lineinfo", "G": "g", "device-debug": "g"}


def _options(options: Sequence[str]) -> list[str]:
    """Return the options of the linker for those of compiling."""
    chosen: list[str] = []
    for option in options:
        name, _, value = option.lstrip("-").partition("=")
        if name == "use_fast_math":
            chosen += ["-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1"]
        elif name in _FLAGS and value in ("true", "false"):
            chosen.append(f"-{name.replace('fmad', 'fma')}={int(value == 'true')}")
        elif _PASSED.match(option):
            chosen.append("-" + _OWN_NAMES.get(name, option.lstrip("-")))
        elif found := _PTXAS.match(option):
            chosen.append(f"-Xptxas={found[1]}")
    return chosen


def link(
    main: LinkInput, inputs: Sequence[LinkInput], target: Target, options: Sequence[str]
) -> tuple[bytes, str]:
    """Link a unit with other object code to a cubin or, for ``compute_XX``, to PTX, and return that
    and the linker's log. Raises
    CompileError for a name that is defined nowhere or twice, and for an input that is newer than
    this nvJitLink, for another architecture or not compiled to be linked; BackendUnavailableError
    where nvJitLink is not installed.

    Parameters
    ----------
    main : LinkInput
        LTO-IR, or a relocatable cubin.
    inputs : sequence of LinkInput
        For PTX all must be LTO-IR.
    target : Target
    options : sequence of str
        The compile options of `main`.
    """
    library = _library()
    to_ptx = target.architecture.startswith("compute_")
    chosen = [f"-arch={target.architecture.replace('compute_', 'sm_')}"]
    chosen += ["-lto"] if main.kind == "ltoir" else []
    chosen += [*(["-ptx"] if to_ptx else []), *_options(options)]
    try:
        handle = library.create(len(chosen), chosen)
    except library.nvJitLinkError as error:
        raise CompileError(f"nvJitLink does not take the options {chosen}: {error}.") from error
    try:
        for part in (main, *inputs):
            kind = getattr(library.InputType, part.kind.upper())
            library.add_data(handle, kind, part.code, len(part.code), part.name)
        library.complete(handle)
        log = _read(library.get_info_log_size, library.get_info_log, handle)
        if to_ptx:
            ptx = _bytes(library.get_linked_ptx_size, library.get_linked_ptx, handle)
            return ptx.rstrip(b"\0") + b"\0", log
        return _bytes(library.get_linked_cubin_size, library.get_linked_cubin, handle), log
    except library.nvJitLinkError as error:
        log = _read(library.get_error_log_size, library.get_error_log, handle)
        raise CompileError(_message(main.name, log, str(error)), "", log) from error
    finally:
        library.destroy(handle)


_UNDEFINED = re.compile(
    r"Undefined reference to '(?P<name>[^']+)'|Unresolved extern function '(?P<other>[^']+)'"
)


def _message(name: str, log: str, error: str) -> str:
    shown = " ".join(log.split()) or error
    sentence = f"'{name}' cannot be linked: {shown}"
    hint = ""
    if found := _UNDEFINED.search(log):
        hint = (
            f"none of the linked object codes defines '{found['name'] or found['other']}' for "
            "others; PTX and cubins must be compiled with '-rdc=true', and names other than "
            'extern "C" ones differ by their parameters\' types.'
        )
    elif "newer version of nvJitLink" in log:
        hint = f"this is {version()}; LTO-IR is only for a linker as new as its compiler."
    elif "requires that all inputs have LTOIR" in log:
        hint = "link for 'sm_XX', or give what is linked as LTO-IR."
    return f"{sentence}\n  Hint: {hint}" if hint else sentence


def _bytes(size_of: Callable[[Any], int], get: Callable[..., None], handle: Any) -> bytes:
    buffer = bytearray(size_of(handle))
    get(handle, buffer)
    return bytes(buffer)


def _read(size_of: Callable[[Any], int], get: Callable[..., None], handle: Any) -> str:
    return _bytes(size_of, get, handle).decode(errors="replace").strip("\0 \n")
