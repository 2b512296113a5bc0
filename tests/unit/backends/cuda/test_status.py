"""Errors that are CuPy's as well."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import cupy
import pytest

import kerneltk
from kerneltk import pipeline
from kerneltk.backends.base import capabilities_of
from kerneltk.backends.cuda.status import CudaCompileError, CudaLaunchError, as_cupys
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.errors import (
    ArgumentValueError,
    CompileError,
    KernelToolkitError,
    LaunchError,
    NoSuchKernelError,
    SourceNotFoundError,
)

CUDADriverError = cupy.cuda.driver.CUDADriverError


def test_a_compilers_error_is_cupys_too() -> None:
    unit = TranslationUnit("cuda", "source", "f", ("-w",), name="k")
    made = CudaCompileError(CompileError("It failed.", "source", "log"), unit)
    for error in (made, pickle.loads(pickle.dumps(made)), copy.copy(made)):
        assert isinstance(error, CompileError)
        assert isinstance(error, cupy.cuda.compiler.CompileException)
        assert (str(error), error.source, error.log) == ("It failed.", "source", "log")
        assert (error.name, error.options, error.backend) == ("k", ("-w",), "nvrtc")


def test_a_drivers_error_is_cupys_too() -> None:
    made = CudaLaunchError("It failed.", 719)
    for error in (made, pickle.loads(pickle.dumps(made)), copy.copy(made)):
        assert isinstance(error, LaunchError)
        assert isinstance(error, CUDADriverError)
        assert (str(error), error.status) == ("It failed.", 719)


@pytest.mark.parametrize(("error", "cupys", "words"), [
    (CompileError("m", "source", "log"), cupy.cuda.compiler.CompileException, "m"),
    (NoSuchKernelError("m"), CUDADriverError, "CUDA_ERROR_NOT_FOUND: named symbol not found"),
    (SourceNotFoundError("m"), CUDADriverError, "CUDA_ERROR_FILE_NOT_FOUND: file not found"),
])  # fmt: skip
def test_errors_that_callers_of_cupy_catch(
    error: KernelToolkitError, cupys: type[Exception], words: str
) -> None:
    made = as_cupys(error)
    assert isinstance(made, type(error))
    for one in (made, pickle.loads(pickle.dumps(made))):
        assert isinstance(one, cupys)
        assert str(one).startswith("m")
        assert words in str(one)
    assert as_cupys(made) is made


def test_other_errors_stay() -> None:
    error = ArgumentValueError("m")
    assert as_cupys(error) is error


COPY = 'extern "C" __global__ void f(const float* x, float* y) { *y = *x; }'


class _Cupys:
    """A backend whose library has classes of errors of its own."""

    own_error = staticmethod(as_cupys)


def test_errors_have_cupys_classes_where_it_has_a_gpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = kerneltk.RawModule(code=COPY)
    for cupys, expected in ((False, NoSuchKernelError), (True, CUDADriverError)):
        if cupys:
            monkeypatch.setattr("kerneltk.backends.foreign_arrays.default_backend", _Cupys)
        with pytest.raises(expected, match="offers no kernel 'none'") as caught:
            module.get_function("none")
        assert isinstance(caught.value, NoSuchKernelError)
        assert isinstance(caught.value, ArgumentValueError)
    with pytest.raises(CUDADriverError, match="CUDA_ERROR_FILE_NOT_FOUND") as missing:
        kerneltk.RawModule(path=tmp_path / "missing.cubin")
    assert isinstance(missing.value, FileNotFoundError)


class _Making(pipeline.Ahead):
    own_error = staticmethod(as_cupys)  # type: ignore[assignment]


@pytest.mark.parametrize("code", ['#include "missing.h"\n' + COPY, COPY.replace("*y", "*z")])
def test_errors_that_are_explained_have_cupys_class(code: str) -> None:
    program = kerneltk.RawKernel(code, "f")._program
    with pytest.raises(cupy.cuda.compiler.CompileException) as caught:
        program._compiled(capabilities_of("cuda"), _Making("sm_90"))  # type: ignore[union-attr]
    assert isinstance(caught.value, CompileError)
    with pytest.raises(CompileError):
        program.build("sm_90")
