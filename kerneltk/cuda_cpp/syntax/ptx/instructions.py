"""PTX instructions as calls of C++ on CPU cores: which there are, and what each becomes.

An instruction is a row of a table below or a function named after it. Registers are C++ variables
of their size; functions of ``kerneltk::ptx`` take the lower bytes of one as the instruction's type
(``as``) and extend a result to its register (``put``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

Headers = set[str]

REGISTER_TYPES = {
    "pred": "bool",
    "b8": "unsigned char", "u8": "unsigned char", "s8": "signed char",
    "b16": "unsigned short", "u16": "unsigned short", "s16": "short",
    "b32": "unsigned int", "u32": "unsigned int", "s32": "int",
    "b64": "unsigned long long", "u64": "unsigned long long", "s64": "long long",
    "f16": "unsigned short", "bf16": "unsigned short",
    "f16x2": "unsigned int", "bf16x2": "unsigned int",
    "f32": "float", "f64": "double",
}  # fmt: skip
_HALVES = {
    "f16": "__half", "f16x2": "__half2", "bf16": "__nv_bfloat16", "bf16x2": "__nv_bfloat162",
}  # fmt: skip
_TYPES = {**REGISTER_TYPES, **_HALVES}
_SIGNED = frozenset(("s8", "s16", "s32", "s64"))
_WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
_ROUNDINGS = {"rn": "rn", "rz": "rz", "rm": "rd", "rp": "ru"}
# Says where an instruction looks for data, and what caches may do; CPU cores do it their way.
_HINTS = re.compile(
    r"weak|relaxed|acquire|release|acq_rel|sc|cta|cluster|gpu|sys|global|shared|local|const|param"
    r"|ca|cg|cs|lu|cv|wb|wt|nc|volatile|L1::\w+|L2::\w+|L1|L2|noftz|mmio|entry|shared::cta|proxy"
    r"|alias|async|tensormap|fetch_add|unified|noinc|b128"
)
_STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "mmio"))


class NotPtxError(Exception):
    """What was read is no PTX, or nothing that could be read."""


class RefusedError(Exception):
    """An instruction that CPU cores do not have."""


class Operand(NamedTuple):
    """An operand of an instruction."""

    # ``"register"``, ``"immediate"``, ``"constant"`` (an expression), ``"address"``, ``"vector"``,
    # ``"pair"`` (``p|q``), ``"sink"`` (``_``), ``"name"`` (a special register).
    kind: str
    code: str = ""  # C++ of a register or an address, the number as written, the name
    offset: str = ""  # C++ of the bytes behind an address
    word: str = ""  # an address as written
    parts: tuple[Operand, ...] = ()

    def read(self, kind: str) -> str:
        """Return its value as one of a PTX type."""
        c_type = _TYPES[kind]
        if self.kind == "register":
            return f"kerneltk::ptx::as<{c_type}>({self.code})"
        if self.kind == "immediate":
            return f"static_cast<{c_type}>({number_of(self.code)})"
        if self.kind == "constant":
            return f"static_cast<{c_type}>({self.code})"
        if self.kind == "name":
            return f"kerneltk::ptx::as<{c_type}>({_special(self.code)})"
        if self.kind == "vector":  # packed, the first in the lowest bits
            values = ", ".join(part.read(_part(kind, len(self.parts))) for part in self.parts)
            return f"kerneltk::ptx::packed<{c_type}>({values})"
        raise RefusedError(self.word or self.kind)

    def write(self, value: str) -> str:
        """Return the statement that sets it."""
        if self.kind == "register":
            return f"kerneltk::ptx::put({self.code}, {value});"
        if self.kind == "sink":
            return f"(void)({value});"
        if self.kind == "pair":
            return self.parts[0].write(value)
        if self.kind == "vector":
            kinds = {part.kind for part in self.parts}
            if len(self.parts) == 1 or not kinds <= {"register", "sink"}:
                raise RefusedError("vector of other than registers")
            targets = (part.code or "kerneltk::ptx::nothing()" for part in self.parts)
            return f"kerneltk::ptx::unpack({value}, {', '.join(targets)});"
        raise NotPtxError

    @property
    def elements(self) -> tuple[Operand, ...]:
        """Those of a vector, or itself."""
        return self.parts if self.kind == "vector" else (self,)

    @property
    def pair(self) -> tuple[Operand, ...]:
        """Those of a pair, or itself and nothing."""
        return self.parts if self.kind == "pair" else (self, Operand("sink"))

    def address(self, c_type: str, is_shared: bool) -> str:
        """Return a pointer to what it addresses."""
        if self.kind != "address" or not self.code.startswith("_kt_"):
            raise RefusedError(f"[{self.word}]")
        space = "true" if is_shared else "false"
        return f"kerneltk::ptx::at<{c_type}, {space}>({self.code}, {self.offset})"


class Instruction(NamedTuple):
    """An instruction."""

    word: str  # with its modifiers, as written
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]

    def refuse(self) -> RefusedError:
        """Return the error that names it."""
        return RefusedError(self.word)

    def refuse_if(self, is_refused: object) -> None:
        """Raise the error that names it, if a condition holds."""
        if is_refused:
            raise self.refuse()

    @property
    def kinds(self) -> list[str]:
        """Its PTX types, in order."""
        return [word for word in self.modifiers if word in _TYPES]

    @property
    def kind(self) -> str:
        """Its last type. Raises RefusedError where it has none."""
        if not self.kinds:
            raise self.refuse()
        return self.kinds[-1]

    @property
    def rounding(self) -> str:
        """The suffix of CUDA's functions of its rounding."""
        found = [_ROUNDINGS[word] for word in self.modifiers if word in _ROUNDINGS]
        return found[0] if found else "rn"

    def has(self, *words: str) -> bool:
        """Return whether one of these is among its modifiers."""
        return any(word in self.modifiers for word in words)

    def flag(self, *words: str) -> str:
        """Return whether one of these is among its modifiers, in C++."""
        return "true" if self.has(*words) else "false"

    def take(self, count: int) -> tuple[Operand, ...]:
        """Return its operands. Raises RefusedError unless there are as many."""
        if len(self.operands) != count:
            raise self.refuse()
        return self.operands

    def only(self, *words: str) -> None:
        """Refuse any modifier but types, hints and these."""
        for word in self.modifiers:
            if word not in words and word not in _TYPES and not _HINTS.fullmatch(word):
                raise self.refuse()

    def expect(self, count: int, *words: str) -> tuple[Operand, ...]:
        """Return its operands, as `take`; refuse modifiers, as `only`."""
        self.only(*words)
        return self.take(count)

    @property
    def is_half(self) -> bool:
        """Whether it is of 16-bit floats."""
        return self.kind in _HALVES

    @property
    def lanes(self) -> str:
        """What names of CUDA's functions of 16-bit floats have for pairs."""
        return "2" if self.kind.endswith("x2") else ""

    @property
    def is_shared(self) -> bool:
        """Whether it names shared memory."""
        return self.has("shared", "shared::cta")


