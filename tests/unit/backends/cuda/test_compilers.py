"""Which compiler a unit for GPUs gets, and when it is linked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kerneltk.backends.cuda import compilers, nvcc, nvjitlink, nvrtc, toolkit
from kerneltk.core.artifacts import LinkInput, ObjectCode, TranslationUnit
from kerneltk.errors import CompileError

CODE = 'extern "C" __global__ void f(int* x) { *x += 1; }'
CALLS = 'extern "C" __device__ int g(int);\nextern "C" __global__ void f(int* x) { *x = g(1); }'


def compiled(code: str, target: str, *, links: tuple[LinkInput, ...] = ()) -> bytes:
    unit = TranslationUnit("cuda", code, "f", raw=True, links=links)
    return compilers.compile(unit, compilers.target_for(target, unit)).code


def test_the_units_own_compiler_is_asked() -> None:
    assert compilers._compiler_of(TranslationUnit("cuda", CODE, "f")) is nvrtc
    assert compilers._compiler_of(TranslationUnit("cuda", CODE, "f", compiler="nvcc")) is nvcc
    unit = TranslationUnit("cuda", CODE, "f")
    assert compilers.target_for("sm_90", unit) == nvrtc.target_for("sm_90")
    assert compilers.backend_options(unit) == nvrtc.backend_options(unit)
    assert compilers.include_directories(unit) == nvrtc.include_directories(unit)


def test_the_linker_is_part_of_the_target_of_a_unit_that_links() -> None:
    link = LinkInput("g", "ltoir", compiled("__device__ int other;" + CODE, "lto_90"))
    unit = TranslationUnit("cuda", CALLS, "f", raw=True, links=(link,))
    target = compilers.target_for("sm_90", unit)
    plain = nvrtc.target_for("sm_90")
    assert target.compiler == f"{plain.compiler}, {nvjitlink.version()}"
    assert target.architecture == plain.architecture


def test_a_unit_is_linked_unless_it_is_to_be_linked_later() -> None:
    other = 'extern "C" __device__ int g(int n) { return n + 41; }'
    link = LinkInput("g.ltoir", "ltoir", compiled(other, "lto_90"))
    assert compiled(CALLS, "sm_90", links=(link,)).startswith(b"\x7fELF")
    assert b".entry f" in compiled(CALLS, "compute_90", links=(link,))
    # The name stays open: what is linked later may define it.
    assert compiled(CALLS, "lto_90", links=(link,)) == compiled(CALLS, "lto_90")


def test_failures_of_the_linker_have_the_units_source() -> None:
    link = LinkInput("g.ltoir", "ltoir", compiled(CODE.replace("f(", "h("), "lto_90"))
    unit = TranslationUnit("cuda", CALLS, "f", raw=True, links=(link,), name="mine")
    with pytest.raises(CompileError, match=r"'mine' cannot be linked: .*'g'") as caught:
        compilers.compile(unit, compilers.target_for("sm_90", unit))
    assert caught.value.source == CALLS
    assert "'g'" in caught.value.log


LAUNCHES = CODE + 'extern "C" __global__ void g(int* x) { f<<<1, 1>>>(x); }'


def relocatable(code: str, option: str) -> ObjectCode:
    unit = TranslationUnit("cuda", code, "f", (option,), raw=True)
    return compilers.compile(unit, compilers.target_for("sm_90", unit))


@pytest.mark.parametrize("option", ["-dc", "-rdc=true"])
def test_relocatable_code_is_linked_before_it_is_loaded(option: str) -> None:
    """The driver finds no kernel in it, and none of the functions that launch kernels."""
    for source, most in ((CODE, 10_000), (LAUNCHES, 1_000_000)):
        code = relocatable(source, option)
        linked = compilers.executable(code, "sm_90")
        assert linked[16:18] == b"\2\0"  # ET_EXEC
        assert b".text.f" in linked
        assert len(linked) < most  # CUDA's runtime is for kernels that launch kernels
        assert compilers.executable(replace(code, code=linked), "sm_90") == linked


def test_relocatable_code_without_cudas_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolkit, "device_runtime", lambda: None)
    with pytest.raises(CompileError, match=r"'f' cannot be linked: .*Undefined reference"):
        compilers.executable(relocatable(LAUNCHES, "-dc"), "sm_90")
