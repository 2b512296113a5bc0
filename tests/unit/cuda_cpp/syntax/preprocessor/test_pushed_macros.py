"""``#pragma push_macro`` and ``pop_macro`` for NVRTC, which takes no notice of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kerneltk
from kerneltk.cuda_cpp.syntax.preprocessor.pushed_macros import with_pushed_macros
from kerneltk.errors import CompileError

_PUSH, _POP = '#pragma push_macro("N")\n', '#pragma pop_macro("N")\n'


def _stored(source: str, *options: str) -> list[int]:
    """What kernel `k` stores, each a constant."""
    module = kerneltk.RawModule(code=source, options=options)
    ptx = module.compile_for("compute_80").code.decode()
    return _constants(ptx)


def _constants(ptx: str) -> list[int]:
    moved = dict(re.findall(r"mov\.u32\s+(%r\d+), (-?\d+);", ptx))
    stores = re.findall(r"st\.volatile\.global\.u32\s+\[[^\]]*\], (%r\d+);", ptx)
    return [int(moved[register]) for register in stores]


def _kernel(*values: str) -> str:
    lines = "".join(f"x[{i}] = {value};" for i, value in enumerate(values))
    return f'extern "C" __global__ void k(volatile int* x) {{ {lines} }}\n'


@pytest.mark.parametrize(
    ("source", "options", "wanted"),
    [
        (f"#define N 3\n{_PUSH}#undef N\n#define N 4\n{_POP}", (), 3),
        (f"#define N 3\n{_PUSH}#undef N\n#define N 4\n", (), 4),
        (f"{_PUSH}#undef N\n#define N 4\n{_POP}", ("-DN=5",), 5),
        (f"{_PUSH}#undef N\n#define N 4\n{_POP}", ("-D", "N=5"), 5),
        (f"{_PUSH}#define N 4\n{_POP}#ifndef N\n#define N 6\n#endif\n", (), 6),
        (f"#define N 3\n{_POP}", (), 3),
        # One within another, and in branches.
        (f"#define N 1\n{_PUSH}#undef N\n#define N 2\n{_PUSH}#undef N\n{_POP}", (), 2),
        (f"#define N 1\n{_PUSH}#undef N\n#define N 2\n{_PUSH}#undef N\n{_POP}{_POP}", (), 1),
        (f"#define N 1\n#ifdef A\n{_PUSH}#undef N\n#define N 2\n#endif\n{_POP}", (), 1),
        (f"#define N 1\n#ifdef A\n{_PUSH}#undef N\n#else\n{_PUSH}#undef N\n#endif\n{_POP}", (), 1),
        (f"#define N 1\n#if A\n#undef N\n#define N 2\n#endif\n{_PUSH}#undef N\n{_POP}",
         ("-DA",), 2),
        (f"#define N 1\n{_PUSH * 70}#undef N\n#define N 2\n{_POP * 70}", (), 1),
        # With operators, on lines with others, over several lines.
        ("#define N 3\n_Pragma(\"push_macro(\\\"N\\\")\") ;\n#undef N\n#define N 4\n"
         "_Pragma(\"pop_macro(\\\"N\\\")\") __device__ int n = N;\n", (), 3),
        ("#define P(x) _Pragma(#x)\n#define N 3\nP(push_macro(\"N\"))\n#undef N\n#define N 4\n"
         "P(pop_macro(\"N\"))\n", (), 3),
        (f"#define N \\\n 3 /* of\nthem */ + 1 // all\n{_PUSH}#undef N\n{_POP}", (), 4),
        (f"#define N 3\n/* a\n*/ {_PUSH}#undef N\n#define N 4\n"
         "# pragma  pop_macro ( \"N\" )\n", (), 3),
        (f"#define N 3\n// {_PUSH}#undef N\n#define N 4\n{_POP}", (), 4),
    ],
)  # fmt: skip
def test_nvrtc_has_what_is_popped(source: str, options: tuple[str, ...], wanted: int) -> None:
    line = source.count("\n") + 1
    assert _stored(source + _kernel("N", "__LINE__"), *options) == [wanted, line]


def test_nvrtc_has_a_function_like_macro_that_is_popped() -> None:
    source = '#define F(a, b) ((a) * 10 + (b))\n#pragma push_macro("F")\n#undef F\n'
    source += '#define F(a) a\n#pragma pop_macro("F")\n'
    assert _stored(source + _kernel("F(1, 2)")) == [12]


def test_nvrtc_has_its_own_macro_that_is_popped() -> None:
    source = '#pragma push_macro("__noinline__")\n#undef __noinline__\n'
    source += '#pragma pop_macro("__noinline__")\n__device__ __noinline__ int f() { return 3; }\n'
    assert _stored(source + _kernel("f()")) == [3]


def test_nvrtc_and_headers_that_push(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text(
        f"{_PUSH}#undef N\n#define N 4\n__device__ const int n = N;\n{_POP}"
    )
    source = '#define N 3\n#if 0\n#include "a.h"\n#endif\n#include "a.h"\n' + _kernel(
        "N", "n", "__LINE__"
    )
    (tmp_path / "m.cu").write_text(source)
    loaded = kerneltk.load(tmp_path / "m.cu").compile_for("compute_80")
    assert _constants(loaded.code.decode()) == [3, 4, 6]
    assert _stored(source, f"-I{tmp_path}") == [3, 4, 6]


@pytest.mark.parametrize("use", ["N", "INT_MAX"])
def test_nvrtc_and_a_macro_of_a_system_header(use: str) -> None:
    source = f'#include <climits>\n#define N 3\n{_PUSH}#pragma push_macro("INT_MAX")\n'
    source += f'#undef INT_MAX\n#define INT_MAX 5\n#pragma pop_macro("INT_MAX")\n{_POP}'
    source += _kernel(use)
    if use == "N":
        assert _stored(source) == [3]
        return
    with pytest.raises(CompileError) as error:
        _stored(source)
    assert str(error.value).split("\n", 1)[1] == (
        "  code:9: " + _kernel(use) + f"{' ' * 10}{' ' * _kernel(use).index(use)}^^^^^^^\n"
        "  Hint: NVRTC knows no '#pragma pop_macro', and the macro's definition is in a header "
        "that is not read. Define it anew in the place of the pragma."
    )


def test_nvrtc_and_a_macro_of_a_system_header_that_stays() -> None:
    source = '#include <climits>\n#pragma push_macro("INT_MAX")\n#pragma pop_macro("INT_MAX")\n'
    assert _stored(source + _kernel("INT_MAX - 1")) == [2**31 - 2]


def test_nvrtc_and_a_push_in_a_macro() -> None:
    source = '#define N 3\n#define PUSH _Pragma("push_macro(\\"N\\")")\n'
    assert _stored(source + _kernel("N")) == [3]
    with pytest.raises(CompileError, match="in a macro it cannot be replaced"):
        _stored(f"{source}PUSH\n" + _kernel("N"))


def test_a_library_pops_what_it_pushed() -> None:
    source = (
        "#define max(a, b) ((a) + (b))\n#define M 1\n#include <cub/cub.cuh>\nint n = max(1, 2);\n"
    )
    lines = with_pushed_macros(source, "m.cu", ()).split("\n")
    behind = lines[lines.index("#include <cub/cub.cuh>") + 1 :]
    assert behind[:2] == ["#if !defined(max)", "#if _kt_now_max == 1"]
    assert behind[-3:] == ['#line 4 "m.cu"', "int n = max(1, 2);", ""]
    assert with_pushed_macros(source.replace("max", "most"), "m.cu", ()) == source.replace(
        "max", "most"
    )
