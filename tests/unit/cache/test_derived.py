"""Results are read by processes of the same inputs and the same code, and by no others."""

from __future__ import annotations

import ast
import itertools
import json
import os
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

import pytest

import kerneltk
from kerneltk.cache import derived
from kerneltk.cache.derived import Entry, Records, derive
from kerneltk.cache.store import Cache

from ...processes import python
from ..test_architecture import MODULES, imports_of

ROOT = Path(__file__).parents[3]


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Cache:
    own = Cache(None)
    monkeypatch.setattr(derived, "get_cache", lambda: own)
    return own


# -- entries ---------------------------------------------------------------------------------------


def test_a_derivation_is_done_once(cache: Cache) -> None:
    calls: list[str] = []

    def find(name: str) -> str:
        def compute() -> str:
            calls.append(name)
            return name * 2

        return derive("source", (name, "b"), compute, str)

    assert [find("a"), find("a"), find("c"), find("c")] == ["aa", "aa", "cc", "cc"]
    assert calls == ["a", "c"]


def test_stages_and_inputs_have_keys_of_their_own(cache: Cache) -> None:
    entries = [Entry("source", "a", "b"), Entry("source", "ab"), Entry("launch", "a", "b")]
    assert len({entry.key for entry in entries}) == 3
    assert Entry("source", "a", "b").key == entries[0].key


def read_number(record: Any) -> int:
    (number,) = record
    return int(number)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"null", b"[]", b"\xff", b"[1e999]", b"[[]]", b"[" * 100_000]
)
def test_what_is_no_record_is_replaced(data: bytes, cache: Cache) -> None:
    Entry("source", "a").put(data)
    assert derive("source", ("a",), lambda: [3], read_number) == [3]
    assert derive("source", ("a",), lambda: [4], read_number) == 3


def test_records_of_one_entry(cache: Cache) -> None:
    records = Records("launch", 2, "a")
    for number in (*range(10), 9, 5):
        records.add((number, (number, 0.5)), 1)
    found = Records("launch", 2, "a").found
    assert found == [[number, [number, 0.5]] for number in (5, 9, 8, 7, 6, 4, 3, 2)]
    assert Records("launch", 3, "a").found == []


def test_records_that_are_too_large(cache: Cache) -> None:
    records = Records("launch", 2, "large")
    for number in range(4):
        records.add((number, "x" * 100_000), 1)
    assert [number for number, _ in records.found] == [3, 2, 1, 0]
    assert [number for number, _ in Records("launch", 2, "large").found] == [3, 2]
    records.add((9, "x" * 300_000), 1)
    assert [number for number, _ in Records("launch", 2, "large").found] == [3, 2]


# -- the code --------------------------------------------------------------------------------------


def test_all_code_of_a_stage_is_in_its_key() -> None:
    """What computes a stage, and what that imports; others launch, or describe a call."""
    stamped = {os.path.realpath(path) for path in derived.code_files("CUDA C++ source")}
    begun = "kerneltk.cuda_cpp.program", "kerneltk.pipeline", "kerneltk.backends."
    others = "kerneltk.launch.", "kerneltk.textures", "kerneltk.graphs"
    pending = [name for name in MODULES if name.startswith(begun) and not name.startswith(others)]
    for name in pending:  # which grows on the way
        if not name.startswith(others):
            assert os.path.realpath(MODULES[name]) in stamped, name
            tree = ast.parse(MODULES[name].read_text())
            pending += [m for m in imports_of(tree) if m not in (*pending, "kerneltk")]
    libraries = {Path(path).name.partition(".")[0] for path in stamped if path.endswith(".so")}
    assert libraries == {"_binding"}  # the parser's and the grammar's


