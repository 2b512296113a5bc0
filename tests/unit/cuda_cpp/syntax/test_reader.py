"""Any source is read, whatever it is, and positions in it are right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerneltk.cuda_cpp.syntax.blanking import blank_host_code
from kerneltk.cuda_cpp.syntax.declarations import DeclaredKernel, SourceSummary
from kerneltk.cuda_cpp.syntax.reader import read_source


def only_kernel(text: str) -> DeclaredKernel:
    (kernel,) = read_source(text).kernels
    return kernel


def test_places_are_characters_of_the_text() -> None:
    text = "// größe € 𝄞\r\n#define K __global__ void\r\nK f(int \tn)\r\n{ }\r\n"
    kernel = only_kernel(text)
    assert text[kernel.start : kernel.end] == "K f(int \tn)\r\n{ }"
    assert text[kernel.parameters[0].start : kernel.parameters[0].end] == "int \tn"
    assert kernel.line == 3
    assert kernel.doc == ""


SAMPLES = {path.name: path for path in (Path(__file__).parent / "sources").glob("*.cu")}


def check(text: str) -> SourceSummary:
    summary = read_source(text)
    for kernel in summary.kernels:
        assert 0 <= kernel.start <= kernel.end <= len(text)
        for parameter in kernel.parameters:
            assert kernel.start <= parameter.start <= parameter.end <= kernel.end
    blanked = blank_host_code(text, summary)
    assert len(blanked) == len(text)
    assert blanked.count("\n") == text.count("\n")
    return summary


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_cut_of_a_file_is_read(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(sorted(SAMPLES.values()))).read_text()
    start = data.draw(st.integers(0, len(text)))
    check(text[:start] + text[start + data.draw(st.integers(1, 40)) :])


@pytest.mark.parametrize("text", ["(" * 20000, "{" * 5000, "namespace a{" * 500, "[[" * 2000])
def test_deep_nesting(text: str) -> None:
    check(text)


def test_the_parser_is_loaded_when_it_is_used() -> None:
    code = "import sys, kerneltk.cuda_cpp.syntax.reader; assert 'tree_sitter' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
