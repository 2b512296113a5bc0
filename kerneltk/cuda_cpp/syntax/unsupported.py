"""Features of CUDA C++ that CPU cores do not have, by the user's own words for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from kerneltk.cuda_cpp.syntax.declarations import Unsupported, UnsupportedKind
from kerneltk.cuda_cpp.syntax.host_code import has_unknown_macro
from kerneltk.cuda_cpp.syntax.inline_ptx import translate_at
from kerneltk.cuda_cpp.syntax.preprocess import Prepared
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
_DEVICE_HEADER = re.compile(
    r"(?:cub/device|cutlass|cute|nvshmem\w*|nvcuda)/.*|thrust/(?!complex\.h).*"
    r"|cuda/(?:annotated_ptr|ptx|warp|std/(?:expected|mdspan))"
    r"|cuda_awbarrier\w*\.h|curand_mtgp32\w*\.h"
    r"|curandDx\w*|cublasdx\w*|cufftdx\w*|cuda_fp[46]\.h\w*|nvshmem\w*\.h"
)


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
        masked = re.sub(r'"[^"]+"', lambda found: f'"{" " * (len(found[0]) - 2)}"', definition)
        for kind, pattern in _FINDINGS[:3]:
            found = pattern.search(masked)
            if found and not (kind == "inline PTX" and translate_at(definition, found.start(1))):
                self._add(kind, found[1], offset)

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
        found = [
            (kind, match.start(1), match[1])
            for kind, pattern in _FINDINGS
            for match in pattern.finditer(tree.plain)
        ]
        for launch in re.finditer("<<<", tree.plain):
            before = tree.plain[max(launch.start() - 200, 0) : launch.start()]
            callee = re.search(r"([\w:]+)\s*(?:<[^<>;{}()]*>)?\s*\Z", before)
            word = callee[1] if callee else "<<<"
            found.append(("launch from a kernel", launch.start(), word))
        for kind, position, word in found:
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
