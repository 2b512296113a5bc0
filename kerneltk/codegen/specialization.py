"""What both kinds of specializations share, and the launch geometry of one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from kerneltk.codegen.argument_block import ArgumentBlock, Field
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.core.arrays import ArraySpec, is_c_contiguous
from kerneltk.core.artifacts import Capabilities
from kerneltk.core.dtypes import bool_bytes, describe
from kerneltk.core.lexer import blanked, lex, token_spans, with_edits
from kerneltk.core.records import cached_property, record
from kerneltk.schedule.elementwise import Access
from kerneltk.signature.parameters import Parameter
from kerneltk.signature.resolve import Binding, Resolved

# Without loops in its body, a launch over so many elements takes some milliseconds at most. To be
# interrupted costs others a few system calls.
_SHORT_LAUNCH = 1 << 16


_SMALL = ("float16", "bfloat16")


@record
class RawView:
    """What the source depends on of an array that the body indexes itself."""

    ndim: int
    c_contiguous: bool
    wide_index: bool

    @property
    def template_arguments(self) -> str:
        """Those of ``array_view`` behind the C type."""
        flag = "true" if self.c_contiguous else "false"
        return f"{self.ndim}, {flag}, {'long long' if self.wide_index else 'int'}"

    @classmethod
    def of(cls, array: ArraySpec) -> RawView:
        """The view of an array."""
        itemsize = array.dtype.itemsize
        return cls(
            array.ndim,
            is_c_contiguous(array.shape, array.strides, itemsize),
            array.size * max(itemsize, 1) > 2**31 - 1
            or any(
                abs(step) * extent > 2**31 - 1
                for step, extent in zip(array.strides, array.shape, strict=True)
            ),
        )


class Scalar(NamedTuple):
    """What templates are given of a number, or of an array that the body indexes itself."""

    name: str
    ctype: str
    is_const: bool


class View(NamedTuple):
    """What templates are given of an array by its ``_raw_`` name."""

    name: str
    template_arguments: str
    ndim: int
    is_const: bool


class Array(NamedTuple):
    """What templates are given of an array whose elements the loop visits."""

    name: str
    ctype: str
    is_const: bool
    kind: str
    chunk: int
    typed: bool
    unit: int
    storage: str
    is_bool: bool


@record(slots=False)
class Specialization(ABC):
    """Everything that the source of one translation unit depends on.

    Parameters
    ----------
    definition : KernelDefinition
    backend : Capabilities
    binding : Binding
    is_array : tuple of bool
        One a parameter: whether its argument is an array.
    raw : tuple of RawView or None
        One a parameter.
    block : int
        Threads of a block; 1 on the host.

    Attributes
    ----------
    template : str
        The stem of the template's name.
    """

    definition: KernelDefinition
    backend: Capabilities
    binding: Binding
    is_array: tuple[bool, ...]
    raw: tuple[RawView | None, ...]
    block: int

    template: ClassVar[str]

    @property
    @abstractmethod
    def arguments(self) -> ArgumentBlock:
        """The argument block of the entry point."""

    @property
    @abstractmethod
    def strategy(self) -> str:
        """How the loop is divided, in words."""

    @property
    def fast_compile(self) -> bool:
        """Whether the compiler may leave out what costs it most time: the source is plain."""
        return False

    @abstractmethod
    def headers(self) -> set[str]:
        """The package's headers that the kind of loop needs."""

    @abstractmethod
    def context(self) -> dict[str, Any]:
        """What the templates of this kind use beyond what all templates do."""

    @cached_property
    def loop_arrays(self) -> tuple[Parameter, ...]:
        """The parameters whose elements the loop visits, in order."""
        return tuple(
            parameter
            for parameter, array in zip(
                self.definition.signature.parameters, self.is_array, strict=True
            )
            if array and not parameter.raw
        )

    def dynamic_fields(self) -> list[Field]:
        """What changes from call to call, in the order in which launchers pack it: raw views, the
        other arrays' addresses, numbers.
        """
        parameters = self.definition.signature.parameters
        fields = [
            Field(
                f"kerneltk::array_view<{parameter.c_type()}, {view.template_arguments}> "
                f"{parameter.name}",
                "Pq" + "q" * (2 * view.ndim),
            )
            for parameter, view in zip(parameters, self.raw, strict=True)
            if view is not None
        ]
        fields += [Field(f"{p.c_type()}* _kt_p_{p.name}", "P") for p in self.loop_arrays]
        for parameter, array, dtype in zip(
            parameters, self.is_array, self.binding.dtypes, strict=True
        ):
            if not array:
                declaration = f"{parameter.c_type()} {parameter.name}"
                alignment = 16 if dtype.itemsize > 8 else 8
                fields.append(Field(declaration, describe(dtype).format, alignment))
        return fields

    def widened(self, source: str, names: Mapping[str, object], *, is_value: bool = False) -> str:
        """A source whose conditional expressions take 16-bit floats beside other numbers.

        `names` are those of variables beside the parameters, with what tells their types.
        """
        definition = self.definition
        has_small = any(describe(dtype).ctype in _SMALL for dtype in self.binding.dtypes)
        if not has_small or definition.known_facts is not None or "?" not in source:
            return source
        if lex(source).has_directives:
            return source
        parameters = definition.signature.parameters
        types = {p.name: d for p, d in zip(parameters, self.binding.dtypes, strict=True)}
        return with_widened_operands(source, {**types, **names}, is_value=is_value)

    def view_fields(self, views: Sequence[tuple[str, RawView]]) -> list[Field]:
        """The sizes, shapes and strides of arrays that the body sees by their ``_raw_`` names."""
        return [
            Field(f"long long _kt_v_{name}[{1 + 2 * view.ndim}]", "q" * (1 + 2 * view.ndim))
            for name, view in views
        ]

    def seen(self, views: Sequence[tuple[str, RawView]]) -> list[View]:
        """What templates are given of such arrays."""
        by_name = {parameter.name: parameter for parameter in self.definition.signature.parameters}
        return [
            View(
                name,
                f"{by_name[name].c_type()}, {view.template_arguments}",
                view.ndim,
                by_name[name].is_const,
            )
            for name, view in views
        ]

    def arrays(self, accesses: Sequence[Access]) -> list[Array]:
        """What templates are given of the arrays that the loop visits."""
        dtypes = {
            parameter.name: dtype
            for parameter, dtype in zip(
                self.definition.signature.parameters, self.binding.dtypes, strict=True
            )
        }
        found = []
        for parameter, access in zip(self.loop_arrays, accesses, strict=False):
            dtype = dtypes[parameter.name]
            size = dtype.itemsize
            found.append(
                Array(
                    parameter.name,
                    parameter.c_type(),
                    parameter.is_const,
                    access.kind,
                    access.chunk,
                    access.chunk >= size or size % access.chunk != 0,
                    size,
                    f"kerneltk::chunk<{size}>::type",
                    bool(bool_bytes(dtype)),
                )
            )
        return found

    def names(self, *, scalars: bool) -> list[Scalar]:
        """The scalars, or the raw arrays."""
        return [
            Scalar(parameter.name, parameter.c_type(), parameter.is_const)
            for parameter, is_array in zip(
                self.definition.signature.parameters, self.is_array, strict=True
            )
            if (not is_array if scalars else is_array and parameter.raw)
        ]


