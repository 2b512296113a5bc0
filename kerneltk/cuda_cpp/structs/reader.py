"""Reads the structs that CUDA C++ source declares."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kerneltk.cuda_cpp.syntax.declarations import DeclaredField, DeclaredStruct
from kerneltk.cuda_cpp.syntax.preprocess import prepare
from kerneltk.cuda_cpp.syntax.tree import (
    SourceTree,
    collapse,
    declared_name,
    function_declarator,
    type_source,
    within,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_RECORDS = frozenset(("struct_specifier", "class_specifier"))
_NO_FIELDS = re.compile(r"\b(?:static|using|typedef|friend|constexpr)\b")
_SILENT = re.compile(r"\b(?:mutable|volatile|struct|const)\b")
_SIMPLE_ALIAS = frozenset(("type_definition", "alias_declaration"))


def read_structs(source: str) -> tuple[tuple[DeclaredStruct, ...], tuple[tuple[str, str], ...]]:
    """Return the structs of a source, and what its aliases stand for.

    A struct has no fields where it is not known how they lie: it has a base, virtual functions,
    bit fields or unions.

    Examples
    --------
    >>> (found,), aliases = read_structs("typedef float real; struct P { real x[2]; int n; };")
    >>> found.name, [tuple(field) for field in found.fields], aliases
    ('P', [('real', 'x', ('2',)), ('int', 'n', ())], (('real', 'float'),))
    """
    prepared = prepare(source)
    structs: dict[str, DeclaredStruct] = {}
    aliases: dict[str, str] = {}
    if any(d.name == "pragma" and d.argument.startswith("pack") for d in prepared.directives):
        return (), ()
    for plain, words in prepared.variants():
        tree = SourceTree(prepared, plain, words)
        for node in within(tree.root, lambda node: node.type != "compound_statement"):
            if node.type in _RECORDS and node.child_by_field_name("body") is not None:
                _read_struct(tree, node, structs)
            elif node.type in _SIMPLE_ALIAS:
                _read_alias(tree, node, aliases)
    return tuple(structs.values()), tuple(aliases.items())


def _read_alias(tree: SourceTree, node: Node, aliases: dict[str, str]) -> None:
    kind = node.child_by_field_name("type")
    if node.type == "alias_declaration":
        name = node.child_by_field_name("name")
    else:
        declarator = node.child_by_field_name("declarator")
        is_plain = declarator is not None and declarator.type == "type_identifier"
        name = declarator if is_plain else None
    if kind is None or name is None or kind.child_by_field_name("body") is not None:
        return
    stood, spelled = collapse(tree.plain[kind.start_byte : kind.end_byte]), tree.slice(name)
    # One of two meanings is none.
    aliases[spelled] = stood if aliases.get(spelled, stood) == stood else "?"


def _read_struct(tree: SourceTree, node: Node, structs: dict[str, DeclaredStruct]) -> None:
    name = node.child_by_field_name("name")
    parent = node.parent
    if name is None and parent is not None and parent.type == "type_definition":
        name = parent.child_by_field_name("declarator")
    if name is None or name.type != "type_identifier":
        return
    scope, _ = tree.scope_at(node.start_byte)
    spelled = scope.qualified(tree.slice(name))
    fields = _fields(tree, node)
    if parent is not None and parent.type == "template_declaration":
        fields = ()
    if spelled in structs and structs[spelled].fields != fields:
        fields = ()
    structs[spelled] = DeclaredStruct(spelled, fields)


def _fields(tree: SourceTree, node: Node) -> tuple[DeclaredField, ...]:
    body = node.child_by_field_name("body")
    if body is None or any(child.type == "base_class_clause" for child in node.children):
        return ()
    fields: list[DeclaredField] = []
    for member in body.named_children:
        source = tree.plain[member.start_byte : member.end_byte]
        if re.search(r"\bvirtual\b", source):
            return ()
        if member.type != "field_declaration" or _NO_FIELDS.match(source):
            continue
        if function_declarator(member) is not None:
            continue
        kind = member.child_by_field_name("type")
        words = tree.words_between(tree.head_start(member), member.end_byte)
        if kind is None or words or kind.child_by_field_name("body") is not None:
            return ()
        if any(child.type == "bitfield_clause" for child in member.children):
            return ()
        declarators = member.children_by_field_name("declarator")
        head = tree.plain[member.start_byte : declarators[0].start_byte] if declarators else ""
        for declarator in declarators:
            found = declared_name(declarator)
            if found is None:
                return ()
            before = tree.plain[declarator.start_byte : found.start_byte]
            after = tree.plain[found.end_byte : declarator.end_byte].partition("=")[0]
            extents = re.findall(r"\[([^\[\]]*)\]", after)
            if "(" in before or "&" in before:
                return ()
            spelled = type_source(_SILENT.sub(" ", head + before))
            fields.append(
                DeclaredField(spelled, tree.slice(found), tuple(e.strip() for e in extents))
            )
        if not declarators:
            return ()
    return tuple(fields)
