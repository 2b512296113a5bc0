"""Which architecture a compiler makes code for."""

from __future__ import annotations

import pytest

from kerneltk.backends.cuda.architectures import check_options, choose_target
from kerneltk.core.artifacts import Target, TranslationUnit
from kerneltk.errors import CompileError

KNOWN = (50, 60, 70, 75, 80, 90)


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ("sm_90", "sm_90"),
        ("sm_90a", "sm_90a"),
        ("compute_80", "compute_80"),
        ("lto_80", "lto_80"),
        ("sm_86", "compute_80"),  # unknown: PTX of the newest below it
        ("sm_120", "compute_90"),
        ("lto_120", "lto_120"),
    ],
)
def test_targets(asked: str, chosen: str) -> None:
    assert choose_target(asked, KNOWN, "nvrtc 12.9") == Target("cuda", chosen, "nvrtc 12.9")


@pytest.mark.parametrize("asked", ["sm_50", "sm_60", "compute_35", "lto_61"])
def test_old_architectures_are_refused(asked: str) -> None:
    with pytest.raises(ValueError, match=f"does not compile for '{asked}': the oldest is 'sm_70'"):
        choose_target(asked, KNOWN, "nvrtc 12.9")


@pytest.mark.parametrize("asked", ["90", "sm90", "sm_90 ", "sm_", "sm_90b", "host", 90, None])
def test_what_is_no_architecture(asked: object) -> None:
    with pytest.raises(ValueError, match="is not a CUDA architecture"):
        choose_target(asked, KNOWN, "nvrtc 12.9")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "option",
    ["-arch=sm_80", "--gpu-architecture=compute_80", "-gencode", "--generate-code=x", "-gpu-code"],
)
def test_options_that_name_another_one(option: str) -> None:
    target = Target("cuda", "sm_90", "nvrtc 12.9")
    with pytest.raises(CompileError, match="another architecture than the target's, 'sm_90'"):
        check_options(TranslationUnit("cuda", "", "k", ("-DA", option)), target)
    check_options(TranslationUnit("cuda", "", "k", ("-DA", "-I/arch", "--std=c++17")), target)
