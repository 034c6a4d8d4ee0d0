"""
What shift does
===============

How much is lost when the target uses other words, and how much of it do methods that look at the target win back?
With texts made to order every degree of shift can be tried.
"""

import numpy as np

from isthmus.methods import make_method
from isthmus.report.charts import draw
from isthmus_bench.shifted import make_shifted_texts

rows = []
for shared in (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0):
    made = make_shifted_texts(200, 200, n_classes=3, shared=shared, noise=0.4, random_state=1)
    for method in ("nbc", "projection", "cocc", "strings"):
        model = make_method(method).fit(made.texts, made.labels, sample_domain=made.sample_domain)
        right = np.mean(model.transduction_[made.sample_domain < 0] == np.array(made.target_labels))
        rows.append({"class words in both domains": shared, "method": method, "accuracy": right})

# %%
# ``nbc`` is trained on the source alone. The others read the target's texts as well, never its labels. Where
# everything is shared there is nothing to win; where no class word is shared, nobody can know. In between lies what
# the methods are for. Co-clustering gains most here, because the classes are the strongest division of these texts,
# which is what it assumes.

for method in ("nbc", "cocc"):
    print(method, [f"{row['accuracy']:.2f}" for row in rows if row["method"] == method])

# %%
# The line marks what guessing gives.

chart = draw(
    rows,
    {
        "kind": "line",
        "x": "class words in both domains",
        "y": "accuracy",
        "color": "method",
        "x_format": ".0%",
        "y_format": ".0%",
        "reference": 1 / 3,
    },
)
chart
