"""Exchanges between the lanes of a warp that nothing orders.

Programs for GPUs before Volta may rely on lanes in step without a word of it. On CPU cores, and on
GPUs since, they give other results: so who compiles one is warned, with the line of the load.
Nothing is rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kerneltk.cuda_cpp.syntax.declarations import Unordered
from kerneltk.cuda_cpp.syntax.preprocess import prepare
from kerneltk.cuda_cpp.syntax.tree import (
    LOOPS,
    Lines,
    SourceTree,
    declared_name,
    function_declarator,
    source_of,
    within,
)
from kerneltk.cuda_cpp.syntax.volatile_names import VOLATILE

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME = re.compile(r"[^\W\d]\w*")
_LANE = re.compile(r"(?:\((?:unsigned)?(?:int)?\))?([\w.]+)(?:[&%](?:31|32|0x1[fF]|warpSize))?")
_INDEX = re.compile(r"([\w.]+)(?:([-+^])(\w+))?")
_LIMIT = re.compile(r"\(([\w.]+)([<>]=?)(\w+)\)")
_NUMBER = re.compile(r"(?:0[xX][\da-fA-F]+|\d+)[uU]?")
_BEGUN = re.compile(r"for\s*\(\s*(?:[\w:]+\s+)*(\w+)\s*=\s*\d+\w*\s*;")
_HALVED = re.compile(r"(?<!\w)(\w+)\s*(?:>>=|<<=|/=|\*=|=\s*\1\s*(?:/|\*|>>|<<))")
_PURE = re.compile(r"(?:f?(?:abs|min|max)f?|sqrtf?|expf?|logf?|[\w:]*_cast<[^()]*>)\Z")
# With it other names may mean volatile memory.
_NAMED = re.compile(r"(?:typedef|using|#[ \t]*define)[^;\n]*volatile")
_CALL = re.compile(r"\w\s*\(")
_WARP = 32


def unordered_exchanges(source: str) -> tuple[Unordered, ...]:
    """Return where a lane loads what another lane of its warp may have stored just before, with
    nothing between that orders the two: as in reductions that rely on lanes in step and do not say
    ``volatile``. Of other exchanges nothing is known here.

    Examples
    --------
    >>> unordered_exchanges('''__global__ void f(int* s) {
    ...     int t = threadIdx.x;
    ...     s[t] += s[t + 2];
    ...     s[t] += s[t + 1];
    ... }''')
    (Unordered(file='', line=4, loaded='s[t + 1]', stored='s[t]'),)
    """
    if _NAMED.search(source):
        return ()
    prepared = prepare(source)
    found: dict[int, tuple[str, str]] = {}
    for plain, words in prepared.variants():
        tree = SourceTree(prepared, plain, words)
        functions = [node for node in within(tree.root) if node.type == "function_definition"]
        lanes = _lanes_of(functions)
        for node in functions:
            body = node.child_by_field_name("body")
            if body is not None:
                reader = _ExchangeReader(tree, node, lanes[node.start_byte])
                reader.read(body, {}, _WARP)
                found.update(reader.found)
    lines = Lines(prepared)
    places = {lines.location_of(prepared.start_of(at)): pair for at, pair in sorted(found.items())}
    return tuple(Unordered(*place, *pair) for place, pair in places.items())


def _text(node: Node | None) -> str:
    return "".join(source_of(node).split())


def _assigned(node: Node) -> Node | None:
    """Return the operand that an expression assigns to; None for another expression."""
    if node.type == "assignment_expression":
        return node.child_by_field_name("left")
    return node.child_by_field_name("argument") if node.type == "update_expression" else None


def _lanes_of(functions: Sequence[Node]) -> dict[int, set[str]]:
    """Return which names of each function are a thread's number in its row of the block."""
    lanes: dict[int, set[str]] = {node.start_byte: {"threadIdx.x"} for node in functions}
    parameters: dict[str, list[tuple[int, list[str]]]] = {}
    calls: list[tuple[int, str, list[str]]] = []
    for node in functions:
        own = lanes[node.start_byte]
        declarator = function_declarator(node)
        listed = declarator.child_by_field_name("parameters") if declarator is not None else None
        if declarator is not None and listed is not None:
            parts = [part.child_by_field_name("declarator") for part in listed.named_children]
            names = [_text(declared_name(part)) for part in parts]
            name = _text(declarator.child_by_field_name("declarator")).rpartition("::")[2]
            parameters.setdefault(name, []).append((node.start_byte, names))
        assigned = set(map(_text, map(_assigned, within(node))))
        for inner in within(node):
            if inner.type == "init_declarator":
                value = _text(inner.child_by_field_name("value"))
                name = _text(inner.child_by_field_name("declarator"))
                lane = _LANE.fullmatch(value)
                if lane is not None and lane[1] in own and name not in assigned:
                    own.add(name)
            elif inner.type == "call_expression":
                arguments = inner.child_by_field_name("arguments")
                callee = _text(inner.child_by_field_name("function")).partition("<")[0]
                if arguments is not None:
                    given = [_text(argument) for argument in arguments.named_children]
                    calls.append((node.start_byte, callee, given))
    for _ in range(2):  # through a function that passes it on
        for name, places in parameters.items():
            given_to = [(caller, given) for caller, callee, given in calls if callee == name]
            for start, names in places:
                for k, parameter in enumerate(names):
                    values = [(c, given[k]) for c, given in given_to if k < len(given)]
                    if values and all(value in lanes[caller] for caller, value in values):
                        lanes[start].add(parameter)
    return lanes


