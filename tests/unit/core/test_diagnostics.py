"""Compiler messages, from real compilers and pinned logs, told about the user's text."""

from __future__ import annotations

import importlib.util
import shutil

import pytest
from cuda.bindings import nvrtc

from kerneltk.backends.host import toolchain
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.core.diagnostics import Location, compile_error_message, read_log
from kerneltk.errors import CompileError

Origins = tuple[tuple[str, str], ...]

HOST_HEAD = 'extern "C" void k(const void*, long long, long long) {\n'
CUDA_HEAD = 'extern "C" __global__ void k(const void*, long long, long long) {\n'


def host_log(source: str) -> str:
    unit = TranslationUnit("host", source, "k")
    with pytest.raises(CompileError) as caught:
        toolchain.compile_unit(unit)
    return caught.value.log


def nvrtc_log(source: str) -> str:
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"k.cu", 0, [], [])
    options = [b"--gpu-architecture=sm_90", b"-default-device"]
    assert nvrtc.nvrtcCompileProgram(program, len(options), options)[0]
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = bytearray(size)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    return log.decode()


@pytest.fixture(
    params=[
        "nvrtc",
        *(["g++"] if shutil.which("g++") else []),
        *(["zig"] if importlib.util.find_spec("ziglang") else []),
        *(["clang++"] if shutil.which("clang++") else []),
    ]
)
def compiler(request: pytest.FixtureRequest, environment: pytest.MonkeyPatch) -> str:
    if request.param != "nvrtc":
        environment.setenv("KERNELTK_CXX", request.param)
    return str(request.param)


def compiled(
    compiler: str, origins: Origins, *, before: str = "", names: tuple[str, ...] = ()
) -> str:
    """Return the message for a unit whose last text is the kernel's body."""
    *heads, (name, body) = origins
    parts = [before, *(f'#line 1 "{head}"\n{text}\n' for head, text in heads)]
    parts.append('#line 50 "generated"\n')
    parts.append(CUDA_HEAD if compiler == "nvrtc" else HOST_HEAD)
    parts.append(f'float x = 1, y = 2; int alpha = 3;\n#line 1 "{name}"\n{body}\n')
    parts.append('#line 60 "generated"\n;}\n')
    source = "".join(parts)
    log = nvrtc_log(source) if compiler == "nvrtc" else host_log(source)
    return compile_error_message(log, origins, "axpb", names)


def said(compiler: str, gcc: str, clang: str, nvrtc: str) -> str:
    return {"g++": gcc, "nvrtc": nvrtc}.get(compiler, clang)


def test_an_undeclared_name(compiler: str) -> None:
    text = said(
        compiler,
        "'foo' was not declared in this scope",
        "use of undeclared identifier 'foo'",
        'identifier "foo" is undefined',
    )
    assert compiled(compiler, (("operation", "y = foo + x;"),)) == (
        f"The operation of kernel 'axpb' does not compile: {text}.\n"
        "  operation: y = foo + x;\n"
        "                 ^^^"
    )


@pytest.mark.parametrize("names", [("alphabet", "x"), ()])
def test_a_close_name_is_suggested(compiler: str, names: tuple[str, ...]) -> None:
    origins = (("operation", "float alphabet = x;\ny = alphabte;"),)
    message = compiled(compiler, origins, names=names)
    assert message.endswith(
        "  operation:2: y = alphabte;\n"
        "                   ^^^^^^^^\n"
        "  Hint: did you mean 'alphabet'?"
    )
    assert message.count("did you mean") == 1


def test_further_errors_are_shown_and_counted(compiler: str) -> None:
    body = "\n".join(f"y = missing_{n};" for n in range(5))
    message = compiled(compiler, (("operation", body),))
    lines = message.split("\n")
    assert "missing_0" in lines[0]
    assert [line.split(":")[1] for line in lines[1::2]] == ["1", "2", "3"]
    assert "missing_1" in lines[4]
    assert "missing_2" in lines[6]
    assert lines[6].endswith(" (and 2 more)")
    assert len(lines) == 7


TWICE = "template<class T> T twice(T v) {\n  return v.two();\n}"
GENERATED = """
template<class T> T inner(T v) { return v.two(); }
template<class T> T outer(T v) { return inner(v); }
"""
SET = "#define KT_SET(a, v) a = undefined_thing + (v)\n"
FILE = "/a b/kernel (1).cu"


@pytest.mark.parametrize(
    ("origins", "before", "parts"),
    [
        ((("operation", '\ty = x;\n\tfor (;;) {\t"äöü€"; y = nowhere; }'),), "",
         ('  operation:2:  for (;;) { "äöü€"; y = nowhere; }\n'
          "                                       ^^^^^^^",)),
        ((("preamble", TWICE), ("operation", "y = x;\ny = twice(x);")), "",
         ("The preamble of kernel 'axpb' does not compile: ", "  preamble:2:   return v.two();\n")),
        ((("operation", "y = x;\ny = outer(x);"),), GENERATED,
         ("The operation of kernel 'axpb' does not compile: ", "  operation:2: y = outer(x);\n",
          " from here")),
        ((("operation", "y = x; KT_SET(y, 1);"),), SET,
         ("undefined_thing", "  operation: y = x; KT_SET(y, 1);\n                    ^^^^^^")),
        ((("operation", 'y = x + (x // )\n  + ")"[0] /* ) */'),), "",
         ("does not compile",
          "  operation:1: y = x + (x // )\n                       ^ this is never closed")),
        ((("preamble", '#include "not_there.h"'), ("operation", "y = x;")), "",
         ("The preamble of kernel 'axpb' does not compile: ",
          '  preamble: #include "not_there.h"\n')),
        (((FILE, "y = x;\ny = foo;"),), "",
         ("Kernel 'axpb' does not compile: ", f"  {FILE}:2: y = foo;\n{'':{len(FILE) + 10}}^^^")),
    ],
    ids=["columns", "preamble", "template", "macro", "bracket", "include", "file"],
)  # fmt: skip
def test_errors_are_at_the_users_line(
    compiler: str, origins: Origins, before: str, parts: tuple[str, ...]
) -> None:
    message = compiled(compiler, origins, before=before)
    at = [message.index(part) for part in parts]
    assert at == sorted(at)


