"""``@cuda.jit``: its forms, its launches, and arguments that are turned into the signature's."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.core.settings import get_settings
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ScalarOverflowError,
    SignatureError,
    TypingError,
)
from kerneltk.jit.launch.launcher import JitDispatcher
from kerneltk.jit.numba.kernel import jit


def store(x, a):
    x[0] = a


class Unwrap:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def prepare_args(self, ty: Any, value: Any, stream: Any, retr: list[Any]) -> Any:
        if isinstance(value, dict):
            array = value["x"]
            retr.append(lambda: self.seen.append(array[0]))
            return ty, array
        return ty, value


def test_extensions_prepare_arguments() -> None:
    unwrap = Unwrap()
    for kernel in (jit(extensions=[unwrap])(store), jit("void(f8[:], f8)")(store)):
        if not kernel.extensions:
            kernel[1, 1](np.zeros(1), 3)  # what is configured already has none
            kernel.extensions.append(unwrap)
        kernel[1, 1]({"x": np.zeros(1)}, 3)
        kernel.forall(1)({"x": np.zeros(1)}, a=4)
    assert unwrap.seen == [3, 4, 3, 4]


def test_what_a_kernel_of_numba_has() -> None:
    kernel = jit(store)
    assert kernel.specialize(np.zeros(1), 3) is kernel
    with pytest.raises(TypingError):
        kernel.specialize(3, 3)
    assert kernel.overloads["void(float64[:], int32)"].max_cooperative_grid_blocks((8, 8)) > 0
    with pytest.raises(TypeError):
        list(kernel.overloads)
    with pytest.raises(AttributeError, match=r"no attribute 'inspect_asm'[^$]*target=.compute_90"):
        kernel.inspect_asm  # noqa: B018
    with pytest.raises(AttributeError, match=r"Hint: .*explain\(\*args\)' has registers"):
        kernel.get_regs_per_thread  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'other'$"):
        kernel.other  # noqa: B018


def test_decorators_that_are_refused() -> None:
    with pytest.raises(SignatureError, match="'word' is no type"):
        jit("void(word)")(store)
    with pytest.raises(ArgumentTypeError, match="has 1 parameters, and the function has 2"):
        jit("void(int32)")(store)
    with pytest.raises(ArgumentTypeError, match="has no option 'any'"):
        jit(any=1)(store)
    with pytest.raises(ArgumentTypeError):
        jit(3)


def test_a_kernel_is_not_called_without_a_grid() -> None:
    with pytest.raises(ArgumentValueError, match="Kernel 'store' is called without a grid"):
        jit(store)(1, 2)


@pytest.mark.parametrize("configuration", [1, (1,), (1, 2, 0, 0, 0), None, "1"])
def test_configurations_that_are_refused(configuration: Any) -> None:
    with pytest.raises(ArgumentValueError, match=r"is launched as 'store\[griddim, blockdim\]"):
        jit(store)[configuration]


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        (2.0, 3, r"griddim must be a sequence of integers, got \[2.0\]"),
        (2, [3.0], r"blockdim must be a sequence of integers, got \[3.0\]"),
        ((1, 2, 3, 4), 5, r"griddim must be a sequence of 1, 2 or 3 integers, got \[1, 2, 3, 4\]"),
    ],
)
def test_grids_that_are_refused_in_numbas_words(grid: Any, block: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        jit(store)[grid, block]


def test_arguments_become_the_signatures_or_are_refused() -> None:
    kernel = jit("void(float32[:], int8)")(store)
    x = np.zeros(1, np.float32)
    array, number = kernel.adapted((x, 300))
    assert array is x
    assert (type(number), number) == (np.int8, 44)
    assert jit(store).adapted((1, 2)) == (1, 2)
    several = jit(["void(float32[:], int8)", "void(float64[:], int8)"])(store)
    assert several.adapted((1, 2)) == (1, 2)
    with pytest.raises(ArgumentTypeError) as caught:
        kernel.adapted((np.zeros((2, 2)), 1))
    words = "is 'float32[:]' in the signature, and an array of dtype 'float64' with 2 dimensions"
    assert words in str(caught.value)
    with pytest.raises(ArgumentTypeError, match="is 'int8' in the signature, and an object"):
        kernel.adapted((np.zeros(2, np.float32), "1"))


def _entered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls from now on that no launcher knows."""
    found: list[str] = []
    own = JitDispatcher._described
    monkeypatch.setattr(
        JitDispatcher, "_described", lambda *given: (found.append(given[0].name), own(*given))[1]
    )
    return found


@pytest.mark.parametrize("launcher", ["python", "compiled"])
def test_repeated_calls_with_a_signature_are_the_launchers(
    launcher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELTK_LAUNCHER", launcher)
    get_settings.cache_clear()
    names = ("int8", "uint16", "int64", "float32", "float64", "boolean", "complex64", "uint64")

    def stored(out, a, b, c, d, e, f, g, h):
        out[0], out[1], out[2], out[3], out[4], out[5] = a, b, c, d, e, f
        out[6], out[7] = g.real + 100 * g.imag, h % 1000

    kernel = jit(f"void(float64[:], {', '.join(names)})")(stored)
    calls: list[tuple[Any, ...]] = [
        (1, 2, 3, 4.1, 5, True, 6 + 2j, 7),
        (300, -1, 2**63 + 5, 1e300, 2**60 + 1, False, 1.5 + 2j, 2**64 - 1),
        (1.9, True, -2.5, 7, np.float32(0.1), 5, 8.5, np.int8(-3)),
    ]
    for numbers in (*calls, *calls):
        out = np.zeros(8)
        with np.errstate(all="ignore"):
            kinds = [np.dtype(jit_name if jit_name != "boolean" else "bool") for jit_name in names]
            wanted = [np.asarray(x).astype(k)[()] for x, k in zip(numbers, kinds, strict=True)]
        kernel[1, 1](out, *numbers)
        z = wanted[6]
        expected = [float(w) for w in wanted[:6]]
        np.testing.assert_array_equal(out[:6], expected)
        np.testing.assert_allclose(out[6:], [z.real + 100 * z.imag, int(wanted[7]) % 1000])
    kernel[1, 1](out, *calls[0])
    entered = _entered(monkeypatch)
    for _ in range(2000):
        kernel[1, 1](out, *calls[0])
    kernel[1, 1](out, *calls[1])  # of the same types
    assert entered == []
    with pytest.raises(ScalarOverflowError, match="more than 64 bits"):
        kernel[1, 1](out, 2**64, *calls[0][1:])
    with pytest.raises(ArgumentTypeError, match="is 'int8' in the signature"):
        kernel[1, 1](out, 1j, *calls[0][1:])
    with pytest.raises(ArgumentTypeError, match=r"is 'float64\[:\]' in the signature"):
        kernel[1, 1](out.astype(np.float32), *calls[0])
    with pytest.raises(ArgumentTypeError, match=r"is 'float64\[:\]' in the signature"):
        kernel[1, 1](out.reshape(2, 4), *calls[0])
    get_settings.cache_clear()


def test_uint64_and_signed_integers_in_one_variable_are_float64() -> None:
    @jit
    def mixed(x):
        h = np.uint64(7)
        for k in range(2):
            h ^= x[k]

    with pytest.raises(TypingError, match=r"'float64' and 'int32'[^$]*np\.uint64\(x\)"):
        mixed[1, 1](np.zeros(2, np.int32))
