"""Libraries whose arrays compiled launchers read by DLPack's C exchange table.

Each is announced once, when an array of it is first taken; readers of tables register first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kerneltk.core.dtypes import bfloat16
from kerneltk.core.records import lasting_lock


class Maker(NamedTuple):
    """What makes arrays of one kind.

    Parameters
    ----------
    function : callable
    arguments : tuple
    words : dict
        Its keywords.
    quick : callable or None
        Does the same in less time, but for what programs have put in the way of `function`.
    quick_arguments : tuple
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    words: dict[str, Any]
    quick: Callable[..., Any] | None = None
    quick_arguments: tuple[Any, ...] = ()


class ExchangeLibrary(NamedTuple):
    """A library's table, and what the table does not say of its arrays.

    Parameters
    ----------
    kinds : tuple of type
        The arrays' types; subclasses are others.
    table : capsule
        ``__dlpack_c_exchange_api__`` of these types.
    dtype_of : callable
        Takes DLPack's code and a number of bits; returns a dtype, None if NumPy has none.
    is_lazy : tuple of callable
        Each returns whether an array's memory holds other numbers than its elements. Asked of
        floating-point numbers only.
    storage, offset : callable or None
        Return the owner of an array's memory, which has a method ``nbytes``, and the number of
        elements in front of the first one. None where an array cannot outlive its memory.
    requires_grad : str
        The attribute that is true if `may_write` is to be asked.
    may_write : callable
        Returns whether a kernel may write to an array.
    note_writes : callable
        Takes a list of arrays that a kernel has written to.
    maker : callable
        Takes a shape, a dtype, ``"C"`` or ``"F"`` and the number of a GPU, or None for host
        memory; returns a `Maker` of such arrays there.
    is_intercepted : tuple of callable
        Take nothing; what is true of one says that a maker's `quick` must not be used.
    layout : tuple of int or None
        Where arrays keep in memory what `is_lazy`, `storage` and `offset` return: the fields of
        `kerneltk.interop.torch_tensors.TensorLayout`.
    kind_of : callable
        Takes an array; returns its dtype, shape, strides and device as something with a hash.
    view : callable
        Takes a shape, strides and the number of elements in front of the first one; returns a
        function of an array that returns such a view of it, without a gradient.
    """

    kinds: tuple[type, ...]
    table: Any
    dtype_of: Callable[[int, int], np.dtype[Any] | None]
    is_lazy: tuple[Callable[[Any], bool], ...]
    storage: Callable[[Any], Any] | None
    offset: Callable[[Any], int] | None
    requires_grad: str
    may_write: Callable[[Any], bool]
    note_writes: Callable[[list[Any]], None]
    maker: Callable[..., Maker]
    is_intercepted: tuple[Callable[[], Any], ...] = ()
    layout: tuple[int, ...] | None = None
    kind_of: Callable[[Any], Any] | None = None
    view: Callable[..., Callable[[Any], Any]] | None = None


ImportFunctions = tuple[int, int, Callable[[], int] | None, int, int]
"""What an `Importer` has from its `stream` on."""


class Importer(NamedTuple):
    """How arrays of a type without a table are read, once a call, by what they say of themselves.

    Parameters
    ----------
    kind, own_kind : type
        The arrays', and that of the backend's arrays that stand for them.
    device_type : int
        DLPack's, with ``__dlpack__``; 0 for ``__cuda_array_interface__``.
    take, convert : callable
        Return the backend's array for one of them, and one of them for the backend's, once the work
        on that is queued.
    keep : callable or None
        Keeps what arrays said of themselves until the work on the default stream is done.
    dtypes, dtype_of : mapping, callable
        By the interface's names (TypeError for others); as that of `ExchangeLibrary`.
    stream, attribute : int
        Addresses: of what returns the backend's current stream, and of ``cuPointerGetAttribute``;
        0 for host memory.
    current_device : callable or None
        None where there is one device.
    read_context, make_current : int
        Addresses of ``cuCtxGetCurrent`` and ``cuCtxSetCurrent``; 0 where there is one device.
    """

    kind: type
    own_kind: type
    device_type: int
    take: Callable[[Any], Any]
    convert: Callable[[Any], Any]
    keep: Callable[[list[Any]], object] | None
    dtypes: Any
    dtype_of: Callable[[int, int], np.dtype[Any] | None]
    stream: int
    attribute: int
    current_device: Callable[[], int] | None
    read_context: int = 0
    make_current: int = 0


