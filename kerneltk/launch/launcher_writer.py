"""Writes launchers as Python functions: no loops, one variable an argument, compiled once.

The steps are those of `launcher_spec`. Launchers that differ in nothing but the objects that they
refer to share their code.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import lru_cache
from marshal import dumps
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from kerneltk.backends.base import (
    Access,
    ArrayAccess,
    BlocksOf,
    Bound,
    LaunchCall,
    LaunchValue,
    record_bytes,
)
from kerneltk.launch.launcher_spec import Argument, Guard, LauncherSpec, MultipleOf, Structure

_Parts = dict[str, str | list[str]]

# A name in braces stands for an expression or, if it is alone in its line, for any number of lines.
# Taking a block of parameters is a single step of the interpreter: threads never share one. Numbers
# are checked also where nothing is computed with them.
_LAUNCHER = """\
def run({parameters}):
    {global_names}
    {unpacked}
    {types_checked}
    {addresses}
    {planned}
    {arrays_checked}
    {shaped}
    {lent}
    {scratch}
    try:
        buffer = buffers.pop()
    except IndexError:
        buffer = {new_buffer}()
    try:
        pack_into(buffer[0], 0, {packed})
    except PackErrors:
        {refused}
    {noted}
    {stream}
    try:
        failure = launch({launched})
    except errors as error:
        failure = error
    if failure:
        launch_failed(failure, launch, ({launched}))
    buffers.append(buffer)
    {taken_back}
    return {result}
"""
_KEY_OF = """\
def key_of({key_parameters}):
    {unpacking}
    {addresses}
    {key}
    return key
"""
# Calls repeat: comparing with the last key is cheaper than hashing.
_PLANNED = """\
{key}
last_key, plan = last
if key != last_key:
    plan = plans.get(key)
    if plan is None:
        {unplanned}
    {passed_on}
    last = (key, plan)
{columns} = plan
"""
_SHAPED = """\
last_grid, last_block, last_shared, gx, gy, gz, bx, by, bz, size = shapes.last
if grid is not last_grid or block is not last_block or shared is not last_shared:
    try:
        gx, gy, gz, bx, by, bz, size = shapes.known[dumps((grid, block, shared), 2)]
    except (KeyError, ValueError):
        checked = shapes.configure(grid, block, shared)
        if checked is None:
            return "large grid"
        gx, gy, gz, bx, by, bz, size = checked
shared = size
"""
_GRID_COLUMNS = ("_", "function", "shapes", "buffers", "pack_into", "loaded")
_LOOP_COLUMNS = (
    *("function", "grid", "chunk", "block", "pack_into", "pack_checked"),
    *("new_buffer", "buffers", "shape", "order", "scratch"),
)
_MARSHALS = {
    "number": "{a}",
    "converted": "*convert_{a}({a})",
    "complex": "{a}.real, {a}.imag",
    "float32": "{a} if -largest < {a} < largest else rounded({a})",
    "bits": "{a}.view('u2')",
    "bytes": "{a}.tobytes()",
    "lent": "p{a}",
}


def _rounded(value: float) -> float:
    """Return a float as a float32 has it; beyond the largest it is infinite, as in NumPy."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


_NAMES = {
    "dumps": dumps,
    "largest": (2 - 2**-23) * 2.0**127,  # float32
    "pointer_at": ctypes.c_void_p.from_address,
    "record_bytes": record_bytes,
    "rounded": _rounded,
    "PackErrors": (struct.error, OverflowError, TypeError, ValueError),
}


_FIELDS = [[field.name for field in fields(k)] for k in (ArrayAccess, LaunchCall, LauncherSpec)]


@lru_cache
def _lines(template: str) -> list[tuple[str, str, str]]:
    """The lines of a template: of each its margin, the name that is alone in it, and the line."""
    found = []
    for line in template.splitlines():
        name = line.strip()
        is_alone = name.startswith("{") and name.endswith("}")
        found.append((line[: line.index(name)], name[1:-1] if is_alone else "", line))
    return found


