"""Reads CUDA C++ source: which kernels and variables it declares, and what it holds beside them.

The source is parsed by tree-sitter's CUDA grammar, after
:mod:`kerneltk.cuda_cpp.syntax.preprocess` has taken away what belongs to the preprocessor.
Nothing here decides whether the source is valid: the compiler does.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from kerneltk.cuda_cpp.syntax.host_code import is_host_header, is_host_text, is_test_macro
from kerneltk.cuda_cpp.syntax.preprocess import (
    Prepared,
    Word,
    included_name,
    prepare,
    split_arguments,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

__all__ = [
    "DeclaredKernel",
    "DeclaredParameter",
    "DeclaredSymbol",
    "DynamicShared",
    "Include",
    "SourceSummary",
    "Unsupported",
    "blank_host_code",
    "mangled_name",
    "parse",
    "read_source",
]

Memory = Literal["constant", "device", "managed"]
UnsupportedKind = Literal[
    "inline PTX",
    "tensor cores",
    "asynchronous copy",
    "texture",
    "surface",
    "cluster",
    "launch from a kernel",
    "header",
]


@dataclass(frozen=True, slots=True)
class DeclaredParameter:
    """A parameter of a kernel.

    Parameters
    ----------
    name : str
        Empty where it has none.
    type : str
        Its type as written, without name, comments and line breaks; an array is a pointer.
    start, end : int
        The declaration's characters in the text.
    """

    name: str
    type: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DeclaredKernel:
    """A ``__global__`` function.

    Parameters
    ----------
    name : str
        With its namespaces: ``"ns::foo"``. Anonymous ones have no name and are left out.
    parameters : tuple of DeclaredParameter
    template_parameters : tuple of str
        As written: ``("class T", "int N = 3")``; empty for a kernel that is no template.
    is_extern_c, is_static, is_anonymous : bool
        Declared ``extern "C"``; ``static``; in an anonymous namespace.
    is_definition : bool
        Whether it has a body.
    launch_bounds : tuple of str
        The arguments of ``__launch_bounds__`` as written.
    doc : str
        The comment right above, without the marks of a comment.
    line : int
        One-based line of its name.
    start, end : int
        The whole declaration's characters in the text.
    guard : str
        The condition, for ``#if``, under which the compiler sees it; empty where always.
    """

    name: str
    parameters: tuple[DeclaredParameter, ...]
    template_parameters: tuple[str, ...]
    is_extern_c: bool
    is_static: bool
    is_anonymous: bool
    is_definition: bool
    launch_bounds: tuple[str, ...]
    doc: str
    line: int
    start: int
    end: int
    guard: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredSymbol:
    """A variable in device memory.

    Parameters
    ----------
    name : str
        With its namespaces, as :class:`DeclaredKernel` has it.
    memory : {"constant", "device", "managed"}
    type : str
        As written, with the extents of an array: ``"float[4][N]"``.
    line : int
        One-based.
    is_anonymous : bool
        Whether it is in an anonymous namespace.
    guard : str
        As :class:`DeclaredKernel` has it.
    """

    name: str
    memory: Memory
    type: str
    line: int
    is_anonymous: bool = False
    guard: str = ""


@dataclass(frozen=True, slots=True)
class DynamicShared:
    """An ``extern __shared__`` array.

    Parameters
    ----------
    name : str
        Without namespaces.
    type : str
        The elements' type, as written; a template's parameter where it stands in a template.
    scope : tuple of str
        The namespaces around it; empty text for an anonymous one.
    symbol : str
        The variable's name for the linker, as g++ and clang have it.
    line : int
        One-based.
    guard : str
        As :class:`DeclaredKernel` has it.
    """

    name: str
    type: str
    scope: tuple[str, ...]
    symbol: str
    line: int
    guard: str = ""


@dataclass(frozen=True, slots=True)
class Include:
    """An ``#include``.

    Parameters
    ----------
    name : str
    is_quoted : bool
        Whether it is in quotes, and so is looked for beside the file first.
    line : int
        One-based.
    guard : str
        As :class:`DeclaredKernel` has it.
    """

    name: str
    is_quoted: bool
    line: int
    guard: str = ""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something that cannot run on CPU cores.

    Parameters
    ----------
    kind : str
        What it is.
    word : str
        The user's own word for it: ``"asm"``, ``"tex2D"``, ``"cub/cub.cuh"``.
    line : int
        One-based.
    guard : str
        As :class:`DeclaredKernel` has it.
    """

    kind: UnsupportedKind
    word: str
    line: int
    guard: str = ""

    @property
    def is_conditional(self) -> bool:
        """Whether only some compilations see it."""
        return bool(self.guard)


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """What a text of CUDA C++ declares.

    Parameters
    ----------
    kernels : tuple of DeclaredKernel
        In the text's order. One in several branches of a conditional comes several times.
    symbols : tuple of DeclaredSymbol
    dynamic_shared : tuple of DynamicShared
        One for each variable.
    host_functions : tuple of (int, int)
        The characters of each function at namespace scope that only the host runs.
    unsupported : tuple of Unsupported
    includes : tuple of Include
    host_code : tuple of (int, int)
        The characters of all that only the host has a use for: `host_functions`, their prototypes,
        variables of the host, what names the host's libraries.
    """

    kernels: tuple[DeclaredKernel, ...]
    symbols: tuple[DeclaredSymbol, ...]
    dynamic_shared: tuple[DynamicShared, ...]
    host_functions: tuple[tuple[int, int], ...]
    unsupported: tuple[Unsupported, ...]
    includes: tuple[Include, ...]
    host_code: tuple[tuple[int, int], ...] = ()

    @property
    def quoted_includes(self) -> tuple[str, ...]:
        """The names in ``#include "..."`` lines, in order."""
        return tuple(include.name for include in self.includes if include.is_quoted)