class Call(NamedTuple):
    """An instruction in C++."""

    code: str
    headers: Headers


def number_of(word: str) -> str:
    """Return a PTX number in C++."""
    sign = "-" if word.startswith("-") else ""
    digits = word.removeprefix("-")
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", digits):
        return f"{sign}kerneltk::ptx::as<float>(0x{digits[2:]}u)"
    if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", digits):
        return f"{sign}kerneltk::ptx::as<double>(0x{digits[2:]}ull)"
    if re.fullmatch(r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?", digits):
        return sign + digits
    digits = digits.rstrip("uU")
    if not re.fullmatch(r"0[xX][0-9a-fA-F]+|0[bB][01]+|\d+", digits):
        raise NotPtxError
    value = int(digits, 8 if re.fullmatch(r"0[0-7]+", digits) else 0)
    return f"{sign}{value}{'ull' if value >= 2**63 else 'll'}"


_SPECIALS = {
    "laneid": "_kt_lane()",
    "warpid": "_kt_warp()",
    "nwarpid": "32u",
    "smid": "0u",
    "nsmid": "1u",
    "gridid": "0ull",
    "WARP_SZ": "32u",
    "clock": "static_cast<unsigned int>(clock64())",
    "clock_hi": "static_cast<unsigned int>(clock64() >> 32)",
    "clock64": "clock64()",
    "globaltimer": "_kt_global_timer()",
    "globaltimer_lo": "static_cast<unsigned int>(_kt_global_timer())",
    "globaltimer_hi": "static_cast<unsigned int>(_kt_global_timer() >> 32)",
    "dynamic_smem_size": "_kt_dynamic_shared_size()",
    "lanemask_eq": "(1u << _kt_lane())",
    "lanemask_lt": "((1u << _kt_lane()) - 1u)",
    "lanemask_le": "((2u << _kt_lane()) - 1u)",
    "lanemask_gt": "(0u - (2u << _kt_lane()))",
    "lanemask_ge": "(0u - (1u << _kt_lane()))",
    **{
        f"{name}.{axis}": f"{variable}.{axis}"
        for name, variable in (
            ("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim")
        )
        for axis in "xyz"
    },
}  # fmt: skip


def _special(name: str) -> str:
    if name not in _SPECIALS:
        raise RefusedError(f"%{name}")
    return _SPECIALS[name]


def _part(kind: str, count: int) -> str:
    """Return the type of each of `count` parts of a value."""
    bits = int(re.sub(r"\D", "", kind.partition("x")[0])) // count
    if bits not in (8, 16, 32):
        raise RefusedError(f"vector of {count} parts of .{kind}")
    return f"b{bits}"


def _functions(kind: str) -> str:
    """Return the header of a type's functions."""
    return "host_ptx_half.hpp" if kind in _HALVES else ""


def _flushed(code: str, of: Instruction) -> str:
    """Return an expression with zero for subnormal numbers, if the instruction asks for it."""
    is_flushed = of.has("ftz") and (of.is_half or of.kind == "f32")
    return f"kerneltk::ptx::flush({code})" if is_flushed else code


def _own(of: Instruction, name: str) -> str:
    """Return the call of a function of its own type."""
    d, *rest = of.operands
    code = _flushed(f"{name}({', '.join(_flushed(o.read(of.kind), of) for o in rest)})", of)
    is_unit = of.has("sat") and of.kind in ("f32", "f64")
    return d.write(f"kerneltk::ptx::unit({code})" if is_unit else code)


def _float(of: Instruction, f32: str, f64: str) -> str:
    """Return the call of a function of floats."""
    name = {"f32": f32, "f64": f64}.get(of.kind, "")
    of.refuse_if(not name)
    return _own(of, name)


def _arithmetic(of: Instruction) -> str:
    """Addition, subtraction, and float's multiplication, division and fused operations."""
    count = {"fma": 4, "mad": 4}.get(of.opcode, 3)
    of.expect(count, *_ROUNDINGS, "ftz", "sat", "approx", "full", "relu", "cc")
    if of.is_half:
        of.refuse_if(of.has("relu") and of.opcode != "fma")
        suffix = "_relu" if of.has("relu") else "_sat" if of.has("sat") else ""
        return _own(of, f"__h{of.opcode}{of.lanes}{suffix}")
    if of.kind in ("f32", "f64"):
        names = {
            "add": ("__fadd", "__dadd"), "sub": ("__fsub", "__dsub"), "mul": ("__fmul", "__dmul"),
            "fma": ("__fmaf", "__fma"), "mad": ("__fmaf", "__fma"), "div": ("__fdiv", "__ddiv"),
        }[of.opcode]  # fmt: skip
        return _float(of, *(f"{name}_{of.rounding}" for name in names))
    if of.opcode == "div":
        return _own(of, "kerneltk::ptx::divide")
    of.refuse_if(of.opcode not in ("add", "sub"))
    if of.has("cc"):
        return _carry(of)
    name = {"add": "add", "sub": "subtract"}[of.opcode]
    return _own(of, f"kerneltk::ptx::{name}{'_saturated' * of.has('sat')}")


def _unsigned(kind: str) -> str:
    return kind.replace("s", "u").replace("b", "u")


def _carry(of: Instruction) -> str:
    """Addition and subtraction with the carry, which all instructions of a thread share."""
    d, *rest = of.expect(3, "cc")
    operands = ", ".join(operand.read(_unsigned(of.kind)) for operand in rest)
    name = "subtract" if of.opcode.startswith("sub") else "add"
    takes = "true" if of.opcode.endswith("c") else "false"
    return d.write(f"kerneltk::ptx::{name}_with_carry<{takes}, {of.flag('cc')}>({operands})")


def _multiply(of: Instruction) -> str:
    """Products of integers, with an addend and a carry or without."""
    if of.kind in ("f32", "f64", *_HALVES):
        return _arithmetic(of)
    of.only("lo", "hi", "wide", "cc")
    has_addend = of.opcode in ("mad", "madc")
    d, a, b, *c = of.take(4 if has_addend else 3)
    kind = of.kind
    of.refuse_if(kind not in ("u16", "s16", "u32", "s32", "u64", "s64", "b32", "b64"))
    operands = f"{a.read(kind)}, {b.read(kind)}"
    if of.has("wide"):
        of.refuse_if(kind not in _WIDER)
        wide = _WIDER[kind]
        product, kind = f"kerneltk::ptx::multiply_wide<{_TYPES[wide]}>({operands})", wide
    elif of.has("hi"):
        product = f"kerneltk::ptx::multiply_high({operands})"
    else:
        product = f"kerneltk::ptx::multiply({operands})"
    if not has_addend:
        return d.write(product)
    if of.opcode == "mad" and not of.has("cc"):
        return d.write(f"kerneltk::ptx::add({product}, {c[0].read(kind)})")
    takes = "true" if of.opcode == "madc" else "false"
    sets = of.flag("cc")
    unsigned = _TYPES[_unsigned(kind)]
    return d.write(
        f"kerneltk::ptx::add_with_carry<{takes}, {sets}>"
        f"(static_cast<{unsigned}>({product}), {c[0].read(_unsigned(kind))})"
    )


def _multiply_24(of: Instruction) -> str:
    """Products of the lower 24 bits: the lower or the upper 32 of their 48, also with an addend."""
    d, a, b, *c = of.expect(4 if of.opcode == "mad24" else 3, "lo", "hi")
    of.refuse_if(of.kind not in ("u32", "s32"))
    operands = f"{a.read(of.kind)}, {b.read(of.kind)}"
    product = f"kerneltk::ptx::multiply_24<{of.flag('hi')}>({operands})"
    return d.write(f"kerneltk::ptx::add({product}, {c[0].read(of.kind)})" if c else product)


def _extreme(of: Instruction) -> str:
    of.expect(3, "ftz", "NaN")
    nan = "_nan" if of.has("NaN") else ""
    name = f"__h{of.opcode}{of.lanes}" if of.is_half else f"kerneltk::ptx::{of.opcode}imum"
    return _own(of, name + nan)


def _sign(of: Instruction) -> str:
    of.expect(2, "ftz")
    name = {"abs": "absolute", "neg": "negative"}[of.opcode]
    return _own(of, f"__h{of.opcode}{of.lanes}" if of.is_half else f"kerneltk::ptx::{name}")


def _approximate(of: Instruction) -> str:
    """Functions of one float."""
    of.expect(2, "approx", "ftz", *_ROUNDINGS)
    if of.is_half:
        names = {"ex2": "exp2", "tanh": "tanh"}
        return _own(of, f"h{of.lanes}{names[of.opcode]}")
    rounded = {"rcp": ("__frcp", "__drcp"), "sqrt": ("__fsqrt", "__dsqrt")}
    if of.opcode in rounded and (not of.has("approx") or of.kind == "f64"):
        return _float(of, *(f"{name}_{of.rounding}" for name in rounded[of.opcode]))
    names = {
        "rcp": "__frcp_rn", "sqrt": "__fsqrt_rn", "rsqrt": "rsqrtf", "ex2": "exp2f", "lg2": "log2f",
        "sin": "sinf", "cos": "cosf", "tanh": "tanhf",
    }  # fmt: skip
    return _float(of, names[of.opcode], "rsqrt" if of.opcode == "rsqrt" else "")


_BITWISE = {"and": "{} & {}", "or": "{} | {}", "xor": "{} ^ {}", "not": "~{}", "cnot": "{} == 0"}


def _bitwise(of: Instruction) -> str:
    d, *rest = of.operands
    of.only()
    form = "!{}" if (of.opcode, of.kind) == ("not", "pred") else _BITWISE[of.opcode]
    of.refuse_if(len(rest) != form.count("{}"))
    value = form.format(*(operand.read(of.kind) for operand in rest))
    return d.write(f"static_cast<{_TYPES[of.kind]}>({value})")


def _called(
    name: str | Callable[[Instruction], str], *kinds: str, only: Sequence[str] = ()
) -> Callable[[Instruction], str]:
    """Return the rule of an instruction that is a function: of its own type, where `kinds` has none
    for an operand; `only` are its modifiers.
    """

    def rule(of: Instruction) -> str:
        d, *rest = of.expect(len(kinds) + 1, *only)
        of.refuse_if(d.kind == "pair")
        operands = ", ".join(o.read(k or of.kind) for o, k in zip(rest, kinds, strict=True))
        return d.write(f"{name if isinstance(name, str) else name(of)}({operands})")

    return rule


_PERMUTATIONS = ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")


def _permutation(of: Instruction) -> str:
    mode = next((_PERMUTATIONS.index(w) + 1 for w in of.modifiers if w in _PERMUTATIONS), 0)
    return f"kerneltk::ptx::permute<{mode}>"


def _dot(of: Instruction) -> str:
    d, a, b, c = of.expect(4, "lo", "hi")
    kinds = of.kinds
    of.refuse_if(len(kinds) != 2)
    lane = {"dp4a": 8, "dp2a": 16}[of.opcode]
    first = _TYPES[f"{kinds[0][0]}{lane}"]
    second = _TYPES[f"{kinds[1][0]}8"]
    result = "s32" if "s32" in kinds else "u32"
    start = 16 if of.has("hi") else 0
    return d.write(
        f"kerneltk::dot<{first}, {second}, {32 // lane}>"
        f"({a.read('u32')}, {b.read('u32')}, {c.read(result)}, {start})"
    )


_COMPARISONS = {
    "eq": "a == b", "ne": "a < b || b < a", "lt": "a < b", "le": "a <= b", "gt": "a > b",
    "ge": "a >= b", "lo": "a < b", "ls": "a <= b", "hi": "a > b", "hs": "a >= b",
    "equ": "!(a < b || b < a)", "neu": "a != b", "ltu": "!(a >= b)", "leu": "!(a > b)",
    "gtu": "!(a <= b)", "geu": "!(a < b)", "num": "a == a && b == b", "nan": "a != a || b != b",
}  # fmt: skip


def _compare(of: Instruction) -> str:
    """``setp`` and ``set``."""
    d, a, b, *rest = of.operands
    kind = of.kind
    words = [word for word in of.modifiers if word in _COMPARISONS]
    combine = [word for word in of.modifiers if word in ("and", "or", "xor")]
    of.only(*_COMPARISONS, "and", "or", "xor", "ftz")
    of.refuse_if(len(words) != 1 or len(rest) != len(combine) or kind in ("f16x2", "bf16x2"))
    expression = re.sub(r"\b([ab])\b", r"_kt_\1", _COMPARISONS[words[0]])
    sign = {"and": "&&", "or": "||", "xor": "!="}
    joined, other = f"({expression})", f"!({expression})"
    if combine:
        joined, other = (f"({one} {sign[combine[0]]} _kt_c)" for one in (joined, other))
    values = [_flushed(operand.read(kind), of) for operand in (a, b)]
    if of.is_half:  # compared as floats, which have all their values
        values = [f"static_cast<float>({value})" for value in values]
    head = f"const auto _kt_a = {values[0]}, _kt_b = {values[1]}; "
    if rest:
        head += f"const bool _kt_c = {rest[0].read('pred')}; "
    if of.opcode == "setp":
        others = d.parts[1].write(other) if d.kind == "pair" else ""
        return f"{{ {head}{d.write(joined)} {others}}}"
    of.refuse_if(len(of.kinds) != 2)
    result = _TYPES[of.kinds[0]]
    one = "-1" if of.kinds[0] in ("u16", "s16", "u32", "s32") else "1"
    value = f"{joined} ? static_cast<{result}>({one}) : static_cast<{result}>(0)"
    return f"{{ {head}{d.write(value)} }}"


def _select(of: Instruction) -> str:
    d, a, b, c = of.expect(4, "ftz")
    if of.opcode == "slct":
        kind = of.kinds[0]
        sign = _flushed(c.read(of.kind), of)
        return d.write(f"{sign} >= 0 ? {a.read(kind)} : {b.read(kind)}")
    return d.write(f"{c.read('pred')} ? {a.read(of.kind)} : {b.read(of.kind)}")


def _move(of: Instruction) -> str:
    d, a = of.expect(2)
    return d.write(a.read(of.kind))


def _address_space(of: Instruction) -> str:
    """Conversions between address spaces, which are one."""
    d, a = of.expect(2, "to")
    if of.kind == "u32":
        of.refuse_if(not of.has("to"))
        return d.write(f"static_cast<unsigned int>({a.read('u64')})")
    if of.is_shared and not of.has("to"):
        return d.write(f"kerneltk::ptx::generic_address({a.code})")
    return d.write(a.read(of.kind))


_BYTES = {"e4m3x2": "__NV_E4M3", "e5m2x2": "__NV_E5M2"}  # pairs of 8-bit floats


def _convert_bytes(of: Instruction) -> str:
    """``cvt`` to a pair of 8-bit floats, which saturate, and from one."""
    of.only("rn", "satfinite", *_BYTES)
    kind = next(_BYTES[word] for word in of.modifiers if word in _BYTES)
    if of.modifiers[-1] in _BYTES:
        d, a = of.take(2)
        of.refuse_if(of.kinds != ["f16x2"] or of.has("satfinite"))
        return d.write(f"__nv_cvt_fp8x2_to_halfraw2({a.read('b16')}, {kind})")
    of.refuse_if(not of.has("satfinite") or of.kind not in ("f32", "f16x2"))
    if of.kind == "f16x2":
        d, a = of.take(2)
        value = f"static_cast<__half2_raw>({a.read('f16x2')})"
        return d.write(f"__nv_cvt_halfraw2_to_fp8x2({value}, __NV_SATFINITE, {kind})")
    d, a, b = of.take(3)
    value = f"float2{{{b.read('f32')}, {a.read('f32')}}}"
    return d.write(f"__nv_cvt_float2_to_fp8x2({value}, __NV_SATFINITE, {kind})")


def _convert(of: Instruction) -> str:
    """``cvt``."""
    if of.has(*_BYTES):
        return _convert_bytes(of)
    integral = {"rni": "rn", "rzi": "rz", "rmi": "rd", "rpi": "ru"}
    of.only(*_ROUNDINGS, *integral, "ftz", "sat", "relu", "rna", "tf32", "satfinite")
    if of.has("tf32"):
        d, a = of.take(2)
        of.refuse_if(of.has("relu") or not of.has("rna", "rn"))
        ties, finite = (of.flag(word) for word in ("rna", "satfinite"))
        return d.write(f"kerneltk::ptx::to_tf32<{ties}, {finite}>({a.read('f32')})")
    of.refuse_if(len(of.kinds) != 2 or of.has("satfinite"))
    to, start = of.kinds
    if to.endswith("x2") and start == "f32":
        d, a, b = of.take(3)
        of.refuse_if(of.rounding != "rn" or of.has("sat"))
        relu = of.flag("relu")
        return d.write(
            f"kerneltk::ptx::to_halves<{_TYPES[to]}, {relu}>({a.read('f32')}, {b.read('f32')})"
        )
    d, a = of.take(2)
    direction = next((integral[word] for word in of.modifiers if word in integral), "")
    value = a.read(start)
    if of.has("ftz") and start == "f32":
        value = f"kerneltk::ptx::flush({value})"
    floats = ("f32", "f64")
    if start in _HALVES or to in _HALVES:
        of.refuse_if({start, to} & {"f16x2", "bf16x2"} or of.has("sat", "relu"))
        of.refuse_if(of.rounding != "rn")
        if start in _HALVES and to not in _HALVES:  # a float has all their values
            value = f"static_cast<float>({value})"
            if direction:
                value = f"kerneltk::ptx::integral_{direction}({value})"
            if to in floats:
                return d.write(f"static_cast<{_TYPES[to]}>({value})")
            of.refuse_if(not direction)
            return d.write(f"kerneltk::saturate<{_TYPES[to]}>({value})")
        of.refuse_if(start in _HALVES or direction)
        return d.write(f"{_TYPES[to]}({value})")
    if to in floats:
        if start not in floats:
            value = f"kerneltk::ptx::to_float_{of.rounding}<{_TYPES[to]}>({value})"
        elif direction:
            value = f"kerneltk::ptx::integral_{direction}({value})"
        elif (start, to) == ("f64", "f32"):
            value = f"__double2float_{of.rounding}({value})"
        else:
            value = f"static_cast<{_TYPES[to]}>({value})"
        if of.has("ftz") and to == "f32":
            value = f"kerneltk::ptx::flush({value})"
        return d.write(f"kerneltk::ptx::unit({value})" if of.has("sat") else value)
    if start in floats:
        call = f"kerneltk::ptx::integral_{direction or of.rounding}({value})"
        return d.write(f"kerneltk::saturate<{_TYPES[to]}>({call})")
    if of.has("sat"):
        return d.write(f"kerneltk::ptx::clamp<{_TYPES[to]}>({value})")
    return d.write(f"static_cast<{_TYPES[to]}>({value})")


def _load(of: Instruction) -> str:
    d, address, *rest = of.operands
    of.only("v2", "v4", "v8")
    of.refuse_if(rest or of.is_half or of.has("b128"))
    c_type = _TYPES[of.kind]
    pointer = address.address(f"const {c_type}", of.is_shared)
    strong = "strong_" if _STRONG & set(of.modifiers) else ""
    if d.kind != "vector":
        return d.write(f"kerneltk::ptx::{strong}load({pointer})")
    parts = " ".join(
        part.write(f"kerneltk::ptx::{strong}load(_kt_from + {k})") for k, part in enumerate(d.parts)
    )
    # A register of the address may be one of the results.
    pointer = _aligned(pointer, len(d.parts), of.kind)
    return f"{{ const {c_type}* const _kt_from = {pointer}; {parts} }}"


def _aligned(pointer: str, count: int, kind: str) -> str:
    """Return an address of a vector, which checks of memory look at."""
    return f"kerneltk::ptx::aligned<{count}>({pointer}, \"'.v{count}.{kind}'\")"


def _store(of: Instruction) -> str:
    address, value, *rest = of.operands
    of.only("v2", "v4", "v8")
    of.refuse_if(rest or of.is_half or of.has("async", "b128"))
    strong = "strong_" if _STRONG & set(of.modifiers) else ""
    pointer = address.address(_TYPES[of.kind], of.is_shared)
    parts = value.elements
    if len(parts) > 1:
        pointer = _aligned(pointer, len(parts), of.kind)
    stores = " ".join(
        f"kerneltk::ptx::{strong}store(_kt_to + {k}, {part.read(of.kind)});"
        for k, part in enumerate(parts)
    )
    return f"{{ {_TYPES[of.kind]}* const _kt_to = {pointer}; {stores} }}"


_ATOMICS = {
    "add": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "and": "atomicAnd",
    "or": "atomicOr", "xor": "atomicXor", "exch": "atomicExch", "inc": "atomicInc",
    "dec": "atomicDec", "cas": "atomicCAS",
}  # fmt: skip


def _atomic(of: Instruction) -> str:
    is_reduction = of.opcode == "red"
    d, address, *values = (Operand("sink"), *of.operands) if is_reduction else of.operands
    names = [word for word in of.modifiers if word in _ATOMICS]
    of.only(*_ATOMICS)
    of.refuse_if(len(names) != 1 or of.is_half or of.has("async"))
    of.refuse_if(len(values) != (2 if names[0] == "cas" else 1))
    operands = ", ".join(value.read(of.kind) for value in values)
    pointer = address.address(_TYPES[of.kind], of.is_shared)
    fences = "__threadfence(); " if of.has("acquire", "release", "acq_rel") else ""
    return f"{{ {fences}{d.write(f'{_ATOMICS[names[0]]}({pointer}, {operands})')} {fences}}}"


def _barrier(of: Instruction) -> str:
    """Barriers of a block, all of it or a number of its threads, and of a warp."""
    of.refuse_if(of.has("cluster"))
    of.only("sync", "arrive", "aligned", "red", "popc", "and", "or", "warp")
    if of.has("warp"):
        return f"__syncwarp({of.take(1)[0].read('u32')});"
    if of.has("red"):
        d, *rest = of.operands
        of.refuse_if(len(rest) != 2)
        names = {"popc": "count", "and": "and", "or": "or"}
        word = next(names[word] for word in of.modifiers if word in names)
        return d.write(f"static_cast<unsigned int>(__syncthreads_{word}({rest[1].read('pred')}))")
    number, *count = of.operands
    threads = count[0].read("u32") if count else "0u"
    name = "arrive" if of.has("arrive") else "meet"
    return f"kerneltk::ptx::{name}({number.read('u32')}, {threads});"


def _async_copy(of: Instruction) -> str:
    """``cp.async``: a copy is done when it is asked for."""
    of.refuse_if(of.has("bulk", "mbarrier", "tensor", "reduce"))
    if of.has("commit_group", "wait_group", "wait_all"):
        return "(void)0;"
    of.only("async")
    of.refuse_if(of.has("L2::cache_hint"))
    to, start, size, *rest = of.operands
    of.refuse_if(len(rest) > 1)
    # How much of it there is: a number, or a predicate where there is none.
    filled = (
        rest[0].code if rest and rest[0].kind == "register" else (rest or [size])[0].read("u32")
    )
    return (
        f"kerneltk::ptx::copy({to.address('char', True)}, {start.address('const char', False)}, "
        f"{size.read('u32')}, {filled});"
    )


def _shuffle(of: Instruction) -> str:
    d, a, b, c, mask = of.expect(5, "sync", "up", "down", "bfly", "idx")
    kind = next(word for word in of.modifiers if word in ("up", "down", "bfly", "idx"))
    operands = ", ".join(o.read("u32") for o in (a, b, c, mask))
    call = f"kerneltk::ptx::shuffle_{kind}({operands}, _kt_inside)"
    first, second = d.pair
    return f"{{ bool _kt_inside; {first.write(call)} {second.write('_kt_inside')} }}"


def _vote(of: Instruction) -> str:
    d, a, mask = of.expect(3, "sync", "all", "any", "uni", "ballot", "pred")
    operands = f"{mask.read('u32')}, {a.read('pred')}"
    if of.has("ballot"):
        return d.write(f"__ballot_sync({operands})")
    if of.has("uni"):
        return d.write(f"kerneltk::ptx::is_uniform({operands})")
    return d.write(f"(__{'all' if of.has('all') else 'any'}_sync({operands}) != 0)")


def _match(of: Instruction) -> str:
    d, a, mask = of.expect(3, "sync", "all", "any")
    operands = f"{mask.read('u32')}, {a.read(of.kind)}"
    if of.has("any"):
        return d.write(f"__match_any_sync({operands})")
    first, second = d.pair
    call = f"__match_all_sync({operands}, &_kt_all)"
    return f"{{ int _kt_all; {first.write(call)} {second.write('(_kt_all != 0)')} }}"


def _warp_reduction(of: Instruction) -> str:
    d, a, mask = of.expect(3, "sync", "add", "min", "max", "and", "or", "xor")
    name = next(word for word in of.modifiers if word in ("add", "min", "max", "and", "or", "xor"))
    of.refuse_if(of.kind not in ("b32", "u32", "s32"))
    return d.write(f"__reduce_{name}_sync({mask.read('u32')}, {a.read(of.kind)})")


def _elect(of: Instruction) -> str:
    d, mask = of.take(2)
    first, second = d.parts if d.kind == "pair" else (Operand("sink"), d)
    call = f"kerneltk::ptx::elect({mask.read('u32')})"
    return f"{{ const unsigned int _kt_leader = {call}; {first.write('_kt_leader')} " + (
        f"{second.write('(_kt_leader == _kt_lane())')} }}"
    )


def _load_matrix(of: Instruction) -> str:
    d, address = of.expect(2, "sync", "aligned", "m8n8", "x1", "x2", "x4", "trans")
    parts = d.elements
    of.refuse_if(of.kind != "b16" or not of.has(f"x{len(parts)}"))
    trans = of.flag("trans")
    pointer = address.address("const char", True)
    writes = " ".join(part.write(f"_kt_rows[{k}]") for k, part in enumerate(parts))
    return (
        f"{{ unsigned int _kt_rows[{len(parts)}]; "
        f"kerneltk::ptx::load_matrices<{len(parts)}, {trans}>(_kt_rows, {pointer}); {writes} }}"
    )


# Elements of a row of A, and C++ types of the elements: of A and B, of C and D.
_FRAGMENTS = {
    ("f16", "f32"): ("__half", "float"), ("bf16", "f32"): ("__nv_bfloat16", "float"),
    ("f16", "f16"): ("__half", "__half"), ("tf32", "f32"): ("kerneltk::ptx::tf32", "float"),
    ("s8", "s32"): ("signed char", "int"), ("u8", "s32"): ("unsigned char", "int"),
}  # fmt: skip
_DEPTHS = {
    "f16": ("m16n8k8", "m16n8k16"), "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"), "s8": ("m16n8k16", "m16n8k32"), "u8": ("m16n8k16", "m16n8k32"),
}  # fmt: skip