class _ExchangeReader:
    """Follows the statements of a function.

    `stored` is what lanes have stored since something ordered them: array and index to the number
    of lanes that have.

    Attributes
    ----------
    found : dict of int to (str, str)
        Loads by their positions, and the store that they come behind.
    """

    def __init__(self, tree: SourceTree, function: Node, lanes: set[str]) -> None:
        self.found: dict[int, tuple[str, str]] = {}
        self._lanes = lanes
        self._steps: set[str] = set()  # what a loop halves or doubles
        self._counters: set[str] = set()  # of loops that all lanes begin with one number
        self._others: set[str] = set()  # arrays of the thread's own, and volatile ones
        for node in within(function):
            if node.type in ("declaration", "parameter_declaration"):
                code = source_of(node)
                words = tree.words_between(tree.head_start(node), node.end_byte)
                is_shared = any(word.name == "__shared__" for word in words)
                is_array = node.type == "declaration" and "[" in code.partition("=")[0]
                if VOLATILE.search(code) or (is_array and not is_shared):
                    self._others.update(_NAME.findall(code))

    def read(self, node: Node, stored: dict[tuple[str, str], int], limit: int) -> None:
        """Read a statement that so many lanes of a warp come to."""
        if node.type == "compound_statement":
            for child in node.named_children:
                self.read(child, stored, limit)
        elif node.type == "if_statement":
            self._read_if(node, stored, limit)
        elif node.type in LOOPS:
            self._read_loop(node, stored, limit)
        elif node.type in ("expression_statement", "declaration"):
            self._read_expression(node, stored, limit)
        else:
            stored.clear()

    def _read_loop(self, node: Node, stored: dict[tuple[str, str], int], limit: int) -> None:
        body = node.child_by_field_name("body")
        if body is None:
            return
        outer, counters = self._steps, self._counters
        self._steps = outer | set(_HALVED.findall(source_of(node)))
        if begun := _BEGUN.match(source_of(node)):
            self._counters = counters | {begun[1]}
        before: dict[tuple[str, str], int] | None = None
        for _ in range(2):  # the second time behind the first
            self._forget_assigned(node, stored)
            if stored == before:
                break  # what comes of that is known
            before = dict(stored)
            self.read(body, stored, limit)
        self._steps, self._counters = outer, counters

    def _read_if(self, node: Node, stored: dict[tuple[str, str], int], limit: int) -> None:
        found = _LIMIT.fullmatch(_text(node.child_by_field_name("condition")))
        taken = node.child_by_field_name("consequence")
        if found is not None and found[1] in self._lanes and taken is not None:
            number = _number(found[3])
            if number is not None and found[2][0] == "<":
                limit = min(limit, number + (found[2] == "<="))
            self.read(taken, stored, limit)
        elif _CALL.search(source_of(node).partition(")")[2]):
            stored.clear()
        if node.child_by_field_name("alternative") is not None:
            stored.clear()

    def _forget_assigned(self, node: Node, stored: dict[tuple[str, str], int]) -> None:
        """Forget indices by names that are given other values."""
        for inner in within(node) if stored else ():
            if (target := _assigned(inner)) is not None:
                for key in [key for key in stored if key[1] == _text(target)]:
                    del stored[key]

    def _read_expression(self, node: Node, stored: dict[tuple[str, str], int], limit: int) -> None:
        targets: list[tuple[Node, str]] = []
        for inner in within(node):
            if inner.type == "call_expression":
                if not _PURE.search(_text(inner.child_by_field_name("function"))):
                    stored.clear()
                    return
            elif inner.type == "assignment_expression":
                left = inner.child_by_field_name("left")
                if left is not None and left.type == "subscript_expression":
                    targets.append((left, _text(inner.child_by_field_name("operator"))))
        plain = {left.start_byte for left, operator in targets if operator == "="}
        for inner in within(node):
            if inner.type == "subscript_expression" and inner.start_byte not in plain:
                self._load(inner, stored)
        self._forget_assigned(node, stored)
        for left, _ in targets:
            array, index = self._access(left)
            if index is not None and not index[1]:
                stored[array, index[0]] = max(limit, stored.get((array, index[0]), 0))

    def _access(self, node: Node) -> tuple[str, tuple[str, str, str] | None]:
        """Return array and index of an access, if that is a lane's number and what is added."""
        code = _text(node)
        array, _, rest = code.partition("[")
        found = _INDEX.fullmatch(rest.removesuffix("]"))
        if found is None or found[1] not in self._lanes or array in self._others or not array:
            return array, None
        return array, (found[1], found[2] or "", found[3] or "")

    def _load(self, node: Node, stored: dict[tuple[str, str], int]) -> None:
        array, index = self._access(node)
        if _text(node).partition("[")[2].removesuffix("]") in self._counters:
            # a[i] of all i behind a[lane] = ...: all but one are other lanes'.
            for (other, lane), lanes in stored.items():
                if other == array and lanes > 1:
                    self.found[node.start_byte] = _text(node), f"{array}[{lane}]"
        if index is None or not index[1]:
            return
        lanes = stored.get((array, index[0]), 0)
        number = _number(index[2])
        if number is None:
            is_other = index[2] in self._steps
        else:  # who stored it is the lane of that number at the least
            least = number if index[1] == "+" else 0
            is_other = 0 < number < _WARP and least < lanes
        if lanes and is_other:
            loaded = re.sub(r"([-+^])", r" \1 ", _text(node))
            self.found[node.start_byte] = loaded, f"{array}[{index[0]}]"


def _number(code: str) -> int | None:
    return int(code.rstrip("uU"), 0) if _NUMBER.fullmatch(code) else None
