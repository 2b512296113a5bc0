"""torch's tensors, without importing torch: who has none pays for none.

A tensor is read by its own attributes. Its protocols say less: they have no word for bfloat16 and
float8, refuse tensors that require a gradient, and name no stream.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from kerneltk.core.arrays import byte_extent
from kerneltk.core.dtypes import bfloat16
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.interop import exchange
from kerneltk.interop.protocols import Memory, attempt, is_mapped


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of torch."""
    torch = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    if kind is None or not isinstance(value, kind):
        return False
    _register_table(torch)
    return True


def device_of(tensor: Any) -> tuple[str, int]:
    """Return the kind of a tensor's device and its number."""
    device = tensor.device
    return str(device.type), int(device.index or 0)


def memory_of(tensor: Any) -> Memory:
    """Where a tensor's elements lie; raises ArgumentTypeError for one that is sparse, or of a dtype
    that NumPy has none for, and ArgumentValueError for one without memory, or whose storage ends
    before its elements do.
    """
    return attempt(tensor, "memory", lambda: _memory_of(tensor))


def _memory_of(tensor: Any) -> Memory:
    if getattr(tensor, "is_nested", False):
        raise ArgumentTypeError(
            "A nested tensor cannot be passed to a kernel.\n"
            "  Hint: pass 'torch.nested.to_padded_tensor(x, 0)', or its values and offsets as "
            "arguments."
        )
    if tensor.layout is not sys.modules["torch"].strided:
        raise ArgumentTypeError(
            f"A tensor of layout '{tensor.layout}' cannot be passed to a kernel.\n"
            "  Hint: pass 'x.to_dense()', or its indices and values as arguments."
        )
    dtype = dtype_of(tensor)
    if tensor.is_conj() or tensor.is_neg():
        # Memory has the elements before they are conjugated or negated.
        tensor = tensor.detach().resolve_conj().resolve_neg()
    size = dtype.itemsize
    strides = tuple(int(step) * size for step in tensor.stride())
    shape = tuple(int(extent) for extent in tensor.shape)
    _, end = byte_extent(shape, strides, size)
    owned = tensor.untyped_storage().nbytes() - tensor.storage_offset() * size
    if end > owned:  # libraries that shard parameters free the storage, and keep the tensor
        raise ArgumentValueError(
            f"The elements of the tensor take {end} bytes, and its storage has {max(owned, 0)} "
            "from its first element on.\n  Hint: give the storage its size back before the call."
        )
    return Memory(int(tensor.data_ptr()), dtype, shape, strides, tensor)


def dtype_of(tensor: Any) -> np.dtype[Any]:
    """Return the dtype of a tensor; those that NumPy has not are `ml_dtypes`'."""
    known = _known.get(tensor.dtype)
    if known is not None:
        return known
    name = str(tensor.dtype).removeprefix("torch.")
    if name == "bfloat16":
        return bfloat16()
    if name.startswith("float8_"):
        found = exchange.float8(name)
        if found is None:
            raise ArgumentTypeError(
                f"A tensor of dtype '{tensor.dtype}' needs the package 'ml_dtypes', which defines "
                "that for NumPy.\n  Hint: install 'ml_dtypes', or pass 'x.view(torch.uint8)'."
            )
        return found
    if getattr(tensor, "is_quantized", False):
        raise ArgumentTypeError(
            f"A quantized tensor, of dtype '{tensor.dtype}', cannot be passed to a kernel.\n"
            "  Hint: pass 'x.int_repr()', with scale and zero point as arguments, or "
            "'x.dequantize()'."
        )
    if name not in exchange.SAME_NAMES:
        raise ArgumentTypeError(
            f"A tensor of dtype '{tensor.dtype}' cannot be passed to a kernel: NumPy has no such "
            "dtype.\n  Hint: pass its bytes, 'x.view(torch.uint8)'."
        )
    known = _known[tensor.dtype] = np.dtype(name)
    return known


_known: dict[Any, np.dtype[Any]] = {}


def lock_of(tensor: Any) -> tuple[str, str] | None:
    """Return why a kernel must not write to a tensor, and a hint; None if it may."""
    if tensor.is_conj() or tensor.is_neg():
        return "it is a lazy view of other numbers", "pass 'y.resolve_conj().resolve_neg()'."
    if tensor.requires_grad and sys.modules["torch"].is_grad_enabled():
        return (
            "it requires a gradient, in which a kernel's writes would be missing",
            "pass 'y.detach()', or call the kernel under 'torch.no_grad()'.",
        )
    return None


