"""Compute statistics of chunks of documents for co-clustering, and the problem that they add up to.

Tables of words are sent between processes; the clusters of documents stay with their chunk, and a step sends the change
of the table. All sums are sums of integers, so neither the chunks nor their order change a result.
"""

from __future__ import annotations

from itertools import count

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from isthmus._math.content import content_noise
from isthmus._math.information import naive_bayes_scores
from isthmus._math.rows import unit_rows
from isthmus.features.blocks import Block, Passes, RowBlock, add_tuples

SKETCH_WIDTH = 24  # dimensions of a word's vector when word clusters start
ONE = 2.0**32  # steps per unit of weight: sums of up to 2³¹ units fit 64-bit integers
_COARSE = ONE / 64  # steps of sums that grow with the logarithm of a sum


def weight_steps(rows: RowBlock) -> np.ndarray:
    """Return log(1 + count) of each entry in whole steps of 1/``ONE``.

    The logarithm prevents one long repetitive document from forming its own cluster.

    Parameters
    ----------
    rows : RowBlock

    Returns
    -------
    ndarray of int of shape (n_entries,)
    """
    if "steps" not in rows.derived:
        rows.derived["steps"] = np.rint(np.log1p(rows.counts) * ONE).astype(np.int64)
    return rows.derived["steps"]


def weights_of(rows: RowBlock) -> np.ndarray:
    """Return log(1 + count) of each entry, rounded to whole steps.

    Parameters
    ----------
    rows : RowBlock

    Returns
    -------
    ndarray of shape (n_entries,)
    """
    if "weights" not in rows.derived:
        rows.derived["weights"] = weight_steps(rows) / ONE
    return rows.derived["weights"]


def unit_steps(rows: RowBlock, idf: np.ndarray) -> np.ndarray:
    """Return the weights times ``idf`` in rows of length one, in whole steps.

    Parameters
    ----------
    rows : RowBlock
    idf : ndarray of shape (n_words,)

    Returns
    -------
    ndarray of int of shape (n_entries,)
    """
    if "units" not in rows.derived:
        lengths = np.maximum(row_lengths(rows, idf), 1e-300)
        units = weights_of(rows) * idf[rows.indices] / np.repeat(lengths, np.diff(rows.indptr))
        rows.derived["units"] = np.rint(units * ONE).astype(np.int64)
    return rows.derived["units"]


def row_lengths(rows: RowBlock, factors: np.ndarray) -> np.ndarray:
    """Return the length of each row of weights after its columns are multiplied by ``factors``.

    Parameters
    ----------
    rows : RowBlock
    factors : ndarray of shape (n_words,)

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    return np.sqrt(rows.matrix(weights_of(rows) ** 2) @ factors**2)


def table_change(
    rows: RowBlock, steps: np.ndarray, before: np.ndarray, after: np.ndarray, n_classes: int
) -> sp.csr_matrix:
    """Return the change of a table of classes × words when rows move between classes.

    Parameters
    ----------
    rows : RowBlock
    steps : ndarray of int of shape (n_entries,)
    before, after : ndarray of int of shape (n_rows,)
        Class of each row; -1 is outside of the table.
    n_classes : int

    Returns
    -------
    csr_matrix of int of shape (n_classes, n_words)
    """
    moved = np.flatnonzero(before != after)
    came, left = moved[after[moved] >= 0], moved[before[moved] >= 0]
    signs = np.repeat(np.array([1, -1], dtype=np.int64), [len(came), len(left)])
    places = np.concatenate([after[came], before[left]]), np.concatenate([came, left])
    members = sp.csr_matrix((signs, places), shape=(n_classes, len(rows)))
    return members @ sp.csr_matrix((steps, rows.indices, rows.indptr), (len(rows), rows.n_columns))


def class_table(block: Block, n_classes: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return the word weights of a source block by class, and its documents per class.

    Parameters
    ----------
    block : Block
    n_classes : int

    Returns
    -------
    table : csr_matrix of int of shape (n_classes, n_words)
    counts : ndarray of int of shape (n_classes,)
        Documents by class.
    """
    rows, codes = block.rows, block.codes
    table = table_change(rows, weight_steps(rows), np.full(len(rows), -1), codes, n_classes)
    return table, np.bincount(codes[codes >= 0], minlength=n_classes)


