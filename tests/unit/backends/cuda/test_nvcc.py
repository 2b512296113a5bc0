"""The compiler nvcc: what it is told, what it answers, and how its failures are told."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kerneltk
from kerneltk.backends.cuda import nvcc
from kerneltk.backends.cuda.toolkit import find_program, run_program
from kerneltk.errors import ArgumentValueError, BackendUnavailableError, CompileError
from kerneltk.object_code.reflection import decode

from ....conftest import reread_environment

CODE = r"""
typedef double real;
namespace ns {
__constant__ float table[3];
template <class T, int N> __global__ void scale(T* x, const unsigned n) {
    if (n) *x *= N + table[0];
}
}
extern "C" __global__ void plain(float* x) { *x += 1; }
"""
NAMES = ["ns::scale<real, 3>", "plain"]

# Stands in for nvcc: notes its arguments, and writes PTX that says what the constants of the unit
# are initialized by.
FAKE = r"""#!{python}
import json, os, pathlib, re, sys
place = pathlib.Path(__file__).parent
arguments = sys.argv[1:]
if arguments == ["--version"]:
    print("Cuda compilation tools, release 98.7, V98.7.65")
    sys.exit()
if arguments == ["--list-gpu-arch"]:
    print("compute_75\ncompute_80\ncompute_90")
    sys.exit()
(place / "seen.json").write_text(json.dumps([arguments, os.getcwd()]))
unit = pathlib.Path(arguments[-1]).read_text()
if "does_not_compile" in unit:
    print('code(3): error: identifier "oops" is undefined', file=sys.stderr)
    sys.exit(1)
if "--unknown" in arguments:
    print("nvcc fatal   : Unknown option '--unknown'", file=sys.stderr)
    sys.exit(1)
print("code(2): warning #177-D: variable is never referenced", file=sys.stderr)
lines = [".version 8.8", ".target sm_90"]
asked = re.findall(r"^KERNELTK_ADDRESS\((\w+), \((.+?)\)\) ", unit, re.M)
for number, (constant, name) in enumerate(asked):
    symbol = "generic(_Zvariable)" if "table" in name else f"_Zkernel{{number}}"
    if "forgotten" not in unit:
        lines.append(f".global .align 8 .u64 {{constant}} = {{symbol}};")
