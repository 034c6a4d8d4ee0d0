"""
Why this label?
===============

Why did a document get its label? Every method explains its labels by words: those for a class, and those against it.
"""

import isthmus
from isthmus.corpus import load_sample
from isthmus.report.charts import draw

motorcycles, cars, _ = load_sample()
result = isthmus.label(motorcycles.texts, motorcycles.labels, cars.texts, method="nbc")
print(cars.texts[1], "→", result.labels[1])

# %%
# A table, one row per term and class; charts only draw it.

reasons = result.reasons(1, top=4)
print(reasons[0])
table = [{"term": row["term"], "class": row["class"], "weight": row["contribution"]} for row in reasons]
chart = draw(table, {"kind": "bar", "x": "term", "y": "weight", "facet": "class", "horizontal": True, "columns": 2})
chart