def test_overloads(compiler: str) -> None:
    before = "void two(int a, int b) {} void two(float* a, float b) {}\n"
    message = compiled(compiler, (("operation", 'two("a", x);'),), before=before)
    text = said(
        compiler,
        "invalid conversion from 'const char*' to 'int'",
        "no matching function for call to 'two'",
        'no instance of overloaded function "two" matches the argument list '
        "(argument types are: (const char [2], float))",
    )
    assert message.startswith(f"The operation of kernel 'axpb' does not compile: {text}.\n")
    assert '  operation: two("a", x);\n' in message


def test_an_error_in_generated_code_says_so(compiler: str) -> None:
    origins = (("operation", "y = x;"),)
    message = compiled(compiler, origins, before='#line 7 "header.h"\nint wrong = foo;\n')
    first, second, third, *_ = message.split("\n")
    assert first.startswith(
        "Kernel 'axpb' does not compile, in generated or included code (header.h:7): "
    )
    assert "foo" in first
    assert second == "  The compiler's log:"
    assert third.startswith("    header.h")


def test_the_way_gcc_inlined_to_an_error() -> None:
    log = (
        "In file included from k.cpp:1:\n"
        "In function 'void check(int)',\n"
        "    inlined from 'void k(const void*)' at operation:2:7:\n"
        "header.hpp:10:9: error: call to 'wrong' declared with attribute error: no\n"
        "   10 |   wrong();\n"
        "      |   ~~~~~^~\n"
    )
    (error,) = read_log(log)
    assert error.message == "call to 'wrong' declared with attribute error: no"
    assert error.locations == [
        Location("header.hpp", 10, 9, "  wrong();"),
        Location("k.cpp", 1),
        Location("operation", 2, 7),
    ]


def test_warnings_are_no_errors() -> None:
    log = (
        'operation(1): warning #177-D: variable "z" was declared but never referenced\n'
        "  int z;\n"
        "      ^\n"
        '          detected during instantiation of "f" at line 3 of operation\n'
        "\n"
        "operation:2:1: warning: unused\n"
        "operation:2:1: note: in expansion of macro 'X'\n"
    )
    assert read_log(log) == []


BODY = (("operation", "abc"),)


@pytest.mark.parametrize(
    ("log", "origins", "message"),
    [
        # What stands around the user's text in the line shifts its column.
        ("operation:1:17: error: use of undeclared identifier 'foo'\n"
         "    1 |     auto v = (y+foo);\n      |                 ^~~\n",
         (("operation", "  y+foo"),),
         "The operation of kernel 'k' does not compile: use of undeclared identifier 'foo'.\n"
         "  operation:   y+foo\n                 ^^^"),
        # A shown line that is another gives the whole line.
        ("operation(1): error: expected an expression\n  KT_EXPANDED(1 + )\n              ^\n\n",
         (("operation", "  y = 1 + ;"),),
         "The operation of kernel 'k' does not compile: expected an expression.\n"
         "  operation:   y = 1 + ;\n               ^^^^^^^^^"),
        ("In file included from mine.h:3,\n                 from preamble:2:\n"
         "inner.h:1:1: error: 'Foo' does not name a type; did you mean 'Food'?\n",
         (("preamble", 'int a;\n#include "mine.h"'),),
         "The preamble of kernel 'k' does not compile: 'Foo' does not name a type.\n"
         '  preamble:2: #include "mine.h"\n              ^^^^^^^^^^^^^^^^^ from here\n'
         "  Hint: did you mean 'Food'?"),
        # Names of the compiler's own are not suggested.
        ("operation:1:1: error: 'abc' was not declared in this scope; did you mean '__abc'?\n",
         BODY,
         "The operation of kernel 'k' does not compile: 'abc' was not declared in this scope.\n"
         "  operation: abc\n             ^^^"),
        *((f"operation:{line}:{column}: error: no\n" * 3, BODY,
           "The operation of kernel 'k' does not compile: no.\n"
           "  operation: abc\n             ^^^")
          for line, column in ((1, 1), (0, 1), (99, 1), (1, 99), (1, 0))),
        ("cc1plus: out of memory\n", BODY,
         "Kernel 'k' does not compile, and the compiler names no location.\n"
         "  The compiler's log:\n    cc1plus: out of memory"),
    ],
)  # fmt: skip
def test_messages_for_logs(log: str, origins: Origins, message: str) -> None:
    assert compile_error_message(log, origins, "k") == message


def test_a_long_log_is_cut() -> None:
    log = "".join(f"line {n}\n" for n in range(100))
    assert compile_error_message(log, (), "k").endswith("    line 11\n    ... (88 more lines)")
    assert "no" in compile_error_message("operation:1:1: error: no\n", (("operation", ""),), "k")
