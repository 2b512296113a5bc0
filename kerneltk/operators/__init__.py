"""Kernels as operators of other libraries: of torch, and of JAX."""
