"""What is known of files that were compiled before: it is used again, and never for anything else.

`steps` are the units that are put together: none where all is known.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import pipeline
from kerneltk.backends.base import capabilities_of
from kerneltk.cache import derived
from kerneltk.core import settings
from kerneltk.cuda_cpp import outcomes
from kerneltk.cuda_cpp.outcomes import Entry, Outcome
from kerneltk.cuda_cpp.program import RawProgram
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.cuda_cpp.syntax.declarations import Refused
from kerneltk.errors import CompileError
from tests.sampling import one_in
from tests.unit.cache.stages import record_of, sealed

from ...processes import python

ROOT = Path(kerneltk.__file__).parents[1]
KERNEL = "__global__ void k(int* o) { o[0] = VALUE; }\n"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The units that are put together, by their backends."""
    found: list[str] = []
    unit = RawSource.unit

    def counted(self: RawSource, backend: Any, *rest: Any) -> Any:
        found.append(backend.name)
        return unit(self, backend, *rest)

    monkeypatch.setattr(RawSource, "unit", counted)
    return found


def launched(path: Path, *options: str, name: str = "k", **words: Any) -> int:
    """Load a file, and return what its kernel writes."""
    out = np.zeros(1, np.int32)
    kerneltk.load(path, options=options, **words).get_function(name)(1, 1, (out,))
    return int(out[0])


def is_known(steps: list[str], path: Path, *options: str, **words: Any) -> tuple[int, bool]:
    """Return what the kernel writes, and whether no unit was put together for it."""
    steps.clear()
    value = launched(path, *options, **words)
    return value, not steps


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with a header of a header, in a folder of its own."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "inner.h").write_text("#define VALUE 1\n")
    (folder / "outer.h").write_text('#pragma once\n#include "inner.h"\n')
    path = folder / "f.cu"
    path.write_text('#include "outer.h"\n#include <climits>\n' + KERNEL + "int main() {}\n")
    return path


# -- what is known ---------------------------------------------------------------------------------


def test_a_file_is_put_together_once(steps: list[str], file: Path) -> None:
    assert is_known(steps, file) == (1, False)
    assert is_known(steps, file) == (1, True)
    first = kerneltk.load(file).compile_for("sm_90")
    assert steps == ["cuda"]
    again = kerneltk.load(file).compile_for("sm_90")
    assert steps == ["cuda"]
    assert again == first
    assert kerneltk.load(file).compile_for("host").symbols
    assert steps == ["cuda"]


def test_one_source_two_questions(steps: list[str], file: Path) -> None:
    file.write_text(file.read_text() + "template <int N> __global__ void t(int* o) { o[0] = N; }\n")
    for _ in range(2):
        for number in (2, 3):
            module = kerneltk.load(file, name_expressions=[f"t<{number}>"])
            out = np.zeros(1, np.int32)
            module.get_function(f"t<{number}>")(1, 1, (out,))
            assert out[0] == number
            assert module.kernels == ("k", f"t<{number}>")
        module = kerneltk.load(file)
        module.t[4](1, 1, (out,))  # named before the file is compiled
        assert out[0] == 4
        module.k(1, 1, (out,))
        module.t[5](1, 1, (out,))  # a program of its own
        assert out[0] == 5
    steps.clear()
    kerneltk.load(file, name_expressions=["t<3>"]).t[3](1, 1, (out,))
    assert not steps


CHILD = """
import json, sys
import numpy as np
import kerneltk
from kerneltk.cuda_cpp.source import RawSource
steps, unit = [], RawSource.unit
RawSource.unit = lambda self, *rest: (steps.append(1), unit(self, *rest))[1]
path, options, target = json.loads(sys.argv[1])
module = kerneltk.load(path, options=options)
if target:
    value = len(module.compile_for(target).code)
else:
    out = np.zeros(1, np.int32)
    try:
        module.k(1, 1, (out,))
        value = int(out[0])
    except kerneltk.LaunchError as error:
        value = str(error)
syntax = [n for n in sys.modules if "tree_sitter" in n or n.endswith(("host_code", "volatile"))]
print(json.dumps((value, not steps, syntax)))
"""


