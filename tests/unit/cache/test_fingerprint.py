"""What changes a key, and what must not."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kerneltk.cache.fingerprint
from kerneltk.cache.derived import reader_of
from kerneltk.cache.fingerprint import Trace, file_stamp, string_key, trace
from kerneltk.core.artifacts import LinkInput, Target, TranslationUnit

from ...processes import python

ROOT = Path(kerneltk.cache.fingerprint.__file__).parents[2]
TARGET = Target("cuda", "sm_90", "nvrtc 12.9")
UNIT = TranslationUnit("cuda", 'extern "C" __global__ void k() {}', "k", ("-std=c++17", "-O3"))


def fingerprint(unit: TranslationUnit, target: Target, **more: Any) -> str:
    return trace(unit, target, **more).key


def key_of(source: str, *directories: Path, options: tuple[str, ...] = ()) -> str:
    unit = TranslationUnit("cuda", source, "k", options)
    return fingerprint(unit, TARGET, include_directories=directories)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def assert_counts(
    path: Path, source: str, *directories: Path, options: tuple[str, ...] = ()
) -> None:
    """Check that the key depends on the content of the file `path`, and only on that."""
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = []
    for text in ("int a;", "int b;", "int a;"):
        path.write_text(text)
        keys.append(key_of(source, *directories, options=options))
    path.unlink()
    keys.append(key_of(source, *directories, options=options))
    assert keys[0] == keys[2]
    assert len(set(keys)) == 3


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files written just now count as old enough to be remembered."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 10**10)


# Fields.


def test_the_key_is_the_same_in_every_process(tmp_path: Path) -> None:
    write(tmp_path / "a.h", "#include <b.h>\n")
    write(tmp_path / "b.h", "int b;\n")
    script = (
        "import sys; from pathlib import Path; from kerneltk.core.artifacts import *;"
        "from kerneltk.cache.fingerprint import trace;"
        "unit = TranslationUnit('host', '#include <a.h>\\n#include <b.h>', 'k', ('-O2',));"
        "target = Target('host', 'x86', 'g++ 12');"
        "print(trace(unit, target, include_directories=[Path(sys.argv[1])]).key)"
    )
    keys = {
        python("-c", script, str(tmp_path), PYTHONPATH=str(ROOT), PYTHONHASHSEED=seed).stdout
        for seed in ("1", "2")
    }
    unit = TranslationUnit("host", "#include <a.h>\n#include <b.h>", "k", ("-O2",))
    target = Target("host", "x86", "g++ 12")
    assert keys == {fingerprint(unit, target, include_directories=[tmp_path]) + "\n"}


def test_every_field_counts() -> None:
    keys = [
        fingerprint(UNIT, TARGET),
        fingerprint(replace(UNIT, backend="host"), TARGET),
        fingerprint(replace(UNIT, source=UNIT.source + " "), TARGET),
        fingerprint(replace(UNIT, entry="l"), TARGET),
        fingerprint(replace(UNIT, options=()), TARGET),
        fingerprint(replace(UNIT, options=("-O3", "-std=c++17")), TARGET),
        fingerprint(UNIT, replace(TARGET, backend="host")),
        fingerprint(UNIT, replace(TARGET, architecture="sm_90a")),
        fingerprint(UNIT, replace(TARGET, compiler="nvrtc 12.8")),
        fingerprint(UNIT, TARGET, backend_options=("-x",)),
        fingerprint(UNIT, TARGET, backend_options=("-x", "-y")),
    ]
    assert len(set(keys)) == len(keys)


def test_every_field_of_a_users_source_counts() -> None:
    link = LinkInput("a.o", "object", b"code")
    unit = replace(UNIT, raw=True, exports=(("f", ""),), reflected=(("f", "_r"),), links=(link,))
    units = [
        unit,
        replace(unit, exports=()),
        replace(unit, exports=(("f", "_s"),)),
        replace(unit, reflected=()),
        replace(unit, reflected=(("f", "_s"),)),
        replace(unit, links=()),
        replace(unit, links=(replace(link, kind="cubin"),)),
        replace(unit, links=(replace(link, code=b"more"),)),
    ]
    keys = [fingerprint(each, TARGET) for each in units]
    assert len(set(keys)) == len(keys)


def test_the_format_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(UNIT, TARGET)
    monkeypatch.setattr(kerneltk.cache.fingerprint, "_FORMAT", "kerneltk object code 0")
    assert fingerprint(UNIT, TARGET) != before


def test_origins_do_not_count() -> None:
    with_origins = replace(UNIT, origins=(("operation", "y = x"),))
    assert fingerprint(with_origins, TARGET) == fingerprint(UNIT, TARGET)


Fields = tuple[str, str, tuple[str, ...], tuple[str, ...], str, str]


def key_of_fields(fields: Fields) -> str:
    source, entry, options, backend_options, architecture, compiler = fields
    return fingerprint(
        TranslationUnit("cuda", source, entry, options),
        Target("cuda", architecture, compiler),
        backend_options=backend_options,
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c", (), (), "", ""), ("a", "bc", (), (), "", "")),
        (("a", "b", (), (), "", ""), ("b", "a", (), (), "", "")),
        (("", "", ("ab",), (), "", ""), ("", "", ("a", "b"), (), "", "")),
        (("", "", ("a",), (), "", ""), ("", "", ("a", ""), (), "", "")),
        (("", "", ("a",), (), "", ""), ("", "", (), ("a",), "", "")),
        (("", "", ("a", "b"), (), "", ""), ("", "", ("a",), ("b",), "", "")),
        (("", "", (), ("a",), "", ""), ("", "", (), (), "a", "")),
        (("", "", (), (), "ab", "c"), ("", "", (), (), "a", "bc")),
        (("a", "", (), (), "", ""), ("", "", ("a",), (), "", "")),
        (("a\0", "b", (), (), "", ""), ("a", "\0b", (), (), "", "")),
        (("", "", ("\x01\0\0\0\0\0\0\0a",), (), "", ""), ("", "", ("", "a"), (), "", "")),
        (
            ("", "", ("a\0\0\0\0\0\0\0\0b", "c"), (), "", ""),
            ("", "", ("a", "b\0\0\0\0\0\0\0\0c"), (), "", ""),
        ),
    ],
)
def test_moving_bytes_between_fields_changes_the_key(one: Fields, other: Fields) -> None:
    assert key_of_fields(one) != key_of_fields(other)


def test_text_that_is_not_utf_8() -> None:
    texts = ["\udc80", "\udc81", "\ufffd", "?", "\ud83d\ude00", "\U0001f600"]
    assert len({key_of("// " + text) for text in texts}) == len(texts)


# Headers that count.


@pytest.mark.parametrize("directive", [
    "#include <x.h>", '#include "x.h"', "  #  include\t<x.h>", "#include<x.h>",
    "#include <x.h> // why", "int a;\r\n#include <x.h>\r\n", "/* one */ #include <x.h>",
    "/* one\n   two */ #include <x.h>", "# /* one */ include /* two */ /* three\n */ <x.h>",
    "#inc\\\nlude \\\r\n <x.\\\nh>", "#include \\  \n<x.h>", "%:include <x.h>", "??=include <x.h>",
    "#include_next <x.h>", '#import "x.h"', '#embed "x.h"', "#if 0\n#include <x.h>\n#endif",
    "#if __has_include(<x.h>)\n#endif", '#if defined A && __has_include ( "x.h" )\n#endif',
    'const char* s = "/*";\n#include <x.h>', "int n = 1'000; char c = '\"';\n#include <x.h>",
    'const char* s = R"(" /* )";\n#include <x.h>',
])  # fmt: skip
def test_a_directive_counts(tmp_path: Path, directive: str) -> None:
    assert_counts(tmp_path / "x.h", directive, tmp_path)


@pytest.mark.parametrize(
    "text", ["#define x.h", "include x.h", "#includes <x.h>", "#include <x.h\n>"]
)
def test_other_text_does_not_count(tmp_path: Path, text: str) -> None:
    before = key_of(text, tmp_path)
    write(tmp_path / "x.h", "int a;")
    assert key_of(text, tmp_path) == before


def test_angles_do_not_look_in_the_including_files_directory(tmp_path: Path) -> None:
    write(tmp_path / "sub" / "a.h", "#include <b.h>\n")
    before = key_of("#include <sub/a.h>", tmp_path)
    write(tmp_path / "sub" / "b.h", "int b;")
    assert key_of("#include <sub/a.h>", tmp_path) == before
    write(tmp_path / "b.h", "int b;")
    assert key_of("#include <sub/a.h>", tmp_path) != before


def test_the_packages_own_headers_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kerneltk.cache.fingerprint, "INCLUDE_DIRECTORY", tmp_path)
    assert_counts(tmp_path / "kerneltk" / "x.cuh", "#include <kerneltk/x.cuh>")


def test_the_working_directory_counts_for_names_in_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_counts(tmp_path / "x.h", '#include "x.h"')
    before = key_of("#include <x.h>")
    write(tmp_path / "x.h", "int a;")
    assert key_of("#include <x.h>") == before


@pytest.mark.parametrize("spelling", [
    "-I{}", "-I={}", "-I {}", "--include-path={}", "--include-path {}", "-isystem {}",
    "-isystem{}", "-iquote {}", "-idirafter {}", "--system-include={}",
])  # fmt: skip
def test_directories_in_options_count(tmp_path: Path, spelling: str) -> None:
    options = ("-O3", *spelling.format(tmp_path).split(" "), "-DX")
    assert_counts(tmp_path / "x.h", "#include <x.h>", options=options)


@pytest.mark.parametrize("spelling", [
    "-include {}", "-include={}", "--include {}", "--include={}", "--pre-include={}",
    "-imacros {}", "-include-pch {}", "--options-file={}", "-optf {}", "@{}",
])  # fmt: skip
def test_files_in_options_count(
    tmp_path: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "int a;"
    path = tmp_path / "x.h"
    assert_counts(path, source, options=tuple(spelling.format(path).split(" ")))
    relative = tuple(spelling.format("x.h").split(" "))
    assert_counts(path, source, tmp_path, options=relative)
    monkeypatch.chdir(tmp_path)
    assert_counts(path, source, options=relative)
    write(path, "#include <y.h>")
    assert_counts(tmp_path / "y.h", source, tmp_path, options=relative)


def test_an_unresolved_header_counts_by_its_name() -> None:
    keys = {key_of(f"#include {name}") for name in ("<no.h>", '"no.h"', "<none.h>", "<n\0.h>")}
    assert len(keys) == 4


@pytest.mark.parametrize("first", [True, False])
def test_a_name_in_two_directories_counts_in_both(tmp_path: Path, first: bool) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write((two if first else one) / "x.h", "int other;")
    two.mkdir(exist_ok=True)
    assert_counts((one if first else two) / "x.h", "#include <x.h>", one, two)


def test_the_place_of_a_tree_does_not_count(tmp_path: Path) -> None:
    write(tmp_path / "one" / "a.h", '#include "sub/b.h"\n#include <c.h>\n')
    write(tmp_path / "one" / "sub" / "b.h", '#include "../c.h"\n')
    write(tmp_path / "one" / "c.h", "int c;")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    source = "#include <a.h>\n"
    assert key_of(source, tmp_path / "one") == key_of(source, tmp_path / "two")


def test_trees_of_the_same_files_differ(tmp_path: Path) -> None:
    """`a` includes `b` from its own directory: the same texts elsewhere give another tree."""
    for place, texts in {
        "one": {"a.h": '#include "b.h"', "b.h": "int x;", "sub/a.h": '#include "b.h"'},
        "two": {"a.h": '#include "b.h"', "b.h": "int x;", "sub/a.h": '#include "b.h"'},
    }.items():
        for name, text in texts.items():
            write(tmp_path / place / name, text)
    write(tmp_path / "two" / "sub" / "b.h", "int x;")
    source = "#include <a.h>\n#include <sub/a.h>\n"
    assert key_of(source, tmp_path / "one") != key_of(source, tmp_path / "two")


def test_a_file_met_again_is_not_a_missing_one(tmp_path: Path) -> None:
    write(tmp_path / "x.h", "int a;")
    source = "#include <x.h>\n#include <link/x.h>\n"
    before = key_of(source, tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    assert key_of(source, tmp_path) != before


# Files that change, and files that only look so.


def test_an_edit_that_keeps_size_and_time_counts(tmp_path: Path, settled: None) -> None:
    header = write(tmp_path / "x.h", "int a;")
    os.utime(header, (1000, 1000))
    before = key_of("#include <x.h>", tmp_path)
    stamp = file_stamp(header)
    assert file_stamp(str(header)) == stamp
    time.sleep(0.02)  # more than one tick of the file system's clock
    header.write_text("int b;")
    os.utime(header, (1000, 1000))
    assert key_of("#include <x.h>", tmp_path) != before
    assert file_stamp(header) != stamp


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the headers that were read, as they are read."""
    names: list[str] = []

    def spy(path: str, mode: str) -> object:
        names.append(Path(path).name)
        return open(path, mode)

    monkeypatch.setattr(kerneltk.cache.fingerprint, "open", spy, raising=False)
    return names


