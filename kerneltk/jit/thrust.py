"""Thrust's algorithms in one thread, with the names and parameters of ``cupyx.jit.thrust``.

An algorithm takes a policy, `seq` or `device`, which both run it in the calling thread, as Thrust
does within kernels; and iterators: ``x.begin()``, ``x.end()``, ``x.begin() + 3``,
`make_counting_iterator`::

    @jit.rawkernel()
    def sort_rows(x):
        row = x[jit.grid(1)]
        jit.thrust.sort(jit.thrust.seq, row.begin(), row.end())

Arrays have one dimension and may be strided. Operations and comparisons are functions of two
values; without one they are ``+``, ``==`` and ``<``, and sums are of the type that NumPy gives to
them.
Iterators are returned as Thrust does: behind what was written, or at what was found.

Everything is restricted Python, compiled with the kernel on both backends.
"""

# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# Restricted Python: kernels give the types.

from __future__ import annotations

import operator

import numpy as np

from kerneltk.jit.intrinsics.execution.iterators import (
    ArrayIterator,
    ConstantIterator,
    CountingIterator,
)
from kerneltk.jit.intrinsics.execution.memory import INTRINSICS as _MEMORY

_local_memory = _MEMORY["local_memory"]


class Policy:
    """Where an algorithm runs."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"kerneltk.jit.thrust.{self._name}"


seq = Policy("seq")
"""In the calling thread."""

device = Policy("device")
"""As `seq`, which Thrust makes of it within kernels."""


def make_constant_iterator(x):
    """Return an iterator of a range of equal values."""
    return ConstantIterator(x, 0)


def make_counting_iterator(x):
    """Return an iterator of ``x``, ``x + 1``, …"""
    return CountingIterator(x)


# -- what the algorithms share ---------------------------------------------------------------------


def _iterator(of):
    """Return an iterator; of an array, which stands for its first element, one of that."""
    if isinstance(of, (ArrayIterator, ConstantIterator, CountingIterator)):
        return of
    return of.begin()


def _length(first, last):
    return _iterator(last) - _iterator(first)


def _put(to, index, value):
    at = _iterator(to)
    at.array[at.position + index] = value


def _zero(of):
    at = _iterator(of)
    if isinstance(at, ArrayIterator):
        return at.array.dtype.type(0)
    return at[0] * 0  # of an iterator that makes its values


def _less(x, y):
    return x < y


def _equal(x, y):
    return x == y


def _or(function, default):
    return default if function is None else function


# -- searches and comparisons ----------------------------------------------------------------------


def count(policy, first, last, value):
    """Return how many elements equal ``value``."""
    found = 0
    for k in range(_length(first, last)):
        if first[k] == value:
            found += 1
    return found


def find(policy, first, last, value):
    """Return an iterator at the first element that equals ``value``, or ``last``."""
    k = 0
    length = _length(first, last)
    while k < length and first[k] != value:
        k += 1
    return _iterator(first) + k


def equal(policy, first1, last1, first2, binary_pred=None):
    """Return whether two ranges have equal elements."""
    return _first_difference(first1, last1, first2, binary_pred) == _length(first1, last1)


def mismatch(policy, first1, last1, first2, pred=None):
    """Return a pair of iterators at the first elements that differ."""
    k = _first_difference(first1, last1, first2, pred)
    return _iterator(first1) + k, _iterator(first2) + k


def _first_difference(first1, last1, first2, pred):
    same = _or(pred, _equal)
    k = 0
    length = _length(first1, last1)
    while k < length and same(first1[k], first2[k]):
        k += 1
    return k


def is_sorted(policy, first, last, comp=None):
    """Return whether no element comes before its predecessor."""
    return _sorted_length(first, last, comp) == _length(first, last)


def is_sorted_until(policy, first, last, comp=None):
    """Return an iterator at the first element that comes before its predecessor, or ``last``."""
    return _iterator(first) + _sorted_length(first, last, comp)


def _sorted_length(first, last, comp):
    before = _or(comp, _less)
    length = _length(first, last)
    k = min(1, length)
    while k < length and not before(first[k], first[k - 1]):
        k += 1
    return k


# -- binary searches -------------------------------------------------------------------------------


def equal_range(policy, first, last, value, comp=None):
    """Return iterators at the first element of a sorted range that is not before ``value``, and at
    the first that is after it.
    """
    begin = _iterator(first)
    return begin + _lower(first, last, value, comp), begin + _upper(first, last, value, comp)


def _lower(first, last, value, comp):
    before = _or(comp, _less)
    low = 0
    high = _length(first, last)
    while low < high:
        middle = low + (high - low) // 2
        if before(first[middle], value):
            low = middle + 1
        else:
            high = middle
    return low


def _upper(first, last, value, comp):
    before = _or(comp, _less)
    low = 0
    high = _length(first, last)
    while low < high:
        middle = low + (high - low) // 2
        if before(value, first[middle]):
            high = middle
        else:
            low = middle + 1
    return low


def _has(first, last, value, comp):
    before = _or(comp, _less)
    k = _lower(first, last, value, comp)
    return k < _length(first, last) and not before(value, first[k])


def _search(name, doc, search):
    """Return a search of sorted ranges, and name it; ``search`` finds one value."""

    def found(policy, first, last, value, value_last=None, result=None, comp=None):
        if result is None:
            at = search(first, last, value, value_last)
            return at if search is _has else _iterator(first) + at
        length = _length(value, value_last)
        for k in range(length):
            _put(result, k, search(first, last, value[k], comp))
        return _iterator(result) + length

    found.__name__, found.__doc__ = name, doc
    return found


lower_bound = _search(
    "lower_bound",
    "Return an iterator at the first element of a sorted range that is not before ``value``; or, "
    "given a range of values and a result, write the positions, and return the result's end.\n\n"
    "With a single value, what follows it is the comparison.",
    _lower,
)
upper_bound = _search(
    "upper_bound", "As `lower_bound`, of the first element that is after ``value``.", _upper
)
binary_search = _search(
    "binary_search", "As `lower_bound`, of whether a sorted range has a value.", _has
)


# -- copies ----------------------------------------------------------------------------------------


def copy(policy, first, last, result):
    """Copy a range."""
    length = _length(first, last)
    for k in range(length):
        _put(result, k, first[k])
    return _iterator(result) + length


def fill(policy, first, last, value):
    """Assign a value to all elements."""
    for k in range(_length(first, last)):
        _put(first, k, value)


def sequence(policy, first, last, init=0, step=1):
    """Assign ``init``, ``init + step``, …"""
    for k in range(_length(first, last)):
        _put(first, k, init + k * step)


def gather(policy, map_first, map_last, input_first, result):
    """Copy the elements at the positions of a map."""
    length = _length(map_first, map_last)
    for k in range(length):
        _put(result, k, input_first[map_first[k]])
    return _iterator(result) + length


def scatter(policy, first, last, map, result):
    """Copy elements to the positions of a map."""
    for k in range(_length(first, last)):
        _put(result, map[k], first[k])


def reverse(policy, first, last):
    """Reverse a range in place."""
    _reverse(first, 0, _length(first, last))


def reverse_copy(policy, first, last, result):
    """Copy a range in reverse."""
    length = _length(first, last)
    for k in range(length):
        _put(result, k, first[length - 1 - k])
    return _iterator(result) + length


def swap_ranges(policy, first1, last1, first2):
    """Exchange the elements of two ranges."""
    length = _length(first1, last1)
    for k in range(length):
        x = first1[k]
        _put(first1, k, first2[k])
        _put(first2, k, x)
    return _iterator(first2) + length


def replace(policy, first, last, old_value, new_value):
    """Replace the elements that equal a value."""
    for k in range(_length(first, last)):
        if first[k] == old_value:
            _put(first, k, new_value)


def replace_copy(policy, first, last, result, old_value, new_value):
    """Copy a range, with another value for the elements that equal one."""
    length = _length(first, last)
    for k in range(length):
        if first[k] == old_value:
            _put(result, k, new_value)
        else:
            _put(result, k, first[k])
    return _iterator(result) + length


def remove(policy, first, last, value):
    """Move the elements that differ from a value to the front, and return their end."""
    return remove_copy(policy, first, last, first, value)


def remove_copy(policy, first, last, result, value):
    """Copy the elements that differ from a value."""
    remaining = 0
    for k in range(_length(first, last)):
        x = first[k]
        if x != value:
            _put(result, remaining, x)
            remaining += 1
    return _iterator(result) + remaining


def unique(policy, first, last, binary_pred=None):
    """Move the first of each run of equal elements to the front, and return their end."""
    return unique_by_key(policy, first, last, None, binary_pred)


def unique_by_key(policy, keys_first, keys_last, values_first, binary_pred=None):
    """As `unique` of keys, and their values with them; return the ends of both."""
    same = _or(binary_pred, _equal)
    remaining = 0
    for k in range(_length(keys_first, keys_last)):
        if remaining == 0 or not same(keys_first[remaining - 1], keys_first[k]):
            _put(keys_first, remaining, keys_first[k])
            if values_first is not None:
                _put(values_first, remaining, values_first[k])
            remaining += 1
    if values_first is None:
        return _iterator(keys_first) + remaining
    return _iterator(keys_first) + remaining, _iterator(values_first) + remaining


# -- sums ------------------------------------------------------------------------------------------


def reduce(policy, first, last, init=None, binary_op=None):
    """Return ``init`` and all elements, combined from the first to the last; without ``init``, zero
    of the elements' type.
    """
    combined = _or(binary_op, operator.add)
    total = _zero(first) if init is None else init
    for k in range(_length(first, last)):
        total = combined(total, first[k])
    return total


def inner_product(policy, first1, last1, first2, init, binary_op1=None, binary_op2=None):
    """Return ``init`` and the products of two ranges' elements, combined."""
    combined = _or(binary_op1, operator.add)
    product = _or(binary_op2, operator.mul)
    total = init
    for k in range(_length(first1, last1)):
        total = combined(total, product(first1[k], first2[k]))
    return total