@record
class LaunchGeometry:
    """A specialization and the numbers that go with one set of shapes.

    Parameters
    ----------
    specialization : Specialization
    constants : bytes
        The constant part of the argument block.
    raw_geometry : tuple of tuple of int
        For each raw argument its size, shape and strides.
    grid : int
        Blocks on a GPU; work items on the host.
    chunk_size : int
        Work items that one host thread takes at a time; on a GPU, blocks along the grid's second
        dimension.
    scratch : int
        Bytes that the launch needs for itself.
    may_last : bool
        Whether a launch on the host may take long, and so has to be one that can be interrupted.
    may_trap : bool
        Whether a CPU may raise a signal in it; true of GPUs.
    """

    specialization: Specialization
    constants: bytes
    raw_geometry: tuple[tuple[int, ...], ...]
    grid: int
    chunk_size: int
    scratch: int
    may_last: bool
    may_trap: bool = True

    @classmethod
    def of(
        cls,
        specialization: Specialization,
        resolved: Resolved,
        constants: bytes,
        elements: int,
        launch: tuple[int, int],
        scratch: int = 0,
    ) -> LaunchGeometry:
        """The geometry of a launch that visits so many elements, by its grid and chunk size."""
        lasting = elements > _SHORT_LAUNCH or specialization.definition.facts.loops
        return cls(
            specialization,
            constants,
            tuple(
                (array.size, *array.shape, *array.strides)
                for array, view in zip(resolved.specs, specialization.raw, strict=True)
                if array is not None and view is not None
            ),
            *launch,
            scratch,
            specialization.backend.is_interruptible and lasting,
            not specialization.backend.is_interruptible or specialization.definition.facts.traps,
        )