def in_process(
    path: Path,
    *options: str,
    target: str = "",
    root: Path = ROOT,
    cwd: Path | None = None,
    **environment: str,
) -> tuple[Any, bool]:
    """As `is_known`, in a process of its own, with what a failed launch says for a value."""
    command = "-c", CHILD, json.dumps((str(path), options, target))
    environment["PYTHONPATH"] = os.pathsep.join([str(root), *sys.path])
    made = python(*command, cwd=cwd or path.parent, **environment)
    assert made.returncode == 0, made.stderr
    value, known, syntax = json.loads(made.stdout)
    assert not (known and syntax)
    return value, known


@pytest.mark.parametrize("launcher", ["", pytest.param("python", marks=pytest.mark.exhaustive)])
def test_another_process_knows_it(file: Path, tmp_path: Path, launcher: str) -> None:
    environment = {"KERNELTK_LAUNCHER": launcher}
    assert in_process(file, **environment) == (1, False)
    assert in_process(file, cwd=tmp_path, **environment) == (1, True)
    size, known = in_process(file, target="sm_90", **environment)
    assert not known
    assert in_process(file, target="sm_90", **environment) == (size, True)
    (file.parent / "inner.h").write_text("#define VALUE 2\n")
    assert in_process(file, **environment) == (2, False)
    assert in_process(file, **environment) == (2, True)


def launched_string(*options: str, code: str = KERNEL) -> int:
    out = np.zeros(1, np.int32)
    kerneltk.RawKernel(code, "k", options)(1, 1, (out,))
    return int(out[0])


def test_strings_are_known(steps: list[str]) -> None:
    assert [launched_string("-DVALUE=3") for _ in range(2)] == [3, 3]
    assert len(steps) == 1
    assert launched_string("-DVALUE=4") == 4
    assert len(steps) == 2