def test_all_templates_are_in_the_key_of_sources() -> None:
    stamped = {os.path.realpath(path) for path in derived.code_files("source")}
    assert stamped >= {str(path) for path in (ROOT / "kerneltk/templates").glob("*.j2")}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that computes sources."""
    inner = tmp_path / "own_package" / "inner"
    inner.mkdir(parents=True)
    for directory in (inner.parent, inner):
        (directory / "__init__.py").write_text("")
        (directory / "part.py").write_text("x = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(derived._CODE, "source", ("own_package", "missing_package"))
    monkeypatch.setattr(kerneltk, "_import_began", time.time_ns() + 3600 * 10**9)
    return inner.parent


def digest() -> str | None:
    derived._code_of.cache_clear()
    derived._interpreter.cache_clear()
    return derived.code_digest("source")


@pytest.fixture(autouse=True)
def forget(request: pytest.FixtureRequest) -> Any:
    yield
    if "package" in request.fixturenames:
        derived._code_of.cache_clear()
        derived._interpreter.cache_clear()


def test_changes_give_another_digest(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {None, digest()}
    assert len(known) == 2
    (package / "notes.txt").write_text("2")
    (package / ".#lock.py").symlink_to("nowhere")  # as editors leave it
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "part.py").write_text("")
    assert digest() in known
    for path in (package / "part.py", package / "inner" / "part.py"):
        status = path.stat()
        path.write_text("x = 2")  # as long, and of the same time
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert digest() not in known
        known.add(digest())
    (package / "inner" / "more.py").write_text("")
    assert digest() not in known
    known.add(digest())
    interpreters = [
        ("numpy.__version__", "0"),
        ("kerneltk.__version__", "0"),
        ("kerneltk.cache.derived.sys", SimpleNamespace(version=sys.version, flags=())),
        ("kerneltk.cache.derived.sys", SimpleNamespace(version="3", flags=sys.flags)),
    ]
    for name, value in interpreters:
        with monkeypatch.context() as context:
            context.setattr(name, value)
            assert digest() not in known
    assert digest() in known


def test_code_that_was_changed_after_the_import_is_not_known(
    package: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    time.sleep(0.05)
    monkeypatch.setattr(kerneltk, "_import_began", time.time_ns())
    assert digest() is not None
    (package / "part.py").write_text("x = 2")
    assert digest() is None
    # What a process keeps for itself, no fixture forgets: the inputs are this test's own.
    inputs = (str(package),)
    assert derive("source", inputs, lambda: "b", str) == "b"
    assert derive("source", inputs, lambda: "c", str) == "b"  # for this process
    assert not cache.entries()


@pytest.mark.parametrize("how", ["directory", "link"])
def test_code_that_was_moved_after_the_import_is_not_known(
    package: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    inner, other = package / "inner", package.parent / "other"
    shutil.copytree(inner, other)
    time.sleep(0.05)
    monkeypatch.setattr(kerneltk, "_import_began", time.time_ns())
    assert digest() is not None
    inner.rename(package.parent / "old")
    if how == "link":
        inner.symlink_to(other)
    else:
        other.rename(inner)
    assert digest() is None


def test_code_that_changes_while_it_computes_is_not_known(package: Path, cache: Cache) -> None:
    assert digest() is not None

    def compute() -> str:
        (package / "inner" / "part.py").write_text("x = 2")
        return "b"

    assert derive("source", ("a",), compute, str) == "b"
    assert not cache.entries()
    assert derive("source", ("c",), lambda: "d", str) == "d"
    assert not cache.entries()
    assert digest() is not None
    assert derive("source", ("a",), lambda: "e", str) == "e"
    assert len(cache.entries()) == 1


# -- what reads records ----------------------------------------------------------------------------


class Item(NamedTuple):
    name: str
    kind: Literal["a", "b"] | None
    sizes: tuple[int, ...] = ()
    flags: tuple[tuple[bool, str], ...] = ()


ITEM = Item("x", "a", (1, 2), ((True, "t"),))


def test_records_of_named_tuples_are_read() -> None:
    kind = tuple[tuple[Item, ...], str]
    value = ((ITEM, ITEM._replace(kind=None)), "end")
    read = derived.reader_of(kind)(json.loads(json.dumps(value)))
    assert read == value
    assert type(read[0][0]) is Item
    assert hash(read) == hash(value)


@pytest.mark.parametrize(
    "record",
    [
        None, 0, "x", {}, [], ["x"], ["x", "c", [], []], [1, "a", [], []], ["x", "a", [""], []],
        ["x", "a", 3, []], ["x", "a", [], [[True]]], ["x", "a", [], [["t", True]]],
        ["x", "a", [], [], 1], "xaxa",
    ],
)  # fmt: skip
def test_what_is_no_such_record_is_refused(record: Any) -> None:
    with pytest.raises(derived.NOT_READ):
        derived.reader_of(Item)(record)


# -- processes -------------------------------------------------------------------------------------

# Prints how many kernels it finds in each of some sources, and does what is said in between.
COMMAND = """
import json, os, sys
import kerneltk
def kernels(name):
    source = "__global__ void %s(int* x) { x[0] = 1; }" % name
    from kerneltk.cuda_cpp.syntax.cached import read_source
    return len(read_source(source).kernels)
found = []
for step in json.loads(sys.argv[1]):
    if isinstance(step, str):
        found.append(kernels(step))
    elif step[0] == "import":
        __import__(step[1])
    else:
        getattr(os, step[0])(*step[1:])
print(json.dumps(found))
"""
READER = "kerneltk.cuda_cpp.syntax.reader"
BROKEN = "\n_read_source = read_source\ndef read_source(s): return _read_source('')\n"


@pytest.fixture
def copies(tmp_path: Path) -> tuple[Path, Path]:
    """The package twice, as it is and with a reader that finds nothing."""
    good, broken = tmp_path / "good", tmp_path / "broken"
    ignored = shutil.ignore_patterns("__pycache__", "demo", "operators")
    for root in (good, broken):
        shutil.copytree(ROOT / "kerneltk", root / "kerneltk", ignore=ignored)
    with open(broken / "kerneltk/cuda_cpp/syntax/reader.py", "a") as file:
        file.write(BROKEN)
    time.sleep(2.1)  # new files have other stamps for a while
    return good, broken


def in_process(root: Path, *steps: Any) -> list[int]:
    done = python(
        *("-c", COMMAND, json.dumps(steps)),
        cwd=root.parent,
        PYTHONPATH=os.pathsep.join([str(root), *sys.path]),
        KERNELTK_CACHE_DIR=str(root.parent / "cache"),
    )
    assert done.returncode == 0, done.stderr
    found: list[int] = json.loads(done.stdout)
    return found


def moved(*paths: Path) -> list[tuple[str, ...]]:
    """The steps that move each path to where the next one was."""
    return [("rename", str(one), str(other)) for one, other in itertools.pairwise(paths)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("what", ["kerneltk", "kerneltk/cuda_cpp/syntax/reader.py"])
def test_results_of_old_code_are_not_read_by_new_code(
    copies: tuple[Path, Path], what: str, tmp_path: Path
) -> None:
    """The code changes between the import and the first derivation."""
    good, broken = copies
    change = [*moved(broken / what, tmp_path / "old"), *moved(good / what, broken / what)]
    assert in_process(broken, ("import", READER), *change, "f") == [0]
    assert in_process(broken, "f") == [1]
    assert in_process(broken, "f") == [1]
