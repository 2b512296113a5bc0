"""The names and options of numba-cuda."""
