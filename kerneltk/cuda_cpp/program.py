"""A user's source in compiled form: its kernels and variables, on each backend and device."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from kerneltk import pipeline
from kerneltk.backends.base import Backend, Module, capabilities_of_target
from kerneltk.cache.fingerprint import Trace
from kerneltk.core.artifacts import TEMPLATE, Capabilities, ObjectCode, TranslationUnit
from kerneltk.core.records import Memo, cached_property, record
from kerneltk.cuda_cpp.nvrtc.host_parts import is_device_function, refused_part
from kerneltk.cuda_cpp.options import may_declare_state
from kerneltk.cuda_cpp.outcomes import Entry, Outcome
from kerneltk.cuda_cpp.requests import GROUPS, REQUESTS, Request, title_of
from kerneltk.cuda_cpp.signature import (
    KernelSignature,
    LoadedKernel,
    RawParameter,
    layout_of,
    signature_of_sizes,
)
from kerneltk.cuda_cpp.source import RawSource, plain_name
from kerneltk.cuda_cpp.syntax.declarations import CompilerErrors, Refusals, sample_arguments
from kerneltk.errors import (
    ArgumentValueError,
    CompileError,
    LaunchError,
    NoSuchKernelError,
    Snippet,
    render_message,
)
from kerneltk.object_code.reflection import (
    ParameterType,
    decode,
    decode_variable,
    is_const_variable,
)

if TYPE_CHECKING:
    from kerneltk.core.diagnostics import Diagnostic
    from kerneltk.cuda_cpp.syntax.declarations import Refused

T = TypeVar("T")

# NVRTC lists the name expressions, each a pragma, in a file of its own.
_NVRTC_NAMES = "__nv_name_map"
_ASSEMBLER = re.compile(r": Error: |<inline asm>")  # what an assembler's messages have
_LIBRARY = re.compile(r"/(thrust|cub)/")
_PART = 16  # kernels that CPU cores compile together of a module that names more than twice as many
_MOST_TRIES = 8  # of a compilation that leaves out more and more names and functions


def _add(requests: dict[str, Request], request: Request) -> None:
    """Add what may be declared in several branches of a conditional."""
    known = requests.get(request.expression)
    if known is not None and known.guard and request.guard:
        request = replace(request, guard=f"({known.guard}) || ({request.guard})")
    elif known is not None:
        request = replace(request, guard="")
    requests[request.expression] = request


# Of g++, clang and NVRTC.
_SHARED_AGAIN = re.compile(
    r"conflicting declaration '[^']*?(\w+) ?\[\]'|redefinition of '(\w+)' with a different type"
    r"|incompatible with previous \"(\w+)\""
)
_DTYPES = {"bool": "bool", "half": "float16", "bfloat16": "uint16", "pointer": "uint64"}


@record
class Variable:
    """A variable of a loaded module."""

    address: int
    size: int  # bytes
    type: ParameterType | None  # None where only the size is known
    # Of an array; empty for a scalar.
    extents: tuple[int, ...]
    is_const: bool = False  # whether its declaration forbids writing

    def as_array(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Return dtype and shape of an array that shows it; bytes where its type has no dtype."""
        kind = self.type
        if kind is None:
            return np.dtype(np.uint8), (self.size,)
        if kind.kind in ("vector", "complex"):
            if kind.base in ("float32", "float64") and kind.kind == "complex":
                return np.dtype(f"complex{16 * np.dtype(kind.base).itemsize}"), self.extents
            return np.dtype(_DTYPES.get(kind.base, kind.base)), (*self.extents, kind.count)
        if kind.kind in ("int", "uint", "float", "enum"):
            letter = {"uint": "u", "float": "f"}.get(kind.kind, "i")
            return np.dtype(f"{letter}{kind.size}"), self.extents
        if kind.kind in _DTYPES:
            return np.dtype(_DTYPES[kind.kind]), self.extents
        return np.dtype(f"V{kind.size}"), self.extents


_HINT = "run this kernel on a GPU, or give CPU cores another way under '#ifdef __KERNELTK_HOST__'."
_LAUNCH_HINT = (
    "name all of the kernel's template's arguments, and let nothing wait for it: it runs when this "
    "kernel has ended. Or launch it from Python, behind this one's launch."
)