def note_write(tensor: Any) -> None:
    """Count a write as torch counts its own, so that gradients computed from older values of the
    tensor are refused and not wrong.
    """
    torch = sys.modules["torch"]
    if not tensor.is_inference():
        torch.autograd.graph.increment_version(tensor)


# -- results ---------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def torch_dtype_or_none(torch: Any, dtype: np.dtype[Any]) -> Any:
    """Return torch's dtype for one of NumPy's; None if there is none."""
    found = getattr(torch, dtype.name, None) if dtype.names is None else None
    return found if isinstance(found, torch.dtype) else None


def torch_dtype(torch: Any, dtype: np.dtype[Any]) -> Any:
    """Return torch's dtype for one of NumPy's; raises ArgumentTypeError if there is none."""
    found = torch_dtype_or_none(torch, dtype)
    if found is None:
        raise ArgumentTypeError(
            f"A result of dtype '{dtype}' cannot be given back as a tensor: torch has no such "
            "dtype.\n  Hint: give the output, as an array of NumPy or CuPy."
        )
    return found


def on_host(array: np.ndarray[Any, Any]) -> Any:
    """Return NumPy's array as a tensor, without a copy."""
    torch = sys.modules["torch"]
    wanted = torch_dtype(torch, array.dtype)
    if not array.size:  # torch would give it steps of zero, and its own tensors have none
        return torch.empty(array.shape, dtype=wanted)
    if array.dtype.isbuiltin == 1:
        return torch.from_numpy(array)
    # torch reads NumPy's own dtypes only.
    return torch.from_numpy(array.view(f"u{array.dtype.itemsize}")).view(wanted)


