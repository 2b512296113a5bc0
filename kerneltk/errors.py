"""The exceptions that kerneltk raises, and the one renderer of their messages.

Every class derives from :class:`KernelToolkitError` and from the built-in that a NumPy user would
catch for the same mistake. A message is one sentence, then the user's own source with a caret under
what matters, then a hint.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.exceptions import AxisError as _NumpyAxisError

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "AxisError",
    "BackendUnavailableError",
    "CompileError",
    "DivisionError",
    "KernelToolkitError",
    "LaunchError",
    "NoSuchAttributeError",
    "NoSuchKernelError",
    "NotCompiledError",
    "ScalarOverflowError",
    "SignatureError",
    "Snippet",
    "SourceError",
    "SourceNotFoundError",
    "TypingError",
    "UndefinedNameError",
    "UnsupportedError",
    "render_message",
]


class KernelToolkitError(Exception):
    """Base class of every error that kerneltk raises on purpose."""


class SignatureError(KernelToolkitError, ValueError):
    """A parameter string or a kernel's name is not valid."""


class ArgumentTypeError(KernelToolkitError, TypeError):
    """A call's arguments have the wrong number, kind or dtype."""


class ArgumentValueError(KernelToolkitError, ValueError):
    """A call's arguments have shapes or values that the kernel cannot take."""


class SourceNotFoundError(ArgumentValueError, FileNotFoundError):
    """A file that a call names does not exist. Also Python's ``FileNotFoundError``."""


class AxisError(ArgumentValueError, _NumpyAxisError):
    """An axis is not one of the broadcast inputs'. Also NumPy's ``AxisError``."""

    def __init__(self, message: str) -> None:
        _NumpyAxisError.__init__(self, message)

    def __str__(self) -> str:
        return str(self.args[0])


class ScalarOverflowError(KernelToolkitError, OverflowError):
    """A Python integer does not fit the parameter's dtype."""


class NotCompiledError(KernelToolkitError, AttributeError):
    """A kernel's source is asked for before there is one."""


class NoSuchKernelError(ArgumentValueError, AttributeError):
    """A file or a module has no kernel of that name."""


class CompileError(KernelToolkitError, RuntimeError):
    """A compiler refused a translation unit.

    Attributes
    ----------
    source : str
        The whole source that was compiled.
    log : str
        The compiler's own messages, unchanged.
    """

    def __init__(self, message: str, source: str = "", log: str = "") -> None:
        super().__init__(message)
        self.source = source
        self.log = log

    def __str__(self) -> str:
        return str(self.args[0])


class BackendUnavailableError(KernelToolkitError, RuntimeError):
    """A backend lacks something on this machine: a compiler, a driver, a package."""


class LaunchError(KernelToolkitError, RuntimeError):
    """The driver or the host runtime refused a launch, or a graph is not to be launched."""


class SourceError(KernelToolkitError, ValueError):
    """A decorated function's source cannot be had, or is not the function's."""


class UnsupportedError(KernelToolkitError, NotImplementedError):
    """A decorated function uses something of Python that kernels do not have; or a call cannot be
    part of a graph.

    Attributes
    ----------
    has_effects : bool
        Whether the function has changed something before this was seen: it is not executed again.
    """

    has_effects = False


class NoSuchAttributeError(UnsupportedError, AttributeError):
    """A traced array is asked for an attribute that NumPy's arrays do not have."""


class TypingError(KernelToolkitError, TypeError):
    """The types in a decorated function do not fit each other."""


class UndefinedNameError(TypingError, NameError):
    """A decorated function reads a name that nothing defines. Also Python's ``NameError``."""


class DivisionError(LaunchError, ZeroDivisionError):
    """A kernel on the host divided an integer by zero."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A location in a source that the user wrote.

    Parameters
    ----------
    origin : str
        What the source is: ``"in_params"``, ``"operation"``, ``"preamble"``.
    text : str
        The whole source.
    start, end : int
        Offsets (characters); ``end`` is exclusive.
    label : str
        What is said beside the caret.
    """

    origin: str
    text: str
    start: int
    end: int
    label: str = ""

    @classmethod
    def at_line(
        cls, origin: str, text: str, line: int, column: int | None, label: str = ""
    ) -> Snippet:
        """The snippet at a one-based line and column (characters) of `text`.

        With no column, or one past the end of the line, it is the whole line. For a blank line, or
        one behind the source, it is the last line before it that is not.
        """
        lines = text.split("\n")  # what compilers take for a line, and nothing else
        line = min(max(line, 1), len(lines))
        while line > 1 and not lines[line - 1].strip():
            line, column = line - 1, None
        start = sum(len(part) + 1 for part in lines[: line - 1])
        content = lines[line - 1]
        if column is not None and 1 <= column <= len(content):
            begin = column - 1
            end = begin + 1
            while end < len(content) and (content[end].isalnum() or content[end] == "_"):
                if not (content[begin].isalnum() or content[begin] == "_"):
                    break
                end += 1
            return cls(origin, text, start + begin, start + end, label)
        indent = len(content) - len(content.lstrip())
        return cls(origin, text, start + indent, start + max(len(content.rstrip()), indent), label)

    def render(self) -> str:
        """The first line of the location, and a line of carets under it."""
        before = self.text[: self.start]
        number = before.count("\n") + 1
        begin_of_line = before.rfind("\n") + 1
        end_of_line = self.text.find("\n", self.start)
        if end_of_line < 0:
            end_of_line = len(self.text)
        line = self.text[begin_of_line:end_of_line].replace("\t", " ")
        where = self.origin if "\n" not in self.text.strip("\n") else f"{self.origin}:{number}"
        width = max(1, min(self.end, end_of_line) - self.start)
        head = f"  {where}: "
        carets = " " * (len(head) + self.start - begin_of_line) + "^" * width
        return f"{head}{line}\n{carets} {self.label}".rstrip()


def render_message(sentence: str, *snippets: Snippet, hint: str = "") -> str:
    """A message: the sentence, each snippet with its caret, and the hint.

    Examples
    --------
    >>> print(render_message("Unknown dtype 'flaot32'.",
    ...       Snippet("in_params", "flaot32 x", 0, 7), hint="did you mean 'float32'?"))
    Unknown dtype 'flaot32'.
      in_params: flaot32 x
                 ^^^^^^^
      Hint: did you mean 'float32'?
    """
    parts = [sentence, *(snippet.render() for snippet in snippets)]
    if hint:
        parts.append(f"  Hint: {hint}")
    return "\n".join(parts)