def common_parts(
    definition: KernelDefinition, backend: Capabilities, resolved: Resolved
) -> tuple[Capabilities, Binding, tuple[bool, ...], tuple[RawView | None, ...]]:
    """What every specialization has behind its definition: see `Specialization`."""
    raw = (
        RawView.of(array) if array is not None and parameter.raw else None
        for parameter, array in zip(definition.signature.parameters, resolved.specs, strict=True)
    )
    is_array = tuple(array is not None for array in resolved.specs)
    return backend, resolved.binding, is_array, tuple(raw)


def ended(source: str) -> str:
    """A source that does not continue on the line behind it."""
    return source + "\n" if source.endswith("\\") else source


# -- conditional expressions of 16-bit floats ------------------------------------------------------
#
# C++ finds ``c ? a : b`` ambiguous for a float16 and a float, as either converts to the other. In
# sources with 16-bit floats such an operand is rewritten as its value as a float, to which
# arithmetic takes it too.


_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def with_widened_operands(
    source: str, types: Mapping[str, object], *, is_value: bool = False
) -> str:
    """Return a C++ source in which the operands of conditional expressions are widened.

    Parameters
    ----------
    source : str
        Without preprocessor directives.
    types : mapping of str
        What tells the types of names: of operands that are names of one type, nothing is widened.
    is_value : bool
        Whether the source is an expression whose value is used, and not statements.

    Examples
    --------
    >>> with_widened_operands("y = x > w ? x : 2 * w", {})
    'y = x > w ? kerneltk::widened((x)) : kerneltk::widened((2 * w))'
    """
    if "?" not in source:
        return source
    tokens = token_spans(blanked(source))
    added: list[tuple[int, int, str]] = []
    for k, (token, _, _) in enumerate(tokens):
        if token != "?" or not _is_used(tokens, k, is_value):
            continue
        colon = _end(tokens, k + 1, (":",))
        end = _end(tokens, colon + 1, (",", ";", ":"))
        operands = [tokens[k + 1 : colon], tokens[colon + 1 : end]]
        if not all(operands):
            continue  # GNU's form without the second operand
        names = [part[0][0] if len(part) == 1 else "" for part in operands]
        if names[0] in types and types[names[0]] == types.get(names[1]):
            continue
        for part in operands:
            begin, behind = part[0][1], part[-1][2]
            added += [(begin, begin, "kerneltk::widened(("), (behind, behind, "))")]
    return with_edits(source, sorted(added, key=lambda one: one[0]))


def _end(tokens: Sequence[tuple[str, int, int]], begin: int, stops: Sequence[str]) -> int:
    """Return where an operand that begins at a token ends: at one of `stops`, outside of brackets
    and of other conditional expressions, or where a bracket around it closes.
    """
    depth = inner = 0
    for k in range(begin, len(tokens)):
        token = tokens[k][0]
        if depth == 0 and token == ":" and inner:
            inner -= 1
        elif depth == 0 and (token in stops or token in _BRACKETS.values()):
            return k
        elif depth == 0 and token == "?":
            inner += 1
        depth += (token in _BRACKETS) - (token in _BRACKETS.values())
    return len(tokens)


def _is_used(tokens: Sequence[tuple[str, int, int]], position: int, is_value: bool) -> bool:
    """Return whether the value of a conditional expression may be used. It is not where that is a
    statement, whose operands may be of type void.
    """
    depth = 0
    for k in range(position - 1, -1, -1):
        token = tokens[k][0]
        if depth == 0 and (token == ";" or (token == "{" and _opens_block(tokens, k))):
            return False
        if depth == 0 and token == "{":
            return True
        if depth == 0 and (token in ("(", "[", "return") or _assigns(tokens, k)):
            return True
        depth += (token in (")", "]", "}")) - (token in ("(", "[", "{"))
    return is_value


def _opens_block(tokens: Sequence[tuple[str, int, int]], position: int) -> bool:
    """Return whether a brace opens a block of statements, and not a list of values: ``= {``,
    ``return {``, ``T{``, ``f({``; ``({`` may be either, as GNU's expressions begin so.
    """
    if position == 0:
        return True
    before = tokens[position - 1][0]
    if before == "(":
        end = _end(tokens, position + 1, (";",))
        return end < len(tokens) and tokens[end][0] == ";"
    if before[:1].isidentifier() and before not in ("else", "do", "try", "mutable", "noexcept"):
        return position > 1 and tokens[position - 2][0] == "->"  # what a lambda returns
    return before not in ("=", ",", "{", ">")


def _assigns(tokens: Sequence[tuple[str, int, int]], position: int) -> bool:
    """Return whether a token is an assignment's ``=``, and not part of a comparison."""
    around = {tokens[k][0] for k in (position - 1, position + 1) if 0 <= k < len(tokens)}
    return tokens[position][0] == "=" and around.isdisjoint(("=", "!", "<", ">"))
