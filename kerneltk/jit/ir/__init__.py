"""The typed IR: ``from kerneltk.jit import ir`` gives its nodes and operations."""

from kerneltk.jit.ir.nodes import *  # noqa: F403
from kerneltk.jit.ir.nodes import __all__ as __all__
from kerneltk.jit.ir.operations import Arithmetic as Arithmetic
from kerneltk.jit.ir.operations import Coordinate as Coordinate
from kerneltk.jit.ir.operations import Effect as Effect
from kerneltk.jit.ir.operations import Operation as Operation
