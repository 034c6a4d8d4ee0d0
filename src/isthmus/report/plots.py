"""Draw single charts of a label result for notebooks, such as ``result.plot.shares()``."""

from __future__ import annotations

from typing import Any

from isthmus.report.charts import draw
from isthmus.report.hero import class_table
from isthmus.report.summary import Words, confidence_bins, moved_words, reading_rows

_SIDES = ["source", "target"]


class LabelPlots:
    """Draw the tables of a label result as altair charts (extra ``app``).

    Parameters
    ----------
    result : LabelResult
        The result.

    Examples
    --------
    >>> import isthmus
    >>> result = isthmus.label(["kind staff", "fast bike"] * 5, ["a", "b"] * 5, ["staff bike", "bike"], method="nbc")
    >>> result.plot
    LabelPlots: confidence, map, moved_words, reading, shares
    >>> result.plot.shares().to_dict()["$schema"].split("/")[-2]
    'vega-lite'
    """

    def __init__(self, result):
        """Store the result."""
        self._result = result

    def __repr__(self) -> str:
        """List the charts."""
        names = sorted(name for name in vars(type(self)) if not name.startswith("_"))
        return f"LabelPlots: {', '.join(names)}"

    def shares(self) -> Any:
        """Draw the class proportions of the source and of the target's labels.

        Returns
        -------
        altair.Chart
        """
        table = [
            {"class": row["class"], "collection": side, "share": round(row[f"{side}_share"], 4)}
            for row in class_table(self._result)
            for side in _SIDES
        ]
        spec = {
            "kind": "bar", "x": "class", "y": "share", "color": "collection", "color_title": "", "color_order": _SIDES,
            "x_title": "", "y_title": "share of documents", "y_format": "~%", "horizontal": True,
            "title": "Has the mix of classes changed?", "height": 34 * len(self._result.classes) + 40,
        }  # fmt: skip
        return draw(table, spec)

    def confidence(self) -> Any:
        """Draw the number of accepted documents and of documents to read by confidence.

        Returns
        -------
        altair.Chart
        """
        table = [
            {"confidence": row["name"], "documents": row[kind], "kind": said}
            for row in confidence_bins(self._result)
            for kind, said in (("accepted", "accepted"), ("review", "to read"))
        ]
        spec = {"kind": "bar", "x": "confidence", "y": "documents", "color": "kind", "color_title": "",
                "title": "How sure are the labels?"}  # fmt: skip
        return draw(table, spec)

    def reading(self) -> Any:
        """Draw the share of wrong labels in the finished file, by the share of documents that a person reads.

        Returns
        -------
        altair.Chart
        """
        spec = {
            "kind": "line", "x": "read", "y": "error", "points": False, "x_format": "~%", "y_format": "~%",
            "x_title": "share of documents read, least sure first", "y_title": "wrong in the finished file",
            "title": "How much reading for how few errors?",
        }  # fmt: skip
        return draw(reading_rows(self._result), spec)

    def moved_words(self) -> Any:
        """Draw the words whose frequency differs most: the share of documents with each word in both collections.

        Returns
        -------
        altair.Chart
        """
        table = [
            {"word": row["word"], "collection": side, "share": sign * row[side]}
            for row in moved_words(Words(self._result).space)
            for side, sign in (("source", -1), ("target", 1))
        ]
        spec = {
            "kind": "bar", "x": "word", "y": "share", "color": "collection", "color_order": _SIDES, "color_title": "",
            "horizontal": True, "mirror": True, "x_title": "", "y_format": "~%",
            "y_title": "← source · share of documents · target →", "title": "Which words came and went?",
            "height": 9 * len(table) + 60,
        }  # fmt: skip
        return draw(table, spec)

    def map(self) -> Any:
        """Draw a map of the documents in both collections, coloured by label.

        Returns
        -------
        altair.Chart
        """
        names = [str(name) for name in self._result.classes.tolist()]
        points = Words(self._result).map()
        table = [
            {"across": point["x"], "up": 100 - point["y"], "label": names[point["code"]], "collection": side}
            for side in _SIDES
            for point in (points or {side: []})[side]
            if point["code"] >= 0
        ]
        spec = {
            "kind": "scatter", "x": "across", "y": "up", "color": "label", "facet": "collection", "color_order": names,
            "size": 22, "opacity": 0.6, "x_title": "", "y_title": "", "width": 340, "height": 300,
            "title": "Where do the documents lie?",
        }  # fmt: skip
        return draw(table, spec)
