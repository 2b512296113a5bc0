"""What holds for every test and doctest: a compile cache of the run's own.

Set here, before any module of the package reads its settings, so that no test touches, or profits
from, the cache of the user who runs it. The processes of pytest-xdist share one: what one of them
has compiled, headers and the host backend's runtime too, the others load.

Where Python is to write no bytecode, it goes to the run's directory: each of the hundreds of
processes that tests start would compile the package, for half a second.
"""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Generator

import pytest

_is_worker = "PYTEST_XDIST_WORKER" in os.environ
if not _is_worker:
    _directory = tempfile.mkdtemp(prefix="kerneltk-tests-")
    # Exit handlers that are registered later, which may write to the cache, run before this one.
    atexit.register(shutil.rmtree, _directory, ignore_errors=True)
    os.environ["KERNELTK_CACHE_DIR"] = os.path.join(_directory, "cache")
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(_directory, "bytecode")
        sys.pycache_prefix, sys.dont_write_bytecode = os.environ["PYTHONPYCACHEPREFIX"], False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, and leave what was collected out of its passes.

    A pass over thousands of tests takes half a second and finds nothing; some tests make hundreds.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
