"""
Several sources
===============

Do more sources help? Labels may come from several places, each with words of its own. Number the sources 1, 2, 3 … in
``sample_domain``; the target is -1.
"""

import numpy as np

from isthmus import SourceOnlyClassifier, TermProjectionClassifier, make_transfer_pipeline
from isthmus.features import TextVectorizer
from isthmus.report.charts import draw
from isthmus_bench.shifted import make_shifted_texts

made = make_shifted_texts(80, 200, n_sources=4, n_classes=3, shared=0.25, noise=0.5, random_state=4)
texts = np.array(made.texts, dtype=object)
target = made.sample_domain < 0

rows = []
for n in (1, 2, 3, 4):
    used = target | (made.sample_domain <= n)
    for name, method in (("source only", SourceOnlyClassifier()), ("term projection", TermProjectionClassifier())):
        model = make_transfer_pipeline(TextVectorizer(), method)
        model.fit(texts[used].tolist(), made.labels[used], sample_domain=made.sample_domain[used])
        right = np.mean(model.transduction_[target[used]] == made.true_labels[target])
        rows.append({"sources": str(n), "method": name, "accuracy": right})
        print(f"{n} of 4 sources, {name}: {right:.1%} right")

# %%
# What several sources have in common is more likely to hold in the target too.

chart = draw(rows, {"kind": "line", "x": "sources", "y": "accuracy", "color": "method", "y_format": ".0%"})
chart
