"""What a run does: texts out of the tables, :func:`isthmus.label` or teaching, results back into the tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from isthmus._progress import progress
from isthmus._utils import versions
from isthmus.api.diagnose import diagnose
from isthmus.api.label import label
from isthmus.api.loading import load
from isthmus.api.methods import read_parameters
from isthmus.api.result import LabelResult
from isthmus.corpus import Collection as TextCollection
from isthmus.feedback.answers import ASKED, Answers
from isthmus.feedback.tables import read_answers
from isthmus.report import write_label_report
from isthmus.report.listing import runner_up
from isthmus.report.summary import label_summary
from isthmus.workspace.context import Context, find_row, plain_detail, set_row
from isthmus.workspace.database import PROGRESS_ROWS, storable
from isthmus.workspace.runs import DIAGNOSE, SAID, read_table, takes_words
from isthmus.workspace.schema import ANSWERED, ANSWERS, DOCUMENTS, OF_GROUP, OPEN, PREDICTIONS, RUN_TABLES, RUNS, Run

_ASKED = 500  # documents that are put in order by what an answer would teach; the others by how doubtful they are
_ASKED_OF_MANY = 200
_ASKED_WORDS = 40
_MANY = 20_000
_LEFT_OUT = ("data", "title", "made", "check")  # parts of the report's page that mean nothing here


def do_run(context: Context, run: Run) -> dict[str, Any]:
    """Carry out a run and store what came of it; what an interrupted attempt left is used or replaced."""
    texts = _texts_of(context, run)
    if run.kind == DIAGNOSE:
        return _do_diagnosis(context, run, texts)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = _make_result(context, run, texts)
    notes = list(dict.fromkeys(str(warning.message) for warning in caught))
    progress("preparing the pages", 0, 3)
    facts = label_summary(result, texts["source"], texts["target"])
    progress("preparing the pages", 1, 3)
    listed = facts.pop("listing")
    facts = {name: value for name, value in facts.items() if name not in _LEFT_OUT}
    facts |= {"words": listed["words"], "classes": [str(name) for name in result.classes], "notes": notes}
    facts |= {"ask_words": _ask_words(result), "codebook": codebook(result)}
    facts["hands"] = [] if result.learned is None else result.learned.hands
    progress("preparing the pages", 2, 3)
    _store_predictions(context, run, result, texts, listed)
    _store_tables(context, run, facts)
    summary = _summarize(result)
    _close_run(context, run, summary)
    return summary


def codebook(result: LabelResult) -> list[dict[str, Any]]:
    """Each class, what was said about it, and how many documents have it."""
    return [
        {
            "class": str(name),
            "description": str(result.descriptions.get(name, "")),
            "documents": int((result.labels == name).sum()),
        }
        for name in result.classes.tolist()
    ]


def write_report(context: Context, run: Run, path: Path) -> None:
    texts = _texts_of(context, run)
    write_label_report(load_result(context, run.id), path, source=texts["source"], target=texts["target"])


def _texts_of(context: Context, run: Run) -> dict[str, TextCollection]:
    """Documents of the run's collections by their kind, in order; labels of the source alone."""
    parts: dict[str, list[dict[str, Any]]] = {"source": [], "target": [], "extra": []}
    for part in run.record["collections"]:
        parts[part["kind"]].append(part)
    return {kind: _read_texts(context, found, labels=kind == "source") for kind, found in parts.items()}


def load_result(context: Context, run: str, *, base: bool = False) -> LabelResult:
    return load(context.find_model(run, base=base), kind="label")


def _read_texts(context: Context, parts: list[dict[str, Any]], *, labels: bool) -> TextCollection:
    """Documents of several collections as one; the column ``document`` holds their ids in the workspace."""
    d = DOCUMENTS.c
    rows: list[Any] = []
    domain: list[str] = []
    with context.db.reading() as connection:
        for part in parts:
            query = sa.select(d.id, d.name, d.text, d.label).where(d.collection_id == part["id"]).order_by(d.position)
            found = connection.execute(query).all()
            rows += found
            domain += [f"{part['name']} ({part['id'][:6]})"] * len(found)
    return TextCollection.from_texts(
        [row.text for row in rows],
        [row.label for row in rows] if labels else None,
        ids=[row.name for row in rows],
        domain=domain,
        columns={"document": [row.id for row in rows]},
        name=", ".join(part["name"] for part in parts),
    )


