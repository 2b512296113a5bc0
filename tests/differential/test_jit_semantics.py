"""What numbers mean in kernels: complex functions where they are special, dtypes of NumPy's
functions of Python's numbers, atomic extremes of NaN.
"""

from __future__ import annotations

import cmath
import itertools
import math
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from kerneltk.errors import KernelToolkitError
from kerneltk.jit import cuda

from ..random_programs.reference import defined

# -- cmath ----------------------------------------------------------------------------------------

PARTS = [0.0, 0.5, 1.0, 2.0, 1e-320, 1e-200, 1e-10, 20.5, 710.0, 1e16, 1e200, 1e308]
PARTS += [math.inf, np.finfo(float).max, math.pi / 2, 1 + 1e-12]
PARTS += [-part for part in PARTS] + [math.nan]
NUMPYS = {f"a{name}": f"arc{name}" for name in ("cos", "sin", "tan", "cosh", "sinh", "tanh")}
CIRCULAR = ("acos", "acosh", "asin", "asinh", "atan", "atanh")
CIRCULAR += ("cos", "cosh", "sin", "sinh", "tan", "tanh")
FUNCTIONS = (*CIRCULAR, "exp", "log", "log10", "sqrt")
# A later edition of C's standard names these, and Python's versions differ.
NEWER = {("tanh", 0.0, math.nan), ("tan", math.nan, 0.0), ("acosh", 0.0, math.nan)}

every_function = jit.rawkernel(
    defined(
        "def every_function(z, y):\n"
        "    i = jit.grid(1)\n"
        "    if i < z.size:\n"
        + "".join(f"        y[{k}, i] = cmath.{name}(z[i])\n" for k, name in enumerate(FUNCTIONS)),
        {"jit": jit, "cmath": cmath},
        "every_function",
    )
)  # fmt: skip


def is_newer(name: str, z: complex) -> bool:
    return any(
        (name, repr(abs(z.real)), repr(abs(z.imag))) == (other, repr(re), repr(im))
        for other, re, im in NEWER
    )


def reference(name: str, z: complex) -> tuple[complex, bool]:
    """Return a function's value, and whether Python has one; else it is NumPy's."""
    try:
        return getattr(cmath, name)(z), True
    except OverflowError:
        decided = True
    except ValueError:
        decided = False
    with np.errstate(all="ignore"):
        return complex(getattr(np, NUMPYS.get(name, name))(np.complex128(z))), decided


