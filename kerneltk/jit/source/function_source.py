"""Where the text and the syntax tree of a decorated Python function come from.

The text is what `linecache` has: files, notebook cells, modules in archives, doctests, and whatever
a program registers there; else what `exec_sources` has recorded. Of a file only the function's own
lines are parsed, behind as many empty lines as the file has before them, so that all positions are
the file's.

A file may have been edited since Python read it. So the lines that were found are compiled, and
the result is compared with the function's own code. Equal code is accepted. Code that has all names
and constants of the text, and more of them, is accepted too: tools that rewrite functions (pytest
its assertions, type checkers, profilers) only add. An edit that only takes away is therefore not
noticed; one that adds or replaces a name, a number or an operation is.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import functools
import inspect
import keyword
import linecache
import os
import re
import symtable
import sys
import tokenize
import types
import warnings
from collections.abc import Hashable, Iterator
from typing import Any, TypeAlias

from kerneltk.core.records import lasting_lock
from kerneltk.errors import Snippet, SourceError, render_message
from kerneltk.jit.source import exec_sources
from kerneltk.jit.source.text import LAMBDA, FunctionNode, FunctionSource, characters, layout_of

_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IPYTHON_INPUT = re.compile(r"<ipython-input-(\d+)-")
_IPYKERNEL_FILE = re.compile(r"[/\\]ipykernel_\d+[/\\]\d+\.py$")
_KIND_FLAGS = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
_ANNOTATIONS = annotations.compiler_flag  # what the import from __future__ binds


def source_of(function: types.FunctionType, known: tuple[str, str] | None = None) -> FunctionSource:
    """The source and the syntax tree of a Python function; `known` is what `text_of` returned
    earlier.

    Of one made with ``functools.wraps`` they are its own, not those of the function that it wraps:
    a call runs its own code. Raises SourceError where there is no source, or has
    changed since the function was compiled.
    """
    code = function.__code__
    path, text = known or text_of(function)
    node: FunctionNode | None
    node = _lambda_in(text, code) if code.co_name == LAMBDA else _definition_in(text, code)
    if node is None:
        raise _another_text(function, path, text)
    return FunctionSource(function.__name__, origin_of(path), path, text, node)


def text_of(function: types.FunctionType) -> tuple[str, str]:
    """The full name and the text of the file or cell that a function's code is from. Raises
    SourceError where there is no source.
    """
    path = function.__code__.co_filename
    if not path.startswith("<"):
        path = os.path.abspath(path)
    return path, _text_of(function, path)


# -- the function ---------------------------------------------------------------------------------


def words_for(value: Any) -> tuple[str, str]:
    """Description of, and hint for, an object that is no Python function."""
    name = getattr(value, "__name__", "")
    if isinstance(value, functools.partial | functools.partialmethod):
        hint = "decorate the function itself; take the values that are bound from around it"
        return f"a functools.{type(value).__name__}", hint
    if isinstance(value, type):
        hint = "decorate a function, or one of the class's methods"
        return f"the class '{value.__qualname__}'", hint
    if isinstance(value, types.MethodType):
        hint = "take the method from its class; its first argument is passed as the others are"
        function = getattr(value.__func__, "__qualname__", value.__func__)
        return f"'{function}' bound to an object", hint
    if isinstance(value, classmethod):
        return f"the class method '{name}'", "make it a staticmethod"
    if isinstance(value, _NATIVE):
        return f"'{name}', which is not written in Python", "call it from a Python function"
    return f"an object of class '{type(value).__name__}'", "decorate a function"


_NATIVE = (
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)


# -- the text -------------------------------------------------------------------------------------


# By name: the list that linecache handed out, and its lines joined. The functions of a file share
# one string, and as linecache keeps its list until the file changes, so does this.
_joined: dict[str, tuple[list[str], str]] = {}


def _text_of(function: types.FunctionType, path: str) -> str:
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    scope = function.__globals__
    # The loader of a module would give its text for any name, also that of a text given to exec.
    own = _stem(str(scope.get("__file__", ""))) == _stem(filename) or filename.startswith("<")
    lines = linecache.getlines(filename, scope if own else None)
    if not lines and filename.startswith("<"):
        lines = _lines_of_prompt(function)
    if not lines and os.path.isfile(path) and not os.path.getsize(path):
        lines = ["\n"]  # newer Pythons' linecache says this too
    if not lines:
        raise _no_text(function, path)
    known = _joined.get(filename)
    if known is not None and known[0] is lines:
        return known[1]
    # Programs that register text are not always careful about the ends of lines.
    text = "".join(line if line.endswith("\n") else line + "\n" for line in lines)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    _joined[filename] = lines, text
    return text


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _lines_of_prompt(function: types.FunctionType) -> list[str]:
    """Return the text that newer Pythons keep of what is typed, by code and not by name; else one
    that was given to exec, or that stands behind ``python -c``.
    """
    with contextlib.suppress(OSError, TypeError):
        return inspect.findsource(function)[0]
    is_main = function.__globals__ is getattr(sys.modules.get("__main__"), "__dict__", None)
    before = len(sys.orig_argv) - len(sys.argv)  # what follows the text are the program's arguments
    is_text = function.__code__.co_filename == "<string>" and sys.argv[:1] == ["-c"]
    lines = _lines_of_compiled(function.__code__)
    if not lines and is_main and is_text and before > 0:
        return sys.orig_argv[before].splitlines(keepends=True)
    return lines


def _lines_of_compiled(code: types.CodeType) -> list[str]:
    """Return the lines of a compiled text that gives exactly this code, or none."""
    sign = "lambda" if code.co_name == LAMBDA else f"def {code.co_name}"
    for text in reversed(tuple(exec_sources.recorded)):  # other threads may add to it
        if sign in text:
            module = _quietly(text, code.co_flags & _ANNOTATIONS)
            if module and code in _codes(module, code.co_name, code.co_firstlineno):
                return [text]
    return []


def origin_of(path: str) -> str:
    """What messages call a file or a cell."""
    match = _IPYTHON_INPUT.match(path)
    if match:
        return f"In [{match[1]}]"
    if _IPYKERNEL_FILE.search(path):
        return _cell_by_ipython(path) or "the cell"
    return path if path.startswith("<") else os.path.basename(path)


def _cell_by_ipython(path: str) -> str | None:
    """Return ``In [3]`` if IPython runs and knows the file as its cell of that number."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)
    match = re.search(r"In ?\[(\d+)\]", str(name_of(path))) if name_of else None
    return f"In [{match[1]}]" if match else None


