"""Where torch's tensors keep in memory what their exchange table does not say.

That is whether a tensor is a lazy view (conjugated or negated), and where its storage ends. Asking
for it takes ten times as long as the table. Nothing says where it is, so it is looked for in
tensors of which it is known; there is one offset for each, the same in all of them, or the tensor's
methods are called. Launches need it: a tensor takes 0.3 to 0.4 µs of one (docs/benchmarks.md).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kerneltk.interop.mapped import is_mapped

_WORD = ctypes.sizeof(ctypes.c_void_p)
_IMPLEMENTATION = object.__basicsize__  # where a tensor's object has its implementation's address
_IMPLEMENTATION_WORDS, _STORAGE_WORDS = 24, 12


class TensorLayout(NamedTuple):
    """Offsets in bytes.

    Parameters
    ----------
    implementation : int
        In the Python object: an address.
    storage : int
        In the implementation: an address.
    size : int
        In the storage: its bytes.
    first : int
        In the implementation: the number of elements in front of the first one.
    keys : int
        In the implementation: bits of what the tensor is.
    lazy : int
        Those of lazy views.
    """

    implementation: int
    storage: int
    size: int
    first: int
    keys: int
    lazy: int


def _words(address: int, count: int) -> list[int]:
    if address % _WORD or not is_mapped(address, count * _WORD):
        return [0] * count
    return list((ctypes.c_uint64 * count).from_address(address))


def _implementation(tensor: Any) -> list[int]:
    return _words(_words(id(tensor) + _IMPLEMENTATION, 1)[0], _IMPLEMENTATION_WORDS)


def _only(found: Iterable[int]) -> int | None:
    all_found = list(found)
    return all_found[0] if len(all_found) == 1 else None


def _where(samples: list[list[int]], is_there: Callable[[int, int], bool]) -> list[int]:
    """The indices of words at which each sample holds what is asked of it."""
    indices = range(len(samples[0]))
    return [w for w in indices if all(is_there(k, s[w]) for k, s in enumerate(samples))]


def tensor_layout(torch: Any) -> TensorLayout | None:
    """The layout of torch's tensors; None where it is not found."""
    plain = [
        torch.empty(31, dtype=torch.complex64)[3:],
        torch.empty(13, 4, dtype=torch.complex128)[5:, 1:].mT,
        torch.empty(2, 3, 2, 2, 2, 2, 3, dtype=torch.float32)[1:],
        torch.nn.Parameter(torch.empty(57, dtype=torch.float64)[11:]),
        torch.empty(401, dtype=torch.uint8)[17:],
    ]
    pairs = [(x, x.conj()) for x in plain[:2]]
    negated = [(x.imag, x.conj().imag) for x in plain[:2]]
    tensors = [*plain, *(view for _, view in pairs), *(x for pair in negated for x in pair)]
    words = [_implementation(tensor) for tensor in tensors]
    sizes = [tensor.untyped_storage().nbytes() for tensor in tensors]
    firsts = [tensor.storage_offset() for tensor in tensors]
    first = _only(_where(words, lambda k, word: word == firsts[k]))
    places = [
        (w, s)
        for w in range(_IMPLEMENTATION_WORDS)
        for s in _where(
            [_words(sample[w], _STORAGE_WORDS) for sample in words], lambda k, x: x == sizes[k]
        )
    ]
    keys = _lazy_keys([pairs, negated], plain)
    if first is None or len(places) != 1 or keys is None:
        return None
    (storage, size), (key, lazy) = places[0], keys
    return TensorLayout(
        _IMPLEMENTATION, storage * _WORD, size * _WORD, first * _WORD, key * _WORD, lazy
    )


def _lazy_keys(groups: list[list[tuple[Any, Any]]], plain: list[Any]) -> tuple[int, int] | None:
    """The word that tells lazy views from others, and its bits: one for each group of pairs of a
    tensor and its lazy view.
    """
    found = []
    for w in range(_IMPLEMENTATION_WORDS):
        mask = 0
        for pairs in groups:
            bits = {_implementation(view)[w] & ~_implementation(x)[w] for x, view in pairs}
            bit = bits.pop()
            if bits or bit.bit_count() != 1 or bit & mask:
                break
            mask |= bit
        else:
            if not any(_implementation(tensor)[w] & mask for tensor in plain):
                found.append((w, mask))
    return found[0] if len(found) == 1 else None
