"""The `backend` fixture keeps what the tests of layouts rely on."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

BASE = np.arange(4 * 6 * 5, dtype=np.float32).reshape(4, 6, 5)

LAYOUTS: dict[str, Callable[[], np.ndarray[Any, Any]]] = {
    "c-order": lambda: BASE,
    "f-order": lambda: np.asfortranarray(BASE),
    "transposed": lambda: BASE.transpose(2, 0, 1),
    "offset": lambda: BASE[1:, 2:, 3:],
    "stepped": lambda: BASE[::2, ::3, ::2],
    "reversed": lambda: BASE[::-1, :, ::-2],
    "broadcast": lambda: np.broadcast_to(BASE[0, 0], (3, 2, 5)),
    "0-d": lambda: BASE[1, 2, 3:4].reshape(()),
    "empty": lambda: BASE[:0],
    "windows": lambda: np.lib.stride_tricks.sliding_window_view(BASE[0, 0], 3),
    "misaligned": lambda: np.frombuffer(bytes(range(41)), np.float32, offset=1),
    "structured field": lambda: np.ones(7, np.dtype("i1,f4"))["f1"],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_copy_has_the_strides_and_the_offset_of_the_original(backend: Any, layout: str) -> None:
    array = LAYOUTS[layout]()
    copy = backend.asarray(array)
    assert copy.shape == array.shape
    assert copy.dtype == array.dtype
    if array.size:
        assert copy.strides == array.strides
    np.testing.assert_array_equal(backend.asnumpy(copy), array)


def test_a_copy_is_independent(backend: Any) -> None:
    array = np.zeros(8)
    backend.asarray(array)[...] = 1
    assert not array.any()


def test_views_of_one_buffer_overlap_in_the_same_way(backend: Any) -> None:
    base = np.arange(10.0)
    left, right = backend.asarrays(base[:-1], base[1:])
    left[...] = backend.xp.arange(9.0) + 100
    np.testing.assert_array_equal(backend.asnumpy(right), [*range(101, 109), 9])