# -- the tree -------------------------------------------------------------------------------------

_warnings_lock = lasting_lock()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Compile text again, of which Python has given all warnings already."""
    with _warnings_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _quietly(text: str, flags: int) -> Any:
    """Return the compiled source, or None if it is no Python."""
    with _quiet():
        try:
            return compile(text, exec_sources.OWN_NAME, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError):  # a ValueError for null characters
            return None


def _definition_in(text: str, code: types.CodeType) -> _Definition | None:
    lines = layout_of(text).lines
    first = code.co_firstlineno
    if first > len(lines):
        return None
    node = _parsed_alone(lines, first)
    if node is None:
        found = (n for n in _functions_of(text).get(first, ()) if isinstance(n, _DEFINITIONS))
        node = next(found, None)
    if node is None or node.name != code.co_name:
        return None
    block = "\n".join(lines[first - 1 : node.end_lineno])
    indented = _indent(lines[first - 1]) > 0
    return None if _likeness(code, block, text, indented=indented) is _Likeness.NONE else node


def _parsed_alone(lines: list[str], first: int) -> _Definition | None:
    """Return the function that starts at a line, and is the whole of its lines; else None: the text
    is parsed whole then.
    """
    try:
        block = inspect.getblock([f"{line}\n" for line in lines[first - 1 :]])
    except (SyntaxError, tokenize.TokenError):
        return None
    before = "\n" * (first - 1)
    if _indent(lines[first - 1]):
        before = "\n" * (first - 2) + "if 1:\n"
    module = _quietly(before + "".join(block), ast.PyCF_ONLY_AST)
    body = [] if module is None else module.body
    if body and isinstance(body[0], ast.If):
        body = body[0].body
    return body[0] if len(body) == 1 and isinstance(body[0], _DEFINITIONS) else None


def _indent(line: str) -> int:
    """Return how far a line is indented, with a tab as wide as a space.

    Python refuses blocks whose order of depth depends on the width of tabs.
    """
    white = line[: len(line) - len(line.lstrip(" \t\f"))]
    return len(white) - white.rfind("\f") - 1


@functools.lru_cache(maxsize=16)
def _functions_of(text: str) -> dict[int, list[FunctionNode]]:
    """Return all functions of a whole text by their first line, decorators included."""
    found: dict[int, list[FunctionNode]] = {}
    module = _quietly(text, ast.PyCF_ONLY_AST)
    if module is not None:
        for node in ast.walk(module):
            if isinstance(node, _DEFINITIONS):
                decorators = node.decorator_list
                first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
                found.setdefault(first, []).append(node)
            elif isinstance(node, ast.Lambda):
                found.setdefault(node.lineno, []).append(node)
    return found


def _lambda_in(text: str, code: types.CodeType) -> ast.Lambda | None:
    nodes = _functions_of(text).get(code.co_firstlineno, [])
    candidates = [node for node in nodes if isinstance(node, ast.Lambda)]
    place = _place_of(code)
    if place is not None:
        # The code of a function around this one holds this one's place too: the innermost first.
        within = [node for node in candidates if _holds(node.body, place)]
        within.sort(key=lambda node: (node.body.lineno, node.body.col_offset), reverse=True)
        candidates = within + [node for node in candidates if node not in within]
    found = None
    for node in candidates:
        likeness = _likeness(code, f"({_segment(text, node)}\n)", text, indented=False)
        if likeness is _Likeness.EQUAL:
            return node
        if likeness is _Likeness.PART and found is None:
            found = node
    return found


_Place: TypeAlias = tuple[tuple[int, int], tuple[int, int]]


def _place_of(code: types.CodeType) -> _Place | None:
    """Return from where to where the code's instructions come, or None if Python dropped that."""
    begins, ends = [], []
    for line, end_line, column, end_column in code.co_positions():
        # What enters a function stands at its first line, from column 0 to 0.
        if line is not None and end_line is not None and column is not None and end_column:
            begins.append((line, column))
            ends.append((end_line, end_column))
    return (min(begins), max(ends)) if begins else None


