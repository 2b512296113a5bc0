"""Names that users give: which generated C++ can take, checked against the headers themselves."""

from __future__ import annotations

import linecache
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel, ReductionKernel, SignatureError, jit
from kerneltk.backends.cuda import nvrtc
from kerneltk.backends.host import toolchain
from kerneltk.core.artifacts import INCLUDE_DIRECTORY, TranslationUnit
from kerneltk.core.identifiers import (
    CXX_KEYWORDS,
    identifier_problem,
    is_library_name,
    is_macro,
    stem_of,
    variable_problem,
)
from kerneltk.signature.parameters import parse_signature

OWN = INCLUDE_DIRECTORY / "kerneltk"
EXPRESSIONS = (
    "core.hpp", "float16.hpp", "bfloat16.hpp", "complex.hpp", "complex_powers.hpp",
    "complex_circular.hpp", "array_view.hpp", "divide.hpp", "memory.hpp",
)  # fmt: skip
FUNCTIONS = tuple(sorted(path.name for path in OWN.glob("jit_*.hpp")))
TARGET = "compute_80"


@pytest.mark.parametrize(
    ("name", "problem"),
    [("x", ""), ("_x", ""), ("X1", ""), ("n", ""), ("1x", "identifier"), ("x-y", "identifier"),
     ("x\n", "identifier"), ("é", "identifier"), ("", "identifier"), ("while", "keyword"),
     ("__x", "reserved"), ("_kt_x", "reserved"), ("_X_Y", "reserved"), ("_GNU", "reserved"),
     ("_Bool", "reserved"), ("_Float32x", "reserved"), ("_X", ""), ("_Tx", ""), ("_K1", "")],
)  # fmt: skip
def test_names(name: str, problem: str) -> None:
    assert (problem in identifier_problem(name)) if problem else not identifier_problem(name)


def including(*headers: str) -> str:
    return "".join(f"#include <kerneltk/{header}>\n" for header in headers)


@cache
def words() -> tuple[str, ...]:
    """Return the words in the package's headers and in those of CUDA that can be names."""
    stand_ins = INCLUDE_DIRECTORY.parent / "stand_ins"
    files = (*stand_ins.rglob("*"), *INCLUDE_DIRECTORY.rglob("*"))
    paths = [path for path in files if path.is_file()]
    for place in nvrtc.include_directories(TranslationUnit("cuda", "#include <cuda.h>", "none")):
        paths += Path(place).glob("*.h*")
        paths += Path(place, "crt").glob("*.h*")
    text = "\n".join(path.read_text(errors="replace") for path in paths)
    found = set(re.findall(r"\b[A-Za-z_]\w*", text))
    return tuple(sorted(name for name in found if not identifier_problem(name)))


# -- macros ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        (*EXPRESSIONS, "stream.hpp", "host_reduce.hpp"),
        ("host_grid.hpp", "host_device.hpp", "host_block.hpp", *EXPRESSIONS[:6], *FUNCTIONS),
    ],
    ids=["expressions", "functions"],
)
def test_every_macro_on_the_host_is_known(headers: tuple[str, ...]) -> None:
    compiler = toolchain.find_compiler()
    options = [o for o in toolchain.backend_options() if o.startswith(("-std", "-D", "-m", "-f"))]
    command = [*compiler.command, *options, f"-I{INCLUDE_DIRECTORY}", "-x", "c++", "-dM", "-E", "-"]
    done = subprocess.run(
        command, input=including(*headers), capture_output=True, text=True, check=True
    )
    macros = set(re.findall(r"^#define (\w+)", done.stdout, re.MULTILINE))
    assert len(macros) > 400
    assert [m for m in macros if not identifier_problem(m) and not is_macro(m)] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "headers", [(), EXPRESSIONS, (*EXPRESSIONS[:6], *FUNCTIONS)], ids=["none", "all", "functions"]
)
def test_every_macro_of_nvrtc_is_known(headers: tuple[str, ...]) -> None:
    """NVRTC cannot list them, so every word that could be one is asked for."""
    unknown = [name for name in words() if not is_macro(name)]
    asked = "".join(
        f"#ifdef {name}\n__device__ int _kt_has_{name} = 1;\n#endif\n"
        for name in (*unknown, "NULL")
    )
    unit = TranslationUnit("cuda", f"{including(*headers)}{asked}", "none")
    code = nvrtc.compile(unit, nvrtc.target_for(TARGET)).code.decode()
    assert set(re.findall(r"_kt_has_(\w+) =", code)) == {"NULL"}


@pytest.mark.parametrize(
    ("name", "problem"),
    [("NULL", "macro"), ("assert", "macro"), ("M_PI", "macro"), ("va_arg", "macro"),
     ("cudaStreamLegacy", "macro"), ("KERNELTK_LANE", "macro"), ("int", "keyword"),
     ("__x", "reserved"), ("x", ""), ("n", ""), ("min", ""), ("size", ""), ("_x", ""),
     ("errno", ""), ("EOF", ""), ("stdin", ""), ("signal", ""), ("N", ""), ("T", ""), ("M_X", "")],
)  # fmt: skip
def test_variables(name: str, problem: str) -> None:
    found = variable_problem(name)
    assert (problem in found) if problem else not found