def word_totals(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps of every word, and Σ v·log v over the entries and over the documents in coarse steps.

    Parameters
    ----------
    block : Block

    Returns
    -------
    steps : ndarray of int of shape (n_words,)
    sums : ndarray of int of shape (2,)
    """
    rows = block.rows
    nowhere = np.full(len(rows), -1)
    steps = table_change(rows, weight_steps(rows), nowhere, np.zeros_like(nowhere), 1).toarray()[0]
    values = weights_of(rows)
    sums = rows.matrix(values) @ np.ones(rows.n_columns)
    own = [np.rint(xlogy(part, part) * _COARSE).astype(np.int64).sum() for part in (values, sums)]
    return steps, np.array(own)


def sketch_block(block: Block, seed: int, words: np.ndarray | None) -> np.ndarray:
    """Return for each word the sum of the vectors of its documents.

    These are random vectors in the first round, then the means of the words of each document.

    Parameters
    ----------
    block : Block
    seed : int
    words : ndarray of shape (n_words, n_dimensions) or None
        None in the first round.

    Returns
    -------
    ndarray of int of shape (n_words, n_dimensions)
    """
    from isthmus.classify.cocc.kernels import add_products

    rows = block.rows
    matrix = rows.matrix(weights_of(rows))
    if words is None:
        vectors = content_noise(rows.matrix(np.log1p(rows.counts)), SKETCH_WIDTH, np.random.default_rng(seed))
    else:
        vectors = unit_rows(matrix @ words)
    out = np.zeros((rows.n_columns, SKETCH_WIDTH), dtype=np.int64)
    add_products(rows.indptr, rows.indices, matrix.data, vectors, ONE / 16, out)
    return out


def kept_labels(block: Block, name: str | None) -> np.ndarray:
    """Return the clusters that the block stores under a name; -1 for every document if the name is None.

    Parameters
    ----------
    block : Block
    name : str or None

    Returns
    -------
    ndarray of int of shape (n_documents,)
    """
    if name is None:
        return np.full(len(block.rows), -1, dtype=np.int32)
    held = block.kept(name)
    assert held is not None, f"{name} has not been kept"
    return held["labels"]


def move_documents(
    block: Block,
    scores: np.ndarray | None,
    bias: np.ndarray | None,
    groups: np.ndarray | None,
    names: tuple[str | None, str],
    counted: bool,
    n_classes: int,
    idf: np.ndarray | None,
) -> tuple[sp.csr_matrix, np.ndarray, int]:
    """Move documents to the cluster of the largest ``bias + Σ weight · scores[word]``; a tie changes nothing.

    ``names`` are those of the present and of the new clusters. They differ, so that a repeated step gives the same
    result. Without ``scores`` the clusters do not change. ``counted`` means that the table contains the documents under
    their present clusters. With ``idf``, the table holds tf-idf rows of length one. With ``groups``, a word has the
    scores of its group.

    Parameters
    ----------
    block : Block
    scores : ndarray of shape (n_words, n_classes) or None
    bias : ndarray of shape (n_classes,) or None
    groups : ndarray of int of shape (n_words,) or None
    names : tuple
        Names of the present and of the new clusters.
    counted : bool
    n_classes : int
    idf : ndarray of shape (n_words,) or None

    Returns
    -------
    tuple
        The change of the table, the documents of each cluster, and the number of documents that moved.
    """
    from isthmus.classify.cocc.kernels import best_places

    rows = block.rows
    old = kept_labels(block, names[0])
    labels = old.copy()
    if scores is not None:
        bias = np.zeros(n_classes) if bias is None else bias
        best_places(rows.indptr, rows.indices, weights_of(rows), scores, bias, labels, groups)
    block.keep(names[1], {"labels": labels})
    steps = weight_steps(rows) if idf is None else unit_steps(rows, idf)
    change = table_change(rows, steps, old if counted else np.full_like(old, -1), labels, n_classes)
    return change, np.bincount(labels, minlength=n_classes), int(np.sum(old != labels))


def score_rows(
    rows: RowBlock, word_scores: np.ndarray, word_weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of rows, one column per class, and the rows' sums of weights.

    Without ``word_weights`` the scores are Σ weight · log p(ŵ|d̂), which the document step maximises. With them they
    are cosines, and ``word_scores`` are weighted centroids.

    Parameters
    ----------
    rows : RowBlock
    word_scores : ndarray of shape (n_words, n_classes)
    word_weights : ndarray of shape (n_words,) or None

    Returns
    -------
    scores : ndarray of shape (n_rows, n_classes)
    lengths : ndarray of shape (n_rows,)
        Sums of the weights.
    """
    matrix = rows.matrix(weights_of(rows))
    scores = matrix @ word_scores
    if word_weights is not None:
        lengths = row_lengths(rows, word_weights)
        scores /= np.where(lengths > 0, lengths, 1.0)[:, None]
    return scores, matrix @ np.ones(rows.n_columns)


def per_length(scores: np.ndarray, lengths: np.ndarray, power: float) -> np.ndarray:
    """Divide scores by a power of the document lengths, because the words of a document are not independent.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
    lengths : ndarray of shape (n_rows,)
    power : float

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    return scores / (np.maximum(lengths, 1.0) ** power)[:, None]


class Documents:
    """Target documents in clusters that the blocks store; ``table`` has the sums of their rows, clusters × words."""

    def __init__(self, problem: Problem, name: str | None, *, idf: np.ndarray | None = None):
        self.problem, self.name, self.idf = problem, name, idf
        self.table = np.zeros((problem.n_classes, problem.n_words), dtype=np.int64)
        self._shared = name  # other searches start from it

    def copy(self) -> Documents:
        """Return the same documents for one of several searches.

        Returns
        -------
        Documents
        """
        own = Documents(self.problem, self.name, idf=self.idf)
        own.table = self.table
        return own

    @property
    def sums(self) -> np.ndarray:
        """Sums of the documents' weights, clusters × words."""
        return self.table / ONE

    @property
    def labels(self) -> np.ndarray:
        """Clusters of the target's sample; in memory these are all documents."""
        return kept_labels(self.problem.passes.target_sample, self.name)

    def move(
        self,
        scores: np.ndarray | None,
        bias: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        *,
        counted: bool = True,
        phase: str = "placing documents",
    ) -> int:
        """Take the step of :func:`move_documents` in every block; return how many documents moved.

        Parameters
        ----------
        scores, bias, groups, counted
            As for :func:`move_documents`.
        phase : str
            Name of the step in progress messages.

        Returns
        -------
        int
        """
        passes, names = self.problem.passes, (self.name, f"placed-{next(self.problem.numbers)}")
        arguments = scores, bias, groups, names, counted, self.problem.n_classes, self.idf
        change, self.sizes, moved = passes.sum(move_documents, "target", *arguments, phase=phase, add=add_tuples)
        if self.name is not None and self.name != self._shared:
            passes.forget(self.name)
        self.table, self.name = self.table + change.toarray(), names[1]
        return moved


class Problem:
    """Statistics of both domains that co-clustering needs: sums over blocks."""

    def __init__(self, passes: Passes):
        self.passes = passes
        self.numbers = count(1)  # of the steps, for the names under which blocks keep clusters
        self.n_words, self.n_classes = passes.n_columns, len(passes.classes)
        phase = "counting words per class"
        table, self.priors = passes.sum(class_table, "source", self.n_classes, phase=phase, add=add_tuples)
        self.class_counts = table.toarray() / ONE  # classes × words
        steps, own = passes.sum(word_totals, "target", phase="counting words of the target", add=add_tuples)
        self.word_totals = steps / ONE
        self.total = float(self.word_totals.sum())
        self.information = 0.0  # I(D;W) of the target
        if self.total > 0:
            # Σ p log p(d,w)/(p(d)p(w)) with p = v/total; the three terms differ in how often log(total) enters.
            found = float(own[0] - own[1]) / _COARSE - float(xlogy(self.word_totals, self.word_totals).sum())
            self.information = max(0.0, found / self.total + float(np.log(self.total)))

    def sketch(self, rng: np.random.Generator) -> np.ndarray:
        """Return a short unit vector per word; words in similar documents have similar vectors.

        One step of subspace iteration: documents start with random numbers drawn from their contents, give words a
        first vector, and become the mean of their words; words become the sum of their documents.

        Parameters
        ----------
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of shape (n_words, n_dimensions)
        """
        seed, words = int(rng.integers(2**63)), None
        for _ in range(2):
            words = unit_rows(self.passes.sum(sketch_block, "both", seed, words, phase="sketching words") / (ONE / 16))
        assert words is not None
        # All documents share the common direction; without it the cosine distinguishes topics.
        return unit_rows(words - words.mean(axis=0))

    def start(self) -> Documents:
        """Return the documents in the classes that naive Bayes predicts from the source.

        Returns
        -------
        Documents
        """
        documents = Documents(self, None)
        scores, bias = naive_bayes_scores(self.class_counts.T, self.priors.astype(float))
        documents.move(scores, bias)
        return documents.copy()

    def placed(self, labels: np.ndarray) -> Documents:
        """Return the documents of a target in memory in given clusters.

        Parameters
        ----------
        labels : ndarray of int of shape (n_documents,)

        Returns
        -------
        Documents
        """
        self.passes.target_sample.keep("given", {"labels": np.asarray(labels, dtype=np.int32)})
        documents = Documents(self, "given")
        documents.move(None, counted=False)
        return documents.copy()
