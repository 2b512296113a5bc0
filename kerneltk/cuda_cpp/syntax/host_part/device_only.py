"""Finds what a compiler of device code alone refuses in CUDA C++ source, and the host's takes.

NVRTC compiles no host code: functions without an annotation, variables of the host, and what the
C and C++ libraries have beside its own headers are errors. The compiler for CPU cores would accept
them, and a kernel that was tested there would fail on its first GPU.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kerneltk.core.lexer import BUILTIN, EXTENSION
from kerneltk.cuda_cpp.syntax.declarations import DECLARED, MACRO, HostOnly
from kerneltk.cuda_cpp.syntax.host_code import has_unknown_macro
from kerneltk.cuda_cpp.syntax.kernels import KernelReader
from kerneltk.cuda_cpp.syntax.preprocess import Prepared, prepare
from kerneltk.cuda_cpp.syntax.tree import (
    CLASSES,
    SCOPES,
    SourceTree,
    collapse,
    declared_name,
    function_declarator,
    last_name,
    type_source,
)
from kerneltk.cuda_cpp.syntax.variables import memory_of
from kerneltk.object_code.reflection import number_type

if TYPE_CHECKING:
    from tree_sitter import Node

    from kerneltk.cuda_cpp.syntax.declarations import HostOnlyKind

# What namespace std has of the host's alone: what the package's headers for NVRTC do not have, or
# as opaque types.
HOST_STD = frozenset(
    re.findall(
        r"\w+",
        """
    vector list forward_list deque map multimap set multiset unordered_map unordered_multimap
    unordered_set unordered_multiset queue priority_queue stack bitset valarray function unique_ptr
    shared_ptr weak_ptr make_unique make_shared any any_cast variant visit optional nullopt
    string wstring basic_string string_view to_string stoi stol stoll stoul stoull stof stod
    istream ostream iostream ifstream ofstream fstream stringstream istringstream ostringstream
    cout cerr clog cin wcout endl setw setprecision getline locale regex regex_match
    thread jthread this_thread mutex recursive_mutex timed_mutex shared_mutex lock_guard unique_lock
    scoped_lock condition_variable future promise async packaged_task call_once filesystem
    exception exception_ptr runtime_error logic_error invalid_argument out_of_range bad_alloc
    random_device mt19937 mt19937_64 default_random_engine minstd_rand uniform_int_distribution
    uniform_real_distribution normal_distribution format println
    sort stable_sort partial_sort nth_element accumulate transform inner_product partial_sum
    fopen fclose fread fwrite sprintf snprintf fputs puts putchar getchar scanf sscanf
    getenv rand srand strlen strcmp strcpy atoi atof strtod strtol qsort complex
    """,
    )
)
_STD = re.compile(rf"(?<!\w)std\s*::\s*({'|'.join(sorted(HOST_STD))})\b")
# Names of the C++ library that a `using` brings without `std::`.
_USING_STD = re.compile(r"\busing\s+(?:namespace\s+std\b|std\s*::)")
_USING_OTHER = re.compile(r"\busing\s+(?:namespace\s+)?(?!std\b)\w+\s*(?:::|;)")
_TEMPLATES = (
    "vector|map|set|list|deque|unordered_map|unordered_set|function|unique_ptr|shared_ptr|optional"
    "|variant|queue|stack|complex"
)
_OBJECTS = "string|stringstream|thread|mutex|cout|cerr|cin|endl"
_ALGORITHMS = "sort|accumulate|make_unique|make_shared|to_string|transform"
_PLAIN_STD = re.compile(
    rf"(?<![\w.:])(?<!->)({_TEMPLATES})\s*<"
    rf"|(?<![\w.:])(?<!->)({_OBJECTS})\b(?!\s*[\[(=,;)])"
    rf"|(?<![\w.:])(?<!->)({_ALGORITHMS})\s*\("
)
# Functions of the C library and of POSIX that neither CUDA nor the package's headers have.
_C_FUNCTIONS = frozenset(
    re.findall(
        r"\w+",
        """
    fopen freopen fclose fread fwrite fprintf vprintf vfprintf sprintf snprintf vsnprintf
    scanf fscanf sscanf puts fputs putchar putc fputc getchar getc fgetc fgets gets ungetc
    fflush fseek ftell rewind feof ferror clearerr perror remove rename tmpfile tmpnam setbuf
    setvbuf calloc realloc aligned_alloc posix_memalign getenv setenv rand srand rand_r
    random srandom drand48 atoi atol atoll atof strtol strtoll strtoul strtoull strtof strtod
    qsort bsearch div ldiv lldiv strlen strnlen strcpy strncpy strcat strncat strcmp strncmp
    strcasecmp strchr strrchr strstr strtok strdup strndup strspn strcspn strpbrk strerror
    memcmp memchr memmove isalpha isdigit isalnum isspace isupper islower ispunct isprint
    isxdigit toupper tolower time difftime mktime gmtime localtime strftime asctime ctime
    gettimeofday clock_gettime nanosleep sleep usleep read write open close
    lseek access unlink mmap munmap pthread_create pthread_join pthread_mutex_lock
    pthread_mutex_unlock sched_yield omp_get_thread_num omp_get_num_threads omp_get_wtime
    dlopen dlsym mbstowcs wcstombs wcslen wprintf
    """,
    )
)
_C_VARIABLES = frozenset(("stdin", "stdout", "stderr", "errno"))
# What NVRTC knows after an include only, and the headers of the package for CPU cores bring.
_INCLUDED = {
    **dict.fromkeys(("NAN", "INFINITY", "HUGE_VAL", "M_PI", "M_E", "M_SQRT2", "M_PI_2"), "cmath"),
    **{f"{u}int{n}_t": "cstdint" for u in ("", "u") for n in (8, 16, 32, 64)},
    "intptr_t": "cstdint",
    "uintptr_t": "cstdint",
}  # fmt: skip
_LIBRARY_NAMES = frozenset(("std", *f"{_TEMPLATES}|{_OBJECTS}|{_ALGORITHMS}".split("|"))).union(
    _C_FUNCTIONS, _C_VARIABLES, _INCLUDED
)
_EXTENSION_TYPE = re.compile(r"\b(?:_Float16|_Complex|__complex__|__u?int128(?:_t)?|__float128)\b")
_ALIAS = re.compile(
    r"\btypedef\b(?P<meant>[^;{}]*?)(?P<name>[^\W\d]\w*)\s*(?:\[[^\]]*\]\s*)*;"
    r"|\busing\s+(?P<alias>[^\W\d]\w*)\s*=(?P<type>[^;{}]*);"
)
_WORD = re.compile(r"(?<!\w)[^\W\d]\w*")
_BEHIND_STD = re.compile(r"(.*)\bstd\s*::\s*\Z", re.DOTALL)
_INNER = re.compile(r"\w\s*::\s*\Z")  # `cuda::` before `std::`
_OPENS_STD = re.compile(r"\bnamespace\s+std\s*[{:]")
_BEHIND_OBJECT = re.compile(r"(?:\.|->|(?<!std)(?<!\s)::|\w\s*::)\s*\Z")
_WRITES = r"(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"
_CONST = re.compile(r"\bconst(?:expr)?\b")
# Before a scalar of floats: not within a template's brackets.
_FLOAT = re.compile(r"\b(?:float|double)\b(?!.*>)", re.DOTALL)
_CONST_POINTER = re.compile(r"\(?\s*\*(?:\s*\*)*\s*const\b")
_CONST_ALIAS = re.compile(
    r"\btypedef\b[^;{}]*\bconst\b[^;{}]*?(\w+)\s*;|\busing\s+(\w+)\s*=[^;{}]*\bconst\b[^;{}]*;"
)
_MAY_HOLD_DECLARATIONS = re.compile(r"\b(?:struct|class|union|extern|thread_local|auto)\b")
_NUMBER = re.compile(r"\s+\(?\s*(0|[1-9]\d*)[uU]?[lL]{0,2}\s*\)?\s*")
_STORAGE = re.compile(r"\b(?:static|volatile|const)\b")
# CUDA's functions: none of them is constexpr.
_CUDA_FUNCTION = re.compile(
    r"make_(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]|make_cu\w+"
    r"|__(?!builtin_|half2?\b|nv_)\w+|min|max|clock(?:64)?"
    r"|(?:f(?:abs|min|max|ma|mod|dim)|r?sqrt|r?cbrt|r?hypot|a?(?:sin|cos|tan)h?|(?:sin|cos)pi|atan2"
    r"|exp(?:2|10|m1)?|log(?:2|10|1p|b)?|pow|floor|ceil|trunc|l?l?r(?:ound|int)|nearbyint|copysign"
    r"|erfc?(?:inv|x)?|[tl]gamma|ldexp|scalbn|nan|remainder|nextafter)f?"
)
_FOLDED_BY_NVCC = re.compile(r"(?:ll|l)?abs|isnan|isinf|isfinite")  # and not by NVRTC
_UNEVALUATED = frozenset(
    ("sizeof_expression", "alignof_expression", "decltype", "lambda_expression", "type_descriptor")
)
_NO_BODY = frozenset(("default_method_clause", "delete_method_clause"))
_ANNOTATE = "write '__device__' before it"
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": the same for all.
_MOST_SHARED = 48 << 10
SHARED_HINT = "declare it 'extern __shared__' and pass its size for the launch: 'shared_mem=...'."
_DEFAULT = ", or pass the option '-default-device', which says so of all"


def find_host_only(source: str) -> tuple[tuple[HostOnly, ...], tuple[str, ...]]:
    r"""Return the code that a compiler of device code alone refuses in a source, and keys of the
    functions that have an annotation: names and types of parameters, behind the condition that
    they are under.

    Examples
    --------
    >>> found, _ = find_host_only("int n;\nfloat f(float x) { return x; }\n")
    >>> [(one.kind, one.name) for one in found]
    [('variable', 'n'), ('function', 'f')]
    """
    prepared = prepare(source)
    finder = _Finder(prepared)
    for plain, words in prepared.variants():
        finder.read(SourceTree(prepared, plain, words))
    return finder.result()


def _names_of_extensions(prepared: Prepared) -> dict[str, str]:
    """Return the macros and aliases that stand for a type of an extension, and the type. A name
    that may mean something else, in another scope or under a condition, is none.
    """
    declared = Counter(_all_declared(prepared.code))
    meant: list[tuple[str, str]] = []
    for directive in prepared.directives:
        if directive.name == "define" and (name := _WORD.match(directive.argument)):
            meant.append((name[0], directive.argument[name.end() :]))
    for found in _ALIAS.finditer(prepared.code):
        meant.append((found["name"] or found["alias"], found["meant"] or found["type"]))
        declared[meant[-1][0]] -= 1
    known: dict[str, str] = {}
    while True:  # one may stand for another
        more = {
            name: known.get(word, word)
            for name, code in meant
            for word in _WORD.findall(code)
            if name not in known and (word in known or _EXTENSION_TYPE.fullmatch(word))
        }
        if not more:
            break
        known |= more
    for spelled, code in meant:
        if spelled in known and known.keys().isdisjoint(_WORD.findall(code)):
            declared[spelled] += _EXTENSION_TYPE.search(code) is None
    return {name: type_ for name, type_ in known.items() if declared[name] <= 0}


def _numbers_of_macros(prepared: Prepared) -> dict[str, str]:
    """Return the macros that stand for one decimal number everywhere in the source."""
    numbers: dict[str, str] = {}
    changed: list[str] = []
    depth = 0  # under a condition, an option may define it instead
    for directive in prepared.directives:
        depth += directive.name in ("if", "ifdef", "ifndef")
        depth -= directive.name == "endif"
        if directive.name in ("define", "undef") and (name := _WORD.match(directive.argument)):
            found = _NUMBER.fullmatch(directive.argument, name.end())
            is_only = directive.name == "define" and name[0] not in numbers
            if found is None or not is_only or depth:
                changed.append(name[0])
            else:
                numbers[name[0]] = found[1]
    return {name: number for name, number in numbers.items() if name not in changed}


class _Finder:
    """Reads the branches of one source."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.found: dict[tuple[str, int], HostOnly] = {}
        self.annotated: dict[str, None] = {}
        self._aliases = {a or b for a, b in _CONST_ALIAS.findall(prepared.code)}
        self._uses_std = (
            _USING_STD.search(prepared.code) is not None
            and _USING_OTHER.search(prepared.code) is None  # which may have the same names
        )
        self._includes_any = any(d.name.startswith("include") for d in prepared.directives)
        self._macros = {
            name[0]
            for d in prepared.directives
            if d.name == "define" and (name := _WORD.match(d.argument))
        }
        self._numbers = _numbers_of_macros(prepared)
        self._extensions = _names_of_extensions(prepared)
        self._constants: set[str] = set()
        self._values: set[str] = set()  # scalars that are not const
        self._floats: set[str] = set()  # scalars of floats that are const, and not constexpr
        self._functions: set[str] = set()  # of the device that are not constexpr
        self._constexpr: set[str] = set()
        self._counts = Counter(_all_declared(prepared.code))
        self._shared = 0  # bytes of static shared memory in the function that is read
        self._declared = self._macros | set(_all_declared(prepared.code))
        if "std" in self._macros or _OPENS_STD.search(prepared.code):
            self._declared.add("std")

    def result(self) -> tuple[tuple[HostOnly, ...], tuple[str, ...]]:
        found = sorted(self.found.values(), key=lambda one: one.start)
        declared = [f"{DECLARED}{name}" for name in sorted(self._declared & _LIBRARY_NAMES)]
        declared += [f"{MACRO}{name}" for name in sorted(self._macros)]
        return tuple(found), (*self.annotated, *declared)

    def read(self, tree: SourceTree) -> None:
        """Read one branch of each conditional."""
        self.tree, self.kernels = tree, KernelReader(tree, {})
        stack: list[tuple[Node, str, bool]] = [(tree.root, "namespace", False)]
        while stack:
            node, scope, is_template = stack.pop()
            if node.type == "ERROR":
                continue
            inner = self._visit(node, scope, is_template)
            if inner is not None:
                is_template = node.type == "template_declaration"
                stack += ((child, inner, is_template) for child in reversed(node.children))

    def _add(self, kind: HostOnlyKind, name: str, start: int, end: int, key: str = "") -> None:
        first, last = self.prepared.start_of(start), self.prepared.end_of(end)
        if self.prepared.is_dead(first):
            return
        head = self.tree.plain[self.tree.plain.rfind(";", 0, start) + 1 : start]
        self.found.setdefault(
            (kind, first),
            HostOnly(
                kind,
                name,
                first,
                last,
                self.prepared.guard_of(first),
                self.prepared.has_lasting_guard(first),
                key,
                tuple(sorted(set(_WORD.findall(head)))) if kind in ("function", "variable") else (),
            ),
        )

    def _refuse(self, kind: HostOnlyKind, name: Node | None, key: str = "") -> None:
        """Add what a name declares, if there is one."""
        if name is not None:
            self._add(kind, self._name(name), name.start_byte, name.end_byte, key)

    def _visit(self, node: Node, scope: str, is_template: bool) -> str | None:
        """Read a node; return the scope of its children, None for not to look at them."""
        kind = node.type
        if kind in SCOPES or kind in ("namespace_definition", "linkage_specification"):
            return scope
        if kind in ("template_declaration", "friend_declaration"):
            return scope
        if kind == "function_definition":
            return self._read_function(node, scope)
        if kind in CLASSES:
            return "class"
        if kind == "field_declaration_list":
            return scope
        if kind in ("declaration", "field_declaration"):
            self._read_declaration(node, scope, is_template)
        elif kind == "lambda_expression":
            self._read_lambda(node, scope)
        return scope

    # -- functions -------------------------------------------------------------------------------

    def _read_function(self, node: Node, scope: str) -> str | None:
        if scope != "block":
            self._shared = 0
        declarator = node.child_by_field_name("declarator")
        function = function_declarator(node)
        body = node.child_by_field_name("body")
        start = self._head_start(node)
        end = body.start_byte if body is not None else node.end_byte
        words = {word.name for word in self.tree.words_between(start, end)}
        name = declarator if function is None else function.child_by_field_name("declarator")
        if declarator is None or name is None or (node.has_error and body is None):
            return None
        if "__global__" in words:
            self._read_kernel(node, name, words, scope, start)
            self._read_parameters(self._name(name), function)
        is_replaced = any(child.type in _NO_BODY for child in node.children)
        if not words.isdisjoint(("__device__", "__global__")):
            self._annotate(name, function, self.tree.plain[start : name.start_byte])
        elif "__host__" in words:
            self._refuse("host function", name)
            return None
        elif not (is_replaced and scope == "class") and not self._is_unknown(start, name):
            self._refuse("function", name, "" if scope == "class" else self._key(name, function))
        if body is None or body.type != "compound_statement":
            return None
        if not words.isdisjoint(("__device__", "__global__")):
            self._read_extensions(start, body.end_byte)
            self._read_body(body)
        inside = self.tree.plain[body.start_byte : body.end_byte]
        holds = _MAY_HOLD_DECLARATIONS.search(inside) is not None
        holds = holds or bool(self.tree.words_between(body.start_byte, body.end_byte))
        return "block" if holds else None

    def _head_start(self, node: Node) -> int:
        """Return where a declaration begins. An annotation may stand before ``friend``."""
        around = node.parent
        is_friend = around is not None and around.type == "friend_declaration"
        return self.tree.head_start(around if around is not None and is_friend else node)

    def _read_kernel(self, node: Node, name: Node, words: set[str], scope: str, start: int) -> None:
        """Check the form of a kernel."""
        returned = node.child_by_field_name("type")
        head = self.tree.plain[start : name.start_byte]
        body = node.child_by_field_name("body")
        end = node.end_byte if body is None else body.start_byte
        tail = re.search(r"->\s*void\s*\Z", self.tree.plain[name.end_byte : end])
        if scope == "class":
            self._refuse("kernel member", name)
        elif not words.isdisjoint(("__device__", "__host__")):
            self._refuse("kernel annotations", name)
        elif re.search(r"\bconst(?:expr|eval)\b", head):
            self._refuse("kernel constexpr", name)
        elif returned is not None and returned.type in (
            "primitive_type", "sized_type_specifier", "placeholder_type_specifier",
        ) and (self.tree.slice(returned) != "void" or "*" in head) and not tail:  # fmt: skip
            self._refuse("kernel result", name)

    def _read_parameters(self, kernel: str, function: Node | None) -> None:
        """Check that a kernel's parameters are values, pointers and lvalue references."""
        listed = None if function is None else function.child_by_field_name("parameters")
        for parameter in () if listed is None else listed.children:
            kind = parameter.child_by_field_name("declarator")
            is_rvalue = kind is not None and self.tree.slice(kind).startswith("&&")
            if is_rvalue or parameter.type == "...":
                self._add("kernel parameter", kernel, parameter.start_byte, parameter.end_byte)

    def _name(self, name: Node) -> str:
        if name.type == "operator_cast":
            return collapse(self.tree.plain[name.start_byte : name.end_byte]).partition("(")[0]
        return collapse(self.tree.slice(name))

    def _key(self, name: Node, function: Node | None) -> str:
        """Return a function's name without its class, and the types of its parameters."""
        spelled = re.sub(r"<.*>\Z", "", self._name(name), flags=re.DOTALL)
        last = spelled.rpartition("::")[2].strip() or spelled
        parameters = None if function is None else function.child_by_field_name("parameters")
        types = [p.type for p in self.kernels.read_parameters(parameters)] if parameters else []
        is_special = name.type == "template_function"
        return f"{last}(" if is_special else f"{last}({', '.join(types)})"

    def _annotate(self, name: Node, function: Node | None, head: str = "") -> None:
        is_constant = re.search(r"\bconst(?:expr|eval)\b", head) is not None
        (self._constexpr if is_constant else self._functions).add(last_name(self._name(name)))
        guard = self.prepared.guard_of(self.prepared.start_of(name.start_byte))
        key = self._key(name, function)
        for one in (key, key.partition("(")[0] + "("):
            self.annotated[f"{guard}\n{one}" if guard else one] = None

    def _is_unknown(self, start: int, name: Node) -> bool:
        """Return whether a macro that is not known stands before a name."""
        head = self.tree.plain[start : name.start_byte]
        return "__attribute" not in head and has_unknown_macro(head)

    def _read_lambda(self, node: Node, scope: str) -> None:
        declarator = node.child_by_field_name("declarator")
        body = node.child_by_field_name("body")
        if body is not None and scope == "block":
            for word in self.tree.words_between(node.start_byte, body.start_byte):
                self._add("annotated lambda", word.name, word.start, word.start + len(word.name))
                break
        # Not what stands behind them: a result's type may be `decltype(auto)`.
        parameters = declarator and declarator.child_by_field_name("parameters")
        if scope != "block":
            self._add("lambda", "", node.start_byte, node.start_byte + 1)
        elif parameters is not None and re.search(
            r"\bauto\b", self.tree.plain[parameters.start_byte : parameters.end_byte]
        ):
            self._add("generic lambda", "", node.start_byte, node.start_byte + 1)

    # -- declarations ----------------------------------------------------------------------------

    def _read_declaration(self, node: Node, scope: str, is_template: bool) -> None:
        declarators = node.children_by_field_name("declarator")
        if not declarators or node.has_error:
            return
        start = self._head_start(node)
        own = node.child_by_field_name("type")
        inside = None if own is None else own.child_by_field_name("body")
        values = (one.child_by_field_name("value") for one in declarators)
        others = [part for part in (inside, *values) if part is not None]
        words = {
            word.name
            for word in self.tree.words_between(start, node.end_byte)
            # Those of a class's members say nothing of its object, nor do those of a lambda.
            if not any(part.start_byte <= word.start < part.end_byte for part in others)
        }
        head = self.tree.plain[start : declarators[0].start_byte]
        if re.search(r"\btypedef\b|\b(?:texture|surface)\s*<", head):
            return  # a texture reference has an error of its own
        function = function_declarator(node)
        name = declared_name(declarators[0])
        is_function = function is not None and function.child_by_field_name("declarator") == name
        if scope == "namespace" or (scope == "block" and not is_function):
            self._read_memory(words, head, declarators, scope)
        if function is not None and is_function:
            self._read_prototype(node, function, words, scope, start)
            return
        if "__global__" in words:
            self._refuse("kernel variable", name)
            return
        is_static = re.search(r"\bstatic\b", head) is not None
        if scope == "class":
            if is_static and not self._is_const(head, declarators):
                self._add_variable("member", declarators)
            elif not is_static and (memory_of(words) is not None or "__shared__" in words):
                self._add_variable("memory of a member", declarators)
            return
        if scope == "block":
            is_host = re.search(r"\b(extern|thread_local)\b", head) is not None
        else:
            is_host = memory_of(words) is None and not is_template
            if is_host and self._is_const(head, declarators):
                self._read_values(head, declarators, "computed constant")
        if not is_host or "__shared__" in words or self._is_const(head, declarators):
            return
        if inside is None and name is not None and self._is_unknown(start, name):
            return
        self._add_variable("variable", declarators)

    def _read_memory(self, words: set[str], head: str, declarators: list[Node], scope: str) -> None:
        """Read a variable of CUDA's memories."""
        if memory_of(words) is not None and scope != "block":
            self._read_extensions(declarators[0].start_byte - len(head), declarators[-1].end_byte)
            self._read_values(head, declarators)
        if "__shared__" in words:
            self._add_shared(head, declarators)
            values = [d for d in declarators if d.type == "init_declarator"]
            self._add_variable("shared value", values)
        elif memory_of(words) is not None and scope == "block":
            if "static" not in head:
                self._add_variable("device in function", declarators)
        elif "__constant__" in words:
            names = map(declared_name, declarators)
            self._constants.update(self._name(name) for name in names if name is not None)

    def _read_values(
        self, head: str, declarators: list[Node], kind: HostOnlyKind = "computed value"
    ) -> None:
        """Find initializers that would have to be computed when a program starts."""
        for declarator in declarators:
            value, name = declarator.child_by_field_name("value"), declared_name(declarator)
            inner: Node | None = declarator
            if declarator.type == "init_declarator":
                inner = declarator.child_by_field_name("declarator")
            if (
                inner is not None
                and value is not None
                and name is not None
                and inner.type != "reference_declarator"
            ):
                self._read_headers(value.start_byte, value.end_byte)
                parts = list(self._evaluated(value))
                if any(self._is_computed(one, self._values, _CUDA_FUNCTION) for one in parts):
                    self._refuse(kind, name)
                elif any(self._is_computed(one, self._floats, _FOLDED_BY_NVCC) for one in parts):
                    self._refuse("computed constant", name)
            if inner is not None and inner == name:
                if _CONST.search(head) is None:
                    self._values.add(self._name(inner))
                elif "constexpr" not in head and _FLOAT.search(head):
                    self._floats.add(self._name(inner))

    def _evaluated(self, node: Node) -> Iterator[Node]:
        """Yield the parts of an expression whose values it needs: not that behind an `&`."""
        stack = [node]
        while stack:
            part = stack.pop()
            yield part
            is_address = part.type == "pointer_expression" and self.tree.slice(part)[:1] == "&"
            if part.type == "field_expression":
                stack += part.children_by_field_name("argument")
            elif part.type not in _UNEVALUATED and not is_address:
                stack += part.named_children

    def _is_computed(self, node: Node, values: set[str], library: re.Pattern[str]) -> bool:
        """Whether a part of an initializer is no constant: the value of one of these variables, a
        call of one of these functions, or of one of the source's.
        """
        if node.type == "call_expression":
            called = node.child_by_field_name("function")
            name = "" if called is None else self.tree.slice(called)
            if name in self._declared:
                return name in self._functions and name not in self._constexpr | self._macros
            return library.fullmatch(name.removeprefix("::")) is not None
        is_called = node.parent is not None and node.parent.type == "call_expression"
        is_variable = node.type == "identifier" and not is_called
        # One name may stand for several things: then nothing is said. A function's is an address.
        name = self.tree.slice(node) if is_variable else ""
        return is_variable and self._counts[name] == 1 and name in values

    def _add_shared(self, head: str, declarators: list[Node]) -> None:
        """Count static shared memory, as far as numbers say how much it is."""
        kind = number_type(type_source(_STORAGE.sub(" ", head)))
        if kind is None or "extern" in head:
            return
        for declarator in declarators:
            spelled = self.tree.plain[declarator.start_byte : declarator.end_byte]
            extents = [
                self._numbers.get(extent, extent)
                for extent in re.findall(r"\[\s*(\w+)\s*\]", spelled)
            ]
            if not all(map(str.isdecimal, extents)) or len(extents) != spelled.count("["):
                continue
            if "*" in spelled:
                continue
            before = self._shared
            self._shared += kind.size * math.prod(map(int, extents))
            if before <= _MOST_SHARED < self._shared:
                self._refuse("shared memory", declared_name(declarator))

    def _add_variable(self, kind: HostOnlyKind, declarators: list[Node]) -> None:
        for declarator in declarators:
            if declarator.type != "parenthesized_declarator":  # `f(x);` may be a macro's use
                self._refuse(kind, declared_name(declarator))

    def _is_const(self, head: str, declarators: list[Node]) -> bool:
        if "constexpr" in head:
            return True
        spelled = [self.tree.plain[d.start_byte : d.end_byte] for d in declarators]
        if any(one.startswith("&") for one in spelled):
            return True
        pointers = [one for one in spelled if re.match(r"\(?\s*\*", one)]
        if pointers:
            return all(map(_CONST_POINTER.match, pointers))
        return _CONST.search(head) is not None or not self._aliases.isdisjoint(_WORD.findall(head))

    def _read_prototype(
        self, node: Node, function: Node, words: set[str], scope: str, start: int
    ) -> None:
        """Read a declaration of a function. In a block it may declare an object."""
        name = function.child_by_field_name("declarator")
        if name is None or scope == "block":
            return
        if not words.isdisjoint(("__device__", "__global__")):
            self._annotate(name, function, self.tree.plain[start : name.start_byte])
            return
        is_guide = scope == "namespace" and node.child_by_field_name("type") is None
        tail = self.tree.plain[function.end_byte : node.end_byte]
        is_replaced = scope == "class" and re.search(r"=\s*(?:default|delete)\b", tail)
        # What is declared with C linkage may be one of CUDA's own functions.
        is_c = re.search(r'extern\s*"[^"]*"', self.tree.prepared.shown[max(start - 20, 0) : start])
        is_macro = self._name(name) in self._macros
        if is_guide or is_replaced or is_c or is_macro or self._is_unknown(start, name):
            return
        kind: HostOnlyKind = "host function" if "__host__" in words else "function"
        self._refuse(kind, name, "" if scope == "class" else self._key(name, function))

    # -- bodies ----------------------------------------------------------------------------------

    def _read_extensions(self, start: int, end: int) -> None:
        """Find what device code has of the host's compilers."""
        uses = [
            (found[0].strip(), found.end() - len(found[0].strip()), found.end())
            for found in EXTENSION.finditer(self.tree.plain, start, end)
        ]
        if self._extensions:
            uses += [
                (self._extensions[found[0]], *found.span())
                for found in _WORD.finditer(self.tree.plain, start, end)
                if found[0] in self._extensions
            ]
        for name, first, last in uses:
            wide = re.search("int128|float128", name)
            kind: HostOnlyKind = "128 bits" if wide else "extension"
            self._add(kind, f"{name} <{wide[0]}>" if wide else name, first, last)

    def _read_body(self, body: Node) -> None:
        """Find what device code names of libraries for the host."""
        self._read_headers(body.start_byte, body.end_byte)
        # Where something else has the name as well, it may be meant: a parameter, a member.
        own = {name for name in self._constants if self._counts[name] == 1} - self._macros
        if own:
            names = "|".join(map(re.escape, sorted(own)))
            written = re.compile(rf"(?<![\w.:>])({names})\s*(?:\[[^\[\]]*\]\s*)*{_WRITES}")
            for use in written.finditer(self.tree.plain, body.start_byte, body.end_byte):
                self._add("constant written", use[1], *use.span(1))

    def _read_headers(self, first: int, last: int) -> None:
        """Find names of libraries for the host, and of headers that are not included."""
        for start, name, header in self._named(first, last):
            kind: HostOnlyKind = "without include" if header else "library"
            self._add(kind, f"{name} <{header}>" if header else name, start, start + len(name))

    def _named(self, first: int, last: int) -> Iterator[tuple[int, str, str]]:
        plain = self.tree.plain
        for found in _STD.finditer(plain, first, last):
            before = plain[max(found.start() - 40, 0) : found.start()]
            if "std" not in self._declared and not _INNER.search(before):
                yield found.start(1), found[1], ""
        if self._uses_std:
            for found in _PLAIN_STD.finditer(plain, first, last):
                name = found[1] or found[2] or found[3]
                if name not in self._declared:
                    yield found.start(), name, ""
        for found in BUILTIN.finditer(plain, first, last):
            yield found.start(), found[0], ""
        for found in _WORD.finditer(plain, first, last):
            name = found[0]
            header = "" if self._includes_any else _INCLUDED.get(name, "")
            is_function = name in _C_FUNCTIONS and plain[found.end() : last].lstrip()[:1] == "("
            if not (header or is_function or name in _C_VARIABLES) or name in self._declared:
                continue
            before = plain[max(found.start() - 40, 0) : found.start()]
            scope = _BEHIND_STD.search(before)
            if not _BEHIND_OBJECT.search(before) or (scope and not _INNER.search(scope[1])):
                yield found.start(), name, header


