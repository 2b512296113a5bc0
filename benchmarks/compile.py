"""Compile times: NVRTC beside a bare kernel and CuPy's text, the host's compiler, first calls.

``python benchmarks/compile.py --output DIR`` needs no GPU; with ``--backend cuda`` the first calls
run on one.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
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
    needed_cupy,
    paired_ratio,
    parse_arguments,
    race,
)

import kerneltk
from kerneltk.arrays import ArraySpec
from kerneltk.backends import nvrtc
from kerneltk.backends.host import toolchain
from kerneltk.dtypes import as_dtype
from kerneltk.errors import BackendUnavailableError
from kerneltk.units import TranslationUnit

_ARCHITECTURE = "sm_90"
_ROUNDS = 9
_HOST_ROUNDS = 7
_PROCESSES = 9
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
    return _compiled_by_nvrtc(TranslationUnit("cuda", _BARE, "axpb"))


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


def _judge(targets: Table, what: str, measured: float | None, limit: float) -> None:
    met = "not measured" if measured is None else "yes" if measured <= limit else "NO"
    targets.add(what, measured, f"≤ {limit:g}", met)


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
    _judge(targets, "arithmetic / bare kernel, the slowest", _worst(numbers), 1.5)
    known = [number for number in numbers if number is not None]
    middle = statistics.median(known) if known else None
    _judge(targets, "arithmetic / bare kernel, the median", middle, 1.5)


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
    _judge(targets, "half, bfloat16, complex / CuPy's text, the slowest", _worst(parts), 0.5)


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


# -- first calls ------------------------------------------------------------------------------

# Run in processes of their own. Everything but the calls to be timed comes before them.
_CHILD = """
import json, sys, time
clock = time.perf_counter
begin = clock()
import numpy as np
numpy_done = clock()
import kerneltk
kerneltk_done = clock()
ElementwiseKernel = kerneltk.ElementwiseKernel  # imported when it is first asked for
times = {
    "numpy": numpy_done - begin,
    "kerneltk": kerneltk_done - numpy_done,
    "class": clock() - kerneltk_done,
}
backend, number = sys.argv[1:]
if backend == "cuda":
    import cupy as xp
    wait = xp.cuda.runtime.deviceSynchronize
else:
    xp, wait = np, lambda: None
x = xp.ones(1000, np.float32)
y = xp.empty_like(x)
wait()
body = "y = a * x + %sf" % (1 + int(number) / 1024)
texts = ("T x, T a", "T y", body, "first")
if backend == "cuda":
    from cuda.bindings import driver
    from kerneltk.backends import nvrtc
    from kerneltk.units import TranslationUnit
    target = nvrtc.target_for("sm_" + xp.cuda.Device().compute_capability)
    warm = TranslationUnit("cuda", 'extern "C" __global__ void warm() {}', "warm")
    driver.cuModuleLoadData(nvrtc.compile(warm, target).code)
begin = clock()
kernel = ElementwiseKernel(*texts)
kernel(x, 2.0, y)
wait()
times["first"] = clock() - begin
begin = clock()
kernel(x, 2.0, y)
wait()
times["second"] = clock() - begin
if not bool((abs(y - (3 + int(number) / 1024)) < 1e-5).all()):
    raise SystemExit("the first call's result is wrong")
if backend == "cuda":
    code = kernel.compile(x, 2.0, y, target=target.architecture)
    loads = []
    for _ in range(9):
        begin = clock()
        driver.cuModuleLoadData(code.code)
        loads.append(clock() - begin)
    times["load"] = sorted(loads)[4]
