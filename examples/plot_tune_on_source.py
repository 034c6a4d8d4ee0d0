"""
Tune on the source, score on the target
=======================================

How to choose settings without target labels? By cross-validation on source rows. What is best there need not be best on
the target, but before a target label exists it is the only honest ground.
"""

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB

from isthmus import SourceOnlyClassifier, make_transfer_pipeline
from isthmus.corpus import load_sample
from isthmus.evaluate import accuracy
from isthmus.features import TextVectorizer
from isthmus.report.charts import draw

motorcycles, cars, truth = load_sample()
pipeline = make_transfer_pipeline(TextVectorizer(), SourceOnlyClassifier(MultinomialNB()))
grid = {
    "textvectorizer__weighting": ["counts", "tfidf"],
    "sourceonlyclassifier__estimator__alpha": [0.01, 0.1, 1.0, 10.0],
}
# No row is unlabelled here, so there is no target: each fold runs on source rows alone.
search = GridSearchCV(pipeline, grid, cv=3).fit(motorcycles.texts, motorcycles.labels)
print(f"Best on held-out source rows ({search.best_score_:.3f}): {search.best_params_}")

# %%
# Every setting once more with the target's texts, scored by labels that the search did not see.

texts = [*motorcycles.texts, *cars.texts]
labels = np.array([*motorcycles.labels, *[None] * len(cars.texts)], dtype=object)
domain = np.repeat([1, -1], [len(motorcycles.texts), len(cars.texts)])
true = [truth[id_] for id_ in cars.ids]

rows = []
for settings, held_out in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
    model = pipeline.set_params(**settings).fit(texts, labels, sample_domain=domain)
    weighting, alpha = settings["textvectorizer__weighting"], settings["sourceonlyclassifier__estimator__alpha"]
    on_target = accuracy(true, model.transduction_[domain < 0])
    rows.append({"α": alpha, "weighting": weighting, "accuracy": held_out, "rows": "held-out source rows"})
    rows.append({"α": alpha, "weighting": weighting, "accuracy": on_target, "rows": "target"})
    print(f"{weighting}, α = {alpha:g}: {held_out:.3f} on the source, {on_target:.3f} on the target")
chart = draw(
    rows,
    {
        "kind": "line",
        "x": "α",
        "y": "accuracy",
        "color": "rows",
        "facet": "weighting",
        "log_x": True,
        "y_format": ".0%",
    },
)
chart
