"""Object code as bytes, kinds of code by their first bytes, what sources and options are."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from kerneltk.core.artifacts import (
    ObjectCode,
    Target,
    checked_options,
    checked_text,
    kind_of_code,
)
from kerneltk.errors import ArgumentTypeError, SignatureError

ELF = b"\x7fELF" + bytes(14)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ELF + struct.pack("<H", 190), "cubin"),
        (ELF + struct.pack("<H", 62), "object"),
        (ELF, None),  # too short to say which
        (b"\xed\x43\x4e\x7f...", "ltoir"),
        (b"\x50\xed\x55\xba...", "fatbin"),
        (b"!<arch>\nx.o/", "library"),
        (b"//\n.version 8.0\n.target sm_70\n", "ptx"),
        (b".version 8.0\n.target sm_70\n\0\0", "ptx"),  # as compilers give it
        (b".version\0.target", None),
        (b"", None),
        (b"int main() {}", None),
    ],
)
def test_kinds_of_code(code: bytes, kind: str | None) -> None:
    assert kind_of_code(code) == kind


CODE = ObjectCode(
    Target("cuda", "sm_90", "nvrtc 12.9"), "cubin", b"\0\1\xff", "k",
    (("f<float>", "_Z1f"),), (("f<float>", b"\0\xfe"),), "a warning\n",
)  # fmt: skip


def test_object_code_comes_back() -> None:
    assert ObjectCode.from_bytes(CODE.to_bytes()) == CODE


WHOLE = CODE.to_bytes()


@pytest.mark.parametrize(
    "data",
    [
        *(WHOLE[:n] for n in (0, 3, 4, 20, len(WHOLE) - len(CODE.code) - 1)),
        *(struct.pack("<I", len(h)) + h for h in (b"{}", b"[]", b"\xff\xff", b'{"target": 1}')),
    ],
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not an object code"):
        ObjectCode.from_bytes(data)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("a\0b", SignatureError, "'t' holds a null character, which would end the text there."),
        ("\ud800", SignatureError, "'t' holds a lone surrogate, which is no character."),
        (None, ArgumentTypeError, "'t' must be a string, not 'NoneType'."),
        (b"x", ArgumentTypeError, "'t' must be a string, not 'bytes'."),
        (["x"], ArgumentTypeError, "'t' must be a string, not 'list'."),
    ],
)
def test_what_is_no_text(text: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        checked_text("t", text)
    assert type(caught.value) is error
    assert str(caught.value) == message


def test_options() -> None:
    assert checked_options(["-DX", "-DY"]) == checked_options(("-DX", "-DY")) == ("-DX", "-DY")
    assert checked_options(()) == ()
    assert checked_options(["-I\udcff"]) == ("-I\udcff",)
    for text in ("-DX=\0", "-DX=\ud800"):
        with pytest.raises(SignatureError, match=r"'options' holds a (null char|lone surrogate)"):
            checked_options((text,))
    for wrong in ("-DX", "", None, 3, {"-DX"}, iter(["-DX"]), [b"-DX"], [None], b"-DX"):
        with pytest.raises(ArgumentTypeError) as error:
            checked_options(wrong)
        assert str(error.value) == f"'options' must be a sequence of str, not {wrong!r}."


class Named(str):
    """A text that shows its name instead."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<text>"

    __str__ = __repr__


def test_texts_become_plain_strings() -> None:
    found = checked_text("t", Named("x"))
    assert type(found) is str
    assert found == "x"
    (option,) = checked_options([Named("-DX")])
    assert type(option) is str
    assert option == "-DX"
