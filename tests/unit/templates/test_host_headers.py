"""CUDA's own headers as host units find them: compiled, run, and compared with NumPy."""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from kerneltk.backends.host import runtime, toolchain
from kerneltk.cache import stand_ins
from kerneltk.core.artifacts import INCLUDE_DIRECTORY

from .c_calls import call

Array = npt.NDArray[Any]

EXPORT = '#define EXPORT extern "C" __attribute__((visibility("default")))\n'
PRELUDE = "#include <kerneltk/host_device.hpp>\n" + EXPORT
FORMATS = {
    "half": (np.dtype(np.float16), "cuda_fp16.h", "__half", "__half2"),
    "bfloat16": (
        np.dtype(ml_dtypes.bfloat16),
        "cuda_bf16.h",
        "__nv_bfloat16",
        "__nv_bfloat162",
    ),
}


def options() -> tuple[str, ...]:
    search = (INCLUDE_DIRECTORY, *map(stand_ins.directory, ("cupy", "host")))
    return (*toolchain.backend_options(), *(f"-I{directory}" for directory in search))


def compiled(source: str, *more: str) -> bytes:
    code, log = toolchain.build("unit.cpp", source, (*options(), *more))
    assert code is not None, log
    return code


def build(directory: Path, source: str) -> ctypes.CDLL:
    code = compiled(source)
    # Under a name of its own, because the file of a loaded library must not change.
    library = directory / f"unit{len(list(directory.iterdir()))}.so"
    library.write_bytes(code)
    return ctypes.CDLL(str(library))


def assert_bits(got: Array, expected: Array) -> None:
    """Compare bit by bit; any NaN is as good as another."""
    nan = np.isnan(expected.astype(np.float64))
    assert np.array_equal(np.isnan(got.astype(np.float64)), nan)
    word = np.dtype(f"u{expected.dtype.itemsize}")
    left, right = got[~nan].view(word), expected[~nan].view(word)
    wrong = np.flatnonzero(left != right)
    assert wrong.size == 0, (wrong.size, got[~nan][wrong[:5]], expected[~nan][wrong[:5]])


# ---- 16-bit types: every name at every number; the suite runs some of them in half.cu ----

UNARY = (
    *("hsqrt", "hrsqrt", "hrcp", "hexp", "hexp2", "hexp10", "hlog", "hlog2", "hlog10"),
    *("hsin", "hcos", "htanh", "hceil", "hfloor", "htrunc", "hrint", "__hneg", "__habs"),
)
ROUNDED_ONCE = {"hsqrt", "hrcp", "hceil", "hfloor", "htrunc", "hrint", "__hneg", "__habs"}
BINARY = (
    *("__hadd", "__hsub", "__hmul", "__hdiv", "__hmin", "__hmax", "__hmin_nan", "__hmax_nan"),
    *("__hadd_sat", "__hsub_sat", "__hmul_sat", "__hadd_rn", "__hsub_rn", "__hmul_rn"),
)
COMPARISONS = ("eq", "ne", "le", "ge", "lt", "gt", "equ", "neu", "leu", "geu", "ltu", "gtu")
ROUNDINGS = ("rn", "rz", "rd", "ru")
INTEGERS = {
    "short": ("short", np.int16),
    "ushort": ("unsigned short", np.uint16),
    "int": ("int", np.int32),
    "uint": ("unsigned int", np.uint32),
    "ll": ("long long", np.int64),
    "ull": ("unsigned long long", np.uint64),
}


def small_float_source(word: str) -> str:
    _, header, h, h2 = FORMATS[word]
    lines = [PRELUDE, f"#include <{header}>", f"using H = {h};", f"using H2 = {h2};"]

    def export(name: str, function: str, result: str, *given: str) -> None:
        parameters = "".join(f"const {T}* x{k}, " for k, T in enumerate(given))
        arguments = ", ".join(f"x{k}[i]" for k in range(len(given)))
        lines.append(
            f"EXPORT void {name}({parameters}{result}* y, long long n)"
            f" {{ for (long long i = 0; i < n; ++i) y[i] = {function}({arguments}); }}"
        )

    for name in UNARY:
        export(f"f_{name}", name, "H", "H")
        pair = name + "2" if name.startswith("__") else "h2" + name[1:]
        export(f"g_{name}", pair, "H2", "H2")
    for name in BINARY:
        export(f"f_{name}", name, "H", "H", "H")
        stem, _, tail = name[2:].partition("_")
        pair = "__h2div" if stem == "hdiv" else f"__{stem}2" + ("_" + tail if tail else "")
        export(f"g_{name}", pair, "H2", "H2", "H2")
    for name in ("__hfma", "__hfma_sat", "__hfma_relu"):
        export(f"f_{name}", name, "H", "H", "H", "H")
    # Bits 0-11 the numbers', 12-23 both of a pair, 24 each of a pair and each mask agree.
    tests = []
    for bit, name in enumerate(COMPARISONS):
        tests.append(f"r |= unsigned(__h{name}(x, y)) << {bit};")
        tests.append(f"r |= unsigned(__hb{name}2(H2(x, x), H2(y, y))) << {12 + bit};")
        tests.append(
            f"same &= __h{name}2_mask(H2(x, y), H2(y, x)) =="
            f" (__h{name}(x, y) ? 0xffffu : 0u) + (__h{name}(y, x) ? 0xffff0000u : 0u);"
        )
        tests.append(f"same &= float(__h{name}2(H2(x, y), H2(y, x)).x) == __h{name}(x, y);")
    lines.append(
        "static unsigned compared(H x, H y) { unsigned r = 0; bool same = true;"
        f" {' '.join(tests)} return r | unsigned(same) << 24; }}"
    )
    export("compare", "compared", "unsigned", "H", "H")
    for mode in ROUNDINGS:
        export(f"from_float_{mode}", f"__float2{word}_{mode}", "H", "float")
        for name, (ctype, _) in INTEGERS.items():
            export(f"from_{name}_{mode}", f"__{name}2{word}_{mode}", "H", ctype)
            export(f"to_{name}_{mode}", f"__{word}2{name}_{mode}", ctype, "H")
    export("from_double", "H", "H", "double")
    export("to_float", "float", "float", "H")
    lines.append(
        f"""
    EXPORT void atomics(H* x, H2* y, long long n) {{
        for (long long i = 0; i < n; ++i) {{
            atomicAdd(x, H(1.0f));
            atomicAdd(y, H2(H(1.0f), H(2.0f)));
        }}
    }}
    EXPORT int odds(const H* x) {{
        volatile H kept;
        kept = static_cast<{h}_raw>(x[0]);
        H back = static_cast<{h}_raw>(kept);
        H other;
        other = 3;
        other = 2.5;
        const bool truth = x[1] ? true : false;
        double d = x[0];
        int whole = other;
        return (back == x[0]) + 2 * (other == H(2.5f)) + 4 * truth + 8 * (d == float(x[0])) +
               16 * (whole == 2) + 32 * (sqrt(H(4.0f)) == 2.0f) + 64 * (sizeof(sqrt(other)) == 4) +
               128 * (__hisinf(H(-INFINITY)) == -1) + 256 * __hisnan(H(NAN)) +
               512 * (__ldg(x) == x[0]);
    }}"""
    )
    return "\n".join(lines)


