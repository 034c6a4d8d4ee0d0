"""Provide a notebook widget that takes answers by keyboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from isthmus._cards import card_style
from isthmus._utils import import_optional, to_plain


def asked_documents(columns: Mapping[str, Sequence]) -> list[dict[str, Any]]:
    """Convert a table of questions into one dictionary per document for the widget.

    Parameters
    ----------
    columns : mapping of str to sequence
        The table that ``ask`` returned.

    Returns
    -------
    list of dict
    """
    shown = [name for name in ("document", "id", "text", "reason", "drawn", "label", "confidence") if name in columns]
    return to_plain(
        [dict(zip(shown, row, strict=True)) for row in zip(*(columns[name] for name in shown), strict=True)]
    )


def answer_table(documents: Sequence[Mapping[str, Any]], answers: Mapping[str, str]) -> dict[str, list]:
    """Return answers as a table for ``teach``.

    Parameters
    ----------
    documents : sequence of mapping
        The documents that the widget shows.
    answers : mapping of str to str
        Class by number of the document.

    Returns
    -------
    dict of str to list
        ``document``, ``true_label`` and ``drawn``.
    """
    said = [row for row in documents if str(row["document"]) in answers]
    return {
        "document": [row["document"] for row in said],
        "true_label": [answers[str(row["document"])] for row in said],
        "drawn": [row["drawn"] for row in said],
    }


def review(result: Any, columns: Mapping[str, Sequence]) -> Any:
    """Return a widget that asks about documents; see :meth:`isthmus.api.result.LabelResult.review`.

    Parameters
    ----------
    result : LabelResult
    columns : mapping of str to sequence
        The table that ``ask`` returned.

    Returns
    -------
    anywidget.AnyWidget
    """
    classes = [str(name) for name in result.classes.tolist()]
    return widget_class()(result, documents=asked_documents(columns), classes=classes, answers={})


@cache
def widget_class() -> Any:
    """Define the class of the widget once the optional package is imported.

    Returns
    -------
    type
    """
    base: Any = import_optional("anywidget", "result.review()", extra="notebook").AnyWidget
    traitlets = import_optional("traitlets", "result.review()", extra="notebook")

    class ReviewWidget(base):
        """Ask about documents; ``table()`` returns the answers, ``teach()`` learns from them."""

        _esm = Path(__file__).with_suffix(".js")
        _css = card_style() + Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
        documents = traitlets.List().tag(sync=True)
        classes = traitlets.List().tag(sync=True)
        answers = traitlets.Dict().tag(sync=True)

        def __init__(self, result: Any, **traits: Any):
            super().__init__(**traits)
            self._result = result

        def table(self) -> dict[str, list]:
            """Return the answers as a table for :meth:`isthmus.api.result.LabelResult.teach`."""
            return answer_table(self.documents, self.answers)

        def teach(self, **options: Any) -> Any:
            """Return the result that has learned from the answers."""
            return self._result.teach(self.table(), **options)

    return ReviewWidget
