"""What is asked of a unit of CUDA C++: kernels and variables, and the lines that ask for them."""

from __future__ import annotations

from collections.abc import Sequence

from kerneltk.core.artifacts import TEMPLATE
from kerneltk.core.records import record
from kerneltk.object_code.symbols import demangled

REQUESTS = "requested kernels"
"""The name that ``#line`` gives to the lines that ask for kernels and variables."""
GROUPS = "groups of descriptions"
"""The same for those that put descriptions of kernels together."""

# Kernels whose descriptions are one variable: ptxas takes longer for each kernel the more variables
# there are (710 kernels: 6.6 s with as many, 3 s with 45), and NVRTC longer for a larger one.
_GROUP = 16


@record
class Request:
    """Something that a unit's object code must offer."""

    expression: str  # a C++ name expression: ``"saxpy"``, ``"ns::f<float>"``
    is_variable: bool = False  # whether it names a variable instead of a kernel
    # The condition of the preprocessor under which it is declared; empty where there is none.
    guard: str = ""
    # Its symbol for GPUs where the name alone does not tell it: a kernel with C linkage that is
    # called like a function of CUDA's.
    symbol: str = ""

    @property
    def instance(self) -> str:
        """The expression, of a mangled name its function with its template arguments."""
        return demangled(self.expression)[0]

    @property
    def spelled(self) -> str:
        """What C++ calls it: a kernel of a mangled name by its parameters."""
        kernel, types = demangled(self.expression)
        is_mangled = kernel != self.expression
        return f"static_cast<void (&)({', '.join(types)})>({kernel})" if is_mangled else kernel

    @property
    def is_by_address(self) -> bool:
        """Whether NVRTC is asked for it by a function that returns its address: an instance of a
        template, or a kernel of a mangled name.
        """
        return not self.is_variable and "<" in self.spelled

    @property
    def name(self) -> str:
        """What object code lists it as: a variable by its address."""
        return f"&{self.expression}" if self.is_variable else self.expression

    @property
    def prefix(self) -> str:
        """What the symbols of ours begin with that belong to it."""
        return "_kt_variable_" if self.is_variable else "_kt_entry_"

    def reflection(self, symbol: str, macro: str = "KERNELTK_REFLECT") -> str:
        """Return the line that makes the compiler describe it, for its symbol of ours."""
        macro = "KERNELTK_REFLECT_VARIABLE" if self.is_variable else macro
        return f"{macro}({symbol}_type, ({self.spelled}))"

    def guarded(self, number: int, line: str) -> str:
        """Return the lines that ask for it, under its condition, and numbered for messages."""
        numbered = f'#line {number + 1} "{REQUESTS}"'
        line = "\n".join(f"{numbered}\n{part}" for part in line.split("\n"))
        return f"#if {self.guard}\n{line}\n#endif" if self.guard else line


def lines_for_gpus(
    requests: Sequence[Request], own: str, *, by_nvcc: bool, has_weak: bool = False
) -> tuple[list[str], list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the lines of a unit for GPUs that ask for what is requested, with its `exports` and
    what is `reflected`, as `TranslationUnit` has them. `own` makes names the unit's alone. The
    address of a kernel that is weak is no constant: NVRTC is asked for it by its name.
    """
    lines, exports, reflected = list[str](), list[tuple[str, str]](), list[tuple[str, str]]()
    alone = {n for n, request in enumerate(requests) if request.guard or request.is_variable}
    in_groups = not by_nvcc and len(requests) - len(alone) > _GROUP
    group: list[str] = []
    for number, request in enumerate(requests):
        name, symbol = request.name, f"{request.prefix}{own}{number}"
        is_described = not in_groups or number in alone
        macro = "KERNELTK_REFLECT" if is_described else "KERNELTK_DESCRIBE"
        offer = [request.reflection(symbol, macro)]
        if request.symbol:
            exports.append((name, request.symbol))
        elif by_nvcc:
            exports.append((name, symbol))
            offer.insert(0, f"KERNELTK_ADDRESS({symbol}, ({request.spelled}))")
        elif request.is_by_address and not (has_weak and request.spelled == request.expression):
            address = f"{TEMPLATE}{own}{number}"
            exports.append((name, address))
            offer.append(f"KERNELTK_TEMPLATE({address}, ({request.spelled}))")
        else:
            exports.append((name, ""))
        if is_described:
            reflected.append((request.expression, f"{symbol}_type"))
        else:
            place, index = divmod(len(group), _GROUP)
            reflected.append((request.expression, f"_kt_group_{own}{place}[{index}]"))
            group.append(f"{symbol}_type")
        lines.append(request.guarded(number, " ".join(offer)))
    lines += [f'#line 1 "{GROUPS}"'] if group else []
    for first in range(0, len(group), _GROUP):
        symbol, members = f"_kt_group_{own}{first // _GROUP}", group[first : first + _GROUP]
        lines.append(f"KERNELTK_REFLECT_GROUP({symbol}, {', '.join(members)})")
    return lines, exports, reflected


def title_of(requests: Sequence[Request], name: str) -> str:
    """Return a unit's name in messages: its only kernel's, or the source's."""
    kernels = [request.expression for request in requests if not request.is_variable]
    return kernels[0] if len(kernels) == 1 else name
