"""Check the parameters of estimators with scikit-learn's tables of allowed values."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
    validate_parameter_constraints,
)

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


class Lengths(Options):  # scikit-learn accepts only subclasses of its own constraints
    """Allow a pair of whole numbers from 1, the smaller one first."""

    def __init__(self) -> None:
        super().__init__(tuple, set())

    def is_satisfied_by(self, value: Any) -> bool:
        pair = isinstance(value, (tuple, list)) and len(value) == 2
        whole = pair and all(FROM_1.is_satisfied_by(n) and not isinstance(n, (bool, np.bool_)) for n in value)
        return whole and value[0] <= value[1]

    def __str__(self) -> str:
        return "two lengths, the shorter one first, such as (1, 2)"


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
    """Refuse a parameter whose value is not in the estimator's table of allowed values.

    Parameters
    ----------
    estimator : estimator
        Its class has the table ``_parameter_constraints``, as scikit-learn's estimators do.

    Raises
    ------
    UsageError
        With the code ``bad-parameter``.

    Examples
    --------
    >>> from isthmus import CoClusteringClassifier
    >>> check_parameters(CoClusteringClassifier(n_init=3))
    >>> check_parameters(CoClusteringClassifier(n_init=0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    isthmus.exceptions.UsageError: The 'n_init' parameter of CoClusteringClassifier must be an int ... Got 0 instead.
    """
    table = type(estimator)._parameter_constraints
    values = {name: getattr(estimator, name) for name in table}
    try:
        validate_parameter_constraints(table, values, caller_name=type(estimator).__name__)
    except InvalidParameterError as error:
        raise UsageError(str(error), code="bad-parameter") from None
    for name, value in values.items():
        # Python counts True as the number 1; as a number of iterations it is a mistake.
        if isinstance(value, (bool, np.bool_)) and "boolean" not in table[name]:
            raise refusal(estimator, name, "a value that is not a boolean")


def refusal(estimator: Any, name: str, expected: str) -> UsageError:
    """Return the error for a parameter whose value does not suit the data or another parameter."""
    shown = f"{getattr(estimator, name)!r:.60}"
    return UsageError(f"{type(estimator).__name__} got {name}={shown}; expected {expected}.", code="bad-parameter")
