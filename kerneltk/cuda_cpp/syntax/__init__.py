"""What CUDA C++ source declares, and what is rewritten in it for CPU cores."""
