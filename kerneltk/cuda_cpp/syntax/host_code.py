"""Tells code that only the host runs, in a ``.cu`` file, from what kernels may need.

Such a file launches its own kernels, reads arguments and prints results. A compiler that makes
device code alone takes none of that, and nothing of it runs here: it is blanked.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kerneltk.core.lexer import CHARACTER, COMMENT, STRING
from kerneltk.cuda_cpp.syntax.host_part.libraries import is_host_library, serves_devices
from kerneltk.cuda_cpp.syntax.host_part.reachability import (
    Candidate,
    Macros,
    Member,
    Span,
    unreached,
    words_of,
)
from kerneltk.cuda_cpp.syntax.preprocess import Directive, Prepared, closure, prepare
from kerneltk.cuda_cpp.syntax.tree import (
    CLASSES,
    Scope,
    SourceTree,
    closing_brace,
    closing_parenthesis,
    declared_name,
    function_declarator,
    unwrapped,
)

if TYPE_CHECKING:
    from tree_sitter import Node

# What the package's own headers for NVRTC have of the namespace std, and what any compiler has.
_DEVICE_STD = (
    r"numeric_limits|size_t|ptrdiff_t|nullptr_t|u?int(?:_least|_fast)?\d+_t|u?int(?:ptr|max)_t"
    r"|max_align_t|byte|array|pair|make_pair|initializer_list"
    r"|min|max|clamp|swap|exchange|move|forward|declval|integral_constant|(?:true|false)_type"
    r"|bool_constant|enable_if\w*|conditional\w*|void_t|decay\w*|common_type\w*|is_\w+|add_\w+"
    r"|remove_\w+|make_(?:un)?signed\w*|underlying_type\w*|type_identity\w*|rank\w*|alignment_of\w*"
    r"|conjunction\w*|disjunction\w*|negation\w*|invoke_result\w*"
    r"|(?:make_)?(?:index|integer)_sequence\w*"
    r"|printf|memcpy|memset|malloc|free|clock\w*|time_t|isnan|isinf|isfinite|signbit"
    r"|(?:f|l|ll)?abs|f(?:abs|dim|loor|ma|max|min|mod|rexp)f?|a?(?:cos|sin|tan)h?f?|atan2f?|ceilf?"
    r"|exp(?:2|m1)?f?|log(?:2|10|1p|b)?f?|powf?|sqrtf?|cbrtf?|hypotf?|erfc?f?|[lt]gammaf?|truncf?"
    r"|l?l?r(?:ound|int)f?|nearbyintf?|nextafterf?|remainderf?|remquof?|copysignf?|ilogbf?|ldexpf?"
    r"|modff?|scalbl?nf?|complex"
)
_HOST_SOURCE = re.compile(
    r"<<<"
    rf"|\bstd\s*::\s*(?!(?:{_DEVICE_STD})\b)\w"
    r"|\bcuda[A-Z]\w*\s*(?:<[^<>;{}()]*>)?\s*\("
    r"|\bcu(?:Init|Ctx|Device|Module|Launch|Mem|Stream|Event|Func|Link|Occupancy|Tensor)\w*\s*\("
    r"|\b(?:cublas|cufft|cusparse|cusolver|cudnn|nccl|nvtx|nvml|hip)[A-Z]\w*"
    r"|\bcurand(?:Create|Destroy|Generate|Set|Generator)\w*"
    r"|\bMPI_\w+"
    r"|\b(?:at|torch|c10|py|pybind11|boost|thrust|cv|nlohmann|testing|benchmark|nvbench|cxxopts|CLI"
    r"|argparse|Catch|doctest|sycl)\s*::"
    r"(?!\s*(?:complex|Half|BFloat16|acc_type|opmath_type|\w*PtrTraits|\w*TensorAccessor\w*"
    r"|PhiloxCudaState|ceil_div)\b"
    r"|\s*headeronly\s*::\s*HeaderOnly\w+\b|\s*cuda\s*::\s*ATenCeilDiv\b"
    r"|\s*cuda\s*::\s*philox\s*::\s*unpack\b"
    r"|\s*cuda\s*::\s*detail\s*::\s*(?:TensorInfo|IndexToOffset)\b)"
    r"|\b(?:fprintf|fopen|fclose|fread|fwrite|fscanf|sscanf|scanf|fgets|fputs|puts|exit|abort"
    r"|getenv|srand|rand|gettimeofday|clock_gettime|atoi|atof|calloc|realloc|perror|fflush"
    r"|sprintf|snprintf|system|usleep|sleep|strcmp|strncmp|strlen|strdup|strtol)\s*\("
    r"|\bFILE\s*\*|\b(?:cout|cerr|cin)\b|\b(?:[io]|io|[io]?f|[io]?string)stream\s*&"
)
_EXTERN = re.compile(r"\bextern\Z")
# What <thrust/complex.h> has, behind the library's name: another name follows.
_COMPLEX = (
    r"(?!\s*::\s*(?:complex|conj|norm|arg|proj|polar|abs|exp|log|log10|pow|sqrt|a?sinh?|a?cosh?"
    r"|a?tanh?)\b)"
)
_MOST_BLANK = 10_000  # between a macro's use and what is before it
_NAMESPACE = re.compile(r"(\busing\s+)?\bnamespace\s+([\w:]+)")
_USED_NAMESPACE = re.compile(r"(?:using\s+namespace\b|namespace\s+\w+\s*=)\s*(?:::\s*)?(\w+)")
# Of libraries for device code, whose headers are not read.
_KNOWN_NAMESPACES = frozenset(
    ("std", "cooperative_groups", "nvcuda", "wmma", "cuda", "cub", "thrust", "cutlass", "cute",
     "nv", "__gnu_cxx", "literals", "placeholders", "at", "c10", "torch")
)  # fmt: skip
_TEST_MACRO = re.compile(
    r"PYBIND11_MODULE|TORCH_LIBRARY\w*|TEST(?:_[FP])?|TYPED_TEST(?:_P)?|BENCHMARK\w*|NB_MODULE"
    r"|BOOST_PYTHON_MODULE|(?:TEMPLATE_)?TEST_CASE\w*|SCENARIO\w*|SECTION|NVBENCH_BENCH\w*"
)
# A module for Python, operators of torch, or tests that have strings for names: where the grammar
# makes no sense of the uses of macros before it, it takes them for one declaration.
_MODULE = re.compile(
    r"^[ \t]*((?:PYBIND11_MODULE|TORCH_LIBRARY\w*|NB_MODULE|BOOST_PYTHON_MODULE"
    r"|(?:TEMPLATE_)?TEST_CASE\w*|SCENARIO\w*)\s*)\(",
    re.MULTILINE,
)
_TEST_STATEMENT = re.compile(
    r"(?:TYPED_TEST\w*|INSTANTIATE_T\w*|REGISTER_TYPED\w*|BENCHMARK\w*|TORCH_LIBRARY\w*"
    r"|NVBENCH_BENCH\w*)\s*\("
)
_FIRST = re.compile(r"(?:extern\b[\s\\]*)?(\w*)")
_FUNCTION = re.compile(
    r"(?:template\s*<[^;{}]*>\s*)?(?:(?:inline|static|extern)\s+)*void\s+[\w#\s]+\([^{};]*\)[\s\\]*\{"
)
_ANNOTATIONS = ("__global__", "__device__", "__host__", "__constant__", "__shared__")
_ANNOTATED = re.compile(r"\b__(?:global|device|shared|constant)__\b")
_HOST_WORD = re.compile(r"\b__host__\b")
_MACRO = re.compile(r"(\w+)(\([^()]*\))?[\s\\]*(.*)", re.DOTALL)
_DEFINED = re.compile(r".*?\bdefine(?:\s|\\\n)+\w+(?:\([^()]*\))?", re.DOTALL)
_NO_CODE = re.compile(rf"\\\n|{STRING}|{CHARACTER}|{COMMENT}")
# A macro of the package's: who calls such a function gets an error.
HOST_ONLY = "_KT_HOST_ONLY"
# Of a function whose declaration cannot be left: the worst overload of all, and who asks whether it
# can be called gets an error.
_UNTOLD = (
    'extern "C++" {{ template <int N = 0> auto {0}(...) {{ static_assert(N, "\'{0}\' is a function '
    "of the host with types that device code does not have: what is asked about it is unknown"
    '"); }} }}'
)
_DESTRUCTOR = re.compile(r"::\s*~\s*(\w+)\s*\(")
# What templates ask by whether a function can be called.
ASKS = re.compile(r"\b(?:decltype|noexcept|sizeof)\s*\([^;{}]*|\brequires\b[^;]*")


_BUILTIN_TYPES = frozenset(
    ("void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned",
     "auto", "decltype")
)  # fmt: skip
_HEAD_WORDS = _BUILTIN_TYPES | {
    "static", "inline", "extern", "const", "volatile", "constexpr", "consteval", "register",
    "struct", "class", "enum", "union", "typename", "friend", "virtual", "explicit", "operator",
    "restrict", "__restrict__", "__restrict", "thread_local",
    "CUDART_CB", "CUDARTAPI", "CUDAAPI", "CUDA_CB", "WINAPI", "APIENTRY",
}  # fmt: skip
_MAY_NAME_HOST = frozenset(
    ("type_definition", "alias_declaration", "using_declaration", "expression_statement",
     "namespace_alias_definition", "static_assert_declaration")
)  # fmt: skip
_FLOATING = re.compile(r"\s*(?:static\s+|inline\s+)*(const)\s+(?:float|double)\s*")
CONSTEXPR = re.compile(r"\bconst(?:expr|eval)\b")


def _is_host_source(source: str) -> bool:
    """Return whether a piece of C++ without comments names what there is on the host only.

    Examples
    --------
    >>> _is_host_source("std::vector<int> v;"), _is_host_source("return std::sqrt(x);")
    (True, False)
    """
    return _HOST_SOURCE.search(source) is not None


def has_unknown_macro(head: str) -> bool:
    """Return whether more stands before a function's name than attributes and one type: a macro,
    which may say where the function runs.
    """
    head = re.sub(r"\b(?:extern\s*\"C(?:\+\+)?\"|template\s*<[^;{}]*>)", " ", head)
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)", " ", head)) != head:
        head = shorter
    names = re.findall(r"[\w:]+", re.sub(r"\s*::\s*", "::", head))
    builtin = any(name in _BUILTIN_TYPES for name in names)
    return sum(name not in _HEAD_WORDS for name in names) + builtin > 1


@lru_cache(maxsize=8)
def asked_about(code: str) -> frozenset[str]:
    """Return the words in what templates of a source may ask of functions: a function that is not
    there, or deleted, gives another answer than one that is the host's.
    """
    return frozenset[str]().union(*(words_of(found[0]) for found in ASKS.finditer(code)))


def _tags(node: Node) -> Iterator[Node | None]:
    """Yield the names of the classes and enumerations in a declaration, and of the numbers."""
    for child in node.named_children:
        if child.type == "enum_specifier" or child.type in CLASSES:
            yield child.child_by_field_name("name")
            body = child.child_by_field_name("body")
            if body is not None and child.type == "enum_specifier":
                yield from (inner.child_by_field_name("name") for inner in body.named_children)
        elif child.type == "type_descriptor":
            yield from _tags(child)


class Definition(NamedTuple):
    """A function of the host, of which the declaration may be left."""

    name: str
    head: str  # what stands before its body
    body: Span
    is_member: bool = False  # of a class


class Constant(NamedTuple):
    """A floating constant at namespace scope."""

    start: int  # the first character of its ``const``
    span: Span
    words: frozenset[str]  # of its initializer


class HostCode:
    """What the branches of one source have for the host alone.

    Attributes
    ----------
    functions : dict of (int, int)
        The characters of each function at namespace scope.
    spans : dict of (int, int) to str
        The characters of all that is left out, and the name that it declares; empty for none.
    candidates : dict of (int, int) to Candidate
        What goes if device code does not refer to it.
    spare : dict of (int, int) to frozenset of str
        The characters of what else device code does not refer to, and what it declares.
    constants : dict of str to Constant
        Floating constants with an initializer, by their names.
    replaced : dict of (int, int) to str
        What stands for some of `spans`.
    definitions : dict of (int, int) to Definition
        Functions that may be among them.
    """

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.functions: dict[Span, None] = {}
        self.spans: dict[Span, str] = {}
        self.candidates: dict[Span, Candidate] = {}
        self.constants: dict[str, Constant] = {}
        self.spare: dict[Span, frozenset[str]] = {}
        self.replaced: dict[Span, str] = {}
        self.destructors: dict[Span, str] = {}  # that classes declare, and that are the host's
        # Functions with a type in their heads that the host alone has: names, with where they are.
        self.untold: dict[Span, tuple[str, ...]] = {}
        self.definitions: dict[Span, Definition] = {}
        # Functions with an annotation; the names of those that are no kernels.
        self._kept: dict[Span, str] = {}
        self._kernels: set[str] = set()
        self._defined = Macros()
        self._macro_words: dict[str, frozenset[str]] = {}
        self.macros = self._find_macros()
        # Where what names the host's begins and ends, in `Prepared.plain`.
        named = [found.span() for found in _HOST_SOURCE.finditer(prepared.plain)]
        if self.macros is not None:
            named += [found.span(1) for found in self.macros.finditer(prepared.plain)]
            named.sort()
        self._named_starts = [start for start, _ in named]
        self._named_ends = [end for _, end in named]
        self._namespaces = _KNOWN_NAMESPACES.union(
            found[2] for found in _NAMESPACE.finditer(prepared.code) if not found[1]
        )

    def is_named(self, plain: str, start: int, end: int) -> bool:
        """Return whether a piece of a branch names what there is on the host only."""
        index = bisect_left(self._named_starts, start)
        while index < len(self._named_starts) and self._named_starts[index] < end:
            # What is in another branch is blank.
            at = self._named_starts[index]
            if self._named_ends[index] <= end and not plain[at].isspace():
                return True
            index += 1
        return False

    def is_macro(self, name: str) -> bool:
        """Return whether the source defines a macro of a name."""
        return name in self._macro_words

    def declares_namespace(self, name: str) -> bool:
        """Return whether the source has a namespace, or a library for device code has it."""
        return any(name in known.split("::") for known in self._namespaces)

    def is_in_function(self, offset: int) -> bool:
        """Return whether a character of the source is in a function of the host."""
        return any(start <= offset < end for start, end in self.functions)

    def _find_macros(self) -> re.Pattern[str] | None:
        """Return a pattern of the uses of macros that stand for code of the host."""
        names: list[str] = []
        others: list[tuple[str, str]] = []
        for directive in self.prepared.directives:
            found = _MACRO.match(directive.argument) if directive.name == "define" else None
            if found is None:
                continue
            self._defined.add(found[1], found[2], found[3])
            before = self._macro_words.get(found[1], frozenset())
            self._macro_words[found[1]] = before | words_of(found[3])
            is_instantiation = re.match(r"template\b(?!\s*<)", found[3]) is not None
            is_host = is_instantiation or _is_host_source(found[3]) or self._is_function(found[3])
            if found[2] and is_host and not _ANNOTATED.search(found[3]):
                names.append(found[1])
            elif found[2]:
                others.append((found[1], found[3]))
            if is_host and _ANNOTATED.search(found[3]):
                for span in _functions_in_macro(self.prepared, directive):
                    self.spans[span] = ""
        standing: dict[str, list[str]] = {}
        for name, text in others:
            standing.setdefault(_FIRST.findall(text)[0], []).append(name)
        every = closure(names, lambda name: standing.get(name, ()))  # they stand for one of those
        return re.compile(rf"\b({'|'.join(every)})\b[ \t]*(?=\()") if every else None

    def _is_function(self, replacement: str) -> bool:
        """Return whether a macro stands for the definition of a function without an annotation."""
        words = closure(words_of(replacement), lambda word: self._macro_words.get(word, ()))
        return (
            _FUNCTION.match(replacement) is not None
            and words.isdisjoint(_ANNOTATIONS)
            and not CONSTEXPR.search(replacement)
        )

    def leave_out_unreached(self) -> None:
        """Leave out what device code does not refer to."""
        self._leave_device_code()
        self._leave_out_launchers()
        self._keep_defined_destructors()
        code, candidates = self.prepared.code, self.candidates.values()
        spans, self.spare = unreached(
            code, candidates, self.spans, self._macro_words, self._defined.parts(code)
        )
        for span in spans:
            self.spans.setdefault(span, "")
        self._keep_tables()
        self._keep_overloads()

    def keep(self, span: Span, name: str, *, is_kernel: bool) -> None:
        """Take note of a function with an annotation."""
        self._kept[span] = "" if is_kernel else name
        if is_kernel:
            self._kernels.add(name)

    def _leave_out_launchers(self) -> None:
        """Leave out functions of the host that have a kernel's name: device code calls neither."""
        names = self._kernels.difference(self._kept.values())
        for span, found in self.candidates.items():
            if found.is_function and found.names <= names:
                self.spans.setdefault(span, "")

    def _leave_device_code(self) -> None:
        """Leave nothing out that shares characters with a function with an annotation: their heads
        are in two branches of a conditional, or both are of one macro.
        """
        spans = sorted(self._kept)
        starts = [start for start, _ in spans]

        def is_shared(span: Span) -> bool:
            index = bisect_left(starts, span[1]) - 1
            return index >= 0 and spans[index][1] > span[0]

        for found in (self.spans, self.candidates, self.functions):
            for span in [s for s in found if is_shared(s)]:
                del found[span]

    def _keep_defined_destructors(self) -> None:
        """Leave out no destructor's declaration whose definition elsewhere stays: of a class of the
        name, with an annotation or `= default`, or of any class by a macro.
        """
        if not self.destructors:
            return
        stay = {
            found[1]
            for found in _DESTRUCTOR.finditer(self.prepared.code)
            if not any(start <= found.start() < end for start, end in self.spans)
        }
        by_macro = any(
            directive.name == "define" and _DESTRUCTOR.search(directive.argument)
            for directive in self.prepared.directives
        )
        for span, name in self.destructors.items():
            if by_macro or name[1:].strip() in stay:
                self.spans.pop(span, None)

    def _keep_tables(self) -> None:
        """Leave an entry in the table of its class for each virtual function that is left out: the
        class is as large as it was. And an empty destructor for one that is left out: the class is
        no more trivial than it was.
        """
        members = [m for found in self.candidates.values() for m in found.members]
        virtual = [m for m in members if m.is_virtual and m.span in self.spans]
        for member in virtual:
            self.replaced[member.span] = f"virtual void _kt_host_{member.span[0]}() {{}}"
        for member in members:
            if member.name.startswith("~") and member.span in self.spans:
                word = "virtual " if member.is_virtual else ""
                self.replaced[member.span] = f"{word}{member.name}() {{}}"
        names = {member.name for member in virtual}
        for member in members:
            if member.overrides and member.name in names and not member.is_virtual:
                self.spans.setdefault(member.span, "")

    def _keep_overloads(self) -> None:
        """Leave the declarations of functions of the host that overload functions for devices:
        which one a call means depends on all of them. And those that templates may ask about.
        """
        asked = asked_about(self.prepared.plain)
        overloaded = frozenset(self._kept.values())
        gone = {name for name in self.spans.values() if name}
        gone.update(
            n for s, found in self.candidates.items() if s in self.spans for n in found.names
        )
        gone.update(name for spared in self.spare.values() for name in spared)
        for span, found in self.definitions.items():
            is_needed = found.name in asked or (found.name in overloaded and not found.is_member)
            if span not in self.spans or not is_needed or _is_host_source(found.head):
                continue
            if words_of(found.head).isdisjoint(gone - overloaded - {found.name}):
                del self.spans[span]
                self.spans[found.body] = ""
                gap = "" if found.head[-1:].isspace() else " "
                self.replaced[found.body] = f"{gap}{HOST_ONLY};"
                self._leave_out_host_words(span[0], found.body[0])
        reported: set[tuple[str, ...]] = set()
        for span, names in self.untold.items():
            if span in self.spans and names[-1] in asked and names not in reported:
                reported.add(names)
                self.replaced[span] = _UNTOLD.format(names[-1])
        for span, declared in self.candidates.items():
            is_needed = declared.is_function and not declared.names.isdisjoint(asked | overloaded)
            if is_needed and span not in self.spans:
                self._leave_out_host_words(*span)

    def _leave_out_host_words(self, start: int, end: int) -> None:
        """Leave out `__host__`: NVRTC takes no function with it."""
        for word in _HOST_WORD.finditer(self.prepared.code, start, end):
            self.spans[word.span()] = ""

    def computed_constants(self) -> tuple[int, ...]:
        """Return where the ``const`` of each constant is whose initializer names no more than other
        such constants and macros.
        """
        known = dict(self.constants)
        allowed = {"float", "double", "f", "F", "int", *self._macro_words}
        while wrong := [n for n, c in known.items() if not c.words <= {*known, *allowed}]:
            for name in wrong:
                del known[name]
        return tuple(sorted({c.start for c in known.values() if c.span not in self.spans}))

    def read_header(self, name: str, is_quoted: bool, start: int, end: int) -> bool:
        """Leave out an include of a header that only the host has a use for; False for another."""
        is_host = is_host_library(name) and not (is_quoted and serves_devices(name))
        is_host = is_host or self._is_unused_library(name)
        if is_host:
            self.spans[start, end] = ""
        return is_host

    def _is_unused_library(self, header: str) -> bool:
        """Return whether a header's library is named by nothing but code of the host."""
        found = re.match(r"(thrust|cub)/(complex\.h)?", header)
        if found is None or not self.spans:
            return False
        # NVRTC does not compile Thrust's algorithms, which files have beside its complex numbers.
        others = "" if found[2] else _COMPLEX
        return not any(
            not any(start <= self.prepared.start_of(use.start()) < end for start, end in self.spans)
            for use in re.finditer(rf"\b{found[1]}\b{others}", self.prepared.plain)
        )


