"""Runs kernels of memory_faults.cu and ordered_kernels.cu, and one in Python, right ones and wrong
ones; prints what each launch said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kerneltk
from kerneltk import jit

FLOAT4 = np.dtype([(name, "f4") for name in "xyzw"])
POINT = np.dtype([(name, "f4") for name in "xyz"])


def apart(size: int, dtype: Any = "f4") -> np.ndarray[Any, Any]:
    """Return an array with memory of its own around it, which no launch is given."""
    dtype = np.dtype(dtype)
    gap = 4096 // dtype.itemsize
    memory = np.zeros(size + 2 * gap, dtype)
    return memory[gap : gap + size]


def read_only() -> np.ndarray[Any, Any]:
    x = apart(64)
    x.flags.writeable = False
    return x


@jit.rawkernel()
def in_python(y, x, is_ordered):
    part = jit.shared_memory(np.float32, 64)
    t = jit.threadIdx.x
    for k in range(3):
        part[t] = x[jit.grid(1)] + k
        jit.syncthreads()
        y[jit.grid(1)] += part[63 - t] + part[t ^ 1]
        if is_ordered:
            jit.syncthreads()


def main() -> None:
    path = Path(__file__).with_name("memory_faults.cu")
    module = kerneltk.load(path)
    of_templates = kerneltk.load(path, name_expressions=["in_template<float>"])
    results: dict[str, str] = {}

    def run(label: str, kernel: Any, *arguments: Any, grid: Any = 4, shared_mem: int = 0) -> None:
        try:
            if isinstance(kernel, str):
                source = of_templates if kernel.endswith(">") else module
                kernel = source.get_function(kernel)
            kernel(grid, 64, arguments, shared_mem=shared_mem)
        except kerneltk.LaunchError as error:
            results[label] = str(error)
        else:
            results[label] = ""

    def pair(label: str, kernel: str, make: Callable[[], Any], right: int, *wrong: int) -> None:
        """Run with an index that is right, with some that are wrong, and again with the first."""
        run(f"{label} right", kernel, make(), right)
        for k in wrong:
            run(f"{label} {k}", kernel, make(), k)
        run(f"{label} again", kernel, make(), right)

    x, y = apart(256), apart(256)
    run("copy right", "copy", x, y, 256, 0)
    run("copy beyond", "copy", x, y, 256, 1)
    run("copy before", "copy", x, y, 256, -2)
    many, result = apart(1 << 16), apart(1 << 16)
    run("pool right", "copy", many, result, 1 << 16, 0, grid=1024)
    run("pool beyond", "copy", many, result, 1 << 16, 1, grid=1024)
    results["pool result"] = str(bool((result[:-1] == many[1:]).all()))
    pair("put", "put", lambda: apart(256), 255, 256, -1, 10**7)
    run("null", "put", None, 0)
    run("empty", "put", np.empty(0, "f4"), 0)
    run("cast", "put_through_cast", apart(64), 5)
    x = apart(64)
    run("read-only", "put_through_cast", read_only(), 5)
    run("in place", "copy", x, x, 64, 0)
    pair("shared", "shared", lambda: apart(64), 0, 1, -1)
    pair("tiles", "tiles", lambda: apart(64), 15, 16, -1)
    pair("in_template", "in_template<float>", lambda: apart(64), 0, 1)
    pair("at_namespace", "at_namespace", lambda: apart(1, "i4"), 7, 8)
    for k, size in ((0, 256), (1, 256), (-1, 256), (0, 0), (0, 255)):
        run(f"dynamic {k} {size}", "dynamic", apart(64), k, shared_mem=size)
    pair("constant", "constant", lambda: apart(64), 3, 4, -1)
    run("device_variable 2", "device_variable", 2)
    run("device_variable 3", "device_variable", 3)
    pair("local", "local", lambda: apart(64), 7)
    pair("points", "points", lambda: apart(9, POINT), 8, 9)
    pair("halves", "halves", lambda: apart(9, "f2"), 8, 9)
    pair("add", "add", lambda: apart(8, "u4"), 7, 8)
    pair("compare", "compare", lambda: apart(8, "i4"), 7, -1)
    pair("vectors", "vectors", lambda: apart(8, FLOAT4), 7, 8)
    pair("misaligned", "misaligned", lambda: apart(64, "i1"), 8, 6)
    pair("misaligned_vector", "misaligned_vector", lambda: apart(64, "i1"), 8, 12)
    pair("moved", "moved", lambda: apart(60), 240, 244)
    pair("filled", "filled", lambda: apart(60), 240, 244)
    pair("allocated", "allocated", lambda: apart(64), 15, 16, -1)
    run("released", "released", apart(1), grid=1)
    run("released_twice", "released_twice", apart(1), grid=1)
    far = np.zeros(10, "f4")
    run("pointers right", "pointers", np.array([far.ctypes.data], "u8"), 3)
    results["pointers result"] = str(far.tolist())
    run("pointers wrong", "pointers", np.array([8], "u8"), 0)
    run("borrowed", "borrowed", apart(64), grid=1)
    for k in (0, 7):
        run(f"told {k}", "told", apart(64), k, grid=1)
    run("told in order", "told_in_order", apart(64), 7)
    run("told in step", "told_in_step", apart(256), 0)
    run("told by all", "told_by_all", apart(1), 3, grid=1)
    run("shifted 0", "shifted", apart(128), 0, grid=1)
    run("shifted 33", "shifted", apart(128), 33, grid=1)
    run("shifted 1", "shifted", apart(128), 1, grid=1)
    run("tells right", "tells", apart(64), grid=1)
    path = path.with_name("ordered_kernels.cu")
    ordered = kerneltk.load(path)
    x = (np.arange(128, dtype="f4") * 37) % 11
    for name in re.findall(r"^KERNEL (\w+)", path.read_text(), re.MULTILINE):
        size = 256 if name.endswith("dynamic") else 0
        kernel = ordered.get_function(name)
        run(f"ordered {name}", kernel, np.zeros(128, "f4"), x, 128, grid=2, shared_mem=size)
    for name, is_ordered in (("in_python", True), ("wrong_in_python", False)):
        run(f"ordered {name}", in_python, np.zeros(128, "f4"), x, is_ordered, grid=2)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