def read_source(text: str) -> SourceSummary:
    """Return what a text of CUDA C++ declares.

    What the grammar does not understand is left out; nothing is raised for it.

    Examples
    --------
    >>> summary = read_source("__global__ void scale(float* x, int n) { x[0] *= n; }")
    >>> [(p.type, p.name) for p in summary.kernels[0].parameters]
    [('float*', 'x'), ('int', 'n')]
    """
    prepared = prepare(text)
    reader = _Reader(prepared)
    for plain, words in prepared.variants():
        _Variant(reader, plain, words).read()
    return reader.summary()


def blank_host_code(text: str, summary: SourceSummary) -> str:
    r"""Return a text with blanks for what only the host has a use for; lines stay where they are.

    Parameters
    ----------
    text : str
    summary : SourceSummary
        What :func:`read_source` returned for this very text.

    Examples
    --------
    >>> text = "__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n"
    >>> blank_host_code(text, read_source(text)).rstrip()
    '__global__ void k() {}'
    """
    parts: list[str] = []
    position = 0
    for start, end in summary.host_code:
        if end > max(start, position):
            start = max(start, position)
            parts += text[position:start], _blanked(text[start:end])
            position = end
    return "".join((*parts, text[position:]))


_ANNOTATED = re.compile(r"\b__(?:global|device|shared|constant)__\b")
_MACRO = re.compile(r"(\w+)(\([^()]*\))?[\s\\]*(.*)", re.DOTALL)
_BLACK = re.compile(r"[^\r\n\t ]")
_CONDITIONAL = re.compile(
    r"^([ \t]*#[ \t]*(if|elif|else|endif)\w*\b(?:[^\n]*\\\r?\n)*[^\n]*)", re.MULTILINE
)


def _blanked(text: str) -> str:
    """Return blanks for a text; of conditionals that begin or end outside of it, what is inside
    stays.
    """
    pieces = _CONDITIONAL.split(text)
    depth, is_whole = 0, True
    for word in pieces[2::3]:
        depth += {"if": 1, "endif": -1}.get(word, 0)
        is_whole = is_whole and depth >= (0 if word in ("if", "endif") else 1)
    if is_whole and depth == 0:
        return _BLACK.sub(" ", text)
    blank = [_BLACK.sub(" ", piece) for piece in pieces[::3]]
    return "".join(a + b for a, b in zip(blank, [*pieces[1::3], ""], strict=True))


def mangled_name(name: str, scope: tuple[str, ...] = (), *, is_extern_c: bool = False) -> str:
    """Return a variable's name for the linker, by the Itanium C++ ABI.

    Parameters
    ----------
    name : str
        Without namespaces.
    scope : tuple of str
        The namespaces around it; empty text for an anonymous one.
    is_extern_c : bool
        Whether it has C linkage.

    Examples
    --------
    >>> mangled_name("s"), mangled_name("s", ("ns", "inner"))
    ('s', '_ZN2ns5inner1sE')
    """
    if is_extern_c or not scope:
        return name
    parts = [part or "_GLOBAL__N_1" for part in scope]
    return "_ZN" + "".join(f"{len(part.encode())}{part}" for part in (*parts, name)) + "E"


_IDENTIFIERS = frozenset(
    ("identifier", "field_identifier", "type_identifier", "operator_name", "destructor_name")
)
_STORAGE = re.compile(
    r"\b(?:static|extern|inline|thread_local|register|constexpr|constinit|typename)\b"
)
_BUILTIN_TYPES = frozenset(
    ("void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned",
     "auto", "decltype")
)  # fmt: skip
_HEAD_WORDS = _BUILTIN_TYPES | {
    "static", "inline", "extern", "const", "volatile", "constexpr", "consteval", "register",
    "struct", "class", "enum", "union", "typename", "friend", "virtual", "explicit", "operator",
    "restrict", "__restrict__", "__restrict", "thread_local",
}  # fmt: skip
_MEMORIES: tuple[tuple[str, Memory], ...] = (
    ("__constant__", "constant"),
    ("__managed__", "managed"),
    ("__device__", "device"),
)
_BODIES = frozenset(("function_definition", "field_declaration_list", "compound_statement"))
_CLASSES = frozenset(("class_specifier", "struct_specifier", "union_specifier"))
_MAY_NAME_HOST = frozenset(
    ("type_definition", "alias_declaration", "using_declaration", "expression_statement")
)
_SCOPES = frozenset(("translation_unit", "declaration_list", "ERROR"))

