"""What the symbols of C++ functions spell."""

from __future__ import annotations

import pytest

from kerneltk.object_code.symbols import demangled


@pytest.mark.parametrize(
    ("symbol", "name", "types"),
    [
        ("saxpy", "saxpy", ()),
        ("_Z", "_Z", ()),
        ("_Znot a symbol", "_Znot a symbol", ()),
        ("_Z1fv", "f", ()),
        ("_Z1fPfi", "f", ("float*", "int")),
        ("_Z1fIiEvPT_", "f<int>", ("int*",)),
        ("_Z1fPFvifEi", "f", ("void (*)(int, float)", "int")),
        ("_Z1fI3FooIifEEvT_i", "f<Foo<int, float> >", ("Foo<int, float>", "int")),
        ("_ZN12_GLOBAL__N_11fEPfi", "f", ("float*", "int")),
        # Parentheses before those of the parameters.
        ("_Z1fIL1E1EEvPf", "f<(E)1>", ("float*",)),
        ("_Z1fN12_GLOBAL__N_15PointE", "f", ("Point",)),
        ("_ZN12_GLOBAL__N_11fEPFvNS_5PointEE", "f", ("void (*)(Point)",)),
        ("_ZN2ns1xE", "_ZN2ns1xE", ()),
    ],
)
def test_what_a_symbol_spells(symbol: str, name: str, types: tuple[str, ...]) -> None:
    assert demangled(symbol) == (name, types)
