"""Elementwise kernels that mislead a reading of their source, and odd layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel
from kerneltk.backends.base import capabilities_of
from kerneltk.codegen import elementwise
from kerneltk.codegen.elementwise import ElementwiseDefinition, ElementwiseSpecialization
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.signature.parameters import parse_signature

make = ArraySpec.make
N = 20_000
X = np.where(np.arange(N) % 3 == 0, -1, np.arange(N)).astype(np.float32)


def assembled(kernel: ElementwiseKernel, *args: Any) -> str:
    kernel.compile(*args, target="sm_90")
    return kernel.translation_unit(*args).source


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"operation": "SKIP; y = x", "preamble": "# define SKIP if (x < 0) return"}, "kept"),
        ({"operation": "SKIP; y = x", "loop_prep": "#define SKIP if (x < 0) return"}, "kept"),
        ({"operation": "SKIP; y = x", "preamble": "%:define SKIP if (x < 0) return"}, "kept"),
        ({"operation": "SKIP; y = x", "options": ("-DSKIP=if (x < 0) return",)}, "kept"),
        ({"operation": "y = OLD + x", "options": ("-DOLD=y",)}, "added"),
        ({"operation": "// keep \\\n y = 0;\n y += x;"}, "added"),
        ({"operation": 'auto s = R"(")"; float o = y; auto t = ""; y = x + o'}, "added"),
        ({"operation": "y = ({ if (x < 0) return; x; });"}, "kept"),
    ],
)
def test_results_keep_what_the_body_leaves(
    texts: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elementwise, "STREAM_BYTES", 0)
    y = np.full(N, 7, np.float32)
    ElementwiseKernel("T x", "T y", name="misread", **texts)(X, y)
    np.testing.assert_array_equal(y, X + 7 if expected == "added" else np.where(X < 0, 7, X))


def test_state_between_elements_is_kept_in_order() -> None:
    x = np.arange(N, dtype=np.float32)
    ring = ElementwiseKernel(
        "T x", "T y", "w[i & 7] = x; y = w[static_cast<int>(x) & 7]", loop_prep="T w[8];"
    )
    np.testing.assert_array_equal(ring(x), x)


def test_a_tile_of_more_than_two_gigabytes_is_indexed_by_64_bits() -> None:
    kernel = ElementwiseKernel("int8 x", "float64 y", "y = x", "widen")
    flipped = make("int8", (20000, 20000), order="F")
    text = assembled(kernel, flipped, make("float64", (20000, 20000)))
    assert "_kt_tile_x" in text
    assert "using _kt_index = long long;" in text


def test_a_macro_may_hide_a_return() -> None:
    kernel = ElementwiseKernel(
        "T x", "T y", "SKIP(x < 0); y = x", options=("-DSKIP(c)=if(c)return",)
    )
    assert "_kt_operation = [&]" in assembled(kernel, make("float32", (4096,)))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("following", "words"),
    [
        ("(&(x))[1]", {}),
        ("((const T*)&x)[1]", {}),
        ("__builtin_addressof(x)[1]", {}),
        ("*(const T*)((size_t)&x + sizeof(T))", {}),
        ("(bitand x)[1]", {}),
        ("next(x)", {"preamble": "T next(const T& a) { return (&a)[1]; }"}),
        ("NEXT(x)", {"options": ("-DNEXT(v)=(&(v))[1]",)}),
    ],
)
def test_an_address_reaches_the_array(following: str, words: dict[str, Any]) -> None:
    kernel = ElementwiseKernel("T x", "T y", f"y = i + 1 < n ? {following} : x", **words)
    np.testing.assert_array_equal(kernel(X), np.append(X[1:], X[-1]))


@pytest.mark.parametrize(
    ("dtype", "offset", "chunk"),
    [([("a", "f4"), ("b", "f4")], 4, 4), ([("a", "u1", (16,))], 1, 1)],
)
def test_records_in_a_tile_are_moved_by_words_that_fit(
    dtype: list[Any], offset: int, chunk: int
) -> None:
    record = np.dtype(dtype)
    kernel = ElementwiseKernel("T x", "T y", "y = x", "turn")
    text = assembled(
        kernel, make(record, (64, 64), order="F", offset=offset), make(record, (64, 64))
    )
    assert f"kerneltk::copy<{chunk}, sizeof(T)>(&_kt_tile_x" in text


def test_misaligned_inputs_meet_a_result_that_lies_on_itself() -> None:
    x = np.frombuffer(bytearray(41), np.uint8)[1:].view(np.float32)
    x[:] = 3
    y = np.zeros(1, np.float32)
    shared = np.lib.stride_tricks.as_strided(y, (10,), (0,))
    ElementwiseKernel("T x", "T y", "atomicAdd(&y, x)")(x, shared)
    assert y[0] == 30


def test_a_raw_parameter_takes_a_number() -> None:
    kernel = ElementwiseKernel("raw T a, raw int32 m", "T y", "y = a[i] + m", "offset")
    np.testing.assert_array_equal(kernel(X, 6, size=N), X + 6)
    kernel.compile(make("float32", (N,)), 6, target="sm_90", size=N)


def test_a_header_of_the_users_may_do_anything(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text(
        "#define NEXT(v) (i + 1 < n ? (&(v))[1] : (v))\n#define LEAVE(c) if (c) return\n"
    )
    kernel = ElementwiseKernel(
        "T x", "T y", "LEAVE(x < 0); y = NEXT(x)", "own",
        preamble='/* mine */ #include "own.h"', options=(f"-I{tmp_path}",),
    )  # fmt: skip
    y = np.full(N, 7, np.float32)
    kernel(X, y)
    np.testing.assert_array_equal(y, np.where(X < 0, 7, np.append(X[1:], X[-1])))
    kernel.compile(make("float32", (N,)), target="sm_90")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "texts",
    [
        {"preamble": "/* c */ #define IDX i"},
        {"preamble": "#define IDX i \\"},
        {"loop_prep": "#define IDX i"},
        {"options": ("-DIDX=i",)},
        {"preamble": "#define IDX i", "operation": "y = IDX // c:\\"},
    ],
)
def test_macros_may_name_the_index(texts: dict[str, Any]) -> None:
    kernel = ElementwiseKernel("T x", "T y", **{"operation": "y = IDX", "name": "count", **texts})
    np.testing.assert_array_equal(kernel(X), np.arange(N))
    kernel.compile(make("float32", (N,)), target="sm_90")


# -- without compiling ----------------------------------------------------------------------------


def definition(
    operation: str = "y = x", inputs: str = "T x", outputs: str = "T y", **words: Any
) -> ElementwiseDefinition:
    return ElementwiseDefinition(parse_signature(inputs, outputs), "k", "", (), operation, **words)


def scheduled(
    made: ElementwiseDefinition,
    *specs: ArraySpec | None,
    backend: Any = "cuda",
    options: Any = None,
) -> LaunchGeometry | None:
    resolved = made.resolve(specs, [0] * len(made.signature.inputs), options)
    return made.schedule(resolved, capabilities_of(backend), 132, options)


def test_a_block_size_of_the_callers_takes_no_tiles() -> None:
    specs = make("f4", (512, 1024), order="F"), make("f4", (512, 1024))
    found = scheduled(definition(), *specs, options=(None, 64))
    assert found is not None
    assert isinstance(found.specialization, ElementwiseSpecialization)
    assert found.specialization.layout.variant != "tile"
    assert found.specialization.block == 64


@pytest.mark.parametrize("size", [1, 2, 127, 129, 1000, 1024, 2**20 + 1, 2**31 + 3])
@pytest.mark.parametrize("offset", [0, 4])
def test_blocks_cover_all_elements(size: int, offset: int) -> None:
    x = make("f4", size, offset=offset)
    found = scheduled(definition(), x, x)
    assert found is not None
    assert isinstance(found.specialization, ElementwiseSpecialization)
    layout = found.specialization.layout
    covered = found.grid * layout.width * found.specialization.block - layout.shift
    assert size <= covered < size + layout.width * found.specialization.block


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("s += 1; y = s", {"loop_prep": "float s = 0;"}),
        ("y = next()", {"loop_prep": "float s = 0; auto next = [&] { return ++s; };"}),
        ("add(s); y = s", {"loop_prep": "float s = 0;",
                           "preamble": "__device__ void add(float& v) { v += 1; }"}),
        ("NEXT; y = s", {"loop_prep": "float s = 0;", "preamble": "#define NEXT s += 1"}),
    ],
)  # fmt: skip
def test_each_element_has_the_variables_that_the_body_changes(
    body: str, words: dict[str, Any]
) -> None:
    kernel = ElementwiseKernel("T x", "T y", body, "fresh", **words)
    np.testing.assert_array_equal(kernel(np.zeros(40_000, np.float32)), 1)
    unit = kernel.translation_unit(make("float32", (N,)))
    assert "_kt_vector" not in unit.source
    kernel.compile(make("float32", (N,)), target="sm_90")


def test_each_element_has_the_numbers_that_the_body_changes() -> None:
    kernel = ElementwiseKernel("T x, _non_const T a", "T y", "y = x + a; a += 1", "fresh")
    np.testing.assert_array_equal(kernel(np.ones(40_000), 3.0), 4)


def test_the_body_may_change_its_index() -> None:
    kernel = ElementwiseKernel(
        "raw T x", "raw T y", "const int b = i / 2; i -= 2 * b; y[2 * b + i] = x[2 * b + i]", "k"
    )
    y = np.zeros(N, np.float32)
    kernel(X, y, size=N)
    np.testing.assert_array_equal(y, X)
    kernel.compile(make("float32", (N,)), make("float32", (N,)), target="sm_90", size=N)


def test_results_do_not_overwrite_what_raw_names_read() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = _raw_x[n - 1 - i] + _raw_x.strides()[0]", "back")
    x = np.arange(40_000.0)
    wanted = x[::-1] + 8
    kernel(x, x)
    np.testing.assert_array_equal(x, wanted)


def test_an_input_that_is_not_const_is_broadcast_where_it_is_only_read() -> None:
    kernel = ElementwiseKernel("T x, _non_const T s", "T y", "y = x * s", "read")
    np.testing.assert_array_equal(kernel(np.arange(5.0), np.array([3.0])), 3 * np.arange(5.0))
    for body in ("y = x; s += x", "T& r(s); r = x; y = x"):
        written = ElementwiseKernel("T x, _non_const T s", "T y", body, "write")
        with pytest.raises(ValueError, match="several elements would write to one location"):
            written(np.arange(5.0), np.array([3.0]))


def test_outputs_may_interleave() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x + 1", "inter")
    out = np.lib.stride_tricks.as_strided(np.zeros(16), (2, 3), (24, 16))
    kernel(np.arange(6.0).reshape(2, 3), out)
    np.testing.assert_array_equal(out, np.arange(6.0).reshape(2, 3) + 1)
    out = np.lib.stride_tricks.as_strided(np.zeros(16), (2, 3), (16, 8))
    with pytest.raises(ValueError, match="its elements share memory"):
        kernel(np.ones((2, 3)), out)