def _holds(node: ast.expr, place: _Place) -> bool:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begin, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return begin <= place[0] and place[1] <= end


def _segment(text: str, node: ast.expr) -> str:
    layout = layout_of(text)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begin = layout.starts[node.lineno - 1]
    begin += characters(layout.lines, node.lineno, node.col_offset)
    end = layout.starts[node.end_lineno - 1]
    end += characters(layout.lines, node.end_lineno, node.end_col_offset)
    return text[begin:end]


# -- is it the same function? ---------------------------------------------------------------------


_IMPORT = re.compile(r"^[ \t]*(?:from|import)\b(?:[^(#\n]*\([^)]*\)|[^#\n]*)", re.MULTILINE)


class _Likeness(enum.Enum):
    """What the code of a text is to a function's: another one, a part of it, or the same."""

    NONE = enum.auto()
    PART = enum.auto()
    EQUAL = enum.auto()


def _likeness(code: types.CodeType, block: str, text: str, *, indented: bool) -> _Likeness:
    """Compile the text of one function, and compare. `text` is that of the whole file."""
    headers = []
    owner = _owner(code)
    if owner is not None and "__" in block:  # names with two underscores get the class's name
        headers.append(f"class {owner}:")
    if code.co_freevars:
        headers.append(f"def _({', '.join(filter(str.isidentifier, code.co_freevars))}):")
    if indented and not headers:
        headers.append("if 1:")
    around = "".join(" " * depth + header + "\n" for depth, header in enumerate(headers))
    if not indented:
        around += " " * len(headers)
    # The code of a class knows its line. Only lambdas can be on a line with what is around them.
    before = max(code.co_firstlineno - 1 - len(headers), 0)
    first = before + len(headers) + 1
    around = "\n" * before + around
    # Python calls the attributes of names that a module imports by other instructions than methods.
    likeness = _Likeness.NONE
    for imports in (_imports_at_a_glance, _imports):
        module = _quietly(f"{around}{block}\n\n{imports(text)}\n", code.co_flags & _ANNOTATIONS)
        if module is None:
            continue
        found = list(_codes(module, code.co_name, first))
        if found:
            likeness = _compare(code, found[-1])  # lambdas in its own defaults come before
        if likeness is not _Likeness.NONE:
            break
    return likeness


@functools.lru_cache(maxsize=64)
def _imports_at_a_glance(text: str) -> str:
    """Return a statement that imports every word of what look like import statements."""
    words = re.findall(r"\w+", " ".join(_IMPORT.findall(text)))
    return _import_of({word for word in words if not keyword.iskeyword(word)})


@functools.lru_cache(maxsize=64)
def _imports(text: str) -> str:
    """Return statements with exactly the names that the text imports outside of functions."""
    with _quiet():
        try:
            symbols = symtable.symtable(text, exec_sources.OWN_NAME, "exec").get_symbols()
        except (SyntaxError, ValueError):
            return ""
    imports = _import_of({symbol.get_name() for symbol in symbols if symbol.is_imported()})
    # A module that mentions super outside of functions may have replaced it.
    return f"{imports}\nsuper" if any(s.get_name() == "super" for s in symbols) else imports


