"""What launches of raw kernels do with arguments that do not fit, chosen for a whole program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kerneltk
from kerneltk.backends.base import LaunchMode
from kerneltk.core.settings import get_settings
from kerneltk.cuda_cpp.kernel import RawDispatcher, current_checks, state
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

SOURCE = """
__global__ void f(const float* x, int stride, float* y) {
    y[threadIdx.x] = x[stride * (int)threadIdx.x];
}
"""
X = np.arange(8, dtype=np.float32)
EVEN = [0, 2, 4, 6]


def test_error_warn_and_off() -> None:
    kernel = kerneltk.RawKernel(SOURCE, "f")
    strict = kerneltk.RawKernel(SOURCE, "f", checks=True)
    gaps, y = X[::2], np.zeros(4, np.float32)
    for _ in range(2):
        with pytest.raises(ArgumentValueError, match="has gaps"):
            kernel(1, 4, (gaps, 1, y))
        with kerneltk.raw_checks("warn"):
            for _ in range(2):
                with pytest.warns(RuntimeWarning, match="has gaps") as told:
                    kernel(1, 4, (gaps, 1, y))
                assert told[0].filename == __file__
        with kerneltk.raw_checks("off"):
            kernel(1, 4, (gaps, 1, y))
            with pytest.raises(ArgumentValueError):
                strict(1, 4, (gaps, 1, y))
            with kerneltk.raw_checks("error"), pytest.raises(ArgumentValueError):
                kernel(1, 4, (gaps, 1, y))
    with pytest.raises(ArgumentValueError, match="'raw_checks' takes"), kerneltk.raw_checks("no"):  # type: ignore[arg-type]
        pass


def test_nested_blocks_end_in_any_order() -> None:
    with kerneltk.raw_checks("off"):
        with kerneltk.raw_checks("error"):
            with kerneltk.raw_checks("off"):
                assert current_checks() == "off"
            assert current_checks() == "error"
        assert current_checks() == "off"
    first, second = kerneltk.raw_checks("off"), kerneltk.raw_checks("warn")
    before = current_checks()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # as another thread's may
    assert current_checks() == "warn"
    second.__exit__(None, None, None)
    assert current_checks() == before


def test_a_change_while_a_launcher_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by another thread, between the question whether checks have changed and the store."""
    kernel = kerneltk.RawKernel(SOURCE, "f")
    gaps, y = X[::2], np.zeros(4, np.float32)
    choice = object(), "error"

    class Dispatcher(RawDispatcher):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "recent" and entered and entered.pop():
                state.enter(choice)  # type: ignore[arg-type]
            super().__setattr__(name, value)

    entered: list[bool] = []
    dispatcher = Dispatcher(kernel._program, "f", LaunchMode(), None)
    with kerneltk.raw_checks("off"):
        entered.append(True)
        dispatcher.recent(1, 4, (gaps, 1, y))
        assert not entered
        try:
            with pytest.raises(ArgumentValueError, match="has gaps"):
                dispatcher.recent(1, 4, (gaps, 1, y))
        finally:
            state.leave(choice)  # type: ignore[arg-type]


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELTK_RAW_CHECKS", "off")
    get_settings.cache_clear()
    try:
        kerneltk.RawKernel(SOURCE, "f")(1, 4, (X.view(np.int32), 1, np.zeros(4, np.float32)))
        monkeypatch.setenv("KERNELTK_RAW_CHECKS", "never")
        get_settings.cache_clear()
        with pytest.raises(ValueError, match="must be 'error', 'warn' or 'off'"):
            get_settings()
    finally:
        monkeypatch.undo()
        get_settings.cache_clear()


def test_strides_among_the_arguments() -> None:
    kernel = kerneltk.RawKernel(SOURCE, "f")
    y = np.zeros(4, np.float32)
    for stride in (2, np.int32(2)):
        kernel(1, 4, (X[::2], stride, y))
        assert y.tolist() == EVEN
    table = np.arange(32, dtype=np.float32).reshape(4, 8)
    kernel(1, 4, (table[:, 0], 8, y))
    assert y.tolist() == [0, 8, 16, 24]
    kernel(1, 4, (table[:, :3], 8, y))
    with pytest.raises(ArgumentValueError, match="has gaps"):
        kernel(1, 4, (table[:, ::3], 8, y))


def test_strides_in_a_struct() -> None:
    source = """struct View { const float* p; int n, stride; };
    __global__ void f(const float* x, View v, float* y) { *y = x[v.stride]; }"""
    kernel = kerneltk.RawKernel(source, "f")
    dtype = np.dtype([("p", "u8"), ("n", "i4"), ("stride", "i4")])
    y = np.zeros(1, np.float32)
    kernel(1, 1, (X[::2], np.array((0, 4, 2), dtype)[()], y))
    assert y == [2]
    with pytest.raises(ArgumentValueError, match="has gaps"):
        kernel(1, 1, (X[::2], np.array((0, 2, 4), dtype)[()], y))


