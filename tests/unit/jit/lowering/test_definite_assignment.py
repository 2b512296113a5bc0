"""Which reads of variables may come before a value: programs that are right, and others."""

# ruff: noqa: B007, B011, B023, F821, F841, N806, PT015, SIM108
from __future__ import annotations

import numpy as np
import pytest

from kerneltk import KernelToolkitError, jit, vectorize
from kerneltk.jit.ir import Assert, walk
from kerneltk.jit.ir.types import PY_INT, Array, number


def endless_loop(x, o, n):
    while True:
        v = x[0]
        if v > 0:
            break
    o[0] = v


def both_branches(x, o, n):
    if n > 3:
        v = 1
    else:
        v = 2
    o[0] = v


def other_branch_returns(x, o, n):
    if n > 3:
        v = 1
    else:
        return
    o[0] = v


def loop_that_runs(x, o, n):
    for i in range(4):
        v = x[i]
    o[0] = v


def unrolled_and_left(x, o, n):
    for k in (1, 2, 3):
        v = k * x[0]
        if v > 3:
            break
    o[0] = v


def same_condition(x, o, n):
    if n > 3:
        v = x[0]
    if n > 3:
        o[0] = v


def else_of_a_loop(x, o, n):
    for i in range(n):
        if x[i] > 0:
            v = i
            break
    else:
        v = -1
    o[0] = v


def flag(x, o, n):
    found = False
    for i in range(n):
        if x[i] > 0:
            found = True
            v = i
    if found:
        o[0] = v


def last_pass(x, o, n):
    for i in range(n):
        if i > 0:
            o[0] = prev
        prev = x[i]


def rest_returns(x, o, n):
    i = jit.grid(1)
    if i < n:
        v = x[i]
    jit.syncthreads()
    if i >= n:
        return
    o[i] = v


def sentinel(x, o, n):
    best = -1
    for i in range(n):
        if x[i] > 0:
            best = i
            val = x[i]
    if best >= 0:
        o[0] = val


def chosen_by_a_flag(x, o, n):
    i = jit.grid(1)
    inside = i < n
    if inside:
        v = x[i]
    o[i] = v if inside else 0


def constants(x, o, n):
    if n > 3:
        c = 5
        o[0] = c
    if n > 4:
        c2 = 6
    if n > 4:
        o[1] = c2


def known_condition(x, o, n):
    if x.dtype == np.float64:
        T = np.float32
    o[0] = T(3.5)


def undecided(x, o, n):
    i = 0
    while i < n:
        w = x[i]
        i += 1
    if n > 0:
        o[0] = w


def all_cases(x, o, n):
    match n:
        case 1:
            v = 1
        case 2:
            v = 2
        case _:
            v = 3
    o[0] = v


def loop_until_found(x, o, n):
    found = False
    i = 0
    while not found:
        if x[i] > 0:
            found = True
            v = i
        i += 1
    o[0] = v


def memory(x, o, n):
    if n > 2:
        s = jit.shared_memory(np.float64, 4)
    s[0] = 2
    o[0] = s[0]


def unrolled(x, o, n):
    for j, w in enumerate((1, 2)):
        if j == 0:
            t = w
        else:
            t += w
    o[0] = t


def part_of_a_condition(x, o, n):
    if n < 0:
        pass
    elif n > 2:
        v = 3
    if n > 2 and n < 100:
        o[0] = v


def negated_condition(x, o, n):
    if n == 1:
        v = 1
    elif n != 1:
        v = 2
    o[0] = v


def view(x, o, n):
    if n > 2:
        q = x[1:]
    if n > 2:
        o[0] = q[0]


def every_break(x, o, n):
    while True:
        if n > 2:
            r = 1
            break
        r = 2
        if n < 2:
            break
    o[0] = r


def flag_of_two(x, o, n):
    ok = x[0] > 0 and x[1] > 0
    if ok:
        v = 3
    o[0] = v if ok else 2


def read_behind_a_flag(x, o, n):
    first = True
    for i in range(n):
        if first or x[i] > m:
            m = x[i]
            first = False
    if not first:
        o[0] = m


