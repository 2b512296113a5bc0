"""Stand-ins for headers: their tables, and the directories in which compilers find them."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import get_args

import pytest

import kerneltk
from kerneltk.backends.host import toolchain
from kerneltk.cache import stand_ins, store
from kerneltk.cache.fingerprint import trace
from kerneltk.core.artifacts import INCLUDE_DIRECTORY, Target, TranslationUnit
from kerneltk.errors import BackendUnavailableError

TABLES = INCLUDE_DIRECTORY.parent / "stand_ins"
TREES: tuple[stand_ins.Tree, ...] = get_args(stand_ins.Tree)
TARGET = Target("cuda", "sm_90", "nvrtc 12.9")
KERNEL = 'extern "C" __global__ void k(int* x) { x[0] = N; }\n'


@pytest.fixture
def cache(tmp_path: Path, environment: pytest.MonkeyPatch) -> Path:
    """A compile cache's directory and one for temporary files, which are empty."""
    environment.setenv("KERNELTK_CACHE_DIR", str(tmp_path / "cache"))
    environment.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / "cache"


def assert_whole(directory: Path, tree: stand_ins.Tree) -> None:
    found = {p.relative_to(directory).as_posix(): p for p in directory.rglob("*") if p.is_file()}
    assert {name: path.read_bytes() for name, path in found.items()} == stand_ins.headers(tree)


# -- tables ----------------------------------------------------------------------------------------


def test_sections_of_a_table() -> None:
    table = b"""// What it is.

//// a/b.h c
//// d
#include <@BASE@>

#error <@NAME@>

//// e
//// *f
int f;

//// g=1 h=2
int @NAME@[@VALUE@];
@EACH int=a
@EACH bool=b
@1@ @2@;

@END
"""
    head = "#pragma once  // kerneltk/templates/stand_ins/t.headers\n"
    sections = stand_ins.read_table(table, "t.headers")
    assert {name: section.header(name).decode() for name, section in sections.items()} == {
        "a/b.h": head + "#include <b.h>\n\n#error <a/b.h>\n",
        "c": head + "#include <c>\n\n#error <c>\n",
        "d": head + "#include <d>\n\n#error <d>\n",
        "e": head + "int f;\n",
        "f": head.removeprefix("#pragma once") + "int f;\n",
        "g": head + "int g[1];\nint a;\n\nbool b;\n\n",
        "h": head + "int h[2];\nint a;\n\nbool b;\n\n",
    }  # fmt: skip
    assert stand_ins.read_table(b"//// x\n\n//// y\nint y;\n", "")["x"].body == b""
    with pytest.raises(ValueError, match=r"'t.headers' has two headers 'e'"):
        stand_ins.read_table(table + b"//// e\n", "t.headers")


@pytest.mark.parametrize("tree", TREES)
def test_no_two_tables_have_a_header(tree: stand_ins.Tree) -> None:
    sizes = [len(stand_ins.read_table(s, "")) for s in stand_ins.tables(tree).values()]
    assert sum(sizes) == len(stand_ins.headers(tree))


def test_every_table_is_of_a_tree() -> None:
    files = {p.relative_to(TABLES).as_posix() for p in TABLES.rglob("*") if p.is_file()}
    assert files == {name for tree in TREES for name in stand_ins.tables(tree)}


def test_the_headers_of_templates_are_few_files() -> None:
    assert sum(path.is_file() for path in INCLUDE_DIRECTORY.parent.rglob("*")) <= 110


def test_names() -> None:
    assert stand_ins.has_header("cub/block/block_load.cuh", "host")
    assert stand_ins.has_header("cub/../cub/block/block_load.cuh", "host")
    assert not stand_ins.has_header("cub/block/block_load.cuh", "nvrtc")
    assert stand_ins.has_header("sys/mman.h", "host", "nvrtc")
    assert not stand_ins.has_header("cub", "host", "nvrtc")


# -- directories -----------------------------------------------------------------------------------


@pytest.mark.parametrize("tree", TREES)
def test_a_directory_has_a_tree_by_its_content(cache: Path, tree: stand_ins.Tree) -> None:
    path = stand_ins.directory(tree)
    assert path.parent == cache / "headers"
    assert re.fullmatch(rf"{tree}-[0-9a-f]{{16}}", path.name)
    assert_whole(path, tree)
    written = path.stat().st_mtime_ns
    assert stand_ins.directory(tree) == path
    assert path.stat().st_mtime_ns == written
    assert stand_ins.is_stand_in(str(path / "x.h"))
    assert not stand_ins.is_stand_in(str(cache / "x.h"))
    assert path.stat().st_mode & 0o777 == 0o700


