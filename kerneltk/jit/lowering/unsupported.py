"""What restricted Python does not have: the construct, the user's word for it, what to write then.

A new refusal is a new row.
"""

from __future__ import annotations

import ast

REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.AsyncFor: ("An 'async for' loop", "use a plain 'for' loop over 'range'."),
    ast.AsyncFunctionDef: ("An async function", "use a plain function."),
    ast.AsyncWith: ("An 'async with' block", "leave it out: nothing in a kernel waits that way."),
    ast.Await: ("'await'", "call the function directly."),
    ast.ClassDef: (
        "A class definition",
        "define a dataclass or a named tuple outside of the kernel and use it here.",
    ),
    ast.Delete: ("'del'", "leave it out: variables end with the kernel."),
    ast.Dict: ("A dict", "use a tuple, an array, or a structured dtype."),
    ast.DictComp: ("A dict comprehension", "use an array and a 'for' loop."),
    ast.GeneratorExp: ("A generator expression", "write a 'for' loop."),
    ast.Global: ("'global'", "read it without; to change it, write into an array argument."),
    ast.Import: ("An import", "import it at the top of the file."),
    ast.ImportFrom: ("An import", "import it at the top of the file."),
    ast.JoinedStr: (
        "A formatted string outside of 'print' and 'assert'",
        "print it where it is made.",
    ),
    ast.List: ("A list", "use a tuple if it does not change, or 'jit.local_memory(dtype, shape)'."),
    ast.ListComp: (
        "A list comprehension",
        "fill a 'jit.local_memory(dtype, shape)' in a 'for' loop.",
    ),
    ast.MatMult: ("The operator '@'", "write the loops, or use a tiled product in shared memory."),
    ast.Nonlocal: ("'nonlocal'", "return the value, and assign it where the function is called."),
    ast.Set: ("A set", "use a tuple if it does not change."),
    ast.SetComp: ("A set comprehension", "use an array and a 'for' loop."),
    ast.Starred: ("'*' before a name", "assign the values one by one."),
    ast.Try: ("'try'", "test for the error beforehand: kernels catch no exceptions."),
    ast.TryStar: ("'try'", "test for the error beforehand: kernels catch no exceptions."),
    ast.With: ("A 'with' block", "leave it out: there is nothing to enter or leave in a kernel."),
    ast.Yield: ("'yield'", "write results into an array."),
    ast.YieldFrom: ("'yield from'", "write results into an array."),
}
"""By the class of the syntax node: how the sentence begins, and a hint."""

REFUSED_CALLS: dict[str, str] = {
    "all": "write the conditions with 'and', or a 'for' loop.",
    "any": "write the conditions with 'or', or a 'for' loop.",
    "breakpoint": "print values, or run on the host under a debugger.",
    "dict": "use a tuple, an array, or a structured dtype.",
    "eval": "write the expression itself.",
    "exec": "write the statements themselves.",
    "filter": "write a 'for' loop.",
    "format": "print the number with an f-string: print(f'{x:.3f}').",
    "getattr": "write the attribute's name.",
    "globals": "name the global itself.",
    "hasattr": "decide it outside of the kernel.",
    "hash": "compute one of the value's bits.",
    "id": "use an index.",
    "input": "pass the value as an argument.",
    "isinstance": "types are known when the kernel is compiled: compare 'x.dtype'.",
    "iter": "write a 'for' loop over 'range'.",
    "list": "use a tuple, or 'jit.local_memory(dtype, shape)'.",
    "locals": "name the variable itself.",
    "map": "write a 'for' loop.",
    "next": "write a 'for' loop over 'range'.",
    "open": "pass the data as an array.",
    "repr": "print the number itself.",
    "reversed": "use 'range' with a negative step.",
    "set": "use a tuple if it does not change.",
    "setattr": "write into an array.",
    "sorted": "sort outside of the kernel, or use 'jit.cub.BlockSort'.",
    "str": "print the number itself.",
    "super": "name the class: 'Base.method(self)'.",
    "type": "compare 'x.dtype'.",
    "vars": "name the variable itself.",
}
"""Hints for builtins that kernels do not have, by name."""
