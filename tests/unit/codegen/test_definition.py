"""What is read from a definition's texts, and what can be no text, name or option."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from kerneltk import ArgumentTypeError, ElementwiseKernel, SignatureError
from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.accumulator import parse_accumulator
from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.codegen.definition import check_name
from kerneltk.codegen.elementwise import ElementwiseDefinition, WaitingDefinition
from kerneltk.codegen.reduction import ReductionDefinition
from kerneltk.core.identifiers import CXX_KEYWORDS
from kerneltk.signature.parameters import parse_signature


def defined(
    map_expr: str = "x",
    reduce_expr: str = "a + b",
    post_map_expr: str = "y = a",
    identity: str = "0",
    reduce_type: str | None = None,
    preamble: str = "",
    options: tuple[str, ...] = (),
    name: str = "k",
    in_params: str = "T x, raw T w",
    out_params: str = "T y, int64 z",
) -> ReductionDefinition:
    signature = parse_signature(in_params, out_params)
    return ReductionDefinition(
        signature, name, preamble, options, map_expr, reduce_expr, post_map_expr, identity,
        parse_accumulator(reduce_type, signature),
    )  # fmt: skip


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number", "output_number", "in_index", "out_index"),
    [
        ("x", False, False, False, False), ("x * _J", True, False, False, False),
        ("x * _i", False, True, False, False), ("x * _j", True, True, False, False),
        ("x * _in_ind.get()[0]", True, True, True, False),
        ("x * _out_ind.size()", False, True, False, True),
        ("x /* _J _in_ind */", False, False, False, False), ("x // _i", False, False, False, False),
        ("x * a_J", False, False, False, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("where", ["map_expr", "reduce_expr", "post_map_expr", "identity"])
def test_numbers_that_are_read(
    where: str, text: str, number: bool, output_number: bool, in_index: bool, out_index: bool
) -> None:
    texts: dict[str, Any] = {where: text}
    made = defined(**texts)
    assert (made.uses_number, made.uses_output_number, made.uses_in_index, made.uses_out_index) == (
        number, output_number, in_index, out_index,
    )  # fmt: skip


def test_a_function_of_the_preamble_has_names_of_its_own() -> None:
    made = defined("f(x)", preamble="__device__ int f(int _j) { return _j; }")
    assert not made.facts.opaque
    assert not made.uses_number


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("y = a", True), ("y = a; z = 1", True), ("z = 1;\ny = a;", True), ("y += a", False),
        ("y = y + a", False), ("if (a > 0) y = a", False), ("", False), ("y[0] = a", False),
        ("f(&y); y = a", False), ("T t = a; y = t", True), ("yy = a", False),
    ],
)  # fmt: skip
def test_outputs_that_are_plainly_overwritten(text: str, plain: bool) -> None:
    made = defined(post_map_expr=text)
    assert ("y" in made.facts.overwritten) == plain
    hidden = defined(post_map_expr=text, preamble="#define a y")
    assert "y" not in hidden.facts.overwritten


@pytest.mark.parametrize(
    ("texts", "nothing"),
    [
        ({}, True), ({"map_expr": "x * x + _J"}, True), ({"map_expr": "f(x)"}, False),
        ({"reduce_expr": "max(a, b)"}, False), ({"post_map_expr": "y = sqrt(a)"}, False),
        ({"preamble": "struct s { int v; };"}, False), ({"map_expr": "{x, _J}"}, True),
    ],
)  # fmt: skip
def test_expressions_of_operators_alone(texts: dict[str, Any], nothing: bool) -> None:
    assert defined(**texts).calls_nothing == nothing


# -- texts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "entry"),
    [("k", "k"), ("max", "max_kernel"), ("norm", "norm_kernel"), ("T", "T_kernel"), ("x", "x"),
     ("S", "S"), ("helper", "helper_kernel_kernel"), ("NULL", "NULL_kernel"), ("_init", "_init"),
     ("cudaMalloc", "v_cudaMalloc_kernel"), ("NV_IF_TARGET", "v_NV_IF_TARGET_kernel")],
)  # fmt: skip
def test_entries(name: str, entry: str) -> None:
    preamble = "struct helper {}; // k\nvoid helper_kernel();"
    assert defined(name=name, preamble=preamble).entry(capabilities_of("cuda")) == entry
    assert defined(name=name).entry(capabilities_of("host")) == f"_kt_entry_{name}"


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "is not a C identifier"), ("2k", "is not a C identifier"),
        ("k-l", "is not a C identifier"), ("k ", "is not a C identifier"),
        ("k\n", "is not a C identifier"), ("ä", "is not a C identifier"),
        ("__k", "is reserved for generated code"), ("_KT", "is reserved for generated code"),
        ("_kt_k", "is reserved for generated code"),
        *((word, "is a C++ keyword") for word in sorted(CXX_KEYWORDS)),
    ],
)  # fmt: skip
def test_what_is_no_name(name: str, problem: str) -> None:
    with pytest.raises(SignatureError) as caught:
        check_name(name)
    assert str(caught.value) == f'Invalid kernel name: "{name}" {problem}.'


@pytest.mark.parametrize("name", ["in_params", "out_params", "operation", "name", "preamble"])
def test_texts_must_be_strings(name: str) -> None:
    texts: dict[str, Any] = {"in_params": "T x", "out_params": "T y", "operation": "y = x"}
    for wrong in (None, 3, b"T x", ["T x"]):
        with pytest.raises(ArgumentTypeError, match=f"'{name}' must be a string"):
            ElementwiseKernel(**{**texts, name: wrong})


@pytest.mark.parametrize("operation", ["y = x; // \0", "y = x; // \ud800"])
def test_texts_must_be_text(operation: str) -> None:
    with pytest.raises(SignatureError):
        ElementwiseKernel("T x", "T y", operation)


@pytest.mark.parametrize("options", [None, 5, (3,)])
def test_options_must_be_strings(options: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="'options'"):
        ElementwiseKernel("T x", "T y", "y = x", options=options)


def test_a_description_has_all_that_launches_depend_on() -> None:
    def made(kind: Any = ElementwiseDefinition, ins: str = "T x", **changes: Any) -> str:
        signature = parse_signature(ins, "T y")
        given = {"name": "k", "preamble": "", "options": (), "operation": "y = x", **changes}
        found: str = kind(signature, **given).description
        return found

    facts = BodyFacts(frozenset("abcdefgh"))
    others = [
        made(WaitingDefinition),
        made(ins="raw T x"),
        made(ins="T x, T z"),
        *(made(known_facts=replace(facts, **change)) for change in FACTS),
        *(
            made(**{own.name: _another(own)})
            for own in fields(WaitingDefinition)
            if own.name not in ("signature", "known_facts", "user_sources", "shared", "published")
        ),
        made(WaitingDefinition, shared=8),
        made(WaitingDefinition, published=8),
    ]
    descriptions = {made(), made(known_facts=facts), *others}
    assert len(descriptions) == 2 + len(others)
    assert made(user_sources=(("f", "y = x"),)) == made()


FACTS: list[dict[str, Any]] = [
    {own.name: not own.default if own.type == "bool" else frozenset("xyz")}
    for own in fields(BodyFacts)
]


def _another(own: Any) -> Any:
    if own.default is MISSING:
        return ("-DA",) if own.name == "options" else "other"
    return "other" if own.default == "" else not own.default if own.default in (0, 1) else 1
