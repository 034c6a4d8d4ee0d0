"""What the two dual-supervision classifiers share: labels of both sides, kernels, the choice of solver, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isthmus._parameters import FROM_1, POSITIVE, StrOptions, parameter, parameters
from isthmus._utils import as_python, warn
from isthmus.base import Domains, TransferClassifier, softmax
from isthmus.classify.dual.kernels import Kernel, Predictor, make_kernel
from isthmus.classify.rules import DualRule, comparable
from isthmus.exceptions import DataError, UsageError
from isthmus.features.tokens import NEGATED

# -- Labelled words: reading them, and finding their columns


Weights = dict[Any, float]


@dataclass
class WordLabels:
    # weight of each class for each labelled column; a negative weight speaks against the class
    columns: dict[int, Weights]
    unknown: list = field(default_factory=list)  # labelled words that no document holds
    # columns on which several labelled words meet (they share a stem) that name different classes
    contested: list[int] = field(default_factory=list)
    given: int = 0  # how many words were labelled


def read_word_labels(word_labels: Mapping | None) -> dict[Any, Weights]:
    """Every accepted form of ``word_labels`` as word → {class: weight}; refuses contradictions."""
    if word_labels is None:
        return {}
    if not isinstance(word_labels, Mapping):
        raise UsageError(
            f"word_labels is {type(word_labels).__name__}; a mapping is expected: word or column number to a class, "
            "or to {class: weight}.",
            code="bad-word-labels",
        )
    read: dict[Any, Weights] = {}
    spelled: dict[Any, Any] = {}
    for word, given in word_labels.items():
        if not isinstance(word, (str, Integral)) or isinstance(word, bool):
            raise UsageError(
                f"word_labels has the key {word!r}; keys are words (str) or column numbers.", code="bad-word-labels"
            )
        weights = _read_weights(word, given)
        key = word.strip().casefold() if isinstance(word, str) else int(word)
        if key in spelled and read[spelled[key]] != weights:
            raise _contradiction(word, [*read[spelled[key]], *weights])
        spelled.setdefault(key, word)
        read[word] = weights
    return read


def _read_weights(word: Any, given: Any) -> Weights:
    pairs = dict(given) if isinstance(given, Mapping) else {given: 1.0}
    for label, weight in pairs.items():
        if label is None or (isinstance(label, float) and np.isnan(label)):
            raise UsageError(f"The labelled word {word!r} has no class; name one.", code="bad-word-labels")
        if isinstance(weight, bool) or not isinstance(weight, Real) or not np.isfinite(float(weight)):
            raise UsageError(
                f"The labelled word {word!r} has weight {weight!r} for class {label!r}; a finite number is expected, "
                "negative if the word speaks against the class.",
                code="bad-word-labels",
            )
    full = [label for label, weight in pairs.items() if weight >= 1]
    if len(full) > 1:
        raise _contradiction(word, full)
    return {label: float(weight) for label, weight in pairs.items() if weight != 0}


def _contradiction(word: Any, labels: Iterable) -> DataError:
    names = ", ".join(dict.fromkeys(repr(label) for label in labels))
    return DataError(
        f"The word {word!r} is labelled in contradictory ways ({names}); keep one label, or give weights below 1.",
        code="bad-word-labels",
    )


def classes_of(word_labels: Mapping | None) -> list:
    return list(dict.fromkeys(label for weights in read_word_labels(word_labels).values() for label in weights))


def place_words(
    word_labels: Mapping | None, n_columns: int, names: Sequence[str] | None, terms: Mapping[str, str | None] | None
) -> WordLabels:
    """The column of every labelled word; weights of words that share a column are averaged.

    ``terms`` leads from a written word to the column name that stands for it (its stem, say).
    """
    index = {} if names is None else {str(name): column for column, name in enumerate(names)}
    placed: dict[int, list[Weights]] = {}
    unknown = []
    given = read_word_labels(word_labels)
    for word, weights in given.items():
        if isinstance(word, str):
            if names is None:
                raise UsageError(
                    f"word_labels names words such as {word!r}, but the columns have no names; give feature_names, a "
                    "data frame, or column numbers instead of words.",
                    code="bad-word-labels",
                )
            column = index.get(word if terms is None else terms.get(word) or "", -1)
        else:
            column = int(word)
        if weights and 0 <= column < n_columns:
            placed.setdefault(column, []).append(weights)
        elif weights:
            unknown.append(word)
    columns = {column: _average(several) for column, several in sorted(placed.items())}
    contested = [column for column, several in sorted(placed.items()) if len({_side(one) for one in several}) > 1]
    return WordLabels(columns, unknown, contested, len(given))


def label_negations(columns: Mapping[int, Weights], names: Any, classes: Sequence) -> dict[int, Weights]:
    """Labelled columns with those of the same words negated, where the vectoriser counts these apart.

    Negated, a word speaks for the other of two classes, and against its own of several.
    """
    index = {str(name): column for column, name in enumerate(names)}
    other = dict(zip(classes, reversed(classes), strict=True)) if len(classes) == 2 else {}
    found = {}
    for column, weights in columns.items():
        negated = index.get(f"{NEGATED}{names[column]}")
        if negated is not None and negated not in columns:
            found[negated] = {
                other.get(label, label): weight if label in other else -weight for label, weight in weights.items()
            }
    return dict(sorted({**columns, **found}.items()))


def _average(several: list[Weights]) -> Weights:
    labels = dict.fromkeys(label for weights in several for label in weights)
    return {label: sum(weights.get(label, 0.0) for weights in several) / len(several) for label in labels}


def _side(weights: Weights) -> tuple:
    label = max(weights, key=lambda name: abs(weights[name]))
    return label, weights[label] > 0


def find_terms(words: Iterable, analyze: Callable[[str], Sequence[str]]) -> dict[str, str | None]:
    """The term a vectoriser makes of each written word; None where it makes none, or several that do not join.

    A phrase is found where the vectoriser counts word sequences of its length, or that phrase (``phrases``).
    """
    found: dict[str, str | None] = {}
    for word in words:
        if not isinstance(word, str):
            continue
        terms = list(analyze(word))
        longest = max(terms, key=len, default=None)
        whole = sum(" " not in term for term in terms) <= (longest or "").count(" ") + 1
        found[word] = longest if whole else None
    return found


KERNELS = {"gaussian", "linear", "cosine"}
DIRECT_UP_TO = 1500  # documents + words: below, LU is as fast as conjugate gradients and exact


@dataclass
class Sides:
    """Matrix, targets ``Y`` and label weights ``J`` of rows and of columns, and their kernels."""

    X: sp.csr_matrix
    row_targets: np.ndarray
    row_weights: np.ndarray
    column_targets: np.ndarray
    column_weights: np.ndarray
    row_kernel: Kernel
    column_kernel: Kernel


@parameters
class DualClassifier(TransferClassifier):
    """Base of the classifiers that learn from labelled documents and labelled words."""

    _row_kind = "counts"
    word_labels: Mapping | None = parameter(Mapping, None, default=None)
    feature_names: Any = parameter("array-like", None, default=None)
    kernel: str = parameter(StrOptions(KERNELS), default="gaussian")
    word_kernel: str | None = parameter(StrOptions(KERNELS), None, default=None)
    width: float | None = parameter(POSITIVE, None, default=None)
    word_width: float | None = parameter(POSITIVE, None, default=None)
    gamma: float = parameter(POSITIVE, default=0.3)
    word_gamma: float | None = parameter(POSITIVE, None, default=None)
    mu: float = parameter(POSITIVE, default=3.0)
    class_normalisation: str | None = parameter(StrOptions({"both", "labels", "scores"}), None, default="both")
    solver: str = parameter(StrOptions({"auto", "direct", "cg"}), default="auto")
    tol: float = parameter(POSITIVE, default=1e-6)
    max_iter: int = parameter(FROM_1, default=2000)
    max_exact: int = parameter(FROM_1, default=4000)
    n_landmarks: int = parameter(FROM_1, default=500)
    random_state: Any = parameter("random_state", default=None)

    def _refuse_kinds(self, extras: list) -> DataError:
        return DataError(
            f"word_labels names classes such as {extras[0]!r} ({type(extras[0]).__name__}), which are of another kind "
            "than the labels in y; use one kind for both.",
            code="bad-word-labels",
        )

    def read_names(self, vectorizer: Any):
        """Take column names from a fitted vectoriser, and its reading of the labelled words (a pipeline calls this)."""
        names = np.asarray(vectorizer.get_feature_names_out(), dtype=object)
        analyze = vectorizer.analyze if hasattr(vectorizer, "analyze") else vectorizer.build_analyzer()
        self._pipeline_names = (names, find_terms(self.word_labels or {}, analyze))
        return self

    def predict_words(self, columns):
        """Class of each new word, given its weights in the documents the model was fitted on, in their order."""
        check_is_fitted(self)
        columns = sp.csr_matrix(columns, dtype=np.float64)
        if columns.shape[1] != self.document_scores_.shape[0]:
            raise DataError(
                f"Each new word has {columns.shape[1]} weights; {self.document_scores_.shape[0]} are expected, one per "
                "document of the fit.",
                code="length-mismatch",
            )
        scores = self._word_function(columns[:, self._row_order])
        return self._word_class_names()[comparable(scores, self._word_moments).argmax(axis=1)]

    def suggest_words(self, n_words=20):
        """Unlabelled words worth labelling next, by how many target documents they touch and how unsure their class is.

        ``expected_use`` of a row is its ``target_documents`` times the chance that the ``likely`` class is wrong.
        """
        check_is_fitted(self)
        rows = self.fitted_rows_[self._target] if len(self._target) else self.fitted_rows_
        holds = np.bincount(rows.indices[rows.data > 0], minlength=rows.shape[1])
        chances = word_chances(self.word_scores_)
        use = holds * (1.0 - chances.max(axis=1))
        use[self.labelled_words_] = 0.0
        names = self._word_class_names()
        order = np.argsort(-use, kind="stable")[: min(n_words, int((use > 0).sum()))]
        return [
            {
                "word": as_python(self.word_names_[column]),
                "column": int(column),
                "likely": as_python(names[chances[column].argmax()]),
                "sureness": float(chances[column].max()),
                "target_documents": int(holds[column]),
                "expected_use": float(use[column]),
            }
            for column in order
        ]

    # -- fitting -----------------------------------------------------------------------------------------------------

    def _extra_classes(self):
        return classes_of(self.word_labels)

    def _word_class_names(self) -> np.ndarray:
        return self.classes_

    def _open_sides(self, domains: Domains, word_classes: np.ndarray) -> Sides:
        """Targets and weights of both sides, kernels over both, and the solver that suits their size."""
        X = sp.csr_matrix(domains.X)
        n, d = X.shape
        row_targets = np.zeros((n, domains.n_classes))
        row_targets[domains.source, domains.source_codes] = 1.0
        row_weights = np.zeros(n)
        row_weights[domains.source] = 1.0
        column_targets, column_weights = self._word_targets(d, word_classes)
        if not row_weights.any() and not column_weights.any():
            raise DataError(
                f"No document is labelled and none of the {len(self.unknown_words_)} labelled words occurs in the "
                f"documents (for example {self.unknown_words_[0]!r}); label words that occur.",
                code="no-labels",
            )
        self._warn_of_bare_classes(domains)
        if self.class_normalisation in ("labels", "both"):
            row_weights = balance(row_targets, row_weights)
            column_weights = balance(column_targets, column_weights)
        rng = check_random_state(self.random_state)
        row_kernel, column_kernel = self._open_kernels(X, self.width, self.word_width, rng)
        self.kernels_ = {"documents": describe(row_kernel), "words": describe(column_kernel)}
        if not (row_kernel.exact and column_kernel.exact):
            warn(
                f"{n} documents × {d} words: the Gaussian kernel over more than {self.max_exact} of either is "
                f"approximated through {self.n_landmarks} of them (max_exact, n_landmarks); linear and cosine kernels "
                "are exact.",
                code="approximation",
            )
        self.solver_ = self.solver if self.solver != "auto" else ("direct" if n + d <= DIRECT_UP_TO else "cg")
        return Sides(X, row_targets, row_weights, column_targets, column_weights, row_kernel, column_kernel)

    def _open_kernels(self, X: sp.csr_matrix, width: Any, word_width: Any, rng: Any) -> tuple[Kernel, Kernel]:
        quantile = 1.0 / len(self.classes_)
        settings = {"quantile": quantile, "max_exact": self.max_exact, "n_landmarks": self.n_landmarks, "rng": rng}
        rows = make_kernel(self.kernel, X, width=width, **settings)
        return rows, make_kernel(self.word_kernel or self.kernel, X.T.tocsr(), width=word_width, **settings)

    def _names(self, d: int) -> tuple[Any, Any]:
        """Column names, and the terms that labelled words become, where a pipeline handed them over."""
        handed = getattr(self, "_pipeline_names", None)
        if handed is not None and len(handed[0]) == d:
            return handed
        names = self.feature_names if self.feature_names is not None else getattr(self, "feature_names_in_", None)
        if names is not None and len(names) != d:
            raise UsageError(f"feature_names has {len(names)} names for {d} columns.", code="length-mismatch")
        return names, None

    def _word_targets(self, d: int, word_classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        names, terms = self._names(d)
        placed = place_words(self.word_labels, d, names, terms)
        self.word_names_ = np.arange(d) if names is None else np.asarray(names, dtype=object)
        if names is not None:
            placed.columns = label_negations(placed.columns, self.word_names_, word_classes.tolist())
        self.labelled_words_ = np.array(list(placed.columns), dtype=np.int64)
        self.unknown_words_, self.contested_words_ = placed.unknown, placed.contested
        if placed.unknown:
            shown = ", ".join(repr(word) for word in placed.unknown[:5])
            more = f" and {len(placed.unknown) - 5} more" if len(placed.unknown) > 5 else ""
            warn(
                f"{len(placed.unknown)} of {placed.given} labelled words occur in no document ({shown}{more}); they "
                "are kept for later documents.",
                code="unknown-words",
            )
        place = {label: code for code, label in enumerate(word_classes.tolist())}
        targets, weights = np.zeros((d, len(word_classes))), np.zeros(d)
        for column, given in placed.columns.items():
            for label, weight in given.items():
                if label not in place:
                    raise DataError(
                        f"The word {self.word_names_[column]!r} is labelled {label!r}, which is not a word class; use "
                        f"one of {', '.join(map(repr, place))}.",
                        code="bad-word-labels",
                    )
                targets[column, place[label]] = weight
            # J·Y is then the weights as given: their sizes say how firmly the label is held, their shares what it says.
            weights[column] = np.abs(targets[column]).sum()
            if weights[column] > 0:
                targets[column] /= weights[column]
        return targets, weights

    def _warn_of_bare_classes(self, domains: Domains):
        seen = np.unique(domains.source_codes)
        bare = [repr(label) for code, label in enumerate(domains.classes.tolist()) if code not in seen]
        if len(seen) and bare:
            warn(
                f"Labelled words name {', '.join(bare)}, of which no document is labelled; that class rests on its "
                "words alone. Check the spelling if that is not meant.",
                code="data-checks",
            )

    def _finish(self, domains: Domains, sides: Sides, rows: np.ndarray, columns: np.ndarray, functions) -> np.ndarray:
        """Store scores and prediction functions; class codes of the target rows."""
        self._document_function: Predictor = functions[0]
        self._word_function: Predictor = functions[1]
        free = np.flatnonzero(sides.row_weights == 0)
        # Scores are compared where labels are missing; a handful of rows is no sample to take means of.
        chosen = free if len(free) >= 10 * rows.shape[1] else np.arange(len(rows))
        scale = self.class_normalisation in ("scores", "both")
        self._document_moments = moments(rows[chosen], scale)
        self._word_moments = moments(columns[sides.column_weights == 0], scale)
        self.document_scores_ = comparable(rows, self._document_moments)
        self.word_scores_ = comparable(columns, self._word_moments)
        self._sharpness = 2.0 / max(mean_margin(self.document_scores_[chosen]), 1e-12)
        codes = self.word_scores_.argmax(axis=1)
        said = (sides.column_targets > 0).any(axis=1)
        codes[said] = sides.column_targets[said].argmax(axis=1)
        self.word_transduction_ = self._word_class_names()[codes]
        codes = self.document_scores_[domains.target].argmax(axis=1)
        self.fitted_rows_, self._target = sides.X, domains.target  # sorted by content, as the problem was solved
        self._row_order = domains.order
        self.document_scores_ = domains.restore_rows(self.document_scores_)
        return codes

    def _scores(self, X) -> np.ndarray:
        return self._sharpness * comparable(self._document_function(sp.csr_matrix(X)), self._document_moments)

    def prediction_rule(self) -> DualRule | None:
        """What labels new documents; see ``isthmus.classify.rules``. None for a Gaussian kernel, which keeps rows."""
        known = self._document_function
        if known.centres is not None:
            return None
        return DualRule(known.weights, known.unit, self._document_moments, self._sharpness, self.labelled_words_)


def balance(targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Label weights rescaled so that each labelled class has the same sum; their total stays."""
    mass = (weights[:, None] * np.maximum(targets, 0.0)).sum(axis=0)
    named = mass > 0
    if not named.any():
        return weights
    factor = np.ones(len(mass))
    factor[named] = mass.sum() / named.sum() / mass[named]
    share = np.maximum(targets, 0.0)
    total = share.sum(axis=1)
    return np.where(total > 0, weights * (share @ factor) / np.where(total > 0, total, 1.0), weights)