def agree(found: float, wanted: float, decided: bool, tolerance: float, least: float) -> bool:
    """Return whether a part is right; Python decides the signs of zeros and infinities."""
    if math.isnan(wanted) or math.isnan(found):
        return math.isnan(wanted) and math.isnan(found)
    if decided and math.copysign(1, found) != math.copysign(1, wanted):
        return False
    if math.isinf(wanted) or wanted == 0:
        return abs(found) == abs(wanted)
    return abs(found - wanted) <= tolerance * abs(wanted) + least


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("dtype", "tolerance", "least"), [("c16", 2**-50, 1e-322), ("c8", 2**-21, 3e-45)]
)
def test_cmath_at_every_kind_of_number(
    backend: Any, dtype: str, tolerance: float, least: float
) -> None:
    with np.errstate(over="ignore"):
        z = np.array([complex(*pair) for pair in itertools.product(PARTS, PARTS)]).astype(dtype)
    y = backend.asarray(np.zeros((len(FUNCTIONS), z.size), dtype))
    every_function[(z.size + 127) // 128, 128](backend.asarray(z), y)
    wrong = []
    for name, row in zip(FUNCTIONS, backend.asnumpy(y), strict=True):
        for argument, found in zip(z.tolist(), row.tolist(), strict=True):
            if is_newer(name, argument):
                continue
            value, decided = reference(name, argument)
            with np.errstate(over="ignore"):
                wanted = complex(np.dtype(dtype).type(value))
            parts = ((found.real, wanted.real), (found.imag, wanted.imag))
            if not all(agree(*pair, decided, tolerance, least) for pair in parts):
                wrong.append(f"{name}({argument}) = {found}, not {wanted}")
    assert not wrong


# -- NumPy's functions of Python's numbers --------------------------------------------------------

# m is the argument 3, w the argument 2.5: Python's.
STRONG = (
    "x + np.abs(100)", "x * np.sqrt(w)", "x * np.sqrt(2.5)", "x + np.minimum(1, 2)",
    "x + np.maximum(m, 2)", "x + np.where(x > 0, m, 2)", "x + np.clip(m, 0, 5)", "x * np.sin(m)",
    "x + np.add(m, 1)", "x + np.square(m)", "x + np.negative(m)", "x * np.floor(w)",
    "x * np.round(w, 1)", "x + np.round(1234, -2)", "x * np.copysign(w, -1)", "x + np.gcd(12, m)",
    "x + np.frexp(w)[1]", "x * np.frexp(2.5)[0]", "x * np.modf(w)[0]", "x * np.ldexp(w, 3)",
    "x + np.divmod(m, 2)[0]", "x * np.divide(1, 0)", "x + np.left_shift(m, 70)", "x * np.sign(w)",
    "np.add(2**62, 2**62)", "x * np.angle(w)", "x * np.degrees(w)", "x * np.heaviside(w, 1)",
    "x * np.float64(w)", "x + np.int32(m)", "x * F32", "x + I8", "x + I64", "x * F64",
    "x * math.sqrt(w) * math.sin(1)", "x * np.pi", "x * np.real(w)", "x * math.copysign(2, -1)",
    "x + math.frexp(w)[1]", "x + math.gcd(m, 6)", "x + math.floor(w)", "x * abs(w)",
    "x * round(w, 1)", "x * cmath.phase(w)", "I8 + U8", "I64 / I8", "x + (I8 << 9)",
    "np.add(True, True)", "np.multiply(x > 0, True)", "np.maximum(x > 0, False)", "np.abs(x > 0)",
    "np.square(x > 0)", "np.power(x > 0, True)",
)  # fmt: skip
NAMES = {
    "np": np, "math": math, "cmath": cmath, "F32": np.float32(1.5), "F64": np.float64(2.5),
    "I8": np.int8(100), "U8": np.uint8(200), "I64": np.int64(3),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32", "float64"])
def test_numpys_functions_give_dtypes_to_pythons_numbers(backend: Any, dtype: str) -> None:
    text = f"def f(x, w, m):\n    return ({', '.join(STRONG)},)\n"
    f = defined(text, dict(NAMES), "f")
    x = np.array([100, 1, 0, 3], dtype)
    results = jit.kernel(f)(backend.asarray(x), 2.5, 3)
    with np.errstate(all="ignore"):
        rows = [f(value, 2.5, 3) for value in x]
    for k, (expression, result) in enumerate(zip(STRONG, results, strict=True)):
        found, wanted = backend.asnumpy(result), np.array([row[k] for row in rows])
        assert found.dtype == wanted.dtype, expression
        np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=expression)


def test_a_power_of_pythons_ints_by_numpy_is_an_int64s() -> None:
    f = defined("def f(x, m):\n    return x + np.power(m, -1)\n", {"np": np}, "f")
    with pytest.raises(KernelToolkitError, match="cannot be raised to a negative power"):
        jit.kernel(f)(np.arange(3), 3)


# -- constants ------------------------------------------------------------------------------------

SCALARS = [
    True, 3, 2.5, np.bool_(True), np.int8(100), np.uint8(200), np.int32(-7), np.uint64(5),
    np.float32(2.25), np.float64(-0.5),
]  # fmt: skip
PAIRS = [(0, 3), (3, 3), (1, 4), (4, 1), (4, 5), (4, 6), (4, 7), (6, 7), (3, 4), (5, 3)]
PAIRS += [(2, 8), (3, 8), (5, 8), (6, 8), (8, 9)]
OPERATIONS = ("A + B", "A * B", "A / B", "A % B", "A < B", "np.maximum(A, B)", "math.atan2(A, B)")


@pytest.mark.parametrize("mode", ["numpy", "cuda"])
def test_constants_are_computed_as_arguments_are(backend: Any, mode: Any) -> None:
    """What is known when a kernel is compiled has the dtype and value of what is not, but in a
    choice between a Python int that is known to fit and a narrow integer.
    """
    rows = [(a, b, operation) for a, b in PAIRS for operation in OPERATIONS]
    rows = [row for row in rows if "maximum" not in row[2] or not {1, 4} <= {*row[:2]}]
    rows += [(a, b, "B << A % 9") for a, b in PAIRS if b < 7]
    rows += [(a, b, "A & B") for a, b in PAIRS if b < 7]
    known = [op.replace("A", f"K{a}").replace("B", f"K{b}") for a, b, op in rows]
    late = [op.replace("A", f"a{a}").replace("B", f"a{b}") for a, b, op in rows]
    late += ["-a3", "np.sqrt(a4)", "np.sqrt(a3)", "math.sqrt(a8)", "np.hypot(a4, a8)"]
    known += [
        text.replace("a3", "K3").replace("a4", "K4").replace("a8", "K8") for text in late[-5:]
    ]
    parameters = ", ".join(f"a{k}" for k in range(len(SCALARS)))
    f = defined(
        f"def f(x, {parameters}):\n    return (x, {', '.join(known + late)})\n",
        {"np": np, "math": math, **{f"K{k}": value for k, value in enumerate(SCALARS)}},
        "f",
    )
    _, *results = jit.kernel(mode=mode)(f)(backend.asarray(np.zeros(1)), *SCALARS)
    found = [backend.asnumpy(result) for result in results]
    for text, one, other in zip(known, found[: len(known)], found[len(known) :], strict=True):
        assert one.dtype == other.dtype, (text, one, other)
        np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=text)


