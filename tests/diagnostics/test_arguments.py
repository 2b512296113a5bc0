"""The text of every message about a call's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kerneltk import (
    ArgumentTypeError,
    ArgumentValueError,
    ElementwiseKernel,
    KernelToolkitError,
    ReductionKernel,
    ScalarOverflowError,
    vectorize,
)
from kerneltk.backends.registry import capabilities_of
from kerneltk.errors import NotCompiledError

X = np.arange(4, dtype=np.float32)
Y = np.zeros(4, np.float32)
READ_ONLY = np.arange(4, dtype=np.float32)
READ_ONLY.flags.writeable = False
RAW = ElementwiseKernel("raw T x", "T y", "y = x[i]", "r")
COORDINATES = ElementwiseKernel("T x", "T z", "z = _ind.shape()[0] + /* 1 */ _ind.get()[1]", "c")
SMALL = ElementwiseKernel("int8 a, T x", "T y", "y = a", "s")
ON_ITSELF = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (4,), (0,))
K = ElementwiseKernel("T x, T w, float32 a", "T y", "y = x", "k")


def _first(x: Any) -> Any:
    return x[0]


def _both(x: Any) -> Any:
    return x[0], x[1]


class OnOtherDevice:
    def __dlpack__(self) -> None: ...

    def __dlpack_device__(self) -> tuple[int, int]:
        return 7, 0


def overlapping() -> Any:
    return np.zeros(3, np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 2]}))


def kernel(in_params: str, out_params: str) -> ElementwiseKernel:
    return ElementwiseKernel(in_params, out_params, "", "k")


TYPE, VALUE, RANGE = ArgumentTypeError, ArgumentValueError, ScalarOverflowError
MESSAGES: dict[str, tuple[Callable[[], object], type[KernelToolkitError], str]] = {
    "two dtypes": (
        lambda: K(X, X.astype(np.float64), 1),
        TYPE,
        "Type variable 'T' is bound to both 'float32' and 'float64'.\n"
        "  in_params: T x, T w, float32 a\n"
        "                  ^^^ this argument has dtype 'float64'\n"
        "  Hint: cast one argument with 'astype', or use a second type variable.",
    ),
    "two dtypes, the output first": (
        lambda: K(X, X, 1, X.astype(np.float64)),
        TYPE,
        "Type variable 'T' is bound to both 'float64' and 'float32'.\n"
        "  in_params: T x, T w, float32 a\n"
        "             ^^^ this argument has dtype 'float32'\n"
        "  Hint: cast one argument with 'astype', or use a second type variable.",
    ),
    "declared dtype": (
        lambda: K(X, X, X.astype(np.float64)),
        TYPE,
        "Parameter 'a' is declared 'float32', but its argument has dtype 'float64'.\n"
        "  in_params: T x, T w, float32 a\n"
        "                       ^^^^^^^^^\n"
        "  Hint: convert the argument with 'astype', or declare 'float64'.",
    ),
    "objects": (
        lambda: K(X, X.astype(object), 1),
        TYPE,
        "The dtype 'object' has no C type that kernels can use.\n"
        "  in_params: T x, T w, float32 a\n"
        "                  ^^^",
    ),
    "byte order": (
        lambda: K(X.astype(">f4"), X, 1),
        TYPE,
        "The dtype '>f4' has a byte order that is not this machine's.\n"
        "  in_params: T x, T w, float32 a\n"
        "             ^^^\n"
        "  Hint: convert with 'x.astype(x.dtype.newbyteorder(\"=\"))'.",
    ),
    "text": (
        lambda: K(np.array(["a"]), X, 1),
        TYPE,
        "The dtype '<U1' has no C type that kernels can use.\n"
        "  in_params: T x, T w, float32 a\n"
        "             ^^^",
    ),
    "times": (
        lambda: K(np.array(["2020"], "M8[D]"), X, 1),
        TYPE,
        "The dtype 'datetime64[D]' has no C type that kernels can use.\n"
        "  in_params: T x, T w, float32 a\n"
        "             ^^^",
    ),
    "shapes": (
        lambda: K(X, X[:3], 1),
        VALUE,
        "Shapes (4,) and (3,) cannot be broadcast together.\n"
        "  in_params: T x, T w, float32 a\n"
        "                  ^^^ this argument has shape (3,)",
    ),
    "output's shape": (
        lambda: K(X, X, 1, np.zeros(3, np.float32)),
        VALUE,
        "Out shape is mismatched. Output 'y' has shape (3,), but the arguments broadcast to (4,).\n"
        "  out_params: T y\n"
        "              ^^^",
    ),
    "output's shape in broadcasting": (
        lambda: K(X, X, 1, np.zeros((2, 1), np.float32)),
        VALUE,
        "Out shape is mismatched. Output 'y' has shape (2, 1), but the arguments broadcast to "
        "(2, 4).\n"
        "  out_params: T y\n"
        "              ^^^",
    ),
    "size with arrays": (
        lambda: K(X, X, 1, size=4),
        VALUE,
        "Specified 'size' can be used only if every array is raw, but 'x' is not.\n"
        "  in_params: T x, T w, float32 a\n"
        "             ^^^",
    ),
    "output on itself": (
        lambda: K(X, X, 1, ON_ITSELF),
        VALUE,
        "The array for 'y' is written, and its elements share memory: it has shape (4,) and "
        "strides (0,).\n"
        "  out_params: T y\n"
        "              ^^^\n"
        "  Hint: write to an array of its own, such as a copy, and assign that.",
    ),
    "written input broadcast": (
        lambda: ElementwiseKernel("T x, _non_const T z", "", "z += x", "k")(X, X[:1].copy()),
        VALUE,
        "The array for 'z' is written, and broadcast from shape (1,) to (4,): several elements "
        "would write to one location.\n"
        "  in_params: T x, _non_const T z\n"
        "                             ^^^\n"
        "  Hint: leave '_non_const' out if it is only read, or use atomic operations.",
    ),
    "reduction's output on itself": (
        lambda: ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")(
            np.ones((4, 3), np.float32), axis=1, out=ON_ITSELF
        ),
        VALUE,
        "The array for 'y' is written, and its elements share memory: it has shape (4,) and "
        "strides (0,).\n"
        "  out_params: T y\n"
        "              ^^^\n"
        "  Hint: write to an array of its own, such as a copy, and assign that.",
    ),
    "one array for two outputs": (
        lambda: ElementwiseKernel("T x", "T y, T z", "y = x; z = -x", "k")(X, Y, Y),
        VALUE,
        "The arrays for 'y' and 'z' are written, and share memory.\n"
        "  out_params: T y, T z\n"
        "                   ^^^\n"
        "  Hint: give an array for each output.",
    ),
    "views of one array for two results of a reduction": (
        lambda: ReductionKernel("T x", "T y, T z", "x", "a + b", "y = a; z = -a", "0")(
            np.ones((4, 3), np.float32), axis=1, out=(Y, Y[::-1])
        ),
        VALUE,
        "The arrays for 'y' and 'z' are written, and share memory.\n"
        "  out_params: T y, T z\n"
        "                   ^^^\n"
        "  Hint: give an array for each output.",
    ),
    "one array for two results of a core kernel": (
        lambda: vectorize(_both, signature="(n)->(),()")(np.ones((4, 3), np.float32), out=(Y, Y)),
        VALUE,
        "The arrays that are given for results 1 and 2 of '_both' share memory.\n"
        "  Hint: give an array for each output.",
    ),
    "core kernel's output on itself": (
        lambda: vectorize(_first, signature="(n)->()")(np.ones((4, 3), np.float32), out=ON_ITSELF),
        VALUE,
        "The array that is given for result 1 of '_first' is written, and its elements share "
        "memory: it has shape (4,) and strides (0,).\n"
        "  Hint: write to an array of its own, such as a copy, and assign that.",
    ),
    "size negative": (
        lambda: RAW(X, size=-2),
        VALUE,
        "'size' must be a non-negative integer, not -2.",
    ),
    "size a fraction": (
        lambda: RAW(X, size=2.5),
        VALUE,
        "'size' must be a non-negative integer, not 2.5.",
    ),
    "a coordinate of merged dimensions": (
        lambda: COORDINATES(np.ones((2, 3))),
        VALUE,
        "'_ind' of kernel 'c' has 1 dimension for these arrays.\n"
        "  operation: z = _ind.shape()[0] + /* 1 */ _ind.get()[1]\n"
        "                                           ^^^^^^^^^^^^^\n"
        "  Hint: 'reduce_dims=False' keeps dimensions that could be merged.",
    ),
    "a coordinate of another dimension": (
        lambda: ReductionKernel(
            "T x", "T y", "_in_ind.get()[2]", "a + b", "y = a", "0", "s", reduce_dims=False
        )(np.ones((2, 3)), axis=1),
        VALUE,
        "'_in_ind' of kernel 's' has 2 dimensions for these arrays.\n"
        "  map_expr: _in_ind.get()[2]\n"
        "            ^^^^^^^^^^^^^^^^",
    ),
    "no size": (
        lambda: RAW(X),
        VALUE,
        "Loop size is undecided. In kernel 'r' every array is raw.\n"
        "  Hint: pass 'size='; as in CuPy, -1 says that none is given.",
    ),
    "no size, numbers": (
        lambda: K(1, 2, 3),
        VALUE,
        "Loop size is undecided. In kernel 'k' there is no array.\n"
        "  Hint: pass 'size='; as in CuPy, -1 says that none is given.",
    ),
    "raw output without size": (
        lambda: kernel("T x", "raw T y")(X),
        VALUE,
        "The size of raw output 'y' is not known.\n"
        "  out_params: raw T y\n"
        "                  ^^^\n"
        "  Hint: pass the output as an argument, or 'size='.",
    ),
    "too few": (
        lambda: K(X, X),
        TYPE,
        "Wrong number of arguments for 'k'. It must be either 3 or 4 (with outputs), but "
        "given 2. Parameter 'a' is missing.",
    ),
    "too many": (
        lambda: K(X, X, 1, X, X),
        TYPE,
        "Wrong number of arguments for 'k'. It must be either 3 or 4 (with outputs), but given 5.",
    ),
    "none": (
        lambda: K(),
        TYPE,
        "Wrong number of arguments for 'k'. It must be either 3 or 4 (with outputs), but "
        "given 0. Parameter 'x' is missing.",
    ),
    "unknown keyword": (
        lambda: K(X, X, b=1),
        TYPE,
        "Kernel 'k' has no parameter 'b'.\n"
        "  Hint: its parameters are a, w, x, y; a call also takes 'size', 'stream', "
        "'block_size' and 'backend'.",
    ),
    "two values": (
        lambda: K(X, X, x=1, a=1),
        TYPE,
        "Kernel 'k' got two values for parameter 'x'.",
    ),
    "half of the outputs": (
        lambda: kernel("T x", "T y, T z")(X, y=X),
        TYPE,
        "Wrong number of arguments for 'k'. It must be either 1 or 3 (with outputs), but "
        "given 1. Parameter 'z' is missing.",
    ),
    "block size zero": (
        lambda: K(X, X, 1, block_size=0),
        VALUE,
        "'block_size' must be greater than zero.",
    ),
    "block size too large": (
        lambda: K(X, X, 1, block_size=2048),
        VALUE,
        "'block_size' must be at most 1024, not 2048.",
    ),
    "list": (
        lambda: K([1, 2], X, 1),
        TYPE,
        "The argument for 'x' is of type 'list', which is neither an array nor a number.\n"
        "  in_params: T x, T w, float32 a\n"
        "             ^^^",
    ),
    "None": (
        lambda: K(X, None, 1),
        TYPE,
        "The argument for 'w' is of type 'NoneType', which is neither an array nor a "
        "number.\n"
        "  in_params: T x, T w, float32 a\n"
        "                  ^^^",
    ),
    "string": (
        lambda: K(X, X, "1"),
        TYPE,
        "The argument for 'a' is of type 'str', which is neither an array nor a number.\n"
        "  in_params: T x, T w, float32 a\n"
        "                       ^^^^^^^^^",
    ),
    "NumPy string": (
        lambda: K(X, X, np.str_("1")),
        TYPE,
        "The argument for 'a' is of type 'str_', which is neither an array nor a number.\n"
        "  in_params: T x, T w, float32 a\n"
        "                       ^^^^^^^^^",
    ),
    "NumPy time": (
        lambda: K(X, X, np.timedelta64(1, "s")),
        TYPE,
        "The argument for 'a' is of type 'timedelta64', which is neither an array nor a "
        "number.\n"
        "  in_params: T x, T w, float32 a\n"
        "                       ^^^^^^^^^",
    ),
    "record": (
        lambda: K(X, X, np.zeros(1, "i4,i4")[0]),
        TYPE,
        "The argument for 'a' is of type 'void', which is neither an array nor a number.\n"
        "  in_params: T x, T w, float32 a\n"
        "                       ^^^^^^^^^",
    ),
    "type": (
        lambda: K(X, X, float),
        TYPE,
        "The argument for 'a' is of type 'type', which is neither an array nor a number.\n"
        "  in_params: T x, T w, float32 a\n"
        "                       ^^^^^^^^^",
    ),
    "output a number": (
        lambda: K(X, X, 1, 2.0),
        TYPE,
        "Output 'y' must be an array, not an object of type 'float'.\n"
        "  out_params: T y\n"
        "              ^^^",
    ),
    "masked array": (
        lambda: K(np.ma.array(X), X, 1),
        TYPE,
        "The argument for 'x' cannot be taken: a masked array has no place for its mask in a "
        "kernel.\n"
        "  in_params: T x, T w, float32 a\n"
        "             ^^^\n"
        "  Hint: pass 'x.filled(value)', or data and mask as two arguments.",
    ),
    "other device": (
        lambda: K(X, OnOtherDevice(), 1),
        TYPE,
        "The argument for 'w' cannot be taken: an array of type 'OnOtherDevice' is on a device "
        "that kernels do not reach.\n"
        "  in_params: T x, T w, float32 a\n"
        "                  ^^^",
    ),
    "out of range": (
        lambda: SMALL(300, X),
        RANGE,
        "The value 300 is out of range for dtype 'int8'.\n"
        "  in_params: int8 a, T x\n"
        "             ^^^^^^",
    ),
    "out of range, unsigned": (
        lambda: kernel("T x, uint64 a", "T y")(X, -1),
        RANGE,
        "The value -1 is out of range for dtype 'uint64'.\n"
        "  in_params: T x, uint64 a\n"
        "                  ^^^^^^^^",
    ),
    "infinite integer": (
        lambda: SMALL(float("inf"), X),
        RANGE,
        "The value inf is out of range for dtype 'int8'.\n"
        "  in_params: int8 a, T x\n"
        "             ^^^^^^",
    ),
    "no number": (
        lambda: SMALL(float("nan"), X),
        RANGE,
        "The value nan is out of range for dtype 'int8'.\n"
        "  in_params: int8 a, T x\n"
        "             ^^^^^^",
    ),
    "complex to real": (
        lambda: K(X, X, 1j),
        TYPE,
        "The complex value 1j cannot become dtype 'float32'.\n"
        "  in_params: T x, T w, float32 a\n"
        "                       ^^^^^^^^^",
    ),
    "NumPy complex to real": (
        lambda: K(X, X, np.complex64(1j)),
        TYPE,
        "The complex value 1j cannot become dtype 'float32'.\n"
        "  in_params: T x, T w, float32 a\n"
        "                       ^^^^^^^^^",
    ),
    "complex to integer": (
        lambda: SMALL(1j, X),
        TYPE,
        "The complex value 1j cannot become dtype 'int8'.\n"
        "  in_params: int8 a, T x\n"
        "             ^^^^^^",
    ),
    "unbound": (
        lambda: kernel("float32 x", "T y")(X),
        TYPE,
        "Type variable 'T' cannot be inferred from the arguments.\n"
        "  out_params: T y\n"
        "              ^^^\n"
        "  Hint: give this output as an argument, or declare its dtype.",
    ),
    "constraint": (
        lambda: kernel("R:integral x", "R y")(X),
        TYPE,
        "Type variable 'R' must be integral, but it is bound to 'float32'.\n"
        "  in_params: R:integral x\n"
        "             ^^^^^^^^^^^^",
    ),
    "constraint on a number": (
        lambda: kernel("float32 x, R:integral a", "R y")(X, 1.5),
        TYPE,
        "Type variable 'R' must be integral, but it is bound to 'float64'.\n"
        "  in_params: float32 x, R:integral a\n"
        "                        ^^^^^^^^^^^^",
    ),
    "numbers without common dtype": (
        lambda: kernel("float32 x, R a, R b", "R y")(X, np.float16(1), ml_dtypes.bfloat16(2)),
        TYPE,
        "Type variable 'R' has no dtype in common for 'float16' and 'bfloat16'.\n"
        "  in_params: float32 x, R a, R b\n"
        "                             ^^^\n"
        "  Hint: convert one of the numbers, or use a second type variable.",
    ),
    "number of no C type": (
        lambda: kernel("float32 x, R a", "R y")(X, np.longdouble(1)),
        TYPE,
        "The dtype 'float128' has no C type that kernels can use.\n"
        "  in_params: float32 x, R a\n"
        "                        ^^^",
    ),
    "read-only output": (
        lambda: K(X, X, 1, READ_ONLY),
        VALUE,
        "The array for parameter 'y' is written, but it is read-only.\n"
        "  Hint: pass a copy, or set 'array.flags.writeable = True' if you own it.",
    ),
    "read-only input": (
        lambda: kernel("_non_const T x", "T y")(READ_ONLY),
        VALUE,
        "The array for parameter 'x' is written, but it is read-only.\n"
        "  Hint: pass a copy, or set 'array.flags.writeable = True' if you own it.",
    ),
    "misaligned raw output": (
        lambda: kernel("T x", "raw T y")(X, np.zeros(17, np.uint8)[1:].view(np.float32)),
        VALUE,
        "The array for raw parameter 'y' is written by references, but its elements are not at "
        "multiples of 4 bytes.\n"
        "  out_params: raw T y\n"
        "                  ^^^\n"
        "  Hint: pass a copy.",
    ),
    "misaligned output of an atomic": (
        lambda: ElementwiseKernel("T x", "T y", "atomicAdd(&y, x)", "k")(
            X, np.zeros(17, np.uint8)[1:].view(np.float32)
        ),
        VALUE,
        "The array for parameter 'y' is written by references, but its elements are not at "
        "multiples of 4 bytes.\n"
        "  out_params: T y\n"
        "              ^^^\n"
        "  Hint: pass a copy.",
    ),
    "fields not aligned": (
        lambda: K(np.zeros(3, [("t", "S3"), ("x", "c8")]), X, 1),
        TYPE,
        "The dtype '[('t', 'S3'), ('x', '<c8')]' has complex or 16-bit floating fields, "
        "but not each field at a multiple of its size.\n"
        "  in_params: T x, T w, float32 a\n"
        "             ^^^\n"
        "  Hint: give the dtype 'offsets' and an 'itemsize', and convert with 'astype'.",
    ),
    "field's name": (
        lambda: K(np.zeros(3, [("for", "f4")]), X, 1),
        TYPE,
        "The field 'for' of dtype '[('for', '<f4')]' is a C++ keyword.\n"
        "  in_params: T x, T w, float32 a\n"
        "             ^^^",
    ),
    "overlapping fields": (
        lambda: K(overlapping(), X, 1),
        TYPE,
        "The fields of dtype '{'names': ['a', 'b'], 'formats': ['<i4', '<i2'], 'offsets': "
        "[0, 2], 'itemsize': 4}' overlap at 'b'.\n"
        "  in_params: T x, T w, float32 a\n"
        "             ^^^",
    ),
    "field's dtype": (
        lambda: K(np.zeros(3, [("x", "U3")]), X, 1),
        TYPE,
        "The dtype '<U3' has no C type that kernels can use.\n"
        "  in_params: T x, T w, float32 a\n"
        "             ^^^",
    ),
    "nothing to compile": (
        lambda: K.translation_unit(X[:0], X[:0], 1),
        VALUE,
        "A loop of shape (0,) compiles nothing.",
    ),
    "backend before all else": (
        lambda: K.translation_unit(size="a", backend="hip"),  # type: ignore[arg-type]
        VALUE,
        "'backend' must be 'host' or 'cuda', not 'hip'.",
    ),
    "no description": (
        lambda: K.translation_unit(X, "a", 1),
        TYPE,
        "''a'' describes no argument.\n"
        "  Hint: use 'ArraySpec.make(dtype, shape)' for an array, a dtype for a scalar.",
    ),
    "too few to translate": (
        lambda: K.translation_unit(X),
        TYPE,
        "Wrong number of arguments for 'k'. It must be either 3 or 4 (with outputs), but given 1. "
        "Parameter 'w' is missing.",
    ),
    "options a string": (
        lambda: ElementwiseKernel("T x", "T y", "", options="-O3"),
        TYPE,
        "'options' must be a sequence of str, not '-O3'.",
    ),
    "not called": (
        lambda: kernel("T x", "T y").cached_code,
        NotCompiledError,
        "Kernel 'k' has not been called.\n"
        "  Hint: 'translation_unit(...)' renders the source without a call.",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message(name: str) -> None:
    call, error, message = MESSAGES[name]
    with pytest.raises(KernelToolkitError) as caught:
        call()
    assert type(caught.value) is error
    assert str(caught.value) == message


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0)])
def test_arrays_of_two_backends(monkeypatch: pytest.MonkeyPatch, first: int, second: int) -> None:
    """Simulated: the second kind of array stands for one on a GPU."""
    from kerneltk.backends import foreign_arrays

    class OnGpu(np.ndarray):
        pass

    class Gpu:
        name = "cuda"
        capabilities = capabilities_of("cuda")

    gpu, own = Gpu(), foreign_arrays.backend_of
    monkeypatch.setattr(
        foreign_arrays, "backend_of", lambda value: gpu if type(value) is OnGpu else own(value)
    )
    arrays = [X, X.view(OnGpu)]
    with pytest.raises(ArgumentTypeError) as caught:
        K(arrays[first], arrays[second], 1)
    places = ["host memory", "a GPU"]
    assert str(caught.value) == (
        f"'x' is in {places[first]}, but 'w' is in {places[second]}.\n"
        "  in_params: T x, T w, float32 a\n"
        "                  ^^^\n"
        "  Hint: move one of them: 'cupy.asarray(x)' or 'cupy.asnumpy(x)'."
    )


def test_a_gpu_array_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from kerneltk import BackendUnavailableError
    from kerneltk.backends import registry

    class Exporter:
        __cuda_array_interface__ = None

    monkeypatch.delitem(registry._loaded, "cuda", raising=False)
    monkeypatch.setitem(sys.modules, "kerneltk.backends.cuda.backend", None)
    with pytest.raises(BackendUnavailableError) as caught:
        K(X, Exporter(), 1)
    lines = str(caught.value).split("\n")
    assert lines[0].startswith("Arrays on a GPU need CuPy and the CUDA bindings: ")
    assert lines[1] == "  Hint: install 'kerneltk[cuda12]' or 'kerneltk[cuda13]'."


@pytest.mark.parametrize("target", ["sm90", "90", "sm_", "sm_20", ""])
def test_unknown_architectures(target: str) -> None:
    with pytest.raises(ValueError, match=r"architecture such as 'sm_90'|the oldest is"):
        K.compile(X, X, 1, target=target)
