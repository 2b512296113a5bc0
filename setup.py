"""Builds the extension module that launches kernels; all else is in pyproject.toml."""

from __future__ import annotations

import runpy
from pathlib import Path

from setuptools import Extension, setup

TOP = Path(__file__).resolve().parent
# Not imported: the package needs NumPy, which is not there when it is built.
SOURCES = runpy.run_path(str(TOP / "kerneltk" / "launch" / "launcher_sources.py"))

source, *headers = (str(path.relative_to(TOP)) for path in SOURCES["paths"]())
setup(
    ext_modules=[
        Extension(
            "kerneltk.launch._launcher",
            sources=[source],
            depends=headers,
            # The package takes the module for what it is only where this is said of its sources.
            define_macros=[("SOURCES", f'"{SOURCES["digest"]()}"')],
            extra_compile_args=["-O2", "-g0", "-fno-strict-aliasing"],
            # Where there is no C compiler, or no headers of Python, it is left out; the host's
            # toolchain compiles it then, or launchers are functions in Python.
            optional=True,
        )
    ]
)
