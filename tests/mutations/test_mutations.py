"""The list of planted faults can be planted; `python -m tests.mutations` does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from .__main__ import why_not
from .mutants import DoesNotApplyError, Mutant, is_test, read_mutants
from .running import Overlay, _files_of, all_tests

MUTANTS = read_mutants()


def test_all_faults_apply() -> None:
    assert [problem for problem in map(why_not, MUTANTS.values()) if problem] == []


def test_tests_that_are_gone(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("class T:\n    def test(self): ...\nTestM = M.TestCase\n")
    there = ["test_a.py", "test_a.py::T::test[x::y]", "test_a.py::TestM::runTest"]
    gone = ["test_b.py", "test_a.py::test", "test_a.py::T::test_b"]
    assert [is_test(tmp_path, name) for name in there + gone] == [True] * 3 + [False] * 3
    one = next(iter(MUTANTS.values()))
    assert "there is no test golden/test_none.py" in why_not(
        replace(one, tests=("golden/test_none.py",))
    )


def mutant(*original: str, file: str = "a.py", function: str = "C.f", by: str = "pass") -> Mutant:
    return Mutant("name", file, function, "kind", original, (by,), ("test.py",))


SOURCE = """
def f(x):
    if x > 0:
        return 1

class C:
    def f(self, x):
        if x > 0:
            return 1
        return 2
"""


def test_a_line_is_found_in_its_function() -> None:
    assert mutant("x > 0", by="x >= 0").applied_to(SOURCE) == (
        "        if x >= 0:".join(SOURCE.rsplit("        if x > 0:", 1))
    )
    changed = mutant("if x > 0:", "return 1").applied_to(SOURCE)
    assert changed.endswith("    def f(self, x):\n        pass\n        return 2\n")


@pytest.mark.parametrize(
    "wrong", [mutant("x < 0"), mutant("return"), mutant("x > 0", function="C.g")]
)
def test_what_does_not_apply(wrong: Mutant) -> None:
    with pytest.raises(DoesNotApplyError, match=r"name: its line is .* write it anew"):
        wrong.applied_to(SOURCE)


def test_functions_in_cpp_end_at_their_brace() -> None:
    source = "int f() {\n    return 1;\n}\nint g() {\n    return 1;\n}\n"
    changed = mutant("return 1;", file="a.hpp", function="int g()", by="return 2;")
    assert changed.applied_to(source) == source[:-16] + "    return 2;\n}\n"


def test_blocks_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("[name] a.py f: kind\n+ x\n= test.py\n")
    with pytest.raises(ValueError, match="not a mutant"):
        read_mutants(tmp_path)


def test_a_mutant_begins_with_the_compile_cache_alone(tmp_path: Path) -> None:
    overlay = Overlay.__new__(Overlay)
    overlay._cache, overlay._own_cache = tmp_path / "base", tmp_path / "own"
    for name in ("base/cache/ab/entry", "base/once/library", "own/cache/other", "own/once/library"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    for is_empty, names in ((False, {"cache/ab/entry"}), (True, set())):
        overlay._renew_cache(is_empty)
        assert _files_of(overlay._own_cache).keys() == names


def test_parts_of_a_file_that_is_run_whole() -> None:
    one, other = (
        Mutant("n", "f", "-", "k", ("x",), (), tests) for tests in (("a.py::t",), ("a.py", "b.py"))
    )
    assert all_tests([one, other]) == ["a.py", "b.py"]