_FINDINGS: tuple[tuple[UnsupportedKind, re.Pattern[str]], ...] = (
    ("inline PTX", re.compile(r"\b(asm|__asm__|__asm)\b(?=[^;{}()]*\((?!\s*\"\"\s*[:)]))")),
    ("tensor cores", re.compile(r"\b(wmma|nvcuda|__[iw]?mma_\w+)\b(?=\s*::|\s*\()")),
    (
        "asynchronous copy",
        re.compile(r"\b(__pipeline_\w+|memcpy_async|cp_async\w*|__nvvm_cp_async\w*)\b"),
    ),
    (
        "texture",
        re.compile(
            r"\b(cudaTextureObject_t|texture(?=\s*<)|tex(?:1D|2D|3D|Cubemap)\w*(?=\s*[<(]))"
        ),
    ),
    (
        "surface",
        re.compile(
            r"\b(cudaSurfaceObject_t|surface(?=\s*<)|surf(?:1D|2D|3D|Cubemap)\w*(?=\s*[<(]))"
        ),
    ),
    ("cluster", re.compile(r"\b(this_cluster|cluster_group)\b")),
)  # fmt: skip
_DEVICE_HEADER = re.compile(
    r"(?:cub|thrust|cuda|cutlass|cute|nvshmem\w*|nvcuda)/.*"
    r"|cooperative_groups/memcpy_async\.h"
    r"|(?:crt/)?mma\.hp*|cuda_pipeline\w*\.h|cuda_awbarrier\w*\.h|curand\w*_kernel\.h"
    r"|curandDx\w*|cublasdx\w*|cufftdx\w*|cuda_fp[468]\.h\w*|nvshmem\w*\.h"
    r"|(?:texture|surface)_(?:fetch|indirect)?_?\w*functions\.h|(?:texture|surface)_types\.h"
)


@cache
def _parser() -> Parser:
    # Only who has a kernel in CUDA C++ needs it.
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


def parse(plain: str) -> Node:
    """Return the syntax tree of C++ that is all ASCII, so that its bytes are its characters."""
    return _parser().parse(plain.encode("ascii")).root_node


@dataclass(slots=True)
class _Scope:
    """What is around a declaration."""

    names: tuple[str, ...] = ()
    is_extern_c: bool = False
    template: tuple[str, ...] | None = None
    start: int = -1

    def qualified(self, name: str) -> str:
        return "::".join((*filter(None, self.names), name))


class _Reader:
    """Collects what the variants of one text hold."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.kernels: dict[tuple[object, ...], DeclaredKernel] = {}
        self.symbols: dict[tuple[object, ...], DeclaredSymbol] = {}
        self.shared: dict[tuple[object, ...], DynamicShared] = {}
        self.host: dict[tuple[int, int], None] = {}
        self.host_code: dict[tuple[int, int], None] = {}
        self.host_classes: set[str] = set()
        self.prototypes: dict[tuple[int, int], str] = {}
        self.macro_words: set[str] = set()
        self.host_macros = self.find_host_macros()
        self.unsupported: dict[tuple[object, ...], Unsupported] = {}

    def find_host_macros(self) -> re.Pattern[str] | None:
        """Return what finds uses of macros that stand for code of the host."""
        names = []
        for directive in self.prepared.directives:
            found = _MACRO.match(directive.argument) if directive.name == "define" else None
            if found is None:
                continue
            self.macro_words.update(re.findall(r"\w+", found[3]))
            is_instantiation = re.match(r"template\b(?!\s*<)", found[3]) is not None
            is_host = is_instantiation or is_host_text(found[3])
            if found[2] and is_host and not _ANNOTATED.search(found[3]):
                names.append(found[1])
        return re.compile(rf"\b({'|'.join(names)})\b[ \t]*(?=\()") if names else None

    def leave_out_prototypes(self) -> None:
        """Leave out the prototypes of functions that only code of the host calls."""
        names = set(self.prototypes.values())
        places = sorted((*self.host_code, *self.prototypes))
        starts = [start for start, _ in places]
        used = names & self.macro_words
        for word in re.finditer(r"\b[A-Za-z_]\w*", self.prepared.plain) if names else ():
            if word[0] in names and word[0] not in used:
                offset = self.prepared.start_of(word.start())
                index = bisect_left(starts, offset + 1)
                if not any(offset < end for _, end in places[max(index - 8, 0) : index]):
                    used.add(word[0])
        self.host_code.update(
            (span, None) for span, name in self.prototypes.items() if name not in used
        )

    def add_unsupported(self, kind: UnsupportedKind, word: str, offset: int) -> None:
        line = self.prepared.line_of(offset)
        found = Unsupported(kind, word, line, self.prepared.guard_of(offset))
        self.unsupported.setdefault((kind, word, line), found)

    def summary(self) -> SourceSummary:
        prepared = self.prepared
        self.leave_out_prototypes()
        includes: list[Include] = []
        for directive in prepared.directives:
            offset = directive.start
            if prepared.is_dead(offset):
                continue
            if named := included_name(directive):
                line = prepared.line_of(directive.end)
                includes.append(Include(*named, line, prepared.guard_of(offset)))
                if is_host_header(named[0]) or self.is_unused_library(named[0]):
                    self.host_code[directive.start, directive.end] = None
                elif _DEVICE_HEADER.fullmatch(named[0]):
                    self.add_unsupported("header", named[0], offset)
            elif directive.name == "define":
                # Where such a macro is used, nobody would find the word.
                for kind, pattern in _FINDINGS[:3]:
                    masked = re.sub(r'"[^"]+"', '" "', directive.argument)
                    if found := pattern.search(masked):
                        self.add_unsupported(kind, found[1], offset)
        kernels = sorted(self.kernels.values(), key=lambda kernel: (kernel.start, kernel.end))
        defined = {kernel.name for kernel in kernels if kernel.is_definition}
        declared = {_form(k): k.launch_bounds for k in kernels if not k.is_definition}
        return SourceSummary(
            kernels=tuple(
                replace(k, launch_bounds=k.launch_bounds or declared.get(_form(k), ()))
                for k in kernels
                if k.is_definition or k.name not in defined
            ),
            symbols=tuple(sorted(self.symbols.values(), key=lambda symbol: symbol.line)),
            dynamic_shared=tuple(sorted(self.shared.values(), key=lambda shared: shared.line)),
            host_functions=tuple(sorted(self.host)),
            unsupported=tuple(sorted(self.unsupported.values(), key=lambda u: (u.line, u.word))),
            includes=tuple(includes),
            host_code=tuple(sorted(self.host_code)),
        )

    def is_unused_library(self, header: str) -> bool:
        """Return whether a header's library is named by nothing but code of the host."""
        found = re.match(r"(thrust|cub)/", header)
        if found is None or not self.host_code:
            return False
        return not any(
            not any(
                start <= self.prepared.start_of(use.start()) < end for start, end in self.host_code
            )
            for use in re.finditer(rf"\b{found[1]}\b", self.prepared.plain)
        )


