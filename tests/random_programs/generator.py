"""Random kernels in Python: ``generate(seed)`` is a program with its arguments."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .arguments import KINDS, array, random_record, scalar
from .expressions import (
    CUTS,
    THREADS,
    ArrayVariable,
    Callee,
    Expressions,
    Scope,
    Variable,
    sliced,
)
from .numbers import COMPLEXES, FLOATS, INTEGERS, WEAK, Semantics, kind_of, sample
from .tree import Clause, Expr, Function, Parameter, Program, Statement

__all__ = ["INSIDE", "generate"]

Body = tuple[Statement, ...]

# A function that every program may call; the reference has one of the same name with an underscore.
INSIDE = Function(
    "def inside(value, low, high):",
    (Statement((Clause(*["return value if low <= value <= high else low"] * 2),)),),
)


def generate(seed: int, attempt: int = 0) -> Program:
    """Return a program of a seed; `attempt` chooses another, where one does what is undefined."""
    return Generator(seed, attempt).program()


class Generator(Expressions):
    """Makes one program."""

    def __init__(self, seed: int, attempt: int) -> None:
        rng = random.Random(1000 * seed + attempt)
        self.seed = seed
        self.kind: Literal["rawkernel", "kernel"] = "kernel" if rng.random() < 0.35 else "rawkernel"
        self.mode: Literal["numpy", "cuda"] = "cuda" if rng.random() < 0.4 else "numpy"
        super().__init__(rng, Semantics(self.mode), self.kind == "rawkernel")
        self.parameters: list[Parameter] = []
        self.functions: list[Function] = []
        self.constants: dict[str, Any] = {}
        self.is_inner = False
        self.statements: list[tuple[float, Callable[[int], Statement | None]]] = [
            (3.0, self.new_variable), (2.5, self.assignment), (2.5, self.augmented),
            (4.0, self.output), (1.5, self.if_), (1.2, self.for_range), (0.8, self.while_),
            (0.5, self.for_elements), (0.4, self.for_tuple), (0.8, self.unpacking),
            (0.6, self.quotient_and_rest), (0.9, self.several_results), (1.0, self.view),
            (0.3, self.constant), (0.6, self.leave_loop), (0.4, self.match),
            (0.5, self.inner_function), (0.3, self.local_memory), (0.3, self.walrus),
            (0.4, self.tuple_), (0.4, self.call), (1.0, self.exchange), (0.4, self.rebound),
            (0.4, self.copied_record), (0.6, self.uniform),
            (0.4, self.reused_loop_variable),
        ]  # fmt: skip

    # -- programs ------------------------------------------------------------------------------

    def program(self) -> Program:
        if self.kind == "kernel":
            return self.of_elements()
        return self.of_threads()

    def scalars(self) -> None:
        rng = self.rng
        for _ in range(rng.randint(0, 3)):
            kind = rng.choice(["int", "int", "float", "complex", "bool", *KINDS])
            name = self.fresh("n")
            self.parameters.append(scalar(name, kind, rng))
            self.scope.variables.append(
                Variable(name, kind, 2**31 if kind != "int" else 100, False)
            )

    def globals(self) -> None:
        if self.rng.random() < 0.3:
            self.constants["SIZE"] = value = self.rng.randint(0, 100)
            self.scope.variables.append(Variable("SIZE", "int", value, False, True))

    def inputs(self, count: int) -> None:
        rng = self.rng
        for _ in range(count):
            choice = rng.random()
            shape = (THREADS,) if rng.random() < 0.7 else (THREADS, rng.randint(1, 4))
            if choice < 0.3:
                dtype, shape = random_record(rng), (THREADS,)
            else:
                dtype = np.dtype(rng.choice(KINDS))
            name = self.fresh("r" if dtype.names is not None else "x")
            self.parameters.append(array(name, dtype, shape, rng, is_output=False))
            self.scope.arrays.append(ArrayVariable(name, dtype, shape))

    def outputs(self) -> None:
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            shape = (THREADS,) if rng.random() < 0.7 else (THREADS, rng.randint(1, 4))
            dtype = np.dtype(rng.choice(KINDS))
            if rng.random() < 0.3:
                dtype, shape = random_record(rng), (THREADS,)
                records = [a.dtype for a in self.scope.arrays if a.dtype.names is not None]
                if records and rng.random() < 0.6:
                    dtype = rng.choice(records)
            name = self.fresh("s" if dtype.names is not None else "y")
            self.parameters.append(array(name, dtype, shape, rng, is_output=True))
            self.scope.arrays.append(ArrayVariable(name, dtype, shape, True, True))

    def of_threads(self) -> Program:
        rng = self.rng
        self.inputs(rng.randint(1, 3))
        inputs = list(self.scope.arrays)
        self.scalars()
        self.globals()
        self.outputs()
        self.device_functions()
        grid, block = rng.choice([(1, 24), (2, 12), (3, 8)])
        self.scope.index = "i"
        start = rng.choice(["jit.grid(1)", "jit.grid(1)",
                            "jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x"])  # fmt: skip
        body = [one(f"i = {start}")]
        self.scope.variables.append(Variable("i", "int", THREADS, False))
        for source in inputs:
            if source.dtype.names is None and rng.random() < 0.6:
                body.append(self.declared(self.element(source)))
        self.scope.block = block if rng.random() < 0.4 else 0
        body += self.block(rng.randint(3, 9), 2)
        outputs = [a for a in self.scope.arrays if a.is_output and a.own_axis]
        for target in outputs:
            if rng.random() < 0.8 and (stored := self.stored(target, 2)) is not None:
                body.append(stored)
        body += self.observed(self.scope.variables, 0.7)
        return self.finished(tuple(body), launch=(grid, block))

    def of_elements(self) -> Program:
        rng = self.rng
        shapes: list[tuple[int, ...]] = [(rng.choice([THREADS, THREADS, THREADS, 67, 7, 1]),)]
        if rng.random() < 0.3:
            shapes = [(4, 6), (6,), (4, 1), (1, 6), (1,)]
        self.inputs(1 if rng.random() < 0.3 else 0)
        raw = tuple(source.name for source in self.scope.arrays)
        self.scalars()
        for k in range(rng.randint(1, 3)):
            kind = rng.choice(KINDS)
            name = self.fresh("x")
            shape = shapes[0] if k == 0 else rng.choice(shapes)
            self.parameters.append(array(name, np.dtype(kind), shape, rng, is_output=False))
            self.scope.variables.append(Variable(name, kind, self.bound_of(kind), False))
        self.globals()
        self.device_functions()
        body: list[Statement] = []
        if shapes == [(THREADS,)] and rng.random() < 0.3:
            body.append(one("i = jit.index(1)"))
            self.scope.index = "i"
            self.scope.variables.append(Variable("i", "int", THREADS, False))
        body += self.block(rng.randint(1, 7), 2)
        variables = [v for v in self.scope.variables if v.is_mutable and rng.random() < 0.7][:5]
        values = [self.any(3) for _ in range(rng.choice([1, 1, 2, 3]))]
        values += [self.variable(variable) for variable in variables]
        results = [value.kind for value in values]
        if rng.random() < 0.3:
            body.append(self.early_return(results))
        body.append(self.returned(values))
        out = ()
        if rng.random() < 0.2:
            out = tuple(self.rng.choice(self.wider(kind)) for kind in results)
        return self.finished(tuple(body), raw=raw, results=tuple(results), out=out)

    def wider(self, kind: str) -> list[str]:
        """Return the dtypes that a result is stored to without leaving their range."""
        kind = np.dtype(WEAK.get(kind, kind)).name
        if kind in COMPLEXES:
            return list(COMPLEXES)
        floating = [*FLOATS, *COMPLEXES]
        found = floating if kind in FLOATS else ["bool", *INTEGERS, *floating]
        return [other for other in found if np.can_cast(kind, other, "same_kind")]

    def returned(self, values: list[Expr]) -> Statement:
        text = ", ".join(f"{{{k}}}" for k in range(len(values)))
        return one(f"return {text}", parts=tuple(values))

    def early_return(self, kinds: list[str]) -> Statement:
        """Return the return of other values, which join to the kinds, under a condition."""
        condition = self.truth(1)
        values = tuple(self.joining(kind, 1) for kind in kinds)
        text = ", ".join(f"{{{k}}}" for k in range(len(values)))
        computed = ", ".join(f"_to({{{k}}}, '{kind}')" for k, kind in enumerate(kinds))
        given = one(f"return {text}", f"return {computed}", values)
        return Statement((Clause("if {0}:", "if {0}:", (condition,), (given,)),))

    def finished(self, body: Body, **options: Any) -> Program:
        functions = tuple(self.functions)
        if self.needs_inside:
            functions = (INSIDE, *functions)
        return Program(
            self.seed, self.kind, self.mode, tuple(self.parameters), functions, body,
            constants=self.constants, **options,
        )  # fmt: skip

    def device_functions(self) -> None:
        outer = self.scope
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            callees = list(outer.callees)
            name = self.fresh("f")
            kinds = [
                self.rng.choice([*KINDS, "int", "float"]) for _ in range(self.rng.randint(1, 3))
            ]
            vectors = [a.dtype for a in outer.arrays]
            vector = self.rng.choice(vectors) if vectors and self.rng.random() < 0.5 else None
            self.scope = Scope(callees=callees)
            function, callee = self.function(name, kinds, self.rng.randint(0, 3), vector)
            self.functions.append(function)
            outer.callees.append(callee)
        self.scope = outer

    def function(
        self, name: str, kinds: list[str], size: int, vector: Any = None
    ) -> tuple[Function, Callee]:
        """Return a function of numbers, and of a vector or a record where a dtype is given.

        The scope has what it sees beside its parameters.
        """
        names = []
        writes = vector is not None and self.rng.random() < 0.5
        for kind in kinds:
            names.append(self.fresh("a"))
            bound = 2.0**62 if kind == "int" else self.bound_of(kind)
            changes = kind != "int" and self.rng.random() < 0.3
            self.scope.variables.append(Variable(names[-1], kind, bound, changes))
        callee_names = tuple(names)
        if vector is not None:
            names.append(self.fresh("b"))
            is_record = vector.names is not None
            shape = () if is_record else (2,)
            taken = ArrayVariable(names[-1], vector, shape, writes, is_record=is_record)
            self.scope.arrays.append(taken)
        was_inner, self.is_inner = self.is_inner, True
        body = list(self.block(size, 1))
        values = [self.any(2) for _ in range(self.rng.choice([1, 1, 1, 2]))]
        results = [value.kind for value in values]
        if self.rng.random() < 0.3:
            body.append(self.early_return(results))
        body.append(self.returned(values))
        self.is_inner = was_inner
        head = f"def {name}({', '.join(names)}):"
        callee = Callee(name, tuple(kinds), tuple(results), callee_names, vector, writes)
        return Function(head, tuple(body)), callee

    # -- statements ----------------------------------------------------------------------------

    def block(self, size: int, depth: int) -> Body:
        found: list[Statement] = []
        makers = [maker for _, maker in self.statements]
        weights = [weight for weight, _ in self.statements]
        while len(found) < size:
            statement = self.rng.choices(makers, weights)[0](depth)
            if statement is not None:
                found.append(statement)
        return tuple(found)

    def inner_block(self, depth: int, *variables: Variable, in_loop: bool = False) -> Body:
        """Return statements of a branch or a loop, whose names end with it."""
        outer = self.scope
        self.scope = outer.inner(is_in_loop=in_loop or outer.is_in_loop, block=0)
        self.scope.variables += variables
        if in_loop:
            self.scope.loops += 1
        known = len(self.scope.variables)
        body = self.block(self.rng.randint(1, 3), depth - 1)
        body += self.observed(self.scope.variables[known:], 0.4)
        self.scope = outer
        return body

    def observed(self, variables: list[Variable], chance: float) -> Body:
        """Return statements that store variables in outputs of their own dtypes."""
        if not (self.is_raw and self.scope.index):
            return ()
        found = []
        for variable in variables:
            if variable.is_known or self.rng.random() > chance:
                continue
            dtype = np.dtype(WEAK.get(variable.kind, variable.kind))
            name = self.fresh("z")
            self.parameters.append(array(name, dtype, (THREADS,), self.rng, is_output=True))
            at = self.scope.index
            value = self.variable(variable)
            found.append(one(f"{name}[{at}] = {{0}}", f"_store({{0}}, {name}, {at})", (value,)))
        return tuple(found)

    def declared(self, value: Expr) -> Statement:
        """Return the assignment of a value to a new variable."""
        name = self.fresh("v")
        bound = max(value.bound, 2000.0) if value.kind == "int" else self.bound_of(value.kind)
        self.scope.variables.append(Variable(name, value.kind, bound))
        return self.set(name, value.kind, value)

    def set(self, name: str, kind: str, value: Expr) -> Statement:
        return one(f"{name} = {{0}}", f"{name} = _to({{0}}, '{kind}')", (value,))

    def new_variable(self, depth: int) -> Statement | None:
        return self.declared(self.any(3))

    def mutable(self) -> Variable | None:
        found = [v for v in self.scope.variables if v.is_mutable]
        return self.rng.choice(found) if found else None

    def within(self, value: Expr, bound: float) -> Expr:
        """Return a Python int of at most some magnitude."""
        if value.kind != "int" or value.bound <= bound:
            return value
        return Expr("({0} % 1009)", "_op('%', {0}, 1009)", "int", (value,), bound=1009)

    def assignment(self, depth: int) -> Statement | None:
        variable = self.mutable()
        if variable is None:
            return None
        value = self.joining(variable.kind, 2)
        if variable.kind == "int":
            value = self.within(value, variable.bound)
        return self.set(variable.name, variable.kind, value)

    def augmented(self, depth: int) -> Statement | None:
        """Return ``v += value``."""
        variable = self.mutable()
        if variable is None:
            return None
        found = self.operation(self.variable(variable), variable.kind)
        if found is None:
            return None
        op, value, result = found
        if result == "int" and (op in ("*", "**") or self.scope.loops > 1):
            return None
        text = f"{variable.name} {op}= {{0}}"
        computed = self.operated(op, variable.name)
        reference = f"{variable.name} = _to({computed}, '{variable.kind}')"
        return one(text, reference, (value,))

    def operated(self, op: str, target: str, part: int = 0) -> str:
        name = "_shift" if op in ("<<", ">>") else "_op"
        return f"{name}('{op}', {target}, {{{part}}})"

    def operation(self, target: Expr, kind: str) -> tuple[str, Expr, str] | None:
        """Return an operator, its right operand, and the result's kind, which joins to `kind`."""
        op = self.rng.choice(["+", "+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"])
        value = self.literal(kind) if self.rng.random() < 0.3 else self.any(1)
        common = self.common(kind, value.kind)
        if op in "&|^" and common not in ("bool", *INTEGERS):
            return None
        if op in ("<<", ">>"):
            if kind not in INTEGERS:
                return None
            count = str(self.rng.randint(0, 9))
            return op, Expr(count, count, "int", is_known=True, bound=9), kind
        if op in ("/", "//", "%"):
            if "complex" in common:
                return None
            if common in ("bool", "int", *INTEGERS):
                guarded = self.divisor(value)
                if guarded is None or (guarded.kind == "int" and not guarded.is_known):
                    return None
                value = guarded
        if op == "*" and "complex" in common and "complex" not in kind + value.kind:
            return None
        if common == "int":
            value = self.within(value, 1009)
        result = kind_of(self.semantics.binary(op, sample(kind), sample(value.kind)))
        if self.semantics.join((kind, False), (result, False)) != kind:
            return None
        return op, value, result

    def stored(self, target: ArrayVariable, depth: int) -> Statement | None:
        """Return an assignment to an element."""
        text, reference, kind, parts = self.place(target)
        split = reference.rindex("[")
        where, index = reference[:split], reference[split + 1 : -1]
        shift = len(parts)
        if self.rng.random() < 0.25:
            read = Expr(text, f"_load({reference})", kind, parts, bound=self.bound_of(kind))
            found = self.operation(read, kind)
            if found is None:
                return None
            op, value, result = found
            if "complex" in result and "complex" not in kind:
                return None
            if kind in INTEGERS and result not in ("bool", "int", *INTEGERS):
                return None
            computed = f"_update('{op}', _target({where}, ({index})), {{{shift}}})"
            return one(f"{text} {op}= {{{shift}}}", computed, (*parts, value))
        value = self.any(depth)
        if self.rng.random() < 0.1:
            value = self.literal(kind if kind not in INTEGERS else "uint8")
            if value.kind == "float" and kind not in FLOATS:
                return None
            if value.kind == "complex" and "complex" not in kind:
                return None
            if value.kind == "int" and kind in INTEGERS and value.bound > 100:
                return None
        elif "complex" in value.kind and "complex" not in kind:
            value = self.parts_of(value)
        if kind in INTEGERS and value.kind in (*FLOATS, "float"):
            value = self.inside(value, 0 if kind.startswith("u") else -100, 100)
        return one(
            f"{text} = {{{shift}}}", f"_store({{{shift}}}, {where}, ({index}))", (*parts, value)
        )

    def output(self, depth: int) -> Statement | None:
        targets = [target for target in self.scope.arrays if target.is_output]
        if not targets:
            return None
        return self.stored(self.rng.choice(targets), 2)

    def if_(self, depth: int) -> Statement | None:
        if depth <= 0:
            return None
        clauses = [Clause("if {0}:", "if {0}:", (self.truth_or_number(),), self.inner_block(depth))]
        while self.rng.random() < 0.3:
            condition = (self.truth_or_number(),)
            clauses.append(Clause("elif {0}:", "elif {0}:", condition, self.inner_block(depth)))
        if self.rng.random() < 0.5:
            clauses.append(Clause("else:", "else:", (), self.inner_block(depth)))
        return Statement(tuple(clauses))

    def truth_or_number(self) -> Expr:
        if self.rng.random() < 0.8:
            return self.truth(2)
        found = self.any(1)
        return self.leaf() if found.is_known else found

    def for_range(self, depth: int) -> Statement | None:
        if depth <= 0 or self.scope.loops > 1:
            return None
        rng = self.rng
        name = self.fresh("k")
        choice = rng.random()
        parts: tuple[Expr, ...] = ()
        if choice < 0.3:
            bounds = reference = str(rng.randint(0, 5))
        elif choice < 0.55:
            low, high, step = rng.randint(-5, 5), rng.randint(-5, 5), rng.choice([1, 2, -1, -2, -3])
            bounds = reference = f"{low}, {high}, {step}"
        else:
            found = self.small(1)
            parts = (found,)
            part, computed = "{0} % 5", "_op('%', {0}, 5)"
            pattern = rng.choice(["{}", "0, {}", "{}, 6", "{}, -1, -1", "-2, {}, 2", "5, {}, -2"])
            bounds, reference = pattern.format(part), pattern.format(computed)
        changes = rng.random() < 0.15
        loop = Variable(name, "int", 2000, changes)
        body = self.inner_block(depth, loop, in_loop=True)
        clauses = [
            Clause(
                f"for {name} in range({bounds}):", f"for {name} in range({reference}):",
                parts, body,
            )
        ]  # fmt: skip
        return self.with_else(clauses, depth)

    def with_else(self, clauses: list[Clause], depth: int) -> Statement:
        if self.rng.random() < 0.15:
            clauses.append(Clause("else:", "else:", (), self.inner_block(depth)))
        return Statement(tuple(clauses))

    def reused_loop_variable(self, depth: int) -> Statement | None:
        """Return a loop whose variable is there before it, and after it."""
        variables = [v for v in self.scope.variables if v.is_mutable and v.kind == "int"]
        if depth <= 0 or self.scope.loops > 1 or not variables:
            return None
        name = self.rng.choice(variables).name
        low, high = self.rng.randint(-3, 3), self.rng.randint(-3, 5)
        text = f"for {name} in range({low}, {high}):"
        body = self.inner_block(depth, in_loop=True)
        clause = Clause(text, text, (), body)
        return self.with_else([clause], depth)

    def exchange(self, depth: int) -> Statement | None:
        """Return statements by which a thread has another one's number, by way of shared memory."""
        block = self.scope.block
        if not block:
            return None
        kind = self.rng.choice(KINDS)
        shared, name = self.fresh("h"), self.fresh("v")
        value = self.of_kind(kind, 2)
        found = self.index(block)
        at = self.rng.choice(
            ["jit.threadIdx.x", f"(jit.threadIdx.x + {self.rng.randint(1, 9)}) % {block}",
             "-1 - jit.threadIdx.x"]
        )  # fmt: skip
        if self.rng.random() < 0.7:
            found = Expr(at, at, "index")
        here = f"{shared}[jit.threadIdx.x]"
        memory = f"{shared} = jit.shared_memory(np.{np.dtype(kind).type.__name__}, {block})"
        clauses = [
            Clause(memory, memory),
            Clause(f"{here} = {{0}}", f"_store({{0}}, {shared}, jit.threadIdx.x)", (value,)),
            Clause("jit.syncthreads()", "jit.syncthreads()"),
            Clause(
                f"{name} = {shared}[{{0}}]", f"{name} = _load({shared}[{{0}}])", (found,),
            ),
            Clause("jit.syncthreads()", "jit.syncthreads()"),
        ]  # fmt: skip
        if self.rng.random() < 0.1:  # which keeps the host from dividing the loop over threads
            count = self.fresh("v")
            text = f"{count} = jit.syncthreads_count({{0}})"
            clauses.append(Clause(text, text, (self.truth(1),)))
            self.scope.variables.append(Variable(count, "int", 100))
        self.scope.variables.append(Variable(name, kind, self.bound_of(kind)))
        return Statement(tuple(clauses))

    def uniform(self, depth: int) -> Statement | None:
        """Return a loop or a branch that all threads take."""
        block = self.scope.block
        if not block or depth <= 0:
            return None
        outer = self.scope
        scalars = [
            v for v in outer.variables if v.name[0] == "n" and v.kind in ("int", *INTEGERS)
        ]  # fmt: skip
        variables = []
        if scalars and self.rng.random() < 0.5:
            scalar_ = self.variable(self.rng.choice(scalars))
            if self.rng.random() < 0.5:
                text, reference = "if {0} % 3 == 1:", "if _op('%', {0}, 3) == 1:"
            else:
                name = self.fresh("k")
                text = f"for {name} in range({{0}} % 3):"
                reference = f"for {name} in range(_op('%', {{0}}, 3)):"
                variables = [Variable(name, "int", 5, False)]
            parts: tuple[Expr, ...] = (scalar_,)
        else:
            name = self.fresh("k")
            text = reference = f"for {name} in range({self.rng.randint(1, 3)}):"
            variables = [Variable(name, "int", 5, False)]
            parts = ()
        self.scope = outer.inner()
        self.scope.variables += variables
        self.scope.loops += len(variables)
        known = len(self.scope.variables)
        body = self.block(self.rng.randint(1, 3), depth - 1)
        body += self.observed(self.scope.variables[known:], 0.4)
        self.scope = outer
        return Statement((Clause(text, reference, parts, body),))

    def while_(self, depth: int) -> Statement | None:
        if depth <= 0 or self.scope.loops > 1:
            return None
        name = self.fresh("c")
        counter = Variable(name, "int", 100, False)
        start = one(f"{name} = 0")
        step = one(f"{name} += 1", f"{name} = _op('+', {name}, 1)")
        condition = self.truth(2)
        most = self.rng.randint(1, 5)
        body = (step, *self.inner_block(depth, counter, in_loop=True))
        text = f"while {name} < {most} and {{0}}:"
        loop = self.with_else([Clause(text, text, (condition,), body)], depth)
        return Statement((*start.clauses, *loop.clauses))

    def for_elements(self, depth: int) -> Statement | None:
        """Return a loop over the elements of a vector, or of a row."""
        arrays = [
            a for a in self.scope.arrays
            if a.dtype.names is None and len(a.shape) <= 2 and (len(a.shape) == 2 or not a.own_axis)
        ]  # fmt: skip
        if depth <= 0 or not arrays or self.scope.loops > 0:
            return None
        source = self.rng.choice(arrays)
        kind = source.dtype.name
        name = self.fresh("e")
        over, parts = source.name, ()
        if len(source.shape) == 2:
            if source.own_axis:
                over = f"{source.name}[{self.scope.index}]"
            else:
                over, parts = f"{source.name}[{{0}}]", (self.index(source.shape[0]),)
        elif source.shape[0] > 6:
            over += "[:5]"
        variable = Variable(name, kind, self.bound_of(kind), self.rng.random() < 0.2)
        body = self.inner_block(depth, variable, in_loop=True)
        reference = f"for {name} in {over}:\n    {name} = _load({name})"
        clause = Clause(f"for {name} in {over}:", reference, parts, body)
        return self.with_else([clause], depth)

    def for_tuple(self, depth: int) -> Statement | None:
        if depth <= 0 or self.scope.loops > 1:
            return None
        kind = self.any(1).kind
        items = tuple(self.of_kind(kind, 1) for _ in range(self.rng.randint(1, 3)))
        text = ", ".join(f"{{{k}}}" for k in range(len(items))) + ","
        name = self.fresh("e")
        bound = 2.0**62 if kind == "int" else self.bound_of(kind)
        variables = [Variable(name, kind, bound, False)]
        header = f"for {name} in ({text}):"
        if self.rng.random() < 0.4:
            count = self.fresh("k")
            variables.append(Variable(count, "int", 3, False, True))
            header = f"for {count}, {name} in enumerate(({text})):"
        outer = self.scope.is_in_loop
        body = self.inner_block(depth, *variables, in_loop=True)
        self.scope.is_in_loop = outer
        return Statement((Clause(header, header, items, body),))

    def unpacking(self, depth: int) -> Statement | None:
        found = [v for v in self.scope.variables if v.is_mutable]
        if len(found) < 2:
            return None
        first, second = self.rng.sample(found, 2)
        values = [self.within(self.of_kind(v.kind, 1), v.bound) for v in (first, second)]
        if first.kind == second.kind and self.rng.random() < 0.5:
            values = [self.variable(second), self.variable(first)]
            if first.kind == "int" and first.bound != second.bound:
                return None
        text = f"{first.name}, {second.name} = {{0}}, {{1}}"
        return one(text, parts=tuple(values))

    def quotient_and_rest(self, depth: int) -> Statement | None:
        left, right = self.pair(1, is_real=True)
        kind = self.common(left.kind, right.kind)
        if kind in ("bool", "int", *INTEGERS):
            guarded = self.divisor(right)
            if guarded is None or (guarded.kind == "int" and not guarded.is_known):
                return None
            right = guarded
        if left.is_known and right.is_known:
            return None
        kind = kind_of(self.semantics.binary("//", sample(left.kind), sample(right.kind)))
        names = [self.fresh("v"), self.fresh("v")]
        for name in names:
            bound = max(left.bound, right.bound, 2000)
            bound = bound if kind == "int" else self.bound_of(kind)
            self.scope.variables.append(Variable(name, kind, bound))
        target = ", ".join(names)
        function = "np.divmod" if kind not in WEAK and self.rng.random() < 0.3 else "divmod"
        return one(
            f"{target} = {function}({{0}}, {{1}})",
            f"{target} = _divmod({{0}}, {{1}})",
            (left, right),
        )

    def several_results(self, depth: int) -> Statement | None:
        callees = [callee for callee in self.callable() if len(callee.results) == 2]
        if not callees:
            return None
        callee = self.rng.choice(callees)
        names = [self.fresh("v"), self.fresh("v")]
        call = self.call_of(callee, 1, "")
        for name, kind in zip(names, callee.results, strict=True):
            bound = 2.0**62 if kind == "int" else self.bound_of(kind)
            self.scope.variables.append(Variable(name, kind, bound, kind != "int"))
        return one(f"{', '.join(names)} = {{0}}", parts=(call,))

    def view(self, depth: int) -> Statement | None:
        """Return the definition of a view: a part of an array, a row, a field of all records."""
        if not self.scope.arrays:
            return None
        rng = self.rng
        source = rng.choice(self.scope.arrays)
        name = self.fresh("w")
        dtype, shape = source.dtype, source.shape
        if source.is_record:
            return None
        if dtype.names is not None:
            field = rng.choice(dtype.names)
            part = dtype[field]
            if rng.random() < 0.5:  # one record
                made = ArrayVariable(name, dtype, (), source.is_output, is_record=True)
                text, parts = f"{name} = {source.name}[{self.scope.index}]", ()
                if not source.own_axis:
                    text, parts = f"{name} = {source.name}[{{0}}]", (self.index(shape[0]),)
                if not source.own_axis and rng.random() < 0.3:
                    text += f" if {{1}} else {source.name}[{{2}}]"
                    parts = (*parts, self.truth(1), self.index(shape[0]))
            elif part.names is not None or part.shape:
                return None
            else:
                made = ArrayVariable(name, part, shape, source.is_output, source.own_axis)
                text, parts = f'{name} = {source.name}["{field}"]', ()
            self.scope.arrays.append(made)
            return one(text, parts=parts)
        if source.own_axis:
            if len(shape) < 2:
                return None
            at, parts = self.scope.index, ()
            start = rng.randint(0, shape[1] - 1)
            end = rng.choice([f"{start}:", "::-1"]) if rng.random() < 0.6 else ""
            left = shape[1] - start if end and end != "::-1" else shape[1]
            text = f"{source.name}[{at}, {end}]" if end else f"{source.name}[{at}]"
            made = ArrayVariable(name, dtype, (left, *shape[2:]), True)
        elif len(shape) == 2 and rng.random() < 0.6:
            axis = rng.choice([0, 1])
            parts = (self.index(shape[axis]),)
            text = f"{source.name}[{{0}}]" if axis == 0 else f"{source.name}[:, {{0}}]"
            made = ArrayVariable(name, dtype, (shape[1 - axis],), source.is_output)
        else:
            if shape[0] < 2:
                return None
            parts = ()
            cut = rng.choice(CUTS)
            length = len(range(shape[0])[sliced(cut)])
            text = f"{source.name}[{cut}]"
            made = ArrayVariable(name, dtype, (length, *shape[1:]), source.is_output)
        self.scope.arrays.append(made)
        return one(f"{name} = {text}", parts=parts)

    def rebound(self, depth: int) -> Statement | None:
        """Return the assignment of another view, or another record, to a variable."""
        rng = self.rng
        variables = [a for a in self.scope.arrays if a.name[0] == "w"]
        if self.is_inner or not variables:
            return None
        old = rng.choice(variables)
        others = [
            a for a in self.scope.arrays
            if a.dtype == old.dtype and a.is_output == old.is_output and a.name != old.name
        ]  # fmt: skip
        if old.is_record:
            found = [a for a in others if a.shape and not a.own_axis]
            if not found:
                return None
            source = rng.choice(found)
            return one(f"{old.name} = {source.name}[{{0}}]", parts=(self.index(source.shape[0]),))
        found = [
            a for a in others
            if len(a.shape) == len(old.shape) and not (a.own_axis or old.own_axis or a.is_fixed)
            and all(new >= least for new, least in zip(a.shape, old.shape, strict=True))
        ]  # fmt: skip
        if not found:
            return None
        source = rng.choice(found)
        cuts = [c for c in CUTS if len(range(source.shape[0])[sliced(c)]) >= old.shape[0]]
        cut = f"[{rng.choice(cuts)}]" if cuts and rng.random() < 0.7 else ""
        return one(f"{old.name} = {source.name}{cut}")

    def copied_record(self, depth: int) -> Statement | None:
        """Return the assignment of a whole record to an element."""
        targets = [
            a for a in self.scope.arrays if a.own_axis and a.dtype.names is not None
        ]  # fmt: skip
        if not targets:
            return None
        target = self.rng.choice(targets)
        sources = [a for a in self.scope.arrays if a.dtype == target.dtype and a is not target]
        if not sources:
            return None
        value = self.vector(Callee("", (), (), vector=target.dtype))
        return one(f"{target.name}[{self.scope.index}] = {{0}}", parts=(value,))

    def constant(self, depth: int) -> Statement | None:
        name = self.fresh("q")
        value = self.rng.randint(0, 9)
        self.scope.variables.append(Variable(name, "int", value, False, True))
        return one(f"{name} = {value}")

    def call(self, depth: int) -> Statement | None:
        """Return a call for what the function does."""
        callees = self.callable()
        return (
            one("{0}", parts=(self.call_of(self.rng.choice(callees), 1, ""),)) if callees else None
        )

    def leave_loop(self, depth: int) -> Statement | None:
        if not self.scope.is_in_loop:
            return None
        leaving = one(self.rng.choice(["break", "continue"]))
        return Statement((Clause("if {0}:", "if {0}:", (self.truth(1),), (leaving,)),))

    def match(self, depth: int) -> Statement | None:
        if depth <= 0:
            return None
        value = self.small(1)
        cases = [
            Clause("case 0:", "case 0:", (), self.inner_block(depth)),
            Clause("case 1 | 2:", "case 1 | 2:", (), self.inner_block(depth)),
        ]
        if self.rng.random() < 0.7:
            cases.append(Clause("case _:", "case _:", (), self.inner_block(depth)))
        body = (Statement(tuple(cases)),)
        return Statement((Clause("match {0} % 4:", "match _op('%', {0}, 4):", (value,), body),))

    def inner_function(self, depth: int) -> Statement | None:
        """Return a function within the kernel, which sees the kernel's variables."""
        if self.is_inner or depth < 2 or self.scope.is_in_loop:
            return None
        outer = self.scope
        name = self.fresh("g")
        kinds = [self.rng.choice([*KINDS, "int", "float"]) for _ in range(self.rng.randint(1, 2))]
        self.scope = outer.inner(is_in_loop=False, block=0)
        self.scope.variables = [
            Variable(v.name, v.kind, v.bound, False, v.is_known) for v in outer.variables
        ]
        self.scope.callees = [callee for callee in outer.callees if callee.name[0] == "f"]
        if self.rng.random() < 0.3:
            statement, callee = self.lambda_(name, kinds)
        else:
            function, callee = self.function(name, kinds, self.rng.randint(0, 2))
            head = function.head
            statement = Statement((Clause(head, head, (), function.body),))
        self.scope = outer
        outer.callees.append(callee)
        return statement

    def lambda_(self, name: str, kinds: list[str]) -> tuple[Statement, Callee]:
        names = []
        for kind in kinds:
            names.append(self.fresh("a"))
            bound = 2.0**62 if kind == "int" else self.bound_of(kind)
            self.scope.variables.append(Variable(names[-1], kind, bound, False))
        could, self.can_assign = self.can_assign, False
        value = self.any(3)
        self.can_assign = could
        callee = Callee(name, tuple(kinds), (value.kind,))
        return one(f"{name} = lambda {', '.join(names)}: {{0}}", parts=(value,)), callee

    def tuple_(self, depth: int) -> Statement | None:
        """Return a variable that is a tuple, whose items are variables too."""
        values = [self.any(1) for _ in range(self.rng.randint(1, 3))]
        if any(value.is_known for value in values):
            return None
        name = self.fresh("t")
        text = ", ".join(f"{{{k}}}" for k in range(len(values))) + ","
        for k, value in enumerate(values):
            self.scope.variables.append(Variable(f"{name}[{k}]", value.kind, value.bound, False))
        return one(f"{name} = ({text})", parts=tuple(values))

    def local_memory(self, depth: int) -> Statement | None:
        if not self.is_raw or self.is_inner or depth < 2:
            return None
        kind = self.rng.choice(KINDS)
        count = self.rng.randint(1, 4)
        name, k = self.fresh("m"), self.fresh("k")
        value = self.of_kind(kind, 1)
        loop = Clause(
            f"for {k} in range({count}):", f"for {k} in range({count}):", (),
            (one(f"{name}[{k}] = {{0}}", f"_store({{0}}, {name}, {k})", (value,)),),
        )  # fmt: skip
        self.scope.arrays.append(ArrayVariable(name, np.dtype(kind), (count,), True, is_fixed=True))
        first = f"{name} = jit.local_memory(np.{np.dtype(kind).type.__name__}, {count})"
        return Statement((Clause(first, first), loop))

    def walrus(self, depth: int) -> Statement | None:
        """Return an assignment within an expression."""
        value = self.any(2)
        if value.is_known or self.is_inner:
            return None
        name = self.fresh("v")
        bound = max(value.bound, 2000.0) if value.kind == "int" else self.bound_of(value.kind)
        inner = Expr(
            f"({name} := {{0}})", f"({name} := {{0}})", value.kind, (value,), bound=value.bound
        )
        other = self.literal(value.kind)
        if "complex" in value.kind + other.kind:
            return None
        text = f"if {{0}} {self.rng.choice(['<', '!='])} {{1}}:"
        op = text.split()[2]
        self.scope.variables.append(Variable(name, value.kind, bound))
        body = self.inner_block(min(depth, 1))
        reference = f"if _cmp('{op}', {{0}}, {{1}}):"
        return Statement((Clause(text, reference, (inner, other), body),))


def one(text: str, reference: str = "", parts: tuple[Expr, ...] = ()) -> Statement:
    """Return a statement of one line."""
    return Statement((Clause(text, reference or text, parts),))
