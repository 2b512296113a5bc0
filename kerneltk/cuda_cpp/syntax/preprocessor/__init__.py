"""Directives that are put into CUDA C++ source: numbers of lines, definitions of macros."""
