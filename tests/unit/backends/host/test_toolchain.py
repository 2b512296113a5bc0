"""Finding a compiler, translating options, and compiling units with every compiler found here."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import CompileError, LaunchError
from kerneltk.backends.host import runtime, toolchain
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.errors import BackendUnavailableError

from ....conftest import reread_environment
from ....processes import python

HAS_ZIG = importlib.util.find_spec("ziglang") is not None
HAS_GXX = shutil.which("g++") is not None
COMPILERS = [
    *(["g++"] if HAS_GXX else []),
    *(["zig"] if HAS_ZIG else []),
    *(["clang++"] if shutil.which("clang++") else []),
]

SAXPY = """
struct Args { const float* x; float* y; float a; };
extern "C" void saxpy(const void* args, long long begin, long long end) {
    Args p = *static_cast<const Args*>(args);
    const float* __restrict__ x = p.x;
    float* __restrict__ y = p.y;
    for (long long i = begin; i < end; ++i) y[i] += p.a * x[i];
}
"""


@pytest.fixture(autouse=True)
def fresh(environment: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Read the environment again in each test, and check that no temporary file is left."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment.setattr(tempfile, "tempdir", str(temporary))
    yield
    assert os.listdir(temporary) == []


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("KERNELTK_CXX", request.param)
    return str(request.param)


def unit(source: str, entry: str = "saxpy", *options: str) -> TranslationUnit:
    return TranslationUnit("host", source, entry, options, (("operation", source),))


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def call(source: str, entry: str, args: bytes, total: int, *options: str) -> None:
    function = runtime.load(toolchain.compile_unit(unit(source, entry, *options)))
    buffer = ctypes.create_string_buffer(args, len(args))
    runtime.launch(function, ctypes.addressof(buffer), total, 1 << 20, 1)


@pytest.mark.exhaustive
def test_saxpy(compiler: str) -> None:
    code = toolchain.compile_unit(unit(SAXPY))
    assert code.kind == "shared-library"
    assert code.target == toolchain.target()
    assert code.code.startswith(b"\x7fELF")
    x = np.arange(1000, dtype=np.float32)
    y = np.ones(1000, np.float32)
    call(SAXPY, "saxpy", struct.pack("PPf", x.ctypes.data, y.ctypes.data, 2.0), 1000)
    np.testing.assert_array_equal(y, 2 * x + 1)


def test_maths_wide_integers_half_and_complex_link(compiler: str) -> None:
    source = """
    struct Args { float* x; __int128* wide; _Float16* half; float _Complex* z; };
    extern "C" float expf(float) noexcept;
    extern "C" void maths(const void* args, long long begin, long long end) {
        Args p = *static_cast<const Args*>(args);
        for (long long i = begin; i < end; ++i) p.x[i] = expf(p.x[i]);
        p.wide[0] = p.wide[0] / p.wide[1];
        p.half[0] = static_cast<_Float16>(p.x[0] + static_cast<double>(p.half[0]));
        p.z[0] = p.z[0] * p.z[0];
    }
    """
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    expected = np.exp(x)
    wide = (ctypes.c_uint64 * 4)(0, 12, 3, 0)  # (12 << 64) / 3
    half = np.array([1.5], np.float16)
    z = np.array([1 + 2j], np.complex64)
    addresses = (x.ctypes.data, ctypes.addressof(wide), half.ctypes.data, z.ctypes.data)
    call(source, "maths", struct.pack("PPPP", *addresses), 100)
    np.testing.assert_allclose(x, expected, rtol=4e-7)
    assert list(wide[:2]) == [0, 4]
    assert half[0] == np.float16(np.exp(np.float32(-3)) + 1.5)
    assert z[0] == (1 + 2j) ** 2


@pytest.mark.parametrize(
    ("options", "fused"), [((), True), (("--fmad=true",), True), (("--fmad=false",), False)]
)
def test_contraction_follows_fmad(compiler: str, options: tuple[str, ...], fused: bool) -> None:
    source = """
    extern "C" void residue(const void* args, long long, long long) {
        double* p = *static_cast<double* const*>(args);
        double product = p[0] * p[1];
        p[2] = product + p[2];
    }
    """
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    has_fma = os.uname().machine == "aarch64" or " fma " in text
    a = 1 + 2.0**-30
    p = np.array([a, a, -(a * a)])
    call(source, "residue", struct.pack("P", p.ctypes.data), 1, *options)
    assert p[2] == (2.0**-60 if fused and has_fma else 0.0)


def test_complex_products_are_not_fused_where_nothing_is(compiler: str) -> None:
    source = """
    extern "C" void products(const void* args, long long begin, long long end) {
        double* p = *static_cast<double* const*>(args);
        for (long long i = begin; i < end; ++i) {
            const double a = p[6 * i], b = p[6 * i + 1], c = p[6 * i + 2], d = p[6 * i + 3];
            p[6 * i + 4] = a * c - b * d;
            p[6 * i + 5] = a * d + b * c;
        }
    }
    """
    p = np.random.default_rng(1).uniform(-1, 1, (64, 6))
    a, b, c, d = p.T[:4]
    wanted = np.stack([a * c - b * d, a * d + b * c], 1)
    call(source, "products", struct.pack("P", p.ctypes.data), len(p), "--fmad=false")
    np.testing.assert_array_equal(p[:, 4:], wanted)


def test_two_round_trips_through_floats_round(compiler: str) -> None:
    source = """
    struct Parts { float first, second; };
    extern "C" void rounded(const void* args, long long, long long) {
        double* p = *static_cast<double* const*>(args);
        const double x = p[0], y = p[1];
        const Parts parts{(float)x, (float)y};
        p[2] = parts.first;
        p[3] = parts.second;
    }
    """
    p = np.array([2**31 - 1, 2**31 - 2, 0, 0], np.float64)
    call(source, "rounded", struct.pack("P", p.ctypes.data), 1)
    assert p[2:].tolist() == [2**31, 2**31]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("loop", [True, False])
def test_a_round_trip_through_an_integer_has_no_sign_of_zero(
    compiler: str, real: str, loop: bool
) -> None:
    ways = ("int", "long long", "short", "signed char")
    each = "".join(f"{{ {way} n = x[{k}]; y[{k}] = n; }}" for k, way in enumerate(ways))
    whole = "for (long long i = 0; i < 4 * end; ++i) y[i] = static_cast<int>(x[i]);"
    source = f"""
    extern "C" void both(const void* args, long long, long long end) {{
        const {real}* __restrict__ x = static_cast<const {real}* const*>(args)[0];
        {real}* __restrict__ y = static_cast<{real}* const*>(args)[1];
        {whole if loop else each}
    }}
    """
    x = np.array([-0.5, -0.0, -0.25, -0.75], "f4" if real == "float" else "f8")
    y = np.ones_like(x)
    call(source, "both", struct.pack("PP", x.ctypes.data, y.ctypes.data), 1)
    assert not y.any()
    assert not np.signbit(y).any()


@pytest.mark.exhaustive
def test_only_what_loses_signs_is_compiled_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELTK_CXX", "g++")
    commands = []
    run = toolchain._run

    def recorded(command: tuple[str, ...], *rest: Any) -> tuple[int, str]:
        commands.append([o for o in command if "trapping" in o])
        return run(command, *rest)

    monkeypatch.setattr(toolchain, "_run", recorded)
    toolchain.find_compiler()
    commands.clear()
    toolchain.compile_unit(unit(SAXPY))
    assert commands == [["-fno-trapping-math"]]
    commands.clear()
    trips = SAXPY.replace("y[i] += p.a * x[i]", "y[i] = static_cast<int>(x[i])")
    toolchain.compile_unit(unit(trips))  # a g++ without that fold compiles once
    assert commands in (
        [["-fno-trapping-math"]],
        [["-fno-trapping-math"], ["-ftrapping-math"]],
    )
    commands.clear()
    toolchain.compile_unit(unit(trips, "saxpy", "--use_fast_math"))
    assert len(commands) == 1


@pytest.mark.skipif(not HAS_GXX, reason="g++ reports what it has made vectors of")
def test_a_long_operation_is_vectorized(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNELTK_CXX", "g++")

    def program(x: Any) -> Any:
        t = 0 * x
        for _ in range(30):
            t = t + np.minimum(np.sqrt(x * t + 1), t + 1.2)
        return t

    (made,) = kerneltk.fuse(program).translation_units(np.ones(9), backend="host")
    options = [*toolchain.backend_options(made), "-fopt-info-vec-optimized", "-o", "/dev/null"]
    command = ["g++", *options, f"-I{toolchain.INCLUDE_DIRECTORY}", "-x", "c++", "-"]
    result = subprocess.run(command, input=made.source, text=True, capture_output=True, check=True)
    assert "loop vectorized" in result.stderr


def test_fast_math_leaves_the_process_alone(compiler: str) -> None:
    source = """
    extern "C" void sum(const void* args, long long begin, long long end) {
        float* p = *static_cast<float* const*>(args);
        float s = 0;
        for (long long i = begin; i < end; ++i) s += p[i];
        p[0] = s;
    }
    """
    p = np.ones(100, np.float32)
    call(source, "sum", struct.pack("P", p.ctypes.data), 100, "--use_fast_math")
    assert p[0] == 100
    smallest = np.array([np.finfo(np.float32).smallest_subnormal])
    assert (smallest * 1)[0] > 0  # flush-to-zero was not switched on


def test_char_is_signed(compiler: str) -> None:
    source = """static_assert(char(-1) < 0, "");
    extern "C" void empty(const void*, long long, long long) {}"""
    assert toolchain.compile_unit(unit(source, "empty")).entry == "empty"


def test_options_reach_the_compiler(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text("#define FROM_HEADER 3\n")
    source = """#include "mine.h"
    static_assert(FROM_HEADER == 3 && ONE == 1 && TWO == 2 && __cplusplus > 201703L, "");
    #ifdef GONE
    #error not undefined
    #endif
    extern "C" void empty(const void*, long long, long long) {}"""
    options = ("-DONE", "-D", "TWO=2", "--define-macro=GONE", "-UGONE", "--std=c++20")
    code = toolchain.compile_unit(unit(source, "empty", *options, f"-I{tmp_path}"))
    assert code.entry == "empty"


def test_the_error_is_shown_in_the_users_text(compiler: str) -> None:
    source = SAXPY.replace("p.a * x[i]", "p.a * alpha").replace("\n    for", '\n#line 1 "op"\n for')
    made = TranslationUnit("host", source, "saxpy", (), (("op", " for (...) y[i] += alpha;"),))
    with pytest.raises(CompileError) as caught:
        toolchain.compile_unit(made)
    assert str(caught.value).startswith("The op of kernel 'saxpy' does not compile: ")
    assert "'alpha'" in str(caught.value)
    assert "  op:  for (...) y[i] += alpha;\n" in str(caught.value)
    assert caught.value.source == source
    assert "op:1:" in caught.value.log


def test_an_entry_of_another_type_is_refused(compiler: str) -> None:
    with pytest.raises(CompileError, match="does not compile"):
        toolchain.compile_unit(unit('extern "C" int empty(const void*) { return 0; }', "empty"))


def test_a_library_that_was_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a full disk whose compiler does not say so."""
    run_all = toolchain._run_all

    def cut_short(*args: Any) -> tuple[int, str]:
        status, log = run_all(*args)
        path = args[2] / "unit.so"
        path.write_bytes(path.read_bytes()[:400])
        return status, log

    monkeypatch.setattr(toolchain, "_run_all", cut_short)
    with pytest.raises(CompileError, match="wrote no whole library"):
        toolchain.compile_unit(unit(SAXPY))