def read_behind_a_count(x, o, n):
    count = 0
    while count == 0 or m < 5:
        m = x[count]
        count += 1
    o[0] = m


def chosen_in_the_first_pass(x, o, n):
    for i in range(4):
        m = x[i] if i == 0 else max(m, x[i])
    o[0] = m


def chosen_by_or(x, o, n):
    for i in range(4):
        is_new = i == 0 or x[i] > m
        if is_new:
            m = x[i]
    o[0] = is_new


def flag_behind_the_read(x, o, n):
    first = True
    for i in range(n):
        if x[i] > m or first:
            m = x[i]
            first = False


def flag_of_a_loop_that_may_not_run(x, o, n):
    first = True
    for i in range(n):
        if first or x[i] > m:
            m = x[i]
            first = False
    o[0] = m


def loop_that_may_not_run(x, o, n):
    for j in range(n):
        v = j
    o[0] = v


def loop_with_a_least_bound(x, o, n):
    for i in range(n % 4 + 1):
        v = i
    o[0] = v


def loop_with_a_bound_by_name(x, o, n):
    count = max(n, 1)
    for i in range(count):
        v = i
    o[0] = v


def loop_that_goes_down(x, o, n):
    for i in range(n % 4 + 1, 0, -1):
        v = i
    o[0] = v


def function_of_a_loop_that_runs(x, o, n):
    for k in range(n % 4 + 1):

        def f():
            return k

    o[0] = f()


def other_branch_fails(x, o, n):
    if n > 3:
        v = 1
    else:
        assert False
    o[0] = v


def other_case_fails(x, o, n):
    match n:
        case 1:
            p = (x[0], 2)
        case _:
            assert False, "n is 1"
    o[0] = p[1]


def else_of_a_loop_fails(x, o, n):
    for i in range(n):
        if x[i] > 0:
            v = i
            break
    else:
        assert False
    o[0] = v


def loop_of_a_remainder(x, o, n):
    for i in range(n % 4):
        v = i
    o[0] = v


def bound_that_changes(x, o, n):
    count = 3
    if n > 3:
        count = n
    for i in range(count):
        v = i
    o[0] = v


def parameter_as_a_bound(x, o, n):
    for i in range(n):
        v = i
    o[0] = v
    n = 3


def one_branch(x, o, n):
    if n > 3:
        v = 1
    o[0] = v


def never_true(x, o, n):
    for i in range(4):
        if x[i] > 100:
            v = i
    o[0] = v


def view_in_a_branch(x, o, n):
    if n > 3:
        v = x[1:]
    o[0] = v[0]


def constant_in_a_branch(x, o, n):
    if n > 3:
        c = 5
    o[0] = c


def function_object_in_a_branch(x, o, n):
    if n > 3:
        f = np.sin
    o[0] = f(x[0])


def not_all_cases(x, o, n):
    if n == 1:
        v = 1
    elif n == 2:
        v = 2
    o[0] = v


def first_pass(x, o, n):
    for i in range(n):
        o[0] = prev
        prev = x[i]


def while_that_may_not_run(x, o, n):
    while n > 3:
        v = 1
        n -= 1
    o[0] = v


def condition_that_changes(x, o, n):
    if n > 3:
        v = 1
    n = 9
    o[0] = v


def array_that_may_be_empty(x, o, n):
    for v in x:
        pass
    o[0] = v


def counter(x, o, n):
    for i in range(n):
        pass
    o[0] = i


def condition_that_changes_later(x, o, n):
    if n > 3:
        v = 1
    if n > 2:
        n = 1
        o[1] = 3
    o[0] = v


def function_in_a_branch(x, o, n):
    if n > 3:

        def f(a):
            return a

    o[0] = f(x[0])


def walrus(x, o, n):
    if x[0] > 3:
        (v := 3)
    o[0] = v


def no_default_case(x, o, n):
    match n:
        case 1:
            v = 1
        case 2:
            v = 2
    o[0] = v


def tuple_in_a_branch(x, o, n):
    if n > 3:
        p = (x[0], 2)
    o[0] = p[0]


def before_any_value(x, o, n):
    y = v if n > 2 else 0
    v = 3
    o[0] = y


