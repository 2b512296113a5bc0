"""What kernels take of other libraries: the tables of docs/interop.md, as data.

`test_interop_table.py` runs each cell, and compares the page with these rows.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from kerneltk import ElementwiseKernel, ReductionKernel, fuse, jit, vectorize

VALUES = np.array([1, 2, 3, 4], np.float32)


def imported(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what other libraries do at their import
        return pytest.importorskip(name)


def cuda_core() -> Any:
    """Return the package `cuda.core`, by the name that its version has."""
    found = imported("cuda.core")
    return found if hasattr(found, "Stream") else imported("cuda.core.experimental")


# -- whose arrays ----------------------------------------------------------------------------------


class ByInterface:
    """Has ``__array_interface__`` and nothing else."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


class ByDlpack:
    """Has DLPack and nothing else."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Kind(NamedTuple):
    """A row of the table of libraries.

    Parameters
    ----------
    arrays : str
    output : str
        Empty if arrays may be outputs; else a part of the error.
    result : str
        Whose array a result is, and in whose memory.
    stream : str
        Where a launch goes without `stream=`.
    graph : str
        Whether a capture holds a launch.
    make : callable
        Makes one of NumPy's array, in host memory; None for arrays on GPUs.
    """

    arrays: str
    output: str
    result: str
    stream: str
    graph: str
    make: Callable[[Any], Any] | None = None

    @property
    def cells(self) -> list[str]:
        output = "refused" if self.output else "taken"
        return [self.arrays, "taken", output, self.result, self.stream, self.graph]


def _torch(array: Any) -> Any:
    return imported("torch").from_numpy(array)


def _jax(array: Any) -> Any:
    jax = imported("jax")
    return jax.device_put(array, jax.devices("cpu")[0])  # also where JAX has a GPU


_AT_ONCE = "none: done at the return"
_NONE = "none"
KINDS = (
    Kind("NumPy", "", "NumPy's", _AT_ONCE, _NONE, np.copy),
    Kind("torch, in host memory", "", "torch's", _AT_ONCE, _NONE, _torch),
    Kind("JAX, in host memory", "never change", "JAX's, NumPy's memory", _AT_ONCE, _NONE, _jax),
    Kind("`__dlpack__` in host memory", "", "NumPy's", _AT_ONCE, _NONE, ByDlpack),
    Kind("`__array_interface__`", "", "NumPy's", _AT_ONCE, _NONE, ByInterface),
    Kind("CuPy", "", "CuPy's", "CuPy's current one", "captured"),
    Kind("torch, on a GPU", "", "torch's, its memory", "torch's current one", "captured"),
    Kind(
        "numba, on a GPU", "", "numba's, CuPy's memory", "the array's, else the default one",
        "captured on a stream that is named",
    ),
    Kind(
        "`__cuda_array_interface__`", "", "CuPy's", "the array's, else CuPy's current one",
        "captured",
    ),
    Kind(
        "`__dlpack__` on a GPU", "", "CuPy's",
        "CuPy's current one, after the library's work", "refused",
    ),
    Kind(
        "JAX, on a GPU", "never change", "JAX's, CuPy's memory",
        "CuPy's current one, after JAX's work", "refused",
    ),
)  # fmt: skip


def results() -> dict[str, Callable[[Any], Any]]:
    """Calls whose results are allocated, by new kernels. 'rows' and 'columns' are of matrices."""
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")

    @jit.kernel
    def shifted(x):  # type: ignore[no-untyped-def]
        i = jit.index(1)
        return x[i] + i

    @fuse
    def softer(x):  # type: ignore[no-untyped-def]
        e = x - x.max()
        return e / e.sum()

    core = vectorize(lambda x: 2 * x)
    return {
        "elementwise": ElementwiseKernel("T x", "T y", "y = 2 * x", "twice"),
        "reduction": lambda x: total(x),
        "rows": lambda x: total(x, axis=1),
        "columns": lambda x: total(x, axis=0),
        "elements": jit.kernel(lambda x: 2 * x),
        "indices": shifted,
        "vectorize": core,
        "fuse": softer,
    }


# -- arrays that differ from plain ones ------------------------------------------------------------


class Case(NamedTuple):
    """A row of the table of special arrays: what they are, and whether kernels take them.

    Parameters
    ----------
    arrays : str
    make : callable
        Makes one; skips where its library is missing.
    plain : array or None
        The same elements in NumPy's array; None if no kernel takes them.
    expressions, raw, python, output : str
        Empty if they are taken by `ElementwiseKernel`, `ReductionKernel` and ``@jit.kernel``; by
        raw kernels; by kernels in Python on a grid; as outputs. Else a part of the error.
    also : tuple of callable
        Makes others, of which the same holds.
    """

    arrays: str
    make: Callable[[], Any]
    plain: Any = None
    expressions: str = ""
    raw: str = ""
    python: str = ""
    output: str = ""
    also: tuple[Callable[[], Any], ...] = ()

    @property
    def cells(self) -> list[str]:
        errors = (self.expressions, self.raw, self.python, self.output)
        return [self.arrays, *("refused" if error else "taken" for error in errors)]


def refused(arrays: str, make: Callable[[], Any], error: str, *also: Callable[[], Any]) -> Case:
    return Case(arrays, make, None, error, error, error, error, also)


def tensor(*values: Any, **options: Any) -> Any:
    return imported("torch").tensor(values or VALUES.tolist(), **options)


def _quantized() -> Any:
    torch = imported("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch means to drop them
        return torch.quantize_per_tensor(tensor(), 0.5, 0, torch.qint8)


def _nested() -> Any:
    torch = imported("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are a prototype
        return torch.nested.nested_tensor([tensor(1.0), tensor(2.0, 3.0)])


def _freed() -> Any:
    x = tensor()
    x.untyped_storage().resize_(0)
    return x


def _batched() -> Any:
    """A tensor inside of `torch.func.vmap`, which has no memory of its own."""
    found: list[Any] = []
    torch = imported("torch")
    torch.func.vmap(lambda x: found.append(x) or x)(torch.ones(2, 4))
    return found[0]


def _traced() -> Any:
    found: list[Any] = []
    jax = imported("jax")
    jax.jit(lambda x: found.append(x) or x)(jax.numpy.ones(4))
    return found[0]


def _deleted() -> Any:
    x = _jax(np.ones(4, np.float32))
    x.delete()
    return x


def _read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


def _torch_of(name: str) -> Any:
    return tensor().to(getattr(imported("torch"), name))


class OnOtherDevice:
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("there is no memory here")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 4, 0  # kDLOpenCL


class Raising:
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("no")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


_LAZY = "lazy view"
_GAPS = "has gaps"
_NO_DTYPE = "no C type that kernels can use"
_COMPLEX = np.array([1 + 2j, 3 - 1j, 0.5j, 2], np.complex64)
CASES = (
    Case("torch: requires a gradient", lambda: tensor(requires_grad=True), VALUES,
         output=r"requires a gradient(.|\n)*detach"),
    Case("torch: conjugated lazily", lambda: tensor(*_COMPLEX.conj().tolist()).conj(), _COMPLEX,
         output=_LAZY),
    Case("torch: negated lazily", lambda: tensor(*(-1j * VALUES).tolist()).conj().imag, VALUES,
         raw="", output=_LAZY),
    Case("torch: `bfloat16`", lambda: _torch_of("bfloat16"), VALUES.astype(ml_dtypes.bfloat16)),
    Case("torch: `float8`", lambda: _torch_of("float8_e4m3fn"),
         VALUES.astype(ml_dtypes.float8_e4m3fn), expressions=_NO_DTYPE, python=_NO_DTYPE),
    Case("torch: expanded", lambda: tensor(3.0).expand(4), np.full(4, 3, np.float32), raw=_GAPS,
         output="one location in memory"),
    Case("torch: without elements", lambda: tensor().new_zeros(0), VALUES[:0]),
    Case("torch: without dimensions", lambda: tensor(3.0)[0], np.array(3, np.float32)),
    refused("torch: sparse", lambda: tensor().to_sparse(), r"layout(.|\n)*to_dense"),
    refused("torch: nested", _nested, r"nested tensor(.|\n)*to_padded_tensor"),
    refused("torch: quantized", _quantized, r"quantized(.|\n)*int_repr"),
    refused("torch: dtypes that NumPy has not", lambda: tensor().new_zeros(
        4, dtype=imported("torch").bits8), "NumPy has no such dtype"),
    refused("torch: on `meta`", lambda: tensor(device="meta"), "on a device that kernels do not"),
    refused("torch: zeros that are not stored", lambda: imported("torch")._efficientzerotensor(4),
            "has no memory"),
    refused("torch: storage was freed", _freed, "its storage has 0"),
    refused("torch: inside of `torch.func`", _batched, "BatchedTensorImpl"),
    Case("JAX: `bfloat16`", lambda: _jax(VALUES).astype("bfloat16"),
         VALUES.astype(ml_dtypes.bfloat16), output="never change"),
    Case("JAX: `float8`", lambda: _jax(VALUES).astype("float8_e5m2"),
         VALUES.astype(ml_dtypes.float8_e5m2), expressions=_NO_DTYPE, python=_NO_DTYPE,
         output=f"never change|{_NO_DTYPE}"),
    refused("JAX: traced", _traced, r"traces(.|\n)*jax_op"),
    refused("JAX: deleted", _deleted, "was deleted"),
    Case("`ml_dtypes`: `bfloat16`", lambda: VALUES.astype(ml_dtypes.bfloat16),
         VALUES.astype(ml_dtypes.bfloat16)),
    Case("`ml_dtypes`: `float8`", lambda: VALUES.astype(ml_dtypes.float8_e4m3fn),
         VALUES.astype(ml_dtypes.float8_e4m3fn), expressions=_NO_DTYPE, python=_NO_DTYPE),
    Case("read-only", lambda: _read_only(VALUES.copy()), VALUES, output="is read-only"),
    Case("read-only, by DLPack", lambda: ByDlpack(_read_only(VALUES.copy())), VALUES,
         output="is read-only"),
    Case("negative strides", lambda: VALUES[::-1].copy()[::-1], VALUES, raw=_GAPS),
    Case("without elements", lambda: np.zeros(0, np.float32), VALUES[:0]),
    Case("without dimensions", lambda: np.array(3, np.float32), np.array(3, np.float32)),
    refused("another byte order", lambda: VALUES.astype(">f4"), r"byte order|dtype '>f4'"),
    refused("strings, dates, objects, `longdouble`", lambda: np.array(["a"] * 4),
            "no C type that kernels can use|and the array has dtype", lambda: VALUES.astype(object),
            lambda: VALUES.astype("M8[s]"), lambda: VALUES.astype(np.longdouble)),
    refused("masked", lambda: np.ma.array(VALUES), "mask"),
    refused("on a device of another kind", OnOtherDevice, "on a device that kernels do not reach"),
    refused("its own protocol raises", Raising, "'__dlpack__' of an object of type 'Raising'"),
)  # fmt: skip


class Number(NamedTuple):
    """A row of the table of numbers."""

    numbers: str
    value: Any


NUMBERS = (
    Number("`int`, `float`, `complex`, `bool`", 3),
    Number("NumPy's scalars", np.float32(3)),
    Number("`ml_dtypes`' scalars that kernels have dtypes of", ml_dtypes.bfloat16(3)),
)

C_TYPES = {
    "float32": "float",
    "complex64": "float",
    "bfloat16": "__nv_bfloat16",
    "float8_e4m3fn": "unsigned char",
    "float8_e5m2": "unsigned char",
}
"""The element type of raw kernels for arrays of a dtype."""


# -- streams ---------------------------------------------------------------------------------------


class Protocol:
    """Has ``__cuda_stream__`` and nothing else."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


STREAMS: dict[str, Callable[[Any], Any]] = {
    "CuPy's": lambda stream: stream,
    "torch's": lambda stream: imported("torch").cuda.ExternalStream(stream.ptr),
    "numba's": lambda stream: imported("numba.cuda").external_stream(stream.ptr),
    "`cuda.core`'s": lambda stream: cuda_core().Stream.from_handle(stream.ptr),
    "`CUstream`": lambda stream: imported("cuda.bindings.driver").CUstream(stream.ptr),
    "`cudaStream_t`": lambda stream: imported("cuda.bindings.runtime").cudaStream_t(stream.ptr),
    "`__cuda_stream__`": lambda stream: Protocol(stream.ptr),
    "`int`": lambda stream: stream.ptr,
    "`ctypes.c_void_p`": lambda stream: ctypes.c_void_p(stream.ptr),
}
"""The kinds of streams that docs/streams.md lists, each made of CuPy's."""