def _multiply_matrices(of: Instruction) -> str:
    """``mma.sync`` of 16 rows and 8 columns."""
    of.refuse_if(not of.has("row") or not of.has("col"))
    kinds = [word for word in of.modifiers if word in _TYPES or word == "tf32"]
    shape = next((word for word in of.modifiers if re.fullmatch(r"m\d+n\d+k\d+", word)), "")
    d, a, b, c = of.expect(4, "sync", "aligned", shape, "row", "col", "tf32", "satfinite")
    of.refuse_if(len(kinds) != 4 or kinds != kinds[::-1] or of.has("satfinite"))
    types = _FRAGMENTS[kinds[1], kinds[0]]
    of.refuse_if(shape not in _DEPTHS[kinds[1]])
    depth = int(shape.partition("k")[2])
    registers = [[part.read("b32") for part in operand.elements] for operand in (a, b, c)]
    outputs = d.elements
    writes = " ".join(part.write(f"_kt_d[{k}]") for k, part in enumerate(outputs))
    arrays = " ".join(
        f"const unsigned int _kt_{letter}[{len(values)}] = {{{', '.join(values)}}};"
        for letter, values in zip("abc", registers, strict=True)
    )
    return (
        f"{{ {arrays} unsigned int _kt_d[{len(outputs)}]; "
        f"kerneltk::ptx::multiply_matrices<{types[0]}, {types[1]}, {depth}>"
        f"(_kt_d, _kt_a, _kt_b, _kt_c); {writes} }}"
    )


