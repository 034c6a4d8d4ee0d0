"""Why this method: the candidates as a table."""

from __future__ import annotations

from typing import Any

import numpy as np

_HIDDEN = ("method", "chosen", "why")
_NAMES = {
    "source_learnability": "source's learnability",
    "reverse_accuracy": "reverse accuracy",
    "accuracy": "expected accuracy",
    "spread": "± of the score",
}
_MEANINGS = {
    "weight": "share in the vote",
    "score": "how well the labels are supported; only differences between methods mean something",
    "spread": "standard deviation of the score when the documents are drawn again",
    "learnability": "share of the labels' information that a classifier repeats on target documents it has not seen",
    "source_learnability": "the same for the true labels within the source",
    "reverse_accuracy": "accuracy on the source, averaged over classes, of a classifier trained on the labelled target",
    "accuracy": "share of right labels to expect",
    "agreement": "share of documents to which the method gives the final label",
    "seconds": "time to fit",
}


def why_this_method(decision: list[dict]) -> str:
    """Why the labels come from where they come from; where several methods vote, how many and who counts most.

    Examples
    --------
    >>> from isthmus.report.decision import why_this_method
    >>> why_this_method([{"method": "nbc", "chosen": True, "why": "named by the caller"}])
    'named by the caller'
    >>> votes = [{"method": "cocc", "weight": 0.6, "why": "0.8 right"}, {"method": "svm", "weight": 0.4}]
    >>> why_this_method([{**row, "chosen": True} for row in votes])
    '2 methods voted; cocc counts most (60%)'
    """
    chosen = [row for row in decision if row["chosen"]]
    if len(chosen) == 1:
        return str(chosen[0]["why"])
    first = max(chosen, key=lambda row: row.get("weight", 0.0))
    return f"{len(chosen)} methods voted; {first['method']} counts most ({first.get('weight', 0.0):.0%})"


def decision_facts(decision: list[dict]) -> dict[str, Any]:
    """The candidates with whatever evidence they carry."""
    evidence = [
        name
        for name in dict.fromkeys(key for row in decision for key in row)
        if name not in _HIDDEN and all(_is_scalar(row.get(name)) for row in decision)
    ]
    rows = [
        {
            "method": row["method"],
            "taken": bool(row["chosen"]),
            "evidence": [_shown(row.get(name), 1 if name == "seconds" else 3) for name in evidence],
            "why": row.get("why", ""),
        }
        for row in decision
    ]
    meanings = [f"{_title(name)}: {_MEANINGS[name]}" for name in evidence if name in _MEANINGS]
    return {
        "decision": rows,
        "decision_columns": [_title(name) for name in evidence],
        "decision_meanings": "; ".join(meanings),
    }


def _title(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " "))


def _shown(value: Any, digits: int) -> Any:
    if _is_number(value) and not isinstance(value, (int, np.integer)):
        return f"{float(value):.{digits}f}"
    return _cell_text(value)


def _cell_text(value: Any) -> Any:
    return "–" if value is None else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and bool(np.isfinite(value))


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool, int, float, np.number))
