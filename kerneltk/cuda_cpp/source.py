"""A user's own CUDA C++ source, and the translation units that are made of it.

The source itself stays as it is, byte for byte. What is put around it asks for the kernels: on the
host an entry point for each, on both backends a description of its parameters.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kerneltk.cache.debug_files import keep
from kerneltk.cache.fingerprint import content_digest, named_in_options
from kerneltk.cache.stand_ins import has_header
from kerneltk.codegen.real_overloads import HEADER, real_overloads
from kerneltk.core.artifacts import (
    BackendName,
    Capabilities,
    LinkInput,
    TranslationUnit,
    names_standard,
)
from kerneltk.core.lexer import NO_INLINE, blanked, foreign_headers, joined_lines, uses_textures
from kerneltk.core.records import cached_property, record
from kerneltk.core.settings import get_settings
from kerneltk.cuda_cpp.includes import Header, escaped, with_headers
from kerneltk.cuda_cpp.nvrtc.host_parts import HostPart, checking_lines, has_128_bits, host_parts
from kerneltk.cuda_cpp.options import bytes_of, without_directives
from kerneltk.cuda_cpp.requests import Request, lines_for_gpus, title_of
from kerneltk.cuda_cpp.rewrites.launch_bounds import bound_of
from kerneltk.cuda_cpp.rewrites.passes import MACRO_PRAGMA, VOLATILE_WORDS, device_source
from kerneltk.cuda_cpp.structs.layout import Layout, layouts_of
from kerneltk.cuda_cpp.syntax.cached import (
    read_directives,
    read_source,
    read_structs,
)
from kerneltk.cuda_cpp.syntax.declarations import DeviceSource, RewriteTarget
from kerneltk.cuda_cpp.syntax.host_part.libraries import is_host_library, serves_devices
from kerneltk.errors import BackendUnavailableError
from kerneltk.object_code.symbols import demangled, has_types

if TYPE_CHECKING:
    from kerneltk.cuda_cpp.syntax.declarations import (
        CompilerErrors,
        DeclaredKernel,
        DynamicShared,
        Include,
        Refusals,
        SourceSummary,
    )
    from kerneltk.object_code.reflection import ParameterType

_BYTE_ORDER_MARK = "\ufeff"
_LISTS = re.compile(r"\binitializer_list\b|:\s*\{|\bauto\b[^;()]*\{")
_MOVES = re.compile(r"\bstd\s*::\s*(?:move|forward)\b")
_TUPLES = re.compile(r"\bstd\s*::\s*(?:make_)?tuple\b")  # which other headers bring
# What linkers and loaders look for by these names is none of the user's.
_LINKER_NAMES = re.compile(
    r"(?<!\w)(?:_init|_fini|_start|_DYNAMIC|_GLOBAL_OFFSET_TABLE_|_PROCEDURE_LINKAGE_TABLE_"
    r"|__tls_get_addr|__gmon_start__|_ITM_(?:de)?registerTMCloneTable|__cxa_finalize)(?!\w)"
)
_WORD = re.compile(r"\b(?:tex|surf|cuda)[A-Z0-9]\w*")  # of which some are names of textures
_EXPORTED = 'extern "C" __attribute__((__visibility__("default")))'
_HOST_HEADERS = ("host_grid.hpp", "host_device.hpp", "host_ends.hpp")

# Libraries of headers for device code: the compiler finds them by itself.
_DEVICE_LIBRARIES = ("cub", "thrust", "cuda", "nv", "cutlass", "cute", "cooperative_groups", "crt")
# What headers of the host's libraries bring for device code, by CUDA's header that has it.
_TYPES = {
    "cuda_fp16.h": ("__half", "__half2", "half", "half2"),
    "cuda_bf16.h": ("__nv_bfloat16", "__nv_bfloat162", "nv_bfloat16", "nv_bfloat162"),
    "cuComplex.h": ("cuComplex", "cuFloatComplex", "cuDoubleComplex"),
    "cfloat": ("FLT_MAX", "FLT_MIN", "FLT_EPSILON", "DBL_MAX", "DBL_MIN", "DBL_EPSILON"),
    "climits": ("CHAR_BIT", "INT_MAX", "INT_MIN", "UINT_MAX", "LONG_MAX", "LONG_MIN", "ULONG_MAX",
                "LLONG_MAX", "LLONG_MIN", "ULLONG_MAX", "SHRT_MAX", "USHRT_MAX"),
    "array": ("array",),
    "tuple": ("tuple", "make_tuple", "tie"),
    "vector": ("vector",),
    "string": ("string", "to_string"),
    "optional": ("optional", "nullopt"),
    "unordered_map": ("unordered_map",),
    "iterator": ("forward_iterator_tag", "random_access_iterator_tag"),
}  # fmt: skip
_TORCH = ("torch/", "ATen/", "c10/", "THC/")
# Of its headers that only some files include, and whose macros others define themselves.
_TORCH_LOOPS = ("CUDA_KERNEL_LOOP", "CUDA_KERNEL_LOOP_TYPE")
_TORCH_COMPLEX = re.compile(r"\bc10\s*::\s*complex\b")
_TORCH_LIMITS = re.compile(r"\bat\s*::\s*numeric_limits\b")
_TORCH_TYPES = ("at", "c10", "torch", "C10_HOST_DEVICE", "C10_DEVICE", "C10_LAUNCH_BOUNDS_1",
                "C10_LAUNCH_BOUNDS_2", "C10_ALWAYS_INLINE", "C10_RESTRICT", "C10_LIKELY",
                "C10_UNLIKELY", "C10_WARP_SIZE", "CUDA_KERNEL_ASSERT", "gpuAtomicAdd",
                "gpuAtomicAddNoReturn", "WARP_SHFL", "WARP_SHFL_UP", "WARP_SHFL_DOWN",
                "WARP_SHFL_XOR", "WARP_BALLOT", "WARP_ANY", "WARP_ACTIVE")  # fmt: skip
# Characters of a header, and how often it names the C++ library for each so many, if it is one of
# the libraries for the host that are a single header.
_LARGE, _MANY = 100_000, 50
_CLASS = re.compile(r"\b(?:struct|class|define)\s+\Z")
_CALLED = re.compile(r"\b([a-z]\w*)\s*\(")
_CUDA_WORD = re.compile(r"__(?:device|global|host|CUDA)\w*__")
_BY_MACRO = re.compile(r"^[ \t]*(?:#|%:)[ \t]*include[ \t]+[^\W\d]\w*", re.MULTILINE)
_MAYBE_BY_MACRO = re.compile(r"include[ \t]+[^\W\d]")  # a search for letters is fast
_DIRECTIVE = re.compile(
    r"^[ \t]*#[ \t]*(?:define[ \t]+(?P<name>\w+)(?P<meant>[^\n#]*)"
    r"|(?:include|undef|if|ifdef|ifndef|elif|else|endif|pragma|error|line)\b[^\n#]*)$",
    re.MULTILINE,
)
_DEFINES = re.compile(r"[ \t]*(?:#|%:)[ \t]*define\b")
_DIRECTIVE_MARKS = ("#", "%:", "??=")
# What a rewrite for CPU cores may be for: a header that has one is put into the source.
_REWRITTEN = (*VOLATILE_WORDS, "asm", "alignas", "__launch_bounds__")
_DEFINING = re.compile(r"-[DU]|--?(?:un)?define")
# Escapes may spell an identifier, and PTX reads parameters by names of its own.
_HIDES_NAMES = re.compile(r"\\|\basm\b|\b__asm")
_FILE = re.compile(r"[\w/.-]*\w\.\w+")
# What a host compiler says of numbers by itself, and NVRTC does not.
_PREDEFINED = re.compile(
    r"\b__(?:BYTE_ORDER|ORDER_\w+_ENDIAN|FLOAT_WORD_ORDER|CHAR_BIT|SIZEOF_\w+|\w+_(?:MAX|TYPE|MIN"
    r"|EPSILON|DIG|RADIX))__\b"
)
_HAS_INT128 = "__SIZEOF_INT128__"  # NVRTC defines it with '--device-int128' only
# What brings CUDA's own definitions of uint64_t and timespec for NVRTC.
_CUDA_STD = (
    "cuda/", "cub/", "thrust/", "cutlass/", "cute/", "curand_kernel.h", "cuda_pipeline",
    "cuda_awbarrier", "cooperative_groups/memcpy_async",
)  # fmt: skip


def _has_stand_in(name: str) -> bool:
    """Whether the package has a header of that name in the place of CUDA's or the C++ library's."""
    return has_header(name, "host", "nvrtc")


def _is_of_host(header: str) -> bool:
    """Whether a header is a large library of C++ for the host."""
    return (
        len(header) > _LARGE
        and _CUDA_WORD.search(header) is None
        and header.count("std::") > len(header) // _LARGE * _MANY
    )


@cache
def _is_of_toolkit(directory: str) -> bool:
    """Whether a directory has the headers of CUDA's toolkit."""
    return os.path.isfile(os.path.join(directory, "cuda_runtime.h"))


