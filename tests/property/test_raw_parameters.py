"""Random parameter lists: every value arrives in the kernel as it was given."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck
from hypothesis import strategies as st

import kerneltk

from .examples import drawn

# C type, dtype of the value, whether Python's own number is given instead of a NumPy scalar.
SCALARS = [
    ("signed char", np.int8), ("unsigned char", np.uint8), ("short", np.int16),
    ("unsigned short", np.uint16), ("int", np.int32), ("unsigned", np.uint32),
    ("long long", np.int64), ("unsigned long long", np.uint64), ("float", np.float32),
    ("double", np.float64), ("bool", np.bool_),
]  # fmt: skip
VECTORS = [
    ("char2", np.int8, 2), ("uchar4", np.uint8, 4), ("short3", np.int16, 3), ("int2", np.int32, 2),
    ("uint4", np.uint32, 4), ("longlong2", np.int64, 2), ("float2", np.float32, 2),
    ("float3", np.float32, 3), ("float4", np.float32, 4), ("double2", np.float64, 2),
]  # fmt: skip
RECORD = np.dtype([("a", np.int8), ("b", np.float64), ("c", np.int16, 3)], align=True)


def number(draw: st.DrawFn, dtype: Any) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return draw(st.booleans())
    if kind.kind == "f":
        return draw(st.floats(width=8 * kind.itemsize, allow_nan=False))
    info = np.iinfo(kind)
    return draw(st.integers(int(info.min), int(info.max)))


@st.composite
def parameters(draw: st.DrawFn) -> list[tuple[str, Any, bytes]]:
    """Return the C type, the argument and the bytes of each parameter."""
    found: list[tuple[str, Any, bytes]] = []
    for _ in range(draw(st.integers(1, 12))):
        choice = draw(st.integers(0, 5))
        if choice <= 2:
            ctype, dtype = draw(st.sampled_from(SCALARS))
            value = number(draw, dtype)
            given_ = dtype(value) if draw(st.booleans()) else value
            found.append((ctype, given_, np.array(value, dtype).tobytes()))
        elif choice == 3:
            ctype, dtype, count = draw(st.sampled_from(VECTORS))
            array = np.array([number(draw, dtype) for _ in range(count)], dtype)
            found.append((ctype, tuple(array) if draw(st.booleans()) else array, array.tobytes()))
        elif choice == 4:
            record = np.zeros((), RECORD)
            record["a"], record["b"] = number(draw, np.int8), number(draw, np.float64)
            record["c"] = [number(draw, np.int16) for _ in range(3)]
            found.append(("record", record[()], record.tobytes()))
        else:
            found.append(("const float*", None, bytes(8)))
    return found


@drawn(parameters(), few=10, many=25, suppress_health_check=list(HealthCheck))
def test_values_arrive(backend: Any, chosen: list[tuple[str, Any, bytes]]) -> None:
    declared = ", ".join(f"{ctype} p{k}" for k, (ctype, _, _) in enumerate(chosen))
    copies, place = [], 0
    for k, (_, _, data) in enumerate(chosen):
        copies.append(f"memcpy(out + {place}, &p{k}, {len(data)});")
        place += len(data)
    code = (
        "struct record { signed char a; double b; short c[3]; };\n"
        f"__global__ void spill({declared}, unsigned char* out) {{ {' '.join(copies)} }}\n"
    )
    out = backend.asarray(np.zeros(place, np.uint8))
    kerneltk.RawKernel(code, "spill")(1, 1, (*(value for _, value, _ in chosen), out))
    found, start = backend.asnumpy(out).tobytes(), 0
    for ctype, value, data in chosen:
        arrived = found[start : start + len(data)]
        start += len(data)
        if ctype == "record":  # what lies between the members is nobody's
            arrived, data = _members(arrived), _members(data)
        assert arrived == data, (ctype, value)


def _members(data: bytes) -> Any:
    record = np.frombuffer(data, RECORD)[0]
    return [record[name].tobytes() for name in RECORD.names or ()]