def _branch(of: Instruction) -> str:
    (target,) = of.expect(1, "uni")
    return f"goto _kt_l_{target.code.replace('$', '_')};"


_RULES: dict[str, Callable[[Instruction], str]] = {
    **dict.fromkeys(("add", "sub", "fma", "div"), _arithmetic),
    **dict.fromkeys(("mul", "mad", "madc"), _multiply),
    **dict.fromkeys(("addc", "subc"), _carry),
    **dict.fromkeys(("min", "max"), _extreme),
    **dict.fromkeys(("abs", "neg"), _sign),
    **dict.fromkeys(("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"), _approximate),
    **dict.fromkeys(_BITWISE, _bitwise),
    "shl": _called("kerneltk::ptx::shift_left", "", "u32"),
    "shr": _called("kerneltk::ptx::shift_right", "", "u32"),
    **dict.fromkeys(("set", "setp"), _compare),
    **dict.fromkeys(("selp", "slct"), _select),
    **dict.fromkeys(("ld", "ldu"), _load),
    **dict.fromkeys(("atom", "red"), _atomic),
    **dict.fromkeys(("prefetch", "prefetchu", "discard", "applypriority"), lambda of: "(void)0;"),
    **dict.fromkeys(("membar", "fence"), lambda of: "__threadfence();"),
    **dict.fromkeys(("bar", "barrier"), _barrier),
    **dict.fromkeys(("dp4a", "dp2a"), _dot),
    "rem": _called("kerneltk::ptx::remainder", "", ""),
    **dict.fromkeys(("mul24", "mad24"), _multiply_24),
    "sad": _called("kerneltk::ptx::add_distance", "", "", ""),
    "copysign": _called("kerneltk::ptx::copy_sign", "", ""),
    "bfe": _called("kerneltk::ptx::extract_bits", "", "u32", "u32"),
    "bfi": _called("kerneltk::ptx::insert_bits", "", "", "u32", "u32"),
    "brev": _called("kerneltk::ptx::reverse_bits", ""),
    "popc": _called("kerneltk::ptx::count_bits", ""),
    "clz": _called("kerneltk::ptx::count_zeros", ""),
    "fns": _called("__fns", "b32", "b32", "s32"),
    "vabsdiff4": lambda of: _video(of, "__vabsdiff{}4"),
    "bfind": _called(
        lambda of: f"kerneltk::ptx::find_first<{of.flag('shiftamt')}>", "", only=("shiftamt",)
    ),
    "prmt": _called(_permutation, "u32", "u32", "u32", only=_PERMUTATIONS),
    "lop3": _called("kerneltk::ptx::look_up", "u32", "u32", "u32", "u32"),
    "shf": _called(
        lambda of: f"__funnelshift_{'l' if of.has('l') else 'r'}{'c' * of.has('clamp')}",
        *("u32", "u32", "u32"),
        only=("l", "r", "wrap", "clamp"),
    ),
    "mov": _move,
    "cvta": _address_space,
    "cvt": _convert,
    "st": _store,
    "cp": _async_copy,
    "shfl": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux": _warp_reduction,
    "elect": _elect,
    "activemask": lambda of: of.take(1)[0].write("__activemask()"),
    "ldmatrix": _load_matrix,
    "mma": _multiply_matrices,
    "bra": _branch,
    "nanosleep": lambda of: f"__nanosleep({of.take(1)[0].read('u32')});",
    **dict.fromkeys(("trap", "brkpt"), lambda of: "__trap();"),
    **dict.fromkeys(("pmevent", "griddepcontrol", "setmaxnreg"), lambda of: "(void)0;"),
}


