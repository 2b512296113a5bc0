"""What is made of CUDA C++ source for the compiler that gets it."""
