"""Write the report page of a diagnosis: verdict, findings and words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isthmus._utils import plural
from isthmus.corpus import Collection, check_output
from isthmus.report.page import write_page
from isthmus.report.summary import origin_facts, split_findings

_SHOWN = 20  # most rows of a table
_EXCERPT = 300  # characters of a document


def write_diagnosis_report(
    result, path, *, force: bool = False, source: Collection | None = None, target: Collection | None = None
) -> Path:
    """Write the report page of a diagnosis.

    Parameters
    ----------
    result : Diagnosis
        The diagnosis.
    path : str or Path
        Path of the page.
    force : bool
        Replace an existing page.
    source, target : Collection, optional
        The collections; with them the page describes the input files and shows near-duplicates.

    Returns
    -------
    Path
    """
    check_output(path, force=force, table=False)
    return write_page("diagnosis", diagnosis_facts(result, source, target), path, force=force)


def diagnosis_facts(result, source: Collection | None, target: Collection | None) -> dict[str, Any]:
    """Return all data of the page.

    Parameters
    ----------
    result : Diagnosis
        The diagnosis.
    source, target : Collection or None
        The collections.

    Returns
    -------
    dict of str to object
    """
    rows = split_findings(result.findings)
    # The first advice becomes the recommendation at the top of the page.
    advice = [row["advice"] for row in rows["findings"] if row["advice"] != "None."]
    names = [docs.name for docs in (source, target) if docs is not None and docs.name]
    return {
        "title": "Isthmus diagnosis",
        "about": " and ".join(names) if len(names) == 2 else "What separates the two collections",
        "verdict": result.verdict,
        "level": result.level,
        "counts": [
            {"title": title, "n": n}
            for title, n in (
                ("do not transfer", sum(row["severity"] == 3 for row in result.findings)),
                ("caution", sum(row["severity"] == 2 for row in result.findings)),
                ("worth a look", sum(row["severity"] == 1 for row in result.findings)),
                ("fine", len(rows["fine"])),
            )
            if n or title != "do not transfer"
        ],
        **rows,
        "first": advice[0] if advice else "Nothing stands against transferring.",
        "new_groups": result.tables.get("new_groups", []),
        "pivots": pivot_bars(result.tables),
        "company": result.tables.get("class_shifted_words", [])[:_SHOWN],
        "tables": word_tables(result.tables),
        "doubtful": doubtful_labels(result.tables.get("doubtful_labels", []), source),
        "n_doubtful": len(result.tables.get("doubtful_labels", [])),
        "repeats": repeats(result.tables.get("near_duplicates", []), source, target),
        **origin_facts(result.settings, source, target),
    }


def pivot_bars(tables: dict[str, list[dict]]) -> list[dict[str, Any]]:
    """Return the shared words that are informative about the class, with bar lengths.

    Parameters
    ----------
    tables : dict of str to list of dict
        Tables of the diagnosis.

    Returns
    -------
    list of dict
        At most 20 words.
    """
    rows = tables.get("pivots", [])[:_SHOWN]
    # The longest bar is the most informative word; 1 avoids a division by zero.
    most = max((row["information"] for row in rows), default=1.0) or 1.0
    return [{**row, "length": row["information"] / most} for row in rows]


def word_tables(tables: dict[str, list[dict]]) -> list[dict]:
    """Return the tables of words with their titles.

    Parameters
    ----------
    tables : dict of str to list of dict
        Tables of the diagnosis.

    Returns
    -------
    list of dict
        Only tables that contain words.
    """
    titles = {
        "pivots": "Pivots: frequent on both sides, and telling",
        "class_shifted_words": "Words that moved",
        "target_only_words": "Words that only the target has",
    }
    return [
        {
            "title": f"{title} ({plural(len(tables[name]), 'word')})",
            "columns": list(tables[name][0]),
            "rows": tables[name],
        }
        for name, title in titles.items()
        if tables.get(name)
    ]


def doubtful_labels(found: list[dict], source: Collection | None) -> list[dict]:
    """Return source labels that are probably wrong.

    Parameters
    ----------
    found : list of dict
        Rows of the diagnosis.
    source : Collection or None
        The source; with it, rows have the id and the text.

    Returns
    -------
    list of dict
        At most 20 rows.
    """
    rows = []
    for row in found[:_SHOWN]:
        shown = {**row, "document": str(row["document"]), "text": ""}
        if source is not None:
            place = row["document"] - 1
            shown |= {"document": source.ids[place], "text": _excerpt(source.texts[place])}
        rows.append(shown)
    return rows


def _excerpt(text: str) -> str:
    """Return the beginning of a text."""
    return text[:_EXCERPT] + "…" * (len(text) > _EXCERPT)


def repeats(found: list[dict], source: Collection | None, target: Collection | None) -> list[dict]:
    """Return near-duplicates of the two collections.

    Parameters
    ----------
    found : list of dict
        Rows of the diagnosis.
    source, target : Collection or None
        The collections; with them, rows have ids and texts.

    Returns
    -------
    list of dict
        At most 20 rows.
    """
    rows = []
    for row in found[:_SHOWN]:
        shown = {"source": str(row["source"] + 1), "target": str(row["target"] + 1), "share": row["share"], "text": ""}
        if source is not None:
            shown["source"] = source.ids[row["source"]]
        if target is not None:
            shown |= {"target": target.ids[row["target"]], "text": _excerpt(target.texts[row["target"]])}
        rows.append(shown)
    return rows