def errors_of_log(
    log: str, sources: Mapping[str, str], *, in_macros: bool = True
) -> CompilerErrors:
    """Return the errors of a compiler's log in the user's sources, by their names. Of an error in a
    macro that is where it is used; if that is not known, where it is defined, or `in_macros` says
    to leave it out.
    """
    from kerneltk.core.diagnostics import read_log  # only who has an error needs these

    code = {name: source.split("\n") for name, source in sources.items()}
    places: dict[tuple[str, int, int, str], None] = {}
    found = read_log(log)
    for error in found:
        own = [at for at in error.locations if at.file in code]
        outside = [at for at in own if not _is_in_directive(code[at.file], at.line)]
        for at in outside[:1] or (own[:1] if in_macros else ()):
            lines = code[at.file]
            line = lines[at.line - 1] if at.line <= len(lines) else ""
            # Of a line in which points were put, columns say nothing.
            is_same = not any("volatile" in line for line in lines) and line.isascii()
            column = at.column if is_same else None
            places[at.file, at.line, column or 0, error.message] = None
    return CompilerErrors(tuple(places), not found and _ASSEMBLER.search(log) is not None)


def _is_in_directive(lines: Sequence[str], number: int) -> bool:
    """Whether a line, one-based, is one of a directive of the preprocessor."""
    own = lines[number - 1] if number <= len(lines) else ""
    before = lines[number - 2] if 1 < number <= len(lines) + 1 else ""
    return own.lstrip().startswith("#") or before.endswith("\\")


def _libraries_in(log: str) -> frozenset[str]:
    """Return the libraries for both sides in whose own headers a compiler has found errors."""
    from kerneltk.core.diagnostics import read_log  # only who has an error needs it

    files = [at.file for found in read_log(log) for at in found.locations]
    return frozenset(found[1] for file in files if (found := _LIBRARY.search(file)))


def _refusal_of(name: str, refused: Iterable[Refused]) -> Refused | None:
    """Return the reason why a kernel is refused; None for one that runs."""
    return next((found for found in refused if found.is_kernel and found.name == name), None)


_UNDEFINED = re.compile(r"undefined symbol: (\w+)|Unresolved extern (?:variable|function) '(\w+)'")
_EXTERN = re.compile(r"\bextern\b[^;{}]*;")


def _undefined(sources: Sequence[RawSource], error: str) -> str:
    """Return a message that shows the declaration of a name that a loader or linker lacks; empty
    for other errors.
    """
    from kerneltk.cuda_cpp.syntax.preprocess import blank_noise  # only who has an error needs it

    found = _UNDEFINED.search(error)
    if found is None:
        return ""
    symbol = found[1] or found[2]
    for source in sources:
        code = blank_noise(source.code)
        names = [name for name in re.finditer(r"\w+", code) if _is_name_of(symbol, name[0])]
        if not names:
            continue
        externs = [declared.span() for declared in _EXTERN.finditer(code)]
        declared = (n for n in names if any(a <= n.start() < b for a, b in externs))
        at = next(declared, names[0])
        snippet = Snippet(source.name, source.code, *at.span())
        sentence = f"'{at[0]}' is declared, and has no definition in device code."
        hint = (
            "define it in the same source, or include the file that does. On GPUs object code can "
            "have it: 'link=' of kerneltk.load."
        )
        return render_message(sentence, snippet, hint=hint)
    return ""


def _is_name_of(symbol: str, name: str) -> bool:
    """Whether a linker's symbol is that of a variable or function, by the Itanium C++ ABI."""
    part = f"{len(name)}{name}"
    return name == symbol or bool(re.match(rf"_Z(?:{part}|N\w*?{part}E)", symbol))


