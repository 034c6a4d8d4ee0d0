"""Answers from one list for each of their properties."""

from isthmus.feedback import Answers


def made_answers(rows, labels, drawn, by, batch, **others):
    """Return answers that all count."""
    columns = {"row": rows, "label": labels, "drawn": drawn, "by": by, "batch": batch, "counts": [True] * len(rows)}
    given = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return Answers(given, **others)
