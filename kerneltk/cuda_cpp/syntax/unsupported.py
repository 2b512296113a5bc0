"""Features of CUDA C++ that CPU cores do not have, by the user's own words for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from kerneltk.cuda_cpp.syntax.declarations import Unsupported, UnsupportedKind
from kerneltk.cuda_cpp.syntax.host_code import has_unknown_macro
from kerneltk.cuda_cpp.syntax.preprocess import Prepared
from kerneltk.cuda_cpp.syntax.ptx.statements import translate_at
from kerneltk.cuda_cpp.syntax.tree import SourceTree, declared_name, function_declarator

if TYPE_CHECKING:
    from tree_sitter import Node

# By a part of the word, to look for which first is ten times as fast, and the word.
_FINDINGS: tuple[tuple[UnsupportedKind, str, re.Pattern[str]], ...] = (
    ("inline PTX", "asm", re.compile(r"\b(asm|__asm__|__asm)\b(?=[^;{}()]*\((?!\s*\"\"\s*[:)]))")),
    ("tensor cores", "mma_", re.compile(r"\b(__[biw]?mma_\w+)\b(?=\s*\()")),
    ("asynchronous copy", "cp_async", re.compile(r"\b(cp_async_bulk\w*|__nvvm_cp_async\w*)\b")),
    # CUDA 12 has no references either.
    ("texture", "texture", re.compile(r"\b(texture(?=\s*<))")),
    ("surface", "surface", re.compile(r"\b(surface(?=\s*<))")),
    ("cluster", "cluster", re.compile(r"\b(this_cluster|cluster_group)\b")),
)  # fmt: skip
_LAUNCH = re.compile(r"<<<")
_LAUNCHED = re.compile(r"([\w:]+)\s*(?:<[^<>;{}()]*>)?\s*\Z")
_DEVICE_HEADER = re.compile(
    r"(?:cub/device|cutlass|cute|nvshmem\w*|nvcuda)/.*|thrust/(?!complex\.h).*"
    r"|cuda/(?:annotated_ptr|ptx|warp|std/(?:expected|mdspan))"
    r"|cuda_awbarrier\w*\.h|curand_mtgp32\w*\.h"
    r"|curandDx\w*|cublasdx\w*|cufftdx\w*|cuda_fp[46]\.h\w*|nvshmem\w*\.h"
)

CUB_HAD = frozenset((
    "Category", "FLOATING_POINT", "NOT_A_NUMBER", "SIGNED_INTEGER", "Traits", "UNSIGNED_INTEGER",
    "ArgMax", "ArgMin", "Difference", "Division", "Equality", "Inequality", "KeyValuePair",
    "LaneId", "Max", "Min", "NullType", "Sum", "WarpId", "BlockAdjacentDifference",
    "BlockDiscontinuity", "BlockExchange", "BlockHistogram", "BlockHistogramAlgorithm", "BlockLoad",
    "BlockLoadAlgorithm", "BlockMergeSort", "BlockRadixSort", "BlockReduce", "BlockReduceAlgorithm",
    "BlockScan", "BlockScanAlgorithm", "BlockShuffle", "BlockStore", "BlockStoreAlgorithm",
    "LoadDirectBlocked", "LoadDirectBlockedVectorized", "LoadDirectStriped",
    "LoadDirectWarpStriped", "StoreDirectBlocked", "StoreDirectBlockedVectorized",
    "StoreDirectStriped", "StoreDirectWarpStriped", "WarpExchange", "WarpExchangeAlgorithm",
    "WarpLoad", "WarpLoadAlgorithm", "WarpMergeSort", "WarpReduce", "WarpScan", "WarpStore",
    "WarpStoreAlgorithm", "BLOCK_HISTO_ATOMIC", "BLOCK_HISTO_SORT", "BLOCK_LOAD_DIRECT",
    "BLOCK_LOAD_STRIPED", "BLOCK_LOAD_TRANSPOSE", "BLOCK_LOAD_VECTORIZE",
    "BLOCK_LOAD_WARP_TRANSPOSE", "BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED", "BLOCK_REDUCE_RAKING",
    "BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY", "BLOCK_REDUCE_WARP_REDUCTIONS",
    "BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC", "BLOCK_SCAN_RAKING",
    "BLOCK_SCAN_RAKING_MEMOIZE", "BLOCK_SCAN_WARP_SCANS", "BLOCK_STORE_DIRECT",
    "BLOCK_STORE_STRIPED", "BLOCK_STORE_TRANSPOSE", "BLOCK_STORE_VECTORIZE",
    "BLOCK_STORE_WARP_TRANSPOSE", "BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED", "WARP_EXCHANGE_SHUFFLE",
    "WARP_EXCHANGE_SMEM", "WARP_LOAD_DIRECT", "WARP_LOAD_STRIPED", "WARP_LOAD_TRANSPOSE",
    "WARP_LOAD_VECTORIZE", "WARP_STORE_DIRECT", "WARP_STORE_STRIPED", "WARP_STORE_TRANSPOSE",
    "WARP_STORE_VECTORIZE",
))  # fmt: skip
"""Names of the namespace ``cub`` that CPU cores have."""

_RANK = "sort by 'cub::BlockRadixSort', or count each digit's keys by 'cub::BlockScan'"
_ITERATOR = "compute the value from its index where it is used"
_POINTER = "use the pointer itself"
_LOOP = "write the loop over the thread's items"
_SEARCH = "write the bisection"
CUB_INSTEAD = {
    "ArgIndexInputIterator": _ITERATOR,
    "BlockRadixRank": _RANK,
    "BlockRadixRankMatch": _RANK,
    "BlockRadixRankMatchEarlyCounts": _RANK,
    "BlockRunLengthDecode": "scan the lengths by 'cub::BlockScan', and look for the run of each "
    "item by bisection",
    "CacheModifiedInputIterator": _POINTER,
    "CacheModifiedOutputIterator": _POINTER,
    "ConstantInputIterator": _ITERATOR,
    "CountingInputIterator": _ITERATOR,
    "DiscardOutputIterator": "leave the store out",
    "GridBarrier": "wait by 'cooperative_groups::this_grid().sync()' in a cooperative launch",
    "GridEvenShare": "compute the block's range from 'blockIdx' and 'gridDim'",
    "GridQueue": "take the next item by 'atomicAdd'",
    "LowerBound": _SEARCH,
    "MergePathSearch": _SEARCH,
    "ShuffleDown": "call '__shfl_down_sync'",
    "ShuffleIndex": "call '__shfl_sync'",
    "ShuffleUp": "call '__shfl_up_sync'",
    "StableOddEvenSort": _LOOP,
    "TexObjInputIterator": "call 'tex1Dfetch', or use a pointer",
    "ThreadLoad": "read by '*pointer', or by '__ldg' or '__ldcg'",
    "ThreadReduce": _LOOP,
    "ThreadScanExclusive": _LOOP,
    "ThreadScanInclusive": _LOOP,
    "ThreadStore": "store by '*pointer', or by '__stcg'",
    "TransformInputIterator": _ITERATOR,
    "UpperBound": _SEARCH,
}
"""What to write for names that CPU cores lack. These are found without ``cub::``, too."""

_CUB_NAME = re.compile(r"\bcub\s*::\s*(\w+(?:\s*::\s*\w+)*)")
_CUB = re.compile(r"\bcub\b")
_CUB_LACKING = re.compile(rf"\b({'|'.join(CUB_INSTEAD)})\b(?=\s*[<(:;,>])")


def unsupported_words(
    plain: str, start: int = 0, end: int | None = None
) -> Iterator[tuple[UnsupportedKind, int, str]]:
    """Yield what CPU cores do not have in C++ without comments: its kind, position and word."""
    end = len(plain) if end is None else end
    for kind, part, pattern in _FINDINGS:
        for position in _words_with(part, plain, start, end):
            if match := pattern.match(plain, position, end):
                yield kind, match.start(1), match[1]
    for launch in _LAUNCH.finditer(plain, start, end):
        callee = _LAUNCHED.search(plain, max(launch.start() - 200, start), launch.start())
        yield "launch from a kernel", launch.start(), callee[1] if callee else "<<<"
    for position, name in cub_lacking(plain, start, end):
        yield "CUB", position, name


@lru_cache(maxsize=2)
def _mentions_cub(plain: str) -> bool:
    return "cub" in plain and _CUB.search(plain) is not None


def cub_lacking(plain: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield where a part of C++ without comments names what CPU cores lack of CUB, and the name.

    Examples
    --------
    >>> code = "cub::BlockScan<int, 32> a; cub::BlockRadixRank<32, 4, false> b;"
    >>> list(cub_lacking(code, 0, len(code)))
    [(32, 'BlockRadixRank')]
    """
    if not _mentions_cub(plain):
        return
    found: dict[int, str] = {}
    for match in _CUB_NAME.finditer(plain, start, end):
        name = "".join(match[1].split())
        if name.partition("::")[0] not in CUB_HAD:
            found[match.start(1)] = name
    for match in _CUB_LACKING.finditer(plain, start, end):
        found.setdefault(match.start(1), match[1])
    yield from sorted(found.items())


