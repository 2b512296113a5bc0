"""Every header that kernels may include is compiled by NVRTC, by itself."""

from __future__ import annotations

import pytest

from kerneltk.backends.cuda import nvrtc
from kerneltk.cache import stand_ins
from kerneltk.core.artifacts import INCLUDE_DIRECTORY, TranslationUnit

pytest.importorskip("cuda.bindings.nvrtc")
TARGETS = ("compute_75", "compute_90")
# Parts of others, which they need before them; and the host's.
PARTS = ("stream.hpp", "torch_limits.hpp", "torch_types.hpp")
KERNEL = 'extern "C" __global__ void f(int* x) { *x = 1; }\n'


def compile_with(names: list[str], target: str, raw: bool) -> None:
    source = "".join(f"#include <{name}>\n" for name in names) + KERNEL
    nvrtc.compile(TranslationUnit("cuda", source, "f", raw=raw), nvrtc.target_for(target))


OWN = sorted(
    f"kerneltk/{path.name}"
    for path in (INCLUDE_DIRECTORY / "kerneltk").iterdir()
    if path.suffix != ".inc" and path.name not in PARTS and not path.name.startswith("host")
)
OWN += sorted(stand_ins.headers("cupy"))
STAND_INS = sorted({*stand_ins.headers("nvrtc"), *stand_ins.headers("nvrtc_fallback")})


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "target", [pytest.param("compute_75", marks=pytest.mark.exhaustive), "compute_90"]
)
def test_headers_of_expressions(target: str) -> None:
    for name in OWN:
        compile_with([name], target, raw=False)


@pytest.mark.parametrize("target", TARGETS)
def test_stand_ins_together(target: str) -> None:
    together = [name for name in STAND_INS if "/" not in name and not name.startswith("cu")]
    compile_with(together, target, raw=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", STAND_INS)
def test_a_stand_in(name: str) -> None:
    for target in TARGETS:
        compile_with([name], target, raw=True)
