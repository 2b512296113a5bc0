"""What the user wrote, and what can be told from it before any types are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kerneltk.core.capabilities import Capabilities
from kerneltk.core.identifiers import identifier_problem, is_library_name, stem_of
from kerneltk.core.lexer import (
    has_directives,
    has_loops,
    identifiers,
    included_headers,
    includes_by_option,
    is_library_header,
)
from kerneltk.errors import ArgumentTypeError, SignatureError
from kerneltk.signature.parameters import Signature

__all__ = ["KernelDefinition", "check_name", "check_options", "check_text"]

# Options by which the preprocessor changes what a text means.
_EXPANDING = ("D", "define-macro", "include", "pre-include")


@dataclass(frozen=True)
class KernelDefinition(ABC):
    """A kernel from a signature and C++ texts, before any types. The base of its two kinds.

    Parameters
    ----------
    signature : Signature
    name : str
    preamble : str
        C++ text.
    options : tuple of str
        Compile options.
    """

    signature: Signature
    name: str
    preamble: str
    options: tuple[str, ...]

    @property
    @abstractmethod
    def texts(self) -> tuple[tuple[str, str], ...]:
        """The texts inside of the kernel's function, by the names that messages give them."""

    @cached_property
    def _inner(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.texts)

    @cached_property
    def opaque(self) -> bool:
        """Whether the preprocessor may turn the texts into what they do not show."""
        return has_directives(*self._inner, self.preamble) or any(
            option.lstrip("-").startswith(_EXPANDING) for option in self.options
        )

    @cached_property
    def includes_others(self) -> bool:
        """Whether headers are included that are no library's: what they do is not seen here."""
        headers = included_headers(*self._inner, self.preamble)
        return not all(map(is_library_header, headers)) or includes_by_option(self.options)

    @cached_property
    def may_loop(self) -> bool:
        """Whether one element may take any time: the texts have loops, or what is not seen here."""
        hidden = self.opaque or self.includes_others or bool(self.preamble.strip())
        return hidden or has_loops(self.inner_names)

    @cached_property
    def names(self) -> frozenset[str]:
        """The identifiers that the user's texts and options mention."""
        return identifiers(*self._inner, self.preamble, *self.options)

    @cached_property
    def inner_names(self) -> frozenset[str]:
        """The names of the function's own that the texts mention; a macro may mention any."""
        if self.opaque:
            return self.names
        return identifiers(*self._inner)

    def entry(self, backend: Capabilities) -> str:
        """Return the entry point's name.

        On a GPU, where profilers show it, it is the kernel's, unless the text has that name for
        other things. On the host it is one that means nothing to linkers, loaders and libraries.
        """
        if backend.emulates_cuda:
            return f"_kt_entry_{self.name}"
        taken = {parameter.type_variable for parameter in self.signature.parameters}
        taken.update(self.names & identifiers(self.preamble))
        name = self.name
        while is_library_name(name) or name in taken:
            name = f"{stem_of(name)}_kernel"
        return name

    @property
    def origins(self) -> tuple[tuple[str, str], ...]:
        """The user's texts by the names that ``#line`` gives them, and those that declare names."""
        texts = (
            *self.texts[:1],
            ("preamble", self.preamble),
            *self.texts[1:],
            ("in_params", self.signature.in_text),
            ("out_params", self.signature.out_text),
        )
        return tuple((origin, text) for origin, text in texts if text)


def check_text(name: str, text: object) -> None:
    """Raise unless `text` can be a part of a translation unit.

    Raises
    ------
    ArgumentTypeError
        It is not a string.
    SignatureError
        It holds what no text can hold.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"'{name}' must be a string, not '{type(text).__name__}'.")
    if "\0" in text:
        raise SignatureError(f"'{name}' holds a null character, which would end the text there.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SignatureError(f"'{name}' holds a lone surrogate, which is no character.") from None


def check_name(name: str) -> None:
    """Raise SignatureError unless `name` can be an entry point's."""
    problem = identifier_problem(name)
    if problem:
        raise SignatureError(f'Invalid kernel name: "{name}" {problem}.')


def check_options(options: object) -> tuple[str, ...]:
    """Return compile options as a tuple; raises ArgumentTypeError for what is no sequence."""
    if isinstance(options, str):
        raise ArgumentTypeError("'options' must be a sequence of strings, not one string.")
    if not isinstance(options, Sequence) or not all(isinstance(o, str) for o in options):
        raise ArgumentTypeError("'options' must be a sequence of strings.")
    for option in options:
        check_text("options", option)
    return tuple(options)
