"""Compile times: NVRTC beside a bare kernel and CuPy's text, the host's compiler, first calls.

``python benchmarks/compile.py --output DIR`` needs no GPU; with ``--backend cuda`` the first calls
run on one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import (
    Call,
    Peers,
    Report,
    Result,
    Table,
    commit,
    describe_machine,
    first_line,
    host_clock,
    judge,
    needed_cupy,
    paired_ratio,
    parse_arguments,
    race,
)
from first_calls import FRONT_ENDS, first_calls

import kerneltk
from kerneltk.backends.base import capabilities_of
from kerneltk.backends.cuda import nvrtc
from kerneltk.backends.host import toolchain
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.core.dtypes import as_dtype
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.source import RawSource, read_file
from kerneltk.errors import BackendUnavailableError

_ARCHITECTURE = "sm_90"
_ROUNDS = 9
_HOST_ROUNDS = 7
_REDUCTION_ROUNDS = 5
_BARE = """
extern "C" __global__ void axpb(const float* x, float a, float b, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}
"""
_AXPB, _EXP = "y = a * x + b", "y = exp(x)"
_DIRECT = "if (threadIdx.x < 1024) y = a * x + b"
_REAL = (
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)
_LAYOUTS = ("flat", "row broadcast", "odd rows", "tile", "strided", "direct")
_HEAVY = ("float16", "bfloat16", "complex64", "complex128")

_SQUARES = ("T x", "T y", "x * x", "a + b", "y = a", "0", "sum_of_squares")
_REDUCED = ("int8", "float16", "float32", "float64", "complex64")
_REDUCTIONS: dict[str, tuple[tuple[int, ...], int | tuple[int, ...] | None, int]] = {
    "2²⁶, all": ((2**26,), None, 1),
    "2¹⁰, all": ((2**10,), None, 1),
    "(2²⁴, 4), 1": ((2**24, 4), 1, 1),
    "(2²¹, 32), 1": ((2**21, 32), 1, 1),
    "(2¹⁸, 256), 1": ((2**18, 256), 1, 1),
    "(2¹⁸, 257), 1": ((2**18, 257), 1, 1),
    "(2¹², 2¹⁴), 1": ((2**12, 2**14), 1, 1),
    "(4, 2²⁴), 1": ((4, 2**24), 1, 1),
    "(2¹⁴, 2¹²), 0": ((2**14, 2**12), 0, 1),
    "(4, 2²⁴), 0": ((4, 2**24), 0, 1),
    "(2²⁴, 4), 0": ((2**24, 4), 0, 1),
    "(1000003, 65), 0": ((1000003, 65), 0, 1),
    "(64, 512, 512), 1": ((64, 512, 512), 1, 1),
    "(64, 512, 512), (0, 2)": ((64, 512, 512), (0, 2), 1),
    "(2¹², 2¹²) by steps of 2, all": ((2**12, 2**12), None, 2),
    "(2¹², 2¹²) by steps of 2, 1": ((2**12, 2**12), 1, 2),
}

Builds = dict[str, Callable[[], Call]]


def _kernel(operation: str) -> kerneltk.ElementwiseKernel:
    return kerneltk.ElementwiseKernel("T x, T a, T b", "T y", operation, "axpb")


def _unit(dtype_name: str, layout: str, operation: str = _AXPB) -> TranslationUnit:
    """Return the unit for `y = a*x + b` on arrays of a layout; `a` is a scalar."""
    dtype = as_dtype(dtype_name)
    rows, columns = (1023, 1021) if layout == "odd rows" else (1024, 1024)
    step = dtype.itemsize
    x = ArraySpec.make(dtype, (rows, columns))
    y = x
    b: Any = dtype
    if layout in ("row broadcast", "odd rows"):
        b = ArraySpec.make(dtype, (1, columns))
    elif layout == "tile":
        x = ArraySpec.make(dtype, (rows, columns), order="F")
    elif layout == "strided":
        x = ArraySpec.make(dtype, (rows, columns), strides=(2 * columns * step, 2 * step))
    if layout == "direct":
        operation = _DIRECT
    return _kernel(operation).translation_unit(x, dtype, b, y)


def _compiled_by_nvrtc(unit: TranslationUnit) -> Call:
    target = nvrtc.target_for(_ARCHITECTURE)
    return lambda: nvrtc.compile(unit, target)


def _ours(dtype: str, layout: str, operation: str = _AXPB) -> Callable[[], Call]:
    return lambda: _compiled_by_nvrtc(_unit(dtype, layout, operation))


def _bare() -> Call:
    """Return what compiles the bare kernel as a program without this package does: no options."""
    from cuda.bindings import nvrtc as library

    option = f"--gpu-architecture={_ARCHITECTURE}".encode()

    def call() -> None:
        _, program = library.nvrtcCreateProgram(_BARE.encode(), b"bare", 0, [], [])
        (result,) = library.nvrtcCompileProgram(program, 1, [option])
        if result != library.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(f"NVRTC: {result}")
        _, size = library.nvrtcGetCUBINSize(program)
        library.nvrtcGetCUBIN(program, b" " * size)
        library.nvrtcDestroyProgram(program)

    return call


# -- CuPy's text ------------------------------------------------------------------------------


def _cupy_text(cupy: Any, dtype_name: str, operation: str) -> str:
    """Return what CuPy's class compiles for flat arrays, by CuPy's own private generator."""
    from cupy._core import _carray, _kernel, _scalar, core

    dtype = as_dtype(dtype_name)
    kernel = cupy.ElementwiseKernel("T x, T a, T b", "T y", operation, "axpb")
    array_kind, indexer_kind, scalar_kind = 1, 2, 3
    one_dimension = (1, True, True)  # dimensions, dense in C order, 32-bit index
    array = _kernel._ArgInfo(array_kind, cupy.ndarray, dtype, *one_dimension)
    scalar = _kernel._ArgInfo(scalar_kind, _scalar.CScalar, dtype, 0, True, True)
    indexer = _kernel._ArgInfo(indexer_kind, _carray.Indexer, None, *one_dimension)
    text: str = _kernel._get_elementwise_kernel_code(
        (array, scalar, scalar, array, indexer),
        _kernel._TypeMap((("T", dtype),)),
        kernel.params,
        operation,
        "axpb",
        "",
    )
    wanted = ("CArray<", "CIndexer<1, 1> _ind", "CUPY_FOR(", operation)
    if not all(part in text for part in wanted):
        raise RuntimeError("this CuPy's generator is another than the one that is known here")
    headers = "".join(f"#include <{name}>\n" for name in core._cupy_header_list)
    return headers + text


def _theirs(cupy: Any, dtype: str, operation: str) -> Callable[[], Call]:
    def build() -> Call:
        from cuda.bindings import nvrtc as bindings
        from cupy._core import core

        source = _cupy_text(cupy, dtype, operation).encode()
        options = (
            *core.assemble_cupy_compiler_options(()),
            "-ftz=true",
            f"-arch={_ARCHITECTURE}",
            "--device-as-default-execution-space",
        )
        encoded = [option.encode() for option in options]

        def call() -> None:
            _, program = bindings.nvrtcCreateProgram(source, b"kern.cu", 0, [], [])
            (result,) = bindings.nvrtcCompileProgram(program, len(encoded), encoded)
            _, size = bindings.nvrtcGetCUBINSize(program)
            bindings.nvrtcGetCUBIN(program, b" " * size)
            bindings.nvrtcDestroyProgram(program)
            if result != bindings.nvrtcResult.NVRTC_SUCCESS:
                raise RuntimeError(f"CuPy's text does not compile ({result})")

        return call

    return build


# -- tables -----------------------------------------------------------------------------------


def _worst(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def _nvrtc_layouts(report: Report, targets: Table) -> None:
    builds: Builds = {"bare": _bare}
    for dtype in _REAL:
        builds |= {f"{dtype}, {layout}": _ours(dtype, layout) for layout in _LAYOUTS}
    results = race(builds, host_clock(), _ROUNDS)
    bare = results.pop("bare")
    table = report.table(
        f"NVRTC, y = a*x + b: time by that of a bare pointer kernel ({_milliseconds(bare)})",
        *("dtype", *_LAYOUTS),
        notes=[
            f"{report.machine['NVRTC']}, {_ARCHITECTURE}, one process, no cache; median of "
            f"{_ROUNDS} rounds in each of which every unit has its turn.",
        ],
    )
    for dtype in _REAL:
        cells = (results[f"{dtype}, {layout}"] for layout in _LAYOUTS)
        table.add(dtype, *(r.cell if r.error else paired_ratio(r, bare) for r in cells))
    numbers = [paired_ratio(result, bare) for result in results.values()]
    judge(targets, "arithmetic / bare kernel, the slowest", _worst(numbers), 1.5)
    known = [number for number in numbers if number is not None]
    middle = statistics.median(known) if known else None
    judge(targets, "arithmetic / bare kernel, the median", middle, 1.5)


def _milliseconds(result: Result) -> str:
    return result.error or f"{1e3 * (result.seconds or 0):.1f} ms"


def _nvrtc_types(report: Report, targets: Table, peers: Peers) -> None:
    cupy = peers.get("cupy")
    builds: Builds = {"bare": _bare}
    operations = {"a*x + b": _AXPB, "exp(x)": _EXP}
    rows = [(dtype, body) for dtype in ("float32", "float64", *_HEAVY) for body in operations]
    for dtype, body in rows:
        builds[f"ours {dtype} {body}"] = _ours(dtype, "flat", operations[body])
        if cupy is not None:
            builds[f"CuPy {dtype} {body}"] = _theirs(cupy, dtype, operations[body])
    results = race(builds, host_clock(), _ROUNDS)
    table = report.table(
        "NVRTC, flat arrays: ours and CuPy's text",
        *("dtype", "body", "ours, ms", "CuPy, ms", "ours / CuPy", "ours / bare"),
        notes=[
            "CuPy's text is what its ElementwiseKernel generates for dense arrays of one dimension "
            "(CArray<T, 1, 1, 1>, CIndexer<1, 1>, CUPY_FOR), obtained from its own generator "
            "without a device, with the headers that it puts in front and its own options and "
            "include directories; compiled by the same NVRTC in the same process. CuPy also "
            "preprocesses the text for its cache's key, which is not counted.",
        ],
    )
    parts: list[float | None] = []
    for dtype, body in rows:
        ours, bare = results[f"ours {dtype} {body}"], results["bare"]
        theirs = results.get(f"CuPy {dtype} {body}")
        part = None if theirs is None else paired_ratio(ours, theirs)
        if dtype in _HEAVY:
            parts.append(part)
        cell = None if theirs is None else theirs.cell
        table.add(dtype, body, ours.cell, cell, part, paired_ratio(ours, bare))
    judge(targets, "half, bfloat16, complex / CuPy's text, the slowest", _worst(parts), 0.5)


def _reduction(dtype_name: str, case: str) -> Callable[[], Call]:
    def build() -> Call:
        shape, axis, step = _REDUCTIONS[case]
        dtype = as_dtype(dtype_name)
        strides = [dtype.itemsize * step * math.prod(shape[k + 1 :]) for k in range(len(shape))]
        x = ArraySpec.make(dtype, shape, strides=strides)
        kernel = kerneltk.ReductionKernel(*_SQUARES)
        return _compiled_by_nvrtc(kernel.translation_unit(x, axis=axis))

    return build


def _nvrtc_reductions(report: Report, targets: Table) -> None:
    builds: Builds = {"bare": _bare}
    for case in _REDUCTIONS:
        builds |= {f"{dtype}, {case}": _reduction(dtype, case) for dtype in _REDUCED}
    results = race(builds, host_clock(), _REDUCTION_ROUNDS)
    bare = results.pop("bare")
    table = report.table(
        f"NVRTC, sums of squares: time by that of a bare pointer kernel ({_milliseconds(bare)})",
        *("shape, axis", *_REDUCED),
        notes=[
            f"{report.machine['NVRTC']}, {_ARCHITECTURE}, one process, no cache; median of "
            f"{_REDUCTION_ROUNDS} rounds in each of which every unit has its turn. Steps of 2: "
            "every second element.",
        ],
    )
    for case in _REDUCTIONS:
        cells = (results[f"{dtype}, {case}"] for dtype in _REDUCED)
        table.add(case, *(r.cell if r.error else paired_ratio(r, bare) for r in cells))
    numbers = [paired_ratio(result, bare) for result in results.values()]
    judge(targets, "reductions / bare kernel, the slowest", _worst(numbers), 2.0)
    known = [number for number in numbers if number is not None]
    middle = statistics.median(known) if known else None
    judge(targets, "reductions / bare kernel, the median", middle, 2.0)


def _nvrtc_raw(report: Report, targets: Table) -> None:
    sources = {
        "one kernel": RawSource(_BARE, "code"),
        "one kernel and <cuda_fp16.h>": RawSource(f"#include <cuda_fp16.h>\n{_BARE}", "code"),
        "raw_host.cu (11 kernels)": read_file(Path(__file__).with_name("raw_host.cu")),
    }

    def build(source: RawSource, reflected: bool) -> Callable[[], Call]:
        unit = RawProgram(source, None).unit(capabilities_of("cuda"))
        if not reflected:
            unit = replace(unit, source=source.code, exports=(), reflected=())
        return lambda: _compiled_by_nvrtc(unit)

    builds: Builds = {}
    for name, source in sources.items():
        builds |= {f"{name}, ours": build(source, True), f"{name}, bare": build(source, False)}
    results = race(builds, host_clock(), _ROUNDS)
    table = report.table(
        "NVRTC, raw kernels: with what describes their parameters, and the text alone",
        *("text", "ours, ms", "alone, ms", "ours / alone"),
        notes=["One process, no cache; options are the same."],
    )
    parts: list[float | None] = []
    for name in sources:
        ours, alone = results[f"{name}, ours"], results[f"{name}, bare"]
        parts.append(paired_ratio(ours, alone))
        table.add(name, ours.cell, alone.cell, parts[-1])
    judge(targets, "raw kernels / their text alone, the slowest", _worst(parts), 1.5)


def _host_compiler(report: Report) -> None:
    operations = {"a*x + b": _AXPB, "exp(x)": _EXP}
    dtypes = ("int8", "int32", "float16", "bfloat16", "float32", "float64", "complex64")
    length = 1 << 20

    def build(dtype_name: str, operation: str) -> Callable[[], Call]:
        def made() -> Call:
            dtype = as_dtype(dtype_name)
            unit = _kernel(operation).translation_unit(
                ArraySpec.make(dtype, length), dtype, dtype, backend="host"
            )
            return lambda: toolchain.compile_unit(unit)

        return made

    rows = [
        (dtype, body)
        for dtype in dtypes
        for body in operations
        if dtype[:3] != "int" or body[0] == "a"
    ]
    builds: Builds = {f"{dtype} {body}": build(dtype, operations[body]) for dtype, body in rows}
    results = race(builds, host_clock(), _HOST_ROUNDS)
    table = report.table(
        f"The host's compiler, {report.machine['host compiler']}: flat arrays, ms",
        *("dtype", *operations),
        notes=["Preprocessor, compiler, assembler and linker, without loading; no cache."],
    )
    for dtype in dtypes:
        cells = [results.get(f"{dtype} {body}") for body in operations]
        table.add(dtype, *(None if result is None else result.cell for result in cells))


def main() -> None:
    arguments = parse_arguments(__doc__.splitlines()[0], ("host", "cuda"))
    peers = Peers()
    machine = describe_machine(needed_cupy(peers) if arguments.backend == "cuda" else None)
    try:
        machine["NVRTC"] = nvrtc.target_for(_ARCHITECTURE).compiler
    except BackendUnavailableError as error:
        peers.missing["NVRTC"] = first_line(error)
    try:
        compiler = toolchain.find_compiler()
        machine["host compiler"] = f"{compiler.family} {compiler.version}"
    except BackendUnavailableError as error:
        peers.missing["a host compiler"] = first_line(error)
    report = Report(f"{arguments.backend}-compile", machine, commit(arguments.commit))
    targets = Table("Targets", ("what", "measured", "to reach", "met"))
    if "NVRTC" in machine:
        _nvrtc_layouts(report, targets)
        _nvrtc_types(report, targets, peers)
        _nvrtc_reductions(report, targets)
        _nvrtc_raw(report, targets)
    if "host compiler" in machine:
        _host_compiler(report)
    if "host compiler" in machine or arguments.backend == "cuda":
        for front_end in FRONT_ENDS:
            first_calls(report, targets, arguments.backend, front_end)
    machine["peers"] = ", ".join(f"{name} {version}" for name, version in peers.versions.items())
    report.notes += peers.notes()
    report.tables.append(targets)
    report.save(arguments.output)


if __name__ == "__main__":
    main()
