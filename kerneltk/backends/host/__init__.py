"""Kernels on the cores of this machine: the compiler, the runtime and its thread pool."""
