"""ElementwiseKernel against NumPy, on every backend; and the same cases compiled for CUDA."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kerneltk.core.artifacts import TranslationUnit

from ..joint_units import JointCases
from ..sampling import parameters, samples_of, thinned, without_numbers
from .cases import CASES
from .support import Case, check


def test_every_case_has_its_own_name() -> None:
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []


def call_of(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the arguments of a case's call; None if it launches nothing."""
    arguments = case.make()
    kernel = case.kernel
    if len(arguments) not in (kernel.nin, kernel.nargs):
        arguments += tuple(
            case.options.get(parameter.name, parameter.default)
            for parameter in kernel.in_params[len(arguments) :]
        )
    if case.size == 0 or any(getattr(argument, "size", 1) == 0 for argument in arguments):
        return None  # a loop without elements
    return arguments, {"size": case.size, "block_size": case.options.get("block_size")}


def units_of(case: Case, backend: Any) -> dict[str, TranslationUnit]:
    call = call_of(case)
    if call is None:
        return {}
    arguments, how = call
    return {"call": case.kernel.translation_unit(*arguments, backend=backend, **how)}


SAMPLES = thinned(thinned(samples_of(CASES, without_numbers)))
JOINT = JointCases(SAMPLES, units_of)
# NVRTC reads the same templates in each: every second one will do.
BY_NVRTC = thinned(SAMPLES)
JOINT_BY_NVRTC = JointCases(BY_NVRTC, units_of)


@pytest.mark.parametrize("case", parameters(SAMPLES))
def test_case(backend: Any, case: Case, once: Any) -> None:
    if backend.name == "host":
        JOINT.prepare(case, "call", "host", once)
    check(backend, case)


@pytest.mark.parametrize("case", parameters(BY_NVRTC))
def test_case_compiles_for_cuda(case: Case, once: Any) -> None:
    call = call_of(case)
    if call is None:
        return
    JOINT_BY_NVRTC.prepare(case, "call", "cuda", once)
    arguments, how = call
    code = case.kernel.compile(*arguments, target="sm_90", **how)
    assert code.kind == "cubin"
    assert code.entry.encode() in code.code
