"""Find groups of target documents that belong to none of the source's classes.

Both collections are projected into one space: latent semantic analysis of their words, plus text vectors if available.
The target's documents are clustered twice: around the source's classes only (the *known* fit), and around the classes
and one extra centre that may lie anywhere. Five figures show that the extra group belongs to no class. The extra centre
explains much that the classes do not (``gain``). A second extra centre would explain much less (``second_gain``). The
direction of the group differs from that of every class (``similarity``). The classes match their documents as well as
without it (``matched``). Its documents have source neighbours of many classes, like documents of a known class whose
class is left out (``mixed``).

Each side is centred on the mean of its *class means*, so that label shift does not look like a new group. Cosines
between groups are corrected for chance, so that 30 short texts can be compared with 3,000 long ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import ComplementNB
from sklearn.svm import LinearSVC

from isthmus._math.content import content_order
from isthmus._math.fitted import fitted
from isthmus._math.rows import group_means, group_sums, unit_rows
from isthmus._math.samples import wilson_ends
from isthmus.shift.groups import quiet_kmeans

# Fitted constants; ``choose/trust.json`` states their units and origin.
NOVELTY = fitted("novelty")

DIRECTIONS = 40  # dimensions of the latent space
ROUNDS = 12  # iterations of the clustering at most
_FLOOR = 1e-4  # smallest divisor of similarities
_LEFT_OUT_AT_MOST = 4  # classes that are left out in turn at most
_BLOCK = 512  # target rows compared with a class at a time, to limit memory
_SIMULATED = 600  # source documents in the simulation


@dataclass(frozen=True)
class Fit:
    """Target documents clustered around the classes and extra centres."""

    assigned: np.ndarray  # index of each target document's centre
    similarity: np.ndarray  # target documents × centres
    centres: np.ndarray
    target_mean: np.ndarray

    @property
    def last_group(self) -> np.ndarray:
        """Mask of the documents of the last centre."""
        return self.assigned == len(self.centres) - 1

    @property
    def height(self) -> float:
        """Mean similarity of the documents to their centres."""
        return float(self.similarity.max(axis=1).mean())


@dataclass(frozen=True)
class Pair:
    """Two collections in one space, with the predictions of simple classifiers for the target."""

    source: np.ndarray  # unit rows in the common space
    target: np.ndarray
    codes: np.ndarray  # class of each source row
    classes: np.ndarray
    # Class of each target row by a linear classifier, by naive Bayes, and by clustering around the source's classes.
    plain_codes: np.ndarray
    matched: float  # mean cosine between the clusters and their classes: 1 the same direction, 0 unrelated
    # Similarity of each target row to its nearest source rows of each class, the nearest first.
    nearest: np.ndarray

    @property
    def consensus(self) -> np.ndarray:
        """Per target row, the share of pairs of classifiers that agree."""
        first, second, third = self.plain_codes
        return ((first == second).astype(float) + (first == third) + (second == third)) / 3

    @cached_property
    def purities(self) -> np.ndarray:
        """Per target row, the :func:`purity` of its neighbours in the source."""
        return purity(self.nearest)


@dataclass(frozen=True)
class NovelGroup:
    """A group of target documents that belongs to no class."""

    name: str  # three most typical words
    words: list[str]  # ten most typical words, the most typical first
    size: int  # number of documents
    share: float  # share of the target, with a 95% interval
    low: float
    high: float
    nearest_class: str  # most similar class
    similarity: float  # cosine with that class: 1 the same direction, 0 unrelated

    def to_dict(self) -> dict[str, Any]:
        """Return a row of the table of groups.

        Returns
        -------
        dict
        """
        return {
            "group": self.name,
            "words": ", ".join(self.words),
            "documents": self.size,
            "share": round(self.share, 4),
            "low": round(self.low, 4),
            "high": round(self.high, 4),
            "nearest_class": self.nearest_class,
            "similarity": round(self.similarity, 4),
        }


@dataclass(frozen=True)
class Novelty:
    """Result of the search for groups that belong to no class."""

    groups: list[NovelGroup]  # reported groups
    membership: np.ndarray = field(repr=False)  # per target row the index of its group, −1 for none
    # Figures of the strongest candidate group; empty if there was no search.
    facts: dict[str, float] = field(default_factory=dict)
    learner: LinearSVC | None = field(default=None, repr=False)  # assigns more rows to groups, see :meth:`assign`
    n_classes: int = 0
    numbers: list[int] | None = None  # group numbers of the learner, after groups were removed

    def assign(self, rows: sp.csr_matrix) -> np.ndarray:
        """Assign more rows to the groups.

        Parameters
        ----------
        rows : CSR matrix of shape (n_rows, n_words)

        Returns
        -------
        ndarray of int, shape (n_rows,)
            Index of the group, −1 for none.
        """
        if self.learner is None or not self.groups:
            return np.full(rows.shape[0], -1)
        assigned = self.learner.predict(rows) - self.n_classes
        found = np.full(rows.shape[0], -1)
        for index, number in enumerate(self.numbers or range(len(self.groups))):
            found[assigned == number] = index
        return found

    def without(self, resolved: np.ndarray) -> Novelty:
        """Return the result without documents that have a class now.

        Parameters
        ----------
        resolved : ndarray of bool, shape (n_target,)
            Documents that have a class now. A group is removed if most of its documents have one.

        Returns
        -------
        Novelty
        """
        membership = np.full(len(self.membership), -1)
        selected: list[int] = []
        for number in range(len(self.groups)):
            inside = self.membership == number
            if 2 * np.sum(inside & resolved) <= inside.sum():
                membership[inside & ~resolved] = len(selected)
                selected.append(number)
        return replace(
            self, groups=[self.groups[number] for number in selected], membership=membership, numbers=selected
        )


def fit_centres(
    source: np.ndarray,
    codes: np.ndarray,
    target: np.ndarray,
    starts: Sequence[np.ndarray] = (),
    anchor: float = NOVELTY["anchor"],
) -> Fit | None:
    """Cluster target documents around the source's classes and extra centres.

    Parameters
    ----------
    source : ndarray of shape (n_source, n_dimensions)
    codes : ndarray of int, shape (n_source,)
        Class of each source row.
    target : ndarray of shape (n_target, n_dimensions)
    starts : sequence of ndarray of shape (n_dimensions,)
        Initial positions of the extra centres.
    anchor : float
        Weight of the source's class in its centre.

    Returns
    -------
    Fit or None
        None if an extra centre has fewer than three documents.
    """
    means = group_means(source, codes, codes.max() + 1)
    known, extra = len(means), len(starts)
    anchors = unit_rows(means - means.mean(axis=0))
    centre = target.mean(axis=0)
    centres = np.vstack([anchors, *(unit_rows((start - centre)[None]) for start in starts)])
    assigned = np.full(len(target), -1)
    squares = np.einsum("ij,ij->i", target, target)
    for _ in range(ROUNDS):
        nearest = _cosines(target, squares, centre, centres).argmax(axis=1)
        if np.array_equal(nearest, assigned):
            break
        assigned = nearest
        counts = np.bincount(assigned, minlength=known + extra)
        if extra and counts[known:].min() < 3:
            return None
        found = group_sums(target, assigned, known + extra) / np.maximum(counts, 1)[:, None]
        # A class with hardly any target documents stays where the source has it.
        filled = counts[:known] >= 3
        centre = found[:known].mean(axis=0) if filled.all() else target.mean(axis=0)
        resolved = unit_rows(anchor * anchors + (1 - anchor) * unit_rows(found[:known] - centre))
        centres = np.vstack([np.where(filled[:, None], resolved, anchors), unit_rows(found[known:] - centre)])
    return Fit(assigned, _cosines(target, squares, centre, centres), centres, centre)


def _cosines(rows: np.ndarray, squares: np.ndarray, centre: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the cosine between each row's direction from the centre and each unit direction.

    ``squares`` are the squared lengths of the rows. The product is expanded, so that no centred copy of the rows is
    needed.
    """
    products = rows @ np.vstack([directions, centre]).T
    lengths = np.sqrt(np.maximum(squares - 2 * products[:, -1] + centre @ centre, 0.0))
    return (products[:, :-1] - directions @ centre) / np.maximum(lengths, 1e-12)[:, None]