def adjacent_difference(policy, first, last, result, binary_op=None):
    """Write the first element, and the difference of each other to its predecessor."""
    combined = _or(binary_op, operator.sub)
    length = _length(first, last)
    if length > 0:
        previous = first[0]
        _put(result, 0, previous)
        for k in range(1, length):
            x = first[k]
            _put(result, k, combined(x, previous))
            previous = x
    return _iterator(result) + length


def inclusive_scan(policy, first, last, result, binary_op=None):
    """Write the prefix sums: of the elements up to and with each."""
    return _scan(None, first, _length(first, last), result, None, None, binary_op)


def exclusive_scan(policy, first, last, result, init=None, binary_op=None):
    """Write the sums of ``init``, by default zero, and the elements before each."""
    begin = _zero(first) if init is None else init
    return _scan(None, first, _length(first, last), result, begin, None, binary_op)


def inclusive_scan_by_key(policy, first1, last1, first2, result, binary_pred=None, binary_op=None):
    """As `inclusive_scan`, from the start again at each run of equal keys."""
    return _scan(first1, first2, _length(first1, last1), result, None, binary_pred, binary_op)


def exclusive_scan_by_key(
    policy, first1, last1, first2, result, init=None, binary_pred=None, binary_op=None
):
    """As `exclusive_scan`, from ``init`` again at each run of equal keys."""
    begin = _zero(first2) if init is None else init
    return _scan(first1, first2, _length(first1, last1), result, begin, binary_pred, binary_op)


