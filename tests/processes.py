"""Python in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def python(
    *arguments: str, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Return what Python did with these arguments, and with these variables of its environment."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