class _Variant:
    """Reads the text with one branch of each conditional."""

    def __init__(self, reader: _Reader, plain: str, words: list[Word]) -> None:
        self.reader = reader
        self.prepared = reader.prepared
        self.plain = plain
        self.words = words
        self.word_starts = [word.start for word in words]
        self.claimed: set[int] = set()
        self.root = parse(plain)

    def read(self) -> None:
        stack = [(self.root, _Scope())]
        while stack:
            node, scope = stack.pop()
            inner = self.visit(node, scope)
            if inner is not None:
                stack += ((child, inner) for child in reversed(node.children))
        for word in self.words:
            if word.name == "__global__" and word.start not in self.claimed:
                self.recover_kernel(word)
            elif word.name == "__shared__":
                self.read_shared(word)
            elif word.name == "__cluster_dims__":
                offset = self.prepared.start_of(word.start)
                self.reader.add_unsupported("cluster", word.name, offset)
        self.find_unsupported()
        self.find_host_macros()

    def find_host_macros(self) -> None:
        """Leave out, at namespace scope, uses of macros that stand for code of the host."""
        if self.reader.host_macros is None:
            return
        for use in self.reader.host_macros.finditer(self.plain):
            end = _closing_parenthesis(self.plain, use.end(1))
            before = self.plain[: use.start(1)].rstrip()[-1:]
            if end > 0 and before in ("", ";", "}", "{", ")") and self.is_outside(use.start(1)):
                behind = re.compile(r"[ \t]*;").match(self.plain, end)
                end = behind.end() if behind else end
                span = self.prepared.start_of(use.start(1)), self.prepared.end_of(end)
                self.reader.host_code[span] = None

    def is_outside(self, position: int) -> bool:
        """Return whether a place is in no function and no class."""
        node = self.root.descendant_for_byte_range(position, position + 1)
        while node is not None and node.type not in _BODIES:
            node = node.parent
        return node is None

    def visit(self, node: Node, scope: _Scope) -> _Scope | None:
        """Read a node of namespace scope; return the scope of its children if they are, too."""
        kind = node.type
        if kind in _SCOPES:
            return scope
        if kind == "namespace_definition":
            return _Scope((*scope.names, *self.namespace_names(node)), scope.is_extern_c)
        if kind == "linkage_specification":
            value = node.child_by_field_name("value")
            is_c = value is not None and self.slice(value) == '"C"'
            body = node.child_by_field_name("body")
            is_block = body is not None and body.type == "declaration_list"
            return _Scope(scope.names, is_c, None, -1 if is_block else self.head_start(node))
        if kind == "template_declaration":
            found = node.child_by_field_name("parameters")
            template = (
                tuple(_collapse(self.slice(c)) for c in found.named_children) if found else ()
            )
            if scope.template:  # a member template of a template
                template = scope.template + template
            start = scope.start if scope.start >= 0 else self.head_start(node)
            return _Scope(scope.names, scope.is_extern_c, template, start)
        if kind == "function_definition":
            self.read_function(node, scope)
        elif kind == "declaration":
            self.read_declaration(node, scope)
        elif kind in _CLASSES:
            self.read_class(node, scope)
        elif kind == "template_instantiation":
            self.read_instantiation(node, scope)
        elif kind in _MAY_NAME_HOST and is_host_text(self.plain[node.start_byte : node.end_byte]):
            self.leave_out(node, scope)
        return None

    # Places and words

    def slice(self, node: Node) -> str:
        return self.prepared.shown[node.start_byte : node.end_byte]

    def head_start(self, node: Node) -> int:
        """Return where a declaration begins: at the attributes right before it, if any."""
        start = node.start_byte
        index = bisect_left(self.word_starts, start)
        while index > 0:
            word = self.words[index - 1]
            if self.plain[word.start : start].strip():
                break
            start = word.start
            index -= 1
        return start

    def words_between(self, start: int, end: int) -> list[Word]:
        low = bisect_left(self.word_starts, start)
        return self.words[low : bisect_left(self.word_starts, end)]

    def namespace_names(self, node: Node) -> list[str]:
        name = node.child_by_field_name("name")
        if name is None:
            return [""]
        return [part.strip() for part in re.split(r"::(?:\s*inline\b)?", self.slice(name))]

    def scope_at(self, position: int) -> tuple[_Scope, list[Node]]:
        """Return the scope at a place, and the functions around it, the innermost first."""
        names: list[str] = []
        is_extern_c = is_decided = False
        functions: list[Node] = []
        node = self.root.descendant_for_byte_range(position, position + 1)
        while node is not None:
            if node.type == "namespace_definition":
                names[:0] = self.namespace_names(node)
            elif node.type == "linkage_specification" and not is_decided:
                value = node.child_by_field_name("value")
                is_extern_c = value is not None and self.slice(value) == '"C"'
                is_decided = True
            elif node.type == "function_definition":
                functions.append(node)
            node = node.parent
        return _Scope(tuple(names), is_extern_c), functions

    # Functions

    def read_function(self, node: Node, scope: _Scope) -> None:
        declarator = _function_declarator(node)
        body = node.child_by_field_name("body")
        if declarator is None:
            return
        start = self.head_start(node)
        words = self.words_between(start, body.start_byte if body else node.end_byte)
        names = {word.name for word in words}
        if "__global__" in names:
            self.claimed.update(word.start for word in words)
            self.add_kernel(node, declarator, scope, start, words, is_definition=True)
            return
        name_node = _declared_name(declarator)
        if "__device__" in names or name_node is None:
            return
        name = self.slice(name_node)
        if self.is_host_function(node, name_node, start):
            span = self.span(node, scope)
            self.reader.host_code[span] = None
            if scope.template is None:
                self.reader.host[span] = None
        elif name.partition("::")[0] in self.reader.host_classes or (
            is_host_text(self.plain[start : node.end_byte])
        ):
            self.leave_out(node, scope)

    def is_host_function(self, node: Node, name: Node, start: int) -> bool:
        """Return whether a function without an annotation, that is no template, is the host's."""
        spelled = self.slice(name)
        if spelled == "main":
            return True
        head = self.plain[start : name.start_byte]
        if name.type == "qualified_identifier" or re.search(r"\bconst(?:expr|eval)\b", head):
            return False
        if node.child_by_field_name("type") is None and name.type == "identifier":
            return is_test_macro(spelled)  # `KERNEL(name) {`, with a macro of an included file
        return not has_unknown_macro(head)

    def span(self, node: Node, scope: _Scope) -> tuple[int, int]:
        """Return the characters in the text of a declaration, with what belongs to it."""
        begin = scope.start if scope.start >= 0 else self.head_start(node)
        end = node.end_byte
        behind = re.compile(r"\s*;").match(self.plain, end)
        if node.type in _CLASSES and behind is not None:
            end = behind.end()
        return self.prepared.start_of(begin), self.prepared.end_of(end)

    def leave_out(self, node: Node, scope: _Scope) -> None:
        self.reader.host_code[self.span(node, scope)] = None

    def read_instantiation(self, node: Node, scope: _Scope) -> None:
        """Leave out an explicit instantiation of a function: name expressions ask for kernels, and
        what they call is instantiated anyway.
        """
        if _function_declarator(node) is not None:
            self.leave_out(node, scope)

    def read_class(self, node: Node, scope: _Scope) -> None:
        """Leave out a class of the host, or the members that only the host can call."""
        body = node.child_by_field_name("body")
        if body is None:
            return
        names_host = is_host_text(self.plain[node.start_byte : node.end_byte])
        words = self.words_between(node.start_byte, node.end_byte)
        if names_host and not words:
            name = node.child_by_field_name("name")
            if name is not None:
                self.reader.host_classes.add(self.slice(name))
            self.leave_out(node, scope)
            return
        if not names_host and not any(word.name == "__host__" for word in words):
            return
        for member in body.named_children:
            found = self.words_between(self.head_start(member), member.end_byte)
            names = {word.name for word in found}
            if names.isdisjoint(("__device__", "__global__")) and (
                "__host__" in names or is_host_text(self.plain[member.start_byte : member.end_byte])
            ):
                self.leave_out(member, _Scope())

    def read_declaration(self, node: Node, scope: _Scope) -> None:
        start = self.head_start(node)
        declarators = node.children_by_field_name("declarator")
        if not declarators:
            return
        words = self.words_between(start, declarators[0].end_byte)
        names = {word.name for word in words}
        if "__global__" in names:
            declarator = _function_declarator(node)
            if declarator is not None:
                self.claimed.update(word.start for word in words)
                self.add_kernel(node, declarator, scope, start, words, is_definition=False)
            return
        memory = next((memory for word, memory in _MEMORIES if word in names), None)
        if memory is None and "__shared__" not in names:
            self.read_host_declaration(node, scope, declarators)
        if memory is None or scope.template is not None or "__shared__" in names:
            return
        head = _STORAGE.sub(" ", self.plain[node.start_byte : declarators[0].start_byte])
        for declarator in declarators:
            self.add_symbol(declarator, head, memory, scope)

    def read_host_declaration(self, node: Node, scope: _Scope, declarators: list[Node]) -> None:
        """Leave out a prototype or a variable without an annotation: the host's.

        Constants stay, since device code may use them.
        """
        text = self.plain[node.start_byte : node.end_byte]
        head = self.plain[node.start_byte : declarators[0].start_byte]
        name = _declared_name(declarators[0])
        if is_host_text(text):
            self.leave_out(node, scope)
        elif (
            name is None
            or re.search(r"\bconst(?:expr|eval|init)\b", head)
            or has_unknown_macro(self.plain[node.start_byte : name.start_byte])
            or any(child.type in _CLASSES for child in node.named_children)
        ):
            return
        elif name.parent is not None and name.parent.type == "function_declarator":
            self.reader.prototypes[self.span(node, scope)] = self.slice(name)
        else:
            declared = [self.plain[d.start_byte : d.end_byte] for d in declarators]
            pointers = [d for d in declared if d.startswith("*")]
            is_const = all(re.match(r"(?:\*\s*)+const\b", d) for d in pointers)
            if scope.template is None and not (is_const and (pointers or "const" in head)):
                self.leave_out(node, scope)

    def add_symbol(self, node: Node, head: str, memory: Memory, scope: _Scope) -> None:
        declarator = node
        if node.type == "init_declarator":
            declarator = node.child_by_field_name("declarator") or node
        name_node = _declared_name(declarator)
        if name_node is None or name_node.type == "operator_name":
            return
        if name_node.parent is not None and name_node.parent.type == "function_declarator":
            return
        before = self.plain[declarator.start_byte : name_node.start_byte]
        after = self.plain[name_node.end_byte : declarator.end_byte]
        after = re.sub(r"(?<!\))\s*\[", "[", after)
        offset = self.prepared.start_of(name_node.start_byte)
        symbol = DeclaredSymbol(
            scope.qualified(_collapse(self.slice(name_node))),
            memory,
            _type_text(head + " " + before) + _collapse(after),
            self.prepared.line_of(offset),
            "" in scope.names,
            self.prepared.guard_of(offset),
        )
        self.reader.symbols.setdefault((symbol.name, name_node.start_byte), symbol)

    def add_kernel(
        self,
        node: Node,
        declarator: Node,
        scope: _Scope,
        start: int,
        words: list[Word],
        *,
        is_definition: bool,
    ) -> None:
        name_node = declarator.child_by_field_name("declarator")
        parameters = declarator.child_by_field_name("parameters")
        if name_node is None or parameters is None or scope.template == ():
            return  # an explicit specialization is no kernel of its own
        head = self.plain[start : name_node.start_byte]
        start = scope.start if scope.start >= 0 else start
        begin = self.prepared.start_of(start)
        at_name = self.prepared.start_of(name_node.start_byte)
        kernel = DeclaredKernel(
            name=scope.qualified(_kernel_name(self.slice(name_node))),
            parameters=tuple(self.read_parameters(parameters)),
            template_parameters=scope.template or (),
            is_extern_c=scope.is_extern_c,
            is_static=re.search(r"\bstatic\b", head) is not None,
            is_anonymous="" in scope.names,
            is_definition=is_definition,
            launch_bounds=self.launch_bounds(words),
            doc=_doc_above(self.prepared, begin),
            line=self.prepared.line_of(at_name),
            start=begin,
            end=self.prepared.end_of(node.end_byte),
            guard=self.prepared.guard_of(at_name),
        )
        self.reader.kernels.setdefault((kernel.name, name_node.start_byte), kernel)

    def launch_bounds(self, words: list[Word]) -> tuple[str, ...]:
        for word in words:
            content = self.prepared.shown[word.start : word.end]
            if word.name == "__launch_bounds__" and "(" in content:
                inside = content.partition("(")[2].rpartition(")")[0]
                return tuple(_collapse(part) for part in split_arguments(inside))
        return ()

    def read_parameters(self, node: Node) -> Iterator[DeclaredParameter]:
        found = [c for c in node.named_children if c.type.endswith("parameter_declaration")]
        for index, child in enumerate(found):
            declarator = child.child_by_field_name("declarator")
            default = child.child_by_field_name("default_value")
            end = child.end_byte
            if default is not None:
                end = self.plain.rindex("=", child.start_byte, default.start_byte)
            name, before, after, is_array = "", self.plain[child.start_byte : end], "", False
            name_node = _declared_name(declarator) if declarator is not None else None
            if declarator is not None and name_node is not None:
                name = self.slice(name_node)
                before = self.plain[child.start_byte : name_node.start_byte]
                after = self.plain[name_node.end_byte : end]
                is_array = _is_array(name_node)
            elif declarator is not None and _is_unnamed_array(declarator):
                position = self.plain.index("[", declarator.start_byte)
                before = self.plain[child.start_byte : position]
                after, is_array = self.plain[position:end], True
            spelled = _parameter_type(before, after, is_array)
            if spelled == "void" and not name and len(found) == 1 and index == 0:
                return
            yield DeclaredParameter(
                name,
                spelled,
                self.prepared.start_of(self.head_start(child)),
                self.prepared.end_of(child.end_byte),
            )

    def recover_kernel(self, word: Word) -> None:
        """Read the kernel behind an attribute that the grammar could not make sense of."""
        pattern = re.compile(r"([^\W\d]\w*)\s*\(")
        position = word.end
        while found := pattern.search(self.plain, position):
            if re.search(r"[;{}]", self.plain[position : found.start()]):
                return
            end = _closing_parenthesis(self.plain, found.end() - 1)
            if end < 0:
                return
            tail = re.compile(r"\s*(?:noexcept\b\s*(?:\([^()]*\))?)?\s*([{;])").match(
                self.plain, end
            )
            if tail:
                break
            position = end
        else:
            return
        # Alone, behind blanks, the declaration is parsed where it stands.
        blank = re.sub(r"[^\n]", " ", self.plain[: found.start()])
        alone = blank[:-5] + "void " + self.plain[found.start() : end] + "{}"
        root = parse(alone)
        function = next((c for c in root.children if c.type == "function_definition"), None)
        declarator = _function_declarator(function) if function is not None else None
        if function is None or declarator is None or declarator.start_byte != found.start():
            return
        scope, _ = self.scope_at(word.start)
        start = word.start
        words = self.words_between(word.start, found.start())
        head = re.search(r"(?:template\s*<(?P<p>[^;{}]*)>|extern\s*\"C\")\s*\Z", self.plain[:start])
        if head is not None:
            scope.start = head.start()
            if head["p"] is not None:
                scope.template = tuple(_collapse(p) for p in split_arguments(head["p"]))
            else:
                scope.is_extern_c = True
        self.claimed.update(w.start for w in words)
        is_definition = tail[1] == "{"
        self.add_kernel(function, declarator, scope, start, words, is_definition=is_definition)

    # What is inside of functions

    def read_shared(self, word: Word) -> None:
        begin = max(self.plain.rfind(mark, 0, word.start) for mark in ";{}") + 1
        end = self.plain.find(";", word.end)
        statement = self.plain[begin : len(self.plain) if end < 0 else end]
        if not re.search(r"\bextern\b", statement):
            return
        scope, _ = self.scope_at(word.start)
        head = ""
        for index, part in enumerate(split_arguments(statement)):
            pattern = r"(.*?)([^\W\d]\w*)\s*\[\s*\](.*)" if index == 0 else r"()(\w+)\s*\[\s*\](.*)"
            found = re.fullmatch(pattern, part.strip(), re.DOTALL)
            if found is None:
                return
            head = head or _STORAGE.sub(" ", found[1])
            # What stands before the statement: labels, access, a brace of the macro around it.
            type_ = _type_text(head.rpartition(":")[2] if "::" not in head else head)
            type_ += _collapse(found[3])
            offset = self.prepared.start_of(word.start)
            name = found[2]
            mangled = mangled_name(name, scope.names, is_extern_c=scope.is_extern_c)
            shared = DynamicShared(
                name,
                type_,
                scope.names,
                mangled,
                self.prepared.line_of(offset),
                self.prepared.guard_of(offset),
            )
            self.reader.shared.setdefault((scope.names, name), shared)

    def find_unsupported(self) -> None:
        found = [
            (kind, match.start(1), match[1])
            for kind, pattern in _FINDINGS
            for match in pattern.finditer(self.plain)
        ]
        for launch in re.finditer("<<<", self.plain):
            before = self.plain[max(launch.start() - 200, 0) : launch.start()]
            callee = re.search(r"([\w:]+)\s*(?:<[^<>;{}()]*>)?\s*\Z", before)
            word = callee[1] if callee else "<<<"
            found.append(("launch from a kernel", launch.start(), word))
        for kind, position, word in found:
            offset = self.prepared.start_of(position)
            if any(start <= offset < end for start, end in self.reader.host):
                continue
            _, functions = self.scope_at(position)
            if functions and not any(map(self.may_run_on_device, functions)):
                continue
            if kind == "launch from a kernel" and not functions:
                continue
            self.reader.add_unsupported(kind, word, offset)

    def may_run_on_device(self, function: Node) -> bool:
        body = function.child_by_field_name("body")
        start = self.head_start(function)
        end = body.start_byte if body else function.end_byte
        if any(w.name in ("__global__", "__device__") for w in self.words_between(start, end)):
            return True
        declarator = _function_declarator(function)
        name = _declared_name(declarator) if declarator is not None else None
        return name is not None and has_unknown_macro(self.plain[start : name.start_byte])


