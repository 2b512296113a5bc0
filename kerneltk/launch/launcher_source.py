"""Pieces of Python text that launchers of every kind are assembled from, and how they are compiled.

A launcher is written for one combination of arguments, with one variable an argument and no loops.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from types import CodeType

__all__ = ["compiled", "function_text", "known_shape", "launch_lines", "take_buffer"]


def function_text(head: str, lines: Iterable[str]) -> str:
    """Return the text of a function from its parameters on and the lines of its body; an entry of
    `lines` may hold several of them.
    """
    body = "\n".join("    " + line for entry in lines for line in entry.split("\n"))
    return f"def {head}:\n{body}\n"


def take_buffer(new_buffer: str = "new_buffer") -> list[str]:
    """Return the lines that take an argument buffer that no launch uses, or make one.

    Taking one is a single step of the interpreter, so that threads never share a buffer.
    """
    return [
        "try:",
        "    buffer = buffers.pop()",
        "except IndexError:",
        f"    buffer = {new_buffer}()",
    ]


def known_shape() -> list[str]:
    """Return the lines that read a launch's checked shape from a `GridShapes`, and the head of what
    follows where it was never checked.
    """
    shape = "gx, gy, gz, bx, by, bz, size, empty"
    return [
        f"last_grid, last_block, last_shared, {shape} = shapes.last",
        "if grid is not last_grid or block is not last_block or shared is not last_shared:",
        "    try:",
        f"        {shape} = shapes.known[dumps((grid, block, shared), 2)]",
        "    except (KeyError, ValueError):",
    ]


def launch_lines(arguments: str) -> list[str]:
    """Return the lines that launch and give the buffer back; one that failed is not used again."""
    return [
        "try:",
        f"    failure = launch({arguments})",
        "except LaunchErrors as error:",
        "    failure = error",
        "if failure:",
        f"    launch_failed(failure, launch, ({arguments}))",
        "buffers.append(buffer)",
    ]


@lru_cache(maxsize=512)
def compiled(text: str) -> CodeType:
    """Return a launcher's text in compiled form."""
    return compile(text, "<launcher>", "exec")