print(json.dumps(times))
"""


def _child(backend: str, number: int, cache: str) -> dict[str, float]:
    """Return the times (s) of one process that makes kernel `number`, with a cache directory."""
    root = Path(__file__).resolve().parent.parent
    # By `env`, since only the package's settings read the environment.
    command = ["env", f"KERNELTK_CACHE_DIR={cache}", sys.executable, "-c", _CHILD]
    done = subprocess.run(
        [*command, backend, str(number)], capture_output=True, text=True, check=False, cwd=root
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "no message").splitlines()[-1])
    times: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return times


def _first_calls(report: Report, targets: Table, backend: str) -> None:
    table = report.table(
        f"First call of a kernel in a new process, {backend}, ms (median of {_PROCESSES})",
        *(
            "cache",
            "import numpy",
            "import kerneltk",
            "the class",
            "first call",
            "slowest",
            "second call",
        ),
        *("module load", "first call - load"),
        notes=[
            "import kerneltk: beyond NumPy's; the class: what its first mention imports. Neither "
            "counts into the first call.",
            "empty: nothing compiled on this machine before. other kernels: the cache holds "
            "what every kernel needs, not this one. this kernel: a hit in the disk cache.",
            "module load: cuModuleLoadData of the same object code by itself, once the context "
            "and another module are there.",
        ],
    )

    def empty() -> Iterator[dict[str, float]]:
        for number in range(_PROCESSES):
            with tempfile.TemporaryDirectory() as cache:
                yield _child(backend, number, cache)

    kinds: dict[str, list[dict[str, float]]] = {}
    try:
        kinds["empty"] = list(empty())
        with tempfile.TemporaryDirectory() as cache:
            _child(backend, 0, cache)
            kinds["other kernels"] = [_child(backend, k + 1, cache) for k in range(_PROCESSES)]
            kinds["this kernel"] = [_child(backend, k + 1, cache) for k in range(_PROCESSES)]
    except Exception as error:  # reported in the table
        cells = [None] * (len(table.columns) - 2)
        table.add("error", f"error: {type(error).__name__}: {first_line(error)}", *cells)
    for kind, runs in kinds.items():

        def middle(name: str, runs: list[dict[str, float]] = runs) -> float | None:
            values = [times[name] for times in runs if name in times]
            return 1e3 * statistics.median(values) if values else None

        beyond = [times["first"] - times["load"] for times in runs if "load" in times]
        table.add(
            kind,
            middle("numpy"),
            middle("kerneltk"),
            middle("class"),
            middle("first"),
            1e3 * max(times["first"] for times in runs),
            middle("second"),
            middle("load"),
            1e3 * statistics.median(beyond) if beyond else None,
        )
    rows = {str(row[0]): row for row in table.rows}

    def cell(kind: str, column: str) -> float | None:
        value = rows[kind][table.columns.index(column)] if kind in rows else None
        return value if isinstance(value, float) else None

    _judge(
        targets,
        f"{backend}: first call of a new kernel, ms",
        cell("other kernels", "first call"),
        300,
    )
    column = "first call - load" if backend == "cuda" else "first call"
    what = (
        "from the disk cache, beyond the module's load"
        if backend == "cuda"
        else "from the disk cache"
    )
    limit = 1 if backend == "cuda" else 10
    _judge(targets, f"{backend}: first call {what}, ms", cell("this kernel", column), limit)
    imports = [
        cell("this kernel", name) for name in ("import numpy", "import kerneltk", "the class")
    ]
    numpy, package, front = (value or 0.0 for value in imports)
    if None not in imports:
        _judge(targets, "import kerneltk / import numpy", (numpy + package) / numpy, 1.3)
        whole = (numpy + package + front) / numpy
        _judge(targets, "the same with the class ElementwiseKernel", whole, 1.3)


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
    if "host compiler" in machine:
        _host_compiler(report)
    if "host compiler" in machine or arguments.backend == "cuda":
        _first_calls(report, targets, arguments.backend)
    machine["peers"] = ", ".join(f"{name} {version}" for name, version in peers.versions.items())
    report.notes += peers.notes()
    report.tables.append(targets)
    report.save(arguments.output)


if __name__ == "__main__":
    main()