def test_a_header_written_just_now_is_read_again(tmp_path: Path, read: list[str]) -> None:
    """A second edit within one tick of the file system's clock would leave the same times."""
    write(tmp_path / "x.h", "int a;")
    before = key_of("#include <x.h>", tmp_path)
    assert key_of("#include <x.h>", tmp_path) == before
    assert read == ["x.h", "x.h"]


# What was added for headers is kept while each file that was looked for is what it was.


@pytest.fixture
def tree(tmp_path: Path, settled: None) -> Path:
    """Two directories, with a header that includes another one; their key is known."""
    write(tmp_path / "one" / "a.h", "#include <part/b.h>\n#include <c.h>")
    write(tmp_path / "two" / "part" / "b.h", "int b;")
    write(tmp_path / "two" / "c.h", '#include "d.h"')
    return tmp_path


def key_of_tree(root: Path) -> str:
    return key_of('#include <a.h>\n#include "own/e.h"', root / "one", root / "two")


def another_directory(root: Path) -> None:
    write(root / "three" / "part" / "b.h", "int third;")
    shutil.rmtree(root / "two" / "part")
    (root / "two" / "part").symlink_to(root / "three" / "part")


@pytest.mark.parametrize("change", [
    lambda root: write(root / "two" / "part" / "b.h", "int c;"),
    lambda root: write(root / "two" / "c.h", "#include <d.h>"),
    lambda root: (root / "two" / "c.h").unlink(),
    lambda root: write(root / "one" / "c.h", "int first;"),
    lambda root: write(root / "two" / "d.h", "int d;"),
    lambda root: write(root / "one" / "part" / "b.h", "int first;"),
    lambda root: shutil.rmtree(root / "two" / "part"),
    another_directory,
])  # fmt: skip
def test_a_change_of_a_known_tree_counts(tree: Path, change: Callable[[Path], None]) -> None:
    before = key_of_tree(tree)
    assert key_of_tree(tree) == before
    change(tree)
    after = key_of_tree(tree)
    assert after != before
    kerneltk.cache.fingerprint._trees.clear()
    assert key_of_tree(tree) == after


