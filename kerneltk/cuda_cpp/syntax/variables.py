"""The variables in device memory that CUDA C++ source declares, and its dynamic shared arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kerneltk.cuda_cpp.syntax.declarations import DeclaredSymbol, DynamicShared, Memory
from kerneltk.cuda_cpp.syntax.preprocess import Word, split_arguments
from kerneltk.cuda_cpp.syntax.tree import Scope, SourceTree, collapse, declared_name, type_source

if TYPE_CHECKING:
    from tree_sitter import Node

_STORAGE = re.compile(
    r"\b(?:static|extern|inline|thread_local|register|constexpr|constinit|typename)\b"
)
# The first extent changes nothing: a launch says how large dynamic shared memory is.
_FIRST_ARRAY = re.compile(r"(.*?)([^\W\d]\w*)\s*\[[^\[\]]*\](.*)", re.DOTALL)
_OTHER_ARRAY = re.compile(r"()(\w+)\s*\[[^\[\]]*\](.*)", re.DOTALL)
_MEMORIES: tuple[tuple[str, Memory], ...] = (
    ("__constant__", "constant"),
    ("__managed__", "managed"),
    ("__device__", "device"),
)


def mangled_name(name: str, scope: tuple[str, ...] = (), *, is_extern_c: bool = False) -> str:
    """Return a variable's name for the linker, by the Itanium C++ ABI.

    Parameters
    ----------
    name : str
        Without namespaces.
    scope : tuple of str
        The namespaces around it; an empty name for an anonymous one.
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


def memory_of(names: set[str]) -> Memory | None:
    """Return the memory that a declaration with these attributes is in; None for none."""
    return next((memory for word, memory in _MEMORIES if word in names), None)


def read_symbols(
    tree: SourceTree,
    node: Node,
    memory: Memory,
    scope: Scope,
    found: dict[tuple[str, int], DeclaredSymbol],
) -> None:
    """Add the variables of a declaration, by their names and positions."""
    declarators = node.children_by_field_name("declarator")
    head = _STORAGE.sub(" ", tree.plain[node.start_byte : declarators[0].start_byte])
    for declarator in declarators:
        symbol = _symbol(tree, declarator, head, memory, scope)
        if symbol is not None:
            found.setdefault(*symbol)


def _symbol(
    tree: SourceTree, node: Node, head: str, memory: Memory, scope: Scope
) -> tuple[tuple[str, int], DeclaredSymbol] | None:
    """Return the variable of a declarator with its name and position; None for a function."""
    declarator = node
    if node.type == "init_declarator":
        declarator = node.child_by_field_name("declarator") or node
    name_node = declared_name(declarator)
    if name_node is None or name_node.type == "operator_name":
        return None
    if name_node.parent is not None and name_node.parent.type == "function_declarator":
        return None
    before = tree.plain[declarator.start_byte : name_node.start_byte]
    after = tree.plain[name_node.end_byte : declarator.end_byte]
    after = re.sub(r"(?<!\))\s*\[", "[", after)
    offset = tree.prepared.start_of(name_node.start_byte)
    symbol = DeclaredSymbol(
        scope.qualified(collapse(tree.slice(name_node))),
        memory,
        type_source(head + " " + before) + collapse(after),
        tree.prepared.line_of(offset),
        tree.prepared.guard_of(offset),
        tree.prepared.has_lasting_guard(offset),
    )
    return (symbol.name, name_node.start_byte), symbol


def read_dynamic_shared(
    tree: SourceTree, found: dict[tuple[tuple[str, ...], str], DynamicShared]
) -> None:
    """Add the ``extern __shared__`` arrays of one syntax tree, by their scopes and names."""
    for word in tree.words:
        if word.name == "__shared__":
            for shared in _declared_shared(tree, word):
                found.setdefault((shared.scope, shared.name), shared)


def _declared_shared(tree: SourceTree, word: Word) -> Iterator[DynamicShared]:
    """Yield the arrays of the statement with an attribute, if that declares them ``extern``."""
    begin = max(tree.plain.rfind(mark, 0, word.start) for mark in ";{}") + 1
    end = tree.plain.find(";", word.end)
    statement = tree.plain[begin : len(tree.plain) if end < 0 else end]
    if not re.search(r"\bextern\b", statement):
        return
    scope, _ = tree.scope_at(word.start)
    head = ""
    for index, part in enumerate(split_arguments(statement)):
        # Extents of its own change nothing: the launch says how large it is.
        pattern = _FIRST_ARRAY if index == 0 else _OTHER_ARRAY
        declared = pattern.fullmatch(part.strip())
        if declared is None:
            return
        head = head or _STORAGE.sub(" ", declared[1])
        # What stands before the statement: labels, access, a brace of the macro around it.
        type_ = type_source(head.rpartition(":")[2] if "::" not in head else head)
        type_ += collapse(declared[3])
        offset = tree.prepared.start_of(word.start)
        name = declared[2]
        mangled = mangled_name(name, scope.names, is_extern_c=scope.is_extern_c)
        yield DynamicShared(
            name,
            type_,
            scope.names,
            mangled,
            tree.prepared.line_of(offset),
            tree.prepared.guard_of(offset) if tree.prepared.has_lasting_guard(offset) else "",
        )
