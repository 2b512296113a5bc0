"""What a raw source is compiled to: its kernels, their templates, its variables."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentValueError, CompileError


def kernel(parameters: str, body: str = "", before: str = "", **words: Any) -> kerneltk.RawKernel:
    return kerneltk.RawKernel(f"{before}\n__global__ void f({parameters}) {{{body}}}", "f", **words)


@pytest.mark.parametrize("order", ["after", "before"])
@pytest.mark.parametrize("name", ["aa", "zz"])
@pytest.mark.parametrize("declared", ["__global__ void {}(int* o) {{}}", "__device__ int {};"])
def test_what_stands_under_a_false_condition(order: str, name: str, declared: str) -> None:
    good = "__global__ void f(int* o) { o[0] = 3; }\n"
    hidden = f"#ifdef NOWHERE\n{declared.format(name)}\n#endif\n"
    module = kerneltk.RawModule(code=good + hidden if order == "after" else hidden + good)
    out = np.zeros(1, np.int32)
    module.get_function("f")(1, 1, (out,))
    assert out[0] == 3
    assert dict(module.compile_for("sm_90").symbols)["f"]
    if "global" in declared:
        with pytest.raises(CompileError, match=f"no kernel '{name}'"):
            module.get_function(name)(1, 1, (out,))


def test_kernels_whose_names_macros_make() -> None:
    code = """
    #define CAT(a, b) a##b
    #define NAME foo
    __global__ void CAT(add_, one)(int* o) { o[0] += 1; }
    extern "C" __global__ void NAME(int* o) { o[0] += 10; }
    """
    module = kerneltk.RawModule(code=code)
    out = np.zeros(1, np.int32)
    module.get_function("add_one")(1, 1, (out,))
    module.get_function("foo")(1, 1, (out,))
    assert out[0] == 11
    with pytest.raises(CompileError, match="no kernel 'add_two'"):
        module.get_function("add_two")(1, 1, (out,))
    module.get_function("add_one")(1, 1, (out,))


def test_what_cpu_cores_do_not_have_is_named() -> None:
    code = '__global__ void f(int* o) {\n    asm("mov.u32 %0, %laneid;" : "=r"(o[0]));\n}\n'
    with pytest.raises(CompileError, match="no inline PTX") as caught:
        kerneltk.RawKernel(code, "f")(1, 1, (np.zeros(1, np.int32),))
    assert 'code:2:     asm("mov.u32' in str(caught.value)


VARIABLES = """
__constant__ int coefficient;
__device__ int hits;
__constant__ const int fixed[2] = {3, 4};
template <class T> __global__ void read(T* o) { o[0] = coefficient; ++hits; }
__global__ void plain(int* o) { o[0] = coefficient; ++hits; }
"""


def test_templates_share_the_variables_of_their_file(tmp_path: Path) -> None:
    (tmp_path / "v.cu").write_text(VARIABLES)
    module = kerneltk.load(tmp_path / "v.cu")
    reads = [module.plain, module.read["int"], module.read["unsigned"]]
    module.get_array("coefficient", backend="host")[...] = 5
    for read, dtype in zip(reads, (np.int32, np.int32, np.uint32), strict=True):
        out = np.zeros(1, dtype)
        read(1, 1, (out,))
        assert out[0] == 5
    assert module.get_array("hits", backend="host") == 3
    with pytest.raises(ArgumentValueError, match="variables of its own"):
        module.read["short"]


def test_a_template_argument_that_is_none_spoils_nothing(tmp_path: Path) -> None:
    (tmp_path / "v.cu").write_text(VARIABLES)
    module = kerneltk.load(tmp_path / "v.cu")
    out = np.zeros(1, np.int32)
    with pytest.raises(CompileError, match="no kernel 'read<flo>'"):
        module.read["flo"](1, 1, (out,))
    module.plain(1, 1, (out,))


def test_constants_are_read_only_views() -> None:
    fixed = kerneltk.RawModule(code=VARIABLES).get_array("fixed", backend="host")
    np.testing.assert_array_equal(fixed, [3, 4])
    assert not fixed.flags.writeable


def test_a_fork_while_another_thread_compiles() -> None:
    take = kernel("int* o", "o[0] = 1;")
    began = threading.Event()

    def compile_(program: Any = take._program) -> None:
        with program._lock:
            began.set()
            threading.Event().wait(0.5)

    thread = threading.Thread(target=compile_)
    thread.start()
    began.wait()
    child = os.fork()
    if child == 0:
        out = np.zeros(1, np.int32)
        take(1, 1, (out,))
        os._exit(0 if out[0] == 1 else 1)
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