def test_the_known_trees_are_not_too_many(tmp_path: Path) -> None:
    known = kerneltk.cache.fingerprint._trees
    for number in range(300):
        key_of(f"#include <missing{number}.h>", tmp_path)
    assert 0 < len(known) <= 256


# Odd trees.


def test_cycles_through_new_paths_end(tmp_path: Path) -> None:
    write(tmp_path / "d" / "a.h", '#include "../d/a.h"\n#include "./a.h"\n#include "loop/a.h"\n')
    (tmp_path / "d" / "loop").symlink_to(tmp_path / "d")
    (tmp_path / "d" / "more").symlink_to(tmp_path / "d")
    write(tmp_path / "d" / "b.h", '#include "loop/b.h"\n#include "more/b.h"\n#include "c.h"\n')
    assert_counts(tmp_path / "d" / "c.h", "#include <d/a.h>\n#include <d/b.h>", tmp_path)


def test_many_comments_take_no_time(tmp_path: Path) -> None:
    write(tmp_path / "x.h", ("#" + "/**/ " * 2000 + "\n") * 5)
    assert_counts(tmp_path / "y.h", "#include <x.h>\n#include <y.h>", tmp_path)


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    before = key_of("#include <x.h>", tmp_path)
    (tmp_path / "x.h").mkdir()
    assert key_of("#include <x.h>", tmp_path) == before
    (tmp_path / "x.h").rmdir()
    os.mkfifo(tmp_path / "x.h")
    assert key_of("#include <x.h>", tmp_path) == before