def _filled(template: str, parts: _Parts) -> list[str]:
    """The lines of a template with its names replaced."""
    lines = []
    for margin, name, line in _lines(template):
        part = parts.get(name)
        if part is None:
            lines.append(line.format_map(parts) if "{" in line else line)
        elif isinstance(part, str):
            lines.append(margin + part)
        else:
            lines += [margin + entry for entry in part]
    return lines


def _if(conditions: list[str], *lines: str) -> list[str]:
    """Return the lines that do something where one of the conditions is true."""
    return [f"if {' or '.join(conditions)}:", *_indented(lines)] if conditions else []


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _tuple(items: Iterable[str]) -> str:
    return f"({''.join(f'{item}, ' for item in items)})"


@lru_cache(maxsize=512)
def compiled(source: str) -> CodeType:
    """Return a launcher's source in compiled form."""
    return compile(source, "<launcher>", "exec")


class _Writer:
    """The parts of one launcher's source, and the objects that it refers to: the fields of what its
    spec is made of, by their own names.

    Variables of an argument are named by its path: of ``a1_0``, the address is ``pa1_0``, the
    object that the address is read from ``ma1_0``, a copy that lies where the kernel finds it
    ``ra1_0``, and the numbers that a plan has for it ``ea1_0``.
    """

    def __init__(self, spec: LauncherSpec) -> None:
        self.spec, self.is_grid = spec, spec.entry == "grid"
        self.has_plans = spec.bound is None
        # Some of what a spec holds is known to the launcher by its address alone.
        self.names: dict[str, Any] = {**_NAMES, "spec": spec, "last": (None, None)}
        for part, names in zip((spec.arrays, spec.call, spec), _FIELDS, strict=True):
            self.names |= {name: getattr(part, name) for name in names}
        if spec.bound is not None:
            self.names |= zip(_GRID_COLUMNS, spec.bound.row(None), strict=True)
        self._unpacking: list[str] = []
        self._types: list[str] = []
        self._leaves: list[tuple[str, Argument]] = []
        variables = [f"a{k}" for k in range(len(spec.arguments))]
        if self.is_grid:
            self._unpacking.append(f"{_tuple(variables)} = args")
        for variable, argument in zip(variables, spec.arguments, strict=True):
            self._take_apart(variable, argument)
        self._given = _tuple(a for a in variables if a in self._types)
        self._own = f"{self._given}, stream, extra"
        if self.is_grid:
            self._own = "grid, block, args, shared, stream"
        self._missed = f"return dispatch({self._own})"
        if self.is_grid and self.has_plans:
            self._missed = 'return "arguments"'
        self._arrays = [(a, leaf) for a, leaf in self._leaves if leaf.marshal == "address"]
        self._read = [(a, leaf) for a, leaf in self._arrays if leaf.is_given]
        self._lent = [(a, leaf) for a, leaf in self._leaves if leaf.marshal == "lent"]
        self._takes_scratch = spec.has_scratch and spec.call.scratch_for is not None

    def _take_apart(self, variable: str, argument: Argument | Structure) -> None:
        if isinstance(argument, Argument):
            self._leaves.append((variable, argument))
            self.names[f"convert_{variable}"] = argument.convert
            if not argument.is_given:
                return
        self._types.append(variable)
        self.names[f"type_{variable}"] = argument.type
        if isinstance(argument, Argument):
            return
        items = [f"{variable}_{k}" for k in range(len(argument.items))]
        if issubclass(argument.type, tuple):
            whole = variable
            if argument.type.__iter__ is not tuple.__iter__:  # a method of the user's
                whole = f"{self._bind(tuple.__iter__)}({variable})"
            self._unpacking.append(f"{_tuple(items)} = {whole}")
        named = zip(items, argument.fields, strict=False)
        self._unpacking += [f"{item} = {variable}.{field}" for item, field in named]
        for item, inner in zip(items, argument.items, strict=True):
            self._take_apart(item, inner)

    def _bind(self, value: Any) -> str:
        name = f"bound{len(self.names)}"
        self.names[name] = value
        return name

    # -- expressions -----------------------------------------------------------------------------

    def _get(self, access: Access, owner: str) -> str:
        if isinstance(access, str):
            return f"{owner}.{access}"
        if isinstance(access, int):
            return f"pointer_at(id({owner}) + {access}).value or 0"
        return f"{self._bind(access)}({owner})"

    def _value(self, value: LaunchValue) -> str:
        if isinstance(value, Bound):
            return self._bind(value.value)
        if isinstance(value, BlocksOf):
            return f"{value.threads} // (bx * by * bz) or 1"
        return {"parameters": "buffer[1]", "blocks": "gx * gy * gz"}.get(str(value), str(value))

    def _address(self, array: str, pointer: str) -> str:
        """Return a statement that reads an array's address."""
        memory, address = self.spec.arrays.memory, self.spec.arrays.address
        if not memory:
            return f"{pointer} = {self._get(address, array)}"
        return f"m{array} = {array}.{memory}; {pointer} = {self._get(address, f'm{array}')}"

    def _device(self, array: str) -> str:
        arrays = self.spec.arrays
        return f"{'m' if arrays.memory else ''}{array}.{arrays.device}"

    def _key(self) -> str:
        arrays, key = self.spec.arrays, []
        for a, _ in self._read:
            strides = f"{a}.{arrays.contiguous} or " if arrays.contiguous else ""
            key += [f"{a}.dtype", f"{a}.shape", f"{strides}{a}.strides"]
            key += [self._device(a)] if arrays.device else []
        if arrays.writable:
            key += [f"{a}.{arrays.writable}" for a, leaf in self._read if leaf.written]
        key += [f"{a}.dtype" for a, leaf in self._leaves if leaf.marshal in ("bytes", "lent")]
        if not self.is_grid:
            key += ["current_device()", "extra"] if self.spec.call.current_device else ["extra"]
        if self._read:
            every = " | ".join(f"p{a}" for a, _ in self._read)
            key.append(f"({every}) & 15 and {_tuple(f'p{a} & 15' for a, _ in self._read)}")
        return f"key = {_tuple(key)}"

    def _fails(self, guard: Guard, a: str) -> str:
        """Return an expression that is true of an array that does not pass a guard."""
        if isinstance(guard, MultipleOf):
            number = guard.number
            return f"p{a} & {number - 1}" if guard.what == "address" else f"{a}.nbytes % {number}"
        return {
            "dtype": f"{a}.dtype is not dtype_{a}",
            "dense": f"not {a}.{self.spec.arrays.dense}",
            "memory": f"not p{a}",
            "device": f"{self._device(a)} != device",
            "writable": f"not {a}.{self.spec.arrays.writable}",
        }[guard]

    def _packed(self) -> list[str]:
        spec = self.spec
        values = [self._value(value) for value in spec.call.head_values]
        values += ["own_scratch"] if self._takes_scratch else []
        for a, leaf in (self._leaves[k] for k in spec.packed or range(len(self._leaves))):
            if leaf.marshal == "address":
                star = "*" if leaf.extents is None else ""
                values += [f"p{a}", *(star + extent for extent in self._extents(a, leaf))]
            elif leaf.marshal != "nothing":
                values.append(_MARSHALS[leaf.marshal].format(a=a))
        return values

    @staticmethod
    def _extents(a: str, leaf: Argument) -> list[str]:
        return [f"e{a}"] if leaf.extents is None else [f"e{a}_{k}" for k in range(leaf.extents)]

    # -- statements ------------------------------------------------------------------------------

    def source(self) -> str:
        """Return the launcher's source."""
        spec, call, own = self.spec, self.spec.call, self._own
        packed = ", ".join(self._packed())
        parts = self._grid_parts() if self.is_grid else self._loop_parts(packed)
        differs = [f"type({variable}) is not type_{variable}" for variable in self._types]
        if spec.device is not None and call.current_device is not None:
            differs.append("current_device() != device")
        dtypes = [f"dtype_{a}" for a, leaf in self._arrays if "dtype" in leaf.guards]
        changing = [*dtypes, *(["last"] if self.has_plans else [])]
        stream = ["if stream is None:", "    stream = current_stream().ptr"]
        scratch = [*stream, "own_scratch = scratch_for(stream, scratch) if scratch else 0"]
        parts |= {
            "own": own,
            "global_names": [f"global {name}" for name in changing],
            "types_checked": _if(differs, self._missed),
            "addresses": [self._address(a, f"p{a}") for a, _ in self._read],
            "key": self._key(),
            "arrays_checked": self._arrays_checked(),
            "lent": self._lending(),
            "scratch": scratch if self._takes_scratch else [],
            "stream": stream if call.current_stream and not self._takes_scratch else [],
            "packed": packed,
            "noted": self._noted(),
            "launched": ", ".join(map(self._value, call.arguments)),
            "taken_back": [
                f"if r{a} is not None: take_back(r{a}, {a}, stream)"
                for a, leaf in self._lent
                if leaf.written
            ],
        }
        parts["planned"] = self._planned(parts) if self.has_plans else []
        lines = _filled(_LAUNCHER, parts)
        lines += _filled(_KEY_OF, parts) if self.has_plans else []
        return "\n".join(lines) + "\n"

    def _grid_parts(self) -> _Parts:
        unpacked = ["try:", *_indented(self._unpacking)]
        unpacked += ["except (ValueError, TypeError, AttributeError):"]
        return {
            "parameters": "grid, block, args, shared=0, stream=None",
            "key_parameters": "args",
            "unpacking": self._unpacking,
            "unpacked": [*unpacked, f"    {self._missed}"],
            "shaped": _SHAPED.splitlines(),
            "new_buffer": "loaded.new_buffer",
            "refused": [f"loaded.refuse_number({self._given})", "raise"],
            "result": "None",
        }

    def _loop_parts(self, packed: str) -> _Parts:
        outputs = [f"a{k}" for k in self.spec.outputs]
        result = {"none": "None", "one": "".join(outputs), "tuple": _tuple(outputs)}
        returned = f"return {result[self.spec.returns]}"
        numbers = ", ".join(a for a, leaf in self._leaves if leaf.marshal == "number")
        checked = [f"pack_checked({numbers})"] if numbers else []
        return {
            "parameters": ", ".join([*self._types, "stream=None", "extra=None"]),
            "key_parameters": "args, extra=None",
            "unpacking": f"{self._given} = args" if self._types else [],
            "unpacked": [],
            "shaped": [*self._allocated(), *_if(["not grid"], *checked, returned)],
            "new_buffer": "new_buffer",
            "refused": [f"pack_checked(buffer[0], 0, {packed})"],
            "result": result[self.spec.returns],
        }

    def _planned(self, parts: _Parts) -> list[str]:
        spec = self.spec
        columns = [*(_GRID_COLUMNS if self.is_grid else _LOOP_COLUMNS)]
        if not self.is_grid:
            columns += [f"{part}_a{k}" for k in spec.outputs for part in ("dtype", "size")]
        columns += [extent for a, leaf in self._leaves for extent in self._extents(a, leaf)]
        columns += [f"{n}{k}_{j}" for k, j in spec.overlaps for n in ("low", "high", "same")]
        others = ["plan[0] is not owner"] if self.is_grid else []
        own_parts: _Parts = {
            "passed_on": _if(others, f"return plan[0]({self._own})"),
            "columns": ", ".join(columns),
            "unplanned": self._missed if self.is_grid else f"return unplanned({self._own})",
        }
        return _filled(_PLANNED, {**parts, **own_parts})

    def _arrays_checked(self) -> list[str]:
        fails = [self._fails(guard, a) for a, leaf in self._arrays for guard in leaf.guards]
        checked = {a: leaf.dtype for a, leaf in self._arrays if "dtype" in leaf.guards}
        self.names |= {f"dtype_{a}": dtype for a, dtype in checked.items()}
        learnt = [f"dtype_{a} = {a}.dtype" for a in checked]
        lines = _if(fails, f"loaded.check({self._given})", *learnt)
        for k, j in self.spec.overlaps:
            near = f"low{k}_{j} < pa{j} - pa{k} < high{k}_{j} and (same{k}_{j} or pa{j} != pa{k})"
            lines += _if([near], f"return unplanned({self._own})")
        return lines

    def _allocated(self) -> list[str]:
        lines = []
        for a in (a for a, leaf in self._arrays if not leaf.is_given):
            if self.spec.arrays.allocate_memory is None:
                lines += [f"{a} = allocate(shape, dtype_{a}, order)", self._address(a, f"p{a}")]
                continue
            made = f"allocate(shape, dtype_{a}, m{a}"
            lines += [
                f"m{a} = allocate_memory(size_{a})",
                f"p{a} = {self._get(self.spec.arrays.address, f'm{a}')}",
                f"{a} = {made}) if order == 'C' else {made}, None, order)",
            ]
        return lines

    def _lending(self) -> list[str]:
        """Return the lines that set ``p`` of a record to an address where the kernel finds it, and
        ``r`` to the copy that lies there, or None.
        """
        lines, record = [], self.spec.arrays.record
        for a, leaf in self._lent:
            if leaf.written:
                lines += _if([f"not {a}.flags.writeable"], f"loaded.check({self._given})")
            lend = [f"r{a} = lend({a}, e{a}_0 + 1, stream)", self._address(f"r{a}", f"p{a}")]
            if record is not None:
                lines += [f"r{a} = None", f"p{a} = {self._get(record, a)}"]
                lend = _if([f"p{a} & e{a}_0"], *lend)
            lines += lend
        return lines

    def _noted(self) -> list[str]:
        written = [  # all, but for launches without checks
            a
            for a, leaf in self._arrays
            if leaf.written and (self.has_plans or "writable" in leaf.guards)
        ]
        told = [f"wrote({_tuple(written)})"] if self.spec.arrays.wrote and written else []
        if self.spec.call.note is None:
            return told
        memory = {"address": "{a}", "lent": "record_bytes({a}) if r{a} is None else r{a}"}
        noted = [
            memory[leaf.marshal].format(a=a) for a, leaf in self._leaves if leaf.marshal in memory
        ]
        return [*told, f"loaded.note(buffer[1], [{', '.join(noted)}])"]


