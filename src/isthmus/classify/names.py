"""Classify documents by the names of the classes, with or without labelled documents.

Centroids start at the descriptions of the classes, move towards similar target documents, and a ridge regression then
learns the assignment. Documents are dense rows of length one about their mean (``R``); descriptions are directions of
length one (``A``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from isthmus._math.calibration import fit_temperature
from isthmus._math.rows import unit_rows
from isthmus._utils import warn
from isthmus.base import FROM_1, NON_NEGATIVE, POSITIVE, SHARE, Domains, StrOptions, TransferClassifier, softmax
from isthmus.classify.centroids import left_out_similarity
from isthmus.classify.rules import NamesRule, centred_rows
from isthmus.exceptions import DataError, IsthmusError, UsageError
from isthmus.features.class_names import ClassName, read_classes
from isthmus.features.latent import leading_directions
from isthmus.features.tokens import tokenize_words

RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0)  # multiples of the mean eigenvalue of the rows' products
_LEARN_FROM = 10  # target rows; with fewer the nearest centroid decides
_NEVER = -2.0  # score of a class without any description; similarities are between -1 and 1
_SURE = 20.0  # factor on similarities before the softmax whose shares the regression learns


# -- arithmetic --------------------------------------------------------------------------------------------------------


def settle_softly(
    anchors: np.ndarray,
    rows: np.ndarray,
    *,
    anchor_weight: float | np.ndarray = 0.5,
    sharpness: float = 20.0,
    max_iter: int = 10,
    tol: float = 1e-3,
) -> tuple[np.ndarray, list[float], bool]:
    """Move centroids from the descriptions of classes towards similar documents.

    Each round assigns every row to the classes with shares softmax(``sharpness`` · similarities). Every centroid then
    becomes the direction of ``anchor_weight`` · (its description) + (1 − ``anchor_weight``) · (the direction of its
    rows). A class whose description is zero gets no row.

    Parameters
    ----------
    anchors : ndarray of shape (n_classes, n_features)
        Descriptions, at length one or zero.
    rows : ndarray of shape (n_rows, n_features)
        Documents at length one.
    anchor_weight : float or ndarray of shape (n_classes, 1)
    sharpness : float
    max_iter : int
    tol : float
        The iteration ends when the mean change of a row's shares is below this value.

    Returns
    -------
    centroids : ndarray of shape (n_classes, n_features)
    history : list of float
        Mean similarity of the rows to the classes that they are assigned to, by round.
    converged : bool
    """
    described = np.asarray(anchors.any(axis=1))
    if not described.any():
        described[:] = True
    centroids = anchors
    shares = np.zeros((len(rows), len(anchors)))
    history: list[float] = []
    for _ in range(max_iter):
        similarity = rows @ centroids.T
        before = shares
        shares = softmax(sharpness * np.where(described, similarity, -np.inf))
        history.append(float(np.mean(np.sum(shares * np.where(described, similarity, 0.0), axis=1))))
        if np.abs(shares - before).sum(axis=1).mean() < tol:
            return centroids, history, True
        means = unit_rows(shares.T @ rows)
        centroids = unit_rows(anchor_weight * anchors + (1 - anchor_weight) * means)
        centroids[~described] = 0.0  # such a centroid would attract rows
    return centroids, history, False


def learn_shares(
    rows: np.ndarray, shares: np.ndarray, *, ridges: tuple[float, ...] = RIDGES
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit a ridge regression of soft class labels on centred rows; choose the penalty that predicts left-out rows best.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    shares : ndarray of shape (n_rows, n_classes)
    ridges : tuple of float
        Candidate penalties, as multiples of the mean eigenvalue of the products of the rows.

    Returns
    -------
    weights : ndarray of shape (n_features, n_classes)
    intercepts : ndarray of shape (n_classes,)
    held_out : ndarray of shape (n_rows, n_classes)
        Prediction for each row by the regression without that row, in closed form.
    """
    values, vectors = np.linalg.eigh(rows.T @ rows)
    values = np.maximum(values, 0.0)
    size = max(float(values.mean()), 1e-12)
    turned = rows @ vectors
    mean = shares.mean(axis=0)
    wanted = turned.T @ (shares - mean)
    least = np.inf
    for ridge in ridges:
        shrunk = 1 / (values + ridge * size)
        leverage = np.minimum((turned**2) @ shrunk + 1 / len(rows), 1 - 1e-6)
        solved = shrunk[:, None] * wanted
        predicted = (turned @ solved + mean - leverage[:, None] * shares) / (1 - leverage)[:, None]
        error = float(np.mean((predicted - shares) ** 2))
        if error < least:
            least, weights, held_out = error, vectors @ solved, predicted
    return weights, mean, held_out