def test_a_header_that_cannot_be_read_counts_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key_of("#include <x.h>", tmp_path)
    write(tmp_path / "x.h", "int a;")

    def refuse(path: str, mode: str) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(kerneltk.cache.fingerprint, "open", refuse, raising=False)
    assert key_of("#include <x.h>", tmp_path) == before


def test_strings_that_join_to_the_same_have_other_keys() -> None:
    strings = [(), ("",), ("ab",), ("a", "b"), ("", "ab"), ("\ud800",)]
    assert len({string_key(*each) for each in strings}) == len(strings)
    assert string_key("a", "b") == string_key("a", "b")


# Traces: what tells without a unit that its key would be the same.


def traced(source: str, *directories: Path, options: tuple[str, ...] = ()) -> Trace:
    unit = TranslationUnit("cuda", source, "k", options)
    return trace(unit, TARGET, include_directories=directories)


def stored(found: Trace) -> Trace:
    """The trace as another process reads it."""
    kerneltk.cache.fingerprint._headers.clear()
    kerneltk.cache.fingerprint._trees.clear()
    read: Trace = reader_of(Trace)(json.loads(json.dumps(found)))
    return read


SOURCES = [
    "int a;",
    '#include "x.h"',
    "#include <x.h>",
    "#if __has_include(<sub/x.h>)\n#include <y.h>\n#endif",
]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("is_settled", [False, True])
def test_a_trace_tells_what_the_key_tells(
    tmp_path: Path,
    source: str,
    is_settled: bool,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if is_settled:
        request.getfixturevalue("settled")
    monkeypatch.chdir(tmp_path)
    directories = (tmp_path / "a", tmp_path / "b")
    write(tmp_path / "b" / "x.h", '#include "y.h"\n')
    write(tmp_path / "b" / "y.h", "int y;\n")
    found = traced(source, *directories)
    assert found.key == key_of(source, *directories)
    assert found.is_lasting
    kept = stored(found)
    assert kept == found
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: write(tmp_path / "b" / "x.h", '#include "y.h"\n'),
        lambda: write(tmp_path / "b" / "y.h", "int z;\n"),
        lambda: write(tmp_path / "a" / "x.h", "int first;\n"),
        lambda: write(tmp_path / "a" / "sub" / "x.h", ""),
        lambda: write(tmp_path / "x.h", "int beside;\n"),
        lambda: (tmp_path / "b" / "x.h").unlink(),
        lambda: shutil.rmtree(tmp_path / "a"),
        lambda: write(tmp_path / "b" / "y.h", "int y;\n"),
        lambda: (tmp_path / "x.h").unlink(),
        lambda: write(tmp_path / "b" / "x.h", '#include "y.h"\n'),
    ]
    for change in changes:
        change()
        is_same = key_of(source, *directories) == found.key
        again = kept.current()
        assert (again is not None) == is_same
        assert again is None or stored(again).current() is not None
        assert (stored(found).current() is not None) == is_same
    assert again is not None
    assert again.key == found.key
    assert bool(again.files) == (is_settled and "include" in source and "MACRO" not in source)


