"""Inline PTX is found in C++, keeps its lines, and becomes C++."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.ptx.statements import with_inline_ptx

LANE = 'asm volatile("mov.u32 %0, %laneid;" : "=r"(x));'


@pytest.mark.parametrize(
    "source",
    [
        'int asm_ = 1; // asm("mov.u32 %0, 1;" : "=r"(x));',
        'const char* s = "asm(\\"trap;\\")";',
        'asm volatile("" ::: "memory");',
        'asm("" : "+r"(x));',
        'asm volatile("rdtsc" : "=a"(x));',
        'asm("mov %1, %0; add %2, %0" : "=r"(x) : "r"(y), "r"(z));',
        'asm("mov.u32 %0, " NAME ";" : "=r"(x));',
        'asm("mov.u32 %0, %laneid;" : "=r" x);',
        'asm("mov.u32 %0, %laneid;" : "=r"(x)',
        'asm("mov.u32 %5, %laneid;" : "=r"(x));',
        'asm("{ mov.u32 %0, 1;" : "=r"(x));',
        'asm("nonsense.u32 %0, 1;" : "=r"(x));',
        '/* asm("trap;") */ R"(asm("trap;"))" \' asm \'',
    ],
)
def test_what_is_no_ptx_stays(source: str) -> None:
    assert with_inline_ptx(source) == (source, set())


@pytest.mark.parametrize(
    "source",
    [
        f"{LANE}\nint y;",
        f"#define LANE(x) \\\n  {LANE}\nint y;",
        'asm volatile(\n    "mov.u32 %0, %laneid;"\n    : "=r"(x) // the lane\n);\nint y;',
        '#define LANE(x) asm("mov.u32 %0, " \\\n    "%%laneid;" \\\n  : "=r"(x))\nint y;',
        'asm(R"(\nmov.u32 %0, 1;\n)" : "=r"(x)); int y;',
    ],
)
def test_lines_keep_their_numbers(source: str) -> None:
    found, headers = with_inline_ptx(source)
    assert "asm" not in found
    assert headers == {"host_ptx.hpp"}
    assert found.count("\n") == source.count("\n")
    assert found.endswith(" int y;" if source.startswith("asm(R") else "\nint y;")
    # A macro has all of its lines.
    assert found.count("\\\n") == source.count("\\\n")


def test_operands_are_copied_and_results_brought_back() -> None:
    source = 'asm("add.s32 %0, %1, %2;" : "+r"(a[f(1, 2)]) : "r"((int)b), "n"(N));'
    assert with_inline_ptx(source)[0] == (
        "do { [[maybe_unused]] unsigned int _kt_p0{}; kerneltk::ptx::in(_kt_p0, (a[f(1, 2)])); "
        "[[maybe_unused]] unsigned int _kt_p1{}; kerneltk::ptx::in(_kt_p1, ((int)b)); "
        "[[maybe_unused]] long long _kt_p2{}; kerneltk::ptx::in(_kt_p2, (N)); "
        "{ kerneltk::ptx::put(_kt_p0, kerneltk::ptx::add(kerneltk::ptx::as<int>(_kt_p1), "
        "kerneltk::ptx::as<int>(_kt_p2))); } kerneltk::ptx::out((a[f(1, 2)]), _kt_p0); } while (0);"
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned"),
        ("add.s32 %0, %0, 1; exit;", "exit"),
        ("mov.u32 %0, %pm0;", "mov.u32' of '%pm0"),
        ("add.s32 %0, %0;", "add.s32"),
        ("tcgen05.fence::before_thread_sync;", "tcgen05.fence::before_thread_sync"),
        ("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;", "cp.async.bulk.commit_group"),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0}, {%0}, {%0}, {%0};",
         "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
        ("ld.global.u32 %0, [name];", "ld.global.u32' of '[name]"),
        ("ld.global.b128 %0, [%0];", "ld.global.b128"),
        ("mbarrier.init.shared.b64 [%0], 1;", "mbarrier.init.shared.b64"),
    ],
)  # fmt: skip
def test_what_cpu_cores_do_not_have_is_refused_by_name(text: str, name: str) -> None:
    found, headers = with_inline_ptx(f'asm("{text}" : "+r"(x));')
    assert headers == {"host_ptx.hpp"}
    wanted = f"do {{ kerneltk::ptx::refused(\" the PTX instruction '{name}' runs on GPUs only\"); "
    assert found == f"{wanted}}} while (0);"
