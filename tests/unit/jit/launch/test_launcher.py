"""Launches of decorated kernels, with a front-end that has a source in place of a function."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import LaunchMode
from kerneltk.backends.registry import capabilities_of
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LaunchError,
    ScalarOverflowError,
)
from kerneltk.interop.streams import stream_handle
from kerneltk.jit.ir.types import (
    PY_INT,
    Array,
    Record,
    Tuple,
    Type,
)
from kerneltk.jit.launch import launcher
from kerneltk.jit.launch.launcher import JitDispatcher
from kerneltk.jit.launch.marshalling import ArgumentPath
from kerneltk.launch import dispatch

from .cpp_kernel import PACKED, PARTICLE, WAVE, Config, Nested, Pair, Text

HOST, CUDA = capabilities_of("host"), capabilities_of("cuda")
STRUCTURES = """
struct pair { signed char left; dense<float, 1> right; };
struct config { double scale; bool count; };
struct nested { pair first; config second; };
"""


class Kernel(JitDispatcher):
    """A dispatcher with what calls it."""

    __slots__ = ("count", "text")

    def __init__(self, text: Text) -> None:
        super().__init__(text.name, self.paths, text.compiled)
        self.text, self.count = text, 0

    def paths(self) -> list[ArgumentPath]:
        return list(map(self.text.path, range(self.count)))

    def __call__(
        self, grid: Any, block: Any, args: Any, shared: Any = 0, stream: Any = None
    ) -> None:
        handle = None if stream is None else stream_handle(stream)
        self.count = len(args)
        self.recent(grid, block, args, shared, handle)


INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x;"
ADD = f"{INDEX} if (i < n) z.data[i] = x.data[i] + y.data[i];"


def adder() -> Kernel:
    """Return z = x + y, of any dtype, for one-dimensional arrays of either layout."""

    def parameters(types: tuple[Type, ...]) -> str:
        shown = []
        for name, kind in zip("xyz", types[:3], strict=True):
            assert isinstance(kind, Array)
            ctype = {"float32": "float", "float64": "double", "int32": "int"}[str(kind.element)]
            view = "dense" if kind.layout == "C" else "strided"
            shown.append(f"{view}<{ctype}, {kind.ndim}> {name}")
        return ", ".join([*shown, "long long n"])

    def body(types: tuple[Type, ...]) -> str:
        def at(name: str, kind: Type) -> str:
            assert isinstance(kind, Array)
            if kind.layout == "C":
                return f"{name}.data[i]"
            return f"*(decltype({name}.data))((char*){name}.data + i * {name}.stride[0])"

        x, y, z = (at(name, kind) for name, kind in zip("xyz", types[:3], strict=True))
        return f"{INDEX} if (i < n && i < x.extent[0]) {z} = {x} + {y};"

    return Kernel(Text(parameters, body, (False, False, True)))


# -- types -----------------------------------------------------------------------------------------


class Color(enum.IntEnum):
    RED = 3


x32 = np.arange(10, dtype=np.float32)

# -- what arrives ----------------------------------------------------------------------------------


def test_sum_of_two(backend: Any) -> None:
    x, y = backend.xp.arange(100, dtype=np.float32), backend.xp.ones(100, np.float32)
    z = backend.xp.zeros(100, np.float32)
    add = adder()
    for n in (100, 50, 100):
        z[:] = 0
        add((2,), (64,), (x, y, z, n))
        expected = np.where(np.arange(100) < n, np.arange(100) + 1, 0)
        np.testing.assert_array_equal(backend.asnumpy(z), expected)
    assert len(add.text.asked) == 1


def test_dtypes_shapes_and_strides_change_between_calls(backend: Any) -> None:
    add = adder()
    calls = 0
    for _ in range(2):
        for dtype, length, step in itertools.product(("f4", "f8", "i4"), (5, 64), (1, 2, -1)):
            base = np.arange(length * 2, dtype=dtype)
            x = backend.asarray(base[::step][:length])
            y = backend.asarray(np.arange(length, dtype=dtype))
            z = backend.asarray(np.zeros(length, dtype))
            add(1, 64, (x, y, z, length))
            expected = base[::step][:length] + np.arange(length, dtype=dtype)
            np.testing.assert_array_equal(backend.asnumpy(z), expected)
            calls += 1
    assert len(add.text.asked) == 6  # dtypes, by layouts


def test_two_threads_find_a_launcher_outdated(monkeypatch: pytest.MonkeyPatch) -> None:
    class Raced(dict[Any, Any]):
        """A table whose entries another thread removes once they are read."""

        def get(self, key: Any, default: Any = None) -> Any:
            return self.pop(key, default)

    add, z = adder(), np.zeros(10, np.float32)
    add(1, 10, (x32, x32, z, 10))
    add._launchers = Raced(add._launchers)
    add.recent = add._dispatched(None)
    monkeypatch.setattr(dispatch, "is_outdated", lambda run: True)
    add(1, 10, (x32, z, z, 10))
    np.testing.assert_array_equal(z, 3 * x32)


def test_equal_dtypes_need_not_be_the_same_object() -> None:
    add = adder()
    z = np.zeros(4, np.int32)
    for dtype in (np.dtype(np.int32), np.dtype("i4", metadata={"unit": "m"}), np.dtype(np.intc)):
        add(1, 4, (np.ones(4, dtype), np.ones(4, np.int32), z, 4))
        np.testing.assert_array_equal(z, 2)
    assert len(add.text.asked) == 1


NUMBERS: list[tuple[str, Any, str, Any]] = [
    ("bool", True, "u1", 1),
    ("bool", np.False_, "u1", 0),
    ("long long", -5, "i8", -5),
    ("long long", 2**63 - 1, "i8", 2**63 - 1),
    ("long long", Color.RED, "i8", 3),
    ("double", 0.1, "f8", 0.1),
    ("double", float("inf"), "f8", np.inf),
    ("complex<double>", 1 - 2j, "c16", 1 - 2j),
    ("signed char", np.int8(-7), "i1", -7),
    ("unsigned char", np.uint8(200), "u1", 200),
    ("short", np.int16(-300), "i2", -300),
    ("unsigned short", np.uint16(60000), "u2", 60000),
    ("int", np.int32(-70000), "i4", -70000),
    ("unsigned int", np.uint32(4000000000), "u4", 4000000000),
    ("long long", np.int64(-(2**63)), "i8", -(2**63)),
    ("unsigned long long", np.uint64(2**64 - 1), "u8", 2**64 - 1),
    ("unsigned long long", np.ulonglong(2**64 - 1), "u8", 2**64 - 1),
    ("float16", np.float16(1.5), "f2", 1.5),
    ("bfloat16", ml_dtypes.bfloat16(-2.5), "bfloat16", -2.5),
    ("float", np.float32(0.1), "f4", np.float32(0.1)),
    ("double", np.float64(0.1), "f8", 0.1),
    ("complex<float>", np.complex64(1 - 2j), "c8", 1 - 2j),
    ("complex<double>", np.complex128(3j), "c16", 3j),
]


@pytest.mark.parametrize(("ctype", "value", "dtype", "expected"), NUMBERS)
def test_each_number_arrives(
    backend: Any, ctype: str, value: Any, dtype: str, expected: Any
) -> None:
    """Behind a byte, so that its alignment shows, and before another."""
    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype  # type: ignore[assignment]
    out = backend.asarray(np.zeros(1, dtype).view(np.uint8))
    ends = backend.asarray(np.zeros(2, np.int8))
    kernel = Kernel(
        Text(
            f"dense<unsigned char, 1> x, signed char y, {ctype} z, signed char n, "
            "dense<signed char, 1> ends",
            "for (int k = 0; k < (int)sizeof z; ++k) x.data[k] = ((unsigned char*)&z)[k];"
            "ends.data[0] = y; ends.data[1] = n;",
        )
    )
    kernel(1, 1, (out, np.int8(11), value, np.int8(12), ends))
    assert backend.asnumpy(out).view(dtype)[0] == expected
    assert backend.asnumpy(ends).tolist() == [11, 12]


def test_views_tell_extents_and_strides(backend: Any) -> None:
    base = np.arange(60, dtype=np.float64).reshape(3, 4, 5)
    view = base[::-1, ::2, 1:]
    got = backend.asarray(np.zeros(8, np.int64))
    sums = backend.asarray(np.zeros(1))
    kernel = Kernel(
        Text(
            "dense<long long, 1> x, strided<double, 3> y, dense<double, 1> z",
            "double total = 0;"
            "for (long long a = 0; a < y.extent[0]; ++a)"
            "for (long long b = 0; b < y.extent[1]; ++b)"
            "for (long long c = 0; c < y.extent[2]; ++c)"
            "total += (a + 1) * *(double*)((char*)y.data + a * y.stride[0] + b * y.stride[1] + "
            "c * y.stride[2]);"
            "z.data[0] = total;"
            "for (int d = 0; d < 3; ++d) { x.data[d] = y.extent[d]; x.data[d + 3] = y.stride[d]; }"
            "x.data[6] = x.extent[0]; x.data[7] = z.extent[0];",
        )
    )
    kernel(1, 1, (got, backend.asarray(view), sums))
    assert backend.asnumpy(got).tolist() == [3, 2, 4, -160, 80, 8, 8, 1]
    assert backend.asnumpy(sums)[0] == (view * np.arange(1, 4)[:, None, None]).sum()


def test_records_and_arrays_of_them(backend: Any) -> None:
    one = np.zeros((), PARTICLE)
    one["id"], one["mass"], one["at"] = 5, 2.5, (1, 2, 3)
    small = np.array((7, 0.5), PACKED)
    out = backend.asarray(np.zeros(2, PARTICLE))
    tags = backend.asarray(np.zeros(1, PACKED))
    kernel = Kernel(
        Text(
            "signed char x, particle y, dense<particle, 1> z, packed n, dense<packed, 1> tags",
            "z.data[1] = y; z.data[1].id = x; z.data[0].mass = n.value; tags.data[0] = n;",
        )
    )
    kernel(1, 1, (np.int8(9), one[()], out, small[()], tags))
    found = backend.asnumpy(out)
    assert found[1]["id"] == 9
    assert found[1]["mass"] == 2.5
    assert found[1]["at"].tolist() == [1, 2, 3]
    assert found[0]["mass"] == 0.5
    assert backend.asnumpy(tags)[0] == small


def test_records_with_complex_fields(backend: Any) -> None:
    one = np.zeros((), WAVE)
    one["z"], one["k"] = 1 + 2j, 7
    out = backend.asarray(np.zeros(4, np.float64))
    kernel = Kernel(
        Text(
            "bool x, wave y, bool z, dense<double, 1> n",
            "n.data[0] = y.z.real(); n.data[1] = y.z.imag(); n.data[2] = y.k; n.data[3] = x + z;",
        )
    )
    kernel(1, 1, (True, one[()], True, out))
    assert backend.asnumpy(out).tolist() == [1, 2, 7, 2]


def test_records_of_another_dtype_get_another_kernel() -> None:
    seen = np.zeros(1, np.int64)
    kernel = Kernel(
        Text(
            lambda types: (
                f"{'particle' if types[0] == Record(PARTICLE) else 'packed'} x, "
                "dense<long long, 1> y"
            ),
            "y.data[0] = sizeof x;",
        )
    )
    for dtype in (PARTICLE, PACKED, PARTICLE):
        kernel(1, 1, (np.zeros((), dtype)[()], seen))
        assert seen[0] == dtype.itemsize


@pytest.mark.parametrize("style", ["tuple", "named", "dataclass"])
def test_structures(backend: Any, style: str) -> None:
    """Arrays and numbers in tuples of tuples; what has no bytes is nowhere."""
    x = backend.asarray(np.arange(4, dtype=np.float32))
    out = backend.asarray(np.zeros(6))
    kernel = Kernel(
        Text(
            "bool x, nested y, short z, dense<double, 1> more",
            "more.data[0] = y.first.left; more.data[1] = y.first.right.data[3];"
            "more.data[2] = y.first.right.extent[0]; more.data[3] = y.second.scale;"
            "more.data[4] = y.second.count; more.data[5] = x + z;",
            head=STRUCTURES,
        )
    )
    for k in range(3):
        left = np.int8(5 + k)
        made: Any = {
            "tuple": ((left, x), (0.5 + k, True)),
            "named": Pair(Pair(left, x), (0.5 + k, True)),
            "dataclass": Nested((left, x), Config(0.5 + k, True)),
        }[style]
        kernel(1, 1, (True, made, np.int16(40), out))
        assert backend.asnumpy(out).tolist() == [5 + k, 3, 4, 0.5 + k, 1, 41]
    assert len(kernel.text.asked) == 1


def test_what_has_no_bytes_is_no_member(backend: Any) -> None:
    out = backend.asarray(np.zeros(2, np.int64))
    kernel = Kernel(
        Text("tail<long long> y, dense<long long, 1> n", "n.data[0] = y.rest; n.data[1] = 1;")
    )
    kernel(1, 1, (None, (None, 77, ()), ((), None), out))
    assert backend.asnumpy(out).tolist() == [77, 1]


def test_the_structure_of_a_tuple_may_change() -> None:
    def is_given(types: tuple[Type, ...]) -> bool:
        assert isinstance(types[0], Tuple)
        return bool(types[0].items)

    seen = np.zeros(1, np.int64)
    kernel = Kernel(
        Text(
            lambda types: (
                ("tail<long long> x, " if is_given(types) else "") + "dense<long long, 1> y"
            ),
            lambda types: f"y.data[0] = {'x.rest' if is_given(types) else '-1'};",
        )
    )
    for given, expected in (((5,), 5), ((), -1), ((6,), 6), ((), -1)):
        kernel(1, 1, (given, seen))
        assert seen[0] == expected


def test_arrays_without_dimensions(backend: Any) -> None:
    x = backend.asarray(np.array(4.0))
    kernel = Kernel(Text("dense<double, 0> x", "*x.data += 1;"))
    kernel(1, 1, (x,))
    assert backend.asnumpy(x) == 5


def test_empty_arrays(backend: Any) -> None:
    out = backend.asarray(np.zeros(2, np.int64))
    empty = backend.xp.zeros((0, 3), np.float32)
    kernel = Kernel(
        Text(
            "dense<float, 2> x, dense<long long, 1> y",
            "y.data[0] = x.extent[0]; y.data[1] = x.extent[1];",
        )
    )
    for _ in range(2):
        out[:] = -1
        kernel(1, 1, (empty, out))
        assert backend.asnumpy(out).tolist() == [0, 3]


def test_a_kernel_without_arguments_runs_where_kernels_do() -> None:
    kernel = Kernel(Text("", ""))
    kernel(1, 1, ())
    kernel(1, 1, (None,))
    is_cached = isinstance(kernel.recent, functools.partial)
    assert is_cached or foreign_arrays.default_backend().name == "cuda"


def test_subclasses_and_other_libraries_arrays() -> None:
    class Foreign:
        def __init__(self, array: Any) -> None:
            self.__array_interface__ = array.__array_interface__
            self.kept = array

    class Sub(np.ndarray[Any, Any]):
        pass

    add = adder()
    x, y, z = (np.ones(4, np.float32) for _ in range(3))
    for given in (Foreign(z), z.view(Sub), Foreign(z)):
        z[:] = 0
        add(1, 4, (x.view(Sub), Foreign(y), given, 4))
        np.testing.assert_array_equal(z, 2)

    pairs = Kernel(Text("pair x", "x.right.data[0] = x.left;", head=STRUCTURES))
    for made in ((np.int8(3), Foreign(z)), Pair(np.int8(3), Foreign(z))):
        z[:] = 0
        pairs(1, 1, (made,))
        assert z[0] == 3
        assert isinstance(made[1], Foreign)  # the caller's own tuple is as it was

    config = Kernel(
        Text(
            "config2 x",
            "x.count.data[0] = x.scale;",
            head="struct config2 { double scale; dense<float, 1> count; };",
        )
    )
    config(1, 1, (Config(2.5, Foreign(z)),))
    assert z[0] == 2.5

    with pytest.raises(ArgumentTypeError, match="masked array"):
        add(1, 4, (np.ma.masked_array(x, x > 0), y, z, 4))


# -- grids -----------------------------------------------------------------------------------------

WHERE = "dense<int, 1> x"
COUNT = (
    "x.data[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x * blockDim.x * blockDim.y + "
    "blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x] = 1;"
)


@pytest.mark.parametrize(
    ("grid", "block", "threads"),
    [
        (3, 4, 12),
        (np.int64(3), np.int32(4), 12),
        ((3,), (4,), 12),
        ((3, 2), (4, 1), 24),
        ((3, 2, 2), (2, 2), 48),
        ([2, 2], [4], 16),
        (0, 4, 4),  # an extent of 0 counts as 1
        ((3, 0), 4, 12),
    ],
)
def test_grids(backend: Any, grid: Any, block: Any, threads: int) -> None:
    kernel = Kernel(Text(WHERE, COUNT))
    for _ in range(2):
        x = backend.xp.zeros(64, np.int32)
        kernel(grid, block, (x,))
        assert int(x.sum()) == threads


def test_wrong_grids() -> None:
    kernel = Kernel(Text(WHERE, COUNT))
    x = np.zeros(64, np.int32)
    kernel(1, 1, (x,))
    with pytest.raises(ArgumentTypeError, match=r"The grid of kernel 'probe' must be an int or"):
        kernel("3", 1, (x,))
    with pytest.raises(ArgumentValueError, match=r"can have 1024 threads, and \(2048, 1, 1\)"):
        kernel(1, 2048, (x,))
    with pytest.raises(ArgumentValueError, match=r"has one to three extents, not 4"):
        kernel((1, 1, 1, 1), 1, (x,))
    with pytest.raises(ArgumentValueError, match=r"'shared_mem' of kernel 'probe' must be"):
        kernel(1, 1, (x,), -1)
    with pytest.raises(ArgumentTypeError, match="'stream' must be a stream, not"):
        kernel(1, 1, (x,), 0, "main")
    kernel(1, 1, (x,), 0, 0)


def test_a_launch_without_threads_still_checks() -> None:
    add = adder()
    z = np.zeros(4, np.float32)
    for _ in range(2):
        with pytest.raises(ScalarOverflowError):
            add(0, 4, (z, z, z, 2**63))
        add(0, 4, (z, z, z, 1))


def test_modes_are_the_front_ends() -> None:
    barrier = Text(
        "dense<int, 1> x",
        "if (threadIdx.x == 0) return; __syncthreads(); x.data[threadIdx.x] = 1;",
        mode=LaunchMode(exited_arrive=True),
    )
    x = np.zeros(4, np.int32)
    Kernel(barrier)(1, 4, (x,))
    assert x.tolist() == [0, 1, 1, 1]
    barrier.mode = LaunchMode()
    with pytest.raises(LaunchError, match="has left the kernel"):
        Kernel(barrier)(1, 4, (x,))


def test_dynamic_shared_memory_is_what_is_asked_for() -> None:
    kernel = Kernel(Text(WHERE, COUNT))
    x = np.zeros(64, np.int32)
    kernel(1, 4, (x,), 1024)
    with pytest.raises(ArgumentValueError, match="bytes of dynamic shared memory"):
        kernel(1, 4, (x,), 1 << 20)


# -- what is refused -------------------------------------------------------------------------------

z32 = np.zeros(10, np.float32)
frozen = np.zeros(10, np.float32)
frozen.flags.writeable = False
shifted = np.zeros(41, np.uint8)[1:].view(np.float32)
odd = np.lib.stride_tricks.as_strided(z32[:8], (2,), (6,))
REFUSED: dict[str, tuple[tuple[Any, ...], type[Exception], str]] = {
    "an int beyond 64 bits": (
        (x32, x32, z32, 2**63),
        ScalarOverflowError,
        """\
