"""What NVRTC would refuse of a source: compiled for CPU cores, it is refused as well."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kerneltk.cache.stand_ins import has_header
from kerneltk.cuda_cpp.includes import escaped
from kerneltk.cuda_cpp.options import without_directives
from kerneltk.cuda_cpp.syntax.cached import read_host_only
from kerneltk.cuda_cpp.syntax.declarations import DECLARED, MACRO, HostOnly
from kerneltk.errors import CompileError, Snippet, render_message

if TYPE_CHECKING:
    from kerneltk.cuda_cpp.source import RawSource

_MARK = "kerneltk: code of the host"
_MARKED = re.compile(rf"{_MARK} (\d+)")
_DEFAULT_DEVICE = re.compile(r"--?(?:default-device|device-as-default-execution-space)\Z")
_CPP20 = re.compile(r"--?std=(?:c|gnu)\+\+(?:2|[3-9])\w+\Z")
# What the option makes the device's, and what `load` leaves out or takes for the device's.
_UNANNOTATED = frozenset(
    ("function", "host function", "variable", "member", "lambda", "generic lambda")
)
_OF_STRINGS = frozenset(("without include", "header", "computed constant"))
_WORD = re.compile(r"[^\W\d]\w*")
# Macros that CPU cores' compiler and NVRTC define otherwise.
_DIFFERENT = re.compile(
    r"\b(?:__KERNELTK_HOST__|__GNU[CG]\w*|__clang__|_MSC_VER|_WIN32|__linux__|__unix__|__x86_64__"
    r"|__aarch64__|__has_\w+)\b"
)
# Headers of CUDA's toolkit; those that CPU cores do not have are an error of the compiler's.
_TOOLKIT = re.compile(
    r"(?:cu|nv|npp|cub/|thrust/|cute/|cutlass/|crt/|kerneltk/|cupy/|cooperative_groups|vector_"
    r"|device_|surface_|texture_|sm_\d|math_|channel_|host_|library_|driver_|fatbinary|builtin_"
    r"|common_functions|mma)"
)


class HostPart(NamedTuple):
    """Something that NVRTC would refuse, and the source that it is in."""

    source: RawSource
    found: HostOnly

    def error(self, title: str) -> CompileError:
        """Return the error for it."""
        from kerneltk.cuda_cpp.syntax.host_part.device_only import (
            explanation,  # only who has one needs it
        )

        sentence, hint = explanation(self.found)
        origin = self.source.name
        subject = f"The {origin} of kernel" if origin.isidentifier() else "Kernel"
        snippet = Snippet(origin, self.source.code, self.found.start, self.found.end)
        return CompileError(
            render_message(f"{subject} '{title}' does not compile: {sentence}.", snippet, hint=hint)
        )


def host_parts(source: RawSource) -> tuple[HostPart, ...]:
    """Return the code that NVRTC refuses in a source and its own headers, in the source's order."""
    sources = (source, *source.included)
    read = [read_host_only(one.code) for one in sources]
    annotated = {key for _, keys in read for key in keys}
    own = {key.removeprefix(DECLARED) for key in annotated if key.startswith(DECLARED)}
    directives, options = without_directives(source.options)
    macros = {word for line in directives for word in _WORD.findall(line)[1:2]}
    includes_more = len(sources) > 1 or any(line.startswith("#include") for line in directives)
    is_device = (
        source.has_host_code
        or source.compiler != "nvrtc"
        or any(map(_DEFAULT_DEVICE.match, options))
    )
    is_cpp20 = any(map(_CPP20.match, options))
    # A word before a name may be a macro of a header that is not read.
    has_unread = bool(source.unread_names())
    parts: list[HostPart] = []
    for one, (found, _) in zip(sources, read, strict=True):
        for part in found:
            is_excused = (
                (part.kind in _UNANNOTATED and is_device)
                or (
                    part.kind in ("annotated lambda", "computed constant")
                    and (source.has_host_code or source.compiler != "nvrtc")
                )
                or (part.kind in _OF_STRINGS and (source.has_host_code or includes_more))
                # Another header may declare a function of the name that is constexpr.
                or (part.kind == "computed value" and (includes_more or has_unread))
                or (bool(part.key) and not annotated.isdisjoint(_keys(part)))
                or not macros.isdisjoint((*part.words, part.name, "std"))
                or (has_unread and part.kind in _UNANNOTATED and bool(part.words))
                or (part.kind in ("extension", "128 bits") and source.compiler != "nvrtc")
                # `load` writes some in another way for NVRTC.
                or (
                    part.kind == "extension"
                    and source.has_host_code
                    and not part.name.startswith("_")
                )
                or (part.name.startswith(".") and is_cpp20)
                or (
                    part.kind == "128 bits"
                    and has_128_bits(part.name.rpartition("<")[2][:-1], options)
                )
                # Another header may declare the same name.
                or (
                    part.kind == "library"
                    and (
                        has_unread
                        or not own.isdisjoint((part.name, "std"))
                        or _has_open_brace(one.code)
                    )
                )
                # It may be the use of a macro, or a member of a class that a header has.
                or f"{MACRO}{part.name}" in annotated
                or (part.kind == "constant written" and len(sources) > 1)
                or _DIFFERENT.search(part.guard) is not None
                or not part.is_lasting
            )
            if not is_excused:
                parts.append(HostPart(one, part))
    if not source.has_host_code and source.compiler == "nvrtc":
        parts += _foreign_headers(sources)
    return tuple(parts)