def _import_of(names: set[str]) -> str:
    return f"import {', '.join(sorted(names))}" if names else ""


def _owner(code: types.CodeType) -> str | None:
    """Return the innermost class around a function."""
    around = code.co_qualname.split(".")[:-1]
    for name, behind in zip(reversed(around), [None, *reversed(around)], strict=False):
        if behind != "<locals>" and name.isidentifier():
            return name
    return None


def _codes(around: types.CodeType, name: str, line: int) -> Iterator[types.CodeType]:
    """Yield the functions of that name and first line that are not inside of one another."""
    for code in around.co_consts:
        if isinstance(code, types.CodeType):
            if code.co_name == name and code.co_firstlineno == line:
                yield code
            else:
                yield from _codes(code, name, line)


def _compare(code: types.CodeType, compiled: types.CodeType) -> _Likeness:
    if _signature(code) != _signature(compiled):
        return _Likeness.NONE
    if _content(code) == _content(compiled):
        return _Likeness.EQUAL
    words, expected = set(_words(code)), set(_words(compiled))
    if words == expected:  # a profiler may append instructions that do nothing
        appended = len(code.co_code) > len(compiled.co_code)
        part = appended and code.co_code.startswith(compiled.co_code)
    else:
        part = expected < words
    return _Likeness.PART if part else _Likeness.NONE


def _signature(code: types.CodeType) -> tuple[Hashable, ...]:
    kinds = code.co_flags & _KIND_FLAGS
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(kinds & inspect.CO_VARARGS) + bool(kinds & inspect.CO_VARKEYWORDS)
    return (
        code.co_name,
        kinds,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_varnames[:count],
    )


def _content(code: types.CodeType) -> tuple[Hashable, ...]:
    """Return a key of what code does, without its file and lines."""
    constants = (
        (_signature(c), _content(c)) if isinstance(c, types.CodeType) else _constant(c)
        for c in _constants(code)
    )
    names = code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars
    return (code.co_code, names, *constants)


def _words(code: types.CodeType) -> Iterator[Hashable]:
    """Yield the names and the constants of code, and of the functions in it."""
    yield from code.co_names
    yield from code.co_varnames
    yield from code.co_cellvars
    yield from code.co_freevars
    for constant in _constants(code):
        if isinstance(constant, types.CodeType):
            yield from _words(constant)
        else:
            yield _constant(constant)


def _constants(code: types.CodeType) -> Iterator[Any]:
    for constant in code.co_consts:
        # The code of a class knows its qualified name, which depends on what is around it.
        if constant != code.co_qualname or code.co_flags & inspect.CO_OPTIMIZED:
            yield constant


def _constant(value: Any) -> Hashable:
    return type(value), value if value == value else "nan"


# -- messages -------------------------------------------------------------------------------------

_REGISTER = (
    "write the text to a file, or register it in linecache.cache under the name that "
    "compile() is given"
)


def _called(function: types.FunctionType) -> str:
    code = function.__code__
    if code.co_name == LAMBDA:
        return f"the lambda of line {code.co_firstlineno}"
    return f"'{function.__name__}'"


def _no_text(function: types.FunctionType, path: str) -> SourceError:
    hint = "a kernel is made from its Python text: keep the .py file beside what is compiled"
    if path == "<stdin>":
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        reason = f"Python {version} does not keep what it reads from standard input"
        hint = "put the function in a file; IPython and Jupyter keep what is typed"
        if sys.version_info < (3, 13):
            hint += ", and so does Python 3.13"
    elif path.startswith("<"):
        reason = f"no source is known by the name '{path}'"
        hint = _REGISTER
    else:
        reason = f"there is no file '{path}' that can be read"
    sentence = f"The text of {_called(function)} cannot be had: {reason}."
    return SourceError(render_message(sentence, hint=hint))


def _another_text(function: types.FunctionType, path: str, text: str) -> SourceError:
    first = function.__code__.co_firstlineno
    origin = origin_of(path)
    if _IPYTHON_INPUT.match(path) or _IPYKERNEL_FILE.search(path):
        hint = "run the cell again"
    elif path.startswith("<"):
        hint = _REGISTER
    else:
        hint = (
            "the file was changed after Python had read it: start Python again, or reload the "
            "module"
        )
    lines = layout_of(text).lines
    snippets = []
    if first <= len(lines) and lines[first - 1].strip():
        snippets.append(Snippet.at_line(origin, text, first, None))
    sentence = f"The text at line {first} of {origin} is not the one that {_called(function)} "
    return SourceError(render_message(f"{sentence}was compiled from.", *snippets, hint=hint))