def moments(values: np.ndarray, wanted: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each class's scores (Huang and Kecman 2004), or 0 and 1 where no scaling is wanted."""
    m = values.shape[1]
    if not wanted or len(values) < 2:
        return np.zeros(m), np.ones(m)
    deviation = values.std(axis=0)
    # A class that no label reaches has the same score everywhere; leave it there.
    flat = deviation <= 1e-12 * max(float(np.abs(values).max()), 1e-300)
    return values.mean(axis=0), np.where(flat, 1.0, deviation)


def mean_margin(scores: np.ndarray) -> float:
    """Mean distance between the best and the second-best class."""
    top = np.sort(scores, axis=1)[:, -2:]
    return float(np.mean(top[:, 1] - top[:, 0])) if len(top) else 1.0


def word_chances(scores: np.ndarray) -> np.ndarray:
    """Scores of words as probabilities of classes: at the mean margin the better of two classes has 0.88."""
    return softmax(scores * (2.0 / max(mean_margin(scores), 1e-12)))


def describe(kernel: Kernel) -> str:
    width = getattr(kernel, "width", None)
    if width is None:
        return "cosine" if getattr(kernel, "unit", False) else "linear"
    return f"gaussian, width {width:.4g}, {'exact' if kernel.exact else 'landmarks'}"
