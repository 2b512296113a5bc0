"""What errors of compilers mean: features that CUDA removed, headers that are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kerneltk.core.diagnostics import read_log
from kerneltk.cuda_cpp.source import RawSource
from kerneltk.cuda_cpp.syntax.host_part.device_only import SHARED_HINT
from kerneltk.cuda_cpp.syntax.preprocess import blank_noise, open_brace
from kerneltk.cuda_cpp.syntax.preprocessor.pushed_macros import UNKNOWN
from kerneltk.errors import CompileError, Snippet, render_message

_MASK = "with the mask of the lanes that take part, such as 0xffffffff"
_SHUFFLES = {
    "__shfl": "__shfl_sync",
    "__shfl_up": "__shfl_up_sync",
    "__shfl_down": "__shfl_down_sync",
    "__shfl_xor": "__shfl_xor_sync",
    "__any": "__any_sync",
    "__all": "__all_sync",
    "__ballot": "__ballot_sync",
}
# What CUDA had once: the use of it, what it is called, since when it is gone, and what to write.
_REMOVED: tuple[tuple[re.Pattern[str], str, str, str], ...] = (
    (
        re.compile(r"\b(texture)\s*<[^;{}()]*>\s*\w+\s*[;=(]"),
        "texture references",
        "CUDA 12 removed",
        "declare a parameter 'cudaTextureObject_t tex' instead, and read it by a function with the "
        "type of its elements: 'tex1Dfetch<float>(tex, i)'.",
    ),
    (
        re.compile(r"\b(surface)\s*<[^;{}()]*>\s*\w+\s*[;=(]"),
        "surface references",
        "CUDA 12 removed",
        "declare a parameter 'cudaSurfaceObject_t surf' instead.",
    ),
    *(
        (
            re.compile(rf"(?<!\w)({old})\s*\("),
            f"'{old}'",
            "GPUs since Volta have no",
            f"write '{new}', {_MASK}.",
        )
        for old, new in _SHUFFLES.items()
    ),
)
_REFERENCES = ("texture", "surface")  # variables of devices, without an annotation
_NO_HEADER = re.compile(
    r"cannot open source file \"([^\"]+)\"|'?([^\s:']+)'?(?:: No such file|.*not found)"
)
_UNKNOWN = re.compile(
    r"identifier \"(\w+)\" is undefined"
    r"|(?:undeclared identifier )?'(\w+)'(?: was not declared in this scope|\Z)"
)
_LAUNCH = re.compile(r"device-side kernel launch|separate compilation mode")
_LAUNCHED = "kernels that launch kernels are compiled with options=('-rdc=true',)."
_OF_RUNTIME = re.compile(r"(?:cuda|cu|cublas|cublasLt|cufft|curand|cusparse|cusolver|nccl)[A-Z]\w*")
_THROWN = re.compile(r"exception handling disabled|does not support exception handling")
_POPPED = (
    "NVRTC knows no '#pragma pop_macro', and the macro's definition is in a header that is not "
    "read. Define it anew in the place of the pragma."
)
_IN_THRUST = re.compile(r"\A.*(?: included code \(|\(declared at line \d+ of )\S*/thrust/")
_THRUST = (
    "NVRTC compiles complex numbers, tuples, random numbers and function objects of Thrust, and "
    'not its algorithms. backend="nvcc" compiles these as well.'
)
_SHARED = re.compile(
    r"Entry function '(\w+)' uses too much shared data \(0x(\w+) bytes, 0x(\w+) max\)"
)
# Headers of packages: their names, and the package, where {} is CUDA's major version.
_PACKAGES = (
    (re.compile(r"curand\w*\.h"), "'nvidia-curand'"),
    (re.compile(r"(?:cub|thrust|cuda|nv)/.*"), "'nvidia-cuda-cccl'"),
    (re.compile(r"crt/.*|mma\.h"), "'nvidia-cuda-nvcc' and 'nvidia-cuda-crt'"),
    (re.compile(r"(?:cuda|cooperative_groups|vector_|surface_|texture_|device_)\w*(?:/.*|\.hp*)"),
     "'nvidia-cuda-runtime'"),
)  # fmt: skip


def explained(error: CompileError, source: RawSource) -> CompileError:
    """Return a compiler's error, or where it has a known cause one that names that."""
    if _IN_THRUST.match(str(error)):
        return _hinted(error, _THRUST)
    messages = [found.message for found in read_log(error.log)]
    if "too much shared data" in error.log:  # the assembler's, with no location
        messages += error.log.splitlines()
    for message in _causes(messages, source):
        return CompileError(message, error.source, error.log)
    for message in messages:
        found = _UNKNOWN.search(message)
        name = found and (found[1] or found[2])
        hint = _POPPED if name == UNKNOWN else _LAUNCHED if _LAUNCH.search(message) else ""
        if _THROWN.search(message):
            hint = (
                "device code has no exceptions: return a value that says so, or write '__trap()'."
            )
        if name and not hint:
            hint = _hint_of_host(name, source)
        if hint:
            return _hinted(error, hint)
    return error


