"""Term projection for files larger than memory: sums over blocks to fit, block after block to label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.calibration import fit_temperature
from isthmus._math.chi2 import TermStatistics, count_terms
from isthmus._parameters import check_parameters
from isthmus._progress import progress
from isthmus._validation import read_labels
from isthmus.classify.projection.classifier import TermProjectionClassifier
from isthmus.classify.projection.steps import TEMPERATURES, adapt_statistics, class_shares
from isthmus.corpus.blocks import BlockReader
from isthmus.corpus.write import check_blocks, with_columns, writing_blocks
from isthmus.exceptions import DataError, UsageError
from isthmus.features.blocks import BlockVectorizer

STREAM_BYTES = 200_000_000  # size of an input past which the command labels block by block
_SAMPLE_ROWS = 20_000  # target documents held for adaptation and, of the source, for the temperature
_SAMPLE_CHARACTERS = 10_000_000
_COUNT_CHARACTERS = 1_500_000  # counted at a time: the arrays of character n-grams are many times as large


class PairwiseSum:
    """Sums of blocks, added in pairs of like size, so that many small blocks do not each copy the whole."""

    def __init__(self):
        self._waiting: list[TermStatistics] = []

    def add(self, block: TermStatistics) -> None:
        self._waiting.append(block)
        while len(self._waiting) > 1 and len(self._waiting[-2].klass) <= 2 * len(self._waiting[-1].klass):
            last = self._waiting.pop()
            self._waiting[-1] = self._waiting[-1] + last

    def total(self) -> TermStatistics:
        """The sum of all blocks so far."""
        while len(self._waiting) > 1:
            last = self._waiting.pop()
            self._waiting[-1] = self._waiting[-1] + last
        return self._waiting[0]


class _Classes:
    """Classes in order of first sight; codes never change, the sorted order comes at the end."""

    def __init__(self):
        self.index: dict[Any, int] = {}

    def codes(self, labels: Iterable) -> np.ndarray:
        values, known = read_labels(list(labels))
        codes = np.full(len(values), -1, dtype=np.int32)
        for i in np.flatnonzero(known):
            codes[i] = self.index.setdefault(values[i], len(self.index))
        return codes

    def sorted(self, stats: TermStatistics) -> tuple[np.ndarray, TermStatistics]:
        """Sorted classes and the statistics with codes to match."""
        names = np.array(list(self.index))
        order = np.argsort(names)
        place = np.argsort(order)
        table = stats.per_class(stats.occurrences), stats.per_class(stats.documents)
        moved = [matrix[:, order].tocsr() for matrix in table]
        for matrix in moved:
            matrix.sort_indices()
        documents = np.zeros(len(names))
        documents[place] = stats.class_documents
        starts = moved[0].indptr.astype(np.int64)
        klass = moved[0].indices.astype(np.int32)
        return names[order], TermStatistics(starts, klass, moved[0].data, moved[1].data.astype(np.int32), documents)


def fit_blocks(blocks: Iterable[tuple[Any, Iterable]], model: TermProjectionClassifier | None = None):
    """Fit the rule from an iterable of ``(X, y)`` blocks, each read once.

    Columns may be added from block to block (never moved), classes may appear at any time, and the order of blocks
    changes nothing.

    Parameters
    ----------
    blocks : iterable of (CSR matrix, labels)
        Unlabelled rows (None, -1, NaN) are left out.
    model : TermProjectionClassifier, optional
        Its parameters are used; ``classifier`` must be "rule".

    Returns
    -------
    TermProjectionClassifier
        Fitted; ``n_features_in_`` is the number of columns of the widest block.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.classify.projection.stream import fit_blocks
    >>> blocks = [(np.array([[4, 0], [3, 1]]), ["red", "red"]), (np.array([[0, 2, 5]]), ["blue"])]
    >>> fit_blocks(blocks).predict(np.array([[1, 0, 0], [0, 0, 1]])).tolist()
    ['red', 'blue']
    """
    model = TermProjectionClassifier() if model is None else model
    check_parameters(model)
    if model.classifier != "rule":
        raise UsageError("fit_blocks makes the rule; use classifier='rule', or fit for an SVM.", code="bad-parameter")
    classes, sums = _Classes(), PairwiseSum()
    for number, (X, y) in enumerate(blocks, 1):
        codes = classes.codes(y)
        sums.add(count_terms(X, codes, max(len(classes.index), 1)))
        progress("counting blocks", number)
    if len(classes.index) < 2:
        raise DataError(
            f"The blocks name {len(classes.index)} classes; a classifier needs at least two.", code="one-class"
        )
    names, stats = classes.sorted(sums.total())
    model.n_features_in_ = stats.n_terms
    return model.finish_statistics(stats, names)


def label_stream(
    source_path: str | Path,
    target_path: str | Path,
    out_path: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    target_text: str | None = None,
    model: TermProjectionClassifier | None = None,
    analyzer: str = "auto",
    language: str = "auto",
    review: Callable[[np.ndarray], np.ndarray] | None = None,
    rows: int = 4_000,
    force: bool = False,
    spreadsheet_safe: bool = False,
) -> dict[str, Any]:
    """Label a file by term projection without holding either file in memory.

    One pass over the source for the sums, one over the target for a sample to adapt to, one to label. The sample is
    spread evenly over the file and the same every time. Memory grows with the vocabulary, not with the files.

    Parameters
    ----------
    source_path, target_path : path
        csv, tsv or jsonl files, also with .gz.
    out_path : path
        csv, tsv or jsonl file, also with .gz; ``"-"`` is csv on standard output. All columns of the target, and label
        and confidence.
    text, label, target_text : str, optional
        Column names; guessed if omitted.
    model : TermProjectionClassifier, optional
        Parameters of the method; ``max_iter=0`` leaves the sample out.
    analyzer, language : str
        As for ``isthmus.features.blocks.BlockVectorizer``.
    review : callable, optional
        Confidences of a block to a mask of documents to review, written as the column needs_review.
    rows : int
        Rows in a block.
    force : bool
        Replace an output that exists.
    spreadsheet_safe : bool
        As for :func:`isthmus.corpus.write_rows`.

    Returns
    -------
    dict
        ``source_documents``, ``target_documents``, ``labels`` (how many of each), ``mean_confidence``,
        ``needs_review``, ``guarded_cells``, ``terms``, ``empty_classes``, ``notes``.
    """
    check_blocks(out_path, force=force)
    model = TermProjectionClassifier() if model is None else model
    source = BlockReader(source_path, text=text, label=label, want_labels=True, rows=rows)
    target = BlockReader(target_path, text=target_text or text, want_labels=False, rows=rows)
    vectorizer = BlockVectorizer(analyzer, language=language)
    held: list = []
    blocks = ((vectorizer.count(source.texts(b)), source.labels(b)) for b in source)
    model = fit_blocks(_keeping(blocks, held), model)
    place_temperature(model, held)
    del held
    if model.max_iter:
        adapt_to_sample(model, vectorizer, sample_texts(target))
    summary: dict[str, Any] = {
        "source_documents": model.statistics_.n_documents,
        "terms": vectorizer.n_terms_,
        "empty_classes": [str(name) for name in model.empty_classes_],
        "notes": [*source.notes, *target.notes],
    }
    with writing_blocks(out_path, force=force, spreadsheet_safe=spreadsheet_safe) as write:
        outcome = _label_blocks(model, vectorizer, target, write, review)
    return summary | outcome | {"guarded_cells": write.guarded}


def sample_texts(reader: BlockReader) -> list[str]:
    """Texts spread evenly over the file: when the sample is full, every second one goes and the step doubles."""
    kept: list[str] = []
    step, seen, characters = 1, 0, 0
    for block in reader:
        for text in reader.texts(block):
            if seen % step == 0:
                kept.append(text)
                characters += len(text)
                if len(kept) >= _SAMPLE_ROWS or characters >= _SAMPLE_CHARACTERS:
                    kept, step = kept[::2], 2 * step
                    characters = sum(map(len, kept))
            seen += 1
        progress("sampling the target", seen)
    return kept


def adapt_to_sample(model: TermProjectionClassifier, vectorizer: BlockVectorizer, texts: list[str]) -> None:
    """Adapt a fitted rule to a sample of the target; the sample's words join the vocabulary."""
    X, n_classes = count_in_parts(vectorizer, texts), len(model.classes_)
    stats = model.statistics_.widened(X.shape[1], n_classes)
    target, model.history_, model.termination_condition_ = adapt_statistics(
        X, n_classes, lambda target: model._build(stats, target), rounds=model.max_iter, share=model.adapt_share
    )
    model.statistics_, model.target_statistics_ = stats, target
    model.projection_ = model._build(stats, target)
    model.n_iter_, model.n_features_in_ = len(model.history_), X.shape[1]
    model._store()


