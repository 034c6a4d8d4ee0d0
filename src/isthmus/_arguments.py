"""Check the types of the arguments of public functions against their annotations, without importing numpy."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import os
import reprlib
import types
import typing
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from isthmus.exceptions import UsageError

BOOLEANS = ("bool", "bool_")  # Python's and numpy's type
# Arguments that are validated elsewhere, with sentences and codes of their own.
VALIDATED = frozenset(("source_texts", "source_labels", "source_groups", "target_texts"))


def checks_arguments(function: Callable) -> Callable:
    """Check the types of the arguments of a public function against its annotations.

    Only annotations that say something about a single value are checked: numbers, texts, paths, mappings, sequences,
    functions, ``None``, literals and unions of these. All other annotations accept every value.

    Parameters
    ----------
    function : callable
        Function or method.

    Returns
    -------
    callable
        The function, which raises UsageError with code ``bad-parameter`` for an argument of another type.
    """
    signature = inspect.signature(function)

    @functools.cache
    def allowed_types() -> dict[str, Any]:
        # On the first call, because annotations may name classes that are defined after the function.
        known = {**vars(typing), **vars(collections.abc), **inspect.unwrap(function).__globals__}
        found = {}
        for name, parameter in signature.parameters.items():
            annotation = parameter.annotation
            try:
                found[name] = eval(annotation, known) if isinstance(annotation, str) else annotation
            except NameError:
                found[name] = Any  # a class that only type checkers import
        return found

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        try:
            given = signature.bind(*args, **options).arguments
        except TypeError as error:
            raise UsageError(f"{function.__name__}(): {error}.", code="bad-parameter") from None
        for name, value in given.items():
            if name in VALIDATED:
                continue
            annotation = allowed_types()[name]
            if not has_type(value, annotation):
                allowed = " or ".join(describe_types(annotation))
                message = f"{name} is {reprlib.repr(value)} ({type(value).__name__}); give {allowed}."
                raise UsageError(message, code="bad-parameter")
        return function(*args, **options)

    return checked


def checks_methods(kind: type) -> type:
    """Check the types of the arguments of all public methods of a class, also of inherited ones.

    Parameters
    ----------
    kind : type

    Returns
    -------
    type
        The same class.
    """
    for name, member in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            setattr(kind, name, checks_arguments(member))
    return kind


WORDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    os.PathLike: "a path",
    collections.abc.Sequence: "a sequence",
    collections.abc.Iterable: "a sequence",
    collections.abc.Mapping: "a mapping",
    collections.abc.Callable: "a function",
    type(None): "None",
}


def describe_types(annotation: Any) -> list[str]:
    """Return the types that an annotation allows, in words.

    Parameters
    ----------
    annotation : Any
        Evaluated annotation.

    Returns
    -------
    list of str
    """
    origin = typing.get_origin(annotation) or annotation
    if origin in (typing.Union, types.UnionType):
        return list(dict.fromkeys(word for one in typing.get_args(annotation) for word in describe_types(one)))
    if origin is typing.Literal:
        return [repr(one) for one in typing.get_args(annotation)]
    return [WORDS.get(type(None) if origin is None else origin, getattr(origin, "__name__", str(origin)))]


def has_type(value: Any, annotation: Any) -> bool:
    """Return whether a value fits an annotation; annotations that are not understood accept every value.

    Parameters
    ----------
    value : Any
    annotation : Any
        Evaluated annotation.

    Returns
    -------
    bool
    """
    origin = typing.get_origin(annotation) or annotation
    if origin in (typing.Union, types.UnionType):
        return any(has_type(value, one) for one in typing.get_args(annotation))
    if origin is typing.Literal:
        return any(value is one or (type(value) is type(one) and value == one) for one in typing.get_args(annotation))
    if origin in (None, type(None)):
        return value is None
    if origin is bool:
        return type(value).__name__ in BOOLEANS
    if origin in (int, float):
        return isinstance(value, Integral if origin is int else Real) and type(value).__name__ not in BOOLEANS
    if origin is collections.abc.Iterable:
        return hasattr(value, "__iter__")
    if origin in (collections.abc.Sequence, list, tuple):
        # Arrays, series and frames count as sequences; texts, and sets, which have no order, do not.
        plain = isinstance(value, (str, bytes, bytearray, collections.abc.Mapping, collections.abc.Set))
        return hasattr(value, "__iter__") and hasattr(value, "__len__") and not plain
    if origin is collections.abc.Mapping and isinstance(value, origin):
        key, content = typing.get_args(annotation) or (Any, Any)
        return all(has_type(name, key) and has_type(one, content) for name, one in value.items())
    if origin in (str, os.PathLike, collections.abc.Mapping, collections.abc.Callable):
        return isinstance(value, origin)
    return True