def undecided_in_a_while(x, o, n):
    i = 0
    while i < n:
        w = x[i]
        i += 1
    if n > 0:
        while w > 1 and n > 2:
            w -= 1
        o[0] = w


def first_pass_by_its_start(x, o, n):
    s = 0.0
    for i in range(x.size):
        if i == 0:
            m = x[i]
        s += x[i] - m
    o[0] = s


def first_pass_of_a_counter(x, o, n):
    count = 0
    for i in range(x.size):
        if not count:
            first = x[i]
        count += 1
        o[i] = first
    if count > 0:
        o[0] = first


def first_pass_of_threads(x, o, n):
    t = jit.threadIdx.x
    for i in range(t, n, 4):
        if i > t:
            o[i] = m
        else:
            m = x[i]


def first_pass_of_a_while(x, o, n):
    k = n - 1
    best = -1.0
    while k >= 0:
        if best < 0 and x[k] > 3:
            best = 2.0
            at = k
        k -= 1
    if best > 0:
        o[0] = at


def int_flag(x, o, n):
    have = 0
    for i in range(n):
        if have == 0:
            m = x[i]
            have = 1
        elif x[i] > m:
            m = x[i]
    o[0] = m if have else -1


def changing_condition(x, o, n):
    for i in range(n):
        if x[i] > 0:
            w = x[i]
        o[i] = w


def first_pass_of_two_loops(x, o, n):
    for i in range(n):
        for j in range(n):
            if i == 0 and j == 0:
                w = x[i]
            o[i] = w


def changing_condition_behind_the_loop(x, o, n):
    for i in range(n):
        if x[i] > 0:
            w = x[i]
    o[0] = w


def constant_condition_in_a_loop(x, o, n):
    m = x[0]
    for i in range(n):
        if m > 0:
            w = x[i]
        o[i] = w


def second_pass(x, o, n):
    for i in range(1, n):
        if i != 1:
            w = x[i]
    if n > 2:
        n = 7
    o[0] = w


def start_that_changes(x, o, n):
    t = n
    i = t
    t = t + 1
    if i == t:
        w = 1
    o[0] = w


def start_of_its_own(x, o, n):
    i = n
    i = i + 1
    if i == n:
        w = 1
    o[0] = w


DECIDED_AT_RUN_TIME = (
    undecided,
    part_of_a_condition,
    changing_condition,
    first_pass_of_two_loops,
    chosen_by_or,
)
RIGHT = (
    endless_loop,
    both_branches,
    other_branch_returns,
    loop_that_runs,
    unrolled_and_left,
    same_condition,
    else_of_a_loop,
    flag,
    last_pass,
    rest_returns,
    sentinel,
    chosen_by_a_flag,
    constants,
    known_condition,
    undecided,
    all_cases,
    loop_until_found,
    memory,
    unrolled,
    part_of_a_condition,
    negated_condition,
    view,
    every_break,
    flag_of_two,
    loop_with_a_least_bound,
    loop_with_a_bound_by_name,
    loop_that_goes_down,
    function_of_a_loop_that_runs,
    first_pass_by_its_start,
    first_pass_of_a_counter,
    first_pass_of_threads,
    first_pass_of_a_while,
    int_flag,
    changing_condition,
    first_pass_of_two_loops,
    read_behind_a_flag,
    read_behind_a_count,
    chosen_in_the_first_pass,
)
ASSERTED = (other_branch_fails, other_case_fails, else_of_a_loop_fails)
WRONG = {
    loop_that_may_not_run: "this loop does not run",
    loop_of_a_remainder: "this loop does not run",
    bound_that_changes: "this loop does not run",
    parameter_as_a_bound: "this loop does not run",
    one_branch: "this condition does not hold",
    never_true: "this condition does not hold",
    view_in_a_branch: "this condition does not hold",
    constant_in_a_branch: "this condition does not hold",
    function_object_in_a_branch: "this condition does not hold",
    not_all_cases: "this condition does not hold",
    first_pass: "this loop runs for the first time",
    while_that_may_not_run: "this loop does not run",
    condition_that_changes: "this condition does not hold",
    array_that_may_be_empty: "this loop does not run",
    counter: "this loop does not run",
    condition_that_changes_later: "this condition does not hold",
    function_in_a_branch: "this condition does not hold",
    walrus: "this condition does not hold",
    no_default_case: "this condition does not hold",
    tuple_in_a_branch: "this condition does not hold",
    before_any_value: "is used before a value",
    undecided_in_a_while: "this loop does not run",
    changing_condition_behind_the_loop: "this loop does not run",
    constant_condition_in_a_loop: "this condition does not hold",
    second_pass: "this loop does not run",
    start_that_changes: "this condition does not hold",
    start_of_its_own: "this condition does not hold",
    flag_behind_the_read: "this loop runs for the first time",
    flag_of_a_loop_that_may_not_run: "this loop does not run",
}
KINDS = (Array(number(np.float64), 1), Array(number(np.float64), 1), PY_INT)


