"""Attributes of named tuples and dataclasses, how they are made, and what builtins make of them."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import enum
import math
import operator
import types
from collections.abc import Sequence
from typing import Any

from kerneltk.core.structures import field_names, is_enumeration
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import CallSite, Static, Value
from kerneltk.jit.ir.types import PY_COMPLEX, PY_FLOAT, PY_INT, Number, Tuple
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.invocation import bind_arguments
from kerneltk.jit.lowering.values import classes
from kerneltk.jit.lowering.values.conversion import as_item, item_of
from kerneltk.jit.lowering.values.evaluation import settled

# -- attributes ------------------------------------------------------------------------------------


def attribute_of(low: FunctionBuilder, value: ir.Expression, name: str, span: ir.Span) -> Value:
    """Return an attribute of a named tuple or a dataclass."""
    kind = value.type
    assert isinstance(kind, Tuple)
    maker = kind.maker
    assert maker is not None
    if isinstance(classes.method_of(low, maker, "__getattribute__", span), types.FunctionType):
        raise classes.own_method(low, maker, "__getattribute__", span)
    if name == "__class__":
        return Static(maker)
    found = classes.found_in(maker, name)
    index = _field_of(kind, name, found[1] if found else None)
    if index is not None:
        return item_of(value, index, span)
    if found is None:
        if classes.found_in(maker, "__getattr__"):
            raise classes.own_method(low, maker, "__getattr__", span)
        known = "value" if is_enumeration(maker) else ", ".join(kind.names)
        raise low.fail(f"'{kind}' has no field '{name}'.", span, f"its fields are {known}.")
    low.program.lookups.give_up()  # classes have no description
    return _class_attribute(low, value, name, found, span)


def _field_of(kind: Tuple, name: str, attribute: Any) -> int | None:
    """Return which item an attribute is; None for what the class itself has."""
    assert kind.maker is not None
    if classes.is_tuple_class(kind.maker):
        getter = type(attribute).__name__ == "_tuplegetter"
        return int(attribute.__reduce__()[1][0]) if getter else None
    if is_enumeration(kind.maker):
        return 0 if name == "_value_" or attribute is vars(enum.Enum)["value"] else None
    if name not in kind.names or isinstance(attribute, property):
        return None
    is_data = hasattr(type(attribute), "__set__")
    is_slot = isinstance(attribute, types.MemberDescriptorType)
    return kind.names.index(name) if is_slot or not is_data else None


def _class_attribute(
    low: FunctionBuilder, value: ir.Expression, name: str, found: tuple[type, Any], span: ir.Span
) -> Value:
    owner, attribute = found
    maker = classes.class_of(value)
    assert maker is not None
    if isinstance(attribute, property):
        if not isinstance(attribute.fget, types.FunctionType):
            raise classes.own_method(low, maker, name, span)
        got = classes.called(low, attribute.fget, (value,), span)
        return Static(NotImplemented) if got is None else got
    if isinstance(attribute, staticmethod):
        return Static(attribute.__func__)
    if isinstance(attribute, classmethod) and owner is not object:
        if classes.is_generated(owner, attribute):
            raise _not_lowered(low, maker, name, span)
        return Static(types.MethodType(attribute.__func__, maker))
    if isinstance(attribute, types.FunctionType) and (
        name == "_replace" or not classes.is_generated(owner, attribute)
    ):
        return Static(classes.Method(attribute, settled(low, value)))
    if hasattr(type(attribute), "__get__"):
        raise _not_lowered(low, maker, name, span, type(attribute).__name__)
    return Static(attribute)


def _not_lowered(
    low: FunctionBuilder, kind: type, name: str, span: ir.Span, what: str = ""
) -> Exception:
    is_plain = what in ("", "function", "wrapper_descriptor", "method_descriptor")
    shown = f", a '{what}'," if what and not is_plain else ""
    return low.refuse(
        f"'{name}' of '{kind.__name__}'{shown} cannot be used in a kernel.",
        span,
        "use its fields, and methods and properties that are written in Python.",
    )


# -- what makes instances --------------------------------------------------------------------------


def construct(low: FunctionBuilder, kind: type, site: CallSite) -> Value | None:
    """Return a named tuple or a dataclass; None for another class."""
    if field_names(kind) is None or kind is tuple or is_enumeration(kind):
        return None
    if method := _own_initializer(kind):
        raise low.refuse(
            f"'{site.name}' has a '{method}' of its own, which kernels do not run.",
            site.span,
            "make the object outside, and pass it as an argument.",
        )
    if classes.is_tuple_class(kind):
        names = order = tuple(kind._fields)  # type: ignore[attr-defined]
        defaults: dict[str, Value] = {
            key: Static(value) for key, value in getattr(kind, "_field_defaults", {}).items()
        }
        values = bind_arguments(low, order, defaults, site)
    else:
        fields = dataclasses.fields(kind)
        names = tuple(field.name for field in fields)
        defaults = {
            field.name: Static(field.default)
            for field in fields
            if field.default is not dataclasses.MISSING
        }
        given = [field for field in fields if field.init]
        order = tuple(field.name for field in sorted(given, key=lambda field: bool(field.kw_only)))
        values = bind_arguments(low, order, defaults, site)
        _check_positions(low, given, site)
        for field in fields:
            if not field.init:
                if field.name not in defaults:
                    raise low.refuse(
                        f"The field '{field.name}' of '{site.name}' is no parameter, and has no "
                        "default.",
                        site.span,
                        "make the object outside, and pass it as an argument.",
                    )
                values[field.name] = defaults[field.name]
    items = tuple(as_item(low, values[name], site.span) for name in names)
    types_ = tuple(item.type for item in items)
    return ir.Construct(items, Tuple(types_, names, kind), site.span)


def _check_positions(low: FunctionBuilder, fields: Sequence[Any], site: CallSite) -> None:
    """Raise where a parameter is given by its position that has to be by its name."""
    positional = sum(not field.kw_only for field in fields)
    if len(site.arguments) > positional:
        raise low.fail(
            f"'{site.name}' takes {positional or 'no'} values by position, and "
            f"{len(site.arguments)} were given.",
            site.span_of(positional),
        )


def _own_initializer(kind: type) -> str:
    """Return a class's own method that does more with its arguments than to keep them."""
    made = next(c for c in kind.__mro__ if {"_fields", "__dataclass_params__"} & vars(c).keys())
    is_tuple = "_fields" in vars(made)
    if type(kind).__call__ is not type.__call__:
        return "__call__"
    if hasattr(kind, "__post_init__"):
        return "__post_init__"
    if kind.__new__ is not (made if is_tuple else object).__new__:
        return "__new__"
    if is_tuple:
        return "" if kind.__init__ is made.__init__ else "__init__"  # type: ignore[misc]
    parameters = vars(made)["__dataclass_params__"]
    if not parameters.init or kind.__init__ is not made.__init__:  # type: ignore[misc]
        return "__init__"
    declared = vars(made)["__dataclass_fields__"].values()
    is_own = not classes.is_generated(made, vars(made).get("__init__"))
    if is_own or any(field._field_type is _INIT_VAR for field in declared):
        return "__init__"
    setter = classes.found_in(kind, "__setattr__")
    assert setter is not None
    return "" if setter[0] is object or parameters.frozen else "__setattr__"