# Most of g++'s time would go into vectors for some 200 loops: 18 of 24 s.
LESS = ("-O1",)


@pytest.fixture(
    scope="module",
    params=[
        *(pytest.param((word, LESS), id=word) for word in FORMATS),
        *(pytest.param((word, ()), id=f"{word}-vectorized") for word in FORMATS),
    ],
)
def small(request: pytest.FixtureRequest, once: Any) -> tuple[np.dtype[Any], Any]:
    word, more = request.param
    source = small_float_source(word)
    library = once.file((source, options(), more), lambda: compiled(source, *more))
    return FORMATS[word][0], ctypes.CDLL(str(library))


def called(function: Any, result: Any, *given: Array) -> Array:
    found = np.empty(given[0].shape, result)
    call(function, *given, found, found.size)
    return found


def every(dtype: np.dtype[Any]) -> Array:
    return np.arange(2**16, dtype=np.uint16).view(dtype)


def pairs(dtype: np.dtype[Any], count: int = 200_000) -> tuple[Array, Array]:
    """Return random bits, numbers near each other, and all pairs of the odd ones."""
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 2**16, (2, count)).astype(np.uint16)
    y[::4] = x[::4] ^ rng.integers(0, 64, x[::4].size).astype(np.uint16)
    y[1::4] = x[1::4] ^ 0x8000
    odd = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 65504.0, 6e-8, 0.5, 2.0**-126, 3e38]
    with np.errstate(over="ignore"):
        special = np.array(odd).astype(np.float32).astype(dtype).view(np.uint16)
    left, right = (part.ravel() for part in np.meshgrid(special, special))
    return np.concatenate([x, left]).view(dtype), np.concatenate([y, right]).view(dtype)


def rounded(exact: Array, dtype: np.dtype[Any], mode: str = "rn", error: Any = 0.0) -> Array:
    """Return long doubles rounded once, from the numbers of a type on either side of them. `error`
    is what they lack: less than half of their last digit."""
    count = 0x7C00 if dtype == np.float16 else 0x7F80
    numbers = every(dtype)[: count + 1].astype(np.longdouble)
    numbers[-1] = np.ldexp(np.longdouble(1), 16 if dtype == np.float16 else 128)  # of infinity
    size, sign = np.abs(exact), np.signbit(exact)
    above = np.minimum(np.searchsorted(numbers, size), count)
    below = above - (numbers[above] > size)
    over, under = size - numbers[below], numbers[above] - size
    on_tie = np.where(error == 0, below % 2 == 1, np.sign(error) == np.sign(exact))
    nearest = (over > under) | ((over == under) & on_tie)
    is_up = {"rn": nearest, "rz": False & sign, "rd": sign, "ru": ~sign}[mode]
    below = np.where((size > numbers[-1]) & np.isfinite(size), count - 1, below)
    bits = np.where(is_up, above, below) | sign.astype(int) << 15
    return np.where(np.isnan(exact), dtype.type(np.nan), bits.astype(np.uint16).view(dtype))


def clamp(x: Array) -> Array:
    one, zero = x.dtype.type(1), x.dtype.type(0)
    return np.where(x > one, one, np.where(x > zero, x, zero))


