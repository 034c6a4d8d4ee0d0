"""Classify by class centroids, centred by domain, that adapt to the documents of the target."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from isthmus._math.calibration import fit_temperature
from isthmus._math.rows import unit_rows
from isthmus.base import FROM_1, SHARE, Domains, TransferClassifier
from isthmus.classify.centroids import CentredRows, left_out_similarity, move_centroids, settle
from isthmus.classify.rules import CentroidRule
from isthmus.features.blocks import ONE, Block, Passes, add_tuples, as_steps, block_steps, exact_product, square_sums
from isthmus.features.embeddings import resolve_embedder


class TransductiveCentroidClassifier(TransferClassifier):
    """Nearest class centroid on rows centred by domain, with centroids that adapt to the target.

    Every row is scaled to length one, centred about the mean of its domain, and scaled again. This removes differences
    between the domains as a whole (length, style, subject of the collection). Centroids start at the source's classes.
    Then target rows go to the nearest centroid and centroids move towards their target rows, until no row changes.

    The method assumes that classes are groups in the space of the rows (topics are; opinions are less so) and that they
    have similar proportions in both domains. It is meant for vectors of whole documents: latent semantic vectors
    (:class:`isthmus.features.LatentSemantics`) or those of a language model (:class:`isthmus.features.TextEmbedder`).
    Sparse rows also work and stay sparse.

    Parameters
    ----------
    source_weight : float, default=0.5
        Weight of the source centroid. With 1, centroids do not move; with 0, the source does not hold them back.
    max_iter : int, default=50
        Maximum number of rounds.

    Attributes
    ----------
    classes_, transduction_, n_iter_, history_, termination_condition_
        ``history_``: mean similarity of the target rows to their centroids, by round.
    centroids_ : ndarray of shape (n_classes, n_features)
        Directions of length one.
    inverse_temperature_ : float
        Factor that turns similarities into log-probabilities, fitted on source rows excluded from their own centroid.

    See Also
    --------
    isthmus.TransductiveKernelClassifier : Kernel ridge instead of centroids.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import TransductiveCentroidClassifier
    >>> source = np.array([[4, 1], [5, 1], [1, 4], [1, 5.0]])
    >>> target = source + [9, 0]  # the same two groups, moved
    >>> model = TransductiveCentroidClassifier().fit(np.vstack([source, target]), ["a", "a", "b", "b"] + [None] * 4)
    >>> model.transduction_[4:].tolist()
    ['a', 'a', 'b', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "source_weight": [SHARE],
        "max_iter": [FROM_1],
    }

    _need_overlap = False

    def __init__(
        self,
        *,
        source_weight: float = 0.5,
        max_iter: int = 50,
    ):
        self.source_weight = source_weight
        self.max_iter = max_iter

    def _fit(self, domains: Domains) -> np.ndarray | None:
        own = np.zeros((domains.n_classes, domains.X.shape[1]))
        parts = []
        for number in domains.source_domains:
            rows = domains.source[domains.domain[domains.source] == number]
            centred = CentredRows.about(domains.X[rows])
            own += centred.sums(np.eye(domains.n_classes)[domains.codes[rows]])
            parts.append((centred, domains.codes[rows]))
        start = unit_rows(own)
        target = CentredRows.about(domains.X[domains.target]) if len(domains.target) else None
        self.mean_ = parts[0][0].mean if target is None else target.mean
        self.inverse_temperature_ = _left_out_temperature([(centred.dot(own), codes) for centred, codes in parts], own)
        self.centroids_, self.n_iter_ = start, 1
        self.history_: list[float] = []
        self.termination_condition_ = "no_target"
        if target is None:
            return None
        self.centroids_, codes, self.history_, settled = settle(
            start, target, source_weight=self.source_weight, max_iter=self.max_iter
        )
        self.n_iter_ = len(self.history_)
        self.termination_condition_ = "settled" if settled else "max_iter"
        return codes

    def prediction_rule(self) -> CentroidRule:
        """Return the rule that labels new documents; see ``isthmus.classify.rules``.

        Returns
        -------
        CentroidRule
        """
        return CentroidRule(self.mean_, self.centroids_, self.inverse_temperature_)

    def fit_passes(self, passes: Passes) -> TransductiveCentroidClassifier:
        """Fit the chunks of both domains; their rows are static word vectors, in fixed point.

        Parameters
        ----------
        passes : Passes

        Returns
        -------
        self
        """
        n_classes = len(passes.classes)
        self.block_means_: dict[str, np.ndarray] = {}
        for side in ("source", "target"):
            total, count = passes.sum(vector_sums, side, phase="making vectors", add=add_tuples)
            self.block_means_[side] = total / ONE / float(count[0])
        own, _ = passes.sum(centroid_sums, "source", self, n_classes, phase="class centroids", add=add_tuples)
        start = self.centroids_ = unit_rows(own / ONE)
        before = None
        for step in range(1, self.max_iter + 1):
            phase = f"settling, round {step}"
            sums, counts = passes.sum(centroid_sums, "target", self, n_classes, phase=phase, add=add_tuples)
            if before is not None and np.array_equal(sums, before):
                break
            moved = move_centroids(start, unit_rows(sums / ONE), self.source_weight)
            self.centroids_, before = np.where((counts > 0)[:, None], moved, start), sums
        rows = self.centred_steps(static_steps(passes.sample.texts()), "source") / ONE
        self.inverse_temperature_ = _left_out_temperature([(rows @ (own / ONE).T, passes.sample.codes)], own / ONE)
        self.classes_ = passes.classes
        return self

    def centred_steps(self, steps: np.ndarray, side: str) -> np.ndarray:
        """Centre rows in fixed point about the mean of their domain and scale them to length one.

        Parameters
        ----------
        steps : ndarray of int of shape (n_documents, n_features)
        side : {"source", "target"}

        Returns
        -------
        ndarray of int of shape (n_documents, n_features)
            In fixed point.
        """
        mean = self.block_means_[side]
        squares = np.square(steps, dtype=np.float64).sum(axis=1) / ONE**2
        squared = squares - 2 * exact_product(steps, mean[:, None])[:, 0] + float(mean @ mean)
        scale = np.where((squared > 1e-9) & (squares > 0), 1 / np.sqrt(np.maximum(squared, 1e-9)), 0.0)
        return as_steps((steps / ONE - mean) * scale[:, None])

    def block_rows(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return the centred rows of a chunk, computed once, and which texts are blank.

        Parameters
        ----------
        block : Block

        Returns
        -------
        steps : ndarray of int of shape (n_documents, n_features)
        blank : ndarray of bool of shape (n_documents,)
        """
        held = block.kept("centred")
        if held is None:
            steps, blank = block_steps(block, "vectors", static_steps)
            held = {"steps": self.centred_steps(steps, block.side), "blank": blank}
            block.keep("centred", held)
        return held["steps"], held["blank"]

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return class scores of the documents of a chunk, and which documents are blank.

        Parameters
        ----------
        block : Block

        Returns
        -------
        scores : ndarray of shape (n_documents, n_classes)
            Their softmax are probabilities.
        blank : ndarray of bool of shape (n_documents,)
        """
        centred, blank = self.block_rows(block)
        return self.inverse_temperature_ * exact_product(centred, self.centroids_.T), blank


def static_steps(texts: list[str]) -> np.ndarray:
    """Return static word vectors of texts, of length one, in fixed point.

    Parameters
    ----------
    texts : list of str

    Returns
    -------
    ndarray of int of shape (n_texts, n_features)
    """
    return as_steps(unit_rows(np.asarray(resolve_embedder("static")(texts), dtype=np.float64)))


def vector_sums(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the vectors of a chunk and the number of its documents.

    Parameters
    ----------
    block : Block

    Returns
    -------
    total : ndarray of int of shape (n_features,)
    count : ndarray of int of shape (1,)
    """
    steps, _ = block_steps(block, "vectors", static_steps)
    return steps.sum(axis=0, dtype=np.int64), np.array([len(steps)])


def centroid_sums(block: Block, model: TransductiveCentroidClassifier, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Add up the centred rows of a chunk by class.

    The class is the label of a source row, or the nearest centroid of a target row.

    Parameters
    ----------
    block : Block
    model : TransductiveCentroidClassifier
    n_classes : int

    Returns
    -------
    sums : ndarray of int of shape (n_classes, n_features)
    counts : ndarray of int of shape (n_classes,)
    """
    steps, _ = model.block_rows(block)
    if block.side == "source":
        codes = block.codes
    else:
        codes = exact_product(steps, model.centroids_.T).argmax(axis=1)
    marks = (codes[:, None] == np.arange(n_classes)).astype(np.int16)
    return square_sums(marks, steps), marks.sum(axis=0, dtype=np.int64)


def _left_out_temperature(parts: list[tuple[np.ndarray, np.ndarray]], sums: np.ndarray) -> float:
    """Fit the factor on similarities, from (products of source rows with ``sums``, classes of the rows) by domain."""
    scores = [left_out_similarity(products, sums, codes) for products, codes in parts]
    return fit_temperature(np.vstack(scores), np.concatenate([codes for _, codes in parts]))
