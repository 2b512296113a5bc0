"""Kernels in CUDA C++: what is behind `kerneltk.raw`."""
