"""Integer types that a source defines itself."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.preprocessor.integers import _LP64_TYPES, own_integers


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("int x;", []),
        ("typedef signed long long int64_t;", [("int64_t", "long long")]),
        ("typedef unsigned long int uint64_t;", [("uint64_t", "unsigned long")]),
        ("typedef long long unsigned int uintptr_t;", [("uintptr_t", "unsigned long long")]),
        ("using uint8_t = unsigned char; // x", [("uint8_t", "unsigned char")]),
        ("typedef signed char int8_t; typedef char uint8_t;",
         [("int8_t", "signed char"), ("uint8_t", "char")]),
        ("typedef short int int16_t;\ntypedef signed int32_t;",
         [("int16_t", "short"), ("int32_t", "int")]),
        ("typedef unsigned long long ulong; typedef int int_fast16_t;",
         [("ulong", "unsigned long long"), ("int_fast16_t", "int")]),
        ("typedef short int_least16_t; typedef unsigned u_int32_t;",
         [("int_least16_t", "short"), ("u_int32_t", "unsigned int")]),
        ("typedef my_word int64_t;", [("int64_t", "my_word")]),
        ("// typedef long long int64_t;", []),
        ("typedef int64_t word;", []),
        ("#ifdef _MSC_VER\ntypedef __int64 int64_t;\n#else\n#include <stdint.h>\n#endif", []),
        ("#ifndef H\n#define H\ntypedef long long int64_t;\n#endif", [("int64_t", "long long")]),
        ("#if N == 64\ntypedef long int64_t;\n#elif defined(X)\ntypedef int int64_t;\n#else\n"
         "typedef long long int64_t;\n#endif", [("int64_t", "long long")]),
        ("#if N == 64\ntypedef long int64_t;\n#elif defined(X)\ntypedef int int64_t;\n#endif", []),
        ("#ifndef H\n#define H\n#ifdef A\ntypedef long int64_t;\n#else\n"
         "typedef long long int64_t;\n#endif\n#endif", [("int64_t", "long long")]),
        ("#if defined(__HIP__) || defined (__CUDACC__)\ntypedef long long int64_t;\n#else\n"
         "typedef word int64_t;\n#endif", [("int64_t", "long long")]),
        ("#ifdef __CUDACC__\n#ifdef X\ntypedef long long int64_t;\n#endif\n#endif", []),
        ("#if !defined(__CUDACC__) || X\ntypedef long long int64_t;\n#endif", []),
        ("#ifndef __CUDACC__\n#include <stdint.h>\n#else\ntypedef long long int64_t;\n#endif",
         [("int64_t", "long long")]),
        ("#if !(X || defined(__CUDACC__))\ntypedef long long int64_t;\n#endif", []),
    ],
)  # fmt: skip
def test_own_integers(source: str, found: list[tuple[str, str]]) -> None:
    assert [own[:2] for own in own_integers(source)] == found


def test_types_where_long_has_64_bits() -> None:
    for name, type_ in _LP64_TYPES.items():
        assert own_integers(f"typedef {type_} {name};") == [(name, type_, True)]
