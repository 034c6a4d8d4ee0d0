"""
Label new texts with the labels of others
=========================================

Can one dealer use another's categories? A motorcycle dealer has sorted 600 survey comments into four. A car dealer has
600 comments and no categories. Carry the labels across, and see how far to trust them.
"""

import numpy as np

import isthmus
from isthmus.corpus import load_sample
from isthmus.report.charts import draw

motorcycles, cars, truth = load_sample()
result = isthmus.label(motorcycles.texts, motorcycles.labels, cars.texts)

for i in range(3):
    print(f"{result.labels[i]} ({result.confidence[i]:.2f}): {cars.texts[i]}")

# %%
# No label of the car dealer was read, and yet the result comes with an expectation: how many labels are right, with
# the interval in which that lay in nine of ten benchmark tasks.

print("method:", result.method)
print("expected to be right:", result.expected_accuracy)

# %%
# The sample happens to come with the true categories, so the expectation can be held against them. With texts of your
# own you would :ref:`check a random sample <sphx_glr_gallery_plot_check.py>` instead.

right = [label == truth[id_] for id_, label in zip(cars.ids, result.labels, strict=True)]
print(f"right: {sum(right) / len(right):.1%}")

# %%
# Labels that are not sure enough are marked for review. Among the others more are right.

right, sure = np.array(right), ~result.needs_review
rows = [
    {"labels": f"all {len(right)}", "right": right.mean()},
    {"labels": f"{sure.sum()} that need no review", "right": right[sure].mean()},
    {"labels": f"{(~sure).sum()} to review", "right": right[~sure].mean()},
]
chart = draw(
    rows,
    {
        "kind": "bar",
        "x": "labels",
        "y": "right",
        "horizontal": True,
        "order": "table",
        "y_format": ".0%",
        "y_domain": [0, 1],
    },
)
chart
