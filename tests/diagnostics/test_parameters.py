"""The text of every message about parameter strings."""

from __future__ import annotations

import pytest

from kerneltk import ElementwiseKernel, ReductionKernel, SignatureError

# Parameter strings of inputs and outputs, and the message.
MESSAGES: list[tuple[str, str, str]] = [
    (
        "float32",
        "T y",
        "Parameter 'float32' has a type or a name, but not both.\n"
        "  in_params: float32\n"
        "             ^^^^^^^\n"
        "  Hint: write the type, a space and the name, as in 'float32 x'.",
    ),
    (
        "float32 x,",
        "T y",
        "A parameter is missing.\n"
        "  in_params: float32 x,\n"
        "                       ^\n"
        "  Hint: remove the comma that nothing follows.",
    ),
    (
        "float32 x,,T y",
        "T y",
        "A parameter is missing.\n"
        "  in_params: float32 x,,T y\n"
        "                       ^\n"
        "  Hint: remove the comma that nothing follows.",
    ),
    (
        "flaot32 x",
        "T y",
        "Unknown dtype 'flaot32'.\n"
        "  in_params: flaot32 x\n"
        "             ^^^^^^^\n"
        "  Hint: did you mean 'float32'?",
    ),
    (
        "Real x",
        "T y",
        "Unknown dtype 'Real'.\n"
        "  in_params: Real x\n"
        "             ^^^^\n"
        "  Hint: a type variable with a long name is declared with a constraint, as "
        "'Real:any'.",
    ),
    (
        "T:floatin x",
        "T y",
        "Unknown constraint 'floatin'.\n"
        "  in_params: T:floatin x\n"
        "               ^^^^^^^\n"
        "  Hint: use one of any, bool, complexfloating, floating, inexact, integer, "
        "integral, number, real, signedinteger, unsignedinteger.",
    ),
    (
        "T: x",
        "T y",
        "Unknown constraint 'x'.\n"
        "  in_params: T: x\n"
        "                ^\n"
        "  Hint: use one of any, bool, complexfloating, floating, inexact, integer, "
        "integral, number, real, signedinteger, unsignedinteger.",
    ),
    (
        "T:",
        "T y",
        "A constraint is missing after ':'.\n  in_params: T:\n              ^",
    ),
    (
        "T:floating",
        "T y",
        "Parameter 'T' has a type or a name, but not both.\n"
        "  in_params: T:floating\n"
        "             ^\n"
        "  Hint: write the type, a space and the name, as in 'float32 x'.",
    ),
    (
        "T x y",
        "T y",
        "Unknown keyword 'T'.\n"
        "  in_params: T x y\n"
        "             ^\n"
        "  Hint: a parameter is 'raw', '_non_const', a type and a name, in this order; "
        "parameters are separated by commas.",
    ),
    (
        "T x:any",
        "T y",
        "Unexpected ':'.\n"
        "  in_params: T x:any\n"
        "                ^\n"
        "  Hint: a parameter is 'raw', '_non_const', a type and a name, in this order; "
        "parameters are separated by commas.",
    ),
    (
        "T *x",
        "T y",
        "Unexpected '*'.\n  in_params: T *x\n               ^\n"
        "  Hint: write 'T x' for an element, and 'raw T x' for an array that is indexed: 'x[i]'.",
    ),
    (
        "x[3] y",
        "T y",
        "Unexpected '['.\n  in_params: x[3] y\n              ^",
    ),
    (
        "raw",
        "T y",
        "Parameter 'raw' has a type or a name, but not both.\n"
        "  in_params: raw\n"
        "             ^^^\n"
        "  Hint: write the type, a space and the name, as in 'float32 x'.",
    ),
    (
        "raw x",
        "T y",
        "Parameter 'x' has a type or a name, but not both.\n"
        "  in_params: raw x\n"
        "                 ^\n"
        "  Hint: write the type, a space and the name, as in 'float32 x'.",
    ),
    (
        "const T x",
        "T y",
        "Unknown keyword 'const'.\n"
        "  in_params: const T x\n"
        "             ^^^^^\n"
        "  Hint: a parameter is 'raw', '_non_const', a type and a name, in this order; "
        "parameters are separated by commas.",
    ),
    (
        "float32 for",
        "T y",
        "Cannot use 'for' as a parameter name: it is a C++ keyword.\n"
        "  in_params: float32 for\n"
        "                     ^^^",
    ),
    (
        "float32 2x",
        "T y",
        "Unexpected '2'.\n  in_params: float32 2x\n                     ^",
    ),
    (
        "T i",
        "T y",
        "Cannot use 'i' as a parameter name: it is the element's index in the body.\n"
        "  in_params: T i\n"
        "               ^",
    ),
    (
        "T _ind",
        "T y",
        "Cannot use '_ind' as a parameter name: it is the index space in the body.\n"
        "  in_params: T _ind\n"
        "               ^^^^",
    ),
    (
        "T __x",
        "T y",
        "Cannot use '__x' as a parameter name: it is reserved for generated code.\n"
        "  in_params: T __x\n"
        "               ^^^",
    ),
    (
        "T _Tx",
        "T y",
        "Cannot use '_Tx' as a parameter name: it is reserved for generated code.\n"
        "  in_params: T _Tx\n"
        "               ^^^",
    ),
    (
        "T _raw_x",
        "T y",
        "Cannot use '_raw_x' as a parameter name: it is reserved for generated code.\n"
        "  in_params: T _raw_x\n"
        "               ^^^^^^",
    ),
    (
        "T _kt_x",
        "T y",
        "Cannot use '_kt_x' as a parameter name: it is reserved for generated code.\n"
        "  in_params: T _kt_x\n"
        "               ^^^^^",
    ),
    (
        "T x, U x",
        "T y",
        "Parameter name 'x' is used twice.\n  in_params: T x, U x\n                  ^^^",
    ),
    (
        "T x = ",
        "T y",
        "A default value is missing after '='.\n  in_params: T x = \n                 ^",
    ),
    (
        "T x = y",
        "T y",
        "The default 'y' is not a number.\n"
        "  in_params: T x = y\n"
        "                   ^\n"
        "  Hint: write a Python number, 'True', 'False', 'inf' or 'nan'.",
    ),
    (
        "T x = [1]",
        "T y",
        "The default '[1]' is not a number.\n"
        "  in_params: T x = [1]\n"
        "                   ^^^\n"
        "  Hint: write a Python number, 'True', 'False', 'inf' or 'nan'.",
    ),
    (
        "T x = 1 2",
        "T y",
        "The default '1 2' is not a number.\n"
        "  in_params: T x = 1 2\n"
        "                   ^^^\n"
        "  Hint: write a Python number, 'True', 'False', 'inf' or 'nan'.",
    ),
    (
        "raw T x = 1",
        "T y",
        "Only an input that is not raw can have a default.\n"
        "  in_params: raw T x = 1\n"
        "                     ^^^",
    ),
    (
        "T a = 1, T b",
        "T y",
        "Parameter 'b' has no default, but one before it has.\n"
        "  in_params: T a = 1, T b\n"
        "                      ^^^",
    ),
    (
        "T:floating x, T:integral y",
        "T y",
        "Type variable 'T' has two constraints, 'floating' and 'integral'.\n"
        "  in_params: T:floating x, T:integral y\n"
        "                             ^^^^^^^^",
    ),
    (
        "U5 x",
        "T y",
        "The dtype '<U5' has no C type that kernels can use.\n  in_params: U5 x\n             ^^",
    ),
    (
        "object x",
        "T y",
        "The dtype 'object' has no C type that kernels can use.\n"
        "  in_params: object x\n"
        "             ^^^^^^",
    ),
    (
        ">f4 x",
        "T y",
        "The dtype '>f4' has a byte order that is not this machine's.\n"
        "  in_params: >f4 x\n"
        "             ^^^",
    ),
    (
        "float128 x",
        "T y",
        "The dtype 'float128' has no C type that kernels can use.\n"
        "  in_params: float128 x\n"
        "             ^^^^^^^^",
    ),
    (
        "M8 x",
        "T y",
        "The dtype 'datetime64' has no C type that kernels can use.\n"
        "  in_params: M8 x\n"
        "             ^^",
    ),
    (
        "T x, float32 T",
        "T y",
        "'T' is both a type variable and a parameter's name.",
    ),
    (
        "i x",
        "T y",
        "Cannot use 'i' as a type variable: it is the element's index in the body.\n"
        "  in_params: i x\n"
        "             ^",
    ),
    (
        "n x",
        "T y",
        "Cannot use 'n' as a type variable: it is the number of elements in the body.\n"
        "  in_params: n x\n"
        "             ^",
    ),
    (
        "if:any x",
        "T y",
        "The type variable 'if' is a C++ keyword.\n  in_params: if:any x\n             ^^",
    ),
    (
        "T x,\n  flaot32 w",
        "T y",
        "Unknown dtype 'flaot32'.\n"
        "  in_params:2:   flaot32 w\n"
        "                 ^^^^^^^\n"
        "  Hint: did you mean 'float32'?",
    ),
    (
        "T x",
        "T y = 1",
        "Only an input that is not raw can have a default.\n"
        "  out_params: T y = 1\n"
        "                  ^^^",
    ),
    (
        "T x",
        "T x",
        "Parameter name 'x' is used twice.\n  out_params: T x\n              ^^^",
    ),
    (
        "T x",
        "flaot y",
        "Unknown dtype 'flaot'.\n"
        "  out_params: flaot y\n"
        "              ^^^^^\n"
        "  Hint: did you mean 'float64'?",
    ),
    (
        "T x = 1",
        "T y, float32",
        "Parameter 'float32' has a type or a name, but not both.\n"
        "  out_params: T y, float32\n"
        "                   ^^^^^^^\n"
        "  Hint: write the type, a space and the name, as in 'float32 x'.",
    ),
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
