"""
Can labels travel?
==================

Will the labels hold in the other collection? Before anything is labelled, :func:`isthmus.diagnose` compares the two:
words, languages, class words, copies, groups that the source does not know. It reads no target label.
"""

import isthmus
from isthmus.corpus import load_sample
from isthmus.report.charts import draw
from isthmus_bench.shifted import make_shifted_texts

motorcycles, cars, _ = load_sample()
diagnosis = isthmus.diagnose(motorcycles.texts, motorcycles.labels, cars.texts)
print(diagnosis.verdict)
for finding in diagnosis.findings[:4]:
    print(f"- {finding['finding']}")

# %%
# How the measures move with the shift, on texts made to order: the proxy distance is how well a classifier tells the
# two domains apart (0: not at all, 2: always).

rows = []
for shared in (0.0, 0.4, 0.7, 0.9, 1.0):
    made = make_shifted_texts(150, 150, shared=shared, length=8, random_state=0)
    found = isthmus.diagnose(made.source_texts, made.source_labels, made.target_texts)
    distance = next(row for row in found.findings if row["topic"] == "distance")
    rows.append({"class words in both domains": shared, "proxy A-distance": distance["values"]["distance"]})
    print(f"{shared:.2f}: {found.verdict}")
chart = draw(
    rows,
    {
        "kind": "line",
        "x": "class words in both domains",
        "y": "proxy A-distance",
        "x_format": ".0%",
        "y_domain": [0, 2],
    },
)
chart
