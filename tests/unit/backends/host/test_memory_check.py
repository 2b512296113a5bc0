"""KERNELTK_HOST_DEBUG: checks of memory, and builds for a debugger."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kerneltk.backends.host import memory_check
from kerneltk.backends.host.line_table import LineTable
from kerneltk.object_code.elf import ElfFile

from ....differential.raw_cases import CASES, WARP_CASES
from ....processes import python

HERE = Path(__file__).parent
ZIG = pytest.param("zig", marks=pytest.mark.exhaustive)
COMPILERS = ["", *([ZIG] if importlib.util.find_spec("ziglang") else [])]
ORDER = (
    "\n  Hint: put '__syncwarp()' between them (in Python 'jit.syncwarp()'), or make the memory "
    "'volatile'."
)
KERNELS = (HERE / "memory_faults.cu").read_text().splitlines()


def line_of(text: str) -> int:
    (line,) = (number for number, line in enumerate(KERNELS, 1) if text in line)
    return line


def run_python(debug: str, *command: str, **environment: str) -> str:
    done = python(*command, cwd=HERE.parents[3], KERNELTK_HOST_DEBUG=debug, **environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module", params=COMPILERS, ids=lambda compiler: compiler or "default")
def messages(request: pytest.FixtureRequest, once: Any) -> dict:
    """What each launch of the worker said; empty where it was right."""
    worker = str(HERE / "memory_faults_worker.py")

    def make() -> bytes:
        return run_python("memory", worker, KERNELTK_CXX=request.param).encode()

    return json.loads(once((worker, request.param), make))


RIGHT = (
    "copy right", "pool right", "put right", "put again", "in place", "shared right",
    "shared again", "tiles right", "tiles again", "in_template right", "in_template again",
    "at_namespace right", "at_namespace again", "dynamic 0 256", "constant right",
    "constant again", "device_variable 2", "local right", "local again", "points right",
    "points again", "halves right", "halves again", "add right", "add again", "compare right",
    "compare again", "vectors right", "vectors again", "misaligned right", "misaligned again",
    "misaligned_vector right", "misaligned_vector again",
    "moved right", "moved again", "filled right", "filled again", "allocated right",
    "allocated again", "pointers right", "told in order", "told in step", "told by all",
    "shifted 0", "shifted 33", "tells right",
)  # fmt: skip


# label: block, thread, a part of the line, and what is said; {address} is any address.
WRONG = {
    "copy beyond": (3, 63, "return p[i]",
        "reading 4 bytes at offset 1024 of 'x' (1024 bytes, 256 elements of float32): "
        "right beyond its end."),
    "copy before": (0, 0, "return p[i]",
        "reading 4 bytes at offset -8 of 'x' (1024 bytes, 256 elements of float32): "
        "8 bytes before its begin."),
    "pool beyond": (1023, 63, "return p[i]",
        "reading 4 bytes at offset 262144 of 'x' (262144 bytes, 65536 elements of float32): "
        "right beyond its end."),
    "put 256": (3, 3, "x[k] = 1;",
        "writing 4 bytes at offset 1024 of 'x' (1024 bytes, 256 elements of float32): "
        "right beyond its end."),
    "put -1": (3, 3, "x[k] = 1;",
        "writing 4 bytes at offset -4 of 'x' (1024 bytes, 256 elements of float32): "
        "4 bytes before its begin."),
    "put 10000000": (3, 3, "x[k] = 1;",
        "writing 4 bytes at address {address}, which is in none of its arrays, variables and "
        "allocations; from the begin of 'x' (1024 bytes, 256 elements of float32), which is the "
        "nearest, it is offset 40000000."),
    "null": (3, 3, "x[k] = 1;", "writing 4 bytes at address 0x0: a null pointer."),
    "empty": (3, 3, "x[k] = 1;",
        "writing 4 bytes at offset 0 of 'x' (0 bytes, 0 elements of float32): "
        "right beyond its end."),
    "cast": (0, 0, "const_cast",
        "writing 4 bytes at offset 20 of 'x' (256 bytes, 64 elements of float32), which the "
        "kernel may only read."),
    "read-only": (0, 0, "const_cast",
        "writing 4 bytes at offset 20 of 'x' (256 bytes, 64 elements of float32), which the "
        "kernel may only read."),
    "shared 1": (0, 63, "= line[",
        "reading 4 bytes at offset 256 of the shared variable 'line' (256 bytes): "
        "right beyond its end."),
    "shared -1": (0, 0, "= line[",
        "reading 4 bytes at offset -4 of the shared variable 'line' (256 bytes): "
        "4 bytes before its begin."),
    "tiles 16": (0, 63, "= tile[k]",
        "reading 4 bytes at offset 1148 of the shared variable 'tile' (1088 bytes): "
        "60 bytes beyond its end."),
    "tiles -1": (0, 63, "= tile[k]",
        "reading 4 bytes at offset -8 of the shared variable 'tile' (1088 bytes): "
        "8 bytes before its begin."),
    "in_template 1": (0, 63, "p[threadIdx.x + k]",
        "writing 4 bytes at offset 256 of the shared variable 'line' (256 bytes): "
        "right beyond its end."),
    "at_namespace 8": (0, 0, "at_large[k] = 1",
        "writing 4 bytes at offset 32 of the shared variable 'at_large' (32 bytes): "
        "right beyond its end."),
    "dynamic 1 256": (0, 63, "= s[",
        "reading 4 bytes at offset 256 of the 256 bytes of dynamic shared memory: "
        "right beyond its end."),
    "dynamic -1 256": (0, 0, "= s[",
        "reading 4 bytes at offset -4 of the 256 bytes of dynamic shared memory: "
        "4 bytes before its begin."),
    "dynamic 0 0": (0, 0, "s[threadIdx.x] = 2",
        "writing 4 bytes at offset 0 of the 0 bytes of dynamic shared memory: "
        "right beyond its end."),
    "dynamic 0 255": (0, 63, "s[threadIdx.x] = 2",
        "writing 4 bytes at offset 252 of the 255 bytes of dynamic shared memory: "
        "partly beyond its end."),
    "constant 4": (0, 0, "= table[k]",
        "reading 4 bytes at offset 16 of 'table' (16 bytes): right beyond its end."),
    "constant -1": (0, 0, "= table[k]",
        "reading 4 bytes at offset -4 of 'table' (16 bytes): 4 bytes before its begin."),
    "device_variable 3": (0, 0, "counters[k]",
        "reading 4 bytes at offset 12 of 'counters' (12 bytes): right beyond its end."),
    "points 9": (0, 0, "p[k].z",
        "writing 4 bytes at offset 116 of 'p' (108 bytes, 9 elements of 12 bytes): "
        "8 bytes beyond its end."),
    "halves 9": (0, 0, "x[k] = x[k]",
        "reading 2 bytes at offset 18 of 'x' (18 bytes, 9 elements of float16): "
        "right beyond its end."),
    "add 8": (0, 0, "atomicAdd(&counts",
        "writing 4 bytes at offset 32 of 'counts' (32 bytes, 8 elements of uint32): "
        "right beyond its end."),
    "compare -1": (0, 0, "atomicCAS(counts",
        "writing 4 bytes at offset -4 of 'counts' (32 bytes, 8 elements of int32): "
        "4 bytes before its begin."),
    "misaligned 6": (0, 0, "reinterpret_cast",
        "an object of type 'float' is used at address {address}, which is not a multiple of 4.\n"
        "  Hint: GPUs end a kernel that does so."),
    "misaligned_vector 12": (0, 0, "st.global.v2",
        "an object of type '.v2.f32' is used at address {address}, which is not a multiple of 8.\n"
        "  Hint: GPUs end a kernel that does so."),
    "moved 244": (0, 0, "memcpy(",
        "reading 244 bytes at offset 0 of 'y' (240 bytes, 60 elements of float32): "
        "partly beyond its end."),
    "filled 244": (0, 0, "memset(",
        "writing 244 bytes at offset 0 of 'y' (240 bytes, 60 elements of float32): "
        "partly beyond its end."),
    "allocated 16": (0, 0, "p[k] = 3",
        "writing 4 bytes at offset 64 of 64 bytes that a kernel has allocated: "
        "right beyond its end."),
    "allocated -1": (0, 0, "p[k] = 3",
        "writing 4 bytes at offset -4 of 64 bytes that a kernel has allocated: "
        "4 bytes before its begin."),
    "released_twice": (0, 0, "free(y)",
        "memory is released at address {address}, where none was allocated."),
    "pointers wrong": (0, 0, "rows[0]", "writing 4 bytes at address 0x8: a null pointer."),
    "told 0": (0, 1, "] = words[threadIdx",
        "reading 4 bytes at offset 0 of the shared variable 'words', which thread (0, 0, 0) of the "
        f"same warp writes at memory_faults.cu:{line_of('32] = k + 1')}, and nothing orders the "
        f"two.{ORDER}"),
    "told 7": (0, 7, "32] = k + 1",
        "writing 4 bytes at offset 0 of the shared variable 'words', which thread (6, 0, 0) of the "
        f"same warp reads at memory_faults.cu:{line_of('] = words[threadIdx')}, and nothing orders "
        f"the two.{ORDER}"),
    "shifted 1": (0, 1, "threadIdx.x + k] + 1",
        "writing 4 bytes at offset 4 of 'y', which thread (0, 0, 0) of the same warp reads at "
        f"memory_faults.cu:{line_of('threadIdx.x + k] + 1')}, and nothing orders the two."
        f"{ORDER}"),
    "borrowed": (0, 63, "*other", "reading 4 bytes of another thread's own variables."),
}  # fmt: skip


APART = {"vectors 8", "released"}  # what differs by compiler, or says where the system's memory is


def test_every_launch_is_judged(messages: dict[str, str]) -> None:
    others = {label for label in messages if label.endswith(" result") or "ordered " in label}
    assert set(messages) == {*RIGHT, *WRONG, *APART, *others}


def test_right_kernels_run(messages: dict[str, str]) -> None:
    assert {label: messages[label] for label in RIGHT} == dict.fromkeys(RIGHT, "")
    assert messages["pool result"] == "True"
    assert json.loads(messages["pointers result"])[3] == 5


def test_threads_that_exchange_values(messages: dict[str, str]) -> None:
    ordered = {k.split()[1]: said for k, said in messages.items() if k.startswith("ordered ")}
    assert len(ordered) > 25
    for name, said in ordered.items():
        if not name.startswith("wrong_"):
            assert not said, (name, said)
        elif name.endswith("barrier"):
            assert "thread (40, 0, 0) has left the kernel, while 40 threads wait at " in said
        elif name.endswith("dynamic"):
            assert "of the 256 bytes of dynamic shared memory: right beyond its end" in said
        elif name.endswith("same_address"):
            assert "of the same warp writes at" in said
            assert "with another value, and nothing orders the two.\n  Hint: let one lane" in said
        else:
            assert re.search(r"of the same warp .*, and nothing orders the two\.", said), said
            assert ORDER[:35] in said


@pytest.mark.parametrize("label", WRONG)
def test_finding_is_told(messages: dict[str, str], label: str) -> None:
    block, thread, part, wanted = WRONG[label]
    where = f", block ({block}, 0, 0), thread ({thread}, 0, 0), memory_faults.cu:{line_of(part)}: "
    pattern = re.escape(where + wanted).replace(re.escape("{address}"), "0x[0-9a-f]+")
    found = re.sub(r"^In kernel '[\w<>]+'", "", messages[label])
    assert re.fullmatch(pattern, found), messages[label]


def test_vector_beyond_the_end(messages: dict[str, str]) -> None:
    # In one access or, with clang, in two.
    assert re.search(
        rf"memory_faults.cu:{line_of('y[k] = make_float4')}: writing (8|16) bytes at offset 128 of "
        r"'y' \(128 bytes, 8 elements of 16 bytes\): right beyond its end\.$",
        messages["vectors 8"],
    )


def test_released_memory(messages: dict[str, str]) -> None:
    place = f"memory_faults.cu:{line_of('y[0] = p[0]')}: reading 4 bytes at "
    assert place in messages["released"]


# A file for each kind of memory and for each way in which threads share it.
MEMORIES = {
    "atomics.cu", "constants.cu", "cooperative.cu", "language.cu", "shared_memory.cu", "vectors.cu",
    "warp.cu",
}  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("some", [True, False], ids=["some", "others"])
def test_correct_kernels_are_not_blamed(some: bool) -> None:
    """One case of each file of tests/kernels, of the table that is run without the checks."""
    case_of = {case.file: case.name for case in reversed(CASES)}
    assert len(case_of) == len(list((HERE.parents[2] / "kernels").glob("*.cu"))) - 1
    assert case_of.keys() > MEMORIES
    names = [name for file, name in case_of.items() if (file in MEMORIES) == some]
    of_warps = {case.name for case in WARP_CASES}
    tests = ["test_lanes_of_warps" if name in of_warps else "test_case" for name in names]
    where = "tests/differential/test_raw.py"
    output = run_python(
        *("memory", "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider"),
        *(f"{where}::{test}[host-{name}]" for test, name in zip(tests, names, strict=True)),
    )
    assert f"{len(names)} passed" in output


@pytest.mark.exhaustive
def test_libraries_that_order_accesses_are_not_blamed() -> None:
    """Those of libcu++ (atomic objects, barriers, pipelines), and PTX's barriers."""
    files = [f"tests/differential/test_{name}.py" for name in ("libcu", "ptx")]
    words = ["-p", "no:cacheprovider", "-p", "no:xdist", "-k", "host and not compile"]
    shown = run_python("memory", "-m", "pytest", "-q", *words, *files)
    assert re.search(r"\d+ passed", shown)


