"""Cross-guided k-means over blocks: rows added up by their nearest centre, in fixed point."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import unit_rows
from isthmus.clustering.alignment import Aligner, SourceGroups, alignment_table
from isthmus.clustering.guided import CrossGuidedKMeans
from isthmus.clustering.kmeans import ClusterSums, pulled_means
from isthmus.features.block_kernels import add_under
from isthmus.features.blocks import Block, Passes, RowBlock, add_tuples

ONE = 1 << 20


def fit_passes(model: CrossGuidedKMeans, passes: Passes, max_iter: int) -> CrossGuidedKMeans:
    """Fit ``model`` on the samples of both domains, then let all target documents settle; ``n_iter_`` counts passes.

    The sample gives the number of clusters, the starts and the words by which the domains are compared. Then
    assignment, means and pull alternate over all target documents until no document moves.
    """
    idf = model.idf_ = passes.idf
    samples = passes.sample, passes.target_sample
    n_target = len(passes.target_sample.rows)
    rows = [block.rows.matrix(unit_weights(block.rows, idf)[1] / ONE) for block in samples]
    codes = np.concatenate([passes.sample.codes, np.full(n_target, -1)])
    model.fit(sp.vstack(rows, format="csr"), codes, np.repeat([1, -1], [len(passes.sample.codes), n_target]))
    groups, model.target_mean_ = _means(passes, idf)
    aligner = None
    if model._aligner is not None and model.guidance_ > 0:
        similarity = model._aligner.similarity
        aligner = Aligner(groups, similarity, model.target_mean_, warmup=0, min_contrast=model.min_contrast)
    _settle(model, passes, aligner, max_iter)
    weights = np.zeros((len(model.cluster_centers_), 0))
    if aligner is not None:
        weights = aligner.weights(model.cluster_centers_)
    model.alignment_ = alignment_table(weights, groups, passes.classes)
    return model


def _means(passes: Passes, idf: np.ndarray) -> tuple[SourceGroups, np.ndarray]:
    n = len(passes.classes)
    sums, sizes = passes.sum(group_sums, "source", idf, n, phase="source groups", add=add_tuples)
    total, count = passes.sum(group_sums, "target", idf, 1, phase="mean of the target", add=add_tuples)
    centers = (sums / ONE / np.maximum(sizes, 1)).T
    groups = SourceGroups(np.ascontiguousarray(centers), np.arange(n), np.ones(n, dtype=np.int64), sizes)
    return groups, total[:, 0] / ONE / max(1, int(count[0]))


def _settle(model: CrossGuidedKMeans, passes: Passes, aligner: Aligner | None, max_iter: int) -> None:
    centers, before = np.asarray(model.cluster_centers_), None
    model.termination_condition_ = "max_iter"
    for n_iter in range(1, max_iter + 1):
        phase = f"grouping, pass {n_iter}"
        arguments = model.idf_, cluster_directions(centers)
        sums, counts = passes.sum(assign_rows, "target", *arguments, phase=phase, add=add_tuples)
        stats = ClusterSums(np.ascontiguousarray(sums.T / ONE), counts, 0.0)
        pull = None if aligner is None else aligner(centers, n_iter)
        centers = pulled_means(stats, centers, pull, model.guidance_ if pull is not None else 0.0)
        model.n_iter_ = n_iter
        model.cluster_means_ = stats.means(centers)
        if before is not None and np.array_equal(sums, before):
            model.termination_condition_ = "stable"
            break
        before = sums
    model.cluster_centers_ = centers
    lengths = np.where(counts > 0, np.linalg.norm(model.cluster_means_, axis=1), np.inf)
    model._least_specific = int(lengths.argmin())


def cluster_directions(centers: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(unit_rows(centers).T)


# -- statistics of a block ---------------------------------------------------------------------------------------------


def unit_weights(rows: RowBlock, idf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """tf-idf values of length one, and the same in fixed point."""
    values = rows.tfidf(idf, sublinear=False)
    return values, np.rint(values * ONE).astype(np.int64)


def group_sums(block: Block, idf: np.ndarray, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a block added up by group: those of the source by their label, those of the target all in one."""
    rows = block.rows
    codes = block.codes if block.side == "source" else np.zeros(len(rows), dtype=np.int32)
    sums = np.zeros((rows.n_columns, n_groups), dtype=np.int64)
    add_under(rows.indptr, rows.indices, unit_weights(rows, idf)[1], codes, sums)
    return sums, np.bincount(codes[codes >= 0], minlength=n_groups)


def assign_rows(block: Block, idf: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a target block added up by the nearest centre; a document without a word goes to none."""
    rows = block.rows
    labels, units = nearest_centers(rows, idf, directions, -1)
    sums = np.zeros(directions.shape, dtype=np.int64)
    add_under(rows.indptr, rows.indices, units, labels, sums)
    return sums, np.bincount(labels[labels >= 0], minlength=directions.shape[1])


def nearest_centers(
    rows: RowBlock, idf: np.ndarray, directions: np.ndarray, empty: int
) -> tuple[np.ndarray, np.ndarray]:
    """Number of the nearest centre of each row, ``empty`` for one without a word; and the rows in fixed point."""
    values, units = unit_weights(rows, idf)
    labels = (rows.matrix(values) @ directions).argmax(axis=1).astype(np.int32)
    return np.where(np.diff(rows.indptr) == 0, empty, labels), units