def test_an_unknown_function_is_an_error_at_load() -> None:
    source = """extern "C" void no_such_function();
    extern "C" void f(const void*, long long, long long) { no_such_function(); }"""
    code = toolchain.compile_unit(unit(source, "f"))
    with pytest.raises(LaunchError, match=r": undefined symbol: no_such_function\.\n.*'extern'"):
        runtime.load(code)


def test_a_static_variable_of_a_function_needs_a_constant() -> None:
    if hasattr(ctypes.CDLL(None), "__cxa_guard_acquire"):
        pytest.skip("this process has loaded the C++ library for all")
    source = """extern "C" void f(const void*, long long n, long long) {
        static long long first = n; if (first) __builtin_trap(); }"""
    code = toolchain.compile_unit(unit(source, "f"))
    with pytest.raises(LaunchError, match=r"\n  Hint: give a function's static variable a"):
        runtime.load(code)


@pytest.mark.parametrize(("options", "expected"), [
    (("-std=c++98", "-std=c++11", "--std=c++23"), ("-std=c++17", "-std=c++17", "-std=c++2b")),
    (("-DN=3", "-D", "M=a b", "--define-macro=K"), ("-DN=3", "-DM=a b", "-DK")),
    (("-UN", "--undefine-macro=M"), ("-UN", "-UM")),
    (("-I/a", "-I", "/b", "--include-path=/c"), ("-I/a", "-I/b", "-I/c")),
    (("--use_fast_math", "-use_fast_math"), ("-ffast-math", "-ffast-math")),
    (("--fmad=false", "-fmad=true"), ("-ffp-contract=off", "-ffp-contract=fast")),
    (("-w", "--pre-include=no_such.h"), ("-include", "no_such.h")),
    (("--ftz=true", "--prec-div=false", "--maxrregcount=32", "-default-device", "-G"), ()),
    (("--ptxas-options=-v", "-Xptxas", "-O3", "-Xptxas=-v", "-DN", "-rdc=true", "-dc"), ("-DN",)),
    (("-O3", "-Xcompiler", "-fPIC", "--split-compile=2", "-dopt=on", "--minimal"), ()),
    (("--expt-relaxed-constexpr", "-Wno-deprecated-declarations", "--threads=2"), ()),
    (("--diag-suppress=186,177", "-diag-suppress", "20012", "--diag-error=1", "-Werror"), ()),
])  # fmt: skip
def test_nvrtc_options_are_translated(options: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert toolchain.host_options(options) == expected


def test_options_for_device_code_alone_are_named_in_the_log() -> None:
    code = toolchain.compile_unit(replace(unit(SAXPY), options=("-Xptxas", "-v", "-rdc=true")))
    assert code.log == (
        "debug: the option '-Xptxas -v' does nothing on CPU cores\n"
        "debug: the option '-rdc=true' does nothing on CPU cores"
    )


def test_relative_include_directories_are_the_callers(tmp_path: Path) -> None:
    assert toolchain.host_options(("-Iheaders",)) == (f"-I{os.getcwd()}/headers",)


@pytest.mark.parametrize("option", [
    "--gpu-architecture=sm_90", "-arch=sm_80", "-O0", "-fplugin=x.so", "-std=gnu++17",
    "-stdlib=libc++", "--fmad=maybe", "-o", "@file", "-wrapper", "main.cpp",
])  # fmt: skip
def test_other_options_are_refused_by_name(option: str) -> None:
    with pytest.raises(CompileError, match="does not know the compile option") as caught:
        toolchain.host_options(("-DX", option))
    assert f"'{option}'" in str(caught.value)


@pytest.mark.parametrize("option", ["-D", "--define-macro=", "-I", "-U "])
def test_a_value_must_be_there(option: str) -> None:
    with pytest.raises(CompileError, match="lacks its value"):
        toolchain.host_options((option,))


def test_a_slow_compiler_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain.find_compiler()
    monkeypatch.setattr(toolchain, "COMPILE_TIME_LIMIT", 0.005)
    with pytest.raises(CompileError, match=r"did not finish 'unit\.cpp' in 0\.005 s"):
        toolchain.compile_unit(unit(SAXPY))


def test_a_failing_compiler_names_no_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "broken"
    script(path, '[ "$1" = --version ] && echo "clang version 19.1.0" && exit 0\nexit 3')
    monkeypatch.setenv("KERNELTK_CXX", str(path))
    with pytest.raises(CompileError) as caught:
        toolchain.compile_unit(unit(SAXPY))
    assert "the compiler names no location" in str(caught.value)
    assert "ended with status 3" in str(caught.value)


if HAS_ZIG:

    def test_zig_serves_a_machine_without_compilers(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setenv("HOME", "/nonexistent")
        assert toolchain.find_compiler().family == "zig"
        assert toolchain.compile_unit(unit(SAXPY)).target.compiler.startswith("zig ")


def test_without_any_compiler_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BackendUnavailableError) as caught:
        toolchain.find_compiler()
    assert str(caught.value) == (
        "No C++ compiler for the host backend: 'g++' is not there; 'c++' is not there; "
        "'clang++' is not there; 'zig' is not there.\n"
        "  Hint: install g++ 12 or newer, or the extra 'kerneltk[compiler]', which brings its own "
        "compiler."
    )


def test_an_old_compiler_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gcc = "Copyright (C) 2019 Free Software Foundation, Inc."
    script(tmp_path / "g++", f"echo 'g++ (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0'; echo '{gcc}'")
    script(tmp_path / "c++", "echo 'Ubuntu clang version 18.1.3 (1ubuntu1)'")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = toolchain.find_compiler()
    assert (found.command, found.family, found.version) == (
        (str(tmp_path / "c++"),),
        "clang",
        "18.1.3",
    )
    monkeypatch.setenv("KERNELTK_CXX", "g++")
    reread_environment()
    with pytest.raises(BackendUnavailableError, match=r"'g\+\+' is gcc 9\.4\.0, older than 12"):
        toolchain.find_compiler()


@pytest.mark.parametrize(
    ("text", "reason"),
    [("echo hello", "does not say that it is"), ("exit 1", "does not say that it is")],
)
def test_a_stranger_is_no_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, reason: str
) -> None:
    script(tmp_path / "cl", text)
    monkeypatch.setenv("KERNELTK_CXX", str(tmp_path / "cl"))
    with pytest.raises(BackendUnavailableError, match=reason):
        toolchain.find_compiler()


