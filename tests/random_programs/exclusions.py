"""What random programs leave out, or guard, each with the page that documents it."""

from __future__ import annotations

__all__ = ["EXCLUSIONS"]

# What it is, the page, and words of that page.
EXCLUSIONS: dict[str, tuple[str, str]] = {
    "a float beyond the range of the integer that it becomes": (
        "jit.md",
        "A float that becomes an integer which does not hold it is any number",
    ),
    "an integer divided by zero": (
        "jit.md",
        "`x // 0` and `x % 0` of integers are a `DivisionError` on the CPU, and undefined on a GPU",
    ),
    "a Python int that leaves 64 bits": (
        "jit.md",
        "Python's ints have 64 bits and must not leave them",
    ),
    "an integer raised to a negative power": (
        "numerics.md",
        "An integer to a negative integer power is 0",
    ),
    "an index beyond the end": ("jit.md", "Indices are not checked"),
    "the greater of two zeros": ("numerics.md", "the greater of two zeros"),
    "round to digits of huge numbers": ("numerics.md", "round to digits of huge numbers"),
    "the sign of a NaN": ("numerics.md", "the sign of a NaN"),
    "a product fused with a sum": ("numerics.md", "`--fmad=false` turns it off"),
    "powers of floats and complex numbers": ("numerics.md", "powers within 16"),
    "functions with rounding errors": (
        "numerics.md",
        "are within 4 units in the last place of NumPy's",
    ),
    "quotients, squares and signs of complex numbers": (
        "numerics.md",
        "complex quotients, powers, squares and signs beyond finite numbers",
    ),
    "functions of NumPy given bools": ("numerics.md", "A bool counts as an int in arithmetic"),
    "small integers in functions of real numbers": (
        "numerics.md",
        "computes integers of every size in float64",
    ),
    "the type of functions of math": (
        "numerics.md",
        "A function of `math` keeps the type of a float32",
    ),
    "a min or max of an integer and a Python int": (
        "jit.md",
        "`min(x, i)`, `i` a Python int that is no constant",
    ),
    "np.clip of three dtypes": (
        "numerics.md",
        "the dtypes of three arguments are promoted pairwise",
    ),
    "constants that do not fit": ("jit.md", "a constant that does not fit is an error"),
    "functions within a kernel that call others that use its variables": (
        "jit.md",
        "A function within a kernel that uses the kernel's variables is called by the kernel, by",
    ),
}