class HostReader:
    """Finds the code of the host in one syntax tree.

    Parameters
    ----------
    host : HostCode
        Where it goes.
    """

    def __init__(self, tree: SourceTree, host: HostCode) -> None:
        self.tree = tree
        self.host = host

    def _is_named(self, start: int, end: int) -> bool:
        return self.host.is_named(self.tree.plain, start, end)

    def read_function(self, node: Node, declarator: Node, scope: Scope, start: int) -> None:
        """Leave out a function without an annotation, if it is the host's."""
        name_node = declared_name(declarator)
        if name_node is None:
            return
        name = self.tree.last_name(name_node)
        span = self.tree.span(node, scope)
        body = node.child_by_field_name("body")
        if body is not None and name_node.type == "identifier":
            self._define(span, name, start, body)
            if self._is_named(start, body.start_byte):
                self.host.untold[span] = (*scope.names, name)
        is_destructor = name in self.host.destructors.values()
        if self._is_host_function(node, name_node, start) or is_destructor:
            self.host.spans[span] = name
            if scope.template is None:
                self.host.functions[span] = None
        elif self._is_named(start, node.end_byte):
            self.host.spans[span] = name
        else:
            self._offer_function(name_node, span, start)

    def _define(
        self, span: Span, name: str, start: int, body: Node, *, is_member: bool = False
    ) -> None:
        """Take note of a function whose declaration may be left."""
        if body.type in ("compound_statement", ";"):
            bounds = self.tree.characters(body.start_byte, body.end_byte)
            head = self.tree.plain[start : body.start_byte]
            if "=" in head[head.rfind(")") :]:
                return  # is deleted already, or pure
            self.host.definitions[span] = Definition(name, head, bounds, is_member)

    def keep(self, node: Node, declarator: Node, scope: Scope, *, is_kernel: bool = False) -> None:
        """Take note of a function with an annotation."""
        spelled = self.tree.last_name(declared_name(declarator))
        self.host.keep(self.tree.span(node, scope), spelled, is_kernel=is_kernel)

    def _offer_function(self, name: Node, span: Span, start: int) -> None:
        """Leave out a function, unless device code may call it and does."""
        head = self.tree.plain[start : name.start_byte]
        if not (CONSTEXPR.search(head) or has_unknown_macro(head)):
            names = self.tree.last_names([name])
            self.host.candidates[span] = Candidate(span, names, False, is_function=True)

    def _is_host_function(self, node: Node, name: Node, start: int) -> bool:
        """Return whether a function without an annotation, that is no template, is the host's."""
        spelled = self.tree.slice(name)
        if spelled == "main":
            return True
        head = self.tree.plain[start : name.start_byte]
        if name.type == "qualified_identifier" or CONSTEXPR.search(head):
            return False
        if node.child_by_field_name("type") is None and name.type == "identifier":
            # `KERNEL(name) {` may be a macro of an included file as well.
            return _TEST_MACRO.fullmatch(spelled) is not None
        return not has_unknown_macro(head)

    def read_class(self, node: Node, scope: Scope) -> None:
        """Leave out a class of the host, or the members that only the host can call."""
        body = node.child_by_field_name("body")
        name_node = node.child_by_field_name("name")
        if name_node is None:
            return
        if body is None:
            self._offer(node, scope, (name_node,))  # declared ahead
            return
        names_host = self._is_named(node.start_byte, node.end_byte)
        is_device = bool(self.tree.words_between(node.start_byte, node.end_byte))
        members: list[Member] = []
        for member in body.named_children:
            found = self._member(member)
            if found is None:
                continue
            members.append(found)
            inner = member.child_by_field_name("body") or next(reversed(member.children), None)
            if found.is_function and inner is not None and not found.is_virtual:
                start = self.tree.head_start(member)
                self._define(found.span, found.name, start, inner, is_member=True)
            annotated = self.tree.words_between(self.tree.head_start(member), member.end_byte)
            if found.name.startswith("~") and not annotated and member.type == "declaration":
                # What defines it elsewhere is the host's.
                self.host.destructors[found.span] = found.name
                self.host.spans[found.span] = ""
            if found.is_function and (
                any(word.name == "__host__" for word in annotated)
                or (is_device and found.names_host)
            ):
                self.host.spans[found.span] = ""
        span = self.tree.span(node, scope)
        self.host.candidates[span] = Candidate(
            span,
            self.tree.last_names([name_node]),
            names_host and not is_device,
            is_specialization=name_node.type != "type_identifier",
            members=members,
        )

    def _member(self, node: Node) -> Member | None:
        """Return a member of a class; None for a function that device code may call."""
        start = self.tree.head_start(node)
        source = self.tree.plain[start : node.end_byte]
        names_host = self._is_named(start, node.end_byte)
        declarator = node.child_by_field_name("declarator")
        name_node = declared_name(declarator)
        name = "" if name_node is None else self.tree.slice(name_node)
        inner = node
        if node.type in ("template_declaration", "friend_declaration"):
            inner = next((c for c in node.named_children if function_declarator(c)), node)
        function = function_declarator(inner)
        is_virtual = overrides = False
        if function is not None:
            head = self.tree.plain[start : function.start_byte]
            is_virtual = re.search(r"\bvirtual\b", head) is not None
            overrides = re.search(r"\)[\w\s&]*\b(?:override|final)\b", source) is not None
            words = {word.name for word in self.tree.words_between(start, node.end_byte)}
            if words & {"__device__", "__global__"} or CONSTEXPR.search(head):
                return None
            if not names_host and has_unknown_macro(head):
                return None
        elif node.type not in ("field_declaration", "declaration"):
            return None
        span = self.tree.characters(start, node.end_byte)
        return Member(span, name, function is not None, names_host, is_virtual, overrides)

    def read_declaration(self, node: Node, scope: Scope, declarators: list[Node]) -> None:
        """Leave out a prototype or a variable without an annotation: the host's.

        Constants stay, since device code may use them.
        """
        source = self.tree.plain[node.start_byte : node.end_byte]
        head = self.tree.plain[node.start_byte : declarators[0].start_byte]
        name = declared_name(declarators[0])
        if self._is_named(node.start_byte, node.end_byte):
            span = self.tree.span(node, scope)
            spelled = self.tree.last_name(name)
            self.host.spans[span] = spelled
            if spelled.isidentifier() and function_declarator(node) is not None:
                self.host.untold[span] = (*scope.names, spelled)
        elif any(_tags(node)):
            # A class with variables of it goes, unless device code refers to one of them.
            if not self.tree.words_between(node.start_byte, node.end_byte):
                self._offer(node, scope, (*map(declared_name, declarators), *_tags(node)))
        elif (
            name is None
            or scope.is_broken  # it may be a member, or a statement
            or re.search(r"\bconst(?:expr|eval|init)\b", head)
            or has_unknown_macro(self.tree.plain[node.start_byte : name.start_byte])
        ):
            return
        elif name.parent is not None and name.parent.type == "function_declarator":
            if len(declarators) == 1:
                self._offer_function(name, self.tree.span(node, scope), node.start_byte)
        else:
            declared = [self.tree.plain[d.start_byte : d.end_byte] for d in declarators]
            pointers = [d for d in declared if d.startswith("*")]
            is_const = all(re.match(r"(?:\*\s*)+const\b", d) for d in pointers)
            span = self.tree.span(node, scope)
            if scope.template is None and not (is_const and (pointers or "const" in head)):
                self.host.spans[span] = self.tree.last_name(name)
                return
            names = self.tree.last_names(map(declared_name, declarators))
            self.host.candidates[span] = Candidate(span, names, False)
            floating = _FLOATING.fullmatch(head)
            if floating is not None and all("=" in d for d in declared):
                start = self.tree.prepared.start_of(node.start_byte + floating.start(1))
                words = words_of(source[len(head) :])
                for spelled in names:
                    self.host.constants[spelled] = Constant(start, span, words)

    def read_enumeration(self, node: Node, scope: Scope) -> None:
        """Leave out an enumeration, unless device code refers to it or a number of it."""
        body = node.child_by_field_name("body")
        if body is not None:
            found = [node.child_by_field_name("name")]
            found += [child.child_by_field_name("name") for child in body.named_children]
            self._offer(node, scope, found)

    def _offer(self, node: Node, scope: Scope, names: Iterable[Node | None]) -> None:
        """Leave out a declaration, unless device code refers to one of its names."""
        span = self.tree.span(node, scope)
        self.host.candidates.setdefault(span, Candidate(span, self.tree.last_names(names), False))

    def _is_at_head(self, position: int) -> bool:
        """Return whether a position is before a body, in what the grammar takes for one."""
        bodies = CLASSES | {"compound_statement"}
        return not any(node.type in bodies for node in self.tree.around(position))

    def read_modules(self) -> None:
        """Leave out modules for Python, operators of torch and tests, which macros begin."""
        for use in _MODULE.finditer(self.tree.plain):
            end = closing_brace(self.tree.plain, closing_parenthesis(self.tree.plain, use.end(1)))
            if end > 0:
                self.host.spans[self.tree.characters(use.start(1), end)] = ""

    def uses_of_macros(self) -> list[Span]:
        """Return where, at namespace scope, macros are used that stand for code of the host."""
        uses: list[Span] = []
        if self.host.macros is None:
            return uses
        for use in self.host.macros.finditer(self.tree.plain):
            start = use.start(1)
            end = closing_parenthesis(self.tree.plain, use.end(1))
            before = self.tree.plain[max(start - _MOST_BLANK, 0) : start].rstrip()
            is_outside = self.tree.is_outside(start)
            if declared := _EXTERN.search(before):  # of an instantiation elsewhere
                is_outside = is_outside or self._is_at_head(start)
                start = len(self.tree.plain[:start].rstrip()) - len(declared[0])
                before = before[: declared.start()].rstrip()
            if end > 0 and before[-1:] in ("", ";", "}", "{", ")") and is_outside:
                behind = re.compile(r"[ \t]*;").match(self.tree.plain, end)
                uses.append((start, behind.end() if behind else end))
        return uses

    def read_macros(self, uses: Iterable[Span]) -> None:
        """Leave out uses of macros that stand for code of the host."""
        for start, end in uses:
            self.host.spans[self.tree.characters(start, end)] = ""

    def read_names(self, node: Node, scope: Scope) -> None:
        """Leave out a typedef, an alias or a statement that names what the host alone has."""
        if node.type not in _MAY_NAME_HOST:
            return
        source = self.tree.plain[node.start_byte : node.end_byte]
        names_host = self._is_named(node.start_byte, node.end_byte)
        # It may use a namespace that nothing declares which is left.
        used = _USED_NAMESPACE.match(source)
        names_host = names_host or (used is not None and not self.host.declares_namespace(used[1]))
        names_host = names_host or _TEST_STATEMENT.match(source) is not None
        declarators = node.children_by_field_name("declarator") or (
            node.children_by_field_name("name")
        )
        found = [declared_name(declarator) for declarator in declarators]
        if node.type != "expression_statement":
            found += _tags(node)
        names = self.tree.last_names(found)
        span = self.tree.span(node, scope)
        if names:
            self.host.candidates[span] = Candidate(span, names, names_host)
        elif names_host:
            self.host.spans[span] = ""


def _functions_in_macro(prepared: Prepared, directive: Directive) -> Iterator[Span]:
    """Yield the characters of each function in a macro's replacement that names the host's and has
    no annotation.
    """
    text = prepared.source[directive.start : directive.end]
    defined = _DEFINED.match(text)
    if defined is None:
        return
    plain = _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text[defined.end() :])
    plain = re.sub(r"(?<=\w)\s*##\s*(?=\w)", lambda found: "_" * len(found[0]), plain)
    own = prepare(re.sub(r"#(?=\s*\w)|##", lambda found: " " * len(found[0]), plain))
    tree = SourceTree(own, own.plain, own.words)
    for outer in tree.root.named_children:
        node = unwrapped(outer)
        if node.type != "function_definition":
            continue
        start, end = tree.head_start(outer), node.end_byte
        words = {word.name for word in tree.words_between(start, end)}
        if words.isdisjoint(_ANNOTATIONS) and _is_host_source(own.plain[start:end]):
            first = directive.start + defined.end()
            yield first + own.start_of(start), first + own.end_of(end)
