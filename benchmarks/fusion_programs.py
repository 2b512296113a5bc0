"""Array programs for the benchmark of fusion: in NumPy's names, and as torch's users write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Program:
    """A program, as array code of NumPy's names and as torch's.

    Parameters
    ----------
    function : callable
        In NumPy's names, for kerneltk and CuPy.
    torch : callable
        Takes the module torch, returns the function.
    inputs : int
        Matrices that it takes.
    numexpr : str
        The same as an expression of numexpr, if it has one.
    row : bool
        Whether the first row of the first matrix is an argument too, the last one.
    """

    name: str
    function: Function
    torch: Callable[[Any], Function]
    inputs: int = 1
    numexpr: str = ""
    row: bool = False


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def _chain(x: Any, y: Any) -> Any:
    t = np.log(np.abs(x) + 1) * np.sqrt(np.abs(y) + 1) * np.exp(-y * y)
    return np.where(t > 0.5, t, x - y)


def _torch_chain(torch: Any) -> Function:
    def chain(x: Any, y: Any) -> Any:
        t = torch.log(x.abs() + 1) * torch.sqrt(y.abs() + 1) * torch.exp(-y * y)
        return torch.where(t > 0.5, t, x - y)

    return chain


def _softmax(axis: int) -> Function:
    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    return softmax


def _log_softmax(x: Any) -> Any:
    apart = x - x.max(axis=1, keepdims=True)
    return apart - np.log(np.exp(apart).sum(axis=1, keepdims=True))


def _rmsnorm(x: Any) -> Any:
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6)


def _layernorm(axis: int) -> Function:
    def layernorm(x: Any) -> Any:
        apart = x - x.mean(axis, keepdims=True)
        return apart / np.sqrt(x.var(axis, keepdims=True) + 1e-5)

    return layernorm


def _logsumexp(axis: int) -> Function:
    def logsumexp(x: Any) -> Any:
        top = x.max(axis, keepdims=True)
        return np.log(np.exp(x - top).sum(axis, keepdims=True)) + top

    return logsumexp


def _black_scholes(price: Any, strike: Any) -> Any:
    spread = 0.2
    d1 = (np.log((price + 0.5) / (strike + 0.5)) + 0.03) / spread
    d2 = d1 - spread
    below = [1 / (1 + np.exp(-1.5976 * d - 0.070566 * d**3)) for d in (d1, d2)]
    call = price * below[0] - strike * 0.97 * below[1]
    return call, call + strike * 0.97 - price


def _torch_black_scholes(torch: Any) -> Function:
    def black_scholes(price: Any, strike: Any) -> Any:
        spread = 0.2
        d1 = (torch.log((price + 0.5) / (strike + 0.5)) + 0.03) / spread
        d2 = d1 - spread
        below = [1 / (1 + torch.exp(-1.5976 * d - 0.070566 * d**3)) for d in (d1, d2)]
        call = price * below[0] - strike * 0.97 * below[1]
        return call, call + strike * 0.97 - price

    return black_scholes


def _laplace(x: Any) -> Any:
    return x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - 4 * x[1:-1, 1:-1]


def _cosine(x: Any, y: Any) -> Any:
    return (x * y).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))


def _minmax(x: Any) -> Any:
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    return (x - low) / (high - low)


def _standardise_all(x: Any) -> Any:
    return (x - x.mean()) / x.std()


def _at_largest(x: Any) -> Any:
    return np.where(x == x.max(axis=1, keepdims=True), x, 0)


PROGRAMS = (
    Program("2*x + 3*y - x*y", lambda x, y: 2 * x + 3 * y - x * y,
            lambda torch: lambda x, y: 2 * x + 3 * y - x * y, 2, "2*x + 3*y - x*y"),
    Program("gelu (tanh)", _gelu,
            lambda torch: lambda x: 0.5 * x * (
                1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3))),
            1, "0.5*x*(1 + tanh(0.7978845608*(x + 0.044715*x**3)))"),
    Program("x/(1+exp(-x))*y", lambda x, y: x / (1 + np.exp(-x)) * y,
            lambda torch: lambda x, y: x / (1 + torch.exp(-x)) * y, 2, "x/(1+exp(-x))*y"),
    Program("log(|x|+1)*sqrt(|y|+1)*exp(-y*y)+where", _chain, _torch_chain, 2),
    Program("maximum(x + row, 0*row)", lambda x, row: np.maximum(x + row, 0 * row),
            lambda torch: lambda x, row: torch.maximum(x + row, 0 * row), 1, "", True),
    Program("softmax, axis 1", _softmax(1), lambda torch: lambda x: torch.softmax(x, 1)),
    Program("softmax, axis 0", _softmax(0), lambda torch: lambda x: torch.softmax(x, 0)),
    Program("rmsnorm, axis 1", _rmsnorm,
            lambda torch: lambda x: x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-6)),
    Program("layernorm, axis 1", _layernorm(1),
            lambda torch: lambda x: torch.nn.functional.layer_norm(x, x.shape[1:])),
    Program("sum((x-y)*(x-y)), all", lambda x, y: ((x - y) * (x - y)).sum(),
            lambda torch: lambda x, y: ((x - y) * (x - y)).sum(), 2, "sum((x-y)*(x-y))"),
    Program("max|x|, mean|x|, mean(x*x)",
            lambda x: (np.abs(x).max(), np.abs(x).mean(), (x * x).mean()),
            lambda torch: lambda x: (x.abs().max(), x.abs().mean(), (x * x).mean())),
    Program("sum(x, 1) > 0.5", lambda x: x.sum(axis=1) > 0.5,
            lambda torch: lambda x: x.sum(1) > 0.5),
    Program("sqrt(mean(x*x, 0))", lambda x: np.sqrt((x * x).mean(axis=0)),
            lambda torch: lambda x: torch.sqrt((x * x).mean(0))),
    Program("logsumexp, axis 1", _logsumexp(1),
            lambda torch: lambda x: torch.logsumexp(x, 1, keepdim=True)),
    # More than the programs of the first comparison.
    Program("layernorm, axis 0", _layernorm(0),
            lambda torch: lambda x: (x - x.mean(0, keepdim=True)) / torch.sqrt(
                x.var(0, keepdim=True, correction=0) + 1e-5)),
    Program("logsumexp, axis 0", _logsumexp(0),
            lambda torch: lambda x: torch.logsumexp(x, 0, keepdim=True)),
    Program("log_softmax, axis 1", _log_softmax,
            lambda torch: lambda x: torch.log_softmax(x, 1)),
    Program("var, axis 1", lambda x: x.var(axis=1),
            lambda torch: lambda x: x.var(1, correction=0)),
    Program("var, axis 0", lambda x: x.var(axis=0),
            lambda torch: lambda x: x.var(0, correction=0)),
    Program("var, all", lambda x: x.var(), lambda torch: lambda x: x.var(correction=0)),
    Program("cosine of rows", _cosine,
            lambda torch: lambda x, y: (x * y).sum(1) / torch.sqrt(
                (x * x).sum(1) * (y * y).sum(1)), 2),
    Program("(x - min)/(max - min), axis 1", _minmax,
            lambda torch: lambda x: (x - x.amin(1, keepdim=True)) / (
                x.amax(1, keepdim=True) - x.amin(1, keepdim=True))),
    Program("(x - mean)/std, all", _standardise_all,
            lambda torch: lambda x: (x - x.mean()) / x.std(correction=0)),
    Program("where(x == max, x, 0), axis 1", _at_largest,
            lambda torch: lambda x: torch.where(x == x.amax(1, keepdim=True), x, 0)),
    Program("argmax, axis 1", lambda x: x.argmax(axis=1),
            lambda torch: lambda x: x.argmax(1)),
    Program("Black-Scholes, two results", _black_scholes, _torch_black_scholes, 2),
    Program("Laplace, five points", _laplace, lambda torch: _laplace),
    Program("x[::-1] + 2*x", lambda x: x[::-1] + 2 * x,
            lambda torch: lambda x: x.flip(0) + 2 * x),
    Program("clip(astype int32)", lambda x: np.clip(x * 255, 0, 255).astype(np.int32),
            lambda torch: lambda x: torch.clip(x * 255, 0, 255).to(torch.int32)),
)  # fmt: skip

BY_NAME = {program.name: program for program in PROGRAMS}

OF_ROWS = tuple(
    BY_NAME[name]
    for name in (
        "softmax, axis 1", "softmax, axis 0", "rmsnorm, axis 1", "layernorm, axis 1",
        "layernorm, axis 0", "logsumexp, axis 1", "logsumexp, axis 0", "var, axis 1",
        "argmax, axis 1",
    )
)  # fmt: skip

# Two columns and many rows: CuPy's own reductions of such arrays have a block's worth of threads.
NARROW = (
    Program("sqrt(sum(x*x, 1)), two columns", lambda x: np.sqrt((x * x).sum(axis=1)),
            lambda torch: lambda x: torch.sqrt((x * x).sum(1))),
    Program("sum(x*x), two columns", lambda x: (x * x).sum(),
            lambda torch: lambda x: (x * x).sum()),
    Program("sum(x*x, 0), two columns", lambda x: (x * x).sum(axis=0),
            lambda torch: lambda x: (x * x).sum(0)),
)  # fmt: skip

ON_HOST = tuple(
    BY_NAME[name]
    for name in (
        "2*x + 3*y - x*y", "gelu (tanh)", "x/(1+exp(-x))*y", "softmax, axis 1", "softmax, axis 0",
        "rmsnorm, axis 1", "layernorm, axis 1", "layernorm, axis 0", "logsumexp, axis 1",
        "sum((x-y)*(x-y)), all", "max|x|, mean|x|, mean(x*x)", "sqrt(mean(x*x, 0))",
    )
)  # fmt: skip