_DECLARED = re.compile(
    r"[\w>*&]\s*[\s*&]\s*([^\W\d]\w*)\s*(?=[=;,{\[)(:])|\busing\s+([^\W\d]\w*)\s*="
)
# A pointer to a function, a structured binding, a capture: `(*f)`, `[f, g]`, `[f = x]`.
_DECLARED_INSIDE = re.compile(r"(?:\(\s*\*|\[|,)\s*([^\W\d]\w*)\s*(?=[)\],={;]|\[)")
_NO_TYPES = frozenset(
    ("return", "else", "case", "goto", "new", "delete", "throw", "do", "namespace")
)
_TYPED = re.compile(r"([^\W\d]\w*)\s*(?:<[^<>;{}]*>)?[\s*&]+\Z")


def _all_declared(code: str) -> Iterator[str]:
    """Yield the name of each declaration that a source may have: behind a type."""
    for found in _DECLARED_INSIDE.finditer(code):
        yield found[1]
    for found in _DECLARED.finditer(code):
        if found[2]:
            yield found[2]
            continue
        before = _TYPED.search(code, max(found.start() - 80, 0), found.start(1))
        if before is not None and before[1] not in _NO_TYPES:
            yield found[1]


_SENTENCES: Mapping[HostOnlyKind, tuple[str, str]] = {
    "function": (
        "'{0}' is a function of the host: it has none of '__global__', '__device__'",
        _ANNOTATE + _DEFAULT,
    ),
    "host function": (
        "'{0}' is a function of the host, which a compiler of device code alone does not take",
        "write '__host__ __device__', or leave it out",
    ),
    "variable": (
        "'{0}' is a variable of the host: it is neither const nor '__device__', '__constant__' or "
        "'__shared__'",
        _ANNOTATE + _DEFAULT + ". Constants are 'constexpr' or '__constant__'",
    ),
    "member": (
        "'{0}' is a static member that is not const: a variable of the host",
        "declare a '__device__' variable beside the class" + _DEFAULT,
    ),
    "memory of a member": (
        "'{0}' is a member of a class, and lies where its object lies",
        "leave '__shared__', '__device__' or '__constant__' out",
    ),
    "lambda": (
        "a lambda outside of functions is a function of the host",
        "write a class with '__device__ operator()' instead",
    ),
    "annotated lambda": (
        "NVRTC takes no annotation of a lambda, such as '{0}'",
        "leave it out: a lambda in device code is the device's",
    ),
    "generic lambda": (
        "NVRTC takes a lambda with 'auto' parameters for a function of the host",
        "name the parameters' types, or pass the option '-default-device'",
    ),
    "kernel member": (
        "kernel '{0}' is a member of a class",
        "declare it outside, or as a function that is '__device__'",
    ),
    "kernel annotations": ("kernel '{0}' has another annotation beside '__global__'", "remove it"),
    "kernel constexpr": ("kernel '{0}' is 'constexpr', which no kernel can be", "remove it"),
    "kernel parameter": (
        "kernel '{0}' has a parameter that no kernel can have",
        "its parameters are values, pointers and lvalue references",
    ),
    "kernel result": ("kernel '{0}' returns a value", "a kernel returns 'void'"),
    "kernel variable": ("'{0}' is '__global__', and it is no function", "write '__device__'"),
    "shared memory": (
        f"static shared memory with '{{0}}' is more than the {_MOST_SHARED} bytes of a block",
        SHARED_HINT.removesuffix("."),
    ),
    "shared value": ("'{0}' is '__shared__' and has an initializer", "assign to it instead"),
    "computed value": (
        "'{0}' has an initializer that is no constant expression",
        "write a constant, declare its functions 'constexpr', or assign the value from Python: "
        "'module.get_array'",
    ),
    "computed constant": (
        "'{0}' has an initializer that is no constant expression",
        "write a constant, or declare the variables and functions in it 'constexpr'",
    ),
    "device in function": (
        "'{0}' is a variable of the device's memory inside of a function",
        "declare it outside, or without '__device__' and '__constant__'",
    ),
    "constant written": (
        "'{0}' is '__constant__', and a kernel cannot write it",
        "declare it '__device__', or write it from Python: 'module.get_array'",
    ),
    "library": (
        "'{0}' is not there for device code",
        "it is the host's; for code that CPU cores alone run, write '#ifdef __KERNELTK_HOST__' "
        "around it",
    ),
    "extension": (
        "'{0}' is an extension of C++ that NVRTC does not have",
        "write standard C++; for code that CPU cores alone run, write '#ifdef __KERNELTK_HOST__' "
        "around it",
    ),
    "128 bits": ("NVRTC takes '{0}' with an option only", "pass the option '--device-{1}'"),
    "without include": ("identifier '{0}' is undefined", "write '#include <{1}>'"),
    "header": ("it includes '{0}', which NVRTC does not have", "leave it out for device code"),
}


def explanation(found: HostOnly) -> tuple[str, str]:
    """Return the sentence for what is refused, without its end, and a hint."""
    sentence, hint = _SENTENCES[found.kind]
    name, _, header = found.name.partition(" <")
    return sentence.format(name), hint.format(name, header.removesuffix(">")) + "."