def _uses(source: str, name: str) -> Iterator[int]:
    """Yield where a name stands in a source: in a large one ten times as fast as by a pattern."""
    position = source.find(name)
    while position >= 0:
        end = position + len(name)
        before, behind = source[max(position - 1, 0) : position], source[end : end + 1]
        if not _is_in_word(before) and not _is_in_word(behind):
            yield position
        position = source.find(name, end)


def _is_in_word(character: str) -> bool:
    return character == "_" or character.isalnum()


def _is_named(source: str, names: Iterable[str]) -> bool:
    return any(next(_uses(source, name), -1) >= 0 for name in names)


def _is_declared(source: str, names: Iterable[str]) -> bool:
    """Return whether a source has a class or a macro of one of these names."""
    uses = (use for name in names for use in _uses(source, name))
    return any(_CLASS.search(source, max(use - 40, 0), use) for use in uses)


def plain_name(expression: str) -> str:
    """Return a name expression without template arguments, of a mangled name its function:
    ``"ns::f"`` of ``"ns::f<float>"``.
    """
    # Asked here, too, so that first calls of other kernels do not enter the module of symbols.
    name = demangled(expression)[0] if expression.startswith("_Z") else expression
    return name.partition("<")[0].strip()


@record(slots=False)
class RawSource:
    """CUDA C++ source and how it is compiled."""

    code: str  # the source
    name: str  # what messages call it: a file's name, or ``"code"``
    options: tuple[str, ...] = ()  # compile options
    compiler: str = "nvrtc"
    # Where names in quotes are looked for first; empty for the working directory.
    directory: str = ""
    # Whether functions that run on the host may stand in the source, which are left out.
    has_host_code: bool = False
    links: tuple[LinkInput, ...] = ()  # object code for GPUs that the source is linked with
    # Whether what device code does not refer to is compiled, since a template's arguments name it.
    keeps_spare: bool = False
    # The source with its headers, without code of the host that a compiler refuses; empty for none.
    reduced: str = ""

    @cached_property
    def summary(self) -> SourceSummary:
        """What the source declares."""
        return read_source(self.code)

    @cached_property
    def includes(self) -> tuple[Include, ...]:
        """The headers that the source includes. Without kernels, whose declarations are wanted
        anyway, they are found without a look at any.
        """
        has_kernels = "__global__" in self.code
        return self.summary.includes if has_kernels else read_directives(self.code).includes

    @cached_property
    def once(self) -> tuple[tuple[int, int, bool], ...]:
        """The characters of each ``#pragma once``, and whether the compiler always sees it."""
        return read_directives(self.code).once if "once" in self.code else ()

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
            for include in source.includes:
                path = self._path_of(source, include)
                if path is not None and path not in found:
                    found[path] = read_file(Path(path), self.options)
                    if _is_of_host(found[path].code):
                        found[path] = replace(found[path], code="")
                    pending.append(found[path])
        return found

    def _path_of(self, source: RawSource, include: Include) -> str | None:
        """Return the path of a header that is the user's own: beside the file, or found by its
        name in a directory that the options name, in angle brackets for files only.
        """
        if not include.is_quoted and not self.has_host_code:
            return None
        own = source.path if include.is_next else ""
        asked = source.directory if include.is_quoted else "", include.name, own
        if asked not in self._paths:
            self._paths[asked] = self._find_path(*asked, include.is_quoted)
        return self._paths[asked]

    @cached_property
    def _paths(self) -> dict[tuple[str, str, str], str | None]:
        """The user's own headers, by directory, name and whom they are behind; they stay as they
        were found.
        """
        return {}

    def _find_path(self, directory: str, name: str, behind: str, is_quoted: bool) -> str | None:
        """Return the path of a header in quotes in a file of this directory, or in angle brackets:
        of all that are found, the first, or the one behind a certain one.
        """
        places = self._directories(directory, name, is_quoted)
        paths = (os.path.abspath(os.path.join(place, name)) for place in places)
        found = list(filter(os.path.isfile, paths))
        if behind in found:
            found = found[found.index(behind) + 1 :]
        return found[0] if found else None

    def _directories(self, directory: str, name: str, is_quoted: bool) -> Iterator[str]:
        """Yield where headers of a name may be the user's own, in the order of compilers."""
        beside = directory or os.getcwd()
        if is_quoted and not _is_of_toolkit(beside):
            yield beside
        if has_header(name, "host"):
            return  # CUDA's
        is_of_devices = name.partition("/")[0] in _DEVICE_LIBRARIES or serves_devices(name)
        if not is_quoted and (is_of_devices or is_host_library(name, by_folder=True)):
            return
        if _has_stand_in(name):
            return  # the C++ library's, unless it is beside the file
        # Where compilers look at last is the main file's directory.
        named = () if is_of_devices else named_in_options(self.options)[0]
        for place in (*named, self.directory):
            if place and not _is_of_toolkit(place):
                yield place

    @property
    def path(self) -> str:
        """Where it is; of a source from a string, its name."""
        return os.path.abspath(os.path.join(self.directory, self.name))

    def _find_header(self, source: RawSource, include: Include) -> Header | None:
        path = self._path_of(source, include)
        if path is None:
            return None
        return Header(os.path.realpath(path), self._headers[path])

    def _is_for_both(self, name: str) -> bool:
        """Return whether a header is there, of a library that device code can use as well."""
        directories = named_in_options(self.options)[0] if serves_devices(name) else ()
        return any(os.path.isfile(os.path.join(path, name)) for path in directories)

    @property
    def kernels(self) -> tuple[DeclaredKernel, ...]:
        """The kernels that the source and its own headers declare."""
        return tuple(kernel for source in self._with_kernels for kernel in source.summary.kernels)

    @cached_property
    def _with_kernels(self) -> tuple[RawSource, ...]:
        """The source and its own headers, as far as they may declare kernels: who does writes
        ``__global__``, and the others need not be read for that.
        """
        return tuple(s for s in (self, *self.included) if s is self or "__global__" in s.code)

    @property
    def declarations(self) -> tuple[SourceSummary, ...]:
        """What the source declares with its own headers."""
        if self.has_host_code:
            return (self._whole_summary,)
        return tuple(source.summary for source in (self, *self.included))

    @cached_property
    def dynamic_shared(self) -> tuple[DynamicShared, ...]:
        """The ``extern __shared__`` arrays of the source and its own headers."""
        read = self.declarations
        if self._spells_shared:
            lines = without_directives(self.options)[0]
            codes = (
                [self.expanded] if self.has_host_code else [s.code for s in (self, *self.included)]
            )
            read = tuple(read_source("\n".join((*lines, code))) for code in codes)
        return tuple(shared for one in read for shared in one.dynamic_shared)

    @property
    def _spells_shared(self) -> bool:
        """Whether a macro of the options may stand for words of an ``extern __shared__`` array."""
        return any(word in option for option in self.options for word in ("shared", "extern"))

    @cached_property
    def _users_of_shared(self) -> frozenset[str] | None:
        """The kernels that can use dynamic shared memory; None where any of them can: where code
        outside kernels mentions ``__shared__``, or a macro of the options may.
        """
        if self._spells_shared:
            return None
        users = set()
        for source in (self, *self.included):
            spans = [(k.start, k.end, k.name) for k in source.summary.kernels if k.is_definition]
            for word in re.finditer("__shared__", source.code):
                names = {name for start, end, name in spans if start <= word.start() < end}
                if not names:
                    return None
                users |= names
        return frozenset(users)

    def declared(
        self, expression: str, count: int | None
    ) -> tuple[RawSource, DeclaredKernel] | None:
        """Return the declaration that a name expression means, and the source that it is in."""
        return next(iter(self._meant(expression, count)), None)

    def _meant(
        self, expression: str, count: int | None = None
    ) -> list[tuple[RawSource, DeclaredKernel]]:
        """Return the declarations that a name expression may mean: those with `count` parameters,
        and of several those with a mangled name's.
        """
        plain = plain_name(expression).removeprefix("::")
        found = [
            (source, kernel)
            for source in self._with_kernels
            for kernel in source._by_name.get(plain, ())
            if count is None or len(kernel.parameters) == count
        ]
        if len(found) > 1 and demangled(expression)[0] != expression:
            return [f for f in found if has_types(expression, [p.type for p in f[1].parameters])]
        return found

    def whole_name(self, name: str) -> str:
        """Return the whole name of a kernel: one with C linkage is called by its symbol, too, which
        does not have its namespaces.
        """
        if not (name.isidentifier() and "namespace" in self.code and "extern" in self.code):
            return name
        kernels = {kernel.name: kernel for kernel in self.kernels}
        inside = (own for own, k in kernels.items() if k.is_extern_c and own.endswith(f"::{name}"))
        return name if name in kernels else next(inside, name)

    @cached_property
    def _by_name(self) -> dict[str, list[DeclaredKernel]]:
        """The source's own declarations of kernels: a module may have hundreds."""
        found: dict[str, list[DeclaredKernel]] = {}
        for kernel in self.summary.kernels:
            found.setdefault(kernel.name, []).append(kernel)
        return found

    def layout_of(self, kind: ParameterType) -> Layout | None:
        """Return the fields of a struct of the source's; None where they are not known."""
        if kind.kind != "struct":
            return None
        return self._find_layout(kind.name, kind.size, kind.alignment)

    @cached_property
    def _find_layout(self) -> Callable[[str, int, int], Layout | None]:
        read = [read_structs(source.code) for source in (self, *self.included)]
        structs = [struct for found, _ in read for struct in found]
        return layouts_of(structs, [pair for _, aliases in read for pair in aliases])

    def names_again(self, expression: str, parameter: str) -> bool:
        """Return whether a kernel's source names a parameter behind its declaration, or may do so
        in a way that is not seen: by a macro, a header, another declaration, or inline PTX.
        """
        found = self._by_name.get(plain_name(expression).removeprefix("::"), [])
        macros = self._macros
        if len(found) != 1 or macros is None:
            return True
        kernel = found[0]
        at = next((p for p in kernel.parameters if p.name == parameter), None)
        if at is None:
            return True
        body = self.code[at.end : kernel.end]
        names = {parameter, *(m for m, meant in macros if _HIDES_NAMES.search(meant))}
        more = [parameter]
        while more:  # the macros that name it, by others too
            more = [m for m, meant in macros if m not in names and _is_named(meant, names)]
            names.update(more)
        return _HIDES_NAMES.search(body) is not None or _is_named(blanked(body), names)

    @cached_property
    def _macros(self) -> list[tuple[str, str]] | None:
        """The macros that the source defines, and what they stand for. None where others are
        possible: an option defines or includes, a header that neither the package nor CUDA has, a
        macro makes names, a directive is spelt by digraphs.
        """
        directories, files = named_in_options(self._options())
        if files or self.included or any(map(_DEFINING.search, self.options)):
            return None
        plain = blanked(joined_lines(self.code))
        found = list(_DIRECTIVE.finditer(plain))
        if plain.count("#") != len(found) or any(mark in plain for mark in _DIRECTIVE_MARKS[1:]):
            return None
        if any(
            include.is_quoted
            or not _has_stand_in(include.name)
            or _first_file(directories, include.name) is not None
            for include in self.includes
        ):
            return None
        return [(directive["name"], directive["meant"]) for directive in found if directive["name"]]

    def declares(self, expression: str) -> bool:
        """Whether the source declares the kernel of a name expression, or a mangled name."""
        name = plain_name(expression)
        return any(kernel.name == name for kernel in self.kernels)

    def may_declare(self, name: str) -> bool:
        """Return whether the source could declare something of a name in a way that is not seen: by
        a macro that makes names, in a header that is not read.
        """
        sources = [source.code for source in (self, *self.included)]
        last = re.escape(name.rpartition("::")[2])
        pattern = re.compile(rf"(?<!\w){last}(?!\w)|##")
        return any(pattern.search(code) for code in (*sources, *self.options))

    def _device_source(
        self,
        is_host: bool,
        *,
        instantiated: Sequence[str] = (),
        is_bare: bool = False,
        refused: Refusals | None = None,
    ) -> DeviceSource:
        """The source as it is compiled for CPU cores or by NVRTC; that of `Refusals` in its place.

        Parameters
        ----------
        instantiated, is_bare
            As `RewriteTarget` has them.
        """
        directives = tuple(without_directives(self.options)[0])
        target = RewriteTarget(
            is_host,
            escaped(self.name),
            self.has_host_code and refused is None,
            self.keeps_spare,
            directives,
            tuple(instantiated),
            is_bare,
        )
        whole = self._whole_source if is_bare or self._needs_headers(is_host) else self.code
        source = refused.source if refused else whole
        return device_source(source.removeprefix(_BYTE_ORDER_MARK), target)

    def _needs_headers(self, is_host: bool) -> bool:
        """Whether the user's own headers are put into the source, since there may be something to
        rewrite in them or, with macros and templates, by their names.
        """
        headers = [header.code for header in self.included]
        if self.has_host_code or any(map(MACRO_PRAGMA.search, headers)):
            return True
        if not is_host:
            return any("push_macro" in code for code in headers)
        sources = (self.code, *self.options)
        return any(word in code for code in headers for word in _REWRITTEN) or any(
            word in code for code in sources for word in VOLATILE_WORDS
        )

    @cached_property
    def expanded(self) -> str:
        """The source with the user's own headers in it."""
        return self.reduced or with_headers(self, self._find_header, self._is_for_both)

    @cached_property
    def _whole_summary(self) -> SourceSummary:
        """What the source declares with its own headers."""
        return self.summary if self.expanded == self.code else read_source(self.expanded)

    def _missing_headers(self, source: str) -> tuple[str, ...]:
        """The lines that include CUDA's headers for what the source names, as it is compiled, and
        no header is left for: those of the host's libraries bring them.
        """
        includes = self._whole_summary.includes
        if not any(is_host_library(include.name) for include in includes):
            return ()
        included = {include.name for include in includes if not include.guard}
        lines = [
            f"#include <{header}>"
            for header, names in _TYPES.items()
            if header not in included
            and _is_named(source, names)
            and not _is_declared(source, names)
        ]
        is_extension = any(include.name.startswith(_TORCH) for include in includes)
        if is_extension and _is_named(source, _TORCH_TYPES):
            needed = ["cuda_fp16.h", "cuda_bf16.h", "tuple", "kerneltk/torch_types.hpp"]
            # Not for all: with `using` directives the name may be ambiguous.
            if _TORCH_LIMITS.search(source) or any(
                i.name == "ATen/NumericLimits.cuh" for i in includes
            ):
                needed.append("kerneltk/torch_limits.hpp")
            if _TORCH_COMPLEX.search(source):
                needed += ["thrust/complex.h", "_kt_torch_complex.h"]
            lines += [f"#include <{header}>" for header in needed]
        has_loops = is_extension and _is_named(source, _TORCH_LOOPS)
        if has_loops and not _is_declared(source, _TORCH_LOOPS):
            lines.append("#include <_kt_torch_loops.h>")
        return tuple(lines)

    @cached_property
    def _own_integers(self) -> dict[str, tuple[str, bool]]:
        """The integer types of the C library that the source defines itself, as sources for NVRTC
        may: what they are, and whether the library's are the same.
        """
        sources = (self.code, *(header.code for header in self.included))
        if not any("typedef" in code or "using" in code for code in sources):
            return {}
        # Only who may define one needs it.
        from kerneltk.cuda_cpp.syntax.preprocessor.integers import own_integers

        return {own[0]: own[1:] for code in sources for own in own_integers(code)}

    @property
    def _whole_source(self) -> str:
        """The source with the user's own headers in it."""
        return self.expanded if self.has_host_code else with_headers(self, self._find_header)

    def without(
        self, known: CompilerErrors, new: CompilerErrors
    ) -> tuple[Refusals, CompilerErrors] | None:
        """Return the source for CPU cores without the functions that a compiler refuses there, as
        `with_refusals`.
        """
        # Only who has what CPU cores lack needs it.
        from kerneltk.cuda_cpp.syntax.refusals import with_refusals

        source = self._device_source(is_host=True, is_bare=True).code
        return with_refusals(source, self.name, known, new, _has_stand_in)

    def without_host_errors(self, errors: CompilerErrors) -> RawSource | None:
        """Return the source without the code of the host that a compiler has found errors in; None
        where there is no error in such code.
        """
        # Only who has an error needs it.
        from kerneltk.cuda_cpp.syntax.host_part.refused_code import without_refused_host_code

        found = without_refused_host_code(self.expanded, self.name, errors)
        return None if found is None else self.reduced_to(found)

    def without_headers_of(self, libraries: Collection[str]) -> RawSource | None:
        """Return the source without the lines that include some libraries; None for no such lines.

        Device code that needs them does not compile then either.
        """
        names = "|".join(sorted(libraries))
        found = re.sub(
            rf"^[ \t]*#[ \t]*include[ \t]*<(?:{names})/[^>\n]*>",
            "",
            self.expanded,
            flags=re.MULTILINE,
        )
        return self.reduced_to(found) if libraries and found != self.expanded else None

    def reduced_to(self, expanded: str) -> RawSource:
        """Return the source with less of its text, headers in it, and the headers as they are."""
        return self._with_headers_of(replace(self, reduced=expanded))

    def _warnings(self, found: DeviceSource) -> tuple[str, ...]:
        """What the source's user is warned of on CPU cores."""
        return (
            *(
                f"{header.where}: lanes of a warp do not meet before accesses to volatile memory "
                f"in '{header.name}' or by its names.\n  Hint: {header.hint}."
                for header in self._unread_headers()
                if read_directives(read_file(Path(header.path)).code).has_volatile
            ),
            *(
                f"'{load.file or self.name}', line {load.line}: nothing orders '{load.loaded}' "
                f"behind another lane's store to '{load.stored}', and lanes of a warp do not run "
                "in step there.\n  Hint: put '__syncwarp()' between them, or make the memory "
                "'volatile'."
                for load in found.unordered
            ),
            *(
                f"'{access.file or self.name}', line {access.line}: lanes of a warp do not meet "
                f"before an access to volatile memory {access.reason}, and do not run in step "
                "there.\n  Hint: put '__syncwarp()' before it."
                for access in found.unmarked
            ),
        )

    def _unread_headers(self) -> Iterator[UnreadHeader]:
        """Yield the headers that stay as they are, so that accesses to volatile memory in them have
        no points: in angle brackets, in options, by macros.
        """
        directories = named_in_options(self.options)[0]
        paths: dict[str, str | None] = {}
        for source in (self, *self.included):
            for include in source.includes if directories else ():
                if include.is_quoted or _has_stand_in(include.name):
                    continue
                if self._path_of(source, include) is not None:
                    continue
                if include.name not in paths:
                    paths[include.name] = _first_file(directories, include.name)
                path = paths[include.name]
                if path is not None:
                    where = f"'{source.name}', line {include.line}"
                    yield UnreadHeader(where, include.name, path, "include it in quotes")
        for name in named_in_options(self.options)[1]:
            if os.path.isfile(name):
                hint = "include it in the source, in quotes"
                yield UnreadHeader("compile options", name, name, hint)
        for source in (self, *self.included):
            for name, line in _computed_names(source.code, self.options):
                places = (source.directory, *directories, self.directory or os.getcwd())
                path = _first_file(filter(None, places), name)
                if path is not None:
                    hint = "write its name in the line that includes it, in quotes"
                    yield UnreadHeader(f"'{source.name}', line {line}", name, path, hint)

    @cached_property
    def host_parts(self) -> tuple[HostPart, ...]:
        """What NVRTC would refuse of the source: CPU cores refuse it as well."""
        return host_parts(self)

    def unread_names(self) -> frozenset[str]:
        """The names of the user's headers that stay as they are."""
        return frozenset(header.name for header in self._unread_headers())

    def inputs(self) -> tuple[str, ...]:
        """All that decides a unit of this source beside what is requested, which also decides
        `keeps_spare`: itself and its headers as they were read, and what is found of others where
        it is put together.
        """
        sources = (self, *self.included)
        includes = {(i.name, i.is_quoted) for source in sources for i in source.includes}
        others = sorted(name for name, is_quoted in includes if not is_quoted)
        is_anywhere = not self.directory and any(is_quoted for _, is_quoted in includes)
        found = [
            *(self.code, self.name, self.directory, self.compiler, self.reduced),
            os.getcwd() if is_anywhere else "",
            repr((self.has_host_code, self.options, without_directives(self._options()))),
            repr([(link.kind, link.name, sha256(link.code).hexdigest()) for link in self.links]),
            repr(list(self._paths.items())),
            repr([(name, _has_stand_in(name), self._is_for_both(name)) for name in others]),
            repr([(*header, content_digest(header.path)) for header in self._unread_headers()]),
        ]
        directories: dict[str, str] = {}
        for path, header in self._headers.items():
            found += [path, _real_path(path, directories)]
            found += [header.name, header.directory, header.code]
        return tuple(found)

    def unit(
        self, backend: Capabilities, requests: Sequence[Request], refused: Refusals | None = None
    ) -> TranslationUnit:
        """Return the translation unit that offers what is requested, on CPU cores without what they
        have `refused`.
        """
        if backend.emulates_cuda:
            return self._host_unit(backend.name, requests, refused)
        # Object codes that are linked to one another must not share a name.
        own = f"{zlib.crc32(repr((self.code, self.options)).encode()):08x}_"
        by_nvcc = self.compiler == "nvcc"
        codes = (source.code for source in (self, *self.included))
        is_asked = not by_nvcc and any(request.is_by_address for request in requests)
        has_weak = is_asked and any("weak" in text for text in (*codes, *self.options))
        lines, exports, reflected = lines_for_gpus(
            requests, own, by_nvcc=by_nvcc, has_weak=has_weak
        )
        head = ["#include <kerneltk/reflect.hpp>"]
        options = self._options()
        found = DeviceSource(self.code) if by_nvcc else self._device_source(is_host=False)
        body = found.code
        texts = (body, *(included.code for included in self.included))
        overloads = real_overloads({name for text in texts for name in _CALLED.findall(text)})
        if not by_nvcc and overloads:
            head += [f"#include <kerneltk/{HEADER}>", overloads]
        if not by_nvcc and any(name.startswith("cub/") for name in foreign_headers(body)):
            head.append("#include <type_traits>")  # CUB 2.8 takes std::is_pointer for there
        named = foreign_headers(body) if self.has_host_code else foreign_headers(*texts)
        has_cuda_std = any(header.startswith(_CUDA_STD) for header in named)
        if not by_nvcc and has_cuda_std:
            head.append("#define KERNELTK_CUDA_STD")
        if not by_nvcc and self._asks_for_predefined:
            head.append("#include <_kt_predefined.h>")
        if self.has_host_code and not by_nvcc:
            # Functions without an annotation are the host's to nvcc; here they serve kernels.
            options += ("--device-as-default-execution-space",)
            is_own = any("long long" in type_ for type_, _ in self._own_integers.values())
            if not is_own and not has_cuda_std:
                head.append("#define KERNELTK_LP64")
            head += ["#include <_kt_implicit.h>", *self._missing_headers(body)]
            if any(map(_TUPLES.search, texts)):
                head.append("#include <tuple>")
            if found.needs_20 and not names_standard(options):
                options += ("--std=c++20",)
        return TranslationUnit(
            backend.name,
            self._assembled(head, self.name, body, lines),
            "",
            options,
            self._origins(self.name),
            title_of(requests, self.name),
            exports=tuple(exports),
            reflected=tuple(reflected),
            raw=True,
            compiler="nvcc" if by_nvcc else "nvrtc",
            links=self.links,
        )

    @cached_property
    def _asks_for_predefined(self) -> bool:
        """Whether it names what a host compiler says of numbers; files always have that."""
        texts = (*(own.code for own in (self, *self.included)), *self.options)
        return not self.has_host_code and any(map(_PREDEFINED.search, texts))

    def serving(self, requests: Sequence[Request]) -> RawSource:
        """Return the source with what the template arguments of requests name, or options, and
        nothing else does.
        """
        if not self.has_host_code or self.keeps_spare:
            return self
        asked = " ".join(r.instance for r in requests if "<" in r.instance)
        words = frozenset(re.findall(r"\w+", " ".join((asked, *self.options))))
        spare = self._whole_summary.spare if words else ()
        is_named = any(not words.isdisjoint(names) for _, _, names in spare)
        return self._with_headers_of(replace(self, keeps_spare=True)) if is_named else self

    def _with_headers_of(self, source: RawSource) -> RawSource:
        """Return another form of this source, which has the headers that this one has read."""
        for name in ("_headers", "_paths"):
            vars(source)[name] = getattr(self, name)
        return source

    def _host_unit(
        self, backend: BackendName, requests: Sequence[Request], refused: Refusals | None
    ) -> TranslationUnit:
        if self.links:
            raise BackendUnavailableError(
                f"'{self.name}' is linked with object code for GPUs and cannot run on CPU cores."
            )
        instantiated = [
            request.instance
            for request in requests
            if any(word in request.instance.partition("<")[2] for word in VOLATILE_WORDS)
        ]
        found = self._device_source(is_host=True, instantiated=instantiated, refused=refused)
        lines, exports, reflected = [], [], []
        dynamic = self.dynamic_shared
        users = self._users_of_shared if dynamic else None
        for number, request in enumerate(requests):
            name, symbol = request.expression, f"{request.prefix}{number}"
            has_dynamic = users is None or plain_name(name).removeprefix("::") in users
            offer = request.spelled if has_dynamic else f"{request.spelled}, false"
            offer = f"KERNELTK_ENTRY({symbol}, ({offer}))"
            if request.is_variable:
                offer = f"{_EXPORTED} void* const {symbol} = (void*)&{name};"
            exports.append((request.name, symbol))
            reflected.append((name, f"{symbol}_type"))
            offer = f"{offer} {request.reflection(symbol)}"
            if not request.is_variable:
                offer += bound_of(request.instance, symbol, [k for _, k in self._meant(name)])
            lines.append(request.guarded(number, offer))
        if dynamic:
            lines.append("KERNELTK_DYNAMIC_MEMORY")
            for shared in dynamic:
                own = _LINKER_NAMES.fullmatch(shared.symbol)
                symbol = _renamed(shared.symbol) if own else shared.symbol
                line = f'KERNELTK_DYNAMIC_SHARED("{symbol}")'
                lines.append(f"#if {shared.guard}\n{line}\n#endif" if shared.guard else line)
        lines += checking_lines(self.host_parts)
        directives, options = without_directives(self._options())
        if not self.directory and any(include.is_quoted for include in self.includes):
            options += (f"-I{os.getcwd()}",)
        head = ["#define KERNELTK_DYNAMIC"] if dynamic else []
        head += [f"#include <kerneltk/{name}>" for name in (*_HOST_HEADERS, "reflect.hpp")]
        if self.has_host_code:
            head += ["#include <_kt_implicit.h>", *self._missing_headers(found.plain or found.code)]
        # Those of what is refused are in the source that it was left out of.
        before = self._device_source(is_host=True, is_bare=True) if refused else found
        head += [f"#include <kerneltk/{name}>" for name in before.headers]
        texts = [*(one.code for one in (self, *self.included)), *options]
        if uses_textures(name for text in texts for name in _WORD.findall(text)):
            head.append("#include <kerneltk/host_textures.hpp>")
        if any(_HAS_INT128 in text for text in texts) and self.compiler == "nvrtc":
            head += [] if has_128_bits("int128", options) else [f"#undef {_HAS_INT128}"]
        if any(map(_LISTS.search, texts)):  # NVRTC declares it, and those, by itself
            head.append("#include <initializer_list>")
        if any(map(_MOVES.search, texts)):
            head.append("#include <utility>")
        if any(map(_TUPLES.search, texts)):
            head.append("#include <tuple>")
        head.append("#define _kt_noinline __attribute__((__noinline__))")
        sources = [own_source.code for own_source in (self, *self.included)]
        names = {name for code in sources for name in _LINKER_NAMES.findall(code)}
        if others := {n for n, (_, is_same) in self._own_integers.items() if not is_same}:
            head += ["#include <cstdint>", "#include <sys/types.h>"]  # before the names are others
            names |= others
        head += [f"#define {name} {_renamed(name)}" for name in sorted(names)]
        if any(NO_INLINE.search(header.code) for header in self.included):
            head.append("#define __noinline__ _kt_noinline")
        name = self.name
        if not self.directory and "symbols" in get_settings().host_debug:
            name = keep(self.code.encode("utf-8", "surrogateescape"), f"{name}.cu")
        plain = ""
        if found.plain:
            plain = self._assembled([*head, *directives], name, found.plain, lines)
            head.insert(0, "#define KERNELTK_VOLATILE")
        return TranslationUnit(
            backend,
            self._assembled([*head, *directives], name, found.code, lines),
            "",
            options,
            self._origins(name),
            title_of(requests, self.name),
            exports=tuple(exports),
            reflected=tuple(reflected),
            raw=True,
            plain=plain,
            warnings=self._warnings(found),
        )

    def _options(self) -> tuple[str, ...]:
        return self.options + ((f"-I{self.directory}",) if self.directory else ())

    def _assembled(self, head: Sequence[str], name: str, body: str, lines: Sequence[str]) -> str:
        """Return a unit's source: its head, the user's source and the lines behind it."""
        return "\n".join([*head, f'#line 1 "{escaped(name)}"', body, *lines, ""])

    def _origins(self, name: str) -> tuple[tuple[str, str], ...]:
        included = [(source.name, source.code) for source in self.included]
        return ((name, self.code), *included)


