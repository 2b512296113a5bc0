"""Reads CUDA C++ source: which kernels and variables it declares, and what it holds beside them.

Nothing here decides whether the source is valid: the compiler does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kerneltk.core.lexer import joined_lines, without_comments
from kerneltk.cuda_cpp.options import OTHER_STATE, STATE_WORDS
from kerneltk.cuda_cpp.syntax.declarations import (
    DeclaredKernel,
    DeclaredSymbol,
    DynamicShared,
    Include,
    Preprocessed,
    SourceSummary,
)
from kerneltk.cuda_cpp.syntax.host_code import HostCode, HostReader
from kerneltk.cuda_cpp.syntax.kernels import KernelReader, form_of
from kerneltk.cuda_cpp.syntax.preprocess import (
    Directive,
    Prepared,
    Word,
    blank_spans,
    included_name,
    prepare,
)
from kerneltk.cuda_cpp.syntax.tree import (
    CLASSES,
    SCOPES,
    Scope,
    SourceTree,
    collapse,
    function_declarator,
)
from kerneltk.cuda_cpp.syntax.unsupported import UnsupportedFeatures
from kerneltk.cuda_cpp.syntax.variables import memory_of, read_dynamic_shared, read_symbols
from kerneltk.cuda_cpp.syntax.volatile_names import has_volatile

if TYPE_CHECKING:
    from tree_sitter import Node

# CHECK_FUNC(_LT, <): an argument of no more than an operator.
_OPERATOR_USE = re.compile(
    r"^[ \t]*([^\W\d]\w*)[ \t]*\((?:[^()\n]*,)?[ \t]*"
    r"(?:<=>|<<|>>|&&|\|\||[-+*/%^&|<>=!]=?|~)[ \t]*(?:,[^()\n]*)?\)[ \t]*;?[ \t]*$",
    re.MULTILINE,
)
_OBJECT_MACRO = re.compile(r"([^\W\d]\w*)(?![\w(])(.*)", re.DOTALL)


def read_source(source: str) -> SourceSummary:
    """Return a summary of the declarations in CUDA C++ source.

    What the grammar does not understand is left out; nothing is raised for it.

    Examples
    --------
    >>> summary = read_source("__global__ void scale(float* x, int n) { x[0] *= n; }")
    >>> [(p.type, p.name) for p in summary.kernels[0].parameters]
    [('float*', 'x'), ('int', 'n')]
    """
    prepared = prepare(source)
    found = _Found(prepared)
    for plain, words in prepared.variants():
        _Branch(found, plain, words).read()
    return found.summary()._replace(may_have_state=may_have_state(source))


def read_directives(source: str) -> Preprocessed:
    r"""Return the tokens and directives of a source, as the preprocessor sees them.

    Examples
    --------
    >>> found = read_directives("#include <cmath>\n/* #pragma once */\n#if A\n#pragma once\n#endif")
    >>> found.includes
    (Include(name='cmath', is_quoted=False, line=1, guard='', first=1, is_next=False),)
    >>> found.once
    ((42, 54, False),)
    """
    prepared = prepare(source)
    once = tuple(
        (found.start, found.end, not prepared.is_conditional(found.start))
        for found in prepared.directives
        if found.name == "pragma" and found.argument.split()[:1] == ["once"]
    )
    includes = tuple(include for include, _ in _includes(prepared))
    return Preprocessed(includes, once, has_volatile(source))


def _includes(prepared: Prepared) -> Iterator[tuple[Include, Directive]]:
    macros: dict[str, str] = {}  # whatever the options define
    for directive in prepared.directives:
        found = _OBJECT_MACRO.match(directive.argument)
        if directive.name in ("define", "undef") and found is not None:
            macros.pop(found[1], None)
            if directive.name == "define" and not prepared.is_conditional(directive.start):
                macros[found[1]] = found[2].strip()
        named = included_name(directive, macros)
        if directive.name.startswith("include"):
            macros.clear()  # a header may define them anew
        if named and not prepared.is_dead(directive.start):
            include = Include(
                *named,
                prepared.line_of(directive.end),
                prepared.guard_of(directive.start),
                prepared.line_of(directive.start),
                directive.name == "include_next",
            )
            yield include, directive


class _Found:
    """Collects what the branches of one source hold."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.kernels: dict[tuple[str, int], DeclaredKernel] = {}
        self.symbols: dict[tuple[str, int], DeclaredSymbol] = {}
        self.shared: dict[tuple[tuple[str, ...], str], DynamicShared] = {}
        self.host = HostCode(prepared)
        self.unsupported = UnsupportedFeatures(prepared)

    def summary(self) -> SourceSummary:
        prepared = self.prepared
        self.host.leave_out_unreached()
        includes: list[Include] = []
        for include, directive in _includes(prepared):
            includes.append(include)
            span = directive.start, directive.end
            if not self.host.read_header(include.name, include.is_quoted, *span):
                self.unsupported.read_header(include.name, directive.start)
        for directive in prepared.directives:
            if directive.name == "define" and not prepared.is_dead(directive.start):
                self.unsupported.read_macro(directive.argument, directive.start)
        kernels = sorted(self.kernels.values(), key=lambda kernel: (kernel.start, kernel.end))
        defined = {kernel.name for kernel in kernels if kernel.is_definition}
        declared = {form_of(k): k.launch_bounds for k in kernels if not k.is_definition}
        return SourceSummary(
            kernels=tuple(
                k._replace(launch_bounds=k.launch_bounds or declared.get(form_of(k), ()))
                for k in kernels
                if k.is_definition or k.name not in defined
            ),
            symbols=tuple(sorted(self.symbols.values(), key=lambda symbol: symbol.line)),
            dynamic_shared=tuple(sorted(self.shared.values(), key=lambda shared: shared.line)),
            host_functions=tuple(sorted(self.host.functions)),
            unsupported=tuple(
                sorted(self.unsupported.found.values(), key=lambda u: (u.line, u.word))
            ),
            includes=tuple(includes),
            host_code=tuple(sorted(self.host.spans)),
            constants=self.host.computed_constants(),
            spare=tuple((*s, tuple(sorted(n))) for s, n in sorted(self.host.spare.items())),
            replaced=tuple(sorted((*span, text) for span, text in self.host.replaced.items())),
        )


