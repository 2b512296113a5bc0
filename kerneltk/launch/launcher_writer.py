"""Writes launchers as Python functions: no loops, one variable an argument, compiled once.

The steps are those of `launcher_spec`. Launchers that differ in nothing but the objects that they
refer to share their code.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from marshal import dumps
from types import CodeType
from typing import Any

import numpy as np

from kerneltk.backends.base import (
    Access,
    Attribute,
    BlocksOf,
    Bound,
    LaunchValue,
    PointerAt,
    record_bytes,
)
from kerneltk.launch.launcher_spec import (
    Argument,
    Guard,
    LauncherSpec,
    MultipleOf,
    Structure,
)

__all__ = ["write_keyed_launcher", "write_launcher"]


_SHAPE = "gx, gy, gz, bx, by, bz, size, empty"
_LOOP_COLUMNS = (
    *("function", "grid", "chunk", "block", "pack_into", "pack_checked"),
    *("new_buffer", "buffers", "shape", "order", "scratch"),
)
_MARSHALS = {
    "number": "{a}",
    "converted": "*convert{a}({a})",
    "complex": "{a}.real, {a}.imag",
    "float32": "{a} if -largest < {a} < largest else rounded({a})",
    "bits": "{a}.view('u2')",
    "bytes": "{a}.tobytes()",
    "lent": "p{a}",
}
_LARGEST = float(np.finfo(np.float32).max)


def _rounded(value: float) -> float:
    """Return a float as a float32 has it; beyond the largest it is infinite, as in NumPy."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


_NAMES = {
    "dumps": dumps,
    "largest": _LARGEST,
    "pointer_at": ctypes.c_void_p.from_address,
    "record_bytes": record_bytes,
    "rounded": _rounded,
    "PackErrors": (struct.error, OverflowError, TypeError, ValueError),
}


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _tuple(items: Iterable[str]) -> str:
    return f"({''.join(f'{item}, ' for item in items)})"


@lru_cache(maxsize=512)
def compiled(source: str) -> CodeType:
    """Return a launcher's source in compiled form."""
    return compile(source, "<launcher>", "exec")