def test_what_is_settled_is_not_read_again(
    tmp_path: Path, settled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "x.h", "int x;\n")
    kept = stored(traced("#include <x.h>", tmp_path))
    assert kept.files
    read: list[str] = []
    original = kerneltk.cache.fingerprint._read_header

    def counted(path: str) -> object:
        read.append(path)
        return original(path)

    monkeypatch.setattr(kerneltk.cache.fingerprint, "_read_header", counted)
    assert kept.current() is kept
    assert not read
    os.utime(tmp_path / "x.h", (1, 1))
    again = kept.current()
    assert again is not None
    assert read
    assert again != kept
    read.clear()
    assert stored(again).current() == again
    assert not read


def test_a_trace_from_another_directory(
    tmp_path: Path, settled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "here" / "x.h", "int x;\n")
    write(tmp_path / "there" / "x.h", "int y;\n")
    write(tmp_path / "again" / "x.h", "int x;\n")
    monkeypatch.chdir(tmp_path / "here")
    kept = stored(traced('#include "x.h"'))
    assert kept.current() is not None
    monkeypatch.chdir(tmp_path / "there")
    assert kept.current() is None
    monkeypatch.chdir(tmp_path / "again")
    assert kept.current() is not None
    monkeypatch.chdir(tmp_path)
    assert kept.current() is None


