"""What the demo's tests share."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk.demo.terrain import Terrain


@pytest.fixture
def slope_to_the_east() -> Terrain:
    """A plane that climbs 3 for each 4 to the east, on cells of 2 × 5 m."""
    plane = np.tile(np.arange(24, dtype=np.float32) * 1.5, (18, 1))
    return Terrain("plane", plane, 2.0, 5.0)
