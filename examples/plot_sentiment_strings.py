"""
Sentiment with string kernels
=============================

Did people like it? Book reviews are labelled, reviews of kettles and pans are not. String kernels compare texts by the
runs of characters they share. They need no words, no stemmer and no language, and "not worth" resembles "worthless".
"""

import random

import isthmus
from isthmus.evaluate import accuracy
from isthmus.report.charts import draw

OPINIONS = {
    "positive": ["I loved it", "worth every penny", "would recommend it to anyone", "exceeded my expectations",
                 "truly excellent", "a pleasure from the first day", "could not be happier", "works wonderfully"],
    "negative": ["I was disappointed", "not worth the money", "would not recommend it", "a waste of money",
                 "truly awful", "a let-down from the first day", "could not be unhappier", "I want my money back"],
}  # fmt: skip
BOOKS = {
    "positive": ["gripping until the last page", "the characters came alive", "beautifully written chapters"],
    "negative": ["boring after ten pages", "the plot went nowhere", "badly translated and full of misprints"],
}
KITCHEN = {
    "positive": ["heats up in no time", "nothing sticks to it", "easy to clean after cooking"],
    "negative": ["leaks at the lid", "everything sticks to it", "rusty after two washes"],
}


def reviews(own, things, n, seed):
    """Two or three opinions each; a quarter of the reviews says one thing that speaks against its own verdict."""
    rng = random.Random(seed)
    texts, labels = [], []
    for _ in range(n):
        label, other = rng.sample(["positive", "negative"], 2)
        parts = [rng.choice(own[label] if rng.random() < 0.6 else OPINIONS[label]) for _ in range(rng.choice([2, 3]))]
        if rng.random() < 0.25:
            parts.append(rng.choice(OPINIONS[other]))
        texts.append(f"About this {rng.choice(things)}: " + ", ".join(parts) + ".")
        labels.append(label)
    return texts, labels


books, labels = reviews(BOOKS, ["novel", "thriller", "cookbook"], 150, seed=1)
kitchen, true = reviews(KITCHEN, ["kettle", "pan", "toaster"], 150, seed=2)
print(kitchen[0])

# %%
# The recipe "strings" trains a kernel method twice: on the books, then on the books and the surest kitchen reviews.

rows = []
for method in ("nbc", "svm", "strings"):
    result = isthmus.label(books, labels, kitchen, method=method)
    rows.append({"method": method, "accuracy": accuracy(true, result.labels)})
    print(f"{method}: {rows[-1]['accuracy']:.1%} right")

# %%
# What spoke for a label, added up by word: opinions count, and so do words that merely stand beside them.

print(kitchen[1], "→", result.labels[1])
for row in result.reasons(1, top=6):
    if row["class"] == result.labels[1]:
        print(f"{row['contribution']:+.2f}  {row['term']}")

# %%
# The methods in one picture:

chart = draw(
    rows, {"kind": "bar", "x": "method", "y": "accuracy", "y_format": ".0%", "y_domain": [0, 1], "order": "table"}
)
chart
