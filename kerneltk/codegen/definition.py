"""What the user wrote, and what follows from it before any types are known."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import field, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from kerneltk.codegen.body_facts import BodyFacts, lex_facts
from kerneltk.core.arrays import ArraySpec
from kerneltk.core.artifacts import Capabilities
from kerneltk.core.identifiers import identifier_problem, is_library_name, stem_of
from kerneltk.core.lexer import blanked, comma_subscript
from kerneltk.core.records import cached_property, pattern, record
from kerneltk.errors import ArgumentValueError, SignatureError, Snippet, render_message
from kerneltk.signature.parameters import Parameter, Signature
from kerneltk.signature.resolve import Resolved

if TYPE_CHECKING:
    from kerneltk.codegen.specialization import LaunchGeometry


@record(slots=False)
class KernelDefinition(ABC):
    """A kernel from a signature and C++ expressions, before any types. The base of its two kinds.

    Parameters
    ----------
    signature : Signature
    name : str
    preamble : str
        C++ source.
    options : tuple of str
        Compile options.
    known_facts : BodyFacts, optional
        What the body observes, where that is known; lexed from the expressions if it is None.
    user_sources : tuple of (str, str)
        What the expressions were generated from, by the names that ``#line`` gives them.

    Attributes
    ----------
    has_scratch : bool
        Whether launches may need memory of their own.
    expression_paths : tuple of (str, str)
        The attributes with the sources inside of the kernel's function, by messages' names.
    assigning, implicit, addressable
        See `lex_facts`.
    override_method : str
        Name of the method by which an argument takes the whole call over; empty if none does.
    """

    signature: Signature
    name: str
    preamble: str
    options: tuple[str, ...]

    has_scratch: ClassVar[bool]
    expression_paths: ClassVar[tuple[tuple[str, str], ...]]
    assigning: ClassVar[int]
    implicit: ClassVar[tuple[str, ...]]
    addressable: ClassVar[bool]
    override_method: ClassVar[str] = ""

    known_facts: BodyFacts | None = field(default=None, kw_only=True)
    user_sources: tuple[tuple[str, str], ...] = field(default=(), repr=False, kw_only=True)

    @cached_property
    def has_atomics(self) -> bool:
        """Whether the source has atomic operations."""
        return any(name.startswith("atomic") for name in self.facts.names)

    @cached_property
    def expressions(self) -> tuple[tuple[str, str], ...]:
        """The sources inside of the kernel's function, by the names that messages give them."""
        return tuple((name, attrgetter(path)(self)) for name, path in self.expression_paths)

    @cached_property
    def facts(self) -> BodyFacts:
        """What the body observes: as it was given, or lexed."""
        if self.known_facts is not None:
            return self.known_facts
        return lex_facts(
            self.signature,
            tuple(source for _, source in self.expressions),
            self.preamble,
            self.options,
            assigning=self.assigning,
            implicit=self.implicit,
            addressable=self.addressable,
        )

    @property
    @abstractmethod
    def in_place(self) -> bool:
        """Whether an output may be an input: every element is read before it is written."""

    @property
    @abstractmethod
    def returns(self) -> Literal["none", "one", "tuple"]:
        """What a call returns: nothing, its output, or a tuple of outputs."""

    @property
    @abstractmethod
    def is_batchable(self) -> bool:
        """Whether a call with stacked arguments gives the stacked results: the body sees elements,
        and neither where they stand nor how many there are. False where that is not certain.
        """

    @abstractmethod
    def resolve(
        self, specs: Sequence[ArraySpec | None], values: Sequence[Any], options: Any
    ) -> Resolved:
        """Bind types and shapes.

        Parameters
        ----------
        specs : sequence of ArraySpec or None
            One an argument that is given, inputs first; None for scalars.
        values : sequence
            The inputs.
        options : tuple or None
            The call's options that its plan depends on; None where none is given.
        """

    @abstractmethod
    def schedule(
        self,
        resolved: Resolved,
        backend: Capabilities,
        multiprocessors: int | None,
        options: Any,
    ) -> LaunchGeometry | None:
        """Choose the loops of a launch; None where nothing is to be computed.

        Parameters
        ----------
        resolved : Resolved
        backend : Capabilities
        multiprocessors : int or None
            Of the device; None where there is none to ask.
        options : tuple or None
            As for `resolve`.
        """

    @abstractmethod
    def by_reference(self, resolved: Resolved) -> tuple[bool, ...]:
        """Return, one a parameter, whether its elements must be aligned: the body reads the array
        itself.
        """

    def views(self, parameter: Parameter) -> bool:
        """Return whether the body mentions an array itself by its name with ``_raw_``."""
        return not parameter.raw and f"_raw_{parameter.name}" in self.facts.observed

    def entry(self, backend: Capabilities) -> str:
        """Return the entry point's name.

        On a GPU, where profilers show it, it is the kernel's, unless the source has that name for
        other things. On the host it is one that means nothing to linkers, loaders and libraries.
        """
        if backend.emulates_cuda:
            return f"_kt_entry_{self.name}"
        taken = {parameter.type_variable for parameter in self.signature.parameters}
        taken.update(self.facts.preamble_names)
        name = self.name
        while is_library_name(name) or name in taken:
            name = f"{stem_of(name)}_kernel"
        return name

    @cached_property
    def description(self) -> str:
        """All of it that decides what its launches are, as a string. What only messages show does
        not count.
        """
        parts: list[Any] = [
            type(self).__qualname__,
            self.signature.in_text,
            self.signature.out_text,
        ]
        for name in self._decisive():
            value = getattr(self, name)
            parts.append(value.description if isinstance(value, BodyFacts) else value)
        return repr(parts)

    @classmethod
    @cache
    def _decisive(cls) -> tuple[str, ...]:
        """The fields whose values decide what launches are."""
        apart = "signature", "user_sources"  # the former by its strings
        return tuple(own.name for own in fields(cls) if own.name not in apart)

    @cached_property
    def _unnamed(self) -> tuple[int, ...]:
        """The parameters that nothing in the user's source names, as far as that is seen: not by
        the facts, which a call whose code is cached does not need.
        """
        sources = (*(source for _, source in self.expressions), self.preamble, *self.options)
        # Macros and lines that are joined make names that are not seen here.
        if self.known_facts is not None or any(
            re.search(r"[#\\]|include", source) for source in sources
        ):
            return ()
        names = frozenset(re.findall(r"\w+", " ".join(sources)))
        return tuple(
            index
            for index, parameter in enumerate(self.signature.parameters)
            if names.isdisjoint((parameter.name, f"_raw_{parameter.name}"))
        )

    def check_written(self, given: int) -> None:
        """Raise ArgumentValueError where an output of the user's source would be allocated, behind
        the first `given` arguments, and nothing in the source names it.
        """
        for index in self._unnamed if given < len(self.signature.parameters) else ():
            if index >= given:
                name = self.signature.parameters[index].name
                sentence = f"Nothing in kernel '{self.name}' writes output '{name}'."
                hint = "assign to it, or pass an array for it."
                raise ArgumentValueError(self.signature.message(sentence, index, hint=hint))

    def check_coordinates(self, name: str, ndim: int, merges: bool) -> None:
        """Raise ArgumentValueError where an expression reads a coordinate or an extent that an
        index space of `ndim` dimensions has not. Those that ask for ``ndim`` decide it themselves.
        """
        for origin, source in self.expressions if self.known_facts is None else ():
            plain = blanked(source)
            for found in _COORDINATE.finditer(plain) if "ndim" not in plain else ():
                if found[1] == name and int(found[2]) >= ndim:
                    sentence = (
                        f"'{name}' of kernel '{self.name}' has {ndim or 'no'} "
                        f"dimension{'s' * (ndim != 1)} for these arrays."
                    )
                    hint = "'reduce_dims=False' keeps dimensions that could be merged."
                    snippet = Snippet(origin, source, *found.span())
                    message = render_message(sentence, snippet, hint=hint * merges)
                    raise ArgumentValueError(message)

    @cached_property
    def origins(self) -> tuple[tuple[str, str], ...]:
        """The user's sources, and those that declare names, as ``#line`` names them."""
        sources = (
            *self.user_sources,
            *self.expressions[:1],
            ("preamble", self.preamble),
            *self.expressions[1:],
            ("in_params", self.signature.in_text),
            ("out_params", self.signature.out_text),
        )
        return tuple((origin, source) for origin, source in sources if source)


_COORDINATE = pattern(r"\b(_\w*ind)\s*\.\s*(?:get|shape)\s*\(\s*\)\s*\[\s*(\d+)\s*\]")


def check_name(name: str) -> None:
    """Raise SignatureError unless `name` can be an entry point's."""
    problem = identifier_problem(name)
    if problem:
        raise SignatureError(f'Invalid kernel name: "{name}" {problem}.')


def check_subscripts(sources: Iterable[tuple[str, str]]) -> None:
    """Raise SignatureError where a C++ source, of (name, source), has a comma operator in a
    subscript: ``x[i, 1]`` is ``x[1]``.
    """
    for origin, source in sources:
        found = comma_subscript(source)
        if found is not None:
            begin, end = found
            raise SignatureError(
                render_message(
                    "A comma in a subscript is C++'s comma operator, which drops what stands "
                    "before it.",
                    Snippet(origin, source, begin, end + 1),
                    hint=f"index a raw array by '[{{{source[begin + 1 : end].strip()}}}]'.",
                )
            )