class _Dtypes(dict[str, "np.dtype[Any]"]):
    def __missing__(self, name: str) -> np.dtype[Any]:
        dtype = np.dtype(name)
        if dtype.kind not in "biufc":
            raise TypeError(f"'{name}' may stand for several dtypes")
        self[name] = dtype
        return dtype


DTYPES = _Dtypes()
"""Those of numbers, by their names in the interface."""
_MOST_IMPORTERS = 8  # of the extension module

Reader = Callable[[ExchangeLibrary | Importer], object]
"""Called by one thread at a time; it announces nothing itself."""

GPUS = (2, 13)
"""DLPack's numbers of memory on a GPU, and of memory that CUDA manages."""

_lock = lasting_lock()
_known: list[ExchangeLibrary | Importer] = []
_readers: list[Reader] = []


def register(one: ExchangeLibrary | Importer) -> None:
    """Report a library or an importer to all readers, and to those to come; once for each."""
    with _lock:
        if isinstance(one, Importer) and len(_importers()) == _MOST_IMPORTERS:
            return
        _known.append(one)
        for reader in _readers:
            reader(one)


def read_by(reader: Reader) -> None:
    """Report to a reader all libraries and importers that are known, and those to come."""
    with _lock:
        _readers.append(reader)
        for one in _known:
            reader(one)


def library_of(kind: type) -> ExchangeLibrary | None:
    """The library of arrays of a type; None if none is known."""
    libraries = (one for one in _known if isinstance(one, ExchangeLibrary))
    return next((library for library in libraries if kind in library.kinds), None)


def is_imported(kind: type, own_kind: type) -> bool:
    """Whether arrays of a type are read by an `Importer`, as such arrays of a backend."""
    return any(one.kind is kind and one.own_kind is own_kind for one in _importers())


def _importers() -> list[Importer]:
    return [one for one in _known if isinstance(one, Importer)]


_CODES = {0: "int", 1: "uint", 2: "float", 5: "complex"}
# Of the versions of DLPack that have floating-point numbers of eight bits.
_FLOAT8 = {
    7: "float8_e3m4", 8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn",
    11: "float8_e4m3fnuz", 12: "float8_e5m2", 13: "float8_e5m2fnuz", 14: "float8_e8m0fnu",
}  # fmt: skip
_BFLOAT, _BOOL = 4, 6
SAME_NAMES = frozenset((
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
))  # fmt: skip
"""The dtypes that NumPy and other libraries call alike."""


def float8(name: str) -> np.dtype[Any] | None:
    """A dtype of `ml_dtypes`; None if that is not installed, or has none of that name."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    found = getattr(ml_dtypes, name, None)
    return None if found is None else np.dtype(found)


def dtype_of(code: int, bits: int) -> np.dtype[Any] | None:
    """The dtype for DLPack's code and a number of bits; None where there is none.

    Parameters
    ----------
    code : int
        Of ``DLDataTypeCode``.
    bits : int
        Of one element.
    """
    if code == _BFLOAT and bits == 16:
        return bfloat16()
    if code in _FLOAT8 and bits == 8:
        return float8(_FLOAT8[code])
    name = "bool" if code == _BOOL and bits == 8 else f"{_CODES.get(code)}{bits}"
    return np.dtype(name) if name in SAME_NAMES else None
