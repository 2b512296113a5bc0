"""Compile errors are shown in the user's own text, whichever compiler refuses it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, CompileError, ElementwiseKernel, RawKernel
from kerneltk.errors import KernelToolkitError

from ..sampling import half
from .mistakes import Mistake, check

X = np.arange(4, dtype=np.float32)


MISTAKES = {
    "undefined name": Mistake(
        {"operation": "y = x + foo"}, "operation", "y = x + foo", ("foo",),
        'identifier "foo" is undefined', "'foo' was not declared in this scope",
    ),
    "extension": Mistake(
        {"operation": "T t = x;\ny = _Float16(t)"}, "operation:2", "y = _Float16(t)", ("_Float16",),
        'identifier "_Float16" is undefined', "NVRTC has no '_Float16'",
    ),
    "tab": Mistake(
        {"operation": "\ty = x + foo"}, "operation", " y = x + foo", ("foo",),
        'identifier "foo" is undefined', "'foo' was not declared in this scope",
    ),
    "similar name": Mistake(
        {"operation": "y = xs + a"}, "operation", "y = xs + a", ("xs",),
        'identifier "xs" is undefined', "'xs' was not declared in this scope", "did you mean 'x'?",
    ),
    "end of several lines": Mistake(
        {"operation": "T t = x;\n  y = t *\n\n"}, "operation:2", "  y = t *", ("y = t *",),
        "expected an expression", "expected primary-expression before ';' token",
    ),
    "unclosed parenthesis": Mistake(
        {"operation": "y = (x + a;"}, "operation", "y = (x + a;", ("(",),
        'expected a ")"', "expected ')' before ';' token", label="this is never closed",
    ),
    "input is constant": Mistake(
        {"operation": "y = 1; x = 3"}, "operation", "y = 1; x = 3", ("x", "="),
        "expression must be a modifiable lvalue", "assignment of read-only reference 'x'",
        "an input is const: declare it as an output, or as '_non_const'.",
    ),
    "preamble": Mistake(
        {"operation": "y = f(x)", "preamble": "__device__ T f(T v) {\n    return v + oops;\n}"},
        "preamble:2", "    return v + oops;", ("oops",),
        'identifier "oops" is undefined', "'oops' was not declared in this scope",
    ),
    "loop_prep": Mistake(
        {"operation": "y = x", "loop_prep": "T b = a * zzz;"}, "loop_prep", "T b = a * zzz;",
        ("zzz",), 'identifier "zzz" is undefined', "'zzz' was not declared in this scope",
    ),
}  # fmt: skip


def refused(texts: dict[str, Any], where: str) -> CompileError:
    kernel = ElementwiseKernel("T x, T a", "T y", name="k", **texts)
    calls: dict[str, Callable[[], object]] = {
        "call": lambda: kernel(X, 2),
        "host": lambda: kernel.compile(X, 2, target="host"),
        "nvrtc": lambda: kernel.compile(ArraySpec.make("f4", 4), 2, target="sm_90"),
    }
    with pytest.raises(CompileError) as caught:
        calls[where]()
    return caught.value


@pytest.mark.parametrize("where", [*half(["call", "host"]), "nvrtc"])
@pytest.mark.parametrize("name", MISTAKES)
def test_message(name: str, where: str) -> None:
    mistake = MISTAKES[name]
    message = str(refused(mistake.texts, where))
    check(mistake, message, where)
    assert [f"  Hint: {mistake.hint}"] * bool(mistake.hint) == message.split("\n")[3:4]


@pytest.mark.parametrize("where", ["call", "nvrtc"])
def test_error_has_the_source_and_the_log(where: str) -> None:
    error = refused({"operation": "y = x + foo"}, where)
    assert "y = x + foo" in error.source
    assert "_kt_arguments" in error.source
    assert "foo" in error.log


@pytest.mark.parametrize("where", ["call", "nvrtc"])
def test_several_errors_are_shown_each_with_its_place(where: str) -> None:
    message = str(refused({"operation": "y = aa;\ny = bb;\ny = cc;\ny = dd"}, where))
    shown = [line.strip() for line in message.split("\n") if line.startswith("  operation:")]
    assert shown == ["operation:1: y = aa;", "operation:2: y = bb;", "operation:3: y = cc;"]
    assert "(and 1 more)" in message


@pytest.mark.parametrize(("target", "start"), [("host", "The host backend"), ("sm_90", "NVRTC")])
def test_unknown_options(target: Any, start: str) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", options=("--no-such-option",))
    with pytest.raises(CompileError, match="--no-such-option") as caught:
        kernel.compile(X, target=target)
    assert str(caught.value).startswith(start)


@pytest.mark.parametrize(
    ("source", "shown", "targets"),
    [
        ("extern __constant__ float w[4];", "w", ["host"]),
        ("namespace ns { extern __device__ int w; } using ns::w;", "w", ["host"]),
        ("namespace ns { __device__ int lost(int); } using ns::lost;", "lost", ["host", "sm_90"]),
        ("extern __device__ int lost(int);", "lost", ["host", "sm_90"]),
    ],
)
def test_declarations_without_a_definition(source: str, shown: str, targets: list[str]) -> None:
    """The error shows the declaration; NVRTC takes such a variable for a definition."""
    use = "w[0]" if "[4]" in source else "w" if shown == "w" else "lost(1)"
    code = f'{source}\nextern "C" __global__ void f(float* x) {{ x[0] = {use}; }}'
    for target in targets:
        kernel = RawKernel(code, "f")
        launch = partial(kernel, (1,), (1,), (np.zeros(1, np.float32),))
        with pytest.raises(KernelToolkitError) as caught:
            launch() if target == "host" else kernel.compile_for(target)
        lines = str(caught.value).splitlines()
        assert lines[0] == f"'{shown}' is declared, and has no definition in device code."
        assert lines[1].endswith(f": {source}")
        assert lines[2].strip() == "^" * len(shown)