def _hinted(error: CompileError, hint: str) -> CompileError:
    shown = str(error).partition("\n  Hint: ")[0]
    return CompileError(f"{shown}\n  Hint: {hint}", error.source, error.log)


def of_open_brace(source: RawSource, title: str, log: str) -> str:
    """Return the message for a brace of a source that nothing closes; empty where there is none:
    code of the host behind it counts as a kernel's.
    """
    is_known = source.has_host_code and not source.included and "unterminated" not in log
    at = open_brace(source.code) if is_known else -1
    if at < 0:
        return ""
    snippet = Snippet(source.name, source.code, at, at + 1)
    return render_message(f"Kernel '{title}' does not compile: this '{{' is not closed.", snippet)


def _hint_of_host(name: str, source: RawSource) -> str:
    """Return what to write where a source declares a name for the host alone, and so it is left
    out; empty for other names.
    """
    function = re.compile(rf"[^{{}}]*(?<![\w]){re.escape(name)}\s*\(")
    variable = re.compile(rf"[^(){{}};]*(?<![\w]){re.escape(name)}\s*(?:[\[={{;,]|\Z)")
    if _OF_RUNTIME.match(name):
        return f"'{name}' is a function of CUDA's libraries for the host: call it from Python."
    for own in (source, *source.included) if source.has_host_code else ():
        functions = own.summary.host_functions if name in own.code else ()
        for span in own.summary.host_code if name in own.code else ():
            code = blank_noise(own.code[slice(*span)])
            if span in functions and function.match(code):
                return f"'{name}' is a function of the host: write '__device__' before it."
            if span not in functions and variable.match(code):
                return (
                    f"'{name}' is a variable of the host: write '__device__' or '__constant__' "
                    "before it."
                )
    return ""


def _causes(messages: list[str], source: RawSource) -> Iterator[str]:
    for pattern, what, since, hint in _REMOVED:
        for own in (source, *source.included):
            code = blank_noise(own.code, directives=False)
            for use in pattern.finditer(code):
                is_device = use[1] in _REFERENCES or not any(
                    start <= use.start() < end for start, end in own.summary.host_code
                )
                if is_device and _is_refused(use, messages):
                    line = own.code.count("\n", 0, use.start()) + 1
                    column = use.start(1) - own.code.rfind("\n", 0, use.start(1))
                    yield render_message(
                        f"'{own.name}' does not compile: {since} {what}.",
                        Snippet.at_line(own.name, own.code, line, column),
                        hint=hint,
                    )
    yield from _too_much_shared(messages, source)
    for message in messages:
        found = _NO_HEADER.search(message)
        name = found and (found[1] or found[2])
        if name:
            yield from _missing(name, source)


def _too_much_shared(log: list[str], source: RawSource) -> Iterator[str]:
    """Yield the message for a kernel with more static shared memory than GPUs have."""
    for message in log:
        found = _SHARED.search(message)
        if found is None:
            continue
        for own in (source, *source.included):
            for kernel in own.summary.kernels:
                name = kernel.name.rpartition("::")[2]
                if found[1] == name or f"{len(name)}{name}" in found[1]:
                    yield render_message(
                        f"Kernel '{kernel.name}' has {int(found[2], 16)} bytes of static shared "
                        f"memory, and a block can have {int(found[3], 16)}.",
                        Snippet.at_line(own.name, own.code, kernel.line, None),
                        hint=SHARED_HINT,
                    )
                    return


def _is_refused(use: re.Match[str], messages: list[str]) -> bool:
    """Return whether the errors are about what is used there."""
    names = re.findall(r"\w+", use[0])
    spelled = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, {use[1], names[-1]}))})(?!\w)")
    return any(spelled.search(message) for message in messages)


def _missing(name: str, source: RawSource) -> Iterator[str]:
    """Yield the message for a header that is not found, if it is included by the user's source."""
    for own in (source, *source.included):
        for include in own.includes:
            if include.name == name:
                known = (package for pattern, package in _PACKAGES if pattern.fullmatch(name))
                package = next(known, None)
                hint = (
                    f"install {package} for your version of CUDA, or set CUDA_HOME to where the "
                    "toolkit is."
                    if package
                    else "name the directory that has it: options=('-I...',). If only the host's "
                    'part of the file needs it, backend="nvcc" compiles that part as well.'
                )
                yield render_message(
                    f"'{own.name}' includes '{name}': cannot open source file.",
                    Snippet.at_line(own.name, own.code, include.line, None),
                    hint=hint,
                )
                return
