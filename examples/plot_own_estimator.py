"""
An estimator of your own
========================

How much code does a new method take? Two functions: ``_fit`` receives the rows with the target's labels masked,
``_scores`` returns how well a row fits each class. Checks, masking, ``predict`` and pipelines come from the base class.
"""

from numbers import Integral, Real

import numpy as np

from isthmus import label, make_transfer_pipeline
from isthmus.base import Interval, TransferClassifier
from isthmus.features import TextVectorizer
from isthmus.report.charts import draw
from isthmus_bench.shifted import make_shifted_texts


class MovedCentroids(TransferClassifier):
    """Nearest class centroid, moved towards the target rows it attracts."""

    _parameter_constraints = {  # what each parameter may be; checked before fitting
        "weight": [Interval(Real, 0, 1, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, *, weight=0.5, max_iter=5):
        self.weight = weight
        self.max_iter = max_iter

    def _fit(self, domains):
        rows, target = domains.rows(domains.source), domains.rows(domains.target)
        start = np.vstack([rows[domains.source_codes == code].mean(axis=0) for code in range(domains.n_classes)])
        self.centroids_ = start = np.asarray(start)
        self.history_, self.n_iter_, self.termination_condition_ = [], 0, "max_iter"
        codes = np.zeros(target.shape[0], dtype=int)
        for _ in range(self.max_iter if len(codes) else 0):
            self.n_iter_ += 1
            before, codes = codes, self._scores(target).argmax(axis=1)
            self.history_.append(int((before != codes).sum()))
            for code in np.unique(codes):
                mean = np.asarray(target[codes == code].mean(axis=0)).ravel()
                self.centroids_[code] = (1 - self.weight) * start[code] + self.weight * mean
        return self._scores(target).argmax(axis=1) if len(codes) else codes

    def _scores(self, X):
        return np.asarray(X @ self.centroids_.T) - 0.5 * np.sum(self.centroids_**2, axis=1)


# %%
# It takes its place in a pipeline, and in scikit-learn's tools, like any other.

made = make_shifted_texts(150, 150, n_classes=3, shared=0.3, noise=0.4, random_state=2)
target = made.sample_domain < 0
rows = []
for weight in (0.0, 0.25, 0.5, 0.75, 1.0):
    model = make_transfer_pipeline(TextVectorizer(weighting="tfidf"), MovedCentroids(weight=weight))
    model.fit(made.texts, made.labels)
    right = np.mean(model.transduction_[target] == made.true_labels[target])
    rows.append({"weight of the target": weight, "accuracy": right})
    print(f"weight {weight}: {right:.1%} right")

# %%
# ``isthmus.label`` takes it in place of a recipe's name. Reasons come for any method: words are left out one at a time.
# (These scores are not log-probabilities, so the probabilities are nearly equal and every label is marked for review.)

texts = np.array(made.texts)
result = label(texts[~target].tolist(), made.labels[~target], texts[target].tolist(), method=MovedCentroids())
print(result)
for row in result.reasons(0, top=2):
    print(f"{row['class']}: {row['term']} {row['contribution']:+.3f}")

# %%
# The checks that every estimator of this package passes are public: target labels shuffled change nothing, sparse
# formats agree, the same seed gives the same answer, nonsense in any parameter is refused, and so on.

from isthmus.estimator_checks import transfer_checks

checks = list(transfer_checks(MovedCentroids()))
for check in checks:
    check(MovedCentroids())
print(f"{len(checks)} checks passed")

# %%
# What the weight of the target does:

chart = draw(rows, {"kind": "line", "x": "weight of the target", "y": "accuracy", "y_format": ".0%"})
chart