def count_in_parts(vectorizer: BlockVectorizer, texts: list[str]) -> sp.csr_matrix:
    """Counts of many texts, made a part at a time."""
    parts, start, characters = [], 0, 0
    for end, text in enumerate(texts, 1):
        characters += len(text)
        if characters >= _COUNT_CHARACTERS or end == len(texts):
            parts.append(vectorizer.count(texts[start:end]))
            start, characters = end, 0
    for part in parts:
        part.resize(part.shape[0], vectorizer.n_terms_)
    return sp.vstack(parts, format="csr")


def place_temperature(model: TermProjectionClassifier, held: list) -> None:
    """Set the temperature by a few source documents, taken out of the sums again."""
    index = {name: code for code, name in enumerate(model.classes_.tolist())}
    scores, truth = [], []
    for X, labels in held:
        codes = np.array([index.get(name, -1) for name in labels], dtype=np.int32)
        wide = X.copy()
        wide.resize(X.shape[0], model.statistics_.n_terms)
        rows = np.flatnonzero(codes >= 0)
        own = count_terms(wide, codes, len(model.classes_))
        scores.append(class_shares(model._build(model.statistics_ - own).features(wide[rows])))
        truth.append(codes[rows])
    if scores and sum(map(len, truth)) >= 100:
        model.inverse_temperature_ = fit_temperature(np.concatenate(scores), np.concatenate(truth), bounds=TEMPERATURES)


