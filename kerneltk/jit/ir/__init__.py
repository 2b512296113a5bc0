"""The typed IR: ``from kerneltk.jit import ir`` gives its nodes."""

from kerneltk.jit.ir.nodes import *  # noqa: F403
from kerneltk.jit.ir.nodes import __all__ as __all__
