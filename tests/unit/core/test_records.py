"""Records are what frozen dataclasses with slots are; tables, locks, memos, patterns."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import re
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import pytest

from kerneltk.core import records
from kerneltk.core.records import BoundedTable, pattern, record


class Content:
    a: int
    b: str = "x"
    c: list[int] = field(default_factory=list)
    d: float = field(default=1.5, repr=False)
    e: int = field(default=0, compare=False)
    shared: ClassVar[int] = 3


def content(**options: Any) -> type[Any]:
    return type("Point", (), {**vars(Content), "__qualname__": "Point", **options})


Own: Any = record(content())
Plain: Any = dataclass(frozen=True, slots=True)(content())
Point = Own  # pickles find it by its name


@record
class Base:
    x: int
    y: int = 2

    @property
    def total(self) -> int:
        return self.x + self.y


@record
class Derived(Base):
    z: int = 3


@record(slots=False, kw_only=True)
class Named:
    x: int
    y: int = 2

    @cached_property
    def total(self) -> int:
        return self.x + self.y


def test_a_record_is_what_a_dataclass_is() -> None:
    for args, named in (((1,), {}), ((1, "y", [2], 2.5, 4), {}), ((), {"a": 1, "e": 2})):
        own, plain = Own(*args, **named), Plain(*args, **named)
        assert repr(own) == repr(plain)
        assert [getattr(own, f.name) for f in fields(own)] == [
            getattr(plain, f.name) for f in fields(plain)
        ]
    assert is_dataclass(Own)
    assert Own.__match_args__ == Plain.__match_args__
    assert str(inspect.signature(Own)).startswith("(a, b='x', c=")
    assert not hasattr(Own(1), "__dict__")
    assert Own(1).c is not Own(1).c
    for call in (lambda: Own(), lambda: Own(1, f=2), lambda: Own(1, a=2)):
        with pytest.raises(TypeError, match=r"Point\.__init__\(\)"):
            call()


def test_equality_and_hashes() -> None:
    assert Own(1) == Own(1)
    assert Own(1) == Own(1, e=5)
    assert Own(1) != Own(2)
    assert Own(1) != Plain(1)
    assert Own(1) != 1
    assert hash(Base(1)) == hash(Base(1, 2))
    assert len({Base(1), Base(1, 2), Base(2)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Own(1))
    assert Derived(1) != Base(1)
    assert Base(1) != Derived(1)
    by_identity: Any = record(eq=False)(content())
    one = by_identity(1)
    assert one == one
    assert one != by_identity(1)
    assert len({one, by_identity(1)}) == 2
    nothing: Any = record(type("Nothing", (), {"__annotations__": {}}))
    assert nothing() == nothing()
    assert repr(nothing()) == "Nothing()"


def test_nothing_is_assigned() -> None:
    for made in (Own(1), Derived(1), Named(x=1)):
        for name in ("a", "x", "new"):
            with pytest.raises(FrozenInstanceError):
                setattr(made, name, 2)
            with pytest.raises(FrozenInstanceError):
                delattr(made, name)


def test_records_that_derive_from_records() -> None:
    made = Derived(1, z=5)
    assert (made.x, made.y, made.z, made.total) == (1, 2, 5, 3)
    assert repr(made) == "Derived(x=1, y=2, z=5)"
    assert replace(made, y=7) == Derived(1, 7, 5)


def test_what_is_no_record() -> None:
    with pytest.raises(TypeError, match="'Late' has a field without a default behind one with it"):
        record(type("Late", (), {"__annotations__": {"x": int, "y": int}, "x": 1}))
    annotations = {f"x{k}": int for k in range(21)}
    with pytest.raises(TypeError, match="'Long' has more than 20 fields"):
        record(type("Long", (), {"__annotations__": annotations}))
    del annotations["x20"]
    longest: Any = record(type("Long", (), {"__annotations__": annotations}))
    assert longest(*range(18), x19=20, x18=19).x19 == 20


@pytest.mark.parametrize("made", [Own(1, "y", [2]), Derived(1, 2, 3), Named(x=4)], ids=repr)
def test_copies_and_pickles(made: Any) -> None:
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other == made
        assert other is not made
        assert repr(other) == repr(made)


def test_the_oldest_entries_are_dropped() -> None:
    table: BoundedTable[int, int] = BoundedTable(16)
    for n in range(100):
        table[n] = -n
        assert table[n] == -n
        assert len(table) <= 16
    assert list(table) == list(range(99 - len(table) + 1, 100))
    assert len(table) > 16 - 16 // 8


def test_an_entry_that_is_there_is_replaced() -> None:
    table: BoundedTable[str, int] = BoundedTable(2)
    table["a"], table["b"], table["a"] = 1, 2, 3
    assert table == {"a": 3, "b": 2}
    table["c"] = 4
    assert table == {"b": 2, "c": 4}


# -- forks ---------------------------------------------------------------------------------------


def forked_while(hold: Callable[[threading.Event, threading.Event], None]) -> int:
    """Fork while a thread is inside `hold`, which waits there for the second event; in the child
    return 0, in the parent the child's process number.
    """
    began, is_over = threading.Event(), threading.Event()
    thread = threading.Thread(target=hold, args=(began, is_over))
    thread.start()
    began.wait()
    child = os.fork()
    if child:
        is_over.set()
        thread.join()
    return child


@pytest.mark.filterwarnings("ignore:.*fork")  # of Python, and of libraries that are imported
def test_a_property_is_computed_in_a_child_while_the_parent_computes_another() -> None:
    class Thing:
        def __init__(self, wait: Callable[[], object]) -> None:
            self.wait = wait

        @records.cached_property
        def number(self) -> int:
            self.wait()
            return 3

    def hold(began: threading.Event, is_over: threading.Event) -> None:
        def wait() -> None:
            began.set()
            is_over.wait()

        assert Thing(wait).number == 3

    child = forked_while(hold)
    if child == 0:
        os._exit(0 if Thing(int).number == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_lock_that_another_thread_holds_is_free_in_a_child() -> None:
    lock = records.lasting_lock()

    def hold(began: threading.Event, is_over: threading.Event) -> None:
        with lock:
            began.set()
            is_over.wait()

    child = forked_while(hold)
    if child == 0:
        os._exit(0 if lock.acquire(blocking=False) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert lock.acquire(blocking=False)


# -- memos -----------------------------------------------------------------------------------------


def test_a_result_is_made_once_and_may_need_others() -> None:
    memo, made = records.Memo(), []

    def make(key: int) -> Any:
        made.append(key)
        return "end" if key == 0 else (key, memo.of(key - 1, lambda: make(key - 1)))

    threads = [threading.Thread(target=memo.of, args=(2, lambda: make(2))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memo.of(2, lambda: make(2)) == (2, (1, "end"))
    assert made == [2, 1, 0]
    assert 1 in memo
    assert 3 not in memo
    assert 1 not in pickle.loads(pickle.dumps(memo))


def test_what_fails_is_made_again() -> None:
    memo = records.Memo()
    with pytest.raises(ZeroDivisionError):
        memo.of("key", lambda: 1 // 0)
    assert memo.of("key", lambda: 1) == 1


# -- patterns that are compiled when they are used -------------------------------------------------


def test_methods_are_those_of_the_compiled_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    original = re.compile

    def counting(source: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(source)
        return original(source, flags)

    monkeypatch.setattr(re, "compile", counting)
    words = pattern(r"^(\w)(\w*)$", re.MULTILINE | re.IGNORECASE)
    assert compiled == []
    assert words.sub(r"\2\1", "ab\ncd") == "ba\ndc"
    assert words.groups == 2
    found = words.search("xy")
    assert found is not None
    assert found[2] == "y"
    count = len(compiled)
    assert words.sub("", "ab") == ""
    assert len(compiled) == count
    assert pattern(rb"a+").findall(b"aab") == [b"aa"]


def test_errors_and_copies() -> None:
    with pytest.raises(re.error):
        pattern("(").match("x")
    with pytest.raises(AttributeError):
        _ = pattern("a").no_such_method  # type: ignore[attr-defined]
    for other in (copy.copy(pattern("a")), pickle.loads(pickle.dumps(pattern("a")))):
        assert other.fullmatch("a")
