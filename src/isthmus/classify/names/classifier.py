"""Classes given by their names, with or without labelled documents. The arithmetic is in ``settling``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.calibration import fit_temperature
from isthmus._math.rows import unit_rows
from isthmus._parameters import FROM_1, NON_NEGATIVE, POSITIVE, SHARE, StrOptions, parameter, parameters
from isthmus._utils import warn
from isthmus.base import Domains, TransferClassifier, softmax
from isthmus.classify.names.settling import compare_names, learn_shares, settle_softly
from isthmus.classify.rules import NamesRule, centred_rows
from isthmus.exceptions import DataError, IsthmusError, UsageError
from isthmus.features.class_names import ClassName, read_classes
from isthmus.features.latent import leading_directions
from isthmus.features.tokens import tokenize_words

_LEARN_FROM = 10  # target rows; fewer are labelled by the settled centroids alone
_NEVER = -2.0  # score of a class of which nothing is known; similarities reach from -1 to 1
_SURE = 20.0  # factor on similarities that makes the shares from which the last step learns


@parameters
class ClassNameClassifier(TransferClassifier):
    """Classes given by their names, by words or by labelled documents, which settle among the target's documents.

    Every class starts as a direction: that of its name and words, read as a text by the same steps as the documents;
    that of its labelled documents, about the mean of their domain; or both together. Target rows are shared among the
    classes by similarity, the centroids move towards their rows, ten times; then a ridge regression learns the shares,
    and every target row gets the class that the regression without this row gives it.

    It assumes that the classes are what mainly divides the target (topics are, verdicts are not) and that the names
    are words that belong to their documents. It fails where a name means something else ("talk" for politics is read
    as conversation) and where the target is divided more strongly by something that the names also touch.

    Meant for vectors of whole documents, latent semantic ones, or both next to each other (the recipe ``names``).
    Sparse rows of words are taken along their leading directions first. In a pipeline the steps before it read the
    names; without one, names are looked up among the columns.

    Parameters
    ----------
    classes : sequence of str, or mapping of class to words, optional
        Names, ``"name: words"``, or ``{name: words}`` with words as one text or a list; an array is taken as the row of
        its class. Classes of the labelled documents need not be given; further ones are added. If omitted, the classes
        are those of the labelled documents.
    feature_names : array-like of str, optional
        Names of the columns, where there is neither a pipeline nor a data frame.
    name_weight : float or "auto", default="auto"
        Share of its name in the start of a class that also has labelled documents; 0: such names count for nothing.
        "auto": how well the names alone tell the labelled documents apart, against how well these tell each other.
    anchor_weight : float, default=0.5
        Share of its start in a centroid; 1: centroids do not move. Squared for a class that only has a name beside
        classes with labelled documents.
    sharpness : float, default=20.0
        How sharply rows are shared among classes.
    learn : bool, default=True
        Whether the shares are learned at the end; otherwise the nearest centroid decides.
    n_components : int, default=200
        Directions along which sparse rows are taken.
    max_iter : int, default=10
        Most rounds.
    tol : float, default=1e-3
        Mean change of a row's shares at which the rounds end.
    random_state : int or None, default=None
        Start of the solver that finds the directions of sparse rows.

    Attributes
    ----------
    classes_, transduction_, n_iter_, history_, termination_condition_
        ``history_``: mean similarity of the target rows to the classes they are shared among, round by round.
    named_ : list
        Classes whose names or words count.
    nameless_ : list
        Classes whose names mean nothing, or hold no word that the rows know.
    anchors_, centroids_ : ndarray of shape (n_classes, n_directions)
        Directions at which the classes started, and where they came to rest.
    agreement_ : NameAgreement or None
        How well the names alone, and the labelled documents, tell the labelled documents apart; None where fewer than
        two classes have both.
    name_weight_ : float
        The share that names had where a class also has labelled documents.
    inverse_temperature_ : float
        Factor that turns scores into log-probabilities: from labelled rows where there are some, and otherwise from how
        often the scores give the class that the names gave before they settled.

    See Also
    --------
    isthmus.TransductiveCentroidClassifier : Centroids of labelled documents alone.
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

    classes: Any = parameter(Mapping, "array-like", None, default=None, positional=True)
    feature_names: Any = parameter("array-like", None, default=None)
    name_weight: float | str = parameter(SHARE, StrOptions({"auto"}), default="auto")
    anchor_weight: float = parameter(SHARE, default=0.5)
    sharpness: float = parameter(POSITIVE, default=20.0)
    learn: bool = parameter("boolean", default=True)
    n_components: int = parameter(FROM_1, default=200)
    max_iter: int = parameter(FROM_1, default=10)
    tol: float = parameter(NON_NEGATIVE, default=1e-3)
    random_state: Any = parameter("random_state", default=None)
    history_measure = "similarity"
    _need_overlap = False

    def read_texts(self, transform: Callable[[list[str]], Any]):
        """Take the way from texts to rows that the steps before this one have learned (a pipeline calls this)."""
        self._transform = transform
        return self

    def fit(self, X, y, sample_domain=None):
        try:
            return super().fit(X, y, sample_domain)
        finally:
            self.__dict__.pop("_transform", None)

    # -- fitting -----------------------------------------------------------------------------------------------------

    def _extra_classes(self):
        if self.classes is None:
            return None
        return list(self._read(()))

    def _refuse_kinds(self, extras: list) -> DataError:
        return DataError(
            "The classes that are named and the labels in y are of different kinds (text and numbers, say); use one "
            "kind for both.",
            code="bad-labels",
        )

    def _read(self, known) -> dict[Any, ClassName | np.ndarray]:
        """Every class as it was given: by words, or by a row."""
        given = self.classes
        if isinstance(given, np.ndarray):
            given = given.tolist()
        if not isinstance(given, Mapping):
            return dict(read_classes(given, known))
        rows = {name: row for name, row in given.items() if isinstance(row, np.ndarray) and row.dtype.kind in "fiu"}
        words = {name: text for name, text in given.items() if name not in rows}
        return {**read_classes(words, known), **rows}

    def _fit(self, domains: Domains) -> np.ndarray:
        self.components_ = None
        if sp.issparse(domains.X):  # dense rows are taken along their columns
            size = max(1, min(self.n_components, domains.X.shape[0] - 1, domains.X.shape[1]))
            self.components_ = leading_directions(domains.X, size, self.random_state)[0]
        target = domains.target if len(domains.target) else domains.source
        rows, self.mean_ = centred_rows(domains.X[target], self.components_)
        labelled, codes = self._labelled_rows(domains)
        self.anchors_ = self._find_anchors(domains.classes.tolist(), labelled, codes)
        settled = settle_softly(
            self.anchors_,
            rows,
            anchor_weight=self._anchor_weights(codes),
            sharpness=self.sharpness,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.centroids_ = settled.centroids
        self.history_ = settled.history
        self.n_iter_ = len(settled.history)
        self.termination_condition_ = "settled" if settled.converged else "max_iter"
        self._weights = self.centroids_.T
        described = self.anchors_.any(axis=1)
        self._intercepts = np.where(described | ~described.any(), 0.0, _NEVER)
        scores = settled.similarity + self._intercepts
        if self.learn and len(domains.target) >= _LEARN_FROM:
            scores = self._learn(rows, scores)
        self.inverse_temperature_ = self._fit_temperature(labelled, codes, scores, rows)
        self._target_scores = (
            self.inverse_temperature_ * domains.restore_targets(scores) if len(domains.target) else None
        )
        return scores.argmax(axis=1)

    def _anchor_weights(self, codes: np.ndarray) -> float | np.ndarray:
        """Share of its start in each centroid: squared for a class without documents beside others that have some.

        A name is a few words and lies further from where its documents are than labelled documents do.
        """
        shown = np.bincount(codes, minlength=len(self.anchors_)) > 0
        if shown.all() or not shown.any():
            return self.anchor_weight
        return np.where(shown, self.anchor_weight, self.anchor_weight**2)[:, None]

    def _project(self, X: Any) -> np.ndarray:
        rows = X if self.components_ is None else X @ self.components_
        return unit_rows(np.asarray(rows, dtype=np.float64))

    def _labelled_rows(self, domains: Domains) -> tuple[np.ndarray, np.ndarray]:
        parts = [np.zeros((0, len(self.mean_)))]
        codes = [np.zeros(0, dtype=np.int64)]
        for number in domains.source_domains:
            own = domains.source[domains.domain[domains.source] == number]
            parts.append(centred_rows(domains.X[own], self.components_)[0])
            codes.append(domains.codes[own])
        return np.vstack(parts), np.concatenate(codes)

    def _find_anchors(self, classes: list, labelled: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Direction at which each class starts: of its name, of its labelled rows, or of both."""
        names = self._name_directions(classes)
        documents = unit_rows(np.eye(len(classes))[codes].T @ labelled)
        named = np.asarray(names.any(axis=1))
        shown = np.asarray(documents.any(axis=1))
        self.named_ = [label for label, has in zip(classes, named, strict=True) if has]
        self.nameless_ = [label for label, has in zip(classes, named, strict=True) if not has]
        self.agreement_ = compare_names(names, labelled, codes)
        self.name_weight_ = self.name_weight
        if self.name_weight == "auto":
            self.name_weight_ = 0.5 if self.agreement_ is None else self.agreement_.weight
        weight = np.where(named & shown, self.name_weight_, named.astype(float))[:, None]
        labelled_at_all = np.bincount(codes, minlength=len(classes)) > 0
        unknown = [label for label, has in zip(classes, named | labelled_at_all, strict=True) if not has]
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
        """Directions of the names that mean something, about their own mean; zeros for the others."""
        found = np.zeros((len(classes), len(self.mean_)))
        for code, row in self._name_rows(classes).items():
            found[code] = self._project(row)[0]
        named = found.any(axis=1)
        # What all names share tells none of them apart. A single name has nothing to be compared with but documents.
        found[named] -= found[named].mean(axis=0) if named.sum() > 1 else self.mean_
        return unit_rows(found)

    def _name_rows(self, classes: list) -> dict[int, Any]:
        given = self._read([label for label in classes if isinstance(label, str)])
        texts = {}
        rows: dict[int, Any] = {}
        for code, label in enumerate(classes):
            one = given.get(label)
            if isinstance(one, np.ndarray):
                rows[code] = self._check_row(label, one)
            elif one is not None and one.text:
                texts[code] = one.text
        if texts:
            read = self._read_texts(list(texts.values()))
            rows |= {code: read[[place]] for place, code in enumerate(texts)}
        return rows

    def _check_row(self, label: Any, row: np.ndarray) -> np.ndarray:
        if row.shape != (self.n_features_in_,) or not np.isfinite(row).all():
            raise UsageError(
                f"The class {label!r} is given by an array of shape {row.shape}; {self.n_features_in_} finite numbers "
                "are expected, one per column.",
                code="length-mismatch",
            )
        return row[None, :].astype(np.float64)

    def _read_texts(self, texts: list[str]) -> Any:
        """Rows of names: by the steps of the pipeline, by the names of the columns, or zeros."""
        transform = getattr(self, "_transform", None)
        if transform is not None:
            try:
                return transform(texts)
            except IsthmusError as error:
                if error.code != "missing-vectors":  # vectors that were given exist for documents alone
                    raise
        columns = self.feature_names if self.feature_names is not None else getattr(self, "feature_names_in_", [])
        index = {str(name).casefold(): column for column, name in enumerate(columns)}
        rows = np.zeros((len(texts), self.n_features_in_))
        for place, text in enumerate(texts):
            found = [index[word] for word in tokenize_words(text) if word in index]
            rows[place, found] = 1.0
        return rows

    def _learn(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Learn the shares from the rows; scores of every row by the model without it."""
        learned = learn_shares(rows, softmax(_SURE * scores))
        unknown = self._intercepts < 0
        self._weights = learned.weights
        self._intercepts = np.where(unknown, _NEVER, learned.intercepts)
        return np.where(unknown, _NEVER, learned.held_out)

    def _fit_temperature(self, labelled, codes, scores, rows) -> float:
        if len(np.unique(codes)) > 1:
            return fit_temperature(labelled @ self._weights + self._intercepts, codes)
        # What has settled can be learned almost perfectly, right or wrong; the bare names are a second opinion.
        by_names = np.where(self._intercepts <= _NEVER, _NEVER, rows @ self.anchors_.T)
        return fit_temperature(scores, by_names.argmax(axis=1))

    # -- new documents -----------------------------------------------------------------------------------------------

    def prediction_rule(self) -> NamesRule:
        """What labels new documents; see ``isthmus.classify.rules``."""
        learned = self._weights, self._intercepts, self.inverse_temperature_
        return NamesRule(self.components_, self.mean_, *learned)

    def target_proba(self, X):
        """Probabilities of the fitted target rows ``X``, in their order, each by the model without that row."""
        known = self._target_scores
        if known is None or len(known) != X.shape[0]:
            return self.predict_proba(X)
        return softmax(known)

    def term_contributions(self, row) -> dict[int, np.ndarray]:
        """What each column of one row adds to the score of each class; see :class:`isthmus.explain.Accountable`."""
        row = sp.csr_matrix(row)
        weights = self._weights if self.components_ is None else self.components_ @ self._weights
        length = np.linalg.norm(self._project(row if self.components_ is not None else row.toarray()))
        raw = row.toarray() if self.components_ is None else row @ self.components_
        size = max(float(np.linalg.norm(raw)), 1e-12)
        about = max(float(np.linalg.norm(raw / size - self.mean_)), 1e-12) if length else 1.0
        scale = self.inverse_temperature_ / (size * about)
        weights = weights - weights.mean(axis=1, keepdims=True)  # only differences between classes decide
        return {
            int(column): scale * value * weights[column] for column, value in zip(row.indices, row.data, strict=True)
        }