def assertions_of(function):
    program = jit.rawkernel()(function)._definition.lowered(KINDS)
    return [node for node in walk(*program.kernel.body) if isinstance(node, Assert)]


def checks_of(function):
    """Return the variables that debug mode checks."""
    found = assertions_of(function)
    assert all(node.is_debug for node in found)
    return {node.message for node in found}


@pytest.mark.parametrize("function", RIGHT, ids=lambda function: function.__name__)
def test_every_path_has_a_value(function) -> None:
    assert bool(checks_of(function)) == (function in DECIDED_AT_RUN_TIME)


@pytest.mark.parametrize("function", ASSERTED, ids=lambda function: function.__name__)
def test_an_assertion_of_false_ends_a_path(function) -> None:
    (assertion,) = assertions_of(function)
    assert not assertion.is_debug


@pytest.mark.parametrize("function", WRONG, ids=lambda function: function.__name__)
def test_a_path_has_no_value(function) -> None:
    with pytest.raises(KernelToolkitError, match=WRONG[function]):
        checks_of(function)


def test_a_read_is_checked_before_its_statement() -> None:
    assert checks_of(undecided) == {"'w' has a value"}
    assert checks_of(changing_condition) == {"'w' has a value"}
    for target in ("cuda", "compute_90"):
        jit.rawkernel()(undecided).inspect(np.zeros(3), np.zeros(3), 3, target=target)


def test_nothing_of_names_that_are_bound_is_left() -> None:
    program = jit.rawkernel()(constants)._definition.lowered(KINDS)
    names = {node.name for node in walk(*program.kernel.body) if hasattr(node, "name")}
    assert not any("bound" in name for name in names)


def test_results_of_element_functions() -> None:
    def first(x, table):
        for j in range(len(table)):
            if table[j] == x:
                found = j
        return found

    with pytest.raises(KernelToolkitError, match="'found' may have no value here"):
        jit.kernel(raw=("table",))(first)(np.arange(3), np.arange(2))


@pytest.mark.parametrize("function", DECIDED_AT_RUN_TIME, ids=lambda function: function.__name__)
def test_functions_of_elements_have_no_checks(function) -> None:
    """What cannot be decided is refused there, in functions that they call as well."""

    def calls(x, o, n):
        function(x, o, n)
        return 1

    with pytest.raises(KernelToolkitError, match="may have no value here"):
        jit.kernel(calls, raw=("x", "o")).inspect(np.zeros(3), np.zeros(3), np.arange(3))


def test_vectorized_functions_of_a_sentinel() -> None:
    @vectorize(excluded={1})
    def found(x, table):
        best = -1
        for j in range(len(table)):
            if table[j] == x:
                best = j
                value = table[j]
        return value if best >= 1 else 0

    assert list(found(np.arange(3), np.arange(2))) == [0, 1, 0]


def test_vectorized_functions_of_first_passes() -> None:
    @vectorize(excluded={1})
    def spread(x, table):
        total = 0.0
        for i in range(len(table)):
            if i == 0:
                first = table[i]
            total += table[i] - first
        return x + total

    assert list(spread(np.arange(2.0), np.array([1.0, 2.0, 4.0]))) == [4.0, 5.0]
