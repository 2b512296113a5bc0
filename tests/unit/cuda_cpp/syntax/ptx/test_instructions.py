"""Instructions of PTX become calls of C++, by their types and modifiers."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.ptx.instructions import (
    Instruction,
    NotPtxError,
    Operand,
    RefusedError,
    call_of,
)


def instruction(word: str, *operands: str) -> Instruction:
    """Return an instruction of registers, and of numbers where an operand is one."""
    kinds = [
        Operand("immediate" if x.lstrip("-")[0].isdigit() else "register", x) for x in operands
    ]
    opcode, *modifiers = word.split(".")
    return Instruction(word, opcode, tuple(modifiers), tuple(kinds))


def code_of(word: str, *operands: str) -> str:
    return call_of(instruction(word, *operands)).code.replace("kerneltk::ptx::", "")


@pytest.mark.parametrize(
    ("word", "operands", "code"),
    [
        ("mov.u32", "dx", "put(d, as<unsigned int>(x));"),
        ("neg.ftz.f32", "dx", "put(d, flush(negative(flush(as<float>(x)))));"),
        ("add.f32", "dxy", "put(d, __fadd_rn(as<float>(x), as<float>(y)));"),
        ("mul.rz.f64", "dxy", "put(d, __dmul_rz(as<double>(x), as<double>(y)));"),
        ("add.rm.sat.f32", "dxy", "put(d, unit(__fadd_rd(as<float>(x), as<float>(y))));"),
        ("mul.f16x2", "dxy", "put(d, __hmul2(as<__half2>(x), as<__half2>(y)));"),
        ("fma.rn.relu.bf16", "dxyz", "put(d, __hfma_relu(as<__nv_bfloat16>(x), "
         "as<__nv_bfloat16>(y), as<__nv_bfloat16>(z)));"),
        ("cvt.rpi.s32.f64", "dx", "put(d, kerneltk::saturate<int>(integral_ru(as<double>(x))));"),
        ("bar.warp.sync", "x", "__syncwarp(as<unsigned int>(x));"),
        ("shr.s16", "dxy", "put(d, shift_right(as<short>(x), as<unsigned int>(y)));"),
    ],
)  # fmt: skip
def test_types_and_modifiers_choose_the_function(word: str, operands: str, code: str) -> None:
    assert code_of(word, *operands) == code


@pytest.mark.parametrize(
    ("number", "code"),
    [
        ("12", "12ll"), ("-1", "-1ll"), ("0x1F", "31ll"), ("017", "15ll"), ("7U", "7ll"),
        ("0b101", "5ll"), ("0xFFFFFFFFFFFFFFFF", "18446744073709551615ull"),
    ],
)  # fmt: skip
def test_numbers_are_those_of_ptx(number: str, code: str) -> None:
    assert code_of("mov.b64", "d", number) == f"put(d, static_cast<unsigned long long>({code}));"


def test_floats_are_given_by_their_bits_or_in_decimals() -> None:
    assert code_of("mov.f32", "d", "0f3F800000") == (
        "put(d, static_cast<float>(as<float>(0x3F800000u)));"
    )
    assert code_of("mov.f64", "d", "1.5e3") == "put(d, static_cast<double>(1.5e3));"


@pytest.mark.parametrize(
    ("word", "operands"),
    [
        ("add.u32", "dx"),  # an operand too few
        ("add.oddly.u32", "dxy"),
        ("add", "dxy"),
        ("mul.wide.u64", "dxy"),
        ("ld.global.u32", "dx"),  # of no address
        ("tex.2d.v4.f32.s32", "dxy"),
        ("wgmma.commit_group.sync.aligned", ""),
        ("cvt.rn.satfinite.relu.e4m3x2.f32", "dxy"),
        ("barrier.cluster.arrive", ""),
    ],
)
def test_what_cpu_cores_do_not_have_is_refused(word: str, operands: str) -> None:
    wanted = NotPtxError if "." not in word else (RefusedError, NotPtxError)
    with pytest.raises(wanted):
        code_of(word, *operands)


def test_headers_come_with_the_types() -> None:
    assert call_of(instruction("add.u32", *"dxy")).headers == set()
    assert call_of(instruction("add.f16", *"dxy")).headers == {"host_ptx_half.hpp"}
