"""Arguments of kernels in Python as bytes, and their launchers."""
