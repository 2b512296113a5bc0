"""What the driver returned, as an exception."""

from __future__ import annotations

from typing import Any

import cupy
from cuda.bindings import driver

from kerneltk.errors import LaunchError


class CudaLaunchError(LaunchError, cupy.cuda.driver.CUDADriverError):  # type: ignore[misc]
    """The driver refused something, with this status. Also CuPy's ``CUDADriverError``."""

    def __init__(self, message: str, status: int) -> None:
        RuntimeError.__init__(self, message)
        self.status = status

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make it again; CuPy's class is made from the status alone."""
        return type(self), (str(self), self.status)


def check(result: Any, what: str) -> None:
    """Raise CudaLaunchError for a status that is not success; `what` says what failed."""
    if result != driver.CUresult.CUDA_SUCCESS:
        _, name = driver.cuGetErrorName(result)
        _, reason = driver.cuGetErrorString(result)
        raise CudaLaunchError(
            f"{what} failed: {(name or b'').decode()}, {(reason or b'unknown error').decode()}.",
            int(result),
        )
