"""Tune a pipeline by cross-validation on the source, then carry it to the target.

Target labels play no part in the choice. What is best on the source need not be best on the target, but it is the only
honest ground there is before a target label exists.
"""

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB

from isthmus import SourceOnlyClassifier, make_transfer_pipeline
from isthmus.corpus import load_sample
from isthmus.evaluate import accuracy
from isthmus.features import TextVectorizer


def main():
    motorcycles, cars, truth = load_sample()
    pipeline = make_transfer_pipeline(TextVectorizer(), SourceOnlyClassifier(MultinomialNB()))
    grid = {
        "textvectorizer__weighting": ["counts", "tfidf"],
        "sourceonlyclassifier__estimator__alpha": [0.1, 1.0],
    }
    # No row is unlabelled here, so there is no target: each fold runs on source rows alone.
    search = GridSearchCV(pipeline, grid, cv=3).fit(motorcycles.texts, motorcycles.labels)
    print(f"Best on held-out source rows ({search.best_score_:.3f}): {search.best_params_}")

    texts = [*motorcycles.texts, *cars.texts]
    labels = np.array([*motorcycles.labels, *[None] * len(cars.texts)], dtype=object)
    domain = np.repeat([1, -1], [len(motorcycles.texts), len(cars.texts)])
    model = pipeline.set_params(**search.best_params_).fit(texts, labels, sample_domain=domain)

    expected = [truth[id_] for id_ in cars.ids]
    print(f"Accuracy on the target: {accuracy(expected, model.transduction_[domain < 0]):.3f}")


if __name__ == "__main__":
    main()