Parameter 'n' of kernel 'probe' is given 9223372036854775808, which does not fit: a Python int has \
64 bits in a kernel, -9223372036854775808 to 9223372036854775807.
  probe.py: def probe(x, y, z, n): pass
                               ^
  Hint: pass 'np.uint64(9223372036854775808)'.""",
    ),
    "an int far beyond": (
        (x32, x32, z32, -(10**100)),
        ScalarOverflowError,
        """\
Parameter 'n' of kernel 'probe' is given a number of 333 bits, which does not fit: a Python int \
has 64 bits in a kernel, -9223372036854775808 to 9223372036854775807.
  probe.py: def probe(x, y, z, n): pass
                               ^""",
    ),
    "a read-only array that is written": (
        (x32, x32, frozen, 10),
        ArgumentValueError,
        """\
The array for parameter 'z' of kernel 'probe' is read-only, and the kernel writes to it.
  probe.py: def probe(x, y, z, n): pass
                            ^
  Hint: pass a copy, or set 'array.flags.writeable = True' if you own it.""",
    ),
    "a misaligned array": (
        (shifted, x32, z32, 10),
        ArgumentValueError,
        """\
The array for parameter 'x' of kernel 'probe' begins 1 byte beyond a multiple of 4, and elements \
of dtype 'float32' lie at multiples of that.
  probe.py: def probe(x, y, z, n): pass
                      ^
  Hint: pass a copy.""",
    ),
    "misaligned strides": (
        (x32, odd, z32, 2),
        ArgumentValueError,
        """\
