"""Parameters of estimators: each stands once, with default and what it may be; and the one place that checks them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions, make_constraint

from isthmus.exceptions import UsageError

__all__ = [
    "FROM_0",
    "FROM_1",
    "NON_NEGATIVE",
    "N_JOBS",
    "POSITIVE",
    "SHARE",
    "HasMethods",
    "Interval",
    "Lengths",
    "Options",
    "StrOptions",
    "check_parameters",
    "is_allowed",
    "parameter",
    "parameters",
    "refusal",
]

FROM_0 = Interval(Integral, 0, None, closed="left")
FROM_1 = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="both")
N_JOBS = [Options(Integral, {-1}), FROM_1]  # threads: -1 for all cores

Estimator = TypeVar("Estimator")


class Lengths:
    hidden = False

    def is_satisfied_by(self, value: Any) -> bool:
        pair = isinstance(value, (tuple, list)) and len(value) == 2
        return pair and all(FROM_1.is_satisfied_by(n) and not _is_bool(n) for n in value) and value[0] <= value[1]

    def __str__(self) -> str:
        return "two lengths, shortest first, such as (1, 2)"


def parameter(*allowed: Any, default: Any, positional: bool = False) -> Any:
    """A parameter of an estimator: what it may be besides its default; given by name, unless ``positional``."""
    return field(default=default, kw_only=not positional, metadata={"allowed": list(allowed)})


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(parameter,))
def parameters(estimator: type[Estimator]) -> type[Estimator]:
    """A class whose fields are made by :func:`parameter`, with its constructor and its table of allowed values.

    Editors and type checkers read the constructor off the fields.

    >>> @parameters
    ... class Halving:
    ...     n_steps: int = parameter(FROM_1, default=10)
    >>> Halving(n_steps=3).n_steps, list(Halving._parameter_constraints)
    (3, ['n_steps'])
    """
    made: Any = dataclass(eq=False, repr=False, match_args=False)(estimator)
    made._parameter_constraints = {one.name: one.metadata["allowed"] for one in fields(made)}
    return made


def check_parameters(estimator: Any) -> None:
    """Refuse the first parameter whose value is not in the estimator's table, with the code ``bad-parameter``.

    >>> from isthmus import CoClusteringClassifier
    >>> check_parameters(CoClusteringClassifier(n_init=3))
    >>> check_parameters(CoClusteringClassifier(n_init=0))
    Traceback (most recent call last):
        ...
    isthmus.exceptions.UsageError: CoClusteringClassifier got n_init=0; expected a whole number from 1.
    """
    for name, allowed in type(estimator)._parameter_constraints.items():
        value = getattr(estimator, name)
        if not is_allowed(value, allowed):
            raise refusal(estimator, name, _in_words(allowed))


def refusal(estimator: Any, name: str, expected: str) -> UsageError:
    shown = repr(getattr(estimator, name))
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    return UsageError(f"{type(estimator).__name__} got {name}={shown}; expected {expected}.", code="bad-parameter")


def is_allowed(value: Any, allowed: list) -> bool:
    # Python counts True as the number 1; as a number of iterations it is a mistake.
    if _is_bool(value):
        return "boolean" in [one for one in allowed if isinstance(one, str)]
    return any(_constraint(one).is_satisfied_by(value) for one in allowed)


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _constraint(one: Any) -> Any:
    return one if hasattr(one, "is_satisfied_by") and not isinstance(one, type) else make_constraint(one)


def _in_words(allowed: list) -> str:
    # None goes last: "a whole number from 1 or None".
    phrases = [phrase for one in sorted(allowed, key=lambda one: one is None) for phrase in _phrases(one)]
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def _phrases(one: Any) -> list[str]:
    if isinstance(one, Options):  # also names
        return sorted(repr(value) for value in one.options)
    if isinstance(one, Interval):
        return [_range(one)]
    if isinstance(one, HasMethods):
        methods = [f"{method}()" for method in sorted(one.methods)]
        return [f"an estimator with {', '.join(methods[:-1])}{' and ' if methods[:-1] else ''}{methods[-1]}"]
    if isinstance(one, str):
        return {
            "boolean": ["True", "False"],
            "random_state": ["a whole number from 0", "a RandomState", "None"],
            "array-like": ["a sequence or an array"],
            "sparse matrix": ["a sparse matrix"],
        }[one]
    if isinstance(one, type):
        return [_TYPES.get(one, f"an instance of {one.__name__}")]
    return ["None"] if one is None else ["a function"] if one is callable else [str(one)]


_TYPES: dict[type, str] = {Mapping: "a mapping", str: "a name", os.PathLike: "a path"}


def _range(one: Interval) -> str:
    whole = "a whole number" if one.type is Integral else "a number"
    closed_left, closed_right = one.closed in ("left", "both"), one.closed in ("right", "both")
    if one.left is not None and one.right is not None and closed_left and closed_right:
        return f"{whole} from {one.left:g} to {one.right:g}"
    parts = []
    if one.left is not None:
        parts.append(f"{'from' if closed_left else 'above'} {one.left:g}")
    if one.right is not None:
        parts.append(f"{'up to' if closed_right else 'below'} {one.right:g}")
    return " ".join([whole, " and ".join(parts)]).strip()