# -- atomic extremes ------------------------------------------------------------------------------


@jit.rawkernel
def extremes(x, r):
    for k in range(len(x)):
        cuda.atomic.max(r, (0, k), x[k])
        cuda.atomic.min(r, (1, k), x[k])
        jit.atomic_nanmax(r, (2, k), x[k])
        jit.atomic_nanmin(r, (3, k), x[k])


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_atomic_extremes_of_nan(backend: Any, dtype: str) -> None:
    nan = math.nan
    x, start = np.array([[nan, 3, nan, 3, 5], [5, nan, nan, 5, 3]], dtype)
    r = backend.asarray(np.array([start] * 4))
    extremes[1, 1](backend.asarray(x), r)
    wanted = [
        [max(old, new) for old, new in zip(start, x, strict=True)],
        [min(old, new) for old, new in zip(start, x, strict=True)],
        np.fmax(start, x),
        np.fmin(start, x),
    ]
    np.testing.assert_array_equal(backend.asnumpy(r), np.array(wanted, dtype))
    assert np.isnan(backend.asnumpy(r)[0, 1])  # what the element held


# -- int64's neighbours ---------------------------------------------------------------------------


def test_a_python_int_beyond_int64_meets_what_holds_it() -> None:
    f = defined("def f(x):\n    return x + 2**63\n", {}, "f")
    assert jit.kernel(f)(np.zeros(1, np.uint64)).tolist() == [2**63]
    assert jit.kernel(f)(np.zeros(1, np.float32)).dtype == np.float32
    with pytest.raises(KernelToolkitError, match="does not fit 'int64'"):
        jit.kernel(f)(np.zeros(1, np.int64))


# -- GPUs -----------------------------------------------------------------------------------------


def test_the_functions_of_complex_numbers_compile_for_gpus() -> None:
    spec = kerneltk.ArraySpec.make
    z, rows = spec(np.complex64, (9,)), spec(np.complex64, (len(FUNCTIONS), 9))
    assert every_function.inspect(z, rows, target="compute_80")
