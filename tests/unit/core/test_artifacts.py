"""Object code as bytes, and kinds of code by their first bytes."""

from __future__ import annotations

import struct

import pytest

from kerneltk.core.artifacts import ObjectCode, Target, kind_of_code

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
    (("f<float>", "_Z1f"),), (("f<float>", b"\0\xfe"),),
)  # fmt: skip


def test_object_code_comes_back() -> None:
    assert ObjectCode.from_bytes(CODE.to_bytes()) == CODE


@pytest.mark.parametrize("length", [0, 3, 4, 20, len(CODE.to_bytes()) - len(CODE.code) - 1])
def test_truncated_bytes_are_refused(length: int) -> None:
    with pytest.raises(ValueError, match="not an object code"):
        ObjectCode.from_bytes(CODE.to_bytes()[:length])


@pytest.mark.parametrize("head", [b"{}", b"[]", b"\xff\xff", b'{"target": 1}'])
def test_other_bytes_are_refused(head: bytes) -> None:
    with pytest.raises(ValueError, match="not an object code"):
        ObjectCode.from_bytes(struct.pack("<I", len(head)) + head)
