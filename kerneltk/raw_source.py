"""A user's own CUDA C++ text, and the translation units that are made of it.

The text itself stays as it is, byte for byte. What is put around it asks for the kernels: on the
host an entry point for each, on both backends a description of its parameters.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kerneltk.errors import ArgumentValueError, BackendUnavailableError
from kerneltk.fingerprint import named_in_options
from kerneltk.raw_includes import Header, escaped, with_headers
from kerneltk.units import INCLUDE_DIRECTORY, BackendName, LinkInput, TranslationUnit

if TYPE_CHECKING:
    from kerneltk.cuda_source import DeclaredKernel, SourceSummary

__all__ = ["REQUESTS", "RawSource", "Request", "read_file"]

REQUESTS = "requested kernels"
"""The name that ``#line`` gives to the lines that ask for kernels and variables."""

# As a macro it would break `__attribute__((__noinline__))` in the C++ library's headers. The name
# in its place has the same length, so that columns stay.
_NO_INLINE = re.compile(r"(?<![(\w])__noinline__(?!\w)")
_EXPORTED = 'extern "C" __attribute__((visibility("default")))'
_HOST_HEADERS = ("host_grid.hpp", "host_device.hpp")
_HOST_INCLUDES = INCLUDE_DIRECTORY / "host"
_SHIMS = (_HOST_INCLUDES, INCLUDE_DIRECTORY / "nvrtc")


@dataclass(frozen=True, slots=True)
class Request:
    """Something that a unit's object code must offer.

    Parameters
    ----------
    expression : str
        A C++ name expression: ``"saxpy"``, ``"ns::f<float>"``.
    is_variable : bool
        Whether it names a variable instead of a kernel.
    guard : str
        The condition of the preprocessor under which it is declared; empty where there is none.
    """

    expression: str
    is_variable: bool = False
    guard: str = ""


