"""Products of matrices, linear algebra, averages and running totals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from tests.sampling import half, one_row_in
from tests.unit.fusion.array_support import arrays_of, check


@pytest.mark.parametrize("dtype", half(["u1", "?", "f2", "c8"]))
def test_products(dtype: str) -> None:
    def program(a: Any, b: Any, v: Any, t: Any) -> Any:
        return [
            a @ b, v @ b, a @ v, v @ v, t @ b, t @ t.mT, np.dot(a, b), np.dot(t, b),
            np.dot(t, t.mT),
            np.dot(a, 2), np.inner(a, a), np.inner(t, a), np.vdot(a, a), np.outer(a, v),
            np.add.outer(a, v), np.multiply.outer(v, v), np.maximum.outer(v, 1),
            np.tensordot(a, b, 1),
            np.tensordot(t, a, axes=([2], [1])), np.einsum("ij,jk->ki", a, b),
            np.einsum("ij->j", a),
            np.einsum("tij,jk", t, b), np.kron(v, v), np.kron(a, v), np.matmul(a, b) * 2,
        ]  # fmt: skip

    check(program, arrays_of(dtype, 3, 4), arrays_of(dtype, 4, 2), arrays_of(dtype, 4),
          arrays_of(dtype, 2, 3, 4), tolerance=4e-3)  # fmt: skip


def test_what_products_read_is_as_it_was() -> None:
    def program(x: Any) -> Any:
        y = x @ x
        x[0] = 0
        z = x @ x
        x += z
        e = np.exp(y - y.max(axis=-1, keepdims=True))
        return y, z, x @ y, e / e.sum(axis=-1, keepdims=True) @ x

    check(program, arrays_of(float, 4, 4))
    check(program, np.asfortranarray(arrays_of(float, 4, 4)))


def test_products_read_what_was_written_to_arguments() -> None:
    def program(x: Any) -> Any:
        x -= x.mean(axis=0)
        return x.T @ x

    check(program, arrays_of(float, 6, 5))
    kernels = kerneltk.fuse(program).explain(arrays_of(float, 6, 5)).kernels
    assert [kernel.kind for kernel in kernels] == ["reduction", "elementwise", "library"]


def test_results_go_to_out_and_in_place() -> None:
    def program(a: Any, out: Any) -> Any:
        np.matmul(a, a, out=out)
        a @= a
        np.cumsum(a, axis=1, out=out[:, ::-1])
        return out

    check(program, arrays_of(float, 3, 3), np.zeros((3, 3)))


def test_linear_algebra() -> None:
    def program(a: Any, v: Any) -> Any:
        return [
            np.linalg.inv(a), np.linalg.solve(a, v), np.linalg.solve(a, a), np.linalg.cholesky(a),
            np.linalg.det(a), np.cov(a), np.cov(a, rowvar=False, ddof=0), np.histogram(a, 5),
            np.histogram(a, 4, (0.5, 2), density=True), np.histogram(v, [0, 1, 1.5, 9], weights=v),
            np.histogram(a, np.sort(v), density=True)[0],
            np.linalg.norm(a, axis=1, keepdims=True), np.linalg.norm(a, 1),
            np.linalg.norm(a, np.inf),
            np.linalg.norm(v, 3), np.linalg.norm(v, -np.inf), np.linalg.norm(v, 0),
            np.linalg.norm(a, "fro"),
            np.average(a), np.average(a, axis=0, weights=v), np.average(a, weights=a),
            np.sort(a, axis=0),
            np.argsort(a), np.linalg.eigh(a), np.linalg.eigvalsh(a, UPLO="U"), np.linalg.slogdet(a),
            np.linalg.svd(a[:3], full_matrices=False), np.linalg.svd(a * 1j),
            np.linalg.qr(a[:, 1:]),
            np.linalg.svd(a, compute_uv=False), np.linalg.qr(a[:, 1:], "complete"),
            np.linalg.pinv(a[:2]), np.unravel_index(a.argmax(), a.shape),
        ]  # fmt: skip

    half = np.random.default_rng(1).random((4, 4))
    check(program, half @ half.T + np.eye(4), half[0] + 0.5, tolerance=1e-9)
    check(lambda x: (np.linalg.norm(x), np.linalg.norm(x, axis=0)), arrays_of("i4", 3, 4))
    check(lambda x: np.linalg.norm(x), arrays_of("c8", 3, 4), tolerance=1e-6)
    ends = (np.float64(0), np.float64(2))
    check(lambda x: np.histogram(x, 3, ends, True, x), arrays_of("f4", 30), tolerance=1e-6)


def test_fourier_transforms() -> None:
    def program(x: Any, n: Any) -> Any:
        found = np.fft.rfft(x)
        return [
            found, np.fft.irfft(found, n), np.fft.irfft(found), np.fft.fft(x, 3, axis=0),
            np.fft.ifft(x, norm="ortho"), np.fft.hfft(x), np.fft.ihfft(x), np.fft.fft2(x),
            np.fft.rfftn(x, (2, 5), (1, 0)), np.fft.irfft2(found), np.fft.ifftn(x, axes=(0,)),
            np.fft.fftshift(x), np.fft.ifftshift(x, 1) * np.fft.fftfreq(x.shape[1]),
            np.real(np.fft.ifft(np.fft.fft(x) * np.exp(-1j * np.arange(x.shape[1])))),
        ]  # fmt: skip

    for dtype in ("f4", "f8"):
        check(program, arrays_of(dtype, 4, 7), 7, tolerance=1e-5)


@pytest.mark.parametrize(
    ("dtype", "count"),
    one_row_in(2, [("?", 3), ("i1", 3), ("f8", 3), ("u4", 2100), ("f2", 2100), ("c8", 2100)]),
)
def test_running_totals(dtype: str, count: int) -> None:
    def program(x: Any) -> Any:
        found = [x.cumsum(axis=0), np.cumsum(x, axis=1), np.cumsum(x), np.cumprod(x[:, :3], axis=1),
                 np.add.accumulate(x), np.multiply.accumulate(x[:, :2], axis=1)]  # fmt: skip
        if x.dtype.kind not in "c":
            found += [np.maximum.accumulate(x, axis=1), np.minimum.accumulate(x)]
        return found

    x = arrays_of(dtype, 4, count)
    check(program, x, tolerance=2e-3 if dtype == "f2" else 1e-5)
    if dtype == "f8" and count == 3:
        x[1, 1] = np.nan
        check(program, x)


def test_many_running_totals_are_kernels() -> None:
    def program(x: Any) -> Any:
        return np.cumsum(x, axis=0), np.maximum.accumulate(x, axis=1)

    check(program, arrays_of(float, 60, 600))


def test_graphs_record_no_calls() -> None:
    x = np.ones((3, 3))
    product = kerneltk.fuse(lambda x: x @ x)
    refused = pytest.raises(kerneltk.UnsupportedError, match="A call of 'matmul' is no kernel")
    with refused, kerneltk.graph():
        product(x)


def test_calls_are_explained_and_have_no_source() -> None:
    product = kerneltk.fuse(lambda x: (x + 1) @ x)
    x = np.ones((3, 3), np.float32)
    assert [kernel.kind for kernel in product.explain(x).kernels] == ["elementwise", "library"]
    assert len(product.translation_units(x)) == 1