def _do_diagnosis(context: Context, run: Run, texts: dict[str, TextCollection]) -> dict[str, Any]:
    source = texts["source"]
    options = {name: run.parameters[name] for name in ("random_state", "language")}
    found = diagnose(source.texts, source.labels, texts["target"].texts, **options)
    content = {"verdict": found.verdict, "level": found.level, "findings": found.findings, "tables": found.tables}
    _store_tables(context, run, {"diagnosis": content})
    summary = {"verdict": found.verdict, "level": found.level}
    _close_run(context, run, summary)
    return summary


def _make_result(context: Context, run: Run, texts: dict[str, TextCollection]) -> LabelResult:
    path = context.model_path(run.id)
    path.parent.mkdir(exist_ok=True)
    if path.exists():  # an attempt that was interrupted had come this far
        return load(path, kind="label")
    with context.db.reading() as connection:
        said = [read_table(connection, run.id, name) or [] for name in SAID]
    words = dict(run.record["words"])
    if run.base is None:
        known = method_words(words, run.parameters["method"], texts["source"].labels)
        result = _label(run, texts, known)
    else:
        result = load_result(context, run.base, base=True)
        with context.db.reading() as connection:
            base = find_row(connection, RUNS, run.base)
        known = method_words(base.record["words"], base.parameters["method"], texts["source"].labels)
    result.ids = list(texts["target"].ids)  # so that tables with the ids of the file fit the exported model
    words = {word: name for word, name in words.items() if known.get(word) != name}
    renamed = run.record["class_names"]
    names = {old: new for old, new in renamed.items() if old in result.classes.tolist()}
    # What was said under an old name is meant for the class as it is called now.
    answers, replaced, machines = (
        [[place, renamed.get(label, label), *rest] for place, label, *rest in rows] for rows in said
    )
    words = {word: renamed.get(said, said) for word, said in words.items()}
    if answers or words or names or machines:
        base_path = context.model_path(run.id, base=True)
        if run.base is None:
            result.save(base_path, force=True)
        if names:
            result = result.rename_classes(names)
        if answers or words:
            progress("learning from answers", 0, 1)
            result = result.teach(
                _read_answers(result, run, replaced, answers), word_labels=words or None, name=run.name
            )
        for hand in dict.fromkeys(hand for *_, hand in machines):
            own = [row for row in machines if row[2] == hand]
            table = {"document": [place + 1 for place, *_ in own], "true_label": [said for _, said, _ in own]}
            result = result.teach(table, by=hand, name=hand)
    result.save(path, force=True)
    return result


def method_words(words: dict[str, str], method: str, labels: list[str | None]) -> dict[str, str]:
    """Words of a class that the source has, for a method that uses words. The others are taught on top."""
    if not takes_words(method):
        return {}
    return {word: name for word, name in words.items() if name in set(labels)}


def _label(run: Run, texts: dict[str, TextCollection], words: dict[str, str]) -> LabelResult:
    source, target, settings = texts["source"], texts["target"], run.parameters
    several = len(set(source.domain or ())) > 1
    return label(
        source.texts or None,
        source.labels if source.texts else None,
        target.texts,
        settings["method"],
        words or None,
        settings["random_state"],
        source_domain=source.domain if several else None,
        extra_texts=texts["extra"].texts or None,
        embed=None if settings["vectors"] else False,
        classes=settings.get("classes") or None,
        error_budget=settings["error_budget"],
        language=settings["language"],
        parameters=read_parameters(settings.get("parameters", ())),  # runs of earlier versions have none
    )


def _read_answers(result: LabelResult, run: Run, *tables: list[list]) -> Answers:
    """What people said, one table after another: where both speak of a document, the later one holds."""
    known = Answers()
    for rows in filter(None, tables):
        position, labels, drawn, by = (list(column) for column in zip(*rows, strict=True))
        table = {"document": [place + 1 for place in position], "true_label": labels, "drawn": drawn, "by": by}
        known = known.plus(read_answers(result, table, name=run.name))
    return known


# Storing


def _store_predictions(
    context: Context, run: Run, result: LabelResult, texts: dict[str, TextCollection], listed: dict[str, Any]
) -> None:
    with context.db.writing() as connection:
        connection.execute(PREDICTIONS.delete().where(PREDICTIONS.c.run_id == run.id))
    rows = _prediction_rows(run.id, result, texts, listed, *review_order(result))
    context.db.insert_many(PREDICTIONS, rows)
    answered = sa.select(ANSWERS.c.document_id).where(
        ANSWERS.c.project_id == run.project, ANSWERS.c.current, ANSWERS.c.kind != OF_GROUP
    )
    with context.db.writing() as connection:
        connection.execute(
            PREDICTIONS.update()
            .where(PREDICTIONS.c.run_id == run.id, PREDICTIONS.c.document_id.in_(answered))
            .values(state=ANSWERED)
        )


