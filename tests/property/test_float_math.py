"""The float32 functions of host_float_math.hpp at all exponents and at special values."""

import warnings
from typing import Any

import numpy as np
import pytest

import kerneltk

# Errors in units in the last place, of denormal results in those of the smallest ones.
LIMITS = {
    "exp": 1.5, "exp2": 1.5, "exp10": 1.5, "expm1": 1.6, "log": 4, "log2": 4, "log10": 4,
    "log1p": 4, "sinh": 4, "cosh": 4, "sin": 2.5, "cos": 2.5, "asin": 4, "acos": 4,
    "atanh": 4, "cbrt": 4,
}  # fmt: skip
REFERENCES = {
    "exp10": lambda x: np.power(10.0, x),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atanh": np.arctanh,
}


def arguments(limit: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    tiny, least, largest = np.finfo(np.float32).tiny, np.float32(1e-45), np.finfo(np.float32).max
    special = np.float32(
        [0, 1, 2, 10, 1000, 0.5, np.inf, np.nan, tiny, tiny / 2, least, largest, 87.5, 88.722,
         88.73, 89.5, 103.5, 104, 126.5, 128, 149.5, 150, 37.9, 38.53, 45, 8000, 8001, 2e6, 1e8]
    )  # fmt: skip
    bits = rng.integers(0, 1 << 32, 60_000, dtype=np.uint32).view(np.float32)
    near = rng.uniform(-limit, limit, 60_000).astype(np.float32)
    return np.concatenate([special, -special, bits, near])


@pytest.mark.one_in(12)
@pytest.mark.parametrize("options", [(), ("--fmad=false",)], ids=["fma", "as-in-fuse"])
@pytest.mark.parametrize("name", LIMITS)
def test_every_exponent(name: str, options: tuple[str, ...]) -> None:
    x = np.concatenate([arguments(limit) for limit in (1, 3, 120, 1e5, 2e6)])
    kernel = kerneltk.ElementwiseKernel("float32 x", "float32 y", f"y = {name}(x)", options=options)
    found = kernel(x)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = REFERENCES.get(name, getattr(np, name, None))(x.astype(np.float64))
        expected = exact.astype(np.float32)
        unit = np.spacing(np.abs(expected)).astype(np.float64)
        error = np.abs(found.astype(np.float64) - exact) / unit
    finite = np.isfinite(expected) & np.isfinite(exact)
    # Infinities may begin at a neighbour of the largest number.
    edge = np.abs(exact) > 3.4028e38
    np.testing.assert_array_equal(found[~finite & ~edge], expected[~finite & ~edge])
    assert np.all(np.abs(found[edge & ~np.isnan(exact)]) > 3.4028e38)
    inside = finite & ~edge
    worst = int(np.argmax(np.where(inside, error, 0)))
    assert error[worst] < LIMITS[name], (x[worst], found[worst], exact[worst])
    zero = inside & (exact == 0)
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("options", [(), ("--fmad=false",)], ids=["fma", "as-in-fuse"])
def test_powers(options: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    numbers = [0, 1, 2, 3, 0.5, 1.5, np.inf, np.nan, 1e-45, 1e-39, 3.4e38, 1 + 2**-23, 1 - 2**-24,
               2**23 - 0.5, 2**23 + 1, 2**24, 2**25, 127, 149.5, 8000]  # fmt: skip
    special = [array.ravel() for array in np.meshgrid(*[[*numbers, *np.negative(numbers)]] * 2)]
    x, y = np.exp(rng.uniform(-104, 88, 100_000)), rng.uniform(-3, 3, 100_000)
    near = 1 + rng.normal(size=100_000) * 0.01, rng.normal(size=100_000) * 5000
    x, y = (np.concatenate(parts).astype("f") for parts in zip(special, (x, y), near, strict=True))
    kernel = kerneltk.ElementwiseKernel("T x, T y", "T z", "z = pow(x, y)", options=options)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
        expected, found = exact.astype(np.float32), kernel(x, y)
        near = np.abs(found - exact) < 0.6 * np.spacing(np.abs(expected)).astype(float)
    np.testing.assert_array_equal(found[~near], expected[~near])
    np.testing.assert_array_equal(np.signbit(found[exact == 0]), np.signbit(exact[exact == 0]))


def test_an_element_does_not_depend_on_its_neighbours() -> None:
    x = arguments(100.0)[:1003]
    kernel = kerneltk.ElementwiseKernel("float32 x", "float32 y", "y = exp(x) + expm1(x) + exp2(x)")
    together = kernel(x)
    alone = np.concatenate([kernel(x[i : i + 1].copy()) for i in range(len(x))])
    np.testing.assert_array_equal(together.view(np.uint32), alone.view(np.uint32))


def _sine(x: np.ndarray) -> np.ndarray:
    return np.sin(x) + np.exp(x)


def _chosen(x: np.ndarray) -> np.ndarray:
    if x > 0:
        return np.sin(x)
    return np.exp(x)


def _summed(x: np.ndarray) -> np.ndarray:
    y = x
    for _ in range(3):
        y = np.sin(y)
    return y


@pytest.mark.exhaustive
@pytest.mark.parametrize("make", [kerneltk.jit.kernel, kerneltk.vectorize])
def test_functions_in_python_without_branches_and_loops_include_them(make: Any) -> None:
    x = np.float32([0.5, 9000, -200, np.nan])
    for function, is_included in ((_sine, True), (_chosen, False), (_summed, False)):
        kernel = make(function)
        with np.errstate(all="ignore"):
            wanted = np.float32([function(value) for value in x])
        np.testing.assert_allclose(kernel(x), wanted, rtol=1e-6, atol=1e-7)
        (source,) = kernel.cached_codes.values()
        assert ("host_float_math.hpp" in source) == is_included, function


def test_fused_functions_include_them() -> None:
    x = np.float32([0.5, 9000, -200, np.nan, 50])
    for function in (_sine, lambda x: x**2.5):
        fused = kerneltk.fuse(function)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(fused(x), function(x), rtol=1e-6, atol=1e-7)
        for backend in ("host", "cuda"):
            (unit,) = fused.translation_units(x, backend=backend)
            assert ("host_float_math.hpp" in unit.source) == (backend == "host")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_of_masked_values(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    edges = [0, -0.0, 88.7, 709.78, 709.79, np.inf, -708.3, -708.5, -744.5, -745.1, -745.8, -745.9,
             -1e9, -np.inf, np.nan, 1e-310, -104]  # fmt: skip
    x = np.concatenate([edges, rng.uniform(-760, 760, 4000), rng.uniform(-1, 1, 4000)])
    x, mask = x.astype(dtype), rng.random(len(x)) < 0.3

    def chosen(x: Any, mask: Any) -> Any:
        return np.exp(np.where(mask, -np.inf, x))

    def softmax(x: Any, mask: Any) -> Any:
        e = np.exp(np.where(mask, -1e9, x) - 3)
        return e / e.sum(-1, keepdims=True)

    rows = rng.normal(size=(40, 70)).astype(dtype), rng.random((40, 70)) < 0.3
    tolerance = 4 * np.finfo(dtype).eps
    for function, arguments in ((chosen, (x, mask)), (softmax, rows)):
        fused = kerneltk.fuse(function)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                fused(*arguments), function(*arguments), rtol=tolerance, atol=1e-323
            )
        (unit,) = fused.translation_units(*arguments, backend="host")
        assert "float_math::exp(" in unit.source
    alone = kerneltk.fuse(lambda x: np.exp(x - x.max(-1, keepdims=True)))
    (unit,) = alone.translation_units(rows[0], backend="host")
    assert "float_math" not in unit.source


def test_the_library_s_declarations_and_addresses() -> None:
    kernel = kerneltk.ElementwiseKernel(
        "float32 x",
        "float32 y, float32 z",
        "float (*f)(float) = ::expf; y = f(x); z = std::exp(x) + expf(x)",
        preamble="#include <cmath>",
    )
    y, z = kernel(np.float32([0, 1]))
    np.testing.assert_allclose(y, np.exp([0, 1]), rtol=1e-6)
    np.testing.assert_allclose(z, 2 * np.exp([0, 1]), rtol=1e-6)


@pytest.mark.exhaustive
def test_fast_math_keeps_infinities_and_nan() -> None:
    x = np.float32([np.nan, np.inf, 88.7, 10000, -104, 0.5, np.inf])
    for name in ("exp", "exp2", "expm1", "log", "sinh", "cosh", "sin", "asin", "cbrt"):
        body = f"y = {name}(x)"
        ordinary = kerneltk.ElementwiseKernel("float32 x", "float32 y", body)
        fast = kerneltk.ElementwiseKernel(
            "float32 x", "float32 y", body, options=("--use_fast_math",)
        )
        np.testing.assert_allclose(fast(x), ordinary(x), rtol=1e-5, err_msg=name)