def _video(of: Instruction, name: str) -> str:
    d, a, b, *c = of.operands
    of.only("add")
    of.refuse_if(len(of.kinds) != 3 or of.kinds[1] != of.kinds[2] or len(c) != 1)
    sign = "s" if of.kinds[1] in _SIGNED else "u"
    lanes = f"{name.format(sign)}({a.read('u32')}, {b.read('u32')})"
    if not of.has("add"):
        return d.write(lanes)
    return d.write(
        f"kerneltk::dot<unsigned char, unsigned char, 4>({lanes}, 0x01010101u, "
        f"{c[0].read('u32')}, 0)"
    )


# What can only be PTX: other processors' have no modifiers behind names of two letters or more.
_PTX_WORD = re.compile(r"[a-z]\w+(?:\.\w+(?:::\w+)*)+")
_BARE = frozenset(("activemask", "brkpt", "bra", "exit", "membar", "pmevent", "ret", "trap"))
_MATRICES = frozenset(("ldmatrix", "mma"))


def first_instruction(words: list[str]) -> str:
    """Return the first word that can only be a PTX instruction, or an empty string."""
    return next((word for word in words if _PTX_WORD.fullmatch(word)), "")


def call_of(of: Instruction) -> Call:
    """Return an instruction in C++.

    Raises
    ------
    RefusedError
        For one that CPU cores do not have.
    NotPtxError
        For what is none.
    """
    rule = _RULES.get(of.opcode)
    if not of.modifiers and of.opcode not in _BARE:
        raise NotPtxError  # x86 has some of the names, too
    if rule is None:
        is_ptx = of.opcode in _BARE or _PTX_WORD.fullmatch(of.word)
        raise of.refuse() if is_ptx else NotPtxError
    try:
        code = rule(of)
    except RefusedError as refused:
        part = str(refused)
        raise of.refuse() if part == of.word else RefusedError(f"{of.word}' of '{part}") from None
    except (ValueError, IndexError, StopIteration, KeyError):  # other operands than it takes
        raise of.refuse() from None
    headers = {_functions(kind) for kind in of.kinds} - {""}
    if of.has(*_BYTES):
        headers.add("host_ptx_bytes.hpp")
    if of.opcode in _MATRICES:
        headers.add("host_ptx_matrix.hpp")
    return Call(code, headers)
