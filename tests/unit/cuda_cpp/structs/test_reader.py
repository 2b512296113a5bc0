"""The structs that a source declares."""

from __future__ import annotations

from kerneltk.cuda_cpp.structs.reader import read_structs


def test_structs_and_aliases() -> None:
    structs, aliases = read_structs(
        "namespace n { struct A { const float* p; static int k; int f() const; }; }\n"
        "typedef struct { double x, y[2][3]; } B;\nusing real = double;\n"
    )
    found = {struct.name: [tuple(field) for field in struct.fields] for struct in structs}
    assert found == {
        "n::A": [("float*", "p", ())],
        "B": [("double", "x", ()), ("double", "y", ("2", "3"))],
    }
    assert aliases == (("real", "double"),)


def test_two_structs_of_a_name_are_none() -> None:
    (one,), _ = read_structs("#if A\nstruct S { int a; };\n#else\nstruct S { float a; };\n#endif\n")
    assert one.fields == ()