def _keeping(blocks: Iterator, held: list) -> Iterator:
    """Hold back the first of every 2, 4, 8, … blocks: a few, from all over a file of unknown length."""
    for number, block in enumerate(blocks, 1):
        if number & (number - 1) == 0:
            held.append(block)
            del held[:-4]
        yield block


def _label_blocks(model, vectorizer, target, write, review) -> dict[str, Any]:
    counts: Counter = Counter()
    total, reviewed, confidence_sum = 0, 0, 0.0
    for block in target:
        X = vectorizer.count(target.texts(block), grow=False)
        probability = model.predict_proba(X)
        codes = probability.argmax(axis=1)
        confidence = probability[np.arange(len(codes)), codes]
        labels = model.classes_[codes].tolist()
        added = {"label": labels, "confidence": [round(float(value), 4) for value in confidence]}
        if review is not None:
            mask = np.asarray(review(confidence)) | np.array([not text.strip() for text in target.texts(block)])
            added["needs_review"] = mask.tolist()
            reviewed += int(mask.sum())
        write(with_columns(block, added))
        counts.update(str(name) for name in labels)
        total += len(labels)
        confidence_sum += float(confidence.sum())
        progress("labelling", total)
    return {
        "target_documents": total,
        "labels": dict(counts.most_common()),
        "mean_confidence": round(confidence_sum / max(total, 1), 4),
        "needs_review": reviewed if review is not None else None,
    }
