"""CuPy arrays on GPUs."""