def _refusal(
    sources: Sequence[RawSource], refused: Refused, error: CompileError | None = None
) -> CompileError:
    """Return the error for a launch of a refused kernel."""
    from kerneltk.cuda_cpp.syntax.refusals import lack_of
    from kerneltk.cuda_cpp.syntax.unsupported import instead_of_cub

    source = next((s for s in sources if s.name == refused.file), None)
    snippet = Snippet.at_line(source.name, source.code, refused.line, None) if source else None
    hint = _LAUNCH_HINT if refused.kind == "launch from a kernel" else refused.header or _HINT
    if instead := instead_of_cub(refused.word):
        hint = f"{instead}. Or {_HINT}"
    reason = refused.reason.partition("; did you mean")[0]
    if refused.kind in (None, "header"):
        sentence = f"Kernel '{refused.name}' does not compile for CPU cores: {reason}."
    else:
        lacking = lack_of(refused.kind, refused.word)
        sentence = f"Kernel '{refused.name}' cannot run on CPU cores, which have no {lacking}."
    message = render_message(sentence, *filter(None, (snippet,)), hint=hint)
    if reason and refused.kind not in (None, "header"):
        message += f"\n  The compiler: {reason}."
    return CompileError(message, error.source if error else "", error.log if error else "")


def _warn(message: str) -> None:
    """Warn of what a source may mean: once, whether it is compiled or known."""
    warnings.warn(message, RuntimeWarning, stacklevel=1)


@record(slots=False, eq=False)
class _Asked:
    """What is asked of a source."""

    source: RawSource
    # expressions, c_names: as `RawProgram` has them
    expressions: tuple[str, ...] | None
    c_names: bool
    added: tuple[str, ...] = ()  # expressions that were asked for later

    @cached_property
    def kernels(self) -> list[Request]:
        """The kernels that the object code has to offer."""
        kernels: dict[str, Request] = {}
        c_kernels: dict[str, Request] = {}
        every = [kernel for kernel in self.source.kernels if kernel.is_definition]
        unconditional = Counter(kernel.name for kernel in every if not kernel.guard)
        for kernel in every:
            # A name with several definitions is of none of them.
            if unconditional[kernel.name] > 1:
                continue
            if not kernel.template_parameters:
                _add(kernels, Request(kernel.name, False, kernel.lasting_guard))
            if kernel.is_extern_c and self.c_names:
                _add(c_kernels, Request(kernel.name, False, kernel.lasting_guard))
        if self.expressions is not None:
            kernels = {
                name: Request(name)
                if kernels.get(name) is None or len(self.expressions) == 1
                else kernels[name]
                for name in self.expressions
            } | c_kernels
        kernels.update((name, Request(name)) for name in self.added)
        return list(kernels.values())

    @cached_property
    def names(self) -> dict[str, None]:
        """Name expressions of the kernels."""
        return dict.fromkeys(request.expression for request in self.kernels)

    @cached_property
    def requests(self) -> list[Request]:
        """The kernels and the variables that the object code has to offer."""
        variables: dict[str, Request] = {}
        for declared in self.source.declarations:
            for symbol in declared.symbols:
                _add(variables, Request(symbol.name, True, symbol.lasting_guard))
        return [*self.kernels, *variables.values()]


@record(eq=False)
class _Findings:
    """What a backend's compilers have found wrong with a source, which its unit leaves out."""

    # What is not found by its name, and what is said of that.
    left_out: Mapping[str, str] = field(default_factory=dict)
    # Symbols of kernels that are called like functions of CUDA's.
    c_symbols: Mapping[str, str] = field(default_factory=dict)
    # The source without what CPU cores refuse: kernels that need it are refused at their launch,
    # and the others run; and for which errors.
    refusals: Refusals | None = None
    errors: CompilerErrors = CompilerErrors()
    reduced: RawSource | None = None  # the source without code of the host that has errors
    first: CompileError | None = None  # for which code of the host was left out

    @property
    def refused(self) -> tuple[Refused, ...]:
        """The functions that CPU cores refuse."""
        return self.refusals.functions if self.refusals else ()


class LoadedModule(NamedTuple):
    """A module on a device, what its name expressions are in it, and what is left out."""

    module: Module
    symbols: dict[str, str]
    reflection: dict[str, bytes]
    outcome: Outcome
    log: str


