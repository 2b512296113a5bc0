"""Inline PTX is found in C++, keeps its lines, and becomes C++."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.ptx.statements import with_inline_ptx

LANE = 'asm volatile("mov.u32 %0, %laneid;" : "=r"(x));'


@pytest.mark.parametrize("source", [
    'int asm_ = 1; // asm("mov.u32 %0, 1;" : "=r"(x));', 'const char* s = "asm(\\"trap;\\")";',
    'asm volatile("" ::: "memory");', 'asm("" : "+r"(x));', 'asm volatile("rdtsc" : "=a"(x));',
    'asm("mov %1, %0; add %2, %0" : "=r"(x) : "r"(y), "r"(z));',
    'asm("mov.u32 %0, " NAME ";" : "=r"(x));', 'asm("mov.u32 %0, %laneid;" : "=r" x);',
    'asm("mov.u32 %0, %laneid;" : "=r"(x)', 'asm("mov.u32 %5, %laneid;" : "=r"(x));',
    'asm("{ mov.u32 %0, 1;" : "=r"(x));', 'asm("nonsense %0, 1;" : "=r"(x));',
    'asm volatile(".byte 0x90");', 'asm("mov %1, %0" : "=q"(x) : "q"(y));',
    'asm("mov.u32 %0, 1;" : "=r"(x{);', 'asm("mov.u32 %0, %1;" : "=r"(x) : "r"(y}));',
    '/* asm("trap;") */ R"(asm("trap;"))" \' asm \'',
])  # fmt: skip
def test_what_is_no_ptx_stays(source: str) -> None:
    assert with_inline_ptx(source) == (source, set())


@pytest.mark.parametrize("source", [
    f"{LANE}\nint y;",
    f"#define LANE(x) \\\n  {LANE}\nint y;",
    'asm volatile(\n    "mov.u32 %0, %laneid;"\n    : "=r"(x) // the lane\n);\nint y;',
    '#define LANE(x) asm("mov.u32 %0, " \\\n    "%%laneid;" \\\n  : "=r"(x))\nint y;',
    'asm(R"(\nmov.u32 %0, 1;\n)" : "=r"(x)); int y;',
])  # fmt: skip
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
        "do { [[maybe_unused]] unsigned int _kt_p0{}; auto& _kt_o0 = (a[f(1, 2)]); "
        "kerneltk::ptx::in(_kt_p0, _kt_o0); "
        "[[maybe_unused]] unsigned int _kt_p1{}; kerneltk::ptx::in(_kt_p1, ((int)b)); "
        "[[maybe_unused]] long long _kt_p2{}; kerneltk::ptx::in(_kt_p2, (N)); "
        "{ kerneltk::ptx::put(_kt_p0, kerneltk::ptx::add(kerneltk::ptx::as<int>(_kt_p1), "
        "kerneltk::ptx::as<int>(_kt_p2))); } kerneltk::ptx::out(_kt_o0, _kt_p0); } while (0);"
    )


def code_of(text: str) -> str:
    """The instructions of a statement in C++, with operands of its own."""
    found = with_inline_ptx(f'asm("{text}" : "=r"(x) : "r"(y), "n"(4));')[0]
    return found.partition("(4)); { ")[2].partition(" } kerneltk::ptx::out")[0]


def test_registers_are_declared_where_their_block_begins() -> None:
    found = code_of("{ .reg .pred p; @p bra L; .reg .u32 t; { .reg .u32 t; } L: }")
    assert found == (
        "__label__ _kt_l_L; { [[maybe_unused]] unsigned int _kt_r_t{}; "
        "[[maybe_unused]] bool _kt_r_p{}; if (_kt_r_p) { goto _kt_l_L; } "
        "{ [[maybe_unused]] unsigned int _kt_r2_t{}; } _kt_l_L:; }"
    )


@pytest.mark.parametrize(
    ("address", "offset"),
    [
        ("[%1]", "0"),
        ("[%1+8]", "8ll"),
        ("[%1 + -8]", "- 8ll"),
        ("[%1-0x10]", "- 16ll"),
        ("[%1 + %2]", "static_cast<long long>(_kt_p2)"),
        ("[%1+%2*4]", "static_cast<long long>(_kt_p2) * 4ll"),
        ("[%1+(1<<3)]", "( 1ll << 3ll )"),
    ],
)
def test_offsets_are_constant_expressions(address: str, offset: str) -> None:
    wanted = f"kerneltk::ptx::at<const unsigned int, true>(_kt_p1, {offset})"
    assert wanted in code_of(f"ld.shared.u32 %0, {address};")


def test_hints_of_the_assembler_are_left_out() -> None:
    assert code_of('.pragma \\"nounroll\\"; .loc 1 2 3;') == ""


def test_labels_of_a_number_of_their_own() -> None:
    assert code_of("bra L%=; L%=: ;") == "__label__ _kt_l_L_; goto _kt_l_L_; _kt_l_L_:;"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned"),
        ("add.s32 %0, %0, 1; exit;", "exit"),
        ("new.instruction.b32 %0, 1;", "new.instruction.b32"),
        ("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;",
         "createpolicy.fractional.L2::evict_first.b64"),
        (".shared .align 4 .b32 t[2];", ".shared"),
        ("redux.sync.min.f32 %0, %0, 1;", "redux.sync.min.f32"),
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
