"""The driver's statuses as exceptions, and errors with CuPy's classes."""

from __future__ import annotations

from typing import Any

import cupy
from cuda.bindings import driver
from cupy.cuda.compiler import CompileException

from kerneltk.core.artifacts import TranslationUnit
from kerneltk.errors import (
    CompileError,
    KernelToolkitError,
    LaunchError,
    NoSuchKernelError,
    SourceNotFoundError,
)


class _DriverError(cupy.cuda.driver.CUDADriverError):  # type: ignore[misc]
    """CuPy's ``CUDADriverError`` with a message of ours."""

    def __init__(self, message: str, status: int) -> None:
        RuntimeError.__init__(self, message)
        self.status = status

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make it again; CuPy's class is made from the status alone."""
        return type(self), (str(self), self.status)


class CudaLaunchError(_DriverError, LaunchError):
    """The driver refused something, with this status. Also CuPy's ``CUDADriverError``."""


class CudaNoSuchKernelError(_DriverError, NoSuchKernelError):
    """A module has no kernel of that name. Also CuPy's ``CUDADriverError``."""


class CudaSourceNotFoundError(_DriverError, SourceNotFoundError):
    """The file of a module does not exist. Also CuPy's ``CUDADriverError``."""


class CudaCompileError(CompileError, CompileException):  # type: ignore[misc]
    """A compiler for GPUs refused a translation unit. Also CuPy's ``CompileException``."""

    def __init__(self, error: CompileError, unit: TranslationUnit) -> None:
        CompileException.__init__(
            self, str(error), unit.source, unit.name or unit.entry, unit.options, unit.compiler
        )
        CompileError.__init__(self, str(error), error.source, error.log)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make it again; its two bases disagree."""
        unit = TranslationUnit(
            "cuda", self.source, "", self.options, name=self.name, compiler=self.backend
        )
        return type(self), (CompileError(str(self), self.source, self.log), unit)


# Classes of errors with CuPy's beside them: the status and the words that CuPy's error has.
_AS_DRIVERS = (
    (NoSuchKernelError, CudaNoSuchKernelError, "NOT_FOUND", "named symbol not found"),
    (SourceNotFoundError, CudaSourceNotFoundError, "FILE_NOT_FOUND", "file not found"),
)


def as_cupys(error: KernelToolkitError) -> KernelToolkitError:
    """Return an error, of a class that is CuPy's as well where CuPy has one for its cause."""
    if isinstance(error, CompileException | cupy.cuda.driver.CUDADriverError):
        return error  # type: ignore[no-any-return]
    if isinstance(error, CompileError):
        return CudaCompileError(error, TranslationUnit("cuda", error.source, ""))
    for kind, own, status, words in _AS_DRIVERS:
        if isinstance(error, kind):
            name = f"CUDA_ERROR_{status}"
            message = f"{error}\n  The driver's name for it: {name}: {words}."
            made: KernelToolkitError = own(message, int(getattr(driver.CUresult, name)))
            return made
    return error


def check(result: Any, what: str) -> None:
    """Raise CudaLaunchError for a status that is not success; `what` says what failed."""
    if result != driver.CUresult.CUDA_SUCCESS:
        _, name = driver.cuGetErrorName(result)
        _, reason = driver.cuGetErrorString(result)
        raise CudaLaunchError(
            f"{what} failed: {(name or b'').decode()}, {(reason or b'unknown error').decode()}.",
            int(result),
        )
