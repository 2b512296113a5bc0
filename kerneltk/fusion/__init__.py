"""``fuse``: functions of NumPy and CuPy expressions as few kernels."""
