"""Definitions and specializations as CUDA C++."""
