"""
A handful of labelled words
===========================

What are a few labelled words worth? Only 40 comments have labels, but it is easy to name words that give a category
away. Dual supervision learns from labelled documents and labelled words together.
"""

import numpy as np

from isthmus import ManifoldDualClassifier
from isthmus.corpus import load_sample
from isthmus.evaluate import accuracy
from isthmus.features import TextVectorizer
from isthmus.report.charts import draw

# Written down by common sense; two words that occur in no comment were replaced. No true label was looked at.
WORDS = {
    "polite": "staff", "rude": "staff", "receptionist": "staff",
    "engine": "product", "seats": "product", "brakes": "product",
    "workshop": "service", "repair": "service", "appointment": "service",
    "expensive": "price", "discount": "price", "cheap": "price",
}  # fmt: skip

motorcycles, cars, truth = load_sample()
true = [truth[id_] for id_ in cars.ids]
vectorizer = TextVectorizer(stem=False, weighting="tfidf")  # whole words, as they are written in the list
order = np.random.default_rng(0).permutation(len(motorcycles))

# %%
# With few labelled documents the words help most; with many they stop to matter.

rows = []
for n in (20, 40, 80, 160):
    few = order[:n]
    texts = [*[motorcycles.texts[i] for i in few], *cars.texts]
    labels = [*[motorcycles.labels[i] for i in few], *[None] * len(cars)]
    X = vectorizer.fit_transform(texts)
    names = vectorizer.get_feature_names_out()
    for given, words in (("documents alone", None), (f"documents and {len(WORDS)} words", WORDS)):
        model = ManifoldDualClassifier(word_labels=words, feature_names=names).fit(X, labels)
        rows.append({"labelled documents": n, "given": given, "accuracy": accuracy(true, model.transduction_[n:])})
        print(f"{n:>4} {given}: {rows[-1]['accuracy']:.1%} right")
chart = draw(
    rows,
    {"kind": "line", "x": "labelled documents", "y": "accuracy", "color": "given", "log_x": True, "y_format": ".0%"},
)
chart