def test_memory_behind_shared_variables(tmp_path: Path) -> None:
    """The C library may put what kernels allocate, and what pointers lead to, right there."""
    kernel = tmp_path / "near.cu"
    kernel.write_text(
        "__shared__ int first;\n"
        'extern "C" __global__ void near(int* y, int** p) {\n'
        "    if (threadIdx.x == 0) first = blockIdx.x;\n"
        "    __syncthreads();\n"
        "    int* const own = (int*)malloc(24);\n"
        "    for (int k = 0; k < 6; ++k) own[k] = first + k;\n"
        "    int sum = __ballot_sync(~0u, own[5] == (int)blockIdx.x + 5) == ~0u;\n"
        "    for (int k = 0; k < 6; ++k) sum += own[k];\n"
        "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (p) p[i] = own;\n"
        "    else free(own);\n"
        "    y[i] = sum;\n"
        "}\n"
        'extern "C" __global__ void follow(int* y, int** p) {\n'
        "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    y[i] = p[i][5];\n"
        "}\n"
    )
    program = (
        "import kerneltk, numpy as np, sys\n"
        "module = kerneltk.load(sys.argv[1])\n"
        "y, p = np.empty(2048, 'i4'), np.empty(2048, 'u8')\n"
        "block = np.arange(2048) // 64\n"
        "for pointers in (None, p):\n"
        "    module.near(32, 64, (y, pointers))\n"
        "    assert (y == 6 * block + 16).all()\n"
        "module.follow(32, 64, (y, p))\n"
        "print((y == block + 5).all())\n"
    )
    assert run_python("memory", "-c", program, str(kernel)) == "True\n"