def _has_open_brace(source: str) -> bool:
    """Return whether a source's code of the host is not known, since a brace is not closed."""
    from kerneltk.cuda_cpp.syntax.preprocess import open_brace  # only who has an error needs it

    return open_brace(source) >= 0


def has_128_bits(kind: str, options: Sequence[str]) -> bool:
    """Return whether options give NVRTC the type ``__int128`` or ``__float128``."""
    return any(re.fullmatch(rf"--?device-{kind}", option) for option in options)


def _keys(part: HostOnly) -> tuple[str, str]:
    """Return the names of declarations with an annotation that are of the same function: under
    no condition, or under the same.
    """
    return part.key, f"{part.guard}\n{part.key}"


def _foreign_headers(sources: Sequence[RawSource]) -> Iterator[HostPart]:
    """Yield the headers of the host's that are included and that NVRTC does not have."""
    for one in sources:
        for include in one.includes:
            is_known = (
                include.is_quoted
                or bool(include.guard)
                or _TOOLKIT.match(include.name) is not None
                or has_header(include.name, "nvrtc", "host")
                or include.name in sources[0].unread_names()
            )
            if not is_known:
                lines = one.code.split("\n")
                start = sum(len(line) + 1 for line in lines[: include.line - 1])
                at = one.code.find(include.name, start)
                if at >= 0:
                    found = HostOnly("header", include.name, at, at + len(include.name))
                    yield HostPart(one, found)


def checking_lines(parts: Sequence[HostPart]) -> list[str]:
    """Return lines that are errors where the preprocessor sees a part under its condition."""
    lines: list[str] = []
    for number, (source, found) in enumerate(parts):
        if found.guard:
            line = source.code.count("\n", 0, found.start) + 1
            lines += [f"#if {found.guard}", f'#line {line} "{escaped(source.name)}"']
            lines += [f'#error "{_MARK} {number}"', "#endif"]
    return ["#define __CUDACC_RTC__", *lines] if lines else []


def refused_part(log: str, parts: Sequence[HostPart]) -> HostPart | None:
    """Return the part that a compiler has found by one of those lines; None for none."""
    found = _MARKED.search(log)
    return parts[int(found[1])] if found and int(found[1]) < len(parts) else None


def is_device_function(source: RawSource, name: str) -> bool:
    """Return whether a name is of functions with an annotation, none of which is a kernel. Where a
    kernel in another namespace is called so, only a compiler knows: names have aliases, and inline
    namespaces and `using` bring others.
    """
    last = name.rpartition("::")[2]
    if any(kernel.name.rpartition("::")[2] == last for kernel in source.kernels):
        return False
    sources = (source, *source.included)
    keys = (found for one in sources for found in read_host_only(one.code)[1])
    return any(found.rpartition("\n")[2] == f"{last}(" for found in keys)