class RawProgram:
    """A source and what is asked of it.

    Parameters
    ----------
    expressions : sequence of str or None
        Name expressions of the kernels that are wanted; None takes every kernel that is not a
        template.
    c_names : bool
        Whether kernels with C linkage are offered beside `expressions`: object code has them
        anyway.
    """

    def __init__(
        self, source: RawSource, expressions: Sequence[str] | None, c_names: bool = False
    ) -> None:
        self.source = source
        self.expressions = None if expressions is None else tuple(dict.fromkeys(expressions))
        self._asked = _Asked(source, self.expressions, c_names)
        # By backend and device modules, with a name kernels; for CPU cores parts, by the index of
        # their first kernel.
        self._made = Memo()
        self._is_loaded = False

    def __reduce__(self) -> tuple[object, ...]:
        """A program is pickled as its source and what is asked of it."""
        asked = self._asked
        wanted = tuple(asked.names) if asked.added else self.expressions
        return RawProgram, (self.source, wanted, asked.c_names)

    @property
    def offered(self) -> tuple[str, ...]:
        """Name expressions of the kernels."""
        return tuple(self._asked.names)

    def offers(self, expression: str) -> bool:
        """Whether a name expression is `offered`."""
        return expression in self._asked.names

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the ``__constant__`` and ``__device__`` variables."""
        return tuple(request.expression for request in self.requests() if request.is_variable)

    @cached_property
    def _has_state(self) -> bool:
        """Whether modules of the source have variables, each its own."""
        source = self.source
        return (
            bool(self.variables)
            or may_declare_state(source.options)
            or any(declared.may_have_state for declared in source.declarations)
            or bool(source.unread_names())
        )

    def offering(self, expression: str) -> RawProgram:
        """Return a program that offers a kernel: this one, or where it is loaded another one of the
        same source. Raises NoSuchKernelError where the source has nothing of that name, and
        ArgumentValueError where it has variables and is loaded: another module would have
        variables of its own.
        """
        with self._made.lock:
            if self.offers(expression):
                return self
            if expression.startswith("_Z") and not self.source.declares(expression):
                return self  # object code for GPUs may have it
            plain = plain_name(expression)
            declared = [kernel for kernel in self.source.kernels if kernel.name == plain]
            is_template = bool(declared and declared[0].template_parameters)
            is_bare = is_template and plain == expression
            if is_bare or not (declared or self.source.may_declare(plain)):
                raise NoSuchKernelError(
                    f"'{self.source.name}' offers no kernel '{expression}'.\n"
                    f"  Hint: {self._hint(expression)}"
                )
            if not self._is_loaded:
                self._asked = replace(self._asked, added=(*self._asked.added, expression))
                return self
            if not self.variables:
                return RawProgram(self.source, [expression])
            if not is_template:
                return self  # the module may have it under a name that a macro makes, or mangled
            raise self._is_loaded_without(expression)

    def _is_loaded_without(self, expression: str) -> ArgumentValueError:
        """Return the error for a kernel that only another module could offer."""
        return ArgumentValueError(
            f"'{self.source.name}' is loaded without '{expression}', and another module "
            f"would have variables of its own ({', '.join(map(repr, self.variables))}).\n"
            "  Hint: name it when the file is loaded: 'name_expressions=[...]'."
        )

    def declared_parameters(
        self, expression: str, count: int | None = None
    ) -> tuple[RawParameter, ...]:
        """Return a kernel's parameters as its source declares them, without types; empty if the
        source does not show it. Of several kernels with that name, the one with `count` parameters.
        """
        found = self.source.declared(expression, count)
        if found is None:
            return ()
        source, kernel = found
        return tuple(
            RawParameter(
                parameter.name,
                f"{parameter.type} {parameter.name}".strip(),
                None,
                0,
                0,
                Snippet(source.name, source.code, parameter.start, parameter.end),
            )
            for parameter in kernel.parameters
        )

    # -- what is asked of the compiler ---------------------------------------------------------

    def requests(self) -> Sequence[Request]:
        """Return the kernels and variables that the object code has to offer."""
        return self._asked.requests

    def unit(
        self,
        backend: Capabilities,
        found: _Findings = _Findings(),  # noqa: B008  (it is frozen)
    ) -> TranslationUnit:
        """Return the translation unit for a backend, without what its compilers have found."""
        requests = self._requested(found)
        if found.c_symbols:
            requests = [replace(r, symbol=found.c_symbols.get(r.expression, "")) for r in requests]
        source = found.reduced or self.source
        return source.unit(backend, requests, found.refusals)

    def _requested(self, found: _Findings) -> list[Request]:
        """Return what is asked of a unit, in order: all but what was left out or refused before."""
        return [
            r
            for r in self.requests()
            if r.expression not in found.left_out
            and not _refusal_of(plain_name(r.expression), found.refused)
        ]

    def _refused_requests(self, found: _Findings, error: CompileError) -> dict[str, str] | None:
        """Return the names that the compiler did not know, and its message for each; None if the
        source itself is wrong.

        A kernel may stand under a condition of the preprocessor that does not hold.
        """
        from kerneltk.core.diagnostics import read_log  # only who has an error needs it

        asked_for = self._requested(found)
        requests = [request.expression for request in asked_for]
        by_spelling = {"".join(r.spelled.split()): r.expression for r in asked_for}
        refused: dict[str, str] = {}
        for one in read_log(error.log):
            if any(location.file == GROUPS for location in one.locations):
                continue  # a member has an error of its own
            lines = {at.line for at in one.locations if at.file == REQUESTS}
            # Behind the lines that ask for kernels are others.
            names = [name for line, name in enumerate(requests, 1) if line in lines]
            for location in one.locations:
                if location.file == _NVRTC_NAMES:
                    asked = "".join((location.shown or "").partition("nv_mangled_name")[2].split())
                    name = by_spelling.get(asked.removeprefix("&"))
                    if asked.startswith(TEMPLATE):
                        name = requests[int(asked.rpartition("_")[2].rstrip("()"))]
                    names += [name] if name else []
            if not names:
                return None
            for name in names:
                refused.setdefault(name, self._told(one))
        return refused or None

    def _told(self, found: Diagnostic) -> str:
        """Return the compiler's message about a name, and below it the user's line."""
        message = found.message.partition("; did you mean")[0]
        if "_kt_" in message:  # about the package's own functions, which take kernels
            message = "no kernel is named so"
        sources = {source.name: source.code for source in (self.source, *self.source.included)}
        for at in found.locations:
            if at.file in sources:
                snippet = Snippet.at_line(at.file, sources[at.file], at.line, None)
                return f"{message}\n{snippet.render()}"
        return message

    def build(self, target: str) -> ObjectCode:
        """Return object code for an architecture (``"sm_90"``, ``"compute_90"``, ``"lto_90"``,
        ``"host"``), without a device. Raises as `pipeline.compile_ahead`.
        """
        return self._compiled(capabilities_of_target(target), pipeline.Ahead(target))[0]

    def _compiled(self, backend: Capabilities, making: pipeline.Making[T]) -> tuple[T, Outcome]:
        """Return the compiled source, and what is left out of it: from the cache if both are."""
        entry = self._entry(backend, making)
        known = entry.recall()
        if known is not None:
            for message in known[1].warnings:
                _warn(message)
            return known
        try:
            made, outcome, units = self._leaving_out(backend, making)
        except (CompileError, LaunchError) as error:
            # What is linked is named by the linker's own message.
            sources = () if self.source.links else (self.source, *self.source.included)
            undefined = _undefined(sources, str(error))
            if undefined:
                error.args = (undefined,)  # its class, source and log stay
            raise making.own_error(error) from error.__cause__
        entry.keep(units, outcome)
        return made, outcome

    def _entry(self, backend: Capabilities, making: pipeline.Making[T]) -> Entry[T]:
        """Return the cache's entry of the compiled source."""
        requested = repr((self.expressions, self._asked.c_names, self._asked.added))
        return Entry(self.source, requested, backend, making)

    def _leaving_out(
        self, backend: Capabilities, making: pipeline.Making[T]
    ) -> tuple[T, Outcome, list[tuple[TranslationUnit, Trace]]]:
        """Make it of the unit, and again without what the compiler does not find or CPU cores do
        not have. Return it, what is left out, and all units with their traces; the last one is what
        it is made of.
        """
        self.source = self.source.serving(self.requests())
        found = _Findings(self._device_functions()) if backend.emulates_cuda else _Findings()
        units: list[tuple[TranslationUnit, Trace]] = []
        warnings: dict[str, None] = {}  # what the source's user is warned of
        while True:
            unit = self.unit(backend, found)
            for message in unit.warnings:
                if message not in warnings:
                    warnings[message] = None
                    _warn(message)
            units.append((unit, pipeline.trace_of(unit, *making.compiler(unit))))
            try:
                made = making.make(unit, units[-1][1].key)
            except CompileError as error:
                if len(units) > _MOST_TRIES:
                    raise
                found = self._without(found, error, backend)
            else:
                outcome = Outcome(tuple(found.left_out.items()), found.refused, tuple(warnings))
                return made, outcome, units

    def _device_functions(self) -> dict[str, str]:
        """Return the names that were added and are device functions, which NVRTC leaves out, with
        the reason. Raises CompileError for others, and for what NVRTC would refuse, whatever the
        preprocessor makes of it.
        """
        part = next((part for part in self.source.host_parts if not part.found.guard), None)
        if part is not None:
            raise part.error(title_of(self.requests(), self.source.name))
        reason = "it is '__device__', and a kernel is '__global__'"
        for name in self.expressions or ():
            if is_device_function(self.source, plain_name(name)):
                raise self._unknown(name, reason)
        added = self._asked.added  # the other kernels of the module stay
        return {name: reason for name in added if is_device_function(self.source, plain_name(name))}

    def _without(self, found: _Findings, error: CompileError, backend: Capabilities) -> _Findings:
        """Return what to leave out after a compiler's error. Raises CompileError, the user's own,
        where that is nothing more.
        """
        is_host = backend.emulates_cuda
        # Only who has an error needs it.
        from kerneltk.cuda_cpp.nvrtc.explanations import explained, of_open_brace

        title = title_of(self.requests(), self.source.name)
        if unclosed := of_open_brace(self.source, title, error.log):
            raise CompileError(unclosed, error.source, error.log) from None
        part = refused_part(error.log, self.source.host_parts)
        if part is not None and is_host:
            raise part.error(title) from None
        refused = self._refused_requests(found, error)
        if refused is None or refused.keys() <= found.left_out.keys():
            more = (self._refusing(found, error) if is_host else None) or self._reduce(found, error)
            if more is None:
                raise explained(self._first_cause(found.first, error), self.source) from None
            return more
        overloaded = {} if is_host else self._overloaded(refused, error)
        if overloaded and not found.c_symbols:
            return replace(found, c_symbols=overloaded)
        for name in self.expressions or ():
            if name in refused:
                raise self._unknown(name, refused[name], error) from None
        return replace(found, left_out={**found.left_out, **refused})

    def _refusing(self, found: _Findings, error: CompileError) -> _Findings | None:
        """Leave out what CPU cores refuse; None for nothing more, or another mistake. Raises
        CompileError where no kernel is left: then nothing else is to be compiled.
        """
        if not any(declared.unsupported for declared in self.source.declarations):
            return None
        source = found.reduced or self.source
        sources = (source, *source.included)
        new = errors_of_log(error.log, {own.name: own.code for own in sources})
        made = source.without(found.errors, new)
        if made is None:
            return None
        found = replace(found, refusals=made[0], errors=made[1])
        names = [plain_name(r.expression) for r in self.requests() if not r.is_variable]
        refused = [_refusal_of(name, found.refused) for name in names]
        if refused and refused[0] is not None and None not in refused:
            raise _refusal(sources, refused[0], found.first or error) from None
        return found

    def _reduce(self, found: _Findings, error: CompileError) -> _Findings | None:
        """Leave out the code of the host that a compiler has found errors in; None for none, and
        where the source cannot do without what CPU cores refuse then.
        """
        if not self.source.has_host_code or self.source.compiler != "nvrtc":
            return None
        source = found.reduced or self.source
        code = {own.name: own.code for own in (source, *source.included)}
        errors = errors_of_log(error.log, code, in_macros=False)
        reduced = source.without_host_errors(errors) if errors.places else None
        reduced = reduced or source.without_headers_of(_libraries_in(error.log))
        if reduced is None:
            return None
        found = replace(found, reduced=reduced, first=found.first or error)
        if found.refusals is None:
            return found
        made = reduced.without(CompilerErrors(), found.errors)
        return None if made is None else replace(found, refusals=made[0], errors=made[1])

    def _first_cause(self, first: CompileError | None, last: CompileError) -> CompileError:
        """Return which error of several tries is the user's: the last one, unless that comes of
        what was left out.
        """
        if first is None or not last.log:
            return last
        code = {own.name: own.code for own in (self.source, *self.source.included)}
        before, after = (
            {(file, line, message) for file, line, _, message in errors_of_log(e.log, code).places}
            for e in (first, last)
        )
        return last if after and after <= before else first

    def _overloaded(self, refused: Mapping[str, str], error: CompileError) -> dict[str, str]:
        """Return the symbols of kernels with C linkage that are called like other functions, such
        as ``any``, which CUDA declares by itself.
        """
        if "overloaded function" not in error.log:
            return {}
        return {
            kernel.name: kernel.name.rpartition("::")[2]
            for kernel in self.source.kernels
            if kernel.is_extern_c and kernel.name in refused
        }

    def _unknown(
        self, expression: str, reason: str, error: CompileError | None = None
    ) -> CompileError:
        """Return the error for a name expression that is none of a kernel."""
        same = [kernel for kernel in self.source.kernels if kernel.name == plain_name(expression)]
        if len(same) > 1 and not any(k.guard or k.template_parameters for k in same):
            reason = f"{len(same)} kernels have this name, with other parameters"
        sentence, _, shown = reason.partition("\n")
        return CompileError(
            f"'{self.source.name}' offers no kernel '{expression}': {sentence}.\n"
            + (f"{shown}\n" if shown else "")
            + f"  Hint: {self._shared_hint(sentence) or self._hint(expression)}",
            error.source if error else "",
            error.log if error else "",
        )

    def _shared_hint(self, sentence: str) -> str:
        """Return a hint where a template declares its dynamic shared memory with several types."""
        found = _SHARED_AGAIN.search(sentence)
        name = next(filter(None, found.groups()), "") if found else ""
        if all(shared.name != name for shared in self.source.dynamic_shared):
            return ""
        return (
            f"instances of a template share 'extern __shared__' memory: declare bytes and cast, "
            f"'extern __shared__ unsigned char bytes[]; T* {name} = reinterpret_cast<T*>(bytes);'."
        )

    def _hint(self, expression: str) -> str:
        """Return a hint for a name expression that is none of a kernel."""
        import difflib  # only who has an error needs it

        known = [kernel.name for kernel in self.source.kernels]
        plain = plain_name(expression)
        same = [kernel for kernel in self.source.kernels if kernel.name == plain]
        if plain != expression in known:
            return "this is the mangled name of another function: give the kernel another name."
        if expression.startswith("_Z") and not any(k.template_parameters for k in same):
            types = dict.fromkeys(f"({', '.join(p.type for p in k.parameters)})" for k in same)
            if types:
                return f"'{plain}' takes {' or '.join(types)}."
        if len(same) > 1:
            return "give each a name of its own, or use a mangled one, such as '_Z1fPf'."
        for kernel in self.source.kernels:
            if kernel.name == plain and kernel.template_parameters:
                parameters = ", ".join(kernel.template_parameters)
                if plain == expression:
                    example = ", ".join(sample_arguments(kernel.template_parameters)) or "..."
                    return f"it is a template of <{parameters}>: name it as '{plain}<{example}>'."
                return f"its parameters are <{parameters}>."
        close = difflib.get_close_matches(plain, known, n=1)
        if close and close[0] != plain:
            return f"did you mean '{close[0]}'?"
        others = [name for name in dict.fromkeys(known) if name != plain]
        return f"its kernels are {', '.join(map(repr, others)) or 'none'}."

    # -- what is loaded --------------------------------------------------------------------------

    def module(self, backend: Backend) -> LoadedModule:
        """Return the module on the current device. Raises CompileError where the compiler refused
        the source, and BackendUnavailableError where there is no compiler.
        """

        def make() -> LoadedModule:
            making = pipeline.OnDevice(backend, is_private=self._has_state)
            (module, code), outcome = self._compiled(backend.capabilities, making)
            self._is_loaded = True
            symbols, reflection = dict(code.symbols), dict(code.reflection)
            return LoadedModule(module, symbols, reflection, outcome, code.log)

        found: LoadedModule = self._made.of((backend.name, backend.device_key()), make)
        return found

    def load(self, backend: Backend) -> str:
        """Load all kernels on the current device; return the compiler's log. Raises as
        :meth:`module`.
        """
        if not self._is_in_parts(backend):
            return self.module(backend).log
        parts = (self.expressions or ())[::_PART]
        return "\n".join(filter(None, (self._part_of(name).load(backend) for name in parts)))

    def _is_in_parts(self, backend: Backend) -> bool:
        """Whether kernels are compiled a few at a time, each when it is first asked for. A host
        compiler needs a minute for the 710 of awkward's module, and a call of awkward needs six.
        """
        is_large = self.expressions is not None and len(self.expressions) > 2 * _PART
        return is_large and backend.capabilities.emulates_cuda and not self._has_state

    def _part_of(self, expression: str) -> RawProgram:
        assert self.expressions is not None
        first = self.expressions.index(expression) // _PART * _PART
        wanted = self.expressions[first : first + _PART]
        found: RawProgram = self._made.of(first, lambda: RawProgram(self.source, wanted))
        return found

    def kernel(self, backend: Backend, expression: str) -> LoadedKernel:
        """Return a kernel on the current device. Raises as :meth:`module`."""
        key = backend.name, backend.device_key(), expression
        loaded: LoadedKernel = self._made.of(key, lambda: self._load(backend, expression))
        return loaded

    def _load(self, backend: Backend, expression: str) -> LoadedKernel:
        if expression in (self.expressions or ()) and self._is_in_parts(backend):
            return self._part_of(expression).kernel(backend, expression)
        module, symbols, reflection, outcome, log = self.module(backend)
        symbol, reflected = symbols.get(expression), reflection.get(expression)
        refused = _refusal_of(plain_name(expression), outcome.refused)
        if refused is not None:
            raise _refusal((self.source, *self.source.included), refused)
        if symbol is None:
            reason = dict(outcome.left_out).get(expression, "")
            if reason or backend.capabilities.emulates_cuda:
                if not self.offers(expression) and self.source.declares(expression):
                    raise self._is_loaded_without(expression)
                missing = "its compilation leaves it out, or names it otherwise"
                raise self._unknown(expression, reason or missing)
            symbol = expression
        function = module.function(symbol)
        layout = backend.parameter_places(function)
        signature = self._signature(expression, reflected, layout)
        return LoadedKernel(
            backend, backend.device_key(), function, signature, backend.limits(function), log
        )

    def _signature(
        self,
        expression: str,
        reflected: bytes | None,
        layout: tuple[tuple[int, int], ...] | None,
    ) -> KernelSignature:
        if reflected is None:
            found = self.source.declared(expression, len(layout) if layout is not None else None)
            return signature_of_sizes(expression, layout or (), found and found[1])
        types = decode(reflected)
        offsets, size = layout_of(types)
        if layout is not None and layout != tuple(
            (offset, kind.size) for offset, kind in zip(offsets, types, strict=True)
        ):
            raise LaunchError(
                f"The driver places the parameters of kernel '{expression}' at {layout} (offset "
                f"and size in bytes), and its compiler at {offsets}."
            )
        declared = self.declared_parameters(expression, len(types)) or tuple(
            RawParameter("", kind.name, None, 0, 0) for kind in types
        )
        parameters = (
            replace(
                parameter,
                type=kind,
                offset=offset,
                size=kind.size,
                layout=self.source.layout_of(kind.pointee or kind),
                is_used=not parameter.name or self.source.names_again(expression, parameter.name),
            )
            for parameter, kind, offset in zip(declared, types, offsets, strict=True)
        )
        return KernelSignature(expression, tuple(parameters), size)

    def variable(self, backend: Backend, name: str) -> Variable:
        """Return a variable of the module on the current device. Raises ArgumentValueError where
        the source has no such variable, or none that can be reached from outside.
        """
        module, symbols, reflection, *_ = self.module(backend)
        symbol = symbols.get(f"&{name}")
        if symbol is None:
            known = [name[1:] for name in symbols if name.startswith("&")]
            shown = ", ".join(map(repr, known)) or "none"
            raise ArgumentValueError(
                f"'{self.source.name}' has no variable '{name}'.\n  Hint: its __constant__ and "
                f"__device__ variables are {shown}."
            )
        address, size = module.variable(symbol)
        reflected = reflection.get(name)
        if reflected is None:
            return Variable(address, size, None, ())
        kind, extents = decode_variable(reflected)
        total = kind.size
        for extent in extents:
            total *= extent
        return Variable(address, size or total, kind, extents, is_const_variable(reflected))
