"""Ahead of time: one kernel compiled for three architectures, on a machine without a GPU.

Run with ``python examples/ahead_of_time.py``. With ``python examples/ahead_of_time.py cupy`` the
kernel is also launched on a GPU.
"""

import importlib
import sys

import kerneltk
from kerneltk import ArraySpec

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")

blend = kerneltk.ElementwiseKernel(
    "T top, T bottom, float32 alpha",
    "T mixed",
    "mixed = alpha * top + (1 - alpha) * bottom",
    "blend",
)

# Arrays are described, not made; a number is described by its type.
plane = ArraySpec.make("float32", (2160, 3840))
unit = blend.translation_unit(plane, plane, float)
codes = {target: blend.compile(plane, plane, float, target=target) for target in ARCHITECTURES}

print(f"ahead_of_time: {unit.entry}, {len(unit.source.splitlines())} lines of CUDA C++")
print(unit.source)
for target, code in codes.items():
    print(f"{target:8} {code.kind} {len(code.code):6} bytes, by {code.target.compiler}")

# The text holds the operation as it was written, and one entry point.
assert "mixed = alpha * top + (1 - alpha) * bottom" in unit.source
assert unit.source.count("__global__") == 1
# Each code is an ELF file for its own architecture, and survives a file.
assert [code.target.architecture for code in codes.values()] == list(ARCHITECTURES)
assert all(code.code.startswith(b"\x7fELF") for code in codes.values())
assert len({code.code for code in codes.values()}) == len(ARCHITECTURES)
assert all(kerneltk.ObjectCode.from_bytes(code.to_bytes()) == code for code in codes.values())
# Other extents have the same text, another layout has another one.
smaller = ArraySpec.make("float32", (1080, 1920))
assert blend.translation_unit(smaller, smaller, float) == unit
turned = ArraySpec.make("float32", (2160, 3840), order="F")
assert blend.translation_unit(turned, plane, float) != unit

# And the same kernel, called.
top = xp.full((20, 30), 8, xp.float32)
xp.testing.assert_array_equal(blend(top, xp.zeros_like(top), 0.25), xp.full_like(top, 2))
