from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def torch() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch's own modules do at import
        return pytest.importorskip("torch", minversion="2.5")


@pytest.fixture(scope="session")
def jax() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("jax", minversion="0.4.34")


@pytest.fixture
def register(torch: Any) -> Callable[..., Any]:
    """`torch_op` with a name that no other operator has."""
    from kerneltk import torch_op

    return lambda kernel, **options: torch_op(
        kernel, f"kerneltk_tests::op{next(_NUMBERS)}", **options
    )