class _Branch:
    """Reads a source with one branch of each conditional."""

    def __init__(self, found: _Found, plain: str, words: list[Word]) -> None:
        self.found = found
        self.tree = SourceTree(found.prepared, plain, words)
        self.macros = HostReader(self.tree, found.host).uses_of_macros()
        if self.tree.root.has_error:
            # Uses without a semicolon hide from the grammar what is between and behind them, and so
            # do operators that are arguments.
            uses = _OPERATOR_USE.finditer(plain)
            with_operators = [use.span() for use in uses if found.host.is_macro(use[1])]
            if unread := [*self.macros, *with_operators]:
                self.tree = SourceTree(found.prepared, blank_spans(plain, unread), words)
        self.kernels = KernelReader(self.tree, found.kernels)
        self.host = HostReader(self.tree, found.host)

    def read(self) -> None:
        stack = [(self.tree.root, Scope())]
        while stack:
            node, scope = stack.pop()
            inner = self.visit(node, scope)
            if inner is not None:
                stack += ((child, inner) for child in reversed(node.children))
        self.kernels.recover()
        read_dynamic_shared(self.tree, self.found.shared)
        self.found.unsupported.read(self.tree, self.found.host.is_in_function)
        self.host.read_macros(self.macros)
        self.host.read_modules()

    def visit(self, node: Node, scope: Scope) -> Scope | None:
        """Read a node of namespace scope; return the scope of its children if they are, too."""
        kind = node.type
        if kind == "ERROR":
            return replace(scope, is_broken=True)
        if kind in SCOPES:
            return scope
        if kind == "namespace_definition":
            names = (*scope.names, *self.tree.namespace_names(node))
            return Scope(names, scope.is_extern_c, is_broken=scope.is_broken)
        if kind == "linkage_specification":
            value = node.child_by_field_name("value")
            is_c = value is not None and self.tree.slice(value) == '"C"'
            body = node.child_by_field_name("body")
            is_block = body is not None and body.type == "declaration_list"
            start = -1 if is_block else self.tree.head_start(node)
            return Scope(scope.names, is_c, None, start, scope.is_broken)
        if kind == "template_declaration":
            found = node.child_by_field_name("parameters")
            template = (
                tuple(collapse(self.tree.slice(c)) for c in found.named_children) if found else ()
            )
            if scope.template:  # a member template of a template
                template = scope.template + template
            start = scope.start if scope.start >= 0 else self.tree.head_start(node)
            return Scope(scope.names, scope.is_extern_c, template, start, scope.is_broken)
        if kind == "function_definition":
            self.read_function(node, scope)
        elif kind == "declaration":
            self.read_declaration(node, scope)
        elif kind in CLASSES:
            self.host.read_class(node, scope)
        elif kind == "enum_specifier":
            self.host.read_enumeration(node, scope)
        elif kind == "template_instantiation":
            # Name expressions ask for kernels, and what they need is instantiated anyway.
            self.found.host.spans[self.tree.span(node, scope)] = ""
        else:
            self.host.read_names(node, scope)
        return None

    def read_function(self, node: Node, scope: Scope) -> None:
        declarator = function_declarator(node)
        body = node.child_by_field_name("body")
        if declarator is None:
            return
        start = self.tree.head_start(node)
        words = self.tree.words_between(start, body.start_byte if body else node.end_byte)
        names = {word.name for word in words}
        if not names.isdisjoint(("__global__", "__device__")):
            self.host.keep(node, declarator, scope, is_kernel="__global__" in names)
        if "__global__" in names:
            self.kernels.add(node, declarator, scope, start, words, is_definition=True)
        elif "__device__" not in names:
            self.host.read_function(node, declarator, scope, start)

    def read_declaration(self, node: Node, scope: Scope) -> None:
        start = self.tree.head_start(node)
        declarators = node.children_by_field_name("declarator")
        if not declarators:
            return
        words = self.tree.words_between(start, declarators[0].end_byte)
        names = {word.name for word in words}
        if "__device__" in names and (declarator := function_declarator(node)) is not None:
            self.host.keep(node, declarator, scope)
        if "__global__" in names:
            declarator = function_declarator(node)
            if declarator is not None:
                self.kernels.add(node, declarator, scope, start, words, is_definition=False)
            return
        memory = memory_of(names)
        if memory is None and "__shared__" not in names:
            self.host.read_declaration(node, scope, declarators)
        if memory is None or scope.template is not None or "__shared__" in names:
            return
        read_symbols(self.tree, node, memory, scope, self.found.symbols)


