"""IR to CUDA C++."""
