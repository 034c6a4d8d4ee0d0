"""Parameters of co-clustering: what may be asked for."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from isthmus.exceptions import UsageError


def check_parameters(model: Any) -> None:
    """Refuse values outside their range, each with what was given and what is expected."""
    k, trade_off = model.n_word_clusters, model.trade_off
    if k is not None and k != "auto" and (not is_whole(k) or k < 1):
        _refuse("n_word_clusters", k, "a whole number from 1, 'auto' or None is expected")
    if trade_off != "auto" and not (is_number(trade_off) and trade_off >= 0):
        _refuse("trade_off", trade_off, "a number from 0 or 'auto' is expected")
    for name in ("smoothing", "tol"):
        value = getattr(model, name)
        if not (is_number(value) and 0 <= value < 1):
            _refuse(name, value, "a number in [0, 1) is expected")
    for name in ("n_init", "max_iter"):
        value = getattr(model, name)
        if not is_whole(value) or value < 1:
            _refuse(name, value, "a whole number from 1 is expected")
    if model.weighting not in ("log", "counts"):
        _refuse("weighting", model.weighting, "use 'log' or 'counts'")
    if model.refine not in ("centroids", None):
        _refuse("refine", model.refine, "use 'centroids' or None")


def is_whole(value: Any) -> bool:
    """Whether a value is an integer, and no bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number, and no bool."""
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def _refuse(name: str, value: Any, expected: str) -> None:
    raise UsageError(f"{name}={value!r}; {expected}.", code="bad-parameter")
