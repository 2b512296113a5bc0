"""The kernels that CUDA C++ source declares."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kerneltk.core.lexer import with_edits
from kerneltk.cuda_cpp.syntax.declarations import DeclaredKernel, DeclaredParameter
from kerneltk.cuda_cpp.syntax.preprocess import Prepared, Word, prepare, split_arguments
from kerneltk.cuda_cpp.syntax.tree import (
    Scope,
    SourceTree,
    closing_parenthesis,
    collapse,
    declared_name,
    function_declarator,
    inner_declarator,
    parse,
    type_source,
    within,
)

if TYPE_CHECKING:
    from tree_sitter import Node


class KernelReader:
    """Reads the kernels of one syntax tree.

    Parameters
    ----------
    found : dict
        Where the kernels go, by name and position; those of other branches are in there already.
    """

    def __init__(self, tree: SourceTree, found: dict[tuple[str, int], DeclaredKernel]) -> None:
        self.tree = tree
        self.found = found
        self._claimed: set[int] = set()  # where the attributes of these kernels begin

    def recover(self) -> None:
        """Read the kernels behind attributes that the grammar could not make sense of."""
        for word in self.tree.words:
            if word.name == "__global__" and word.start not in self._claimed:
                self._recover(word)

    def add(
        self,
        node: Node,
        declarator: Node,
        scope: Scope,
        start: int,
        words: list[Word],
        *,
        is_definition: bool,
    ) -> None:
        """Add a kernel, unless it is an explicit specialization: that is none of its own."""
        self._claimed.update(word.start for word in words)
        name_node = declarator.child_by_field_name("declarator")
        parameters = declarator.child_by_field_name("parameters")
        if name_node is None or parameters is None or scope.template == ():
            return
        start = scope.start if scope.start >= 0 else start
        begin = self.tree.prepared.start_of(start)
        at_name = self.tree.prepared.start_of(name_node.start_byte)
        kernel = DeclaredKernel(
            name=scope.qualified(_kernel_name(self.tree.slice(name_node))),
            parameters=tuple(self.read_parameters(parameters)),
            template_parameters=scope.template or (),
            is_extern_c=scope.is_extern_c,
            is_definition=is_definition,
            launch_bounds=self._launch_bounds(words),
            doc=_doc_above(self.tree.prepared, begin),
            line=self.tree.prepared.line_of(at_name),
            start=begin,
            end=self.tree.prepared.end_of(node.end_byte),
            guard=self.tree.prepared.guard_of(at_name),
            is_lasting=self.tree.prepared.has_lasting_guard(at_name),
        )
        self.found.setdefault((kernel.name, name_node.start_byte), kernel)

    def _launch_bounds(self, words: list[Word]) -> tuple[str, ...]:
        for word in words:
            content = self.tree.prepared.shown[word.start : word.end]
            if word.name == "__launch_bounds__" and "(" in content:
                inside = content.partition("(")[2].rpartition(")")[0]
                return tuple(collapse(part) for part in split_arguments(inside))
        return ()

    def read_parameters(self, node: Node) -> Iterator[DeclaredParameter]:
        """Yield the parameters of a list."""
        found = [c for c in node.named_children if c.type.endswith("parameter_declaration")]
        for index, child in enumerate(found):
            declarator = child.child_by_field_name("declarator")
            default = child.child_by_field_name("default_value")
            end = child.end_byte
            if default is not None:
                end = self.tree.plain.rindex("=", child.start_byte, default.start_byte)
            name, before, after, is_array = "", self.tree.plain[child.start_byte : end], "", False
            name_node = declared_name(declarator)
            if declarator is not None and name_node is not None:
                name = self.tree.slice(name_node)
                before = self.tree.plain[child.start_byte : name_node.start_byte]
                after = self.tree.plain[name_node.end_byte : end]
                is_array = _is_array(name_node)
            elif declarator is not None and _is_unnamed_array(declarator):
                position = self.tree.plain.index("[", declarator.start_byte)
                before = self.tree.plain[child.start_byte : position]
                after, is_array = self.tree.plain[position:end], True
            spelled = _parameter_type(before, after, is_array)
            if spelled == "void" and not name and len(found) == 1 and index == 0:
                return
            yield DeclaredParameter(
                name,
                spelled,
                self.tree.prepared.start_of(self.tree.head_start(child)),
                self.tree.prepared.end_of(child.end_byte),
            )

    def _recover(self, word: Word) -> None:
        """Read the kernel behind an attribute that the grammar could not make sense of."""
        pattern = re.compile(r"([^\W\d]\w*)\s*\(")
        position = word.end
        while found := pattern.search(self.tree.plain, position):
            if re.search(r"[;{}]", self.tree.plain[position : found.start()]):
                return
            end = closing_parenthesis(self.tree.plain, found.end() - 1)
            if end < 0:
                return
            tail = re.compile(r"\s*(?:noexcept\b\s*(?:\([^()]*\))?)?\s*([{;])").match(
                self.tree.plain, end
            )
            if tail:
                break
            position = end
        else:
            return
        # Alone, behind blanks, the declaration is parsed where it stands.
        blank = re.sub(r"[^\n]", " ", self.tree.plain[: found.start()])
        alone = blank[:-5] + "void " + self.tree.plain[found.start() : end] + "{}"
        root = parse(alone)
        function = next((c for c in root.children if c.type == "function_definition"), None)
        declarator = function_declarator(function)
        if function is None or declarator is None or declarator.start_byte != found.start():
            return
        scope, _ = self.tree.scope_at(word.start)
        start = word.start
        words = self.tree.words_between(word.start, found.start())
        head = re.search(
            r"(?:template\s*<(?P<p>[^;{}]*)>|extern\s*\"C\")\s*\Z", self.tree.plain[:start]
        )
        if head is not None:
            scope.start = head.start()
            if head["p"] is not None:
                scope.template = tuple(collapse(p) for p in split_arguments(head["p"]))
            else:
                scope.is_extern_c = True
        is_definition = tail[1] == "{"
        self.add(function, declarator, scope, start, words, is_definition=is_definition)


def form_of(kernel: DeclaredKernel) -> tuple[object, ...]:
    """Return a key that a kernel's prototype and its definition share."""
    types = tuple(parameter.type for parameter in kernel.parameters)
    return kernel.name, kernel.template_parameters, types


