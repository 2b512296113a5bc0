"""The scripts in examples/ and the snippets of README.md and docs/ run and check themselves."""

import linecache
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from kerneltk.cache import derived
from kerneltk.cache.store import Cache

from .sampling import half

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def _snippets() -> Iterator[tuple[str, str]]:
    """Yield (name, text); the text begins at its own line of its page, so that errors show it."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for found in SNIPPET.finditer(text):
            line = text.count("\n", 0, found.start(1))
            yield f"{page.relative_to(ROOT)}:{line + 1}", "\n" * line + found[1]


SNIPPETS = dict(_snippets())
# Libraries that ours works with and does not need: snippets with them are run where they are.
OPTIONAL = ("torch", "jax")
# What pages say of object code is true of a unit that is compiled alone, not of joint ones.
OWN_CACHE = Cache(None)


@pytest.mark.parametrize("library", ["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("script", half(EXAMPLES), ids=lambda script: script.stem)
def test_example(script: Path, library: str) -> None:
    code = (
        "import runpy, sys; sys.path.insert(0, sys.argv[1]); sys.argv = sys.argv[2:]; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    text = script.read_text(encoding="utf-8")
    others = re.search(r"^ +import (torch|jax|numba)$", text, re.M)
    warned = "ignore" if others else "error"  # warnings of their own modules are theirs
    done = subprocess.run(
        [sys.executable, "-W", warned, "-c", code, str(ROOT), str(script), library],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},  # what XLA says of GPUs that it finds
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith(script.stem)


def test_example_beside_a_numba_that_refuses_numpy(tmp_path: Path) -> None:
    reason = "Numba needs NumPy 1.0 or less."
    (tmp_path / "numba.py").write_text(f"raise ImportError({reason!r})", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / "numba_interop.py")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )
    assert done.returncode == 0, done.stderr
    assert reason in done.stdout


def test_pages_have_snippets() -> None:
    pages = [name.rpartition(":")[0] for name in SNIPPETS]
    assert pages.count("README.md") >= 3
    assert pages.count("docs/elementwise.md") >= 10
    assert pages.count("docs/reduction.md") >= 10
    assert pages.count("docs/jit.md") >= 10


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SNIPPETS)
def test_snippet(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, page = SNIPPETS[name], name.rpartition(":")[0]
    for library in OPTIONAL:
        if re.search(rf"^import {library}$", text, re.M):
            warnings.simplefilter("ignore")  # what its own modules do
            pytest.importorskip(library)
    # Functions that are compiled look for their text, which of the whole page is no Python.
    lines = text.splitlines(keepends=True)
    monkeypatch.setattr(derived, "get_cache", lambda: OWN_CACHE)
    monkeypatch.setitem(linecache.cache, page, (len(text), None, lines, page))
    exec(compile(text, page, "exec"), {})