def test_other_systems_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(BackendUnavailableError, match="64-bit Linux on x86-64 and aarch64"):
        toolchain.find_compiler()


def test_the_target_names_cpu_library_and_compiler(compiler: str) -> None:
    target = toolchain.target()
    machine, _libc, digest = target.architecture.split("-")
    assert machine == os.uname().machine
    assert len(digest) == 16
    family = {"g++": "gcc", "clang++": "clang"}.get(compiler, compiler)
    found = toolchain.find_compiler()
    assert target.compiler == " ".join((family, found.version, *found.command[1:]))


def test_sanitizers_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELTK_HOST_SANITIZE", "thread")
    with pytest.raises(BackendUnavailableError, match="sanitizer 'thread'"):
        toolchain.backend_options()
    monkeypatch.setenv("KERNELTK_HOST_SANITIZE", "undefined")
    reread_environment()
    zig = toolchain.Compiler(("zig", "c++"), "zig", "0.17.0")
    monkeypatch.setattr(toolchain, "find_compiler", lambda: zig)
    with pytest.raises(BackendUnavailableError, match=r"need g\+\+ or clang"):
        toolchain.backend_options()


OUT_OF_BOUNDS = """
import ctypes, struct, sys
from kerneltk.backends.host import runtime, toolchain
from kerneltk.core.artifacts import TranslationUnit
source = '''extern "C" void f(const void* args, long long begin, long long end) {
    float* p = *static_cast<float* const*>(args);
    for (long long i = begin; i < end; ++i) p[i] = 1;
}'''
code = toolchain.compile_unit(TranslationUnit("host", source, "f"))
function = runtime.load(code)
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
args = ctypes.c_void_p(libc.malloc(ctypes.c_size_t(40)))
runtime.launch(function, ctypes.addressof(args), int(sys.argv[1]), 100, 1)
"""


