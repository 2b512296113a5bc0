"""Where the text and the tree of a function come from."""

from __future__ import annotations

import ast
import functools
import importlib
import linecache
import math
import os
import subprocess
import sys
import types
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import SourceError
from kerneltk.jit.source import exec_sources
from kerneltk.jit.source.function_source import source_of, words_for
from kerneltk.jit.source.text import FunctionSource

Load = Callable[..., dict[str, Any]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return a function that writes a file ``kernels.py``, runs it and returns its names."""

    def write_and_run(text: str, **names: Any) -> dict[str, Any]:
        path = tmp_path / "kernels.py"
        path.write_bytes(text.encode())
        return run(text, str(path), **names)

    return write_and_run


def run(text: str, name: str, **names: Any) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "kernels", "__file__": name, **names}
    exec(compile(text, name, "exec", dont_inherit=True), scope)
    return scope


@pytest.fixture
def register() -> Iterator[Callable[[str, str], None]]:
    """Return a function that puts source into linecache for the time of the test."""
    names = []

    def put(name: str, text: str) -> None:
        names.append(name)
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)

    yield put
    for name in names:
        linecache.cache.pop(name, None)


@functools.lru_cache(maxsize=4)
def tree_of(text: str) -> dict[tuple[type, int, int], ast.AST]:
    nodes = ast.walk(ast.parse(text))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return {
        (type(node), node.lineno, node.col_offset): node
        for node in nodes
        if isinstance(node, functions)
    }


def same(function: Any, **facts: Any) -> FunctionSource:
    """Check the source against the whole file's own tree, and return it."""
    source = source_of(function)
    node = tree_of(source.text)[type(source.node), source.node.lineno, source.node.col_offset]
    for name, value in facts.items():
        assert getattr(source, name) == value
    assert ast.dump(source.node, include_attributes=True) == ast.dump(node, include_attributes=True)
    return source


def message(function: object) -> str:
    with pytest.raises(SourceError) as caught:
        source_of(function)  # type: ignore[arg-type]
    return str(caught.value)


def passing(*_: Any) -> Callable[[Any], Any]:
    return lambda function: function


# -- definitions ----------------------------------------------------------------------------------


def plain(x, y):  # type: ignore[no-untyped-def]
    return x + y


def checked(x, n):  # type: ignore[no-untyped-def]
    """Pytest rewrites this function, so that its code is not the text's."""
    assert 0 <= n < 10, "too many"
    assert x[n] == (1, -2) or not math.isnan(n)
    return x[n]


def test_code_that_a_tool_has_added_to() -> None:
    assert any(name.startswith("@py") for name in checked.__code__.co_varnames)
    same(checked)


DEFINITIONS = {
    "decorated": "@passing(1)\n@passing(\n    2,\n3)\n\n# about\n@passing()\ndef f(x):\n    pass\n",
    "decorated by lambdas": "@(lambda g: g)\n@passing(lambda: 0)\ndef f(x):\n  return x\n",
    "one line": "def f(x): return x; y = 1\nz = 2\n",
    "last without a line feed": "def f(x):\n    return x",
    "indented by one": "if 1:\n def f(x):\n  return x\n y = 1\n",
    "in if": "if True:\n    def f(x):\n        return x\nelse:\n    y = 1\n",
    "in try": "try:\n    @passing()\n    def f(x):\n        return x\nfinally:\n    y = 1\n",
    "in with": "with open('/dev/null'):\n    def f(x):\n        return x\n",
    "in many": "if 1:\n  for i in range(1):\n    while 1:\n      def f(x):\n          y = x\n\n\n"
    "# far out\n          return y\n      break\n",
    "tabs": "if 1:\n\tdef f(x):\n\t\tif x:\n\t\t\treturn x\n\t\treturn 2\n\ty = 1\n",
    "tabs and spaces": "if 1:\n  \tdef f(x):\n  \t    if x:\n  \t    \treturn x\n  \tx = 1\n",
    "form feeds": "x = 1\n\f\ndef f(x):\n    y = x\n\f\n    return y\n\f\nz = 1\n",
    "not ascii": "if 1:\n    # ±\n    def f(größe, ß='ü€𝄞'):\n        return 'ü', ß, größe\n",
    "text dedented further": 'if 1:\n    def f(x):\n        s = """\nabc\n  def f(x):\n# no\n'
        '"""\n        return s + """\n0\n"""\n    y = 1\n',
    "text at the end": "if 1:\n    def f(x):\n        x\n        '''\na\n    c\n'''\n    y = 1\n",
    "very long text at the end": "def f(x):\n    x\n    '''\n" + "a\n" * 50 + "'''\ny = 1\n",
    "docstring only": 'if 1:\n    def f(x):\n        """\nAbc.\n        """\n\ny = 1\n',
    "brackets dedented": "def f(x):\n    return (x +\nx\n\n)\ny = 1\n",
    "header dedented": "if 1:\n    def f(\nx,\n    y=(1,\n2),\n) -> (\nint\n):\n        return x\n",
    "continued": "def f(x):\n    y = x + \\\n1\n    return \\\n  y \\\n\ny = 1\n",
    "nothing after the header": "def f(x): ...\n",
    "comments behind": "if 1:\n    def f(x):\n        return x\n    # 1\n# 2\n        # 3\n",
    "dead code behind": "def f(x):\n    return x\n    if x:\n        y = x\n    return y\nz = 1\n",
    "escapes": "def f(x):\n    '''\\alpha \\d'''\n    assert (x, 'always')\n    return x is 1\n",
    "generator": "def f(x):\n    yield x\n    yield from x\n",
    "all arguments": "def f(a, /, b: 'int', c=1, *d, e, g=(lambda: 1), **h) -> 'T':\n  return a\n",
    "numbers": "def f(x):\n    return x + 1e999 - (1e999 - 1e999) * -0.0 + 1j, (1, 1., None)\n",
    "sets": "def f(x):\n    return x in {'a', 'b', 'c', 1, 2.5}\n",
    "functions inside": "def f(x):\n    def f(y: int):\n        return lambda: x\n    class A:\n"
    "        z = x\n    return f, A, [x for x in x]\n",
    "annotations that are text": "from __future__ import annotations\ndef f(x: Unknown):\n"
    "    def g(y: Unknown): ...\n    z: Unknown = 1\n    return g\n",
    "carriage returns": "if 1:\r\n    def f(x):\r\n        '''a\r\nb'''\r\n        return x\r\n",
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("text", DEFINITIONS.values(), ids=DEFINITIONS)
def test_definitions(load: Load, text: str) -> None:
    for before in ("", "import os\n\n\n"):
        if before and "__future__" in text:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = load(before + text, passing=passing)["f"]
        with warnings.catch_warnings(record=True) as given_again:
            warnings.simplefilter("always")
            source = source_of(function)
        assert not given_again
        assert source.text == (before + text).replace("\r\n", "\n").rstrip("\n") + "\n"
        assert source.name == "f"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(function)


NESTED = """\
def make(scale, *, größe=1):
    base = 0
    class Model:
        __hidden = 2
        def method(self, __x):
            self.__y = __x * scale
            return __class__, größe
        @staticmethod
        @passing(1)
        def static(x):
            nonlocal base
            base = x
            return base
        @classmethod
        def of_class(cls): pass
        def outer(self):
            def inner(__z): return __z.__w + scale
            return inner
    def closure(x):
        return x * scale
    class _Other(Model):
        def method(self, x):
            return super().method(x).__z
    def empty():
        nonlocal base
        class __(int):
            def method(self, x): return x.__y
        return __.method
    return Model, closure, _Other, empty, lambda x: [x * scale + y for y in x]
"""


def test_closures_and_methods(load: Load) -> None:
    model, closure, other, empty, function = load(NESTED, passing=passing)["make"](3)
    same(closure, name="closure")
    same(model.method, name="method")
    same(model.static, name="static")
    same(model().outer(), name="inner")
    same(other.method)
    same(empty)
    same(empty())
    same(function, name="<lambda>")


@pytest.mark.parametrize(
    "imports",
    [
        "import jit, numpy as np\nfrom m import (a, # one\n  b,\n)",
        "import numpy as np, jit\ntry:\n    from m import b, c as a\nexcept ImportError: pass",
        "a = b = 0\ndef g():\n    import jit, np\n    from m import a, b",
        "import jit; import numpy as np\nfrom m import *",
        '"""\nimport a, b, jit\n"""',
    ],
)
def test_calls_of_what_is_imported(load: Load, imports: str) -> None:
    # Python compiles these calls in two ways.
    text = f"""
if 0:
    {imports.replace(chr(10), chr(10) + "    ")}
def f(x):
    jit.syncthreads()
    a.add(x, b.c(1), jit.d.e(2))
    return np.float32(x.size()), [np.int32(y) for y in x]
g = lambda x: jit.a(x, b.c(x)) + x.a(a.c())
"""
    names = load(text)
    same(names["f"])
    same(names["g"])


# -- lambdas --------------------------------------------------------------------------------------

LAMBDAS = {
    "assigned": ("f = lambda x: x + 1\n", ["lambda x: x + 1"]),
    "passed": ("f = passing()(lambda x, y=1: (x, y))\n", ["lambda x, y=1: (x, y)"]),
    "on one line": (
        "f = [lambda x: x + 1, lambda x: x + 2, lambda x: x + 1, lambda y: (y)]\n",
        ["lambda x: x + 1", "lambda x: x + 2", "lambda x: x + 1", "lambda y: (y)"],
    ),
    "one inside the other": (
        "f = (lambda x: lambda y: (lambda: x + y))\nf = [f, f(1), f(1)(2)]\n",
        ["lambda x: lambda y: (lambda: x + y)", "lambda y: (lambda: x + y)", "lambda: x + y"],
    ),
    "defaults": (
        "f = lambda x=(lambda x: 1): x\nf = [f, f()]\n",
        ["lambda x=(lambda x: 1): x", "lambda x: 1"],
    ),
    "several lines": (
        "f = passing(1,\n  2)(\n    # first\n    lambda x: (  # second\nx\n  +  1),\n)\n",
        ["lambda x: (  # second\nx\n  +  1)"],
    ),
    "body on the next line": ("f = (lambda x:\n\n   x)\n", ["lambda x:\n\n   x"]),
    "two over lines": (
        "f = [lambda x: (x +\n 1), lambda y: (y +\n 1)]\n",
        ["lambda x: (x +\n 1)", "lambda y: (y +\n 1)"],
    ),
    "not ascii": (
        "ü = 1; f = ['ü', lambda ß: ß + 'ü€𝄞', lambda ß: ß + 'ü€𝄞', lambda x: ü][1:]\n",
        ["lambda ß: ß + 'ü€𝄞'", "lambda ß: ß + 'ü€𝄞'", "lambda x: ü"],
    ),
    "in a class": ("class A:\n    def __m(s): pass\n    f = lambda s, __x: s.__m(__x)\nf = A.f\n",
                   ["lambda s, __x: s.__m(__x)"]),
    "no arguments": ("f = [lambda: 1, lambda: None, lambda: 2]\n",
                     ["lambda: 1", "lambda: None", "lambda: 2"]),
    "branches": ("f = [lambda x: (x) and (1) or (2), lambda x: (1 if x else 2)]\n",
                 ["lambda x: (x) and (1) or (2)", "lambda x: (1 if x else 2)"]),
    "captured": ("f = [(lambda y: x + y) for x in (1, 2)]\n", ["lambda y: x + y"] * 2),
    "generator": ("f = lambda x: (yield x)\n", ["lambda x: (yield x)"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "parts"), LAMBDAS.values(), ids=LAMBDAS)
def test_lambdas(load: Load, text: str, parts: list[str]) -> None:
    found = load("import os\n\n" + text, passing=passing)["f"]
    functions = found if isinstance(found, list) else [found]
    place = 0
    for function, part in zip(functions, parts, strict=True):
        source = same(function, name="<lambda>")
        assert ast.get_source_segment(source.text, source.node) == part
        start = source.snippet(source.span(source.node)).start
        if part.count("lambda") == 1 and text.count("f(") == text.count("for") == 0:
            assert start > place  # not the same one twice
        place = start


# -- places ---------------------------------------------------------------------------------------


# -- where texts come from ------------------------------------------------------------------------


def test_encoded_files(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    text = "# coding: latin-1\ndef f(größe):\n    return größe + 'ü', größe\n"
    path.write_bytes(text.encode("latin-1"))
    same(run(text, str(path))["f"], text=text)
    path.write_bytes(b"\xef\xbb\xbf" + text[18:].encode())
    same(run(text[18:], str(path))["f"], text=text[18:])


CELL = "x = 1\ndef f(x):\n    return x\n\ng = lambda x: x\n"


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("<ipython-input-3-0123456789ab>", "In [3]"),
        ("/tmp/ipykernel_123/456.py", "the cell"),
        ("<stdin>-4", "<stdin>-4"),
        ("<python-input-4>", "<python-input-4>"),
        ("<generated 1>", "<generated 1>"),
        ("/nowhere/generated.py", "generated.py"),
    ],
)
def test_registered_texts(register: Callable[[str, str], None], name: str, origin: str) -> None:
    register(name, CELL)
    names = run(CELL, name)
    same(names["f"], origin=origin, path=name, text=CELL)
    same(names["g"], origin=origin, path=name, text=CELL)


def test_ipython_knows_its_cells(
    register: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"/tmp/ipykernel_1/2.py": ("Cell", "In[7]")}
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name=known.get))
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)  # type: ignore[arg-type]
    for number, origin in (2, "In [7]"), (3, "the cell"):
        register(f"/tmp/ipykernel_1/{number}.py", CELL)
        same(run(CELL, f"/tmp/ipykernel_1/{number}.py")["f"], origin=origin)
    monkeypatch.setattr(ipython, "get_ipython", lambda: None)
    assert source_of(run(CELL, "/tmp/ipykernel_1/2.py")["f"]).origin == "the cell"