def extreme(x: Array, y: Array, largest: bool, with_nan: bool) -> Array:
    a, b = x.astype(np.float32), y.astype(np.float32)
    first = (a > b) | ((a == b) & np.signbit(b)) if largest else (a < b)
    first |= (a == b) & np.signbit(a) if not largest else False
    chosen = np.where(first, x, y)
    lost = np.isnan(a) | np.isnan(b)
    if with_nan:
        return np.where(lost, x.dtype.type(np.nan), chosen)
    return np.where(lost, np.where(np.isnan(a), y, x), chosen)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_arithmetic_rounds_once(small: tuple[np.dtype[Any], Any]) -> None:
    dtype, library = small
    x, y = pairs(dtype)
    a, b = x.astype(np.float64), y.astype(np.float64)
    expected = {"__hdiv": (a / b).astype(np.float32).astype(dtype)}  # a float has digits enough
    for name, exact in {"add": a + b, "sub": a - b, "mul": a * b}.items():
        value = rounded(exact.astype(np.longdouble), dtype)
        expected |= {f"__h{name}": value, f"__h{name}_rn": value}
        expected[f"__h{name}_sat"] = clamp(value)
    for name, largest in (("min", False), ("max", True)):
        expected[f"__h{name}"] = extreme(x, y, largest, False)
        expected[f"__h{name}_nan"] = extreme(x, y, largest, True)
    assert set(expected) == set(BINARY)
    for name, value in expected.items():
        assert_bits(called(library[f"f_{name}"], dtype, x, y), value)
        z = np.empty_like(x)
        call(library[f"g_{name}"], x, y, z, x.size // 2)
        assert_bits(z, value)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_every_number(small: tuple[np.dtype[Any], Any]) -> None:
    dtype, library = small
    x = every(dtype)
    a = x.astype(np.float64)
    own = {"hrsqrt": 1 / np.sqrt(a), "hrcp": 1 / a, "hexp10": 10.0**a, "__hneg": -a}
    for name in UNARY:
        plain = "abs" if name == "__habs" else name[2 if name.startswith("__") else 1 :]
        value = own[name] if name in own else getattr(np, plain)(a)
        expected = value.astype(np.float32).astype(dtype)
        for variant in "fg":
            z = np.empty_like(x)
            call(library[f"{variant}_{name}"], x, z, x.size // (2 if variant == "g" else 1))
            if name in ROUNDED_ONCE:
                assert_bits(z, expected)
                continue
            finite = np.isfinite(value) & np.isfinite(expected.astype(np.float32))
            assert_bits(z[~finite], expected[~finite])
            order = z[finite].view(np.int16).astype(int) - expected[finite].view(np.int16)
            assert np.abs(order).max() <= 1  # float functions are not rounded correctly
            assert np.count_nonzero(order) < 10


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_fused_multiply_add(small: tuple[np.dtype[Any], Any]) -> None:
    dtype, library = small
    x, y = pairs(dtype)
    rng, n = np.random.default_rng(6), 50_000
    z = np.roll(y, 7)
    # An addend around the product, and one that decides a tie far below it.
    z[:n] = (-x[:n].astype(np.float32) * y[:n].astype(np.float32)).astype(dtype)
    x[n : 2 * n] = y[n : 2 * n] = dtype.type(1) + dtype.type(np.finfo(np.float16).eps * 16)
    ends = rng.choice([-1.0, 1.0], n) * 2.0 ** rng.integers(-24, 2, n)
    z[n : 2 * n] = ends.astype(np.float32).astype(dtype)
    a, b, c = (v.astype(np.longdouble) for v in (x, y, z))
    total = a * b + c
    part = total - a * b
    error = (a * b - (total - part)) + (c - part)  # Knuth's two-sum
    expected = rounded(total, dtype, error=error)
    got = called(library.f___hfma, dtype, x, y, z)
    differs = total != 0  # the sign of an exact zero has its own rule
    assert_bits(got[differs], expected[differs])
    assert (got[~differs].astype(np.float32) == 0).all()
    assert_bits(called(library.f___hfma_sat, dtype, x, y, z), clamp(expected))
    zero = np.where(np.isnan(expected.astype(np.float32)), expected, dtype.type(0))
    relu = np.where(expected > dtype.type(0), expected, zero)
    assert_bits(called(library.f___hfma_relu, dtype, x, y, z), relu)


@pytest.mark.exhaustive
def test_comparisons(small: tuple[np.dtype[Any], Any]) -> None:
    dtype, library = small
    x, y = pairs(dtype)
    a, b = x.astype(np.float32), y.astype(np.float32)
    lost = np.isnan(a) | np.isnan(b)
    ordered = (a == b, (a != b) & ~lost, a <= b, a >= b, a < b, a > b)
    expected = np.full(x.shape, 1 << 24, np.uint32)
    for bit, value in enumerate((*ordered, *(value | lost for value in ordered))):
        expected |= value.astype(np.uint32) << bit | value.astype(np.uint32) << (12 + bit)
    assert np.array_equal(called(library.compare, np.uint32, x, y), expected)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_conversions_from_floats(small: tuple[np.dtype[Any], Any]) -> None:
    dtype, library = small
    rng = np.random.default_rng(7)
    x = rng.integers(0, 2**32, 200_000, np.uint32).view(np.float32)
    x[: 2**16] = every(dtype).astype(np.float32)
    x[2**16 : 2**17] = rng.normal(size=2**16) * 10.0 ** rng.integers(-9, 6, 2**16)
    for mode in ROUNDINGS:
        wanted = rounded(x.astype(np.longdouble), dtype, mode)
        assert_bits(called(library[f"from_float_{mode}"], dtype, x), wanted)
    found = called(library.to_float, np.float32, every(dtype))
    assert_bits(found, every(dtype).astype(np.float32))
    # Ties of the 16-bit type that a double tells apart and a float does not.
    value = every(dtype)[:0x7B00].astype(np.float64)
    middle = (value[1:-1] + value[2:]) / 2
    d = np.concatenate([middle, middle * (1 + 2e-16), middle * (1 - 2e-16), -middle])
    assert_bits(called(library.from_double, dtype, d), rounded(d.astype(np.longdouble), dtype))


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_conversions_of_integers(small: tuple[np.dtype[Any], Any]) -> None:
    dtype, library = small
    rng = np.random.default_rng(8)
    digits = 11 if dtype == np.float16 else 8
    x = every(dtype)
    a = x.astype(np.longdouble)
    for name, (_, integer) in INTEGERS.items():
        info = np.iinfo(integer)
        values = rng.integers(info.min, info.max, 3000, integer, endpoint=True)
        values >>= (np.arange(3000) % info.bits).astype(integer)
        values[:4] = [info.min, info.max, 0, 1]
        tie = 2**digits + 1 << (info.bits - 2 - digits)
        values[4:7] = [tie, tie + 1, tie - 1]
        nan = 0 if info.bits < 64 else info.min or 1 << 63
        for mode, function in zip(ROUNDINGS, (np.rint, np.trunc, np.floor, np.ceil), strict=True):
            wanted = rounded(values.astype(np.longdouble), dtype, mode)
            assert_bits(called(library[f"from_{name}_{mode}"], dtype, values), wanted)
            whole = [nan if v != v else min(max(v, info.min), info.max) for v in function(a)]
            got = called(library[f"to_{name}_{mode}"], integer, x)
            assert got.tolist() == [int(v) for v in whole]


@pytest.mark.exhaustive
def test_atomics_and_odds(small: tuple[np.dtype[Any], Any]) -> None:
    dtype, library = small
    x, y = np.zeros(1, dtype), np.zeros(2, dtype)
    call(library.atomics, x, y, 100)
    assert (x.tolist(), y.tolist()) == ([100.0], [100.0, 200.0])
    assert library.odds(ctypes.c_void_p(np.ones(2, dtype).ctypes.data)) == 1023


@pytest.mark.exhaustive
def test_types_convert_into_each_other(tmp_path: Path) -> None:
    for order in itertools.permutations(("cuda_fp16.h", "cuda_bf16.h", "kerneltk/float16.hpp")):
        includes = "".join(f"#include <{name}>\n" for name in order)
        source = (
            PRELUDE
            + includes
            + """
        EXPORT float there(float x) {
            const __half h = x;
            const __nv_bfloat16 b(h);
            return static_cast<float>(__half(b)) + static_cast<float>(float16(h));
        }"""
        )
        library = build(tmp_path, source) if order[0] == "cuda_fp16.h" else None
        if library is None:
            assert toolchain.build("unit.cpp", source, options())[0] is not None
            continue
        library.there.restype = ctypes.c_float
        assert library.there(ctypes.c_float(1.00390625)) == 1 + 1.00390625


# ---- cooperative groups ----


def run_grid(
    directory: Path, source: str, name: str, grid: int, block: tuple[int, int, int], *arrays: Array
) -> None:
    """Compile a kernel of pointers and run it on the host's threads, all blocks at once."""
    unit = f'{PRELUDE}#include <kerneltk/host_grid.hpp>\n#line 1 "unit.cu"\n{source}\n'
    library = build(directory, unit + f"KERNELTK_ENTRY(entry, ({name}))\n")
    head = struct.pack("<8I", grid, 1, 1, *block, 0, 2)
    pointers = [array.ctypes.data for array in arrays]
    text = ctypes.create_string_buffer(name.encode())
    packed = head + struct.pack(
        f"<{2 + len(pointers)}Q", runtime.grid_table(), ctypes.addressof(text), *pointers
    )
    words = np.zeros(len(packed) // 8 + 2, np.uint64)
    begin = words.ctypes.data % 16 // 8
    words[begin : begin + len(packed) // 8] = np.frombuffer(packed, np.uint64)
    entry = ctypes.cast(library.entry, ctypes.c_void_p).value
    assert entry is not None
    status = runtime.launch_cooperative(entry, words[begin:].ctypes.data, grid)
    assert status == 0, runtime.last_fault()


def test_tiles(tmp_path: Path) -> None:
    source = """
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    #include <cooperative_groups/scan.h>
    namespace cg = cooperative_groups;
    struct wide { double a; int b; short c; };
    template <unsigned int N>
    __device__ int of_size(const cg::thread_block_tile<N>& tile) { return N + tile.size(); }
    __global__ void tiles(const float* x, int* n, float* f) {
        cg::thread_block block = cg::this_thread_block();
        auto warp = cg::tiled_partition<32>(block);
        cg::thread_block_tile<8> tile = cg::tiled_partition<8>(warp);
        const unsigned i = block.thread_rank();
        int* row = n + 24 * i;
        float* out = f + 12 * i;
        row[0] = tile.thread_rank(); row[1] = tile.meta_group_rank();
        row[2] = tile.meta_group_size();
        row[3] = warp.meta_group_rank(); row[4] = warp.meta_group_size(); row[5] = tile.size();
        row[6] = tile.shfl(i, 3); row[7] = tile.shfl_up(i, 2); row[8] = tile.shfl_down(i, 2);
        row[9] = tile.shfl_xor(i, 5); row[10] = tile.any(i == 13); row[11] = tile.all(i > 7);
        row[12] = tile.ballot(i % 3 == 0); row[13] = tile.match_any(i % 2);
        int same = 7;
        row[14] = tile.match_all(i / 8, same); row[15] = same;
        row[16] = warp.match_all(i / 8, same); row[17] = same;
        row[18] = of_size(tile); row[19] = of_size<32>(warp);
        const wide w = warp.shfl(wide{1.5 * i, int(i), short(-i)}, 9);
        const int ninth = 9 + i / 32 * 32;
        row[20] = w.a == 1.5 * ninth && w.b == ninth && w.c == -ninth;
        row[21] = cg::tiled_partition<1>(block).shfl(i, 0); row[22] = block.size();
        cg::thread_group part = cg::tiled_partition(block, 4);
        row[23] = part.thread_rank() + 10 * part.size();
        out[0] = cg::reduce(tile, x[i], cg::plus<float>());
        out[1] = cg::reduce(warp, x[i], cg::greater<float>());
        out[2] = cg::reduce(warp, x[i], [](float a, float b) { return a < b ? a : b; });
        out[3] = cg::inclusive_scan(tile, x[i]);
        out[4] = cg::exclusive_scan(warp, x[i], cg::plus<float>());
        out[5] = cg::inclusive_scan(tile, x[i], [](float a, float b) { return a > b ? a : b; });
        out[6] = cg::reduce(tile, int(i), cg::bit_xor<int>());
        out[7] = cg::reduce(tile, wide{1, int(i), 1}, [](wide a, wide b) {
            return wide{a.a + b.a, 2 * a.b + b.b, 0};
        }).b;
        out[8] = cg::exclusive_scan(tile, double(x[i]), [](double a, double b) { return a + b; });
        tile.sync(); part.sync(); cg::sync(warp); block.sync();
        out[9] = cg::thread_rank(tile); out[10] = cg::group_size(block);
        out[11] = cg::invoke_one_broadcast(tile, [](int k) { return k + 1; }, int(i));
    }
    """
    x = np.random.default_rng(3).integers(-50, 50, 64).astype(np.float32)
    n, f = np.zeros((64, 24), np.int32), np.zeros((64, 12), np.float32)
    run_grid(tmp_path, source, "tiles", 1, (16, 2, 2), x, n, f)
    i = np.arange(64)
    rank, first = i % 8, i // 8 * 8
    ballot = [sum((k % 3 == 0) << (k - a) for k in range(a, a + 8)) for a in first]
    expected = [
        *(rank, i // 8 % 4, 4 + 0 * i, i // 32, 2 + 0 * i, 8 + 0 * i),
        *(first + 3, np.where(rank < 2, i, i - 2), np.where(rank > 5, i, i + 2), i ^ 5),
        *(i // 8 == 1, i > 7, ballot, np.where(i % 2, 0xAA, 0x55), 255 + 0 * i, 1 + 0 * i),
        *(0 * i, 0 * i, 16 + 0 * i, 64 + 0 * i, 1 + 0 * i, i, 64 + 0 * i, i % 4 + 40),
    ]
    assert n.T.tolist() == np.array(expected, int).tolist()
    tiles, warps = x.reshape(8, 8), x.reshape(2, 32)
    numbers = i.reshape(8, 8)
    weights = np.array([2 ** (3 - bin(k).count("1")) for k in range(8)])
    results = [
        np.repeat(tiles.sum(1), 8),
        np.repeat(warps.max(1), 32),
        np.repeat(warps.min(1), 32),
        tiles.cumsum(1).ravel(),
        (warps.cumsum(1) - warps).ravel(),
        np.maximum.accumulate(tiles, 1).ravel(),
        np.repeat(np.bitwise_xor.reduce(numbers, 1), 8),
        np.repeat((numbers * weights).sum(1), 8),
        (tiles.cumsum(1) - tiles).ravel(),
        rank,
        64 + 0 * i,
        first + 1,
    ]
    assert f.T.tolist() == np.array(results, np.float64).tolist()


def test_grid_and_copies(tmp_path: Path) -> None:
    source = """
    #include <cooperative_groups.h>
    #include <cooperative_groups/memcpy_async.h>
    #include <cuda_pipeline.h>
    namespace cg = cooperative_groups;
    __global__ void whole(const int* x, int* y, int* z) {
        __shared__ int kept[100];
        __shared__ int zeroed[4];
        cg::grid_group grid = cg::this_grid();
        cg::thread_block block = cg::this_thread_block();
        cg::memcpy_async(block, kept, x + 100 * grid.block_rank(), sizeof(int) * 100);
        cg::wait(block);
        cg::memcpy_async(block, kept, 60, x, 50);
        cg::wait_prior<0>(block);
        if (block.thread_rank() == 0) __pipeline_memcpy_async(zeroed, x + 1, 16, 8);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        block.barrier_wait(block.barrier_arrive());
        for (int k = block.thread_rank(); k < 100; k += block.size())
            y[100 * grid.block_rank() + k] = kept[k];
        grid.sync();
        const unsigned long long i = grid.thread_rank();
        z[i] = y[(100 * (grid.block_rank() + 1) + 99) % (100 * grid.num_blocks())];
        z[i] += zeroed[block.thread_rank() % 4] * 1000;
        if (!grid.is_valid() || grid.size() != grid.num_blocks() * block.num_threads()) z[i] = -1;
        if (grid.dim_blocks().x != 3 || block.group_index().x != grid.block_index().x) z[i] = -2;
    }
    """
    x = np.arange(300, dtype=np.int32)
    y, z = np.zeros(300, np.int32), np.zeros(48, np.int32)
    run_grid(tmp_path, source, "whole", 3, (8, 2, 1), x, y, z)
    expected = x.reshape(3, 100).copy()
    expected[:, :50] = x[:50]
    assert y.tolist() == expected.ravel().tolist()
    zeroed = np.array([1, 2, 0, 0])[np.arange(48) % 4] * 1000
    assert z.tolist() == (np.repeat([199, 299, 99], 16) + zeroed).tolist()


# ---- other functions ----


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_directed_rounding(tmp_path: Path) -> None:
    names = {"f": ("float", np.float32), "d": ("double", np.float64)}
    lines = [PRELUDE]
    for letter, (ctype, _) in names.items():
        fma = "__fmaf" if letter == "f" else "__fma"
        for mode in ("rn", "rd", "ru", "rz"):
            calls = [
                f"__{letter}{name}_{mode}(x[i], y[i])" for name in ("add", "sub", "mul", "div")
            ]
            calls += [f"__{letter}rcp_{mode}(x[i])", f"__{letter}sqrt_{mode}(x[i])"]
            calls.append(f"{fma}_{mode}(x[i], y[i], z[i])")
            stores = " ".join(f"r[7 * i + {k}] = {text};" for k, text in enumerate(calls))
            lines.append(
                f"EXPORT void {letter}_{mode}(const {ctype}* x, const {ctype}* y, const {ctype}* z,"
                f" {ctype}* r, long long n) {{ for (long long i = 0; i < n; ++i) {{ {stores} }} }}"
            )
    # Plain arithmetic between calls must neither move nor keep the direction.
    lines.append(
        "EXPORT void between(float* x) { const float up = __fadd_ru(x[0], x[1]);"
        " x[2] = x[0] + x[1]; x[3] = __fadd_rd(x[0], x[1]); x[4] = up; x[5] = x[0] + x[1]; }"
    )
    library = build(tmp_path, "\n".join(lines))
    rng = np.random.default_rng(9)
    for letter, (_, dtype) in names.items():
        bits = 8 * np.dtype(dtype).itemsize
        x, y, z = rng.integers(0, 2**bits, (3, 600), f"u{bits // 8}").view(dtype)
        x[::3], y[::3], z[::3] = (rng.normal(size=200) for _ in range(3))
        x, y, z = (np.where(np.isfinite(v) & (v != 0), v, dtype(1.5)) for v in (x, y, z))
        results = {}
        for mode in ("rn", "rd", "ru", "rz"):
            results[mode] = np.empty((600, 7), dtype)
            call(library[f"{letter}_{mode}"], x, y, z, results[mode], 600)
        for i in range(600):
            a, b, c = (Fraction(float(v[i])) for v in (x, y, z))
            exact: list[Fraction | None] = [a + b, a - b, a * b, a / b, 1 / a, None, a * b + c]
            for k, value in enumerate(exact):
                got = {mode: results[mode][i, k] for mode in results}
                if value is None:
                    if a < 0:
                        assert np.isnan(list(got.values())).all()
                        continue
                    low, high = Fraction(float(got["rd"])), Fraction(float(got["ru"]))
                    assert low**2 <= a <= high**2
                    assert low == high or np.nextafter(got["rd"], dtype(np.inf)) == got["ru"]
                    assert got["rz"] == got["rd"]
                    continue
                assert_between(value, got, dtype)
    f = np.array([1, 2**-30, 0, 0, 0, 0], np.float32)
    call(library.between, f)
    assert f.tolist()[2:] == [1.0, 1.0, float(np.nextafter(np.float32(1), np.float32(2))), 1.0]


def assert_between(exact: Fraction, got: dict[str, Any], dtype: type[np.floating[Any]]) -> None:
    """Check that the four roundings are the neighbours of an exact number."""
    down, up = got["rd"], got["ru"]
    if np.isfinite(down):
        assert Fraction(float(down)) <= exact
    else:
        assert down < 0
    if np.isfinite(up):
        assert exact <= Fraction(float(up))
    else:
        assert up > 0
    assert down == up or np.nextafter(down, dtype(np.inf)) == up
    if down == up:
        assert Fraction(float(down)) == exact
    assert got["rz"] == (down if exact > 0 else up)
    assert got["rn"] in (down, up)


def lanes(x: int, bits: int, signed: bool) -> list[int]:
    values = [x >> shift & (1 << bits) - 1 for shift in range(0, 32, bits)]
    return [v - (v >> (bits - 1) << bits) if signed else v for v in values]


def test_functions_of_lanes(tmp_path: Path) -> None:
    def fit(v: int, bits: int, signed: bool) -> int:
        least = -(1 << bits - 1) if signed else 0
        return min(max(v, least), least + (1 << bits) - 1)

    Rule = Callable[[int, int, int], int]  # noqa: N806
    table: dict[str, tuple[bool, Rule]] = {
        "abs": (True, lambda a, b, n: abs(a)),
        "absss": (True, lambda a, b, n: fit(abs(a), n, True)),
        "neg": (True, lambda a, b, n: -a),
        "negss": (True, lambda a, b, n: fit(-a, n, True)),
        "add": (True, lambda a, b, n: a + b),
        "addss": (True, lambda a, b, n: fit(a + b, n, True)),
        "addus": (False, lambda a, b, n: fit(a + b, n, False)),
        "sub": (True, lambda a, b, n: a - b),
        "subss": (True, lambda a, b, n: fit(a - b, n, True)),
        "subus": (False, lambda a, b, n: fit(a - b, n, False)),
        "avgs": (True, lambda a, b, n: (a + b + (a + b >= 0)) // 2),
        "avgu": (False, lambda a, b, n: (a + b + 1) // 2),
        "haddu": (False, lambda a, b, n: (a + b) // 2),
        "absdiffs": (True, lambda a, b, n: abs(a - b)),
        "absdiffu": (False, lambda a, b, n: abs(a - b)),
        "maxs": (True, lambda a, b, n: max(a, b)),
        "maxu": (False, lambda a, b, n: max(a, b)),
        "mins": (True, lambda a, b, n: min(a, b)),
        "minu": (False, lambda a, b, n: min(a, b)),
    }
    comparisons: dict[str, tuple[bool, Callable[[int, int], bool]]] = {
        "eq": (False, int.__eq__),
        "ne": (False, int.__ne__),
        "ges": (True, int.__ge__),
        "geu": (False, int.__ge__),
        "gts": (True, int.__gt__),
        "gtu": (False, int.__gt__),
        "les": (True, int.__le__),
        "leu": (False, int.__le__),
        "lts": (True, int.__lt__),
        "ltu": (False, int.__lt__),
    }

    def every_lane(holds: Callable[[int, int], bool], value: int) -> Rule:
        return lambda a, b, n: value * holds(a, b)

    for name, (signed, holds) in comparisons.items():
        table[f"cmp{name}"] = signed, every_lane(holds, -1)
        table[f"set{name}"] = signed, every_lane(holds, 1)
    calls = []
    for name in table:
        unary = name in ("abs", "absss", "neg", "negss")
        calls += [f"__v{name}{n}({'x' if unary else 'x, y'})" for n in (2, 4)]
    calls += [f"__vsad{s}{n}(x, y)" for s in "su" for n in (2, 4)]
    calls += ["__dp4a(int(x), int(y), int(z))", "__dp4a(x, y, z)"]
    calls += ["__dp2a_lo(int(x), int(y), int(z))", "__dp2a_hi(x, y, z)"]
    calls += ["__vimax3_s32(int(x), int(y), int(z))", "__viaddmin_u32(x, y, z)"]
    calls += ["__vimin3_s16x2(x, y, z)", "__viaddmax_s16x2_relu(x, y, z)", "__vimax_s32_relu(x, y)"]
    calls += ["__funnelshift_lc(x, y, z % 40)", "__funnelshift_rc(x, y, z % 40)"]
    calls += ["__fns(x, z % 32, int(y % 9) - 4)", "umin(x, y) + umax(y, z)"]
    stores = " ".join(f"*r++ = {text};" for text in calls)
    library = build(
        tmp_path,
        PRELUDE
        + "EXPORT void all(unsigned x, unsigned y, unsigned z, unsigned* r) {"
        + stores
        + "}",
    )
    rng = np.random.default_rng(10)
    cases = rng.integers(0, 2**32, (60, 3), np.uint64).tolist()
    cases += [[0x80007FFF, 0x80008000, 0x7FFF0001], [0x807F00FF, 0x80FF807F, 31]]
    for x, y, z in cases:
        got = np.zeros(len(calls), np.uint32)
        library.all(*(ctypes.c_uint(v) for v in (x, y, z)), ctypes.c_void_p(got.ctypes.data))
        expected = []
        for signed, rule in table.values():
            for bits in (16, 8):
                word = 0
                pair = zip(lanes(x, bits, signed), lanes(y, bits, signed), strict=True)
                for k, (a, b) in enumerate(pair):
                    word |= (rule(a, b, bits) & (1 << bits) - 1) << k * bits
                expected.append(word)
        for signed in (True, False):
            for bits in (16, 8):
                pair = zip(lanes(x, bits, signed), lanes(y, bits, signed), strict=True)
                expected.append(sum(abs(a - b) for a, b in pair))
        (sx,), (sy,), (sz,) = (lanes(v, 32, True) for v in (x, y, z))

        def dot(a: list[int], b: list[int], c: int) -> int:
            return sum(p * q for p, q in zip(a, b, strict=True)) + c

        expected += [
            dot(lanes(x, 8, True), lanes(y, 8, True), sz),
            dot(lanes(x, 8, False), lanes(y, 8, False), z),
            dot(lanes(x, 16, True), lanes(y, 8, True)[:2], sz),
            dot(lanes(x, 16, False), lanes(y, 8, False)[2:], z),
            *(max(sx, sy, sz), min((x + y) % 2**32, z)),
        ]
        triples = list(zip(*(lanes(v, 16, True) for v in (x, y, z)), strict=True))
        low = [min(t) & 0xFFFF for t in triples]
        sums = [lanes((a + b) & 0xFFFF, 16, True)[0] for a, b, _ in triples]
        relu = [max(s, t[2], 0) for s, t in zip(sums, triples, strict=True)]
        shift = min(z % 40, 32)
        double = y << 32 | x
        base, offset = z % 32, y % 9 - 4
        step = -1 if offset < 0 else 1
        places = [p for p in range(base, -1 if step < 0 else 32, step) if x >> p & 1]
        if offset == 0:
            found = base if x >> base & 1 else -1
        else:
            found = places[abs(offset) - 1] if len(places) >= abs(offset) else -1
        expected += [
            *(low[1] << 16 | low[0], relu[1] << 16 | relu[0], max(sx, sy, 0)),
            *(double << shift >> 32, double >> shift, found, min(x, y) + max(y, z)),
        ]
        expected = [v % 2**32 for v in expected]
        assert dict(zip(calls, got.tolist(), strict=True)) == dict(
            zip(calls, expected, strict=True)
        )


def test_vectors_and_complex_numbers(tmp_path: Path) -> None:
    sizes = {
        "char": (1, 2, 4),
        "short": (2, 4, 8),
        "int": (4, 8, 16),
        "float": (4, 8, 16),
        "long": (8, 16, 16),
        "longlong": (8, 16, 16),
        "double": (8, 16, 16),
    }
    checks = []
    for base, (size, two, four) in sizes.items():
        for name in [base] if base in ("float", "double") else [base, "u" + base]:
            for count, alignment in ((1, size), (2, two), (3, size), (4, four)):
                vector = f"{name}{count}"
                checks.append(
                    f"static_assert(sizeof({vector}) == {size * count} &&"
                    f' alignof({vector}) == {alignment}, "{vector}");'
                )
                values = ", ".join("1234"[:count])
                checks.append(f'static_assert(make_{vector}({values}).x == 1, "{vector}");')
    source = (
        PRELUDE
        + "#include <cuComplex.h>\n#include <vector_types.h>\n"
        + "\n".join(checks)
        + """
    inline float4 operator+(float4 a, float4 b) {  // as users' own headers bring it
        return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
    static_assert(sizeof(dim3) == 12 && dim3(2).y == 1 && dim3(make_uint3(1, 2, 3)).z == 3, "dim3");
    EXPORT void product(const cuFloatComplex* x, cuDoubleComplex* y, float4* v) {
        const cuDoubleComplex a = cuComplexFloatToDouble(x[0]), b = cuComplexFloatToDouble(x[1]);
        y[0] = cuCadd(a, b); y[1] = cuCsub(a, b); y[2] = cuCmul(a, b); y[3] = cuCdiv(a, b);
        y[4] = cuCfma(a, b, a); y[6] = cuConj(b);
        y[5] = make_cuDoubleComplex(cuCabs(a), cuCimag(b));
        cuComplex c = cuCdivf(x[0], x[1]);
        y[7] = cuComplexFloatToDouble(c);
        const float4 one = {1, 2, 3, 4};
        __stcs(v, __ldg(&one) + one);
        const double three[] = {3, 4, 12};
        y[8] = make_cuDoubleComplex(norm(3, three), rhypot(3.0, 4.0));
        const long long n = (*v).x;
        y[9] = {double(__double2ll_rn(0.0 / (n - 2.0))), double(__double2int_rn(0.0 / (n - 2.0)))};
    }"""
    )
    library = build(tmp_path, source)
    x = np.array([3 - 4j, 1 + 2j], np.complex64)
    y, buffer = np.zeros(10, np.complex128), np.zeros(8, np.float32)
    v = buffer[buffer.ctypes.data % 16 // 4 :][:4]
    call(library.product, x, y, v)
    a, b = complex(x[0]), complex(x[1])
    expected = [a + b, a - b, a * b, a / b, a * b + a, abs(a) + 2j, b.conjugate(), a / b, 13 + 0.2j]
    assert np.allclose(y[:9], expected, rtol=1e-6)
    assert (y[9].real, y[9].imag) == (-(2.0**63), -(2.0**31))
    assert v.tolist() == [2, 4, 6, 8]


def test_new_and_delete(tmp_path: Path) -> None:
    source = (
        PRELUDE
        + """
    struct base { virtual ~base() {} virtual int get() const { return 1; } };
    struct derived : base { int kept; int get() const override { return kept; } };
    EXPORT int sum(int n) {
        int* numbers = new int[n];
        derived* d = new derived;
        for (int k = 0; k < n; ++k) numbers[k] = k;
        d->kept = numbers[n - 1];
        base* volatile b = d;
        const int result = b->get();
        delete[] numbers;
        delete b;
        return result;
    }"""
    )
    assert build(tmp_path, source).sum(8) == 7


# ---- which headers there are ----

STANDARD = (
    *("cmath", "cstdio", "cstdint", "algorithm", "limits", "type_traits", "utility", "cfloat"),
    *("cassert", "vector", "iostream", "stdio.h", "stdlib.h", "math.h", "assert.h", "float.h"),
    *("limits.h", "string.h", "stdint.h", "complex", "array", "tuple", "string", "cstring"),
)
USE = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cooperative_groups/scan.h>
__global__ void use(float* x, __half* h, unsigned* n) {
    static_assert(__CUDA_ARCH__ == 750, "the host's architecture");
    const int i = threadIdx.x;
    auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
    x[i] = sinf(x[i]) + cos(x[i]) + pow(x[i], 2.0f) + min(i, 3) + max(x[i], 0.0f) + abs(x[i]) +
           fabs(x[i]) + rsqrtf(x[i]) + __fadd_ru(x[i], 1.0f) + isnan(x[i]) + sqrt(x[i]);
    h[i] = hexp(h[i]) + h[i] * __float2half(x[i]);
    n[i] = __vadd4(n[i], 3) + __popc(n[i]) + cooperative_groups::inclusive_scan(tile, n[i]);
    atomicAdd(x, 1.0f);
    __syncthreads();
}
KERNELTK_ENTRY(entry, (use))
"""
STANDARD_USE = """
__device__ double of_the_library(double x) {
    return std::min(x, 2.0) + std::max(x, 1.0) + std::abs(x) + std::sqrt(x) + std::numeric_limits<
        float>::max() + (std::is_same<int, int>::value ? FLT_EPSILON : 0) + std::exp(x) + INT_MAX;
}
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", [True, False])
def test_with_the_standard_library(first: bool) -> None:
    library = "".join(f"#include <{name}>\n" for name in STANDARD) + STANDARD_USE
    texts = (library, USE) if first else (USE, library)
    source = "\n".join((PRELUDE, "#include <kerneltk/host_grid.hpp>", *texts))
    code, log = toolchain.build("unit.cpp", source, options())
    assert code is not None, log


@pytest.mark.exhaustive
def test_every_header_stands_alone_or_is_refused() -> None:
    headers = {name: source.decode() for name, source in stand_ins.headers("host").items()}
    refused = sorted(name for name, source in headers.items() if "#error" in source)
    other = "cuComplex_bridge.h"  # in place of cuComplex.h, never beside it
    kept = sorted(headers.keys() - {other, *refused})
    assert {"cub/device/device_scan.cuh", "cuda/ptx"} <= set(refused)
    assert {"cuda_runtime.h", "cooperative_groups.h", "cuda/std/limits", "mma.h"} <= set(kept)
    constant = 'static_assert(CUDART_PI_F > 3, "a constant");'
    for names, end in ((kept, constant), ([other], "")):
        lines = [f"#include <{name}>" for name in ("kerneltk/host_grid.hpp", *names)]
        code, log = toolchain.build("unit.cpp", "\n".join([*lines, end]), options())
        assert code is not None, log
    for name in refused:
        line = headers[name].partition("#error ")[2].strip()
        assert line.startswith(f"<{name}> cannot run on CPU cores: ")
        assert "'" not in line  # the preprocessor takes it for a character
    limits = "#include <cuda/std/limits>\nstatic_assert(CHAR_BIT == 8 && UINT_MAX);"
    assert toolchain.build("unit.cpp", limits, options())[0] is not None  # as with NVRTC
    code, log = toolchain.build("unit.cpp", "#include <cub/device/device_scan.cuh>\n", options())
    assert code is None
    assert "<cub/device/device_scan.cuh> cannot run on CPU cores" in log