class UnreadHeader(NamedTuple):
    """A header that a source includes and that is left to the compiler."""

    where: str  # it is included, for messages
    name: str
    path: str
    hint: str  # what to write so that it is read


def _first_file(directories: Iterable[str], name: str) -> str | None:
    """Return the path of the first file of a name."""
    paths = (os.path.join(directory, name) for directory in directories)
    return next(filter(os.path.isfile, paths), None)


def _real_path(path: str, directories: dict[str, str]) -> str:
    """Return a file's path without links; of `directories` each is looked at once."""
    if os.path.islink(path):
        return os.path.realpath(path)
    directory, name = os.path.split(path)
    if directory not in directories:
        directories[directory] = os.path.realpath(directory)
    return os.path.join(directories[directory], name)


def _computed_names(code: str, options: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the names of headers that a source may include by a macro, and the lines of these."""
    if not _MAYBE_BY_MACRO.search(code) or not _BY_MACRO.search(code):
        return
    known = {include.line for include in read_directives(code).includes}
    pieces = _FILE.findall(" ".join(options))
    for line in code.split("\n"):
        if _DEFINES.match(line):
            pieces += _FILE.findall(line)
    for number, line in enumerate(code.split("\n"), 1):
        if _BY_MACRO.match(line) and number not in known:
            for name in dict.fromkeys((*_FILE.findall(line), *pieces)):
                yield name, number


def _renamed(name: str) -> str:
    """Return a name for one that means something to linkers."""
    return f"_kt_own{name}"


def read_file(
    path: Path,
    options: tuple[str, ...] = (),
    *,
    compiler: str = "nvrtc",
    links: tuple[LinkInput, ...] = (),
) -> RawSource:
    """Read a source from a file. Raises ArgumentValueError where there is no such file."""
    code = bytes_of(path).decode(errors="surrogateescape")
    code = code.replace("\r\n", "\n").replace("\r", "\n").removeprefix(_BYTE_ORDER_MARK)
    directory = os.path.dirname(os.path.abspath(path))
    # A debugger looks for the file by this name.
    name = str(path.resolve()) if "symbols" in get_settings().host_debug else path.name
    return RawSource(code, name, options, compiler, directory, True, links)
