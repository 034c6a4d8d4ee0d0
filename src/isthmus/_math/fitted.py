"""Load the fitted constants of selection, expected accuracy, novelty and feedback from ``choose/trust.json``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "choose" / "trust.json"


@cache
def fitted_groups() -> dict[str, dict[str, Any]]:
    """Read the file once per process.

    Returns
    -------
    dict
        One entry per group, with ``values``, their ``unit``, ``fitted_by`` (the command or the reason for the choice)
        and ``used_by`` (modules below ``isthmus``).
    """
    groups: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return groups


def fitted(group: str) -> dict[str, Any]:
    """Return the constants of a group by name.

    Parameters
    ----------
    group : str
        Topic, for example "expected_accuracy".

    Returns
    -------
    dict
        The same object in every call, so that a test can replace a value for all modules.

    Raises
    ------
    KeyError
        If the file has no such group.
    """
    groups = fitted_groups()
    if group not in groups:
        raise KeyError(f"{FILE.name} has no group {group!r}. Its groups are {', '.join(groups)}.")
    values: dict[str, Any] = groups[group]["values"]
    return values
