"""A module that was built from other sources than there are is not taken for theirs."""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kerneltk.launch
from kerneltk.launch import called, compiled, launcher_sources

TOP = Path(__file__).parents[3]


def test_the_digest_is_that_of_all_sources(tmp_path: Path) -> None:
    sources = launcher_sources.paths()
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    for path in sources[1:]:
        assert f'#include "{path.name}"' in text
    for path in (*sources, Path(launcher_sources.__file__)):
        shutil.copy(path, tmp_path)
    # As the build runs it, by its path.
    digest = runpy.run_path(str(tmp_path / "launcher_sources.py"))["digest"]
    found = {digest()}
    assert found == {launcher_sources.digest()}
    for path in sources:
        with (tmp_path / path.name).open("a", encoding="utf-8") as file:
            file.write("\n")
        found.add(digest())
    assert len(found) == 1 + len(sources)
    (tmp_path / sources[0].name).unlink()
    with pytest.raises(OSError, match=sources[0].name):
        digest()


@pytest.mark.parametrize("says", ["right", "stale", "nothing", "no sources"])
def test_a_stale_module_is_not_used(monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    module: Any = ModuleType("kerneltk.launch._launcher")
    if says != "nothing":
        module.SOURCES = "0" * 64 if says == "stale" else launcher_sources.digest()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(kerneltk.launch, "_launcher", module, raising=False)
    if says == "no sources":
        monkeypatch.setattr(launcher_sources, "paths", lambda: [Path("not there")])
    taken = called._built()
    assert taken is (module if says == "right" else None)
    # Launchers are of the module in the cache then.
    monkeypatch.setattr(called, "_module", taken)
    monkeypatch.setattr(compiled, "_compiled_here", lambda only_made: "from the cache")
    found = compiled._built() or compiled._compiled_here(True)
    assert found is module if says == "right" else found == "from the cache"


def test_the_build_says_what_it_is_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no compiler it is left out: it is optional."""
    given: dict[str, Any] = {}
    tools: Any = ModuleType("setuptools")
    tools.Extension = lambda name, **options: given.update(name=name, **options)
    tools.setup = lambda ext_modules: given.update(count=len(ext_modules))
    monkeypatch.setitem(sys.modules, "setuptools", tools)
    runpy.run_path(str(TOP / "setup.py"))
    assert (given["name"], given["count"]) == ("kerneltk.launch._launcher", 1)
    assert given["define_macros"] == [("SOURCES", f'"{launcher_sources.digest()}"')]
    assert given["optional"] is True
    files = [TOP / path for path in (*given["sources"], *given["depends"])]
    assert files == launcher_sources.paths()