The array for parameter 'y' of kernel 'probe' has strides of (6,) bytes, and elements of dtype \
'float32' lie at multiples of 4.
  probe.py: def probe(x, y, z, n): pass
                         ^
  Hint: pass a copy.""",
    ),
    "a list": (
        (x32, [1, 2], z32, 10),
        ArgumentTypeError,
        """\
Parameter 'y' of kernel 'probe' cannot take an object of type 'list'.
  probe.py: def probe(x, y, z, n): pass
                         ^
  Hint: pass an array, or a tuple: its length and its types are compiled into the kernel.""",
    ),
    "objects": (
        (x32.astype(object), x32, z32, 10),
        ArgumentTypeError,
        """\
Parameter 'x' of kernel 'probe' cannot take the array: the dtype 'object' has no C type that \
kernels can use.
  probe.py: def probe(x, y, z, n): pass
                      ^""",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("before", ["nothing", "a launch"])
def test_refusals(case: str, before: str) -> None:
    arguments, error, message = REFUSED[case]
    add = adder()
    good = (x32, x32, z32, 10)
    if before == "a launch":
        add(1, 16, good)
    for _ in range(2):
        with pytest.raises(error) as caught:
            add(1, 16, arguments)
        assert str(caught.value) == message
    z32[:] = 0
    add(1, 16, good)
    np.testing.assert_array_equal(z32, 2 * x32)


def test_read_only_arrays_may_be_read() -> None:
    add = adder()
    z = np.zeros(10, np.float32)
    given = frozen.copy()
    for writeable in (True, False, True):
        given.flags.writeable = writeable
        add(1, 16, (given, frozen, z, 10))
    owned = np.zeros(10, np.float32)
    add(1, 16, (z, z, owned, 10))
    owned.flags.writeable = False
    with pytest.raises(ArgumentValueError, match="read-only"):
        add(1, 16, (z, z, owned, 10))


def test_read_only_arrays_in_structures() -> None:
    kernel = Kernel(Text("pair x", "x.right.data[0] = x.left;", head=STRUCTURES))
    with pytest.raises(ArgumentValueError) as caught:
        kernel(1, 1, (Pair(np.int8(1), frozen),))
    assert str(caught.value).startswith(
        "The array for parameter 'x.right' of kernel 'probe' is read-only, and the kernel writes"
    )


def test_numbers_in_structures_that_do_not_fit() -> None:
    kernel = Kernel(Text("tail<long long> x, dense<float, 1> y", ""))
    kernel(1, 1, ((5,), z32))
    with pytest.raises(ScalarOverflowError, match=r"^Parameter 'x\[0\]' of kernel 'probe' is giv"):
        kernel(1, 1, ((2**64,), z32))


@pytest.mark.parametrize("before", ["nothing", "a launch"])
def test_memory_that_is_gone(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    """Arrays whose memory was freed are at address zero; NumPy cannot make one."""
    add = adder()
    z = np.zeros(10, np.float32)
    gone = np.zeros(10, np.float32)
    backend = foreign_arrays.backend_named("host")
    describe = backend.describe
    monkeypatch.setattr(
        backend,
        "describe",
        lambda array: (describe(array)[0], 0 if array is gone else describe(array)[1]),
        raising=False,
    )

    arrays = dataclasses.replace(backend.arrays, address=lambda array: backend.describe(array)[1])
    monkeypatch.setattr(backend, "arrays", arrays, raising=False)
    if before == "a launch":
        add(1, 16, (x32, x32, z, 10))
    for _ in range(2):
        with pytest.raises(ArgumentValueError) as caught:
            add(1, 16, (gone, x32, z, 10))
        assert str(caught.value) == (
            "The array for parameter 'x' of kernel 'probe' has 10 elements and no memory: it was "
            "freed.\n"
            "  probe.py: def probe(x, y, z, n): pass\n"
            "                      ^"
        )


class _Elsewhere:
    """A backend that has no arrays on this machine."""

    name = "cuda"
    capabilities = CUDA


def test_arrays_in_both_places_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    there = np.zeros(10, np.float32)
    backend_of = foreign_arrays.backend_of

    def owner(value: Any) -> Any:
        return _Elsewhere() if value is there else backend_of(value)

    monkeypatch.setattr(foreign_arrays, "backend_of", owner)
    add = adder()
    with pytest.raises(ArgumentTypeError) as caught:
        add(1, 16, (x32, (1, Config(there, 2)), x32, 10))
    assert str(caught.value) == (
        "The array for parameter 'x' of kernel 'probe' is in host memory, and the one for "
        "'y[1].scale' is in a GPU.\n"
        "  probe.py: def probe(x, y, z, n): pass\n"
        "                         ^\n"
        "  Hint: move one of them: 'cupy.asarray(x)' or 'cupy.asnumpy(x)'."
    )
    with pytest.raises(ArgumentTypeError) as caught:
        add(1, 16, (there, there, there, np.array(10)))
    assert str(caught.value) == (
        "The array for parameter 'x' of kernel 'probe' is in a GPU, and the one for 'n' is in host "
        "memory.\n"
        "  probe.py: def probe(x, y, z, n): pass\n"
        "                               ^\n"
        "  Hint: pass a number, 'x[()]' or 'x.item()', instead of an array without dimensions."
    )


@pytest.mark.gpu
def test_arrays_in_both_places() -> None:
    import cupy

    add = adder()
    x, z = cupy.ones(10, np.float32), cupy.zeros(10, np.float32)
    with pytest.raises(ArgumentTypeError) as caught:
        add(1, 16, (x, x32, z, 10))
    assert str(caught.value) == (
        "The array for parameter 'x' of kernel 'probe' is in a GPU, and the one for 'y' is in host "
        "memory.\n"
        "  probe.py: def probe(x, y, z, n): pass\n"
        "                         ^\n"
        "  Hint: move one of them: 'cupy.asarray(x)' or 'cupy.asnumpy(x)'."
    )
    with pytest.raises(
        ArgumentTypeError, match=r"Hint: pass a number, 'x\[\(\)\]' or 'x.item\(\)'"
    ):
        add(1, 16, (x, x, z, np.array(10)))


# -- many of them ----------------------------------------------------------------------------------


def test_plans_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "MAX_PLANS", 3)
    monkeypatch.setattr(launcher, "_MAX_LAUNCHERS", 2)
    add = adder()
    for _ in range(2):
        for length in range(1, 9):
            x = np.arange(length, dtype=np.float32)
            z = np.zeros(length, np.float32)
            add(1, 16, (x, x, z, length))
            np.testing.assert_array_equal(z, 2 * x)
            add(1, 16, (x[::-1], x, z, length))
            np.testing.assert_array_equal(z, x + x[::-1])
            z2 = np.zeros(2 * length, np.float32)[::2]
            add(1, 16, (x, x, z2, length))
            np.testing.assert_array_equal(z2, 2 * x)
    assert len(add._launchers) <= 2
    assert all(len(one.plans) <= 3 for one in add._launchers.values())


def test_shapes_are_forgotten_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kerneltk.launch.launch_config._MAX_SHAPES", 4)
    kernel = Kernel(Text(WHERE, COUNT))
    for blocks in range(1, 9):
        x = np.zeros(64, np.int32)
        kernel(blocks, 4, (x,))
        assert x.sum() == 4 * blocks


@pytest.mark.parametrize("same", [True, False])
def test_threads_launch_at_once(same: bool) -> None:
    add = adder()
    dtypes = ("f4",) if same else ("f4", "f8", "i4")
    failures: list[Any] = []
    ready = threading.Barrier(6)

    def work(number: int) -> None:
        try:
            dtype = np.dtype(dtypes[number % len(dtypes)])
            length = 100 + number
            x = np.full(length, number, dtype)
            y = np.arange(length, dtype=dtype)
            z = np.zeros(length, dtype)
            ready.wait()
            for k in range(100):
                z[:] = 0
                add(2, 64, (x, y, z, k))
                expected = np.where(np.arange(length) < k, x + y, 0)
                np.testing.assert_array_equal(z, expected)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_failed_launch_leaves_the_launcher_working() -> None:
    kernel = Kernel(Text("dense<int, 1> x, int y", "x.data[0] = 12 / y;"))
    x = np.zeros(1, np.int32)
    for _ in range(3):
        kernel(1, 1, (x, np.int32(4)))
        assert x[0] == 3
        with pytest.raises(LaunchError):
            kernel(1, 1, (x, np.int32(0)))


def test_what_is_compiled_is_asked_for_once() -> None:
    add = adder()
    front_end = add.text
    for _ in range(3):
        for dtype in ("f4", "f8"):
            x = np.ones(4, dtype)
            add(1, 4, (x, x, np.zeros(4, dtype), 4))
    assert len(front_end.asked) == 2
    assert all(isinstance(kind, Array) for kind in front_end.asked[0][:3])
    assert front_end.asked[0][3] == PY_INT
