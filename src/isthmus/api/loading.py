"""``isthmus.load``: a saved labelling or grouping, read back."""

from __future__ import annotations

from collections.abc import Iterable

from isthmus.api.saving import read_saved


def _result_type(kind: str) -> type | None:
    """The class behind a kind, imported when it is met: labels need nothing of what groups documents."""
    if kind == "label":
        from isthmus.api.label import LabelResult

        return LabelResult
    if kind == "cluster":
        from isthmus.api.cluster import GroupingResult

        return GroupingResult
    return None


def load(path, kind: str | None = None, *, trusted: Iterable = ()):
    """Read what was saved with ``result.save(path)``, ``isthmus label --save`` or ``isthmus cluster --save``.

    Only known types are rebuilt, so a file from elsewhere cannot run code; one that asks for other types, was written
    in a newer format or is not such a file is refused with the code ``bad-model``.

    Parameters
    ----------
    path : path
    kind : {"label", "cluster"}, optional
        Refuse a file of the other kind.
    trusted : iterable of types or str, default=()
        Types that a model may hold beyond those of isthmus and scikit-learn, or their full names
        (``"my_module.MyClassifier"``): an estimator of your own, say. Loading makes objects of these types, so name
        only what you wrote or have read.

    Returns
    -------
    LabelResult or GroupingResult
        With ``predict(texts)`` for later documents (a labelling also has ``label_new(texts)``), and all that it had
        before.

    See Also
    --------
    isthmus.api.label.LabelResult.save : Writes what this reads.
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
