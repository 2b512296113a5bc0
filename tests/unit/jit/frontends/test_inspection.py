"""What kernels show of themselves: their sources, for arguments or descriptions of them."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import html
import re
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, jit
from kerneltk.errors import ArgumentTypeError

from .test_rawkernel import axpb, floats, scale

F32 = ArraySpec.make("float32", 100)


def test_inspect_shows_the_text() -> None:
    kernel = jit.rawkernel(scale.__wrapped__)
    on_host = kernel.inspect(floats(), floats())
    assert "host_grid.hpp" in on_host
    assert kernel.inspect(floats(), floats(), 3, target="host") == on_host
    text = kernel.inspect(F32, F32, int, target="cuda")
    assert 'extern "C" __global__ void scale(' in text
    assert kernel.inspect(floats(), floats(), target="cuda") == text
    assert kernel.cached_codes == {}
    kernel[1, 8](floats(), floats())
    assert kernel.cached_code == on_host


def test_inspect_shows_functions_of_elements() -> None:
    kernel = jit.kernel(axpb.__wrapped__)
    on_host = kernel.inspect(floats())
    assert "axpb(" in on_host
    assert "__global__" in kernel.inspect(F32, target="cuda")
    assert kernel.cached_codes == {}
    kernel(floats())
    for smooth_kernel, arguments in (
        (jit.kernel(lambda x: x[jit.index(1)] + 1), (F32,)),
        (jit.kernel(lambda n: jit.index(1) * n), (float,)),
        (jit.kernel(lambda x, k: x[jit.index(1)] + k), (F32, ArraySpec.make("float32", ()))),
    ):
        assert "__global__" in smooth_kernel.inspect(*arguments, target="cuda")


@pytest.mark.parametrize(
    ("described", "given"),
    [
        (np.float32, np.float32(1)),
        (np.dtype("int16"), np.int16(1)),
        (int, 1),
        (float, 1.0),
        (complex, 1j),
        (bool, True),
        (ArraySpec.make("float32", (3, 4)), np.zeros((3, 4), np.float32)),
        (ArraySpec.make("float32", (3, 4), order="F"), np.zeros((4, 3), np.float32).T),
    ],
)
def test_descriptions_stand_for_arguments(described: Any, given: Any) -> None:
    @jit.rawkernel()
    def kernel(x, y):
        x[0] = 1

    assert kernel.inspect(F32, described, target="cuda") == kernel.inspect(
        F32, given, target="cuda"
    )


def test_descriptions_are_no_arguments() -> None:
    with pytest.raises(ArgumentTypeError):
        scale[1, 1](floats(), np.float32)
    with pytest.raises(ArgumentTypeError):
        axpb(floats(), np.float32)


def test_inspect_refuses_what_a_launch_refuses() -> None:
    with pytest.raises(ArgumentTypeError, match="missing a required argument"):
        scale.inspect()
    with pytest.raises(ArgumentTypeError, match="cannot take an object of type 'str'"):
        scale.inspect(F32, F32, "a")
    with pytest.raises(ArgumentTypeError, match="missing a required argument"):
        axpb.inspect()
    with pytest.raises(ArgumentTypeError, match="cannot take an object of type 'str'"):
        axpb.inspect("a")
    with pytest.raises(ValueError, match="sm_none"):
        scale.inspect(F32, F32, target="sm_none")


def test_notebooks_show_the_text_that_was_compiled_last() -> None:
    for kernel, call in (
        (jit.rawkernel(scale.__wrapped__), lambda kernel, x: kernel[1, 8](x, x)),
        (jit.kernel(axpb.__wrapped__), lambda kernel, x: kernel(x)),
    ):
        name = html.escape(repr(kernel))
        assert kernel._repr_html_() == f"<pre>{name}: nothing is compiled yet</pre>"
        call(kernel, floats())
        page = kernel._repr_html_()
        assert f"{name}: compiled for 1 combination of argument types</summary>" in page
        text = re.search(r"<pre>(.*)</pre>", page, re.DOTALL)
        assert text is not None
        assert html.unescape(text[1]) == kernel.cached_code
        assert "#include &lt;" in page
        call(kernel, floats().astype(np.float64))
        page = kernel._repr_html_()
        assert "compiled for 2 combinations of argument types, the last</summary>" in page
        assert html.escape(list(kernel.cached_codes.values())[-1]) in page