def _form(kernel: DeclaredKernel) -> tuple[object, ...]:
    """Return what a kernel's prototype and its definition have in common."""
    types = tuple(parameter.type for parameter in kernel.parameters)
    return kernel.name, kernel.template_parameters, types


def has_unknown_macro(head: str) -> bool:
    """Return whether more stands before a function's name than attributes and one type: a macro,
    which may say where the function runs.
    """
    head = re.sub(r"\b(?:extern\s*\"C(?:\+\+)?\"|template\s*<[^;{}]*>)", " ", head)
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)", " ", head)) != head:
        head = shorter
    names = re.findall(r"[\w:]+", re.sub(r"\s*::\s*", "::", head))
    builtin = any(name in _BUILTIN_TYPES for name in names)
    return sum(name not in _HEAD_WORDS for name in names) + builtin > 1


def _closing_parenthesis(text: str, opening: int) -> int:
    """Return the place behind the parenthesis that closes the one at `opening`, or -1."""
    depth = 0
    for found in re.compile(r"[();{}]").finditer(text, opening):
        if found[0] == "(":
            depth += 1
        elif found[0] == ")":
            depth -= 1
            if depth == 0:
                return found.end()
        else:
            return -1
    return -1


def _inner_declarator(node: Node) -> Node | None:
    inner = node.child_by_field_name("declarator")
    if inner is not None:
        return inner
    if node.type in (
        "reference_declarator",
        "parenthesized_declarator",
        "variadic_declarator",
        "attributed_declarator",
        "pointer_declarator",
    ):
        kept = [c for c in node.named_children if "declarator" in c.type or c.type in _IDENTIFIERS]
        return kept[-1] if kept else None
    return None


