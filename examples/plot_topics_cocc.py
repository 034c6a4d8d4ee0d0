"""
Topics: when the target uses other words
========================================

What if the target uses other words for the same topics? Co-clustering groups the words of both domains along with the
target's documents, so that a class reaches words the source never used.
"""

import numpy as np

from isthmus import CoClusteringClassifier, SourceOnlyClassifier, make_transfer_pipeline
from isthmus.features import TextVectorizer
from isthmus.report.charts import draw
from isthmus_bench.shifted import make_shifted_texts

# Four topics; a fifth of each topic's words occurs in both domains.
made = make_shifted_texts(300, 300, n_classes=4, shared=0.2, noise=0.25, random_state=0)
target = made.sample_domain < 0


def accuracy(model):
    return np.mean(model.transduction_[target] == made.true_labels[target])


plain = make_transfer_pipeline(TextVectorizer(), SourceOnlyClassifier()).fit(made.texts, made.labels)
cocc = make_transfer_pipeline(TextVectorizer(), CoClusteringClassifier(random_state=0)).fit(made.texts, made.labels)
print(f"trained on the source alone: {accuracy(plain):.1%} right")
print(f"co-clustering:               {accuracy(cocc):.1%} right")

# %%
# The objective never rises, step by step, as the method's theorem says.

steps = [{"step": step, "objective": value} for step, value in enumerate(cocc.history_)]
chart = draw(steps, {"kind": "line", "x": "step", "y": "objective", "points": False})
chart

# %%
# What became of the words that only the target uses? Each word cluster leans to one class; count how many of a
# topic's target-only words ended in a cluster that leans to that topic. No label told the method about any of them.

names = cocc.named_steps["textvectorizer"].get_feature_names_out().tolist()
method = cocc.named_steps["coclusteringclassifier"]
counts = cocc.named_steps["textvectorizer"].transform(made.texts)
by_class = np.array([np.asarray(counts[cocc.transduction_ == name].sum(axis=0)).ravel() for name in cocc.classes_])
cluster_class = np.array(
    [by_class[:, method.word_clusters_ == k].sum(axis=1).argmax() for k in range(method.word_clusters_.max() + 1)]
)

rows = []
for class_name in cocc.classes_:
    own = [names.index(word) for word in made.words_of(class_name, "target") if word in names]
    leaning = cocc.classes_[cluster_class[method.word_clusters_[own]]]
    rows += [
        {"topic of the word": class_name, "its cluster leans to": other, "words": int((leaning == other).sum())}
        for other in cocc.classes_
    ]
chart = draw(
    rows,
    {"kind": "heatmap", "x": "its cluster leans to", "y": "topic of the word", "value": "words", "value_format": "d"},
)
chart