def corrected_cosine(
    first: np.ndarray, second: np.ndarray, first_centre: np.ndarray, second_centre: np.ndarray
) -> float:
    """Return the cosine between the directions of two groups from their centres, corrected for chance.

    The squared length of a mean of n rows is too large by the rows' variance over n; this excess is subtracted.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows, n_dimensions)
    first_centre, second_centre : ndarray of shape (n_dimensions,)

    Returns
    -------
    float
        Clipped to −1…1; 0 if a group has no direction beyond chance.
    """
    directions, lengths = [], []
    for rows, centre in ((first, first_centre), (second, second_centre)):
        direction = rows.mean(axis=0) - centre
        chance = rows.var(axis=0).sum() / max(1, len(rows) - 1)
        directions.append(direction)
        lengths.append(direction @ direction - chance)
    if min(lengths) <= _FLOOR:
        return 0.0
    return float(np.clip(directions[0] @ directions[1] / np.sqrt(lengths[0] * lengths[1]), -1, 1))


def start_points(target: np.ndarray, n_classes: int, seed: int) -> list[np.ndarray]:
    """Return the means of small clusters of the target, at which an extra centre may start.

    Parameters
    ----------
    target : ndarray of shape (n_target, n_dimensions)
    n_classes : int
    seed : int

    Returns
    -------
    list of ndarray of shape (n_dimensions,)
    """
    n_clusters = min(2 * n_classes + 2, max(2, len(target) // 15))
    centred = unit_rows(target - target.mean(axis=0))
    assigned = quiet_kmeans(centred, n_clusters, n_init=1, random_state=seed)
    return [target[assigned == j].mean(axis=0) for j in range(n_clusters) if np.sum(assigned == j) >= 5]


def further_groups(source, codes, target, starts, fixed=()) -> list[tuple[float, Fit]]:
    """Find extra centres in addition to the fixed ones; no two have nearly the same documents.

    Parameters
    ----------
    source : ndarray of shape (n_source, n_dimensions)
    codes : ndarray of int, shape (n_source,)
    target : ndarray of shape (n_target, n_dimensions)
    starts : sequence of ndarray of shape (n_dimensions,)
        Positions at which an extra centre may start.
    fixed : sequence of ndarray of shape (n_dimensions,)
        Extra centres that were found before.

    Returns
    -------
    list of (float, Fit)
        Gain and fit of each centre, the largest gain first.
    """
    base = fit_centres(source, codes, target, fixed)
    if base is None:
        return []
    found = []
    for start in starts:
        fit = fit_centres(source, codes, target, [*fixed, start])
        if fit is None:
            continue
        share = float(np.mean(fit.last_group))
        gain = fit.height - base.height
        if NOVELTY["smallest"] <= share <= NOVELTY["largest"] and gain > 0:
            found.append((gain, fit))
    selected: list[tuple[float, Fit]] = []
    for gain, fit in sorted(found, key=lambda pair: -pair[0]):
        if all(_overlap(fit.last_group, other.last_group) < NOVELTY["same"] for _, other in selected):
            selected.append((gain, fit))
    return selected


def _overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of shared documents among the documents of two groups."""
    return float(np.sum(one & other) / np.sum(one | other))


def second_gain(pair: Pair, starts, fit: Fit, fixed=()) -> float:
    """Return the gain of the best group after the last group of a fit.

    Parameters
    ----------
    pair : Pair
    starts : sequence of ndarray of shape (n_dimensions,)
    fit : Fit
    fixed : sequence of ndarray of shape (n_dimensions,)

    Returns
    -------
    float
    """
    centre = pair.target[fit.last_group].mean(axis=0)
    after = further_groups(pair.source, pair.codes, pair.target, starts, [*fixed, centre])
    return after[0][0] if after else 0.0


def group_facts(pair: Pair, left_out: LeftOut, gain: float, fit: Fit) -> dict[str, float]:
    """Return the figures by which the last group of a fit may be new; the caller adds :func:`second_gain`.

    Parameters
    ----------
    pair : Pair
    left_out : LeftOut
    gain : float
    fit : Fit

    Returns
    -------
    dict
    """
    n_classes, inside = len(pair.classes), fit.last_group
    source_centre = group_means(pair.source, pair.codes, n_classes).mean(axis=0)
    nearest = [
        corrected_cosine(pair.target[inside], pair.source[pair.codes == code], fit.target_mean, source_centre)
        for code in range(n_classes)
    ]
    own = fit.similarity[inside]
    own_fit, known_fit = float(own[:, -1].mean()), float(own[:, :n_classes].max(axis=1).mean())
    return {
        "gain": gain,
        "similarity": max(nearest),
        "nearest": int(np.argmax(nearest)),
        "matched": _matched(pair.source, pair.codes, pair.target, fit),
        "fit": own_fit,
        "known_fit": known_fit,
        "share": float(inside.mean()),
        "n_classes": n_classes,
        "agreement_drop": _gap(pair.consensus, inside),
        "distinct": (own_fit - known_fit) / left_out.distance if left_out.distance > 0 else 0.0,
        "mixed": mixed(pair, left_out, fit),
    }


def mixed(pair: Pair, left_out: LeftOut, fit: Fit) -> float:
    """Return how much purer the neighbours of the last group of a fit are than those of left-out classes.

    Parameters
    ----------
    pair : Pair
    left_out : LeftOut
    fit : Fit

    Returns
    -------
    float
    """
    return _gap(pair.purities, fit.last_group) - left_out.mixed


def compare_pair(
    source_rows: sp.csr_matrix,
    source_labels: Any,
    target_rows: sp.csr_matrix,
    *,
    vectors: tuple[np.ndarray, np.ndarray] | None = None,
    random_state: int | None = 0,
) -> Pair:
    """Project both collections into one space and predict the target's classes with three simple classifiers.

    Parameters
    ----------
    source_rows, target_rows : CSR matrices of shape (n_documents, n_words)
        tf-idf rows over one vocabulary.
    source_labels : sequence
    vectors : tuple of ndarray or None
        Text vectors of the source's and the target's documents, added as dimensions.
    random_state : int or None

    Returns
    -------
    Pair
    """
    classes, codes = np.unique(np.asarray(source_labels).astype(str), return_inverse=True)
    n_source = source_rows.shape[0]
    joint = sp.vstack([source_rows, target_rows]).tocsr()
    n_directions = min(DIRECTIONS, min(joint.shape) - 1)
    space = unit_rows(TruncatedSVD(n_directions, random_state=random_state).fit_transform(joint))
    if vectors is not None:
        by_vectors = unit_rows(np.vstack([np.asarray(part, dtype=float) for part in vectors]))
        space = np.hstack([space, by_vectors]) / np.sqrt(2)
    source, target = space[:n_source], space[n_source:]
    known = fit_centres(source, codes, target)
    assert known is not None  # only extra centres can lose their documents
    linear = LinearSVC(C=0.5, random_state=0).fit(source_rows, codes).predict(target_rows)
    bayes = ComplementNB().fit(source_rows, codes).predict(target_rows)
    matched = _matched(source, codes, target, known)
    nearest = nearest_of_classes(source_rows, codes, target_rows)
    return Pair(source, target, codes, classes, np.array([linear, bayes, known.assigned]), matched, nearest)


def nearest_of_classes(source_rows: sp.csr_matrix, codes: np.ndarray, target_rows: sp.csr_matrix) -> np.ndarray:
    """Return the similarity of each target row to its nearest source rows of each class.

    The result is separate for each class, so that a class can be left out without a second search.

    Parameters
    ----------
    source_rows : CSR matrix of shape (n_source, n_words)
    codes : ndarray of int, shape (n_source,)
    target_rows : CSR matrix of shape (n_target, n_words)

    Returns
    -------
    ndarray of shape (n_target, n_classes, n_neighbours)
        The nearest first; zero if a class has fewer rows.
    """
    n_classes = int(codes.max()) + 1
    found = np.zeros((target_rows.shape[0], n_classes, NOVELTY["neighbours"]))
    for code in range(n_classes):
        own = source_rows[codes == code].T.tocsr()
        for start in range(0, target_rows.shape[0], _BLOCK):
            products = (target_rows[start : start + _BLOCK] @ own).toarray()
            most = min(NOVELTY["neighbours"], products.shape[1])
            best = -np.sort(np.partition(-products, most - 1, axis=1)[:, :most], axis=1)
            found[start : start + _BLOCK, code, :most] = best
    return found


def purity(nearest: np.ndarray) -> np.ndarray:
    """Return, per target row, the share of its nearest source rows that belong to their most frequent class.

    Parameters
    ----------
    nearest : ndarray of shape (n_target, n_classes, n_neighbours)
        Result of :func:`nearest_of_classes`.

    Returns
    -------
    ndarray of shape (n_target,)
        Source rows without a common word count for no class, so the share is 0 if all are such rows.
    """
    n_rows, n_classes, n_nearest = nearest.shape
    flat = nearest.reshape(n_rows, -1)
    order = np.argsort(-flat, axis=1, kind="stable")[:, :n_nearest]
    counts = np.take_along_axis(flat, order, axis=1) > 0
    votes = np.stack([np.sum(counts & (order // n_nearest == code), axis=1) for code in range(n_classes)])
    return votes.max(axis=0) / n_nearest


def _gap(values: np.ndarray, inside: np.ndarray) -> float:
    """Return the mean inside a group minus the mean outside."""
    return float(values[inside].mean() - values[~inside].mean())


def _matched(source: np.ndarray, codes: np.ndarray, target: np.ndarray, fit: Fit) -> float:
    """Return the mean similarity of each class's target documents to the class; 0 for a class with fewer than three."""
    centre = group_means(source, codes, codes.max() + 1).mean(axis=0)
    likeness = np.zeros(codes.max() + 1)
    for code in np.flatnonzero(np.bincount(fit.assigned, minlength=len(likeness))[: len(likeness)] >= 3):
        group = target[fit.assigned == code]
        likeness[code] = max(0.0, corrected_cosine(group, source[codes == code], fit.target_mean, centre))
    return float(likeness.mean())


def find_novel_groups(
    pair: Pair, target_rows: sp.csr_matrix, names: Sequence[str], *, random_state: int | None = 0
) -> Novelty:
    """Find groups of the target that belong to no class of the source.

    A group is reported under three conditions: the classes match their target documents well enough for a comparison,
    its documents have source neighbours as mixed as those of a left-out class, and :func:`is_novel` holds. Groups are
    tested in the order of their gain; with two classes only the first is tested. After a group is found, the search
    continues for the next one, up to three.

    Parameters
    ----------
    pair : Pair
    target_rows : CSR matrix of shape (n_target, n_words)
    names : sequence of str
        Words of the columns.
    random_state : int or None

    Returns
    -------
    Novelty
    """
    n_classes, n_target = len(pair.classes), len(pair.target)
    none = Novelty([], np.full(n_target, -1))
    if n_classes < 2 or min(len(pair.source), n_target) < NOVELTY["fewest"]:
        return none
    order = content_order(pair.target)  # the result of k-means then does not depend on the order of the rows
    starts = start_points(pair.target[order], n_classes, 0 if random_state is None else random_state)
    fixed: list[np.ndarray] = []
    left_out = leave_out(pair)
    # With two classes, leaving one out leaves no pair of classes. The limit on mixed neighbours is then unknown, and
    # only the strongest group is tested.
    mixed_at_most, most = (NOVELTY["mixed"], None) if n_classes > 2 else (np.inf, 1)
    first: dict[str, float] = {}
    selected: tuple[Fit, list[dict]] | None = None
    for _ in range(NOVELTY["most_groups"]):
        cases = NOVELTY["further" if selected or n_classes == 2 else "cases"]
        for gain, fit in further_groups(pair.source, pair.codes, pair.target, starts, fixed)[:most]:
            passes = mixed(pair, left_out, fit) <= mixed_at_most
            if first and not passes:
                continue
            facts = group_facts(pair, left_out, gain, fit)
            # The second gain takes as long as all other figures, so it is computed only if they leave the decision
            # open.
            promising = passes and is_novel({**facts, "second_gain": 0.0}, cases)
            if promising or not first:
                facts["second_gain"] = second_gain(pair, starts, fit, fixed)
            first = first or facts
            if promising and is_novel(facts, cases):
                selected = fit, [*(selected[1] if selected else []), facts]
                fixed.append(pair.target[fit.assigned == n_classes + len(fixed)].mean(axis=0))
                break
        else:
            break
    if selected is None:
        return Novelty([], none.membership, first)
    return _announce(pair, target_rows, names, *selected, first)


def is_novel(facts: dict[str, float], cases: Sequence[dict[str, float]] = NOVELTY["cases"]) -> bool:
    """Decide whether the figures of a candidate group fulfil the limits of one of the cases.

    Upper limits: ``unlike`` (similarity to the nearest class, relative to ``matched``) and ``disputed`` (agreement of
    the classifiers inside the group minus outside). Lower limits: ``stands_out`` (log of the gain over the gain of one
    more group) and ``distinct`` (distance from the classes, relative to the distance between classes).

    Parameters
    ----------
    facts : dict of str to float
        Result of :func:`group_facts`, with ``second_gain``.
    cases : sequence of dict of str to float

    Returns
    -------
    bool
    """
    unlike = max(facts["similarity"], 0.0) / max(facts["matched"], _FLOOR)
    stands_out = np.log(facts["gain"] / max(facts["second_gain"], 1e-3))
    return facts["matched"] >= NOVELTY["matched"] and any(
        unlike <= case["unlike"]
        and stands_out >= case["stands_out"]
        and facts["agreement_drop"] <= case.get("disputed", np.inf)
        and facts["distinct"] >= case.get("distinct", -np.inf)
        for case in cases
    )


@dataclass(frozen=True)
class LeftOut:
    """Figures of known classes in the target after they are left out of the source: medians over classes."""

    # Fit of their documents to their own centre minus the fit to other classes; 0 if no class is found.
    distance: float = 0.0
    mixed: float = 0.0  # purity of their documents' source neighbours minus the purity of all others


def leave_out(pair: Pair) -> LeftOut:
    """Leave each class out of the source in turn, and measure it as a group of the target.

    Parameters
    ----------
    pair : Pair

    Returns
    -------
    LeftOut
        Zeros if there are only two classes.
    """
    known = fit_centres(pair.source, pair.codes, pair.target)
    assert known is not None
    n_classes = int(pair.codes.max()) + 1
    distances, gaps = [], []
    for code in range(n_classes) if n_classes > 2 else ():
        own, selected = known.assigned == code, pair.codes != code
        if own.sum() < 5:
            continue
        rest = pair.codes[selected] - (pair.codes[selected] > code)
        fit = fit_centres(pair.source[selected], rest, pair.target, [pair.target[own].mean(axis=0)])
        if fit is None:
            continue
        inside = fit.assigned == n_classes - 1
        if min(inside.sum(), (~inside).sum()) >= 5:
            similarity = fit.similarity[inside]
            distances.append(float(np.mean(similarity[:, -1] - similarity[:, :-1].max(axis=1))))
            gaps.append(_gap(purity(np.delete(pair.nearest, code, axis=1)), inside))
    return LeftOut(float(np.median(distances)), float(np.median(gaps))) if distances else LeftOut()


def _announce(pair, target_rows, names, fit: Fit, facts: list[dict], first: dict) -> Novelty:
    """Return the groups with names, sizes and intervals; a classifier of words must confirm each document."""
    n_classes = len(pair.classes)
    learner = LinearSVC(C=0.5, random_state=0)
    confirmed = fit.assigned
    if np.bincount(fit.assigned)[np.unique(fit.assigned)].min() >= 3:
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        confirmed = cross_val_predict(learner, target_rows, fit.assigned, cv=folds)
    learner.fit(target_rows, fit.assigned)
    agreed = (fit.assigned >= n_classes) & (confirmed == fit.assigned)
    membership = np.where(agreed, fit.assigned - n_classes, -1)
    groups = []
    for number, figures in enumerate(facts):
        inside = membership == number
        words = typical_words(target_rows, inside, names)
        share = float(inside.mean())
        low, high = wilson_ends(share, len(inside), 1.96)
        groups.append(
            NovelGroup(
                name=" ".join(words[:3]) or f"group {number + 1}",
                words=words,
                size=int(inside.sum()),
                share=share,
                low=low,
                high=high,
                nearest_class=str(pair.classes[int(figures["nearest"])]),
                similarity=max(0.0, figures["similarity"]),
            )
        )
    return Novelty(groups, membership, first, learner, n_classes)


def typical_words(rows: sp.csr_matrix, inside: np.ndarray, names: Sequence[str], top: int = 10) -> list[str]:
    """Return the words whose share of documents is most increased inside a group (smoothed log-odds, weighted by use).

    Parameters
    ----------
    rows : CSR matrix of shape (n_documents, n_words)
    inside : ndarray of bool, shape (n_documents,)
    names : sequence of str
    top : int

    Returns
    -------
    list of str
        The most typical first.
    """
    present = (rows > 0).astype(float)
    within, without = (np.asarray(present[mask].sum(axis=0)).ravel() for mask in (inside, ~inside))
    n_within, n_without = inside.sum(), (~inside).sum()
    if not n_within:
        return []
    odds = np.log((within + 0.5) / (n_within - within + 0.5)) - np.log((without + 0.5) / (n_without - without + 0.5))
    weight = np.sqrt(within) * odds
    best = np.argsort(-weight, kind="stable")[:top]
    return [str(names[i]) for i in best if weight[i] > 0]


def shows_its_worth(simulated: dict[str, float] | None) -> bool:
    """Decide whether the test found at least half of the classes left out of the source, without a false alarm.

    Parameters
    ----------
    simulated : dict of str to float or None
        Result of :func:`simulate_on_source`.

    Returns
    -------
    bool
    """
    return simulated is not None and simulated["power"] >= NOVELTY["sees_enough"] and not simulated["false_alarm"]


def simulated_sentence(simulated: dict[str, float] | None) -> str:
    """Describe the result of the simulation on the source in one sentence.

    Parameters
    ----------
    simulated : dict of str to float or None
        Result of :func:`simulate_on_source`.

    Returns
    -------
    str
        Empty if there was no simulation.
    """
    if simulated is None:
        return ""
    alarm = "a false alarm" if simulated["false_alarm"] else "no false alarm"
    n_classes = int(simulated["classes"])
    return (
        f"Tried on the source itself, with {n_classes} classes left out in turn, the test found "
        f"{round(simulated['power'] * n_classes)} of them and raised {alarm} with none left out."
    )


def simulate_on_source(
    source_rows: sp.csr_matrix, source_labels: Any, names: Sequence[str], *, random_state: int | None = 0
) -> dict[str, float] | None:
    """Measure on the source how well the test for new groups works.

    One half of the source serves as the target of the other half. The search is run with each class left out in turn
    (at most the four largest) and with no class left out.

    Parameters
    ----------
    source_rows : CSR matrix of shape (n_source, n_words)
        tf-idf rows.
    source_labels : sequence
    names : sequence of str
        Words of the columns.
    random_state : int or None

    Returns
    -------
    dict of str to float or None
        ``power`` (share of left-out classes most of whose documents were reported as a group), ``false_alarm`` (1.0 if
        a group was reported with no class left out), ``classes`` (number of left-out classes). None if the source is
        too small.
    """
    labels = np.asarray(source_labels).astype(str)
    if len(labels) > _SIMULATED:
        drawn = np.sort(np.random.default_rng(random_state).permutation(content_order(source_rows))[:_SIMULATED])
        source_rows, labels = source_rows[drawn], labels[drawn]
    classes, sizes = np.unique(labels, return_counts=True)
    half = np.zeros(len(labels), dtype=bool)
    half[content_order(source_rows)[::2]] = True
    if len(classes) < 3 or min(half.sum(), (~half).sum()) < 2 * NOVELTY["fewest"] or sizes.min() < 6:
        return None

    def run(left_out: str | None) -> np.ndarray:
        selected = half & (labels != left_out)
        if len(np.unique(labels[selected])) < 2:
            return np.full(int((~half).sum()), -1)
        pair = compare_pair(source_rows[selected], labels[selected], source_rows[~half], random_state=random_state)
        return find_novel_groups(pair, source_rows[~half], names, random_state=random_state).membership

    found = []
    for name in classes[np.argsort(-sizes, kind="stable")][:_LEFT_OUT_AT_MOST]:
        own = labels[~half] == name
        found.append(float(np.mean(run(str(name))[own] >= 0)) >= 0.5 if own.any() else False)
    return {
        "power": float(np.mean(found)),
        "false_alarm": float(np.any(run(None) >= 0)),
        "classes": float(len(found)),
    }