def _is_array(name: Node) -> bool:
    return name.parent is not None and name.parent.type == "array_declarator"


def _is_unnamed_array(node: Node) -> bool:
    current: Node | None = node
    while current is not None:
        inner = inner_declarator(current)
        if inner is None:
            return current.type == "abstract_array_declarator"
        current = inner
    return False


def _parameter_type(before: str, after: str, is_array: bool) -> str:
    """Return a parameter's type from the source before and behind its name."""
    after = after.strip()
    if is_array:
        found = re.match(r"\[[^\[\]]*\]\s*", after)
        after = after[found.end() :] if found else after
        if after.startswith("["):
            return f"{type_source(before)} (*){collapse(after)}"
        before += "*"
    return type_source(f"{before}{after}")


def _kernel_name(name: str) -> str:
    return collapse(name.partition("<")[0]).replace(" ", "")


def _doc_above(prepared: Prepared, start: int) -> str:
    """Return the comments that end on the line above a character, without their marks."""
    source = prepared.source
    begins = [comment[0] for comment in prepared.comments]
    index = bisect_left(begins, start)
    found: list[str] = []
    while index > 0:
        begin, end = prepared.comments[index - 1]
        between = source[end:start]
        line = source[source.rfind("\n", 0, begin) + 1 : begin]
        if between.strip() or between.count("\n") > 1 or line.strip():
            break
        is_block = source.startswith("/*", begin)
        if found and is_block:
            break
        found.insert(0, source[begin:end])
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
    return textwrap.dedent("\n".join(lines)).strip("\n")


def with_child_launches(source: str) -> str:
    """Return a source with calls in place of the launches of kernels in it.

    Examples
    --------
    >>> with_child_launches("__global__ void f(int n) { g<float><<<n, 32>>>(n); }")
    '__global__ void f(int n) { ::_kt_child<(&g<float>)>("g<float>", n, 32)(n); }'
    """
    if "<<<" not in source:
        return source
    prepared = prepare(source)
    edits: dict[tuple[int, int], str] = {}
    for plain, words in prepared.variants():
        tree = SourceTree(prepared, plain, words)
        for node in within(tree.root):
            if node.type != "kernel_call_syntax" or node.parent is None:
                continue
            callee = tree.slice(node.parent.children[0]).strip()
            start = prepared.start_of(node.parent.children[0].start_byte)
            first = prepared.start_of(node.start_byte)
            end = prepared.end_of(node.end_byte)
            shape = source[first:end].removeprefix("<<<").removesuffix(">>>")
            lines = "\n" * source.count("\n", start, first)
            name = collapse(callee).replace("\\", "").replace('"', "")
            edits[start, end] = f'::_kt_child<(&{collapse(callee)})>("{name}", {shape}){lines}'
    return with_edits(source, ((*span, call) for span, call in sorted(edits.items())))