_INIT_VAR = dataclasses._FIELD_INITVAR  # type: ignore[attr-defined]


def _replaced(low: FunctionBuilder, value: Value, site: CallSite) -> Value:
    """Return an instance with other values for some fields."""
    found = low.as_expression(value, site.span)
    kind = found.type
    assert isinstance(kind, Tuple)
    assert kind.maker is not None
    for name in site.keywords:
        if name not in kind.names:
            known = f"its fields are {', '.join(kind.names)}."
            raise low.fail(f"'{kind}' has no field '{name}'.", site.keyword_spans[name], known)
    values = {name: item_of(found, k, site.span) for k, name in enumerate(kind.names)}
    values |= site.keywords
    items = tuple(as_item(low, values[name], site.span) for name in kind.names)
    replaced = Tuple(tuple(item.type for item in items), kind.names, kind.maker)
    return ir.Construct(items, replaced, site.span)


# -- calls -----------------------------------------------------------------------------------------


def call_method(low: FunctionBuilder, method: classes.Method, site: CallSite) -> Value:
    """Call a method of an instance."""
    function: Any = method.function
    if function.__globals__ is vars(collections):  # a named tuple's '_replace'
        kind = classes.class_of(method.owner)
        assert kind is not None
        if isinstance(classes.method_of(low, kind, "__len__", site.span), types.FunctionType):
            raise classes.own_method(low, kind, "__len__", site.span)  # which it asks
        return _replaced(low, method.owner, site)
    return low.program.handlers.call(low, method.function, with_owner(site, method.owner))


def with_owner(site: CallSite, owner: Value) -> CallSite:
    """Return a call with the instance as its first argument."""
    return dataclasses.replace(
        site, arguments=(owner, *site.arguments), spans=(site.span, *site.spans)
    )