if HAS_GXX:

    @pytest.mark.exhaustive
    def test_address_sanitizer_finds_a_store_past_the_end() -> None:
        library = subprocess.run(
            ["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
        ).stdout.strip()
        settings = {
            "KERNELTK_CXX": "g++",
            "KERNELTK_HOST_SANITIZE": "address,undefined",
            "ASAN_OPTIONS": "detect_leaks=0",
        }
        loaded = settings | {"LD_PRELOAD": library}
        fine = python("-c", OUT_OF_BOUNDS, "10", **loaded)
        assert (fine.returncode, fine.stderr) == (0, "")
        assert "heap-buffer-overflow" in python("-c", OUT_OF_BOUNDS, "11", **loaded).stderr
        assert (
            "start Python with LD_PRELOAD" in python("-c", OUT_OF_BOUNDS, "10", **settings).stderr
        )


def test_only_a_users_own_kernels_are_built_for_it(environment: pytest.MonkeyPatch) -> None:
    plain = toolchain.backend_options()
    environment.setenv("KERNELTK_HOST_DEBUG", "memory")
    reread_environment()
    assert toolchain.backend_options() == plain
    assert "-fsanitize=kernel-address" not in toolchain.runtime_options()


def test_gaps_are_left_behind_thread_local_variables_only() -> None:
    text = (
        '\t.section\t.tbss,"awT",@nobits\na:\n\t.zero\t4\n\t.text\nf:\n\tret\n'
        "\t.bss\nb:\n\t.zero\t8\n.pushsection .tbss._ZZ1fvE1c\nc:\n.zero 100000\n"
    )
    found = toolchain._with_gaps(text)
    assert re.findall(r"\.zero\s(\d+)", found) == ["4096", "4", "64", "8", "100000", "16384"]


FORK = """
import os, threading, time, numpy as np
from kerneltk import ElementwiseKernel
# Compile once before: modules that are imported in the middle of a fork are not what is tested.
ElementwiseKernel("T x", "T y", "y = x - %d", "first")(np.ones(3, "f4"))
kernel = ElementwiseKernel("T x", "T y", "y = x + %d", "forked")
thread = threading.Thread(target=kernel, args=(np.ones(3, "f4"),))
thread.start()
time.sleep(0.02)  # now it compiles
child = os.fork()
if child == 0:
    assert kernel(np.ones(3, "f4")).shape == (3,)
    os._exit(0)
thread.join()
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.exhaustive
def test_a_fork_during_a_compile() -> None:
    for attempt in range(3):
        done = python("-W", "ignore", "-c", FORK % ((os.getpid() + attempt,) * 2))
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not HAS_GXX, reason="names g++")
def test_words_behind_the_compiler_are_part_of_the_key(environment: pytest.MonkeyPatch) -> None:
    source = SAXPY.replace("p.a", "FOO")
    environment.setenv("KERNELTK_CXX", "g++ -DFOO=42")
    defined = toolchain.target()
    assert toolchain.compile_unit(unit(source)).target == defined
    environment.setenv("KERNELTK_CXX", "g++")
    reread_environment()
    assert toolchain.target() != defined
    with pytest.raises(CompileError, match="FOO"):
        toolchain.compile_unit(unit(source))


def test_an_interrupt_ends_the_compiler(tmp_path: Path) -> None:
    """The interrupt comes from the compiler itself: while it runs, however fast that is."""
    own, temporary = tmp_path / "g++", tmp_path / "ended"
    started, process = tmp_path / "started", tmp_path / "process"
    # The runtime in C is compiled by another thread.
    waits = (
        f"mv '{started}' '{process}' 2>&- && echo $$ > '{process}' && kill -INT $PPID && sleep 600"
    )
    own.write_text(f'#!/bin/sh\ncase "$*" in *-std=*++*) {waits};; esac\nexec g++ "$@"\n')
    own.chmod(0o755)
    temporary.mkdir()
    text = (
        "import pathlib, signal, numpy as np\n"
        "from kerneltk import ElementwiseKernel\n"
        "import kerneltk.backends.host.toolchain as t\n"
        "t.find_compiler()\n"
        # Where the tests run in the background, the signal is ignored from the start.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"pathlib.Path({str(started)!r}).touch()\n"
        "try:\n    ElementwiseKernel('T x', 'T y', 'y = x')(np.ones(3, 'f4'))\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    changes = {"KERNELTK_CACHE_DIR": "", "KERNELTK_LAUNCHER": "python", "KERNELTK_CXX": str(own)}
    done = python("-c", text, TMPDIR=str(temporary), **changes)
    assert (done.stdout, list(temporary.iterdir())) == ("interrupted\n", []), done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(process.read_text()), 0)
