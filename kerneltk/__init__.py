"""Custom GPU kernels in Python: from expressions, from CUDA C++, from restricted Python.

The same kernels run on CuPy arrays (GPU) and on NumPy arrays (all CPU cores).
"""

from kerneltk.arrays import ArraySpec
from kerneltk.elementwise import ElementwiseKernel
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BackendUnavailableError,
    CompileError,
    KernelToolkitError,
    LaunchError,
    ScalarOverflowError,
    SignatureError,
)
from kerneltk.units import ObjectCode, Target, TranslationUnit

__version__ = "0.1.0"

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "ArraySpec",
    "BackendUnavailableError",
    "CompileError",
    "ElementwiseKernel",
    "KernelToolkitError",
    "LaunchError",
    "ObjectCode",
    "ScalarOverflowError",
    "SignatureError",
    "Target",
    "TranslationUnit",
]
