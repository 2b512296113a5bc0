"""Which names users may give to what generated C++ declares."""

from __future__ import annotations

from kerneltk.core.records import pattern

# fmt: off
CXX_KEYWORDS = frozenset((
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "char8_t", "char16_t", "char32_t", "class", "compl", "concept",
    "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "co_await",
    "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "dynamic_cast",
    "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
    "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
    "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
    "reinterpret_cast", "requires", "return", "short", "signed", "sizeof", "static",
    "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
    "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using",
    "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
))

REAL_FUNCTIONS = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign",
    "cos", "cosh", "cospi", "cyl_bessel_i0", "cyl_bessel_i1", "erf", "erfc", "erfcinv",
    "erfcx", "erfinv", "exp", "exp10", "exp2", "expm1", "fabs", "fdim", "fdivide", "floor",
    "fma", "fmax", "fmin", "fmod", "frexp", "hypot", "ilogb", "isfinite", "isinf", "isnan",
    "j0", "j1", "jn", "ldexp", "lgamma", "llrint", "llround", "log", "log10", "log1p", "log2",
    "logb", "lrint", "lround", "modf", "nan", "nearbyint", "nextafter", "norm", "norm3d",
    "norm4d", "normcdf", "normcdfinv", "pow", "rcbrt", "remainder", "remquo", "rhypot",
    "rint", "rnorm", "rnorm3d", "rnorm4d", "round", "rsqrt", "scalbln", "scalbn", "signbit",
    "sin", "sincos", "sincospi", "sinh", "sinpi", "sqrt", "tan", "tanh", "tgamma", "trunc",
    "y0", "y1", "yn",
)
_GLOBAL_NAMES = frozenset((
    *REAL_FUNCTIONS, *(f"{name}f" for name in REAL_FUNCTIONS),
    # C's library.
    "abort", "abs", "atoi", "calloc", "clock", "clock_t", "exit", "free", "labs", "llabs", "main",
    "malloc", "memcmp", "memcpy", "memmove", "memset", "printf", "ptrdiff_t", "puts", "realloc",
    "size_t", "strlen", "va_list",
    # CUDA's variables, types and functions.
    "MAJOR_VERSION", "MINOR_VERSION", "PATCH_LEVEL", "all", "any", "ballot", "blockDim",
    "blockIdx", "clock64", "dadd", "dim3", "dmul", "double2int", "double2ll", "double2uint",
    "double2ull", "dsub", "float2double", "gridDim", "int2double", "libraryPropertyType",
    "libraryPropertyType_t", "ll2double", "llmax", "llmin", "max", "min", "syncthreads_and",
    "syncthreads_count", "syncthreads_or", "threadIdx", "uint2double", "ull2double", "ullmax",
    "ullmin", "umax", "umin", "warpSize",
    # The package's headers.
    "CArray", "CArrayIterator", "CIndexer", "_floor_divide", "arg", "bfloat16", "complex", "conj",
    "float16", "imag", "iszero", "kerneltk", "polar", "proj", "real", "std", "thrust",
))
_GLOBAL_FAMILIES = pattern(
    r"cuda[A-Za-z]\w*|CUDA\w*|CU[a-z]\w*|CU_\w*|NV_\w*|u?int(ptr|max|(_fast|_least)?(8|16|32|64))_t"
    r"|(make_)?((u?(char|short|int|long|longlong)|float|double)[1-4](_(16|32)a)?|(nv_)?half2?)"
    r"|(tex|surf)(1D|2D|3D|Cubemap)[A-Za-z]*|atomic[A-Z][A-Za-z]+(_block|_system)?"
    r"|h2?(sqrt|rsqrt|exp|exp2|exp10|log|log2|log10|sin|cos|tanh|tanh_approx|floor|ceil|trunc|rint"
    r"|rcp)"
)
_MACROS = pattern(
    r"NULL|NAN|INFINITY|NDEBUG|assert|va_(arg|copy|end|start)"
    r"|M_(E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)"
    r"|KERNELTK_\w+|CUDA\w+|CU_\w+|NV_\w+|cuda[A-Z]\w*"
)
# fmt: on

# C++ reserves all names of an underscore and a capital. Short ones (`_A`, `_Tx`) are variables in
# programs that run: those that compilers or musl's headers have are the keywords and macros below.
_RESERVED = pattern(
    r"_[A-Z][a-z0-9]*[A-Z_]|_(Accum|Addr|Alignas|Alignof|Atomic|Bool|Complex|Decimal\d+|Float\d+x?"
    r"|Fract|Generic|Imaginary|Int64|Nonnull|Noreturn|Nullable|Pragma|Reg|Sat|Thread)\Z"
)
_IDENTIFIER = pattern(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def identifier_problem(name: str) -> str:
    """Return why `name` cannot be a name in generated C++, or an empty string."""
    if not _IDENTIFIER.match(name):
        return "is not a C identifier"
    if name in CXX_KEYWORDS:
        return "is a C++ keyword"
    if name.startswith(("__", "_kt")) or _RESERVED.match(name):
        return "is reserved for generated code"
    return ""


def entry_name(name: str) -> str:
    """Return the name of an entry point in generated C++ for a function of that name."""
    found = (name, f"{name}_kernel")
    return next((entry for entry in found if not identifier_problem(entry)), "kernel")


def is_macro(name: str) -> bool:
    """Return whether the headers of generated C++ define a macro of that name, on any backend."""
    return _MACROS.fullmatch(name) is not None


def variable_problem(name: str) -> str:
    """Return why `name` cannot be a variable's or a member's in generated C++, or an empty string.

    It keeps its name there, since the user's source refers to it.
    """
    problem = identifier_problem(name)
    if not problem and is_macro(name):
        problem = "is a macro of C's or CUDA's headers"
    return problem


def is_library_name(name: str) -> bool:
    """Return whether C's library, CUDA or the package's headers have `name` at global scope, on any
    backend, so that no type or function can be called so.
    """
    return name in _GLOBAL_NAMES or _GLOBAL_FAMILIES.fullmatch(name) is not None or is_macro(name)


def stem_of(name: str) -> str:
    """The stem of names that no library has, which are made by something behind it: of
    ``max`` itself, but of ``cudaMalloc``, which all of CUDA's names begin like, ``v_cudaMalloc``.
    """
    return f"v_{name}" if is_library_name(f"{name}_1") else name
