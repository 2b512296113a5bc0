"""Everything that a unit's source is made of: what its templates are given, and which they are."""

from __future__ import annotations

import hashlib
import re
from typing import Any, NamedTuple

import numpy as np

from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.real_overloads import HEADER, real_overloads
from kerneltk.codegen.specialization import Specialization, ended
from kerneltk.core.artifacts import Capabilities
from kerneltk.core.dtypes import bool_bytes, describe
from kerneltk.core.lexer import BUILTIN, EXTENSION, NO_INLINE, blanked, uses_textures
from kerneltk.core.records import pattern
from kerneltk.errors import CompileError

_HEADER_ORDER = (
    "core.hpp", "host_float_math.hpp", "float16.hpp", "bfloat16.hpp", HEADER, "complex.hpp",
    "complex_powers.hpp", "complex_circular.hpp", "array_view.hpp", "cupy_traits.hpp",
    "cudart.hpp", "divide.hpp", "unaligned.hpp",
    "memory.hpp", "stream.hpp", "atomics.hpp", "reduce.hpp", "host_reduce.hpp",
    "host_textures.hpp", "host_vector.hpp",
)  # fmt: skip
# Headers that CuPy's kernels have without an include: of CUDA, and what NVRTC has built in.
_BUILT_IN = (
    (
        pattern(r"(__)?(half2?|nv_half2?|h(sqrt|exp|log|sin|cos|floor|ceil)|__h[a-z]\w+)\Z"),
        "cuda_fp16.h",
    ),
    (pattern(r"(__)?(nv_bfloat162?|\w+2bfloat16\w*|bfloat162\w+)\Z"), "cuda_bf16.h"),
    (pattern(r"initializer_list\Z"), "initializer_list"),
)
# What CUDA C++ has without an include, and CPU cores by a header.
_VECTOR_NAMES = pattern(
    r"(make_)?(u?(char|short|int|long|longlong)|float|double)[1-4](_\d+a)?\Z|dim3\Z"
)
_COMPLEX_NAMES = (
    (
        "complex_powers.hpp",
        frozenset(("exp", "exp2", "expm1", "log", "log10", "log2", "log1p", "sqrt", "pow")),
    ),
    (
        "complex_circular.hpp",
        frozenset(a + f + h for a in ("", "a") for f in ("sin", "cos", "tan") for h in ("", "h")),
    ),
)
# The functions of host_float_math.hpp.
_FLOAT_MATH = frozenset((
    "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "sin", "cos",
    "asin", "acos", "atanh", "cbrt", "pow",
))  # fmt: skip
_CALLS_FLOAT_MATH = pattern(rf"(?<!\w)::(?:{'|'.join(sorted(_FLOAT_MATH))})\(|jit::power\(")
# Of doubles too, for which no declaration of `exp` can be preferred. It costs a fifth, and so is
# for values that are chosen: those that masks leave out are often -1e9, or infinite.
_EXP = pattern(r"(?<![\w:])::exp\(")
_BRANCHES = pattern(r"\b(?:if|for|while|do|switch|goto)\b")
_NO_CODE = pattern(r"(?://|#).*")  # comments and directives of generated source
_CONDITION = pattern(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_LOCAL = pattern(r"\bthread_local\b")
# What core.hpp declares beyond NVRTC's own names; parsing it takes a tenth of a small compile.
_CORE_NAMES = pattern(
    r"(u?int(8|16|32|64|ptr)_t|INFINITY|NAN|M_[A-Z0-9_]+|min|max|_floor_divide)\Z"
)


class TemplateInput(NamedTuple):
    """What the source of a unit is rendered from, and nothing else.

    Parameters
    ----------
    template : str
        The template's file name.
    context : dict
        What it is given: strings, numbers and plain values of them, which show all they are by
        their representation.
    prefix : str
        What stands before its result.
    origins : tuple of (str, str)
        The user's sources, by their names.
    """

    template: str
    context: dict[str, Any]
    prefix: str
    origins: tuple[tuple[str, str], ...]

    @property
    def back(self) -> str:
        """A line that none of the user's sources can hold. It stands behind each of them, and not
        in the result.
        """
        sources = repr(self.origins).encode("utf-8", "surrogatepass")
        return f"#line @{hashlib.sha256(sources).hexdigest()}"

    def digest(self) -> str:
        """Return a hash of all that decides the result."""
        text = repr((self.template, self.context, self.prefix))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _headers(specialization: Specialization, own: set[str]) -> list[str]:
    definition = specialization.definition
    wanted = set(own)
    opaque, names = definition.facts.opaque, definition.facts.names
    if specialization.backend.emulates_cuda or opaque or any(map(_CORE_NAMES.match, names)):
        wanted.add("core.hpp")
    for dtype in specialization.binding.dtypes:
        wanted.update(describe(dtype).headers)
    for name, header in (
        ("float16", "float16.hpp"),
        ("bfloat16", "bfloat16.hpp"),
        ("complex", "complex.hpp"),
        ("thrust", "complex.hpp"),
        ("xsf", "complex_circular.hpp"),  # CuPy's special functions
        ("cupy", "cupy_traits.hpp"),
        ("CArrayIterator", "cupy_traits.hpp"),
        ("CUPY_FOR", "cupy_traits.hpp"),
        ("CArray", "array_view.hpp"),
        ("CIndexer", "array_view.hpp"),
    ):
        if name in names:
            wanted.add(header)
    if not specialization.backend.emulates_cuda and real_overloads(names):
        wanted.add(HEADER)
    if specialization.backend.emulates_cuda and _is_for_vector_loops(definition):
        wanted.add("host_float_math.hpp")
    if any(name.startswith(("CUDART_", "FLT_", "DBL_")) for name in names):
        wanted.add("cudart.hpp")
    if not specialization.backend.emulates_cuda and any(n.startswith("atomic") for n in names):
        wanted.add("atomics.hpp")
    if specialization.backend.emulates_cuda and uses_textures(names):
        wanted.add("host_textures.hpp")
    if specialization.backend.emulates_cuda and any(map(_VECTOR_NAMES.match, names)):
        wanted.add("host_vector.hpp")
    if "complex.hpp" in wanted:
        wanted.update(header for header, own in _COMPLEX_NAMES if opaque or own & names)
    ranks = {header: rank for rank, header in enumerate(_HEADER_ORDER)}
    return sorted(wanted, key=ranks.__getitem__)


def _is_for_vector_loops(definition: KernelDefinition) -> bool:
    """Whether a body calls functions that have other code for vectorised loops, without loops or
    exits of its own. A user's preamble may include or declare functions of these names; one that is
    generated has the body's functions, which may have no branches either.

    Generated rows take a third longer with them, and a fifth of the time where arguments are
    special, which is so where values are chosen: masks.
    """
    facts = definition.facts
    if facts.opaque or facts.local_memory:
        return False
    is_alone = not (facts.loops or facts.exits_early or facts.by_reference)
    if definition.known_facts is None:
        has_preamble = bool(definition.preamble.strip())
        return is_alone and not has_preamble and not facts.names.isdisjoint(_FLOAT_MATH)
    source = _NO_CODE.sub("", definition.preamble)
    if _CALLS_FLOAT_MATH.search(source) is None or _BRANCHES.search(source) is not None:
        return False
    return is_alone or _chooses(source)


def _chooses(source: str) -> bool:
    """Whether generated source, without comments, chooses values."""
    return "?" in source


def _takes_addresses_of_bools(specialization: Specialization) -> bool:
    """Whether a body may take the address of an element of a raw bool array: ``&x[0]``. An ``&``
    that is another operator costs nothing.
    """
    definition = specialization.definition
    parameters = zip(definition.signature.parameters, specialization.binding.dtypes, strict=True)
    names = [p.name for p, dtype in parameters if p.raw and p.is_const and dtype.kind == "b"]
    taken = rf"&\s*(?:{'|'.join(names)})\s*\["
    return bool(names) and any(re.search(taken, source) for _, source in definition.origins)


def _declarations(specialization: Specialization) -> str:
    texts = [describe(dtype).declaration for dtype in specialization.binding.dtypes]
    texts += [_settling(dtype, specialization.backend) for dtype in specialization.binding.dtypes]
    if not specialization.backend.emulates_cuda:
        texts.append(real_overloads(specialization.definition.facts.names))
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _settling(dtype: np.dtype[Any], backend: Capabilities) -> str:
    """The functions of ``memory.hpp`` for records with bools, whose bytes become 0 or 1."""
    runs = bool_bytes(dtype) if dtype.names is not None else ()
    if not runs:
        return ""
    name = describe(dtype).ctype
    calls = " ".join(f"settle_bytes(&r, {first}, {count});" for first, count in runs)
    lines = [
        "namespace kerneltk {",
        f"__device__ __forceinline__ void settle({name}& r) {{ {calls} }}",
        f"__device__ __forceinline__ {name} get(const {name}* a) "
        f"{{ {name} r = *a; settle(r); return r; }}",
    ]
    if backend.walks_chunks:
        lines += [
            f"__forceinline__ void fetch({name}& r, const void* a) "
            "{ __builtin_memcpy(static_cast<void*>(&r), a, sizeof(r)); settle(r); }"
        ]
    return "\n".join([*lines, "}"])


def _refuse_extensions(definition: KernelDefinition) -> None:
    """Raise CompileError for what a user wrote, the compilers for CPU cores take and NVRTC does
    not. Sources with conditions are left to the compiler: a GPU may have the other branch.
    """
    sources = [(origin, blanked(source)) for origin, source in definition.origins]
    if any(_CONDITION.search(plain) for _, plain in sources):
        return
    for origin, plain in sources:
        for found in (
            *EXTENSION.finditer(plain),
            *BUILTIN.finditer(plain),
            *_LOCAL.finditer(plain),
        ):
            name = found[0].strip()
            if "128" in name and any("128" in option for option in definition.options):
                continue
            if name[0] == "." and any(o.endswith("c++20") for o in definition.options):
                continue
            from kerneltk.core.diagnostics import compile_error_message  # for errors only

            *before, line = plain[: found.end() - len(name)].split("\n")
            place = f"{origin}:{len(before) + 1}:{len(line.encode()) + 1}"
            log = f"{place}: error: NVRTC has no '{name}'"
            message = compile_error_message(log, definition.origins, definition.name)
            raise CompileError(message, plain, log)


def template_input(specialization: Specialization) -> TemplateInput:
    """The input of the templates for the unit of a specialization."""
    definition = specialization.definition
    names, preamble = definition.facts.names, ended(definition.preamble)
    if specialization.backend.emulates_cuda and definition.known_facts is None:
        _refuse_extensions(definition)
    includes = [f"#include <{h}>\n" for words, h in _BUILT_IN if any(map(words.match, names))]
    if _takes_addresses_of_bools(specialization):
        includes.append("#define KERNELTK_BOOL_ADDRESSES\n")
    if specialization.backend.emulates_cuda and "__noinline__" in names:
        includes.append("#define _kt_noinline __attribute__((__noinline__))\n")
        preamble = NO_INLINE.sub("_kt_noinline", preamble)
    headers = _headers(specialization, specialization.headers())
    if "host_float_math.hpp" in headers and _chooses(_NO_CODE.sub("", preamble)):
        preamble = _EXP.sub("::kerneltk::float_math::exp(", preamble)
    context = {
        "headers": headers,
        "declarations": _declarations(specialization),
        "typedefs": [
            (name, describe(dtype).ctype) for name, dtype in specialization.binding.variables
        ],
        "members": specialization.arguments.declarations,
        "preamble": preamble,
        "entry": definition.entry(specialization.backend),
        "scalars": specialization.names(scalars=True),
        "raws": specialization.names(scalars=False),
        **specialization.context(),
    }
    return TemplateInput(
        f"{specialization.template}.{specialization.backend.template_suffix}.j2",
        context,
        "".join(includes),
        definition.origins,
    )
