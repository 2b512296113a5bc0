"""Compiles the kernels that CuPy's library ``cupyx`` makes when it is imported, with the classes of
kerneltk in place of CuPy's, for sm_90 and without a GPU. A program of its own: it changes CuPy.
``python -m tests.unit.cupyx_kernels`` prints what does not compile, and how many kernels there are.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
import sys
import types
import warnings
from typing import Any

import cupy
import numpy as np

import kerneltk

LIBRARIES = ("cublas", "cusolver", "cusparse", "cutensor", "lapack")
# Type variables that stand for complex numbers or integers, by the letters that cupyx gives them.
KINDS = {"C": np.complex128, "Y": np.complex128, "I": np.int32, "S": np.int32}
OTHERS = (np.float64, np.int32, np.complex128, np.float32)


class Absent(types.ModuleType):
    """A module of CuPy's whose CUDA library need not be installed here."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def kernels_of_cupyx() -> list[tuple[str, Any]]:
    """Import all of cupyx, and return its kernels and modules by the name of the Python module."""
    made: list[tuple[str, Any]] = []

    def recording(base: Any) -> Any:
        class Recorded(base):  # type: ignore[misc]
            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **options)
                self.prepared = options.get("loop_prep", "")  # names parameters that are numbers
                made.append((sys._getframe(1).f_globals["__name__"], self))

        return Recorded

    for name in ("ElementwiseKernel", "ReductionKernel", "RawKernel", "RawModule"):
        for module in (cupy, cupy._core):
            setattr(module, name, recording(getattr(kerneltk, name)))
    for library in LIBRARIES:
        for package in ("cupy", "cupy.cuda", "cupyx", "cupy_backends.cuda.libs"):
            sys.modules[f"{package}.{library}"] = Absent(library)
            setattr(importlib.import_module(package), library, Absent(library))
    import cupyx

    for found in pkgutil.walk_packages(cupyx.__path__, "cupyx.", onerror=lambda _: None):
        try:
            importlib.import_module(found.name)
        except (ImportError, AttributeError) as error:  # of CUDA's libraries, and IPython
            print(f"not imported: {found.name}: {error}", file=sys.stderr)
    return made


def compile_for_sm90(kernel: Any) -> None:
    """Compile a kernel or a module; of a kernel for types that its type variables may have."""
    if hasattr(kernel, "compile_for"):
        kernel.compile_for("sm_90")
        return
    for other, shape in itertools.product(OTHERS, ((4,), (4, 4))):
        numbers = re.findall(r"\w+", kernel.prepared)
        specs: list[Any] = [
            2
            if p.name in numbers
            else kerneltk.ArraySpec.make(p.dtype or KINDS.get(p.ctype, other), shape)
            for p in (*kernel.in_params, *kernel.out_params)
        ]
        if hasattr(kernel, "reduce_expr"):
            specs = specs[: len(kernel.in_params)]
        all_raw = all(p.raw for p in (*kernel.in_params, *kernel.out_params))
        options: dict[str, Any] = {"size": 4} if all_raw else {}
        try:
            kernel.compile(*specs, target="sm_90", **options)
            return
        except (kerneltk.KernelToolkitError, TypeError) as error:
            failure = error
    raise failure


def main() -> None:
    warnings.simplefilter("ignore")
    made = kernels_of_cupyx()
    for module, kernel in made:
        try:
            compile_for_sm90(kernel)
        except Exception as error:
            print(f"{module} {getattr(kernel, 'name', '')}: {error!r}")
    print(len(made))


if __name__ == "__main__":
    main()
