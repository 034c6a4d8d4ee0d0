"""The methods that run on large inputs, and how each reads texts."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from isthmus.exceptions import UsageError


@dataclass(frozen=True)
class LargeMethod:
    """A method for large inputs: the module that fits it, and the words it reads.

    ``texts``: it makes its features of the texts themselves and needs no vocabulary.
    """

    name: str
    module: str
    sentiment: bool = False
    pairs: bool = False
    texts: bool = False
    function: str = "fit"

    @property
    def fit(self) -> Callable[..., Any]:
        return getattr(import_module(f"isthmus.scale.methods.{self.module}"), self.function)


METHODS = {
    method.name: method
    for method in (
        LargeMethod("nbc", "nbc"),
        LargeMethod("projection", "projection"),
        LargeMethod("logistic", "linear", sentiment=True, pairs=True, function="fit_logistic"),
        LargeMethod("svm", "linear", function="fit_svm"),
        LargeMethod("cocc", "cocc"),
        LargeMethod("strings", "strings", texts=True),
        LargeMethod("vectors", "vectors", texts=True),
        LargeMethod("self-training", "self_training", sentiment=True, pairs=True),
    )
}


def get_method(name: str) -> LargeMethod:
    """The large method of that name, or an error that lists them."""
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(str(name), METHODS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(
        f"Method {name!r} does not run on large inputs; use auto or one of {', '.join(METHODS)}.{hint}",
        code="unknown-method",
    )