def new_tensor(
    block: Any,
    address: int | None,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> Any:
    """Return a tensor in another one's memory: in a block that `TorchLibrary` allocated, or of an
    argument, of which it is a view; strides in bytes, no address of what has no elements.
    """
    torch = sys.modules["torch"]
    wanted = torch_dtype(torch, dtype)
    steps = [step // dtype.itemsize for step in strides]
    if block.dtype == torch.uint8 and (address is None or address == block.data_ptr()):
        return block.view(wanted).as_strided(shape, steps)
    # Not by 'as_strided': an argument may require a gradient, and have another dtype's steps.
    storage = block.untyped_storage()
    offset = 0 if address is None else (address - storage.data_ptr()) // dtype.itemsize
    return torch.empty(0, dtype=wanted, device=block.device).set_(storage, offset, shape, steps)


# -- the C exchange table --------------------------------------------------------------------------


def _note_writes_by(torch: Any) -> Callable[[list[Any]], None]:
    """A function that counts writes to tensors."""
    # What torch's public function calls takes half as long.
    increment = getattr(torch._C, "_increment_version", torch.autograd.graph.increment_version)

    def note_writes(tensors: list[Any]) -> None:
        try:
            increment(tensors)
        except (RuntimeError, TypeError):  # one was made in inference mode, and counts nothing
            for tensor in tensors:
                note_write(tensor)

    return note_writes


def _view_of(shape: tuple[int, ...], steps: tuple[int, ...], first: int) -> Callable[[Any], Any]:
    def view(tensor: Any) -> Any:
        return tensor.detach().as_strided(shape, steps, tensor.storage_offset() + first)

    return view


# Whether a program's modes and transformations, or a setting, decide what new tensors are.
_INTERCEPTIONS = (
    "_len_torch_dispatch_stack",
    "_len_torch_function_stack",
    "_are_functorch_transforms_active",
    "_get_deterministic_algorithms",
)


def _interceptions(torch: Any) -> tuple[Callable[[], Any], ...]:
    """The functions that tell of them; empty where this version of torch has others."""
    if not all(hasattr(torch._C, name) for name in _INTERCEPTIONS):
        return ()
    return tuple(getattr(torch._C, name) for name in _INTERCEPTIONS)


def _quick_makers(torch: Any) -> dict[str, Callable[..., Any]]:
    """By the kind of device: functions of a shape, strides and a dtype that make a tensor in half
    of the time of torch's public ones. They are those of torch's own compiled programs.
    """
    guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    kinds = ["cpu"]
    if torch.cuda.is_available() and torch.cuda.device_count() == 1:  # they take the current one
        kinds.append("cuda")
    found = {kind: getattr(guards, f"_empty_strided_{kind}", None) for kind in kinds}
    if not _interceptions(torch):
        return {}
    return {
        kind: make for kind, make in found.items() if make is not None and _makes(torch, make, kind)
    }


def _makes(torch: Any, make: Callable[..., Any], kind: str) -> bool:
    """Whether a function makes tensors as ``torch.empty_strided`` does."""
    for shape, strides, name in (
        ((2, 3), (1, 2), "float64"),
        ((), (), "int16"),
        ((0,), (1,), "bool"),
    ):
        dtype = getattr(torch, name)
        wanted = torch.empty_strided(shape, strides, dtype=dtype, device=kind)
        try:
            made = make(shape, strides, dtype)
        except (TypeError, RuntimeError):
            return False
        for one in ("shape", "dtype", "layout", "device", "requires_grad"):
            if getattr(made, one) != getattr(wanted, one):
                return False
        if type(made) is not type(wanted) or made.stride() != wanted.stride():
            return False
        if made.untyped_storage().nbytes() != wanted.untyped_storage().nbytes():
            return False
    return True


def _maker_by(torch: Any) -> Callable[..., exchange.Maker]:
    """A function that returns what makes tensors of a kind, on a GPU or (None) in host memory."""
    quick_makers: dict[str, Callable[..., Any]] | None = None

    def maker(
        shape: tuple[int, ...], dtype: np.dtype[Any], order: str, device: int | None
    ) -> exchange.Maker:
        nonlocal quick_makers
        if quick_makers is None:
            quick_makers = _quick_makers(torch)
        steps, step = [], 1
        for extent in shape if order == "F" else reversed(shape):
            steps.append(step)
            step *= max(extent, 1)
        where = torch.device("cpu") if device is None else torch.device("cuda", device)
        in_order = tuple(steps if order == "F" else reversed(steps))
        wanted = torch_dtype(torch, dtype)
        words = {"dtype": wanted, "device": where}
        quick = quick_makers.get("cpu" if device is None else "cuda")
        arguments = (shape, in_order)
        return exchange.Maker(torch.empty_strided, arguments, words, quick, (*arguments, wanted))

    return maker


@lru_cache(maxsize=1)
def _register_table(torch: Any) -> None:
    """Tell who reads tables of torch's, if it has one."""
    kind = torch.Tensor
    table = getattr(kind, "__dlpack_c_exchange_api__", None)
    if table is None:
        return
    exchange.register(
        exchange.ExchangeLibrary(
            (kind, torch.nn.Parameter),
            table,
            exchange.dtype_of,
            (kind.is_neg, kind.is_conj),
            kind.untyped_storage,
            kind.storage_offset,
            "requires_grad",
            lambda tensor: lock_of(tensor) is None,
            _note_writes_by(torch),
            _maker_by(torch),
            _interceptions(torch),
            tensor_layout(torch),
            lambda tensor: (tensor.dtype, tensor.shape, tensor.stride(), tensor.device),
            _view_of,
        )
    )


class TorchLibrary:
    """torch's streams and memory; implements `kerneltk.interop.streams.Library`."""

    def current_stream(self, device: int) -> int:
        """Return the handle of torch's current stream."""
        return int(sys.modules["torch"].cuda.current_stream(device).cuda_stream)

    def allocate(self, size: int, device: int) -> tuple[int, Any]:
        """Return the address of new memory and the tensor of bytes that owns it.

        Torch knows whose memory it is then: it is not given to others before the stream is done
        with it, and memory that is allocated in a graph's capture stays the graph's. Raises
        ArgumentValueError where torch makes tensors without memory.
        """
        torch = sys.modules["torch"]
        block = torch.empty(size, dtype=torch.uint8, device=torch.device("cuda", device))
        address = int(block.data_ptr()) if type(block) is torch.Tensor else 0
        if size and not address:
            raise ArgumentValueError(
                "Memory for a result cannot be allocated: torch makes tensors without memory "
                "here, as it does under 'FakeTensorMode'.\n"
                "  Hint: leave that mode for the call."
            )
        return address, block

    def on_stream(self, stream: int, device: int) -> AbstractContextManager[Any]:
        """Return a context in which torch allocates in a stream's order."""
        if stream == self.current_stream(device):
            return nullcontext()
        cuda = sys.modules["torch"].cuda
        if not stream:
            return cuda.stream(cuda.default_stream(device))  # type: ignore[no-any-return]
        return cuda.stream(cuda.ExternalStream(stream, device=device))  # type: ignore[no-any-return]


# -- tensors in memory -----------------------------------------------------------------------------
#
# Where torch's tensors have in memory what their exchange table does not say: whether a tensor is a
# lazy view (conjugated or negated), and where its storage ends. Asking for it takes ten times as
# long as the table. Nothing says where it is, so it is looked for in tensors of which it is known;
# there is one offset for each, the same in all of them, or the tensor's methods are called.
# Launches need it: a tensor takes 0.3 to 0.4 µs of one (docs/benchmarks.md).


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