def _scan(keys, values, length, result, begin, binary_pred, binary_op):
    """Write prefix sums: without the element itself where ``begin`` is given."""
    same = _or(binary_pred, _equal)
    combined = _or(binary_op, operator.add)
    if length > 0:
        total = values[0] if begin is None else begin
        if begin is None:
            _put(result, 0, total)
        for k in range(1 if begin is None else 0, length):
            x = values[k]  # the result may be the range itself
            restarts = keys is not None and k > 0 and not same(keys[k - 1], keys[k])
            if begin is not None:
                if restarts:
                    total = begin
                _put(result, k, total)
            total = x if restarts and begin is None else combined(total, x)
            if begin is None:
                _put(result, k, total)
    return _iterator(result) + length


def reduce_by_key(
    policy,
    keys_first,
    keys_last,
    values_first,
    keys_output,
    values_output,
    binary_pred=None,
    binary_op=None,
):
    """Write the first key of each run of equal keys, and the total of its values; return the ends
    of both results.
    """
    same = _or(binary_pred, _equal)
    combined = _or(binary_op, operator.add)
    length = _length(keys_first, keys_last)
    runs = 0
    if length > 0:
        total = values_first[0]
        for k in range(1, length):
            x = values_first[k]
            if same(keys_first[k - 1], keys_first[k]):
                total = combined(total, x)
            else:
                _put(keys_output, runs, keys_first[k - 1])
                _put(values_output, runs, total)
                runs += 1
                total = x
        _put(keys_output, runs, keys_first[length - 1])
        _put(values_output, runs, total)
        runs += 1
    return _iterator(keys_output) + runs, _iterator(values_output) + runs