class _Writer:
    """The parts of one launcher's source, and the objects that it refers to.

    Variables of an argument are named by its path: of ``a1_0``, the address is ``pa1_0``, the
    object that the address is read from ``ma1_0``, and a copy that lies where the kernel finds it
    ``ra1_0``.
    """

    def __init__(self, spec: LauncherSpec) -> None:
        self.spec = spec
        self.names: dict[str, Any] = {
            **_NAMES,
            "spec": spec,  # some of what it holds is known to the launcher by its address alone
            "plans": spec.plans,
            "last": (None, None),
            "launch": spec.call.function,
            "launch_failed": spec.call.failed,
            "LaunchErrors": spec.call.errors,
            "current_stream": spec.call.current_stream,
            "device": spec.call.current_device,
            "own_device": spec.device,
            "scratch_for": spec.call.scratch,
            "dispatch": spec.slow.dispatch,
            "missed": spec.slow.missed,
            "overlapped": spec.slow.overlapped,
            "large_grid": spec.slow.large_grid,
        }
        if spec.bound is not None:
            self.names |= spec.bound._asdict()
        if spec.records is not None:
            self.names |= {"lend": spec.records.lend, "take_back": spec.records.take_back}
        self._unpacking: list[str] = []
        self._types: list[str] = []
        self._leaves: list[tuple[str, Argument]] = []
        variables = [f"a{k}" for k in range(len(spec.arguments))]
        if spec.entry == "grid":
            self._unpacking.append(f"{_tuple(variables)} = args")
        for variable, argument in zip(variables, spec.arguments, strict=True):
            self._take_apart(variable, argument)
        missing = [a for a, leaf in self._leaves if not leaf.is_given]
        self._given = [a for a in variables if a not in missing]
        if spec.entry == "grid":
            self._own_arguments = "grid, block, args, shared, stream"
        else:
            self._own_arguments = f"{_tuple(self._given)}, stream, extra"
        self._arrays = [(a, leaf) for a, leaf in self._leaves if leaf.marshal == "address"]
        self._read = [(a, leaf) for a, leaf in self._arrays if leaf.is_given]
        self._numbers = [a for a, leaf in self._leaves if leaf.marshal == "number"]
        self._lent = [(a, leaf) for a, leaf in self._leaves if leaf.marshal == "lent"]
        self._values = [self._value(value) for value in spec.call.arguments]

    def _take_apart(self, variable: str, argument: Argument | Structure) -> None:
        if isinstance(argument, Argument):
            self._leaves.append((variable, argument))
            if not argument.is_given:
                return
        self._types.append(variable)
        self.names[f"type_{variable}"] = argument.type
        if isinstance(argument, Argument):
            self.names[f"convert{variable}"] = argument.convert
            return
        items = [f"{variable}_{k}" for k in range(len(argument.items))]
        if argument.fields:
            fields = zip(items, argument.fields, strict=True)
            self._unpacking += [f"{item} = {variable}.{field}" for item, field in fields]
        elif issubclass(argument.type, tuple):
            self._unpacking.append(f"{_tuple(items)} = {variable}")
        for item, inner in zip(items, argument.items, strict=True):
            self._take_apart(item, inner)

    def _bind(self, value: Any) -> str:
        name = f"bound{len(self.names)}"
        self.names[name] = value
        return name

    # -- expressions -----------------------------------------------------------------------------

    def _get(self, access: Access, owner: str) -> str:
        if isinstance(access, Attribute):
            return f"{owner}.{access.path}"
        if isinstance(access, PointerAt):
            return f"pointer_at(id({owner}) + {access.offset}).value or 0"
        return f"{self._bind(access.function)}({owner})"

    def _value(self, value: LaunchValue) -> str:
        if isinstance(value, Bound):
            return self._bind(value.value)
        if isinstance(value, BlocksOf):
            return f"{value.threads} // (bx * by * bz) or 1"
        return {"parameters": "buffer[1]", "blocks": "gx * gy * gz"}.get(str(value), str(value))

    def _address(self, array: str, pointer: str) -> str:
        """Return a statement that reads an array's address."""
        memory, address = self.spec.arrays.memory, self.spec.arrays.address
        if memory is None:
            return f"{pointer} = {self._get(address, array)}"
        held = f"m{array}"
        return f"{held} = {self._get(memory, array)}; {pointer} = {self._get(address, held)}"

    def _device(self, array: str) -> str:
        arrays = self.spec.arrays
        assert arrays.device is not None
        return self._get(arrays.device, f"m{array}" if arrays.memory else array)

    def _key(self) -> str:
        arrays, spec = self.spec.arrays, self.spec
        key = []
        for a, _ in self._read:
            strides = f"{a}.strides"
            if arrays.contiguous is not None:
                strides = f"{self._get(arrays.contiguous, a)} or {strides}"
            key += [f"{a}.dtype", f"{a}.shape", strides]
            key += [self._device(a)] if arrays.device else []
        if arrays.writable is not None:
            key += [self._get(arrays.writable, a) for a, leaf in self._read if leaf.written]
        key += [f"{a}.dtype" for a, leaf in self._leaves if leaf.marshal in ("bytes", "lent")]
        if spec.entry == "loop":
            key += ["device()"] if spec.call.current_device else []
            key.append("extra")
        if self._read:
            every = " | ".join(f"p{a}" for a, _ in self._read)
            each = _tuple(f"p{a} & 15" for a, _ in self._read)
            key.append(f"({every}) & 15 and {each}")
        return f"key = {_tuple(key)}"

    def _fails(self, guard: Guard, a: str) -> str:
        """Return an expression that is true of an array that a guard does not let pass."""
        arrays = self.spec.arrays
        if isinstance(guard, MultipleOf):
            number = guard.number
            return f"p{a} & {number - 1}" if guard.what == "address" else f"{a}.nbytes % {number}"
        if guard == "dtype":
            return f"{a}.dtype is not dtype_{a}"
        if guard == "memory":
            return f"not p{a}"
        if guard == "device":
            return f"{self._device(a)} != own_device"
        access = arrays.dense if guard == "dense" else arrays.writable
        assert access is not None
        return f"not {self._get(access, a)}"

    def _packed(self) -> list[str]:
        spec = self.spec
        values = [self._value(value) for value in spec.call.head.values]
        if self._takes_scratch:
            values.append("own_scratch")
        order = spec.packed or range(len(self._leaves))
        for a, leaf in (self._leaves[k] for k in order):
            if leaf.marshal == "address":
                values += [f"p{a}", *self._extents(a, leaf, "*")]
            elif leaf.marshal != "nothing":
                values.append(_MARSHALS[leaf.marshal].format(a=a))
        return values

    @staticmethod
    def _extents(a: str, leaf: Argument, star: str = "") -> list[str]:
        if leaf.extents is None:
            return [f"{star}e{a}"]
        return [f"e{a}_{k}" for k in range(leaf.extents)]

    @property
    def _takes_scratch(self) -> bool:
        return self.spec.has_scratch and self.spec.call.scratch is not None

    # -- steps -----------------------------------------------------------------------------------

    def source(self) -> str:
        """Return the launcher's source."""
        spec = self.spec
        is_grid = spec.entry == "grid"
        given = ", ".join([*self._given, "stream=None, extra=None"])
        head = "grid, block, args, shared=0, stream=None" if is_grid else given
        steps = [
            *self._guarded_types(),
            *self._addresses(),
            *(self._planned() if spec.plans is not None else ()),
            *self._guarded_arrays(),
            *(self._shaped() if is_grid else self._allocated()),
            *self._lending(),
            *self._marshalled(),
            *self._launched(),
        ]
        source = f"def run({head}):\n" + "\n".join(_indented(steps)) + "\n"
        if is_grid and spec.plans is not None:
            steps = [*self._unpacking, *self._addresses(), self._key(), "return key"]
            source += "def key_of(args):\n" + "\n".join(_indented(steps)) + "\n"
        return source

    def _guarded_types(self) -> list[str]:
        lines = ["global last"] if self.spec.plans is not None else []
        dtypes = [f"dtype_{a}" for a, leaf in self._arrays if "dtype" in leaf.guards]
        self.names |= dict.fromkeys(dtypes)
        lines += [f"global {', '.join(dtypes)}"] if dtypes else []
        slow_path = f"    return dispatch({self._own_arguments})"
        if self._unpacking:
            lines += ["try:", *_indented(self._unpacking)]
            lines += ["except (ValueError, TypeError, AttributeError):", slow_path]
        differs = [f"type({name}) is not type_{name}" for name in self._types]
        if self.spec.device is not None and self.spec.call.current_device is not None:
            differs.append("device() != own_device")
        return [*lines, f"if {' or '.join(differs)}:", slow_path] if differs else lines

    def _addresses(self) -> list[str]:
        return [self._address(a, f"p{a}") for a, _ in self._read]

    def _planned(self) -> list[str]:
        spec = self.spec
        extents = [e for a, leaf in self._leaves for e in self._extents(a, leaf)]
        if spec.entry == "grid":
            columns = ["_", "function", "shapes", "buffers", "pack_into", "loaded", *extents]
        else:
            columns = [*_LOOP_COLUMNS]
            columns += [f"{part}_a{k}" for k in spec.outputs for part in ("dtype", "size")]
            columns += extents
            columns += [f"{n}{k}_{j}" for k, j in spec.overlaps for n in ("low", "high", "same")]
        missed = f"dispatch({self._own_arguments})"
        if spec.slow.missed is not None:
            missed = f"missed(run, {self._own_arguments}, key)"
        others = ["if plan[0] is not run:", f"    return plan[0]({self._own_arguments})"]
        return [
            self._key(),
            # Calls repeat: comparing with the last key is cheaper than hashing.
            "last_key, plan = last",
            "if key != last_key:",
            "    plan = plans.get(key)",
            "    if plan is None:",
            f"        return {missed}",
            *(_indented(others) if spec.shares_plans else ()),
            "    last = (key, plan)",
            f"{', '.join(columns)} = plan",
        ]

    def _guarded_arrays(self) -> list[str]:
        fails = [self._fails(guard, a) for a, leaf in self._arrays for guard in leaf.guards]
        lines = []
        if fails:
            lines = [f"if {' or '.join(fails)}:", f"    loaded.check({_tuple(self._given)})"]
            for a, leaf in self._arrays:
                lines += [f"    dtype_{a} = {a}.dtype"] if "dtype" in leaf.guards else []
        for k, j in self.spec.overlaps:
            distance = f"low{k}_{j} < pa{j} - pa{k} < high{k}_{j}"
            lines += [
                f"if {distance} and (same{k}_{j} or pa{j} != pa{k}):",
                f"    return overlapped(run, {self._own_arguments})",
            ]
        return lines

    def _shaped(self) -> list[str]:
        """Return the lines that read a launch's checked shape from a `GridShapes`."""
        found = [f"{_SHAPE} = loaded.configure(grid, block, shared)"]
        if self.spec.slow.large_grid is not None:
            found = [
                "checked = loaded.configure(grid, block, shared)",
                "if checked is None:",
                f"    return large_grid({self._own_arguments})",
                f"{_SHAPE} = checked",
            ]
        return [
            f"last_grid, last_block, last_shared, {_SHAPE} = shapes.last",
            "if grid is not last_grid or block is not last_block or shared is not last_shared:",
            "    try:",
            f"        {_SHAPE} = shapes.known[dumps((grid, block, shared), 2)]",
            "    except (KeyError, ValueError):",
            *_indented(_indented(found)),
            "shared = size",
        ]

    def _allocated(self) -> list[str]:
        """Return the lines that allocate outputs, and that leave where nothing is to be done."""
        lines = []
        for a, leaf in self._arrays:
            allocator = self.spec.allocator
            if leaf.is_given or allocator is None:
                continue
            make = self._bind(allocator.array)
            if allocator.memory is None:
                lines += [f"{a} = {make}(shape, dtype_{a}, order)", self._address(a, f"p{a}")]
                continue
            made = f"{make}(shape, dtype_{a}, m{a})"
            ordered = f"{make}(shape, dtype_{a}, m{a}, None, order)"
            lines += [
                f"m{a} = {self._bind(allocator.memory)}(size_{a})",
                f"p{a} = {self._get(self.spec.arrays.address, f'm{a}')}",
                f"{a} = {made} if order == 'C' else {ordered}",
            ]
        # Numbers are checked also where nothing is computed with them.
        checked = [f"    pack_checked({', '.join(self._numbers)})"] if self._numbers else []
        return [*lines, "if not grid:", *checked, f"    return {self._result}"]

    def _lending(self) -> list[str]:
        """Return the lines that set ``p`` of a record to an address where the kernel finds it, and
        ``r`` to the copy that lies there, or None.
        """
        records = self.spec.records
        if records is None:
            return []
        lines = []
        for a, leaf in self._lent:
            mask = f"e{a}_0"
            if leaf.written:
                lines.append(f"if not {a}.flags.writeable:")
                lines.append(f"    loaded.check({_tuple(self._given)})")
            lend = [f"r{a} = lend({a}, {mask} + 1, stream)", self._address(f"r{a}", f"p{a}")]
            if records.address is not None:
                lines += [f"r{a} = None", f"p{a} = {self._get(records.address, a)}"]
                lend = [f"if p{a} & {mask}:", *_indented(lend)]
            lines += lend
        return lines

    def _marshalled(self) -> list[str]:
        """Return the lines that fill a block of parameters.

        Taking one is a single step of the interpreter, so that threads never share a block.
        """
        is_grid = self.spec.entry == "grid"
        packed = ", ".join(["buffer[0]", "0", *self._packed()])
        lines = []
        if self._takes_scratch:
            lines += [
                *self._stream(),
                "own_scratch = scratch_for(stream, scratch) if scratch else 0",
            ]
        lines += [
            "try:",
            "    buffer = buffers.pop()",
            "except IndexError:",
            f"    buffer = {'loaded.' if is_grid else ''}new_buffer()",
        ]
        if not is_grid and not self._numbers:
            return [*lines, f"pack_into({packed})"]
        refused = [f"pack_checked({packed})"]
        if is_grid:
            refused = [f"loaded.refuse_number({_tuple(self._given)})", "raise"]
        lines += ["try:", f"    pack_into({packed})", "except PackErrors:", *_indented(refused)]
        if is_grid:
            # Numbers are checked also where nothing is computed with them.
            lines += ["if empty:", "    buffers.append(buffer)", "    return None"]
        return lines

    def _stream(self) -> list[str]:
        if self.spec.call.current_stream is None:
            return []
        return ["if stream is None:", "    stream = current_stream().ptr"]

    def _launched(self) -> list[str]:
        """Return the lines that launch and give the block back, unless the launch failed."""
        lines = []
        if self.spec.call.note is not None:
            copied = {a: f"record_bytes({a}) if r{a} is None else r{a}" for a, _ in self._lent}
            memory = [a for a, leaf in self._leaves if leaf.marshal in ("address", "lent")]
            noted = [copied.get(a, a) for a in memory]
            lines.append(f"loaded.note(buffer[1], [{', '.join(noted)}])")
        values = ", ".join(self._values)
        return [
            *lines,
            *([] if self._takes_scratch else self._stream()),
            "try:",
            f"    failure = launch({values})",
            "except LaunchErrors as error:",
            "    failure = error",
            "if failure:",
            f"    launch_failed(failure, launch, ({values}))",
            "buffers.append(buffer)",
            *(
                f"if r{a} is not None: take_back(r{a}, {a}, stream)"
                for a, leaf in self._lent
                if leaf.written
            ),
            f"return {self._result}",
        ]

    @property
    def _result(self) -> str:
        outputs = [f"a{k}" for k in self.spec.outputs]
        return {"none": "None", "one": "".join(outputs), "tuple": _tuple(outputs)}[
            self.spec.returns
        ]


def write_launcher(spec: LauncherSpec) -> Callable[..., Any]:
    """Return a launcher, which is called as its spec's entry says."""
    run: Callable[..., Any] = _written(spec)["run"]
    return run


def write_keyed_launcher(
    spec: LauncherSpec,
) -> tuple[Callable[..., Any], Callable[[Sequence[Any]], tuple[Any, ...]]]:
    """Return a grid's launcher, and a function that takes arguments of the spec's types and returns
    the key of their plan.
    """
    names = _written(spec)
    return names["run"], names["key_of"]


def _written(spec: LauncherSpec) -> dict[str, Any]:
    writer = _Writer(spec)
    source, names = writer.source(), writer.names
    if spec.call.is_late:

        def first(*values: Any) -> Any:
            names["launch"] = spec.call.function()
            return names["launch"](*values)

        names["launch"] = first
    exec(compiled(source), names)
    return names
