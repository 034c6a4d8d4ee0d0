"""
How sure is sure?
=================

Which labels can pass unread? Every label has a confidence. The fewer are kept, the more of them are right.
"""

import numpy as np

import isthmus
from isthmus.corpus import load_sample
from isthmus.report.charts import draw

motorcycles, cars, truth = load_sample()
true = np.array([truth[id_] for id_ in cars.ids])

rows = []
for method in ("nbc", "projection"):
    result = isthmus.label(motorcycles.texts, motorcycles.labels, cars.texts, method=method)
    right = (result.labels == true)[np.argsort(-result.confidence, kind="stable")]
    for share in np.linspace(0.1, 1.0, 19):
        n = round(share * len(right))
        rows.append({"labels kept": share, "method": method, "right among them": right[:n].mean()})

# %%
# A single method learns its confidence on the source, and on texts that differ it is too high. So confidence alone does
# not let a label pass: what other plain methods contradict is left to a person, and where nothing is sure enough,
# everything is. :ref:`A checked sample <sphx_glr_gallery_plot_check.py>` settles how many are right.

kept = ~result.needs_review
wrong = np.sum(result.labels[kept] != true[kept])
print(f"{result.method}: {kept.sum()} labels need no review, {wrong} of them are wrong")

# %%
# The fewer labels are kept, the more of them are right:

chart = draw(
    rows,
    {
        "kind": "line",
        "x": "labels kept",
        "y": "right among them",
        "color": "method",
        "x_format": ".0%",
        "y_format": ".0%",
        "points": False,
    },
)
chart