pathlib.Path(arguments[arguments.index("-o") + 1]).write_text("\n".join(lines))
"""


def _forget() -> None:
    reread_environment()
    for function in (nvcc._program, nvcc._version, nvcc._architectures):
        function.cache_clear()


@pytest.fixture
def clean(environment: pytest.MonkeyPatch) -> Iterator[None]:
    """What is found on this machine is forgotten before and after."""
    _forget()
    yield
    _forget()


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean: None) -> Path:
    """A directory on PATH with the stand-in."""
    program = tmp_path / "bin" / "nvcc"
    program.parent.mkdir()
    program.write_text(FAKE.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program.parent


def seen(fake: Path) -> list[str]:
    arguments: list[str] = json.loads((fake / "seen.json").read_text())[0]
    return arguments


def module(code: str = CODE, **words: Any) -> kerneltk.RawModule:
    return kerneltk.RawModule(code=code, backend="nvcc", name_expressions=NAMES, **words)


def test_what_nvcc_is_told(fake: Path) -> None:
    options = ("-DN=4", "--use_fast_math", "--no-cache", "--builtin-initializer-list=false",
               "--warn-as-error", "-Iinclude")  # fmt: skip
    code = module(options=options).compile_for("compute_90")
    arguments = seen(fake)
    assert arguments[:2] == ["-ptx", "-arch=compute_90"]
    assert "--std=c++17" in arguments
    start = arguments.index("-DN=4")
    assert arguments[start : start + 5] == [
        "-DN=4", "--use_fast_math", "-Werror", "all-warnings", "-I" + os.path.abspath("include"),
    ]  # fmt: skip
    assert code.target.compiler == "nvcc 98.7.65"
    assert code.code.endswith(b"\0")
    assert json.loads((fake / "seen.json").read_text())[1] == str(Path.cwd())


def test_a_standard_of_the_users_own(fake: Path) -> None:
    module(options=("-std=c++20",)).compile_for("compute_80")
    assert "--std=c++17" not in seen(fake)
    assert "-std=c++20" in seen(fake)
    module(options=("-std=c++11",)).compile_for("compute_80")
    assert "--std=c++17" in seen(fake)
    assert "-std=c++11" not in seen(fake)


def test_symbols_are_read_from_constants(fake: Path) -> None:
    code = module().compile_for("compute_90")
    assert code.symbols == (
        ("ns::scale<real, 3>", "_Zkernel0"),
        ("plain", "_Zkernel1"),
        ("&ns::table", "_Zvariable"),
    )
    with pytest.raises(CompileError, match=r"names no symbol of 'ns::scale<real, 3>'"):
        module(CODE + "// forgotten").compile_for("compute_90")


def test_architectures(fake: Path) -> None:
    assert nvcc.target_for("sm_90").architecture == "sm_90"
    assert nvcc.target_for("sm_120").architecture == "compute_90"
    assert nvcc.target_for("lto_80").architecture == "lto_80"
    with pytest.raises(ValueError, match=r"oldest is 'sm_75'"):
        nvcc.target_for("sm_70")
    with pytest.raises(ValueError, match="not a CUDA architecture"):
        nvcc.target_for("90")
    with pytest.raises(CompileError, match="another architecture"):
        module(options=("-gencode=arch=compute_90,code=sm_90",)).compile_for("compute_90")


def test_failures(fake: Path) -> None:
    with pytest.raises(CompileError, match=r'identifier "oops" is undefined') as caught:
        module(CODE + "// does_not_compile").compile_for("compute_90")
    assert "  code:3: namespace ns {" in str(caught.value)
    assert caught.value.log.startswith("code(3): error")
    with pytest.raises(CompileError, match=r"\['--unknown'\]: nvcc fatal .* '--unknown'"):
        module(options=("--unknown",)).compile_for("compute_90")


def test_object_code_of_a_cache_has_the_log_as_well(fake: Path) -> None:
    for _ in range(2):
        code = module(CODE + "// warns").compile_for("compute_90")
        assert code.log == "code(2): warning #177-D: variable is never referenced"


def test_warnings_of_nvrtc_are_in_the_log() -> None:
    code = kerneltk.RawKernel("__global__ void f() { int some; }", "f").compile_for("sm_90")
    assert '"some" was declared but never referenced' in code.log


@pytest.mark.exhaustive
def test_the_key_counts_version_and_environment(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert nvcc.target_for("sm_90").compiler == "nvcc 98.7.65"
    monkeypatch.setenv("NVCC_CCBIN", "clang++-18")
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-G")
    _forget()
    wanted = "nvcc 98.7.65 NVCC_CCBIN=clang++-18 NVCC_APPEND_FLAGS=-G"
    assert nvcc.target_for("sm_90").compiler == wanted


CALLED_LIKE_CUDAS = """
extern "C" __global__ void any(int* x) { x[threadIdx.x] = 1; }
extern "C" __global__ void other(int* x) { x[threadIdx.x] = 2; }
"""


@pytest.mark.parametrize("compiler", ["nvrtc", *(["nvcc"] if find_program("nvcc") else [])])
def test_kernels_that_are_called_like_functions_of_cuda(compiler: str, clean: None) -> None:
    module = kerneltk.RawModule(code=CALLED_LIKE_CUDAS, backend=compiler)
    code = module.compile_for("sm_90")
    assert dict(code.symbols) == {"any": "any", "other": "other"}
    (kind,) = decode(dict(code.reflection)["any"])
    assert kind.name == "int*"
    overloaded = "__global__ void f(int* x) {} __global__ void f(float* x) {}"
    with pytest.raises(CompileError, match="offers no kernel 'f'"):
        kerneltk.RawKernel(overloaded, "f", backend=compiler).compile_for("sm_90")


def test_places(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_program("nvcc") == fake / "nvcc"
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("CUDA_PATH", str(fake.parent))
    reread_environment()
    assert find_program("nvcc") == fake / "nvcc"
    monkeypatch.setenv("CUDA_HOME", str(fake.parent / "nothing"))
    reread_environment()
    assert find_program("nvcc") == fake / "nvcc"


def test_no_nvcc(monkeypatch: pytest.MonkeyPatch, clean: None) -> None:
    monkeypatch.setattr(nvcc, "find_program", lambda name: None)
    with pytest.raises(BackendUnavailableError, match=r"neither on PATH(.|\n)*backend='nvrtc'"):
        module().compile_for("sm_90")
    monkeypatch.setattr(nvcc, "find_program", lambda name: Path("/nonexistent/nvcc"))
    with pytest.raises(BackendUnavailableError, match="nvcc"):
        module().compile_for("sm_90")


def test_an_nvcc_that_does_not_work(fake: Path) -> None:
    (fake / "nvcc").write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    with pytest.raises(BackendUnavailableError, match="fails at '--list-gpu-arch': broken"):
        module().compile_for("sm_90")
    (fake / "nvcc").write_text("#!/bin/sh\necho hello\n")
    _forget()
    with pytest.raises(BackendUnavailableError, match="knows no architectures"):
        module().compile_for("sm_90")


def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\nsleep 60 &\nsleep 60\n")
    program.chmod(0o700)
    with pytest.raises(TimeoutError, match="did not end after"):
        run_program([str(program)], str(tmp_path), 0.2)


@pytest.mark.parametrize(("raised", "expected", "text"), [
    (TimeoutError("'nvcc' did not end after 1 s."), CompileError, "did not end after 1 s"),
    (OSError(24, "Too many open files"), BackendUnavailableError, "cannot be run"),
    (None, BackendUnavailableError, "temporary files cannot be written: No space left on"),
])  # fmt: skip
def test_an_nvcc_that_the_machine_stops(
    fake: Path,
    monkeypatch: pytest.MonkeyPatch,
    raised: OSError | None,
    expected: type[Exception],
    text: str,
) -> None:
    nvcc._version(), nvcc._architectures()

    def run(*args: Any) -> tuple[int, str, str]:
        if raised is not None:
            raise raised
        return 1, "", "ptxas fatal : cannot write unit.out: No space left on device"

    monkeypatch.setattr(nvcc, "run_program", run)
    with pytest.raises(expected, match=text):
        module().compile_for("sm_90")


def test_nvcc_does_not_link(fake: Path) -> None:
    with pytest.raises(ArgumentValueError, match="'link' needs backend='nvrtc'"):
        module(link=[b"\xed\x43\x4e\x7f"])


if find_program("nvcc") is not None:

    @pytest.mark.parametrize("target", ["sm_90", "compute_90"])
    def test_the_real_one(target: str, clean: None) -> None:
        by_nvcc = module().compile_for(target)
        by_nvrtc = kerneltk.RawModule(code=CODE, name_expressions=NAMES).compile_for(target)
        assert by_nvcc.kind == by_nvrtc.kind
        assert by_nvcc.symbols == by_nvrtc.symbols
        names, types = zip(*by_nvcc.reflection, strict=True)
        assert names == tuple(name for name, _ in by_nvrtc.reflection)
        kernels = dict(zip(names, types, strict=True))
        for name, data in by_nvrtc.reflection[:2]:
            assert decode(kernels[name]) == decode(data)

    def test_errors_of_the_real_one(clean: None) -> None:
        with pytest.raises(CompileError, match=r'"oops" is undefined(.|\n)*code:9:'):
            module(CODE.replace("*x += 1", "*x += oops")).compile_for("sm_90")
        with pytest.raises(CompileError, match=r"offers no kernel 'plane'(.|\n)*mean 'plain'"):
            kerneltk.RawKernel(CODE, "plane", backend="nvcc").compile_for("sm_90")
        with pytest.raises(CompileError, match="Unknown option"):
            module(options=("--unknown",)).compile_for("sm_90")

    def test_a_file_with_host_code_by_the_real_one(tmp_path: Path, clean: None) -> None:
        path = tmp_path / "both.cu"
        (tmp_path / "twice.cuh").write_text(
            "template <class T> __device__ T twice(T x) { return x + x; }"
        )
        path.write_text(
            '#include <vector>\n#include <cstdio>\n#include "twice.cuh"\n'
            "__global__ void f(float* x) { *x = twice(*x); }\n"
            'int main() { std::vector<float> v(1); f<<<1, 1>>>(v.data()); std::printf("x"); }\n'
        )
        code = kerneltk.load(path, backend="nvcc").compile_for("sm_90")
        assert dict(code.symbols) == {"f": "_Z1fPf"}
        assert kerneltk.load(path, backend="nvcc").compile_for("lto_90").kind == "ltoir"
