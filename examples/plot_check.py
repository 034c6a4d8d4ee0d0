"""
Check a random sample
=====================

How many labels are right? An expectation without target labels can be far off. Label a hundred documents by hand, and
you know, with an interval.
"""

import isthmus
from isthmus.choose import sample_size
from isthmus.corpus import load_sample
from isthmus.report.charts import draw

motorcycles, cars, truth = load_sample()
result = isthmus.label(motorcycles.texts, motorcycles.labels, cars.texts, method="cocc")

# %%
# How many must be read? It depends on how exact the answer should be.

rows = [
    {"margin of error": margin, "documents to read": sample_size(margin, population=len(cars))}
    for margin in (0.02, 0.03, 0.05, 0.075, 0.1, 0.15)
]

# %%
# The sample does not show the label that was given, so it cannot sway the reader. A person fills in the column
# ``true_label``; here the sample's own truth does.

sample = result.sample(100, random_state=0)
sample["true_label"] = [truth[cars.ids[place]] for place in (number - 1 for number in sample["document"])]
audit = result.check(sample)
print(audit)

# %%
# How many documents to read for which margin of error:

chart = draw(rows, {"kind": "line", "x": "margin of error", "y": "documents to read", "x_format": ".1%"})
chart
