"""The lines that ask a compiler for kernels and variables."""

from __future__ import annotations

import re

from kerneltk.cuda_cpp.requests import Request, lines_for_gpus, title_of


def test_kernels_are_asked_for_by_what_tells_their_symbols() -> None:
    requests = [
        Request("f"), Request("g<int>"), Request("_Z1hPi"), Request("v", True),
        Request("c", guard="N > 1", symbol="c"),
    ]  # fmt: skip
    lines, exports, reflected = lines_for_gpus(requests, "x_", by_nvcc=False)
    assert exports == [
        ("f", ""), ("g<int>", "_kt_template_x_1"), ("_Z1hPi", "_kt_template_x_2"), ("&v", ""),
        ("c", "c"),
    ]  # fmt: skip
    assert "KERNELTK_TEMPLATE(_kt_template_x_2, (static_cast<void (&)(int*)>(h)))" in lines[2]
    assert "KERNELTK_REFLECT_VARIABLE(_kt_variable_x_3_type, (v))" in lines[3]
    assert lines[4].startswith('#if N > 1\n#line 5 "requested kernels"\n')
    assert [name for name, _ in reflected] == [request.expression for request in requests]
    _, exports, _ = lines_for_gpus(requests, "x_", by_nvcc=True)
    assert exports[0] == ("f", "_kt_entry_x_0")
    assert title_of(requests[:1], "a.cu") == "f"
    assert title_of(requests, "a.cu") == "a.cu"


def test_descriptions_of_many_kernels_are_few_variables() -> None:
    requests = [Request("v", True), *(Request(f"f{n}") for n in range(33))]
    lines, _, reflected = lines_for_gpus(requests, "x_", by_nvcc=False)
    groups = [re.findall(r"_kt_entry_x_(\d+)_type", line) for line in lines if "_GROUP(" in line]
    assert [len(group) for group in groups] == [16, 16, 1]
    assert reflected[0] == ("v", "_kt_variable_x_0_type")
    for (name, place), number in zip(reflected[1:], range(33), strict=True):
        assert (name, place) == (f"f{number}", f"_kt_group_x_{number // 16}[{number % 16}]")
        assert groups[number // 16][number % 16] == str(number + 1)
