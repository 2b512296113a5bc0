"""The lines that ask a compiler for kernels and variables."""

from __future__ import annotations

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
