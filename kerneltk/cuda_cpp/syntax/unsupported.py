"""Features of CUDA C++ that CPU cores do not have, by the user's own words for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kerneltk.cuda_cpp.syntax.declarations import Unsupported, UnsupportedKind
from kerneltk.cuda_cpp.syntax.host_code import has_unknown_macro
from kerneltk.cuda_cpp.syntax.preprocess import Prepared
from kerneltk.cuda_cpp.syntax.ptx.statements import translate_at
from kerneltk.cuda_cpp.syntax.tree import SourceTree, declared_name, function_declarator

if TYPE_CHECKING:
    from tree_sitter import Node

_FINDINGS: tuple[tuple[UnsupportedKind, re.Pattern[str]], ...] = (
    ("inline PTX", re.compile(r"\b(asm|__asm__|__asm)\b(?=[^;{}()]*\((?!\s*\"\"\s*[:)]))")),
    ("tensor cores", re.compile(r"\b(__[biw]?mma_\w+)\b(?=\s*\()")),
    ("asynchronous copy", re.compile(r"\b(cp_async_bulk\w*|__nvvm_cp_async\w*)\b")),
    # CUDA 12 has no references either.
    ("texture", re.compile(r"\b(texture(?=\s*<))")),
    ("surface", re.compile(r"\b(surface(?=\s*<))")),
    ("cluster", re.compile(r"\b(this_cluster|cluster_group)\b")),
)  # fmt: skip
# What the words of each kind contain: to look for that first is ten times as fast.
_PARTS: dict[UnsupportedKind, tuple[str, ...]] = {
    "inline PTX": ("asm",),
    "tensor cores": ("wmma", "nvcuda", "mma_"),
    "asynchronous copy": ("__pipeline_", "memcpy_async", "cp_async"),
    "texture": ("cudaTextureObject_t", "texture", "tex1D", "tex2D", "tex3D", "texCubemap"),
    "surface": ("cudaSurfaceObject_t", "surface", "surf1D", "surf2D", "surf3D", "surfCubemap"),
    "cluster": ("this_cluster", "cluster_group"),
}
_LAUNCH = re.compile(r"<<<")
_LAUNCHED = re.compile(r"([\w:]+)\s*(?:<[^<>;{}()]*>)?\s*\Z")
_DEVICE_HEADER = re.compile(
    r"(?:cub/device|cutlass|cute|nvshmem\w*|nvcuda)/.*|thrust/(?!complex\.h).*"
    r"|cuda/(?:annotated_ptr|ptx|warp|std/(?:expected|mdspan))"
    r"|cuda_awbarrier\w*\.h|curand_mtgp32\w*\.h"
    r"|curandDx\w*|cublasdx\w*|cufftdx\w*|cuda_fp[46]\.h\w*|nvshmem\w*\.h"
)


def unsupported_words(
    plain: str, start: int = 0, end: int | None = None
) -> Iterator[tuple[UnsupportedKind, int, str]]:
    """Yield what CPU cores do not have in C++ without comments: its kind, position and word."""
    end = len(plain) if end is None else end
    for kind, pattern in _FINDINGS:
        for position in _words_with(_PARTS[kind], plain, start, end):
            if match := pattern.match(plain, position, end):
                yield kind, match.start(1), match[1]
    for launch in _LAUNCH.finditer(plain, start, end):
        callee = _LAUNCHED.search(plain, max(launch.start() - 200, start), launch.start())
        yield "launch from a kernel", launch.start(), callee[1] if callee else "<<<"


def _words_with(parts: tuple[str, ...], plain: str, start: int, end: int) -> list[int]:
    """Return where the words begin that contain one of some strings."""
    found: set[int] = set()
    for part in parts:
        position = plain.find(part, start, end)
        while position >= 0:
            begin = position
            while begin > start and (plain[begin - 1].isalnum() or plain[begin - 1] == "_"):
                begin -= 1
            found.add(begin)
            position = plain.find(part, position + len(part), end)
    return sorted(found)


def unsupported_in_macro(definition: str) -> tuple[UnsupportedKind, str] | None:
    """Return kind and word of what CPU cores do not have in a macro's definition."""
    masked = re.sub(r'"[^"]+"', lambda found: f'"{" " * (len(found[0]) - 2)}"', definition)
    for kind, pattern in _FINDINGS[:3]:
        found = pattern.search(masked)
        if found and not (kind == "inline PTX" and translate_at(definition, found.start(1))):
            return kind, found[1]
    return None


class UnsupportedFeatures:
    """Collects such features from the branches of a source."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.found: dict[tuple[object, ...], Unsupported] = {}

    def _add(self, kind: UnsupportedKind, word: str, offset: int) -> None:
        line = self.prepared.line_of(offset)
        found = Unsupported(kind, word, line, self.prepared.guard_of(offset))
        self.found.setdefault((kind, word, line), found)

    def read_header(self, name: str, offset: int) -> None:
        """Add an included header of a library for GPUs."""
        if _DEVICE_HEADER.fullmatch(name):
            self._add("header", name, offset)

    def read_macro(self, definition: str, offset: int) -> None:
        """Add what a macro's definition has: where it is used, nobody would find the word."""
        if found := unsupported_in_macro(definition):
            self._add(*found, offset)

    def read(self, tree: SourceTree, is_host: Callable[[int], bool]) -> None:
        """Add the features that one syntax tree uses outside of functions of the host.

        Parameters
        ----------
        is_host : callable
            Whether a character of the user's source is in a function that only the host runs.
        """
        for attribute in tree.words:
            if attribute.name == "__cluster_dims__":
                self._add("cluster", attribute.name, self.prepared.start_of(attribute.start))
        for kind, position, word in unsupported_words(tree.plain):
            offset = self.prepared.start_of(position)
            if is_host(offset):
                continue
            if kind == "inline PTX" and translate_at(self.prepared.source, offset):
                continue
            _, functions = tree.scope_at(position)
            if functions and not any(_may_run_on_device(tree, function) for function in functions):
                continue
            if kind == "launch from a kernel" and not functions:
                continue
            self._add(kind, word, offset)


def _may_run_on_device(tree: SourceTree, function: Node) -> bool:
    body = function.child_by_field_name("body")
    start = tree.head_start(function)
    end = body.start_byte if body else function.end_byte
    if any(w.name in ("__global__", "__device__") for w in tree.words_between(start, end)):
        return True
    declarator = function_declarator(function)
    name = declared_name(declarator) if declarator is not None else None
    return name is not None and has_unknown_macro(tree.plain[start : name.start_byte])
