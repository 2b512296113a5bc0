"""The text of every message about parameter strings."""

from __future__ import annotations

import ast

import pytest

from kerneltk import ElementwiseKernel, ReductionKernel, SignatureError

from .tables import entries

# Parameter strings of inputs and outputs, and the message.
MESSAGES = [
    (*ast.literal_eval(first), "\n".join(message)) for first, *message in entries("parameters")
]


@pytest.mark.parametrize(
    ("in_params", "out_params", "message"), MESSAGES, ids=lambda text: text[:24].replace("\n", " ")
)
def test_message(in_params: str, out_params: str, message: str) -> None:
    with pytest.raises(SignatureError) as caught:
        ElementwiseKernel(in_params, out_params, "")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "problem"), [("2x", "is not a C identifier"), ("for", "is a C++ keyword"),
                          ("", "is not a C identifier"), ("__k", "is reserved for generated code")],
)  # fmt: skip
def test_kernel_names(name: str, problem: str) -> None:
    with pytest.raises(SignatureError) as caught:
        ElementwiseKernel("T x", "T y", "y = x", name)
    assert str(caught.value) == f'Invalid kernel name: "{name}" {problem}.'


def test_an_unknown_dtype_is_a_type_error_too() -> None:
    with pytest.raises(TypeError):
        ElementwiseKernel("flaot32 x", "T y", "")


def test_commas_in_subscripts() -> None:
    with pytest.raises(SignatureError) as caught:
        ElementwiseKernel("raw T x", "T y", "T t = 0;\ny = x[i, 1] + t")
    assert str(caught.value) == (
        "A comma in a subscript is C++'s comma operator, which drops what stands before it.\n"
        "  operation:2: y = x[i, 1] + t\n"
        "                    ^^^^^^\n"
        "  Hint: index a raw array by '[{i, 1}]'."
    )
    for sources in ({"map_expr": "x[_j, 0]"}, {"preamble": "#define AT(k) x[k, 0]"}):
        with pytest.raises(SignatureError, match="comma operator"):
            ReductionKernel(
                **{
                    "in_params": "raw T x", "out_params": "T y", "map_expr": "x[_j]",
                    "reduce_expr": "a + b", "post_map_expr": "y = a", "identity": 0, **sources,
                }
            )  # fmt: skip