@pytest.mark.exhaustive
def test_symbols(tmp_path: Path) -> None:
    kernel = tmp_path / "twice.cu"
    kernel.write_text('extern "C" __global__ void twice(float* y) {\n    y[threadIdx.x] *= 2;\n}\n')
    program = (
        "import kerneltk, numpy as np, sys\n"
        "y = np.ones(8, 'f4')\n"
        "kerneltk.load(sys.argv[1]).twice(1, 8, (y,))\n"
        "text = open(sys.argv[1]).read()\n"
        "kerneltk.RawKernel('\\n' + text, 'twice')(1, 8, (y,))\n"
        "print(y.tolist() == [4] * 8)\n"
        "print(open('/proc/self/maps').read())\n"
    )
    cache = tmp_path / "cache"
    first, _, maps = run_python(
        "symbols", "-c", program, str(kernel), KERNELTK_CACHE_DIR=str(cache)
    ).partition("\n")
    assert first == "True"
    loaded = [path for path in (cache / "debug").glob("*.so") if str(path) in maps]
    assert len(loaded) == 3  # the runtime and two units
    lines = []
    for library in map(ElfFile, map(Path.read_bytes, loaded)):
        table = LineTable(library.section(".debug_line"))
        lines += [table.place(s.value) for s in library.symbols() if s.name == "twice"]
    (text,) = (cache / "debug").glob("*/code.cu")
    assert text.read_text() == "\n" + kernel.read_text()
    assert sorted(place for place in lines if place) == sorted([(str(kernel), 1), (str(text), 2)])


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("tile", "tile"),
        ("_ZZ4testPfE4tile", "tile"),
        ("_ZZ4testPfE4tile_0", "tile"),
        ("_ZZ3shtIfEvPT_iE4line", "line"),
        ("_ZN2ns1sE", "s"),
        ("_ZL9threadIdx", "threadIdx"),
        ("_ZZN2ns1fILi12EEEvvE3a10", "a10"),
    ],
)
def test_plain_name(symbol: str, name: str) -> None:
    assert memory_check._plain_name(symbol) == name