def _function_declarator(node: Node) -> Node | None:
    """Return the part of a declaration that names a function and its parameters."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = _inner_declarator(declarator)
    return declarator


def _declared_name(node: Node) -> Node | None:
    """Return the name that a declarator declares."""
    current: Node | None = node
    while current is not None:
        if current.type in _IDENTIFIERS or current.type in (
            "qualified_identifier",
            "template_function",
        ):
            return current
        current = _inner_declarator(current)
    return None


def _is_array(name: Node) -> bool:
    return name.parent is not None and name.parent.type == "array_declarator"


def _is_unnamed_array(node: Node) -> bool:
    current: Node | None = node
    while current is not None:
        inner = _inner_declarator(current)
        if inner is None:
            return current.type == "abstract_array_declarator"
        current = inner
    return False


def _parameter_type(before: str, after: str, is_array: bool) -> str:
    """Return a type's text from what stands before and behind the parameter's name."""
    after = after.strip()
    if is_array:
        found = re.match(r"\[[^\[\]]*\]\s*", after)
        after = after[found.end() :] if found else after
        if after.startswith("["):
            return f"{_type_text(before)} (*){_collapse(after)}"
        before += "*"
    return _type_text(f"{before}{after}")


def _type_text(text: str) -> str:
    text = _collapse(re.sub(r"\b(?:register|typename)\b", " ", text))
    text = re.sub(r"\s*([*&])\s*", r"\1", text)
    text = re.sub(r"([*&])(?=\w)", r"\1 ", text)
    text = re.sub(r"(?<=[\w>])\(", " (", text)
    return re.sub(r"\s*(\[|\]|\)|,)", r"\1", text).strip()


def _collapse(text: str) -> str:
    return " ".join(text.split())


def _kernel_name(text: str) -> str:
    return _collapse(text.partition("<")[0]).replace(" ", "")


def _doc_above(prepared: Prepared, start: int) -> str:
    """Return the comments that end on the line above a place, without their marks."""
    text = prepared.text
    begins = [comment[0] for comment in prepared.comments]
    index = bisect_left(begins, start)
    found: list[str] = []
    while index > 0:
        begin, end = prepared.comments[index - 1]
        between = text[end:start]
        line = text[text.rfind("\n", 0, begin) + 1 : begin]
        if between.strip() or between.count("\n") > 1 or line.strip():
            break
        is_block = text.startswith("/*", begin)
        if found and is_block:
            break
        found.insert(0, text[begin:end])
        start, index = begin, index - 1
        if is_block:
            break
    return _without_marks(found)


def _without_marks(comments: list[str]) -> str:
    lines: list[str] = []
    for comment in comments:
        if comment.startswith("//"):
            lines.append(re.sub(r"\A//[/!]*<? ?", "", comment))
            continue
        inside = comment[2:].removesuffix("*/").lstrip("*!")
        for number, line in enumerate(inside.split("\n")):
            lines.append(re.sub(r"\A\s*\*+(?: |\Z)?", "", line) if number else line.lstrip())
    # A line of nothing but marks is an ornament.
    lines = ["" if re.fullmatch(r"[\W_]*", line) else line.rstrip() for line in lines]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    indents = [len(line) - len(line.lstrip()) for line in lines if line]
    shift = min(indents, default=0)
    return "\n".join(line[shift:] for line in lines)