def test_a_key_that_is_new_each_time(tmp_path: Path) -> None:
    unit = TranslationUnit("cuda", "#define F(x) x\n#include F(x.h)\n", "", raw=True)
    first, second = trace(unit, TARGET), trace(unit, TARGET)
    assert first.key != second.key
    assert not first.is_lasting
    named = replace(unit, source='#define H "x.h"\n#include H\n')
    assert trace(named, TARGET).is_lasting


def test_names_that_are_no_unicode(tmp_path: Path, settled: None) -> None:
    name = os.fsdecode(b"\xff.h")
    write(tmp_path / name, "int x;\n")
    kept = stored(traced(f"#include <{name}>", tmp_path))
    assert kept.current() is kept
    write(tmp_path / name, "int y;\n")
    assert kept.current() is None


@pytest.mark.parametrize(("source", "header"), [
    ('#include "a.h"', '#define NAME "b.h"\n#include NAME\n'),
    ('#define NAME "b.h"\n#include "a.h"', "#include NAME\n"),
    ("#include <a.h>", "#define NAME <b.h>  // of ours\n#  include NAME\n"),
    ('#include "a.h"', '#define NAME "b.h"\n#if __has_include(NAME)\n#endif\n'),
    ('#include "a.h"', 'asm(".incbin \\"b.h\\"");\n'),
])  # fmt: skip
def test_a_name_that_a_macro_stands_for_in_a_header(
    tmp_path: Path, source: str, header: str
) -> None:
    write(tmp_path / "a.h", header)
    keys = {key_of(source, tmp_path)}
    for content in ("1", "2"):
        write(tmp_path / "b.h", content)
        keys.add(key_of(source, tmp_path))
    assert len(keys) == 3


STR = "#define STR_(x) #x\n#define STR(x) STR_(x)\n"


@pytest.mark.parametrize(
    ("source", "header", "is_lasting"),
    [
        ('#include "a.h"', f"{STR}#include STR(BASE)\n", False),
        (f'{STR}#include "a.h"', "#include STR(BASE)\n", False),
        (f'{STR}#define NAME STR(BASE)\n#include "a.h"', "#include NAME\n", False),
        (f'{STR}#include "a.h"', "#if __has_include(STR(BASE))\n#endif\n", False),
        (f'{STR}#include "a.h"', "// #include STR(BASE)\n", True),
        (f'{STR}#include "a.h"', "#ifdef CONFIG\n#include CONFIG\n#endif\n", True),
        ('#define NAME "b.h"\n#include "a.h"', "#include NAME\n", True),
        # Of a name with a blank directives show nothing.
        ('#define NAME "b c.h"\n#include "a.h"', "#include NAME\n", False),
        ('#include "a.h"\n#include NAME', '#define NAME "b.h"\n', True),
        ('#include "a.h"\n#include NAME', "#define NAME OTHER\n", False),
    ],
)
def test_a_name_that_macros_compute_in_a_header(
    tmp_path: Path, source: str, header: str, is_lasting: bool
) -> None:
    write(tmp_path / "a.h", header)
    keys = {key_of(source, tmp_path, options=("-DBASE=b.h",)) for _ in range(2)}
    assert len(keys) == (1 if is_lasting else 2)
    assert traced(source, tmp_path).is_lasting == is_lasting