@dataclass
class NameAgreement:
    """Cohen's kappa of two classifications of the labelled rows with their labels, at least 0.

    Attributes
    ----------
    names : float
        Kappa of the names.
    documents : float
        Kappa of the centroids of the other labelled rows.
    right : float
        Share of the labels that the names predict correctly.
    """

    names: float
    documents: float
    right: float = 0.0

    @property
    def weight(self) -> float:
        """Share of the names in the sum of both; 0.5 if both are 0."""
        total = self.names + self.documents
        return self.names / total if total > 0 else 0.5


def compare_names(names: np.ndarray, rows: np.ndarray, codes: np.ndarray) -> NameAgreement | None:
    """Compare how well names and labelled rows predict the labels.

    The centroids of the names adapt to the centred rows without any label. The rows are compared with centroids of the
    other rows.

    Parameters
    ----------
    names : ndarray of shape (n_classes, n_features)
        Directions of the names; zeros for a name without meaning.
    rows : ndarray of shape (n_rows, n_features)
        Labelled rows.
    codes : ndarray of int of shape (n_rows,)
        Class of each row.

    Returns
    -------
    NameAgreement or None
        None if fewer than two classes have both a name and at least two rows.
    """
    both = np.asarray(names.any(axis=1)) & (np.bincount(codes, minlength=len(names)) > 1)
    if both.sum() < 2:
        return None
    kept = both[codes]
    rows = rows[kept]
    codes = (np.cumsum(both) - 1)[codes[kept]]
    answers = (rows @ settle_softly(names[both], rows)[0].T).argmax(axis=1)
    sums = np.eye(int(codes.max()) + 1)[codes].T @ rows
    return NameAgreement(
        names=beyond_chance(answers, codes),
        right=float(np.mean(answers == codes)),
        documents=beyond_chance(left_out_similarity(rows @ sums.T, sums, codes).argmax(axis=1), codes),
    )


def beyond_chance(answers: np.ndarray, codes: np.ndarray) -> float:
    """Return Cohen's kappa of two codings, at least 0.

    Parameters
    ----------
    answers, codes : ndarray of int of shape (n_rows,)

    Returns
    -------
    float
    """
    size = int(max(answers.max(), codes.max())) + 1
    joint = np.bincount(answers * size + codes, minlength=size**2).reshape(size, size) / len(codes)
    chance = float(joint.sum(axis=0) @ joint.sum(axis=1))
    return 0.0 if chance >= 1 else max(0.0, (float(np.trace(joint)) - chance) / (1 - chance))


# -- the classifier ----------------------------------------------------------------------------------------------------


