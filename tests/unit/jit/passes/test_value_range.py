"""Intervals: what they prove of Python's statements, and that no index ever leaves them."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap

from kerneltk import jit
from kerneltk.jit import ir
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.ir.types import PY_INT, Array, Number, number
from kerneltk.jit.passes.value_range import simplify
from tests.diagnostics.jit_refused_programs_support import made
from tests.ir_verifier import verify

SPAN = ir.Span(1, 0, 1, 1)
INT8, INT32 = number("int8"), number("int32")
X = ir.Local("x", Array(INT8, 1), SPAN)
NAMES = {"threadIdx": jit.threadIdx, "blockDim": jit.blockDim, "laneid": jit.laneid}


class Used(ast.NodeTransformer):
    """Assigns the expressions that stand alone, which lowering leaves out."""

    def visit_Expr(self, node: ast.Expr) -> ast.Assign:
        return ast.Assign([ast.Name("sink")], node.value, lineno=1)


def function_of(text: str, **kinds: Number) -> ir.Function:
    """Return a kernel of an array `x` and of Python ints: the other names that it mentions."""
    tree = ast.parse(re.sub(r"\b(grid|gridsize)\(\)", r"jit.\1(1)", textwrap.dedent(text)))
    nodes = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    known = {*NAMES, *dir(builtins), "x", "jit", "np"}
    names = [name for name in dict.fromkeys(nodes) if name not in known]
    body = ast.unparse(Used().visit(tree))
    source = f"def f({', '.join(['x', *names])}):\n{textwrap.indent(body, '    ')}\n"
    function = made(source, "f", f"<{body}>", NAMES)
    types = [X.type, *(kinds.get(name, PY_INT) for name in names)]
    return Definition(function).lowered(types).kernel


def wraps(function: ir.Function) -> list[bool]:
    """Return of each element, in the order of the text, whether its index may be negative."""
    simplified = simplify(function)
    verify(ir.Program((simplified,)))
    return [node.wrap[0] for node in ir.walk(*simplified.body) if isinstance(node, ir.Element)]


NEVER_NEGATIVE = {
    "literal": "x[0]",
    "extent": "x[len(x) // 2]",
    "thread": "x[threadIdx.x]",
    "grid": "x[grid() + 1]",
    "sums and products": "i = grid() * 4 + threadIdx.x\nx[i + 3]\nx[i * i]",
    "remainder": "x[i % 7]",
    "quotient": "x[threadIdx.x // 32]",
    "row and column": "x[grid() // len(x)]\nx[grid() % len(x)]\nx[i % len(x)]",
    "mask": "x[i & 31]",
    "bits": "x[threadIdx.x ^ 1]\nx[threadIdx.x | 8]",
    "shifts": "x[threadIdx.x >> 5]\nx[threadIdx.x << 3]",
    "power": "x[threadIdx.x ** 2]",
    "invert": "x[~(-1 - threadIdx.x)]",
    "lane": "x[31 - laneid()]",
    "condition": "if i > 0:\n    x[i - 1]",
    "chain": "if 0 < i < n - 1:\n    x[i - 1]\n    x[n - 2]",
    "mirrored": "if 1 <= i and n > i:\n    x[i - 1]\n    x[n - 2]",
    "equal": "if i == 3:\n    x[i]",
    "not equal": "i = threadIdx.x\nif i != 0:\n    x[i - 1]",
    "truth": "i = threadIdx.x\nif bool(i):\n    x[i - 1]",
    "sum in a condition": "if j >= 0 and i - 2 >= j:\n    x[i - 2]\n    x[i]",
    "otherwise": "if i < 0:\n    pass_ = 1\nelse:\n    x[i]",
    "or": "if i < 0 or j < 0:\n    return\nx[i]\nx[j]",
    "not": "if not (i < 0 or j < 0):\n    x[i]\n    x[j]",
    "not and": "if not (i >= 0 and j >= 0):\n    return\nx[i]\nx[j]",
    "either": "if i > 3 or i == 1:\n    x[i]",
    "early return": "if i < 0:\n    return\nx[i]",
    "assertion": "assert i >= 0\nx[i]",
    "within an expression": "i > 0 and x[i - 1] > 0",
    "or within an expression": "i <= 0 or x[i - 1] > 0",
    "selection": "x[i if i > 0 else 0]",
    "arm of a selection": "x[i] if i >= 0 else x[0]",
    "clipped": "x[max(i, 0)]\nx[max(min(i, 5), 0)]",
    "abs": "x[abs(i)]",
    "join": "if i > 0:\n    k = i\nelse:\n    k = 0\nx[k]",
    "overwritten": "k = -1\nk = 2\nx[k]",
    "for": "for k in range(len(x)):\n    x[k]",
    "for from": "for k in range(1, n - 1):\n    x[k - 1]",
    "for down": "for k in range(n - 1, -1, -1):\n    x[k]",
    "grid-stride": "for k in range(grid(), n, gridsize()):\n    x[k]",
    "nested": "for k in range(n):\n    for l in range(m):\n        x[k * m + l]\n        x[n + m]",
    "for down, nested": "for k in range(n - 1, -1, -1):\n    x[n - 1]",
    "flat": "i = grid()\nj = grid()\nif i < n and j < m:\n    x[i * m + j]",
    "continue": "for k in range(i, n):\n    if k < 0:\n        continue\n    x[k]",
    "break": "while True:\n    if i < 0:\n        break\n    x[i]\n    i -= 1",
    "while": "k = 0\nwhile k < n:\n    x[k]\n    k += 1",
    "while down": "k = len(x) - 1\nwhile k >= 0:\n    x[k]\n    k -= 1",
    "halving": "s = blockDim.x // 2\nwhile s > 0:\n    x[threadIdx.x + s]\n    s //= 2",
    "halving by a shift": "s = 512\nwhile bool(s):\n    x[s]\n    s >>= 1",
    "doubling": "s = 1\nwhile s < 512:\n    x[s - 1]\n    s *= 2",
    "counter": "c = 0\nfor k in range(n):\n    x[c] = 1\n    if x[k] > 0:\n        c += 1\nx[c]",
    "binary search": """
        low = 0
        high = len(x)
        while low < high:
            middle = (low + high) // 2
            if x[middle] < 3:
                low = middle + 1
            else:
                high = middle
        x[low]
        """,
    "infinite": "k = 0\nwhile True:\n    x[k]\n    k += 1\n    if k > n:\n        break\nx[k - 1]",
}


def test_no_index_is_negative() -> None:
    for case, text in NEVER_NEGATIVE.items():
        found = wraps(function_of(text))
        assert found == [False] * len(found) != [], case


MAY_BE_NEGATIVE = {
    "parameter": "x[i]",
    "difference": "x[threadIdx.x - 1]",
    "two extents": "x[len(x) - n]",
    "wrong condition": "if i < 5:\n    x[i]",
    "one side": "if i >= 0 or j > 0:\n    x[i]",
    "after a join": "if i > 0:\n    j = 1\nx[i]",
    "assigned again": "if i > 0:\n    i -= 2\n    x[i]",
    "for with unknown start": "for k in range(i, n):\n    x[k]",
    "for with unknown step": "for k in range(0, n, s):\n    x[k]",
    "for down to unknown": "for k in range(5, n, -1):\n    x[k]",
    "moved by the loop": "k = 5\nwhile n > 0:\n    x[k]\n    k -= 1\n    n -= 1",
    "moved before a continue": """
        k = 5
        for l in range(n):
            x[k]
            if l > 3:
                k = -1
                continue
            k = 5
        """,
    "moved before a break": "k = 5\nfor l in range(n):\n    k = -2\n    break\nx[k]",
    "moved in an inner loop": """
        k = 5
        for l in range(n):
            x[k]
            for m in range(l):
                k -= 1
        """,
    "through another variable": """
        k = 5
        l = 5
        m = 5
        for r in range(n):
            x[k]
            k = l
            l = m
            m = -1
        """,
    "through many variables": """
        a = 5; b = 5; c = 5; d = 5; e = 5; f = 5; g = 5
        for r in range(n):
            x[a]
            a = b; b = c; c = d; d = e; e = f; f = g
            g = -1
        """,
    "through many variables, nested": """
        k = 5; a = 5; b = 5; c = 5; d = 5; e = 5; f = 5; g = 5
        for r in range(n):
            x[k]
            for l in range(m):
                k = a
                a = b; b = c; c = d; d = e; e = f; f = g
                g = -1
        """,
    "refined, then the loop comes again": """
        while n > 0:
            x[i]
            if i < 0:
                n = 0
            i = j
        """,
    "bound that the loop moves": """
        for k in range(m):
            for l in range(n):
                x[n]
                n = i
        """,
    "floor of a negative": "x[i // 2]",
    "unknown divisor": "x[threadIdx.x % i]",
    "arithmetic shift": "x[i >> 1]",
    "unknown shift": "x[threadIdx.x << i]",
    "negative mask": "x[i & -2]",
    "selection": "x[i if j > 0 else 0]",
    "condition of another": "j > 0 and x[i] > 0",
    "min": "x[min(i, 0)]",
    "element": "x[int(x[0])]",
    "power": "x[i ** 2]",
    "wrong side of or": "i < 0 or j < 0 or x[i - 1] > 0",
    "not": "if not i < -1:\n    x[i]",
}  # fmt: skip


def test_an_index_may_be_negative() -> None:
    for case, text in MAY_BE_NEGATIVE.items():
        indices = [
            node
            for node in ir.walk(*simplify(function_of(text)).body)
            if isinstance(node, ir.Element) and not isinstance(node.indices[0], ir.Literal_)
        ]
        assert [node.wrap for node in indices] == [(True,)] * len(indices) != [], case


STRONG_INTEGERS_WRAP = [
    ("x[np.int32(grid())]", True),  # a position may not fit
    ("x[np.int32(threadIdx.x)]", False),
    ("k = np.int32(threadIdx.x)\nx[k + 1]", False),
    ("if k > 0:\n    x[k]", False),
    ("if k > 0:\n    x[k - 1]", False),
    ("if k > 0:\n    x[k + 1]", True),  # the largest one wraps
    ("if k > 0:\n    x[k * 2]", True),
    ("if 0 <= k < 1000:\n    x[k * 2000]", False),
    ("if k - 1 >= 0:\n    x[k]", True),  # so does the smallest
    ("if int(k) - 1 >= 0:\n    x[k]", False),
    ("if np.int32(i) > 0:\n    x[i]", True),
    ("x[abs(k)]", True),
    ("if k > -5:\n    x[abs(k)]", False),
    ("k = np.int32(0)\nwhile k < np.int32(n):\n    x[k]\n    k += 1", False),
    ("k = np.int32(0)\nwhile n > 0:\n    x[k]\n    k += 1\n    n -= 1", True),
]


def test_strong_integers_wrap() -> None:
    for text, expected in STRONG_INTEGERS_WRAP:
        assert wraps(function_of(text, k=INT32)) == [expected], text


DIVISION = [
    ("j = i // 2", "//"),
    ("j = i % 2", "%"),
    ("j = threadIdx.x // 2", "div"),
    ("j = threadIdx.x % 32", "rem"),
    ("j = threadIdx.x // i", "//"),
    ("j = len(x) // blockDim.x", "div"),
    ("if i >= 0 and j > 0:\n    k = i % j", "rem"),
    ("if i >= 0 and j >= 0:\n    k = i % j", "rem"),
    ("if i >= 0 and j >= -1:\n    k = i % j", "%"),
    ("if i >= -1 and j >= 0:\n    k = i // j", "//"),
]


def test_division() -> None:
    for text, expected in DIVISION:
        simplified = simplify(function_of(text))
        (found,) = [node.op for node in ir.walk(*simplified.body) if isinstance(node, ir.Binary)]
        assert found == expected, text


def test_the_step_of_a_loop_learns_its_sign() -> None:
    for step, is_ascending in (("gridsize()", True), ("-1 - threadIdx.x", False)):
        function = simplify(function_of(f"for k in range(i, n, {step}):\n    x[k]"))
        (loop,) = (node for node in ir.walk(*function.body) if isinstance(node, ir.For))
        assert loop.ascending is is_ascending


def test_what_needs_no_change_is_the_same_object() -> None:
    function = function_of("for k in range(i, n):\n    if x[k] > 0:\n        x[k] = 1\n    x[-1]")
    assert simplify(function) is function
    once = simplify(function_of("i = threadIdx.x // 2\nx[i]\nx[n]"))
    assert simplify(once) is once