class WrittenLauncher(NamedTuple):
    """A launcher's compiled source.

    Parameters
    ----------
    spec : LauncherSpec
    code : CodeType
    names : dict
        The objects that it refers to by name.
    """

    spec: LauncherSpec
    code: CodeType
    names: dict[str, Any]

    def bind(
        self,
        dispatch: Callable[..., Any] | None = None,
        plans: dict[Any, tuple[Any, ...]] | None = None,
        unplanned: Callable[..., Any] | None = None,
        owner: Callable[..., Any] | None = None,
    ) -> tuple[Callable[..., Any], Any]:
        """A launcher, which is called as its spec's entry says; and, if it has plans, a function
        that takes a tuple of arguments of the spec's types and returns the key of their plan.

        Parameters
        ----------
        dispatch : callable, optional
            Called with the launcher's own arguments where they are of other types, or on another
            device: it checks, compiles, and launches. A launcher of grids that has plans returns a
            `Miss` instead.
        plans : dict, optional
            Rows of `Plan`, or of `GridLaunches`, other launchers' among them, by keys.
        unplanned : callable, optional
            Called in place of `dispatch` with a loop's arguments that have no plan, or an output
            that overlaps an input.
        owner : callable, optional
            The launcher that rows of `GridLaunches` name for this one; by default itself.
        """
        call = self.spec.call
        names = {**self.names, "dispatch": dispatch, "plans": plans, "unplanned": unplanned}
        if call.is_late:

            def first(*values: Any) -> Any:
                names["launch"] = call.launch()
                return names["launch"](*values)

            names["launch"] = first
        exec(self.code, names)
        names["owner"] = names["run"] if owner is None else owner
        return names["run"], names.get("key_of")


def write_launcher(spec: LauncherSpec) -> WrittenLauncher:
    """Write a launcher."""
    writer = _Writer(spec)
    return WrittenLauncher(spec, compiled(writer.source()), writer.names)