# -- sets of sorted ranges -------------------------------------------------------------------------


def _set_operation(name, doc, *takes):
    """Return the two functions of an operation on sets, and name them; ``takes`` are `_set`'s."""

    def operation(policy, first1, last1, first2, last2, result, comp=None):
        return _set(first1, last1, first2, last2, None, None, result, None, comp, takes)

    def by_key(
        policy, keys_first1, keys_last1, keys_first2, keys_last2, values_first1, values_first2,
        keys_result, values_result, comp=None,
    ):  # fmt: skip
        return _set(keys_first1, keys_last1, keys_first2, keys_last2, values_first1, values_first2,
                    keys_result, values_result, comp, takes)  # fmt: skip

    operation.__name__, by_key.__name__ = name, f"{name}_by_key"
    operation.__doc__ = doc
    by_key.__doc__ = f"As `{name}` of keys, and their values with them; return the ends of both."
    return operation, by_key


set_union, set_union_by_key = _set_operation(
    "set_union",
    "Write what is in either of two sorted ranges, as often as in the one that has it more often; "
    "what both have is of the first.",
    *(True, True, True),
)
set_difference, set_difference_by_key = _set_operation(
    "set_difference",
    "Write what is in the first of two sorted ranges and not in the second.",
    *(True, False, False),
)
set_symmetric_difference, set_symmetric_difference_by_key = _set_operation(
    "set_symmetric_difference",
    "Write what is in one of two sorted ranges and not in the other.",
    *(True, True, False),
)
set_intersection, _ = _set_operation(
    "set_intersection",
    "Write what is in both of two sorted ranges, of the first.",
    *(False, False, True),
)


def set_intersection_by_key(
    policy, keys_first1, keys_last1, keys_first2, keys_last2, values_first1, keys_result,
    values_result, comp=None,
):  # fmt: skip
    """As `set_intersection` of keys, and the first range's values with them."""
    return _set(keys_first1, keys_last1, keys_first2, keys_last2, values_first1, values_first1,
                keys_result, values_result, comp, (False, False, True))  # fmt: skip


def _set(first1, last1, first2, last2, values1, values2, result, values_result, comp, takes):
    """Merge two sorted ranges; ``takes`` says whether elements that only the first, only the second
    and both have are written.
    """
    before = _or(comp, _less)
    length1 = _length(first1, last1)
    length2 = _length(first2, last2)
    i = 0
    j = 0
    written = 0
    while i < length1 or j < length2:
        of_first = j == length2 or (i < length1 and before(first1[i], first2[j]))
        of_second = not of_first and (i == length1 or before(first2[j], first1[i]))
        if of_second:
            if takes[1]:
                _put(result, written, first2[j])
                if values_result is not None:
                    _put(values_result, written, values2[j])
                written += 1
        elif (takes[0] and of_first) or (takes[2] and not of_first):
            _put(result, written, first1[i])
            if values_result is not None:
                _put(values_result, written, values1[i])
            written += 1
        if not of_second:
            i += 1
        if not of_first:
            j += 1
    if values_result is None:
        return _iterator(result) + written
    return _iterator(result) + written, _iterator(values_result) + written