# -- names at global scope ------------------------------------------------------------------------


def accepted() -> list[str]:
    return [name for name in words() if not is_library_name(name)]


def types_named(names: list[str], *headers: str) -> str:
    """Return a source that declares a type of each name."""
    declared = "".join(f"typedef _kt_type {name};\n" for name in names)
    return f"{including(*headers)}struct _kt_type {{ int x; }};\n{declared}"


def test_types_may_have_the_names_that_the_hosts_headers_leave() -> None:
    compiler = toolchain.find_compiler()
    options = [*toolchain.backend_options(), f"-I{INCLUDE_DIRECTORY}", "-fsyntax-only"]
    source = types_named(accepted(), *EXPRESSIONS, "stream.hpp", "host_reduce.hpp")
    done = subprocess.run(
        [*compiler.command, *options, "-x", "c++", "-"],
        input=source,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_types_may_have_the_names_that_cudas_headers_leave() -> None:
    source = "#include <cuda_fp16.h>\n" + types_named(accepted(), *EXPRESSIONS, "reduce.hpp")
    assert nvrtc.compile(TranslationUnit("cuda", source, "none"), nvrtc.target_for(TARGET)).code


def test_there_are_other_names_for_all_that_are_taken() -> None:
    taken = {name for name in words() if is_library_name(name)}
    assert {"cudaMalloc", "NV_IF_TARGET", "max", "float4", "KERNELTK_LANE", "atomicAdd"} <= taken
    for name in taken:
        # `M_PI_2` and others are names themselves.
        assert not all(is_library_name(f"{stem_of(name)}_{k}") for k in (2, 3)), name
        assert not is_library_name(f"{stem_of(name)}_kernel"), name
    assert stem_of("max") == "max"


def test_few_names_are_taken() -> None:
    usual = (
        "x y z i j k n N size T U Real value index mask out in data count add scale sum mean dot"
    )
    assert not any(is_library_name(name) for name in (*usual.split(), "dot", "copy", "fill"))


@pytest.mark.parametrize("name", ["min", "float4", "complex", "NULL", "cudaStream_t", "real"])
def test_a_type_variable_cannot_be_called_like_something_else(name: str) -> None:
    with pytest.raises(SignatureError) as caught:
        ElementwiseKernel(f"{name}:any x", f"{name} y", "y = x")
    assert str(caught.value) == (
        f"The type variable '{name}' is a name of C++'s, CUDA's or this package's headers.\n"
        f"  in_params: {name}:any x\n"
        f"             {'^' * len(name)}"
    )


@pytest.mark.parametrize("body", ["elementwise", "reduction"])
@pytest.mark.parametrize(
    ("name", "why"),
    [("NULL", "is a macro of C's or CUDA's headers"),
     ("threadIdx", "is the index of a thread in the body"), ("xor", "is a C++ keyword"),
     ("ptrdiff_t", "is the type of indices in the body")],
)  # fmt: skip
def test_a_parameter_cannot_be_called_like_something_else(body: Any, name: str, why: str) -> None:
    with pytest.raises(SignatureError) as caught:
        parse_signature(f"T x, T {name}", "T y", body)
    assert str(caught.value) == (
        f"Cannot use '{name}' as a parameter name: it {why}.\n"
        f"  in_params: T x, T {name}\n"
        f"                    {'^' * len(name)}"
    )


# -- names that generated text has ----------------------------------------------------------------


@cache
def mentioned() -> tuple[str, ...]:
    """Return the names in generated text that parameters may have as well."""
    square, turned = ArraySpec.make("f4", (96, 40)), ArraySpec.make("f4", (96, 40), order="F")
    odd = ArraySpec(np.dtype("f4"), (1001,), (4,), 4)
    plain = ElementwiseKernel("T u", "T v", "v = u + i + _ind.get()[0]", reduce_dims=False)
    total = ReductionKernel("T u", "T v", "u + _j", "a + b", "v = a", "0")
    pair = ReductionKernel(
        "T u", "T v", "{u, _J}", "a", "v = a.p", None, reduce_type="T p, int64 q"
    )
    found = set()
    for backend in ("cuda", "host"):
        units = [plain.translation_unit(spec, backend=backend) for spec in (square, odd)]
        units.append(plain.translation_unit(square, turned, backend=backend))
        for axis in (0, 1, None):
            units.append(total.translation_unit(square, axis=axis, backend=backend))
            units.append(pair.translation_unit(turned, axis=axis, backend=backend))
        for unit in units:
            bare = re.sub(r'"[^"\n]*"|//[^\n]*|^#include.*', "", unit.source, flags=re.MULTILINE)
            found.update(re.findall(r"\b[A-Za-z_]\w*", bare))
    names = []
    for name in sorted(found - {"u", "v", "a"}):
        try:
            for body in ("elementwise", "reduction"):
                parse_signature(f"float32 {name}", "", body)  # type: ignore[arg-type]
        except SignatureError:
            continue
        names.append(name)
    return tuple(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["elementwise", "reduction"])
@pytest.mark.parametrize("target", ["host", TARGET])
def test_parameters_may_have_the_names_that_generated_text_mentions(kind: str, target: str) -> None:
    names = [*mentioned(), "errno", "EOF", "stdin", "signal", "complex"]
    assert "kerneltk" in mentioned()
    # Each name is an input, a number, a raw array and an output, in one of four kernels.
    turn = 2 * (kind == "reduction") + (target == "host")
    parts = [names[(turn + k) % 4 :: 4] for k in range(4)]
    arrays, numbers, raws, outputs = parts
    inputs = [*(f"float32 {n}" for n in arrays + numbers), *(f"raw float32 {n}" for n in raws)]
    value = " + ".join([*arrays, *numbers, *(f"{n}[0]" for n in raws)])
    spec = ArraySpec.make("f4", (64, 3))
    given = [*[spec] * len(arrays), *[float] * len(numbers), *[spec] * len(raws)]
    out_params = ", ".join(f"float32 {n}" for n in outputs)
    if kind == "elementwise":
        body = "; ".join(f"{n} = {value}" for n in outputs)
        kernel: Any = ElementwiseKernel(", ".join(inputs), out_params, body)
        assert kernel.compile(*given, target=target).code
        return
    post = "; ".join(f"{n} = a" for n in outputs)
    kernel = ReductionKernel(", ".join(inputs), out_params, value, "a + b", post, "0")
    assert kernel.compile(*given, axis=1, target=target).code


# -- kernels in Python ----------------------------------------------------------------------------

NASTY = (
    "NULL", "NAN", "INFINITY", "M_PI", "NDEBUG", "KERNELTK_LANE", "NV_IS_DEVICE", "cudaMalloc",
    "EOF", "errno", "stdin", "linux", "unix", "int", "double", "xor", "bitand", "char8_t", "this",
    "_init", "_fini", "_start", "_DYNAMIC", "_GLOBAL_OFFSET_TABLE_", "__tls_get_addr", "environ",
    "main", "malloc", "memcpy", "free", "exit", "signal", "read", "sin", "min", "printf", "std",
    "float4", "make_float4", "atomicAdd", "complex", "kerneltk", "array", "strided", "threadIdx",
    "blockIdx", "ptrdiff_t", "_kt_x", "__x", "_X", "typeof", "x", "i", "n", "T", "out", "value",
)  # fmt: skip


def written(text: str, name: str, **known: Any) -> Any:
    """Return a function of a text."""
    linecache.cache[f"<{name}>"] = (len(text), None, text.splitlines(True), f"<{name}>")
    found = {"jit": jit, **known}
    exec(compile(text, f"<{name}>", "exec"), found)
    return found[name]


@pytest.mark.exhaustive
def test_functions_in_python_may_use_any_name() -> None:
    result, count = np.zeros(3, np.int64), len(NASTY)
    names = ", ".join(NASTY)
    parameters = jit.rawkernel()(
        written(f"def own(result_, {names}):\n    result_[0] = {' + '.join(NASTY)}\n", "own")
    )
    parameters[1, 1](result, *range(count))
    assert parameters.inspect(result, *range(count), target="compute_80")
    lines = [f"    {n} = result_[0] + {k}" for k, n in enumerate(NASTY)]
    lines += [f"    for step_ in range(result_[1] + 2):\n        {n} += 1" for n in NASTY[::3]]
    body = "\n".join([*lines, f"    result_[1] = {' + '.join(NASTY)} - {count} * result_[0]"])
    variables = jit.rawkernel()(written(f"def own(result_):\n{body}\n", "own"))
    variables[1, 1](result)
    assert variables.inspect(result, target="compute_80")
    functions = {
        n: jit.rawkernel(device=True)(written(f"def {n}(v):\n    return v + 1\n", n)) for n in NASTY
    }
    calls = " + ".join(f"{n}({k})" for k, n in enumerate(NASTY))
    calling = jit.rawkernel()(
        written(f"def own(result_):\n    result_[2] = {calls}\n", "own", **functions)
    )
    calling[1, 1](result)
    assert calling.inspect(result, target="compute_80")
    total = sum(range(count))
    assert result.tolist() == [total, total + 2 * len(NASTY[::3]), total + count]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["NULL", "int", "_init", "float4", "M_PI", "cudaMalloc", "main"])
def test_kernels_in_python_may_have_any_name(name: str) -> None:
    x, names = np.zeros(2), NASTY[:40]
    grid = jit.rawkernel()(written(f"def {name}(x):\n    x[0] = 7\n", name))
    grid[1, 1](x)
    assert grid.inspect(x, target="compute_80")
    element = jit.kernel(
        written(f"def {name}({', '.join(names)}):\n    return {' + '.join(names)}\n", name)
    )
    assert element(*[x] * 40).tolist() == [280, 0]
    assert element.inspect(*[x] * 40, target="compute_80")


def test_keywords_are_none_of_cudas_own_words() -> None:
    assert not any(is_macro(word) for word in CXX_KEYWORDS)