def test_zipped_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "archive.zip"
    text = "\n\ndef f(x):\n    return 'ü', x\n"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped_kernels/__init__.py", "")
        file.writestr("zipped_kernels/inner.py", text)
    monkeypatch.syspath_prepend(str(archive))
    module = importlib.import_module("zipped_kernels.inner")
    path = str(archive / "zipped_kernels" / "inner.py")
    same(module.f, origin="inner.py", path=path, text=text)


# -- what is no function --------------------------------------------------------------------------


class Callable_:  # noqa: N801
    def method(self) -> None: ...

    @classmethod
    def of_class(cls) -> None: ...


_BOUND = "decorate the function itself; take the values that are bound from around it"


@pytest.mark.parametrize(
    ("value", "words", "hint"),
    [
        (functools.update_wrapper(functools.partial(plain, 1), plain), "a functools.partial",
         _BOUND),
        (functools.partialmethod(plain, 1), "a functools.partialmethod", _BOUND),
        (math.sin, "'sin', which is not written in Python", "call it from a Python function"),
        (str.upper, "'upper', which is not written in Python", "call it from a Python function"),
        (np.sin, "an object of class 'ufunc'", "decorate a function"),
        (Callable_, "the class 'Callable_'", "decorate a function, or one of the class's methods"),
        (Callable_(), "an object of class 'Callable_'", "decorate a function"),
        (Callable_().method, "'Callable_.method' bound to an object",
         "take the method from its class; its first argument is passed as the others are"),
        (Callable_.__dict__["of_class"], "the class method 'of_class'", "make it a staticmethod"),
        (1, "an object of class 'int'", "decorate a function"),
        (None, "an object of class 'NoneType'", "decorate a function"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_no_functions(value: object, words: str, hint: str) -> None:
    assert words_for(value) == (words, hint)


# -- no text --------------------------------------------------------------------------------------

_REGISTER = (
    "  Hint: write the text to a file, or register it in linecache.cache under the name that "
    "compile() is given"
)


def python(*arguments: str, given: str = "") -> str:
    """Return the output of a new interpreter."""
    root = str(Path(kerneltk.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    return done.stdout


PRINT = """
from kerneltk.jit.source.function_source import source_of
def f(x):
    return x

try:
    print(source_of(f).line(1))
except ValueError as error:
    print(error)

"""


@pytest.mark.parametrize("arguments", [("-i", "-q"), ("-",)], ids=["typed", "standard input"])
def test_text_that_python_reads_from_standard_input(arguments: tuple[str, ...]) -> None:
    printed = python(*arguments, given=PRINT)
    is_new = sys.version_info >= (3, 13)  # keeps what is typed
    if is_new and arguments != ("-",):
        assert printed == "def f(x):\n"
        return
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    also = "" if is_new else ", and so does Python 3.13"
    assert printed == (
        f"The text of 'f' cannot be had: Python {version} does not keep what it reads from "
        "standard input.\n  Hint: put the function in a file; IPython and Jupyter keep what is "
        f"typed{also}\n"
    )


def test_command_line() -> None:
    assert python("-c", PRINT) == "\n"  # the first line of the whole text
    made = PRINT.replace("def f(x)", "exec('def f(x): return x')\ndef g(x)")
    assert "is not the one that 'f' was compiled from" in python("-c", made)


def test_text_of_exec() -> None:
    exec_sources.record()
    scopes = [run(f"\ndef f(x):\n    return x {op} 1", "<string>") for op in "+-"]
    assert [source_of(s["f"]).line(3) for s in scopes] == ["    return x + 1", "    return x - 1"]
    made = eval("lambda x: (x, 1)")
    assert source_of(made).line(1) == "lambda x: (x, 1)"


_NO_FILE = (
    "The text of 'f' cannot be had: there is no file '{}' that can be read.\n"
    "  Hint: a kernel is made from its Python text: keep the .py file beside what is compiled"
)


def test_no_file() -> None:
    function = run("def f(x): pass", "/nowhere/kernels.py")["f"]
    assert message(function) == _NO_FILE.format("/nowhere/kernels.py")


def test_unreadable_files(tmp_path: Path, load: Load) -> None:
    function = load("def f(x):\n    return x\n")["f"]
    path = tmp_path / "kernels.py"
    path.write_bytes(b"# coding: utf-8\n'\xff'\n")
    assert message(function) == _NO_FILE.format(path)
    path.unlink()
    path.mkdir()
    assert message(function) == _NO_FILE.format(path)


# -- another text ---------------------------------------------------------------------------------

BEFORE = "import os\ndef f(x, *, n=1):\n    y = x[n] * 2\n    return y + 1\n"
EDITS = {
    "a line more": "\n" + BEFORE,
    "another name": BEFORE.replace("f(", "g("),
    "another number": BEFORE.replace("2", "3"),
    "another operation": BEFORE.replace("+", "-"),
    "a lambda": "import os\nf = lambda x, *, n=1: x[n] * 2 + 1\n",
    "no function": "import os\n" + "x = 1\n" * 5,
    "no Python": "import os\n?\n",
    "broken": BEFORE.replace("return", "return ("),
    "null characters": "import os\ndef f(x):\n    \0\n",
    "nothing": "",
}


@pytest.mark.parametrize("text", EDITS.values(), ids=EDITS)
def test_edited_files(tmp_path: Path, load: Load, text: str) -> None:
    function = load(BEFORE)["f"]
    same(function)
    path = tmp_path / "kernels.py"
    path.write_text(text)
    os.utime(path, (1, 1))  # an edit of the same length within the clock's grain is not seen
    lines = (text + "\n\n\n").split("\n")
    snippet = ""
    if lines[1].strip():
        carets = f"{'^' * len(lines[1].strip()):>{len(lines[1])}}"
        snippet = f"  kernels.py:2: {lines[1]}\n                {carets}\n"
    assert message(function) == (
        "The text at line 2 of kernels.py is not the one that 'f' was compiled from.\n"
        f"{snippet}  Hint: {_CHANGED}"
    )


@pytest.mark.parametrize(
    "text",
    [
        BEFORE.replace("y = ", "# about\n\n    y = ").replace("* 2", "*   (2)"),
        BEFORE.replace("n=1", "n: int = 5"),
        BEFORE + "broken (\n",
        BEFORE.replace("def", "@g\ndef"),
    ],
)
def test_edits_that_change_nothing(tmp_path: Path, load: Load, text: str) -> None:
    function = load(BEFORE)["f"]
    (tmp_path / "kernels.py").write_text(text)
    assert source_of(function).text == text


_CHANGED = "the file was changed after Python had read it: start Python again, or reload the module"


def test_edited_lambdas(tmp_path: Path, load: Load) -> None:
    function = load("f = lambda x: x + 1\n")["f"]
    texts = ("f = lambda x: x + 2\n", "f = lambda y: y + 1\n", "f = [x + 1 for x in y]\n", "?\n")
    for number, text in enumerate(texts):
        (tmp_path / "kernels.py").write_text(text)
        os.utime(tmp_path / "kernels.py", (number, number))
        assert message(function) == (
            "The text at line 1 of kernels.py is not the one that the lambda of line 1 was "
            f"compiled from.\n  kernels.py: {text}              {'^' * (len(text) - 1)}\n"
            f"  Hint: {_CHANGED}"
        )


def test_other_texts_of_the_same_name(register: Callable[[str, str], None]) -> None:
    register("<string>", "a = 1\nb = 2\n")
    assert message(run("def f(x): pass", "<string>")["f"]) == (
        "The text at line 1 of <string> is not the one that 'f' was compiled from.\n"
        f"  <string>:1: a = 1\n              ^^^^^\n{_REGISTER}"
    )
    register("<ipython-input-3-abc>", "a = 1\nb = 2\n")
    assert message(run("def f(x): pass", "<ipython-input-3-abc>")["f"]) == (
        "The text at line 1 of In [3] is not the one that 'f' was compiled from.\n"
        "  In [3]:1: a = 1\n            ^^^^^\n  Hint: run the cell again"
    )


# -- variety --------------------------------------------------------------------------------------
