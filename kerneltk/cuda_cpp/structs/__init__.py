"""The fields of structs in CUDA C++ source, and structured dtypes compared with them."""
