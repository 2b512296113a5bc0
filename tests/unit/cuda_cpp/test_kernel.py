"""What one launch of a raw kernel is given beside its arguments."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentTypeError, ArgumentValueError


def kernel(parameters: str, body: str = "", before: str = "", **words: Any) -> kerneltk.RawKernel:
    # A pointer that the kernel does not name takes anything.
    body = body or ("(void)x;" if re.search(r"\bx\b", parameters) else "")
    return kerneltk.RawKernel(f"{before}\n__global__ void f({parameters}) {{{body}}}", "f", **words)


def test_checks_can_be_set_later() -> None:
    take = kernel("float* x")
    gaps = np.zeros(8, np.float32)[::2]
    with pytest.raises(ArgumentValueError, match="gaps"):
        take(1, 1, (gaps,))
    take.checks = False
    take(1, 1, (gaps,))
    take.checks = True
    with pytest.raises(ArgumentValueError, match="gaps"):
        take(1, 1, (gaps,))


def test_keywords_of_one_launch_are_its_own() -> None:
    take = kernel("float* x")
    gaps = np.zeros(8, np.float32)[::2]
    for _ in range(3):
        take(1, 1, (gaps,), checks=False)
        with pytest.raises(ArgumentValueError, match="gaps"):
            take(1, 1, (gaps,))
    with pytest.raises(ArgumentValueError, match="'backend' must be"):
        take(1, 1, (gaps,), backend="gpu")


def test_shared_memory_is_a_whole_number_of_bytes() -> None:
    take = kernel("float* x")
    take(1, 1, (np.zeros(1, np.float32),), shared_mem=0)
    take(1, 1, (np.zeros(1, np.float32),), shared_mem=np.int64(8))


@pytest.mark.parametrize("word", ["cooperative", "programmatic", "exited_arrive", "checks"])
def test_flags_are_true_or_false(word: str) -> None:
    take = kernel("")
    for wrong in (None, 1, "yes", np.array([True])):
        with pytest.raises(ArgumentTypeError, match=f"'{word}' of kernel 'f' must be True or"):
            take(1, 1, (), **{word: wrong}, backend="host")


def test_unknown_words() -> None:
    with pytest.raises(ArgumentTypeError, match=r"takes no keyword 'checked'\.\n  Hint: .*checks"):
        kernel("")(1, 1, (), checked=True)


@pytest.mark.parametrize("cluster", [(), None, 1, (1,), (1, 1, 1)])
def test_clusters_of_one_block_are_none(cluster: Any) -> None:
    kernel("")(1, 1, (), cluster=cluster, backend="host")


@pytest.mark.parametrize("cluster", [0, (0,), (2, -1), "2", (1, 1, 1, 1)])
def test_what_is_no_cluster(cluster: Any) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="cluster"):
        kernel("")(1, 1, (), cluster=cluster, backend="host")


def test_words_that_are_equal_and_of_other_types() -> None:
    take = kernel("int* x", "x[0] += 1;")
    x = np.zeros(1, np.int32)
    for _ in range(2):
        take(1, 1, (x,), exited_arrive=True)
        with pytest.raises(ArgumentTypeError, match="must be True or False, not 1"):
            take(1, 1, (x,), exited_arrive=1)
    assert x[0] == 2


def test_the_number_of_arguments() -> None:
    take = kernel("int* x, int n")
    x = np.zeros(1, np.int32)
    for _ in range(2):
        with pytest.raises(ArgumentTypeError, match="takes 2 arguments, and 1 was given: 'n' is m"):
            take(1, 1, (x,))
        with pytest.raises(ArgumentTypeError, match="takes 2 arguments, and 3 were given"):
            take(1, 1, (x, 1, 2))
        take(1, 1, (x, 1))
    with pytest.raises(ArgumentTypeError, match="takes 0 arguments, and 1 was given"):
        kernel("")(1, 1, (1,), backend="host")
