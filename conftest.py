"""What holds for every test and doctest: a compile cache of its own.

Set here, before any module of the package reads its settings, so that no test touches, or profits
from, the cache of the user who runs it.
"""

import os
import shutil
import tempfile

import pytest

_cache_directory = tempfile.mkdtemp(prefix="kerneltk-test-cache-")
os.environ["KERNELTK_CACHE_DIR"] = _cache_directory


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(_cache_directory, ignore_errors=True)
