"""Which exchanges between lanes are reported as ordered by nothing."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.rewrites.exchanges import unordered_exchanges


def in_kernel(body: str) -> str:
    return f"""__device__ void fold(int* s, int lane) {{
    s[lane] += s[lane + 4];
    s[lane] += s[lane + 2];
}}
__global__ void f(int* x, int n) {{
    int t = threadIdx.x; __shared__ int s[64];
{body}
}}"""


@pytest.mark.parametrize(
    ("body", "loaded"),
    [
        ("s[t] += s[t + 2];\ns[t] += s[t + 1];", ["s[t + 1]"]),
        ("for (int n = 16; n > 0; n /= 2)\ns[t] += s[t + n];", ["s[t + n]"]),
        ("for (int n = 16; n > 0; n >>= 1) {\nif (t < n)\ns[t] += s[t + n]; }", ["s[t + n]"]),
        ("if (t < 16) s[t] += s[t + 16];\nif (t < 8) s[t] += s[t + 8];", ["s[t + 8]"]),
        ("if (t >= 1) s[t] += s[t - 1];\nif (t >= 2) s[t] += s[t - 2];", ["s[t - 2]"]),
        ("s[t] = n;\nx[t] = s[t ^ 1];", ["s[t ^ 1]"]),
        ("const int lane = t & 31;\nx[lane] = 1; int y = max(x[lane + 1], 0);", ["x[lane + 1]"]),
        ("if (t < 32) fold(s, t);", ["s[lane + 2]"]),
        ("s[t] = n;\nfor (int i = 0; i < 32; i++)\nn += s[i];\nx[t] = n;", ["s[i]"]),
        # What orders them; what only one lane comes to; what nobody else has stored.
        ("s[t] += s[t + 2]; __syncwarp();\ns[t] += s[t + 1];", []),
        ("for (int n = 16; n > 0; n /= 2) { s[t] += s[t + n]; __syncthreads(); }", []),
        ("if (t == 0) { s[t] += s[t + 2]; s[t] += s[t + 1]; }", []),
        ("if (t < 8) s[t] += s[t + 8];\nif (t < 8) s[t] += s[t + 16];", []),
        ("s[t] += s[t + 32];\nx[t] = s[t] + s[t + 32];", []),
        ("for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = x[i + 1];", []),
        ("for (int i = 0; i < n; ++i) x[t] += s[t + i];", []),
        ("s[t] = n; __syncwarp();\nfor (int i = 0; i < 32; i++) n += s[i];", []),
        ("if (t == 0) s[t] = n;\nfor (int i = 0; i < 32; i++) n += s[i];", []),
        ("int own[4]; own[t] = n;\nfor (int i = 0; i < 4; i++) n += own[i];", []),
        ("s[t] = n;\nfor (int i = t; i < 32; i++) n += s[i];", []),
        ("float s[64]; s[t] += s[t + 2]; s[t] += s[t + 1];", []),
        ("volatile int* v = s; v[t] += v[t + 2]; v[t] += v[t + 1];", []),
        ("t *= 4; s[t] += s[t + 2]; s[t] += s[t + 1];", []),
        ("int own = 4 * t; s[own] += s[own + 2]; s[own] += s[own + 1];", []),
        ("switch (n) { case 1: s[t] = 1; } x[t] = s[t + 1];", []),
    ],
)
def test_exchanges_that_nothing_orders(body: str, loaded: list[str]) -> None:
    found = unordered_exchanges(in_kernel(body))
    assert [exchange.loaded for exchange in found] == loaded
    lines = in_kernel(body).splitlines()
    assert all(exchange.loaded in lines[exchange.line - 1] for exchange in found)
    assert {exchange.stored for exchange in found} <= {"s[t]", "x[lane]", "s[lane]"}


def test_exchanges_of_headers_and_of_what_may_be_volatile() -> None:
    source = in_kernel('#line 7 "fold.cuh"\ns[t] += s[t + 2];\ns[t] += s[t + 1];')
    (found,) = unordered_exchanges(source)
    assert found == ("fold.cuh", 8, "s[t + 1]", "s[t]")
    assert unordered_exchanges("typedef volatile int word;\n" + source) == ()
