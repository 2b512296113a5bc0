"""Loads from any address: compiled for the host, every read checked, compared with the bytes."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from kerneltk.backends.host import toolchain
from kerneltk.core.artifacts import INCLUDE_DIRECTORY

SIZES = (8, 16, 32, 64, 128)
SOURCE = """
#include <cstddef>
#include <cstdint>
#include <cstring>
#define __CUDACC_RTC__
#define __device__
#define __forceinline__ inline
struct alignas(8) uint2 { unsigned int x, y; };
struct alignas(16) uint4 { unsigned int x, y, z, w; };

static const char *low, *high;
static int bad;
template <class T>
T __ldg(const T* from) {
    T value;
    const char* const at = reinterpret_cast<const char*>(from);
    bad += at < low || at + sizeof(T) > high || reinterpret_cast<size_t>(from) % sizeof(T) != 0;
    std::memcpy(&value, at, sizeof(T));
    return value;
}
static unsigned int __funnelshift_r(unsigned int below, unsigned int above, unsigned int shift) {
    return static_cast<unsigned int>((static_cast<uint64_t>(above) << 32 | below) >> (shift & 31));
}
#include <kerneltk/memory.hpp>

template <int BYTES>
int load(void* to, const char* from, bool by_bytes) {
    kerneltk::memory_range range(low);
    range.extend(high - low - 1);
    const bool is_inside = range.has_inside<BYTES>(from);
    bad = 0;
    if (is_inside && !by_bytes) kerneltk::fetch_shifted<BYTES>(to, from);
    else kerneltk::fetch_bytes<BYTES>(to, from, range);
    return bad * 2 + is_inside;
}
extern "C" int load(int bytes, void* to, const char* memory, int begin, int end, int from,
                    int by_bytes) {
    low = memory + begin, high = memory + end;
    alignas(16) char found[128];
    int result = -1;
"""
CASE = "    if (bytes == {0}) result = load<{0}>(found, memory + from, by_bytes != 0);\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    cases = "".join(CASE.format(size) for size in SIZES)
    end = "    std::memcpy(to, found, static_cast<size_t>(bytes));\n    return result;\n}\n"
    options = (*toolchain.backend_options(), "-fvisibility=default", f"-I{INCLUDE_DIRECTORY}")
    code, log = toolchain.build("unit.cpp", SOURCE + cases + end, options)
    assert code is not None, log
    path = tmp_path_factory.mktemp("memory") / "unit.so"
    path.write_bytes(code)
    return ctypes.CDLL(str(path))


@pytest.mark.parametrize("size", SIZES)
def test_loads_from_any_address(size: int, library: ctypes.CDLL) -> None:
    bytes_ = np.random.default_rng(size).integers(1, 256, 512, np.uint8)
    first = -bytes_.ctypes.data % 16
    memory = bytes_[first : first + 448]
    for begin, end in ((0, 448), (5, 6), (5, 20), (7, 8 + size), (16, 16 + size), (33, 431)):
        own = np.where((np.arange(448) >= begin) & (np.arange(448) < end), memory, 0)
        found_inside = False
        for at in range(max(0, begin - size + 1), min(end, 448 - size)):
            for by_bytes in (0, 1):
                to = np.empty(size, np.uint8)
                result = library.load(
                    size, ctypes.c_void_p(to.ctypes.data), ctypes.c_void_p(memory.ctypes.data),
                    begin, end, at, by_bytes,
                )  # fmt: skip
                assert result in (0, 1), "a read beside the array, or that is not aligned"
                np.testing.assert_array_equal(to, own[at : at + size])
                found_inside |= result == 1
        assert found_inside == (end - begin >= size + 30)