def test_a_string_in_another_directory(
    steps: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f'#include "value.h"\n{KERNEL}'
    for value in (1, 2):
        (tmp_path / str(value)).mkdir()
        (tmp_path / str(value) / "value.h").write_text(f"#define VALUE {value}\n")
    for count, value in ((1, 1), (2, 2), (2, 1)):
        monkeypatch.chdir(tmp_path / str(value))
        assert launched_string(code=code) == value
        assert len(steps) == count
    (tmp_path / "1" / "value.h").write_text("#define VALUE 5\n")
    assert launched_string(code=code) == 5
    assert len(steps) == 3


# -- what another result needs ---------------------------------------------------------------------


@pytest.mark.parametrize("name", one_in(2, ["f.cu", "outer.h", "inner.h"]))
def test_changed_files(steps: list[str], file: Path, name: str) -> None:
    assert is_known(steps, file) == (1, False)
    path = file.parent / name
    before, status = path.read_text(), path.stat()
    path.write_text(before + "#undef VALUE\n#define VALUE 2\n" + (KERNEL if name[0] == "f" else ""))
    if name == "f.cu":
        path.write_text(before.replace("VALUE", "20+2"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert is_known(steps, file) == (22 if name == "f.cu" else 2, False)
    path.write_text(before)
    assert is_known(steps, file) == (1, True)


FOLDERS = ["value.h", "cutlass/value.h"]  # read by the package, and by compilers alone


@pytest.fixture(params=one_in(2, FOLDERS))
def found(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str, list[Path]]:
    """A file that includes a header by options, and where that may lie."""
    path = tmp_path / "own" / "f.cu"
    path.parent.mkdir()
    path.write_text(f"#include <{request.param}>\n" + KERNEL)
    places = [tmp_path / place / request.param for place in "abc"]
    for place in places:
        place.parent.mkdir(parents=True)
    return path, request.param, places


def options_of(name: str, places: list[Path]) -> list[str]:
    return [f"-I{str(place).removesuffix(name)}" for place in places]


@pytest.mark.exhaustive
def test_a_header_in_front_of_another(steps: list[str], found: Any) -> None:
    path, name, places = found
    options = options_of(name, places)
    places[1].write_text("#define VALUE 1\n")
    launched(path, *options)
    places[0].write_text("#define VALUE 2\n")
    assert is_known(steps, path, *options) == (2, False)
    places[0].unlink()
    assert is_known(steps, path, *options) == (1, True)
    places[1].unlink()
    with pytest.raises(CompileError):
        launched(path, *options)


@pytest.mark.parametrize("name", one_in(2, FOLDERS))
def test_a_header_that_comes_to_be(steps: list[str], tmp_path: Path, name: str) -> None:
    path, header = tmp_path / "f.cu", tmp_path / "include" / name
    path.write_text(
        f"#if __has_include(<{name}>)\n#include <{name}>\n#else\n#define VALUE 1\n#endif\n{KERNEL}"
    )
    option = f"-I{tmp_path / 'include'}"
    assert is_known(steps, path, option) == (1, False)
    assert is_known(steps, path, option) == (1, True)
    header.parent.mkdir(parents=True)
    header.write_text("#define VALUE 2\n")
    assert is_known(steps, path, option) == (2, False)
    header.unlink()
    assert launched(path, option) == 1


@pytest.mark.exhaustive
def test_a_header_by_a_macro(steps: list[str], tmp_path: Path) -> None:
    path, header = tmp_path / "f.cu", tmp_path / "value.h"
    path.write_text("#include HEADER\n" + KERNEL)
    for number in (1, 2):
        header.write_text(f"#define VALUE {number}\n")
        assert is_known(steps, path, f'-DHEADER="{header}"') == (number, False)
    assert is_known(steps, path, f'-DHEADER="{header}"') == (2, True)
    computed = "#define S_(x) #x\n#define S(x) S_(x)\n#include S(value.h)\n" + KERNEL
    path.write_text(computed)
    for number in (3, 4, 4):  # whose name only a preprocessor knows: never kept
        header.write_text(f"#define VALUE {number}\n")
        assert is_known(steps, path) == (number, False)


# -- the surroundings ------------------------------------------------------------------------------


def test_other_architectures(file: Path) -> None:
    codes = [kerneltk.load(file).compile_for(target).code for target in ("sm_80", "sm_90")]
    assert codes[0] != codes[1]


def test_every_setting_is_thought_of() -> None:
    """Those that say where and how a kernel runs, and not what it is, are in no key."""
    in_no_key = {
        *("cache_directory", "num_threads", "host_time_limit", "launcher", "raw_checks"),
        "host_exited_threads",
    }
    source = ast.parse(Path(outcomes.__file__).read_text())
    used = {
        node.attr
        for node in ast.walk(source)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "settings"
    }
    assert used | in_no_key == {field.name for field in fields(settings.Settings)}
    assert not used & in_no_key


# -- entries ---------------------------------------------------------------------------------------


def entry_of(file: Path) -> Entry[Any]:
    program = kerneltk.load(file)._programs.all[0]
    assert isinstance(program, RawProgram)
    found = program._entry(capabilities_of("host"), pipeline.Ahead("host"))
    assert found is not None
    return found


def key_of(entry: Entry[Any]) -> str:
    assert entry._entry is not None
    return entry._entry.key


# -- what a launch says ----------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_warnings_are_the_same(steps: list[str], tmp_path: Path) -> None:
    header = tmp_path / "include" / "cutlass" / "shared.h"
    header.parent.mkdir(parents=True)
    header.write_text("typedef volatile int shared_int;\n")
    path = tmp_path / "k.cu"
    path.write_text(
        "#include <cutlass/shared.h>\n__global__ void k(int* x) { shared_int* s = x; s[0] = 1; }\n"
    )

    def told() -> list[str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            launched(path, f"-I{tmp_path / 'include'}")
        return [str(each.message) for each in found]

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            launched(path, f"-I{tmp_path / 'include'}")
    assert len(found) == 1  # as other warnings are shown
    first = told()
    assert len(first) == 1
    assert "'k.cu', line 1: lanes of a warp do not meet" in first[0]
    steps.clear()
    assert told() == first
    assert not steps
    header.write_text("typedef int shared_int;\n")
    assert told() == []
    header.write_text("typedef volatile int shared_int;\n")
    assert told() == first


def test_a_warning_that_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k(int* o) { o[0] = 1; }\n")
    launched(path)
    entry = entry_of(path)
    key = key_of(entry)
    fields, rest = record_of(derived.get_cache().get(key))
    told = json.dumps((fields, (*rest[:2], ["told"]))).encode()
    derived.get_cache().put(key, sealed(key, told))
    with pytest.raises(RuntimeWarning, match="told"):
        launched(path)


def test_outcomes_are_what_they_were() -> None:
    refused = Refused("f", True, None, "reason", "", "k.cu", 3)
    outcome = Outcome((("a", "b"),), (refused,), ("told",))
    assert derived.reader_of(Outcome)(json.loads(json.dumps(outcome))) == outcome