def _prediction_rows(
    run: str,
    result: LabelResult,
    texts: dict[str, TextCollection],
    listed: dict[str, Any],
    rank: np.ndarray,
    asked: dict[int, tuple[str, str]],
) -> Iterator[dict[str, Any]]:
    code = {name: place for place, name in enumerate(result.classes.tolist())}
    own = np.array([code[name] for name in result.labels.tolist()])
    second, sure = runner_up(result.probabilities, own)
    source_rows = listed["source"]["id"]
    near = {row - 1: [texts["source"].columns["document"][source_rows[i]] for i in found]
            for row, found in zip(listed["row"], listed["near"], strict=True)}  # fmt: skip
    names = [storable(str(name)) for name in result.classes.tolist()]
    for i, document in enumerate(texts["target"].columns["document"]):
        if i % PROGRESS_ROWS == 0:
            progress("storing", i, len(own))
        reason, drawn = asked.get(i, ("", ASKED))
        yield {
            "run_id": run,
            "position": i,
            "document_id": document,
            "label": names[own[i]],
            "confidence": float(result.confidence[i]),
            "needs_review": bool(result.needs_review[i]),
            "second": names[second[i]] if len(names) > 1 else "",
            "second_confidence": max(0.0, float(sure[i])),
            "novel_group": storable(str(result.novel_group[i])),
            "near": near.get(i, []),
            "rank": int(rank[i]),
            "reason": storable("; ".join(filter(None, (result.review_reason[i], reason)))),
            "drawn": drawn,
            "state": OPEN,
        }


def review_order(result: LabelResult) -> tuple[np.ndarray, dict[int, tuple[str, str]]]:
    """Place of every document in the queue; of those that stand first, why, and how they were drawn.

    First what :meth:`LabelResult.ask` would ask, then what needs review, then the rest; the least sure first.
    """
    n = len(result.texts)
    order = np.lexsort((np.arange(n), result.confidence, ~result.needs_review))
    asked: dict[str, list] = {"document": [], "reason": [], "drawn": []}
    if n:
        asked = result.ask(min(n, _ASKED if n <= _MANY else _ASKED_OF_MANY), suggest=True)  # its desk shows the label
    first = np.array(asked["document"], dtype=int) - 1
    order = np.concatenate([first, order[~np.isin(order, first)]]) if len(first) else order
    rank = np.empty(n, dtype=int)
    rank[order] = np.arange(n)
    return rank, dict(zip(first.tolist(), zip(map(str, asked["reason"]), asked["drawn"], strict=True), strict=True))


def _ask_words(result: LabelResult) -> list[dict[str, Any]]:
    """Words worth a person's opinion, one dict each."""
    columns = result.ask(_ASKED_WORDS, words=True)
    names = ("word", "suggestion", "documents", "settles")
    return [dict(zip(names, row, strict=True)) for row in zip(*(columns[name] for name in names), strict=True)]


def _store_tables(context: Context, run: Run, tables: dict[str, Any]) -> None:
    rows = [{"run_id": run.id, "name": name, "content": plain_detail(value)} for name, value in tables.items()]
    with context.db.writing() as connection:
        old = RUN_TABLES.delete().where(RUN_TABLES.c.run_id == run.id, RUN_TABLES.c.name.in_(tables))
        connection.execute(old)
        connection.execute(RUN_TABLES.insert(), rows)


def _summarize(result: LabelResult) -> dict[str, Any]:
    expected = result.expected_accuracy
    return {
        "documents": len(result.texts),
        "review": int(result.needs_review.sum()),
        "method": result.method,
        "classes": [str(name) for name in result.classes.tolist()],
        "groups": len(result.novel),
        "expected": None if expected is None or expected.estimate is None else expected.estimate,
        "low": None if expected is None or expected.estimate is None else expected.low,
        "high": None if expected is None or expected.estimate is None else expected.high,
        "answers": len(result.answers) if result.answers is not None else 0,
    }


def _close_run(context: Context, run: Run, summary: dict[str, Any]) -> None:
    record = {**run.record, "versions": versions()}
    with context.db.writing() as connection:
        set_row(connection, RUNS, run.id, summary=plain_detail(summary), record=plain_detail(record))
