"""ElementwiseKernel against NumPy, on every backend; and the same cases compiled for CUDA."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from .cases import CASES
from .support import Case, check


def test_every_case_has_its_own_name() -> None:
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(backend: Any, case: Case) -> None:
    check(backend, case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_compiles_for_cuda(case: Case) -> None:
    arguments = case.make()
    kernel = case.kernel
    if len(arguments) not in (kernel.nin, kernel.nargs):
        arguments += tuple(
            case.options.get(parameter.name, parameter.default)
            for parameter in kernel.in_params[len(arguments) :]
        )
    if case.size == 0 or any(getattr(argument, "size", 1) == 0 for argument in arguments):
        return  # a loop without elements launches nothing
    code = kernel.compile(
        *arguments, target="sm_90", size=case.size, block_size=case.options.get("block_size")
    )
    assert code.kind == "cubin"
    assert code.code