def test_a_directory_is_of_one_content(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for source in ("int a;", "int b;"):
        table = f"//// x.h\n{source}".encode()
        monkeypatch.setattr(stand_ins, "tables", lambda tree, table=table: {"x": table})
        for cached in (stand_ins._sections, stand_ins._directory_name):
            cached.cache_clear()
        path = stand_ins.directory("host")
        assert source in (path / "x.h").read_text()
        names.append(path.name)
    for cached in (stand_ins._sections, stand_ins._directory_name):
        cached.cache_clear()
    assert names[0] != names[1]


def test_without_a_cache_on_disk(cache: Path, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("KERNELTK_CACHE_DIR", "")
    path = stand_ins.directory("nvrtc_fallback")
    assert path.parent == cache.with_name(f"kerneltk-headers-{os.getuid()}")
    assert stand_ins.is_stand_in(str(path / "x.h"))


@pytest.mark.parametrize("is_there", [False, True])
def test_a_cache_that_is_only_read(
    cache: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    if is_there:
        stand_ins.directory("nvrtc_fallback")
    access = os.access

    def may(path: str, mode: int) -> bool:
        return cache not in Path(path).parents and access(path, mode)

    monkeypatch.setattr(store.os, "access", may)
    path = stand_ins.directory("nvrtc_fallback")
    assert (cache in path.parents) == is_there
    assert_whole(path, "nvrtc_fallback")


@pytest.mark.parametrize("inner", ["", "headers"])
def test_a_directory_in_which_others_write_is_left_alone(cache: Path, inner: str) -> None:
    (cache / "headers").mkdir(parents=True, mode=0o700)
    (cache / inner).chmod(0o770)
    path = stand_ins.directory("nvrtc_fallback")
    assert cache not in path.parents
    assert list((cache / "headers").iterdir()) == []


def test_nowhere_to_write(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write_text("a file")
    monkeypatch.setattr(tempfile, "tempdir", "/proc/nowhere")
    with pytest.raises(BackendUnavailableError, match=r"headers for compilers cannot be written"):
        stand_ins.directory("host")


def test_the_time_of_last_use(cache: Path) -> None:
    path = stand_ins.directory("nvrtc_fallback")
    os.utime(path, (time.time() - 40 * 86400,) * 2)
    assert stand_ins.directory("nvrtc_fallback") == path
    assert time.time() - path.stat().st_mtime < 86400


def test_those_of_old_versions_are_removed(cache: Path) -> None:
    old, young = cache / "headers/host-0123456789abcdef", cache / "headers/host-fedcba9876543210"
    for path in (old, young):
        path.mkdir(parents=True, mode=0o700)
    (cache / "headers").chmod(0o700)
    cache.chmod(0o700)
    os.utime(old, (time.time() - 40 * 86400,) * 2)
    stand_ins.directory("nvrtc_fallback")
    assert (old.exists(), young.exists()) == (False, True)


# -- damage ----------------------------------------------------------------------------------------


def damage(path: Path, how: str) -> None:
    if how == "changed":
        path.write_bytes(path.read_bytes().replace(b"_", b"-"))
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "file":
        path.unlink()
    elif how == "folder":
        shutil.rmtree(path.parent)
    elif how == "all":
        shutil.rmtree(path.parents[2])


DAMAGE = ("changed", "empty", "file", "folder", "all")


@pytest.mark.parametrize("how", DAMAGE)
def test_what_a_key_is_made_of_is_whole(cache: Path, how: str) -> None:
    unit = TranslationUnit("cuda", "#include <sys/types.h>\n#include <sys/mman.h>\n", "k")
    directory = stand_ins.directory("nvrtc")
    before = trace(unit, TARGET, include_directories=[directory])
    assert len(before.files) > 2
    damage(directory / "sys/types.h", how)
    assert stand_ins.directory("nvrtc") == directory
    after = trace(unit, TARGET, include_directories=[directory])
    assert (after.key, after.digest) == (before.key, before.digest)
    for name in ("sys/types.h", "sys/mman.h", "stdint.h"):
        assert (directory / name).read_bytes() == stand_ins.headers("nvrtc")[name]


def test_other_directories_are_left_alone(cache: Path, tmp_path: Path) -> None:
    unit = TranslationUnit("cuda", "#include <sys/types.h>\n#include <unknown.h>\n", "k")
    directory = stand_ins.directory("nvrtc")
    trace(unit, TARGET, include_directories=[tmp_path / "other", directory])
    assert not (tmp_path / "other").exists()
    assert not (directory / "unknown.h").exists()


def test_a_header_that_cannot_be_written(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = stand_ins.directory("nvrtc_fallback")
    damage(directory / "curand.h", "empty")

    def replace(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(stand_ins.os, "replace", replace)
    with pytest.raises(BackendUnavailableError, match=r"written(.|\n)*KERNELTK_CACHE_DIR"):
        stand_ins.restore(str(directory), "curand.h", None)
    assert len(list(directory.iterdir())) == len(
        {name.partition("/")[0] for name in stand_ins.headers("nvrtc_fallback")}
    )


@pytest.mark.parametrize("target", ["host", "sm_90"])
@pytest.mark.parametrize("how", ["changed", "all"])
def test_compilers_find_them_again(cache: Path, target: str, how: str) -> None:
    head = "#include <cub/util_type.cuh>\n" if target == "host" else "#include <sys/types.h>\n"
    for number, tree in enumerate(("host", "nvrtc")):
        directory = stand_ins.directory(tree)  # type: ignore[arg-type]
        name = "cub/util_type.cuh" if tree == "host" else "sys/types.h"
        damage(directory / name, how)
        source = head + KERNEL.replace("N", str(number))
        assert kerneltk.RawKernel(source, "k").compile_for(target).code


# -- what compilers find ---------------------------------------------------------------------------


@pytest.mark.parametrize("quotes", ["<>", '""'])
def test_headers_that_options_name_are_found_first_by_nvrtc(tmp_path: Path, quotes: str) -> None:
    (tmp_path / "wordexp.h").write_text("constexpr int N = 5;\n")
    source = f"#include {quotes[0]}wordexp.h{quotes[1]}\n{KERNEL}"
    kernel = kerneltk.RawKernel(source, "k", options=(f"-I{tmp_path}",))
    assert kernel.compile_for("sm_90").code


def test_a_message_names_the_file_and_its_table() -> None:
    name = "cub/device/device_scan.cuh"
    options = (*toolchain.backend_options(), f"-I{stand_ins.directory('host')}")
    code, log = toolchain.build("unit.cpp", f"#include <{name}>\n", options)
    assert code is None
    found = re.search(rf"(/\S+/{name}):2", log)
    assert found is not None
    assert "kerneltk/templates/stand_ins/host/cub_thrust.headers" in Path(found[1]).read_text()
