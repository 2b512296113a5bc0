"""What functions become in lowering: the tables that have no file of tests, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from .lowering.showing import check_table

HERE = Path(__file__).parent
TABLES = [
    path for path in HERE.rglob("*.txt") if not path.with_name(f"test_{path.stem}.py").exists()
]


async def asynchronous(i: Any) -> Any:
    return i


def i4_of(r: Any) -> Any:
    return r.a


def put(r: Any) -> None:
    r.a = 3


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Box:
    low: Any
    high: Any


class Raises:
    @property
    def value(self) -> int:
        raise RuntimeError("no value today.")


NAN = float("nan")
# The names of each table.
NAMES: dict[str, dict[str, Any]] = {
    "intrinsics/execution/memory": {
        "ROWS": np.arange(4, dtype=np.int16).reshape(2, 2).T, "LARGE": np.zeros(8193),
    },
    "intrinsics/numbers/constants": {"F4": np.float32(1.5), "I1": np.int8(100), "NAN": NAN},
    "intrinsics/numbers/conversions": {"INFINITE": float("inf"), "NAN": NAN},
    "intrinsics/typing_rules": {"RECORD": np.dtype([("a", np.int8), ("b", np.float64)])},
    "lowering/function": {"asynchronous": asynchronous},
    "lowering/expressions/printing": {"NAME": "a'b", "EMPTY": "", "COUNT": np.int64(1234)},
    "lowering/expressions/subscripts": {
        "CONFIG": SimpleNamespace(size=7, inner=SimpleNamespace(factor=2.5)),
        "TABLE": {"a": 1, 2: 3}, "NESTED": ((1, 2), (3, 4)), "SCALAR": np.float32(2),
        "RAISES": Raises(),
    },
    "lowering/statements/matching": {"MODE": "fast"},
    "lowering/values/arrays": {"i4_of": i4_of},
    "lowering/values/comparisons": {
        "NONE": None, "LIMIT": np.int8(5), "TRIPLE": (1, 2.5, np.int8(3)),
    },
    "lowering/values/conversion": {
        "POINT": Point(1, 2.5), "BOX": Box(np.int8(3), (4, 5)), "LARGE": 2**63,
        "SMALLEST": -(2**63), "HUGE": 2**64, "HALF": np.float16(1.5),
        "BRAIN": ml_dtypes.bfloat16(2), "ZERO_D": np.array(7, np.int16), "OUTSIDE": np.zeros(3),
        "LIST": [1, 2], "NONE": None, "TRUE": np.True_,
        "STRUCTURED": np.zeros(1, [("a", "i4")])[0], "DATE": np.datetime64("2020-01-01"),
    },
    "lowering/values/operators": {
        "ONE": np.float32(1), "BIG": 2**63, "INT8": np.int8(100), "UINT8": np.uint8(200),
    },
    "lowering/values/references": {"put": put},
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [path.relative_to(HERE).with_suffix("").as_posix() for path in sorted(TABLES)]
)
def test_table(name: str) -> None:
    check_table(str(HERE / f"{name}.txt"), NAMES.get(name, {}))


def test_every_name_has_a_table() -> None:
    assert {HERE / f"{name}.txt" for name in NAMES} <= set(TABLES)
