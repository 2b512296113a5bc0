"""What an intrinsic is: its call site, its name, what it does outside of kernels."""

from __future__ import annotations

import copy
import pickle

import pytest

from kerneltk import jit
from kerneltk.errors import UnsupportedError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import BoundMethod, CallSite, Intrinsic, Static
from kerneltk.jit.ir.types import PY_INT

WHOLE, FIRST, SECOND, KEY = (ir.Span(1, k, 1, k + 1) for k in range(4))
SITE = CallSite("f", (Static(1), Static(2)), {"c": Static(3)}, WHOLE, (FIRST, SECOND), {"c": KEY})


def test_where_an_argument_stands() -> None:
    assert [SITE.span_of(k) for k in range(3)] == [FIRST, SECOND, WHOLE]
    assert CallSite("f", (), {}, WHOLE, ()).span_of(0) == WHOLE


def test_where_the_arguments_of_parameters_stand() -> None:
    names = ("a", "b", "c", "d")
    assert SITE.places(names) == {"a": FIRST, "b": SECOND, "c": KEY, "d": WHOLE}
    assert SITE.places(()) == {}
    assert SITE.places(("a",)) == {"a": FIRST}


def test_an_intrinsic_is_called_in_kernels_only() -> None:
    known = jit.syncthreads
    assert repr(known) == "<intrinsic syncthreads>"
    assert (known.__name__, known.__qualname__) == ("syncthreads", "syncthreads")
    assert known.__doc__
    for call in (known, lambda: known(1), lambda: known(a=1)):
        with pytest.raises(UnsupportedError, match="'syncthreads' can only be called inside"):
            call()


def test_an_intrinsic_is_its_own_copy() -> None:
    for known in (jit.syncthreads, jit.cuda.atomic.cas, jit.cub.Max):
        assert copy.copy(known) is copy.deepcopy(known) is known
        assert pickle.loads(pickle.dumps(known)) is known


def test_one_without_a_public_name_is_not_pickled() -> None:
    own = Intrinsic("no_such_name", lambda low, site: Static(None))
    with pytest.raises(AttributeError):
        pickle.loads(pickle.dumps(own))


def test_constants_are_told_apart_by_identity() -> None:
    assert Static(1) != Static(1)
    method = BoundMethod(ir.Literal_(1, PY_INT, WHOLE), lambda low, site: Static(None), "copy")
    assert method.__name__ == "copy"