class ClassNameClassifier(TransferClassifier):
    """Classify documents by names, words or labelled documents of the classes.

    Every class starts as a direction: that of its name and words, transformed by the same steps as the documents; that
    of its labelled documents, about the mean of their domain; or a mixture of both. Ten rounds assign target rows to
    classes by similarity and move the centroids towards their rows. A ridge regression then learns the assignment.

    The method assumes that the classes are the main division of the target (topics are, opinions are not) and that the
    names are words of their documents. It fails if a name means something else ("talk" for politics resembles
    conversation) or if another division of the target is stronger.

    Use it on vectors of whole documents, latent semantic vectors, or both next to each other (the method ``names``).
    Sparse rows of words are projected on their leading directions first. In a pipeline, the earlier steps transform the
    names; without a pipeline, names are looked up among the columns.

    Parameters
    ----------
    classes : sequence of str, or mapping of class to words, optional
        Names, ``"name: words"``, or ``{name: words}`` with words as one text or a list; an array is the row of its
        class. Classes of the labelled documents may be left out; other classes are added. If omitted, the classes are
        those of the labelled documents.
    feature_names : array-like of str, optional
        Names of the columns, if there is neither a pipeline nor a data frame.
    name_weight : float or "auto", default="auto"
        Share of its name in the start of a class that also has labelled documents; 0 ignores such names. "auto"
        compares how well names and documents predict the labels of the labelled documents.
    anchor_weight : float, default=0.5
        Share of its start in a centroid; with 1, centroids do not move. The share is squared for a class that only has
        a name, next to classes with labelled documents.
    sharpness : float, default=20.0
        Factor on similarities before the softmax that assigns rows to classes.
    learn : bool, default=True
        Learn the assignment with a regression; otherwise the nearest centroid decides.
    n_components : int, default=200
        Directions on which sparse rows are projected.
    max_iter : int, default=10
        Maximum number of rounds.
    tol : float, default=1e-3
        The rounds end when the mean change of a row's shares is below this value.
    random_state : int or None, default=None
        Start of the solver that finds the directions of sparse rows.

    Attributes
    ----------
    classes_, transduction_, n_iter_, history_, termination_condition_
        ``history_``: mean similarity of the target rows to the classes that they are assigned to, by round.
    named_ : list
        Classes whose names or words count.
    nameless_ : list
        Classes whose names have no meaning or no word that occurs in the rows.
    anchors_, centroids_ : ndarray of shape (n_classes, n_directions)
        First and last directions of the classes.
    agreement_ : NameAgreement or None
        Agreement of names and labelled documents with the labels; None if fewer than two classes have both.
    name_weight_ : float
        The share used for classes that also have labelled documents.
    inverse_temperature_ : float
        Factor that turns scores into log-probabilities: fitted on labelled rows, or without any, on the classes that
        the bare names predict.

    See Also
    --------
    isthmus.TransductiveCentroidClassifier : Centroids of labelled documents only.
    isthmus.ManifoldDualClassifier : Labelled words that spread over a graph of words and documents.

    References
    ----------
    M.-W. Chang, L. Ratinov, D. Roth, V. Srikumar: Importance of semantic representation: dataless classification. AAAI
    2008.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import ClassNameClassifier
    >>> words = ["ball", "match", "shares", "profit"]
    >>> rows = np.array([[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 2], [0, 0, 2, 1.0]])
    >>> model = ClassNameClassifier({"sport": "ball", "business": "shares"}, feature_names=words)
    >>> model.fit(rows, [None] * 4).transduction_.tolist()
    ['sport', 'sport', 'business', 'business']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "classes": [Mapping, "array-like", None],
        "feature_names": ["array-like", None],
        "name_weight": [SHARE, StrOptions({"auto"})],
        "anchor_weight": [SHARE],
        "sharpness": [POSITIVE],
        "learn": ["boolean"],
        "n_components": [FROM_1],
        "max_iter": [FROM_1],
        "tol": [NON_NEGATIVE],
        "random_state": ["random_state"],
    }
    history_measure = "similarity"
    _need_overlap = False

    def __init__(
        self,
        classes=None,
        *,
        feature_names=None,
        name_weight="auto",
        anchor_weight=0.5,
        sharpness=20.0,
        learn=True,
        n_components=200,
        max_iter=10,
        tol=1e-3,
        random_state=None,
    ):
        self.classes = classes
        self.feature_names = feature_names
        self.name_weight = name_weight
        self.anchor_weight = anchor_weight
        self.sharpness = sharpness
        self.learn = learn
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def read_texts(self, transform: Callable[[list[str]], Any]):
        """Store the function from texts to rows that the earlier steps have learned; a pipeline calls this.

        Parameters
        ----------
        transform : callable

        Returns
        -------
        self
        """
        self._transform = transform
        return self

    def fit(self, X, y, sample_domain=None):
        """Fit rows with labels, or only with the names of the classes.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels of the source rows; None for target rows.
        sample_domain : array-like of int of shape (n_rows,), optional
            Domain of each row.

        Returns
        -------
        self
        """
        try:
            return super().fit(X, y, sample_domain)
        finally:
            self.__dict__.pop("_transform", None)

    def _extra_classes(self):
        return None if self.classes is None else list(self._read(()))

    def _refuse_kinds(self, extras: list) -> DataError:
        return DataError(
            "The classes that are named and the labels in y are of different kinds (text and numbers, say); use one "
            "kind for both.",
            code="bad-labels",
        )

    def _read(self, known) -> dict[Any, ClassName | np.ndarray]:
        """Return the description of every given class: words, or a row."""
        given = self.classes.tolist() if isinstance(self.classes, np.ndarray) else self.classes
        if not isinstance(given, Mapping):
            return dict(read_classes(given, known))
        rows = {name: row for name, row in given.items() if isinstance(row, np.ndarray) and row.dtype.kind in "fiu"}
        words = {name: text for name, text in given.items() if name not in rows}
        return {**read_classes(words, known), **rows}

    def _fit(self, domains: Domains) -> None:
        self.components_ = None
        if sp.issparse(domains.X):  # dense rows keep their columns
            size = max(1, min(self.n_components, domains.X.shape[0] - 1, domains.X.shape[1]))
            self.components_ = leading_directions(domains.X, size, self.random_state)[0]
        target = domains.target if len(domains.target) else domains.source
        rows, self.mean_ = centred_rows(domains.X[target], self.components_)
        parts = [np.zeros((0, len(self.mean_)))]
        part_codes = [np.zeros(0, dtype=np.int64)]
        for number in domains.source_domains:
            own = domains.source[domains.domain[domains.source] == number]
            parts.append(centred_rows(domains.X[own], self.components_)[0])
            part_codes.append(domains.codes[own])
        labelled, codes = np.vstack(parts), np.concatenate(part_codes)
        self.anchors_ = self._find_anchors(domains.classes.tolist(), labelled, codes)
        anchor_weight: Any = self.anchor_weight
        shown = np.bincount(codes, minlength=len(self.anchors_)) > 0
        if shown.any() and not shown.all():
            # A name has few words and is farther from its documents than labelled documents are.
            anchor_weight = np.where(shown, anchor_weight, anchor_weight**2)[:, None]
        settings: dict[str, Any] = {"sharpness": self.sharpness, "max_iter": self.max_iter, "tol": self.tol}
        found = settle_softly(self.anchors_, rows, anchor_weight=anchor_weight, **settings)
        self.centroids_, self.history_, converged = found
        self.n_iter_ = len(self.history_)
        self.termination_condition_ = "settled" if converged else "max_iter"
        described = self.anchors_.any(axis=1)
        never = ~described & described.any()
        self._weights = self.centroids_.T
        self._intercepts = np.where(never, _NEVER, 0.0)
        scores = rows @ self._weights + self._intercepts
        if self.learn and len(domains.target) >= _LEARN_FROM:
            self._weights, intercepts, scores = learn_shares(rows, softmax(_SURE * scores))
            self._intercepts = np.where(never, _NEVER, intercepts)
            scores = np.where(never, _NEVER, scores)
        if len(np.unique(codes)) > 1:
            self.inverse_temperature_ = fit_temperature(labelled @ self._weights + self._intercepts, codes)
        else:
            # The regression repeats the last assignment almost perfectly, right or wrong. The bare names are an
            # independent reference.
            by_names = np.where(never, _NEVER, rows @ self.anchors_.T)
            self.inverse_temperature_ = fit_temperature(scores, by_names.argmax(axis=1))

    def _find_anchors(self, classes: list, labelled: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the first direction of each class: of its name, of its labelled rows, or of both."""
        names = self._name_directions(classes)
        documents = unit_rows(np.eye(len(classes))[codes].T @ labelled)
        named = np.asarray(names.any(axis=1))
        self.named_ = [label for label, has in zip(classes, named, strict=True) if has]
        self.nameless_ = [label for label, has in zip(classes, named, strict=True) if not has]
        self.agreement_ = compare_names(names, labelled, codes)
        self.name_weight_ = self.name_weight
        if self.name_weight == "auto":
            self.name_weight_ = 0.5 if self.agreement_ is None else self.agreement_.weight
        weight = np.where(named & documents.any(axis=1), self.name_weight_, named.astype(float))[:, None]
        known = named | (np.bincount(codes, minlength=len(classes)) > 0)
        unknown = [label for label, has in zip(classes, known, strict=True) if not has]
        if len(unknown) == len(classes):
            raise DataError(
                f"Neither the name of the class {unknown[0]!r} nor that of any other holds a word that the documents "
                "know, and no document is labelled; describe the classes by words, as in 'business: shares, market'.",
                code="empty-class",
            )
        if unknown:
            warn(
                f"Nothing is known about the class {unknown[0]!r}"
                f"{'' if len(unknown) == 1 else f' and {len(unknown) - 1} more'}: its name holds no word that the "
                "documents know, and no document carries its label; no document will get it. Describe it by words, "
                "as in 'business: shares, market'.",
                code="unknown-words",
            )
        return unit_rows(weight * names + (1 - weight) * documents)

    def _name_directions(self, classes: list) -> np.ndarray:
        """Return the directions of the names about their mean; zeros for names without meaning."""
        given = self._read([label for label in classes if isinstance(label, str)])
        texts: dict[int, str] = {}
        rows: dict[int, Any] = {}
        for code, label in enumerate(classes):
            one = given.get(label)
            if isinstance(one, np.ndarray):
                if one.shape != (self.n_features_in_,) or not np.isfinite(one).all():
                    raise UsageError(
                        f"The class {label!r} is given by an array of shape {one.shape}; {self.n_features_in_} finite "
                        "numbers are expected, one per column.",
                        code="length-mismatch",
                    )
                rows[code] = one[None, :].astype(np.float64)
            elif one is not None and one.text:
                texts[code] = one.text
        if texts:
            read = self._name_rows(list(texts.values()))
            rows |= {code: read[[place]] for place, code in enumerate(texts)}
        found = np.zeros((len(classes), len(self.mean_)))
        for code, row in rows.items():
            found[code] = self._project(row)[0]
        named = found.any(axis=1)
        # The mean of all names distinguishes no class. A single name is compared with the documents instead.
        found[named] -= found[named].mean(axis=0) if named.sum() > 1 else self.mean_
        return unit_rows(found)

    def _name_rows(self, texts: list[str]) -> Any:
        """Return rows of names: by the steps of the pipeline, by the names of the columns, or zeros."""
        transform = getattr(self, "_transform", None)
        if transform is not None:
            try:
                return transform(texts)
            except IsthmusError as error:
                if error.code != "missing-vectors":  # a caller gives vectors of documents only
                    raise
        columns = self.feature_names if self.feature_names is not None else getattr(self, "feature_names_in_", [])
        index = {str(name).casefold(): column for column, name in enumerate(columns)}
        rows = np.zeros((len(texts), self.n_features_in_))
        for place, text in enumerate(texts):
            rows[place, [index[word] for word in tokenize_words(text) if word in index]] = 1.0
        return rows

    def _project(self, X: Any) -> np.ndarray:
        return unit_rows(np.asarray(X if self.components_ is None else X @ self.components_, dtype=np.float64))

    def prediction_rule(self) -> NamesRule:
        """Return the rule that scores documents; see ``isthmus.classify.rules``.

        Returns
        -------
        NamesRule
        """
        return NamesRule(self.components_, self.mean_, self._weights, self._intercepts, self.inverse_temperature_)

    def term_contributions(self, row) -> dict[int, np.ndarray]:
        """Return the contribution of each column to the scores of a row; see :class:`isthmus.explain.Accountable`.

        Parameters
        ----------
        row : sparse matrix of shape (1, n_features)

        Returns
        -------
        dict of int to ndarray of shape (n_classes,)
        """
        return self.prediction_rule().term_contributions(row)