_CONVERSIONS: dict[Any, tuple[str, Number]] = {
    builtins.int: ("__int__", PY_INT),
    builtins.float: ("__float__", PY_FLOAT),
    builtins.complex: ("__complex__", PY_COMPLEX),
    builtins.len: ("__len__", PY_INT),
}
_FUNCTIONS: dict[Any, str] = {
    builtins.abs: "__abs__",
    operator.abs: "__abs__",
    builtins.round: "__round__",
    math.floor: "__floor__",
    math.ceil: "__ceil__",
    math.trunc: "__trunc__",
}


def call_builtin(low: FunctionBuilder, function: Any, site: CallSite) -> Value | None:
    """Return the result of a builtin for an instance; None for other values, and where a tuple's
    is the same.
    """
    if function is builtins.isinstance and len(site.arguments) == 2 and not site.keywords:
        return _is_instance(low, *site.arguments)
    kinds = [classes.class_of(value) for value in site.arguments]
    kind = kinds[0] if kinds else None
    if function is builtins.type and kind is not None and len(kinds) == 1:
        return Static(kind)
    if all(isinstance(value, Static) for value in site.arguments) or not any(kinds):
        return None
    if function is builtins.divmod and len(kinds) == 2:
        first, second = site.arguments
        return classes.operated(low, "divmod", first, second, site.span)
    if kind is None:
        return None
    if function is dataclasses.replace and not classes.is_tuple_class(kind):
        if method := _own_initializer(kind):
            raise classes.own_method(low, kind, method, site.span)
        return _replaced(low, site.arguments[0], site)
    if function in _FUNCTIONS:
        return classes.special(
            low, site.arguments[0], _FUNCTIONS[function], site.span, *site.arguments[1:]
        )
    if function not in _CONVERSIONS or len(kinds) != 1:
        return None
    name, wanted = _CONVERSIONS[function]
    found = classes.special(low, site.arguments[0], name, site.span)
    if found is None:
        if function is builtins.len and not classes.is_tuple_class(kind):
            raise classes.no_tuple(low, kind, "has no length", site.span)
        return None
    number = low.as_number(found, site.span, f"What '{name}' of '{kind.__name__}' returns")
    given = ir.number_type(number)
    if given.is_integer != wanted.is_integer or given.is_floating != wanted.is_floating:
        raise low.fail(
            f"'{name}' of '{kind.__name__}' returns {low.phrase(found)}, not '{wanted}'.", site.span
        )
    return low.cast(number, wanted)


def _is_instance(low: FunctionBuilder, value: Value, info: Value) -> Value | None:
    """Return whether a value is of a class, where that is known: of numbers only that they are of
    no class of the user's.
    """
    wanted: Any = info.value if isinstance(info, Static) else None
    listed = wanted if isinstance(wanted, tuple) else (wanted,)
    if not all(isinstance(kind, type) for kind in listed):
        return None
    low.program.lookups.give_up()
    kind = classes.class_of(value)
    if kind is not None:
        return Static(issubclass(kind, wanted))
    if not isinstance(value, Static) and isinstance(value.type, Tuple):
        return Static(issubclass(tuple, wanted))
    if all(field_names(kind) is not None and kind is not tuple for kind in listed):
        return Static(False)
    return None


def call_instance(low: FunctionBuilder, value: Value, site: CallSite) -> Value | None:
    """Call an instance; None for a value whose class has no ``__call__`` in Python."""
    kind = classes.class_of(value)
    function = None if kind is None else classes.method_of(low, kind, "__call__", site.span)
    if not isinstance(function, types.FunctionType):
        return None
    return low.program.handlers.call(low, function, with_owner(site, value))


# -- words -----------------------------------------------------------------------------------------


def shown_fields(low: FunctionBuilder, kind: type, span: ir.Span) -> list[tuple[str, int]]:
    """Return the name and the index of each field that Python prints of an instance. Raises for a
    class with words of its own.
    """
    for name in ("__str__", "__repr__", "__format__"):
        found = classes.method_of(low, kind, name, span)
        if isinstance(found, types.FunctionType):
            raise classes.own_method(low, kind, name, span)
        if name == "__repr__" and (found is None or found.kind == "object"):
            sentence = f"'{kind.__name__}' has no '__repr__' that kernels could print."
            raise low.refuse(sentence, span, "print its fields.")
    if classes.is_tuple_class(kind):
        return [(name, k) for k, name in enumerate(field_names(kind) or ())]
    return [(f.name, k) for k, f in enumerate(dataclasses.fields(kind)) if f.repr]