def instead_of_cub(name: str) -> str:
    """Return the replacement for a name of CUB's that CPU cores lack; empty for no advice."""
    parts = name.split("::")
    if any(part.startswith("Device") for part in parts):
        return (
            "call functions for whole arrays behind this launch, from Python, or work on a part of "
            "them by classes of blocks and warps ('cub::BlockReduce', 'cub::BlockScan')"
        )
    return next((CUB_INSTEAD[part] for part in parts if part in CUB_INSTEAD), "")


def _words_with(part: str, plain: str, start: int, end: int) -> Iterator[int]:
    """Yield where the words begin that contain a string."""
    position = plain.find(part, start, end)
    while position >= 0:
        begin = position
        while begin > start and (plain[begin - 1].isalnum() or plain[begin - 1] == "_"):
            begin -= 1
        yield begin
        position = plain.find(part, position + len(part), end)


def unsupported_in_macro(definition: str) -> tuple[UnsupportedKind, str] | None:
    """Return kind and word of what CPU cores do not have in a macro's definition."""
    masked = re.sub(r'"[^"]+"', lambda found: f'"{" " * (len(found[0]) - 2)}"', definition)
    for kind, _, pattern in _FINDINGS:
        found = pattern.search(masked)
        if found and not (kind == "inline PTX" and translate_at(definition, found.start(1))):
            return kind, found[1]
    return next((("CUB", name) for _, name in cub_lacking(masked, 0, len(masked))), None)


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
        """Add what a macro's definition has: where it is used, the word does not appear."""
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
    name = declared_name(function_declarator(function))
    return name is not None and has_unknown_macro(tree.plain[start : name.start_byte])