@dataclass(frozen=True)
class RawSource:
    """CUDA C++ text and how it is compiled.

    Parameters
    ----------
    code : str
        The text.
    name : str
        What messages call it: a file's name, or ``"code"``.
    options : tuple of str
        Compile options.
    compiler : {"nvrtc", "nvcc"}
    directory : str
        Where names in quotes are looked for first; empty for the working directory.
    has_host_code : bool
        Whether functions that run on the host may stand in the text, which are left out.
    links : tuple of LinkInput
        Object code for GPUs that the text is linked with.
    """

    code: str
    name: str
    options: tuple[str, ...] = ()
    compiler: str = "nvrtc"
    directory: str = ""
    has_host_code: bool = False
    links: tuple[LinkInput, ...] = ()

    @cached_property
    def summary(self) -> SourceSummary:
        """What the text declares."""
        from kerneltk.cuda_source import read_source  # loads the parser

        return read_source(self.code)

    @cached_property
    def included(self) -> tuple[RawSource, ...]:
        """The user's own headers that are included, directly or not."""
        return tuple(header for header in self._headers.values())

    @cached_property
    def _headers(self) -> dict[str, RawSource]:
        """The user's own headers by their paths."""
        found: dict[str, RawSource] = {}
        pending: list[RawSource] = [self]
        for source in pending:
            for include in source.summary.includes:
                path = self._path_of(source, include.name, include.is_quoted)
                if path is not None and path not in found:
                    found[path] = read_file(Path(path), self.options)
                    pending.append(found[path])
        return found

    def _path_of(self, source: RawSource, name: str, is_quoted: bool) -> str | None:
        """Return the path of a header that is the user's own: beside the file, or found by its
        name in quotes in a directory that the options name.
        """
        if not is_quoted or any((place / name).is_file() for place in _SHIMS):
            return None
        directories = named_in_options(self.options)[0] if self.has_host_code else []
        for directory in (source.directory, self.directory, *directories):
            path = os.path.normpath(os.path.join(directory, name))
            if os.path.isfile(path):
                return path
        return None

    def _find_header(self, source: RawSource, name: str, is_quoted: bool) -> Header | None:
        path = self._path_of(source, name, is_quoted)
        if path is None:
            return None
        return Header(path, self._headers[path])

    @property
    def kernels(self) -> tuple[DeclaredKernel, ...]:
        """The kernels that the text and its own headers declare."""
        return tuple(
            kernel for source in (self, *self.included) for kernel in source.summary.kernels
        )

    def declared(
        self, expression: str, count: int | None
    ) -> tuple[RawSource, DeclaredKernel] | None:
        """Return the declaration that a name expression means, and the text that it is in.

        Of several with that name, the one with `count` parameters.
        """
        plain = expression.partition("<")[0].strip().removeprefix("::")
        found = [
            (source, kernel)
            for source in (self, *self.included)
            for kernel in source.summary.kernels
            if kernel.name == plain
        ]
        for pair in found:
            if count is None or len(pair[1].parameters) == count:
                return pair
        return None

    @cached_property
    def _text(self) -> str:
        """The text as it is compiled."""
        if not self.has_host_code:
            return self.code
        from kerneltk.cuda_source import blank_host_code, read_source

        text = with_headers(self, self._find_header)
        summary = self.summary if text == self.code else read_source(text)
        return blank_host_code(text, summary)

    def unit(self, backend: BackendName, requests: Sequence[Request]) -> TranslationUnit:
        """Return the translation unit that offers what is requested."""
        host = backend == "host"
        if host and self.links:
            raise BackendUnavailableError(
                f"'{self.name}' is linked with object code for GPUs and cannot run on CPU cores."
            )
        lines, exports, reflected = [], [], []
        # Object codes that are linked to one another must not share a name.
        own = "" if host else f"{zlib.crc32(repr((self.code, self.options)).encode()):08x}_"
        by_nvcc = self.compiler == "nvcc" and not host
        for number, request in enumerate(requests):
            name = request.expression
            lines += [f"#if {request.guard}"] if request.guard else []
            lines.append(f'#line {number + 1} "{REQUESTS}"')
            if request.is_variable:
                symbol, reflect = f"_kt_variable_{own}{number}", "KERNELTK_REFLECT_VARIABLE"
                offer = f"{_EXPORTED} void* const {symbol} = (void*)&{name};"
                exports.append((f"&{name}", symbol if host or by_nvcc else ""))
            else:
                symbol, reflect = f"_kt_entry_{own}{number}", "KERNELTK_REFLECT"
                offer = f"KERNELTK_ENTRY({symbol}, ({name}))"
                exports.append((name, symbol if host or by_nvcc else ""))
            if by_nvcc:
                offer = f"KERNELTK_ADDRESS({symbol}, ({name}))"
            reflected.append((name, f"{symbol}_type"))
            line = f"{reflect}({symbol}_type, ({name}))"
            lines.append(f"{offer} {line}" if host or by_nvcc else line)
            lines += ["#endif"] if request.guard else []
        head = "#include <kerneltk/reflect.hpp>\n"
        options = self.options + ((f"-I{self.directory}",) if self.directory else ())
        if host:
            head = "".join(f"#include <kerneltk/{name}>\n" for name in _HOST_HEADERS) + head
            options += (f"-I{_HOST_INCLUDES}",)
            for source in (self, *self.included):
                for shared in source.summary.dynamic_shared:
                    lines += [f"#if {shared.guard}"] if shared.guard else []
                    lines.append(f'KERNELTK_DYNAMIC_SHARED("{shared.symbol}")')
                    lines += ["#endif"] if shared.guard else []
        elif self.has_host_code and not by_nvcc:
            # Functions without an annotation are the host's to nvcc; here they serve kernels.
            options += ("--device-as-default-execution-space",)
        if self.has_host_code and not by_nvcc:
            head += "#include <_kt_implicit.h>\n"
        body = self.code if by_nvcc else self._text
        if host:
            body = _NO_INLINE.sub("_kt_noinline", body)
            head += "#define _kt_noinline __attribute__((noinline))\n"
            if any(_NO_INLINE.search(source.code) for source in self.included):
                head += "#define __noinline__ _kt_noinline\n"
        shown = escaped(self.name)
        asked = "\n".join(lines)
        text = f'{head}#line 1 "{shown}"\n{body}\n{asked}\n'
        origins = [(self.name, self.code)]
        origins += [(source.name, source.code) for source in self.included]
        kernels = [request.expression for request in requests if not request.is_variable]
        return TranslationUnit(
            backend,
            text,
            "",
            options,
            tuple(origins),
            kernels[0] if len(kernels) == 1 else self.name,
            False,
            tuple(exports),
            tuple(reflected),
            True,
            "nvcc" if by_nvcc else "nvrtc",
            self.links,
        )

    def with_options(self, *options: str) -> RawSource:
        """Return the same text with further options."""
        return replace(self, options=(*self.options, *options))


def read_file(
    path: Path,
    options: tuple[str, ...] = (),
    *,
    compiler: str = "nvrtc",
    links: tuple[LinkInput, ...] = (),
) -> RawSource:
    """Read a text from a file.

    Raises
    ------
    ArgumentValueError
        There is no such file.
    """
    try:
        code = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise ArgumentValueError(f"'{path}' cannot be read: {error.strerror}.") from error
    directory = str(path.resolve().parent)
    return RawSource(code, path.name, options, compiler, directory, True, links)
