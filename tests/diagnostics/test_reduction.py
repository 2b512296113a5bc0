"""What a reduction says of mistakes in its texts, shown where the user made them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, CompileError, ReductionKernel

from ..sampling import half
from .mistakes import Mistake, check

X = np.arange(4, dtype=np.float32)
SPEC = ArraySpec.make("f4", 4)
BASE: dict[str, Any] = {
    "in_params": "T x, T s", "out_params": "T y", "map_expr": "x", "reduce_expr": "a + b",
    "post_map_expr": "y = a", "identity": "0",
}  # fmt: skip
FIELDS: dict[str, Any] = {
    "map_expr": "{x, _J}", "reduce_expr": "{a.v + b.v, a.k}", "post_map_expr": "y = a.v",
    "identity": "{0, 0}", "reduce_type": "T v, int64 k",
}  # fmt: skip
STRUCT: dict[str, Any] = {
    "map_expr": "{x, 1}", "reduce_expr": "{a.v + b.v, a.k + b.k}", "post_map_expr": "y = a.v / a.k",
    "identity": "{0, 0}", "reduce_type": "pair", "preamble": "struct pair { float v; int k; };",
}  # fmt: skip


def undefined(
    name: str, texts: dict[str, Any], origin: str, line: str, hint: str = "", gcc: str = ""
) -> Mistake:
    return Mistake(
        texts, origin, line, (name,), f'identifier "{name}" is undefined',
        gcc or f"'{name}' was not declared in this scope", hint and f"did you mean '{hint}'?",
    )  # fmt: skip


def unclosed(origin: str, line: str) -> Mistake:
    """Return a mistake of a text whose one parenthesis is never closed."""
    return Mistake(
        {origin: line}, origin, line, ("(",), 'expected a ")"', "expected ')' before ';' token",
        label="this is never closed",
    )  # fmt: skip


MISTAKES = {
    "map: undefined": undefined("foo", {"map_expr": "x + foo"}, "map_expr", "x + foo"),
    "map: unclosed": unclosed("map_expr", "(x + s"),
    "map: statement": Mistake(
        {"map_expr": "x * 2;"}, "map_expr", "x * 2;", (";",),
        'expected a ")"', "expected ')' before ';' token",
    ),
    "map: no brace": Mistake(
        {**FIELDS, "map_expr": "x"}, "map_expr", "x", ("x",),
        'no suitable constructor exists to convert from "const T" to "_type_reduce"',
        "no matching function for call to '_type_reduce::_type_reduce(const T&)'",
    ),
    "map: brace for a number": Mistake(
        {"map_expr": "{x, 1}"}, "map_expr", "{x, 1}", ("{x, 1}", "{", "1"),
        "too many initializer values",
        "too many initializers for '_type_reduce' {aka 'float'}",
    ),
    "reduce: undefined": undefined("c", {"reduce_expr": "a + c"}, "reduce_expr", "a + c"),
    "reduce: wrong member in the second line": Mistake(
        {**STRUCT, "reduce_expr": "{\n  a.v + b.v,\n  a.n + b.k\n}"}, "reduce_expr:3",
        "  a.n + b.k", ("n",), 'class "pair" has no member "n"',
        "'_type_reduce' {aka 'struct pair'} has no member named 'n'",
    ),
    "reduce: too many members": Mistake(
        {**FIELDS, "reduce_expr": "{a.v + b.v, a.k, 1}"}, "reduce_expr", "{a.v + b.v, a.k, 1}",
        ("{a.v + b.v, a.k, 1}", "{"),
        'no instance of constructor "_type_reduce::_type_reduce" matches the argument list '
        "(argument types are: (float, long long, int))",
        "no matching function for call to "
        "'_type_reduce::_type_reduce(T, long long int&, int)'",
    ),
    "reduce: number for a struct": Mistake(
        {**STRUCT, "reduce_expr": "a.v + b.v"}, "reduce_expr", "a.v + b.v",
        ("a.v + b.v", "+", "a"), 'no suitable constructor exists to convert from "float" to "pair"',
        "could not convert '(a.pair::v + b.pair::v)' from 'float' to '_type_reduce' {aka 'pair'}",
    ),
    "post: unclosed": unclosed("post_map_expr", "y = (a"),
    "post: struct to number": Mistake(
        {**STRUCT, "post_map_expr": "y = a"}, "post_map_expr", "y = a", ("a",),
        'no suitable conversion function from "_type_reduce" (aka "pair") to "T" (aka "float") '
        "exists",
        "cannot convert '_type_reduce' {aka 'pair'} to 'T' {aka 'float'} in assignment",
    ),
    "identity: undefined": undefined("foo", {"identity": "foo"}, "identity", "foo"),
    "identity: number for fields": Mistake(
        {**FIELDS, "identity": "0"}, "identity", "0", ("0",),
        'no suitable constructor exists to convert from "int" to "_type_reduce"',
        "no matching function for call to '_type_reduce::_type_reduce(int)'",
    ),
    "type: unknown": undefined(
        "accumulator", {"reduce_type": "accumulator"}, "reduce_type", "accumulator",
        gcc="'accumulator' does not name a type",
    ),
    "type: similar": undefined(
        "pear", {**STRUCT, "reduce_type": "pear"}, "reduce_type", "pear", "pair",
        gcc="'pear' does not name a type",
    ),
    "preamble: syntax": Mistake(
        {**STRUCT, "preamble": "struct pair { float v; int k};"},
        "preamble", "struct pair { float v; int k};", ("k", "}"),
        'expected a ";"', "expected ';' at end of member declaration",
    ),
}  # fmt: skip


def kernel(texts: dict[str, Any], name: str = "k") -> ReductionKernel:
    return ReductionKernel(**{**BASE, **texts}, name=name)


def refused(texts: dict[str, Any], where: str, name: str = "k", mask: bool = False) -> CompileError:
    own = kernel(texts, name)
    numbers = (2,) * (own.nin - 1)
    marks: dict[str, Any] = {"where": X > 1} if mask else {}
    specs: dict[str, Any] = {"where": ArraySpec.make("?", 4)} if mask else {}
    calls: dict[str, Callable[[], object]] = {
        "call": lambda: own(X, *numbers, **marks),
        "host": lambda: own.compile(X, *numbers, target="host", **marks),
        "nvrtc": lambda: own.compile(SPEC, *numbers, target="sm_90", **specs),
    }
    with pytest.raises(CompileError) as caught:
        calls[where]()
    return caught.value


@pytest.mark.parametrize("name", MISTAKES)
def test_message(name: str) -> None:
    mistake = MISTAKES[name]
    check(mistake, str(refused(mistake.texts, "nvrtc")), "nvrtc")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", half(MISTAKES))
def test_message_of_the_host(name: str) -> None:
    mistake = MISTAKES[name]
    check(mistake, str(refused(mistake.texts, "call")), "call")


@pytest.mark.parametrize("where", ["call", "nvrtc"])
@pytest.mark.parametrize(
    "name",
    ["map: undefined", "post: struct to number", "type: unknown"],
)  # fmt: skip
def test_message_of_a_masked_reduction(name: str, where: str) -> None:
    mistake = MISTAKES[name]
    check(mistake, str(refused(mistake.texts, where, mask=True)), where)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("where", ["call", "nvrtc"])
@pytest.mark.parametrize(
    ("texts", "line", "bracket"),
    [
        ({"post_map_expr": "if (a > 0) { y = a;"}, "post_map_expr: if (a > 0) { y = a;", "{"),
        (
            {"map_expr": "f(x)", "preamble": "__device__ T f(T v) {\n    return v;\n"},
            "preamble:1: __device__ T f(T v) {", "{",
        ),
        ({**FIELDS, "reduce_expr": "{a.v + b.v, a.k"}, "reduce_expr: {a.v + b.v, a.k", "{"),
        ({**FIELDS, "map_expr": "{x, (_J}"}, "map_expr: {x, (_J}", "("),
    ],
    ids=["post", "preamble", "reduce", "map"],
)  # fmt: skip
def test_a_bracket_that_is_never_closed(
    texts: dict[str, Any], line: str, bracket: str, where: str
) -> None:
    message = str(refused(texts, where))
    carets = " " * (2 + line.rindex(bracket)) + "^ this is never closed"
    assert f"\n  {line}\n{carets}" in message


@pytest.mark.one_in(3)
@pytest.mark.parametrize("where", ["call", "nvrtc"])
@pytest.mark.parametrize("origin", ["map_expr", "reduce_expr", "post_map_expr", "identity"])
def test_a_bracket_that_was_never_opened(origin: str, where: str) -> None:
    text = {"post_map_expr": "y = a; }", "identity": "0)"}.get(origin, f"{BASE[origin]})")
    message = str(refused({origin: text}, where))
    assert message.startswith(f"The {origin} of kernel 'k' does not compile: ")
    assert f"\n  {origin}: {text}\n" in message


# -- the accumulator's size ------------------------------------------------------------------------

_LARGE = "struct large { float v[33]; };"
LARGE: dict[str, tuple[dict[str, Any], str]] = {
    "a struct": (
        {
            "reduce_type": "large", "preamble": _LARGE, "map_expr": "{x}", "reduce_expr": "a",
            "post_map_expr": "y = a.v[0]", "identity": None,
        },
        "reduce_type: large",
    ),
    "a struct in a field": (
        {
            "reduce_type": "large v, int64 k", "preamble": _LARGE, "map_expr": "{large(), 0}",
            "reduce_expr": "a", "post_map_expr": "y = a.v.v[0]", "identity": None,
        },
        "reduce_type: large v, int64 k",
    ),
    "many fields": (
        {
            "reduce_type": ",".join(f"int64 f{k}" for k in range(17)),
            "map_expr": f"{{{','.join('0' * 17)}}}", "reduce_expr": "a",
            "post_map_expr": "y = a.f0", "identity": None,
        },
        "reduce_type: " + ",".join(f"int64 f{k}" for k in range(17)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("where", ["call", "nvrtc"])
@pytest.mark.parametrize("name", LARGE)
def test_an_accumulator_that_is_too_large(name: str, where: str) -> None:
    texts, line = LARGE[name]
    lines = str(refused(texts, where)).split("\n")
    assert lines[0].startswith("The reduce_type of kernel 'k' does not compile: ")
    assert "the totals may take 128 bytes at most" in lines[0]
    assert lines[1:3] == [f"  {line}", " " * 15 + "^" * (len(line) - 13)]


@pytest.mark.parametrize("where", ["call", "nvrtc"])
def test_a_first_output_that_is_too_large_for_an_accumulator(where: str) -> None:
    records = np.zeros(3, [("v", "f4", (33,))])
    own = kernel({"in_params": "T x", "reduce_expr": "a", "identity": None})
    spec = ArraySpec.make(records.dtype, 3)
    with pytest.raises((CompileError, TypeError)) as caught:
        own(records) if where == "call" else own.compile(spec, target="sm_90")
    assert "the totals may take 128 bytes at most" in str(caught.value)
    assert "generated" not in str(caught.value)
    assert "\n  out_params: T y\n" in str(caught.value)


@pytest.mark.exhaustive
def test_an_accumulator_of_128_bytes_is_none_too_large() -> None:
    members = ",".join(f"int64 f{k}" for k in range(16))
    own = kernel(
        {
            "reduce_type": members, "map_expr": f"{{{','.join('x' * 16)}}}",
            "reduce_expr": f"{{{','.join(f'a.f{k} + b.f{k}' for k in range(16))}}}",
            "post_map_expr": "y = a.f15 - a.f0 + a.f7", "identity": None,
        }
    )  # fmt: skip
    assert own(X, 0) == 6
    assert own.compile(SPEC, 0, target="sm_90").code


# -- hints -----------------------------------------------------------------------------------------


@pytest.mark.one_in(4)
@pytest.mark.parametrize("where", ["call", "nvrtc"])
@pytest.mark.parametrize(
    "texts",
    [{"map_expr": "x = 3"}, {"map_expr": "s += x"}, {"post_map_expr": "s = 1; y = a"}],
    ids=lambda texts: next(iter(texts.values())),
)
def test_writing_an_input_hints_at_what_a_reduction_can_write(
    texts: dict[str, Any], where: str
) -> None:
    (hint,) = (
        line for line in str(refused(texts, where)).split("\n") if line.startswith("  Hint: ")
    )
    # A reduction's inputs cannot be declared so, and an expression writes no outputs.
    assert "_non_const" not in hint
    assert "post_map_expr" in hint


def test_names_of_gpus_hint_at_gpus() -> None:
    message = str(refused({"map_expr": "x * threadIdx.x"}, "call"))
    assert "\n  Hint: 'threadIdx' is there on GPUs only" in message
    assert "elementwise" not in message


@pytest.mark.parametrize("where", ["call", "nvrtc"])
def test_names_that_a_reduction_has_are_suggested(where: str) -> None:
    message = str(refused({"map_expr": "(_type_reduc)x + x * _out_idn.get()[0]"}, where))
    assert "Hint: did you mean '_type_reduce'?" in message


@pytest.mark.parametrize("where", ["call", "nvrtc"])
def test_the_kernel_is_called_by_its_own_name(where: str) -> None:
    """Also where the entry point has another, since the library uses this one."""
    message = str(refused({"map_expr": "x + foo"}, where, name="max"))
    assert message.startswith("The map_expr of kernel 'max' does not compile: ")
