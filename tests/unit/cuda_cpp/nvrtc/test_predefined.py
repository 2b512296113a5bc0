"""What a host compiler says of numbers and of the system, NVRTC is told as well."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import kerneltk
from kerneltk.cache import stand_ins

HEADER = stand_ins.headers("nvrtc")["_kt_predefined.h"].decode()
DEFINED = dict(re.findall(r"^#define (\w+) (.+)$", HEADER, re.MULTILINE))
CHECKS = "\n".join(
    f"#ifdef {name}\n"  # clang has no __FLOAT_WORD_ORDER__
    + (
        f'static_assert(__is_same({name}, {value}), "{name}");'
        if name.endswith("_TYPE__")
        else f'static_assert({name} == {value}, "{name}");'
    )
    + "\n#endif"
    for name, value in DEFINED.items()
)
KERNEL = 'extern "C" __global__ void k(int* x) { x[0] = 5; }\n'


def test_the_host_s_compiler_says_the_same() -> None:
    assert len(DEFINED) > 50
    x = np.zeros(1, np.int32)
    kerneltk.RawKernel(f"{CHECKS}\n{KERNEL}", "k")(1, 1, (x,))
    assert x[0] == 5


def test_nvrtc_is_told() -> None:
    checks = re.sub(r"__is_same\((.*), (.*)\),", r"std::is_same_v<\1, \2>,", CHECKS)
    code = f"#include <type_traits>\n{checks}\n{KERNEL}"
    assert kerneltk.RawKernel(code, "k").compile_for("sm_90").code


def test_a_header_or_an_option_may_ask(tmp_path: Path) -> None:
    (tmp_path / "order.h").write_text("constexpr bool IS_BIG = __BYTE_ORDER__ == 4321;\n")
    code = f'#include "order.h"\nstatic_assert(!IS_BIG && ORDER == 1234, "");\n{KERNEL}'
    options = (f"-I{tmp_path}", "-DORDER=__ORDER_LITTLE_ENDIAN__")
    for target in ("sm_90", "host"):
        assert kerneltk.RawKernel(code, "k", options=options).compile_for(target).code
