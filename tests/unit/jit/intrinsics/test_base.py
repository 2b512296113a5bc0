"""What an intrinsic is: its call site, its name, what it does outside of kernels."""

from __future__ import annotations

import pytest

from kerneltk import jit
from kerneltk.errors import UnsupportedError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import BoundMethod, Static
from kerneltk.jit.ir.types import PY_INT

WHOLE = ir.Span(1, 0, 1, 1)


def test_an_intrinsic_is_called_in_kernels_only() -> None:
    known = jit.syncthreads
    assert repr(known) == "<intrinsic syncthreads>"
    assert (known.__name__, known.__qualname__) == ("syncthreads", "syncthreads")
    assert known.__doc__
    for call in (known, lambda: known(1), lambda: known(a=1)):
        with pytest.raises(UnsupportedError, match="'syncthreads' can only be called inside"):
            call()


def test_constants_are_told_apart_by_identity() -> None:
    assert Static(1) != Static(1)
    method = BoundMethod(ir.Literal_(1, PY_INT, WHOLE), lambda low, site: Static(None), "copy")
    assert method.__name__ == "copy"
