"""Kernels from CUDA C++: from text, from ``.cu`` files and from compiled modules."""

from kerneltk.cuda_files import CudaFile, KernelTemplate, load
from kerneltk.raw_kernel import RawKernel
from kerneltk.raw_module import RawModule

__all__ = ["CudaFile", "KernelTemplate", "RawKernel", "RawModule", "load"]