# -- variables that last from one launch to the next ----------------------------------------------

_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
# A macro that stands for attributes, such as `__host__ __device__`.
_STATE_MACRO = re.compile(r"\s*#\s*define\s+(\w+)((?:\s+(?:__\w+__|static|inline|const))+)\s*")
# Attributes with parentheses of their own.
_ATTRIBUTE = re.compile(r"\b(?:alignas|decltype|__\w+__)\s*\((?:[^()]|\([^()]*\))*\)")
_END = re.compile(r"[({;=\[]")
_STATELESS = re.compile(r"\b(?:operator|constexpr)\b")
_NO_PARAMETER = re.compile(r"\(\s*(?:[*&\d+-]|true\b|false\b)")  # a pointer to functions, a value


def may_have_state(code: str) -> bool:
    """Return whether source may have a variable in device memory, or a static one; True where a
    macro may hide the declaration.

    Examples
    --------
    >>> may_have_state("template <class T> __device__ T count;")
    True
    >>> may_have_state("__device__ int f(float x) { return static_cast<int>(x); }")
    False
    """
    code = joined_lines(code)
    is_other = OTHER_STATE.search(code) is not None
    if not is_other and not any(word in code for word in STATE_WORDS):
        return False
    plain = without_comments(code)
    if is_other and OTHER_STATE.search(plain):
        return True
    words = list(STATE_WORDS)
    for directive in _DIRECTIVE.findall(plain):
        macro = _STATE_MACRO.fullmatch(directive)
        if macro is not None:
            words += [macro[1]] if any(word in macro[2].split() for word in STATE_WORDS) else []
        elif _declares(directive, words):
            return True
    return _declares(_DIRECTIVE.sub(" ", plain), words)


def _declares(plain: str, words: Sequence[str]) -> bool:
    """Return whether a variable is declared behind one of the words."""
    plain = _ATTRIBUTE.sub(" ", plain)
    for word in re.finditer(rf"\b(?:{'|'.join(words)})\b", plain):
        end = _END.search(plain, word.end())
        if word[0] in ("__constant__", "__managed__") or end is None:
            return True
        begin = max(plain.rfind(mark, 0, word.start()) for mark in ";{}") + 1
        if _STATELESS.search(plain, begin, end.start()):
            continue
        if end[0] != "(" or _NO_PARAMETER.match(plain, end.start()):
            return True
    return False