def test_pointers_that_are_not_read() -> None:
    source = "__global__ void f(const float* unused, float* y) { y[0] = 2; }"
    kernel = kerneltk.RawKernel(source, "f")
    y = np.zeros(1, np.float32)
    for given in (X.astype(np.float64)[::2], np.array([None]), 12345, None):
        kernel(1, 1, (given, y))
    with pytest.raises(ArgumentTypeError):
        kernel(1, 1, (X, y.astype(np.float64)))


def test_a_number_that_is_no_integer_to_the_kernel_is_no_stride() -> None:
    source = "__global__ void k(const float* x, float scale, bool flag, float* y) { y[0] = x[0]; }"
    kernel = kerneltk.RawKernel(source, "k")
    x, y = np.ones(8, np.float32), np.zeros(1, np.float32)
    with pytest.raises(ArgumentValueError, match="has gaps"):
        kernel(1, 1, (x[::2], 2, True, y))


HEAD = "__global__ void f(float* x)"


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("source", "options"),
    [
        (f"{HEAD} {{ BODY; }}", ("-DBODY=x[0]=1",)),
        (f"{HEAD} {{ BODY; }}", ("-D", "BODY=x[0]=1")),
        (f"#define BODY x[0] = 1\n{HEAD} {{ BODY; }}", ()),
        (f"# define BODY x[0] = 1\n{HEAD} {{ BODY; }}", ()),
        (f"/**/ %:  define BODY x[0] = 1\n{HEAD} {{ BODY; }}", ()),
        (f"#de\\\nfine BODY x[0] = 1\n{HEAD} {{ BODY; }}", ()),
        (f"#define ONE x[0]\n#define BODY \\\n ONE = 1\n{HEAD} {{ BODY; }}", ()),
        (f"#define PART(a) a##x[0] = 1\n{HEAD} {{ PART(); }}", ()),
        (f"#define BO\\\nDY x[0] = 1\n{HEAD} {{ BODY; }}", ()),
        (f'#define LOAD asm("ld.param.u64 %0, [f_param_0];" : "=l"(a))\n{HEAD} {{ LOAD; }}', ()),
        (f'#include "body.h"\n{HEAD} {{ BODY; }}', ("-I{headers}",)),
        (f"#include <body.h>\n{HEAD} {{ BODY; }}", ("-I{headers}",)),
        (f"#include <cstdint>\n{HEAD} {{ BODY; }}", ("-I{headers}",)),
        (f"{HEAD} {{ BODY; }}", ("-include", "{headers}/body.h")),
        (f'{HEAD} {{\n#include "statement.inc"\n}}', ("-I{headers}",)),
        (f"{HEAD} {{\n#include <statement.inc>\n}}", ("-I{headers}",)),
        (f"{HEAD};\n{HEAD} {{ x[0] = 1; }}", ()),
        (f"{HEAD} {{ \\u0078[0] = 1; }}", ()),
        ('extern "C" __global__ void f(float* x)'
         ' { asm("ld.param.u64 %0, [f_param_0];" : : "l"(0)); }', ()),
    ],
)  # fmt: skip
def test_pointers_that_may_be_read(source: str, options: tuple[str, ...], tmp_path: Path) -> None:
    for name in ("body.h", "cstdint"):
        (tmp_path / name).write_text("#define BODY x[0] = 1\n")
    (tmp_path / "statement.inc").write_text("x[0] = 1;\n")
    filled = tuple(option.replace("{headers}", str(tmp_path)) for option in options)
    assert RawSource(source, "code", filled).names_again("f", "x")


def test_pointers_that_no_macro_of_the_body_reads() -> None:
    macros = (
        "#ifndef H // x\n#define H\n#define BODY x[0] = 1\n#define SIZE 4\n#define PUT(y) \\\n"
        "  y[0] = SIZE\n#endif\n#pragma unroll 2\n"
    )
    source = f"{macros}{HEAD[:-1]}, float* z) {{ PUT(z); }}"
    assert not RawSource(source, "code").names_again("f", "x")
    assert RawSource(source, "code").names_again("f", "z")
    z = np.zeros(1, np.float32)
    kerneltk.RawKernel(source, "f")(1, 1, (0, z))
    assert z == [4]


def test_pointers_that_are_not_read_behind_headers_of_cuda() -> None:
    source = f"#include <cuda_fp16.h>\n#include <cstdint>\n{HEAD} {{ /* no x */ }}"
    assert not RawSource(source, "code", ("-std=c++17",)).names_again("f", "x")
