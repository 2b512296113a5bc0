"""Custom GPU kernels in Python: from expressions, from CUDA C++, from restricted Python.

The same kernels run on CuPy arrays (GPU) and on NumPy arrays (all CPU cores).
"""

import os as _os
import time as _time
from importlib import import_module
from typing import TYPE_CHECKING, Any

# For `cache.derived`: when any other file of the package is read, and where from.
_import_began, _home = _time.time_ns(), _os.stat(__path__[0])

if TYPE_CHECKING:
    from kerneltk import jit, textures
    from kerneltk.backends.disassembly import disassemble
    from kerneltk.core.arrays import ArraySpec
    from kerneltk.core.artifacts import ObjectCode, Target, TranslationUnit
    from kerneltk.cuda_cpp.kernel import raw_checks
    from kerneltk.elementwise import ElementwiseKernel
    from kerneltk.errors import (
        ArgumentTypeError,
        ArgumentValueError,
        AxisError,
        BackendUnavailableError,
        CompileError,
        DivisionError,
        KernelToolkitError,
        LaunchError,
        NoSuchAttributeError,
        NoSuchKernelError,
        ScalarOverflowError,
        SignatureError,
        SourceError,
        TypingError,
        UnsupportedError,
    )
    from kerneltk.fusion.decorator import fuse
    from kerneltk.graphs import Graph, graph
    from kerneltk.jit.frontends.vectorize import vectorize
    from kerneltk.operators.jax_op import jax_op
    from kerneltk.operators.torch_op import torch_op
    from kerneltk.raw import RawKernel, RawModule, load
    from kerneltk.reduction import ReductionKernel
    from kerneltk.textures import surface, texture
    from kerneltk.tools.report import report

__version__ = "0.1.0"

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "ArraySpec",
    "AxisError",
    "BackendUnavailableError",
    "CompileError",
    "DivisionError",
    "ElementwiseKernel",
    "Graph",
    "KernelToolkitError",
    "LaunchError",
    "NoSuchAttributeError",
    "NoSuchKernelError",
    "ObjectCode",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "ScalarOverflowError",
    "SignatureError",
    "SourceError",
    "Target",
    "TranslationUnit",
    "TypingError",
    "UnsupportedError",
    "disassemble",
    "fuse",
    "graph",
    "jax_op",
    "jit",
    "load",
    "raw_checks",
    "report",
    "surface",
    "texture",
    "textures",
    "torch_op",
    "vectorize",
]

# A module is loaded when one of its names is first used: importing the package costs next to
# nothing for programs that only may need a kernel.
_HOMES = {
    "ArraySpec": "core.arrays",
    "ElementwiseKernel": "elementwise",
    "Graph": "graphs",
    "ObjectCode": "core.artifacts",
    "RawKernel": "raw",
    "RawModule": "raw",
    "ReductionKernel": "reduction",
    "Target": "core.artifacts",
    "TranslationUnit": "core.artifacts",
    "disassemble": "backends.disassembly",
    "fuse": "fusion.decorator",
    "graph": "graphs",
    "jax_op": "operators.jax_op",
    "load": "raw",
    "raw_checks": "cuda_cpp.kernel",
    "report": "tools.report",
    "surface": "textures",
    "texture": "textures",
    "torch_op": "operators.torch_op",
    "vectorize": "jit.frontends.vectorize",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'kerneltk' has no attribute '{name}'")
    if name in ("jit", "textures"):
        return import_module(f"kerneltk.{name}")
    value = getattr(import_module(f"kerneltk.{_HOMES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
