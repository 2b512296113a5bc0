"""What turns a translation unit into something that runs: a package a backend, which registers
itself.
"""

from kerneltk.backends import cuda, host

__all__ = ["cuda", "host"]
