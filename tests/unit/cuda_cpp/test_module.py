"""Modules of CUDA C++: their kernels by name, and the files that they are of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

VARIABLES = """
__constant__ int coefficient;
__device__ int hits;
__constant__ const int fixed[2] = {3, 4};
template <class T> __global__ void read(T* o) { o[0] = coefficient; ++hits; }
__global__ void plain(int* o) { o[0] = coefficient; ++hits; }
"""


def test_kernels_are_made_once(tmp_path: Path) -> None:
    (tmp_path / "v.cu").write_text(VARIABLES)
    module = kerneltk.load(tmp_path / "v.cu")
    assert module.plain is module.get_function("plain")
    assert module.read["int"] is module.read["int"]
    (tmp_path / "w.cu").write_text("__global__ void options(int* o) { o[0] = 9; }")
    other = kerneltk.load(tmp_path / "w.cu")
    out = np.zeros(1, np.int32)
    other["options"](1, 1, (out,))
    assert out[0] == 9
    both = kerneltk.load(tmp_path / "w.cu", tmp_path / "v.cu")
    assert both.options == ()
    with pytest.raises(ArgumentValueError, match="several files"):
        both.compile_for("host")


@pytest.mark.parametrize("path", [b"x.cu", None, 3])
def test_paths_that_are_none(path: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="path of a file"):
        kerneltk.load(path)
