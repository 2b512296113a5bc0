"""Counts what tells how simple the package is: ``python -m tests.measures``.

Lines of Python and C, kinds of disk entry, tables of memos, dispatchers, generated Python that is
executed, and the modules of a process's first call by front-end, with a filled compile cache.
``--list`` names what is counted.
"""

from __future__ import annotations

import argparse
import ast
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.call_traces import FRONT_ENDS, ROOT, first_call

Trees = dict[str, ast.Module]
# Where kernels and what launches them are; in other packages, tables are those of one analysis.
_OF_KERNELS = re.compile(
    r"(?:elementwise|reduction|raw|graphs)\.py|(?:launch|operators)/|jit/(?:frontends|launch|numba)/"
    r"|cuda_cpp/[^/]*\.py|fusion/[^/]*\.py|fusion/plan/(?:steps|program)\.py"
)
_TABLE = re.compile(r"\{\}|\w*(?:Dict|dict|Dictionary)\(.*\)")
_MEMO = re.compile(r"(?:functools\.)?(?:lru_)?cache(?:\(.*\))?")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.measures", description=__doc__)
    parser.add_argument("--list", action="store_true", help="name what is counted")
    parser.add_argument("--no-calls", action="store_true", help="leave first calls out")
    options = parser.parse_args()
    trees = {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
    }
    rows = [
        ("lines of kerneltk/**/*.py", f"{_lines(ROOT.rglob('*.py')):,}"),
        ("modules", f"{len(trees)}"),
        ("lines of C in launch/ and backends/", f"{_lines(_c_files()):,}"),
        ("lines of templates and headers", f"{_lines(_files(ROOT / 'templates')):,}"),
    ]
    counted: dict[str, list[str]] = {}
    for what, count in COUNTED.items():
        counted[what] = [
            f"{path}:{node.lineno} {ast.unparse(node).splitlines()[0][:90]}"
            for path, node in count(trees)
        ]
        rows.append((what, f"{len(counted[what])}"))
    if not options.no_calls:
        rows += _first_calls()
    width = max(len(what) for what, _ in rows)
    for what, number in rows:
        print(f"{what:{width}}  {number:>9}")
    if options.list:
        for what, found in counted.items():
            print(f"\n{what}:", *found, sep="\n  ")


def _lines(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def _c_files() -> Iterator[Path]:
    for folder in ("launch", "backends"):
        yield from (path for path in _files(ROOT / folder) if path.suffix in (".c", ".h"))


def _files(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.is_file() and path.suffix != ".pyc")


# -- what is counted -------------------------------------------------------------------------------

Found = Iterator[tuple[str, ast.stmt | ast.expr]]


def _calls(trees: Trees, function: str) -> Found:
    """Calls of functions whose spelling is this."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and re.fullmatch(function, ast.unparse(node.func)):
                yield path, node


def entries(trees: Trees) -> Found:
    """The stages of the store."""
    for node in trees["cache/derived.py"].body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_CODE":
            assert isinstance(node.value, ast.Dict)
            yield from (("cache/derived.py", key) for key in node.value.keys if key is not None)


def tables(trees: Trees) -> Found:
    """Dicts that an object begins with empty."""
    for path, tree in trees.items():
        for node in ast.walk(tree) if _OF_KERNELS.match(path) else ():
            if isinstance(node, ast.AnnAssign | ast.Assign) and node.value is not None:
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                if ast.unparse(target).startswith("self.") and _TABLE.fullmatch(
                    ast.unparse(node.value)
                ):
                    yield path, node


def memos(trees: Trees) -> Found:
    """Functions that remember their results."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                for decorator in node.decorator_list:
                    if _MEMO.fullmatch(ast.unparse(decorator)):
                        yield path, ast.Name(f"{node.name}", lineno=node.lineno)


def dispatchers(trees: Trees) -> Found:
    """Where adopted arguments are launched with: each is a way of its own from a call to it."""
    yield from _calls(trees, r"(?:arguments\.)?adoption\.launching")


def executions(trees: Trees) -> Found:
    yield from _calls(trees, "exec|eval")


def inner_imports(trees: Trees) -> Found:
    for path, tree in trees.items():
        inside = {
            id(node): node
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        yield from ((path, node) for node in inside.values())


COUNTED: dict[str, Callable[[Trees], Found]] = {
    "kinds of disk entry": entries,
    "tables of memos in kernels": tables,
    "functions that remember their results": memos,
    "dispatchers": dispatchers,
    "exec and eval of generated Python": executions,
    "imports inside functions": inner_imports,
}


def _first_calls() -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as directory:
        for name in FRONT_ENDS:
            first_call(name, Path(directory))  # which compiles
            found = first_call(name, Path(directory))
            yield f"first call, {name}: modules that take part", f"{len(found.modules)}"
            yield f"first call, {name}: modules that are loaded", f"{len(found.loaded)}"


if __name__ == "__main__":
    main()
