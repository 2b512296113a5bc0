"""Names of a function: what they may be bound to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import TypingError


@jit.rawkernel()
def keeps_an_object_under_the_name_of_a_flag(x: Any) -> None:
    left: Any = None
    for k in (1, 2, 3):
        if x[0] > k:
            left = k
            break
    if left is not None:
        x[0] = left


def test_a_name_that_lowering_gives_to_a_flag_is_the_users_own() -> None:
    with pytest.raises(TypingError, match="'left' is assigned values that do not go together"):
        keeps_an_object_under_the_name_of_a_flag[1, 1](np.ones(1, np.float32))
