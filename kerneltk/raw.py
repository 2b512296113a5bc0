"""Kernels from CUDA C++: from text, from ``.cu`` files and from compiled modules."""

from kerneltk.cuda_cpp.files import CudaFile, KernelTemplate, load
from kerneltk.cuda_cpp.kernel import RawKernel
from kerneltk.cuda_cpp.module import RawModule

__all__ = ["CudaFile", "KernelTemplate", "RawKernel", "RawModule", "load"]
