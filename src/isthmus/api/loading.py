"""``isthmus.load``: load a saved result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from isthmus.api.saving import read_saved


def _result_type(kind: str) -> Any:
    """Return the class of a kind, imported on first use: labels need nothing of the clustering packages."""
    if kind == "label":
        from isthmus.api.result import LabelResult

        return LabelResult
    if kind == "cluster":
        from isthmus.api.cluster import GroupingResult

        return GroupingResult
    return None


def load(path, kind: str | None = None, *, trusted: Iterable = ()):
    """Load a result saved with ``result.save(path)``, ``isthmus label --save`` or ``isthmus cluster --save``.

    Only objects of known types are rebuilt, so a file from elsewhere cannot run code.

    Parameters
    ----------
    path : path
    kind : {"label", "cluster"}, optional
        Refuse a file of the other kind.
    trusted : iterable of types or str, default=()
        Types that the file may contain in addition to those of isthmus and scikit-learn, or their full names
        (``"my_module.MyClassifier"``), for example your own estimator. Loading constructs objects of these types, so
        name only types that you wrote or have read.

    Returns
    -------
    LabelResult or GroupingResult
        The result as it was saved; ``predict(texts)`` labels or groups later documents.

    Raises
    ------
    DataError
        With code ``bad-model`` if the file contains other types, has another format or is not a saved result.

    See Also
    --------
    isthmus.api.result.LabelResult.save : Writes what this reads.
    isthmus.api.cluster.GroupingResult.save : The same for groupings.

    Examples
    --------
    >>> import tempfile
    >>> import isthmus
    >>> source = ["kind staff", "great bike", "polite staff", "fast bike"]
    >>> result = isthmus.label(source, ["staff", "product"] * 2, ["rude staff", "slow bike"], method="nbc")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     loaded = isthmus.load(result.save(f"{folder}/dealer.isthmus"))
    >>> loaded.predict(["the bike is fast"]).tolist()
    ['product']
    """
    return read_saved(path, _result_type, kind, trusted)