# -- sorting ---------------------------------------------------------------------------------------


def sort(policy, first, last, comp=None):
    """Sort a range in place; equal elements keep their order."""
    _sort(first, last, None, comp)


def sort_by_key(policy, keys_first, keys_last, values_first, comp=None):
    """Sort keys in place, and their values with them; equal keys keep their order."""
    _sort(keys_first, keys_last, values_first, comp)


stable_sort, stable_sort_by_key = sort, sort_by_key

_RUN = 16  # elements that are sorted by insertion: shorter runs are merged at a higher cost
_DEPTH = 64  # parts of a merge that wait: one for each halving of a range


def _sort(keys, last, values, comp):
    """Sort runs by insertion, and merge neighbours in place, by rotations (P. Kim, A. Kutzner,
    Stable Minimum Storage Merging by Symmetric Comparisons, ESA 2004): a thread has no memory for a
    copy.
    """
    before = _or(comp, _less)
    length = _length(keys, last)
    for begin in range(0, length, _RUN):
        for k in range(begin + 1, min(begin + _RUN, length)):
            j = k
            while j > begin and before(keys[j], keys[j - 1]):
                _exchange(keys, values, j, j - 1)
                j -= 1
    size = _RUN
    while size < length:
        for begin in range(0, length - size, 2 * size):
            _merge(keys, values, before, begin, begin + size, min(begin + 2 * size, length))
        size *= 2


def _merge(keys, values, before, begin, middle, end):
    waiting = _local_memory(np.int64, (_DEPTH, 3))
    waiting[0, 0] = begin
    waiting[0, 1] = middle
    waiting[0, 2] = end
    parts = 1
    while parts > 0:
        parts -= 1
        low = waiting[parts, 0]
        mid = waiting[parts, 1]
        high = waiting[parts, 2]
        if low == mid or mid == high:
            continue
        if high - low == 2:
            if before(keys[mid], keys[low]):
                _exchange(keys, values, low, mid)
            continue
        # The longer side is halved; what must change sides with its half is found by bisection.
        if mid - low > high - mid:
            left = low + (mid - low) // 2
            right = mid + _lower(_iterator(keys) + mid, _iterator(keys) + high, keys[left], before)
        else:
            right = mid + (high - mid) // 2
            left = low + _upper(_iterator(keys) + low, _iterator(keys) + mid, keys[right], before)
        _rotate(keys, values, left, mid, right)
        joint = left + (right - mid)
        # The longer part waits, so that as few wait as there are halvings.
        is_left_longer = joint - low > high - joint
        k = parts if is_left_longer else parts + 1
        waiting[k, 0] = low
        waiting[k, 1] = left
        waiting[k, 2] = joint
        k = parts + 1 if is_left_longer else parts
        waiting[k, 0] = joint
        waiting[k, 1] = right
        waiting[k, 2] = high
        parts += 2


def _rotate(keys, values, begin, middle, end):
    """Exchange two neighbouring ranges, by three reversals."""
    _reverse(keys, begin, middle)
    _reverse(keys, middle, end)
    _reverse(keys, begin, end)
    if values is not None:
        _reverse(values, begin, middle)
        _reverse(values, middle, end)
        _reverse(values, begin, end)


def _reverse(of, begin, end):
    for k in range((end - begin) // 2):
        _swap(of, begin + k, end - 1 - k)


def _exchange(keys, values, i, j):
    _swap(keys, i, j)
    if values is not None:
        _swap(values, i, j)


def _swap(of, i, j):
    x = of[i]
    _put(of, i, of[j])
    _put(of, j, x)
