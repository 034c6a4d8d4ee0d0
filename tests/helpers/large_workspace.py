"""Fill a workspace with many documents and list the queries that its pages need.

The texts are made up, and no method runs. Labels, confidences and ranks are random.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isthmus.workspace import Workspace
from isthmus.workspace.database import new_id, utc_now
from isthmus.workspace.documents import TermIndex
from isthmus.workspace.schema import COLLECTIONS, DOCUMENTS, FILES, PREDICTIONS, RUN_TABLES, RUNS, TERMS

SOURCE = 1_000  # documents among which every document has its nearest ones
CLASSES = ["price", "product", "service", "staff"]


def make_texts(n: int, words: int = 40, seed: int = 0) -> list[str]:
    """Return n texts of made-up words, of which a few are frequent and most are rare."""
    rng = np.random.default_rng(seed)
    syllables = ["ba", "ke", "li", "mo", "nu", "ra", "so", "ti", "vu", "za"]
    names = np.array(["".join(syllables[int(d)] for d in f"{i:05d}") for i in range(30_000)], dtype=object)
    drawn = np.minimum(rng.zipf(1.3, (n, words)) - 1, len(names) - 1)
    return [" ".join(row) for row in names[drawn]]


def fill_large(ws: Workspace, n: int, *, runs: int = 1, words: int = 40) -> dict[str, str]:
    """Create a project with a target of n documents and runs that label them, and return their ids."""
    by = ws.people.local().id
    project = ws.projects.create("Large", by=by).id
    db, rng, target = ws._context.db, np.random.default_rng(0), new_id()
    texts = make_texts(n, words)
    index = TermIndex(texts)
    with db.writing() as connection:
        connection.execute(FILES.insert().values(sha256="0" * 64, size=0, created_at=utc_now()))
        connection.execute(
            COLLECTIONS.insert().values(
                id=target, project_id=project, name="large.csv", ending=".csv", kind="target", sha256="0" * 64,
                state="ready", mapping={"text": ["text"], "label": None, "id": None, "sheet": None}, preview={},
                documents=n, labelled=0, facts={"terms": index.settings}, created_by=by, created_at=utc_now(),
            )
        )  # fmt: skip
    ids = [new_id() for _ in range(n)]
    rows = ({"id": ids[i], "collection_id": target, "position": i, "name": f"d{i}", "text": texts[i], "label": None}
            for i in range(n))  # fmt: skip
    db.insert_many(DOCUMENTS, rows)
    db.insert_many(TERMS, index.rows(target))
    made = {"by": by, "project": project, "target": target}
    for number in range(1, runs + 1):
        made[f"run{number}"] = _add_run(ws, made, number, ids, rng)
    return made


def _add_run(ws: Workspace, made: dict[str, str], number: int, ids: list[str], rng: np.random.Generator) -> str:
    db, run, n = ws._context.db, new_id(), len(ids)
    codes, confidence, rank = rng.integers(0, 4, n), rng.random(n), rng.permutation(n)
    with db.writing() as connection:
        connection.execute(
            RUNS.insert().values(
                id=run, project_id=made["project"], number=number, kind="label", name=f"Run {number}", state="done",
                target_id=made["target"], parameters={}, record={"collections": [], "words": {}},
                summary={"documents": n, "classes": CLASSES}, created_by=made["by"], created_at=utc_now(),
            )
        )  # fmt: skip
        connection.execute(RUN_TABLES.insert().values(run_id=run, name="novel", content=[]))
    rows = (
        {
            "run_id": run, "position": i, "document_id": ids[i], "label": CLASSES[codes[i]],
            "confidence": float(confidence[i]), "needs_review": bool(confidence[i] < 0.4),
            "second": CLASSES[(codes[i] + 1) % 4], "second_confidence": 0.1, "novel_group": "",
            "near": [ids[(7 * i + k) % min(n, SOURCE)] for k in (1, 2, 3)],
            "rank": int(rank[i]), "reason": "", "state": "open",
        }
        for i in range(n)
    )  # fmt: skip
    db.insert_many(PREDICTIONS, rows)
    return run


def queries(ws: Workspace, made: dict[str, str]) -> dict[str, Callable[[], object]]:
    """Return the queries of the pages by name."""
    run, other, project, target, by = (made[name] for name in ("run1", "run2", "project", "target", "by"))
    half = ws.collections.get(target).documents // 2
    document = ws.documents.page(target, limit=1)[0].id
    lee = ws.people.create("Lee", None, "reviewer").id

    def review() -> None:
        found = ws.queue.next(run, lee)[0]
        ws.answers.give(found.document, "price", by=lee, run=run)

    check = ws.checks.draw(run, 100, by=by)
    for _ in range(20):
        found = ws.checks.next(check.id, by)
        if found is not None:
            ws.checks.answer(check.id, found.id, "price", by=by)
    return {
        "documents, first page": lambda: ws.documents.page(target),
        "documents, page in the middle": lambda: ws.documents.page(target, after=half),
        "document": lambda: ws.documents.get(document),
        "search, common word": lambda: ws.runs.predictions(run, search="bababababa"),
        "search, two words": lambda: ws.runs.predictions(run, search="bababababa babababake"),
        "predictions, first page": lambda: ws.runs.predictions(run),
        "predictions, page in the middle": lambda: ws.runs.predictions(run, after=half),
        "predictions of a class": lambda: ws.runs.predictions(run, label="price", after=half),
        "predictions to review, least sure first": lambda: ws.runs.predictions(run, review=True, order="confidence"),
        "predictions, searched": lambda: ws.runs.predictions(run, search="bababababa"),
        "prediction of a document": lambda: ws.runs.prediction(run, document),
        "queue counts": lambda: ws.queue.counts(run),
        "queue, next": lambda: ws.queue.next(run, by),
        "queue, next and answer": review,
        "answers, latest": lambda: ws.answers.list(project, latest=True),
        "answers by person": lambda: ws.answers.counts(project),
        "agreement": lambda: ws.answers.agreement(project),
        "words, by beginning": lambda: ws.words.search(project, "bab"),
        "words, commonest": lambda: ws.words.search(project),
        "word, what it touches": lambda: ws.words.touches(project, "bababababa"),
        "groups": lambda: ws.groups.list(run),
        "check, estimate": lambda: ws.checks.estimate(check.id),
        "compare two runs": lambda: ws.compare.of(run, other),
        "compare, flips": lambda: ws.compare.flips(run, other, after=half),
        "runs of a project": lambda: ws.runs.list(project),
        "collections of a project": lambda: ws.collections.list(project),
        "audit log": lambda: ws.audit.events(project, latest=True),
    }
